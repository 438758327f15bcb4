"""UNIF, lp-norm MKL, HLMKL and CLMKL: one convex problem, one solver.

Problem   min_{w, beta, b} sum_jm ||w_jm||^2 / (2 beta_jm) + sum_i C_i loss(f(x_i), y_i),  ||beta_j||_p <= 1
Dual      max_alpha sum_i (y_i alpha_i - epsilon |alpha_i|) - 1/2 sum_j ||q_j||_{p/(p-1)},  sum(alpha) = 0
Stop      when the relative duality gap, certified by `objective.certify`, is at most `tol`.

One cluster is lp-norm MKL; memberships in {0, 1} are HLMKL; p = inf freezes the weights at one: UNIF.
"""

from dataclasses import replace

import numpy as np

from localmkl.backends import load
from localmkl.solvers.objective import (
    certify,
    closed_form_weights,
    full_dual,
    relative_gap,
    uniform_weights,
)
from localmkl.solvers.svm import InnerSVM


def solve_convex(
    problem, *, tol=1e-3, max_iter=500, init=None, callback=None, parallel=True, backend="compiled"
):
    """Solve convex localized MKL by alternating an SVM and closed-form kernel weights.

    Parameters
    ----------
    problem : Problem
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
    options = {} if backend == "reference" else {"parallel": parallel}
    combine, block_norms = load(backend).combine, load(backend).block_norms
    weights = uniform_weights(problem.weights_shape, problem.p) if init is None else init.weights
    svm = InnerSVM(
        problem.y,
        problem.C,
        problem.loss,
        None if init is None else init.alpha,
        backend=backend,
    )
    history: dict[str, list] = {"primal": [], "dual": [], "gap": []}
    kernel = np.empty((problem.n_samples, problem.n_samples))
    target = 0.5 * tol
    for iteration in range(1, max_iter + 1):
        scaled = weights * problem.factors
        combine(problem.grams, problem.rows, scaled, problem.memberships, kernel, **options)
        while True:
            svm.solve(kernel, target)
            parts = problem.cluster_parts(svm.alpha)
            norms = block_norms(problem.grams, problem.rows, parts, **options) * problem.factors
            norms = np.maximum(norms, 0.0)
            dual = full_dual(problem, svm.alpha, norms)
            gap = relative_gap(svm.primal, dual)
            # The gap is the SVM's part plus the weights' part: sharpen what holds it up.
            weights_part = gap - relative_gap(svm.primal, svm.dual)
            if gap <= tol or weights_part > 0.5 * tol or target <= 1e-3 * tol:
                break
            target *= 0.25
        for key, value in zip(history, (svm.primal, dual, gap), strict=True):
            history[key].append(value)
        if callback is not None:
            callback(iteration, svm.primal, dual, gap)
        if gap <= tol or iteration == max_iter:
            solution = certify(problem, weights, svm.alpha)
            if solution.gap <= tol or iteration == max_iter:
                break
            target *= 0.25
            continue
        weights = closed_form_weights(weights, norms, problem.p)
    return replace(
        solution,
        n_iter=iteration,
        converged=solution.gap <= tol,
        history={key: np.array(values) for key, values in history.items()},
    )
