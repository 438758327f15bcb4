"""The kernels for a data file: those that words ask for, or a default for its kind."""

import re
from collections import Counter
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from localmkl._checks import listed
from localmkl.cli.columns import (
    as_numbers,
    column_groups,
    identifiers,
    is_plain,
    numeric_columns,
    numeric_names,
    pick_columns,
)
from localmkl.cli.files import GRAMS, SEQUENCES, TABLE, Content
from localmkl.cli.voice import Misuse
from localmkl.cli.words import Wanted, in_words, parse_kernels
from localmkl.kernels.alphabets import ALPHABETS

IN_PLACE = Wanted("wd", tuple(range(1, 9))), Wanted("wd", (4, 8), {"shift": 5})
"""Default kernels on sequences of one length: the same letters in the same place, or near it ..."""

ANYWHERE = Wanted("spectrum", (4, 5, 6))
"""... and anywhere. The best of 13 such sets: MKL at C 10, the better p, on 200 rows has an AUC of 95.9 on
mouse promoters, where wd:1-20 has 94.4; C. elegans acceptors 97.3 and 96.1, donors moved by up to 20 letters
89.3 and 74.4, human promoters 89.0 and 89.9, three classes of splice sites level."""

OF_ANY_LENGTH = {
    "dna": [Wanted("spectrum", tuple(range(1, 9)))],
    "rna": [Wanted("spectrum", tuple(range(1, 9)))],
    "protein": [Wanted("spectrum", (1, 2, 3)), Wanted("pseaac", (1, 4, 10))],
}
"""Default kernels on sequences of different lengths. Words of 7 and 8 letters are worth 1 to 2 points of AUC
on DNA, pseudo-amino-acids 2 to 3 points of accuracy on 27 protein folds."""

SINGLE_COLUMNS = 20
"""Up to this many columns of a table get a kernel each by default, unless their names make groups."""


@dataclass(frozen=True)
class Chosen:
    """The kernels for a file.

    Attributes
    ----------
    kernels : list of Kernel, or "precomputed"
    names : list of str, or None
        Short names of the kernels.
    gate : Kernel, int or None
        What the clusters are found in: a kernel of its own, or the number of one of the kernels.
    content : Content
        Of a table, only the columns that are used, numbers where kernels need numbers.
    said : str
        The choice in words.
    """

    kernels: Any
    names: list[str] | None
    gate: Any
    content: Content
    said: str


def choose_kernels(content, spec=None, gate=None):
    """Return the kernels that words ask for, or a default for the kind of file.

    Parameters
    ----------
    content : Content
    spec : str or None
    gate : str or None
        A kernel in words, or its number from one.

    Returns
    -------
    Chosen
    """
    from localmkl.explain import numbered

    if gate is not None and re.fullmatch(r"\s*[0-9]{1,9}\s*", gate):
        if int(gate) < 1:
            raise Misuse(f"--gate counts kernels from 1, got {gate}.")
        chosen = choose_kernels(content, spec)
        n_kernels = content.rows.n_kernels if content.kind == GRAMS else len(chosen.kernels)
        if int(gate) > n_kernels:
            raise Misuse(f"--gate must be the number of one of the {n_kernels} kernels, got {gate}.")
        return replace(chosen, gate=int(gate) - 1)
    if content.kind == GRAMS:
        if spec is not None or gate is not None:
            raise Misuse(
                "The kernels of a Gram file are computed already; --gate may name one by its number."
            )
        return Chosen("precomputed", None, None, content, f"the {content.rows.n_kernels} of the file")
    make = _on_sequences if content.kind == SEQUENCES else _on_columns
    given, said = default_kernels(content) if spec is None else (parse_kernels(spec), spec)
    kernels = [kernel for wanted in given for kernel in make(content, wanted)]
    gates = (
        [] if gate is None else [kernel for wanted in parse_kernels(gate) for kernel in make(content, wanted)]
    )
    if len(gates) > 1:
        raise Misuse(f"--gate must be one kernel, got {len(gates)}: {gate!r}.")
    if content.kind == TABLE:
        if spec is not None and any(wanted.is_vector and _on_all(wanted) for wanted in given):
            said += _left_out(content)
        content = _used_columns(content, [*kernels, *gates])
    return Chosen(kernels, numbered(_names(given)), gates[0] if gates else None, content, said)


def _names(given):
    """Return names of kernels, with all their parameters where the short ones are not enough."""
    short = [name for wanted in given for name in wanted.names()]
    if len(set(short)) == len(short):
        return short
    return [name for wanted in given for name in wanted.names(full=True)]


def _used_columns(content, kernels):
    """Return a table with the columns that kernels read alone, as numbers where they need numbers."""
    numeric = numeric_columns(kernels, content.rows.columns)
    sequences = {kernel.column for kernel in kernels if hasattr(kernel, "column")}
    for column in sequences:
        _check_sequences(content, column)
    used = {*numeric, *sequences}
    rows = content.rows[[name for name in content.rows.columns if name in used]]
    for kernel in kernels:
        if getattr(kernel, "columns", None) == list(rows.columns):
            kernel.set_params(columns=None)  # all there are: thousands of names need not be kept
    return replace(content, rows=as_numbers(content, rows, numeric))


def fitting_rows(piece, like):
    """Return the rows of a piece as those of the sample are, which kernels were chosen for."""
    if piece.kind == SEQUENCES:
        return piece.rows
    rows = pick_columns(piece, like).rows
    for name, dtype in zip(like.columns, like.dtypes, strict=True):
        if dtype.kind != "f":
            _check_sequences(piece, name)
    return rows


def _check_sequences(content, column):
    wrong = [row for row, entry in enumerate(content.rows[column]) if not isinstance(entry, str)]
    if wrong:
        place, came = content.place(wrong[0], column)
        raise ValueError(
            f"{str(content.path)!r}, {place}: the column {column!r} must hold sequences, "
            f"got {repr(came) if came else 'none'}; correct it, or do without the column."
        )


def default_kernels(content):
    """Return the kernels for a file when none are named, a list of `Wanted`, and the choice in words."""
    if content.kind == SEQUENCES:
        alphabet = guess_alphabet(content.rows)
        given = _sequence_kernels(alphabet, {len(sequence) for sequence in content.rows})
        return given, f"{in_words(given)} ({alphabet})"
    frame = content.rows
    numeric, left = numeric_names(frame), row_names(content)
    if not numeric:
        raise ValueError(
            f"{str(content.path)!r} must have numeric columns beside the target, it has none; name the "
            'kernels by --kernels, for instance "spectrum:3 column=promoter".'
        )
    text = frame.columns.difference(numeric, sort=False).tolist()
    given, said = _table_kernels([name for name in numeric if name not in left], frame.columns)
    said += ", standardised" + (f" (left out as text: {listed(text)})" if text else "")
    return given, said + _left_out(content)


def _sequence_kernels(alphabet, lengths):
    """Return kernels that look in place and anywhere, or those for different lengths."""
    given = [*IN_PLACE, ANYWHERE] if len(lengths) == 1 else OF_ANY_LENGTH[alphabet]
    shortest = min(lengths)
    given = [replace(one, values=tuple(v for v in one.values if v <= shortest)) for one in given]
    return [one for one in given if one.values]


def _table_kernels(names, among):
    """Return kernels on numeric columns, a list of `Wanted`, and the choice in words.

    Those on all columns are joined by one on each group of columns, by their names, or on each of few. Groups
    took six views of digits from 94.0 to 96.7 % and three of ROSMAP from 87.6 to 88.3 % AUC (MKL, C 10).
    """
    patterns, rest = column_groups(names, among)
    rest = [",".join(rest)] if rest and all(map(is_plain, rest)) else []
    parts = [*patterns, *rest] if patterns else [[name] for name in names]
    given = [Wanted("linear"), Wanted("rbf", (0.1, 1, 10))]
    said = in_words(given)
    if not 1 < len(parts) <= SINGLE_COLUMNS + 1:
        return given, said
    called = f"groups of columns ({listed(parts)})" if patterns else "columns"
    given += [Wanted("rbf", parameters={"columns": part}) for part in parts]
    return given, f"{said}; rbf on each of {len(parts)} {called}"


def _on_all(wanted):
    """Whether a vector kernel is meant for all numeric columns."""
    return wanted.parameters.get("columns") in (None, "*")


def row_names(content):
    """Return the columns of a table that only number its rows."""
    return identifiers(content.rows) if content.row_names is None else content.row_names


def _left_out(content):
    found = row_names(content)
    return (
        f" (left out as identifier: {listed(sorted(found))}; name it in --kernels to use it)" if found else ""
    )


def _on_sequences(content, wanted):
    if wanted.is_vector:
        raise ValueError(f"{str(content.path)!r} holds sequences, but {wanted.word!r} needs numeric columns.")
    if "column" in wanted.parameters:
        raise ValueError(
            f"{str(content.path)!r} has no columns; leave out column= of the kernel {wanted.word!r}."
        )
    return wanted.make(alphabet=guess_alphabet(content.rows))


def _on_columns(content, wanted):
    if wanted.is_vector:
        columns = _matching(content, wanted)
        return replace(wanted, parameters={**wanted.parameters, "columns": columns}).make(standardize=True)
    column = _sequence_column(content, wanted)
    parameters = {**wanted.parameters, "column": column}
    return replace(wanted, parameters=parameters).make(alphabet=guess_alphabet(content.rows[column]))


def guess_alphabet(sequences):
    """Return the first alphabet that holds all letters and has most of them as letters of its own.

    Examples
    --------
    >>> guess_alphabet(["ACGT", "NNGA"]), guess_alphabet(["MKV"])
    ('dna', 'protein')
    """
    counts = Counter("".join(map(str, sequences)).upper())
    for name, (own, ambiguous) in ALPHABETS.items():
        if set(counts) <= set(own + ambiguous) and 2 * sum(counts[c] for c in own) > counts.total():
            return name
    return "protein"


def _matching(content, wanted):
    """Return the columns that the patterns of a vector kernel name, each once."""
    frame, patterns = content.rows, wanted.parameters.get("columns")
    if _on_all(wanted):
        left = row_names(content)
        return [name for name in numeric_names(frame) if name not in left]
    patterns = patterns.split(",") if isinstance(patterns, str) else patterns
    if not isinstance(patterns, list):
        raise ValueError(
            f"`columns` of the kernel {wanted.word!r} must be names or patterns, got {patterns!r}."
        )
    found: dict[str, None] = {}
    for pattern in map(str, patterns):
        names = [pattern] if pattern in frame.columns else []
        names = names or [name for name in frame.columns if fnmatchcase(name, pattern)]
        if not names:
            raise ValueError(
                f"{str(content.path)!r} has no column {pattern!r} for the kernel {wanted.word!r}; "
                f"it has {listed(frame.columns)}."
            )
        found |= dict.fromkeys(names)
    return list(found)


def _sequence_column(content, wanted):
    frame, column = content.rows, wanted.parameters.get("column")
    if column is None:
        text = frame.columns.difference(numeric_names(frame), sort=False).tolist()
        if len(text) == 1:
            return text[0]
        raise ValueError(
            f"The kernel {wanted.word!r} must name a column of sequences as column=NAME, got none; "
            f"{str(content.path)!r} has {listed(text) or 'no text columns'}."
        )
    if column not in frame.columns:
        raise ValueError(
            f"The kernel {wanted.word!r} must name a column of sequences as column=NAME, got {column!r}; "
            f"{str(content.path)!r} has {listed(frame.columns)}."
        )
    return column
