"""Plots: what is drawn is what the model says."""

import subprocess
import sys

import numpy as np
import pytest

from localmkl import CLMKLClassifier, HLMKLClassifier, MKLClassifier
from localmkl.calibration import reliability
from localmkl.datasets import load_splice, make_localized
from localmkl.explain import decision_part, effects, kernel_shares, logo_heights, position_contributions
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
    assert ax.get_ylabel() == "cluster"
    assert ax.get_xticklabels()[1].get_text() == "4:8"


def test_effects_are_numbers_in_cells_and_those_that_are_not_sure_are_pale(local):
    model, X, _ = local
    found = effects(model, X[60:])
    sure = np.zeros((3, 6), dtype=bool)
    sure[1, 2] = True
    ax = plots.plot_effects(found, sure=sure, ax=own_axes())
    drawn, within = ax.images[0].get_array(), 100 * found.within[0]
    np.testing.assert_allclose(drawn[1, 2], within[1, 2])
    np.testing.assert_allclose(drawn[0], within[0] / 4)
    assert [text.get_text() for text in ax.texts] == [f"{value:.0f}" for value in within.ravel()]
    with pytest.raises(ValueError, match="`decision` must be one of '1', got '7'"):
        plots.plot_effects(found, decision="7")


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

    weights = plots.plot_weights(model, ax=own_axes())
    assert [label.get_text() for label in weights.get_yticklabels()] == ["shared", "human", "mouse"]
    logo = plots.plot_logo(model, X, label="donor", cluster="mouse", groups=groups, ax=own_axes())
    assert logo.get_title() == "What speaks for donor in mouse"
    with pytest.raises(ValueError, match="`cluster` must be one of 'human', 'mouse', got 'zebra'"):
        plots.plot_logo(model, X, cluster="zebra", groups=groups)
