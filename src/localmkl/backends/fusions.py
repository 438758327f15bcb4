"""Steps of convex clustering, and a spanning tree, in numba; the twins are in `localmkl.gates.fusing`."""

import numpy as np

from localmkl.backends.compiled import _FASTMATH
from localmkl.backends.compiling import njit


@njit(
    fastmath=_FASTMATH,
)
def _drawn(rows, inverse, first, second, duals, points):
    """Write the points that duals draw the rows to: u_i = x_i - (sum_e of i +-z_e) / w_i."""
    points[:] = rows
    n_columns = rows.shape[1]
    for e in range(len(first)):
        i, k = first[e], second[e]
        less, more = inverse[i], inverse[k]
        for c in range(n_columns):  # two loops, of vector instructions each
            points[i, c] -= less * duals[e, c]
        for c in range(n_columns):
            points[k, c] += more * duals[e, c]


@njit(
    fastmath=_FASTMATH,
)
def ascend(rows, inverse, first, second, radii, steps, duals, n_steps):
    """Take dual steps in place; return which edges are fused; see `localmkl.gates.fusing.ascend`."""
    n_edges, n_columns = duals.shape
    ahead, points, moved = duals.copy(), np.empty_like(rows), np.empty(n_columns)
    fused, age = np.zeros(n_edges, dtype=np.bool_), 1.0
    for _ in range(n_steps):
        _drawn(rows, inverse, first, second, ahead, points)
        older, age = age, 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * age * age))
        momentum, backwards = (older - 1.0) / age, 0.0
        for e in range(n_edges):
            i, k, step, square = first[e], second[e], steps[e], 0.0
            for c in range(n_columns):
                moved[c] = ahead[e, c] + step * (points[i, c] - points[k, c])
                square += moved[c] * moved[c]
            fused[e] = square <= radii[e] * radii[e]
            shrink = 1.0 if fused[e] else radii[e] / np.sqrt(square)
            against = 0.0
            for c in range(n_columns):
                value = shrink * moved[c]
                change = value - duals[e, c]
                against += (ahead[e, c] - value) * change
                duals[e, c] = value
                ahead[e, c] = value + momentum * change
            backwards += against / step
        if backwards > 0.0:
            ahead[:] = duals
            age = 1.0
    return fused


@njit()
def spanning_tree(distances):
    """Return the edges of a minimum spanning tree, (n - 1, 2); see `localmkl.gates.fusing.spanning_tree`."""
    n = len(distances)
    nearest, parent = distances[0].copy(), np.zeros(n, dtype=np.int64)
    outside = np.ones(n, dtype=np.bool_)
    outside[0] = False
    edges = np.empty((n - 1, 2), dtype=np.int64)
    for number in range(n - 1):
        best, least = -1, np.inf
        for i in range(n):
            if outside[i] and (best < 0 or nearest[i] < least):
                best, least = i, nearest[i]
        outside[best] = False
        edges[number, 0], edges[number, 1] = parent[best], best
        for i in range(n):
            if outside[i] and distances[best, i] < nearest[i]:
                nearest[i], parent[i] = distances[best, i], best
    return edges
