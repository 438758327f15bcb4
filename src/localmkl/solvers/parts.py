"""The inner problem of the rows that are not settled yet, on its own.

Rows left out are on a line of their loss: together they are one more row with a linear loss, whose dual
variable is the sum of theirs, and an offset of every score. What is left is small and dense, and the solvers
of dense problems solve it to any precision.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from localmkl.solvers.losses import Boxed, Loss, PiecewiseLinear, Smooth


@dataclass(frozen=True, eq=False)
class PartLoss(Loss):
    """The loss of some rows at scores that lack an offset, and of one more row, the last, a linear one.

    Parameters
    ----------
    loss : Loss
    labels, offset, costs : ndarray of shape (k,)
    rest : float
        Sum of the dual variables of the rows left out.
    """

    loss: Any
    labels: np.ndarray
    offset: np.ndarray
    costs: np.ndarray
    rest: float

    def value(self, scores, y):  # noqa: D102
        own = self.loss.value(scores[:-1] + self.offset, self.labels)
        return np.append(own, -self.rest * scores[-1])

    def box(self, y, C):  # noqa: D102
        lower, upper = self.loss.box(self.labels, self.costs)
        return np.append(lower, self.rest), np.append(upper, self.rest)

    def dual_terms(self, alpha, y, C):  # noqa: D102
        own = self.loss.dual_terms(alpha[:-1], self.labels, self.costs) - alpha[:-1] * self.offset
        return np.append(own, 0.0)

    def best_intercept(self, scores, y, C):  # noqa: D102
        raise NotImplementedError


class LinesPart(PartLoss, PiecewiseLinear):
    """A part under a loss that consists of lines."""

    @property
    def tube(self):  # noqa: D102
        return self.loss.tube

    def breakpoints(self, scores, y, C):  # noqa: D102
        points, jumps, slope = self.loss.breakpoints(scores[:-1] + self.offset, self.labels, self.costs)
        return points, jumps, slope - self.rest

    best_intercept = PiecewiseLinear.best_intercept


class SmoothPart(PartLoss, Smooth):
    """A part under a smooth loss."""

    def slope(self, scores, y):  # noqa: D102
        return np.append(self.loss.slope(scores[:-1] + self.offset, self.labels), -self.rest)

    def curvature(self, scores, y):  # noqa: D102
        return np.append(self.loss.curvature(scores[:-1] + self.offset, self.labels), 0.0)

    best_intercept = Smooth.best_intercept


class BoxedPart(SmoothPart, Boxed):
    """A part under a smooth loss whose dual is quadratic on a box."""

    @property
    def tube(self):  # noqa: D102
        return self.loss.tube

    def ridge(self, C):  # noqa: D102
        return np.append(self.loss.ridge(self.costs), 0.0)


def part_loss(loss, labels, offset, costs, rest):
    """Return the loss of a part, of the family of the whole's."""
    for family, kind in ((PiecewiseLinear, LinesPart), (Boxed, BoxedPart), (Smooth, SmoothPart)):
        if isinstance(loss, family):
            return kind(loss, labels, offset, costs, rest)
    raise TypeError(f"`loss` must be piecewise linear, boxed or smooth, got {loss!r}.")


def combined(features, memberships, weights):
    """Return the combined kernel of some rows, given the weights of their features (l, R)."""
    gram = np.zeros((len(features), len(features)), dtype=features.dtype)
    for own, row in zip(memberships.T, weights, strict=True):
        kept = np.flatnonzero(row)
        scaled = features[:, kept] * np.sqrt(row[kept]).astype(features.dtype)
        scaled *= own[:, None]
        gram += scaled @ scaled.T
    return gram.astype(np.float64)
