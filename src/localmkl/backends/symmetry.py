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
def _look_at_tile(gram, first, last, start, stop, turned, worst, spoilt):
    """Note the largest differences of a tile from its mirror image, and what is spoilt by a lack of numbers."""
    height, width = last - first, stop - start
    for k in range(width):
        row = gram[start + k, first:last]
        for i in range(height):
            turned[i, k] = row[i]
    for i in range(height):
        row, other = gram[first + i, start:stop], turned[i]
        for k in range(width):  # column by column, which needs no order of the rows
            difference = abs(row[k] - other[k])
            worst[k] = difference if difference > worst[k] else worst[k]
            spoilt[k] += 0.0 * difference


def _asymmetries_loop(grams, found):
    n_kernels, n_tiles = found.shape
    n = grams.shape[1]
    # Tile r of the rows is paired with tile n-1-r, so that every step of the loop costs the same.
    n_pairs = (n_tiles + 1) // 2
    for task in numba.prange(n_kernels * n_pairs):
        m, pair = np.int64(task) // n_pairs, np.int64(task) % n_pairs
        turned, worst, spoilt = np.empty((_TILE, _TILE)), np.empty(_TILE), np.empty(_TILE)
        for row in (pair, n_tiles - 1 - pair):
            worst[:], spoilt[:] = 0.0, 0.0
            first, last = row * _TILE, min((row + 1) * _TILE, n)
            for start in range(0, last, _TILE):
                _look_at_tile(
                    grams[m], first, last, start, min(start + _TILE, n), turned, worst, spoilt
                )
            found[m, row] = worst.max() if spoilt.sum() == 0.0 else np.inf


_parallel, _serial = _compile(_asymmetries_loop)
