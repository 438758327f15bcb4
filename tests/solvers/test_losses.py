"""Losses against brute force and finite differences; their solutions against outside references."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, QuantileRegressor
from sklearn.svm import LinearSVC

from localmkl.solvers.certify import certify
from localmkl.solvers.convex import solve_convex
from localmkl.solvers.losses import (
    CLASSIFICATION,
    REGRESSION,
    EpsilonInsensitive,
    Hinge,
    Huber,
    LogLoss,
    Quantile,
    Smooth,
    SquaredError,
    SquaredHinge,
)
from localmkl.solvers.objective import Problem
from localmkl.stacks import GramStack

LOSSES = [kind() for kind in (CLASSIFICATION | REGRESSION).values()]
LOSSES += [EpsilonInsensitive(0.0), Huber(1.0), Quantile(0.9)]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


def is_classification(loss):
    return type(loss) in CLASSIFICATION.values()


def sample(loss, n, seed):
    rng = np.random.default_rng(seed)
    y = np.where(rng.uniform(size=n) < 0.4, 1.0, -1.0) if is_classification(loss) else rng.normal(size=n)
    if is_classification(loss):
        y[: min(n, 2)] = [1.0, -1.0][: min(n, 2)]
    return rng.normal(size=n), y, rng.uniform(0.1, 2.0, size=n)


@every_loss
@given(n=st.integers(2, 12), seed=st.integers(0, 10_000))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_no_intercept_is_better_than_the_best_one(loss, n, seed):
    scores, y, C = sample(loss, n, seed)
    best = loss.best_intercept(scores, y, C)

    def total(b):
        return C @ loss.value(scores + b, y)

    width = 10.0 + np.abs(best)
    found = minimize_scalar(total, bounds=(-width, width), method="bounded", options={"xatol": 1e-9})
    points = np.concatenate([y - scores, y - scores - 0.1, y - scores + 0.1])
    assert total(best) <= min(found.fun, *map(total, points)) + 1e-12


def test_the_best_intercept_is_the_middle_of_an_optimal_interval():
    y = np.array([1.0, -1.0])
    # hinge(s + b) is flat for b in [0, 1]: the first sample needs b >= 0, the second b <= 1.
    assert Hinge().best_intercept(np.array([1.0, -2.0]), y, np.ones(2)) == pytest.approx(0.5)


@every_loss
def test_without_costs_any_intercept_will_do(loss):
    scores, y, _ = sample(loss, 5, 0)
    assert loss.best_intercept(scores, y, np.zeros(5)) == 0.0


@every_loss
@given(seed=st.integers(0, 10_000))
@settings(max_examples=15, deadline=None, derandomize=True)
def test_the_conjugate_is_the_infimum_it_claims_to_be(loss, seed):
    _, y, C = sample(loss, 5, seed)
    lower, upper = loss.box(y, C)
    lower, upper = np.maximum(lower, -3.0), np.minimum(upper, 3.0)
    alpha = lower + np.random.default_rng(seed).uniform(0.01, 0.99, size=5) * (upper - lower)
    terms = loss.dual_terms(alpha, y, C)
    for i in range(5):

        def line(t, i=i):
            return float(C[i] * loss.value(np.asarray(t), y[i]) + alpha[i] * t)

        points = [minimize_scalar(line, bounds=(-40.0, 40.0), method="bounded", options={"xatol": 1e-9}).x]
        points += [y[i], y[i] - 0.1, y[i] + 0.1]
        assert terms[i] == pytest.approx(min(map(line, points)), abs=1e-7)
    assert np.all(np.abs(terms) <= loss.dual_sizes(alpha, y, C) + 1e-12)


@every_loss
def test_what_is_outside_of_the_box_has_no_infimum(loss):
    _, y, C = sample(loss, 6, 1)
    lower, upper = loss.box(y, C)
    for bound, sign in ((lower, -1.0), (upper, 1.0)):
        for i in np.flatnonzero(np.isfinite(bound)):
            alpha = bound[i] + 0.1 * sign
            far = -sign * np.array([1e2, 1e4])
            values = C[i] * loss.value(far, y[i]) + alpha * far
            assert values[1] < values[0] - 1.0


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if isinstance(loss, Smooth)], ids=repr)
def test_slopes_and_curvatures_are_derivatives(loss):
    scores, y, C = sample(loss, 50, 2)
    step = 1e-6
    slopes = (loss.value(scores + step, y) - loss.value(scores - step, y)) / (2.0 * step)
    np.testing.assert_allclose(loss.slope(scores, y), slopes, atol=1e-5)
    bends = (loss.slope(scores + step, y) - loss.slope(scores - step, y)) / (2.0 * step)
    np.testing.assert_allclose(loss.curvature(scores, y), bends, atol=1e-5)
    lower, upper = loss.box(y, C)
    alpha = loss.dual_variables(scores, y, C)
    assert np.all((lower <= alpha) & (alpha <= upper))
    # The pair (score, its dual variable) attains the infimum.
    attained = C * loss.value(scores, y) + alpha * scores
    np.testing.assert_allclose(loss.dual_terms(alpha, y, C), attained, atol=1e-12)


@every_loss
def test_the_largest_slope_is_the_lipschitz_constant(loss):
    scores = np.linspace(-200.0, 200.0, 4001)
    y = np.ones_like(scores)
    steepest = np.abs(np.diff(loss.value(scores, y)) / np.diff(scores)).max()
    if loss.lipschitz is None:
        assert steepest > 100.0
    else:
        assert steepest == pytest.approx(loss.lipschitz, rel=1e-9)


@pytest.mark.parametrize("margin", [1e3, 1e6])
def test_probabilities_near_one_do_no_harm(margin):
    loss, y = LogLoss(), np.array([1.0, -1.0])
    assert np.isfinite(loss.value(np.array([-margin, margin]), y)).all()
    assert loss.value(np.array([margin, -margin]), y).max() == 0.0
    np.testing.assert_array_equal(loss.dual_terms(np.array([0.0, -2.0]), y, np.full(2, 2.0)), 0.0)


def one_kernel(loss, X, y, C, weights=None):
    """Return the decisions of one linear kernel and one cluster, at a gap of 1e-8."""
    costs = np.full(len(y), C) if weights is None else C * weights
    problem = Problem(GramStack([X @ X.T]), np.ones((len(y), 1)), y, costs, loss, 1)
    solution = solve_convex(problem, tol=1e-8)
    assert solution.converged
    return X @ (X.T @ solution.alpha) + solution.intercept


def table(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1.0, 2.0, 0.5, 1.0]
    score = X @ [1.0, -0.5, 2.0, 0.0] + 0.3 + rng.normal(size=n)
    return X, score, np.where(score > 0.0, 1.0, -1.0)


def assert_alike(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).mean())


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_log_loss_is_logistic_regression(C):
    X, _, y = table()
    reference = LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(X, y)
    assert_alike(one_kernel(LogLoss(), X, y, C), reference.decision_function(X))


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_squared_hinge_is_linear_svc(C):
    X, _, y = table()
    X, y = np.vstack([X, -X]), np.concatenate([y, -y])  # with its mirror image the intercept is zero
    reference = LinearSVC(C=C, tol=1e-10, max_iter=10**6, fit_intercept=False, dual=False).fit(X, y)
    assert_alike(one_kernel(SquaredHinge(), X, y, C), reference.decision_function(X))


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_squared_error_is_kernel_ridge(C):
    X, y, _ = table()
    X, y = X - X.mean(axis=0), y - y.mean()  # centred: the intercept is zero
    reference = KernelRidge(alpha=1.0 / C, kernel="linear").fit(X, y)
    assert_alike(one_kernel(SquaredError(), X, y, C), reference.predict(X))


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_quantile_is_quantile_regression_where_the_penalty_hardly_counts(quantile):
    X, y, _ = table()
    reference = QuantileRegressor(quantile=quantile, alpha=0.0).fit(X, y)
    assert_alike(one_kernel(Quantile(quantile), X, y, 1e3), reference.predict(X))


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_huber_is_that_of_a_generic_convex_solver(C):
    X, y, _ = table()
    w, b = cp.Variable(4), cp.Variable()
    losses = 0.5 * cp.huber(y - X @ w - b, 0.5)
    cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(losses))).solve(solver=cp.CLARABEL)
    assert_alike(one_kernel(Huber(0.5), X, y, C), X @ w.value + b.value)


def in_cvxpy(loss, score, y):
    """Return the losses as an expression."""
    error = y - score
    return {
        Hinge: lambda: cp.pos(1 - cp.multiply(y, score)),
        SquaredHinge: lambda: cp.square(cp.pos(1 - cp.multiply(y, score))),
        LogLoss: lambda: cp.logistic(-cp.multiply(y, score)),
        EpsilonInsensitive: lambda: cp.pos(cp.abs(error) - loss.epsilon),
        SquaredError: lambda: 0.5 * cp.square(error),
        Huber: lambda: 0.5 * cp.huber(error, loss.epsilon),
        Quantile: lambda: cp.maximum(loss.quantile * error, (loss.quantile - 1) * error),
    }[type(loss)]()


@pytest.mark.parametrize("p", [1, 4 / 3, 2])
@every_loss
def test_three_clusters_reach_the_optimum_of_a_generic_convex_solver(loss, p):
    rng = np.random.default_rng(3)
    features = rng.normal(size=(3, 24, 2))
    memberships = rng.dirichlet(np.ones(3), size=24)
    _, y, C = sample(loss, 24, 4)
    problem = Problem(GramStack(features @ features.transpose(0, 2, 1)), memberships, y, C, loss, p)
    w, b = [[cp.Variable(2) for _ in features] for _ in range(3)], cp.Variable()
    score = b + sum(
        cp.multiply(memberships[:, j], F @ w[j][m]) for j in range(3) for m, F in enumerate(features)
    )
    norms = [cp.hstack([cp.norm(own, 2) for own in cluster]) for cluster in w]
    penalty = 0.5 * sum(cp.square(cp.pnorm(own, 2 * p / (p + 1))) for own in norms)
    task = cp.Problem(cp.Minimize(penalty + C @ in_cvxpy(loss, score, y)))
    expected = task.solve(solver=cp.CLARABEL)
    assert solve_convex(problem, tol=1e-7).primal == pytest.approx(expected, rel=1e-6)


@every_loss
def test_every_loss_is_certified_at_any_cost_and_norm(loss):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 3))
    grams = [np.exp(-g * ((X[:, None] - X) ** 2).sum(-1)) for g in (0.1, 1.0)] + [X @ X.T]
    score = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=60)
    y = np.sign(score) if is_classification(loss) else score
    memberships = rng.dirichlet(np.ones(2), size=60)
    for C in (1e-3, 1.0, 1e4):
        for p in (1, 4 / 3, np.inf):
            problem = Problem(GramStack(grams), memberships, y, np.full(60, C), loss, p)
            solution = solve_convex(problem, tol=1e-8)
            assert solution.converged
            again = certify(problem, solution.weights, solution.alpha)
            assert again.gap <= 1e-8 + 2.0 * again.rounding
            assert abs(solution.alpha.sum()) <= 1e-9 * np.abs(solution.alpha).sum()
