"""Features against Grams: exact at full rank and where they are explicit, projections below."""

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.preprocessing import StandardScaler

from localmkl import kernels as kernels_module
from localmkl import load, save
from localmkl.kernels import (
    RBF,
    CallableKernel,
    Chi2,
    Cosine,
    CrossGrams,
    GappedKmer,
    HistogramIntersection,
    Kernel,
    Linear,
    Mismatch,
    Overlap,
    Polynomial,
    PropertyProfile,
    PseudoAminoAcid,
    ResidueGroups,
    SequenceKernel,
    SmithWaterman,
    Spectrum,
    Tanimoto,
    TfIdf,
    VectorKernel,
    WeightedDegree,
    features,
    fit_features,
    fit_kernels,
    sequences,
)
from localmkl.kernels.features import lost_shares
from localmkl.stacks import cosine_scales

VECTORS = [
    Linear(),
    Linear(columns=[0, 2], standardize=True),
    Cosine(),
    Polynomial(),
    RBF(),
    RBF("median", factor=5.0, standardize=True),
    Chi2(),
    HistogramIntersection(),
    Tanimoto(),
    Overlap(),
    TfIdf(),
    CallableKernel(lambda X, Y: (X @ Y.T) ** 2),
]
SEQUENCES = [
    WeightedDegree(5),
    WeightedDegree(3, shift=2),
    Spectrum(3),
    Spectrum(3, 1),
    Mismatch(3, 1),
    GappedKmer(4, 2),
    PropertyProfile("stacking", window=3),
    ResidueGroups(("AG", "CT"), alphabet="dna"),
    SmithWaterman(alphabet="dna", n_references=7),
    SmithWaterman(alphabet="dna"),
]
KERNELS = [*VECTORS, *SEQUENCES, PseudoAminoAcid(lag=2)]
EXPLICIT = [*VECTORS[:3], Linear(columns=[1]), *SEQUENCES[2:9], PseudoAminoAcid(lag=2)]


def name(kernel):
    return "function" if isinstance(kernel, CallableKernel) else repr(kernel)


def draw_rows(kernel, n_rows=30, seed=0):
    rng = np.random.default_rng(seed)
    if not isinstance(kernel, SequenceKernel):
        return rng.gamma(2.0, size=(n_rows, 4))
    letters = "ACDEFGHIKLMNPQRSTVWYX" if kernel.alphabet == "protein" else "ACGTN"
    return ["".join(rng.choice(list(letters), 12)) for _ in range(n_rows)]


def fitted(kernel, X):
    return fit_kernels([clone(kernel)], X)


def products(mapped, X, Y=None):
    phi = mapped.transform(X, dtype=np.float64)
    return phi @ (phi if Y is None else mapped.transform(Y, dtype=np.float64)).T


def test_every_kernel_of_the_package_is_in_these_tests():
    public = [getattr(kernels_module, name) for name in kernels_module.__all__]
    classes = {cls for cls in public if inspect.isclass(cls) and issubclass(cls, Kernel)}
    assert classes - {Kernel, VectorKernel, SequenceKernel} == {type(kernel) for kernel in KERNELS}


@pytest.mark.parametrize("cosine", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=name)
def test_with_all_rows_as_landmarks_products_are_the_gram_and_that_of_new_rows(kernel, cosine):
    X, Y = draw_rows(kernel), draw_rows(kernel, 5, seed=1)
    kernels = fitted(kernel, X)
    mapped = fit_features(kernels, X, len(X), cosine=cosine)
    (gram,), (cross,) = kernels[0](X)[None], kernels[0](Y, X)[None]
    if cosine:
        own, other = (cosine_scales(kernels[0].diag(rows)) for rows in (X, Y))
        gram, cross = gram * own[:, None] * own, cross * other[:, None] * own
    np.testing.assert_allclose(products(mapped, X), gram, atol=1e-8 * np.abs(gram).max())
    np.testing.assert_allclose(products(mapped, Y, X), cross, atol=1e-8 * np.abs(gram).max())
    np.testing.assert_allclose(mapped.diagonals(X)[0], gram.diagonal(), rtol=1e-12)


@pytest.mark.parametrize("kernel", EXPLICIT, ids=name)
def test_explicit_features_are_exact_and_keep_no_rows(kernel):
    X, Y = draw_rows(kernel), draw_rows(kernel, 5, seed=1)
    kernels = fitted(kernel, X)
    mapped = fit_features(kernels, X, 1000)
    assert mapped.landmarks is None
    assert mapped.widths == [kernels[0].count_features(X)] == [kernels[0].features(Y).shape[1]]
    np.testing.assert_allclose(products(mapped, Y), kernels[0](Y), rtol=1e-12, atol=1e-12)
    narrow = fit_features(kernels, X, 1)
    assert (narrow.landmarks is None) == (mapped.widths == [1])


def test_words_without_a_column_each_have_landmarks(monkeypatch):
    X = draw_rows(Spectrum())
    monkeypatch.setattr(sequences, "DIRECT_FEATURES", 63)
    assert Spectrum(3).features(X) is None
    assert fit_features(fitted(Spectrum(3), X), X, 10, random_state=0).n_landmarks == 10


@pytest.mark.parametrize("kernel", [RBF(), WeightedDegree(4), SmithWaterman(alphabet="dna")], ids=name)
def test_features_of_landmarks_are_a_projection_that_more_landmarks_improve(kernel):
    X = draw_rows(kernel, 60)
    kernels = fitted(kernel, X)
    gram, lost = kernels[0](X), []
    for rank in (5, 20, 59):
        mapped = fit_features(kernels, X, rank, random_state=0)
        assert mapped.widths[0] <= rank
        rest = gram - products(mapped, X)
        assert np.linalg.eigvalsh(rest)[0] >= -1e-10 * np.trace(gram)
        (share,) = lost_shares(mapped.transform(X), mapped.diagonals(X), mapped.widths)
        assert share == pytest.approx(np.trace(rest) / np.trace(gram), abs=1e-6)
        lost.append(share)
    assert 1.0 > lost[0] > 1.5 * lost[1] > 4.0 * lost[2] > 0.0


def test_products_are_those_of_scikit_learn_with_the_same_landmarks():
    X, Y = draw_rows(RBF(), 50), draw_rows(RBF(), 7, seed=1)
    mapped = fit_features(fitted(RBF(gamma=0.3), X), X, 12, random_state=0)
    theirs = Nystroem(kernel="rbf", gamma=0.3, n_components=12).fit(mapped.landmarks)
    expected = theirs.transform(Y) @ theirs.transform(X).T
    np.testing.assert_allclose(products(mapped, Y, X), expected, atol=1e-9)


def test_kernels_of_one_sweep_are_computed_together_and_in_their_place(monkeypatch):
    X = draw_rows(WeightedDegree())
    kernels = fit_kernels([WeightedDegree(1), Spectrum(1), WeightedDegree(3), Spectrum(4)], X)
    mapped = fit_features(kernels, X, 20, random_state=0)
    assert [root is None for root in mapped.roots] == [False, True, False, False]
    calls = []
    plain = WeightedDegree.write_together

    def counting(together, *args):
        calls.append(len(together))
        plain(together, *args)

    monkeypatch.setattr(WeightedDegree, "write_together", staticmethod(counting))
    phi = mapped.transform(X, dtype=np.float64)
    assert calls == [2]
    grams = CrossGrams(kernels, X, X)
    landmarks = np.isin(X, mapped.landmarks)
    assert landmarks.sum() == 20
    for m, columns in enumerate(mapped.columns()):
        part = phi[:, columns]
        np.testing.assert_allclose(part @ part[landmarks].T, grams.block(m)[:, landmarks], atol=1e-9)


def test_blocks_of_rows_and_what_holds_them_do_not_matter(monkeypatch, tmp_path):
    X = draw_rows(RBF(), 50)
    mapped = fit_features(fit_kernels([Linear(), RBF()], X), X, 8, random_state=0, cosine=True)
    whole = mapped.transform(X, dtype=np.float64)
    diagonals = mapped.diagonals(X)
    monkeypatch.setattr(features, "BLOCK_ENTRIES", 1)
    monkeypatch.setattr(features, "BLOCK_ROWS", 7)
    seen = []
    out = np.lib.format.open_memmap(tmp_path / "phi.npy", mode="w+", dtype=np.float64, shape=whole.shape)
    assert mapped.transform(X, out=out, progress=lambda *done: seen.append(done)) is out
    assert seen == [(7, 50), (14, 50), (21, 50), (28, 50), (35, 50), (42, 50), (49, 50), (50, 50)]
    np.testing.assert_allclose(out, whole, atol=1e-12)
    np.testing.assert_array_equal(mapped.diagonals(X), diagonals)
    single = mapped.transform(X)
    assert single.dtype == np.float32
    assert single.flags.c_contiguous
    np.testing.assert_array_equal(single, out.astype(np.float32))
    np.testing.assert_array_equal(lost_shares(single, diagonals, mapped.widths)[0] < 1e-6, True)
    assert mapped.transform(X[:0]).shape == (0, mapped.n_features)
    np.testing.assert_allclose(mapped.transform(pd.DataFrame(X), dtype=np.float64), whole, atol=1e-12)


def test_equal_landmarks_and_kernels_of_zeros_have_features():
    X = np.repeat(draw_rows(RBF(), 6), 5, axis=0)
    kernels = fit_kernels([RBF(), CallableKernel(lambda X, Y: np.zeros((len(X), len(Y))))], X)
    mapped = fit_features(kernels, X, 30)
    assert mapped.widths == [6, 1]
    phi = mapped.transform(X, dtype=np.float64)
    np.testing.assert_allclose(phi[:, :6] @ phi[:, :6].T, kernels[0](X), atol=1e-10)
    np.testing.assert_array_equal(phi[:, 6], 0.0)
    np.testing.assert_allclose(lost_shares(phi, mapped.diagonals(X), mapped.widths), 0.0, atol=1e-12)
    np.testing.assert_array_equal(fit_features(kernels, X, 30, cosine=True).transform(X)[:, -1], 0.0)


@pytest.mark.parametrize("how", ["random", "kmeans"])
def test_landmarks_are_distinct_rows_of_positive_weight_that_a_seed_decides(how):
    X = draw_rows(RBF(), 300)
    weights = np.where(np.arange(300) % 3 == 0, 0.0, 2.0)
    kernels = fitted(RBF(), X)
    options = {"sample_weight": weights, "landmarks": how}
    chosen = fit_features(kernels, X, 40, random_state=1, **options).landmarks
    assert len(np.unique(chosen, axis=0)) == 40
    assert not np.isin(chosen[:, 0], X[weights == 0.0, 0]).any()
    np.testing.assert_array_equal(chosen, fit_features(kernels, X, 40, random_state=1, **options).landmarks)
    other = fit_features(kernels, X, 40, random_state=2, **options).landmarks
    assert not np.array_equal(chosen, other)
    everything = fit_features(kernels, X, 200, **options).landmarks
    np.testing.assert_array_equal(everything, X[weights > 0.0])


def test_kmeans_finds_each_of_many_far_groups(monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(features, "KMEANS_ROWS", 150)
    X = np.repeat(100.0 * rng.normal(size=(10, 3)), 20, axis=0) + rng.normal(size=(200, 3)) * [1.0, 1.0, 0.0]
    mapped = fit_features(fitted(RBF(), X), X, 10, landmarks="kmeans", random_state=0)
    groups = np.flatnonzero((X[:, None] == mapped.landmarks).all(axis=2).any(axis=1)) // 20
    np.testing.assert_array_equal(np.sort(groups), np.arange(10))
    doubled = fit_features(fitted(RBF(), X), np.tile(X[::20], (3, 1)), 15, landmarks="kmeans", random_state=0)
    assert doubled.n_landmarks == 15


def wrong_uses():
    X, text = np.random.default_rng(0).normal(size=(30, 2)), draw_rows(WeightedDegree())
    weights = np.arange(30) < 20.0
    rows = "`n_components` must be at most the number of training rows, got"
    yield RBF(), X, (31, {}), rf"{rows} 31 for 30 rows; choose 30 or fewer\."
    yield RBF(), X, (21, {"sample_weight": weights}), rf"{rows} 21 for 20 rows of positive weight; choose 20"
    yield RBF(), X, (0, {}), "`n_components` must be an integer of at least 1, got 0"
    yield (
        RBF(),
        X,
        (5, {"landmarks": "k-means"}),
        "`landmarks` must be one of 'random', 'kmeans', got 'k-means'",
    )
    needed = "`landmarks` must be 'random' unless all columns are finite numbers, got 'kmeans' for other rows"
    yield WeightedDegree(2), text, (5, {"landmarks": "kmeans"}), needed
    frame = pd.DataFrame({"number": X[:, 0], "name": text})
    yield RBF(columns=["number"]), frame, (5, {"landmarks": "kmeans"}), needed
    yield CallableKernel(lambda X, Y: -X @ Y.T), X, (5, {}), r"`grams\[0\]` must be positive semidefinite"
    yield Odd(), X, (5, {}), "The products of `features` of Odd must be its Gram"


class Odd(Kernel):
    """A kernel with features of another meaning."""

    def __call__(self, X, Y=None):
        return X @ (X if Y is None else Y).T

    def features(self, X):
        return X[:, :1]


@pytest.mark.parametrize("kernel, X, arguments, told", list(wrong_uses()))
def test_wrong_uses_are_told_in_a_sentence(kernel, X, arguments, told):
    with pytest.raises(ValueError, match=told):
        fit_features(fitted(kernel, X), X, arguments[0], **arguments[1])


def test_more_components_than_rows_will_do_where_features_are_explicit():
    X = draw_rows(Linear(), 5)
    assert fit_features(fitted(Linear(), X), X, 500).widths == [4]
    with pytest.raises(ValueError, match=r"`out` must have shape .* = \(5, 4\), got \(5, 3\)"):
        fit_features(fitted(Linear(), X), X, 500).transform(X, out=np.empty((5, 3)))


@pytest.mark.parametrize("rows", ["array", "frame", "text"])
def test_a_saved_map_has_the_same_features(rows, tmp_path):
    kernel = WeightedDegree(3) if rows == "text" else RBF()
    X = draw_rows(kernel)
    if rows == "frame":
        X = pd.DataFrame({"a": X[:, 0], "b": np.arange(30), "name": [f"row {i}" for i in range(30)]})
        kernel = RBF(columns=["a", "b"])
    mapped = fit_features(fit_kernels([kernel], X), X, 10, random_state=0)
    holder = StandardScaler()
    holder.mapped_ = mapped
    save(holder, tmp_path / "map")
    again = load(tmp_path / "map").mapped_
    np.testing.assert_array_equal(again.transform(X), mapped.transform(X))
    assert repr(again) == repr(mapped) == "FeatureMap(1 kernels, 10 features, 10 landmarks)"
