"""Newton's steps on the inner problem of a smooth loss, for many rows.

    F(v, b) = 1/2 ||v||^2 + sum_i C_i loss(f_i, y_i),   f = Phi~ (root . v) + b,   root^2 = beta
    H d = -gradient,   H = I + root . Phi~'(W - W 1 1'W / 1'W 1) Phi~ . root,   W_i = C_i loss''(f_i, y_i)

Sweeps crawl where most rows are on a curve of their loss and costs are large. Conjugate gradients need one
product with the features a round, of the size of the weights. A sample of rows gives the curvature nearly
as it is, so that few rounds do. The dual variables of a whole step, alpha = -C loss'(f) - W df, are those
whose sums are v + d but for what is left of the equation, r: they are off the minimum by about r'H r / 2.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

SAMPLED = 2500
"""Rows, at most, that the curvature is sampled from."""
FORCED = 0.01
"""Share of the decrease that conjugate gradients may leave: Newton's next step sees another curvature."""
LEFT = 0.1
"""Share of the gap asked for that they may leave in a step that is likely the last: ..."""
NEAR = 100.0
"""... one whose decrease is at most this multiple of that gap."""
ROUNDING = 1e-28
"""Share of the decrease, a square, that is left of rounding."""
MOST_PRODUCTS = 100
"""Rounds of conjugate gradients, at most."""
FLAT = 0.1
"""Share of its first slope at which a search along the step ends ..."""
MOST_TRIALS = 30
"""... and the most points it looks at."""


class Point(NamedTuple):
    """The end of a step: coefficients (l, R) of the features, intercept; length, promised decrease."""

    images: np.ndarray
    intercept: float
    length: float
    decrease: float


def newton_step(rows, roots, images, intercept, gap, precise):
    """Return the `Point` that a step leads to, and set its dual variables; None where F is flat.

    Parameters
    ----------
    rows : ActiveRows
    roots : ndarray of shape (l, n_features)
        Roots of the features' weights.
    images : ndarray of shape (l, n_features)
        Coefficients of the features, zero where the weights are.
    intercept : float
    gap : float
        Duality gap that is asked for in the end.
    precise : bool
        Whether features are multiplied in float64.
    """
    gradient, total, across, bend, n_bent = rows.set_out(images, intercept, precise)
    if not bend > 0.0:
        return None
    v = np.divide(images, roots, out=np.zeros_like(images), where=roots > 0.0)
    across = roots * across
    goal = -(v + roots * gradient) + across * (total / bend)

    def product(d):
        there = roots * rows.product(roots * d, precise)
        return d + there - across * (np.vdot(across, d) / bend)

    d = conjugate_gradients(product, goal, Sample(rows, roots, n_bent), gap)
    lift = -(total + np.vdot(across, d)) / bend
    rows.direct(roots * d, lift, precise)
    length = _line_search(lambda t: float(np.vdot(v + t * d, d)) + rows.along(t))
    rows.advance(length)
    decrease = 0.5 * (float(np.vdot(goal, d)) + total**2 / bend)
    return Point(images + length * roots * d, intercept + length * lift, length, decrease)


def conjugate_gradients(product, goal, sample, gap):
    """Return d with ``product(d)`` near `goal`."""
    d, rest = np.zeros_like(goal), goal.copy()
    better = sample.solve(rest)
    direction, size = better, np.vdot(rest, better)
    enough, least, last_step = FORCED * size, ROUNDING * size, size <= NEAR * gap
    for _ in range(MOST_PRODUCTS):
        if size <= least or (size <= enough and (not last_step or sample.square(rest) <= LEFT * gap)):
            break
        image = product(direction)
        step = size / np.vdot(direction, image)
        d, rest = d + step * direction, rest - step * image
        better = sample.solve(rest)
        size, last = np.vdot(rest, better), size
        direction = better + (size / last) * direction
    return d


class Sample:
    """The curvature H that a sample of the bent rows has, by way of the smaller matrix.

    Parameters
    ----------
    rows : ActiveRows
    roots : ndarray of shape (l, n_features)
    n_bent : int
        Number of rows on a curve of their loss.
    """

    def __init__(self, rows, roots, n_bent):
        share = min(1.0, SAMPLED / n_bent)
        features, memberships, softness = rows.bent_part(share)
        wide = (memberships[:, :, None] * roots * features[:, None]).reshape(len(features), roots.size)
        self.wide = wide / np.sqrt(share * softness)[:, None]
        self.few = len(wide) < wide.shape[1]
        small = self.wide @ self.wide.T if self.few else self.wide.T @ self.wide
        small.flat[:: len(small) + 1] += 1.0
        self.factor = cho_factor(small, overwrite_a=True)

    def solve(self, x):
        """Return the inverse of H times x."""
        flat = x.ravel()
        if self.few:
            flat = flat - self.wide.T @ cho_solve(self.factor, self.wide @ flat)
        else:
            flat = cho_solve(self.factor, flat)
        return flat.reshape(x.shape)

    def square(self, x):
        """Return x'H x."""
        return float(np.vdot(x, x) + np.sum(np.square(self.wide @ x.ravel())))


def _line_search(slope):
    """Return t, at most one, where a slope that never falls is nearly zero: by false position."""
    first = slope(0.0)
    if not first < 0.0:
        return 1.0
    low, at_low, high, at_high, t = 0.0, first, np.inf, 0.0, 1.0
    for _ in range(MOST_TRIALS):
        here = slope(t)
        if abs(here) <= FLAT * abs(first) or (here < 0.0 and high == np.inf):
            break
        if here < 0.0:
            low, at_low, at_high = t, here, 0.5 * at_high  # the end that stays is made to move next time
        else:
            at_low = at_low if high == np.inf else 0.5 * at_low
            high, at_high = t, here
        t = low + (high - low) * at_low / (at_low - at_high)
    return t
