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
from localmkl.estimators.groups import GroupGate, with_groups
from localmkl.estimators.seen import (
    gate_comparison,
    is_precomputed,
    row_groups,
    training_rows,
)
from localmkl.kernels import short_names
from localmkl.kernels.stack import take_rows
from localmkl.kernels.viewed import ViewKernel
from localmkl.solvers.losses import CLASSIFICATION, REGRESSION


def kernel_names(model: BaseMKL) -> list[str]:
    """Return a short name for each kernel of a fitted model, no two alike.

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    list of str

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> from localmkl.kernels import Linear, RBF
    >>> kernel_names(MKLClassifier([Linear(), RBF(0.1)]).fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]))
    ['linear', 'rbf']
    """
    check_is_fitted(model)
    if model.kernels_ is None:
        return [f"kernel {m + 1}" for m in range(len(model.factors_))]
    return short_names(bare_kernels(model))


def numbered(names: Sequence[str]) -> list[str]:
    """Return names with a number after those that occur several times.

    Examples
    --------
    >>> numbered(["a", "b", "a"])
    ['a (1)', 'b', 'a (3)']
    """
    repeated = {name for name in names if names.count(name) > 1}
    return [f"{name} ({m + 1})" if name in repeated else name for m, name in enumerate(names)]


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
    check_is_fitted(model)
    weights = np.reshape(model.kernel_weights_, (-1, *np.shape(model.kernel_weights_)[-2:])).astype(float)
    totals = weights.sum(axis=-1, keepdims=True)
    even = np.full_like(weights, 1.0 / weights.shape[-1])
    return np.divide(weights, totals, out=even, where=totals > 0.0).mean(axis=0)


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

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    list of str

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
    model: BaseMKL, X: Rows = None, *, max_rows: int = 1000, groups: ArrayLike | None = None
) -> SampleMap:
    """Place samples on a map by kernel PCA of the gate kernel, the kernel that says who is near whom.

    With known groups there is none, and the mean of all kernels takes its place.

    Parameters
    ----------
    model : fitted estimator
        On rows; one with precomputed kernels keeps nothing to compare with.
    X : rows, optional
        The samples to place; by default the training rows. A model with `n_components` keeps none, and its
        axes are learned from `X`.
    max_rows : int, default=1000
        Most rows that the axes are learned from, evenly spaced.
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
    X, known = with_groups(X, groups), training_rows(model)
    known = X if known is None else known
    if known is None or is_precomputed(model):
        raise ValueError("The map needs rows: pass them as `X`, to a model whose kernels read rows.")
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
