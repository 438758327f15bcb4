"""Newton's method on sums over chunks ends where the solver of rows in memory ends."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from localmkl.cluster.chunk_sums import Block, Task, add, evidence, look, values
from localmkl.solvers.certify import judge_factors
from localmkl.solvers.convex import solve_convex
from localmkl.solvers.losses import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    LogLoss,
    Quantile,
    SquaredError,
    SquaredHinge,
)
from localmkl.solvers.newton_sums import Shape, solve_on_sums
from localmkl.solvers.objective import Problem
from localmkl.stacks import FactorStack

LOSSES = [
    Hinge(),
    SquaredHinge(),
    LogLoss(),
    EpsilonInsensitive(0.2),
    Quantile(0.3),
    SquaredError(),
    Huber(0.5),
]
CUTS = (0, 50, 51, 120)
WIDTHS = (2, 3, 4)


def make_problem(loss, p, n_clusters=2, C=1.0, seed=0):
    rng = np.random.default_rng(seed)
    table, factors = rng.normal(size=(120, 9)), rng.uniform(0.5, 2.0, size=3)
    memberships = rng.dirichlet(np.ones(n_clusters), size=120)
    score = table[:, 0] - memberships[:, 0] * table[:, 3] + 0.5 * rng.normal(size=120)
    y = np.sign(score) if isinstance(loss, Hinge | SquaredHinge | LogLoss) else score
    costs = C * rng.uniform(0.5, 2.0, size=120) * (np.arange(120) % 10 > 0)
    return Problem(FactorStack.of_table(table, WIDTHS).scaled(factors), memberships, y, costs, loss, p)


class Chunks:
    """The rows of a problem in three chunks, one of them a single row."""

    def __init__(self, problem):
        roots = np.repeat(np.sqrt(problem.stack.factors), WIDTHS)
        base = abs(problem.loss.best_intercept(np.zeros(120), problem.y, problem.C))
        self.shape = Shape(
            problem.loss, problem.p, roots, WIDTHS, problem.memberships.shape[1], 120, scale=1.0, base=base
        )
        table, task = problem.stack.features(), Task(self.shape, 1.0)
        parts = [slice(*ends) for ends in pairwise(CUTS)]
        blocks = [Block(table[own], problem.y[own], problem.C[own], WIDTHS, np.zeros(3)) for own in parts]

        def total(function, *state):
            pairs = zip(blocks, parts, strict=True)
            return add([function(block, problem.memberships[own], task, *state) for block, own in pairs])

        self.look, self.values, self.evidence = (partial(total, one) for one in (look, values, evidence))


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("p", [1.0, 4 / 3, 2.0, np.inf])
def test_the_optimum_is_that_of_rows_in_memory(loss, p):
    problem = make_problem(loss, p)
    chunks = Chunks(problem)
    found, u = solve_on_sums(chunks.shape, chunks, tol=1e-6)
    assert found.converged
    assert found.gap <= 1e-6
    expected = solve_convex(problem, tol=1e-9)
    assert found.primal == pytest.approx(expected.primal, rel=2e-6)
    assert found.dual <= expected.primal * (1.0 + 1e-12)
    scores = problem.stack.scores(problem.memberships, u) + found.intercept
    lengths = problem.stack.fold(np.square(u)) / problem.stack.factors
    kept = found.weights > 0.0
    norm = np.sum(lengths[kept] / found.weights[kept])
    assert found.primal == pytest.approx(0.5 * norm + problem.C @ loss.value(scores, problem.y), rel=1e-12)


@pytest.mark.parametrize("loss", [Hinge(), LogLoss(), Huber(0.5)], ids=lambda loss: type(loss).__name__)
def test_the_certificate_is_that_of_the_same_answer_in_memory(loss):
    problem = make_problem(loss, 4 / 3)
    chunks = Chunks(problem)
    answer = solve_convex(problem, tol=1e-10)
    u = problem.stack.spread(answer.weights * problem.stack.factors) * problem.stack.moments(
        problem.cluster_parts(answer.alpha)
    )
    width = 1e-4 if isinstance(loss, Hinge) else 0.0
    found, _ = solve_on_sums(chunks.shape, chunks, tol=1e-9)
    judged = judge_factors(problem, answer.weights, answer.alpha)
    assert found.dual <= judged.primal * (1.0 + 1e-12)
    assert judged.dual <= found.primal * (1.0 + 1e-12)
    there = chunks.evidence(u, answer.intercept, width, (0.0, 0.0))
    alpha = chunks.shape.rounded(width).dual_variables(
        problem.stack.scores(problem.memberships, u) + answer.intercept, problem.y, problem.C
    )
    lower, upper = problem.box()
    alpha = np.clip(alpha, lower, upper)
    np.testing.assert_allclose(there["sums"], problem.stack.moments(problem.cluster_parts(alpha)), atol=1e-9)
    assert there["duals"][0] == pytest.approx(loss.dual_terms(alpha, problem.y, problem.C).sum(), rel=1e-9)
    assert there["surplus"] == pytest.approx(alpha.sum(), abs=1e-9)
    assert not there["outside"]


def test_dual_variables_whose_sum_is_off_zero_are_cut_on_the_larger_side():
    problem = make_problem(Hinge(), 2.0)
    chunks = Chunks(problem)
    u = np.random.default_rng(1).normal(size=(2, 9))
    sides = chunks.look(u, 0.3, 0.1).sides
    side = np.sign(sides.sum())
    cut = (side, abs(sides.sum()) / abs(sides[int(side > 0)]))
    assert abs(chunks.evidence(u, 0.3, 0.1, cut)["surplus"]) < 1e-12 * np.abs(sides).sum()


def test_values_are_those_of_a_look():
    chunks = Chunks(make_problem(EpsilonInsensitive(0.2), 2.0))
    rng = np.random.default_rng(2)
    points = [(rng.normal(size=(2, 9)), b) for b in (0.0, 0.5)]
    expected = [chunks.look(u, b, 0.1).smooth for u, b in points]
    np.testing.assert_allclose(chunks.values(points, 0.1), expected, rtol=1e-12)
