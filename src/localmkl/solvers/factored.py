"""Convex localized MKL on factors: cost linear in the rows, nothing of size n x n.

    a_jm = Phi_m' (c_j * alpha),   q_jm = ||a_jm||^2,   f = sum_j c_j sum_m beta_jm Phi_m a_jm + b

Problem, dual and stopping rule are those of `convex`. The inner problem, for fixed weights, is solved by dual
coordinate ascent over the rows (`shards`) until few of them are not settled, and then on these alone by a
solver for dense kernels (`parts`). The constraint sum(alpha) = 0 has a multiplier, the intercept, and a
penalty rho sum(alpha)^2 / 2; what is left of the sum is taken from free variables before values are looked
at. Second-order steps move the weights, as in `steps`.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from localmkl.solvers.accuracy import Accuracy
from localmkl.solvers.factor import factorise
from localmkl.solvers.inner import feasible_start
from localmkl.solvers.losses import Boxed
from localmkl.solvers.model import minimise_linear_model, minimise_model
from localmkl.solvers.newton import InnerNewton
from localmkl.solvers.objective import closed_form_weights, dual_norm, relative_gap
from localmkl.solvers.parts import combined, part_loss
from localmkl.solvers.shards import Aim, gather_team
from localmkl.solvers.steps import (
    FIRST_DAMPING,
    FLATTENED,
    FRUITLESS,
    INVISIBLE,
    MAX_TRIALS,
    NEARLY_EVEN,
    STUCK,
)
from localmkl.solvers.svm import InnerSVM

LARGEST_PART = 2500
"""Rows that are not settled, up to which they are solved on their own: their kernel takes 50 MB."""
MOST_FREE = 2500
"""Free rows from which the curvature of the weights is taken; of more, a random share."""
MARGIN = 5.0
"""Rows at a bound count as settled if they want to stay there by this multiple of the mean violation."""
SWEEPS = 3, 30
"""Fewest and most sweeps between two looks at all rows; a look costs about one sweep over all rows."""
PART_SHARE = 0.3
"""Precision asked of a part, as a share of what is asked of the inner problem."""
SINGLE = 1e-5
"""Relative gap below which sweeps need float64."""
MOST_ROUNDS = 1000
"""Looks at all rows in one inner problem, to end."""
FIRST_REACH = 100.0
"""Sum of the costs, times the size of the kernel, from which on a cold start begins with smaller costs."""
ROUGH = 0.1
"""Relative gap at which costs are raised ..."""
MOST_CLIMBS = 10
"""... and the most looks before they are."""
MOST_IDLE = 30
"""Looks that may pass without the gap losing a tenth."""


def solve_factored(
    problem, start, *, solver="newton", tol=1e-3, max_iter=500, callback=None, team=None, descent=None
):
    """Solve one problem on factors; parameters and result as for `convex.solve_convex`.

    Parameters
    ----------
    team : Team, optional
        Where the rows are; by default, all in this process.
    descent : type, optional
        A subclass of `Descent` that suits the team.
    """
    if team is None:
        alpha = np.zeros(problem.n_samples) if start.alpha is None else start.alpha
        team = gather_team(problem, feasible_start(alpha, *problem.box()))
    weights, inner, step = start.weights, (descent or Descent)(problem, team), STEPS[solver](problem)
    history: dict[str, list] = {"primal": [], "dual": [], "gap": [], "svm_gap": []}
    accuracy = Accuracy.of(problem, start, tol)
    for iteration in range(1, max_iter + 1):
        solution = _settle(inner, weights, accuracy, tol)
        values = (inner.primal, inner.full_dual, inner.full_gap, relative_gap(inner.primal, inner.dual))
        for key, value in zip(history, values, strict=True):
            history[key].append(value)
        if callback is not None:
            callback(iteration, inner.primal, inner.full_dual, inner.full_gap)
        done = solution is not None and solution.gap <= tol
        if done or iteration == max_iter or step.stalled(history["gap"], tol, max_iter):
            break
        if not problem.frozen:
            weights = step.take(weights, inner, accuracy.target)
    if solution is None:
        solution = team.certify(problem, weights, tol)
    return replace(
        solution,
        n_iter=iteration,
        converged=solution.gap <= tol,
        history={key: np.array(values) for key, values in history.items()},
    )


def _settle(inner, weights, accuracy, tol):
    """Solve the inner problem until it is not what holds the gap up; return the certified answer, if any."""
    while True:
        inner.solve(weights, accuracy.target)
        gap, solution = inner.full_gap, None
        if gap <= tol:
            solution = inner.team.certify(inner.problem, weights, tol)
        certified = solution is not None and solution.gap <= tol
        inner_part = relative_gap(inner.primal, inner.dual)
        if certified or (gap > tol and inner_part <= 0.5 * gap) or accuracy.exhausted or inner.idle:
            accuracy.follow(gap)
            return solution
        accuracy.target *= 0.1


class Descent:
    """The inner problem on factors: dual coordinate ascent, then a dense solver for what is not settled.

    Parameters
    ----------
    problem : Problem
    team : Team
        The rows of the problem, with their dual variables.
    """

    def __init__(self, problem, team):
        self.problem, self.team = problem, team
        self.weights, self.precise, self.moved = np.empty(0), False, True
        self.multiplier = 0.0
        self.cold = True
        self.n_active = problem.n_samples
        self.idle = False
        self.looks = self.sweeps = self.parts = 0

    @property
    def gap(self):
        """Absolute duality gap of the inner problem."""
        return max(self.primal - self.dual, 0.0)

    @property
    def full_dual(self):
        """Value of the dual of the whole problem."""
        return self.terms - 0.5 * sum(dual_norm(own, self.problem.p) for own in self.norms)

    @property
    def full_gap(self):
        """Relative duality gap of the whole problem, to steer by."""
        return relative_gap(self.primal, self.full_dual)

    def solve(self, weights, target):
        """Improve the dual variables until the inner gap is at most `target` times the primal."""
        stack = self.problem.stack
        known = np.array_equal(weights, self.weights) and self.precise == (target < SINGLE)
        self.weights, self.precise = weights, target < SINGLE
        self.scaled = weights if stack.factors is None else weights * stack.factors
        self.rho = self.team.total("weigh", weights) / self.problem.n_samples
        if self.cold:
            self.cold = False
            self._climb()
        if not known or self.moved:
            self.look()
        best, waiting = self.gap, 0
        for _ in range(MOST_ROUNDS):
            if self.gap <= target * self.primal:
                break
            waiting = 0 if self.gap < 0.9 * best else waiting + 1
            best = min(best, self.gap)
            if waiting > MOST_IDLE:
                self.idle = True
                break
            if self.n_active <= LARGEST_PART and waiting < 3:
                self.solve_part(PART_SHARE * target * self.primal)
            else:
                self.sweep()
            self.look()
        return self

    def _climb(self):
        """Start with small costs, and raise them tenfold from rough answer to rough answer.

        At large costs many rows want to be free at first that end at a bound; small ones find these at once.
        """
        reach = self.rho * float(np.mean(self.problem.C)) * self.problem.n_samples
        for level in range(int(np.log10(max(reach / FIRST_REACH, 1.0))), 0, -1):
            self.team.ask("charge", 10.0**-level, 1.0)
            self.look()
            for _ in range(MOST_CLIMBS):
                self.sweep()
                self.look()
                if self.gap <= ROUGH * self.primal:
                    break
            self.team.ask("charge", 10.0 ** (1 - level), 10.0)
            self.moved = True

    def sweep(self):
        """Visit the rows that are not settled a few times: about as much work as three sweeps over all."""
        stack = self.problem.stack
        images, total = stack.spread(self.scaled) * self.sums, self.total
        for _ in range(int(np.clip(SWEEPS[0] * self.problem.n_samples / max(self.n_active, 1), *SWEEPS))):
            aim = Aim(
                self.scaled, images, self.multiplier, self.rho, total, float(len(self.team)), self.precise
            )
            for change, own in self.team.ask("sweep", aim):
                images, total = images + change, total + own
            self.multiplier += self.rho * total
            self.sweeps += 1

    def solve_part(self, target):
        """Solve the rows that are not settled on their own, until their gap is at most `target`."""
        answers = self.team.ask("active_part", self.precise)
        features, memberships, y, C, alpha, scores = (
            np.concatenate(own) for own in zip(*answers, strict=True)
        )
        kernel = np.zeros((len(y) + 1, len(y) + 1))
        kernel[:-1, :-1] = combined(features, memberships, self.problem.stack.spread(self.scaled))
        offset, rest = scores - kernel[:-1, :-1] @ alpha, -float(alpha.sum())
        loss = part_loss(self.problem.loss, y, offset, C, rest)
        kind = InnerSVM if isinstance(loss, Boxed) else InnerNewton
        inner = kind(
            np.append(y - offset, 0.0),
            np.append(C, 1.0),
            loss,
            np.append(alpha, rest),
            backend=self.problem.stack.backend,
        )
        inner.evaluate(kernel @ inner.alpha)
        inner.solve(kernel, target / max(abs(inner.primal), np.finfo(float).tiny))
        self.team.hand_out("set_active", inner.alpha[:-1], [len(own[2]) for own in answers])
        self.multiplier = inner.intercept
        self.parts += 1

    def look(self):
        """Bring sums, scores and values up to date, and find the rows that are not settled."""
        self._balance()
        stack, team = self.problem.stack, self.team
        answers = team.ask("moments", self.precise)
        self.sums, self.total = sum(own for own, _ in answers), sum(own for _, own in answers)
        norms = stack.fold(np.square(self.sums))
        self.norms = norms if stack.factors is None else norms * stack.factors
        self.terms = team.total("respond", stack.spread(self.scaled) * self.sums, self.precise)
        regulariser = 0.5 * float(np.sum(self.weights * self.norms))
        self.intercept = team.best_intercept()
        self.primal = regulariser + team.total("cost", self.intercept)
        self.dual = self.terms - regulariser
        margin = MARGIN * team.total("violation", self.intercept) / self.problem.n_samples
        self.n_active = team.total("shrink", self.intercept, margin)
        self.looks, self.moved = self.looks + 1, False

    def _balance(self):
        """Take what is left of the sum of the dual variables from free ones, or from all of a sign."""
        for _ in range(3):
            sides = self.team.total("sides")
            total = sides[1, 1] - sides[1, 0]
            if total == 0.0:
                return
            side, free = int(total > 0.0), 0
            if sides[0, side] <= 2.0 * abs(total):
                free = 1
            self.team.ask("lessen", np.sign(total), abs(total) / sides[free, side], free == 0)

    def curvature(self):
        """Return R, (n_free, l M), with the Hessian R'R of J from the free rows; None without any."""
        stack, n_free = self.problem.stack, self.team.total("n_free")
        share = min(1.0, MOST_FREE / max(n_free, 1))
        answers = self.team.ask("free_part", share)
        features, memberships, softness = (np.concatenate(own) for own in zip(*answers, strict=True))
        if len(features) < 2:
            return None
        kernel = combined(features, memberships, stack.spread(self.scaled))
        kernel.flat[:: len(kernel) + 1] += share * softness
        factor = factorise(lambda: np.asfortranarray(kernel))
        images = _images(stack, features, memberships, self.sums)
        halves = factor.half_solve(np.column_stack([images, np.ones(len(features))]))
        images, ones = halves[:, :-1], halves[:, -1]
        # Project away the direction of the intercept: the dual variables keep their sum.
        return images - np.outer(ones, ones @ images) / (ones @ ones)


def _images(stack, features, memberships, sums):
    """Return ``c_j * K_m u_j`` of some rows, (n_rows, l M)."""
    edges = np.concatenate([[0], np.cumsum(stack.widths)])
    images = np.empty((len(features), len(sums), stack.n_kernels))
    for m, (first, last) in enumerate(pairwise(edges)):
        images[:, :, m] = features[:, first:last] @ sums[:, first:last].T
    images *= memberships[:, :, None]
    if stack.factors is not None:
        images *= stack.factors
    return images.reshape(len(features), -1)


class ClosedFormStep:
    """The paper's update of the weights for fixed w."""

    def __init__(self, problem):
        self.problem = problem

    def take(self, weights, inner, target):
        """Return the next weights."""
        return closed_form_weights(weights, inner.norms, self.problem.p)

    def stalled(self, gaps, tol, max_iter):
        """Whether the last steps brought no smaller gap."""
        return len(gaps) > FRUITLESS and min(gaps[-FRUITLESS:]) >= min(gaps[:-FRUITLESS])


class NewtonStep(ClosedFormStep):
    """Minimise the quadratic model of J, then search the line to its minimiser; see `steps.NewtonStep`."""

    def __init__(self, problem):
        super().__init__(problem)
        self.damping, self.last_gap = 0.0, np.inf

    def take(self, weights, inner, target):
        """Return the next weights; leave the inner solver near there."""
        stuck, self.last_gap = inner.full_gap > STUCK * self.last_gap, inner.full_gap
        goal = self._goal(weights, inner, linear=stuck)
        slope = -0.5 * float(np.sum(inner.norms * (goal - weights)))
        if not slope < -INVISIBLE * inner.primal or self.problem.p >= NEARLY_EVEN:
            return goal
        length = self._search(weights, goal, inner, slope, target)
        self.damping = 0.25 * self.damping if length == 1.0 else max(4.0 * self.damping, FIRST_DAMPING)
        return weights + length * (goal - weights)

    def _goal(self, weights, inner, linear):
        p, norms = self.problem.p, inner.norms
        root = None if linear or p >= NEARLY_EVEN else inner.curvature()
        alive = norms.max(axis=1) > 0.0
        if root is None or not alive.any():
            return minimise_linear_model(norms, weights, p)
        keep = np.repeat(alive, weights.shape[1])
        goal = weights.copy()
        goal[alive] = minimise_model(-0.5 * norms[alive], root[:, keep], weights[alive], p, self.damping)
        return goal

    def _search(self, weights, goal, inner, slope, target):
        """Return how far to go: J has fallen there, and its slope -1/2 q'(goal - weights) is nearly flat."""
        before, length, low, high = inner.primal, 1.0, (0.0, slope), None
        for _ in range(MAX_TRIALS):
            inner.solve(weights + length * (goal - weights), target)
            here = -0.5 * float(np.sum(inner.norms * (goal - weights)))
            flat, risen = abs(here) <= FLATTENED * abs(slope), inner.dual > before
            if not risen and (flat or (here < 0.0 and high is None)):
                break
            if here > 0.0 or risen:
                high = length, max(here, 0.0)
            else:
                low = length, here
            top = high or (1.0, 0.0)
            share = low[1] / (low[1] - top[1]) if top[1] > low[1] else 0.5
            length = low[0] + float(np.clip(share, 0.1, 0.9)) * (top[0] - low[0])
        return length


STEPS = {"newton": NewtonStep, "alternating": ClosedFormStep}
