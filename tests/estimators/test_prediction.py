"""Prediction by blocks of rows: the same on any number of threads, from no more Grams than have weight."""

import threading
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

import numpy as np
import pytest
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from localmkl import (
    CLMKLClassifier,
    GramStack,
    HLMKLRegressor,
    LMKLClassifier,
    MKLClassifier,
    UniformMKLClassifier,
    Views,
    _resources,
)
from localmkl.backends import threads
from localmkl.datasets import make_localized
from localmkl.estimators import base, rows
from localmkl.kernels import RBF, Linear, Polynomial
from localmkl.kernels.stack import threadable

X, Y = make_localized(n_samples=80, random_state=0)[:2]
NEW = make_localized(n_samples=301, random_state=1)[0]
KERNELS = [Linear(), RBF(factor=0.1), RBF(), Polynomial()]


@pytest.fixture
def small_blocks(monkeypatch):
    """Make blocks of seven rows, and as many threads as four cores have."""
    monkeypatch.setattr(base, "THREAD_ENTRIES", 7 * 256)
    monkeypatch.setattr(base, "free_threads", lambda: 4)
    used = []
    original = rows.over_blocks

    def over_blocks(function, blocks, n_threads):
        used.append(n_threads)
        return original(function, blocks, n_threads)

    monkeypatch.setattr(base, "over_blocks", over_blocks)
    return used


def plainly(model, new):
    """Return the decisions of a model with clusters or without, written out."""
    total = np.zeros(len(new))
    memberships = model.memberships(new)
    for j, c in enumerate(memberships.T):
        for m, kernel in enumerate(model.kernels_):
            gram = model.factors_[m] * kernel(new, model.rows_)
            vector = model.memberships_[:, j] * model.dual_coef_
            total += c * model.kernel_weights_[j, m] * (gram @ vector)
    return total + model.intercept_


MODELS = {
    "uniform": UniformMKLClassifier(KERNELS),
    "p = 1": MKLClassifier(KERNELS, p=1),
    "soft clusters": CLMKLClassifier(KERNELS, n_clusters=2, random_state=0),
    "hard clusters": HLMKLRegressor(KERNELS, n_clusters=3, random_state=0),
    "seen by one kernel": CLMKLClassifier(KERNELS, n_clusters=2, gate_kernel=-2, random_state=0),
    "seen by its own": CLMKLClassifier(KERNELS, n_clusters=2, gate_kernel=RBF(), random_state=0),
    "a shared part": CLMKLClassifier(KERNELS, n_clusters=2, shared=0.3, random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_decisions_are_the_sums_over_support_vectors_on_any_number_of_threads(
    name, small_blocks, monkeypatch
):
    model = MODELS[name].fit(X, Y)
    decide = getattr(model, "decision_function", model.predict)
    several = decide(NEW)
    assert small_blocks == [4]
    np.testing.assert_allclose(several, plainly(model, NEW), rtol=1e-10, atol=1e-10)
    parts = model.contributions(NEW)
    summed = parts.sum(axis=(1, 2)) + model.intercept_
    np.testing.assert_allclose(summed, several, rtol=1e-12, atol=1e-12)
    monkeypatch.setattr(base, "free_threads", lambda: 1)
    np.testing.assert_array_equal(decide(NEW), several)
    np.testing.assert_array_equal(model.contributions(NEW), parts)


@pytest.mark.parametrize("normalize", ["multiplicative", "cosine", None])
def test_threads_read_cross_grams_and_their_normalisation(normalize, small_blocks):
    raw = CLMKLClassifier(KERNELS, n_clusters=2, normalize=normalize, random_state=0).fit(X, Y)
    expected = raw.decision_function(NEW)
    grams = [kernel(X) for kernel in raw.kernels_]
    given = CLMKLClassifier("precomputed", n_clusters=2, normalize=normalize, random_state=0)
    given.fit(GramStack(grams), Y)
    cross = GramStack(
        [kernel(NEW, X) for kernel in raw.kernels_], diagonals=[kernel.diag(NEW) for kernel in raw.kernels_]
    )
    small_blocks.clear()
    np.testing.assert_allclose(given.decision_function(cross), expected, rtol=1e-8, atol=1e-8)
    assert small_blocks == [4]
    assert not np.shares_memory(cross.grams, cross.block(0))
    np.testing.assert_array_equal(cross.grams[0], raw.kernels_[0](NEW, X))


def test_several_classes_probabilities_and_the_gated_method_are_the_same_on_threads(
    small_blocks, monkeypatch
):
    labels = np.digitize(X[:, 0], [-0.5, 0.5])
    models = [
        (CLMKLClassifier(KERNELS, n_clusters=2, loss="log_loss", random_state=0), "predict_proba"),
        (LMKLClassifier(KERNELS, random_state=0, tol=1e-2), "decision_function"),
    ]
    for model, method in models:
        ask = getattr(model.fit(X, labels), method)
        several = ask(NEW)
        monkeypatch.setattr(base, "free_threads", lambda: 1)
        np.testing.assert_array_equal(ask(NEW), several)
        monkeypatch.setattr(base, "free_threads", lambda: 4)
    assert small_blocks == [4, 1, 4, 1]


def as_frame(table):
    pd = pytest.importorskip("pandas", reason="data frames need pandas")
    return pd.DataFrame(table, columns=[f"x{k}" for k in range(table.shape[1])])


def as_views(table):
    who = np.flatnonzero(np.arange(len(table)) % 5 != 1)
    return Views({"one": (table[who, :1], who), "other": table})


ROWS = {
    "data frames": (as_frame, [RBF(columns=["x0", "x1"]), Linear(columns="x1", standardize=True)]),
    "sparse rows": (sparse.csr_array, [RBF(), Linear()]),
    "views": (as_views, [RBF(view="one"), RBF(view="other"), Linear(view="other")]),
}


@pytest.mark.parametrize("kind", ROWS)
def test_rows_of_every_kind_are_taken_apart_by_threads(kind, small_blocks, monkeypatch):
    make, kernels = ROWS[kind]
    model = CLMKLClassifier(kernels, n_clusters=2, random_state=0).fit(make(X), Y)
    several = model.decision_function(make(NEW))
    assert small_blocks == [4]
    monkeypatch.setattr(base, "free_threads", lambda: 1)
    np.testing.assert_array_equal(model.decision_function(make(NEW)), several)
    np.testing.assert_allclose(model.decision_function(make(NEW[:50])), several[:50], rtol=1e-10)


class Counted(RBF):
    """A kernel that counts how often it is computed for new rows."""

    calls = 0

    def __call__(self, X, Y=None):
        if Y is not None:
            type(self).calls += 1
        return super().__call__(X, Y)


class CountedToo(Counted):
    calls = 0


def test_kernels_without_weight_are_not_computed_and_contribute_zeros():
    Counted.calls = CountedToo.calls = 0
    model = MKLClassifier([Counted(), CountedToo(factor=1e-6)], p=1).fit(X, Y)
    model.kernel_weights_ = np.array([[1.0, 0.0]])
    decisions, parts = model.decision_function(NEW), model.contributions(NEW)
    assert (Counted.calls, CountedToo.calls) == (2, 0)
    np.testing.assert_array_equal(parts[..., 1], 0.0)
    np.testing.assert_allclose(parts[:, 0, 0] + model.intercept_, decisions, rtol=1e-12)


def test_a_gram_that_gate_and_decision_need_is_computed_once():
    Counted.calls = CountedToo.calls = 0
    model = CLMKLClassifier([Counted(), CountedToo(factor=0.1)], n_clusters=2, random_state=0).fit(X, Y)
    Counted.calls = CountedToo.calls = 0
    model.kernel_weights_ = model.kernel_weights_ * [1.0, 0.0]
    decisions = model.decision_function(NEW)
    assert (Counted.calls, CountedToo.calls) == (1, 1)
    np.testing.assert_allclose(decisions, plainly(model, NEW), rtol=1e-10)


def test_a_row_whose_decision_is_not_finite_is_named_also_from_a_thread(small_blocks):
    model = MKLClassifier([Polynomial(degree=3), Linear()]).fit(X, Y)
    wild = NEW.copy()
    wild[[123, 250]] = 1e200
    for _ in range(3):
        with pytest.raises(ValueError, match="The decision on row 123 is not a finite number"):
            model.predict(wild)
    assert small_blocks == [4, 4, 4]


def test_what_other_people_write_is_called_from_one_thread(small_blocks):
    callers = set()

    def product(X, Y):
        callers.add(threading.current_thread())
        return X @ Y.T

    def sides(X):
        callers.add(threading.current_thread())
        return np.column_stack([X[:, 0] > 0.0, X[:, 0] <= 0.0]).astype(float)

    models = [
        MKLClassifier([RBF(), product]),
        CLMKLClassifier(KERNELS, n_clusters=2, gate_kernel=product, random_state=0),
        CLMKLClassifier(KERNELS, n_clusters=2, gate=sides),
        CLMKLClassifier(KERNELS, n_clusters=2, gate=LogisticProxy()),
        MKLClassifier([Counted()]),
    ]
    for model in models:
        model.fit(X, Y).predict(NEW)
    assert callers == {threading.current_thread()}
    assert small_blocks == [1] * len(models)
    assert not threadable(Counted())
    assert threadable(RBF())


class LogisticProxy(LogisticRegression):
    """A model of other people's as a gate, which learns its own labels."""

    def fit(self, X, y=None):
        return super().fit(X, X[:, 0] > 0.0)


def test_settings_of_scikit_learn_reach_the_threads(small_blocks):
    from sklearn import config_context, get_config

    model, seen = MKLClassifier([RBF()]).fit(X, Y), []
    original = RBF._gram

    def note(self, *tables):
        seen.append(get_config()["assume_finite"])
        return original(self, *tables)

    with patch.object(RBF, "_gram", note), config_context(assume_finite=True):
        model.predict(NEW)
    assert seen
    assert all(seen)


def test_one_thread_is_free_in_workers_in_other_threads_and_where_threads_are_limited(monkeypatch):
    monkeypatch.setattr("joblib.cpu_count", lambda: 1000)
    with threadpool_limits(1, user_api="blas"):
        assert threads.free_threads() == 1
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(threads.free_threads).result() == 1
    monkeypatch.setattr("joblib.cpu_count", lambda: 1)
    assert threads.free_threads() == 1
    monkeypatch.undo()
    assert Parallel(n_jobs=2)(delayed(threads.free_threads)() for _ in range(2)) == [1, 1]
    monkeypatch.setattr(threads, "_state", threads._State(forked=True))
    assert threads.free_threads() == 1


def test_fewer_threads_predict_where_memory_is_short_and_what_is_said_counts_them(small_blocks, monkeypatch):
    model = MKLClassifier(KERNELS).fit(X, Y)
    said = model._predicting_bytes(len(NEW), len(X))
    one = 8 * 7 * 2 * len(model.support_)
    assert said == 4 * one
    monkeypatch.setattr(_resources, "available_memory", lambda: 2 * one + 1)
    assert model._predicting_bytes(len(NEW), len(X)) == 2 * one
    model.predict(NEW)
    assert small_blocks == [2]
    monkeypatch.setattr(_resources, "available_memory", lambda: one - 1)
    with pytest.raises(MemoryError, match=f"Prediction for 301 rows needs {one:,} bytes"):
        model.predict(NEW)
