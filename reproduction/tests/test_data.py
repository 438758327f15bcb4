"""Kernels, readers and tasks of data sets: sequences, images, groups, missing views, many rows."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from reproduction import data as data_module
from reproduction import visual_words, within_groups
from reproduction.catalogue import EXPERIMENTS
from reproduction.data import (
    FOLD_SOURCES,
    load_fold_kernels,
    load_fold_sequences,
    load_fold_sources,
    read_fold_sources,
)
from reproduction.incomplete import Words, drop_views, omics, side_by_side, stories, weigh_words
from reproduction.protocol import Method, run_cell
from reproduction.scale import ManySequences, pick_landmarks
from reproduction.sequence_kernels import GROUPS, STEPS, TABLES, PropertyProfile, ResidueGroups, SmithWaterman
from scipy import sparse

from localmkl import MKLClassifier, Views
from localmkl.datasets import fetch_protein_fold, load_splice
from localmkl.datasets.downloading import locate


def there(*keys):
    """Skip a test whose files are not in the data home."""
    for key in keys:
        try:
            locate(key, download=False)
        except FileNotFoundError as error:
            pytest.skip(str(error))


def test_dinucleotide_profiles_are_means_of_the_table():
    table = dict(zip(STEPS, TABLES["stacking"], strict=True))
    kernel = PropertyProfile("stacking", window=2)
    (found,) = kernel.features(["AAGC"])
    whole = {
        step: table.get(step, table.get(opposite(step)))
        for step in map("".join, itertools.product("ACGT", repeat=2))
    }
    values = np.array([whole[step] for step in ("AA", "AG", "GC")]) - np.mean(list(whole.values()))
    np.testing.assert_allclose(found, (values[1:] + values[:-1]) / 2)
    assert kernel.features(["ANNC"])[0, 1] == 0.0
    X = np.array([["AAGC", "x"], ["CCGT", "y"]], dtype=object)
    columns = PropertyProfile("stacking", window=2, column=0)
    np.testing.assert_allclose(columns(X), kernel(X[:, 0].tolist()))


def opposite(step):
    return "".join(dict(zip("ACGT", "TGCA", strict=True))[letter] for letter in reversed(step))


def test_residue_groups_are_composition_transition_and_distribution():
    (found,) = ResidueGroups("hydrophobicity").features(["RRGCX"])
    assert len(found) == 21
    np.testing.assert_allclose(found[:6], [0.4, 0.2, 0.2, 0.25, 0.0, 0.25])
    np.testing.assert_allclose(found[6:11], [0.2, 0.2, 0.2, 0.4, 0.4])
    np.testing.assert_allclose(ResidueGroups().features(["ACCX"])[0, :3], [0.25, 0.5, 0.0])
    for groups in GROUPS.values():
        assert sorted("".join(groups)) == sorted("ACDEFGHIKLMNPQRSTVWY")


def test_alignment_scores_are_those_of_the_recursion():
    parasail = pytest.importorskip("parasail")
    letters = "ARNDCQEGHILKMFPSTWYVBZX"

    def score(x, y):
        best = np.zeros((len(x) + 1, len(y) + 1))
        down, right = np.full(best.shape, -np.inf), np.full(best.shape, -np.inf)
        for i, j in itertools.product(range(1, len(x) + 1), range(1, len(y) + 1)):
            down[i, j] = max(best[i - 1, j] - 11, down[i - 1, j] - 1)
            right[i, j] = max(best[i, j - 1] - 11, right[i, j - 1] - 1)
            match = parasail.blosum62.matrix[letters.index(x[i - 1]), letters.index(y[j - 1])]
            best[i, j] = max(0.0, best[i - 1, j - 1] + match, down[i, j], right[i, j])
        return best.max()

    X = ["MKVLAAGILWWPW", "MKVLSAGWWPW", "CDEYYMKV"]
    expected = [[score(x, y) for y in X[:2]] for x in X]
    np.testing.assert_array_equal(SmithWaterman("blosum62").scores(X, X[:2]), expected)


def test_the_kernels_of_the_protein_sources_are_those_of_the_published_factors():
    there("fold_kernels", "fold_Composition_Train", "fold_train")
    full, cut = load_fold_sources(), load_fold_kernels()
    for kernel, known in zip(full.grams[[0, 3, 11]], cut.grams[[0, 3, 11]], strict=True):
        values, vectors = np.linalg.eigh(kernel)
        low = (vectors[:, -27:] * values[-27:]) @ vectors[:, -27:].T
        assert np.linalg.norm(low - known) <= 1e-12 * np.linalg.norm(known)


def test_eleven_kernels_are_made_of_the_protein_sequences(monkeypatch):
    there("fold_train", "fold_test")
    monkeypatch.setattr(data_module, "FOLD_ALIGNMENTS", ())  # they take seconds
    data = load_fold_sequences()
    assert len(data.grams) == 9
    task = data.task(311, 0)
    assert (len(task.train), len(task.test), len(np.unique(task.y))) == (311, 383, 27)


@pytest.fixture
def pictures(tmp_path, monkeypatch):
    """Return paths of six dark and six light images, and their kinds."""
    cv2 = pytest.importorskip("cv2")
    rng = np.random.default_rng(0)
    paths = []
    for k, low in enumerate([0] * 6 + [128] * 6):
        paths.append(str(tmp_path / f"{k:02}.png"))
        assert cv2.imwrite(paths[-1], rng.integers(low, low + 127, (40, 48, 3), dtype=np.uint8))
    monkeypatch.setenv("LOCALMKL_CACHE", str(tmp_path / "cache"))
    y = np.repeat(["dark", "light"], 6)
    monkeypatch.setattr(visual_words, "list_flowers", lambda: (np.array(paths), y))
    return paths


def small_words():
    kinds = (("sift", "rgb"), ("quantiles", "opponent"))
    return [visual_words.VisualWords(*kind, 16, n_words=6, random_state=0) for kind in kinds]


def test_kernels_on_photographs_are_learned_on_the_training_images(pictures):
    cv2 = pytest.importorskip("cv2")
    data = visual_words.load_flowers(small_words())
    train = np.r_[:4, 6:10]
    before = np.stack(list(data.grams(train)))
    assert before.shape == (2, 12, 12)
    np.testing.assert_allclose(before, np.swapaxes(before, 1, 2))
    assert before[1, :6, :6].min() > before[1, :6, 6:].max()
    assert cv2.imwrite(pictures[5], np.zeros((40, 48, 3), dtype=np.uint8))
    after = np.stack(list(visual_words.load_flowers(small_words()).grams(train)))
    np.testing.assert_array_equal(after[:, train][:, :, train], before[:, train][:, :, train])
    assert not np.array_equal(after, before)


def test_one_descriptor_is_spread_over_its_nearest_words_by_rank():
    words = visual_words.VisualWords(n_words=9)
    words.words_ = np.repeat(np.arange(9.0)[:, None], 27, axis=1).astype(np.float32)
    (histogram,) = words.transform([np.full((1, 27), 0, dtype=np.uint8)])
    expected = np.append(2.4 ** -np.arange(1.0, 9.0), 0.0)
    np.testing.assert_allclose(histogram, expected / expected.sum())


@pytest.fixture(scope="module")
def grouped():
    X, y, _ = load_splice("EI")
    rows = data_module.draw(y, {1: 40, -1: 40})
    groups = np.repeat(["a", "b"], 40)[np.random.default_rng(0).permutation(80)]
    kernels = (within_groups.Spectrum(3), within_groups.WeightedDegree(4))
    return within_groups.Grouped(data_module.all_grams(kernels, X[rows]), y[rows], groups, kernels)


def test_training_rows_are_drawn_equally_from_groups_and_classes(grouped):
    task, smaller = grouped.task(40, 0), grouped.task(20, 0)
    np.testing.assert_array_equal(np.sort(np.r_[task.train, task.test]), np.arange(80))
    strata = list(zip(grouped.groups[task.train].tolist(), grouped.y[task.train].tolist(), strict=True))
    assert {strata.count(kind) for kind in itertools.product("ab", (1, -1))} == {10}
    assert set(smaller.train) < set(task.train)


@pytest.mark.parametrize("method", [EXPERIMENTS["organisms"].methods[k] for k in (1, 3)])
def test_labels_of_test_rows_choose_nothing_in_groups(grouped, method):
    method = replace(method, grid={"C": (0.3, 3.0)})
    experiment = replace(EXPERIMENTS["organisms"], folds=2)
    task = grouped.task(40, 0)
    y = task.y.copy()
    y[task.test] *= -1
    (found,) = task.outcomes([method], experiment, 0)
    (changed,) = replace(task, y=y).outcomes([method], experiment, 0)
    assert changed["score"] == pytest.approx(1.0 - found["score"])
    assert [changed[name] for name in ("parameters", "gap")] == [
        found[name] for name in ("parameters", "gap")
    ]


def test_a_share_of_the_samples_loses_views_none_loses_all_and_more_contains_less():
    some, more = (drop_views(200, 3, share, np.random.default_rng(3)) for share in (0.2, 0.6))
    assert (np.sum(~some.all(axis=1)), np.sum(~more.all(axis=1))) == (40, 120)
    assert more.any(axis=1).all()
    lost = ~some.all(axis=1)
    np.testing.assert_array_equal(some[lost], more[lost])


def test_words_are_weighed_by_the_training_rows_alone():
    counts = sparse.csr_array(np.random.default_rng(0).poisson(0.5, size=(30, 20)).astype(float))
    kernel = Words().fit(counts[:20])
    table = weigh_words().fit(counts[:20]).transform(counts)
    np.testing.assert_allclose(kernel(counts), (table @ table.T).toarray(), atol=1e-12)
    model = MKLClassifier([Words(view="a")]).fit(Views({"a": counts[:20]}), np.arange(20) % 2)
    assert model.decision_function(Views({"a": counts})).shape == (30,)


def test_views_stand_side_by_side_with_gaps_or_zeros_where_one_is_missing():
    dense = Views({"a": (np.ones((2, 2)), [0, 2]), "b": np.full((3, 1), 5.0)})
    np.testing.assert_array_equal(side_by_side(dense), [[1, 1, 5], [np.nan, np.nan, 5], [1, 1, 5]])
    counts = Views({"a": (sparse.csr_array(np.ones((2, 2))), [0, 2]), "b": sparse.csr_array([[5.0]] * 3)})
    np.testing.assert_array_equal(side_by_side(counts).toarray(), [[1, 1, 5], [0, 0, 5], [1, 1, 5]])


def test_all_ways_of_dealing_with_missing_views_run_and_read_their_rows():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    tables = {name: rng.normal(size=(60, 3)) + y[:, None] for name in ("one", "two")}
    experiment = replace(EXPERIMENTS["omics"], folds=2)
    methods = [
        Method(way, family, {"C": (0.1, 1.0)}, {"way": way})
        for way, family in (("rescale", "UNIF"), ("complete", "UNIF"), ("mean", "logistic regression"))
    ]
    data = omics(tables, y, n_train=30)
    rows = {row["method"]: row for row in run_cell(experiment, data, methods, 40, 0)}
    assert [rows[way].get("error") for way in rows] == [None] * 3
    assert [rows[way]["n_used"] for way in ("rescale", "complete", "mean")] == [30, 18, 30]
    same = run_cell(experiment, data, methods[:2], 0, 0)
    assert same[0]["score"] == same[1]["score"]


def test_outer_folds_test_every_story_once_in_every_draw():
    counts = sparse.csr_array(np.ones((30, 4)))
    data = stories(Views({"a": counts}), np.arange(30) % 3, n_folds=3, n_draws=2)
    for draw in (0, 1):
        tested = np.concatenate([data.task("all", 3 * draw + k).test for k in range(3)])
        assert sorted(tested.tolist()) == list(range(30))


def test_the_stories_are_those_of_three_newspapers():
    there("stories_topics")
    views = EXPERIMENTS["stories"].sources["3sources"].load().task("all", 0).views
    counts = (3 * views.share(views.names)).round().astype(int)
    assert np.bincount(counts).tolist() == [0, 53, 194, 169]


def test_features_of_full_rank_reach_what_exact_grams_reach():
    X, y, _ = load_splice("EI")
    rows = np.random.default_rng(0).permutation(len(y))[:160]
    kernels = tuple(within_groups.WeightedDegree(degree) for degree in (1, 3))
    data = ManySequences(X[rows], y[rows], 100, kernels)
    small, large = data.task(40, 0), data.task(60, 0)
    np.testing.assert_array_equal(small.X[small.train], large.X[large.train][:40])
    np.testing.assert_array_equal(small.X[small.test], large.X[large.test])
    methods = [Method(str(rank), "MKL", fixed={"C": 1.0, "n_components": rank}) for rank in (60, None, 5)]
    full, exact, few = run_cell(EXPERIMENTS["scale"], data, methods, 60, 0)
    assert full["score"] == pytest.approx(exact["score"], abs=0.01)
    assert full["approximation_error"] < 1e-6 < 0.1 < few["approximation_error"]
    assert {row["gap"] <= 1e-3 for row in (full, exact, few)} == {True}


def test_half_of_the_landmarks_are_positive_as_far_as_there_are_so_many():
    y = np.repeat([1, -1], [10, 90])
    for n_landmarks, n_positive in ((8, 4), (60, 10), (96, 10), (100, 10), (200, 10)):
        picked = pick_landmarks(y, n_landmarks, 0)
        assert len(set(picked.tolist())) == min(n_landmarks, 100)
        assert np.sum(y[picked] == 1) == n_positive


def test_the_flowers_are_listed_with_their_kinds(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCALMKL_DATA", str(tmp_path))
    for name in ("pansy/image_1360.jpg", "daisy/image_0801.jpg", "daisy/notes.txt"):
        (tmp_path / "flowers17" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "flowers17" / name).touch()
    images, y = visual_words.list_flowers()
    assert y.tolist() == ["daisy", "pansy"]
    assert images[-1] == str(tmp_path / "flowers17" / "pansy" / "image_1360.jpg")


def test_the_sources_are_of_the_proteins_in_their_order():
    there("fold_train", "fold_test", *(f"fold_{name}_Train" for name in FOLD_SOURCES))
    fold, (X, y, views, train, test) = fetch_protein_fold(grams=False, download=False), read_fold_sources()
    assert X.shape == (694, 925)
    np.testing.assert_array_equal(y, fold.y)
    scores = X[:, views["SWblosum62"]]
    np.testing.assert_array_equal(scores[train], scores[train].T)
    same = fold.sequences[test][:, None] == fold.sequences[train]
    assert same.sum() == 49  # test proteins with the sequence of a training protein
    np.testing.assert_array_equal((scores[test][:, None] == scores[train]).all(axis=2), same)
