"""One cell: how parameters are chosen, what a row says, what fails."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from reproduction import protocol
from reproduction.catalogue import EXPERIMENTS, coupled_methods
from reproduction.data import Data, Localized, all_grams, draw, permuted, published_split, splice_sites
from reproduction.protocol import Method, joint_memberships, make_estimator, run_cell, select, time_fit
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from localmkl import CLMKLClassifier, GramStack
from localmkl.datasets import load_splice

SPLICE, PROTEIN = EXPERIMENTS["splice"], replace(EXPERIMENTS["protein"], folds=2)
MKL = Method("MKL, p = 1", "MKL", {"C": (0.1, 10.0)}, {"p": 1.0})
SMOOTH = Method("MKL, p = 2", "MKL", {"C": (0.1, 10.0)}, {"p": 2.0})
CLMKL = Method("CLMKL", "CLMKL", {"C": (0.1, 10.0), "evenness": (0.8, 0.4)}, {"p": 4 / 3})


@pytest.fixture(scope="module")
def data():
    return splice_sites(*load_splice("EI")[:2], n_instances=100)


@pytest.fixture(scope="module")
def task(data):
    return data.task(30, 0)


def fit(task, method, parameters):
    model = make_estimator(task, method.family, 0).set_params(**parameters)
    return model.fit(task.stack[np.ix_(task.train, task.train)], task.y[task.train])


def test_splits_are_disjoint_and_differ_between_repetitions(data, task):
    assert [len(part) for part in (task.train, task.valid, task.test)] == [30, 35, 35]
    order = np.concatenate(permuted(data.y, 30, 0))
    assert sorted(order.tolist()) == list(range(100))
    np.testing.assert_array_equal(task.y, data.y[order])
    np.testing.assert_array_equal(task.stack.to_array()[3], data.grams[3][np.ix_(order, order)])
    assert not np.array_equal(order, np.concatenate(permuted(data.y, 30, 1)))


def test_the_best_on_the_validation_rows_is_scored_on_the_test_rows(task):
    (outcome,) = select(task, [MKL], SPLICE, 0)
    scores = {}
    for C in MKL.grid["C"]:
        model = fit(task, MKL, {"C": C, "p": 1.0})
        scores[C] = [
            roc_auc_score(task.y[rows], model.decision_function(task.stack[np.ix_(rows, task.train)]))
            for rows in (task.valid, task.test)
        ]
    chosen = outcome["parameters"]["C"]
    assert outcome["valid_score"] == pytest.approx(max(valid for valid, _ in scores.values()), abs=0.01)
    assert [outcome["valid_score"], outcome["score"]] == pytest.approx(scores[chosen], abs=0.01)
    assert outcome["gap"] <= outcome["worst_gap"] <= 1e-3
    assert outcome["n_fits"] == 2


@pytest.mark.parametrize("methods", [[CLMKL], coupled_methods({"all": None})[:1]])
def test_labels_of_the_test_rows_have_no_say(task, methods):
    methods = [replace(methods[0], grid={name: values[:2] for name, values in methods[0].grid.items()})]
    flipped = task.y.copy()
    flipped[task.test] *= -1
    (true,) = select(task, methods, SPLICE, 0)
    (false,) = select(replace(task, y=flipped), methods, SPLICE, 0)
    assert [false[name] for name in ("parameters", "valid_score", "gap")] == [
        true[name] for name in ("parameters", "valid_score", "gap")
    ]
    assert false["score"] == pytest.approx(1.0 - true["score"])


def test_methods_searched_together_are_chosen_apart(task):
    together = select(task, [MKL, SMOOTH], SPLICE, 0)
    for method, outcome in zip([MKL, SMOOTH], together, strict=True):
        (alone,) = select(task, [method], SPLICE, 0)
        assert outcome["parameters"]["p"] == method.fixed["p"]
        assert outcome["valid_score"] == pytest.approx(alone["valid_score"], abs=0.01)
        assert outcome["n_fits"] == alone["n_fits"] == 2


def test_of_equal_scores_the_first_candidate_wins(task, monkeypatch):
    monkeypatch.setitem(protocol.METRICS, "AUC", lambda classes, y, decisions: 0.5)
    (outcome,) = select(task, [CLMKL], SPLICE, 0)
    assert outcome["parameters"] == {"C": 0.1, "evenness": 0.8, "p": 4 / 3}


def test_folds_of_the_training_rows_choose_and_all_of_them_train():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(76, 4)), np.arange(76) % 3
    X[:, 0] += y
    grams = np.stack([np.exp(-np.square(X[:, None] - X[None]).sum(axis=2) / width) for width in (1, 9)])
    split = published_split(np.arange(36), np.arange(36, 76))
    task = Data(y, ("narrow", "wide"), split, grams).task(36, 0)
    (outcome,) = select(task, [MKL], PROTEIN, 0)
    cross = task.stack[np.ix_(task.test, task.train)]
    assert outcome["score"] == fit(task, MKL, outcome["parameters"]).score(cross, task.y[task.test])
    assert outcome["n_fits"] == 2 * 2 + 1
    shuffled = np.r_[task.y[:36], np.roll(task.y[36:], 1)]
    (blind,) = select(replace(task, y=shuffled), [MKL], PROTEIN, 0)
    assert blind["valid_score"] == outcome["valid_score"]


@pytest.mark.parametrize("unlabelled", [None, 15, 0])
def test_clusters_of_other_rows_are_those_of_fit_with_unlabelled_rows(task, unlabelled):
    gates = joint_memberships(task, (0.8, 0.4), unlabelled, seed=0)
    parts = {None: (task.valid, task.test), 15: (task.valid[:7], task.test[:8]), 0: ()}[unlabelled]
    rows = np.concatenate([task.train, *parts]).astype(int)
    model = CLMKLClassifier("precomputed", n_clusters=3, evenness=0.4, random_state=0)
    unlabeled = task.stack[np.ix_(rows, rows)] if parts else None
    model.fit(task.stack[np.ix_(task.train, task.train)], task.y[task.train], unlabeled=unlabeled)
    np.testing.assert_allclose(gates[0.4][task.train], model.memberships_, atol=1e-8)
    fresh = model.memberships(task.stack[np.ix_(task.test, rows)])
    np.testing.assert_allclose(gates[0.4][task.test], fresh, atol=1e-8)
    (hard,) = joint_memberships(task, (None,), unlabelled, 0).values()
    assert set(np.unique(hard)) == {0.0, 1.0}


def test_more_rows_than_there_are_without_labels_are_refused(task):
    with pytest.raises(ValueError, match="There are 70 rows without labels in this split, got 71"):
        joint_memberships(task, (0.4,), 71, seed=0)


def test_the_best_single_kernel_is_chosen_by_the_validation_rows(task):
    method = Method("one kernel", "UNIF", {"C": (0.1, 10.0)}, alone=True)
    few = replace(task, stack=GramStack(task.stack.to_array()[[0, 7, 19]].copy()))
    (row,) = run_cell(SPLICE, SimpleNamespace(task=lambda *_: few), [method], 30, 0)
    train, rest = slice(30), slice(30, None)
    scores = {}
    for kernel, gram in enumerate(few.stack.to_array()):
        scale = np.trace(gram[train, train]) / 30 - gram[train, train].mean()
        for C in method.grid["C"]:
            model = SVC(C=C, kernel="precomputed", tol=1e-6).fit(gram[train, train] / scale, task.y[train])
            decisions = model.decision_function(gram[rest, train] / scale)
            parts = (task.valid, decisions[:35]), (task.test, decisions[35:])
            scores[kernel, C] = [roc_auc_score(task.y[rows], part) for rows, part in parts]
    expected = scores[row["parameters"]["kernel"], row["parameters"]["C"]]
    assert row["valid_score"] == pytest.approx(max(valid for valid, _ in scores.values()), abs=0.01)
    assert [row["valid_score"], row["score"]] == pytest.approx(expected, abs=0.01)
    assert row["n_fits"] == 6


def test_a_time_is_that_of_a_certified_fit(task):
    row = time_fit(task, Method("MKL", "MKL", fixed={"p": 2.0}), 0)
    assert row["score"] > 0.0
    assert row["gap"] <= 1e-3


def test_what_fails_is_a_row_and_the_others_run(data, monkeypatch):
    monkeypatch.setitem(protocol.FAMILIES, "MKL", lambda **_: 1 / 0)
    rows = run_cell(SPLICE, data, [MKL, Method("UNIF", "UNIF", {"C": (1.0,)})], 20, 4)
    assert [row["method"] for row in rows] == ["MKL, p = 1", "UNIF"]
    assert rows[0]["error"] == "ZeroDivisionError: division by zero"
    assert 0.5 < rows[1]["score"] <= 1.0
    assert {
        (row["point"], row["repetition"], row["seed"], row["n_train"], row["n_test"]) for row in rows
    } == {(20, 4, 4, 20, 40)}
    (impossible,) = run_cell(SPLICE, data, [MKL], 1000, 0)
    assert "must lie between 2 and 96" in impossible["error"]


def test_a_score_that_is_no_number_is_a_failure(data, monkeypatch):
    monkeypatch.setattr(protocol, "select", lambda *_: [{"score": float("nan")}, {"score": 0.5}])
    failed, good = run_cell(SPLICE, data, [MKL, SMOOTH], 20, 0)
    assert failed["error"] == "ValueError: score must be a finite number, it is nan"
    assert good["score"] == 0.5


def test_generated_data_follow_the_locality_asked_for():
    task = Localized((40, 20, 20)).task(1.0, 3)
    assert (len(task.train), len(task.valid), len(task.test), task.gate_kernel) == (40, 20, 20, 0)
    rows = run_cell(EXPERIMENTS["localized"], Localized((40, 20, 20)), [MKL], 1.0, 3)
    assert rows[0]["score"] <= 1.0


def test_a_draw_has_the_counts_asked_for_and_is_always_the_same():
    y = np.repeat([1, -1], [30, 70])
    rows = draw(y, {1: 10, -1: 20})
    assert len(set(rows.tolist())) == 30
    assert int((y[rows] == 1).sum()) == 10
    np.testing.assert_array_equal(rows, draw(y, {1: 10, -1: 20}))


def test_the_grids_are_those_of_the_paper():
    methods = {method.label: method for method in SPLICE.methods}
    clmkl = methods["CLMKL, p = 4/3"]
    np.testing.assert_allclose(clmkl.grid["C"], 10.0 ** np.arange(-1.0, 2.5, 0.5))
    np.testing.assert_allclose(sorted(clmkl.grid["evenness"]), np.linspace(0.4, 0.8, 8), atol=1e-6)
    assert methods["CLMKL+, p = 4/3"].grid == {**clmkl.grid, "evenness": (1.0, *clmkl.grid["evenness"])}
    images = next(m for m in EXPERIMENTS["images"].methods if m.family == "CLMKL")
    np.testing.assert_allclose(sorted(images.grid["evenness"]), 0.5 + np.arange(6) / 12, atol=1e-6)
    np.testing.assert_allclose(images.grid["C"], 10.0 ** (np.arange(6) / 2))
    assert (EXPERIMENTS["images"].folds, EXPERIMENTS["images"].repetitions) == (10, 11)


def test_kernels_learn_from_the_training_rows_alone():
    from localmkl.kernels import RBF

    X = np.random.default_rng(0).normal(size=(30, 2))
    other = X.copy()
    other[20:] *= 9.0
    first, second = (all_grams([RBF("median")], one, np.arange(20))[0][:20, :20] for one in (X, other))
    np.testing.assert_array_equal(first, second)
