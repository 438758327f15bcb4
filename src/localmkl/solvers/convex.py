"""UNIF, lp-norm MKL, HLMKL and CLMKL: one convex problem, one solver.

Problem   min_{w, beta, b} sum_jm ||w_jm||^2 / (2 beta_jm) + sum_i C_i loss(f(x_i), y_i),  ||beta_j||_p <= 1
Dual      max_alpha sum_i (y_i alpha_i - epsilon |alpha_i|) - 1/2 sum_j ||q_j||_{p/(p-1)},  sum(alpha) = 0
Stop      when the relative duality gap, certified by `objective.certify`, is at most `tol`.

One cluster is lp-norm MKL; memberships in {0, 1} are HLMKL; p = inf freezes the weights at one: UNIF.

The convex function of the weights alone, J(beta) = max_alpha S(alpha, beta), has the gradient -q/2 and, on
the free support vectors F, the Hessian B' (K~_FF^-1 - rank one) B with B_jm = (c_j * K_m u_j)_F. "newton"
minimises that model over the lp balls and searches along the line to its minimiser; between two weights K~ is
linear, so the line search reads no base kernel. "alternating" is the paper's Algorithm 1.
"""

from dataclasses import dataclass, replace

import numpy as np

from localmkl.backends import load
from localmkl.solvers.model import minimise_linear_model, minimise_model
from localmkl.solvers.objective import (
    certify,
    closed_form_weights,
    full_dual,
    relative_gap,
    uniform_weights,
)
from localmkl.solvers.svm import InnerSVM, factorised

SOLVERS = ("newton", "alternating")

SVM_SHARE = 0.1
"""The SVM's relative gap aimed at, as a share of `tol`."""
FLATTENED = 0.3
"""A line search ends when the slope has shrunk to this share of its start."""
MAX_TRIALS = 12
FIRST_DAMPING = 1e-2
ROUNDING = 1e-13


def solve_convex(
    problem,
    *,
    solver="newton",
    tol=1e-3,
    max_iter=500,
    init=None,
    callback=None,
    parallel=True,
    backend="compiled",
):
    """Solve convex localized MKL until the duality gap is at most `tol`.

    Parameters
    ----------
    problem : Problem
    solver : {"newton", "alternating"}
        How the kernel weights move: second-order steps, or the paper's closed form.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Most updates of the kernel weights.
    init : Solution, optional
        Warm start.
    callback : callable, optional
        Called as ``callback(iteration, primal, dual, gap)`` after every step.
    parallel : bool
        Whether reading the stack may use all threads.
    backend : {"compiled", "reference"}

    Returns
    -------
    Solution
        `converged` says whether `tol` was reached.

    References
    ----------
    Lei, Binder, Dogan, Kloft: Localized Multiple Kernel Learning - A Convex Approach, Algorithm 1.
    """
    weights = uniform_weights(problem.weights_shape, problem.p) if init is None else init.weights
    start = None if init is None else init.alpha
    svm = InnerSVM(problem.y, problem.C, problem.loss, start, backend=backend)
    reader = _Reader(problem, backend, parallel)
    kernel = reader.combine(weights)
    step = _NewtonStep(reader) if solver == "newton" else _ClosedFormStep(reader)
    history: dict[str, list] = {"primal": [], "dual": [], "gap": []}
    target = SVM_SHARE * tol
    for iteration in range(1, max_iter + 1):
        while True:
            svm.solve(kernel, target)
            look = reader.look(svm)
            dual = full_dual(problem, svm.alpha, look.norms)
            gap = relative_gap(svm.primal, dual)
            # The gap is the SVM's part plus the weights' part: sharpen the SVM if it holds the gap up.
            svm_part = relative_gap(svm.primal, svm.dual)
            if gap <= tol or svm_part <= 0.5 * gap or target < 1e-15:
                break
            target *= 0.1
        for key, value in zip(history, (svm.primal, dual, gap), strict=True):
            history[key].append(value)
        if callback is not None:
            callback(iteration, svm.primal, dual, gap)
        if gap <= tol or iteration == max_iter:
            solution = certify(problem, weights, svm.alpha)
            if solution.gap <= tol or iteration == max_iter or target < 1e-15:
                break
            target *= 0.1
            continue
        weights, kernel = step.take(weights, kernel, svm, look, target)
    return replace(
        solution,
        n_iter=iteration,
        converged=solution.gap <= tol,
        history={key: np.array(values) for key, values in history.items()},
    )


@dataclass(frozen=True)
class _Look:
    """What one read of the support vectors' part of the stack gives.

    norms: q, (l, M). images: (c_j * K_m u_j) on the free variables, (l, M, n_free).
    """

    norms: np.ndarray
    images: np.ndarray


class _Reader:
    """The two ways of reading the stack, with normalisation factors applied."""

    def __init__(self, problem, backend, parallel):
        self.problem = problem
        self.backend = load(backend)
        self.options = {} if backend == "reference" else {"parallel": parallel}

    def combine(self, weights, out=None):
        """Return K~ for these weights."""
        problem = self.problem
        scaled = weights * problem.factors
        return self.backend.combine(
            problem.grams, problem.rows, scaled, problem.memberships, out, **self.options
        )

    def look(self, svm):
        """Read the support vectors' rows and columns once: block norms and images on the free ones."""
        problem = self.problem
        support = np.flatnonzero(svm.alpha)
        parts = problem.memberships[support] * svm.alpha[support, None]
        rows = support if problem.rows is None else problem.rows[support]
        products = self.backend.block_products(problem.grams, rows, rows, parts, **self.options)
        products *= problem.factors[:, None]
        norms = np.maximum(np.einsum("jmi,ij->jm", products, parts), 0.0)
        free = np.searchsorted(support, svm.free)
        images = products[:, :, free] * problem.memberships[support[free]].T[:, None, :]
        return _Look(norms, images)


class _ClosedFormStep:
    """The paper's update of the weights for fixed w."""

    def __init__(self, reader):
        self.reader = reader

    def take(self, weights, kernel, svm, look, target):
        """Return the next weights and their combined kernel."""
        weights = closed_form_weights(weights, look.norms, self.reader.problem.p)
        return weights, self.reader.combine(weights, kernel)


class _NewtonStep:
    """Minimise the quadratic model of J, then search the line to its minimiser."""

    def __init__(self, reader):
        self.reader = reader
        self.spare = None
        self.damping = 0.0

    def take(self, weights, kernel, svm, look, target):
        """Return the next weights and their combined kernel; leave `svm` solved near there."""
        p = self.reader.problem.p
        if np.isinf(p):
            return weights, kernel
        goal = self._goal(weights, kernel, svm, look, p)
        slope = -0.5 * float(np.sum(look.norms * (goal - weights)))
        reached = self.reader.combine(goal, self.spare)
        # A decrease too small to be seen needs no search: the gap still shrinks with the step.
        visible = slope < -ROUNDING * svm.primal
        length = self._search(kernel, reached, svm, slope, target) if visible else 1.0
        self.spare = kernel
        shortened = length < 1.0
        self.damping = max(4.0 * self.damping, FIRST_DAMPING) if shortened else 0.25 * self.damping
        return weights + length * (goal - weights), reached

    def _goal(self, weights, kernel, svm, look, p):
        """Return the minimiser of the model over the lp balls."""
        n_free = look.images.shape[2]
        if n_free < 2:
            return minimise_linear_model(look.norms, weights, p)
        images = look.images.reshape(-1, n_free).T
        solve = factorised(kernel[np.ix_(svm.free, svm.free)])
        solved = solve(np.column_stack([images, np.ones(n_free)]))
        sums = solved[:, :-1].sum(axis=0)
        curvature = images.T @ solved[:, :-1] - np.outer(sums, sums) / solved[:, -1].sum()
        curvature = 0.5 * (curvature + curvature.T)
        curvature.flat[:: len(curvature) + 1] *= 1.0 + self.damping
        alive = look.norms.max(axis=1) > 0.0
        keep = np.repeat(alive, weights.shape[1])
        goal = weights.copy()
        goal[alive] = minimise_model(
            -0.5 * look.norms[alive], curvature[np.ix_(keep, keep)], weights[alive], p
        )
        return goal

    def _search(self, kernel, reached, svm, slope, target):
        """Move `reached` to a point on the line where J has fallen and its slope is nearly flat.

        K~(t) = K~0 + t (K~1 - K~0) is kept in `reached`; J' (t) = -1/2 alpha' (K~1 - K~0) alpha.
        Return t.
        """
        before = svm.primal
        length = 1.0
        low, low_slope, high, high_slope = 0.0, slope, None, 0.0
        for _ in range(MAX_TRIALS):
            svm.solve(reached, target)
            alpha = svm.alpha
            here = -0.5 * float(alpha @ svm.scores - alpha @ (kernel @ alpha)) / length
            risen = svm.dual > before
            if here <= FLATTENED * abs(slope) and not risen:
                if high is None or here >= -FLATTENED * abs(slope):
                    break
                low, low_slope = length, here
            else:
                high, high_slope = length, here
            if here > 0.0 or risen:
                high, high_slope = length, max(here, 0.0)
            upper = high if high is not None else 1.0
            share = low_slope / (low_slope - high_slope) if high_slope > low_slope else 0.5
            following = low + float(np.clip(share, 0.1, 0.9)) * (upper - low)
            reached -= kernel
            reached *= following / length
            reached += kernel
            length = following
        return length
