"""Rows that are in chunks on a cluster: a `dask.array` or a `dask.dataframe`, with labels and weights alike.

The client sees how many rows each chunk has, and which worker has it; never the rows.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from localmkl._types import Rows, Targets

Client: TypeAlias = Any
"""A ``distributed.Client``."""

Future: TypeAlias = Any
"""A ``distributed.Future``."""

Task: TypeAlias = Any
"""A task of dask that has not run yet: a ``dask.delayed.Delayed``."""


@dataclass(frozen=True)
class Chunk:
    """Some neighbouring rows, as tasks that yield them.

    Parameters
    ----------
    X, y, weight : Delayed
        Rows, labels and weights (None for none); `y` may be None too, for rows to predict.
    n_rows : int
    first : int
        Number of its first row among all.
    number : int
        Its place among the chunks of the user, where empty ones count.
    """

    X: Task
    y: Task
    weight: Task | None
    n_rows: int
    first: int
    number: int


def find_client() -> Client:
    """Return the client of the cluster that this process works with."""
    try:
        from distributed import get_client
    except ImportError as error:
        raise ImportError(
            "Rows of dask need `distributed`, which is not installed; install localmkl with its extra 'dask'."
        ) from error
    try:
        client = get_client()
    except ValueError as error:
        raise ValueError(
            "Rows of dask are fitted on a cluster, and there is none; start one first, on this machine by "
            "`from dask.distributed import Client; client = Client()`."
        ) from error
    if client.status != "running":
        raise ValueError(f"The cluster must be running, its client is {client.status}; connect to it again.")
    if not client.nthreads():
        raise ValueError(
            "The cluster must have at least one worker, it has none; start some, or wait for them by "
            "`client.wait_for_workers(1)`."
        )
    return client


def chunks_of(X: Rows, y: Targets, sample_weight: Any, client: Client) -> list[Chunk]:
    """Return the chunks of rows that are not empty."""
    rows, lengths = _pieces("X", X, client)
    if sum(lengths) == 0:
        raise ValueError("`X` must have at least one row, all its chunks are empty.")
    labels = _alike("y", y, lengths, client)
    weights = (
        [None] * len(rows)
        if sample_weight is None
        else _alike("sample_weight", sample_weight, lengths, client)
    )
    firsts = np.cumsum([0, *lengths[:-1]]).tolist()
    parts = zip(rows, labels, weights, lengths, firsts, range(len(rows)), strict=True)
    return [Chunk(*part) for part in parts if part[3] > 0]


def _pieces(name: str, collection: Any, client: Client) -> tuple[list[Task], list[int]]:
    """Return the tasks and the lengths of a collection's chunks."""
    _check_kind(name, collection)
    if hasattr(collection, "to_delayed") and hasattr(collection, "divisions"):
        parts = collection.to_delayed(optimize_graph=False)  # rows and labels share tasks as they are
        return parts, client.gather(client.compute(_each(len, parts)))
    if collection.ndim > 1 and collection.numblocks[1] > 1:
        collection = collection.rechunk({1: -1})
    lengths = collection.chunks[0]
    if np.isnan(lengths).any():
        raise ValueError(
            f"`{name}` must have chunks of known sizes, got an array that does not know them; call its "
            "`compute_chunk_sizes()` first."
        )
    return np.ravel(collection.to_delayed(optimize_graph=False)).tolist(), list(lengths)


def _each(function: Callable[..., Any], parts: Iterable[Task]) -> list[Task]:
    from dask import delayed

    return [delayed(function)(part) for part in parts]


def _check_kind(name: str, collection: Any) -> None:
    from dask import is_dask_collection

    if not is_dask_collection(collection) or not hasattr(collection, "to_delayed"):
        raise ValueError(
            f"`{name}` must be a dask array or data frame, as the rows are, got {type(collection).__name__}; "
            "make one by `dask.array.from_array`, with the chunks of the rows."
        )
    if name != "X" and collection.ndim > 1 and not (collection.ndim == 2 and collection.shape[1] == 1):
        raise ValueError(f"`{name}` must have one column, got {collection.ndim} dimensions.")


def _alike(name: str, collection: Any, lengths: Sequence[int], client: Client) -> list[Task]:
    """Return the tasks of labels or weights whose chunks are those of the rows."""
    known = hasattr(collection, "chunks") and not np.isnan(collection.chunks[0]).any()
    if known and len(collection) == sum(lengths):
        collection = collection.rechunk({0: tuple(lengths)})
    parts, own = _pieces(name, collection, client)
    if sum(own) != sum(lengths):
        raise ValueError(f"`{name}` must have one entry for each of {sum(lengths)} rows, got {sum(own)}.")
    if list(own) != list(lengths):
        first = next(k for k, pair in enumerate(zip(own, lengths, strict=False)) if pair[0] != pair[1])
        raise ValueError(
            f"`{name}` must have the chunks of the rows, got {own[first]} entries for the {lengths[first]} "
            f"rows of chunk {first}; take both from one data frame."
        )
    return parts
