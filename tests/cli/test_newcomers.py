"""A newcomer's first hour: awkward tables, slips of the pen, and what is said of them."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from localmkl._spelling import meant

FAILED, MISUSED = 1, 2


@pytest.fixture
def awkward(tmp_path, patients):
    """Return a table with capitals, a blank and brackets in names, gaps, categories and a text label."""
    n = 90
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "Patient ID": [f"P-{1000 + i}" for i in range(n)],
            "Age": rng.integers(30, 90, n),
            "CRP (mg/l)": np.where(np.arange(n) % 9 == 4, np.nan, patients["view1_0"][:n].round(2)),
            "Stage": rng.choice(["I", "II", "III"], n),
            "Outcome": np.where(patients["state"][:n] == "sick", "relapse", "no relapse"),
        }
    )
    table.to_csv(tmp_path / "awkward.csv", index=False)
    return table


def test_the_nearest_word_is_found_whatever_its_capitals_blanks_and_signs():
    columns = ["Patient ID", "Age", "CRP (mg/l)", "Outcome"]
    for slip, column in {
        "outcome": "Outcome",
        "patient_id": "Patient ID",
        "crp mg/l": "CRP (mg/l)",
        "Outcoem": "Outcome",
    }.items():
        assert meant(slip, columns) == f"; did you mean {column!r}?"
    assert meant("weight", columns) == "."
    assert meant("", columns) == meant("x", []) == "."


@pytest.mark.parametrize(
    ("options", "code", "column"),
    [
        (["--target", "outcome"], FAILED, "Outcome"),
        (["--target", "Outcome", "--names", "patient id"], FAILED, "Patient ID"),
        (["--target", "Outcome", "--groups", "stage"], FAILED, "Stage"),
        (["--target", "Outcome", "--kernels", "rbf columns=age"], FAILED, "Age"),
        (["--target", "Outcome", "--kernels", "tfidf column=stage"], FAILED, "Stage"),
        (["--target", "Outcome", "--kernels", "rbf column_s=Age"], FAILED, "columns"),
    ],
)
@pytest.mark.parametrize("command", ["fit", "tune", "compare"])
def test_options_that_name_columns_or_words_say_what_was_meant(call, awkward, command, options, code, column):
    said = call(command, "awkward.csv", *options, code=code).err
    assert said.endswith(f"did you mean {column!r}?\n")


def test_columns_of_several_files_say_what_was_meant(call, awkward):
    awkward[["Patient ID", "Age"]].sample(frac=1.0, random_state=0).to_csv("age.csv", index=False)
    awkward[["Patient ID", "Stage", "Outcome"]].to_csv("clinic.csv", index=False)
    files = ["fit", "age.csv", "clinic.csv"]
    said = call(*files, "--target", "Outcome", "--names", "patient ID", code=FAILED).err
    assert said.endswith("did you mean 'Patient ID'?\n")
    said = call(*files, "--target", "outcome", "--names", "Patient ID", code=FAILED).err
    assert said.endswith("did you mean 'Outcome'?\n")
    view = ["--names", "Patient ID", "--kernels", "rbf view=Age; overlap view=clinic"]
    assert call(*files, "--target", "Outcome", *view, code=FAILED).err.endswith("did you mean 'age'?\n")


def test_variables_of_a_gram_file_say_what_was_meant(call, grams):
    said = call("fit", grams.all, "--target", "Disease", code=FAILED).err
    assert said.endswith("did you mean 'disease'?\n")


@pytest.mark.parametrize("command", ["predict", "report", "info"])
def test_a_target_or_names_that_are_said_with_new_rows_must_be_there(call, table, command):
    call("fit", table.train, "--target", "state", "--method", "unif")
    first = [] if command == "info" else ["model.localmkl"]
    for option, slip, column in (("--target", "State", "state"), ("--names", "ID", "id")):
        said = call(command, *first, table.test, option, slip, code=FAILED).err
        assert f"must have the column {slip!r}," in said
        assert said.endswith(f"did you mean {column!r}?\n")


def test_new_rows_need_not_have_the_target_and_names_of_the_fit(call, table):
    call("fit", table.train, "--target", "state", "--names", "id", "--method", "unif")
    pd.read_parquet(table.new).drop(columns="id").to_csv("bare.csv", index=False)
    assert call("predict", "model.localmkl", "bare.csv", "--out", "p.csv").out == "40 predictions: p.csv\n"


def test_sequences_and_grams_lack_a_target_that_is_said_with_them(call, fasta, grams):
    call("fit", fasta.train, "--method", "unif")
    said = call("predict", "model.localmkl", fasta.new, "--target", "kind", code=FAILED).err
    assert "must have a value for target, 'kind', got none" in said
    call("fit", grams.all, "--target", "disease", "--rows", "0:90", "--method", "unif", "--force")
    said = call("predict", "model.localmkl", grams.all, "--target", "diseased", code=FAILED).err
    assert said.endswith("did you mean 'disease'?\n")


def test_info_counts_gaps_and_columns(call, awkward):
    said = call("info", "awkward.csv", "--target", "Outcome").out
    assert "gaps       10 gaps will be filled with medians or most frequent words (CRP (mg/l) 10)\n" in said
    assert "kernels    " in said
    assert call("info", "awkward.csv", "--json").json()["gaps"] == {"CRP (mg/l)": 10}


def test_a_column_of_names_is_offered_as_names(call, awkward):
    given = ["fit", "awkward.csv", "--target", "Outcome", "--method", "unif"]
    assert "--names 'Patient ID' writes it beside predictions" in call(*given).err
    assert "--names" not in call(*given, "--names", "Patient ID").err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--method", "unif"], "equal weights for all kernels"),
        (["--method", "mkl", "--p", "inf"], "equal weights for all kernels"),
        (["--shared", 1, "--p", "inf"], "equal weights for all kernels"),
        (["--shared", 1], "one set of weights"),
        (["--method", "lmkl"], "weights by a learned gate"),
    ],
)
def test_a_model_is_called_by_what_it_is(call, table, options, words):
    said = call(
        "fit", table.train, "--target", "state", "--kernels", "linear each=view0_*,view1_*", *options
    ).out
    assert f"model      {words}; 2 kernels, " in said
    assert call("info", "model.localmkl").out == said


@pytest.mark.parametrize("command", ["fit", "tune", "compare"])
def test_rows_without_a_label_are_left_out_and_said_of_one_file_as_of_several(call, awkward, command):
    options = [
        "--target",
        "Outcome",
        "--impute",
        "median",
        *(["--splits", 2] if command == "compare" else []),
    ]
    options += {"fit": ["--method", "unif"], "tune": ["--C", "1", "--p", "1", "--folds", 2]}.get(command, [])
    awkward.loc[[3, 8], "Outcome"] = None
    awkward.to_csv("gaps.csv", index=False)
    names = ["--names", "Patient ID"]
    assert (
        "Left out, without a label: 2 rows, the first in line 5." in call(command, "gaps.csv", *options).err
    )
    options += ["--force"]
    said = call(command, "gaps.csv", *options, *names).err
    assert "Left out, without a label: 2 samples (P-1003, P-1008)." in said
    awkward[["Patient ID", "Age"]].to_csv("age.csv", index=False)
    awkward[["Patient ID", "Stage", "Outcome"]].to_csv("clinic.csv", index=False)
    said = call(command, "age.csv", "clinic.csv", *options, *names).err
    assert "Left out, without a label: 2 samples (P-1003, P-1008)." in said


def test_what_is_left_of_rows_without_a_label_is_what_a_file_without_them_gives(call, awkward):
    given = ["--target", "Outcome", "--names", "Patient ID", "--groups", "Stage", "--impute", "median"]
    awkward.drop(index=[0, 8]).to_csv("whole.csv", index=False)
    awkward.assign(Outcome=awkward["Outcome"].where(~awkward.index.isin([0, 8]), "NA")).to_csv("gaps.csv")
    for file in ("whole.csv", "gaps.csv"):
        call("fit", file, *given, "--kernels", "rbf columns=Age", "--out", f"{file}.localmkl")
        call("predict", f"{file}.localmkl", "whole.csv", "--out", f"{file}.p.csv")
    assert Path("whole.csv.p.csv").read_text() == Path("gaps.csv.p.csv").read_text()
    awkward.astype({"Age": object}).assign(Age=lambda rows: rows["Age"].where(rows.index != 9, "old")).assign(
        Outcome=awkward["Outcome"].where(awkward.index != 8)
    ).to_csv("wrong.csv", index=False)
    said = call("fit", "wrong.csv", *given, "--kernels", "rbf columns=Age", code=FAILED).err
    assert "line 11: the column 'Age' must hold numbers, got 'old'" in said


def test_a_target_that_is_nearly_empty_is_refused(call, awkward):
    awkward.loc[5:, "Outcome"] = None
    awkward.to_csv("empty.csv", index=False)
    said = call("fit", "empty.csv", "--target", "Outcome", code=FAILED).err
    assert "line 7: must have a value for target, 'Outcome', got none" in said


def test_records_without_a_label_are_left_out_and_said(call, fasta):
    text = fasta.train.read_text()
    first = text.split(maxsplit=1)[0][1:]
    fasta.train.write_text(re.sub(r" label=\w+", "", text, count=1))
    assert (
        f"Left out, without a label: 1 sample ({first})." in call("fit", fasta.train, "--method", "unif").err
    )
    labels = re.findall(r">(\w+) label=(\w+)", text)
    Path("labels.tsv").write_text("".join(f"{name}\t{label}\n" for name, label in labels[2:]))
    options = ["--labels", "labels.tsv", "--method", "unif", "--force"]
    said = call("fit", fasta.train, *options).err
    assert f"Left out, without a label: 2 samples ({first}, {labels[1][0]})." in said
    fasta.train.write_text(re.sub(r" label=\w+", "", text))
    said = call("fit", fasta.train, "--method", "unif", "--force", code=FAILED).err
    assert "must have a value for target, 'label', got none" in said
