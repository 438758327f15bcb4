"""Known groups one by one: the model, one model for all, and separate models."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from localmkl.report.drawing import reaches
from localmkl.report.markup import Section, figure, table
from localmkl.report.prose import METRICS, interval, listing, percent, written
from localmkl.report.subject import Subject

COMPARED = ("one model for all", "separate models")
"""Rivals that know the same kernels."""

FEW_ROWS, FEW_EVENTS = 50, 10
"""Groups with fewer have figures that say little."""

NAMED = 3
"""Most small groups that are named."""


def by_group(subject: Subject) -> Section | None:
    """Return the section on groups; None where there are none, or no rows that the model has not seen."""
    held = subject.held
    if held is None or held.groups is None or len(set(held.groups.tolist())) < 2:
        return None
    parts: list[Any] = [verdict(subject), forest(subject), counts(subject)]
    return Section("groups", f"By {subject.noun}", [part for part in parts if part])


def verdict(subject: Subject) -> str:
    """Say whether weights for each group pay, compared with one model for all."""
    held = subject.held
    if held is None or "one model for all" not in held.rivals:
        return ""
    ahead, name = subject.lead("one model for all"), METRICS[held.metric]
    ends = f"{name} {written(held.metric, ahead.value)} ({interval(held.metric, ahead)})"
    if ahead.low > 0.0:
        return f"Weights for each {subject.noun} are better than one model for all, by {ends}."
    if ahead.high < 0.0:
        return f"One model for all is better than weights for each {subject.noun}: the difference is {ends}."
    return f"Weights for each {subject.noun} and one model for all do not differ clearly: {ends}."


def forest(subject: Subject) -> Any:
    """Return the figures of each group with their intervals, those of all rows last."""
    held = subject.held
    methods = [None, *(name for name in COMPARED if name in held.rivals)]
    scores = {name or "this model": held.by_group(name) for name in methods}
    whole = {name or "this model": held.score(name) for name in methods}
    groups = [group for group in scores["this model"] if group is not None]
    series: dict[str, Sequence[Any]] = {
        name: [(s.value, s.low, s.high) for s in [*(found[group] for group in groups), whole[name]]]
        for name, found in scores.items()
    }
    if not any(np.isfinite(one).all() for found in series.values() for one in found):
        return None
    title = METRICS.get(held.metric, held.metric)
    drawn = reaches(
        [*map(str, groups), "all rows"],
        series,
        title,
        f"{title} by {subject.noun}",
        whole["this model"].value,
    )
    rows = []
    for i, group in enumerate([*groups, "all rows"]):
        cells = []
        for found in series.values():
            value, low, high = found[i]
            ends = " to ".join(written(held.metric, end, value) for end in (low, high))
            cells.append(f"{written(held.metric, value)} ({ends})" if np.isfinite(low) else "not known")
        rows.append([group, *cells])
    numbers = table([subject.noun, *series], rows, f"{title} by {subject.noun}")
    text = (
        "Lines are 95 % intervals. The dashed line is the figure of the model on all rows. "
        "Separate models are trained on the rows of one group alone."
    )
    return figure(f"{title} by {subject.noun}", text, drawn, numbers, key="forest")


def counts(subject: Subject) -> Any:
    """Return rows and events of each group."""
    held: Any = subject.held
    rows = []
    for group in np.unique(held.groups):
        own = held.groups == group
        row = [str(group), f"{int(own.sum()):,}"]
        for label in subject.classes:
            events = int((held.y[own] == label).sum())
            row.append(f"{events:,} ({percent(events / own.sum())})")
        rows.append(row)
    return table(
        [subject.noun, "rows", *map(str, subject.classes)], rows, f"Rows and classes by {subject.noun}"
    )


def small_groups(subject: Subject) -> str:
    """Return a sentence on the groups whose figures say little; an empty one without them."""
    held, found = subject.held, []
    if held is None or held.groups is None:
        return ""
    groups = np.unique(held.groups)
    for group in groups:
        own = held.groups == group
        least = min((int((held.y[own] == label).sum()) for label in subject.classes), default=FEW_EVENTS)
        if own.sum() < FEW_ROWS or least < FEW_EVENTS:
            events = f", {least} of the rarer class" if subject.binary else ""
            found.append(f"{group} ({int(own.sum())} rows{events})")
    if len(found) > NAMED:
        return f"{len(found)} of {len(groups)} {subject.noun}s are small; their figures are uncertain."
    return f"Figures of small groups are uncertain: {listing(found)}." if found else ""
