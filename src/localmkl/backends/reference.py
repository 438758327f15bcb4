"""Plain NumPy: what the hot functions on one kernel matrix mean.

submatrix       K on some rows and columns
solve_svm       min_a 1/2 a'(K + R)a - y'a + epsilon |a|_1,  lower <= a <= upper,  sum(a) = 0
"""

import numpy as np

TINY_CURVATURE = 1e-12
"""Least curvature of a pair, as a share of the largest diagonal entry."""


def submatrix(K, index):
    """Return ``K[index][:, index]`` of a symmetric K, in Fortran order."""
    out = np.empty((len(index), len(index)))
    for start in range(0, len(index), 256):  # some rows at a time: no second matrix
        K[index[start : start + 256]].take(index, axis=1, out=out[start : start + 256], mode="clip")
    return out.T


def solve_svm(K, ridge, y, epsilon, lower, upper, alpha, gradient, tol, max_iter, shrink=True):
    """Solve the SVM/SVR dual by sequential minimal optimisation, in place.

    Minimise ``1/2 a'(K + R)a - y'a + epsilon |a|_1`` over ``lower <= a <= upper`` with the sum of a kept.
    A pair (i, k) moves by ``a_i += t``, ``a_k -= t``: i has the smallest right derivative, k promises the
    largest decrease to second order. Stop when no left derivative exceeds a right one by more than `tol`.

    Parameters
    ----------
    K : ndarray of shape (n, n)
    ridge : ndarray of shape (n,)
        The diagonal R.
    y, lower, upper : ndarray of shape (n,)
    epsilon : float
        Width of the insensitive tube; zero for the hinge loss.
    alpha : ndarray of shape (n,)
        Feasible start; overwritten by the solution.
    gradient : ndarray of shape (n,)
        ``(K + R) @ alpha - y`` on entry and on return.
    tol : float
    max_iter : int
    shrink : bool
        Ignored here: this twin looks at every variable in every step.

    Returns
    -------
    n_iter : int
    violation : float
    """
    diagonal = K.diagonal() + ridge
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
        gradient[i] += (step_i - alpha[i]) * ridge[i]
        gradient[k] += (step_k - alpha[k]) * ridge[k]
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
