"""The problem and its losses; `certify` judges answers.

    P(beta, alpha) = 1/2 sum_jm beta_jm q_jm + sum_i C_i loss(f_i, y_i)
    f              = sum_j c_j sum_m beta_jm K_m u_j + b
    D(alpha)       = sum_i (y_i alpha_i - epsilon |alpha_i|) - 1/2 sum_j ||q_j||_{p/(p-1)}
    q_jm = u_j' K_m u_j,   u_j = c_j * alpha

`Loss` is the seam for other losses: value, breakpoints of the intercept's problem, box and epsilon.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np


class Loss(ABC):
    """A piecewise linear convex loss whose dual is a box with an optional l1 term.

    Its conjugate is ``C loss*(-alpha / C, y) = -alpha y + epsilon |alpha|`` for alpha in the box.
    """

    epsilon: float = 0.0

    @abstractmethod
    def value(self, scores, y):
        """Return the loss of each sample."""

    @abstractmethod
    def box(self, y, C):
        """Return the bounds (lower, upper) of the signed dual variables."""

    @abstractmethod
    def breakpoints(self, scores, y, C):
        """Describe ``b -> sum_i C_i loss(scores_i + b, y_i)``.

        Return where its slope jumps, by how much, and the slope at minus infinity.
        """

    def dual_value(self, alpha, y):
        """Return ``- sum_i C_i loss*(-alpha_i / C_i, y_i)`` for alpha in the box."""
        return (y @ alpha - self.epsilon * np.abs(alpha).sum()).item()

    def best_intercept(self, scores, y, C):
        """Return the b that minimises ``sum_i C_i loss(scores_i + b, y_i)``, exactly.

        The function is convex and piecewise linear: sort its breakpoints and stop where the slope
        changes sign. Where a whole interval is optimal, its middle is returned.
        """
        points, jumps, slope = self.breakpoints(scores, y, C)
        kept = jumps > 0.0
        if not kept.any():
            return 0.0
        order = np.argsort(points[kept], kind="stable")
        points, jumps = points[kept][order], jumps[kept][order]
        slopes = slope + np.cumsum(jumps)
        flat = 1e-12 * jumps.sum()
        first = int(np.argmax(slopes >= -flat))
        if slopes[first] <= flat and first + 1 < len(points):
            return 0.5 * float(points[first] + points[first + 1])
        return float(points[first])


class Hinge(Loss):
    """``max(0, 1 - y f)`` for labels y in {-1, +1}.

    Examples
    --------
    >>> Hinge().value(np.array([2.0, 0.5, 0.5]), np.array([1.0, 1.0, -1.0]))
    array([0. , 0.5, 1.5])
    """

    def value(self, scores, y):  # noqa: D102
        return np.maximum(0.0, 1.0 - y * scores)

    def box(self, y, C):  # noqa: D102
        return np.minimum(0.0, y * C), np.maximum(0.0, y * C)

    def breakpoints(self, scores, y, C):  # noqa: D102
        return y - scores, C, -float(C[y > 0].sum())


@dataclass(frozen=True)
class EpsilonInsensitive(Loss):
    """``max(0, |y - f| - epsilon)``.

    Parameters
    ----------
    epsilon : float, default=0.1
        Half width of the tube in which errors cost nothing.

    Examples
    --------
    >>> EpsilonInsensitive(0.5).value(np.array([1.0, 2.0]), np.array([1.25, 4.0]))
    array([0. , 1.5])
    """

    epsilon: float = 0.1

    def value(self, scores, y):  # noqa: D102
        return np.maximum(0.0, np.abs(y - scores) - self.epsilon)

    def box(self, y, C):  # noqa: D102
        return -C, C.copy()

    def breakpoints(self, scores, y, C):  # noqa: D102
        centre = y - scores
        points = np.concatenate([centre - self.epsilon, centre + self.epsilon])
        return points, np.concatenate([C, C]), -float(C.sum())


@dataclass(frozen=True)
class Problem:
    """What the convex solvers solve.

    Parameters
    ----------
    grams : ndarray of shape (M, N, N)
        Base Gram matrices, float32 or float64; only read, never copied.
    factors : ndarray of shape (M,)
        The normalised kernels are ``factors[m] * grams[m]``.
    memberships : ndarray of shape (n, l)
        ``c_j(x_i)``; rows sum to one.
    y : ndarray of shape (n,)
        Labels in {-1, +1}, or real targets.
    C : ndarray of shape (n,)
        Cost of each sample's loss.
    loss : Loss
    p : float
        Norm of each cluster's kernel weights, in [1, inf].
    rows : ndarray of shape (n,), optional
        Which rows (and columns) of `grams` are the training samples; all of them by default.

    Examples
    --------
    >>> x, y = np.array([-2.0, -1.0, 1.0, 3.0]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> grams = np.stack([np.outer(x, x), np.outer(x, x) ** 2])
    >>> problem = Problem(grams, np.ones(2), np.ones((4, 1)), y, np.ones(4), Hinge(), p=1)
    >>> problem.n_samples, problem.weights_shape
    (4, (1, 2))
    """

    grams: np.ndarray
    factors: np.ndarray
    memberships: np.ndarray
    y: np.ndarray
    C: np.ndarray
    loss: Loss
    p: float
    rows: np.ndarray | None = None

    def __post_init__(self):
        for name in ("factors", "memberships", "y", "C"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))

    @property
    def n_samples(self):
        """Number of training samples."""
        return self.memberships.shape[0]

    @property
    def weights_shape(self):
        """(number of clusters, number of kernels)."""
        return self.memberships.shape[1], self.grams.shape[0]

    @property
    def frozen(self):
        """Whether the weights are one whatever the data: p = inf, or a single kernel."""
        return np.isinf(self.p) or self.grams.shape[0] == 1

    @cached_property
    def diagonals(self):
        """``k_m(x_i, x_i)`` of the normalised kernels, (M, n)."""
        whole = np.einsum("mii->mi", self.grams)
        return self.factors[:, None] * (whole if self.rows is None else whole[:, self.rows])

    def box(self):
        """Return the bounds of the dual variables."""
        return self.loss.box(self.y, self.C)

    def cluster_parts(self, alpha):
        """Return the columns ``u_j = c_j * alpha``."""
        return self.memberships * alpha[:, None]


def full_dual(problem, alpha, norms):
    """Return D(alpha), given the block norms q of alpha."""
    penalty = sum(dual_norm(norms_j, problem.p) for norms_j in norms)
    return problem.loss.dual_value(alpha, problem.y) - 0.5 * penalty


def relative_gap(primal, dual):
    """Return (P - D) / P as a solver sees it, to steer by; the certificate's own is `certify.judge`'s."""
    if not np.isfinite(primal - dual):
        return np.inf
    return max(primal - dual, 0.0) / primal if primal > 0.0 else 0.0


def dual_norm(q, p):
    """Return ``||q||_{p/(p-1)}`` for q >= 0: the largest entry at p = 1, the sum at p = inf.

    Examples
    --------
    >>> dual_norm(np.array([3.0, 4.0]), 2)
    5.0
    >>> dual_norm(np.array([3.0, 4.0]), 1)
    4.0
    >>> dual_norm(np.array([3.0, 4.0]), np.inf)
    7.0
    """
    largest = q.max()
    if p == 1 or largest == 0.0:
        return largest.item()
    p = q.dtype.type(p)  # the exponent's rounding is part of the norm's
    exponent = q.dtype.type(1.0) if np.isinf(p) else p / (p - 1.0)
    return (largest * np.sum((q / largest) ** exponent) ** (1.0 / exponent)).item()


def uniform_weights(shape, p):
    """Return the weights of equal size on the boundary of the lp ball: ``M^(-1/p)``."""
    return np.full(shape, shape[1] ** (-1.0 / p))


def closed_form_weights(weights, norms, p):
    """Return the weights that minimise the primal for fixed w (the paper's Proposition 3).

    beta_jm = ||w_jm||^(2/(p+1)) / (sum_k ||w_jk||^(2p/(p+1)))^(1/p),  ||w_jm||^2 = beta_jm^2 q_jm.
    A cluster whose w vanishes keeps its weights.

    Parameters
    ----------
    weights : ndarray of shape (l, M)
        The weights that gave `norms`.
    norms : ndarray of shape (l, M)
        Block norms q.
    p : float
    """
    if np.isinf(p):
        return np.ones_like(weights)
    sizes = weights * np.sqrt(np.maximum(norms, 0.0))
    largest = sizes.max(axis=1, keepdims=True)
    alive = largest > 0.0
    scaled = np.divide(sizes, largest, out=np.zeros_like(sizes), where=alive)
    powers = scaled ** (2.0 / (p + 1.0))
    totals = np.sum(powers**p, axis=1, keepdims=True) ** (1.0 / p)
    return np.where(alive, powers / np.where(alive, totals, 1.0), weights)
