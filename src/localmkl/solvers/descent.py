"""The inner problem on factors: cost linear in the rows, nothing of size n x n.

    max_alpha  - sum_i C_i loss*(-alpha_i / C_i, y_i) - 1/2 sum_jm beta_jm ||a_jm||^2,   sum(alpha) = 0

Dual coordinate ascent over the rows (`ActiveRows.sweep`) does most of it. The constraint has a multiplier,
the intercept, and a penalty rho sum(alpha)^2 / 2; what is left of the sum is taken from free variables before
values are looked at. Rows that are settled at a bound are left out until the next look at all rows. Where
sweeps crawl, few rows that are left are solved on their own (`parts`), and many by Newton's steps (`primal`).

Losses that consist of lines are blurred (`blurred`), less and less as the gap shrinks.
"""

from itertools import pairwise

import numpy as np

from localmkl.solvers.active_rows import Aim
from localmkl.solvers.blurred import Blurred
from localmkl.solvers.factor import factorise
from localmkl.solvers.losses import Boxed, PiecewiseLinear, balance_slopes
from localmkl.solvers.newton import InnerNewton
from localmkl.solvers.objective import dual_norm, relative_gap
from localmkl.solvers.parts import combined, part_loss
from localmkl.solvers.primal import SAMPLED, newton_step
from localmkl.solvers.svm import InnerSVM

LARGEST_PART = 2500
"""Rows that are not settled, up to which they may be solved on their own: their kernel takes 50 MB."""
SMALL_PART = 500
"""Rows up to which this is quicker than Newton's steps."""
MOST_FREE = 1000
"""Free rows from which curvatures are taken; of more, a random share."""
MARGIN = 5.0
"""Rows at a bound count as settled if they want to stay there by this multiple of the mean violation."""
SWEEPS = 3, 100
"""Fewest and most sweeps between two looks at all rows; a look costs about one sweep over all rows."""
FADED, HOPELESS = 0.03, 300
"""Share of the first sweep's gain that is little; sweeps that may be missing while they gain no more."""
PART_SHARE = 0.3
"""Precision asked of a part, as a share of what is asked of the inner problem."""
CRAWL, FIRST_SPEED = 1.0, 2.0
"""Fall of the gap's logarithm that is slow for anything; what sweeps are taken for at first."""
SINGLE = 1e-5
"""Relative gap below which sweeps need float64."""
MOST_ROUNDS = 1000
"""Looks at all rows in one inner problem, to end."""
MOST_GLANCES = 10
"""Looks at rows that are not settled between two looks at all rows."""
MOST_IDLE = 12
"""Looks that may pass without the gap losing a tenth."""
FIRST_REACH = 100.0
"""Sum of the costs, times the size of the kernel, from which on a cold start begins with smaller costs."""
ROUGH = 0.1
"""Relative gap at which costs are raised ..."""
MOST_CLIMBS = 10
"""... and the most looks before they are."""
FIRST_WIDTH = 0.1
"""Width of the first blur, as a share of the mean loss."""
MOST_BLURRED = 0.1
"""Least share of a blur's width that is kept when it is sharpened: the answer changes with it."""
INTERCEPT_DIGITS = 1e-10
"""Precision of the intercept, as a share of the size of the labels: values change with its square."""
USUAL_STEPS, USUAL_PRODUCTS = 6, 20
"""Newton's steps, and products in each, that are usual."""
SHORT, MOST_SHORT = 0.3, 3
"""Length of a step that is a failure, and the most of them."""
MOST_STEPS = 20
"""Newton's steps between two looks at all rows ..."""
NEARLY_WHOLE = 0.9
"""... and the length of the last one: the dual variables of a step suit its end if that is one."""


class Descent:
    """The inner problem on factors; see the module.

    Parameters
    ----------
    problem : Problem
    rows : ActiveRows
    """

    def __init__(self, problem, rows):
        self.problem, self.rows = problem, rows
        self.weights, self.precise = np.empty(0), False
        self.multiplier = self.intercept = self.width = 0.0
        self.unbalanced = True
        self.cold, self.idle = True, False
        self.moved = self.turned = self.blurred = self.changed = True
        self.n_active = problem.n_samples
        self.looks = self.sweeps = self.parts = self.steps = 0
        self.extent = rows.extent()
        self.costs = float(np.mean(problem.C)) * problem.n_samples
        if isinstance(problem.loss, PiecewiseLinear):
            self._blur(1.0)

    @property
    def gap(self):
        """Absolute duality gap of the inner problem, as it is blurred."""
        return max(self.primal - self.dual, 0.0)

    @property
    def own_gap(self):
        """Relative duality gap of the inner problem, as it is blurred."""
        return relative_gap(self.primal, self.dual)

    @property
    def blurred_gap(self):
        """Relative duality gap of the whole problem, as it is blurred."""
        return relative_gap(self.primal, self.terms - self.penalty)

    @property
    def full_dual(self):
        """Value of the dual of the whole problem."""
        return self.sharp_terms - self.penalty

    @property
    def full_gap(self):
        """Relative duality gap of the whole problem, to steer by."""
        return relative_gap(self.sharp_primal, self.full_dual)

    @property
    def blur_gap(self):
        """Part of it that is the blur's."""
        lost = (self.sharp_primal - self.primal) - (self.sharp_terms - self.terms)
        return max(lost, 0.0) / self.sharp_primal if self.sharp_primal > 0.0 else 0.0

    def sharpen(self, share):
        """Blur less, where its part of the gap is more than `share`: that goes with the squared width."""
        if self.width > 0.0 and self.blur_gap > share:
            self._blur(self.width * max(np.sqrt(share / self.blur_gap), MOST_BLURRED))

    def _blur(self, width):
        self.width, self.blurred, self.changed = width, True, True
        self.rows.blur(width)

    def solve(self, weights, target):
        """Improve the dual variables until the inner gap is at most `target` times the primal."""
        self._turn(weights, target < SINGLE)
        if self.cold:
            self.cold = False
            self._begin()
        if self.changed:
            self.look()
        best, waiting, glances, self.idle = np.inf, 0, 0, False
        method, self.speed = self.sweep, FIRST_SPEED
        for _ in range(MOST_ROUNDS):
            enough = self.gap <= target * self.primal
            if self.whole:
                waiting = 0 if self.gap < 0.9 * best else waiting + 1
                best, glances, self.idle = min(best, self.gap), 0, waiting > MOST_IDLE
                if enough or self.idle:
                    break
            elif enough or glances >= MOST_GLANCES:
                self.look()
                continue
            if method == self.solve_part and self.n_active > LARGEST_PART:
                method = self.sweep  # a look at all rows has found more of them
            before, glances = self.gap, glances + 1
            method(target)
            if self.changed:
                self.look(whole=False)
            method = self._next(method, self.gap / before, target)
        return self

    def _turn(self, weights, precise):
        """Take other weights, or another precision."""
        if np.array_equal(weights, self.weights) and precise == self.precise:
            return
        stack = self.problem.stack
        self.weights, self.precise, self.turned, self.changed = weights, precise, True, True
        self.scaled = weights if stack.factors is None else weights * stack.factors
        self.rho = self.rows.weigh(weights) / self.problem.n_samples

    def _next(self, method, share, target):
        """Return what to do after something that has left a share of the gap."""
        if method == self.sweep:
            self.speed = 0.5 * (self.speed - np.log(share)) if share > 0.0 else np.inf
            if self.speed > CRAWL or self._sweeps_pay(target):
                return method
        elif share <= np.exp(-CRAWL):
            return method
        self.speed = FIRST_SPEED
        order = [self.sweep, self.solve_part, self.newton]
        if self.n_active > SMALL_PART:
            order = [self.sweep, self.newton, self.solve_part]
        if self.n_active > LARGEST_PART:
            order = order[:2]
        return order[(order.index(method) + 1) % len(order)] if method in order else self.sweep

    def _sweeps_pay(self, target):
        """Whether sweeps, as fast as they are, end before Newton's steps would."""
        if self.speed <= 0.0 or self.n_active <= LARGEST_PART:
            return False
        width, active = np.count_nonzero(self.problem.stack.spread(self.scaled)), self.n_active
        rounds = np.log(self.gap / (target * self.primal)) / self.speed
        sweeps = 4.0 * width * (self.problem.n_samples + self._n_sweeps * active)
        sample = min(active, SAMPLED)
        step = 2.0 * width * (sample * min(sample, width) + 2.0 * USUAL_PRODUCTS * active)
        return rounds * sweeps <= USUAL_STEPS * step

    @property
    def _n_sweeps(self):
        """Sweeps between two looks: about as much work as three sweeps over all rows."""
        return int(np.clip(SWEEPS[0] * self.problem.n_samples / max(self.n_active, 1), *SWEEPS))

    def _begin(self):
        """Choose the blur, and raise small costs tenfold from rough answer to rough answer.

        At large costs many rows want to be free at first that end at a bound; small ones find these at once.
        """
        if self.width > 0.0:
            self.look()
            if self.sharp_primal > 0.0:
                self._blur(FIRST_WIDTH * self.sharp_primal / self.costs)
        for level in range(int(np.log10(max(self.rho * self.costs / FIRST_REACH, 1.0))), 0, -1):
            self._charge(10.0**-level, 1.0)
            self.look()
            for _ in range(MOST_CLIMBS):
                self.sweep(ROUGH)
                self.look()
                if self.gap <= ROUGH * self.primal:
                    break
            self._charge(10.0 ** (1 - level), 10.0)

    def _charge(self, share, growth):
        self.rows.charge(share, growth)
        self.moved = self.blurred = self.changed = True

    def sweep(self, target):
        """Visit the rows that are not settled a few times, until it brings little."""
        stack = self.problem.stack
        images, total, first = stack.spread(self.scaled) * self.sums, self.total, 0.0
        missing = max(self.gap - target * self.primal, 0.1 * self.gap)
        for _ in range(self._n_sweeps):
            aim = Aim(self.scaled, images, self.multiplier, self.rho, total, self.precise)
            change, own, gain = self.rows.sweep(aim)
            images, total = images + change, total + own
            self.multiplier += self.rho * total
            self.sweeps += 1
            first = max(first, gain)
            if gain <= FADED * first or gain <= missing / HOPELESS:
                break
        self.moved = self.changed = True

    def solve_part(self, target):
        """Solve the rows that are not settled on their own."""
        features, memberships, y, C, alpha, scores = self.rows.active_part(self.precise)
        kernel = np.zeros((len(y) + 1, len(y) + 1))
        kernel[:-1, :-1] = combined(features, memberships, self.problem.stack.spread(self.scaled))
        offset, rest = scores - kernel[:-1, :-1] @ alpha, -float(alpha.sum())
        loss = Blurred(self.problem.loss, self.width) if self.width > 0.0 else self.problem.loss
        loss = part_loss(loss, y, offset, C, rest)
        kind = InnerSVM if isinstance(loss, Boxed) else InnerNewton
        inner = kind(
            np.append(y - offset, 0.0),
            np.append(C, 1.0),
            loss,
            np.append(alpha, rest),
            backend=self.problem.stack.backend,
        )
        inner.evaluate(kernel @ inner.alpha)
        goal = PART_SHARE * target * self.primal
        inner.solve(kernel, goal / max(abs(inner.primal), np.finfo(float).tiny))
        self.rows.set_active(inner.alpha[:-1])
        self.multiplier = inner.intercept
        self.moved = self.changed = True
        self.parts += 1

    def look(self, whole=True):
        """Bring sums, scores and values up to date, and find the rows that are not settled.

        Parameters
        ----------
        whole : bool, default=True
            Whether at all rows; else settled ones are taken for it.
        """
        stack, rows = self.problem.stack, self.rows
        self.whole = whole or self.turned or self.blurred
        if self.whole:
            rows.see_all()
        if self.moved or (self.whole and self.unbalanced):
            self.sums, self.total = rows.gather(*self._surplus())
            self.unbalanced = not self.whole
            norms = stack.fold(np.square(self.sums))
            self.norms = norms if stack.factors is None else norms * stack.factors
        images = stack.spread(self.scaled) * self.sums
        terms = rows.respond(images if self.whole or self.moved else None, self.precise)
        self.terms, self.sharp_terms = terms[0], terms[-1]
        self.intercept = balance_slopes(
            rows.tilt,
            INTERCEPT_DIGITS / np.finfo(float).eps * self.extent,
            self.intercept,
        )
        violation, *costs = rows.values(images, self.intercept)
        regulariser = 0.5 * float(np.sum(self.weights * self.norms))
        self.penalty = 0.5 * sum(dual_norm(own, self.problem.p) for own in self.norms)
        self.primal, self.sharp_primal = regulariser + costs[0], regulariser + costs[-1]
        self.dual = self.terms - regulariser
        self.n_active = rows.shrink(self.intercept, MARGIN * violation / self.problem.n_samples)
        self.moved = self.turned = self.blurred = self.changed = False
        self.looks += self.whole

    def _surplus(self):
        """Return the sign of the dual variables' sum, the share to take of those, whether of free ones."""
        sides = self.rows.sides()
        total = sides[2, 1]
        side = int(total > 0.0)
        free = sides[0, side] > 2.0 * abs(total)
        share = abs(total) / max(sides[1 - int(free), side], np.finfo(float).tiny)
        return np.sign(total), min(share, 1.0), bool(free)

    def newton(self, target):
        """Take Newton's steps, at a blur that shrinks to what it is; return if they lead nowhere."""
        roots, goal, before = np.sqrt(self.problem.stack.spread(self.scaled)), target * self.primal, self.gap
        self.rows.remember()
        images, self.multiplier = roots**2 * self.sums, self.intercept
        width = self.width
        wide = min(FIRST_WIDTH, self.own_gap) * self.primal / self.costs if width > 0.0 else 0.0
        while wide > width:
            self._blur(wide)
            images = self._steps(images, roots, goal)
            wide *= MOST_BLURRED
        if self.width != width:
            self._blur(width)
        self._steps(images, roots, goal)
        if self.changed:
            self.look(whole=False)
        if self.gap > before:
            self.rows.go_back()
            self.moved = self.blurred = self.changed = True

    def _steps(self, images, roots, goal):
        """Take steps until one of them ends where it was meant to, and the gap is small enough."""
        short = 0
        for _ in range(MOST_STEPS):
            point = newton_step(self.rows, roots, images, self.multiplier, goal, self.precise)
            self.steps += 1
            self.moved = self.changed = True
            if point is None:
                break
            images, self.multiplier = point.images, point.intercept
            if point.decrease <= goal and point.length > NEARLY_WHOLE:
                self.look(whole=False)
                if self.gap <= goal:
                    break
            short += point.length < SHORT
            if short > MOST_SHORT:
                break
        return images

    def curvature(self):
        """Return R, (n_free, l M), with the Hessian R'R of J from the free rows; None without any."""
        stack, n_free = self.problem.stack, self.rows.n_free()
        share = min(1.0, MOST_FREE / max(n_free, 1))
        features, memberships, softness = self.rows.free_part(share)
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
