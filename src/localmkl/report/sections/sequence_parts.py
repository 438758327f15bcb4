"""Positions of sequences: which ones matter, and which letters speak for a class there."""

from typing import Any

import numpy as np

from localmkl import explain
from localmkl._types import Floats
from localmkl.plots import letter_colors, stack_letters
from localmkl.report.drawing import Plot, color_of, drawing, legend, written_at
from localmkl.report.markup import Html, figure, joined, table, tag
from localmkl.report.prose import brief, class_name, listing
from localmkl.report.subject import Subject

LOGO = 60
"""Longest stretch of a sequence that is drawn letter by letter."""

CLASSES = 4
"""Most classes that get logos."""

CELL, TALL, LEFT, TOP, BOTTOM = 12.7, 96.0, 52.0, 22.0, 26.0
"""Pixels of a letter's width, of a logo's height and around it."""

FONT, CAPITAL, SMALLEST = 14.0, 0.72, 0.6
"""Size of letters, height of capitals in it, and pixels below which letters are left out."""


def sequence_figures(subject: Subject) -> list[Html]:
    """Return importance and logo for each column of sequences and class."""
    if subject.rows is None or not explain.weighted_degrees(subject.model):
        return []
    places = explain.sequence_places(subject.model)
    return [one for view, column in places for one in _figures_of(subject, view, column)]


def _figures_of(subject: Subject, view: str | None, column: Any) -> list[Html]:
    model, rows = subject.model, subject.rows
    parts = explain.position_contributions(model, rows, column=column, view=view)
    sequences, alphabet = explain.sequences_of(model, rows, column, view)
    there = np.array([text is not None for text in sequences])
    if not there.any():
        return []
    main, names = subject.main_part() if subject.local else (np.zeros(len(there), dtype=int), ["all rows"])
    labels: list[Any] = [None]
    if subject.classifier:
        labels = [subject.positive] if subject.binary else subject.classes[:CLASSES]
    where = "".join(
        f" in {word} {one}" for word, one in (("view", view), ("column", column)) if one is not None
    )
    found = []
    for label in labels:
        values = explain.decision_part(model, parts, label)
        of_parts = {j: there & (main == j) for j in range(len(names)) if (there & (main == j)).any()}
        spread = {names[j]: values[mask].std(axis=0) for j, mask in of_parts.items()}
        whose = f" for {class_name(label)}" if label is not None else ""
        found.append(_importance(f"Importance of positions{whose}{where}", spread))
        chosen = _speaks_for(subject, label)
        centred = values - values[there].mean(axis=0)
        window = _window(sum(spread.values()), LOGO)
        logos = []
        for j, mask in of_parts.items():
            own = np.flatnonzero(mask & chosen)
            if len(own):
                heights, letters = explain.logo_heights(centred[own], [sequences[i] for i in own], alphabet)
                whose_rows = f"{names[j]}, " if len(names) > 1 else ""
                logos.append((f"{whose_rows}{len(own):,} sequences", heights))
        if logos:
            found.append(_logos(f"Sequence logo{whose}{where}", logos, letters, window))
    return found


def _speaks_for(subject: Subject, label: Any) -> Any:
    """Return the mask of the rows that are predicted to be of a class; of numbers, the upper quarter."""
    predicted = np.asarray(subject.model.predict(subject.rows))
    return predicted >= np.quantile(predicted, 0.75) if label is None else predicted == label


def _importance(title: str, spread: dict[str, Floats]) -> Html:
    length = len(next(iter(spread.values())))
    top = max(float(line.max()) for line in spread.values())
    plot = Plot((0.5, length + 0.5), (0.0, 1.05 * top or 1.0), ("position", ""), width=760, height=230)
    for number, line in enumerate(spread.values()):
        plot.steps_of(line, color_of(number))
    said = []
    for name, line in spread.items():
        first, last = half_window(line)
        whose = f"{name}: position" if len(spread) > 1 else "Position"
        said.append(f"{whose} {int(line.argmax()) + 1} counts most.")
        said.append(f"Half of the importance lies at {first + 1} to {last + 1}.")
    largest = np.sort(np.argsort(-np.max(list(spread.values()), axis=0))[:12])
    rows = [[f"{p + 1}", *(brief(float(line[p])) for line in spread.values())] for p in largest]
    numbers = table(["position", *spread], rows, "The most important positions")
    text = f"How much each position moves predictions (standard deviation). {' '.join(said)}"
    names = legend(list(spread), [color_of(k) for k in range(len(spread))]) if len(spread) > 1 else None
    peak = int(np.max(list(spread.values()), axis=0).argmax()) / length
    return figure(title, text, joined([names, plot.svg(title, wide=peak)]), numbers)


def half_window(line: Floats) -> tuple[int, int]:
    """Return first and last position of the shortest stretch that holds half of the sum.

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


def _window(line: Any, size: int) -> slice:
    """Return the slice of at most `size` positions with the largest sum."""
    if len(line) <= size:
        return slice(0, len(line))
    first = int(np.convolve(line, np.ones(size), mode="valid").argmax())
    return slice(first, first + size)


def _logos(title: str, logos: list[tuple[str, Floats]], letters: str, window: slice) -> Html:
    drawn = draw_logos([(name, heights[window]) for name, heights in logos], letters, window.start + 1, title)
    words = []
    for name, heights in logos:
        top = np.sort(np.argsort(-heights.max(axis=1))[:6])
        found = [f"{letters[int(heights[p].argmax())]} at {p + 1}" for p in top if heights[p].max() > 0.0]
        if found:
            words.append(f"{f'In {name}' if len(logos) > 1 else 'Strongest'}: {listing(found)}.")
    stretch = (
        f" Positions {window.start + 1} to {window.stop} are drawn." if logos[0][1].shape[0] > LOGO else ""
    )
    text = f"Letters above the line speak for it, letters below against it.{stretch} {' '.join(words)}"
    return figure(title, text, drawn)


def draw_logos(logos: list[tuple[str, Floats]], letters: str, start: int, label: str) -> Html:
    """Return logos, one below the other, each on its own scale.

    Parameters
    ----------
    logos : list of (title, heights)
        With heights (length, n_letters); positive ones stand on the line, negative ones hang below it.
    letters : str
    start : int
        Number of the first position.
    label : str
        Words for those who do not see the logos.

    Examples
    --------
    >>> draw_logos([("one", np.array([[1.0, 0.0], [0.0, -0.5]]))], "AC", 1, "a logo").count("textLength")
    2
    """
    colors = {letter: color_of(number) for letter, number in letter_colors(letters).items()}
    length, panel = len(logos[0][1]), TOP + TALL + BOTTOM
    marks: list[Html] = []
    for number, (title, heights) in enumerate(logos):
        high = float(np.maximum(heights, 0.0).sum(axis=1).max())
        low = float(np.minimum(heights, 0.0).sum(axis=1).min())
        unit, top = TALL / ((high - low) or 1.0), panel * number
        zero = top + TOP + unit * high
        marks.append(written_at(LEFT, top + 14, title, kind="title"))
        for value in (high, low):
            if abs(value) * unit > 10:
                marks.append(written_at(LEFT - 8, zero - unit * value + 4, f"{value:.2g}", "end"))
        for position, code, bottom, ceiling in stack_letters(heights):
            size = unit * (ceiling - bottom)
            if size >= SMALLEST:
                x, y = LEFT + CELL * position + 0.5, zero - unit * bottom
                marks.append(_letter(letters[code], colors[letters[code]], x, y, size / (CAPITAL * FONT)))
        marks.append(tag("path", d=f"M{LEFT:g} {zero:.1f}h{CELL * length:g}", class_="grid"))
        for position in range(length):
            if (start + position) % 5 == 0:
                x = LEFT + CELL * (position + 0.5)
                marks.append(written_at(x, top + panel - 10, str(start + position), "middle"))
    return drawing(
        marks, LEFT + CELL * length + 8.0, panel * len(logos), label, wide=0.0 if length > 30 else None
    )


def _letter(letter: str, color: str, x: float, y: float, stretch: float) -> Html:
    """Return a letter stretched to its height."""
    return tag(
        "text",
        letter,
        transform=f"translate({x:g} {y:.1f}) scale(1 {stretch:.3f})",
        textLength=f"{CELL - 1:g}",
        lengthAdjust="spacingAndGlyphs",
        fill=color,
        class_="letter",
    )
