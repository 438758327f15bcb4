"""Intervals of shares: the correction of squared norms, and coverage where all is known."""

import numpy as np
import pytest

from localmkl import CLMKLClassifier, GramStack
from localmkl.explain import kernel_shares
from localmkl.inference.intervals import share_intervals, shares_of, squared_norms
from localmkl.kernels import FactorStack


@pytest.mark.parametrize("p", [1.0, 4 / 3, 2.0])
def test_shares_of_squared_norms_are_those_of_the_weights(p, make_problem, make_model):
    stack, y, _ = make_problem()
    model = make_model(p=p, tol=1e-7).fit(stack, y)
    norms = squared_norms(
        stack.scaled(model.factors_), model.memberships_, model.kernel_weights_, model.dual_coef_
    )
    assert shares_of(norms, p) == pytest.approx(kernel_shares(model), abs=2e-3)
    weights = model.kernel_weights_
    total = np.divide(norms, weights, out=np.zeros_like(norms), where=weights > 0.0).sum()
    assert total == pytest.approx(model.squared_norm_, rel=1e-6)


def _half_norms(rows, rng, n_pairs):
    """Return ||mean||^2 of blocks of columns, of all rows and of complementary halves."""

    def norms(part):
        return (part.mean(axis=0) ** 2).reshape(3, -1).sum(axis=1)

    halves = []
    for _ in range(n_pairs):
        order = rng.permutation(len(rows))
        halves += [norms(rows[order[::2]]), norms(rows[order[1::2]])]
    return norms(rows)[None, None], np.array(halves)[:, None, None]


def test_intervals_cover_the_shares_of_means_that_are_known():
    rng = np.random.default_rng(0)
    means = np.repeat([0.5, 0.3, 0.0], 4) / 2.0
    truth = shares_of((means**2).reshape(3, -1).sum(axis=1), 1.0)
    covered, biased = [], []
    for _ in range(150):
        rows = means + rng.normal(size=(100, 12))
        norms, halves = _half_norms(rows, rng, 25)
        corrected, low, high = share_intervals(norms, halves, 1.0, 0.9)
        covered.append((low[0] <= truth) & (truth <= high[0]))
        biased.append((shares_of(norms, 1.0)[0, 0], corrected[0]))
    assert 0.85 <= np.mean(covered) <= 0.97
    plain, corrected = np.abs(np.mean(biased, axis=0) - truth).max(axis=1)
    assert corrected < plain / 1.5


def test_a_cluster_that_no_refit_has_found_has_no_interval():
    norms, refits = np.ones((1, 2, 3)), np.ones((4, 1, 2, 3))
    refits[:, :, 1] = np.nan
    corrected, low, high = share_intervals(norms, refits, 1.0, 0.9)
    assert np.isnan([low[1], high[1]]).all()
    assert corrected[0] == pytest.approx(np.full(3, 1 / 3))


def test_uniform_weights_are_sure():
    norms = np.random.default_rng(0).random((1, 1, 4))
    corrected, low, high = share_intervals(norms, norms * np.ones((6, 1, 1, 1)), np.inf, 0.9)
    assert (np.array([corrected, low, high]) == 0.25).all()


def test_models_on_features_have_the_norms_of_those_on_grams():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 6)), np.where(rng.random(60) < 0.5, -1, 1)
    factors = FactorStack.of_table(X, [3, 3])
    model = CLMKLClassifier("precomputed", n_clusters=2, random_state=0).fit(factors, y)
    grams = GramStack([X[:, :3] @ X[:, :3].T, X[:, 3:] @ X[:, 3:].T])
    found = [
        squared_norms(
            stack.scaled(model.factors_), model.memberships_, model.kernel_weights_, model.dual_coef_
        )
        for stack in (factors, grams)
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-5)
