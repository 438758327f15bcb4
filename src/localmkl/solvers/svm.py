"""The SVM/SVR with one given kernel matrix: the inner problem of every method.

    max_alpha  y'alpha - epsilon |alpha|_1 - 1/2 alpha' K alpha,   lower <= alpha <= upper,  sum(alpha) = 0

The gradient K alpha - y that the solver maintains also gives the scores, and with them the primal value,
so the duality gap of this inner problem costs no further look at K.
"""

from dataclasses import dataclass

import numpy as np

from localmkl.backends import load

MAX_STEPS_PER_SAMPLE = 10_000
START_TOLERANCE = 1e-1
SMALLEST_TOLERANCE = 1e-13


@dataclass
class InnerSVM:
    """The inner problem's state between two calls: dual variables, gradient, tolerance reached.

    Parameters
    ----------
    y, C : ndarray of shape (n,)
    loss : Loss
    alpha : ndarray of shape (n,), optional
        A start; it is clipped into the box, and given up for zero if that breaks its sum.
    backend : {"compiled", "reference"}
    """

    y: np.ndarray
    C: np.ndarray
    loss: object
    alpha: np.ndarray | None = None
    backend: str = "compiled"
    tolerance: float = START_TOLERANCE

    def __post_init__(self):
        self.lower, self.upper = self.loss.box(self.y, self.C)
        self.alpha = feasible_start(self.alpha, self.lower, self.upper)
        self.scores = np.zeros_like(self.y)
        self.primal = self.dual = 0.0
        self.intercept = 0.0

    @property
    def gap(self):
        """Absolute duality gap of the inner problem."""
        return max(self.primal - self.dual, 0.0)

    def solve(self, K, target):
        """Improve alpha for the kernel matrix `K` until the gap is at most `target` times the primal.

        Start with a crude tolerance and tighten it only while the gap asks for it.
        """
        gradient = K @ self.alpha - self.y
        limit = MAX_STEPS_PER_SAMPLE * len(self.y)
        solve_svm = load(self.backend).solve_svm
        while True:
            solve_svm(
                K,
                self.y,
                self.loss.epsilon,
                self.lower,
                self.upper,
                self.alpha,
                gradient,
                self.tolerance,
                limit,
            )
            self._evaluate(gradient)
            if self.gap <= target * self.primal or self.tolerance <= SMALLEST_TOLERANCE:
                return self
            self.tolerance = max(0.1 * self.tolerance, SMALLEST_TOLERANCE)

    def _evaluate(self, gradient):
        self.scores = gradient + self.y
        regulariser = 0.5 * float(self.alpha @ self.scores)
        self.intercept = self.loss.best_intercept(self.scores, self.y, self.C)
        losses = self.loss.value(self.scores + self.intercept, self.y)
        self.primal = regulariser + float(self.C @ losses)
        self.dual = self.loss.dual_value(self.alpha, self.y) - regulariser


def feasible_start(alpha, lower, upper):
    """Return a copy of `alpha` that lies in the box and sums to zero, or zeros."""
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
