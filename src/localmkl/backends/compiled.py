"""The hot functions in numba; their twins are in `reference` and, for stacks, in `stacks.interface`.

Each loop over rows is written once and compiled twice: in parallel, and serially for callers that run
several problems side by side in threads (``parallel=False``).
"""

from types import FunctionType

import numba
import numpy as np
from numba.extending import overload

from localmkl.backends.compiling import listen, njit
from localmkl.backends.reference import tiny_curvature
from localmkl.backends.threads import Threaded

listen()

# Sums may be reordered; infinities and not-a-numbers keep their meaning.
_FASTMATH = {"reassoc", "contract", "arcp", "nsz"}
_SHRINK_EVERY = 1000
_STRETCH = 512  # columns read at a time: the running totals stay in the innermost cache
_TILE = 32
_TASKS = 32
_WASTED = 9.0
"""Products with unwanted columns, for each wanted one, that cost what picking columns costs."""
_PICK_TOTALS = 0.8
"""Totals for each Gram, up to which columns are sooner picked from the totals than from the Grams."""
_WORTH_THREADS = 2**23
"""Entries of a stack below which the loop in threads, which takes seconds to compile, is not worth it."""


def block_products(grams, rows, vectors, *, parallel=True):
    """Return V_jm = K_m u_j, on rows of a stack of Grams; see `Stack.products`."""
    n_kernels, (n, n_vectors) = grams.shape[0], vectors.shape
    index, gathered = np.arange(n), rows
    vectors = np.ascontiguousarray(vectors.T, dtype=np.float64)
    if rows is not None and n_vectors * (_spread(rows) - 1.0) <= _WASTED:
        # Columns in between are read too, and multiplied by zero: quicker than picking the others.
        index, gathered, few = rows, None, vectors
        vectors = np.zeros((n_vectors, rows[-1] + 1))
        vectors[:, rows] = few
    # Each share of a kernel has totals of its own; how many there are must not depend on the threads.
    n_shares = -(-_TASKS // n_kernels)
    totals = np.empty((n_shares, n_kernels, *vectors.shape))
    worth = parallel and n_kernels * n * n >= _WORTH_THREADS
    work = _block_products_parallel if worth else _block_products_serial
    buffers = np.empty((n_shares * n_kernels, 4, _STRETCH))
    work(np.asarray(grams), index, gathered, vectors, buffers, totals)
    products = totals.sum(axis=0).transpose(1, 0, 2)
    return np.ascontiguousarray(products if gathered is rows else products[..., rows])


def _spread(rows):
    """Return the columns up to the last one wanted, per wanted one; infinite if they are not in order."""
    in_order = len(rows) > 0 and bool(np.all(rows[1:] > rows[:-1]))
    return (rows[-1] + 1) / len(rows) if in_order else np.inf


def pick_from_totals(rows, n_totals, n_kernels):
    """Whether a combination reads all columns and picks those wanted at the end: then few are left out."""
    return rows is not None and n_totals * _spread(rows) <= _PICK_TOTALS * n_kernels


def solve_svm(K, ridge, y, epsilon, lower, upper, alpha, gradient, tol, max_iter, shrink=True):
    """Solve the SVM/SVR dual in place; see `reference.solve_svm`."""
    diagonal = K.diagonal()
    flattest, active, places = tiny_curvature(diagonal), np.arange(len(K)), np.empty(len(K), dtype=np.int64)
    work = diagonal + ridge, active, places, flattest
    return _smo(K, ridge, y, float(epsilon), lower, upper, alpha, gradient, *work, tol, max_iter, shrink)


def _columns(gram, columns, start, stop, buffer):
    """Return a stretch of one row of a Gram: a view of it, or its columns gathered into the buffer."""


@overload(_columns)
def _columns_by_type(gram, columns, start, stop, buffer):
    def view(gram, columns, start, stop, buffer):
        return gram[start:stop]

    def gather(gram, columns, start, stop, buffer):
        for k in range(start, stop):
            buffer[k - start] = gram[columns[k]]
        return buffer[: stop - start]

    return view if isinstance(columns, numba.types.NoneType) else gather


@njit(inline="always")
def _count_below(index, stop, low):
    """Return how many of the columns wanted, which are in order, stand before `stop`: at least `low`."""
    high = min(len(index), low + _STRETCH)
    while low < high:
        middle = (low + high) // 2
        if index[middle] < stop:
            low = middle + 1
        else:
            high = middle
    return low


@njit(inline="always")
def _wanted(total, index, low, high, start, buffer):
    """Return the totals of the columns wanted: a view where all are, or gathered into the buffer."""
    if high > low and index[high - 1] - index[low] == high - low - 1:
        first = index[low] - start
        return total[first : first + high - low]
    for k in range(low, high):
        buffer[k - low] = total[index[k] - start]
    return buffer[: high - low]


@njit(inline="always")
def _mirror_block(start, out):
    """Copy the lower triangle's columns [start, start + _TILE) to the upper one."""
    n = out.shape[0]
    for first in range(start, n, _TILE):
        for i in range(first, min(first + _TILE, n)):
            for k in range(start, min(start + _TILE, i)):
                out[k, i] = out[i, k]


@njit(fastmath=_FASTMATH, inline="always")
def _products_tile(g_0, g_1, g_2, g_3, vectors, tile, start, stop, totals):
    """Add what a stretch of columns left of the diagonal and its mirror image give, for four rows."""
    i_0, i_1, i_2, i_3 = tile
    for j in range(vectors.shape[0]):
        left, below = vectors[j, start:stop], totals[j, start:stop]
        v_0, v_1, v_2, v_3 = vectors[j, i_0], vectors[j, i_1], vectors[j, i_2], vectors[j, i_3]
        t_0, t_1, t_2, t_3 = 0.0, 0.0, 0.0, 0.0
        for k in range(stop - start):
            t_0 += g_0[k] * left[k]
            t_1 += g_1[k] * left[k]
            t_2 += g_2[k] * left[k]
            t_3 += g_3[k] * left[k]
            below[k] += g_0[k] * v_0 + g_1[k] * v_1 + g_2[k] * v_2 + g_3[k] * v_3
        totals[j, i_0] += t_0
        totals[j, i_1] += t_1
        totals[j, i_2] += t_2
        totals[j, i_3] += t_3


@njit(fastmath=_FASTMATH)
def _products_rows(i, gram, index, rows, vectors, buffers, totals):
    """Add the part of four rows of one Gram up to their diagonal block, and its mirror image.

    The rows are ``index[i]`` to ``index[i + 3]``; `rows` says where in the Gram they stand, if elsewhere.
    """
    n = len(index)
    first = 0  # the last rows may be too few for a tile
    if i + 4 <= n:
        tile = index[i], index[i + 1], index[i + 2], index[i + 3]
        for start in range(0, tile[0], _STRETCH):
            stop = min(start + _STRETCH, tile[0])
            g_0 = _columns(gram[_source(rows, tile[0])], rows, start, stop, buffers[0])
            g_1 = _columns(gram[_source(rows, tile[1])], rows, start, stop, buffers[1])
            g_2 = _columns(gram[_source(rows, tile[2])], rows, start, stop, buffers[2])
            g_3 = _columns(gram[_source(rows, tile[3])], rows, start, stop, buffers[3])
            _products_tile(g_0, g_1, g_2, g_3, vectors, tile, start, stop, totals)
        first = i
    for a in range(i, min(i + 4, n)):
        row = index[a]
        for b in range(first, a + 1):
            column = index[b]
            value = gram[_source(rows, row), _source(rows, column)]
            for j in range(vectors.shape[0]):
                totals[j, row] += value * vectors[j, column]
                if column != row:
                    totals[j, column] += value * vectors[j, row]


@njit()
def _source(rows, i):
    return i if rows is None else rows[i]


def _block_products_loop(grams, index, rows, vectors, buffers, totals):
    n_shares, n_kernels = totals.shape[:2]
    for task in numba.prange(n_shares * n_kernels):
        m, share = np.int64(task) // n_shares, np.int64(task) % n_shares
        own = totals[share, m]
        own[:] = 0.0
        for i in range(4 * share, len(index), 4 * n_shares):
            _products_rows(i, grams[m], index, rows, vectors, buffers[task], own)


def _compile(loop):
    """Return a loop compiled twice: in threads (where these are safe), and serially."""

    def compiled(name, parallel):
        # numba names its cache after the function alone: without a name of its own, the twin compiled
        # second would be given the first one's code.
        named = FunctionType(loop.__code__, loop.__globals__, loop.__name__)
        named.__qualname__ += name
        return njit(fastmath=_FASTMATH, parallel=parallel)(named)

    serial = compiled("_serial", parallel=False)
    return Threaded(compiled("_parallel", parallel=True), serial), serial


_block_products_parallel, _block_products_serial = _compile(_block_products_loop)


@njit()
def _pair_step(a_i, a_k, upper_i, lower_k, slope, curvature, epsilon):
    while True:
        end = min(upper_i - a_i, a_k - lower_k)
        kink = end
        if epsilon > 0.0:
            if a_i < 0.0:
                kink = min(kink, -a_i)
            if a_k > 0.0:
                kink = min(kink, a_k)
        step = -slope / curvature
        if step <= kink:
            return a_i + step, a_k - step
        new_i = upper_i if kink == upper_i - a_i else (0.0 if kink == -a_i else a_i + kink)
        new_k = lower_k if kink == a_k - lower_k else (0.0 if kink == a_k else a_k - kink)
        slope += curvature * kink
        if new_i == 0.0 and a_i < 0.0:
            slope += 2.0 * epsilon
        if new_k == 0.0 and a_k > 0.0:
            slope += 2.0 * epsilon
        a_i, a_k = new_i, new_k
        if kink == end or slope >= 0.0:
            return a_i, a_k


@njit(fastmath=_FASTMATH)
def _smo(
    K, ridge, y, epsilon, lower, upper, alpha, gradient, diagonal, active, places, flattest,
    tol, max_iter, shrink,
):  # fmt: skip
    n = K.shape[0]
    n_active = n
    countdown = min(n, _SHRINK_EVERY)
    n_iter = 0
    while True:
        i = -1
        least_right = np.inf
        most_left = -np.inf
        for position in range(n_active):
            k = active[position]
            if alpha[k] < upper[k]:
                right = gradient[k] + (epsilon if alpha[k] >= 0.0 else -epsilon)
                if right < least_right:
                    least_right = right
                    i = k
            if alpha[k] > lower[k]:
                left = gradient[k] + (epsilon if alpha[k] > 0.0 else -epsilon)
                most_left = max(most_left, left)
        violation = most_left - least_right
        if not violation > tol or n_iter >= max_iter:
            if n_active == n:
                return n_iter, max(violation, 0.0)
            _rebuild_gradient(K, ridge, y, alpha, gradient, active, n_active, places)
            for k in range(n):
                active[k] = k
            n_active = n
            countdown = min(n, _SHRINK_EVERY)
            if n_iter >= max_iter:
                max_iter = n_iter  # one more look at all variables, for an honest violation
            continue

        K_i = K[i]
        best = -1
        best_gain = -1.0
        for position in range(n_active):
            k = active[position]
            if alpha[k] > lower[k]:
                rise = gradient[k] + (epsilon if alpha[k] > 0.0 else -epsilon) - least_right
                if rise > 0.0:
                    curvature = max(diagonal[i] + diagonal[k] - 2.0 * K_i[k], flattest)
                    gain = rise * rise / curvature
                    if gain > best_gain:
                        best_gain = gain
                        best = k
        k = best
        K_k = K[k]
        curvature = max(diagonal[i] + diagonal[k] - 2.0 * K_i[k], flattest)
        left = gradient[k] + (epsilon if alpha[k] > 0.0 else -epsilon)
        new_i, new_k = _pair_step(
            alpha[i], alpha[k], upper[i], lower[k], least_right - left, curvature, epsilon
        )
        change_i = new_i - alpha[i]
        change_k = new_k - alpha[k]
        alpha[i] = new_i
        alpha[k] = new_k
        if n_active == n:
            for position in range(n):
                gradient[position] += change_i * K_i[position] + change_k * K_k[position]
        else:
            for position in range(n_active):
                other = active[position]
                gradient[other] += change_i * K_i[other] + change_k * K_k[other]
        gradient[i] += change_i * ridge[i]
        gradient[k] += change_k * ridge[k]
        n_iter += 1

        countdown -= 1
        if shrink and countdown == 0:
            countdown = min(n, _SHRINK_EVERY)
            n_active = _shrink(
                epsilon, lower, upper, alpha, gradient, active, n_active, places, least_right, most_left
            )


@njit()
def _shrink(epsilon, lower, upper, alpha, gradient, active, n_active, dropped, least_right, most_left):
    """Keep the variables that can still be part of a violating pair; the others move to the end."""
    kept = 0
    n_dropped = 0
    for position in range(n_active):
        k = active[position]
        right = gradient[k] + (epsilon if alpha[k] >= 0.0 else -epsilon)
        left = gradient[k] + (epsilon if alpha[k] > 0.0 else -epsilon)
        rises = alpha[k] < upper[k] and right <= most_left
        falls = alpha[k] > lower[k] and left >= least_right
        if rises or falls:
            active[kept] = k
            kept += 1
        else:
            dropped[n_dropped] = k
            n_dropped += 1
    for position in range(n_dropped):
        active[kept + position] = dropped[position]
    return kept


@njit(fastmath=_FASTMATH, inline="always")
def _rebuild_gradient(K, ridge, y, alpha, gradient, active, n_active, support):
    """Recompute the gradient of the variables that were left out."""
    n_support = 0
    for k in range(len(alpha)):
        if alpha[k] != 0.0:
            support[n_support] = k
            n_support += 1
    for position in range(n_active, len(active)):
        k = active[position]
        K_k = K[k]
        total = ridge[k] * alpha[k] - y[k]
        for s in support[:n_support]:
            total += K_k[s] * alpha[s]
        gradient[k] = total
