"""``localmkl predict`` and ``localmkl report``: a model file and new rows."""

import csv
import io
from dataclasses import replace

import numpy as np
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score

import localmkl
from localmkl._checks import listed
from localmkl.cli.files import (
    CALLED,
    GRAMS,
    SEQUENCES,
    TABLE,
    Asked,
    as_numbers,
    numeric_columns,
    parse_rows,
    read_rows,
)
from localmkl.cli.voice import Misuse
from localmkl.explain import memberships_of, training_rows
from localmkl.kernels.stack import take_rows
from localmkl.persistence import load
from localmkl.report.subject import Subject, predicted

BLOCK_ENTRIES = 2**24
"""Contributions that prediction holds at a time."""


def open_model(path):
    """Return what a report knows about a model file."""
    model = load(path)
    return Subject(model, kernel_names=made_of(model).get("kernel_names"))


def made_of(model):
    """Return how the command line made a model; nothing is known of models that Python code saved."""
    return getattr(model, "made_", {})


def kind_for(subject):
    """Return which kind of file a model takes."""
    if subject.model._precomputed:
        return GRAMS
    rows = subject.model.rows_
    return TABLE if hasattr(rows, "iloc") or np.ndim(rows) == 2 else SEQUENCES


def read_for(subject, path, *, target=None, labels=None, names=None, variable=None, rows=None):
    """Return the content of a file as a model takes it; what is not said is as in the fit."""
    made = made_of(subject.given)
    asked = Asked(
        target or made.get("target"),
        labels,
        names or made.get("names_column"),
        variable or made.get("variable"),
    )
    content, wanted = read_rows(path, asked), kind_for(subject)
    if content.kind != wanted:
        raise ValueError(f"{str(path)!r} must be {CALLED[wanted]} as in the fit, got {CALLED[content.kind]}.")
    if wanted == GRAMS:
        return _cross_grams(subject, content, rows)
    if rows is not None:
        raise Misuse("--rows is for Gram files.")
    return _as_fitted(subject, content) if wanted == TABLE else content


def _as_fitted(subject, content):
    """Return a table with the columns of the fit alone."""
    frame, model = content.rows, subject.model
    columns = getattr(subject.whole, "feature_names_in_", None)
    if columns is None:  # fitted on an array
        return replace(content, rows=as_numbers(content.path, frame, frame.columns).to_numpy())
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise ValueError(
            f"{str(content.path)!r} must have the column {missing[0]!r} of the fit, "
            f"it has {listed(frame.columns)}."
        )
    if subject.whole is not model:  # a pipeline knows what its columns are
        return replace(content, rows=frame[list(columns)])
    numeric = list(columns) if model.kernels is None else numeric_columns(model.kernels_)
    return replace(content, rows=as_numbers(content.path, frame[list(columns)], numeric))


def _cross_grams(subject, content, text):
    """Return the Grams between rows and the training rows.

    A file with the Grams of all rows holds the training rows too: by default these are left out.
    """
    stack, trained = content.rows, made_of(subject.given).get("rows")
    n_kernels, n_train = len(subject.model.factors_), subject.model.n_features_in_
    if stack.n_kernels != n_kernels == stack.grams.shape[2]:  # MATLAB's order of axes
        stack = localmkl.GramStack(np.moveaxis(stack.grams, 2, 0))
    rows = np.arange(len(stack)) if text is None else parse_rows(text, len(stack))
    if trained is not None and stack.shape == (trained["of"], trained["of"]):
        train = np.arange(trained["start"], trained["stop"])
        rows = np.setdiff1d(rows, train) if text is None else rows
        content = replace(content, train=(stack[np.ix_(train, train)], made_of(subject.given)["y"]))
        stack = stack[np.ix_(rows, train)]
    elif text is not None:
        stack = stack[rows]
    if stack.shape[1] != n_train:
        raise ValueError(
            f"{str(content.path)!r} must hold Grams with the {n_train} training rows as columns, "
            f"got {stack.shape[1]} columns."
        )
    names = np.array([f"row {i}" for i in rows], dtype=object)
    return replace(content, rows=stack, y=None if content.y is None else content.y[rows], names=names)


def predict(subject, content):
    """Return the predictions: column names, and rows.

    Contributions are to the decision for the predicted class; with the intercept they sum to its score.
    """
    model, X = subject.model, subject.transform(content.rows)
    n_clusters = memberships_of(model, take_rows(X, slice(0, 1))).shape[1]
    if subject.classifier:
        header = ["name", "label"]
        header += ["score"] if subject.binary else [f"score_{label}" for label in model.classes_]
    else:
        header = ["name", "prediction"]
    header += [f"membership_{j + 1}" for j in range(n_clusters)] if n_clusters > 1 else []
    header += ["intercept", *(f"contribution_{name}" for name in subject.kernels)]
    names = content.names if content.names is not None else np.arange(1, len(content) + 1)
    step = max(1, BLOCK_ENTRIES // np.size(model.kernel_weights_))
    rows: list[tuple] = []
    for start in range(0, len(content), step):
        block = np.arange(start, min(start + step, len(content)))
        columns = [names[block], *_columns(subject, take_rows(X, block), n_clusters)]
        rows += zip(*(column.tolist() for column in columns), strict=True)
    return header, rows


def _columns(subject, X, n_clusters):
    """Return the columns of the table of predictions, without the names."""
    model, parts = subject.model, subject.model.contributions(X)
    decisions = parts.sum(axis=(-2, -1)) + model.intercept_
    intercepts = np.broadcast_to(model.intercept_, decisions.shape)
    columns = [np.asarray(predicted(model, decisions))]
    if decisions.ndim == 2:
        columns += list(decisions.T)
        winners = np.arange(len(parts)), decisions.argmax(axis=1)
        parts, intercepts = parts[winners], intercepts[winners]
    elif subject.classifier:
        columns.append(decisions)
    columns += list(memberships_of(model, X).T) if n_clusters > 1 else []
    return [*columns, intercepts, *parts.sum(axis=1).T]


def score(subject, content, rows):
    """Return how good predictions are, by metric, where the file has the truth."""
    if content.y is None:
        return {}
    labels = np.array([row[1] for row in rows])
    if not subject.classifier:
        return {"R2": float(r2_score(content.y, labels))}
    truth = content.y
    if labels.dtype.kind == "U" or truth.dtype.kind == "U":
        truth, labels = truth.astype(str), labels.astype(str)
    scores = {"accuracy": float(accuracy_score(truth, labels))}
    if subject.binary and set(truth.tolist()) == set(subject.model.classes_.tolist()):
        second = truth == subject.model.classes_[1]
        scores["AUC"] = float(roc_auc_score(second, [row[2] for row in rows]))
    return scores


def seen(subject, content):
    """Return how many of the rows the model was trained on."""
    return int(Subject(subject.given, content.rows).seen.sum())


def as_csv(header, rows):
    """Return a table as CSV text."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def write(subject, content, out, *, title, cv, baselines, seed):
    """Write the report of a model; return its path."""
    from localmkl.report import write_report

    made = made_of(subject.given)
    X, y = training_rows(subject.model), made.get("y")
    train = None if X is None or y is None else (X, y)
    shown = {"X": X, "y": y, "names": made.get("names")} if train is not None else {}
    if content is not None:
        shown = {"X": content.rows, "y": content.y, "names": content.names}
        shown["train"] = train or content.train
    if cv == 1:
        raise Misuse("--folds must be 2 or more, or 0 for no cross-validation, got 1.")
    options = {
        "kernel_names": subject.kernels,
        "title": title,
        "cv": cv,
        "baselines": baselines,
        "random_state": seed,
    }
    return write_report(subject.given, out, **shown, **options, seconds=made.get("seconds"))
