"""Clusters of one partition found again in another."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from localmkl._types import Floats, Ints


def main_clusters_in(memberships: Floats) -> Ints:
    """Return the number of the largest membership of each row."""
    return np.asarray(memberships).argmax(axis=1)


def overlaps(first: Ints, second: Ints, n_first: int, n_second: int) -> Ints:
    """Return how many rows are in each cluster of one partition and each of the other, (n_first, n_second).

    Examples
    --------
    >>> overlaps(np.array([0, 0, 1]), np.array([1, 1, 0]), 2, 2)
    array([[0, 2],
           [1, 0]])
    """
    return np.bincount(first * n_second + second, minlength=n_first * n_second).reshape(n_first, n_second)


def match_clusters(first: Ints, second: Ints, n_first: int, n_second: int) -> Ints:
    """Return for each cluster of one partition its like in the other: as many rows as possible agree.

    Parameters
    ----------
    first, second : ndarray of int of shape (n_samples,)
        Clusters of the same rows.
    n_first, n_second : int
        Numbers of clusters.

    Returns
    -------
    ndarray of int of shape (n_first,)
        No two have the same; -1 where none is left.

    Examples
    --------
    >>> match_clusters(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 1]), 2, 2)
    array([1, 0])
    """
    rows, columns = linear_sum_assignment(overlaps(first, second, n_first, n_second), maximize=True)
    matched = np.full(n_first, -1)
    matched[rows] = columns
    return matched


def jaccards(first: Ints, second: Ints, matched: Ints, n_second: int) -> Floats:
    """Return for each cluster the rows that both have as a share of those that either has.

    Zero of a cluster that is not matched, NaN of one that has no rows here.

    Examples
    --------
    >>> jaccards(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 1]), np.array([1, 0]), 2)
    array([0.66666667, 0.5       ])
    """
    table = overlaps(first, second, len(matched), n_second)
    both = table[np.arange(len(matched)), matched]
    either = table.sum(axis=1) + table.sum(axis=0)[matched] - both
    found = np.where(matched >= 0, both / np.maximum(either, 1), 0.0)
    return np.where(table.sum(axis=1) > 0, found, np.nan)
