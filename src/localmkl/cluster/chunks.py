"""Rows in chunks: labels and weights with the same chunks, and a sample of all rows.

Only lengths, classes and a sample of the rows reach the process that asks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_random_state

from localmkl._sklearn import check_sample_weight
from localmkl._types import Array, Floats, Ints, Rows, Targets
from localmkl.estimators.base import BaseMKL
from localmkl.estimators.rows import concatenate_rows
from localmkl.kernels.stack import take_rows

Task: TypeAlias = Any
"""A ``dask.delayed.Delayed``: a task that has not run yet."""


SAMPLE_ROWS = 10_000
"""Rows, drawn at random, that widths of kernels, landmarks and clusters are learned from."""


@dataclass(frozen=True)
class Chunk:
    """Some neighbouring rows, their labels and weights (None for none), as tasks."""

    X: Task
    y: Task
    weight: Task | None
    n_rows: int
    first: int
    number: int


@dataclass(frozen=True)
class Sample:
    """Some of the rows, and facts about all of them.

    Attributes
    ----------
    n_rows : int
    rows, y, weights
        The rows drawn, in their order; weights are None if there are none.
    labels, counts : ndarray
        Classes and how many rows each has; empty in regression.
    groups : ndarray or None
        Known groups, each once, where the model reads them.
    """

    n_rows: int
    rows: Rows
    y: Array
    weights: Floats | None
    labels: Array
    counts: Array
    groups: Array | None


def chunks_of(X: Rows, y: Targets, sample_weight: Any = None) -> list[Chunk]:
    """Return the chunks of rows that are not empty."""
    rows, lengths = _pieces("X", X)
    if sum(lengths) == 0:
        raise ValueError("`X` must have at least one row, all its chunks are empty.")
    labels = _alike("y", y, lengths)
    weights = [None] * len(rows) if sample_weight is None else _alike("sample_weight", sample_weight, lengths)
    firsts = np.cumsum([0, *lengths[:-1]]).tolist()
    parts = zip(rows, labels, weights, lengths, firsts, range(len(rows)), strict=True)
    return [Chunk(*part) for part in parts if part[3] > 0]


def _pieces(name: str, collection: Any) -> tuple[list[Task], list[int]]:
    """Return the tasks and the lengths of a collection's chunks."""
    import dask

    if not dask.is_dask_collection(collection) or not hasattr(collection, "to_delayed"):
        raise ValueError(
            f"`{name}` must be a dask array or data frame, as the rows are, got {type(collection).__name__}; "
            "make one by `dask.array.from_array`, with the chunks of the rows."
        )
    if name != "X" and collection.ndim > 1 and not (collection.ndim == 2 and collection.shape[1] == 1):
        raise ValueError(f"`{name}` must have one column, got {collection.ndim} dimensions.")
    if hasattr(collection, "divisions"):
        parts = collection.to_delayed()
        return parts, list(dask.compute(*[dask.delayed(len)(part) for part in parts]))
    if collection.ndim > 1 and collection.numblocks[1] > 1:
        collection = collection.rechunk({1: -1})
    lengths = collection.chunks[0]
    if np.isnan(lengths).any():
        raise ValueError(
            f"`{name}` must have chunks of known sizes, got an array that does not know them; call its "
            "`compute_chunk_sizes()` first."
        )
    return np.ravel(collection.to_delayed()).tolist(), list(lengths)


def _alike(name: str, collection: Any, lengths: Sequence[int]) -> list[Task]:
    """Return the tasks of labels or weights whose chunks are those of the rows."""
    known = hasattr(collection, "chunks") and not np.isnan(collection.chunks[0]).any()
    if known and len(collection) == sum(lengths):
        collection = collection.rechunk({0: tuple(lengths)})
    parts, own = _pieces(name, collection)
    if sum(own) != sum(lengths):
        raise ValueError(f"`{name}` must have one entry for each of {sum(lengths)} rows, got {sum(own)}.")
    if list(own) != list(lengths):
        first = next(k for k, pair in enumerate(zip(own, lengths, strict=False)) if pair[0] != pair[1])
        raise ValueError(
            f"`{name}` must have the chunks of the rows, got {own[first]} entries for the {lengths[first]} "
            f"rows of chunk {first}; take both from one data frame."
        )
    return parts


def draw_sample(model: BaseMKL, chunks: Sequence[Chunk]) -> Sample:
    """Return a `Sample` of rows in chunks: the same rows whatever the chunks are."""
    import dask

    n_rows, most = sum(chunk.n_rows for chunk in chunks), max(SAMPLE_ROWS, model.n_components)
    picked = np.arange(n_rows)
    if n_rows > most:
        picked = np.sort(check_random_state(model.random_state).choice(n_rows, most, replace=False))
    within = [picked[(picked >= own.first) & (picked < own.first + own.n_rows)] - own.first for own in chunks]
    look, plain = dask.delayed(_look_at), model._copy(learned=False)
    parts = zip(chunks, within, strict=True)
    found = dask.compute(*[look(plain, own.X, own.y, own.weight, rows, own.number) for own, rows in parts])
    for chunk, one in zip(chunks, found, strict=True):
        if one["columns"] != found[0]["columns"]:
            raise ValueError(
                f"All chunks must have the same columns, chunk {chunks[0].number} has "
                f"{found[0]['columns']} and chunk {chunk.number} has {one['columns']}."
            )
    rows = found[0]["rows"]
    for one in found[1:]:
        rows = concatenate_rows(rows, one["rows"])
    y, weights = (np.concatenate([one[name] for one in found]) for name in ("y", "weights"))
    groups = None
    if found[0]["groups"] is not None:
        groups = np.array(sorted({group for one in found for group in one["groups"]}), dtype=object)
    labels, counts = _classes(model, found)
    return Sample(n_rows, rows, y, None if chunks[0].weight is None else weights, labels, counts, groups)


def _look_at(model: BaseMKL, X: Rows, y: Targets, weight: Any, picked: Ints, number: int) -> dict[str, Any]:
    """Return what is to be known of a chunk, which is checked here."""
    model = model._copy(learned=False)
    try:
        groups, columns = model._groups_in(X), list(getattr(X, "columns", []))
        model._check_rows(X, reset=True)
        y = model._check_y(np.asarray(y))
        weights = weights_of(weight, len(y))
    except ValueError as error:
        raise ValueError(f"In chunk {number}: {error}") from error
    found = {
        "columns": columns or getattr(model, "n_features_in_", None),
        "rows": take_rows(X, picked),
        "y": y[picked],
        "weights": weights[picked],
        "groups": None if groups is None else sorted(set(groups.astype(str))),
    }
    if is_classifier(model):
        labels, codes = np.unique(y, return_inverse=True)
        found |= {"labels": labels, "counts": np.bincount(codes), "alive": np.bincount(codes, weights)}
    return found


def weights_of(weight: Any, n_rows: int) -> Floats:
    """Return weights of rows, one where there are none."""
    if weight is None:
        return np.ones(n_rows)
    weight = np.asarray(weight).reshape(-1)
    return check_sample_weight(weight, np.empty((n_rows, 1)), dtype=np.float64, ensure_non_negative=True)


def _classes(model: BaseMKL, found: Sequence[dict[str, Any]]) -> tuple[Array, Array]:
    """Return the classes of all chunks, and how many rows each has."""
    if not is_classifier(model):
        return np.empty(0), np.empty(0)
    labels, places = np.unique(np.concatenate([one["labels"] for one in found]), return_inverse=True)
    counts, alive = (
        np.bincount(places, np.concatenate([one[name] for one in found])) for name in ("counts", "alive")
    )
    if np.count_nonzero(alive) < 2:
        only = labels[alive > 0.0].tolist()
        raise ValueError(
            "Classification needs samples of at least 2 classes with positive weight, got one class: "
            f"{only[0] if only else None!r}."
        )
    return labels, counts


def lengths_of(X: Rows) -> tuple[list[Task], list[float]]:
    """Return the tasks of rows to predict, and their lengths, not a number where they are unknown."""
    if hasattr(X, "divisions"):
        parts = X.to_delayed()
        return parts, [np.nan] * len(parts)
    X = X.rechunk({1: -1}) if X.ndim > 1 and X.numblocks[1] > 1 else X
    return np.ravel(X.to_delayed()).tolist(), list(X.chunks[0])
