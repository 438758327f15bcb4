"""Numbers and lists in words."""

from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

import numpy as np

METRICS = {
    "roc_auc": "AUC",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "log_loss": "log loss",
    "brier": "Brier score",
    "r2": "R²",
    "rmse": "RMSE",
    "mae": "mean absolute error",
    "pinball": "pinball loss",
}
"""Names of metrics for readers."""

PERCENT = frozenset(("accuracy", "balanced_accuracy"))
"""Metrics that are written in percent."""

ERRORS = frozenset(("log_loss", "brier", "rmse", "mae", "pinball"))
"""Metrics of which less is better."""


def percent(share: Any, digits: int = 0) -> str:
    r"""Return a share in percent.

    Examples
    --------
    >>> percent(0.123), percent(0.123, 1), percent(0.001)
    ('12\xa0%', '12.3\xa0%', '0.1\xa0%')
    """
    value = 100.0 * float(share)
    if digits == 0 and 0.0 < abs(value) < 0.95:
        digits = 1
    return f"{round(value, digits) + 0.0:.{digits}f}\N{NO-BREAK SPACE}%"


def brief(value: Any) -> str:
    """Return a number with as many digits as one reads.

    Examples
    --------
    >>> brief(1234), brief(0.12345), brief(3.0), brief(1.2e-7), brief(float("inf")), brief(1e300)
    ('1,234', '0.123', '3', '1.2e-07', 'infinity', '1e+300')
    """
    if value is None or isinstance(value, str):
        return value or ""
    if not np.isfinite(value):
        return "not known" if np.isnan(value) else "infinity" if value > 0 else "-infinity"
    if float(value).is_integer() and abs(value) < 1e9:
        return f"{int(value):,}"
    if 0.0 < abs(value) < 1e-3:
        return f"{value:.1e}"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.3g}"


def count(n: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> count(1, "row"), count(2000, "row"), count(3, "class", "classes")
    ('1 row', '2,000 rows', '3 classes')
    """
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def listing(items: Iterable[Any], last: str = "and", most: int = 8) -> str:
    """Return items as one reads them out; of many the first ones.

    Examples
    --------
    >>> listing(["a"]), listing(["a", "b"]), listing("abcd", most=2)
    ('a', 'a and b', 'a, b and 2 others')
    """
    texts = [str(item) for item in items]
    if len(texts) > most + 1:
        texts = [*texts[:most], f"{len(texts) - most:,} others"]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {last} {texts[-1]}"


def file_names(made: dict[str, Any]) -> list[str]:
    """Return the names of the files that a model was fitted on, without their folders.

    Examples
    --------
    >>> file_names({"file": "data/a.csv, b.csv"}), file_names({})
    (['a.csv', 'b.csv'], [])
    """
    return [PurePath(one).name for one in str(made.get("file") or "").split(", ") if one]


def class_name(label: Any) -> str:
    """Return a label as a noun.

    Examples
    --------
    >>> class_name("donor"), class_name(1), class_name("")
    ('donor', 'class 1', "the class ''")
    """
    if isinstance(label, str) and not label.strip():
        return f"the class {label!r}"
    return label if isinstance(label, str) and not label.lstrip("+-").isdigit() else f"class {label}"


def written(metric: str, value: float, beside: float | None = None) -> str:
    r"""Return the value of a metric as text, with as many digits as another one that stands beside it.

    Examples
    --------
    >>> written("roc_auc", 0.7512), written("accuracy", 0.9), written("rmse", 54.321)
    ('0.75', '90.0\xa0%', '54.3')
    """
    if not np.isfinite(value):
        return "not known"
    if metric in PERCENT:
        return percent(value, 1)
    fixed = metric in ("roc_auc", "r2")
    digits = 2 if fixed and not 0.985 < (value if beside is None else beside) < 1.0 else 3
    return f"{round(value, digits) + 0.0:.{digits}f}" if fixed or abs(value) < 1.0 else brief(value)


def interval(metric: str, score: Any) -> str:
    """Return the ends of the interval of a score as text, an empty one where there is none."""
    if not (np.isfinite(score.low) and np.isfinite(score.high)):
        return ""
    low, high = (written(metric, end, score.value) for end in (score.low, score.high))
    low = low.partition("\N{NO-BREAK SPACE}")[0]
    return f"{low} to {high}".replace(" ", "\N{NO-BREAK SPACE}")
