"""Kernel principal components of the gate kernel: rows as points of few coordinates.

    kc(x, x') = <phi(x) - m, phi(x') - m>,   m = sum_i a_i phi(x_i),   a = w / sum(w)
    z_r(x)    = sum_i G_ir kc(x, x_i),       G_r = sqrt(w) * v_r / sqrt(s_r)

(s_r, v_r) are the leading eigenpairs of sqrt(w_i w_k) kc(x_i, x_k). Since v_r is orthogonal to sqrt(w), the
columns of G sum to zero, and z(x) = k0(x, .) @ G - sum_i a_i k0(x_i, .) @ G.
"""

from __future__ import annotations

from dataclasses import dataclass
from inspect import signature

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackError, eigsh

from localmkl._types import Floats

RANK = 1e-10
"""Share of the largest eigenvalue below which directions are rounding."""

ITERATIVE = 8
"""Rows per component from which on Lanczos steps are faster than a whole factorisation."""

SEEDED = {"rng": 0} if "rng" in signature(eigsh).parameters else {}
"""A seed, where SciPy draws at random when its search for a vector begins again."""


@dataclass(frozen=True)
class Components:
    """Leading kernel principal components of the rows of a Gram.

    Parameters
    ----------
    directions : ndarray of shape (n, r)
        G: what cross-Grams are multiplied by.
    shifts : ndarray of shape (r,)
        What is added then.
    values : ndarray of shape (n, r)
        The components of the rows themselves.
    explained : float
        Share of the rows' variance that the components hold.
    """

    directions: np.ndarray
    shifts: np.ndarray
    values: np.ndarray
    explained: float


def kernel_components(gram: Floats, weights: Floats, n_components: int | None = None) -> Components:
    """Return the leading kernel principal components of some rows.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
    weights : ndarray of shape (n,)
        A row of weight w counts as w equal rows; none is zero.
    n_components : int or None
        Most components; None for all.

    Returns
    -------
    Components

    Examples
    --------
    >>> x = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 1.0], [3.0, 1.0]])
    >>> found = kernel_components(x @ x.T, np.ones(4))
    >>> np.abs(found.values).round(6).tolist()
    [[1.5, 0.5], [1.5, 0.5], [1.5, 0.5], [1.5, 0.5]]
    """
    shares = weights / weights.sum()
    means = gram @ shares
    roots = np.sqrt(weights)
    centred = gram - means - means[:, None]
    centred += shares @ means
    total = float(centred.diagonal() @ weights)
    centred *= roots
    centred *= roots[:, None]
    sizes, vectors = _leading(centred, n_components)
    kept = sizes > RANK * max(sizes.max(), float(gram.diagonal() @ weights) * np.finfo(float).eps)
    if not kept.any():  # all rows are the same
        nothing = np.zeros((len(gram), 1))
        return Components(nothing, nothing[0], nothing, 1.0)
    sizes, vectors = sizes[kept], vectors[:, kept]
    directions = roots[:, None] * vectors / np.sqrt(sizes)
    directions -= shares[:, None] * directions.sum(axis=0)
    shifts = -(means @ directions)
    values = vectors * np.sqrt(sizes) / roots[:, None]
    return Components(directions, shifts, values, float(sizes.sum() / total))


def _leading(matrix: Floats, n_components: int | None) -> tuple[Floats, Floats]:
    """Return the largest eigenvalues and their vectors, in falling order; the same for the same matrix."""
    n = len(matrix)
    wanted = n if n_components is None else min(n_components, n)
    if wanted * ITERATIVE < n:
        try:
            sizes, vectors = eigsh(matrix, k=wanted, v0=np.cos(np.arange(n)), which="LA", **SEEDED)
            return sizes[::-1], vectors[:, ::-1]
        except ArpackError:  # the matrix is zero, or its eigenvalues are too much alike
            pass
    sizes, vectors = eigh(matrix, subset_by_index=[n - wanted, n - 1])
    return sizes[::-1], vectors[:, ::-1]
