"""The figure of `README.md`: what a fit reads and how long it takes, against the least possible.

Both axes are in stack passes. Nothing can lie left of the dotted line (every pair of samples once, for all
kernels) or below the diagonal (the time to stream what was read from memory).
"""

import json
from pathlib import Path

LEAST = 0.5
MARKERS = {1: "o", 1.333: "s", 2: "^"}
COLOURS = {1: "#0072b2", 3: "#d55e00", 8: "#009e73"}


def roofline(rows, path, n=2000):
    """Draw the cells of the `solver` benchmark at one n: full marks to a gap of 1e-3, open ones to 1e-6."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    cells = [row for row in rows if row["n"] == n]
    for row in cells:
        for tol, filled in (("0.001", True), ("1e-06", False)):
            colour = COLOURS[row["l"]]
            axes.plot(
                row[f"reads {tol}"],
                row[f"time {tol}"],
                MARKERS[row["p"]],
                color=colour,
                markerfacecolor=colour if filled else "none",
            )
    ends = [0.3, 40.0]
    axes.plot(ends, ends, color="0.4", lw=1)
    axes.annotate("time to stream what was read", (6.5, 7.2), rotation=33, color="0.3", fontsize=8)
    axes.axvline(LEAST, color="0.4", lw=1, ls=":")
    axes.annotate("least possible: every pair once", (LEAST * 1.05, 30.0), color="0.3", fontsize=8)
    handles = [
        axes.plot([], [], marker, color="0.2", ls="", label=f"p = {'4/3' if p == 1.333 else p}")[0]
        for p, marker in MARKERS.items()
    ] + [
        axes.plot([], [], "o", color=c, ls="", label=f"{n_clusters} clusters")[0]
        for n_clusters, c in COLOURS.items()
    ]
    axes.legend(handles=handles, fontsize=8, ncols=2, loc="lower right")
    axes.set(
        xscale="log",
        yscale="log",
        xlim=(0.4, 20),
        ylim=(0.4, 40),
        xlabel="bytes read, in stack passes",
        ylabel="time, in stack passes",
        title=f"One fit at n = {n}, M = 20: gap 1e-3 (full marks) and 1e-6 (open)",
    )
    ticks = [0.5, 1, 2, 4, 8, 16]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
    axes.set_yticks([*ticks, 32], [f"{tick:g}" for tick in [*ticks, 32]], minor=False)
    axes.minorticks_off()
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)
    return path


def from_results(folder):
    """Draw the figure from the rows in `folder`, next to them."""
    rows = json.loads((Path(folder) / "solver.json").read_text())["rows"]
    return roofline(rows, Path(folder) / "roofline.svg")
