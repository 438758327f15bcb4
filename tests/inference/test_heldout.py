"""Held-out answers: what is said of rows comes from models that have not seen them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from localmkl import (
    CLMKLClassifier,
    GramStack,
    LMKLClassifier,
    MKLClassifier,
    MKLRegressor,
    Views,
    load,
    save,
)
from localmkl.explain import effects, effects_of
from localmkl.inference import HeldOut, decided_on, held_out
from localmkl.kernels import RBF, Linear, Overlap, WeightedDegree
from localmkl.kernels.stack import fit_kernels

COLUMNS = ["age", "crp", "lab", "noise"]


def patients(n, seed=0):
    """Return a table whose outcome depends on age everywhere, and on lab in Basel alone."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({name: rng.normal(size=n) for name in COLUMNS})
    table["sex"] = rng.choice(["f", "m"], n)
    table["hospital"] = rng.choice(["Basel", "Lyon"], n)
    odds = 1.5 * table["age"] - 2.5 * table["lab"] * (table["hospital"] == "Basel")
    return table, np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-odds)), "ill", "healthy")


def model_by_hospital(**settings):
    kernels = [
        Linear(columns=COLUMNS),
        *(Linear(columns=[name]) for name in COLUMNS),
        Overlap(columns=["sex"]),
    ]
    return CLMKLClassifier(kernels, gate="groups", groups="hospital", shared=0.5, loss="log_loss", **settings)


@pytest.fixture(scope="module")
def found():
    table, y = patients(240)
    return held_out(model_by_hospital().fit(table, y), table, y)


def test_every_row_is_decided_once_and_a_fold_is_the_model_fitted_on_the_others(found):
    table, y = patients(240)
    np.testing.assert_array_equal(found.rows, np.arange(240))
    test = found.fold == 1
    again = model_by_hospital().fit(table[~test], y[~test])
    np.testing.assert_allclose(found.decisions[test], again.decision_function(table[test]), atol=1e-4)
    np.testing.assert_allclose(found.contributions[test, 0], again.contributions(table[test]), atol=1e-4)
    assert np.ptp(np.unique(found.fold[y == "ill"], return_counts=True)[1]) <= 2
    assert (
        found.how
        == "Every row was predicted by a model fitted without it (5 folds, stratified by class and group)."
    )


def test_effects_sum_to_one_over_parts_and_kernels(found):
    shares = found.effects()
    np.testing.assert_allclose(shares.shares.sum(), 1.0)
    assert shares.parts == ["shared", "Basel", "Lyon"]
    by_hand = effects_of(
        found.contributions, found.memberships[:, 1:] * 2.0, strata=found.fold, kernels=found.kernels
    )
    np.testing.assert_allclose(shares.within, by_hand.within, atol=1e-6)


def test_what_matters_is_found_where_it_matters_with_its_direction(found):
    sure = {(one.kernel, one.part): one for one in found.matters() if one.sure}
    lab, age = sure["lab", "Basel"], sure["age", "everywhere"]
    assert lab.low < lab.share < lab.high
    assert (lab.direction, age.direction) == (-1, 1)  # for "ill", the second class
    assert found.positive == lab.decision == "ill"
    assert ("lab", "everywhere") not in sure
    assert not [one for one in found.matters() if one.sure and one.kernel in ("noise", "crp", "sex")]


def test_scores_are_pooled_and_rivals_decide_the_same_rows(found):
    y = (patients(240)[1] == "ill").astype(int)
    assert found.positive == "ill"
    assert found.score().value == pytest.approx(roc_auc_score(y, found.decisions))
    names = ["gradient boosting", "logistic regression", "one model for all", "separate models"]
    assert sorted(found.rivals) == names
    difference = found.difference("one model for all")
    assert difference.value == pytest.approx(found.score().value - found.score("one model for all").value)
    assert difference.low > 0.0  # a logistic regression cannot know that lab matters in Basel alone
    assert found.score().value > found.score("logistic regression").value
    by_group = found.by_group()
    assert sum(score.n for score in by_group.values()) == 240
    assert by_group["Basel"].value > by_group["Lyon"].value


def test_probabilities_and_labels_come_from_decisions(found):
    chances = found.probabilities()
    np.testing.assert_array_equal(found.predicted(), np.where(chances > 0.5, "ill", "healthy"))
    assert 0.0 < found.score(metric="brier").value < 0.25
    assert found.probabilities("logistic regression").shape == (240,)


def test_a_record_gives_the_same_answers_also_from_a_file(found, tmp_path):
    table, y = patients(240)
    model = model_by_hospital().fit(table, y)
    model.made_ = {"held_out": found.record()}
    save(model, tmp_path / "model.localmkl")
    again = HeldOut.of(load(tmp_path / "model.localmkl").made_["held_out"])
    assert again.score() == found.score()
    assert again.matters() == found.matters()


def test_ranking_by_weights_names_a_kernel_that_moves_nothing():
    table, y = patients(200)
    kernels = [Linear(columns=["age"]), Linear(columns=["noise"]), RBF(10.0, columns=COLUMNS)]
    model = MKLClassifier(kernels, loss="log_loss", C=1.0)
    with pytest.warns(UserWarning, match="no two rows as alike"):
        model.fit(table[COLUMNS], y)
    found = held_out(model, table[COLUMNS], y, rivals=False)
    assert found.kernels[int(model.kernel_weights_.argmax())] != "age"
    assert found.matters("kernel")[0].kernel == "age"
    assert found.matters("column")[0].kernel == "age"


def test_one_row_more_in_training_does_not_decide_the_rows_of_other_folds():
    table, y = patients(120)
    folds = [(np.arange(60, 120), np.arange(60)), (np.arange(60), np.arange(60, 120))]
    model = MKLClassifier([Linear(columns=COLUMNS)]).fit(table, y)
    before = held_out(model, table, y, folds=folds, rivals=False)
    flipped = np.where(np.arange(120) < 60, np.where(y == "ill", "healthy", "ill"), y)
    after = held_out(model, table, flipped, folds=folds, rivals=False)
    np.testing.assert_allclose(before.decisions[:60], after.decisions[:60])
    assert not np.allclose(before.decisions[60:], after.decisions[60:])
    with pytest.raises(ValueError, match="at most once"):
        held_out(model, table, y, folds=[folds[0], folds[0]])


def test_discovered_clusters_are_matched_with_those_of_the_model():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(160, 3)) + np.where(np.arange(160) % 2, 6.0, -6.0)[:, None] * [1, 0, 0]
    y = np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) + 0.3 * rng.normal(size=160) > 0
    kernels = [Linear(columns=[c]) for c in range(3)]
    model = CLMKLClassifier(kernels, n_clusters=2, evenness=0.5, gate_kernel=0, random_state=3).fit(X, y)
    found = held_out(model, X, y)
    np.testing.assert_array_equal(found.memberships.argmax(axis=1), model.memberships_.argmax(axis=1))
    assert "one model for all" in found.rivals
    assert "separate models" not in found.rivals


@pytest.mark.parametrize("kind", ["classes", "regression"])
def test_several_classes_and_regression(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    kernels = [Linear(), RBF("median")]
    if kind == "classes":
        y = np.array(["a", "b", "c"])[np.argmax(X + 0.3 * rng.normal(size=X.shape), axis=1)]
        found = held_out(MKLClassifier(kernels, loss="log_loss").fit(X, y), X, y)
        assert found.contributions.shape == (120, 3, 1, 2)
        assert found.metric == "accuracy"
        np.testing.assert_allclose(found.probabilities("gradient boosting").sum(axis=1), 1.0)
        best = {one.decision: one.kernel for one in reversed(found.matters())}
        assert best == {"a": "column 0", "b": "column 1", "c": "column 2"}
    else:
        y = 100.0 + 20.0 * X[:, 1] + rng.normal(size=120)
        found = held_out(MKLRegressor(kernels).fit(X, y), X, y)
        assert found.score().metric == "r2"
        assert found.score().value > 0.9
        first = found.matters()[0]
        assert (first.kernel, first.direction, first.sure) == ("column 1", 1, True)
        assert first.low > 0.8  # also of a share near one
        assert max(one.high for one in found.matters()[1:]) < 0.3
        assert sorted(found.rivals) == ["gradient boosting", "ridge regression"]


def test_grams_have_no_simple_rivals_and_sequences_and_views_have():
    rng = np.random.default_rng(0)
    reads = np.array(["".join(rng.choice(list("ACGT"), 8)) for _ in range(80)], dtype=object)
    y = np.array([read[2] in "AC" for read in reads])
    model = MKLClassifier([WeightedDegree(1), WeightedDegree(2)]).fit(reads, y)
    found = held_out(model, reads, y)
    assert found.score("logistic regression").value > 0.9
    assert found.matters()[0].by == "kernel"
    stack = GramStack(
        [kernel(reads) for kernel in fit_kernels([WeightedDegree(1), WeightedDegree(2)], reads)]
    )
    grams = held_out(MKLClassifier("precomputed").fit(stack, y), stack, y)
    np.testing.assert_allclose(grams.decisions, found.decisions, atol=2e-2)
    assert grams.skipped["logistic regression"] == "Gram matrices have no columns."
    table = rng.normal(size=(60, 2))
    views = Views({"reads": reads, "table": (table, np.arange(60))})
    of_views = held_out(
        MKLClassifier([WeightedDegree(1, view="reads"), Linear(view="table")]).fit(views, y), views, y
    )
    assert of_views.columns == ["table: 0", "table: 1"]
    assert of_views.score("logistic regression").value > 0.9


def test_other_methods_have_answers_too():
    table, y = patients(90)
    found = held_out(
        LMKLClassifier([Linear(columns=COLUMNS)], random_state=0, tol=0.1).fit(table, y), table, y
    )
    assert sorted(found.rivals) == ["gradient boosting", "logistic regression"]
    few = MKLClassifier([RBF("median", columns=COLUMNS)], n_components=20, random_state=0).fit(table, y)
    assert held_out(few, table, y, rivals=False, max_rows=40).contributions.shape == (40, 1, 1, 1)


def test_new_rows_are_decided_by_the_model_itself():
    table, y = patients(240)
    new, truth = patients(100, seed=1)
    model = model_by_hospital().fit(table, y)
    found = decided_on(model, new, truth, train=(table, y))
    np.testing.assert_allclose(found.decisions, model.decision_function(new))
    np.testing.assert_allclose(found.effects().within, effects(model, new).within, atol=1e-5)
    assert len(found.rivals) == 4
    assert found.how == "The model predicted 100 rows that it was not fitted on."


def test_columns_of_many_rows_are_looked_at_in_some():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 40))
    y = X[:, 3] + 0.5 * rng.normal(size=700) > 0
    found = held_out(MKLClassifier([Linear()], tol=0.1).fit(X, y), X, y, n_folds=2, rivals=False)
    assert np.isfinite(found.column_parts[..., 0]).sum() == 2 * 250
    first = found.matters()[0]
    assert (first.kernel, first.direction, first.sure) == ("column 3", 1, True)
