"""predict and report on rows that are not as the model would like them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, root_mean_squared_error

N_TRAIN = 90


@pytest.fixture
def model(call, table):
    call("fit", table.train, "--target", "state", "--names", "id", "--method", "mkl")
    return "model.localmkl"


def test_labels_new_to_the_model_are_not_scored_and_are_named(call, model, patients):
    frame = patients[N_TRAIN:].copy()
    frame.loc[frame.index[:4], "state"] = "dead"
    frame.to_csv("strange.csv", index=False)
    said = call("predict", model, "strange.csv", "--out", "p.csv")
    guesses = pd.read_csv("p.csv")["label"]
    expected = accuracy_score(frame["state"][4:], guesses[4:])
    assert f"accuracy {expected:.4f}, AUC" in said.err
    assert "on 36 of 40 rows; the others have labels new to the model: dead" in said.err
    call("report", model, "strange.csv", "--out", "r.html", "--no-baselines")
    assert "4 samples have labels that the model does not know" in (said.path / "r.html").read_text("utf-8")
    frame.assign(state="dead").to_csv("all.csv", index=False)
    said = call("predict", model, "all.csv", "--out", "p.csv")
    assert "Not scored: the model knows the labels sick, well, the file has dead" in said.err


def test_labels_that_read_the_same_are_the_same(call, patients):
    frame = patients.assign(state=np.where(patients["state"] == "sick", 1, 0))
    frame[:N_TRAIN].to_csv("numbers.csv", index=False)
    call("fit", "numbers.csv", "--target", "state", "--names", "id", "--method", "unif")
    new = frame[N_TRAIN:].astype({"state": str})
    new.loc[new.index[0], "state"] = "unclear"  # one word, and the file holds words
    new.to_csv("words.csv", index=False)
    said = call("predict", "model.localmkl", "words.csv", "--out", "p.csv")
    expected = accuracy_score(frame["state"][N_TRAIN + 1 :], pd.read_csv("p.csv")["label"][1:])
    assert f"accuracy {expected:.4f}, AUC" in said.err
    assert "on 39 of 40 rows" in said.err


def test_regression_scores_are_those_that_the_rows_define(call, table, patients):
    call("fit", table.train, "--target", "view0_0", "--regression", "--method", "unif")
    patients[N_TRAIN : N_TRAIN + 1].to_csv("one.csv", index=False)
    said = call("predict", "model.localmkl", "one.csv", "--out", "p.csv", "--json")
    guess = pd.read_csv("p.csv")["prediction"]
    error = root_mean_squared_error(patients["view0_0"][N_TRAIN : N_TRAIN + 1], guess)
    assert said.json() == {"out": "p.csv", "rows": 1, "RMSE": pytest.approx(error)}
    assert call("predict", "model.localmkl", "one.csv", "--out", "p.csv").out == "1 prediction: p.csv\n"
    assert "kind       table, 1 row\n" in call("info", "one.csv").out
    call("report", "model.localmkl", "one.csv", "--out", "r.html")
    assert "The prediction is off by" in (said.path / "r.html").read_text("utf-8")
    patients[N_TRAIN:].assign(view0_0="high").to_csv("words.csv", index=False)
    for command in ("predict", "report"):
        said = call(command, "model.localmkl", "words.csv", "--out", "x", code=1)
        assert said.err == "Error: The targets of 'words.csv' must be numbers as in the fit, got 'high'.\n"


def test_rows_with_labels_are_scored_where_others_have_none(call, model, patients):
    frame = patients[N_TRAIN:].reset_index(drop=True)
    frame.loc[[3, 20], "state"] = None
    for name in ("gaps.csv", "gaps.parquet"):
        getattr(frame, f"to_{name[5:]}")(name, index=False)
        said = call("predict", model, name, "--out", "p.csv")
        there = frame["state"].notna()
        expected = accuracy_score(frame["state"][there], pd.read_csv("p.csv")["label"][there])
        assert f"accuracy {expected:.4f}, AUC" in said.err
        assert said.err.endswith(" on 38 of 40 rows; the others have no label\n")
        assert said.out == "40 predictions: p.csv\n"
        said = call("report", model, name, "--out", "r.html", "--no-baselines")
        assert said.err == "The report is on 38 of 40 rows; the others have no label.\n"
        assert "38 samples" in (said.path / "r.html").read_text("utf-8")
        said = call("info", name, "--target", "state")
        assert "; 2 rows without one\n" in said.out
        assert call("info", name, "--target", "state", "--json").json()["unlabelled"] == 2
    call("fit", "gaps.csv", "--target", "state", "--rank", 9, "--kernels", "rbf", "--out", "own.localmkl")
    said = call("predict", "own.localmkl", "gaps.csv", "--out", "p.csv").err
    assert " on 38 of 40 rows, 38 of which the model was trained on; the others have no label\n" in said
    frame.loc[:4, "state"] = "dead"
    frame.to_csv("strange.csv", index=False)
    said = call("predict", model, "strange.csv", "--out", "p.csv").err
    assert " on 34 of 40 rows; without a label: 1, with labels new to the model: 5 (dead)" in said


def test_numbers_and_sequences_are_scored_where_others_have_no_target(call, table, fasta, patients):
    call("fit", table.train, "--target", "view0_0", "--regression", "--method", "unif", "--names", "id")
    frame = patients[N_TRAIN:].assign(view0_0=patients["view0_0"].where(patients.index % 2 == 0))
    frame.to_csv("gaps.csv", index=False)
    said = call("predict", "model.localmkl", "gaps.csv", "--out", "p.csv", "--json")
    there = frame["view0_0"].notna().to_numpy()
    error = root_mean_squared_error(frame["view0_0"][there], pd.read_csv("p.csv")["prediction"][there])
    assert said.json()["RMSE"] == pytest.approx(error)
    assert " on 20 of 40 rows; the others have no label\n" in said.err
    call("report", "model.localmkl", "gaps.csv", "--out", "r.html", "--no-baselines")
    call("fit", fasta.train, "--method", "unif", "--out", "sites.localmkl")
    records = fasta.train.read_text().split(">")[1:31]
    records[4] = records[4].replace(" label=", " unlike ")
    (said.path / "some.fa").write_text("".join(f">{record}" for record in records))
    said = call("predict", "sites.localmkl", "some.fa", "--out", "p.csv").err
    assert " on 29 of 30 rows, 29 of which the model was trained on; the others have no label\n" in said


def test_what_a_report_lacks_is_said_on_the_command_line(call, table, grams):
    call("fit", grams.train, "--labels", grams.labels, "--method", "unif")
    said = call("report", "model.localmkl", "--out", "r.html")
    assert "the report has no cross-validation, no map and no bound. Give the Gram file too" in said.err
    said = call("report", "model.localmkl", grams.train, "--labels", grams.labels, "--folds", 2)
    assert said.err == ""
    assert "Cross-validated on the training data" in (said.path / "report.html").read_text("utf-8")
    call("fit", table.train, "--target", "state", "--method", "unif")
    said = call("report", "model.localmkl", table.new, "--out", "r.html")
    assert "new.parquet' lacks labels: nothing is said about quality." in said.err


def test_a_model_that_did_not_converge_is_named_when_it_is_used(call, model, table):
    import localmkl
    from localmkl.persistence import load

    unfinished = load(model)
    unfinished.duality_gap_ = 0.25
    localmkl.save(unfinished, "unfinished.localmkl")
    for command in ("predict", "report"):
        said = call(command, "unfinished.localmkl", table.test, "--out", f"{command}.out")
        assert "The model did not converge: its duality gap is 2.5e-01, and 1e-03 was asked for." in said.err


def test_no_certificate_is_claimed_for_a_gate_that_has_none(call, table):
    said = call("fit", table.train, "--target", "state", "--method", "lmkl", "--tol", 0.1)
    assert "the weights have no certificate" in said.out
    assert "certified " not in said.out
