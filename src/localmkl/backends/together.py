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
    flat = np.ascontiguousarray(weights.reshape(n_problems * n_clusters, n_kernels), dtype=np.float64)
    kept = np.flatnonzero(np.any(flat != 0.0, axis=0))
    worth = parallel and n_problems * len(kept) * n * n >= _WORTH_THREADS
    work = _combine_parallel if worth else _combine_serial
    index, rows = (rows, None) if pick_from_totals(rows, len(flat), len(kept)) else (None, rows)
    members = np.ascontiguousarray(memberships.T, dtype=np.float64)
    work(np.asarray(grams), index, rows, kept, flat, members, out, np.asarray(places, dtype=np.int64))


@njit(fastmath=_FASTMATH)
def _add(size, first, second, weights, j, m_0, m_1, m_2, m_3, g_0, g_1, g_2, g_3):
    """Add four kernels to two running totals: six reads and two writes for eight products."""
    a_0, a_1, a_2, a_3 = weights[j, m_0], weights[j, m_1], weights[j, m_2], weights[j, m_3]
    b_0, b_1, b_2, b_3 = weights[j + 1, m_0], weights[j + 1, m_1], weights[j + 1, m_2], weights[j + 1, m_3]
    for k in range(size):
        first[k] += a_0 * g_0[k] + a_1 * g_1[k] + a_2 * g_2[k] + a_3 * g_3[k]
        second[k] += b_0 * g_0[k] + b_1 * g_1[k] + b_2 * g_2[k] + b_3 * g_3[k]


@njit(fastmath=_FASTMATH)
def _combine_rows(i, grams, index, rows, kept, weights, memberships, buffers, totals, out, places):
    """Write row i of every combined kernel up to its diagonal entry; see `compiled._combine_row`."""
    last = _source(index, i)
    source = _source(rows, last)
    high = 0
    n_clusters, n_totals, n_kept = memberships.shape[0], weights.shape[0], len(kept)
    for start in range(0, last + 1, _STRETCH):
        stop = min(start + _STRETCH, last + 1)
        size = stop - start
        totals[:, :size] = 0.0
        whole = n_kept - n_kept % 4
        for position in range(0, whole, 4):
            m_0, m_1, m_2, m_3 = kept[position : position + 4]
            g_0 = _columns(grams[m_0, source], rows, start, stop, buffers[0])
            g_1 = _columns(grams[m_1, source], rows, start, stop, buffers[1])
            g_2 = _columns(grams[m_2, source], rows, start, stop, buffers[2])
            g_3 = _columns(grams[m_3, source], rows, start, stop, buffers[3])
            for j in range(0, n_totals - 1, 2):
                _add(size, totals[j], totals[j + 1], weights, j, m_0, m_1, m_2, m_3, g_0, g_1, g_2, g_3)
            if n_totals % 2 == 1:
                total, weight = totals[n_totals - 1], weights[n_totals - 1]
                w_0, w_1, w_2, w_3 = weight[m_0], weight[m_1], weight[m_2], weight[m_3]
                for k in range(size):
                    total[k] += w_0 * g_0[k] + w_1 * g_1[k] + w_2 * g_2[k] + w_3 * g_3[k]
        for position in range(whole, n_kept):
            gram = _columns(grams[kept[position], source], rows, start, stop, buffers[0])
            for j in range(n_totals):
                total, w = totals[j], weights[j, kept[position]]
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


def _combine_together_loop(grams, index, rows, kept, weights, memberships, out, places):
    n = out.shape[1]
    # Row r is paired with row n-1-r, so that every step of the loop costs the same.
    for pair in numba.prange((n + 1) // 2):
        buffers = np.empty((4, _STRETCH))
        totals = np.empty((weights.shape[0], _STRETCH))
        first = np.int64(pair)
        last = n - 1 - first
        _combine_rows(first, grams, index, rows, kept, weights, memberships, buffers, totals, out, places)
        if last != first:
            _combine_rows(last, grams, index, rows, kept, weights, memberships, buffers, totals, out, places)
    n_tiles = (n + _TILE - 1) // _TILE
    for task in numba.prange(n_tiles * len(places)):
        problem, tile = np.int64(task) // n_tiles, np.int64(task) % n_tiles
        _mirror_block(tile * _TILE, out[places[problem]])


_combine_parallel, _combine_serial = _compile(_combine_together_loop)
