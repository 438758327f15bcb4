"""What a report of 1000 samples weighs, and how long a browser takes to draw it (headless Chromium)."""

import shutil
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks import harness
from localmkl import CLMKLClassifier
from localmkl.datasets import make_localized
from localmkl.kernels import Linear
from localmkl.report import write_report

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def run(smoke):
    n_train, n_shown = (60, 40) if smoke else (300, 1000)
    X, y, _, views = make_localized(n_train + n_shown, random_state=0)
    model = CLMKLClassifier(
        [Linear(columns=view) for view in views], C=1.0, p=1, evenness=0.4, random_state=0
    )
    model.fit(X[:n_train], y[:n_train])
    new, train = {"X": X[n_train:], "y": y[n_train:]}, (X[:n_train], y[:n_train])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        write = harness.seconds(lambda: write_report(model, path, **new, train=train), repeats=1)
        row = {"samples": n_shown, "bytes": path.stat().st_size, "seconds to write": write}
        return [{**row, "seconds to draw": _drawing(path, repeats=1 if smoke else 5)}]


def _drawing(path, repeats):
    """Return the median time from asking for the page until all figures are drawn; None without a browser."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        browser = None
    if browser is None:
        return None
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        times = []
        for _ in range(repeats):
            page = chromium.new_page()
            start = time.perf_counter()
            page.goto(path.as_uri())
            page.wait_for_selector("body[data-drawn]")
            times.append(time.perf_counter() - start)
            page.close()
        chromium.close()
    return statistics.median(times)
