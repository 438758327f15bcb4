"""Views: several tables of the same samples, some of which lack some of them."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split

from localmkl import CLMKLClassifier, MKLClassifier, MKLRegressor, UniformMKLClassifier, Views, load, save
from localmkl.kernels import RBF, Linear, Overlap
from localmkl.model_selection import MKLSearchCV

pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
RNA, CLINIC = (
    RNG.normal(size=(90, 4)),
    pd.DataFrame(RNG.normal(size=(90, 3)), columns=["age", "dose", "size"]),
)
SITE = np.where(RNG.random(90) < 0.5, "colon", "lung").astype(object)
Y = np.where(
    RNA[:, 0] + CLINIC["age"].to_numpy() + (SITE == "lung") + 0.3 * RNG.normal(size=90) > 0.5, "ill", "well"
)
HAS = RNG.random(90) < 0.7
KERNELS = [Linear(view="rna"), RBF(view="rna"), Linear(view="clinic"), RBF(columns=["age"], view="clinic")]
FULL = Views({"rna": RNA, "clinic": CLINIC, "site": SITE})
PARTIAL = Views({"rna": RNA, "clinic": (CLINIC[HAS], HAS), "site": SITE})


def test_views_that_all_have_are_columns_of_one_table():
    table = np.hstack([RNA, CLINIC.to_numpy()])
    columns = [[0, 1, 2, 3], [0, 1, 2, 3], [4, 5, 6], [4]]
    plain = [type(k)(columns=own) for k, own in zip(KERNELS, columns, strict=True)]
    for missing in ("rescale", "zero"):
        ours = CLMKLClassifier(KERNELS, n_clusters=2, missing=missing, tol=1e-9, random_state=0).fit(FULL, Y)
        other = CLMKLClassifier(plain, n_clusters=2, tol=1e-9, random_state=0).fit(table, Y)
        np.testing.assert_allclose(ours.decision_function(FULL), other.decision_function(table), atol=1e-9)


@pytest.mark.parametrize("cls", [MKLClassifier, UniformMKLClassifier])
def test_a_view_that_nobody_has_is_left_out(cls):
    nobody, without = Views({"rna": RNA, "clinic": None}), Views({"rna": RNA})
    ours = cls(KERNELS, tol=1e-9).fit(nobody, Y)
    other = cls(KERNELS[:2], tol=1e-9).fit(without, Y)
    np.testing.assert_allclose(ours.decision_function(nobody), other.decision_function(without), atol=1e-9)


def test_missing_views_say_nothing_and_kernels_learn_from_those_who_have_them():
    for missing in ("rescale", "zero"):
        model = CLMKLClassifier(KERNELS, n_clusters=2, missing=missing, random_state=0).fit(PARTIAL, Y)
        parts = model.contributions(PARTIAL)
        assert np.all(parts[~HAS][:, :, 2:] == 0.0)
        assert np.any(parts[HAS][:, :, 2:] != 0.0)
        assert model.duality_gap_ <= model.tol
    own = RBF(columns=["age"]).fit(CLINIC[HAS])
    assert model.kernels_[3].kernel_.gamma_ == own.gamma_
    grams = Linear()(CLINIC[HAS])
    spread = np.mean(np.diag(grams)) - np.mean(grams)
    assert model.factors_[2] == pytest.approx(1.0 / spread)


def test_grams_of_missing_views_are_positive_semidefinite():
    for missing in ("rescale", "zero"):
        for kernel in MKLClassifier(KERNELS, missing=missing).fit(PARTIAL, Y).kernels_:
            gram = kernel(PARTIAL)
            assert np.linalg.eigvalsh(gram).min() > -1e-9
            np.testing.assert_allclose(kernel.diag(PARTIAL), np.diag(gram))
            np.testing.assert_allclose(kernel(PARTIAL[:7], PARTIAL[3:]), gram[:7, 3:], atol=1e-12)
            features = kernel.features(PARTIAL)
            if features is not None:
                np.testing.assert_allclose(np.asarray(features @ features.T), gram, atol=1e-10)


def test_scikit_learn_and_searches_slice_views():
    model = MKLClassifier(KERNELS)
    scores = cross_val_score(model, PARTIAL, Y, cv=3)
    grid = {"C": [0.1, 1.0]}
    ours, theirs = (
        MKLSearchCV(model, grid, cv=3).fit(PARTIAL, Y),
        GridSearchCV(model, grid, cv=3).fit(PARTIAL, Y),
    )
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=0.03
    )
    train, test, y_train, y_test = train_test_split(PARTIAL, Y, random_state=0)
    assert len(train) + len(test) == 90
    assert clone(model).fit(train, y_train).score(test, y_test) > 0.6
    assert scores.shape == (3,)


def test_order_does_not_matter_and_what_is_wrong_is_named():
    model = MKLClassifier(KERNELS).fit(PARTIAL, Y)
    expected = model.decision_function(PARTIAL[:5])
    shuffled = {
        "site": SITE[:5],
        "clinic": (CLINIC[HAS[:5].tolist() + [False] * 85][["size", "age", "dose"]], HAS[:5]),
    }
    np.testing.assert_allclose(model.decision_function(Views(shuffled | {"rna": RNA[:5]})), expected)
    with pytest.raises(ValueError, match="got no rna and also dna"):
        model.predict(Views(shuffled | {"dna": RNA[:5]}))
    with pytest.raises(ValueError, match="must have 4 columns"):
        model.predict(Views({**shuffled, "rna": RNA[:5, :3]}))
    with pytest.raises(ValueError, match="View 'clinic' must have the columns of the fit, got no dose"):
        model.predict(Views({"rna": RNA, "site": SITE, "clinic": CLINIC[["age", "size"]]}))
    with pytest.raises(ValueError, match="must name its `view`"):
        MKLClassifier([Linear()]).fit(PARTIAL, Y)
    with pytest.raises(ValueError, match="`view` must be one of rna, clinic, site, got 'dna'"):
        MKLClassifier([Linear(view="dna")]).fit(PARTIAL, Y)
    with pytest.raises(ValueError, match="got none for 1"):
        MKLClassifier(KERNELS[:2]).fit(
            Views({"rna": (RNA[[0, 2]], [0, 2]), "site": SITE[:3]}), ["a", "b", "a"]
        )
    with pytest.raises(ValueError, match=r"In view 'rna': .*NaN"):
        MKLClassifier(KERNELS[:2]).fit(Views({"rna": np.where(RNA > 2.0, np.nan, RNA)}), Y)
    with pytest.raises(
        ValueError, match="All views must have the same samples, got view 'rna' 90, view 'b' 3"
    ):
        Views({"rna": RNA, "b": RNA[:3]})


def test_kernels_that_are_not_named_suit_what_a_view_holds():
    mixed = CLINIC.assign(stage=SITE)
    views = Views({"rna": sparse.csr_matrix(RNA), "clinic": mixed, "site": SITE})
    model = MKLClassifier().fit(views, Y)
    kinds = [(type(kernel.kernel).__name__, kernel.view) for kernel in model.kernels_]
    assert kinds.count(("Overlap", "clinic")) == kinds.count(("Overlap", "site")) == 1
    assert kinds.count(("RBF", "rna")) == 3
    assert kinds.count(("RBF", "clinic")) == 2 + 3  # on all columns, and on each
    assert model.score(views, Y) > 0.8


def test_a_list_or_a_dict_of_tables_is_views():
    kernels = [Linear(view="0"), Linear(view="1")]
    tables = [RNA, CLINIC.to_numpy()]
    model = MKLClassifier(kernels).fit(tables, Y)
    np.testing.assert_array_equal(model.predict(tables), model.predict({"0": tables[0], "1": tables[1]}))


@pytest.mark.parametrize("rank", [None, 10])
def test_another_process_predicts_the_same(rank, tmp_path):
    target = RNA[:, 0] + CLINIC["age"].to_numpy()
    views = Views({"rna": sparse.csr_matrix(RNA), "clinic": (CLINIC[HAS], HAS), "site": SITE})
    kernels = [*KERNELS, Overlap(view="site")]
    model = MKLRegressor(kernels, n_components=rank, random_state=0).fit(views, target)
    save(model, tmp_path / "model.localmkl")
    again = load(tmp_path / "model.localmkl")
    np.testing.assert_allclose(again.predict(views[:9]), model.predict(views[:9]), rtol=1e-12)
    code = (
        "import sys, numpy as np; from localmkl import Views, load; m = load(sys.argv[1]);"
        "print(repr(float(m.predict(Views({'rna': np.ones((1, 4)), 'clinic': None, 'site': ['lung']}))[0])))"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "model.localmkl"], capture_output=True, text=True
    )
    one = Views({"rna": np.ones((1, 4)), "clinic": None, "site": ["lung"]})
    assert float(told.stdout) == pytest.approx(float(model.predict(one)[0]), rel=1e-12)


def test_frames_are_joined_by_the_names_of_samples():
    one = pd.DataFrame({"x": [1.0, 2.0]}, index=["b", "a"])
    two = pd.DataFrame({"y": [3.0, 4.0]}, index=["c", "a"])
    views, names = Views.join({"one": one, "two": two})
    assert names.tolist() == ["b", "a", "c"]
    assert views.present("two").tolist() == [False, True, True]
    assert views[[1]].rows("two")["y"].tolist() == [4.0]
    with pytest.raises(ValueError, match="several of b, a"):
        Views.join({"one": pd.concat([one, one])})
