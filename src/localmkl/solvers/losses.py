"""Losses, their conjugates, and the intercepts that suit them best.

    primal   sum_i C_i loss(f_i, y_i)
    dual     sum_i min_t [C_i loss(t, y_i) + alpha_i t] = - sum_i C_i loss*(-alpha_i / C_i, y_i)

A `Boxed` loss consists of lines and parabolas: its dual is quadratic on a box. A `Smooth` one has slopes,
from which dual variables follow: alpha_i = -C_i loss'(f_i, y_i). Labels y are -1 and +1, targets are real.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from localmkl._checks import check_number

BISECTIONS = 200
"""Most steps to the root of a slope: more than halving any interval of doubles takes."""


class Loss(ABC):
    """A convex loss of a score f, given a label or a target y.

    Examples
    --------
    >>> scores, y = np.array([2.0, 0.5, -1.0]), np.array([1.0, 1.0, 1.0])
    >>> Hinge().value(scores, y)
    array([0. , 0.5, 2. ])
    >>> Hinge().lipschitz
    1.0
    """

    @property
    def lipschitz(self) -> float | None:
        """Largest slope; None where there is none."""
        return None

    @abstractmethod
    def value(self, scores, y):
        """Return the loss of each sample."""

    @abstractmethod
    def box(self, y, C):
        """Return the bounds (lower, upper) of the dual variables; infinite where there is none."""

    @abstractmethod
    def dual_terms(self, alpha, y, C):
        """Return ``min_t [C_i loss(t, y_i) + alpha_i t]`` of each sample, for alpha in the box."""

    @abstractmethod
    def best_intercept(self, scores, y, C):
        """Return the b that minimises ``sum_i C_i loss(scores_i + b, y_i)``."""

    def dual_sizes(self, alpha, y, C):
        """Return bounds of what is added up in `dual_terms`: their rounding errors are a few units of it."""
        return np.abs(alpha * y)


class QuadraticDual(Loss):
    """A loss whose dual is ``y'alpha - tube |alpha|_1 - 1/2 sum_i ridge_i alpha_i^2``, in a box or not."""

    @property
    def tube(self) -> float:
        """Half width of the tube around the target in which errors cost nothing."""
        return 0.0

    def ridge(self, C):
        """Return the inverse curvature of each sample's loss, zero where it is piecewise linear."""
        return np.zeros_like(C)

    def dual_terms(self, alpha, y, C):  # noqa: D102
        return y * alpha - self.tube * np.abs(alpha) - 0.5 * self.ridge(C) * alpha**2

    def dual_sizes(self, alpha, y, C):  # noqa: D102
        return np.abs(alpha) * (np.abs(y) + self.tube) + 0.5 * self.ridge(C) * alpha**2


class Boxed(QuadraticDual):
    """A loss whose dual is quadratic on a box."""


class PiecewiseLinear(Boxed):
    """A loss that consists of lines; its best intercept is found exactly.

    Examples
    --------
    >>> isinstance(Hinge(), PiecewiseLinear), isinstance(SquaredHinge(), PiecewiseLinear)
    (True, False)
    >>> Hinge().best_intercept(np.array([-3.0, 1.0]), np.array([-1.0, 1.0]), np.ones(2))
    1.0
    """

    @abstractmethod
    def breakpoints(self, scores, y, C):
        """Describe ``b -> sum_i C_i loss(scores_i + b, y_i)``.

        Return where its slope jumps, by how much, and the slope at minus infinity.
        """

    def best_intercept(self, scores, y, C):
        """Return the b that minimises ``sum_i C_i loss(scores_i + b, y_i)``, exactly.

        The function is convex and piecewise linear: sort its breakpoints and stop where the slope
        changes sign. Where a whole interval is optimal, its middle is returned.
        """
        points, jumps, slope = self.breakpoints(scores, y, C)
        kept = jumps > 0.0
        if not kept.any():
            return 0.0
        order = np.argsort(points[kept], kind="stable")
        points, jumps = points[kept][order], jumps[kept][order]
        slopes = slope + np.cumsum(jumps)
        flat = 1e-12 * jumps.sum()
        first = int(np.argmax(slopes >= -flat))
        if slopes[first] <= flat and first + 1 < len(points):
            return 0.5 * float(points[first] + points[first + 1])
        return float(points[first])


class Smooth(Loss):
    """A loss with a slope everywhere, and a curvature almost everywhere.

    Examples
    --------
    >>> isinstance(LogLoss(), Smooth), isinstance(Hinge(), Smooth)
    (True, False)
    >>> LogLoss().slope(np.array([0.0]), np.array([1.0]))
    array([-0.5])
    """

    @abstractmethod
    def slope(self, scores, y):
        """Return the derivative with respect to each score."""

    @abstractmethod
    def curvature(self, scores, y):
        """Return the second derivative; at a kink of the slope, that of either side."""

    def dual_variables(self, scores, y, C):
        """Return ``-C_i loss'(f_i, y_i)``: at the optimum, the dual variables of these scores."""
        return -C * self.slope(scores, y)

    def best_intercept(self, scores, y, C):
        """Return the b at which the slopes balance: Newton's steps, kept within a shrinking interval."""
        C = np.where(C > 0.0, C, 0.0)
        if not C.any():
            return 0.0

        def slopes(b):
            return self.slopes(scores + b, y, C)

        return balance_slopes(slopes, max(float(np.abs(scores).max()), float(np.abs(y).max())))

    def slopes(self, scores, y, C):
        """Return slope and curvature of the sum of the losses, in the direction of the intercept."""
        return float(C @ self.slope(scores, y)), float(C @ self.curvature(scores, y))


def balance_slopes(slopes, size, b=0.0):
    """Return the b at which the first value of ``slopes(b)``, a slope that never falls, is zero.

    Parameters
    ----------
    slopes : callable
        Returns slope and curvature.
    size : float
        Size of the scores: the root is found to their rounding.
    b : float, default=0.0
        Where to begin.
    """
    low, high = -np.inf, np.inf
    width, enough = 1.0, np.finfo(np.float64).eps * size
    for _ in range(BISECTIONS):
        here, bend = slopes(b)
        if here == 0.0:
            return b
        low, high = (b, high) if here < 0.0 else (low, b)
        step = b - here / bend if bend > 0.0 else np.nan
        if np.isinf(high - low):  # one end is still open
            width *= 2.0
            step = np.clip(step, b - width, b + width) if np.isfinite(step) else b - np.sign(here) * width
        elif not low < step < high:
            step = 0.5 * (low + high)
        if step in (low, high) or abs(step - b) <= enough:
            return float(step)
        b = float(step)
    return b


@dataclass(frozen=True)
class Hinge(PiecewiseLinear):
    """``max(0, 1 - y f)``.

    Examples
    --------
    >>> Hinge().value(np.array([2.0, 0.5, 0.5]), np.array([1.0, 1.0, -1.0]))
    array([0. , 0.5, 1.5])
    """

    @property
    def lipschitz(self):  # noqa: D102
        return 1.0

    def value(self, scores, y):  # noqa: D102
        return np.maximum(0.0, 1.0 - y * scores)

    def box(self, y, C):  # noqa: D102
        return np.minimum(0.0, y * C), np.maximum(0.0, y * C)

    def breakpoints(self, scores, y, C):  # noqa: D102
        return y - scores, C, -float(C[y > 0].sum())


@dataclass(frozen=True)
class SquaredHinge(Boxed, Smooth):
    """``max(0, 1 - y f)^2``.

    Examples
    --------
    >>> SquaredHinge().value(np.array([2.0, 0.5, 0.5]), np.array([1.0, 1.0, -1.0]))
    array([0.  , 0.25, 2.25])
    """

    def value(self, scores, y):  # noqa: D102
        return np.maximum(0.0, 1.0 - y * scores) ** 2

    def slope(self, scores, y):  # noqa: D102
        return -2.0 * y * np.maximum(0.0, 1.0 - y * scores)

    def curvature(self, scores, y):  # noqa: D102
        return 2.0 * (y * scores < 1.0)

    def box(self, y, C):  # noqa: D102
        far = np.where(C > 0.0, np.inf, 0.0)
        return np.where(y > 0.0, 0.0, -far), np.where(y > 0.0, far, 0.0)

    def ridge(self, C):  # noqa: D102
        return _inverse(2.0 * C)


@dataclass(frozen=True)
class LogLoss(Smooth):
    """``log(1 + exp(-y f))``: the negative logarithm of a probability, 1 / (1 + exp(-y f)).

    Examples
    --------
    >>> LogLoss().value(np.array([0.0, 1000.0]), np.array([1.0, 1.0])).round(6)
    array([0.693147, 0.      ])
    """

    @property
    def lipschitz(self):  # noqa: D102
        return 1.0

    def value(self, scores, y):  # noqa: D102
        return np.logaddexp(0.0, -y * scores)

    def slope(self, scores, y):  # noqa: D102
        return -y * expit(-y * scores)

    def curvature(self, scores, y):  # noqa: D102
        return expit(scores) * expit(-scores)

    def box(self, y, C):  # noqa: D102
        return np.minimum(0.0, y * C), np.maximum(0.0, y * C)

    def dual_terms(self, alpha, y, C):  # noqa: D102
        t = _share(y * alpha, C)
        return C * (_entropy(t) + _other_entropy(t))

    def dual_sizes(self, alpha, y, C):  # noqa: D102
        # 1 - t has the absolute error of a unit, and its logarithm the inverse of 1 - t for a slope.
        t = _share(y * alpha, C)
        near_one = np.where(t > 0.5, 1.0 - np.log(np.maximum(1.0 - t, np.finfo(t.dtype).tiny)), 0.0)
        return C * (_entropy(t) + _other_entropy(t) + 2.0 * t + near_one)


@dataclass(frozen=True)
class EpsilonInsensitive(PiecewiseLinear):
    """``max(0, |y - f| - epsilon)``.

    Parameters
    ----------
    epsilon : float, default=0.1
        Half width of the tube in which errors cost nothing.

    Examples
    --------
    >>> EpsilonInsensitive(0.5).value(np.array([1.0, 2.0]), np.array([1.25, 4.0]))
    array([0. , 1.5])
    """

    epsilon: float = 0.1

    def __post_init__(self):
        check_number("epsilon", self.epsilon, low=0.0, finite=True)

    @property
    def lipschitz(self):  # noqa: D102
        return 1.0

    def value(self, scores, y):  # noqa: D102
        return np.maximum(0.0, np.abs(y - scores) - self.epsilon)

    def box(self, y, C):  # noqa: D102
        return -C, C.copy()

    @property
    def tube(self):  # noqa: D102
        return self.epsilon

    def breakpoints(self, scores, y, C):  # noqa: D102
        centre = y - scores
        points = np.concatenate([centre - self.epsilon, centre + self.epsilon])
        return points, np.concatenate([C, C]), -float(C.sum())


@dataclass(frozen=True)
class Quantile(PiecewiseLinear):
    """``q (y - f)`` below the target and ``(1 - q) (f - y)`` above it: its minimiser is the q-quantile.

    Parameters
    ----------
    quantile : float, default=0.5
        Share q of the targets that shall lie below the prediction.

    Examples
    --------
    >>> Quantile(0.9).value(np.array([0.0, 2.0]), np.array([1.0, 1.0])).round(6)
    array([0.9, 0.1])
    """

    quantile: float = 0.5

    def __post_init__(self):
        check_number("quantile", self.quantile, low=0, low_open=True, high=1, high_open=True)

    @property
    def lipschitz(self):  # noqa: D102
        return max(self.quantile, 1.0 - self.quantile)

    def value(self, scores, y):  # noqa: D102
        return np.maximum(self.quantile * (y - scores), (1.0 - self.quantile) * (scores - y))

    def box(self, y, C):  # noqa: D102
        return (self.quantile - 1.0) * C, self.quantile * C

    def breakpoints(self, scores, y, C):  # noqa: D102
        return y - scores, C, -self.quantile * float(C.sum())


@dataclass(frozen=True)
class SquaredError(QuadraticDual, Smooth):
    """``(y - f)^2 / 2``: kernel ridge regression with penalty 1 / C.

    Examples
    --------
    >>> SquaredError().value(np.array([1.0, 4.0]), np.array([2.0, 2.0]))
    array([0.5, 2. ])
    """

    def value(self, scores, y):  # noqa: D102
        return 0.5 * (y - scores) ** 2

    def slope(self, scores, y):  # noqa: D102
        return scores - y

    def curvature(self, scores, y):  # noqa: D102
        return np.ones_like(scores)

    def box(self, y, C):  # noqa: D102
        far = np.where(C > 0.0, np.inf, 0.0)
        return -far, far

    def ridge(self, C):  # noqa: D102
        return _inverse(C)


@dataclass(frozen=True)
class Huber(Boxed, Smooth):
    """``(y - f)^2 / 2`` for errors up to epsilon, ``epsilon |y - f| - epsilon^2 / 2`` beyond.

    Parameters
    ----------
    epsilon : float, default=0.1
        Error from which on the loss is linear.

    Examples
    --------
    >>> Huber(1.0).value(np.array([0.0, 0.0]), np.array([1.0, 3.0]))
    array([0.5, 2.5])
    """

    epsilon: float = 0.1

    def __post_init__(self):
        if not 0.0 < self.epsilon < np.inf:
            raise ValueError(
                f"`epsilon` must be greater than 0 and finite for the Huber loss, got {self.epsilon}; errors "
                "beyond it cost in proportion."
            )

    @property
    def lipschitz(self):  # noqa: D102
        return self.epsilon

    def value(self, scores, y):  # noqa: D102
        near = np.minimum(np.abs(y - scores), self.epsilon)
        return near * (np.abs(y - scores) - 0.5 * near)

    def slope(self, scores, y):  # noqa: D102
        return np.clip(scores - y, -self.epsilon, self.epsilon)

    def curvature(self, scores, y):  # noqa: D102
        return 1.0 * (np.abs(scores - y) < self.epsilon)

    def box(self, y, C):  # noqa: D102
        return -self.epsilon * C, self.epsilon * C

    def ridge(self, C):  # noqa: D102
        return _inverse(C)


def _inverse(C):
    """Return ``1 / C``; zero where C is zero, and with it the dual variable."""
    return np.divide(1.0, C, out=np.zeros_like(C), where=C > 0.0)


def _share(part, whole):
    """Return ``part / whole``, kept within [0, 1]; zero where the whole is."""
    share = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0.0)
    return np.clip(share, 0.0, 1.0)


def _entropy(t):
    """Return ``-t log t``, zero at t = 0."""
    return -t * np.log(np.where(t > 0.0, t, 1.0))


def _other_entropy(t):
    """Return ``-(1 - t) log(1 - t)``, zero at t = 1; a small t is not lost in 1 - t."""
    return -(1.0 - t) * np.log1p(-np.where(t < 1.0, t, 0.0))


CLASSIFICATION = {"hinge": Hinge, "squared_hinge": SquaredHinge, "log_loss": LogLoss}
REGRESSION = {
    "epsilon_insensitive": EpsilonInsensitive,
    "squared_error": SquaredError,
    "huber": Huber,
    "quantile": Quantile,
}
"""Losses by the names that scikit-learn gives them; the first is the default."""
