"""Methods on shared splits: scores and intervals are those of the tests that they are made of."""

import numpy as np
import pytest
from sklearn.model_selection import ShuffleSplit

from localmkl import CLMKLClassifier, GramStack, MKLClassifier, UniformMKLClassifier
from localmkl.datasets import make_localized
from localmkl.inference import compare_methods, locality_test
from localmkl.kernels import Linear
from localmkl.model_selection import MKLSearchCV


@pytest.fixture(scope="module")
def data():
    return make_localized(90, random_state=0)


@pytest.fixture(scope="module")
def models(data):
    kernels = [Linear(columns=view) for view in data.views]
    local = CLMKLClassifier(kernels, gate_kernel=0, evenness=0.4, random_state=0)
    return {"UNIF": UniformMKLClassifier(kernels), "MKL": MKLClassifier(kernels), "CLMKL": local}


def test_it_agrees_with_the_test_of_locality(data, models):
    splits = list(ShuffleSplit(4, test_size=0.2, random_state=0).split(data.X))
    found = compare_methods(models, data.X, data.y, reference="MKL", cv=splits, scoring="roc_auc")
    fitted = models["CLMKL"].fit(data.X, data.y)
    test = locality_test(fitted, data.X, data.y, cv=splits, n_permutations=0, scoring="roc_auc")
    # A tolerance of one pair of rows in a fold: solvers stop at a gap, not at the optimum.
    assert np.allclose(found.scores[:, 1], test.global_scores, atol=0.02)
    assert np.isclose(found.difference[1], 0.0)
    assert (found.p_value[2] < 0.05) == (found.low[2] > 0.0)
    assert np.allclose(found.difference[2], np.mean(found.scores[:, 2] - found.scores[:, 1]))


def test_workers_searches_and_files_of_finished_work_give_the_same(data, models, tmp_path):
    searched = {
        name: MKLSearchCV(model, {"C": [0.1, 1.0]}, cv=2, scoring="roc_auc", random_state=0)
        for name, model in models.items()
        if name != "UNIF"
    }
    options = {"n_splits": 2, "random_state": 0, "scoring": "roc_auc"}
    first = compare_methods(searched, data.X, data.y, **options, checkpoint=tmp_path / "work")
    again = compare_methods(searched, data.X, data.y, **options, checkpoint=tmp_path / "work")
    spread = compare_methods(searched, data.X, data.y, **options, n_jobs=2)
    assert np.array_equal(first.scores, again.scores)
    assert np.array_equal(first.scores, spread.scores)


def test_a_stack_of_grams_gives_what_its_rows_give(data, models):
    stack = GramStack(np.stack([data.X[:, view] @ data.X[:, view].T for view in data.views]))
    rows = {"UNIF": models["UNIF"], "MKL": models["MKL"]}
    grams = {"UNIF": UniformMKLClassifier("precomputed"), "MKL": MKLClassifier("precomputed")}
    options = {"n_splits": 3, "random_state": 0}
    found = compare_methods(grams, stack, data.y, **options)
    assert np.allclose(found.scores, compare_methods(rows, data.X, data.y, **options).scores, atol=1e-2)
    assert np.array_equal(found.scores, compare_methods(grams, stack, data.y, **options, n_jobs=2).scores)


def test_one_kernel_is_a_search_among_them():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    X = np.column_stack([y + 0.3 * rng.normal(size=80), rng.normal(size=(80, 20))])
    kernels = [Linear(columns=[0]), Linear(columns=slice(1, 21))]
    one = MKLSearchCV(UniformMKLClassifier(), {"kernels": [[kernel] for kernel in kernels]}, cv=3)
    found = compare_methods(
        {"MKL": MKLClassifier(kernels, p=2), "ONE": one}, X, y, n_splits=4, scoring="roc_auc", random_state=0
    )
    alone = compare_methods(
        {"a": UniformMKLClassifier(kernels[:1]), "b": UniformMKLClassifier(kernels[1:])},
        *(X, y),
        n_splits=4,
        scoring="roc_auc",
        random_state=0,
    )
    np.testing.assert_allclose(found.scores[:, 1], alone.scores[:, 0])


def test_wrong_arguments_are_said(data, models):
    with pytest.raises(ValueError, match="`models` must hold two models or more to compare, got 1"):
        compare_methods({"MKL": models["MKL"]}, data.X, data.y)
    with pytest.raises(ValueError, match="`reference` must be one of UNIF, MKL, CLMKL, got 'SVM'"):
        compare_methods(models, data.X, data.y, reference="SVM")
    with pytest.raises(ValueError, match="`X` and `y` must have as many rows, got 90 and 80"):
        compare_methods(models, data.X, data.y[:80])
