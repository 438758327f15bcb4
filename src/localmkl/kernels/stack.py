"""Gram stacks: computed from raw data, or given; and their normalisations.

    multiplicative   K / (mean diag K - mean K)       unit variance in feature space
    trace            K / (trace K / n)
    cosine           k(x, y) / sqrt(k(x, x) k(y, y))

The first two are one factor per kernel. It is learned on the training rows, kept beside the stack and
multiplied into the kernel weights, so that no stack is ever rescaled or copied for them.
"""

import uuid
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from localmkl import _checks
from localmkl._resources import computing_bytes, matrix_bytes, require_memory
from localmkl.backends import load
from localmkl.kernels.vectors import CallableKernel, Kernel

NORMALIZATIONS = ("multiplicative", "trace", "cosine", None)

SHARED_ENTRIES = 2**25
"""Most numbers that cross-Grams computed in one sweep hold at a time."""


class GramStack:
    """Precomputed Gram matrices that behave like a table of rows to scikit-learn.

    Pass it as `X` to an estimator with ``kernels="precomputed"``: the square stack of the training
    rows to ``fit``, the cross-Grams between new and training rows to ``predict``. Slicing, as
    cross-validation does it, only notes which rows and columns are meant: the numbers stay where
    they are, in memory or in a memory map.

    Parameters
    ----------
    grams : array-like of shape (n_kernels, n_rows, n_columns), or a list of matrices
        Arrays of float32 and float64 are used as they are.
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

    def __init__(self, grams, diagonals=None):
        self.grams = _checks.check_grams(grams)
        self.rows = None
        self.columns = None
        self.origin = uuid.uuid4().hex
        self._diagonals = None if diagonals is None else np.asarray(diagonals, dtype=np.float64)
        self._verdicts: set[str] = set()  # checks passed, shared by all slices
        expected = self.grams.shape[:2]
        if self._diagonals is not None and self._diagonals.shape != expected:
            raise ValueError(
                f"`diagonals` must have shape (n_kernels, n_rows) = {expected}, got {self._diagonals.shape}."
            )

    @classmethod
    def open(cls, path):
        """Open an ``.npy`` file of shape (n_kernels, n_rows, n_columns) as a memory map."""
        try:
            grams = np.lib.format.open_memmap(path, mode="r")
        except ValueError as error:
            raise ValueError(
                f"{str(path)!r} must be an .npy file of numbers, as `numpy.save` writes it ({error})."
            ) from error
        return cls(grams)

    @property
    def n_kernels(self):
        """Number of kernels."""
        return self.grams.shape[0]

    @property
    def shape(self):
        """(number of rows, number of columns)."""
        n_rows = self.grams.shape[1] if self.rows is None else len(self.rows)
        n_columns = self.grams.shape[2] if self.columns is None else len(self.columns)
        return n_rows, n_columns

    ndim = 2

    @property
    def dtype(self):
        """Type of the numbers."""
        return self.grams.dtype

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        n_rows, n_columns = self.shape
        return f"GramStack({self.n_kernels} kernels, {n_rows} x {n_columns}, {self.dtype})"

    def __array__(self, dtype=None, copy=None):
        """Refuse: code that wants one matrix would misread a stack of them."""
        raise TypeError(
            "A `GramStack` is not an array; pass it to an estimator of localmkl with "
            "`kernels='precomputed'`, or call its `to_array()`."
        )

    def __getitem__(self, key):
        """Return the stack of some rows, or rows and columns; nothing is copied."""
        key = tuple(part for part in key if part is not ...) if isinstance(key, tuple) else (key,)
        if len(key) > 2:
            raise IndexError(f"A `GramStack` has rows and columns, got {len(key)} indices.")
        rows, columns = (*key, slice(None))[:2]
        sliced = object.__new__(GramStack)
        sliced.__dict__.update(self.__dict__)
        sliced.rows = _pick(self.rows, rows, self.grams.shape[1])
        sliced.columns = _pick(self.columns, columns, self.grams.shape[2])
        return sliced

    def block(self, m, rows=slice(None), columns=slice(None)):
        """Return a copy of a part of the m-th Gram as float64."""
        part, gram = self[rows, columns], self.grams[m]
        if part.rows is None and part.columns is None:
            return np.array(gram, dtype=np.float64)
        if part.columns is None:
            picked = gram[part.rows]
        elif part.rows is None or 4 * len(part.columns) > gram.shape[1]:  # whole rows are quickly copied
            picked = (gram if part.rows is None else gram[part.rows]).take(part.columns, axis=1)
        else:
            picked = gram[part.rows[:, None], part.columns]
        return np.asarray(picked, dtype=np.float64)

    def column_numbers(self):
        """Return which columns of the whole stack this slice has."""
        return np.arange(self.grams.shape[2]) if self.columns is None else self.columns

    def with_columns(self, numbers):
        """Return the slice with these columns of the whole stack only; itself, if it has not all of them.

        Tools that slice rows alone leave all columns there.
        """
        own = self.column_numbers()
        order = np.argsort(own, kind="stable")
        places = np.searchsorted(own, numbers, sorter=order)
        if len(own) <= len(numbers) or not np.array_equal(own[order[places % len(own)]], numbers):
            return self
        return self[:, order[places]]

    def training_part(self):
        """Return the slice with its rows as columns; itself, if it has not all of them."""
        return self if self.rows is None else self.with_columns(self.rows)

    def to_array(self):
        """Return the stack as a new array of shape (n_kernels, n_rows, n_columns)."""
        require_memory(
            self.n_kernels * matrix_bytes(*self.shape),
            f"A copy of {self.n_kernels} Grams of {self.shape[0]} x {self.shape[1]}",
        )
        array = np.empty((self.n_kernels, *self.shape))
        for m in range(self.n_kernels):
            array[m] = self.block(m)
        return array

    def diagonals(self):
        """Return ``k_m(x, x)`` of the rows, (n_kernels, n_rows)."""
        if self._diagonals is not None:
            known = self._diagonals
        elif self.grams.shape[1] == self.grams.shape[2] and "symmetric" in self._verdicts:
            known = np.einsum("mii->mi", self.grams)
        else:
            raise ValueError(
                "The diagonal k(x, x) of these rows is not known from cross-Grams; pass it as "
                "`GramStack(grams, diagonals=...)`."
            )
        return np.asarray(known if self.rows is None else known[:, self.rows], dtype=np.float64)

    def check_training(self):
        """Raise unless this is the square, symmetric, finite stack of some training rows."""
        n_rows, n_columns = self.shape
        same = n_rows == n_columns and np.array_equal(
            _pick(self.rows, slice(None), n_rows, always=True),
            _pick(self.columns, slice(None), n_columns, always=True),
        )
        if not same:
            raise ValueError(
                f"`grams[0]` must be square with the same samples as rows and columns, got shape "
                f"({n_rows}, {n_columns}); pass cross-Grams to `predict`, not to `fit`."
            )
        self.check_finite()
        if "symmetric" not in self._verdicts:
            _checks.check_training_grams(self.grams)
            self._verdicts.add("symmetric")

    def check_finite(self):
        """Raise if the stack holds NaN or infinity; looked at once for all slices."""
        if "finite" not in self._verdicts:
            _checks.check_finite_grams(self.grams)
            self._verdicts.add("finite")


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
    """

    def __init__(self, kernels, X, Y, known=None):
        self.kernels, self.X, self.Y, self.known = kernels, X, Y, known
        self.n_kernels = len(kernels)
        self.shape = (_count(X), _count(Y))
        self._group = {m: members for members in sweeps(kernels) for m in members}
        self._waiting: dict[int, np.ndarray] = {}
        self._waiting_for: tuple = ()

    def block(self, m, rows=slice(None), columns=slice(None)):
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
            return self.kernels[m](X, Y)
        grams = np.empty((len(members), n_rows, n_columns))
        together = [self.kernels[one] for one in members]
        together[0].write_together(together, X, Y, grams, range(len(members)))
        self._waiting.update(zip(members, grams, strict=True))
        return self._waiting.pop(m)

    def diagonals(self):
        """Return ``k_m(x, x)`` of the new rows, (n_kernels, n_rows)."""
        if self.known is not None:
            return self.known.diagonals()
        return np.stack([kernel.diag(self.X) for kernel in self.kernels])


def fit_kernels(kernels, X, sample_weight=None):
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


def fit_kernel(kernel, X, sample_weight=None):
    """Return a fitted copy of one kernel or plain function."""
    if isinstance(kernel, Kernel):
        return clone(kernel).fit(X, sample_weight)
    if callable(kernel) and not isinstance(kernel, type):
        return CallableKernel(kernel)
    hint = f"; write {kernel.__name__}()" if isinstance(kernel, type) else ""
    raise ValueError(
        "A kernel must be an instance of one in `localmkl.kernels` or a function f(X, Y), "
        f"got {kernel!r}{hint}."
    )


def compute_stack(kernels, X, *, out=None, known=()):
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
        if not members:
            continue
        if len(members) == 1 and not _writes_in_place(kernels[members[0]]):
            m = members[0]
            gram = kernels[m](X)
            if np.shape(gram) != (n_samples, n_samples):
                raise ValueError(
                    f"`kernels[{m}]` must return shape ({n_samples}, {n_samples}) for {n_samples} rows, "
                    f"got {np.shape(gram)}."
                )
            grams[m] = gram
        else:
            together = [kernels[m] for m in members]
            together[0].write_together(together, X, None, grams, members)
    stack = GramStack(grams)
    if all(kernel.finite for kernel in kernels):  # counts: nothing to look for
        stack._verdicts.add("finite")
    stack.check_finite()
    if not all(_is_ours(kernel) for kernel in kernels):
        stack.check_training()
    stack._verdicts.add("symmetric")
    return stack


def sweeps(kernels):
    """Return the numbers of the kernels that are computed together, in order of first appearance."""
    groups: dict = {}
    for m, kernel in enumerate(kernels):
        key = kernel.sweep_key()
        groups.setdefault(("alone", m) if key is None else (type(kernel), key), []).append(m)
    return list(groups.values())


def learn_factors(kind, stack, sample_weight=None):
    """Return the factor of each kernel, (n_kernels,), learned on a training stack.

    A kernel without variance (all rows alike in it) keeps factor one.
    """
    _checks.check_option("normalize", kind, NORMALIZATIONS)
    if kind is None or kind == "cosine":
        return np.ones(stack.n_kernels)
    weights = np.ones(stack.shape[0]) if sample_weight is None else sample_weight
    weights = weights / weights.sum()
    mean_diagonal = stack.diagonals() @ weights
    spread = mean_diagonal
    if kind == "multiplicative":
        mean = load().block_norms(stack.grams, stack.rows, weights[:, None])[0]
        spread = mean_diagonal - mean
    alive = spread > 1e-12 * np.abs(mean_diagonal)
    return np.divide(1.0, spread, out=np.ones(stack.n_kernels), where=alive)


def cosine_stack(stack, *, in_place):
    """Return a training stack divided by the square roots of its diagonals.

    Without `in_place` the stack's rows are copied: it belongs to the caller.
    """
    scales = cosine_scales(stack.diagonals())
    grams = stack.grams if in_place else stack.to_array()
    for m in range(stack.n_kernels):
        grams[m] *= scales[m][:, None]
        grams[m] *= scales[m]
    result = GramStack(grams)
    result._verdicts |= {"finite", "symmetric"}
    return result


def cosine_scales(diagonals):
    """Return ``1 / sqrt(k(x, x))``; zero where the diagonal vanishes."""
    alive = diagonals > 0.0
    return np.divide(
        1.0,
        np.sqrt(diagonals, where=alive, out=np.ones_like(diagonals)),
        where=alive,
        out=np.zeros_like(diagonals),
    )


def take_rows(X, rows):
    """Return rows (a slice or indices) of an array, list or data frame."""
    if isinstance(rows, slice) and rows == slice(None):
        return X
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows]


def _same_block(one, other):
    """Whether two pairs of rows and columns (slices or indices) are the same."""
    return len(one) == len(other) and all(
        a == b if isinstance(a, slice) and isinstance(b, slice) else np.array_equal(a, b)
        for a, b in zip(one, other, strict=True)
        if a is not b
    )


def _writes_in_place(kernel):
    return type(kernel).write is not Kernel.write


def _is_ours(kernel):
    """Whether the kernel is symmetric and positive semidefinite by construction."""
    ours = type(kernel).__module__.startswith("localmkl.")
    return ours and not isinstance(kernel, CallableKernel)


def _count(X):
    return X.shape[0] if hasattr(X, "shape") else len(X)


def _pick(current, key, size, *, always=False):
    """Compose an index: `key` applied to `current` (None: all `size`)."""
    if not isinstance(key, slice):
        key = np.asarray(key).ravel()
        key = key if key.size else key.astype(np.intp)  # [] is an array of floats
    if not always and isinstance(key, slice) and key == slice(None):
        return current
    base = np.arange(size) if current is None else current
    return base[key]


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

    source: "GramStack | CrossGrams"
    factors: np.ndarray
    row_scales: np.ndarray | None = None
    column_scales: np.ndarray | None = None
    notes: dict | None = None

    @property
    def shape(self):
        """(number of rows, number of columns)."""
        return self.source.shape

    def block(self, m, rows=slice(None), columns=slice(None)):
        """Return a part of the m-th normalised Gram."""
        part = self.source.block(m, rows, columns)
        part *= self.factors[m]
        if self.row_scales is not None:
            part *= self.row_scales[m, rows][:, None]
        if self.column_scales is not None:
            part *= self.column_scales[m, columns]
        return part

    def note(self, rows, make):
        """Return what ``make()`` returned, now or before, for a block of rows."""
        if self.notes is None:
            return make()
        key = rows.start, rows.stop
        if key not in self.notes:
            self.notes[key] = make()
        return self.notes[key]

    def mean(self, rows=slice(None), columns=slice(None)):
        """Return a part of the uniform combination of all kernels."""
        total = self.block(0, rows, columns)
        for m in range(1, len(self.factors)):
            total += self.block(m, rows, columns)
        total /= len(self.factors)
        return total

    def diagonals(self):
        """Return the diagonals of the normalised kernels at the rows, (n_kernels, n_rows)."""
        known = self.source.diagonals() * self.factors[:, None]
        return known if self.row_scales is None else known * self.row_scales**2
