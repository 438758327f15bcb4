"""Bad input, each with a clear error, tested by its text."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from localmkl import (
    CLMKLClassifier,
    CLMKLRegressor,
    GramStack,
    HLMKLClassifier,
    HLMKLRegressor,
    LMKLClassifier,
    LMKLRegressor,
    MKLClassifier,
    MKLRegressor,
    _resources,
)
from localmkl import estimators as estimators_module
from localmkl.datasets import make_localized
from localmkl.gates import GATES
from localmkl.kernels import RBF, Cosine, Linear, Polynomial, Spectrum

ESTIMATORS = [getattr(estimators_module, name) for name in estimators_module.__all__]
CLASSIFIERS = [cls for cls in ESTIMATORS if is_classifier(cls())]
REGRESSORS = [cls for cls in ESTIMATORS if cls not in CLASSIFIERS]
WITH_P = [cls for cls in ESTIMATORS if "p" in cls().get_params()]
LOCAL = [CLMKLClassifier, CLMKLRegressor, HLMKLClassifier, HLMKLRegressor]
SOFT = [CLMKLClassifier, CLMKLRegressor]
GATED = [LMKLClassifier, LMKLRegressor]
CONVEX = [cls for cls in ESTIMATORS if cls not in GATED]

X, Y, GROUPS, VIEWS = make_localized(24, random_state=0)
GRAMS = np.stack([X @ X.T, (1.0 + X @ X.T) ** 2])

every = pytest.mark.parametrize("cls", ESTIMATORS)


def fails(cls, message, *, X=X, y=Y, error=ValueError, sample_weight=None, **parameters):
    """Assert that fitting raises `error` with a text that matches."""
    with pytest.raises(error, match=message):
        cls(**parameters).fit(X, y, sample_weight=sample_weight)


def spoiled(array, entry, value):
    array = np.array(array)
    array[entry] = value
    return array


def fitted(cls, kernels=None, X=X, **parameters):
    model = cls(kernels, tol=1e-2, **parameters)
    return model.set_params(**seeded(model)).fit(X, Y)


def seeded(model):
    return {"random_state": 0} if "random_state" in model.get_params() else {}


# Rows


@every
@pytest.mark.parametrize("value, named", [(np.nan, "NaN"), (np.inf, "infinity")])
@pytest.mark.parametrize("container", [np.asarray, pd.DataFrame], ids=["array", "frame"])
def test_rows_must_be_finite(cls, value, named, container):
    fails(cls, f"Input X contains {named}", X=container(spoiled(X, (3, 2), value)))


@every
def test_new_rows_must_be_finite(cls):
    model = fitted(cls)
    for value, named in ((np.nan, "NaN"), (-np.inf, "infinity")):
        with pytest.raises(ValueError, match=f"Input X contains {named}"):
            model.predict(spoiled(X, (0, 0), value))


@every
@pytest.mark.parametrize(
    "rows, message",
    [
        (X[0], "Expected 2D array, got 1D array"),
        (X[None], "with dim 3"),
        (X[:0], r"Found array with 0 sample\(s\)"),
        (X[:, :0], r"0 feature\(s\) \(shape=\(24, 0\)\) while a minimum of 1 is required"),
        (X[:10], r"inconsistent numbers of samples: \[10, 24\]"),
    ],
    ids=["one axis", "three axes", "no rows", "no columns", "too few rows"],
)
def test_rows_must_have_the_right_shape(cls, rows, message):
    fails(cls, message, X=rows)


@every
def test_new_rows_must_have_the_columns_of_the_fit(cls):
    with pytest.raises(ValueError, match=f"X has 3 features, but {cls.__name__} is expecting 24 features"):
        fitted(cls).predict(X[:, :3])


@every
@pytest.mark.parametrize("kernels", [None, [RBF()]], ids=["default", "named"])
@pytest.mark.parametrize(
    "rows", [X.astype(str).astype(object), pd.DataFrame({"a": ["x"] * 24})], ids=["array", "frame"]
)
def test_text_where_numbers_belong_is_refused(cls, kernels, rows):
    if isinstance(rows, np.ndarray):
        rows = spoiled(rows, (4, 1), "seven")
    no_numbers = "must have a column of numbers, or one of few different words, got none"
    framed = kernels is None and not isinstance(rows, np.ndarray)
    fails(cls, no_numbers if framed else "could not convert .*'(seven|x)'", X=rows, kernels=kernels)


@pytest.mark.parametrize("cls", [MKLClassifier, LMKLRegressor])
def test_sequences_need_a_kernel_for_sequences(cls):
    message = r"RBF needs numeric columns, got text .* or use a kernel for sequences"
    fails(cls, message, X=["ACGT"] * 24, kernels=[RBF()])


@pytest.mark.parametrize("kernels, X", [([Linear(columns=30)], X), ([Linear(columns=["a"])], X)])
def test_columns_that_do_not_exist_are_named(kernels, X):
    fails(MKLClassifier, "Linear cannot take `columns`", X=X, kernels=kernels)


TABLE = pd.DataFrame(X[:, :3], columns=["dose", "age", "site"])
COLUMNS = "they have dose, age, site"


@pytest.mark.parametrize(
    "columns, message",
    [
        (["nope"], rf"RBF cannot take `columns` \['nope'\]: the rows have no 'nope', {COLUMNS}\.$"),
        (["dose", "Age"], rf"the rows have no 'Age', {COLUMNS}; did you mean 'age'\?$"),
        ("sites", rf"the rows have no 'sites', {COLUMNS}; did you mean 'site'\?$"),
        ([0, 3], r"RBF cannot take `columns` \[0, 3\]: the rows have 3 columns, numbered from 0\.$"),
    ],
)
@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_columns_that_a_frame_does_not_have_are_said_beside_those_it_has(columns, message, container):
    rows = TABLE if container == "pandas" else pytest.importorskip("polars").DataFrame(dict(TABLE))
    fails(MKLClassifier, message, X=rows, kernels=[RBF(columns=columns)])
    with pytest.raises(ValueError, match=message):
        RBF(columns=columns)(rows)


def test_names_of_columns_need_a_frame():
    message = r"Linear cannot take `columns` 'age': names need a data frame; pass one, or number the columns"
    fails(MKLClassifier, message, X=X, kernels=[Linear("age")])


@pytest.mark.parametrize("names", [["a", "b", "a"], [0, 1, 0]])
def test_two_columns_of_one_name_are_refused(names):
    rows = TABLE.set_axis(names, axis=1)
    message = f"The columns of a data frame must have different names, got {names[0]!r} twice; rename one"
    fails(MKLClassifier, message, X=rows)
    fails(MKLClassifier, message, X=rows, kernels=[Linear()])
    fails(MKLClassifier, f"In view 'clinic': {message}", X={"clinic": rows})


@every
def test_a_frame_without_rows_is_said_to_have_none(cls):
    fails(cls, f"{cls.__name__} needs rows to learn from, got none", X=TABLE[:0], y=Y[:0])
    fails(cls, f"{cls.__name__} needs rows to learn from, got none", X=[], y=Y[:0], kernels=[Spectrum(2)])


NAMED = pd.Categorical(["red", "blue"] * 12)
WHOLE = pd.array(range(24), dtype="Int64")
DAYS = pd.date_range("2024", periods=24)


@pytest.mark.parametrize(
    "columns, message",
    [
        ({"colour": NAMED, "whole": WHOLE}, "got text in column 'colour' .*'red'.*take `Overlap` for categ"),
        ({"when": DAYS, "colour": NAMED}, "got dates or times in column 'when'; turn them into numbers"),
        ({"lasted": DAYS - DAYS[0]}, "got dates or times in column 'lasted'; turn them into numbers"),
        ({"range": pd.interval_range(0, 24)}, r"got Interval in column 'range' \(Interval\(0, 1,"),
        ({"pairs": [[1, 2]] * 24}, r"got list in column 'pairs' \(\[1, 2\]\); choose numeric"),
        ({"wave": 1j}, r"got complex in column 'wave' \(1j\); choose numeric"),
    ],
)
def test_what_is_no_number_in_a_frame_is_named_with_its_column(columns, message):
    message = f"Linear needs numeric columns, {message}"
    fails(MKLClassifier, message, X=TABLE.assign(**columns), kernels=[Linear()])


@pytest.mark.parametrize("column", [DAYS, [[1, 2]] * 24, 1j, [f"note {k}" for k in range(24)], 5.0])
def test_columns_that_no_default_kernel_reads_are_named_in_a_warning(column):
    with pytest.warns(UserWarning, match="No default kernel reads the columns odd; name kernels for them"):
        model = MKLClassifier().fit(TABLE.assign(odd=column, colour=NAMED), Y)
    assert model.kernels_[-1].columns == ["colour"]


@pytest.mark.parametrize("factor", [1e160, 1e300])
@pytest.mark.parametrize(
    "kernel",
    [Linear(), RBF(), RBF("median"), Cosine(), RBF(standardize=True), Linear(impute="mean")],
    ids=repr,
)
def test_numbers_too_large_to_be_squared_are_refused(kernel, factor):
    name = type(kernel).__name__
    rows = spoiled(X, (3, 2), -factor)
    message = f"{name} needs numbers up to 1e+100 in size, got -{factor:.6g} in row 3, column 2; scale the"
    fails(MKLClassifier, re.escape(message), X=rows, kernels=[kernel])
    if not (kernel.standardize or kernel.impute):
        fails(MKLClassifier, re.escape(message), X=csr_matrix(rows), kernels=[kernel])


def test_numbers_too_large_for_a_power_are_refused():
    message = r"too large for `kernels\[1\]`, Polynomial\(degree=9\): its values overflow; scale the columns"
    kernels = [Linear(), Polynomial(9)]
    fails(MKLClassifier, message, X=1e60 * X, kernels=kernels)
    fails(MKLClassifier, message, X={"one": 1e60 * X}, kernels=kernels)


def test_new_rows_too_large_to_be_standardised_are_refused():
    model = fitted(MKLClassifier, [Linear(standardize=True)], X=1e-10 * X)
    with pytest.raises(
        ValueError, match="Linear needs numbers that it can standardise, got some far too large"
    ):
        model.predict(1e300 * X)


# Targets


@every
def test_targets_must_be_given(cls):
    kind = "classifier" if cls in CLASSIFIERS else "regressor"
    fails(cls, f"This {kind} requires y to be passed, but the target y is None; pass the", y=None)


@pytest.mark.parametrize("cls", CLASSIFIERS)
@pytest.mark.parametrize(
    "missing, message",
    [
        (np.nan, "Input y contains NaN or infinity; every sample needs a label"),
        (None, r"Input y contains missing labels \(None or NaN\); remove those rows"),
    ],
)
def test_labels_must_not_be_missing(cls, missing, message):
    y = Y.astype(object)
    y[5] = missing
    fails(cls, message, y=y.astype(float) if missing is not None else y)
    fails(cls, r"Input y contains missing labels \(None or NaN\)", y=pd.Series(y, dtype=object))


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_text_labels_must_not_be_missing(cls):
    y = np.where(Y > 0, "yes", "no").astype(object)
    for missing in (None, np.nan):
        fails(cls, r"Input y contains missing labels \(None or NaN\)", y=spoiled(y, 2, missing))


@pytest.mark.parametrize("cls", REGRESSORS)
@pytest.mark.parametrize(
    "y, message",
    [
        (spoiled(X[:, 0], 3, np.nan), "Input y contains NaN or infinity; every sample needs a finite target"),
        (spoiled(X[:, 0], 3, np.inf), "Input y contains NaN or infinity"),
        (np.where(Y > 0, "high", "low"), "`y` must hold numbers for regression, got text: "),
        (spoiled(X[:, 0].astype(object), 3, None), "Input y contains NaN or infinity"),
    ],
    ids=["nan", "infinity", "text", "None"],
)
def test_target_values_must_be_finite_numbers(cls, y, message):
    fails(cls, message, y=y)


@pytest.mark.parametrize("cls", CLASSIFIERS)
@pytest.mark.parametrize("label", [1, "only"])
def test_one_class_is_not_enough(cls, label):
    message = f"needs samples of at least 2 classes with positive weight, got one class: .*{label}"
    fails(cls, message, y=np.full(24, label))


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_one_class_of_positive_weight_is_not_enough(cls):
    fails(cls, "got one class: .*-1", sample_weight=(Y < 0).astype(float))


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_real_numbers_are_no_labels(cls):
    fails(cls, "Unknown label type: continuous", y=X[:, 0])


@every
def test_targets_must_be_one_column(cls):
    fails(cls, "y should be a 1d array, got an array of shape", y=np.column_stack([Y, Y]))


@every
@pytest.mark.parametrize(
    "weights, message",
    [
        (-np.ones(24), "Negative values in data passed to `sample_weight`"),
        (np.full(24, np.nan), "Input sample_weight contains NaN"),
        (np.ones(23), r"sample_weight.shape == \(23,\), expected \(24,\)"),
        (np.zeros(24), "at least one non-zero number|positive for at least one sample|positive weight"),
    ],
    ids=["negative", "nan", "too few", "zero"],
)
def test_sample_weights_must_be_weights(cls, weights, message):
    fails(cls, message, sample_weight=weights)


# Parameters


@every
@pytest.mark.parametrize("C", [0, 0.0, -1.0, np.nan])
def test_cost_must_be_positive(cls, C):
    fails(cls, "`C` must be greater than 0.*, got", C=C)


@every
@pytest.mark.parametrize("name", ["C", "tol"])
@pytest.mark.parametrize("value", ["1", None, True, [1.0]])
def test_text_and_the_like_are_no_numbers(cls, name, value):
    fails(
        cls,
        rf"`{name}` must be a number greater than 0.*, got {value!r}".replace("[", r"\["),
        **{name: value},
    )


@pytest.mark.parametrize("cls", WITH_P)
@pytest.mark.parametrize("p", [0.99, 0, -1.0, -np.inf, np.nan])
def test_norms_begin_at_one(cls, p):
    fails(cls, f"`p` must be at least 1.*, got {p}", p=p)


@every
def test_tolerance_and_iterations_must_be_positive(cls):
    fails(cls, "`tol` must be greater than 0.*, got 0", tol=0.0)
    fails(cls, "`tol` must be greater than 0.*, got -0.1", tol=-0.1)
    for value in (0, 1.5, "10", None, True):
        fails(cls, f"`max_iter` must be an integer of at least 1, got {value!r}", max_iter=value)


@pytest.mark.parametrize("cls", REGRESSORS)
@pytest.mark.parametrize("epsilon", [-0.1, np.nan, "0.1", None])
def test_the_tube_must_not_be_negative(cls, epsilon):
    fails(cls, "`epsilon` must be (a number )?at least 0", epsilon=epsilon)


@pytest.mark.parametrize("cls", SOFT)
@pytest.mark.parametrize(
    "n_clusters, evenness", [(2, 0.49), (3, 0.2), (4, 0.0), (3, 1.01), (3, -1), (3, np.nan)]
)
def test_evenness_must_lie_between_hard_and_uniform(cls, n_clusters, evenness):
    message = rf"`evenness` must lie in \[1/n_clusters, 1\] = \[{1 / n_clusters:.4g}, 1\], got {evenness}; "
    fails(cls, message, n_clusters=n_clusters, evenness=evenness)


@pytest.mark.parametrize("cls", SOFT)
@pytest.mark.parametrize("evenness", ["0.5", True, [0.5]])
def test_evenness_must_be_a_number(cls, evenness):
    fails(cls, r"`evenness` must lie in \[1/n_clusters, 1\]", evenness=evenness)


@pytest.mark.parametrize("cls", LOCAL)
@pytest.mark.parametrize("name", ["n_clusters", "n_init"])
@pytest.mark.parametrize("value", [0, -1, 2.0, "3", None, True])
def test_clusters_and_restarts_are_counted_in_whole_numbers(cls, name, value):
    fails(cls, f"`{name}` must be an integer of at least 1, got {value!r}", **{name: value})


@pytest.mark.parametrize("cls", LOCAL)
def test_more_clusters_than_distinct_rows_are_refused(cls):
    rows = np.repeat(X[:3], 8, axis=0)
    message = "`n_clusters` must be at most the number of distinct rows, got 4 clusters for 3 distinct rows"
    fails(cls, message, X=rows, n_clusters=4)
    fails(
        cls, "got 25 clusters for 24 distinct rows", n_clusters=25, **{"evenness": 0.5} if cls in SOFT else {}
    )


@every
@pytest.mark.parametrize("normalize", ["unit", "Trace", 1, True, "None", ["trace"], np.ones(2)], ids=str)
def test_normalisations_are_listed(cls, normalize):
    message = "`normalize` must be one of 'multiplicative', 'trace', 'cosine', None, got"
    fails(cls, message, normalize=normalize)


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_class_weights_must_know_the_classes(cls):
    fails(cls, r"The classes, \[-1, 1\], are not in class_weight", class_weight={7: 1.0})
    fails(cls, "'class_weight' parameter .*'balanced'.* Got 'even'", class_weight="even")


# Kernels


@every
@pytest.mark.parametrize(
    "kernels, message",
    [
        (RBF(), r"`kernels` must be a list of kernels, 'precomputed' or None, got RBF\(\); put a single"),
        (np.inner, "`kernels` must be a list of kernels, 'precomputed' or None"),
        ({"rbf": RBF()}, "`kernels` must be a list of kernels"),
        (3, "`kernels` must be a list of kernels, 'precomputed' or None, got 3"),
        ([], "`kernels` must name at least one kernel, got an empty list"),
        ("rbf", r"`kernels` must be a list of kernels, 'precomputed' or None, got 'rbf'; write .*\[RBF\(\)"),
        (["rfb"], r"A kernel named by a word must be one of .*, got 'rfb'; did you mean 'rbf'"),
        ([Linear(), RBF], r"got <class '.*RBF'>; write RBF\(\)"),
    ],
    ids=["kernel", "function", "dict", "number", "empty", "unknown", "names", "class"],
)
def test_kernels_must_be_a_list_of_kernels(cls, kernels, message):
    fails(cls, message, kernels=kernels)


def returning(value):
    return lambda A, B: np.full((len(A), len(B)), value)


@every
@pytest.mark.parametrize(
    "kernel, message",
    [
        (lambda A, B: A, r"A kernel function must return shape \(24, 24\) here, got \(24, 5\)"),
        (lambda A, B: 1.0, r"A kernel function must return shape \(24, 24\) here, got \(\)"),
        (returning(np.nan), r"`grams\[1\]` contains NaN or infinity \(row 0\)"),
        (returning(-1.0), r"`grams\[1\]` must be positive semidefinite"),
        (lambda A, B: np.outer(A[:, 0], B[:, 1]), r"`grams\[1\]` must be symmetric"),
    ],
    ids=["rows", "number", "nan", "negative", "asymmetric"],
)
def test_functions_must_be_kernels(cls, kernel, message):
    fails(cls, message, X=X[:, :5], kernels=[Linear(), kernel])


@every
def test_a_gram_stack_needs_precomputed_kernels(cls):
    message = "A `GramStack` needs `kernels='precomputed'`, got other kernels"
    fails(cls, message, X=GramStack(GRAMS))
    fails(cls, message, X=GramStack(GRAMS), kernels=[RBF()])
    with pytest.raises(ValueError, match=message):
        fitted(cls).predict(GramStack(GRAMS))


@every
def test_a_stack_that_cannot_fit_in_memory_is_refused_before_it_is_computed(cls, monkeypatch):
    monkeypatch.setattr(_resources, "available_memory", lambda: 9_300)  # enough for the stack alone
    calls = []
    message = r"Fitting 2 kernels on 24 rows needs \d\d,\d{3} bytes of memory, 9,300 bytes are available"
    fails(cls, message, kernels=[lambda A, B: calls.append(0), RBF()], error=MemoryError)
    assert calls == []


# Precomputed kernels


@every
@pytest.mark.parametrize(
    "grams, message",
    [
        (spoiled(GRAMS, (1, 4, 7), np.nan), r"`grams\[1\]` contains NaN or infinity \(row 4\)"),
        (spoiled(GRAMS, (0, 0, 0), np.inf), r"`grams\[0\]` contains NaN or infinity \(row 0\)"),
        (
            GRAMS[:, :, :20],
            r"`grams\[0\]` must be square .* got shape \(24, 20\); pass cross-Grams to `predict`",
        ),
        (GRAMS[:, :20], r"`grams\[0\]` must be square .* got shape \(20, 24\)"),
        (spoiled(GRAMS, (1, 4, 7), 1e4), r"`grams\[1\]` must be symmetric, its entries differ from those of"),
        (-GRAMS, r"`grams\[0\]` must be positive semidefinite, .*; shift or clip its spectrum"),
        (GRAMS - 2.0 * GRAMS.mean(), r"`grams\[0\]` must be positive semidefinite"),
        (GRAMS.astype(str), "`grams` must hold real numbers, got an array of type <U"),
        (GRAMS[:, :10, :10], r"inconsistent numbers of samples: \[10, 24\]"),
    ],
    ids=["nan", "infinity", "wide", "tall", "asymmetric", "negative", "indefinite", "text", "few"],
)
@pytest.mark.parametrize("wrap", [GramStack, np.asarray], ids=["stack", "array"])
def test_precomputed_kernels_must_be_a_square_stack_of_kernels(cls, grams, message, wrap):
    with pytest.raises(ValueError, match=message):
        cls("precomputed").fit(wrap(grams), Y)


@every
def test_one_matrix_must_be_square_too(cls):
    message = r"must be square .* got shape \(24, 20\); pass cross-Grams to `predict`, not to `fit`"
    fails(cls, message, X=GRAMS[0, :, :20], kernels="precomputed")


@every
@pytest.mark.parametrize("grams", [X[0], GRAMS[None]], ids=["one axis", "four axes"])
def test_a_stack_has_three_axes(cls, grams):
    fails(cls, "Expected 2D array, got 1D array|with dim 4|must have shape", X=grams, kernels="precomputed")


@every
def test_cross_grams_must_have_the_training_side(cls):
    model = fitted(cls, "precomputed", GramStack(GRAMS))
    message = (
        r"Cross-Grams must have one column for each of the 24 training rows, got shape \(24, 5\); "
        "rows are new samples, columns the training ones"
    )
    with pytest.raises(ValueError, match=message):
        model.predict(GramStack(GRAMS[:, :, :5]))
    with pytest.raises(ValueError, match=message):
        model.predict(GRAMS[:, :, :5])
    with pytest.raises(ValueError, match=message):
        model.predict(GramStack(GRAMS)[:, :5])
    assert model.predict(GramStack(GRAMS[:, :5])).shape == (5,)


@every
def test_cross_grams_of_one_kernel_must_have_the_training_side(cls):
    with pytest.raises(
        ValueError, match=r"X has 5 features, but .* is expecting 24 features|one column for each"
    ):
        fitted(cls, "precomputed", GRAMS[0]).predict(GRAMS[0, :, :5])


@every
@pytest.mark.parametrize("chosen", [[0], [0, 1, 1]])
def test_cross_grams_must_have_the_kernels_of_the_fit(cls, chosen):
    message = f"The stack must hold the 2 kernels of the fit, got {len(chosen)}"
    with pytest.raises(ValueError, match=message):
        fitted(cls, "precomputed", GramStack(GRAMS)).predict(GRAMS[chosen, :5])


@every
def test_cross_grams_must_be_finite(cls):
    model = fitted(cls, "precomputed", GramStack(GRAMS))
    with pytest.raises(ValueError, match=r"`grams\[1\]` contains NaN or infinity \(row 3\)"):
        model.predict(spoiled(GRAMS[:, :5], (1, 3, 0), np.nan))


@every
def test_cosine_needs_the_diagonal_of_new_samples(cls):
    model = fitted(cls, "precomputed", GramStack(GRAMS), normalize="cosine")
    with pytest.raises(
        ValueError, match=r"not known from cross-Grams; pass it as `GramStack\(grams, diagonals=...\)`"
    ):
        model.predict(GRAMS[:, :5])
    diagonals = np.einsum("mii->mi", GRAMS)[:, :5]
    assert model.predict(GramStack(GRAMS[:, :5], diagonals=diagonals)).shape == (5,)


# Gates


@pytest.mark.parametrize("cls", LOCAL)
def test_gates_of_clusters_are_listed(cls):
    fails(cls, f"`gate` must be one of {', '.join(map(repr, GATES))}, got 'softmax'", gate="softmax")


@pytest.mark.parametrize("cls", GATED)
@pytest.mark.parametrize(
    "gate", ["kmeans", None, 3, np.ones((24, 2))], ids=["kmeans", "None", "number", "matrix"]
)
def test_gates_of_lmkl_are_listed(cls, gate):
    fails(cls, "`gate` must be one of 'softmax', 'sigmoid', got", gate=gate)


@pytest.mark.parametrize("cls", LOCAL)
@pytest.mark.parametrize("precomputed", [False, True], ids=["rows", "stack"])
@pytest.mark.parametrize(
    "gate, message",
    [
        (
            np.full((23, 2), 0.5),
            r"`gate` must give memberships of shape \(24, n_clusters\), got shape \(23, 2\)",
        ),
        (np.full(24, 1.0), r"`gate` must give memberships of shape \(24, n_clusters\), got shape \(24,\)"),
        (3, r"`gate` must give memberships of shape \(24, n_clusters\), got shape \(\)"),
        (np.full((24, 2), 0.4), r"rows sum to 1, row 0 sums to 0\.8; divide each row by its sum"),
        (np.tile([1.5, -0.5], (24, 1)), "`gate` must give finite memberships that are not negative"),
        (np.full((24, 2), np.nan), "`gate` must give finite memberships that are not negative"),
    ],
    ids=["too few rows", "one axis", "number", "sums", "negative", "nan"],
)
def test_fixed_memberships_must_be_memberships(cls, precomputed, gate, message):
    if precomputed:
        fails(cls, message, X=GramStack(GRAMS), kernels="precomputed", gate=gate)
    else:
        fails(cls, message, gate=gate)


@pytest.mark.parametrize("cls", LOCAL)
@pytest.mark.parametrize(
    "gate, message",
    [
        (
            lambda rows: np.full((3, 2), 0.5),
            r"must give memberships of shape \(24, n_clusters\), got shape \(3, 2\)",
        ),
        (lambda rows: np.ones((len(rows), 2)), "whose rows sum to 1, row 0 sums to 2"),
        (lambda rows: "near", "`gate` must give an array of memberships, got 'near'"),
    ],
    ids=["shape", "sums", "text"],
)
def test_functions_of_the_rows_must_give_memberships(cls, gate, message):
    fails(cls, message, gate=gate)


@pytest.mark.parametrize("cls", LOCAL)
def test_functions_of_the_rows_need_rows(cls):
    message = (
        "With precomputed kernels `gate` must be one of 'kmeans', .* a `Gate` or a fixed membership matrix"
    )
    fails(cls, message, X=GRAMS, kernels="precomputed", gate=lambda rows: np.ones((len(rows), 1)))


@pytest.mark.parametrize("cls", LOCAL)
def test_a_fixed_gate_knows_no_new_rows(cls):
    model = fitted(cls, "precomputed", GramStack(GRAMS), gate=np.eye(2)[GROUPS % 2], n_clusters=2)
    message = "A fixed membership matrix as `gate` only knows the rows of the `GramStack` of the fit"
    with pytest.raises(ValueError, match=message):
        model.predict(GramStack(GRAMS))


@pytest.mark.parametrize("cls", LOCAL + GATED)
@pytest.mark.parametrize("index", [2, -3, 100])
def test_gate_kernels_must_be_in_range(cls, index):
    message = f"`gate_kernel` must index one of the 2 kernels, got {index}"
    fails(cls, message, kernels=[Linear(), RBF()], gate_kernel=index)
    fails(cls, message, X=GRAMS, kernels="precomputed", gate_kernel=index)


@pytest.mark.parametrize("cls", LOCAL + GATED)
def test_gate_kernels_must_be_kernels(cls):
    for given in ("rbf", 1.5, RBF):
        fails(cls, "must be an instance of one in `localmkl.kernels` or a function", gate_kernel=given)
    message = "`gate_kernel` must be None or an index with precomputed kernels, got RBF"
    fails(cls, message, X=GRAMS, kernels="precomputed", gate_kernel=RBF())


@pytest.mark.parametrize("cls", LOCAL)
def test_unlabelled_rows_must_look_like_the_others(cls):
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 24 features"):
        cls().fit(X, Y, unlabeled=X[:, :3])
    with pytest.raises(ValueError, match="Input X contains NaN"):
        cls().fit(X, Y, unlabeled=X * np.nan)
    message = "`unlabeled` must be the square stack of the training rows followed by the unlabelled ones"
    with pytest.raises(ValueError, match=message):
        cls("precomputed").fit(GRAMS, Y, unlabeled=GramStack(GRAMS[:1]))
    with pytest.raises(ValueError, match=message):
        cls("precomputed").fit(GRAMS, Y, unlabeled=GramStack(GRAMS[:, :20, :20]))


# Order of events


METHODS = ("predict", "decision_function", "memberships", "contributions", "gating", "kernel_diagonals")
ANSWERS = [(cls, method) for cls in ESTIMATORS for method in METHODS if hasattr(cls, method)]


@pytest.mark.parametrize("cls, method", ANSWERS)
def test_nothing_is_answered_before_the_fit(cls, method):
    model = cls()
    with pytest.raises(NotFittedError, match=f"This {cls.__name__} instance is not fitted yet"):
        getattr(model, method)(X)


@every
def test_a_clone_is_not_fitted(cls):
    with pytest.raises(NotFittedError):
        clone(fitted(cls)).predict(X)


@every
def test_a_failed_fit_leaves_the_parameters_alone(cls):
    model = cls(C=-1.0)
    before = repr(model)
    with pytest.raises(ValueError, match="`C`"):
        model.fit(X, Y)
    assert repr(model) == before


# Not reaching the tolerance


@pytest.mark.parametrize("cls", [MKLClassifier, MKLRegressor, CLMKLClassifier, HLMKLRegressor])
def test_not_reaching_the_tolerance_is_said_with_gap_tolerance_and_what_to_raise(cls):
    model = cls(p=1.0, tol=1e-9, max_iter=1)
    message = (
        rf"{cls.__name__} stopped after 1 updates \(max_iter=1\) at a relative duality gap of "
        r"\d\.\d\de-\d\d, "
        r"above tol=1\.00e-09; raise `max_iter` or `tol`"
    )
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        model.set_params(**seeded(model)).fit(X, Y)
    assert model.duality_gap_ > 1e-9
    assert f"{model.duality_gap_:.2e}" in str(caught[0].message)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("cls", [CLMKLClassifier, MKLClassifier])
def test_several_classes_that_miss_the_tolerance_are_one_warning(cls):
    with pytest.warns(ConvergenceWarning, match="raise `max_iter` or `tol`") as caught:
        cls(p=1.0, tol=1e-9, max_iter=1).fit(X, GROUPS)
    assert len(caught) == 1


@pytest.mark.parametrize("cls", GATED)
def test_lmkl_says_what_it_did_not_reach(cls):
    with pytest.warns(
        ConvergenceWarning, match=r"stopped after max_iter=1.*tol=1\.00e-09.*; raise `max_iter`"
    ):
        cls(tol=1e-9, max_iter=1, random_state=0).fit(X, Y)


@pytest.mark.parametrize("cls", WITH_P)
@pytest.mark.parametrize("p", ["2", "two", None, True])
def test_norms_must_be_numbers(cls, p):
    fails(cls, f"`p` must be a number at least 1.*, got {p!r}", p=p)


@every
def test_cost_must_be_finite(cls):
    fails(cls, "`C` must be greater than 0.* and finite, got inf", C=np.inf)


@pytest.mark.parametrize("cls", REGRESSORS)
def test_the_tube_must_be_finite(cls):
    fails(cls, "`epsilon` must be at least 0.* and finite, got inf", epsilon=np.inf)


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_labels_missing_in_pandas_are_missing(cls):
    y = pd.Series(np.where(Y > 0, "yes", "no"), dtype="string")
    y[2] = pd.NA
    fails(cls, r"Input y contains missing labels \(None or NaN\)", y=y)


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_class_weights_must_not_be_negative(cls):
    fails(cls, "`class_weight` must hold positive numbers, got {1: -1.0}", class_weight={1: -1.0})


@every
def test_precomputed_kernels_must_all_have_one_shape(cls):
    message = r"`grams` must all have one shape, got \[\(20, 20\), \(24, 24\)\]"
    fails(cls, message, X=[np.eye(24), np.eye(20)], kernels="precomputed")


@pytest.mark.parametrize("cls", LOCAL + GATED)
def test_truth_is_no_gate_kernel(cls):
    fails(cls, "`gate_kernel` must .*, got True", gate_kernel=True)


@pytest.mark.parametrize("cls", GATED)
def test_lmkl_does_not_call_a_small_gap_large(cls):
    with pytest.warns(ConvergenceWarning) as caught:
        model = cls(max_iter=1, random_state=0).fit(X, Y)
    assert model.duality_gap_ <= model.tol
    assert "duality gap" not in str(caught[0].message)


@pytest.mark.parametrize("cls", [cls for cls in REGRESSORS if cls in CONVEX])
def test_a_model_without_support_vectors_predicts_its_intercept(cls):
    model = cls(epsilon=10.0).fit(X, Y)
    assert len(model.support_) == 0
    np.testing.assert_array_equal(model.predict(X[:3]), model.intercept_)


@pytest.mark.parametrize("cls", LOCAL)
def test_unlabelled_rows_go_with_the_cosine_normalisation(cls):
    model = cls(normalize="cosine", random_state=0).fit(X, Y, unlabeled=X[::2] + 0.1)
    assert model.predict(X).shape == (24,)


@pytest.mark.parametrize("cls", LOCAL)
def test_a_gate_must_keep_its_number_of_clusters(cls):
    def gate(rows):
        n_clusters = 2 if len(rows) == 24 else 3
        return np.full((len(rows), n_clusters), 1.0 / n_clusters)

    with pytest.raises(ValueError, match=r"`gate` must give .* 2"):
        fitted(cls, gate=gate, n_clusters=2).predict(X[:5])


@every
def test_slices_of_the_stack_of_the_fit_must_have_its_training_columns(cls):
    stack = GramStack(GRAMS)
    train, others = np.arange(16), np.arange(8, 24)
    model = cls("precomputed", tol=1e-2)
    model.set_params(**seeded(model)).fit(stack[np.ix_(train, train)], Y[train])
    with pytest.raises(ValueError, match="training rows"):
        model.predict(stack[np.ix_(others, others)])


@every
def test_text_in_a_table_of_numbers_is_said(cls):
    table = np.full((24, 2), "red", dtype=object)
    fails(cls, "The rows must be numbers, got text .*'red'.*; encode it", X=table)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_decision_that_is_not_finite_is_an_error_and_never_a_label():
    X = np.random.default_rng(0).normal(size=(20, 2))
    model = MKLClassifier([Linear(), RBF()]).fit(X, np.arange(20) % 2)
    X[3] = [1e308, -1e308]
    for ask in (model.predict, model.decision_function, model.contributions):
        with pytest.raises(ValueError, match="The decision on row 3 is not a finite number"):
            ask(X)
