"""Missing cells: named where they are an error, filled by what training rows say where they are not."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from localmkl import CLMKLClassifier, MKLClassifier, load, save
from localmkl.datasets import make_localized
from localmkl.kernels import RBF, Chi2, Cosine, HistogramIntersection, Linear, Polynomial, Tanimoto
from localmkl.model_selection import MKLSearchCV

KINDS = [Linear, Polynomial, RBF, Cosine, Chi2, HistogramIntersection, Tanimoto]


def draw(n_rows=30, n_columns=4, share=0.2, seed=0):
    rng = np.random.default_rng(seed)
    table = rng.gamma(2.0, size=(n_rows, n_columns))
    table[rng.random(table.shape) < share] = np.nan
    return table


def gappy(n_rows=80):
    X, y = make_localized(n_rows, random_state=0)[:2]
    X = X[:, :6].copy()
    X[np.random.default_rng(0).random(X.shape) < 0.15] = np.nan
    return X, y


@pytest.mark.parametrize("how", ["median", "mean"])
@pytest.mark.parametrize("kind", KINDS)
def test_gaps_are_filled_as_an_imputer_fills_them(kind, how):
    X, new = draw(), draw(7, seed=1)
    imputer = SimpleImputer(strategy=how).fit(X)
    kernel, plain = kind(impute=how).fit(X), kind().fit(imputer.transform(X))
    np.testing.assert_allclose(kernel(new, X), plain(imputer.transform(new), imputer.transform(X)))
    np.testing.assert_allclose(kernel.diag(new), plain.diag(imputer.transform(new)))
    assert not hasattr(clone(kernel), "fills_")
    with pytest.raises(NotFittedError):
        kind(impute=how)(X)


@pytest.mark.parametrize(
    "kernel", [RBF(impute="median", standardize=True), RBF("median", impute="mean")], ids=repr
)
def test_weighted_rows_fill_as_repeated_rows_do(kernel):
    X, weights = draw(), np.random.default_rng(1).integers(0, 4, size=30)
    weighted = clone(kernel).fit(X, weights.astype(float))
    repeated = clone(kernel).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.fills_, repeated.fills_, rtol=1e-12)
    np.testing.assert_allclose(weighted(X), repeated(X), rtol=1e-9)


def test_a_column_without_a_number_is_named():
    X = draw(share=0.0)
    X[:, 2] = np.nan
    with pytest.raises(
        ValueError, match="needs a number in every column of the training rows, got none in column 2"
    ):
        Linear(columns=[3, 2], impute="median").fit(X)
    frame = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(ValueError, match="got none in column 'c'"):
        Linear(impute="median").fit(frame)
    X[0, 2] = 1.0  # of weight zero, it does not count
    with pytest.raises(ValueError, match="got none in column 2"):
        Linear(impute="median").fit(X, (np.arange(30) > 0).astype(float))
    with pytest.raises(ValueError, match="Linear cannot take `columns` 9"):
        Linear(columns=9, impute="median").fit(X)
    with pytest.raises(ValueError, match="`impute` must be one of 'median', 'mean', None, got 'mode'"):
        Linear(impute="mode").fit(X)


def test_gaps_that_nobody_fills_are_named_as_the_user_counts():
    X, y = gappy()
    X[:, :] = np.nan_to_num(X)
    X[70, 4] = np.nan
    for fit in (
        lambda: MKLClassifier().fit(X, y),
        lambda: MKLClassifier([Linear(columns=[1], impute="median"), RBF(columns=[0, 4])]).fit(X, y),
        lambda: CLMKLClassifier([Linear(columns=[1])], gate_kernel=RBF(columns=[4])).fit(X, y),
        lambda: MKLSearchCV(MKLClassifier(), {"C": [1.0]}).fit(X, y),
        lambda: RBF(columns=slice(-2, None)).fit(X),
    ):
        with pytest.raises(ValueError, match="Input X contains NaN in row 70, column 4; fill it") as caught:
            fit()
        assert "\n" not in str(caught.value)
    named = pd.DataFrame(X, columns=list("abcdef"), index=[f"p{i}" for i in range(80)])
    with pytest.raises(ValueError, match="Input X contains NaN in row 'p70', column 'e'"):
        MKLClassifier().fit(named, y)
    fitted = MKLClassifier([Linear(columns=[1], impute="median"), RBF(columns=[0, 4])]).fit(X[:60], y[:60])
    with pytest.raises(ValueError, match="Input X contains NaN in row 10, column 4"):
        fitted.predict(X[60:])


@pytest.mark.parametrize("container", [np.asarray, pd.DataFrame])
def test_gaps_in_columns_that_no_kernel_reads_do_not_matter_beside_a_kernel_that_fills(container):
    X, y = gappy()
    full = X.copy()
    full[:, 4:] = 0.0
    kernels = [RBF(columns=[0, 1], impute="median"), Linear(columns=[2, 3], impute="mean")]
    ours, theirs = (MKLClassifier(kernels).fit(container(rows), y) for rows in (X, full))
    np.testing.assert_array_equal(
        ours.decision_function(container(X)), theirs.decision_function(container(full))
    )


def test_infinite_cells_are_never_filled():
    X, y = gappy()
    X[2, 3] = np.inf
    with pytest.raises(ValueError, match="Input X contains infinity in row 2, column 3; replace it"):
        MKLClassifier([RBF(impute="median")]).fit(X, y)


@pytest.mark.parametrize("options", [{}, {"n_components": 20}])
def test_models_that_fill_equal_pipelines_that_do_and_come_back_from_files(options, tmp_path):
    X, y = gappy()
    settings = {"random_state": 0, "n_clusters": 2, "tol": 1e-6, **options}
    kernels = [RBF(), Linear(columns=[0, 1])]
    ours = CLMKLClassifier([clone(one).set_params(impute="median") for one in kernels], **settings)
    ours.fit(X[:60], y[:60])
    theirs = make_pipeline(SimpleImputer(strategy="median"), CLMKLClassifier(kernels, **settings))
    theirs.fit(X[:60], y[:60])
    expected = theirs.decision_function(X)
    np.testing.assert_allclose(ours.decision_function(X), expected, atol=1e-8)
    save(ours, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").decision_function(X), ours.decision_function(X))


def test_searches_fill_within_their_folds():
    X, y = gappy()
    grid = {"C": [0.1, 1.0]}
    ours = MKLSearchCV(MKLClassifier([RBF(impute="median")], tol=1e-8), grid, cv=3, refit=False).fit(X, y)
    pipeline = make_pipeline(SimpleImputer(strategy="median"), MKLClassifier([RBF()], tol=1e-8))
    theirs = GridSearchCV(pipeline, {"mklclassifier__C": grid["C"]}, cv=3, refit=False).fit(X, y)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])


def test_nullable_columns_have_gaps_too(tmp_path):
    X, y = gappy()
    frame = pd.DataFrame({"a": X[:, 0], "b": pd.array(np.arange(80) % 7, dtype="Int64")})
    frame.loc[[3, 9], "b"] = pd.NA
    fitted = MKLClassifier([RBF(impute="median")]).fit(frame, y)
    assert fitted.kernels_[0].fills_[1] == 3.0
    save(fitted, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_allclose(again.decision_function(frame), fitted.decision_function(frame), rtol=1e-12)
