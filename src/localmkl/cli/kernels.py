"""The kernels for a data file: those that words ask for, or a default for its kind."""

import re
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from localmkl._checks import listed
from localmkl._spelling import meant
from localmkl.cli.columns import (
    as_read,
    column_groups,
    columns_of,
    is_plain,
    numeric_names,
    word_names,
)
from localmkl.cli.files import GRAMS, MATRIX, SEQUENCES, TABLE, Content, counted
from localmkl.cli.voice import Misuse
from localmkl.cli.words import Wanted, in_words, parse_kernels
from localmkl.kernels.alphabets import guess_alphabet

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

ON_COUNTS = Wanted("tfidf"), Wanted("cosine")
"""Default kernels on sparse counts."""

ON_NUMBERS = Wanted("linear"), Wanted("rbf", (0.1, 1, 10))
"""Default kernels on all numeric columns."""

WORDS, TEXT = "overlap", "tfidf"
"""The kernels on columns of words, and on a column of texts."""

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
    unread : list of str
        Views that no kernel reads.
    """

    kernels: Any
    names: list[str] | None
    gate: Any
    content: Content
    said: str
    unread: list[str] = field(default_factory=list)


def choose_kernels(content, spec=None, gate=None, impute=None):
    """Return the kernels that words ask for, or a default for the kind of file.

    Parameters
    ----------
    content : Content
    spec : str or None
    gate : str or None
        A kernel in words, or its number from one.
    impute : {"median", "mean"} or None
        What gaps in numeric columns are filled with, where the words do not say it.

    Returns
    -------
    Chosen
    """
    if gate is not None and re.fullmatch(r"\s*[0-9]{1,9}\s*", gate):
        if int(gate) < 1:
            raise Misuse(f"--gate counts kernels from 1, got {gate}.")
        chosen = choose_kernels(content, spec, impute=impute)
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
    return _chosen(content, spec, [] if gate is None else parse_kernels(gate), impute)


def _chosen(content, spec, gates, impute):
    """Return the kernels for tables, sequences, matrices, or several of them."""
    from localmkl.explain import numbered

    given, said = default_kernels(content) if spec is None else (parse_kernels(spec), spec)
    kernels = [kernel for wanted in given for kernel in _make(content, wanted, impute)]
    gate_kernels = [kernel for wanted in gates for kernel in _make(content, wanted, impute)]
    if len(gate_kernels) > 1:
        raise Misuse(f"--gate must be one kernel, got {len(gate_kernels)}.")
    content, unread = with_used(content, [*kernels, *gate_kernels])
    content, lonely = content.without_lonely()
    said += f" (not read: {listed(unread)})" if unread else ""
    said += f" (left out, in no view that is read: {counted(lonely)})" if lonely else ""
    return Chosen(kernels, numbered(_names(given)), gate_kernels[0] if gates else None, content, said, unread)


def _are_counts(matrix):
    """Whether all numbers of a sparse matrix are whole and at least zero."""
    return bool(np.all((matrix.data >= 0) & (matrix.data == np.round(matrix.data))))


def _make(content, wanted, impute):
    """Return the kernels that words ask for, on the rows of their view."""
    part = content
    if content.parts is None and wanted.view is not None:
        raise ValueError(f"view= of the kernel {wanted.word!r} is for several files, got one.")
    if content.parts is not None:
        part = content.parts.get(wanted.view)
        if part is None:
            came = "none" if wanted.view is None else repr(wanted.view)
            raise ValueError(
                f"The kernel {wanted.word!r} must name its view as view=NAME, one of "
                f"{listed(list(content.parts))}, got {came}{meant(wanted.view or '', content.parts)}"
            )
    return MAKERS[part.kind](part, wanted, impute)


def _names(given):
    """Return names of kernels, with all their parameters where the short ones are not enough."""
    short = [name for wanted in given for name in wanted.names()]
    if len(set(short)) == len(short):
        return short
    return [name for wanted in given for name in wanted.names(full=True)]


def with_used(content, kernels):
    """Return what kernels read, alone and as they read it, and the views that none reads."""
    if content.kind == TABLE:
        return _used_columns(content, kernels), []
    if content.parts is None:
        return content, []
    used = {view: [one for one in kernels if one.view == view] for view in content.parts}
    parts = {view: with_used(content.parts[view], own)[0] for view, own in used.items() if own}
    return content.with_parts(parts), [view for view, own in used.items() if not own]


def _used_columns(content, kernels):
    """Return a table with the columns that kernels read alone, as numbers where they need numbers."""
    read = columns_of(kernels, content.rows.columns)
    used = {*read, *(kernel.column for kernel in kernels if hasattr(kernel, "column"))}
    content = as_read(content, [name for name in content.rows.columns if name in used], kernels)
    for kernel in kernels:
        if getattr(kernel, "columns", None) == list(content.rows.columns):
            kernel.set_params(columns=None)  # all there are: thousands of names need not be kept
    return content


def fitting_rows(piece, chosen):
    """Return the rows of a piece as those of the sample are, which kernels were chosen for."""
    if piece.kind != TABLE:
        return piece.rows
    kernels = [one for one in (*chosen.kernels, chosen.gate) if hasattr(one, "takes_text")]
    return as_read(piece, chosen.content.rows.columns, kernels).rows


def default_kernels(content):
    """Return the kernels for a file when none are named, a list of `Wanted`, and the choice in words."""
    if content.parts is not None:
        return _view_kernels(content.parts)
    if content.kind == SEQUENCES:
        alphabet = guess_alphabet(content.rows)
        given = _sequence_kernels(alphabet, {len(sequence) for sequence in content.rows})
        return given, f"{in_words(given)} ({alphabet})"
    if content.kind == MATRIX:
        given = list(ON_COUNTS if _are_counts(content.rows) else ON_NUMBERS)
        return given, in_words(given)
    frame = content.used().rows
    words = word_names(frame)
    numeric = [name for name in numeric_names(frame) if name not in words]
    if not numeric and not words:
        raise ValueError(
            f"{str(content.path)!r} must have columns of numbers or of few different words beside the "
            f"target, it has none; name the kernels by --kernels."
        )
    given, said = _table_kernels(numeric, frame.columns)
    if words:
        given += [Wanted("overlap", parameters={"columns": part}) for part in _word_parts(words)]
        said = "; ".join(filter(None, (said, f"overlap of {listed(words)}")))
    return given, said


def _view_kernels(parts):
    """Return the default kernels of every view."""
    given: list = []
    told: list[str] = []
    for view, part in parts.items():
        own, said = default_kernels(part)
        given += [replace(one, parameters={**one.parameters, "view": view}) for one in own]
        told.append(f"{view}: {said}")
    return given, " | ".join(told)


def _word_parts(words):
    """Return the columns of words, each by itself if they are few."""
    return [[name] for name in words] if len(words) <= SINGLE_COLUMNS else [words]


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
    given = list(ON_NUMBERS) if names else []
    said = in_words(given) + ", standardised" * bool(names)
    if not 1 < len(parts) <= SINGLE_COLUMNS + 1:
        return given, said
    called = f"groups of columns ({listed(parts)})" if patterns else "columns"
    given += [Wanted("rbf", parameters={"columns": part}) for part in parts]
    said = f"{in_words(ON_NUMBERS)}; rbf on each of {len(parts)} {called}, standardised"
    return given, said


def _on_all(wanted):
    """Whether a kernel is meant for all columns that it can read."""
    return wanted.is_vector and wanted.parameters.get("columns") in (None, "*")


def _on_sequences(content, wanted, impute):
    if wanted.is_vector:
        raise ValueError(f"{str(content.path)!r} holds sequences, but {wanted.word!r} needs numeric columns.")
    if "column" in wanted.parameters:
        raise ValueError(
            f"{str(content.path)!r} has no columns; leave out column= of the kernel {wanted.word!r}."
        )
    return wanted.make(alphabet=guess_alphabet(content.rows))


def _on_matrix(content, wanted, impute):
    if not (wanted.is_vector or wanted.word == TEXT):
        raise ValueError(f"{str(content.path)!r} holds numbers, but {wanted.word!r} needs sequences.")
    named = [name for name in ("columns", "column") if name in wanted.parameters]
    if named:
        raise ValueError(
            f"The columns of {str(content.path)!r} have no names; leave out {named[0]}= of the kernel "
            f"{wanted.word!r}."
        )
    return wanted.make(impute=impute)


def _on_columns(content, wanted, impute):
    if wanted.is_vector:
        columns = _matching(content, wanted)
        found = replace(wanted, parameters={**wanted.parameters, "columns": columns})
        imputed = "most_frequent" if wanted.word == WORDS else impute or "median"
        return found.make(standardize=True, impute=imputed)
    column = _text_column(content, wanted)
    found = replace(wanted, parameters={**wanted.parameters, "column": column})
    return found.make(alphabet=guess_alphabet(content.rows[column]))


MAKERS = {SEQUENCES: _on_sequences, MATRIX: _on_matrix, TABLE: _on_columns}
"""Kind of rows: what makes kernels on them."""


def _matching(content, wanted):
    """Return the columns that the patterns of a vector kernel name, each once."""
    frame, patterns = content.rows, wanted.parameters.get("columns")
    if _on_all(wanted):
        left = content.left_out
        found_all = word_names(frame) if wanted.word == WORDS else numeric_names(frame)
        chosen = [name for name in found_all if name not in left]
        if not chosen:
            what = "columns of few different words" if wanted.word == WORDS else "numeric columns"
            raise ValueError(
                f"{str(content.path)!r} has no {what} for the kernel {wanted.word!r}; name some as "
                "columns=NAMES."
            )
        return chosen
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
                f"it has {listed(frame.columns)}{meant(pattern, frame.columns)}"
            )
        found |= dict.fromkeys(names)
    return list(found)


def _text_column(content, wanted):
    """Return the column of sequences or texts that a kernel reads."""
    frame, column = content.rows, wanted.parameters.get("column")
    what = "texts" if wanted.word == TEXT else "sequences"
    if column is None:
        text = frame.columns.difference(numeric_names(frame), sort=False).tolist()
        if len(text) == 1:
            return text[0]
        raise ValueError(
            f"The kernel {wanted.word!r} must name a column of {what} as column=NAME, got none; "
            f"{str(content.path)!r} has {listed(text) or 'no text columns'}."
        )
    if column not in frame.columns:
        raise ValueError(
            f"The kernel {wanted.word!r} must name a column of {what} as column=NAME, got {column!r}; "
            f"{str(content.path)!r} has {listed(frame.columns)}{meant(column, frame.columns)}"
        )
    return column
