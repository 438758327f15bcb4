"""Plain NumPy: what the hot functions on features mean.

feature_scores    f_i = sum_j c_ij images_j'phi_i
feature_moments   a_j = sum_i u_ij phi_i
descend           max_alpha of one dual variable after the other
"""

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit


def feature_scores(table, rows, memberships, images, out, *, parallel=True):
    """Write ``sum_j c_ij images_j'phi_i`` of rows of a table to `out`.

    Parameters
    ----------
    table : ndarray of shape (N, R)
    rows : ndarray of shape (n,)
        Places of the rows in the table.
    memberships : ndarray of shape (n, l)
    images : ndarray of shape (l, R)
        Their type is that of the products.
    out : ndarray of shape (n,)
    parallel : bool
        Ignored here.
    """
    out[:] = np.einsum("ij,ij->i", memberships, table[rows].astype(images.dtype) @ images.T)


def feature_moments(table, rows, vectors, *, parallel=True):
    """Return ``sum_i u_ij phi_i`` of rows of a table, (l, R), for the columns u_j of `vectors` (n, l)."""
    return vectors.T @ table[rows].astype(np.float64)


def descend(
    table, rows, places, memberships, y, lower, upper, ridge, tube, logistic,
    sizes, alpha, images, big, kept, intercept, rho, total,
):  # fmt: skip
    """Improve dual variables one after the other, in place; return the new sum of all of them, and a gain.

    Each maximises, with the others fixed, over its bounds

        (y - f - b - rho s) da - (K~_ii + rho) da^2 / 2 - tube |alpha| - ridge alpha^2 / 2

    or, for the log loss, the same with the entropy ``C H(y alpha / C)`` in place of ``y alpha`` and of the
    last two terms. f and s are the score and the sum of all dual variables, brought up to date after each
    step, The gain, the sum of half of the curvatures times the squared
    changes, is the least that the function above has grown by.

    Parameters
    ----------
    table : ndarray of shape (N, R)
    rows, places : ndarray of shape (k,)
        Places of the samples in the table, and in the arrays of n below.
    memberships : ndarray of shape (n, l)
    y, lower, upper, ridge, sizes : ndarray of shape (n,)
        Labels or targets, bounds, and ``K~_ii``.
    tube : float
    logistic : bool
    alpha : ndarray of shape (n,)
        Overwritten.
    images : ndarray of shape (l, R)
        ``beta_jm a_jm``; overwritten. Their type is that of the products.
    big : ndarray of shape (l, R)
        The weights beta_jm, for every feature.
    kept : ndarray of shape (k, 2)
        Ranges of features whose images are not all zero.
    intercept, rho, total : float
    """
    gain = 0.0
    for row, i in zip(rows, places, strict=True):
        x, c = table[row].astype(images.dtype), memberships[i]
        slope = y[i] - float(c @ (images @ x)) - intercept - rho * total
        curvature = sizes[i] + rho
        if logistic:
            new = _logistic_maximiser(y[i], slope - y[i], curvature, upper[i] - lower[i], alpha[i])
        else:
            pull = slope + curvature * alpha[i]
            beyond = max(abs(pull) - tube, 0.0)
            whole = curvature + ridge[i]
            free = beyond / whole if whole > 0.0 else np.inf
            new = (
                np.clip(np.sign(pull) * free, lower[i], upper[i]) if beyond > 0.0 or whole > 0.0 else alpha[i]
            )
        change = new - alpha[i]
        alpha[i] = new
        gain += 0.5 * (curvature + ridge[i]) * change**2
        total += change
        images += change * c[:, None] * big * x
    return total, gain


def _logistic_maximiser(label, slope, curvature, cost, alpha):
    """Return the alpha whose score, after the change, has it for its dual variable.

    With alpha = label cost t and u = log(t / (1 - t)),

        -label slope + curvature (cost t - label alpha) + u = 0
    """
    if not cost > 0.0:
        return alpha
    before, pull = label * alpha, -label * slope

    def value(u):
        return pull + curvature * (cost * expit(u) - before) + u

    low, high = -pull - curvature * (cost - before), -pull + curvature * before
    u = low if low == high else brentq(value, low - 1e-9, high + 1e-9, xtol=1e-14)
    return label * cost * expit(u)
