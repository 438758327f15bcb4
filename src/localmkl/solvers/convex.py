"""UNIF, lp-norm MKL, HLMKL and CLMKL: one convex problem, one solver.

Problem   min_{w, beta, b} sum_jm ||w_jm||^2 / (2 beta_jm) + sum_i C_i loss(f(x_i), y_i),  ||beta_j||_p <= 1
Dual      max_alpha - sum_i C_i loss*(-alpha_i / C_i, y_i) - 1/2 sum_j ||q_j||_{p/(p-1)},  sum(alpha) = 0
Stop      when the relative duality gap, certified by `certify.judge`, is at most `tol`.

One cluster is lp-norm MKL; memberships in {0, 1} are HLMKL; p = inf freezes the weights at one: UNIF.

For fixed weights this is the inner problem (`inner`); J(beta), of the weights alone, is convex, and `steps`
has two ways to move them. A problem on its way asks for what it needs of the stack (`requests`).
"""

from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np

from localmkl.backends import one_blas_thread
from localmkl.solvers.accuracy import Accuracy
from localmkl.solvers.certify import Solution, judge, judge_on_device
from localmkl.solvers.descent import LARGEST_PART
from localmkl.solvers.factored import solve_factored
from localmkl.solvers.inner import InnerSolver, feasible
from localmkl.solvers.mixing import Mixture
from localmkl.solvers.newton import InnerNewton
from localmkl.solvers.objective import full_dual, relative_gap
from localmkl.solvers.requests import Combine, Products, run_courses
from localmkl.solvers.starts import Start, even_start, neighbour_start
from localmkl.solvers.steps import STEPS
from localmkl.solvers.svm import InnerSVM
from localmkl.solvers.unfelt import expected_leaders, judge_for
from localmkl.stacks import FactorStack

SOLVERS = tuple(STEPS)
INNER_SOLVERS: tuple[type[InnerSolver], ...] = (InnerSVM, InnerNewton)

FEW_SUPPORT = 0.8
"""Share of support vectors below which reading their part alone is much cheaper than a certificate."""
TOGETHER_BYTES = 2**28
"""Most memory for combined kernels, and what steps keep of them, that exist at the same time."""


def solve_convex(problem, *, start=None, **options):
    """Solve one problem of convex localized MKL until the duality gap is at most `tol`.

    Parameters
    ----------
    problem : Problem
    start : Start, optional
        Weights and dual variables to begin from.
    **options
        As for `solve_all`.

    Returns
    -------
    Solution
    """
    return solve_all([problem], None if start is None else [start], **options)[0]


def solve_all(problems, starts=None, *, solver="newton", tol=1e-3, max_iter=500, callback=None):
    """Solve problems of convex localized MKL until each duality gap is at most `tol`.

    Problems that share stack and memberships read the stack together, as many as memory allows.

    Parameters
    ----------
    problems : sequence of Problem
        All have the same stack.
    starts : sequence of Start, optional
        Where each begins; at even weights by default. What does not converge from elsewhere begins again.
    solver : {"newton", "alternating"}
        How the kernel weights move: second-order steps, or the paper's closed form.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Most updates of the kernel weights.
    callback : callable, optional
        Called as ``callback(iteration, primal, dual, gap)`` after every step; problems then run one by one.

    Returns
    -------
    list of Solution
        `converged` says whether `tol` was reached. `history` holds the primal, the dual and the relative
        gap of every step, and the part of the gap that is the inner problem's ("svm_gap"): by no more than
        that can the primal rise from one step to the next.

    References
    ----------
    Lei, Binder, Dogan, Kloft: Localized Multiple Kernel Learning - A Convex Approach, Algorithm 1.
    """
    if problems[0].stack.device is not None:
        return [_solve_on_device(problem, solver, tol, max_iter, callback) for problem in problems]
    starts = [even_start(problem) for problem in problems] if starts is None else starts
    options = {"solver": solver, "tol": tol, "max_iter": max_iter, "callback": callback}
    order = problems[0].stack.reading_order()
    if order is not None:
        return _solve_in_order(problems, starts, order, options)
    solutions: list[Solution] = []
    with one_blas_thread():
        if on_factors(problems[0]):
            return [
                solve_factored(problem, start, **options)
                for problem, start in zip(problems, starts, strict=True)
            ]
        leaders = expected_leaders(problems, starts)
        if leaders:
            return _solve_leaders(problems, starts, leaders, options)
        for chosen in _batches(problems, 1 if callback is not None else None):
            own = problems[chosen]
            pairs = zip(own, starts[chosen], strict=True)
            solutions += run_courses(own, [_course(*pair, **options) for pair in pairs])
    for place, (start, solution) in enumerate(zip(starts, solutions, strict=True)):
        # Weights that are zero (p = 1) leave kernels of low rank, from which steps may find no way out.
        if start.near and not solution.converged and solution.n_iter < max_iter:
            solution = solve_convex(problems[place], **options)
        elif not solution.converged and solution.n_iter < max_iter:
            solution = _again(problems[place], solution, options)
        solutions[place] = solution
    return solutions


def _solve_leaders(problems, starts, leaders, options):
    """Return the answers where some problems are expected to have that of another: it is judged for them."""
    places = [place for place in range(len(problems)) if place not in leaders]
    found = solve_all([problems[place] for place in places], [starts[place] for place in places], **options)
    answers = dict(zip(places, found, strict=True))
    for leader in dict.fromkeys(leaders.values()):
        followers = [place for place in leaders if leaders[place] == leader]
        judged = judge_for([problems[place] for place in followers], answers[leader], options["tol"])
        answers |= dict(zip(followers, judged, strict=True))
    rest = [place for place in leaders if not answers[place].converged]
    if rest:
        near = [
            neighbour_start(answers[leaders[place]], problems[leaders[place]], problems[place])
            for place in rest
        ]
        answers |= dict(
            zip(rest, solve_all([problems[place] for place in rest], near, **options), strict=True)
        )
    return [answers[place] for place in range(len(problems))]


def _solve_in_order(problems, starts, order, options):
    """Return the answers of problems whose rows were put into the order in which they are read best."""
    starts = [start if start.alpha is None else replace(start, alpha=start.alpha[order]) for start in starts]
    solutions = solve_all([problem.on(order) for problem in problems], starts, **options)
    places = np.argsort(order)
    return [replace(solution, alpha=solution.alpha[places]) for solution in solutions]


def _solve_on_device(problem, solver, tol, max_iter, callback):
    """Return the answer of the solver for Grams, or for features, on a device."""
    if solver != SOLVERS[0]:
        raise ValueError(
            f"`solver` must be {SOLVERS[0]!r} on a device, got {solver!r}; set device='cpu' for others."
        )
    options = {"tol": tol, "max_iter": max_iter, "callback": callback}
    counted = np.flatnonzero(problem.C > 0.0)
    if len(counted) == problem.n_samples:
        return _solver_of(problem)(problem, **options)
    solution = _solver_of(problem)(problem.on(counted), **options)
    alpha = np.zeros(problem.n_samples)  # what costs nothing has a dual variable of zero
    alpha[counted] = solution.alpha
    judged = judge_on_device(problem, solution.weights, alpha, tol)
    return replace(judged, n_iter=solution.n_iter, history=solution.history, converged=judged.gap <= tol)


def _solver_of(problem):
    if isinstance(problem.stack, FactorStack):
        from localmkl.solvers.smoothed import solve_smoothed

        return solve_smoothed
    from localmkl.solvers.joint import solve_joint

    return solve_joint


def _again(problem, solution, options):
    """Return the better of an answer whose steps have stalled and one that begins at its weights afresh.

    At a kink of J which dual variables are found depends on the way there, and only some certify it. Steps of
    both are counted, and are the history.
    """
    left = options | {"max_iter": options["max_iter"] - solution.n_iter}
    with one_blas_thread():
        afresh = run_courses([problem], [_course(problem, Start(solution.weights), **left)])[0]
    return replace(
        min(solution, afresh, key=attrgetter("gap")),
        n_iter=solution.n_iter + afresh.n_iter,
        history={key: np.append(values, afresh.history[key]) for key, values in solution.history.items()},
    )


def on_factors(problem):
    """Whether a problem is solved on its factors: few rows are as well combined to one kernel."""
    return isinstance(problem.stack, FactorStack) and problem.n_samples > LARGEST_PART


def at_once(n_samples):
    """Return how many problems of this size may hold their combined kernels at the same time."""
    return max(1, TOGETHER_BYTES // (16 * n_samples**2))


def _batches(problems, most):
    """Yield slices of problems that follow each other with the same memberships, as many as memory allows."""
    most = at_once(problems[0].n_samples) if most is None else most
    first = 0
    for last in range(1, len(problems) + 1):
        ends = last == len(problems) or last - first == most
        if ends or not np.array_equal(problems[last].memberships, problems[first].memberships):
            yield slice(first, last)
            first = last


def inner_solver(problem, alpha=None):
    """Return the inner solver that serves the problem's loss."""
    kind = next((kind for kind in INNER_SOLVERS if isinstance(problem.loss, kind.serves)), None)
    if kind is None:
        families = " or ".join(kind.serves.__name__ for kind in INNER_SOLVERS)
        raise TypeError(f"`loss` must be {families}, got {problem.loss!r}.")
    return kind(problem.y, problem.C, problem.loss, alpha, backend=problem.stack.backend)


def _course(problem, start, *, solver, tol, max_iter, callback):
    """Solve one problem; a generator that yields requests (see `requests`) and returns the `Solution`."""
    weights, inner = start.weights, inner_solver(problem, start.alpha)
    step = STEPS[solver](problem)
    history: dict[str, list] = {"primal": [], "dual": [], "gap": [], "svm_gap": []}
    accuracy = Accuracy.of(problem, start, tol)
    certified: list[Solution] = []
    mixture = Mixture(problem)
    kernel = yield Combine(weights)
    for iteration in range(1, max_iter + 1):
        look = yield from _settle(problem, inner, kernel, weights, accuracy, tol)
        while not look.certified(tol) and (shorter := step.shorter(inner, look)) is not None:
            weights = shorter
            inner.forget_factor()
            kernel = yield Combine(weights)
            look = yield from _settle(problem, inner, kernel, weights, accuracy, tol)
        mixture.note(inner.alpha, look)
        if not look.certified(tol) and mixture.pays:
            look = yield from _mixed_look(problem, mixture, weights, look, tol)
        values = (inner.primal, look.dual, look.gap, relative_gap(inner.primal, inner.dual))
        for key, value in zip(history, values, strict=True):
            history[key].append(value)
        if callback is not None:
            callback(iteration, inner.primal, look.dual, look.gap)
        if look.solution is not None:
            certified = sorted([*certified, look.solution], key=attrgetter("gap"))[:1]
        if look.certified(tol) or iteration == max_iter or step.stalled(history["gap"], tol, max_iter):
            break
        if not problem.frozen:
            weights, kernel = yield from step.take(weights, kernel, inner, look, accuracy.target)
    if look.solution is None:
        certified.append((yield from _certified_look(problem, inner, weights, tol)).solution)
    solution = min(certified, key=attrgetter("gap"))  # where steps have lost their way, not the last one
    return replace(
        solution,
        n_iter=iteration,
        converged=solution.gap <= tol,
        history={key: np.array(values) for key, values in history.items()},
    )


def _settle(problem, inner, kernel, weights, accuracy, tol):
    """Solve the inner problem until it is not what holds the gap up; return what was seen there."""
    # The certificate serves for the step too, should it fail; far from the end a look may be cheaper.
    ending = problem.frozen or 10.0 * accuracy.last_gap**2 < tol
    while True:
        inner.solve(kernel, accuracy.target)
        few = np.count_nonzero(inner.alpha) < FEW_SUPPORT * len(inner.alpha)
        if few and not ending:
            look = yield from _partial_look(problem, inner)
        else:
            look = yield from _certified_look(problem, inner, weights, tol)
        if look.gap <= tol and look.solution is None:
            look = yield from _certified_look(problem, inner, weights, tol)
        inner_part = relative_gap(inner.primal, inner.dual)
        if look.certified(tol) or (look.gap > tol and inner_part <= 0.5 * look.gap) or accuracy.exhausted:
            accuracy.follow(look.gap)
            return look
        accuracy.target *= 0.1


@dataclass(frozen=True)
class _Look:
    """The answer of one read of the stack at some weights and dual variables.

    norms: q, (l, M). images: (c_j * K_m u_j) on the free variables, (l, M, n_free). dual, gap: their values
    at this point. solution, products: the certified answer at this point and K_m u_j, if all rows were read.
    """

    norms: np.ndarray
    images: np.ndarray
    dual: float
    gap: float
    solution: Solution | None = None
    products: np.ndarray | None = None

    def certified(self, tol):
        """Whether the certificate was taken here, and says that the gap is small enough."""
        return self.solution is not None and self.solution.gap <= tol


def _partial_look(problem, inner):
    """Read the support vectors' part once: block norms, and images on the free variables."""
    support = np.union1d(np.flatnonzero(inner.alpha), inner.free)
    products = yield Products(problem.memberships[support] * inner.alpha[support, None], support)
    return _look(problem, inner, products, support, None)


def _certified_look(problem, inner, weights, tol):
    """Read everything: the certificate, and all that a partial look gives."""
    products = yield Products(problem.cluster_parts(inner.alpha))
    solution = judge(problem, weights, inner.alpha.copy(), products, tol)
    return _look(problem, inner, products, np.arange(problem.n_samples), solution)


def _look(problem, inner, products, rows, solution):
    memberships = problem.memberships[rows]
    parts = memberships * inner.alpha[rows, None]
    norms = np.maximum(np.einsum("jmi,ij->jm", products, parts), 0.0)
    free = np.searchsorted(rows, inner.free)
    images = products[:, :, free] * memberships[free].T[:, None, :]
    dual = full_dual(problem, inner.alpha, norms)
    gap = relative_gap(inner.primal, dual)
    return _Look(norms, images, dual, gap, solution, None if solution is None else products)


def _mixed_look(problem, mixture, weights, look, tol):
    """Return the look, with the answer of dual variables between those of the last steps if it is better."""
    alpha = feasible(mixture.best(), *problem.box())
    products = yield Products(problem.cluster_parts(alpha))
    mixed = judge(problem, weights, alpha, products, tol)
    if mixed.gap <= tol:
        return replace(look, dual=mixed.dual, gap=mixed.gap, solution=mixed)
    return replace(look, solution=min(look.solution, mixed, key=attrgetter("gap")))
