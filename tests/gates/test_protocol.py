"""What a gate does, alone and in an estimator; and gates that users write."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV

from localmkl import (
    CLMKLClassifier,
    CLMKLRegressor,
    GramStack,
    HLMKLClassifier,
    HLMKLRegressor,
    Views,
    load,
    save,
)
from localmkl.datasets import make_localized
from localmkl.gates import GATES, Gate, KernelKMeansGate
from localmkl.kernels import RBF, FactorStack, Linear
from localmkl.model_selection import MKLSearchCV
from localmkl.report import write_report

X, Y, GROUPS, VIEWS = make_localized(90, separation=8.0, random_state=0)
NEW = make_localized(30, separation=8.0, random_state=1)[0]
KERNELS = [Linear(columns=view) for view in VIEWS[:4]]
STACK = GramStack([X[:, view] @ X[:, view].T for view in VIEWS[:4]])
MODELS = (CLMKLClassifier, HLMKLClassifier, CLMKLRegressor, HLMKLRegressor)


def build(gate="kmeans", cls=CLMKLClassifier, kernels=KERNELS, **options):
    return cls(kernels, gate=gate, **{"gate_kernel": 0, "random_state": 0, "tol": 1e-2, **options})


def gate_of(n_clusters=3, **options):
    return KernelKMeansGate(n_clusters, random_state=0, **options)


def gram(rows=X, columns=X):
    return rows[:, VIEWS[0]] @ columns[:, VIEWS[0]].T


# On its own


@pytest.mark.parametrize("evenness", [None, 0.6])
def test_a_gate_finds_groups_that_are_apart_and_judges_rows_alike(evenness):
    gate = gate_of(evenness=evenness).fit(gram())
    assert isinstance(gate, Gate)
    memberships = gate.memberships(gram())
    assert adjusted_rand_score(GROUPS, memberships.argmax(axis=1)) > 0.9
    np.testing.assert_allclose(memberships.sum(axis=1), 1.0)
    assert memberships.min() >= 0.0
    np.testing.assert_allclose(gate.memberships(gram()[:7]), memberships[:7])
    assert gate.memberships(gram(NEW)).shape == (30, 3)
    if evenness is None:
        assert set(memberships.ravel().tolist()) == {0.0, 1.0}
    else:
        assert gate.evenness_ == pytest.approx(0.6)


def test_a_row_of_weight_zero_does_not_count_and_one_of_weight_two_counts_twice():
    weights = np.array([1.0, 2.0, 0.0] * 30)
    weighted = gate_of().fit(gram(), weights)
    repeated = np.repeat(np.arange(90), weights.astype(int))
    expected = gate_of().fit(gram()[np.ix_(repeated, repeated)])
    found, wanted = weighted.memberships(gram(NEW)), expected.memberships(gram(NEW)[:, repeated])
    order = np.argmax(found.T @ wanted, axis=1)
    assert sorted(order.tolist()) == [0, 1, 2]
    np.testing.assert_allclose(found, wanted[:, order], rtol=1e-4, atol=1e-4)
    strange = gram().copy()
    strange[2::3], strange[:, 2::3] = 7.0, 7.0
    np.testing.assert_allclose(gate_of().fit(strange, weights).averages_, weighted.averages_, atol=1e-8)


def test_features_in_place_of_rows_give_the_same_memberships():
    gate = gate_of(evenness=0.5).fit(gram())
    expected = gate.memberships(gram(NEW))
    gate.on_features(X[:, VIEWS[0]])
    np.testing.assert_allclose(gate.memberships(NEW[:, VIEWS[0]]), expected, atol=1e-9)


def test_a_clone_learns_the_same():
    gate = gate_of(evenness=0.5)
    first, second = (clone(gate).fit(gram()).averages_ for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("n_rows", [6, 100])
@pytest.mark.parametrize("product", [0.0, 1.0])
def test_rows_that_are_all_the_same_are_one_cluster(n_rows, product):
    same = np.full((n_rows, n_rows), product)
    gate = gate_of(1).fit(same)
    np.testing.assert_array_equal(gate.memberships(same[:2]), 1.0)
    with pytest.raises(ValueError, match="got 2 clusters for 1 distinct rows under the gate kernel"):
        gate_of(2).fit(same)


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"n_clusters": 0}, "`n_clusters` must be an integer of at least 1, got 0"),
        ({"evenness": 0.2}, r"`evenness` must lie in \[1/n_clusters, 1\]"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelKMeansGate(**parameters).fit(np.eye(6))


# In an estimator


@pytest.mark.parametrize("cls", MODELS)
def test_every_method_has_the_gate(cls):
    model = build("kmeans", cls).fit(X, Y)
    memberships = model.memberships(X)
    np.testing.assert_allclose(memberships, model.memberships_, atol=1e-8)
    assert adjusted_rand_score(GROUPS, memberships.argmax(axis=1)) > 0.8
    assert model.duality_gap_ <= model.tol
    assert (set(memberships.ravel().tolist()) == {0.0, 1.0}) == cls.__name__.startswith("H")
    assert build("kmeans", cls, shared=0.3).fit(X, Y).memberships(NEW).shape == (30, 4)


def test_precomputed_grams_give_the_same_as_rows():
    rows, grams = build().fit(X, Y), build(kernels="precomputed").fit(STACK, Y)
    cross = GramStack([NEW[:, view] @ X[:, view].T for view in VIEWS[:4]])
    np.testing.assert_allclose(grams.memberships(cross), rows.memberships(NEW), atol=1e-6)
    np.testing.assert_allclose(grams.decision_function(cross), rows.decision_function(NEW), atol=1e-4)


@pytest.mark.parametrize("kernels, rows", [(KERNELS, X), ("precomputed", STACK)], ids=["rows", "Grams"])
def test_searches_score_what_single_fits_score(kernels, rows):
    grid = {"C": [0.1, 3.0], "evenness": [0.5, 0.8]}
    model = build(kernels=kernels, tol=1e-5)
    ours, theirs = (
        kind(model, grid, cv=2, scoring="roc_auc").fit(rows, Y) for kind in (MKLSearchCV, GridSearchCV)
    )
    found = ours.cv_results_["mean_test_score"]
    np.testing.assert_allclose(found, theirs.cv_results_["mean_test_score"], atol=0.02)


def test_unlabelled_rows_and_weights_are_heard():
    plain = build().fit(X, Y)
    helped = build().fit(X, Y, unlabeled=NEW)
    np.testing.assert_allclose(helped.memberships(X), helped.memberships_, atol=1e-8)
    assert not np.allclose(helped.memberships_, plain.memberships_)
    weighted = build().fit(X, Y, sample_weight=np.r_[np.ones(60), np.zeros(30)])
    assert adjusted_rand_score(GROUPS, weighted.memberships(X).argmax(axis=1)) > 0.8
    joint = np.vstack([X, NEW])
    stack = GramStack([joint[:, view] @ joint[:, view].T for view in VIEWS[:4]])
    grams = build(kernels="precomputed").fit(STACK, Y, unlabeled=stack)
    np.testing.assert_allclose(grams.memberships_, helped.memberships_, atol=1e-4)


def test_rows_that_lack_the_view_of_the_gate_belong_to_all_clusters_alike():
    has = np.arange(90) % 4 > 0
    views = Views({"one": (X[has][:, VIEWS[0]], has), "two": X[:, VIEWS[1]]})
    kernels = [Linear(view="one"), RBF(view="two")]
    model = build(kernels=kernels).fit(views, Y)
    np.testing.assert_allclose(model.memberships_[~has], 1.0 / 3.0)
    np.testing.assert_allclose(model.memberships(views), model.memberships_, atol=1e-8)
    assert adjusted_rand_score(GROUPS[has], model.memberships_[has].argmax(axis=1)) > 0.8


def test_features_serve_as_well_as_grams():
    tables = [X[:, view] for view in VIEWS[:4]]
    grams = build(kernels="precomputed", tol=1e-5).fit(STACK, Y)
    factors = build(kernels="precomputed", tol=1e-5).fit(FactorStack(tables), Y)
    np.testing.assert_allclose(factors.memberships_, grams.memberships_, atol=1e-4)
    features = build(n_components=5).fit(X, Y)
    np.testing.assert_allclose(features.memberships(X), features.memberships_, atol=1e-6)
    assert features.predict(NEW).shape == (30,)


@pytest.mark.parametrize("cls", [CLMKLClassifier, HLMKLRegressor])
def test_a_model_comes_back_from_its_file(cls, tmp_path):
    model = build("kmeans", cls).fit(X, Y)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.memberships(NEW), model.memberships(NEW))
    np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))
    assert clone(again).fit(X, Y).gate == "kmeans"


def test_a_report_tells_of_the_model_and_of_an_evenness_that_was_read(tmp_path):
    model = build().fit(X, Y)
    write_report(model, tmp_path / "page.html", X, Y, cv=0, stability=0)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "how evenly rows are shared" in page


def test_every_name_is_documented():
    for cls in MODELS:
        assert all(f'"{name}"' in cls.__doc__ for name in GATES)


# Gates of others


class HalfGate(Gate):
    """Two clusters: rows above and below the mean of the first kernel principal component, say."""

    def __init__(self, n_clusters=2, evenness=0.7):
        self.n_clusters, self.evenness = n_clusters, evenness

    def fit(self, gram, sample_weight=None):
        centred = np.asarray(gram) - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
        self.averages_ = np.linalg.eigh(centred)[1][:, -1:]
        self.middle_ = float((gram @ self.averages_).mean())
        return self.sharpen(self.distances(gram), sample_weight)

    def distances_from(self, products):
        along = products - self.middle_
        return np.hstack([along, -along])


def test_a_gate_of_ones_own_works_wherever_those_of_the_package_do(tmp_path):
    soft = build(HalfGate(evenness=0.6)).fit(X, Y)
    assert soft.evenness_ == pytest.approx(0.6)
    assert soft.memberships(NEW).shape == (30, 2)
    hard = build(HalfGate(), HLMKLClassifier).fit(X, Y)
    np.testing.assert_array_equal(hard.memberships(X).argmax(axis=1), soft.memberships(X).argmax(axis=1))
    search = MKLSearchCV(build(HalfGate(), kernels="precomputed"), {"C": [0.1, 1.0]}, cv=2).fit(STACK, Y)
    assert search.best_estimator_.kernel_weights_.shape == (2, 4)
    save(soft, tmp_path / "model", trusted=[HalfGate])
    again = load(tmp_path / "model", trusted=[HalfGate])
    np.testing.assert_array_equal(again.memberships(NEW), soft.memberships(NEW))


def test_a_gate_with_parameters_of_its_own_is_taken_as_it_is():
    model = build(KernelKMeansGate(2, evenness=0.9), n_clusters=5).fit(X, Y)
    assert model.memberships(NEW).shape == (30, 2)
    with pytest.raises(ValueError, match=r"`evenness` must lie in \[1/n_clusters, 1\] = \[0.5, 1\], got 0.1"):
        build(KernelKMeansGate(2, evenness=0.1)).fit(X, Y)
