"""The weights that suit a quadratic loss: a small interior point on a device.

    J(beta) = min_v  1/2 v'Ev - r'v + 1/2 sum_jm ||v_jm||^2 / beta_jm,     beta >= 0,  sum_m beta_jm^p <= 1

With S = sqrt(beta), v = S (I + SES)^-1 S r; and with k = r - Ev, which is v / beta, and k_jm as the columns
of A, J has slopes -1/2 ||k_jm||^2 and the curvature A'(E - ES (I + SES)^-1 SE)A. Walls have multipliers: s
for the weights, lambda for the balls, whose slack is w; a step is one of Mehrotra's predictor and corrector.
"""

from typing import Any, NamedTuple

import torch

TO_THE_WALL = 0.995
"""Share of the way to the nearest wall."""
LEAST_SHARE = 0.01
"""Share of an even weight below which none begins."""
INSIDE = 0.97
"""The sum of the first weights' powers: inside their balls."""
FAR_OUTSIDE = 1e6
"""Power of a weight beyond which no step goes, on its way back to its ball."""
MOST_STEPS = 60
"""Steps, at most; twelve are many."""
JITTER = 1e-14
"""First share of the mean diagonal entry that is added to a matrix that cannot be factorised."""
LARGER = 100.0
"""The factor by which more is added the next time."""


class _Walls(NamedTuple):
    """Weights, slacks of their balls, and the multipliers of both; or changes of them."""

    weights: Any
    s: Any
    w: Any
    multiplier: Any

    def moved(self, change, length):
        return _Walls(*(one + length * other for one, other in zip(self, change, strict=True)))

    def products(self):
        return float((self.weights * self.s).sum() + (self.w * self.multiplier).sum())

    def length(self, change):
        """Return how far a change may go, at most to one, until the first wall."""
        rooms = [torch.where(d < 0.0, -x / d, torch.inf).min() for x, d in zip(self, change, strict=True)]
        return min(1.0, float(torch.stack(rooms).min()))


class QuadraticModel:
    """The problem of a matrix E (L, L) and a vector r (L,), in blocks of features.

    Parameters
    ----------
    matrix : tensor of shape (l R, l R)
    right : tensor of shape (l R,)
    places : tensor of shape (l R,)
        The weight, as a number below l M, that each feature has.
    p : float
        Norm of the weights.
    """

    def __init__(self, matrix, right, places, p):
        self.matrix, self.right, self.places, self.p = matrix, right, places, p

    def solve(self, weights):
        """Return v of some weights (l, M), and k = v / beta."""
        self.scale = weights.reshape(-1)[self.places].sqrt()
        self.factor = factor(self._scaled)
        v = self.scale * torch.cholesky_solve((self.scale * self.right)[:, None], self.factor)[:, 0]
        return v, self.right - self.matrix @ v

    def _scaled(self):
        scaled = self.matrix * self.scale
        scaled.mul_(self.scale[:, None]).diagonal().add_(1.0)
        return scaled

    def _curvature(self, k, count):
        parts = k.new_zeros((len(k), count))
        parts[torch.arange(len(k), device=k.device), self.places] = k
        images = self.matrix @ parts
        scaled = self.scale[:, None] * images
        return parts.T @ images - scaled.T @ torch.cholesky_solve(scaled, self.factor)

    def best_weights(self, weights, enough):
        """Return weights whose J is at most about `enough` above the smallest, on their spheres."""
        p, shape = self.p, weights.shape
        even = shape[1] ** (-1.0 / p)
        weights = weights.clamp(min=LEAST_SHARE * even)
        weights = weights * (INSIDE / (weights**p).sum(1, keepdim=True)) ** (1.0 / p)
        count = weights.numel() + len(weights)
        at: Any = None
        for _ in range(MOST_STEPS):
            k = self.solve(weights if at is None else at.weights)[1]
            norms = k.new_zeros(weights.numel()).index_add_(0, self.places, k * k).reshape(shape)
            at = self._start(weights, norms, enough / count) if at is None else at
            normal = p * at.weights ** (p - 1.0)
            slope = -0.5 * norms + at.multiplier[:, None] * normal - at.s
            if max(at.products(), float((slope.abs() * at.weights).sum())) <= enough:
                break
            try:
                step = self._newton(at, norms, normal, self._curvature(k, weights.numel()))
            except FloatingPointError:  # where nothing is left to gain
                break
            first = step(0.0, 0.0)
            mean, there = at.products() / count, at.moved(first, at.length(first)).products() / count
            goal = max((there / mean) ** 3 * mean, 0.1 * enough / count)
            change = step(goal - first.weights * first.s, goal - first.w * first.multiplier)
            length = min(1.0, TO_THE_WALL * at.length(change))
            while length > 1e-10 and not at.moved(change, length).weights.max() ** p < FAR_OUTSIDE:
                length *= 0.5
            if not length > 1e-10:
                break
            at = at.moved(change, length)
        weights = at.weights
        return weights / (weights**p).sum(1, keepdim=True) ** (1.0 / p)

    def _start(self, weights, norms, least):
        normal = self.p * weights ** (self.p - 1.0)
        multiplier = (0.5 * (norms * weights).sum(1) / (weights * normal).sum(1)).clamp(min=least)
        wall = multiplier[:, None] * normal
        s = (wall - 0.5 * norms).clamp(min=0.0) + 0.05 * wall
        return _Walls(weights, s, 1.0 - (weights**self.p).sum(1), multiplier)

    def _newton(self, at, norms, normal, curvature):
        """Return the function that maps products, of weights and of balls, to the step that leads to them."""
        p, beta = self.p, at.weights
        diagonal = at.s / beta
        if p != 1.0:
            diagonal = diagonal + at.multiplier[:, None] * p * (p - 1.0) * beta ** (p - 2.0)
        balls = torch.block_diag(
            *normal[:, :, None] * normal[:, None, :] * (at.multiplier / at.w)[:, None, None]
        )
        matrix = curvature + torch.diag(diagonal.reshape(-1)) + balls
        scale = matrix.diagonal().abs().clamp(min=1e-300).rsqrt()
        lu, pivots, failed = torch.linalg.lu_factor_ex(scale[:, None] * matrix * scale)
        if int(failed):
            raise FloatingPointError("The system of the weights is singular.")
        excess = 1.0 - (beta**p).sum(1) - at.w

        def step(inner, outer):
            pull = (outer - at.multiplier * excess) / at.w
            gradient = -0.5 * norms - inner / beta + normal * pull[:, None]
            solved = torch.linalg.lu_solve(lu, pivots, -(scale * gradient.reshape(-1))[:, None])[:, 0]
            d_beta = (scale * solved).reshape(beta.shape)
            d_s = inner / beta - at.s - at.s / beta * d_beta
            d_w = excess - (normal * d_beta).sum(1)
            return _Walls(d_beta, d_s, d_w, (outer - at.multiplier * (at.w + d_w)) / at.w)

        return step


def factor(make):
    """Return the Cholesky factor of a matrix that is made anew where more must be added to its diagonal.

    It is in the order of columns, which solving with it needs: in the other one, each time it were copied.
    """
    jitter = 0.0
    while jitter <= 1.0:
        matrix = make().mT
        if jitter:
            matrix.diagonal().add_(jitter * float(matrix.diagonal().mean()))
        failed = torch.empty((), dtype=torch.int32, device=matrix.device)
        torch.linalg.cholesky_ex(matrix, out=(matrix, failed))
        if not int(failed):
            return matrix
        jitter = JITTER if jitter == 0.0 else LARGER * jitter
    raise FloatingPointError("A matrix is not finite, or far from positive definite.")
