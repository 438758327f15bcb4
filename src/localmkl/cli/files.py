"""Data files of the command line: what kind they are, what they hold, which kernels suit them.

table       .csv, .tsv, .txt, .parquet    rows with named columns, one of them the target
sequences   .fa, .fasta, ...              FASTA records, labels in the headers or in a file
grams       .npy, .npz, .mat              Gram matrices, labels among the variables or in a file
"""

import re
import warnings
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
from localmkl.datasets.labels import MISSING, as_labels
from localmkl.datasets.opening import check_regular, file_kind, read_text
from localmkl.datasets.readers import column_labels, read_fasta, read_grams, read_table
from localmkl.datasets.tables import field_at
from localmkl.kernels.alphabets import ALPHABETS

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
LARGEST = 1e100
"""Numbers of this size may be squared and summed."""
COUNTED = 10
"""From this many rows on, a column that counts them is no accident."""
ROW_NAMES = re.compile(
    r"(.*[ _.-])?(id|ids|idx|index|key|no|nr|row|sample)|.*[a-z]ID|unnamed: 0", re.IGNORECASE
)
POSITIVE, NEGATIVE = 1, -1
"""Labels of the sequences of two files."""


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
    header : bool or None
        Whether the first line of a table names its columns; None: look.
    negative : Path or None
        Sequences of the other class.
    """

    target: str | None = None
    labels: Path | None = None
    names: str | None = None
    variable: str | None = None
    header: bool | None = None
    negative: Path | None = None


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
    header : bool or None
        As it was asked for.
    """

    path: Path
    kind: str
    rows: Any
    y: np.ndarray | None
    names: np.ndarray | None = None
    train: tuple | None = None
    header: bool | None = None

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
    check_regular(path)
    return Path(path).suffix == MODEL or is_archive(path)


def parse_rows(text, n_rows):
    """Return the numbers of the rows START:STOP.

    Examples
    --------
    >>> parse_rows("2:5", 10), parse_rows("8:", 10)
    (array([2, 3, 4]), array([8, 9]))
    """
    ends = re.fullmatch(r"\s*([0-9]{0,18})\s*:\s*([0-9]{0,18})\s*", text)
    if ends is None:
        raise Misuse(f"--rows must be START:STOP, counted from 0, such as 0:300, got {text!r}.")
    start, stop = int(ends[1] or 0), int(ends[2] or n_rows)
    if not 0 <= start < stop <= n_rows:
        raise ValueError(f"--rows must lie within the {n_rows} rows of the file, got {text!r}.")
    return np.arange(start, stop)


def read_labelled(path, asked):
    """Return the content of a training file, or of two; labels must be there."""
    path, kind = Path(path), kind_of(path)
    if asked.variable is not None and kind != GRAMS:
        raise Misuse("--variable is for Gram files.")
    if asked.negative is not None:
        return _two_classes(path, asked)
    if kind == TABLE:
        if asked.labels is not None:
            raise Misuse(TABLE_LABELS)
        if asked.target is None:
            columns = listed(read_table(path, header=asked.header).frame.columns)
            raise Misuse(f"--target must name a column of {str(path)!r}; it has {columns}.")
        text = [] if asked.names is None else [asked.names]
        frame, y = read_table(path, target=asked.target, header=asked.header, text=text)
        return _with_names(path, frame, y, asked.names, asked.header)
    _refuse_table_options(asked)
    if kind == SEQUENCES:
        labels = f"header:{asked.target or 'label'}" if asked.labels is None else asked.labels
        return _sequences(path, read_fasta(path, labels=labels, unique_names=False))
    if (asked.target is None) == (asked.labels is None):
        raise Misuse(
            "The labels of a Gram file must be named, by --target VARIABLE of the file or by --labels FILE."
        )
    grams, y = read_grams(path, variable=asked.variable, labels=asked.target)
    if asked.labels is not None:
        y = _label_lines(asked.labels, len(grams))
    return Content(path, kind, grams, y)


def read_rows(path, asked):
    """Return the content of a file to predict; labels only where all are there."""
    path, kind = Path(path), kind_of(path)
    if kind == TABLE:
        if asked.labels is not None:
            raise Misuse(TABLE_LABELS)
        text = [name for name in (asked.target, asked.names) if name is not None]
        frame = read_table(path, header=asked.header, text=text).frame
        y = None
        if asked.target in frame.columns:
            y, _ = column_labels(path, frame.pop(asked.target))
        names = asked.names if asked.names in frame.columns else None
        return _with_names(path, frame, y, names, asked.header)
    if kind == SEQUENCES:
        labels = f"header:{asked.target or 'label'}"
        found = _with_labels_if_any(read_fasta, path, asked.labels, labels, unique_names=False)
        return _sequences(path, found)
    target = None if file_kind(path) == ".npy" or asked.labels is not None else asked.target
    grams, y = _with_labels_if_any(read_grams, path, None, target, variable=asked.variable)
    if asked.labels is not None:
        y = _label_lines(asked.labels, len(grams))
    return Content(path, kind, grams, y)


def _refuse_table_options(asked):
    if asked.names is not None:
        raise Misuse("--names is for tables; FASTA records have names, rows of Grams have none.")
    if asked.header is not None:
        raise Misuse("--header and --no-header are for tables.")


def _two_classes(positive, asked):
    """Return the sequences of two files, one for each class."""
    _refuse_table_options(asked)
    if asked.target is not None or asked.labels is not None:
        raise Misuse("--positive and --negative say the labels; leave out --target and --labels.")
    for path in (positive, asked.negative):
        if kind_of(path) != SEQUENCES:
            raise ValueError(f"--positive and --negative must be FASTA files, got {str(path)!r}.")
    first, second = (read_fasta(path, unique_names=False) for path in (positive, asked.negative))
    y = np.repeat([POSITIVE, NEGATIVE], [len(first.names), len(second.names)])
    names = np.concatenate([first.names, second.names])
    _say_double(f"{str(positive)!r} and {str(asked.negative)!r}", names)
    return Content(positive, SEQUENCES, np.concatenate([first.sequences, second.sequences]), y, names)


def _sequences(path, found):
    _say_double(repr(str(path)), found.names)
    return Content(path, SEQUENCES, found.sequences, found.y, found.names)


def _say_double(files, names):
    name, count = Counter(names.tolist()).most_common(1)[0]
    if count > 1:
        warnings.warn(f"{files}: {count} records have the name {name!r}; all are read.", stacklevel=2)


def _with_labels_if_any(read, path, required, possible, **options):
    """Return what is read with the labels that are required, or else with those that may be there."""
    if required is None and possible is not None:
        try:
            return read(path, labels=possible, **options)
        except ValueError:  # new rows often have none; whatever else is wrong comes again
            pass
    return read(path, labels=required, **options)


def _with_names(path, frame, y, names, header):
    if names is None:
        return Content(path, TABLE, frame, y, header=header)
    if names not in frame.columns:
        raise ValueError(
            f"{str(path)!r} must have the column {names!r} of --names, it has {listed(frame.columns)}."
        )
    found = frame.pop(names).astype(str).to_numpy(dtype=object)
    return Content(path, TABLE, frame, y, found, header=header)


def _label_lines(path, n_rows):
    lines = [(number, line) for number, line in enumerate(read_text(path).split("\n"), 1) if line.strip()]
    if len(lines) != n_rows:
        raise ValueError(f"{str(path)!r} must hold one label for each of {n_rows} rows, got {len(lines)}.")
    for number, line in lines:
        if line.strip() in MISSING:
            raise ValueError(f"{str(path)!r}, line {number}: must hold a label, got {line.strip()!r}.")
    return as_labels(line for _, line in lines)


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
    names = [name for wanted in given for name in wanted.names()]
    counts = Counter(names)
    names = [f"{name} ({m + 1})" if counts[name] > 1 else name for m, name in enumerate(names)]
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
        longest = min(DEGREES, *lengths) if len(lengths) == 1 else WORDS[alphabet]
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
    wrong = ~(np.abs(numbers) <= LARGEST)
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
    expected = "numbers" if np.isnan(number) else f"numbers up to {LARGEST:.0e} in size"
    raise ValueError(
        f"{str(content.path)!r}, {place}: the column {name!r} must hold {expected}, "
        f"got {'an empty field' if came == '' else repr(came)}; correct it, or do without the column."
    )
