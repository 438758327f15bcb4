"""Rows as a fitted model sees them, for those who explain it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from localmkl._types import Array, Floats, MaybeNone, Picked, Rows
from localmkl.estimators.gating import FeatureGateKernel, GateKernel
from localmkl.estimators.groups import rows_of
from localmkl.estimators.reading import PRECOMPUTED
from localmkl.kernels.stack import take_rows

if TYPE_CHECKING:
    from localmkl.estimators.base import BaseMKL


def is_precomputed(model: BaseMKL) -> bool:
    """Return whether a model reads Gram matrices instead of rows.

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> is_precomputed(MKLClassifier(kernels="precomputed")), is_precomputed(MKLClassifier())
    (True, False)
    """
    return isinstance(model.kernels, str) and model.kernels == PRECOMPUTED


def rows_as_seen(model: BaseMKL, X: Rows) -> Rows:
    """Return rows checked and in the form that kernels take, without their groups.

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> rows_as_seen(MKLClassifier().fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]), [[2]])
    array([[2.]])
    """
    check_is_fitted(model)
    return model._check_rows(X, reset=False)


def row_groups(model: BaseMKL, X: Rows) -> Array | MaybeNone:
    """Return the group of each row, None where it has none; or None for a model that reads no groups."""
    return model._groups_in(X)


def training_rows(model: BaseMKL) -> Rows | None:
    """Return the training rows that a fitted model keeps, or None with precomputed kernels.

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    rows or None

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> training_rows(MKLClassifier().fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])).shape
    (4, 1)
    """
    check_is_fitted(model)
    rows = getattr(model, "rows_", None)
    if rows is None:
        return None
    return model._as_given(take_rows(rows, slice(0, np.shape(model.dual_coef_)[-1])))


def gate_comparison(model: BaseMKL, known: Rows, chosen: Array) -> Callable[[Rows], Floats]:
    """Return a function of rows: the kernel that says who is near whom, between them and some known rows.

    Parameters
    ----------
    model : fitted estimator
    known : rows
        The training rows; of a model on features, any.
    chosen : ndarray of int
        Which of them.
    """
    if not hasattr(model, "widths_"):
        return lambda rows: _gate_gram(model, rows, chosen)
    own = _gate_features(model, take_rows(known, chosen))
    return lambda rows: _gate_features(model, rows) @ own.T


def _gate_features(model: BaseMKL, X: Rows) -> Floats:
    """Return the features of rows whose products are the gate kernel."""
    X, grams = model._compare(X)
    kernel = getattr(getattr(model, "gate_", None), "kernel", None)
    if kernel is None:
        kernel = FeatureGateKernel(None, len(model.factors_), is_precomputed(model))
    return np.asarray(kernel.cross_gram(rows_of(X), grams))


def _gate_gram(model: BaseMKL, X: Rows, columns: Picked) -> Floats:
    """Return the gate kernel between rows and some of the training rows."""
    X, grams = model._compare(X)
    kernel = getattr(getattr(model, "gate_", None), "kernel", None) or getattr(model, "gate_kernel_", None)
    if kernel is None:
        kernel = GateKernel(None, len(model.factors_), is_precomputed(model))
    if kernel.own is not None:
        return kernel.own(X, take_rows(model.rows_, columns))
    if kernel.index is not None:
        return grams.block(kernel.index, slice(None), columns)
    return np.asarray(grams.mean(slice(None), columns))
