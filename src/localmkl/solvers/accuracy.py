"""The precision asked of the inner problem on the way: no more than the weights deserve."""

import numpy as np

INNER_SHARE = 0.1
"""The inner problem's relative gap aimed at, as a share of `tol`: it takes little of the room."""
NEAR_SHARE = 0.3
"""The same at a start that may be the end: its weights leave room for it."""
GAP_SHARE = 0.02
"""... and before `tol` is near, as a share of the last gap ..."""
SPEED = 3.0
"""... and of this multiple of its square: second-order steps may go that far at once."""
FIRST_TARGET = 0.01
"""The same at even weights, whose gap is rarely smaller."""
SHARPEST_TARGET = 1e-15
"""A relative gap below this is rounding."""


class Accuracy:
    """The precision asked of the inner problem: rough while the weights are far off, then as the gap asks."""

    def __init__(self, sharpest, first):
        self.sharpest = sharpest
        self.target = max(sharpest, first)
        self.last_gap = np.inf

    @classmethod
    def of(cls, problem, start, tol, share=INNER_SHARE):
        """Return the precision to begin with: that of the end, where the start may be the end."""
        if problem.frozen:
            return cls(0.9 * tol, 0.9 * tol)
        accuracy = cls(share * tol, NEAR_SHARE * tol if start.near else FIRST_TARGET)
        accuracy.last_gap = 0.0 if start.near else np.inf
        return accuracy

    def follow(self, gap):
        """Take note of the gap after a step."""
        self.last_gap = gap
        self.target = min(self.target, max(self.sharpest, GAP_SHARE * gap * min(1.0, SPEED * gap)))

    def sharpen(self):
        """Ask for more from now on: where weights vanish (p = 1), gaps go with the root of the inner ones."""
        self.sharpest = max(0.3 * self.sharpest, SHARPEST_TARGET)

    @property
    def exhausted(self):
        """Whether rounding allows no more."""
        return self.target < SHARPEST_TARGET
