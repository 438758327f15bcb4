"""Whether the parts of a fitted model belong together.

    n rows, M kernels, l clusters, K problems (one for two classes or regression, else one a class)

    dual_coef_       (n,) or (K, n)             intercept_    number or (K,)
    kernel_weights_  (l, M) or (K, l, M)        factors_      (M,)
    memberships_     (n, l)                     kernels_      M; None with precomputed Grams

A model that was fitted has all this by construction. One that comes out of a file, or whose attributes were
changed, is looked at here, so that it fails now and not at a prediction.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from localmkl._checks import check_memberships
from localmkl._sklearn import count_rows, is_fitted
from localmkl._types import Array
from localmkl.estimators.gating import ClusteringGate, MatrixGate, ModelGate, OneCluster
from localmkl.estimators.groups import GroupGate
from localmkl.kernels import FeatureMap, Kernel
from localmkl.solvers.losses import Loss

GATES = ClusteringGate, GroupGate, MatrixGate, ModelGate, OneCluster


def check_whole(model: Any) -> None:
    """Raise ValueError unless the attributes of a fitted estimator of localmkl fit together."""
    if not is_fitted(model):
        return
    try:
        _check_fitted(model)
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ValueError(f"{type(model).__name__} lacks a part: {error}") from error


def _check_fitted(model: Any) -> None:
    model._check_parameters()
    problems: tuple[int, ...] = ()
    if is_classifier(model):
        classes = model.classes_
        _require(len(classes) > 1 and np.array_equal(np.unique(classes), classes), "classes")
        problems = (len(classes),) if len(classes) > 2 else ()
    n_rows, n_kernels, n_clusters = (
        np.shape(model.dual_coef_)[-1],
        len(model.factors_),
        np.shape(model.kernel_weights_)[-2],
    )
    shapes = {
        "dual_coef_": (*problems, n_rows),
        "intercept_": problems,
        "kernel_weights_": (*problems, n_clusters, n_kernels),
        "factors_": (n_kernels,),
    }
    if not hasattr(model, "gating_"):
        shapes["memberships_"] = (n_rows, n_clusters)
        check_memberships(model.memberships_, n_rows, "memberships_")
        _require(isinstance(model.gate_, GATES), "gate")
    if getattr(model, "_on_features", False):
        shapes["feature_coef_"] = (*problems, n_clusters, sum(model.widths_))
        _require(model._precomputed or isinstance(model.features_, FeatureMap), "features")
    elif not model._precomputed:
        rows = count_rows(model.rows_)
        _require(rows >= n_rows if getattr(model, "transductive_", False) else rows == n_rows, "rows")
    for name, shape in shapes.items():
        _check_numbers(name, getattr(model, name), shape)
    _require(min(model.factors_.min(), model.kernel_weights_.min()) >= 0.0, "weights")
    _require(np.all((model.support_ >= 0) & (model.support_ < max(n_rows, 1))), "support vectors")
    kernels = model.kernels_
    known = kernels is None if model._precomputed else all(isinstance(one, Kernel) for one in kernels)
    _require(known and (kernels is None or len(kernels) == n_kernels), "kernels")
    _require((model.cosine_scales_ is not None) == (model.normalize == "cosine"), "cosine scales")
    _require(np.isfinite(model.duality_gap_) and model.n_iter_ >= 0 and model.history_, "history")
    _require(isinstance(model.loss_, Loss), "loss")
    if type(model.loss_).__module__.startswith("localmkl."):  # somebody else's code is not to run here
        replace(model.loss_)


def _check_numbers(name: str, value: Array | float, shape: tuple[int, ...]) -> None:
    """Raise unless a value holds finite numbers in this shape."""
    array = np.asarray(value)
    if array.shape != shape or array.dtype.kind != "f" or not np.isfinite(array).all():
        raise ValueError(f"{name} must hold finite numbers of shape {shape}, got {array.dtype} {array.shape}")


def _require(condition: Any, part: str) -> None:
    if not condition:
        raise ValueError(f"its parts do not fit together: {part}")
