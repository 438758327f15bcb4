"""Data files of the command line: what kind they are and what they hold.

table       .csv, .tsv, .txt, .parquet    rows with named columns, one of them the target
sequences   .fa, .fasta, ...              FASTA records, labels in the headers or in a file
grams       .npy, .npz, .mat              Gram matrices, labels among the variables or in a file
matrix      .mtx                          sparse rows, their names in a file beside it
omics       .h5ad, .h5mu                  AnnData and MuData: one view or several, labels among `obs`

Several files, and the last two kinds, are views of the same samples: see `joining`. Large ones: see `pieces`.
"""

import os
import re
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from localmkl._archive import is_archive
from localmkl._checks import listed
from localmkl._resources import available_memory
from localmkl._spelling import meant
from localmkl.cli.columns import as_word, left_out, remarks, tidied
from localmkl.cli.voice import Misuse
from localmkl.datasets.fasta import fasta_pieces, header_values, read_label_file, written_labels
from localmkl.datasets.gram_files import read_grams, read_row_variable
from localmkl.datasets.labels import as_labels, has_label, is_label, with_gaps
from localmkl.datasets.opening import check_regular, file_kind, read_text, unpacked_size
from localmkl.datasets.table_files import field_at, table_pieces

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

ONE_KIND = {"variable": GRAMS, "names": TABLE, "header": TABLE, "negative": SEQUENCES}
"""Options that only one kind of file takes."""

LARGE_BYTES = 2**28
"""Files from this size on are read in pieces; smaller ones as soon as they are a tenth of the free memory."""

MOST_UNLABELLED = 0.9
"""Share of the rows that may lack a label: a column that is emptier is hardly the one that was meant."""

PIECE_LETTERS = 2**24
"""Letters of a piece of a large file: its objects take a few hundred megabytes at most."""


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

    def __len__(self):
        return self.rows.shape[0]

    @property
    def paths(self):
        """All files that the rows come from."""
        return [self.path] if self.parts is None else list(self.files)

    @property
    def notes(self):
        """Notes on rows and columns, in sentences; of several files, also who has which view."""
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
        if self.parts is not None:
            gaps = {view: part.gaps for view, part in self.parts.items()}
            return {f"{view}: {name}": count for view, own in gaps.items() for name, count in own.items()}
        if self.kind != TABLE:
            return {}
        counts = self.used().rows.isna().sum() if self.whole is None else self.whole.gaps
        names = set(self.used().rows.columns)
        return {name: int(count) for name, count in counts.items() if count and name in names}

    def fills(self):
        """Return number and filling of the missing cells by column: a median, or the most frequent word."""
        found = {}
        for view, part in ({"": self} if self.parts is None else self.parts).items():
            for name, count in part.gaps.items():
                column = part.rows[name].dropna()
                fill = float(column.median()) if column.dtype.kind in "iufb" else column.mode()[0]
                found[f"{view}: {name}" if view else name] = [count, fill]
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
        if self.kind == SEQUENCES and self.names is not None:
            return f"record {self.names[row]!r}", None
        row = row if self.numbers is None else self.numbers[row]
        return field_at(self.path, int(row), name, header=self.header)

    def take(self, rows):
        """Return some rows; of Grams, those of these rows with each other."""
        own = {name: getattr(self, name) for name in ("y", "names", "groups")}
        own = {name: None if column is None else column[rows] for name, column in own.items()}
        if self.kind == GRAMS:
            return replace(self, rows=self.rows[np.ix_(rows, rows)], **own)
        table = self.rows.iloc[rows].reset_index(drop=True) if self.kind == TABLE else self.rows[rows]
        return replace(self, rows=table, numbers=None if self.parts else rows, **own)

    def without_lonely(self):
        """Return the samples that have one of the views, and the names of those that have none."""
        has = None if self.parts is None else self.rows.share(self.rows.names) > 0.0
        if has is None or has.all():
            return self, []
        return self.take(has), np.asarray(self.names)[~has].tolist()


def counted(names):
    """Return how many samples some names are, and the first of them, in words."""
    return f"{len(names)} sample{'s' * (len(names) > 1)} ({listed(names)})"


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
    free, size = available_memory(), unpacked_size(path)
    return size >= min(LARGE_BYTES, LARGE_BYTES if free is None else free // 10)


def is_model(path):
    """Whether a file is a model, whatever its name; or by its name, if it is damaged: loading says so."""
    check_regular(path)
    return Path(path).suffix == ".localmkl" or is_archive(path)


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
    in_headers = kind == SEQUENCES and asked.labels is None and asked.negative is None
    target = asked.target or ("label" if in_headers else None)
    for option, name in (("--groups", asked.groups), ("--names", asked.names)):
        if name is not None and name == target:
            raise Misuse(f"{option} must not be the target, {name!r}: new rows have none; name another.")
    for name, of in ONE_KIND.items():
        if getattr(asked, name) is not None and kind != of:
            raise Misuse(f"--{name} is for {CALLED[of]}, not for {CALLED[kind]}.")
    if asked.negative is not None and (asked.target is not None or asked.labels is not None):
        raise Misuse("--positive and --negative say the labels; leave out --target and --labels.")
    return kind


def read_labelled(path, asked):
    """Return the content of a training file, or of two; rows without a label are left out."""
    if check_labelled(path, asked) == GRAMS:
        return _read_grams(Path(path), asked, labelled=True)
    content = _joined(list(contents(path, asked, labelled=True)))
    without = np.flatnonzero([label is None for label in content.y])
    if len(without) > MOST_UNLABELLED * len(content):
        refuse_gap(content, asked, "target", without[0])
    if len(without):
        first = f"{len(without)} rows, the first in {content.place(without[0], None)[0]}"
        who = first if content.names is None else counted(content.names[without])
        content = content.take(np.delete(np.arange(len(content)), without))
        content = replace(content, said=(f"Left out, without a label: {who}.",))
    content = replace(content, y=as_labels(content.y.tolist()))
    if content.groups is not None and None in content.groups.tolist():
        refuse_gap(content, asked, "groups", content.groups.tolist().index(None))
    return looked_at(content)


def read_rows(path, asked):
    """Return the content of a file to predict, with the labels that are there."""
    path, kind = Path(path), kind_of(path)
    if kind == GRAMS:
        return _read_grams(path, asked, labelled=False)
    content = _joined(list(contents(path, with_groups(asked), labelled=False)))
    has = np.zeros(len(content), dtype=bool) if content.y is None else has_label(content.y)
    if not has.any() and asked.target in asked.insisted:
        refuse_gap(content, asked, "target", 0)
    return replace(content, y=with_gaps(as_labels(content.y[has].tolist()), has) if has.any() else None)


def with_groups(asked):
    """Return the options where new rows must have groups too."""
    return replace(asked, insisted=asked.insisted | {asked.groups})


def contents(path, asked, *, labelled, letters=None):
    """Yield the content of a table or FASTA file piece by piece, labels and groups as they are written.

    Parameters
    ----------
    path : path-like
    asked : Asked
    labelled : bool
        Whether the columns that are asked for must be there.
    letters : int, optional
        Letters of a piece; by default there is one for each file.
    """
    path, first = Path(path), 0
    if kind_of(path) == TABLE:
        if asked.labels is not None:
            raise Misuse("--labels is for FASTA and Gram files; the labels of a table are its --target.")
        text = [name for name in (asked.target, asked.names, asked.groups) if name is not None]
        frames = table_pieces(path, header=asked.header, text=text, letters=letters)
        tables = (Content(path, TABLE, frame, None, header=asked.header) for frame in frames)
        found = (_apart(table, asked, labelled) for table in tables)
    else:
        files = {path: None} if asked.negative is None else {path: 1, Path(asked.negative): -1}
        found = (part for one, label in files.items() for part in _sequences(one, asked, letters, label))
    for content in found:
        yield content if letters is None else replace(content, numbers=np.arange(first, first + len(content)))
        first += len(content)


def _apart(content, asked, required):
    """Return a table with labels, names and groups beside its other columns."""
    frame = content.rows
    if required and asked.target is None:
        raise Misuse(f"--target must name a column of {str(content.path)!r}; it has {listed(frame.columns)}.")
    named = {"y": asked.target, "names": asked.names, "groups": asked.groups}
    needed = asked.insisted if not required else {*named.values(), *asked.categories}
    for name in filter(None, needed):
        if name not in frame.columns:
            raise ValueError(
                f"{str(content.path)!r} must have the column {name!r}, "
                f"it has {listed(frame.columns)}{meant(name, frame.columns)}"
            )
    named = {what: name for what, name in named.items() if name in frame.columns}
    apart = {what: written(frame[name]) for what, name in named.items() if what != "names"}
    if "names" in named:
        apart["names"] = written(map(as_word, frame[asked.names]))
    rows = tidied(frame.drop(columns=list(named.values())), asked.categories)
    return replace(content, rows=rows, **apart)


def written(values):
    """Return values as they are written, None where there is none."""
    found = [value if is_label(value) else None for value in values]
    cells = np.empty(len(found), dtype=object)
    cells[:] = found
    return cells


def _sequences(path, asked, letters, label):
    """Yield the records of a FASTA file, of which all may have one label."""
    given = f"header:{asked.target or 'label'}" if asked.labels is None else read_label_file(asked.labels)
    for records in fasta_pieces(path, letters):
        labels = written_labels(path, given, records) if label is None else [label] * len(records.names)
        groups = None if asked.groups is None else written(header_values(asked.groups, records.headers))
        rows, names = (np.array(part, dtype=object) for part in (records.sequences, records.names))
        yield Content(path, SEQUENCES, rows, written(labels), names, groups=groups)


def _joined(parts):
    """Return the contents of one file, or of two FASTA files, as one."""
    if len(parts) == 1:
        return parts[0]
    names = [name for name in ("rows", "y", "names", "groups") if getattr(parts[0], name) is not None]
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return replace(parts[0], **joined)


def refuse_gap(content, asked, what, row):
    """Raise for a row without target or group, with its line or the name of its record."""
    name = getattr(asked, what) or (asked.labels if what == "target" else None) or "label"
    place, came = content.place(row, name)
    raise ValueError(
        f"{str(content.path)!r}, {place}: must have a value for {what}, {str(name)!r}, got "
        f"{repr(came) if came else 'none'}; fill it in, or leave the row out."
    )


def _read_grams(path, asked, *, labelled):
    """Return the Grams of a file, with the labels and groups that are there, or must be."""
    needed = asked.target if labelled or asked.target in asked.insisted else None
    if labelled and (asked.target is None) == (asked.labels is None):
        raise Misuse("Kernel matrices need labels: --target VARIABLE of the file, or --labels FILE.")
    try:
        grams, y = read_grams(path, variable=asked.variable, labels=asked.target)
    except ValueError:  # new rows often have none; whatever else is wrong comes again
        grams, y = read_grams(path, variable=asked.variable, labels=needed)
    if asked.labels is not None:
        y = _label_lines(asked.labels, len(grams))
    groups = None
    with nullcontext() if labelled else suppress(ValueError):
        groups = asked.groups and read_row_variable(path, asked.groups, len(grams))
    return Content(path, GRAMS, grams, y, groups=groups)


def _label_lines(path, n_rows):
    lines = [line.strip() for line in read_text(path).splitlines() if line.strip()]
    if len(lines) != n_rows or not all(map(is_label, lines)):
        raise ValueError(
            f"{str(path)!r} must hold one label for each of {n_rows} rows, got {sum(map(is_label, lines))}."
        )
    return as_labels(lines)


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
