"""Newton's method on smoothed losses: the solver for features on a device.

    min_v,b  1/2 sum_j (sum_m ||v_jm||^q)^(2/q) + sum_i L_i(f_i),  f = sum_j c_j * Phi v_j + b,  q = 2p/(p+1)
    L_i(f)   = max_alpha  h_i(alpha) - alpha f - width / (2 C_i) (alpha - centre_i)^2

h is the concave dual of the loss. The alpha of that maximum are dual variables of the scores: they are in
their box, and where they are inside, in the band, L bends. A step minimises the penalty, as it is, plus the
parabola of all L: the rows of the band make its matrix, `quadratic` finds weights and v. Once steps gain less
than smoothing costs, its width shrinks, and the dual variables are its new centre. What decides, the
certificate, is `certify`'s.
"""

from copy import copy
from dataclasses import replace

import numpy as np
import torch

from localmkl._devices import require_device_memory
from localmkl.solvers.certify import judge_on_device
from localmkl.solvers.inner import feasible
from localmkl.solvers.losses import LogLoss, QuadraticDual
from localmkl.solvers.objective import dual_norm, relative_gap
from localmkl.solvers.quadratic import QuadraticModel
from localmkl.stacks.device import ROOM

FIRST_WIDTH = 2.0
"""Width of the smoothing at the start, as a multiple of the targets' size ..."""
NARROWER = 0.3
"""... by which factor it shrinks ..."""
LAST_WIDTH = 1e-5
"""... and below which it never goes: only its centre moves from there on."""
SMALL_STEP = 0.1
"""Gain of a step, as a share of what smoothing costs, from which on smoothing shrinks ..."""
SMALL_WHOLE_STEP = 0.5
"""... if the step was cut short, and if it was taken whole."""
SMOOTH_ENOUGH = 0.3
"""Share of the gap to reach that smoothing may cost: steps are what is missing then."""
ENOUGH = 0.02
"""Share of the gap to reach to which the parabola's minimum is found ..."""
SHARPER = 0.1
"""... and by what it is found more precisely with each step at which smoothing costs little."""
ROUNDING = 1e-13
"""Gain of a step, as a share of the primal value, that is none."""
LEAST_GAIN = 0.1
"""Share of the gain that a step promises that must come true, else it is cut."""
CUTS = 30
"""Times that a step may be halved."""
NEARLY_NOTHING = 0.05
"""Length of a step below which smoothing was too little."""
WIDEST = 1e6
"""Multiple of the first width beyond which smoothing never goes."""
BARELY = 1e-6
"""Bend of all losses, as a share of what the first smoothing gives, where none is in the band."""
FRUITLESS = 30
"""Steps without a smaller gap after which rounding is what holds it up ..."""
FAR = 0.5
"""... but above this gap, which says nothing yet, many more are taken ..."""
FRUITLESS_FAR = 150
"""... up to these."""
REFUSED = 3
"""Answers that rounding may keep from being certified before extended precision is asked."""


def solve_smoothed(problem, *, tol=1e-3, max_iter=500, callback=None):
    """Solve one problem of features on a device; parameters and result as for `convex.solve_convex`."""
    point = best = _Point(problem, tol)
    history: dict[str, list] = {"primal": [], "dual": [], "gap": [], "svm_gap": []}
    smallest, fruitless, refused, found = np.inf, 0, 0, None
    for iteration in range(1, max_iter + 1):
        seen = point.look()
        for key, value in zip(history, (*seen, 0.0), strict=True):
            history[key].append(value)
        if callback is not None:
            callback(iteration, *seen)
        fruitless += 1
        if seen[2] < smallest:
            smallest, best, fruitless = seen[2], copy(point), 0
        if seen[2] <= tol and point.agrees():
            found = point.answer(tol if refused >= REFUSED else np.inf)  # a step is cheaper
            refused += 1
            if found.gap <= tol:
                break
        patience = FRUITLESS if seen[2] <= FAR else FRUITLESS_FAR
        if fruitless > patience or not point.step():
            break
    if found is None or found.gap > tol:
        other = best.answer(tol)
        found = other if found is None or other.gap < found.gap else found
    return replace(
        found,
        n_iter=iteration,
        converged=found.gap <= tol,
        history={key: np.array(values) for key, values in history.items()},
    )


class Smoothed:
    """A loss with a quadratic dual, less a square: ``y a - tube |a| - ridge a^2 / 2`` on a box."""

    def __init__(self, problem, width):
        tensor, loss = problem.stack.tensor, problem.loss
        self.y, self.C = tensor(problem.y), tensor(problem.C)
        self.lower, self.upper = map(tensor, problem.box())
        self.tube, self.ridge = loss.tube, tensor(loss.ridge(problem.C))
        self.smooth = not bool((self.ridge > 0.0).all())
        self.first = self.width = width if self.smooth else 0.0
        self.last, self.centre = LAST_WIDTH * self.width / FIRST_WIDTH, torch.zeros_like(self.y)

    def _bend(self):
        return 1.0 / (self.ridge + self.width / self.C)

    def _errors(self, scores):
        return self.y - scores + self.width / self.C * self.centre

    def _clipped(self, alpha):
        return torch.minimum(torch.maximum(alpha, self.lower), self.upper)

    def dual_variables(self, scores):
        """Return the alpha of the maximum."""
        errors = self._errors(scores)
        if self.tube:
            errors = errors.sign() * (errors.abs() - self.tube).clamp(min=0.0)
        return self._clipped(errors * self._bend())

    def inside(self, alpha):
        """Return who is in the band."""
        inside = (alpha > self.lower) & (alpha < self.upper)
        return inside & (alpha != 0.0) if self.tube else inside

    def bends(self, alpha, band=None):
        """Return the second derivatives of L; all rows have one where the band is empty."""
        bends = torch.where(self.inside(alpha) if band is None else band, self._bend(), 0.0)
        if bool(bends.any()):
            return bends
        return BARELY * self.C / self.first if self.smooth else self._bend()

    def beyond(self, scores, alpha, band):
        """Return alpha with those of a band of before, now their centre, as if they had no bounds."""
        free = (self._errors(scores) - self.tube * self.centre.sign()) * self._bend()
        return torch.where(band, free, alpha)

    def narrow(self, alpha):
        """Smooth less, around these dual variables."""
        self.width, self.centre = max(NARROWER * self.width, self.last), alpha

    def widen(self, alpha):
        """Smooth more, around these dual variables: errors of scores count less."""
        self.width, self.centre = min(self.width / NARROWER, WIDEST * self.first), alpha

    def retreat(self):
        """Smooth more, around the dual variables of before."""
        self.width = min(self.width / NARROWER**2, self.first)

    def value(self, scores, alpha=None):
        """Return the sum of L."""
        alpha = self.dual_variables(scores) if alpha is None else alpha
        square = 0.5 * self.width / self.C * (alpha - self.centre) ** 2
        return float(self.dual(alpha) - alpha @ scores - square.sum())

    def cost(self, scores):
        """Return the sum of the losses."""
        errors = self.y - scores
        far = torch.where(errors > self.tube, self.upper, torch.where(errors < -self.tube, self.lower, 0.0))
        if not self.smooth:
            far = self._clipped(errors.sign() * (errors.abs() - self.tube).clamp(min=0.0) / self.ridge)
        return float(self.dual(far) - far @ scores)

    def dual(self, alpha):
        """Return the sum of h."""
        return (alpha * (self.y - 0.5 * self.ridge * alpha) - self.tube * alpha.abs()).sum()


class Logistic:
    """The logistic loss, which is smooth."""

    smooth, width = False, 0.0

    def __init__(self, problem, width):
        tensor = problem.stack.tensor
        self.y, self.C = tensor(problem.y), tensor(problem.C)

    def dual_variables(self, scores):
        """Return minus the slopes."""
        return self.y * self.C * torch.sigmoid(-self.y * scores)

    def bends(self, alpha, band=None):
        """Return the second derivatives."""
        share = self.y * alpha / self.C
        return self.C * share * (1.0 - share)

    def value(self, scores, alpha=None):
        """Return the sum of the losses."""
        return float(self.C @ torch.nn.functional.softplus(-self.y * scores))

    cost = value

    def dual(self, alpha):
        """Return the sum of h: an entropy."""
        share = (self.y * alpha / self.C).clamp(0.0, 1.0)
        return (self.C * (torch.special.entr(share) + torch.special.entr(1.0 - share))).sum()


def smoothed(problem, width):
    """Return the problem's loss on the device, smoothed if it has kinks."""
    if isinstance(problem.loss, LogLoss):
        return Logistic(problem, width)
    if isinstance(problem.loss, QuadraticDual):
        return Smoothed(problem, width)
    raise TypeError(
        f"On a device `loss` must be one of localmkl's, got {problem.loss!r}; set device='cpu' for others."
    )


class _Point:
    """The state of the method: v, intercept, weights, scores and the smoothed loss."""

    def __init__(self, problem, tol):
        stack, y = problem.stack, problem.y
        self.problem, self.stack, self.tol = problem, stack, tol
        self.moving, self.p = not problem.frozen, float(problem.p)
        self.q = 2.0 * self.p / (self.p + 1.0) if self.moving else 2.0
        n_clusters, n_kernels = problem.weights_shape
        size = n_clusters * stack.n_features
        require_device_memory(5 * 8 * size**2, f"A system of {size} features", stack.device, ROOM)
        self.memberships = stack.tensor(problem.memberships)
        widths = torch.as_tensor(stack.widths, device=stack.device)
        numbers = torch.arange(n_clusters * n_kernels, device=stack.device)
        self.places = torch.repeat_interleave(numbers, widths.repeat(n_clusters))
        factors = np.ones(n_kernels) if stack.factors is None else stack.factors
        self.roots = stack.tensor(np.repeat(np.sqrt(factors), stack.widths))
        even = n_kernels ** (-1.0 / self.p) if self.moving else 1.0
        self.weights = stack.tensor(np.full((n_clusters, n_kernels), even))
        lower, upper = problem.box()
        labels = np.all((lower == 0.0) | (upper == 0.0))  # else targets, which have a place
        b = 0.0 if labels else problem.loss.best_intercept(np.zeros(len(y)), y, problem.C)
        scale = float(np.average(np.abs(y - b), weights=problem.C)) or 1.0
        self.loss = smoothed(problem, FIRST_WIDTH * scale)
        self.v, self.b = self.weights.new_zeros(size), stack.tensor(b)
        self.f = self.b.expand(len(y)).clone()
        self.band, self.late = None, 0

    def moments(self, values, rows=None):
        """Return Phi~' x of a vector, (l R,)."""
        stack, c = (
            (self.stack, self.memberships) if rows is None else (self.stack[rows], self.memberships[rows])
        )
        return (stack.moment(c * values[:, None]) * self.roots).reshape(-1)

    def scores(self, v):
        """Return Phi~ v, (n,)."""
        columns = v.reshape(len(self.weights), -1) * self.roots
        return (self.stack.projected(columns.T.contiguous()) * self.memberships).sum(1)

    def norms(self, values):
        """Return the squared norms of the blocks of a vector, (l, M)."""
        return self.stack.folded(values.reshape(len(self.weights), -1).square())

    def penalty(self, v):
        """Return half the squared norm of v."""
        powers = self.norms(v) ** (0.5 * self.q)
        return 0.5 * float((powers.sum(1) ** (2.0 / self.q)).sum())

    def look(self):
        """Return primal, dual and relative gap here, as they seem; the certificate is another's."""
        self.alpha = self.loss.dual_variables(self.f)
        self.own = self.moments(self.alpha)
        cost, dual = self.loss.cost(self.f), float(self.loss.dual(self.alpha))
        self.primal = self.penalty(self.v) + cost
        self.excess = max(0.0, cost + float(self.alpha @ self.f) - dual) / max(self.primal, 1e-300)
        norms = self.norms(self.own).cpu().numpy()
        penalty = sum(dual_norm(own, self.problem.p) for own in norms)
        self.dual = dual - float(self.b * self.alpha.sum()) - 0.5 * penalty
        return self.primal, self.dual, relative_gap(self.primal, self.dual)

    def agrees(self):
        """Return whether the gap is small at v = beta Phi~'alpha, too, from which the certificate starts."""
        beta = self.weights.reshape(-1)[self.places]
        cost = self.loss.cost(self.scores(beta * self.own) + self.b)
        primal = 0.5 * float((self.weights * self.norms(self.own)).sum()) + cost
        return relative_gap(primal, self.dual) <= self.tol

    def answer(self, tol=np.inf):
        """Return the certified `Solution`; in extended precision, if that decides about `tol`."""
        weights = self.weights.cpu().numpy()
        alpha = feasible(self.alpha.cpu().numpy(), *self.problem.box())
        return judge_on_device(self.problem, weights, alpha, tol)

    def step(self):
        """Take a step, and smooth less after a small one; return whether there is one."""
        alpha, own = self.alpha, self.own
        if self.band is not None:  # smoothing has changed: who was in the band before stays there
            alpha = self.loss.beyond(self.f, alpha, self.band)
            own = self.moments(alpha)
        try:
            weights, d_v, d_b = self._newton(alpha, own, self.loss.bends(alpha, self.band))
        except FloatingPointError:
            return False
        self.band = None
        d_f = self.scores(d_v) + d_b
        before = self.penalty(self.v)
        slope = self.penalty(self.v + d_v) - before - float(self.own @ d_v + self.alpha.sum() * d_b)
        if not np.isfinite(slope):
            return False
        length = self._length(d_v, d_f, slope, before + self.loss.value(self.f, self.alpha))
        self.v, self.b, self.f = self.v + length * d_v, self.b + length * d_b, self.f + length * d_f
        self.weights = self.weights + length * (weights - self.weights)
        if self.loss.smooth:
            self._smooth(-slope / max(self.primal, 1e-300), length)
        return True

    def _newton(self, alpha, own, bends):
        """Return weights, and the changes of v and intercept, that minimise penalty and parabola."""
        rows = torch.nonzero(bends > 1e-12 * bends.max())[:, 0]
        rows = None if len(rows) == len(bends) else rows.cpu().numpy()
        part, c = (
            (self.stack, self.memberships) if rows is None else (self.stack[rows], self.memberships[rows])
        )
        bends = bends if rows is None else bends[rows]
        roots = self.roots.repeat(len(self.weights))
        matrix = part.curvature(c, bends).reshape(len(roots), len(roots))
        matrix.mul_(roots[:, None]).mul_(roots)
        across, total, surplus = self.moments(bends, rows), bends.sum(), alpha.sum()
        matrix.addr_(across, across, alpha=-1.0 / float(total))  # the intercept goes its best way
        right = own - across * (surplus / total) + matrix @ self.v
        model = QuadraticModel(matrix, right, self.places, self.p)
        weights = self.weights
        if self.moving:
            self.late = self.late + 1 if self.excess <= SMOOTH_ENOUGH * self.tol else 0
            enough = ENOUGH * SHARPER**self.late * max(self.tol, self.excess)
            weights = model.best_weights(weights, max(enough, ROUNDING) * self.primal)
        d_v = model.solve(weights)[0] - self.v
        return weights, d_v, (surplus - across @ d_v) / total

    def _length(self, d_v, d_f, slope, value):
        """Return how far to go: whole steps, halved until enough of what they promise comes true."""
        length = 1.0
        for _ in range(CUTS):
            there = self.penalty(self.v + length * d_v) + self.loss.value(self.f + length * d_f)
            if there <= value + LEAST_GAIN * length * slope + 1e-13 * abs(value):
                break
            length *= 0.5
        return length

    def _smooth(self, gain, length):
        """Smooth less if a step gained little, and more if it was cut to nearly nothing."""
        if length < NEARLY_NOTHING:
            return self.loss.retreat()
        small = gain < (SMALL_WHOLE_STEP if length == 1.0 else SMALL_STEP) * max(self.excess, self.tol)
        alpha, enough = self.loss.dual_variables(self.f), self.excess <= SMOOTH_ENOUGH * self.tol
        if small and not enough:
            self.loss.narrow(alpha)
        elif small and gain < ROUNDING:  # v is there, alpha is not
            self.loss.widen(alpha)
        else:
            return
        self.band = self.loss.inside(alpha)
