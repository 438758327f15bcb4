"""Prediction where the chunks are: answers are dask arrays, computed when they are asked for."""

from typing import Any

import numpy as np

from localmkl._sklearn import count_rows
from localmkl._types import Array, Rows
from localmkl.cluster.chunks import lengths_of
from localmkl.estimators.base import BaseMKL

METHODS = (
    "predict",
    "decision_function",
    "predict_proba",
    "predict_log_proba",
    "memberships",
    "contributions",
)


def predict(model: BaseMKL, X: Rows, method: str = "predict") -> Any:
    """Return what a fitted model says of rows in chunks, as a dask array with these chunks.

    Parameters
    ----------
    model : fitted estimator
    X : dask.array.Array or dask.dataframe.DataFrame
    method : {"predict", "decision_function", "predict_proba", "predict_log_proba", "memberships", \
"contributions"}, default="predict"

    Returns
    -------
    dask.array.Array
        Nothing is computed yet, and no cluster is needed: any scheduler of dask will do.
    """
    import dask.array as da
    from dask import delayed

    from localmkl._checks import check_option

    check_option("method", method, METHODS)
    tail, dtype = _outcome(model, method)
    ask = delayed(_ask, pure=True)
    shared = delayed(model, traverse=False)
    parts, lengths = lengths_of(X)
    blocks = [
        da.from_delayed(ask(shared, method, part, tail, dtype), (n_rows, *tail), dtype)
        for part, n_rows in zip(parts, lengths, strict=True)
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def _outcome(model: BaseMKL, method: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape of what a model says of one row, and its type."""
    weights = np.shape(model.kernel_weights_)
    problems = weights[:-2]
    shapes = {
        "predict": (),
        "decision_function": problems,
        "memberships": weights[-2:-1],
        "contributions": weights,
    }
    if method in shapes:
        classes = getattr(model, "classes_", np.empty(0))
        return shapes[method], classes.dtype if method == "predict" else np.dtype(np.float64)
    getattr(model, method)  # says what it lacks
    return (len(model.classes_),), np.dtype(np.float64)


def _ask(model: BaseMKL, method: str, X: Rows, tail: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    if count_rows(X) == 0:
        return np.empty((0, *tail), dtype=dtype)
    return getattr(model, method)(X)
