"""The page on reproductions: its commands, figures and numbers are those of experiments and results."""

import csv
import gzip
import json
import re
from pathlib import Path

import pytest

from localmkl.experiments import EXPERIMENTS
from localmkl.experiments.commands import choose_source
from localmkl.experiments.runner import choose_methods

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
PAGE = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
UNFOLDED = re.sub(r"<details>.*?</details>", "", PAGE, flags=re.DOTALL)
COMMANDS = sorted(set(re.findall(r"`(?:localmkl )?reproduce ([^`]*)`", PAGE)))

LEADS = {
    "transduction --data acceptor-82": [
        ("transduction/acceptor-82", "CLMKL, transductive", "CLMKL, inductive", "50 100 200"),
    ],
    "splice --data acceptor-398 --methods UNIF,LMKL": [("splice/acceptor-398", "LMKL", "UNIF", "50 800")],
    "tss --data mouse": [("tss/mouse", "CLMKL, p = 1", "MKL, p = 1", "50 200 1000")],
    "tss --data human": [("tss/human", "CLMKL, p = 1", "MKL, p = 1", "50 100 1000")],
    "tss --data human-core": [("tss/human-core", "CLMKL, p = 1", "MKL, p = 1", "50 400 1000")],
    "tss --data human-core-others": [("tss/human-core-others", "CLMKL, p = 1", "MKL, p = 1", "50 400 1000")],
    "protein --data full": [
        ("protein/full", f"CLMKL, p = {p}", f"MKL, p = {p}", "311") for p in ("1", "1.2", "2")
    ],
    "images --data flowers17": [("images/flowers17", "CLMKL", "MKL", "all")],
    "images --data flowers17 --methods MKL,LMKL": [("images/flowers17", "LMKL", "MKL", "all")],
}
"""Command of a verdict: the differences of means that its row states, in their order."""

ON = {
    "splice sites, 82 letters": "acceptor-82",
    "splice sites, 398 letters": "acceptor-398",
    "UCI splice sites": "uci",
    "mouse promoters": "mouse",
    "human promoters": "human",
    "core promoters": "human-core",
}
"""Data as the page calls them: as the results do."""


def means(name):
    """Return {(method, point): mean} of a summary."""
    with open(RESULTS / f"{name}.csv", encoding="utf-8") as file:
        return {(row["method"], row["point"]): float(row["mean"]) for row in csv.DictReader(file)}


def verdict(command):
    """Return the row of a table of verdicts that names a command, in cells."""
    (line,) = [
        line for line in UNFOLDED.splitlines() if line.startswith("|") and f"`reproduce {command}`" in line
    ]
    return line.strip("|").split("|")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_names_an_experiment_its_data_and_its_methods(command):
    name, *rest = command.split()
    options = dict(zip(rest[::2], rest[1::2], strict=True))
    assert options.keys() <= {"--data", "--methods"}
    if options.get("--data") != "NAME":
        source = choose_source(EXPERIMENTS[name], options.get("--data", EXPERIMENTS[name].sources[0].name))
        assert source.fidelity
    if "--methods" in options:
        assert choose_methods(EXPERIMENTS[name], options["--methods"].split(","))


def test_every_verdict_names_its_command():
    tables = re.findall(r"^\|---.*\n((?:\|.*\n)+)", UNFOLDED[: UNFOLDED.index("## Splice")], re.MULTILINE)
    assert len(tables) == 2
    lines = "".join(tables).splitlines()
    assert len(lines) > 15
    assert [line for line in lines if "`reproduce " not in line] == []


@pytest.mark.parametrize("command", LEADS)
def test_the_leads_of_a_verdict_are_those_of_the_results(command):
    stated = re.findall(r"[+−]\d+\.\d|\b0\.0\b", verdict(command)[1])
    found = []
    for name, one, other, points in LEADS[command]:
        of = means(name)
        found += [signed(of[one, point] - of[other, point]) for point in points.split()]
    assert stated == found


def test_the_times_of_the_verdict_are_those_of_the_results():
    of = means("time/mouse")
    ratios = [of["LMKL", "1000"] / of[f"CLMKL, p = {p}", "1000"] for p in (1, 2)]
    ratios += [of[f"{name}, p = 1", "1000"] / of[f"{name}, p = 2", "1000"] for name in ("MKL", "CLMKL")]
    said = "{:.0f} and {:.0f} times; {:.1f} times for MKL, {:.1f} for CLMKL".format(*ratios)
    assert said in verdict("time --data mouse")[1]


def test_figures_are_there_and_what_is_not_folded_away_is_short():
    figures = re.findall(r"!\[[^]]+\]\(\.\./([^)]+)\)", PAGE)
    assert len(figures) > 12
    assert [figure for figure in figures if not (ROOT / figure).exists()] == []
    prose = "\n".join(line for line in UNFOLDED.splitlines() if not line.startswith(("|", "![")))
    words = re.findall(r"\w[\w.,'-]*", re.sub(r"\]\([^)]*\)", "", prose))
    assert len(words) < 1100  # five minutes, beside the tables


def table(first):
    """Return the header of the table that begins with a cell, and {first cell of a row: the others}."""
    lines = PAGE.splitlines()
    (start,) = [number for number, line in enumerate(lines) if line.startswith(f"| {first} |")]
    rows = {}
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        name, *cells = (cell.replace("**", "").strip() for cell in line.strip("|").split("|"))
        rows[name] = cells
    return [cell.strip() for cell in lines[start].strip("|").split("|")][1:], rows


def signed(value):
    """Return a difference as the page writes it."""
    return re.sub(r"^[+−]0\.0$", "0.0", f"{value:+.1f}".replace("-", "−"))


def test_the_table_of_rows_without_labels_is_that_of_the_results():
    points, rows = table("labels")
    assert len(rows) == 6
    for name, cells in rows.items():
        curve, of = means(f"unlabelled/{ON[name]}"), means(f"transduction/{ON[name]}")
        few = 0 if ON[name] == "acceptor-82" else 3  # points of which the curve has more repetitions
        gains = [curve["CLMKL, u = all", point] - curve["CLMKL, u = 0", point] for point in points[:few]]
        gains += [of["CLMKL, transductive", point] - of["CLMKL, inductive", point] for point in points[few:]]
        assert cells == [signed(gain) for gain in gains], name


def test_the_table_of_how_many_rows_without_labels_is_that_of_the_results():
    numbers, rows = table("rows without labels")
    assert len(rows) == 6
    for name, cells in rows.items():
        of = means(f"unlabelled/{ON[name]}")
        gains = [of[f"CLMKL, u = {number}", "50"] - of["CLMKL, u = 0", "50"] for number in numbers]
        assert cells == [signed(gain) for gain in gains], name


def test_the_table_of_promoters_is_that_of_the_results():
    points, rows = table("training size")
    assert len(rows) == 15
    for name, cells in rows.items():
        data, method = name.split(": ")
        of = means(f"tss/{'human-core' if data == 'core' else data}")
        assert cells == [f"{of[method, point]:.1f}" for point in points], name


def test_the_table_of_proteins_is_that_of_the_results():
    _, rows = table("accuracy in percent, 15 repetitions")
    of = means("protein/full")
    for name, cells in rows.items():
        method = name.removesuffix(" (paper)")
        found = [of[f"{method}, p = {p}", "311"] for p in ("1", "1.2", "2")]
        assert [cell.split()[0] for cell in cells[1:]] == [f"{mean:.1f}" for mean in found], name
    assert rows["MKL (paper)"][0].split()[0] == f"{of['UNIF', '311']:.1f}"


def test_the_table_of_images_is_that_of_the_results():
    _, rows = table("accuracy in percent, 11 folds")
    of = means("images/flowers17")
    assert {name: cells[0].split()[0] for name, cells in rows.items()} == {
        method: f"{mean:.1f}" for (method, _), mean in of.items()
    }


def test_every_row_says_version_commit_seed_and_gap():
    paths = sorted(RESULTS.glob("*/*.jsonl.gz"))
    assert len(paths) > 25
    for path in paths:
        _, *rows = map(json.loads, gzip.decompress(path.read_bytes()).splitlines())
        for row in rows:
            assert "error" not in row, path
            assert row["version"], path
            assert row["commit"], path
            assert row["seed"] >= 0, path
            if row["gap"] is None:
                assert row["method"].startswith("logistic regression"), path
            elif "Algorithm 1" not in row["method"]:
                assert row["gap"] <= 1e-3, (path, row)
