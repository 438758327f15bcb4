import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from localmkl.datasets import make_localized

quick = settings(max_examples=20, deadline=None, derandomize=True)


@quick
@given(
    n_samples=st.integers(1, 50),
    n_groups=st.integers(1, 4),
    more_views=st.integers(1, 4),
    more_columns=st.integers(0, 3),
    regression=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_shapes_are_those_asked_for(n_samples, n_groups, more_views, more_columns, regression, seed):
    n_views, n_columns = n_groups + more_views, n_groups + more_columns
    data = make_localized(
        n_samples,
        n_groups=n_groups,
        n_views=n_views,
        n_columns=n_columns,
        regression=regression,
        random_state=seed,
    )
    assert data.X.shape == (n_samples, n_views * n_columns)
    assert data.y.shape == data.groups.shape == (n_samples,)
    assert set(data.groups) <= set(range(n_groups))
    assert regression or set(data.y) <= {-1, 1}
    assert np.isfinite(data.X).all()
    covered = np.concatenate([np.arange(data.X.shape[1])[view] for view in data.views])
    np.testing.assert_array_equal(covered, np.arange(data.X.shape[1]))
    assert len(data.views) == n_views


def test_the_same_seed_gives_the_same_data():
    first, second = (make_localized(50, random_state=3) for _ in range(2))
    other = make_localized(50, random_state=4)
    np.testing.assert_array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.y, second.y)
    assert not np.array_equal(first.X, other.X)


def test_view_zero_shows_the_groups_at_their_separation():
    X, _, groups, views = make_localized(20_000, separation=6.0, random_state=0)
    means = np.stack([X[groups == g][:, views[0]].mean(axis=0) for g in range(3)])
    distances = [np.linalg.norm(means[i] - means[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    np.testing.assert_allclose(distances, 6.0, rtol=0.02)
    np.testing.assert_allclose(means.mean(axis=0), 0.0, atol=0.05)
    spreads = [X[groups == g].std(axis=0) for g in range(3)]
    np.testing.assert_allclose(spreads, 1.0, rtol=0.05)


def test_the_other_views_do_not_show_the_groups():
    X, _, groups, views = make_localized(20_000, random_state=1)
    for view in views[1:]:
        means = np.stack([X[groups == g][:, view].mean(axis=0) for g in range(3)])
        np.testing.assert_allclose(means, 0.0, atol=0.06)


def fit_by_view(data, chosen):
    """R^2 of a linear function of each view on the chosen rows."""
    pairs = [(data.X[chosen][:, view], data.y[chosen]) for view in data.views]
    return np.array([LinearRegression().fit(*pair).score(*pair) for pair in pairs])


@pytest.mark.parametrize("group", range(3))
def test_each_group_depends_on_its_own_view_alone(group):
    data = make_localized(1500, regression=True, noise=0.0, random_state=2)
    scores = fit_by_view(data, data.groups == group)
    assert scores[1 + group] == pytest.approx(1.0)
    assert np.delete(scores, 1 + group).max() < 0.1


def test_without_locality_all_groups_depend_on_view_one():
    data = make_localized(1500, regression=True, noise=0.0, locality=0.0, random_state=3)
    scores = fit_by_view(data, slice(None))
    assert scores[1] == pytest.approx(1.0)
    assert np.delete(scores, 1).max() < 0.1


def test_locality_moves_from_the_shared_view_to_the_own_one():
    shares = []
    for locality in (0.0, 0.3, 0.7, 1.0):
        data = make_localized(1500, regression=True, noise=0.0, locality=locality, random_state=4)
        shares.append(fit_by_view(data, data.groups == 2)[[1, 3]])
    shared, own = np.transpose(shares)
    assert (np.diff(shared) < 0.0).all()
    assert (np.diff(own) > 0.0).all()


def test_labels_are_the_signs_of_the_targets():
    labels = make_localized(300, noise=0.0, random_state=5)
    values = make_localized(300, noise=0.0, regression=True, random_state=5)
    np.testing.assert_array_equal(labels.X, values.X)
    np.testing.assert_array_equal(labels.y, np.sign(values.y))


def test_both_labels_are_about_equally_frequent():
    assert abs(make_localized(5000, random_state=6).y.mean()) < 0.05


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.5, 1.0])
def test_noise_is_the_share_of_flipped_labels(noise):
    clean = make_localized(5000, noise=0.0, random_state=7)
    noisy = make_localized(5000, noise=noise, random_state=7)
    assert np.mean(clean.y != noisy.y) == pytest.approx(noise, abs=0.02)


@pytest.mark.parametrize("noise", [0.1, 3.0])
def test_noise_is_the_standard_deviation_of_the_targets_noise(noise):
    clean = make_localized(5000, noise=0.0, regression=True, random_state=8)
    noisy = make_localized(5000, noise=noise, regression=True, random_state=8)
    assert np.std(noisy.y - clean.y) == pytest.approx(noise, rel=0.05)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"n_samples": 0}, "`n_samples` must be an integer of at least 1, got 0"),
        ({"n_samples": 10.0}, r"`n_samples` must be an integer of at least 1, got 10\.0"),
        ({"n_groups": 0}, "`n_groups` must be an integer of at least 1, got 0"),
        ({"n_groups": 6}, "`n_views` must be an integer of at least 7, got 6"),
        ({"n_columns": 2}, "`n_columns` must be an integer of at least 3, got 2"),
        ({"locality": 1.1}, r"`locality` must be at least 0\.0 and at most 1\.0, got 1\.1"),
        ({"locality": -0.1}, r"`locality` must be at least 0\.0 and at most 1\.0, got -0\.1"),
        ({"separation": -1.0}, r"`separation` must be at least 0\.0 and finite, got -1\.0"),
        ({"separation": "far"}, r"`separation` must be a number at least 0\.0 and finite, got 'far'"),
        ({"separation": np.inf}, r"`separation` must be at least 0\.0 and finite, got inf"),
        ({"noise": -0.1}, r"`noise` must be at least 0\.0 and at most 1\.0, got -0\.1"),
        ({"noise": 1.5}, r"`noise` must be at least 0\.0 and at most 1\.0, got 1\.5"),
        ({"noise": -1.0, "regression": True}, r"`noise` must be at least 0\.0 and finite, got -1\.0"),
    ],
    ids=str,
)
def test_bad_options_are_named_with_what_is_allowed(options, message):
    with pytest.raises(ValueError, match=message):
        make_localized(**options)
