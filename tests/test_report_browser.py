"""The report in a browser: no errors, no network, day and night, phone and paper, what can be moved."""

import shutil
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import recall_score

from localmkl import CLMKLClassifier, MKLClassifier
from localmkl.datasets import load_splice
from localmkl.inference.heldout import held_out
from localmkl.kernels import RBF, Linear, WeightedDegree
from localmkl.report import write_report

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright to drive a browser")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs chromium on the path")


@pytest.fixture(scope="module")
def patients(tmp_path_factory):
    """The report on eight hospitals with long names, and what it is made from."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(320, 3)), columns=["age", "a_column_with_quite_a_long_name", "bmi"])
    X["sex"] = rng.choice(["female", "male"], 320)
    X["hospital"] = np.repeat([f"University Hospital {name}" for name in "ABCDEFGH"], 40)
    y = np.where(X["age"] + X["bmi"] * (X["hospital"] < "University Hospital C") > 0.3, "readmitted", "home")
    kernels = [Linear(columns=[name]) for name in X.columns[:3]] + [RBF(columns=list(X.columns[:3]))]
    model = CLMKLClassifier(kernels, gate="groups", groups="hospital", shared=0.5, loss="log_loss").fit(X, y)
    path = tmp_path_factory.mktemp("browser") / "patients.html"
    names = [f"patient {i}" for i in range(320)]
    write_report(model, path, X, y, names=names, cv=2)
    return path, held_out(model, X, y, n_folds=2)


@pytest.fixture(scope="module")
def sequences(tmp_path_factory):
    X, y, _ = load_splice("EI")
    chosen = np.concatenate([np.flatnonzero(y == 1)[:40], np.flatnonzero(y == -1)[:40]])
    model = MKLClassifier([WeightedDegree(d) for d in (1, 2)]).fit(X[chosen], y[chosen])
    path = tmp_path_factory.mktemp("browser") / "sequences.html"
    return write_report(model, path, X[chosen], y[chosen], cv=2)


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield found
        found.close()


@contextmanager
def opened(browser, path, **options):
    """Yield the drawn page; a word on the console or a request to the network is an error."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
    page = context.new_page()
    said, wanted = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: wanted.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector("body[data-drawn]")
    yield page
    assert said == []
    assert wanted == [path.as_uri()]
    context.close()


OUTSIDE = """width => [...document.querySelectorAll("body *")].filter(one => {
  const box = one.getBoundingClientRect();
  return box.width && box.right > width + 1 && !one.closest(".scroll, .skip");
}).map(one => one.outerHTML.slice(0, 80))"""

OVERLAPS = """() => [...document.querySelectorAll("svg")].flatMap(svg => {
  const texts = [...svg.querySelectorAll("text:not(.letter)")];
  const boxes = texts.map(one => [one.textContent, one.getBoundingClientRect()]);
  return boxes.flatMap(([name, a], i) => boxes.slice(i + 1).filter(([, b]) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2
  ).map(([other]) => [name, other]));
})"""

CUT = """() => [...document.querySelectorAll("svg text")].filter(one => {
  const [box, whole] = [one.getBoundingClientRect(), one.closest("svg").getBoundingClientRect()];
  return box.left < whole.left - 1 || box.right > whole.right + 1 || box.bottom > whole.bottom + 1;
}).map(one => one.textContent)"""


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("which", ["patients", "sequences"])
def test_nothing_is_cut_nothing_overlaps_and_tables_scroll_in_their_boxes(browser, request, which, width):
    found = request.getfixturevalue(which)
    path = found[0] if which == "patients" else found
    with opened(browser, path, viewport={"width": width, "height": 844}, offline=True) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(OUTSIDE, width) == []
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(OVERLAPS) == []
        assert page.evaluate(CUT) == []


def test_a_phone_shows_the_most_important_position_first(browser, sequences):
    with opened(browser, sequences, viewport={"width": 390, "height": 844}) as page:
        box = page.locator("[data-at]").first
        at, left, width = (
            box.evaluate(f"one => one.{name}") for name in ("dataset.at", "scrollLeft", "clientWidth")
        )
        assert left <= float(at) * box.evaluate("one => one.scrollWidth") <= left + width


def test_the_threshold_moves_the_figures_and_the_dot(browser, patients):
    path, held = patients
    truth, given = held.y == "readmitted", held.probabilities()
    with opened(browser, path) as page:
        before = page.get_attribute("#roc-point", "cx")
        page.focus("#threshold")
        for _ in range(20):
            page.keyboard.press("ArrowLeft")
        assert page.inner_text("#threshold-value") == "0.30"
        for place, label in (("sensitivity", True), ("specificity", False)):
            share = recall_score(truth, given >= 0.3, pos_label=label)
            assert page.inner_text(f"#at-{place}") == f"{100 * share:.0f}\N{NO-BREAK SPACE}%"
        assert page.inner_text("#at-tp") == str(int((truth & (given >= 0.3)).sum()))
        assert page.get_attribute("#roc-point", "cx") != before


def test_a_row_is_found_by_its_name_and_shows_what_moved_it(browser, patients):
    path, held = patients
    with opened(browser, path) as page:
        page.fill("#row-search", "patient 17")
        shown = page.inner_text("#row-panel")
        assert shown.startswith("patient 17, hospital University Hospital A: predicted")
        moved = held.contributions[17, 0].sum(axis=0)
        largest = int(np.argmax(np.abs(moved)))
        assert f"{held.kernels[largest]}\n{moved[largest]:+.2f}" in shown
        page.fill("#row-search", "nobody")
        assert page.inner_text("#row-panel") == "No row has this name."


def test_links_lead_to_sections_and_tables_open(browser, patients):
    with opened(browser, patients[0]) as page:
        targets = page.locator("nav a").evaluate_all("es => es.map(e => e.getAttribute('href'))")
        assert len(targets) == 6
        assert all(page.locator(target).count() == 1 for target in targets)
        assert not page.locator("#made table").first.is_visible()
        page.locator("#made summary").first.click()
        assert page.locator("#made table").first.is_visible()


def test_night_is_dark_and_so_are_the_figures(browser, patients):
    grounds = []
    for theme in ("light", "dark"):
        with opened(browser, patients[0], color_scheme=theme) as page:
            places = (
                ("body", "backgroundColor"),
                ("body", "color"),
                ("polyline", "stroke"),
                ("td.deep", "color"),
            )
            style = "(e, key) => getComputedStyle(e)[key]"
            grounds.append([page.locator(place).first.evaluate(style, key) for place, key in places])
    assert all(day != night for day, night in zip(*grounds, strict=True))


def test_paper_is_light_and_has_no_controls(browser, patients):
    with opened(browser, patients[0], color_scheme="dark") as page:
        page.emulate_media(media="print")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        for control in ("nav", "#threshold", ".search", "summary"):
            assert not page.locator(control).first.is_visible()
        assert page.pdf(format="A4").startswith(b"%PDF")


def test_without_scripts_all_is_there_but_the_search(browser, patients):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(patients[0].as_uri())
    assert page.locator("svg polyline").count() > 5
    assert page.inner_text("#at-sensitivity").endswith("%")
    context.close()
