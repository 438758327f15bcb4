"""Reports on models with known groups and shared parts."""

from html import unescape

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from localmkl import (
    CLMKLClassifier,
    CLMKLRegressor,
    GramStack,
    HLMKLClassifier,
    HLMKLRegressor,
    MKLClassifier,
    UniformMKLClassifier,
)
from localmkl.cli.tell import describe_model
from localmkl.datasets import make_localized
from localmkl.estimators.groups import Grouped
from localmkl.kernels import RBF, Linear, WeightedDegree
from localmkl.model_selection import MKLSearchCV
from localmkl.report import write_report
from localmkl.report.quality import assess
from localmkl.report.refits import SEPARATE, UNSHARED
from localmkl.report.subject import Subject
from localmkl.report.within import within_groups

for extra in ("altair", "vl_convert", "jinja2"):
    pytest.importorskip(extra, reason=f"the report needs {extra}, the extra localmkl[report]")

KERNELS = [Linear(), RBF()]


@pytest.fixture(scope="module")
def data():
    X, y = make_localized(240, random_state=0)[:2]
    return X, y, np.array(["human", "mouse", "plant"])[np.arange(240) % 3]


@pytest.fixture(scope="module")
def model(data):
    X, y, groups = data
    return HLMKLClassifier(KERNELS, gate="groups", shared=0.6).fit(X[:120], y[:120], groups=groups[:120])


def text_of(path):
    return unescape(path.read_text(encoding="utf-8")).replace("\N{NO-BREAK SPACE}", " ")


def test_quality_within_groups_is_that_of_models_fitted_by_hand(data, model):
    X, y, groups = data
    train, test = slice(0, 120), slice(120, 240)
    subject = Subject(model, X[test], y[test], train=(X[train], y[train], groups[train]), groups=groups[test])
    found = assess(subject)
    within = within_groups(subject, found)
    assert within.groups == ["human", "mouse", "plant"]
    rivals = {
        "HLMKL": model.decision_function(X[test], groups=groups[test]),
        "MKL": MKLClassifier(KERNELS).fit(X[train], y[train]).decision_function(X[test]),
        "UNIF": UniformMKLClassifier(KERNELS).fit(X[train], y[train]).decision_function(X[test]),
        UNSHARED: HLMKLClassifier(KERNELS, gate="groups")
        .fit(X[train], y[train], groups=groups[train])
        .decision_function(X[test], groups=groups[test]),
        SEPARATE: np.empty(120),
    }
    for group in within.groups:
        own, new = groups[train] == group, groups[test] == group
        alone = MKLClassifier(KERNELS).fit(X[train][own], y[train][own])
        rivals[SEPARATE][new] = alone.decision_function(X[test][new])
    assert set(rivals) == set(within.means["AUC"])
    for name, decisions in rivals.items():
        every = [
            (
                roc_auc_score(y[test][groups[test] == group], decisions[groups[test] == group]),
                accuracy_score(y[test][groups[test] == group], np.sign(decisions[groups[test] == group])),
            )
            for group in within.groups
        ]
        got = within.scores["AUC"][name], within.scores["accuracy"][name]
        np.testing.assert_allclose([[one.value for one in column] for column in got], np.transpose(every))
        mean = within.means["accuracy"][name]
        assert mean.low < mean.value < mean.high
        if name != "HLMKL":
            ahead = within.means["accuracy"]["HLMKL"].value - mean.value
            assert within.behind[name].value == pytest.approx(ahead)


def test_a_report_on_groups_names_them_and_what_is_shared(data, model, tmp_path):
    X, y, groups = data
    path = write_report(model, tmp_path / "r.html", X=X[:120].tolist(), y=y[:120], groups=groups[:120], cv=3)
    text = text_of(path)
    assert "Cross-validated on the training data: 120 samples in 3 folds" in text
    assert "for each of 3 known groups (human, mouse and plant), beside weights of a part that all" in text
    assert "Within 3 groups, HLMKL has a mean accuracy of" in text
    for sentence in ("One model for all (MKL)", "Separate models", "0.6 (this model)", "0 (nothing)"):
        assert sentence in text
    assert "The shared part relies most on" in text
    assert "There are 120 samples: 40 of human, 40 of mouse and 40 of plant." in text
    assert '"regions":["shared","human","mouse","plant"]' in text
    assert "cluster 1" not in text


def test_groups_that_are_new_have_a_row_of_their_own(data, model, tmp_path):
    X, y, groups = data
    others = np.where(np.arange(60) < 20, "zebra", groups[120:180])
    train = Grouped(X[:120], groups[:120]), y[:120]
    with pytest.warns(UserWarning, match="not seen") as caught:
        path = write_report(
            model, tmp_path / "r.html", X=X[120:180], y=y[120:180], groups=others, train=train
        )
    assert len(caught) == 1
    text = text_of(path)
    assert "zebra (20)" in text
    assert "There is no separate model for zebra: new to the model." in text
    assert "mean of human, mouse and plant" in text


def test_groups_without_a_class_have_no_separate_model_and_no_crash(data, tmp_path):
    X, y, groups = data
    groups = np.where((np.arange(240) < 30) & (y == 1), "single", groups)[:90]
    model = HLMKLClassifier(KERNELS, gate="groups", shared=0.5).fit(X[:90], y[:90], groups=groups)
    path = write_report(model, tmp_path / "r.html", X=X[:90], y=y[:90], groups=groups, cv=3)
    assert "no separate model for single: training rows of every class are missing." in text_of(path)


@pytest.mark.parametrize("kind", ["frame", "Grams", "search", "pipeline", "grid", "all shared"])
def test_models_of_groups_are_cross_validated_whatever_their_rows(data, kind, tmp_path):
    X, y, groups = (part[:60] for part in data)
    wanted = HLMKLClassifier(KERNELS, gate="groups", shared=0.5, tol=1e-2)
    given = {"X": X, "y": y, "groups": groups}
    if kind == "frame":
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(X).add_prefix("c").assign(organism=groups)
        model, given = wanted.set_params(groups="organism").fit(frame, y), {"X": frame, "y": y}
    elif kind == "Grams":
        given["X"] = stack = GramStack([X @ X.T, (X @ X.T) ** 2])
        model = wanted.set_params(kernels="precomputed").fit(stack, y, groups=groups)
    elif kind == "search":
        search = MKLSearchCV(wanted, {"C": [1.0, 10.0], "shared": [0.5, 0.9]}, cv=GroupKFold(3))
        model = search.fit(X, y, groups=groups)
    elif kind == "pipeline":
        steps = make_pipeline(StandardScaler(), wanted)
        model = steps.fit(X, y, hlmklclassifier__groups=groups)
    elif kind == "grid":
        model = GridSearchCV(wanted, {"C": [1.0, 10.0]}, cv=2).fit(Grouped(X, groups.astype(object)), y)
    else:
        model = wanted.set_params(shared=1.0).fit(X, y, groups=groups)
    text = text_of(write_report(model, tmp_path / "r.html", **given, cv=2))
    assert "Cross-validated on the training data: 60 samples in 2 folds" in text
    assert f"Within 3 groups, {'MKL' if kind == 'all shared' else 'HLMKL'} has" in text
    assert ("MKL is not compared: all is shared" in text) == (kind == "all shared")
    assert ("as in the model; those of MKL are chosen anew" in text) == (kind in ("search", "grid"))


def test_shared_parts_beside_clusters_are_named_and_are_no_main_cluster(tmp_path):
    X, y = make_localized(80, regression=True, random_state=0)[:2]
    model = CLMKLRegressor(KERNELS, shared=0.7, n_clusters=2, random_state=0).fit(X, y)
    subject = Subject(model, X, y)
    assert subject.clusters == ["cluster 1", "cluster 2"]
    np.testing.assert_array_equal(subject.main, model.memberships(X)[:, 1:].argmax(axis=1))
    text = text_of(write_report(model, tmp_path / "r.html", X=X, y=y, cv=0))
    assert "The shared part relies most on" in text
    assert "By 70 % all belong to the shared part" in text
    record, told = describe_model(subject)
    assert record["clusters"] == ["shared", "cluster 1", "cluster 2"]
    assert sum(record["cluster_sizes"][1:]) == pytest.approx(1.0, abs=1e-5)
    assert "\nshared     " in told


def test_sequences_of_groups_have_positions_and_a_regression_has_errors_by_group(data, tmp_path):
    X, _, groups = (part[:60] for part in data)
    groups = np.where(np.arange(60) == 7, "rare", groups)
    sequences = ["".join("ACGT"[int(abs(9 * value)) % 4] for value in row[:8]) for row in X]
    kernels = [WeightedDegree(1), WeightedDegree(2)]
    model = HLMKLRegressor(kernels, gate="groups", shared=0.3).fit(sequences, X[:, 0], groups=groups)
    path = write_report(model, tmp_path / "r.html", X=sequences, y=X[:, 0], groups=groups, cv=2)
    text = text_of(path)
    assert "in mouse position" in text
    assert "HLMKL has a mean RMSE of" in text
    assert "There is no separate model for rare: too few training rows." in text


def test_what_a_report_on_groups_lacks_is_said(data, model, tmp_path):
    X, y, groups = data
    with pytest.raises(ValueError, match="`groups` must name the group of each row for gate='groups'"):
        write_report(model, tmp_path / "r.html", X=X, y=y)
    with pytest.raises(ValueError, match=r"`train=\(X, y, groups\)` must name the group of each row"):
        Subject(model, X, y, train=(X[:120], y[:120]), groups=groups)
    with pytest.raises(ValueError, match="`groups` was given without `X`"):
        Subject(model, groups=groups)
    plain = CLMKLClassifier(KERNELS, random_state=0).fit(X[:40], y[:40])
    assert Subject(plain, X, y).noun == "cluster"
