"""The numbers that stay on a worker, made there of the user's chunks: features, labels, weights.

Everything here is a task without memory: if a worker dies, dask runs it again elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from localmkl._sklearn import check_sample_weight, count_rows
from localmkl._types import Array, Bools, Floats, Ints, Picked, Rows, Targets
from localmkl.estimators.base import BaseMKL
from localmkl.estimators.factors import FeatureRows
from localmkl.solvers.objective import Problem
from localmkl.stacks import FactorStack
from localmkl.stacks.factors import feature_blocks

if TYPE_CHECKING:
    from localmkl.cluster.shards import Order

Taken: TypeAlias = tuple[Rows, Targets, Any]
"""Rows, labels and weights of a chunk, where they are; None for no weights."""


@dataclass(frozen=True)
class Fold:
    """One of some folds that rows belong to by their numbers, whatever the chunks.

    Parameters
    ----------
    index, n_folds, seed : int
    """

    index: int
    n_folds: int
    seed: int

    def has(self, numbers: Ints) -> Bools:
        """Return which rows, given by their numbers, belong to the fold."""
        return scrambled(numbers, self.seed) % np.uint64(self.n_folds) == self.index


def scrambled(numbers: Ints, seed: int) -> Ints:
    """Return a random number for each number, always the same (Steele, Lea, Flood 2014: SplitMix)."""
    with np.errstate(over="ignore"):
        z = np.asarray(numbers, dtype=np.uint64) + np.uint64(seed + 1) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


@dataclass(frozen=True, eq=False)
class Held:
    """Some rows on a worker, as features.

    Parameters
    ----------
    stack : FactorStack
    diagonals : ndarray of shape (n_kernels, n_rows)
        Squared lengths of the features.
    trace : ndarray of shape (n_kernels,)
        Weighted sums of ``k_m(x, x)``, of which the features have a part.
    labels : ndarray of shape (n_rows,)
        Numbers of the classes, or targets.
    weights : ndarray of shape (n_rows,)
    numbers : ndarray of shape (n_rows,)
        Of the rows, among all.
    """

    stack: FactorStack
    diagonals: Floats
    trace: Floats
    labels: Array
    weights: Floats
    numbers: Ints

    def problem(self, memberships: Floats, order: Order) -> tuple[Picked, Problem]:
        """Return the rows that take part in an order, and their problem."""
        costs, targets = order.cost * self.weights, self.labels
        if order.class_costs is not None:
            costs = costs * order.class_costs[self.labels]
            targets = np.where(self.labels == order.positive, 1.0, -1.0)
        stack = self.stack.scaled(order.factors)
        problem = Problem(stack, memberships, targets, costs, order.loss, order.p)
        problem.__dict__["diagonals"] = self.diagonals * order.factors[:, None]
        if order.left_out is None:
            return slice(None), problem
        rows = np.flatnonzero(~order.left_out.has(self.numbers))
        return rows, problem.on(rows)


def hold(model: BaseMKL, chunks: Sequence[Taken], firsts: Sequence[int], dtype: Any, threads: int) -> Held:
    """Return the `Held` of some chunks, given a model that knows kernels, landmarks and classes."""
    counts = [count_rows(X) for X, _, _ in chunks]
    weights = [weights_of(weight, n) for (_, _, weight), n in zip(chunks, counts, strict=True)]
    ends, features = np.cumsum([0, *counts]), model.features_
    table, trace = np.empty((ends[-1], features.n_features), dtype=dtype), np.zeros(features.n_kernels)
    for (X, _, _), own, last in zip(chunks, weights, ends[1:], strict=True):
        rows = model._check_rows(X, reset=False)
        features.transform(rows, out=table[last - len(own) : last])
        trace += features.diagonals(rows) @ own
    stack = FactorStack.of_table(table, features.widths).using(parallel=threads > 1)
    labels = np.concatenate([labels_of(model, y) for _, y, _ in chunks])
    numbers = np.concatenate([first + np.arange(n) for first, n in zip(firsts, counts, strict=True)])
    return Held(stack, stack.diagonals(), trace, labels, np.concatenate(weights), numbers)


def labels_of(model: BaseMKL, y: Targets) -> Array:
    """Return numbers of classes, or targets."""
    targets: Array = model._check_y(np.asarray(y))
    return np.searchsorted(model.classes_, targets) if hasattr(model, "classes_") else targets


def weights_of(weight: Any, n_rows: int) -> Floats:
    """Return weights of rows, one where there are none."""
    if weight is None:
        return np.ones(n_rows)
    weight = np.asarray(weight).reshape(-1)
    return check_sample_weight(weight, np.empty((n_rows, 1)), dtype=np.float64, ensure_non_negative=True)


def kernel_sums(held: Held) -> list[Any]:
    """Return sums over rows, by their weights: of these, diagonals, features, and the kernels' own."""
    features = held.stack.moments(held.weights[:, None])[0]
    return [held.weights.sum(), held.diagonals @ held.weights, features, held.trace]


def gate(model: BaseMKL, held: Held, chunks: Sequence[Taken] | None) -> Floats:
    """Return the memberships of rows; `chunks` are None unless the gate looks at the rows themselves."""
    if chunks is not None:
        return np.concatenate([model.memberships(X) for X, _, _ in chunks])
    grams = FeatureRows(held.stack, None, model.factors_)
    blocks = feature_blocks(len(held.stack))
    return np.concatenate([model._memberships_block(None, grams, rows) for rows in blocks])


def mean_square(held: Held, memberships: Floats) -> float:
    """Return ``sum_i w_i sum_j c_ij^2``."""
    return float(held.weights @ np.square(memberships).sum(axis=1))
