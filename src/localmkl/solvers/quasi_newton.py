"""Directions of descent that know the curvature of the last steps: limited-memory BFGS.

    H y = s   for the pairs of a step s and the change y of the gradient along it that are kept
    d = H g   by two passes over the pairs, from H = (<s, y> / <y, y>) I of the last one

Vectors live in a space of functions, where <a, b> = sum(a * G b) for coordinates a, b and a Gram G. They
carry their image G a with them, so that no product with G is needed here.
"""

from collections import deque
from typing import NamedTuple

import numpy as np

FLATTEST = 1e-10
"""Cosine between a step and the change of the gradient from which the pair tells of a curvature."""


class Vector(NamedTuple):
    """Coordinates in a space of functions, and their image under its Gram."""

    coordinates: np.ndarray
    image: np.ndarray

    def plus(self, other, times):
        """Return the sum with a multiple of another vector."""
        return Vector(self.coordinates + times * other.coordinates, self.image + times * other.image)

    def scaled(self, factor):
        """Return a multiple."""
        return Vector(factor * self.coordinates, factor * self.image)


def inner(a, b):
    """Return <a, b>."""
    return float(np.sum(a.coordinates * b.image))


class Curvature:
    """The second derivative, as far as the last steps have shown it.

    Parameters
    ----------
    most : int
        Pairs that are kept.

    Examples
    --------
    The parabola (a^2 + 100 b^2) / 2: two steps tell its curvature, and the third leads to its bottom.

    >>> curvature, scales = Curvature(most=2), np.array([1.0, 100.0])
    >>> def plain(values):
    ...     return Vector(values, values)
    >>> for step in np.eye(2):
    ...     curvature.learn(plain(step), plain(scales * step))
    >>> point = np.array([3.0, -2.0])
    >>> (point - curvature.direction(plain(scales * point)).coordinates).round(12)
    array([0., 0.])
    """

    def __init__(self, most):
        self._pairs: deque = deque(maxlen=most)

    @property
    def known(self):
        """Whether there is any pair: else directions are gradients."""
        return len(self._pairs) > 0

    def learn(self, step, change):
        """Keep a step and the change of the gradient along it, if the function is convex there."""
        along, size = inner(step, change), inner(change, change)
        if along > FLATTEST * np.sqrt(max(inner(step, step) * size, 0.0)):
            self._pairs.append((step, change, along, size))

    def forget(self):
        """Begin again with gradients."""
        self._pairs.clear()

    def direction(self, gradient):
        """Return H g, against which the function falls."""
        if not self.known:
            return gradient
        result, shares = gradient, []
        for step, change, along, _ in reversed(self._pairs):
            shares.append(inner(step, result) / along)
            result = result.plus(change, -shares[-1])
        _, _, along, size = self._pairs[-1]
        result = result.scaled(along / size)
        for (step, change, along, _), share in zip(self._pairs, reversed(shares), strict=True):
            result = result.plus(step, share - inner(change, result) / along)
        return result
