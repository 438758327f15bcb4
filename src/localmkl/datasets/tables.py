"""Tables with named columns: CSV and TSV (by `delimited`) or Parquet, one column the target."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from localmkl._checks import listed
from localmkl._spelling import meant
from localmkl._types import Array, FilePath, Ints, MaybeNone
from localmkl.datasets.delimited import SEPARATORS, delimited_pieces, field_at, read_delimited
from localmkl.datasets.labels import MISSING, as_labels, typed_labels
from localmkl.datasets.opening import check_regular, file_kind, import_extra, parsing, quoted

if TYPE_CHECKING:
    from pandas import DataFrame, Series


BAD_PARQUET = "is cut short or damaged, or no Parquet file"


class TableData(NamedTuple):
    """A table and its target column.

    Attributes
    ----------
    frame : pandas.DataFrame
    y : ndarray of shape (n_samples,), or None without a target
    """

    frame: DataFrame
    y: Array | MaybeNone


def read_table(
    path: FilePath,
    *,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    header: bool | None = None,
    text: Collection[str] = (),
) -> TableData:
    """Read a table with named columns from a CSV, TSV or Parquet file (needs pandas; Parquet needs pyarrow).

    Parameters
    ----------
    path : str or path-like
        ``.csv``, ``.tsv`` or ``.txt`` (tabs), also compressed, or ``.parquet``.
    target : str, optional
        Column that holds the labels or target values; it is left out of the table. As in `read_fasta`, labels
        that are written differently stay different.
    columns : list of str, optional
        Columns to keep; all by default.
    header : bool, optional
        Whether the first line holds the names of the columns; without names they are called 1, 2, 3 ... By
        default it does, and a first line that reads like data is an error.
    text : list of str, optional
        Columns to keep as they are written, names of rows for instance: ``007`` is no 7.

    Returns
    -------
    TableData
        Named tuple (frame, y); y is None without `target`.

    Examples
    --------
    >>> import pandas as pd
    >>> import tempfile
    >>> patients = pd.DataFrame({"age": [40, 61], "dose": [1.5, 0.5], "healed": ["yes", "no"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "patients.csv"
    ...     patients.to_csv(path, index=False)
    ...     frame, y = read_table(path, target="healed")
    >>> list(frame.columns), y.tolist()
    (['age', 'dose'], ['yes', 'no'])
    """
    pd = import_extra("pandas", "read_table", "frames")
    path = Path(path)
    kind = file_kind(path)
    if kind != ".parquet" and kind not in SEPARATORS:
        raise ValueError(
            f"{quoted(path)} must end in .csv, .tsv, .txt or .parquet (text also compressed), got {kind!r}; "
            "rename it, or read it with pandas."
        )
    if kind == ".parquet":
        frame = _read_parquet(pd, path)
    else:
        as_written = [*text, *([] if target is None else [target])]
        frame = read_delimited(pd, path, header=header, text=as_written)
    wanted = [*(columns or []), *([target] if target is not None else [])]
    missing = [name for name in wanted if name not in frame.columns]
    if missing:
        raise ValueError(
            f"{quoted(path)} must have the column {missing[0]!r}, it has {listed(frame.columns)}"
            f"{meant(missing[0], frame.columns)}"
        )
    y = None
    if target is not None:
        y, without = column_labels(path, frame.pop(target))
        if len(without):
            place, came = field_at(path, without[0], target, header=header)
            raise ValueError(
                f"{quoted(path)}, {place}: must have a value in the target column {target!r}, "
                f"got {repr(came) if came else 'none'}; fill it in, or leave the row out."
            )
    return TableData(frame if columns is None else frame[list(columns)], y)


def table_pieces(
    path: FilePath, *, header: bool | None = None, text: Collection[str] = (), letters: int
) -> Iterator[DataFrame]:
    """Yield the rows of a table as `read_table` has them, piece by piece, each numbered from zero.

    Parameters
    ----------
    path, header, text
        As `read_table` takes them.
    letters : int
        Letters of a piece of text; of Parquet, eight stand for a number.
    """
    pd, path = import_extra("pandas", "read_table", "frames"), Path(path)
    if file_kind(path) != ".parquet":
        yield from delimited_pieces(pd, path, header=header, text=text, letters=letters)
        return
    import_extra("pyarrow", "read_table for .parquet files", "frames")
    from pyarrow.parquet import ParquetFile

    check_regular(path)
    with parsing(path, BAD_PARQUET):
        file = ParquetFile(path)
        batches = file.iter_batches(max(1, letters // (8 * max(1, len(file.schema_arrow.names)))))
    while True:
        with parsing(path, BAD_PARQUET):
            batch = next(batches, None)
        if batch is None:
            return
        yield _checked(path, batch.to_pandas())


def column_labels(path: FilePath, column: Series) -> tuple[Array | None, Ints]:
    """Return the labels in a column of a table, None where some are missing, and the rows without."""
    without = unlabelled(path, column)
    return None if len(without) else joined_labels(path, [column.to_numpy()]), without


def unlabelled(path: FilePath, column: Series) -> Ints:
    """Return the rows of a column of labels that hold none."""
    if file_kind(path) == ".parquet":
        return np.flatnonzero(column.isna().to_numpy())
    return np.flatnonzero([text.strip() in MISSING for text in column])


def joined_labels(path: FilePath, parts: Sequence[Array]) -> Array:
    """Return the labels in parts of one column, none of which is missing."""
    labels = np.concatenate(parts)
    return typed_labels(labels) if file_kind(path) == ".parquet" else as_labels(labels.tolist())


def _read_parquet(pd: ModuleType, path: FilePath) -> DataFrame:
    import_extra("pyarrow", "read_table for .parquet files", "frames")
    check_regular(path)
    with parsing(path, BAD_PARQUET):
        frame = pd.read_parquet(path)
    return _checked(path, frame)


def _checked(path: FilePath, frame: DataFrame) -> DataFrame:
    """Return the frame of a Parquet file with names of columns as text, if they and its rows are sound."""
    frame.columns = frame.columns.map(str)
    if not frame.columns.is_unique:
        double = frame.columns[frame.columns.duplicated()][0]
        raise ValueError(
            f"{quoted(path)}: the column name {double!r} must come once, it comes several times."
        )
    if frame.shape[0] == 0 or frame.shape[1] == 0:
        raise ValueError(
            f"{quoted(path)} must hold rows and columns, got {frame.shape[0]} x {frame.shape[1]}."
        )
    return frame.reset_index(drop=True)
