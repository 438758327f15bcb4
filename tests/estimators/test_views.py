"""Models on views that some samples lack: gates, groups, searches, files, and what is refused."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from localmkl import CLMKLClassifier, HLMKLClassifier, LMKLClassifier, MKLClassifier, Views, load, save
from localmkl.bounds import bound_model
from localmkl.explain import training_rows
from localmkl.kernels import RBF, Linear, Overlap
from localmkl.model_selection import MKLSearchCV, nested_cross_validate

pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
N = 60
RNA = RNG.normal(size=(N, 3))
CLINIC = pd.DataFrame({"age": RNG.normal(size=N), "site": np.where(RNG.random(N) < 0.5, "colon", "lung")})
Y = np.where(RNA[:, 0] + CLINIC["age"].to_numpy() > 0.0, "ill", "well")
HAS = RNG.random(N) < 0.7
AGE = Linear(columns=["age"], view="clinic")
KERNELS = [Linear(view="rna"), RBF(view="rna"), AGE]
VIEWS = Views({"rna": (RNA[HAS], HAS), "clinic": CLINIC})


@pytest.mark.parametrize("spec", [RBF(view="rna"), 1])
@pytest.mark.parametrize("rank", [None, 12])
def test_clusters_are_learned_from_those_who_have_the_view_of_the_gate(spec, rank):
    options = {"n_clusters": 2, "gate_kernel": spec, "n_components": rank, "random_state": 0}
    model = CLMKLClassifier(KERNELS, **options).fit(VIEWS, Y)
    assert np.all(model.memberships_[~HAS] == 0.5)
    np.testing.assert_allclose(model.memberships(VIEWS), model.memberships_, atol=1e-9)
    known = model.memberships_[HAS]
    assert model.evenness_ == pytest.approx(np.mean(known / known.max(axis=1, keepdims=True)), abs=1e-6)
    if rank is None:
        own = RBF(view="rna") if spec == 1 else spec
        alone = CLMKLClassifier([own], n_clusters=2, random_state=0).fit(VIEWS[HAS], Y[HAS])
        np.testing.assert_allclose(np.sort(known), np.sort(alone.memberships_), atol=1e-9)


def test_hard_clusters_and_lmkl_say_nothing_of_samples_that_lack_the_view_of_the_gate():
    hard = HLMKLClassifier(KERNELS, n_clusters=3, gate_kernel=RBF(view="rna"), random_state=0).fit(VIEWS, Y)
    assert np.all(hard.memberships(VIEWS)[~HAS] == pytest.approx(1.0 / 3.0))
    assert set(hard.memberships(VIEWS)[HAS].ravel().tolist()) == {0.0, 1.0}
    gated = LMKLClassifier(KERNELS, gate_kernel=RBF(view="rna"), random_state=0).fit(VIEWS, Y)
    assert np.ptp(gated.gating(VIEWS)[~HAS], axis=0).max() == 0.0
    unlabeled = CLMKLClassifier(KERNELS, n_clusters=2, gate_kernel=0, random_state=0)
    unlabeled.fit(VIEWS[:40], Y[:40], unlabeled=VIEWS[40:])
    assert np.all(unlabeled.memberships(VIEWS)[~HAS] == 0.5)


@pytest.mark.parametrize("column", ["site", ("clinic", "site"), "where"])
def test_groups_are_a_column_of_a_view_or_a_view_of_words(column, tmp_path):
    rows = {"rna": (RNA[HAS], HAS), "clinic": CLINIC}
    if column == "where":
        rows = {"rna": (RNA[HAS], HAS), "clinic": CLINIC[["age"]], "where": CLINIC["site"].tolist()}
    named = CLMKLClassifier(KERNELS, gate="groups", groups=column, shared=0.5).fit(Views(rows), Y)
    beside = CLMKLClassifier(KERNELS, gate="groups", shared=0.5)
    plain = {"rna": (RNA[HAS], HAS), "clinic": CLINIC[["age"]]}
    beside.fit(plain, Y, groups=CLINIC["site"])
    expected = beside.decision_function(plain, groups=CLINIC["site"])
    np.testing.assert_allclose(named.decision_function(Views(rows)), expected, atol=1e-9)
    save(named, tmp_path / "model.localmkl")
    again = load(tmp_path / "model.localmkl")
    np.testing.assert_allclose(again.decision_function(training_rows(again)), expected, atol=1e-9)


def test_who_lacks_the_view_of_the_groups_has_none():
    model = CLMKLClassifier(KERNELS, gate="groups", groups="site", shared=0.5).fit(VIEWS, Y)
    some = Views({"rna": RNA, "clinic": (CLINIC[1:], np.arange(N) > 0)})
    with pytest.warns(UserWarning, match="groups that the model has not seen"):
        assert model.memberships(some)[0].tolist() == [0.5, 0.25, 0.25]
    nowhere = Views({"rna": RNA, "clinic": None})
    with pytest.warns(UserWarning, match="groups that the model has not seen"):
        assert np.ptp(model.memberships(nowhere), axis=0).max() == 0.0
    with pytest.raises(ValueError, match="got no clinic and also lab"):
        model.predict(Views({"rna": RNA, "lab": RNA}))
    with pytest.raises(ValueError, match="a group for every training row, got none in row 0"):
        CLMKLClassifier(KERNELS, gate="groups", groups="site").fit(some, Y)
    with pytest.raises(ValueError, match="got 'town', which is in none of rna, clinic"):
        CLMKLClassifier(KERNELS, gate="groups", groups="town").fit(VIEWS, Y)


def test_searches_take_gates_and_groups_on_views():
    grid = {"gate_kernel": [None, RBF(view="rna")], "missing": ["zero", "rescale"]}
    model = CLMKLClassifier(KERNELS, n_clusters=2, random_state=0)
    ours, theirs = (search(model, grid, cv=3).fit(VIEWS, Y) for search in (MKLSearchCV, GridSearchCV))
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=0.03
    )
    tables = {"rna": (RNA[HAS], HAS), "clinic": CLINIC}
    grouped = CLMKLClassifier(KERNELS, gate="groups", groups="site")
    search = MKLSearchCV(grouped, {"shared": [0.2, 0.8]}, cv=2)
    assert nested_cross_validate(search, tables, Y, cv=2)["test_score"].shape == (2,)
    assert cross_val_score(make_pipeline(model), VIEWS, Y, cv=2, error_score="raise").shape == (2,)


def test_a_view_that_no_training_row_of_a_fold_has_is_left_out_there():
    one = np.arange(N) == 7
    rare = Views({"rna": RNA, "rare": (RNA[one], one)})
    model = MKLClassifier([Linear(view="rna"), RBF(view="rare")])
    grid = {"C": [0.1, 1.0]}
    ours, theirs = (search(model, grid, cv=4).fit(rare, Y) for search in (MKLSearchCV, GridSearchCV))
    np.testing.assert_array_equal(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])


def test_bounds_and_unusual_normalisations_hold_on_missing_views():
    for normalize in ("trace", "cosine", None):
        model = CLMKLClassifier(KERNELS, n_clusters=2, normalize=normalize, random_state=0).fit(VIEWS, Y)
        assert np.all(model.contributions(VIEWS)[~HAS][:, :, :2] == 0.0)
        assert np.isfinite(bound_model(model, VIEWS, Y).total)


def test_rows_and_kernels_that_do_not_go_together_are_refused_in_words():
    model = MKLClassifier(KERNELS).fit(VIEWS, Y)
    with pytest.raises(ValueError, match="must be `Views` of rna, clinic, as those of the fit"):
        model.predict(RNA)
    with pytest.raises(ValueError, match="needs rows that are `Views`, got Linear"):
        MKLClassifier([Linear(view="rna")]).fit(RNA, Y)
    with pytest.raises(ValueError, match="put a single kernel into a list"):
        MKLClassifier(Linear(view="rna")).fit(VIEWS, Y)
    with pytest.raises(ValueError, match=r"write Linear\(\)"):
        MKLClassifier([Linear]).fit(VIEWS, Y)
    with pytest.raises(ValueError, match="needs Grams, got views"):
        MKLClassifier("precomputed").fit(VIEWS, Y)
    with pytest.raises(ValueError, match="at least one sample, got none"):
        model.predict(VIEWS[:0])
    with pytest.raises(ValueError, match="'random' for views"):
        MKLClassifier(KERNELS, n_components=5, landmarks="kmeans").fit(VIEWS, Y)
    with pytest.raises(ValueError, match="that counts must have view 'rna'"):
        MKLClassifier(KERNELS).fit(VIEWS, Y, sample_weight=np.where(HAS, 0.0, 1.0))
    nobody = Views({"rna": None, "clinic": (CLINIC[1:], np.arange(N) > 0)})
    with pytest.raises(ValueError, match="at least one view, got none for 0"):
        model.predict(nobody)
    site = MKLClassifier([Overlap(columns=["site"], view="clinic")]).fit(VIEWS, Y)
    holed = Views({"rna": np.where(RNA > 2.0, np.nan, RNA), "clinic": CLINIC})
    with pytest.raises(ValueError, match=r"In view 'rna': .*NaN in row"):
        model.predict(holed)
    with pytest.warns(UserWarning, match="reads no view that samples 0 have"):
        site.predict(Views({"rna": RNA, "clinic": (CLINIC[1:], np.arange(N) > 0)}))


def test_views_of_dask_are_refused_in_one_sentence():
    array = pytest.importorskip("dask.array").from_array(RNA, chunks=(20, 3))
    with pytest.raises(ValueError, match="View 'rna' must be in memory, got rows of dask; `compute"):
        MKLClassifier([Linear(view="rna")]).fit({"rna": array}, Y)
