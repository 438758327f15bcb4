"""The search of a line from some weights to others for a point where J has fallen enough.

J is convex, so that between a point of falling and one of rising slope there is a better one. Most steps go
all the way; where they do not, secant steps between the last two such points find how far.
"""

import numpy as np

FLATTENED = 0.3
"""A search ends where the slope has shrunk to this share of its start, as the next step knows better ..."""
ENOUGH = 0.25
"""... or where J has fallen by this share of what its first slope promises: parabolas fall by half of it."""
MAX_TRIALS = 12
"""Points of one search: each narrows its interval to nine tenths or less, and one is the rule."""
INVISIBLE = 1e-13
"""Promised decrease, as a share of the primal, that rounding hides."""


class Line:
    """A line on the way: `length` is the share of it that is tried next, all of it first.

    Parameters
    ----------
    slope : float
        J'(0) along the line, negative.
    before : float
        J(0), or what it is not above.
    """

    def __init__(self, slope, before):
        self.slope, self.before = slope, before
        self.length, self.trials = 1.0, 0
        self._low, self._high = (0.0, slope), None

    def ends(self, here, value):
        """Whether the point tried is good enough, given J' and J there; else `length` is the next to try."""
        self.trials += 1
        fallen = value <= self.before + ENOUGH * self.slope * self.length
        risen = value > self.before
        falling = here < 0.0 and self._high is None
        if self.trials == MAX_TRIALS or fallen or (not risen and (falling or self._is_flat(here))):
            return True
        if here > 0.0 or risen:
            self._high = self.length, max(here, 0.0)
        else:
            self._low = self.length, here
        top = self._high or (1.0, 0.0)
        share = self._low[1] / (self._low[1] - top[1]) if top[1] > self._low[1] else 0.5
        self.length = self._low[0] + float(np.clip(share, 0.1, 0.9)) * (top[0] - self._low[0])
        return False

    def _is_flat(self, here):
        return abs(here) <= FLATTENED * abs(self.slope)
