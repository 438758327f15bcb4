"""The inner SVM/SVR by an interior-point method, for kernel matrices on which small steps crawl.

    min_a  1/2 a'Ka - y'a + epsilon |a|_1,   lower <= a <= upper,  sum(a) = 0

a = s - t with 0 <= s <= max(upper, 0) and 0 <= t <= max(-lower, 0): the kink at zero becomes two bounds. x
holds s and t, E the signs with which they make up a. A step of Newton's method (predictor, corrector) solves

    (K + Theta) da + 1 dnu = right,   1'da = -1'a,   Theta^-1 = E D^-1 E',   D = z / x + v / (u - x)

with the multipliers z of x >= 0 and v of x <= u. Low rank and large bounds cost nothing here.
"""

import numpy as np

from localmkl.solvers.factor import factorise
from localmkl.solvers.model import TO_THE_WALL

MOST_INTERIOR_STEPS = 100
"""Far more than were ever needed (about thirty), to end."""
MOST_FRUITLESS = 10
"""Steps without a better answer after which rounding decides."""
REFINEMENTS = 2
"""Corrections of every solution by its own residual: the factor has jitter, and the end asks for more."""


def solve_interior(K, y, epsilon, lower, upper, judge):
    """Return the best dual variables on the way to the optimum, as a judge sees them, twice.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Positive semidefinite.
    y, lower, upper : ndarray of shape (n,)
    epsilon : float
    judge : callable
        ``judge(alpha) -> gap`` of dual variables that lie within the bounds and nearly sum to zero; it may
        move them a little.

    Returns
    -------
    inside, snapped : ndarray of shape (n,)
        As they were found, and with those that tend to a bound moved there.
    """
    up, down = np.flatnonzero(upper > 0.0), np.flatnonzero(lower < 0.0)
    alive, owner = np.unique(np.concatenate([up, down]), return_inverse=True)
    state = _State(
        gram=K[np.ix_(alive, alive)],
        linear=epsilon - np.concatenate([y[up], -y[down]]),
        owner=owner,
        sign=np.repeat([1.0, -1.0], [len(up), len(down)]),
        u=np.concatenate([upper[up], -lower[down]]),
    )
    best, found, waiting = np.inf, (np.zeros_like(y), np.zeros_like(y)), 0
    for _ in range(MOST_INTERIOR_STEPS):
        going = state.step()
        pair = np.zeros((2, len(y)))
        pair[:, alive] = state.fold(state.x), state.fold(state.at_bounds())
        inside, snapped = np.clip(pair, lower, upper)
        gap = judge(inside)
        waiting += 1
        if gap < best:
            best, found, waiting = gap, (inside, snapped), 0
        if not going or waiting > MOST_FRUITLESS or state.complementarity() == 0.0:
            break
    return found


class _State:
    """Variables and multipliers between two steps."""

    def __init__(self, gram, linear, owner, sign, u):
        self.gram, self.linear, self.owner, self.sign, self.u = gram, linear, owner, sign, u
        # As far as a kernel of this size goes for errors of this size, and no farther than half the room.
        self.unit = max(1.0, float(np.abs(linear).max()))
        size = max(float(np.abs(gram.diagonal()).max()), np.finfo(float).tiny)
        self.x = np.minimum(0.5 * u, self.unit / size)
        self.z = np.full_like(u, self.unit)
        self.v = np.full_like(u, self.unit)
        self.nu = 0.0

    def fold(self, x):
        """Return E x."""
        return np.bincount(self.owner, self.sign * x, minlength=len(self.gram))

    def unfold(self, a):
        """Return E' a."""
        return self.sign * a[self.owner]

    def complementarity(self):
        """Return the mean product of slacks and multipliers."""
        return float(self.x @ self.z + (self.u - self.x) @ self.v) / (2 * len(self.x))

    def step(self):
        """Take one step; return whether numbers were still good enough for one."""
        a, slack = self.fold(self.x), self.u - self.x
        residual = self.linear + self.unfold(self.gram @ a + self.nu) - self.z + self.v
        stiff = self.z / self.x + self.v / slack
        theta = 1.0 / np.bincount(self.owner, 1.0 / stiff, minlength=len(a))
        scale = 1.0 / np.sqrt(self.gram.diagonal() + theta)
        matrix = (self.gram + np.diag(theta)) * np.outer(scale, scale)
        try:
            factor = factorise(lambda: np.array(matrix, order="F"))
        except FloatingPointError:
            return False

        def solve(right):
            answer = factor.solve(scale * right)
            for _ in range(REFINEMENTS):
                answer += factor.solve(scale * right - matrix @ answer)
            return scale * answer

        ones = solve(np.ones_like(a))

        def towards(low, high):
            """Return the step to products x z = low and (u - x) v = high, to first order."""
            pull = low / self.x - self.z - high / slack + self.v - residual
            answer = solve(theta * self.fold(pull / stiff))
            dnu = (answer.sum() + a.sum()) / ones.sum()
            dx = (pull - self.unfold(self.gram @ (answer - dnu * ones) + dnu)) / stiff
            return dx, (low - self.z * dx) / self.x - self.z, (high + self.v * dx) / slack - self.v, dnu

        dx, dz, dv, _ = towards(0.0, 0.0)
        length, here = self._room(dx, dz, dv), self.complementarity()
        ahead = (self.x + length * dx) @ (self.z + length * dz) + (slack - length * dx) @ (
            self.v + length * dv
        )
        aim = here * (float(ahead) / (2 * len(dx)) / here) ** 3
        dx, dz, dv, dnu = towards(aim - dx * dz, aim + dx * dv)
        length = TO_THE_WALL * self._room(dx, dz, dv)
        if not np.isfinite(length * dx).all():
            return False
        self.x, self.z, self.v = self.x + length * dx, self.z + length * dz, self.v + length * dv
        self.nu += length * dnu
        return bool(np.all(self.x > 0.0) and np.all(self.x < self.u))

    def _room(self, dx, dz, dv):
        """Return how far (at most 1) all variables and multipliers stay positive."""
        pairs = (self.x, dx), (self.u - self.x, -dx), (self.z, dz), (self.v, dv)
        lengths = [
            float(np.min(-value[step < 0.0] / step[step < 0.0], initial=np.inf)) for value, step in pairs
        ]
        return min(1.0, *lengths)

    def at_bounds(self):
        """Return x with those at a bound whose multipliers are larger than they are, each in its unit."""
        x = np.where(self.x / self.u < self.z / self.unit, 0.0, self.x)
        return np.where((self.u - self.x) / self.u < self.v / self.unit, self.u, x)
