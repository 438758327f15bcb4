"""Kernels and numbers in words: ``"wd:1-20"``, ``"rbf columns=expr_*; spectrum:3 column=promoter"``.

    spec    = kernel { ";" kernel }
    kernel  = name [ ":" values ] { parameter "=" value }
    values  = value { "," value }        each gives a kernel of its own; 1-20 stands for 1, 2 ... 20

``each=a_*,b_*`` is short for the same kernel on ``columns=a_*`` and on ``columns=b_*``.
"""

import re
import shlex
from dataclasses import dataclass, field
from inspect import signature
from math import isfinite
from typing import Any

from localmkl._spelling import meant
from localmkl.cli.voice import OPTION_OF, Misuse


@dataclass(frozen=True)
class Wanted:
    """Some kernels of one kind, before the data are known.

    Attributes
    ----------
    word : str
        A key of `localmkl.kernels.KERNEL_WORDS`.
    kind : type
        The kernel class.
    own : str or None
        The parameter of the values after the colon.
    values : tuple
        One kernel each; empty for the default.
    parameters : dict
        All others.
    """

    word: str
    kind: Any
    own: str | None
    values: tuple
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def is_vector(self):
        """Whether it is a kernel on columns, else on one column of sequences or texts."""
        return "columns" in signature(self.kind).parameters

    def make(self, **learned):
        """Return the kernels; `learned` are parameters for which the words may name another value."""
        known = signature(self.kind).parameters
        common = {name: value for name, value in learned.items() if name in known} | self.parameters
        sets: list[dict] = [{self.own: value} for value in self.values] or [{}]
        return [self.kind(**common, **one) for one in sets]


def parse_kernels(spec):
    """Return the kernels that a text asks for.

    Examples
    --------
    >>> [wanted] = parse_kernels("wd:1-3 shift=2")
    >>> wanted.make()
    [WeightedDegree(degree=1, shift=2), WeightedDegree(degree=2, shift=2), WeightedDegree(degree=3, shift=2)]
    """
    found = [wanted for part in spec.split(";") if part.strip() for wanted in _from_words(part.strip())]
    if not found:
        raise ValueError('The kernels must be named, for instance "rbf" or "wd:1-20", got an empty text.')
    return found


def _from_words(text):
    from localmkl import kernels

    head, *pairs = shlex.split(text)
    word, _, values = head.partition(":")
    if word not in kernels.KERNEL_WORDS:
        hint = meant(word, kernels.KERNEL_WORDS)
        hint = hint if hint != "." else f"; there are {', '.join(kernels.KERNEL_WORDS)}."
        raise ValueError(f"The kernel {word!r} is not known{hint}")
    kind, own = kernels.KERNEL_WORDS[word]
    wanted = Wanted(word, getattr(kernels, kind), own, tuple(parse_values(values)))
    if wanted.values and own is None:
        raise ValueError(f"The kernel {word!r} takes no values after a colon, got {wanted.values[0]!r}.")
    for pair in pairs:
        name, _, value = pair.partition("=")
        wanted.parameters[name] = _parameter(wanted, name, value)
    place, each = "columns" if wanted.is_vector else "column", wanted.parameters.pop("each", None)
    if each is None:
        return [wanted]
    return [
        Wanted(word, wanted.kind, own, wanted.values, {**wanted.parameters, place: one})
        for one in each.split(",")
    ]


def _parameter(wanted, name, text):
    """Return the value of a parameter of a kernel; raise if it has no such parameter."""
    known = signature(wanted.kind).parameters
    if name in ("columns", "column", "each", "view"):
        return text
    if name not in known:
        there = f"it has {', '.join(known)}{meant(name, known)}"
        raise ValueError(f"The kernel {wanted.word!r} has no parameter {name!r}; {there}")
    value = {"true": True, "false": False, "none": None}.get(text.lower(), _value(text))
    if isinstance(known[name].default, bool) and not isinstance(value, bool):
        raise ValueError(f"{name} of the kernel {wanted.word!r} must be true or false, got {text!r}.")
    return value


def parse_values(text, most=1000):
    """Return the values of a list such as ``1,4/3,2`` or ``1-20``.

    Examples
    --------
    >>> parse_values("1-3,5"), parse_values("0.5,4/3,median")
    ([1, 2, 3, 5], [0.5, 1.3333333333333333, 'median'])
    """
    values: list = []
    for part in filter(None, map(str.strip, str(text).split(","))):
        ends = re.fullmatch("([0-9]{1,18})-([0-9]{1,18})", part)
        low, high = (0, 0) if ends is None else (int(ends[1]), int(ends[2]))
        if low > high:
            raise ValueError(f"A range must run upwards, got {part!r}; write {high}-{low}.")
        if len(values) + high - low >= most:
            raise ValueError(f"{text!r} stands for too many values; at most {most} are taken.")
        values += [_value(part)] if ends is None else range(low, high + 1)
    return values


def _value(text):
    """Return a number, a fraction, or the text itself."""
    number, _, divisor = text.partition("/")
    try:
        return int(text) if text.lstrip("+-").isdecimal() else float(number) / float(divisor or 1)
    except (ValueError, ZeroDivisionError):
        return text


def parse_grids(options):
    """Return the values of each parameter, a list, from their texts.

    Examples
    --------
    >>> parse_grids({"C": "0.1,1", "p": None})
    {'C': [0.1, 1]}
    """
    grids = {}
    for name, text in options.items():
        if text is None:
            continue
        values = parse_values(text)
        right = [isinstance(value, int | float) and (isfinite(value) or name == "p") for value in values]
        if not values or not all(right):
            raise Misuse(
                f"--{OPTION_OF.get(name, name)} must be a number or a list of numbers, got {text!r}."
            )
        grids[name] = values
    return grids
