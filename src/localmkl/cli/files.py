"""Data files of the command line: what kind they are, what they hold, which kernels suit them.

table       .csv, .tsv, .txt, .parquet    rows with named columns, one of them the target
sequences   .fa, .fasta, ...              FASTA records, labels in the headers or in a file
grams       .npy, .npz, .mat              Gram matrices, labels among the variables or in a file
"""

from collections import Counter
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from localmkl._archive import is_archive
from localmkl._checks import listed
from localmkl.cli.voice import Misuse
from localmkl.cli.words import Wanted, parse_kernels
from localmkl.datasets import read_fasta, read_grams, read_table
from localmkl.datasets.readers import as_labels, file_kind, read_text
from localmkl.kernels import ALPHABETS

TABLE, SEQUENCES, GRAMS = "table", "sequences", "grams"
KINDS = {
    TABLE: (".csv", ".tsv", ".txt", ".parquet"),
    SEQUENCES: (".fa", ".fasta", ".fas", ".fna", ".ffn", ".faa", ".frn"),
    GRAMS: (".npy", ".npz", ".mat"),
}
CALLED = {TABLE: "a table", SEQUENCES: "a FASTA file", GRAMS: "a Gram file"}
MODEL = ".localmkl"
TABLE_LABELS = "--labels is for FASTA and Gram files; the labels of a table are the column of --target."
SINGLE_COLUMNS = 20
"""Up to this many columns of a table get a kernel each by default."""
DEGREES = 20
WORDS = {"dna": 6, "rna": 6, "protein": 3}
"""Longest k-mers of the default kernels on sequences of different lengths."""


@dataclass(frozen=True)
class Asked:
    """What the options say about a data file.

    Attributes
    ----------
    target : str or None
        Column of a table, key in FASTA headers, or variable of a Gram file.
    labels : Path or None
        A file of labels.
    names : str or None
        Column of a table with the names of the rows.
    variable : str or None
        Of a Gram file: the stack.
    """

    target: str | None = None
    labels: Path | None = None
    names: str | None = None
    variable: str | None = None


@dataclass(frozen=True)
class Content:
    """What a data file holds.

    Attributes
    ----------
    path : Path
    kind : one of KINDS
    rows : DataFrame, ndarray of str, or GramStack
    y : ndarray or None
    names : ndarray of str, or None
    train : tuple (rows, y), or None
        Of a Gram file with all rows: the training rows of a model among them.
    """

    path: Path
    kind: str
    rows: Any
    y: np.ndarray | None
    names: np.ndarray | None = None
    train: tuple | None = None

    def __len__(self):
        return self.rows.shape[0]

    def take(self, rows):
        """Return the Grams of some rows with each other."""
        return replace(self, rows=self.rows[np.ix_(rows, rows)], y=None if self.y is None else self.y[rows])


def kind_of(path):
    """Return what kind of data file this is, by its name."""
    suffix = file_kind(Path(path))
    for kind, suffixes in KINDS.items():
        if suffix in suffixes:
            return kind
    known = ", ".join(suffix for suffixes in KINDS.values() for suffix in suffixes)
    raise ValueError(f"{str(path)!r} must end in one of {known}, got {suffix!r}; rename or convert it.")


def is_model(path):
    """Whether a file is a model, whatever its name; or by its name, if it is damaged: loading says so."""
    return Path(path).suffix == MODEL or is_archive(path)


def parse_rows(text, n_rows):
    """Return the numbers of the rows START:STOP.

    Examples
    --------
    >>> parse_rows("2:5", 10), parse_rows("8:", 10)
    (array([2, 3, 4]), array([8, 9]))
    """
    ends = text.split(":")
    if len(ends) != 2 or any(end.strip() and not end.strip().isdigit() for end in ends):
        raise Misuse(f"--rows must be START:STOP, counted from 0, such as 0:300, got {text!r}.")
    start, stop = int(ends[0] or 0), int(ends[1] or n_rows)
    if not 0 <= start < stop <= n_rows:
        raise ValueError(f"--rows must lie within the {n_rows} rows of the file, got {text!r}.")
    return np.arange(start, stop)


def read_labelled(path, asked):
    """Return the content of a training file; labels must be there."""
    path, kind = Path(path), kind_of(path)
    if kind == TABLE:
        if asked.labels is not None:
            raise Misuse(TABLE_LABELS)
        if asked.target is None:
            columns = listed(read_table(path).frame.columns)
            raise Misuse(f"--target must name a column of {str(path)!r}; it has {columns}.")
        frame, y = read_table(path, target=asked.target)
        return _with_names(path, frame, _plain_labels(y), asked.names)
    if asked.names is not None:
        raise Misuse("--names is for tables; FASTA records have names, rows of Grams have none.")
    if kind == SEQUENCES:
        labels = f"header:{asked.target or 'label'}" if asked.labels is None else asked.labels
        found = read_fasta(path, labels=labels)
        return Content(path, kind, found.sequences, found.y, found.names)
    if (asked.target is None) == (asked.labels is None):
        raise Misuse(
            "The labels of a Gram file must be named, by --target VARIABLE of the file or by --labels FILE."
        )
    grams, y = read_grams(path, variable=asked.variable, labels=asked.target)
    if asked.labels is not None:
        y = _label_lines(asked.labels, len(grams))
    return Content(path, kind, grams, _plain_labels(y))


def read_rows(path, asked):
    """Return the content of a file to predict; labels only where all are there."""
    path, kind = Path(path), kind_of(path)
    if kind == TABLE:
        if asked.labels is not None:
            raise Misuse(TABLE_LABELS)
        frame = read_table(path).frame
        y = None
        if asked.target in frame.columns:
            column = frame.pop(asked.target)
            y = None if column.isna().any() else _plain_labels(column.to_numpy())
        return _with_names(path, frame, y, asked.names if asked.names in frame.columns else None)
    if kind == SEQUENCES:
        found = _with_labels_if_any(read_fasta, path, asked.labels, f"header:{asked.target or 'label'}")
        return Content(path, kind, found.sequences, found.y, found.names)
    target = None if file_kind(path) == ".npy" or asked.labels is not None else asked.target
    grams, y = _with_labels_if_any(read_grams, path, None, target, variable=asked.variable)
    if asked.labels is not None:
        y = _label_lines(asked.labels, len(grams))
    return Content(path, kind, grams, None if y is None else _plain_labels(y))


def _with_labels_if_any(read, path, required, possible, **options):
    """Return what is read with the labels that are required, or else with those that may be there."""
    if required is None and possible is not None:
        try:
            return read(path, labels=possible, **options)
        except ValueError:  # new rows often have none; whatever else is wrong comes again
            pass
    return read(path, labels=required, **options)


def _with_names(path, frame, y, names):
    frame.columns = frame.columns.map(str)
    if names is None:
        return Content(path, TABLE, frame, y)
    if names not in frame.columns:
        raise ValueError(
            f"{str(path)!r} must have the column {names!r} of --names, it has {listed(frame.columns)}."
        )
    return Content(path, TABLE, frame.drop(columns=names), y, frame[names].astype(str).to_numpy(dtype=object))


def _label_lines(path, n_rows):
    lines = [line.strip() for line in read_text(path).splitlines() if line.strip()]
    if len(lines) != n_rows:
        raise ValueError(f"{str(path)!r} must hold one label for each of {n_rows} rows, got {len(lines)}.")
    return as_labels(lines)


def _plain_labels(y):
    """Return labels as numbers, or as text of one type."""
    if y.dtype.kind in "iuf":
        return y
    return y.astype(str)


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
    if gate is not None and gate.strip().isdigit():
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
    given, said = _default(content) if spec is None else (parse_kernels(spec), spec)
    kernels = [kernel for wanted in given for kernel in make(content, wanted)]
    gates = (
        [] if gate is None else [kernel for wanted in parse_kernels(gate) for kernel in make(content, wanted)]
    )
    if len(gates) > 1:
        raise Misuse(f"--gate must be one kernel, got {len(gates)}: {gate!r}.")
    if content.kind == TABLE:
        everyone = [*kernels, *gates]
        numeric = numeric_columns(everyone)
        used = {*numeric, *(kernel.column for kernel in everyone if hasattr(kernel, "column"))}
        rows = content.rows[[name for name in content.rows.columns if name in used]]
        content = replace(content, rows=as_numbers(content.path, rows, numeric))
    names = [name for wanted in given for name in wanted.names()]
    names = [f"{name} ({m + 1})" if names.count(name) > 1 else name for m, name in enumerate(names)]
    return Chosen(kernels, names, gates[0] if gates else None, content, said)


def _default(content):
    """Return the kernels for a file when none are named, and the choice in words."""
    if content.kind == SEQUENCES:
        lengths = {len(sequence) for sequence in content.rows}
        alphabet = guess_alphabet(content.rows)
        longest = min(DEGREES, *lengths) if len(lengths) == 1 else WORDS[alphabet]
        spec = f"{'wd' if len(lengths) == 1 else 'spectrum'}:1-{longest}"
        return parse_kernels(spec), f"{spec} ({alphabet})"
    frame = content.rows
    numeric = [name for name in frame.columns if _is_numeric(frame[name])]
    if not numeric:
        raise ValueError(
            f"{str(content.path)!r} must have numeric columns beside the target, it has none; name the "
            'kernels by --kernels, for instance "spectrum:3 column=promoter".'
        )
    if 1 < len(numeric) <= SINGLE_COLUMNS:
        given = [Wanted("rbf", parameters={"columns": [name]}) for name in numeric]
        given.append(Wanted("rbf", parameters={"columns": "*"}))
        said = f"rbf on each of {len(numeric)} columns, and rbf on all"
    else:
        said = "linear; rbf:0.1,1,10"
        given = parse_kernels(said)
    text = [name for name in frame.columns if name not in numeric]
    return given, said + ", standardised" + (f" (left out as text: {listed(text)})" if text else "")


def _on_sequences(content, wanted):
    if wanted.is_vector:
        raise ValueError(f"{str(content.path)!r} holds sequences, but {wanted.word!r} needs numeric columns.")
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
    if patterns in (None, "*"):
        return [name for name in frame.columns if _is_numeric(frame[name])]
    patterns = patterns.split(",") if isinstance(patterns, str) else patterns
    found: list[str] = []
    for pattern in map(str, patterns):
        names = [pattern] if pattern in frame.columns else []
        names = names or [name for name in frame.columns if fnmatchcase(name, pattern)]
        if not names:
            raise ValueError(
                f"{str(content.path)!r} has no column {pattern!r} for the kernel {wanted.word!r}; "
                f"it has {listed(frame.columns)}."
            )
        found += [name for name in names if name not in found]
    return found


def _sequence_column(content, wanted):
    frame, column = content.rows, wanted.parameters.get("column")
    text = [name for name in frame.columns if not _is_numeric(frame[name])]
    if column is None and len(text) == 1:
        return text[0]
    if column not in frame.columns:
        raise ValueError(
            f"The kernel {wanted.word!r} must name a column of sequences as column=NAME, got {column!r}; "
            f"{str(content.path)!r} has {listed(text) or 'no text columns'}."
        )
    return column


def _is_numeric(column):
    """Whether any entry is a number: such a column is meant to hold numbers."""
    import pandas as pd

    return bool(pd.to_numeric(column, errors="coerce").notna().any())


def numeric_columns(kernels):
    """Return the columns that kernels read as numbers."""
    lists = [kernel.columns for kernel in kernels if getattr(kernel, "columns", None) is not None]
    return list(dict.fromkeys(name for names in lists for name in names))


def pick_columns(content, like):
    """Return a table with the columns of another one, numbers where that has numbers."""
    frame = content.rows
    missing = [name for name in like.columns if name not in frame.columns]
    if missing:
        raise ValueError(
            f"{str(content.path)!r} must have the column {missing[0]!r} of the training rows, "
            f"it has {listed(frame.columns)}."
        )
    numeric = [name for name in like.columns if like[name].dtype.kind == "f"]
    return replace(content, rows=as_numbers(content.path, frame[list(like.columns)], numeric))


def as_numbers(path, frame, columns):
    """Return a table whose `columns` are numbers; text and gaps in them are errors that name the line."""
    import pandas as pd

    frame = frame.copy()
    shift = "row {0}" if file_kind(Path(path)) == ".parquet" else "line {1}"
    for name in columns:
        numbers = pd.to_numeric(frame[name], errors="coerce").astype(float)
        wrong = np.flatnonzero(~np.isfinite(numbers.to_numpy()))
        if len(wrong):
            place, entry = shift.format(wrong[0], wrong[0] + 2), frame[name].iloc[wrong[0]]
            came = "an empty field" if pd.isna(entry) else repr(entry)
            raise ValueError(
                f"{str(path)!r}, {place}: the column {name!r} must hold numbers, got {came}; "
                "correct it, or do without the column."
            )
        frame[name] = numbers
    return frame
