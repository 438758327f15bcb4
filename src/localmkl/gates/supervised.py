"""The gate that labels move: it begins as kernel k-means, and its scores are learned.

    c_j(x) = softmax_j(-tau d2_j(x) + a_j'z(x) + v_j)

d2 and tau are those of kernel k-means at the evenness asked for, z(x) the leading kernel principal components
of the gate kernel in units of their standard deviation, and (a, v), zero at first, is learned with the labels
(`localmkl.estimators.supervision`). All of it is a linear function of k0(x, .), so that the gate that is
learned has the form of the one it began as: tau = 1, d2_j(x) = offsets_j - 2 k0(x, .) @ averages_j.
"""

from copy import copy
from typing import Self

import numpy as np

from localmkl._checks import check_integer
from localmkl._types import Floats, Seed
from localmkl.gates.components import kernel_components
from localmkl.gates.evenness import average_evenness, tau_for_evenness
from localmkl.gates.interface import Gate, counted, spread_out
from localmkl.gates.kmeans import kernel_kmeans

SOFT = 0.5
"""Place, between hard and uniform, of the evenness that the scores of hard memberships begin at."""


class SupervisedGate(Gate):
    """Memberships that begin as those of kernel k-means, and are learned with the labels.

    An estimator with this gate alternates between its convex problem and a step of the gate, none of which
    raises the objective. The whole is not convex: where it ends depends on where it begins, and nothing
    certifies the gate. On its own, the gate is its start: it learns with the estimator that it belongs to.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of clusters.
    evenness : float or None, default=0.5
        Average evenness to begin with, in [1/n_clusters, 1]; None for a hard partition.
    n_components : int, default=10
        Leading kernel principal components that the scores depend on.
    max_rounds : int, default=10
        Most alternations.
    n_init : int, default=10
        Restarts of the kernel k-means that it begins with.
    random_state : int, RandomState instance or None
        Seed of the restarts.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        The clusters that it began with.
    averages_ : ndarray of shape (n, n_clusters)
        Scores are ``2 k0 @ averages_ - offsets_``, times `tau_`. Until it has learned with the labels, the
        components follow in more columns.
    offsets_ : ndarray of shape (n_clusters,)
    objectives_ : ndarray
        The objective at the start and after every alternation; there with an estimator alone.
    tau_, evenness_ : float

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(n_samples=100, random_state=0)[:2]
    >>> model = CLMKLClassifier(n_clusters=2, gate="supervised", random_state=0).fit(X, y)
    >>> objectives = model.gate_.clustering.objectives_
    >>> bool(np.all(np.diff(objectives) <= 0.0))
    True
    """

    def __init__(
        self,
        n_clusters: int = 3,
        evenness: float | None = 0.5,
        *,
        n_components: int = 10,
        max_rounds: int = 10,
        n_init: int = 10,
        random_state: Seed = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.evenness = evenness
        self.n_components = n_components
        self.max_rounds = max_rounds
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, gram: Floats, sample_weight: Floats | None = None) -> Self:
        """Learn the start from the rows of `gram` (n, n); a row of weight w counts as w equal rows."""
        self.check_parameters()
        check_integer("n_components", self.n_components, low=1)
        check_integer("max_rounds", self.max_rounds, low=1)
        rows, weights, inner = counted(gram, sample_weight)
        averages, offsets, _ = kernel_kmeans(
            inner, self.n_clusters, sample_weight=weights, n_init=self.n_init, random_state=self.random_state
        )
        found = kernel_components(inner, weights, self.n_components)
        spreads = np.sqrt(np.average(np.square(found.values), axis=0, weights=weights))
        spreads[spreads == 0.0] = 1.0
        columns = np.hstack([averages, -0.5 * found.directions / spreads])
        self.averages_ = spread_out(columns, rows, gram.shape[0])
        self.offsets_ = np.r_[offsets, found.shifts / spreads]
        return self.sharpen(self.distances(gram), sample_weight)

    def distances_from(self, products: Floats) -> Floats:
        """Return squared distances to the clusters, up to ``k0(x, x)``; of a start, components follow."""
        return self.offsets_ - 2.0 * products

    def sharpen(self, distances: Floats, sample_weight: Floats | None = None) -> Self:
        """Learn tau from the distances of the rows of the fit to the clusters it begins with."""
        return super().sharpen(distances[:, : self.n_clusters], sample_weight)

    def memberships_at(self, distances: Floats) -> Floats:
        """Return memberships of rows given by their distances to the clusters."""
        return super().memberships_at(distances[:, : self.n_clusters])

    def scores(self, distances: Floats, sample_weight: Floats | None = None) -> tuple[Floats, Floats]:
        """Return the scores (n, n_clusters) that the gate begins with, and the components (n, r), of rows."""
        own, components = np.split(distances, [self.n_clusters], axis=1)
        return -self._first_tau(own, sample_weight) * own, components

    def _first_tau(self, distances: Floats, sample_weight: Floats | None) -> float:
        """Return tau; of hard memberships, that of softer ones, which there is a way from."""
        if np.isfinite(self.tau_):
            return self.tau_
        middle = SOFT + (1.0 - SOFT) / self.n_clusters
        return tau_for_evenness(middle, distances, sample_weight)

    def moved(
        self, distances: Floats, sample_weight: Floats | None, coefficients: Floats, objectives: list[float]
    ) -> Self:
        """Return the gate whose scores have moved.

        Parameters
        ----------
        distances : ndarray of shape (n, n_clusters + r)
            Of the rows that it was learned with.
        sample_weight : ndarray of shape (n,) or None
        coefficients : ndarray of shape (n_clusters, r + 1)
            (a, v).
        objectives : list of float
        """
        tau = self._first_tau(distances[:, : self.n_clusters], sample_weight)
        slopes, shifts = coefficients[:, :-1].T, coefficients[:, -1]
        other = copy(self)
        other.averages_ = tau * self.averages_[:, : self.n_clusters]
        other.averages_ -= self.averages_[:, self.n_clusters :] @ slopes
        other.offsets_ = tau * self.offsets_[: self.n_clusters]
        other.offsets_ -= self.offsets_[self.n_clusters :] @ slopes + shifts
        own = tau * distances[:, : self.n_clusters] - distances[:, self.n_clusters :] @ slopes - shifts
        other.tau_ = 1.0 if np.isfinite(self.tau_) else np.inf
        other.evenness_ = average_evenness(other.tau_, own, sample_weight)
        other.objectives_ = np.array(objectives)
        return other
