"""Charts as SVG: they need no script, follow the colours of the page and print.

A chart is drawn for a width of some 440 pixels, so that its texts can be read on a phone.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from localmkl._types import Array, Floats
from localmkl.report.markup import Html, joined, tag
from localmkl.report.prose import brief

GROUPS, LABEL = 8, 25
"""Colours of groups, which begin again after the last, and letters of a label."""


def color_of(number: int) -> str:
    """Return the colour of a group or class, by its number from 0."""
    return f"var(--group-{number % GROUPS + 1})"


def steps(low: float, high: float, most: int = 7) -> list[float]:
    """Return round numbers between two ends.

    Examples
    --------
    >>> steps(0.0, 1.0), steps(-3.0, 13.0)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 5.0, 10.0])
    """
    size = (high - low) / most or 1.0
    unit = 10.0 ** np.floor(np.log10(size))
    step = next(unit * times for times in (1.0, 2.0, 5.0, 10.0) if unit * times >= size * (1.0 - 1e-9))
    first = np.ceil(low / step - 1e-9)
    return [float(f"{k * step + 0.0:.12g}") for k in np.arange(first, np.floor(high / step + 1e-9) + 1)]


class Plot:
    """A chart of two axes; marks are added, then `svg` returns the drawing.

    Parameters
    ----------
    across, upward : tuple (low, high)
        Domains of the axes.
    titles : tuple of str
        Titles of the axes.
    width, height : float
        Pixels.
    left : float
        Pixels for the labels of the upward axis.

    Attributes
    ----------
    words : list of str
        Labels of the places 0, 1, 2 ... across, in the place of numbers.
    """

    def __init__(
        self,
        across: tuple[float, float],
        upward: tuple[float, float],
        titles: tuple[str, str],
        *,
        width: float = 440.0,
        height: float = 320.0,
        left: float = 58.0,
    ) -> None:
        self.domains, self.titles = (_widened(across), _widened(upward)), titles
        self.width, self.height, self.left = width, height, left
        self.top, self.bottom, self.right = 12.0, 46.0 if titles[0] else 26.0, 14.0
        self.marks: list[Html] = []
        self.words: list[str] = []

    def x(self, value: Any) -> Any:
        """Return the place of a value across."""
        (low, high), reach = self.domains[0], self.width - self.left - self.right
        return np.round(self.left + reach * (np.asarray(value, dtype=float) - low) / (high - low), 1)

    def y(self, value: Any) -> Any:
        """Return the place of a value from the top."""
        (low, high), reach = self.domains[1], self.height - self.top - self.bottom
        return np.round(self.height - self.bottom - reach * (np.asarray(value) - low) / (high - low), 1)

    def line(self, xs: Any, ys: Any, color: str = "var(--accent)", *, dashed: bool = False) -> None:
        """Add a line through points."""
        where = " ".join(f"{x:g},{y:g}" for x, y in zip(self.x(xs), self.y(ys), strict=True))
        dash = "4 4" if dashed else None
        self.marks.append(
            tag("polyline", points=where, fill="none", stroke=color, stroke_width=2, stroke_dasharray=dash)
        )

    def points(
        self, xs: Any, ys: Any, colors: Any = "var(--accent)", *, size: float = 4.0, names: Any = None
    ) -> None:
        """Add points; their names show when they are pointed at."""
        many = [colors] * len(xs) if isinstance(colors, str) else colors
        names = [None] * len(xs) if names is None else names
        for x, y, color, name in zip(self.x(xs), self.y(ys), many, names, strict=True):
            inside = tag("title", name) if name is not None else None
            self.marks.append(tag("circle", inside, cx=x, cy=y, r=size, fill=color, class_="point"))

    def upright(self, xs: Any, lows: Any, highs: Any, color: str = "var(--accent)") -> None:
        """Add intervals that stand upright."""
        for x, low, high in zip(self.x(xs), self.y(lows), self.y(highs), strict=True):
            self.marks.append(tag("path", d=f"M{x:g} {low:g}V{high:g}", stroke=color, stroke_width=1.5))

    def steps_of(self, heights: Array, color: str) -> None:
        """Add a filled outline of heights at 1, 2, 3 ..."""
        edges = np.repeat(np.arange(len(heights) + 1) + 0.5, 2)[1:-1]
        corners = zip(self.x(edges), self.y(np.repeat(heights, 2)), strict=True)
        where = "L".join(f"{x:g} {y:g}" for x, y in corners)
        ground = self.y(self.domains[1][0])
        path = f"M{self.x(0.5):g} {ground:g}L{where}L{self.x(edges[-1]):g} {ground:g}Z"
        self.marks.append(tag("path", d=path, fill=color, fill_opacity=0.25, stroke=color))

    def add(self, *marks: Html) -> None:
        """Add markup in pixels."""
        self.marks.extend(marks)

    def svg(self, label: str, *, wide: float | None = None) -> Html:
        """Return the drawing; the label is read to those who do not see it."""
        axes = [*self.across(), *self._upward()]
        return drawing([*axes, *self.marks], self.width, self.height, label, wide=wide)

    def across(self) -> list[Html]:
        """Return the axis at the bottom."""
        ground, found = self.height - self.bottom, []
        room = int(40.0 / max(len(self.words), 1))
        ticks = [(float(k), word[:room]) for k, word in enumerate(self.words)]
        for value, text in ticks or [(value, brief(value)) for value in steps(*self.domains[0])]:
            x = self.x(value)
            found.append(tag("path", d=f"M{x:g} {self.top:g}V{ground:g}", class_="grid"))
            found.append(written_at(x, ground + 17, text, "middle"))
        middle = (self.left + self.width - self.right) / 2
        return [*found, written_at(middle, self.height - 8, self.titles[0], "middle", "title")]

    def _upward(self) -> list[Html]:
        found = []
        for value in steps(*self.domains[1]):
            y = self.y(value)
            found.append(tag("path", d=f"M{self.left:g} {y:g}H{self.width - self.right:g}", class_="grid"))
            found.append(written_at(self.left - 8, y + 4, brief(value), "end"))
        if self.titles[1]:
            middle = (self.top + self.height - self.bottom) / 2
            turned = f"translate(14 {middle:g}) rotate(-90)"
            found.append(tag("text", self.titles[1], transform=turned, text_anchor="middle", class_="title"))
        return found


def with_diagonal(ends: tuple[float, float], titles: tuple[str, str]) -> Plot:
    """Return a chart of two equal axes with a dashed diagonal."""
    plot = Plot(ends, ends, titles, height=380)
    plot.line(ends, ends, "var(--soft)", dashed=True)
    return plot


def written_at(x: float, y: float, text: str, anchor: str = "start", kind: str = "tick") -> Html:
    """Return a text at a place."""
    return tag("text", text, x=f"{x:g}", y=f"{y:g}", text_anchor=anchor, class_=kind)


def drawing(
    marks: Iterable[Any], width: float, height: float, label: str, *, wide: float | None = None
) -> Html:
    """Return marks as one drawing that shrinks with the page; a wide one scrolls, first to a share of it."""
    scrolls = wide is not None
    inside = tag(
        "svg",
        *marks,
        viewBox=f"0 0 {width:g} {height:g}",
        style=f"max-width:{1.15 * width:.0f}px" + (f";min-width:{0.85 * width:.0f}px" if scrolls else ""),
        role="img",
        aria_label=label,
    )
    return tag("div", inside, class_="scroll", tabindex="0" if scrolls else None, data_at=wide)


def legend(names: Sequence[str], colors: Sequence[str]) -> Html:
    """Return names with their colours."""
    items = [
        tag("li", tag("i", style=f"background:{color}"), name)
        for name, color in zip(names, colors, strict=True)
    ]
    return tag("ul", items, class_="legend")


def heat_map(
    rows: Sequence[str],
    columns: Sequence[str],
    shares: Floats,
    *,
    pale: Array | None = None,
    marks: Array | None = None,
    corner: str = "",
) -> Html:
    """Return shares from 0 to 1 as a table of coloured cells; pale ones are not sure."""
    top, body = max(float(np.nanmax(shares, initial=0.0)), 1e-9), []
    for i, name in enumerate(rows):
        cells = []
        for j in range(len(columns)):
            value = float(shares[i, j])
            if not np.isfinite(value):
                cells.append(tag("td"))
                continue
            depth = max(0.0, min(1.0, value / top))
            unsure = pale is not None and bool(pale[i, j])
            kind = "pale" if unsure else "deep" if depth > 0.55 else None
            sign = "" if marks is None else marks[i, j]
            cells.append(
                tag("td", f"{round(100 * value)}{sign}", style=f"--depth:{100 * depth:.0f}%", class_=kind)
            )
        body.append(tag("tr", tag("th", name, scope="row"), cells))
    head = tag("tr", tag("th", corner, scope="col"), [tag("th", name, scope="col") for name in columns])
    inside = tag("table", tag("thead", head), tag("tbody", body), class_="heat")
    return tag("div", inside, class_="scroll", tabindex="0", role="region", aria_label=f"{corner} in percent")


def reaches(
    names: Sequence[str], series: dict[str, Sequence[Any]], title: str, label: str, mark: float | None = None
) -> Html:
    """Return values with intervals as a forest plot: for each name one mark of each series.

    Parameters
    ----------
    names : list of str
    series : dict of str to list of (value, low, high)
        One for each name; values that are not finite are left out.
    title, label : str
        Title of the axis, and the words for those who do not see the chart.
    mark : float, optional
        A value with a line through all rows.
    """
    ends = [end for found in series.values() for one in found for end in one if np.isfinite(end)]
    ends += [] if mark is None else [mark]
    space = 0.05 * ((max(ends) - min(ends)) or 1.0)
    tall = 12.0 * len(series) + 14.0
    left = 24.0 + 7.2 * min(LABEL, max(len(name) for name in names))
    plot = Plot(
        (min(ends) - space, max(ends) + space),
        (0.0, 1.0),
        (title, ""),
        height=tall * len(names) + 60.0,
        left=left,
    )
    plot.marks = []
    for i, name in enumerate(names):
        top = plot.top + tall * i
        shown = short(name)
        plot.add(tag("text", shown, tag("title", name), x=left - 10, y=top + tall / 2 + 4, text_anchor="end"))
        for k, found in enumerate(series.values()):
            plot.add(*_reach(plot, found[i], top + 13.0 + 12.0 * k, k))
    if mark is not None:
        x = plot.x(mark)
        ground = plot.height - plot.bottom
        plot.add(tag("path", d=f"M{x:g} {plot.top:g}V{ground:g}", class_="mark"))
    inside = drawing([*plot.across(), *plot.marks], plot.width, plot.height, label)
    colors = [color_of(k) for k in range(len(series))]
    return inside if len(series) == 1 else joined([legend(list(series), colors), inside])


def short(name: str, most: int = LABEL) -> str:
    """Return the beginning of a long name."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _reach(plot: Plot, found: Sequence[float], y: float, number: int) -> list[Html]:
    """Return one value with its interval."""
    value, low, high = found
    if not np.isfinite(value):
        return []
    color, marks = color_of(number), []
    if np.isfinite(low) and np.isfinite(high):
        marks.append(tag("path", d=f"M{plot.x(low):g} {y:g}H{plot.x(high):g}", stroke=color, stroke_width=2))
    text = f"{brief(value)} ({brief(low)} to {brief(high)})"
    return [*marks, tag("circle", tag("title", text), cx=plot.x(value), cy=y, r=4.5, fill=color)]


def _widened(ends: tuple[float, float]) -> tuple[float, float]:
    """Return ends that differ."""
    low, high = float(ends[0]), float(ends[1])
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def extent(*values: Any) -> tuple[float, float]:
    """Return the smallest and the largest value, and a little more."""
    everything = np.concatenate([np.ravel(one) for one in values]).astype(float)
    pad = 0.04 * (np.ptp(everything) or 1.0)
    return float(everything.min() - pad), float(everything.max() + pad)
