"""Newton's steps reach the optimum."""

import numpy as np
import pytest

from localmkl.solvers import primal
from localmkl.solvers.active_rows import ActiveRows
from localmkl.solvers.losses import Huber, LogLoss, SquaredHinge
from localmkl.solvers.objective import Problem
from localmkl.stacks import FactorStack

RNG = np.random.default_rng(0)
FEATURES = [RNG.normal(size=(120, 3)), RNG.normal(size=(120, 4))]
MEMBERSHIPS = RNG.dirichlet([1.0, 1.0], size=120)
LABELS = np.where(FEATURES[0][:, 0] + RNG.normal(size=120) > 0.3, 1.0, -1.0)


@pytest.mark.parametrize("loss", [SquaredHinge(), LogLoss(), Huber(1.5)], ids=repr)
@pytest.mark.parametrize("sampled", [5, 1000], ids=["few rows", "many rows"])
def test_the_gradient_vanishes_and_the_dual_variables_are_those_of_the_optimum(loss, sampled, monkeypatch):
    monkeypatch.setattr(primal, "SAMPLED", sampled)
    problem = Problem(FactorStack(FEATURES), MEMBERSHIPS, LABELS, np.full(120, 2.0), loss, 2.0)
    rows = ActiveRows(problem, np.zeros(120))
    roots = np.sqrt(problem.stack.spread(np.array([[0.5, 0.5], [0.9, 0.1]])))
    images, intercept = np.zeros_like(roots), 0.0
    for _ in range(25):
        images, intercept, *_ = primal.newton_step(rows, roots, images, intercept, 1e-15, True)
    alpha = rows.alpha
    outputs = problem.stack.scores(MEMBERSHIPS, images) + intercept
    np.testing.assert_allclose(alpha, loss.dual_variables(outputs, LABELS, problem.C), atol=1e-6)
    np.testing.assert_allclose(
        images, roots**2 * problem.stack.moments(problem.cluster_parts(alpha)), atol=1e-6
    )
    assert alpha.sum() == pytest.approx(0.0, abs=1e-6)
