"""Large files: read in pieces, once for labels and a sample, then again for what is made of the rows."""

import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from localmkl.cli.columns import NAMES, identifiers, tidied
from localmkl.cli.files import PIECE_LETTERS, TABLE, Asked, contents, looked_at, refuse_gap, with_groups
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
    path, rng = Path(path), np.random.default_rng(seed)
    sample: Any = None
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
            sample = _drawn(sample, piece, max(size, SAMPLE_ROWS), rng)
            n_rows += len(piece)
            show(n_rows, None)
    groups = np.array(columns["groups"], dtype=object) if columns["groups"] else None
    whole = Whole(path, asked, as_labels(columns["y"]), groups, dict(gaps))
    rows, _, numbers = sample
    if piece.kind == TABLE:
        rows = tidied(rows.reset_index(drop=True), asked.categories)
    groups = None if groups is None else groups[numbers]
    drawn = replace(piece, rows=rows, y=whole.y[numbers], names=None, groups=groups, numbers=numbers)
    return looked_at(replace(drawn, whole=whole, left_out=row_names))


def _drawn(sample, piece, size, rng):
    """Return rows, keys and numbers of the rows with the smallest random keys, so far and in a piece."""
    rows, keys, numbers = piece.rows, rng.random(len(piece)), piece.numbers
    if sample is not None:
        rows = concatenate_rows(sample[0], rows)
        keys, numbers = np.concatenate([sample[1], keys]), np.concatenate([sample[2], numbers])
    kept = np.sort(np.argpartition(keys, min(size, len(keys)) - 1)[:size])
    return take_rows(rows, kept), keys[kept], numbers[kept]


def with_row(error, numbers):
    """Return what is wrong with some rows, a row counted as in the file where these have the numbers.

    Examples
    --------
    >>> with_row(ValueError("a letter is wrong in row 1."), [7, 9])
    'a letter is wrong in row 9.'
    """
    return re.sub(r"\brow (\d+)", lambda found: f"row {numbers[int(found[1])]}", str(error))
