"""The solver on features: every way through it ends at the optimum of the dense solver, with a true gap."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from localmkl.solvers import convex, descent, primal, shards
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
from localmkl.solvers.shards import gather_team
from localmkl.solvers.starts import Start, even_start, neighbour_start
from localmkl.stacks import FactorStack, GramStack

LOSSES = [Hinge(), SquaredHinge(), LogLoss(), EpsilonInsensitive(0.2), Quantile(0.3), SquaredError(), Huber(0.5)]
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

    options = {"tol": 1e-8, **options}
    return solve_factored(problem, start or even_start(problem), descent=Watched, **options), seen[0]


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
    assert solution.dual <= expected.primal
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
    "go, p, n_clusters, C", [(sweep_only, 2, 1, 0.1), (solve_parts, 4 / 3, 2, 10.0), (take_newton_steps, 1, 3, 10.0)]
)
def test_every_way_through_the_inner_problem_ends_at_the_dense_optimum(loss, go, p, n_clusters, C, monkeypatch):
    go(monkeypatch)
    problem = make_problem(loss, p, n_clusters, C)
    solution, inner = solved(problem)
    used = {sweep_only: inner.sweeps, solve_parts: inner.parts, take_newton_steps: inner.steps}
    assert used[go] > 0
    assert go is not sweep_only or inner.parts == inner.steps == 0
    assert_optimal(problem, solution)
