"""The columns of a table: numbers or words, gaps in them, and columns that default kernels leave out."""

import re
import shlex
from dataclasses import replace

import numpy as np

from localmkl._checks import LARGEST_NUMBER, is_missing, listed
from localmkl._spelling import meant

NUMBER_GAP = re.compile(r"\s*(\?|-+|\.+|\*|#?n/?a|n\.a\.|<na>|-?nan|null|missing|unknown)?\s*", re.IGNORECASE)
"""A cell in a column of numbers that stands for a gap."""

WORD_GAP = re.compile(r"\s*\??\s*")
"""The same in a column of words, where "unknown" is a word."""

ROW_NAMES = re.compile(
    r"(.*[ _.-])?(id|ids|uid|mrn|idx|index|key|no|nr|row|record|barcode|sample|patient|subject|donor)"
    r"|participant|name|.*[a-z]ID|unnamed: 0",
    re.IGNORECASE,
)

DATE = re.compile(
    r"(?:[0-9]{4}([-/.])[0-9]{1,2}\1[0-9]{1,2}|[0-9]{1,2}([-/.])[0-9]{1,2}\2(?:[0-9]{4}|[0-9]{2}))"
    r"(?:[T ][0-9]{1,2}:[0-9]{2}.*)?"
)

WRITTEN_NUMBER = re.compile(r"[+-]?[0-9][0-9.]*(?:,[0-9.,]*[0-9]\s*%?|\s*%)")
"""A number with commas or a percent sign."""

MOST_WORDS, ROWS_A_WORD = 20, 5
"""A column of text holds categories if it has at most so many different words, on average in so many rows."""

NAMES, DATES, TEXT, COMMAS = "names the rows", "holds dates", "holds text", "holds numbers with commas or %"
EMPTY, ONE = "holds no values", "holds one value"
"""Reasons why default kernels do not read a column."""

HINTS = {
    NAMES: "; --names {} writes it beside predictions",
    DATES: "; days since a date would be read as numbers",
    TEXT: "; --kernels 'tfidf column={}' reads it",
    COMMAS: "; write them with a decimal point, without commas and %",
}


def tidied(frame, categories=()):
    """Return a table whose columns are numbers, gaps in them NaN, or words, gaps in them None.

    Parameters
    ----------
    frame : DataFrame
    categories : sequence of str
        Columns of numbers to read as words.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"crp": ["5", "?", "7.5"], "sex": ["f", "?", "m"], "cp": [1, 4, 1]})
    >>> tidied(frame, ["cp"]).to_dict("list")
    {'crp': [5.0, nan, 7.5], 'sex': ['f', None, 'm'], 'cp': ['1', '4', '1']}
    """
    changed = {name: _words(frame[name]) for name in categories if name in frame.columns}
    for name, dtype in frame.dtypes.items():
        if dtype.kind == "O" and name not in changed:
            numbers, wrong = _numbers(frame[name])
            changed[name] = _words(frame[name]) if wrong.any() or np.isnan(numbers).all() else numbers
    return frame.assign(**changed) if changed else frame


def _numbers(column):
    """Return the numbers in a column, NaN where there is none, and the mask of cells that hold other text."""
    import pandas as pd

    try:
        numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError):  # lists and the like
        numbers = np.full(len(column), np.nan)
    wrong = np.isnan(numbers)
    wrong[wrong] = [not _is_gap(value, NUMBER_GAP) for value in column[wrong].tolist()]
    return numbers, wrong


def _is_gap(value, mark):
    return is_missing(value) or (isinstance(value, str) and mark.fullmatch(value) is not None)


def _words(column):
    """Return a column as text."""
    cells = np.empty(len(column), dtype=object)
    cells[:] = [as_word(value) for value in column.tolist()]
    return cells


def as_word(value):
    """Return a value as text, None where it is missing; a whole number is written without a point."""
    if _is_gap(value, WORD_GAP):
        return None
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole else value).strip()


def numeric_names(frame):
    """Return the columns of numbers that are not empty."""
    filled = frame.notna().any(axis=0)
    return [name for name, kind in kinds_of(frame).items() if kind == "numbers" and filled[name]]


def kinds_of(frame):
    """Return what each column holds, by name."""
    kinds = {**dict.fromkeys("iufb", "numbers"), **dict.fromkeys("mM", "dates")}
    return {name: kinds.get(dtype.kind, "words") for name, dtype in frame.dtypes.items()}


def word_names(frame):
    """Return the columns of words that hold few different ones, and so categories."""
    most = min(MOST_WORDS, len(frame) // ROWS_A_WORD)
    words = [name for name, kind in kinds_of(frame).items() if kind == "words"]
    return [name for name in words if 1 < frame[name].astype(str).nunique() <= most]


def left_out(content):
    """Return the columns of a table that default kernels do not read, and why; raise for a slip in numbers.

    Returns
    -------
    dict of str to str
        Name of the column: why.
    """
    frame = content.rows
    found, words = dict.fromkeys(identifiers(frame), NAMES), word_names(frame)
    filled = frame.notna().any(axis=0)
    for name, kind in kinds_of(frame).items():
        if not filled[name]:
            found[name] = EMPTY
        elif kind == "dates":
            found[name] = DATES
        elif kind == "words" and (why := _why_no_words(content, name, name in words)) is not None:
            found[name] = why
    numeric = frame[numeric_names(frame)]
    low, high = numeric.min(), numeric.max()
    return found | dict.fromkeys(low.index[low == high], ONE)


def _why_no_words(content, name, few, typos=0.1):
    """Return why a column of text is left out; None if it holds categories.

    A column with at most a share of `typos` words is clearly meant to hold numbers: an error names one.
    """
    words = [str(value) for value in content.rows[name].dropna().tolist()]
    n_different = len(set(words))
    if all(map(DATE.fullmatch, words)):
        return DATES
    if 2 * sum(WRITTEN_NUMBER.fullmatch(word) is not None for word in words) > len(words):
        return COMMAS
    if few or n_different == 1:
        return None if few else ONE
    if n_different == len(content.rows) and ROW_NAMES.fullmatch(name):
        return NAMES
    _, wrong = _numbers(content.rows[name])
    if 0 < wrong.sum() <= typos * len(words):
        _refuse(content, name, int(wrong.argmax()), "numbers")
    return TEXT


def identifiers(frame):
    """Return the columns that only number the rows, unless there is nothing else.

    They hold whole numbers, all different, none missing, and are called so (id, sample_no ...), or count the
    rows as they stand: 17, 18, 19 ...
    """
    numeric = numeric_names(frame)
    integral = (frame[numeric] % 1 == 0).all()
    whole = [name for name in numeric if integral[name] and frame[name].is_unique]
    counts = [name for name in whole if len(frame) >= 10 and (frame[name].diff()[1:] == 1).all()]
    found = [name for name in whole if name in counts or ROW_NAMES.fullmatch(name)]
    return found if len(found) < len(numeric) else []


def codes(frame, sizes=range(3, 9), most_columns=200):
    """Return the columns of few different whole numbers, which may be codes of categories."""
    names = numeric_names(frame)
    different = {name: frame[name].dropna().unique() for name in names if len(names) <= most_columns}
    return [
        name
        for name, values in different.items()
        if len(values) in sizes and len(values) * ROWS_A_WORD <= len(frame) and (values % 1 == 0).all()
    ]


def gap_codes(frame):
    """Return columns by the number that may stand for a gap in them: -9, -99 ..., if no other is negative."""
    found: dict[int, list] = {}
    for name, low in frame[numeric_names(frame)].min().items():
        if low in (-9, -99, -999, -9999) and not ((frame[name] < 0) & (frame[name] != low)).any():
            found.setdefault(int(low), []).append(name)
    return found


def remarks(content):
    """Return what is to be said of the columns of a table: which are left out, and which may be codes."""
    found = []
    for why in dict.fromkeys(content.left_out.values()):
        names = [name for name, own in content.left_out.items() if own == why]
        hint = HINTS.get(why, "").format(shlex.quote(names[0]))
        if why == NAMES and content.names is not None:
            hint = ""
        found.append(f"Left out ({why}): {listed(names)}{hint}.")
    frame = content.used().rows
    for mark, names in gap_codes(frame).items():
        found.append(f"{mark} may stand for a gap in {listed(names)}; if so, leave these fields empty.")
    if maybe := codes(frame):
        found.append(
            f"Few different whole numbers, read as numbers: {listed(maybe)}; --categories "
            f"{shlex.quote(','.join(maybe))} reads them as categories."
        )
    return found


def as_read(content, columns, kernels):
    """Return a table with some columns alone, each as kernels read it; what cannot be so names its line.

    Parameters
    ----------
    content : Content
    columns : sequence of str
        Of the training rows.
    kernels : list of Kernel
    """
    from localmkl.kernels import columns_read

    columns = list(columns)
    missing = [name for name in columns if name not in content.rows.columns]
    if missing:
        raise ValueError(
            f"{str(content.path)!r} must have the column {missing[0]!r} of the training rows, "
            f"it has {listed(content.rows.columns)}{meant(missing[0], content.rows.columns)}"
        )
    plain = [kernel for kernel in kernels if not kernel.takes_text]
    vector = [kernel for kernel in plain if hasattr(kernel, "columns")]
    numeric = columns_read(vector, columns)
    unfilled = columns_read([kernel for kernel in vector if not kernel.takes_missing], columns)
    gaps = [name for name in numeric if name not in unfilled]
    frame = as_numbers(content, content.rows[columns], numeric, gaps=gaps)
    for name in columns_read([kernel for kernel in kernels if kernel.takes_text], columns):
        if name not in numeric:
            frame[name] = _words(frame[name])
    for name in (kernel.column for kernel in plain if hasattr(kernel, "column")):
        for row, cell in enumerate(content.rows[name].tolist()):
            if not isinstance(cell, str):
                _refuse(content, name, row, "sequences")
    return replace(content, rows=frame, left_out={})


def as_numbers(content, frame, columns, gaps=()):
    """Return a table whose `columns` are numbers, those of `gaps` also with none; else name a line."""
    import pandas as pd

    found = {}
    for name in columns:
        if frame[name].dtype.kind in "mM":  # pandas takes them for numbers, also those that are missing
            _refuse(content, name, 0, "numbers, for instance days since a date")
        numbers, wrong = _numbers(frame[name])
        large = np.abs(numbers) > LARGEST_NUMBER
        wrong |= large | (np.isnan(numbers) & (name not in gaps))
        if wrong.any():
            row = int(wrong.argmax())
            _refuse(content, name, row, f"numbers up to {LARGEST_NUMBER:.0e}" if large[row] else "numbers")
        found[name] = numbers
    table = pd.DataFrame(found, index=frame.index)
    others = frame.drop(columns=list(columns))
    return table if others.empty else pd.concat([table, others], axis=1)[list(frame.columns)]


def _refuse(content, name, row, expected):
    """Raise for a cell that is not what is expected, with its line and its text in the file."""
    place, came = content.place(row, name)
    came = content.rows[name].iloc[row] if came is None else came  # files that know types have no text
    raise ValueError(
        f"{str(content.path)!r}, {place}: the column {name!r} must hold {expected}, got "
        f"{'an empty field' if _is_gap(came, WORD_GAP) else repr(came)}; correct it, or do without the "
        "column."
    )
