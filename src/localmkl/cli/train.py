"""``localmkl fit`` and ``localmkl tune``: options in, a model file out."""

import time
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import typer

import localmkl
from localmkl.cli import tuning
from localmkl.cli.files import (
    CALLED,
    GRAMS,
    TABLE,
    VIEWS,
    Asked,
    Content,
    parse_rows,
    read_labelled,
    read_rows,
)
from localmkl.cli.kernels import choose_kernels, fitting_rows
from localmkl.cli.large import LargeFit
from localmkl.cli.places import MODEL, SCORES, WORK, check_outputs
from localmkl.cli.tell import describe_model
from localmkl.cli.voice import INTERRUPTED, Misuse, sentence
from localmkl.cli.words import METHODS, OPTIONS
from localmkl.datasets.labels import as_numbers
from localmkl.estimators.convex import LocalMKL
from localmkl.estimators.groups import as_groups, with_groups
from localmkl.kernels.stack import take_rows
from localmkl.persistence import write_model
from localmkl.provenance import provenance
from localmkl.report.subject import Subject

MANY_LABELS = 20
"""More different numbers with a decimal point than this are values to predict; classes written so are few."""

UNBALANCED = 5
"""Classes are not balanced if the largest has more than this many times the rows of the smallest: of two
classes, guessing the largest is then right for five rows of six."""

MOST_PAIRS = 50_000_000
"""Pairs of support vectors, some 10,000 of them, up to which an exact gap is not estimated: minutes."""

LOOKED_AT = 50
"""Training rows of each class that are predicted to see whether only one class is: enough, and fast."""


@dataclass(frozen=True)
class Order:
    """A model to be trained; the attributes are the options."""

    content: Content
    asked: Asked
    kernels: str | None
    method: str
    regression: bool
    grids: dict[str, list]
    gate: str | None
    clustering: str | None
    normalize: str | None
    impute: str | None
    missing: str | None
    balanced: bool
    tol: float | None
    rows: str | None
    seed: int
    rank: int | None = None
    device: str = "cpu"
    exact_gap: bool = False
    keep_features: bool = False
    unlabeled: Path | None = None
    out: Path = Path("model.localmkl")
    force: bool = False

    @property
    def kept(self):
        """The file of a search's finished work."""
        return self.out.with_name(f"{self.out.name}.checkpoint")

    @property
    def features(self):
        """The file of the features of a large file."""
        return self.out.with_name(f"{self.out.name}.features")

    @property
    def inputs(self):
        """All files that are read."""
        words = [text.strip() for text in (self.kernels, self.gate) if text is not None]
        kernels = [text for text in words if text.lower().endswith(".toml")]
        return [*self.content.paths, self.asked.negative, self.asked.labels, self.unlabeled, *kernels]


def train(order, voice, search=None):
    """Train a model and write it; with `search`, a `tuning.Search`, after a search over parameters."""
    kind = kind_of_estimator(order, order.grids)
    if search is None:
        _check_single(order.grids)
    _check_places(order, search)
    asked = order.asked
    content, chosen, rows = prepare(order, voice)
    grids = None if search is None else _grids(order, kind, content, chosen, search, voice)
    settings = {} if grids is not None else {name: values[0] for name, values in order.grids.items()}
    estimator = make_estimator(kind, order, chosen, settings)
    whole, start = content.whole, time.perf_counter()
    work = None if whole is None else LargeFit(order, estimator, chosen, voice)
    with nullcontext() if grids is None else _until_written(order.kept):
        if grids is not None:
            if work is not None:
                voice.note(f"Parameters are searched on {len(content):,} of {len(whole.y):,} rows.")
            model = tuning.run_search(order, estimator, grids, content, voice, search)
            if work is not None:
                model.best_estimator_ = work.fit(content, model.best_params_)
        elif work is not None:
            model = work.fit(content)
        else:
            more = tuning.groups_beside(content)
            more |= {} if order.unlabeled is None else {"unlabeled": _unlabeled(order, asked, chosen)}
            with voice.working(f"fitting {len(content)} rows"):
                model = estimator.fit(content.rows, content.y, **more)
        _leave_device(model)
        model.made_ = {
            **provenance(),
            "seconds": time.perf_counter() - start,
            "file": ", ".join(map(str, content.paths)),
            "kind": content.kind,
            "kernels": chosen.said,
            "kernel_names": chosen.names,
            "unread": chosen.unread,
            "target": asked.target,
            "names_column": asked.names,
            "groups_name": asked.groups,
            "variable": asked.variable,
            "header": asked.header,
            "rows": rows,
            "y": content.y if whole is None else whole.y,  # with the names, for a report of the training rows
            "names": content.names,
        }
        write_model(model, order.out)
        if work is not None:
            work.finish()
    if order.exact_gap:
        try:
            model.made_["exact_gap"] = _exact_gap(model, replace(chosen, content=content), order, voice)
            write_model(model, order.out)
        except MemoryError as error:
            voice.note(f"The model is written, its exact gap is not known: {sentence(error)}")
    if not order.regression:
        _say_doubts(model, content, voice, order.balanced)
    record, text = describe_model(Subject(model, kernel_names=chosen.names))
    voice.result({"out": str(order.out), **record}, f"{text}\nwritten    {order.out}")


def prepare(order, voice):
    """Return the rows to train on, their kernels, and how to find these rows again in a Gram file."""
    content, rows = _take(_for_task(order.content, order.regression), order.rows)
    _check_targets(content, order.regression)
    _check_sizes(content, order.asked.groups)
    chosen = choose_kernels(content, order.kernels, order.gate, order.impute)
    content = _with_groups(chosen.content, order.asked.groups)
    voice.note(f"Kernels: {chosen.said}.")
    return content, chosen, rows


def _leave_device(model):
    """Let a model, or a search, be for every machine: its device was that of the fit."""
    for one in (model, getattr(model, "estimator", None), getattr(model, "best_estimator_", None)):
        if one is not None and "device" in one.get_params(deep=False):
            one.set_params(device="cpu")


def _exact_gap(model, chosen, order, voice):
    """Return the gap of a model on features in the exact problem: all of it, or an estimate."""
    inner, content = getattr(model, "best_estimator_", model), chosen.content
    if content.whole is not None:
        content = _read_whole(order, chosen)
    rows = with_groups(content.rows, tuning.groups_beside(content).get("groups"))
    few = len(inner.support_) ** 2 <= 2 * MOST_PAIRS
    with voice.counting("exact gap") as show:
        found = inner.exact_gap(
            rows, content.y, max_pairs=None if few else MOST_PAIRS, random_state=order.seed, progress=show
        )
    return {"gap": found.gap, "error": found.error}


def _read_whole(order, chosen):
    """Return all rows of a large file, as those of the sample are."""
    content, name = chosen.content, order.asked.groups
    found = replace(read_labelled(content.path, order.asked), y=content.whole.y)
    if name is not None and content.kind == TABLE:
        chosen = replace(chosen, content=replace(content, rows=content.rows.drop(columns=name)))
    return _with_groups(replace(found, rows=fitting_rows(found, chosen)), name)


def all_of(content, name):
    """Return the labels or groups of all rows, also where those of the content are a sample."""
    return getattr(content if content.whole is None else content.whole, name)


def _check_single(grids):
    """Raise if a parameter has several values that nobody is to choose from."""
    for name, values in grids.items():
        if len(values) > 1:
            raise Misuse(
                f"--{OPTIONS.get(name, name)} has several values, which only a search can choose from; "
                "leave out --no-tune, or give one value."
            )


def _grids(order, kind, content, chosen, search, voice):
    """Return the grids of a search, or None if there is nothing to choose, or it does not pay."""
    known, values = kind().get_params(deep=False), tuning.FULL
    if search.quick:
        n_kernels = content.rows.n_kernels if content.kind == GRAMS else len(chosen.kernels)
        values, said = tuning.pays(order, content, n_kernels)
        if said:
            voice.note(said)
    if values is None:
        _check_single(order.grids)
        return None
    values = values.for_numbers() if order.regression else values
    grids = tuning.candidates(known, order.grids, values, by_groups=order.asked.groups is not None)
    tuning.check_pairs(grids, known)
    return None if search.quick and tuning.count_candidates(grids) == 1 else grids


def _for_task(content, regression):
    """Return the content with numbers as targets if these are wanted and all of them are numbers."""
    if not regression or content.y.dtype.kind in "iuf":
        return content
    numbers = as_numbers(all_of(content, "y"))
    if numbers is None:
        return content
    if content.whole is None:
        return replace(content, y=numbers)
    return replace(content, y=numbers[content.numbers], whole=replace(content.whole, y=numbers))


def _say_doubts(model, content, voice, balanced):
    """Say that classes are not balanced, or that a model predicts one of them alone.

    The second is judged by some training rows of each class.
    """
    labels, counts = np.unique(content.y, return_counts=True)
    by_class = [np.flatnonzero(content.y == label)[:LOOKED_AT] for label in labels]
    rows = with_groups(content.rows, tuning.groups_beside(content).get("groups"))
    said = np.unique(model.predict(take_rows(rows, np.concatenate(by_class))))
    if len(said) == 1:
        hint = "try a larger --C, or other kernels" if balanced else "try --balanced, or a larger --C"
        voice.note(f"The model predicts {str(said[0])!r} for training rows of every class; {hint}.")
    elif not balanced and counts.max() > UNBALANCED * counts.min():
        most, least = counts.argmax(), counts.argmin()
        voice.note(
            f"The classes are not balanced: {counts[most]} rows of {str(labels[most])!r}, {counts[least]} of "
            f"{str(labels[least])!r}; --balanced weighs them by how rare they are."
        )


def _check_places(order, search):
    """Raise unless all results can be written; those of a search are three."""
    outputs = [("--out", order.out, MODEL)]
    if order.content.whole is not None:
        outputs.append(("the file of features", order.features, WORK))
    if search is not None:
        outputs.append(("the file of finished work", order.kept, WORK))
        if search.table is not None:
            outputs.append(("--table", search.table, SCORES))
    check_outputs(outputs, order.inputs, force=order.force)


@contextmanager
def _until_written(kept):
    """Keep the finished work of a search until its results are written; say how a stopped one goes on."""
    try:
        yield
    except KeyboardInterrupt:
        said = "Stopped before anything was finished."
        if kept.exists():
            said = f"Stopped; what is finished is kept in {str(kept)!r}: give the command again to go on."
        typer.echo(said, err=True)
        raise typer.Exit(INTERRUPTED) from None
    kept.unlink(missing_ok=True)


def _take(content, text):
    """Return the rows to train on, and how to find them again in the same file."""
    if text is None:
        return content, None
    if content.kind != GRAMS:
        raise Misuse("--rows is for Gram files.")
    n_rows = len(content.rows)
    rows = parse_rows(text, n_rows)
    return content.take(rows), {"start": int(rows[0]), "stop": int(rows[-1]) + 1, "of": n_rows}


def _unlabeled(order, asked, chosen):
    """Return rows of another file, of the same kind as the training rows, to learn the clusters from too."""
    content = chosen.content
    if order.method not in ("clmkl", "hlmkl"):
        raise Misuse(f"--unlabeled is for the methods clmkl and hlmkl, got {order.method}.")
    if content.kind in (GRAMS, VIEWS):
        raise Misuse("--unlabeled is for tables and FASTA files, one alone.")
    found = read_rows(order.unlabeled, asked)
    if found.kind != content.kind:
        raise ValueError(
            f"{str(order.unlabeled)!r} must be {CALLED[content.kind]} as the training rows, "
            f"got {CALLED[found.kind]}."
        )
    return fitting_rows(found, chosen)


def _check_targets(content, regression):
    """Raise if the targets look like those of the other task."""
    y = all_of(content, "y")
    if regression and y.dtype.kind not in "iuf":
        raise ValueError(
            f"--regression needs numbers as targets, got {str(y[0])!r}; leave it out to predict classes."
        )
    if regression:
        return
    different = len(np.unique(y))
    if y.dtype.kind == "f" and (different > MANY_LABELS or np.any(y != np.round(y))):
        raise ValueError(
            f"The target has {different} different numbers; pass --regression to predict numbers."
        )
    if different > max(MANY_LABELS, len(y) // 2):
        raise ValueError(
            f"The target must hold classes with several rows each, got {different} classes in {len(y)} rows; "
            "name a column of classes, or predict numbers by --regression."
        )


def _check_sizes(content, name):
    """Raise if what is to be groups is the same in all rows, or nearly different in every row."""
    if name is None:
        return
    groups = all_of(content, "groups")
    different, n_rows = np.unique(groups.astype(str)).tolist(), len(groups)
    if len(different) == 1:
        raise ValueError(
            f"--groups must name two groups or more, {name!r} is {different[0]!r} in all {n_rows} rows; name "
            "another, or leave it out."
        )
    if len(different) > max(MANY_LABELS, n_rows // 2):
        raise ValueError(
            f"--groups must name groups with several rows each, {name!r} has {len(different)} in {n_rows} "
            "rows; name another."
        )


def _with_groups(content, name):
    """Return the content with the groups of a table as a column, as the estimators take them."""
    if name is None or content.kind != TABLE:
        return content
    missing = [row for row, group in enumerate(as_groups(all_of(content, "groups"))) if group is None]
    if missing:
        content = content if content.whole is None else replace(content, numbers=None)
        place, _ = content.place(missing[0], name)
        raise ValueError(
            f"{str(content.path)!r}, {place}: the column {name!r} must name a group in every row, got none; "
            "name one, or leave the row out."
        )
    return replace(content, rows=content.rows.assign(**{name: content.groups}))


def kind_of_estimator(order, grids):
    """Return the class that the options ask for; refuse options that it does not have."""
    kind = getattr(localmkl, METHODS[order.method] + ("Regressor" if order.regression else "Classifier"))
    asked = [*grids, *(["gate_kernel"] if order.gate else []), *(["class_weight"] if order.balanced else [])]
    asked += [] if order.asked.groups is None else ["groups"]
    for name in asked:
        if name not in kind().get_params(deep=False):
            task = "regression" if order.regression else "classification"
            raise Misuse(f"--{OPTIONS.get(name, name)} is not for {task} with the method {order.method}.")
    if order.clustering is not None and not issubclass(kind, LocalMKL):
        raise Misuse(f"--clustering is not for the method {order.method}, which finds no clusters.")
    _check_groups(order)
    _check_rank(order)
    return kind


def _check_rank(order):
    """Raise if features are asked for where there are none."""
    large = order.content.whole is not None
    if large and order.unlabeled is not None:
        raise Misuse("--unlabeled does not go with --rank and a file that is too large to be read whole.")
    if large and order.gate is not None and not order.gate.strip().isdecimal():
        raise Misuse(
            "--gate must be the number of a kernel where a file is too large to be read whole, got "
            f"{order.gate!r}; add this kernel to --kernels, and give its number."
        )
    if order.rank is not None and order.content.kind == GRAMS:
        raise Misuse("--rank is for tables and FASTA files: the kernels of a Gram file are computed already.")


def _check_groups(order):
    """Raise if options are for clusters, and known groups take their place."""
    if order.asked.groups is None:
        return
    given = {name: getattr(order, name) for name in ("gate", "clustering", "unlabeled")}
    given["clusters"] = order.grids.get("n_clusters")
    for name, value in {**given, "evenness": order.grids.get("evenness")}.items():
        if value is not None:
            raise Misuse(
                f"--{name} is for clusters, which --groups takes the place of; leave out one of them."
            )


def make_estimator(kind, order, chosen, settings):
    """Return the estimator that the options describe."""
    settings = {**settings, "kernels": chosen.kernels}
    if order.gate is not None:
        settings["gate_kernel"] = chosen.gate
    if order.clustering is not None:
        settings["gate"] = order.clustering
    if order.normalize is not None:
        settings["normalize"] = None if order.normalize == "none" else order.normalize
    if order.tol is not None:
        settings["tol"] = order.tol
    if order.missing is not None:
        settings["missing"] = order.missing
    if order.rank is not None:
        settings["n_components"] = order.rank
    if order.device != "cpu":
        settings["device"] = order.device
    if order.balanced:
        settings["class_weight"] = "balanced"
    if order.asked.groups is not None:
        column = order.asked.groups if chosen.content.kind == TABLE else None
        settings = {"shared": tuning.HALF, **settings, "gate": "groups", "groups": column}
    if "random_state" in kind().get_params(deep=False):
        settings["random_state"] = order.seed
    return kind(**settings)
