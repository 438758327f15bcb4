"""Scores and their intervals."""

import numpy as np
import pytest
from sklearn import metrics

from localmkl.inference.rivals import encoded, rival_table, simple_rivals
from localmkl.inference.scores import score_of

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, 200)
F = RNG.normal(size=200) + Y


def test_values_are_those_of_scikit_learn():
    chances = 1.0 / (1.0 + np.exp(-F))
    wanted = {
        "roc_auc": metrics.roc_auc_score(Y, F),
        "accuracy": metrics.accuracy_score(Y, F > 0),
        "balanced_accuracy": metrics.balanced_accuracy_score(Y, F > 0),
        "log_loss": metrics.log_loss(Y, chances),
        "brier": metrics.brier_score_loss(Y, chances),
    }
    for name, value in wanted.items():
        assert score_of(name, Y, [F], n_classes=2).value == pytest.approx(value)
    y, f = F, F + RNG.normal(size=200)
    assert score_of("r2", y, [f], n_classes=0).value == pytest.approx(metrics.r2_score(y, f))
    assert score_of("rmse", y, [f], n_classes=0).value == pytest.approx(metrics.root_mean_squared_error(y, f))
    loss = metrics.mean_pinball_loss(y, f, alpha=0.8)
    assert score_of("pinball", y, [f], n_classes=0, quantile=0.8).value == pytest.approx(loss)


@pytest.mark.parametrize("metric", ["roc_auc", "accuracy", "balanced_accuracy", "brier", "r2", "rmse"])
def test_intervals_have_the_width_of_the_bootstrap(metric):
    y, other = (F + RNG.normal(size=200) if metric in ("r2", "rmse") else Y), F + RNG.normal(size=200)
    n_classes = 0 if metric in ("r2", "rmse") else 2
    draws = RNG.integers(0, 200, (400, 200))
    for decisions in ([F], [F, other]):
        found = score_of(metric, y, decisions, n_classes=n_classes)
        again = [
            score_of(metric, y[d], [one[d] for one in decisions], n_classes=n_classes).value for d in draws
        ]
        assert found.high - found.low == pytest.approx(2 * 1.96 * np.std(again), rel=0.25)
        assert found.low < found.value < found.high


def test_a_perfect_score_is_no_certainty_and_one_class_has_no_curve():
    y = np.repeat([0, 1], 10)
    perfect = score_of("roc_auc", y, [y - 0.5], n_classes=2)
    assert (perfect.value, perfect.high, perfect.events) == (1.0, 1.0, 10)
    assert perfect.low == pytest.approx(0.7)
    assert np.isnan(score_of("roc_auc", y[:10], [y[:10] - 0.5], n_classes=2).value)


def test_simple_models_are_left_out_where_they_would_take_long():
    table = rival_table(np.zeros((20, 1500)))
    fits, skipped = simple_rivals(table, 2)
    assert list(fits) == ["logistic regression"]
    assert skipped == {"gradient boosting": "It would take long on 1,500 columns."}
    assert not simple_rivals(table, 2, most_cells=100)[0]


def test_columns_are_filled_and_scaled_by_training_rows_alone():
    table = rival_table(np.array([[0.0, np.nan], [2.0, 5.0], [100.0, np.nan]]), np.array(["a", "b", "z"]))
    known, new = encoded(table, np.array([0, 1]), np.array([2]))
    np.testing.assert_allclose(known, [[-1, 0, 1, 0], [1, 0, 0, 1]])
    np.testing.assert_allclose(new, [[99, 0, 0, 0]])
