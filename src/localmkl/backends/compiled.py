"""The hot functions in numba: same names, signatures and results as in `reference`.

Each loop over rows is written once and compiled twice: in parallel, and serially for callers that run
several problems side by side in threads (``parallel=False``).
"""

from types import FunctionType

import numba
import numpy as np

from localmkl.backends.reference import BLOCK_ROWS, TINY_CURVATURE

# Sums may be reordered; infinities and not-a-numbers keep their meaning.
_FASTMATH = {"reassoc", "contract", "arcp", "nsz"}
_SHRINK_EVERY = 1000


def combine(grams, rows, weights, memberships, out=None, *, parallel=True):
    """Return the combined kernel K~; see `reference.combine`."""
    n = memberships.shape[0]
    out = np.empty((n, n)) if out is None else out
    kept = np.flatnonzero(np.any(weights != 0.0, axis=0))
    work = _combine_parallel if parallel else _combine_serial
    work(
        np.asarray(grams),
        rows,
        kept,
        np.ascontiguousarray(weights, dtype=np.float64),
        np.ascontiguousarray(memberships.T, dtype=np.float64),
        out,
    )
    return out


def block_products(grams, rows, columns, vectors, *, parallel=True):
    """Return V_jm = K_m u_j; see `reference.block_products`."""
    n_rows = grams.shape[1] if rows is None else len(rows)
    products = np.zeros((vectors.shape[1], grams.shape[0], n_rows))
    work = _block_products_parallel if parallel else _block_products_serial
    work(
        np.asarray(grams),
        rows,
        columns,
        np.ascontiguousarray(vectors.T, dtype=np.float64),
        products,
    )
    return products


def block_norms(grams, rows, vectors, *, parallel=True):
    """Return q_jm = u_j' K_m u_j; see `reference.block_norms`."""
    support = np.flatnonzero(np.any(vectors != 0.0, axis=1))
    chosen = support if rows is None else rows[support]
    on_support = vectors[support]
    products = block_products(grams, chosen, chosen, on_support, parallel=parallel)
    return np.einsum("jmi,ij->jm", products, on_support)


def solve_svm(K, y, epsilon, lower, upper, alpha, gradient, tol, max_iter, shrink=True):
    """Solve the SVM/SVR dual in place; see `reference.solve_svm`."""
    return _smo(K, y, float(epsilon), lower, upper, alpha, gradient, tol, max_iter, shrink)


@numba.njit(nogil=True, cache=True, fastmath=_FASTMATH)
def _combine_row(i, grams, rows, kept, weights, memberships, picked, row):
    """Write row i of K~ up to its diagonal entry."""
    row[: i + 1] = 0.0
    for m in kept:
        gram = grams[m, i if rows is None else rows[i]]
        for k in range(i + 1):
            picked[k] = gram[k if rows is None else rows[k]]
        for j in range(weights.shape[0]):
            factor = weights[j, m] * memberships[j, i]
            if factor != 0.0:
                member = memberships[j]
                for k in range(i + 1):
                    row[k] += factor * member[k] * picked[k]


@numba.njit(nogil=True, cache=True)
def _mirror_block(start, out):
    """Copy the lower triangle's columns [start, start + BLOCK_ROWS) to the upper one."""
    n = out.shape[0]
    for first in range(start, n, BLOCK_ROWS):
        for i in range(first, min(first + BLOCK_ROWS, n)):
            for k in range(start, min(start + BLOCK_ROWS, i)):
                out[k, i] = out[i, k]


def _combine_loop(grams, rows, kept, weights, memberships, out):
    n = out.shape[0]
    # Row r is paired with row n-1-r, so that every step of the loop costs the same.
    for pair in numba.prange((n + 1) // 2):
        picked = np.empty(n)
        first = np.int64(pair)
        last = n - 1 - first
        _combine_row(first, grams, rows, kept, weights, memberships, picked, out[first])
        if last != first:
            _combine_row(last, grams, rows, kept, weights, memberships, picked, out[last])
    for block in numba.prange((n + BLOCK_ROWS - 1) // BLOCK_ROWS):
        _mirror_block(np.int64(block) * BLOCK_ROWS, out)


@numba.njit(nogil=True, cache=True, fastmath=_FASTMATH)
def _products_row(i, grams, rows, columns, vectors, picked, products):
    n_clusters, n_columns = vectors.shape
    for m in range(grams.shape[0]):
        gram = grams[m, i if rows is None else rows[i]]
        for k in range(n_columns):
            picked[k] = gram[k if columns is None else columns[k]]
        for j in range(n_clusters):
            vector = vectors[j]
            total = 0.0
            for k in range(n_columns):
                total += picked[k] * vector[k]
            products[j, m, i] = total


def _block_products_loop(grams, rows, columns, vectors, products):
    for i in numba.prange(products.shape[2]):
        picked = np.empty(vectors.shape[1])
        _products_row(np.int64(i), grams, rows, columns, vectors, picked, products)


def _compile(loop, parallel):
    # numba names its cache after the function alone: without a name of its own, the twin compiled
    # second would be given the first one's code.
    named = FunctionType(loop.__code__, loop.__globals__, loop.__name__)
    named.__qualname__ += "_parallel" if parallel else "_serial"
    return numba.njit(named, nogil=True, cache=True, fastmath=_FASTMATH, parallel=parallel)


_combine_parallel = _compile(_combine_loop, True)
_combine_serial = _compile(_combine_loop, False)
_block_products_parallel = _compile(_block_products_loop, True)
_block_products_serial = _compile(_block_products_loop, False)


@numba.njit(nogil=True, cache=True)
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


@numba.njit(nogil=True, cache=True, fastmath=_FASTMATH)
def _smo(K, y, epsilon, lower, upper, alpha, gradient, tol, max_iter, shrink):
    n = K.shape[0]
    active = np.arange(n)
    n_active = n
    diagonal = np.diag(K).copy()
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
            _rebuild_gradient(K, y, alpha, gradient, active, n_active)
            active[:] = np.arange(n)
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
                    curvature = max(diagonal[i] + diagonal[k] - 2.0 * K_i[k], TINY_CURVATURE)
                    gain = rise * rise / curvature
                    if gain > best_gain:
                        best_gain = gain
                        best = k
        k = best
        K_k = K[k]
        curvature = max(diagonal[i] + diagonal[k] - 2.0 * K_i[k], TINY_CURVATURE)
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
        n_iter += 1

        countdown -= 1
        if shrink and countdown == 0:
            countdown = min(n, _SHRINK_EVERY)
            n_active = _shrink(
                epsilon, lower, upper, alpha, gradient, active, n_active, least_right, most_left
            )


@numba.njit(nogil=True, cache=True)
def _shrink(epsilon, lower, upper, alpha, gradient, active, n_active, least_right, most_left):
    """Keep the variables that can still be part of a violating pair; the others move to the end."""
    kept = 0
    dropped = np.empty(n_active, dtype=active.dtype)
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
    active[kept:n_active] = dropped[:n_dropped]
    return kept


@numba.njit(nogil=True, cache=True, fastmath=_FASTMATH)
def _rebuild_gradient(K, y, alpha, gradient, active, n_active):
    """Recompute the gradient of the variables that were left out."""
    support = np.flatnonzero(alpha)
    for position in range(n_active, len(active)):
        k = active[position]
        K_k = K[k]
        total = -y[k]
        for s in support:
            total += K_k[s] * alpha[s]
        gradient[k] = total
