"""Known groups in the place of clusters."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, LeaveOneGroupOut, cross_val_predict

from localmkl import CLMKLClassifier, GramStack, HLMKLClassifier, HLMKLRegressor, MKLClassifier
from localmkl.datasets import make_localized
from localmkl.explain import training_rows
from localmkl.kernels import RBF, Linear, Spectrum
from localmkl.model_selection import MKLSearchCV, nested_cross_validate
from localmkl.persistence import load, save


def data(n=90):
    X, y = make_localized(n, random_state=0)[:2]
    return X, y, np.array(["human", "mouse", "plant"])[np.arange(n) % 3]


def grouped(**parameters):
    return HLMKLClassifier(gate="groups", **parameters)


def as_frame(X, groups):
    frame = pd.DataFrame(X, columns=[f"c{place}" for place in range(X.shape[1])])
    frame.insert(1, "organism", groups)
    return frame


def test_nothing_shared_is_a_problem_of_its_own_for_every_group():
    rng = np.random.default_rng(0)
    half, groups = rng.normal(size=(60, 4)), np.tile(np.arange(60) % 2, 2)
    target = np.sign(half[:, 0] * (groups[:60] - 0.5) + 0.3 * rng.normal(size=60))
    X, y = np.vstack([half, -half]), np.concatenate([target, -target])  # odd: every intercept is zero
    kernels = [Linear(columns=[0, 1]), Linear(columns=[2, 3])]
    options = {"kernels": kernels, "loss": "squared_hinge", "normalize": None, "tol": 1e-11, "C": 0.7}
    joint = grouped(**options).fit(X, y, groups=groups)
    assert abs(joint.intercept_) < 1e-6
    for group in (0, 1):
        own = groups == group
        alone = MKLClassifier(**options).fit(X[own], y[own])
        np.testing.assert_allclose(
            joint.decision_function(X[own], groups=groups[own]), alone.decision_function(X[own]), atol=1e-6
        )
        np.testing.assert_allclose(joint.kernel_weights_[group], alone.kernel_weights_[0], atol=1e-5)


def test_a_column_and_an_array_of_groups_are_the_same():
    X, y, groups = data()
    by_array = grouped(shared=0.4).fit(X, y, groups=groups)
    frame = as_frame(X, groups)
    by_name = grouped(shared=0.4, groups="organism").fit(frame, y)
    assert by_array.cluster_names_ == by_name.cluster_names_ == ["shared", "human", "mouse", "plant"]
    expected = by_array.decision_function(X, groups=groups)
    np.testing.assert_allclose(by_name.decision_function(frame), expected, atol=1e-10)
    numbers = np.column_stack([X, np.arange(len(X)) % 3])
    by_number = grouped(shared=0.4, groups=-1).fit(numbers, y)
    np.testing.assert_allclose(by_number.decision_function(numbers), expected, atol=1e-10)
    for model, rows in ((by_array, None), (by_name, frame), (by_number, numbers)):
        kept = training_rows(model)
        assert rows is None or np.shape(kept) == rows.shape
        np.testing.assert_allclose(model.decision_function(kept), expected, atol=1e-10)


def test_groups_that_are_new_get_the_shared_part_and_equal_shares():
    X, y, groups = data()
    model = grouped(shared=0.4).fit(X, y, groups=groups)
    with pytest.warns(UserWarning, match=r"not seen \(zebra\); they get the shared part") as caught:
        memberships = model.memberships(X[:3], groups=["mouse", "zebra", None])
    assert len(caught) == 1
    np.testing.assert_allclose(
        memberships, [[0.4, 0, 0.6, 0], [0.4, 0.2, 0.2, 0.2], [0.4, 0.2, 0.2, 0.2]], atol=1e-12
    )


@pytest.mark.parametrize("kind", ["matrix", "frame", "function"])
def test_similar_groups_belong_to_each_other(kind):
    X, y, groups = data()
    similar = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
    names = ["human", "mouse", "plant"]
    given = {
        "matrix": similar,
        "frame": pd.DataFrame(similar, index=names, columns=names).iloc[::-1, [2, 0, 1]],
        "function": lambda some, others: [
            [similar[names.index(a), names.index(b)] for b in others] for a in some
        ],
    }[kind]
    model = CLMKLClassifier(gate="groups", gate_kernel=given, shared=0.5).fit(X, y, groups=groups)
    np.testing.assert_allclose(
        model.memberships(X[:1], groups=["human"]), [[0.5, 1 / 3, 1 / 6, 0.0]], atol=1e-12
    )


def test_sequences_and_grams_take_groups_too(tmp_path):
    X, y, groups = data(60)
    sequences = ["".join("ACGT"[int(abs(10 * value)) % 4] for value in np.repeat(row, 4)) for row in X]
    model = grouped(shared=0.5, kernels=[Spectrum(2), Spectrum(3)]).fit(sequences, y, groups=groups)
    assert model.predict(sequences[:5], groups=groups[:5]).shape == (5,)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(
        load(tmp_path / "model").decision_function(sequences, groups=groups),
        model.decision_function(sequences, groups=groups),
    )
    stack = GramStack([kernel(X) for kernel in (Linear().fit(X), RBF().fit(X))])
    train, new = np.arange(40), np.arange(40, 60)
    on_grams = grouped(shared=0.5, kernels="precomputed").fit(
        stack[np.ix_(train, train)], y[train], groups=groups[:40]
    )
    on_rows = grouped(shared=0.5, kernels=[Linear(), RBF(gamma=RBF().fit(X).gamma_)]).fit(
        X[:40], y[:40], groups=groups[:40]
    )
    np.testing.assert_allclose(
        on_grams.decision_function(stack[np.ix_(new, train)], groups=groups[new]),
        on_rows.decision_function(X[new], groups=groups[new]),
        atol=1e-3,
    )


@pytest.mark.parametrize("folds", [GroupKFold(3), LeaveOneGroupOut(), 3], ids=["groups", "one", "rows"])
def test_searches_hand_groups_to_folds_and_to_the_gate(folds):
    X, y, groups = data(60)
    grid = {"shared": [0.3, 1.0], "C": [1.0, 10.0]}
    model = grouped(tol=1e-7)
    ours = MKLSearchCV(model, grid, cv=folds).fit(X, y, groups=groups)
    frame = as_frame(X, groups)
    theirs = GridSearchCV(clone(model).set_params(groups="organism"), grid, cv=folds)
    for_folds = {} if folds == 3 else {"groups": groups}
    with pytest.warns(UserWarning, match="not seen") if folds != 3 else nullcontext():
        theirs.fit(frame, y, **for_folds)
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=1e-9
    )
    np.testing.assert_array_equal(ours.predict(X, groups=groups), theirs.predict(frame))
    assert ours.decision_function(X, groups=groups).shape == (60,)
    assert not hasattr(ours, "predict_proba")


def test_searches_have_probabilities_of_rows_with_groups():
    X, y, groups = data(60)
    search = MKLSearchCV(grouped(loss="log_loss"), {"shared": [0.3, 1.0]}, cv=2).fit(X, y, groups=groups)
    chances = search.predict_proba(X, groups=groups)
    np.testing.assert_array_equal(chances, search.best_estimator_.predict_proba(X, groups=groups))
    np.testing.assert_allclose(search.predict_log_proba(X, groups=groups), np.log(chances))


def test_whole_searches_are_judged_with_their_groups():
    X, y, groups = data(60)
    search = MKLSearchCV(grouped(), {"shared": [0.3, 1.0]}, cv=2)
    found = nested_cross_validate(search, X, y, cv=3, groups=groups)
    assert np.isfinite(found["test_score"]).all()
    frame = as_frame(X, groups)
    assert len(cross_val_predict(grouped(groups="organism", shared=0.5), frame, y, cv=3)) == 60


@pytest.mark.long
def test_workers_and_checkpoints_know_the_groups(tmp_path):
    X, y, groups = data(60)
    stack = GramStack([kernel(X) for kernel in (Linear().fit(X), RBF().fit(X))])
    grid, model = {"shared": [0.3, 0.6]}, grouped(kernels="precomputed")
    here = MKLSearchCV(model, grid, cv=2, refit=False).fit(stack, y, groups=groups)
    there = MKLSearchCV(model, grid, cv=2, refit=False, n_jobs=2, checkpoint=tmp_path / "work")
    there.fit(stack, y, groups=groups)
    np.testing.assert_allclose(
        here.cv_results_["mean_test_score"], there.cv_results_["mean_test_score"], atol=1e-9
    )
    with pytest.raises(ValueError, match="groups"):
        there.fit(stack, y, groups=groups[::-1])


@pytest.mark.parametrize(
    ("parameters", "given", "message"),
    [
        ({}, {}, "gate='groups' needs the group of every row"),
        ({}, {"groups": ["a", "b"]}, "must name a group for each of 30 rows, got 2"),
        ({}, {"groups": ["a", None] * 15}, "every training row, got none in row 1"),
        ({"groups": "organism"}, {}, "must be one of the columns 0, 1"),
        ({"gate": "kmeans"}, {"groups": ["a", "b"] * 15}, "belong to a model with gate='groups'"),
        ({"gate": "kmeans", "groups": 0}, {}, "`groups` needs gate='groups', got 'kmeans'"),
        ({"gate_kernel": np.ones((3, 3))}, {"groups": ["a", "b"] * 15}, "each of 2 groups, got shape"),
        ({"gate_kernel": -np.eye(2)}, {"groups": ["a", "b"] * 15}, "none negative"),
    ],
)
def test_what_is_wrong_with_groups_is_said(parameters, given, message):
    X = data(30)[0]
    with pytest.raises(ValueError, match=message):
        HLMKLRegressor(**{"gate": "groups", **parameters}).fit(X, np.arange(30.0), **given)


def test_prediction_without_groups_says_what_is_missing():
    X, y, groups = data(30)
    model = grouped().fit(X, y, groups=groups)
    with pytest.raises(ValueError, match="needs the group of every row"):
        model.predict(X)


def test_a_model_that_names_a_column_takes_no_groups_beside_it():
    X, y, groups = data(30)
    frame = as_frame(X, groups)
    model = grouped(groups="organism").fit(frame, y)
    for call in (model.predict, model.decision_function, model.memberships, model.contributions):
        with pytest.raises(ValueError, match="no column of them, got gate='groups' and groups='organism'"):
            call(frame, groups=groups)


def test_groups_of_folds_are_not_those_of_a_gate_that_names_a_column():
    X, y, organisms = data(60)
    frame, patients = as_frame(X, organisms), np.arange(60) // 2
    search = MKLSearchCV(grouped(groups="organism"), {"shared": [0.3, 0.6]}, cv=GroupKFold(3))
    search.fit(frame, y, groups=patients)
    assert search.best_estimator_.cluster_names_ == ["shared", "human", "mouse", "plant"]
    folds = [(train, test) for train, test in GroupKFold(3).split(frame, y, patients)]
    alone = clone(search).set_params(cv=folds).fit(frame, y)
    assert search.best_score_ == alone.best_score_
    judged = nested_cross_validate(search, frame, y, cv=GroupKFold(3), groups=patients)
    assert np.isfinite(judged["test_score"]).all()
