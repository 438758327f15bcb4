"""Decisions of convex models on new rows, from Grams that are read once.

    f_k(x) = sum_j c_j(x) sum_m w_kjm sum_i v_ikj k_m(x, x_i),   v_ikj = c_j(x_i) alpha_ki

Only kernels with weight are asked for, at the support vectors. A gate that sees clusters through the same
kernels needs k0(x, .) = sum_m s_m k_m(x, .) times some vectors: both are multiplied with one Gram.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from localmkl._types import Floats, MaybeNone
from localmkl.estimators.base import BaseMKL
from localmkl.kernels.stack import NormalizedGrams


@dataclass(frozen=True)
class Expansion:
    """The sums over support vectors of some models that share Grams and memberships.

    Parameters
    ----------
    columns : ndarray of int
        Support vectors of any of the models.
    vectors : ndarray of shape (n_columns, n_problems * l)
        The v of the problems of all models, one after the other.
    weights : ndarray of shape (n_problems, l, M)
    """

    columns: np.ndarray
    vectors: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, models: Sequence[BaseMKL]) -> Self:
        """Return that of fitted models."""
        alpha = np.vstack([model.dual_coef_ for model in models])
        weights = [np.reshape(m.kernel_weights_, (-1, *m.kernel_weights_.shape[-2:])) for m in models]
        columns = np.flatnonzero(alpha.any(axis=0))
        vectors = alpha.T[columns, :, None] * models[0].memberships_[columns, None, :]
        return cls(columns, vectors.reshape(len(columns), np.prod(vectors.shape[1:])), np.vstack(weights))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of problems, and of clusters."""
        return self.weights.shape[:2]

    def terms(self, grams: NormalizedGrams, rows: slice, near: MaybeNone) -> Iterator[tuple[int, Floats]]:
        """Yield (m, what kernel m adds in each cluster, (n_rows, n_problems, l)), for kernels with weight.

        Meanwhile `near`, if there is one, learns of the kernels that it asks for.
        """
        weighted = self.weights.any(axis=(0, 1))
        asked = np.zeros_like(weighted) if near is None else near.shares != 0.0
        for m in np.flatnonzero(asked & ~weighted).tolist():
            near.add(m, grams.product(m, rows, slice(None), near.vectors))
        both: MaybeNone = self._beside(near.vectors) if np.any(asked & weighted) else None
        for m in np.flatnonzero(weighted).tolist():
            if asked[m]:
                products = grams.product(m, rows, slice(None), both)
                near.add(m, products[:, : near.width])
                products = products[:, near.width :]
            else:
                products = grams.product(m, rows, self.columns, self.vectors)
            yield m, products.reshape(-1, *self.shape) * self.weights[..., m]

    def _beside(self, others: Floats) -> Floats:
        """Return other vectors, and these with zeros where there are no support vectors."""
        both = np.zeros((len(others), others.shape[1] + self.vectors.shape[1]))
        both[:, : others.shape[1]] = others
        both[self.columns, others.shape[1] :] = self.vectors
        return both


class Nearness:
    """The product of k0 with some vectors at a block of rows, summed up kernel by kernel.

    Parameters
    ----------
    shares : ndarray of shape (M,)
        How much of each kernel is in k0.
    vectors : ndarray of shape (n_reference_rows, n_vectors)
    n_rows : int
    """

    def __init__(self, shares: Floats, vectors: Floats, n_rows: int) -> None:
        self.shares, self.vectors = shares, vectors
        self.width = vectors.shape[1]
        self.product = np.zeros((n_rows, self.width))

    def add(self, m: int | np.intp, product: Floats) -> None:
        """Take in the product of the m-th kernel."""
        self.product += self.shares[m] * product
