"""Data files of the command line: what kind they are and what they hold.

table       .csv, .tsv, .txt, .parquet    rows with named columns, one of them the target
sequences   .fa, .fasta, ...              FASTA records, labels in the headers or in a file
grams       .npy, .npz, .mat              Gram matrices, labels among the variables or in a file
matrix      .mtx                          sparse rows, their names in a file beside it
omics       .h5ad, .h5mu                  AnnData and MuData: one view or several, labels among `obs`

Several files, and the last two kinds, are views of the same samples: see `joining`.
"""

import os
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from localmkl._archive import is_archive
from localmkl._checks import is_missing, listed
from localmkl._resources import available_memory
from localmkl._spelling import meant
from localmkl._warnings import warn
from localmkl.cli.columns import left_out, remarks, tidied
from localmkl.cli.truth import with_gaps
from localmkl.cli.voice import Misuse
from localmkl.datasets.delimited import field_at
from localmkl.datasets.fasta import read_fasta, read_header_values, read_label_file
from localmkl.datasets.gram_files import read_grams, read_row_variable
from localmkl.datasets.labels import MISSING, as_labels
from localmkl.datasets.opening import OPENERS, check_regular, file_kind, read_text
from localmkl.datasets.tables import joined_labels, read_table, table_pieces, unlabelled

TABLE, SEQUENCES, GRAMS = "table", "sequences", "grams"
MATRIX, OMICS, VIEWS = "matrix", "omics", "views"

KINDS = {
    TABLE: (".csv", ".tsv", ".txt", ".parquet"),
    SEQUENCES: (".fa", ".fasta", ".fas", ".fna", ".ffn", ".faa", ".frn"),
    GRAMS: (".npy", ".npz", ".mat"),
    MATRIX: (".mtx",),
    OMICS: (".h5ad", ".h5mu"),
}

CALLED = {
    TABLE: "a table",
    SEQUENCES: "a FASTA file",
    GRAMS: "a Gram file",
    MATRIX: "a Matrix Market file",
    OMICS: "a file of omics",
    VIEWS: "files of several views",
}

MODEL_SUFFIX = ".localmkl"

TABLE_LABELS = "--labels is for FASTA and Gram files; the labels of a table are the column of --target."

FIRST_LETTERS = 2**16
"""Letters of a file, its first ones, that are read to name its columns."""

LARGE_BYTES = 2**28
"""Files from this size on are read in pieces; smaller ones as soon as they are a tenth of the free memory."""

COMPRESSED = 5
"""Times that a text is larger than its compressed file, about."""

MOST_UNLABELLED = 0.9
"""Share of the rows that may lack a label: a column that is emptier is hardly the one that was meant."""

POSITIVE, NEGATIVE = 1, -1
"""Labels of the sequences of two files."""


@dataclass(frozen=True)
class Asked:
    """The options on a data file.

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
    groups : str or None
        Column, key or variable with the group of each row.
    categories : tuple of str
        Columns of numbers to read as words.
    insisted : frozenset of str
        Those of the names above that new rows must have too: the ones that were said with them.
    """

    target: str | None = None
    labels: Path | None = None
    names: str | None = None
    variable: str | None = None
    header: bool | None = None
    negative: Path | None = None
    groups: str | None = None
    categories: tuple = ()
    insisted: frozenset = frozenset()


@dataclass(frozen=True)
class Content:
    """The content of a data file.

    Attributes
    ----------
    path : Path
    kind : one of KINDS
    rows : DataFrame, ndarray of str, or GramStack
    y : ndarray or None
        Labels; None in it where a row, which need not have one, has none.
    names : ndarray of str, or None
    train : tuple (rows, y), or None
        Of a Gram file with all rows: the training rows of a model among them.
    header : bool or None
        As it was asked for.
    groups : ndarray or None
        The group of each row, None where it has none.
    numbers : ndarray or None
        Numbers of the rows in the file; None: 0, 1, 2 ...
    left_out : dict of str to str
        Columns of a table that default kernels do not read, and why.
    whole : Whole or None
        The rest of a large file, of which the rows are a sample.
    parts : dict of str to Content, or None
        Of several files: what each view holds, in the order of its own rows.
    files : tuple of Path
        All of several files, also one that holds labels alone.
    columns : list of str or None
        Names of the columns of a matrix, where they have names.
    said : tuple of str
        What is to be said of the rows and columns, in sentences.
    obs : tuple of str, or None
        Of a view of an AnnData or MuData file: the columns of its `obs`.
    """

    path: Path
    kind: str
    rows: Any
    y: np.ndarray | None
    names: np.ndarray | None = None
    train: tuple | None = None
    header: bool | None = None
    groups: np.ndarray | None = None
    numbers: np.ndarray | None = None
    left_out: dict = field(default_factory=dict)
    whole: Any = None
    parts: dict | None = None
    files: tuple = ()
    columns: list | int | None = None
    said: tuple = ()
    obs: tuple | None = None

    def __len__(self):
        return self.rows.shape[0]

    @property
    def paths(self):
        """All files that the rows come from."""
        return [self.path] if self.parts is None else list(self.files)

    @property
    def notes(self):
        """What is to be said of the rows and columns, in sentences; of several files, who has which view too."""
        if self.parts is None:
            return list(self.said)
        from localmkl.estimators.groups import rows_of

        views = rows_of(self.rows)
        complete = int(np.sum(views.share(views.names) == 1.0))
        counts = ", ".join(f"{name} {int(views.present(name).sum())}" for name in views.names)
        every = "all" if complete == len(views) else complete
        return [f"Samples: {len(views)}, {every} of them in every view ({counts}).", *self.said]

    @property
    def gaps(self):
        """Numbers of missing cells by column, of those that have some and are not left out."""
        if self.whole is not None:
            return {
                name: count for name, count in self.whole.gaps.items() if name in self.used().rows.columns
            }
        if self.parts is not None:
            return {
                f"{view}: {name}": count
                for view, part in self.parts.items()
                for name, count in part.gaps.items()
            }
        if self.kind != TABLE:
            return {}
        counts = self.used().rows.isna().sum()
        return {name: int(count) for name, count in counts[counts > 0].items()}

    def fills(self):
        """Return number and filling of the missing cells by column: a median, or the most frequent word."""
        if self.parts is not None:
            return {
                f"{view}: {name}": filled
                for view, part in self.parts.items()
                for name, filled in part.fills().items()
            }
        found = {}
        for name, count in self.gaps.items():
            column = self.rows[name].dropna()
            found[name] = [count, float(column.median()) if column.dtype.kind in "iufb" else column.mode()[0]]
        return found

    def used(self):
        """Return the content without the columns that default kernels do not read."""
        if self.parts is not None:
            return self.with_parts({view: part.used() for view, part in self.parts.items()})
        if not self.left_out:
            return self
        return replace(self, rows=self.rows.drop(columns=list(self.left_out), errors="ignore"), left_out={})

    def with_parts(self, parts):
        """Return the content with some of its views, whose rows may have other columns."""
        tables = {name: part.rows for name, part in parts.items()}
        headers = {name: part.columns for name, part in parts.items() if part.columns is not None}
        return replace(self, parts=parts, rows=self.rows.with_tables(tables, headers))

    def place(self, row, name):
        """Return the place of a row in the file and its field in a column, as text."""
        row = row if self.numbers is None else self.numbers[row]
        return field_at(self.path, int(row), name, header=self.header)

    def without_lonely(self):
        """Return the samples that have one of the views, and the names of those that have none."""
        if self.parts is None:
            return self, []
        has = self.rows.share(self.rows.names) > 0.0
        if has.all():
            return self, []
        kept = {name: getattr(self, name) for name in ("y", "names", "groups")}
        kept = {name: None if column is None else column[has] for name, column in kept.items()}
        return replace(self, rows=self.rows[has], **kept), np.asarray(self.names)[~has].tolist()

    def chosen(self, rows):
        """Return some rows of a table or of sequences."""
        kept = {name: getattr(self, name) for name in ("y", "names", "groups")}
        kept = {name: None if column is None else column[rows] for name, column in kept.items()}
        table = self.rows.iloc[rows].reset_index(drop=True) if self.kind == TABLE else self.rows[rows]
        return replace(self, rows=table, numbers=rows, **kept)

    def take(self, rows):
        """Return the Grams of some rows with each other."""
        y, groups = (None if column is None else column[rows] for column in (self.y, self.groups))
        return replace(self, rows=self.rows[np.ix_(rows, rows)], y=y, groups=groups)


def counted(names):
    """Return how many samples some names are, and the first of them, in words."""
    return f"{len(names)} sample{'s' * (len(names) > 1)} ({listed(names)})"


def without_label(names):
    """Return what is said of samples that are left out of a fit; nothing if there are none."""
    return [f"Left out, without a label: {counted(names)}."] if len(names) else []


def has_labels(n_without, n_rows):
    """Whether enough rows have a label to leave out the others, and not to doubt the column."""
    return n_without <= MOST_UNLABELLED * n_rows


def _labelled_rows(content, column):
    """Return the rows of a table that have a label, and say which have none.

    Nearly empty columns are an error that names the first empty field.
    """
    empty, target = unlabelled(content.path, column), column.name
    if not has_labels(len(empty), len(column)):
        place, came = content.place(empty[0], target)
        raise ValueError(
            f"{str(content.path)!r}, {place}: must have a value in the target column {target!r}, got "
            f"{repr(came) if came else 'none'}, as in {len(empty)} of {len(column)} rows; fill them in, or "
            "name another column."
        )
    rows = np.delete(np.arange(len(column)), empty)
    y = joined_labels(content.path, [column.to_numpy()[rows]])
    if not len(empty):
        return replace(content, y=y)
    names = content.names
    if names is None:  # lines, of those alone that are shown: each is looked up in the file
        names = np.array([f"row {row}" for row in range(len(column))], dtype=object)
        for row in _shown(empty):
            names[row] = content.place(row, target)[0]
    said = without_label(names[empty].tolist())
    return replace(content.chosen(rows), y=y, said=(*content.said, *said))


def _shown(rows, most=10):
    """Return those of many rows that `listed` shows."""
    return rows if len(rows) <= most else [*rows[: most - 1], rows[-1]]


def is_gap(value):
    """Whether a value stands for none, also one that is written."""
    return is_missing(value) or (isinstance(value, str) and value.strip() in MISSING)


def kind_of(path):
    """Return the kind of a data file, by its name."""
    suffix = file_kind(Path(path))
    for kind, suffixes in KINDS.items():
        if suffix in suffixes:
            return kind
    known = ", ".join(suffix for suffixes in KINDS.values() for suffix in suffixes)
    raise ValueError(f"{str(path)!r} must end in one of {known}, got {suffix!r}; rename or convert it.")


def is_large(path):
    """Whether a table or FASTA file is better read in pieces."""
    if path is None or kind_of(path) not in (TABLE, SEQUENCES) or not os.path.exists(path):
        return False
    free, size = available_memory(), os.path.getsize(path)
    size *= COMPRESSED if Path(path).suffix.lower() in OPENERS or str(path).endswith(".parquet") else 1
    return size >= min(LARGE_BYTES, LARGE_BYTES if free is None else free // 10)


def is_model(path):
    """Whether a file is a model, whatever its name; or by its name, if it is damaged: loading says so."""
    check_regular(path)
    return Path(path).suffix == MODEL_SUFFIX or is_archive(path)


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


def check_labelled(path, asked):
    """Raise if options on a training file do not belong together; return its kind."""
    kind = kind_of(path)
    _check_different(asked, kind)
    if asked.variable is not None and kind != GRAMS:
        raise Misuse("--variable is for Gram files.")
    if asked.negative is not None:
        _check_two_classes(path, asked)
    elif kind == TABLE and asked.labels is not None:
        raise Misuse(TABLE_LABELS)
    elif kind == TABLE and asked.target is None:
        frame = next(table_pieces(path, header=asked.header, letters=FIRST_LETTERS))
        raise Misuse(f"--target must name a column of {str(path)!r}; it has {listed(frame.columns)}.")
    elif kind != TABLE:
        _refuse_table_options(asked)
    return kind


def read_labelled(path, asked):
    """Return the content of a training file, or of two; labels must be there."""
    path, kind = Path(path), check_labelled(path, asked)
    if asked.negative is not None:
        return _two_classes(path, asked)
    if kind == TABLE:
        text = [name for name in (asked.target, asked.names, asked.groups) if name is not None]
        frame = read_table(path, header=asked.header, text=text).frame
        content = Content(path, TABLE, frame, None, header=asked.header)
        column = _column_of(content, asked.target, "--target")
        content = replace(content, rows=frame.drop(columns=asked.target))
        content = _labelled_rows(set_apart(content, asked.names, asked.groups), column)
        for name in asked.categories:
            _column_of(content, name, "--categories")
        return looked_at(tidy(content, asked))
    if kind == SEQUENCES:
        return _labelled_sequences(path, asked)
    if (asked.target is None) == (asked.labels is None):
        raise Misuse(
            "The labels of a Gram file must be named, by --target VARIABLE of the file or by --labels FILE."
        )
    grams, y = read_grams(path, variable=asked.variable, labels=asked.target)
    if asked.labels is not None:
        y = _label_lines(asked.labels, len(grams))
    groups = None if asked.groups is None else read_row_variable(path, asked.groups, len(grams))
    return Content(path, kind, grams, y, groups=groups)


def tidy(content, asked):
    """Return a table with its cells as numbers or words; any other content as it is."""
    if content.kind != TABLE:
        return content
    return replace(content, rows=tidied(content.rows, asked.categories))


def looked_at(content):
    """Return the content with the columns that default kernels do not read, and what is said of columns."""
    if content.parts is not None:
        parts = {view: looked_at(part) for view, part in content.parts.items()}
        said = tuple(f"{view}: {one}" for view, part in parts.items() for one in part.said)
        return replace(content, parts=parts, said=(*content.said, *said))
    if content.kind != TABLE:
        return content
    content = replace(content, left_out={**content.left_out, **left_out(content)})
    return replace(content, said=(*content.said, *remarks(content)))


def _labelled_sequences(path, asked):
    """Return the records of a FASTA file that have a label, and say which have none."""
    labels = f"header:{asked.target or 'label'}" if asked.labels is None else asked.labels
    groups = None if asked.groups is None else _header_groups(path, asked.groups)
    try:
        return replace(_sequences(path, read_fasta(path, labels=labels, unique_names=False)), groups=groups)
    except ValueError:
        records, values = _header_or_file_values(path, asked)
        without = np.array([is_gap(value) for value in values], dtype=bool)
        if not without.any() or not has_labels(int(without.sum()), len(without)):
            raise
    rows, said = np.flatnonzero(~without), without_label(records.names[without].tolist())
    content = replace(_sequences(path, records), groups=groups).chosen(rows)
    return replace(content, y=as_labels(values[rows]), said=tuple(said))


def _header_or_file_values(path, asked):
    """Return the records of a FASTA file and what is written as their labels, None where nothing is."""
    records = read_fasta(path, unique_names=asked.labels is not None)
    if asked.labels is None:
        return records, read_header_values(path, asked.target or "label")
    given = read_label_file(asked.labels)
    return records, np.array([given.get(name) for name in records.names], dtype=object)


def read_rows(path, asked):
    """Return the content of a file to predict, with the labels that are there."""
    path, kind = Path(path), kind_of(path)
    if kind == TABLE:
        if asked.labels is not None:
            raise Misuse(TABLE_LABELS)
        text = [name for name in (asked.target, asked.names, asked.groups) if name is not None]
        frame = read_table(path, header=asked.header, text=text).frame
        content, y = Content(path, TABLE, frame, None, header=asked.header), None
        check_insisted(content, asked)
        if asked.target in frame.columns:
            y = _labels_if_any(path, frame.pop(asked.target))
        names = asked.names if asked.names in frame.columns else None
        content = set_apart(replace(content, y=y), names, asked.groups)
        return tidy(content, asked)
    if kind == SEQUENCES:
        content = _sequences_to_predict(path, asked)
        if asked.groups is None:
            return content
        return replace(content, groups=_header_groups(path, asked.groups, required=False))
    target = None if file_kind(path) == ".npy" or asked.labels is not None else asked.target
    required = target if target in asked.insisted else None
    grams, y = _with_labels_if_any(read_grams, path, required, target, variable=asked.variable)
    if asked.labels is not None:
        y = _label_lines(asked.labels, len(grams))
    return Content(path, kind, grams, y, groups=_variable_if_any(path, asked.groups, len(grams)))


def _labels_if_any(path, column):
    """Return the labels in a column of a table, None where it has none."""
    has = np.ones(len(column), dtype=bool)
    has[unlabelled(path, column)] = False
    return with_gaps(joined_labels(path, [column.to_numpy()[has]]) if has.any() else None, has)


def _sequences_to_predict(path, asked):
    """Return the records of a FASTA file with the labels that are there; where all are required, raise."""
    labels = f"header:{asked.target or 'label'}"
    required = labels if asked.labels is None and asked.target in asked.insisted else asked.labels
    content = _sequences(path, _with_labels_if_any(read_fasta, path, required, labels, unique_names=False))
    if content.y is not None:
        return content
    _, values = _header_or_file_values(path, asked)
    has = np.array([not is_gap(value) for value in values], dtype=bool)
    return replace(content, y=with_gaps(as_labels(values[has]), has))


def check_insisted(content, asked):
    """Raise unless a table to predict has the columns that were named with it."""
    for option, name in (("--target", asked.target), ("--names", asked.names)):
        if name in asked.insisted:
            _column_of(content, name, option)


def _check_different(asked, kind):
    """Raise if the targets are to be groups or names too."""
    in_headers = kind == SEQUENCES and asked.labels is None and asked.negative is None
    target = asked.target or ("label" if in_headers else None)
    for option, name in (("--groups", asked.groups), ("--names", asked.names)):
        if name is not None and name == target:
            raise Misuse(f"{option} must not be the target, {name!r}: new rows have none; name another.")


def _refuse_table_options(asked):
    if asked.names is not None:
        raise Misuse("--names is for tables; FASTA records have names, rows of Grams have none.")
    if asked.header is not None:
        raise Misuse("--header and --no-header are for tables.")


def _check_two_classes(positive, asked):
    _refuse_table_options(asked)
    if asked.target is not None or asked.labels is not None:
        raise Misuse("--positive and --negative say the labels; leave out --target and --labels.")
    for path in (positive, asked.negative):
        if kind_of(path) != SEQUENCES:
            raise ValueError(f"--positive and --negative must be FASTA files, got {str(path)!r}.")


def _two_classes(positive, asked):
    """Return the sequences of two files, one for each class."""
    first, second = (read_fasta(path, unique_names=False) for path in (positive, asked.negative))
    y = np.repeat([POSITIVE, NEGATIVE], [len(first.names), len(second.names)])
    names = np.concatenate([first.names, second.names])
    groups = None
    if asked.groups is not None:
        groups = np.concatenate([_header_groups(path, asked.groups) for path in (positive, asked.negative)])
    _say_double(f"{str(positive)!r} and {str(asked.negative)!r}", names)
    sequences = np.concatenate([first.sequences, second.sequences])
    return Content(positive, SEQUENCES, sequences, y, names, groups=groups)


def _sequences(path, found):
    _say_double(repr(str(path)), found.names)
    return Content(path, SEQUENCES, found.sequences, found.y, found.names)


def _say_double(files, names):
    name, count = Counter(names.tolist()).most_common(1)[0]
    if count > 1:
        warn(f"{files}: {count} records have the name {name!r}; all are read.")


def _with_labels_if_any(read, path, required, possible, **options):
    """Read a file with the labels that are required, or else with those that may be there."""
    if required is None and possible is not None:
        try:
            return read(path, labels=possible, **options)
        except ValueError:  # new rows often have none; whatever else is wrong comes again
            pass
    return read(path, labels=required, **options)


def set_apart(content, names, groups):
    """Return a table with the columns of names and of groups beside the others."""
    if groups is not None:
        column = _column_of(content, groups, "--groups")
        content = replace(content, groups=column.where(column.notna(), None).to_numpy(dtype=object))
    if names is not None:
        column = _column_of(content, names, "--names")
        content = replace(content, names=column.astype(str).to_numpy(dtype=object))
    apart = [name for name in (names, groups) if name is not None]
    return replace(content, rows=content.rows.drop(columns=apart))


def _column_of(content, name, option):
    if name not in content.rows.columns:
        raise ValueError(
            f"{str(content.path)!r} must have the column {name!r} of {option}, "
            f"it has {listed(content.rows.columns)}{meant(name, content.rows.columns)}"
        )
    return content.rows[name]


def _header_groups(path, key, *, required=True):
    """Return the groups in the headers of a FASTA file; None where a header has none, unless required."""
    if required:
        return read_fasta(path, labels=f"header:{key}", unique_names=False).y
    return read_header_values(path, key)


def _variable_if_any(path, name, n_rows):
    """Return the groups in a Gram file, or None where it has none."""
    if name is None or file_kind(path) == ".npy":
        return None
    try:
        return read_row_variable(path, name, n_rows)
    except ValueError:  # new rows may have none
        return None


def _label_lines(path, n_rows):
    lines = [(number, line) for number, line in enumerate(read_text(path).split("\n"), 1) if line.strip()]
    if len(lines) != n_rows:
        raise ValueError(f"{str(path)!r} must hold one label for each of {n_rows} rows, got {len(lines)}.")
    for number, line in lines:
        if line.strip() in MISSING:
            raise ValueError(f"{str(path)!r}, line {number}: must hold a label, got {line.strip()!r}.")
    return as_labels(line for _, line in lines)
