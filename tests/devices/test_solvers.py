"""Solvers for devices find the optimum of the other solvers, with every loss, certified."""

import warnings

import numpy as np
import pytest
import torch

from localmkl import GramStack
from localmkl.solvers import joint
from localmkl.solvers.certify import certify, judge_factors, judge_on_device
from localmkl.solvers.convex import solve_convex
from localmkl.solvers.losses import (
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
from localmkl.stacks import FactorStack

CLASSES = [Hinge(), SquaredHinge(), LogLoss()]
NUMBERS = [EpsilonInsensitive(0.1), Quantile(0.3), Huber(0.5), SquaredError()]


class Stranger(Smooth):
    """A loss that is not one of ours."""

    value = box = dual_terms = slope = curvature = None


def name(loss):
    return type(loss).__name__


def rows(n=60, n_kernels=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    grams = np.stack([np.exp(-gamma * squares) for gamma in np.logspace(-1.5, 0.5, n_kernels)])
    targets = np.where(X[:, 0] > 0, X[:, 1], X[:, 2] ** 2 - 1.0) + 0.3 * rng.normal(size=n)
    memberships = rng.dirichlet(np.ones(2), size=n)
    return grams, targets, memberships


def factors(grams, rank=12):
    parts = []
    for gram in grams:
        values, vectors = np.linalg.eigh(gram[:rank, :rank])
        parts.append(gram[:, :rank] @ vectors / np.sqrt(np.maximum(values, 1e-9)))
    return parts


def both(kind, grams, device):
    """Return a stack in memory, and the same on the device."""
    if kind == "Grams":
        return GramStack(grams), GramStack(torch.as_tensor(grams).to(device))
    parts = factors(grams)
    return FactorStack(parts), FactorStack([torch.as_tensor(part).to(device) for part in parts])


@pytest.mark.parametrize("p", [1, 4 / 3, 2, np.inf])
@pytest.mark.parametrize("kind", ["Grams", "features"])
@pytest.mark.parametrize("loss", [*CLASSES, *NUMBERS], ids=name)
def test_the_answer_is_that_of_the_other_solvers(loss, kind, p, device):
    grams, targets, memberships = rows()
    y = np.sign(targets) if loss in CLASSES else targets
    C = np.random.default_rng(3).uniform(0.5, 2.0, size=len(y))
    here, there = (Problem(stack, memberships, y, C, loss, p) for stack in both(kind, grams, device))
    expected, found = (solve_convex(problem, tol=1e-9) for problem in (here, there))
    assert found.converged
    assert abs(found.primal - expected.primal) <= 1e-8 * expected.primal
    scores = [certify(here, one.weights, one.alpha).squared_norm for one in (found, expected)]
    np.testing.assert_allclose(*scores, rtol=1e-3)
    # The answer of a device is judged again, from scratch, by NumPy alone.
    again = certify(here, found.weights, found.alpha)
    assert again.gap <= 1e-9
    np.testing.assert_allclose(again.intercept, found.intercept, atol=1e-6)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("kind", ["Grams", "features"])
@pytest.mark.parametrize("loss", [Hinge(), LogLoss(), EpsilonInsensitive(0.1)], ids=name)
def test_small_and_large_costs_take_few_steps(loss, kind, C, device):
    grams, targets, memberships = rows(n=80)
    y = np.sign(targets) if loss in CLASSES else targets
    stack = both(kind, grams, device)[1]
    found = solve_convex(Problem(stack, memberships, y, np.full(80, C), loss, 4 / 3), tol=1e-6)
    assert found.converged
    assert found.n_iter <= (30 if kind == "Grams" else 50)


@pytest.mark.parametrize("kind", ["Grams", "features"])
def test_samples_that_cost_nothing_have_no_dual_variable(kind, device):
    grams, targets, memberships = rows()
    C = np.where(np.arange(60) % 3 == 0, 0.0, 1.0)
    here, there = both(kind, grams, device)
    problems = [Problem(one, memberships, np.sign(targets), C, Hinge(), 2) for one in (here, there)]
    expected, found = (solve_convex(problem, tol=1e-8) for problem in problems)
    assert not found.alpha[C == 0.0].any()
    np.testing.assert_allclose(found.primal, expected.primal, rtol=1e-7)


def test_most_dual_variables_at_a_bound_are_on_it(device):
    grams, targets, memberships = rows(n=100)
    stack = both("features", grams, device)[1]
    found = solve_convex(Problem(stack, memberships, np.sign(targets), np.ones(100), Hinge(), 2), tol=1e-6)
    assert np.count_nonzero(found.alpha == 0.0) > 10
    assert np.count_nonzero(np.abs(found.alpha) == 1.0) > 10


def test_the_callback_sees_every_step_and_few_steps_are_said(device):
    grams, targets, memberships = rows()
    problem = Problem(both("Grams", grams, device)[1], memberships, np.sign(targets), np.ones(60), Hinge(), 2)
    seen = []
    found = solve_convex(problem, tol=1e-8, max_iter=3, callback=lambda *step: seen.append(step))
    assert len(seen) == found.n_iter == 3
    assert not found.converged
    assert np.isfinite(found.gap)
    assert found.gap > 1e-8


def test_a_float32_stack_is_certified_too(device):
    grams, targets, memberships = rows()
    stack = GramStack(torch.as_tensor(grams, dtype=torch.float32, device=device))
    found = solve_convex(Problem(stack, memberships, np.sign(targets), np.ones(60), Hinge(), 2), tol=1e-6)
    assert found.converged
    numbers = GramStack(grams.astype(np.float32))
    again = certify(Problem(numbers, memberships, np.sign(targets), np.ones(60), Hinge(), 2), *_pair(found))
    assert again.gap <= 1e-6


def _pair(solution):
    return solution.weights, solution.alpha


def test_other_ways_to_move_the_weights_and_other_losses_are_for_the_processor(device):
    grams, targets, memberships = rows()
    stack = both("Grams", grams, device)[1]
    with pytest.raises(ValueError, match="solver"):
        solve_convex(Problem(stack, memberships, targets, np.ones(60), Huber(), 2), solver="alternating")
    stranger = Problem(stack, memberships, targets, np.ones(60), Stranger(), 2)
    with pytest.raises(TypeError, match="device='cpu'"):
        solve_convex(stranger)


@pytest.mark.parametrize("kind", ["Grams", "features"])
def test_the_certificate_does_not_trust_the_device(kind, device, monkeypatch):
    grams, targets, memberships = rows()
    stack = both(kind, grams, device)[1]
    problem = Problem(stack, memberships, np.sign(targets), np.ones(60), Hinge(), 2)
    answer = _pair(solve_convex(problem, tol=1e-6))
    wrong = "products" if kind == "Grams" else "moments_of"
    right = getattr(type(stack), wrong)
    monkeypatch.setattr(type(stack), wrong, lambda *given: 1.001 * right(*given))
    with pytest.warns(RuntimeWarning, match="disagree with NumPy"):
        solution = judge_on_device(problem, *answer, 1e-6)
    assert solution.gap <= 1e-6


def test_the_certificate_of_features_is_the_one_of_numpy(device):
    grams, targets, memberships = rows()
    here, there = both("features", grams, device)
    here, there = (
        Problem(one, memberships, np.sign(targets), np.ones(60), Hinge(), 2) for one in (here, there)
    )
    answer = _pair(solve_convex(there, tol=1e-3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, expected = judge_on_device(there, *answer), judge_factors(here, *answer)
    np.testing.assert_allclose(found.gap, expected.gap, rtol=1e-6)
    np.testing.assert_allclose(found.primal, expected.primal, rtol=1e-12)


def test_systems_are_those_of_the_combined_kernel(device):
    grams, _, memberships = rows(n=30)
    stack = both("Grams", grams, device)[1].scaled([2.0, 1.0, 0.5])
    n, tensor = 30, stack.tensor
    system = joint.System(stack, memberships)
    rng = np.random.default_rng(1)
    alpha, rho, theta = rng.normal(size=n), rng.normal(size=n), rng.uniform(0.1, 2.0, size=n)
    weights, d_weights = rng.uniform(size=(2, 3)), rng.normal(size=6)
    K = [stack.block(m) for m in range(3)]
    images = np.stack(
        [memberships[:, j] * (K[m] @ (memberships[:, j] * alpha)) for j in (0, 1) for m in range(3)]
    )
    combined = sum(
        weights[j, m] * np.outer(memberships[:, j], memberships[:, j]) * K[m]
        for j in (0, 1)
        for m in range(3)
    )
    T = np.linalg.inv(combined + np.diag(theta))
    close = {"rtol": 1e-8, "atol": 1e-8}
    np.testing.assert_allclose(system.look(tensor(alpha)).cpu().ravel(), images @ alpha, **close)
    np.testing.assert_allclose(
        system.outputs(tensor(weights)[None])[0].cpu(), weights.ravel() @ images, **close
    )
    np.testing.assert_allclose(system.kernel(tensor(weights), tensor(rho)).cpu(), combined @ rho, **close)
    inner, across, corner = system.factorise(tensor(weights), tensor(theta))
    np.testing.assert_allclose(inner.cpu(), images @ T @ images.T, **close)
    np.testing.assert_allclose(across.cpu(), images @ T @ np.ones(n), **close)
    np.testing.assert_allclose(float(corner), T.sum(), **close)
    along, total = system.sums(tensor(rho))
    np.testing.assert_allclose(along.cpu(), images @ T @ rho, **close)
    np.testing.assert_allclose(float(total), (T @ rho).sum(), **close)
    change = system.change(tensor(rho), tensor(d_weights), 0.7)
    np.testing.assert_allclose(change.cpu(), T @ (rho - images.T @ d_weights - 0.7), **close)


@pytest.mark.parametrize("p", [1, 60, 1000])
@pytest.mark.parametrize("kind", ["Grams", "features"])
def test_equal_kernels_and_large_norms_are_no_trap(kind, p, device):
    grams, targets, memberships = rows(n=40)
    stack = both(kind, np.stack([grams[0]] * 5), device)[1]
    found = solve_convex(Problem(stack, memberships, np.sign(targets), np.ones(40), Hinge(), p), tol=1e-4)
    assert found.converged


def awkward(case):
    """Return loss, targets, costs and memberships of a problem that is hard to step through."""
    grams, targets, memberships = rows(n=120)
    rng = np.random.default_rng(5)
    y, ones = np.sign(targets), np.ones(120)
    return grams, *{
        "separable": (Hinge(), np.sign(factors(grams)[0][:, 0] + 0.01), 1e4 * ones, memberships),
        "one of its class": (Hinge(), np.where(np.arange(120) == 7, 1.0, -1.0), 100.0 * ones, memberships),
        "costs of all sizes": (Hinge(), y, 10.0 ** rng.uniform(-6, 6, size=120), memberships),
        "large costs": (Hinge(), y, 1e6 * ones, memberships),
        "targets that fit": (Quantile(0.3), factors(grams)[0][:, 0].copy(), 1e5 * ones, memberships),
        "tiny targets": (Quantile(0.3), 1e-6 * targets, ones, memberships),
        "no error small": (Huber(1e-3), targets, ones, memberships),
        "an empty cluster": (Huber(0.5), targets, ones, np.c_[memberships, np.zeros(120)]),
    }[case]  # fmt: skip


@pytest.mark.parametrize("p", [1, 2, np.inf])
@pytest.mark.parametrize(
    "case",
    ["separable", "one of its class", "costs of all sizes", "large costs", "targets that fit", "tiny targets",
     "no error small", "an empty cluster"],
)  # fmt: skip
def test_awkward_problems_of_features_are_certified(case, p, device):
    grams, loss, y, C, memberships = awkward(case)
    here, there = (Problem(stack, memberships, y, C, loss, p) for stack in both("features", grams, device))
    found = solve_convex(there, tol=1e-5)
    assert found.converged
    assert certify(here, found.weights, found.alpha, tol=1e-5).gap <= 1e-5


def test_even_the_first_step_on_features_has_a_finite_gap(device):
    grams, targets, memberships = rows()
    stack = both("features", grams, device)[1]
    problem = Problem(stack, memberships, targets, np.ones(60), Quantile(0.3), 2)
    assert np.isfinite(solve_convex(problem, max_iter=1).gap)


@pytest.mark.parametrize("loss", [SquaredError(), Huber(1e6)], ids=name)
def test_targets_may_be_in_any_unit(loss, device):
    grams, targets, memberships = rows(n=40)
    stack = GramStack(torch.as_tensor(grams).to(device))
    found = solve_convex(Problem(stack, memberships, 1e7 * targets, np.ones(40), loss, 2), tol=1e-4)
    assert found.converged


def test_a_kernel_of_factor_zero_brings_no_warning(device):
    grams, targets, memberships = rows(n=40)
    stack = both("features", grams, device)[1].scaled([2.0, 0.0, 1.0])
    problem = Problem(stack, memberships, np.sign(targets), np.ones(40), Hinge(), 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert solve_convex(problem, tol=1e-4).converged


def test_fewer_additions_in_a_row_are_certified_more_tightly(device, monkeypatch):
    grams, targets, memberships = rows(n=600)
    stack = both("Grams", grams, device)[1]
    problem = Problem(stack, memberships, np.sign(targets), np.ones(600), Hinge(), 2)
    answer = _pair(solve_convex(problem, tol=1e-6))
    monkeypatch.setattr(type(stack), "n_terms", 600)
    loose = judge_on_device(problem, *answer)
    monkeypatch.setattr(type(stack), "n_terms", 100)
    tight = judge_on_device(problem, *answer)
    assert tight.rounding < loose.rounding
    assert tight.primal == loose.primal
