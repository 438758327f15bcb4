"""The problems that the benchmarks solve, and the references they are compared with."""

import time
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR

from localmkl.backends import compiled, together
from localmkl.gates import KernelKMeansGate
from localmkl.solvers.certify import certify
from localmkl.solvers.losses import Hinge
from localmkl.solvers.objective import Problem, closed_form_weights, full_dual, uniform_weights
from localmkl.stacks import GramStack, Stack


@dataclass
class Blobs:
    """Six Gaussian blobs in 50 dimensions, label the parity of the blob, 5 % flipped; 20 RBF kernels."""

    grams: np.ndarray
    y: np.ndarray
    blob: np.ndarray
    target: np.ndarray
    uniform: np.ndarray

    def problem(self, p, n_clusters, C=1.0, loss=None, y=None):
        return Problem(
            GramStack(self.grams),
            self.memberships(n_clusters),
            self.y if y is None else y,
            np.full(len(self.y), C),
            Hinge() if loss is None else loss,
            p,
        )

    def memberships(self, n_clusters):
        if n_clusters == 1:
            return np.ones((len(self.y), 1))
        gate = KernelKMeansGate(n_clusters, evenness=0.5, random_state=0).fit(self.uniform)
        return gate.memberships(self.uniform)


def make_blobs(n, seed=0, dtype=np.float64, n_kernels=20, n_blobs=6):
    """Return the planning problem: half of the kernels on all columns, half on ten random ones each."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=0.8, size=(n_blobs, 50))
    blob = rng.integers(n_blobs, size=n)
    X = centres[blob] + rng.normal(size=(n, 50))
    y = np.where(blob % 2 == 0, 1.0, -1.0) * np.where(rng.uniform(size=n) < 0.05, -1.0, 1.0)
    target = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] / 2 + 0.1 * rng.normal(size=n)
    half = n_kernels // 2
    grams = np.empty((n_kernels, n, n), dtype=dtype)
    for m, gamma in enumerate(np.logspace(-4, 1, half)):
        grams[m] = rbf_kernel(X, gamma=gamma)
    for m in range(half, n_kernels):
        columns = rng.choice(50, size=10, replace=False)
        grams[m] = rbf_kernel(X[:, columns], gamma=0.1)
    return Blobs(grams, y, blob, target, np.mean(grams, axis=0, dtype=np.float64))


def algorithm_1(problem, tol, patience=60.0):
    """The paper's Algorithm 1 written well: NumPy products and LIBSVM, until the certified gap.

    LIBSVM's tolerance is tightened when its inexactness, not the weights, holds the gap up. After `patience`
    seconds the answer is whatever was reached: its gap says so.
    """
    end = time.monotonic() + patience
    n = problem.n_samples
    weights = uniform_weights(problem.weights_shape, problem.p)
    c, y = problem.memberships, problem.y
    svm_tol = 1e-3
    kernel = np.empty((n, n))
    while True:
        kernel[...] = 0.0
        for m, gram in enumerate(problem.stack.grams):
            kernel += ((c * weights[:, m]) @ c.T) * gram
        options = {"C": problem.C[0], "kernel": "precomputed", "tol": svm_tol, "cache_size": 1000}
        if isinstance(problem.loss, Hinge):
            svc = SVC(**options).fit(kernel, y)
        else:
            svc = SVR(epsilon=problem.loss.epsilon, **options).fit(kernel, y)
        alpha = np.zeros(n)
        alpha[svc.support_] = svc.dual_coef_[0]
        parts = c[svc.support_] * alpha[svc.support_, None]
        norms = np.empty_like(weights)
        for m, gram in enumerate(problem.stack.grams):
            block = gram[np.ix_(svc.support_, svc.support_)]
            norms[:, m] = np.einsum("ij,ij->j", parts, block @ parts)
        scores = kernel[:, svc.support_] @ alpha[svc.support_]
        intercept = problem.loss.best_intercept(scores, y, problem.C)
        primal = 0.5 * np.sum(weights * norms) + problem.C @ problem.loss.value(scores + intercept, y)
        dual = full_dual(problem, alpha, norms)
        if primal - dual <= tol * primal or time.monotonic() > end:
            return certify(problem, weights, alpha)
        inner_dual = problem.loss.dual_terms(alpha, y, problem.C).sum() - 0.5 * np.sum(weights * norms)
        if primal - inner_dual > 0.5 * (primal - dual):
            svm_tol *= 0.1
        else:
            weights = closed_form_weights(weights, norms, problem.p)


def times_faster(problem, our_seconds, tol=1e-3):
    """Return the ratio to Algorithm 1 as text; ">" where that had not reached the gap when patience ended."""
    start = time.perf_counter()
    solution = algorithm_1(problem, tol)
    ratio = (time.perf_counter() - start) / our_seconds
    return f"{ratio:.3g}" if solution.gap <= tol else f"> {ratio:.3g} (gap {solution.gap:.1e})"


def count_reads(function, n_rows):
    """Run a function; return how often it read the stack, in passes, by what it asked the backends for."""
    reads = 0.0

    def products(grams, rows, vectors, **options):
        nonlocal reads
        share = 1.0 if rows is None else len(rows) / n_rows
        reads += 0.5 * share**2 * (grams.shape[0] > 1)  # one triangle of the chosen rows and columns
        return original_products(grams, rows, vectors, **options)

    def combine_together(grams, rows, weights, *others, **options):
        nonlocal reads
        reads += 0.5 * np.any(weights != 0.0, axis=(0, 1)).mean()
        original_together(grams, rows, weights, *others, **options)

    def plain_products(stack, vectors, rows=None):
        nonlocal reads
        reads += 1.0 if rows is None else len(rows) / n_rows
        return original_plain(stack, vectors, rows)

    original_products = compiled.block_products
    original_together, original_plain = together.combine_together, Stack.plain_products
    with (
        patch.object(compiled, "block_products", products),
        patch.object(together, "combine_together", combine_together),
        patch.object(Stack, "plain_products", plain_products),
    ):
        function()
    return reads
