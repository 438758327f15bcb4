"""Starts: even weights, or the solution of a neighbouring problem.

Neighbours have the same samples and kernels; C, p, the loss and the memberships may differ. Where
only the memberships do, and little, a neighbour's weights often pass the certificate at once.
"""

from dataclasses import dataclass

import numpy as np

from localmkl.solvers.objective import uniform_weights

LEAST_WEIGHT = 1e-4
"""Smallest weight, as a share of the largest, that a start gives a kernel that another p had left out."""


@dataclass(frozen=True)
class Start:
    """Weights and dual variables to begin from, and whether they are a guess worth being precise about."""

    weights: np.ndarray
    alpha: np.ndarray | None = None
    near: bool = False


def even_start(problem):
    """Return even weights and dual variables of zero."""
    return Start(uniform_weights(problem.weights_shape, problem.p))


def neighbour_start(solution, old, new):
    """Return the solution of an old problem as a start for a new one.

    Dual variables grow with their costs; weights return to the unit sphere of another norm.
    """
    growth = np.divide(new.C, old.C, out=np.ones_like(new.C), where=old.C > 0.0)
    weights = solution.weights
    if weights.shape != new.weights_shape:  # one has a shared part that the other has not
        weights = np.broadcast_to(weights.mean(axis=0), new.weights_shape)
    if new.p != old.p or weights is not solution.weights:
        weights = on_sphere(weights, new.p)
    return Start(weights, solution.alpha * growth, near=True)


def on_sphere(weights, p):
    """Return the weights scaled to ``||beta_j||_p = 1``, none of them zero where the norm forbids it."""
    if np.isinf(p):
        return np.ones_like(weights)
    largest = weights.max(axis=1, keepdims=True)
    shares = np.maximum(weights / largest, 0.0 if p == 1 else LEAST_WEIGHT)
    return shares / np.sum(shares**p, axis=1, keepdims=True) ** (1.0 / p)
