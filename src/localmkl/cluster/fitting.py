"""A fit on rows in chunks: a sample, features of every chunk, then sums over chunks for each step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from sklearn.utils import compute_class_weight

from localmkl._resources import matrix_bytes
from localmkl._types import Floats, Rows, Targets
from localmkl.cluster.chunk_sums import Block, Task, add, evidence, look, values
from localmkl.cluster.chunks import Chunk, Sample, chunks_of, draw_sample, weights_of
from localmkl.estimators.base import BaseMKL
from localmkl.estimators.context import FoldContext
from localmkl.estimators.factors import DOUBLE_BYTES, FeatureRows
from localmkl.estimators.gating import ModelGate
from localmkl.estimators.groups import GroupGate
from localmkl.gates import Gate
from localmkl.kernels import fit_kernels
from localmkl.kernels.features import fit_features
from localmkl.kernels.stack import factors_of
from localmkl.solvers.losses import PiecewiseLinear
from localmkl.solvers.newton_sums import Shape, solve_on_sums
from localmkl.stacks import FactorStack
from localmkl.stacks.factors import feature_blocks

M = TypeVar("M", bound=BaseMKL)

TOGETHER = 8
"""Answers of chunks that are added up in one task, on their way to the process that asks."""


def fit(estimator: M, X: Rows, y: Targets, sample_weight: Any = None, unlabeled: Rows = None) -> M:
    """Fit an estimator to rows in chunks; it becomes what a fit to an array makes of it.

    Parameters
    ----------
    estimator : estimator of a convex method
        With `n_components`.
    X : dask.array.Array or dask.dataframe.DataFrame
    y : dask.array.Array or dask.dataframe.Series
        With the chunks of the rows.
    sample_weight : dask.array.Array or dask.dataframe.Series, optional
    unlabeled : None
        Clusters are learned from a sample of the rows alone.

    Returns
    -------
    estimator
        Without dual variables and memberships of the training rows.
    """
    if unlabeled is not None:
        raise ValueError("`unlabeled` rows are for rows in memory, got some with rows in chunks.")
    draft = estimator._copy(learned=False)
    chunks = _checked_chunks(draft, X, y, sample_weight)
    sample = draw_sample(draft, chunks)
    rows = draft._check_rows(sample.rows, reset=True)
    if len(sample.labels):
        draft.classes_ = sample.labels
    _learn_features(draft, rows, sample)
    asking = _ask_for_features(draft, chunks)
    totals = asking.total(
        _kernel_sums, len(sample.labels), float(np.mean(sample.y)) if not len(sample.labels) else 0.0
    )
    n_clusters = _learn_gate(draft, rows, sample, totals)
    asking = asking.gated(draft, chunks)
    tasks = _tasks(draft, sample, totals, asking.total(_spread), n_clusters)
    options = {"tol": draft.tol, "max_iter": draft.max_iter, "callback": draft._callback()}
    solved = [solve_on_sums(task.shape, _Answers(asking, task), **options) for task in tasks]
    solutions = [solution for solution, _ in solved]
    draft._store_common(solutions)
    draft._store(solutions, np.empty((0, n_clusters)))
    draft.feature_coef_ = draft._stacked([u for _, u in solved])
    if hasattr(draft, "groups_"):
        draft.groups_ = draft.groups_[:0]
    estimator.__dict__ = draft.__dict__
    return estimator


def sample_of(estimator: BaseMKL, X: Rows, y: Targets, sample_weight: Any = None) -> Sample:
    """Return a `Sample` of rows in chunks, for a search over the parameters of an estimator."""
    draft = estimator._copy(learned=False)
    return draw_sample(draft, _checked_chunks(draft, X, y, sample_weight))


def _checked_chunks(draft: BaseMKL, X: Rows, y: Targets, sample_weight: Any) -> list[Chunk]:
    draft._check_parameters()
    _check_suited(draft)
    if y is None:
        draft._check_y(y)  # says what is missing
    return chunks_of(X, y, sample_weight)


def _check_suited(draft: BaseMKL) -> None:
    if not hasattr(draft, "n_components"):
        raise ValueError(
            f"Rows in chunks are for the convex methods, got {type(draft).__name__}; use CLMKL, HLMKL, "
            "MKL or UNIF."
        )
    if draft.n_components is None:
        raise ValueError(
            "Rows in chunks need `n_components`, the number of features of each kernel, got None; Gram "
            "matrices are for rows in memory."
        )
    known = getattr(draft, "gate", "")
    if not (isinstance(known, str | Gate) or callable(known) or hasattr(known, "predict_proba")):
        raise ValueError(
            "`gate` must be a name, a `Gate`, a model or a function for rows in chunks, got a matrix of "
            "memberships; let a function compute them."
        )


def _learn_features(draft: BaseMKL, rows: Rows, sample: Sample) -> None:
    """Learn kernels and landmarks from the sample."""
    draft.kernels_ = fit_kernels(draft._kernels_for(rows), rows, sample.weights)
    draft.features_ = fit_features(
        draft.kernels_,
        rows,
        draft.n_components,
        sample_weight=sample.weights,
        landmarks=draft.landmarks,
        random_state=draft.random_state,
        cosine=draft.normalize == "cosine",
    )
    draft.widths_, draft.cosine_scales_ = list(draft.features_.widths), None


class _Chunks:
    """Blocks of features and memberships, as tasks whose results stay where dask keeps them."""

    def __init__(self, blocks: list[Any], memberships: list[Any]) -> None:
        self.blocks, self.memberships = blocks, memberships

    def total(self, function: Callable[..., Any], *state: Any) -> Any:
        """Return the sum over chunks of ``function(block, memberships, *state)``."""
        import dask

        ask, shared = dask.delayed(function), [dask.delayed(one, traverse=False) for one in state]
        parts = [ask(block, c, *shared) for block, c in zip(self.blocks, self.memberships, strict=True)]
        while len(parts) > 1:
            groups = [parts[k : k + TOGETHER] for k in range(0, len(parts), TOGETHER)]
            parts = [dask.delayed(add)(group) for group in groups]
        return dask.compute(parts[0])[0]

    def gated(self, draft: BaseMKL, chunks: list[Chunk]) -> _Chunks:
        """Return the chunks with the memberships that a fitted gate gives their rows."""
        import dask

        model = dask.delayed(draft._copy(), traverse=False)
        own = getattr(getattr(draft.gate_, "kernel", None), "own", None)
        looks = isinstance(draft.gate_, ModelGate | GroupGate) or own is not None
        tasks = [
            dask.delayed(_memberships)(model, block, chunk.X if looks else None)
            for block, chunk in zip(self.blocks, chunks, strict=True)
        ]
        return _Chunks(self.blocks, list(dask.persist(*tasks)))


class _Answers:
    """The sums of a problem over all chunks, for `solve_on_sums`."""

    def __init__(self, chunks: _Chunks, task: Task) -> None:
        self.look = partial(chunks.total, look, task)
        self.values = partial(chunks.total, values, task)
        self.evidence = partial(chunks.total, evidence, task)


def _ask_for_features(draft: BaseMKL, chunks: list[Chunk]) -> _Chunks:
    """Have the features of all rows computed; dask computes them again where they are lost."""
    import dask

    n_rows = sum(chunk.n_rows for chunk in chunks)
    small = matrix_bytes(n_rows, draft.features_.n_features) <= DOUBLE_BYTES
    model, dtype = dask.delayed(draft._copy(), traverse=False), np.dtype(np.float64 if small else np.float32)
    tasks = [dask.delayed(_features)(model, own.X, own.y, own.weight, dtype) for own in chunks]
    return _Chunks(list(dask.persist(*tasks)), [None] * len(tasks))


def _features(model: BaseMKL, X: Rows, y: Targets, weight: Any, dtype: np.dtype[Any]) -> Block:
    """Return the features, labels and weights of a chunk, and the kernels' sums over its rows."""
    targets = model._check_y(np.asarray(y))
    labels = np.searchsorted(model.classes_, targets) if hasattr(model, "classes_") else targets
    rows, weights = model._check_rows(X, reset=False), weights_of(weight, len(labels))
    table = np.empty((len(labels), model.features_.n_features), dtype=dtype)
    model.features_.transform(rows, out=table)
    return Block(table, labels, weights, tuple(model.widths_), model.features_.diagonals(rows) @ weights)


def _kernel_sums(block: Block, _: None, n_classes: int, origin: float) -> dict[str, Any]:
    """Return sums over rows by their weights, of the features, the kernels and the targets."""
    stack, weights, away = _stack(block), block.weights, block.labels - origin
    known = weights > 0.0
    return {
        "weight": weights.sum(),
        "diagonal": stack.diagonals() @ weights,
        "features": stack.moments(weights[:, None])[0],
        "trace": block.trace,
        "classes": np.bincount(block.labels, weights, n_classes) if n_classes else np.zeros(0),
        "away": float(weights @ away),
        "square": float(weights @ np.square(away)),
        "largest": float(np.abs(block.labels[known]).max(initial=0.0)),
    }


def _stack(block: Block) -> FactorStack:
    return FactorStack.of_table(block.features, block.widths)


def _learn_gate(draft: BaseMKL, rows: Rows, sample: Sample, totals: dict[str, Any]) -> int:
    """Learn factors from all rows and the gate from the sample; return how many sets of weights there are."""
    trace, diagonal = totals["trace"], totals["diagonal"]
    lost = np.divide(trace - diagonal, trace, out=np.zeros(len(trace)), where=trace > 0.0)
    draft.approximation_error_ = np.clip(lost, 0.0, 1.0)
    stack = FactorStack.of_table(draft.features_.transform(rows, dtype=np.float64), draft.widths_)
    draft.factors_ = np.ones(stack.n_kernels)
    if draft.normalize in ("multiplicative", "trace"):
        means = totals["features"] / totals["weight"]
        norms = stack.fold(np.square(means)) * (draft.normalize == "multiplicative")
        draft.factors_ = factors_of(diagonal / totals["weight"], norms)
    return draft._fit_gate(rows, sample.groups, stack, sample.weights, None, FoldContext()).shape[1]


def _memberships(model: BaseMKL, block: Block, X: Rows) -> Floats:
    """Return the memberships of the rows of a chunk; X is None unless the gate looks at rows themselves."""
    if X is not None:
        return model.memberships(X)
    grams, n_rows = FeatureRows(_stack(block), None, model.factors_), len(block.labels)
    return np.concatenate([model._memberships_block(None, grams, rows) for rows in feature_blocks(n_rows)])


def _spread(block: Block, c: Floats) -> float:
    return float(block.weights @ np.square(c).sum(axis=1))


def _tasks(
    draft: BaseMKL, sample: Sample, totals: dict[str, Any], spread: float, n_clusters: int
) -> list[Task]:
    """Set the cost of the optimisation; return a problem for each class, or one."""
    weight, p, n_kernels = totals["weight"], float(draft._p), len(draft.widths_)
    mean = totals["away"] / weight
    deviation = float(np.sqrt(max(totals["square"] / weight - mean**2, 0.0)))
    unit = deviation if isinstance(draft._loss, PiecewiseLinear) and not len(sample.labels) else 1.0
    size = spread / weight * n_kernels ** (1.0 - 1.0 / p) / (unit or 1.0) if draft.scale_C else 1.0
    draft.C_ = float(draft.C) / size
    shape = Shape(
        draft._loss,
        p,
        np.repeat(np.sqrt(draft.factors_), draft.widths_),
        tuple(draft.widths_),
        n_clusters,
        sample.n_rows,
        scale=deviation or 1.0,
        base=totals["largest"],
        start=mean + float(np.mean(sample.y)) if not len(sample.labels) else 0.0,
    )
    if not len(sample.labels):
        return [Task(shape, draft.C_)]
    costs = _class_costs(draft, sample)
    tasks = []
    for positive in [1] if len(sample.labels) == 2 else range(len(sample.labels)):
        own = totals["classes"] * costs
        pair = np.array([own.sum() - own[positive], own[positive]])
        base = draft._loss.best_intercept(np.zeros(2), np.array([-1.0, 1.0]), draft.C_ * pair)
        tasks.append(Task(replace(shape, scale=1.0, base=abs(base)), draft.C_, costs, positive))
    return tasks


def _class_costs(draft: BaseMKL, sample: Sample) -> Floats:
    """Return what the costs of each class are multiplied by."""
    if draft.class_weight == "balanced":
        return sample.counts.sum() / (len(sample.labels) * sample.counts)
    return compute_class_weight(draft.class_weight, classes=sample.labels, y=sample.labels)
