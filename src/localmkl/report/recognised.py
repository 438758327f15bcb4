"""Rows that a model was trained on, recognised by what they hold."""

from typing import Any

import numpy as np
from scipy import sparse

from localmkl._checks import is_missing
from localmkl._sklearn import count_rows
from localmkl._types import Bools, Rows
from localmkl.explain import row_groups, rows_as_seen, training_rows
from localmkl.stacks import Stack
from localmkl.views import Views


def seen(model: Any, X: Rows) -> Bools:
    """Return the mask of rows that equal training rows, in the same group where there are groups.

    Parameters
    ----------
    model : fitted estimator
        One with a rank keeps landmarks alone: rows that equal these are found.
    X : rows, or Grams with the training rows

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> model = MKLClassifier().fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> seen(model, [[1.0], [2.0]])
    array([ True, False])
    """
    rows = rows_as_seen(model, X)
    if isinstance(rows, Stack):
        return _seen_grams(model, rows)
    known = training_rows(model)
    if known is None:
        landmarks = model.features_.landmarks if hasattr(model, "features_") else None
        own = set() if landmarks is None else set(fingerprints(landmarks))
        return np.array([mark in own for mark in fingerprints(rows)], dtype=bool)
    own = set(_marks(model, known))
    return np.array([mark in own for mark in _marks(model, X)], dtype=bool)


def _seen_grams(model: Any, stack: Stack) -> Bools:
    """Do as `seen` for Grams: those of the fit, or symmetric ones, are of the training rows."""
    origin, columns = model.columns_
    if stack.origin == origin:
        return np.isin(stack.row_numbers(), columns)
    gram = stack.block(0)
    return np.full(len(stack), gram.shape[0] == gram.shape[1] and np.allclose(gram, gram.T))


def _marks(model: Any, X: Rows) -> list[Any]:
    """Return something that is the same for equal rows of the same group, for each row."""
    found, groups = fingerprints(rows_as_seen(model, X)), row_groups(model, X)
    return found if groups is None else list(zip(found, map(str, groups), strict=True))


def fingerprints(rows: Rows) -> list[Any]:
    """Return something that is the same for equal rows, for each row."""
    if isinstance(rows, Views):
        views = []
        for name in rows.names:
            own = iter(fingerprints(rows.rows(name)) if rows.present(name).any() else ())
            views.append([next(own) if there else None for there in rows.present(name)])
        return list(zip(*views, strict=True))
    if hasattr(rows, "iloc"):
        rows = rows.to_numpy(dtype=object)
    if sparse.issparse(rows):
        parts = (rows[number] for number in range(count_rows(rows)))
        return [(part.indices.tobytes(), part.data.tobytes()) for part in parts]
    rows = np.asarray(rows)
    if rows.dtype != object:
        return [row.tobytes() for row in np.ascontiguousarray(rows)]
    if rows.ndim == 1:
        return list(rows)
    return [tuple(None if is_missing(cell) else cell for cell in row) for row in rows.tolist()]
