"""Large files: read in pieces, once for labels and a sample, then again for what is made of the rows."""

import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from localmkl.cli.columns import NAMES, identifiers
from localmkl.cli.files import PIECE_LETTERS, TABLE, Asked, contents, looked_at, refuse_gap, tidy, with_groups
from localmkl.datasets.labels import as_labels
from localmkl.estimators.rows import concatenate_rows
from localmkl.kernels.stack import take_rows

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
    gaps : dict of str to int
        Numbers of missing cells by column.
    """

    path: Path
    asked: Asked
    y: np.ndarray
    groups: np.ndarray | None
    gaps: dict

    def pieces(self):
        """Yield the rows again, piece by piece."""
        return read_pieces(self.path, self.asked)


def read_pieces(path, asked, *, labelled=True):
    """Yield the content of a large file piece by piece, labels as they are written.

    Parameters
    ----------
    path : path-like
    asked : Asked
    labelled : bool
        Whether labels and groups must be there; else None stands where one is not.
    """
    for content in contents(path, with_groups(asked), labelled=labelled, letters=PIECE_LETTERS):
        for what, values in (("target", content.y), ("groups", content.groups)) if labelled else ():
            if values is not None and None in (found := values.tolist()):
                refuse_gap(content, asked, what, found.index(None))
        yield content


def survey(path, asked, *, size, seed, voice):
    """Read a large training file once; return the content of a sample of its rows, and the whole with it."""
    path, sample = Path(path), Sample(max(size, SAMPLE_ROWS), seed)
    columns: dict[str, list] = {"y": [], "groups": []}
    texts: dict = {}
    gaps: Counter[str] = Counter()
    row_names, n_rows = {}, 0
    with voice.counting(f"reading {str(path)!r}") as show:
        for piece in read_pieces(path, asked):
            if n_rows == 0 and piece.kind == TABLE:
                row_names = dict.fromkeys(identifiers(piece.rows), NAMES)
            gaps.update(piece.gaps)
            for name, values in columns.items():  # equal labels are one object: there are few, and many rows
                if getattr(piece, name) is not None:
                    values += [texts.setdefault(value, value) for value in getattr(piece, name).tolist()]
            sample.add(piece)
            n_rows += len(piece)
            show(n_rows, None)
    groups = np.array(columns["groups"], dtype=object) if columns["groups"] else None
    whole = Whole(path, asked, as_labels(columns["y"]), groups, dict(gaps))
    return looked_at(replace(tidy(sample.content(whole), asked), left_out=row_names))


class Sample:
    """Rows drawn at random from pieces that come one after the other, whatever their sizes."""

    def __init__(self, size, seed):
        self.size, self.rng = size, np.random.default_rng(seed)
        self.first: Any = None
        self.rows: Any = None
        self.keys, self.numbers = np.empty(0), np.empty(0, dtype=int)

    def add(self, piece):
        """Look at the rows of a piece; those with the smallest keys of all stay."""
        self.first = self.first or piece
        self.rows = piece.rows if self.rows is None else concatenate_rows(self.rows, piece.rows)
        self.keys = np.concatenate([self.keys, self.rng.random(len(piece))])
        self.numbers = np.concatenate([self.numbers, piece.numbers])
        if len(self.keys) > self.size:
            kept = np.sort(np.argpartition(self.keys, self.size)[: self.size])
            self.rows = take_rows(self.rows, kept)
            self.keys, self.numbers = self.keys[kept], self.numbers[kept]

    def content(self, whole):
        """Return the content of the rows drawn."""
        rows = self.rows.reset_index(drop=True) if hasattr(self.rows, "iloc") else self.rows
        groups = None if whole.groups is None else whole.groups[self.numbers]
        y = whole.y[self.numbers]
        return replace(
            self.first, rows=rows, y=y, names=None, groups=groups, numbers=self.numbers, whole=whole
        )


def with_row(error, numbers):
    """Return what is wrong with some rows, a row counted as in the file where these have the numbers.

    Examples
    --------
    >>> with_row(ValueError("a letter is wrong in row 1."), [7, 9])
    'a letter is wrong in row 9.'
    """
    return re.sub(r"\brow (\d+)", lambda found: f"row {numbers[int(found[1])]}", str(error))
