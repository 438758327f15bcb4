"""``localmkl predict`` and ``localmkl report``: a model file and new rows."""

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from localmkl._checks import listed
from localmkl._spelling import meant
from localmkl._warnings import warn
from localmkl.cli.columns import as_numbers, as_read
from localmkl.cli.files import (
    CALLED,
    GRAMS,
    MATRIX,
    SEQUENCES,
    TABLE,
    TABLE_LABELS,
    VIEWS,
    Asked,
    counted,
    is_large,
    kind_of,
    parse_rows,
    read_rows,
)
from localmkl.cli.joining import named_files, read_joined
from localmkl.cli.pieces import read_pieces
from localmkl.cli.voice import Misuse, check_device_option
from localmkl.datasets.labels import alike, as_labels, has_label, on_labelled
from localmkl.estimators.groups import as_groups, with_groups
from localmkl.estimators.probabilities import probabilities
from localmkl.explain import memberships_of, training_rows
from localmkl.kernels import Kernel
from localmkl.kernels.stack import take_rows
from localmkl.kernels.viewed import ViewKernel
from localmkl.persistence import load
from localmkl.report.metrics import BELOW, BRIER, LOG_LOSS, PINBALL, choose_metrics
from localmkl.report.recognised import MAYBE, SEEN, beside_landmarks
from localmkl.report.subject import Subject, predicted

CONTRIBUTION_ENTRIES = 2**24
"""Contributions that prediction holds at a time: 128 MB."""


def open_model(path):
    """Return the subject of a report on a model file."""
    model = load(path)
    made = made_of(model)
    if made and not _is_whole(made, Subject(model)):
        raise ValueError(f"{str(path)!r} is damaged: what it says of how it was made is not whole.")
    return Subject(model, kernel_names=made.get("kernel_names"))


def _is_whole(made, subject):
    """Whether all is there that `train` wrote about a model, and can be shown."""
    if not isinstance(made, dict) or not isinstance(made.get("seconds"), float):
        return False
    names, rows, n_train = made.get("kernel_names"), made.get("rows"), subject.n_train
    texts = [made.get(name) for name in ("date", "file", "version", "cpu")]
    asked = [made.get(name) for name in ("target", "names_column", "groups_name", "variable")]
    texts += [name for name in asked if name is not None]
    texts += [None] if names is not None and len(names) != len(subject.kernels) else names or []
    of_rows = [made.get("y")] + ([] if made.get("names") is None else [made["names"]])
    ends = [0, 1, 1] if rows is None else [rows[name] for name in ("start", "stop", "of")]
    return (
        all(isinstance(text, str) and text.isprintable() for text in texts)
        and all(isinstance(column, np.ndarray) and column.shape == (n_train,) for column in of_rows)
        and all(isinstance(end, int) for end in ends)
        and 0 <= ends[0] < ends[1] <= ends[2]
    )


def made_of(model):
    """Return the record of a model that the command line made; empty for one that Python code saved."""
    return getattr(model, "made_", {})


def kind_for(subject):
    """Return the kind of file that a model takes."""
    if subject.model._precomputed:
        return GRAMS
    if hasattr(subject.model, "views_"):
        return VIEWS
    return TABLE if hasattr(subject.model, "n_features_in_") else SEQUENCES  # sequences have no columns


def paths_of(data):
    """Return the files that the arguments of a command name."""
    return list(named_files(data or []).values())


def read_for(subject, data, *, rows=None, **options):
    """Return the content of files as a model takes it; what is not said is as in the fit."""
    if kind_for(subject) == VIEWS:
        return _joined_for(subject, data, rows, _asked(subject, **options))
    path = _only(data)
    content = read_rows(path, _asked(subject, **options))
    _check_kind(subject, path, rows)
    content = replace(content, y=_as_known(subject, content))
    if content.kind == GRAMS:
        return _grouped(subject, _cross_grams(subject, content, rows))
    return _as_taken(subject, content)


def _only(data):
    """Return the one file that a model takes which was fitted on one."""
    paths = paths_of(data)
    if len(paths) > 1:
        raise Misuse(f"The model was fitted on one file, and takes one, got {len(paths)}: {listed(paths)}.")
    return paths[0]


def _joined_for(subject, data, rows, asked):
    """Return new samples in the views of a model; one that no file is of, no sample has."""
    files, expected = named_files(data), subject.model.views_
    if rows is not None:
        raise Misuse("--rows is for Gram files.")
    content = read_joined(files, asked, labelled=False)
    strange = [view for view in content.parts if view not in expected]
    unread = [view for view in strange if view in made_of(subject.given).get("unread", ())]
    if len(strange) > len(unread):
        other = next(view for view in strange if view not in unread)
        raise ValueError(
            f"Files must be views of the fit, {listed(list(expected))}, got {other!r}; name the view of a "
            "file as NAME=FILE."
        )
    parts = {
        view: _view_as_fitted(subject.model, view, part)
        for view, part in content.parts.items()
        if view not in unread
    }
    content, lonely = content.with_parts(parts).without_lonely()
    said = (f"Left out, in no view that the model reads: {counted(lonely)}.",) if lonely else ()
    content = replace(content, rows=content.rows.completed(list(expected)), said=(*content.said, *said))
    return _grouped(subject, replace(content, y=_as_known(subject, content)))


def _view_as_fitted(model, view, part):
    """Return a view with the columns of the fit alone."""
    columns = model.views_[view]
    named = isinstance(columns, list)
    if isinstance(columns, int) and part.kind == TABLE:  # fitted on an array
        return replace(part, kind=MATRIX, rows=_as_array(part, columns))
    kind = SEQUENCES if columns is None else TABLE if named and part.kind != MATRIX else MATRIX
    if part.kind != kind:
        raise ValueError(
            f"{str(part.path)!r} must be {CALLED[kind]} as view {view!r} of the fit, got {CALLED[part.kind]}."
        )
    return as_read(part, columns, _readers(model, view)) if kind == TABLE else part


def _readers(model, view=None):
    """Return the kernels of a fitted model, and that of its gate: those that read a view, or rows alone."""
    gate = getattr(model, "gate_kernel", None)
    own = [one.kernel if isinstance(one, ViewKernel) else one for one in model.kernels_]
    views = [getattr(one, "view", None) for one in model.kernels_]
    own, views = ([*own, gate], [*views, gate.view]) if isinstance(gate, Kernel) else (own, views)
    return [kernel for kernel, read in zip(own, views, strict=True) if read == view]


def pieces_for(subject, data, *, rows=None, **options):
    """Yield the content of a file as a model takes it: of a large one, piece by piece.

    Labels of a large file are as they are written: only all of them show whether they are numbers.
    """
    if kind_for(subject) == VIEWS or not is_large(_only(data)):
        yield read_for(subject, data, rows=rows, **options)
        return
    path = _only(data)
    asked = _asked(subject, **options)
    _check_kind(subject, path, rows)
    if kind_of(path) == TABLE and asked.labels is not None:
        raise Misuse(TABLE_LABELS)
    for piece in read_pieces(path, asked, labelled=False):
        yield _as_taken(subject, piece)


def _asked(subject, *, target=None, labels=None, names=None, variable=None, header=None):
    """Return the options on a file; what is not said is as in the fit."""
    made = made_of(subject.given)
    return Asked(
        target or made.get("target"),
        labels,
        names or made.get("names_column"),
        variable or made.get("variable"),
        made.get("header") if header is None else header,
        groups=made.get("groups_name"),
        insisted=frozenset(filter(None, (target, names))),
    )


def _check_kind(subject, path, rows):
    """Raise unless a file is of the kind that a model takes."""
    kind, wanted = kind_of(path), kind_for(subject)
    if kind != wanted:
        raise ValueError(f"{str(path)!r} must be {CALLED[wanted]} as in the fit, got {CALLED[kind]}.")
    if wanted != GRAMS and rows is not None:
        raise Misuse("--rows is for Gram files.")


def _as_taken(subject, content):
    """Return a table or sequences as a model takes them."""
    return _as_fitted(subject, content) if content.kind == TABLE else _grouped(subject, content)


def _grouped(subject, content):
    """Return sequences or Grams with the groups of their rows, if the model asks for groups."""
    if made_of(subject.given).get("groups_name") is None:
        return content
    groups = np.full(len(content), None) if content.groups is None else content.groups
    _say_alike(subject, content)
    if content.train is not None:
        rows, y = content.train
        content = replace(content, train=(with_groups(rows, subject.model.groups_), y))
    return replace(content, rows=with_groups(content.rows, groups))


def _say_alike(subject, content):
    """Warn about a group that the fit has not seen, and one that it has, which may mean the same."""
    if content.groups is None or not hasattr(subject.model, "groups_"):
        return
    known = dict.fromkeys(subject.model.groups_.tolist())
    strange = [group for group in dict.fromkeys(as_groups(content.groups).tolist()) if group not in known]
    pairs = (alike([own, group]) for group in strange if group is not None for own in known)
    if (found := next(filter(None, pairs), None)) is not None:
        own, group, why = found
        warn(
            f"The group {own!r} of the model and {group!r} of {str(content.path)!r} are kept apart, although "
            f"{why}; write them one way if they mean the same."
        )


def _as_known(subject, content):
    """Return the targets of a file as the model has them: labels that read the same are the same."""
    if content.y is None:
        return None
    if not subject.classifier:
        there = on_labelled(content.y)
        if there.dtype.kind not in "iuf":
            raise ValueError(
                f"The targets of {str(content.path)!r} must be numbers as in the fit, got {str(there[0])!r}."
            )
        return content.y
    classes = subject.model.classes_.tolist()
    known = {str(label): label for label in classes}
    labels = [
        label if label is None or label in classes else known.get(str(label), label)
        for label in content.y.tolist()
    ]
    return np.array(labels, dtype=None if all(label in classes for label in labels) else object)


def _as_fitted(subject, content):
    """Return a table with the columns of the fit alone."""
    name = made_of(subject.given).get("groups_name")
    _say_alike(subject, content)
    frame, model = (
        content.rows if name is None else content.rows.assign(**{name: content.groups}),
        subject.model,
    )
    columns = getattr(subject.whole, "feature_names_in_", None)
    if columns is None:  # fitted on an array
        rows = _as_array(replace(content, rows=frame), subject.whole.n_features_in_)
        return replace(content, rows=rows)
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise ValueError(
            f"{str(content.path)!r} must have the column {missing[0]!r} of the fit, "
            f"it has {listed(frame.columns)}{meant(missing[0], frame.columns)}"
        )
    if subject.whole is not model:  # a pipeline knows what its columns are
        return replace(content, rows=frame[list(columns)])
    read = as_read(content, [column for column in columns if column != name], _readers(model)).rows
    rows = read if name is None else read.assign(**{name: content.groups})
    return replace(content, rows=rows[list(columns)])


def _as_array(content, n_columns):
    """Return a table as numbers without names, as many as the fit had."""
    frame = content.rows
    if frame.shape[1] != n_columns:
        raise ValueError(
            f"{str(content.path)!r} must have the {n_columns} columns of the fit, "
            f"it has {frame.shape[1]}: {listed(frame.columns)}."
        )
    return as_numbers(content, frame, frame.columns).to_numpy()


def _cross_grams(subject, content, text):
    """Return the Grams between rows and the training rows.

    A file with the Grams of all rows holds the training rows too: by default these are left out.
    """
    stack, trained = content.rows, made_of(subject.given).get("rows")
    n_kernels, n_train = len(subject.model.factors_), subject.model.n_features_in_
    if stack.n_kernels != n_kernels == stack.whole_shape[1]:  # MATLAB's order of axes
        stack = stack.kernels_first()
    rows = np.arange(len(stack)) if text is None else parse_rows(text, len(stack))
    if trained is not None and stack.shape == (trained["of"], trained["of"]):
        train = np.arange(trained["start"], trained["stop"])
        rows = np.setdiff1d(rows, train) if text is None else rows
        grams = stack[np.ix_(train, train)]
        grams.check_training()  # so that diagonals may be read off, also where nothing is fitted again
        content = replace(content, train=(grams, made_of(subject.given)["y"]))
        stack = stack[np.ix_(rows, train)]
    elif text is not None:
        stack = stack[rows]
    if stack.shape[1] != n_train:
        raise ValueError(
            f"{str(content.path)!r} must hold Grams with the {n_train} training rows as columns, "
            f"got {stack.shape[1]} columns."
        )
    names = np.array([f"row {i}" for i in rows], dtype=object)
    y, groups = (None if column is None else column[rows] for column in (content.y, content.groups))
    return replace(content, rows=stack, y=y, groups=groups, names=names)


def move(subject, device):
    """Let a model work on a device."""
    check_device_option(device)
    if "device" in subject.model.get_params(deep=False):
        subject.model.set_params(device=device)
    elif device != "cpu":
        raise Misuse(f"--device must be cpu for the method lmkl, got {device!r}.")


def predict(subject, content):
    """Return the predictions: column names, and rows.

    Contributions are to the decision for the predicted class; with the intercept they sum to its score.
    """
    model, X = subject.model, subject.transform(content.rows)
    n_clusters = model.kernel_weights_.shape[-2]
    if subject.classifier:
        header = ["name", "label"]
        header += ["score"] if subject.binary else [f"score_{label}" for label in model.classes_]
    else:
        header = ["name", "prediction"]
    header += [f"probability_{label}" for label in model.classes_] if subject.probable else []
    header += [f"membership_{name}" for name in _short_names(model)] if n_clusters > 1 else []
    header += ["intercept", *(f"contribution_{name}" for name in subject.kernels)]
    names = content.names
    if names is None:
        names = 1 + (np.arange(len(content)) if content.numbers is None else content.numbers)
    step = max(1, CONTRIBUTION_ENTRIES // np.size(model.kernel_weights_))
    rows: list[tuple] = []
    for start in range(0, len(content), step):
        block = np.arange(start, min(start + step, len(content)))
        columns = [names[block], *_columns(subject, take_rows(X, block), n_clusters, names[block])]
        rows += zip(*(column.tolist() for column in columns), strict=True)
    return header, rows


def predict_piece(subject, content):
    """Do as `predict`; say which piece of a large file is wrong."""
    try:
        return predict(subject, content)
    except ValueError as error:
        if content.numbers is None:
            raise
        first, last = content.numbers[0], content.numbers[-1]
        raise ValueError(f"Rows {first} to {last}, the first called row 0: {error}") from error


def _short_names(model):
    """Return the names of clusters, numbers for those that have no other."""
    return [name.removeprefix("cluster ") for name in model.cluster_names_]


def _columns(subject, X, n_clusters, names):
    """Return the columns of the table of predictions, without the names."""
    model = subject.model
    parts = model.contributions(X)
    decisions = parts.sum(axis=(-2, -1)) + model.intercept_
    intercepts = np.broadcast_to(model.intercept_, decisions.shape)
    columns = [np.asarray(predicted(model, decisions))]
    if decisions.ndim == 2:
        columns += list(decisions.T)
        winners = np.arange(len(parts)), decisions.argmax(axis=1)
        parts, intercepts = parts[winners], intercepts[winners]
    elif subject.classifier:
        columns.append(decisions)
    columns += list(probabilities(decisions).T) if subject.probable else []
    columns += list(memberships_of(model, X).T) if n_clusters > 1 else []
    return [*columns, intercepts, *parts.sum(axis=1).T]


SHOWN_METRICS = ("accuracy", "AUC", LOG_LOSS, BRIER, "R2", "RMSE", PINBALL, BELOW)
"""Metrics of predictions, as far as the rows define them."""


class Tally:
    """Predictions, piece by piece, and the truth about them."""

    def __init__(self, subject):
        self.subject, self.n_rows = subject, 0
        self.parts: list[tuple] = []
        self.last: Any = None

    def add(self, content, rows):
        """Take in a piece of a file, and the rows of the table of predictions."""
        self.n_rows, self.last = self.n_rows + len(rows), content
        if content.y is None:
            return
        width = 2 if not self.subject.classifier else 3 if self.subject.binary else 2 + self._n_classes
        decisions = np.array([row[min(2, width - 1) : width] for row in rows], dtype=float)
        decisions = decisions[:, 0] if decisions.shape[1] == 1 else decisions
        guesses = np.array([row[1] for row in rows])
        shown = Subject(self.subject.given, content.rows, names=content.names)
        has = has_label(content.y)
        self.parts.append((content.y[has], guesses[has], decisions[has], shown.standing, has))

    @property
    def _n_classes(self):
        return len(self.subject.model.classes_)

    def score(self):
        """Return what `score` returns of all rows that have labels; none without the truth."""
        if not any(len(y) for y, *_ in self.parts):
            return {}, ""
        y, *predicted = zip(*self.parts, strict=True)
        if self.last.numbers is not None:
            y = _as_known(self.subject, replace(self.last, y=as_labels(np.concatenate(y).tolist())))
        else:
            (y,) = y
        y = y if self.subject.classifier else y.astype(float)
        guesses, decisions, standing, has = map(np.concatenate, predicted)
        if hasattr(self.subject.model, "features_"):
            standing = beside_landmarks(self.subject.model, standing)
            standing[has] = beside_landmarks(self.subject.model, standing[has])  # a fit leaves others out
        return score(self.subject, y, guesses, decisions, standing[has], n_rows=self.n_rows)


def score(subject, y, guesses, decisions, standing, *, n_rows):
    """Return the scores of predictions, by metric, and a sentence on them.

    Rows with labels that the model does not know are left out, and said; so are those without, of all
    `n_rows`.
    """
    truth = copy(subject)
    truth.y, truth.standing = y, standing
    chosen = np.flatnonzero(truth.known)
    if not len(chosen):
        return {}, (
            f"Not scored: the model knows the labels {listed(subject.model.classes_)}, the file has "
            f"{listed(truth.strange)}"
        )
    y, guesses, decisions = truth.truth(chosen), guesses[chosen], decisions[chosen]
    classes = subject.model.classes_ if subject.classifier else []
    if subject.classifier:
        y, guesses = np.searchsorted(classes, y), np.searchsorted(classes, guesses)
    scores = {
        metric.name: float(metric.compute(y, decisions, guesses, np.arange(len(y))[None])[0])
        for metric in choose_metrics(len(classes), loss=subject.model.loss_)
    }
    scores = {name: scores[name] for name in SHOWN_METRICS if np.isfinite(scores.get(name, np.nan))}
    return scores, _said(scores, truth, len(chosen), n_rows)


def _said(scores, truth, n_scored, n_rows):
    """Return scores as a sentence: of which rows, and which of them the model has seen."""
    text = ", ".join(
        f"{name} {value:.4f}" if value < 1e6 else f"{name} {value:.4g}" for name, value in scores.items()
    )
    text += " on these rows" if n_scored == n_rows else f" on {n_scored} of {n_rows} rows"
    n_seen, n_doubtful = (int((truth.known & (truth.standing == what)).sum()) for what in (SEEN, MAYBE))
    text += f", {n_seen} of which the model was trained on" if n_seen else ""
    if n_doubtful:
        text += f"; whether it was trained on {n_doubtful} {'more' if n_seen else 'of them'} cannot be told"
    return text + _unscored(truth, len(truth.y) - n_scored, n_rows - len(truth.y))


def _unscored(truth, n_strange, n_without):
    """Return the end of a sentence on scores: why rows have none."""
    if not n_strange:
        return "; the others have no label" if n_without else ""
    strange = listed(truth.strange)
    if not n_without:
        return f"; the others have labels new to the model: {strange}"
    return f"; without a label: {n_without}, with labels new to the model: {n_strange} ({strange})"


def write(subject, content, out, *, title, cv, baselines, seed, stability=0, verbose=0):
    """Write the report of a model; return its path."""
    from localmkl.report import write_report
    from localmkl.report.certainty import check_resamples

    made = made_of(subject.given)
    X, y = training_rows(subject.model), made.get("y")
    train = None if X is None or y is None else (X, y)
    shown = {"X": X, "y": y, "names": made.get("names")} if train is not None else {}
    if content is not None:
        shown = _shown(content)
        shown["train"] = train or content.train
    if cv == 1:
        raise Misuse("--folds must be 2 or more, or 0 for no cross-validation, got 1.")
    try:
        check_resamples(stability)
    except ValueError as error:
        raise Misuse(str(error)) from error
    options = {
        "kernel_names": subject.kernels,
        "title": title,
        "cv": cv,
        "baselines": baselines,
        "random_state": seed,
        "stability": stability,
        "verbose": verbose,
    }
    return write_report(subject.given, out, **shown, **options, seconds=made.get("seconds"))


def _shown(content):
    """Return the rows that a report shows: those with labels, if some have."""
    has = None if content.y is None else has_label(content.y)
    if has is None or has.all():
        return {"X": content.rows, "y": content.y, "names": content.names}
    rows = np.flatnonzero(has)
    names = [f"sample {row + 1}" for row in rows] if content.names is None else content.names[rows]
    return {"X": take_rows(content.rows, rows), "y": on_labelled(content.y), "names": names}


def lacking(subject, content):
    """Return a sentence on the data that a report lacks, and what to give; empty if it lacks none."""
    if content is not None and content.y is None:
        return f"{str(content.path)!r} lacks labels: nothing is said about quality."
    if content is not None and not (has := has_label(content.y)).all():
        return f"The report is on {has.sum()} of {len(has)} rows; the others have no label."
    if content is None and subject.model._precomputed:
        return (
            "A model of Gram matrices keeps no samples: the report has no cross-validation, no map and no "
            "bound. Give the Gram file too, and its labels by --target or --labels."
        )
    if content is None and hasattr(subject.model, "features_"):
        return (
            "A model with --rank keeps landmarks, not its training rows: the report has no quality, no map "
            "and no bound. Give a file of rows too."
        )
    if content is None and "y" not in made_of(subject.given):
        return "The model keeps no labels: the report has no cross-validation. Give a file with labels too."
    return ""
