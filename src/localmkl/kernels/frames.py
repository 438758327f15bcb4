"""Data frames, sparse rows and views as plain arrays, for files without code."""

from typing import Any

import numpy as np
from scipy import sparse

from localmkl._checks import is_missing
from localmkl._types import Array, Bools, Ints, Rows, Table
from localmkl.kernels import sparse_rows
from localmkl.views import ABSENT, Views


def are_apart(rows: Rows) -> bool:
    """Whether rows go into files in parts: a data frame, a sparse matrix, views."""
    return hasattr(rows, "iloc") or sparse.issparse(rows) or isinstance(rows, Views)


def take_apart(rows: Rows) -> dict[str, Any]:
    """Return the names of the columns, and one matrix for each type: thousands of columns are few arrays.

    Of a sparse matrix, its arrays; of views, the rows and places of each.
    """
    if isinstance(rows, Views):
        own = rows.compact()
        tables = [take_apart(one) if are_apart(one) else one for one in own.tables.values()]
        headers = [[name, np.array(columns)] for name, columns in own.headers.items()]
        where = list(own.places.values())
        return {"views": own.names, "tables": tables, "places": where, "headers": headers}
    if sparse.issparse(rows):
        return sparse_rows.take_apart(rows)
    types = np.array([str(dtype) for dtype in rows.dtypes])
    places = {kind: np.flatnonzero(types == kind) for kind in dict.fromkeys(types.tolist())}
    blocks = [[where, _plain(rows.iloc[:, where].to_numpy())] for where in places.values()]
    return {"names": np.array([str(name) for name in rows.columns]), "blocks": blocks}


def _plain(block: Array) -> Array:
    """Return a block of objects with None for all that stands for a missing value: pandas.NA is no value."""
    if block.dtype != object:
        return block
    cells = np.empty(block.size, dtype=object)
    cells[:] = [None if is_missing(value) else value for value in block.ravel().tolist()]
    return cells.reshape(block.shape)


def put_together(parts: dict[str, Any]) -> Rows:
    """Undo `take_apart`."""
    if "views" in parts:
        tables = [put_together(one) if isinstance(one, dict) else one for one in parts["tables"]]
        named = zip(parts["views"], tables, parts["places"], strict=True)
        views = Views({name: _owned(table, places) for name, table, places in named})
        headers = {name: columns.tolist() for name, columns in parts.get("headers", [])}
        if any(len(columns) != views.tables[name].shape[1] for name, columns in headers.items()):
            raise ValueError("the names of columns are none")
        return views.with_tables(views.tables, headers)
    if "csr" in parts:
        return sparse_rows.put_together(parts)
    import pandas as pd

    columns: dict[int, Array] = {}
    for places, block in parts["blocks"]:
        columns |= {int(place): column for place, column in zip(places, block.T, strict=True)}
    frame = pd.DataFrame({place: columns[place] for place in sorted(columns)})
    return frame.set_axis(parts["names"].tolist(), axis=1)


def _owned(table: Table, places: Ints) -> tuple[Table, Bools]:
    """Return rows and the samples that they belong to, as `Views` takes them."""
    own = np.flatnonzero(places != ABSENT)
    if not np.array_equal(places[own], np.arange(len(own))):
        raise ValueError("the samples of a view are none")
    return table, places != ABSENT
