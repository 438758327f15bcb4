"""Plain NumPy: what each hot function means.

combine         K~ = sum_m (sum_j w_jm c_j c_j') * K_m
block_products  V_jm = K_m u_j
block_norms     q_jm = u_j' K_m u_j
solve_svm       min_a 1/2 a'Ka - y'a + epsilon |a|_1,  lower <= a <= upper,  sum(a) = 0
"""

import numpy as np

BLOCK_ROWS = 256
"""Rows of one Gram that are held as a temporary float64 copy at a time."""

TINY_CURVATURE = 1e-12
"""Least curvature of a pair, as a share of the largest diagonal entry."""


def combine(grams, rows, weights, memberships, out=None):
    """Return the combined kernel K~ of the training rows.

    Parameters
    ----------
    grams : ndarray of shape (M, N, N)
    rows : ndarray of shape (n,) or None
        The rows and columns of `grams` to read; None reads all of them.
    weights : ndarray of shape (l, M)
    memberships : ndarray of shape (n, l)
    out : ndarray of shape (n, n), optional
        Where to write the result.

    Returns
    -------
    ndarray of shape (n, n)
    """
    n = memberships.shape[0]
    out = np.empty((n, n)) if out is None else out
    out[...] = 0.0
    for start in range(0, n, BLOCK_ROWS):
        block = slice(start, min(start + BLOCK_ROWS, n))
        for m in range(grams.shape[0]):
            coefficients = (memberships[block] * weights[:, m]) @ memberships.T
            out[block] += coefficients * _read(grams[m], rows, rows, block)
    return out


def block_products(grams, rows, vectors):
    """Return ``V[j, m] = K_m @ vectors[:, j]``, with K_m the symmetric ``grams[m][rows][:, rows]``.

    Parameters
    ----------
    grams : ndarray of shape (M, N, N)
    rows : ndarray of indices or None
    vectors : ndarray of shape (n, l)

    Returns
    -------
    ndarray of shape (l, M, n)
    """
    return products_of_rows(grams, rows, rows, vectors)


def products_of_rows(grams, rows, columns, vectors):
    """Return ``V[j, m] = grams[m][rows][:, columns] @ vectors[:, j]``, (l, M, n_rows)."""
    n_rows = grams.shape[1] if rows is None else len(rows)
    products = np.empty((vectors.shape[1], grams.shape[0], n_rows), dtype=vectors.dtype)
    transposed = np.ascontiguousarray(vectors.T)
    for start in range(0, n_rows, BLOCK_ROWS):
        block = slice(start, min(start + BLOCK_ROWS, n_rows))
        for m in range(grams.shape[0]):
            products[:, m, block] = transposed @ _read(grams[m], rows, columns, block).T
    return products


def block_norms(grams, rows, vectors):
    """Return ``q[j, m] = u_j' K_m u_j`` for the columns u_j of `vectors` (n, l)."""
    support = np.flatnonzero(np.any(vectors != 0.0, axis=1))
    chosen = support if rows is None else rows[support]
    chosen = None if rows is None and len(support) == len(vectors) else chosen
    products = block_products(grams, chosen, vectors[support])
    return np.einsum("jmi,ij->jm", products, vectors[support])


def submatrix(K, index):
    """Return ``K[index][:, index]`` in Fortran order; of a symmetric K, only its upper triangle counts."""
    return np.asfortranarray(K[np.ix_(index, index)])


def solve_svm(K, y, epsilon, lower, upper, alpha, gradient, tol, max_iter, shrink=True):
    """Solve the SVM/SVR dual by sequential minimal optimisation, in place.

    Minimise ``1/2 a'Ka - y'a + epsilon |a|_1`` over ``lower <= a <= upper`` with the sum of a kept.
    A pair (i, k) moves by ``a_i += t``, ``a_k -= t``: i has the smallest right derivative, k promises the
    largest decrease to second order. Stop when no left derivative exceeds a right one by more than `tol`.

    Parameters
    ----------
    K : ndarray of shape (n, n)
    y, lower, upper : ndarray of shape (n,)
    epsilon : float
        Width of the insensitive tube; zero for the hinge loss.
    alpha : ndarray of shape (n,)
        Feasible start; overwritten by the solution.
    gradient : ndarray of shape (n,)
        ``K @ alpha - y`` on entry and on return.
    tol : float
    max_iter : int
    shrink : bool
        Ignored here: this twin looks at every variable in every step.

    Returns
    -------
    n_iter : int
    violation : float
    """
    diagonal = K.diagonal()
    flattest = tiny_curvature(diagonal)
    for n_iter in range(max_iter + 1):
        right = gradient + np.where(alpha >= 0.0, epsilon, -epsilon)
        left = gradient + np.where(alpha > 0.0, epsilon, -epsilon)
        right = np.where(alpha < upper, right, np.inf)
        left = np.where(alpha > lower, left, -np.inf)
        i = int(np.argmin(right))
        violation = float(left.max() - right[i])
        if not violation > tol or n_iter == max_iter:
            break
        curvature = np.maximum(diagonal[i] + diagonal - 2.0 * K[i], flattest)
        rise = np.where(left > right[i], left - right[i], 0.0)
        k = int(np.argmax(rise**2 / curvature))
        step_i, step_k = _pair_step(
            alpha[i], alpha[k], upper[i], lower[k], right[i] - left[k], curvature[k], epsilon
        )
        gradient += (step_i - alpha[i]) * K[i] + (step_k - alpha[k]) * K[k]
        alpha[i], alpha[k] = step_i, step_k
    return n_iter, max(violation, 0.0)


def tiny_curvature(diagonal):
    """Return the curvature that a pair is taken to have at least; positive even where K vanishes."""
    return max(TINY_CURVATURE * np.abs(diagonal).max(), np.finfo(np.float64).tiny)


def _pair_step(a_i, a_k, upper_i, lower_k, slope, curvature, epsilon):
    """Return the new (a_i, a_k) that minimise along ``a_i + t, a_k - t`` for t >= 0.

    The slope jumps by 2 epsilon where a variable crosses zero; the bounds end the line.
    """
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
        # Land on bounds and on zero exactly, so that the comparisons above stay true.
        new_i = upper_i if kink == upper_i - a_i else (0.0 if kink == -a_i else a_i + kink)
        new_k = lower_k if kink == a_k - lower_k else (0.0 if kink == a_k else a_k - kink)
        slope += curvature * kink
        crossed = (new_i == 0.0 and a_i < 0.0) + (new_k == 0.0 and a_k > 0.0)
        slope += 2.0 * epsilon * crossed
        a_i, a_k = new_i, new_k
        if kink == end or slope >= 0.0:
            return a_i, a_k


def _read(gram, rows, columns, block):
    """Return a float64 block of rows of one Gram; a view where no index or cast asks for a copy."""
    picked = gram[block] if rows is None else gram[rows[block]]
    picked = picked if columns is None else picked[:, columns]
    return np.asarray(picked, dtype=np.float64)
