"""The section on the search: the scores of its candidates and the choice."""

from typing import Any

import numpy as np

from localmkl._types import Floats
from localmkl.model_selection import at_edge
from localmkl.report import charts
from localmkl.report.prose import Figure, Section, Table, brief, count, listing
from localmkl.report.subject import Subject

SAME_SCORE = 1e-3
"""Scores of a search that differ by less are the same: it is one unit of the last digit shown."""


def tuning_section(subject: Subject) -> Section | None:
    """Return the table of the search, or None if there was none."""
    search = subject.search
    if search is None:
        return None
    results = search.cv_results_
    chosen = f"mean_test_{search.refit}"
    metric = chosen if chosen in results else next(key for key in results if key.startswith("mean_test_"))
    scores = np.asarray(results[metric], dtype=float)
    spread = np.asarray(results[metric.replace("mean_", "std_", 1)], dtype=float)
    # One column for each parameter, by the name that it has in the model.
    values = {
        key.removeprefix("param_").rpartition("__")[2]: [_plain(value) for value in results[key]]
        for key in results
        if key.startswith("param_")
    }
    sizes = {name: len(set(map(brief, column))) for name, column in values.items()}
    varied = [name for name in values if sizes[name] > 1]
    best = int(search.best_index_)
    text = tuning_text({name: values[name][best] for name in varied}, scores, spread, best, search.n_splits_)
    text += edge_text(search)
    axes = sorted(varied, key=lambda name: (name not in ("C", "evenness", "shared"), -sizes[name]))[:2]
    order = np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable")[:10]
    rows = [
        [*(brief(column[i]) for column in values.values()), _score(scores[i]), _score(spread[i])]
        for i in order
    ]
    table = Table("The best candidates", [*values, "mean score", "standard deviation"], rows)
    axes = axes if np.isfinite(scores).any() else []
    figures = [_score_figure({name: values[name] for name in axes}, scores, best, text)] if axes else []
    return Section("tuning", "How the parameters were chosen", [] if axes else [text], [*figures, table])


def tuning_text(params: dict[str, Any], scores: Floats, spread: Floats, best: int, n_folds: int) -> str:
    """Say what was chosen and how much the choice mattered."""
    failed = int((~np.isfinite(scores)).sum())
    tail = f" {count(failed, 'candidate')} could not be scored." if failed else ""
    if failed == len(scores) or not np.isfinite(scores[best]):
        return (
            f"Of {count(len(scores), 'candidate')} in {count(n_folds, 'fold')}, none could be compared.{tail}"
        )
    top = int(np.nanargmax(scores))
    near = int((scores >= scores[top] - spread[top]).sum())
    said = listing([f"{name} = {brief(value)}" for name, value in params.items()] or ["the only candidate"])
    first = f"Of {count(len(scores), 'candidate')} in {count(n_folds, 'fold')}, {said}"
    if len(scores) - failed == 1 or np.nanmax(scores) - np.nanmin(scores) < SAME_SCORE:
        alike = " like all others" if len(scores) - failed > 1 else ""
        return f"{first} was chosen: {scores[best]:.3f}{alike}.{tail}"
    praised = "did best" if scores[best] == scores[top] else f"was chosen (the best has {scores[top]:.3f})"
    return (
        f"{first} {praised}: "
        f"{scores[best]:.3f} (standard deviation {spread[best]:.3f} over the folds), against "
        f"{np.nanmin(scores):.3f} for the worst. {count(near, 'candidate')} {'lies' if near == 1 else 'lie'} "
        f"within one standard deviation of the best.{tail}"
    )


def edge_text(search: Any) -> str:
    """Say which choices lie at an end of what was tried."""
    found = [
        f"{name} = {brief(_plain(value))} is the {end} tried"
        for name, (value, end) in at_edge(search).items()
    ]
    return f" {listing(found)}: there may be better values beyond." if found else ""


def _score(value: float) -> str:
    return f"{value:.4f}" if np.isfinite(value) else "none"


def _plain(value: Any) -> float | str:
    if isinstance(value, float | int | np.number) and not isinstance(value, bool):
        return float(value)
    return str(value)


def _score_figure(axes: dict[str, list[float | str]], scores: Floats, best: int, text: str) -> Figure:
    """Return the scores over one or two parameters, the best over the others."""
    columns = [[brief(value) for value in column] for column in axes.values()]
    orders = [_ordered(column) for column in axes.values()]
    if len(axes) == 1:
        columns.append(["score"] * len(scores))
        orders.append(["score"])
    cells: dict[tuple[str, str], float] = {}
    for cell, score in zip(zip(*columns, strict=True), scores, strict=True):
        if np.isfinite(score):
            cells[cell] = max(float(score), cells.get(cell, -np.inf))
    winner = columns[0][best], columns[1][best]
    rows = [
        {"x": x, "y": y, "value": round(score, 4), "framed": (x, y) == winner}
        for (x, y), score in cells.items()
    ]
    titles = (*axes, "")[:2]
    spec = charts.heat_map(rows, order=orders, titles=titles, form=".3f", from_zero=False)
    table = Table(
        "Mean score of the folds",
        [f"{titles[1]}, {titles[0]}" if titles[1] else titles[0], *orders[0]],
        [[y, *(f"{cells[x, y]:.4f}" if (x, y) in cells else "" for x in orders[0])] for y in orders[1]],
    )
    title = f"Score by {listing(list(axes))}, the best over all else; the choice is framed"
    return Figure("tuning", title, text, spec, table=table)


def _ordered(values: list[float | str]) -> list[str]:
    distinct = {brief(value): value for value in values}
    return sorted(distinct, key=lambda name: (isinstance(distinct[name], str), distinct[name]))
