"""Norms and closed forms against brute force."""

import numpy as np
import pytest

from localmkl.solvers.losses import LogLoss
from localmkl.solvers.objective import closed_form_weights, dual_norm, uniform_weights


def test_the_rounding_of_small_and_large_dual_variables_of_the_log_loss_is_within_its_bound():
    shares = np.concatenate([np.logspace(-300, -1, 200), 1.0 - np.logspace(-15, -1, 50)])
    y, C = np.ones(len(shares)), np.full(len(shares), 1e3)
    t = (C * shares).astype(np.longdouble) / C
    exact = -C * (t * np.log(t) + (1.0 - t) * np.log1p(-t))
    error = np.abs(LogLoss().dual_terms(C * shares, y, C) - exact)
    assert np.all(error <= 4.0 * np.finfo(float).eps * LogLoss().dual_sizes(C * shares, y, C))


@pytest.mark.parametrize("p", [1, 1.1, 4 / 3, 2, 10, np.inf])
def test_the_dual_norm_is_the_supremum_over_the_ball(p):
    rng = np.random.default_rng(0)
    q = rng.uniform(size=6)
    directions = rng.uniform(size=(20_000, 6)) ** 3
    directions /= np.linalg.norm(directions, p, axis=1, keepdims=True)
    assert np.max(directions @ q) <= dual_norm(q, p) + 1e-12
    star = {1: np.inf, np.inf: 1}.get(p) or p / (p - 1)
    assert dual_norm(q, p) == pytest.approx(np.linalg.norm(q, star))
    assert dual_norm(1e200 * q, p) == pytest.approx(1e200 * dual_norm(q, p))
    assert dual_norm(np.zeros(3), p) == 0.0


@pytest.mark.parametrize("p", [1, 4 / 3, 2, 10])
def test_closed_form_weights_minimise_the_regulariser(p):
    rng = np.random.default_rng(0)
    start = uniform_weights((2, 4), p)
    norms = rng.uniform(size=(2, 4))
    best = closed_form_weights(start, norms, p)
    squared = start**2 * norms
    np.testing.assert_allclose(np.linalg.norm(best, p, axis=1), 1.0)
    value = np.sum(squared / best)
    others = rng.uniform(size=(5000, 2, 4)) ** 2
    others /= np.linalg.norm(others, p, axis=2, keepdims=True)
    assert value <= np.sum(squared / others, axis=(1, 2)).min()


def test_a_cluster_with_vanishing_norms_keeps_its_weights():
    start = np.array([[0.5, 0.5], [0.3, 0.7]])
    updated = closed_form_weights(start, np.array([[0.0, 0.0], [1.0, 2.0]]), 1)
    np.testing.assert_array_equal(updated[0], start[0])
    assert updated[1].sum() == pytest.approx(1.0)
