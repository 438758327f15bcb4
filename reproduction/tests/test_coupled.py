"""Hard clusters that a graph couples: the solution against a general solver, and its special cases."""

import cvxpy as cp
import numpy as np
import pytest
from reproduction.coupled import solve_coupled

from localmkl import GramStack, HLMKLClassifier


def problem(seed, n=24, n_kernels=3, n_clusters=2):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_kernels, n, 3))
    y = np.where(features[:, :, 0].sum(axis=0) + 0.5 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    memberships = np.eye(n_clusters)[rng.integers(n_clusters, size=n)]
    return features, y, memberships


def general_optimum(features, y, memberships, C, p, strength):
    n_clusters, n_kernels = memberships.shape[1], len(features)
    pairs = [(j, m) for j in range(n_clusters) for m in range(n_kernels)]
    w = {pair: cp.Variable(features.shape[2]) for pair in pairs}
    beta, b = cp.Variable((n_clusters, n_kernels), nonneg=True), cp.Variable()
    decisions = sum(cp.multiply(memberships[:, j], features[m] @ w[j, m]) for j, m in pairs) + b
    norms = sum(cp.quad_over_lin(w[j, m], beta[j, m]) / 2 for j, m in pairs)
    links = sum(cp.sum_squares(w[j, m] - w[k, m]) for j, m in pairs for k in range(j))
    loss = cp.sum(cp.pos(1 - cp.multiply(y, decisions)))
    balls = [cp.pnorm(beta[j], p) <= 1 for j in range(n_clusters)]
    return cp.Problem(cp.Minimize(norms + strength / 2 * links + C * loss), balls).solve(solver="CLARABEL")


@pytest.mark.parametrize("p, strength", [(1.0, 3.0), (4 / 3, 0.0), (4 / 3, 3.0), (2.0, 100.0)])
def test_the_objective_is_that_of_a_general_solver(p, strength):
    features, y, memberships = problem(seed=int(strength))
    grams = np.einsum("mik,mjk->mij", features, features)
    found = solve_coupled(grams, y, memberships, 1.0, p, strength, tol=1e-5)
    assert found.gap <= 1e-5
    expected = general_optimum(features, y, memberships, 1.0, p, strength)
    assert found.primal == pytest.approx(expected, rel=1e-4)
    np.testing.assert_allclose(np.linalg.norm(found.beta, p, axis=1), 1.0, rtol=1e-6)


def test_without_a_graph_it_is_the_hlmkl_of_the_package():
    features, y, memberships = problem(seed=1, n=40)
    grams = np.einsum("mik,mjk->mij", features, features)
    found = solve_coupled(grams, y, memberships, 1.0, 4 / 3, 0.0, tol=1e-6)
    model = HLMKLClassifier(
        "precomputed", C=1.0, scale_C=False, normalize=None, gate=memberships, n_clusters=2, tol=1e-6
    )
    stack = GramStack(grams)
    model.fit(stack, y)
    np.testing.assert_allclose(found.beta, model.kernel_weights_, atol=1e-3)
    np.testing.assert_allclose(found.decide(grams, memberships), model.decision_function(stack), atol=2e-3)


def test_a_very_strong_graph_makes_the_parts_of_all_clusters_equal():
    features, y, memberships = problem(seed=2)
    grams = np.einsum("mik,mjk->mij", features, features)
    found = solve_coupled(grams, y, memberships, 1.0, 2.0, 1e6)
    for coupling in found.couplings:
        np.testing.assert_allclose(coupling, coupling.mean(), rtol=1e-3)
