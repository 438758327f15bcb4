"""The gap in the exact problem of an answer that was found on features of the kernels.

    P      the primal on features: features are projections, so it is the primal of the exact problem too
    D(t)   = - sum_i C_i loss*(-t alpha_i / C_i, y_i) - t^2 / 2 sum_j ||q_j||_{p/(p-1)}
    gap    = (P - max_{0 <= t <= 1} D(t)) / P,   q_jm = u_j' K_m u_j

Losses are not negative, so every box contains zero, and t alpha is feasible if alpha is. The norms q are sums
over pairs of support vectors, computed block by block; no Gram is stored.

Where all pairs are too many, q is estimated. Support vectors are dealt at random into B blocks on a circle, B
odd, and z_d is the sum over all pairs of blocks that are d = 1 .. H = (B - 1) / 2 apart. Some distances d are
drawn without replacement; H times the mean of their z_d has no bias, and their spread gives its standard
error. So all support vectors count in each z_d, and equally often: how much one of them differs from the
others adds nothing to the error, as it would if some of them, or some pairs of blocks, were drawn. What the
features say of a pair is subtracted from it and added up exactly, so that only what they lose is estimated.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.utils import check_random_state

from localmkl._checks import check_integer
from localmkl.solvers.certify import (
    dual_feasible,
    dual_value,
    gamma,
    penalties,
    reaches,
    relative,
    sizes_of,
    span_of,
)
from localmkl.solvers.losses import Boxed
from localmkl.solvers.objective import dual_norm, relative_gap

BLOCK_ENTRIES = 2**22
"""Numbers of all kernels' Grams that exist at a time: 32 MB, and a few copies of one kernel's."""

BLOCK_ROWS = 64
"""Rows of a block where all pairs are computed, at least: fewer are not worth a call of a kernel; where some
are drawn, at most: so there are many distances to draw."""

DISTANCES = 16
"""Distances that are drawn where `max_pairs` allows it: of fewer, a standard error would be a guess."""


@dataclass(frozen=True)
class ExactGap:
    """The relative duality gap of an answer in the exact problem.

    Parameters
    ----------
    gap : float
        ``(primal - dual) / primal``, rounding errors counted against it; infinite if alpha is not feasible.
    primal, dual : float
        Bounds of the exact problem's optimum from above and below.
    scale : float
        The t of ``t alpha`` at which the dual is largest.
    error : float
        Standard error of `gap`; zero if it was computed from all pairs of support vectors.
    """

    gap: float
    primal: float
    dual: float
    scale: float
    error: float = 0.0


def exact_gap(problem, alpha, primal, **options):
    """Return the `ExactGap` of one answer; `exact_gaps` has the options.

    Parameters
    ----------
    problem : Problem
        The exact problem; its stack is read block by block.
    alpha : ndarray of shape (n,)
        Dual variables that were found on features.
    primal : float
        The primal value of the same answer.
    **options
        Those of `exact_gaps`.

    Returns
    -------
    ExactGap

    Examples
    --------
    >>> from localmkl.solvers.losses import Hinge
    >>> from localmkl.solvers.objective import Problem
    >>> from localmkl.stacks import GramStack
    >>> x, y = np.array([-1.0, 1.0]), np.array([-1.0, 1.0])
    >>> problem = Problem(GramStack([np.outer(x, x)]), np.ones((2, 1)), y, np.ones(2), Hinge(), p=1)
    >>> found = exact_gap(problem, np.array([-0.8, 0.8]), primal=0.5)
    >>> round(found.dual, 12), round(found.scale, 12), found.gap < 1e-12
    (0.5, 0.625, True)
    """
    return exact_gaps([problem], [alpha], [primal], **options)[0]


def exact_gaps(
    problems,
    alphas,
    primals,
    *,
    primal_error=0.0,
    approximation=None,
    max_pairs=None,
    random_state=None,
    progress=None,
):
    """Return the `ExactGap` of the answers to several problems with one stack, which is read once.

    Parameters
    ----------
    problems : list of Problem
        The exact problems; of the first one's stack, blocks between support vectors are read.
    alphas : list of ndarray of shape (n,)
        Dual variables that were found on features.
    primals : list of float
        The primal values of the same answers.
    primal_error : float, default=0.0
        Share of a primal by which it may be too small: its rounding, and that of the features.
    approximation : Stack, optional
        The kernels on features, for the same rows; estimates need them.
    max_pairs : int, optional
        Estimate the gaps from about this many pairs of support vectors; by default, and where there are no
        more, all of them are computed. The estimates' bias is small against their standard errors.
    random_state : int, RandomState instance or None, default=None
        Seed of the pairs.
    progress : callable, optional
        Called as ``progress(done, all)`` now and then.

    Returns
    -------
    list of ExactGap
    """
    if max_pairs is not None:
        check_integer("max_pairs", max_pairs, low=1)
        if approximation is None:
            raise ValueError("`max_pairs` needs `approximation`, the kernels on features, to be given too.")
    pairs = list(zip(problems, alphas, strict=True))
    parts = [
        problem.cluster_parts(alpha if dual_feasible(problem, alpha) else np.zeros_like(alpha))
        for problem, alpha in pairs
    ]
    vectors = np.hstack(parts)
    support = np.flatnonzero(vectors.any(axis=1))
    stack, vectors = problems[0].stack[np.ix_(support, support)], vectors[support]
    few = len(support) <= 2 * DISTANCES
    if max_pairs is None or few or max_pairs >= _n_pairs(len(support)):
        norms, deviations = _all_norms(stack, vectors, progress), None
    else:
        near = approximation[np.ix_(support, support)]
        rng = check_random_state(random_state)
        norms, deviations = _estimated_norms(stack, near, vectors, max_pairs, rng, progress)
    ends = np.cumsum([own.shape[1] for own in parts])[:-1]
    several = [None] * len(pairs) if deviations is None else np.split(deviations, ends, axis=1)
    answers = zip(pairs, primals, np.split(norms, ends), several, strict=True)
    return [_gap(*pair, primal, primal_error, *own) for pair, primal, *own in answers]


def best_scale(problem, alpha, penalty):
    """Return the t in [0, 1] that maximises D(t alpha), given its quadratic part at t = 1.

    Closed form where the dual is quadratic, else found to the precision that matters: any t gives a bound.
    """
    loss, y, C = problem.loss, problem.y, problem.C
    if isinstance(loss, Boxed):
        gain = float(y @ alpha - loss.tube * np.abs(alpha).sum())
        bend = 2.0 * penalty + float(loss.ridge(C) @ alpha**2)
        return min(max(gain / bend, 0.0), 1.0) if bend > 0.0 else 1.0

    def less(t):
        return t**2 * penalty - loss.dual_terms(t * alpha, y, C).sum()

    found = minimize_scalar(less, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-9}).x
    return min((float(found), 1.0), key=less)


def _gap(problem, alpha, primal, primal_error, norms, deviations):
    """Return the `ExactGap` of one answer, given its norms and, if they are estimates, their deviations."""
    if not dual_feasible(problem, alpha):
        return ExactGap(np.inf, float(primal), -np.inf, 1.0)
    reach = reaches(problem)
    share = gamma(problem.n_samples, np.float64) + gamma(norms.size, np.float64)
    errors = 3.0 * share * sizes_of(reach, problem.cluster_parts(alpha)) ** 2
    penalty, penalty_error = penalties(norms, errors, problem.p, share)
    scale = best_scale(problem, alpha, penalty)
    quadratic = scale**2 * penalty, scale**2 * (penalty_error + share * penalty)
    above = primal_error * primal
    dual, deep = dual_value(problem, scale * alpha, quadratic, primal + above, span_of(problem, reach))
    gap, error = relative(primal, dual, above, above, deep)[0], 0.0
    if deviations is not None:
        slopes = np.array([_slopes(own, problem.p) for own in norms])
        changes = 0.5 * scale**2 * np.einsum("djm,jm->d", deviations, slopes)
        gap = relative_gap(primal, dual)
        error = float(np.linalg.norm(changes)) / primal if primal > 0.0 else 0.0
    return ExactGap(gap, float(primal), float(dual), scale, error)


def _slopes(q, p):
    """Return the derivatives of ``||q||_{p/(p-1)}``, at p = 1 those of the first largest entry."""
    size = dual_norm(q, p)
    if p == 1 or size == 0.0:
        return 1.0 * (np.arange(len(q)) == np.argmax(q))
    return (q / size) ** (0.0 if np.isinf(p) else 1.0 / (p - 1.0))


def _all_norms(stack, vectors, progress):
    """Return ``u_j' K_m u_j`` for the columns u_j of `vectors`, (l, n_kernels); each pair is read once."""
    n, n_kernels = len(vectors), stack.n_kernels
    step = max(BLOCK_ROWS, math.isqrt(BLOCK_ENTRIES // n_kernels))
    blocks = [slice(start, min(start + step, n)) for start in range(0, n, step)]
    norms, done = np.zeros((vectors.shape[1], n_kernels)), 0
    for i, rows in enumerate(blocks):
        sums = np.zeros_like(norms)
        for columns in blocks[i:]:
            times = 1.0 if columns is rows else 2.0
            for m in range(n_kernels):
                products = stack.block(m, rows, columns) @ vectors[columns]
                sums[:, m] += times * np.einsum("ij,ij->j", vectors[rows], products)
        norms += sums
        done += _n_pairs(n - rows.start) - _n_pairs(n - rows.stop)
        if progress is not None:
            progress(done, _n_pairs(n))
    return np.maximum(norms, 0.0)


def _estimated_norms(stack, near, vectors, max_pairs, rng, progress):
    """Return estimates of ``u_j' K_m u_j``, (l, n_kernels), and their `deviations`, (n_drawn, l, n_kernels).

    The standard error of a weighted sum of the estimates is the length of the same sum of deviations.
    """
    n, n_kernels = len(vectors), stack.n_kernels
    size = min(max(max_pairs // (n * DISTANCES), 1), BLOCK_ROWS)
    half = (n // size - 1) // 2
    blocks = [np.sort(block) for block in np.array_split(rng.permutation(n), 2 * half + 1)]
    n_drawn = min(max(max_pairs // (n * size) - 1, 2), half)
    distances = np.append(0, 1 + rng.choice(half, n_drawn, replace=False))
    sums = np.zeros((1 + n_drawn, vectors.shape[1], n_kernels))
    together = max(1, BLOCK_ENTRIES // (n_kernels * size**2))
    for i, rows in enumerate(blocks):
        for first in range(0, 1 + n_drawn, together):
            some = slice(first, first + together)
            picked = [blocks[(i + distance) % len(blocks)] for distance in distances[some]]
            _add_lost(stack, near, vectors, rows, picked, sums[some])
        if progress is not None:
            progress(i + 1, len(blocks))
    sums[1:] *= 2.0
    mean = sums[1:].mean(axis=0)
    factor = half * math.sqrt((1.0 - n_drawn / half) / (n_drawn * (n_drawn - 1)))
    lost = np.maximum(sums[0] + half * mean, 0.0)  # features lose, and add nothing
    return near.norms(vectors) + lost, factor * (sums[1:] - mean)


def _add_lost(stack, near, vectors, rows, picked, sums):
    """Add what pairs of a block with some others have, and features have not, to `sums` (n_picked, l, M)."""
    columns = np.concatenate(picked)
    starts = np.cumsum([0, *(len(block) for block in picked[:-1])])
    for m in range(stack.n_kernels):
        lost = stack.block(m, rows, columns) - near.block(m, rows, columns)
        products = (vectors[rows].T @ lost) * vectors[columns].T
        sums[:, :, m] += np.add.reduceat(products, starts, axis=1).T


def _n_pairs(n):
    """Return the number of pairs of n vectors, each with itself included."""
    return n * (n + 1) // 2
