"""The model of J over lp balls: right where it was made, exact for kernels of rank one, minimised."""

import numpy as np
import pytest

from localmkl.solvers.model import _Model, minimise_linear_model, minimise_model
from localmkl.solvers.objective import dual_norm, uniform_weights

NORMS = [1, 1.01, 1.1, 4 / 3, 2, 10]


def quadratic_problem(shape, p, n=12, seed=0):
    """Return what a step knows of J(x) = max_a y'a - 1/2 a'(I + sum x_k v_k v_k')a at even weights, and J."""
    rng = np.random.default_rng(seed)
    V, y = rng.normal(size=(n, shape[0] * shape[1])), rng.normal(size=n)
    start = uniform_weights(shape, p)

    def J(x):
        return 0.5 * y @ np.linalg.solve(np.eye(n) + (V * x.ravel()) @ V.T, y)

    T = np.linalg.inv(np.eye(n) + (V * start.ravel()) @ V.T)
    z = V.T @ T @ y
    root = np.linalg.cholesky(T).T @ V * z
    return (z**2).reshape(shape), root, start, J


def slope_of(norms, root, start, weights):
    """Return the model's slope by its formula, in the units of J."""
    z = np.sqrt(norms.ravel())
    S = root / z
    return -0.5 * np.linalg.solve(np.eye(z.size) + S.T @ S * (weights - start).ravel(), z) ** 2


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("shape", [(1, 2), (1, 20), (3, 6), (8, 20), (60, 5)])
def test_no_direction_in_the_balls_improves_the_model(p, shape):
    norms, root, start, _ = quadratic_problem(shape, p)
    weights = minimise_model(norms, root, start, p)
    assert np.all(weights >= 0)
    assert np.all(np.linalg.norm(weights, p, axis=1) <= 1 + 1e-12)
    descent = -slope_of(norms, root, start, weights).reshape(shape)
    most = sum(dual_norm(row, p) for row in descent)
    assert most - np.sum(descent * weights) <= 1e-8 * norms.sum()


@pytest.mark.parametrize("n", [4, 30])  # fewer and more rows than weights
def test_for_kernels_of_rank_one_the_model_is_the_truth(n):
    norms, root, start, J = quadratic_problem((2, 5), 4 / 3, n=n, seed=1)
    model = _Model(norms.ravel(), root, start.ravel(), 0.0)
    other = np.random.default_rng(2).uniform(size=start.size)
    slope, curvature = (part * 0.5 * norms.max() for part in (model.at(other)[0], gram(model.at(other)[1])))
    steps = 1e-5 * np.eye(start.size)
    np.testing.assert_allclose(slope, [(J(other + s) - J(other - s)) / 2e-5 for s in steps], rtol=1e-6)
    bends = [model.at(other + s)[0] - model.at(other - s)[0] for s in steps]
    np.testing.assert_allclose(
        curvature, 0.5 * norms.max() * np.array(bends) / 2e-5, atol=1e-6 * curvature.max()
    )


def gram(root):
    return root.T @ root


def test_where_it_is_made_it_has_the_slope_and_curvature_that_were_given():
    norms, root, start, _ = quadratic_problem((2, 5), 2, seed=3)
    model = _Model(norms.ravel(), root, start.ravel(), 0.5)
    slope, own = model.at(start.ravel())
    unit = 0.5 * norms.max()
    np.testing.assert_allclose(slope * unit, -0.5 * norms.ravel(), rtol=1e-12)
    np.testing.assert_allclose(gram(own) * unit, gram(root), atol=1e-11 * norms.max())
    np.testing.assert_allclose(model.ridge * unit, 0.5 * gram(root).diagonal())


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("rank", [2, 10, 20])
def test_without_curvature_the_linear_formula_is_found(p, rank):
    rng = np.random.default_rng(1)
    norms = rng.uniform(size=(2, 5))
    start = uniform_weights((2, 5), p)
    expected = minimise_linear_model(norms, start, p)
    found = minimise_model(norms, np.zeros((rank, 10)), start, p)
    assert np.sum(norms * found) == pytest.approx(np.sum(norms * expected), rel=1e-9)
    assert np.sum(norms * expected) == pytest.approx(sum(dual_norm(q, p) for q in norms))


@pytest.mark.parametrize("p", [1, 4 / 3, 2])
@pytest.mark.parametrize("damping", [0.0, 0.04])
def test_systems_of_the_rank_and_of_the_size_give_the_same_weights(p, damping, monkeypatch):
    norms, root, start, _ = quadratic_problem((10, 20), p, seed=2)
    norms[3, 4] = 0.0  # a kernel that does nothing
    root[:, 64] = 0.0
    found = {}
    for share in (0.0, 1.0):
        monkeypatch.setattr("localmkl.solvers.model.LOW_RANK", share)
        found[share] = minimise_model(norms, root, start, p, damping)
    np.testing.assert_allclose(found[1.0], found[0.0], atol=1e-5)  # the root of the model's precision


def test_the_linear_formula_keeps_clusters_without_norms():
    start = np.array([[0.2, 0.8]])
    np.testing.assert_array_equal(minimise_linear_model(np.zeros((1, 2)), start, 1), start)
