"""Colours, marks and Axes that all pictures have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PALETTE = ("#0f62a6", "#c25e00", "#0a7f5c", "#a03b86", "#5b6470", "#7a6a00", "#2587a8", "#b3261e")
"""Colours of clusters and classes: distinct for everybody, and dark enough on white."""

MARKERS = "osD^vPX*"


def axes_or_new(ax: Axes | None) -> Axes:
    """Return Axes as they were given, or new ones of a figure of their own."""
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Plots need matplotlib, which is not installed; install the extra `localmkl[plots]`."
        ) from error
    return plt.subplots(layout="constrained")[1] if ax is None else ax
