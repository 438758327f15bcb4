"""Stacks of raw data, computed at once or block by block; and their normalisations.

    multiplicative   K / (mean diag K - mean K)       unit variance in feature space
    trace            K / (trace K / n)
    cosine           k(x, y) / sqrt(k(x, x) k(y, y))

The first two are one factor per kernel. It is learned on the training rows, kept beside the stack and
multiplied into the kernel weights, so that no stack is ever rescaled or copied for them.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone

from localmkl import _checks
from localmkl._resources import computing_bytes, require_memory
from localmkl._types import Device, Floats, Ints, Matrix, Picked, Rows
from localmkl.kernels.vectors import CallableKernel, Kernel, VectorKernel
from localmkl.stacks import FactorStack as FactorStack
from localmkl.stacks import GramStack as GramStack
from localmkl.stacks import Stack
from localmkl.stacks import cosine_scales as cosine_scales
from localmkl.views import Views

NORMALIZATIONS = ("multiplicative", "trace", "cosine", None)

T = TypeVar("T")

SHARED_ENTRIES = 2**25
"""Most numbers that cross-Grams computed in one sweep hold at a time."""


class CrossGrams:
    """The Grams between new rows and training rows, computed block by block when asked for.

    It has the part of `GramStack`'s interface that prediction needs. Kernels that share a sweep are computed
    together at the first request for a block and handed out one by one. Grams that are known already (as a
    `GramStack`) are read, not computed.

    Parameters
    ----------
    kernels : list of Kernel
        Fitted kernels.
    X, Y : rows
        New rows, and the training rows that they are compared with.
    known : GramStack, optional
        Their Grams, where there are some already.
    device : torch.device, optional
        Where matrices are computed; here by default.

    Examples
    --------
    >>> import numpy as np
    >>> from localmkl.kernels import RBF, Linear
    >>> X = np.arange(8.0).reshape(4, 2)
    >>> cross = CrossGrams(fit_kernels([Linear(), RBF()], X), X[:1], X)
    >>> cross.n_kernels, cross.shape
    (2, (1, 4))
    """

    def __init__(
        self, kernels: Sequence[Kernel], X: Rows, Y: Rows, known: Stack | None = None, device: Device = None
    ) -> None:
        self.kernels, self.X, self.Y, self.known, self.device = kernels, X, Y, known, device
        self.n_kernels = len(kernels)
        self.shape = (_count(X), _count(Y))
        self._group = {m: members for members in sweeps(kernels) for m in members}
        self._waiting: dict[int, Floats] = {}
        self._waiting_for: tuple[Picked, ...] = ()

    def block(self, m: int, rows: Picked = slice(None), columns: Picked = slice(None)) -> Floats:
        """Return a part of the m-th Gram; negative numbers count from the last."""
        m %= self.n_kernels
        if self.known is not None:
            return self.known.block(m, rows, columns)
        if not _same_block(self._waiting_for, (rows, columns)):
            self._waiting, self._waiting_for = {}, (rows, columns)
        if m in self._waiting:
            return self._waiting.pop(m)
        X, Y = take_rows(self.X, rows), take_rows(self.Y, columns)
        n_rows, n_columns = _count(X), _count(Y)
        if n_columns == 0:  # a model without support vectors asks for no columns, kernels for some
            return np.zeros((n_rows, 0))
        members = [one for one in self._group[m] if one not in self._waiting]
        entries = (len(self._waiting) + len(members)) * n_rows * n_columns
        if len(members) == 1 or entries > SHARED_ENTRIES:
            gram = self.kernels[m](X, Y)
            # Who asks may multiply it in place: what others return may be theirs, or no floating point.
            return gram if _is_ours(self.kernels[m]) else np.array(gram, dtype=np.float64)
        grams = np.empty((len(members), n_rows, n_columns))
        together = [self.kernels[one] for one in members]
        together[0].write_together(together, X, Y, grams, range(len(members)))
        self._waiting.update(zip(members, grams, strict=True))
        return self._waiting.pop(m)

    def matrix(self, m: int, rows: Picked = slice(None), columns: Picked = slice(None)) -> Matrix:
        """Return a part of the m-th Gram, wherever it is computed, to be multiplied with arrays."""
        m %= self.n_kernels
        if self.known is not None:
            return self.known.matrix(m, rows, columns)
        X, Y = take_rows(self.X, rows), take_rows(self.Y, columns)
        if self.device is None or _count(Y) == 0:
            return self.block(m, rows, columns)
        from localmkl.kernels.on_device import cross_matrix

        return cross_matrix(self.kernels[m], X, Y, self.device)

    @property
    def threadable(self) -> bool:
        """Whether blocks may be asked for by several threads at once."""
        if self.known is not None:
            return type(self.known) is GramStack
        return self.device is None and all(threadable(kernel) for kernel in self.kernels)

    def diagonals(self) -> Floats:
        """Return ``k_m(x, x)`` of the new rows, (n_kernels, n_rows)."""
        if self.known is not None:
            return self.known.diagonals()
        return np.stack([kernel.diag(self.X) for kernel in self.kernels])


def fit_kernels(
    kernels: Sequence[Kernel | Callable[..., Any]], X: Rows, sample_weight: Floats | None = None
) -> list[Kernel]:
    """Return fitted copies of `kernels`; plain functions become `CallableKernel`.

    Parameters
    ----------
    kernels : list of Kernel or callable
        They stay as they are.
    X : rows
        Training rows.
    sample_weight : array-like of shape (n_samples,), optional
        A row of weight w counts as w equal rows.

    Returns
    -------
    list of Kernel
        In the same order.

    Examples
    --------
    >>> import numpy as np
    >>> from localmkl.kernels import RBF
    >>> fit_kernels([RBF("median")], np.array([[0.0], [2.0]]))[0].gamma_
    0.25
    """
    if isinstance(kernels, Kernel) or callable(kernels) or not isinstance(kernels, list | tuple):
        raise ValueError(
            f"`kernels` must be a list of kernels, 'precomputed' or None, got {kernels!r}; "
            "put a single kernel into a list."
        )
    if len(kernels) == 0:
        raise ValueError("`kernels` must name at least one kernel, got an empty list.")
    return [fit_kernel(kernel, X, sample_weight) for kernel in kernels]


def fit_kernel(kernel: Kernel | Callable[..., Any], X: Rows, sample_weight: Floats | None = None) -> Kernel:
    """Return a fitted copy of one kernel or plain function."""
    check_kernel(kernel)
    if not isinstance(kernel, Kernel):
        return CallableKernel(kernel)
    own: Kernel = clone(kernel)
    if callable(columns := getattr(own, "columns", None)):  # chosen once: new rows may have other types
        own.set_params(columns=columns(X))
    return own.fit(X, sample_weight)


def check_kernel(kernel: Any) -> None:
    """Raise unless it is a kernel or a plain function."""
    if isinstance(kernel, Kernel) or (callable(kernel) and not isinstance(kernel, type)):
        return
    hint = f"; write {kernel.__name__}()" if isinstance(kernel, type) else ""
    raise ValueError(
        "A kernel must be an instance of one in `localmkl.kernels` or a function f(X, Y), "
        f"got {kernel!r}{hint}."
    )


def compute_stack(
    kernels: Sequence[Kernel], X: Rows, *, out: Floats | None = None, known: Container[int] = ()
) -> GramStack:
    """Return the checked `GramStack` of fitted `kernels` on the rows of `X`.

    Parameters
    ----------
    kernels : list of Kernel
        As `fit_kernels` returns them.
    X : rows
        Training rows.
    out : ndarray of shape (n_kernels, n_rows, n_rows), optional
        Where to write the Grams, in memory or in a memory map.
    known : container of int
        The numbers of the Grams that `out` holds already.

    Returns
    -------
    GramStack
        Square, float64.

    Examples
    --------
    >>> import numpy as np
    >>> from localmkl.kernels import Linear
    >>> X = np.array([[0.0], [2.0]])
    >>> compute_stack(fit_kernels([Linear()], X), X)
    GramStack(1 kernels, 2 x 2, float64)
    """
    n_samples = _count(X)
    if out is None:
        require_memory(
            computing_bytes(len(kernels), n_samples),
            f"Computing {len(kernels)} Grams of {n_samples} x {n_samples}",
        )
    grams = np.empty((len(kernels), n_samples, n_samples)) if out is None else out
    for sweep in sweeps(kernels):
        members = [m for m in sweep if m not in known]
        if members:
            with _quiet(kernels[members[0]]):
                _write(kernels, members, X, grams)
    stack = GramStack(grams)
    if all(kernel.finite for kernel in kernels):  # counts: nothing to look for
        stack.vouch("finite")
    if all(_is_ours(kernel) for kernel in kernels):
        stack.vouch("symmetric")
    try:
        stack.check_training()
    except ValueError as error:
        _say_too_large(kernels, grams, error)
        raise
    return stack


def _write(kernels: Sequence[Kernel], members: list[int], X: Rows, grams: Floats) -> None:
    """Write the Grams of kernels that are computed together."""
    m, n_samples = members[0], _count(X)
    if len(members) > 1 or _writes_in_place(kernels[m]):
        together = [kernels[one] for one in members]
        together[0].write_together(together, X, None, grams, members)
        return
    gram = kernels[m](X)
    if np.shape(gram) != (n_samples, n_samples):
        raise ValueError(
            f"`kernels[{m}]` must return shape ({n_samples}, {n_samples}) for {n_samples} rows, "
            f"got {np.shape(gram)}."
        )
    grams[m] = gram


def _quiet(kernel: Kernel) -> AbstractContextManager[Any]:
    """Return what keeps NumPy from warning while one of our kernels overflows: that is said afterwards."""
    return np.errstate(over="ignore", invalid="ignore") if _is_ours(kernel) else nullcontext()


def _say_too_large(kernels: Sequence[Kernel], grams: Floats, error: Exception) -> None:
    """Raise if a Gram of one of our kernels is not finite, which the cells that it read were."""
    for m, kernel in enumerate(kernels):
        if _is_ours(kernel) and not np.isfinite(grams[m]).all():
            raise ValueError(
                f"The numbers are too large for `kernels[{m}]`, {getattr(kernel, 'kernel', kernel)!r}: its "
                "values overflow; scale the columns."
            ) from error


def sweeps(kernels: Sequence[Kernel]) -> list[list[int]]:
    """Return the numbers of the kernels that are computed together, in order of first appearance."""
    groups: dict[Hashable, list[int]] = {}
    for m, kernel in enumerate(kernels):
        key = kernel.sweep_key()
        groups.setdefault(("alone", m) if key is None else (type(kernel), key), []).append(m)
    return list(groups.values())


def threadable(kernel: Kernel) -> bool:
    """Whether a kernel may be computed by several threads at once, each with rows of its own.

    Ours on numeric columns may. Those of sequences have threads of their own, and what other people write may
    keep something between calls.
    """
    inner = getattr(kernel, "kernel_", kernel)
    return _is_ours(kernel) and isinstance(inner, VectorKernel) and kernel.sweep_key() is None


def learn_factors(
    kind: str | None, stack: Stack, sample_weight: Floats | None = None, shares: Floats | float = 1.0
) -> Floats:
    """Return the factor of each kernel, (n_kernels,), learned on a training stack.

    A kernel without variance (all rows alike in it) keeps factor one. `shares` are those of the samples that
    have its view: the others have zeros in it, which do not count.
    """
    _checks.check_option("normalize", kind, NORMALIZATIONS)
    if kind is None or kind == "cosine":
        return np.ones(stack.n_kernels)
    weights = np.ones(stack.shape[0]) if sample_weight is None else sample_weight
    weights = weights / weights.sum()
    mean = stack.norms(weights[:, None])[0] if kind == "multiplicative" else np.zeros(stack.n_kernels)
    return factors_of(stack.traces(weights) / shares, mean / np.square(shares))


def shares_present(kernels: Sequence[Kernel], X: Rows, sample_weight: Floats | None = None) -> Floats | float:
    """Return the share, by weight, of samples that have the view of each kernel; one where there are none."""
    if not isinstance(X, Views):
        return 1.0
    return np.array([np.average(X.present(kernel.view), weights=sample_weight) for kernel in kernels])


def factors_of(mean_diagonal: Floats, mean_norms: Floats) -> Floats:
    """Return the factor of each kernel, given its mean diagonal and what its spread leaves out of that."""
    spread = mean_diagonal - mean_norms
    alive = spread > 1e-12 * np.abs(mean_diagonal)
    return np.divide(1.0, spread, out=np.ones(len(spread)), where=alive)


def cosine_stack(stack: Any, *, in_place: bool) -> Any:
    """Return a training stack divided by the square roots of its diagonals.

    Without `in_place` the stack's rows are copied: it belongs to the caller.
    """
    return stack.divided(cosine_scales(stack.diagonals()), in_place=in_place)


def take_rows(X: Rows, rows: Picked) -> Rows:
    """Return rows (a slice or indices) of an array, list or data frame."""
    if isinstance(rows, slice) and rows == slice(None):
        return X
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows]


def _same_block(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether two pairs of rows and columns (slices or indices) are the same."""
    return len(one) == len(other) and all(
        a == b if isinstance(a, slice) and isinstance(b, slice) else np.array_equal(a, b)
        for a, b in zip(one, other, strict=True)
        if a is not b
    )


def _writes_in_place(kernel: Kernel) -> bool:
    return type(kernel).write is not Kernel.write


def _is_ours(kernel: Kernel) -> bool:
    """Whether the kernel, or the one inside a view's, is positive semidefinite by construction."""
    ours = type(kernel).__module__.startswith("localmkl.") and not isinstance(kernel, CallableKernel)
    return ours and (not hasattr(kernel, "kernel_") or _is_ours(kernel.kernel_))


def _count(X: Rows) -> int:
    return X.shape[0] if hasattr(X, "shape") else len(X)


@dataclass(frozen=True)
class NormalizedGrams:
    """Grams (given or computed on demand) seen through a normalisation.

    Parameters
    ----------
    source : GramStack or CrossGrams
    factors : ndarray of shape (n_kernels,)
    row_scales, column_scales : ndarray of shape (n_kernels, n) or None
        The cosine normalisation of rows and columns.
    notes : dict or None
        Where results about blocks of rows are kept, for rows that will come again.
    """

    source: Stack | CrossGrams
    factors: Floats
    row_scales: Floats | None = None
    column_scales: Floats | None = None
    notes: dict[Any, Any] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(number of rows, number of columns)."""
        return self.source.shape

    def block(self, m: int, rows: Picked = slice(None), columns: Picked = slice(None)) -> Floats:
        """Return a part of the m-th normalised Gram."""
        part = self.source.block(m, rows, columns)
        part *= self.factors[m]
        if self.row_scales is not None:
            part *= self.row_scales[m, rows][:, None]
        if self.column_scales is not None:
            part *= self.column_scales[m, columns]
        return part

    def matrix(self, m: int, rows: Picked = slice(None), columns: Picked = slice(None)) -> Matrix:
        """Return a part of the m-th normalised Gram, wherever it is, to be multiplied with arrays."""
        if not self.on_device:
            return self.block(m, rows, columns)
        left = None if self.row_scales is None else self.row_scales[m, rows]
        right = None if self.column_scales is None else self.column_scales[m, columns]
        part = self.source.matrix(m, rows, columns)
        return (
            self.block(m, rows, columns)
            if isinstance(part, np.ndarray)
            else part.scaled(self.factors[m], left, right)
        )

    def product(self, m: int, rows: Picked, columns: Picked, vectors: Floats) -> Floats:
        """Return a part of the m-th normalised Gram times some vectors, (n_rows, n_vectors).

        The normalisation is multiplied into the vectors and the answer: both are smaller than the Gram.
        """
        scaled = self.factors[m] * vectors
        if self.column_scales is not None:
            scaled *= self.column_scales[m, columns][:, None]
        product = self.source.matrix(m, rows, columns) @ scaled
        if self.row_scales is not None:
            product *= self.row_scales[m, rows][:, None]
        return product

    @property
    def threadable(self) -> bool:
        """Whether blocks may be asked for by several threads at once."""
        return (
            self.source.threadable if isinstance(self.source, CrossGrams) else type(self.source) is GramStack
        )

    @property
    def on_device(self) -> bool:
        """Whether Grams are computed or kept on a device."""
        known = getattr(self.source, "known", None)
        return (self.source if known is None else known).device is not None

    def note(self, rows: slice, make: Callable[[], T]) -> T:
        """Return what ``make()`` returned, now or before, for a block of rows."""
        if self.notes is None:
            return make()
        key = rows.start, rows.stop
        if key not in self.notes:
            self.notes[key] = make()
        return self.notes[key]

    def mean(self, rows: Picked = slice(None), columns: Picked = slice(None)) -> Matrix:
        """Return a part of the uniform combination of all kernels."""
        total = self.matrix(0, rows, columns)
        for m in range(1, len(self.factors)):
            total += self.matrix(m, rows, columns)
        total /= len(self.factors)
        return total

    def diagonals(self) -> Floats:
        """Return the diagonals of the normalised kernels at the rows, (n_kernels, n_rows)."""
        known = self.source.diagonals() * self.factors[:, None]
        return known if self.row_scales is None else known * self.row_scales**2


class KernelStack(Stack):
    """The Grams of fitted kernels on some rows, computed whenever a part of them is read; nothing is kept.

    Parameters
    ----------
    kernels : list of Kernel
        Fitted kernels.
    X : rows
    scales : ndarray of shape (n_kernels, n_rows), optional
        The cosine normalisation of the rows.

    Examples
    --------
    >>> from localmkl.kernels import Linear
    >>> stack = KernelStack([Linear()], np.array([[1.0], [2.0], [3.0]]))
    >>> stack[[0, 2]].block(0)
    array([[1., 2., 3.],
           [3., 6., 9.]])
    """

    def __init__(self, kernels: Sequence[Kernel], X: Rows, scales: Floats | None = None) -> None:
        super().__init__()
        rows = X if hasattr(X, "shape") else np.asarray(X)
        ones = np.ones(len(kernels))
        self.normalized = NormalizedGrams(CrossGrams(kernels, rows, rows), ones, scales, scales)
        self.vouch("finite", "symmetric")  # it would be computed once more to look at it

    @property
    def n_kernels(self) -> int:
        """Number of kernels."""
        return len(self.normalized.factors)

    @property
    def whole_shape(self) -> tuple[int, int]:
        """Number of rows, twice."""
        return self.normalized.shape

    def read(self, m: int, rows: Ints | None, columns: Ints | None) -> Floats:
        """Compute a part of the m-th Gram; kernels of one sweep are computed together."""
        return self.normalized.block(m, *(slice(None) if one is None else one for one in (rows, columns)))

    def whole_diagonals(self) -> Floats:
        """Return ``k_m(x, x)`` of all rows, (n_kernels, n_rows)."""
        return self.normalized.diagonals()
