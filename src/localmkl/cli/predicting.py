"""``localmkl predict`` and ``localmkl report``: a model file and rows, read as in the fit."""

import re
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pandas as pd

from localmkl._checks import listed
from localmkl._files import writing_whole
from localmkl.cli import files
from localmkl.cli.columns import as_read
from localmkl.cli.files import GRAMS, SEQUENCES, TABLE, VIEWS
from localmkl.cli.joining import named_files, read_joined
from localmkl.cli.pieces import read_pieces
from localmkl.cli.places import PREDICTIONS, REPORT, check_outputs
from localmkl.cli.record import ends_in_words, made_of
from localmkl.cli.voice import Misuse, n_of, write_out
from localmkl.datasets.labels import has_label, on_labelled
from localmkl.estimators.groups import as_groups, with_groups
from localmkl.estimators.probabilities import has_probabilities, probabilities
from localmkl.explain import (
    bare_kernels,
    has_groups,
    is_precomputed,
    kernel_names,
    kernel_views,
    memberships_of,
)
from localmkl.inference.scores import score_of
from localmkl.kernels import Kernel
from localmkl.kernels.stack import take_rows
from localmkl.persistence import load
from localmkl.report.recognised import seen


def predict(given, voice):
    """Predict the rows of files, piece by piece where these are large."""
    paths = _checked(given, PREDICTIONS)
    model, made = open_model(given.model, given.device), list[tuple]()
    with nullcontext() if given.out is None else writing_whole(given.out) as file:
        for content in read_new(model, paths, given, in_pieces=True):
            table, decisions = _table(model, content, given.explain)
            text = table.to_csv(index=False, float_format="%.6g", header=not made)
            if file is not None:
                file.write(text.encode())
            elif not voice.as_json:
                write_out(text)
            made.append((content, decisions, table if voice.as_json and file is None else None))
    n_rows = sum(len(content) for content, *_ in made)
    quality, notes = _quality(model, made, n_rows)
    if given.out is not None:
        record = {"out": str(given.out), "rows": n_rows, "quality": quality}
        voice.result(record, f"{n_of(n_rows, 'prediction')}: {given.out}")
    elif voice.as_json:
        voice.result(pd.concat([table for *_, table in made]).to_dict("records"), "")
    voice.note(*dict.fromkeys(note for content, *_ in made for note in content.notes))
    voice.note(*_about_groups(model, made), *notes)


def report(given, voice):
    """Write the report of a model, on its training rows or on those of files."""
    paths = _checked(given, REPORT)
    model, shown = open_model(given.model), {}
    if paths:
        (content,) = read_new(model, paths, given)
        has = np.full(len(content), False) if content.y is None else has_label(content.y)
        rows = np.flatnonzero(has) if has.any() else np.arange(len(content))
        shown = {"X": take_rows(content.rows, rows), "y": on_labelled(content.y) if has.any() else None}
        shown |= {"names": None if content.names is None else content.names[rows], "train": content.train}
        voice.note(*content.notes)
    from localmkl.report import write_report

    folds = 5 if given.folds is None else given.folds
    more = {"cv": folds, "stability": given.stability, "random_state": given.seed}
    with voice.counting("writing the report"):
        path = write_report(model, given.out, **shown, **more, verbose=int(not voice.quiet))
    voice.result({"out": str(path)}, f"written    {path.resolve()}")


def open_model(path, device="cpu"):
    """Return the model of a file, of a search its best, for a device."""
    from localmkl.estimators.base import BaseMKL

    model = load(path)
    model = getattr(model, "best_estimator_", model)
    if not isinstance(model, BaseMKL):
        kind = type(model).__name__
        raise ValueError(f"{str(path)!r} must hold an estimator of localmkl, got {kind}; use it in Python.")
    return model if device == "cpu" else model.set_params(device=device)


def _checked(given, kind):
    """Return the files of new rows; raise if something is wrong with these or with the output."""
    paths = named_files(given.data or [])
    if given.out is not None:
        inputs = (given.model, *paths.values(), given.labels)
        check_outputs([("--out", given.out, kind)], inputs, force=given.force)
    return paths


def _kind(model):
    """Return the kind of file that a model takes."""
    if is_precomputed(model):
        return GRAMS
    if hasattr(model, "views_"):
        return VIEWS
    return TABLE if hasattr(model, "n_features_in_") else SEQUENCES  # sequences have no columns


def read_new(model, paths, given, *, in_pieces=False):
    """Yield the content of files as a model takes it, of a large one in pieces if these are wanted."""
    made = made_of(model)
    asked = files.Asked(  # what is not given is as in the fit
        given.target or made.get("target"),
        given.labels,
        given.names or made.get("names_column"),
        given.variable or made.get("variable"),
        made.get("header") if given.header is None else given.header,
        groups=made.get("groups_column"),
        insisted=frozenset(filter(None, (given.target, given.names))),
    )
    if _kind(model) == VIEWS:
        yield _as_taken(model, _joined(model, read_joined(paths, asked, labelled=False)))
        return
    path = _only(model, paths)
    if not in_pieces or not files.is_large(path):
        yield _as_taken(model, files.read_rows(path, asked))
        return
    for piece in read_pieces(path, asked, labelled=False):
        yield replace(_as_taken(model, piece), said=())


def _joined(model, content):
    """Return the rows of several files with the views and columns of the fit."""
    expected, unread = model.views_, made_of(model).get("unread", ())
    parts = {name: part for name, part in content.parts.items() if name not in unread}
    for name, part in parts.items():
        if name not in expected:
            hint = f"{listed(list(expected))}, got {name!r}; name the view of a file as NAME=FILE."
            raise ValueError(f"Files must be views of the fit, {hint}")
        if (part.kind == SEQUENCES) != (expected[name] is None):
            kind = f"{name!r} of the fit, got {files.CALLED[part.kind]}"
            raise ValueError(f"{str(part.path)!r} must hold rows as view {kind}.")
        if part.kind == TABLE:
            parts[name] = as_read(part, expected[name], _readers(model, name))
    content, lonely = content.with_parts(parts).without_lonely()
    note = (f"Left out, in no view that the model reads: {listed(lonely)}.",) if lonely else ()
    return replace(content, rows=content.rows.completed(list(expected)), said=(*content.said, *note))


def _only(model, paths):
    """Return the one file that a model takes which was fitted on one; raise if it is of another kind."""
    if len(paths) > 1:
        raise Misuse(
            f"The model was fitted on one file, and takes one, got {len(paths)}: {listed(list(paths))}."
        )
    (path,), kind, called = paths.values(), _kind(model), files.CALLED
    if files.kind_of(path) != kind:
        raise ValueError(
            f"{str(path)!r} must be {called[kind]} as in the fit, got {called[files.kind_of(path)]}."
        )
    return path


def _readers(model, view=None):
    """Return the kernels of a model, and that of its gate: those that read a view, or rows alone."""
    gate = getattr(model, "gate_kernel", None)
    own = [*zip(bare_kernels(model), kernel_views(model), strict=True)]
    own += [(gate, gate.view)] if isinstance(gate, Kernel) else []
    return [kernel for kernel, read in own if read == view]


def _as_taken(model, content):
    """Return rows as a model takes them: columns of the fit alone, with groups if it asks for them."""
    name, columns = made_of(model).get("groups_column"), getattr(model, "feature_names_in_", None)
    content = replace(content, y=_as_known(model, content))
    if content.kind == GRAMS:
        content = _cross_grams(model, content)
    if content.kind == TABLE and columns is not None:
        content = as_read(content, [one for one in columns if one != name], _readers(model))
        grouped = content.rows if name is None else content.rows.assign(**{name: content.groups})
        return replace(content, rows=grouped[list(columns)])
    if name is None:
        return content
    if content.train is not None:
        content = replace(content, train=(with_groups(content.train[0], model.groups_), content.train[1]))
    groups = np.full(len(content), None) if content.groups is None else content.groups
    return replace(content, rows=with_groups(content.rows, groups))


def _as_known(model, content):
    """Return the targets of a file as the model has them: labels that read the same are the same."""
    if content.y is None:
        return None
    if not hasattr(model, "classes_"):
        if (came := on_labelled(content.y)).dtype.kind not in "iuf":
            raise ValueError(
                f"The targets of {str(content.path)!r} must be numbers as in the fit, got {str(came[0])!r}."
            )
        return content.y
    known = {str(label): label for label in model.classes_.tolist()}
    labels = [None if label is None else known.get(str(label), label) for label in content.y.tolist()]
    return np.array(labels, dtype=None if all(str(label) in known for label in labels) else object)


def _cross_grams(model, content):
    """Return the kernel matrices between rows and the training rows.

    A file with the matrices of all rows holds the training rows too: these are left out.
    """
    stack, trained = content.rows, made_of(model).get("rows")
    if stack.n_kernels != model.kernel_weights_.shape[-1] == stack.whole_shape[1]:  # MATLAB's order of axes
        stack = stack.kernels_first()
    rows, columns = np.arange(len(stack)), np.arange(stack.shape[1])
    if trained is not None and stack.shape == (trained["of"], trained["of"]):
        columns = np.arange(trained["start"], trained["stop"])
        rows = np.setdiff1d(rows, columns)
        grams = stack[np.ix_(columns, columns)]
        grams.check_training()  # so that diagonals may be read off, also where nothing is fitted again
        content = replace(content, train=(grams, made_of(model)["y"]))
    if len(columns) != model.n_features_in_:
        raise ValueError(
            f"{str(content.path)!r} must hold kernel matrices with the {model.n_features_in_} training rows "
            f"as columns, got {stack.shape[1]} columns."
        )
    if len(rows) < len(stack) or len(columns) < stack.shape[1]:
        stack = stack[np.ix_(rows, columns)]
    y, groups = (None if column is None else column[rows] for column in (content.y, content.groups))
    return replace(content, rows=stack, y=y, groups=groups, names=np.array(rows, dtype=object))


def _table(model, content, explain, entries=2**24):
    """Return the table of predictions and the decisions, made of `entries` contributions at a time."""
    step = max(1, entries // np.size(model.kernel_weights_))
    rows = [np.arange(start, min(start + step, len(content))) for start in range(0, len(content), step)]
    tables, decisions = zip(
        *(_block(model, take_rows(content.rows, own), explain) for own in rows), strict=True
    )
    table, made, names = pd.concat(tables, ignore_index=True), made_of(model), content.names
    if made.get("groups_column") is not None and content.groups is not None:
        table.insert(0, made["groups_column"], as_groups(content.groups))
    numbers = np.arange(len(content)) if content.numbers is None else content.numbers
    table.insert(0, made.get("names_column") or "row", 1 + numbers if names is None else names)
    return table, np.concatenate(decisions)


def _block(model, X, explain):
    """Return the table of some rows, and their decisions."""
    parts, classes = model.contributions(X), getattr(model, "classes_", None)
    decisions = parts.sum(axis=(-2, -1)) + model.intercept_
    binary, columns = decisions.ndim == 1, {"predicted": decisions}
    if classes is not None:
        flipped = binary and made_of(model).get("positive") == str(classes[0])
        winners = (decisions > 0.0).astype(int) if binary else decisions.argmax(axis=1)
        word, values = "decision", np.stack([-decisions, decisions], axis=1) if binary else decisions
        if has_probabilities(model.loss_):
            word, values = "probability", probabilities(decisions)
        shown = [int(not flipped)] if binary else range(len(classes))
        columns = {"predicted": classes[winners]} | {f"{word}_{classes[k]}": values[:, k] for k in shown}
        parts = (-parts if flipped else parts) if binary else parts[np.arange(len(parts)), winners]
    if explain:
        names = made_of(model).get("kernel_names") or kernel_names(model)
        columns |= {f"effect_{name}": own for name, own in zip(names, parts.sum(axis=1).T, strict=True)}
        if parts.shape[1] > 1 and not has_groups(model):
            pairs = zip(model.cluster_names_, memberships_of(model, X).T, strict=True)
            columns |= {f"membership_{name}": own for name, own in pairs}
    return pd.DataFrame(dict(zip(safe_names(columns), columns.values(), strict=True))), decisions


def safe_names(names):
    """Return names that R and pandas take as they are, each once.

    Examples
    --------
    >>> safe_names(["effect_rbf 0.5", "effect_rbf-0.5", "effect_CRP (mg/l)"])
    ['effect_rbf_0.5', 'effect_rbf_0.5_2', 'effect_CRP_mg_l']
    """
    found: list[str] = []
    for name in names:
        safe = re.sub(r"[^\w.]+", "_", name).strip("_")
        count = sum(re.fullmatch(re.escape(safe) + "(_[0-9]+)?", other) is not None for other in found)
        found.append(f"{safe}_{count + 1}" if safe in found else safe)
    return found


def _about_groups(model, made):
    """Return a sentence on groups that the fit has not seen."""
    groups = [] if not has_groups(model) else [one.groups for one, *_ in made if one.groups is not None]
    known = {name for own in groups for name in model.groups_.tolist()}
    new = listed(dict.fromkeys(str(one) for own in groups for one in as_groups(own) if one not in known))
    return [f"New groups: {new}; their rows get the average of the weights of all groups."] if new else []


def _quality(model, made, n_rows):
    """Return the score of predictions where labels are known, as a record and a sentence."""
    pairs = [(on_labelled(one.y), found[has_label(one.y)]) for one, found, _ in made if one.y is not None]
    y = np.array([label for labels, _ in pairs for label in labels.tolist()], dtype=object)
    if not len(y):
        return None, []
    known = [str(label) for label in getattr(model, "classes_", [])]
    own = np.array([not known or str(label) in known for label in y])
    new = listed(dict.fromkeys(str(label) for label in y[~own]))
    codes = np.array([known.index(str(one)) if known else float(one) for one in y[own]])
    metric = "r2" if not known else "roc_auc" if len(known) == 2 else "accuracy"
    decisions = np.concatenate([found for _, found in pairs])[own]
    found = score_of(metric, codes, [decisions], n_classes=len(known))
    rows = f"on {own.sum()} of {n_rows} rows" + (f"; labels new to the model: {new}" if new else "")
    trained = sum(int(seen(model, one.rows)[has_label(one.y)].sum()) for one, *_ in made if one.y is not None)
    rows += f"; the model was trained on {trained} of them: this is no test" if trained else ""
    if not np.isfinite(found.value):
        return None, [f"Quality is not measured {rows}."]
    record = {name: getattr(found, name) for name in ("metric", "value", "low", "high")}
    return record, [f"{ends_in_words(record)} {rows}."]
