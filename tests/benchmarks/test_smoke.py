"""Every benchmark still runs: tiny sizes, no claim about time."""

import json
import sys
from importlib import import_module
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.__main__ import NAMES

from benchmarks import harness

LONG = (
    "chunks",
    "devices",
    "factors",
    "gates",
    "memory",
    "report",
    "said",
    "search",
    "sequences",
    "sparse_text",
    "tasks",
)
"""Benchmarks that take ten seconds and more also with tiny sizes: they start processes, or search."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name in LONG else name for name in NAMES]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_benchmark_runs_and_its_rows_can_be_written(name, tmp_path):
    rows = import_module(f"benchmarks.{name}").run(smoke=True)
    assert rows
    path = harness.write(name, rows, tmp_path)
    content = json.loads(path.read_text())
    assert len(content["rows"]) == len(rows)
    assert content["provenance"]["numpy"]
    harness.show(name, rows)


def test_the_published_algorithm_reaches_the_same_optimum():
    from benchmarks.references import algorithm_1, make_blobs

    from localmkl.solvers.convex import solve_convex

    problem = make_blobs(80).problem(4 / 3, 2)
    assert algorithm_1(problem, 1e-4).primal == pytest.approx(
        solve_convex(problem, tol=1e-6).primal, rel=2e-4
    )


def test_the_figure_is_drawn_from_the_rows(tmp_path):
    pytest.importorskip("matplotlib", reason="the figure needs matplotlib")
    from benchmarks.figures import roofline

    row = {"n": 2000, "p": 1.333, "l": 3}
    row |= {"reads 0.001": 2.0, "time 0.001": 6.0, "reads 1e-06": 3.0, "time 1e-06": 9.0}
    text = roofline([row], tmp_path / "roofline.svg").read_text()
    assert text.startswith("<?xml")
