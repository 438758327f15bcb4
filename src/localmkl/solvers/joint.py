"""A joint interior point for dual variables, intercept and weights: the solver for Grams on a device.

    min_beta max_alpha  sum_i h_i(alpha_i) - 1/2 alpha'K~(beta)alpha
    lower <= alpha <= upper,  sum(alpha) = 0,  beta >= 0,  sum_m beta_jm^p <= 1

h is the concave dual of the loss: y alpha - ridge alpha^2 / 2 on a box, or an entropy. Walls have
multipliers, z for the box, s for the weights, lambda for the balls, whose slack is w. Newton's step on the
perturbed conditions eliminates alpha, with Theta = z_l / (alpha - lower) + z_u / (upper - alpha) - h'':

    (G + B'TB) dbeta + B'T1 db = -g + B'T rho          T = (K~ + Theta)^-1,  B = [c_j * K_m u_j]
    1'TB dbeta + 1'T1 db       = 1'T rho + sum(alpha)
    dalpha                     = T (rho - B dbeta - db)

One factor serves Mehrotra's predictor and corrector. A tube (epsilon-insensitive loss) makes two variables of
one, alpha = a_1 + a_2, one on each side of zero. All vectors stay on the device; what decides, the
certificate, does not: it is `certify`'s.
"""

from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch

from localmkl.solvers.certify import judge_on_device
from localmkl.solvers.inner import feasible
from localmkl.solvers.losses import LogLoss, QuadraticDual
from localmkl.solvers.objective import dual_norm, relative_gap
from localmkl.solvers.quadratic import factor

TO_THE_WALL = 0.995
"""Share of the way to the nearest wall."""
FIRST_SCORE = 30.0
"""Size of the scores that the first dual variables have, at most."""
FIRST_PRODUCT = 0.01
"""Products of distances and multipliers at the start, as a share of the cost."""
FIRST_WEIGHT = 0.9
"""The sum of the even weights' powers at the start: inside their balls."""
FAR = 0.5
"""Gap above which it says nothing: primal and dual values have nothing to do with each other yet."""
FRUITLESS = 12
"""Steps without a smaller gap after which rounding is what holds it up ..."""
PATIENCE = 2
"""... and after which an answer that is good enough is not made better."""
CORRECTORS = 2
"""More corrections of a step, at most, of products that are far from their mean ..."""
FARTHER = 0.3
"""... by how much longer each tries to make it ..."""
LEAST_GAIN = 0.2
"""... which share of that must come true ..."""
LONG = 0.9
"""... and the length from which on there is none."""
AT_A_BOUND = 0.1
"""Distance to a bound, as a share of the box's width, for each unit of its multiplier, below which a dual
variable belongs there."""
TIGHT = 1e-6
"""Gaps asked for up to which decisions are meant to be precise, too ..."""
FAR_INSIDE = 0.01
"""... and the share of them that is aimed at: on their way from the inside, decisions come last."""
SMALLEST = 0.003
"""Share of the gap asked for that the products of distances and multipliers need not go below."""
ZERO = 1e-9
"""Weights below this share of their cluster's largest are set to zero at p = 1."""


def solve_joint(problem, *, tol=1e-3, max_iter=500, callback=None):
    """Solve one problem of Grams on a device; parameters and result as for `convex.solve_convex`."""
    point = best = _Point(problem)
    history: dict[str, list] = {"primal": [], "dual": [], "gap": [], "svm_gap": []}
    smallest, found, fruitless = np.inf, None, 0
    goal = tol if tol > TIGHT else FAR_INSIDE * tol
    for iteration in range(1, max_iter + 1):
        seen = point.look()
        for key, value in zip(history, (*seen, 0.0), strict=True):
            history[key].append(value)
        if callback is not None:
            callback(iteration, *seen)
        if seen[2] < smallest:
            smallest, best = seen[2], copy(point)
        fruitless = 0 if seen[2] == smallest or seen[2] > FAR else fruitless + 1
        if seen[2] <= goal or (seen[2] <= tol and found is None):
            weights, alpha = point.answer(goal)
            answer = judge_on_device(problem, weights, alpha)  # a step is cheaper than extended precision
            found = answer if found is None or answer.gap < found.gap else found
            if seen[2] <= goal and found.gap <= tol:
                break
        patience = PATIENCE if smallest <= tol else FRUITLESS
        if fruitless > patience or not point.step(SMALLEST * tol * seen[0]):
            break
    if found is None or found.gap > tol:
        weights, alpha = best.answer(0.0)
        answer = judge_on_device(problem, weights, alpha, tol)
        found = answer if found is None or answer.gap < found.gap else found
    return replace(
        found,
        n_iter=iteration,
        converged=found.gap <= tol,
        history={key: np.array(values) for key, values in history.items()},
    )


def dual_of(problem):
    """Return the dual terms of the problem's loss, on the device."""
    if isinstance(problem.loss, LogLoss):
        return Entropy(problem)
    if isinstance(problem.loss, QuadraticDual):
        return Quadratic(problem)
    raise TypeError(
        f"On a device `loss` must be one of localmkl's, got {problem.loss!r}; set device='cpu' for others."
    )


class Quadratic:
    """Dual terms ``gain a - ridge a^2 / 2`` on a box, of one variable a sample, or of two with a tube."""

    def __init__(self, problem):
        tensor, loss, y, C = problem.stack.tensor, problem.loss, problem.y, problem.C
        lower, upper = problem.box()
        sides = [(lower, upper, y)]
        if loss.tube > 0.0:
            sides = [
                (np.zeros_like(upper), upper, y - loss.tube),
                (lower, np.zeros_like(lower), y + loss.tube),
            ]
        self.lower, self.upper, self.gain = (tensor(np.stack(own)) for own in zip(*sides, strict=True))
        self.ridge = tensor(loss.ridge(C))

    def slope(self, a):
        """Return h'."""
        return self.gain - self.ridge * a

    def bend(self, a):
        """Return -h''."""
        return self.ridge.expand_as(a)

    def value(self, a):
        """Return the sum of h."""
        return (a * (self.gain - 0.5 * self.ridge * a)).sum()

    def wanted(self, away, otherwise):
        """Return the dual variables of errors that no score makes up for, where a curve says them."""
        return torch.where(self.ridge > 0.0, away / self.ridge, otherwise)

    def cost(self, outputs):
        """Return the sum of the losses: the largest of h(a) - a f, for each sample."""
        pull = self.gain - outputs
        best = torch.where(self.ridge > 0.0, pull / self.ridge, torch.inf * pull.sign())
        best = torch.minimum(torch.maximum(best.nan_to_num(0.0), self.lower), self.upper)
        return (best * (pull - 0.5 * self.ridge * best)).sum()


class Entropy:
    """Dual terms of the logistic loss: an entropy."""

    def __init__(self, problem):
        tensor = problem.stack.tensor
        self.lower, self.upper = (tensor(own)[None] for own in problem.box())
        self.y, self.C = tensor(problem.y), tensor(problem.C)

    def slope(self, a):
        """Return h'."""
        t = self.y * a / self.C
        return self.y * (torch.log1p(-t) - torch.log(t))

    def bend(self, a):
        """Return -h''."""
        t = self.y * a / self.C
        return 1.0 / (self.C * t * (1.0 - t))

    def value(self, a):
        """Return the sum of h."""
        t = self.y * a / self.C
        return (self.C * (torch.special.entr(t) + torch.special.entr(1.0 - t))).sum()

    def wanted(self, away, otherwise):
        """Return dual variables to begin with."""
        return otherwise

    def cost(self, outputs):
        """Return the sum of the losses."""
        return self.C @ torch.nn.functional.softplus(-self.y * outputs)


@dataclass
class _Change:
    """A step of all variables."""

    a: Any
    b: Any
    beta: Any
    low: Any
    high: Any
    s: Any
    w: Any
    multiplier: Any


class _Goals(NamedTuple):
    """Products of distances and multipliers that a step leads to: of the box, the weights and the balls."""

    low: Any
    high: Any
    s: Any
    w: Any


class _Point:
    """The state of the method: all variables and multipliers, as tensors."""

    def __init__(self, problem):
        stack = problem.stack
        self.problem, self.system, self.dual = problem, System(stack, problem.memberships), dual_of(problem)
        self.moving, self.p = not problem.frozen, float(problem.p)
        n_clusters, n_kernels = problem.weights_shape
        size = (FIRST_WEIGHT / n_kernels) ** (1.0 / self.p) if self.moving else 1.0
        self.beta = stack.tensor(np.full((n_clusters, n_kernels), size))
        self.C = stack.tensor(problem.C)
        lower, upper = problem.box()
        labels = np.all((lower == 0.0) | (upper == 0.0))  # else targets, which have a place
        b = 0.0 if labels else problem.loss.best_intercept(np.zeros(problem.n_samples), problem.y, problem.C)
        self.b = stack.tensor(b)
        self.scale = float(np.average(np.abs(problem.y - b), weights=problem.C)) or 1.0
        self.lower, self.upper = map(stack.tensor, (lower, upper))
        self._bound()
        self._start()

    def _bound(self):
        """Note which walls there are."""
        self.has_low, self.has_high = self.dual.lower.isfinite(), self.dual.upper.isfinite()
        self.count = int(self.has_low.sum()) + int(self.has_high.sum())
        self.count += self.beta.numel() + len(self.beta) if self.moving else 0

    def _start(self):
        """Set dual variables so small that scores are of the size of targets, and multipliers that suit."""
        dual = self.dual
        away = self.problem.stack.tensor(self.problem.y) - self.b
        wanted = dual.wanted(away, self.C * away / self.scale)
        reach = torch.maximum(self.C, wanted.abs())
        low, high = torch.maximum(dual.lower, -reach), torch.minimum(dual.upper, reach)
        toward = 0.9 * torch.minimum(torch.maximum(wanted, low), high) + 0.1 * (low + high)
        self.system.look(toward.sum(0))
        size = float(self.system.outputs(self.beta[None])[0].abs().max())
        share = min(1.0, 2.0 * FIRST_SCORE * self.scale / max(size, 1e-300))
        self.a = 0.5 * share * toward
        self.norms = self.system.look(self.alpha)
        self.f = self.system.outputs(self.beta[None])[0]
        self.reach()
        residual = (dual.slope(self.a) - self.b).clamp(-self.scale, self.scale)  # as if scores were zero
        first = FIRST_PRODUCT * self.C * self.scale
        self.low = torch.where(self.has_low, first / self.to_low + (-residual).clamp(min=0.0), 0.0)
        self.high = torch.where(self.has_high, first / self.to_high + residual.clamp(min=0.0), 0.0)
        self.w = 1.0 - (self.beta**self.p).sum(1) if self.moving else self.beta.new_zeros(0)
        self.multiplier = (0.5 * self.norms.max(1).values).clamp(min=1e-12) if self.moving else self.w
        self.s = (0.5 * self.multiplier[:, None]).expand_as(self.beta).clone() if self.moving else self.beta

    @property
    def alpha(self):
        """The dual variables."""
        return self.a.sum(0)

    def reach(self):
        """Set the distances to the walls; one where there are none."""
        self.to_low = torch.where(self.has_low, self.a - self.dual.lower, 1.0)
        self.to_high = torch.where(self.has_high, self.dual.upper - self.a, 1.0)

    def sphere(self):
        """Return the weights on their spheres, where the objective is never larger."""
        if not self.moving:
            return self.beta
        beta = self.beta
        if self.p == 1.0:
            beta = torch.where(beta < ZERO * beta.max(1, keepdim=True).values, 0.0, beta)
        return beta / (beta**self.p).sum(1, keepdim=True) ** (1.0 / self.p)

    def look(self):
        """Return primal, dual and relative gap here, as they seem; the certificate is another's."""
        beta = self.sphere()
        outputs = self.system.outputs(torch.stack([self.beta, beta]) if self.moving else beta[None])
        self.f = outputs[0]
        return self._values(self.a, beta, self.norms, outputs[-1])

    def _values(self, a, beta, norms, scores):
        primal = float(0.5 * (beta * norms).sum() + self.dual.cost(scores + self.b))
        penalty = sum(dual_norm(own, self.problem.p) for own in norms.clamp(min=0.0).cpu().numpy())
        dual = float(self.dual.value(a) - self.b * a.sum()) - 0.5 * penalty
        return primal, dual, relative_gap(primal, dual)

    def answer(self, tol):
        """Return weights and dual variables; those near a bound are on it, where the gap allows that."""
        beta = self.sphere()
        moved = self._on_bounds()
        if moved is not None:
            parts = torch.minimum(torch.maximum(moved, self.dual.lower), self.dual.upper)
            norms = self.system.look(moved)
            seen = self._values(parts, beta, norms, self.system.outputs(beta[None])[0])
            self.system.look(self.alpha)
            moved = moved if seen[2] <= tol else None
        alpha = (self.alpha if moved is None else moved).cpu().numpy()
        return beta.cpu().numpy(), feasible(alpha, *self.problem.box())

    def _on_bounds(self):
        """Return the dual variables with those near a bound on it; None if there are none."""
        width = AT_A_BOUND * self.C / self.scale
        at_low = self.has_low & (self.to_low < width * self.low)
        at_high = self.has_high & (self.to_high < width * self.high)
        free = ~(at_low | at_high).all(0)
        if self.system.factor is None or bool(free.all()):
            return None
        moved = torch.where(at_low, self.dual.lower, torch.where(at_high, self.dual.upper, self.a)).sum(0)
        # What is free makes up for the others, so that scores on a kink stay there.
        along = -self.system.kernel(self.beta, moved - self.alpha)
        shift = (self.system.sums(along)[1] + moved.sum()) / self.corner
        moved = moved + free * self.system.change(along, self.beta.new_zeros(self.beta.numel()), shift)
        return torch.minimum(torch.maximum(moved, self.lower), self.upper)

    def step(self, least):
        """Take a step of predictor and corrector; return whether there is one.

        `least` is the sum of all products below which they need not go: rounding would grow with less.
        """
        theta = self.low / self.to_low + self.high / self.to_high + self.dual.bend(self.a)
        whole = 1.0 / (1.0 / theta).sum(0)
        try:
            system = self.system.factorise(self.beta, whole)
        except FloatingPointError:
            return False
        self.theta, self.whole, self.corner = theta, whole, system[2]
        try:
            change, length = self.directed(system, least)
        except FloatingPointError:
            return False
        length = min(1.0, TO_THE_WALL * length)
        finite = bool(change.a.isfinite().all() & change.beta.isfinite().all() & change.b.isfinite())
        if not finite or not length > 1e-12:
            return False
        self.a = self.a + length * change.a
        self.b = self.b + length * change.b
        self.low, self.high = self.low + length * change.low, self.high + length * change.high
        if self.moving:
            self.beta = self.beta + length * change.beta
            self.s, self.w = self.s + length * change.s, self.w + length * change.w
            self.multiplier = self.multiplier + length * change.multiplier
        self.reach()
        self.norms = self.system.look(self.alpha)
        return True

    def directed(self, system, least):
        """Return a step of predictor and correctors, and how far it may go."""
        average = self.average()
        first = self.newton(system, _Goals(0.0, 0.0, 0.0, 0.0))
        there = self.average(first, self.length(first))
        target = max((there / average) ** 3 * average, least / self.count) if self.count else 0.0
        goals = self.corrected(first, target)
        change = self.newton(system, goals)
        length = self.length(change)
        for _ in range(CORRECTORS):
            if length > LONG:
                break
            more = self.centred(change, goals, min(1.0, length + FARTHER), target)
            other = self.newton(system, more)
            reached = self.length(other)
            if reached < length + LEAST_GAIN * FARTHER:
                break
            goals, change, length = more, other, reached
        return change, length

    def corrected(self, first, target):
        """Return products of size `target`, less what a first step leaves of them."""
        if not self.moving:
            return _Goals(target - first.a * first.low, target + first.a * first.high, 0.0, 0.0)
        return _Goals(
            target - first.a * first.low,
            target + first.a * first.high,
            target - first.beta * first.s,
            target - first.w * first.multiplier,
        )

    def centred(self, change, goals, length, target):
        """Return goals at which products that a step would leave far from `target` are brought nearer."""

        def nearer(goal, distance, d_distance, multiplier, d_multiplier):
            product = (distance + length * d_distance) * (multiplier + length * d_multiplier)
            return goal + (product.clamp(0.1 * target, 10.0 * target) - product).clamp(min=-10.0 * target)

        low = nearer(goals.low, self.to_low, change.a, self.low, change.low)
        high = nearer(goals.high, self.to_high, -change.a, self.high, change.high)
        if not self.moving:
            return _Goals(low, high, 0.0, 0.0)
        s = nearer(goals.s, self.beta, change.beta, self.s, change.s)
        w = nearer(goals.w, self.w, change.w, self.multiplier, change.multiplier)
        return _Goals(low, high, s, w)

    def average(self, change=None, length=0.0):
        """Return the mean product of distances and multipliers, here or at the end of a step."""
        pairs = [(self.to_low, self.low, self.has_low), (self.to_high, self.high, self.has_high)]
        total = 0.0
        for (distance, multiplier, has), (d_distance, d_multiplier) in zip(
            pairs, [(1.0, "low"), (-1.0, "high")], strict=True
        ):
            if change is not None:
                distance = distance + length * d_distance * change.a
                multiplier = multiplier + length * getattr(change, d_multiplier)
            total += float((distance * multiplier * has).sum())
        if self.moving:
            own = (self.beta, self.s), (self.w, self.multiplier)
            if change is not None:
                own = (
                    (self.beta + length * change.beta, self.s + length * change.s),
                    (self.w + length * change.w, self.multiplier + length * change.multiplier),
                )
            total += sum(float((one * other).sum()) for one, other in own)
        return total / max(self.count, 1)

    def newton(self, system, goals):
        """Return the step to products of some sizes."""
        low_pull = torch.where(self.has_low, goals.low / self.to_low, 0.0)
        high_pull = torch.where(self.has_high, goals.high / self.to_high, 0.0)
        each = self.dual.slope(self.a) - self.f - self.b + low_pull - high_pull
        rho = self.whole * (each / self.theta).sum(0)
        along, total = self.system.sums(rho)
        d_beta, d_b = self.small(system, along, total, goals)
        d_alpha = self.system.change(rho, d_beta.reshape(-1), d_b)
        outputs = rho - self.whole * d_alpha
        d_a = (each - outputs) / self.theta
        d_low = torch.where(self.has_low, low_pull - self.low - self.low / self.to_low * d_a, 0.0)
        d_high = torch.where(self.has_high, high_pull - self.high + self.high / self.to_high * d_a, 0.0)
        if not self.moving:
            return _Change(d_a, d_b, d_beta, d_low, d_high, self.w, self.w, self.w)
        d_s = goals.s / self.beta - self.s - self.s / self.beta * d_beta
        d_w = 1.0 - (self.beta**self.p).sum(1) - self.w - (self.normal() * d_beta).sum(1)
        d_multiplier = (goals.w - self.multiplier * self.w - self.multiplier * d_w) / self.w
        return _Change(d_a, d_b, d_beta, d_low, d_high, d_s, d_w, d_multiplier)

    def normal(self):
        """Return the gradient of ``sum_m beta_jm^p``."""
        return self.p * self.beta ** (self.p - 1.0)

    def small(self, system, along, total, goals):
        """Return the changes of weights and intercept: a system of their number."""
        inner, across, corner = system
        surplus = self.a.sum()
        if not self.moving:
            return self.beta.new_zeros(self.beta.shape), (total + surplus) / corner
        p, beta, normal = self.p, self.beta, self.normal()
        excess = 1.0 - (beta**p).sum(1) - self.w
        diagonal = self.s / beta
        if p != 1.0:
            diagonal = diagonal + self.multiplier[:, None] * p * (p - 1.0) * beta ** (p - 2.0)
        pull = (goals.w - self.multiplier * excess) / self.w
        gradient = -0.5 * self.norms - goals.s / beta + normal * pull[:, None]
        size = beta.numel()
        matrix = beta.new_zeros((size + 1, size + 1))
        matrix[:size, :size] = inner + torch.diag(diagonal.reshape(-1))
        width = beta.shape[1]
        for j, own in enumerate(normal):
            block = slice(j * width, (j + 1) * width)
            matrix[block, block] += torch.outer(own, own) * (self.multiplier[j] / self.w[j])
        matrix[:size, size] = matrix[size, :size] = across
        matrix[size, size] = corner
        right = torch.cat([along - gradient.reshape(-1), (total + surplus)[None]])
        scale = matrix.diagonal().abs().clamp(min=1e-300).rsqrt()
        solved, failed = torch.linalg.solve_ex(scale[:, None] * matrix * scale, scale * right)
        if int(failed):
            raise FloatingPointError("The system of the weights is singular.")
        solved = scale * solved
        return solved[:size].reshape(beta.shape), solved[size]

    def length(self, change):
        """Return how far a step may go, at most to one, until the first wall."""
        rooms = [
            _room(self.to_low, torch.where(self.has_low, change.a, 0.0)),
            _room(self.to_high, torch.where(self.has_high, -change.a, 0.0)),
            _room(self.low, change.low),
            _room(self.high, change.high),
        ]
        if self.moving:
            pairs = ("beta", "s", "w", "multiplier")
            rooms += [_room(getattr(self, name), getattr(change, name)) for name in pairs]
        return min(1.0, *map(float, rooms))


def _room(value, change):
    """Return the length at which the first value would be zero."""
    return torch.where(change < 0.0, -value / change, torch.inf).min()


class System:
    """The linear systems of one problem: one factor of n x n a step.

    It is asked in turn: `look` at dual variables, `factorise` at weights and Theta, then for each right side
    rho `sums` (B'T rho, 1'T rho), and the `change` T (rho - B dbeta - db) that it leads to.

    Parameters
    ----------
    stack : DeviceGramStack
    memberships : ndarray of shape (n, l)
    """

    factor: Any = None

    def __init__(self, stack, memberships):
        self.stack, self.memberships = stack, stack.tensor(memberships)
        self.shape = memberships.shape[1], stack.n_kernels

    def look(self, alpha):
        """Take in dual variables; return their norms q, (l, M)."""
        images = self.stack.product(self.memberships * alpha[:, None])
        images *= self.memberships.T[:, None, :]
        self.images = images.reshape(-1, len(alpha))
        return (self.images @ alpha).reshape(self.shape)

    def outputs(self, weights):
        """Return the scores of several weights (k, l, M) at these dual variables, (k, n)."""
        return weights.reshape(len(weights), -1) @ self.images

    def kernel(self, weights, vector):
        """Return K~ x."""
        products = self.stack.product(self.memberships * vector[:, None])
        return torch.einsum("jm,jmi,ij->i", weights, products, self.memberships)

    def factorise(self, weights, theta):
        """Take in weights and the diagonal Theta; return B'TB, B'T1 and 1'T1."""
        self.factor = None  # its memory is needed again
        self.factor = factor(lambda: self._matrix(weights, theta))
        right = torch.cat([self.images, theta.new_ones((1, len(theta)))]).T
        solved = torch.cholesky_solve(right, self.factor)
        self.solved, self.ones = solved[:, :-1], solved[:, -1]
        return self.images @ self.solved, self.images @ self.ones, self.ones.sum()

    def _matrix(self, weights, theta):
        matrix = self.stack.combined(weights, self.memberships)
        matrix.diagonal().add_(theta)
        return matrix

    def sums(self, rho):
        """Return B'T rho and 1'T rho."""
        self.along = torch.cholesky_solve(rho[:, None], self.factor)[:, 0]
        return self.images @ self.along, self.along.sum()

    def change(self, rho, d_weights, shift):
        """Return T (rho - B d_weights - shift); rho is the one that `sums` had last."""
        return self.along - self.solved @ d_weights - shift * self.ones
