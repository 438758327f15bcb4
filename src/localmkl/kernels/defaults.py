"""The kernels that are taken when none are named, by what the rows hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from localmkl._foreign import as_pandas
from localmkl._types import Rows, Table
from localmkl.kernels.alphabets import ALPHABETS, guess_alphabet
from localmkl.kernels.categories import Overlap
from localmkl.kernels.cells import NUMERIC, check_different_names
from localmkl.kernels.naming import name_ends
from localmkl.kernels.properties import PseudoAminoAcid
from localmkl.kernels.sequences import Spectrum, WeightedDegree
from localmkl.kernels.texts import TfIdf
from localmkl.kernels.vectors import RBF, Cosine, Kernel, Linear
from localmkl.kernels.viewed import errors_of_view
from localmkl.views import Views

WIDTHS = 0.1, 0.5, 1.5
"""Gaussians on all columns: what 1 / (median squared distance) is multiplied by. The first, which is
nearly a line, and the line itself are left out where columns have lines of their own: they add nothing, and
what they explain has no column's name."""

MOST_PARTS = 20
"""Up to this many columns, or groups of columns, get kernels of their own."""

MOST_WORDS, ROWS_A_WORD = 20, 5
"""A column of text holds categories if it has at most so many different words, on average in so many rows."""


def default_kernels(X: Rows, *, impute: str | None = None) -> list[Kernel]:
    """Return the kernels used when none are named: they depend on what the rows hold.

    Numbers: Gaussians of two widths on all columns. At most 20 columns get a line and a Gaussian each; so do
    groups of columns whose names begin or end alike. More columns get a line and three Gaussians in all. A
    column of two values gets a line alone, which says the same. Widths come from the median distance between
    training rows. Columns are standardised.

    Columns of few different words: `Overlap`. Sparse counts: `TfIdf` and `Cosine`. Texts: `TfIdf`. Sequences
    of one length: `WeightedDegree` and `Spectrum`. Sequences of several lengths: `Spectrum`, and for proteins
    `PseudoAminoAcid`. Columns that are constant, or hold text of many different words, get none.

    Parameters
    ----------
    X : array, data frame, sparse matrix, list of texts or sequences, or `Views`
        Training rows, without targets, names of rows and groups.
    impute : {"median", "mean"}, optional
        What missing numbers are filled with; by default they are an error at the fit.

    Returns
    -------
    list of Kernel
        Not fitted; each names its columns and its view.

    Examples
    --------
    >>> import pandas as pd
    >>> from localmkl.kernels import short_names
    >>> age, sex = np.arange(10.0), ["f", "m"] * 5
    >>> short_names(default_kernels(pd.DataFrame({"age": age, "dose": age % 3, "sex": sex})))
    ['rbf 0.5', 'rbf 1.5', 'age (linear)', 'dose (linear)', 'age (rbf)', 'dose (rbf)', 'sex']
    """
    if isinstance(X, Views):
        made: list[Kernel] = []
        for name in X.names:
            if X.present(name).any():
                with errors_of_view(name):
                    own = default_kernels(X.rows(name), impute=impute)
                made += [kernel.set_params(view=name) for kernel in own]
        return made
    X = as_pandas(X)
    if sparse.issparse(X):
        counts = bool(np.all((X.data >= 0) & (X.data == np.round(X.data))))
        return [TfIdf(), Cosine()] if counts else [Linear(), *(RBF("median", factor) for factor in WIDTHS)]
    if not hasattr(X, "iloc"):
        X = np.asarray(X)
    return _text_kernels(X.tolist()) if X.ndim == 1 else _table_kernels(X, impute)


def _text_kernels(texts: list[str]) -> list[Kernel]:
    """Return kernels for words that come again, for texts of several, or for sequences."""
    texts = [text.decode("latin-1") if isinstance(text, bytes) else str(text) for text in texts]
    if 2 * len(set(texts)) <= len(texts):
        return [Overlap()]
    if any(len(text.split()) > 1 for text in texts):
        return [TfIdf()]
    alphabet = guess_alphabet(texts)
    if not set("".join(texts).upper()) <= set("".join(ALPHABETS[alphabet])):
        return [Overlap()]
    lengths = set(map(len, texts))
    shortest = min(lengths)

    def up_to(kind: Callable[..., Kernel], values: Sequence[int], **options: Any) -> list[Kernel]:
        return [kind(value, alphabet=alphabet, **options) for value in values if value <= shortest]

    if len(lengths) == 1:  # the same letters in the same place, near it, or anywhere
        in_place = up_to(WeightedDegree, range(1, 9)) + up_to(WeightedDegree, (4, 8), shift=5)
        return in_place + up_to(Spectrum, (4, 5, 6))
    if alphabet == "protein":
        return up_to(Spectrum, (1, 2, 3)) + [PseudoAminoAcid(lag) for lag in (1, 4, 10) if lag < shortest]
    return up_to(Spectrum, range(1, 9))


def _table_kernels(table: Table, impute: str | None) -> list[Kernel]:
    """Return kernels on all numbers of a table, on its columns or groups of them, and on columns of words."""
    framed = hasattr(table, "iloc")
    if framed:
        check_different_names(table)
    names = list(table.columns) if framed else list(range(table.shape[1]))
    columns = {name: table.iloc[:, j] if framed else table[:, j] for j, name in enumerate(names)}
    numbers = {name: _holds_numbers(column) for name, column in columns.items()}
    numeric = [name for name in names if numbers[name]]
    words = [name for name in names if not numbers[name] and _holds_categories(columns[name])]
    if not numeric and not words:
        raise ValueError(
            "The rows must have a column of numbers, or one of few different words, got none; name kernels "
            'for them, for instance TfIdf(column="notes") for texts.'
        )
    counts = {name: _count_values(columns[name]) for name in numeric}
    numeric = [name for name in numeric if counts[name] > 1] or numeric
    parts = _parts(numeric)
    how: dict[str, Any] = {"standardize": True, "impute": impute}
    made: list[Kernel] = []
    if numeric:
        whole = {**how, "columns": None if numeric == names else numeric}
        made = [RBF("median", factor, **whole) for factor in (WIDTHS[1:] if parts else WIDTHS)]
        made = made if parts else [Linear(**whole), *made]
    made += [Linear(columns=part, **how) for part in parts]
    curved = [part for part in parts if len(part) > 1 or counts[part[0]] > 2]
    made += [RBF("median", columns=part, **how) for part in curved]
    each = [[name] for name in words] if len(words) <= MOST_PARTS else [words]
    return made + [Overlap(columns=part, impute=impute and "most_frequent") for part in each]


def _holds_numbers(column: Any) -> bool:
    """Whether any entry of a column is a number: such a column is meant to hold numbers."""
    if column.dtype.kind != "O" or not hasattr(column, "tolist"):
        return column.dtype.kind in NUMERIC
    return any(isinstance(value, Real) and value == value for value in column.tolist())


def _count_values(column: Any) -> int:
    """Return how many different numbers a column holds."""
    framed = hasattr(column, "to_numpy")
    numbers = column.to_numpy(np.float64, na_value=np.nan) if framed else column.astype(np.float64)
    return len(np.unique(numbers[~np.isnan(numbers)]))


def _holds_categories(column: Any) -> bool:
    """Whether a column holds few different words, each in several rows."""
    n_words = len({str(value) for value in np.asarray(column, dtype=object).tolist()})
    return 1 < n_words <= min(MOST_WORDS, len(column) // ROWS_A_WORD)


def _parts(names: list[Any]) -> list[list[Any]]:
    """Return groups of columns with like names, and the rest; few columns one by one; else nothing.

    A group has in common the first part of its names (``mrna_1``, ``mrna_2``), the last one
    (``radius error``, ``area error``), or the letters that they begin with (``cg001``, ``cg002``).
    """
    for letters in (False, True):
        ends = {name: name_ends(str(name), letters=letters) for name in names}
        sizes = Counter(end for own in ends.values() for end in own)
        groups: dict[Any, list[Any]] = {}
        for name, own in ends.items():
            groups.setdefault(max(own, key=sizes.__getitem__, default=None), []).append(name)
        several = [own for end, own in groups.items() if end is not None and len(own) > 1]
        grouped = {name for own in several for name in own}
        rest = [name for name in names if name not in grouped]
        if 2 <= len(several) <= MOST_PARTS and len(rest) <= min(MOST_PARTS, len(names) // 2):
            return [*several, *([rest] if rest else [])]
    return [[name] for name in names] if 1 < len(names) <= MOST_PARTS else []
