import builtins
import os
import sys

import cv2
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import FeatureUnion, make_pipeline
from threadpoolctl import threadpool_limits

from localmkl import UniformMKLClassifier
from localmkl.experiments.visual_words import (
    COLOURS,
    FEATURES,
    PAPER_SCALES,
    Descriptors,
    VisualWords,
    _find_nearest,
    describe_images,
    identify_images,
    paper_visual_words,
    read_image_folder,
)
from localmkl.kernels import Chi2

CLASSES = ("checkers", "red", "stripes")
SMALL = {"n_words": 12, "step": 8, "n_sampled": 600, "random_state": 0}


@pytest.fixture(autouse=True)
def _one_thread():
    """Threads that wait for each other make such small problems slow on a busy machine."""
    with threadpool_limits(1):
        yield


def draw(kind, rng, height=48, width=64):
    """Return a noisy picture: grey stripes, grey checkers, or reddish blobs without edges."""
    rows, columns = np.mgrid[:height, :width]
    shift, period = rng.integers(8), rng.integers(5, 8)
    if kind == "stripes":
        grey = ((columns + shift) // period % 2) * 120 + 60
    elif kind == "checkers":
        grey = (((columns + shift) // period + (rows + shift) // period) % 2) * 120 + 60
    else:
        grey = 120 + 30 * np.sin((rows + columns + shift) / 20)
    tint = np.array([1.3, 0.5, 0.5]) if kind == "red" else np.ones(3)
    picture = grey[..., None] * tint + rng.normal(0, 6, (height, width, 3))
    return picture.clip(0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def pictures():
    rng = np.random.default_rng(0)
    y = np.repeat(CLASSES, 8)
    return np.array([draw(kind, rng) for kind in y]), y


@pytest.fixture(scope="module")
def folder(tmp_path_factory, pictures):
    root = tmp_path_factory.mktemp("images")
    for i, (picture, kind) in enumerate(zip(*pictures, strict=True)):
        (root / kind).mkdir(exist_ok=True)
        cv2.imwrite(str(root / kind / f"{i:02}.png"), picture[..., ::-1])
    (root / "red" / "notes.txt").write_text("not an image")
    return root


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("colours", COLOURS)
def test_histograms_have_one_column_per_word_and_sum_to_one(pictures, feature, colours):
    words = VisualWords(feature, colours, **SMALL).fit(pictures[0])
    histograms = words.transform(pictures[0])
    assert words.words_.shape == (12, 3 * (128 if feature == "sift" else 9))
    assert histograms.shape == (24, 12)
    assert histograms.min() >= 0
    np.testing.assert_allclose(histograms.sum(axis=1), 1)
    assert np.ptp(histograms, axis=0).max() > 0.05


def test_paths_and_arrays_give_the_same_histograms(folder, pictures):
    images, y = read_image_folder(folder)
    np.testing.assert_array_equal(y, pictures[1])
    words = VisualWords(**SMALL).fit(pictures[0])
    np.testing.assert_array_equal(words.transform(images), words.transform(pictures[0]))


@pytest.mark.parametrize("feature", FEATURES)
def test_the_same_seed_gives_the_same_words_and_another_seed_others(pictures, feature):
    words = VisualWords(feature, **SMALL)
    first = clone(words).fit(pictures[0]).words_
    np.testing.assert_array_equal(first, clone(words).fit(pictures[0]).words_)
    assert not np.array_equal(first, words.set_params(random_state=1).fit(pictures[0]).words_)


def test_words_come_from_the_images_of_fit_alone(pictures):
    X, y = pictures
    words = VisualWords("quantiles", **SMALL).fit(X[y != "red"])
    learned = words.words_.copy()
    red = words.transform(X[y == "red"])
    np.testing.assert_array_equal(words.words_, learned)
    # No word is reddish: red and green deciles are near each other in every word.
    assert np.abs(learned[:, :9] - learned[:, 9:18]).max() < 15
    np.testing.assert_array_equal(red[:1], words.transform(X[y == "red"][:1]))


def test_one_descriptor_is_spread_over_its_nearest_words_by_rank():
    image = np.full((16, 16, 3), 100, dtype=np.uint8)  # one window, all its deciles 100
    words = VisualWords("quantiles", n_nearest=3, decay=2.0)
    words.words_ = np.repeat([[160.0], [101.0], [90.0], [130.0], [0.0]], 27, axis=1).astype(np.float32)
    np.testing.assert_allclose(words.transform([image])[0], np.array([0, 4, 2, 1, 0]) / 7)
    words.set_params(n_nearest=1)
    np.testing.assert_array_equal(words.transform([image])[0], [0, 1, 0, 0, 0])


def test_quantiles_are_those_of_numpy():
    rng = np.random.default_rng(1)
    image = rng.integers(0, 256, (21, 16, 3), dtype=np.uint8)  # two windows, five rows apart
    words = VisualWords("quantiles")
    found = words._describe(image, 0)
    windows = image[:16], image[5:]
    levels = np.arange(1, 10) / 10
    expected = [np.quantile(part.reshape(-1, 3), levels, axis=0, method="nearest").T for part in windows]
    np.testing.assert_allclose(found, np.reshape(expected, (2, 27)), atol=1)


def test_sift_sees_the_edges_of_its_own_window_and_channel():
    image = np.full((80, 80, 3), 128, dtype=np.uint8)
    image[:, 60:, 1] = 200  # one vertical edge, in green
    found = VisualWords("sift", scale=16, step=32)._describe(image, 0).reshape(3, 3, 3, 128)
    rows, columns, red, green = 0, 1, 0, 1
    assert not found[:, :, red].any()
    assert not found[:, columns - 1, green].any()
    near = found[:, 2, green].reshape(3, 16, 8)
    assert near.any()
    # Dark to bright along x is orientation 0.
    assert near.sum(axis=(rows, 1)).argmax() == 0


@pytest.mark.parametrize("scale", [16, 32, 64])
@pytest.mark.parametrize("quarter", range(4))
def test_sift_has_a_cell_for_each_quarter_of_its_window(scale, quarter):
    image = np.full((scale, scale, 3), 100, dtype=np.uint8)
    image[:, scale * (2 * quarter + 1) // 8 :] = 200  # an edge in the middle of the quarter
    cells = VisualWords(scale=scale)._describe(image, 0)[0, :128].reshape(4, 4, 8)
    assert cells.sum(axis=(0, 2)).argmax() == quarter


def test_large_sift_windows_do_not_see_fine_noise():
    rows, columns = np.mgrid[:96, :96]
    smooth = 120 + 40 * np.sin(columns / 15) + 30 * np.cos(rows / 20)
    noisy = smooth + np.random.default_rng(3).normal(0, 20, (96, 96))
    clean, grainy = (
        VisualWords(scale=96)._describe(np.repeat(picture[..., None], 3, axis=2).astype(np.uint8), 0)[0]
        for picture in (smooth, noisy)
    )
    assert clean @ grainy > 0.95 * np.linalg.norm(clean) * np.linalg.norm(grainy)


@pytest.mark.parametrize("feature", FEATURES)
def test_the_scale_changes_the_features(pictures, feature):
    X = pictures[0][:6]
    small, large = (VisualWords(feature, scale=scale, **SMALL)._describe(X[0], 0) for scale in (16, 32))
    assert len(small) > len(large)
    shared = np.unique(small, axis=0)
    assert not (large[:, None] == shared).all(axis=2).any()


def test_opponent_colours_see_what_grey_images_do_not_have():
    grey = np.repeat(np.random.default_rng(2).integers(0, 256, (40, 40, 1), dtype=np.uint8), 3, axis=2)
    found = VisualWords("sift", "opponent")._describe(grey, 0)
    assert not found[:, :256].any()
    assert found[:, 256:].any(axis=1).all()
    red_less_green = VisualWords("quantiles", "opponent")._describe(
        np.full((16, 16, 3), (255, 0, 0), np.uint8), 0
    )
    np.testing.assert_array_equal(red_less_green.reshape(3, 9)[:, 0], [255, 191, 85])


def test_large_images_are_scaled_down(pictures):
    large = cv2.resize(pictures[0][0], (256, 192), interpolation=cv2.INTER_NEAREST)
    words = VisualWords("quantiles", step=1, longest_side=64)
    assert len(words._describe(large, 0)) == (48 - 15) * (64 - 15)
    np.testing.assert_array_equal(words._describe(large, 0), words._describe(pictures[0][0], 0))


def test_the_sample_for_the_words_is_part_of_all_descriptors(pictures):
    words = VisualWords(step=4)
    every = words._describe(pictures[0][0], 0)
    some = words._describe(pictures[0][0], 0, 20, np.random.RandomState(0))
    assert some.shape == (20, 384)
    assert (some[:, None] == every).all(axis=2).any(axis=1).all()


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("colours", COLOURS)
def test_kept_descriptors_give_the_words_and_histograms_of_the_images(folder, tmp_path, feature, colours):
    images, _ = read_image_folder(folder)
    words = VisualWords(feature, colours, **{**SMALL, "n_sampled": 100})
    kept = Descriptors.load(describe_images(words, images, identify_images(images), tmp_path))
    some = np.arange(1, 24, 2)
    expected = clone(words).fit(images[some])
    found = clone(words).fit(kept[some])
    np.testing.assert_array_equal(found.words_, expected.words_)
    np.testing.assert_array_equal(found.transform(kept), expected.transform(images))


def test_descriptors_are_kept_once_for_each_setting_and_contents(folder, tmp_path, monkeypatch):
    images, _ = read_image_folder(folder)
    words, contents = VisualWords("quantiles", **SMALL), identify_images(images)
    first = describe_images(words, images, contents, tmp_path)
    others = (
        describe_images(clone(words).set_params(step=7), images, contents, tmp_path),
        describe_images(words, images[1:], identify_images(images[1:]), tmp_path),
    )
    assert len({first, *others}) == 3
    described = first.read_bytes()
    first.unlink()  # by whatever cleans caches
    assert describe_images(words, images, contents, tmp_path).read_bytes() == described
    monkeypatch.setattr(VisualWords, "describe", None)
    assert describe_images(clone(words).set_params(n_words=5), images, contents, tmp_path) == first


def test_the_nearest_words_are_those_of_scikit_learn(pictures):
    words = VisualWords(**SMALL).fit(pictures[0])
    described = words._describe(pictures[0][0], 0)
    expected = NearestNeighbors(n_neighbors=5, algorithm="brute").fit(words.words_)
    found = _find_nearest(described, words.words_, 5)
    np.testing.assert_array_equal(found, expected.kneighbors(described, return_distance=False))


def test_the_nine_features_separate_classes_in_cross_validation(folder):
    images, y = read_image_folder(folder)
    features = paper_visual_words(**SMALL)
    assert len({name for name, _ in features}) == 9
    assert {words.scale for _, words in features} == set(PAPER_SCALES)
    kernels = [Chi2(columns=slice(12 * m, 12 * (m + 1))) for m in range(9)]
    model = make_pipeline(FeatureUnion(features), UniformMKLClassifier(kernels, C=10.0))
    assert cross_val_score(model, images, y, cv=2, error_score="raise").mean() > 0.9


def test_the_nine_features_are_the_papers():
    features = [words for _, words in paper_visual_words()]
    assert [(w.feature, w.colours) for w in features[::3]] == [
        ("sift", "rgb"),
        ("sift", "opponent"),
        ("quantiles", "rgb"),
    ]
    assert {(w.n_words, w.step, w.longest_side) for w in features} == {(512, 5, 600)}


def test_bad_folders_are_named(tmp_path, pictures):
    with pytest.raises(ValueError, match="must be a folder with one sub-folder of images per class"):
        read_image_folder(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="at least two sub-folders, one per class, got 0"):
        read_image_folder(tmp_path)
    for name in "ab":
        (tmp_path / name).mkdir()
        cv2.imwrite(str(tmp_path / name / "1.png"), pictures[0][0])
        if name == "a":
            with pytest.raises(ValueError, match="at least two sub-folders, one per class, got 1"):
                read_image_folder(tmp_path)
    (tmp_path / "b" / "._1.png").write_text("what other systems leave beside a file")
    assert len(read_image_folder(tmp_path)[0]) == 2
    (tmp_path / "b" / "2.jpg").write_text("not an image")
    with pytest.raises(ValueError, match=r"2\.jpg' must be an image that OpenCV can read"):
        read_image_folder(tmp_path)
    (tmp_path / "c").mkdir()
    (tmp_path / "b" / "2.jpg").unlink()
    if sys.platform == "linux":  # others have no such names
        odd = tmp_path / "b" / os.fsdecode(b"\xff.png")
        odd.write_bytes((tmp_path / "b" / "1.png").read_bytes())
        for read in (lambda: read_image_folder(tmp_path), lambda: VisualWords(**SMALL).fit([odd])):
            with pytest.raises(ValueError, match=r"must be in UTF-8; rename the file"):
                read()
        odd.unlink()
    with pytest.raises(ValueError, match=r"Every class needs images .* got none in .*c'"):
        read_image_folder(tmp_path)


def test_a_file_that_breaks_off_is_named(tmp_path, pictures):
    path = tmp_path / "half.png"
    path.write_bytes(cv2.imencode(".png", pictures[0][0])[1].tobytes()[:40])
    with pytest.raises(ValueError, match=r"half\.png' must be an image that OpenCV can read"):
        VisualWords(**SMALL).fit([path])


@pytest.mark.parametrize(
    ("images", "message"),
    [
        ("folder", "must be a list of images, got the path 'folder'"),
        ([], "must hold at least one image"),
        (np.zeros((1, 40, 40, 3)), r"`images\[0\]` must be a path or a uint8 array .* got float64"),
        (np.zeros((1, 40, 40), dtype=np.uint8), r"got uint8 of shape \(40, 40\)"),
        (np.zeros((1, 40, 10, 3), dtype=np.uint8), "at least `scale` = 16 pixels high and wide, got 40 x 10"),
        (np.zeros((1, 16, 16, 3), dtype=np.uint8), "`n_words` must be at most .* descriptors, 1, got 12"),
    ],
)
def test_unusable_images_are_said(images, message):
    with pytest.raises(ValueError, match=message):
        VisualWords(**SMALL).fit(images)


@pytest.mark.parametrize(
    ("name", "value"),
    [("feature", "surf"), ("colours", "hsv"), ("scale", 2), ("n_words", 0), ("step", 0.5), ("decay", 0.5)],
)
def test_unusable_parameters_are_said(pictures, name, value):
    with pytest.raises(ValueError, match=f"`{name}` must be"):
        VisualWords(**SMALL).set_params(**{name: value}).fit(pictures[0])


def test_transform_before_fit_is_an_error(pictures):
    with pytest.raises(NotFittedError):
        VisualWords().transform(pictures[0])


def test_without_opencv_the_error_names_the_extra(monkeypatch, tmp_path, pictures):
    real = builtins.__import__

    def missing(name, *args, **kwargs):
        if name == "cv2":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    for call in (lambda: read_image_folder(tmp_path), lambda: VisualWords().fit(pictures[0])):
        with pytest.raises(ImportError, match=r"pip install localmkl\[images\]"):
            call()
