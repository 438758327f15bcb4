"""Figures of held-out decisions that need no model: calibration, decision curve, thresholds."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit

from localmkl._types import Bools, Floats
from localmkl.calibration import Z


@dataclass(frozen=True)
class Calibration:
    """Slope and intercept of the outcome on the log-odds of the predictions, with 95 % intervals.

    Parameters
    ----------
    slope : tuple (value, low, high)
        1 where predictions are as spread as they should be; below 1 they are too extreme.
    intercept : tuple (value, low, high)
        With the slope held at 1: 0 where predictions are right on average, above 0 where they are too low.
    """

    slope: tuple[float, float, float]
    intercept: tuple[float, float, float]


def calibration_of(probabilities: Floats, truth: Bools) -> Calibration:
    """Return slope and intercept of the calibration, by logistic regression on the log-odds.

    Examples
    --------
    >>> given = np.tile([0.2, 0.8], 50)
    >>> found = calibration_of(given, np.arange(100) % 10 > 4)
    >>> found.slope[1] < found.slope[0] < found.slope[2]
    True
    """
    odds = logit(np.clip(probabilities, 1e-9, 1.0 - 1e-9))
    ones = np.ones((len(odds), 1))
    _, slope = _logistic(np.column_stack([ones, odds]), truth, np.zeros(len(odds)))
    (intercept,) = _logistic(ones, truth, odds)
    return Calibration(slope, intercept)


def _logistic(design: Floats, truth: Bools, offset: Floats) -> list[tuple[float, float, float]]:
    """Return coefficients of a logistic regression with Wald's intervals, by Newton's steps."""
    found = np.zeros(design.shape[1])
    for _ in range(50):
        chance = expit(design @ found + offset)
        weights = np.maximum(chance * (1.0 - chance), 1e-12)
        curvature = (design.T * weights) @ design
        step = np.linalg.lstsq(curvature, design.T @ (truth - chance), rcond=None)[0]
        found = found + np.clip(step, -4.0, 4.0)
        if np.abs(step).max() < 1e-10:
            break
    error = Z * np.sqrt(np.diag(np.linalg.pinv(curvature)))
    return [(float(b), float(b - e), float(b + e)) for b, e in zip(found, error, strict=True)]


def calibration_verdict(line: Calibration) -> str:
    """Say whether probabilities can be taken at their word."""
    if line.slope[2] < 1.0:
        return "Predicted probabilities are too extreme."
    if line.slope[1] > 1.0:
        return "Predicted probabilities are too cautious."
    if line.intercept[1] > 0.0:
        return "Predicted probabilities are too low on average."
    if line.intercept[2] < 0.0:
        return "Predicted probabilities are too high on average."
    return "Predicted and observed shares agree within chance."


def net_benefit(probabilities: Floats, truth: Bools, thresholds: Floats) -> Floats:
    """Return the net benefit of acting where the probability reaches a threshold.

    True positives minus false positives weighted by the odds of the threshold, as a share of all rows.

    Examples
    --------
    >>> net_benefit(np.array([0.9, 0.6, 0.1]), np.array([True, False, False]), np.array([0.5]))
    array([0.])
    """
    act = probabilities >= thresholds[:, None]
    right, wrong = (act & truth).mean(axis=1), (act & ~truth).mean(axis=1)
    return right - wrong * thresholds / (1.0 - thresholds)


def roc_points(scores: Floats, truth: Bools) -> tuple[Floats, Floats]:
    """Return 1 - specificity and sensitivity at every threshold.

    Examples
    --------
    >>> roc_points(np.array([0.9, 0.6, 0.1]), np.array([True, False, True]))
    (array([0., 0., 1., 1.]), array([0. , 0.5, 0.5, 1. ]))
    """
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.diff(scores[order]) != 0.0, True)
    found = [np.cumsum(own[order])[last] / max(own.sum(), 1) for own in (~truth, truth)]
    return np.insert(found[0], 0, 0.0), np.insert(found[1], 0, 0.0)


def at_threshold(scores: Floats, truth: Bools, threshold: float) -> dict[str, Any]:
    """Return the confusion at a threshold, and what follows from it; NaN where nothing is divided.

    Examples
    --------
    >>> found = at_threshold(np.array([0.9, 0.6, 0.1]), np.array([True, False, True]), 0.5)
    >>> found["sensitivity"], found["specificity"], found["tp"]
    (0.5, 0.0, 1)
    """
    act = scores >= threshold
    tp, fp = int((act & truth).sum()), int((act & ~truth).sum())
    fn, tn = int(truth.sum()) - tp, int((~truth).sum()) - fp
    parts = {"sensitivity": (tp, tp + fn), "specificity": (tn, tn + fp)}
    parts |= {"PPV": (tp, tp + fp), "NPV": (tn, tn + fn)}
    shares = {name: a / b if b else float("nan") for name, (a, b) in parts.items()}
    return {"tp": tp, "fp": fp, "fn": fn, "tn": tn, **shares}
