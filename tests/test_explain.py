"""What models say, as arrays."""

import numpy as np
import pytest

from localmkl import (
    CLMKLClassifier,
    CLMKLRegressor,
    GramStack,
    HLMKLClassifier,
    LMKLClassifier,
    MKLClassifier,
)
from localmkl.datasets import load_splice, make_localized
from localmkl.explain import (
    decision_part,
    kernel_names,
    kernel_shares,
    logo_heights,
    main_clusters,
    memberships_of,
    position_contributions,
    sample_map,
    sequence_places,
    training_rows,
    weighted_degrees,
)
from localmkl.kernels import RBF, Linear, Spectrum, WeightedDegree


@pytest.fixture(scope="module")
def splice():
    X, y, _ = load_splice()
    chosen = np.random.default_rng(0).permutation(len(X))[:110]
    return X[chosen], y[chosen]


KERNELS = [WeightedDegree(1), WeightedDegree(4, shift=1), Spectrum(3), WeightedDegree(6)]


@pytest.mark.parametrize("normalize", ["multiplicative", "cosine"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", [CLMKLClassifier, LMKLClassifier, MKLClassifier])
def test_letters_add_up_to_the_weighted_degree_part_of_the_decision(splice, kind, n_classes, normalize):
    X, y = splice
    y = y if n_classes == 3 else y == "EI"
    seed = {} if kind is MKLClassifier else {"random_state": 0}
    model = kind(KERNELS, normalize=normalize, tol=0.1, **seed).fit(X[:60], y[:60])
    parts = position_contributions(model, X[80:])
    expected = model.contributions(X[80:])[..., weighted_degrees(model)].sum(axis=-1)
    assert weighted_degrees(model) == [0, 1, 3]
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(parts.sum(axis=-1), expected, atol=1e-12)


def test_a_regressor_on_two_columns_splits_each(splice):
    pd = pytest.importorskip("pandas")
    X, y = splice
    frame = pd.DataFrame({"left": [x[:30] for x in X], "right": [x[30:] for x in X]})
    kernels = [WeightedDegree(2, column="left"), WeightedDegree(3, column="right")]
    model = CLMKLRegressor(kernels, n_clusters=2, random_state=0).fit(frame[:80], (y[:80] == "EI") * 1.0)
    assert sequence_places(model) == [(None, "left"), (None, "right")]
    total = model.intercept_
    for _, column in sequence_places(model):
        total = total + decision_part(model, position_contributions(model, frame, column=column)).sum(axis=1)
    np.testing.assert_allclose(total, model.predict(frame), atol=1e-12)
    with pytest.raises(ValueError, match="kernels read, 'left', 'right', got None"):
        position_contributions(model, frame)


def test_what_speaks_for_one_of_two_classes_speaks_against_the_other(splice):
    X, y = splice
    model = MKLClassifier([WeightedDegree(3)]).fit(X[:80], y[:80] == "EI")
    parts = position_contributions(model, X[80:])
    for_true = decision_part(model, parts, True)
    np.testing.assert_array_equal(decision_part(model, parts, False), -for_true)
    np.testing.assert_allclose(for_true.sum(axis=1) + model.intercept_, model.decision_function(X[80:]))
    with pytest.raises(ValueError, match=r"`label` must be one of \[False, True\], got 'EI'"):
        decision_part(model, parts, "EI")


def test_models_without_weighted_degree_kernels_have_no_positions():
    X, y = make_localized(40, random_state=0)[:2]
    model = MKLClassifier().fit(X, y)
    assert sequence_places(model) == []
    with pytest.raises(ValueError, match="that `WeightedDegree` kernels read, none, got None"):
        position_contributions(model, X)


def test_heights_of_letters_add_up_to_the_mean():
    rng = np.random.default_rng(0)
    sequences = ["".join(rng.choice(list("ACGT"), 9)) for _ in range(20)]
    values = rng.normal(size=(20, 9))
    heights, letters = logo_heights(values, sequences)
    assert letters == "ACGT"
    np.testing.assert_allclose(heights.sum(axis=1), values.mean(axis=0))


def test_names_say_what_tells_kernels_apart():
    X, y = make_localized(40, random_state=0)[:2]
    kernels = [Linear(columns=slice(0, 4)), Linear(columns=[4, 5, 6, 7, 8]), Linear(), RBF(), RBF()]
    names = kernel_names(MKLClassifier(kernels).fit(X, y))
    assert names == ["0:4", "4 ... 8 (linear)", "linear", "rbf (4)", "rbf (5)"]


def test_shares_sum_to_one_in_every_cluster_also_of_several_classes(splice):
    X, y = splice
    model = CLMKLClassifier(KERNELS, random_state=0, tol=1e-2).fit(X, y)
    assert model.kernel_weights_.shape == (3, 3, 4)
    shares = kernel_shares(model)
    assert shares.shape == (3, 4)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


def test_the_map_keeps_distances_of_a_plane():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(60, 2)), rng.normal(size=60)])
    y = np.where(X[:, 0] > 0, 1, -1)
    model = CLMKLClassifier([Linear(columns=[0, 1]), Linear(columns=2)], gate_kernel=0, random_state=0)
    model.fit(X[:40], y[:40])
    placed = sample_map(model, X[40:])
    np.testing.assert_allclose(placed.explained.sum(), 1.0)

    def distances(rows):
        return np.linalg.norm(rows[:, None] - rows[None], axis=2)

    plane = distances(X[40:, :2]) * np.sqrt(model.factors_[0])
    np.testing.assert_allclose(distances(placed.coordinates), plane, atol=1e-8)
    fewer = sample_map(model, X[40:], max_rows=10)
    np.testing.assert_allclose(distances(fewer.coordinates), plane, atol=1e-8)


def test_the_map_of_a_line_has_a_second_axis_of_zeros():
    X = np.linspace(-1, 1, 20)[:, None]
    model = MKLClassifier([Linear()]).fit(X, X[:, 0] > 0)
    placed = sample_map(model)
    assert placed.coordinates.shape == (20, 2)
    np.testing.assert_allclose(placed.coordinates[:, 1], 0.0, atol=1e-6)


def test_precomputed_kernels_have_numbers_for_names_and_no_map():
    X, y = make_localized(50, random_state=0)[:2]
    model = CLMKLClassifier("precomputed", n_clusters=2, random_state=0).fit(stack := GramStack([X @ X.T]), y)
    assert training_rows(model) is None
    assert kernel_names(model) == ["kernel 1"]
    with pytest.raises(ValueError, match="The map needs rows"):
        sample_map(model, stack)


def test_methods_without_clusters_have_one():
    X, y = make_localized(40, random_state=0)[:2]
    for model in (MKLClassifier(), LMKLClassifier(random_state=0, tol=1e-1)):
        assert (memberships_of(model.fit(X, y)) == np.ones((40, 1))).all()


def test_positions_of_a_model_without_support_vectors_add_nothing():
    X = ["ACGT", "ACGA", "TTGA"]
    model = CLMKLRegressor([WeightedDegree(2)], n_clusters=2, random_state=0).fit(X, [1.0, 1.0, 1.0])
    assert not len(model.support_)
    assert position_contributions(model, X).shape == (3, 2, 4)
    assert not position_contributions(model, X).any()


def test_the_main_cluster_is_never_the_shared_part():
    X, y = make_localized(60, random_state=0)[:2]
    model = CLMKLClassifier(shared=0.8, random_state=0).fit(X, y)
    numbers, names = main_clusters(model, X)
    assert names == ["cluster 1", "cluster 2", "cluster 3"]
    np.testing.assert_array_equal(numbers, model.memberships(X)[:, 1:].argmax(axis=1))
    assert main_clusters(MKLClassifier().fit(X, y))[1] == ["all samples"]


def test_sequences_of_known_groups_are_explained_with_their_groups(splice):
    X, y = splice[0][:80], splice[1][:80] == "EI"
    groups = np.where(np.arange(80) % 2, "mouse", "human")
    model = HLMKLClassifier(KERNELS, gate="groups", shared=0.5).fit(X, y, groups=groups)
    parts = position_contributions(model, X, groups=groups)
    assert parts.shape == (80, 3, 60)  # shared, human, mouse
    by_kernel = model.contributions(X, groups=groups)[:, :, weighted_degrees(model)]
    np.testing.assert_allclose(parts.sum(axis=2), by_kernel.sum(axis=2), atol=1e-10)
    numbers, names = main_clusters(model, X[:3], groups=["mouse", "zebra", None])
    assert [names[number] for number in numbers] == ["mouse", "zebra", "no group"]
    everyone = MKLClassifier(KERNELS).fit(X, y)  # without a gate kernel, the mean of all kernels places rows
    np.testing.assert_allclose(
        np.abs(sample_map(model, X[:9], groups=groups[:9]).coordinates),
        np.abs(sample_map(everyone, X[:9]).coordinates),
        atol=1e-8,
    )
