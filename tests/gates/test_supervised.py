"""Memberships that are learned with the labels: never a higher objective, and the parts of a step."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from localmkl import CLMKLClassifier, CLMKLRegressor, HLMKLClassifier, HLMKLRegressor
from localmkl.datasets import make_localized
from localmkl.estimators.supervision import GateStep
from localmkl.gates import KernelKMeansGate, SupervisedGate
from localmkl.kernels import Linear
from localmkl.solvers.losses import LogLoss, SquaredError

MODELS = (CLMKLClassifier, HLMKLClassifier, CLMKLRegressor, HLMKLRegressor)


def draw(seed, n_samples=90, **options):
    X, y, groups, views = make_localized(n_samples, random_state=seed, **options)
    return X, y, groups, [Linear(columns=view) for view in views]


def build(cls, kernels, **options):
    return cls(kernels, gate="supervised", **{"random_state": 0, **options})


@pytest.mark.parametrize("cls", MODELS)
@pytest.mark.parametrize("options", [{}, {"shared": 0.4}, {"C": 30.0, "p": 1}], ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_the_objective_never_rises_between_alternations(cls, options, seed):
    X, y, _, kernels = draw(seed, regression="Regressor" in cls.__name__)
    model = build(cls, kernels, **options).fit(X, y)
    objectives = model.gate_.clustering.objectives_
    assert np.all(np.diff(objectives) < 0.0)
    # The last is that of the model: its primal, and a penalty.
    penalty = objectives[-1] - model.history_["primal"][-1]
    assert penalty >= -model.tol * objectives[-1]


def test_several_classes_share_one_gate_and_one_objective():
    X, _, groups, kernels = draw(1)
    y = (groups + (X[:, 5] > 0.0)) % 3
    model = build(CLMKLClassifier, kernels, tol=1e-4).fit(X, y)
    objectives = model.gate_.clustering.objectives_
    assert len(objectives) > 1
    assert np.all(np.diff(objectives) < 0.0)
    np.testing.assert_allclose(model.memberships(X), model.memberships_, atol=1e-8)


@pytest.mark.parametrize("kind", ["log_loss", "hinge", "squared_hinge"])
def test_labels_lower_the_objective_below_that_of_kernel_kmeans(kind):
    X, y, _, kernels = draw(2)
    options = {"loss": kind, "random_state": 0, "tol": 1e-4}
    plain = CLMKLClassifier(kernels, **options).fit(X, y)
    learned = build(CLMKLClassifier, kernels, **options).fit(X, y)
    assert learned.history_["primal"][-1] < 0.98 * plain.history_["primal"][-1]
    assert learned.gate_.clustering.objectives_[0] == pytest.approx(plain.history_["primal"][-1], rel=1e-3)
    assert learned.C_ == plain.C_


def test_the_start_is_kernel_kmeans():
    X = draw(3)[0]
    gram = X @ X.T
    ours, theirs = (kind(3, 0.6, random_state=0).fit(gram) for kind in (SupervisedGate, KernelKMeansGate))
    np.testing.assert_allclose(ours.memberships(gram), theirs.memberships(gram), atol=1e-9)
    assert ours.tau_ == pytest.approx(theirs.tau_)


def test_a_gate_that_has_not_moved_is_its_start():
    X = draw(4)[0]
    gram = X @ X.T
    start = SupervisedGate(3, 0.6, n_components=4, random_state=0).fit(gram)
    seen = start.distances(gram)
    still = start.moved(seen, None, np.zeros((3, 5)), [1.0])
    np.testing.assert_allclose(still.memberships(gram), start.memberships(gram), atol=1e-9)
    assert still.evenness_ == pytest.approx(start.evenness_)
    coefficients = np.random.default_rng(0).normal(size=(3, 5))
    scores, components = start.scores(seen)
    np.testing.assert_allclose(components.std(axis=0), 1.0)
    expected = np.exp(scores + components @ coefficients[:, :-1].T + coefficients[:, -1])
    moved = start.moved(seen, None, coefficients, [1.0]).memberships(gram)
    np.testing.assert_allclose(moved, expected / expected.sum(axis=1, keepdims=True), atol=1e-9)


class Part:
    """What a step reads of a problem."""

    def __init__(self, loss, seed, n=20):
        rng = np.random.default_rng(seed)
        self.loss, self.C = loss, rng.uniform(0.5, 2.0, size=n)
        self.y = np.where(rng.random(n) < 0.5, -1.0, 1.0)


def step(loss, shared, hard=False, seed=0, n=20):
    rng = np.random.default_rng(seed)
    columns = 4 if shared else 3
    parts = [(Part(loss, seed + k, n), rng.normal(size=(n, columns)), 0.3) for k in range(2)]
    present = rng.random(n) < 0.8
    return GateStep(
        rng.normal(size=(n, 3)), rng.normal(size=(n, 3)), present, shared, hard, penalty=0.7, parts=parts
    )


@pytest.mark.parametrize("loss", [LogLoss(), SquaredError()], ids=["log", "squared"])
@pytest.mark.parametrize("shared", [0.0, 0.4])
def test_the_gradient_of_a_step_is_that_of_its_value(loss, shared):
    own = step(loss, shared)
    point = np.random.default_rng(1).normal(size=9)
    error = check_grad(lambda x: own.smooth(x)[0], lambda x: own.smooth(x)[1], point)
    assert error < 1e-4 * np.linalg.norm(own.smooth(point)[1])
    assert own.smooth(point)[0] == pytest.approx(own.value(point.reshape(3, 3)))


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_a_step_lowers_its_value_or_stays(hard, seed):
    own, start = step(LogLoss(), 0.0, hard, seed), np.zeros((3, 3))
    found = own.lowered(start)
    assert own.value(found) < own.value(start) or found is start
    memberships = own.memberships(found)
    np.testing.assert_allclose(memberships[~own.present], 1.0 / 3.0)
    assert not hard or set(memberships[own.present].ravel().tolist()) == {0.0, 1.0}
