"""The figures: means with error bars along the axis, ours and the paper's. Needs matplotlib.

Where the axis has one point and there is one score: how far each method is ahead of the reference in every
repetition, and on average.
"""

import io
from textwrap import fill

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

MARKERS = "osD^vPX*<>dph8"
COLOURS = {"UNIF": "C7", "LMKL": "C1", "MKL": "C0", "HLMKL": "C2", "CLMKL": "C3", "logistic regression": "C4"}
"""By family, where there are more lines than colours, or a method has two lines."""
OTHER_WAYS = {
    **{"Algorithm 1": "--", "exact": "--", "landmarks": ":"},
    **{"zero": "--", "complete only": ":", "means": "-."},
}
"""Ends of the names of methods, and their lines: the same model, found in another way."""
TICK_WIDTH = 11
"""Letters in a line of the name of a score."""
LONG_AXIS = 30
"""Points are on a logarithmic axis where the largest is so many times the smallest."""


def draw_figure(table, path):
    """Write the figure to `path`, if there is something to draw."""
    experiment = table.experiment
    alone = len(experiment.points) == 1 and not experiment.also
    shown = leads(table) if alone else curves(table)
    if not (shown if alone else shown.get("ours")):
        return
    # Text as text and no date: the file stays small, and the same for the same rows.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": experiment.name}):
        figure = (leads_figure if alone else curves_figure)(table, shown)
        content = io.BytesIO()
        figure.savefig(content, format="svg", metadata={"Date": None})
    path.write_bytes(content.getvalue())


def curves(table):
    """Return {panel: {method: (points, means, standard deviations)}} of what the figure shows.

    Where the axis has one point, the scores stand along it; in a turned figure the methods do.
    """
    experiment = table.experiment
    if len(experiment.points) == 1:
        return {"ours": scores_along(table)}
    if experiment.turned:
        return {"ours": methods_along(table)}
    tables = {"ours": table.cells(), "paper": experiment.published}
    tables |= {title: table.cells(name) for name, title in experiment.also.items()}
    panels = {}
    for panel, cells in tables.items():
        shown = {method: cells[method] for method in experiment.figure if method in cells}
        if shown:
            panels[panel] = {method: series(list(own), own.values()) for method, own in shown.items()}
    return panels


def series(along, cells):
    """Return what stands along the axis, means and standard deviations."""
    cells = list(cells)
    return along, [cell.mean for cell in cells], [cell.std or 0.0 for cell in cells]


def scores_along(table):
    """Return {method: series} of the scores at the one point of the axis."""
    names = {"score": table.experiment.metric, **table.experiment.also}
    tables = {fill(title, TICK_WIDTH): table.cells(name) for name, title in names.items()}
    shown = {}
    for method in table.experiment.figure:
        cells = {title: next(iter(own[method].values())) for title, own in tables.items() if method in own}
        if cells:
            shown[method] = series(list(cells), cells.values())
    return shown


def methods_along(table):
    """Return {point: series} of the methods."""
    cells, shown = table.cells(), {}
    for point in table.experiment.points:
        own = {m: cells[m][point] for m in table.experiment.figure if point in cells.get(m, {})}
        if own:
            ticks = [method.partition(", ")[2] for method in own]
            shown[f"{table.experiment.axis} {point}"] = series(ticks, own.values())
    return shown


def leads(table):
    """Return {method: (leads over the reference in points, one a repetition; the paper's lead or None)}."""
    experiment = table.experiment
    (point,) = experiment.points
    found = {}
    for method in (m.label for m in experiment.methods if m.label != experiment.reference):
        ours, theirs = table.leads(method, experiment.reference, point)
        if len(ours):
            numbers = [experiment.published.get(m, {}).get(point) for m in (method, experiment.reference)]
            paper = None if None in numbers else numbers[0].mean - numbers[1].mean
            found[method] = ours - theirs, paper
    return found


def leads_figure(table, found):
    """Return the figure of leads."""
    figure = Figure(figsize=(6.2, 0.32 * len(found) + 1.3), layout="constrained")
    axis = figure.subplots()
    axis.axvline(0.0, color="0.6", linewidth=1)
    for height, (values, paper) in enumerate(reversed(found.values())):
        beside = height + 0.15 * np.linspace(-1.0, 1.0, len(values))  # equal leads stay visible
        axis.plot(values, beside, "o", color="C0", alpha=0.35, markersize=3)
        axis.plot(values.mean(), height, "|", color="C3", markersize=14, markeredgewidth=2.5)
        if paper is not None:
            axis.plot(paper, height, "D", markerfacecolor="none", color="0.3", markersize=6)
    dots = ("o", "C0", "repetitions"), ("|", "C3", "their mean"), ("D", "0.3", "paper")
    for marker, colour, label in dots[: 3 if any(paper is not None for _, paper in found.values()) else 2]:
        face = "none" if label == "paper" else None
        axis.plot([], [], marker, color=colour, label=label, markerfacecolor=face)
    axis.set_yticks(range(len(found)), list(reversed(found)))
    xlabel = f"points of {table.experiment.metric} above {table.experiment.reference}"
    axis.set(title=f"ours: {table.source.name}", xlabel=xlabel)
    axis.grid(alpha=0.3, axis="x")
    figure.legend(fontsize="x-small", loc="outside right upper")
    return figure


def curves_figure(table, panels):
    """Return the figure of curves."""
    experiment = table.experiment
    seconds = experiment.metric == "seconds"
    first, last = experiment.points[0], experiment.points[-1]
    long = isinstance(first, int) and first > 0 and last >= LONG_AXIS * first
    along = experiment.turned or (experiment.axis if len(experiment.points) > 1 else "")
    names = list(panels["ours"]) if experiment.turned else experiment.figure
    figure = Figure(figsize=(4.4 * len(panels) + 1.8, 3.6), layout="constrained")
    shared = not seconds and not experiment.also
    axes = figure.subplots(1, len(panels), sharey=shared, squeeze=False)[0]
    for axis, (panel, methods) in zip(axes, panels.items(), strict=True):
        for number, name in enumerate(names):
            if name in methods:
                draw_series(axis, name, number, methods[name], experiment)
        axis.set(title=f"{panel}: {table.source.name}" if panel == "ours" else panel, xlabel=along)
        axis.grid(alpha=0.3)
        if seconds:
            axis.set(yscale="log")
        if seconds or long:
            axis.set(xscale="log")
    axes[0].set_ylabel("seconds" if seconds else f"{experiment.metric} in percent")
    pairs = [pair for axis in axes for pair in zip(*axis.get_legend_handles_labels(), strict=True)]
    shown = {label: line for line, label in pairs}
    figure.legend(shown.values(), shown.keys(), fontsize="x-small", loc="outside right upper")
    return figure


def draw_series(axis, name, number, values, experiment):
    """Draw the line of a method, with error bars."""
    points, means, stds = values
    colour = f"C{number}"
    if len(experiment.figure) > 10 or experiment.also:
        colour = COLOURS[name.split(",")[0]]
    line = next((line for end, line in OTHER_WAYS.items() if name.endswith(end)), "-")
    face = colour if line == "-" else "white"
    style = {"marker": MARKERS[number % len(MARKERS)], "markersize": 4, "markerfacecolor": face}
    axis.errorbar(points, means, yerr=stds, label=name, linestyle=line, capsize=2, color=colour, **style)
