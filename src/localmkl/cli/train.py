"""``localmkl fit`` and ``localmkl tune``: options in, a model file out."""

import time
import warnings
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import typer
from sklearn.base import is_regressor
from sklearn.metrics import get_scorer_names
from sklearn.model_selection import KFold, StratifiedKFold

import localmkl
from localmkl._files import write_whole
from localmkl.cli.columns import pick_columns
from localmkl.cli.files import CALLED, GRAMS, TABLE, Asked, Content, parse_rows, read_rows
from localmkl.cli.kernels import choose_kernels
from localmkl.cli.places import MODEL, SCORES, WORK, check_outputs
from localmkl.cli.tell import describe_model
from localmkl.cli.voice import INTERRUPTED, Misuse, as_csv
from localmkl.cli.words import METHODS, OPTIONS
from localmkl.datasets.labels import as_numbers
from localmkl.experiments.results import provenance
from localmkl.kernels.stack import take_rows
from localmkl.model_selection import MKLSearchCV, score_table
from localmkl.model_selection.checkpoint import OtherSearch
from localmkl.persistence import save
from localmkl.report.subject import Subject

GRID = {"C": [0.1, 1.0, 10.0, 100.0], "p": [1.0, 4 / 3, 2.0], "evenness": [0.4, 0.5, 0.6, 0.7, 0.8, 1.0]}
"""Values tried for parameters that are not set; at evenness 1 there are no clusters."""

MANY_LABELS = 20
"""More different numbers with a decimal point than this are values to predict; classes written so are few."""

UNBALANCED = 5
"""Classes are not balanced if the largest has more than this many times the rows of the smallest: of two
classes, guessing the largest is then right for five rows of six."""

LOOKED_AT = 50
"""Training rows of each class that are predicted to see whether only one class is: enough, and fast."""

FOLDS = 5
"""Folds of ``fit --tune``, the default of ``tune --folds``."""


@dataclass(frozen=True)
class Order:
    """A model to be trained; the attributes are the options."""

    content: Content
    out: Path
    asked: Asked
    kernels: str | None
    method: str
    regression: bool
    grids: dict[str, list]
    gate: str | None
    normalize: str | None
    balanced: bool
    tol: float | None
    rows: str | None
    seed: int
    unlabeled: Path | None = None
    force: bool = False

    @property
    def kept(self):
        """The file of a search's finished work."""
        return self.out.with_name(f"{self.out.name}.checkpoint")

    @property
    def inputs(self):
        """All files that are read."""
        words = [text.strip() for text in (self.kernels, self.gate) if text is not None]
        kernels = [text for text in words if text.lower().endswith(".toml")]
        return [self.content.path, self.asked.negative, self.asked.labels, self.unlabeled, *kernels]


def train(order, voice, search=None):
    """Train a model and write it; with `search` (its options), after a search over parameters."""
    grids = order.grids
    if search is None and (several := [name for name, values in grids.items() if len(values) > 1]):
        raise Misuse(f"--{OPTIONS.get(several[0], several[0])} has several values; search them with --tune.")
    kind = _kind_of_estimator(order, grids)
    _check_places(order, search)
    asked = order.asked
    content, rows = _take(_for_task(order.content, order.regression), order.rows)
    _check_targets(content, order.regression)
    chosen = choose_kernels(content, order.kernels, order.gate)
    content = chosen.content
    voice.note(f"Kernels: {chosen.said}.")
    settings = {} if search is not None else {name: values[0] for name, values in grids.items()}
    estimator = _make(kind, order, chosen, settings)
    start = time.perf_counter()
    with nullcontext() if search is None else _until_written(order.kept):
        if search is None:
            more = {} if order.unlabeled is None else {"unlabeled": _unlabeled(order, asked, content)}
            with voice.working(f"fitting {len(content)} rows"):
                model = estimator.fit(content.rows, content.y, **more)
        else:
            model = _search(order, estimator, grids, content, voice, search)
        model.made_ = {
            **provenance(),
            "seconds": time.perf_counter() - start,
            "file": str(content.path),
            "kind": content.kind,
            "kernels": chosen.said,
            "kernel_names": chosen.names,
            "target": asked.target,
            "names_column": asked.names,
            "variable": asked.variable,
            "header": asked.header,
            "rows": rows,
            "y": content.y,  # with the names, for a report of the training rows
            "names": content.names,
        }
        save(model, order.out)
    if not order.regression:
        _say_doubts(model, content, voice, order.balanced)
    record, text = describe_model(Subject(model, kernel_names=chosen.names))
    voice.result({"out": str(order.out), **record}, f"{text}\nwritten    {order.out}")


def _for_task(content, regression):
    """Return the content with numbers as targets if these are wanted and all of them are numbers."""
    if not regression or content.y.dtype.kind in "iuf":
        return content
    numbers = as_numbers(content.y)
    return content if numbers is None else replace(content, y=numbers)


def _say_doubts(model, content, voice, balanced):
    """Say that classes are not balanced, or that a model predicts one of them alone.

    The second is judged by some training rows of each class.
    """
    labels, counts = np.unique(content.y, return_counts=True)
    by_class = [np.flatnonzero(content.y == label)[:LOOKED_AT] for label in labels]
    said = np.unique(model.predict(take_rows(content.rows, np.concatenate(by_class))))
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
    if search is not None:
        outputs.append(("the file of finished work", order.kept, WORK))
        if search.get("table") is not None:
            outputs.append(("--table", search["table"], SCORES))
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


def _unlabeled(order, asked, content):
    """Return rows of another file, of the same kind as the training rows, to learn the clusters from too."""
    if order.method not in ("clmkl", "hlmkl"):
        raise Misuse(f"--unlabeled is for the methods clmkl and hlmkl, got {order.method}.")
    if content.kind == GRAMS:
        raise Misuse("--unlabeled is for tables and FASTA files.")
    found = read_rows(order.unlabeled, asked)
    if found.kind != content.kind:
        raise ValueError(
            f"{str(order.unlabeled)!r} must be {CALLED[content.kind]} as the training rows, "
            f"got {CALLED[found.kind]}."
        )
    return pick_columns(found, content.rows).rows if content.kind == TABLE else found.rows


def _check_targets(content, regression):
    """Raise if the targets look like those of the other task."""
    y = content.y
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


def _kind_of_estimator(order, grids):
    """Return the class that the options ask for; refuse options that it does not have."""
    kind = getattr(localmkl, METHODS[order.method] + ("Regressor" if order.regression else "Classifier"))
    asked = [*grids, *(["gate_kernel"] if order.gate else []), *(["class_weight"] if order.balanced else [])]
    for name in asked:
        if name not in kind().get_params(deep=False):
            task = "regression" if order.regression else "classification"
            raise Misuse(f"--{OPTIONS.get(name, name)} is not for {task} with the method {order.method}.")
    return kind


def _make(kind, order, chosen, settings):
    """Return the estimator that the options describe."""
    settings = {**settings, "kernels": chosen.kernels}
    if order.gate is not None:
        settings["gate_kernel"] = chosen.gate
    if order.normalize is not None:
        settings["normalize"] = None if order.normalize == "none" else order.normalize
    if order.tol is not None:
        settings["tol"] = order.tol
    if order.balanced:
        settings["class_weight"] = "balanced"
    if "random_state" in kind().get_params(deep=False):
        settings["random_state"] = order.seed
    return kind(**settings)


def _search(order, estimator, grids, content, voice, options):
    """Return the fitted search, with its table written."""
    grid = _full_grid(estimator, grids)
    _check_pairs(grid, estimator.get_params(deep=False))
    scoring = options.get("scoring") or _default_scoring(content, order.regression, grid)
    if scoring not in get_scorer_names():
        near = get_close_matches(scoring, get_scorer_names(), n=1, cutoff=0.0)
        raise Misuse(
            f"--scoring must be a metric of scikit-learn, got {scoring!r}; did you mean {near[0]!r}?"
        )
    n_folds = options.get("folds", FOLDS)
    _check_folds(content, order.regression, n_folds)
    tried = "; ".join(f"{name} {', '.join(map(_shown, values))}" for name, values in grid.items())
    voice.note(f"Searching by {scoring}: {tried}.")
    folds = (KFold if is_regressor(estimator) else StratifiedKFold)(
        n_folds,
        shuffle=True,  # files are often sorted by class
        random_state=order.seed,
    )
    search = MKLSearchCV(
        estimator,
        grid,
        scoring=scoring,
        n_jobs=options.get("jobs"),
        cv=folds,
        checkpoint=str(order.kept),
        random_state=order.seed,
        verbose=int(not voice.quiet),
        error_score="raise",
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The search was interrupted")  # said by `_until_written`
        _run(search, content, order)
    if search.interrupted_:
        raise KeyboardInterrupt
    if options.get("table") is not None:
        table = score_table(search)
        rows = zip(*(np.asarray(table[name]).tolist() for name in table), strict=True)
        write_whole(options["table"], as_csv(list(table), rows).encode())
    return search.set_params(checkpoint=None, verbose=0)  # a copy of it must not write there


def _run(search, content, order):
    """Fit a search; leave no finished work behind that would only meet the same error again."""
    begun = order.kept.exists()
    try:
        search.fit(content.rows, content.y)
    except OtherSearch as error:
        if not order.force:
            raise ValueError(
                f"{str(order.kept)!r} is of a search with other data or options; give that command again to "
                "finish it, choose another --out, or give --force to drop it."
            ) from error
        order.kept.unlink()
        search.fit(content.rows, content.y)
    except (ValueError, TypeError):
        if not begun:
            order.kept.unlink(missing_ok=True)
        raise


def _check_folds(content, regression, n_folds):
    """Raise unless every fold can have rows of every class."""
    if regression:
        rarest, what = len(content), "The file"
    else:
        labels, counts = np.unique(content.y, return_counts=True)
        rarest, what = counts.min(), f"The class {str(labels[counts.argmin()])!r}"
    if rarest < n_folds:
        raise ValueError(
            f"{what} has {rarest} rows, too few for {n_folds} folds; give fewer --folds, or more rows."
        )


def _check_pairs(grid, known):
    """Raise if an evenness cannot be had with a number of clusters that is tried too."""
    for clusters in grid.get("n_clusters", [known.get("n_clusters", 1)]):
        for evenness in grid.get("evenness", ()):
            if 0 < evenness * clusters < 1 - 1e-9:
                raise Misuse(
                    f"--evenness {evenness:g} cannot be had with --clusters {clusters:g}, where it is at "
                    f"least {1 / clusters:.4g}; leave out one of them, or search them one after the other."
                )


def _full_grid(estimator, grids):
    """Return the user's lists, and the default ones for what is not set."""
    known = estimator.get_params(deep=False)
    grid = {name: values for name, values in GRID.items() if name in known} | grids
    if "evenness" in known and "evenness" not in grids:
        fewest = min(grid.get("n_clusters", [known["n_clusters"]]))
        grid["evenness"] = [value for value in GRID["evenness"] if value > 1.0 / fewest] or [1.0]
    return grid


def _shown(value):
    return value if isinstance(value, str) else f"{value:.4g}"


def _default_scoring(content, regression, grid):
    """Return AUC for two classes, accuracy for more, R2 for numbers, the absolute error for medians."""
    if "quantile" in grid.get("loss", ()):
        if grid.get("quantile", [0.5]) != [0.5]:
            raise Misuse(
                "--quantile other than 0.5 cannot be tuned: scikit-learn names no metric for it; fit it with "
                "parameters of your choice, or name a metric by --scoring."
            )
        return "neg_mean_absolute_error"
    if regression:
        return "r2"
    return "roc_auc" if len(np.unique(content.y)) == 2 else "accuracy"
