"""Tables with named columns from CSV, TSV and Parquet files.

pandas reads them. What only an error message needs, the line of a row and the text of a cell, is looked up in
the file when an error has occurred.
"""

from __future__ import annotations

import csv
import re
import sys
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from localmkl._checks import listed
from localmkl._spelling import meant
from localmkl._types import Array, FilePath, MaybeNone
from localmkl.datasets.labels import as_labels, is_label
from localmkl.datasets.opening import (
    check_regular,
    check_room,
    file_kind,
    import_extra,
    naming_damage,
    parsing,
    quoted,
    text_lines,
)

if TYPE_CHECKING:
    from pandas import DataFrame

Record: TypeAlias = tuple[int, list[str]]
"""A line and its fields."""

SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}

DECIMAL_COMMA = re.compile(r"\s*[+-]?(?:0,[0-9]+|[0-9]+,(?:[0-9]{1,2}|[0-9]{4,}))\s*")
"""A number with a decimal comma that cannot be one between thousands."""


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
        ``.csv``, ``.tsv`` or ``.txt`` (tabs), also compressed, or ``.parquet``. If the first line of a
        text has more semicolons than commas or tabs, they separate the columns.
    target : str, optional
        Column that holds the labels or target values; it is left out of the table. As in `read_fasta`, labels
        that are written differently stay different.
    columns : list of str, optional
        Columns to keep; all by default.
    header : bool, optional
        Whether the first line holds the names of the columns; without names they are called 1, 2, 3 ... By
        default it does.
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
    named = [] if target is None else [target]
    frame = next(table_pieces(path, header=header, text=[*text, *named]))
    missing = [name for name in [*(columns or []), *named] if name not in frame.columns]
    if missing:
        raise ValueError(
            f"{quoted(path)} must have the column {missing[0]!r}, it has {listed(frame.columns)}"
            f"{meant(missing[0], frame.columns)}"
        )
    y = None
    if target is not None:
        values = frame.pop(target).tolist()
        without = [row for row, value in enumerate(values) if not is_label(value)]
        if without:
            place, came = field_at(path, without[0], target, header=header)
            raise ValueError(
                f"{quoted(path)}, {place}: must have a value in the target column {target!r}, "
                f"got {repr(came) if came else 'none'}; fill it in, or leave the row out."
            )
        y = as_labels(values)
    return TableData(frame if columns is None else frame[list(columns)], y)


def table_pieces(
    path: FilePath, *, header: bool | None = None, text: Collection[str] = (), letters: int | None = None
) -> Iterator[DataFrame]:
    """Yield the rows of a table as `read_table` has them, piece by piece, each numbered from zero.

    Parameters
    ----------
    path, header, text
        As `read_table` takes them.
    letters : int, optional
        Letters of a piece of text; of Parquet, eight stand for a number. By default there is one piece.
    """
    pd, path = import_extra("pandas", "read_table", "frames"), Path(path)
    kind = file_kind(path)
    check_regular(path)
    if kind == ".parquet":
        import_extra("pyarrow", "read_table for .parquet files", "frames")
        yield from _parquet_pieces(path, letters)
    elif kind in SEPARATORS:
        yield from _delimited_pieces(pd, path, header, text, letters)
    else:
        raise ValueError(
            f"{quoted(path)} must end in .csv, .tsv, .txt or .parquet (text also compressed), got {kind!r}; "
            "rename it, or read it with pandas."
        )


def _parquet_pieces(path: Path, letters: int | None) -> Iterator[DataFrame]:
    from pyarrow.parquet import ParquetFile

    verdict = "is cut short or damaged, or no Parquet file"
    with parsing(path, verdict):
        file = ParquetFile(path)
        n_rows = 1 + (letters or 0) // (8 * max(1, len(file.schema_arrow.names)))
        batches = file.iter_batches(n_rows) if letters else iter([file.read()])
    while True:
        with parsing(path, verdict):
            batch = next(batches, None)
            frame = None if batch is None else batch.to_pandas().reset_index(drop=True)
        if frame is None:
            return
        frame.columns = frame.columns.map(str)
        yield frame


class _Layout(NamedTuple):
    """Layout of a text with separators, as far as its first lines show."""

    names: list[str]
    separator: str
    decimal: str
    letters: float
    """Letters of a line, on average."""


def _layout(path: FilePath, header: bool | None) -> _Layout:
    usual = SEPARATORS[file_kind(path)]
    with closing(text_lines(path, newline="")) as lines:
        start = list(islice(lines, 20))
    first = next(filter(str.strip, start), None)
    if first is None:
        raise ValueError(f"{quoted(path)} must start with a line of column names, got an empty file.")
    separator = max(usual, ";", ",", "\t", key=first.count)
    records = [record for _, record in _records(path, start, separator)]
    fields = [field for record in records[1:] for field in record]
    if header is False:
        names = [str(number) for number in range(1, len(records[0]) + 1)]
    else:
        names = _names(path, records[0])
    decimal = "," if separator != "," and any(map(DECIMAL_COMMA.fullmatch, fields)) else "."
    return _Layout(names, separator, decimal, sum(map(len, start)) / len(start))


def _delimited_pieces(
    pd: Any, path: Path, header: bool | None, text: Collection[str], letters: int | None
) -> Iterator[DataFrame]:
    if letters is None:
        check_room(path)
    layout = _layout(path, header)
    exact = {"float_precision": "round_trip"}  # the default of pandas from 3.1 on
    with _explained(pd, path, header):
        reader = pd.read_csv(
            path,
            sep=layout.separator,
            decimal=layout.decimal,
            names=layout.names,
            header=None if header is False else 0,
            index_col=False,
            converters={name: str for name in text if name in layout.names},
            low_memory=False,
            chunksize=sys.maxsize if letters is None else max(1, int(letters / layout.letters)),
            **(exact if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1) else {}),
        )
    first = may_be_short = True
    with reader:
        while True:
            with _explained(pd, path, header):
                frame = next(reader, None)
            if frame is None or len(frame) == 0:
                break
            if may_be_short and frame.iloc[:, -1].isin(["", np.nan]).any():
                _check_fields(path, header)
                may_be_short = False
            first = False
            frame = frame.copy()  # in one block for each type: pandas is slow with thousands of blocks
            yield frame.set_axis(range(len(frame)))
    if first:
        raise ValueError(f"{quoted(path)} must hold at least one row below its column names, got none.")


@contextmanager
def _explained(pd: Any, path: Path, header: bool | None) -> Iterator[None]:
    """Say what is wrong with a table that pandas cannot read, and in which line."""
    try:
        with naming_damage(path), warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            yield
    except UnicodeDecodeError:
        for _ in text_lines(path):  # raises with the line
            pass
        raise
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        _check_fields(path, header)
        said = " ".join(str(error).split()).rstrip(".")
        raise ValueError(f"{quoted(path)} cannot be read as a table ({said}).") from error


def _check_fields(path: FilePath, header: bool | None) -> None:
    """Raise for the first line of a text that has not one field for each column."""
    layout = _layout(path, header)
    with closing(text_lines(path, newline="")) as lines:
        for row, (line, record) in enumerate(_records(path, lines, layout.separator)):
            if len(record) != len(layout.names):
                hint = "name every column" if row == 1 else "quote a field that has a separator in it"
                raise ValueError(
                    f"{quoted(path)}, line {line}: must have {len(layout.names)} fields, one for each "
                    f"column, got {len(record)}; {hint}."
                )


def field_at(path: FilePath, row: int, name: str, *, header: bool | None = None) -> tuple[str, str | None]:
    """Return the place of a row in a table file and its field in a column, as text."""
    if file_kind(path) not in SEPARATORS:
        return f"row {row}", None
    layout = _layout(path, header)
    with closing(text_lines(path, newline="")) as lines:
        records = _records(path, lines, layout.separator)
        line, record = next(islice(records, row + (header is not False), None))
    return f"line {line}", record[layout.names.index(name)] if name in layout.names else None


def _records(path: FilePath, lines: Iterable[str], separator: str) -> Iterator[Record]:
    """Yield the line and the fields of every record that is not blank, as pandas has them."""
    csv.field_size_limit(sys.maxsize)  # sequences are long
    reader, start = csv.reader(lines, delimiter=separator), 0
    for record in reader:
        line, start = start + 1, reader.line_num
        if len(record) > 1 or (record and record[0].strip()):
            yield line, record


def _names(path: FilePath, first: list[str]) -> list[str]:
    """Return the column names without blanks around them; empty ones get a number."""
    names = [written.strip() or f"Unnamed: {place}" for place, written in enumerate(first)]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(
            f"{quoted(path)} must have columns of different names, {listed(twice)} come twice; rename."
        )
    return names
