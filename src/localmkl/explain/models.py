"""Explanations of any fitted model: which kernels, which clusters, which loss, and where samples lie."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.decomposition import KernelPCA
from sklearn.utils.validation import check_is_fitted

from localmkl._checks import check_integer
from localmkl._sklearn import count_rows
from localmkl._types import Array, Floats, Ints, MaybeNone, Rows
from localmkl.estimators.base import BaseMKL
from localmkl.estimators.groups import Grouped, GroupGate, with_groups
from localmkl.estimators.seen import (
    Landmarks,
    gate_comparison,
    row_groups,
    training_rows,
    with_training_groups,
)
from localmkl.kernels.stack import take_rows
from localmkl.kernels.viewed import ViewKernel
from localmkl.solvers.losses import CLASSIFICATION, REGRESSION
from localmkl.stacks import Stack


def kernel_names(model: BaseMKL) -> list[str]:
    """Return a short name for each kernel of a fitted model: what tells it from the others.

    The class is left out where all kernels have the same one; see `kernel_family`. On `Views`, that of the
    view comes first.

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    list of str

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> from localmkl.kernels import Spectrum, WeightedDegree
    >>> X, y = ["ACGT", "ACGA", "TTGA", "TTCA"], [0, 0, 1, 1]
    >>> kernel_names(MKLClassifier([WeightedDegree(1), WeightedDegree(2), Spectrum(3)]).fit(X, y))
    ['WeightedDegree degree 1', 'WeightedDegree degree 2', 'Spectrum']
    >>> kernel_names(MKLClassifier([WeightedDegree(1), WeightedDegree(2)]).fit(X, y))
    ['degree 1', 'degree 2']
    """
    check_is_fitted(model)
    if model.kernels_ is None:
        return [f"kernel {m + 1}" for m in range(len(model.factors_))]
    views, kernels, names = kernel_views(model), bare_kernels(model), []
    for view, kernel in zip(views, kernels, strict=True):
        family = [other for other, place in zip(kernels, views, strict=True) if place == view]
        words = [view] if len(set(views)) > 1 else []
        names.append(" ".join([*words, *_telling(kernel, family, kernel_family(model), bool(words))]))
    return numbered(names)


def _telling(kernel: Any, others: list[Any], family: str, named: bool) -> list[str]:
    """Return the words that tell a kernel from others: its class, unless all have one, and parameters."""
    own = kernel.get_params(deep=False)
    alike = [other.get_params(deep=False) for other in others if type(other) is type(kernel)]
    keys = [key for key in own if len({_written(other[key]) for other in alike}) > 1]
    words = [f"{key} {_written(own[key])}" for key in keys if own[key] is not None]
    return words if family and (words or named) else [type(kernel).__name__, *words]


def numbered(names: Sequence[str]) -> list[str]:
    """Return names with a number after those that occur several times.

    Examples
    --------
    >>> numbered(["a", "b", "a"])
    ['a (1)', 'b', 'a (3)']
    """
    repeated = {name for name in names if names.count(name) > 1}
    return [f"{name} ({m + 1})" if name in repeated else name for m, name in enumerate(names)]


def kernel_family(model: BaseMKL) -> str:
    """Return the class name that all kernels of a model have, or an empty text.

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> from localmkl.kernels import RBF
    >>> kernel_family(MKLClassifier([RBF(0.1), RBF(1.0)]).fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]))
    'RBF'
    """
    kinds = {type(kernel).__name__ for kernel in bare_kernels(model)}
    return kinds.pop() if len(kinds) == 1 else ""


def kernel_views(model: BaseMKL) -> list[str | MaybeNone]:
    """Return the view that each kernel of a model reads; None where its rows were no `Views`.

    Examples
    --------
    >>> from localmkl import MKLClassifier, Views
    >>> from localmkl.kernels import Linear
    >>> X = Views({"a": np.eye(4), "b": np.eye(4)})
    >>> kernel_views(MKLClassifier([Linear(view="a"), Linear(view="b")]).fit(X, [0, 0, 1, 1]))
    ['a', 'b']
    """
    check_is_fitted(model)
    return [getattr(kernel, "view", None) for kernel in model.kernels_ or [None] * len(model.factors_)]


def bare_kernels(model: BaseMKL) -> list[Any]:
    """Return the kernels of a model as its user named them: on views, those inside.

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> from localmkl.kernels import Linear
    >>> bare_kernels(MKLClassifier([Linear()]).fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]))
    [Linear()]
    """
    return [one.kernel if isinstance(one, ViewKernel) else one for one in model.kernels_ or ()]


def _written(value: Any) -> str:
    """Return a parameter as a reader would write it."""
    if isinstance(value, slice):
        return f"{value.start or 0} to {value.stop - 1}" if value.stop else f"{value.start or 0} on"
    if isinstance(value, list | tuple | np.ndarray):
        items = [str(item) for item in value]
        return ", ".join(items) if len(items) <= 3 else f"{items[0]}, {items[1]} ... {items[-1]}"
    if isinstance(value, float):
        return f"{value:.3g}"
    return getattr(value, "__name__", str(value))


def described_loss(model: BaseMKL) -> dict[str, Any]:
    """Return the name of the loss that a model was fitted with, and its parameters.

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    dict
        "loss": the name that the estimators have for it, or that of its class; then `epsilon`, `quantile` or
        what else the loss has.

    Examples
    --------
    >>> from localmkl import MKLRegressor
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(30, regression=True, random_state=0)[:2]
    >>> described_loss(MKLRegressor(loss="quantile", quantile=0.9).fit(X, y))
    {'loss': 'quantile', 'quantile': 0.9}
    """
    loss, kinds = model.loss_, {**CLASSIFICATION, **REGRESSION}
    known = [name for name, kind in kinds.items() if type(loss) is kind]
    own = {field.name: getattr(loss, field.name) for field in fields(loss)} if is_dataclass(loss) else {}
    return {"loss": (known or [type(loss).__name__])[0], **own}


def kernel_shares(model: BaseMKL) -> Floats:
    """Return the share of each kernel in the weights of its cluster; a mean over classes.

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    ndarray of shape (n_clusters, n_kernels)
        Rows sum to one; `cluster_names` names them.

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(80, random_state=0)[:2]
    >>> model = CLMKLClassifier(random_state=0).fit(X, y)
    >>> kernel_shares(model).sum(axis=1).round(6)
    array([1., 1., 1.])
    """
    return class_shares(model).mean(axis=0)


def class_shares(model: BaseMKL) -> Floats:
    """Return the share of each kernel by class and cluster, (n_problems, n_clusters, n_kernels).

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> model = MKLClassifier().fit([[0.0], [1.0], [3.0], [4.0], [8.0], [9.0]], [0, 0, 1, 1, 2, 2])
    >>> class_shares(model).shape
    (3, 1, 4)
    """
    check_is_fitted(model)
    weights = np.asarray(model.kernel_weights_, dtype=float)
    weights = weights[None] if weights.ndim == 2 else weights
    totals = weights.sum(axis=-1, keepdims=True)
    even = np.full_like(weights, 1.0 / weights.shape[-1])
    return np.divide(weights, totals, out=even, where=totals > 0.0)


def view_shares(model: BaseMKL, shares: Floats | None = None) -> tuple[Floats, list[str]]:
    """Return the share of each view in the weights: the sum over the kernels that read it.

    Parameters
    ----------
    model : fitted estimator
        On `Views`.
    shares : ndarray of shape (..., n_kernels), optional
        By default `kernel_shares`.

    Returns
    -------
    shares : ndarray of shape (n_clusters, n_views)
        Rows sum to one; `cluster_names` names them.
    views : list of str

    Examples
    --------
    >>> from localmkl import UniformMKLClassifier, Views
    >>> from localmkl.kernels import RBF, Linear
    >>> X, y = Views({"a": np.eye(4), "b": np.eye(4)}), [0, 0, 1, 1]
    >>> model = UniformMKLClassifier([Linear(view="a"), RBF(view="a"), Linear(view="b")]).fit(X, y)
    >>> view_shares(model)[0].round(2), view_shares(model)[1]
    (array([[0.67, 0.33]]), ['a', 'b'])
    """
    of_kernels = kernel_views(model)
    if None in of_kernels:
        raise ValueError("Shares of views need a model that was fitted on `Views`, got one on other rows.")
    views = list(dict.fromkeys(of_kernels))
    shares = kernel_shares(model) if shares is None else shares
    return shares @ np.array([[view == own for view in views] for own in of_kernels], dtype=float), views


def kernel_contributions(model: BaseMKL, X: Rows, *, groups: ArrayLike | None = None) -> Floats:
    """Return the contribution of each kernel to the decision, over all clusters.

    Parameters
    ----------
    model : fitted estimator
    X : rows, or cross-Grams when precomputed
    groups : array-like of shape (n_samples,), optional

    Returns
    -------
    ndarray of shape (n_samples, n_kernels)
        With several classes, of the decision for the predicted one.

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(80, random_state=0)[:2]
    >>> model = CLMKLClassifier(random_state=0).fit(X, y)
    >>> sums = kernel_contributions(model, X).sum(axis=1) + model.intercept_
    >>> bool(np.allclose(sums, model.decision_function(X)))
    True
    """
    parts = model.contributions(with_groups(X, groups))
    if parts.ndim == 4:
        winner = (parts.sum(axis=(2, 3)) + model.intercept_).argmax(axis=1)
        parts = parts[np.arange(len(parts)), winner]
    return parts.sum(axis=1)


def memberships_of(model: BaseMKL, X: Rows = None) -> Floats:
    """Return the memberships of rows, by default of the training samples, (n_samples, n_clusters).

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> memberships_of(MKLClassifier().fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])).shape
    (4, 1)
    """
    check_is_fitted(model)
    if X is not None:
        return model.memberships(X)
    known = getattr(model, "memberships_", None)
    return np.ones((np.shape(model.dual_coef_)[-1], 1)) if known is None else known


def shared_part(model: BaseMKL) -> float:
    """Return the membership of all samples in the shared part beside clusters; 0 if there is none.

    Where all is shared, nothing stands beside it: the one row of weights is that of all samples.

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> X, y = np.arange(12.0).reshape(6, 2), [0, 1, 0, 1, 0, 1]
    >>> shared_part(CLMKLClassifier(n_clusters=2, shared=0.5, random_state=0).fit(X, y))
    0.5
    """
    share = getattr(model, "shared_", 0.0)
    return share if share < 1.0 else 0.0


def cluster_names(model: BaseMKL) -> list[str]:
    """Return a name for each row of the weights, no two alike: the shared part first, if there is one.

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> X, y = np.arange(12.0).reshape(6, 2), [0, 1, 0, 1, 0, 1]
    >>> cluster_names(CLMKLClassifier(n_clusters=2, shared=0.5, random_state=0).fit(X, y))
    ['shared', 'cluster 1', 'cluster 2']
    """
    check_is_fitted(model)
    return numbered(model.cluster_names_)


def local_memberships(model: BaseMKL, memberships: Floats) -> Floats:
    """Return the part of memberships that is not shared; rows sum to one.

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> X, y = np.arange(12.0).reshape(6, 2), [0, 1, 0, 1, 0, 1]
    >>> model = CLMKLClassifier(n_clusters=2, shared=0.5, random_state=0).fit(X, y)
    >>> local_memberships(model, model.memberships(X)).sum(axis=1)
    array([1., 1., 1., 1., 1., 1.])
    """
    share = shared_part(model)
    return memberships[:, 1:] / (1.0 - share) if share > 0.0 else memberships


def has_groups(model: BaseMKL) -> bool:
    """Whether known groups take the place of clusters; all may be shared among them.

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> has_groups(MKLClassifier().fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]))
    False
    """
    return hasattr(model, "groups_")


def groups_of(model: BaseMKL, X: Rows = None) -> Array:
    """Return the names of the groups of rows, by default of the training samples; "no group" for none."""
    given = model.groups_ if X is None else row_groups(model, X)
    return np.array(["no group" if group is None else str(group) for group in given], dtype=object)


def main_clusters(
    model: BaseMKL, X: Rows = None, *, groups: ArrayLike | None = None
) -> tuple[Ints, list[str]]:
    """Return the main cluster of each sample: that of its largest membership, never the shared part.

    With known groups it is the sample's own, also where that is new to the model and belongs to all alike.

    Parameters
    ----------
    model : fitted estimator
    X : rows, or cross-Grams when precomputed; optional
        By default the training samples.
    groups : array-like of shape (n_samples,), optional

    Returns
    -------
    numbers : ndarray of shape (n_samples,)
        Into `names`.
    names : list of str
        Those of the clusters or groups of the fit, without the shared part; then groups that are new.

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(80, random_state=0)[:2]
    >>> model = CLMKLClassifier(shared=0.6, n_clusters=2, random_state=0).fit(X, y)
    >>> numbers, names = main_clusters(model, X)
    >>> names, sorted(set(numbers.tolist()))
    (['cluster 1', 'cluster 2'], [0, 1])
    """
    names, X = cluster_names(model)[int(shared_part(model) > 0.0) :], with_groups(X, groups)
    if not isinstance(getattr(model, "gate_", None), GroupGate):
        return local_memberships(model, memberships_of(model, X)).argmax(axis=1), names
    own = groups_of(model, X)
    place = {label: number for number, label in enumerate(model.gate_.labels.tolist())}
    for group in dict.fromkeys(own.tolist()):
        if group not in place:
            place[group] = len(names)
            names = [*names, group]
    return np.array([place[group] for group in own.tolist()], dtype=int), names


def norm_of(model: BaseMKL) -> float:
    """Return the norm p of the weights of a model; infinity where all kernels weigh the same.

    Examples
    --------
    >>> from localmkl import MKLClassifier, UniformMKLClassifier
    >>> norm_of(MKLClassifier(p=2.0)), norm_of(UniformMKLClassifier())
    (2.0, inf)
    """
    return float(getattr(model, "p", np.inf))


def histories(model: BaseMKL) -> list[dict[str, Floats]]:
    """Return the steps of the solver as a list of dicts, one for each problem.

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> len(histories(MKLClassifier().fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])))
    1
    """
    check_is_fitted(model)
    return [model.history_] if isinstance(model.history_, dict) else list(model.history_)


@dataclass(frozen=True)
class SampleMap:
    """Samples in two dimensions.

    Parameters
    ----------
    coordinates : ndarray of shape (n_samples, 2)
    explained : ndarray of shape (2,)
        Share of the gate kernel's variance along each axis.

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(80, random_state=0)[:2]
    >>> found = sample_map(CLMKLClassifier(random_state=0).fit(X, y))
    >>> found.coordinates.shape, found.explained.shape
    ((80, 2), (2,))
    """

    coordinates: np.ndarray
    explained: np.ndarray


def sample_map(
    model: BaseMKL,
    X: Rows = None,
    *,
    train: Stack | Grouped | None = None,
    max_rows: int = 1000,
    groups: ArrayLike | None = None,
) -> SampleMap:
    """Place samples on a map by kernel PCA of the gate kernel, the kernel that says who is near whom.

    With known groups there is none, and the mean of all kernels takes its place.

    Parameters
    ----------
    model : fitted estimator
    X : rows, or cross-Grams when precomputed; optional
        The samples to place; by default the training rows, which a model with `n_components` does not keep:
        it learns the axes from its landmarks.
    train : GramStack, optional
        With precomputed kernels, the square stack of the fit: a model does not keep it.
    max_rows : int, default=1000
        Most training rows that the axes are learned from, evenly spaced.
    groups : array-like of shape (n_samples,), optional

    Returns
    -------
    SampleMap

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(80, random_state=0)[:2]
    >>> model = CLMKLClassifier(random_state=0).fit(X, y)
    >>> sample_map(model, X[:5]).coordinates.shape
    (5, 2)
    """
    check_integer("max_rows", max_rows, low=3)
    X = with_groups(X, groups)
    known = _map_reference(model, X, train)
    n_known = count_rows(known)
    chosen = np.unique(np.linspace(0, n_known - 1, min(n_known, max_rows)).astype(int))
    axes = KernelPCA(n_components=2, kernel="precomputed", random_state=0)
    compare = gate_comparison(model, known, chosen)
    gram = compare(take_rows(known, chosen))
    placed = axes.fit_transform(gram)
    spread = np.trace(gram) - gram.mean(axis=0).sum()
    if X is not None or len(chosen) < n_known:
        placed = axes.transform(compare(known if X is None else X))
    missing = 2 - placed.shape[1]  # all rows on a line, or on a point
    explained = np.pad(axes.eigenvalues_, (0, missing)) / max(spread, np.finfo(float).tiny)
    return SampleMap(np.pad(placed, ((0, 0), (0, missing))), explained)


def _map_reference(model: BaseMKL, X: Rows, train: Stack | Grouped | None) -> Rows:
    """Return the rows that the axes of a map are learned from: training rows, or landmarks."""
    if train is not None:
        return train if isinstance(train, Grouped) else with_training_groups(model, train)
    known = training_rows(model)
    if known is None and hasattr(model, "features_"):
        if X is None:
            raise ValueError(
                "The map needs rows to place as `X`: a model with `n_components` keeps no training rows."
            )
        known = X if model.features_.landmarks is None else Landmarks(model.features_.landmarks)
    if known is None:
        raise ValueError(
            "The map needs the Grams of the training rows, which a model with precomputed kernels does "
            "not keep; pass the square stack of the fit as `train`."
        )
    return known
