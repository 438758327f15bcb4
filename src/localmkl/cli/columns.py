"""The columns of a table: numbers or words, gaps in them, and columns that default kernels leave out."""

import re
from dataclasses import replace

import numpy as np

from localmkl._checks import LARGEST_NUMBER, is_missing, listed
from localmkl._spelling import meant

NUMBER_GAP = re.compile(
    r"\s*(\?|-+|\.+|\*|#?n/?a|n\.a\.|<na>|-?nan|null|nil|none|missing|unknown)?\s*", re.IGNORECASE
)
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

WRITTEN_NUMBER = re.compile(r"[+-]?[0-9][0-9.]*(?:,[0-9.,]*[0-9])?\s*%?")
"""A number, also with commas or a percent sign."""

MOST_WORDS, ROWS_A_WORD = 20, 5
"""A column of text holds categories if it has at most so many different words, on average in so many rows."""

CODES = range(3, 9)
"""Numbers of different whole numbers that may be codes of categories."""

TYPOS = 0.1
"""Share of cells that are words up to which a column is clearly meant to hold numbers: an error names one."""

NAMES, DATES, TEXT, COMMAS = "names the rows", "holds dates", "holds text", "holds numbers with commas or %"
EMPTY, ONE = "holds no values", "holds one value"


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
    filled = frame.notna().any(axis=0).to_numpy()
    columns = zip(frame.columns, frame.dtypes, filled, strict=True)
    return [name for name, dtype, some in columns if some and dtype.kind in "iufb"]


def kinds_of(frame):
    """Return what each column holds, by name."""
    kinds = {**dict.fromkeys("iufb", "numbers"), **dict.fromkeys("mM", "dates")}
    return {name: kinds.get(dtype.kind, "words") for name, dtype in frame.dtypes.items()}


def word_names(frame):
    """Return the columns of words that hold few different ones, and so categories."""
    counts = {
        name: frame[name].astype(str).nunique() for name, kind in kinds_of(frame).items() if kind == "words"
    }
    most = min(MOST_WORDS, len(frame) // ROWS_A_WORD)
    return [name for name, count in counts.items() if 1 < count <= most]


def left_out(content):
    """Return the columns of a table that default kernels do not read, and why; raise for a slip in numbers.

    Returns
    -------
    dict of str to str
        Name of the column: why.
    """
    frame = content.rows
    found = dict.fromkeys(identifiers(frame), NAMES)
    filled, words = frame.notna().any(axis=0).to_numpy(), word_names(frame)
    for (name, kind), some in zip(kinds_of(frame).items(), filled, strict=True):
        if not some:
            found[name] = EMPTY
        elif kind == "dates":
            found[name] = DATES
        elif kind == "words" and (why := _why_no_words(content, name, name in words)) is not None:
            found[name] = why
    numeric = numeric_names(frame)
    table = frame[numeric].to_numpy(dtype=float, na_value=np.nan)
    constant = np.nanmin(table, axis=0) == np.nanmax(table, axis=0) if numeric else []
    return found | {name: ONE for name, same in zip(numeric, constant, strict=True) if same}


def _why_no_words(content, name, few):
    """Return why a column of text is left out; None if it holds categories."""
    column = content.rows[name].dropna()
    words = [value if isinstance(value, str) else str(value) for value in column.tolist()]
    if all(map(DATE.fullmatch, words)):
        return DATES
    if all(map(WRITTEN_NUMBER.fullmatch, words)):
        return COMMAS
    if few:
        return None
    if len(set(words)) == 1:
        return ONE
    if len(set(words)) == len(content.rows) and ROW_NAMES.fullmatch(name):
        return NAMES
    _, wrong = _numbers(content.rows[name])
    if 0 < wrong.sum() <= TYPOS * len(words):
        _refuse_entry(content, name, int(wrong.argmax()), np.nan)
    return TEXT


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
    counting = (steps == 1).all(axis=0) & (len(frame) >= 10)  # nine steps of exactly one are no accident
    found = {name for name, counts in zip(whole, counting, strict=True) if counts}
    called = [name for name, kind in kinds if kind in "iuf" and ROW_NAMES.fullmatch(name)]
    found |= {name for name in called if frame[name].is_unique and (frame[name] % 1 == 0).all()}
    return found if len(found) < len(numeric_names(frame)) else set()


def codes(frame):
    """Return the columns of few different whole numbers, which may be codes of categories."""
    numeric = numeric_names(frame)
    table = frame[numeric].to_numpy(dtype=float, na_value=np.nan)
    near = np.nanmax(table, axis=0) - np.nanmin(table, axis=0) <= MOST_WORDS if numeric else []
    found = [
        name
        for name, column in zip(np.array(numeric)[near].tolist(), table[:, near].T, strict=True)
        if len(values := np.unique(column[~np.isnan(column)])) in CODES
        and np.all(values % 1 == 0)
        and len(values) * ROWS_A_WORD <= len(frame)
    ]
    return found if len(found) <= MOST_WORDS else []  # genotypes, for instance, come in thousands


def remarks(content):
    """Return what is to be said of the columns of a table: which are left out, and which may be codes."""
    by_reason: dict[str, list] = {}
    for name, why in content.left_out.items():
        by_reason.setdefault(why, []).append(name)
    found = [_remark(why, names, content) for why, names in by_reason.items()]
    maybe = codes(content.used().rows) if hasattr(content.rows, "columns") else []
    if maybe:
        found.append(
            f"Few different whole numbers, read as numbers: {listed(maybe)}; --categories "
            f"{','.join(maybe)} reads them as categories."
        )
    return found


def _remark(why, names, content):
    """Return a sentence on columns that are left out, and what to do to have them."""
    hints = {
        NAMES: "" if content.names is not None else f"; --names {names[0]} writes it beside predictions",
        DATES: "; days since a date would be read as numbers",
        TEXT: f'; --kernels "tfidf column={names[0]}" reads it',
        COMMAS: "; write them with a decimal point, without commas and %",
    }
    return f"Left out ({why}): {listed(names)}{hints.get(why, '')}."


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
    return replace(content, rows=frame, left_out={})


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
    numbers, wrong = np.empty(part.shape), np.zeros(part.shape, dtype=bool)
    numbers[:, plain] = part.loc[:, plain].to_numpy(dtype=float, na_value=np.nan)
    for place in np.flatnonzero(~plain).tolist():
        _refuse_dates(content, columns[place], part.dtypes.iloc[place])
        numbers[:, place], wrong[:, place] = _numbers(part.iloc[:, place])
    wrong |= np.abs(numbers) > LARGEST_NUMBER
    wrong |= np.isnan(numbers) & ~np.isin(columns, gaps)
    if wrong.any():
        place = int(wrong.any(axis=0).argmax())
        row = int(wrong[:, place].argmax())
        _refuse_entry(content, columns[place], row, numbers[row, place])
    table = pd.DataFrame(numbers, columns=columns, index=frame.index)
    others = frame.columns.difference(columns, sort=False)
    return table if others.empty else pd.concat([table, frame[others]], axis=1)[list(frame.columns)]


def _refuse_dates(content, name, dtype):
    """Raise if a column holds dates or times: pandas takes them for numbers, also those that are missing."""
    if dtype.kind in "mM":
        raise ValueError(
            f"{str(content.path)!r}: the column {name!r} must hold numbers, got dates or times; turn them "
            "into numbers, for instance days since a date, or do without the column."
        )


def _refuse_entry(content, name, row, number):
    """Raise for a cell that is no number, with its line and its text in the file."""
    place, came = content.place(row, name)
    if came is None:  # files that know types have no text
        (came,) = content.rows[name].iloc[[row]].tolist()
    expected = "numbers" if np.isnan(number) else f"numbers up to {LARGEST_NUMBER:.0e} in size"
    raise ValueError(
        f"{str(content.path)!r}, {place}: the column {name!r} must hold {expected}, "
        f"got {'an empty field' if _is_gap(came, WORD_GAP) else repr(came)}; correct it, leave it "
        "empty, or do without the column."
    )
