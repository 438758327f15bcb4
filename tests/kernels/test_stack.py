import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

from localmkl import GramStack, MKLClassifier, _checks, _resources
from localmkl.kernels import (
    NORMALIZATIONS,
    RBF,
    CallableKernel,
    CrossGrams,
    Kernel,
    Linear,
    Polynomial,
    compute_stack,
    fit_kernels,
)
from localmkl.kernels.stack import NormalizedGrams, cosine_scales, cosine_stack, fit_kernel, learn_factors

quick = settings(max_examples=25, deadline=None, derandomize=True)


def draw_rows(seed=0, n_rows=12, n_columns=3):
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns))


def draw_grams(seed=0, n_rows=12):
    X = draw_rows(seed, n_rows)
    return np.stack([X @ X.T, (1.0 + X @ X.T) ** 2, np.exp(-((X[:, None] - X) ** 2).sum(axis=2))])


@st.composite
def keys(draw, size):
    """Anything that takes some of `size` rows."""
    kind = draw(st.sampled_from(["all", "slice", "indices", "negative", "mask", "list", "one"]))
    if kind == "all" or size == 0:
        return slice(None)
    if kind == "slice":
        return slice(draw(st.integers(0, size)), None, draw(st.sampled_from([1, 2, -1])))
    if kind == "mask":
        return np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    if kind == "one":
        return [draw(st.integers(0, size - 1))]
    low = -size if kind == "negative" else 0
    chosen = draw(st.lists(st.integers(low, size - 1), max_size=8))
    return chosen if kind == "list" else np.array(chosen, dtype=int)


@quick
@given(data=st.data())
def test_slices_of_slices_are_those_of_the_array(data):
    grams = draw_grams()
    stack = GramStack(grams)
    for _ in range(3):
        rows, columns = data.draw(keys(len(stack))), data.draw(keys(stack.shape[1]))
        stack, grams = stack[rows, columns], grams[:, rows][:, :, columns]
        assert stack.shape == grams.shape[1:]
        assert len(stack) == grams.shape[1]
        np.testing.assert_array_equal(stack.to_array(), grams)
    m = data.draw(st.integers(0, 2))
    rows, columns = data.draw(keys(len(stack))), data.draw(keys(stack.shape[1]))
    np.testing.assert_array_equal(stack.block(m, rows, columns), grams[m][rows][:, columns])


def test_scikit_learn_slices_by_outer_products_rows_and_masks():
    grams = draw_grams()
    stack = GramStack(grams)
    train, test = np.arange(0, 8), np.arange(8, 12)
    mask = np.arange(12) < 8
    np.testing.assert_array_equal(stack[np.ix_(test, train)].to_array(), grams[:, 8:, :8])
    np.testing.assert_array_equal(stack[np.ix_(~mask, mask)].to_array(), grams[:, 8:, :8])
    np.testing.assert_array_equal(stack[test].to_array(), grams[:, 8:])
    np.testing.assert_array_equal(stack[mask, 2:5].to_array(), grams[:, :8, 2:5])
    np.testing.assert_array_equal(stack[3].to_array(), grams[:, 3:4])
    np.testing.assert_array_equal(stack[:, [1, 1]].to_array(), grams[:, :, [1, 1]])
    assert stack[[]].shape == (0, 12)


def test_slicing_copies_nothing():
    grams = np.zeros((20, 200, 200))
    stack = GramStack(grams)
    assert stack.grams is grams
    tracemalloc.start()
    part = stack[np.ix_(np.arange(150), np.arange(100))][10:120, 5:]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.shares_memory(part.grams, grams)
    assert peak < 0.01 * grams.nbytes


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_block_copies_no_more_than_itself(dtype):
    stack = GramStack(np.zeros((2, 400, 400), dtype=dtype))
    rows, columns = np.arange(0, 400, 2), np.arange(0, 400, 4)
    tracemalloc.start()
    block = stack.block(0, rows, columns)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert block.dtype == np.float64
    assert peak < 2.5 * block.nbytes


@pytest.mark.parametrize("make", [lambda stack: stack.block(1), lambda stack: stack.to_array()[1]])
def test_a_block_never_shows_the_caller_s_numbers(make):
    grams = draw_grams()
    kept = grams.copy()
    make(GramStack(grams))[...] = -1.0
    np.testing.assert_array_equal(grams, kept)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_of_both_sizes_are_used_as_they_are(dtype):
    grams = draw_grams().astype(dtype)
    stack = GramStack(grams)
    assert stack.grams is grams
    assert stack.dtype == dtype
    stack.check_training()
    assert stack.diagonals().dtype == np.float64


@pytest.mark.parametrize("dtype", [int, bool, np.float16, ">f8"])
def test_other_numbers_become_doubles(dtype):
    stack = GramStack(np.eye(4).astype(dtype))
    assert stack.dtype == np.float64
    np.testing.assert_array_equal(stack.to_array(), np.eye(4)[None])


def test_lists_and_single_matrices_make_a_stack():
    grams = draw_grams()
    np.testing.assert_array_equal(GramStack(list(grams)).grams, grams)
    np.testing.assert_array_equal(GramStack(grams.tolist()).grams, grams)
    assert GramStack(grams[0]).n_kernels == 1
    assert repr(GramStack(grams)) == "GramStack(3 kernels, 12 x 12, float64)"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_memory_map_is_read_in_place_and_fits_like_memory(tmp_path, dtype):
    grams = draw_grams(n_rows=20).astype(dtype)
    np.save(tmp_path / "grams.npy", grams)
    y = np.arange(20) % 2
    stack = GramStack.open(tmp_path / "grams.npy")
    assert isinstance(stack.grams.base, np.memmap)
    assert np.shares_memory(stack[2:9].grams, stack.grams)
    assert not stack.grams.flags.writeable
    mapped = MKLClassifier("precomputed").fit(stack, y)
    in_memory = MKLClassifier("precomputed").fit(GramStack(grams), y)
    np.testing.assert_allclose(mapped.decision_function(stack), in_memory.decision_function(GramStack(grams)))


def test_a_file_that_is_no_array_is_refused_by_name(tmp_path):
    (tmp_path / "notes.npy").write_text("no array at all")
    np.save(tmp_path / "objects.npy", np.array([{}]), allow_pickle=True)
    for name in ("notes.npy", "objects.npy"):
        with pytest.raises(ValueError, match=rf"{name}' must be an \.npy file of numbers"):
            GramStack.open(tmp_path / name)


def test_pickles_keep_rows_checks_and_origin():
    stack = GramStack(draw_grams())
    stack.check_training()
    part = stack[np.ix_([4, 2], [1, 3, 5])]
    again = pickle.loads(pickle.dumps(part))
    np.testing.assert_array_equal(again.to_array(), part.to_array())
    np.testing.assert_array_equal(again.diagonals(), part.diagonals())
    assert again.origin == stack.origin
    assert GramStack(draw_grams()).origin != stack.origin


def test_diagonals_follow_the_rows():
    grams = draw_grams()
    stack = GramStack(grams)
    stack.check_training()
    np.testing.assert_array_equal(stack[[5, 2], :4].diagonals(), np.einsum("mii->mi", grams)[:, [5, 2]])
    cross = GramStack(grams[:, :4, 4:], diagonals=np.einsum("mii->mi", grams)[:, :4])
    np.testing.assert_array_equal(cross[[3]].diagonals(), np.einsum("mii->mi", grams)[:, [3]])


def test_diagonals_of_cross_grams_must_be_given():
    stack = GramStack(draw_grams()[:, :4])
    with pytest.raises(
        ValueError, match=r"is not known from cross-Grams; pass it as `GramStack\(grams, diag"
    ):
        stack.diagonals()
    message = r"`diagonals` must have shape \(n_kernels, n_rows\) = \(3, 4\), got \(4,\)"
    with pytest.raises(ValueError, match=message):
        GramStack(draw_grams()[:, :4], diagonals=np.ones(4))


def test_code_that_wants_one_matrix_is_told_what_it_got():
    stack = GramStack(draw_grams())
    with pytest.raises(TypeError, match=r"is not an array; .* or call its `to_array\(\)`"):
        np.asarray(stack)
    with pytest.raises(TypeError, match="is not an array"):
        SVC(kernel="precomputed").fit(stack, np.arange(12) % 2)
    with pytest.raises(IndexError, match="has rows and columns, got 3 indices"):
        stack[0, 0, 0]


# Normalisations


def test_multiplicative_gives_unit_variance_in_feature_space():
    X = draw_rows(1, 30)
    stack = compute_stack([Linear()], X)
    features = X * np.sqrt(learn_factors("multiplicative", stack)[0])
    assert features.var(axis=0).sum() == pytest.approx(1.0)


def test_trace_gives_a_mean_diagonal_of_one():
    stack = compute_stack([Linear(), Polynomial(), RBF(gamma=1.0)], draw_rows(2))
    factors = learn_factors("trace", stack)
    np.testing.assert_allclose(stack.diagonals().mean(axis=1) * factors, 1.0)


@pytest.mark.parametrize("kind", [None, "cosine"])
def test_no_factor_is_a_factor_of_one(kind):
    stack = compute_stack([Linear(), Polynomial()], draw_rows(3))
    np.testing.assert_array_equal(learn_factors(kind, stack), [1.0, 1.0])


@pytest.mark.parametrize("in_place", [False, True])
def test_cosine_gives_a_diagonal_of_one_and_the_angles(in_place):
    X = draw_rows(4)
    grams = np.stack([X @ X.T, (1.0 + X @ X.T) ** 2])
    stack = GramStack(grams.copy())
    stack.check_training()
    cosine = cosine_stack(stack, in_place=in_place)
    lengths = np.linalg.norm(X, axis=1)
    np.testing.assert_allclose(np.einsum("mii->mi", cosine.grams), 1.0)
    np.testing.assert_allclose(cosine.grams[0], X @ X.T / np.outer(lengths, lengths), atol=1e-12)
    assert np.array_equal(stack.grams, grams) != in_place


def test_cosine_of_a_slice_is_that_of_its_copy():
    stack = GramStack(draw_grams().astype(np.float32))
    stack.check_training()
    chosen = [7, 1, 4]
    part = cosine_stack(stack[np.ix_(chosen, chosen)], in_place=False)
    copied = GramStack(stack.to_array()[np.ix_(range(3), chosen, chosen)])
    copied.check_training()
    np.testing.assert_allclose(part.grams, cosine_stack(copied, in_place=False).grams)


def test_cosine_leaves_rows_without_length_at_zero():
    X = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 1.0]])
    stack = cosine_stack(compute_stack([Linear()], X), in_place=True)
    np.testing.assert_allclose(stack.grams[0], [[0, 0, 0], [0, 1, 0.8], [0, 0.8, 1]])


@pytest.mark.parametrize("kind", NORMALIZATIONS)
def test_factors_of_a_slice_are_those_of_its_copy(kind):
    stack = GramStack(draw_grams(5))
    stack.check_training()
    chosen = np.array([9, 0, 4, 5])
    part = stack[np.ix_(chosen, chosen)]
    copied = GramStack(part.to_array())
    copied.check_training()
    np.testing.assert_allclose(learn_factors(kind, part), learn_factors(kind, copied), rtol=1e-12)


@pytest.mark.parametrize("kind", NORMALIZATIONS)
def test_weights_give_the_factors_of_repeated_rows(kind):
    X, weights = draw_rows(6), np.array([1, 2, 0, 3] * 3)
    kernels = [Linear(), Polynomial()]
    weighted = learn_factors(kind, compute_stack(kernels, X), weights.astype(float))
    repeated = learn_factors(kind, compute_stack(kernels, np.repeat(X, weights, axis=0)))
    np.testing.assert_allclose(weighted, repeated, rtol=1e-12)


@pytest.mark.parametrize("kind", NORMALIZATIONS)
def test_a_kernel_in_which_all_rows_are_alike_stays_as_it_is(kind):
    ones = np.ones((6, 6))
    stack = GramStack([0.0 * ones, 4.0 * ones])
    stack.check_training()
    factors = learn_factors(kind, stack)
    assert factors[0] == 1.0
    assert factors[1] == pytest.approx(0.25 if kind == "trace" else 1.0)


@pytest.mark.parametrize("kind", NORMALIZATIONS)
def test_new_rows_meet_the_factors_learned_on_the_training_rows(kind):
    X = draw_rows(7, 30)
    y = np.where(X[:, 0] > 0, "a", "b")
    model = MKLClassifier([Linear(), Polynomial()], normalize=kind).fit(X[:20], y[:20])
    stack = compute_stack(model.kernels_, X[:20])
    np.testing.assert_allclose(model.factors_, learn_factors(kind, stack))
    at_once = model.decision_function(X[20:])
    one_by_one = np.concatenate([model.decision_function(X[i : i + 1]) for i in range(20, 30)])
    np.testing.assert_allclose(at_once, one_by_one, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scaled", [False, True])
def test_normalised_grams_are_the_grams_times_their_scales(scaled):
    X, new = draw_rows(8), draw_rows(9, 5)
    kernels = fit_kernels([Linear(), Polynomial()], X)
    cross = CrossGrams(kernels, new, X)
    factors = np.array([0.5, 3.0])
    rows = cosine_scales(cross.diagonals()) if scaled else None
    columns = cosine_scales(compute_stack(kernels, X).diagonals()) if scaled else None
    grams = NormalizedGrams(cross, factors, rows, columns)
    expected = factors[:, None, None] * np.stack([kernel(new, X) for kernel in kernels])
    diagonals = factors[:, None] * np.stack([kernel.diag(new) for kernel in kernels])
    if scaled:
        expected *= rows[:, :, None] * columns[:, None, :]
        diagonals *= rows**2
    picked = np.array([1, 3, 8])
    np.testing.assert_allclose(grams.block(1, slice(1, 4), picked), expected[1, 1:4, picked].T)
    np.testing.assert_allclose(grams.mean(slice(1, 4)), expected[:, 1:4].mean(axis=0))
    np.testing.assert_allclose(grams.diagonals(), diagonals)
    assert grams.shape == (5, 12)


# From raw data to a stack


@pytest.mark.parametrize("container", [np.asarray, pd.DataFrame])
def test_cross_grams_are_computed_block_by_block(container):
    X, new = container(draw_rows(10)), container(draw_rows(11, 5))
    kernels = fit_kernels([Linear(), RBF(), lambda A, B: np.asarray(A) @ np.asarray(B).T], X)
    cross = CrossGrams(kernels, new, X)
    assert cross.shape == (5, 12)
    for m, kernel in enumerate(kernels):
        np.testing.assert_allclose(cross.block(m), kernel(new, X))
        np.testing.assert_allclose(cross.block(m, slice(1, 3), [0, 5]), kernel(new, X)[1:3][:, [0, 5]])
    np.testing.assert_allclose(cross.diagonals()[0], kernels[0].diag(new))


def test_no_columns_are_a_gram_without_columns():
    X = draw_rows(10)
    cross = CrossGrams(fit_kernels([Linear(), RBF()], X), X[:4], X)
    assert cross.block(1, slice(1, 4), np.array([], dtype=int)).shape == (3, 0)
    assert GramStack(draw_grams()).block(1, slice(1, 4), np.array([], dtype=int)).shape == (3, 0)


def test_fitting_kernels_leaves_the_given_ones_alone():
    given = [RBF(), Linear()]
    fitted = fit_kernels(given, draw_rows(12))
    assert not hasattr(given[0], "gamma_")
    assert fitted[0].gamma_ > 0.0
    assert isinstance(fit_kernel(np.inner, draw_rows(12)), CallableKernel)


class Broadcasting(Kernel):
    def __call__(self, X, Y=None):
        return np.ones((1, len(X)))


class Indefinite(Kernel):
    def __call__(self, X, Y=None):
        return -np.asarray(X) @ np.asarray(X if Y is None else Y).T


def test_kernels_of_others_are_checked():
    X = draw_rows(13)
    with pytest.raises(
        ValueError, match=r"`kernels\[1\]` must return shape \(12, 12\) for 12 rows, got \(1, 12\)"
    ):
        compute_stack([Linear(), Broadcasting()], X)
    with pytest.raises(ValueError, match=r"`grams\[1\]` must be positive semidefinite"):
        compute_stack([Linear(), Indefinite()], X)
    with pytest.raises(ValueError, match=r"`grams\[0\]` must be symmetric"):
        compute_stack(fit_kernels([lambda A, B: np.outer(A[:, 0], B[:, 1])], X), X)
    with pytest.raises(ValueError, match=r"`grams\[0\]` contains NaN or infinity \(row 0\)"):
        compute_stack(fit_kernels([lambda A, B: np.full((len(A), len(B)), np.nan)], X), X)


@pytest.mark.parametrize(
    "kernels, message",
    [
        (RBF(), r"`kernels` must be a list of kernels, .* put a single kernel into a list"),
        (np.inner, r"`kernels` must be a list of kernels"),
        (5, r"`kernels` must be a list of kernels, 'precomputed' or None, got 5"),
        ([], r"`kernels` must name at least one kernel, got an empty list"),
        (["rbf"], r"must be an instance of one in `localmkl.kernels` or a function f\(X, Y\), got 'rbf'"),
        ([RBF], r"got <class '.*RBF'>; write RBF\(\)"),
        ([None], r"got None"),
    ],
    ids=str,
)
def test_what_is_no_list_of_kernels_is_refused(kernels, message):
    with pytest.raises(ValueError, match=message):
        fit_kernels(kernels, draw_rows())


# Checks


def spoil(entry, value):
    grams = draw_grams()
    grams[entry] = value
    return grams


def test_good_stacks_pass_and_are_looked_at_once(monkeypatch):
    stack = GramStack(draw_grams())
    part = stack[np.ix_([3, 1], [3, 1])]
    part.check_training()
    monkeypatch.setattr(_checks, "check_training_grams", None)
    monkeypatch.setattr(_checks, "check_finite_grams", None)
    stack.check_training()
    stack[np.ix_([0, 2], [0, 2])].check_training()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_kernel_of_the_package_fails_the_checks(dtype):
    X = draw_rows(14, 250)
    grams = compute_stack([Linear(), Polynomial(degree=5), RBF(1e-6), RBF(1e6)], X).grams
    GramStack(grams.astype(dtype)).check_training()
    GramStack(1e-30 * grams).check_training()
    GramStack(np.zeros((1, 5, 5))).check_training()


@pytest.mark.parametrize(
    "grams, message",
    [
        (spoil((1, 4, 7), np.nan), r"`grams\[1\]` contains NaN or infinity \(row 4\)"),
        (spoil((2, 11, 0), -np.inf), r"`grams\[2\]` contains NaN or infinity \(row 11\)"),
        (draw_grams()[:, :, :8], r"`grams\[0\]` must be square .* got shape \(12, 8\); pass cross-Grams to"),
        (spoil((1, 4, 7), 100.0), r"`grams\[1\]` must be symmetric, its entries differ .* by up to"),
        (spoil((2, 3, 3), -1.0), r"`grams\[2\]` must be positive semidefinite, its diagonal holds -1"),
        (draw_grams() - 9.0, r"`grams\[0\]` must be positive semidefinite"),
        (np.eye(4)[::-1], r"`grams\[0\]` must be positive semidefinite, a principal submatrix has the eig"),
    ],
    ids=["nan", "infinity", "not square", "not symmetric", "diagonal", "shifted", "indefinite"],
)
def test_stacks_that_no_model_can_learn_from_are_refused(grams, message):
    with pytest.raises(ValueError, match=message):
        GramStack(grams).check_training()


def test_a_negative_diagonal_is_seen_beyond_the_sampled_rows():
    gram = np.eye(3 * _checks.PSD_SAMPLE)
    gram[1, 1] = -0.1
    with pytest.raises(ValueError, match=r"its diagonal holds -0\.1"):
        GramStack(gram).check_training()


def test_asymmetry_is_seen_across_blocks():
    gram = np.eye(1100)
    gram[1099, 3] = 0.5
    with pytest.raises(ValueError, match="must be symmetric"):
        GramStack(gram).check_training()


def test_rows_and_columns_of_training_must_be_the_same_samples():
    stack = GramStack(draw_grams())
    message = "must be square with the same samples as rows and columns"
    for part in (stack[np.ix_([0, 1], [1, 2])], stack[:4], stack[np.ix_([0, 1], [1, 0])]):
        with pytest.raises(ValueError, match=message):
            part.check_training()


@pytest.mark.parametrize(
    "grams, message",
    [
        (np.zeros(5), r"must have shape \(n_kernels, n_rows, n_columns\) .* got shape \(5,\)"),
        (np.zeros((1, 2, 3, 4)), r"must have shape .* got shape \(1, 2, 3, 4\)"),
        (np.zeros((0, 3, 3)), r"must have shape .* with at least one of each, got shape \(0, 3, 3\)"),
        (np.zeros((2, 0, 0)), r"must have shape .* got shape \(2, 0, 0\)"),
        ([], r"must have shape .* got shape \(0,\)"),
        ([np.eye(3), np.eye(4)], r"`grams` must all have one shape, got \[\(3, 3\), \(4, 4\)\]"),
        ([[1.0, 2.0], [3.0]], r"`grams` must all have one shape, got \[\(1,\), \(2,\)\]"),
        (np.full((3, 3), "a"), r"`grams` must hold real numbers, got an array of type <U1"),
        ([["a", "b"], ["c", "d"]], r"`grams` must hold real numbers"),
        (np.full((2, 2), None), r"`grams` must hold real numbers, got an array of type object"),
        (np.eye(3) * 1j, r"`grams` must hold real numbers, got an array of type complex128"),
        (None, r"`grams` must hold real numbers, got an array of type object"),
    ],
    ids=repr,
)
def test_arrays_that_are_no_stack_are_refused(grams, message):
    with pytest.raises(ValueError, match=message):
        GramStack(grams)


# Memory


def test_a_stack_that_cannot_fit_is_refused_before_it_is_computed(monkeypatch):
    monkeypatch.setattr(_resources, "available_memory", lambda: 300_000)
    calls = []
    X = draw_rows(n_rows=100)
    kernels = fit_kernels([lambda A, B: calls.append(1), Linear()], X)
    # Two Grams of 80,000 bytes, a third while one is computed, and what the C library may keep.
    message = "2 Grams of 100 x 100 needs 320,000 bytes of memory, 300,000 bytes are available; use fewer"
    with pytest.raises(MemoryError, match=message):
        compute_stack(kernels, X)
    with pytest.raises(MemoryError, match=r"2 kernels on 100 rows needs .* 300,000 bytes are available"):
        MKLClassifier([kernels[0].function, Linear()]).fit(X, X[:, 0] > 0)
    assert calls == []
    compute_stack([Linear()], X)  # 240,000 bytes fit


def test_a_copy_that_cannot_fit_is_refused_before_it_is_made(monkeypatch):
    stack = GramStack(np.eye(100, dtype=np.float32))
    monkeypatch.setattr(_resources, "available_memory", lambda: 79_999)
    with pytest.raises(MemoryError, match="needs 80,000 bytes"):
        stack.to_array()


def test_predictions_leave_what_a_kernel_returns_as_it_is():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(30, 4))
    y = np.where(X[:, 0] > X[:, 1], 1, -1)
    kept = {}

    def counts(A, B):
        key = A.tobytes(), B.tobytes()
        return kept.setdefault(key, (A[:, None, :] == B[None, :, :]).sum(axis=2))

    model = MKLClassifier([counts, counts], C=10.0).fit(X.astype(float), y)
    first = model.decision_function(X.astype(float))
    np.testing.assert_array_equal(model.decision_function(X.astype(float)), first)
    assert all(gram.dtype.kind == "i" and gram.max() <= 4 for gram in kept.values())
