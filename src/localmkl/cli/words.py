"""Kernels in words: ``"wd:1-20"``, ``"rbf columns=expr_*; spectrum:3 column=promoter"``, or a TOML file.

    spec    = kernel { ";" kernel }
    kernel  = name [ ":" values ] { parameter "=" value }
    values  = value { "," value }        each gives a kernel of its own; 1-20 stands for 1, 2 ... 20

The values after the colon belong to the parameter that `KERNELS` names. ``each=a_*,b_*`` is short for the
same kernel on ``columns=a_*`` and on ``columns=b_*``. In a TOML file every kernel is a
table ``[[kernel]]`` with its `name` and parameters; a list for that parameter gives several kernels.
"""

import inspect
import re
import shlex
import sys
import tomllib
from dataclasses import dataclass, field
from itertools import groupby
from math import inf
from pathlib import Path
from typing import Any

from localmkl._spelling import meant
from localmkl.cli.voice import Misuse

KERNELS = {
    "linear": ("Linear", None),
    "poly": ("Polynomial", "degree"),
    "rbf": ("RBF", "factor"),
    "cosine": ("Cosine", None),
    "chi2": ("Chi2", None),
    "intersection": ("HistogramIntersection", None),
    "tanimoto": ("Tanimoto", None),
    "overlap": ("Overlap", None),
    "tfidf": ("TfIdf", "ngrams"),
    "wd": ("WeightedDegree", "degree"),
    "spectrum": ("Spectrum", "k"),
    "mismatch": ("Mismatch", "k"),
    "gapped": ("GappedKmer", "length"),
    "profile": ("PropertyProfile", "table"),
    "residues": ("ResidueGroups", "groups"),
    "pseaac": ("PseudoAminoAcid", "lag"),
    "alignment": ("SmithWaterman", None),
}
"""Word: (class in `localmkl.kernels`, parameter of the values after the colon)."""

OPTIONS = {"n_clusters": "clusters", "gate_kernel": "gate", "class_weight": "balanced"}
"""Parameters whose options have other names."""

METHODS = {"clmkl": "CLMKL", "hlmkl": "HLMKL", "lmkl": "LMKL", "mkl": "MKL", "unif": "UniformMKL"}
"""Word: what the names of the method's classifier and regressor begin with."""

CLUSTERINGS = ("kmeans",)
"""Gates that find clusters, the default first; here, because their registry needs SciPy."""

CLASS_LOSSES = ("hinge", "squared_hinge", "log_loss")
NUMBER_LOSSES = ("epsilon_insensitive", "squared_error", "huber", "quantile")
"""Losses of classification and regression, the default first; here, because the registries need SciPy."""

LIMITS: dict[str, dict[str, Any]] = {
    "C": {"low": 0, "low_open": True},
    "p": {"low": 1},
    "evenness": {"low": 0, "low_open": True, "high": 1},
    "shared": {"low": 0, "high": 1},
    "epsilon": {"low": 0},
    "quantile": {"low": 0, "low_open": True, "high": 1, "high_open": True},
}
"""Parameters that are numbers: what values they may have, whatever others are."""

LOSS_OPTIONS = {"epsilon": ("epsilon_insensitive", "huber"), "quantile": ("quantile",)}
"""Parameters of losses: the losses that have them."""

MOST_VALUES = 1000
"""Values that a range may stand for: so many Grams of 1000 rows take 8 GB, and more are a slip of the pen."""

ALIKE_LOSSES = 0.5
"""Words this much alike are taken for a slip: "logistic" is meant for log_loss, "svm" is not."""

_RANGE = re.compile(r"([0-9]{1,18})-([0-9]{1,18})")
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_FRACTION = re.compile(rf"({_NUMBER})(?:/({_NUMBER}))?")
_CONSTANTS = {"true": True, "false": False, "none": None}


@dataclass(frozen=True)
class Wanted:
    """Some kernels of one kind, before the data are known.

    Attributes
    ----------
    word : str
        A key of `KERNELS`.
    values : tuple
        Of the kind's own parameter, one kernel each; empty for its default.
    parameters : dict
        All others.
    """

    word: str
    values: tuple = ()
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def kind(self):
        """The kernel class."""
        from localmkl import kernels

        return getattr(kernels, KERNELS[self.word][0])

    @property
    def is_vector(self):
        """Whether it is a kernel on columns, else on one column of sequences or texts."""
        return "columns" in _parameters(self.kind)

    @property
    def view(self):
        """The view that it names, or None."""
        return self.parameters.get("view")

    def make(self, **learned):
        """Return the kernels; `learned` are parameters for which the words may say something else."""
        known = _parameters(self.kind)
        common = {name: value for name, value in learned.items() if name in known} | self.parameters
        own = KERNELS[self.word][1]
        sets = [{**common, own: value} for value in self.values] if self.values else [common]
        return [self.kind(**parameters) for parameters in sets]

    def names(self, *, full=False):
        """Return a short name for each kernel: its view, the word, its value, the columns as written.

        With `full`, also the other parameters.
        """
        columns = self.parameters.get("columns", self.parameters.get("column"))
        columns = ",".join(map(str, columns)) if isinstance(columns, list) else columns
        tail = f" {columns}" if columns else ""
        others = [item for item in self.parameters.items() if item[0] not in ("columns", "column", "view")]
        tail += "".join(f" {name}={value}" for name, value in others) if full else ""
        head = self.word if self.view is None else f"{self.view}: {self.word}"
        return [f"{head} {value}{tail}" for value in self.values] or [f"{head}{tail}"]


def parse_kernels(spec):
    """Return the kernels that a text, or the path of a TOML file, asks for.

    Parameters
    ----------
    spec : str

    Returns
    -------
    list of Wanted

    Examples
    --------
    >>> [wanted] = parse_kernels("wd:1-3 shift=2")
    >>> wanted.make()
    [WeightedDegree(degree=1, shift=2), WeightedDegree(degree=2, shift=2), WeightedDegree(degree=3, shift=2)]
    """
    if spec.strip().lower().endswith(".toml"):
        return _from_toml(Path(spec.strip()))
    found = [wanted for part in spec.split(";") if part.strip() for wanted in _from_words(part)]
    if not found:
        raise ValueError('The kernels must be named, for instance "rbf" or "wd:1-20", got an empty text.')
    return found


def in_words(given):
    """Return the text that stands for some kernels.

    Parameters
    ----------
    given : list of Wanted

    Examples
    --------
    >>> in_words(parse_kernels("wd:1,2,3 shift=2; rbf columns='a b*'; rbf columns=c; linear"))
    "wd:1-3 shift=2; rbf each='a b*,c'; linear"
    """
    return "; ".join(
        " ".join((head, *_columns_in_words([wanted.parameters.get("columns") for wanted in run])))
        for (head, _), run in groupby(given, key=_head_in_words)
    )


def _head_in_words(wanted):
    """Return a kernel without its columns in words, and whether these stand alone."""
    values = wanted.values
    whole = len(values) > 2 and all(isinstance(value, int) for value in values)
    ranged = whole and values == tuple(range(values[0], values[0] + len(values)))
    text = f"{values[0]}-{values[-1]}" if ranged else ",".join(map(str, values))
    pairs = [(name, str(value)) for name, value in wanted.parameters.items() if name != "columns"]
    others = [f"{name}={shlex.quote(value) if ' ' in value else value}" for name, value in pairs]
    columns = wanted.parameters.get("columns")
    several = columns is not None and (len(columns) > 1 if isinstance(columns, list) else "," in columns)
    return " ".join([f"{wanted.word}:{text}" if text else wanted.word, *others]), several


def _columns_in_words(columns):
    if columns == [None]:
        return []
    names = [",".join(each) if isinstance(each, list) else each for each in columns]
    text = ",".join(names)
    return [f"{'each' if len(names) > 1 else 'columns'}={shlex.quote(text) if ' ' in text else text}"]


def parse_values(text):
    """Return the values of a list such as ``1,4/3,2`` or ``1-20``.

    Examples
    --------
    >>> parse_values("1-3,5"), parse_values("0.5,4/3,median")
    ([1, 2, 3, 5], [0.5, 1.3333333333333333, 'median'])
    """
    values: list = []
    for part in str(text).split(","):
        if (ends := _RANGE.fullmatch(part.strip())) is not None:
            low, high = int(ends[1]), int(ends[2])
            if low > high:
                raise ValueError(f"A range must run upwards, got {part.strip()!r}; write {high}-{low}.")
            if high - low >= MOST_VALUES:
                raise ValueError(
                    f"{part.strip()!r} stands for {high - low + 1} values, at most {MOST_VALUES} are taken."
                )
            values += range(low, high + 1)
        elif part.strip():
            values.append(_value(part.strip()))
    return values


def parse_grids(options):
    """Return the values of each parameter that options name, a list, from their texts.

    Examples
    --------
    >>> parse_grids({"C": "0.1,1", "p": None})
    {'C': [0.1, 1]}
    """
    from localmkl._checks import check_integer, check_number  # brings NumPy, which --help does without

    grids = {}
    for name, text in options.items():
        if text is None:
            continue
        largest = inf if name == "p" else sys.float_info.max
        grids[name] = [inf if value == "inf" else value for value in parse_values(text)]
        wrong = [value for value in grids[name] if not _is_number(value, largest)]
        if wrong or not grids[name]:
            raise Misuse(f"--{OPTIONS.get(name, name)} must be a number or a list of numbers, got {text!r}.")
        for value in grids[name]:
            if name in LIMITS:
                check_number(name, value, **LIMITS[name])
            else:
                check_integer(name, value, low=1)
    return grids


def parse_losses(text, *, regression):
    """Return the losses of a list such as ``hinge,log_loss``.

    Examples
    --------
    >>> parse_losses("hinge, log_loss", regression=False)
    ['hinge', 'log_loss']
    """
    own, others = (NUMBER_LOSSES, CLASS_LOSSES) if regression else (CLASS_LOSSES, NUMBER_LOSSES)
    found = [word.strip() for word in text.split(",") if word.strip()]
    for word in found or [text]:
        if word in others:
            given = f"--loss {word} is for classes" if regression else f"--loss {word} is for --regression"
            raise Misuse(f"{given}; {'with' if regression else 'without'} --regression, choose {_or(own)}.")
        if word not in own:
            hint = meant(word, own, alike=ALIKE_LOSSES)
            raise Misuse(f"--loss must be one of {', '.join(own)}, got {word!r}{hint}")
    return list(dict.fromkeys(found))


def check_loss_options(grids):
    """Raise if a parameter of a loss is set, and none of the losses of a regression has it."""
    losses = grids.get("loss", NUMBER_LOSSES[:1])
    for name, owners in LOSS_OPTIONS.items():
        if name in grids and not set(losses).intersection(owners):
            raise Misuse(f"--{name} is for --loss {_or(owners)}, got --loss {','.join(losses)}.")


def _or(words):
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _is_number(value, largest):
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= largest


def _value(text):
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    if _WHOLE.fullmatch(text):
        return int(text)
    number = _FRACTION.fullmatch(text)
    if number is None or (number[2] is not None and float(number[2]) == 0.0):
        return text
    return float(number[1]) / float(number[2] or 1)


def _from_words(text):
    try:
        head, *rest = shlex.split(text)
    except ValueError as error:
        raise ValueError(
            f"The kernel {text.strip()!r} cannot be read ({error}); close the quotes."
        ) from error
    word, _, values = head.partition(":")
    parameters = {}
    for pair in rest:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(
                f"The kernel {text.strip()!r} must be a name and pairs parameter=value, got {pair!r}; "
                "kernels are separated by ';'."
            )
        parameters[name] = value if name in ("columns", "column", "each", "view") else _value(value)
    return _check(word, tuple(_kernel_values(values)), parameters)


def _kernel_values(text):
    """Return the values of as many kernels; too many are refused with the memory they would take."""
    ranges = [_RANGE.fullmatch(part.strip()) for part in str(text).split(",")]
    n_kernels = sum(int(ends[2]) - int(ends[1]) + 1 for ends in ranges if ends is not None)
    if n_kernels > MOST_VALUES:
        raise ValueError(
            f"{text!r} stands for {n_kernels} kernels, at most {MOST_VALUES} are taken: on 1000 rows they "
            f"need {n_kernels * 8e6 / 2**30:,.0f} GiB of memory."
        )
    return parse_values(text)


def _from_toml(path):
    from localmkl.datasets.opening import read_text

    try:
        content = tomllib.loads(read_text(path))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(f"{str(path)!r} must be a TOML file, it is not: {error}.") from error
    tables = content.pop("kernel", None)
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables) or content:
        wrong = f"{next(iter(content))!r}" if content else "none"
        raise ValueError(
            f"{str(path)!r} must hold tables [[kernel]] and nothing else, got {wrong}; "
            'for instance [[kernel]] name = "rbf" columns = ["expr_*"].'
        )
    return [wanted for table in tables for wanted in _from_table(path, table)]


def _from_table(path, table):
    if not isinstance(table.get("name"), str):
        raise ValueError(f"{str(path)!r}: every [[kernel]] must have a `name`, got {table!r}.")
    word, parameters = table["name"], {key: value for key, value in table.items() if key != "name"}
    own = KERNELS.get(word, (None, None))[1]
    values = parameters.pop(own, ())
    if isinstance(values, str):
        values = _kernel_values(values)
    return _check(word, tuple(values) if isinstance(values, list | tuple) else (values,), parameters)


def _check(word, values, parameters):
    """Return the kernels asked for, a list, if there is such a kind with such parameters."""
    if word not in KERNELS:
        hint = meant(word, KERNELS)
        hint = hint if hint != "." else f"; there are {', '.join(KERNELS)}."
        raise ValueError(f"The kernel {word!r} is not known{hint}")
    each = parameters.pop("each", None)
    wanted, own = Wanted(word, values, parameters), KERNELS[word][1]
    if values and own is None:
        raise ValueError(f"The kernel {word!r} takes no values after a colon, got {values[0]!r}.")
    known = _parameters(wanted.kind)
    for name in parameters:
        if name not in known:
            raise ValueError(
                f"The kernel {word!r} has no parameter {name!r}; it has {', '.join(known)}"
                f"{meant(name, known)}"
            )
        if isinstance(known[name].default, bool) and not isinstance(parameters[name], bool):
            raise ValueError(
                f"{name} of the kernel {word!r} must be true or false, got {str(parameters[name])!r}."
            )
    if each is None:
        return [wanted]
    place = "columns" if wanted.is_vector else "column"
    patterns = each.split(",") if isinstance(each, str) else each
    if not isinstance(patterns, list):
        raise ValueError(f"`each` of the kernel {word!r} must be names or patterns, got {each!r}.")
    return [Wanted(word, values, {**parameters, place: pattern}) for pattern in patterns]


def _parameters(kind):
    return inspect.signature(kind).parameters
