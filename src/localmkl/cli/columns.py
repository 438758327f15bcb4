"""The columns of a table: numbers, text, and those that only number the rows."""

import re
from dataclasses import replace

import numpy as np

from localmkl._checks import listed
from localmkl.datasets.delimited import field_at

LARGEST_NUMBER = 1e100
"""Numbers of this size may be squared and summed: 1e200 times any number of columns is below 1e308."""

COUNTED = 10
"""From this many rows on, a column that counts them is no accident: nine steps of exactly one."""

ROW_NAMES = re.compile(
    r"(.*[ _.-])?(id|ids|idx|index|key|no|nr|row|sample)|.*[a-z]ID|unnamed: 0", re.IGNORECASE
)


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

    They hold whole numbers, all different, and are called so (id, sample_no ...) or count: 17, 18, 19 ...
    """
    whole = [name for name, dtype in zip(frame.columns, frame.dtypes, strict=True) if dtype.kind in "iu"]
    if not whole:
        return set()
    steps = np.diff(frame[whole].to_numpy(), axis=0)
    counting = (steps == 1).all(axis=0) & (len(frame) >= COUNTED)
    found = {
        name
        for name, counts in zip(whole, counting, strict=True)
        if counts or (ROW_NAMES.fullmatch(name) and frame[name].is_unique)
    }
    return found if len(found) < len(numeric_names(frame)) else set()


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
    place, came = field_at(content.path, row, name, header=content.header)
    came = content.rows[name].iloc[row] if came is None else came
    expected = "numbers" if np.isnan(number) else f"numbers up to {LARGEST_NUMBER:.0e} in size"
    raise ValueError(
        f"{str(content.path)!r}, {place}: the column {name!r} must hold {expected}, "
        f"got {'an empty field' if came == '' else repr(came)}; correct it, or do without the column."
    )
