"""Predictions of rows that are not as the model would like them: other labels, none, numbers as words."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score

N_TRAIN = 90


@pytest.fixture
def model(call, table):
    call("fit", table.train, "--target", "state", "--names", "id", "--method", "mkl")
    return "model.localmkl"


def test_labels_new_to_the_model_are_not_scored_and_are_named(call, model, patients):
    frame = patients[N_TRAIN:].copy()
    frame.loc[frame.index[:4], "state"] = "dead"
    frame.to_csv("strange.csv", index=False)
    said = call("predict", model, "strange.csv", "--out", "p.csv").err
    assert " on 36 of 40 rows" in said
    assert "dead" in said
    assert len(pd.read_csv("p.csv")) == 40
    frame.assign(state="dead").to_csv("all.csv", index=False)
    assert "AUC" not in call("predict", model, "all.csv", "--out", "p.csv").err


def test_labels_that_read_the_same_are_the_same(call, patients):
    frame = patients.assign(state=np.where(patients["state"] == "sick", 1, 0))
    frame[:N_TRAIN].to_csv("numbers.csv", index=False)
    call("fit", "numbers.csv", "--target", "state", "--names", "id", "--method", "unif")
    new = frame[N_TRAIN:].astype({"state": str})
    new.loc[new.index[0], "state"] = "unclear"  # one word, and the file holds words
    new.to_csv("words.csv", index=False)
    assert " on 39 of 40 rows" in call("predict", "model.localmkl", "words.csv", "--out", "p.csv").err


def test_targets_of_a_regression_are_numbers(call, table, patients):
    call("fit", table.train, "--target", "view0_0", "--regression", "--method", "unif", "--names", "id")
    frame = patients[N_TRAIN:].assign(view0_0=patients["view0_0"].where(patients.index % 2 == 0))
    frame.to_csv("gaps.csv", index=False)
    said = call("predict", "model.localmkl", "gaps.csv", "--out", "p.csv", "--json")
    there = frame["view0_0"].notna().to_numpy()
    expected = r2_score(frame["view0_0"][there], pd.read_csv("p.csv")["predicted"][there])
    assert said.json()["quality"]["value"] == pytest.approx(expected, abs=1e-4)
    assert " on 20 of 40 rows" in said.err
    patients[N_TRAIN:].assign(view0_0="high").to_csv("words.csv", index=False)
    said = call("predict", "model.localmkl", "words.csv", "--out", "x", code=1)
    assert "must be numbers" in said.err
    assert "got 'high'" in said.err


def test_rows_with_labels_are_scored_where_others_have_none(call, model, fasta, patients):
    frame = patients[N_TRAIN:].reset_index(drop=True)
    frame.loc[[3, 20], "state"] = None
    for name in ("gaps.csv", "gaps.parquet"):
        getattr(frame, f"to_{name[5:]}")(name, index=False)
        assert " on 38 of 40 rows" in call("predict", model, name, "--out", "p.csv").err
        assert sum(call("info", name, "--target", "state", "--json").json()["labels"].values()) == 38
    call("fit", fasta.train, "--method", "unif", "--out", "sites.localmkl")
    records = fasta.train.read_text().split(">")[1:31]
    records[4] = records[4].replace(" label=", " unlike ")
    fasta.train.with_name("some.fa").write_text("".join(f">{record}" for record in records))
    assert " on 29 of 30 rows" in call("predict", "sites.localmkl", "some.fa", "--out", "p.csv").err
