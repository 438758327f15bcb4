"""From neighbour to neighbour: the same optimum, certified, from any start."""

from dataclasses import replace

import numpy as np
import pytest

from localmkl.solvers import convex
from localmkl.solvers.certify import certify
from localmkl.solvers.convex import solve_all, solve_convex
from localmkl.solvers.losses import EpsilonInsensitive, Hinge
from localmkl.solvers.objective import Problem
from localmkl.solvers.starts import Start, neighbour_start, on_sphere
from localmkl.stacks import GramStack


def problem_of(C=1.0, p=4 / 3, evenness=0.5, *, seed=0, loss=None, n=50, rows=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    grams = np.stack([np.exp(-g * ((X[:, None] - X) ** 2).sum(-1)) for g in (0.05, 0.3, 2.0)] + [X @ X.T])
    score = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n)
    first = evenness + (1.0 - 2.0 * evenness) * (X[:, 2] > 0.0)
    y = np.sign(score) if loss is None else score
    chosen = slice(None) if rows is None else rows
    memberships = np.column_stack([first, 1.0 - first])[chosen]
    costs = np.full(len(memberships), C)
    stack = GramStack(grams) if rows is None else GramStack(grams)[np.ix_(rows, rows)]
    return Problem(stack, memberships, y[chosen], costs, loss or Hinge(), p)


LOSSES = [None, EpsilonInsensitive(0.1)]


@pytest.mark.parametrize("loss", LOSSES, ids=["classification", "regression"])
@pytest.mark.parametrize("solver", ["newton", "alternating"])
def test_problems_solved_together_are_solved(solver, loss):
    tol = 1e-6 if solver == "newton" else 1e-3
    rows = np.random.default_rng(1).permutation(50)[:40]
    before = solve_convex(problem_of(loss=loss, rows=rows), tol=tol)
    problems = [problem_of(C, p, 0.4, loss=loss, rows=rows) for C in (0.3, 1.0, 5.0) for p in (1.5, 2.0)]
    starts = [neighbour_start(before, problem_of(loss=loss, rows=rows), problem) for problem in problems]
    solutions = solve_all(problems, starts, solver=solver, tol=tol, max_iter=2000)
    for problem, solution in zip(problems, solutions, strict=True):
        assert solution.converged
        assert solution.gap <= tol
        assert certify(problem, solution.weights, solution.alpha).gap == pytest.approx(solution.gap, abs=1e-9)
        alone = solve_convex(problem, tol=tol, max_iter=2000, solver=solver)
        assert solution.primal == pytest.approx(alone.primal, rel=2.0 * tol)
        assert len(solution.history["gap"]) == solution.n_iter


@pytest.mark.parametrize("p", [1, np.inf])
def test_selected_and_frozen_kernels_are_solved_together_too(p):
    old = problem_of(1.0, p)
    before = solve_convex(old, tol=1e-6)
    problems = [problem_of(C, p, 0.45) for C in (0.1, 1.0, 30.0)]
    for problem, solution in zip(
        problems,
        solve_all(problems, [neighbour_start(before, old, q) for q in problems], tol=1e-6),
        strict=True,
    ):
        assert solution.gap <= 1e-6
        assert solution.primal == pytest.approx(solve_convex(problem, tol=1e-6).primal, rel=2e-6)


def test_a_solution_that_is_good_enough_costs_no_step():
    problem = problem_of()
    solution = solve_convex(problem, tol=1e-7)
    (again,) = solve_all([problem], [neighbour_start(solution, problem, problem)], tol=1e-3)
    assert again.n_iter == 1
    np.testing.assert_array_equal(again.weights, solution.weights)


def test_memory_bounds_how_many_are_solved_at_once(monkeypatch):
    problems = [problem_of(C) for C in (0.3, 1.0, 5.0)]
    start = solve_convex(problems[0])
    starts = [neighbour_start(start, problems[0], problem) for problem in problems]
    together = solve_all(problems, starts)
    monkeypatch.setattr(convex, "TOGETHER_BYTES", 1)
    for one, other in zip(solve_all(problems, starts), together, strict=True):
        assert one.primal == pytest.approx(other.primal, rel=1e-3)


def test_what_is_not_certified_in_time_says_so():
    problem = problem_of(10.0, 1)
    start = neighbour_start(solve_convex(problem_of(0.01, 1)), problem_of(0.01, 1), problem)
    (solution,) = solve_all([problem], [start], tol=1e-12, max_iter=1)
    assert not solution.converged
    assert solution.gap > 1e-12


def test_a_moved_solution_keeps_to_the_new_bounds_and_sphere():
    old = problem_of(1.0, 1)
    solution = solve_convex(old, tol=1e-6)
    new = problem_of(4.0, 2)
    start = neighbour_start(solution, old, new)
    bounded = np.isclose(np.abs(solution.alpha), 1.0)
    assert bounded.any()
    np.testing.assert_allclose(np.abs(start.alpha[bounded]), 4.0)
    np.testing.assert_allclose(np.linalg.norm(start.weights, axis=1), 1.0)
    assert (start.weights > 0.0).all()
    unweighted = replace(old, C=np.zeros(50))
    assert np.isfinite(neighbour_start(solution, unweighted, new).alpha).all()
    np.testing.assert_array_equal(on_sphere(solution.weights, np.inf), 1.0)


@pytest.mark.parametrize("p", [1, 4 / 3, np.inf])
@pytest.mark.parametrize("loss", LOSSES, ids=["classification", "regression"])
def test_costs_that_no_dual_variable_feels_are_solved_once(loss, p, monkeypatch):
    costs, counts = (1e-2, 1e3, 1e4, 1e5), []
    old = [problem_of(C, p, 0.45, loss=loss) for C in costs]
    before = solve_all(old, tol=1e-6)
    problems = [problem_of(C, p, 0.4, loss=loss) for C in costs]
    starts = [neighbour_start(*pair, q) for *pair, q in zip(before, old, problems, strict=True)]
    course = convex._course
    monkeypatch.setattr(convex, "_course", lambda *given, **o: counts.append(1) or course(*given, **o))
    solutions = solve_all(problems, starts, tol=1e-6)
    assert len(counts) == 2
    for problem, solution in zip(problems, solutions, strict=True):
        assert solution.converged
        assert certify(problem, solution.weights, solution.alpha).gap <= 1e-6
        alone = solve_convex(problem, tol=1e-6)
        assert solution.primal == pytest.approx(alone.primal, rel=2e-6)
        assert len(solution.history["gap"]) == solution.n_iter
    np.testing.assert_array_equal(solutions[1].alpha, solutions[3].alpha)


def test_an_answer_for_larger_costs_that_breaks_the_smaller_bounds_is_not_taken(monkeypatch):
    problems = [problem_of(C) for C in (0.05, 1e3)]
    before = solve_all(problems)
    starts = [Start(solution.weights, np.zeros(50), near=True) for solution in before]  # they feel nothing
    solutions = solve_all(problems, starts)
    for problem, solution in zip(problems, solutions, strict=True):
        assert certify(problem, solution.weights, solution.alpha).gap <= 1e-3
    assert np.abs(solutions[0].alpha).max() <= 0.05 < np.abs(solutions[1].alpha).max()
