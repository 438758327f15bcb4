"""The report: true sentences, honest quality, whole files."""

import json
import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn import metrics
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from localmkl import (
    CLMKLClassifier,
    CLMKLRegressor,
    GramStack,
    HLMKLClassifier,
    LMKLClassifier,
    MKLClassifier,
    MKLRegressor,
    UniformMKLClassifier,
    load,
    save,
)
from localmkl.datasets import load_splice, make_localized
from localmkl.kernels import RBF, Linear, Overlap, WeightedDegree
from localmkl.plots import PALETTE
from localmkl.report import quality, write_report
from localmkl.report.metrics import auc, balanced_accuracy, brier, choose_metrics, log_loss, pinball, r2, rmse
from localmkl.report.prose import percent
from localmkl.report.quality import Score, assess, differs_between
from localmkl.report.refits import baseline
from localmkl.report.subject import Subject
from localmkl.solvers.losses import CLASSIFICATION, REGRESSION, Smooth

for extra in ("altair", "vl_convert", "jinja2"):
    pytest.importorskip(extra, reason=f"the report needs {extra}, the extra localmkl[report]")

SPACE = "\N{NO-BREAK SPACE}"


class Page(HTMLParser):
    """The text of a page by element, its data, and what it would load."""

    def __init__(self, path):
        super().__init__()
        self.html = path.read_text(encoding="utf-8")
        self.texts, self.loads, self._inside, self.data = [], [], [], None
        self.feed(self.html)

    def handle_starttag(self, tag, attributes):
        self._inside.append(tag)
        given = dict(attributes)
        loads = given.get("src") or (
            given.get("href") if not given.get("href", "#").startswith("#") else None
        )
        self.loads += [loads] if loads else []
        if tag in ("meta", "link", "br", "img"):
            self._inside.pop()

    def handle_endtag(self, tag):
        assert self._inside.pop() == tag

    def handle_data(self, data):
        if self._inside and self._inside[-1] == "script":
            if data.startswith('{"charts"'):
                self.data = json.loads(data)
        elif self._inside and self._inside[-1] != "style" and data.strip():
            self.texts.append(data.strip())

    @property
    def text(self):
        return "\n".join(self.texts).replace(SPACE, " ")


@pytest.fixture(scope="module")
def local():
    data = make_localized(300, random_state=0)
    kernels = [Linear(columns=view) for view in data.views]
    model = CLMKLClassifier(kernels, gate_kernel=0, evenness=0.4, p=1, random_state=0)
    return model.fit(data.X[:100], data.y[:100]), data.X, data.y


@pytest.fixture(scope="module")
def held_out(local, tmp_path_factory):
    model, X, y = local
    path = tmp_path_factory.mktemp("report") / "held-out.html"
    train = X[:100], y[:100]
    assert write_report(model, path, X=X[100:], y=y[100:], train=train, seconds=1.5) == path
    return Page(path)


@pytest.fixture(scope="module")
def splice():
    X, y, _ = load_splice()
    chosen = np.concatenate([np.flatnonzero(y == label)[:30] for label in ("EI", "IE", "N")])
    return X[chosen], y[chosen]


def test_held_out_quality_is_that_of_scikit_learn_beside_its_baselines(local, held_out):
    model, X, y = local
    quality = assess(Subject(model, X[100:], y[100:], train=(X[:100], y[:100])))
    assert quality.kind == "held-out"
    assert list(quality.methods) == ["CLMKL", "MKL", "UNIF"]
    rivals = {
        "CLMKL": model,
        "MKL": MKLClassifier(model.kernels, p=1).fit(X[:100], y[:100]),
        "UNIF": UniformMKLClassifier(model.kernels).fit(X[:100], y[:100]),
    }
    for name, rival in rivals.items():
        guesses, decisions = rival.predict(X[100:]), rival.decision_function(X[100:])
        scores = quality.methods[name].scores
        assert scores["accuracy"].value == pytest.approx(metrics.accuracy_score(y[100:], guesses))
        expected = metrics.balanced_accuracy_score(y[100:], guesses)
        assert scores["balanced accuracy"].value == pytest.approx(expected)
        assert scores["AUC"].value == pytest.approx(metrics.roc_auc_score(y[100:], decisions))
        assert scores["AUC"].low < scores["AUC"].value < scores["AUC"].high
        assert percent(scores["accuracy"].value, 1).replace(SPACE, " ") in held_out.text
    assert "Measured on held-out data: 200 samples that the model was not trained on." in held_out.text
    main = model.memberships(X[100:]).argmax(axis=1)
    right = model.predict(X[100:]) == y[100:]
    np.testing.assert_allclose(quality.model.by_cluster, [right[main == j].mean() for j in range(3)])


def test_the_page_has_every_section_every_figure_and_their_numbers(held_out):
    for title in (
        "What was done",
        "How good it is",
        "The map",
        "Which kernel matters where",
        "Who belongs to which cluster",
        "Clear and unclear samples",
        "How the solution was found",
        "What theory guarantees",
        "How this report was made",
    ):
        assert title in held_out.texts
    keys = set(held_out.data["charts"])
    assert keys == {"roc", "by-cluster", "map", "weights", "memberships", "convergence", "bound"}
    for key in keys:
        assert f'data-chart="{key}" role="img" aria-label="' in held_out.html
    assert len(held_out.data["charts"]["map"]["data"]["values"]) == 200


def test_the_page_loads_nothing_and_says_so_to_the_browser(held_out):
    assert held_out.loads == []
    assert "default-src 'none'" in held_out.html


def test_charts_follow_the_schema_of_vega_lite(held_out):
    import altair as alt

    for spec in held_out.data["charts"].values():
        few = {**spec, "data": {"values": spec["data"]["values"][:3]}} if "data" in spec else spec
        alt.Chart.from_dict(few)


def test_training_data_are_cross_validated_never_just_scored(local, tmp_path):
    _, X, y = local
    model = HLMKLClassifier([RBF(gamma=50.0)], C=100.0, n_clusters=2, random_state=0).fit(X[:60], y[:60])
    assert model.score(X[:60], y[:60]) == 1.0  # learned by heart
    folds = StratifiedKFold(3, shuffle=True, random_state=0).split(X[:60], y[:60])
    guesses = cross_val_predict(model, X[:60], y[:60], cv=list(folds))
    page = Page(write_report(model, tmp_path / "r.html", X=X[:60], y=y[:60], cv=3, baselines=False))
    accuracy = percent(np.mean(guesses == y[:60]), 1).replace(SPACE, " ")
    assert (
        f"Of 60 samples, each predicted without having seen it, HLMKL predicts {accuracy} rightly."
        in page.text
    )
    assert "Cross-validated on the training data: 60 samples in 3 folds" in page.text
    assert "100.0 %" not in page.text.partition("Quality by main cluster")[0]
    assert "The model was trained on these samples" in page.text


def test_numbers_on_training_data_say_what_they_are(local, tmp_path):
    model, X, y = local
    page = Page(write_report(model, tmp_path / "r.html", X=X[:100], y=y[:100], cv=0))
    assert (
        "Measured on training data, 100 samples that the model has seen: these numbers are too good"
        in page.text
    )
    heading = page.text.partition("What was done")[0]
    assert "accuracy" not in heading
    assert "rightly" not in heading
    few = assess(Subject(model, X[:50], y[:50]))  # not all training targets: nothing to cross-validate
    assert few.kind == "training"


def test_rows_of_the_training_are_left_out_of_held_out_data(local, tmp_path):
    model, X, y = local
    page = Page(write_report(model, tmp_path / "r.html", X=X[90:200], y=y[90:200]))
    assert "Measured on held-out data: 100 samples" in page.text
    assert "10 other rows given were in its training data and left out." in page.text
    assert "Baselines are missing" in page.text


def test_a_model_alone_says_what_it_can(local, tmp_path):
    page = Page(write_report(local[0], tmp_path / "r.html"))
    assert "Nothing is said about quality" in page.text
    assert set(page.data["charts"]) == {"map", "weights", "memberships", "convergence"}
    assert "accuracy" not in page.text


def test_rows_that_are_sparse_or_have_gaps_are_known_again(local, tmp_path):
    _, X, y = local
    gaps = np.where(np.arange(X.shape[1]) == np.arange(len(X))[:, None] % 7, np.nan, X)
    frame = pd.DataFrame(gaps[:, :6]).rename(columns=str).assign(word="a")
    frame.loc[frame.index[::3], "word"] = None
    kernels = [RBF(impute="median", columns=slice(0, 6)), Overlap(columns=[6])]
    for rows, own in ((gaps, [RBF(impute="median")]), (frame, kernels), (csr_matrix(X), [Linear()])):
        model = MKLClassifier(own).fit(rows[:60], y[:60])
        save(model, tmp_path / "model")
        for one in (model, load(tmp_path / "model")):
            np.testing.assert_array_equal(Subject(one, rows[50:80], y[50:80]).seen, np.arange(50, 80) < 60)


def test_precomputed_kernels_are_told_apart_by_rows(local, tmp_path):
    _, X, y = local
    stack = GramStack([X[:, :4] @ X[:, :4].T, X[:, 4:8] @ X[:, 4:8].T])
    train, test = np.arange(60), np.arange(60, 120)
    square, cross = stack[np.ix_(train, train)], stack[np.ix_(test, train)]
    model = CLMKLClassifier("precomputed", gate_kernel=0, n_clusters=2, random_state=0).fit(square, y[train])
    page = Page(write_report(model, tmp_path / "r.html", X=cross, y=y[test], train=(square, y[train])))
    assert "Measured on held-out data: 60 samples" in page.text
    assert {"roc", "map", "bound"} <= set(page.data["charts"])
    both = assess(Subject(model, stack[np.ix_(np.arange(50, 70), train)], y[50:70]))
    assert (both.kind, both.n_seen) == ("held-out", 10)
    assert assess(Subject(model, square, y[train]), cv=2).kind == "cross-validated"
    copied = GramStack(square.to_array())  # as read from a file
    assert assess(Subject(model, copied, y[train]), cv=2).kind == "cross-validated"
    alone = Page(write_report(model, tmp_path / "alone.html"))
    assert set(alone.data["charts"]) == {"weights", "memberships", "convergence"}


def test_sequences_have_positions_and_logos_that_find_the_motif(splice, tmp_path):
    X, y = splice[0], np.where(splice[1] == "EI", "donor", "other")
    model = CLMKLClassifier([WeightedDegree(d) for d in (1, 3)], n_clusters=2, random_state=0)
    model.fit(X[::2], y[::2])
    page = Page(write_report(model, tmp_path / "r.html", X=list(X[1::2]), y=y[1::2]))
    assert "Which positions matter where" in page.text
    assert page.html.count('class="logo"') == 1
    assert "Sequence logo: what speaks for donor" in page.text  # the rarer class
    assert "G at 31, T at 32" in page.text  # introns begin with GT
    assert X[1] in page.data["charts"]["map"]["data"]["values"][0]["letters"]


def test_several_classes_and_a_search(splice, tmp_path):
    X, y = splice
    search = GridSearchCV(
        CLMKLClassifier([WeightedDegree(2), WeightedDegree(5)], n_clusters=2, random_state=0, tol=1e-2),
        {"C": [0.1, 1.0], "evenness": [0.6, 0.9]},
        cv=2,
    ).fit(X, y)
    page = Page(write_report(search, tmp_path / "r.html", X=X, y=y, cv=2))
    best = search.best_params_
    assert (
        f"Of 4 candidates in 2 folds, C = {best['C']:g} and evenness = {best['evenness']:g} did best"
        in page.text
    )
    assert "tuned over the same grid" in page.text
    assert "The parameters were chosen on the same samples" in page.text
    assert {"confusion", "class-weights", "tuning"} <= set(page.data["charts"])
    cells = page.data["charts"]["tuning"]["data"]["values"]
    assert sorted(cell["value"] for cell in cells) == sorted(search.cv_results_["mean_test_score"].round(4))
    assert [cell["framed"] for cell in cells].count(True) == 1
    assert "Sequence logo: what speaks for IE" in page.text
    confusion = metrics.confusion_matrix(y, _cross_validated(search, X, y, 2))
    assert [
        cell["value"] for cell in page.data["charts"]["confusion"]["data"]["values"]
    ] == confusion.ravel().tolist()
    alone = Page(write_report(search, tmp_path / "alone.html"))
    assert f"a cross-validated score of {search.best_score_:.3f}" in alone.text


def _cross_validated(search, X, y, cv):
    folds = StratifiedKFold(cv, shuffle=True, random_state=0).split(X, y)
    return cross_val_predict(search.best_estimator_, X, y, cv=list(folds))


def test_regression_in_a_pipeline(tmp_path):
    X, y = make_localized(120, regression=True, random_state=0)[:2]
    model = make_pipeline(StandardScaler(), CLMKLRegressor(n_clusters=2, random_state=0)).fit(X[:60], y[:60])
    page = Page(write_report(model, tmp_path / "r.html", X=X[60:], y=y[60:], train=(X[:60], y[:60])))
    error = metrics.root_mean_squared_error(y[60:], model.predict(X[60:]))
    assert f"The RMSE of CLMKL is {error:.3g};" in page.text
    assert "MKL" in page.text
    assert "residuals" in page.data["charts"]
    assert [mode["label"] for mode in page.data["modes"]][:2] == ["cluster", "target"]


def test_gated_models_and_tables_with_names(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = make_localized(60, random_state=0)[:2]
    frame = pd.DataFrame(X, columns=[f"gene {i}" for i in range(X.shape[1])])
    model = LMKLClassifier(random_state=0, tol=0.1).fit(frame[:40], y[:40])
    names = [f"patient {i}" for i in range(20)]
    page = Page(write_report(model, tmp_path / "r.html", X=frame[40:], y=y[40:], names=names))
    assert "Its objective is not convex" in page.text
    assert "bound" not in page.data["charts"]
    assert "memberships" not in page.data["charts"]
    assert page.data["charts"]["map"]["data"]["values"][3]["name"] == "patient 3"


def test_only_some_of_many_samples_are_shown_and_the_page_stays_small(local, tmp_path):
    model = local[0]
    X, y = make_localized(1200, random_state=1)[:2]
    path = write_report(model, tmp_path / "r.html", X=X, y=y, baselines=False)
    page = Page(path)
    assert len(page.data["charts"]["map"]["data"]["values"]) == 1000
    assert "1,000 of 1,200, chosen at random (seed 0)" in page.text
    assert "Measured on held-out data: 1,200 samples" in page.text
    assert path.stat().st_size < 3_000_000


def test_names_cannot_break_out_of_the_page(local, tmp_path):
    model, X, _ = local
    evil = "</script><script>alert('x')</script><b>&amp;"
    y = np.where(model.predict(X) > 0, "<i>yes</i>", 'no & "no"')
    labelled = MKLClassifier(model.kernels).fit(X[:60], y[:60])
    path = write_report(
        labelled,
        tmp_path / "r.html",
        X=X[60:90],
        y=y[60:90],
        names=[evil] * 30,
        kernel_names=[evil + str(m) for m in range(6)],
        title=evil,
    )
    page = Page(path)  # every element is closed, scripts are only ours
    assert page.html.count("<script") == 3
    assert "<i>" not in page.html
    assert page.texts[0] == evil
    assert page.data["charts"]["map"]["data"]["values"][0]["name"] == evil


def test_a_failed_report_leaves_the_old_file_and_nothing_else(local, tmp_path, monkeypatch):
    path = tmp_path / "r.html"
    path.write_text("old")

    def full_disk(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_report(local[0], path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    monkeypatch.undo()
    assert "doctype" in write_report(local[0], path).read_text(encoding="utf-8")[:20]


def test_mistakes_are_said_in_words(local, tmp_path, monkeypatch):
    model, X, y = local
    path = tmp_path / "r.html"
    with pytest.raises(FileNotFoundError, match="is not there; make it first"):
        write_report(model, tmp_path / "missing" / "r.html")
    with pytest.raises(TypeError, match=r"must be an estimator of localmkl, .* got StandardScaler"):
        write_report(StandardScaler().fit(X), path)
    with pytest.raises(ValueError, match="`y` was given without `X`"):
        write_report(model, path, y=y)
    with pytest.raises(ValueError, match="one target for each of 300 rows, got 2"):
        write_report(model, path, X=X, y=y[:2])
    with pytest.raises(ValueError, match="`names` must hold 300 texts, got 1"):
        write_report(model, path, X=X, names=["a"])
    with pytest.raises(ValueError, match=r"the 100 rows that the model was trained on, .* got 3 rows"):
        write_report(model, path, X=X, y=y, train=(X[:3], y[:3]))
    with pytest.raises(ValueError, match="one target for each row, got an array of shape"):
        write_report(model, path, X=X, y=y[:, None])
    search = GridSearchCV(MKLClassifier(), {"C": [1.0, 2.0]}, cv=2, refit=False).fit(X[:40], y[:40])
    with pytest.raises(ValueError, match="search with refit=True"):
        write_report(search, path)
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)
    with pytest.raises(ImportError, match=r"needs vl_convert, .* install the extra `localmkl\[report\]`"):
        write_report(model, path)
    assert not path.exists()


def test_the_vectorised_metrics_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    rows = rng.integers(50, size=(4, 50))
    labels, guesses = rng.integers(3, size=(2, 50))
    decisions, targets = rng.normal(size=50).round(1), rng.normal(size=50)
    for k, own in enumerate(rows):
        expected = metrics.roc_auc_score(labels[own] == 1, decisions[own])
        assert auc(labels, decisions, guesses, rows)[k] == pytest.approx(expected)
        expected = metrics.balanced_accuracy_score(labels[own], guesses[own])
        assert balanced_accuracy(labels, decisions, guesses, rows)[k] == pytest.approx(expected)
        expected = metrics.r2_score(targets[own], decisions[own])
        assert r2(targets, decisions, decisions, rows)[k] == pytest.approx(expected)
        expected = metrics.root_mean_squared_error(targets[own], decisions[own])
        assert rmse(targets, decisions, decisions, rows)[k] == pytest.approx(expected)


def test_the_main_metric_is_that_of_the_search(local, tmp_path):
    _, X, y = local
    assert choose_metrics(0, "neg_mean_absolute_error")[0].name == "mean absolute error"
    assert choose_metrics(3, "roc_auc_ovr")[0].name == "accuracy"
    kernels = [Linear(), RBF()]  # with one, UNIF would be the same
    search = GridSearchCV(MKLClassifier(kernels), {"C": [0.1, 1.0]}, cv=2, scoring="roc_auc").fit(
        X[:80], y[:80]
    )
    train = X[:80], y[:80]
    page = Page(write_report(search, tmp_path / "r.html", X=X[80:140], y=y[80:140], train=train))
    area = metrics.roc_auc_score(y[80:140], search.decision_function(X[80:140]))
    assert (
        f"On 60 samples it has not seen, MKL has an AUC of {area:.3f}, equal kernel weights (UNIF)"
        in page.text
    )
    assert f"The AUC of MKL is {area:.3f}; that of one guess for all samples is 0.500." in page.text


def test_a_method_that_predicts_one_class_is_named(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.repeat([0, 1], [50, 10])
    model = MKLClassifier([RBF()], C=1e-3).fit(X[::2], y[::2])
    page = Page(write_report(model, tmp_path / "r.html", X=X[1::2], y=y[1::2]))
    assert "MKL predicts one class for all samples" in page.text


def test_sentences_follow_the_numbers():
    pytest.importorskip("altair")
    from localmkl.report.sections.bound import bound_text
    from localmkl.report.sections.memberships import memberships_text
    from localmkl.report.sections.positions import positions_text
    from localmkl.report.sections.weights import weights_text

    names, columns = ["a", "b", "c"], ["cluster 1", "cluster 2"]
    shares = np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]])
    text = weights_text(shares, names, columns).replace(SPACE, " ")
    assert text == (
        "Cluster 1 relies most on a (90 %) and cluster 2 relies most on b (80 %); an even share would be 33 "
        "%. Between the two that differ most, 70 % of the weight moves to other kernels. 1 kernel of 3 gets "
        "no weight anywhere."
    )
    alike = np.array([[0.5, 0.3, 0.2], [0.52, 0.28, 0.2]])
    assert "They hardly differ" in weights_text(alike, names, columns)
    even = weights_text(np.full((1, 4), 0.25), ["a", "b", "c", "d"], ["all"]).replace(SPACE, " ")
    assert even == "All 4 kernels weigh the same, 25 % each."
    memberships = np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]])
    assert "2 samples in cluster 1 and 1 sample in cluster 2" in memberships_text(memberships)
    spread = np.array([[0.0, 4.0, 4.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0, 0.0]])
    text = positions_text(spread, columns)
    assert (
        "in cluster 1 position 2 counts most, and half of the importance lies in positions 2 to 2"
        in text.lower()
    )
    assert "2.0 times as much as in cluster 2" in text
    parts = {"training loss": 0.1, "confidence": 0.2, "complexity": 0.3, "sum": 0.6}
    assert "At most 60 % of new samples" in bound_text(parts, True).replace(SPACE, " ")
    assert "nothing is guaranteed" in bound_text({**parts, "sum": 1.6}, True)


def _report(model, folder, **given):
    return Page(write_report(model, folder / "r.html", **given))


@pytest.fixture(scope="module")
def small():
    """A model of two clusters and two kernels, its training rows and new ones."""
    X, y = make_localized(70, random_state=0)[:2]
    model = CLMKLClassifier([RBF(), Linear()], n_clusters=2, evenness=0.7, random_state=0).fit(X[:40], y[:40])
    return model, X, y


@pytest.mark.parametrize("n_rows", [1, 2])
def test_a_row_or_two_get_numbers_without_intervals_and_no_claims(small, tmp_path, n_rows):
    model, X, y = small
    rows = slice(40, 40 + n_rows)
    page = _report(model, tmp_path, X=X[rows], y=y[rows], train=(X[:40], y[:40]))
    assert "fewer than 6 samples do not tell chance from the rest" in page.text
    assert not re.search(r"worse by|better by|interval [0-9]|\bnan\b", page.text)
    assert ("There is no AUC: it needs samples of both classes." in page.text) == (n_rows == 1)


def test_rows_of_one_class_have_no_roc_curve_and_absent_classes_are_named(small, tmp_path):
    model, X, y = small
    own = np.flatnonzero(y == 1)[-12:]
    page = _report(model, tmp_path, X=X[own], y=y[own])
    assert "All samples are of class 1" in page.text
    assert "There is no sample of class -1: nothing is said about that." in page.text
    assert "roc" not in page.data["charts"]
    assert "predicts one class for all samples" not in page.text  # that is right here


@pytest.mark.parametrize(
    "model, said",
    [
        (
            CLMKLClassifier([RBF(), Linear()], evenness=1.0, n_clusters=2, scale_C=False),
            "the model is MKL, with C times 0.5",
        ),
        (CLMKLClassifier([RBF(), Linear()], shared=1.0), "MKL is not compared: all is shared; the model is"),
        (HLMKLClassifier([RBF(), Linear()], n_clusters=1), "MKL is not compared: with one cluster"),
        (MKLClassifier([RBF()]), "UNIF is not compared: with one kernel there are no weights to learn"),
        (MKLClassifier([RBF(), Linear()], p=np.inf), "at p = infinity all kernels weigh the same"),
    ],
    ids=["evenness 1", "all shared", "one cluster", "one kernel", "infinite norm"],
)
def test_a_baseline_that_is_the_model_by_construction_is_not_compared(small, tmp_path, model, said):
    _, X, y = small
    page = _report(model.fit(X[:40], y[:40]), tmp_path, X=X[40:], y=y[40:], train=(X[:40], y[:40]))
    assert said in page.text
    assert "Quality by main cluster" not in page.text
    assert "Who belongs to which cluster" not in page.text
    assert ("clusters: these are the same by construction" in page.text) == ("C times" in said)


@pytest.mark.parametrize("scale_C, C", [(False, 1.0), (True, 3.0)])
def test_the_other_baseline_of_clusters_alike_has_the_strength_of_the_model(small, scale_C, C):
    _, X, y = small
    model = CLMKLClassifier(
        [RBF(), Linear()], C=3.0, evenness=1.0, n_clusters=3, p=np.inf, scale_C=scale_C, random_state=0
    )
    found = assess(Subject(model.fit(X[:40], y[:40]), X[40:], y[40:], train=(X[:40], y[:40])))
    assert list(found.twins) == ["MKL", "UNIF"]
    same = UniformMKLClassifier([RBF(), Linear()], C=C, scale_C=scale_C).fit(X[:40], y[:40])
    np.testing.assert_allclose(found.model.decisions, same.decision_function(X[40:]), atol=1e-2)
    model = model.set_params(p=1.0).fit(X[:40], y[:40])
    found = assess(Subject(model, X[40:], y[40:], train=(X[:40], y[:40])))
    np.testing.assert_allclose(found.baselines["UNIF"].decisions, same.decision_function(X[40:]), atol=1e-2)


def test_better_and_worse_follow_from_differences_beyond_chance_and_rounding(small):
    from localmkl.report.sections.quality import comparison_text

    model, X, y = small
    found = assess(Subject(model, X[40:], y[40:], train=(X[:40], y[:40])))
    rival = found.baselines["UNIF"]

    def told(value, low, high, verdict, n_apart=20):
        scores = {**rival.scores, "accuracy": Score(found.score - value, 0.0, 1.0)}
        behind = Score(value, low, high)
        other = replace(rival, scores=scores, behind=behind, verdict=verdict, n_apart=n_apart)
        return comparison_text(replace(found, methods={**found.methods, "UNIF": other}), "UNIF")

    assert told(0.2, 0.1, 0.3, 1) == "UNIF is worse by 20.0 points (95 % interval 10.0 to 30.0 points)."
    assert told(-0.2, -0.3, -0.1, -1) == "UNIF is better by 20.0 points (95 % interval 10.0 to 30.0 points)."
    assert told(1e-5, 9e-6, 1.1e-5, 0) == "UNIF has the same accuracy."
    assert "UNIF is not clearly different, behind by 20.0 points" in told(0.2, -0.1, 0.3, 0)
    assert "not clearly different, ahead by 20.0 points" in told(-0.2, -0.3, -0.1, 0, n_apart=3)
    rmse_metric = choose_metrics(0)[0]
    assert rmse_metric.same(1e-8, 1.0005e-8)
    assert not rmse_metric.same(1e-8, 1.1e-8)


def test_five_samples_that_differ_are_no_difference_and_six_are(small):
    X, y = small[1][:20], np.array([0, 1] * 10)
    model = MKLClassifier([Linear()]).fit(X, y)
    for n_wrong, verdict in ((5, 0), (6, 1)):
        right = 2.0 * y - 1.0
        wrong = np.where(np.arange(20) < n_wrong, -right, right)
        found = {"CLMKL": (right, 0.0, None), "MKL": (wrong, 0.0, None)}
        rival = quality._judge(Subject(model), "held-out", X, y, found).baselines["MKL"]
        assert rival.behind.low > 0.0  # by the bootstrap alone both would count
        assert (rival.n_apart, rival.verdict) == (n_wrong, verdict)


def test_parts_differ_only_where_dealing_the_rows_at_random_does_not_do_the_same():
    rng = np.random.default_rng(0)
    parts = np.split(np.arange(90), [30, 60])
    values = rng.normal(size=90)
    values[60:] += 2.0
    assert differs_between(lambda rows: values[rows].mean(axis=1), parts, 0)
    chance = rng.normal(size=(40, 90))
    found = [differs_between(lambda rows, v=v: v[rows].mean(axis=1), parts, 0) for v in chance]
    assert sum(found) <= 6  # 5 % of 40 are 2
    assert not differs_between(lambda rows: values[rows].mean(axis=1), [np.array([0]), np.array([70])], 0)


def test_labels_that_the_model_does_not_know_are_left_out_and_named(small, tmp_path):
    model, X, y = small
    strange = np.where(np.arange(70) % 3 == 0, 7, y)
    page = _report(model, tmp_path, X=X[40:], y=strange[40:])
    n_strange = int((strange[40:] == 7).sum())
    assert f"{n_strange} samples have labels that the model does not know (7) and are left out." in page.text
    assert f"Measured on held-out data: {30 - n_strange} samples" in page.text
    legend = next(mode["legend"] for mode in page.data["modes"] if mode["mode"] == "target")
    assert [entry["label"] for entry in legend] == ["-1", "1", "not known to the model"]
    page = _report(model, tmp_path, X=X[40:], y=np.full(30, "</p>?"))
    assert (
        "no sample has a label that the model knows (it knows -1 and 1, the samples have '</p>?')"
        in page.text
    )


def test_why_there_is_no_cross_validation_or_one_with_fewer_folds(small, tmp_path):
    X = small[1][:20]
    for counts, said in (
        ([10, 9, 1], "There is no cross-validation: class 2 has only 1 training sample."),
        ([10, 8, 2], "There are not more folds because class 2 has only 2 training samples."),
    ):
        y = np.repeat([0, 1, 2], counts)
        page = _report(MKLClassifier([Linear()]).fit(X, y), tmp_path, X=X, y=y)
        assert said in page.text
    y = np.repeat([0, 1], 2)
    model = HLMKLClassifier([Linear()], n_clusters=3, random_state=0).fit(X[:4], y)
    page = _report(model, tmp_path, X=X[:4], y=y)
    assert "There is no cross-validation: without a fold, the model cannot be fitted" in page.text
    repeated = _report(model, tmp_path, X=np.repeat(X[:1], 4, axis=0), y=y)
    assert "Cross-validated" not in repeated.text  # seen, as many, but not the training rows


def test_a_model_that_did_not_converge_says_so_first(small, tmp_path):
    _, X, y = small
    model = CLMKLClassifier([RBF(), Linear()], n_clusters=2, max_iter=1, tol=1e-12, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X[:40], y[:40])
    page = _report(model, tmp_path, X=X[:40], y=y[:40], cv=2)  # the fits of the folds warn no one: it is said
    heading = page.text.partition("What was done")[0]
    assert f"The model did not converge: its duality gap is {model.duality_gap_:.1e}" in heading
    assert ", not converged" in heading
    assert re.search(r"\d fits for this comparison did not converge", page.text)
    assert "and not reached" in page.text


def test_gram_models_alone_say_what_is_missing(small, tmp_path):
    X, y = small[1][:30], small[2][:30]
    page = _report(MKLClassifier("precomputed").fit(GramStack([X @ X.T]), y), tmp_path)
    assert "a model of Gram matrices keeps none of them. Give the report the Grams" in page.text


def test_regression_on_equal_targets_and_on_one_row(small, tmp_path):
    X = small[1]
    model = CLMKLRegressor([RBF(), Linear()], n_clusters=2, random_state=0).fit(X[:30], np.ones(30))
    page = _report(model, tmp_path, X=X[:30], y=np.ones(30), cv=2)
    assert "There is no R2: it needs targets that differ." in page.text
    assert "Nothing is bounded: all training targets are equal." in page.text
    assert "No training sample became a support vector" in page.text
    page = _report(model, tmp_path, X=X[30:31], y=[0.5])
    assert "The prediction is off by 0.5." in page.text
    assert not re.search(r"\bnan\b", page.text)


def test_enormous_numbers_stay_short_and_what_is_no_number_is_refused(small, tmp_path):
    model, X, _ = small
    y = 1e300 * X[:, 0]
    page = _report(MKLRegressor([RBF(), Linear()]).fit(X[:40], y[:40]), tmp_path, X=X[40:], y=y[40:])
    assert "e+300" in page.text
    assert not re.search(r"\d{12}|\d,\d{3},\d{3},\d{3},|\bnan\b|infinity", page.text)
    assert _report(model, tmp_path, X=1e300 * X[40:]).data["charts"]["map"]
    with pytest.raises(ValueError, match="The decision on row 0 is not a finite number"):
        _report(MKLClassifier([Linear()]).fit(X[:40], small[2][:40]), tmp_path, X=np.full((2, 24), 1e308))


def test_any_name_can_be_drawn_and_written(small, tmp_path):
    import vl_convert

    names = ["a\u2028b", "a\u2028b", "</script>", "nobody\udcff", "'+alert(1)+'", "\U0001f9ec"]
    X, codes = small[1], np.arange(70) % 6
    model = MKLClassifier([Linear(columns=[k]) for k in range(6)]).fit(
        X[:40], np.array([*names[1:], "z"])[codes[:40]]
    )
    page = _report(model, tmp_path, kernel_names=names, title=names[3])
    assert page.texts[0] == r"nobody\udcff"
    weights = page.data["charts"]["weights"]
    assert len({row["y"] for row in weights["data"]["values"]}) == 6  # equal names are told apart
    for spec in (weights, page.data["charts"]["class-weights"]):
        text = json.dumps({**spec, "width": 300}).replace("\\udcff", "?")
        assert "<svg" in vl_convert.vegalite_to_svg(json.loads(text))


def test_a_score_that_guessing_reaches_is_said_to_be_no_better(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.repeat([0, 1], [54, 6])
    page = _report(MKLClassifier([RBF()], C=1e-3).fit(X, y), tmp_path, X=X, y=y, cv=2)
    heading = page.text.partition("What was done")[0]
    assert "MKL is not clearly better than always guessing the most frequent class (90.0 %)." in heading
    assert "weigh rare classes more" in page.text


def test_a_search_without_scores_or_without_differences_says_so():
    from localmkl.report.sections.tuning import tuning_text

    scores, spread = np.array([0.9, 0.9, np.nan]), np.array([0.1, 0.1, np.nan])
    text = tuning_text({"C": 1.0}, scores, spread, 0, 2)
    assert text == (
        "Of 3 candidates in 2 folds, C = 1 was chosen: 0.900 like all others. 1 candidate could not be "
        "scored."
    )
    assert "none could be compared" in tuning_text({}, np.full(2, np.nan), np.full(2, np.nan), 0, 2)


def test_a_choice_that_is_not_the_best_is_not_called_so():
    from localmkl.report.sections.tuning import tuning_text

    scores, spread = np.array([0.9, 0.8, 0.91]), np.full(3, 0.05)
    text = tuning_text({"shared": 1.0}, scores, spread, 0, 3)
    assert "shared = 1 was chosen (the best has 0.910): 0.900" in text
    assert "shared = 0 did best: 0.910" in tuning_text({"shared": 0.0}, scores, spread, 2, 3)


def test_a_choice_at_an_end_of_what_was_tried_is_said():
    from localmkl.report.sections.tuning import edge_text

    tried = [{"C": 1.0}, {"C": 10.0}, {"C": 100.0}]
    search = SimpleNamespace(cv_results_={"params": tried}, best_params_=tried[2])
    assert edge_text(search) == " C = 100 is the largest tried: there may be better values beyond."
    search.best_params_ = tried[1]
    assert edge_text(search) == ""


def test_thirty_classes_and_fifty_kernels_keep_the_page_moderate(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(260, 50)), np.arange(260) % 30
    model = UniformMKLClassifier([Linear(columns=[k]) for k in range(50)]).fit(X[:60], y[:60])
    path = write_report(model, tmp_path / "r.html", X=X[60:], y=y[60:])
    assert "(0, 1, 2, 3, 4, 5, 6 and others)" in Page(path).text
    assert path.stat().st_size < 3_000_000


def test_wrong_columns_are_said_in_one_sentence(small, tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(small[1][:, :3], columns=["a", "b", "c"])
    model = MKLClassifier([Linear()]).fit(frame[:40], small[2][:40])
    with pytest.raises(ValueError, match=r"columns of the fit in their order, a, b, c, got a, b\.$"):
        _report(model, tmp_path, X=frame[["a", "b"]])


def _colors():
    """Return the colours of the page by name, for day and night."""
    css = files("localmkl.report").joinpath("page", "page.css").read_text()
    pairs = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", css)
    return {name: (day, night) for name, day, night in pairs}


def _contrast(one, other):
    """Return the contrast ratio of two colours as WCAG defines it."""

    def luminance(color):
        channels = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["day", "night"])
def test_text_and_marks_have_enough_contrast(theme):
    colors = {name: pair[theme] for name, pair in _colors().items()}
    for ink in ("ink", "soft", "accent"):
        for ground in ("paper", "raised"):
            assert _contrast(colors[ink], colors[ground]) >= 4.5
    assert _contrast(colors["on-accent"], colors["accent"]) >= 4.5
    for number in range(1, 9):
        assert _contrast(colors[f"group-{number}"], colors["paper"]) >= 3.0


def test_report_and_plots_share_a_palette():
    colors = _colors()
    assert tuple(colors[f"group-{number}"][0] for number in range(1, 9)) == PALETTE


class Cosh(Smooth):
    """log cosh(y - f): a loss of another package."""

    def value(self, scores, y):
        return np.logaddexp(y - scores, scores - y) - np.log(2.0)

    def slope(self, scores, y):
        return np.tanh(scores - y)

    def curvature(self, scores, y):
        return 1.0 - np.tanh(scores - y) ** 2

    def box(self, y, C):
        return -C, C.copy()

    def dual_terms(self, alpha, y, C):
        t = np.clip(alpha / C, -1.0 + 1e-15, 1.0 - 1e-15)
        return y * alpha - C * (t * np.arctanh(t) + 0.5 * np.log1p(-(t**2)))


class OwnRegressor(MKLRegressor):
    """A class of another package."""


SAID = {
    "squared_hinge": "Nothing is bounded: the theorem needs a loss whose slopes are, and those of",
    "log_loss": "Reliability: held-out probabilities of class 1",
    "squared_error": "those of squared_error are not",
    "huber": "clipped at the range of y times the largest slope of the loss, 0.1",
    "quantile": "; 90.0 % was asked for.",
    "Cosh": "a loss of its own",
}


@pytest.mark.parametrize("loss", [*CLASSIFICATION, *REGRESSION, "Cosh"])
def test_models_of_every_loss_are_reported_in_sentences_that_are_true_of_it(loss, tmp_path):
    regression = loss not in CLASSIFICATION
    X, y = make_localized(60, regression=regression, random_state=0)[:2]
    if loss == "Cosh":
        model = OwnRegressor(loss=Cosh())
    elif regression:
        model = MKLRegressor(loss=loss, quantile=0.9)
    else:
        model = MKLClassifier(loss=loss)
    model.fit(X[:30], y[:30])
    train = X[:30], y[:30]
    page = Page(write_report(model, tmp_path / "r.html", X=X[30:], y=y[30:], train=train, baselines=False))
    assert page.texts[page.texts.index("loss") + 1] == loss
    assert SAID.get(loss, "A theorem bounds the loss") in page.text
    assert ("Reliability" in page.text) == (loss == "log_loss")
    assert ("pinball loss" in page.text) == (loss == "quantile")


def test_probabilities_beside_the_shares_of_the_classes_and_never_on_training_data(splice, tmp_path):
    X, y = splice
    model = MKLClassifier([WeightedDegree(2)], loss="log_loss").fit(X, y)
    found = assess(Subject(model, X, y), cv=3, baselines=False)
    shares = np.full((len(y), 3), 1 / 3)
    assert found.floors["log loss"] == pytest.approx(metrics.log_loss(y, shares))
    assert found.floors["Brier score"] == pytest.approx(metrics.brier_score_loss(y, shares))
    page = Page(write_report(model, tmp_path / "r.html", X=X, y=y, cv=3, baselines=False))
    assert "Reliability: cross-validated probabilities of the predicted class" in page.text
    assert (
        "giving all samples the shares of the classes has log loss 1.099 and Brier score 0.667" in page.text
    )
    page = Page(write_report(model, tmp_path / "r.html", X=X, y=y, cv=0, baselines=False))
    assert "reliability" not in page.data["charts"]
    assert "there is no reliability diagram" in page.text


def test_baselines_of_a_search_over_losses_have_the_loss_of_the_model():
    X, y = make_localized(60, random_state=0)[:2]
    grid = {"loss": ["hinge", "log_loss"], "C": [1.0]}
    search = GridSearchCV(CLMKLClassifier(random_state=0), grid, scoring="accuracy", cv=2).fit(X, y)
    for loss in grid["loss"]:
        search.best_estimator_ = search.best_estimator_.set_params(loss=loss).fit(X, y)
        subject = Subject(search, X, y)
        assert baseline(subject, "MKL").loss == loss


def test_metrics_of_probabilities_and_quantiles_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y, rows = rng.integers(2, size=50), rng.integers(50, size=(3, 50))
    decisions = rng.normal(size=50)
    chances = 1 / (1 + np.exp(-decisions))
    expected = [metrics.log_loss(y[one], chances[one]) for one in rows]
    np.testing.assert_allclose(log_loss(y, decisions, None, rows), expected)
    expected = [metrics.brier_score_loss(y[one], chances[one]) for one in rows]
    np.testing.assert_allclose(brier(y, decisions, None, rows), expected)
    guesses, targets = rng.normal(size=(2, 50))
    expected = [metrics.mean_pinball_loss(targets[one], guesses[one], alpha=0.8) for one in rows]
    np.testing.assert_allclose(pinball(targets, guesses, guesses, rows, quantile=0.8), expected)
