"""The table of files: every data set has an address and terms, and the page on data says the same."""

import doctest
import inspect
import re
from pathlib import Path

import pytest

from localmkl import datasets
from localmkl.datasets.registry import FILES

PAGE = (Path(__file__).parents[2] / "docs" / "data.rst").read_text(encoding="utf-8")
FETCHERS = [name for name in datasets.__all__ if name.startswith("fetch_")]
ORIGINS = list(dict.fromkeys(file.origin for file in FILES.values()))


def read_by(name):
    """Return the files that a function reads."""
    return [file for file in FILES.values() if file.origin.by == name]


@pytest.mark.parametrize("name", FETCHERS)
def test_every_file_that_is_fetched_has_an_address_at_a_fixed_commit_and_terms(name):
    assert read_by(name)
    for file in read_by(name):
        assert file.origin.terms
        assert file.origin.repository
        assert re.match(r"https://raw\.githubusercontent\.com/[^/]+/[^/]+/[0-9a-f]{40}/.*\.\w+$", file.url)
        assert re.fullmatch("[0-9a-f]{64}", file.sha256)
        assert file.size > 0


@pytest.mark.parametrize("name", FETCHERS)
def test_docstrings_state_the_terms_and_the_repository(name):
    text = " ".join(inspect.getdoc(getattr(datasets, name)).split())
    assert "Terms: " in text
    for file in read_by(name):
        assert file.origin.repository in text


@pytest.mark.parametrize("name", FETCHERS)
def test_examples_of_docstrings_print_what_they_show_where_the_data_is(name, monkeypatch):
    for file in read_by(name):
        if not (datasets.data_home() / file.path).exists():
            pytest.skip(f"{file.path} is not in the data home {datasets.data_home()}")
    monkeypatch.setenv("LOCALMKL_DATA_URL", "http://127.0.0.1:9")  # no other place is asked
    text = inspect.getdoc(getattr(datasets, name)).replace("# doctest: +SKIP", "")
    parsed = doctest.DocTestParser().get_doctest(text, {name: getattr(datasets, name)}, name, None, None)
    assert len(parsed.examples) == 2
    said = []
    assert doctest.DocTestRunner().run(parsed, out=said.append).failed == 0, "".join(said)


def row(origin):
    """Return what the page says about a data set."""
    files = [file for file in FILES.values() if file.origin == origin]
    count = len(files)
    sizes = [file.size for file in files]
    size = "size not known" if None in sizes else f"{sum(sizes) / 1e6:.2f} MB"
    reader = f"`~localmkl.datasets.{origin.by}`" if origin.by in FETCHERS else f"``{origin.by}``"
    known = [
        origin.terms or "not known",
        origin.repository
        and f"`{origin.repository.removeprefix('https://github.com/')} <{origin.repository}>`__",
    ]
    cells = [
        f"``{origin.folder}``",
        f"{origin.what}; {reader}",
        f"{count} file{'s' * (count > 1)}, {size}" if files[0].path != origin.folder else "a folder",
    ]
    return "   * - " + "\n     - ".join([*cells, known[0], known[1] or "no address is known"]) + "\n"


@pytest.mark.parametrize("origin", ORIGINS, ids=lambda origin: origin.name)
def test_the_page_on_data_has_the_row_of_the_table(origin):
    assert row(origin) in PAGE


def test_the_page_on_data_has_no_other_rows():
    assert PAGE.count("\n   * - ") == 1 + len(ORIGINS)
