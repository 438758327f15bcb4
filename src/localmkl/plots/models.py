"""Pictures of any fitted model: weights, memberships, a map, convergence, learning curves, reliability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from localmkl._checks import check_option
from localmkl.calibration import event_probabilities, reliability
from localmkl.estimators.groups import with_groups
from localmkl.explain import (
    cluster_names,
    has_groups,
    histories,
    kernel_contributions,
    kernel_family,
    kernel_names,
    kernel_shares,
    local_memberships,
    main_clusters,
    memberships_of,
    sample_map,
    shared_part,
    training_rows,
    with_training_groups,
)
from localmkl.plots.canvas import ACCENT, MARKERS, PALETTE, SHARED, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray
    from sklearn.base import BaseEstimator

    from localmkl.estimators.base import BaseMKL
    from localmkl.kernels import GramStack


def plot_weights(model: BaseMKL, *, ax: Axes | None = None) -> Axes:
    """Draw the share of each kernel in the weights of each cluster or group, as a heat map.

    A shared part comes first.

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
    ax = axes_or_new(ax)
    names = kernel_names(model)
    image = ax.imshow(shares, cmap="Blues", vmin=0.0, aspect="auto")
    ax.figure.colorbar(image, ax=ax, label="share of the weights in percent")
    if shares.size <= 100:
        for (j, m), share in np.ndenumerate(shares):
            dark = share > 0.6 * shares.max()
            ax.text(m, j, f"{share:.0f}", ha="center", va="center", color="white" if dark else "black")
    slanted = sum(map(len, names)) > 60
    ax.set_xticks(
        range(len(names)), names, rotation=60 if slanted else 0, ha="right" if slanted else "center"
    )
    ax.set_yticks(range(len(shares)), cluster_names(model))
    family = kernel_family(model)
    ax.set(xlabel=f"kernel ({family})" if family else "kernel", ylabel=_word(model), title="Kernel weights")
    return ax


def _word(model: BaseMKL) -> str:
    """Return the noun for what has weights of its own."""
    return "group" if has_groups(model) else "cluster"


def plot_memberships(
    model: BaseMKL, X: Any = None, *, groups: ArrayLike | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the memberships of all samples, one column each, as geneticists draw ancestry.

    Samples are sorted by their main cluster, and within it by how clearly they belong there. What all share
    lies below.

    Parameters
    ----------
    model : fitted estimator with clusters
    X : rows, or cross-Grams when precomputed; optional
        By default the training samples.
    groups : array-like of shape (n_samples,), optional
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(80, random_state=0)[:2]
    >>> model = CLMKLClassifier(random_state=0).fit(X, y)
    >>> plot_memberships(model).get_ylabel()
    'membership'
    """
    given = memberships_of(model, with_groups(X, groups))
    given = given[clearest_first(local_memberships(model, given))]
    ax = axes_or_new(ax)
    at, bottom = np.arange(len(given)), np.zeros(len(given))
    first = int(shared_part(model) > 0.0)
    for j, (part, name) in enumerate(zip(given.T, cluster_names(model), strict=True)):
        color = PALETTE[(j - first) % len(PALETTE)] if j >= first else SHARED
        ax.bar(at, part, width=1.0, bottom=bottom, color=color, label=name, linewidth=0)
        bottom += part
    ax.set(
        xlim=(-0.5, len(given) - 0.5),
        ylim=(0, 1),
        xlabel="sample, sorted",
        ylabel="membership",
        title="Memberships",
    )
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=min(given.shape[1], 4), frameon=False)
    return ax


def clearest_first(memberships: NDArray[np.floating]) -> NDArray[np.intp]:
    """Return the numbers of samples by main cluster, the clearest first; without what all share.

    Examples
    --------
    >>> clearest_first(np.array([[0.6, 0.4], [0.1, 0.9], [0.8, 0.2]]))
    array([2, 0, 1])
    """
    return np.lexsort((-memberships.max(axis=1), memberships.argmax(axis=1)))


def plot_map(
    model: BaseMKL,
    X: Any = None,
    *,
    y: ArrayLike | None = None,
    color_by: str | int = "cluster",
    train: GramStack | None = None,
    groups: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the samples in two dimensions: kernel PCA of the gate kernel, or of the mean of all with groups.

    Parameters
    ----------
    model : fitted estimator
    X : rows, or cross-Grams when precomputed; optional
        By default the training samples.
    y : array-like of shape (n_samples,), optional
        Needed for ``color_by="target"``.
    color_by : {"cluster", "target", "prediction"} or int, default="cluster"
        By cluster: the main one, or the sample's known group. An integer stands for a kernel: its
        contribution to the decision (with several classes, to that for the predicted one).
    train : GramStack, optional
        With precomputed kernels, the square stack of the fit.
    groups : array-like of shape (n_samples,), optional
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(80, random_state=0)[:2]
    >>> model = CLMKLClassifier(random_state=0).fit(X, y)
    >>> plot_map(model, y=y, color_by="target").get_title()
    'Samples by the gate kernel'
    """
    X = with_groups(X, groups)
    placed = sample_map(model, X, train=train)
    rows = (training_rows(model) if train is None else with_training_groups(model, train)) if X is None else X
    values, names = _map_values(model, rows, y, color_by)
    ax = axes_or_new(ax)
    x1, x2 = placed.coordinates.T
    if values.dtype.kind == "f":
        centred = isinstance(color_by, int | np.integer)
        reach = float(np.abs(values).max()) or 1.0
        limits = {"cmap": "PuOr", "vmin": -reach, "vmax": reach} if centred else {"cmap": "viridis"}
        points = ax.scatter(x1, x2, c=values, s=16, edgecolors="0.4", linewidths=0.3, **limits)
        label = color_by if isinstance(color_by, str) else f"contribution of {kernel_names(model)[color_by]}"
        ax.figure.colorbar(points, ax=ax, label=label)
    else:
        for number in np.unique(values):
            own = values == number
            color, marker = PALETTE[number % len(PALETTE)], MARKERS[number % len(MARKERS)]
            points = ax.scatter(x1[own], x2[own], s=16, alpha=0.8, linewidths=0, color=color, marker=marker)
            points.set_label(names[number])
        ax.legend(title=_word(model) if color_by == "cluster" else color_by, frameon=False)
    first, second = 100.0 * placed.explained
    ax.set(
        xlabel=f"first axis ({first:.0f} % of the variance)",
        ylabel=f"second axis ({second:.0f} %)",
        title=f"Samples by {'the mean of all kernels' if has_groups(model) else 'the gate kernel'}",
    )
    return ax


def _map_values(
    model: BaseMKL, X: Any, y: ArrayLike | None, color_by: str | int
) -> tuple[NDArray[Any], list[str]]:
    """Return numbers to colour samples by: real ones, or those of the names that are returned too."""
    if isinstance(color_by, int | np.integer):
        return kernel_contributions(model, X)[:, color_by], []
    check_option("color_by", color_by, ("cluster", "target", "prediction"))
    if color_by == "cluster":
        numbers, names = main_clusters(model, X)
        return numbers, names
    if color_by == "target" and y is None:
        raise ValueError("`y` must be given to colour the map by the target, got None.")
    values = np.asarray(model.predict(X) if color_by == "prediction" else y)
    if values.dtype.kind == "f":
        return values, []
    labels, numbers = np.unique(values, return_inverse=True)
    return numbers, [str(label) for label in labels]


def plot_convergence(model: BaseMKL, *, ax: Axes | None = None) -> Axes:
    """Draw primal and dual value of every step of the solver; between them lies the optimum.

    Parameters
    ----------
    model : fitted estimator
        With several classes, the one that took most steps is drawn.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(80, random_state=0)[:2]
    >>> model = CLMKLClassifier(random_state=0).fit(X, y)
    >>> plot_convergence(model).get_xlabel()
    'step'
    """
    steps = max(histories(model), key=lambda history: len(history["gap"]))
    ax = axes_or_new(ax)
    at = np.arange(1, len(steps["gap"]) + 1)
    ax.plot(at, steps["primal"], color=ACCENT, marker="o", markersize=4, label="primal: the solution so far")
    ax.plot(
        at, steps["dual"], color="0.35", marker="s", markersize=4, ls="--", label="dual: a bound on the best"
    )
    ax.fill_between(at, steps["dual"], steps["primal"], color=ACCENT, alpha=0.1, linewidth=0)
    ax.locator_params(axis="x", integer=True)
    ax.set(xlabel="step", ylabel="objective", title=f"Convergence (gap {model.duality_gap_:.1e})")
    ax.legend(frameon=False)
    return ax


def plot_learning_curves(
    models: BaseEstimator | dict[str, BaseEstimator],
    X: Any,
    y: ArrayLike,
    *,
    train_sizes: Sequence[float] = (0.2, 0.4, 0.6, 0.8, 1.0),
    cv: Any = 5,
    scoring: Any = None,
    groups: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the cross-validated score of one or several models against the number of training samples.

    Parameters
    ----------
    models : estimator or dict of str to estimator
    X, y : rows (or GramStack) and targets
    train_sizes : sequence, default=(0.2, 0.4, 0.6, 0.8, 1.0)
    cv, scoring : optional
        As in scikit-learn's `learning_curve`.
    groups : array-like of shape (n_samples,), optional
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(80, random_state=0)[:2]
    >>> plot_learning_curves(MKLClassifier(), X, y, train_sizes=[0.5, 1.0], cv=3).get_xlabel()
    'training samples'
    """
    from sklearn.model_selection import LearningCurveDisplay

    named = models if isinstance(models, dict) else {type(models).__name__: models}
    ax = axes_or_new(ax)
    for number, (name, model) in enumerate(named.items()):
        style = {"color": PALETTE[number % len(PALETTE)]}
        drawn = LearningCurveDisplay.from_estimator(
            model,
            with_groups(X, groups),
            y,
            train_sizes=np.asarray(train_sizes),
            cv=cv,
            scoring=scoring,
            score_type="test",
            ax=ax,
            line_kw={**style, "marker": MARKERS[number % len(MARKERS)]},
            fill_between_kw={**style, "alpha": 0.15, "linewidth": 0},
        )
        drawn.lines_[0].set_label(name)
    ax.set(xlabel="training samples", title="Learning curves")
    ax.legend(frameon=False)
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
