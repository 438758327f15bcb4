"""The inner problem of losses that consist of lines and parabolas: SVM, SVR and the like.

    max_alpha  y'alpha - tube |alpha|_1 - 1/2 alpha' (K + R) alpha,   lower <= alpha <= upper,  sum(alpha) = 0

Sequential minimal optimisation finds the active set; once it is nearly right, the free variables are
solved directly. The gradient (K + R) alpha - y that both maintain also gives the scores, and with them the
primal value, so the duality gap of this inner problem costs no further look at K.
"""

import math

import numpy as np

from localmkl._resources import require_factor
from localmkl.backends import load
from localmkl.backends.reference import submatrix
from localmkl.solvers.factor import factorise
from localmkl.solvers.inner import UNBALANCED, InnerSolver, balance
from localmkl.solvers.interior import solve_interior
from localmkl.solvers.losses import Boxed

START_TOLERANCE = 1e-1
"""Violation at which small steps first stop: crude, for margins of one."""
SHARPEN = 0.1, 0.6
"""Least and most of the tolerance that is kept when it is tightened."""
BLUR = 1e-6
"""Tolerance below which the gradient is computed afresh in every round."""
NOISE = 1e-16
"""Rounding error of a gradient, relative to the size of its terms."""
STEPS_PER_SAMPLE = 20
"""Steps of sequential minimal optimisation between two direct solves, per sample."""
MAX_ROUNDS = 200
"""Rounds of small steps and a direct solve: far more than the ten or so that are usual, to end."""
LAST_ROUNDS = 10
"""The same, for kernels that have turned out to be beyond double precision."""
PATIENCE = 2
"""Rounds that may pass without the gap losing a tenth: then small steps crawl."""
MORE_PATIENCE = 20
"""The same, after an interior-point method has been tried and was not enough; less at each further time."""
LARGEST_INTERIOR = 2000
"""Samples up to which an interior-point method may help: each of its steps factorises a whole matrix."""
MOST_FAILURES = 2
"""Times that it may be of no use before it is left alone: such kernels are beyond double precision."""
DIRECT_STEPS = 20
"""Steps of one direct solve, each but the last ended by a variable at a bound."""
DIRECT_PRICE = 50.0
"""Operations of a factorisation in the time of one entry's update in a small step."""
CHEAP_FACTOR = 256
"""Most free variables for which a new factor at every such step is worth its time; above, two steps."""
FEW_FREE = 0.25
"""Share of free variables below which their rows of the kernel are copied to multiply them alone."""
BISECTIONS = 40
"""Halvings of an interval: what is left is beyond the digits of a sum."""


class InnerSVM(InnerSolver):
    """Sequential minimal optimisation for boxed losses; see `InnerSolver`."""

    serves = Boxed

    def __init__(self, y, C, loss, alpha=None, backend="compiled"):
        super().__init__(y, C, loss, alpha, backend)
        self.ridge = loss.ridge(C)
        self.tolerance = START_TOLERANCE
        self._factor = None
        self._failures = 0

    @property
    def free(self):
        """Indices of the dual variables away from their bounds (and from the kink at zero)."""
        inside = (self.alpha > self.lower) & (self.alpha < self.upper)
        if self.loss.tube > 0.0:
            inside &= self.alpha != 0.0
        return np.flatnonzero(inside)

    def solve(self, K, target):
        """Improve alpha for the kernel matrix `K` until the gap is at most `target` times the primal.

        Start with a crude tolerance and tighten it only while the gap asks for it. End early where
        rounding allows no further progress.
        """
        self._improve(K, target)
        np.clip(self.alpha, self.lower, self.upper, out=self.alpha)  # a step to a bound may round beyond it
        balance(self.alpha, self.lower, self.upper)
        return self

    def _improve(self, K, target):
        solve_svm = load(self.backend).solve_svm
        steps = STEPS_PER_SAMPLE * len(self.y)
        largest = float(np.abs(K.diagonal()).max())
        gradient = self._gradient(K)
        self._evaluate(gradient)
        if self.gap <= target * abs(self.primal):
            return
        best, best_alpha, mark = self.gap, self.alpha.copy(), self.gap
        stalled, patience, taken, tried = 0, PATIENCE, 0, False
        for _ in range(MAX_ROUNDS if self._failures <= MOST_FAILURES else LAST_ROUNDS):
            count, violation = solve_svm(
                K,
                self.ridge,
                self.y,
                self.loss.tube,
                self.lower,
                self.upper,
                self.alpha,
                gradient,
                self.tolerance,
                steps,
            )
            self._evaluate(gradient)
            taken += count
            if self.gap > target * abs(self.primal) and self._direct_pays(taken):
                self._try_direct_solve(K, gradient)
            if self.gap <= target * abs(self.primal):
                return
            noise = NOISE * largest * float(np.abs(self.alpha).sum())
            if self.gap < 0.9 * mark:
                stalled, mark = 0, self.gap
            elif count > 0 or self.tolerance <= noise:  # else the tolerance has not asked for anything yet
                stalled += 1
            if self.gap < best:
                best, best_alpha = self.gap, self.alpha.copy()
            if stalled > patience:
                if tried or self._failures > MOST_FAILURES or len(self.y) > LARGEST_INTERIOR:
                    break
                gradient, tried, stalled = self._try_interior(K), True, 0
                if self.gap <= target * abs(self.primal):
                    return
                self._failures += 1
                patience = MORE_PATIENCE // self._failures
                continue
            if violation <= self.tolerance or stalled:
                # The gap falls about as the tolerance does: ask for what is missing, not for much more.
                missing = np.clip(target * abs(self.primal) / max(self.gap, noise), *SHARPEN)
                self.tolerance = max(missing * self.tolerance, noise, np.finfo(float).tiny)
            if self.tolerance < BLUR:  # many small steps have blurred the gradient
                gradient = self._gradient(K)
        self.alpha = best_alpha
        self._evaluate(self._gradient(K))

    def _gradient(self, K):
        return K @ self.alpha + self.ridge * self.alpha - self.y if self.alpha.any() else -self.y

    def _evaluate(self, gradient):
        self.evaluate(gradient + self.y - self.ridge * self.alpha)

    def _direct_pays(self, steps):
        """Whether a factorisation costs no more than the small steps taken so far."""
        return len(self.free) ** 3 <= DIRECT_PRICE * steps * len(self.y)

    def _try_direct_solve(self, K, gradient):
        """Solve the free variables directly; keep the result if the gap agrees that it is better."""
        gap, alpha = self.gap, self.alpha.copy()
        self._solve_free(K, gradient)
        self._evaluate(gradient)
        if self.gap > gap:
            self.alpha = alpha
            gradient[:] = self._gradient(K)
            self._evaluate(gradient)

    def _try_interior(self, K):
        """Go on from the best that an interior-point method finds; return its gradient."""
        alpha = self.alpha

        def judge(candidate):
            balance(candidate, self.lower, self.upper)
            self.alpha = candidate
            self._evaluate(self._gradient(K))
            unbalanced = abs(math.fsum(candidate)) > UNBALANCED * np.abs(candidate).sum()
            return np.inf if unbalanced else self.gap

        curved, bounds = K, (self.lower, self.upper)
        if self.ridge.any():
            # At the optimum half of ridge alpha^2 is part of the primal: that bounds what has no bound.
            curved = K + np.diag(self.ridge)
            far = np.sqrt(2.0 * self.primal / np.where(self.ridge > 0.0, self.ridge, np.inf))
            bounds = np.maximum(self.lower, -far), np.minimum(self.upper, far)
        inside, snapped = solve_interior(curved, self.y, self.loss.tube, *bounds, judge)
        best, gradient = np.inf, None
        for candidate in (alpha, inside, snapped):
            if judge(candidate) < np.inf:
                own = self._gradient(K)
                self._try_direct_solve(K, own)
                if self.gap < best:
                    best, gradient, alpha = self.gap, own, self.alpha
        self.alpha = alpha
        self._evaluate(gradient)
        return gradient

    def free_factor(self, K):
        """Return the free variables and the factor of K on them; the last one is kept for the next call."""
        free = self.free
        if self._factor is None or not np.array_equal(self._factor[0], free):
            self._factor = None
            require_factor(len(free))
            self._factor = free, factorise(lambda: self._curvature_on(K, free))
        return self._factor

    def _curvature_on(self, K, free):
        matrix = submatrix(K, free)
        matrix.ravel(order="K")[:: len(free) + 1] += self.ridge[free]
        return matrix

    def forget_factor(self):
        """Free the memory of the factor."""
        self._factor = None

    def shift(self, change):
        """Move the free variables by a change that sums to zero, as far as their bounds allow."""
        free = self.free
        lower, upper, total = self.lower[free], self.upper[free], self.alpha[free].sum()
        change = np.clip(change, lower - upper, upper - lower)  # a singular kernel asks for anything
        aim = self.alpha[free] + change
        # What the bounds cut off is spread evenly: find the common shift that restores the sum.
        low, high = -np.abs(change).max(), np.abs(change).max()
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if np.clip(aim - middle, lower, upper).sum() > total else (low, middle)
        moved = np.clip(aim - high, lower, upper)
        inside = int(np.argmax(np.minimum(moved - lower, upper - moved)))
        moved[inside] = np.clip(moved[inside] + total - moved.sum(), lower[inside], upper[inside])
        if abs(moved.sum() - total) <= UNBALANCED * np.abs(moved).sum():  # else bounds leave no way there
            self.alpha[free] = moved

    def _solve_free(self, K, gradient):
        """Minimise over the free variables with the others fixed, as far as the bounds allow.

        (K + R)_FF d + nu 1 = -(gradient + tube sign(alpha))_F,  sum(d) = 0. A step that meets a bound or kink
        ends there; that variable is no longer free, and the rest goes on. A full step is repeated once with
        the same factor, which refines it.
        """
        refined = False
        steps = DIRECT_STEPS if len(self.free) <= CHEAP_FACTOR else 2
        for _ in range(steps):
            if len(self.free) < 2:
                return
            free, factor = self.free_factor(K)
            slope = gradient[free] + self.loss.tube * np.sign(self.alpha[free])
            pair = factor.solve(np.column_stack([slope, np.ones(len(free))]))
            direction = pair[:, 1] * (pair[:, 0].sum() / pair[:, 1].sum()) - pair[:, 0]
            direction -= direction.mean()
            length, blocking, wall = self._room(free, direction)
            moved = self.alpha[free] + length * direction
            if blocking is not None:
                moved[blocking] = wall
            self._move(K, free, moved - self.alpha[free], gradient)
            self.alpha[free] = moved
            if blocking is None and refined:
                return
            refined = blocking is None

    def _move(self, K, free, change, gradient):
        """Follow a change of the free variables in the gradient."""
        gradient[free] += self.ridge[free] * change
        if len(free) < FEW_FREE * len(self.y):
            gradient += change @ K[free]
        else:
            whole = np.zeros(len(self.y))
            whole[free] = change
            gradient += K @ whole

    def _room(self, free, direction):
        """Return how far (at most 1) a direction stays between bounds and kinks, and what stops it."""
        alpha = self.alpha[free]
        walls = np.where(direction > 0.0, self.upper[free], self.lower[free])
        if self.loss.tube > 0.0:
            walls = np.where(alpha * direction < 0.0, 0.0, walls)
        moving = direction != 0.0
        room = np.full(len(free), np.inf)
        np.divide(walls - alpha, direction, out=room, where=moving)
        blocking = int(np.argmin(room))
        if room[blocking] >= 1.0:
            return 1.0, None, 0.0
        return room[blocking], blocking, walls[blocking]
