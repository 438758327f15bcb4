"""Rows recognised: something that is the same for equal rows, and different for others."""

import numpy as np
from scipy import sparse

from localmkl._checks import is_missing
from localmkl.views import Views


def marks(model, X):
    """Return something that is the same for equal rows of the same group, for each row."""
    found, groups = fingerprints(model._check_rows(X, reset=False)), model._groups_in(X)
    return found if groups is None else list(zip(found, groups.tolist(), strict=True))


def fingerprints(rows):
    """Return something that is the same for equal rows, for each row."""
    if isinstance(rows, Views):
        return list(zip(*(_of_view(rows, name) for name in rows.names), strict=True))
    if hasattr(rows, "iloc"):
        rows = rows.to_numpy(dtype=object)
    if sparse.issparse(rows):
        ends = rows.indptr[1:-1]
        parts = zip(np.split(rows.indices, ends), np.split(rows.data, ends), strict=True)
        return [(places.tobytes(), values.tobytes()) for places, values in parts]
    rows = np.asarray(rows)
    if rows.dtype == object:
        return rows.tolist() if rows.ndim == 1 else [_comparable(row) for row in rows.tolist()]
    return [row.tobytes() for row in np.ascontiguousarray(rows)]


def _of_view(views, name):
    """Return the fingerprints of one view, None of samples that lack it."""
    own = iter(fingerprints(views.rows(name)) if views.present(name).any() else ())
    return [next(own) if there else None for there in views.present(name)]


def _comparable(row):
    """Return the cells of a row with None for those that are missing: NaN is not equal to itself."""
    return tuple(None if is_missing(cell) else cell for cell in row)


def is_symmetric(stack):
    """Whether these Grams can be those of the training rows with themselves."""
    gram = stack.block(0)
    return gram.shape[0] == gram.shape[1] and np.allclose(gram, gram.T)
