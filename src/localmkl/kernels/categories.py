"""Kernels on categories.

Overlap   #{c : x_c = y_c} / n_columns
"""

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from localmkl._checks import check_option, is_missing
from localmkl._foreign import as_pandas
from localmkl._sklearn import count_rows
from localmkl._types import Array, ColumnChoice, Floats, Ints, Rows
from localmkl.kernels.cells import pick_columns
from localmkl.kernels.vectors import Kernel


class Overlap(Kernel):
    """The share of the chosen columns in which two rows agree.

    Columns hold words, numbers or categoricals of pandas. A missing value is a category of its own, so two
    rows that both lack a value agree, unless `impute` fills it. A value that the training rows do not have is
    unlike all of theirs; two new rows agree where they have the same one. That is the scalar product of
    indicators, one for each value that there may ever be, and thus positive semidefinite on any rows.

    Parameters
    ----------
    columns : int, str, slice, list of them or callable, optional
        Columns to use; names need a data frame. A function, such as ``make_column_selector("age")`` of
        scikit-learn, is called with the training rows.
    impute : {"most_frequent"}, optional
        Fill missing values with the most frequent value of the column in the training rows.
    view : str, optional
        The view that it reads, where the rows are `~localmkl.Views`.

    Attributes
    ----------
    categories_ : list of list
        The values of each column in the training rows, None for a missing one.
    fills_ : list
        The most frequent value of each column, with `impute`.

    Examples
    --------
    >>> import numpy as np
    >>> Overlap()(np.array([["female", "II"], ["male", "II"], ["male", "III"]]))
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0.5],
           [0. , 0.5, 1. ]])
    """

    finite = True
    takes_missing = True
    takes_text = True

    def __init__(
        self, columns: ColumnChoice = None, impute: str | None = None, view: str | None = None
    ) -> None:
        self.columns = columns
        self.impute = impute
        self.view = view

    def fit(self, X: Rows, sample_weight: Floats | None = None) -> Self:
        """Learn which values the columns have."""
        check_option("impute", self.impute, ("most_frequent", None))
        weights = np.ones(count_rows(X)) if sample_weight is None else np.asarray(sample_weight)
        counted, columns = np.flatnonzero(weights), self._cells(X)
        if self.impute is not None:
            self.fills_ = [_most_frequent(column[counted], weights[counted]) for column in columns]
            columns = self._filled(columns)
        self.categories_ = [
            sorted(dict.fromkeys(column[counted].tolist()), key=_kind_and_text) for column in columns
        ]
        return self

    def _filled(self, columns: list[Array]) -> list[Array]:
        """Return columns whose missing values are filled, if they are to be."""
        if self.impute is None:
            return columns
        check_is_fitted(self, "fills_")
        return [
            _objects([fill if value is None else value for value in column.tolist()])
            for column, fill in zip(columns, self.fills_, strict=True)
        ]

    def __call__(self, X: Rows, Y: Rows = None) -> Floats:  # noqa: D102
        own = self._filled(self._cells(X))
        other = own if Y is None else self._filled(self._cells(Y))
        gram = np.zeros((len(own[0]), len(other[0])))
        for mine, theirs in zip(own, other, strict=True):
            numbers: dict[Any, int] = {}
            gram += _numbered(mine, numbers)[:, None] == _numbered(theirs, numbers)
        return gram / len(own)

    def diag(self, X: Rows) -> Floats:  # noqa: D102
        return np.ones(count_rows(X))

    def features(self, X: Rows) -> sparse.csr_array:
        """Return an indicator of each value in the training rows, as CSR; other values have none."""
        check_is_fitted(self, "categories_")
        parts = [
            _indicators(column, categories)
            for column, categories in zip(self._filled(self._cells(X)), self.categories_, strict=True)
        ]
        return sparse.hstack(parts, format="csr") / np.sqrt(len(parts))

    def _cells(self, X: Rows) -> list[Array]:
        """Return the chosen columns, a list of arrays of objects, None where a value is missing."""
        name = type(self).__name__
        if sparse.issparse(X):
            raise ValueError(
                f"{name} needs columns of categories, got a sparse matrix; use Cosine or Tanimoto."
            )
        X = as_pandas(X)
        if not hasattr(X, "iloc"):
            X = np.asarray(X, dtype=object)
        if np.ndim(X) == 1:
            return [_with_none(np.asarray(X, dtype=object))]
        picked = pick_columns(X, self.columns, name)
        if hasattr(picked, "iloc"):
            columns = [picked.iloc[:, place].to_numpy(dtype=object) for place in range(picked.shape[1])]
        else:
            columns = list(picked.T)
        if not columns:
            raise ValueError(f"{name} needs at least one column, got none.")
        return [_with_none(column) for column in columns]


def _with_none(column: Array) -> Array:
    """Return a column with None for all that stands for a missing value."""
    return _objects([None if is_missing(value) else value for value in column.tolist()])


def _objects(values: list[Any]) -> Array:
    cells = np.empty(len(values), dtype=object)
    cells[:] = values
    return cells


def _most_frequent(column: Array, weights: Floats) -> Any:
    """Return the value that most rows have, by their weights; None where all are missing."""
    totals: dict[Any, float] = {}
    for value, weight in zip(column.tolist(), weights.tolist(), strict=True):
        if value is not None:
            totals[value] = totals.get(value, 0.0) + weight
    return max(sorted(totals, key=_kind_and_text), key=totals.__getitem__, default=None)


def _kind_and_text(value: Any) -> tuple[str, str]:
    """Return what values of any types are sorted by, so that the same ones come in the same order."""
    return type(value).__name__, str(value)


def _numbered(column: Array, numbers: dict[Any, int]) -> Ints:
    """Return a number for each value, the same for equal ones; `numbers` keeps them."""
    return np.array([numbers.setdefault(value, len(numbers)) for value in column.tolist()])


def _indicators(column: Array, categories: list[Any]) -> sparse.csr_array:
    places = {value: place for place, value in enumerate(categories)}
    found = np.array([places.get(value, -1) for value in column.tolist()])
    rows = np.flatnonzero(found >= 0)
    shape = len(column), len(categories)
    return sparse.csr_array((np.ones(len(rows)), (rows, found[rows])), shape=shape)
