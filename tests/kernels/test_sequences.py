import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import localmkl
from localmkl import CLMKLClassifier, MKLClassifier
from localmkl.backends import sequences_compiled, sequences_reference
from localmkl.kernels import (
    RBF,
    CrossGrams,
    GappedKmer,
    Linear,
    Mismatch,
    PseudoAminoAcid,
    Spectrum,
    WeightedDegree,
    compute_stack,
    fit_kernels,
    stack,
)
from localmkl.kernels import sequences as module
from localmkl.kernels.alphabets import ALPHABETS, encode
from localmkl.kernels.properties import HYDROPHILICITY, HYDROPHOBICITY

quick = settings(max_examples=25, deadline=None, derandomize=True)
few = settings(max_examples=8, deadline=None, derandomize=True)
AMBIGUOUS = {"dna": "N-", "rna": "N", "protein": "XB", "HEC": "-"}


@st.composite
def sequences(draw, alphabet, *, n=(1, 6), length=(0, 12), equal=False):
    """Sequences in both cases with a few ambiguous letters."""
    letters = ALPHABETS[alphabet][0] if alphabet in ALPHABETS else alphabet
    pool = letters[:3] * 2 + letters + letters.lower() + AMBIGUOUS[alphabet]
    n_rows = draw(st.integers(*n))
    if equal:
        length = (draw(st.integers(*length)),) * 2
    return [draw(st.text(pool, min_size=length[0], max_size=length[1])) for _ in range(n_rows)]


def agree(x, y, alphabet):
    """Whether two words are equal and free of ambiguous letters."""
    letters = ALPHABETS[alphabet][0] if alphabet in ALPHABETS else alphabet
    return x.upper() == y.upper() and set(x.upper()) <= set(letters)


def naive_weighted_degree(x, y, degree, shift, alphabet):
    total = 0.0
    for k in range(1, degree + 1):
        weight = 2.0 * (degree - k + 1) / (degree * (degree + 1))
        for i in range(len(x) - k + 1):
            for s in range(shift + 1):
                if i + s + k > len(x):
                    break
                there = agree(x[i : i + k], y[i + s : i + s + k], alphabet)
                back = agree(x[i + s : i + s + k], y[i : i + k], alphabet)
                total += weight * (there + back) / (2.0 * (s + 1))
    return total


def windows(x, k):
    return [x[i : i + k] for i in range(len(x) - k + 1)]


def naive_spectrum(x, y, k, alphabet):
    return sum(agree(u, v, alphabet) for u in windows(x, k) for v in windows(y, k))


def naive_mismatch(x, y, k, m, alphabet):
    letters = ALPHABETS[alphabet][0] if alphabet in ALPHABETS else alphabet
    words = ["".join(word) for word in itertools.product(letters, repeat=k)]

    def count(sequence, word):
        clean = [u.upper() for u in windows(sequence, k) if agree(u, u, alphabet)]
        return sum(sum(a != b for a, b in zip(u, word, strict=True)) <= m for u in clean)

    return sum(count(x, word) * count(y, word) for word in words)


def naive_gapped(x, y, length, k, alphabet):
    total = 0
    for places in itertools.combinations(range(length), k):
        for u in windows(x, length):
            for v in windows(y, length):
                total += agree("".join(u[p] for p in places), "".join(v[p] for p in places), alphabet)
    return total


def check_against(kernel, X, naive):
    """Equal to the naive values; symmetric, positive semidefinite, its own diagonal; blocks agree."""
    gram = kernel(X)
    expected = np.array([[naive(x, y) for y in X] for x in X])
    np.testing.assert_allclose(gram, expected, rtol=1e-12, atol=1e-12)
    check_kernel(kernel, X, gram)


def check_kernel(kernel, X, gram, tolerance=1e-10):
    scale = max(np.abs(gram).max(), 1e-300)
    np.testing.assert_allclose(gram, gram.T, rtol=1e-12, atol=tolerance * scale)
    assert np.linalg.eigvalsh(gram)[0] >= -tolerance * scale
    np.testing.assert_allclose(kernel.diag(X), gram.diagonal(), rtol=1e-12, atol=tolerance * scale)
    half = len(X) // 2
    if half:
        cross = kernel(X[:half], X[half:])
        np.testing.assert_allclose(cross, gram[:half, half:], rtol=1e-12, atol=tolerance * scale)


@quick
@given(data=st.data(), alphabet=st.sampled_from(list(AMBIGUOUS)), shift=st.integers(0, 4))
def test_weighted_degree_counts_agreements(data, alphabet, shift):
    X = data.draw(sequences(alphabet, length=(1, 14), equal=True))
    degree = data.draw(st.integers(1, 9))
    check_against(
        WeightedDegree(degree, shift=shift, alphabet=alphabet),
        X,
        lambda x, y: naive_weighted_degree(x, y, degree, shift, alphabet),
    )


@pytest.mark.parametrize("length", [63, 64, 65, 128, 130])
@pytest.mark.parametrize("shift", [0, 1, 66])
def test_runs_cross_the_words_of_sixty_four_letters(length, shift):
    rng = np.random.default_rng(length)
    X = ["".join(rng.choice(list("AAAAAC"), length)) for _ in range(4)]
    expected = [[naive_weighted_degree(x, y, 7, shift, "dna") for y in X] for x in X]
    np.testing.assert_allclose(WeightedDegree(7, shift=shift)(X), expected, rtol=1e-12)


def test_a_run_longer_than_two_words_is_seen_by_every_degree():
    X = ["A" * 150, "A" * 149 + "C"]
    for degree in (1, 20, 149, 150, 200):
        expected = [[naive_weighted_degree(x, y, degree, 0, "dna") for y in X] for x in X]
        np.testing.assert_allclose(WeightedDegree(degree)(X), expected, rtol=1e-12)


@quick
@given(data=st.data(), alphabet=st.sampled_from(list(AMBIGUOUS)))
def test_spectrum_counts_words(data, alphabet):
    X = data.draw(sequences(alphabet))
    k = data.draw(st.integers(1, 4))
    k_min = data.draw(st.none() | st.integers(1, k))
    lengths = range(k if k_min is None else k_min, k + 1)
    check_against(
        Spectrum(k, k_min, alphabet=alphabet),
        X,
        lambda x, y: sum(naive_spectrum(x, y, length, alphabet) for length in lengths),
    )


@few
@given(data=st.data(), alphabet=st.sampled_from(["dna", "HEC"]))
def test_mismatch_counts_neighbours(data, alphabet):
    X = data.draw(sequences(alphabet, n=(1, 3), length=(0, 8)))
    k = data.draw(st.integers(1, 3))
    m = data.draw(st.integers(0, k))
    check_against(Mismatch(k, m, alphabet=alphabet), X, lambda x, y: naive_mismatch(x, y, k, m, alphabet))


@quick
@given(data=st.data(), alphabet=st.sampled_from(list(AMBIGUOUS)))
def test_gapped_kmers_count_patterns(data, alphabet):
    X = data.draw(sequences(alphabet, n=(1, 4), length=(0, 9)))
    length = data.draw(st.integers(1, 5))
    k = data.draw(st.integers(1, length))
    check_against(
        GappedKmer(length, k, alphabet=alphabet), X, lambda x, y: naive_gapped(x, y, length, k, alphabet)
    )


@pytest.mark.parametrize("entries", [0, 400, 2**40])
@pytest.mark.parametrize("direct", [1, module.DIRECT_FEATURES])
def test_dense_and_sparse_looked_up_and_direct_columns_agree(monkeypatch, entries, direct):
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ACGTN"), rng.integers(0, 30))) for _ in range(12)]
    kernels = [Spectrum(2), Spectrum(3, 1), Mismatch(3, 1), GappedKmer(4, 2)]
    expected = [kernel(X) for kernel in kernels]
    monkeypatch.setattr(module, "DENSE_ENTRIES", entries)
    monkeypatch.setattr(module, "DENSE_ROWS", 1)
    monkeypatch.setattr(module, "DENSE_GAIN", 1e9)
    monkeypatch.setattr(module, "DIRECT_FEATURES", direct)
    for kernel, gram in zip(kernels, expected, strict=True):
        np.testing.assert_array_equal(kernel(X), gram)
        np.testing.assert_array_equal(kernel(X[:5], X[5:]), gram[:5, 5:])


def test_mismatch_without_mismatches_and_gapped_without_gaps_are_the_spectrum():
    rng = np.random.default_rng(1)
    X = ["".join(rng.choice(list("ACGT"), 40)) for _ in range(8)]
    np.testing.assert_array_equal(Mismatch(4, 0)(X), Spectrum(4)(X))
    np.testing.assert_array_equal(GappedKmer(4, 4)(X), Spectrum(4)(X))


@quick
@given(data=st.data(), lag=st.sampled_from([1, 4, 14]))
def test_pseudo_amino_acid_composition_is_shares_and_mean_products(data, lag):
    X = data.draw(sequences("protein", length=(0, 20)))
    letters = ALPHABETS["protein"][0]
    scales = []
    for table in (HYDROPHOBICITY, HYDROPHILICITY):
        values = np.array([table[c] for c in letters])
        scales.append({c: (table[c] - values.mean()) / values.std() for c in letters})

    def describe(x):
        x = x.upper()
        found = [x.count(c) / max(len(x), 1) for c in letters]
        for j in range(1, lag + 1):
            pairs = [(a, b) for a, b in zip(x, x[j:], strict=False) if a in letters and b in letters]
            found += [0.5 * sum(h[a] * h[b] for a, b in pairs) / max(len(pairs), 1) for h in scales]
        return found

    kernel = PseudoAminoAcid(lag)
    np.testing.assert_allclose(kernel.features(X), [describe(x) for x in X], atol=1e-12)
    check_kernel(kernel, X, kernel(X))


SIMPLE = [
    WeightedDegree(5),
    WeightedDegree(3, shift=2),
    Spectrum(3, 1),
    Mismatch(4, 1),
    GappedKmer(4, 2),
]


@pytest.mark.parametrize("kernel", SIMPLE, ids=repr)
def test_containers_of_sequences_are_alike(kernel):
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ACGTN"), 20)) for _ in range(6)]
    expected = clone(kernel).fit(X)(X)
    frame = pd.DataFrame({"number": np.arange(6.0), "site": X})
    for rows in (np.array(X), np.array(X, dtype=object), tuple(X), [x.encode() for x in X], pd.Series(X)):
        np.testing.assert_array_equal(clone(kernel).fit(rows)(rows), expected)
    np.testing.assert_array_equal(kernel([x.lower() for x in X]), expected)
    for rows, column in ((frame, "site"), (frame, 1), (frame[["site"]], None), (frame.to_numpy(), 1)):
        chosen = clone(kernel).set_params(column=column)
        np.testing.assert_array_equal(chosen.fit(rows)(rows), expected)


def test_compiled_and_plain_weighted_degrees_agree(monkeypatch):
    monkeypatch.setattr(sequences_compiled, "SERIAL_ENTRIES", 0)
    rng = np.random.default_rng(0)
    cases = [(5, 140, 70, 0, 4), (5, 4, 70, 3, 4), (3, 3, 129, 70, 20), (3, 4, 1, 2, 2), (2, 3, 200, 0, 100)]
    for n, n_others, length, shift, n_letters in cases:
        X, Y = (rng.integers(-1, n_letters, (size, length)).astype(np.int8) for size in (n, n_others))
        degrees = np.array([5, 1, 2, 5, 9, 4, 3])
        for other in (None, Y):
            shape = (len(degrees) + 1, n, n if other is None else n_others)
            answers = []
            for work in (
                sequences_reference.weighted_degree,
                sequences_compiled.weighted_degree,
                lambda *given: sequences_compiled.weighted_degree(*given, parallel=False),
            ):
                out = np.full(shape, -1.0)
                work(X, other, degrees, shift, out, [1, 2, 3, 4, 5, 7, 6])
                answers.append(out)
            assert (answers[0][0] == -1.0).all()
            np.testing.assert_allclose(answers[1], answers[0], rtol=1e-13)
            np.testing.assert_array_equal(answers[2], answers[1])
        diagonals = np.empty((2, len(degrees), n))
        sequences_reference.weighted_degree_diagonal(X, degrees, shift, diagonals[0])
        sequences_compiled.weighted_degree_diagonal(X, degrees, shift, diagonals[1])
        np.testing.assert_allclose(diagonals[1], diagonals[0], rtol=1e-13)


def test_compiled_and_plain_sparse_products_agree(monkeypatch):
    monkeypatch.setattr(sequences_compiled, "SERIAL_ENTRIES", 0)
    from scipy import sparse

    rng = np.random.default_rng(0)
    filled = rng.random((12, 30)) * (rng.random((12, 30)) < 0.3)
    left, right = sparse.csr_array(filled[:7]), sparse.csc_array(filled[7:])
    parts = (left.indptr, left.indices, left.data), (right.indptr, right.indices, right.data)
    plain, fast, serial = np.empty((3, 7, 5))
    sequences_reference.sparse_gram(*parts, plain)
    sequences_compiled.sparse_gram(*parts, fast)
    sequences_compiled.sparse_gram(*parts, serial, parallel=False)
    np.testing.assert_allclose(plain, (left @ right.T).toarray(), rtol=1e-13)
    np.testing.assert_allclose(fast, plain, rtol=1e-13)
    np.testing.assert_array_equal(serial, fast)


def mixed_list():
    kernels = [WeightedDegree(d, column=c) for d in (1, 4, 4, 9) for c in ("one", "two")]
    return [
        *kernels,
        Linear(columns=["number"]),
        WeightedDegree(4, shift=1, column="one"),
        Spectrum(2, column="two"),
    ]


def mixed_frame(n=9, seed=0):
    rng = np.random.default_rng(seed)
    texts = [["".join(rng.choice(list("ACGT"), 15)) for _ in range(n)] for _ in range(2)]
    return pd.DataFrame({"one": texts[0], "two": texts[1], "number": rng.normal(size=n)})


def test_a_list_of_degrees_costs_one_sweep_per_column_and_shift(monkeypatch):
    frame = mixed_frame()
    kernels = fit_kernels(mixed_list(), frame)
    singles = np.stack([kernel(frame) for kernel in kernels])
    calls = []
    work = sequences_compiled.weighted_degree
    monkeypatch.setattr(
        sequences_compiled,
        "weighted_degree",
        lambda *given, **more: calls.append(given[2]) or work(*given, **more),
    )
    np.testing.assert_array_equal(compute_stack(kernels, frame).grams, singles)
    assert sorted(len(degrees) for degrees in calls) == [1, 4, 4]
    calls.clear()
    cross = CrossGrams(kernels, frame[:4], frame)
    for m, single in enumerate(singles):
        np.testing.assert_array_equal(cross.block(m, slice(1, 3), np.array([5, 2])), single[1:3][:, [5, 2]])
    assert sorted(len(degrees) for degrees in calls) == [1, 4, 4]


def test_shared_cross_grams_belong_to_the_caller_and_are_asked_for_again(monkeypatch):
    frame = mixed_frame()
    kernels = fit_kernels(mixed_list(), frame)
    for entries in (stack.SHARED_ENTRIES, 1):
        monkeypatch.setattr(stack, "SHARED_ENTRIES", entries)
        cross = CrossGrams(kernels, frame, frame)
        for _ in range(2):
            for m in (0, 2, 0, 6):
                block = cross.block(m)
                np.testing.assert_array_equal(block, kernels[m](frame, frame))
                block[...] = -1.0
        np.testing.assert_array_equal(cross.block(0, slice(0, 2)), kernels[0](frame[:2], frame))


def test_a_stack_needs_little_more_memory_than_itself():
    import tracemalloc

    rng = np.random.default_rng(0)
    X = np.array(["".join(row) for row in rng.choice(list("ACGT"), (400, 82))], dtype=object)
    for kernels in ([WeightedDegree(d) for d in range(1, 21)], [Spectrum(6)] * 5):
        fitted = fit_kernels(kernels, X)
        compute_stack(fitted, X[:5])
        tracemalloc.start()
        grams = compute_stack(fitted, X).grams
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        small = 2**22  # the sequences themselves
        assert peak < 1.1 * grams.nbytes + small


def draw_sites(n=60, seed=0):
    """Sites with a motif in one of two places."""
    rng = np.random.default_rng(seed)
    letters = rng.choice(list("ACGT"), (n, 30))
    y = np.where(np.arange(n) % 2, 1, -1)
    letters[y == 1, 10:14] = list("GATA")
    return np.array(["".join(row) for row in letters], dtype=object), y


def test_sequence_kernels_serve_in_estimators_cross_validation_and_files(tmp_path):
    X, y = draw_sites()
    kernels = [*(WeightedDegree(d) for d in (1, 2, 5)), Spectrum(3), Mismatch(4, 1)]
    model = CLMKLClassifier(kernels=kernels, n_clusters=2, evenness=0.7, random_state=0).fit(X, y)
    assert model.duality_gap_ <= model.tol
    assert model.score(X, y) == 1.0
    assert cross_val_score(model, list(X), y, cv=3).mean() > 0.8
    localmkl.save(model, tmp_path / "model")
    again = localmkl.load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


ESTIMATORS = [name for name in localmkl.__all__ if name.endswith(("Classifier", "Regressor"))]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_takes_sequences_in_lists_and_frames(name):
    X, y = draw_sites(30)
    model = getattr(localmkl, name)(kernels=[WeightedDegree(2), WeightedDegree(4), Spectrum(2)])
    model.set_params(**{key: 0 for key in model.get_params() if key == "random_state"})
    predicted = model.fit(list(X), y).predict(list(X))
    assert predicted.shape == y.shape
    frame = pd.DataFrame({"site": X})
    np.testing.assert_allclose(clone(model).fit(frame, y).predict(frame), predicted)


def test_sequence_columns_stand_beside_numbers(tmp_path):
    X, y = draw_sites()
    frame = pd.DataFrame({"site": X, "flank": X[::-1], "level": np.linspace(0.0, 1.0, len(X))})
    kernels = [WeightedDegree(4, column="site"), Spectrum(2, column="flank"), RBF(columns=["level"])]
    model = MKLClassifier(kernels=kernels).fit(frame, y)
    assert model.score(frame, y) == 1.0
    assert model.kernel_weights_.argmax() == 0
    localmkl.save(model, tmp_path / "model")
    np.testing.assert_array_equal(localmkl.load(tmp_path / "model").predict(frame), model.predict(frame))


@pytest.mark.parametrize(
    "kernel, X, message",
    [
        (
            WeightedDegree(),
            ["ACG", "AC"],
            r"WeightedDegree needs sequences of one length, 3 letters here, got 2 in row 1",
        ),
        (WeightedDegree(), ["ACG", "AEG"], r"got 'E' in row 1 at position 1; name another `alphabet`"),
        (WeightedDegree(), ["ACG", "AéG"], r"got 'é' in row 1 at position 1"),
        (Spectrum(alphabet="HEC"), ["HEC", "HéC"], r"got 'é' in row 1 at position 1"),
        (
            WeightedDegree(),
            ["ACG", "AUG"],
            r"must hold the letters ACGT .* for alphabet='dna', got 'U' in row 1",
        ),
        (Spectrum(alphabet="rna"), ["ACU", "ACT"], r"must hold the letters ACGU"),
        (Spectrum(), ["ACG", None], r"must hold sequences as text, got None in row 1"),
        (Spectrum(), pd.DataFrame({"a": ["A"], "b": ["C"]}), r"got 2 columns; name one by `column`: a, b\."),
        (Spectrum(column="c"), pd.DataFrame({"a": ["A"], "b": ["C"]}), r"must be one of a, b, got 'c'"),
        (Spectrum(), np.array([["A", "C"]]), r"got 2 columns; name one by `column`"),
        (WeightedDegree(0), ["AC"], r"`degree` must be an integer of at least 1, got 0"),
        (WeightedDegree(2.5), ["AC"], r"`degree` must be an integer"),
        (WeightedDegree(2, shift=-1), ["AC"], r"`shift` must be an integer of at least 0"),
        (Spectrum(0), ["AC"], r"`k` must be an integer of at least 1"),
        (Spectrum(2, 3), ["AC"], r"`k_min` must be at most k = 2, got 3"),
        (Spectrum(40), ["AC" * 30], r"fewer than 2\^56 words, got 4\^40 of them; choose a smaller `k`"),
        (Mismatch(2, 3), ["AC"], r"`m` must be at most k = 2, got 3"),
        (GappedKmer(3, 4), ["AC"], r"`k` must be at most length = 3, got 4"),
        (
            Spectrum(alphabet="A"),
            ["AC"],
            r"`alphabet` must be one of 'dna', 'rna', 'protein', or a string of 2",
        ),
        (Spectrum(alphabet="ACa"), ["AC"], r"`alphabet` must name each letter once"),
        (PseudoAminoAcid(0), ["AC"], r"`lag` must be an integer of at least 1"),
    ],
)
def test_what_a_kernel_cannot_take_is_said(kernel, X, message):
    with pytest.raises(ValueError, match=message):
        kernel.fit(X)(X)


def test_new_sequences_must_have_the_length_of_the_training_ones():
    kernel = WeightedDegree(2).fit(["ACGT"])
    with pytest.raises(ValueError, match=r"one length, 4 letters here, got 3 in row 0"):
        kernel(["ACG"], ["ACGT"])


def test_ambiguous_letters_match_nothing_not_even_themselves():
    assert WeightedDegree(1)(["NNNN"])[0, 0] == 0.0
    assert Spectrum(1)(["N-RY"])[0, 0] == 0.0
    assert encode(["acgtN"], "dna").codes.tolist() == [0, 1, 2, 3, -1]
