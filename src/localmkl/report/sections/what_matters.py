"""Effects of kernels by cluster or group, and of the columns inside them."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from localmkl import explain
from localmkl._checks import is_missing
from localmkl.explain.effects import column_values, numbered_columns
from localmkl.report.drawing import (
    GROUPS,
    LABEL,
    Plot,
    color_of,
    extent,
    heat_map,
    legend,
    reaches,
    short,
)
from localmkl.report.markup import Html, Section, beside, figure, joined, table
from localmkl.report.prose import class_name, percent
from localmkl.report.subject import Subject

MOST, LEAST = 16, 0.005
"""Rows of a heat map, and the largest effect below which a row is left out."""

CURVES, BINS, WORDS = 6, 10, 6
"""Columns with a curve, points of a curve, and most words on its axis."""


def what_matters(subject: Subject, sequences: Sequence[Html] = ()) -> Section | None:
    """Return the section on effects, and on sequences; None where nothing is known."""
    held = subject.held
    parts: list[Any] = []
    if held is not None:
        whose = f" The effects in a {subject.noun} count its rows alone." if subject.local else ""
        parts.append(
            "An effect is the share of the variance of predictions that a kernel or column explains. "
            f"It is measured on rows that the model has not seen.{whose}"
        )
        first = explain.weighted_degrees(subject.model) or held.column_parts is not None
        parts += [kernel_figure(subject, held.matters(by="kernel")) if first else None, view_table(subject)]
    parts = [part for part in [*parts, *sequences, columns_figure(subject)] if part]
    return Section("matters", "What matters where", parts) if parts else None


def effects_figure(subject: Subject) -> Html | None:
    """Return the picture of the first screen: effects by column or kernel, and by group."""
    return None if subject.held is None else kernel_figure(subject, subject.held.matters())


def kernel_figure(subject: Subject, found: list[Any]) -> Html | None:
    """Return effects by kernel (or column) and group or class as a heat map; of one part with intervals."""
    if not found:
        return None
    noun = found[0].by
    for field in ("part", "decision"):
        across = in_order(subject, {getattr(one, field) for one in found})
        if len(across) > 1:
            return _as_heat_map(subject, found, across, field, noun)
    shown = [one for one in found[:MOST] if one.share >= LEAST]
    return _with_intervals(subject, shown or found[:1], noun)


def in_order(subject: Subject, names: Iterable[str]) -> list[str]:
    """Return parts or decisions in the order of the model, "everywhere" first."""
    held = subject.held
    order = ["everywhere", *held.parts, *held.decided]
    return sorted(names, key=order.index)


def _with_intervals(subject: Subject, found: list[Any], noun: str) -> Html:
    names = [f"{short(one.kernel, LABEL - 2)}{_arrow(subject, one)}" for one in found]
    values = [(100 * one.share, 100 * one.low, 100 * one.high) for one in found]
    drawn = reaches(names, {"effect": values}, "effect in percent", f"Effects by {noun}", 0.0)
    rows = [[one.kernel, *_said(subject, one)] for one in found]
    numbers = table([noun, "effect", "95 % interval", "sure", "direction"], rows, f"Effects by {noun}")
    text = f"Lines are 95 % intervals.{_arrows(subject, found)}"
    return figure(f"Effects by {noun}", text, drawn, numbers)


def _as_heat_map(subject: Subject, found: list[Any], across: list[str], field: str, noun: str) -> Html:
    tops: dict[str, float] = {}
    for one in found:
        tops[one.kernel] = max(one.share, tops.get(one.kernel, 0.0))
    down = sorted(tops, key=lambda name: -tops[name])[:MOST]
    down = [name for name in down if tops[name] >= LEAST] or down[:1]
    shape = (len(down), len(across))
    cells: dict[tuple[str, str], Any] = {}
    for one in found:  # of several classes, the largest effect in each part
        key = (one.kernel, getattr(one, field))
        if key not in cells or one.share > cells[key].share:
            cells[key] = one
    shares, pale, marks = np.full(shape, np.nan), np.ones(shape, dtype=bool), np.full(shape, "", dtype=object)
    rows = []
    for i, name in enumerate(down):
        for j, where in enumerate(across):
            one = cells.get((name, where))
            if one is not None:
                shares[i, j], pale[i, j], marks[i, j] = one.share, not one.sure, _arrow(subject, one)
                rows.append([name, where, *_said(subject, one)])
    what = subject.noun if field == "part" else "class"
    numbers = table([noun, what, "effect", "95 % interval", "sure", "direction"], rows, f"Effects by {noun}")
    drawn = heat_map(down, across, shares, pale=pale, marks=marks, corner=f"{noun}, effect in percent")
    text = "Percent of the variance of predictions. Pale cells are not sure."
    if np.isnan(shares).any():
        text += " Where a cell is empty, the effect is no stronger than elsewhere."
    text += _arrows(subject, found)
    return figure(f"Effects by {noun} and {what}", text, drawn, numbers)


def _arrows(subject: Subject, found: list[Any]) -> str:
    if not any(one.direction in (-1, 1) for one in found):
        return ""
    what = f"the odds of {class_name(subject.positive)}" if subject.binary else "the prediction"
    what = "the odds of the class" if len(subject.classes) > 2 else what
    return f" Arrows: larger values raise (↑) or lower (↓) {what}."


def _said(subject: Subject, one: Any) -> list[str]:
    """Return the cells of a table on an effect."""
    ends = f"{percent(one.low)} to {percent(one.high)}"
    return [percent(one.share), ends, "yes" if one.sure else "not sure", _way(subject, one)]


def _way(subject: Subject, one: Any) -> str:
    return {subject.sign: "raises", -subject.sign: "lowers"}.get(one.direction, "–")


def _arrow(subject: Subject, one: Any) -> str:
    return {"raises": " ↑", "lowers": " ↓"}.get(_way(subject, one), "")


def view_table(subject: Subject) -> Html | None:
    """Return the effects of views: the sums over their kernels."""
    held = subject.held
    if len(subject.views) < 2 or held is None:
        return None
    effects, of_kernels = held.effects(), explain.kernel_views(subject.model)
    within = effects.within.mean(axis=0)
    rows = []
    for view in subject.views:
        mask = np.array([own == view for own in of_kernels])
        rows.append([view, *(percent(share) for share in within[:, mask].sum(axis=1))])
    return table(
        ["view", *(effects.parts if subject.local else ["effect"])],
        rows,
        "Effects of views: the sums over their kernels",
    )


def columns_figure(subject: Subject) -> Html | None:
    """Return curves of the columns inside kernels: what each value adds to predictions, by group."""
    held = subject.held
    if held is None or held.column_parts is None or subject.rows is None:
        return None
    places = numbered_columns(subject.rows)
    tops: dict[str, Any] = {}
    for one in held.matters(by="column"):
        tops.setdefault(one.kernel, one)
    chosen = [one for one in tops.values() if one.share >= LEAST and one.kernel in places][:CURVES]
    if not chosen:
        return None
    own = np.isfinite(held.column_parts).all(axis=(1, 2, 3))
    main, names = _lines(subject)
    panels = []
    for one in chosen:
        cells = column_values(subject.rows, places[one.kernel])[own]
        number = held.columns.index(one.kernel)
        added = held.column_parts[own][:, held.decided.index(one.decision), :, number].sum(axis=1)
        added = subject.sign * added
        panels.append(_curve(f"{one.kernel}, {percent(one.share)}", cells, added, main[own], names))
    what = (
        f"the log-odds of {class_name(subject.positive)}" if held.probable and subject.binary else "decisions"
    )
    text = (
        f"What values of a column add to {what if subject.classifier else 'predictions'}, on rows that the "
        "model has not seen. The percentage is the largest effect of the column."
    )
    key = legend(names, [color_of(k) for k in range(len(names))]) if len(names) > 1 else None
    return figure("Columns", text, joined([key, beside(*panels)]))


def _lines(subject: Subject) -> tuple[Any, list[str]]:
    """Return the number of the line that each row belongs to, and the names of the lines."""
    if not subject.local or len(subject.parts) > GROUPS + 1:
        return np.zeros(len(subject.labels), dtype=int), ["all rows"]
    return subject.main_part()


def _curve(title: str, cells: Any, added: Any, main: Any, names: list[str]) -> Html:
    """Return the mean of what a column adds, by its value: lines of numbers, points of words."""
    known = np.array([not is_missing(cell) for cell in cells.tolist()])
    cells, added, main = cells[known], added[known], main[known]
    numeric = all(isinstance(cell, int | float) for cell in cells.tolist())
    words = [] if numeric else sorted(set(map(str, cells)))[:WORDS]
    values = (
        cells.astype(float) if numeric else np.array([_place(words, cell) for cell in cells], dtype=float)
    )
    lines = []
    for number in range(len(names)):
        at = np.flatnonzero((main == number) & (values >= (-np.inf if numeric else 0.0)))
        if len(at):
            order = at[np.argsort(values[at], kind="stable")]
            bins = np.unique(values[order], return_inverse=True)[1]
            bins = bins * BINS // (bins.max() + 1) if bins.max() >= BINS else bins
            sizes = np.bincount(bins)
            xs, ys = (np.bincount(bins, weights=one[order]) / np.maximum(sizes, 1) for one in (values, added))
            lines.append((number, xs[sizes > 0], ys[sizes > 0]))
    across = extent(*(xs for _, xs, _ in lines)) if numeric else (-0.5, len(words) - 0.5)
    plot = Plot(across, extent(*(ys for *_, ys in lines)), (title, ""), width=300, height=210, left=46)
    plot.words = words
    for number, xs, ys in lines:
        if numeric:
            plot.line(xs, ys, color_of(number))
        else:
            plot.points(xs, ys, color_of(number))
    return plot.svg(f"What values of {title} add")


def _place(words: list[str], cell: Any) -> int:
    return words.index(str(cell)) if str(cell) in words else -1
