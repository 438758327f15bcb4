"""From the options of ``fit``, ``tune`` and ``compare`` to what is to be learned from what: a `Plan`."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

import localmkl
from localmkl._checks import listed
from localmkl._spelling import meant
from localmkl.cli import files
from localmkl.cli.files import GRAMS, TABLE, Asked, Content
from localmkl.cli.joining import are_views, named_files, read_joined
from localmkl.cli.kernels import Chosen, choose_kernels
from localmkl.cli.options import METHODS
from localmkl.cli.voice import OPTION_OF, Misuse
from localmkl.cli.words import parse_grids
from localmkl.datasets.labels import as_numbers
from localmkl.estimators.groups import as_groups

HALF = 0.5
"""Share that known groups have in common unless the folds speak against it."""

POSITIVE_WORDS = {"1", "1.0", "+", "true", "yes", "y", "positive", "pos", "case", "cases"}
NEGATIVE_WORDS = {"0", "0.0", "-", "false", "no", "n", "negative", "neg", "none", "control", "controls"}
NEGATIVE_WORDS |= {"healthy", "normal", "well", "benign", "alive"}
"""Labels that mean the positive class, or the other one, in small letters."""


@dataclass(frozen=True)
class Plan:
    """A model to be learned; what is not named below is one of the options.

    Attributes
    ----------
    given : namespace
        The options.
    asked : Asked
    content : Content
        The rows, as kernels read them.
    chosen : Chosen
    sliced : dict or None
        How to find the training rows again in a file of kernel matrices.
    grids : dict of list
        Values of parameters, from the options.
    left_out : dict of str to str
        Columns that are not read, and why.
    """

    given: Any
    asked: Asked
    content: Content
    chosen: Chosen
    sliced: dict | None
    grids: dict[str, list]
    left_out: dict[str, str]

    def __getattr__(self, name):
        """Return an option."""
        return getattr(self.given, name)

    @property
    def kept(self):
        """The file of a search's finished work."""
        return self.out.parent / f"{self.out.name}.checkpoint"

    @property
    def features(self):
        """The file of the features of a large file."""
        return self.out.parent / f"{self.out.name}.features"

    @property
    def beside(self):
        """The argument `groups` of ``fit``; the groups of a table are a column of its rows."""
        in_rows = self.content.groups is None or self.content.kind == TABLE
        return {} if in_rows else {"groups": self.content.groups}

    def estimator(self, **settings):
        """Return the estimator that the options describe, with some more parameters."""
        kind = class_of(self.method, self.regression)
        known = kind().get_params(deep=False)
        own = {name: value for name, value in _parameters(self.given).items() if value is not None}
        own |= {"gate_kernel": self.chosen.gate} if self.chosen.gate is not None else {}
        if self.groups is not None:
            column = self.groups if self.content.kind == TABLE else None
            own |= {"shared": HALF, "gate": "groups", "groups": column}
        own |= {"random_state": self.seed} if "random_state" in known else {}
        if "loss" in known and not self.regression:
            own["loss"] = default_loss(len(np.unique(_all(self.content, "y"))))
        return kind(**{**own, **settings, "kernels": self.chosen.kernels})


def _parameters(given):
    """Return the parameters that options name, but for those that a search may vary; None: the default."""
    return {
        "tol": given.tol,
        "missing": given.missing,
        "n_components": given.rank,
        "device": None if given.device == "cpu" else given.device,
        "class_weight": "balanced" if given.balanced else None,
    }


def default_loss(n_classes):
    """Return the loss where none is named: of three and more classes the hinge is better."""
    return "log_loss" if n_classes == 2 else "hinge"


def class_of(method, regression):
    """Return the class of a method."""
    return getattr(localmkl, METHODS[method] + ("Regressor" if regression else "Classifier"))


def check_options(given):
    """Return the values of parameters that options name; raise if options do not belong together."""
    if bool(given.data) == (given.positive is not None or given.negative is not None):
        raise Misuse("Name a file of training rows, DATA, or two FASTA files by --positive and --negative.")
    texts = {name: getattr(given, name) for name in ("C", "p", "evenness", "shared")}
    grids = parse_grids({**texts, "n_clusters": given.clusters})
    if given.loss is not None:
        grids["loss"] = [word.strip() for word in given.loss.split(",")]
    return grids


def check_method(given, grids):
    """Raise if the method has no such parameters, or groups take the place of clusters."""
    known = class_of(given.method, given.regression)().get_params(deep=False)
    used = {**_parameters(given), "gate_kernel": given.gate, "groups": given.groups}
    for name in (*grids, *(name for name, value in used.items() if value is not None)):
        if name not in known:
            task = "regression" if given.regression else "classification"
            raise Misuse(f"--{OPTION_OF.get(name, name)} is not for {task} with the method {given.method}.")
    for name in ("gate", "clusters", "evenness"):
        if given.groups is not None and getattr(given, name) is not None:
            raise Misuse(
                f"--{name} is for clusters, which --groups takes the place of; leave out one of them."
            )


def make_plan(given, grids, voice):
    """Read the rows to learn from, choose their kernels, and return the plan; print what is to be noted."""
    named = {one.name: getattr(given, one.name) for one in fields(Asked) if hasattr(given, one.name)}
    asked = Asked(**{**named, "categories": tuple(filter(None, (given.categories or "").split(",")))})
    content, sliced = _read(given, asked, voice), None
    voice.note(*content.notes)
    if (given.rows if content.kind != GRAMS else given.rank) is not None:
        raise Misuse("--rows is for files of kernel matrices, --rank for all others.")
    if given.rows is not None:
        rows = files.parse_rows(given.rows, len(content))
        sliced = {"start": int(rows[0]), "stop": int(rows[-1]) + 1, "of": len(content)}
        content = content.take(rows)
    content = _with_targets(content, given.regression)
    chosen = choose_kernels(content, given.kernels, given.gate, given.impute)
    taken = _with_groups(chosen.content, asked)
    return Plan(given, asked, taken, replace(chosen, content=taken), sliced, grids, content.left_out)


def inputs_of(given):
    """Return all files that are read."""
    return [*named_files(given.data or [given.positive]).values(), given.negative, given.labels]


def _read(given, asked, voice):
    """Return the rows to train on; of a large file, for which a rank was given, a sample of them."""
    paths = named_files(given.data or [given.positive])
    if are_views(paths):
        return read_joined(paths, asked, labelled=True)
    (path,) = paths.values()
    if given.missing is not None:
        raise Misuse("--missing is for several files, got one.")
    if given.rank is None or not (files.is_large(path) or files.is_large(asked.negative)):
        return files.read_labelled(path, asked)
    files.check_labelled(path, asked)
    from localmkl.cli.pieces import survey

    return survey(path, asked, size=given.rank, seed=given.seed, voice=voice)


def _all(content, name):
    """Return the labels or groups of all rows, also where those of the content are a sample."""
    return getattr(content if content.whole is None else content.whole, name)


def _with_targets(content, regression, most=20):
    """Return the content with targets for a task; raise if they look like those of the other one."""
    y = _all(content, "y")
    if regression and y.dtype.kind not in "iuf":
        numbers = as_numbers(y)
        if numbers is None:
            came = str(y[0])
            raise ValueError(
                f"--regression needs numbers as targets, got {came!r}; leave it out for classes."
            )
        if content.whole is None:
            return replace(content, y=numbers)
        return replace(content, y=numbers[content.numbers], whole=replace(content.whole, y=numbers))
    different = 0 if regression else len(np.unique(y))
    decimal = y.dtype.kind == "f" and (different > most or np.any(y != np.round(y)))
    if not regression and (decimal or different > max(most, len(y) // 2)):
        raise ValueError(
            f"The target must hold classes with several rows each, got {different} different values in "
            f"{len(y)} rows; name a column of classes, or pass --regression to predict numbers."
        )
    return content


def _with_groups(content, asked, most=20):
    """Return the content with the groups of a table as a column; raise unless they are groups."""
    name = asked.groups
    if name is None:
        return content
    groups = as_groups(_all(content, "groups"))
    different = list(dict.fromkeys(map(str, groups)))
    if len(different) == 1 or len(different) > max(most, len(groups) // 2):
        raise ValueError(
            f"--groups must name two groups or more, with several rows each; {name!r} has {len(different)} "
            f"in {len(groups)} rows ({listed(different, 3)}); name another, or leave it out."
        )
    if content.kind != TABLE:
        return content
    if None in groups:
        files.refuse_gap(replace(content, numbers=None), asked, "groups", list(groups).index(None))
    return replace(content, rows=content.rows.assign(**{name: content.groups}))


def positive_class(y, wanted=None):
    """Return the positive one of two classes, as text; None of several.

    It is the one that is wanted, else what words mean (yes, case, 1; not no, control, 0), else the clearly
    rarer one, else the second.

    Examples
    --------
    >>> positive_class(["no", "no", "yes"]), positive_class(["home", "home", "home", "ill", "ill"])
    ('yes', 'ill')
    """
    labels, counts = np.unique(np.asarray(y).astype(str), return_counts=True)
    names = labels.tolist()
    if wanted is not None and (wanted not in names or len(names) != 2):
        hint = meant(wanted, names)
        raise Misuse(
            f"--positive-class must be one of two classes, here of {listed(names)}, got {wanted!r}{hint}"
        )
    if wanted is not None or len(names) != 2:
        return wanted
    pairs = (names, names[::-1])
    meaning = [
        one for one, other in pairs if one.lower() in POSITIVE_WORDS or other.lower() in NEGATIVE_WORDS
    ]
    rarer = names[int(counts.argmin())] if counts.min() < 0.4 * counts.sum() else names[1]
    return meaning[0] if len(meaning) == 1 else rarer
