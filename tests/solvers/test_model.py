"""The quadratic model over lp balls: optimality by the Frank-Wolfe gap."""

import numpy as np
import pytest

from localmkl.solvers.model import minimise_linear_model, minimise_model
from localmkl.solvers.objective import dual_norm, uniform_weights

NORMS = [1, 1.01, 1.1, 4 / 3, 2, 10]


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("shape", [(1, 2), (1, 20), (3, 6), (8, 20), (60, 5)])
def test_no_direction_in_the_balls_improves_the_model(p, shape):
    rng = np.random.default_rng(0)
    size = shape[0] * shape[1]
    root = np.sqrt(0.1) * rng.normal(size=(size, 10)).T
    curvature = root.T @ root
    slope = -10 * rng.uniform(size=shape)
    start = uniform_weights(shape, p)
    weights = minimise_model(slope, root, start, p)
    assert np.all(weights >= 0)
    assert np.all(np.linalg.norm(weights, p, axis=1) <= 1 + 1e-12)
    descent = -(slope + (curvature @ (weights - start).ravel()).reshape(shape))
    most = sum(dual_norm(np.maximum(row, 0.0), p) for row in descent)
    assert most - np.sum(descent * weights) <= 1e-8 * np.abs(slope).sum()


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("rank", [2, 10])
def test_without_curvature_the_linear_formula_is_found(p, rank):
    rng = np.random.default_rng(1)
    norms = rng.uniform(size=(2, 5))
    start = uniform_weights((2, 5), p)
    expected = minimise_linear_model(norms, start, p)
    found = minimise_model(-norms, np.zeros((rank, 10)), start, p)
    assert np.sum(norms * found) == pytest.approx(np.sum(norms * expected), rel=1e-9)
    assert np.sum(norms * expected) == pytest.approx(sum(dual_norm(q, p) for q in norms))


@pytest.mark.parametrize("p", [1, 4 / 3, 2])
@pytest.mark.parametrize("damping", [0.0, 0.04])
def test_systems_of_the_rank_and_of_the_size_give_the_same_weights(p, damping, monkeypatch):
    rng = np.random.default_rng(2)
    root, slope = rng.normal(size=(12, 200)), -10 * rng.uniform(size=(10, 20))
    start = uniform_weights((10, 20), p)
    found = {}
    for share in (0.0, 1.0):
        monkeypatch.setattr("localmkl.solvers.model.LOW_RANK", share)
        found[share] = minimise_model(slope, root, start, p, damping)
    np.testing.assert_allclose(found[1.0], found[0.0], atol=1e-5)  # the root of the model's precision


def test_the_linear_formula_keeps_clusters_without_norms():
    start = np.array([[0.2, 0.8]])
    np.testing.assert_array_equal(minimise_linear_model(np.zeros((1, 2)), start, 1), start)
