"""scikit-learn's model selection on raw data and on a Gram stack."""

import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from localmkl import CLMKLClassifier, CLMKLRegressor, GramStack, LMKLClassifier, MKLClassifier
from localmkl.kernels import RBF, Linear

KERNELS = [RBF(gamma=0.1), RBF(gamma=1.0), Linear()]


def data(n=90, regression=False, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    score = X[:, 0] * X[:, 1] + 0.5 * X[:, 2]
    return X, score if regression else np.sign(score)


def stack_of(X):
    return GramStack([kernel(X) for kernel in KERNELS])


def by_hand(model, X, y, folds):
    """Decisions of a loop that copies its part of the data, raw or Gram."""
    out = np.empty(len(y))
    for train, test in folds.split(np.empty(len(y))):
        if isinstance(X, GramStack):
            grams = X.to_array()
            fitted = clone(model).fit(GramStack(grams[:, train][:, :, train]), y[train])
            out[test] = fitted.predict(GramStack(grams[:, test][:, :, train]))
        else:
            out[test] = clone(model).fit(X[train], y[train]).predict(X[test])
    return out


@pytest.mark.parametrize("cls", [CLMKLClassifier, CLMKLRegressor, LMKLClassifier, MKLClassifier])
@pytest.mark.parametrize("form", ["raw", "stack"])
def test_cross_validation_gives_what_a_loop_gives(cls, form):
    X, y = data(regression=cls is CLMKLRegressor)
    X = X if form == "raw" else stack_of(X)
    model = cls(kernels=KERNELS if form == "raw" else "precomputed", tol=1e-9)
    if cls is LMKLClassifier:
        model.set_params(tol=1e-2)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    folds = KFold(3, shuffle=True, random_state=0)
    expected = by_hand(model, X, y, folds)
    np.testing.assert_allclose(cross_val_predict(model, X, y, cv=folds), expected, atol=1e-5)


@pytest.mark.parametrize("form", ["raw", "stack"])
def test_grid_search_gives_what_a_loop_gives_also_with_two_workers(form):
    X, y = data()
    X = X if form == "raw" else stack_of(X)
    model = CLMKLClassifier(KERNELS if form == "raw" else "precomputed", tol=1e-9, random_state=0)
    folds = KFold(3, shuffle=True, random_state=0)
    grid = {"C": [0.1, 10.0], "evenness": [0.4, 0.8]}
    search = GridSearchCV(model, grid, cv=folds).fit(X, y)
    for parameters, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        candidate = clone(model).set_params(**parameters)
        correct = by_hand(candidate, X, y, folds) == y
        means = [correct[test].mean() for _, test in folds.split(y)]
        assert score == pytest.approx(np.mean(means))
    workers = GridSearchCV(model, grid, cv=folds, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(
        workers.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"]
    )
    assert search.best_estimator_.predict(X).shape == y.shape


def test_a_pipeline_scales_before_the_kernels():
    X, y = data()
    pipeline = make_pipeline(StandardScaler(), CLMKLClassifier(random_state=0))
    assert cross_val_score(pipeline, 1000.0 * X, y, cv=3).mean() > 0.7


def test_no_candidate_copies_the_stack():
    X, y = data(n=400)
    stack = GramStack(np.stack([RBF(gamma=g)(X) for g in np.logspace(-2, 1, 16)]))
    model = CLMKLClassifier("precomputed", random_state=0)
    model.fit(stack, y)
    folds = [(np.arange(0, 400, 2), np.arange(1, 400, 2))]
    tracemalloc.start()
    cross_val_score(model, stack, y, cv=folds)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    half_of_the_rows = stack.grams.nbytes / 4
    assert peak < 0.6 * half_of_the_rows


def test_a_clone_keeps_parameters_and_forgets_the_fit():
    X, y = data()
    model = CLMKLClassifier(KERNELS, random_state=0).fit(X, y)
    copy = clone(model)
    assert not hasattr(copy, "dual_coef_")
    assert [repr(kernel) for kernel in copy.kernels] == [repr(kernel) for kernel in KERNELS]
    assert not hasattr(KERNELS[0], "gamma_")
    assert "CLMKLClassifier" in model._repr_html_()


def test_parameters_of_the_user_are_never_changed_by_fit():
    X, y = data()
    model = CLMKLClassifier(KERNELS, random_state=0)
    before = {key: repr(value) for key, value in model.get_params().items()}
    model.fit(X, y)
    assert {key: repr(value) for key, value in model.get_params().items()} == before
