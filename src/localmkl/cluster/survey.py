"""The survey that a client takes of all chunks before a fit: columns, labels, groups, and a few rows.

Targets have W, mean and M2, as those of every chunk do: ``M2 = sum_k M2_k + W_k (mean_k - mean)^2``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_random_state, compute_class_weight

from localmkl._types import Array, Floats, Ints, Rows, Seed, Targets
from localmkl.cluster.held import weights_of
from localmkl.cluster.rows import Chunk, Client
from localmkl.estimators.base import BaseMKL
from localmkl.estimators.rows import concatenate_rows
from localmkl.estimators.tasks import ALIKE, ENORMOUS
from localmkl.kernels.stack import take_rows
from localmkl.solvers.losses import PiecewiseLinear

SAMPLE_ROWS = 10_000
"""Rows, drawn at random, that the client sees, to learn kernels' widths, landmarks and clusters from."""


@dataclass(frozen=True)
class Survey:
    """All that the client knows of the rows.

    Parameters
    ----------
    n_rows : int
    rows, weights
        The sample: rows in their order, and their weights (None if there are none).
    labels : ndarray
        Classes; in regression, empty.
    counts : ndarray
        How many rows each class has.
    groups : ndarray or None
        Known groups, each once, where the gate reads them.
    unit : float
        The unit of the targets.
    """

    n_rows: int
    rows: Rows
    weights: Floats | None
    labels: Array
    counts: Array
    groups: Array | None
    unit: float


def take_survey(model: BaseMKL, chunks: Sequence[Chunk], client: Client) -> Survey:
    """Return the `Survey` of chunks, one task for each."""
    from dask import delayed

    n_rows = sum(chunk.n_rows for chunk in chunks)
    picked = draw_rows(n_rows, max(SAMPLE_ROWS, model.n_components), model.random_state)
    look = delayed(look_at, pure=False)
    tasks = [
        look(model, chunk.X, chunk.y, chunk.weight, _within(picked, chunk) - chunk.first, chunk.number)
        for chunk in chunks
    ]
    found = client.gather(client.compute(tasks))
    _check_columns(chunks, [own["columns"] for own in found])
    rows = found[0]["rows"]
    for own in found[1:]:
        rows = concatenate_rows(rows, own["rows"])
    weighted = chunks[0].weight is not None
    labels, counts = _merge(found)
    groups = None
    if found[0]["groups"] is not None:
        groups = np.array(sorted({group for own in found for group in own["groups"]}), dtype=object)
    return Survey(
        n_rows,
        rows,
        np.concatenate([own["weights"] for own in found]) if weighted else None,
        labels,
        counts,
        groups,
        1.0 if is_classifier(model) else _unit(model, [own["moments"] for own in found]),
    )


def draw_rows(n_rows: int, most: int, random_state: Seed) -> Ints:
    """Return the numbers of the rows of a sample, in order: the same whatever the chunks."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(check_random_state(random_state).choice(n_rows, most, replace=False))


def _within(picked: Ints, chunk: Chunk) -> Ints:
    return picked[(picked >= chunk.first) & (picked < chunk.first + chunk.n_rows)]


def look_at(model: BaseMKL, X: Rows, y: Targets, weight: Any, picked: Ints, number: int) -> dict[str, Any]:
    """Return what the client needs to know of a chunk; here it is checked, too."""
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
        "weights": weights[picked],
        "groups": None if groups is None else sorted(set(groups.astype(str))),
    }
    if is_classifier(model):
        labels, codes = np.unique(y, return_inverse=True)
        return found | {"labels": labels, "counts": np.bincount(codes), "alive": np.bincount(codes, weights)}
    return found | {"moments": _moments(y, weights)}


def _check_columns(chunks: Sequence[Chunk], columns: Sequence[Any]) -> None:
    for chunk, own in zip(chunks, columns, strict=True):
        if own != columns[0]:
            raise ValueError(
                f"All chunks must have the same columns, chunk {chunks[0].number} has {columns[0]} and chunk "
                f"{chunk.number} has {own}."
            )


def _merge(found: Sequence[dict[str, Any]]) -> tuple[Array, Array]:
    """Return the classes of all chunks, and how many rows each has."""
    if "labels" not in found[0]:
        return np.empty(0), np.empty(0)
    labels, places = np.unique(np.concatenate([own["labels"] for own in found]), return_inverse=True)
    counts, alive = (
        np.bincount(places, np.concatenate([own[name] for own in found])) for name in ("counts", "alive")
    )
    if np.count_nonzero(alive) < 2:
        only = labels[alive > 0.0].tolist()
        raise ValueError(
            "Classification needs samples of at least 2 classes with positive weight, got one class: "
            f"{only[0] if only else None!r}."
        )
    return labels, counts


def _moments(y: Floats, weights: Floats) -> list[float]:
    counted = y[weights > 0.0]
    if len(counted) == 0:
        return [0.0, 0.0, 0.0, np.inf, -np.inf]
    mean = np.average(y, weights=weights)
    return [weights.sum(), mean, weights @ np.square(y - mean), counted.min(), counted.max()]


def _unit(model: BaseMKL, moments: Sequence[Sequence[float]]) -> float:
    """Return the unit that targets are measured in; see `RegressorPart._unit`."""
    totals, means, squares, least, most = np.array(moments).T
    if not totals.sum() > 0.0:
        raise ValueError("`sample_weight` must be positive for at least one sample.")
    largest, spread = max(abs(least.min()), abs(most.max())), most.max() - least.min()
    if not isinstance(model._loss, PiecewiseLinear):
        return 1.0
    if not 1.0 / ENORMOUS < largest < ENORMOUS or not spread > ALIKE * largest:
        return 1.0
    mean = np.average(means, weights=totals)
    return float(np.sqrt((squares + totals * np.square(means - mean)).sum() / totals.sum()))


def class_costs(model: BaseMKL, survey: Survey) -> Floats:
    """Return what the costs of each class are multiplied by."""
    if model.class_weight == "balanced":
        return survey.counts.sum() / (len(survey.labels) * survey.counts)
    return compute_class_weight(model.class_weight, classes=survey.labels, y=survey.labels)
