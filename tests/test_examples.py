"""Every example runs and draws, and so does the code on every page of the documentation."""

import doctest
import runpy
from pathlib import Path

import numba
import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
PAGES = sorted(page for page in (ROOT / "docs").glob("*.rst") if ">>>" in page.read_text())


@pytest.fixture(autouse=True)
def one_thread():
    """Threads that wait for each other would take most of the time of such small problems."""
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(threads)


@pytest.fixture
def drawn(monkeypatch):
    """Figures that were shown; nothing opens a window."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    shown = []

    def show():
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            figure.canvas.draw()
            shown.append(figure)
        pyplot.close("all")

    monkeypatch.setattr(pyplot, "show", show)
    yield shown
    pyplot.close("all")


def test_the_gallery_is_numbered_without_gaps():
    assert [int(path.name[5:7]) for path in EXAMPLES] == list(range(1, len(EXAMPLES) + 1))


@pytest.mark.long  # `make docs` runs them too
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs_and_draws(path, drawn):
    runpy.run_path(str(path))
    assert drawn, "no figure was shown"
    assert all(ax.has_data() for figure in drawn for ax in figure.axes)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_on_the_page_runs(page):
    failed, attempted = doctest.testfile(str(page), module_relative=False)
    assert attempted > 0
    assert failed == 0
