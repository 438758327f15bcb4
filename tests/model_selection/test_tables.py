"""Tidy tables, the curve over evenness, nested cross-validation."""

import builtins
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, KFold, cross_validate

from localmkl import CLMKLClassifier, GramStack, MKLClassifier, MKLRegressor
from localmkl.kernels import RBF, Linear
from localmkl.model_selection import (
    MKLSearchCV,
    at_edge,
    evenness_curve,
    nested_cross_validate,
    score_table,
)

KERNELS = [RBF(gamma=0.5), Linear()]
FOLDS = KFold(2, shuffle=True, random_state=0)


def data(n=40):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0.0).astype(int)


@pytest.mark.parametrize("kind", [MKLSearchCV, GridSearchCV])
def test_the_table_has_one_row_for_each_score(kind):
    X, y = data()
    search = kind(
        MKLClassifier(KERNELS),
        [{"C": [0.1, 1.0]}, {"p": [1]}],
        cv=FOLDS,
        scoring=["accuracy", "roc_auc"],
        refit=False,
        return_train_score=True,
    ).fit(X, y)
    table = score_table(search)
    assert isinstance(table, pd.DataFrame)
    assert len(table) == 3 * 2 * 2 * 2
    row = table[(table.C == 1.0) & (table.split == 1) & (table.metric == "roc_auc") & (table.side == "test")]
    assert row.score.item() == search.cv_results_["split1_test_roc_auc"][1]
    assert table.p.isna().sum() == 16


def test_without_pandas_the_table_is_a_dict_of_columns(monkeypatch):
    X, y = data()
    search = MKLSearchCV(MKLClassifier(KERNELS), {"C": [0.1, 1.0]}, cv=FOLDS, refit=False).fit(X, y)
    expected = score_table(search)
    original = builtins.__import__

    def refuse(name, *arguments, **options):
        if name == "pandas":
            raise ImportError(name)
        return original(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    table = score_table(search)
    assert isinstance(table, dict)
    np.testing.assert_array_equal(table["score"], expected["score"])


def test_the_curve_shows_training_and_test_scores_over_evenness_and_cost():
    X, y = data()
    model = CLMKLClassifier(KERNELS, n_clusters=2, random_state=0)
    table = evenness_curve(model, X, y, evenness=[0.5, 0.75, 1.0], C=[0.1, 10.0], cv=FOLDS)
    assert len(table) == 3 * 2 * 2 * 2
    train = table[table.side == "train"].groupby("C").score.mean()
    assert train[10.0] > train[0.1]


@pytest.mark.parametrize("form", ["raw", "stack"])
def test_nested_cross_validation_is_a_search_on_every_outer_fold(form):
    X, y = data()
    rows = X if form == "raw" else GramStack([kernel(X) for kernel in KERNELS])
    model = MKLClassifier(KERNELS if form == "raw" else "precomputed", tol=1e-6)
    search = MKLSearchCV(model, {"C": [0.1, 10.0], "p": [1, 2]}, cv=2, scoring="roc_auc")
    result = nested_cross_validate(search, rows, y, cv=FOLDS, return_estimator=True)
    expected = cross_validate(search, rows, y, cv=FOLDS, return_estimator=True)
    np.testing.assert_allclose(result["test_score"], expected["test_score"], atol=1e-3)
    assert result["best_params"] == [one.best_params_ for one in expected["estimator"]]
    assert result["best_score"].shape == result["fit_time"].shape == (2,)
    assert all(
        one.best_params_ == best for one, best in zip(result["estimator"], result["best_params"], strict=True)
    )


def test_nested_cross_validation_takes_several_metrics_weights_and_a_checkpoint(tmp_path):
    X, y = data()
    weights = np.linspace(0.5, 1.5, len(y))
    search = MKLSearchCV(
        MKLRegressor(KERNELS),
        {"C": [0.1, 10.0]},
        cv=2,
        scoring=["r2", "neg_mean_absolute_error"],
        refit="r2",
        checkpoint=tmp_path / "file",
    )
    first = nested_cross_validate(search, X, y.astype(float), cv=FOLDS, sample_weight=weights)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file.0", "file.1"]
    second = nested_cross_validate(search, X, y.astype(float), cv=FOLDS, sample_weight=weights)
    np.testing.assert_array_equal(first["best_score"], second["best_score"])
    assert {"test_r2", "test_neg_mean_absolute_error"} <= set(first)


def test_a_search_without_a_winner_cannot_be_judged():
    X, y = data()
    with pytest.raises(ValueError, match="must refit the best candidate to be judged, got refit=False"):
        nested_cross_validate(MKLSearchCV(MKLClassifier(), {"C": [1.0]}, refit=False), X, y)


def test_choices_at_an_end_are_named_unless_nothing_lies_beyond():
    tried = [
        {"C": 1.0, "p": 1.0, "evenness": 0.35, "shared": 0.0},
        {"C": 10.0, "p": 2.0, "evenness": 0.5, "shared": 0.5},
    ]
    search = SimpleNamespace(
        estimator=CLMKLClassifier(), cv_results_={"params": tried}, best_params_=tried[0]
    )
    assert at_edge(search) == {"C": (1.0, "smallest")}
    search.best_params_ = tried[1]
    assert at_edge(search) == {name: (tried[1][name], "largest") for name in tried[1]}
    assert at_edge(SimpleNamespace(cv_results_={"params": tried})) == {}
