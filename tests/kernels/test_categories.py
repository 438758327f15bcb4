"""Categories: agreement counted one by one, whatever holds the values, also new ones."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from localmkl import CLMKLClassifier, MKLClassifier, load, save
from localmkl.kernels import RBF, Linear, Overlap
from localmkl.model_selection import MKLSearchCV

NAMES = ["sex", "stage", "site"]


def draw(n_rows=40, seed=0, sites=4):
    """Words, categoricals and numbers, some of them missing."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["female", "male", None], n_rows, p=[0.5, 0.4, 0.1])
    stage = pd.Categorical(rng.choice(["I", "II", "III"], n_rows))
    site = np.where(rng.random(n_rows) < 0.1, np.nan, rng.integers(0, sites, n_rows))
    return pd.DataFrame({"sex": sex, "stage": stage, "site": site, "age": rng.normal(size=n_rows)})


def labels(frame):
    return np.where((frame["stage"] == "II").to_numpy() ^ (frame["age"].to_numpy() > 0.3), 1, -1)


def agree(one, other):
    missing = [value is None or value != value for value in (one, other)]
    return all(missing) if any(missing) else one == other


def naive(X, Y):
    pairs = (X[NAMES].astype(object).to_numpy(), Y[NAMES].astype(object).to_numpy())
    return np.array(
        [[np.mean([agree(*p) for p in zip(x, y, strict=True)]) for y in pairs[1]] for x in pairs[0]]
    )


def test_overlap_is_the_share_of_columns_that_agree():
    X, Y = draw(), draw(9, seed=1, sites=7)
    kernel = Overlap(NAMES).fit(X)
    np.testing.assert_allclose(kernel(X), naive(X, X))
    np.testing.assert_allclose(kernel(Y, X), naive(Y, X))
    np.testing.assert_array_equal(kernel.diag(Y), kernel(Y).diagonal())
    joint = kernel(pd.concat([X, Y]))
    assert np.linalg.eigvalsh(joint)[0] >= -1e-12 * len(joint)
    assert clone(kernel).get_params() == {"columns": NAMES, "impute": None, "view": None}
    assert not hasattr(clone(kernel), "categories_")


def test_new_values_are_unlike_all_others_but_themselves():
    kernel = Overlap().fit([["a"], ["b"]])
    new = [["c"], ["d"], ["c"], [None]]
    assert not kernel(new, [["a"], ["b"], ["d "]]).any()
    np.testing.assert_array_equal(kernel(new), [[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]])


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_missing_values_are_one_category_whatever_stands_for_them(missing):
    rows = np.array([[missing], [None], ["a"]], dtype=object)
    np.testing.assert_array_equal(Overlap()(rows), [[1, 1, 0], [1, 1, 0], [0, 0, 1]])


def test_what_holds_the_values_does_not_matter():
    X = draw()
    expected = Overlap(NAMES)(X)
    objects = X[NAMES].to_numpy(dtype=object)
    numbers = X[NAMES].apply(lambda column: pd.factorize(column, use_na_sentinel=False)[0]).to_numpy()
    for rows in (objects, objects.tolist(), numbers, numbers.astype(float), pd.DataFrame(objects)):
        np.testing.assert_array_equal(Overlap()(rows), expected)
    words = ["a", "b", "a"]
    np.testing.assert_array_equal(Overlap()(words), [[1, 0, 1], [0, 1, 0], [1, 0, 1]])
    np.testing.assert_array_equal(Overlap(columns="sex")(X), Overlap(columns=0)(objects))


def test_features_are_indicators_of_the_values_in_the_training_rows():
    X, Y = draw(), draw(9, seed=1, sites=9)
    kernel = Overlap(NAMES).fit(X)
    table, new = kernel.features(X), kernel.features(Y)
    assert table.format == "csr"
    assert table.shape[1] == new.shape[1] == kernel.count_features(X) == sum(map(len, kernel.categories_))
    np.testing.assert_allclose((table @ table.T).toarray(), kernel(X))
    np.testing.assert_allclose((new @ table.T).toarray(), kernel(Y, X))
    weighted = Overlap(NAMES).fit(X, (X["stage"] != "III").to_numpy().astype(float))
    assert weighted.categories_[1] == ["I", "II"]
    with pytest.raises(NotFittedError):
        Overlap().features(X)


@pytest.mark.parametrize("options", [{}, {"n_components": 15}, {"normalize": "cosine"}])
@pytest.mark.parametrize("of_objects", [False, True])
def test_models_of_categories_come_back_from_files(options, of_objects, tmp_path):
    X, new = draw(), draw(12, seed=2, sites=6)
    y = labels(X)
    kernels = [Overlap(NAMES), RBF(columns="age")]
    if of_objects:
        X, new = (frame.to_numpy(dtype=object) for frame in (X, new))
        kernels = [Overlap([0, 1, 2]), RBF(columns=3)]
    model = CLMKLClassifier(kernels, n_clusters=2, random_state=0, **options).fit(X, y)
    assert model.score(X, y) > 0.8
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_allclose(again.decision_function(new), model.decision_function(new), rtol=1e-12)
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), rtol=1e-12)


def test_searches_take_categories_as_others_do():
    X = draw(60)
    model, grid = MKLClassifier([Overlap(NAMES), RBF(columns="age")], tol=1e-8), {"C": [0.1, 10.0]}
    ours = MKLSearchCV(model, grid, cv=3).fit(X, labels(X))
    theirs = GridSearchCV(model, grid, cv=3).fit(X, labels(X))
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])


def test_words_beside_kernels_of_numbers_alone_are_still_refused():
    X = draw()[["sex", "age"]].to_numpy(dtype=object)
    with pytest.raises(ValueError, match="The rows must be numbers, got text"):
        MKLClassifier([Linear(columns=1)]).fit(X, np.arange(40) % 2)
    with pytest.raises(ValueError, match="Linear needs numeric columns, got text"):
        MKLClassifier([Overlap(0), Linear()]).fit(X, np.arange(40) % 2)
    with pytest.raises(ValueError, match="Overlap cannot take `columns` 'grade'"):
        MKLClassifier([Overlap("grade")]).fit(draw(), np.arange(40) % 2)
