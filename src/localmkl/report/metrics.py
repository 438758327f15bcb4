"""Metrics of many samples of the rows at once, and their values in words.

A metric is a function of targets, decisions and predictions, (n,), and of rows, (B, n); it returns B values.
Classes are numbers here, 0, 1, 2 ... Decisions for more than two have a column each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy.stats import rankdata

from localmkl._types import Array, Floats, Ints
from localmkl.estimators.probabilities import log_probabilities, probabilities
from localmkl.report.prose import brief, percent
from localmkl.solvers.losses import LogLoss, Loss, Quantile

if TYPE_CHECKING:
    from localmkl.report.quality import Score

Answer: TypeAlias = tuple[Array, Array, Array]
"""Targets, decisions and predictions."""

LOG_LOSS, BRIER, PINBALL, BELOW = "log loss", "Brier score", "pinball loss", "share of targets below"
FIXED = ("AUC", "R2", LOG_LOSS, BRIER)
"""Metrics that are written with three digits after the point: their values have no unit."""

LAST_DIGIT = 1e-3
"""One unit of the last digit that is shown of a share, an AUC, or (relative) an error."""


@dataclass(frozen=True)
class Metric:
    """A metric, its better direction, and its values in words.

    Attributes
    ----------
    name : str
    compute : function of (y, decisions, predictions, rows)
    higher : bool
        Whether more is better.
    share : bool
        Whether it is shown in percent.
    needs : str
        What samples must have for it to be defined.
    best_guess : function of targets
        The one number to predict for all of them.
    """

    name: str
    compute: Callable[..., Floats]
    higher: bool = True
    share: bool = False
    needs: str = ""
    best_guess: Callable[[Array], Any] = np.mean

    @property
    def sign(self) -> float:
        """One where more is better, else minus one."""
        return 1.0 if self.higher else -1.0

    @property
    def unit(self) -> float:
        """Factor of the values in figures."""
        return 100.0 if self.share else 1.0

    @property
    def title(self) -> str:
        """Title of an axis."""
        return f"{self.name} in percent" if self.share else self.name

    def written(self, value: float) -> str:
        """Return a value as text."""
        if self.share:
            return percent(value, 1)
        return f"{value:.3f}" if self.name in FIXED else brief(value)

    def same(self, one: float, other: float) -> bool:
        """Whether two values differ by less than one unit of the last digit that is shown."""
        fixed = self.share or self.name in FIXED
        return abs(one - other) < LAST_DIGIT * (1.0 if fixed else max(abs(one), abs(other))) or one == other

    def interval(self, score: Score) -> str:
        """Return a value with its interval, where there is one, as text."""
        if not score.known:
            return self.written(score.value)
        if self.share:
            return f"{self.written(score.value)} [{100 * score.low:.1f} to {100 * score.high:.1f}]"
        return f"{self.written(score.value)} [{self.written(score.low)} to {self.written(score.high)}]"

    def amount(self, value: float, *, unit: bool = True) -> str:
        """Return a difference as text."""
        if self.share:
            return f"{round(100 * value, 1) + 0.0:.1f}{' points' if unit else ''}"  # no "-0.0"
        return self.written(value)


def choose_metrics(n_classes: int, scoring: Any = None, loss: Loss | None = None) -> list[Metric]:
    """Return the metrics for a number of classes (0: regression) and a loss, the main one first.

    The main one is what a search was scored by, where that is among them.
    """
    if isinstance(loss, Quantile):
        q = loss.quantile
        chosen = [
            Metric(PINBALL, partial(pinball, quantile=q), False, best_guess=partial(np.quantile, q=q)),
            Metric(BELOW, share_below, share=True),
        ]
    elif n_classes == 0:
        chosen = [
            Metric("RMSE", rmse, higher=False),
            Metric("mean absolute error", absolute_error, higher=False),
            Metric("R2", r2, needs="targets that differ"),
        ]
    else:
        chosen = [
            Metric("accuracy", accuracy, share=True),
            Metric("balanced accuracy", balanced_accuracy, share=True),
            *([Metric("AUC", auc, needs="samples of both classes")] if n_classes == 2 else []),
        ]
        if isinstance(loss, LogLoss):
            chosen += [Metric(LOG_LOSS, log_loss, higher=False), Metric(BRIER, brier, higher=False)]
    wanted = SCORINGS.get(scoring) if isinstance(scoring, str) else None
    return sorted(chosen, key=lambda metric: metric.name != wanted)


SCORINGS = {
    "roc_auc": "AUC",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "r2": "R2",
    "neg_mean_absolute_error": "mean absolute error",
    "neg_mean_squared_error": "RMSE",
    "neg_root_mean_squared_error": "RMSE",
    "neg_log_loss": LOG_LOSS,
    "neg_brier_score": BRIER,
}
"""scikit-learn's names of the metrics."""


def accuracy(y: Array, decisions: Array, predictions: Array, rows: Ints) -> Floats:
    """Return the share of rows predicted rightly."""
    return (predictions == y)[rows].mean(axis=1)


def balanced_accuracy(y: Array, decisions: Array, predictions: Array, rows: Ints) -> Floats:
    """Return the mean over classes of the share predicted rightly."""
    right, recalls = (predictions == y)[rows], []
    for label in np.unique(y):
        own = (y == label)[rows]
        count = own.sum(axis=1)
        recalls.append(np.where(count > 0, (right & own).sum(axis=1) / np.maximum(count, 1), np.nan))
    there = np.isfinite(recalls)
    return np.where(there, recalls, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)


def auc(y: Array, decisions: Array, predictions: Array, rows: Ints) -> Floats:
    """Return the area under the ROC curve of the second class: the share of pairs in the right order."""
    own = (y == 1)[rows]
    count = own.sum(axis=1).astype(float)
    others = rows.shape[1] - count
    ranks = rankdata(decisions[rows], axis=1)
    pairs = np.where(own, ranks, 0.0).sum(axis=1) - count * (count + 1.0) / 2.0
    return np.divide(pairs, count * others, out=np.full(len(rows), np.nan), where=count * others > 0)


def log_loss(y: Array, decisions: Array, predictions: Array, rows: Ints) -> Floats:
    """Return the mean negative logarithm of the probability that the true class was given."""
    return -log_probabilities(decisions)[np.arange(len(y)), y][rows].mean(axis=1)


def brier(y: Array, decisions: Array, predictions: Array, rows: Ints) -> Floats:
    """Return the mean squared error of probabilities: of the second of two classes, else summed over all."""
    given = probabilities(decisions)
    wrong = np.square(given - (y[:, None] == np.arange(given.shape[1]))).sum(axis=1)
    return (0.5 if given.shape[1] == 2 else 1.0) * wrong[rows].mean(axis=1)


def pinball(y: Array, decisions: Array, predictions: Array, rows: Ints, *, quantile: float) -> Floats:
    """Return the mean of the loss whose minimiser is the quantile."""
    return Quantile(quantile).value(predictions, y)[rows].mean(axis=1)


def share_below(y: Array, decisions: Array, predictions: Array, rows: Ints) -> Floats:
    """Return the share of targets that are not above their prediction."""
    return (y <= predictions)[rows].mean(axis=1)


def rmse(y: Array, decisions: Array, predictions: Array, rows: Ints) -> Floats:
    """Return the root of the mean squared error."""
    unit, y, predictions = _in_units(y, predictions)
    return unit * np.sqrt(np.square(y - predictions)[rows].mean(axis=1))


def absolute_error(y: Array, decisions: Array, predictions: Array, rows: Ints) -> Floats:
    """Return the mean absolute error."""
    unit, y, predictions = _in_units(y, predictions)
    return unit * np.abs(y - predictions)[rows].mean(axis=1)


def r2(y: Array, decisions: Array, predictions: Array, rows: Ints) -> Floats:
    """Return the share of the variance that is explained; NaN where the targets are all equal."""
    _, y, predictions = _in_units(y, predictions)
    spread = np.where(np.ptp(y[rows], axis=1) > 0.0, y[rows].var(axis=1), 0.0)
    error = np.square(y - predictions)[rows].mean(axis=1)
    return np.divide(spread - error, spread, out=np.full(len(rows), np.nan), where=spread > 0.0)


def _in_units(y: Array, predictions: Array) -> tuple[float, Floats, Floats]:
    """Return the largest size, and both in units of it: squares of 1e300 would overflow."""
    unit = max(np.abs(y).max(), np.abs(predictions).max()) or 1.0
    return unit, y / unit, predictions / unit
