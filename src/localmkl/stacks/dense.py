"""Dense stacks: Gram matrices as one array, in memory or in a memory map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from localmkl import _checks
from localmkl._devices import is_tensor
from localmkl._types import Array, FilePath, Floats, Ints, Matrix
from localmkl.backends import load, one_blas_thread
from localmkl.stacks.interface import Stack

BARELY = 0.1
"""Share of the asymmetry that is allowed up to which a Gram passes without a look at each of its entries."""


class GramStack(Stack):
    """Precomputed Gram matrices that behave like a table of rows to scikit-learn.

    Pass it as `X` to an estimator with ``kernels="precomputed"``: the square stack of the training
    rows to ``fit``, the cross-Grams between new and training rows to ``predict``. Slicing, as
    cross-validation does it, only notes which rows and columns are meant: the numbers stay where
    they are, in memory or in a memory map.

    Parameters
    ----------
    grams : array-like of shape (n_kernels, n_rows, n_columns), or a list of matrices
        Arrays of float32 and float64 are used as they are. A tensor of PyTorch stays on its device, and so
        does everything that is computed with it.
    diagonals : array-like of shape (n_kernels, n_rows), optional
        ``k_m(x, x)`` of the rows; only needed to predict from cross-Grams under
        ``normalize="cosine"``. A square stack knows its own.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(6, 2))
    >>> stack = GramStack([X @ X.T, (X @ X.T) ** 2])
    >>> stack.n_kernels, stack.shape
    (2, (6, 6))
    >>> stack[np.ix_([0, 1], [2, 3, 4])].shape
    (2, 3)
    """

    def __new__(cls, grams: Any = None, diagonals: Any = None) -> Any:
        """Return the stack that suits where the numbers are."""
        if cls is GramStack and _are_tensors(grams):
            from localmkl.stacks.device import DeviceGramStack

            return object.__new__(DeviceGramStack)
        return object.__new__(cls)

    def __init__(self, grams: Any, diagonals: Floats | None = None) -> None:
        super().__init__()
        self.grams = _checks.check_grams(grams)
        self._set_diagonals(diagonals)

    def _set_diagonals(self, diagonals: Floats | None) -> None:
        self._diagonals: Floats | None = None
        if diagonals is not None:
            self._diagonals = np.asarray(diagonals, dtype=np.float64)
        expected = tuple(self.grams.shape[:2])
        if self._diagonals is not None and self._diagonals.shape != expected:
            raise ValueError(
                f"`diagonals` must have shape (n_kernels, n_rows) = {expected}, got {self._diagonals.shape}."
            )

    @classmethod
    def open(cls, path: FilePath) -> Self:
        """Open an ``.npy`` file of shape (n_kernels, n_rows, n_columns) as a memory map."""
        try:
            grams = np.lib.format.open_memmap(path, mode="r")
        except ValueError as error:
            raise ValueError(
                f"{str(path)!r} must be an .npy file of numbers, as `numpy.save` writes it ({error})."
            ) from error
        return cls(grams)

    @property
    def n_kernels(self) -> int:
        """Number of kernels."""
        return self.grams.shape[0]

    @property
    def whole_shape(self) -> tuple[int, int]:
        """Number of rows and columns of the stack that this one is a slice of."""
        return self.grams.shape[1:]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""
        return self.grams.dtype

    def read(self, m: int, rows: Ints | None, columns: Ints | None) -> Floats:
        """Return a part of the m-th Gram of the whole stack, as a new array of float64."""
        gram = self.grams[m]
        if rows is None and columns is None:
            return np.array(gram, dtype=np.float64)
        if columns is None:
            picked = gram[rows]
        elif rows is None or 4 * len(columns) > gram.shape[1]:  # whole rows are quickly copied
            picked = (gram if rows is None else gram[rows]).take(columns, axis=1)
        else:
            picked = gram[rows[:, None], columns]
        return np.asarray(picked, dtype=np.float64)

    @property
    def n_terms(self) -> int:
        """Additions behind an entry of a product with vectors."""
        return self.shape[1]

    def whole_diagonals(self) -> Floats:
        """Return ``k_m(x, x)`` of all rows of the whole stack, (n_kernels, n_rows)."""
        if self._diagonals is not None:
            return self._diagonals
        if self.grams.shape[1] == self.grams.shape[2] and "symmetric" in self._verdicts:
            return np.einsum("mii->mi", self.grams)
        raise ValueError(
            "The diagonal k(x, x) of these rows is not known from cross-Grams; pass it as "
            "`GramStack(grams, diagonals=...)`."
        )

    def combine(self, weights: Floats, memberships: Floats, out: Floats | None = None) -> Matrix:  # noqa: D102
        if self._plain:
            return super().combine(weights, memberships, out)
        if out is None:
            out = np.empty(self.shape)
        self.combine_several(weights[None], memberships, out[None], [0])
        return out

    def combine_several(  # noqa: D102
        self, weights: Floats, memberships: Floats, out: Floats, places: Sequence[int]
    ) -> None:
        if self._plain:
            super().combine_several(weights, memberships, out, places)
            return
        from localmkl.backends.together import combine_together

        scaled = weights if self.factors is None else weights * self.factors
        combine_together(self.grams, self.rows, scaled, memberships, out, places, parallel=self.parallel)

    def combine_gated(self, gating: Floats, out: Floats) -> None:  # noqa: D102
        if self._plain:
            super().combine_gated(gating, out)
            return
        from localmkl.backends.gates_compiled import combine_gated

        factors = np.ones(self.n_kernels) if self.factors is None else self.factors
        combine_gated(self.grams, self.rows, factors, gating, out, parallel=self.parallel)

    def only_kernel(self, weights: Floats, memberships: Floats) -> Floats | None:  # noqa: D102
        factor = (
            weights.item() * (1.0 if self.factors is None else self.factors[0]) if weights.size == 1 else 0.0
        )
        plain = factor == 1.0 and self.rows is None and self.dtype == np.float64
        return self.grams[0] if plain and np.all(memberships == 1.0) else None

    def products(self, vectors: Floats, samples: Ints | None = None) -> Floats:  # noqa: D102
        if self._plain:
            return super().products(vectors, samples)
        rows = self.rows
        if samples is not None:
            rows = samples if rows is None else rows[samples]
        order = _order(rows)
        if rows is not None and order is not None:
            rows, vectors = rows[order], vectors[order]
        products = load(self.backend).block_products(self.grams, rows, vectors, parallel=self.parallel)
        if order is not None:
            products = products[:, :, np.argsort(order)]
        if self.factors is not None:
            products *= self.factors[:, None]
        return products

    def reading_order(self) -> Ints | None:  # noqa: D102
        return None if self._plain else _order(self.rows)

    @property
    def _plain(self) -> bool:
        return self.backend == "reference"

    def only(self, m: int) -> Self:  # noqa: D102
        factors = None if self.factors is None else self.factors[m : m + 1]
        return self._with(grams=self.grams[m : m + 1], factors=factors)

    def divided(self, scales: Floats, *, in_place: bool) -> GramStack:
        """Return the square stack ``K_m[i, k] scales_mi scales_mk``, in place or as a copy of the slice."""
        grams = self.grams if in_place else self.to_array()
        for gram, own in zip(grams, scales, strict=True):
            gram *= own[:, None]
            gram *= own
        return GramStack(grams).vouch("finite", "symmetric")

    def to_device(self, device: Any) -> GramStack:
        """Return the stack of these rows and columns on a device; None is here."""
        if device is None:
            return self
        from localmkl.stacks.transfer import grams_to

        return grams_to(self, device)

    def kernels_first(self) -> GramStack:
        """Return the stack of an array whose last axis counts the kernels, as MATLAB has it."""
        return GramStack(np.moveaxis(self.grams, 2, 0))

    def sum(self) -> float:
        """Return the sum of all numbers of the whole stack: one pass over it, the unit of cost."""
        return self.grams.sum()

    @property
    def bytes_in_memory(self) -> int:  # noqa: D102
        return 0 if isinstance(_owner(self.grams), np.memmap) else self.grams.nbytes

    def contents(self) -> Any:  # noqa: D102
        return self.grams, self.rows, self.columns

    def detached(self) -> tuple[Self, Any]:  # noqa: D102
        return self._with(grams=None), self.grams

    def attached(self, array: Any) -> Self:  # noqa: D102
        return self if array is None else self._with(grams=array)

    def _check_at_once(self) -> None:
        if self._plain or self.grams.shape[1] != self.grams.shape[2]:
            return
        from localmkl.backends.survey import survey

        differences = survey(self.grams, parallel=self.parallel)
        diagonals = np.array(np.einsum("mii->mi", self.grams), dtype=np.float64)
        size = np.abs(diagonals).max(axis=1)
        if np.all(differences <= BARELY * _checks.SYMMETRY_TOLERANCE * size):  # so that all is finite
            with one_blas_thread():
                _checks.check_definite_grams(self.grams, diagonals)
            self.vouch("finite", "symmetric")

    def _check_finite(self) -> None:
        _checks.check_finite_grams(self.grams)

    def _check_symmetric(self) -> None:
        _checks.check_training_grams(self.grams)


def _order(rows: Ints | None) -> Ints | None:
    """Return the order that makes rows follow each other; None if they do."""
    return None if rows is None or np.all(rows[1:] >= rows[:-1]) else np.argsort(rows, kind="stable")


def _are_tensors(grams: Any) -> bool:
    return is_tensor(grams) or (isinstance(grams, list | tuple) and len(grams) > 0 and is_tensor(grams[0]))


def _owner(array: Array) -> Any:
    """Return the array that the numbers of a view belong to."""
    while isinstance(array.base, np.ndarray) and not isinstance(array, np.memmap):
        array = array.base
    return array


def cosine_scales(diagonals: Floats) -> Floats:
    """Return ``1 / sqrt(k(x, x))``; zero where the diagonal vanishes.

    Examples
    --------
    >>> cosine_scales(np.array([[4.0, 0.0]]))
    array([[0.5, 0. ]])
    """
    alive = diagonals > 0.0
    return np.divide(
        1.0,
        np.sqrt(diagonals, where=alive, out=np.ones_like(diagonals)),
        where=alive,
        out=np.zeros_like(diagonals),
    )
