"""Labels as they are written: numbers only where that loses nothing.

    all of them whole numbers (7, -1; not 07, +7, 1_0, 7.0), of 64 bits       integers
    all of them plain numbers (7.0, 1.5e3; not 07, 0x7, inf), of which no two
      that are written differently are equal whole numbers                    floats
    all others                                                                text

So labels that are written differently are never made one. (Numbers that are not whole are no classes, but
values to predict: there 1.5 and 1.50 are one.)
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from localmkl._checks import is_missing
from localmkl._types import Array, Bools, Floats
from localmkl._warnings import warn

MISSING = frozenset(
    ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null"),
)
"""Texts that stand for a label that is not known."""

PLAIN = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
"""A number, leading zeros or not."""

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,18}")
_NO_LEADING_ZEROS = re.compile(r"[+-]?(?:0(?![0-9])|[1-9.]).*")


def is_label(value: Any) -> bool:
    """Whether a value stands for a label that is known."""
    return not (is_missing(value) or (isinstance(value, str) and value.strip() in MISSING))


def with_gaps(labels: Array | None, has: Bools) -> Array | None:
    """Return labels of all rows, None where a row has none; None if no row has one.

    Parameters
    ----------
    labels : ndarray
        Of the rows that have one.
    has : ndarray of bool

    Examples
    --------
    >>> with_gaps(np.array([1, -1]), np.array([True, False, True]))
    array([1, None, -1], dtype=object)
    """
    if labels is None or has.all() or not has.any():
        return labels if has.any() else None
    y = np.full(len(has), None, dtype=object)
    y[has] = labels.tolist()
    return y


def has_label(y: Array) -> Bools:
    """Return the mask of the rows that have a label, (n,) of bool."""
    if y.dtype != object:
        return np.ones(len(y), dtype=bool)
    return np.array([label is not None for label in y.tolist()], dtype=bool)


def on_labelled(y: Array) -> Array:
    """Return the labels of the rows that have one, as an array of one type unless they are of several.

    Examples
    --------
    >>> on_labelled(np.array([0.5, None, 2.0], dtype=object))
    array([0.5, 2. ])
    """
    if (has := has_label(y)).all():
        return y
    labels = y[has].tolist()
    kinds = set(map(type, labels))
    return np.array(labels, dtype=None if len(kinds) == 1 or kinds <= {int, float} else object)


def as_labels(values: Iterable[Any]) -> Array:
    """Return labels, written as text, as an array of integers, floats or text.

    Examples
    --------
    >>> as_labels(["1", "-1"]), as_labels(["01", "02"])
    (array([ 1, -1]), array(['01', '02'], dtype='<U2'))
    """
    values = list(values)
    if not all(isinstance(value, str) for value in values):
        return typed_labels(np.array(values, dtype=object))
    texts = [value.strip() for value in values]
    if all(map(_WHOLE.fullmatch, texts)):
        whole = [int(text) for text in texts]
        if all(-(2**63) <= number < 2**63 for number in whole):
            return np.array(whole, dtype=np.int64)
    if all(PLAIN.fullmatch(text) and _NO_LEADING_ZEROS.fullmatch(text) for text in texts):
        numbers = np.array([float(text) for text in texts])
        if np.isfinite(numbers).all() and (np.any(numbers != np.round(numbers)) or _differ(texts, numbers)):
            return numbers
    return _as_text(texts)


def as_numbers(labels: Iterable[Any]) -> Floats | None:
    """Return labels as floats where each is a plain number, else None: for regression."""
    texts = [str(label) for label in labels]
    if not all(map(PLAIN.fullmatch, texts)):
        return None
    numbers = np.array([float(text) for text in texts])
    return numbers if np.isfinite(numbers).all() else None


def typed_labels(values: Array) -> Array:
    """Return labels of a file that knows types: numbers as they are, all others as text."""
    if values.dtype.kind in "iuf":
        return values
    if values.dtype.kind not in "bUSO":
        raise ValueError(f"Labels must be numbers or text, got {values.dtype}.")
    plain = values.tolist()
    return np.array(plain) if {type(value) for value in plain} <= {int, float} else _as_text(map(str, plain))


def alike(texts: Iterable[str]) -> tuple[str, str, str] | None:
    """Return two different texts that may mean the same, and why they may; None if there are none.

    Examples
    --------
    >>> alike(["sick", "well", "Sick"]), alike(["1", "2", "2.0"]), alike(["1", "2"])
    (('sick', 'Sick', 'they differ by capitals alone'), ('2', '2.0', 'they are the same number'), None)
    """
    seen: dict[float | str, str] = {}
    for text in dict.fromkeys(texts):
        number = PLAIN.fullmatch(text) is not None
        other = seen.setdefault(float(text) if number else text.lower(), text)
        if other != text:
            return other, text, "they are the same number" if number else "they differ by capitals alone"
    return None


def _differ(texts: Sequence[str], numbers: Floats) -> bool:
    """Whether texts that differ are different whole numbers, which floats can tell from each other."""
    return len(set(texts)) == len(np.unique(numbers)) and np.abs(numbers).max() < 2.0**53


def _as_text(texts: Iterable[str]) -> Array:
    """Return labels as text; warn about two that are kept apart although they may mean the same."""
    labels = np.array(list(texts))
    if (found := alike(labels.tolist())) is not None:
        one, other, why = found
        warn(
            f"The labels {one!r} and {other!r} are kept apart, although {why}; write them one way if they "
            "mean the same."
        )
    return labels
