"""The number of clusters."""

import numpy as np
import pytest

from localmkl import CLMKLClassifier, MKLClassifier
from localmkl.inference import choose_clusters
from localmkl.inference.choosing import _settings, smallest_good


def test_the_smallest_number_within_one_standard_error_is_chosen():
    scores = np.array([[0.5, 0.6, 0.7], [0.7, 0.8, 0.9], [0.75, 0.8, 0.9]])
    number, errors = smallest_good(scores, np.ones(3, dtype=bool))
    assert errors == pytest.approx(scores.std(axis=1, ddof=1) / np.sqrt(3))
    assert number == 1


def test_numbers_that_are_not_allowed_are_neither_best_nor_chosen():
    scores = np.array([[0.5, 0.51], [0.7, 0.71], [0.9, 0.91]])
    assert smallest_good(scores, np.array([True, True, False]))[0] == 1
    assert smallest_good(scores, np.array([True, False, False]))[0] == 0


def test_three_are_found_of_three_and_one_where_there_is_no_locality(make_problem, make_model):
    options = {"max_clusters": 4, "n_resamples": 6, "random_state": 0}
    stack, y, _ = make_problem(200)
    found = choose_clusters(make_model().fit(stack, y), stack, y, **options)
    assert found.n_clusters == 3
    assert found.jaccard[2] > 0.9
    stack, y, _ = make_problem(150, locality=0.0)
    assert choose_clusters(make_model().fit(stack, y), stack, y, **options).n_clusters == 1


def test_memberships_stay_as_hard_or_soft_as_they_are():
    soft = CLMKLClassifier(n_clusters=2, evenness=0.75)
    assert _settings(soft, 4) == {"n_clusters": 4, "evenness": pytest.approx(0.625)}
    hard = CLMKLClassifier(n_clusters=4, evenness=0.25)
    assert _settings(hard, 2) == {"n_clusters": 2, "evenness": pytest.approx(0.5)}
    assert _settings(soft, 1) == {"shared": 1.0}


def test_models_that_find_no_clusters_are_refused(make_problem):
    stack, y, groups = make_problem(60)
    with pytest.raises(ValueError, match="got one with no clusters"):
        choose_clusters(MKLClassifier("precomputed").fit(stack, y), stack, y)
    fixed = CLMKLClassifier("precomputed", gate=np.eye(3)[groups]).fit(stack, y)
    with pytest.raises(ValueError, match="got one with a gate that does not"):
        choose_clusters(fixed, stack, y)
