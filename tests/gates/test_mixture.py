"""The mixture gate beside scikit-learn's own mixture."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.decomposition import KernelPCA
from sklearn.mixture import GaussianMixture

from localmkl.gates import MixtureGate
from localmkl.gates.components import kernel_components
from localmkl.gates.mixture import LEAST_SPREAD


def draw(seed, n_rows=120, spread=1.5):
    return make_blobs(n_rows, centers=3, n_features=4, cluster_std=spread, random_state=seed)[0]


@pytest.mark.parametrize("n_components", [None, 3])
def test_components_are_those_of_kernel_pca_also_of_new_rows(n_components):
    rows, new = draw(0, 60), draw(1, 9)
    gram, cross = np.exp(-0.01 * ((rows[:, None] - rows) ** 2).sum(2)), None
    cross = np.exp(-0.01 * ((new[:, None] - rows) ** 2).sum(2))
    found = kernel_components(gram, np.ones(60), n_components)
    n_found = found.values.shape[1]
    theirs = KernelPCA(n_found, kernel="precomputed", eigen_solver="dense").fit(gram)
    np.testing.assert_allclose(np.abs(found.values), np.abs(theirs.transform(gram)), atol=1e-6)
    ours = cross @ found.directions + found.shifts
    few = slice(0, 3)  # those with the least variance are as good as rounding
    np.testing.assert_allclose(np.abs(ours[:, few]), np.abs(theirs.transform(cross))[:, few], atol=1e-8)
    np.testing.assert_allclose(gram @ found.directions + found.shifts, found.values, atol=1e-6)
    assert found.explained == pytest.approx(1.0) if n_components is None else 0.5 < found.explained < 1.0


def test_components_of_all_rows_have_their_products():
    rows, weights = draw(2, 40), np.random.default_rng(0).uniform(0.5, 2.0, size=40)
    centred = rows - weights @ rows / weights.sum()
    found = kernel_components(rows @ rows.T, weights)
    np.testing.assert_allclose(found.values @ found.values.T, centred @ centred.T, atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_memberships_are_the_posterior_of_scikit_learns_mixture(seed):
    rows, new = draw(seed, 400, spread=0.8), draw(seed + 10, 20)
    gate = MixtureGate(3, n_components=4, random_state=0).fit(rows @ rows.T)
    theirs = GaussianMixture(
        3,
        reg_covar=LEAST_SPREAD * np.mean((rows - rows.mean(axis=0)) ** 2),
        means_init=[rows[gate.labels_ == j].mean(axis=0) for j in range(3)],
        tol=1e-9,
        max_iter=1000,
        random_state=0,
    ).fit(rows)
    np.testing.assert_allclose(gate.memberships(new @ rows.T), theirs.predict_proba(new), atol=0.02)
    assert gate.tau_ == 0.5


def test_clusters_of_any_shape_are_told_apart():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 2)) * np.repeat([[0.1, 3.0], [3.0, 0.1]], 100, axis=0)
    found = MixtureGate(2, random_state=0).fit(rows @ rows.T).labels_
    truth = np.repeat([0, 1], 100)
    assert max(np.mean(found == truth), np.mean(found != truth)) > 0.9


def test_the_evenness_is_its_own():
    rows = draw(3)
    first, second = (MixtureGate(3, evenness, random_state=0).fit(rows @ rows.T) for evenness in (0.5, 0.9))
    assert first.evenness_ == second.evenness_
    np.testing.assert_array_equal(first.memberships(rows @ rows.T), second.memberships(rows @ rows.T))
