"""The figures: means with error bars along the axis, ours beside the paper's. Needs matplotlib.

Where the axis has one point and there is one score: how far each method is ahead of the reference in every
repetition, and on average.
"""

import io
from textwrap import fill

import numpy as np

from localmkl._files import write_whole
from localmkl.experiments.summary import paired_scores, tabulate

MARKERS = "osD^vPX*<>dph8"
COLOURS = {"UNIF": "C7", "LMKL": "C1", "MKL": "C0", "HLMKL": "C2", "CLMKL": "C3", "logistic regression": "C4"}
"""By family, where there are more lines than colours, or a method has two lines."""

OTHER_WAYS = {"Algorithm 1": "--", "exact": "--", "landmarks": ":"}
OTHER_WAYS |= {"zero": "--", "complete only": ":", "means": "-."}
"""Ends of the names of methods, and their lines: the same model, found in another way."""


TICK_WIDTH = 11
"""Letters in a line of the name of a score."""

LONG_AXIS = 30
"""Points are on a logarithmic axis where the largest is so many times the smallest."""


def curves(experiment, rows):
    """Return {panel: {method: (points, means, standard deviations)}} of what the figure shows.

    Where the axis has one point, the scores stand along it; in a turned figure the methods do.
    """
    if len(experiment.points) == 1:
        shown = _scores(experiment, rows)
        return {"ours": shown} if shown else {}
    if experiment.turned:
        shown = _turned(experiment, tabulate(experiment, rows))
        return {"ours": shown} if shown else {}
    ours = _means(tabulate(experiment, rows))
    others = {title: _means(tabulate(experiment, rows, name)) for name, title in experiment.also.items()}
    paper = {
        method: {point: (number.mean, number.std or 0.0) for point, number in cells.items()}
        for method, cells in experiment.published.numbers.items()
    }
    panels = {}
    for panel, table in (("ours", ours), ("paper", paper), *others.items()):
        shown = {method: table[method] for method in experiment.figure if method in table}
        if shown:
            panels[panel] = {
                method: (list(cells), *(list(values) for values in zip(*cells.values(), strict=True)))
                for method, cells in shown.items()
            }
    return panels


def _scores(experiment, rows):
    """Return {method: (scores, means, standard deviations)} at the one point of the axis."""
    names = {"score": experiment.metric, **experiment.also}
    tables = {title: tabulate(experiment, rows, name) for name, title in names.items()}
    shown = {}
    for method in experiment.figure:
        cells = {
            title: next(iter(table[method].values())) for title, table in tables.items() if method in table
        }
        if cells:
            shown[method] = (
                [fill(title, TICK_WIDTH) for title in cells],
                [cell.mean for cell in cells.values()],
                [cell.std for cell in cells.values()],
            )
    return shown


def _turned(experiment, table):
    """Return {point: (methods, means, standard deviations)}."""
    shown = {}
    for point in experiment.points:
        cells = {m: table[m][point] for m in experiment.figure if point in table.get(m, {})}
        if cells:
            ticks = [method.partition(", ")[2] for method in cells]
            means, stds = zip(*((cell.mean, cell.std) for cell in cells.values()), strict=True)
            shown[f"{experiment.axis} {point}"] = (ticks, list(means), list(stds))
    return shown


def _means(table):
    return {
        method: {point: (cell.mean, cell.std) for point, cell in cells.items()}
        for method, cells in table.items()
    }


def _is_long(experiment):
    first, last = experiment.points[0], experiment.points[-1]
    return isinstance(first, int) and first > 0 and last >= LONG_AXIS * first


def leads(experiment, rows):
    """Return {method: (leads over the reference in points, one a repetition; the paper's lead or None)}."""
    (point,) = experiment.points
    published = experiment.published.numbers
    found = {}
    for method in (m.label for m in experiment.methods if m.label != experiment.reference):
        ours, theirs = paired_scores(rows, method, experiment.reference, point)
        if len(ours):
            numbers = [published.get(name, {}).get(point) for name in (method, experiment.reference)]
            paper = None if None in numbers else numbers[0].mean - numbers[1].mean
            found[method] = ours - theirs, paper
    return found


def draw_figure(experiment, source, rows, path):
    """Write the figure to `path`; return whether there is one to draw."""
    alone = len(experiment.points) == 1 and not experiment.also
    shown = leads(experiment, rows) if alone else curves(experiment, rows)
    if not (shown if alone else "ours" in shown):
        return False
    from matplotlib import rc_context

    # Text as text and no date: the file stays small, and the same for the same rows.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": experiment.name}):
        figure = (_leads_figure if alone else _curves_figure)(experiment, source, shown)
        content = io.BytesIO()
        figure.savefig(content, format="svg", metadata={"Date": None})
    write_whole(path, content.getvalue())
    return True


def _leads_figure(experiment, source, found):
    from matplotlib.figure import Figure

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
        axis.plot(
            [], [], marker, color=colour, label=label, markerfacecolor="none" if label == "paper" else None
        )
    axis.set_yticks(range(len(found)), list(reversed(found)))
    axis.set(
        title=f"ours: {source.name}", xlabel=f"points of {experiment.metric} above {experiment.reference}"
    )
    axis.grid(alpha=0.3, axis="x")
    figure.legend(fontsize="x-small", loc="outside right upper")
    return figure


def _curves_figure(experiment, source, panels):
    from matplotlib.figure import Figure

    seconds = experiment.metric == "seconds"
    along = experiment.turned or (experiment.axis if len(experiment.points) > 1 else "")
    names = list(panels["ours"]) if experiment.turned else experiment.figure
    figure = Figure(figsize=(4.4 * len(panels) + 1.8, 3.6), layout="constrained")
    shared = not seconds and not experiment.also
    axes = figure.subplots(1, len(panels), sharey=shared, squeeze=False)[0]
    for axis, (panel, methods) in zip(axes, panels.items(), strict=True):
        for number, name in enumerate(names):
            if name not in methods:
                continue
            points, means, stds = methods[name]
            marker, colour = MARKERS[number % len(MARKERS)], f"C{number}"
            if len(experiment.figure) > 10 or experiment.also:
                colour = COLOURS[name.split(",")[0]]
            line = next((line for end, line in OTHER_WAYS.items() if name.endswith(end)), "-")
            face = colour if line == "-" else "white"
            style = {"marker": marker, "markersize": 4, "markerfacecolor": face, "color": colour}
            axis.errorbar(points, means, yerr=stds, label=name, linestyle=line, capsize=2, **style)
        axis.set(title=f"{panel}: {source.name}" if panel == "ours" else panel, xlabel=along)
        axis.grid(alpha=0.3)
        if seconds:
            axis.set(yscale="log")
        if seconds or _is_long(experiment):
            axis.set(xscale="log")
    axes[0].set_ylabel("seconds" if seconds else f"{experiment.metric} in percent")
    pairs = [pair for axis in axes for pair in zip(*axis.get_legend_handles_labels(), strict=True)]
    shown = {label: line for line, label in pairs}
    figure.legend(shown.values(), shown.keys(), fontsize="x-small", loc="outside right upper")
    return figure
