"""The problem, its norms, and the weights that suit them; `losses` has the losses, `certify` judges answers.

P(beta, alpha) = 1/2 sum_jm beta_jm q_jm + sum_i C_i loss(f_i, y_i)
f              = sum_j c_j sum_m beta_jm K_m u_j + b
D(alpha)       = - sum_i C_i loss*(-alpha_i / C_i, y_i) - 1/2 sum_j ||q_j||_{p/(p-1)},   sum(alpha) = 0
q_jm = u_j' K_m u_j,   u_j = c_j * alpha
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from localmkl.solvers.losses import Loss
from localmkl.stacks import Stack


@dataclass(frozen=True)
class Problem:
    """A problem of convex localized multiple kernel learning.

    Parameters
    ----------
    stack : Stack
        The (normalised) kernels of the training samples.
    memberships : ndarray of shape (n, l)
        ``c_j(x_i)``; rows sum to one.
    y : ndarray of shape (n,)
        Labels in {-1, +1}, or real targets.
    C : ndarray of shape (n,)
        Cost of each sample's loss.
    loss : Loss
    p : float
        Norm of each cluster's kernel weights, in [1, inf].

    Examples
    --------
    >>> from localmkl.solvers.losses import Hinge
    >>> from localmkl.stacks import GramStack
    >>> x, y = np.array([-2.0, -1.0, 1.0, 3.0]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> stack = GramStack([np.outer(x, x), np.outer(x, x) ** 2])
    >>> problem = Problem(stack, np.ones((4, 1)), y, np.ones(4), Hinge(), p=1)
    >>> problem.n_samples, problem.weights_shape
    (4, (1, 2))
    """

    stack: Stack
    memberships: np.ndarray
    y: np.ndarray
    C: np.ndarray
    loss: Loss
    p: float

    def __post_init__(self):
        for name in ("memberships", "y", "C"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        self.stack.check_training()

    @property
    def n_samples(self):
        """Number of training samples."""
        return self.memberships.shape[0]

    @property
    def weights_shape(self):
        """(number of clusters, number of kernels)."""
        return self.memberships.shape[1], self.stack.n_kernels

    @property
    def frozen(self):
        """Whether the weights are one whatever the data: p = inf, or a single kernel."""
        return np.isinf(self.p) or self.stack.n_kernels == 1

    @cached_property
    def diagonals(self):
        """``k_m(x_i, x_i)`` of the kernels, (M, n)."""
        return self.stack.diagonals()

    def on(self, rows):
        """Return the problem of some of the samples."""
        part = replace(
            self,
            stack=self.stack[np.ix_(rows, rows)],
            memberships=self.memberships[rows],
            y=self.y[rows],
            C=self.C[rows],
        )
        part.__dict__["diagonals"] = self.diagonals[:, rows]
        return part

    def box(self):
        """Return the bounds of the dual variables."""
        return self.loss.box(self.y, self.C)

    def cluster_parts(self, alpha):
        """Return the columns ``u_j = c_j * alpha``."""
        return self.memberships * alpha[:, None]


def full_dual(problem, alpha, norms):
    """Return D(alpha), given the block norms q of alpha."""
    penalty = sum(dual_norm(norms_j, problem.p) for norms_j in norms)
    return float(problem.loss.dual_terms(alpha, problem.y, problem.C).sum()) - 0.5 * penalty


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
