"""Features of rows times a few vectors, and dual coordinate ascent on them, in numba; twins in `reference`.

Images are read for every row: they and one row's features stay in the innermost cache.
"""

import numba
import numpy as np

from localmkl.backends.compiled import _FASTMATH, _compile
from localmkl.backends.compiling import njit

_SHARES = 16
"""Shares of the rows, each with totals of its own; their number must not depend on the threads."""


def feature_scores(table, rows, memberships, images, out, *, parallel=True):
    """Write ``sum_j c_ij images_j'phi_i`` of rows of a table to `out`; see `reference.feature_scores`."""
    work = _scores_parallel if parallel else _scores_serial
    work(table, rows, memberships, images, out)


def feature_moments(table, rows, vectors, *, parallel=True):
    """Return ``sum_i u_ij phi_i`` of rows of a table, (l, R); see `reference.feature_moments`."""
    totals = np.zeros((_SHARES, vectors.shape[1], table.shape[1]))
    work = _moments_parallel if parallel else _moments_serial
    work(table, rows, vectors, totals)
    return totals.sum(axis=0)


def _scores(table, rows, memberships, images, out):
    n_clusters, n_features = images.shape
    for k in numba.prange(len(rows)):
        x, score = table[rows[k]], 0.0
        for j in range(n_clusters):
            c = memberships[k, j]
            if c != 0.0:
                dot, own = images.dtype.type(0.0), images[j]
                for r in range(n_features):
                    dot += x[r] * own[r]
                score += c * dot
        out[k] = score


def _moments(table, rows, vectors, totals):
    n_shares, n_clusters, n_features = totals.shape
    size = -(-len(rows) // n_shares)
    for share in numba.prange(n_shares):
        for k in range(share * size, min((share + 1) * size, len(rows))):
            x = table[rows[k]]
            for j in range(n_clusters):
                u = vectors[k, j]
                if u != 0.0:
                    own = totals[share, j]
                    for r in range(n_features):
                        own[r] += u * x[r]


_scores_parallel, _scores_serial = _compile(_scores)
_moments_parallel, _moments_serial = _compile(_moments)


@njit(fastmath=_FASTMATH)
def descend(
    table, rows, places, memberships, y, lower, upper, ridge, tube, logistic,
    sizes, alpha, images, big, kept, intercept, rho, total,
):  # fmt: skip
    """Improve dual variables one after the other, in place; see `reference.descend`."""
    n_clusters, gain = len(images), 0.0
    for k in range(len(rows)):
        x, i = table[rows[k]], places[k]
        score = 0.0
        for j in range(n_clusters):
            c = memberships[i, j]
            if c != 0.0:
                for part in range(len(kept)):
                    first, last = kept[part]
                    here, own = x[first:last], images[j, first:last]
                    dot = images.dtype.type(0.0)
                    for r in range(len(own)):
                        dot += here[r] * own[r]
                    score += c * dot
        slope = y[i] - score - intercept - rho * total
        curvature = sizes[i] + rho
        if logistic:
            new = _logistic_maximiser(y[i], slope - y[i], curvature, upper[i] - lower[i], alpha[i])
        else:
            pull = slope + curvature * alpha[i]
            beyond = max(abs(pull) - tube, 0.0)
            whole = curvature + ridge[i]
            if whole > 0.0:
                new = np.sign(pull) * beyond / whole
            else:
                new = np.sign(pull) * np.inf if beyond > 0.0 else alpha[i]
            new = min(max(new, lower[i]), upper[i])
        change = new - alpha[i]
        if change == 0.0:
            continue
        alpha[i] = new
        gain += 0.5 * (curvature + ridge[i]) * change**2
        total += change
        for j in range(n_clusters):
            step = images.dtype.type(change * memberships[i, j])
            if step != 0.0:
                for part in range(len(kept)):
                    first, last = kept[part]
                    here, own, weight = x[first:last], images[j, first:last], big[j, first:last]
                    for r in range(len(own)):
                        own[r] += step * weight[r] * here[r]
    return total, gain


@njit()
def _logistic_maximiser(label, slope, curvature, cost, alpha):
    """Return the alpha at which ``-slope'`` and the conjugate of the log loss balance; see the twin."""
    if not cost > 0.0:
        return alpha
    before = label * alpha
    pull = -label * slope
    low, high = -pull - curvature * (cost - before), -pull + curvature * before
    u, last = -pull, np.inf
    for _ in range(100):
        share = 1.0 / (1.0 + np.exp(-u))
        value = pull + curvature * (cost * share - before) + u
        if value > 0.0:
            high = u
        else:
            low = u
        step = value / (1.0 + curvature * cost * share * (1.0 - share))
        new = u - step
        # Where shares are zero or one, the next step may lead back: steps shrink, or the interval does.
        if not low <= new <= high or abs(step) > 0.5 * last:
            new = 0.5 * (low + high)
        last = abs(new - u)
        if last <= 1e-13 * (1.0 + abs(u)):
            u = new
            break
        u = new
    return label * cost / (1.0 + np.exp(-u))
