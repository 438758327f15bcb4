"""The report with refits: intervals, pale weights, and a plain word where nothing is sure."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from localmkl import (
    CLMKLClassifier,
    GramStack,
    LMKLClassifier,
    MKLClassifier,
    UniformMKLClassifier,
)
from localmkl.datasets import load_splice, make_localized
from localmkl.inference import stability
from localmkl.kernels import Linear, Spectrum
from localmkl.report import write_report
from localmkl.report.certainty import Certainty, ask
from localmkl.report.sections.certainty import certainty_section, verdict_text
from localmkl.report.sections.weights import weights_section
from localmkl.report.subject import Subject

for extra in ("altair", "vl_convert", "jinja2"):
    pytest.importorskip(extra, reason=f"the report needs {extra}, the extra localmkl[report]")

QUICK = {"cv": 0, "baselines": False}


@pytest.fixture(scope="module")
def local():
    X, y, _, views = make_localized(120, random_state=0)
    kernels = [Linear(columns=view) for view in views]
    model = CLMKLClassifier(kernels, gate_kernel=0, evenness=0.4, p=1, C=1.0, random_state=0)
    return model.fit(X, y), X, y


@pytest.fixture(scope="module")
def certain(local):
    subject = Subject(*local)
    return subject, ask(subject, 20)


def text_of(path, key):
    """Return the text of a section of a page."""
    page = path.read_text(encoding="utf-8")
    part = page.partition(f'<section id="{key}"')[2].partition("</section>")[0]
    return " ".join(unescape(re.sub("<[^>]+>", " ", part)).split())


def test_it_shows_what_stability_finds(local, certain):
    subject, certainty = certain
    found = stability(*local, n_resamples=20, random_state=0)
    np.testing.assert_allclose(certainty.found.low, found.low)
    sure = (found.low >= 0.01) & (found.frequency >= 0.75) & (found.jaccard[:, None] >= 0.5)
    assert np.array_equal(certainty.sure, sure)
    assert sure.any()
    assert not sure.all()
    (figure,) = weights_section(subject, certainty).blocks
    cells = figure.spec["data"]["values"]
    assert [cell["pale"] for cell in cells] == (~sure).ravel().tolist()
    assert cells[0]["label"] == (
        f"{100 * found.shares[0, 0]:.0f} ({100 * found.low[0, 0]:.0f} to {100 * found.high[0, 0]:.0f})"
    )


def test_the_section_says_what_is_sure_and_who_is_in_the_clusters(certain):
    section = certainty_section(*certain)
    assert section.title == "How sure are we"
    assert section.text[0].startswith("Of 18 weights, 3 are sure. It is sure which kernel matters most in ")
    assert section.text[0].endswith("Cluster 1, cluster 2 and cluster 3 are found again.")
    summary, traits = section.blocks
    assert [row[3] for row in summary.rows] == ["yes"] * 3
    assert all("column" in row[-1] for row in summary.rows)
    assert {row[0] for row in traits.rows} == {"cluster 1", "cluster 2", "cluster 3"}


def test_without_refits_the_page_is_as_before_and_charts_have_no_pale_cells(local, tmp_path):
    model, X, y = local
    page = write_report(model, tmp_path / "r.html", X=X, y=y, **QUICK).read_text(encoding="utf-8")
    assert "How sure are we" not in page
    assert '"pale"' not in page


def test_rows_in_another_order_are_put_into_that_of_the_fit(local, certain):
    model, X, y = local
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = ask(Subject(model, X[order], y[order]), 20)
    np.testing.assert_allclose(shuffled.found.low, certain[1].found.low)
    assert shuffled.traits.found()[0] == certain[1].traits.found()[0]


def test_nothing_is_sure_of_noise(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 12)), rng.integers(0, 2, 100)
    kernels = [Linear(columns=slice(k, k + 3)) for k in (0, 3, 6, 9)]
    model = CLMKLClassifier(kernels, n_clusters=4, evenness=0.3, p=1, random_state=0).fit(X, y)
    path = write_report(model, tmp_path / "r.html", X=X, y=y, stability=20, **QUICK)
    verdict = (
        "Nothing is sure: with other samples every weight might be gone, and no cluster is clearly found"
    )
    assert verdict in text_of(path, "certainty")
    assert path.read_text(encoding="utf-8").index(verdict) < path.read_text(encoding="utf-8").index("<main")


def test_weights_of_a_cluster_that_is_not_found_again_are_not_sure(certain):
    subject, certainty = certain
    lost = Certainty(replace(certainty.found, jaccard=np.array([0.3, 0.6, 0.9])))
    assert not lost.sure[0].any()
    assert not lost.leads(0)
    assert lost.leads(1)
    text = certainty_section(subject, lost).text[0]
    assert "not sure in cluster 1." in text
    assert "Cluster 3 is found again; cluster 2 is found again in part; cluster 1 is not found again" in text


def test_sequences_grams_and_global_models_are_refitted_too(local, tmp_path):
    _, X, y = local
    sequences, labels, _ = load_splice()
    chosen = np.concatenate([np.flatnonzero(labels == label)[:25] for label in ("EI", "IE", "N")])
    grams = GramStack(np.stack([X[:, :4] @ X[:, :4].T, X[:, 4:8] @ X[:, 4:8].T]))
    models = (
        (CLMKLClassifier([Spectrum(2), Spectrum(3)], random_state=0), sequences[chosen], labels[chosen]),
        (CLMKLClassifier("precomputed", gate_kernel=0, random_state=0), grams, y),
        (MKLClassifier([Linear(), Linear(columns=[5])]), X, y),
    )
    for model, rows, target in models:
        subject = Subject(model.fit(rows, target), rows, target)
        certainty = ask(subject, 20)
        assert certainty.lacking == ""
        assert "sure" in verdict_text(subject, certainty)


def test_pipelines_searches_and_known_groups_are_refitted_too(local):
    model, X, y = local
    groups = np.array(["north", "south"])[np.arange(len(y)) % 2]
    by_groups = CLMKLClassifier(model.kernels, gate="groups", shared=0.5).fit(X, y, groups=groups)
    pipeline = make_pipeline(StandardScaler(), clone(model)).fit(X, y)
    search = GridSearchCV(clone(model), {"C": [0.5, 1.0]}, cv=2).fit(X, y)
    for subject in (Subject(by_groups, X, y, groups=groups), Subject(pipeline, X, y), Subject(search, X, y)):
        certainty = ask(subject, 20)
        section = certainty_section(subject, certainty)
        assert certainty.lacking == ""
        assert ("found again" in section.text[0]) == (subject.noun == "cluster")


def test_what_cannot_be_refitted_is_said_in_one_sentence(local, tmp_path):
    model, X, y = local
    kernels = model.kernels
    cases = (
        (model, {}, "that needs the training samples"),
        (model, {"X": X[:50], "y": y[:50]}, "that needs the training samples"),
        (LMKLClassifier(kernels, random_state=0).fit(X, y), {"X": X, "y": y}, "LMKL is not convex"),
        (UniformMKLClassifier(kernels).fit(X, y), {"X": X, "y": y}, "all kernels weigh the same"),
        (MKLClassifier([Linear()]).fit(X, y), {"X": X, "y": y}, "there is one kernel"),
        (CLMKLClassifier(kernels, evenness=1.0).fit(X, y), {"X": X, "y": y}, "the same memberships"),
        (CLMKLClassifier(kernels, n_components=5).fit(X, y), {"X": X, "y": y}, "keeps landmarks"),
    )
    for fitted, data, words in cases:
        path = write_report(fitted, tmp_path / "r.html", **data, stability=20, **QUICK)
        said = text_of(path, "certainty").partition("How sure are we ")[2]
        assert said.startswith("Nothing was refitted: ")
        assert words in said
        assert said.count(".") == 1
    with pytest.raises(ValueError, match="`stability` must be 0, or an even number from 20 on, got 21"):
        write_report(model, tmp_path / "r.html", X=X, y=y, stability=21, **QUICK)
