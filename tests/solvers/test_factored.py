"""The solver on features: every way through it ends at the optimum of the dense solver, with a true gap."""

from dataclasses import replace
from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pytest

from localmkl.solvers import active_rows, convex, descent, factored, primal
from localmkl.solvers.certify import judge_factors
from localmkl.solvers.convex import solve_convex
from localmkl.solvers.descent import Descent
from localmkl.solvers.factored import solve_factored
from localmkl.solvers.inner import feasible_start
from localmkl.solvers.losses import (
    CLASSIFICATION,
    EpsilonInsensitive,
    Hinge,
    Huber,
    LogLoss,
    Quantile,
    SquaredError,
    SquaredHinge,
)
from localmkl.solvers.objective import Problem, uniform_weights
from localmkl.solvers.starts import Start, even_start, neighbour_start
from localmkl.stacks import FactorStack, GramStack

LOSSES = [
    Hinge(),
    SquaredHinge(),
    LogLoss(),
    EpsilonInsensitive(0.2),
    Quantile(0.3),
    SquaredError(),
    Huber(0.5),
]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)


def make_problem(loss, p, n_clusters, C=1.0, *, n=120, seed=0):
    """Return a problem with kernels of several widths and factors, and costs some of which are zero."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(n, 9))
    stack = FactorStack.of_table(table, (2, 3, 4)).scaled(rng.uniform(0.5, 2.0, size=3))
    memberships = rng.dirichlet(np.ones(n_clusters), size=n)
    score = table[:, 0] - memberships[:, 0] * table[:, 3] + 0.5 * rng.normal(size=n)
    y = np.sign(score) if type(loss) in CLASSIFICATION.values() else score
    costs = C * rng.uniform(0.5, 2.0, size=n) * (np.arange(n) % 10 > 0)
    return Problem(stack.using(parallel=False), memberships, y, costs, loss, p)


def solved(problem, start=None, **options):
    """Return the solution on features, and the solver of the inner problem that was used."""
    seen = []

    class Watched(Descent):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            seen.append(self)

        def solve(self, *arguments):
            super().solve(*arguments)
            alpha = self.rows.alpha
            assert abs(alpha.sum()) <= 1e-12 * np.abs(alpha).sum()
            assert self.dual <= self.primal * (1.0 + 1e-6)  # scores may be of single precision
            return self

    options = {"tol": 1e-8, **options}
    with patch.object(factored, "Descent", Watched):
        return solve_factored(problem, start or even_start(problem), **options), seen[0]


def dense(problem, tol=1e-10):
    """Return the solution of the dense solver."""
    stack = GramStack(problem.stack.to_array()).using(parallel=False)
    return solve_convex(replace(problem, stack=stack), tol=tol)


def assert_optimal(problem, solution, expected=None):
    expected = dense(problem) if expected is None else expected
    assert expected.converged
    assert solution.converged
    assert solution.gap <= 1e-8
    assert solution.primal == pytest.approx(expected.primal, rel=1e-7)
    assert solution.dual <= expected.primal * (1.0 + 1e-14)
    np.testing.assert_allclose(solution.weights, expected.weights, atol=1e-3)
    assert np.all(solution.alpha[problem.C == 0.0] == 0.0)


def sweep_only(monkeypatch):
    monkeypatch.setattr(descent, "CRAWL", -np.inf)


def solve_parts(monkeypatch):
    monkeypatch.setattr(descent, "SMALL_PART", 1000)


def take_newton_steps(monkeypatch):
    monkeypatch.setattr(descent, "SMALL_PART", 0)
    monkeypatch.setattr(primal, "SAMPLED", 40)


@every_loss
@pytest.mark.parametrize(
    "go, p, n_clusters, C",
    [(sweep_only, 2, 2, 0.05), (solve_parts, 1, 1, 10.0), (take_newton_steps, 4 / 3, 2, 10.0)],
)
def test_every_way_through_the_inner_problem_ends_at_the_dense_optimum(
    loss, go, p, n_clusters, C, monkeypatch
):
    go(monkeypatch)
    problem = make_problem(loss, p, n_clusters, C, n=100)
    solution, inner = solved(problem)
    used = {sweep_only: inner.sweeps, solve_parts: inner.parts, take_newton_steps: inner.steps}
    assert used[go] > 0
    assert go is not sweep_only or inner.parts == inner.steps == 0
    assert_optimal(problem, solution)


@pytest.mark.parametrize("n_clusters", [1, 2])
@pytest.mark.parametrize("p", [1.1, 2, 20, np.inf])
def test_every_norm_ends_at_the_dense_optimum(p, n_clusters):
    problem = make_problem(SquaredHinge(), p, n_clusters)
    solution, _ = solved(problem)
    assert_optimal(problem, solution)
    np.testing.assert_allclose(np.linalg.norm(solution.weights, p, axis=1), 1.0, rtol=1e-9)


def test_the_closed_form_ends_at_the_dense_optimum():
    problem = make_problem(SquaredHinge(), 2, 2)
    solution, _ = solved(problem, solver="alternating", max_iter=2000)
    assert_optimal(problem, solution)
    assert solution.n_iter > solved(problem)[0].n_iter


def spread_out(table, tmp_path):
    """Return the features of each kernel in an array of its own."""
    return FactorStack([table[:, first:last].copy() for first, last in pairwise([0, 2, 5, 9])])


def in_a_file(table, tmp_path):
    np.save(tmp_path / "features.npy", table)
    return FactorStack.open(tmp_path / "features.npy", (2, 3, 4))


def in_another_order(table, tmp_path):
    """Return a slice of a larger stack whose rows are shuffled."""
    order = np.random.default_rng(1).permutation(2 * len(table))
    mixed = np.concatenate([table, np.ones_like(table)])[order]
    rows = np.argsort(order)[: len(table)]
    return FactorStack.of_table(mixed, (2, 3, 4))[np.ix_(rows, rows)]


def rescaled(table, tmp_path):
    """Return features that are multiplied when they are read."""
    scales = np.random.default_rng(1).uniform(0.5, 2.0, size=(3, len(table)))
    own = table / np.repeat(scales, (2, 3, 4), axis=0).T
    return FactorStack.of_table(own, (2, 3, 4)).divided(scales, in_place=False)


def in_numpy(table, tmp_path):
    return FactorStack.of_table(table, (2, 3, 4)).using(backend="reference")


@pytest.mark.parametrize("place", [spread_out, in_a_file, in_another_order, rescaled, in_numpy])
def test_it_makes_no_difference_where_features_are(place, tmp_path):
    problem = make_problem(LogLoss(), 4 / 3, 2, n=60)
    stack = place(problem.stack.features(), tmp_path).scaled(problem.stack.factors)
    found, _ = solved(replace(problem, stack=stack.using(parallel=False)))
    expected, _ = solved(problem)
    assert found.primal == pytest.approx(expected.primal, rel=1e-8)
    np.testing.assert_allclose(found.alpha, expected.alpha, atol=1e-5)


@pytest.mark.parametrize("loss", [Hinge(), LogLoss()], ids=repr)
def test_features_of_single_precision_are_solved_to_any_gap(loss):
    problem = make_problem(loss, 4 / 3, 2)
    table = problem.stack.features().astype(np.float32)
    stack = FactorStack.of_table(table, (2, 3, 4)).scaled(problem.stack.factors).using(parallel=False)
    problem = replace(problem, stack=stack)
    assert problem.stack.dtype == np.float32
    assert_optimal(problem, solved(problem)[0])


@every_loss
def test_a_warm_start_at_the_solution_ends_at_once(loss):
    problem = make_problem(loss, 4 / 3, 2)
    solution = dense(problem, tol=1e-9)
    again, _ = solved(problem, neighbour_start(solution, problem, problem), tol=1e-6)
    assert again.converged
    assert again.n_iter == 1
    np.testing.assert_array_equal(again.weights, solution.weights)


@pytest.mark.parametrize("loss", [Hinge(), Huber(0.5)], ids=repr)
def test_a_warm_start_from_another_cost_ends_at_the_optimum(loss):
    near = make_problem(loss, 4 / 3, 2)
    solution = dense(near)
    for growth in (0.1, 10.0):
        problem = replace(near, C=growth * near.C)
        assert_optimal(problem, solved(problem, neighbour_start(solution, near, problem))[0])


def test_a_start_with_weights_of_zero_is_no_trap():
    problem = make_problem(Hinge(), 1, 2, n=60)
    start = Start(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]), problem.y * np.minimum(problem.C, 0.1))
    assert_optimal(problem, solved(problem, start)[0])


VALUES = {
    Hinge: lambda f, y: np.maximum(0, 1 - y * f),
    SquaredHinge: lambda f, y: np.maximum(0, 1 - y * f) ** 2,
    LogLoss: lambda f, y: np.log1p(np.exp(-y * f)),
    EpsilonInsensitive: lambda f, y: np.maximum(0, np.abs(y - f) - 0.2),
    Quantile: lambda f, y: np.where(y > f, 0.3 * (y - f), 0.7 * (f - y)),
    SquaredError: lambda f, y: (y - f) ** 2 / 2,
    Huber: lambda f, y: np.where(np.abs(y - f) < 0.5, (y - f) ** 2 / 2, 0.5 * np.abs(y - f) - 0.125),
}
CONJUGATES = {
    Hinge: lambda a, y, C: y * a,
    SquaredHinge: lambda a, y, C: y * a - a**2 / (4 * C),
    LogLoss: lambda a, y, C: -y * a * np.log(y * a / C) - (C - y * a) * np.log(1 - y * a / C),
    EpsilonInsensitive: lambda a, y, C: y * a - 0.2 * np.abs(a),
    Quantile: lambda a, y, C: y * a,
    SquaredError: lambda a, y, C: y * a - a**2 / (2 * C),
    Huber: lambda a, y, C: y * a - a**2 / (2 * C),
}


def plain_values(problem, weights, alpha, intercept):
    """Return primal and dual from the Grams of the features, in the plainest extended NumPy there is."""
    table, c = problem.stack.features().astype(np.longdouble), problem.memberships
    widths, factors = problem.stack.widths, problem.stack.factors
    tables = np.split(table, np.cumsum(widths)[:-1], axis=1)
    K = np.stack([factor * own @ own.T for factor, own in zip(factors, tables, strict=True)])
    U = c * alpha.astype(np.longdouble)[:, None]
    q = np.einsum("ij,mik,kj->jm", U, K, U)
    f = intercept + np.einsum("jm,ij,mik,kj->i", weights, c, K, U, optimize=True)
    kept, kind = problem.C > 0.0, type(problem.loss)
    y, C = problem.y[kept], problem.C[kept]
    costs = np.sum(C * VALUES[kind](f[kept], y))
    star = np.inf if problem.p == 1 else problem.p / (problem.p - 1)
    penalty = sum(np.max(own) if np.isinf(star) else np.sum(own**star) ** (1 / star) for own in q)
    gain = np.sum(CONJUGATES[kind](U.sum(axis=1)[kept], y, C))
    return np.sum(weights * q) / 2 + costs, gain - penalty / 2


@every_loss
@pytest.mark.parametrize("p", [1, 4 / 3])
def test_the_gap_of_any_answer_is_that_of_plain_numpy_and_bounds_what_is_lost(loss, p):
    problem = make_problem(loss, p, 2)
    best = dense(problem)
    rng = np.random.default_rng(1)
    lower, upper = problem.box()
    for share in (0.0, 1e-4, 0.1, 1.0):
        weights = best.weights + share * (rng.dirichlet(np.ones(3), size=2) - best.weights)
        other = rng.uniform(np.maximum(lower, -1.0), np.minimum(upper, 1.0))
        alpha = feasible_start(best.alpha + share * (other - best.alpha), lower, upper)
        found = judge_factors(problem, weights, alpha)
        highest, lowest = plain_values(problem, weights, alpha, found.intercept)
        assert found.primal == pytest.approx(float(highest), rel=1e-12)
        assert found.dual == pytest.approx(float(lowest), rel=1e-12, abs=1e-12 * found.primal)
        assert found.rounding < 1e-10
        assert found.gap - found.rounding == pytest.approx(float((highest - lowest) / highest), abs=1e-11)
        assert found.gap >= (highest - lowest) / highest
        assert found.gap >= (found.primal - best.dual) / found.primal - best.gap
        assert found.dual <= best.primal * (1.0 + 1e-14)


@pytest.mark.skipif(np.finfo(np.longdouble).eps == np.finfo(float).eps, reason="no precision beyond double")
def test_extended_precision_decides_where_double_cannot():
    problem = make_problem(Hinge(), 1, 2, 1e4)
    best = dense(problem, tol=1e-9)
    double = judge_factors(problem, best.weights, best.alpha)
    extended = judge_factors(problem, best.weights, best.alpha, double.gap - 0.5 * double.rounding)
    assert 0.0 < extended.rounding < 1e-2 * double.rounding
    assert abs(extended.gap - (double.gap - double.rounding)) <= double.rounding


def test_answers_that_are_not_feasible_have_an_infinite_gap():
    problem = make_problem(Hinge(), 4 / 3, 2)
    best = dense(problem, tol=1e-6)
    assert judge_factors(problem, best.weights, best.alpha).gap <= 1e-6 * 1.01
    for weights, alpha in (
        (1.001 * best.weights, best.alpha),
        (best.weights, 1.5 * best.alpha),
        (best.weights, np.maximum(best.alpha, 0.0)),
        (best.weights * np.nan, best.alpha),
    ):
        assert judge_factors(problem, weights, alpha).gap == np.inf


def test_the_callback_sees_every_step_and_the_history_keeps_it():
    seen = []
    solution, _ = solved(make_problem(LogLoss(), 1, 2), callback=lambda *step: seen.append(step))
    assert [step[0] for step in seen] == list(range(1, solution.n_iter + 1))
    np.testing.assert_array_equal(
        [step[1:] for step in seen],
        np.column_stack([solution.history[key] for key in ("primal", "dual", "gap")]),
    )


def test_stopping_early_is_said_and_still_certified():
    problem = make_problem(Hinge(), 1, 2, 10.0)
    solution, _ = solved(problem, max_iter=1)
    assert not solution.converged
    highest, lowest = plain_values(problem, solution.weights, solution.alpha, solution.intercept)
    assert solution.gap == pytest.approx(float((highest - lowest) / highest), abs=1e-9)
    assert solution.gap > 1e-8


def test_few_rows_that_are_not_settled_leave_nothing_of_the_sum():
    problem = make_problem(Hinge(), 4 / 3, 2, 0.1, n=60, seed=5)
    assert solved(problem, tol=1e-6)[0].converged  # `solved` looks at sums


@pytest.mark.parametrize("loss", [Hinge(), LogLoss()], ids=repr)
def test_a_certificate_that_never_agrees_ends_the_search_and_is_believed(loss, monkeypatch):
    def doubtful(*arguments):
        return replace(judge_factors(*arguments), gap=2e-6)

    monkeypatch.setattr(active_rows, "judge_factors", doubtful)
    solution, _ = solved(make_problem(loss, 4 / 3, 2, n=60), tol=1e-6, max_iter=15)
    assert not solution.converged
    assert solution.gap == 2e-6


@pytest.mark.parametrize("n", [40, 41])
def test_more_rows_than_a_part_may_have_are_solved_on_their_features(n, monkeypatch):
    for module in (convex, descent):
        monkeypatch.setattr(module, "LARGEST_PART", 40)
    made = []
    monkeypatch.setattr(convex, "solve_factored", lambda *a, **k: made.append(1) or solve_factored(*a, **k))
    problem = make_problem(Hinge(), 4 / 3, 2, n=n)
    assert_optimal(problem, solve_convex(problem, tol=1e-8))
    assert len(made) == n - 40


def with_labels_in_order(problem):
    order = np.argsort(problem.y, kind="stable")
    return problem.on(order)


def with_a_class_of_three_rows(problem):
    y = -np.ones(problem.n_samples)
    y[[11, 12, 58]] = 1.0
    return replace(problem, y=y)


def with_a_kernel_of_zeros(problem):
    table = problem.stack.features().copy()
    table[:, 2:5] = 0.0
    return replace(problem, stack=FactorStack.of_table(table, (2, 3, 4)).using(parallel=False))


def with_rows_of_zeros(problem):
    table = problem.stack.features().copy()
    table[::4] = 0.0
    return replace(problem, stack=FactorStack.of_table(table, (2, 3, 4)).using(parallel=False))


def with_every_row_twice(problem):
    return problem.on(np.tile(np.arange(problem.n_samples), 2))


def with_one_kernel(problem):
    return replace(problem, stack=problem.stack.only(1))


def with_more_features_than_rows(problem):
    table = np.random.default_rng(1).normal(size=(problem.n_samples, 2 * problem.n_samples))
    return replace(problem, stack=FactorStack([table[:, :40], table[:, 40:]]).using(parallel=False))


def with_an_empty_cluster(problem):
    hard = np.eye(3)[(problem.memberships[:, 0] > 0.5).astype(int)]
    return replace(problem, memberships=hard)


def with_large_costs(problem):
    return replace(problem, C=1e3 * problem.C)


def with_small_costs(problem):
    return replace(problem, C=1e-4 * problem.C)


@pytest.mark.parametrize(
    "make, loss",
    [
        (with_labels_in_order, Hinge()),
        (with_a_class_of_three_rows, Hinge()),
        (with_a_class_of_three_rows, LogLoss()),
        (with_a_kernel_of_zeros, LogLoss()),
        (with_rows_of_zeros, Hinge()),
        (with_every_row_twice, EpsilonInsensitive(0.2)),
        (with_one_kernel, Quantile(0.3)),
        (with_more_features_than_rows, Hinge()),
        (with_more_features_than_rows, SquaredError()),
        (with_an_empty_cluster, Huber(0.5)),
        (with_large_costs, Hinge()),
        (with_large_costs, LogLoss()),
        (with_small_costs, EpsilonInsensitive(0.2)),
    ],
)
def test_awkward_problems_are_solved_as_any_other(make, loss):
    problem = make(make_problem(loss, 4 / 3, 2, n=60))
    solution, _ = solved(problem)
    expected = dense(problem)
    assert expected.converged
    assert solution.converged
    assert solution.primal == pytest.approx(expected.primal, rel=1e-7)
    assert solution.dual <= expected.primal * (1.0 + 1e-14)
    assert np.isfinite(solution.weights).all()


@pytest.mark.parametrize(
    "loss", [EpsilonInsensitive(0.2), Quantile(0.3), SquaredError(), Huber(0.5)], ids=repr
)
def test_targets_that_are_all_the_same_have_an_exact_answer(loss):
    problem = replace(make_problem(loss, 4 / 3, 2), y=np.full(120, 0.3))
    solution, _ = solved(problem)
    assert solution.converged
    assert solution.primal == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("loss", [Hinge(), LogLoss(), Huber(0.5)], ids=repr)
def test_without_costs_nothing_is_learned(loss):
    problem = make_problem(loss, 4 / 3, 2, 0.0)
    solution, _ = solved(problem)
    assert solution.converged
    assert not solution.alpha.any()
    np.testing.assert_array_equal(solution.weights, uniform_weights((2, 3), 4 / 3))


def test_parts_are_small_also_after_a_look_that_finds_more_rows(monkeypatch):
    monkeypatch.setattr(descent, "LARGEST_PART", 40)
    monkeypatch.setattr(Descent, "_next", lambda self, *about: self.solve_part)
    sizes, plain = [], Descent.solve_part
    monkeypatch.setattr(
        Descent, "solve_part", lambda self, target: sizes.append(self.n_active) or plain(self, target)
    )
    solved(make_problem(Hinge(), 2, 2), tol=1e-4, max_iter=3)
    assert sizes
    assert max(sizes) <= 40
