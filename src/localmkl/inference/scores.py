"""Scores of held-out decisions with intervals, and differences of two models on the same rows.

Every score has an influence function psi, one number for each row: its error is sqrt(sum psi^2) / n, and that
of a difference comes from the difference of two such functions. For the area under the ROC curve this is the
method of DeLong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, rankdata

from localmkl._checks import check_option
from localmkl._types import Array, Floats, Ints
from localmkl.estimators.probabilities import log_probabilities, probabilities

LABELS = ("roc_auc", "accuracy", "balanced_accuracy", "log_loss", "brier")
NUMBERS = ("r2", "rmse", "mae", "pinball")
SHARES = ("roc_auc", "accuracy", "balanced_accuracy")


@dataclass(frozen=True)
class Score:
    """A score with its 95 % interval.

    Parameters
    ----------
    metric : str
    value, low, high : float
        NaN where the rows do not define the score.
    n : int
        Rows.
    events : int or None
        Rows of the positive class, of two classes.

    Examples
    --------
    >>> Score("roc_auc", 0.75, 0.69, 0.8, n=300, events=115).value
    0.75
    """

    metric: str
    value: float
    low: float
    high: float
    n: int
    events: int | None = None


def score_of(
    metric: str,
    y: Array,
    decisions: Sequence[Floats],
    *,
    n_classes: int,
    quantile: float | None = None,
    level: float = 0.95,
) -> Score:
    """Return the score of decisions, or that of one model minus that of another.

    Parameters
    ----------
    metric : str
    y : ndarray of shape (n,)
        Numbers of classes, or targets.
    decisions : sequence of one or two ndarray
    n_classes : int
        0 for regression.
    quantile : float, optional
        For "pinball".
    level : float, default=0.95

    Examples
    --------
    >>> y, decisions = np.array([0, 0, 1, 1]), np.array([-1.0, 1.0, 0.5, 2.0])
    >>> score_of("roc_auc", y, [decisions], n_classes=2).value
    0.75
    """
    check_option("metric", metric, LABELS if n_classes else NUMBERS)
    events = int(np.sum(y == 1)) if n_classes == 2 else None
    n, reach = len(y), float(norm.ppf(0.5 + 0.5 * level))
    known = n > 1 and (not n_classes or metric not in SHARES[::2] or len(np.unique(y)) > 1)
    if not known or (metric == "roc_auc" and n_classes != 2) or (metric == "r2" and np.ptp(y) == 0.0):
        return Score(metric, np.nan, np.nan, np.nan, n, events)
    found = [_influence(metric, y, one, n_classes, quantile) for one in decisions]
    value, psi = found[0]
    if len(found) == 2:
        value, psi = value - found[1][0], psi - found[1][1]
    error = float(np.sqrt(np.sum(psi**2))) / n
    low, high = value - reach * error, value + reach * error
    if len(found) == 1 and metric in SHARES:
        low, high = _between(value, error, n if events is None else min(events, n - events), reach)
    return Score(metric, float(value), float(low), float(high), n, events)


def _between(value: float, error: float, n: int, reach: float) -> tuple[float, float]:
    """Return an interval inside (0, 1), by log-odds; at an end by the rule of three."""
    if value <= 0.0 or value >= 1.0 or error == 0.0:
        return max(0.0, value - 3.0 / max(n, 3)), min(1.0, value + 3.0 / max(n, 3))
    odds, spread = np.log(value / (1.0 - value)), reach * error / (value * (1.0 - value))
    return float(1.0 / (1.0 + np.exp(spread - odds))), float(1.0 / (1.0 + np.exp(-spread - odds)))


def _influence(
    metric: str, y: Array, decisions: Floats, n_classes: int, quantile: float | None
) -> tuple[float, Floats]:
    """Return a score and its influence function, (n,)."""
    if metric == "roc_auc":
        return _area(y == 1, decisions)
    if metric in ("r2", "rmse", "mae", "pinball"):
        return _of_errors(metric, y, y - decisions, 0.5 if quantile is None else quantile)
    if metric in ("accuracy", "balanced_accuracy"):
        labels = (decisions > 0.0).astype(int) if decisions.ndim == 1 else decisions.argmax(axis=1)
        right = (labels == y).astype(float)
        if metric == "accuracy":
            return float(right.mean()), right - right.mean()
        return _recall(y, right)
    if metric == "log_loss":
        each = -log_probabilities(decisions)[np.arange(len(y)), y]
    else:
        wrong = np.square(probabilities(decisions) - (y[:, None] == np.arange(n_classes))).sum(axis=1)
        each = wrong * (0.5 if n_classes == 2 else 1.0)
    return float(each.mean()), each - each.mean()


def _area(positive: Array, decisions: Floats) -> tuple[float, Floats]:
    """Return the area under the ROC curve and its influence function."""
    n, events = len(positive), int(positive.sum())
    ranks, above = rankdata(decisions), np.empty(n)
    above[positive] = (ranks[positive] - rankdata(decisions[positive])) / (n - events)
    above[~positive] = 1.0 - (ranks[~positive] - rankdata(decisions[~positive])) / events
    value = float(above[positive].mean())
    return value, (above - value) * n / np.where(positive, events, n - events)


def _recall(y: Ints, right: Floats) -> tuple[float, Floats]:
    """Return the mean over classes of the share that is right, and its influence function."""
    labels = np.unique(y)
    psi, recalls = np.zeros(len(y)), []
    for label in labels:
        own = y == label
        recalls.append(right[own].mean())
        psi[own] = (right[own] - recalls[-1]) * len(y) / (own.sum() * len(labels))
    return float(np.mean(recalls)), psi


def _of_errors(metric: str, y: Floats, errors: Floats, quantile: float) -> tuple[float, Floats]:
    """Return a score of regression and its influence function."""
    squares = errors**2
    if metric == "r2":
        spread = np.square(y - y.mean())
        value = 1.0 - squares.mean() / max(spread.mean(), np.finfo(float).tiny)
        return float(value), -(squares - (1.0 - value) * spread) / max(spread.mean(), np.finfo(float).tiny)
    if metric == "rmse":
        value = float(np.sqrt(squares.mean()))
        return value, (squares - value**2) / (2.0 * value or 1.0)
    each = np.abs(errors) if metric == "mae" else errors * (quantile - (errors < 0.0))
    return float(each.mean()), each - each.mean()
