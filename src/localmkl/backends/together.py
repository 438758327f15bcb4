"""Several combined kernels from one read of the stack, in numba; the twin is `Stack.combine_several`.

For several problems that differ in their weights alone, reading (and for a fold: gathering) the base kernels
is shared, and every number read is used for all of them while it is in the innermost cache.
"""

import numba
import numpy as np

from localmkl.backends.compiled import (
    _FASTMATH,
    _STRETCH,
    _TILE,
    _WORTH_THREADS,
    _columns,
    _compile,
    _count_below,
    _mirror_block,
    _source,
    _wanted,
    pick_from_totals,
)
from localmkl.backends.compiling import njit


def combine_together(grams, rows, weights, memberships, out, places, *, parallel=True):
    """Write the combined kernels of weights (B, l, M) to places of `out`; see `Stack.combine_several`."""
    n_problems, n_clusters, n_kernels = weights.shape
    n = len(memberships)
    flat = weights.reshape(n_problems * n_clusters, n_kernels).astype(np.float64)
    flat = np.vstack([flat, np.zeros(n_kernels)])  # the partner of an odd one
    kept = np.flatnonzero(np.any(flat != 0.0, axis=0))
    worth = parallel and n_problems * len(kept) * n * n >= _WORTH_THREADS
    work = _combine_parallel if worth else _combine_serial
    index = np.arange(n)
    if pick_from_totals(rows, n_problems * n_clusters, len(kept)):
        index, rows = rows, None
    members = np.ascontiguousarray(memberships.T, dtype=np.float64)
    n_tasks = 4 * numba.get_num_threads() if worth else 1
    buffers = np.empty((n_tasks, 4, _STRETCH))
    totals = np.empty((n_tasks, len(flat), _STRETCH))
    used = np.empty((n_tasks, len(flat)), dtype=np.int64)
    places = np.asarray(places, dtype=np.int64)
    work(np.asarray(grams), index, rows, kept, flat, members, buffers, totals, used, out, places)


@njit(fastmath=_FASTMATH, inline="always")
def _add(size, totals, weights, j, other, m_0, m_1, m_2, m_3, g_0, g_1, g_2, g_3):
    """Add four kernels to two running totals: six reads and two writes for eight products."""
    a_0, a_1, a_2, a_3 = weights[j, m_0], weights[j, m_1], weights[j, m_2], weights[j, m_3]
    b_0, b_1, b_2, b_3 = weights[other, m_0], weights[other, m_1], weights[other, m_2], weights[other, m_3]
    first, second = totals[j], totals[other]
    if b_0 == 0.0 and b_1 == 0.0 and b_2 == 0.0 and b_3 == 0.0:
        if a_0 != 0.0 or a_1 != 0.0 or a_2 != 0.0 or a_3 != 0.0:
            for k in range(size):
                first[k] += a_0 * g_0[k] + a_1 * g_1[k] + a_2 * g_2[k] + a_3 * g_3[k]
        return
    for k in range(size):
        first[k] += a_0 * g_0[k] + a_1 * g_1[k] + a_2 * g_2[k] + a_3 * g_3[k]
        second[k] += b_0 * g_0[k] + b_1 * g_1[k] + b_2 * g_2[k] + b_3 * g_3[k]


@njit(fastmath=_FASTMATH)
def _combine_rows(i, grams, index, rows, kept, weights, memberships, buffers, totals, used, out, places):
    """Write row i of every combined kernel up to its diagonal entry, a stretch of columns at a time.

    All columns of the Grams up to ``index[i]`` are read, and those of `index` are picked from the totals;
    with `rows`, columns are picked from every Gram. Only totals of clusters with this row are formed.
    """
    last = index[i]
    source = _source(rows, last)
    n_clusters, n_kept, n_used = memberships.shape[0], len(kept), 0
    for j in range(weights.shape[0] - 1):
        if memberships[j % n_clusters, i] != 0.0:
            used[n_used] = j
            n_used += 1
    high = np.int64(0)
    for start in range(0, last + 1, _STRETCH):
        stop = min(start + _STRETCH, last + 1)
        size = stop - start
        for position in range(n_used):
            totals[used[position], :size] = 0.0
        whole = n_kept - n_kept % 4
        for position in range(0, whole, 4):
            m_0, m_1 = kept[position], kept[position + 1]
            m_2, m_3 = kept[position + 2], kept[position + 3]
            g_0 = _columns(grams[m_0, source], rows, start, stop, buffers[0])
            g_1 = _columns(grams[m_1, source], rows, start, stop, buffers[1])
            g_2 = _columns(grams[m_2, source], rows, start, stop, buffers[2])
            g_3 = _columns(grams[m_3, source], rows, start, stop, buffers[3])
            for pair in range(0, n_used, 2):
                # an odd one is paired with the last total, whose weights are zero
                other = used[pair + 1] if pair + 1 < n_used else weights.shape[0] - 1
                _add(size, totals, weights, used[pair], other, m_0, m_1, m_2, m_3, g_0, g_1, g_2, g_3)
        for position in range(whole, n_kept):
            gram = _columns(grams[kept[position], source], rows, start, stop, buffers[0])
            for one in range(n_used):
                total, w = totals[used[one]], weights[used[one], kept[position]]
                if w != 0.0:
                    for k in range(size):
                        total[k] += w * gram[k]
        low, high = high, _count_below(index, stop, high)
        for problem in range(len(places)):
            stretch = out[places[problem], i, low:high]
            stretch[:] = 0.0
            for j in range(n_clusters):
                own = memberships[j, i]
                if own != 0.0:
                    member = memberships[j, low:high]
                    total = _wanted(totals[problem * n_clusters + j], index, low, high, start, buffers[0])
                    for k in range(high - low):
                        stretch[k] += own * member[k] * total[k]


def _combine_together_loop(
    grams, index, rows, kept, weights, memberships, buffers, totals, used, out, places
):
    n, n_tasks = out.shape[1], len(buffers)
    for task in numba.prange(n_tasks):
        t = np.int64(task)
        for step in range(t, n, n_tasks):
            # Rows are taken from both ends in turn, so that every task costs the same.
            i = step // 2 if step % 2 == 0 else n - 1 - step // 2
            _combine_rows(
                i, grams, index, rows, kept, weights, memberships, buffers[t], totals[t], used[t], out, places
            )
    n_tiles = (n + _TILE - 1) // _TILE
    for task in numba.prange(n_tiles * len(places)):
        problem, tile = np.int64(task) // n_tiles, np.int64(task) % n_tiles
        _mirror_block(tile * _TILE, out[places[problem]])


_combine_parallel, _combine_serial = _compile(_combine_together_loop)
