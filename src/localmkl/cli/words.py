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
from math import inf, isfinite
from typing import Any

from localmkl._spelling import meant
from localmkl.cli.voice import OPTIONS, Misuse

MOST_VALUES = 1000
"""Values that a range may stand for: so many kernel matrices of 1000 rows take 8 GB."""

NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"


@dataclass(frozen=True)
class Wanted:
    """Some kernels of one kind, before the data are known.

    Attributes
    ----------
    word : str
        A key of `localmkl.kernels.KERNEL_WORDS`.
    values : tuple
        Of the parameter of that word, one kernel each; empty for its default.
    parameters : dict
        All others.
    """

    word: str
    values: tuple = ()
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def is_vector(self):
        """Whether it is a kernel on columns, else on one column of sequences or texts."""
        return "columns" in self.known

    @property
    def known(self):
        """The parameters of the kernel class."""
        return signature(_kinds()[self.word][0]).parameters

    def make(self, **learned):
        """Return the kernels; `learned` are parameters for which the words may name another value."""
        kind, own = _kinds()[self.word]
        common = {name: value for name, value in learned.items() if name in self.known} | self.parameters
        return [kind(**common, **{own: value}) for value in self.values] if self.values else [kind(**common)]


def _kinds():
    """Return the class and the parameter after the colon for each word."""
    from localmkl import kernels

    return {word: (getattr(kernels, kind), own) for word, (kind, own) in kernels.KERNEL_WORDS.items()}


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
    try:
        head, *rest = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"The kernel {text!r} cannot be read ({error}); close the quotes.") from error
    word, _, values = head.partition(":")
    kinds = _kinds()
    if word not in kinds:
        hint = meant(word, kinds)
        hint = hint if hint != "." else f"; there are {', '.join(kinds)}."
        raise ValueError(f"The kernel {word!r} is not known{hint}")
    wanted = Wanted(word, tuple(parse_values(values)))
    if wanted.values and kinds[word][1] is None:
        raise ValueError(f"The kernel {word!r} takes no values after a colon, got {wanted.values[0]!r}.")
    for pair in rest:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(
                f"The kernel {text!r} must be a name and pairs parameter=value, got {pair!r}; kernels are "
                "separated by ';'."
            )
        wanted.parameters[name] = _parameter(wanted, name, value)
    each = wanted.parameters.pop("each", None)
    if each is None:
        return [wanted]
    place = "columns" if wanted.is_vector else "column"
    return [Wanted(word, wanted.values, {**wanted.parameters, place: one}) for one in each.split(",")]


def _parameter(wanted, name, text):
    """Return the value of a parameter of a kernel; raise if it has no such parameter."""
    if name in ("columns", "column", "each", "view"):
        return text
    if name not in wanted.known:
        raise ValueError(
            f"The kernel {wanted.word!r} has no parameter {name!r}; it has {', '.join(wanted.known)}"
            f"{meant(name, wanted.known)}"
        )
    value = {"true": True, "false": False, "none": None}.get(text.lower(), _value(text))
    if isinstance(wanted.known[name].default, bool) and not isinstance(value, bool):
        raise ValueError(f"{name} of the kernel {wanted.word!r} must be true or false, got {text!r}.")
    return value


def parse_values(text):
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
        if len(values) + high - low >= MOST_VALUES:
            raise ValueError(f"{text!r} stands for too many values; at most {MOST_VALUES} are taken.")
        values += [_value(part)] if ends is None else range(low, high + 1)
    return values


def _value(text):
    """Return a number, a fraction, or the text itself."""
    if re.fullmatch("[+-]?[0-9]{1,18}", text):
        return int(text)
    number = re.fullmatch(f"({NUMBER})(?:/({NUMBER}))?", text)
    if number is None or (number[2] is not None and float(number[2]) == 0.0):
        return text
    return float(number[1]) / float(number[2] or 1)


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
        values = [inf if value == "inf" and name == "p" else value for value in parse_values(text)]
        right = [isinstance(value, int | float) and (isfinite(value) or name == "p") for value in values]
        if not values or not all(right):
            raise Misuse(f"--{OPTIONS.get(name, name)} must be a number or a list of numbers, got {text!r}.")
        grids[name] = values
    return grids


def losses(*, regression):
    """Return the names of the losses, the default of the command line first."""
    from localmkl.solvers.losses import CLASSIFICATION, REGRESSION

    return list(REGRESSION) if regression else sorted(CLASSIFICATION, key=lambda name: name != "log_loss")


def parse_losses(text, *, regression):
    """Return the losses of a list.

    Examples
    --------
    >>> parse_losses("hinge, log_loss", regression=False)
    ['hinge', 'log_loss']
    """
    own, others = losses(regression=regression), losses(regression=not regression)
    for word in (found := [word.strip() for word in text.split(",")]):
        if word in others:
            raise Misuse(
                f"--loss {word} is for {'classes' if regression else '--regression'}; "
                f"{'with' if regression else 'without'} --regression, choose one of {', '.join(own)}."
            )
        if word not in own:
            raise Misuse(f"--loss must be one of {', '.join(own)}, got {word!r}{meant(word, own, alike=0.5)}")
    return list(dict.fromkeys(found))
