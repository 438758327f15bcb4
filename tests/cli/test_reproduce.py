"""``localmkl reproduce``."""

import json
import re

import pytest
from typer.testing import CliRunner

from localmkl.cli import app
from localmkl.experiments import EXPERIMENTS

REPEATED = {"splice": "30", "tss": "40", "protein": "60", "images": "all"}
REPEATED |= {"time": "40", "localized": "0", "transduction": "30", "gates": "30", "organisms": "40"}
REPEATED |= {"scale": "60", "stories": "all", "omics": "40"}
REPEATED |= {"transduction-classes": "30", "unlabelled": "30"}
LONG = ("stories", "omics")
"""Experiments that take long in their quick version too; `tests/experiments` has their parts."""


def invoke(*arguments):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


def test_the_list_names_place_data_fidelity_and_duration():
    result = invoke("--list")
    assert result.exit_code == 0
    for name, experiment in EXPERIMENTS.items():
        assert name in result.output
        for source in experiment.sources:
            pattern = rf"--data {source.name} +{source.fidelity}: .*\n +about {source.duration} on two cores"
            assert re.search(pattern, result.output), source.name
    assert "Table 1" in result.output
    assert invoke().output == result.output


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name in LONG else name for name in EXPERIMENTS]
)
def test_the_quick_version_runs_resumes_and_is_summarised(name, tmp_path):
    common = (name, "--quick", "--out", tmp_path, "--jobs", 1)
    first = invoke(*common, "--reps", 1, "--sizes", REPEATED[name])
    assert first.exit_code == 0, first.output
    path = tmp_path / name / "quick.jsonl"
    before = path.read_text()
    methods = [m.label for m in EXPERIMENTS[name].quickened().methods if not m.slow]
    rows = [json.loads(line) for line in before.splitlines()[1:]]
    assert sorted(row["method"] for row in rows) == sorted(methods)
    assert not [row["error"] for row in rows if "error" in row]
    assert all({"score", "gap", "seconds", "seed", "version", "commit", "cpu"} <= set(row) for row in rows)
    again = invoke(*common, "--reps", 1, "--sizes", REPEATED[name])
    assert path.read_text() == before
    assert again.stdout == first.stdout == path.with_suffix(".md").read_text() + "\n"
    assert all(f"| {label} " in first.stdout for label in methods)
    assert len(path.with_suffix(".csv").read_text().splitlines()) == 1 + len(methods)
    assert invoke(*common, "--summary").stdout == first.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing",), "NAME must be one of 'splice', 'tss'"),
        (("splice", "--data", "moon"), "must be one of 'acceptor-398', 'acceptor-82', 'uci', got 'moon'"),
        (("splice", "--quick", "--methods", "SVM"), "--methods must be among"),
        (("splice", "--quick", "--methods", ""), "--methods must be among"),
        (("splice", "--quick", "--sizes", ""), "values of the training size, such as 30, got ''"),
        (("splice", "--quick", "--methods", "UNIF", "--sizes", "117"), "must lie between 2 and 116 with 120"),
        (("splice", "--summary"), "run the experiment first"),
        (("splice", "--images", "here"), "--images belongs to the experiment 'images'"),
        (("images", "--images", "nowhere"), "--images must be a folder with one sub-folder of images per"),
        (("images", "--images", "here", "--data", "mfeat"), "--images takes the place of --data, got both"),
        (("all", "--quick", "--summary"), "omics: "),
        (
            ("splice", "--quick", "--sizes", "30,120"),
            "--sizes must be from 1 to 119, so that some of the rows",
        ),
    ],
)
def test_nonsense_is_refused_in_words(tmp_path, arguments, message):
    result = invoke(*arguments, "--out", tmp_path)
    assert result.exit_code == 1
    assert message in result.output


def test_data_that_is_not_there_is_named_and_shipped_data_stands_in(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCALMKL_DATA", str(tmp_path / "empty"))
    result = invoke("tss", "--out", tmp_path)
    assert result.exit_code == 1
    assert "mouse_promoters/Mouse_tata.fa" in result.output
    from localmkl.experiments.commands import choose_source

    assert choose_source(EXPERIMENTS["splice"]).name == "uci"
    assert "not there" in invoke("--list").output
