"""Large files: read in pieces, a first time for labels and a sample, then again for what is made of the rows.

Tables and FASTA files that are small are read whole, by `files`.
"""

import os
import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from localmkl._checks import listed
from localmkl._spelling import meant
from localmkl.cli.columns import NAMES, identifiers
from localmkl.cli.files import (
    NEGATIVE,
    POSITIVE,
    SEQUENCES,
    TABLE,
    Asked,
    Content,
    check_insisted,
    is_gap,
    kind_of,
    looked_at,
    set_apart,
    tidy,
)
from localmkl.datasets.fasta import fasta_pieces, header_values, read_label_file, written_labels
from localmkl.datasets.labels import as_labels
from localmkl.datasets.tables import joined_labels, table_pieces, unlabelled
from localmkl.estimators.rows import concatenate_rows
from localmkl.kernels.stack import take_rows

PIECE_LETTERS = 2**24
"""Letters of a piece: its objects take a few hundred megabytes at most."""

SAMPLE_ROWS = 20_000
"""Rows, drawn at random, that kernels, landmarks and a search are learned from: what kernels learn, means and
medians, is known to a percent from so many."""


@dataclass(frozen=True)
class Whole:
    """All of a large training file, as far as one reading of it has shown.

    Attributes
    ----------
    path : Path
    asked : Asked
    y : ndarray of shape (n_rows,)
    groups : ndarray of shape (n_rows,), or None
    stamps : list
        What the files were when they were read.
    gaps : dict of str to int
        Numbers of missing cells by column.
    """

    path: Path
    asked: Asked
    y: np.ndarray
    groups: np.ndarray | None
    stamps: list
    gaps: dict

    def pieces(self):
        """Yield the rows again, piece by piece."""
        return read_pieces(self.path, self.asked)

    def check_unchanged(self):
        """Raise if a file is not what it was when it was first read."""
        for now, (path, *before) in zip(stamps_of(self.path, self.asked), self.stamps, strict=True):
            if now[1:] != before:
                raise ValueError(
                    f"{path!r} has changed while it was read; give the command again when it is complete."
                )


def stamps_of(path, asked):
    """Return name, size and time of change of each file that is read."""
    stats = [(str(one), os.stat(one)) for one in (path, asked.negative, asked.labels) if one is not None]
    return [[name, stat.st_size, stat.st_mtime_ns] for name, stat in stats]


def survey(path, asked, *, size, seed, voice):
    """Read a large training file once; return the content of a sample of its rows, and the whole with it."""
    path, stamps, sample = Path(path), stamps_of(path, asked), Sample(max(size, SAMPLE_ROWS), seed)
    labels: list[np.ndarray] = []
    groups: list[np.ndarray] = []
    texts: dict = {}
    gaps: Counter[str] = Counter()
    row_names, n_rows = {}, 0
    with voice.counting(f"reading {str(path)!r}") as show:
        for piece in read_pieces(path, asked):
            gaps.update(piece.gaps)
            if n_rows == 0 and piece.kind == TABLE:
                row_names = dict.fromkeys(identifiers(piece.rows), NAMES)
            labels.append(_once(piece.y, texts))
            if piece.groups is not None:
                groups.append(_once(piece.groups, texts))
            sample.add(piece)
            n_rows += len(piece)
            show(n_rows, None)
    y = _joined(path, asked, labels)
    known = None if asked.groups is None else np.concatenate(groups)
    if known is not None and kind_of(path) == SEQUENCES:
        known = as_labels(known)
    whole = Whole(path, asked, y, known, stamps, dict(gaps))
    whole.check_unchanged()
    content = replace(sample.content(whole), left_out=row_names)
    return looked_at(tidy(content, asked))


def _once(values, texts):
    """Return values of which equal ones are one object: there are few labels, and many rows."""
    if values.dtype != object:
        return values
    return np.array([texts.setdefault(value, value) for value in values.tolist()], dtype=object)


def _joined(path, asked, parts):
    if asked.negative is not None:
        return np.concatenate(parts)
    return joined_labels(path, parts)


class Sample:
    """Rows drawn at random from pieces that come one after the other, whatever their sizes."""

    def __init__(self, size, seed):
        self.size, self.rng = size, np.random.default_rng(seed)
        self.first: Any = None
        self.rows: Any = None
        self.keys, self.numbers = np.empty(0), np.empty(0, dtype=int)

    def add(self, piece):
        """Look at the rows of a piece; those with the smallest keys of all stay."""
        keys = self.rng.random(len(piece))
        limit = self.keys.max() if len(self.keys) == self.size else np.inf
        chosen = np.flatnonzero(keys < limit)
        rows = take_rows(piece.rows, chosen)
        if self.first is None:
            self.first, self.rows = piece, rows
        else:
            self.rows = concatenate_rows(self.rows, rows)
        self.keys = np.concatenate([self.keys, keys[chosen]])
        self.numbers = np.concatenate([self.numbers, piece.numbers[chosen]])
        if len(self.keys) > self.size:
            kept = np.sort(np.argpartition(self.keys, self.size)[: self.size])
            self.rows = take_rows(self.rows, kept)
            self.keys, self.numbers = self.keys[kept], self.numbers[kept]

    def content(self, whole):
        """Return the content of the rows drawn."""
        rows = self.rows.reset_index(drop=True) if hasattr(self.rows, "iloc") else self.rows
        groups = None if whole.groups is None else whole.groups[self.numbers]
        return replace(
            self.first,
            path=whole.path,
            rows=rows,
            y=whole.y[self.numbers],
            names=None,
            groups=groups,
            numbers=self.numbers,
            whole=whole,
        )


def with_row(error, numbers):
    """Return what is wrong with some rows, a row counted as in the file where these have the numbers.

    Examples
    --------
    >>> with_row(ValueError("a letter is wrong in row 1."), [7, 9])
    'a letter is wrong in row 9.'
    """
    return re.sub(r"\brow (\d+)", lambda found: f"row {numbers[int(found[1])]}", str(error))


def read_pieces(path, asked, *, labelled=True):
    """Yield the content of a large file piece by piece, labels as they are written.

    Parameters
    ----------
    path : path-like
    asked : Asked
    labelled : bool
        Whether labels and groups must be there; else None stands where one is not.
    """
    path, first = Path(path), 0
    for content in _contents(path, asked, labelled):
        yield replace(content, numbers=np.arange(first, first + len(content)))
        first += len(content)


def _contents(path, asked, labelled):
    if kind_of(path) == TABLE:
        yield from _table_contents(path, asked, labelled)
    elif asked.negative is None:
        yield from _fasta_contents(path, asked, labelled)
    else:
        for one, label in ((path, POSITIVE), (asked.negative, NEGATIVE)):
            yield from _fasta_contents(one, asked, labelled, label)


def _table_contents(path, asked, labelled):
    text = [name for name in (asked.target, asked.names, asked.groups) if name is not None]
    first = 0
    for frame in table_pieces(path, header=asked.header, text=text, letters=PIECE_LETTERS):
        numbers = np.arange(first, first + len(frame))
        content = Content(path, TABLE, frame, None, header=asked.header, numbers=numbers)
        check_insisted(content, asked)
        names = asked.names if labelled or asked.names in frame.columns else None
        content = set_apart(_with_labels(content, asked.target, labelled), names, asked.groups)
        yield tidy(content, asked)
        first += len(frame)


def _with_labels(content, target, labelled):
    """Return a piece of a table with its labels, as they are written, apart."""
    frame, path = content.rows, content.path
    if target not in frame.columns:
        if labelled:
            raise ValueError(
                f"{str(path)!r} must have the column {target!r}, it has {listed(frame.columns)}"
                f"{meant(target, frame.columns)}"
            )
        return content
    column = frame.pop(target)
    without = unlabelled(path, column)
    if len(without) and labelled:
        place, came = content.place(without[0], target)
        raise ValueError(
            f"{str(path)!r}, {place}: must have a value in the target column {target!r}, "
            f"got {repr(came) if came else 'none'}; fill it in, or leave the row out."
        )
    y = column.to_numpy()
    if len(without):
        y = y.astype(object)
        y[without] = None
    return replace(content, y=y)


def _fasta_contents(path, asked, labelled, label=None):
    given = f"header:{asked.target or 'label'}" if asked.labels is None else read_label_file(asked.labels)
    for headers, lines, names, sequences in fasta_pieces(path, PIECE_LETTERS):
        if label is not None:
            y = np.full(len(sequences), label)
        else:
            y = _written(path, given, headers, lines, names, required=labelled or asked.labels is not None)
        groups = None
        if asked.groups is not None and labelled:
            groups = _written(path, f"header:{asked.groups}", headers, lines, names)
        elif asked.groups is not None:
            groups = np.array(header_values(asked.groups, headers), dtype=object)
        yield Content(path, SEQUENCES, sequences, y, np.array(names, dtype=object), groups=groups)


def _written(path, given, headers, lines, names, *, required=True):
    """Return labels of records as an array; None where one has none, if it may."""
    if required:
        return np.array(written_labels(path, given, headers, lines, names), dtype=object)
    values = header_values(given.partition(":")[2], headers)
    return np.array([None if is_gap(value) else value for value in values], dtype=object)
