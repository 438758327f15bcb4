"""The data: rows and classes, gaps, columns that were left out, and views that rows lack."""

from typing import Any

import numpy as np

from localmkl import explain
from localmkl.estimators.groups import rows_of
from localmkl.report.markup import Html, Section, table
from localmkl.report.prose import METRICS, brief, count, file_names, interval, listing, percent, written
from localmkl.report.subject import Subject
from localmkl.views import Views

MOST = 8
"""Most patterns of missing views that are told apart, the most frequent ones."""


def used_rows(subject: Subject) -> Section:
    """Return the section on the data."""
    parts: list[Any] = [trained_text(subject), _classes(subject), filled_text(subject), _columns(subject)]
    parts += _views(subject)
    return Section("data", "The data", [part for part in parts if part])


def trained_text(subject: Subject) -> str:
    """Say what the model was trained on."""
    made, shape = subject.made, ""
    rows = rows_of(subject.rows)
    if subject.views:
        shape = f" in {count(len(subject.views), 'view')} ({listing(subject.views)})"
    elif explain.is_precomputed(subject.model):
        shape = f" with {count(len(subject.kernels), 'Gram matrix', 'Gram matrices')}"
    elif hasattr(rows, "columns"):
        shape = f" with {count(len(rows.columns), 'column')}"
    elif len(np.shape(rows)) == 2:
        shape = f" with {count(np.shape(rows)[1], 'column')}"
    files = file_names(made)
    where = f" of {listing(files)}" if files else ""
    text = f"The model was trained on {count(subject.n_train, 'row')}{where}{shape}."
    if subject.new and subject.held is not None:
        text += f" It was judged on {count(len(subject.labels), 'new row')}."
    return text


def _classes(subject: Subject) -> Html | None:
    y = subject.y
    if y is None:
        return None
    if not subject.classifier:
        y = np.asarray(y, dtype=float)
        ends = [brief(float(value)) for value in np.quantile(y, (0.0, 0.25, 0.5, 0.75, 1.0))]
        head = ["target", "smallest", "25 %", "median", "75 %", "largest"]
        return table(head, [[str(subject.made.get("target") or "target"), *ends]], "Values of the target")
    rows = []
    for label in subject.classes:
        own = int((y == label).sum())
        rows.append([str(label), f"{own:,}", percent(own / len(y), 1)])
    return table(["class", "rows", "share"], rows, "Classes")


def filled_text(subject: Subject) -> str:
    """Say which gaps were filled, and how."""
    filled = {name: one for name, one in (subject.made.get("filled") or {}).items() if one[0]}
    if not filled:
        return ""
    order = sorted(filled.items(), key=lambda item: -item[1][0])
    told = [f"{name} ({number:,}, by {brief(value)})" for name, (number, value) in order]
    total = count(sum(number for number, _ in filled.values()), "gap")
    return (
        f"{total} in {count(len(filled), 'column')} were filled: {listing(told)}. New rows are filled alike."
    )


def _columns(subject: Subject) -> Html | None:
    left = subject.made.get("left_out") or {}
    rows = [[name, str(why)] for name, why in left.items()]
    return table(["column", "why"], rows, "Columns left out") if rows else None


def _views(subject: Subject) -> list[Any]:
    """Return who has which view, and quality by what is missing; nothing where no row lacks one."""
    rows = rows_of(subject.rows)
    if not subject.views or not isinstance(rows, Views):
        return []
    present = np.stack([rows.present(name) for name in subject.views], axis=1)
    if present.all():
        return ["Every row has all views."]
    shares = [
        [name, f"{int(own.sum()):,}", percent(own.mean())]
        for name, own in zip(subject.views, present.T, strict=True)
    ]
    parts: list[Any] = [table(["view", "rows that have it", "share"], shares, "Views")]
    held = subject.held
    if held is not None:
        found = []
        for name, own in patterns(present, subject.views).items():
            score = held.score(rows=own)
            found.append(
                [name, f"{len(own):,}", written(held.metric, score.value), interval(held.metric, score)]
            )
        head = ["views", "rows", METRICS.get(held.metric, held.metric), "95 % interval"]
        parts.append(table(head, found, "Quality by the views that rows have"))
    return parts


def patterns(present: Any, views: list[str]) -> dict[str, Any]:
    """Return the rows of each pattern of missing views by its name, the complete ones first.

    Examples
    --------
    >>> present = np.array([[True, True]] * 2 + [[True, False]] * 10)
    >>> {name: len(rows) for name, rows in patterns(present, ["rna", "site"]).items()}
    {'all views': 2, 'rna': 10}
    """
    kinds, number = np.unique(present, axis=0, return_inverse=True)
    found: dict[str, Any] = {}
    for k, kind in enumerate(kinds):
        have = [name for name, there in zip(views, kind, strict=True) if there]
        name = "all views" if kind.all() else " + ".join(have) or "none of the views"
        found[name] = np.flatnonzero(number.ravel() == k)
    order = sorted(found, key=lambda name: (name != "all views", -len(found[name])))
    return {name: found[name] for name in order[:MOST]}
