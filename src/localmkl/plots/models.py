"""Pictures of any fitted model: effects, weights, reliability of probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from localmkl._checks import check_option
from localmkl.calibration import event_probabilities, reliability
from localmkl.estimators.groups import with_groups
from localmkl.explain import cluster_names, has_groups, kernel_names, kernel_shares
from localmkl.plots.canvas import MARKERS, PALETTE, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from localmkl.estimators.base import BaseMKL
    from localmkl.explain import Effects


def plot_effects(
    effects: Effects, *, sure: ArrayLike | None = None, decision: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the effect of each kernel or column in each part as a heat map.

    Parameters
    ----------
    effects : Effects
        From `localmkl.explain.effects`, or from `effects`, `column_effects` or `where` of
        `localmkl.inference.HeldOut`.
    sure : array-like of bool of shape (n_parts, n_kernels), optional
        Cells that are not sure are pale.
    decision : str, optional
        One of ``effects.decisions``; by default the mean over all of them.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> from localmkl.explain import effects
    >>> X, y = make_localized(80, random_state=0)[:2]
    >>> found = effects(CLMKLClassifier(random_state=0).fit(X[:60], y[:60]), X[60:])
    >>> plot_effects(found).get_title()
    'Effects'
    """
    within = effects.within.mean(axis=0)
    if decision is not None:
        check_option("decision", decision, effects.decisions)
        within = effects.within[effects.decisions.index(decision)]
    pale = np.zeros(within.shape, dtype=bool) if sure is None else ~np.asarray(sure, dtype=bool)
    label = "share of the variance of decisions in percent"
    ax = _heat_map(100.0 * within, effects.kernels, effects.parts, label, pale, ax)
    ax.set(xlabel="kernel", title="Effects" if decision is None else f"Effects on {decision}")
    return ax


def plot_weights(model: BaseMKL, *, ax: Axes | None = None) -> Axes:
    """Draw the share of each kernel in the weights of each cluster or group as a heat map.

    Weights belong to the method. What moves decisions are effects, see `plot_effects`.

    Parameters
    ----------
    model : fitted estimator
        With several classes, the mean over them is drawn.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(80, random_state=0)[:2]
    >>> plot_weights(CLMKLClassifier(random_state=0).fit(X, y)).get_ylabel()
    'cluster'
    """
    shares = 100.0 * kernel_shares(model)
    label, nothing = "share of the weights in percent", np.zeros(shares.shape, dtype=bool)
    ax = _heat_map(shares, kernel_names(model), cluster_names(model), label, nothing, ax)
    ax.set(xlabel="kernel", ylabel="group" if has_groups(model) else "cluster", title="Kernel weights")
    return ax


def _heat_map(values: Any, columns: list[str], rows: list[str], label: str, pale: Any, ax: Any) -> Axes:
    """Draw values with numbers in the cells; pale cells recede."""
    ax = axes_or_new(ax)
    shown = np.where(pale, 0.25, 1.0) * values
    image = ax.imshow(shown, cmap="Blues", vmin=0.0, vmax=max(float(shown.max()), 1.0), aspect="auto")
    ax.figure.colorbar(image, ax=ax, label=label)
    for (j, m), value in np.ndenumerate(values if values.size <= 150 else np.empty((0, 0))):
        color = "0.6" if pale[j, m] else "white" if value > 0.6 * shown.max() else "black"
        ax.text(m, j, f"{value:.0f}", ha="center", va="center", color=color)
    slanted = sum(map(len, columns)) > 60
    ax.set_xticks(range(len(columns)), columns, rotation=60 * slanted, ha="right" if slanted else "center")
    ax.set_yticks(range(len(rows)), rows)
    return ax


def plot_reliability(
    models: Any,
    X: Any,
    y: ArrayLike,
    *,
    label: Any = None,
    n_bins: int = 10,
    groups: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw predicted probabilities against how often they came true, in bins of equal counts.

    On the diagonal, an event of probability 0.3 comes true three times of ten. Bars are 95 % intervals.

    Parameters
    ----------
    models : classifier with `predict_proba`, or dict of str to classifier
        Those of this package have it with ``loss="log_loss"``.
    X, y : rows and labels
        Samples that the models were not trained on: on others, every model looks too sure of itself.
    label : optional
        The class whose probability is meant. By default the second of two; of more classes, the most
        probable one of each sample.
    n_bins : int, default=10
        Most bins.
    groups : array-like of shape (n_samples,), optional
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(120, random_state=0)[:2]
    >>> model = MKLClassifier(loss="log_loss").fit(X[:60], y[:60])
    >>> plot_reliability(model, X[60:], y[60:]).get_xlabel()
    'predicted probability'
    """
    named = models if isinstance(models, dict) else {type(models).__name__: models}
    X = with_groups(X, groups)
    given = {name: (model.predict_proba(X), y, model.classes_, label) for name, model in named.items()}
    found = {name: reliability(*event_probabilities(*one), n_bins=n_bins) for name, one in given.items()}
    ax = axes_or_new(ax)
    ax.plot([0, 1], [0, 1], color="0.6", ls=":", linewidth=1)
    for number, (name, bins) in enumerate(found.items()):
        style: dict[str, Any] = {"ms": 5, "lw": 1.2, "capsize": 2, "marker": MARKERS[number % len(MARKERS)]}
        reach = bins.observed - bins.low, bins.high - bins.observed
        color = PALETTE[number % len(PALETTE)]
        ax.errorbar(bins.predicted, bins.observed, yerr=reach, label=name, color=color, **style)
    ax.set(xlabel="predicted probability", ylabel="observed frequency", title="Reliability", aspect="equal")
    ax.legend(frameon=False)
    return ax
