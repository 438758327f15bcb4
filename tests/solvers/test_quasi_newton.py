"""Quasi-Newton directions: against BFGS in full, and their special cases."""

import numpy as np
import pytest
from scipy.optimize import BFGS

from localmkl.solvers.quasi_newton import Curvature, Vector, inner


def plain(values):
    return Vector(values, values)


def convex_pairs(rng, n_pairs, size):
    factor = rng.standard_normal((size, size))
    hessian = factor @ factor.T + np.eye(size)
    steps = rng.standard_normal((n_pairs, size))
    return [(step, hessian @ step) for step in steps]


@pytest.mark.parametrize("n_pairs", [1, 2, 5])
def test_directions_are_those_of_full_bfgs(n_pairs):
    rng = np.random.default_rng(0)
    pairs = convex_pairs(rng, n_pairs, 6)
    step, change = pairs[-1]
    full = BFGS(init_scale=step @ change / (change @ change))
    full.initialize(6, "inv_hess")
    curvature = Curvature(n_pairs)
    for step, change in pairs:
        full.update(step, change)
        curvature.learn(plain(step), plain(change))
    gradient = rng.standard_normal(6)
    np.testing.assert_allclose(
        curvature.direction(plain(gradient)).coordinates, full.dot(gradient), rtol=1e-9
    )


def test_old_pairs_give_way_to_new_ones():
    rng = np.random.default_rng(1)
    pairs = convex_pairs(rng, 4, 5)
    gradient = plain(rng.standard_normal(5))
    directions = []
    for kept in (pairs, pairs[-2:]):
        curvature = Curvature(2)
        for step, change in kept:
            curvature.learn(plain(step), plain(change))
        directions.append(curvature.direction(gradient).coordinates)
    np.testing.assert_array_equal(*directions)


def test_geometry_is_that_of_the_gram():
    # Coordinates a in a space with Gram G = L L' are L'a in the plain one.
    rng = np.random.default_rng(2)
    lower = np.tril(rng.standard_normal((4, 4))) + 3.0 * np.eye(4)
    gram = lower @ lower.T
    flat, curved = Curvature(3), Curvature(3)
    for step, change in convex_pairs(rng, 3, 4):
        flat.learn(plain(step), plain(change))
        step, change = np.linalg.solve(lower.T, step), np.linalg.solve(lower.T, change)
        curved.learn(Vector(step, gram @ step), Vector(change, gram @ change))
    gradient = rng.standard_normal(4)
    own = np.linalg.solve(lower.T, gradient)
    direction = curved.direction(Vector(own, gram @ own))
    np.testing.assert_allclose(lower.T @ direction.coordinates, flat.direction(plain(gradient)).coordinates)
    np.testing.assert_allclose(direction.image, gram @ direction.coordinates)
    assert inner(direction, Vector(own, gram @ own)) > 0.0


def test_concave_stretches_teach_nothing():
    curvature = Curvature(3)
    curvature.learn(plain(np.ones(2)), plain(-np.ones(2)))
    curvature.learn(plain(np.ones(2)), plain(np.zeros(2)))
    assert not curvature.known
    gradient = plain(np.array([1.0, 2.0]))
    assert curvature.direction(gradient) is gradient


def test_what_is_forgotten_no_longer_counts():
    curvature = Curvature(3)
    curvature.learn(plain(np.ones(2)), plain(2.0 * np.ones(2)))
    assert curvature.known
    curvature.forget()
    gradient = plain(np.array([1.0, 2.0]))
    assert curvature.direction(gradient) is gradient
