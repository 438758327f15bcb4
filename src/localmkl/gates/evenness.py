"""Memberships from distances, and their average evenness.

    c_j(x)  = softmax_j(-tau d2_j(x))                      tau = 0: uniform, tau = inf: hard
    AE(tau) = mean_ij exp(-tau (d2_j(x_i) - min_j' d2_j'(x_i)))

What is the same for all clusters cancels: memberships need no diagonal of new points.
"""

import warnings

import numpy as np
from scipy.optimize import brentq

from localmkl._types import Floats

MOST_STEPS = 200
"""On the way to tau; twelve are many."""


def memberships(distances: Floats, tau: float) -> Floats:
    """Return ``softmax_j(-tau d2_j)``; at ``tau = inf`` the nearest clusters share equally.

    Parameters
    ----------
    distances : ndarray of shape (n, l)
        Squared distances d2 to the clusters, each row up to a constant.
    tau : float
        Sharpness, in [0, inf].

    Returns
    -------
    ndarray of shape (n, l)
        Rows sum to one.

    Examples
    --------
    >>> memberships(np.array([[0.0, 1.0], [3.0, 3.0]]), np.inf)
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    ratios = _ratios(tau, distances)
    return ratios / ratios.sum(axis=1, keepdims=True)


def average_evenness(tau: float, distances: Floats, sample_weight: Floats | None = None) -> float:
    """Return the average evenness AE(tau) in [1/l, 1] of squared distances (n, l).

    Parameters
    ----------
    tau : float
        Sharpness, in [0, inf].
    distances : ndarray of shape (n, l)
        Squared distances to the clusters, each row up to a constant.
    sample_weight : ndarray of shape (n,), optional
        A row of weight w counts as w equal rows.

    Returns
    -------
    float
        The average evenness.

    Examples
    --------
    >>> distances = np.array([[0.0, 1.0], [2.0, 0.0]])
    >>> average_evenness(0.0, distances), average_evenness(np.inf, distances)
    (1.0, 0.5)
    """
    return float(np.average(_ratios(tau, distances).mean(axis=1), weights=sample_weight))


def tau_for_evenness(evenness: float, distances: Floats, sample_weight: Floats | None = None) -> float:
    """Return the tau whose average evenness is `evenness`.

    Equal distances can keep the average evenness above 1/l for every tau. Then the smallest one that
    can be reached is used, with a warning.

    Parameters
    ----------
    evenness : float
        Average evenness asked for, in [1/l, 1].
    distances : ndarray of shape (n, l)
        Squared distances to the clusters, each row up to a constant.
    sample_weight : ndarray of shape (n,), optional
        A row of weight w counts as w equal rows.

    Returns
    -------
    float
        Sharpness tau, in [0, inf].

    Examples
    --------
    >>> distances = np.array([[0.0, 1.0], [2.0, 0.0]])
    >>> round(average_evenness(tau_for_evenness(0.7, distances), distances), 6)
    0.7
    """
    if distances.shape[1] == 1 or evenness >= 1.0:
        return 0.0
    least = average_evenness(np.inf, distances, sample_weight)
    if evenness <= least:
        if evenness < least - 1e-9:
            warnings.warn(
                f"An average evenness of {evenness:.4g} cannot be reached: some rows are equally far "
                f"from several clusters; the smallest one, {least:.4g}, is used.",
                UserWarning,
                stacklevel=2,
            )
        return np.inf
    excess = distances - distances.min(axis=1, keepdims=True)

    def surplus(tau: float) -> float:
        return float(np.average(np.exp(-tau * excess).mean(axis=1), weights=sample_weight)) - evenness

    low, high = 0.0, 1.0 / max(float(np.ptp(distances)), np.finfo(float).tiny)
    while surplus(high) > 0.0:
        low, high = high, 2.0 * high
    return brentq(surplus, low, high, xtol=4.0 * np.finfo(float).eps * high, maxiter=MOST_STEPS)


def _ratios(tau: float, distances: Floats) -> Floats:
    """Return each row's ``exp(-tau d2)`` divided by its largest."""
    excess = distances - distances.min(axis=1, keepdims=True)
    if np.isinf(tau):
        return (excess == 0.0).astype(np.float64)
    return np.exp(-tau * excess)
