"""Probabilities by scikit-learn's calibration, from rows and from Gram stacks."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

import localmkl
from localmkl import CLMKLClassifier, GramStack, LMKLClassifier, MKLClassifier
from localmkl.datasets import make_localized
from localmkl.kernels import RBF, Linear, compute_stack, fit_kernels
from localmkl.solvers.losses import CLASSIFICATION

CLASSIFIERS = [name for name in localmkl.__all__ if name.endswith("Classifier")]
KERNELS = [RBF(gamma=0.1), RBF(gamma=1.0), Linear()]
X, Y = make_localized(n_samples=90, random_state=0)[:2]
STACK = GramStack(compute_stack(fit_kernels(KERNELS, X), X).grams)
TRAIN, NEW = np.arange(60)[::-1], np.arange(60, 90)
WAYS = {"folds": {"cv": 3}, "one model": {"cv": 3, "ensemble": False}, "fitted": {"cv": 2, "ensemble": True}}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("cls", [MKLClassifier, CLMKLClassifier, LMKLClassifier])
def test_calibration_on_a_stack_gives_the_probabilities_of_the_rows(cls, way):
    found = []
    options = {} if cls is MKLClassifier else {"random_state": 0}
    tol = 1e-2 if cls is LMKLClassifier else 1e-12  # the rows of a stack are read, and solved, in its order
    for kernels, train, new in (
        (KERNELS, X[TRAIN], X[NEW]),
        ("precomputed", STACK[np.ix_(TRAIN, TRAIN)], STACK[np.ix_(NEW, TRAIN)]),
    ):
        model, rows, y = cls(kernels, tol=tol, **options), train, Y[TRAIN]
        if way == "fitted":
            model, rows, y = FrozenEstimator(model.fit(train, y)), new, Y[NEW]
        found.append(CalibratedClassifierCV(model, **WAYS[way]).fit(rows, y).predict_proba(new))
    np.testing.assert_allclose(found[1], found[0], atol=1e-6)


@pytest.mark.parametrize("loss", CLASSIFICATION)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_is_calibrated_with_every_loss_on_rows_and_on_a_stack(name, loss):
    build, found = getattr(localmkl, name), []
    tol = 1e-2 if name.startswith("LMKL") else 1e-9  # precise, because two fits are compared
    options = {"random_state": 0} if "random_state" in build().get_params() else {}
    for kernels, rows in ((KERNELS, X), ("precomputed", STACK)):
        model = CalibratedClassifierCV(build(kernels, C=1.0, loss=loss, tol=tol, **options), cv=2)
        found.append(model.fit(rows, Y).predict_proba(rows))
    np.testing.assert_allclose(found[1], found[0], atol=1e-6)
    assert np.ptp(found[0][:, 1]) > 0.0


def test_a_slice_of_rows_alone_is_fitted_and_predicted_by_the_columns_it_needs():
    model = MKLClassifier("precomputed")
    whole = model.fit(STACK[np.ix_(TRAIN, TRAIN)], Y[TRAIN]).decision_function(STACK[np.ix_(NEW, TRAIN)])
    alone = model.fit(STACK[TRAIN], Y[TRAIN]).decision_function(STACK[NEW])
    np.testing.assert_array_equal(alone, whole)
    lacking = STACK[np.ix_(NEW, np.arange(1, 90))]
    with pytest.raises(ValueError, match="one column for each of the 60 training rows"):
        model.predict(lacking)
