"""Sparse rows: one format, their spread, and plain arrays for files without code."""

from typing import Any

import numpy as np
from scipy import sparse

from localmkl._types import Floats, Rows, Table


def as_csr(X: Rows) -> Rows:
    """Return a sparse matrix as CSR with every entry stored once; other rows as they are."""
    if not sparse.issparse(X):
        return X
    table = X.tocsr()
    if not table.has_canonical_format:  # squares of entries that are stored in two parts would be wrong
        table = table.copy()
        table.sum_duplicates()
    return table


def spread_of(table: Table, sample_weight: Floats | None = None) -> float:
    """Return the variance over all entries, rows counted by weight.

    Examples
    --------
    >>> table = np.array([[0.0, 4.0], [0.0, 0.0]])
    >>> spread_of(table), spread_of(sparse.csr_array(table))
    (3.0, 3.0)
    """
    weights = np.ones(table.shape[0]) if sample_weight is None else np.asarray(sample_weight)
    if not sparse.issparse(table):
        mean = np.average(table, axis=0, weights=weights).mean()
        return float(np.average((table - mean) ** 2, axis=0, weights=weights).mean())
    stored = np.repeat(weights, np.diff(table.indptr))
    total = weights.sum() * table.shape[1]
    mean = stored @ table.data / total
    squares = stored @ (table.data - mean) ** 2 + (total - stored.sum()) * mean**2
    return float(squares / total)


def take_apart(table: Table) -> dict[str, list[Any]]:
    """Return a CSR matrix as plain arrays."""
    return {"shape": list(table.shape), "csr": [table.data, table.indices, table.indptr]}


def put_together(parts: dict[str, list[Any]]) -> sparse.csr_matrix:
    """Undo `take_apart`; raise where an entry would be outside of the matrix."""
    data, indices, indptr = parts["csr"]
    if not (data.dtype.kind == "f" and indices.dtype.kind == indptr.dtype.kind == "i"):
        raise ValueError("a sparse matrix has no numbers")
    table = sparse.csr_matrix((data, indices, indptr), shape=tuple(parts["shape"]))
    table.check_format(full_check=True)
    return table
