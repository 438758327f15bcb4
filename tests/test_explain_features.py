"""Explanations and plots of models on features, which keep landmarks in place of training rows."""

import numpy as np
import pytest

from localmkl import CLMKLClassifier, MKLClassifier, MKLRegressor, explain, plots
from localmkl.datasets import load_splice, make_localized
from localmkl.kernels import RBF, Spectrum, WeightedDegree

DATA = load_splice()
ROWS = np.random.default_rng(0).choice(len(DATA.sequences), 60, replace=False)
X, Y = DATA.sequences[ROWS], DATA.y[ROWS]


@pytest.mark.parametrize("normalize", ["multiplicative", "cosine"])
def test_letters_add_up_to_what_weighted_degree_kernels_contribute_through_landmarks(normalize):
    kernels = [WeightedDegree(2), Spectrum(2), WeightedDegree(3, shift=1)]
    model = CLMKLClassifier(kernels, n_components=12, n_clusters=2, normalize=normalize, random_state=0)
    model.fit(X, Y)
    parts = explain.position_contributions(model, X[:20])
    assert parts.shape == (20, 3, 2, len(X[0]))
    wanted = model.contributions(X[:20])[..., [0, 2]].sum(axis=-1)
    np.testing.assert_allclose(parts.sum(axis=-1), wanted, atol=1e-9)


def test_at_full_rank_letters_are_those_of_the_exact_model():
    y = np.equal(Y, Y[0]).astype(int)
    exact = MKLClassifier([WeightedDegree(3)], tol=1e-9).fit(X, y)
    whole = MKLClassifier([WeightedDegree(3)], n_components=len(X), tol=1e-9).fit(X, y)
    own, wanted = (explain.position_contributions(model, X) for model in (whole, exact))
    np.testing.assert_allclose(own, wanted, atol=1e-5)


def test_a_map_on_features_learns_its_axes_from_the_rows_given_and_at_full_rank_is_the_exact_one():
    rows, y = make_localized(80, random_state=0)[:2]
    settings = {"gate_kernel": 0, "n_clusters": 2, "random_state": 0}
    kernels = [RBF(0.02), RBF(0.1)]
    exact = CLMKLClassifier(kernels, **settings).fit(rows, y)
    whole = CLMKLClassifier(kernels, n_components=80, **settings).fit(rows, y)
    few = CLMKLClassifier(kernels, n_components=10, **settings).fit(rows, y)
    wanted = explain.sample_map(exact, rows)
    np.testing.assert_allclose(explain.sample_map(whole, rows).explained, wanted.explained, rtol=1e-6)
    assert explain.sample_map(few, rows[:7]).coordinates.shape == (7, 2)
    with pytest.raises(ValueError, match="needs rows: pass them as `X`"):
        explain.sample_map(few)


def test_known_groups_on_features_are_placed_by_the_mean_of_the_kernels():
    rows, y = make_localized(60, random_state=0)[:2]
    groups = np.where(rows[:, 0] > 0, "a", "b")
    model = CLMKLClassifier(n_components=10, gate="groups", shared=0.5, random_state=0)
    model.fit(rows, y, groups=groups)
    assert explain.sample_map(model, rows, groups=groups).coordinates.shape == (60, 2)


def test_figures_of_a_model_on_features_are_drawn():
    import matplotlib as mpl

    mpl.use("Agg")
    model = MKLRegressor([WeightedDegree(2)], n_components=10, random_state=0).fit(X, np.arange(60.0))
    assert plots.plot_weights(model).has_data()
    assert plots.plot_effects(explain.effects(model, X)).has_data()
