"""Plots: what is drawn is what the model says."""

import subprocess
import sys

import numpy as np
import pytest

from localmkl import CLMKLClassifier, CLMKLRegressor, GramStack, HLMKLClassifier, MKLClassifier
from localmkl.calibration import reliability
from localmkl.datasets import load_splice, make_localized
from localmkl.explain import decision_part, kernel_shares, logo_heights, position_contributions, sample_map
from localmkl.kernels import Linear, WeightedDegree

pytest.importorskip("matplotlib", reason="plots need matplotlib, the extra localmkl[plots]")
import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from localmkl import plots


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def local():
    data = make_localized(90, random_state=0)
    kernels = [Linear(columns=view) for view in data.views]
    model = CLMKLClassifier(kernels, gate_kernel=0, evenness=0.4, random_state=0)
    return model.fit(data.X[:60], data.y[:60]), data.X, data.y


@pytest.fixture(scope="module")
def splice():
    X, y, _ = load_splice("EI")
    X = np.concatenate([X[y == 1][:40], X[y == -1][:40]])
    y = np.repeat(["donor", "other"], 40)
    model = CLMKLClassifier([WeightedDegree(d) for d in (1, 3)], n_clusters=2, random_state=0)
    return model.fit(X, y), X, y


def own_axes():
    return Figure().subplots()


def test_weights_are_the_shares_of_the_clusters(local):
    ax = own_axes()
    assert plots.plot_weights(local[0], ax=ax) is ax
    np.testing.assert_allclose(ax.images[0].get_array(), 100 * kernel_shares(local[0]))
    assert ax.get_xlabel() == "kernel (Linear)"
    assert ax.get_xticklabels()[1].get_text() == "columns 4 to 7"


def test_memberships_fill_every_column(local):
    model, X, _ = local
    ax = plots.plot_memberships(model, X, ax=own_axes())
    heights = np.array([[bar.get_height() for bar in bars] for bars in ax.containers])
    assert heights.shape == (3, 90)
    np.testing.assert_allclose(heights.sum(axis=0), 1.0)
    main = heights.argmax(axis=0)
    assert (np.diff(main) >= 0).all()
    assert (np.sort(main) == np.sort(model.memberships(X).argmax(axis=1))).all()


@pytest.mark.parametrize("color_by", ["cluster", "target", "prediction"])
def test_the_map_shows_every_sample_in_the_colour_of_its_group(local, color_by):
    model, X, y = local
    ax = plots.plot_map(model, X, y=y, color_by=color_by, ax=own_axes())
    groups = {"cluster": model.memberships(X).argmax(axis=1), "target": y, "prediction": model.predict(X)}
    expected = sample_map(model, X).coordinates
    for drawn, group in zip(ax.collections, np.unique(groups[color_by]), strict=True):
        np.testing.assert_allclose(drawn.get_offsets(), expected[groups[color_by] == group])


def test_the_map_by_kernel_shows_contributions(local):
    model, X, _ = local
    ax = plots.plot_map(model, X, color_by=1, ax=own_axes())
    np.testing.assert_allclose(ax.collections[0].get_array(), model.contributions(X).sum(axis=1)[:, 1])


def test_the_map_of_a_regression_has_a_scale():
    X, y = make_localized(50, regression=True, random_state=0)[:2]
    model = CLMKLRegressor(random_state=0).fit(X, y)
    ax = plots.plot_map(model, y=y, color_by="target", ax=own_axes())
    np.testing.assert_allclose(ax.collections[0].get_array(), y)


def test_the_map_says_what_it_lacks(local):
    model, X, _ = local
    with pytest.raises(ValueError, match="`y` must be given to colour the map by the target"):
        plots.plot_map(model, X, color_by="target")
    with pytest.raises(ValueError, match="`color_by` must be one of"):
        plots.plot_map(model, X, color_by="view 1")


def test_precomputed_kernels_can_be_mapped():
    X, y = make_localized(40, random_state=0)[:2]
    stack = GramStack([X @ X.T])
    model = CLMKLClassifier("precomputed", n_clusters=2, random_state=0).fit(stack, y)
    ax = plots.plot_map(model, train=stack, ax=own_axes())
    assert sum(len(drawn.get_offsets()) for drawn in ax.collections) == 40


def test_convergence_draws_the_history(local):
    ax = plots.plot_convergence(local[0], ax=own_axes())
    primal, dual = ax.lines
    np.testing.assert_array_equal(primal.get_ydata(), local[0].history_["primal"])
    np.testing.assert_array_equal(dual.get_ydata(), local[0].history_["dual"])


def test_learning_curves_have_a_line_for_each_model(local):
    model, X, y = local
    ax = plots.plot_learning_curves(
        {"CLMKL": model, "MKL": MKLClassifier(model.kernels)},
        X,
        y,
        train_sizes=(0.5, 1.0),
        cv=3,
        ax=own_axes(),
    )
    assert [line.get_label() for line in ax.lines] == ["CLMKL", "MKL"]
    assert [len(line.get_xdata()) for line in ax.lines] == [2, 2]


def test_reliability_draws_the_bins_of_every_model(local):
    _, X, y = local
    models = {f"C = {C}": MKLClassifier(C=C, loss="log_loss").fit(X[:40], y[:40]) for C in (0.1, 10.0)}
    ax = plots.plot_reliability(models, X[40:], y[40:], n_bins=4, ax=own_axes())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(models)
    for model, drawn in zip(models.values(), ax.containers, strict=True):
        bins = reliability(model.predict_proba(X[40:])[:, 1], y[40:] == 1, n_bins=4)
        np.testing.assert_allclose(drawn.lines[0].get_xydata(), np.c_[bins.predicted, bins.observed])
        [bars] = drawn.lines[2]
        np.testing.assert_allclose([ends[:, 1] for ends in bars.get_segments()], np.c_[bins.low, bins.high])
    with pytest.raises(AttributeError, match="predict_proba needs loss='log_loss'"):
        plots.plot_reliability(local[0], X[40:], y[40:], ax=own_axes())


def test_positions_are_the_spread_of_contributions(splice):
    model, X, _ = splice
    ax = plots.plot_positions(model, X, ax=own_axes())
    values = decision_part(model, position_contributions(model, X))
    main = model.memberships(X).argmax(axis=1)
    for j, line in enumerate(ax.lines):
        np.testing.assert_allclose(line.get_ydata(), values[main == j].std(axis=0))


def test_a_logo_has_a_letter_for_every_height_and_finds_the_donor_motif(splice):
    model, X, _ = splice
    ax = plots.plot_logo(model, X, label="donor", ax=own_axes())
    values = decision_part(model, position_contributions(model, X), "donor")
    chosen = model.predict(X) == "donor"
    heights, letters = logo_heights((values - values.mean(axis=0))[chosen], list(X[chosen]))
    assert len(ax.patches) == (heights != 0).sum()
    # An exon ends before position 31, where nearly all introns begin with GT.
    assert [letters[heights[p].argmax()] for p in (30, 31)] == ["G", "T"]
    tallest = max(box[3] for box in plots.stack_letters(heights))
    assert ax.dataLim.y1 == pytest.approx(tallest)


def test_a_logo_of_nobody_is_refused(splice):
    model, X, _ = splice
    others = X[model.predict(X) == "other"]
    with pytest.raises(ValueError, match="needs samples predicted to be 'donor', got none"):
        plots.plot_logo(model, others, label="donor")


def test_letters_pile_up_away_from_the_line():
    boxes = plots.stack_letters(np.array([[1.0, 3.0, -2.0, 0.0]]))
    assert boxes == [(0, 0, 0.0, 1.0), (0, 1, 1.0, 4.0), (0, 2, -2.0, 0.0)]


def test_without_axes_a_figure_is_made(local):
    assert plots.plot_weights(local[0]).figure in map(plt.figure, plt.get_fignums())


def test_a_missing_matplotlib_is_said_in_words(local, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"install the extra `localmkl\[plots\]`"):
        plots.plot_weights(local[0])


def test_importing_plots_does_not_import_matplotlib():
    code = "import sys, localmkl.plots; print('matplotlib' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"


def test_known_groups_and_what_they_share_are_drawn_by_name(splice):
    _, X, y = splice
    groups = np.where(np.arange(80) % 2, "mouse", "human")
    model = HLMKLClassifier([WeightedDegree(1), WeightedDegree(3)], gate="groups", shared=0.5)
    model.fit(X, y, groups=groups)

    def told(legend):
        return [text.get_text() for text in legend.get_texts()]

    weights = plots.plot_weights(model, ax=own_axes())
    assert [label.get_text() for label in weights.get_yticklabels()] == ["shared", "human", "mouse"]
    bands = plots.plot_memberships(model, X, groups=groups, ax=own_axes())
    assert told(bands.get_legend()) == ["shared", "human", "mouse"]
    np.testing.assert_allclose([bar.get_height() for bar in bands.containers[0]], 0.5)
    mapped = plots.plot_map(model, X, groups=groups, ax=own_axes())
    assert [len(drawn.get_offsets()) for drawn in mapped.collections] == [40, 40]
    assert told(mapped.get_legend()) == ["human", "mouse"]
    positions = plots.plot_positions(model, X, groups=groups, ax=own_axes())
    assert told(positions.get_legend()) == ["human", "mouse"]
    logo = plots.plot_logo(model, X, label="donor", cluster="mouse", groups=groups, ax=own_axes())
    assert logo.get_title() == "What speaks for donor in mouse"
    with pytest.raises(ValueError, match="`cluster` must be one of 'human', 'mouse', got 'zebra'"):
        plots.plot_logo(model, X, cluster="zebra", groups=groups)
    curves = plots.plot_learning_curves(
        model, X, y, groups=groups, train_sizes=[0.8, 1.0], cv=2, ax=own_axes()
    )
    assert np.isfinite(curves.lines[0].get_ydata()).all()
