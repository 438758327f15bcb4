"""The page of the reproduction: its commands, figures and numbers are those of experiments and results."""

import csv
import re
import shlex

import pytest
from reproduction.catalogue import EXPERIMENTS
from reproduction.page import PAGE, renew_page, shared_means, signed
from reproduction.rows import read_rows
from reproduction.running import choose_methods, result_path
from reproduction.summary import read_table, to_csv

ROOT = PAGE.parents[1]
RESULTS = ROOT / "results"
TEXT = PAGE.read_text(encoding="utf-8")
PROSE = "\n".join(line for line in TEXT.splitlines() if not line.startswith(("|", "![", "<!--")))
COMMANDS = sorted(set(re.findall(r"`run ([^`]*)`", TEXT)))
ACCEPTOR = "transduction --data acceptor-82"
FOLDS = ("MKL, p = 1", "MKL, p = 1.2", "MKL, p = 2")
CURVE = ("CLMKL, p = 1", "MKL, p = 1")
WAYS = [(f"coupled HLMKL, {way}", "UNIF", (50,)) for way in ("inductive", "transductive")]
LEADS = {
    ACCEPTOR: [("CLMKL, transductive", "CLMKL, inductive", (50, 100, 200))],
    f'{ACCEPTOR} --methods UNIF "coupled HLMKL"': WAYS,
    'transduction --data mouse --methods UNIF "coupled HLMKL"': WAYS,
    "splice --data acceptor-398 --methods UNIF LMKL": [("LMKL", "UNIF", (50, 800))],
    "tss --data mouse": [(*CURVE, (50, 200, 1000))],
    "tss --data human": [(*CURVE, (50, 100, 1000))],
    "tss --data human-core": [(*CURVE, (50, 400, 1000))],
    "tss --data human-core-others": [(*CURVE, (50, 400, 1000))],
    "protein --data full": [(f"CL{label}", label, (311,)) for label in FOLDS],
    "images --data flowers17": [("CLMKL", "MKL", ("all",))],
    "images --data flowers17 --methods MKL LMKL": [("LMKL", "MKL", ("all",))],
}
"""Command of a verdict: the leads that its row states, in their order."""


def parts(command):
    name, *options = re.split(r" --\w+ ", command)
    experiment = EXPERIMENTS[name]
    source = experiment.sources[options[0] if options else next(iter(experiment.sources))]
    return experiment, source, shlex.split(options[1]) if len(options) > 1 else None


def verdict(command):
    (line,) = [line for line in TEXT.splitlines() if line.startswith("|") and f"`run {command}`" in line]
    return line.strip("|").split("|")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_names_an_experiment_its_data_and_its_methods(command):
    experiment, source, methods = parts(command)
    assert choose_methods(experiment, methods)
    assert read_table(experiment, source, result_path(RESULTS, experiment, source)).rows


@pytest.mark.parametrize("command", LEADS)
def test_the_leads_of_a_verdict_are_those_of_the_results(command):
    experiment, source, _ = parts(command)
    table = read_table(experiment, source, result_path(RESULTS, experiment, source))
    scores, found = table.scores(), []
    for one, other, points in LEADS[command]:
        for point in points:
            ours, theirs = shared_means([scores[one, point], scores[other, point]])[0]
            found.append(signed(ours - theirs))
    assert re.findall(r"[+−]\d+\.\d|\b0\.0\b", verdict(command)[1]) == found


def test_the_times_of_the_verdict_are_those_of_the_results():
    with open(RESULTS / "time" / "mouse.csv", encoding="utf-8") as file:
        of = {row["method"]: float(row["mean"]) for row in csv.DictReader(file) if row["point"] == "1000"}
    ratios = [of["LMKL"] / of[f"CLMKL, p = {p}"] for p in (1, 2)]
    ratios += [of[f"{name}, p = 1"] / of[f"{name}, p = 2"] for name in ("MKL", "CLMKL")]
    stated = "{:.0f} and {:.0f} times; {:.1f} times for MKL, {:.1f} for CLMKL".format(*ratios)
    assert stated in verdict("time --data mouse")[1]


def test_the_tables_of_the_page_are_those_of_the_rows(tmp_path):
    copy = tmp_path / "page.md"
    copy.write_text(TEXT, encoding="utf-8")
    renew_page(RESULTS, copy)
    assert copy.read_text(encoding="utf-8") == TEXT
    assert TEXT.count("<!-- table ") == TEXT.count("<!-- end -->") == 2


def test_the_summaries_are_those_of_the_rows():
    for experiment in EXPERIMENTS.values():
        for source in experiment.sources.values():
            path = result_path(RESULTS, experiment, source)
            table = read_table(experiment, source, path)
            if table is not None:
                assert path.with_suffix(".csv").read_text(encoding="utf-8") == to_csv(table), path


def test_the_page_is_short_and_its_figures_are_there():
    figures = re.findall(r"!\[[^]]+\]\(\.\./([^)]+)\)", TEXT)
    assert len(figures) == 2
    assert [figure for figure in figures if not (ROOT / figure).exists()] == []
    prose = re.sub(r"[#*`]", "", re.sub(r"\]\([^)]*\)", "]", PROSE))
    assert len(prose.split()) <= 1100
    sentences = [one.split() for one in re.split(r"(?<=[.:?!])\s+", prose) if one.strip()]
    assert sum(map(len, sentences)) / len(sentences) <= 22


def test_every_row_tells_version_commit_seed_and_gap():
    paths = sorted(RESULTS.glob("*/*.jsonl.gz"))
    assert len(paths) > 25
    for path in paths:
        for row in read_rows(path)[1]:
            assert "error" not in row, path
            assert row["version"], path
            assert row["commit"], path
            assert row["seed"] >= 0, path
            if row["gap"] is None:
                assert row["method"].startswith("logistic regression"), path
            elif "Algorithm 1" not in row["method"]:
                assert row["gap"] <= 1e-3, (path, row)


@pytest.mark.parametrize("name", ["splice", "tss", "protein", "images"])
def test_every_published_number_belongs_to_a_method_and_a_point(name):
    experiment = EXPERIMENTS[name]
    assert set(experiment.published) <= {method.label for method in experiment.methods}
    for cells in experiment.published.values():
        assert tuple(cells) == experiment.points
    if name == "splice":
        at_50 = {method: cells[50].mean for method, cells in experiment.published.items()}
        assert at_50["CLMKL, p = 4/3"] == 90.9
        assert max(mean for method, mean in at_50.items() if not method.startswith("CLMKL")) == 85.4
