"""Losses that consist of lines, with their kinks rounded.

    loss_h(f, y) = max_alpha  alpha (y - f) - tube |alpha| - h alpha^2 / 2,   alpha in the box for C = 1

It is smooth, never above the loss, and its dual variables are dual variables of the loss. Far from the end
the kinks of thousands of rows are the same to the weights as one smooth curve, whose curvature tells how
far a step may go; that of the few rows at a kink does not.
"""

from dataclasses import dataclass

import numpy as np

from localmkl.solvers.losses import Boxed, PiecewiseLinear, Smooth


@dataclass(frozen=True)
class Blurred(Boxed, Smooth):
    """A piecewise linear loss with parabolas in place of its kinks.

    Parameters
    ----------
    loss : PiecewiseLinear
    width : float
        Length of the parabola that joins two lines whose slopes differ by one.

    Examples
    --------
    >>> from localmkl.solvers.losses import Hinge
    >>> Blurred(Hinge(), 0.5).value(np.array([1.0, 0.75, 0.0]), np.ones(3))
    array([0.    , 0.0625, 0.75  ])
    """

    loss: PiecewiseLinear
    width: float

    @property
    def lipschitz(self):  # noqa: D102
        return self.loss.lipschitz

    @property
    def tube(self):  # noqa: D102
        return self.loss.tube

    def box(self, y, C):  # noqa: D102
        return self.loss.box(y, C)

    def ridge(self, C):  # noqa: D102
        return np.divide(self.width, C, out=np.zeros_like(C), where=C > 0.0)

    def value(self, scores, y):  # noqa: D102
        alpha = -self.slope(scores, y)
        return alpha * (y - scores) - self.tube * np.abs(alpha) - 0.5 * self.width * alpha**2

    def slope(self, scores, y):  # noqa: D102
        lower, upper = self.loss.box(y, np.ones_like(scores))
        return -np.clip(self._unbounded(scores, y), lower, upper)

    def curvature(self, scores, y):  # noqa: D102
        lower, upper = self.loss.box(y, np.ones_like(scores))
        alpha = self._unbounded(scores, y)
        inside = (alpha > lower) & (alpha < upper)
        if self.tube > 0.0:
            inside &= alpha != 0.0
        return inside / self.width

    def _unbounded(self, scores, y):
        away = y - scores
        return np.sign(away) * np.maximum(np.abs(away) - self.tube, 0.0) / self.width
