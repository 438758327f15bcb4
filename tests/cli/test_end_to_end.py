"""Fit, predict, report, info and tune on tables, FASTA and Gram files."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import brier_score_loss, log_loss, mean_pinball_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import localmkl
from localmkl.kernels import Linear, Spectrum, WeightedDegree

N_TRAIN, N_ALL = 90, 130  # of the files in conftest
TIGHT = ("--tol", 1e-12)
VIEWS = "linear each=" + ",".join(f"view{j}_*" for j in range(6))


def check_sums(frame, scores):
    """Contributions and the intercept are the score of the predicted class."""
    parts = frame[[name for name in frame if name.startswith("contribution_")]]
    np.testing.assert_allclose(parts.sum(axis=1) + frame["intercept"], scores, atol=1e-9)


def test_a_table_from_fit_to_report(call, table, localized):
    options = (
        "--target",
        "state",
        "--names",
        "id",
        "--kernels",
        VIEWS,
        "--gate",
        1,
        "--evenness",
        0.4,
        "--p",
        "4/3",
    )
    said = call("fit", table.train, *options, "--out", "m.localmkl", *TIGHT)
    assert "certified" in said.out
    assert "CLMKL, classification of sick, well" in said.out
    assert "linear view0_*" in said.out
    said = call("predict", "m.localmkl", table.test, "--out", "p.csv")
    assert "accuracy" in said.err
    frame = pd.read_csv("p.csv")
    assert frame["name"].tolist() == [f"patient {i}" for i in range(N_TRAIN, N_ALL)]
    np.testing.assert_allclose(frame[[f"membership_{j}" for j in (1, 2, 3)]].sum(axis=1), 1.0)
    check_sums(frame, frame["score"])

    # The same in Python, where standardising is spelled out.
    X = localized.X
    X = (X - X[:N_TRAIN].mean(axis=0)) / X[:N_TRAIN].std(axis=0)
    model = localmkl.CLMKLClassifier(
        [Linear(columns=view) for view in localized.views],
        gate_kernel=0,
        evenness=0.4,
        tol=1e-12,
        random_state=0,
    ).fit(X[:N_TRAIN], localized.y[:N_TRAIN])
    # "sick" is +1 there and, as the first of two texts, the negative side here.
    np.testing.assert_allclose(frame["score"], -model.decision_function(X[N_TRAIN:]), atol=1e-5)
    assert frame["label"].tolist() == np.where(model.predict(X[N_TRAIN:]) > 0, "sick", "well").tolist()

    assert call("predict", "m.localmkl", table.new).out.splitlines()[1].startswith("patient 90,")
    records = call("predict", "m.localmkl", table.new, "--json").json()
    assert [record["label"] for record in records] == frame["label"].tolist()
    page = call("report", "m.localmkl", "--out", "r.html", "--title", "My patients", "--folds", 2)
    text = (page.path / "r.html").read_text(encoding="utf-8")
    assert "My patients" in text
    assert "cross-validated" in text
    assert "patient 3" in text
    assert "model trained on" in text
    assert "train.csv" in text
    call("report", "m.localmkl", table.test, "--out", "held.html", "--no-baselines")
    assert "held-out" in (page.path / "held.html").read_text(encoding="utf-8")


def test_fasta_from_fit_to_report(call, fasta):
    said = call("fit", fasta.train, "--C", 10, "--out", "m.localmkl")
    assert "Kernels: wd:1-8; wd:4,8 shift=5; spectrum:4-6 (dna)." in said.err
    said = call("predict", "m.localmkl", fasta.new, "--labels", fasta.labels, "--out", "p.csv")
    assert "accuracy" in said.err
    frame = pd.read_csv("p.csv")
    scores = frame[["score_EI", "score_IE", "score_N"]].to_numpy()
    assert frame["label"].tolist() == np.array(["EI", "IE", "N"])[scores.argmax(axis=1)].tolist()
    check_sums(frame, scores.max(axis=1))
    data = localmkl.datasets.read_fasta(fasta.train, labels="header")
    kernels = [WeightedDegree(d) for d in range(1, 9)] + [WeightedDegree(d, shift=5) for d in (4, 8)]
    kernels += [Spectrum(k) for k in (4, 5, 6)]
    model = localmkl.CLMKLClassifier(kernels, C=10, random_state=0)
    model.fit(data.sequences, data.y)
    new = localmkl.datasets.read_fasta(fasta.new).sequences
    np.testing.assert_allclose(scores, model.decision_function(new), atol=1e-9)
    call("report", "m.localmkl", "--out", "r.html", "--folds", 0)
    assert "<svg" in (fasta.train.parent / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["all", "cross", "npy"])
def test_grams_from_fit_to_report(call, grams, localized, kind):
    if kind == "npy":
        call("fit", grams.train, "--labels", grams.labels, "--out", "m.localmkl", *TIGHT)
    else:
        rows = f"0:{N_TRAIN}"
        call("fit", grams.all, "--target", "disease", "--rows", rows, "--out", "m.localmkl", *TIGHT)
    call("predict", "m.localmkl", grams.all if kind == "all" else grams.cross, "--out", "p.csv")
    frame = pd.read_csv("p.csv")
    model = localmkl.CLMKLClassifier(
        [Linear(columns=view) for view in localized.views], tol=1e-10, random_state=0
    )
    model.fit(localized.X[:N_TRAIN], localized.y[:N_TRAIN])
    np.testing.assert_allclose(frame["score"], model.decision_function(localized.X[N_TRAIN:]), atol=1e-5)
    if kind == "all":
        assert frame["name"][0] == f"row {N_TRAIN}"
        call("report", "m.localmkl", grams.all, "--out", "r.html")
        text = (grams.all.parent / "r.html").read_text(encoding="utf-8")
        assert "held-out" in text
        assert "UNIF" in text
    else:
        call("report", "m.localmkl", "--out", "r.html")


def test_regression_predicts_numbers(call, table, patients):
    call("fit", table.train, "--target", "view0_0", "--regression", "--method", "mkl", "--epsilon", 0.2)
    said = call("predict", "model.localmkl", table.test, "--out", "p.csv")
    assert "R2" in said.err
    frame = pd.read_csv("p.csv")
    assert list(frame)[:3] == ["name", "prediction", "intercept"]
    check_sums(frame, frame["prediction"])
    assert np.corrcoef(frame["prediction"], patients["view0_0"][N_TRAIN:])[0, 1] > 0.0
    call("report", "model.localmkl", "--out", "r.html", "--folds", 2)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_from_fit_to_report(call, table, fasta, patients, n_classes):
    if n_classes == 2:
        train, new, options, labels = table.train, table.test, ("--target", "state", "--kernels", VIEWS), ()
        rows, truth = patients[N_TRAIN:], patients["state"][N_TRAIN:]
    else:
        train, new, options, labels = fasta.train, fasta.new, (), ("--labels", fasta.labels)
        rows = localmkl.datasets.read_fasta(new).sequences
        truth = pd.read_csv(fasta.labels, sep="\t", header=None)[1]
    said = call("fit", train, *options, "--loss", "log_loss")
    assert "parameters loss log_loss, C 3" in said.out
    scores = call("predict", "model.localmkl", new, *labels, "--out", "p.csv", "--json").json()
    frame, model = pd.read_csv("p.csv"), localmkl.load("model.localmkl")
    chances = frame[[f"probability_{label}" for label in model.classes_]].to_numpy()
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, atol=1e-12)
    rows = rows[model.feature_names_in_] if n_classes == 2 else rows
    np.testing.assert_allclose(chances, model.predict_proba(rows), atol=1e-9)
    assert frame["label"].tolist() == model.classes_[chances.argmax(axis=1)].tolist()
    assert scores["log loss"] == pytest.approx(log_loss(truth, chances))
    assert scores["Brier score"] == pytest.approx(brier_score_loss(truth, chances))
    call("report", "model.localmkl", new, *labels, "--out", "r.html", "--no-baselines")
    assert "Reliability: held-out probabilities of" in (said.path / "r.html").read_text(encoding="utf-8")


def test_a_quantile_is_scored_by_its_own_loss_and_by_the_share_below_it(call, table, patients):
    options = (
        "--target",
        "view0_0",
        "--regression",
        "--method",
        "mkl",
        "--loss",
        "quantile",
        "--quantile",
        0.9,
    )
    assert "parameters loss quantile, quantile 0.9, C 1" in call("fit", table.train, *options).out
    said = call("predict", "model.localmkl", table.test, "--out", "p.csv", "--json").json()
    y, guesses = patients["view0_0"][N_TRAIN:].to_numpy(), pd.read_csv("p.csv")["prediction"]
    assert said["pinball loss"] == pytest.approx(mean_pinball_loss(y, guesses, alpha=0.9))
    assert said["share of targets below"] == pytest.approx(np.mean(y <= guesses))
    assert "RMSE" not in said


def test_tuning_searches_over_losses(call, table):
    options = ("--target", "state", "--kernels", VIEWS, "--method", "mkl", "--C", 1, "--p", 1, "--folds", 3)
    said = call("tune", table.train, *options, "--loss", "hinge,log_loss", "--table", "scores.csv")
    assert "loss hinge, log_loss." in said.err
    assert set(pd.read_csv("scores.csv")["loss"]) == {"hinge", "log_loss"}


@pytest.mark.parametrize("method", ["clmkl", "hlmkl", "lmkl", "mkl", "unif"])
def test_every_method_fits_predicts_and_is_described(call, table, method):
    call(
        "fit", table.train, "--target", "state", "--names", "id", "--kernels", VIEWS, "--method", method, "-q"
    )
    record = call("info", "model.localmkl", "--json").json()
    assert record["method"].lower() == method
    assert record["duality_gap"] <= record["tolerance"]
    np.testing.assert_allclose(np.sum(record["kernel_shares"], axis=1), 1.0, atol=1e-5)
    frame = pd.DataFrame(call("predict", "model.localmkl", table.test, "--json").json())
    check_sums(frame, frame["score"])


def test_info_says_what_is_in_a_file(call, table, fasta, grams):
    said = call("info", table.train, "--target", "state").out
    for words in ("table, 90 rows", "labels     2: sick", "left out as text: id, city"):
        assert words in said
    assert "60 letters" in call("info", fasta.train).out
    assert call("info", fasta.train, "--json").json()["labels"].keys() == {"EI", "IE", "N"}
    assert call("info", grams.all, "--json").json()["shape"] == [6, N_ALL, N_ALL]


def test_tuning_writes_the_best_model_and_all_scores(call, table):
    said = call(
        "tune", table.train, "--target", "state", "--names", "id", "--kernels", VIEWS, "--C", "0.1,10",
        "--evenness", "0.4,0.9", "--p", 1, "--folds", 3, "--table", "scores.csv", "--json",
    )  # fmt: skip
    record = said.json()
    scores = pd.read_csv("scores.csv")
    assert len(scores) == 4 * 3
    means = scores.groupby(["C", "evenness", "p"])["score"].mean()
    best = record["tuned"]
    assert best["score"] == pytest.approx(means.max())
    assert means[best["chosen"]["C"], best["chosen"]["evenness"], 1.0] == pytest.approx(means.max())
    assert best["metric"] == "roc_auc"
    assert not list(said.path.glob("*.checkpoint"))
    assert "best of 4" in call("info", "model.localmkl").out
    call("predict", "model.localmkl", table.new, "--out", "p.csv", "-q")
    call("report", "model.localmkl", "--out", "r.html", "--folds", 2, "--no-baselines")
    assert not list(said.path.glob("*.checkpoint"))


def test_fit_with_tune_searches_what_is_not_set(call, table):
    said = call(
        "fit", table.train, "--target", "state", "--kernels", VIEWS, "--method", "mkl", "--p", 1, "--tune"
    )
    assert "C 0.1, 1, 10, 100; p 1." in said.err
    assert "best of 4" in said.out


def test_a_kernel_file_is_the_same_as_words(call, table):
    (table.train.parent / "kernels.toml").write_text(
        '[[kernel]]\nname = "rbf"\nfactor = [0.1, 1]\ncolumns = ["view0_*", "view1_0"]\n'
        '[[kernel]]\nname = "linear"\ncolumns = "view2_*"\nstandardize = false\n'
    )
    words = "rbf:0.1,1 columns=view0_*,view1_0; linear columns=view2_* standardize=false"
    answers = []
    for spec in ("kernels.toml", words):
        call("fit", table.train, "--target", "state", "--kernels", spec, "-q")
        answers.append(call("predict", "model.localmkl", table.new).out.splitlines()[1:])
    assert answers[0] == answers[1]


def test_sequences_in_a_table(call, fasta):
    data = localmkl.datasets.read_fasta(fasta.train, labels="header")
    frame = pd.DataFrame(
        {"site": data.sequences, "gc": [s.count("G") / 60 for s in data.sequences], "kind": data.y}
    )
    frame.to_csv("sites.csv", index=False)
    said = call(
        "fit", "sites.csv", "--target", "kind", "--kernels", "spectrum:2-3 column=site; rbf columns=gc"
    )
    assert "spectrum 2 site, spectrum 3 site, rbf gc" in said.out
    assert call("predict", "model.localmkl", "sites.csv", "-q").out.count("\n") == N_TRAIN + 1


def test_labels_of_fasta_headers_may_have_any_key(call, fasta):
    text = fasta.train.read_text().replace("label=", "type=")
    fasta.train.write_text(text)
    assert "EI, IE, N" in call("fit", fasta.train, "--target", "type", "--method", "unif").out


@pytest.mark.parametrize("kind", ["table", "fasta"])
def test_unlabelled_rows_help_to_find_the_clusters(call, table, fasta, patients, kind):
    if kind == "table":
        options = ("--target", "state", "--names", "id", "--kernels", VIEWS)
        call("fit", table.train, *options, "--unlabeled", table.new, *TIGHT)
        X, y = patients.filter(like="view"), patients["state"][:N_TRAIN]
        kernels = [Linear([c for c in X if c.startswith(f"view{j}_")], standardize=True) for j in range(6)]
        new, train = X[N_TRAIN:], X[:N_TRAIN]
        scores = pd.DataFrame(call("predict", "model.localmkl", table.new, "--json").json())["score"]
    else:
        call("fit", fasta.train, "--kernels", "wd:3", "--unlabeled", fasta.new, *TIGHT)
        train, y, _ = localmkl.datasets.read_fasta(fasta.train, labels="header")
        new, kernels = localmkl.datasets.read_fasta(fasta.new).sequences, [WeightedDegree(3)]
        frame = pd.DataFrame(call("predict", "model.localmkl", fasta.new, "--json").json())
        scores = frame[["score_EI", "score_IE", "score_N"]]
    model = localmkl.CLMKLClassifier(kernels, tol=1e-10, random_state=0).fit(train, y, unlabeled=new)
    np.testing.assert_allclose(scores, model.decision_function(new), atol=1e-5)
    said = call("report", "model.localmkl", "--out", "r.html", "--folds", 2, "--no-baselines")
    assert "learned without the unlabelled samples" in (said.path / "r.html").read_text(encoding="utf-8")


def test_numbers_as_labels_of_fasta_are_for_regression(call, fasta):
    data = localmkl.datasets.read_fasta(fasta.train)
    share = {name: s.count("G") / 60 for name, s in zip(data.names, data.sequences, strict=True)}
    (fasta.train.parent / "gc.txt").write_text("".join(f"{name} {value}\n" for name, value in share.items()))
    call(
        "fit", fasta.train, "--labels", "gc.txt", "--regression", "--kernels", "spectrum:1", "--epsilon", 0.01
    )
    said = call("predict", "model.localmkl", fasta.train, "--labels", "gc.txt", "--out", "p.csv", "--json")
    assert said.json()["R2"] > 0.5


def test_sequences_of_different_lengths_get_k_mer_kernels(call, tmp_path):
    proteins = ["MKVLA", "MKVLAW", "WWPLA", "WWPLAK", "MKVAA", "WWPAA"]
    (tmp_path / "p.faa").write_text(
        "".join(f">p{i} label={i % 4 > 1}\n{p}\n" for i, p in enumerate(proteins))
    )
    said = call("fit", "p.faa", "--method", "mkl")
    assert "spectrum:1-3; pseaac:1,4 (protein)" in said.err


def test_models_saved_by_python_code_can_be_used(call, table, patients):
    columns = ["view0_0", "view0_1"]
    model = localmkl.MKLClassifier().fit(patients[columns][:N_TRAIN], patients["state"][:N_TRAIN])
    localmkl.save(model, "own.localmkl")
    frame = pd.DataFrame(call("predict", "own.localmkl", table.test, "--json").json())
    np.testing.assert_allclose(frame["score"], model.decision_function(patients[columns][N_TRAIN:]))
    assert "MKL, classification" in call("info", "own.localmkl").out
    call("report", "own.localmkl", "--out", "r.html")


def test_pipelines_saved_by_python_code_can_be_used(call, table, patients):
    columns = ["view0_0", "view0_1"]
    model = make_pipeline(StandardScaler(), localmkl.MKLClassifier())
    model.fit(patients[columns][:N_TRAIN], patients["state"][:N_TRAIN])
    localmkl.save(model, "own.localmkl")
    said = call("predict", "own.localmkl", table.test, "--target", "state", "--names", "id", "--out", "p.csv")
    assert "accuracy" in said.err
    assert "trained on" not in said.err
    frame = pd.read_csv("p.csv")
    assert frame["name"][0] == f"patient {N_TRAIN}"
    np.testing.assert_allclose(frame["score"], model.decision_function(patients[columns][N_TRAIN:]))
    said = call("predict", "own.localmkl", table.train, "--target", "state", "--out", "p.csv")
    assert f"{N_TRAIN} of which the model was trained on" in said.err


def test_json_and_quiet_keep_their_promises(call, table):
    options = ("fit", table.train, "--target", "state", "--names", "id", "--method", "unif")
    said = call(*options, "--json")
    assert said.json()["out"] == "model.localmkl"
    assert said.json()["made"]["file"].endswith("train.csv")
    silent = call(*options, "--quiet")
    assert (silent.out, silent.err) == ("", "")


def run_python(code, folder, **options):
    return subprocess.Popen([sys.executable, "-c", code], cwd=folder, **options)


MAIN = "import sys; from localmkl.cli import main; sys.argv = ['localmkl', *{arguments!r}]; main()"


def test_a_model_predicts_the_same_in_another_process(call, table):
    call(
        "fit",
        table.train,
        "--target",
        "state",
        "--names",
        "id",
        "--kernels",
        VIEWS,
        "--out",
        "m.localmkl",
        "-q",
    )
    here = call("predict", "m.localmkl", table.new).out
    code = MAIN.format(arguments=["predict", "m.localmkl", str(table.new)])
    with run_python(code, table.train.parent, stdout=subprocess.PIPE, text=True) as process:
        there = process.communicate(timeout=120)[0]
    assert there == here


SLOW = """
import os, sys
def pause(handle, real=os.fsync):
    real(handle)
    print("written", flush=True)
    sys.stdin.read()
os.fsync = pause
"""


@pytest.mark.parametrize("command", ["fit", "predict", "report"])
def test_a_file_is_written_whole_or_not_at_all(call, table, command):
    """Killed after the bytes are on disk and before the file has its name, the old file is still there."""
    fit = ("fit", table.train, "--target", "state", "--names", "id", "--method", "unif")
    call(*fit, "--out", "m.localmkl", "-q")
    target = table.train.parent / f"target.{command}"
    target.write_bytes(b"what was there before")
    arguments = {
        "fit": [*map(str, fit), "--out", target.name, "--force"],
        "predict": ["predict", "m.localmkl", str(table.new), "--out", target.name, "--force"],
        "report": ["report", "m.localmkl", "--out", target.name, "--folds", "0", "--force"],
    }[command]
    code = SLOW + MAIN.format(arguments=arguments)
    with run_python(code, target.parent, stdout=subprocess.PIPE, stdin=subprocess.PIPE) as process:
        assert process.stdout.readline().strip() == b"written"
        process.kill()
    assert target.read_bytes() == b"what was there before"


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX systems")
def test_a_stopped_search_goes_on(call, table):
    arguments = [
        "tune", str(table.train), "--target", "state", "--names", "id", "--kernels", VIEWS, "--folds", "3",
        "--C", "0.1,1,10", "--evenness", "0.4,0.6", "--p", "1,2", "--out", "m.localmkl", "--table", "t.csv",
    ]  # fmt: skip
    whole = call(*arguments)
    expected = pd.read_csv("t.csv")
    for path in whole.path.glob("[mt].*"):
        path.unlink()
    # A search that stands still after its first finished work.
    slow = (
        "import signal, sys, time; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from localmkl.model_selection.checkpoint import Checkpoint\n"
        "real = Checkpoint.add\n"
        "def add(self, *args):\n"
        "    real(self, *args); print('kept', flush=True); time.sleep(60)\n"
        "Checkpoint.add = add\n"
    )
    code = slow + MAIN.format(arguments=arguments)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with run_python(code, whole.path, **pipes) as process:
        assert process.stdout.readline().strip() == b"kept"
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"give the command again to go on" in err
    assert b"Warning" not in err
    assert (whole.path / "m.localmkl.checkpoint").exists()
    assert not (whole.path / "m.localmkl").exists()
    call(*arguments)
    pd.testing.assert_frame_equal(pd.read_csv("t.csv"), expected)
    assert not (whole.path / "m.localmkl.checkpoint").exists()


def test_the_bench_measures_ratios(call):
    record = call("bench", "--samples", 60, "--kernels", 2, "--clusters", 2, "--json").json()
    assert all(row["passes"] > 0 for row in record["rows"])
    assert all(row["ratio"] is None or row["ratio"] > 0 for row in record["rows"])
