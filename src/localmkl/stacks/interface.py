"""The seam between kernels and solvers: what a stack of kernels answers, in plain NumPy.

    combine           K~ = sum_m (sum_j w_jm c_j c_j') * K_m
    products          V_jm = K_m u_j
    norms             q_jm = u_j' K_m u_j

An implementation says how to `read` a part of one kernel, and may answer the rest faster; what stands here is
the meaning of each answer, the oracle of the tests and the auditor of every certificate.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any, Self

import numpy as np

from localmkl._resources import matrix_bytes, require_memory
from localmkl._types import Floats, Ints, Matrix, Picked

BLOCK_ROWS = 256
"""Rows of one kernel that are read at a time: a few megabytes, whatever the number of columns."""


class Stack(ABC):
    """Kernels between some rows and some columns; to scikit-learn, a table of rows.

    Slices note which rows and columns are meant and copy nothing. Each kernel counts as often as its factor
    says. Subclasses write `n_kernels`, `whole_shape`, `read` and `whole_diagonals`, and call
    ``super().__init__()``.

    Examples
    --------
    >>> import numpy as np
    >>> from localmkl import GramStack
    >>> stack = GramStack([np.eye(3), np.ones((3, 3))])
    >>> isinstance(stack, Stack), stack[:2].shape, stack.n_kernels
    (True, (2, 3), 2)
    """

    ndim = 2
    rows: np.ndarray | None = None
    columns: np.ndarray | None = None
    factors: np.ndarray | None = None
    backend = "compiled"
    """Name of the backend that computes with what this stack returns."""
    parallel = True
    """Whether answers may use all threads."""
    device: Any = None
    """The ``torch.device`` that the numbers are on; None where they are in memory, or in a file."""

    def __init__(self) -> None:
        self.origin = uuid.uuid4().hex
        self._verdicts: set[str] = set()  # checks passed, shared by all slices

    @property
    @abstractmethod
    def n_kernels(self) -> int:
        """Number of kernels."""

    @property
    @abstractmethod
    def whole_shape(self) -> tuple[int, int]:
        """Number of rows and columns of the stack that this one is a slice of."""

    @abstractmethod
    def read(self, m: int, rows: Ints | None, columns: Ints | None) -> Floats:
        """Return a part of the m-th kernel of the whole stack, as a new array of float64.

        `rows` and `columns` are arrays of indices, or None for all of them.
        """

    @abstractmethod
    def whole_diagonals(self) -> Floats:
        """Return ``k_m(x, x)`` of all rows of the whole stack, (n_kernels, n_rows)."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers, as far as they are kept."""
        return np.dtype(np.float64)

    @property
    def shape(self) -> tuple[int, int]:
        """(number of rows, number of columns)."""
        pairs = zip(self.whole_shape, (self.rows, self.columns), strict=True)
        n_rows, n_columns = (size if chosen is None else len(chosen) for size, chosen in pairs)
        return n_rows, n_columns

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        n_rows, n_columns = self.shape
        return f"{type(self).__name__}({self.n_kernels} kernels, {n_rows} x {n_columns}, {self.dtype})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        """Refuse: code that wants one matrix would misread a stack of them."""
        raise TypeError(
            f"A `{type(self).__name__}` is not an array; pass it to an estimator of localmkl with "
            "`kernels='precomputed'`, or call its `to_array()`."
        )

    def __getitem__(self, key: Any) -> Self:
        """Return the stack of some rows, or rows and columns; nothing is copied."""
        key = tuple(part for part in key if part is not ...) if isinstance(key, tuple) else (key,)
        if len(key) > 2:
            raise IndexError(f"A stack has rows and columns, got {len(key)} indices.")
        rows, columns = (*key, slice(None))[:2]
        n_rows, n_columns = self.whole_shape
        return self._with(
            rows=_pick(self.rows, rows, n_rows), columns=_pick(self.columns, columns, n_columns)
        )

    def _with(self, **changes: Any) -> Self:
        other = copy(self)
        other.__dict__.update(changes)
        return other

    def scaled(self, factors: Floats) -> Self:
        """Return the stack whose m-th kernel is ``factors[m]`` times this one's."""
        factors = np.asarray(factors, dtype=np.float64)
        return self._with(factors=factors if self.factors is None else self.factors * factors)

    def using(self, *, backend: Any = None, parallel: bool | None = None) -> Self:
        """Return the stack with another backend, or with or without threads."""
        changes = {"backend": backend, "parallel": parallel}
        return self._with(**{name: value for name, value in changes.items() if value is not None})

    def block(self, m: int, rows: Picked = slice(None), columns: Picked = slice(None)) -> Floats:
        """Return a copy of a part of the m-th kernel as float64."""
        values = self._unscaled(m, rows, columns)
        if self.factors is not None:
            values *= self.factors[m]
        return values

    def matrix(self, m: int, rows: Picked = slice(None), columns: Picked = slice(None)) -> Matrix:
        """Return a part of the m-th kernel, wherever it is, to be multiplied with arrays."""
        return self.block(m, rows, columns)

    def _unscaled(self, m: int, rows: Picked = slice(None), columns: Picked = slice(None)) -> Floats:
        part = self[rows, columns]
        return self.read(m, part.rows, part.columns)

    def diagonals(self) -> Floats:
        """Return ``k_m(x, x)`` of the rows, (n_kernels, n_rows)."""
        known = self.whole_diagonals()
        known = np.array(known if self.rows is None else known[:, self.rows], dtype=np.float64)
        return known if self.factors is None else known * self.factors[:, None]

    def traces(self, weights: Floats) -> Floats:
        """Return ``sum_i w_i k_m(x_i, x_i)`` of each kernel."""
        return self.diagonals() @ weights

    def to_device(self, device: Any) -> Stack:
        """Return the stack on a device; None is here."""
        if device is None:
            return self
        raise TypeError(f"A `{type(self).__name__}` cannot be moved to {str(device)!r}; use `GramStack`.")

    def combine(self, weights: Floats, memberships: Floats, out: Floats | None = None) -> Matrix:
        """Return the combined kernel of the rows, in `out` where that is given.

        Parameters
        ----------
        weights : ndarray of shape (l, n_kernels)
        memberships : ndarray of shape (n, l)
        out : ndarray of shape (n, n), optional
        """
        n = len(memberships)
        out = np.empty((n, n)) if out is None else out
        for rows in _blocks(n):
            out[rows] = 0.0
            for m in range(self.n_kernels):
                out[rows] += (memberships[rows] * weights[:, m]) @ memberships.T * self.block(m, rows)
        return out

    def combine_several(
        self, weights: Floats, memberships: Floats, out: Floats, places: Sequence[int]
    ) -> None:
        """Write the combined kernels of several weights (B, l, n_kernels) to places of `out` (_, n, n)."""
        for own, place in zip(weights, places, strict=True):
            self.combine(own, memberships, out[place])

    def combine_gated(self, gating: Floats, out: Floats) -> None:
        """Write the kernel of a gate, sum_m (eta_m eta_m') * K_m with `gating` (n, n_kernels), to `out`."""
        self.combine(np.eye(self.n_kernels), gating, out)

    def only_kernel(self, weights: Floats, memberships: Floats) -> Floats | None:
        """Return the combined kernel where that is an array of the stack, to be read only; else None."""
        return None

    def products(self, vectors: Floats, samples: Ints | None = None) -> Floats:
        """Return ``K_m u_j`` for the columns u_j of `vectors`, (l, n_kernels, n).

        With `samples`, an array of indices, only these rows and columns count; `vectors` has no others.
        """
        part = self if samples is None else self[np.ix_(samples, samples)]
        return part.plain_products(vectors)

    def own_products(self, vectors: Floats, samples: Ints | None = None) -> Floats:
        """Return ``K_m v_m`` for the columns v_m of `vectors` (n, n_kernels): each kernel has its own."""
        products = [
            self.only(m).products(vectors[:, m : m + 1], samples)[0, 0] for m in range(self.n_kernels)
        ]
        return np.column_stack(products)

    def only(self, m: int) -> Stack:
        """Return the stack of the m-th kernel alone."""
        return OneKernel(self, m)

    def plain_products(self, vectors: Floats, rows: Ints | None = None) -> Floats:
        """Return ``K_m u_j`` on some rows, or all, in plain NumPy, in the precision of `vectors`."""
        part = self if rows is None else self[rows]
        products = np.empty((vectors.shape[1], self.n_kernels, len(part)), dtype=vectors.dtype)
        transposed = np.ascontiguousarray(vectors.T)
        for block in _blocks(len(part)):
            for m in range(self.n_kernels):
                products[:, m, block] = transposed @ part._unscaled(m, block).T
        if self.factors is not None:  # last, and in the precision of the products
            products *= self.factors[:, None]
        return products

    def norms(self, vectors: Floats) -> Floats:
        """Return ``u_j' K_m u_j`` for the columns u_j of `vectors`, (l, n_kernels)."""
        support = np.flatnonzero(np.any(vectors != 0.0, axis=1))
        whole = len(support) == len(vectors)
        products = self.products(vectors[support], None if whole else support)
        return np.einsum("jmi,ij->jm", products, vectors[support])

    def column_numbers(self) -> Ints:
        """Return which columns of the whole stack this slice has."""
        return np.arange(self.whole_shape[1]) if self.columns is None else self.columns

    def row_numbers(self) -> Ints:
        """Return which rows of the whole stack this slice has."""
        return np.arange(self.whole_shape[0]) if self.rows is None else self.rows

    def with_columns(self, numbers: Ints) -> Self:
        """Return the slice with these columns of the whole stack only; itself, if it has not all of them.

        Tools that slice rows alone leave all columns there.
        """
        own = self.column_numbers()
        order = np.argsort(own, kind="stable")
        places = np.searchsorted(own, numbers, sorter=order)
        if len(own) <= len(numbers) or not np.array_equal(own[order[places % len(own)]], numbers):
            return self
        return self[:, order[places]]

    def training_part(self) -> Self:
        """Return the slice with its rows as columns; itself, if it has not all of them."""
        return self if self.rows is None else self.with_columns(self.rows)

    def to_array(self) -> Floats:
        """Return the stack as a new array of shape (n_kernels, n_rows, n_columns)."""
        require_memory(
            self.n_kernels * matrix_bytes(*self.shape),
            f"A copy of {self.n_kernels} Grams of {self.shape[0]} x {self.shape[1]}",
        )
        array = np.empty((self.n_kernels, *self.shape))
        for m in range(self.n_kernels):
            array[m] = self.block(m)
        return array

    def reading_order(self) -> Ints | None:
        """Return the order in which rows are read best, as indices of them; None if they are in it."""
        return None

    def check_training(self) -> None:
        """Raise unless this is the square, symmetric, finite stack of some training rows."""
        n_rows, n_columns = self.shape
        if n_rows != n_columns or not np.array_equal(self.row_numbers(), self.column_numbers()):
            raise ValueError(
                f"`grams[0]` must be square with the same samples as rows and columns, got shape "
                f"({n_rows}, {n_columns}); pass cross-Grams to `predict`, not to `fit`."
            )
        if not self._verdicts:
            self._check_at_once()
        self.check_finite()
        if "symmetric" not in self._verdicts:
            self._check_symmetric()
            self._verdicts.add("symmetric")

    def check_finite(self) -> None:
        """Raise if the stack holds NaN or infinity; looked at once for all slices."""
        if "finite" not in self._verdicts:
            self._check_finite()
            self._verdicts.add("finite")

    @property
    def bytes_in_memory(self) -> int:
        """Bytes that the whole stack takes in memory; none where it is computed, or in a file."""
        return 0

    def contents(self) -> Any:
        """Return what all answers depend on, for checksums."""
        return {name: value for name, value in vars(self).items() if name not in ("origin", "_verdicts")}

    def detached(self) -> tuple[Self, Any]:
        """Return this slice without its large array, and the array: for processes that share it."""
        return self, None

    def attached(self, array: Any) -> Self:
        """Return this slice with its array: what `detached` took apart."""
        return self

    def vouch(self, *verdicts: str) -> Self:
        """Take it that the stack is "finite" or "symmetric", because its maker knows."""
        self._verdicts.update(verdicts)
        return self

    def _check_at_once(self) -> None:
        """Vouch for what one quick read shows; what it does not is looked at more closely."""
        return

    def _check_finite(self) -> None:
        """Raise if any kernel is not finite, one block after the other."""
        for m in range(self.n_kernels):
            if not all(np.isfinite(self.block(m, rows)).all() for rows in _blocks(len(self))):
                raise ValueError(f"Kernel {m} of the stack holds NaN or infinity.")

    def _check_symmetric(self) -> None:
        """Raise if any kernel is not symmetric; what computes them may leave this to them."""
        return


def device_of(rows: Any) -> Any:
    """Return the device of rows that are a stack on one; else None."""
    return rows.device if isinstance(rows, Stack) else None


class OneKernel(Stack):
    """One kernel of another stack."""

    def __init__(self, stack: Stack, m: int) -> None:
        self.__dict__.update(stack.__dict__)
        self.stack, self.m = stack, m
        self.factors = None if stack.factors is None else stack.factors[m : m + 1]

    n_kernels = 1

    @property
    def whole_shape(self) -> tuple[int, int]:
        """Number of rows and columns of the whole stack."""
        return self.stack.whole_shape

    def read(self, m: int, rows: Ints | None, columns: Ints | None) -> Floats:
        """Return a part of the kernel."""
        return self.stack.read(self.m, rows, columns)

    def whole_diagonals(self) -> Floats:
        """Return the diagonal, (1, n_rows)."""
        return self.stack.whole_diagonals()[self.m : self.m + 1]


def _blocks(n_rows: int) -> list[slice]:
    return [slice(start, min(start + BLOCK_ROWS, n_rows)) for start in range(0, n_rows, BLOCK_ROWS)]


def _pick(current: Ints | None, key: Any, size: int) -> Ints | None:
    """Compose an index: `key` applied to `current` (None: all `size`)."""
    if not isinstance(key, slice):
        key = np.asarray(key).ravel()
        key = key if key.size else key.astype(np.intp)  # [] is an array of floats
    elif key == slice(None):
        return current
    return (np.arange(size) if current is None else current)[key]
