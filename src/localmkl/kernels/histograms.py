"""Kernels on histograms, counts and fingerprints: columns without negative values.

Chi2                   exp(-gamma sum_k (x_k - y_k)^2 / (x_k + y_k))
HistogramIntersection  sum_k min(x_k, y_k)
Tanimoto               sum_k min(x_k, y_k) / sum_k max(x_k, y_k)
"""

import numbers

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import additive_chi2_kernel, chi2_kernel, linear_kernel, manhattan_distances

from localmkl._checks import check_number
from localmkl._types import ColumnChoice, Floats, Table
from localmkl.kernels.vectors import VectorKernel, pairwise_sample


class Chi2(VectorKernel):
    """The exponential chi-squared kernel of histograms.

    Parameters
    ----------
    gamma : float or "mean", default="mean"
        ``"mean"`` is one over the mean chi-squared distance between training rows that differ.
    columns : int, str, slice, list of them or callable, optional
        Columns to use; names need a data frame. A function, such as ``make_column_selector("age")`` of
        scikit-learn, is called with the training rows.
    impute : {"median", "mean"}, optional
        What missing cells are filled with: the median or mean of their column in the training rows. By
        default they are an error.
    view : str, optional
        The view that it reads, where the rows are `~localmkl.Views`.

    Attributes
    ----------
    gamma_ : float
        The value used.

    Examples
    --------
    >>> import numpy as np
    >>> Chi2(gamma=1.0)(np.array([[1.0, 3.0], [2.0, 2.0]])).round(3)
    array([[1.   , 0.587],
           [0.587, 1.   ]])
    """

    nonnegative = True

    def __init__(
        self,
        gamma: float | str = "mean",
        columns: ColumnChoice = None,
        impute: str | None = None,
        view: str | None = None,
    ) -> None:
        self.gamma = gamma
        self.columns = columns
        self.impute = impute
        self.view = view

    def _learn(self, table: Table, sample_weight: Floats | None) -> None:
        self.gamma_ = self._width(table, sample_weight)

    def _gram(self, table: Table, other: Table) -> Floats:
        gamma = self.gamma_ if hasattr(self, "gamma_") else self._width(table, None)
        return chi2_kernel(_writeable(table), None if other is None else _writeable(other), gamma=gamma)

    def _diag(self, table: Table) -> Floats:
        return np.ones(table.shape[0])

    def _width(self, table: Table, sample_weight: Floats | None) -> float:
        if isinstance(self.gamma, numbers.Real):
            check_number("gamma", self.gamma, low=0.0, low_open=True, finite=True)
            return float(self.gamma)
        if self.gamma == "mean":
            distances, weights = pairwise_sample(table, sample_weight, _chi2_distances)
            return 1.0 / float(np.average(distances, weights=weights)) if distances.size else 1.0
        raise ValueError(f"`gamma` must be a positive number or 'mean', got {self.gamma!r}.")


class HistogramIntersection(VectorKernel):
    """``sum_k min(x_k, y_k)`` for histograms.

    Parameters
    ----------
    columns : int, str, slice, list of them or callable, optional
        Columns to use; names need a data frame. A function, such as ``make_column_selector("age")`` of
        scikit-learn, is called with the training rows.
    impute : {"median", "mean"}, optional
        What missing cells are filled with: the median or mean of their column in the training rows. By
        default they are an error.
    view : str, optional
        The view that it reads, where the rows are `~localmkl.Views`.

    Examples
    --------
    >>> import numpy as np
    >>> HistogramIntersection()(np.array([[1.0, 3.0], [2.0, 1.0]]))
    array([[4., 2.],
           [2., 3.]])
    """

    nonnegative = True

    def __init__(
        self, columns: ColumnChoice = None, impute: str | None = None, view: str | None = None
    ) -> None:
        self.columns = columns
        self.impute = impute
        self.view = view

    def _gram(self, table: Table, other: Table) -> Floats:
        return _sums_of_minima(table, table if other is None else other)

    def _diag(self, table: Table) -> Floats:
        return table.sum(axis=1)


class Tanimoto(VectorKernel):
    """The common share of two fingerprints or rows of counts, ``sum_k min(x_k, y_k) / sum_k max(x_k, y_k)``.

    For binary columns it is x'y / (x'x + y'y - x'y), the number of bits in both over the number in any. It is
    positive semidefinite for all columns without negative values [1]_. A row of zeros is like nothing, not
    even itself.

    Parameters
    ----------
    columns : int, str, slice, list of them or callable, optional
        Columns to use; names need a data frame. A function, such as ``make_column_selector("age")`` of
        scikit-learn, is called with the training rows.
    impute : {"median", "mean"}, optional
        What missing cells are filled with: the median or mean of their column in the training rows. By
        default they are an error.
    view : str, optional
        The view that it reads, where the rows are `~localmkl.Views`.

    References
    ----------
    .. [1] Ralaivola, Swamidass, Saigo and Baldi, Graph kernels for chemical informatics, Neural Networks 18,
       2005 (the MinMax kernel).

    Examples
    --------
    >>> import numpy as np
    >>> Tanimoto()(np.array([[1, 1, 0], [1, 0, 1], [4, 0, 0]])).round(2)
    array([[1.  , 0.33, 0.2 ],
           [0.33, 1.  , 0.2 ],
           [0.2 , 0.2 , 1.  ]])
    """

    nonnegative = True
    takes_sparse = True

    def __init__(
        self, columns: ColumnChoice = None, impute: str | None = None, view: str | None = None
    ) -> None:
        self.columns = columns
        self.impute = impute
        self.view = view

    def _gram(self, table: Table, other: Table) -> Floats:
        other = table if other is None else other
        both = linear_kernel(table, other) if _is_binary(table) and _is_binary(other) else None
        both = _sums_of_minima(table, other) if both is None else both
        either = _sums(table)[:, None] + _sums(other) - both  # min(a, b) + max(a, b) = a + b
        return np.divide(both, either, out=np.zeros_like(both), where=either > 0.0)

    def _diag(self, table: Table) -> Floats:
        return (_sums(table) > 0.0).astype(np.float64)


def _sums(table: Table) -> Floats:
    return np.asarray(table.sum(axis=1)).ravel()  # of a sparse matrix, a column


def _is_binary(table: Table) -> bool:
    values = table.data if sparse.issparse(table) else table
    return bool(((values == 0.0) | (values == 1.0)).all())


def _sums_of_minima(table: Table, other: Table) -> Floats:
    """Return ``sum_k min(x_k, y_k)`` of all pairs of rows, by min(a, b) = (a + b - |a - b|) / 2."""
    sums = manhattan_distances(table, other)
    np.subtract(_sums(table)[:, None], sums, out=sums)
    sums += _sums(other)
    sums *= 0.5
    return sums


def _chi2_distances(table: Table) -> Floats:
    return -additive_chi2_kernel(_writeable(table))


def _writeable(table: Table) -> Floats:
    """Return the table, copied if it is read-only (frames, memory maps): additive chi2 cannot read it."""
    return np.require(table, requirements="W")
