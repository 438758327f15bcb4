"""One cell: how parameters are chosen, what a row says."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from localmkl import CLMKLClassifier, GramStack
from localmkl.estimators import gated as gated_module
from localmkl.experiments import EXPERIMENTS
from localmkl.experiments import protocol as protocol_module
from localmkl.experiments.protocol import (
    Method,
    accuracy,
    area_under_curve,
    joint_memberships,
    make_estimator,
    run_cell,
    select_by_folds,
    select_by_validation,
    time_fit,
)
from localmkl.experiments.sources import Localized, load_generated_classes, load_uci_splice
from localmkl.solvers.gated import solve_gated

MKL = Method("MKL, p = 1", "MKL", {"C": (0.1, 10.0)}, {"p": 1.0})
SMOOTH = Method("MKL, p = 2", "MKL", {"C": (0.1, 10.0)}, {"p": 2.0})
CLMKL = Method("CLMKL", "CLMKL", {"C": (0.1, 10.0), "evenness": (0.8, 0.4)}, {"p": 4 / 3})


@pytest.fixture(scope="module")
def task():
    return load_uci_splice(100).task(30, 0)


@pytest.fixture(scope="module")
def classes():
    return load_generated_classes(36, 40, 3).task(36, 0)


def _fit(task, method, parameters):
    square = task.stack[np.ix_(task.train, task.train)]
    model = make_estimator(task, method.family, 0).set_params(**parameters)
    return model.fit(square, task.y[task.train])


def test_the_best_on_the_validation_rows_is_scored_on_the_test_rows(task):
    (outcome,) = select_by_validation(task, [MKL], area_under_curve, 0)
    scores = {}
    for C in MKL.grid["C"]:
        model = _fit(task, MKL, {"C": C, "p": 1.0})
        scores[C] = [
            roc_auc_score(task.y[rows], model.decision_function(task.stack[np.ix_(rows, task.train)]))
            for rows in (task.valid, task.test)
        ]
    chosen = outcome["parameters"]["C"]
    assert outcome["valid_score"] == pytest.approx(max(valid for valid, _ in scores.values()), abs=0.01)
    assert [outcome["valid_score"], outcome["score"]] == pytest.approx(scores[chosen], abs=0.01)
    assert outcome["gap"] <= outcome["worst_gap"] <= 1e-3
    assert outcome["n_fits"] == 2


def test_every_candidate_is_certified_where_kernels_have_low_rank():
    task = Localized().task(0.0, 2)
    method = Method("MKL", "MKL", {"C": (0.1, 10**-0.5)}, {"p": 1.0})
    (outcome,) = select_by_validation(task, [method], accuracy, 2)
    assert outcome["worst_gap"] <= 1e-3


def test_labels_of_the_test_rows_have_no_say(task):
    flipped = task.y.copy()
    flipped[task.test] *= -1
    (true,) = select_by_validation(task, [CLMKL], area_under_curve, 0)
    (false,) = select_by_validation(replace(task, y=flipped), [CLMKL], area_under_curve, 0)
    assert false["parameters"] == true["parameters"]
    assert false["valid_score"] == true["valid_score"]
    assert false["score"] == pytest.approx(1.0 - true["score"])


def test_methods_searched_together_are_chosen_apart(task):
    together = select_by_validation(task, [MKL, SMOOTH], area_under_curve, 0)
    for method, outcome in zip([MKL, SMOOTH], together, strict=True):
        (alone,) = select_by_validation(task, [method], area_under_curve, 0)
        assert outcome["parameters"]["p"] == method.fixed["p"]
        assert outcome["valid_score"] == pytest.approx(alone["valid_score"], abs=0.01)
        assert outcome["n_fits"] == alone["n_fits"] == 2


def test_of_equal_scores_the_first_candidate_wins(task):
    def constant(model, y, decisions):
        return 0.5

    (outcome,) = select_by_validation(task, [CLMKL], constant, 0)
    assert outcome["parameters"] == {"C": 0.1, "evenness": 0.8, "p": 4 / 3}


def test_folds_of_the_training_rows_choose_and_all_of_them_train(classes):
    (outcome,) = select_by_folds(classes, [MKL], accuracy, 2, 0)
    model = _fit(classes, MKL, outcome["parameters"])
    cross = classes.stack[np.ix_(classes.test, classes.train)]
    assert outcome["score"] == model.score(cross, classes.y[classes.test])
    assert outcome["n_fits"] == 2 * 2 + 1
    shuffled = classes.y.copy()
    shuffled[classes.test] = np.roll(shuffled[classes.test], 1)
    (blind,) = select_by_folds(replace(classes, y=shuffled), [MKL], accuracy, 2, 0)
    assert blind["parameters"] == outcome["parameters"]
    assert blind["valid_score"] == outcome["valid_score"]


@pytest.mark.parametrize("unlabelled", [None, 15])
def test_transductive_clusters_are_those_of_fit_with_unlabelled_rows(task, unlabelled):
    method = replace(CLMKL, unlabelled=unlabelled)
    gates = joint_memberships(task, method.grid["evenness"], unlabelled, seed=0)
    assert list(gates) == [0.8, 0.4]
    others = (task.valid, task.test) if unlabelled is None else (task.valid[:7], task.test[:8])
    rows = np.concatenate([task.train, *others])
    model = CLMKLClassifier("precomputed", n_clusters=3, evenness=0.4, random_state=0)
    model.fit(
        task.stack[np.ix_(task.train, task.train)],
        task.y[task.train],
        unlabeled=task.stack[np.ix_(rows, rows)],
    )
    np.testing.assert_allclose(gates[0.4][task.train], model.memberships_, atol=1e-8)
    fresh = model.memberships(task.stack[np.ix_(task.test, rows)])
    np.testing.assert_allclose(gates[0.4][task.test], fresh, atol=1e-8)
    (outcome,) = select_by_validation(task, [method], area_under_curve, 0)
    assert outcome["parameters"]["evenness"] in (0.4, 0.8)
    assert outcome["n_fits"] == 4


def test_clusters_with_no_unlabelled_rows_are_those_of_the_training_rows(task):
    gate = joint_memberships(task, (0.4,), 0, seed=0)[0.4]
    model = _fit(task, CLMKL, {"evenness": 0.4, "p": 4 / 3})
    np.testing.assert_allclose(gate[task.train], model.memberships_, atol=1e-8)
    fresh = model.memberships(task.stack[np.ix_(task.test, task.train)])
    np.testing.assert_allclose(gate[task.test], fresh, atol=1e-8)


def test_more_rows_than_there_are_without_labels_are_refused(task):
    with pytest.raises(ValueError, match="There are 70 rows without labels in this split, got 71"):
        joint_memberships(task, (0.4,), 71, seed=0)


def test_hard_transductive_clusters_are_hard(task):
    (gate,) = joint_memberships(task, (None,), None, 0).values()
    assert set(np.unique(gate)) == {0.0, 1.0}


@pytest.mark.parametrize("unlabelled", [0, None])
def test_candidates_that_two_methods_share_are_fitted_once(task, monkeypatch, unlabelled):
    narrow = replace(CLMKL, unlabelled=unlabelled)
    wide = replace(narrow, label="CLMKL+", grid={"C": (0.1, 10.0), "evenness": (1.0, 0.8, 0.4)})
    tried = []

    class Counting(protocol_module.MKLSearchCV):
        def __init__(self, estimator, param_grid, *, scoring, cv, refit, error_score):
            tried.extend(param_grid)
            super().__init__(
                estimator, param_grid, scoring=scoring, cv=cv, refit=refit, error_score=error_score
            )

    monkeypatch.setattr(protocol_module, "MKLSearchCV", Counting)
    together = select_by_validation(task, [narrow, wide], area_under_curve, 0)
    assert len(tried) == 6
    assert [outcome["n_fits"] for outcome in together] == [4, 6]
    for method, outcome in zip((narrow, wide), together, strict=True):
        (alone,) = select_by_validation(task, [method], area_under_curve, 0)
        assert outcome["valid_score"] == pytest.approx(alone["valid_score"], abs=0.01)
    assert together[1]["valid_score"] >= together[0]["valid_score"]


def test_the_best_kernel_by_itself_is_chosen_by_the_validation_rows(task):
    method = Method("one kernel", "UNIF", {"C": (0.1, 10.0)}, alone=True)
    few = replace(task, stack=GramStack(task.stack.grams[[0, 7, 19]].copy()))
    (row,) = run_cell(EXPERIMENTS["splice"], SimpleNamespace(task=lambda *_: few), [method], 30, 0)
    square, rest = (np.ix_(rows, task.train) for rows in (task.train, np.r_[task.valid, task.test]))
    scores = {}
    for kernel, gram in enumerate(few.stack.grams):
        for C in method.grid["C"]:
            scale = np.trace(gram[square]) / len(task.train) - gram[square].mean()
            model = SVC(C=C, kernel="precomputed", tol=1e-6).fit(gram[square] / scale, task.y[task.train])
            decisions = model.decision_function(gram[rest] / scale)
            n = len(task.valid)
            scores[kernel, C] = [
                roc_auc_score(task.y[rows], part)
                for rows, part in ((task.valid, decisions[:n]), (task.test, decisions[n:]))
            ]
    valid, test = scores[row["parameters"]["kernel"], row["parameters"]["C"]]
    assert row["valid_score"] == pytest.approx(max(valid for valid, _ in scores.values()), abs=0.01)
    assert [row["valid_score"], row["score"]] == pytest.approx([valid, test], abs=0.01)
    assert row["n_fits"] == 6


def test_an_evenness_of_one_makes_clmkl_the_same_as_mkl(task):
    even = replace(CLMKL, grid={"C": (1.0,), "evenness": (1.0,)})
    whole = Method("MKL", "MKL", {"C": (1.0,)}, {"p": 4 / 3})
    (clmkl,) = select_by_validation(task, [even], area_under_curve, 0)
    (mkl,) = select_by_validation(task, [whole], area_under_curve, 0)
    assert clmkl["score"] == pytest.approx(mkl["score"], abs=0.01)


def test_a_time_is_that_of_a_certified_fit(task):
    for solver in ("newton", "alternating"):
        row = time_fit(task, Method("MKL", "MKL", fixed={"p": 2.0, "solver": solver}), 0)
        assert row["score"] > 0.0
        assert row["gap"] <= 1e-3


def test_what_fails_is_a_row_and_the_others_run(monkeypatch):
    def broken(**parameters):
        raise RuntimeError("out of order")

    monkeypatch.setitem(protocol_module.FAMILIES, "MKL", broken)
    data = load_uci_splice(60)
    rows = run_cell(EXPERIMENTS["splice"], data, [MKL, Method("UNIF", "UNIF", {"C": (1.0,)})], 20, 4)
    assert [row["method"] for row in rows] == ["MKL, p = 1", "UNIF"]
    assert rows[0]["error"] == "RuntimeError: out of order"
    assert 0.5 < rows[1]["score"] <= 1.0
    assert {(row["point"], row["repetition"], row["n_train"]) for row in rows} == {(20, 4, 20)}
    assert {row["n_test"] for row in rows} == {20}


@pytest.mark.filterwarnings("ignore")
def test_one_fit_that_fails_fails_its_methods_alone(monkeypatch):
    def fragile(problem, *arguments, **options):
        if problem.C.max() > 1.0:
            raise RuntimeError("too much")
        return solve_gated(problem, *arguments, **options)

    monkeypatch.setattr(gated_module, "solve_gated", fragile)
    methods = [Method("LMKL", "LMKL", {"C": (0.1, 10.0)}), Method("UNIF", "UNIF", {"C": (1.0,)})]
    rows = run_cell(EXPERIMENTS["splice"], load_uci_splice(60), methods, 20, 0)
    assert "too much" in rows[0]["error"]
    assert 0.5 < rows[1]["score"] <= 1.0


def test_a_score_that_is_no_number_fails_its_method_alone(monkeypatch):
    outcomes = [{"score": float("nan"), "gap": 0.0}, {"score": 0.5, "gap": 0.0}]
    monkeypatch.setattr(protocol_module, "_run_batch", lambda *_: outcomes)
    methods = [MKL, replace(MKL, label="MKL, p = 2")]
    failed, good = run_cell(EXPERIMENTS["splice"], load_uci_splice(60), methods, 20, 0)
    assert failed["error"] == "ValueError: score must be a finite number, it is nan"
    assert "score" not in failed
    assert good["score"] == 0.5


def test_a_split_that_cannot_be_made_is_a_row_for_each_method():
    rows = run_cell(EXPERIMENTS["splice"], load_uci_splice(60), [MKL], 1000, 0)
    assert [(row["method"], row["point"]) for row in rows] == [("MKL, p = 1", 1000)]
    assert "error" in rows[0]


def test_threads_are_given_back():
    import numba

    before = numba.get_num_threads()
    with protocol_module.one_thread():
        assert numba.get_num_threads() == 1
    assert numba.get_num_threads() == before


def test_the_grids_are_those_of_the_paper():
    splice = EXPERIMENTS["splice"]
    clmkl = next(method for method in splice.methods if method.label == "CLMKL, p = 4/3")
    np.testing.assert_allclose(clmkl.grid["C"], 10.0 ** np.arange(-1.0, 2.5, 0.5))
    np.testing.assert_allclose(sorted(clmkl.grid["evenness"]), np.linspace(0.4, 0.8, 8), atol=1e-6)
    plus = next(method for method in splice.methods if method.label == "CLMKL+, p = 4/3")
    assert plus.grid == {**clmkl.grid, "evenness": (1.0, *clmkl.grid["evenness"])}
    own = [m for m in splice.methods if not (m.family == "LMKL" or m.alone or m.label.startswith("CLMKL+"))]
    fits = sum(np.prod([len(v) for v in m.grid.values()]) for m in own)
    assert fits * len(splice.points) * splice.repetitions == 97650
    protein = next(m for m in EXPERIMENTS["protein"].methods if m.label == "CLMKL, p = 1.2")
    np.testing.assert_allclose(sorted(protein.grid["evenness"]), np.linspace(0.4, 0.7, 8), atol=1e-6)
    images = next(m for m in EXPERIMENTS["images"].methods if m.family == "CLMKL")
    np.testing.assert_allclose(sorted(images.grid["evenness"]), 0.5 + np.arange(6) / 12, atol=1e-6)
    np.testing.assert_allclose(images.grid["C"], 10.0 ** (np.arange(6) / 2))
    assert EXPERIMENTS["images"].folds == 10
    assert EXPERIMENTS["images"].repetitions == 11
