"""The kernels that are taken when none are named, their names, and kernels that cannot help."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_selector
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from localmkl import CLMKLClassifier, MKLClassifier, MKLRegressor, UniformMKLClassifier, Views
from localmkl.datasets import load_splice
from localmkl.kernels import (
    KERNEL_WORDS,
    RBF,
    Cosine,
    HistogramIntersection,
    Linear,
    Overlap,
    Polynomial,
    PseudoAminoAcid,
    Spectrum,
    TfIdf,
    WeightedDegree,
    columns_read,
    compute_stack,
    default_kernels,
    fit_kernels,
    short_names,
)
from localmkl.kernels.likeness import odd_kernels
from localmkl.model_selection import MKLSearchCV

WHOLE = ["rbf 0.5", "rbf 1.5"]
ALONE = ["linear", "rbf 0.1", "rbf 0.5", "rbf 1.5"]


def draw_table(n_rows=60, n_columns=4, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(n_rows, n_columns)), columns=[*"abcdefghijkl"][:n_columns])


def names_for(X):
    return short_names(default_kernels(X))


def test_each_column_of_a_table_gets_a_line_and_a_gaussian_and_all_get_gaussians():
    X = draw_table(n_columns=2)
    assert names_for(X) == [*WHOLE, "a (linear)", "b (linear)", "a (rbf)", "b (rbf)"]
    assert names_for(X.to_numpy()) == [*WHOLE, "0 (linear)", "1 (linear)", "0 (rbf)", "1 (rbf)"]
    assert all(kernel.standardize for kernel in default_kernels(X))
    assert names_for(np.random.default_rng(0).normal(size=(9, 21))) == ALONE  # too many for kernels each


def test_words_get_overlap_and_what_cannot_be_read_gets_nothing():
    X = draw_table(n_columns=1).assign(
        sex=["f", "m"] * 30, note=[f"note {k}" for k in range(60)], same=1.0, object_numbers=np.arange(60)
    )
    X["object_numbers"] = X["object_numbers"].astype(object)
    kernels = default_kernels(X)
    assert columns_read(kernels, X.columns) == ["a", "sex", "object_numbers"]
    assert short_names(kernels)[-1] == "sex"
    assert isinstance(kernels[-1], Overlap)
    with pytest.raises(ValueError, match="a column of numbers, or one of few different words, got none"):
        default_kernels(X[["note"]])


@pytest.mark.parametrize(
    ("names", "parts"),
    [
        ("mrna_1 mrna_2 age meth_1 meth_2", ["mrna_*", "meth_*", "age"]),
        ("a.x a.y b.x b.y", ["a.*", "b.*"]),
        ("cg01 cg02 ENSG1 ENSG2", ["cg*", "ENSG*"]),
        ("mean_radius mean_area radius_error area_error", ["mean_*", "*_error"]),
        ("x1 x2 x3", ["x1", "x2", "x3"]),
    ],
)
def test_columns_are_grouped_by_their_names(names, parts):
    X = draw_table(n_columns=len(names.split())).set_axis(names.split(), axis=1)
    assert names_for(X) == [*WHOLE, *(f"{part} ({word})" for word in ("linear", "rbf") for part in parts)]


@pytest.mark.parametrize(
    ("sequences", "expected"),
    [
        (["ACGTACGTAA", "ACGTTCGTAA"], "wd 1|wd 2|wd 3|wd 4|wd 5|wd 6|wd 7|wd 8|wd 4 shift 5|wd 8 shift 5|"
         "spectrum 4|spectrum 5|spectrum 6"),
        (["ACG", "CCG"], "wd 1|wd 2|wd 3"),
        (["ACGUA", "ACGUUA"], "spectrum 1|spectrum 2|spectrum 3|spectrum 4|spectrum 5"),
        (["MKVLAWPGHEL", "MKVLAWPGHELK"], "spectrum 1|spectrum 2|spectrum 3|pseaac 1|pseaac 4|pseaac 10"),
    ],
)  # fmt: skip
def test_sequences_get_kernels_in_place_and_anywhere(sequences, expected):
    assert "|".join(names_for(sequences)) == expected
    kernels = default_kernels(sequences)
    assert {type(kernel) for kernel in kernels} <= {WeightedDegree, Spectrum, PseudoAminoAcid}
    assert len(fit_kernels(kernels, sequences)) == len(kernels)


def test_texts_words_and_sparse_rows_have_kernels_of_their_own():
    assert [type(one) for one in default_kernels(["a rose is red", "rain falls"])] == [TfIdf]
    assert [type(one) for one in default_kernels(["colon", "lung"] * 4)] == [Overlap]
    counts = sparse.random(9, 30, density=0.3, random_state=0, format="csr")
    assert [type(one) for one in default_kernels(counts)] == [Linear, RBF, RBF, RBF]
    assert [type(one) for one in default_kernels((counts > 0).astype(float))] == [TfIdf, Cosine]


def test_kernels_of_views_name_their_view():
    X = Views({"lab": draw_table(n_columns=2), "site": ["colon", "lung"] * 30})
    assert short_names(default_kernels(X))[-2:] == ["lab: b (rbf)", "site: overlap"]
    model = MKLClassifier().fit(X, np.arange(60) % 2)
    assert len(model.kernels_) == len(default_kernels(X))


@pytest.mark.parametrize("load", [load_breast_cancer, load_diabetes, load_wine])
def test_no_default_kernel_is_near_the_identity_or_the_constant(load):
    X = load(as_frame=True).data
    kernels = default_kernels(X)
    grams = compute_stack(fit_kernels(kernels, X), X)
    for kernel, m in zip(kernels, range(len(kernels)), strict=True):
        gram = grams.block(m)
        scale = np.sqrt(gram.diagonal())
        off = (gram / np.maximum(np.outer(scale, scale), 1e-300))[np.triu_indices(len(gram), k=1)]
        if isinstance(kernel, RBF):
            assert 0.01 < np.median(off) < 0.99
    assert odd_kernels(grams, kernels) == []


def test_gaps_are_filled_where_that_is_asked_for():
    X = draw_table()
    X.iloc[3, 1] = np.nan
    y = X["a"] > 0
    model = MKLClassifier(default_kernels(X, impute="median")).fit(X, y)
    assert model.score(X, y) > 0.9
    with pytest.raises(ValueError, match="NaN"):
        MKLClassifier().fit(X, y)


def test_estimators_take_the_defaults_for_their_rows():
    X = draw_table().assign(sex=["f", "m"] * 30)
    y = X["b"] + (X["sex"] == "f")
    model = MKLRegressor().fit(X, y)
    assert short_names(model.kernels_) == names_for(X)
    assert model.score(X, y) > 0.8
    sequences, labels, _ = load_splice()
    named = MKLClassifier().fit(sequences[::40].tolist(), labels[::40])
    assert len(named.kernels_) == 13


def test_kernels_may_be_named_by_words():
    X = draw_table().to_numpy()
    y = X[:, 0] > 0
    model = MKLClassifier(["linear", "rbf", RBF("median")]).fit(X, y)
    assert [type(kernel) for kernel in model.kernels_] == [Linear, RBF, RBF]
    assert len(MKLClassifier(["linear"]).fit(Views({"v": X}), y).kernels_) == 1
    with pytest.raises(ValueError, match="'rfb'; did you mean 'rbf'"):
        MKLClassifier(["rfb"]).fit(X, y)
    assert set(KERNEL_WORDS) >= {"linear", "rbf", "wd", "spectrum"}


def test_columns_may_be_chosen_by_a_function():
    X = draw_table().assign(sex=["f", "m"] * 30)
    kernels = [Linear(make_column_selector("a|b")), Overlap(make_column_selector(dtype_exclude=np.number))]
    model = MKLClassifier(kernels).fit(X, X["a"] > 0)
    assert [kernel.columns for kernel in model.kernels_] == [["a", "b"], ["sex"]]
    np.testing.assert_array_equal(model.predict(X[::-1]), model.predict(X)[::-1])
    table = X[["a", "b", "c"]]
    np.testing.assert_allclose(Linear(make_column_selector("a"))(table), Linear(["a"])(table))
    views = Views({"lab": X})
    assert MKLClassifier(kernels).fit(views, X["a"] > 0).kernels_[0].kernel_.columns == ["a", "b"]


NARROW = RBF(factor=10.0, standardize=True)
WIDE = RBF(factor=1e-4, standardize=True)


@pytest.mark.parametrize(
    ("kernel", "said"), [(NARROW, "sees no two rows as alike"), (WIDE, "sees all rows as alike")]
)
def test_a_kernel_that_cannot_help_is_named_once_in_a_fit_and_in_a_search(kernel, said):
    X, y = load_wine(return_X_y=True)
    with pytest.warns(UserWarning, match=said) as caught:
        MKLClassifier([Linear(standardize=True), kernel]).fit(X, y)
    assert len(caught) == 1
    assert "'rbf'" in str(caught[0].message)
    with pytest.warns(UserWarning, match=said) as caught:
        MKLSearchCV(UniformMKLClassifier([kernel]), {"C": [1.0, 3.0]}, cv=3).fit(X, y)
    assert len(caught) == 1
    gram = kernel.fit(X)(X)
    with pytest.warns(UserWarning, match=f"The kernel 'kernel 2' {said}"):
        MKLClassifier("precomputed").fit(np.stack([X @ X.T, gram]), y)


def test_kernels_that_tell_rows_apart_are_not_warned_of():
    rng = np.random.default_rng(0)
    letters = ["".join(rng.choice(list("ACGT"), 60)) for _ in range(50)]
    spectra = np.exp(0.01 * rng.normal(size=(50, 30)))  # all rows nearly alike, as lines and cosines
    genes = rng.normal(size=(50, 5000))
    families = np.kron(np.eye(25), np.ones((2, 2)))
    for kernels, X in [
        ([*map(WeightedDegree, (1, 8, 20)), *map(Spectrum, (2, 6, 10))], letters),
        ([Linear(), Cosine(), HistogramIntersection(), RBF(), Polynomial(2)], spectra),
        ([Linear(), Cosine(), RBF(), RBF("median"), Polynomial(8)], genes),
        ([RBF(factor=10.0, standardize=True, columns=[0])], genes),
        ([Overlap()], pd.DataFrame({"rare": ["x"] + 49 * ["y"]})),
    ]:
        assert odd_kernels(compute_stack(fitted := fit_kernels(kernels, X), X), fitted) == []
    assert MKLClassifier("precomputed").fit(families[None], np.arange(50) % 2).n_features_in_ == 50


def test_a_list_of_grams_without_precomputed_is_refused():
    X = draw_table().to_numpy()
    y = X[:, 0] > 0
    grams = [X @ X.T, (1 + X @ X.T) ** 2]
    for model in (MKLClassifier(), MKLSearchCV(MKLClassifier(), {"C": [1.0]}, cv=3)):
        with pytest.raises(ValueError, match="got 2 square symmetric arrays; if they are Grams, set kernels"):
            model.fit(grams, y)
    assert MKLClassifier("precomputed").fit(grams, y).score(grams, y) > 0.9


def test_groups_as_values_in_the_constructor_say_where_they_belong():
    X = draw_table().to_numpy()
    y, groups = X[:, 0] > 0, np.arange(60) % 3
    with pytest.raises(ValueError, match=r"names a column of the rows, got 60 values; pass them as fit\("):
        CLMKLClassifier(gate="groups", groups=groups).fit(X, y)
    assert len(CLMKLClassifier(gate="groups").fit(X, y, groups=groups).cluster_names_) == 3


def test_a_grid_of_clusters_and_evenness_has_no_impossible_cells():
    X = draw_table().to_numpy()
    grid = {"n_clusters": [2, 4], "evenness": [0.3, 0.6]}
    search = MKLSearchCV(CLMKLClassifier(["linear"], random_state=0), grid, cv=2, error_score="raise")
    tried = search.fit(X, X[:, 0] > 0).cv_results_["params"]
    assert [(one["n_clusters"], one["evenness"]) for one in tried] == [(2, 0.5), (4, 0.3), (2, 0.6), (4, 0.6)]
