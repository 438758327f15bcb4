"""The picture of compared methods: differences of their scores, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from localmkl.plots.canvas import ACCENT, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from localmkl.inference import Comparison


def plot_comparison(comparison: Comparison, *, metric: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw how much better or worse than the reference each method is, with its interval.

    Parameters
    ----------
    comparison : localmkl.inference.Comparison
    metric : str, optional
        What the score is called; by default its name.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from localmkl import CLMKLClassifier, MKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> from localmkl.inference import compare_methods
    >>> X, y = make_localized(80, random_state=0)[:2]
    >>> models = {"MKL": MKLClassifier(), "CLMKL": CLMKLClassifier(random_state=0)}
    >>> plot_comparison(compare_methods(models, X, y, n_splits=2, random_state=0)).get_ylabel()
    'method'
    """
    ax = axes_or_new(ax)
    scores, own = comparison.scores.mean(axis=0), comparison.methods.index(comparison.reference)
    places = np.arange(len(comparison.methods))
    others = np.delete(places, own)
    middle, low, high = (getattr(comparison, name)[others] for name in ("difference", "low", "high"))
    ax.axvline(0.0, color="black", linewidth=1.0, linestyle=":")
    ax.errorbar(middle, others, xerr=[middle - low, high - middle], fmt="o", color=ACCENT, capsize=4)
    ax.plot(0.0, own, "o", color="white", markeredgecolor="black")
    names = [f"{name} ({score:.3f})" for name, score in zip(comparison.methods, scores, strict=True)]
    ax.set_yticks(places, names)
    ax.set_ylim(len(places) - 0.5, -0.5)
    metric = comparison.scoring if metric is None else metric
    ax.set(
        xlabel=f"{metric} minus that of {comparison.reference}, and its 90 % interval",
        ylabel="method",
        title=f"Methods on {len(comparison.scores)} shared splits",
    )
    return ax
