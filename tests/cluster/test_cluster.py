"""A fit on a cluster is the fit of one process, also where a worker dies; the client never holds the rows."""

import os
import signal
import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone

from localmkl import CLMKLClassifier, HLMKLClassifier, MKLClassifier, MKLRegressor, load, save
from localmkl.cluster import chunks, fitting
from localmkl.kernels import RBF, Linear
from localmkl.model_selection import MKLSearchCV

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

KERNELS = [Linear(), RBF(1.0)]


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": 0}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


def bring_back(client):
    """Wait until a worker that was killed is back; on a busy machine its nanny may have given up."""
    try:
        client.wait_for_workers(2, timeout=20)
    except TimeoutError:
        client.cluster.scale(0)
        client.cluster.scale(2)
        client.wait_for_workers(2, timeout=60)


def rows(n_rows, chunks):
    """Return rows and labels in chunks, which every worker can make again."""
    X = da.random.default_rng(0).normal(size=(n_rows, 3), chunks=(chunks, 3))
    noise = da.random.default_rng(1).normal(size=n_rows, chunks=chunks)
    return X, da.where(X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * noise > 0.0, "yes", "no")


def test_weights_are_those_of_one_process(client):
    X, y = rows(4000, 900)
    model = CLMKLClassifier(KERNELS, C=0.003, p=2, n_clusters=2, n_components=8, tol=1e-9, random_state=0)
    here = model.fit(X.compute(), y.compute())
    there = clone(model).fit(X, y)
    np.testing.assert_allclose(there.kernel_weights_, here.kernel_weights_, atol=1e-4)
    assert there.duality_gap_ <= 1e-9
    decisions = there.decision_function(X)
    assert decisions.chunks == (X.chunks[0],)
    np.testing.assert_allclose(decisions.compute(), here.decision_function(X.compute()), atol=1e-4)
    np.testing.assert_array_equal(there.predict(X).compute(), here.predict(X.compute()))
    np.testing.assert_allclose(there.memberships(X).compute(), here.memberships(X.compute()))
    np.testing.assert_allclose(there.approximation_error_, here.approximation_error_)


@pytest.mark.parametrize(
    "model",
    [
        MKLRegressor(KERNELS, C=0.1, loss="squared_error", n_components=8, random_state=0),
        pytest.param(
            HLMKLClassifier(KERNELS, C=0.1, n_clusters=2, n_components=8, class_weight="balanced",
                            random_state=0),
            marks=pytest.mark.long,
        ),
        CLMKLClassifier(KERNELS, loss="log_loss", normalize="cosine", gate_kernel=RBF(0.3), shared=0.3,
                        n_components=8, random_state=0),
    ],
    ids=["squares", "three hard clusters", "probabilities"],
)  # fmt: skip
def test_every_kind_of_model_has_the_values_of_one_process(client, model):
    X, labels = rows(300, 120)
    y = X[:, 0] * X[:, 1] if isinstance(model, MKLRegressor) else labels
    if isinstance(model, HLMKLClassifier):
        y = da.where(X[:, 0] > 1.0, "far", labels)
    weight = da.where(X[:, 2] > 0.0, 2.0, 1.0)
    model.set_params(tol=1e-6)
    arrays = X.compute(), y.compute()
    here = model.fit(*arrays, sample_weight=weight.compute())
    expected, cost = here.predict(arrays[0]), here.C_
    there = clone(model).fit(X, y, sample_weight=weight)
    assert cost == pytest.approx(there.C_, rel=1e-9)
    found = there.predict(X).compute()
    if isinstance(model, MKLRegressor):
        np.testing.assert_allclose(found, expected, atol=5e-3)
    else:
        assert np.mean(found == expected) > 0.995
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(there.predict_proba(X).sum(axis=1).compute(), 1.0)


@pytest.mark.parametrize("asked", [0, 3])
def test_a_worker_that_dies_costs_its_chunks_alone(client, monkeypatch, asked):
    X, y = rows(600, 100)
    model = MKLClassifier(KERNELS, C=1.0, n_components=8, tol=1e-6, random_state=0)
    expected = model.fit(X.compute(), y.compute()).kernel_weights_
    plain, seen = fitting._Chunks.total, []

    def total(self, *arguments):
        if len(seen) == asked:
            victims = client.run(os.getpid)
            os.kill(next(iter(victims.values())), signal.SIGKILL)
        seen.append(arguments)
        return plain(self, *arguments)

    monkeypatch.setattr(fitting._Chunks, "total", total)
    fitted = clone(model).fit(X, y)
    assert len(seen) > asked
    assert fitted.duality_gap_ <= 1e-6
    np.testing.assert_allclose(fitted.kernel_weights_, expected, atol=1e-3)
    bring_back(client)


def test_no_cluster_is_needed():
    X, y = rows(300, 100)
    model = MKLClassifier(KERNELS, C=1.0, n_components=8, tol=1e-6, random_state=0)
    expected = model.fit(X.compute(), y.compute()).kernel_weights_
    np.testing.assert_allclose(clone(model).fit(X, y).kernel_weights_, expected, atol=1e-3)


@pytest.mark.long
def test_the_memory_of_the_client_does_not_grow_with_the_rows(client, monkeypatch):
    monkeypatch.setattr(chunks, "SAMPLE_ROWS", 1000)

    def peak(n_rows):
        X, y = rows(n_rows, n_rows // 4)
        tracemalloc.start()
        MKLClassifier(KERNELS, C=1e-6, n_components=8, tol=0.1, random_state=0).fit(X, y)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(5000)  # what is imported on the way counts for none of them
    # One number of each row is less than the rows take, or their features, or several dual variables.
    assert peak(50_000) < peak(5000) + 8 * 50_000


def test_a_search_tries_candidates_on_a_sample_and_fits_the_best_to_all_rows(client, monkeypatch):
    monkeypatch.setattr(chunks, "SAMPLE_ROWS", 150)
    X, y = rows(400, 150)
    model = CLMKLClassifier(KERNELS, n_clusters=2, n_components=8, random_state=0, tol=0.01)
    search = MKLSearchCV(model, {"C": [1e-4, 1.0], "evenness": [0.6, 0.9]}, cv=2, random_state=0).fit(X, y)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max() > 0.6
    assert search.best_params_["C"] == search.best_estimator_.C
    whole = clone(model).set_params(**search.best_params_).fit(X, y)
    np.testing.assert_allclose(search.best_estimator_.kernel_weights_, whole.kernel_weights_)
    assert np.mean(search.predict(X).compute() == y.compute()) > 0.7


def test_data_frames_with_groups_and_an_empty_partition_are_rows_too(client, tmp_path):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    frame["organism"] = rng.choice(["fly", "worm"], 300)
    frame["label"] = np.where(frame["a"] > np.where(frame["organism"] == "fly", 0.5, -0.5), 1, 0)
    parts = dd.from_pandas(frame, npartitions=3)
    parts = dd.concat([parts, parts.partitions[:1].query("a > 100"), parts.partitions[:1]])
    whole = parts.compute()
    names = ["a", "b", "organism"]
    by_group = {"gate": "groups", "groups": "organism"}
    model = HLMKLClassifier([Linear(columns=["a", "b"])], n_components=5, tol=1e-6, **by_group)
    here = model.fit(whole[names], whole["label"]).predict(whole[names])
    there = clone(model).fit(parts[names], parts["label"])
    np.testing.assert_array_equal(there.predict(parts[names]).compute(), here)
    save(there, tmp_path / "model.mkl")
    np.testing.assert_array_equal(load(tmp_path / "model.mkl").predict(whole[names]), here)


def test_a_sample_of_many_rows_is_the_same_whatever_the_chunks(client, monkeypatch):
    monkeypatch.setattr(chunks, "SAMPLE_ROWS", 100)
    X, y = rows(400, 100)
    model = MKLClassifier(KERNELS, C=0.1, n_components=8, random_state=0)
    landmarks = [clone(model).fit(X.rechunk((n, 3)), y.rechunk(n)).features_.landmarks for n in (100, 150)]
    np.testing.assert_array_equal(*landmarks)
