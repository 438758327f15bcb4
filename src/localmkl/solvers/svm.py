"""The SVM/SVR with one given kernel matrix: the inner problem of every method.

    max_alpha  y'alpha - epsilon |alpha|_1 - 1/2 alpha' K alpha,   lower <= alpha <= upper,  sum(alpha) = 0

Sequential minimal optimisation finds the active set; once it is nearly right, the free variables are
solved directly. The gradient K alpha - y that both maintain also gives the scores, and with them the
primal value, so the duality gap of this inner problem costs no further look at K.
"""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from localmkl.backends import load

START_TOLERANCE = 1e-1
NOISE = 1e-16
"""Rounding error of a gradient, relative to the size of its terms."""
STEPS_PER_SAMPLE = 20
"""Steps of sequential minimal optimisation between two direct solves, per sample."""
MAX_ROUNDS = 200
DIRECT_SOLVES = 8
"""Direct solves in a row, each after a variable has reached a bound."""
JITTER = 1e-13


class InnerSVM:
    """The inner problem's state between two calls: dual variables, values, tolerance reached.

    Parameters
    ----------
    y, C : ndarray of shape (n,)
    loss : Loss
    alpha : ndarray of shape (n,), optional
        A start; it is made feasible.
    backend : {"compiled", "reference"}
    """

    def __init__(self, y, C, loss, alpha=None, backend="compiled"):
        self.y, self.C, self.loss, self.backend = y, C, loss, backend
        self.lower, self.upper = loss.box(y, C)
        self.alpha = feasible_start(alpha, self.lower, self.upper)
        self.scores = np.zeros_like(y)
        self.primal = self.dual = self.intercept = 0.0
        self.tolerance = START_TOLERANCE

    @property
    def gap(self):
        """Absolute duality gap of the inner problem."""
        return max(self.primal - self.dual, 0.0)

    @property
    def free(self):
        """Indices of the dual variables away from their bounds (and from the kink at zero)."""
        inside = (self.alpha > self.lower) & (self.alpha < self.upper)
        if self.loss.epsilon > 0.0:
            inside &= self.alpha != 0.0
        return np.flatnonzero(inside)

    def solve(self, K, target):
        """Improve alpha for the kernel matrix `K` until the gap is at most `target` times the primal.

        Start with a crude tolerance and tighten it only while the gap asks for it. End early where
        rounding allows no further progress.
        """
        solve_svm = load(self.backend).solve_svm
        steps = STEPS_PER_SAMPLE * len(self.y)
        largest = float(np.abs(K.diagonal()).max())
        best, best_alpha, stalled = np.inf, self.alpha, 0
        for _ in range(MAX_ROUNDS):
            gradient = K @ self.alpha - self.y  # afresh: many small steps blur it
            _, violation = solve_svm(
                K,
                self.y,
                self.loss.epsilon,
                self.lower,
                self.upper,
                self.alpha,
                gradient,
                self.tolerance,
                steps,
            )
            self._evaluate(gradient)
            if self.gap > target * self.primal:
                self._try_direct_solve(K, gradient)
            if self.gap <= target * self.primal:
                return self
            stalled = 0 if self.gap < 0.9 * best else stalled + 1
            if self.gap < best:
                best, best_alpha = self.gap, self.alpha.copy()
            noise = NOISE * largest * float(np.abs(self.alpha).sum())
            if stalled > 2 and self.tolerance <= noise:
                break
            if violation <= self.tolerance or stalled:
                self.tolerance = max(0.1 * self.tolerance, noise, np.finfo(float).tiny)
        self.alpha = best_alpha
        self._evaluate(K @ self.alpha - self.y)
        return self

    def _evaluate(self, gradient):
        self.scores = gradient + self.y
        regulariser = 0.5 * float(self.alpha @ self.scores)
        self.intercept = self.loss.best_intercept(self.scores, self.y, self.C)
        losses = self.loss.value(self.scores + self.intercept, self.y)
        self.primal = regulariser + float(self.C @ losses)
        self.dual = self.loss.dual_value(self.alpha, self.y) - regulariser

    def _try_direct_solve(self, K, gradient):
        """Solve the free variables directly; keep the result if the gap agrees that it is better."""
        gap, alpha = self.gap, self.alpha.copy()
        self._solve_free(K, gradient)
        self._evaluate(gradient)
        if self.gap > gap:
            self.alpha = alpha
            self._evaluate(K @ alpha - self.y)

    def _solve_free(self, K, gradient):
        """Minimise over the free variables with the others fixed, as far as the bounds allow.

        K_FF d + nu 1 = -(gradient + epsilon sign(alpha))_F,  sum(d) = 0; cut at the first bound or
        kink, take that variable out, and repeat a few times. A full step is repeated once with the
        same factor, which refines it.
        """
        solve, refined = None, False
        for _ in range(DIRECT_SOLVES):
            free = self.free
            if len(free) < 2:
                return
            if solve is None:
                solve = factorised(K[np.ix_(free, free)])
            slope = gradient[free] + self.loss.epsilon * np.sign(self.alpha[free])
            pair = solve(np.column_stack([slope, np.ones(len(free))]))
            shift = pair[:, 0].sum() / pair[:, 1].sum()
            direction = shift * pair[:, 1] - pair[:, 0]
            direction -= direction.mean()
            length, blocking, wall = self._room(free, direction)
            moved = self.alpha[free] + length * direction
            if blocking is not None:
                moved[blocking] = wall
                solve = None
            gradient += (moved - self.alpha[free]) @ K[free]
            self.alpha[free] = moved
            if blocking is None and refined:
                return
            refined = blocking is None

    def _room(self, free, direction):
        """Return how far (at most 1) a direction stays between bounds and kinks, and what stops it."""
        alpha = self.alpha[free]
        walls = np.where(direction > 0.0, self.upper[free], self.lower[free])
        if self.loss.epsilon > 0.0:
            walls = np.where(alpha * direction < 0.0, 0.0, walls)
        moving = direction != 0.0
        room = np.full(len(free), np.inf)
        np.divide(walls - alpha, direction, out=room, where=moving)
        blocking = int(np.argmin(room))
        if room[blocking] >= 1.0:
            return 1.0, None, 0.0
        return room[blocking], blocking, walls[blocking]


def factorised(matrix):
    """Return a solver for a positive semidefinite matrix, made definite by a little jitter."""
    size = float(np.trace(matrix)) / len(matrix)
    size = size if size > 0.0 else 1.0
    jitter = JITTER
    while jitter <= 1.0:
        shifted = matrix.copy()
        shifted.flat[:: len(matrix) + 1] += jitter * size
        try:
            factor = cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            jitter *= 100.0
            continue
        return lambda right: cho_solve(factor, right, check_finite=False)
    raise FloatingPointError("A kernel matrix is not finite or far from positive semidefinite.")


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
