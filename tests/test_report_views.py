"""Reports on models whose rows are views that some samples lack."""

import re
from html import unescape

import numpy as np
import pytest
from sklearn.metrics import accuracy_score
from sklearn.pipeline import make_pipeline

from localmkl import CLMKLClassifier, MKLClassifier, MKLRegressor, UniformMKLClassifier, Views, load, save
from localmkl.kernels import RBF, Linear, Overlap, WeightedDegree
from localmkl.model_selection import MKLSearchCV
from localmkl.report import write_report
from localmkl.report.patterns import by_pattern, lost, patterns
from localmkl.report.quality import assess
from localmkl.report.refits import COMPLETE
from localmkl.report.subject import Subject

for extra in ("altair", "vl_convert", "jinja2", "pandas"):
    pytest.importorskip(extra, reason=f"the report of views needs {extra}")

RNG = np.random.default_rng(0)
N = 180
RNA, CLINIC = RNG.normal(size=(N, 3)), RNG.normal(size=(N, 2))
SITE = np.where(RNG.random(N) < 0.5, "colon", "lung").astype(object)
TARGET = RNA[:, 0] + CLINIC[:, 0] + 0.3 * RNG.normal(size=N)
Y = np.where(TARGET > 0.0, "ill", "well")
LACKS = RNG.permutation(N).reshape(6, -1)[:2]
HAS_RNA, HAS_CLINIC = (~np.isin(np.arange(N), rows) for rows in LACKS)
VIEWS = Views({"rna": (RNA[HAS_RNA], HAS_RNA), "clinic": (CLINIC[HAS_CLINIC], HAS_CLINIC), "site": SITE})
KERNELS = [Linear(view="rna"), RBF(view="rna"), Linear(view="clinic"), Overlap(view="site")]
TRAIN, TEST = slice(0, 90), slice(90, N)


def text_of(path):
    text = unescape(path.read_text(encoding="utf-8")).replace("\N{NO-BREAK SPACE}", " ")
    return re.sub("<script.*?</script>", "", text, flags=re.DOTALL)


def section(text):
    """Return the paragraphs and cells of the section on views."""
    return re.search('<section id="views".*?</section>', text, re.DOTALL).group(0)


def test_quality_by_pattern_and_of_complete_samples_is_that_of_models_fitted_by_hand():
    model = MKLClassifier(KERNELS).fit(VIEWS[TRAIN], Y[TRAIN])
    subject = Subject(model, VIEWS[TEST], Y[TEST], train=(VIEWS[TRAIN], Y[TRAIN]))
    found = assess(subject, baselines=True)
    parts, whole = by_pattern(subject, found), HAS_RNA & HAS_CLINIC
    assert parts.names[0] == "all views"
    assert set(parts.names[1:]) == {"clinic + site, no rna", "rna + site, no clinic"}
    kept = np.flatnonzero(whole[TRAIN])
    alone = MKLClassifier(KERNELS).fit(VIEWS[kept], Y[kept])
    for name, mask in (("all views", whole), ("clinic + site, no rna", ~HAS_RNA)):
        own, place = VIEWS[TEST][mask[TEST]], parts.names.index(name)
        assert parts.sizes[place] == len(own)
        for method, fitted in ((subject.method, model), (COMPLETE, alone)):
            score = parts.scores["accuracy"][method][place]
            assert score.value == pytest.approx(accuracy_score(Y[TEST][mask[TEST]], fitted.predict(own)))
            assert score.low <= score.value <= score.high
    result = lost(subject, found)
    difference = model.score(VIEWS[TEST], Y[TEST]) - alone.score(VIEWS[TEST], Y[TEST])
    assert result.behind.value == pytest.approx(difference)
    assert (result.n_rows, result.behind.low <= difference <= result.behind.high) == (90, True)


def test_small_patterns_are_joined():
    present = np.ones((60, 3), dtype=bool)
    present[:12, 0] = present[12:15, 1] = present[15:17, 2] = False
    sizes = {name: len(rows) for name, rows in patterns(present, ["a", "b", "c"]).items()}
    assert sizes == {"all views": 43, "b + c, no a": 12, "2 other patterns": 5}
    present[15:17, 2] = True
    assert patterns(present, ["a", "b", "c"])["a + c, no b"].tolist() == [12, 13, 14]


def test_the_page_says_who_has_which_view_and_what_dropping_samples_costs(tmp_path):
    model = CLMKLClassifier(KERNELS, n_clusters=2, random_state=0).fit(VIEWS, Y)
    save(model, tmp_path / "model.localmkl")
    loaded = load(tmp_path / "model.localmkl")
    text = text_of(write_report(loaded, tmp_path / "report.html", X=VIEWS, y=Y, cv=2))
    own = section(text)
    assert "Of 180 training samples, 120 (67 %) have all 3 views" in own
    assert "150 of 180 (83 %)" in own
    assert "Dropping incomplete samples would cost 60 of 180 training samples (33 %)." in own
    assert re.search(r"trained in each fold on complete samples alone (is|has)", own)
    assert re.search(r"rna \+ site, no clinic \(30\)", own)
    assert "Share of each view, the sum of its kernels" in text
    assert "described by 3 views (rna, clinic and site)" in text
    assert "rna Linear" in text
    assert "; lacks clinic" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_nothing_is_said_of_missing_views_where_none_is_missing(tmp_path):
    full = {"rna": RNA, "site": SITE}
    model = UniformMKLClassifier([KERNELS[0], KERNELS[3]]).fit(full, Y)
    text = text_of(write_report(model, tmp_path / "report.html", X=full, y=Y, cv=2))
    assert "Every sample has both views that the kernels read: nothing is missing." in section(text)
    assert "<table" not in section(text)
    assert "Share of each view" not in text
    assert COMPLETE not in assess(Subject(model, full, Y), cv=2).others
    plain = UniformMKLClassifier([Linear()]).fit(RNA, Y)
    assert 'id="views"' not in text_of(write_report(plain, tmp_path / "plain.html", X=RNA, y=Y, cv=2))


def test_reports_of_few_complete_samples_and_without_training_data_say_what_is_not_known(tmp_path):
    half = np.arange(N) < 90
    nobody = Views({"rna": (RNA[half], half), "clinic": (CLINIC[~half], ~half)})
    model = MKLRegressor(KERNELS[:3]).fit(nobody, TARGET)
    text = section(text_of(write_report(model, tmp_path / "report.html", X=nobody, y=TARGET, cv=2)))
    assert "No model can be trained on the other 0: these are too few samples." in text
    features = MKLClassifier(KERNELS, n_components=20, random_state=0).fit(VIEWS[TRAIN], Y[TRAIN])
    path = tmp_path / "features.html"
    text = section(text_of(write_report(features, path, X=VIEWS[TEST], y=Y[TEST], baselines=False)))
    assert "Of 90 new samples" in text
    assert "training samples" not in text
    kept = MKLClassifier(KERNELS).fit(VIEWS[TRAIN], Y[TRAIN])
    text = section(text_of(write_report(kept, path, X=VIEWS[TEST], y=Y[TEST])))
    assert "What this would lose is not known: that needs the training data." in text


def test_searches_pipelines_groups_and_sequences_on_views_have_reports(tmp_path):
    path = tmp_path / "report.html"
    search = MKLSearchCV(MKLClassifier(KERNELS), {"C": [0.3, 3.0]}, cv=2).fit(VIEWS, Y)
    pipeline = make_pipeline(MKLClassifier(KERNELS)).fit(VIEWS, Y)
    for model in (search, pipeline):
        text = text_of(write_report(model, path, X=VIEWS, y=Y, cv=2, baselines=False))
        assert "would cost 60 of 180" in section(text)
        assert "not asked for" in section(text)
    reads = np.array(["".join(RNG.choice(list("ACGT"), 5)) for _ in range(N)], dtype=object)
    rows = {"reads": (reads[HAS_RNA], HAS_RNA), "clinic": CLINIC, "site": SITE}
    kernels = [WeightedDegree(2, view="reads"), Linear(view="clinic")]
    grouped = CLMKLClassifier(kernels, gate="groups", groups="site", shared=0.5).fit(rows, Y)
    text = text_of(write_report(grouped, path, X=rows, y=Y, cv=2))
    assert "Importance of positions in view reads" in text
    assert "Quality by group" in text
    assert "have both views" in section(text)


def only(views, *names):
    """Return views of which all samples lack all but some."""
    return Views({name: views.tables[name] if name in names else None for name in views.names}, len(views))


def test_training_rows_that_come_with_fewer_views_are_not_held_out(tmp_path):
    whole = Views({"rna": RNA, "clinic": CLINIC, "site": SITE})
    model = MKLClassifier(KERNELS).fit(whole[TRAIN], Y[TRAIN])
    both = np.arange(80, 100)
    for names in (("rna",), ("rna", "site"), ("clinic",)):
        found = Subject(model, only(whole, *names)[both], Y[both])
        np.testing.assert_array_equal(found.seen, both < 90)
        assert not found.doubtful.any()
        assert assess(found).n_seen == 10
    found = assess(Subject(model, only(whole, "rna")[TRAIN], Y[TRAIN]), cv=2)
    assert found.kind == "training"  # without a view they are not what the model was trained on
    given = {"X": only(whole, "rna")[TRAIN], "y": Y[TRAIN], "train": (whole[TRAIN], Y[TRAIN])}
    assert assess(Subject(model, **given), cv=2).kind == "cross-validated"


def test_a_training_row_that_has_a_view_more_may_be_one():
    model = MKLClassifier(KERNELS).fit(VIEWS[TRAIN], Y[TRAIN])
    whole = Views({"rna": RNA, "clinic": CLINIC, "site": SITE})
    found = Subject(model, whole, Y)
    lacked = ~(HAS_RNA & HAS_CLINIC)[TRAIN]
    np.testing.assert_array_equal(found.seen, np.arange(N) < 90)
    np.testing.assert_array_equal(found.doubtful[TRAIN], lacked)


def test_rows_that_few_values_do_not_tell_from_training_rows_are_never_called_new(tmp_path):
    whole = Views({"rna": RNA, "clinic": CLINIC, "site": SITE})
    model = MKLClassifier(KERNELS).fit(whole[TRAIN], Y[TRAIN])
    for rows in (TRAIN, TEST):
        given = {"X": only(whole, "site")[rows], "y": Y[rows]}
        assert Subject(model, **given).doubtful.all()
        text = text_of(write_report(model, tmp_path / "r.html", **given))
        assert "Measured on 90 samples, none surely new (90 cannot be told from training rows" in text
        assert "eld-out" not in text
        text = text_of(
            write_report(model, tmp_path / "r.html", **given, train=(whole[TRAIN], Y[TRAIN]), cv=2)
        )
        assert "The rows given are not used, because none is surely new: 90 rows cannot be told" in text
        assert "eld-out" not in text
    sites = SITE.copy()
    sites[100:110] = "breast"
    found = Subject(model, only(Views({"rna": RNA, "clinic": CLINIC, "site": sites}), "site"), Y)
    np.testing.assert_array_equal(np.flatnonzero(~found.seen), np.arange(100, 110))
    text = text_of(write_report(model, tmp_path / "r.html", X=found.X, y=Y))
    assert "Measured on held-out data: 10 samples" in text
    assert "Left out, too: 170 rows that cannot be told from training rows by names and values." in text


def test_names_tell_where_values_do_not():
    whole = Views({"rna": RNA, "clinic": CLINIC, "site": SITE})
    model = MKLClassifier(KERNELS).fit(whole[TRAIN], Y[TRAIN])
    names = np.array([f"p{i}" for i in range(N)], dtype=object)
    model.made_ = {"names": names[TRAIN], "kind": "views"}
    both = np.arange(80, 100)
    found = Subject(model, only(whole, "site")[both], Y[both], names=names[both])
    np.testing.assert_array_equal(found.seen, both < 90)
    assert not found.doubtful.any()
    other = Views({"rna": RNA + 1e-3, "clinic": CLINIC, "site": SITE})  # as if rounded
    found = Subject(model, only(other, "rna")[both], Y[both], names=names[both])
    np.testing.assert_array_equal(found.doubtful, both < 90)
    strange = Subject(model, only(whole, "site")[both], Y[both], names=[f"q{i}" for i in both])
    assert strange.doubtful.all()  # the same samples may be called by other names
    late = Views({"rna": (RNA[90:150], range(60)), "clinic": None, "site": SITE[90:]}, N - 90)
    found = Subject(model, late, Y[90:], names=[f"q{i}" for i in range(90)])
    assert not found.seen.any()  # most are new by their values, and all by their names
