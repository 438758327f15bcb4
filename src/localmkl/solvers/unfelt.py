"""Problems that differ in costs which nobody feels: one answer for all of them.

    D(alpha) = y'alpha - tube |alpha|_1 - 1/2 sum_j ||q_j||_{p/(p-1)},   |alpha_i| <= (bound) C_i

The dual of a piecewise linear loss depends on C by its box alone. Dual variables that keep away from it solve
the problem of every larger C too; and the answer for a larger C is at least as near the optimum for a smaller
one that its variables respect: D is the same, and P, in which C multiplies the losses, is no larger. Kernels
that separate the classes have such answers for all large C of a grid.
"""

from dataclasses import replace

import numpy as np

from localmkl.solvers.certify import audited_products, judge
from localmkl.solvers.losses import PiecewiseLinear
from localmkl.solvers.objective import relative_gap

CLEARLY = 0.9
"""Share of the box within which the dual variables of a start are taken for ones that do not feel it."""


def expected_leaders(problems, starts):
    """Return {place: place of the problem whose answer is expected to be its own, too}.

    Expected by their starts, which come from neighbours; whether it is so, `judge_for` says.
    """
    groups: dict[tuple, list[int]] = {}
    for place, (problem, start) in enumerate(zip(problems, starts, strict=True)):
        if start.near and isinstance(problem.loss, PiecewiseLinear) and _keeps_away(problem, start.alpha):
            key = problem.loss, problem.p, problem.y.tobytes(), problem.memberships.tobytes()
            groups.setdefault(key, []).append(place)
    leaders: dict[int, int] = {}
    for places in groups.values():
        leader = max(places, key=lambda place: float(problems[place].C.sum()))
        above = problems[leader].C
        leaders |= {
            place: leader for place in places if place != leader and np.all(above >= problems[place].C)
        }
    return leaders


def judge_for(problems, solution, tol):
    """Return the answer of another problem, with larger costs, judged for each of these.

    `converged` says whether it is one: whether its gap is at most `tol` there.
    """
    first, alpha, weights = problems[0], solution.alpha, solution.weights
    products = audited_products(first, first.cluster_parts(alpha))
    judged = [judge(problem, weights, alpha, products, tol) for problem in problems]
    return [replace(own, n_iter=1, converged=own.gap <= tol, history=_only_entry(own)) for own in judged]


def _keeps_away(problem, alpha):
    lower, upper = problem.loss.box(problem.y, problem.C)
    return bool(np.all((CLEARLY * lower <= alpha) & (alpha <= CLEARLY * upper)))


def _only_entry(solution):
    gap = relative_gap(solution.primal, solution.dual)
    values = {"primal": solution.primal, "dual": solution.dual, "gap": gap, "svm_gap": gap}
    return {name: np.array([value]) for name, value in values.items()}
