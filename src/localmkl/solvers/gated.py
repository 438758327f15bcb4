"""LMKL, the gated and non-convex method of Gonen and Alpaydin, with the gate in a kernel's feature space.

    z_im = sum_k r_km k0(x_k, x_i) + v_m,   eta = gate(z),   K~ = sum_m (eta_m eta_m') * K_m
    J(r, v) = max_alpha - sum_i C_i loss*(-alpha_i / C_i, y_i) - 1/2 alpha' K~ alpha   (the inner problem)
    dJ/deta_im = -alpha_i B_im,   B_im = sum_k k_m(x_i, x_k) eta_m(x_k) alpha_k

The gradient of the gate's weight vector sum_i r_im phi0(x_i) is sum_i (dJ/dz_im) phi0(x_i), so r moves along
dJ/dz itself and v along its column sums, or along quasi-Newton directions in the space of k0 + 1: O(n^2 M) a
step, and raw features are never needed.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import expit, softmax

from localmkl.backends import one_blas_thread
from localmkl.solvers.certify import Terms, bracket, gamma, reaches
from localmkl.solvers.convex import inner_solver
from localmkl.solvers.inner import InnerSolver
from localmkl.solvers.objective import relative_gap
from localmkl.solvers.quasi_newton import Curvature, Vector, inner

START_SPREAD = 0.1
"""Root mean square of the gate's activations at a random start."""

LARGEST_CHANGE = 1.0
"""Most that a step may change an activation: longer ones saturate the gate, where its gradient vanishes."""

MEMORY = 10
"""Steps whose curvature is kept."""

SUFFICIENT_DECREASE = 0.1
"""Share of the decrease promised by the slope that a step must deliver."""

INNER_SHARE = 0.05
"""The inner problem's relative gap, as a share of `tol`: it separates a decrease from inexactness."""


@dataclass(frozen=True)
class GatedSolution:
    """A local optimum of LMKL, with the certificate of its SVM.

    Attributes
    ----------
    coefficients : ndarray of shape (n, M)
        r: the gate's weight vectors in terms of the training points.
    offsets : ndarray of shape (M,)
        v: the gate's offsets.
    gating : ndarray of shape (n, M)
        eta on the training rows.
    alpha : ndarray of shape (n,)
        Signed dual variables.
    intercept : float
    primal, dual : float
        Bounds of J at this gate.
    gap : float
        Relative duality gap of the SVM at this gate, by `certify_gated`. It says nothing about other
        gates: the problem in the gate is not convex.
    n_iter : int
        Number of gates visited, the start included.
    converged : bool
    history : dict of ndarray
        "primal", "dual" and "gap" of every gate visited.
    """

    coefficients: np.ndarray
    offsets: np.ndarray
    gating: np.ndarray
    alpha: np.ndarray
    intercept: float
    primal: float
    dual: float
    gap: float
    n_iter: int = 0
    converged: bool = True
    history: dict = field(default_factory=dict)


def solve_gated(
    problem,
    gate_gram,
    *,
    gate="softmax",
    tol=1e-3,
    max_iter=100,
    n_init=1,
    rng=None,
    callback=None,
):
    """Solve localized MKL with a parametric gate by descent on the inner problem's optimal value.

    Problem   min_{r, v} J(r, v), see the top of this file; not convex, hence the restarts.
    Dual      of the SVM at a fixed gate: max_alpha in J.
    Stop      when one step along the gradient lowers J by less than `tol` times its value.

    A step is taken only if the SVM's primal value at the new gate is below its dual value at the old one,
    so J itself falls, whatever the inexactness of both SVMs. Directions are those of limited-memory BFGS;
    where one of them brings less than `tol`, the curvature is forgotten and the gradient is tried. Steps are
    cut so that no activation moves by more than one: longer ones saturate the gate, where gradients vanish.

    Parameters
    ----------
    problem : Problem
        Its `memberships` and `p` are not used.
    gate_gram : ndarray of shape (n, n)
        k0 on the training rows; positive semi-definite.
    gate : {"softmax", "sigmoid"}
        A key of `ACTIVATIONS`.
    tol : float
        Relative decrease of J below which a run ends.
    max_iter : int
        Most gates visited by a run, its start included.
    n_init : int
        Number of runs: the first from the even gate, the others from random ones; the smallest J wins.
    rng : numpy.random.Generator or numpy.random.RandomState, optional
        Draws the starts.
    callback : callable, optional
        Called as ``callback(iteration, primal, dual, gap)`` at every gate; `iteration` begins at 1 in every
        run.

    Returns
    -------
    GatedSolution
        `converged` says whether the winning run stopped by `tol`.

    References
    ----------
    Gonen, Alpaydin: Localized Multiple Kernel Learning, ICML 2008.
    Lei, Binder, Dogan, Kloft: Localized Multiple Kernel Learning - A Convex Approach, supplement.

    Examples
    --------
    >>> from localmkl.solvers.losses import Hinge
    >>> from localmkl.solvers.objective import Problem
    >>> from localmkl.stacks import GramStack
    >>> X = np.linspace(-1.0, 1.0, 20)
    >>> grams = np.stack([np.outer(X, X) + 1.0, np.exp(-50.0 * (X[:, None] - X) ** 2)])
    >>> y = np.where((X > 0.0) & (X < 0.5), 1.0, -1.0)
    >>> problem = Problem(GramStack(grams), np.ones((20, 1)), y, np.ones(20), Hinge(), 1)
    >>> solution = solve_gated(problem, grams[0], rng=np.random.default_rng(0))
    >>> bool(solution.history["primal"][-1] < solution.history["primal"][0]), solution.gap < 1e-4
    (True, True)
    """
    gate_gram = np.asarray(gate_gram, dtype=np.float64)
    _check(problem, gate_gram, gate, max_iter, n_init)
    rng = np.random.default_rng() if rng is None else rng
    descent = _Descent(problem, gate_gram, gate, tol)
    starts = (None if run == 0 else rng for run in range(n_init))
    runs = (_run(descent, start, max_iter, callback) for start in starts)
    with one_blas_thread():
        point, converged, history = min(runs, key=lambda run: run[0].inner.primal)
    gating = apply_gate(gate, gate_gram, point.coefficients, point.offsets)
    intercept, primal, dual, gap = certify_gated(problem, gating, point.inner.alpha)
    return GatedSolution(
        point.coefficients,
        point.offsets,
        gating,
        point.inner.alpha,
        intercept,
        primal,
        dual,
        gap,
        n_iter=len(history["gap"]),
        converged=converged,
        history={key: np.array(values) for key, values in history.items()},
    )


def curvature_bytes(n_samples, n_kernels):
    """Return the memory of the steps and changes of gradients that are kept, with their images."""
    return 4 * MEMORY * n_samples * n_kernels * np.dtype(np.float64).itemsize


def apply_gate(gate, cross_gate_gram, coefficients, offsets):
    """Return eta of new points.

    Parameters
    ----------
    gate : {"softmax", "sigmoid"}
    cross_gate_gram : ndarray of shape (n_new, n)
        k0 between the new points and the training points.
    coefficients : ndarray of shape (n, M)
    offsets : ndarray of shape (M,)

    Returns
    -------
    ndarray of shape (n_new, M)

    Examples
    --------
    >>> apply_gate("softmax", np.eye(2), np.log([[1.0, 3.0], [1.0, 1.0]]), np.zeros(2))
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    """
    return ACTIVATIONS[gate].value(cross_gate_gram @ coefficients + offsets)


def objective_gradient(problem, gate, gating, alpha):
    """Return dJ/dz at a gate, given the SVM's solution there.

    The gradient with respect to the offsets is its column sums; with respect to the coefficients, as plain
    numbers, it is ``gate_gram @ dJ/dz``. Only support vectors have nonzero rows, so only their rows and
    columns of the stack are read.

    Parameters
    ----------
    problem : Problem
    gate : {"softmax", "sigmoid"}
    gating : ndarray of shape (n, M)
        eta on the training rows.
    alpha : ndarray of shape (n,)
        The SVM's solution for K~.

    Returns
    -------
    ndarray of shape (n, M)
    """
    support = np.flatnonzero(alpha)
    products = problem.stack.own_products(gating[support] * alpha[support, None], support)
    gradient = np.zeros_like(gating)
    gradient[support] = ACTIVATIONS[gate].pull_back(gating[support], -alpha[support, None] * products)
    return gradient


def certify_gated(problem, gating, alpha):
    """Return (intercept, primal, dual, relative gap) of the SVM at a gate, judged from scratch.

    One pass over the stack in plain NumPy; the intercept is the best one for these scores.
    """
    products = problem.stack.using(backend="reference").own_products(gating * alpha[:, None])
    reach = reaches(problem).T
    sizes = np.sum(reach * np.abs(gating * alpha[:, None]), axis=0)
    share = gamma(sum(products.shape), np.float64)
    quadratic = 0.5 * np.sum(gating * alpha[:, None] * products), 1.5 * share * np.sum(sizes**2)
    terms = Terms(
        scores=np.sum(gating * products, axis=1),
        scores_error=2.0 * share * np.sum(gating * reach * sizes, axis=1),
        regulariser=quadratic[0],
        regulariser_error=quadratic[1],
        penalty=quadratic[0],
        penalty_error=quadratic[1],
        span=np.sum((gating * reach) ** 2, axis=1).max(),
    )
    return bracket(problem, alpha, terms)[:4]


def _check(problem, gate_gram, gate, max_iter, n_init):
    n_samples = len(problem.y)
    if gate not in ACTIVATIONS:
        raise ValueError(f"`gate` must be one of {tuple(ACTIVATIONS)}, got {gate!r}.")
    if gate_gram.shape != (n_samples, n_samples):
        raise ValueError(
            f"`gate_gram` must have shape {(n_samples, n_samples)}, one row and one column for each "
            f"training sample, got {gate_gram.shape}."
        )
    for name, value in (("max_iter", max_iter), ("n_init", n_init)):
        if value < 1:
            raise ValueError(f"`{name}` must be at least 1, got {value}.")


class _Point(NamedTuple):
    """A gate and the SVM solved there."""

    coefficients: np.ndarray
    offsets: np.ndarray
    activations: np.ndarray
    gating: np.ndarray
    inner: InnerSolver


def _run(descent, rng, max_iter, callback):
    """Descend from one start; return the last point, whether it is settled, and the history."""
    point, curvature, settled = descent.start(rng), Curvature(MEMORY), False
    gradient = descent.gradient(point)
    history: dict[str, list] = {"primal": [], "dual": [], "gap": []}
    for iteration in range(1, max_iter + 1):
        gap = relative_gap(point.inner.primal, point.inner.dual)
        for key, value in zip(history, (point.inner.primal, point.inner.dual, gap), strict=True):
            history[key].append(value)
        if callback is not None:
            callback(iteration, point.inner.primal, point.inner.dual, gap)
        if settled or iteration == max_iter:
            break
        following, move = descent.line_search(point, gradient, curvature.direction(gradient))
        if following is None and curvature.known:
            curvature.forget()
            following, move = descent.line_search(point, gradient, gradient)
        if following is None:
            settled = True
            break
        new_gradient = descent.gradient(following)
        if point.inner.primal - following.inner.primal < descent.tol * point.inner.primal:
            settled = not curvature.known
            curvature.forget()
        else:
            curvature.learn(move, new_gradient.plus(gradient, -1.0))
        point, gradient = following, new_gradient
    return point, settled, history


class _Descent:
    """The data of all runs: the problem, the options, and one buffer for the combined kernel."""

    def __init__(self, problem, gate_gram, gate, tol):
        self.problem = problem
        self.gate_gram = gate_gram
        self.gate = gate
        self.tol = tol
        self.kernel = np.empty_like(gate_gram)

    def start(self, rng):
        """Return the point of zero coefficients and offsets, or, with `rng`, of small random ones."""
        shape = len(self.gate_gram), self.problem.stack.n_kernels
        coefficients, offsets = np.zeros(shape), np.zeros(shape[1])
        if rng is not None:
            reach = float(np.linalg.norm(self.gate_gram)) / np.sqrt(shape[0])
            coefficients = rng.standard_normal(shape) * START_SPREAD / (reach or 1.0)
            offsets = rng.standard_normal(shape[1]) * START_SPREAD
        activations = self.gate_gram @ coefficients + offsets
        return self.solve_at(coefficients, offsets, activations, inner_solver(self.problem))

    def solve_at(self, coefficients, offsets, activations, inner):
        """Return the point of this gate; a copy of `inner` is solved, from its dual variables."""
        gating = ACTIVATIONS[self.gate].value(activations)
        self.problem.stack.combine_gated(gating, self.kernel)
        inner = copy(inner)
        inner.alpha = inner.alpha.copy()
        inner.forget_factor()
        inner.solve(self.kernel, INNER_SHARE * self.tol)
        return _Point(coefficients, offsets, activations, gating, inner)

    def gradient(self, point):
        """Return the gradient of J, a function in the space of k0 + 1."""
        slopes = objective_gradient(self.problem, self.gate, point.gating, point.inner.alpha)
        return Vector(slopes, self.gate_gram @ slopes + slopes.sum(axis=0))

    def line_search(self, point, gradient, direction):
        """Return a point with a smaller J against the direction and the move there; None twice without one.

        Give up once the decrease that the slope promises is below what would end the run anyway.
        """
        slope = inner(direction, gradient)
        if not slope > 0.0:
            return None, None
        step = LARGEST_CHANGE / float(np.abs(direction.image).max())
        if direction is not gradient:
            step = min(step, 1.0)
        while True:
            move = direction.scaled(-step)
            trial = self.solve_at(
                point.coefficients + move.coordinates,
                point.offsets + move.coordinates.sum(axis=0),
                point.activations + move.image,
                point.inner,
            )
            promised = step * slope
            if trial.inner.primal <= point.inner.dual - SUFFICIENT_DECREASE * promised:
                return trial, move
            if not promised > INNER_SHARE * self.tol * point.inner.primal:
                return None, None
            # The minimiser of the parabola through J, its slope and the trial, kept within bounds.
            excess = trial.inner.primal - point.inner.dual + promised
            step *= min(max(0.5 * promised / excess, 0.1), 0.5)


class Activation(NamedTuple):
    """The way from activations z (n, M) to weights eta (n, M), and of a gradient back.

    Attributes
    ----------
    value : callable
        ``value(z) -> eta``.
    pull_back : callable
        ``pull_back(eta, dJ/deta) -> dJ/dz``: the chain rule.
    """

    value: Callable
    pull_back: Callable


def _softmax_pull_back(eta, slopes):
    return eta * (slopes - np.sum(eta * slopes, axis=1, keepdims=True))


def _sigmoid_pull_back(eta, slopes):
    return eta * (1.0 - eta) * slopes


ACTIVATIONS = {
    "softmax": Activation(lambda z: softmax(z, axis=1), _softmax_pull_back),
    "sigmoid": Activation(expit, _sigmoid_pull_back),
}
"""The kernels compete for each point (softmax), or each decides for itself (sigmoid)."""
