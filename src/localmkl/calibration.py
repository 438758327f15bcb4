"""Predicted probabilities beside what came true, as arrays: `plots` and `report` draw them.

bin b     samples whose probabilities are neighbours, about as many in each bin
predicted the mean of their probabilities
observed  the share of them for which the event came true, k of n, with Wilson's interval:
(k + z^2/2 +- z sqrt(k (n - k) / n + z^2/4)) / (n + z^2)
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localmkl._checks import check_integer
from localmkl._types import Floats

Z = 1.959963984540054
"""Standard deviations of a normal distribution that hold 95 % of it."""


@dataclass(frozen=True)
class Reliability:
    """Bins of predicted probabilities, from the smallest to the largest, and what came true in them.

    Parameters
    ----------
    predicted : ndarray of shape (n_bins,)
        Mean predicted probability.
    observed : ndarray of shape (n_bins,)
        Share of the samples for which the event came true.
    low, high : ndarray of shape (n_bins,)
        95 % interval of that share.
    count : ndarray of shape (n_bins,)
        Samples.

    Examples
    --------
    >>> found = reliability([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1], n_bins=2)
    >>> found.inside, round(found.error, 3), round(found.chance, 3)
    (array([ True,  True]), 0.2, 0.259)
    """

    predicted: NDArray[np.float64]
    observed: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    count: NDArray[np.intp]

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Whether the predicted probability of each bin lies within the interval of the observed share."""
        return (self.low <= self.predicted) & (self.predicted <= self.high)

    @property
    def error(self) -> float:
        """Mean difference between predicted and observed, over the samples: the calibration error."""
        return float(np.average(np.abs(self.predicted - self.observed), weights=self.count))

    @property
    def chance(self) -> float:
        """The `error` of true probabilities: ``E|k/n - p|``, about ``sqrt(2 p (1 - p) / (pi n))``."""
        variances = self.predicted * (1.0 - self.predicted) / self.count
        return float(np.average(np.sqrt(2.0 / np.pi * variances), weights=self.count))


def reliability(probabilities: ArrayLike, truth: ArrayLike, *, n_bins: int = 10) -> Reliability:
    """Return predicted probabilities of an event beside how often it came true, in bins of equal counts.

    Parameters
    ----------
    probabilities : array-like of shape (n_samples,)
        Of samples that the model was not trained on; on others, every model looks too sure of itself.
    truth : array-like of shape (n_samples,) of bool
        Whether the event came true.
    n_bins : int, default=10
        Most bins; equal probabilities share one.

    Returns
    -------
    Reliability

    Examples
    --------
    >>> found = reliability([0.1, 0.2, 0.3, 0.8, 0.9, 0.9], [0, 0, 1, 1, 1, 0], n_bins=2)
    >>> found.predicted.round(3), found.observed.round(3), found.count
    (array([0.2  , 0.867]), array([0.333, 0.667]), array([3, 3]))
    """
    check_integer("n_bins", n_bins, low=1)
    given, truth = np.asarray(probabilities, dtype=np.float64), np.asarray(truth, dtype=bool)
    if given.ndim != 1 or given.shape != truth.shape or not len(given):
        raise ValueError(
            "`probabilities` and `truth` must hold one value for each sample, got shapes "
            f"{given.shape} and {truth.shape}."
        )
    if len(wrong := given[~((given >= 0.0) & (given <= 1.0))]):
        raise ValueError(f"`probabilities` must lie between 0 and 1, got {wrong[0]}.")
    before = np.searchsorted(np.sort(given), given)  # samples with a smaller probability
    bins = np.unique(before * n_bins // len(given), return_inverse=True)[1]
    count = np.bincount(bins)
    came_true = np.bincount(bins, weights=truth)
    centre, width = came_true + Z**2 / 2.0, Z * np.sqrt(came_true * (count - came_true) / count + Z**2 / 4.0)
    return Reliability(
        predicted=np.bincount(bins, weights=given) / count,
        observed=came_true / count,
        low=np.maximum(0.0, (centre - width) / (count + Z**2)),
        high=np.minimum(1.0, (centre + width) / (count + Z**2)),
        count=count,
    )


def event_probabilities(
    probabilities: Floats, y: ArrayLike, classes: ArrayLike, label: Any = None
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the probability of one event for each sample, and whether it came true.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_classes)
        What ``predict_proba`` returned.
    y : array-like of shape (n_samples,)
        The true labels.
    classes : ndarray of shape (n_classes,)
    label : optional
        The event that this is the class. By default the second of two classes; of more, the event that the
        most probable class is the true one.

    Returns
    -------
    probabilities : ndarray of shape (n_samples,)
    truth : ndarray of shape (n_samples,) of bool

    Examples
    --------
    >>> given = np.array([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]])
    >>> event_probabilities(given, ["b", "b"], np.array(["a", "b", "c"]))
    (array([0.5, 0.6]), array([ True, False]))
    >>> event_probabilities(given, ["b", "b"], np.array(["a", "b", "c"]), "c")
    (array([0.3, 0.1]), array([False, False]))
    """
    y, classes = np.asarray(y), np.asarray(classes)
    if label is None and len(classes) > 2:
        return probabilities.max(axis=1), classes[probabilities.argmax(axis=1)] == y
    known = classes.tolist()
    label = known[-1] if label is None else label
    if label not in known:
        raise ValueError(f"`label` must be one of {known}, got {label!r}.")
    return probabilities[:, known.index(label)], y == label
