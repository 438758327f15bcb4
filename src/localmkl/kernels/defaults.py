"""The kernels that are taken when none are named, by what the rows hold; and short names for kernels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from inspect import signature
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from localmkl import kernels as known
from localmkl._checks import listed
from localmkl._foreign import as_pandas
from localmkl._spelling import meant
from localmkl._types import Rows, Table
from localmkl.kernels import KERNEL_WORDS
from localmkl.kernels.alphabets import ALPHABETS, guess_alphabet
from localmkl.kernels.categories import Overlap
from localmkl.kernels.cells import NUMERIC, check_different_names
from localmkl.kernels.properties import PseudoAminoAcid
from localmkl.kernels.sequences import Spectrum, WeightedDegree
from localmkl.kernels.texts import TfIdf
from localmkl.kernels.vectors import RBF, Cosine, Kernel, Linear, VectorKernel
from localmkl.kernels.viewed import errors_of_view
from localmkl.views import Views

WIDTHS = 0.5, 1.5
"""Gaussians on all columns: what 1 / (median squared distance) is multiplied by."""

MOST_PARTS = 20
"""Up to this many columns, or groups of columns, get kernels of their own."""

MOST_WORDS, ROWS_A_WORD = 20, 5
"""A column of text holds categories if it has at most so many different words, on average in so many rows."""

NAMED = 3
"""Up to this many columns without a common name are named one by one."""

_SEPARATOR = re.compile(r"[_.:/| -]")
_LETTERS = re.compile(r"[^\W\d_]+(?=[\W\d_])")


def default_kernels(X: Rows, *, impute: str | None = None) -> list[Kernel]:
    """Return the kernels used when none are named: they depend on what the rows hold.

    Numbers: a line and Gaussians of two widths on all columns; a line and a Gaussian on each of at most 20
    columns, or on each group of columns whose names begin or end alike. A column of two values gets a line
    alone, which says the same. Widths come from the median distance between training rows. Columns are
    standardised.

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
    >>> age, sex = np.arange(10.0), ["f", "m"] * 5
    >>> short_names(default_kernels(pd.DataFrame({"age": age, "dose": age % 3, "sex": sex})))
    ['linear', 'rbf 0.5', 'rbf 1.5', 'age (linear)', 'dose (linear)', 'age (rbf)', 'dose (rbf)', 'sex']
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
    numeric = [name for name in names if _holds_numbers(columns[name])]
    words = [name for name in names if name not in set(numeric) and _holds_categories(columns[name])]
    if not numeric and not words:
        raise ValueError(
            "The rows must have a column of numbers, or one of few different words, got none; name kernels "
            'for them, for instance TfIdf(column="notes") for texts.'
        )
    counts = {name: _count_values(columns[name]) for name in numeric}
    numeric = [name for name in numeric if counts[name] > 1] or numeric
    how: dict[str, Any] = {"standardize": True, "impute": impute}
    made: list[Kernel] = []
    if numeric:
        whole = {**how, "columns": None if numeric == names else numeric}
        made = [Linear(**whole), *(RBF("median", factor, **whole) for factor in WIDTHS)]
    parts = _parts(numeric)
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
    for ends in (_parts_of_name, _letters_of_name):
        found = {name: ends(str(name)) for name in names}
        sizes = Counter(end for own in found.values() for end in own)
        chosen = {name: max(own, key=sizes.__getitem__, default=None) for name, own in found.items()}
        groups: dict[Any, list[Any]] = {}
        for name, end in chosen.items():
            groups.setdefault(end, []).append(name)
        several = {end: own for end, own in groups.items() if end is not None and len(own) > 1}
        rest = [name for name in names if chosen[name] not in several]
        if 2 <= len(several) <= MOST_PARTS and len(rest) <= min(MOST_PARTS, len(names) // 2):
            return [*several.values(), *([rest] if rest else [])]
    return [[name] for name in names] if 1 < len(names) <= MOST_PARTS else []


def _parts_of_name(name: str) -> list[tuple[str, str]]:
    """Return the first and the last part of a name, if they have letters."""
    found = list(_SEPARATOR.finditer(name))
    ends = [("first", name[: found[0].end()]), ("last", name[found[-1].start() :])] if found else []
    return [(side, part) for side, part in ends if part != name and any(map(str.isalpha, part))]


def _letters_of_name(name: str) -> list[tuple[str, str]]:
    found = _LETTERS.match(name)
    return [] if found is None else [("first", found[0])]


def short_names(kernels: Sequence[Any]) -> list[str]:
    """Return a short name for each of some kernels: word, parameters in which they differ, columns, view.

    A kernel on one column is called by the column, and one on columns with like names by what they share.

    Parameters
    ----------
    kernels : list of Kernel or callable

    Returns
    -------
    list of str
        All different.

    Examples
    --------
    >>> short_names([Linear(), RBF(factor=0.5), RBF(), RBF(columns=["age"])])
    ['linear', 'rbf 0.5', 'rbf 1', 'age']
    >>> short_names([WeightedDegree(1), WeightedDegree(2), WeightedDegree(2, shift=5), Spectrum(3)])
    ['wd 1', 'wd 2', 'wd 2 shift 5', 'spectrum']
    """
    inner = [getattr(kernel, "kernel", kernel) for kernel in kernels]
    own = [one.get_params(deep=False) if isinstance(one, Kernel) else {} for one in inner]
    columns = [_columns_of(params) for params in own]
    numeric = [read for one, read in zip(inner, columns, strict=True) if isinstance(one, VectorKernel)]
    every = [] if [] in numeric else {name for read in numeric for name in read}
    names = []
    for kernel, one, params, read in zip(kernels, inner, own, columns, strict=True):
        alike = [
            other
            for two, other, there in zip(inner, own, columns, strict=True)
            if type(two) is type(one) and there == read
        ]
        word = " ".join([_word(one), *_differing(type(one), params, alike)])
        where = "" if not read or (len(read) > 1 and set(read) == every) else _shared_name(read)
        lone = len(read) == 1 and columns.count(read) == 1
        name = where if lone else f"{where} ({word})" if where else word
        view = getattr(kernel, "view", None)
        names.append(name if view is None else f"{view}: {name}")
    return [f"{name} ({m + 1})" if names.count(name) > 1 else name for m, name in enumerate(names)]


def _word(kernel: Any) -> str:
    """Return the word of a kernel in `KERNEL_WORDS`, else the name of its class or function."""
    kind = type(kernel).__name__
    words = {name: word for word, (name, _) in KERNEL_WORDS.items()}
    function = getattr(getattr(kernel, "function", kernel), "__name__", kind)
    return words.get(kind, kind if isinstance(kernel, Kernel) and kind != "CallableKernel" else function)


def _columns_of(params: dict[str, Any]) -> list[str]:
    """Return what the columns are called that a kernel of some parameters names; a slice is one name."""
    columns = params.get("columns", params.get("column"))
    if columns is None:
        return []
    if isinstance(columns, slice):
        return [":".join("" if end is None else str(end) for end in (columns.start, columns.stop))]
    return [str(name) for name in (columns if isinstance(columns, list | tuple | np.ndarray) else [columns])]


def _differing(kind: type, params: dict[str, Any], alike: list[dict[str, Any]]) -> list[str]:
    """Return the parameters in which kernels of one kind differ, the main one without its name."""
    main = dict(KERNEL_WORDS.values()).get(kind.__name__)
    found: list[str] = []
    for name, value in params.items():
        if name in ("columns", "column", "view") or len({repr(other[name]) for other in alike}) == 1:
            continue
        text = f"{value:.4g}" if isinstance(value, float) else str(value)
        if name == main:
            found.insert(0, text)
        elif value != signature(kind).parameters[name].default:
            found.append(f"{name} {text}")
    return found


def _shared_name(texts: list[str]) -> str:
    """Return the name of some columns: what their names begin or end with, else the names."""
    ends = [{*_parts_of_name(text), *_letters_of_name(text)} for text in texts]
    shared = set.intersection(*ends) if len(texts) > 1 else set()
    if shared:
        side, part = max(shared, key=lambda end: len(end[1]))
        return f"{part}*" if side == "first" else f"*{part}"
    return ", ".join(texts) if len(texts) <= NAMED else f"{texts[0]} ... {texts[-1]}"


def named_kernels(kernels: Any) -> Any:
    """Return a list with words such as "linear" replaced by kernels with default parameters."""
    if not isinstance(kernels, list | tuple):
        return kernels
    return [_kernel_of(one) if isinstance(one, str) else one for one in kernels]


def _kernel_of(word: str) -> Kernel:
    if word not in KERNEL_WORDS:
        raise ValueError(
            f"A kernel named by a word must be one of {listed(list(KERNEL_WORDS))}, got {word!r}"
            f"{meant(word, KERNEL_WORDS)}"
        )
    kernel: Kernel = getattr(known, KERNEL_WORDS[word][0])()
    return kernel


def columns_read(kernels: Sequence[Any], columns: Sequence[Any]) -> list[Any]:
    """Return those of some columns that kernels read.

    Parameters
    ----------
    kernels : list of Kernel
    columns : sequence
        Of the data frame that they are fitted to.

    Returns
    -------
    list
        In the order of `columns`.

    Examples
    --------
    >>> columns_read([RBF(columns=["age"]), TfIdf(column="notes")], ["age", "sex", "notes"])
    ['age', 'notes']
    """
    names, read = list(columns), set()
    for kernel in kernels:
        params = kernel.get_params(deep=False)
        given: Any = params.get("columns", params.get("column"))
        if given is None or isinstance(given, slice):
            given = names if given is None else names[given]
        given = given if isinstance(given, list | tuple | np.ndarray) else [given]
        read |= {names[one] if isinstance(one, int) and one not in names else one for one in given}
    return [name for name in names if name in read]
