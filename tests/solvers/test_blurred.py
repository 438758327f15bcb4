"""Blurred losses: smooth, below the loss they come from, and conjugate to their dual terms."""

import numpy as np
import pytest

from localmkl.solvers.blurred import Blurred
from localmkl.solvers.losses import EpsilonInsensitive, Hinge, Quantile

LOSSES = [Hinge(), EpsilonInsensitive(0.2), EpsilonInsensitive(0.0), Quantile(0.3)]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
every_width = pytest.mark.parametrize("width", [0.01, 2.0])


def sample(loss, width, n=400, seed=0):
    """Return scores on both sides of every kink, and labels or targets."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0) if isinstance(loss, Hinge) else rng.normal(size=n)
    away = loss.tube + width * np.where(
        np.arange(n) % 2 > 0, rng.uniform(-2.0, 2.0, n), rng.normal(size=n) / width
    )
    return y + rng.choice([-1.0, 1.0], n) * away, y


@every_loss
@every_width
def test_a_blur_is_never_above_the_loss_and_never_far_below(loss, width):
    scores, y = sample(loss, width)
    lost = loss.value(scores, y) - Blurred(loss, width).value(scores, y)
    assert lost.min() >= -1e-14
    assert lost.max() <= 0.5 * width * loss.lipschitz**2 + 1e-14
    assert lost.max() > 0.01 * width


@every_loss
def test_without_width_a_blur_is_the_loss(loss):
    scores, y = sample(loss, 1e-12)
    np.testing.assert_allclose(Blurred(loss, 1e-12).value(scores, y), loss.value(scores, y), atol=1e-12)


@every_loss
@every_width
def test_slopes_and_curvatures_are_those_of_finite_differences(loss, width):
    scores, y = sample(loss, width)
    blurred, step = Blurred(loss, width), 1e-5 * width
    value = (blurred.value(scores + step, y) - blurred.value(scores - step, y)) / (2.0 * step)
    np.testing.assert_allclose(blurred.slope(scores, y), value, atol=1e-4)
    ends = blurred.curvature(scores - step, y), blurred.curvature(scores + step, y)
    away_from_kinks = ends[0] == ends[1]
    assert away_from_kinks.mean() > 0.99
    slope = (blurred.slope(scores + step, y) - blurred.slope(scores - step, y)) / (2.0 * step)
    np.testing.assert_allclose(
        blurred.curvature(scores, y)[away_from_kinks], slope[away_from_kinks], atol=1e-4 / width
    )
    assert set(np.unique(blurred.curvature(scores, y))) == {0.0, 1.0 / width}


@every_loss
@every_width
def test_dual_terms_are_the_least_values_over_all_scores(loss, width):
    rng = np.random.default_rng(1)
    y = sample(loss, width, 30)[1]
    C = rng.uniform(0.1, 2.0, size=30)
    blurred = Blurred(loss, width)
    lower, upper = blurred.box(y, C)
    np.testing.assert_array_equal((lower, upper), loss.box(y, C))
    alpha = lower + rng.choice([0.0, 0.2, 0.7, 1.0], size=30) * (upper - lower)
    found = blurred.dual_terms(alpha, y, C)
    grid = y + (loss.tube + width) * np.linspace(-1.5, 1.5, 3001)[:, None]
    values = C * blurred.value(grid, np.broadcast_to(y, grid.shape)) + alpha * grid
    assert np.all(found <= values + 1e-12)
    np.testing.assert_allclose(found, values.min(axis=0), atol=1e-6 * (loss.tube + width) ** 2 / width)


@every_loss
def test_dual_variables_of_a_blur_are_dual_variables_of_the_loss(loss):
    scores, y = sample(loss, 0.3)
    C = np.random.default_rng(1).uniform(0.0, 2.0, size=len(y)) * (np.arange(len(y)) % 5 > 0)
    blurred = Blurred(loss, 0.3)
    alpha = blurred.dual_variables(scores, y, C)
    lower, upper = loss.box(y, C)
    assert np.all((alpha >= lower) & (alpha <= upper))
    # Where a score has its own dual variable, loss and dual term meet (Fenchel and Young).
    np.testing.assert_allclose(
        C * blurred.value(scores, y) + alpha * scores, blurred.dual_terms(alpha, y, C), atol=1e-12
    )
