"""Sparse rows against the same rows made dense, from kernels to files; and that nothing makes them dense."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from localmkl import CLMKLClassifier, MKLClassifier, load, save
from localmkl.estimators import rows
from localmkl.explain import sample_map
from localmkl.kernels import (
    RBF,
    Chi2,
    Cosine,
    HistogramIntersection,
    Linear,
    Overlap,
    Polynomial,
    Spectrum,
    Tanimoto,
    fit_features,
    fit_kernels,
)
from localmkl.kernels.frames import put_together, take_apart
from localmkl.model_selection import MKLSearchCV

KERNELS = [
    Linear(),
    Linear(columns=[3, 0, 7]),
    Linear(columns=slice(2, 30)),
    Polynomial(),
    Polynomial(degree=3, gamma=0.1, coef0=0.0),
    RBF(),
    RBF("median", factor=2.0),
    RBF(0.3, columns=np.arange(60) % 2 == 0),
    Cosine(),
    Tanimoto(),
]


def draw(n_rows=40, n_columns=60, seed=0):
    """Counts, most of them zero, and rows without any."""
    rng = np.random.default_rng(seed)
    table = rng.poisson(0.1, size=(n_rows, n_columns)).astype(float)
    table[:3] = 0.0
    return sparse.csr_matrix(table), np.where(rng.random(n_rows) < 0.5, "a", "b")


def separable(seed=0, n_rows=60):
    """Rows of two classes that use some columns more than others."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 2
    rates = np.where((np.arange(40) < 20)[None] == (y == 1)[:, None], 0.3, 0.05)
    return sparse.csr_matrix(rng.poisson(rates).astype(float)), np.array(["a", "b"])[y]


def model(kernels, **options):
    return CLMKLClassifier(kernels, n_clusters=2, random_state=0, tol=1e-8, **options)


@pytest.mark.parametrize("weights", [None, np.arange(40.0) % 3])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_sparse_rows_have_the_grams_of_dense_ones(kernel, weights):
    X, new = draw()[0], draw(9, seed=1)[0]
    ours = clone(kernel).fit(X, weights)
    theirs = clone(kernel).fit(X.toarray(), weights)
    for mine, dense in [
        (ours(X), theirs(X.toarray())),
        (ours(new, X), theirs(new.toarray(), X.toarray())),
        (ours.diag(X), theirs.diag(X.toarray())),
        (ours.diag(X), ours(X).diagonal()),
    ]:
        assert isinstance(mine, np.ndarray)
        np.testing.assert_allclose(mine, dense, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    "container", [sparse.coo_matrix, sparse.csc_array, sparse.lil_matrix, sparse.csr_array]
)
def test_other_formats_are_the_same_rows(container):
    X, y = draw()
    kernels = [Linear(), Cosine(columns=[4, 2]), RBF()]
    expected = model(kernels).fit(X, y).decision_function(X)
    fitted = model(kernels).fit(container(X), y)
    assert fitted.rows_.format == "csr"
    np.testing.assert_allclose(fitted.decision_function(container(X)), expected, atol=1e-10)


def test_entries_that_are_stored_in_two_parts_count_once_and_stay_as_they_are():
    X = sparse.csr_matrix(([1.0, 2.0, 5.0], [1, 1, 0], [0, 2, 3]), shape=(2, 2))
    assert Linear()(X).tolist() == [[9.0, 0.0], [0.0, 25.0]]
    assert Linear().diag(X).tolist() == [9.0, 25.0]
    assert X.nnz == 3


@pytest.mark.parametrize(
    "options", [{}, {"normalize": "cosine"}, {"n_components": 25}, {"gate_kernel": Cosine()}]
)
@pytest.mark.parametrize(
    "kernels", [[Linear(), RBF()], [Linear(columns=slice(0, 20)), RBF("median"), Cosine(), Tanimoto()]]
)
def test_models_of_sparse_rows_are_those_of_dense_ones_and_come_back_from_files(kernels, options, tmp_path):
    X, y = separable()
    ours = model(kernels, **options).fit(X[:50], y[:50])
    theirs = model(kernels, **options).fit(X[:50].toarray(), y[:50])
    expected = ours.decision_function(X)
    digits = 1e-3 if "n_components" in options else 1e-6  # the former takes another way to the same small gap
    np.testing.assert_allclose(expected, theirs.decision_function(X.toarray()), atol=digits)
    np.testing.assert_allclose(ours.memberships(X), theirs.memberships(X.toarray()), atol=1e-8)
    save(ours, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(X), expected)
    kept = again.features_.landmarks if options.get("n_components") else again.rows_
    assert sparse.issparse(kept)


def test_searches_on_sparse_rows_are_those_on_dense_ones():
    X, y = separable()
    kernels = [RBF(), Cosine()]
    grid = {"C": [0.1, 10.0]}
    ours = MKLSearchCV(model(kernels), grid, cv=3).fit(X, y)
    theirs = GridSearchCV(model(kernels), grid, cv=3).fit(X, y)
    dense = MKLSearchCV(model(kernels), grid, cv=3).fit(X.toarray(), y)
    for other in (theirs, dense):
        scores = (search.cv_results_["mean_test_score"] for search in (ours, other))
        np.testing.assert_allclose(*scores)
    assert ours.best_score_ > 0.7
    assert sparse.issparse(ours.best_estimator_.rows_)
    np.testing.assert_array_equal(ours.predict(X), dense.predict(X.toarray()))


def test_unlabelled_rows_columns_of_groups_and_maps_work_on_sparse_rows():
    X, y = separable()
    joint = model([Linear(), RBF()]).fit(X[:40], y[:40], unlabeled=X[40:])
    dense = model([Linear(), RBF()]).fit(X[:40].toarray(), y[:40], unlabeled=X[40:].toarray())
    np.testing.assert_allclose(joint.decision_function(X), dense.decision_function(X.toarray()), atol=1e-6)
    grouped = sparse.csr_matrix(sparse.hstack([X, np.arange(60)[:, None] % 3]))
    by_groups = model([Linear(), RBF()], gate="groups", groups=40).fit(grouped, y)
    of_dense = model([Linear(), RBF()], gate="groups", groups=40).fit(grouped.toarray(), y)
    np.testing.assert_allclose(
        by_groups.decision_function(grouped), of_dense.decision_function(grouped.toarray()), atol=1e-6
    )
    expected = sample_map(of_dense).coordinates
    np.testing.assert_allclose(np.abs(sample_map(by_groups).coordinates), np.abs(expected), atol=1e-6)


def test_blocks_of_sparse_rows_and_their_exact_gap_are_those_of_dense_ones(monkeypatch):
    X, y = separable()
    fitted = model([RBF(), Cosine()]).fit(X, y)
    whole = fitted.decision_function(X)
    monkeypatch.setattr(rows, "BLOCK_ENTRIES", 60 * 7)
    np.testing.assert_allclose(fitted.decision_function(X), whole, atol=1e-12)
    ours, theirs = (model([RBF()], n_components=10).fit(table, y) for table in (X, X.toarray()))
    assert ours.exact_gap(X, y).gap == pytest.approx(theirs.exact_gap(X.toarray(), y).gap, rel=1e-4)


def test_twenty_thousand_columns_are_never_made_dense(tmp_path):
    rng = np.random.default_rng(0)
    X = sparse.random(400, 20_000, density=0.002, random_state=rng, format="csr")
    y = np.arange(400) % 2
    dense = X.shape[0] * X.shape[1] * 8
    kernels = [Linear(), RBF(), RBF("median"), Cosine(), Polynomial()]
    MKLClassifier(tol=0.1).fit(X[:20], y[:20])  # what is compiled or imported at first is not counted
    tracemalloc.start()
    try:
        for options in ({}, {"n_components": 50}):
            fitted = CLMKLClassifier(kernels, tol=0.1, random_state=0, n_clusters=2, **options).fit(X, y)
            fitted.decision_function(X)
            save(fitted, tmp_path / "model")
            load(tmp_path / "model")
        assert tracemalloc.get_traced_memory()[1] < dense / 2
    finally:
        tracemalloc.stop()


def test_features_of_sparse_rows_are_exact_where_they_are_few():
    X = draw()[0]
    kernels = fit_kernels([Linear(columns=slice(0, 8)), Cosine()], X)
    mapped = fit_features(kernels, X, 60)
    assert (mapped.widths, mapped.landmarks) == ([8, 60], None)
    for kernel in kernels:
        table = kernel.features(X)
        assert sparse.issparse(table)
        np.testing.assert_allclose((table @ table.T).toarray(), kernel(X), atol=1e-12)


def test_text_goes_through_a_pipeline():
    notes = ["mild fever and cough", "cough and fever", "broken arm", "arm and leg broken"] * 5
    y = ["cold", "cold", "fall", "fall"] * 5
    pipeline = make_pipeline(TfidfVectorizer(), MKLClassifier([Cosine(), RBF()])).fit(notes, y)
    assert pipeline.predict(["high fever", "a broken leg"]).tolist() == ["cold", "fall"]


@pytest.mark.parametrize(
    "kernel, message",
    [
        (Chi2(), "Chi2 needs dense rows, got a sparse matrix; use Linear"),
        (HistogramIntersection(), "HistogramIntersection needs dense rows, got a sparse matrix"),
        (Spectrum(), "Spectrum needs sequences, got a sparse matrix"),
        (Overlap(), "Overlap needs columns of categories, got a sparse matrix"),
        (
            RBF(standardize=True),
            "RBF cannot standardise a sparse matrix, whose zeros would become other numbers",
        ),
        (Linear(impute="median"), "what is not stored is zero; set `impute=None`"),
        (Linear(columns="a"), "Linear cannot take `columns` 'a'"),
        (Linear(columns=60), "Linear cannot take `columns` 60"),
    ],
    ids=repr,
)
def test_what_a_kernel_cannot_do_with_sparse_rows_is_one_sentence(kernel, message):
    X, y = draw()
    with pytest.raises(ValueError, match=message) as caught:
        MKLClassifier([kernel]).fit(X, y)
    assert "\n" not in str(caught.value)


def test_landmarks_of_sparse_rows_are_drawn():
    X, y = draw()
    with pytest.raises(ValueError, match="`landmarks` must be 'random' for sparse rows, got 'kmeans'"):
        MKLClassifier(n_components=5, landmarks="kmeans").fit(X, y)


def test_values_that_are_not_finite_are_found_where_they_are():
    X, y = draw()
    X = X.tolil()
    X[17, 5] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN in row 17, column 5"):
        MKLClassifier().fit(X, y)
    with pytest.raises(ValueError, match="Input X contains NaN in row 17, column 5"):
        RBF(columns=[5, 6]).fit(X.tocsr())


@pytest.mark.parametrize(
    "spoil, message",
    [
        (lambda parts: parts["csr"].__setitem__(1, parts["csr"][1] + 60), "indices|index"),
        (lambda parts: parts["csr"].__setitem__(1, parts["csr"][1] - 60), "indices|index"),
        (lambda parts: parts["csr"].__setitem__(2, parts["csr"][2][::-1].copy()), "ind"),
        (lambda parts: parts["csr"].__setitem__(0, parts["csr"][0].astype(str)), "has no numbers"),
        (lambda parts: parts.__setitem__("shape", [3, 60]), "ind"),
    ],
)
def test_arrays_that_are_no_sparse_matrix_are_not_read(spoil, message):
    parts = take_apart(draw()[0])
    assert (put_together(parts) != draw()[0]).nnz == 0
    parts = {"shape": parts["shape"], "csr": [part.copy() for part in parts["csr"]]}
    spoil(parts)
    with pytest.raises(ValueError, match=message):
        put_together(parts)


def test_sparse_columns_of_a_data_frame_are_read_as_numbers():
    X = draw()[0]
    frame = pd.DataFrame.sparse.from_spmatrix(X)
    np.testing.assert_allclose(Linear()(frame), Linear()(X), atol=1e-12)
