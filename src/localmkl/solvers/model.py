"""The small problem inside a step on the kernel weights: a model of J, minimised over the lp balls.

    min_x  J(x) = -1/2 z' (D^-1 + S'S)^-1 z,   D = diag(x - x0),   x >= 0,  ||x_j||_p <= 1 for each cluster j

J as it would be if each kernel had one direction alone, the one in which it acts on the dual variables now:
K_m u_j =: z_jm v_jm with z^2 = q, and S = T^1/2 V. At x0 it has the slope -q/2 and the curvature R'R of the
true J, R = S diag(z). Growing weights make each other superfluous, as they do in truth: the steps of a
quadratic model are too short where a kernel of low rank comes in. (v_jm v_jm' <= K_m, so that while weights
grow the model lies above the true J.)

l * M unknowns; a primal-dual interior-point method, about twenty steps for every p in [1, inf). S has one row
for each free variable: with many clusters that is far less than the number of weights.
"""

from abc import ABC, abstractmethod

import numpy as np
from scipy.linalg.lapack import dpotrf

from localmkl.solvers.factor import factorise

PRECISION = 1e-11
"""Errors, with slopes of size one, at which the answer is exact for every step that is taken with it."""
ROUNDED = 1e-14
"""Complementarity below which rounding decides."""
MAX_ITERATIONS = 100
"""Far more than were ever needed (about fifteen), to end."""
TO_THE_WALL = 0.995
"""Share of the way to the nearest wall: the usual choice of interior-point methods."""
ZERO = 1e-9
"""Weights below this share of their cluster's largest are set to zero at p = 1."""
LOW_RANK = 0.25
"""Rank of the curvature, as a share of its size, up to which a system of the rank is cheaper to solve."""
SILENT = 1e-12
"""Root of a block norm, as a share of the largest, below which a kernel has no direction but rounding."""
FLOOR = 1e-10
"""Share of the curvature that is added to the diagonal where a system is solved by the rank: it divides by
the diagonal, which vanishes with the walls at p = 1. Steps come out shorter by as much."""
REFINEMENTS = 2
"""Corrections of such a solution: each leaves about 1e-5 of its error at the end."""


def minimise_model(norms, root, start, p, damping=0.0):
    """Return the weights that minimise the model over the lp balls.

    Parameters
    ----------
    norms : ndarray of shape (l, M)
        Block norms q at `start`; the slope there is -q/2.
    root : ndarray of shape (r, l * M)
        R, with the curvature R'R at `start`.
    start : ndarray of shape (l, M)
        Where the model was made.
    p : float
        In [1, inf).
    damping : float
        Share of the diagonal that is added to the curvature.

    Returns
    -------
    ndarray of shape (l, M)
    """
    n_clusters, n_kernels = start.shape
    model = _Model(norms.ravel(), root, start.ravel(), damping)
    low = len(model.directions) <= LOW_RANK * start.size
    system = (_ByRank if low else _Whole)(n_kernels)
    centre = n_kernels ** (-1.0 / p)
    x = (0.5 * start + 0.4 * centre).ravel()
    cluster = np.repeat(np.arange(n_clusters), n_kernels)
    edges = np.arange(0, x.size, n_kernels)
    mu = 0.1
    slack = _room(x, p, n_clusters)
    s = mu / x
    multiplier = mu / slack
    length = 0.0
    for _ in range(MAX_ITERATIONS):
        gradient, root = model.at(x)
        normal = p * x ** (p - 1.0)
        excess = _room(x, p, n_clusters) - slack
        residual = gradient - s + multiplier[cluster] * normal
        complementarity = float(s @ x + multiplier @ slack)
        errors = (complementarity, np.abs(residual * x).max(), np.abs(multiplier * excess).max())
        if max(errors) <= PRECISION or complementarity <= ROUNDED:
            break
        centring = 0.02 if length > 0.9 else 0.1
        mu = centring * complementarity / (x.size + n_clusters)
        diagonal = model.ridge + multiplier[cluster] * p * (p - 1.0) * x ** (p - 2.0) + s / x
        pull = (mu - multiplier * excess) / slack
        right = -gradient + mu / x - normal * pull[cluster]
        dx = system.solve(root, right, diagonal, normal, slack / multiplier)
        ds = (mu - s * x - s * dx) / x
        d_slack = excess - np.add.reduceat(normal * dx, edges)
        d_multiplier = (mu - multiplier * slack - multiplier * d_slack) / slack
        pairs = ((x, dx), (s, ds), (slack, d_slack), (multiplier, d_multiplier))
        length = min(_length(value, change) for value, change in pairs)
        for value, change in pairs:
            value += length * change
    return _on_the_sphere(x.reshape(n_clusters, n_kernels), p)


class _Model:
    """J with one direction for each kernel; in units in which its steepest slope is one."""

    def __init__(self, norms, root, start, damping):
        size = max(0.5 * float(norms.max()), np.finfo(float).tiny)
        self.start, self.z = start, np.sqrt(norms / size)
        self.ridge = damping * np.einsum("rk,rk->k", root, root) / size
        root, alive = root / np.sqrt(size), self.z > SILENT
        self.directions = np.divide(root, self.z, out=np.zeros_like(root), where=alive)
        if len(root) > len(norms):  # an equal one with fewer rows
            self.directions = np.triu(factorise(lambda: _gram(self.directions)).upper)
        # Even without any weights the matrix of `at` would be positive semidefinite; rounding may spoil that.
        kept = self.directions * np.sqrt(start)
        if dpotrf((1.0 + ROUNDED) * np.eye(len(kept)) - kept @ kept.T)[1]:
            self.directions /= max(np.linalg.norm(kept, 2), 1.0)

    def at(self, x):
        """Return the slope at x, and a root R of the curvature there, without the ridge: H = R'R + ridge."""
        S, change = self.directions, x - self.start
        factor = factorise(lambda: _with_unit_diagonal_added((S * change) @ S.T))
        halves = factor.half_solve(S)
        z = self.z - halves.T @ (halves @ (change * self.z))
        return -0.5 * z**2 + self.ridge * change, halves * z


def _gram(matrix):
    return (matrix.T @ matrix).T  # symmetric: its transpose is the same in the order of Fortran


def _with_unit_diagonal_added(matrix):
    matrix.ravel()[:: len(matrix) + 1] += 1.0
    return matrix.T


class _System(ABC):
    """The systems of the interior-point method: (R'R + D + N E^-1 N') v = right.

    D: the diagonal of ridge, walls and balls. N: the normals of the balls, one column for each cluster. E:
    how far each ball is from being touched, zero in the end.
    """

    def __init__(self, n_kernels):
        self.n_kernels = n_kernels

    @abstractmethod
    def solve(self, root, right, diagonal, normal, far):
        """Return the solution v, given R, D, all normals in one vector, and E."""


class _Whole(_System):
    """The matrix is made and factorised."""

    def solve(self, root, right, diagonal, normal, far):
        matrix = root.T @ root
        matrix.ravel()[:: len(matrix) + 1] += diagonal
        for j, room in enumerate(far):
            own = slice(j * self.n_kernels, (j + 1) * self.n_kernels)
            matrix[own, own] += np.outer(normal[own], normal[own]) / room
        factor, scale = _scaled_factor(matrix)
        return scale * factor.solve(scale * right)


class _ByRank(_System):
    """The identity of Woodbury: a matrix of the size of the rank is factorised instead.

    With u = E^-1 N'v the system is (H + D) v + N u = right, N'v - E u = 0, which stays exact as E vanishes.
    """

    def solve(self, root, right, diagonal, normal, far):
        sizes = np.einsum("rk,rk->k", root, root)
        D = diagonal + FLOOR * (sizes + sizes.mean())
        total = far + self._sums(normal**2 / D)
        core, scale = _scaled_factor(
            np.eye(len(root)) + root @ self._without(root, 0.0, D, normal, total)[0].T
        )
        v, u = np.zeros_like(right), np.zeros_like(far)
        for _ in range(1 + REFINEMENTS):
            first = right - root.T @ (root @ v) - D * v - normal * self._spread(u)
            second = far * u - self._sums(normal * v)
            bare = self._without(first, second, D, normal, total)[0]
            inner = scale * core.solve(scale * (root @ bare))
            more = self._without(first - root.T @ inner, second, D, normal, total)
            v, u = v + more[0], u + more[1]
        return v

    def _without(self, first, second, D, normal, total):
        """Return the solution of D v + N u = first, N'v - E u = second, also for several rows of `first`."""
        u = (self._sums(first * (normal / D)) - second) / total
        return (first - normal * self._spread(u)) / D, u

    def _sums(self, values):
        """Return sums over the kernels of each cluster."""
        return values.reshape(*values.shape[:-1], -1, self.n_kernels).sum(axis=-1)

    def _spread(self, values):
        return np.repeat(values, self.n_kernels, axis=-1)


def _scaled_factor(matrix):
    """Return the factor of a matrix with a unit diagonal, and the scale: weights may vanish as they like."""
    scale = 1.0 / np.sqrt(matrix.diagonal())
    return factorise(lambda: (matrix * scale[:, None] * scale).T), scale


def minimise_linear_model(norms, start, p):
    """Return the weights that minimise ``-norms . x`` over the lp balls: the representer theorem's.

    Clusters whose norms all vanish keep `start`.
    """
    largest = norms.max(axis=1, keepdims=True)
    alive = largest > 0.0
    shares = np.divide(norms, largest, out=np.zeros_like(norms), where=alive)
    weights = (shares == 1.0).astype(float) if p == 1 else shares ** (1.0 / (p - 1.0))
    totals = np.sum(weights**p, axis=1, keepdims=True) ** (1.0 / p)
    return np.where(alive, weights / np.where(alive, totals, 1.0), start)


def _room(x, p, n_clusters):
    return 1.0 - np.sum(x.reshape(n_clusters, -1) ** p, axis=1)


def _length(value, change):
    steepest = float((change / value).min())
    return min(1.0, -TO_THE_WALL / steepest) if steepest < 0.0 else 1.0


def _on_the_sphere(weights, p):
    """Return the weights scaled to norm one, where the objective is never larger."""
    if p == 1:
        weights = np.where(weights < ZERO * weights.max(axis=1, keepdims=True), 0.0, weights)
    return weights / np.sum(weights**p, axis=1, keepdims=True) ** (1.0 / p)
