"""The search on a real cluster of two worker processes on this machine."""

import os
import signal
from unittest.mock import patch

import joblib
import numpy as np
import pytest

from localmkl import CLMKLClassifier, GramStack
from localmkl.model_selection import MKLSearchCV, run

distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")

GRID = {"C": 10.0 ** np.arange(-3.0, 3.0, 0.25), "evenness": [0.5, 0.7, 0.9], "p": [1, 2]}


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(host="127.0.0.1", **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def task():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] * X[:, 1] > 0.0).astype(int)
    return GramStack(np.stack([X @ X.T, (X @ X.T) ** 2, np.exp(X @ X.T / 10.0)])), y


@pytest.fixture(scope="module")
def serial(task):
    return search().fit(*task)


def search():
    model = CLMKLClassifier("precomputed", n_clusters=2, random_state=0)
    return MKLSearchCV(model, GRID, cv=3, scoring="roc_auc", refit=False)


def table(fitted):
    return np.stack([fitted.cv_results_[f"split{k}_test_score"] for k in range(fitted.n_splits_)])


def test_a_cluster_gives_the_same_table_and_is_sent_the_grams_once(client, task, serial):
    sent = []
    scatter = distributed.Client.scatter

    def counted(self, data, *arguments, **options):
        sent.append(np.shape(data))
        return scatter(self, data, *arguments, **options)

    with patch.object(distributed.Client, "scatter", counted), joblib.parallel_config(backend="dask"):
        fitted = search().fit(*task)
    np.testing.assert_array_equal(table(fitted), table(serial))
    assert sent.count(task[0].grams.shape) == 1


@pytest.mark.long
def test_a_worker_killed_half_way_loses_no_result(client, task, serial, monkeypatch):
    victim = next(iter(client.run(os.getpid).values()))
    left = []
    note = run.Run._note

    def noted(self, fold, cells):
        note(self, fold, cells)
        if not left:
            os.kill(victim, signal.SIGKILL)
            left.append(len(self.pending) - 1)

    monkeypatch.setattr(run.Run, "_note", noted)
    with joblib.parallel_config(backend="dask"):
        fitted = search().fit(*task)
    assert left[0] > 4
    assert victim not in client.run(os.getpid).values()
    np.testing.assert_array_equal(table(fitted), table(serial))


def test_two_fits_of_one_model_are_two_things_to_dask():
    from dask.base import tokenize

    X = np.random.default_rng(0).normal(size=(20, 2))
    one, other = (CLMKLClassifier(random_state=0).fit(rows, X[:, 0] > 0.0) for rows in (X, 2.0 * X))
    assert tokenize(one) != tokenize(other)
