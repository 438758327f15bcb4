"""Kernel k-means from given partitions, in numba; the twin is `localmkl.gates.kmeans.settle`.

Each partition keeps the sums of the matrix's rows over its clusters. A row that moves is taken from one sum
and added to another, so that a round costs what moves, not the whole matrix.
"""

import numba
import numpy as np

from localmkl.backends.compiled import _FASTMATH, _STRETCH, _WORTH_THREADS, _compile
from localmkl.backends.compiling import njit


def settle(gram, diagonal, labels, sums, weights, max_iter):
    """Move rows to their nearest clusters, in place, until none moves; see `localmkl.gates.kmeans.settle`."""
    work = _settle_parallel if labels.size * len(weights) >= _WORTH_THREADS else _settle_serial
    updated, least = np.empty_like(labels), np.empty(labels.shape)
    totals, offsets = np.empty((2, *sums.shape[:2]))
    counts = np.empty(sums.shape[:2], dtype=labels.dtype)
    diagonal = np.ascontiguousarray(diagonal)
    work(gram, diagonal, labels, sums, weights, updated, least, totals, offsets, counts, max_iter)


def cluster_sums(gram, labels, weights, n_clusters):
    """Return the sums of a matrix's rows over the clusters of every partition, (R, l, n).

    The matrix is symmetric; see `localmkl.gates.kmeans.cluster_sums`.
    """
    sums = np.zeros((len(labels), n_clusters, len(weights)))
    work = _sums_parallel if labels.size * len(weights) >= _WORTH_THREADS else _sums_serial
    work(gram, labels, weights, sums)
    return sums


def _sums_loop(gram, labels, weights, sums):
    n_partitions, n = labels.shape
    # A stretch of columns at a time: all partitions' sums of it stay near while rows go by once.
    for block in numba.prange((n + _STRETCH - 1) // _STRETCH):
        start = np.int64(block) * _STRETCH
        stop = min(start + _STRETCH, n)
        for i in range(n):
            row = gram[i, start:stop]
            for partition in range(n_partitions):
                total = sums[partition, labels[partition, i], start:stop]
                for k in range(stop - start):
                    total[k] += weights[i] * row[k]


@njit(fastmath=_FASTMATH, inline="always")
def _offsets(own, sums, weights, totals, offsets):
    totals[:] = 0.0
    offsets[:] = 0.0
    for i in range(len(own)):
        totals[own[i]] += weights[i]
        offsets[own[i]] += weights[i] * sums[own[i], i]
    for j in range(len(totals)):
        offsets[j] /= totals[j] ** 2


@njit(fastmath=_FASTMATH, inline="always")
def _nearest(i, sums, totals, offsets):
    """Return the nearest cluster of a row and its squared distance, up to the diagonal entry."""
    best, least = 0, np.inf
    for j in range(len(totals)):
        distance = offsets[j] - 2.0 / totals[j] * sums[j, i]
        if distance < least:
            best, least = j, distance
    return best, least


@njit(fastmath=_FASTMATH, inline="always")
def _move(row, weight, source, target):
    for k in range(len(row)):
        part = weight * row[k]
        source[k] -= part
        target[k] += part


@njit(inline="always")
def _fill_empty(updated, least, diagonal, counts):
    """Give every empty cluster the farthest row it can have."""
    counts[:] = 0
    for i in range(len(updated)):
        counts[updated[i]] += 1
    for cluster in range(len(counts)):
        if counts[cluster] == 0:
            farthest, most = -1, -np.inf
            for i in range(len(updated)):
                if counts[updated[i]] > 1 and least[i] + diagonal[i] > most:
                    farthest, most = i, least[i] + diagonal[i]
            counts[updated[farthest]] -= 1
            counts[cluster] += 1
            updated[farthest] = cluster
            least[farthest] = -diagonal[farthest]


def _settle_loop(
    gram, diagonal, labels, sums, weights, all_updated, all_least, all_totals, all_offsets, counts, max_iter
):
    n_partitions, n = labels.shape
    for partition in numba.prange(n_partitions):
        own, mine = labels[partition], sums[partition]
        totals, offsets = all_totals[partition], all_offsets[partition]
        updated, least = all_updated[partition], all_least[partition]
        for _ in range(max_iter):
            _offsets(own, mine, weights, totals, offsets)
            for i in range(n):
                updated[i], least[i] = _nearest(i, mine, totals, offsets)
            _fill_empty(updated, least, diagonal, counts[partition])
            moved = 0
            for i in range(n):
                if updated[i] != own[i]:
                    _move(gram[i], weights[i], mine[own[i]], mine[updated[i]])
                    own[i] = updated[i]
                    moved += 1
            if moved == 0:
                break


_settle_parallel, _settle_serial = _compile(_settle_loop)
_sums_parallel, _sums_serial = _compile(_sums_loop)
