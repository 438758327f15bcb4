"""Steps of the kernel weights: the paper's closed form, or second-order steps on J.

J(beta) = max_alpha S(alpha, beta) has the gradient -q/2 and, on the free variables F, the Hessian
B' (T - T 1 1' T / 1' T 1) B with B_jm = (c_j * K_m u_j)_F and T = (K~_FF + W_F^-1)^-1, where W^-1 is what a
smooth loss adds (nothing, if it is piecewise linear).
"""

from abc import ABC, abstractmethod

import numpy as np

from localmkl.solvers.line import INVISIBLE, Line
from localmkl.solvers.model import minimise_linear_model, minimise_model
from localmkl.solvers.objective import closed_form_weights
from localmkl.solvers.requests import Combine

STUCK = 0.9
"""A step that leaves more of the gap than this share is followed by a linear one."""
FALLEN = 0.02
"""... unless the primal fell by this share of the gap: at p = 1 gaps rise and fall on the way."""
NEARLY_EVEN = 8.0
"""Norm from which on the weights that suit the last block norms are as good as a second-order step's: they go
as the norms to the power 1 / (p - 1), and the lp ball has corners too sharp for the model."""
FIRST_DAMPING = 1e-2
"""Share of the diagonal added to the curvature after a step that went too far; then four times as much."""
FRUITLESS = 20
"""Steps whose gaps are looked at to tell progress from rounding: linear steps may rise now and then."""


class Step(ABC):
    """A way to move the weights.

    ``take`` is a generator like a course: it yields requests, and returns the next weights and kernel.
    """

    def __init__(self, problem):
        self.problem = problem

    @abstractmethod
    def take(self, weights, kernel, inner, look, target):
        """Return the next weights and their combined kernel."""

    def shorter(self, inner, look):
        """Return the weights to go back to if the last step went too far, else None."""
        return None

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
    """Go to the minimiser of the model of J, or as far along the line to it as J falls."""

    def __init__(self, problem):
        super().__init__(problem)
        self.line: Line | None = None
        self.start = self.direction = np.empty(0)
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
        self.start, self.direction = weights, goal - weights
        slope = -0.5 * float(np.sum(look.norms * self.direction))
        # A decrease that the inner problem's own gap hides needs no search: gaps still shrink with the step.
        # Nor do weights that hardly depend on the norms.
        hidden = max(INVISIBLE * inner.primal, inner.gap)
        self.line = Line(slope, inner.primal) if slope < -hidden and problem.p < NEARLY_EVEN else None
        kernel = yield Combine(goal)
        return goal, kernel

    def shorter(self, inner, look):
        """Return the weights of the next point on the line, unless the last one is good enough."""
        if self.line is None:
            return None
        line, here = self.line, -0.5 * float(np.sum(look.norms * self.direction))
        if not line.ends(here, inner.dual):
            return self.start + line.length * self.direction
        full, self.line = line.length == 1.0, None
        self.damping = 0.25 * self.damping if full else max(4.0 * self.damping, FIRST_DAMPING)
        return None

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


STEPS = {"newton": NewtonStep, "alternating": ClosedFormStep}
