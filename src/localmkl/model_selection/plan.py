"""The order of the candidates: one after the other, each from the solution of a neighbour.

A *group* shares every parameter that is not on the path, hence Grams, normalisation and partition. Its
candidates of one evenness and share have the same memberships: they form a *column*, and read the Grams
together. From column to column these move a solution slowly; C, p and the loss would not, so a *series* keeps
them. A *batch* is a few series over all columns, and the unit of work: it starts cold, so that its results
depend neither on the number of workers nor on an interruption.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

from localmkl.estimators.column import ACROSS
from localmkl.estimators.context import identity

ALONG = ("shared", "evenness")
"""Parameters that differ from column to column."""
WIDTH = 8
"""Series of a batch, which read the Grams together ..."""
TASKS = 4
"""... unless fewer batches than this come out, over all folds: then half as many, for workers to share."""


@dataclass(frozen=True)
class Batch:
    """Candidates by number, column by column, and the group they belong to."""

    group: int
    columns: tuple[tuple[int, ...], ...]

    @property
    def candidates(self) -> list[int]:
        """All candidates, in the order they run."""
        return [number for column in self.columns for number in column]


def plan(candidates: Sequence[dict[str, Any]], defaults: dict[str, Any], n_folds: int) -> list[Batch]:
    """Return the batches that visit every candidate once.

    Parameters
    ----------
    candidates : list of dict
    defaults : dict
        Values of the parameters that a candidate does not set.
    n_folds : int
    """
    groups: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for number, candidate in enumerate(candidates):
        groups[_group_key(candidate)].append(number)
    return [
        Batch(group, columns)
        for group, members in enumerate(groups.values())
        for columns in _batches(members, candidates, defaults, n_folds)
    ]


def series_of(candidate: dict[str, Any]) -> tuple[Any, ...]:
    """Return what the candidates of one series have in common."""
    return tuple(identity(candidate.get(name)) for name in ACROSS)


def _group_key(candidate: dict[str, Any]) -> tuple[Any, ...]:
    path = (*ALONG, *ACROSS)
    return tuple((name, identity(value)) for name, value in sorted(candidate.items()) if name not in path)


def _batches(
    members: list[int], candidates: Sequence[dict[str, Any]], defaults: dict[str, Any], n_folds: int
) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Yield the batches of a group, each as a tuple of columns."""

    def values(number: int, *names: str) -> list[Any]:
        own = {**defaults, **candidates[number]}
        return [own.get(name) if isinstance(own.get(name), Real) else 0.0 for name in names]

    series: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for number in sorted(members, key=lambda number: values(number, *ACROSS, *ALONG)):
        series[series_of(candidates[number])].append(number)
    every = list(series.values())
    width = WIDTH if n_folds * -(-len(every) // WIDTH) >= TASKS else WIDTH // 2
    for first in range(0, len(every), width):
        columns: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        for one in every[first : first + width]:
            for number in one:
                columns[tuple(values(number, *ALONG))].append(number)
        yield tuple(tuple(columns[place]) for place in sorted(columns))
