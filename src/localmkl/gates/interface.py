"""The protocol of gates: what a gate is given, and what it answers.

    given      the Gram of the gate kernel on the rows to learn from, k0(x_i, x_k), and their weights
    answers    d2_j(x), how far a row is from each cluster, up to a number that all clusters share: a
               function of k0(x, .) @ averages_, some linear functions of k0(x, x_1) ... k0(x, x_n)
    hence      c_j(x) = softmax_j(-tau d2_j(x))

A gate never sees rows, so that it works with any kind of them, with precomputed Grams, in folds, with
unlabelled rows and with missing views. The estimator makes the Gram, keeps the gate, and asks it block of
rows by block of rows. Gates that need rows are models with ``predict_proba`` (see the estimators' `gate`).
"""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from localmkl._checks import check_evenness, check_integer
from localmkl._types import Floats
from localmkl.gates.evenness import average_evenness, memberships, tau_for_evenness


class Gate(BaseEstimator, ABC):
    """Clusters that are learned from the Gram of a gate kernel.

    Subclasses have the parameters `n_clusters` and `evenness` (None for a hard partition), write `fit`, which
    sets `averages_`, and `distances_from`, and are given to an estimator as ``gate=``. Memberships, their
    evenness, copies, searches and files follow.

    Attributes
    ----------
    averages_ : ndarray of shape (n, n_columns)
        All that a cross-Gram is multiplied by, one row for each row of the fit.
    labels_ : ndarray of shape (n,)
        The nearest cluster of each row of the fit.
    tau_ : float
        Sharpness.
    evenness_ : float
        The average evenness reached.

    Examples
    --------
    >>> class EndsGate(Gate):
    ...     def __init__(self, n_clusters=2, evenness=0.6):
    ...         self.n_clusters, self.evenness = n_clusters, evenness
    ...
    ...     def fit(self, gram, sample_weight=None):
    ...         self.averages_ = np.eye(len(gram))[:, [0, -1]]  # clusters around the first row and the last
    ...         self.offsets_ = gram.diagonal()[[0, -1]]
    ...         return self.sharpen(self.distances(gram), sample_weight)
    ...
    ...     def distances_from(self, products):
    ...         return self.offsets_ - 2.0 * products
    >>> x = np.array([[0.0], [1.0], [4.0], [5.0]])
    >>> gate = EndsGate().fit(x @ x.T)
    >>> gate.labels_.tolist(), round(gate.evenness_, 3)
    ([0, 0, 1, 1], 0.6)
    """

    n_clusters: Any
    evenness: Any
    averages_: Any

    @abstractmethod
    def fit(self, gram: Floats, sample_weight: Floats | None = None) -> Self:
        """Learn the clusters of the rows of `gram` (n, n); end with ``return self.sharpen(...)``.

        A row of weight w counts as w equal rows; a row of weight zero does not count, but has distances.
        """

    @abstractmethod
    def distances_from(self, products: Floats) -> Floats:
        """Return distances to the clusters (n_new, n_clusters) of rows given by ``k0(x, .) @ averages_``."""

    def distances(self, cross_gram: Floats) -> Floats:
        """Return the distances to the clusters (n_new, n_clusters) of rows given by their cross-Gram."""
        return self.distances_from(cross_gram @ self.averages_)

    def check_parameters(self) -> None:
        """Raise unless `n_clusters` and `evenness` can be."""
        check_integer("n_clusters", self.n_clusters, low=1)
        if self.evenness is not None and self.n_clusters > 1:
            check_evenness(self.evenness, self.n_clusters)

    def sharpen(self, distances: Floats, sample_weight: Floats | None = None) -> Self:
        """Learn tau from the distances (n, n_clusters) of the rows of the fit to their clusters."""
        self.labels_ = distances.argmin(axis=1)
        if self.evenness is None:
            self.tau_ = np.inf
        else:
            self.tau_ = tau_for_evenness(self.evenness, distances, sample_weight)
        self.evenness_ = average_evenness(self.tau_, distances, sample_weight)
        return self

    def memberships(self, cross_gram: Floats) -> Floats:
        """Return memberships of rows given by their Gram with the rows of the fit."""
        return self.memberships_at(self.distances(cross_gram))

    def memberships_at(self, distances: Floats) -> Floats:
        """Return memberships of rows given by their distances to the clusters."""
        if self.evenness is None:
            return np.eye(self.n_clusters)[distances.argmin(axis=1)]
        return memberships(distances, self.tau_)

    def on_features(self, features: Floats) -> Self:
        """Compare new rows with features from now on; return self.

        With k0(x, x_i) = phi(x)'phi(x_i), products of a cross-Gram are products of features: rows of
        `averages_` become features. `features` (n, n_features) are those of the rows of the fit.
        """
        self.averages_ = features.T @ self.averages_
        return self
