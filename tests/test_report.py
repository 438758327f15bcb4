"""The report: figures that scikit-learn confirms, sentences that follow from them, one safe file."""

import ast
import json
import os
import re
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn import metrics
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import localmkl.report
from localmkl import CLMKLClassifier, GramStack, LMKLClassifier, MKLClassifier, MKLRegressor, Views
from localmkl.datasets import load_splice, make_localized
from localmkl.inference import stability
from localmkl.inference.heldout import HeldOut, held_out
from localmkl.kernels import Linear, WeightedDegree
from localmkl.model_selection import MKLSearchCV
from localmkl.plots.canvas import PALETTE
from localmkl.report import write_report
from localmkl.report.drawing import steps
from localmkl.report.metrics import (
    Calibration,
    at_threshold,
    calibration_of,
    calibration_verdict,
    net_benefit,
)
from localmkl.report.recognised import seen
from localmkl.report.sections import first_screen
from localmkl.report.subject import Subject

SPACE = "\N{NO-BREAK SPACE}"
EVIL = "</script><script>alert('x')</script><b>&amp;"


class Page(HTMLParser):
    """The text of a page, of its sections and tables, its data, and what it would load."""

    def __init__(self, path):
        super().__init__()
        self.html = path.read_text(encoding="utf-8")
        self.text, self.sections, self.rows, self.loads, self.data = "", {}, [], [], None
        self._inside, self._section = [], None
        self.feed(self.html)
        assert not self._inside

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "section":
            self._section = given["id"]
            self.sections[self._section] = ""
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        loads = given.get("src") or given.get("href", "#")
        self.loads += [loads] if not loads.startswith("#") else []
        if tag not in ("meta", "input", "br"):
            self._inside.append(tag)

    def handle_endtag(self, tag):
        assert self._inside.pop() == tag
        self._section = None if tag == "section" else self._section

    def handle_data(self, data):
        where = self._inside[-1] if self._inside else ""
        if where == "script" and data.startswith("{"):
            self.data = json.loads(data)
        elif where not in ("script", "style"):
            data = data.replace(SPACE, " ")
            self.text += data if where in ("b", "i", "span") else f" {data}"
            if self._section:
                self.sections[self._section] += f" {data}"
            if any(tag in self._inside for tag in ("td", "th")):
                self.rows[-1][-1] += data

    def row(self, first, width=None):
        """Return the first row of a table that begins with a text."""
        return next(row for row in self.rows if row[0] == first and width in (None, len(row)))


def page_of(model, folder, *rows, **options):
    return Page(write_report(model, folder / "page.html", *rows, **{"cv": 3, "stability": 0, **options}))


@pytest.fixture(scope="module")
def table():
    """A table of two classes, 140 rows with names, whose first columns matter."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(140, 4)), columns=["age", "crp", "bmi", "noise"])
    y = np.where(X["age"] + 0.8 * X["crp"] + rng.normal(size=140) > 0.5, "readmitted", "home")
    return X, y


@pytest.fixture(scope="module")
def model(table):
    X, y = table
    return MKLClassifier([Linear(columns=[name]) for name in X], loss="log_loss", C=1.0).fit(X, y)


@pytest.fixture(scope="module")
def hospitals():
    """Three hospitals, one of them small; a column matters in one of them alone."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(190, 3)), columns=["age", "creatinine", "noise"])
    X["hospital"] = np.repeat(["Basel", "Lyon", "Graz"], [80, 80, 30])
    own = np.where(X["hospital"] == "Basel", 2.5 * X["creatinine"], 0.0)
    y = np.where(X["age"] + own + 0.5 * rng.normal(size=190) > 0, "yes", "no")
    kernels = [Linear(columns=[name]) for name in ("age", "creatinine", "noise")]
    model = CLMKLClassifier(kernels, gate="groups", groups="hospital", shared=0.5, loss="log_loss", p=1)
    return model.fit(X, y), X, y


def test_every_figure_of_two_classes_agrees_with_scikit_learn(table, model, tmp_path):
    X, y = table
    page, held = page_of(model, tmp_path, X, y), held_out(model, X, y, n_folds=3)
    truth, given = held.y == "readmitted", held.probabilities()
    auc = f"{metrics.roc_auc_score(truth, given):.2f}"
    assert page.row("this model")[1] == auc
    assert f"reaches an AUC of {auc} on rows held out" in page.text
    assert f"AUC {auc} 95 % interval" in " ".join(page.text.split())
    rival = held.rivals["logistic regression"]
    assert page.row("logistic regression")[1] == f"{metrics.roc_auc_score(truth, rival):.2f}"
    tn, fp, fn, tp = metrics.confusion_matrix(truth, given >= 0.5).ravel()
    assert page.row("truly readmitted")[1:] == [str(tp), str(fn)]
    assert page.row("truly home")[1:] == [str(fp), str(tn)]
    shares = tp / (tp + fn), tn / (tn + fp), tp / (tp + fp), tn / (tn + fn)
    assert page.rows[page.rows.index(["sensitivity", "specificity", "PPV", "NPV"]) + 1] == [
        f"{100 * share:.0f} %" for share in shares
    ]
    np.testing.assert_allclose(page.data["scores"], given, atol=1e-5)
    assert page.data["truth"] == truth.astype(int).tolist()
    assert page.row("readmitted")[1:] == [str(truth.sum()), f"{100 * truth.mean():.1f} %"]


def test_the_calibration_is_that_of_a_logistic_regression_on_the_log_odds():
    rng = np.random.default_rng(0)
    given = expit(2.0 * rng.normal(size=400))
    truth = rng.random(400) < expit(0.6 * logit(given) + 0.3)
    found, odds = calibration_of(given, truth), logit(given)
    outside = LogisticRegression(C=np.inf, tol=1e-10).fit(odds[:, None], truth)
    assert found.slope[0] == pytest.approx(outside.coef_[0, 0], abs=1e-4)
    chance = outside.predict_proba(odds[:, None])[:, 1]
    design = np.column_stack([np.ones(400), odds])
    error = np.sqrt(np.linalg.inv(design.T @ (design * (chance * (1 - chance))[:, None]))[1, 1])
    assert found.slope[2] - found.slope[0] == pytest.approx(norm.ppf(0.975) * error, abs=1e-4)
    level = brentq(lambda shift: expit(odds + shift).sum() - truth.sum(), -5, 5)
    assert found.intercept[0] == pytest.approx(level, abs=1e-6)
    assert calibration_verdict(found) == "Predicted probabilities are too extreme."


def test_net_benefit_and_thresholds_follow_their_formulas():
    rng = np.random.default_rng(0)
    given, truth = rng.random(200), rng.random(200) < 0.4
    tn, fp, fn, tp = metrics.confusion_matrix(truth, given >= 0.3).ravel()
    assert net_benefit(given, truth, np.array([0.3]))[0] == pytest.approx(tp / 200 - fp / 200 * 0.3 / 0.7)
    found = at_threshold(given, truth, 0.3)
    assert (found["tp"], found["fp"], found["fn"], found["tn"]) == (tp, fp, fn, tn)
    assert found["sensitivity"] == metrics.recall_score(truth, given >= 0.3)
    assert found["PPV"] == metrics.precision_score(truth, given >= 0.3)
    assert np.isnan(at_threshold(given, truth, 2.0)["PPV"])


def test_what_the_first_screen_calls_sure_is_sure_and_pale_cells_are_not(hospitals, tmp_path):
    model, X, y = hospitals
    page, matters = page_of(model, tmp_path, X, y), held_out(model, X, y, n_folds=3).matters()
    sure = {(one.part, one.kernel): one for one in matters if one.sure}
    assert ("Basel", "creatinine") in sure
    assert "In Basel: creatinine" in page.text
    assert "noise" not in page.text.partition(" 95 % interval")[0]
    unsure = {one.part for one in matters} - {part for part, _ in sure}
    assert all(re.search(f"{part}[^.]*: not sure[.]", page.text, re.IGNORECASE) for part in unsure)
    assert (": not sure." in page.text) == bool(unsure)
    first = page.html.partition("<nav")[0]
    cells = re.findall(r'<td style="[^"]*"( class="\w+")?>', first)
    drawn = {one.kernel for one in matters if one.share >= 0.005}
    assert len(cells) == sum(one.kernel in drawn for one in matters)
    assert sum("pale" not in kind for kind in cells) == len(sure)


def test_groups_are_compared_one_by_one_and_small_ones_are_named(hospitals, tmp_path):
    model, X, y = hospitals
    page, held = page_of(model, tmp_path, X, y), held_out(model, X, y, n_folds=3)
    for group in ("Basel", "Lyon", "Graz"):
        own = held.groups == group
        shown = page.row(group, width=4)
        for cell, values in zip(
            shown[1:],
            (held.decisions, held.rivals["one model for all"], held.rivals["separate models"]),
            strict=True,
        ):
            area = metrics.roc_auc_score(held.y[own] == "yes", values[own])
            assert cell.startswith((f"{area:.2f}", f"{area:.3f}"))
        events = [int((held.y[own] == label).sum()) for label in ("no", "yes")]
        assert any(
            row[:2] == [group, str(own.sum())] and row[2].startswith(str(events[0])) for row in page.rows
        )
    assert "Figures of small groups are uncertain: Graz (30 rows" in page.text
    assert "better than one model for all" in page.sections["groups"]
    assert "clusters" not in page.sections


def test_the_record_of_a_model_is_shown_and_nothing_is_fitted_again(table, model, tmp_path, monkeypatch):
    X, y = table
    held = held_out(model, X, y, n_folds=4)
    recorded = MKLClassifier(model.kernels, loss="log_loss", C=1.0).fit(X, y)
    recorded.made_ = {
        "file": "some/where/patients.csv",
        "target": "outcome",
        "positive": "home",
        "names": np.array([f"P{i}" for i in range(len(y))]),
        "names_column": "patient",
        "y": y,
        "held_out": held.record(),
        "filled": {"bmi": [14, 0.25], "crp": [6, 0.5], "age": [0, 0.0]},
        "left_out": {"room": "one value alone"},
        "seconds": 1.5,
    }
    monkeypatch.setattr(MKLClassifier, "fit", None)
    page = page_of(recorded, tmp_path, stability=None)
    assert page.html.count("<h1>patients.csv: home or readmitted</h1>") == 1
    assert held.how in page.sections["quality"]
    assert page.row("this model")[1] == f"{metrics.roc_auc_score(y == 'readmitted', held.decisions):.2f}"
    np.testing.assert_allclose(page.data["scores"], 1.0 - held.probabilities(), atol=1e-5)
    assert page.data["truth"] == (y == "home").astype(int).tolist()
    assert "lowers the odds" in page.text  # of home
    assert "20 gaps in 2 columns were filled: bmi (14, by 0.25) and crp (6, by 0.5)." in page.text
    assert page.row("room") == ["room", "one value alone"]
    worst = np.argmax(np.where(y == "readmitted", -1, 1) * held.decisions)
    assert page.data["rows"][0][0] == f"P{worst}"
    assert page.rows[page.rows.index(["patient", "predicted", "true"]) + 1][0] == f"P{worst}"
    moved = held.contributions[worst, 0].sum(axis=0)
    assert dict(page.data["rows"][0][4])[int(np.argmax(np.abs(moved)))] == pytest.approx(
        -moved[np.argmax(np.abs(moved))], rel=1e-2
    )


def test_new_rows_are_judged_by_the_model_itself_and_training_rows_are_left_out(table, tmp_path):
    X, y = table
    model = MKLClassifier([Linear()], loss="log_loss").fit(X[:90], y[:90])
    strange = y[80:].astype(object)
    strange[-1] = "lost"
    page = page_of(model, tmp_path, X[80:], strange, train=(X[:90], y[:90]), names=list(range(80, 140)))
    chance = model.predict_proba(X[90:139])[:, 1]
    area = metrics.roc_auc_score(y[90:139] == "readmitted", chance)
    assert page.row("this model")[1] in (f"{area:.2f}", f"{area:.3f}")
    assert "on rows it was not trained on" in page.text
    assert "10 training rows among these rows were left out." in page.text
    assert "the model does not know were left out: lost." in page.text
    assert page.row("logistic regression")[1]
    assert {name for name, *_ in page.data["rows"]} == {str(i) for i in range(90, 139)}
    assert seen(model, X[80:]).tolist() == [True] * 10 + [False] * 50


def test_training_rows_are_cross_validated_never_just_scored(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 30)), rng.permutation(np.repeat([0, 1], 30))
    model = MKLClassifier([Linear()], C=1e4).fit(X, y)
    assert model.score(X, y) == 1.0
    page = page_of(model, tmp_path, X, y)
    assert float(page.row("this model")[1]) < 0.75
    assert "This loss gives decisions, not probabilities." in page.text
    assert "Calibration" not in page.sections["quality"]
    assert "Decision curve" not in page.sections["quality"]


def test_a_regression_has_errors_and_no_classes(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = 3.0 * X[:, 0] + rng.normal(size=90)
    model = make_pipeline(StandardScaler(), MKLRegressor([Linear()])).fit(X, y)
    page = page_of(model, tmp_path, X, y)
    inner = StandardScaler().fit_transform(X)
    held = held_out(model[-1], inner, y, n_folds=3)
    assert page.row("this model")[1] == f"{metrics.r2_score(y, held.decisions):.2f}"
    assert "The steps before the model were fitted on all rows." in page.sections["quality"]
    rmse = metrics.root_mean_squared_error(y, held.decisions)
    assert page.row("RMSE")[1] in (f"{rmse:.3f}", f"{rmse:.3g}")
    mae = metrics.mean_absolute_error(y, held.decisions)
    assert page.row("mean absolute error")[1] in (f"{mae:.3f}", f"{mae:.3g}")
    assert "sensitivity" not in page.text
    assert "scores" not in page.data


def test_a_class_of_one_row_rules_out_cross_validation(table, tmp_path):
    X, y = table[0], np.append(table[1][:-1], "lost")
    page = page_of(MKLClassifier([Linear()]).fit(X, y), tmp_path, X, y)
    assert "was not cross-validated. `y` must have two rows of each class" in page.text
    assert "quality" not in page.sections


def test_rows_that_define_no_score_say_what_is_needed(table, model, tmp_path):
    X, y = table[0] + 0.01, table[1]
    page = page_of(model, tmp_path, X[y == "home"], y[y == "home"])
    assert "cannot be measured: AUC needs rows of both classes." in page.text
    assert "All rows are of one class" in page.sections["quality"]


def test_several_classes_have_a_confusion_and_a_search_its_candidates(tmp_path):
    X, y, _ = load_splice()
    chosen = np.concatenate([np.flatnonzero(y == label)[:30] for label in ("EI", "IE", "N")])
    X, y = X[chosen], y[chosen]
    search = MKLSearchCV(MKLClassifier([WeightedDegree(2)]), {"C": [0.1, 1.0]}, cv=3).fit(X, y)
    page, held = page_of(search, tmp_path, X, y), held_out(search, X, y, n_folds=3)
    recall = metrics.recall_score(held.y, held.predicted(), average=None)
    for label, share in zip(("EI", "IE", "N"), recall, strict=True):
        assert page.row(label, width=5)[2] == f"{100 * share:.0f} %"
    accuracy = metrics.accuracy_score(held.y, held.predicted())
    assert page.row("this model")[1] == f"{100 * accuracy:.1f} %"
    scores = search.cv_results_["mean_test_score"]
    best = page.rows[page.rows.index(["", "C", "mean score", "standard deviation"]) + 1]
    assert best[2] == f"{scores.max():.3f}"


def test_sequences_show_the_positions_that_matter_first(tmp_path):
    X, y, _ = load_splice("EI")
    chosen = np.concatenate([np.flatnonzero(y == 1)[:60], np.flatnonzero(y == -1)[:60]])
    X, y = X[chosen], np.where(y[chosen] == 1, "donor", "an other")
    model = MKLClassifier([WeightedDegree(d) for d in (1, 3)], loss="log_loss").fit(X, y)
    model.made_ = {"positive": "donor"}
    page = page_of(model, tmp_path, X, y)
    first = page.text.partition("How good is it?")[0]
    position = int(re.search(r"Position (\d+) counts most", first)[1])
    assert 29 <= position <= 36
    assert re.search(r"G at 31.* T at 32", first)
    assert page.html.count('class="letter"') > 50
    assert page.html.count("Sequence logo for donor") == 2  # title, and the words for those who do not see it


def test_rows_that_lack_views_are_counted_and_scored_by_what_they_have(tmp_path):
    X, y = make_localized(160, random_state=0)[:2]
    there = np.arange(160) % 4 != 0
    views = Views({"rna": X[:, :10], "sites": (X[there, 10:], there)})
    model = MKLClassifier([Linear(view="rna"), Linear(view="sites")], loss="log_loss").fit(views, y)
    page, held = page_of(model, tmp_path, views, y), held_out(model, views, y, n_folds=3)
    assert page.row("sites", width=3)[1:] == ["120", "75 %"]
    own = metrics.roc_auc_score(held.y[~there] == 1, held.decisions[~there])
    assert page.row("rna", width=4)[1:3] == ["40", f"{own:.2f}"]
    whole = held.effects().within[0, 0]
    assert page.row("rna", width=2)[1] == f"{100 * whole[0]:.0f} %"


def test_discovered_clusters_say_whether_they_come_back(tmp_path):
    X, y, _, views = make_localized(150, random_state=0)
    kernels = [Linear(columns=view) for view in views]
    model = CLMKLClassifier(kernels, gate_kernel=0, evenness=0.4, p=1, random_state=0).fit(X, y)
    page = page_of(model, tmp_path, X, y, stability=20)
    found = stability(model, X, y, n_resamples=20, random_state=0)
    for name, jaccard in zip(found.clusters, found.jaccard, strict=True):
        assert page.row(name, width=5)[4].endswith(f"(Jaccard {jaccard:.2f})")
    assert page.html.count("<title>row ") == 150  # the map
    assert "groups" not in page.sections
    assert "Refits on halves" in page.sections["made"]


def test_sections_that_say_nothing_are_absent(table, model, tmp_path):
    X, y = table
    assert list(page_of(model, tmp_path).sections) == ["data", "made"]
    assert "How good the model is on new rows is not known." in page_of(model, tmp_path).text
    whole = page_of(model, tmp_path, X, y)
    assert list(whole.sections) == ["quality", "matters", "rows", "data", "made"]
    assert "Theory" not in whole.text  # the bound is above one
    grams = GramStack([X.to_numpy() @ X.to_numpy().T])
    assert (
        "Without logistic regression"
        in page_of(MKLClassifier("precomputed").fit(grams, y), tmp_path, grams, y).text
    )


def test_grams_are_told_from_new_ones(table, tmp_path):
    X, y = table[0].to_numpy(), table[1]
    stack, known, new = GramStack([X @ X.T, (X @ X.T) ** 2]), np.arange(90), np.arange(90, 140)
    model = MKLClassifier("precomputed", loss="log_loss").fit(stack[np.ix_(known, known)], y[known])
    area = metrics.roc_auc_score(y[new] == "readmitted", model.decision_function(stack[np.ix_(new, known)]))
    page = page_of(model, tmp_path, stack[np.ix_(new, known)], y[new])
    assert page.row("this model")[1] in (f"{area:.2f}", f"{area:.3f}")
    page = page_of(model, tmp_path, train=(stack[np.ix_(known, known)], y[known]))
    assert "held out from training" in page.text
    assert "Without logistic regression" in page.text


def test_a_model_that_is_not_convex_is_not_called_certified(table, tmp_path):
    X, y = table
    page = page_of(LMKLClassifier([Linear()], random_state=0).fit(X, y), tmp_path, X, y)
    assert "certified no many local solutions" in " ".join(page.text.split())


@pytest.mark.parametrize(("line", "said"), [((0.5, 0.3, 0.7), "extreme"), ((2.0, 1.5, 2.5), "cautious")])
def test_the_verdict_on_calibration_follows_the_interval(line, said):
    assert said in calibration_verdict(Calibration(line, (0.0, -1.0, 1.0)))
    chance = Calibration((line[0], 0.0, 3.0), (0.0, -1.0, 1.0))
    assert "within chance" in calibration_verdict(chance)


def test_titles_name_file_and_target_and_no_method(table, model):
    subject = Subject(model, *table, cv=0)
    assert first_screen.title_of(subject) == "Readmitted or home"
    subject.made = {"file": "a/b.csv", "target": "risk"}
    assert first_screen.title_of(subject) == "b.csv: readmitted or home"


def test_names_cannot_break_out_of_the_page(table, tmp_path):
    X, y = table[0].rename(columns={"age": EVIL}), np.where(table[1] == "home", "<i>yes</i>", 'no & "no"')
    X["place"] = np.where(np.arange(140) % 2, EVIL, "<img src=x onerror=alert(1)>")
    kernels = [Linear(columns=[name]) for name in (EVIL, "crp")]
    model = CLMKLClassifier(kernels, gate="groups", groups="place", loss="log_loss").fit(X, y)
    model.made_ = {"file": EVIL, "target": EVIL, "left_out": {EVIL: EVIL}, "names_column": EVIL}
    page = page_of(model, tmp_path, X, y, names=[EVIL] * 140)  # every element is closed
    assert page.html.count("<script") == 2
    for markup in ("<i>yes", "<img", "<b>&"):
        assert markup not in page.html
    assert page.data["rows"][0][0] == EVIL


def test_the_page_loads_nothing_and_tells_the_browser_so(table, model, tmp_path):
    page = page_of(model, tmp_path, *table)
    assert page.loads == []
    assert "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'" in page.html
    assert not re.search(r"https?://|@import|url\(", page.html)
    assert len(page.html) < 200_000
    images = re.findall(r'<svg [^>]*aria-label="([^"]+)"', page.html)
    assert len(images) == page.html.count("<svg ") > 4


def test_a_failed_report_leaves_the_old_file_and_nothing_else(model, tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("old")

    def full_disk(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_report(model, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_mistakes_are_refused_in_one_sentence(table, model, tmp_path):
    X, y = table
    for message, options in {
        "`y` must have one entry for each of 140 rows, got 3.": {"X": X, "y": y[:3]},
        "`names` must have one entry for each of 140 rows, got 1.": {"X": X, "y": y, "names": ["a"]},
        "`X` must have the columns of the fit in their order, age, crp, bmi, noise, got age, crp.": {
            "X": X[["age", "crp"]]
        },
        "`X` must hold at least one row, got none.": {"X": X[:0]},
        "`train` must be the 140 rows of the fit with their targets, got 3 rows.": {"train": (X[:3], y[:3])},
        "`stability` must be 0, or an even number from 20 on, got 7.": {"stability": 7},
        "`cv` must be": {"cv": -1},
    }.items():
        with pytest.raises(ValueError, match=re.escape(message)):
            page_of(model, tmp_path, **options)
    with pytest.raises(TypeError, match="must be an estimator of localmkl"):
        page_of(LogisticRegression().fit(X, y), tmp_path)


def test_names_of_files_that_are_no_text_are_written_by_their_numbers(table, tmp_path):
    X, y = table
    model = MKLClassifier([Linear()]).fit(X, y)
    model.made_ = {"file": "nobody\udcff.csv"}
    assert "nobody\\udcff.csv" in page_of(model, tmp_path).html


def test_nothing_private_of_other_packages_is_used():
    for path in Path(localmkl.report.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Attribute)
                and node.attr.startswith("_")
                and not node.attr.startswith("__")
            ):
                assert isinstance(node.value, ast.Name), (path.name, node.attr)
                assert node.value.id in ("self", "plot"), (path.name, node.attr)
            if isinstance(node, ast.ImportFrom):
                assert not any(name.name.startswith("_") for name in node.names), path.name


def test_axes_have_round_steps_inside_their_ends():
    for low, high in ((0.0, 1.0), (-0.013, 0.021), (1e5, 3e6), (3.0, 3.0 + 1e-9)):
        found = steps(low, high)
        assert 2 <= len(found) <= 8
        assert low - 1e-9 * abs(low) <= found[0] <= found[-1] <= high + 1e-9 * abs(high)


def _colors():
    css = files("localmkl.report").joinpath("page.css").read_text()
    return {name: pair for name, *pair in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", css)}


def _contrast(one, other):
    """Return the contrast ratio of two colours as WCAG defines it."""

    def luminance(color):
        channels = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["day", "night"])
def test_text_and_marks_have_enough_contrast_and_the_colours_of_plots(theme):
    colors = {name: pair[theme] for name, pair in _colors().items()}
    for ink in ("ink", "soft", "accent"):
        for ground in ("paper", "raised"):
            assert _contrast(colors[ink], colors[ground]) >= 4.5
    assert _contrast(colors["on-accent"], colors["accent"]) >= 4.5
    groups = [colors[f"group-{number}"] for number in range(1, 9)]
    assert min(_contrast(color, colors["paper"]) for color in groups) >= 3.0
    assert theme == 1 or tuple(groups) == PALETTE


def test_a_record_makes_the_same_answers_again(table, model):
    held = held_out(model, *table, n_folds=3)
    assert HeldOut.of(held.record()).score() == held.score()
