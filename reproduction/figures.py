"""The figures: means with error bars along the axis, ours and the paper's. Needs matplotlib.

Where the axis has one point and there is one score: how far each method is ahead of the reference in every
repetition, and on average.
"""

import io

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


def draw_figure(table, path):
    """Write the figure to `path`, if there is something to draw."""
    one_point = len(table.experiment.points) == 1
    shown = leads(table) if one_point else curves(table)
    if not (shown if one_point else "ours" in shown):
        return
    # Text as text and no date: the file stays small, and the same for the same rows.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": table.experiment.name}):
        figure = (leads_figure if one_point else curves_figure)(table, shown)
        content = io.BytesIO()
        figure.savefig(content, format="svg", metadata={"Date": None})
    path.write_bytes(content.getvalue())


def curves(table):
    """Return {panel: {method: {point: a mean with its std}}} of what the figure shows."""
    experiment = table.experiment
    tables = {"ours": table.cells(), "paper": experiment.published}
    tables |= {title: table.cells(name) for name, title in experiment.also.items()}
    chosen = {
        panel: {method: cells[method] for method in experiment.figure if method in cells}
        for panel, cells in tables.items()
    }
    return {panel: shown for panel, shown in chosen.items() if shown}


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
    long = isinstance(first, int) and first > 0 and last >= 30 * first
    figure = Figure(figsize=(4.4 * len(panels) + 1.8, 3.6), layout="constrained")
    shared = not seconds and not experiment.also
    axes = figure.subplots(1, len(panels), sharey=shared, squeeze=False)[0]
    for axis, (panel, methods) in zip(axes, panels.items(), strict=True):
        for number, name in enumerate(experiment.figure):
            if name in methods:
                draw_series(axis, name, number, methods[name], experiment)
        axis.set(title=f"{panel}: {table.source.name}" if panel == "ours" else panel, xlabel=experiment.axis)
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


def draw_series(axis, name, number, cells, experiment):
    """Draw the line of a method, with error bars."""
    means, stds = [cell.mean for cell in cells.values()], [cell.std or 0.0 for cell in cells.values()]
    colour = f"C{number}"
    if len(experiment.figure) > 10 or experiment.also:
        colour = COLOURS[name.split(",")[0]]
    line = next((line for end, line in OTHER_WAYS.items() if name.endswith(end)), "-")
    face = colour if line == "-" else "white"
    style = {"marker": MARKERS[number % len(MARKERS)], "markersize": 4, "markerfacecolor": face}
    axis.errorbar(list(cells), means, yerr=stds, label=name, linestyle=line, capsize=2, color=colour, **style)
