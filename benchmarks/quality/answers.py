"""What every method gives: guesses on the test rows, and what it chose; and how these are scored."""

import warnings
from dataclasses import dataclass, field

import numpy as np
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold

from benchmarks.quality.sets import CLASSES, NUMBERS

FOLDS = 5
"""Of every search; that of the command line has as many by default."""

METRICS = {"roc_auc": roc_auc_score, "accuracy": accuracy_score, "r2": r2_score}
SHOWN = {"roc_auc": "AUC", "accuracy": "accuracy", "r2": "R2"}


@dataclass(frozen=True)
class Answer:
    """Guesses on the test rows: decisions for two classes, labels for more, numbers.

    Attributes
    ----------
    guesses : ndarray
    inner : float or None
        The best score of a search.
    chosen : dict
        The parameters of that score.
    """

    guesses: np.ndarray
    inner: float | None = None
    chosen: dict = field(default_factory=dict)


def guess(data, model, X, **groups):
    """Return what a fitted model says of rows, as the metric takes it."""
    return (model.decision_function if data.binary else model.predict)(X, **groups)


def score(data, rows, guesses):
    """Return the score of guesses; with known groups, its mean within groups."""
    metric, truth = METRICS[data.metric], data.y[rows]
    if data.groups is None:
        return float(metric(truth, guesses))
    groups = data.groups[rows]
    parts = [groups == group for group in np.unique(groups)]
    return float(np.mean([metric(truth[part], guesses[part]) for part in parts]))


def folds(data, rows):
    """Return folds of rows with equal shares of classes, within groups where these have enough rows."""
    strata, n_folds = data.strata(rows), 2 if data.quick else FOLDS
    if data.target == CLASSES and _rarest(strata) < n_folds:
        strata = data.y[rows]
    if strata is None:
        return list(KFold(n_folds, shuffle=True, random_state=0).split(rows))
    n_folds = max(2, min(n_folds, _rarest(strata)))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")  # of one person's faces
        return list(StratifiedKFold(n_folds, shuffle=True, random_state=0).split(rows, strata))


def _rarest(strata):
    return np.unique(strata, return_counts=True)[1].min()


def cost_grid(data):
    """Return the values of C of every search; numbers are measured in units of their own."""
    if data.quick:
        return [1.0]
    return [1.0, 10.0, 100.0, 1000.0] if data.target == NUMBERS else [0.1, 1.0, 10.0, 100.0]
