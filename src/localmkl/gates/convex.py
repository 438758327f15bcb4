"""The gate of convex clustering: one optimum, whatever the seed.

    max over the path of  prod_j |S_j|,    S_1 ... S_l the largest clusters of a point of it

Rows that are in none of these clusters belong to them by distance, as new rows do; d2_j is that to the mean
of S_j, as with k-means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from localmkl._checks import check_integer, check_number
from localmkl._types import Floats, Ints
from localmkl.gates.components import kernel_components
from localmkl.gates.fusing import ON_THE_WAY, fusion_path, neighbour_graph, solve_fusion
from localmkl.gates.interface import Gate, counted, spread_out

if TYPE_CHECKING:
    from localmkl.gates.fusing import Fused, Fusion


WORTH = 0.1
"""Gain of the product's logarithm below which later points, where clusters only fuse, are not looked at."""

FINER = 5
"""Halvings of the steps of the path beside the best point: ratios of 1.5 become ratios of 1.01."""


class ConvexGate(Gate):
    """Soft or hard memberships from convex clustering on one Gram matrix.

    Every row x_i has a point u_i; points are drawn to their rows, and to each other by the distance between
    those of neighbours: minimise ``1/2 sum_i w_i ||u_i - x_i||^2 + s sum_e a_e ||u_i - u_k||``. Rows whose
    points meet are a cluster. From s = 0 on, clusters fuse until one is left. Of this path the point is
    picked whose `n_clusters` largest clusters have the largest product of sizes: large ones, and alike. The
    problem is convex, so nothing depends on a seed.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of clusters.
    evenness : float or None, default=0.5
        Average evenness in [1/n_clusters, 1]; None for a hard partition.
    n_neighbors : int, default=7
        Nearest neighbours that a point is drawn to; a spanning tree joins what they leave apart.
    n_components : int or None, default=5
        Leading kernel principal components that stand for rows; None for all, where the problem is that in
        the whole feature space.
    tol : float, default=1e-3
        Relative duality gap of the point that is picked.
    max_iter : int, default=10000
        Most steps for one point of the path.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
    averages_ : ndarray of shape (n, n_clusters)
        Column j averages over cluster j: distances are ``offsets_ - 2 k0 @ averages_``.
    offsets_ : ndarray of shape (n_clusters,)
    strength_ : float
        s of the point that is picked; zero if all rows are their own.
    gap_ : float
        Its relative duality gap, recomputed from its points and dual variables.
    explained_ : float
        Share of the rows' variance under the gate kernel that the components hold.
    path_ : ndarray of shape (n_points, 3)
        Strength, number of clusters and relative gap of each point of the path.
    tau_, evenness_ : float

    References
    ----------
    Hocking, Joulin, Bach, Vert: Clusterpath. ICML, 2011. Chi, Lange: Splitting methods for convex clustering.
    JCGS 24, 2015.

    Examples
    --------
    >>> x = np.array([[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]])
    >>> gate = ConvexGate(2, evenness=0.6).fit(x @ x.T)
    >>> gate.labels_.tolist(), int(gate.path_[0, 1]), bool(gate.gap_ <= gate.tol)
    ([0, 0, 0, 1, 1, 1], 6, True)
    """

    def __init__(
        self,
        n_clusters: int = 3,
        evenness: float | None = 0.5,
        *,
        n_neighbors: int = 7,
        n_components: int | None = 5,
        tol: float = 1e-3,
        max_iter: int = 10000,
    ) -> None:
        self.n_clusters = n_clusters
        self.evenness = evenness
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, gram: Floats, sample_weight: Floats | None = None) -> Self:
        """Learn the clusters of the rows of `gram` (n, n); a row of weight w counts as w equal rows."""
        self.check_parameters()
        check_integer("n_neighbors", self.n_neighbors, low=1)
        if self.n_components is not None:
            check_integer("n_components", self.n_components, low=1)
        check_integer("max_iter", self.max_iter, low=1)
        check_number("tol", self.tol, low=0.0, low_open=True, finite=True)
        rows, weights, inner = counted(gram, sample_weight)
        found = kernel_components(inner, weights, self.n_components)
        self.explained_ = found.explained
        problem = neighbour_graph(found.values, weights / weights.mean(), self.n_neighbors)
        averages = self._averages(problem, self._pick(problem))
        self.averages_ = spread_out(averages, rows, gram.shape[0])
        self.offsets_ = np.einsum("ij,ij->j", averages, inner @ averages)
        return self.sharpen(self.distances(gram), sample_weight)

    def _pick(self, problem: Fusion) -> Ints:
        """Return the clusters of the point of the path that is picked, at its own precision."""
        points = self._refined(problem, self._walked(problem))
        allowed = [point for point in points if point.n_clusters >= self.n_clusters]
        if not allowed:
            raise ValueError(
                f"`n_clusters` must be at most the number of distinct rows, got {self.n_clusters} clusters "
                f"for {points[0].n_clusters} distinct rows under the gate kernel; ask for fewer clusters."
            )
        best = max(reversed(allowed), key=lambda point: self._balance(problem, point))
        if best.gap > self.tol:
            finer = solve_fusion(
                problem, best.strength, duals=best.duals, tol=self.tol, max_iter=self.max_iter
            )
            best = finer if finer.n_clusters >= self.n_clusters else best
        path = [(point.strength, point.n_clusters, point.gap) for point in points]
        self.path_, self.strength_, self.gap_ = np.array(path, dtype=float), best.strength, best.gap
        return best.labels

    def _walked(self, problem: Fusion) -> list[Fused]:
        """Return the points of the path, as far as later ones can be better."""
        points, most = [], -np.inf
        for point in fusion_path(problem, self.n_clusters, max_iter=self.max_iter):
            points.append(point)
            most = max(most, self._balance(problem, point))
            if self._hope(problem, point) < most + WORTH:
                break
        return points

    def _refined(self, problem: Fusion, points: list[Fused]) -> list[Fused]:
        """Return the points with more of them beside the best, while there can be better ones."""
        for _ in range(FINER):
            values = [self._balance(problem, point) for point in points]
            best = len(values) - 1 - int(np.argmax(values[::-1]))
            places = [place for place in (best, best - 1) if 0 < place < len(points) - 1]
            places = [p for p in places if self._hope(problem, points[p]) >= values[best] + WORTH]
            for place in places:  # the later first, so that the other is still where it was
                before, after = points[place], points[place + 1]
                growth = np.sqrt(after.strength / before.strength)
                between = solve_fusion(
                    problem,
                    before.strength * growth,
                    duals=before.duals * growth,
                    tol=ON_THE_WAY,
                    max_iter=self.max_iter,
                )
                points.insert(place + 1, between)
            if not places:
                break
        return points

    def _balance(self, problem: Fusion, point: Fused) -> float:
        """Return the logarithm of the product that is to be large."""
        if point.n_clusters < self.n_clusters:
            return -np.inf
        return float(np.log(_sizes(problem, point.labels, self.n_clusters)).sum())

    def _hope(self, problem: Fusion, point: Fused) -> float:
        """Return a bound of that logarithm at all later points, since clusters only fuse."""
        if point.n_clusters < self.n_clusters:
            return -np.inf
        sizes = _sizes(problem, point.labels, self.n_clusters)
        return float(np.log(_filled(sizes, problem.weights.sum())).sum())

    def _averages(self, problem: Fusion, labels: Ints) -> Floats:
        """Return the columns that average over the largest clusters, largest first."""
        sizes = np.bincount(labels, problem.weights)
        largest = np.argsort(-sizes, kind="stable")[: self.n_clusters]
        members = (labels[:, None] == largest) * problem.weights[:, None]
        return members / members.sum(axis=0)

    def distances_from(self, products: Floats) -> Floats:
        """Return squared distances to the clusters, up to ``k0(x, x)``, (n_new, n_clusters)."""
        return self.offsets_ - 2.0 * products


def _filled(sizes: Floats, total: float) -> Floats:
    """Return the most balanced sizes that clusters of these, in rising order, can fuse to with other rows."""
    for n_filled in range(len(sizes), 0, -1):  # the smallest are filled up to one level, the others stay
        level = (total - sizes[n_filled:].sum()) / n_filled
        if level >= sizes[n_filled - 1]:
            break
    return np.r_[np.full(n_filled, level), sizes[n_filled:]]


def _sizes(problem: Fusion, labels: Ints, n_largest: int) -> Floats:
    """Return the sizes of the largest clusters."""
    sizes: Floats = np.bincount(labels, problem.weights).astype(np.float64)
    return np.sort(sizes)[-n_largest:]
