"""From the solution of a problem to those of its neighbours.

Neighbours have the same samples, kernels and clusters; C, p, the loss and the memberships may differ. Where
only the memberships do, and little, a neighbour's weights often pass the certificate at once. Problems that
differ in y, C, p and the loss alone read the stack together: once for all combined kernels, once for all
certificates.
"""

from dataclasses import replace

import numpy as np

from localmkl.backends import load, one_blas_thread
from localmkl.solvers.certify import Solution, audited_products, judge
from localmkl.solvers.convex import _NewtonStep, _Reader, solve_convex
from localmkl.solvers.objective import closed_form_weights, relative_gap, uniform_weights
from localmkl.solvers.svm import InnerSVM

LEAST_WEIGHT = 1e-4
"""Smallest weight, as a share of the largest, that a start gives a kernel that another p had left out."""

SVM_SHARE = 0.3
"""The SVM's relative gap aimed at, as a share of `tol`: weights of a neighbour leave room for it."""

ROUNDS = 4
"""Most steps that problems take together: near the solution full steps need no line search."""

TOGETHER_BYTES = 2**28
"""Most memory for combined kernels that exist at the same time."""


def at_once(n_samples):
    """Return how many problems of this size may hold their combined kernels at the same time."""
    return max(1, TOGETHER_BYTES // (8 * n_samples**2))


def moved(solution, old, new):
    """Return the solution of a neighbouring problem as a start for `new`.

    Dual variables grow with their bounds; weights return to the unit sphere of another norm.
    """
    growth = np.divide(new.C, old.C, out=np.ones_like(new.C), where=old.C > 0.0)
    weights = solution.weights if new.p == old.p else on_sphere(solution.weights, new.p)
    return replace(solution, alpha=solution.alpha * growth, weights=weights)


def nothing(problem):
    """Return the start of a problem that has no neighbour: even weights, dual variables of zero."""
    weights = uniform_weights(problem.weights_shape, problem.p)
    return Solution(weights, np.zeros(problem.n_samples), 0.0, np.inf, -np.inf, np.inf, 0.0)


def on_sphere(weights, p):
    """Return the weights scaled to ``||beta_j||_p = 1``, none of them zero where the norm forbids it."""
    if np.isinf(p):
        return np.ones_like(weights)
    largest = weights.max(axis=1, keepdims=True)
    shares = np.maximum(weights / largest, 0.0 if p == 1 else LEAST_WEIGHT)
    return shares / np.sum(shares**p, axis=1, keepdims=True) ** (1.0 / p)


def solve_together(problems, starts, *, solver="newton", tol=1e-3, max_iter=500, parallel=True):
    """Solve problems that differ in y, C, p and the loss alone, each from a start that may be good enough.

    All of them read the stack together, and take full steps for the few rounds that a good start needs.
    What is not certified then, `solve_convex` takes over.

    Parameters
    ----------
    problems : sequence of Problem
    starts : sequence of Solution
        What `moved` or `nothing` returned.
    solver, tol, max_iter, parallel
        As for `solve_convex`.

    Returns
    -------
    list of Solution
    """
    solutions = []
    step = at_once(problems[0].n_samples)
    with one_blas_thread():
        for first in range(0, len(problems), step):
            chosen = slice(first, first + step)
            attempts = [
                _Attempt(problem, start, solver, tol, parallel)
                for problem, start in zip(problems[chosen], starts[chosen], strict=True)
            ]
            _take_rounds(attempts, min(ROUNDS, max_iter), tol, parallel)
            solutions += [attempt.finish(tol, max_iter) for attempt in attempts]
    return solutions


def _take_rounds(attempts, n_rounds, tol, parallel):
    active = attempts
    for number in range(n_rounds):
        if number > 0:
            for attempt in active:
                attempt.step()
        _read_together(active, tol, parallel)
        for attempt in active:
            if attempt.solution.gap <= tol:
                attempt.forget()
        active = [attempt for attempt in active if attempt.solution.gap > tol and not attempt.risen]
        if not active:
            break


def _read_together(attempts, tol, parallel):
    """Solve every attempt's SVM at its weights and certify what comes out, in two reads of the stack."""
    from localmkl.backends.together_compiled import combine_together

    shared = attempts[0].problem
    scaled = np.stack([attempt.weights for attempt in attempts]) * shared.factors
    for attempt in attempts:
        attempt.kernel = None  # the next ones take its place
    kernels = combine_together(shared.grams, shared.rows, scaled, shared.memberships, parallel=parallel)
    for attempt, kernel in zip(attempts, kernels, strict=True):
        attempt.kernel = kernel
        attempt.svm.solve(kernel, SVM_SHARE * tol)
    # One problem with the clusters of all: its products are those of all.
    parts = [attempt.problem.cluster_parts(attempt.svm.alpha) for attempt in attempts]
    wide = replace(shared, memberships=np.hstack(parts))
    products = audited_products(wide, np.ones(shared.n_samples), load(), parallel=parallel)
    for attempt, own in zip(attempts, np.split(products, len(attempts)), strict=True):
        attempt.look_at(own)


class _Attempt:
    """One problem on its way: weights, SVM, and what was seen there."""

    def __init__(self, problem, start, solver, tol, parallel):
        self.problem, self.weights, self.solver = problem, start.weights, solver
        self.svm = InnerSVM(problem.y, problem.C, problem.loss, start.alpha)
        self.reader = _Reader(problem, tol, "compiled", parallel)
        self.newton = _NewtonStep(self.reader)
        self.kernel: np.ndarray | None = None
        self.risen = False
        self.history: dict[str, list] = {"primal": [], "dual": [], "gap": [], "svm_gap": []}

    def look_at(self, products):
        """Certify weights and dual variables, given all products; a step that raised the primal ends it."""
        self.risen = self.svm.primal > min(self.history["primal"], default=np.inf) + self.svm.gap
        if self.risen:
            self.kernel = None  # it belongs to weights that are given up
            return
        self.solution = judge(self.problem, self.weights, self.svm.alpha.copy(), products, self.reader.tol)
        every = np.arange(self.problem.n_samples)
        self.look = self.reader._look(self.svm, products, every, self.solution)
        values = self.svm.primal, self.look.dual, self.look.gap, relative_gap(self.svm.primal, self.svm.dual)
        for key, value in zip(self.history, values, strict=True):
            self.history[key].append(value)

    def step(self):
        """Move the weights to the minimiser of the local model, and the dual variables with them."""
        if self.problem.frozen:
            return
        if self.solver == "newton":
            self.weights = self.newton._goal(self.weights, self.kernel, self.svm, self.look, self.problem.p)
            self.svm.forget_factor()
        else:
            self.weights = closed_form_weights(self.weights, self.look.norms, self.problem.p)

    def forget(self):
        """Free the memory of the combined kernel and its factor."""
        self.kernel = None
        self.svm.forget_factor()

    def finish(self, tol, max_iter):
        """Return the certified solution; if there is none yet, go on alone."""
        solution, taken = self.solution, len(self.history["gap"])
        if solution.gap > tol and taken < max_iter:
            options = {
                "solver": self.solver,
                "tol": tol,
                "max_iter": max_iter,
                "parallel": self.reader.options["parallel"],
            }
            further = solve_convex(self.problem, init=solution, kernel=self.kernel, **options)
            # Weights that are zero (p = 1) leave kernels of low rank, from which steps may find no way out.
            return further if further.converged else solve_convex(self.problem, **options)
        history = {key: np.array(values) for key, values in self.history.items()}
        return replace(solution, n_iter=taken, converged=solution.gap <= tol, history=history)
