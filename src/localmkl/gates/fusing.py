"""Convex clustering: points that are drawn together until they fuse.

Problem   min_U  1/2 sum_i w_i ||u_i - x_i||^2 + s sum_e a_e ||u_i - u_k||,      e = (i, k)
Dual      max_Z  sum_e <z_e, x_i - x_k> - 1/2 sum_i ||sum_e +-z_e||^2 / w_i,     ||z_e|| <= s a_e
Stop      when the relative duality gap, recomputed from U and Z alone, is at most `tol`.

Rows are the kernel principal components of the gate kernel, edges join nearest neighbours (and a spanning
tree, so that all can meet), and a_e = exp(-d2_e / scale). U follows from Z: u_i = x_i - (sum_e +-z_e) / w_i.
Where an edge's step ends inside its ball, its ends are fused; rows that fused edges join are one cluster. The
strength s goes from zero, where every row is a cluster, up a *path* to where there is one cluster.

Accelerated projected gradient ascent, with a step of its own for every edge, 1 / (n_i / w_i + n_k / w_k) for
ends of n_i and n_k edges, and a restart where momentum points backwards.

References
----------
Hocking, Joulin, Bach, Vert: Clusterpath: clustering using convex fusion penalties. ICML, 2011.
Chi, Lange: Splitting methods for convex clustering. JCGS 24, 2015.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from localmkl._types import Bools, Floats, Ints

FIRST_ROUND, LONGEST_ROUND = 10, 160
"""Steps before the first certificate, which costs about ten, and most between two; rounds double."""

FIRST_GROWTH, GROWTH = 2.0, 1.5
"""Ratio of the strengths of neighbouring points of a path, while clusters are small and from then on."""

MOST_POINTS = 200
"""Points of a path; from its beginning on the strength can grow by 35 orders."""

EQUAL = 1e-6
"""Distance, as a share of the largest from the mean, up to which rows are the same."""

FAINTEST = 1e-3
"""Least weight of an edge: else rows far from all others would never meet them."""

ON_THE_WAY = 1e-3
"""Relative gap at which a path goes on; the point that is picked goes on to `tol`."""


@dataclass(frozen=True)
class Fusion:
    """A problem of convex clustering.

    Parameters
    ----------
    rows : ndarray of shape (n, r)
        x.
    weights : ndarray of shape (n,)
        w, positive.
    first, second : ndarray of int, shape (m,)
        Ends of the edges.
    closeness : ndarray of shape (m,)
        a, positive.
    """

    rows: np.ndarray
    weights: np.ndarray
    first: np.ndarray
    second: np.ndarray
    closeness: np.ndarray

    @cached_property
    def lengths(self) -> Floats:
        """``||x_i - x_k||`` of the edges."""
        return np.sqrt(_squares(self.rows[self.first] - self.rows[self.second]))

    @cached_property
    def incidence(self) -> csr_array:
        """The matrix A with ``A @ U`` the differences along edges, (m, n)."""
        m, edges = len(self.first), np.arange(len(self.first))
        signs = np.r_[np.ones(m), -np.ones(m)]
        places = np.r_[edges, edges], np.r_[self.first, self.second]
        return csr_array((signs, places), shape=(m, len(self.rows)))

    @cached_property
    def steps(self) -> Floats:
        """The step of each edge."""
        degrees = np.bincount(np.r_[self.first, self.second], minlength=len(self.rows)) / self.weights
        return 1.0 / (degrees[self.first] + degrees[self.second])

    @cached_property
    def first_strength(self) -> float:
        """The strength at which the median edge may begin to fuse.

        A row moves by no more than s times the closeness of its edges over its weight: an edge that is longer
        than both ends can move is not fused.
        """
        pulls = np.bincount(self.first, self.closeness, len(self.rows))
        pulls = (pulls + np.bincount(self.second, self.closeness, len(self.rows))) / self.weights
        needed = self.lengths / (pulls[self.first] + pulls[self.second])
        apart = needed[needed > 0.0]
        return float(np.median(apart)) if len(apart) else 1.0

    def drawn(self, duals: Floats) -> Floats:
        """Return U of Z."""
        return self.rows - (self.incidence.T @ duals) / self.weights[:, None]

    def primal(self, points: Floats, strength: float) -> float:
        """Return the objective at any points U."""
        fit = self.weights @ _squares(points - self.rows)
        apart = np.sqrt(_squares(points[self.first] - points[self.second]))
        return float(0.5 * fit + strength * (self.closeness @ apart))

    def inside(self, duals: Floats, strength: float) -> Floats:
        """Return Z brought into its balls, where it is not."""
        sizes, radii = np.sqrt(_squares(duals)), strength * self.closeness
        return duals * np.divide(radii, sizes, out=np.ones_like(sizes), where=sizes > radii)[:, None]

    def dual(self, points: Floats) -> float:
        """Return a lower bound of the optimum: the dual of a Z inside its balls whose points these are."""
        moved = self.rows - points
        return float(self.weights @ (np.einsum("ic,ic->i", moved, self.rows) - 0.5 * _squares(moved)))

    def merged(self, points: Floats, labels: Ints) -> Floats:
        """Return points with those of each cluster in their mean."""
        totals = np.bincount(labels, self.weights)
        sums = np.stack([np.bincount(labels, self.weights * column) for column in points.T], axis=1)
        return (sums / totals[:, None])[labels]

    def labels_of(self, fused: Bools) -> Ints:
        """Return the clusters that fused edges join, numbered from the first row on."""
        n = len(self.rows)
        joined = csr_array((np.ones(fused.sum()), (self.first[fused], self.second[fused])), shape=(n, n))
        return connected_components(joined, directed=False)[1]


@dataclass(frozen=True)
class Fused:
    """An answer with its certificate.

    `primal` is the objective at `points`, `dual` a lower bound from `duals`, `gap` their relative difference.
    """

    strength: float
    labels: np.ndarray
    points: np.ndarray
    duals: np.ndarray
    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """``(primal - dual) / primal``, not negative by rounding."""
        return max(self.primal - self.dual, 0.0) / self.primal if self.primal > 0.0 else 0.0

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.labels.max()) + 1


def certify(problem: Fusion, strength: float, duals: Floats, labels: Ints) -> Fused:
    """Return the answer that any duals and any clusters make, judged from scratch in plain NumPy.

    Duals are brought into their balls, and points of a cluster are put into their mean, unless that is worse.
    """
    duals = problem.inside(duals, strength)
    drawn = problem.drawn(duals)
    merged = problem.merged(drawn, labels)
    values = problem.primal(merged, strength), problem.primal(drawn, strength)
    best = merged if values[0] <= values[1] else drawn
    return Fused(strength, labels, best, duals, min(values), problem.dual(drawn))


def solve_fusion(
    problem: Fusion,
    strength: float,
    *,
    duals: Floats | None = None,
    tol: float = 1e-6,
    max_iter: int = 10000,
    work: Callable[..., Any] | None = None,
) -> Fused:
    """Solve one problem of convex clustering until its duality gap is at most `tol`.

    Parameters
    ----------
    problem : Fusion
    strength : float
        s, positive.
    duals : ndarray of shape (m, r), optional
        Where to begin.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Most steps.
    work : callable, optional
        What takes the steps: the compiled `ascend` by default.

    Returns
    -------
    Fused

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [10.0]])
    >>> problem = Fusion(x, np.ones(3), np.array([0, 1]), np.array([1, 2]), np.array([1.0, 0.1]))
    >>> solve_fusion(problem, 1.0).points.round(6).ravel().tolist()
    [0.55, 0.55, 9.9]
    """
    work = _compiled("ascend") if work is None else work
    duals = np.zeros((len(problem.first), problem.rows.shape[1])) if duals is None else duals.copy()
    inverse, radii = 1.0 / problem.weights, strength * problem.closeness
    done, n_steps = 0, FIRST_ROUND
    while done < max_iter:
        n_steps = min(n_steps, max_iter - done)
        fused = work(
            problem.rows, inverse, problem.first, problem.second, radii, problem.steps, duals, n_steps
        )
        found = certify(problem, strength, duals, problem.labels_of(fused))
        if found.gap <= tol:
            break
        done, n_steps = done + n_steps, min(2 * n_steps, LONGEST_ROUND)
    return found


def fusion_path(
    problem: Fusion, n_least: int = 1, *, tol: float = ON_THE_WAY, max_iter: int = 10000
) -> Iterator[Fused]:
    """Yield answers from one where every distinct row is a cluster on, until there are at most `n_least`.

    Each begins at the one before. `tol` and `max_iter` are for each.
    """
    duals = np.zeros((len(problem.first), problem.rows.shape[1]))
    same = EQUAL * np.sqrt(_squares(problem.rows).max())
    alone = problem.labels_of(problem.lengths <= same)
    found = Fused(0.0, alone, problem.rows, duals, 0.0, 0.0)
    yield found
    for number in range(MOST_POINTS):
        if found.n_clusters <= n_least:
            return
        growth = GROWTH if 2 * found.n_clusters < len(problem.rows) else FIRST_GROWTH
        strength = problem.first_strength if number == 0 else found.strength * growth
        found = solve_fusion(problem, strength, duals=found.duals * growth, tol=tol, max_iter=max_iter)
        yield found


def neighbour_graph(rows: Floats, weights: Floats, n_neighbors: int) -> Fusion:
    """Return the problem whose edges join nearest neighbours, and the rest by a spanning tree.

    Parameters
    ----------
    rows : ndarray of shape (n, r)
    weights : ndarray of shape (n,)
    n_neighbors : int
        Of each row; an edge stays if either end counts the other among them.
    """
    n, rows = len(rows), np.ascontiguousarray(rows)
    norms = _squares(rows)
    distances = np.maximum(norms[:, None] + norms - 2.0 * rows @ rows.T, 0.0)
    np.fill_diagonal(distances, np.inf)
    edges = _compiled("spanning_tree")(distances)
    if n_neighbors < n - 1:
        nearest = np.argpartition(distances, n_neighbors - 1, axis=1)[:, :n_neighbors]
        pairs = np.column_stack([np.repeat(np.arange(n), n_neighbors), nearest.ravel()])
    else:
        pairs = np.column_stack(np.triu_indices(n, 1))
    edges = np.sort(np.concatenate([edges, pairs]), axis=1)
    first, second = np.divmod(np.unique(edges[:, 0] * n + edges[:, 1]), n)
    lengths = distances[first, second]
    scale = float(np.median(lengths)) if lengths.any() else 1.0
    closeness = np.maximum(np.exp(-lengths / scale), FAINTEST)
    return Fusion(rows, weights, first, second, closeness)


def _squares(vectors: Floats) -> Floats:
    """Return the squared lengths of rows."""
    return np.einsum("ic,ic->i", vectors, vectors)


def _compiled(name: str) -> Callable[..., Any]:
    from localmkl.backends import fusions

    return getattr(fusions, name)


def ascend(
    rows: Floats,
    inverse: Floats,
    first: Ints,
    second: Ints,
    radii: Floats,
    steps: Floats,
    duals: Floats,
    n_steps: int,
) -> Bools:
    """Take accelerated dual steps in place; return which edges are fused, (m,).

    Parameters
    ----------
    rows : ndarray of shape (n, r)
    inverse : ndarray of shape (n,)
        1 / w.
    first, second : ndarray of int, shape (m,)
    radii, steps : ndarray of shape (m,)
        Of the edges' balls, and of their gradients.
    duals : ndarray of shape (m, r)
        Z; it is changed.
    n_steps : int
    """
    incidence = Fusion(rows, 1.0 / inverse, first, second, radii).incidence
    ahead, age = duals.copy(), 1.0
    for _ in range(n_steps):
        points = rows - inverse[:, None] * (incidence.T @ ahead)
        older, age = age, 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * age**2))
        moved = ahead + steps[:, None] * (incidence @ points)
        sizes = np.sqrt(_squares(moved))
        fused = sizes <= radii
        moved *= np.divide(radii, sizes, out=np.ones_like(sizes), where=~fused)[:, None]
        change = moved - duals
        backwards = np.einsum("ec,ec,e->", ahead - moved, change, 1.0 / steps)
        duals[:] = moved
        ahead = moved + (older - 1.0) / age * change
        if backwards > 0.0:
            ahead, age = moved.copy(), 1.0
    return fused


def spanning_tree(distances: Floats) -> Ints:
    """Return the edges of a minimum spanning tree of all pairs, (n - 1, 2).

    Parameters
    ----------
    distances : ndarray of shape (n, n)
        What is on the diagonal does not matter.
    """
    inside, edges = np.zeros(len(distances), dtype=bool), []
    inside[0] = True
    while not inside.all():
        crossing = np.where(inside[:, None] & ~inside, distances, np.inf)
        i, k = np.unravel_index(int(crossing.argmin()), crossing.shape)
        edges.append((i, k))
        inside[k] = True
    return np.array(edges, dtype=np.int64).reshape(-1, 2)
