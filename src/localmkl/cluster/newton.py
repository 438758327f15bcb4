"""Newton's steps on the inner problem of a smooth loss, with rows in several places.

    F(v, b) = 1/2 ||v||^2 + sum_i C_i loss(f_i, y_i),   f = Phi~ (root . v) + b,   root^2 = beta
    (I + root . Phi~'(W - W 1 1'W / 1'W 1) Phi~ . root) d = -gradient,   W_i = C_i loss''(f_i, y_i)

Sweeps of many shards, each of which sees its own rows alone, crawl where most rows are on a curve of their
loss. Conjugate gradients need one product with the features a round, of the size of the weights; a sample of
rows gives them the curvature nearly as it is, so that they need few.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

SAMPLED = 2500
"""Rows, at most, that the curvature is sampled from: some times as many as there are features to weigh."""
FORCED = 0.01
"""Share of the gradient that conjugate gradients leave over: Newton's next step sees another curvature."""
MOST_PRODUCTS = 60
"""Rounds of conjugate gradients, at most."""
FLAT = 0.1
"""Share of its first slope at which a search along the step ends ..."""
MOST_TRIALS = 12
"""... and the most points it looks at."""


def newton_step(team, roots, images, intercept, precise):
    """Return images and intercept after one step from given ones, and set their dual variables; None if flat.

    Parameters
    ----------
    team : FarTeam
    roots : ndarray of shape (l, n_features)
        Roots of the features' weights.
    images : ndarray of shape (l, n_features)
        Coefficients of the features, zero where the weights are.
    intercept : float
    precise : bool
        Whether features are multiplied in float64.
    """
    told = team.ask("set_out", images, intercept, precise)
    gradient, total, across, bend, n_bent = (sum(own) for own in zip(*told, strict=True))
    if not bend > 0.0:
        return None
    v = np.divide(images, roots, out=np.zeros_like(images), where=roots > 0.0)
    across = roots * across
    goal = -(v + roots * gradient) + across * (total / bend)

    def product(d):
        there = roots * team.total("product", roots * d, precise)
        return d + there - across * (np.vdot(across, d) / bend)

    d = conjugate_gradients(product, goal, _sampled_inverse(team, roots, n_bent))
    lift = -(total + np.vdot(across, d)) / bend
    team.ask("direct", roots * d, lift, precise)
    length = _line_search(lambda t: np.array([*_own(v, d, t)]) + team.total("along", t))
    team.ask("advance", length)
    return images + length * roots * d, intercept + length * lift


def conjugate_gradients(product, goal, inverse):
    """Return d with ``product(d)`` near `goal`, preconditioned."""
    d, rest = np.zeros_like(goal), goal.copy()
    better = inverse(rest)
    direction, size = better, np.vdot(rest, better)
    enough = FORCED * np.linalg.norm(goal)
    for _ in range(MOST_PRODUCTS):
        if np.linalg.norm(rest) <= enough:
            break
        image = product(direction)
        step = size / np.vdot(direction, image)
        d, rest = d + step * direction, rest - step * image
        better = inverse(rest)
        size, last = np.vdot(rest, better), size
        direction = better + (size / last) * direction
    return d


def _sampled_inverse(team, roots, n_bent):
    """Return the inverse of the curvature that a sample of the rows has, by way of the smaller matrix."""
    share = min(1.0, SAMPLED / n_bent)
    features, memberships, softness = (
        np.concatenate(own) for own in zip(*team.ask("bent_part", share), strict=True)
    )
    if len(features) == 0:
        return lambda x: x
    wide = (memberships[:, :, None] * roots * features[:, None]).reshape(len(features), -1)
    if wide.shape[1] <= len(wide):
        wide /= np.sqrt(share * softness)[:, None]
        whole = cho_factor(wide.T @ wide + np.eye(wide.shape[1]))
        return lambda x: cho_solve(whole, x.ravel()).reshape(x.shape)
    kernel = wide @ wide.T
    kernel.flat[:: len(kernel) + 1] += share * softness
    factor = cho_factor(kernel)
    return lambda x: x - (wide.T @ cho_solve(factor, wide @ x.ravel())).reshape(x.shape)


def _own(v, d, t):
    """Return value, slope and curvature of ``||v + t d||^2 / 2``."""
    return 0.5 * np.vdot(v + t * d, v + t * d), np.vdot(v + t * d, d), np.vdot(d, d)


def _line_search(at):
    """Return t where the convex function of values, slopes and curvatures ``at(t)`` is nearly flat."""
    first, low, high, t = at(0.0)[1], 0.0, np.inf, 1.0
    for _ in range(MOST_TRIALS):
        _, slope, bend = at(t)
        if abs(slope) <= FLAT * abs(first):
            break
        low, high = (t, high) if slope < 0.0 else (low, t)
        t = t - slope / bend if bend > 0.0 else 2.0 * t
        if not low < t < high:
            t = 0.5 * (low + high) if np.isfinite(high) else 2.0 * low
    return t
