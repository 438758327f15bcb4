"""Models on features: equal to those on Grams at full rank, certified, small in files, honest below it."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV, cross_val_score

import localmkl
from localmkl import (
    CLMKLClassifier,
    CLMKLRegressor,
    HLMKLClassifier,
    LMKLClassifier,
    MKLClassifier,
    MKLRegressor,
    UniformMKLClassifier,
)
from localmkl.datasets import make_localized
from localmkl.kernels import RBF, FactorStack, GramStack, Linear, WeightedDegree
from localmkl.model_selection import MKLSearchCV

KERNELS = [Linear(), RBF(0.05), RBF("median", columns=[0, 1])]
X, LABELS = make_localized(300, random_state=0)[:2]
rng = np.random.default_rng(0)
THREE = rng.integers(3, size=300)
TARGETS = X[:, 0] + X[:, 1] ** 2
GROUPS = rng.integers(3, size=300).astype(str)
WEIGHTS = np.where(rng.random(300) < 0.1, 0.0, rng.random(300))


def pair(cls, y, fit=None, **parameters):
    """Return a model on Grams and one on as many components as rows."""
    parameters = {"random_state": 0, "tol": 1e-9, **parameters}
    exact = cls(KERNELS, **parameters).fit(X, y, **(fit or {}))
    n_components = len(X) if fit is None or "sample_weight" not in fit else int((WEIGHTS > 0.0).sum())
    return exact, cls(KERNELS, n_components=n_components, **parameters).fit(X, y, **(fit or {}))


@pytest.mark.parametrize(
    ("cls", "y", "fit", "parameters"),
    [
        (UniformMKLClassifier, LABELS, None, {}),
        (MKLClassifier, THREE, None, {"p": 1}),
        (MKLClassifier, LABELS, None, {"loss": "log_loss"}),
        (MKLRegressor, TARGETS, None, {"loss": "huber"}),
        (HLMKLClassifier, LABELS, None, {"n_clusters": 2, "normalize": "trace"}),
        (CLMKLClassifier, LABELS, None, {"normalize": "cosine"}),
        (CLMKLClassifier, LABELS, {"sample_weight": WEIGHTS}, {"shared": 0.3, "n_init": 1}),
        (CLMKLClassifier, LABELS, None, {"gate_kernel": 1}),
        (CLMKLClassifier, LABELS, None, {"gate_kernel": RBF(0.02), "n_clusters": 2}),
        (CLMKLClassifier, LABELS, None, {"gate": GaussianMixture(2, random_state=0)}),
        (CLMKLRegressor, TARGETS, None, {"loss": "quantile", "quantile": 0.3}),
    ],
)
def test_at_full_rank_models_are_those_on_grams(cls, y, fit, parameters):
    exact, model = pair(cls, y, fit, **parameters)
    decide = "decision_function" if hasattr(exact, "decision_function") else "predict"
    tolerance = 1e-6 * max(1.0, np.abs(getattr(exact, decide)(X)).max())
    np.testing.assert_allclose(getattr(model, decide)(X), getattr(exact, decide)(X), atol=tolerance)
    np.testing.assert_allclose(model.kernel_weights_, exact.kernel_weights_, atol=1e-6)
    assert model.duality_gap_ <= 1e-9
    assert model.approximation_error_.max() < 1e-10


def test_groups_take_the_place_of_clusters():
    exact, model = pair(CLMKLClassifier, LABELS, {"groups": GROUPS}, gate="groups", shared=0.5)
    decisions = model.decision_function(X, groups=GROUPS)
    np.testing.assert_allclose(decisions, exact.decision_function(X, groups=GROUPS), atol=1e-6)


def test_parts_add_up_to_decisions_and_memberships_to_one():
    model = CLMKLClassifier(KERNELS, n_components=40, random_state=0).fit(X, THREE)
    parts = model.contributions(X[:50])
    assert parts.shape == (50, 3, 3, 3)
    decisions = parts.sum(axis=(2, 3)) + model.intercept_
    np.testing.assert_allclose(decisions, model.decision_function(X[:50]), atol=1e-10)
    np.testing.assert_allclose(model.memberships(X[:50]).sum(axis=1), 1.0)
    np.testing.assert_allclose(model.memberships(X), model.memberships_, atol=1e-10)


def test_the_gap_is_that_of_the_factors_grams():
    model = CLMKLClassifier(KERNELS, n_components=30, random_state=0, tol=1e-6).fit(X, LABELS)
    phi = model.features_.transform(X, dtype=np.float64)
    edges = np.cumsum([0, *model.widths_])
    grams = [phi[:, a:b] @ phi[:, a:b].T for a, b in pairwise(edges)]
    alpha, weights, c = model.dual_coef_, model.kernel_weights_, model.memberships_
    U = c * alpha[:, None]
    q = np.stack([np.einsum("ij,ik,kj->j", U, K, U) for K in grams], axis=1) * model.factors_
    scores = sum(
        c[:, j] * (K @ U[:, j]) * weights[j, m] * model.factors_[m]
        for m, K in enumerate(grams)
        for j in range(3)
    )
    signs = np.where(model.classes_[1] == LABELS, 1.0, -1.0)
    primal = (
        0.5 * np.sum(weights * q)
        + model.C_ * np.maximum(0.0, 1.0 - signs * (scores + model.intercept_)).sum()
    )
    dual = signs @ alpha - 0.5 * np.sum(np.sum(q**4, axis=1) ** 0.25)  # p = 4/3, p / (p - 1) = 4
    assert (primal - dual) / primal == pytest.approx(model.duality_gap_, abs=1e-9)


def test_files_keep_landmarks_and_no_other_rows(tmp_path):
    sequences = ["".join(rng.choice(list("ACGT"), 30)) for _ in range(200)]
    labels = np.array([sequence[10] in "AC" for sequence in sequences])
    model = CLMKLClassifier(
        [WeightedDegree(d) for d in (1, 3)], n_components=20, n_clusters=2, random_state=0
    ).fit(sequences, labels)
    localmkl.save(model, tmp_path / "model")
    again = localmkl.load(tmp_path / "model")
    assert not hasattr(again, "rows_")
    assert len(again.features_.landmarks) == 20
    np.testing.assert_array_equal(again.decision_function(sequences), model.decision_function(sequences))
    again.feature_coef_ = again.feature_coef_[:, :-1]
    with pytest.raises(ValueError, match="feature_coef_"):
        localmkl.save(again, tmp_path / "broken")


def test_the_exact_gap_falls_with_the_rank_and_bounds_what_is_lost():
    optimum = CLMKLClassifier(KERNELS, random_state=0, tol=1e-8).fit(X, LABELS)
    gaps = []
    for n_components in (20, 100, 300):
        model = CLMKLClassifier(KERNELS, random_state=0, n_components=n_components, tol=1e-5)
        model.fit(X, LABELS)
        found = model.exact_gap(X, LABELS)
        gaps.append(found.gap)
        guess = model.exact_gap(X, LABELS, max_pairs=5000, random_state=0)
        assert abs(guess.gap - found.gap) <= 5.0 * guess.error + 1e-6
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 1e-4
    assert found.primal == pytest.approx(optimum.history_["primal"][-1], rel=1e-4)


def test_stacks_of_factors_are_linear_kernels_that_need_no_training_rows():
    kernels = [Linear([0, 1]), Linear(list(range(2, X.shape[1])))]
    stack = FactorStack([X[:, :2], X[:, 2:]])
    exact = CLMKLClassifier(kernels, random_state=0, tol=1e-9).fit(X[:200], LABELS[:200])
    model = CLMKLClassifier("precomputed", random_state=0, tol=1e-9)
    for training in (stack[:200], stack[:200, :200], FactorStack([X[:200, :2], X[:200, 2:]])):
        model.fit(training, LABELS[:200])
        for new in (stack[200:], stack[200:, :200], FactorStack([X[200:, :2], X[200:, 2:]])):
            np.testing.assert_allclose(
                model.decision_function(new), exact.decision_function(X[200:]), atol=1e-6
            )


def test_searches_share_features_and_agree_with_those_of_scikit_learn():
    model = CLMKLClassifier(KERNELS, random_state=0, n_components=40, n_clusters=2, tol=1e-7)
    grid = {"C": [0.3, 3.0], "evenness": [0.6, 0.9]}
    slow, fast = GridSearchCV(model, grid, cv=3).fit(X, LABELS), MKLSearchCV(model, grid, cv=3).fit(X, LABELS)
    np.testing.assert_allclose(
        fast.cv_results_["mean_test_score"], slow.cv_results_["mean_test_score"], atol=1e-12
    )
    np.testing.assert_allclose(fast.decision_function(X), slow.decision_function(X), atol=1e-4)
    ranks = MKLSearchCV(model, {"n_components": [5, 40]}, cv=3).fit(X, LABELS)
    assert ranks.best_estimator_.features_.n_landmarks == ranks.best_params_["n_components"]
    stack = FactorStack([X[:, :2], X[:, 2:]])
    given = CLMKLClassifier("precomputed", random_state=0, normalize="cosine", tol=1e-7)
    slow, fast = GridSearchCV(given, {"C": [0.3, 3.0]}), MKLSearchCV(given, {"C": [0.3, 3.0]})
    np.testing.assert_allclose(
        fast.fit(stack, LABELS).cv_results_["mean_test_score"],
        slow.fit(stack, LABELS).cv_results_["mean_test_score"],
        atol=1e-12,
    )
    assert cross_val_score(given, stack, LABELS).mean() > 0.5


def test_unlabelled_rows_take_part_in_the_partition():
    model = CLMKLClassifier(KERNELS, random_state=0, n_components=50)
    alone = model.fit(X[:150], LABELS[:150]).memberships(X)
    joined = model.fit(X[:150], LABELS[:150], unlabeled=X[150:]).memberships(X)
    assert np.abs(alone - joined).max() > 1e-3
    assert model.memberships_.shape == (150, 3)


def test_clusters_of_many_rows_come_from_a_sample(monkeypatch):
    monkeypatch.setattr("localmkl.estimators.gating.GATE_ROWS", 100)
    model = CLMKLClassifier(KERNELS, random_state=0, n_components=50).fit(X, LABELS, sample_weight=WEIGHTS)
    assert model.memberships_.shape == (300, 3)
    assert model.evenness_ == pytest.approx(0.7)


def test_features_too_large_for_memory_are_written_to_a_file(monkeypatch):
    monkeypatch.setattr("localmkl.estimators.factors.IN_MEMORY", 0.0)
    written = CLMKLClassifier(KERNELS, random_state=0, n_components=50).fit(X, LABELS)
    monkeypatch.undo()
    kept = CLMKLClassifier(KERNELS, random_state=0, n_components=50).fit(X, LABELS)
    np.testing.assert_array_equal(written.decision_function(X), kept.decision_function(X))


def test_wrong_uses_are_said_in_a_sentence():
    with pytest.raises(ValueError, match="must be at most the number of training rows, got 301 for 300"):
        MKLClassifier(KERNELS, n_components=301).fit(X, LABELS)
    with pytest.raises(ValueError, match="`n_components` must be"):
        MKLClassifier(KERNELS, n_components=0).fit(X, LABELS)
    with pytest.raises(ValueError, match="`landmarks` must be"):
        MKLClassifier(KERNELS, n_components=5, landmarks="first").fit(X, LABELS)
    stack = FactorStack([X[:, :2], X[:, 2:]])
    model = MKLClassifier("precomputed").fit(stack, LABELS)
    with pytest.raises(ValueError, match="features of the fit's 2 kernels"):
        model.predict(FactorStack([X, X]))
    with pytest.raises(ValueError, match="must be a `FactorStack`, as those of the fit were, got a `GramS"):
        model.predict(GramStack([X @ X.T, X @ X.T]))
    with pytest.raises(ValueError, match="must be a `GramStack`, as those of the fit were, got a `Factor"):
        MKLClassifier("precomputed").fit(GramStack([X @ X.T]), LABELS).predict(stack)
    with pytest.raises(ValueError, match="LMKL"):
        LMKLClassifier("precomputed").fit(stack, LABELS)
    with pytest.raises(ValueError, match="NaN or infinity"):
        MKLClassifier("precomputed").fit(FactorStack([np.full((300, 2), np.nan)]), LABELS)
    with pytest.raises(ValueError, match="`exact_gap` is for models with `n_components`"):
        model.exact_gap(stack, LABELS)
    with pytest.raises(ValueError, match="must be the 300 training rows of the fit, got 10 rows"):
        MKLClassifier(KERNELS, n_components=5).fit(X, LABELS).exact_gap(X[:10], LABELS[:10])


def test_memory_for_predictions_does_not_grow_with_the_support_vectors(monkeypatch):
    rows, labels = np.tile(X, (5, 1)), np.tile(LABELS, 5)
    model = MKLClassifier([RBF(0.05)], n_components=5, C=0.01, random_state=0).fit(rows, labels)
    assert len(model.support_) > 1000
    monkeypatch.setattr(localmkl._resources, "available_memory", lambda: 8 * 1000 * 1000)
    assert len(model.predict(rows)) == 1500
