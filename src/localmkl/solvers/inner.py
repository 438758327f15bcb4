"""The inner problem of every method: one kernel matrix, one loss.

    min_{a, b}  1/2 a'Ka + sum_i C_i loss((Ka)_i + b, y_i)

An inner solver serves one family of losses. It keeps its dual variables from call to call, and answers what
the outer problem asks: values, gap, the free variables, and the inverse of their curvature.
"""

import math
from abc import ABC, abstractmethod

import numpy as np

from localmkl.solvers.losses import Loss

UNBALANCED = 1e-12
"""Share of their sizes that dual variables may sum to: well below what a certificate takes for rounding."""
BALANCINGS = 3
"""Corrections of the sum of the dual variables: the second mends the rounding of the first."""


class InnerSolver(ABC):
    """The inner problem's state between two calls: dual variables, scores, values.

    Parameters
    ----------
    y, C : ndarray of shape (n,)
    loss : Loss
    alpha : ndarray of shape (n,), optional
        A start; it is made feasible.
    backend : {"compiled", "reference"}
    """

    serves: type[Loss]

    def __init__(self, y, C, loss, alpha=None, backend="compiled"):
        self.y, self.C, self.loss, self.backend = y, C, loss, backend
        self.lower, self.upper = loss.box(y, C)
        self.alpha = feasible_start(alpha, self.lower, self.upper)
        self.scores = np.zeros_like(y)
        self.primal = self.dual = self.intercept = 0.0

    @property
    def gap(self):
        """Absolute duality gap of the inner problem."""
        return max(self.primal - self.dual, 0.0)

    @property
    @abstractmethod
    def free(self):
        """Indices of the dual variables that small changes of the kernel move."""

    @abstractmethod
    def solve(self, K, target):
        """Improve alpha for the kernel matrix `K` until the gap is at most `target` times the primal.

        End early where rounding allows no further progress. Return the solver. Before another matrix comes,
        or other numbers in the same one, `forget_factor`.
        """

    @abstractmethod
    def free_factor(self, K):
        """Return the free variables and the factor of their curvature: K on them, and what the loss adds."""

    @abstractmethod
    def forget_factor(self):
        """Free the memory of the factor: its kernel matrix is about to change."""

    @abstractmethod
    def shift(self, change):
        """Move the free variables by a change that sums to zero, as far as they may go."""

    def evaluate(self, scores):
        """Set scores, intercept, primal and dual, given ``K @ alpha``."""
        self.scores = scores
        regulariser = 0.5 * float(self.alpha @ scores)
        self.intercept = self.best_intercept(scores)
        self.primal = regulariser + float(self.C @ self.loss.value(scores + self.intercept, self.y))
        self.dual = float(self.loss.dual_terms(self.alpha, self.y, self.C).sum()) - regulariser

    def best_intercept(self, scores):
        """Return the intercept that suits these scores best."""
        return self.loss.best_intercept(scores, self.y, self.C)


def balance(alpha, lower, upper, others=0.0):
    """Take from one variable what many small steps have left of the sum, in place.

    `others` is the sum of variables that are elsewhere.

    A free variable that keeps its sign is the first choice, a small one the best: its rounding is what stays.
    """
    for _ in range(BALANCINGS):
        surplus = math.fsum(alpha) + others
        if surplus == 0.0:
            return
        fits = (alpha - lower if surplus > 0.0 else upper - alpha) >= abs(surplus)
        free = fits & (alpha > lower) & (alpha < upper) & (np.abs(alpha) > abs(surplus))
        chosen = np.flatnonzero(free if free.any() else fits)
        if len(chosen) == 0:
            return
        alpha[chosen[np.argmin(np.abs(alpha[chosen]))]] -= surplus


def feasible(alpha, lower, upper):
    """Return dual variables in their box whose sum is zero: free ones give what is too much."""
    alpha = np.clip(alpha, lower, upper)
    surplus = alpha.sum()
    room = np.where((alpha > lower) & (alpha < upper), alpha - lower if surplus > 0.0 else upper - alpha, 0.0)
    room = np.minimum(room, np.abs(alpha))  # where there is no bound
    if room.sum() > abs(surplus) > 0.0:
        alpha = np.clip(alpha - surplus / room.sum() * room, lower, upper)
    balance(alpha, lower, upper)
    if alpha.sum() == 0.0:
        return alpha
    alpha = feasible_start(alpha, lower, upper)
    balance(alpha, lower, upper)
    return alpha


def feasible_start(alpha, lower, upper):
    """Return a copy of `alpha` that lies in the box and sums to zero; zeros without one."""
    if alpha is None:
        return np.zeros_like(lower)
    clipped = np.clip(alpha, lower, upper)
    surplus = clipped.sum()
    # Take the surplus back from the side that has it, in proportion: bounds and signs are kept.
    same_side = clipped * np.sign(surplus) > 0.0
    total = np.abs(clipped[same_side]).sum()
    if total > 0.0:
        clipped[same_side] *= 1.0 - abs(surplus) / total
    return clipped
