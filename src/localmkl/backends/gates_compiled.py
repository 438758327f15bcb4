"""The kernel of a gate, K~ = sum_m (eta_m eta_m') * K_m, in numba; the twin is `Stack.combine_gated`.

Every kernel has weights of its own for every row, so that one running total serves them all; `combine` would
keep one for each.
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


def combine_gated(grams, rows, factors, gating, out, *, parallel=True):
    """Write the kernel of a gate (n, M), kernels counted by their factors; see `Stack.combine_gated`."""
    n, n_kernels = gating.shape
    left = np.ascontiguousarray((gating * factors).T)
    right = np.ascontiguousarray(gating.T)
    index, gathered = np.arange(n), rows
    if pick_from_totals(rows, 1, n_kernels):
        # Columns in between are read too, with a weight of zero, and the others picked from the total.
        index, gathered, few = rows, None, right
        right = np.zeros((n_kernels, rows[-1] + 1))
        right[:, rows] = few
    worth = parallel and n_kernels * n * n >= _WORTH_THREADS
    work = _gated_parallel if worth else _gated_serial
    work(np.asarray(grams), index, gathered, left, right, out)


@njit(fastmath=_FASTMATH)
def _gated_row(i, grams, index, rows, left, right, buffers, total, row):
    """Write row i of K~ up to its diagonal entry; see `together._combine_rows`."""
    last = index[i]
    source = _source(rows, last)
    n_kernels = left.shape[0]
    whole = n_kernels - n_kernels % 4
    high = np.int64(0)
    for start in range(0, last + 1, _STRETCH):
        stop = min(start + _STRETCH, last + 1)
        size = stop - start
        total[:size] = 0.0
        for m in range(0, whole, 4):
            g_0 = _columns(grams[m, source], rows, start, stop, buffers[0])
            g_1 = _columns(grams[m + 1, source], rows, start, stop, buffers[1])
            g_2 = _columns(grams[m + 2, source], rows, start, stop, buffers[2])
            g_3 = _columns(grams[m + 3, source], rows, start, stop, buffers[3])
            l_0, l_1, l_2, l_3 = left[m, i], left[m + 1, i], left[m + 2, i], left[m + 3, i]
            r_0, r_1 = right[m, start:stop], right[m + 1, start:stop]
            r_2, r_3 = right[m + 2, start:stop], right[m + 3, start:stop]
            for k in range(size):
                total[k] += (
                    l_0 * r_0[k] * g_0[k]
                    + l_1 * r_1[k] * g_1[k]
                    + l_2 * r_2[k] * g_2[k]
                    + l_3 * r_3[k] * g_3[k]
                )
        for m in range(whole, n_kernels):
            gram = _columns(grams[m, source], rows, start, stop, buffers[0])
            own, others = left[m, i], right[m, start:stop]
            for k in range(size):
                total[k] += own * others[k] * gram[k]
        low, high = high, _count_below(index, stop, high)
        wanted = _wanted(total, index, low, high, start, buffers[0])
        for k in range(high - low):
            row[low + k] = wanted[k]


def _combine_gated_loop(grams, index, rows, left, right, out):
    n = out.shape[0]
    # Row r is paired with row n-1-r, so that every step of the loop costs the same.
    for pair in numba.prange((n + 1) // 2):
        buffers = np.empty((4, _STRETCH))
        total = np.empty(_STRETCH)
        first = np.int64(pair)
        last = n - 1 - first
        _gated_row(first, grams, index, rows, left, right, buffers, total, out[first])
        if last != first:
            _gated_row(last, grams, index, rows, left, right, buffers, total, out[last])
    for tile in numba.prange((n + _TILE - 1) // _TILE):
        _mirror_block(np.int64(tile) * _TILE, out)


_gated_parallel, _gated_serial = _compile(_combine_gated_loop)
