"""A few trials of every campaign; ``python -m benchmarks.hostile`` runs the long ones."""

import json
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.hostile import campaign
from benchmarks.hostile.__main__ import NAMES

LONG = ("disks", "kills", "limits", "threads")
"""Campaigns that take long, however short: they fill disks, and wait for processes."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name in LONG else name for name in NAMES]
)
def test_no_trial_of_a_short_campaign_finds_a_defect(name):
    module = import_module(f"benchmarks.hostile.{name}")
    rows = [module.trial(seed) for seed in range(module.SHORT)]
    assert all(row["verdict"] for row in rows)
    assert [(seed, row["defect"]) for seed, row in enumerate(rows) if row["defect"]] == []


@pytest.mark.parametrize("seed", [1238, 58252, 58332])
def test_problems_that_once_were_a_defect_are_none(seed):
    from benchmarks.hostile import problems

    assert problems.trial(seed)["defect"] is None


TRIALS_THAT_GO_WRONG = """
import os, time
LIMIT = 0.5
def trial(seed):
    if seed == 1:
        time.sleep(60)
    if seed == 2:
        os._exit(7)
    if seed == 3:
        raise KeyError("what")
    return {"verdict": "fine", "defect": None}
"""


@pytest.mark.long
def test_hangs_crashes_and_exceptions_become_rows_and_a_run_goes_on_where_it_was(tmp_path, monkeypatch):
    (tmp_path / "wrongly.py").write_text(TRIALS_THAT_GO_WRONG)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(campaign, "FIRST_GRACE", 5.0)
    monkeypatch.setattr(campaign, "GRACE", 0.5)
    rows = campaign.run("wrongly", range(5), tmp_path, jobs=2)
    assert [row["verdict"] for row in rows] == ["fine", "hang", "crash", "unexpected", "fine"]
    assert [bool(row["defect"]) for row in rows] == [False, True, True, True, False]
    with open(tmp_path / "wrongly.jsonl", "a") as file:
        file.write('{"seed": 5, "verd')
    assert len((tmp_path / "wrongly.jsonl").read_text().splitlines()) == 6
    again = campaign.run("wrongly", range(6), tmp_path)
    assert again[:5] == rows
    assert again[5]["verdict"] == "fine"
    assert campaign.run("wrongly", range(6), tmp_path) == again
    told = campaign.summarise("wrongly", again, tmp_path)
    assert "6 trials, 3 defects" in told
    assert json.loads((tmp_path / "hostile_wrongly.json").read_text())["verdicts"]["fine"] == 3


def test_the_witness_of_problems_objects_to_certificates_that_lie(monkeypatch):
    from benchmarks.hostile import problems

    from localmkl.solvers import certify

    honest = certify._judge

    def lying(*arguments):
        solution = honest(*arguments)
        return replace(solution, gap=0.5 * solution.gap)

    monkeypatch.setattr(certify, "_judge", lying)
    told = [problems.trial(seed)["defect"] or "" for seed in range(12)]
    assert sum("the gap is" in defect for defect in told) >= 3
