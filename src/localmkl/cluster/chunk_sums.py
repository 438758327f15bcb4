"""Sums over one chunk of rows for `solvers.newton_sums`: functions without memory."""

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from localmkl._types import Array, Floats
from localmkl.solvers.certify import cost_sums, gamma
from localmkl.solvers.newton_sums import Shape, Sums
from localmkl.stacks.factors import feature_blocks

BLOCK = 4096
"""Rows whose features are read at a time, in float64: a few megabytes for a thousand features."""


@dataclass(frozen=True, eq=False)
class Block:
    """Features of the rows of a chunk, their class numbers or targets, and their weights.

    `widths` are the numbers of features of each kernel. `trace` has the weighted sums of ``k_m(x, x)``.
    """

    features: Floats
    labels: Array
    weights: Floats
    widths: tuple[int, ...]
    trace: Floats


@dataclass(frozen=True)
class Task:
    """A problem's `Shape`, and how labels become targets and costs.

    Attributes
    ----------
    shape : Shape
    cost : float
        The C of the optimisation, for a row of weight one.
    class_costs : ndarray or None
        What it is multiplied by, for each class; None in regression.
    positive : int or None
        The class that is told from all others.
    """

    shape: Shape
    cost: float
    class_costs: Any = None
    positive: int | None = None

    def targets(self, block: Block) -> tuple[Floats, Floats]:
        """Return targets and costs of the rows of a block."""
        costs = self.cost * block.weights
        if self.class_costs is None:
            return block.labels, costs
        return np.where(block.labels == self.positive, 1.0, -1.0), costs * self.class_costs[block.labels]


def look(block: Block, c: Floats, task: Task, u: Floats, b: float, width: float, before: float = 0.0) -> Sums:
    """Return the `Sums` of the rows of a chunk at coefficients u and intercept b.

    `before` is the wider width of a moment ago, if it was narrowed: rows whose loss bent then bend now.
    """
    (y, C), loss = task.targets(block), task.shape.rounded(width)
    n_clusters, n_features = u.shape
    smooth = sharp = dual = surplus = pulled = total = 0.0
    sides, moments, pull = np.zeros(2), np.zeros_like(u), np.zeros_like(u)
    curvature = np.zeros((n_clusters, n_features, n_clusters, n_features))
    across = np.zeros(u.size)
    for rows in feature_blocks(len(y), BLOCK):
        phi, own, at = _scored(block, c, u, b, rows)
        alpha = _in_box(task, loss.dual_variables(at, y[rows], C[rows]), y[rows], C[rows])
        smooth += float(C[rows] @ loss.value(at, y[rows]))
        sharp += float(C[rows] @ task.shape.loss.value(at, y[rows]))
        dual += float(task.shape.loss.dual_terms(alpha, y[rows], C[rows]).sum())
        surplus += float(alpha.sum())
        sides += [alpha[alpha < 0.0].sum(), alpha[alpha > 0.0].sum()]
        moments += (own * alpha[:, None]).T @ phi
        bends = C[rows] * loss.curvature(at, y[rows])
        if before > 0.0:
            wide = task.shape.rounded(before)
            band = wide.curvature(at, y[rows]) > 0.0
            bends = np.where(band, C[rows] / width, 0.0)
            alpha = np.where(band, wide.dual_variables(at, y[rows], C[rows]) * before / width, alpha)
        pull += (own * alpha[:, None]).T @ phi
        pulled += float(alpha.sum())
        bent = np.flatnonzero(bends > 0.0)
        phi, own, bends = phi[bent], own[bent], bends[bent]
        total += float(bends.sum())
        across += ((own * bends[:, None]).T @ phi).ravel()
        for j in range(n_clusters):
            for k in range(j + 1):
                pair = bends * own[:, j] * own[:, k]
                if pair.any():
                    curvature[j, :, k] += phi.T @ (pair[:, None] * phi)
    for j in range(n_clusters):
        for k in range(j):
            curvature[k, :, j] = curvature[j, :, k].T
    return Sums(
        smooth,
        sharp,
        dual,
        surplus,
        sides,
        moments,
        pull,
        pulled,
        curvature.reshape(u.size, u.size),
        across,
        total,
    )


def values(block: Block, c: Floats, task: Task, points: list[tuple[Floats, float]], width: float) -> Floats:
    """Return the sum of the rounded losses at each of some (u, b)."""
    (y, C), loss = task.targets(block), task.shape.rounded(width)
    found = np.zeros(len(points))
    for rows in feature_blocks(len(y), BLOCK):
        for k, (u, b) in enumerate(points):
            found[k] += C[rows] @ loss.value(_scored(block, c, u, b, rows)[2], y[rows])
    return found


def evidence(
    block: Block, c: Floats, task: Task, u: Floats, b: float, width: float, cut: tuple[float, float]
) -> dict[str, Any]:
    """Return what the certificate adds up, with bounds of rounding errors; see `newton_sums.certify_sums`."""
    (y, C), shape, loss = task.targets(block), task.shape, task.shape.rounded(width)
    share, squares = gamma(u.size + BLOCK, np.float64), np.square(shape.roots)
    sums, sizes = np.zeros((2, *u.shape))
    duals, costs, span, outside = np.zeros(2), np.zeros(4), 0.0, False
    kept: list[float] = []
    for rows in feature_blocks(len(y), BLOCK):
        phi, own, at = _scored(block, c, u, 0.0, rows)
        alpha = _in_box(task, loss.dual_variables(at + b, y[rows], C[rows]), y[rows], C[rows])
        alpha = np.where(np.sign(alpha) == cut[0], alpha * (1.0 - cut[1]), alpha)
        lower, upper = shape.loss.box(y[rows], C[rows])
        outside |= bool(np.any((alpha < lower) | (alpha > upper)))
        reach = np.abs(phi)
        errors = 2.0 * share * np.sum(own * (reach @ np.abs(u).T), axis=1)
        terms = SimpleNamespace(scores=at, scores_error=errors)
        costs += cost_sums(SimpleNamespace(loss=shape.loss, y=y[rows], C=C[rows]), terms, b)
        parts = own * alpha[:, None]
        sums += parts.T @ phi
        sizes += np.abs(parts).T @ reach
        duals += [
            shape.loss.dual_terms(alpha, y[rows], C[rows]).sum(),
            shape.loss.dual_sizes(alpha, y[rows], C[rows]).sum(),
        ]
        span = max(span, float(np.max(np.sum(own**2, axis=1) * (np.square(phi) @ squares))))
        kept += alpha.tolist()
    return {
        "sums": sums,
        "sizes": sizes,
        "duals": duals,
        "costs": costs,
        "surplus": math.fsum(kept),
        "total": math.fsum(map(abs, kept)),
        "span": span,
        "outside": outside,
        "n_terms": BLOCK + len(feature_blocks(len(y), BLOCK)),
        "n_chunks": 1,
    }


def add(parts: list[Any]) -> Any:
    """Return the sum of what chunks answer; of bounds, the largest."""
    first = parts[0]
    if not isinstance(first, dict):
        for other in parts[1:]:
            first = first + other
        return first
    largest = ("span", "outside", "n_terms", "largest")
    return {name: (max if name in largest else sum)(part[name] for part in parts) for name in first}


def _scored(block: Block, c: Floats, u: Floats, b: float, rows: slice) -> tuple[Floats, Floats, Floats]:
    phi, own = np.asarray(block.features[rows], dtype=np.float64), c[rows]
    return phi, own, np.sum((phi @ u.T) * own, axis=1) + b


def _in_box(task: Task, alpha: Floats, y: Floats, C: Floats) -> Floats:
    return np.clip(alpha, *task.shape.loss.box(y, C))
