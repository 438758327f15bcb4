"""Stacks of factors: every kernel as the products of a few features, K_m = Phi_m Phi_m'.

The features of all kernels stand side by side in one table (n, R), or in one table for each kernel; in memory
or in memory maps. Answers cost reads of n R numbers, and nothing of size n x n is ever made.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np

from localmkl._checks import check_integer
from localmkl._devices import is_tensor
from localmkl._types import FilePath, Floats, Ints, Picked
from localmkl.backends import load
from localmkl.stacks.interface import Stack

BLOCK_ROWS = 1024
"""Rows of features that are read at a time: a few megabytes for a thousand features."""


class FactorStack(Stack):
    """Kernels given by features of the rows, ``K_m = Phi_m Phi_m'``; to scikit-learn, a table of rows.

    Pass it as `X` to an estimator of the convex methods with ``kernels="precomputed"``: the features of the
    training rows to ``fit``, those of new rows to ``predict``. It is sliced as a `GramStack`; columns make no
    difference to predictions, for features of new rows need no training rows. Arrays are used as they are, in
    memory or in memory maps; columns of one table that follow each other are read as one.

    Parameters
    ----------
    features : list of array-like of shape (n_rows, n_features_m)
        The features Phi_m of each kernel, float32 or float64. Tensors of PyTorch stay on their device, and so
        does everything that is computed with them.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(6, 3))
    >>> stack = FactorStack([X[:, :2], X[:, 2:]])
    >>> stack.n_kernels, stack.shape, stack.widths
    (2, (6, 6), (2, 1))
    >>> bool(np.allclose(stack.block(0), X[:, :2] @ X[:, :2].T))
    True
    """

    def __new__(cls, features: Any = None) -> Any:
        """Return the stack that suits where the numbers are."""
        if cls is FactorStack and isinstance(features, list | tuple) and features and is_tensor(features[0]):
            from localmkl.stacks.device import DeviceFactorStack

            return object.__new__(DeviceFactorStack)
        return object.__new__(cls)

    def __init__(self, features: Any) -> None:
        super().__init__()
        self.tables: tuple[Any, ...] = tuple(
            _check_table(m, table) for m, table in enumerate(_listed(features))
        )
        lengths = {len(table) for table in self.tables}
        if len(lengths) > 1:
            raise ValueError(
                f"`features` must have the same rows for every kernel, got {sorted(lengths)} rows."
            )
        self.scales: np.ndarray | None = None
        """Factors of the rows' features, (n_kernels, n_rows): the cosine normalisation."""
        self.vouch("symmetric")

    @classmethod
    def of_table(cls, table: Floats, widths: Sequence[int]) -> Self:
        """Return the stack of one table (n_rows, n_features) whose columns belong to kernels in turn.

        Parameters
        ----------
        table : array of shape (n_rows, sum(widths))
        widths : sequence of int
            Number of features of each kernel.
        """
        for m, width in enumerate(widths):
            check_integer(f"widths[{m}]", width, low=1)
        edges = np.concatenate([[0], np.cumsum(widths)])
        if len(table.shape) != 2 or table.shape[1] != edges[-1]:
            raise ValueError(
                f"`table` must have the {edges[-1]} columns of `widths`, got shape {tuple(table.shape)}."
            )
        return cls([table[:, first:last] for first, last in pairwise(edges)])

    @classmethod
    def open(cls, path: FilePath, widths: Sequence[int]) -> Self:
        """Open an ``.npy`` file of shape (n_rows, sum(widths)) as a memory map."""
        try:
            table = np.lib.format.open_memmap(path, mode="r")
        except ValueError as error:
            raise ValueError(
                f"{str(path)!r} must be an .npy file of numbers, as `numpy.save` writes it ({error})."
            ) from error
        return cls.of_table(table, widths)

    @property
    def n_kernels(self) -> int:
        """Number of kernels."""
        return len(self.tables)

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of features of each kernel."""
        return tuple(table.shape[1] for table in self.tables)

    @property
    def n_features(self) -> int:
        """Number of features of all kernels together, R."""
        return sum(self.widths)

    @property
    def whole_shape(self) -> tuple[int, int]:
        """Number of rows, twice: the kernels between the rows are meant."""
        return len(self.tables[0]), len(self.tables[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""
        return np.result_type(*self.tables)

    def spread(self, values: Floats) -> Floats:
        """Return values (..., n_kernels) repeated for every feature, (..., n_features)."""
        return np.repeat(values, self.widths, axis=-1)

    def fold(self, values: Floats) -> Floats:
        """Return sums over each kernel's features of values (..., n_features), (..., n_kernels)."""
        edges = np.concatenate([[0], np.cumsum(self.widths)[:-1]])
        return np.add.reduceat(values, edges, axis=-1)

    def table(self) -> Floats | None:
        """Return the one table (n_whole_rows, n_features) that holds all features, or None.

        There is one if the features of the kernels stand side by side in it, unscaled.
        """
        if self.scales is not None:
            return None
        if self.n_kernels == 1:
            return np.asarray(self.tables[0])
        return _joined(self.tables)

    def gather(self, rows: Picked, out: Floats) -> Floats:
        """Write the features of some rows of this slice (a slice or indices) to `out` (len(rows), R)."""
        if self.rows is not None:
            rows = self.rows[rows]
        first = 0
        for m, table in enumerate(self.tables):
            own = out[:, first : first + table.shape[1]]
            own[...] = table[rows]
            if self.scales is not None:
                own *= self.scales[m, rows][:, None]
            first += table.shape[1]
        return out

    def features(self, rows: Picked = slice(None), dtype: Any = np.float64) -> Floats:
        """Return the features of some rows of this slice (a slice or indices), (len(rows), R).

        They may be a view of the table, to be read only.
        """
        table = self.table()
        if table is not None:
            return np.asarray(table[rows if self.rows is None else self.rows[rows]], dtype=dtype)
        n_rows = len(range(*rows.indices(len(self)))) if isinstance(rows, slice) else len(rows)
        return self.gather(rows, np.empty((n_rows, self.n_features), dtype=dtype))

    def read(self, m: int, rows: Ints | None, columns: Ints | None) -> Floats:
        """Return a part of the m-th kernel of the whole stack, as a new array of float64."""
        return self._own_features(m, rows) @ self._own_features(m, columns).T

    def _own_features(self, m: int, rows: Ints | None) -> Floats:
        own = self.tables[m] if rows is None else self.tables[m][rows]
        own = np.asarray(own, dtype=np.float64)
        if self.scales is not None:
            own = own * (self.scales[m] if rows is None else self.scales[m, rows])[:, None]
        return own

    def whole_diagonals(self) -> Floats:
        """Return ``k_m(x, x)`` of all rows of the whole stack, (n_kernels, n_rows)."""
        diagonals = np.empty((self.n_kernels, self.whole_shape[0]))
        for m, table in enumerate(self.tables):
            for rows in feature_blocks(len(table)):
                own = np.asarray(table[rows], dtype=np.float64)
                diagonals[m, rows] = np.einsum("ik,ik->i", own, own)
        return diagonals if self.scales is None else diagonals * self.scales**2

    def plain_products(self, vectors: Floats, rows: Ints | None = None) -> Floats:
        """Return ``K_m u_j`` on some rows, or all, by way of the features' sums, in the precision given."""
        part = self if rows is None else self[rows]
        sums = self._with(rows=self.columns).moments(vectors)
        products = np.empty((vectors.shape[1], self.n_kernels, len(part)), dtype=vectors.dtype)
        edges = np.concatenate([[0], np.cumsum(self.widths)])
        for block in feature_blocks(len(part)):
            features = part.features(block, vectors.dtype)
            for m, (first, last) in enumerate(pairwise(edges)):
                products[:, m, block] = sums[:, first:last] @ features[:, first:last].T
        if self.factors is not None:
            products *= self.factors[:, None]
        return products

    def combine(self, weights: Floats, memberships: Floats, out: Floats | None = None) -> Floats:
        """Return the combined kernel of the rows: for few of them."""
        out = np.empty((len(self), len(self))) if out is None else out
        scaled = self.spread(weights if self.factors is None else weights * self.factors)
        kept = np.flatnonzero(np.any(scaled != 0.0, axis=0))
        features, out[...] = self.features()[:, kept], 0.0
        for own, c in zip(np.sqrt(scaled[:, kept]), memberships.T, strict=True):
            part = c[:, None] * features * own
            out += part @ part.T
        return out

    def moments(self, vectors: Floats) -> Floats:
        """Return ``Phi' u_j`` for the columns u_j of `vectors`, (l, n_features), in plain NumPy.

        Factors are left out, here and in `moments_of` and `scores_of`.
        """
        sums = np.zeros((vectors.shape[1], self.n_features), dtype=vectors.dtype)
        for block in feature_blocks(len(self)):
            sums += vectors[block].T @ self.features(block, vectors.dtype)
        return sums

    def scores(self, memberships: Floats, images: Floats) -> Floats:
        """Return ``sum_j c_ij images_j'phi(x_i)``, (n,), in plain NumPy, in the precision of `images`."""
        scores = np.empty(len(self), dtype=images.dtype)
        for block in feature_blocks(len(self)):
            parts = self.features(block, images.dtype) @ images.T
            scores[block] = np.einsum("ij,ij->i", memberships[block], parts)
        return scores

    def project(self, columns: Floats) -> Floats:
        """Return ``Phi v_j`` for `columns` v_j (n_features, k), as (n, k)."""
        found = np.empty((len(self), columns.shape[1]))
        for block in feature_blocks(len(self)):
            found[block] = self.features(block) @ columns
        return found

    def to_device(self, device: Any) -> FactorStack:
        """Return the stack of these rows on a device; None is here."""
        if device is None:
            return self
        from localmkl.stacks.transfer import features_to

        return features_to(self, device)

    def moments_of(self, rows: Ints, vectors: Floats) -> Floats:
        """Return ``Phi' u_j`` of some rows, fast; sums are of float64."""
        compiled, sums = load(self.backend, "factors_"), np.zeros((vectors.shape[1], self.n_features))
        for places in self._pieces(rows):
            table, own = self.source(rows[places])
            sums += compiled.feature_moments(table, own, vectors[places], parallel=self.parallel)
        return sums

    def scores_of(self, rows: Ints, memberships: Floats, images: Floats, precise: bool) -> Floats:
        """Return ``sum_j c_ij images_j'phi(x_i)`` of some rows, fast, in float64 if that is asked for."""
        images = np.ascontiguousarray(images, dtype=np.float64 if precise else self.dtype)
        compiled, scores = load(self.backend, "factors_"), np.empty(len(rows))
        for places in self._pieces(rows):
            table, own = self.source(rows[places])
            compiled.feature_scores(
                table, own, memberships[places], images, scores[places], parallel=self.parallel
            )
        return scores

    def _pieces(self, rows: Ints) -> list[slice]:
        """Return all rows at once where they need no copy, else blocks of them."""
        return [slice(0, len(rows))] if self.table() is not None else feature_blocks(len(rows))

    def source(self, rows: Ints) -> tuple[Floats, Ints]:
        """Return a table that holds the features of some rows, and their places in it."""
        table = self.table()
        if table is not None:
            return table, rows if self.rows is None else self.rows[rows]
        return self.features(rows, self.dtype), np.arange(len(rows))

    def norms(self, vectors: Floats) -> Floats:
        """Return ``u_j' K_m u_j`` for the columns u_j of `vectors`, (l, n_kernels)."""
        norms = self.fold(np.square(self.moments(vectors)))
        return norms if self.factors is None else norms * self.factors

    @property
    def n_terms(self) -> int:
        """Additions behind a score: rows of a block, blocks, features."""
        return min(len(self), BLOCK_ROWS) + len(feature_blocks(len(self))) + self.n_features

    def only(self, m: int) -> Self:  # noqa: D102
        factors = None if self.factors is None else self.factors[m : m + 1]
        scales = None if self.scales is None else self.scales[m : m + 1]
        return self._with(tables=self.tables[m : m + 1], factors=factors, scales=scales)

    def divided(self, scales: Floats, *, in_place: bool) -> FactorStack:
        """Return the stack of features multiplied by ``scales`` (n_kernels, n_rows); nothing is copied."""
        if self.rows is not None:
            whole = np.ones((self.n_kernels, self.whole_shape[0]))
            whole[:, self.rows] = scales
            scales = whole
        return self._with(scales=scales if self.scales is None else self.scales * scales)

    @property
    def bytes_in_memory(self) -> int:  # noqa: D102
        return sum(table.nbytes for table in self.tables if not _is_mapped(table))

    def contents(self) -> Any:  # noqa: D102
        return self.tables, self.rows, self.columns, self.scales

    def _check_finite(self) -> None:
        for m, table in enumerate(self.tables):
            for rows in feature_blocks(len(table)):
                if not np.isfinite(table[rows]).all():
                    raise ValueError(f"The features of kernel {m} hold NaN or infinity.")


def feature_blocks(n_rows: int, step: int | None = None) -> list[slice]:
    """Return the slices of rows that are read one after the other."""
    step = BLOCK_ROWS if step is None else step
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def _listed(features: Any) -> list[Floats]:
    if isinstance(features, np.ndarray) and features.ndim == 2:
        raise ValueError(
            "`features` must be a list of arrays, one for each kernel, got one array; put it into a list, or "
            "say which columns belong to which kernel: FactorStack.of_table(table, widths)."
        )
    features = list(features)
    if not features:
        raise ValueError("`features` must hold the features of at least one kernel, got an empty list.")
    return features


def _check_table(m: int, table: Any) -> Floats:
    """Return the features of one kernel as a table of floating-point numbers, uncopied if they are some."""
    table = table if isinstance(table, np.ndarray) else np.asarray(table)
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(
            f"`features[{m}]` must have shape (n_rows, n_features) with at least one of each, got "
            f"{table.shape}."
        )
    if table.dtype in (np.float32, np.float64):
        return table
    try:
        return table.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"`features[{m}]` must hold numbers, got {table.dtype} ({error}).") from error


def _joined(tables: Sequence[Floats]) -> Floats | None:
    """Return one view of tables that are neighbouring columns of one array; None if they are not."""
    first, size = tables[0], tables[0].dtype.itemsize
    address = first.__array_interface__["data"][0]
    for table in tables:
        fits = table.dtype == first.dtype and table.strides == (first.strides[0], size)
        if not fits or table.__array_interface__["data"][0] != address:
            return None
        address += size * table.shape[1]
    width = sum(table.shape[1] for table in tables)
    if first.strides[0] < size * width:
        return None
    return np.lib.stride_tricks.as_strided(
        first, (len(first), width), first.strides, subok=False, writeable=False
    )


def _is_mapped(array: Any) -> bool:
    """Whether the numbers of an array or view are in a file."""
    while isinstance(array, np.ndarray) and not isinstance(array, np.memmap):
        array = array.base
    return isinstance(array, np.memmap)
