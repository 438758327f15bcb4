"""Whether the parts of a fitted model belong together.

    n rows, M kernels, l clusters, K problems (one for two classes or regression, else one a class)

    dual_coef_       (n,) or (K, n)             intercept_    number or (K,)
    kernel_weights_  (l, M) or (K, l, M)        factors_      (M,)
    memberships_     (n, l)                     gate_         knows N >= n reference rows and l clusters, one
                                                              less if a part is shared
    rows_            N rows for M kernels_; none of both with precomputed Grams
    feature_coef_    (l, R) or (K, l, R), for R = sum(widths_) features, in place of rows_; n is 0 if
                     the rows were on a cluster

A model that was fitted has all this by construction. One that comes out of a file, or whose attributes
were changed, is asked here, so that it fails now and not at a prediction.
"""

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier

from localmkl._checks import check_integer, check_memberships, check_number, check_option
from localmkl._sklearn import is_fitted
from localmkl._types import Array, Floats, Ints, Rows, Table
from localmkl.estimators.base import COSINE, BaseMKL
from localmkl.estimators.convex import ConvexMKL, GlobalMKL
from localmkl.estimators.gated import GatedMKL
from localmkl.estimators.gating import (
    ClusteringGate,
    FeatureGateKernel,
    GateKernel,
    MatrixGate,
    ModelGate,
    OneCluster,
)
from localmkl.estimators.groups import GroupGate, find_column
from localmkl.gates import Gate
from localmkl.kernels import (
    RBF,
    Chi2,
    FeatureMap,
    Kernel,
    Overlap,
    Polynomial,
    SequenceKernel,
    SmithWaterman,
    TfIdf,
    VectorKernel,
    WeightedDegree,
)
from localmkl.kernels.stack import take_rows
from localmkl.kernels.viewed import MISSING, ViewKernel
from localmkl.solvers.losses import CLASSIFICATION, REGRESSION, Loss
from localmkl.views import Views

Shape: TypeAlias = tuple[int | None, ...]
"""Sizes of the axes of an array; None stands for any."""

Read: TypeAlias = dict[tuple[str, str], Ints]
"""Lengths of the sequences that kernels have read, by alphabet and column."""

MOST = 10**6
"""No kernel counts further: longer words, shifts or lags than that cannot be meant."""

LARGEST = 1e150
"""Products of larger numbers are not finite."""


def check_whole(model: BaseMKL, *, run: bool = True) -> None:
    """Raise ValueError unless the attributes of a fitted estimator of localmkl fit together.

    Parameters
    ----------
    model : estimator
    run : bool
        Whether a gate that is a model may be tried: not where it may hold code that is not to run yet.
    """
    if not is_fitted(model):
        return
    try:
        _check_fitted(model, run)
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ValueError(f"{type(model).__name__} lacks a part: {error}") from error


def check_feature_map(features: FeatureMap) -> None:
    """Raise ValueError unless the attributes of a `FeatureMap` fit together."""
    try:
        _check_feature_map(features)
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ValueError(f"FeatureMap lacks a part: {error}") from error


def _check_fitted(model: Any, run: bool) -> None:
    model._check_parameters()
    n_kernels = len(_numbers(model, "factors_", (None,)))
    n_rows = np.shape(model.dual_coef_)[-1]
    problems = _problems(model)
    _of_rows(model, "dual_coef_", (*problems, n_rows), n_rows)
    _numbers(model, "intercept_", problems)
    n_clusters = np.shape(model.kernel_weights_)[-2]
    weights = _numbers(model, "kernel_weights_", (*problems, n_clusters, n_kernels))
    _require(min(weights.min(), model.factors_.min()) >= 0.0, "its weights are negative")
    known = np.flatnonzero(np.atleast_2d(model.dual_coef_).any(axis=0))
    _require(
        model.support_.dtype.kind == "i" and np.array_equal(model.support_, known),
        "its support vectors are others than those of its dual_coef_",
    )
    n_references = _check_references(model, n_rows, n_kernels)
    if isinstance(model, GatedMKL):
        _check_gated(model, n_references, n_kernels)
    else:
        memberships = _of_rows(model, "memberships_", (n_rows, n_clusters), n_rows)
        if n_rows:
            check_memberships(memberships, n_rows, "memberships_")
        shared = model._shared
        check_number("shared_", shared, low=0.0, high=1.0)
        _check_gate(model, n_references, n_clusters - (0.0 < shared < 1.0), n_kernels, run)
        if getattr(model, "_by_groups", False):
            groups = model.groups_
            _require(groups.dtype.kind == "U" and groups.shape == (n_rows,), "its rows have no groups")
    _check_loss(model.loss_)
    _check_history(model)


def _check_loss(loss: Any) -> None:
    """Raise unless a loss can be asked for its value; the numbers of ours are checked as it does itself."""
    _require(isinstance(loss, Loss), "its loss is none")
    if type(loss) in (*CLASSIFICATION.values(), *REGRESSION.values()):
        replace(loss)


def _check_gated(model: GatedMKL, n_references: int, n_kernels: int) -> None:
    _require(n_references == np.shape(model.dual_coef_)[-1], "it has other rows than its gate")
    _check_gate_kernel(model.gate_kernel_, model, n_kernels)
    n_problems = len(np.atleast_1d(model.intercept_))
    for name in ("gate_coef_", "gating_"):
        _numbers(model, name, (n_problems, n_references, n_kernels))
    _numbers(model, "gate_intercept_", (n_problems, n_kernels))


def _problems(model: BaseMKL) -> tuple[int, ...]:
    """Return the first axes of what there is one of for each problem."""
    if not is_classifier(model):
        return ()
    classes = model.classes_
    _require(
        len(classes) >= 2 and np.array_equal(np.unique(classes), classes) and classes.tolist(),
        "its classes are not in order",
    )
    return (len(classes),) if len(classes) > 2 else ()


def _check_references(model: BaseMKL, n_rows: int, n_kernels: int) -> int:
    """Return with how many rows new ones are compared: the training rows, and unlabelled ones if any.

    A model on features compares with none, but has so many features.
    """
    if getattr(model, "_on_features", False):
        return _check_factors(model, n_kernels)
    if model._precomputed:
        origin, columns = model.columns_
        n_references = model.n_features_in_
        _require(
            model.kernels_ is None and isinstance(origin, str) and np.shape(columns) == (n_references,),
            "it has no columns to compare with",
        )
    else:
        n_references = _check_rows(model, n_kernels)
    more = getattr(model, "transductive_", False)
    _require(n_references >= n_rows if more else n_references == n_rows, "it has other rows than dual_coef_")
    _require((model.cosine_scales_ is not None) == (model.normalize == COSINE), "it has no cosine scales")
    if model.cosine_scales_ is not None:
        _numbers(model, "cosine_scales_", (n_kernels, n_references))
    return n_references


def _check_factors(model: Any, n_kernels: int) -> int:
    """Return the number of features of a model that is made of them."""
    widths = model.widths_
    _require(isinstance(widths, list) and len(widths) == n_kernels, "its features are of other kernels")
    for width in widths:
        check_integer("width", width, low=1)
    n_clusters = np.shape(model.kernel_weights_)[-2]
    _numbers(model, "feature_coef_", (*_problems(model), n_clusters, sum(widths)))
    _require(model.cosine_scales_ is None, "it has cosine scales beside features")
    if not model._precomputed:
        _require(isinstance(model.features_, FeatureMap), "it has no features")
        check_feature_map(model.features_)
        _require(
            list(model.features_.widths) == widths and len(model.kernels_) == n_kernels,
            "its features are others than its coefficients",
        )
        _numbers(model, "approximation_error_", (n_kernels,))
    return sum(widths)


def _check_rows(model: Any, n_kernels: int) -> int:
    """Return the number of reference rows; each kernel must be able to read them."""
    rows = model.rows_
    if isinstance(rows, Views):
        column, views = getattr(model, "groups", None), list(model.views_)
        whose = () if column is None else find_column(model.views_, column)[:1]  # it may hold nothing else
        expected = [name for name in views if name in rows.names or name not in whose]
        _require(rows.names == expected, "its rows have other views than it says")
        for table in rows.tables.values():
            if (isinstance(table, np.ndarray) and table.ndim == 2) or sparse.issparse(table):
                _check_table("rows_", table)
    elif np.ndim(rows) == 2:
        column = getattr(model, "groups", None)
        n_columns = rows.shape[1] + (column is not None)
        _require(n_columns == model.n_features_in_, "its rows have other columns than it says")
        if hasattr(rows, "iloc"):
            names = [name for name in getattr(model, "feature_names_in_", rows.columns) if name != column]
            _require(np.array_equal(names, rows.columns), "its rows have other columns than it says")
        else:
            _check_table("rows_", rows)
    else:
        _require(all(isinstance(row, str | bytes) for row in rows), "its rows are no text")
    _require(
        isinstance(model.kernels_, list) and len(model.kernels_) == n_kernels, "its kernels are not as many"
    )
    read: Read = {}
    for kernel, factor in zip(model.kernels_, model.factors_, strict=True):
        _check_kernel(kernel, rows, read, factor)
    return _count(rows)


def _check_table(name: str, rows: Table) -> None:
    """Raise unless rows are finite numbers, or gaps, which are for kernels to judge; objects are too."""
    if sparse.issparse(rows):
        _check_array(name, np.append(rows.data, 0.0), (None,))
    elif rows.dtype != object:
        _check_array(name, np.where(np.isnan(rows), 0.0, rows), (None, None))


def _check_kernel(kernel: Any, rows: Rows, read: Read, factor: float = 1.0) -> None:
    """Raise unless a fitted kernel can read the rows; `read` keeps sequences that others have read too."""
    _require(isinstance(kernel, Kernel), "a kernel is none")
    if isinstance(kernel, ViewKernel):
        _require(
            isinstance(rows, Views) and {kernel.view, *kernel.views} <= set(rows.names), "it has no such view"
        )
        check_option("missing", kernel.missing, MISSING)
        if kernel.width_ is not None:
            check_integer("width_", kernel.width_, low=1)
        if rows.present(kernel.view).any():
            _check_kernel(kernel.kernel_, rows.rows(kernel.view), {}, factor)
        return
    if not type(kernel).__module__.startswith("localmkl."):  # somebody else's, who answers for it
        return
    large = [name for name, value in kernel.get_params(deep=False).items() if _is_large(value)]
    _require(not large, f"{large} of a kernel is beyond {MOST:,}")
    if isinstance(kernel, VectorKernel):
        if isinstance(kernel, RBF | Chi2):
            check_number("gamma_", kernel.gamma_, low=0.0, finite=True)
        elif isinstance(kernel, Polynomial):
            kernel._learn(rows, None)
        with np.errstate(all="ignore"):  # no k(x, y) is larger than the largest k(x, x)
            _require(np.max(kernel.diag(rows)) * factor < LARGEST, "its rows are too large for its kernels")
        return
    if isinstance(kernel, Overlap):
        _require(
            kernel.features(rows).shape == (_count(rows), sum(map(len, kernel.categories_))),
            "its categories are none",
        )
        return
    if isinstance(kernel, TfIdf):
        terms = kernel.terms_ if kernel.terms_ is None else list(kernel.terms_)
        known = terms is None or (
            all(isinstance(term, str) for term in terms) and len(set(terms)) == len(terms) == len(kernel.idf_)
        )
        _check_array("idf_", kernel.idf_, (None,))
        _require(known and (kernel.idf_ >= 0.0).all(), "its terms are none")
        _require(kernel.features(rows).shape == (_count(rows), len(kernel.idf_)), "its terms are none")
        return
    _require(isinstance(kernel, SequenceKernel), "a kernel is none")
    key = str(kernel.alphabet), repr(kernel.column)
    if key not in read:
        read[key] = kernel._encode(rows).lengths
    if isinstance(kernel, SmithWaterman):  # all else needs parasail
        _require(all(isinstance(text, str) for text in kernel.references_), "references_ are no text")
        return
    kernel._check()
    if isinstance(kernel, WeightedDegree):
        same = isinstance(kernel.length_, Integral) and np.all(read[key] == kernel.length_)
        _require(same, "its sequences have other lengths than its kernels")


def _check_feature_map(features: FeatureMap) -> None:
    lists = features.kernels, features.widths, features.roots
    sizes = {len(one) for one in lists}
    _require(len(sizes) == 1 and 0 not in sizes, "its features are of other kernels than it says")
    _require(isinstance(features.cosine, bool), "its features have no normalisation")
    landmarks = features.landmarks
    read: Read = {}
    _require(landmarks is None or _count(landmarks) > 0, "it has no landmarks")
    if sparse.issparse(landmarks):
        _check_table("landmarks", landmarks)
    elif isinstance(landmarks, np.ndarray) and landmarks.dtype.kind not in "OUS":
        _check_table("landmarks", landmarks.astype(np.float64))
    for kernel, width, root in zip(*lists, strict=True):
        check_integer("width", width, low=1)
        _require(isinstance(kernel, Kernel), "a kernel is none")
        if landmarks is not None:
            _check_kernel(kernel, landmarks, read)
        if root is not None:
            _check_array("roots", root, (_count(landmarks), width))


def _is_large(value: Any) -> bool:
    return isinstance(value, Integral) and abs(int(value)) > MOST


def _check_gate(model: ConvexMKL, n_references: int, n_clusters: int, n_kernels: int, run: bool) -> None:
    """Raise unless the gate gives memberships in as many clusters as there are weights for."""
    gate = model.gate_
    if isinstance(model, GlobalMKL) or model._shared == 1.0:
        _require(type(gate) is OneCluster and n_clusters == 1, "it has clusters")
    elif isinstance(gate, ClusteringGate):
        own = getattr(gate.kernel, "own", None)
        n_compared = own.n_features if isinstance(own, FeatureMap) else n_references
        _check_clustering(gate.clustering, n_compared, n_clusters)
        _check_gate_kernel(gate.kernel, model, n_kernels)
    elif isinstance(gate, GroupGate):
        _check_group_gate(gate, model, n_clusters)
    elif isinstance(gate, MatrixGate):
        check_memberships(_numbers(gate, "matrix", (None, n_clusters)), len(gate.matrix))
        _require(isinstance(gate.origin, str | None), "its gate knows no rows")
    else:
        _require(
            isinstance(gate, ModelGate) and gate.n_clusters == n_clusters, "it has no gate of its clusters"
        )
        rows = model.features_.landmarks if model._on_features else model.rows_
        if run and rows is not None:
            gate.memberships(take_rows(rows, slice(0, 1)), None, slice(0, 1))


def _check_clustering(clustering: Any, n_compared: int, n_clusters: int) -> None:
    _require(isinstance(clustering, Gate), "its gate is none")
    check_integer("n_clusters", clustering.n_clusters, low=n_clusters)
    _require(clustering.n_clusters == n_clusters, "its gate has other clusters than its weights")
    check_number("tau_", clustering.tau_, low=0.0)
    if not type(clustering).__module__.startswith("localmkl."):  # somebody else's, who answers for it
        return
    _numbers(clustering, "averages_", (n_compared, n_clusters))
    _numbers(clustering, "offsets_", (n_clusters,))


def _check_group_gate(gate: GroupGate, model: ConvexMKL, n_clusters: int) -> None:
    _require(
        gate.labels.dtype.kind == "U" and gate.labels.shape == (n_clusters,) and gate.known.dtype.kind == "U",
        "its gate has other groups than its weights",
    )
    check_memberships(_numbers(gate, "table", (None, n_clusters)), len(gate.known), "table")
    _require(set(model.groups_) <= set(gate.labels), "its rows are of other groups than its gate")


def _check_gate_kernel(kernel: Any, model: BaseMKL, n_kernels: int) -> None:
    on_features, view = getattr(model, "_on_features", False), getattr(kernel, "view", None)
    _require(view is None or view in getattr(model, "views_", {}), "its gate reads no view")
    _require(type(kernel) is (FeatureGateKernel if on_features else GateKernel), "it has no gate kernel")
    if kernel.own is not None and on_features:
        _require(isinstance(kernel.own, FeatureMap), "its gate has no features")
        check_feature_map(kernel.own)
    elif kernel.own is not None:
        _require(kernel.index is None and not model._precomputed, "its gate has two kernels")
        _check_kernel(kernel.own, model.rows_, {})
    elif kernel.index is not None:
        check_integer("index", kernel.index, low=-n_kernels)
        _require(kernel.index < n_kernels, "its gate has a kernel that is not there")


def _check_history(model: BaseMKL) -> None:
    """Raise unless the history of the optimisation is whole."""
    check_integer("n_iter_", model.n_iter_, low=0)
    check_number("duality_gap_", model.duality_gap_, low=-np.inf)
    for name in ("tau_", "evenness_", "squared_norm_"):
        _require(np.asarray(getattr(model, name, 0.0)).dtype.kind in "fi", f"{name} is no number")
    histories = [model.history_] if isinstance(model.history_, dict) else model.history_
    _require(len(histories) == len(np.atleast_1d(model.intercept_)), "its history is of other problems")
    for history in histories:
        shapes = {history[name].shape for name in ("primal", "dual", "gap")}
        _require(len(shapes) == 1 and len(shapes.pop()) == 1, "its history is not whole")


def _of_rows(model: BaseMKL, name: str, shape: Shape, n_rows: int) -> Floats:
    """Return an attribute that has something for each training row; without any, if the fit kept none."""
    if n_rows:
        return _numbers(model, name, shape)
    kept = getattr(model, name)
    _require(model._on_features and kept.shape == shape and kept.dtype == np.float64, "it has no rows")
    return kept


def _count(rows: Rows) -> int:
    return rows.shape[0] if sparse.issparse(rows) else len(rows)


def _numbers(owner: Any, name: str, shape: Shape) -> Floats:
    """Return an attribute that must hold finite numbers in this shape."""
    return _check_array(name, getattr(owner, name, None), shape)


def _check_array(name: str, value: Any, shape: Shape) -> Array:
    """Return an array, or a number, if it is finite and in this shape; None stands for any size."""
    array = np.asarray(value)
    fits = array.ndim == len(shape) and all(
        size in (None, found) for size, found in zip(shape, array.shape, strict=True)
    )
    plain = isinstance(value, np.ndarray) if shape else isinstance(value, Real)
    if not (fits and plain and array.dtype.kind == "f" and array.size):
        expected = tuple("any" if size is None else size for size in shape)
        raise ValueError(f"{name} must hold numbers of shape {expected}, got {array.dtype} {array.shape}")
    if not np.abs(array).max() < LARGEST:
        raise ValueError(f"{name} must hold numbers below {LARGEST:g}, got {np.abs(array).max()}")
    return array


def _require(condition: Any, otherwise: str) -> None:
    if not condition:
        raise ValueError(otherwise)
