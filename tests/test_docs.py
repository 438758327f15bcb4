"""Pages on the command line: their commands print what they show, their tables are those of the code."""

import csv
import json
import math
import re
import shlex
import textwrap
import tomllib
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from localmkl import CLMKLClassifier
from localmkl.cli import app, voice
from localmkl.kernels import KERNEL_WORDS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "command_line.rst").read_text(encoding="utf-8")
HOW_TO = ("howto_sequences", "howto_tables", "howto_grams")
BLOCK = re.compile(r"^\.\. code-block:: (\w+)\n(?:   :caption: (\S+)\n)?\n((?:(?: {3}.*)?\n)+)", re.MULTILINE)
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]\d+)?")


def blocks(page):
    """Return kind, caption and text of the code blocks of a page."""
    return [(kind, name, textwrap.dedent(text).strip()) for kind, name, text in BLOCK.findall(page)]


def sessions(page):
    """Return the commands of the console blocks, with the output that the page shows for each."""
    text = "\n".join(text for kind, _, text in blocks(page) if kind == "console").replace("\\\n", "")
    return [part.partition("\n")[::2] for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]]


def agree(shown, printed):
    """Whether two lines have the same words and nearly the same numbers; `...` stands for anything."""
    words = [re.escape(part).replace(r"\#", NUMBER.pattern) for part in NUMBER.sub("#", shown).split("...")]
    if re.fullmatch(".*".join(words), printed) is None:
        return False
    pairs = [] if "..." in shown else zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True)
    return all(
        "e" in a or math.isclose(float(a), float(b), rel_tol=0.1, abs_tol="." not in a) for a, b in pairs
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Make the files that the pages work with."""
    monkeypatch.chdir(tmp_path)
    for kind, name, text in sorted(blocks(PAGE), key=lambda block: block[1] == ""):
        if kind == "python":
            exec(text, {})
        elif name:
            Path(name).write_text(text)


def test_the_commands_print_what_the_page_shows(folder):
    assert len(sessions(PAGE)) > 10
    run_and_compare(sessions(PAGE))


def test_the_commands_of_how_to_pages_print_what_these_show(folder):
    for name in HOW_TO:
        found = sessions((ROOT / "docs" / f"{name}.rst").read_text(encoding="utf-8"))
        assert found
        run_and_compare(found)


def test_the_first_hour_goes_as_its_page_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "first_hour.rst").read_text(encoding="utf-8")
    (table,) = [text for kind, _, text in blocks(page) if kind == "python"]
    exec(table, {})
    assert len(sessions(page)) > 8
    run_and_compare(sessions(page))


def run_and_compare(found):
    for command, shown in found:
        program, *arguments = shlex.split(command)
        assert program == "localmkl"
        result = CliRunner().invoke(app, arguments)
        lines = shown.strip().splitlines()
        printed = [line for line in result.output.strip().splitlines() if not line.startswith("fits ")]
        assert len(lines) == len(printed), (command, result.output)
        assert [b for a, b in zip(lines, printed, strict=True) if not agree(a, b)] == [], command
        assert (result.exit_code == 0) == ("Error:" not in shown)


def test_the_table_of_kernels_is_complete():
    row = r"^   \* - ``(\w+)``\n     - `~localmkl\.kernels\.(\w+)`\n     -(?: ``(\w+)``)?$"
    found = {word: (kind, own or None) for word, kind, own in re.findall(row, PAGE, re.MULTILINE)}
    assert found == dict(KERNEL_WORDS)


def test_the_table_of_exit_codes_is_that_of_the_code():
    codes = re.findall(r"^   \* - ``(\d+)``\n     - \w+", PAGE, re.MULTILINE)
    assert list(map(int, codes)) == [0, voice.FAILED, voice.MISUSED, voice.INTERRUPTED]


def test_getting_started_names_every_extra():
    page = (ROOT / "docs" / "getting_started.rst").read_text(encoding="utf-8")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(re.findall(r"^``(\w+)``  ", page, re.MULTILINE)) == set(extras)


def test_every_promise_names_a_test_that_is_there():
    page = (ROOT / "docs" / "promises.rst").read_text(encoding="utf-8")
    named = re.findall(r"``(tests/\S+\.py)::(\w+)``", page)
    assert len(named) > 20
    lost = [pair for pair in named if f"def {pair[1]}(" not in (ROOT / pair[0]).read_text(encoding="utf-8")]
    assert lost == []


def test_what_the_vocabulary_calls_an_attribute_is_one_of_a_fitted_model():
    page = (ROOT / "docs" / "vocabulary.rst").read_text(encoding="utf-8")
    names = set(re.findall(r"``(\w+_)``", page))
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    model = CLMKLClassifier(n_clusters=2, random_state=0).fit(X, y)
    assert names
    assert {name for name in names if not hasattr(model, name)} == set()


def heading_places(path):
    """Return the places that headings of a page can be linked to, as hosts of repositories name them."""
    text = path.read_text(encoding="utf-8")
    titles = (
        re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        if path.suffix == ".md"
        else re.findall(r"^(\S.*)\n[=\-^]{3,}$", text, re.MULTILINE)
    )
    return {re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def test_every_link_of_the_readme_leads_somewhere():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    links = [link.partition("#")[::2] for link in re.findall(r"\]\(([^)]+)\)", text)]
    assert len(links) > 25
    assert [path for path, _ in links if not (ROOT / path).exists()] == []
    assert [
        (path, place) for path, place in links if place and place not in heading_places(ROOT / path)
    ] == []


def test_every_point_of_the_readme_on_what_is_in_it_has_a_link():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    points = re.findall(r"^- \*\*.*?(?=^- |^$|^\S)", text, re.MULTILINE | re.DOTALL)
    assert len(points) > 12
    assert [point for point in points if "](" not in point] == []


def test_gains_and_ranks_that_the_readme_claims_are_those_of_the_results():
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    lines = (ROOT / "benchmarks" / "results" / "quality.jsonl").read_text(encoding="utf-8").splitlines()
    scores: dict = {}
    for row in map(json.loads, lines[1:]):  # the first line holds the settings
        scores.setdefault((row["set"], row["method"]), []).append(100.0 * row["score"])
    made_up = ("generated local", "generated global", "generated numbers", "hospitals")
    real = sorted({name for name, _ in scores} - set(made_up))
    gains = [np.mean(scores[name, "CLMKL tuned"]) - np.mean(scores[name, "MKL tuned"]) for name in real]
    assert f"on all {len(real)} real sets" in text
    claimed = float(re.search(r"within ([0-9.]+) points of each other", text)[1])
    assert claimed - 0.1 < np.abs(gains).max() <= claimed
    summary = (ROOT / "benchmarks" / "results" / "quality.md").read_text(encoding="utf-8")
    for name, said in (("fit", "a mean rank of"), ("baseline", "the best tuned model of scikit-learn")):
        rank = float(re.search(rf"^- {name}: mean rank ([0-9.]+)$", summary, re.MULTILINE)[1])
        assert f"{said} {rank:.1f} " in text


def test_the_readme_has_the_table_of_organisms_as_it_was_measured():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    with open(ROOT / "results" / "organisms" / "two.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for method, shown in {
        "one MKL for all": "one MKL for all",
        "one MKL for each": "one MKL for each",
        "groups, share chosen": '`gate="groups"`, share chosen',
    }.items():
        means = [float(row["mean"]) for row in rows if row["method"] == method]
        (line,) = [line for line in text.splitlines() if line.startswith(f"| {shown} |")]
        cells = [float(cell.strip(" *")) for cell in line.split("|")[2:-1]]
        assert np.allclose(cells, means, atol=0.051)
