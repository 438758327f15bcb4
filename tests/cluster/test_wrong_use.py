"""Wrong rows, labels and clusters: one sentence each, and the model stays as it was."""

import numpy as np
import pytest

from localmkl import CLMKLClassifier, HLMKLClassifier, LMKLClassifier, MKLClassifier
from localmkl.kernels import Linear

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    """A cluster without processes: mistakes are found before there is much to do."""
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": 0}
    with (
        distributed.LocalCluster(processes=False, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def model(**parameters):
    return MKLClassifier([Linear()], **{"n_components": 2, "random_state": 0, **parameters})


def rows(chunks=((2, 2), 2)):
    X = da.from_array(np.arange(8.0).reshape(4, 2), chunks=chunks)
    return X, (X[:, 0] > 3.0).astype(int)


X, y = rows()
MISTAKES = {
    "no number of features": (model(n_components=None), X, y, "need `n_components`"),
    "a method that is not convex": (LMKLClassifier(), X, y, "for the convex methods, got LMKLClassifier"),
    "more features than rows": (CLMKLClassifier(n_components=9), X, y, "at most the number of training rows"),
    "unknown sizes": (model(), X[X[:, 0] > -1.0], y, "chunks of known sizes.*compute_chunk_sizes"),
    "fewer labels": (model(), X, y[:3], "one entry for each of 4 rows, got 3"),
    "labels of NumPy": (
        model(),
        X,
        np.array([0, 1, 0, 1]),
        "must be a dask array or data frame.*got ndarray",
    ),
    "no labels": (model(), X, None, "requires y to be passed"),
    "no rows": (model(), X[:0], y[:0], "at least one row"),
    "one class": (model(), X, 0 * y, "at least 2 classes"),
    "a row without a number": (model(), X * np.nan, y, "In chunk [01]: .*NaN"),
    "a matrix for a gate": (CLMKLClassifier(n_components=2, gate=np.ones((4, 3)) / 3), X, y, "got a matrix"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_said_in_one_sentence(client, mistake):
    estimator, X, y, said = MISTAKES[mistake]
    before = dict(vars(estimator))
    with pytest.raises(ValueError, match=said):
        estimator.fit(X, y)
    assert vars(estimator) == before


def test_chunks_of_different_columns_are_named(client):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    from dask import delayed

    parts = [pd.DataFrame({"a": [0.0, 1.0], name: [1.0, 2.0], "y": [0, 1]}) for name in ("b", "c")]
    frame = dd.from_delayed([delayed(part) for part in parts], meta=parts[0], verify_meta=False)
    with pytest.raises(ValueError, match=r"the same columns, chunk 0 has .*'b'.*'c'"):
        model().fit(frame, dd.from_delayed([delayed(part["y"]) for part in parts], meta=parts[0]["y"]))
    longer = dd.from_delayed([delayed(part["y"].repeat(k)) for k, part in ((1, parts[0]), (2, parts[1]))])
    with pytest.raises(ValueError, match="one entry for each of 4 rows, got 6"):
        model().fit(frame, longer)


def test_empty_chunks_are_left_out_and_dual_variables_stay(client):
    X, y = rows()
    none = da.from_array(np.empty((0, 2)), chunks=((0,), 2))
    expected = model().fit(X, y).kernel_weights_
    fitted = model().fit(da.concatenate([X[:2], none, X[2:]]), y)
    np.testing.assert_allclose(fitted.kernel_weights_, expected)
    with pytest.raises(ValueError, match="which a fit on a cluster leaves there"):
        fitted.exact_gap(X.compute(), y.compute())


def test_groups_beside_rows_in_chunks_are_refused(client):
    X, y = rows()
    by_groups = HLMKLClassifier(gate="groups", n_components=2)
    with pytest.raises(ValueError, match="must be one of their columns"):
        by_groups.fit(X, y, groups=np.arange(4))
    with pytest.raises(ValueError, match="must be one of their columns"):
        model().fit(X, y).predict(X, groups=np.arange(4))
