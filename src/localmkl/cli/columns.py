"""The columns of a table: numbers, text, those that only number the rows, and groups by their names."""

import re
from collections import Counter
from dataclasses import replace
from fnmatch import fnmatchcase

import numpy as np

from localmkl._checks import listed

LARGEST_NUMBER = 1e100
"""Numbers of this size may be squared and summed: 1e200 times any number of columns is below 1e308."""

COUNTED = 10
"""From this many rows on, a column that counts them is no accident: nine steps of exactly one."""

ROW_NAMES = re.compile(
    r"(.*[ _.-])?(id|ids|uid|mrn|idx|index|key|no|nr|row|record|barcode|sample|patient|subject|donor)"
    r"|participant|.*[a-z]ID|unnamed: 0",
    re.IGNORECASE,
)

MOST_GROUPS = 20
"""Names of columns that make more groups than this are no help: as many kernels are enough."""

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


def identifiers(frame):
    """Return the columns that only number the rows, a set, unless there is nothing else.

    They hold whole numbers, all different, and are called so (id, sample_no ...) or count: 17, 18, 19 ...,
    in any order where columns have no names but 1, 2, 3 ...: a column with a name may hold ranks.
    """
    kinds = [(name, dtype.kind) for name, dtype in zip(frame.columns, frame.dtypes, strict=True)]
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


def numeric_columns(kernels, columns):
    """Return those of all `columns` that kernels read as numbers."""
    found: dict[str, None] = {}
    for kernel in kernels:
        if hasattr(kernel, "columns"):
            given = list(columns) if kernel.columns is None else kernel.columns
            given = [given] if isinstance(given, str | int) else given
            given = list(columns)[given] if isinstance(given, slice) else given
            found |= dict.fromkeys(columns[name] if isinstance(name, int) else name for name in given)
    return list(found)


def pick_columns(content, like):
    """Return a table with the columns of another one, numbers where that has numbers."""
    frame = content.rows
    missing = [name for name in like.columns if name not in frame.columns]
    if missing:
        raise ValueError(
            f"{str(content.path)!r} must have the column {missing[0]!r} of the training rows, "
            f"it has {listed(frame.columns)}."
        )
    numeric = [name for name, dtype in zip(like.columns, like.dtypes, strict=True) if dtype.kind == "f"]
    return replace(content, rows=as_numbers(content, frame[list(like.columns)], numeric))


def as_numbers(content, frame, columns):
    """Return a table whose `columns` are numbers; text and gaps in them are errors that name the line."""
    import pandas as pd

    columns = list(columns)
    part = frame[columns]
    plain = np.array([dtype.kind in "iufb" for dtype in part.dtypes], dtype=bool)
    numbers = np.empty(part.shape)
    numbers[:, plain] = part.loc[:, plain].to_numpy(dtype=float, na_value=np.nan)
    for place in np.flatnonzero(~plain).tolist():
        numbers[:, place] = pd.to_numeric(part.iloc[:, place], errors="coerce")
    wrong = ~(np.abs(numbers) <= LARGEST_NUMBER)
    if wrong.any():
        place = int(wrong.any(axis=0).argmax())
        row = int(wrong[:, place].argmax())
        _refuse_entry(content, columns[place], row, numbers[row, place])
    table = pd.DataFrame(numbers, columns=columns, index=frame.index)
    others = frame.columns.difference(columns, sort=False)
    return table if others.empty else pd.concat([table, frame[others]], axis=1)[list(frame.columns)]


def _refuse_entry(content, name, row, number):
    place, came = content.place(row, name)
    came = content.rows[name].iloc[row] if came is None else came
    expected = "numbers" if np.isnan(number) else f"numbers up to {LARGEST_NUMBER:.0e} in size"
    raise ValueError(
        f"{str(content.path)!r}, {place}: the column {name!r} must hold {expected}, "
        f"got {'an empty field' if came == '' else repr(came)}; correct it, or do without the column."
    )
