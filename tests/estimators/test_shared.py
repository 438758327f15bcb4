"""A shared part beside the clusters, and one meaning of C."""

import numpy as np
import pytest

from localmkl import (
    CLMKLClassifier,
    CLMKLRegressor,
    GramStack,
    HLMKLClassifier,
    MKLClassifier,
    MKLRegressor,
    UniformMKLClassifier,
)
from localmkl.bounds import bound_model
from localmkl.datasets import make_localized
from localmkl.model_selection import MKLSearchCV
from localmkl.persistence import load, save

SHARP = 1e-10


def data(n=90, **options):
    return make_localized(n, random_state=0, **options)[:2]


@pytest.mark.parametrize("p", [1, 4 / 3])
def test_all_shared_is_mkl(p):
    X, y = data()
    shared = CLMKLClassifier(shared=1.0, C=3.0, p=p, tol=SHARP).fit(X, y)
    single = MKLClassifier(C=3.0, p=p, tol=SHARP).fit(X, y)
    np.testing.assert_allclose(shared.decision_function(X), single.decision_function(X), atol=1e-8)
    assert shared.cluster_names_ == ["shared"]
    assert shared.kernel_weights_.shape == single.kernel_weights_.shape


def test_a_share_is_one_more_column_of_memberships():
    X, y = data()
    model = CLMKLClassifier(shared=0.3, n_clusters=2, evenness=0.6, random_state=0, tol=1e-7).fit(X, y)
    local = CLMKLClassifier(n_clusters=2, evenness=0.6, random_state=0).fit(X, y).memberships(X)
    assert model.cluster_names_ == ["shared", "cluster 1", "cluster 2"]
    np.testing.assert_allclose(
        model.memberships(X), np.column_stack([np.full(len(X), 0.3), 0.7 * local]), atol=1e-12
    )
    stack = GramStack(
        [factor * kernel(X) for factor, kernel in zip(model.factors_, model.kernels_, strict=True)]
    )
    matrix = CLMKLClassifier("precomputed", gate=model.memberships_, normalize=None, tol=1e-7).fit(stack, y)
    np.testing.assert_allclose(model.kernel_weights_, matrix.kernel_weights_, atol=1e-3)
    np.testing.assert_allclose(model.decision_function(X), matrix.decision_function(stack), atol=1e-3)


def test_contributions_of_the_shared_part_and_the_clusters_sum_to_the_decision(tmp_path):
    X, y = data()
    model = HLMKLClassifier(shared=0.5, random_state=0).fit(X, y)
    parts = model.contributions(X)
    assert parts.shape == (len(X), 4, 4)
    np.testing.assert_allclose(
        parts.sum(axis=(1, 2)) + model.intercept_, model.decision_function(X), atol=1e-12
    )
    assert model.duality_gap_ <= model.tol
    assert bound_model(model, X, y).complexity > 0.0
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    new = X.copy()  # BLAS multiplies rows with themselves in another way
    np.testing.assert_array_equal(again.decision_function(new), model.decision_function(new))
    assert again.cluster_names_ == model.cluster_names_


def test_a_search_over_shares_scores_as_fits_do():
    X, y = data(60, regression=True)
    half = np.arange(60) % 2 == 0
    grid = {"shared": [0.0, 0.5, 1.0], "C": [1.0, 10.0], "p": [1.0, np.inf]}
    model = CLMKLRegressor(random_state=0, tol=1e-8)
    search = MKLSearchCV(model, grid, cv=[(half, ~half)], refit=False).fit(X, y)
    for parameters, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        alone = CLMKLRegressor(random_state=0, tol=1e-8, **parameters).fit(X[half], y[half])
        assert alone.score(X[~half], y[~half]) == pytest.approx(score, abs=1e-5)


def test_the_cost_means_the_same_for_every_method():
    X, y = data()
    C, sharp = 2.0, {"tol": 1e-9}
    reference = MKLClassifier(C=C, p=2, **sharp).fit(X, y).decision_function(X)
    even = CLMKLClassifier(C=C, p=2, evenness=1.0, n_clusters=4, random_state=0, **sharp).fit(X, y)
    np.testing.assert_allclose(even.decision_function(X), reference, atol=1e-5)
    both = CLMKLClassifier(C=C, p=2, evenness=1.0, shared=0.4, random_state=0, **sharp).fit(X, y)
    np.testing.assert_allclose(both.decision_function(X), reference, atol=1e-5)
    uniform = UniformMKLClassifier(C=C, **sharp).fit(X, y).decision_function(X)
    fixed = MKLClassifier(C=C, p=np.inf, **sharp).fit(X, y)
    np.testing.assert_allclose(fixed.decision_function(X), uniform, atol=1e-6)


def test_kernels_that_are_copies_of_one_make_no_method_another():
    X, y = data(regression=True)
    single = MKLRegressor(kernels=[lambda X, Y: X @ Y.T], tol=1e-9).fit(X, y).predict(X)
    for p in (1, 2, np.inf):
        copies = MKLRegressor(kernels=[lambda X, Y: X @ Y.T] * 5, p=p, tol=1e-9).fit(X, y)
        np.testing.assert_allclose(copies.predict(X), single, atol=1e-5)


def test_without_scaling_the_cost_is_that_of_the_paper():
    X, y = data()
    ours = MKLClassifier(C=2.0, p=2, tol=1e-9).fit(X, y).decision_function(X)
    papers = MKLClassifier(C=2.0 / 4 ** (1 / 2), p=2, scale_C=False, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(papers.decision_function(X), ours, atol=1e-6)


@pytest.mark.parametrize("share", [-0.1, 1.5, "half"])
def test_shares_lie_between_zero_and_one(share):
    X, y = data(30)
    with pytest.raises(ValueError, match="`shared` must"):
        CLMKLClassifier(shared=share).fit(X, y)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "quantile", "squared_error"])
def test_targets_may_be_in_any_unit(loss):
    X, y = data(60, regression=True)
    small = CLMKLRegressor(loss=loss, epsilon=0.1, random_state=0, tol=1e-10).fit(X, y)
    large = CLMKLRegressor(loss=loss, epsilon=100.0, random_state=0, tol=1e-10).fit(X, 1000.0 * y)
    np.testing.assert_allclose(large.predict(X), 1000.0 * small.predict(X), rtol=1e-3, atol=1e-2)
