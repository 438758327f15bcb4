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

from localmkl.backends import load, one_blas_thread
from localmkl.solvers.certify import Solution, audited_products, judge
from localmkl.solvers.model import minimise_linear_model, minimise_model
from localmkl.solvers.objective import closed_form_weights, full_dual, relative_gap, uniform_weights
from localmkl.solvers.svm import InnerSVM

SOLVERS = ("newton", "alternating")

SVM_SHARE = 0.1
"""The SVM's relative gap aimed at, as a share of `tol`."""
GAP_SHARE = 0.02
"""... and before `tol` is near, as a share of the last gap, smaller still once the next may be its square."""
SPEED = 3.0
FIRST_TARGET = 0.01
FLATTENED = 0.3
"""A line search ends when the slope has shrunk to this share of its start."""
MAX_TRIALS = 12
STUCK = 0.9
"""A step that leaves more of the gap than this share is followed by a linear one."""
NEARLY_EVEN = 8.0
"""Norm from which on the weights that suit the last block norms are as good as a second-order step's: they go
as the norms to the power 1 / (p - 1), and the lp ball has corners too sharp for the model."""
FIRST_DAMPING = 1e-2
ROUNDING = 1e-13
SHARPEST_TARGET = 1e-15
PATIENCE = 20
LARGE = 2**28
"""Bytes of a spare kernel matrix that are not kept between two steps."""
FEW = 0.5
"""Share of support vectors below which reading their part alone is much cheaper than a certificate."""


def solve_convex(
    problem,
    *,
    solver="newton",
    tol=1e-3,
    max_iter=500,
    init=None,
    kernel=None,
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
    kernel : ndarray of shape (n, n), optional
        The combined kernel of the starting weights, where the caller has it (several classes start alike).
        It is overwritten.
    callback : callable, optional
        Called as ``callback(iteration, primal, dual, gap)`` after every step.
    parallel : bool
        Whether reading the stack may use all threads.
    backend : {"compiled", "reference"}

    Returns
    -------
    Solution
        `converged` says whether `tol` was reached. `history` holds the primal, the dual and the relative
        gap of every step, and the part of the gap that is the SVM's ("svm_gap"): by no more than that can
        the primal rise from one step to the next.

    References
    ----------
    Lei, Binder, Dogan, Kloft: Localized Multiple Kernel Learning - A Convex Approach, Algorithm 1.
    """
    weights = uniform_weights(problem.weights_shape, problem.p) if init is None else init.weights
    start = None if init is None else init.alpha
    svm = InnerSVM(problem.y, problem.C, problem.loss, start, backend=backend)
    reader = _Reader(problem, tol, backend, parallel)
    step = _NewtonStep(reader) if solver == "newton" else _ClosedFormStep(reader)
    history: dict[str, list] = {"primal": [], "dual": [], "gap": [], "svm_gap": []}
    accuracy = _Accuracy(0.9 * tol, 0.9 * tol) if problem.frozen else _Accuracy(SVM_SHARE * tol, FIRST_TARGET)
    with one_blas_thread():
        kernel = reader.combine(weights) if kernel is None else kernel
        for iteration in range(1, max_iter + 1):
            look = _settle(svm, kernel, weights, reader, accuracy, tol)
            values = (svm.primal, look.dual, look.gap, relative_gap(svm.primal, svm.dual))
            for key, value in zip(history, values, strict=True):
                history[key].append(value)
            if callback is not None:
                callback(iteration, svm.primal, look.dual, look.gap)
            if look.certified(tol) or iteration == max_iter or step.stalled(history["gap"], tol, max_iter):
                break
            weights, kernel = step.take(weights, kernel, svm, look, accuracy.target)
        solution = look.solution or reader.certified_look(svm, weights).solution
    return replace(
        solution,
        n_iter=iteration,
        converged=solution.gap <= tol,
        history={key: np.array(values) for key, values in history.items()},
    )


class _Accuracy:
    """How precisely the SVM is solved: roughly while the weights are far off, then as the gap asks."""

    def __init__(self, sharpest, first):
        self.sharpest = sharpest
        self.target = max(sharpest, first)
        self.last_gap = np.inf

    def follow(self, gap):
        """Take note of the gap after a step."""
        self.last_gap = gap
        self.target = min(self.target, max(self.sharpest, GAP_SHARE * gap * min(1.0, SPEED * gap)))

    @property
    def exhausted(self):
        """Whether rounding allows no more."""
        return self.target < SHARPEST_TARGET


def _settle(svm, kernel, weights, reader, accuracy, tol):
    """Solve the SVM at these weights until it is not what holds the gap up; return what was seen there."""
    # The certificate serves for the step too, should it fail; far from the end a look may be cheaper.
    ending = reader.problem.frozen or 10.0 * accuracy.last_gap**2 < tol
    while True:
        svm.solve(kernel, accuracy.target)
        few = np.count_nonzero(svm.alpha) < FEW * len(svm.alpha)
        look = reader.look(svm) if few and not ending else reader.certified_look(svm, weights)
        if look.gap <= tol and look.solution is None:
            look = reader.certified_look(svm, weights)
        svm_part = relative_gap(svm.primal, svm.dual)
        if look.certified(tol) or (look.gap > tol and svm_part <= 0.5 * look.gap) or accuracy.exhausted:
            accuracy.follow(look.gap)
            return look
        accuracy.target *= 0.1


@dataclass(frozen=True)
class _Look:
    """What one read of the support vectors' part of the stack gives.

    norms: q, (l, M). images: (c_j * K_m u_j) on the free variables, (l, M, n_free). dual, gap: their values
    at this point. solution: the certified answer at this point, if all rows were read.
    """

    norms: np.ndarray
    images: np.ndarray
    dual: float
    gap: float
    solution: Solution | None = None

    def certified(self, tol):
        """Whether the certificate was taken here, and says that the gap is small enough."""
        return self.solution is not None and self.solution.gap <= tol


class _Reader:
    """The two ways of reading the stack, with normalisation factors applied."""

    def __init__(self, problem, tol, backend, parallel):
        self.problem, self.tol = problem, tol
        self.backend = load(backend)
        self.options = {} if backend == "reference" else {"parallel": parallel}

    def combine(self, weights, out=None):
        """Return K~ for these weights; of a single plain kernel, that kernel itself."""
        problem = self.problem
        scaled = weights * problem.factors
        plain = scaled.size == 1 and scaled[0, 0] == 1.0 and problem.rows is None
        if plain and problem.grams.dtype == np.float64 and np.all(problem.memberships == 1.0):
            return problem.grams[0]
        return self.backend.combine(
            problem.grams, problem.rows, scaled, problem.memberships, out, **self.options
        )

    def look(self, svm):
        """Read the support vectors' part once: block norms, and images on the free variables."""
        problem = self.problem
        support = np.union1d(np.flatnonzero(svm.alpha), svm.free)
        parts = problem.memberships[support] * svm.alpha[support, None]
        rows = support if problem.rows is None else problem.rows[support]
        products = self.backend.block_products(problem.grams, rows, parts, **self.options)
        products *= problem.factors[:, None]
        return self._look(svm, products, support, None)

    def certified_look(self, svm, weights):
        """Read everything: the certificate, and all that `look` gives."""
        products = audited_products(self.problem, svm.alpha, self.backend, **self.options)
        solution = judge(self.problem, weights, svm.alpha.copy(), products, self.tol)
        return self._look(svm, products, np.arange(self.problem.n_samples), solution)

    def _look(self, svm, products, rows, solution):
        memberships = self.problem.memberships[rows]
        parts = memberships * svm.alpha[rows, None]
        norms = np.maximum(np.einsum("jmi,ij->jm", products, parts), 0.0)
        free = np.searchsorted(rows, svm.free)
        images = products[:, :, free] * memberships[free].T[:, None, :]
        dual = full_dual(self.problem, svm.alpha, norms)
        return _Look(norms, images, dual, relative_gap(svm.primal, dual), solution)


class _Step:
    """A way to move the weights."""

    def stalled(self, gaps, tol, max_iter):
        """Whether the last steps brought no smaller gap: rounding, on a badly conditioned problem."""
        return len(gaps) > PATIENCE and min(gaps[-PATIENCE:]) >= min(gaps[:-PATIENCE])


class _ClosedFormStep(_Step):
    """The paper's update of the weights for fixed w."""

    def __init__(self, reader):
        self.reader = reader

    def take(self, weights, kernel, svm, look, target):
        """Return the next weights and their combined kernel."""
        if self.reader.problem.frozen:
            return weights, kernel
        weights = closed_form_weights(weights, look.norms, self.reader.problem.p)
        return weights, self.reader.combine(weights, kernel)


class _NewtonStep(_Step):
    """Minimise the quadratic model of J, then search the line to its minimiser."""

    def __init__(self, reader):
        self.reader = reader
        self.old = np.empty((0, 0))
        self.damping = 0.0
        self.last_gap = np.inf

    def stalled(self, gaps, tol, max_iter):
        """Whether steps bring no smaller gap any more, or so little that all steps left will not do."""
        if len(gaps) <= PATIENCE:
            return False
        if super().stalled(gaps, tol, max_iter) or min(gaps) == 0.0:
            return True
        pace = np.log(min(gaps[:-PATIENCE]) / min(gaps[-PATIENCE:])) / PATIENCE
        return np.log(min(gaps) / tol) > pace * (max_iter - len(gaps))

    def take(self, weights, kernel, svm, look, target):
        """Return the next weights and their combined kernel; leave `svm` solved near there."""
        problem = self.reader.problem
        if problem.frozen:
            return weights, kernel
        # Where K~ has low rank, at weights of zero, the model may allow no step at all; its linear part does.
        stuck, self.last_gap = look.gap > STUCK * self.last_gap, look.gap
        if stuck:
            goal = minimise_linear_model(look.norms, weights, problem.p)
        else:
            goal = self._goal(weights, kernel, svm, look, problem.p)
        svm.forget_factor()
        slope = -0.5 * float(np.sum(look.norms * (goal - weights)))
        # K~ as it was, in the precision of the stack: the line search needs both ends.
        if self.old.size == 0:
            self.old = np.empty_like(kernel, dtype=problem.grams.dtype)
        np.copyto(self.old, kernel, casting="same_kind")
        kernel = self.reader.combine(goal, kernel)
        # A decrease too small to be seen needs no search: the gap still shrinks with the step. Nor do weights
        # that hardly depend on the norms.
        search = slope < -ROUNDING * svm.primal and problem.p < NEARLY_EVEN
        length = self._search(kernel, svm, slope, target) if search else 1.0
        exact = self.old.dtype == kernel.dtype
        if self.old.nbytes > LARGE:  # memory counts more than the time to get it again
            self.old = np.empty((0, 0))
        weights = weights + length * (goal - weights)
        if length == 1.0:
            self.damping *= 0.25
            return weights, kernel
        self.damping = max(4.0 * self.damping, FIRST_DAMPING)
        return weights, kernel if exact else self.reader.combine(weights, kernel)

    def _goal(self, weights, kernel, svm, look, p):
        """Return the minimiser of the model over the lp balls."""
        n_free = look.images.shape[2]
        if n_free < 2 or p >= NEARLY_EVEN:
            return minimise_linear_model(look.norms, weights, p)
        _, factor = svm.free_factor(kernel)
        halves = factor.half_solve(np.column_stack([look.images.reshape(-1, n_free).T, np.ones(n_free)]))
        images, ones = halves[:, :-1], halves[:, -1]
        # Project away the direction of the intercept: the dual variables keep their sum.
        images -= np.outer(ones, ones @ images) / (ones @ ones)
        curvature = images.T @ images
        curvature.flat[:: len(curvature) + 1] *= 1.0 + self.damping
        alive = look.norms.max(axis=1) > 0.0
        if not alive.any():
            return weights
        keep = np.repeat(alive, weights.shape[1])
        goal = weights.copy()
        goal[alive] = minimise_model(
            -0.5 * look.norms[alive], curvature[np.ix_(keep, keep)], weights[alive], p
        )
        # To first order the dual variables follow the weights: a start for the SVM at the goal.
        svm.shift(-factor.other_half_solve(images @ (goal - weights).ravel()))
        return goal

    def _search(self, kernel, svm, slope, target):
        """Move `kernel` to a point on the line where J has fallen and its slope is nearly flat.

        `kernel` is K~(t) = K~0 + t (K~1 - K~0), from t = 1 on; J'(t) = -1/2 alpha' (K~1 - K~0) alpha. Secant
        steps between the last points of negative and positive slope. Return t.
        """
        before = svm.primal
        length, low, high = 1.0, (0.0, slope), None
        for _ in range(MAX_TRIALS):
            svm.solve(kernel, target)
            here = -0.5 * (float(svm.alpha @ svm.scores) - self._old_form(svm.alpha)) / length
            flat = abs(here) <= FLATTENED * abs(slope)
            risen = svm.dual > before
            if not risen and (flat or (here < 0.0 and high is None)):
                break
            if here > 0.0 or risen:
                high = length, max(here, 0.0)
            else:
                low = length, here
            top = high or (1.0, 0.0)
            share = low[1] / (low[1] - top[1]) if top[1] > low[1] else 0.5
            following = low[0] + float(np.clip(share, 0.1, 0.9)) * (top[0] - low[0])
            kernel -= self.old
            kernel *= following / length
            kernel += self.old
            length = following
        return length

    def _old_form(self, alpha):
        """Return alpha' K~0 alpha."""
        return float(self.reader.backend.block_norms(self.old[None], None, alpha[:, None])[0, 0])
