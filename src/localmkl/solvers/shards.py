"""Shards: the rows of a problem on factors that are in one place, and what is kept with them.

    a_j = Phi' (c_j * alpha)                             sums, (l, R)
    f_i = sum_j c_ij sum_m beta_jm phi_m(x_i)'a_jm + b   scores, of the rows of a shard

Dual variables, scores and features stay with their rows. What goes in and out has the size of the weights:
sums, values, one intercept. A `Team` asks all its shards at once.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from localmkl.backends import load
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
    penalty of the sum of the dual variables; total, that sum. stretch: by how much a shard overrates its own
    changes, so that all of them together do not go too far. precise: whether in float64 throughout.
    """

    weights: np.ndarray
    images: np.ndarray
    intercept: float
    rho: float
    total: float
    stretch: float
    precise: bool


class Shard:
    """Some rows of a problem on factors; see the module."""

    def __init__(self, problem, alpha, seed):
        self.whole, self.stack = problem, problem.stack
        self.alpha, self.scores = alpha.copy(), np.zeros_like(alpha)
        self.charge(1.0, 1.0)
        self.active = np.arange(len(alpha))
        self.rng = np.random.default_rng(seed)

    def charge(self, share, growth):
        """Take a share of all costs for the costs; let dual variables grow as far as bounds allow."""
        self.problem = self.whole if share == 1.0 else replace(self.whole, C=share * self.whole.C)
        self.problem.__dict__["diagonals"] = self.whole.diagonals
        self.lower, self.upper = self.problem.box()
        self.ridge = ridge_of(self.problem)
        self.alpha = np.clip(growth * self.alpha, self.lower, self.upper)

    def weigh(self, weights):
        """Take note of the diagonal of the combined kernel; return its sum."""
        self.sizes = np.empty(len(self.alpha))
        for rows in feature_blocks(len(self.alpha)):
            parts = np.square(self.problem.memberships[rows]) @ weights
            self.sizes[rows] = np.einsum("im,mi->i", parts, self.problem.diagonals[:, rows])
        return float(self.sizes.sum())

    def moments(self, precise):
        """Return a and the sum of the dual variables."""
        rows = np.flatnonzero(self.alpha)
        vectors = self.problem.memberships[rows] * self.alpha[rows, None]
        return self.stack.moments_of(rows, vectors, precise), float(self.alpha.sum())

    def sweep(self, aim):
        """Improve the dual variables of the active rows, each once; return changes of images and sum."""
        problem, stack, loss = self.problem, self.stack, self.problem.loss
        dtype = np.float64 if aim.precise else stack.dtype
        images, big = aim.images.astype(dtype), stack.spread(aim.weights).astype(dtype)
        kept = _ranges(np.any(big != 0.0, axis=0))
        tube, logistic = (loss.tube if isinstance(loss, Boxed) else 0.0), isinstance(loss, LogLoss)
        descend, total = load(stack.backend, "factors_").descend, aim.total
        for places in self._batches():
            table, rows = stack.source(places)
            total = descend(
                table, rows, places, problem.memberships, problem.y, self.lower, self.upper,
                self.ridge, tube, logistic, self.sizes, self.alpha, images, big, kept,
                aim.intercept, aim.rho, total, aim.stretch,
            )  # fmt: skip
        return (images - aim.images) / aim.stretch, (total - aim.total) / aim.stretch

    def _batches(self):
        """Yield the active rows in random order, run by run."""
        rows = self.active
        together = max(1, BATCH_BYTES // (RUN * self.stack.n_features * self.stack.dtype.itemsize))
        runs = np.array_split(rows, max(1, len(rows) // RUN))
        order = self.rng.permutation(len(runs))
        for first in range(0, len(order), together):
            yield self.rng.permutation(np.concatenate([runs[k] for k in order[first : first + together]]))

    def sides(self):
        """Return the sizes of the dual variables by sign, (free, all) x (negative, positive)."""
        parts = [self.alpha[self.free()], self.alpha]
        return np.array([[-own[own < 0.0].sum(), own[own > 0.0].sum()] for own in parts])

    def lessen(self, sign, share, free_only):
        """Take a share of the dual variables of one sign away; return the sum that is left."""
        chosen = self.free() if free_only else np.arange(len(self.alpha))
        chosen = chosen[self.alpha[chosen] * sign > 0.0]
        self.alpha[chosen] *= 1.0 - share
        return float(self.alpha.sum())

    def free(self):
        """Return the rows whose dual variables small changes of the weights move."""
        inside = (self.alpha > self.lower) & (self.alpha < self.upper)
        if isinstance(self.problem.loss, Boxed) and self.problem.loss.tube > 0.0:
            inside &= self.alpha != 0.0
        return np.flatnonzero(inside)

    def respond(self, images, precise):
        """Compute the scores of all rows, without intercept; return the sum of the loss's dual terms."""
        self.stack.scores_of(self.problem.memberships, images, self.scores, precise)
        return float(self.problem.loss.dual_terms(self.alpha, self.problem.y, self.problem.C).sum())

    def cost(self, intercept):
        """Return the sum of the losses."""
        return float(self.problem.C @ self.problem.loss.value(self.scores + intercept, self.problem.y))

    def violation(self, intercept):
        """Return the sum of the violations of optimality."""
        slope = self._slopes(intercept)
        up = np.where(self.alpha < self.upper, np.maximum(slope, 0.0), 0.0)
        down = np.where(self.alpha > self.lower, np.maximum(-slope, 0.0), 0.0)
        return float(np.maximum(up, down).sum())

    def _slopes(self, intercept):
        return self.problem.y - self.scores - intercept - self.ridge * self.alpha

    def shrink(self, intercept, margin):
        """Leave out rows that want to stay at a bound by more than a margin; return how many are left."""
        loss = self.problem.loss
        if isinstance(loss, Boxed):
            slope = self._slopes(intercept)
            stay = (self.alpha <= self.lower) & (slope + loss.tube < -margin)
            stay |= (self.alpha >= self.upper) & (slope - loss.tube > margin)
            if loss.tube > 0.0:
                stay |= (self.alpha == 0.0) & (np.abs(slope) < loss.tube - margin)
            self.active = np.flatnonzero(~stay)
        return len(self.active)

    def active_part(self, precise):
        """Return features, memberships, labels, costs, dual variables and scores of the active rows."""
        problem, rows = self.problem, self.active
        return (
            self.stack.features(rows, np.float64 if precise else self.stack.dtype),
            problem.memberships[rows],
            problem.y[rows],
            problem.C[rows],
            self.alpha[rows],
            self.scores[rows],
        )

    def set_active(self, alpha):
        """Set the dual variables of the active rows."""
        self.alpha[self.active] = alpha

    def free_part(self, share):
        """Return features, memberships and inverse curvatures of a random share of the free rows."""
        free = self.free()
        rows = free if share >= 1.0 else free[self.rng.random(len(free)) < share]
        return self.stack.features(rows), self.problem.memberships[rows], self._softness(rows)

    def n_free(self):
        """Return the number of free rows."""
        return len(self.free())

    def _softness(self, rows):
        if not isinstance(self.problem.loss, LogLoss):
            return self.ridge[rows]
        t = self.problem.y[rows] * self.alpha[rows] / self.problem.C[rows]
        return 1.0 / (self.problem.C[rows] * t * (1.0 - t))


class Team:
    """All shards of a problem in this process, asked at once."""

    def __init__(self, shards, places):
        self.shards, self.places = shards, places
        self.pool = ThreadPoolExecutor(len(shards)) if len(shards) > 1 else None

    def __len__(self):
        return len(self.shards)

    def ask(self, method, *arguments):
        """Return the answers of all shards."""

        def one(shard):
            return getattr(shard, method)(*arguments)

        return [one(self.shards[0])] if self.pool is None else list(self.pool.map(one, self.shards))

    def total(self, method, *arguments):
        """Return the sum of the answers of all shards."""
        return sum(self.ask(method, *arguments))

    def hand_out(self, method, values, counts):
        """Give every shard its part of an array."""
        for shard, own in zip(self.shards, np.split(values, np.cumsum(counts)[:-1]), strict=True):
            getattr(shard, method)(own)

    def certify(self, problem, weights, tol):
        """Return the certified `Solution` of some weights and the dual variables of all shards."""
        alpha = np.empty(problem.n_samples)
        for shard, rows in zip(self.shards, self.places, strict=True):
            alpha[rows] = shard.alpha
        balance(alpha, *problem.box())
        return judge_factors(problem, weights, alpha, tol)

    def best_intercept(self):
        """Return the intercept that suits the scores best."""
        loss, y, C = self.shards[0].problem.loss, [], []
        for shard in self.shards:
            y.append(shard.problem.y)
            C.append(shard.problem.C)
        scores = [shard.scores for shard in self.shards]
        return loss.best_intercept(np.concatenate(scores), np.concatenate(y), np.concatenate(C))


def gather_team(problem, alpha, n_shards=1, seed=0):
    """Return the team of a problem in this process: runs of rows are dealt out to the shards in turn."""
    if n_shards == 1:
        return Team([Shard(problem, alpha, [seed, 0])], [slice(None)])
    turn = np.arange(problem.n_samples) // RUN % n_shards
    places = [np.flatnonzero(turn == k) for k in range(n_shards)]
    shards = [Shard(problem.on(rows), alpha[rows], [seed, k]) for k, rows in enumerate(places)]
    return Team(shards, places)


def ridge_of(problem):
    """Return the inverse curvature of each sample's loss, zero where it is piecewise linear."""
    loss = problem.loss
    if isinstance(loss, Boxed):
        return loss.ridge(problem.C)
    if isinstance(loss, SquaredError):
        return np.divide(1.0, problem.C, out=np.zeros_like(problem.C), where=problem.C > 0.0)
    return np.zeros_like(problem.C)


def _ranges(wanted):
    """Return first and last (beyond it) of every run of true values, (k, 2)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], wanted, [False]]).astype(np.int8)))
    return edges.reshape(-1, 2)
