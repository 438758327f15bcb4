"""The zero of a slope that jumps at many points: the best intercept of a loss that consists of lines.

The points are in several places, too many to send. Each place tells some of its points; each stands for those
before it, back to the last one told. That bounds the slope from both sides, and leaves a shorter interval.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

import numpy as np

from localmkl._types import Floats

SHOWN = 2048
"""Points that a place tells at a time: two rounds are enough for millions of them."""
FLAT = 1e-12
"""Slopes up to this share of all jumps are zero."""

Shown: TypeAlias = tuple[float, Floats, Floats, bool, float]
"""The answer of one place about an interval, as `Breaks.between` returns it."""


class Breaks:
    """The jumps of a slope in one place.

    Parameters
    ----------
    points, jumps : ndarray of shape (n,)
    slope : float
        At minus infinity.
    """

    def __init__(self, points: Floats, jumps: Floats, slope: float) -> None:
        self.points, places = np.unique(points, return_inverse=True)
        sums = np.bincount(places, jumps, len(self.points))
        self.slopes = slope + np.append(0.0, np.cumsum(sums))
        self.total = float(sums.sum())

    def between(self, low: float, high: float) -> Shown:
        """Return the slope at `low`, points in (low, high], their jumps, whether all, and all jumps' sum."""
        first, last = np.searchsorted(self.points, [low, high], side="right")
        step = max(1, -(-(last - first) // SHOWN))
        shown = np.minimum(np.arange(first + step - 1, last + step - 1, step), last - 1)
        jumps = np.diff(self.slopes[np.append(first, shown + 1)])
        return self.slopes[first], self.points[shown], jumps, step == 1, self.total


def find_crossing(ask: Callable[[float, float], Iterable[Shown]]) -> float:
    """Return where the sum of the slopes crosses zero; the middle, where it is zero in between.

    Parameters
    ----------
    ask : callable
        ``ask(low, high)`` returns ``Breaks.between`` of every place.
    """
    low, high = -np.inf, np.inf
    while True:
        slopes, points, jumps, complete, totals = zip(*ask(low, high), strict=True)
        flat = FLAT * sum(totals)
        if all(complete):
            return _crossing(sum(slopes), np.concatenate(points), np.concatenate(jumps), flat)
        low, high = _narrowed(sum(slopes), points, jumps, flat, low, high)


def _crossing(slope: float, points: Floats, jumps: Floats, flat: float) -> float:
    order = np.argsort(points[jumps > 0.0], kind="stable")
    points, jumps = points[jumps > 0.0][order], jumps[jumps > 0.0][order]
    if len(points) == 0:
        return 0.0
    slopes = slope + np.cumsum(jumps)
    first = int(np.argmax(slopes >= -flat))
    if slopes[first] <= flat and first + 1 < len(points):
        return 0.5 * float(points[first] + points[first + 1])
    return float(points[first])


def _narrowed(
    slope: float, points: Sequence[Floats], jumps: Sequence[Floats], flat: float, low: float, high: float
) -> tuple[float, float]:
    """Return a shorter interval: a jump comes after the point before its own, at the latest at it."""
    late, every = np.concatenate(points), np.concatenate(jumps)
    early = np.concatenate([np.append(low, own[:-1]) for own in points if len(own)])
    edges = np.unique(late)
    least = slope + _sums_until(late, every, edges, "right")
    most = slope + _sums_until(early, every, edges, "left")
    below, above = np.flatnonzero(most < -flat), np.flatnonzero(least > flat)
    return (edges[below[-1]] if len(below) else low), (edges[above[0]] if len(above) else high)


def _sums_until(places: Floats, jumps: Floats, edges: Floats, side: Literal["left", "right"]) -> Floats:
    order = np.argsort(places, kind="stable")
    return np.append(0.0, np.cumsum(jumps[order]))[np.searchsorted(places[order], edges, side=side)]
