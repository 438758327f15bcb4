"""The figures of the report as Vega-Lite specifications, made by Altair: rows of plain data in, a dict out.

Colours are names of CSS variables (``var(--accent)``): the page decides what they are by day, by night and
on paper, and no figure is drawn twice. Orders are domains of scales: a list in `sort` would become an
expression, which not every name of a kernel or class survives.
"""

from collections.abc import Sequence
from typing import Any, Literal

import altair as alt

from localmkl.report.prose import PlainRows, Spec

INK, SOFT, LINE, PAPER, ACCENT = (f"var(--{name})" for name in ("ink", "soft", "line", "paper", "accent"))
GROUPS = 8
"""Colours and shapes of clusters and classes, as many as the page's style sheet has: more would look
alike, and come again."""

SHAPES = (
    "circle",
    "square",
    "diamond",
    "triangle-up",
    "triangle-down",
    "cross",
    "triangle-left",
    "triangle-right",
)
PALE = 0.25
"""Ink that pale cells have of their own: the largest still looks paler than a middling sure one."""
STEPS = 7
"""Steps of the scales of the map, as in the page's style sheet: an odd number, so that zero has one."""

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
CONFIG = {
    "background": "transparent",
    "font": FONT,
    "padding": 4,
    "view": {"stroke": None},
    "axis": {
        "labelColor": SOFT,
        "titleColor": SOFT,
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "titleFontSize": 13,
        "titlePadding": 8,
        "gridColor": LINE,
        "gridOpacity": 0.6,
        "domain": False,
        "tickColor": LINE,
        "tickSize": 4,
        "labelPadding": 5,
        "labelFlush": False,
    },
    "legend": {
        "labelColor": INK,
        "titleColor": SOFT,
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "titleFontSize": 13,
        "orient": "top",
        "direction": "horizontal",
        "labelLimit": 260,
        "symbolSize": 90,
        "symbolStrokeWidth": 2,
        "columns": 4,
        "columnPadding": 10,
    },
    "text": {"fontSize": 12, "color": INK},
}


def group_color(number: int) -> str:
    """Return the colour of a cluster or class, counted from 0."""
    return f"var(--group-{number % GROUPS + 1})"


def finish(chart: Any, *, height: int) -> Spec:
    """Return the specification of a chart as wide as its place on the page."""
    fit = alt.AutoSizeParams(type="fit-x", contains="padding")
    with alt.data_transformers.enable("default", max_rows=None):
        spec = chart.properties(width="container", height=height, autosize=fit).to_dict(validate=False)
    return {**spec, "config": CONFIG}


def _rows(rows: PlainRows) -> alt.Data:
    return alt.Data(values=rows)


def _tooltips(*fields: tuple[str, str, str | None]) -> list[alt.Tooltip]:
    """Return tooltips from (field, title, format); text has no format."""
    return [
        alt.Tooltip(f"{field}:Q", title=title, format=form)
        if form
        else alt.Tooltip(f"{field}:N", title=title)
        for field, title, form in fields
    ]


def heat_map(
    rows: PlainRows,
    *,
    order: Sequence[list[str]],
    titles: Sequence[str] = ("", ""),
    form: str = ".0f",
    from_zero: bool = True,
) -> Spec:
    """Return cells whose ink is their value, with the value written in.

    Parameters
    ----------
    rows : list of dict
        With the fields "x", "y" and "value"; cells with a true "framed" get a frame. With "label" and "pale"
        too, the label is written in place of the value, and pale cells have less ink.
    order : tuple (list, list)
        The columns and the rows, in order.
    titles : tuple (str, str)
        What columns and rows are.
    form : str
        Format of the values.
    from_zero : bool, default=True
        Whether no ink stands for zero, or for the smallest value.
    """
    values = [row["value"] for row in rows]
    low, high = 0.0 if from_zero else min(values), max(values)
    span = (high - low) or 1.0
    top = alt.Axis(labelAngle=0, orient="top", ticks=False, labelLimit=140, grid=False)
    side = alt.Axis(labelLimit=220, ticks=False, grid=False)
    base = alt.Chart(_rows(rows)).encode(
        x=alt.X("x:N", sort=None, scale=alt.Scale(domain=order[0]), title=titles[0] or None, axis=top),
        y=alt.Y("y:N", sort=None, scale=alt.Scale(domain=order[1]), title=titles[1] or None, axis=side),
        tooltip=_tooltips(
            ("y", titles[1] or "row", None), ("x", titles[0] or "column", None), ("value", "value", form)
        ),
    )
    cells = base.mark_rect(fill=ACCENT, stroke=INK, cornerRadius=2, aria=False).encode(
        fillOpacity=alt.FillOpacity(
            "value:Q", scale=alt.Scale(domain=[low, low + span], range=[0.04, 1.0]), legend=None
        ),
        strokeWidth=alt.condition("datum.framed", alt.value(2.5), alt.value(0)),
    )
    dark = f"(datum.value - {low}) / {span} > 0.55"
    label = alt.Text("value:Q", format=form)
    if "pale" in rows[0]:
        cells = cells.encode(opacity=alt.condition("datum.pale", alt.value(PALE), alt.value(1.0)))
        dark, label = f"!datum.pale && {dark}", alt.Text("label:N")
    text = base.mark_text(aria=False).encode(
        text=label, color=alt.condition(dark, alt.value("var(--on-accent)"), alt.value(INK))
    )
    return finish(cells + text, height=26 * len(order[1]))


def bands(
    rows: PlainRows, *, names: list[str], n_samples: int, shared: bool = False, noun: str = "cluster"
) -> Spec:
    """Return memberships as stacked bands: fields "at", "cluster", "number" (of the cluster) and "share".

    The first of the names is that of the shared part, if there is one.
    """
    hue = _group_scale(names[shared:])
    if shared:
        hue = alt.Scale(domain=names, range=[LINE, *hue["range"]])
    across = alt.Scale(domain=[0, n_samples], nice=False)
    chart = (
        alt.Chart(_rows(rows))
        .mark_area(interpolate="step-after", aria=False)
        .encode(
            x=alt.X("at:Q", title=f"sample, sorted by main {noun}", scale=across, axis=alt.Axis(tickCount=6)),
            y=alt.Y("share:Q", title="membership", stack="zero", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("cluster:N", scale=hue, title=None),
            order=alt.Order("number:Q"),
            tooltip=_tooltips(("cluster", "part", None)),
        )
    )
    return finish(chart, height=220)


def lines(
    rows: PlainRows,
    *,
    order: list[str],
    colors: list[str],
    dashes: list[list[int]] | None = None,
    titles: tuple[str, str],
    points: bool = False,
    domains: tuple[list[float] | None, list[float] | None] = (None, None),
    step: bool = False,
) -> Spec:
    """Return one line for each series: fields "x", "y" and "series".

    `order`, `colors` and `dashes` belong to the series; `domains` are those of the axes, None: as the data.
    """
    across = alt.Scale(domain=domains[0], nice=False) if domains[0] else alt.Scale(nice=False)
    upward = alt.Scale(domain=domains[1]) if domains[1] else alt.Scale(zero=step)
    counted = all(isinstance(row["x"], int) for row in rows)
    axis = alt.Axis(values=_whole_ticks(rows[-1]["x"]), format="d") if counted else alt.Axis(tickCount=5)
    stroke = alt.Legend(symbolType="stroke")
    hue = alt.Scale(domain=order, range=colors)
    dash = alt.Scale(domain=order, range=dashes or [[1, 0]] * len(order))
    dotted = {"filled": True, "size": 40} if points else False
    way: Literal["step", "linear"] = "step" if step else "linear"
    chart = (
        alt.Chart(_rows(rows))
        .mark_line(point=dotted, strokeWidth=2, interpolate=way, aria=False)
        .encode(
            x=alt.X("x:Q", title=titles[0], scale=across, axis=axis),
            y=alt.Y("y:Q", title=titles[1], scale=upward, axis=alt.Axis(tickCount=5)),
            color=alt.Color("series:N", scale=hue, title=None, legend=stroke),
            strokeDash=alt.StrokeDash("series:N", scale=dash, title=None, legend=stroke),
            tooltip=_tooltips(("series", "line", None), ("x", titles[0], ".4~g"), ("y", titles[1], ".4~g")),
        )
    )
    return finish(chart, height=300)


def dots(rows: PlainRows, *, order: list[str], order_rows: list[str], colors: list[str], title: str) -> Spec:
    """Return a row for each group and a dot for each method: fields "group", "method", "value"."""
    shapes = _cycle(SHAPES, len(order))
    chart = (
        alt.Chart(_rows(rows))
        .mark_point(size=110, filled=True, opacity=1, aria=False)
        .encode(
            x=alt.X(
                "value:Q", title=title, scale=alt.Scale(zero=False, padding=14), axis=alt.Axis(tickCount=5)
            ),
            y=alt.Y(
                "group:N",
                sort=None,
                scale=alt.Scale(domain=order_rows),
                title=None,
                axis=alt.Axis(grid=True, ticks=False),
            ),
            color=alt.Color("method:N", scale=alt.Scale(domain=order, range=colors), title=None),
            shape=alt.Shape("method:N", scale=alt.Scale(domain=order, range=shapes), title=None),
            tooltip=_tooltips(
                ("group", "samples", None), ("method", "method", None), ("value", title, ".4~g")
            ),
        )
    )
    return finish(chart, height=44 * len(order_rows))


def scatter(rows: PlainRows, *, names: list[str], titles: tuple[str, str]) -> Spec:
    """Return points with a diagonal: fields "x", "y" and "cluster"."""
    domain = _extent([row[key] for row in rows for key in "xy"])
    shape = alt.Scale(domain=names, range=_cycle(SHAPES, len(names)))
    points = (
        alt.Chart(_rows(rows))
        .mark_point(filled=True, size=36, opacity=0.8, aria=False)
        .encode(
            x=alt.X("x:Q", title=titles[0], scale=alt.Scale(domain=domain, nice=False)),
            y=alt.Y("y:Q", title=titles[1], scale=alt.Scale(domain=domain, nice=False)),
            color=alt.Color("cluster:N", scale=_group_scale(names), title=None),
            shape=alt.Shape("cluster:N", scale=shape, title=None),
            tooltip=_tooltips(
                ("x", titles[0], ".4~g"), ("y", titles[1], ".4~g"), ("cluster", "cluster", None)
            ),
        )
    )
    return finish(_diagonal(domain) + points, height=380)


def intervals(rows: PlainRows, *, titles: tuple[str, str]) -> Spec:
    """Return points with their intervals and a diagonal, from 0 to 1: fields "x", "y", "low" and "high"."""
    unit, few = alt.Scale(domain=[0, 1]), alt.Axis(tickCount=5)
    fields = zip(("x", "y", "low", "high"), (*titles, "from", "to"), [".3f"] * 4, strict=True)
    base = alt.Chart(_rows(rows)).encode(x=alt.X("x:Q", title=titles[0], scale=unit, axis=few))
    reach = base.mark_rule(color=ACCENT, strokeWidth=1.5, aria=False).encode(
        y=alt.Y("low:Q", title=titles[1], scale=unit, axis=few), y2="high:Q"
    )
    points = base.mark_point(color=ACCENT, filled=True, size=60, opacity=1, aria=False).encode(
        y="y:Q", tooltip=_tooltips(*fields)
    )
    return finish(_diagonal([0, 1]) + reach + points, height=340)


def _diagonal(ends: list[float]) -> alt.Chart:
    both = alt.Chart(_rows([{"x": end, "y": end} for end in ends]))
    return both.mark_line(color=SOFT, strokeDash=[3, 3], strokeWidth=1, aria=False).encode(x="x:Q", y="y:Q")


def bars(rows: PlainRows, *, order: list[str], title: str, limit: float | None = None) -> Spec:
    """Return one bar for each part: fields "part" and "value"; `limit` is a value to mark with a line."""
    across = alt.Scale(domain=[0.0, 1.12 * max(row["value"] for row in rows) or 1.0], nice=False)
    base = alt.Chart(_rows(rows)).encode(
        x=alt.X("value:Q", title=title, axis=alt.Axis(tickCount=5), scale=across),
        y=alt.Y("part:N", sort=None, scale=alt.Scale(domain=order), title=None, axis=alt.Axis(ticks=False)),
        tooltip=_tooltips(("part", "part", None), ("value", title, ".3f")),
    )
    layers = [
        base.mark_bar(height=18, color=ACCENT, aria=False),
        base.mark_text(align="left", dx=6, aria=False).encode(text=alt.Text("value:Q", format=".2f")),
    ]
    if limit is not None:
        mark = alt.Chart(_rows([{"value": limit}]))
        layers.append(mark.mark_rule(color=INK, strokeDash=[4, 3], aria=False).encode(x="value:Q"))
    return finish(alt.layer(*layers), height=34 * len(order))


def sample_map(rows: PlainRows, *, n_clusters: int, titles: tuple[str, str]) -> Spec:
    """Return the map, whose signals "mode", "kernel", "reach" and "chosen" the page sets.

    Rows have "id", "name", "note", "x", "y", "cluster" (a number), "groups" (for each mode the number of a
    group, or of a step) and "parts" (the contribution of each kernel).
    """
    start = {"mode": "cluster", "kernel": 0, "reach": 1.0, "chosen": -1}
    half = STEPS // 2
    step = f"clamp(round({half} * datum.parts[kernel] / reach), {-half}, {half}) + {half}"
    color = (
        f"mode == 'kernel' ? 'var(--swing-' + ({step}) + ')'"
        " : mode == 'value' ? 'var(--ramp-' + datum.groups['value'] + ')'"
        f" : 'var(--group-' + (datum.groups[mode] % {GROUPS} + 1) + ')'"
    )
    plain = alt.Axis(labels=False, ticks=False, tickCount=6)
    shape = alt.Scale(domain=list(range(n_clusters)), range=_cycle(SHAPES, n_clusters))
    across, upward = (alt.Scale(domain=_extent([row[key] for row in rows]), nice=False) for key in "xy")
    base = alt.Chart(_rows(rows)).encode(
        x=alt.X("x:Q", title=titles[0], axis=plain, scale=across),
        y=alt.Y("y:Q", title=titles[1], axis=plain, scale=upward),
    )
    marks = (
        base.transform_calculate(color=color)
        .mark_point(
            filled=True, opacity=1, size=58, stroke=PAPER, strokeWidth=0.6, aria=False, cursor="pointer"
        )
        .encode(
            fill=alt.Fill("color:N", scale=None),
            shape=alt.Shape("cluster:N", scale=shape, legend=None),
            tooltip=_tooltips(("name", "name", None), ("note", "note", None)),
        )
    )
    ring = base.transform_filter("datum.id == chosen").mark_point(
        size=420, stroke=INK, strokeWidth=3, opacity=1, aria=False, tooltip=None
    )
    params = [alt.param(name=name, value=value) for name, value in start.items()]
    return finish(alt.layer(marks, ring).add_params(*params), height=440)


def _extent(values: list[float]) -> list[float]:
    """Return smallest and largest value, and a little more."""
    pad = 0.04 * ((max(values) - min(values)) or 1.0)
    return [min(values) - pad, max(values) + pad]


def _group_scale(names: list[str]) -> alt.Scale:
    return alt.Scale(domain=names, range=[group_color(number) for number in range(len(names))])


def _cycle(items: Sequence[str], count: int) -> list[str]:
    return [items[number % len(items)] for number in range(count)]


def _whole_ticks(last: int) -> list[int]:
    """Return at most a dozen whole numbers from 1 to `last`, round ones if there are more."""
    for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 10_000):
        if last <= 12 * step:
            break
    return [tick for tick in range(0, last + 1, step) if tick > 0]
