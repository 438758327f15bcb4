"""The rows of a problem on features, with their dual variables and scores.

    a_j = Phi' (c_j * alpha)                             sums, (l, R)
    f_i = sum_j c_ij sum_m beta_jm phi_m(x_i)'a_jm + b   scores

Rows that are settled at a bound are left out (`shrink`): their part of each sum is kept.
"""

from dataclasses import dataclass

import numpy as np

from localmkl.backends import load
from localmkl.solvers.blurred import Blurred
from localmkl.solvers.certify import judge_factors
from localmkl.solvers.inner import balance
from localmkl.solvers.losses import Boxed, LogLoss, SquaredError
from localmkl.stacks.factors import feature_blocks

RUN = 64
"""Neighbouring rows that are visited in one go: a file is then read in pieces that are worth a seek."""
BATCH_BYTES = 2**22
"""Bytes of features whose rows are visited in random order, wherever they come from."""


@dataclass(frozen=True)
class Aim:
    """The state that a sweep starts from.

    weights: of the kernels, with their factors, (l, M). images: weights * a, (l, R). intercept; rho, the
    penalty of the sum of the dual variables; total, that sum. precise: whether in float64 throughout.
    """

    weights: np.ndarray
    images: np.ndarray
    intercept: float
    rho: float
    total: float
    precise: bool


class ActiveRows:
    """The rows of a problem on features; see the module.

    Parameters
    ----------
    problem : Problem
    alpha : ndarray of shape (n,)
        Dual variables to begin with.
    """

    def __init__(self, problem, alpha):
        self.problem, self.stack = problem, problem.stack
        self.alpha, self.scores = alpha.copy(), np.zeros_like(alpha)
        self.old = self.alpha
        self.rng = np.random.default_rng([0, 0])
        self.share, self.loss = 1.0, problem.loss
        self._bound()
        self.see_all()

    def see_all(self):
        """Look at all rows from now on, until some of them are settled."""
        self.active = np.arange(len(self.alpha))
        self.rest_total, self.rest_terms = 0.0, np.zeros(len(self._losses()))
        self.rest_sums = np.zeros((self.problem.memberships.shape[1], self.stack.n_features))

    def _bound(self):
        """Set costs and what follows of them and of the loss."""
        self.C = self.share * self.problem.C
        self.lower, self.upper = self.loss.box(self.problem.y, self.C)
        self.ridge = ridge_of(self.loss, self.C)
        np.clip(self.alpha, self.lower, self.upper, out=self.alpha)

    def charge(self, share, growth):
        """Take a share of all costs for the costs; let dual variables grow as far as bounds allow."""
        self.share = share
        self.alpha *= growth
        self._bound()

    def blur(self, width):
        """Round the kinks of the loss."""
        self.loss = Blurred(self.problem.loss, width)
        self._bound()

    def extent(self):
        """Return the largest label in size."""
        return float(np.abs(self.problem.y).max())

    def weigh(self, weights):
        """Take note of the diagonal of the combined kernel; return its sum."""
        self.sizes = np.empty(len(self.alpha))
        for rows in feature_blocks(len(self.alpha)):
            parts = np.square(self.problem.memberships[rows]) @ weights
            self.sizes[rows] = np.einsum("im,mi->i", parts, self.problem.diagonals[:, rows])
        return float(self.sizes.sum())

    def sides(self):
        """Return the sizes of the active dual variables by sign, free ones and all, and the sum of all."""
        parts = [self.alpha[self.free()], self.alpha[self.active]]
        sizes = [[-own[own < 0.0].sum(), own[own > 0.0].sum()] for own in parts]
        return np.array([*sizes, [0.0, self.rest_total + parts[1].sum()]])

    def gather(self, sign, share, free_only):
        """Take a share of the dual variables of one sign away; return a and the sum of what is left."""
        if share > 0.0:
            chosen = self.free() if free_only else self.active
            self.alpha[chosen[self.alpha[chosen] * sign > 0.0]] *= 1.0 - share
        own = self.alpha[self.active]
        self.sums = self.rest_sums + self._moments(self.active, own)
        return self.sums, self.rest_total + float(own.sum())

    def _moments(self, rows, values):
        """Return ``Phi' (c_j * values)`` of some rows."""
        kept = np.flatnonzero(values)
        rows = rows[kept]
        return self.stack.moments_of(rows, self.problem.memberships[rows] * values[kept, None])

    def _outputs(self, rows, images, precise):
        """Return the scores of some rows, without intercept."""
        return self.stack.scores_of(rows, self.problem.memberships[rows], images, precise)

    def free(self):
        """Return the rows whose dual variables small changes of the weights move."""
        alpha = self.alpha[self.active]
        inside = (alpha > self.lower[self.active]) & (alpha < self.upper[self.active])
        if isinstance(self.loss, Boxed) and self.loss.tube > 0.0:
            inside &= alpha != 0.0
        return self.active[inside]

    def respond(self, images, precise):
        """Compute the scores of the active rows, without intercept, if there are images; return dual terms.

        Their sums over all rows: first those of the loss as it is now, then those of the loss without blur.
        """
        if images is not None:
            self.scores[self.active] = self._outputs(self.active, images, precise)
        return self.rest_terms + self._terms(self.active)

    def _terms(self, rows):
        part = self.alpha[rows], self.problem.y[rows], self.C[rows]
        return np.array([loss.dual_terms(*part).sum() for loss in self._losses()])

    def _losses(self):
        return (self.loss,) if self.loss is self.problem.loss else (self.loss, self.problem.loss)

    def tilt(self, intercept):
        """Return slope and curvature of the sum of the losses in the direction of the intercept."""
        part = self.scores[self.active] + intercept, self.problem.y[self.active], self.C[self.active]
        slope, curvature = self.loss.slopes(*part)
        return np.array([slope - self.rest_total, curvature])

    def values(self, images, intercept):
        """Return the sum of the violations of optimality, and of the losses, as now and without blur.

        Settled rows are on a line of their loss: it costs its dual term less alpha times the score.
        """
        rows, y = self.active, self.problem.y[self.active]
        outputs = self.scores[rows] + intercept
        slope = y - outputs - self.ridge[rows] * self.alpha[rows]
        up = np.where(self.alpha[rows] < self.upper[rows], np.maximum(slope, 0.0), 0.0)
        down = np.where(self.alpha[rows] > self.lower[rows], np.maximum(-slope, 0.0), 0.0)
        costs = np.array([self.C[rows] @ loss.value(outputs, y) for loss in self._losses()])
        costs += self.rest_terms - np.vdot(self.rest_sums, images) - self.rest_total * intercept
        return np.array([np.maximum(up, down).sum(), *costs])

    def shrink(self, intercept, margin):
        """Leave out rows that want to stay at a bound by more than a margin; return how many are left."""
        if not isinstance(self.loss, Boxed):
            return len(self.active)
        rows, alpha = self.active, self.alpha[self.active]
        slope = self.problem.y[rows] - self.scores[rows] - intercept - self.ridge[rows] * alpha
        stay = (alpha <= self.lower[rows]) & (slope + self.loss.tube < -margin)
        stay |= (alpha >= self.upper[rows]) & (slope - self.loss.tube > margin)
        if self.loss.tube > 0.0:
            stay |= (alpha == 0.0) & (np.abs(slope) < self.loss.tube - margin)
        self.settle(stay)
        return len(self.active)

    def settle(self, stay):
        """Take some of the active rows for settled: from now on they are looked at no more."""
        settled, self.active = self.active[stay], self.active[~stay]
        self.rest_sums = self.sums - self._moments(self.active, self.alpha[self.active])
        self.rest_total += float(self.alpha[settled].sum())
        self.rest_terms = self.rest_terms + self._terms(settled)

    def sweep(self, aim):
        """Improve the dual variables of the active rows, each once; return changes of images and sum, a gain.

        The gain of the dual is the least that these changes can have brought.
        """
        stack = self.stack
        dtype = np.float64 if aim.precise else stack.dtype
        images, big = aim.images.astype(dtype), stack.spread(aim.weights).astype(dtype)
        kept = _ranges(np.any(big != 0.0, axis=0))
        tube, logistic = (
            (self.loss.tube if isinstance(self.loss, Boxed) else 0.0),
            isinstance(self.loss, LogLoss),
        )
        descend, total, gain = load(stack.backend, "factors_").descend, aim.total, 0.0
        for places in self._batches():
            table, rows = stack.source(places)
            total, more = descend(
                table, rows, places, self.problem.memberships, self.problem.y, self.lower, self.upper,
                self.ridge, tube, logistic, self.sizes, self.alpha, images, big, kept,
                aim.intercept, aim.rho, total,
            )  # fmt: skip
            gain += more
        return images - aim.images, total - aim.total, gain

    def _batches(self):
        """Yield the active rows in random order, run by run."""
        rows = self.active
        together = max(1, BATCH_BYTES // (RUN * self.stack.n_features * self.stack.dtype.itemsize))
        runs = np.array_split(rows, max(1, len(rows) // RUN))
        order = self.rng.permutation(len(runs))
        for first in range(0, len(order), together):
            yield self.rng.permutation(np.concatenate([runs[k] for k in order[first : first + together]]))

    def active_part(self, precise):
        """Return features, memberships, labels, costs, dual variables and scores of the active rows."""
        rows = self.active
        return (
            self.stack.features(rows, np.float64 if precise else self.stack.dtype),
            self.problem.memberships[rows],
            self.problem.y[rows],
            self.C[rows],
            self.alpha[rows],
            self.scores[rows],
        )

    def certified(self, weights, tol):
        """Return the certified `Solution` of some weights and these dual variables."""
        alpha = self.alpha.copy()
        balance(alpha, *self.problem.box())
        return judge_factors(self.problem, weights, alpha, tol)

    def set_active(self, alpha):
        """Set the dual variables of the active rows."""
        self.alpha[self.active] = alpha

    def remember(self):
        """Keep the dual variables, to return to them."""
        self.old = self.alpha.copy()

    def go_back(self):
        """Return to the dual variables that were kept."""
        self.alpha = self.old

    def set_out(self, images, intercept, precise):
        """Begin a step of Newton's on the active rows, as `primal` has it; the others keep their slopes.

        Return gradient and slope of the intercept, the bends of both along it, and the number of bent rows.
        """
        rows, y, C = self.active, self.problem.y[self.active], self.C[self.active]
        self.at = self._outputs(rows, images, precise) + intercept
        self.bend = C * self.loss.curvature(self.at, y)
        self.wanted = self.loss.dual_variables(self.at, y, C)
        gradient, total = self._moments(rows, self.wanted), self.wanted.sum()
        gradient, total = -gradient - self.rest_sums, -total - self.rest_total
        return gradient, total, self._moments(rows, self.bend), self.bend.sum(), np.count_nonzero(self.bend)

    def product(self, images, precise):
        """Return the change of the gradient in some direction, the intercept staying as it is."""
        bent = np.flatnonzero(self.bend)
        rows = self.active[bent]
        return self._moments(rows, self.bend[bent] * self._outputs(rows, images, precise))

    def bent_part(self, share):
        """Return features, memberships and inverse curvatures of a random share of the rows that have one."""
        bent = np.flatnonzero(self.bend)
        bent = bent if share >= 1.0 else bent[self.rng.random(len(bent)) < share]
        rows = self.active[bent]
        return (
            self.stack.features(rows, self.stack.dtype),
            self.problem.memberships[rows],
            1.0 / self.bend[bent],
        )

    def direct(self, images, intercept, precise):
        """Take note of the direction of a step."""
        self.rest_along = float(np.vdot(self.rest_sums, images)) + self.rest_total * intercept
        self.away = self._outputs(self.active, images, precise) + intercept

    def along(self, length):
        """Return the slope of the sum of the losses, at a point of a step."""
        y, C = self.problem.y[self.active], self.C[self.active]
        slope = -self.loss.dual_variables(self.at + length * self.away, y, C) @ self.away
        return float(slope - self.rest_along)

    def advance(self, length):
        """Set the dual variables to those that the slopes and their changes along a step give."""
        alpha = self.wanted - length * self.bend * self.away
        self.alpha[self.active] = np.clip(alpha, self.lower[self.active], self.upper[self.active])

    def n_free(self):
        """Return the number of free rows."""
        return len(self.free())

    def free_part(self, share):
        """Return features, memberships and inverse curvatures of a random share of the free rows."""
        free = self.free()
        rows = free if share >= 1.0 else free[self.rng.random(len(free)) < share]
        return (
            self.stack.features(rows, self.stack.dtype),
            self.problem.memberships[rows],
            self._softness(rows),
        )

    def _softness(self, rows):
        if not isinstance(self.loss, LogLoss):
            return self.ridge[rows]
        t = self.problem.y[rows] * self.alpha[rows] / self.C[rows]
        return 1.0 / (self.C[rows] * t * (1.0 - t))


def ridge_of(loss, C):
    """Return the inverse curvature of each sample's loss, zero where it is piecewise linear."""
    if isinstance(loss, Boxed):
        return loss.ridge(C)
    if isinstance(loss, SquaredError):
        return np.divide(1.0, C, out=np.zeros_like(C), where=C > 0.0)
    return np.zeros_like(C)


def _ranges(wanted):
    """Return first and last (beyond it) of every run of true values, (k, 2)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], wanted, [False]]).astype(np.int8)))
    return edges.reshape(-1, 2)
