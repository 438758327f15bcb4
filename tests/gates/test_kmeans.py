import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from localmkl.backends import partitions
from localmkl.gates import (
    KernelKMeansGate,
    average_evenness,
    kernel_kmeans,
    kmeans,
    memberships,
    tau_for_evenness,
)
from localmkl.gates.kmeans import _without_empty_clusters

seeds = st.integers(0, 2**32 - 1)
quick = settings(max_examples=25, deadline=None, derandomize=True)


def draw_blobs(seed, n_rows=60, n_blobs=3, separation=20.0):
    rng = np.random.default_rng(seed)
    blobs = np.arange(n_rows) % n_blobs
    return separation * np.eye(5)[blobs] + rng.normal(size=(n_rows, 5)), blobs


def draw_distances(seed, n_rows=30, n_clusters=3):
    """Squared distances of any size, up to a constant for each row."""
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-6, 6)
    return scale * (rng.exponential(size=(n_rows, n_clusters)) + 5.0 * rng.normal(size=(n_rows, 1)))


def labels_of(averages):
    return averages.argmax(axis=1)


# Kernel k-means


@pytest.mark.parametrize("seed", range(3))
def test_kernel_kmeans_on_a_linear_gram_recovers_separated_blobs(seed):
    X, blobs = draw_blobs(seed)
    averages, _, _ = kernel_kmeans(X @ X.T, 3, random_state=seed)
    assert adjusted_rand_score(blobs, labels_of(averages)) == 1.0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_clusters", [1, 2, 5])
def test_its_error_on_a_linear_gram_is_that_of_kmeans_or_less(seed, n_clusters):
    X, _ = draw_blobs(seed, n_blobs=5, separation=3.0)
    _, _, inertia = kernel_kmeans(X @ X.T, n_clusters, n_init=20, random_state=seed)
    expected = KMeans(n_clusters, n_init=20, random_state=seed).fit(X).inertia_
    assert inertia <= expected * (1.0 + 1e-3)


def test_its_error_is_the_sum_of_squared_distances_to_the_means():
    X, _ = draw_blobs(3, separation=2.0)
    averages, offsets, inertia = kernel_kmeans(X @ X.T, 3, random_state=0)
    means = averages.T @ X
    np.testing.assert_allclose(offsets, (means**2).sum(axis=1))
    expected = ((X[:, None] - means) ** 2).sum(axis=2).min(axis=1).sum()
    assert inertia == pytest.approx(expected)
    np.testing.assert_allclose(averages.sum(axis=0), 1.0)


@pytest.mark.parametrize("weights", [None, np.array([1.0, 3.0, 0.5] * 20)], ids=["plain", "weighted"])
def test_settled_clusters_hold_the_rows_nearest_to_their_means(weights):
    X, _ = draw_blobs(4, separation=1.0)
    averages, offsets, _ = kernel_kmeans(X @ X.T, 3, sample_weight=weights, random_state=0)
    distances = offsets - 2.0 * X @ X.T @ averages
    np.testing.assert_array_equal(distances.argmin(axis=1), labels_of(averages))
    own = np.ones(60) if weights is None else weights
    for j in range(3):
        inside = np.where(labels_of(averages) == j, own, 0.0)
        np.testing.assert_allclose(averages[:, j], inside / inside.sum())


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_compiled_kernel_kmeans_ends_where_plain_numpy_does(seed, dtype):
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(size=(400, 4)), np.zeros((3, 4)), [[50.0] * 4]])
    gram, weights = (X @ X.T).astype(dtype), rng.uniform(0.5, 2.0, size=len(X))
    labels = np.stack([rng.integers(0, 5, size=len(X)), np.r_[np.zeros(len(X) - 4), 1, 2, 3, 4]]).astype(int)
    labels[1, -4:] = [1, 2, 3, 4]  # clusters of equal rows: all but one lose theirs
    sums = kmeans.cluster_sums(gram, labels, weights, 5)
    digits = 1e-12 if dtype == np.float64 else 1e-5
    compiled = partitions.cluster_sums(gram, labels, weights, 5)
    np.testing.assert_allclose(compiled, sums, rtol=digits, atol=digits * np.abs(sums).max())
    found, expected = [(labels.copy(), sums.copy()) for _ in range(2)]
    partitions.settle(gram, gram.diagonal(), *found, weights, 100)
    kmeans.settle(gram, gram.diagonal(), *expected, weights, 100)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-6, atol=1e-6 * np.abs(expected[1]).max())


def test_more_restarts_never_raise_the_error():
    X, _ = draw_blobs(5, separation=1.0)
    for seed in range(5):
        few, many = (kernel_kmeans(X @ X.T, 6, n_init=n, random_state=seed)[2] for n in (1, 20))
        assert many <= few
    assert many < few


def test_the_same_seed_gives_the_same_partition():
    X, _ = draw_blobs(6, separation=1.0)
    first, second = (kernel_kmeans(X @ X.T, 4, random_state=7)[0] for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_weights_equal_repetition():
    X, _ = draw_blobs(7)
    weights = np.array([1, 4, 2, 0, 3, 1] * 10)
    repeated = np.repeat(X, weights, axis=0)
    averages, offsets, inertia = kernel_kmeans(
        X @ X.T, 3, sample_weight=weights.astype(float), random_state=0
    )
    expected = kernel_kmeans(repeated @ repeated.T, 3, random_state=0)
    assert inertia == pytest.approx(expected[2])
    distances = offsets - 2.0 * X @ X.T @ averages
    others = expected[1] - 2.0 * X @ repeated.T @ expected[0]
    # The clusters are the same, in whatever order.
    order, other_order = np.argsort(distances[0]), np.argsort(others[0])
    np.testing.assert_allclose(distances[:, order], others[:, other_order], rtol=1e-9)


def test_rows_of_weight_zero_do_not_matter():
    X, _ = draw_blobs(8)
    strange = np.vstack([X, 1e3 * np.ones((4, 5))])
    weights = np.r_[np.ones(60), np.zeros(4)]
    averages, offsets, inertia = kernel_kmeans(strange @ strange.T, 3, sample_weight=weights, random_state=0)
    expected = kernel_kmeans(X @ X.T, 3, random_state=0)
    np.testing.assert_allclose(averages[:60], expected[0])
    np.testing.assert_array_equal(averages[60:], 0.0)
    np.testing.assert_allclose(offsets, expected[1])
    assert inertia == pytest.approx(expected[2])


def test_an_empty_cluster_takes_the_farthest_row():
    distances = np.array([[[0.0, 9.0, 9.0], [1.0, 9.0, 9.0], [5.0, 9.0, 9.0], [3.0, 9.0, 9.0]]])
    np.testing.assert_array_equal(_without_empty_clusters(distances), [[0, 0, 1, 2]])


def test_an_empty_cluster_never_empties_another():
    # Row 2 is the farthest from its cluster, but alone in it.
    distances = np.array([[[0.0, 9.0, 9.0], [1.0, 9.0, 9.0], [8.0, 7.0, 9.0]]])
    np.testing.assert_array_equal(_without_empty_clusters(distances), [[0, 2, 1]])


@quick
@given(seed=seeds, n_clusters=st.integers(1, 6))
def test_no_cluster_is_empty_however_few_rows_differ(seed, n_clusters):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(15, 3)).astype(float)
    assume(len(np.unique(X, axis=0)) >= n_clusters)
    averages, _, inertia = kernel_kmeans(X @ X.T, n_clusters, n_init=3, random_state=seed)
    np.testing.assert_allclose(averages.sum(axis=0), 1.0)
    assert len(np.unique(labels_of(averages))) == n_clusters
    if len(np.unique(X, axis=0)) == n_clusters:
        assert inertia == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("weights", [None, np.r_[np.ones(6), np.zeros(2)]])
def test_more_clusters_than_distinct_rows_are_refused(weights):
    X = np.array([[0.0], [0.0], [1.0], [1.0], [2.0], [2.0], [0.0], [2.0]])
    kernel_kmeans(X @ X.T, 3, sample_weight=weights, random_state=0)
    message = "must be at most the number of distinct rows, got 4 clusters for 3 distinct rows"
    with pytest.raises(ValueError, match=message):
        kernel_kmeans(X @ X.T, 4, sample_weight=weights, random_state=0)


def test_rows_of_weight_zero_are_not_counted_as_distinct():
    X = np.arange(4.0)[:, None]
    with pytest.raises(ValueError, match="got 3 clusters for 2 distinct rows"):
        kernel_kmeans(X @ X.T, 3, sample_weight=np.array([1.0, 1.0, 0.0, 0.0]), random_state=0)


@pytest.mark.parametrize("n_init", [0, 1.5, None])
def test_restarts_are_counted_in_whole_numbers(n_init):
    with pytest.raises(ValueError, match="`n_init` must be an integer of at least 1"):
        kernel_kmeans(np.eye(4), 2, n_init=n_init)


# Memberships and evenness


@quick
@given(seed=seeds, tau=st.one_of(st.floats(0.0, 1e6), st.just(np.inf)))
def test_memberships_are_not_negative_and_sum_to_one(seed, tau):
    given_ = memberships(draw_distances(seed), tau)
    assert given_.min() >= 0.0
    np.testing.assert_allclose(given_.sum(axis=1), 1.0)


@quick
@given(seed=seeds)
def test_memberships_do_not_depend_on_what_all_clusters_share(seed):
    distances = draw_distances(seed)
    tau = 1.0 / np.ptp(distances)
    shifted = distances + np.ptp(distances) * np.arange(30)[:, None]
    np.testing.assert_allclose(memberships(shifted, tau), memberships(distances, tau), atol=1e-9)


def test_memberships_are_the_softmax_of_minus_tau_times_the_distance():
    distances = draw_distances(9)
    tau = 3.0 / np.ptp(distances)
    powers = np.exp(-tau * (distances - distances.mean()))
    np.testing.assert_allclose(memberships(distances, tau), powers / powers.sum(axis=1, keepdims=True))


def test_memberships_run_from_uniform_to_hard():
    distances = draw_distances(10)
    np.testing.assert_allclose(memberships(distances, 0.0), 1.0 / 3.0)
    np.testing.assert_array_equal(memberships(distances, np.inf), np.eye(3)[distances.argmin(axis=1)])


@quick
@given(seed=seeds, n_clusters=st.integers(1, 5))
def test_evenness_falls_with_tau_from_one_to_one_over_the_clusters(seed, n_clusters):
    distances = draw_distances(seed, n_clusters=n_clusters)
    taus = np.r_[0.0, np.logspace(-3, 3, 20) / max(np.ptp(distances), 1e-300), np.inf]
    values = [average_evenness(tau, distances) for tau in taus]
    assert values[0] == 1.0
    assert values[-1] == pytest.approx(1.0 / n_clusters)
    assert all(later <= earlier + 1e-12 for earlier, later in pairwise(values))


@quick
@given(seed=seeds, share=st.floats(0.0, 1.0), n_clusters=st.integers(2, 5), weighted=st.booleans())
def test_tau_for_evenness_inverts_average_evenness(seed, share, n_clusters, weighted):
    distances = draw_distances(seed, n_clusters=n_clusters)
    weights = np.random.default_rng(seed).integers(0, 3, size=30) + 0.1 if weighted else None
    evenness = max(1.0 / n_clusters, share)
    tau = tau_for_evenness(evenness, distances, weights)
    assert average_evenness(tau, distances, weights) == pytest.approx(evenness, abs=1e-9)


def test_the_ends_of_evenness_are_uniform_and_hard():
    distances = draw_distances(11)
    assert tau_for_evenness(1.0, distances) == 0.0
    assert tau_for_evenness(1.0 / 3.0, distances) == np.inf
    assert tau_for_evenness(0.5, distances[:, :1]) == 0.0


def test_weights_count_rows_in_evenness():
    distances, weights = draw_distances(12), np.array([1, 2, 0] * 10)
    repeated = np.repeat(distances, weights, axis=0)
    tau = 2.0 / np.ptp(distances)
    assert average_evenness(tau, distances, weights) == pytest.approx(average_evenness(tau, repeated))


def test_ties_give_the_least_evenness_and_a_warning():
    distances = np.array([[0.0, 0.0, 2.0], [1.0, 5.0, 4.0]])
    least = 0.5 * (2 / 3 + 1 / 3)
    with pytest.warns(
        UserWarning, match=r"evenness of 0\.4 cannot be reached: .* the smallest one, 0\.5, is"
    ):
        tau = tau_for_evenness(0.4, distances)
    assert tau == np.inf
    assert average_evenness(tau, distances) == pytest.approx(least)


def test_nothing_is_said_where_the_evenness_can_be_reached():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tau_for_evenness(0.6, np.array([[0.0, 0.0, 2.0], [1.0, 5.0, 4.0]]))
        tau_for_evenness(1.0 / 3.0, draw_distances(13))


def test_distances_that_are_all_equal_allow_one_evenness_only():
    with pytest.warns(UserWarning, match="the smallest one, 1, is used"):
        tau = tau_for_evenness(0.5, np.full((4, 3), 2.5))
    np.testing.assert_allclose(memberships(np.full((4, 3), 2.5), tau), 1.0 / 3.0)


# The gate


@pytest.mark.parametrize("evenness", [None, 1 / 3, 0.4, 0.8, 1.0])
def test_the_gate_reaches_its_evenness_and_judges_training_rows_like_new_ones(evenness):
    X, _ = draw_blobs(14, separation=2.0)
    gate = KernelKMeansGate(3, evenness, random_state=0).fit(X @ X.T)
    target = 1 / 3 if evenness is None else evenness
    assert gate.evenness_ == pytest.approx(target, abs=1e-9)
    together = gate.memberships(X @ X.T)
    np.testing.assert_allclose(together[:5], gate.memberships(X[:5] @ X.T))
    if evenness != 1.0:
        np.testing.assert_array_equal(together.argmax(axis=1), gate.labels_)
    if evenness is None:
        np.testing.assert_array_equal(together, np.eye(3)[gate.labels_])


@pytest.mark.parametrize("degree", [1, 2])
def test_distances_are_those_in_feature_space(degree):
    X, _ = draw_blobs(15, n_rows=40, separation=2.0)
    new = np.random.default_rng(16).normal(size=(7, 5))

    def features(rows):
        return rows if degree == 1 else np.einsum("ik,il->ikl", rows, rows).reshape(len(rows), -1)

    gate = KernelKMeansGate(3, random_state=0).fit((X @ X.T) ** degree)
    means = np.stack([features(X)[gate.labels_ == j].mean(axis=0) for j in range(3)])
    expected = ((features(new)[:, None] - means) ** 2).sum(axis=2)
    own = (features(new) ** 2).sum(axis=1)
    np.testing.assert_allclose(gate.distances((new @ X.T) ** degree) + own[:, None], expected)


def test_new_rows_of_a_hard_gate_go_to_the_nearest_cluster():
    X, _ = draw_blobs(17)
    new, blobs = draw_blobs(18, n_rows=30)
    gate = KernelKMeansGate(3, evenness=None, random_state=0).fit(X @ X.T)
    hard = gate.memberships(new @ X.T)
    assert set(np.unique(hard)) == {0.0, 1.0}
    assert adjusted_rand_score(blobs, hard.argmax(axis=1)) == 1.0


def test_a_hard_gate_breaks_ties():
    X = np.array([[-1.0], [1.0]])
    gate = KernelKMeansGate(2, evenness=None, random_state=0).fit(X @ X.T)
    assert gate.memberships(np.zeros((1, 2))).tolist() in ([[1.0, 0.0]], [[0.0, 1.0]])


def test_one_cluster_is_everybody():
    X, _ = draw_blobs(19, n_rows=10)
    gate = KernelKMeansGate(1, evenness=0.5, random_state=0).fit(X @ X.T)
    np.testing.assert_array_equal(gate.memberships(X @ X.T), np.ones((10, 1)))
    assert gate.evenness_ == 1.0


def test_a_clone_of_the_gate_learns_the_same():
    X, _ = draw_blobs(20, separation=1.0)
    gate = KernelKMeansGate(4, 0.6, n_init=3, random_state=5).fit(X @ X.T)
    np.testing.assert_array_equal(clone(gate).fit(X @ X.T).averages_, gate.averages_)


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"n_clusters": 0}, "`n_clusters` must be an integer of at least 1, got 0"),
        ({"n_clusters": 2.0}, r"`n_clusters` must be an integer of at least 1, got 2\.0"),
        ({"evenness": 0.2}, r"`evenness` must lie in \[1/n_clusters, 1\] = \[0.3333, 1\], got 0.2; "),
        ({"evenness": 1.2}, r"`evenness` must lie in .* got 1\.2"),
        ({"evenness": np.nan}, r"`evenness` must lie in .* got nan"),
        ({"evenness": "even"}, r"`evenness` must lie in .* got 'even'"),
        ({"evenness": True}, r"`evenness` must lie in .* got True"),
    ],
    ids=str,
)
def test_bad_parameters_of_the_gate_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelKMeansGate(**parameters).fit(np.eye(6))
