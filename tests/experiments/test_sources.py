"""Data of the experiments: draws, splits, kernels."""

from functools import partial

import numpy as np
import pytest
from scipy.linalg import eigh

from localmkl.datasets import data_home, make_localized
from localmkl.datasets.fetchers import FILES
from localmkl.experiments import EXPERIMENTS
from localmkl.experiments import sources as sources_module
from localmkl.experiments.protocol import run_cell
from localmkl.experiments.sources import (
    FOLD_ALIGNMENTS,
    FOLD_FEATURES,
    Localized,
    draw,
    load_acceptor,
    load_core_promoters_beside_others,
    load_digits_to_split,
    load_flowers_stack,
    load_fold_kernels,
    load_fold_sequences,
    load_fold_sources,
    load_generated_classes,
    load_human,
    load_image_folder,
    load_small_digits,
    load_small_digits_to_split,
    load_uci_as_promoters,
    load_uci_splice,
    promoter_columns,
)


def needs(*keys):
    missing = [FILES[key].path for key in keys if not (data_home() / FILES[key].path).exists()]
    return pytest.mark.skipif(bool(missing), reason=f"not in the data home: {', '.join(missing)}")


@pytest.fixture(scope="module")
def splice():
    return load_uci_splice(80)


def test_a_draw_has_the_counts_asked_for_and_is_always_the_same():
    y = np.repeat([1, -1], [30, 70])
    rows = draw(y, {1: 10, -1: 20})
    assert len(set(rows.tolist())) == 30
    assert int((y[rows] == 1).sum()) == 10
    np.testing.assert_array_equal(rows, draw(y, {1: 10, -1: 20}))


def test_splits_are_disjoint_cover_everything_and_differ_between_repetitions(splice):
    task = splice.task(30, 0)
    parts = np.concatenate([task.train, task.valid, task.test])
    assert sorted(parts.tolist()) == list(range(80))
    assert [len(part) for part in (task.train, task.valid, task.test)] == [30, 25, 25]
    again, other = splice.task(30, 0), splice.task(30, 1)
    np.testing.assert_array_equal(task.y, again.y)
    assert not np.array_equal(task.y, other.y)


def test_the_copy_of_a_split_holds_the_same_kernels(splice):
    task = splice.task(30, 3)
    order = np.random.default_rng([0, 3]).permutation(80)
    np.testing.assert_array_equal(task.y, splice.y[order])
    np.testing.assert_array_equal(task.stack.grams, splice.stack.grams[:, order[:, None], order])


def test_smaller_training_sets_are_part_of_larger_ones(splice):
    small, large = splice.task(20, 0), splice.task(40, 0)
    np.testing.assert_array_equal(small.y[small.train], large.y[large.train][:20])


def test_a_training_size_that_leaves_nothing_is_refused(splice):
    with pytest.raises(ValueError, match="between 2 and 76 with 80 instances, got 80"):
        splice.task(80, 0)


def test_splice_has_twenty_degrees_and_balanced_classes(splice):
    assert [kernel.degree for kernel in splice.kernels] == list(range(1, 21))
    assert int((splice.y == 1).sum()) == 40
    assert splice.description["normalize"] == "multiplicative"


def test_promoters_have_five_kernels_on_their_parts_of_the_sequence():
    data = load_uci_as_promoters(40)
    assert data.stack.n_kernels == 5
    assert (data.normalize, data.gate_kernel) == ("trace", 0)
    parts = promoter_columns(["A" * 200 + "C" * 51], start=200)[0]
    assert [(part.count("A"), part.count("C")) for part in parts] == [(70, 51), (200, 0), (0, 51), (200, 51)]


def test_outer_folds_test_every_row_once():
    data = load_small_digits(60)
    tested = np.concatenate([data.task("all", k).test for k in range(data.n_folds)])
    assert sorted(tested.tolist()) == list(range(60))
    with pytest.raises(ValueError, match="3 outer folds, repetition 3 is none"):
        data.task("all", 3)


def test_kernels_of_an_outer_fold_learn_from_its_training_rows_only():
    data = load_small_digits(60)
    task = data.task("all", 0)
    changed = data.X.copy()
    changed[task.test] += 5.0
    other = type(data)(changed, data.y, data.kernels, data.n_folds).task("all", 0)
    within = np.ix_(task.train, task.train)
    for m in range(task.stack.n_kernels):
        np.testing.assert_array_equal(task.stack.block(m)[within], other.stack.block(m)[within])


def test_kernels_of_rows_learn_from_the_training_rows_of_each_split():
    data = load_small_digits_to_split(60)
    task = data.task(20, 1)
    order = np.random.default_rng([0, 1]).permutation(60)
    changed = data.X.copy()
    changed[order[20:]] += 5.0
    other = type(data)(changed, data.y, data.kernels).task(20, 1)
    np.testing.assert_array_equal(task.y, data.y[order])
    for m in range(task.stack.n_kernels):
        np.testing.assert_array_equal(task.stack.block(m)[:20, :20], other.stack.block(m)[:20, :20])


def test_localized_rows_are_those_of_the_generator_at_this_locality():
    task = Localized({"train": 20, "valid": 10, "test": 30}).task(0.5, 7)
    X, y, *_ = make_localized(60, locality=0.5, random_state=7)
    np.testing.assert_array_equal(task.y, y)
    np.testing.assert_allclose(task.stack.block(0), X[:, :4] @ X[:, :4].T)
    assert task.gate_kernel == 0


def test_generated_classes_keep_their_split():
    data = load_generated_classes()
    task = data.task(60, 5)
    assert task.valid is None
    assert not set(task.train) & set(task.test)
    assert len(np.unique(data.y)) == 3


@needs("acceptor_82")
def test_the_short_acceptor_sites_take_all_200_positives():
    data = load_acceptor(82)
    assert len(data.y) == 1000
    assert int((data.y == 1).sum()) == 200


@needs(*(key for source in EXPERIMENTS["protein"].sources for key in source.files))
def test_protein_kernels_from_their_sources_are_the_original_ones():
    ours, cut = load_fold_sources(), load_fold_kernels()
    np.testing.assert_array_equal(ours.y, cut.y)
    np.testing.assert_array_equal(ours.train, cut.train)
    for gram, original in zip(ours.stack.grams, cut.stack.grams, strict=True):
        values, vectors = eigh(gram, subset_by_index=[len(gram) - 27, len(gram) - 1])
        distance = np.linalg.norm((vectors * values) @ vectors.T - original)
        assert distance < 1e-12 * np.linalg.norm(original)
    cosines = load_fold_sources(cosine=True)
    np.testing.assert_allclose(np.diagonal(cosines.stack.grams, axis1=1, axis2=2), 1.0)
    assert cosines.description != ours.description


@needs(*(f"human_{kind}_{part}" for kind in ("tata", "notata_core") for part in ("train", "dev", "test")))
@pytest.mark.parametrize(
    ("load", "letters"),
    [
        (partial(load_human, "tata"), 300),
        (partial(load_human, "notata_core"), 70),
        (load_core_promoters_beside_others, 70),
    ],
)
def test_human_promoters_are_cut_where_transcription_starts(monkeypatch, load, letters):
    seen = {}

    def keep(kernels, table, y, **options):  # the kernels take seconds
        seen.update(table=table, y=y, **options)

    monkeypatch.setattr(sources_module, "with_stack", keep)
    load()
    before, after, whole = seen["table"][:, 1:].T
    assert len(set(whole)) == len(whole) == 2510
    assert {len(sequence) for sequence in whole} == {letters}
    promoters = whole[seen["y"] == 1]
    assert len(promoters) == 1255
    letters = np.array([list(sequence) for sequence in promoters])
    pairs = np.isin(letters[:, :-1], ["C", "T"]) & np.isin(letters[:, 1:], ["A", "G"])
    shares = pairs.mean(axis=0)  # of a purine after a pyrimidine, as at a start
    assert shares.max() > 0.65
    assert {len(part) for part in before} == {int(shares.argmax()) + 1}
    assert all(map(str.startswith, whole, before))
    assert all(map(str.endswith, whole, after))
    assert (seen["normalize"], seen["gate_kernel"]) == ("trace", 0)


@needs("mfeat")
def test_digits_to_split_are_a_hundred_of_each():
    data = load_digits_to_split()
    assert np.unique(data.y, return_counts=True)[1].tolist() == [100] * 10
    assert len(data.kernels) == 6


@needs("fold_train", "fold_test")
def test_protein_kernels_from_sequences_are_all_but_secondary_structure(monkeypatch):
    assert len(FOLD_FEATURES) + len(FOLD_ALIGNMENTS) == 11
    monkeypatch.setattr(sources_module, "FOLD_ALIGNMENTS", ())  # they take seconds
    data = load_fold_sequences()
    assert data.stack.n_kernels == 9
    assert (len(data.train), len(data.test), len(np.unique(data.y))) == (311, 383, 27)
    np.testing.assert_allclose(data.stack.grams, np.swapaxes(data.stack.grams, 1, 2))
    fetched = sources_module.fetch_protein_fold(grams=False)
    fetched.sequences[fetched.test] = fetched.sequences[fetched.test[0]]  # means and widths are not of these
    monkeypatch.setattr(sources_module, "fetch_protein_fold", lambda **_: fetched)
    among = np.ix_(data.train, data.train)
    changed = load_fold_sequences().stack[among].to_array()
    np.testing.assert_array_equal(changed, data.stack[among].to_array())


@pytest.fixture
def pictures(tmp_path, monkeypatch):
    """Return a folder of six dark and six light images; their descriptors are kept beside it."""
    cv2 = pytest.importorskip("cv2")
    rng = np.random.default_rng(0)
    for name, low in (("dark", 0), ("light", 128)):
        (tmp_path / "pictures" / name).mkdir(parents=True)
        for k in range(6):
            image = rng.integers(low, low + 127, (40, 48, 3), dtype=np.uint8)
            assert cv2.imwrite(str(tmp_path / "pictures" / name / f"{k}.png"), image)
    monkeypatch.setenv("LOCALMKL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "pictures"


def test_the_image_protocol_runs_on_a_folder_of_images(pictures):
    data = load_image_folder(pictures, n_folds=2, n_words=6, n_sampled=200)
    experiment = EXPERIMENTS["images"].quickened()
    mkl = next(method for method in experiment.methods if method.family == "MKL")
    (row,) = run_cell(experiment, data, [mkl], "all", 0)
    assert len(data.words) == 9
    assert row["score"] == 1.0
    assert row["n_train"] == 6
    assert len(list((pictures.parent / "cache").glob("*.uint8"))) == 9


def test_a_class_with_fewer_images_than_outer_folds_is_named_before_any_is_described(pictures):
    (pictures / "light" / "0.png").unlink()
    with pytest.raises(ValueError, match=r"Every class needs 6 images or more.*got 5 in 'light'"):
        load_image_folder(pictures, n_folds=6)
    assert not (pictures.parent / "cache").exists()


def test_the_kernels_of_an_outer_fold_do_not_know_its_test_images(pictures):
    cv2 = pytest.importorskip("cv2")
    options = {"n_folds": 2, "n_words": 6, "n_sampled": 200}
    data = load_image_folder(pictures, **options)
    task = data.task("all", 0)
    for image in data.images[task.test]:  # black, whatever it was
        assert cv2.imwrite(image, np.zeros((40, 48, 3), dtype=np.uint8))
    changed = load_image_folder(pictures, **options).task("all", 0)
    among = np.ix_(task.train, task.train)
    np.testing.assert_array_equal(task.stack[among].to_array(), changed.stack[among].to_array())
    assert not np.array_equal(task.stack.to_array(), changed.stack.to_array())


def test_the_flowers_have_a_stack_for_splits_of_any_size(pictures, monkeypatch):
    from localmkl.experiments.visual_words import read_image_folder

    images, y = read_image_folder(pictures)
    monkeypatch.setattr(sources_module, "fetch_flowers17", lambda: (images, y))
    data = load_flowers_stack(n_words=6, n_sampled=200)
    assert data.stack.n_kernels == 9
    task = data.task(6, 0)
    assert [len(part) for part in (task.train, task.valid, task.test)] == [6, 3, 3]
    assert data.description["kernels"][0].startswith("Chi2 over VisualWords")
