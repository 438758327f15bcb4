"""Newton's method on features of rows that are seen as sums alone: the solver for rows in chunks.

    min_v,b  1/2 sum_j (sum_m ||v_jm||^q)^(2/q) + sum_i C_i L(f_i),  f = sum_j c_j Phi v_j + b,  q = 2p/(p+1)

A loss that consists of lines has its kinks rounded (`blurred`), less and less as the gap shrinks; rows that
were at a kink before it was narrowed are taken to be there in the next step, too. One look at
the rows at (v, b) gives the losses, Phi'alpha for the dual variables alpha = -C L'(f), and Phi'W Phi, where W
are the second derivatives. The penalty, as it is, plus that parabola is then minimised over weights and v,
without the rows. These are an object with three methods, `look`, `values` and `evidence`: sums over chunks.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from localmkl.solvers.blurred import Blurred
from localmkl.solvers.certify import (
    Solution,
    dual_bounds,
    gamma,
    in_balls,
    intercept_extent,
    penalties,
    relative,
)
from localmkl.solvers.factor import factorise
from localmkl.solvers.losses import PiecewiseLinear
from localmkl.solvers.model import minimise_linear_model, minimise_model
from localmkl.solvers.objective import closed_form_weights, dual_norm, relative_gap, uniform_weights
from localmkl.solvers.steps import NEARLY_EVEN


@dataclass(frozen=True)
class Shape:
    """A problem without its rows.

    Parameters
    ----------
    loss : Loss
    p : float
        Norm of the weights.
    roots : ndarray of shape (n_features,)
        Factors of the features: roots of the factors of their kernels.
    widths : sequence of int
        Number of features of each kernel.
    n_clusters, n_rows : int
    scale : float
        Mean size of the targets.
    base : float
        Largest size that the best intercept of scores that are all zero may have.
    start : float
        First intercept.
    """

    loss: Any
    p: float
    roots: np.ndarray
    widths: Any
    n_clusters: int
    n_rows: int
    scale: float
    base: float
    start: float = 0.0

    @property
    def n_kernels(self):
        """Number of kernels."""
        return len(self.widths)

    @property
    def frozen(self):
        """Whether the weights are one whatever the rows are."""
        return bool(np.isinf(self.p)) or self.n_kernels == 1

    def fold(self, values):
        """Return sums over each kernel's features of values (l, n_features), (l, n_kernels)."""
        edges = np.concatenate([[0], np.cumsum(self.widths)[:-1]])
        return np.add.reduceat(values, edges, axis=-1)

    def rounded(self, width):
        """Return the loss with parabolas of this width in place of its kinks."""
        return Blurred(self.loss, width) if width > 0.0 else self.loss


class Sums(NamedTuple):
    """The sums over rows that a look at some (v, b) returns.

    smooth, sharp: the losses, with rounded kinks and without. dual: the dual terms of alpha. surplus: the sum
    of alpha; sides: of those below zero, and above. moments: Phi'(c alpha), (l, R). pull, pulled: moments and
    surplus that the step starts from. curvature: Phi'(c W c)Phi, (l R, l R). across: Phi'(c W), (l R,).
    total: the sum of W.
    """

    smooth: float
    sharp: float
    dual: float
    surplus: float
    sides: np.ndarray
    moments: np.ndarray
    pull: np.ndarray
    pulled: float
    curvature: np.ndarray
    across: np.ndarray
    total: float

    def __add__(self, other):
        """Return the sums over two sets of rows."""
        return Sums(*(one + two for one, two in zip(self, other, strict=True)))


def solve_on_sums(shape, rows, *, tol=1e-3, max_iter=500, callback=None):
    """Solve one problem whose rows are seen as sums.

    Parameters
    ----------
    shape : Shape
    rows : object
        With ``look(u, b, width, before)``, ``values(points, width)`` and ``evidence(u, b, width, cut)``,
        where u (l, R) are coefficients of the raw features.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Most steps.
    callback : callable, optional
        Called as ``callback(iteration, primal, dual, gap)``.

    Returns
    -------
    Solution
        Without dual variables; its `weights` belong to `u`, the second value returned.
    u : ndarray of shape (l, R)
        Coefficients of the raw features.
    """
    point, found = _Point(shape, rows), None
    history: dict[str, list] = {"primal": [], "dual": [], "gap": [], "svm_gap": []}
    for iteration in range(1, max_iter + 1):
        seen = point.look()
        for key, value in zip(history, (*seen, 0.0), strict=True):
            history[key].append(value)
        if callback is not None:
            callback(iteration, *seen)
        if seen[2] <= tol:
            found = point.answer()
            if found[0].gap <= tol:
                break
        if not point.step(tol):
            break
    solution, u = point.answer() if found is None or found[0].gap > tol else found
    values = {key: np.array(own) for key, own in history.items()}
    return _with_history(solution, iteration, tol, values), u


def _with_history(solution, n_iter, tol, history):
    parts = {**vars(solution), "n_iter": n_iter, "converged": solution.gap <= tol, "history": history}
    return Solution(**parts)


class _Point:
    """The state of the method: v, intercept, width of the kinks, weights to start the next step from."""

    def __init__(self, shape, rows):
        self.shape, self.rows = shape, rows
        self.q = 2.0 if shape.frozen else 2.0 * shape.p / (shape.p + 1.0)
        self.v, self.b = np.zeros((shape.n_clusters, len(shape.roots))), shape.start
        sharp = isinstance(shape.loss, PiecewiseLinear)
        self.first = self.width = 2.0 * shape.scale if sharp else 0.0
        self.weights = uniform_weights((shape.n_clusters, shape.n_kernels), shape.p)
        self.factor, self.narrowed, self.waits = (
            0.3,
            False,
            False,
        )  # of the width, which has just shrunk, or not
        self.before = 0.0  # the width before the last one
        self.sums: Any = None  # what the last look saw

    def norms(self, values):
        """Return the squared norms of the blocks of a vector (l, R), (l, M)."""
        return self.shape.fold(np.square(values))

    def penalty(self, v):
        """Return half the squared norm of v."""
        powers = self.norms(v) ** (0.5 * self.q)
        return 0.5 * float(np.sum(powers.sum(axis=1) ** (2.0 / self.q)))

    def look(self):
        """Return primal, dual and relative gap here, as they seem; the certificate is another's."""
        if self.sums is None:
            self.sums = self.rows.look(self.v * self.shape.roots, self.b, self.width, self.before)
            self.before = 0.0
        seen = self.sums
        self.own = seen.moments * self.shape.roots
        self.primal = self.penalty(self.v) + seen.sharp
        lost = seen.sharp + float(np.vdot(self.own, self.v)) + self.b * seen.surplus - seen.dual
        self.excess = max(0.0, lost) / max(self.primal, 1e-300)
        norms = self.norms(self.own)
        dual = seen.dual - self.b * seen.surplus - 0.5 * sum(dual_norm(one, self.shape.p) for one in norms)
        self.gap = relative_gap(self.primal, dual)
        return self.primal, dual, self.gap

    def step(self, tol):
        """Round the kinks less where they make most of the gap, else take a step; return whether it moved."""
        seen = self.sums
        if not seen.total > 0.0:  # no row is near a kink
            return self._round_by(1.0 / 0.3)
        if self.excess > max(0.5 * self.gap, 0.3 * tol) and not (self.waits or self.narrowed):
            return self._round_by(self.factor)
        narrowed, self.narrowed, self.waits = self.narrowed, False, False
        try:
            d_v, d_b = self._newton(0.1 * min(tol, max(self.excess, 1e-12)))
        except FloatingPointError:
            return False
        before = self.penalty(self.v)
        slope = self.penalty(self.v + d_v) - before
        slope -= float(np.vdot(self.own, d_v)) + seen.surplus * d_b
        if not np.isfinite(slope):
            return False
        length = self._go(d_v, d_b, slope, before + seen.smooth)
        if (
            narrowed and length < 1.0 and self.factor < 0.9
        ):  # rows came to kinks: these were narrowed too much
            (self.v, self.b, self.width, self.sums), self.factor = self.last, self.factor**0.5
            self.waits = True
            return True
        self.factor = max(self.factor**1.5, 0.1) if narrowed else self.factor
        return -slope > 1e-14 * self.primal

    def _round_by(self, factor):
        width = min(self.width * factor, self.first)
        moved = width != self.width and width > 1e-12 * self.first
        if moved:
            self.last, self.narrowed = (self.v, self.b, self.width, self.sums), width < self.width
            self.before, self.width, self.sums = self.width, width, None
        return moved

    def _go(self, d_v, d_b, slope, value):
        """Go a whole step if enough of what it promises comes true, else the longest of shorter ones."""
        lengths = 0.5 ** np.arange(0, 12)
        for length in (lengths[:1], lengths[1:]):
            points = [(self.v + t * d_v, self.b + t * d_b) for t in length]
            if len(points) == 1:
                sums = self.rows.look(points[0][0] * self.shape.roots, points[0][1], self.width, 0.0)
                there = [self.penalty(points[0][0]) + sums.smooth]
            else:
                raw = [(v * self.shape.roots, b) for v, b in points]
                losses = self.rows.values(raw, self.width)
                there = [self.penalty(v) + loss for (v, _), loss in zip(points, losses, strict=True)]
                sums = None
            enough = value + 0.1 * length * slope + 1e-13 * abs(value)
            good = np.flatnonzero(np.array(there) <= enough)
            if len(good) or len(points) > 1:
                best = int(good[0]) if len(good) else len(points) - 1
                (self.v, self.b), self.sums = points[best], sums
                return float(length[best])
        return 0.0

    def _newton(self, enough):
        """Return the changes of v and intercept that minimise penalty and parabola; keep the weights."""
        shape, seen = self.shape, self.sums
        roots = np.tile(shape.roots, shape.n_clusters)
        matrix = seen.curvature * roots[:, None] * roots
        across = seen.across * roots
        matrix -= np.outer(across, across / seen.total)  # the intercept goes its best way
        v = self.v.ravel()
        right = seen.pull.ravel() * roots - across * (seen.pulled / seen.total) + matrix @ v
        model = _Quadratic(matrix, right, shape)
        if not shape.frozen:
            self.weights = model.best_weights(self.weights, enough * self.primal)
        d_v = model.solve(self.weights)[0] - v
        return d_v.reshape(self.v.shape), float((seen.pulled - across @ d_v) / seen.total)

    def answer(self):
        """Return the certified `Solution`, and the coefficients of the raw features."""
        shape = self.shape
        if self.sums is None:
            self.look()
        lengths = np.sqrt(self.norms(self.v))
        weights = closed_form_weights(uniform_weights(lengths.shape, shape.p), np.square(lengths), shape.p)
        if shape.frozen:
            weights = np.ones_like(lengths)
        u = self.v * shape.roots
        return certify_sums(shape, self.rows, weights, u, self.b, self.width, self.sums.sides), u


class _Quadratic:
    """The weights of a parabola: J(beta) = min_v 1/2 v'Ev - r'v + 1/2 sum_jm ||v_jm||^2 / beta_jm.

    With S = sqrt(beta), v = S (I + SES)^-1 S r; k = r - Ev is v / beta. J has slopes -1/2 ||k_jm||^2 and the
    curvature A'(E - ES (I + SES)^-1 SE)A, where k_jm are the columns of A.
    """

    def __init__(self, matrix, right, shape):
        self.matrix, self.right, self.shape = matrix, right, shape
        n_weights = shape.n_clusters * shape.n_kernels
        self.places = np.repeat(np.arange(n_weights), np.tile(shape.widths, shape.n_clusters))

    def solve(self, weights):
        """Return v of some weights (l, M), and k = v / beta."""
        self.scale = np.sqrt(weights.ravel()[self.places])
        self.factor = factorise(self._scaled)
        v = self.scale * self.factor.solve(self.scale * self.right)
        return v, self.right - self.matrix @ v

    def _scaled(self):
        scaled = np.asfortranarray(self.matrix * self.scale[:, None] * self.scale)
        scaled.ravel(order="K")[:: len(scaled) + 1] += 1.0
        return scaled

    def value(self, weights):
        """Return J."""
        return -0.5 * float(self.right @ self.solve(weights)[0])

    def best_weights(self, weights, enough, most=30):
        """Return weights whose J is at most about `enough` above the smallest."""
        p, damping = self.shape.p, 0.0
        for _ in range(most):
            v, k = self.solve(weights)
            value, norms = (
                -0.5 * float(self.right @ v),
                self.shape.fold(np.square(k.reshape(len(weights), -1))),
            )
            above = 0.5 * sum(dual_norm(q, p) - float(q @ own) for q, own in zip(norms, weights, strict=True))
            if above <= enough:
                break
            goal = minimise_linear_model(norms, weights, p)
            if p < NEARLY_EVEN:
                goal = minimise_model(norms, self._root(k), weights, p, damping)
            length = self._length(weights, goal, value, -0.5 * float(np.sum(norms * (goal - weights))))
            if length == 0.0:
                break
            damping = 0.25 * damping if length == 1.0 else max(4.0 * damping, 0.01)
            weights = weights + length * (goal - weights)
        return weights

    def _root(self, k):
        """Return a matrix whose square is the curvature of J, (l M, l M)."""
        parts = np.zeros((len(k), self.places[-1] + 1))
        parts[np.arange(len(k)), self.places] = k
        images = self.matrix @ parts
        halves = self.factor.half_solve(self.scale[:, None] * images)
        sizes, vectors = np.linalg.eigh(parts.T @ images - halves.T @ halves)
        return np.sqrt(np.maximum(sizes, 0.0))[:, None] * vectors.T

    def _length(self, weights, goal, value, slope):
        """Return how far to go towards a goal: J has fallen there; 0 where rounding is all there is."""
        length = 1.0
        while length > 1e-3:
            if self.value(weights + length * (goal - weights)) <= value + 0.1 * length * slope:
                return length
            length *= 0.5
        return 0.0


@np.errstate(over="ignore", invalid="ignore")
def certify_sums(shape, rows, weights, u, b, width, sides):
    """Return the `Solution` of coefficients u, weights and dual variables, judged from the rows again.

    The dual variables are those of the scores; what their sum is off zero is taken from the larger side. The
    primal is that of u, weights and b. Errors of sums are bounded as in `certify`.
    """
    surplus = float(sides.sum())
    side = np.sign(surplus)
    larger = abs(float(sides[int(side > 0.0)]))
    cut = (side, abs(surplus) / larger if larger > 0.0 else 0.0)
    seen = rows.evidence(u, b, width, cut)
    share = gamma(seen["n_terms"] + seen["n_chunks"], np.float64)
    squares = np.square(shape.roots)
    sums, errors = seen["sums"], share * seen["sizes"]
    norms = shape.fold(np.square(sums) * squares)
    norms_error = shape.fold((2.0 * np.abs(sums) * errors + np.square(errors)) * squares) + share * norms
    penalty = penalties(norms, norms_error, shape.p, share)
    v_norms = shape.fold(np.square(np.divide(u, shape.roots, out=np.zeros_like(u), where=shape.roots > 0.0)))
    parts = np.divide(v_norms, weights, out=np.zeros_like(v_norms), where=weights > 0.0)
    parts[(weights <= 0.0) & (v_norms > 0.0)] = np.inf
    squared_norm = float(parts.sum())
    costs, n_rows = seen["costs"], shape.n_rows
    rounding = 4.0 * gamma(n_rows, np.float64)
    small = share * squared_norm
    primal = 0.5 * squared_norm + costs[0]
    above, below = small + costs[2] + rounding * costs[1], small + costs[3] + rounding * costs[0]
    extent = intercept_extent(shape.base, primal + above, seen["span"])
    slack = gamma(n_rows, np.float64) * seen["total"]  # of the sum of all dual variables
    dual, deep = dual_bounds(seen["duals"], abs(seen["surplus"]) + slack, penalty, extent, n_rows)
    gap, rest = relative(primal, dual, above, below, deep)
    if seen["outside"] or not in_balls(weights, shape.p):
        gap, rest = np.inf, 0.0
    return Solution(weights, np.empty(0), b, float(primal), float(dual), gap, squared_norm, rest)
