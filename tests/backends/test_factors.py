"""Every compiled function on features agrees with its NumPy twin, and does what it says."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from localmkl.backends import factors_compiled, factors_reference
from localmkl.solvers.active_rows import ridge_of
from localmkl.solvers.blurred import Blurred
from localmkl.solvers.losses import (
    CLASSIFICATION,
    EpsilonInsensitive,
    Hinge,
    Huber,
    LogLoss,
    Quantile,
    SquaredError,
    SquaredHinge,
)

BACKENDS = (factors_compiled, factors_reference)
LOSSES = [
    Hinge(),
    SquaredHinge(),
    LogLoss(),
    EpsilonInsensitive(0.2),
    Quantile(0.3),
    SquaredError(),
    Huber(0.5),
    Blurred(Hinge(), 0.1),
]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
both_types = pytest.mark.parametrize("dtype", [np.float32, np.float64])
CLOSE = {np.float32: {"rtol": 1e-4, "atol": 1e-4}, np.float64: {"rtol": 1e-9, "atol": 1e-10}}


@both_types
@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("n", [0, 1, 7, 90])
def test_scores_and_sums_agree(n, parallel, dtype):
    rng = np.random.default_rng(0)
    table, rows = rng.normal(size=(100, 11)).astype(dtype), rng.permutation(100)[:n]
    memberships = rng.dirichlet(np.ones(3), size=n) * (rng.random((n, 3)) < 0.7)
    images, found = rng.normal(size=(3, 11)).astype(dtype), []
    for backend in BACKENDS:
        scores = np.full(n, np.nan)
        backend.feature_scores(table, rows, memberships, images, scores, parallel=parallel)
        found.append((scores, backend.feature_moments(table, rows, memberships, parallel=parallel)))
    np.testing.assert_allclose(found[0][0], found[1][0], **CLOSE[dtype])
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-12, atol=1e-12)
    assert found[0][1].dtype == np.float64
    expected = np.einsum("ij,jr,ir->i", memberships, images, table[rows])
    np.testing.assert_allclose(found[1][0], expected, **CLOSE[dtype])


class Task:
    """Dual variables to be improved: a kernel in the middle has no weight, and costs may be zero."""

    def __init__(self, loss, dtype=np.float64, n=60, rho=0.3):
        rng = np.random.default_rng(0)
        self.loss, self.rho, self.intercept = loss, rho, 0.2
        self.table = rng.normal(size=(80, 9)).astype(dtype)
        self.rows = rng.permutation(80)[:n]
        self.c = np.eye(3)[rng.integers(3, size=n)]
        self.c[::2] = rng.dirichlet(np.ones(3), size=n)[::2]
        self.y = rng.normal(size=n)
        if type(loss) in CLASSIFICATION.values() or isinstance(loss, Blurred):
            self.y = np.where(self.y > 0.0, 1.0, -1.0)
        self.C = rng.uniform(0.1, 3.0, size=n) * (np.arange(n) % 10 > 0)
        self.big = np.repeat(rng.uniform(size=(3, 3)) * [1.0, 0.0, 1.0], (2, 3, 4), axis=1)
        self.kept = np.array([[0, 2], [5, 9]])
        self.sizes = np.square(self.c) @ self.big @ np.square(self.table[self.rows].astype(float)).T
        self.sizes = self.sizes.diagonal().copy()
        self.lower, self.upper = loss.box(self.y, self.C)
        low, high = np.maximum(self.lower, -1.0), np.minimum(self.upper, 1.0)
        self.alpha = np.clip(low + rng.choice([0.0, 0.3, 1.0], size=n) * (high - low), low, high)

    def sums(self, alpha):
        return (self.c * alpha[:, None]).T @ self.table[self.rows]

    def dual(self, alpha):
        """Return the dual with intercept and penalty, which sweeps improve."""
        terms = self.loss.dual_terms(alpha, self.y, self.C).sum()
        square = np.sum(self.big * self.sums(alpha) ** 2)
        return terms - 0.5 * square - self.intercept * alpha.sum() - 0.5 * self.rho * alpha.sum() ** 2

    def descend(self, backend, places):
        """Return dual variables, images, their sum and the gain after a visit of the rows at `places`."""
        alpha, images = self.alpha.copy(), (self.big * self.sums(self.alpha)).astype(self.table.dtype)
        logistic, tube = isinstance(self.loss, LogLoss), getattr(self.loss, "tube", 0.0)
        total, gain = backend.descend(
            self.table, self.rows[places], places, self.c, self.y, self.lower, self.upper,
            ridge_of(self.loss, self.C), tube, logistic, self.sizes, alpha, images,
            self.big.astype(self.table.dtype), self.kept, self.intercept, self.rho, self.alpha.sum(),
        )  # fmt: skip
        return alpha, images, total, gain


@every_loss
@both_types
def test_sweeps_agree(loss, dtype):
    task = Task(loss, dtype)
    places = np.random.default_rng(1).permutation(60)[:50]
    found, expected = (task.descend(backend, places) for backend in BACKENDS)
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, other, **CLOSE[dtype])
    alpha, images, total, _ = found
    assert np.count_nonzero(alpha != task.alpha) > 10
    np.testing.assert_array_equal(np.delete(alpha, places), np.delete(task.alpha, places))
    assert np.all((alpha >= task.lower) & (alpha <= task.upper))
    change = alpha - task.alpha
    assert total == pytest.approx(task.alpha.sum() + change.sum(), abs=1e-10)
    moved = task.big * task.sums(task.alpha + change)
    np.testing.assert_allclose(images, moved, **CLOSE[dtype])


@every_loss
def test_the_dual_grows_by_the_gain_at_least(loss):
    task = Task(loss)
    for backend in BACKENDS:
        alpha, *_, gain = task.descend(backend, np.arange(60))
        growth = task.dual(alpha) - task.dual(task.alpha)
        assert 0.0 < gain <= growth + 1e-12
        if isinstance(loss, SquaredError):
            assert gain == pytest.approx(growth, rel=1e-9)


@every_loss
@pytest.mark.parametrize("rho", [0.0, 0.3])
def test_a_visit_finds_the_best_value_of_one_dual_variable(loss, rho):
    task = Task(loss, n=20, rho=rho)
    task.table[task.rows[3]] = 0.0  # without a penalty, this row has no curvature of its own
    task.sizes[3] = 0.0
    for place in range(20):
        low, high = np.clip([task.lower[place], task.upper[place]], -50.0, 50.0)

        def falls(value, place=place):
            alpha = task.alpha.copy()
            alpha[place] = value
            return -task.dual(alpha)

        options = {"bounds": (low, max(high, low + 1e-12)), "method": "bounded", "options": {"xatol": 1e-10}}
        best = min(minimize_scalar(falls, **options).fun, falls(low), falls(high), falls(task.alpha[place]))
        for backend in BACKENDS:
            found = task.descend(backend, np.array([place]))[0]
            assert -task.dual(found) <= best + 1e-9


@pytest.mark.parametrize("size", [1e-8, 1.0, 10.0, 3e3])
def test_visits_of_the_log_loss_agree_at_scores_of_any_size(size):
    task = Task(LogLoss())
    task.table *= size
    task.sizes *= size**2
    for place in range(60):
        found, expected = (task.descend(backend, np.array([place]))[0] for backend in BACKENDS)
        np.testing.assert_allclose(found, expected, atol=1e-9)
        assert task.dual(found) - task.dual(task.alpha) >= -1e-12 * abs(task.dual(found))
