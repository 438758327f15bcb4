import inspect

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from localmkl import MKLClassifier
from localmkl import kernels as kernels_module
from localmkl.datasets import make_localized
from localmkl.kernels import (
    RBF,
    CallableKernel,
    Chi2,
    Cosine,
    HistogramIntersection,
    Linear,
    Polynomial,
    Tanimoto,
    VectorKernel,
)
from localmkl.kernels import vectors as vectors_module
from localmkl.model_selection import MKLSearchCV

seeds = st.integers(0, 2**32 - 1)
quick = settings(max_examples=15, deadline=None, derandomize=True)


def naive_linear(x, y):
    return sum(a * b for a, b in zip(x, y, strict=True))


def naive_polynomial(x, y):
    return (naive_linear(x, y) / len(x) + 1.0) ** 2


def naive_cubic(x, y):
    return (0.3 * naive_linear(x, y) + 0.5) ** 3


def naive_rbf(x, y):
    return np.exp(-0.7 * sum((a - b) ** 2 for a, b in zip(x, y, strict=True)))


def naive_chi2(x, y):
    parts = [(a - b) ** 2 / (a + b) for a, b in zip(x, y, strict=True) if a + b > 0.0]
    return np.exp(-0.7 * sum(parts))


def naive_intersection(x, y):
    return sum(min(a, b) for a, b in zip(x, y, strict=True))


def naive_cosine(x, y):
    size = np.sqrt(naive_linear(x, x) * naive_linear(y, y))
    return naive_linear(x, y) / size if size > 0.0 else 0.0


def naive_tanimoto(x, y):
    either = sum(max(a, b) for a, b in zip(x, y, strict=True))
    return naive_intersection(x, y) / either if either > 0.0 else 0.0


NAIVE = [
    (Linear(), naive_linear),
    (Polynomial(), naive_polynomial),
    (Polynomial(degree=3, gamma=0.3, coef0=0.5), naive_cubic),
    (RBF(gamma=0.7), naive_rbf),
    (RBF(gamma=0.35, factor=2.0), naive_rbf),
    (Chi2(gamma=0.7), naive_chi2),
    (Cosine(), naive_cosine),
    (HistogramIntersection(), naive_intersection),
    (Tanimoto(), naive_tanimoto),
    (CallableKernel(lambda X, Y: X @ Y.T), naive_linear),
]
DATA_DRIVEN = [RBF(), RBF("median"), RBF("median", factor=3.0), Chi2()]
KERNELS = [kernel for kernel, _ in NAIVE] + DATA_DRIVEN
VECTOR_KERNELS = [kernel for kernel in KERNELS if isinstance(kernel, VectorKernel)]


def name(value):
    """A test id that is the same in every process."""
    if isinstance(value, CallableKernel):
        return "function"
    return repr(value) if isinstance(value, VectorKernel) else value.__name__


def draw_table(seed, n_rows=12, n_columns=4):
    """Nonnegative numbers with zeros among them, as histograms have."""
    rng = np.random.default_rng(seed)
    table = rng.gamma(2.0, size=(n_rows, n_columns))
    table[rng.random(table.shape) < 0.2] = 0.0
    return table


def test_every_kernel_of_the_package_is_in_these_tests():
    public = [getattr(kernels_module, name) for name in kernels_module.__all__]
    classes = [cls for cls in public if inspect.isclass(cls) and issubclass(cls, VectorKernel)]
    assert set(classes) - {VectorKernel} == {type(kernel) for kernel in VECTOR_KERNELS}


@pytest.mark.parametrize("kernel, naive", NAIVE, ids=name)
@quick
@given(seed=seeds)
def test_gram_equals_the_formula_written_out(kernel, naive, seed):
    X, Y = draw_table(seed, 6), draw_table(seed + 1, 5)
    fitted = clone(kernel).fit(X)
    expected = [[naive(x, y) for y in Y] for x in X]
    np.testing.assert_allclose(fitted(X, Y), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fitted(X), [[naive(x, y) for y in X] for x in X], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=name)
@quick
@given(seed=seeds)
def test_gram_is_symmetric_and_positive_semidefinite(kernel, seed):
    X = draw_table(seed, 15)
    gram = clone(kernel).fit(X)(X)
    assert gram.shape == (15, 15)
    assert gram.dtype == np.float64
    np.testing.assert_allclose(gram, gram.T, rtol=1e-12, atol=1e-12)
    assert np.linalg.eigvalsh(gram)[0] >= -1e-9 * np.trace(gram)


@pytest.mark.parametrize("kernel", KERNELS, ids=name)
def test_cross_gram_is_a_block_of_the_joint_gram(kernel):
    X = draw_table(0, 20)
    fitted = clone(kernel).fit(X[:12])
    joint = fitted(X)
    np.testing.assert_allclose(fitted(X[12:], X[:12]), joint[12:, :12], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=name)
def test_read_only_rows_are_enough(kernel):
    X = draw_table(0)
    expected = clone(kernel).fit(X)(X[:4], X[4:])
    X.flags.writeable = False
    np.testing.assert_array_equal(clone(kernel).fit(X)(X[:4], X[4:]), expected)


@pytest.mark.parametrize("kernel", KERNELS, ids=name)
def test_diag_is_the_diagonal_of_the_gram(kernel):
    X = draw_table(1)
    fitted = clone(kernel).fit(X)
    np.testing.assert_allclose(fitted.diag(X), fitted(X).diagonal(), rtol=1e-12)


@pytest.mark.parametrize("kernel", VECTOR_KERNELS, ids=repr)
@pytest.mark.parametrize(
    "columns, positions",
    [
        (2, [2]),
        (np.int64(2), [2]),
        (-1, [3]),
        ([0, 3], [0, 3]),
        ((0, 3), [0, 3]),
        (np.array([3, 1]), [3, 1]),
        (slice(1, 3), [1, 2]),
        (np.array([True, False, False, True]), [0, 3]),
    ],
    ids=str,
)
@pytest.mark.parametrize("container", [np.asarray, pd.DataFrame], ids=["array", "frame"])
def test_columns_choose_by_position(kernel, columns, positions, container):
    table = draw_table(2)
    X = container(table)
    chosen = clone(kernel).set_params(columns=columns).fit(X)
    expected = clone(kernel).fit(table[:, positions])
    np.testing.assert_allclose(chosen(X), expected(table[:, positions]), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(chosen.diag(X), expected.diag(table[:, positions]))


@pytest.mark.parametrize("kernel", VECTOR_KERNELS, ids=repr)
@pytest.mark.parametrize("columns, positions", [("b", [1]), (["d", "a"], [3, 0]), (slice("b", "c"), [1, 2])])
def test_columns_choose_by_name_beside_text(kernel, columns, positions):
    table = draw_table(3)
    frame = pd.DataFrame(table, columns=list("abcd")).assign(remark="text")
    chosen = clone(kernel).set_params(columns=columns).fit(frame)
    expected = clone(kernel).fit(table[:, positions])
    np.testing.assert_allclose(chosen(frame), expected(table[:, positions]))
    np.testing.assert_allclose(
        chosen(frame[:3], frame[3:]), expected(table[:3, positions], table[3:, positions])
    )


def test_gamma_scale_is_that_of_svc():
    X = draw_table(4, 30)
    y = np.arange(30) % 2
    assert RBF("scale").fit(X).gamma_ == pytest.approx(SVC(gamma="scale").fit(X, y)._gamma)
    assert RBF("scale", factor=3.0).fit(X).gamma_ == pytest.approx(3.0 / (4 * X.var()))


@pytest.mark.parametrize("kernel", DATA_DRIVEN, ids=repr)
@quick
@given(seed=seeds, weights=st.lists(st.integers(0, 3), min_size=12, max_size=12))
def test_weighted_rows_give_the_width_of_repeated_rows(kernel, seed, weights):
    weights = np.array(weights)
    weights[:3] = 1  # at least three rows count
    X = draw_table(seed)
    weighted = clone(kernel).fit(X, sample_weight=weights.astype(float))
    repeated = clone(kernel).fit(np.repeat(X, weights, axis=0))
    assert weighted.gamma_ == pytest.approx(repeated.gamma_, rel=1e-9)


def test_gamma_median_is_one_over_the_median_squared_distance():
    X = draw_table(5)
    distances = [np.sum((x - y) ** 2) for i, x in enumerate(X) for y in X[:i]]
    assert RBF("median").fit(X).gamma_ == pytest.approx(1.0 / np.median(distances))
    assert RBF("median", factor=4.0).fit(X + 1e3).gamma_ == pytest.approx(4.0 / np.median(distances))


def test_chi2_gamma_mean_is_one_over_the_mean_distance():
    X = draw_table(6)
    distances = [-np.log(naive_chi2(x, y)) / 0.7 for i, x in enumerate(X) for y in X[:i]]
    assert Chi2("mean").fit(X).gamma_ == pytest.approx(1.0 / np.mean(distances))


@pytest.mark.parametrize("kernel", DATA_DRIVEN, ids=repr)
def test_equal_rows_leave_a_width_of_one(kernel):
    X = np.full((5, 3), 2.0)
    assert clone(kernel).fit(X).gamma_ == getattr(kernel, "factor", 1.0)
    assert clone(kernel).fit(X[:1]).gamma_ == getattr(kernel, "factor", 1.0)


def test_widths_of_many_rows_come_from_some_of_them(monkeypatch):
    monkeypatch.setattr(vectors_module, "MEDIAN_ROWS", 20)
    X = draw_table(7, 101)
    evenly_chosen = X[np.linspace(0, 100, 20).astype(int)]
    assert RBF("median").fit(X).gamma_ == RBF("median").fit(evenly_chosen).gamma_


@pytest.mark.parametrize("kernel", DATA_DRIVEN, ids=repr)
def test_a_width_is_learned_once_and_kept(kernel):
    X = draw_table(8)
    fitted = clone(kernel).fit(X)
    np.testing.assert_array_equal(fitted(3.0 * X), clone(fitted).set_params(**given_width(fitted))(3.0 * X))


def given_width(kernel):
    width = {"gamma": kernel.gamma_}
    return {**width, "factor": 1.0} if isinstance(kernel, RBF) else width


@pytest.mark.parametrize("kernel", KERNELS, ids=name)
def test_clone_copies_parameters_and_forgets_what_was_learned(kernel):
    X = draw_table(9)
    copied = clone(clone(kernel).fit(X))
    assert copied.get_params() == kernel.get_params()
    assert not hasattr(copied, "gamma_")


def test_a_function_sees_the_rows_as_they_came():
    kernel = CallableKernel(lambda X, Y: [[len(set(a) & set(b)) for b in Y] for a in X])
    words = ["abc", "bcd", "xyz"]
    assert kernel(words).tolist() == [[3, 2, 0], [2, 3, 0], [0, 0, 3]]
    assert kernel(words[:1], words).tolist() == [[3, 2, 0]]
    assert kernel.diag(words).tolist() == [3, 3, 3]


@pytest.mark.parametrize("kernel", [Chi2(), Chi2(0.5), HistogramIntersection(), Tanimoto()], ids=repr)
@pytest.mark.parametrize("call", ["fit", "__call__", "diag"])
def test_histogram_kernels_refuse_negative_values(kernel, call):
    X = draw_table(10)
    X[3, 2] = -0.25
    with pytest.raises(ValueError, match=r"needs columns without negative values, got -0.25; use histograms"):
        getattr(clone(kernel), call)(X)
    clone(kernel).set_params(columns=[0, 1]).fit(X)  # the other columns are fine


@pytest.mark.parametrize("kernel", VECTOR_KERNELS, ids=repr)
@pytest.mark.parametrize(
    "X",
    [np.array([["a", "b"], ["c", "d"]], dtype=object), pd.DataFrame({"a": ["x", "y"]})],
    ids=["array", "frame"],
)
def test_text_columns_are_refused_by_name(kernel, X):
    with pytest.raises(ValueError, match=rf"{type(kernel).__name__} needs numeric columns, got text"):
        clone(kernel).fit(X)


DAYS = pd.Series(pd.date_range("2024", periods=12))
SOME_DAYS = DAYS.where(DAYS.index != 3)


@pytest.mark.parametrize(
    "cells",
    [
        DAYS,
        SOME_DAYS,
        SOME_DAYS.dt.tz_localize("UTC"),
        SOME_DAYS - DAYS[0],
        pd.Categorical(SOME_DAYS),
        DAYS.dt.date,
        SOME_DAYS.dt.to_period("D"),
        pd.Series([np.datetime64("NaT", "ns"), *DAYS.to_numpy()[1:]], dtype=object),
    ],
    ids=["dates", "gaps", "zone", "spans", "categories", "objects", "periods", "of NumPy"],
)
@pytest.mark.parametrize("beside", [{}, {"b": 1.5}, {"b": "x"}], ids=["alone", "floats", "words"])
@pytest.mark.parametrize("kernel", [Linear(["w"]), RBF("median", columns=["w"], impute="median")], ids=repr)
def test_dates_and_times_are_no_numbers_missing_or_not(kernel, cells, beside):
    frame = pd.DataFrame({"w": cells, **beside})
    said = f"{type(kernel).__name__} needs numeric columns, got dates or times in column 'w'; turn them into"
    for refused in (lambda: clone(kernel).fit(frame), lambda: Linear(["w"])(frame, frame)):
        with pytest.raises(ValueError, match="got dates or times in column 'w'; turn them into numbers"):
            refused()
    with pytest.raises(ValueError, match=said):
        MKLClassifier([kernel]).fit(frame, np.arange(12) % 2)


@pytest.mark.parametrize("unit", ["M8[D]", "m8[s]", object])
def test_dates_in_an_array_are_no_numbers(unit):
    days = np.array([[0, 5], [1, "NaT"], [2, 7], [3, 8]], dtype="m8[s]" if unit is object else unit)
    with pytest.raises(ValueError, match="Linear needs numeric columns, got dates or times in column 0"):
        Linear()(days.astype(unit))
    with pytest.raises(ValueError, match="Linear needs numeric columns, got dates or times in column 1"):
        Linear(columns=[1])(days.astype(unit))
    with pytest.raises(ValueError, match="The rows must be numbers, got dates or times in column 0"):
        MKLClassifier([Linear()]).fit(days.astype(unit), [0, 1, 0, 1])


@pytest.mark.parametrize("kernel", VECTOR_KERNELS, ids=repr)
@pytest.mark.parametrize("value, named", [(np.nan, "NaN"), (np.inf, "infinity")])
def test_values_that_are_not_finite_are_refused(kernel, value, named):
    X = draw_table(11)
    X[0, 1] = value
    with pytest.raises(ValueError, match=f"Input X contains {named}"):
        clone(kernel).fit(X)


@pytest.mark.parametrize(
    "X, columns",
    [
        (draw_table(12), 4),
        (draw_table(12), [0, 9]),
        (draw_table(12), "a"),
        (pd.DataFrame(draw_table(12), columns=list("abcd")), "e"),
        (pd.DataFrame(draw_table(12), columns=list("abcd")), ["a", "e"]),
        (pd.DataFrame(draw_table(12), columns=list("abcd")), 4),
        (draw_table(12), 1.5),
    ],
)
@pytest.mark.parametrize("cls", [Linear, RBF])
def test_unknown_columns_are_named(X, columns, cls):
    with pytest.raises(ValueError, match=f"{cls.__name__} cannot take `columns`"):
        cls(columns=columns).fit(X)


@pytest.mark.parametrize(
    "kernel, message",
    [
        (RBF(0.0), "`gamma` must be greater than 0.0 and finite, got 0.0"),
        (RBF(-1), "`gamma` must be greater than 0.0 and finite, got -1"),
        (RBF(np.inf), "`gamma` must be greater than 0.0 and finite, got inf"),
        (RBF(np.nan), "`gamma` must be greater than 0.0 and finite, got nan"),
        (RBF("auto"), "`gamma` must be a positive number, 'scale' or 'median', got 'auto'"),
        (RBF(None), "`gamma` must be a positive number, 'scale' or 'median', got None"),
        (RBF(True), "`gamma` must be a number greater than 0.0 and finite, got True"),
        (RBF(factor=0), "`factor` must be greater than 0.0 and finite, got 0"),
        (RBF(factor="2"), "`factor` must be a number greater than 0.0 and finite, got '2'"),
        (Chi2(-1.0), "`gamma` must be greater than 0.0 and finite, got -1.0"),
        (Chi2("scale"), "`gamma` must be a positive number or 'mean', got 'scale'"),
        (Polynomial(degree=0), "`degree` must be an integer of at least 1, got 0"),
        (Polynomial(degree=1.5), "`degree` must be an integer of at least 1, got 1.5"),
        (Polynomial(coef0=-1.0), "`coef0` must be at least 0.0 and finite, got -1.0"),
        (Polynomial(gamma=0.0), "`gamma` must be greater than 0.0 and finite, got 0.0"),
    ],
    ids=repr,
)
def test_bad_parameters_are_named_with_what_is_allowed(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel.fit(draw_table(13))


@pytest.mark.parametrize("function", [lambda X, Y: X, lambda X, Y: 1.0, lambda X, Y: Y @ X.T])
def test_a_function_that_returns_the_wrong_shape_is_told_so(function):
    X = draw_table(14)
    message = r"must return shape \(5, 7\) here, got \(.*\); it is called as function\(X, Y\)"
    with pytest.raises(ValueError, match=message):
        CallableKernel(function)(X[:5], X[5:])


@pytest.mark.parametrize("kind", [Linear, Polynomial, RBF, Cosine])
def test_standardising_is_learned_on_the_training_rows(kind):
    rng = np.random.default_rng(0)
    X, new = rng.normal(5.0, [1.0, 100.0, 0.01], size=(30, 3)), rng.normal(size=(4, 3))
    scaled = (X - X.mean(axis=0)) / X.std(axis=0), (new - X.mean(axis=0)) / X.std(axis=0)
    kernel, plain = kind(standardize=True).fit(X), kind().fit(scaled[0])
    np.testing.assert_allclose(kernel(new, X), plain(scaled[1], scaled[0]))
    np.testing.assert_allclose(kernel.diag(new), plain.diag(scaled[1]))
    weights = rng.integers(0, 3, size=30)
    repeated = kind(standardize=True).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(kind(standardize=True).fit(X, weights)(new, X), repeated(new, X))
    with pytest.raises(NotFittedError):
        kind(standardize=True)(X)


def test_searches_standardise_within_their_folds():
    X, y = make_localized(60, random_state=0)[:2]
    X = X * np.logspace(0, 3, X.shape[1])
    kernels = [RBF(standardize=True), Linear(columns=[0, 1], standardize=True)]
    model = MKLClassifier(kernels, tol=1e-9)
    ours = MKLSearchCV(model, {"C": [0.1, 1.0]}, cv=3, refit=False).fit(X, y)
    theirs = GridSearchCV(model, {"C": [0.1, 1.0]}, cv=3, refit=False).fit(X, y)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
