"""Delimited text (CSV, TSV): fields by line, a first line that names columns or does not.

The text is gone through twice: by Python's csv for what must be known exactly (how many fields a line has,
where a row stands, labels as they are written), by pandas for the numbers.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

from localmkl import _checks
from localmkl._types import FilePath
from localmkl._warnings import warn
from localmkl.datasets.labels import PLAIN
from localmkl.datasets.opening import check_text, file_kind, read_bytes, text_lines

if TYPE_CHECKING:
    from pandas import DataFrame


Record: TypeAlias = tuple[int, list[str]]
"""A line and its fields."""

SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}

DECIMAL_COMMA = re.compile(r"\s*[+-]?[0-9]{1,3}(?:\.?[0-9]{3})*,[0-9]+(?:[eE][+-]?[0-9]+)?\s*")
"""A number with a decimal comma, points between thousands or not."""

LOOKED_AT = 20
"""Rows of a table with other separators that are looked at for decimal commas."""


@dataclass(frozen=True)
class Written:
    """A table as it is written.

    Attributes
    ----------
    names : list of str
        One for each column, all different.
    lines : list of int
        Where the rows stand.
    fields : dict
        Column: its fields, as they are written, for those that were asked for.
    """

    names: list[str]
    lines: list[int]
    fields: dict[str, list[str]]


def read_delimited(
    pd: ModuleType, path: FilePath, *, header: bool | None, text: Collection[str]
) -> DataFrame:
    """Return a data frame of a text with separators; the columns `text` as they are written."""
    content = read_bytes(path)
    check_text(path, content)
    written = scan(path, content, SEPARATORS[file_kind(path)], header=header, text=text)
    frame = _parse(pd, path, content, written, header=None if header is False else 0)
    if header is None:
        _judge_header(path, written.names, frame, text)
    return _as_written(pd, frame, written)


def delimited_pieces(
    pd: ModuleType, path: FilePath, *, header: bool | None, text: Collection[str], letters: int
) -> Iterator[DataFrame]:
    """Yield what `read_delimited` returns, in pieces of at least so many letters of the file."""
    with closing(text_lines(path, newline="")) as written_lines:
        lines = _Kept(written_lines)
        names, records = _start(path, lines, SEPARATORS[file_kind(path)], header)
        if header is not False:
            lines.take()
        dealt = _dealt(path, names, records, header, text, lambda: lines.size >= letters)
        for number, written in enumerate(dealt):
            frame = _parse(pd, path, lines.take().encode(), written, header=None)
            if header is None and number == 0:
                _judge_header(path, names, frame, text)
            yield _as_written(pd, frame, written)


def _dealt(
    path: FilePath,
    names: list[str],
    records: Iterator[Record],
    header: bool | None,
    text: Collection[str],
    is_full: Callable[[], bool],
) -> Iterator[Written]:
    """Yield what is written in a table, piece by piece; every record must have one field for each name."""
    columns = [name for name in text if name in names]
    places = [names.index(name) for name in columns]
    lines: list[int] = []
    fields: list[list[str]] = [[] for _ in columns]
    first = True
    for number, record in records:
        if len(record) != len(names):
            raise ValueError(_ragged(path, number, record, names, header, first))
        lines.append(number)
        for own, place in zip(fields, places, strict=True):
            own.append(record[place])
        first = False
        if is_full():
            yield Written(names, lines, dict(zip(columns, fields, strict=True)))
            lines, fields = [], [[] for _ in columns]
    if first:
        raise ValueError(f"{str(path)!r} must hold at least one row below its column names, got none.")
    if lines:
        yield Written(names, lines, dict(zip(columns, fields, strict=True)))


class _Kept:
    """Lines that are handed on, and kept until somebody takes them."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines, self.size = lines, 0
        self.kept: list[str] = []

    def __iter__(self) -> Iterator[str]:
        for line in self.lines:
            self.kept.append(line)
            self.size += len(line)
            yield line

    def take(self) -> str:
        """Return the text of the lines since it was taken last."""
        text = "".join(self.kept)
        self.kept, self.size = [], 0
        return text


def _parse(
    pd: ModuleType, path: FilePath, content: bytes, written: Written, *, header: int | None
) -> DataFrame:
    """Return the data frame of a text, whose lines and names are known."""
    options = {"sep": SEPARATORS[file_kind(path)], "index_col": False, "low_memory": False}
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):  # or other numbers are read than are written
        options["float_precision"] = "round_trip"
    try:
        frame = pd.read_csv(io.BytesIO(content), header=header, names=written.names, **options)
    except (pd.errors.ParserError, ValueError, OverflowError) as error:
        said = " ".join(str(error).split()).rstrip(".")
        raise ValueError(f"{str(path)!r} cannot be read as a table ({said}).") from error
    if len(frame) != len(written.lines):
        raise ValueError(
            f"{str(path)!r} cannot be read as a table: it has {len(frame)} or {len(written.lines)} rows, "
            "depending on how quotes and blank lines are read; write it again without them."
        )
    return frame.copy()  # in one block for each type: pandas is slow with thousands of blocks


def _as_written(pd: ModuleType, frame: DataFrame, written: Written) -> DataFrame:
    """Return a data frame with some columns as they are written."""
    for name, fields in written.fields.items():
        frame[name] = pd.Series(fields, dtype=object)
    return frame


def scan(
    path: FilePath, content: bytes, separator: str, *, header: bool | None = None, text: Collection[str] = ()
) -> Written:
    """Return names, lines and some fields of a table; every line must have one field for each name."""
    lines = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="")
    names, records = _start(path, lines, separator, header)
    return next(_dealt(path, names, records, header, text, lambda: False))


def _start(
    path: FilePath, lines: Iterable[str], separator: str, header: bool | None
) -> tuple[list[str], Iterator[Record]]:
    """Return the names of the columns, and the records below them."""
    records = _records(path, lines, separator)
    line, first = next(records, (0, None))
    if first is None:
        raise ValueError(f"{str(path)!r} must start with a line of column names, got an empty file.")
    numbers = [str(number) for number in range(1, len(first) + 1)]
    names = numbers if header is False else _names(path, first)
    _check_separator(path, first, separator, records)
    return names, _after((line, first), records) if header is False else records


def field_at(path: FilePath, row: int, name: str, *, header: bool | None = None) -> tuple[str, str | None]:
    """Return the place of a row in a table file and its field in a column, as text."""
    if file_kind(path) not in SEPARATORS:
        return f"row {row}", None
    with closing(text_lines(path, newline="")) as lines:
        names, records = _start(path, lines, SEPARATORS[file_kind(path)], header)
        line, record = next(islice(records, row, None))
    return f"line {line}", record[names.index(name)] if name in names else None


def _records(path: FilePath, lines: Iterable[str], separator: str) -> Iterator[Record]:
    """Yield the line and the fields of every record that is not blank, as pandas has them."""
    csv.field_size_limit(sys.maxsize)  # sequences are long
    reader = csv.reader(lines, delimiter=separator, strict=False)
    start = 0
    try:
        for record in reader:
            line, start = start + 1, reader.line_num
            if len(record) > 1 or (record and record[0].strip()):
                yield line, record
    except csv.Error as error:
        raise ValueError(
            f"{str(path)!r}, line {reader.line_num}: cannot be read as a table ({error})."
        ) from error


def _after(first: Record, others: Iterator[Record]) -> Iterator[Record]:
    yield first
    yield from others


def _names(path: FilePath, first: list[str]) -> list[str]:
    """Return the column names without blanks around them; empty and double ones get a number."""
    names = [name.strip() or f"Unnamed: {place}" for place, name in enumerate(first)]
    counts = Counter(names)
    double = [name for name, count in counts.items() if count > 1]
    if not double:
        return names
    warn(
        f"{str(path)!r}: the column name {double[0]!r} comes {counts[double[0]]} times"
        + (f" ({len(double) - 1} others are double, too)" if len(double) > 1 else "")
        + f"; after the first they are called {double[0] + '.1'!r} and so on."
    )
    taken, seen = set(names), Counter[str]()
    for place, name in enumerate(names):
        if seen[name]:
            names[place] = next(
                other for k in range(seen[name], len(names) + 1) if (other := f"{name}.{k}") not in taken
            )
            taken.add(names[place])
        seen[name] += 1
    return names


def _check_separator(path: FilePath, first: list[str], separator: str, others: Iterator[Record]) -> None:
    if len(first) > 1:
        return
    other = next((sign for sign in (";", ",", "\t") if sign in first[0] and sign != separator), None)
    if other is not None:
        expected = "commas" if separator == "," else "tabs"
        rows = [first, *(record for _, record in islice(others, LOOKED_AT))]
        fields = [field for row in rows for field in separator.join(row).split(other)]
        decimals = other != "," and any(map(DECIMAL_COMMA.fullmatch, fields))
        raise ValueError(
            f"{str(path)!r} must have {expected} between its columns, its first line has {other!r}; "
            f"save it with {expected}{' and decimal points' if decimals else ''}."
        )


def _ragged(
    path: FilePath, line: int, record: list[str], names: list[str], header: bool | None, first: bool
) -> str:
    if first and header is not False:
        return (
            f"{str(path)!r}, line {line}: must have {len(names)} fields, one for each column name, "
            f"got {len(record)}; name every column, also one of row names, or take off what belongs to none."
        )
    return (
        f"{str(path)!r}, line {line}: must have {len(names)} fields as the lines above, "
        f"got {len(record)}; a field with a separator in it stands in quotes."
    )


def _judge_header(path: FilePath, names: list[str], frame: DataFrame, text: Collection[str]) -> None:
    """Refuse a first line that is clearly a row of data, and say so if it might be one."""
    kinds = [dtype.kind for dtype in frame.dtypes]
    columns = list(zip(names, kinds, strict=True))
    numbers = [name for name, kind in columns if kind in "iuf" and PLAIN.fullmatch(name)]
    words = [name for name, kind in columns if kind not in "iufb" and bool((frame[name] == name).any())]
    alike = {*numbers, *words}
    if not alike or any(name in names and name not in alike for name in text):
        return  # columns that are asked for by name have names
    rising = all(a < b for a, b in zip(map(float, numbers), map(float, numbers[1:]), strict=False))
    whole = len(alike) == len(names)
    said = f"its first line reads like data ({_checks.listed(names, 4)})"
    if (words and numbers) or (whole and (words or not rising)):
        raise ValueError(
            f"{str(path)!r} must start with a line of column names, {said}; add names, or pass "
            "`header=False`: the columns are then called 1, 2, 3 and so on."
        )
    if whole or not rising:
        warn(f"{str(path)!r}: {said}, but is taken as column names; pass `header=False` if it is data.")
