"""The report in a browser: no errors, no network, hovering, keyboard, day and night, phone and paper."""

import shutil
from contextlib import contextmanager

import numpy as np
import pytest

from localmkl import CLMKLClassifier
from localmkl.datasets import load_splice
from localmkl.explain import kernel_contributions
from localmkl.kernels import WeightedDegree
from localmkl.report import write_report

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright to drive a browser")
pytest.importorskip("altair", reason="the report needs altair, the extra localmkl[report]")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs chromium on the path")

POINTS, RINGS = "#chart-map .layer_0_marks path", "#chart-map .layer_1_marks path"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    X, y, names = load_splice("EI")
    chosen = np.concatenate([np.flatnonzero(y == 1)[:60], np.flatnonzero(y == -1)[:60]])
    X, y, names = X[chosen], np.where(y[chosen] == 1, "donor", "other"), names[chosen]
    model = CLMKLClassifier([WeightedDegree(d) for d in (1, 2, 4)], n_clusters=2, random_state=0)
    model.fit(X[::2], y[::2])
    path = tmp_path_factory.mktemp("browser") / "report.html"
    write_report(model, path, X=X[1::2], y=y[1::2], train=(X[::2], y[::2]), names=names[1::2])
    return path, model, X[1::2], names[1::2]


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield found
        found.close()


@contextmanager
def opened(browser, path, **options):
    """Yield the drawn page; whatever the console says or the page asks the network for is an error."""
    usual = {"viewport": {"width": 1100, "height": 900}, "reduced_motion": "reduce"}
    context = browser.new_context(**{**usual, **options})
    page = context.new_page()
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector("body[data-drawn]")
    yield page
    assert said == []
    assert asked == [path.as_uri()]
    context.close()


def test_every_figure_is_drawn_without_a_word_on_the_console_or_the_network(browser, report):
    with opened(browser, report[0], offline=True) as page:
        charts = page.locator("[data-chart]")
        assert charts.count() == 8
        for k in range(charts.count()):
            assert charts.nth(k).locator("svg path").count() > 3
        assert page.locator(POINTS).count() == 60


def test_hovering_shows_the_sample_and_its_kernels(browser, report):
    path, model, X, names = report
    with opened(browser, path) as page:
        values = page.evaluate(
            "JSON.parse(document.getElementById('data').textContent).charts.map.data.values"
        )
        # The sample farthest to the left has no other one on top of it.
        k = min(range(len(values)), key=lambda i: values[i]["x"])
        page.locator(POINTS).nth(k).scroll_into_view_if_needed()
        page.wait_for_timeout(100)  # scrolling hides the tooltip
        page.locator(POINTS).nth(k).hover()
        page.wait_for_selector("#tooltip", state="visible")
        panel = page.inner_text("#map-panel")
        assert names[k] in panel
        assert X[k] in panel
        for name, part in zip(
            ("degree 1", "degree 2", "degree 4"), kernel_contributions(model, X)[k], strict=True
        ):
            assert f"{name}\n{part:+.2f}" in panel
        assert names[k] in page.inner_text("#tooltip")
        page.mouse.move(5, 5)
        page.wait_for_selector("#tooltip", state="hidden")


def test_colours_can_be_switched_from_the_keyboard(browser, report):
    with opened(browser, report[0]) as page:

        def fills():
            return page.locator(POINTS).evaluate_all("es => es.map(e => e.getAttribute('fill'))")

        seen, legends = [], []
        page.focus("#map-mode")
        for _ in range(6):  # cluster, class, predicted class and three kernels
            page.wait_for_timeout(50)
            seen.append(fills())
            legends.append(page.inner_text("#map-legend"))
            page.keyboard.press("ArrowDown")
        assert {color.rstrip("-0123456789)") for color in seen[0] + seen[1]} == {"var(--group"}
        assert all(color.startswith("var(--swing-") for kernel in seen[3:] for color in kernel)
        assert seen[0] != seen[1]
        assert seen[3] != seen[5]
        assert legends[0] == "cluster 1\ncluster 2"
        assert legends[1] == "donor\nother"
        assert "speaks for donor" in legends[3]


def test_samples_can_be_chosen_from_the_keyboard(browser, report):
    with opened(browser, report[0]) as page:
        rings = page.locator(RINGS)
        assert rings.count() == 0
        page.focus("#map-sample")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        page.wait_for_timeout(50)
        assert rings.count() == 1
        assert report[3][1] in page.inner_text("#map-panel")


def test_tables_open_and_links_lead_to_sections(browser, report):
    with opened(browser, report[0]) as page:
        assert not page.locator("#figure-weights table").is_visible()
        page.locator("#figure-weights summary").click()
        assert page.locator("#figure-weights table").is_visible()
        targets = page.locator("nav a").evaluate_all("es => es.map(e => e.getAttribute('href'))")
        assert len(targets) == 10
        assert all(page.locator(target).count() == 1 for target in targets)
        names = page.locator("[role=img]").evaluate_all("es => es.map(e => e.getAttribute('aria-label'))")
        assert all(len(name) > 40 for name in names)


def test_night_is_dark_and_so_are_the_figures(browser, report):
    grounds = {}
    for theme in ("light", "dark"):
        with opened(browser, report[0], color_scheme=theme) as page:
            colors = [
                page.locator(place).first.evaluate("(e, key) => getComputedStyle(e)[key]", key)
                for place, key in (("body", "backgroundColor"), ("body", "color"), (POINTS, "fill"))
            ]
            assert len(set(colors)) == 3
            grounds[theme] = colors
    assert all(day != night for day, night in zip(*grounds.values(), strict=True))


def test_a_phone_needs_no_sideways_scrolling(browser, report):
    with opened(browser, report[0], viewport={"width": 390, "height": 844}, has_touch=True) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        for k in range(page.locator("[data-chart] svg").count()):
            assert page.locator("[data-chart] svg").nth(k).bounding_box()["width"] <= 350
        page.locator("#chart-map").scroll_into_view_if_needed()
        page.locator(POINTS).nth(7).tap(force=True)
        assert "What each kernel adds" in page.inner_text("#map-panel")


def test_paper_is_light_and_has_no_controls(browser, report):
    with opened(browser, report[0], color_scheme="dark") as page:
        page.emulate_media(media="print")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        for control in ("nav", ".controls", "#map-panel", "summary"):
            assert not page.locator(control).first.is_visible()
        assert page.pdf(format="A4").startswith(b"%PDF")
