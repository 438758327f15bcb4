"""Sparse matrices from Matrix Market files, one row for each sample; their names from a file beside it."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.io import mmread

from localmkl._resources import NUMBER, require_memory
from localmkl._types import Array, FilePath
from localmkl.datasets.opening import (
    OPENERS,
    check_room,
    check_unique,
    file_kind,
    naming_damage,
    open_plain,
    parsing,
    quoted,
    read_text,
)

BESIDE = (".docs", ".names", ".barcodes", ".rows")
"""Endings of a file of names beside a matrix; ``barcodes.tsv`` is for all matrices of a folder."""


class MatrixData(NamedTuple):
    """A sparse matrix and the names of its rows.

    Attributes
    ----------
    rows : csr_matrix of shape (n_samples, n_columns)
    names : ndarray of str, shape (n_samples,), or None without a file of names
    """

    rows: sparse.csr_matrix
    names: np.ndarray | None


def read_matrix(path: FilePath, *, names: FilePath | None = None) -> MatrixData:
    r"""Read sparse rows from a Matrix Market file, and their names from a file beside it.

    Parameters
    ----------
    path : str or path-like
        ``.mtx``, also compressed: real, integer or pattern (ones), symmetric or not, sparse or dense.
    names : str or path-like, optional
        File with the name of a sample on each line, up to the first tab. By default the one that is called
        as the matrix but for its ending, ``.docs``, ``.names``, ``.barcodes`` or ``.rows``, or else
        ``barcodes.tsv`` in the same folder; all of them also compressed.

    Returns
    -------
    MatrixData
        Named tuple (rows, names). Samples are along the axis that has as many places as there are names,
        along the rows if both have, or without a file of names: names is None then.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "words.mtx"
    ...     text = "%%MatrixMarket matrix coordinate integer general\n3 2 3\n1 1 5\n3 1 1\n2 2 4\n"
    ...     _ = path.write_text(text)
    ...     _ = path.with_suffix(".docs").write_text("story 1\nstory 2\n")
    ...     rows, names = read_matrix(path)
    >>> rows.toarray(), names.tolist()
    (array([[5., 0., 1.],
           [0., 4., 0.]]), ['story 1', 'story 2'])
    """
    path = Path(path)
    if file_kind(path) != ".mtx":
        raise ValueError(f"{quoted(path)} must end in .mtx, also compressed, got {file_kind(path)!r}.")
    rows = _read(path)
    beside = _beside(path) if names is None else Path(names)
    if beside is None:
        return MatrixData(rows, None)
    own = _read_names(beside)
    if len(own) not in rows.shape:
        raise ValueError(
            f"{quoted(beside)} must name the rows or the columns of {quoted(path)}, a matrix of "
            f"{rows.shape[0]} x {rows.shape[1]}, got {len(own)} names."
        )
    return MatrixData(rows if len(own) == rows.shape[0] else rows.T.tocsr(), own)


def _read(path: FilePath) -> sparse.csr_matrix:
    """Return the matrix as it stands in the file, as CSR."""
    check_room(path)
    with naming_damage(path), open_plain(path) as file:
        content = file.read()
    with parsing(path, "is cut short or damaged, or no Matrix Market file"):
        rows = mmread(BytesIO(content))  # a file that is closed while its reader lives ends the process
    if np.iscomplexobj(rows) or 0 in rows.shape:
        raise ValueError(f"{quoted(path)} must hold rows and columns of real numbers, got others or none.")
    require_memory(NUMBER * sum(rows.shape), f"The matrix in {quoted(path)}", "keep fewer rows or columns")
    return sparse.csr_matrix(rows, dtype=np.float64)


def _beside(path: Path) -> Path | None:
    """Return the file that names the samples of a matrix; None if there is none."""
    stem = path.name[: path.name.lower().rindex(".mtx")]
    names = [*(stem + ending for ending in BESIDE), "barcodes.tsv"]
    files = (path.parent / f"{name}{packed}" for name in names for packed in ("", *OPENERS))
    return next(filter(Path.is_file, files), None)


def _read_names(path: FilePath) -> Array:
    """Return the first field of every line, each of which must be another."""
    lines = read_text(path).rstrip().split("\n")
    names = [line.partition("\t")[0].strip() for line in lines]
    if "" in names:
        raise ValueError(f"{quoted(path)}, line {names.index('') + 1}: must hold a name, got none.")
    check_unique(path, dict(enumerate(names, start=1)))
    return np.array(names, dtype=object)
