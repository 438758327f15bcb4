"""Cells of a table: numbers or not, their names in messages, and what fills the missing ones."""

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_array

from localmkl._checks import listed, shown
from localmkl._sklearn import count_rows, take
from localmkl._spelling import meant
from localmkl._types import ColumnChoice, Floats, Rows, Table


def learn_fills(kind: str, table: Table, sample_weight: Floats | None, names: Sequence[Any]) -> Floats:
    """Return the number that fills the gaps of each column, (n_columns,).

    Parameters
    ----------
    kind : {"median", "mean"}
    table : ndarray of shape (n_rows, n_columns)
        Training rows, NaN where a cell is missing.
    sample_weight : ndarray of shape (n_rows,) or None
        A row of weight w counts as w equal rows.
    names : list
        Of the columns, for messages.

    Examples
    --------
    >>> table = np.array([[1.0, 5.0], [2.0, np.nan], [6.0, np.nan]])
    >>> learn_fills("median", table, None, ["a", "b"])
    array([2., 5.])
    """
    weights = np.ones(len(table)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    counted = ~np.isnan(table) & (weights > 0.0)[:, None]
    empty = np.flatnonzero(~counted.any(axis=0))
    if len(empty):
        raise ValueError(
            f"`impute` needs a number in every column of the training rows, got none in column "
            f"{shown(names[empty[0]])}; leave the column out, or fill it."
        )
    return np.array(
        [FILLS[kind](column[own], weights[own]) for column, own in zip(table.T, counted.T, strict=True)]
    )


def weighted_median(values: Floats, weights: Floats) -> float:
    """Return the median of values, each counted as often as its weight says.

    Examples
    --------
    >>> weighted_median(np.array([1.0, 2.0, 9.0]), np.array([1.0, 1.0, 2.0]))
    5.5
    """
    order = np.argsort(values)
    shares = np.cumsum(weights[order])
    middle = 0.5 * shares[-1]
    low, high = (np.searchsorted(shares, middle, side=side) for side in ("left", "right"))
    return float(values[order[[low, high]]].mean())


def _weighted_mean(values: Floats, weights: Floats) -> float:
    return float(np.average(values, weights=weights))


def pick_columns(X: Rows, columns: ColumnChoice, name: str) -> Table:
    """Return the columns of a table that a kernel reads.

    Parameters
    ----------
    X : array, data frame or CSR matrix
    columns : int, str, slice, list of them or None
    name : str
        Of the kernel, for messages.
    """
    if columns is None:
        return X
    try:
        return take(X, _several(columns, X), axis=1)
    except (IndexError, KeyError, ValueError) as error:
        raise ValueError(
            f"{name} cannot take `columns` {columns!r}: {_why_not(X, columns, error)}"
        ) from error


def _why_not(X: Rows, columns: ColumnChoice, error: Exception) -> str:
    """Return the rest of a sentence that refuses columns that are not there."""
    chosen, n_columns = _several(columns, X), np.shape(X)[1]
    chosen = chosen if isinstance(chosen, list | tuple | np.ndarray) else []
    names = list(X.columns) if hasattr(X, "columns") else []
    unknown = [one for one in chosen if isinstance(one, str) and one not in names]
    if unknown and not names:
        return "names need a data frame; pass one, or number the columns from 0."
    if unknown:
        return f"the rows have no {unknown[0]!r}, they have {listed(names)}{meant(unknown[0], names)}"
    if any(isinstance(one, Integral) and not -n_columns <= one < n_columns for one in chosen):
        return f"the rows have {n_columns} columns, numbered from 0."
    return str(error)


def check_different_names(frame: Table) -> None:
    """Raise if two columns of a data frame have one name."""
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise ValueError(
            f"The columns of a data frame must have different names, got {shown(twice)} twice; rename one, "
            "or leave it out."
        )


def read_numbers(table: Table, name: str, names: Callable[[], Sequence[Any]]) -> Table:
    """Return the columns that a kernel reads as float64 numbers, an array or CSR matrix.

    Parameters
    ----------
    table : array, data frame or CSR matrix
    name : str
        Of the kernel, for messages.
    names : callable
        Returns what the user calls the columns.

    Examples
    --------
    >>> read_numbers(np.array([["1", "2.5"]], dtype=object), "Linear", lambda: [0, 1])
    array([[1. , 2.5]])
    """
    needed = f"{name} needs numeric columns"
    table = _plain(table)
    refuse_dates(table, needed, "choose other `columns`", names)
    try:
        return check_array(
            table, dtype=np.float64, accept_sparse="csr", ensure_all_finite=False, input_name="X"
        )
    except (TypeError, ValueError) as error:
        way_out = "choose numeric `columns`, take `Overlap` for categories, or use a kernel for sequences"
        refuse_others(table, needed, way_out, error, names)
        raise


def refuse_dates(
    table: Table, needed: str, way_out: str, names: Callable[[], Sequence[Any]] | None = None
) -> None:
    """Raise if a column holds dates or times, which NumPy takes for numbers, also where they are missing.

    Parameters
    ----------
    table : array, data frame or CSR matrix
    needed : str
        The beginning of the sentence: what was expected.
    way_out : str
        What can be done beside turning them into numbers.
    names : callable, optional
        Returns what the user calls the columns; numbers from 0 by default.
    """
    for place, cells in _odd_columns(table):
        values = np.asarray(cells)
        if values.dtype.kind in "mM" or (values.dtype == object and any(map(_is_time, values.tolist()))):
            raise ValueError(
                f"{needed}, got dates or times{_in_column(place, names)}; turn them into numbers, for "
                f"instance days since a date, or {way_out}."
            )


def refuse_others(
    table: Table,
    needed: str,
    way_out: str,
    error: Exception,
    names: Callable[[], Sequence[Any]],
) -> None:
    """Raise with the first cell that is not a number, if there is one; see `refuse_dates`."""
    for place, cells in _odd_columns(table):
        for cell in np.asarray(cells, dtype=object).tolist():
            text = isinstance(cell, str | bytes)
            if (place is None and not text) or (wrong := _why_no_number(cell)) is None:
                continue
            what = "text" if text else type(cell).__name__
            raise ValueError(
                f"{needed}, got {what}{_in_column(place, names)} ({wrong}); {way_out}."
            ) from error


def _odd_columns(table: Table) -> Iterator[tuple[int | None, Any]]:
    """Yield place and cells of each column whose type is not one of numbers; a lone column has no place."""
    if isinstance(table, list | tuple):
        table = np.asarray(table, dtype=object)
    if hasattr(table, "iloc"):
        for place, dtype in enumerate(table.dtypes):
            if getattr(dtype, "kind", "O") not in NUMERIC:
                yield place, table.iloc[:, place]
    elif isinstance(table, np.ndarray) and table.dtype.kind not in NUMERIC:
        yield from [(None, table)] if table.ndim < 2 else enumerate(table.T)


def _in_column(place: int | None, names: Callable[[], Sequence[Any]] | None) -> str:
    if place is None:
        return ""
    return f" in column {shown(place if names is None else names()[place])}"


def _is_time(cell: Any) -> bool:
    return hasattr(cell, "strftime") or isinstance(cell, timedelta | np.datetime64 | np.timedelta64)


def _why_no_number(cell: Any) -> str | None:
    """Return why a cell is no number; None if it is one, or None itself, which NumPy reads as NaN."""
    try:
        float(np.nan if cell is None else cell)
    except ValueError as error:
        return str(error)
    except TypeError:
        return repr(cell)
    return None


def _plain(table: Table) -> Table:
    """Return a data frame of NumPy's numbers as an array: checks would go through it column by column."""
    if hasattr(table, "iloc") and all(getattr(dtype, "kind", "O") in "iuf" for dtype in set(table.dtypes)):
        return table.to_numpy(dtype=np.float64, na_value=np.nan)
    return table


def pick_texts(X: Rows, column: Any, name: str, what: str) -> Any:
    """Return the column of texts that a kernel reads, as a list or array.

    Parameters
    ----------
    X : list, array or data frame
    column : str, int or None
        None: the only one.
    name, what : str
        Of the kernel, and of its texts, for messages.
    """
    framed = hasattr(X, "iloc") and hasattr(X, "columns")
    if hasattr(X, "to_numpy") and not framed:
        X = X.to_numpy()
    if not framed and (np.ndim(X) != 2 or isinstance(X, list | tuple)):
        return X
    if column is None and X.shape[1] > 1:
        among = f": {', '.join(map(str, X.columns))}" if framed else ""
        raise ValueError(
            f"{name} needs one column of {what}, got {X.shape[1]} columns; name one by `column`{among}."
        )
    if not framed:
        return X[:, 0 if column is None else column]
    if column in X.columns:
        return X[column].to_numpy(dtype=object)
    if column is None or (isinstance(column, int) and 0 <= column < X.shape[1]):
        return X.iloc[:, column or 0].to_numpy(dtype=object)
    raise ValueError(f"`column` of {name} must be one of {', '.join(map(str, X.columns))}, got {column!r}.")


def row_names(X: Rows) -> Sequence[Any]:
    """Return what the user calls the rows: labels of a data frame, numbers of an array."""
    return X.index if hasattr(X, "iloc") else range(count_rows(X))


def column_names(X: Rows, columns: ColumnChoice = None) -> list[Any]:
    """Return what the user calls the chosen columns: names in a data frame, numbers in an array."""
    if hasattr(X, "columns"):
        return list(X.columns if columns is None else pick_columns(X.iloc[:0], columns, "").columns)
    places = np.arange(np.shape(X)[1])
    return (places if columns is None else pick_columns(places[None], columns, "")[0]).tolist()


def _several(columns: ColumnChoice, X: Rows) -> ColumnChoice:
    columns = columns(X) if callable(columns) else columns
    return [columns] if isinstance(columns, str | Integral) else columns


NUMERIC = "biuf"
"""Kinds of types, as NumPy calls them, whose cells are numbers."""

FILLS = {"median": weighted_median, "mean": _weighted_mean}
"""Value of `impute`: a function of the numbers in a column and their weights."""
