"""Shares and their intervals, from the squared norms ||w_jm||^2 of a model and of its refits.

At the optimum a weight is a power of its norm, beta_jm ~ ||w_jm||^(2 / (p + 1)), so that shares are those of

    g(s)_jm = s_jm^(1 / (p + 1)) / sum_m' s_jm'^(1 / (p + 1)),    s = ||w||^2

Few samples give every kernel some norm: of a kernel that says nothing E s = c / n, and its share falls as
slowly as n^(-1 / (p + 1)). Squared norms are what can be corrected. With halves s has twice that bias, so
that 2 s - mean of the halves has none to first order (and the same holds for the bootstrap, whose draws add
c / n once more); and refits differ from all rows as all rows differ from very many: the variance of a mean
over m of n rows drawn without replacement is (1/m - 1/n) v, which is v / n at m = n / 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from localmkl._types import Floats

if TYPE_CHECKING:
    from localmkl.stacks import Stack


def squared_norms(stack: Stack, memberships: Floats, weights: Floats, alpha: Floats) -> Floats:
    """Return ``||w_jm||^2 = beta_jm^2 u_j' K_m u_j`` with u_j = c_j * alpha, (n_clusters, n_kernels).

    Parameters
    ----------
    stack : Stack
        The normalised kernels of the training rows.
    memberships : ndarray of shape (n_samples, n_clusters)
    weights : ndarray of shape (n_clusters, n_kernels)
    alpha : ndarray of shape (n_samples,)
    """
    support = np.flatnonzero(alpha)
    parts = memberships[support] * alpha[support, None]
    norms = np.einsum("jmi,ij->jm", stack.products(parts, support), parts)
    return weights**2 * np.maximum(norms, 0.0)


def shares_of(norms: Floats, p: float) -> Floats:
    """Return the shares g(s) of squared norms, (..., n_kernels); those below zero count as zero.

    Examples
    --------
    >>> shares_of(np.array([9.0, 1.0, -0.5]), p=1.0)
    array([0.75, 0.25, 0.  ])
    """
    powers = np.maximum(norms, 0.0) ** (1.0 / (p + 1.0))
    totals = powers.sum(axis=-1, keepdims=True)
    even = np.full_like(powers, 1.0 / powers.shape[-1])
    return np.divide(powers, totals, out=even, where=totals > 0.0)


def share_intervals(
    norms: Floats, resampled: Floats, p: float, level: float
) -> tuple[Floats, Floats, Floats]:
    """Return corrected shares and the ends of their intervals.

    Parameters
    ----------
    norms : ndarray of shape (n_problems, n_clusters, n_kernels)
        Squared norms on all rows.
    resampled : ndarray of shape (n_resamples, n_problems, n_clusters, n_kernels)
        Those of refits; NaN where a cluster has no like.
    p : float
        Norm of the weights.
    level : float
        Part of the intervals that are to cover.

    Returns
    -------
    corrected, low, high : ndarray of shape (n_clusters, n_kernels)
        A mean over problems; NaN for a cluster that no refit has found.
    """
    found = np.asarray(~np.isnan(resampled).any(axis=(1, 3)))
    results = np.full((3, *norms.shape[1:]), np.nan)
    tail = 0.5 * (1.0 - level)
    for cluster in np.flatnonzero(found.any(axis=0)):
        refits = resampled[found[:, cluster], :, cluster]
        centre = refits.mean(axis=0)
        unbiased = 2.0 * norms[:, cluster] - centre
        drawn = shares_of(unbiased + refits - centre, p).mean(axis=1)
        results[0, cluster] = shares_of(unbiased, p).mean(axis=0)
        results[1:, cluster] = np.quantile(drawn, (tail, 1.0 - tail), axis=0)
    return tuple(results)
