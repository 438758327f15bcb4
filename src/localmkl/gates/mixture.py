"""A Gaussian mixture in the leading kernel principal components of the gate kernel.

    c_j(x)  = pi_j N(z(x); mu_j, S_j) / sum_j' pi_j' N(z(x); mu_j', S_j')
    d2_j(x) = -2 log pi_j N(z(x); mu_j, S_j)               so that c = softmax(-d2 / 2)

Clusters may have any size, shape and spread, where those of k-means are round and alike.
"""

from typing import Self

import numpy as np

from localmkl._checks import check_integer
from localmkl._sklearn import fit_mixture
from localmkl._types import Floats, Seed
from localmkl.gates.components import kernel_components
from localmkl.gates.interface import Gate, counted, spread_out
from localmkl.gates.kmeans import kernel_kmeans

POSTERIOR = 0.5
"""The tau whose memberships are the posterior."""

LEAST_SPREAD = 1e-3
"""Share of the components' mean variance that every cluster has at least, in every direction."""


class MixtureGate(Gate):
    """Memberships that are the posterior of a Gaussian mixture on kernel principal components.

    Fitted by scikit-learn's ``GaussianMixture`` with full covariances, from the partition of kernel k-means.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of clusters.
    evenness : float or None, default=0.5
        None for a hard partition. A number is not read: how soft memberships are is learned.
    n_components : int, default=5
        Leading kernel principal components; a covariance of so many has 15 numbers to learn.
    n_init : int, default=10
        Restarts of the kernel k-means that it begins with.
    random_state : int, RandomState instance or None
        Seed of the restarts.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
    averages_ : ndarray of shape (n, n_components)
        Components are ``k0 @ averages_ + shifts_``.
    shifts_ : ndarray of shape (n_components,)
    explained_ : float
        Share of the rows' variance under the gate kernel that the components hold.
    shares_ : ndarray of shape (n_clusters,)
        pi.
    means_ : ndarray of shape (n_clusters, n_components)
    roots_ : ndarray of shape (n_clusters, n_components, n_components)
        Upper triangles U_j with ``inv(S_j) = U_j U_j'``.
    tau_, evenness_ : float

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(60, 2)) * np.repeat([[0.2, 2.0], [2.0, 0.2]], 30, axis=0)
    >>> gate = MixtureGate(2, random_state=0).fit(x @ x.T)
    >>> gate.memberships(x @ x.T).shape, gate.tau_
    ((60, 2), 0.5)
    """

    reads_evenness = False

    def __init__(
        self,
        n_clusters: int = 3,
        evenness: float | None = 0.5,
        *,
        n_components: int = 5,
        n_init: int = 10,
        random_state: Seed = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.evenness = evenness
        self.n_components = n_components
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, gram: Floats, sample_weight: Floats | None = None) -> Self:
        """Learn the mixture of the rows of `gram` (n, n); a row of weight w counts as w equal rows."""
        self.check_parameters()
        check_integer("n_components", self.n_components, low=1)
        rows, weights, inner = counted(gram, sample_weight)
        start = kernel_kmeans(
            inner, self.n_clusters, sample_weight=weights, n_init=self.n_init, random_state=self.random_state
        )[0]
        found = kernel_components(inner, weights, self.n_components)
        self.shares_, self.means_, self.roots_ = fit_mixture(
            found.values, weights, start > 0.0, LEAST_SPREAD * np.mean(np.square(found.values))
        )
        self.averages_ = spread_out(found.directions, rows, gram.shape[0])
        self.shifts_, self.explained_ = found.shifts, found.explained
        return self.sharpen(self.distances(gram), sample_weight)

    def distances_from(self, products: Floats) -> Floats:
        """Return ``-2 log pi_j N(z; mu_j, S_j)``, up to what all clusters share, (n_new, n_clusters)."""
        components = products + self.shifts_
        found = np.empty((len(components), self.n_clusters))
        for j, (share, mean, root) in enumerate(zip(self.shares_, self.means_, self.roots_, strict=True)):
            found[:, j] = np.square((components - mean) @ root).sum(axis=1)
            found[:, j] -= 2.0 * (np.log(root.diagonal()).sum() + np.log(share))
        return found

    def _sharpness(self, distances: Floats, sample_weight: Floats | None) -> float:
        return POSTERIOR
