"""Reports on awkward models and rows: random small models of every kind, and rows of every wrong sort.

The page says what is the case, or the report is refused in one sentence. A defect is any other exception, a
warning of NumPy, "nan" or "inf" in the prose or in a drawing, a page that is no HTML or whose data are no
JSON, or a name that becomes markup.
"""

import json
import re
import tempfile
import warnings
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning, UndefinedMetricWarning
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import localmkl
from localmkl import GramStack
from localmkl.kernels import RBF, Linear, Polynomial, Spectrum, WeightedDegree
from localmkl.kernels.stack import take_rows
from localmkl.model_selection import MKLSearchCV
from localmkl.report import write_report

TRIALS = 150
SHORT = 4
LIMIT = 60.0

METHODS = ("UniformMKL", "MKL", "HLMKL", "CLMKL", "LMKL")
NAMES = (
    "plain",
    "</script><script>alert('x')</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }} {% raw %}",
    "line\u2028separator\n\ttab",
    "\u4e2d\u6587 \u05e2\u05d1\u05e8\u05d9\u05ea \U0001f9ec",
    "datum['x'] + '\\u003c'",
    "",
    "nobody\udcff",
    "x" * 300,
)
"""Names of kernels, classes, rows and pages."""


def trial(seed):
    """Return what became of one report."""
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings(record=True) as caught, tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model, rows, targets = _model(rng)
        except (ValueError, TypeError) as error:
            return _row("no model", None, str(error))
        caught.clear()  # those of the fit are another campaign's
        given = _given(rng, model, rows, targets)
        path = Path(folder) / "report.html"
        try:
            write_report(model, path, **given)
        except (ValueError, TypeError) as error:
            return _row("refused", _sentence_defect(error), str(error))
        wrong = [str(one.message) for one in caught if _is_numeric(one.category)]
        return _row("report", f"warns: {wrong[0]}" if wrong else _page_defect(path), "")


def _row(verdict, defect, said):
    return {"verdict": verdict, "defect": defect, "said": said[:200]}


def _is_numeric(category):
    return issubclass(category, RuntimeWarning | UndefinedMetricWarning | FutureWarning)


def _sentence_defect(error):
    """Return what is wrong with a refusal: it must be one sentence, and NumPy's do not end in a full stop."""
    text = str(error)
    if not text.endswith(".") or "Traceback" in text or "\n" in text:
        return f"{type(error).__name__} is not one sentence: {text!r}"
    return None


def _model(rng):
    """Return a fitted model, its training rows and targets."""
    kind = rng.choice(["table", "table", "frame", "sequences", "grams"])
    n_rows = int(rng.choice([2, 3, 5, 8, 12, 20, 30]))
    regression = bool(rng.integers(3) == 0)
    targets = _targets(rng, n_rows, regression)
    rows = _rows(rng, kind, n_rows)
    estimator = _estimator(rng, kind, regression)
    if kind == "table" and rng.integers(4) == 0:
        estimator = make_pipeline(StandardScaler(), estimator)
    elif rng.integers(4) == 0:
        estimator = _search(rng, estimator)
    return estimator.fit(rows, targets), rows, targets


def _targets(rng, n_rows, regression):
    if regression:
        size = rng.choice([0.0, 1e-12, 1.0, 1.0, 1.0, 1e12, 1e12])
        return size * rng.normal(size=n_rows).round(int(rng.integers(4)))
    n_classes = int(rng.choice([2, 2, 2, 3, 5, 12]))
    shares = rng.dirichlet(np.full(n_classes, rng.choice([0.3, 10.0])))
    codes = rng.choice(n_classes, size=n_rows, p=shares)
    codes[: min(2, n_rows)] = [0, 1][: min(2, n_rows)]
    labels = {0: np.arange(n_classes), 1: np.arange(n_classes) - 1.0, 2: np.array([*NAMES, "a", "b"])}
    return labels[int(rng.integers(3))][codes]


def _rows(rng, kind, n_rows):
    if kind == "sequences":
        letters = np.array(list("ACGT"))
        return ["".join(rng.choice(letters, 9)) for _ in range(n_rows)]
    values = rng.normal(size=(n_rows, 4)) * rng.choice([0.0, 1e-9, 1.0, 1.0, 1.0, 1e6])
    values[rng.integers(n_rows, size=n_rows // 3)] = values[0]
    if kind == "grams":
        return GramStack(np.stack([values @ values.T, np.exp(-np.square(values[:, None] - values).sum(2))]))
    if kind == "frame":
        import pandas as pd

        return pd.DataFrame(values, columns=["a", "b", NAMES[1], "nan"])
    return values


def _estimator(rng, kind, regression):
    """Return one of the ten, with parameters near the edges of what they may be."""
    cls = getattr(localmkl, str(rng.choice(METHODS)) + ("Regressor" if regression else "Classifier"))
    kernels = [RBF(), Linear(), Polynomial(2)]
    if kind == "sequences":
        kernels = [WeightedDegree(1), WeightedDegree(3), Spectrum(2)]
    kernels = "precomputed" if kind == "grams" else kernels[: int(rng.choice([1, 2, 3]))]
    n_clusters = int(rng.choice([1, 2, 3]))
    options = {
        "C": float(rng.choice([1e-3, 1.0, 100.0])),
        "p": float(rng.choice([1.0, 4 / 3, np.inf])),
        "n_clusters": n_clusters,
        "evenness": float(rng.choice([1 / n_clusters, 0.5 + 0.5 / n_clusters, 1.0])),
        "max_iter": int(rng.choice([1, 50, 50])),
        "tol": float(rng.choice([1e-2, 1e-3, 1e-9])),
        "random_state": 0,
    }
    known = cls().get_params(deep=False)
    return cls(kernels, **{name: value for name, value in options.items() if name in known})


def _search(rng, estimator):
    grid = {"C": [0.1, 1.0], "p": [1.0, 2.0]} if rng.integers(2) else {"C": [1.0]}
    grid = {name: values for name, values in grid.items() if name in estimator.get_params(deep=False)}
    cls = (GridSearchCV, MKLSearchCV)[int(rng.integers(2))]
    return cls(estimator, grid, cv=KFold(2, shuffle=True, random_state=0), error_score=np.nan)


def _given(rng, model, rows, targets):
    """Return the arguments of a report: which rows, which targets, which names."""
    given = {"cv": int(rng.choice([0, 2, 5])), "stability": [0, 0, None][rng.integers(3)], "random_state": 0}
    if rng.integers(2):
        given["title"] = str(rng.choice(NAMES))
    if rng.integers(2):
        model.made_ = {"file": str(rng.choice(NAMES)), "target": str(rng.choice(NAMES)), "y": targets}
    way = rng.choice(["none", "training", "training", "some", "new", "new", "one", "columns", "huge"])
    if way == "none":
        return given
    given["X"], given["y"] = _shown(rng, way, rows, targets)
    if rng.integers(3) == 0:
        given["y"] = None
    elif rng.integers(4) == 0:
        given["y"] = _other_targets(rng, given["y"])
    if rng.integers(2):
        given["train"] = rows, targets
    if rng.integers(2):
        given["names"] = [str(name) for name in rng.choice(NAMES, size=len(given["X"]))]
    return given


def _shown(rng, way, rows, targets):
    """Return the rows to show and their targets."""
    n_rows = len(targets)
    if way == "training":
        return rows, targets
    if isinstance(rows, GramStack):  # new rows are copies of some, as read from another file
        chosen = rng.integers(n_rows, size=1 if way == "one" else max(1, n_rows // 2))
        block = rows.to_array()[:, chosen]
        block = block[:, :, 1:] if way == "columns" else block * (1e12 if way == "huge" else 1.0)
        return GramStack(block), targets[chosen]
    chosen = rng.integers(n_rows, size={"one": 1, "some": max(1, n_rows // 2)}.get(way, 9))
    kind = "sequences" if isinstance(rows, list) else "frame" if hasattr(rows, "iloc") else "table"
    if way == "some":
        return take_rows(np.array(rows, dtype=object) if kind == "sequences" else rows, chosen), targets[
            chosen
        ]
    new = _rows(rng, kind, len(chosen))
    if kind == "sequences":
        return [text[:-2] if way == "columns" else text for text in new], targets[chosen]
    if way == "columns":
        new = new.iloc[:, :2] if kind == "frame" else new[:, :2]
    return (new * 1e12 if way == "huge" else new), targets[chosen]


def _other_targets(rng, y):
    """Return targets of which some, or all, or the kind are not those of the fit."""
    if rng.integers(3) == 0:
        return np.full(len(y), y[0])
    if y.dtype.kind == "U":
        return np.where(rng.integers(2, size=len(y)) == 0, "<b>stranger</b>", y)
    return np.where(rng.integers(2, size=len(y)) == 0, 77, y)


class _Page(HTMLParser):
    """The prose and the data of a page; every element must be closed."""

    def __init__(self, html):
        super().__init__()
        self.inside, self.prose, self.data, self.scripts, self.defect = [], [], None, 0, None
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.scripts += tag == "script"
        if any(name.startswith("on") for name, _ in attributes) or tag in ("img", "iframe"):
            self.defect = f"a name became the element <{tag}>"
        numbers = [value for name, value in attributes if name in ("d", "points", "cx", "cy", "x", "y")]
        if any(re.search("nan|inf", value) for value in numbers):
            self.defect = f"<{tag}> has no place: {numbers[0][:60]}"
        if tag not in ("meta", "link", "br", "input"):
            self.inside.append(tag)

    def handle_endtag(self, tag):
        if not self.inside or self.inside.pop() != tag:
            self.defect = f"</{tag}> closes nothing"

    def handle_data(self, data):
        where = self.inside[-1] if self.inside else ""
        if where == "script" and data.startswith("{"):
            self.data = json.loads(data, parse_constant=lambda name: _raise(f"{name} in the data"))
        elif where in ("p", "figcaption", "dd", "td"):
            self.prose.append(data)


def _raise(text):
    raise ValueError(text)


def _page_defect(path):
    """Return what is wrong with a page, or None."""
    try:
        page = _Page(path.read_text(encoding="utf-8"))
    except ValueError as error:
        return f"the page cannot be read: {error}"
    if page.defect or page.inside or page.scripts != 2:
        return page.defect or f"{page.scripts} scripts, {len(page.inside)} elements not closed"
    for text in page.prose:
        found = re.search(r"(?<![\w'\"<])[-+]?(nan|inf|NaN|None)(?![\w'\">])", text)
        if found and "None is" not in text and text.strip() not in ("None", "nan"):
            return f"the page says {text[max(0, found.start() - 60) : found.end() + 20]!r}"
    return None
