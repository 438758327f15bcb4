"""Explanations and pictures of models on views that some samples lack."""

import numpy as np
import pytest

from localmkl import CLMKLClassifier, LMKLClassifier, MKLClassifier, Views, explain
from localmkl.kernels import RBF, Linear, WeightedDegree

RNG = np.random.default_rng(0)
N = 50
RNA = RNG.normal(size=(N, 3))
READS = np.array(["".join(RNG.choice(list("ACGT"), 6)) for _ in range(N)], dtype=object)
Y = np.where(RNA[:, 0] > 0.0, "ill", np.where([text[2] == "A" for text in READS], "other", "well"))
HAS, READ = RNG.random(N) < 0.7, RNG.random(N) < 0.7
READ[~HAS] = True
VIEWS = Views({"rna": (RNA[HAS], HAS), "reads": (READS[READ], READ)})
WORDS = [WeightedDegree(1, view="reads"), WeightedDegree(3, view="reads")]
KERNELS = [Linear(view="rna"), RBF(0.1, view="rna"), RBF(1.0, view="rna"), *WORDS]


def test_kernels_are_named_by_their_view_and_what_tells_them_apart_there():
    model = MKLClassifier(KERNELS).fit(VIEWS, Y)
    names = ["rna: linear", "rna: rbf gamma 0.1", "rna: rbf gamma 1", "reads: wd 1", "reads: wd 3"]
    assert explain.kernel_names(model) == names


@pytest.mark.parametrize("normalize", ["multiplicative", "cosine"])
@pytest.mark.parametrize("rank", [None, 20])
def test_letters_add_up_and_are_zero_where_the_view_is_missing(normalize, rank):
    model = CLMKLClassifier(
        KERNELS, n_clusters=2, normalize=normalize, n_components=rank, loss="log_loss", random_state=0
    ).fit(VIEWS, Y)
    parts = explain.position_contributions(model, VIEWS)
    expected = model.contributions(VIEWS)[..., 3:].sum(axis=-1)
    np.testing.assert_allclose(parts.sum(axis=-1), expected, atol=1e-9)
    assert np.all(parts[~READ] == 0.0)
    sequences, alphabet = explain.sequences_of(model, VIEWS)
    assert alphabet == "dna"
    assert [text is None for text in sequences] == (~READ).tolist()


def test_lmkl_explains_letters_on_views_and_several_views_must_be_named():
    model = LMKLClassifier(KERNELS, random_state=0).fit(VIEWS, Y)
    parts = explain.position_contributions(model, VIEWS, view="reads")
    expected = model.contributions(VIEWS)[..., 3:].sum(axis=-1)
    np.testing.assert_allclose(parts.sum(axis=-1), expected, atol=1e-9)
    twice = Views({"left": READS, "right": (READS[READ], READ)})
    model = MKLClassifier([WeightedDegree(2, view="left"), WeightedDegree(2, view="right")]).fit(twice, Y)
    assert explain.sequence_places(model) == [("left", None), ("right", None)]
    with pytest.raises(ValueError, match="`view` must name one view of sequences, left, right"):
        explain.position_contributions(model, twice)
    one = explain.position_contributions(model, twice, view="right")
    np.testing.assert_allclose(one.sum(axis=-1), model.contributions(twice)[..., 1], atol=1e-9)


def test_pictures_take_views():
    plots = pytest.importorskip("localmkl.plots")
    pytest.importorskip("matplotlib").use("Agg")
    model = CLMKLClassifier(KERNELS, n_clusters=2, gate_kernel=RBF(view="rna"), random_state=0).fit(VIEWS, Y)
    assert plots.plot_weights(model).get_xticklabels()[0].get_text() == "rna: linear"
    assert plots.plot_logo(model, VIEWS, label="ill").get_title() == "What speaks for ill"


def test_columns_of_a_view_have_effects_also_where_samples_lack_it():
    model = MKLClassifier([Linear(view="rna"), WORDS[0]]).fit(VIEWS[:35], Y[:35])
    found = explain.effects(model, VIEWS[35:], by="column")
    assert found.kernels == ["rna: 0", "rna: 1", "rna: 2"]
    by_kernel = explain.effects(model, VIEWS[35:]).shares[:, 0, 0]
    np.testing.assert_allclose(found.shares[:, 0].sum(axis=1), by_kernel, atol=0.35)
    assert found.shares[0, 0].argmax() == 0
