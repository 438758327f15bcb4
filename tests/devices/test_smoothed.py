"""Smoothed losses and the weights of a quadratic loss are what their formulas say."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from localmkl.solvers.losses import EpsilonInsensitive, Hinge, Huber, LogLoss, Quantile, SquaredHinge
from localmkl.solvers.objective import Problem
from localmkl.solvers.quadratic import QuadraticModel, factor
from localmkl.solvers.smoothed import smoothed
from localmkl.stacks import FactorStack


def problem_of(loss, device, n=12):
    rng = np.random.default_rng(0)
    stack = FactorStack([torch.as_tensor(rng.normal(size=(n, 2))).to(device)])
    y = (
        np.sign(rng.normal(size=n))
        if isinstance(loss, Hinge | SquaredHinge | LogLoss)
        else rng.normal(size=n)
    )
    return Problem(stack, np.ones((n, 1)), y, rng.uniform(0.5, 2.0, size=n), loss, 2.0)


LOSSES = [Hinge(), SquaredHinge(), LogLoss(), EpsilonInsensitive(0.3), Quantile(0.3), Huber(0.5)]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_dual_variables_are_slopes_and_their_bends_curvatures(loss, device):
    own = smoothed(problem_of(loss, device), 0.7)
    rng = np.random.default_rng(1)
    tensor = problem_of(loss, device).stack.tensor
    scores, along, h = tensor(1.5 * rng.normal(size=12)), tensor(rng.normal(size=12)), 1e-6
    for _ in range(2):  # around zero, then around other dual variables
        alpha = own.dual_variables(scores)
        slope = (own.value(scores + h * along) - own.value(scores - h * along)) / (2.0 * h)
        np.testing.assert_allclose(slope, -float(alpha @ along), rtol=1e-6, atol=1e-8)
        rise = (own.dual_variables(scores + h * along) - own.dual_variables(scores - h * along)) / (2.0 * h)
        bends = own.bends(alpha)
        assert bends.any()
        np.testing.assert_allclose(rise.cpu(), -(bends * along).cpu(), rtol=1e-5, atol=1e-7)
        if not own.smooth:
            break
        own.narrow(alpha)
        scores = own.y - own.tube * alpha.sign() + 0.05 * tensor(rng.normal(size=12))


def test_where_no_loss_bends_all_rows_are_taken_to(device):
    own = smoothed(problem_of(Hinge(), device), 0.7)
    alpha = own.dual_variables(10.0 * own.y)
    assert not own.inside(alpha).any()
    assert bool((own.bends(alpha) > 0.0).all())


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_costs_and_duals_are_those_of_the_loss(loss, device):
    problem = problem_of(loss, device)
    own, tensor = smoothed(problem, 0.7), problem.stack.tensor
    scores = np.random.default_rng(1).normal(size=12)
    cost = float(problem.C @ loss.value(scores, problem.y))
    np.testing.assert_allclose(own.cost(tensor(scores)), cost, rtol=1e-12)
    assert own.value(tensor(scores)) <= cost + 1e-12
    alpha = own.dual_variables(tensor(scores))
    terms = loss.dual_terms(alpha.cpu().numpy(), problem.y, problem.C).sum()
    np.testing.assert_allclose(float(own.dual(alpha)), terms, rtol=1e-12)


@pytest.mark.parametrize("p", [1.0, 4 / 3, 2.0, 50.0])
def test_the_weights_of_a_quadratic_loss_are_the_best(p, device):
    rng = np.random.default_rng(2)
    half, right = rng.normal(size=(9, 30)), rng.normal(size=9)
    matrix, places = half @ half.T / 10.0, np.repeat(np.arange(4), [2, 3, 2, 2])  # two clusters, two kernels

    def best(weights):
        inverse = np.linalg.inv(matrix + np.diag(1.0 / np.asarray(weights).ravel()[places]))
        return -0.5 * right @ inverse @ right

    to = {"dtype": torch.float64, "device": device}
    model = QuadraticModel(
        torch.tensor(matrix, **to), torch.tensor(right, **to), torch.as_tensor(places, device=device), p
    )
    start = torch.full((2, 2), 2.0 ** (-1.0 / p), **to)
    found = model.best_weights(start, 1e-9).cpu().numpy()
    np.testing.assert_allclose((found**p).sum(axis=1), 1.0)
    v, k = model.solve(torch.tensor(found, **to))
    np.testing.assert_allclose(v.cpu(), found.ravel()[places] * k.cpu().numpy(), rtol=1e-9, atol=1e-12)
    balls = [{"type": "ineq", "fun": lambda w, j=j: 1.0 - np.sum(w[2 * j : 2 * j + 2] ** p)} for j in (0, 1)]
    reference = minimize(
        best, start.cpu().numpy().ravel(), method="SLSQP", bounds=[(1e-9, 1.0)] * 4, constraints=balls,
        options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    assert best(found) <= reference.fun + 1e-8


def test_a_matrix_that_cannot_be_factorised_gets_a_larger_diagonal(device):
    one = torch.ones((3, 3), dtype=torch.float64, device=device)
    lower = factor(one.clone).tril()
    np.testing.assert_allclose((lower @ lower.T).cpu(), np.ones((3, 3)), atol=1e-6)
    with pytest.raises(FloatingPointError, match="positive definite"):
        factor((-one).clone)
