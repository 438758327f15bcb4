"""Probabilities of models with the log loss; without it there are none."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV

from localmkl import CLMKLClassifier, LMKLClassifier, MKLClassifier, UniformMKLClassifier
from localmkl.datasets import make_localized
from localmkl.estimators.probabilities import log_probabilities, probabilities
from localmkl.kernels import Linear
from localmkl.model_selection import MKLSearchCV
from localmkl.solvers.losses import LogLoss

X, Y = make_localized(90, random_state=0)[:2]


def three_classes(n=90, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.array(["a", "b", "c"])[np.argmax(X + 0.5 * rng.normal(size=X.shape), axis=1)]


@pytest.mark.parametrize("cls", [UniformMKLClassifier, MKLClassifier, CLMKLClassifier])
def test_one_linear_kernel_has_the_probabilities_of_logistic_regression(cls):
    options = {"n_clusters": 1} if cls is CLMKLClassifier else {}
    model = cls([Linear()], loss="log_loss", C=0.7, normalize=None, tol=1e-9, **options).fit(X, Y)
    reference = LogisticRegression(C=0.7, tol=1e-10, max_iter=1000).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), reference.decision_function(X), rtol=1e-4)
    np.testing.assert_allclose(model.predict_proba(X), reference.predict_proba(X), rtol=1e-4)
    np.testing.assert_allclose(model.predict_log_proba(X), reference.predict_log_proba(X), rtol=1e-4)


@pytest.mark.parametrize("cls", [MKLClassifier, CLMKLClassifier, LMKLClassifier])
def test_probabilities_of_three_classes_sum_to_one_and_the_largest_is_predicted(cls):
    X, y = three_classes()
    model = cls(loss="log_loss", C=100.0, tol=1e-2).fit(X, y)
    decisions, shares = model.decision_function(X), model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-14)
    alone = expit(decisions)
    np.testing.assert_allclose(shares, alone / alone.sum(axis=1, keepdims=True), rtol=1e-10)
    np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], model.predict(X))


EXTREME = np.array([0.0, -0.0, 5e-324, -5e-324, 1e-17, -1e-17, 3e-16, 1.0, -40.0, 40.0, 800.0, -1e300, 1e300])


def test_the_most_probable_of_two_classes_is_the_one_of_the_sign_at_every_size():
    shares, logs = probabilities(EXTREME), log_probabilities(EXTREME)
    assert np.isfinite(logs).all()
    np.testing.assert_allclose(shares[:, 1], expit(EXTREME), rtol=1e-13)
    np.testing.assert_array_equal(shares[:, 1] > 0.5, EXTREME > 0.0)
    for values in (shares, logs):
        np.testing.assert_array_equal(values.argmax(axis=1), (EXTREME > 0.0).astype(int))
    np.testing.assert_array_equal(shares.sum(axis=1), 1.0)


def test_the_most_probable_of_several_classes_is_the_highest_decision_at_every_size():
    rng = np.random.default_rng(0)
    spread = np.array([1e-18, 1e-3, 1.0, 1e3, 1e300])[rng.integers(5, size=(500, 3))]
    decisions = np.concatenate([spread * rng.normal(size=(500, 3)), [[40, 50, 45], [-900, -901, -902]]])
    decisions[::7, 1] = decisions[::7, 0]
    shares, logs = probabilities(decisions), log_probabilities(decisions)
    assert np.isfinite(logs).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-14)
    for values in (shares, logs):
        np.testing.assert_array_equal(values.argmax(axis=1), decisions.argmax(axis=1))


def test_there_are_probabilities_with_the_log_loss_alone():
    hinge, logistic = MKLClassifier(), MKLClassifier(loss="log_loss")
    for name in ("predict_proba", "predict_log_proba"):
        assert hasattr(logistic, name)
        assert hasattr(MKLClassifier(loss=LogLoss()), name)
        assert not hasattr(hinge, name)
        assert not hasattr(MKLClassifier(loss="logistic"), name)
    message = "^predict_proba needs loss='log_loss', got loss='hinge'; fit with that loss, or wrap [^.]*.$"
    with pytest.raises(AttributeError, match=message):
        hinge.fit(X, Y).predict_proba(X)


def test_what_a_fitted_model_can_do_does_not_follow_its_parameters():
    model = MKLClassifier(loss="log_loss").fit(X, Y)
    expected = model.predict_proba(X)
    np.testing.assert_array_equal(model.set_params(loss="hinge").predict_proba(X), expected)
    assert not hasattr(clone(model), "predict_proba")
    assert not hasattr(MKLClassifier().fit(X, Y).set_params(loss="log_loss"), "predict_proba")


def test_probabilities_of_new_samples_are_frequencies():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2000, 2))
    truth = expit(2.0 * rows[:, 0] - rows[:, 1])
    labels = rng.uniform(size=2000) < truth
    model = UniformMKLClassifier([Linear()], loss="log_loss").fit(rows[:1000], labels[:1000])
    shares = model.predict_proba(rows[1000:])[:, 1]
    tenths = np.array_split(np.argsort(shares), 10)
    assert max(abs(shares[tenth].mean() - truth[1000:][tenth].mean()) for tenth in tenths) < 0.04
    assert abs(log_loss(labels[1000:], shares) - log_loss(labels[1000:], truth[1000:])) < 0.02


def test_scores_of_probabilities_choose_among_models_with_the_log_loss():
    grid = {"C": [0.1, 10.0], "loss": ["log_loss"]}
    scoring = ["neg_log_loss", "neg_brier_score", "roc_auc"]
    options = {"scoring": scoring, "refit": "neg_log_loss", "cv": 2}
    ours = MKLSearchCV(MKLClassifier(tol=1e-8), grid, **options).fit(X, Y)
    theirs = GridSearchCV(MKLClassifier(tol=1e-8), grid, **options).fit(X, Y)
    for name in scoring:
        found, expected = (search.cv_results_[f"mean_test_{name}"] for search in (ours, theirs))
        np.testing.assert_allclose(found, expected, rtol=1e-4)
    assert ours.best_params_ == theirs.best_params_
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)


def test_a_search_names_the_loss_that_a_score_of_probabilities_needs():
    search = MKLSearchCV(
        MKLClassifier(loss="log_loss"), {"loss": ["log_loss", "hinge"]}, scoring="neg_log_loss", cv=2
    )
    with pytest.raises(ValueError, match=r"needs predict_proba, which .* or 'log_loss' as `loss`"):
        search.fit(X, Y)
