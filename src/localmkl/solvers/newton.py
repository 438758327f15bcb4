"""The inner problem of smooth losses, by Newton's method on the primal.

    min_{a, b}  P(a, b) = 1/2 a'Ka + sum_i C_i loss(f_i, y_i),   f = Ka + b

With alpha_i = -C_i loss'(f_i) and W_i = C_i loss''(f_i), a step solves

    da + W (K da + db) = alpha - a,   sum(a + da) = 0

Rows without curvature move to alpha at once; the others, F, need (W_F^-1 + K_FF)^-1, which is taken from the
factor of I + W^1/2 K_FF W^1/2: that matrix is well conditioned whatever C. The line search follows the slope
of P along the step, at the cost of vectors. Dual variables are either a, where it lies in the loss's box, or
alpha at the best intercept, which lies there always.
"""

from dataclasses import dataclass

import numpy as np

from localmkl._resources import require_factor
from localmkl.backends.reference import submatrix
from localmkl.solvers.factor import Factor, factorise
from localmkl.solvers.inner import InnerSolver, balance
from localmkl.solvers.losses import Smooth

MOST_NEWTON_STEPS = 100
"""Far more than were ever needed (about ten), to end."""
FRUITLESS_STEPS = 3
"""Steps that may pass in which neither the gap loses a tenth nor the primal more than rounding."""
INVISIBLE_FALL = 1e-11
"""Decrease of the primal, as a share of it, that may be rounding."""
NEGLIGIBLE = 1e-12
"""Curvature of a loss, times the kernel's diagonal entry, below which a row counts as having none."""
FLAT = 0.1
"""Share of its first slope at which a line search ends: the next step knows better."""
MOST_SLOPES = 30
"""Slopes that a line search looks at: each leaves at most 0.95 of its interval, and few are the rule."""
ALIKE = 0.1
"""Change of curvatures, as a share of the largest, up to which an old factor serves steps of the weights."""


class InnerNewton(InnerSolver):
    """Newton's method for smooth losses; see `InnerSolver`."""

    serves = Smooth

    def __init__(self, y, C, loss, alpha=None, backend="compiled"):
        super().__init__(y, C, loss, alpha, backend)
        self._coefficients = self.alpha.copy()
        self._factor: tuple | None = None
        self._largest = 0.0

    @property
    def free(self):
        """Indices of the rows whose loss has a curvature."""
        return self._curved(self._curvatures())

    def best_intercept(self, scores):
        """Return the intercept that suits these scores best, looked for near the last one."""
        return self.intercept + self.loss.best_intercept(scores + self.intercept, self.y, self.C)

    def _curvatures(self):
        return self.C * self.loss.curvature(self.scores + self.intercept, self.y)

    def _curved(self, curvatures):
        return np.flatnonzero(curvatures * self._largest > NEGLIGIBLE)

    def solve(self, K, target):  # noqa: D102
        self._largest = float(np.abs(K.diagonal()).max())
        a = self._coefficients
        scores = K @ a
        best, found, lowest, stalled = np.inf, None, np.inf, 0
        for _ in range(MOST_NEWTON_STEPS):
            intercept = self._judge(K, a, scores, target)
            primal = 0.5 * float(a @ scores) + float(self.C @ self.loss.value(scores + intercept, self.y))
            falling = self.gap < 0.9 * best or primal < (1.0 - INVISIBLE_FALL) * lowest
            stalled, lowest = 0 if falling else stalled + 1, min(primal, lowest)
            if self.gap < best:
                best, found = self.gap, (self.alpha, self.scores, a)
            if self.gap <= target * self.primal or stalled > FRUITLESS_STEPS:
                break
            a, scores = self._step(K, a, scores, intercept)
        if found is not None:
            self.alpha, scores, self._coefficients = found
            self.evaluate(scores)
        return self

    def _judge(self, K, a, scores, target):
        """Evaluate dual variables made from coefficients and their scores; return the best intercept."""
        intercept = self.best_intercept(scores)
        inside = bool(np.all((a >= self.lower) & (a <= self.upper)))
        if inside:
            self._evaluate_at(a.copy(), scores)
        if not inside or self.gap > target * self.primal:
            before = (self.gap, self.alpha, self.scores) if inside else (np.inf, None, None)
            alpha = self.loss.dual_variables(scores + intercept, self.y, self.C)
            alpha = np.clip(alpha, self.lower, self.upper)
            balance(alpha, self.lower, self.upper)
            self._evaluate_at(alpha, K @ alpha)
            if self.gap > before[0]:
                self._evaluate_at(*before[1:])
        return intercept

    def _evaluate_at(self, alpha, scores):
        balance(alpha, self.lower, self.upper)
        self.alpha = alpha
        self.evaluate(scores)

    def _step(self, K, a, scores, intercept):
        """Return better coefficients and their scores."""
        outputs = scores + intercept
        wanted = self.loss.dual_variables(outputs, self.y, self.C)
        curvatures = self.C * self.loss.curvature(outputs, self.y)
        residual = wanted - a
        free = self._curved(curvatures)
        change, shift = residual.copy(), 0.0
        if len(free) > 0:
            factor = self._factorise(K, free, curvatures[free])
            fixed = residual.copy()
            fixed[free] = 0.0
            right = residual[free] / curvatures[free]
            if fixed.any():
                right -= (K @ fixed)[free]
            pair = factor.solve(np.column_stack([right, np.ones(len(free))]))
            shift = (pair[:, 0].sum() + a.sum() + fixed.sum()) / pair[:, 1].sum()
            change[free] = pair[:, 0] - shift * pair[:, 1]
        moving = K @ change
        length = self._line_search(a, scores, intercept, change, moving, shift)
        return a + length * change, scores + length * moving

    def _line_search(self, a, scores, intercept, change, moving, shift):
        """Return a length at which the slope of P along a step is flat, or still falling at one."""
        bend, first = float(change @ moving), float(a @ moving)

        def slope(length):
            outputs = scores + intercept + length * (moving + shift)
            steep = self.C * self.loss.slope(outputs, self.y)
            return first + length * bend + float(steep @ (moving + shift))

        start, here = slope(0.0), slope(1.0)
        if not here > FLAT * abs(start):
            return 1.0
        low, high = (0.0, start), (1.0, here)
        for _ in range(MOST_SLOPES):
            share = low[1] / (low[1] - high[1]) if low[1] < 0.0 else 0.5
            length = low[0] + float(np.clip(share, 0.05, 0.95)) * (high[0] - low[0])
            here = slope(length)
            if abs(here) <= FLAT * abs(start):
                break
            low, high = ((length, here), high) if here < 0.0 else (low, (length, here))
        return length

    def _factorise(self, K, free, curvatures):
        self._factor = None
        require_factor(len(free))
        roots = np.sqrt(curvatures)

        def make():
            matrix = submatrix(K, free)
            matrix *= roots[:, None]
            matrix *= roots
            matrix.ravel(order="K")[:: len(matrix) + 1] += 1.0
            return matrix

        factor = CurvedFactor(factorise(make), roots)
        self._factor = free, curvatures, factor
        return factor

    def free_factor(self, K):  # noqa: D102
        curvatures = self._curvatures()
        free = self._curved(curvatures)
        if self._factor is not None and np.array_equal(self._factor[0], free):
            _, old, factor = self._factor
            if np.all(np.abs(curvatures[free] - old) <= ALIKE * old.max()):
                return free, factor
        return free, self._factorise(K, free, curvatures[free])

    def forget_factor(self):  # noqa: D102
        self._factor = None

    def shift(self, change):  # noqa: D102
        self._coefficients = self.alpha.copy()
        self._coefficients[self.free] += change


@dataclass(frozen=True)
class CurvedFactor:
    """The factor of W^-1 + K, made of the one of I + W^1/2 K W^1/2 = U'U."""

    inner: Factor
    roots: np.ndarray

    def solve(self, right):
        """Return (W^-1 + K)^-1 right."""
        return self.roots[:, None] * self.inner.solve(self.roots[:, None] * right)

    def half_solve(self, right):
        """Return U'^-1 W^1/2 right: its columns have the inner products right' (W^-1 + K)^-1 right."""
        return self.inner.half_solve(self.roots[:, None] * right)

    def other_half_solve(self, right):
        """Return W^1/2 U^-1 right."""
        return self.roots * self.inner.other_half_solve(right)
