"""The columns of a table: numbers, words, text, what only numbers the rows, and groups by their names."""

import re
from collections import Counter
from dataclasses import replace
from fnmatch import fnmatchcase

import numpy as np

from localmkl._checks import LARGEST_NUMBER, is_missing, listed
from localmkl._spelling import meant
from localmkl.datasets.delimited import DECIMAL_COMMA

COUNTED = 10
"""From this many rows on, a column that counts them is no accident: nine steps of exactly one."""

ROW_NAMES = re.compile(
    r"(.*[ _.-])?(id|ids|uid|mrn|idx|index|key|no|nr|row|record|barcode|sample|patient|subject|donor)"
    r"|participant|.*[a-z]ID|unnamed: 0",
    re.IGNORECASE,
)

MOST_GROUPS = 20
"""Names of columns that make more groups than this are no help: as many kernels are enough."""

MOST_WORDS, ROWS_A_WORD = 20, 5
"""A column of text holds categories if it has at most so many different words, on average in so many rows."""

GAP_MARKS = frozenset(("-", "--", ".", "..", "?", "*", "n.a.", "none", "nil", "missing", "unknown"))
"""Words, in small letters, that people write for a gap, and that are not read as one."""

DISGUISES = {
    "numbers with commas between thousands": (
        re.compile(r"\s*[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?\s*"),
        "write them without commas",
    ),
    "numbers with decimal commas": (DECIMAL_COMMA, "write them with points"),
    "numbers with percent signs": (
        re.compile(r"\s*[+-]?[0-9]+(?:[.,][0-9]+)?\s*%\s*"),
        "write them without the sign",
    ),
}
"""Numbers that are read as words: how they are written, and what to do."""

LOOKED_AT = 1000
"""Rows of a column of text that are looked at to see whether it holds numbers in disguise."""

EMPTY = "no values"
"""Said of columns of which nothing is there."""

_SEPARATOR = re.compile(r"[_.:/| -]")
_LETTERS = re.compile(r"[^\W\d_]+(?=[\W\d_])")
_AWKWARD = re.compile(r"[]*?[,;'\"\\]")
"""Characters that a name of a column must not have to stand in a pattern as it is."""


def numeric_names(frame):
    """Return the columns in which any entry is a number: such a column is meant to hold numbers."""
    filled = frame.notna().any(axis=0).to_numpy()
    columns = zip(frame.columns, frame.dtypes, filled, strict=True)
    return [
        name
        for name, dtype, some in columns
        if some and (dtype.kind in "iufb" or (dtype.kind == "O" and _has_number(frame[name])))
    ]


def _has_number(column):
    import pandas as pd

    try:
        return bool(pd.to_numeric(column, errors="coerce").notna().any())
    except (TypeError, ValueError):  # lists and the like
        return False


def kinds_of(frame):
    """Return what each column holds in words, by name: versions of pandas call text by different names."""
    filled, numeric = frame.notna().any(axis=0).to_numpy(), set(numeric_names(frame))
    found = {}
    for name, dtype, some in zip(frame.columns, frame.dtypes, filled, strict=True):
        words = "text" if dtype.kind in "OUT" else str(dtype)
        numbers = dtype.kind in "iufb" or (name in numeric and _all_numbers(frame[name]))
        found[name] = EMPTY if not some else "numbers" if numbers else words
    return found


def _all_numbers(column):
    """Whether all objects of a column that are there are numbers; some are."""
    import pandas as pd

    there = column.dropna()
    return bool(there.dtype.kind == "O" and pd.to_numeric(there, errors="coerce").notna().all())


def disguised(frame, names):
    """Return those of some columns of text that hold numbers in a disguise, by its name in `DISGUISES`.

    More than half of the words must look so; of two disguises, the one of more words counts.
    """
    found: dict[str, list[str]] = {}
    for name in names:
        words = [cell for cell in frame[name].iloc[:LOOKED_AT].tolist() if isinstance(cell, str)]
        looks = {
            what: sum(pattern.fullmatch(word) is not None for word in words)
            for what, (pattern, _) in DISGUISES.items()
        }
        most = max(looks, key=looks.__getitem__)
        if 2 * looks[most] > len(words):
            found.setdefault(most, []).append(name)
    return found


def word_names(frame):
    """Return the columns of text that hold few different words, and so categories."""
    numeric = set(numeric_names(frame))
    counts = {name: frame[name].astype(str).nunique() for name in frame.columns if name not in numeric}
    most = min(MOST_WORDS, len(frame) // ROWS_A_WORD)
    return [name for name, count in counts.items() if 1 < count <= most]


def identifiers(frame):
    """Return the columns that only number the rows, a set, unless there is nothing else.

    They hold whole numbers, all different, none missing, and are called so (id, sample_no ...) or count: 17,
    18, 19 ..., in any order where columns have no names but 1, 2, 3 ...: a column with a name may hold ranks.
    """
    filled = frame.notna().all(axis=0).to_numpy()
    columns = zip(frame.columns, frame.dtypes, filled, strict=True)
    kinds = [(name, dtype.kind) for name, dtype, all_there in columns if all_there]
    whole = [name for name, kind in kinds if kind in "iu"]
    numbers, nameless = frame[whole].to_numpy(), [name.isdecimal() for name in whole]
    steps = np.diff(np.where(nameless, np.sort(numbers, axis=0), numbers), axis=0)
    counting = (steps == 1).all(axis=0) & (len(frame) >= COUNTED)
    found = {name for name, counts in zip(whole, counting, strict=True) if counts}
    called = [name for name, kind in kinds if kind in "iuf" and ROW_NAMES.fullmatch(name)]
    found |= {name for name in called if frame[name].is_unique and (frame[name] % 1 == 0).all()}
    return found if len(found) < len(numeric_names(frame)) else set()


def column_groups(names, among):
    """Return the groups that names of columns fall into, and the names in none; no groups if few fall so.

    A group has in common the first part of its names (``mrna_1``, ``mrna_2``), the last one
    (``radius error``, ``area error``), or the letters that they begin with (``cg001``, ``cg002``).

    Parameters
    ----------
    names : list of str
    among : sequence of str
        All columns: the pattern of a group must match no others.

    Returns
    -------
    patterns : list of str
    rest : list of str

    Examples
    --------
    >>> names = ["mrna_1", "mrna_2", "age", "meth_1", "meth_2"]
    >>> column_groups(names, names)
    (['mrna_*', 'meth_*'], ['age'])
    """
    for possible in (_part_patterns, _letter_patterns):
        sizes = Counter(pattern for name in names for pattern in possible(name))
        chosen = {name: max(possible(name), key=sizes.__getitem__, default=None) for name in names}
        members = Counter(pattern for pattern in chosen.values() if pattern is not None)
        patterns = [pattern for pattern, size in members.items() if size > 1]
        rest = [name for name in names if chosen[name] not in patterns]
        if 2 <= len(patterns) <= MOST_GROUPS and len(rest) <= min(MOST_GROUPS, len(names) // 2):
            matched = {one: sum(fnmatchcase(name, one) for name in among) for one in patterns}
            if all(matched[one] == members[one] for one in patterns):
                return patterns, rest
    return [], list(names)


def is_plain(name):
    """Whether a name of a column may stand in the words for kernels as it is."""
    return _AWKWARD.search(name) is None


def _part_patterns(name):
    """Return the patterns of the first and of the last part of a name, if they have letters."""
    ends = list(_SEPARATOR.finditer(name)) if is_plain(name) else []
    if not ends:
        return []
    first, last = name[: ends[0].end()], name[ends[-1].start() :]
    parts = [(first, f"{first}*"), (last, f"*{last}")]
    return [pattern for part, pattern in parts if any(map(str.isalpha, part)) and part != name]


def _letter_patterns(name):
    found = _LETTERS.match(name) if is_plain(name) else None
    return [] if found is None else [f"{found[0]}*"]


def as_read(content, columns, kernels):
    """Return a table with some columns alone, each as kernels read it; what cannot be so names its line.

    Parameters
    ----------
    content : Content
    columns : sequence of str
        Of the training rows.
    kernels : list of Kernel
    """
    columns = list(columns)
    missing = [name for name in columns if name not in content.rows.columns]
    if missing:
        raise ValueError(
            f"{str(content.path)!r} must have the column {missing[0]!r} of the training rows, "
            f"it has {listed(content.rows.columns)}{meant(missing[0], content.rows.columns)}"
        )
    plain = [kernel for kernel in kernels if not kernel.takes_text]
    numeric = columns_of(plain, columns)
    unfilled = columns_of([kernel for kernel in plain if not kernel.takes_missing], columns)
    gaps = [name for name in numeric if name not in unfilled]
    frame = as_numbers(content, content.rows[columns], numeric, gaps=gaps)
    for name in columns_of([kernel for kernel in kernels if kernel.takes_text], columns):
        if name not in numeric:
            frame[name] = _words(frame[name])
    for kernel in plain:
        if hasattr(kernel, "column"):
            _check_sequences(content, kernel.column)
    return replace(content, rows=frame)


def columns_of(kernels, columns):
    """Return those of all `columns` that kernels read, sequences left out."""
    found: dict[str, None] = {}
    for kernel in kernels:
        if hasattr(kernel, "columns"):
            given = list(columns) if kernel.columns is None else kernel.columns
            given = [given] if isinstance(given, str | int) else given
            given = list(columns)[given] if isinstance(given, slice) else given
            found |= dict.fromkeys(columns[name] if isinstance(name, int) else name for name in given)
        elif kernel.takes_text and kernel.column is not None:
            found[kernel.column] = None
    return list(found)


def _words(column):
    """Return a column as text."""
    cells = np.empty(len(column), dtype=object)
    cells[:] = [as_word(value) for value in column.tolist()]
    return cells


def as_word(value):
    """Return a value as text, None where it is missing; a whole number is written without a point."""
    if is_missing(value):
        return None
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole else value).strip()


def _check_sequences(content, column):
    wrong = [row for row, entry in enumerate(content.rows[column]) if not isinstance(entry, str)]
    if wrong:
        place, came = content.place(wrong[0], column)
        raise ValueError(
            f"{str(content.path)!r}, {place}: the column {column!r} must hold sequences, "
            f"got {repr(came) if came else 'none'}; correct it, or do without the column."
        )


def as_numbers(content, frame, columns, gaps=()):
    """Return a table whose `columns` are numbers, those of `gaps` also with none.

    Text, and gaps in others, are errors that name the line.
    """
    import pandas as pd

    columns = list(columns)
    part = frame[columns]
    plain = np.array([dtype.kind in "iufb" for dtype in part.dtypes], dtype=bool)
    numbers = np.empty(part.shape)
    numbers[:, plain] = part.loc[:, plain].to_numpy(dtype=float, na_value=np.nan)
    for place in np.flatnonzero(~plain).tolist():
        _refuse_dates(content, columns[place], part.dtypes.iloc[place])
        numbers[:, place] = pd.to_numeric(part.iloc[:, place], errors="coerce")
    wrong = ~(np.abs(numbers) <= LARGEST_NUMBER)
    if gaps:
        filled = np.isin(columns, gaps)
        wrong[:, filled] &= part.loc[:, filled].notna().to_numpy()
    if wrong.any():
        place = int(wrong.any(axis=0).argmax())
        row = int(wrong[:, place].argmax())
        _refuse_entry(content, columns[place], row, numbers[row, place])
    table = pd.DataFrame(numbers, columns=columns, index=frame.index)
    others = frame.columns.difference(columns, sort=False)
    return table if others.empty else pd.concat([table, frame[others]], axis=1)[list(frame.columns)]


def _refuse_dates(content, name, dtype):
    """Raise if a column holds dates or times: pandas takes them for numbers, also those that are missing."""
    kinds = (one.kind for one in (dtype, getattr(getattr(dtype, "categories", None), "dtype", dtype)))
    if not set("mM").isdisjoint(kinds):
        raise ValueError(
            f"{str(content.path)!r}: the column {name!r} must hold numbers, got dates or times; turn them "
            "into numbers, for instance days since a date, or do without the column."
        )


def _refuse_entry(content, name, row, number):
    place, came = content.place(row, name)
    (value,) = content.rows[name].iloc[[row]].tolist()
    missing = is_missing(value)
    if came is None:  # files that know types have no text
        came = "" if missing else value
    expected = "numbers" if np.isnan(number) else f"numbers up to {LARGEST_NUMBER:.0e} in size"
    hint = ", or fit with --impute median to fill gaps" if missing else ""
    if str(came).strip().lower() in GAP_MARKS:
        hint = "; leave a field empty that stands for a gap, and fit with --impute median"
    for what, (pattern, cure) in DISGUISES.items():
        hint += f"; where it holds {what}, {cure}" if pattern.fullmatch(str(came)) else ""
    raise ValueError(
        f"{str(content.path)!r}, {place}: the column {name!r} must hold {expected}, "
        f"got {'an empty field' if came == '' else repr(came)}; correct it, or do without the column"
        f"{hint}."
    )
