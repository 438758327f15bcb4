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
    PropertyProfile,
    PseudoAminoAcid,
    ResidueGroups,
    SmithWaterman,
    Spectrum,
    WeightedDegree,
    compute_stack,
    fit_kernels,
    stack,
)
from localmkl.kernels import sequences as module
from localmkl.kernels.alphabets import ALPHABETS, encode
from localmkl.kernels.properties import DINUCLEOTIDES, GROUPS, HYDROPHILICITY, HYDROPHOBICITY

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
@given(data=st.data(), name=st.sampled_from(list(DINUCLEOTIDES)), window=st.integers(1, 4))
def test_dinucleotide_profiles_are_means_of_the_table(data, name, window):
    X = data.draw(sequences("dna", length=(6, 12), equal=True))
    table = DINUCLEOTIDES[name]
    middle = np.mean(list(table.values()))

    def profile(x):
        steps = [table.get(x[i : i + 2].upper(), middle) - middle for i in range(len(x) - 1)]
        return np.array([np.mean(steps[i : i + window]) for i in range(len(steps) - window + 1)])

    check_against(PropertyProfile(name, window=window), X, lambda x, y: profile(x) @ profile(y))


def test_tables_are_those_of_both_strands():
    opposite = dict(zip("ACGT", "TGCA", strict=True))
    for table in DINUCLEOTIDES.values():
        assert len(table) == 16
        for (a, b), value in table.items():
            assert table[opposite[b] + opposite[a]] == value


def test_a_table_of_one_s_own_may_have_a_value_per_residue():
    scale = {letter.lower(): float(i) for i, letter in enumerate("HEC")}
    kernel = PropertyProfile(scale, alphabet="HEC")
    np.testing.assert_allclose(kernel.features(["HEC", "h-C"]), [[-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0]])


def naive_groups(x, groups, composition):
    x = x.upper()
    if not x:
        return np.zeros(len(groups) if composition else 21)
    label = [next((g for g, letters in enumerate(groups) if c in letters), None) for c in x]
    found = [label.count(g) / len(x) for g in range(len(groups))]
    if composition:
        return np.array(found)
    for a, b in itertools.combinations(range(len(groups)), 2):
        steps = [{left, right} == {a, b} for left, right in itertools.pairwise(label)]
        found.append(sum(steps) / max(len(x) - 1, 1))
    for g in range(len(groups)):
        at = [i + 1 for i, one in enumerate(label) if one == g]
        for share in (0, 25, 50, 75, 100):
            nth = max(1, -(-share * len(at) // 100))
            found.append(at[nth - 1] / len(x) if at else 0.0)
    return np.array(found)


@quick
@given(data=st.data(), name=st.sampled_from(list(GROUPS)))
def test_residue_groups_are_composition_transition_and_distribution(data, name):
    X = data.draw(sequences("protein", length=(0, 20)))
    described = [naive_groups(x, GROUPS[name], name == "composition") for x in X]
    kernel = ResidueGroups(name)
    np.testing.assert_allclose(kernel.features(X), described, atol=1e-14)
    check_kernel(kernel, X, kernel(X))


def test_groups_name_every_residue_once():
    for groups in GROUPS.values():
        assert sorted("".join(groups)) == sorted(ALPHABETS["protein"][0])


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


def naive_alignment(x, y, matrix, gap_open, gap_extend):
    """Gotoh's recursion for the best local alignment."""
    best = np.zeros((len(x) + 1, len(y) + 1))
    down, right = np.full(best.shape, -np.inf), np.full(best.shape, -np.inf)
    for i in range(1, len(x) + 1):
        for j in range(1, len(y) + 1):
            down[i, j] = max(best[i - 1, j] - gap_open, down[i - 1, j] - gap_extend)
            right[i, j] = max(best[i, j - 1] - gap_open, right[i, j - 1] - gap_extend)
            match = best[i - 1, j - 1] + matrix(x[i - 1], y[j - 1])
            best[i, j] = max(0.0, match, down[i, j], right[i, j])
    return best.max()


@few
@given(data=st.data())
def test_alignment_scores_are_those_of_the_recursion(data):
    parasail = pytest.importorskip("parasail")
    table = parasail.blosum62
    letters = "ARNDCQEGHILKMFPSTWYVBZX"

    def matrix(a, b):
        return float(table.matrix[letters.index(a), letters.index(b)])

    X = [x.upper() for x in data.draw(sequences("protein", n=(2, 5), length=(1, 12)))]
    kernel = SmithWaterman(gap_open=5, gap_extend=2).fit(X)
    expected = [[naive_alignment(x, y, matrix, 5, 2) for y in X] for x in X]
    np.testing.assert_array_equal(kernel.scores(X), expected)
    np.testing.assert_allclose(kernel(X), np.dot(expected, np.transpose(expected)) / len(X), rtol=1e-12)
    check_kernel(kernel, X, kernel(X))


def test_alignment_without_parasail_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "parasail", None)
    with pytest.raises(
        ImportError, match=r"needs the package parasail; install it with `pip install localmkl"
    ):
        SmithWaterman().fit(["ACD", "CDE"])


SIMPLE = [
    WeightedDegree(5),
    WeightedDegree(3, shift=2),
    Spectrum(3, 1),
    Mismatch(4, 1),
    GappedKmer(4, 2),
    PropertyProfile("stacking", window=3),
    ResidueGroups(("AG", "CT"), alphabet="dna"),
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
    kernels = [*(WeightedDegree(d) for d in (1, 2, 5)), Spectrum(3), Mismatch(4, 1), PropertyProfile()]
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


def test_alignment_serves_in_estimators_and_files(tmp_path):
    pytest.importorskip("parasail")
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ACDEFGHIKL"), 12)) for _ in range(20)]
    y = np.arange(20) % 2
    X = [x + "WWYWWYW" if label else x for x, label in zip(X, y, strict=True)]
    kernels = [SmithWaterman(n_references=10), ResidueGroups("volume"), PseudoAminoAcid(4)]
    model = MKLClassifier(kernels=kernels).fit(X, y)
    assert model.score(X, y) == 1.0
    localmkl.save(model, tmp_path / "model")
    again = localmkl.load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


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
        (PropertyProfile("bend"), ["AC"], r"`table` must be one of 'twist', 'stacking', or a dict of values"),
        (PropertyProfile({"A": 1.0}), ["AC"], r"`table` must give a finite value to each of the 4 words"),
        (
            PropertyProfile(window=9),
            ["ACG"],
            r"`window` must be at most the 2 values of a sequence of 3 letters, got 9",
        ),
        (ResidueGroups("charge"), ["AC"], r"`groups` must be one of 'composition', 'hydrophobicity'"),
        (ResidueGroups(("AC", "CD")), ["AC"], r"each in one group at most"),
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


def test_alignment_refuses_what_it_does_not_know():
    pytest.importorskip("parasail")
    with pytest.raises(ValueError, match=r"`matrix` must name a scoring matrix of parasail"):
        SmithWaterman(matrix="Aligner").fit(["AC"])
    with pytest.raises(ValueError, match=r"`alphabet` of SmithWaterman must be one of"):
        SmithWaterman(alphabet="HEC").fit(["HE"])


def test_ambiguous_letters_match_nothing_not_even_themselves():
    assert WeightedDegree(1)(["NNNN"])[0, 0] == 0.0
    assert Spectrum(1)(["N-RY"])[0, 0] == 0.0
    assert encode(["acgtN"], "dna").codes.tolist() == [0, 1, 2, 3, -1]
