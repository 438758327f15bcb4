"""The largest difference of each Gram from its transpose, in numba; the twin is `_checks.asymmetry`."""

import numba
import numpy as np

from localmkl.backends.compiled import _FASTMATH, _WORTH_THREADS, _compile

_TILE = 64
"""Rows and columns of a tile, which is turned in the first cache."""


def asymmetries(grams, *, parallel=True):
    """Return ``max_ik |K_m[i, k] - K_m[k, i]|`` of every Gram, (M,); not finite if any entry is not.

    Parameters
    ----------
    grams : ndarray of shape (M, n, n)
    parallel : bool
        Whether threads may be used.
    """
    worst = np.zeros((grams.shape[0], -(-grams.shape[1] // _TILE)))
    (_parallel if parallel and grams.size >= _WORTH_THREADS else _serial)(np.asarray(grams), worst)
    return worst.max(axis=1)


@numba.njit(nogil=True, cache=True, fastmath=_FASTMATH)
def _sum_of_tile(gram, first, last, start, stop, turned):
    """Return the sum of the differences of a tile from its mirror image, which is zero for most Grams."""
    height, width = last - first, stop - start
    mirror = gram[start:stop, first:last]
    for i in range(height):
        row = turned[i]
        for k in range(width):
            row[k] = mirror[k, i]
    total = 0.0
    for i in range(height):
        row, other = gram[first + i, start:stop], turned[i]
        for k in range(width):
            total += abs(row[k] - other[k])
    return total


@numba.njit(nogil=True, cache=True)
def _worst_of_tile(gram, first, last, start, stop):
    """Return the largest of these differences, infinite if an entry is no finite number."""
    worst = 0.0
    for i in range(first, last):
        for k in range(start, stop):
            difference = abs(gram[i, k] - gram[k, i])
            if not difference <= worst:
                worst = difference if difference > worst else np.inf
    return worst


def _asymmetries_loop(grams, found):
    n_kernels, n_tiles = found.shape
    n = grams.shape[1]
    # Tile r of the rows is paired with tile n-1-r, so that every step of the loop costs the same.
    n_pairs = (n_tiles + 1) // 2
    for task in numba.prange(n_kernels * n_pairs):
        m, pair = np.int64(task) // n_pairs, np.int64(task) % n_pairs
        turned = np.empty((_TILE, _TILE))
        for row in (pair, n_tiles - 1 - pair):
            worst, first, last = 0.0, row * _TILE, min((row + 1) * _TILE, n)
            for start in range(0, last, _TILE):
                stop = min(start + _TILE, n)
                if _sum_of_tile(grams[m], first, last, start, stop, turned) != 0.0:  # so is what is no number
                    worst = max(worst, _worst_of_tile(grams[m], first, last, start, stop))
            found[m, row] = worst


_parallel, _serial = _compile(_asymmetries_loop)
