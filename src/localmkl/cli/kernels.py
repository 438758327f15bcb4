"""The kernels for a data file: those that words ask for, or a default for its kind."""

import re
from collections import Counter
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from localmkl._checks import listed
from localmkl.cli.columns import as_numbers, identifiers, numeric_columns, numeric_names
from localmkl.cli.files import GRAMS, SEQUENCES, TABLE, Content
from localmkl.cli.voice import Misuse
from localmkl.cli.words import Wanted, parse_kernels
from localmkl.datasets.delimited import field_at
from localmkl.kernels.alphabets import ALPHABETS

LONGEST_DEGREE = 20
"""Most weighted-degree kernels by default, degrees from 1 on: those of the paper on splice sites."""

LONGEST_WORDS = {"dna": 6, "rna": 6, "protein": 3}
"""Longest k-mers of the default kernels on sequences of different lengths: there are some thousand of these,
and longer ones seldom come twice."""

SINGLE_COLUMNS = 20
"""Up to this many columns of a table get a kernel each by default: as many kernels as sequences get."""


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
            said += _left_out(content.rows)
        content = _used_columns(content, [*kernels, *gates])
    names = numbered([name for wanted in given for name in wanted.names()])
    return Chosen(kernels, names, gates[0] if gates else None, content, said)


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


def _check_sequences(content, column):
    wrong = [row for row, entry in enumerate(content.rows[column]) if not isinstance(entry, str)]
    if wrong:
        place, came = field_at(content.path, wrong[0], column, header=content.header)
        raise ValueError(
            f"{str(content.path)!r}, {place}: the column {column!r} must hold sequences, "
            f"got {repr(came) if came else 'none'}; correct it, or do without the column."
        )


def default_kernels(content):
    """Return the kernels for a file when none are named, a list of `Wanted`, and the choice in words."""
    if content.kind == SEQUENCES:
        lengths = {len(sequence) for sequence in content.rows}
        alphabet = guess_alphabet(content.rows)
        longest = min(LONGEST_DEGREE, *lengths) if len(lengths) == 1 else LONGEST_WORDS[alphabet]
        word = "wd" if len(lengths) == 1 else "spectrum"
        return [Wanted(word, tuple(range(1, longest + 1)))], f"{word}:1-{longest} ({alphabet})"
    frame = content.rows
    numeric, row_names = numeric_names(frame), identifiers(frame)
    if not numeric:
        raise ValueError(
            f"{str(content.path)!r} must have numeric columns beside the target, it has none; name the "
            'kernels by --kernels, for instance "spectrum:3 column=promoter".'
        )
    text = frame.columns.difference(numeric, sort=False).tolist()
    numeric = [name for name in numeric if name not in row_names]
    if 1 < len(numeric) <= SINGLE_COLUMNS:
        given = [Wanted("rbf", parameters={"columns": [name]}) for name in numeric]
        given.append(Wanted("rbf", parameters={"columns": "*"}))
        said = f"rbf on each of {len(numeric)} columns, and rbf on all"
    else:
        said = "linear; rbf:0.1,1,10"
        given = [Wanted("linear"), Wanted("rbf", (0.1, 1, 10))]
    said += ", standardised" + (f" (left out as text: {listed(text)})" if text else "")
    return given, said + _left_out(frame)


def _on_all(wanted):
    """Whether a vector kernel is meant for all numeric columns."""
    return wanted.parameters.get("columns") in (None, "*")


def _left_out(frame):
    row_names = identifiers(frame)
    return (
        f" (left out as identifier: {listed(sorted(row_names))}; name it in --kernels to use it)"
        if row_names
        else ""
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
        row_names = identifiers(frame)
        return [name for name in numeric_names(frame) if name not in row_names]
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
