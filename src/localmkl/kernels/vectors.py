"""Kernels on numeric columns: k(x, y) from the rows of a table.

    Linear      x'y
    Polynomial  (gamma x'y + coef0)^degree
    RBF         exp(-gamma ||x - y||^2)
    Cosine      x'y / (||x|| ||y||)

Every kernel takes `columns`, so that one table gives several views, can fill missing cells (`impute`) and
`standardize` columns first. Sparse rows stay sparse. `Kernel` is the base class to extend.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import (
    euclidean_distances,
    linear_kernel,
    polynomial_kernel,
    rbf_kernel,
)
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import check_is_fitted

from localmkl._checks import check_cells, check_integer, check_number, check_option, check_sizes
from localmkl._foreign import as_pandas
from localmkl._sklearn import count_rows, take
from localmkl._types import ColumnChoice, Floats, Rows, Table
from localmkl.kernels.cells import (
    FILLS,
    column_names,
    learn_fills,
    pick_columns,
    read_numbers,
    row_names,
    weighted_median,
)
from localmkl.kernels.sparse_rows import as_csr, spread_of

MEDIAN_ROWS = 1000
"""Most rows whose pairwise distances are looked at for a data-driven width: half a million distances fix a
median, and take milliseconds."""

EQUAL = 1e-12
"""Squared distances below this share of the largest one are rounding: x'x + y'y - 2 x'y of equal rows has
errors of 1e-16 for each column, and there may be thousands of columns."""


class Kernel(BaseEstimator, ABC):
    """A kernel function with parameters, some of which may be learned from training rows.

    A subclass stores its parameters in ``__init__``, learns in ``fit`` (by default nothing) and
    computes Gram matrices in ``__call__``.

    Examples
    --------
    >>> import numpy as np
    >>> class Same(Kernel):
    ...     def __call__(self, X, Y=None):
    ...         return np.equal.outer(X[:, 0], (X if Y is None else Y)[:, 0]).astype(float)
    >>> Same()(np.array([[1.0], [2.0], [1.0]]))
    array([[1., 0., 1.],
           [0., 1., 0.],
           [1., 0., 1.]])
    """

    finite = False
    """Whether Grams are finite by construction, so that nobody needs to look."""

    takes_missing = False
    """Whether cells may be missing: the kernel says, or learns, what that means."""

    takes_text = False
    """Whether columns may hold words beside numbers."""

    def fit(self, X: Rows, sample_weight: Floats | None = None) -> Self:
        """Learn what the kernel needs from the training rows; return the kernel."""
        return self

    @abstractmethod
    def __call__(self, X: Rows, Y: Rows = None) -> Floats:
        """Return the Gram matrix between the rows of `X` and those of `Y` (default: `X`)."""

    def check_cells(self, X: Rows) -> None:
        """Raise if a cell that the kernel reads is missing or infinite; by default a Gram will tell."""

    def write(self, X: Rows, Y: Rows, out: Floats) -> None:
        """Write the Gram matrix to an array that is there already."""
        gram = self(X, Y)
        if np.shape(gram) != out.shape:
            raise ValueError(
                f"{type(self).__name__} must return shape {out.shape} for {out.shape[0]} rows, "
                f"got {np.shape(gram)}."
            )
        out[...] = gram

    def sweep_key(self) -> Hashable:
        """Return the key shared by kernels that can be computed together; None: none can."""
        return None

    @classmethod
    def write_together(
        cls, kernels: Sequence[Self], X: Rows, Y: Rows, out: Floats, places: Sequence[int]
    ) -> None:
        """Write the Grams of kernels with one `sweep_key` to ``out[places]``."""
        for kernel, place in zip(kernels, places, strict=True):
            kernel.write(X, Y, out[place])

    def diag(self, X: Rows) -> Floats:
        """Return ``k(x, x)`` for every row of `X`."""
        singles = (take(X, [i]) for i in range(count_rows(X)))
        return np.array([float(self(row)[0, 0]) for row in singles])

    def features(self, X: Rows) -> Table:
        """Return phi(x) of every row, ``k(x, y) = phi(x)'phi(y)``, as an array or CSR; None: not by numbers.

        Their columns are the same for all rows, also for rows that come later.
        """
        return None

    def count_features(self, X: Rows) -> int | None:
        """Return the number of `features` of rows such as these, at least one; None: there are none."""
        features = self.features(take(X, [0]))
        return None if features is None else features.shape[1]


class CallableKernel(Kernel):
    """A plain function as a kernel.

    Parameters
    ----------
    function : callable
        Called as ``function(X, Y)``; returns the Gram matrix, (n_X, n_Y).

    Examples
    --------
    >>> import numpy as np
    >>> kernel = CallableKernel(lambda X, Y: (X @ Y.T) ** 3)
    >>> kernel(np.array([[1.0], [2.0]]))
    array([[ 1.,  8.],
           [ 8., 64.]])
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, X: Rows, Y: Rows = None) -> Floats:  # noqa: D102
        other = X if Y is None else Y
        gram = np.asarray(self.function(X, other), dtype=np.float64)
        shape = count_rows(X), count_rows(other)
        if gram.shape != shape:
            raise ValueError(
                f"A kernel function must return shape {shape} here, got {gram.shape}; it is called as "
                "function(X, Y)."
            )
        return gram


class VectorKernel(Kernel):
    """A kernel on some or all columns of a numeric table.

    Examples
    --------
    >>> isinstance(RBF(columns=["age", "dose"], standardize=True), VectorKernel)
    True
    """

    columns: ColumnChoice = None
    impute: str | None = None
    nonnegative = False
    standardize = False

    takes_sparse = False
    """Whether the kernel reads CSR matrices as they are."""

    def fit(self, X: Rows, sample_weight: Floats | None = None) -> Self:
        """Learn data-driven parameters from the training rows."""
        check_option("impute", self.impute, (*FILLS, None))
        X = as_pandas(X)
        numbers = self._numbers(X)
        check_sizes(numbers, lambda: (row_names(X), column_names(X, self.columns)), type(self).__name__)
        if self.impute is not None:
            self.fills_ = learn_fills(self.impute, numbers, sample_weight, column_names(X, self.columns))
            numbers = self._filled(numbers)
        if self.standardize:
            self.scaler_ = StandardScaler().fit(numbers, sample_weight=sample_weight)
            numbers = self._standardized(numbers)
        self._learn(numbers, sample_weight)
        return self

    def __call__(self, X: Rows, Y: Rows = None) -> Floats:  # noqa: D102
        return self._gram(self._table(X), None if Y is None else self._table(Y))

    def diag(self, X: Rows) -> Floats:  # noqa: D102
        return self._diag(self._table(X))

    @property
    def takes_missing(self) -> bool:  # type: ignore[override]
        """Whether missing cells are filled."""
        return self.impute is not None

    def check_cells(self, X: Rows) -> None:  # noqa: D102
        self._numbers(X)

    def _learn(self, table: Table, sample_weight: Floats | None) -> None:
        """Set learned attributes; nothing by default."""

    @abstractmethod
    def _gram(self, table: Table, other: Table) -> Floats: ...

    @abstractmethod
    def _diag(self, table: Table) -> Floats: ...

    def _table(self, X: Rows) -> Table:
        """Return the chosen columns, filled and standardised if they are to be."""
        numbers = self._numbers(X)
        numbers = numbers if self.impute is None else self._filled(numbers)
        return self._standardized(numbers) if self.standardize else numbers

    def _filled(self, numbers: Floats) -> Floats:
        """Return numbers without gaps."""
        check_is_fitted(self, "fills_")
        return np.where(np.isnan(numbers), self.fills_, numbers)

    def _standardized(self, numbers: Floats) -> Floats:
        """Return numbers with the mean and the variance of each column taken out."""
        check_is_fitted(self, "scaler_")
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = self.scaler_.transform(numbers)
            finite = bool(np.isfinite(scaled.sum())) or bool(np.isfinite(scaled).all())
        if not finite:
            raise ValueError(
                f"{type(self).__name__} needs numbers that it can standardise, got some far too large beside "
                "those of the fit; scale them, or leave their rows out."
            )
        return scaled

    def _numbers(self, X: Rows) -> Table:
        """Return the chosen columns as float64 numbers: finite, but for gaps that are filled later."""
        X, name = as_pandas(X), type(self).__name__
        picked = pick_columns(as_csr(X), self.columns, name)
        if sparse.issparse(picked):
            self._check_sparse(name)
        table = read_numbers(picked, name, lambda: column_names(X, self.columns))
        check_cells(table, lambda: (row_names(X), column_names(X, self.columns)), missing=self.takes_missing)
        values = table.data if sparse.issparse(table) else table
        if self.nonnegative and (values < 0.0).any():
            raise ValueError(
                f"{name} needs columns without negative values, got {np.nanmin(values):.6g}; "
                "use histograms or counts, or another kernel."
            )
        return table

    def _check_sparse(self, name: str) -> None:
        """Raise if the kernel would have to fill a sparse matrix with numbers."""
        if not self.takes_sparse:
            raise ValueError(
                f"{name} needs dense rows, got a sparse matrix; use Linear, Polynomial, RBF, Cosine or "
                "Tanimoto, or make a few columns dense."
            )
        if self.standardize:
            raise ValueError(
                f"{name} cannot standardise a sparse matrix, whose zeros would become other numbers; set "
                "`standardize=False`, and scale its columns without centring (MaxAbsScaler) if that is meant."
            )
        if self.impute is not None:
            raise ValueError(
                f"{name} fills gaps in dense rows, got `impute={self.impute!r}` with a sparse matrix, where "
                "what is not stored is zero; set `impute=None`."
            )


class Linear(VectorKernel):
    """The scalar product of the chosen columns.

    Parameters
    ----------
    columns : int, str, slice, list of them or callable, optional
        Columns to use; names need a data frame. A function, such as ``make_column_selector("age")`` of
        scikit-learn, is called with the training rows.
    standardize : bool, default=False
        Give every column mean zero and variance one, learned on the training rows.
    impute : {"median", "mean"}, optional
        What missing cells are filled with: the median or mean of their column in the training rows. By
        default they are an error.
    view : str, optional
        The view that it reads, where the rows are `~localmkl.Views`.

    Examples
    --------
    >>> import numpy as np
    >>> Linear(columns=[1])(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[ 4.,  8.],
           [ 8., 16.]])
    """

    takes_sparse = True

    def __init__(
        self,
        columns: ColumnChoice = None,
        standardize: bool = False,
        impute: str | None = None,
        view: str | None = None,
    ) -> None:
        self.columns = columns
        self.standardize = standardize
        self.impute = impute
        self.view = view

    def _gram(self, table: Table, other: Table) -> Floats:
        return linear_kernel(table, other)

    def features(self, X: Rows) -> Table:
        """Return the chosen columns, filled and standardised if they are to be."""
        return self._table(X)

    def _diag(self, table: Table) -> Floats:
        return row_norms(table, squared=True)


class Polynomial(VectorKernel):
    """``(gamma x'y + coef0)^degree``.

    Parameters
    ----------
    degree : int, default=2
        Power, at least one.
    gamma : float, optional
        One over the number of columns by default.
    coef0 : float, default=1.0
        At least zero, for the kernel to be positive semidefinite.
    columns : int, str, slice, list of them or callable, optional
        Columns to use; names need a data frame. A function, such as ``make_column_selector("age")`` of
        scikit-learn, is called with the training rows.
    standardize : bool, default=False
        Give every column mean zero and variance one, learned on the training rows.
    impute : {"median", "mean"}, optional
        What missing cells are filled with: the median or mean of their column in the training rows. By
        default they are an error.
    view : str, optional
        The view that it reads, where the rows are `~localmkl.Views`.

    Examples
    --------
    >>> import numpy as np
    >>> Polynomial(degree=2)(np.array([[1.0], [2.0]]))
    array([[ 4.,  9.],
           [ 9., 25.]])
    """

    takes_sparse = True

    def __init__(
        self,
        degree: int = 2,
        gamma: float | None = None,
        coef0: float = 1.0,
        columns: ColumnChoice = None,
        standardize: bool = False,
        impute: str | None = None,
        view: str | None = None,
    ) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.columns = columns
        self.standardize = standardize
        self.impute = impute
        self.view = view

    def _learn(self, table: Table, sample_weight: Floats | None) -> None:
        check_integer("degree", self.degree, low=1)
        check_number("coef0", self.coef0, low=0.0, finite=True)
        if self.gamma is not None:
            check_number("gamma", self.gamma, low=0.0, low_open=True, finite=True)

    def _gram(self, table: Table, other: Table) -> Floats:
        return polynomial_kernel(table, other, degree=self.degree, gamma=self.gamma, coef0=self.coef0)

    def _diag(self, table: Table) -> Floats:
        gamma = 1.0 / table.shape[1] if self.gamma is None else self.gamma
        return (gamma * row_norms(table, squared=True) + self.coef0) ** self.degree


class RBF(VectorKernel):
    """The Gaussian kernel ``exp(-gamma ||x - y||^2)``.

    Parameters
    ----------
    gamma : float, "scale" or "median", default="scale"
        ``"scale"`` is 1 / (number of columns * variance of the training rows), as in scikit-learn;
        ``"median"`` is 1 / (median squared distance between training rows that differ).
    factor : float, default=1.0
        Multiplies gamma: several widths around a data-driven one.
    columns : int, str, slice, list of them or callable, optional
        Columns to use; names need a data frame. A function, such as ``make_column_selector("age")`` of
        scikit-learn, is called with the training rows.
    standardize : bool, default=False
        Give every column mean zero and variance one, learned on the training rows.
    impute : {"median", "mean"}, optional
        What missing cells are filled with: the median or mean of their column in the training rows. By
        default they are an error.
    view : str, optional
        The view that it reads, where the rows are `~localmkl.Views`.

    Attributes
    ----------
    gamma_ : float
        The value used, factor included.

    Examples
    --------
    >>> import numpy as np
    >>> RBF(gamma=0.5)(np.array([[0.0], [1.0]])).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """

    takes_sparse = True

    def __init__(
        self,
        gamma: float | str = "scale",
        factor: float = 1.0,
        columns: ColumnChoice = None,
        standardize: bool = False,
        impute: str | None = None,
        view: str | None = None,
    ) -> None:
        self.gamma = gamma
        self.factor = factor
        self.columns = columns
        self.standardize = standardize
        self.impute = impute
        self.view = view

    def _learn(self, table: Table, sample_weight: Floats | None) -> None:
        self.gamma_ = self._width(table, sample_weight)

    def _gram(self, table: Table, other: Table) -> Floats:
        gamma = self.gamma_ if hasattr(self, "gamma_") else self._width(table, None)
        return rbf_kernel(table, other, gamma=gamma)

    def _diag(self, table: Table) -> Floats:
        return np.ones(table.shape[0])

    def _width(self, table: Table, sample_weight: Floats | None) -> float:
        check_number("factor", self.factor, low=0.0, low_open=True, finite=True)
        if isinstance(self.gamma, numbers.Real):
            check_number("gamma", self.gamma, low=0.0, low_open=True, finite=True)
            return self.factor * float(self.gamma)
        if self.gamma == "scale":
            spread = spread_of(table, sample_weight)
            return self.factor / (table.shape[1] * spread) if spread > 0.0 else self.factor
        if self.gamma == "median":
            distances, weights = pairwise_sample(table, sample_weight, _squared_distances)
            return self.factor / weighted_median(distances, weights) if distances.size else self.factor
        raise ValueError(f"`gamma` must be a positive number, 'scale' or 'median', got {self.gamma!r}.")


class Cosine(VectorKernel):
    """The cosine of the angle between rows, ``x'y / (||x|| ||y||)``.

    A row of zeros is like nothing, not even itself.

    Parameters
    ----------
    columns : int, str, slice, list of them or callable, optional
        Columns to use; names need a data frame. A function, such as ``make_column_selector("age")`` of
        scikit-learn, is called with the training rows.
    standardize : bool, default=False
        Give every column mean zero and variance one, learned on the training rows.
    impute : {"median", "mean"}, optional
        What missing cells are filled with: the median or mean of their column in the training rows. By
        default they are an error.
    view : str, optional
        The view that it reads, where the rows are `~localmkl.Views`.

    Examples
    --------
    >>> import numpy as np
    >>> Cosine()(np.array([[1.0, 0.0], [3.0, 4.0], [0.0, 0.0]]))
    array([[1. , 0.6, 0. ],
           [0.6, 1. , 0. ],
           [0. , 0. , 0. ]])
    """

    takes_sparse = True

    def __init__(
        self,
        columns: ColumnChoice = None,
        standardize: bool = False,
        impute: str | None = None,
        view: str | None = None,
    ) -> None:
        self.columns = columns
        self.standardize = standardize
        self.impute = impute
        self.view = view

    def _gram(self, table: Table, other: Table) -> Floats:
        return linear_kernel(normalize(table), None if other is None else normalize(other))

    def features(self, X: Rows) -> Table:
        """Return the rows with length one."""
        return normalize(self._table(X))

    def _diag(self, table: Table) -> Floats:
        return (row_norms(table, squared=True) > 0.0).astype(np.float64)


def pairwise_sample(
    table: Table, sample_weight: Floats | None, distances: Callable[..., Floats]
) -> tuple[Floats, Floats]:
    """Return the distances between rows that differ, and how often each pair counts.

    Of more than `MEDIAN_ROWS` rows, this many are looked at, evenly chosen. Equal rows are left out, so
    that a row of weight w is the same as w equal rows.
    """
    weights = np.ones(table.shape[0]) if sample_weight is None else sample_weight
    rows = np.flatnonzero(weights)
    if len(rows) > MEDIAN_ROWS:
        rows = rows[np.linspace(0, len(rows) - 1, MEDIAN_ROWS).astype(int)]
    pairs = np.triu_indices(len(rows), k=1)
    found = distances(table[rows])[pairs]
    counts = weights[rows][pairs[0]] * weights[rows][pairs[1]]
    differ = found > EQUAL * found.max(initial=0.0)
    return found[differ], counts[differ]


def _squared_distances(table: Table) -> Floats:
    centred = table if sparse.issparse(table) else table - table.mean(axis=0)
    return euclidean_distances(centred, squared=True)
