"""Certificates against exact arithmetic, and answers that must have none."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from localmkl.solvers.certify import AUDITED_ROWS, audited_products, certify, relative
from localmkl.solvers.convex import solve_convex
from localmkl.solvers.inner import balance
from localmkl.solvers.losses import EpsilonInsensitive, Hinge
from localmkl.solvers.objective import Problem
from localmkl.stacks import GramStack

WIDER = np.finfo(np.longdouble).eps < np.finfo(np.float64).eps


def make_problem(loss, *, n=9, n_kernels=2, n_clusters=2, C=3.0, p=1.0, scale=1.0, seed=0):
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n_kernels, n, 3))
    grams = factors @ factors.transpose(0, 2, 1) * np.array([1.0, scale])[:n_kernels, None, None]
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0) if isinstance(loss, Hinge) else rng.normal(size=n).round(1)
    y[:2] = 1.0, -1.0
    memberships = rng.dirichlet(np.ones(n_clusters), size=n)
    return Problem(GramStack(grams), memberships, y, np.full(n, C), loss, p)


def exact(array):
    return np.vectorize(Fraction, otypes=[object])(np.asarray(array, dtype=np.float64))


def exact_gap(problem, solution):
    """Return the relative gap at p = 1 in rational numbers; balls and box must hold."""
    c, a, weights = exact(problem.memberships), exact(solution.alpha), exact(solution.weights)
    y, C, b = exact(problem.y), exact(problem.C), Fraction(solution.intercept)
    u = c * a[:, None]
    f, q = np.full(len(y), b, dtype=object), np.zeros(weights.shape, dtype=object)
    for m, gram in enumerate(map(exact, problem.stack.grams)):
        for j in range(weights.shape[0]):
            q[j, m] = max(u[:, j] @ gram @ u[:, j], 0)  # Grams are positive semidefinite but for rounding
            f = f + c[:, j] * weights[j, m] * (gram @ u[:, j])
    epsilon = Fraction(problem.loss.tube)
    slack = 1 - y * f if isinstance(problem.loss, Hinge) else np.abs(y - f) - epsilon
    radius = max(Fraction(1), *weights.sum(axis=1))
    primal = radius * (weights * q).sum() / 2 + sum(C * np.maximum(slack, 0))
    dual = y @ a - epsilon * np.abs(a).sum() - sum(own.max() for own in q) / 2
    return float((primal - dual) / primal)


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.1), EpsilonInsensitive(0.0)])
@pytest.mark.parametrize("C, scale", [(3.0, 1.0), (1e5, 1e12), (1e-4, 1e-12)])
def test_a_gap_is_never_below_the_one_of_exact_arithmetic(loss, C, scale):
    problem = make_problem(loss, C=C, scale=scale)
    for tol in (1e-2, 1e-8, 1e-12):
        solution = solve_convex(problem, tol=tol)
        assert sum(exact(solution.alpha)) == 0 or abs(float(sum(exact(solution.alpha)))) < 1e-16 * C * 9
        true = exact_gap(problem, solution)
        assert true <= solution.gap
        assert solution.gap - 2.0 * solution.rounding <= true
        assert solution.converged == (solution.gap <= tol)


@pytest.mark.skipif(not WIDER, reason="this machine has no precision beyond double")
def test_extended_precision_decides_where_double_cannot():
    problem = make_problem(Hinge(), n=60, C=1e4)
    solution = solve_convex(problem, tol=1e-6)
    double = certify(problem, solution.weights, solution.alpha)
    assert double.rounding > 1e-10
    tol = double.gap - 0.5 * double.rounding
    extended = certify(problem, solution.weights, solution.alpha, tol=tol)
    assert extended.rounding < 1e-2 * double.rounding
    assert abs(extended.gap - (double.gap - double.rounding)) <= double.rounding


def solved(loss=None, **options):
    problem = make_problem(loss or Hinge(), **options)
    return problem, solve_convex(problem, tol=1e-6)


def out_of_the_box(problem, solution):
    alpha = solution.alpha.copy()
    alpha[:2] += np.array([1.0, -1.0]) * (problem.C[0] + 1.0)
    return solution.weights, alpha


def with_another_sum(problem, solution):
    return solution.weights, 0.5 * np.where(problem.y > 0.0, problem.C, -0.1)


def out_of_the_ball(problem, solution):
    return 1.001 * solution.weights, solution.alpha


def with_a_negative_weight(problem, solution):
    return solution.weights - np.array([[0.0, 1e-3]]), solution.alpha


def not_a_number(problem, solution):
    return solution.weights * np.nan, solution.alpha


@pytest.mark.parametrize(
    "spoil", [out_of_the_box, with_another_sum, out_of_the_ball, with_a_negative_weight, not_a_number]
)
def test_what_is_not_feasible_has_an_infinite_gap(spoil):
    problem, solution = solved()
    assert certify(problem, solution.weights, solution.alpha).gap <= 1e-6
    assert certify(problem, *spoil(problem, solution)).gap == np.inf


def test_a_dual_above_its_primal_is_no_answer():
    assert relative(1.0, 1.0 + 1e-6, 1e-9, 1e-9, 1e-9) == (np.inf, 0.0)
    gap, rounding = relative(1.0, 1.0 + 1e-10, 1e-9, 1e-9, 1e-9)
    assert 0.0 < gap <= rounding < 3e-9


@pytest.mark.parametrize("n", [10, 160])
def test_a_single_wrong_row_is_found_as_often_as_the_documentation_says(n, monkeypatch):
    problem = make_problem(Hinge(), n=n)
    original, found = GramStack.products, 0
    for wrong_row in range(n):

        def wrong(stack, vectors, row=wrong_row):
            products = original(stack, vectors)
            products[..., row] *= 1.0 + 1e-9
            return products

        monkeypatch.setattr(GramStack, "products", wrong)
        alpha = problem.y * np.random.default_rng(wrong_row).uniform(0.1, 1.0, n)
        try:
            audited_products(problem, problem.cluster_parts(alpha))
        except RuntimeWarning:
            found += 1
    expected = min(1.0, AUDITED_ROWS / n)
    spread = 4.0 * np.sqrt(expected * (1.0 - expected) / n)
    assert abs(found / n - expected) <= spread


def test_an_answer_to_nothing_is_exact():
    problem = replace(make_problem(EpsilonInsensitive(0.1)), y=np.full(9, 0.3))
    solution = solve_convex(problem, tol=1e-9)
    assert solution.gap == solution.primal == solution.dual == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_dual_variables_sum_to_zero_without_leaving_their_box(seed):
    rng = np.random.default_rng(seed)
    upper = 10.0 ** rng.uniform(-3, 6, size=50)
    alpha = rng.uniform(-upper, upper)
    alpha -= alpha.sum() * upper / upper.sum()
    alpha = np.clip(alpha, -upper, upper)
    alpha[:5] = upper[:5]
    alpha[5] -= np.clip(alpha.sum(), -upper[5] + alpha[5], upper[5] + alpha[5])
    before = alpha.copy()
    balance(alpha, -upper, upper)
    assert np.all(np.abs(alpha) <= upper)
    assert abs(float(sum(exact(alpha)))) <= abs(float(sum(exact(before))))


@pytest.mark.parametrize("p", [50.0, 1000.0, 1e6])
@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.0)])
def test_large_norms_converge_to_finite_weights(loss, p):
    for C in (0.01, 1.0, 1e4):
        solution = solve_convex(make_problem(loss, n=30, C=C, p=p), tol=1e-6)
        assert solution.converged
        assert np.isfinite(solution.weights).all()


def test_tied_targets_without_a_tube_are_no_trap():
    rng = np.random.default_rng(0)
    for seed in range(6):
        problem = make_problem(EpsilonInsensitive(0.0), n=30, seed=seed)
        problem = replace(problem, y=rng.integers(-1, 2, size=30).astype(float))
        assert solve_convex(problem, tol=1e-4).converged


def test_a_cost_beyond_reason_is_an_honest_answer():
    for seed in range(4):
        solution = solve_convex(make_problem(Hinge(), n=20, C=1e8, seed=seed), tol=1e-12)
        assert np.isfinite(solution.weights).all()
        assert solution.converged == (solution.gap <= 1e-12)


@pytest.mark.skipif(not WIDER, reason="this machine has no precision beyond double")
def test_extended_precision_multiplies_factors_in_extended_precision():
    problem = make_problem(Hinge(), n=20)
    factors = np.array([1.0 / 3.0, 0.7])
    scaled = replace(problem, stack=problem.stack.scaled(factors))
    alpha = np.random.default_rng(0).normal(size=20).astype(np.longdouble)
    grams = problem.stack.grams.astype(np.longdouble) * factors[:, None, None]
    found = scaled.stack.plain_products(scaled.cluster_parts(alpha))
    expected = np.einsum("mik,kj->jmi", grams, scaled.cluster_parts(alpha))
    np.testing.assert_allclose(found, expected, rtol=1e-17, atol=1e-17)
