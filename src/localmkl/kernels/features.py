"""Features of kernels: a few numbers phi_m(x) for each row whose products are the kernel, or nearly so.

    explicit   k(x, y) = phi(x)'phi(y)                                        `Kernel.features`, where few
    Nystrom    phi(x) = L^(-1/2) U' k(Z, x),   K(Z, Z) = U L U'               Z: landmarks, some training rows

Nystrom's are the features of the kernel's projection onto the span of its landmarks. So K - Phi Phi' is
positive semidefinite, it vanishes where one of two rows is a landmark, and what it leaves out of a kernel is
known from the diagonal alone: sum_i k(x_i, x_i) - ||phi(x_i)||^2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.random import RandomState
from scipy import sparse
from sklearn.utils import check_array, check_random_state

from localmkl._checks import check_integer, check_option
from localmkl._resources import matrix_bytes, require_memory
from localmkl._sklearn import count_rows, take
from localmkl._types import Floats, Ints, Rows, Seed
from localmkl.kernels.frames import are_apart, put_together, take_apart
from localmkl.kernels.stack import CrossGrams, compute_stack, take_rows
from localmkl.kernels.vectors import Kernel
from localmkl.stacks import cosine_scales
from localmkl.views import Views

LANDMARKS = ("random", "kmeans")

DROPPED = 1e-12
"""Eigenvalues of a landmarks' Gram up to this share of the largest one are left out. A feature is a sum with
errors of 1e-16 of the largest, divided by the root of its own: so none is off by more than 1e-10."""

BLOCK_ENTRIES = 2**22
"""Numbers of all kernels that a block of rows is computed with: 32 MB, a few of which are held."""

BLOCK_ROWS = 64
"""Fewer rows at a time are not worth a call of a kernel, however many landmarks there are."""

KMEANS_ROWS = 2**13
"""Most rows, evenly drawn, that k-means looks for landmarks among, unless more landmarks are asked for."""

KMEANS_STEPS = 20
"""Most steps of k-means: landmarks need not be at its optimum."""

CHECKED_ROWS = 8
"""Rows on which features that others wrote must have the products of their kernel."""


@dataclass(frozen=True, eq=False, repr=False)
class FeatureMap:
    """The features of several kernels, for any rows.

    Made by `fit_features`. The columns of the m-th kernel come after those of the kernels before it.

    Parameters
    ----------
    kernels : list of Kernel
        Fitted kernels.
    widths : list of int
        Number of features of each kernel.
    roots : list of ndarray of shape (n_landmarks, width) or None
        ``U L^(-1/2)`` of each kernel; None where its features are explicit.
    landmarks : rows or None
        The training rows that kernels are compared with; None if all features are explicit.
    cosine : bool
        Whether kernels are divided by ``sqrt(k(x, x) k(y, y))``.

    Examples
    --------
    >>> import numpy as np
    >>> from localmkl.kernels import RBF, Linear, fit_features, fit_kernels
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> features = fit_features(fit_kernels([Linear(), RBF()], X), X, 50, random_state=0)
    >>> features
    FeatureMap(2 kernels, 52 features, 50 landmarks)
    >>> phi = features.transform(X)
    >>> phi.shape, phi.dtype
    ((200, 52), dtype('float32'))
    >>> lost_shares(phi, features.diagonals(X), features.widths).round(4)
    array([0.    , 0.0095])
    """

    kernels: list[Kernel]
    widths: list[int]
    roots: list[Floats | None]
    landmarks: Rows = None
    cosine: bool = False

    def __repr__(self) -> str:
        shown = f"FeatureMap({self.n_kernels} kernels, {self.n_features} features"
        return f"{shown}, {self.n_landmarks} landmarks)" if self.n_landmarks else f"{shown})"

    @property
    def n_kernels(self) -> int:
        """Number of kernels."""
        return len(self.kernels)

    @property
    def n_features(self) -> int:
        """Number of features of all kernels together."""
        return sum(self.widths)

    @property
    def n_landmarks(self) -> int:
        """Number of landmarks."""
        return 0 if self.landmarks is None else count_rows(self.landmarks)

    def transform(
        self,
        X: Rows,
        out: Floats | None = None,
        dtype: Any = np.float32,
        progress: Callable[[int, int], object] | None = None,
    ) -> Floats:
        """Return the features of rows, computed in float64, block by block.

        Parameters
        ----------
        X : rows
            As those that the map was made of.
        out : ndarray of shape (n_rows, n_features), optional
            Where to write them, in memory or in a memory map.
        dtype : dtype, default=np.float32
            Type of the result, if `out` does not have one.
        progress : callable, optional
            Called as ``progress(done_rows, all_rows)`` after each block.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            `out`, if that was given.
        """
        shape = count_rows(X), self.n_features
        if out is None:
            needed = matrix_bytes(*shape, itemsize=np.dtype(dtype).itemsize)
            require_memory(needed, f"Features of {shape[0]} rows", "use fewer components, or a memory map")
            out = np.empty(shape, dtype=dtype)
        elif out.shape != shape:
            raise ValueError(f"`out` must have shape (n_rows, n_features) = {shape}, got {out.shape}.")
        for rows in self._blocks(shape[0]):
            self._write(take_rows(X, rows), out[rows])
            if progress is not None:
                progress(rows.stop, shape[0])
        return out

    def diagonals(self, X: Rows) -> Floats:
        """Return ``k_m(x, x)`` of rows, block by block, (n_kernels, n_rows)."""
        out = np.empty((self.n_kernels, count_rows(X)))
        for rows in self._blocks(out.shape[1]):
            part = take_rows(X, rows)
            for own, kernel in zip(out, self.kernels, strict=True):
                own[rows] = kernel.diag(part)
        return np.where(out > 0.0, 1.0, 0.0) if self.cosine else out

    def columns(self) -> list[slice]:
        """Return the columns of each kernel, a list of slices."""
        return [slice(*ends) for ends in pairwise(np.cumsum([0, *self.widths]).tolist())]

    def _blocks(self, n_rows: int) -> list[slice]:
        n_compared = self.n_landmarks * sum(root is not None for root in self.roots)
        step = max(BLOCK_ROWS, BLOCK_ENTRIES // (n_compared + self.n_features))
        return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]

    def _write(self, X: Rows, out: Floats) -> None:
        """Write the features of a block of rows."""
        grams = CrossGrams(self.kernels, X, X if self.landmarks is None else self.landmarks)
        parts = zip(self.kernels, self.roots, self.columns(), strict=True)
        for m, (kernel, root, columns) in enumerate(parts):
            table = explicit_features(kernel, X) if root is None else grams.block(m) @ root
            if self.cosine:
                diagonal = np.einsum("ik,ik->i", table, table) if root is None else kernel.diag(X)
                table = table * cosine_scales(diagonal)[:, None]
            out[:, columns] = table

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with landmarks as plain arrays, for files without code."""
        state = dict(self.__dict__)
        if are_apart(self.landmarks):
            state |= {"landmarks": None, "frame": take_apart(self.landmarks)}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Put landmarks together again."""
        state = dict(state)
        parts = state.pop("frame", None)
        if parts is not None:
            state["landmarks"] = put_together(parts)
        self.__dict__.update(state)


def fit_features(
    kernels: Sequence[Kernel],
    X: Rows,
    n_components: int,
    *,
    sample_weight: Floats | None = None,
    landmarks: str = "random",
    random_state: Seed = None,
    cosine: bool = False,
) -> FeatureMap:
    """Return the `FeatureMap` of fitted kernels: explicit features where they are few, else Nystrom's.

    Parameters
    ----------
    kernels : list of Kernel
        As `fit_kernels` returns them.
    X : rows
        Training rows.
    n_components : int
        Most features of a kernel, and the number of landmarks, which are the same for all kernels. With as
        many as there are rows, the features are exact.
    sample_weight : array-like of shape (n_rows,), optional
        Rows of weight zero are no landmarks.
    landmarks : {"random", "kmeans"}, default="random"
        How landmarks are chosen: drawn at random, or the rows nearest to the centres of k-means (rows of
        numbers only).
    random_state : int, RandomState instance or None, default=None
        Seed of the choice.
    cosine : bool, default=False
        Divide each kernel by ``sqrt(k(x, x) k(y, y))``.

    Returns
    -------
    FeatureMap
        It has kernels and landmarks, no other training rows.

    Examples
    --------
    >>> from localmkl.kernels import Spectrum, WeightedDegree, fit_features, fit_kernels
    >>> X = ["ACGT", "ACGA", "TTGA", "TTGC", "AAAA"]
    >>> features = fit_features(fit_kernels([Spectrum(1), WeightedDegree(2)], X), X, 4, random_state=0)
    >>> features.widths, features.n_landmarks
    ([4, 4], 4)
    >>> features.transform(["AAGG"])[:, :4]
    array([[2., 0., 2., 0.]], dtype=float32)
    """
    check_integer("n_components", n_components, low=1)
    check_option("landmarks", landmarks, LANDMARKS)
    explicit = {m: width for m, kernel in enumerate(kernels) if (width := _width(kernel, X, n_components))}
    if len(explicit) == len(kernels):
        return FeatureMap(list(kernels), list(explicit.values()), [None] * len(kernels), None, cosine)
    rng = check_random_state(random_state)
    picked = _pick_landmarks(X, n_components, sample_weight, landmarks, rng)
    rows = take(X, picked)
    roots = _roots(kernels, rows, explicit, cosine)
    widths = [explicit[m] if root is None else root.shape[1] for m, root in enumerate(roots)]
    return FeatureMap(list(kernels), widths, roots, rows, cosine)


def explicit_features(kernel: Kernel, X: Rows) -> Floats:
    """Return the features that a kernel has by itself, as an array."""
    table = kernel.features(X)
    return table.toarray() if sparse.issparse(table) else np.asarray(table, dtype=np.float64)


def lost_shares(features: Floats, diagonals: Floats, widths: Sequence[int]) -> Floats:
    """Return the share of each kernel's trace that its features leave out, (n_kernels,).

        sum_i (k_m(x_i, x_i) - ||phi_m(x_i)||^2) / sum_i k_m(x_i, x_i)

    Parameters
    ----------
    features : ndarray of shape (n_rows, n_features)
        In memory or in a memory map.
    diagonals : ndarray of shape (n_kernels, n_rows)
        ``k_m(x, x)`` of the same rows, as `FeatureMap.diagonals` returns them.
    widths : list of int
        Number of features of each kernel.

    Examples
    --------
    >>> phi = np.array([[1.0, 0.0, 3.0], [0.0, 1.0, 4.0]])
    >>> lost_shares(phi, np.array([[2.0, 2.0], [9.0, 16.0]]), [2, 1])
    array([0.5, 0. ])
    """
    step = max(1, BLOCK_ENTRIES // features.shape[1])
    squares = np.zeros(features.shape[1])
    for start in range(0, len(features), step):
        block = np.asarray(features[start : start + step], dtype=np.float64)
        squares += np.einsum("ik,ik->k", block, block)
    kept = np.add.reduceat(squares, np.cumsum([0, *widths[:-1]]))
    traces = diagonals.sum(axis=1)
    lost = np.divide(traces - kept, traces, out=np.zeros(len(traces)), where=traces > 0.0)
    return np.clip(lost, 0.0, 1.0)  # nothing is lost, but for rounding, where it is negative


def _width(kernel: Kernel, X: Rows, most: int) -> int | None:
    """Return the number of a kernel's explicit features; None if there are none, or more than `most`."""
    width = kernel.count_features(X)
    if width is None or width > most:
        return None
    if not type(kernel).__module__.startswith("localmkl."):
        _check_products(kernel, X)
    return int(width)


def _check_products(kernel: Kernel, X: Rows) -> None:
    few = take(X, np.arange(min(CHECKED_ROWS, count_rows(X))))
    table, gram = explicit_features(kernel, few), np.asarray(kernel(few))
    if not np.allclose(table @ table.T, gram, rtol=1e-6, atol=1e-6 * np.abs(gram).max()):
        raise ValueError(
            f"The products of `features` of {type(kernel).__name__} must be its Gram, on the first rows they "
            "are not; let it return None, and landmarks are used."
        )


def _roots(
    kernels: Sequence[Kernel], landmarks: Rows, explicit: dict[int, int], cosine: bool
) -> list[Floats | None]:
    """Return ``U L^(-1/2)`` of each kernel's Gram on the landmarks; None for kernels that are explicit."""
    shape = len(kernels), count_rows(landmarks), count_rows(landmarks)
    require_memory(
        (2 * shape[0] + 3) * matrix_bytes(shape[1]),
        f"Features of {shape[0]} kernels with {shape[1]} landmarks",
        "use fewer components",
    )
    stack = compute_stack(kernels, landmarks, out=np.zeros(shape), known=explicit)
    scales = cosine_scales(stack.diagonals()) if cosine else np.ones(shape[:2])
    return [None if m in explicit else _root(stack.block(m), own) for m, own in enumerate(scales)]


def _root(gram: Floats, scales: Floats) -> Floats:
    """Return ``U L^(-1/2)`` of a Gram with its rows and columns scaled, largest first; zero if that is."""
    values, vectors = np.linalg.eigh(scales[:, None] * gram * scales)
    kept = np.flatnonzero(values > DROPPED * max(values[-1], 0.0))[::-1]
    if len(kept) == 0:
        return np.zeros((len(gram), 1))
    return np.ascontiguousarray(scales[:, None] * (vectors[:, kept] / np.sqrt(values[kept])))


def _pick_landmarks(
    X: Rows, n_components: int, sample_weight: Floats | None, how: str, rng: RandomState
) -> Ints:
    """Return the numbers of the rows that are landmarks, in order."""
    weights = np.ones(count_rows(X)) if sample_weight is None else np.asarray(sample_weight)
    rows = np.flatnonzero(weights > 0.0)
    if n_components > len(rows):
        kind = "rows" if len(rows) == len(weights) else "rows of positive weight"
        raise ValueError(
            f"`n_components` must be at most the number of training rows, got {n_components} for {len(rows)} "
            f"{kind}; choose {len(rows)} or fewer."
        )
    if n_components == len(rows):
        return rows
    if how == "random":
        return np.sort(rng.choice(rows, n_components, replace=False))
    return _nearest_to_centres(X, rows, n_components, weights, rng)


def _nearest_to_centres(X: Rows, rows: Ints, n_components: int, weights: Floats, rng: RandomState) -> Ints:
    """Return the rows nearest to the centres of k-means; where several centres have one, others drawn."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import pairwise_distances_argmin
    from sklearn.preprocessing import StandardScaler

    if sparse.issparse(X) or isinstance(X, Views):
        kind = "views" if isinstance(X, Views) else "sparse rows"
        raise ValueError(f"`landmarks` must be 'random' for {kind}, got 'kmeans'.")
    size = min(len(rows), max(KMEANS_ROWS, n_components))
    looked_at = np.sort(rng.choice(rows, size, replace=False))
    try:
        table = check_array(take(X, looked_at), dtype=np.float64)
    except ValueError as error:
        raise ValueError(
            "`landmarks` must be 'random' unless all columns are finite numbers, got 'kmeans' for other rows."
        ) from error
    table = StandardScaler().fit_transform(table, sample_weight=weights[looked_at])
    n_centres = min(n_components, len(np.unique(table, axis=0)))
    kmeans = KMeans(n_centres, n_init=1, max_iter=KMEANS_STEPS, random_state=rng)
    centres = kmeans.fit(table, sample_weight=weights[looked_at]).cluster_centers_
    found = np.unique(looked_at[pairwise_distances_argmin(centres, table)])
    others = rng.choice(np.setdiff1d(rows, found), n_components - len(found), replace=False)
    return np.sort(np.concatenate([found, others]))
