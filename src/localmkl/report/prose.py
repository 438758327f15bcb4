"""Numbers as readers want them, and the pieces a section is made of."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Spec: TypeAlias = dict[str, Any]
"""A Vega specification."""

PlainRows: TypeAlias = list[dict[str, Any]]
"""Rows of plain data, as JSON has them."""

LONG = 1e9
"""Numbers from here on are written with an exponent: so many digits are counted, not read."""


@dataclass(frozen=True)
class Table:
    """A table: its caption, the heads of its columns, its rows; folded ones open on a click."""

    caption: str
    head: list[str]
    rows: list[list[Any]]
    folded: bool = False


@dataclass(frozen=True)
class Figure:
    """A figure: a title, a sentence on what is seen, the same in numbers, and a drawing.

    Attributes
    ----------
    key : str
        Unique on the page.
    title, text : str
    spec : dict or None
        A Vega specification.
    drawing : str
        Markup to show instead.
    table : Table or None
        The numbers, for those who cannot or do not want to see the drawing.
    """

    key: str
    title: str
    text: str
    spec: Spec | None = None
    drawing: str = ""
    table: Table | None = None
    wide: bool = True


@dataclass(frozen=True)
class Section:
    """A section: key, title, paragraphs, then figures and tables in turn."""

    key: str
    title: str
    text: list[str]
    blocks: Sequence[Figure | Table] = ()


def percent(share: float, digits: int = 0) -> str:
    r"""Return a share in percent.

    Examples
    --------
    >>> percent(0.123), percent(0.123, 1), percent(0.001), percent(1e-8, 4)
    ('12\xa0%', '12.3\xa0%', '0.1\xa0%', '1e-06\xa0%')
    """
    value = 100.0 * float(share)
    if digits == 0 and 0.0 < abs(value) < 0.95:
        digits = 1
    if 0.0 < abs(value) < 0.5 * 10.0**-digits:  # never a zero by rounding
        return f"{value:.0e}\N{NO-BREAK SPACE}%"
    return f"{value:.{digits}f}\N{NO-BREAK SPACE}%"


def brief(value: Any) -> str:
    """Return a number with as many digits as one reads.

    Examples
    --------
    >>> brief(1234), brief(0.12345), brief(3.0), brief(1.2e-7), brief(float("inf")), brief(1e300)
    ('1,234', '0.123', '3', '1.2e-07', 'infinity', '1e+300')
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if np.isinf(value):
        return "infinity" if value > 0 else "-infinity"
    if float(value).is_integer() and abs(value) < LONG:
        return f"{int(value):,}"
    if 0.0 < abs(value) < 1e-3:
        return f"{value:.1e}"
    return f"{value:,.0f}" if 1000 <= abs(value) < LONG else f"{value:.3g}"


def signed(value: float) -> str:
    """Return a number with its sign.

    Examples
    --------
    >>> signed(0.5), signed(-0.0012), signed(0.0), signed(-1e300)
    ('+0.50', '-1.2e-03', '+0.00', '-1.0e+300')
    """
    value = float(value) + 0.0  # no "-0.00"
    return f"{value:+.2f}" if value == 0.0 or 0.005 <= abs(value) < LONG else f"{value:+.1e}"


def count(n: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> count(1, "sample"), count(2000, "sample"), count(3, "class", "classes")
    ('1 sample', '2,000 samples', '3 classes')
    """
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def listing(items: Iterable[Any], last: str = "and") -> str:
    """Return items as one reads them out.

    Examples
    --------
    >>> listing(["a"]), listing(["a", "b"]), listing(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    items = [str(item) for item in items]
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {last} {items[-1]}"


def sentence(text: str) -> str:
    """Return a text with a capital first letter and a full stop."""
    return f"{text[0].upper()}{text[1:]}."


def class_name(label: Any) -> str:
    """Return a label as a noun.

    Examples
    --------
    >>> class_name("donor"), class_name(1), class_name("")
    ('donor', 'class 1', "the class ''")
    """
    if isinstance(label, str) and label.strip():
        return label
    return f"the class {label!r}" if isinstance(label, str) else f"class {label}"
