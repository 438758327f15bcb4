"""The section on positions of sequences: their importance by cluster, and sequence logos."""

from dataclasses import replace
from typing import Any

import numpy as np

from localmkl import explain
from localmkl._types import Floats, Ints, MaybeNone
from localmkl.report import charts
from localmkl.report.logo import draw_logos
from localmkl.report.prose import Figure, Section, Table, brief, class_name, count, listing, sentence
from localmkl.report.subject import Subject
from localmkl.views import ABSENT

LOGO_POSITIONS = 60
"""Longest stretch of a sequence that is drawn letter by letter: what the width of the page holds."""

LOGO_CLASSES = 4
"""Most classes that get logos: each has two figures, and more would bury the rest of the page."""


def positions_section(subject: Subject) -> Section | None:
    """Return importance of positions and logos for each column of sequences; None without them."""
    places = explain.sequence_places(subject.model) if subject.rows is not None else []
    blocks = [block for n, place in enumerate(places) for block in _positions_of(subject, n, *place)]
    if not blocks:
        return None
    text = (
        "Every word that a sample has in common with a support vector adds to the decision; its share is "
        "spread evenly over its letters, so that the shares of all positions add up to what the "
        f"weighted-degree kernels say. A position is important in a {subject.noun} if its share differs from "
        "sample to sample (standard deviation)."
    )
    if subject.classifier and len(subject.model.classes_) > LOGO_CLASSES:
        text += f" Shown are the first {LOGO_CLASSES} of {len(subject.model.classes_)} classes."
    return Section("positions", "Which positions matter where", [text], blocks)


def _positions_of(subject: Subject, place: int, view: str | None, column: str | int | None) -> list[Figure]:
    parts = explain.position_contributions(subject.model, subject.rows, column=column, view=view)
    sequences, alphabet = explain.sequences_of(subject.model, subject.rows, column, view)
    there = np.array([text is not None for text in sequences])
    if not there.any():
        return []
    main = np.where(there, subject.main, ABSENT)
    labels = [None]
    if subject.classifier:
        labels = [subject.focus] if subject.binary else subject.model.classes_.tolist()[:LOGO_CLASSES]
    where = "" if view is None else f" in view {view}"
    where += "" if column is None else f" in column {column}"
    blocks = []
    for number, label in enumerate(labels):
        values = explain.decision_part(subject.model, parts, label)
        spread = {int(j): values[main == j].std(axis=0) for j in np.unique(main[there])}
        whose = "" if label is None or subject.binary else f" for {class_name(label)}"
        title = f"Importance of positions{whose}{where}"
        blocks.append(_importance(subject, f"positions-{place}-{number}", title, spread))
        logo = _logos(subject, label, values, spread, main, sequences, alphabet)
        blocks.append(replace(logo, key=f"logo-{place}-{number}", title=f"{logo.title}{where}"))
    return blocks


def _importance(subject: Subject, key: str, title: str, spread: dict[int, Floats]) -> Figure:
    names = [subject.clusters[j] for j in spread]
    lines = np.stack(list(spread.values()))
    rows = [
        {"x": p + 1, "y": float(f"{value:.4g}"), "series": name}
        for name, line in zip(names, lines, strict=True)
        for p, value in enumerate(line)
    ]
    spec = charts.lines(
        rows,
        order=names,
        colors=[charts.group_color(j) for j in spread],
        titles=("position", "importance"),
        domains=([1, lines.shape[1]], None),
        step=True,
    )
    top = np.sort(np.argsort(-lines.max(axis=0))[:12])
    cells = [[f"{p + 1}", *(brief(float(value)) for value in lines[:, p])] for p in top]
    table = Table("The most important positions", ["position", *names], cells)
    text = positions_text(lines, names, subject.noun)
    absent = [name for name in subject.clusters if name not in names]
    if absent:
        text += f" No sample shown has {listing(absent, 'or')} as its main {subject.noun}."
    return Figure(key, title, text, spec, table=table)


def positions_text(spread: Floats, names: list[str], noun: str = "cluster") -> str:
    """Say where each cluster or group looks."""
    texts = []
    for line, name in zip(spread, names, strict=True):
        if not line.sum() > 0.0:
            texts.append(f"in {name} no position matters")
            continue
        first, last = half_window(line)
        texts.append(
            f"in {name} position {int(line.argmax()) + 1} counts most, and half of the importance lies in "
            f"positions {first + 1} to {last + 1}"
        )
    text = sentence("; ".join(texts))
    total = spread.sum(axis=1)
    if len(spread) > 1 and total.min() > 0.0:
        most, least = int(total.argmax()), int(total.argmin())
        times = f"{total[most] / total[least]:.1f}"
        if times == "1.0":
            return f"{text} Positions move the decision about as much in every {noun}."
        text += (
            f" Positions move the decision most in {names[most]}, {times} times as much as in {names[least]}."
        )
    return text


def half_window(line: Floats) -> tuple[int, int]:
    """Return first and last position of the shortest stretch that holds half of the sum (the fullest such).

    Examples
    --------
    >>> half_window(np.array([1.0, 5.0, 4.0, 1.0, 1.0]))
    (1, 2)
    """
    sums = np.concatenate([[0.0], np.cumsum(line)])
    ends = np.searchsorted(sums, sums[:-1] + 0.5 * sums[-1] * (1.0 - 1e-12))
    starts = np.flatnonzero(ends < len(sums))
    size = (ends[starts] - starts).min()
    shortest = starts[ends[starts] - starts == size]
    best = int(shortest[np.argmax(sums[shortest + size] - sums[shortest])])
    return best, best + int(size) - 1


def _logos(
    subject: Subject,
    label: Any,
    values: Floats,
    spread: dict[int, Floats],
    main: Ints,
    sequences: list[str | MaybeNone],
    alphabet: str,
) -> Figure:
    if subject.classifier:
        chosen = subject.predictions == label
        who, what = f"predicted to be {class_name(label)}", f"what speaks for {class_name(label)}"
    else:
        chosen = subject.predictions >= np.quantile(subject.predictions, 0.75)
        who, what = "in the upper quarter of the predictions", "what raises the prediction"
    total: Any = sum(spread.values())
    window = _best_window(total, LOGO_POSITIONS)
    centred = values - values[main != ABSENT].mean(axis=0)
    logos, found, letters = [], [], ""
    for j in spread:
        name, own = subject.clusters[j], np.flatnonzero(chosen & (main == j))
        if not len(own):
            found.append(f"no sample in {name} is {who}")
            continue
        heights, letters = explain.logo_heights(centred[own], [sequences[i] for i in own], alphabet)
        logos.append((f"{name}, {count(len(own), 'sample')}", heights[window]))
        found.append(f"in {name} {logo_text(heights, letters)}")
    text = (
        "Letters above the line speak for it and letters below against it, compared with the average sample; "
        f"the samples are those {who}, and each logo has its own scale. {sentence('; '.join(found))}"
    )
    if values.shape[1] > LOGO_POSITIONS:
        text += f" Drawn are positions {window.start + 1} to {window.stop} of {values.shape[1]}."
    drawing = draw_logos(logos, letters, start=window.start + 1) if logos else ""
    return Figure("", f"Sequence logo: {what}", text, drawing=drawing)


def _best_window(line: Floats, size: int) -> slice:
    """Return the slice of at most `size` positions with the largest sum."""
    if len(line) <= size:
        return slice(0, len(line))
    first = int(np.convolve(line, np.ones(size), mode="valid").argmax())
    return slice(first, first + size)


def logo_text(heights: Floats, letters: str) -> str:
    """Say which letters stand out, in the order of the sequence."""
    top = np.sort(np.argsort(-heights.max(axis=1))[:6])
    words = [f"{letters[int(heights[p].argmax())]} at {p + 1}" for p in top if heights[p].max() > 0.0]
    return f"{listing(words)} stand out" if words else "no letter stands out"
