"""Methods compared on shared splits."""

import numpy as np
import pandas as pd
import pytest

from localmkl.cli.comparing import verdict_on
from localmkl.inference import Comparison

FAILED, MISUSED = 1, 2
QUICK = ("--target", "state", "--names", "id", "--kernels", "linear each=view0_*,view1_*", "--splits", 3)


def test_one_table_and_one_sentence(call, table):
    said = call("compare", table.train, *QUICK, "--also", "one", "--out", "c.csv")
    lines = said.out.splitlines()
    assert lines[0].split() == ["method", "score", "difference", "low", "high", "p_value"]
    assert [line.split()[0] for line in lines[1:5]] == ["UNIF", "MKL", "CLMKL", "ONE"]
    assert lines[5].startswith("Local weights: ")
    frame = pd.read_csv("c.csv")
    assert frame["method"].tolist() == ["UNIF", "MKL", "CLMKL", "ONE"]
    record = call("compare", table.train, *QUICK, "--json").json()
    assert len(record["scores"]["MKL"]) == record["splits"] == 3
    assert np.mean(record["scores"]["MKL"]) == pytest.approx(frame["score"][1], rel=1e-5)


def test_lists_are_chosen_from_within_the_training_rows(call, table):
    assert "CLMKL" in call("compare", table.train, *QUICK, "--C", "0.1,1").out


def test_grams_numbers_and_groups_are_compared_too(call, grams, table, patients):
    options = ("--target", "disease", "--rows", "0:90", "--splits", 2)
    assert "CLMKL" in call("compare", grams.all, *options).out
    numbers = ("--target", "view0_0", "--regression", "--names", "id", "--splits", 2, "--kernels", "linear")
    assert "CLMKL" in call("compare", table.train, *numbers).out
    patients[:90].assign(city=np.where(np.arange(90) % 2, "Ulm", "Bonn")).to_csv(table.train, index=False)
    assert "UNIF" in call("compare", table.train, *QUICK, "--groups", "city").out


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--also", "svm"], MISUSED, "--also must be hlmkl, lmkl or one, or some of them, got 'svm'."),
        (["--scoring", "rocauc"], FAILED, "'rocauc'"),
        (["--out", "train.csv"], MISUSED, "--out must not be a file that the command reads"),
        (["--scoring", "neg_log_loss", "--loss", "hinge"], FAILED, "'neg_log_loss' needs predict_proba"),
    ],
)
def test_wrong_uses_are_refused_in_one_sentence(call, table, options, code, words):
    assert words in call("compare", table.train, *QUICK, *options, code=code).err


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.1, 0.3, "Local weights: better than MKL by 0.200 AUC (90 % interval +0.100 to +0.300)."),
        (-0.3, -0.1, "Local weights: worse than MKL by 0.200 AUC (90 % interval -0.300 to -0.100)."),
        (
            -0.1,
            0.3,
            "Local weights: better than MKL by 0.100 AUC (90 % interval -0.100 to +0.300), which may be",
        ),
    ],
)
def test_the_sentence_follows_the_interval(low, high, words):
    ends = [np.array([0.0, one]) for one in ((low + high) / 2, low, high)]
    found = Comparison(["MKL", "CLMKL"], "MKL", "roc_auc", np.zeros((2, 2)), *ends, np.zeros(2))
    assert verdict_on(found, "AUC").startswith(words)
