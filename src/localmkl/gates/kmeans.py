"""Kernel k-means: clusters whose rows are near their mean in the feature space of the gate kernel.

    d2_j(x) = k0(x, x) - 2 mean_{i in S_j} k0(x, x_i) + mean_{i, i' in S_j} k0(x_i, x_i')

k0(x, x) is the same for all clusters and is left out.
"""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.random import RandomState
from sklearn.utils import check_random_state

from localmkl._checks import check_integer
from localmkl._types import Floats, Ints, Seed
from localmkl.gates.interface import Gate

EQUAL = 1e-10
"""Difference of errors, as a share of the sum of the diagonal, up to which partitions are equally good."""


class KernelKMeansGate(Gate):
    """Soft or hard memberships from kernel k-means on one Gram matrix.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of clusters.
    evenness : float or None, default=0.5
        Average evenness in [1/n_clusters, 1]; None for a hard partition.
    n_init : int, default=10
        Restarts of kernel k-means; the one with the smallest error wins.
    max_iter : int, default=100
        Most rounds of kernel k-means.
    random_state : int, RandomState instance or None
        Seed of the restarts.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
    inertia_ : float
        Sum of squared distances to the nearest cluster.
    averages_ : ndarray of shape (n, n_clusters)
        Column j averages over cluster j: distances are ``offsets_ - 2 k0 @ averages_``.
    offsets_ : ndarray of shape (n_clusters,)
    tau_ : float
    evenness_ : float
        The average evenness reached.

    Examples
    --------
    >>> x = np.array([[0.0], [0.1], [5.0], [5.2]])
    >>> gate = KernelKMeansGate(2, evenness=0.6, random_state=0).fit(x @ x.T)
    >>> labels = gate.labels_
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3]), round(gate.evenness_, 3)
    (True, 0.6)
    """

    def __init__(
        self,
        n_clusters: int = 3,
        evenness: float | None = 0.5,
        *,
        n_init: int = 10,
        max_iter: int = 100,
        random_state: Seed = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.evenness = evenness
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, gram: Floats, sample_weight: Floats | None = None) -> Self:
        """Learn the partition of the rows of `gram` (n, n), and tau.

        A row of weight w counts as w equal rows.
        """
        self.check_parameters()
        self.averages_, self.offsets_, self.inertia_ = kernel_kmeans(
            gram,
            self.n_clusters,
            sample_weight=sample_weight,
            n_init=self.n_init,
            max_iter=self.max_iter,
            random_state=self.random_state,
        )
        return self.sharpen(self.distances(gram), sample_weight)

    def distances_from(self, products: Floats) -> Floats:
        """Return squared distances to the clusters, up to ``k0(x, x)``, (n_new, n_clusters)."""
        return self.offsets_ - 2.0 * products


def kernel_kmeans(
    gram: Floats,
    n_clusters: int,
    *,
    sample_weight: Floats | None = None,
    n_init: int = 10,
    max_iter: int = 100,
    random_state: Seed = None,
) -> tuple[Floats, Floats, float]:
    """Partition the rows of a Gram matrix by kernel k-means; all restarts share each product.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        Gram matrix of the gate kernel.
    n_clusters : int
        Number of clusters.
    sample_weight : ndarray of shape (n,), optional
        A row of weight w counts as w equal rows; rows of weight zero do not count.
    n_init : int, default=10
        Restarts, each from a k-means++ draw.
    max_iter : int, default=100
        Most rounds.
    random_state : int, RandomState instance or None
        Seed of the restarts.

    Returns
    -------
    averages : ndarray of shape (n, n_clusters)
        Column j holds ``w_i / sum(w)`` on the rows of cluster j.
    offsets : ndarray of shape (n_clusters,)
        ``averages_j' gram averages_j``.
    inertia : float
        Sum of squared distances to the nearest cluster.

    Examples
    --------
    >>> x = np.array([[0.0], [0.2], [5.0], [5.2]])
    >>> averages, _, inertia = kernel_kmeans(x @ x.T, 2, random_state=0)
    >>> averages.max(axis=1).tolist(), round(inertia, 3)
    ([0.5, 0.5, 0.5, 0.5], 0.04)
    """
    rng = check_random_state(random_state)
    check_integer("n_init", n_init, low=1)
    n_rows = gram.shape[0]
    weights = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    counted = np.flatnonzero(weights > 0.0)
    if len(counted) < n_rows:
        inner = gram[np.ix_(counted, counted)]
        averages, offsets, inertia = kernel_kmeans(
            inner,
            n_clusters,
            sample_weight=weights[counted],
            n_init=n_init,
            max_iter=max_iter,
            random_state=rng,
        )
        spread = np.zeros((n_rows, n_clusters))
        spread[counted] = averages
        return spread, offsets, inertia

    diagonal = gram.diagonal()
    labels = np.stack([_seed(gram, diagonal, weights, n_clusters, rng) for _ in range(n_init)])
    add, move = _compiled() if isinstance(gram, np.ndarray) else (cluster_sums, settle)
    sums = add(gram, labels, weights, n_clusters)
    move(gram, diagonal, labels, sums, weights, max_iter)
    errors = np.array(
        [
            np.maximum(_distances(one[None], own[None], weights)[0].min(axis=0) + diagonal, 0.0) @ weights
            for one, own in zip(sums, labels, strict=True)
        ]
    )
    # Of equal partitions, whose clusters have other numbers, the first: rounding must not decide.
    best = int(np.argmax(errors <= errors.min() + EQUAL * max(float(diagonal @ weights), 0.0)))
    averages = _members(labels[best], weights, n_clusters)
    averages /= averages.sum(axis=0)
    means = gram @ averages
    offsets = np.einsum("ij,ij->j", averages, means)
    error = np.maximum((offsets - 2.0 * means).min(axis=1) + diagonal, 0.0) @ weights
    return averages, offsets, float(error)


def _seed(gram: Floats, diagonal: Floats, weights: Floats, n_clusters: int, rng: RandomState) -> Ints:
    """Return labels by k-means++: each next centre drawn by squared distance to the nearest one."""
    size = max(float(diagonal.max()), np.finfo(float).tiny)
    centres = [_draw(weights, rng)]
    nearest = diagonal - 2.0 * gram[centres[0]] + diagonal[centres[0]]
    labels = np.zeros(len(diagonal), dtype=int)
    for cluster in range(1, n_clusters):
        nearest = np.where(nearest > 1e-12 * size, nearest, 0.0)
        chance = weights * nearest
        if not chance.sum() > 0.0:
            raise ValueError(
                f"`n_clusters` must be at most the number of distinct rows, got {n_clusters} "
                f"clusters for {cluster} distinct rows under the gate kernel; ask for fewer clusters."
            )
        centres.append(_draw(chance, rng))
        distance = diagonal - 2.0 * gram[centres[-1]] + diagonal[centres[-1]]
        closer = distance < nearest
        labels[closer] = cluster
        nearest = np.minimum(nearest, distance)
    labels[centres] = np.arange(n_clusters)
    return labels


def _draw(chance: Floats, rng: RandomState) -> int:
    steps = np.cumsum(chance)
    drawn = int(np.searchsorted(steps, rng.uniform() * steps[-1], side="right"))
    return min(drawn, len(chance) - 1)


def _members(labels: Ints, weights: Floats, n_clusters: int) -> Floats:
    """Return the weight of each row in its cluster, (n, l)."""
    return (labels[:, None] == np.arange(n_clusters)) * weights[:, None]


def cluster_sums(gram: Floats, labels: Ints, weights: Floats, n_clusters: int) -> Floats:
    """Return ``sum_{i in S_j} w_i k0(x, x_i)`` of every restart, cluster and row, (R, l, n)."""
    members = np.hstack([_members(own, weights, n_clusters) for own in labels])
    return np.ascontiguousarray((gram @ members).T).reshape(len(labels), n_clusters, -1)


def _distances(sums: Floats, labels: Ints, weights: Floats) -> Floats:
    """Return squared distances to the clusters of R restarts, up to ``k0(x, x)``, (R, l, n)."""
    n_clusters = sums.shape[1]
    totals, offsets = np.empty((2, len(labels), n_clusters))
    for r, own in enumerate(labels):
        totals[r] = np.bincount(own, weights, n_clusters)
        within = weights * np.take_along_axis(sums[r], own[None], axis=0)[0]
        offsets[r] = np.bincount(own, within, n_clusters) / totals[r] ** 2
    return offsets[:, :, None] - (2.0 / totals)[:, :, None] * sums


def _compiled() -> tuple[Callable[..., Any], Callable[..., Any]]:
    from localmkl.backends import partitions

    return partitions.cluster_sums, partitions.settle


def settle(
    gram: Floats, diagonal: Floats, labels: Ints, sums: Floats, weights: Floats, max_iter: int
) -> None:
    """Move rows to their nearest clusters until none moves, in place.

    Parameters
    ----------
    gram : ndarray or other matrix of shape (n, n)
    diagonal, weights : ndarray of shape (n,)
        The matrix's diagonal, and the weights of its rows.
    labels : ndarray of shape (R, n)
        R partitions.
    sums : ndarray of shape (R, l, n)
        Their clusters' ``sum_{i in S_j} w_i k0(x, x_i)``.
    max_iter : int
        Most rounds.
    """
    moving = np.arange(len(labels))
    for _ in range(max_iter):
        distances = _distances(sums[moving], labels[moving], weights)
        updated = _without_empty_clusters(np.moveaxis(distances, 1, 2) + diagonal[:, None])
        changed = np.flatnonzero((updated != labels[moving]).any(axis=1))
        labels[moving] = updated
        if len(changed) == 0:
            break
        moving = moving[changed]  # the others have settled
        sums[moving] = cluster_sums(gram, labels[moving], weights, sums.shape[1])


def _without_empty_clusters(distances: Floats) -> Ints:
    """Return nearest-cluster labels (R, n); an empty cluster takes the farthest row it can have."""
    n_clusters = distances.shape[2]
    labels = distances.argmin(axis=2)
    for r, restart in enumerate(labels):
        counts = np.bincount(restart, minlength=n_clusters)
        for cluster in np.flatnonzero(counts == 0):
            own = np.take_along_axis(distances[r], restart[:, None], axis=1)[:, 0]
            spare = counts[restart] > 1
            farthest = int(np.argmax(np.where(spare, own, -np.inf)))
            counts[restart[farthest]] -= 1
            counts[cluster] += 1
            restart[farthest] = cluster
            distances[r, farthest] = np.inf
            distances[r, farthest, cluster] = 0.0
    return labels
