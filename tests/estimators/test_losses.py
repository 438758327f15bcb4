"""The parameter `loss` of every estimator: by name, as an object, and wrong uses of it."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV

import localmkl
from localmkl import CLMKLRegressor, MKLClassifier, MKLRegressor, UniformMKLRegressor
from localmkl.datasets import make_localized
from localmkl.kernels import RBF
from localmkl.model_selection import MKLSearchCV
from localmkl.solvers.losses import CLASSIFICATION, REGRESSION, Hinge, Huber, PiecewiseLinear, Quantile

NAMES = [name for name in localmkl.__all__ if name.endswith(("Classifier", "Regressor"))]
LOSSES = [
    (name, loss) for name in NAMES for loss in (CLASSIFICATION if name.endswith("Classifier") else REGRESSION)
]
X, LABELS = make_localized(60, random_state=0)[:2]
TARGETS = make_localized(60, regression=True, random_state=0)[1]


@dataclass(frozen=True)
class Pinball(PiecewiseLinear):
    """The quantile loss, as somebody else would write it."""

    share: float = 0.5

    def value(self, scores, y):
        return np.maximum(self.share * (y - scores), (self.share - 1.0) * (y - scores))

    def box(self, y, C):
        return (self.share - 1.0) * C, self.share * C

    def breakpoints(self, scores, y, C):
        return y - scores, C, -self.share * float(C.sum())


@pytest.mark.parametrize("name, loss", LOSSES)
def test_every_estimator_certifies_every_loss_by_name_and_as_an_object(name, loss):
    registry, y = (CLASSIFICATION, LABELS) if name.endswith("Classifier") else (REGRESSION, TARGETS)
    build = getattr(localmkl, name)
    options = {} if "random_state" not in build().get_params() else {"random_state": 0}
    named = build(loss=loss, tol=1e-2, **options).fit(X, y)
    assert named.loss_ == registry[loss]()
    assert named.duality_gap_ <= 1e-2
    given = clone(named).set_params(loss=registry[loss]()).fit(X, y)
    np.testing.assert_array_equal(given.dual_coef_, named.dual_coef_)


def test_the_parameters_of_a_loss_are_those_of_the_estimator():
    assert MKLRegressor(loss="huber", epsilon=2).fit(X, TARGETS).loss_ == Huber(2.0)
    assert MKLRegressor(loss="quantile", quantile=0.9).fit(X, TARGETS).loss_ == Quantile(0.9)


def test_a_loss_of_another_package_does_what_ours_does():
    ours = MKLRegressor(loss="quantile", quantile=0.8, tol=1e-6).fit(X, TARGETS)
    theirs = MKLRegressor(loss=Pinball(0.8), tol=1e-6).fit(X, TARGETS)
    assert theirs.loss_ == Pinball(0.8)
    np.testing.assert_array_equal(theirs.predict(X), ours.predict(X))


def test_the_squared_error_of_one_kernel_is_kernel_ridge_regression():
    model = UniformMKLRegressor([RBF(gamma=0.2)], loss="squared_error", C=4.0, normalize=None, tol=1e-10)
    model.fit(X, TARGETS)
    ridge = KernelRidge(alpha=0.25, kernel="rbf", gamma=0.2).fit(X, TARGETS - model.intercept_)
    np.testing.assert_allclose(model.predict(X), ridge.predict(X) + model.intercept_, rtol=1e-6, atol=1e-8)


def test_a_search_over_losses_shares_partitions_and_scores_as_cold_fits_do(monkeypatch):
    from localmkl.gates import KernelKMeansGate

    runs, fit = [], KernelKMeansGate.fit
    monkeypatch.setattr(KernelKMeansGate, "fit", lambda *args, **more: runs.append(1) or fit(*args, **more))
    grid = [{"loss": [*REGRESSION, Pinball(0.8)], "C": [0.1, 1.0]}, {"loss": ["quantile"], "quantile": [0.8]}]
    options = {"C": 1.0, "n_clusters": 2, "evenness": 0.6, "random_state": 0, "tol": 1e-9}
    ours = MKLSearchCV(CLMKLRegressor(**options), grid, cv=2).fit(X, TARGETS)
    assert len(runs) == 3
    theirs = GridSearchCV(CLMKLRegressor(**options), grid, cv=2).fit(X, TARGETS)
    scores = ours.cv_results_["mean_test_score"]
    np.testing.assert_allclose(scores, theirs.cv_results_["mean_test_score"], rtol=1e-4)
    assert len(set(scores.round(6))) == len(scores) - 1  # one quantile has two names


WRONG = [
    (MKLClassifier, {"loss": "logistic"}, "must be one of 'hinge', 'squared_hinge', 'log_loss', got 'logist"),
    (MKLClassifier, {"loss": "huber"}, "`loss` must be one of 'hinge', .*, got 'huber'"),
    (MKLClassifier, {"loss": Huber(1.0)}, r"`loss` must be one of 'hinge', .*, got Huber\(epsilon=1.0\)"),
    (MKLClassifier, {"loss": Hinge}, "`loss` must be one of 'hinge', .*, got <class"),
    (MKLRegressor, {"loss": "hinge"}, "'epsilon_insensitive', 'squared_error', 'huber', 'quantile', got 'h"),
    (MKLRegressor, {"quantile": 2}, "`quantile` must be greater than 0 and less than 1, got 2"),
    (MKLRegressor, {"loss": "quantile", "quantile": 1.0}, "`quantile` must be greater than 0 and less than"),
    (
        MKLRegressor,
        {"loss": "huber", "epsilon": 0},
        "`epsilon` must be greater than 0 and finite for the Hub",
    ),
]


@pytest.mark.parametrize("build, options, message", WRONG)
def test_a_wrong_loss_is_refused_by_what_is_allowed(build, options, message):
    with pytest.raises(ValueError, match=message):
        build(**options).fit(X, LABELS if build is MKLClassifier else TARGETS)
