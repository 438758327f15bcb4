import numpy as np
import pytest

from localmkl import CLMKLClassifier
from localmkl.datasets import load_splice
from localmkl.kernels import WeightedDegree


def test_splice_has_three_classes_and_sixty_letters():
    X, y, names = load_splice()
    assert len(X) == len(names) == 3190
    assert {len(x) for x in X} == {60}
    assert dict(zip(*np.unique(y, return_counts=True), strict=True)) == {"EI": 767, "IE": 768, "N": 1655}
    letters = "".join(X)
    assert sum(letter not in "ACGT" for letter in letters) == 60
    assert set(letters) == set("ACGTNDRS")


@pytest.mark.parametrize("task, positive", [("EI", 767), ("IE", 768)])
def test_the_binary_tasks_are_one_class_against_the_rest(task, positive):
    _, y, _ = load_splice(task)
    _, classes, _ = load_splice()
    np.testing.assert_array_equal(y == 1, classes == task)
    assert (y == 1).sum() == positive
    assert set(y.tolist()) == {-1, 1}


def test_donors_have_gt_and_acceptors_ag_in_the_middle():
    X, y, _ = load_splice()
    assert np.mean([x[30:32] == "GT" for x in X[y == "EI"]]) > 0.95
    assert np.mean([x[28:30] == "AG" for x in X[y == "IE"]]) > 0.95


def test_an_unknown_task_is_refused():
    with pytest.raises(ValueError, match=r"`task` must be one of 'all', 'EI', 'IE', got 'N'\."):
        load_splice("N")


def test_splice_sites_are_learned():
    X, y, _ = load_splice("EI")
    rows = np.random.default_rng(0).permutation(len(X))
    train, test = rows[:150], rows[150:450]
    kernels = [WeightedDegree(d) for d in range(1, 21)]
    model = CLMKLClassifier(kernels=kernels, n_clusters=2, evenness=0.6, random_state=0)
    model.fit(X[train], y[train])
    assert model.duality_gap_ <= model.tol
    assert model.kernel_weights_.shape == (2, 20)
    assert model.score(X[test], y[test]) > 0.85
