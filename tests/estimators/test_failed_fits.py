"""A fit that fails or is interrupted leaves the model as it was, whatever step it had reached."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import localmkl
from localmkl.datasets import make_localized
from localmkl.estimators import base, convex, gated
from localmkl.kernels import RBF

NAMES = [name for name in localmkl.__all__ if name.endswith(("Classifier", "Regressor"))]
X, Y = make_localized(60, random_state=0)[:2]
STEPS = {
    "the stack": (base, "compute_stack"),
    "the factors": (base, "learn_factors"),
    "the solver": (convex, "solve_all"),
    "the solver's gate": (gated, "solve_gated"),
    "the end": (base.BaseMKL, "_store_common"),
}


def interrupt(*_, **__):
    raise KeyboardInterrupt


def settings(model):
    return {"random_state": 0} if "random_state" in model.get_params() else {}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", NAMES)
def test_a_model_predicts_as_before_after_a_fit_that_was_interrupted(name, step, monkeypatch):
    model = getattr(localmkl, name)([RBF(0.1), RBF(1.0)])
    model.set_params(**settings(model)).fit(X, Y)
    before = model.predict(X)
    changes = {"normalize": "cosine", "C": 100.0, "kernels": [RBF(10.0)]}
    changes |= {"gate": "sigmoid"} if name.startswith("LMKL") else {}
    changes |= {"n_clusters": 2} if "n_clusters" in model.get_params() else {}
    with monkeypatch.context() as patch:
        patch.setattr(*STEPS[step], interrupt)
        reached = True
        try:
            model.set_params(**changes).fit(X[:30], -Y[:30])
            reached = False
        except KeyboardInterrupt:
            np.testing.assert_array_equal(model.predict(X), before)
        assert reached == (step != skipped(name))


def skipped(name):
    return "the solver" if name.startswith("LMKL") else "the solver's gate"


@pytest.mark.parametrize("name", NAMES)
def test_a_first_fit_that_was_interrupted_leaves_no_model(name, monkeypatch):
    model = getattr(localmkl, name)([RBF(0.1)])
    monkeypatch.setattr(base.BaseMKL, "_finish", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert not [attribute for attribute in vars(model) if attribute.endswith("_")]


def test_parameters_set_after_a_fit_do_not_change_what_is_predicted():
    model = localmkl.CLMKLClassifier([RBF(0.1), RBF(1.0)], random_state=0).fit(X, Y)
    before = model.decision_function(X)
    model.set_params(kernels="precomputed", normalize="cosine", n_clusters=7, evenness=0.9)
    with pytest.raises(ValueError, match="must be"):
        model.fit(X, Y)
    np.testing.assert_array_equal(model.decision_function(X), before)
