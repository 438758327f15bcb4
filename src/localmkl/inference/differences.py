"""Effects of one group of samples against the others, with p-values, many columns at a time."""

import numpy as np
from scipy import stats

from localmkl._types import Bools, Floats


def numeric_effects(table: Floats, inside: Bools) -> dict[str, Floats]:
    """Compare columns of numbers inside and outside a group; missing cells are left out.

    Parameters
    ----------
    table : ndarray of shape (n_samples, n_columns)
        NaN is missing.
    inside : ndarray of bool of shape (n_samples,)

    Returns
    -------
    dict of ndarray of shape (n_columns,)
        "inside" and "outside": means; "effect": their difference in standard deviations, pooled of both;
        "rank_biserial": by how much more often a sample inside is larger than one outside than the other way
        round, from -1 to 1; "p_value": of Mann and Whitney's test.

    Examples
    --------
    >>> table = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> found = numeric_effects(table, np.array([False, False, True, True]))
    >>> round(float(found["effect"][0]), 3), float(found["rank_biserial"][0])
    (2.828, 1.0)
    """
    own, others = table[inside], table[~inside]
    with np.errstate(invalid="ignore", divide="ignore"):
        means = _means(own), _means(others)
        counts = [np.maximum((~np.isnan(part)).sum(axis=0), 0) for part in (own, others)]
        squares = [
            np.nansum((part - mean) ** 2, axis=0) for part, mean in zip((own, others), means, strict=True)
        ]
        spread = np.sqrt((squares[0] + squares[1]) / np.maximum(counts[0] + counts[1] - 2, 1))
        effect = np.where(spread > 0.0, (means[0] - means[1]) / np.where(spread > 0.0, spread, 1.0), 0.0)
    known = (counts[0] > 0) & (counts[1] > 0)
    rank, p = np.zeros(table.shape[1]), np.ones(table.shape[1])
    if known.any():
        test = stats.mannwhitneyu(
            own[:, known], others[:, known], axis=0, method="asymptotic", nan_policy="omit"
        )
        rank[known] = 2.0 * np.asarray(test.statistic) / (counts[0] * counts[1])[known] - 1.0
        p[known] = np.nan_to_num(np.asarray(test.pvalue, dtype=float), nan=1.0)  # all alike: nothing is said
    return {
        "inside": means[0],
        "outside": means[1],
        "effect": np.where(known, effect, 0.0),
        "rank_biserial": rank,
        "p_value": p,
    }


def share_effects(table: Bools, inside: Bools, known: Bools | None = None) -> dict[str, Floats]:
    """Compare how often each of some things is so inside and outside a group.

    Parameters
    ----------
    table : ndarray of bool of shape (n_samples, n_columns)
    inside : ndarray of bool of shape (n_samples,)
    known : ndarray of bool of shape (n_samples,), optional
        Samples that count.

    Returns
    -------
    dict of ndarray of shape (n_columns,)
        "inside" and "outside": shares; "effect": their difference; "p_value": twice the smaller tail of the
        hypergeometric distribution, which is exact and never too small.

    Examples
    --------
    >>> table = np.array([[True], [True], [False], [False]])
    >>> found = share_effects(table, np.array([True, True, False, False]))
    >>> float(found["effect"][0]), round(float(found["p_value"][0]), 3)
    (1.0, 0.333)
    """
    if known is not None:
        table, inside = table[known], inside[known]
    n_rows, n_inside = len(table), int(inside.sum())
    hits, every = table[inside].sum(axis=0), table.sum(axis=0)
    shares = hits / max(n_inside, 1), (every - hits) / max(n_rows - n_inside, 1)
    tails = (
        stats.hypergeom.cdf(hits, n_rows, every, n_inside),
        stats.hypergeom.sf(hits - 1, n_rows, every, n_inside),
    )
    return {
        "inside": shares[0],
        "outside": shares[1],
        "effect": shares[0] - shares[1],
        "rank_biserial": np.full(len(hits), np.nan),
        "p_value": np.minimum(1.0, 2.0 * np.minimum(*tails)),
    }


def adjusted_p_values(p_values: Floats) -> Floats:
    """Return p-values adjusted by Benjamini and Hochberg: the false discovery rate at which each is found.

    Examples
    --------
    >>> adjusted_p_values(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.04, 0.04])
    """
    p_values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p_values)[::-1]
    ranks = len(p_values) - np.arange(len(p_values))
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum.accumulate(np.minimum(1.0, p_values[order] * len(p_values) / ranks))
    return adjusted


def _means(table: Floats) -> Floats:
    counts = (~np.isnan(table)).sum(axis=0)
    return np.where(counts > 0, np.nansum(table, axis=0) / np.maximum(counts, 1), np.nan)
