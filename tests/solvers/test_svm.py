"""The inner SVM: its own gap, its start, its direct solves."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from localmkl.solvers.factor import factorise
from localmkl.solvers.inner import feasible_start
from localmkl.solvers.losses import EpsilonInsensitive, Hinge
from localmkl.solvers.svm import InnerSVM

LOSSES = [Hinge(), EpsilonInsensitive(0.1), EpsilonInsensitive(0.0)]


def make(loss, n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    score = X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=n)
    y = np.sign(score) if isinstance(loss, Hinge) else score
    return rbf_kernel(X, gamma=0.3), y


@pytest.mark.parametrize("backend", ["compiled", "reference"])
@pytest.mark.parametrize("C", [0.01, 1.0, 1000.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_gap_asked_for_is_reached(loss, C, backend):
    K, y = make(loss, n=40)
    svm = InnerSVM(y, np.full(len(y), C), loss, backend=backend).solve(K, 1e-10)
    assert svm.gap <= 1e-10 * svm.primal
    np.testing.assert_allclose(svm.scores, K @ svm.alpha, atol=1e-9 * max(1.0, C))


@pytest.mark.parametrize("loss", LOSSES)
def test_a_singular_kernel_is_solved_too(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    _, y = make(loss, n=60)
    svm = InnerSVM(y, np.full(60, 10.0), loss).solve(X @ X.T, 1e-9)
    assert svm.gap <= 1e-9 * svm.primal


@pytest.mark.parametrize("loss", LOSSES)
def test_a_kernel_of_zeros_leaves_only_the_intercept(loss):
    _, y = make(loss, n=20)
    svm = InnerSVM(y, np.ones(20), loss).solve(np.zeros((20, 20)), 1e-9)
    assert svm.gap <= 1e-9 * svm.primal


def test_samples_without_cost_take_no_part():
    K, y = make(Hinge())
    C = np.where(np.arange(80) < 50, 1.0, 0.0)
    whole = InnerSVM(y, C, Hinge()).solve(K, 1e-10)
    part = InnerSVM(y[:50], C[:50], Hinge()).solve(K[:50, :50], 1e-10)
    assert not whole.alpha[50:].any()
    assert whole.primal == pytest.approx(part.primal)


def test_a_start_is_made_feasible():
    rng = np.random.default_rng(0)
    lower, upper = -rng.uniform(size=10), rng.uniform(size=10)
    start = feasible_start(rng.normal(size=10), lower, upper)
    assert np.all((lower <= start) & (start <= upper))
    assert abs(start.sum()) < 1e-12


def test_a_singular_matrix_is_factorise_with_a_little_jitter():
    factor = factorise(lambda: np.ones((4, 4), order="F"))
    np.testing.assert_allclose(np.ones((4, 4)) @ factor.solve(np.ones(4)), np.ones(4), atol=1e-6)


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.1)], ids=["hinge", "epsilon"])
@pytest.mark.parametrize("size", [0.01, 1.0, 100.0, 1e14])
def test_a_shift_keeps_bounds_and_sum_and_moves_towards_its_aim(loss, size):
    rng = np.random.default_rng(0)
    n = 40
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    lower, upper = loss.box(y, np.full(n, 2.0))
    svm = InnerSVM(y, np.full(n, 2.0), loss, rng.uniform(lower, upper))
    svm.alpha[:6] = upper[:6]  # at a bound: no part of the shift
    svm.alpha[6] += -svm.alpha.sum() * 0.1
    svm.alpha = np.clip(svm.alpha, lower, upper)
    before, free = svm.alpha.copy(), svm.free
    change = rng.normal(size=len(free)) * size
    change -= change.mean()
    svm.shift(change)
    fixed = np.setdiff1d(np.arange(n), free)
    np.testing.assert_array_equal(svm.alpha[fixed], before[fixed])
    assert np.all((svm.alpha >= lower) & (svm.alpha <= upper))
    assert svm.alpha.sum() == pytest.approx(before.sum(), abs=1e-12)
    assert (svm.alpha - before)[free] @ change > 0.0
