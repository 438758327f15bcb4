"""The small problem inside a second-order step on the kernel weights.

    min_x  g'(x - x0) + 1/2 (x - x0)' H (x - x0),   x >= 0,  ||x_j||_p <= 1 for each cluster j

l * M unknowns; a primal-dual interior-point method, milliseconds for every p in [1, inf).
"""

import numpy as np

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


def minimise_model(slope, curvature, start, p):
    """Return the weights that minimise a quadratic model over the lp balls.

    Parameters
    ----------
    slope : ndarray of shape (l, M)
        Gradient at `start`.
    curvature : ndarray of shape (l * M, l * M)
        Positive semidefinite.
    start : ndarray of shape (l, M)
        Where the model was made.
    p : float
        In [1, inf).

    Returns
    -------
    ndarray of shape (l, M)
    """
    n_clusters, n_kernels = start.shape
    size = max(float(np.abs(slope).max()), np.finfo(float).tiny)
    g = slope.ravel() / size
    H = curvature / size
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
        gradient = g + H @ (x - start.ravel())
        normal = p * x ** (p - 1.0)
        excess = _room(x, p, n_clusters) - slack
        residual = gradient - s + multiplier[cluster] * normal
        complementarity = float(s @ x + multiplier @ slack)
        errors = (complementarity, np.abs(residual * x).max(), np.abs(multiplier * excess).max())
        if max(errors) <= PRECISION or complementarity <= ROUNDED:
            break
        centring = 0.02 if length > 0.9 else 0.1
        mu = centring * complementarity / (x.size + n_clusters)
        matrix = H + np.diag(multiplier[cluster] * p * (p - 1.0) * x ** (p - 2.0) + s / x)
        for j in range(n_clusters):
            own = slice(j * n_kernels, (j + 1) * n_kernels)
            matrix[own, own] += multiplier[j] / slack[j] * np.outer(normal[own], normal[own])
        pull = (mu - multiplier * excess) / slack
        right = -gradient + mu / x - normal * pull[cluster]
        # With a unit diagonal the matrix stays well conditioned as weights vanish.
        scale = 1.0 / np.sqrt(matrix.diagonal())
        factor = factorise(lambda: np.asfortranarray(matrix * np.outer(scale, scale)))  # noqa: B023
        dx = scale * factor.solve(scale * right)
        ds = (mu - s * x - s * dx) / x
        d_slack = excess - np.add.reduceat(normal * dx, edges)
        d_multiplier = (mu - multiplier * slack - multiplier * d_slack) / slack
        pairs = ((x, dx), (s, ds), (slack, d_slack), (multiplier, d_multiplier))
        length = min(_length(value, change) for value, change in pairs)
        for value, change in pairs:
            value += length * change
    return _on_the_sphere(x.reshape(n_clusters, n_kernels), p)


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
    falling = change < 0.0
    if not falling.any():
        return 1.0
    return min(1.0, TO_THE_WALL * float(np.min(-value[falling] / change[falling])))


def _on_the_sphere(weights, p):
    """Return the weights scaled to norm one, where the objective is never larger."""
    if p == 1:
        weights = np.where(weights < ZERO * weights.max(axis=1, keepdims=True), 0.0, weights)
    return weights / np.sum(weights**p, axis=1, keepdims=True) ** (1.0 / p)
