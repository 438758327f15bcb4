"""Steps of the kernel weights: the paper's closed form, or second-order steps on J.

J(beta) = max_alpha S(alpha, beta) has the gradient -q/2 and, on the free variables F, the Hessian
B' (T - T 1 1' T / 1' T 1) B with B_jm = (c_j * K_m u_j)_F and T = (K~_FF + W_F^-1)^-1, where W^-1 is what a
smooth loss adds (nothing, if it is piecewise linear). Between two weights K~ is linear, so the line search
reads no base kernel.
"""

from abc import ABC, abstractmethod

import numpy as np

from localmkl.solvers.model import minimise_linear_model, minimise_model
from localmkl.solvers.objective import closed_form_weights
from localmkl.solvers.requests import Combine
from localmkl.stacks import GramStack

FLATTENED = 0.3
"""A line search ends when the slope has shrunk to this share of its start: the next step knows better."""
MAX_TRIALS = 12
"""Points of one line search: each narrows its interval to nine tenths or less, and two are the rule."""
STUCK = 0.9
"""A step that leaves more of the gap than this share is followed by a linear one."""
FALLEN = 0.02
"""... unless the primal fell by this share of the gap: at p = 1 gaps rise and fall on the way."""
NEARLY_EVEN = 8.0
"""Norm from which on the weights that suit the last block norms are as good as a second-order step's: they go
as the norms to the power 1 / (p - 1), and the lp ball has corners too sharp for the model."""
FIRST_DAMPING = 1e-2
"""Share of the diagonal added to the curvature after a step that went too far; then four times as much."""
INVISIBLE = 1e-13
"""Promised decrease, as a share of the primal, that rounding hides."""
FRUITLESS = 20
"""Steps whose gaps are looked at to tell progress from rounding: linear steps may rise now and then."""
LARGE_SPARE = 2**28
"""Bytes of a spare kernel matrix that are not kept between two steps."""


class Step(ABC):
    """A way to move the weights.

    ``take`` is a generator like a course: it yields requests, and returns the next weights and kernel.
    """

    def __init__(self, problem):
        self.problem = problem

    @abstractmethod
    def take(self, weights, kernel, inner, look, target):
        """Return the next weights and their combined kernel."""

    def stalled(self, gaps, tol, max_iter):
        """Whether the last steps brought no smaller gap: rounding, on a badly conditioned problem."""
        return len(gaps) > FRUITLESS and min(gaps[-FRUITLESS:]) >= min(gaps[:-FRUITLESS])


class ClosedFormStep(Step):
    """The paper's update of the weights for fixed w."""

    def take(self, weights, kernel, inner, look, target):  # noqa: D102
        weights = closed_form_weights(weights, look.norms, self.problem.p)
        inner.forget_factor()
        kernel = yield Combine(weights)
        return weights, kernel


class NewtonStep(Step):
    """Minimise the quadratic model of J, then search the line to its minimiser."""

    def __init__(self, problem):
        super().__init__(problem)
        self.old = np.empty((0, 0))
        self.damping = 0.0
        self.last_gap = self.last_primal = np.inf

    def stalled(self, gaps, tol, max_iter):
        """Whether steps bring no smaller gap any more, or so little that all steps left will not do."""
        if len(gaps) <= FRUITLESS:
            return False
        if super().stalled(gaps, tol, max_iter) or min(gaps) == 0.0:
            return True
        pace = np.log(min(gaps[:-FRUITLESS]) / min(gaps[-FRUITLESS:])) / FRUITLESS
        return np.log(min(gaps) / tol) > pace * (max_iter - len(gaps))

    def take(self, weights, kernel, inner, look, target):
        """Return the next weights and their combined kernel; leave the inner solver near there."""
        problem = self.problem
        # Where K~ has low rank, at weights of zero, the model may allow no step at all; its linear part does.
        fallen = self.last_primal - inner.primal
        stuck = look.gap > STUCK * self.last_gap and fallen < FALLEN * self.last_gap * self.last_primal
        self.last_gap, self.last_primal = look.gap, inner.primal
        if stuck:
            goal = minimise_linear_model(look.norms, weights, problem.p)
        else:
            goal = self._goal(weights, kernel, inner, look, problem.p)
        inner.forget_factor()
        slope = -0.5 * float(np.sum(look.norms * (goal - weights)))
        # K~ as it was, in the precision of the stack: the line search needs both ends.
        if self.old.size == 0:
            self.old = np.empty_like(kernel, dtype=problem.stack.dtype)
        np.copyto(self.old, kernel, casting="same_kind")
        kernel = yield Combine(goal)
        # A decrease too small to be seen needs no search: the gap still shrinks with the step. Nor do weights
        # that hardly depend on the norms.
        search = slope < -INVISIBLE * inner.primal and problem.p < NEARLY_EVEN
        length = self._search(kernel, inner, slope, target) if search else 1.0
        exact = self.old.dtype == kernel.dtype
        if self.old.nbytes > LARGE_SPARE:  # memory counts more than the time to get it again
            self.old = np.empty((0, 0))
        weights = weights + length * (goal - weights)
        if length == 1.0:
            self.damping *= 0.25
            return weights, kernel
        self.damping = max(4.0 * self.damping, FIRST_DAMPING)
        if not exact:
            inner.forget_factor()
            kernel = yield Combine(weights)
        return weights, kernel

    def _goal(self, weights, kernel, inner, look, p):
        """Return the minimiser of the model over the lp balls."""
        n_free = look.images.shape[2]
        if n_free < 2 or p >= NEARLY_EVEN:
            return minimise_linear_model(look.norms, weights, p)
        _, factor = inner.free_factor(kernel)
        halves = factor.half_solve(np.column_stack([look.images.reshape(-1, n_free).T, np.ones(n_free)]))
        images, ones = halves[:, :-1], halves[:, -1]
        # Project away the direction of the intercept: the dual variables keep their sum.
        images -= np.outer(ones, ones @ images) / (ones @ ones)
        alive = look.norms.max(axis=1) > 0.0
        if not alive.any():
            return weights
        keep = np.repeat(alive, weights.shape[1])
        goal = weights.copy()
        goal[alive] = minimise_model(look.norms[alive], images[:, keep], weights[alive], p, self.damping)
        # To first order the dual variables follow the weights: a start for the inner problem at the goal.
        inner.shift(-factor.other_half_solve(images @ (goal - weights).ravel()))
        return goal

    def _search(self, kernel, inner, slope, target):
        """Move `kernel` to a point on the line where J has fallen and its slope is nearly flat.

        `kernel` is K~(t) = K~0 + t (K~1 - K~0), from t = 1 on; J'(t) = -1/2 alpha' (K~1 - K~0) alpha. Secant
        steps between the last points of negative and positive slope. Return t.
        """
        before = inner.primal
        length, low, high = 1.0, (0.0, slope), None
        for _ in range(MAX_TRIALS):
            inner.solve(kernel, target)
            here = -0.5 * (float(inner.alpha @ inner.scores) - self._old_form(inner.alpha)) / length
            flat = abs(here) <= FLATTENED * abs(slope)
            risen = inner.dual > before
            if not risen and (flat or (here < 0.0 and high is None)):
                break
            if here > 0.0 or risen:
                high = length, max(here, 0.0)
            else:
                low = length, here
            top = high or (1.0, 0.0)
            share = low[1] / (low[1] - top[1]) if top[1] > low[1] else 0.5
            following = low[0] + float(np.clip(share, 0.1, 0.9)) * (top[0] - low[0])
            inner.forget_factor()
            kernel -= self.old
            kernel *= following / length
            kernel += self.old
            length = following
        return length

    def _old_form(self, alpha):
        """Return alpha' K~0 alpha."""
        stack = self.problem.stack
        old = GramStack(self.old[None]).using(backend=stack.backend, parallel=stack.parallel)
        return float(old.norms(alpha[:, None])[0, 0])


STEPS = {"newton": NewtonStep, "alternating": ClosedFormStep}
