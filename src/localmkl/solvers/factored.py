"""Convex localized MKL on factors: cost linear in the rows, nothing of size n x n.

    a_jm = Phi_m' (c_j * alpha),   q_jm = ||a_jm||^2,   f = sum_j c_j sum_m beta_jm Phi_m a_jm + b

Problem, dual and stopping rule are those of `convex`; the inner problem, for fixed weights, is `descent`'s.
Second-order steps move the weights, as in `steps`. Losses that consist of lines are blurred on the way: the
gap is then the sum of what the weights, the inner problem and the blur are responsible for, and whatever has
the largest part is dealt with next.
"""

from dataclasses import replace

import numpy as np

from localmkl.solvers.accuracy import Accuracy
from localmkl.solvers.active_rows import ActiveRows
from localmkl.solvers.descent import Descent
from localmkl.solvers.inner import feasible_start
from localmkl.solvers.line import INVISIBLE, Line
from localmkl.solvers.model import minimise_linear_model, minimise_model
from localmkl.solvers.objective import closed_form_weights
from localmkl.solvers.steps import FIRST_DAMPING, FRUITLESS, NEARLY_EVEN, STUCK

INNER_SHARE = 0.15
"""The inner problem's relative gap aimed at, as a share of `tol`; less where that holds the gap up ..."""
BLUR_SHARE = 0.4
"""... and the blur's."""
MOST_REPEATS = 3
"""Times that a step asks for a more precise inner problem before it is taken."""


def solve_factored(problem, start, *, solver="newton", tol=1e-3, max_iter=500, callback=None):
    """Solve one problem on features; parameters and result as for `convex.solve_convex`."""
    alpha = np.zeros(problem.n_samples) if start.alpha is None else start.alpha
    inner = Descent(problem, ActiveRows(problem, feasible_start(alpha, *problem.box())))
    weights, step = start.weights, STEPS[solver](problem)
    history: dict[str, list] = {"primal": [], "dual": [], "gap": [], "svm_gap": []}
    accuracy = Accuracy.of(problem, start, tol, share=INNER_SHARE)
    for iteration in range(1, max_iter + 1):
        solution = _settle(inner, weights, accuracy, tol)
        values = (inner.sharp_primal, inner.full_dual, inner.full_gap, inner.own_gap)
        for key, value in zip(history, values, strict=True):
            history[key].append(value)
        if callback is not None:
            callback(iteration, *values[:3])
        done = solution is not None and solution.gap <= tol
        if done or iteration == max_iter or step.stalled(history["gap"], tol, max_iter):
            break
        if not problem.frozen:
            weights = step.take(weights, inner, accuracy.target)
    if solution is None:
        solution = inner.rows.certified(weights, tol)
    return replace(
        solution,
        n_iter=iteration,
        converged=solution.gap <= tol,
        history={key: np.array(values) for key, values in history.items()},
    )


def _settle(inner, weights, accuracy, tol):
    """Solve the inner problem until it is not what holds the gap up; return the certified answer, if any."""
    if not inner.cold:
        inner.sharpen(max(BLUR_SHARE * tol, 0.1 * inner.blurred_gap))
    while True:
        inner.solve(weights, accuracy.target)
        gap, solution = inner.full_gap, None
        if gap <= tol:
            solution = inner.rows.certified(weights, tol)
        certified = solution is not None and solution.gap <= tol
        worth_a_step = inner.blurred_gap > 2.0 * inner.own_gap and inner.blurred_gap > 0.3 * inner.blur_gap
        if certified or (gap > tol and worth_a_step) or accuracy.exhausted or inner.idle:
            if inner.blurred_gap > STUCK * accuracy.last_gap:
                accuracy.sharpen()
            accuracy.follow(inner.blurred_gap)
            return solution
        if inner.blur_gap > max(inner.own_gap, BLUR_SHARE * tol):
            inner.sharpen(max(BLUR_SHARE * tol, 0.1 * inner.blur_gap))
        else:
            accuracy.target *= 0.1


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
    """Minimise the model of J, then search the line to its minimiser; see `steps.NewtonStep`."""

    def __init__(self, problem):
        super().__init__(problem)
        self.damping, self.last_gap, self.stuck = 0.0, np.inf, 0

    def take(self, weights, inner, target):
        """Return the next weights; leave the inner solver near there."""
        self.stuck = self.stuck + 1 if inner.blurred_gap > STUCK * self.last_gap else 0
        self.last_gap = inner.blurred_gap
        for _ in range(MOST_REPEATS):
            goal = self._goal(weights, inner, linear=self.stuck > 1)
            slope = -0.5 * float(np.sum(inner.norms * (goal - weights)))
            promised = -slope / inner.primal if inner.primal > 0.0 else 0.0
            if promised <= INVISIBLE or inner.own_gap <= 0.3 * promised:
                break
            inner.solve(weights, 0.1 * promised)
        if promised <= INVISIBLE or self.problem.p >= NEARLY_EVEN:
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
        goal[alive] = minimise_model(norms[alive], root[:, keep], weights[alive], p, self.damping)
        return goal

    def _search(self, weights, goal, inner, slope, target):
        """Return how far to go: J has fallen there; its slope is -1/2 q'(goal - weights)."""
        line = Line(slope, inner.primal)
        while True:
            length = line.length
            inner.solve(weights + length * (goal - weights), target)
            if line.ends(-0.5 * float(np.sum(inner.norms * (goal - weights))), inner.dual):
                return length


STEPS = {"newton": NewtonStep, "alternating": ClosedFormStep}
