"""Fit, predict, report, info and tune on tables, FASTA and files of kernel matrices."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import localmkl
from localmkl.cli.plan import positive_class
from localmkl.inference import HeldOut
from localmkl.kernels import Linear

N_TRAIN, N_ALL = 90, 130  # of the files in conftest
TIGHT = ("--tol", 1e-12)
VIEWS = "linear each=" + ",".join(f"view{j}_*" for j in range(6))
STATE = ("--target", "state", "--names", "id")


@pytest.fixture
def clinic(tmp_path):
    """Write patients of two hospitals: c matters in Ulm alone; four cells of b are missing."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(160, 4)), columns=list("abcd"))
    X["town"] = np.where(np.arange(160) % 2, "Ulm", "Bonn")
    risk = 1.5 * X["a"] + 2.0 * X["c"] * (X["town"] == "Ulm") + 0.5 * rng.logistic(size=160)
    X["outcome"] = np.where(risk > 0.5, "back", "home")
    X.loc[[3, 8, 9, 50], "b"] = None
    X.insert(0, "patient", [f"P{i}" for i in range(160)])
    X.to_csv(tmp_path / "clinic.csv", index=False)
    return X


def test_the_first_command_prints_data_quality_groups_and_what_matters(call, clinic):
    options = ("--target", "outcome", "--names", "patient", "--groups", "town", "--method", "clmkl")
    said = call("fit", "clinic.csv", *options, bare=False)
    counts = clinic["outcome"].value_counts()
    first, *lines = said.out.splitlines()
    classes = f"(back {counts['back']}, home {counts['home']})"
    assert first.startswith(f"clinic.csv: outcome {classes}, 160 rows, 5 columns; 4 gaps filled with ")
    assert first.endswith("(b 4)")
    told = dict(line.split(maxsplit=1) for line in lines if not line.startswith(" "))
    assert list(told) == ["model", "quality", "town", "matters", "certified", "written"]
    assert told["model"].startswith("town-specific weights")
    assert "log loss" in told["model"]
    assert "logistic regression 0." in told["quality"]
    assert "gradient boosting 0." in told["quality"]
    assert told["town"].startswith("better than one model for all")
    assert "everywhere: a " in told["matters"]
    assert "\n           Ulm: c " in said.out
    assert "(raises back)" in told["matters"]
    assert call("info", "model.localmkl").out == said.out
    record = call("info", "model.localmkl", "--json").json()
    assert record["filled"] == {"b": 4}
    assert record["positive"] == "back"
    assert set(record["quality"]) >= {"metric", "value", "low", "high", "baselines"}
    assert set(record["matters"][0]) >= {"kernel", "part", "share", "low", "high", "sure", "direction"}
    assert record["groups"]["low"] <= record["groups"]["difference"] <= record["groups"]["high"]
    held = HeldOut.of(localmkl.load("model.localmkl").made_["held_out"])
    assert record["quality"]["value"] == held.score().value  # one figure, wherever it is shown


def test_groups_that_do_not_pay_are_compared_too(call, clinic):
    clinic.assign(town=np.random.default_rng(1).permutation(clinic["town"])).to_csv("mixed.csv", index=False)
    options = ("--target", "outcome", "--names", "patient", "--kernels", "linear; rbf", "--groups", "town")
    said = call("fit", "mixed.csv", *options, "--C", "1,10", "--shared", "0,1", bare=False)
    assert "town       one set of weights: town-specific ones were no better (0." in said.out
    assert "--shared 0 keeps them" in said.out


@pytest.mark.parametrize(
    ("labels", "wanted", "expected"),
    [
        ([0, 0, 1, 1], None, "1"),
        (["no", "no", "yes"], None, "yes"),
        (["a", "b", "b", "b"], None, "a"),
        (["a", "b"], None, "b"),
        (["a", "b"], "a", "a"),
        (["disease", "none"], None, "disease"),
        (["a", "b", "c"], None, None),
    ],
)
def test_the_positive_class_is_the_one_named_or_meant_or_rare(labels, wanted, expected):
    assert positive_class(labels, wanted) == expected


def test_probabilities_and_directions_are_those_of_the_positive_class(call, clinic):
    options = (
        "fit",
        "clinic.csv",
        "--target",
        "outcome",
        "--names",
        "patient",
        "--method",
        "mkl",
        "--folds",
        3,
    )
    ways = {}
    for label in ("back", "home"):
        record = call(*options, "--positive-class", label, "--json").json()
        assert record["positive"] == label
        ways[label] = next(one["direction"] for one in record["matters"] if one["kernel"] == "a")
        frame = pd.DataFrame(call("predict", "model.localmkl", "clinic.csv", "--explain", "--json").json())
        assert list(frame)[:3] == ["patient", "predicted", f"probability_{label}"]
        chance = frame[f"probability_{label}"]
        assert roc_auc_score(clinic["outcome"] == label, chance) > 0.7
        assert ((chance > 0.5) == (frame["predicted"] == label)).all()
        model = localmkl.load("model.localmkl")
        sign = 1.0 if label == "home" else -1.0
        decisions = np.log(chance / (1.0 - chance))
        effects = frame.filter(like="effect_").sum(axis=1) + sign * model.intercept_
        np.testing.assert_allclose(effects, decisions, atol=1e-3)
    assert ways == {"back": 1, "home": -1}


def test_new_groups_and_gaps_are_predicted_and_named(call, clinic):
    options = (
        "--target",
        "outcome",
        "--names",
        "patient",
        "--groups",
        "town",
        "--kernels",
        "linear each=a,b,c",
    )
    call("fit", "clinic.csv", *options)
    new = clinic.drop(columns="outcome")[:6].assign(town=["Ulm", "Kiel"] * 3)
    new.to_csv("new.csv", index=False)
    said = call("predict", "model.localmkl", "new.csv", "--out", "p.csv")
    assert "New groups: Kiel; their rows get the average of the weights of all groups." in said.err
    frame = pd.read_csv("p.csv")
    assert list(frame) == ["patient", "town", "predicted", "probability_back"]
    assert frame["town"].tolist() == ["Ulm", "Kiel"] * 3
    assert all(len(f"{value:.12g}".strip("0.").lstrip("0")) <= 6 for value in frame["probability_back"])


def test_a_table_gives_the_model_that_python_gives(call, table, localized):
    options = ("--kernels", VIEWS, "--gate", 1, "--evenness", 0.4, "--p", "4/3", "--loss", "hinge")
    said = call("fit", table.train, *STATE, *options, "--out", "m.localmkl", *TIGHT)
    assert "weights of 3 clusters" in said.out
    call("predict", "m.localmkl", table.test, "--explain", "--out", "p.csv")
    frame = pd.read_csv("p.csv")
    assert frame["id"].tolist() == [f"patient {i}" for i in range(N_TRAIN, N_ALL)]
    np.testing.assert_allclose(frame.filter(like="membership_").sum(axis=1), 1.0, atol=1e-5)
    X = localized.X  # in Python standardising is spelled out
    X = (X - X[:N_TRAIN].mean(axis=0)) / X[:N_TRAIN].std(axis=0)
    kernels = [Linear(columns=view) for view in localized.views]
    model = localmkl.CLMKLClassifier(kernels, gate_kernel=0, evenness=0.4, C=3, tol=1e-12, random_state=0)
    model.set_params(C=localmkl.load("m.localmkl").C).fit(X[:N_TRAIN], localized.y[:N_TRAIN])
    sign = 1.0 if "decision_well" in frame else -1.0
    scores = sign * frame.filter(like="decision_").iloc[:, 0]
    wanted = model.decision_function(X[N_TRAIN:])
    np.testing.assert_allclose(np.abs(scores), np.abs(wanted), atol=1e-4)


def test_fasta_from_fit_to_report(call, fasta):
    assert "hinge, C 10" in call("fit", fasta.train, "--C", 10, "--out", "m.localmkl").out
    call("predict", "m.localmkl", fasta.new, "--out", "p.csv")
    assert list(pd.read_csv("p.csv"))[2:] == ["decision_EI", "decision_IE", "decision_N"]
    said = call("fit", fasta.train, "--C", 10, "--loss", "log_loss", "--out", "m.localmkl")
    assert "sites.fa: label (EI " in said.out
    said = call("predict", "m.localmkl", fasta.new, "--labels", fasta.labels, "--out", "p.csv")
    assert said.err.startswith("accuracy 0.")
    frame = pd.read_csv("p.csv")
    chances = frame[["probability_EI", "probability_IE", "probability_N"]].to_numpy()
    assert frame["predicted"].tolist() == np.array(["EI", "IE", "N"])[chances.argmax(axis=1)].tolist()
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, atol=1e-5)
    model = localmkl.load("m.localmkl")
    new = localmkl.datasets.read_fasta(fasta.new).sequences
    np.testing.assert_allclose(chances, model.predict_proba(new), atol=1e-5)
    call("report", "m.localmkl", "--out", "r.html", "--folds", 0, "--stability", 0)
    assert "<svg" in (fasta.train.parent / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["all", "cross", "npy"])
def test_grams_from_fit_to_report(call, grams, localized, kind):
    if kind == "npy":
        call("fit", grams.train, "--labels", grams.labels, "--out", "m.localmkl", *TIGHT)
    else:
        options = ("--target", "disease", "--rows", f"0:{N_TRAIN}")
        call("fit", grams.all, *options, "--out", "m.localmkl", *TIGHT)
    call("predict", "m.localmkl", grams.all if kind == "all" else grams.cross, "--out", "p.csv")
    frame = pd.read_csv("p.csv")
    kernels = [Linear(columns=view) for view in localized.views]
    model = localmkl.CLMKLClassifier(kernels, loss="log_loss", tol=1e-10, random_state=0)
    model.set_params(C=localmkl.load("m.localmkl").C).fit(localized.X[:N_TRAIN], localized.y[:N_TRAIN])
    wanted = model.predict_proba(localized.X[N_TRAIN:])[:, 1]
    np.testing.assert_allclose(frame["probability_1"], wanted, atol=1e-5)
    assert frame["row"][0] == (N_TRAIN if kind == "all" else 0)
    call("report", "m.localmkl", "--out", "r.html", "--folds", 0, "--stability", 0)


def test_regression_predicts_numbers(call, table):
    options = ("--target", "view0_0", "--names", "id", "--regression", "--method", "mkl", "--folds", 3)
    said = call("fit", table.train, *options)
    assert "ridge regression" in said.out
    assert "matters    everywhere: view0_" in said.out
    said = call("predict", "model.localmkl", table.test, "--out", "p.csv")
    assert said.err.startswith("R2 ")
    assert list(pd.read_csv("p.csv")) == ["id", "predicted"]
    call("fit", table.train, *options[:-2], "--loss", "quantile")
    assert localmkl.load("model.localmkl").loss == "quantile"


@pytest.mark.parametrize("method", ["clmkl", "hlmkl", "lmkl", "mkl", "unif"])
def test_every_method_fits_predicts_and_is_described(call, table, method):
    call("fit", table.train, *STATE, "--kernels", VIEWS, "--method", method, "-q")
    record = call("info", "model.localmkl", "--json").json()
    assert record["model"]["method"].lower().startswith(method)
    assert record["certified"]["gap"] <= record["certified"]["tolerance"]
    np.testing.assert_allclose(np.sum(record["model"]["weights"], axis=1), 1.0, atol=1e-5)
    frame = pd.DataFrame(call("predict", "model.localmkl", table.test, "--json").json())
    assert set(frame["predicted"]) <= {"sick", "well"}


def test_info_describes_a_file(call, table, fasta, grams):
    said = call("info", table.train, "--target", "state")
    for words in ("table, 90 rows", "labels     sick", "kernels    rbf 0.5, rbf 1.5"):
        assert words in said.out
    assert "names the rows" in said.err
    assert "60 letters" in call("info", fasta.train).out
    assert call("info", fasta.train, "--json").json()["labels"].keys() == {"EI", "IE", "N"}
    assert "numbers (6 x 130 x 130)" in call("info", grams.all).out


def test_tuning_writes_the_best_model_and_all_scores(call, table):
    options = ("--kernels", VIEWS, "--C", "0.1,10", "--evenness", "0.4,0.9", "--p", 1, "--folds", 3)
    said = call("tune", table.train, *STATE, *options, "--table", "scores.csv", "--json")
    scores = pd.read_csv("scores.csv")
    assert len(scores) == 4 * 3
    means = scores.groupby(["C", "evenness", "p"])["score"].mean()
    best = said.json()["model"]["search"]
    assert best["score"] == pytest.approx(means.max())
    assert means[best["chosen"]["C"], best["chosen"]["evenness"], 1.0] == pytest.approx(means.max())
    assert (best["metric"], best["candidates"]) == ("roc_auc", 4)
    assert not list(said.path.glob("*.checkpoint"))


def test_sequences_in_a_table(call, fasta):
    data = localmkl.datasets.read_fasta(fasta.train, labels="header")
    share = [s.count("G") / 60 for s in data.sequences]
    pd.DataFrame({"site": data.sequences, "gc": share, "kind": data.y}).to_csv("sites.csv", index=False)
    call("fit", "sites.csv", "--target", "kind", "--kernels", "spectrum:2-3 column=site; rbf columns=gc")
    assert len(call("info", "model.localmkl", "--json").json()["model"]["kernels"]) == 3
    assert call("predict", "model.localmkl", "sites.csv", "-q").out.count("\n") == N_TRAIN + 1


def test_labels_of_fasta_may_have_any_key_or_be_numbers_in_a_file(call, fasta):
    fasta.train.write_text(fasta.train.read_text().replace("label=", "type="))
    assert "type (EI " in call("fit", fasta.train, "--target", "type", "--method", "unif").out
    data = localmkl.datasets.read_fasta(fasta.train)
    lines = [f"{name} {s.count('G') / 60}\n" for name, s in zip(data.names, data.sequences, strict=True)]
    (fasta.train.parent / "gc.txt").write_text("".join(lines))
    call("fit", fasta.train, "--labels", "gc.txt", "--regression", "--kernels", "spectrum:1", "--C", 100)
    said = call("predict", "model.localmkl", fasta.train, "--labels", "gc.txt", "--out", "p.csv", "--json")
    assert said.json()["quality"]["value"] > 0.5


def test_models_saved_by_python_code_can_be_used(call, table, patients):
    columns = ["view0_0", "view0_1"]
    model = localmkl.MKLClassifier().fit(patients[columns][:N_TRAIN], patients["state"][:N_TRAIN])
    localmkl.save(model, "own.localmkl")
    frame = pd.DataFrame(call("predict", "own.localmkl", table.test, "--json").json())
    wanted = model.decision_function(patients[columns][N_TRAIN:])
    np.testing.assert_allclose(frame["decision_well"], wanted, rtol=1e-5)
    assert "one set of weights" in call("info", "own.localmkl").out


def test_json_and_quiet_keep_their_promises(call, table):
    options = ("fit", table.train, *STATE, "--method", "unif")
    said = call(*options, "--json")
    assert said.json()["out"] == "model.localmkl"
    assert said.json()["data"]["file"].endswith("train.csv")
    silent = call(*options, "--quiet")
    assert (silent.out, silent.err) == ("", "")


def run_python(code, folder, **options):
    return subprocess.Popen([sys.executable, "-c", code], cwd=folder, **options)


MAIN = "import sys; from localmkl.cli import main; sys.argv = ['localmkl', *{arguments!r}]; main()"


def test_a_model_predicts_the_same_in_another_process(call, table):
    call("fit", table.train, *STATE, "--kernels", VIEWS, "--out", "m.localmkl", "-q")
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
    fit = ("fit", table.train, *STATE, "--method", "unif")
    call(*fit, "--out", "m.localmkl", "-q")
    target = table.train.parent / f"target.{command}"
    target.write_bytes(b"what was there before")
    arguments = {
        "fit": [*map(str, fit), "--no-tune", "--folds", "0"],
        "predict": ["predict", "m.localmkl", str(table.new)],
        "report": ["report", "m.localmkl", "--folds", "0", "--stability", "0"],
    }[command]
    code = SLOW + MAIN.format(arguments=[*arguments, "--out", target.name, "--force"])
    with run_python(code, target.parent, stdout=subprocess.PIPE, stdin=subprocess.PIPE) as process:
        assert process.stdout.readline().strip() == b"written"
        process.kill()
    assert target.read_bytes() == b"what was there before"


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX systems")
def test_a_stopped_search_goes_on(call, table):
    arguments = ["tune", str(table.train), *STATE, "--kernels", VIEWS, "--folds", "3", "--C", "0.1,1,10"]
    arguments += ["--evenness", "0.4,0.6", "--p", "1,2", "--out", "m.localmkl", "--table", "t.csv"]
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


def test_the_score_of_training_rows_is_called_no_test(call, table):
    call("fit", table.train, "--target", "state", "--method", "mkl", "--no-tune", "--folds", 0)
    said = call("predict", "model.localmkl", table.train, "--out", "p.csv")
    assert "of them: this is no test" in said.out + said.err
    new = call("predict", "model.localmkl", table.new, "--out", "p.csv")
    assert "this is no test" not in new.out + new.err
