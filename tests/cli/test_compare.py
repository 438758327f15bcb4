"""``localmkl compare``: methods on shared splits, and whether locality is worth it."""

import sys

import numpy as np
import pandas as pd
import pytest

from localmkl.cli.comparing import verdict_on
from localmkl.inference import Comparison

FAILED, MISUSED = 1, 2
VIEWS = ("--kernels", "linear each=view0_*,view1_*,view2_*,view3_*", "--gate", 1, "--evenness", 0.4, "--p", 1)
TABLE = ("--target", "state", "--names", "id", *VIEWS)


@pytest.fixture
def whole(tmp_path, patients):
    """Return the path of a table of all patients, with two hospitals."""
    path = tmp_path / "patients.csv"
    patients.assign(hospital=np.where(np.arange(len(patients)) % 2, "north", "south")).to_csv(
        path, index=False
    )
    return path


def test_one_table_one_figure_and_one_sentence(call, whole):
    said = call("compare", whole, *TABLE, "--splits", 8, "--out", "c.csv", "--figure", "c.svg")
    *lines, verdict = said.out.splitlines()
    assert [line.split()[0] for line in lines] == ["method", "UNIF", "MKL", "CLMKL"]
    assert verdict.startswith("Locality is worth it here: CLMKL is better than MKL by 0.")
    assert "Comparing by roc_auc on 8 random splits; all with C " in said.err
    table = pd.read_csv("c.csv").set_index("method")
    assert table["difference"].isna().tolist() == [False, True, False]
    assert table.loc["CLMKL", "low"] > 0.0
    assert f"{table.loc['CLMKL', 'score']:.3f}" in lines[-1]
    assert (said.path / "c.svg").read_text().startswith("<?xml")


def test_the_record_holds_the_score_of_every_split(call, whole):
    options = ("--splits", 3, "--also", "lmkl,hlmkl", "--json", "--quiet")
    found = call("compare", whole, *TABLE, *options)
    record = found.json()
    assert found.err == ""
    assert list(record["scores"]) == ["UNIF", "MKL", "CLMKL", "HLMKL", "LMKL"]
    for row in record["methods"]:
        assert np.isclose(row["score"], np.mean(record["scores"][row["method"]]))
    local, alone = (np.array(record["scores"][name]) for name in ("CLMKL", "MKL"))
    assert np.isclose(record["methods"][2]["difference"], np.mean(local - alone))
    assert call("compare", whole, *TABLE, *options, "--jobs", 2).json() == record


def test_one_kernel_may_be_better_than_all(call, whole, patients):
    draw = np.random.default_rng(0).normal(size=(len(patients), 10))
    noise = {f"noise{k}": draw[:, k] for k in range(9)}
    hint = np.where(patients["state"] == "sick", 1.0, -1.0) + draw[:, 9]
    patients.assign(hint=hint, **noise).to_csv(whole, index=False)
    kernels = "linear columns=hint; rbf:0.1,1,10 columns=noise*"
    plain = ("compare", whole, "--target", "state", "--names", "id", "--kernels", kernels, "--splits", 8)
    said = call(*plain, "--also", "one")
    *lines, verdict = said.out.splitlines()
    assert [line.split()[0] for line in lines] == ["method", "UNIF", "MKL", "CLMKL", "ONE"]
    assert "; ONE is the kernel that is best by itself within the training rows." in said.err
    assert " One kernel by itself is better than MKL by 0." in verdict
    assert "One kernel" not in call(*plain, "--also", "hlmkl").out


def test_kernels_that_cannot_be_taken_by_themselves_are_refused(call, grams, whole, patients):
    said = call("compare", grams.all, "--target", "disease", "--also", "one", code=MISUSED)
    assert (
        "--also one chooses among kernels of tables, texts or sequences, not among Gram matrices." in said.err
    )
    patients.iloc[5:][["id", "view2_0"]].to_csv("more.csv", index=False)
    said = call("compare", whole, "more.csv", *TABLE[:4], "--also", "one", code=FAILED)
    assert f"every view, 5 of {len(patients)} have not; leave them out" in said.err


def test_lists_are_chosen_from_within_the_training_rows(call, whole):
    said = call("compare", whole, *TABLE, "--C", "0.1,1", "--splits", 2)
    assert "each method chooses its own within the training rows, of C 0.1, 1." in said.err


def test_sequences_grams_numbers_and_groups_are_compared_too(call, fasta, grams, whole):
    commands = (
        (fasta.train, "--kernels", "spectrum:2,3"),
        (grams.all, "--target", "disease", "--gate", 1),
        (
            whole,
            "--target",
            "view1_0",
            "--names",
            "id",
            "--regression",
            "--kernels",
            "linear columns=view2_*",
        ),
        (whole, *TABLE[:4], "--kernels", "linear each=view0_*,view1_*", "--groups", "hospital", "--p", 1),
    )
    for command in commands:
        said = call("compare", *command, "--splits", 2)
        assert "Locality is " in said.out.splitlines()[-1], command


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--also", "svm"], MISUSED, "--also must be hlmkl, lmkl or one, or some of them, got 'svm'."),
        (["--figure", "c.gif"], MISUSED, "--figure must end in .png or .svg, got 'c.gif'."),
        (["--scoring", "rocauc"], MISUSED, "did you mean 'roc_auc'?"),
        (["--splits", "1"], MISUSED, "--splits"),
        (["--epsilon", "1"], MISUSED, "--epsilon is not for classification with these methods."),
        (["--also", "lmkl", "--rank", "5"], MISUSED, "--rank is not for the method lmkl"),
        (["--also", "lmkl", "--groups", "hospital"], MISUSED, "--groups is not for"),
        (["--scoring", "neg_log_loss"], FAILED, "'neg_log_loss' needs predict_proba"),
    ],
)
def test_wrong_uses_are_said_in_one_sentence(call, whole, options, code, words):
    plain = ("compare", whole, "--target", "state", "--names", "id")
    said = call(*plain, *options, "--quiet", code=code)
    assert words in said.err
    assert said.out == ""
    assert sorted(path.name for path in said.path.iterdir()) == ["patients.csv"]


def test_a_figure_without_the_extra_is_refused_before_the_work(call, whole, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = call("compare", whole, *TABLE, "--figure", "c.png", code=FAILED)
    assert said.err.startswith("Error: --figure needs matplotlib, which is not installed;")


def test_a_class_too_small_to_hold_rows_out_is_refused(call, whole, patients):
    few = pd.concat([patients[patients["state"] == "sick"][:4], patients[patients["state"] == "well"]])
    few.to_csv("few.csv", index=False)
    said = call("compare", "few.csv", *TABLE, code=FAILED)
    assert "The class 'sick' has 4 rows, too few to hold some out: at least 5 are needed." in said.err


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(0.1, 0.3, "is worth it"), (-0.3, -0.1, "is not worth it"), (-0.1, 0.3, "is not shown to be worth it")],
)
def test_the_sentence_follows_the_interval(low, high, words):
    ends = {"low": np.array([0.0, low]), "high": np.array([0.0, high])}
    mean = np.array([0.0, (low + high) / 2])
    p_value = np.array([np.nan, 0.5])
    found = Comparison(["MKL", "CLMKL"], "MKL", "roc_auc", np.zeros((2, 2)), mean, **ends, p_value=p_value)
    assert verdict_on(found, "AUC").startswith(f"Locality {words} here: CLMKL ")
