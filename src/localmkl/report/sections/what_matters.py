"""What matters where: effects of kernels by cluster or group, and of the columns inside them."""

from typing import Any

import numpy as np

from localmkl import explain
from localmkl.report.drawing import Plot, heat_map, reaches
from localmkl.report.markup import Html, Section, beside, figure, table
from localmkl.report.prose import brief, class_name, percent
from localmkl.report.sections.sequence_parts import sequence_figures
from localmkl.report.subject import Subject

MOST = 16
"""Rows of a heat map."""

CURVES = 9
"""Columns with a curve."""

ARROWS = {1: " ↑", -1: " ↓", 0: "", None: ""}


def what_matters(subject: Subject) -> Section | None:
    """Return the section on effects; None where nothing is known."""
    held, parts = subject.held, []
    if held is not None:
        parts.append(
            "An effect is the share of the variance of the predictions that a kernel explains, on rows that "
            "the model has not seen. Effects sum to 100 % over all kernels and parts."
        )
        found = held.matters(by="kernel")
        parts += [kernel_figure(subject, found), view_table(subject)]
    if subject.rows is not None:
        parts += [*sequence_figures(subject), columns_figure(subject)]
    parts = [part for part in parts if part]
    return Section("matters", "What matters where", parts) if parts else None


def effects_figure(subject: Subject) -> Html | None:
    """Return the picture of the first screen: effects by column or kernel, and by group."""
    return None if subject.held is None else kernel_figure(subject, subject.held.matters())


def kernel_figure(subject: Subject, found: list[Any]) -> Html | None:
    """Return effects by kernel (or column) and group or class as a heat map; of one part with intervals."""
    if not found:
        return None
    parts = list(dict.fromkeys(one.part for one in found))
    decisions = list(dict.fromkeys(one.decision for one in found))
    noun = found[0].by
    if len(parts) == 1 and len(decisions) == 1:
        return _with_intervals(subject, found[:MOST], noun)
    across = parts if len(parts) > 1 else decisions
    field = "part" if len(parts) > 1 else "decision"
    across = sorted(across, key=lambda name: name != "everywhere")
    return _as_heat_map(subject, found, across, field, noun)


def _with_intervals(subject: Subject, found: list[Any], noun: str) -> Html:
    names = [f"{one.kernel}{ARROWS[one.direction]}" for one in found]
    values = [(100 * one.share, 100 * one.low, 100 * one.high) for one in found]
    drawn = reaches(names, {"effect": values}, "effect in percent", f"Effects by {noun}", 0.0)
    rows = [
        [one.kernel, percent(one.share), f"{percent(one.low)} to {percent(one.high)}", _sure(one), _way(one)]
        for one in found
    ]
    numbers = table([noun, "effect", "95 % interval", "sure", "direction"], rows, f"Effects by {noun}")
    text = f"Lines are 95 % intervals.{_arrows(subject, found)}"
    return figure(f"Effects by {noun}", text, drawn, numbers)


def _as_heat_map(subject: Subject, found: list[Any], across: list[str], field: str, noun: str) -> Html:
    tops: dict[str, float] = {}
    for one in found:
        tops[one.kernel] = max(one.share, tops.get(one.kernel, 0.0))
    down = sorted(tops, key=lambda name: -tops[name])[:MOST]
    shape, cells = (len(down), len(across)), {}
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
                shares[i, j], pale[i, j], marks[i, j] = one.share, not one.sure, ARROWS[one.direction]
                ends = f"{percent(one.low)} to {percent(one.high)}"
                rows.append([name, where, percent(one.share), ends, _sure(one), _way(one)])
    what = subject.noun if field == "part" else "class"
    numbers = table([noun, what, "effect", "95 % interval", "sure", "direction"], rows, f"Effects by {noun}")
    drawn = heat_map(down, across, shares, pale=pale, marks=marks, corner=f"{noun}, effect in percent")
    text = f"Percent of the variance of predictions; pale cells are not sure.{_arrows(subject, found)}"
    return figure(f"Effects by {noun} and {what}", text, drawn, numbers)


def _arrows(subject: Subject, found: list[Any]) -> str:
    if not any(one.direction in (-1, 1) for one in found):
        return ""
    what = f"the risk of {class_name(subject.positive)}" if subject.binary else "the prediction"
    return f" Arrows: larger values raise (↑) or lower (↓) {what}."


def _sure(one: Any) -> str:
    return "yes" if one.sure else "not sure"


def _way(one: Any) -> str:
    return {1: "raises", -1: "lowers"}.get(one.direction, "–")


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
    return table(["view", *effects.parts], rows, "Effects of views: the sums over their kernels")


def columns_figure(subject: Subject) -> Html | None:
    """Return the columns inside kernels, by permutation, with a curve of each."""
    if explain.is_precomputed(subject.model) or explain.weighted_degrees(subject.model):
        return None
    found = explain.column_effects(subject.model, subject.rows, random_state=subject.seed)
    found = sorted((one for one in found if one.share > 0.0), key=lambda one: -one.share)
    if not found:
        return None
    rows = [[_column(one), percent(one.share), _way(one)] for one in found[: 3 * CURVES]]
    numbers = table(["column", "permutation share", "direction"], rows, "Columns")
    text = (
        "The share of the variance of predictions that is lost when a column is permuted. Each curve is the "
        "mean prediction if all rows had that value (partial dependence)."
    )
    panels = [_curve(one) for one in found[:CURVES]]
    return figure("Columns and their curves", text, beside(*panels), numbers)


def _column(one: Any) -> str:
    return one.column if one.view is None else f"{one.view}: {one.column}"


def _curve(one: Any) -> Html:
    """Return the curve of a column; of words, a point for each."""
    title = f"{_column(one)}, {percent(one.share)}"
    curve = np.asarray(one.curve, dtype=float)
    values = np.asarray(one.values)
    numeric = values.dtype.kind in "iuf"
    xs = values.astype(float) if numeric else np.arange(len(values), dtype=float)
    space = 0.1 * (np.ptp(curve) or 1.0)
    ends = (float(curve.min() - space), float(curve.max() + space))
    plot = Plot((float(xs.min()), float(xs.max())), ends, (title, ""), width=300, height=210, left=46)
    if numeric:
        plot.line(xs, curve)
    else:
        plot.points(xs, curve, names=[f"{word}: {brief(y)}" for word, y in zip(values, curve, strict=True)])
    return plot.svg(f"Partial dependence on {title}")
