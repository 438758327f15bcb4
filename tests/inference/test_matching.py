"""Clusters found again: the assignment, Jaccard indices."""

from itertools import permutations

import numpy as np
import pytest

from localmkl.inference.matching import jaccards, match_clusters, overlaps


@pytest.mark.parametrize("seed", range(5))
def test_the_matching_is_the_best_of_all_permutations(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.integers(4, size=(2, 60))
    table = overlaps(first, second, 4, 4)
    best = max(sum(table[j, order[j]] for j in range(4)) for order in permutations(range(4)))
    matched = match_clusters(first, second, 4, 4)
    assert sorted(matched.tolist()) == [0, 1, 2, 3]
    assert table[np.arange(4), matched].sum() == best


def test_clusters_in_another_order_are_matched_and_found_whole():
    first = np.random.default_rng(0).integers(3, size=50)
    order = np.array([2, 0, 1])
    matched = match_clusters(first, order[first], 3, 3)
    assert matched.tolist() == order.tolist()
    assert jaccards(first, order[first], matched, 3).tolist() == [1.0, 1.0, 1.0]


def test_a_cluster_without_a_like_has_none_and_a_jaccard_of_zero():
    first = np.array([0, 0, 1, 1, 2])
    second = np.array([0, 0, 1, 1, 1])
    matched = match_clusters(first, second, 3, 2)
    assert matched.tolist() == [0, 1, -1]
    assert jaccards(first, second, matched, 2)[2] == 0.0


def test_a_cluster_without_rows_here_has_no_jaccard():
    found = jaccards(np.array([0, 0]), np.array([0, 0]), np.array([0, 1]), 2)
    assert found[0] == 1.0
    assert np.isnan(found[1])


@pytest.mark.parametrize("seed", range(3))
def test_jaccard_indices_are_those_of_sets(seed):
    first, second = np.random.default_rng(seed).integers(3, size=(2, 40))
    matched = match_clusters(first, second, 3, 3)
    for j, found in enumerate(jaccards(first, second, matched, 3)):
        one, other = set(np.flatnonzero(first == j)), set(np.flatnonzero(second == matched[j]))
        assert found == pytest.approx(len(one & other) / len(one | other))
