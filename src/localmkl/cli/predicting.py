"""``localmkl predict`` and ``localmkl report``: a model file and rows, read as in the fit."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from localmkl._checks import listed
from localmkl._spelling import meant
from localmkl.cli.columns import as_numbers, as_read
from localmkl.cli.files import (
    CALLED,
    GRAMS,
    MATRIX,
    SEQUENCES,
    TABLE,
    VIEWS,
    Asked,
    is_large,
    kind_of,
    parse_rows,
    read_rows,
)
from localmkl.cli.joining import named_files, read_joined
from localmkl.cli.pieces import read_pieces
from localmkl.cli.places import PREDICTIONS, REPORT, check_outputs
from localmkl.cli.truth import has_label, on_labelled
from localmkl.cli.voice import Misuse, check_device_option, n_of
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

METRICS = {0: "r2", 2: "roc_auc"}
"""Main metric by the number of classes; of more, accuracy."""

CONTRIBUTION_ENTRIES = 2**24
"""Contributions that prediction holds at a time: 128 MB."""


def open_model(path):
    """Return the model of a file; of a search, its best."""
    from localmkl.estimators.base import BaseMKL

    model = load(path)
    model = getattr(model, "best_estimator_", model)
    if not isinstance(model, BaseMKL):
        raise ValueError(
            f"{str(path)!r} must hold an estimator of localmkl, got {type(model).__name__}; use it in Python."
        )
    return model


def made_of(model):
    """Return the record of a model that the command line made; empty for one that Python code saved."""
    return getattr(model, "made_", {})


def predict(given, voice):
    """Predict the rows of files, piece by piece where these are large."""
    _check_files(given)
    if given.out is not None:
        inputs = (given.model, *named_files(given.data).values(), given.labels)
        check_outputs([("--out", given.out, PREDICTIONS)], inputs, force=given.force)
    model = open_model(given.model)
    _move(model, given.device)
    judged, new, notes, n_rows = [], {}, {}, 0
    with voice.table(given.out) as write, voice.counting("predicting") as show:
        for content in _pieces(model, given):
            notes |= dict.fromkeys(content.notes)
            new |= dict.fromkeys(_new_groups(model, content))
            columns, decisions = _table(model, content, explain=given.explain)
            write(list(columns), zip(*columns.values(), strict=True))
            if content.y is not None:
                has = has_label(content.y)
                judged.append((on_labelled(content.y), decisions[has]))
            n_rows += len(content)
            show(n_rows, None)
    quality, sentence = _quality(model, judged, n_rows)
    if given.out is not None:
        record = {"out": str(given.out), "rows": n_rows, "quality": quality, "new_groups": list(new)}
        voice.result(record, f"{n_of(n_rows, 'prediction')}: {given.out}")
    for note in (*notes, *_about_new(model, new), *sentence, *unfinished(model)):
        voice.note(note)


def report(given, voice):
    """Write the report of a model, on its training rows or on those of files."""
    _check_files(given)
    paths = () if given.data is None else named_files(given.data).values()
    check_outputs([("--out", given.out, REPORT)], (given.model, *paths, given.labels), force=given.force)
    if given.folds == 1:
        raise Misuse("--folds must be 2 or more, or 0 for no cross-validation, got 1.")
    model = open_model(given.model)
    shown, notes = {}, []
    if given.data:
        content = read_for(model, given)
        has = np.full(len(content), False) if content.y is None else has_label(content.y)
        y = on_labelled(content.y) if has.any() else None
        rows = np.flatnonzero(has) if has.any() else np.arange(len(content))
        names = None if content.names is None else content.names[rows]
        shown = {"X": take_rows(content.rows, rows), "y": y, "names": names, "train": content.train}
        notes = list(content.notes)
        if not has.all():
            notes.append(
                f"{np.sum(has)} of {n_of(len(has), 'row')} have a label; quality is measured on these."
            )
    from localmkl.report import write_report

    with voice.counting("writing the report"):
        path = write_report(
            model,
            given.out,
            **shown,
            title=given.title,
            cv=5 if given.folds is None else given.folds,
            stability=given.stability,
            random_state=given.seed,
            verbose=int(not voice.quiet),
        )
    voice.result({"out": str(path)}, f"written    {path.resolve()}")
    for note in (*notes, *unfinished(model)):
        voice.note(note)


def unfinished(model):
    """Return a sentence on a model that did not converge; none if it did."""
    if model.duality_gap_ <= model.tol or type(model).__name__.startswith("LMKL"):
        return []
    return [
        f"The model did not converge: its duality gap is {model.duality_gap_:.1e}, and {model.tol:.0e} was "
        "wanted. Its predictions are those of an unfinished fit."
    ]


def _check_files(given):
    """Raise if files are not there or of no known kind, before heavy imports."""
    from localmkl.datasets.opening import check_regular

    check_regular(given.model)
    for path in named_files(given.data or []).values():
        kind_of(path)
        check_regular(path)


def _move(model, device):
    """Let a model work on a device."""
    check_device_option(device)
    if "device" in model.get_params(deep=False):
        model.set_params(device=device)
    elif device != "cpu":
        raise Misuse(f"--device must be cpu for the method lmkl, got {device!r}.")


def _kind(model):
    """Return the kind of file that a model takes."""
    if is_precomputed(model):
        return GRAMS
    if hasattr(model, "views_"):
        return VIEWS
    return TABLE if hasattr(model, "n_features_in_") else SEQUENCES  # sequences have no columns


def _asked(model, given):
    """Return the options on files; what is not given is as in the fit."""
    made = SimpleNamespace(**{"target": None, "names_column": None, **made_of(model)})
    return Asked(
        given.target or made.target,
        given.labels,
        given.names or made.names_column,
        given.variable or getattr(made, "variable", None),
        getattr(made, "header", None) if given.header is None else given.header,
        groups=getattr(made, "groups_column", None),
        categories=tuple(getattr(made, "categories", ())),
        insisted=frozenset(filter(None, (given.target, given.names))),
    )


def read_for(model, given):
    """Return the content of files as a model takes it."""
    files, kind = named_files(given.data), _kind(model)
    if kind == VIEWS:
        return _joined(model, files, given)
    path = _only(model, files, given)
    content = read_rows(path, _asked(model, given))
    content = replace(content, y=_as_known(model, content))
    if kind == GRAMS:
        return _grouped(model, _cross_grams(model, content, given.rows))
    return _as_taken(model, content)


def _pieces(model, given):
    """Yield the content of files as a model takes it: of a large one, piece by piece."""
    files = named_files(given.data)
    if _kind(model) == VIEWS or not is_large(path := _only(model, files, given)):
        yield read_for(model, given)
        return
    for piece in read_pieces(path, _asked(model, given), labelled=False):
        try:
            yield _as_taken(model, replace(piece, y=_as_known(model, piece)))
        except ValueError as error:
            first, last = piece.numbers[0], piece.numbers[-1]
            raise ValueError(f"Rows {first} to {last}, the first called row 0: {error}") from error


def _only(model, files, given):
    """Return the one file that a model takes which was fitted on one; raise if it is of another kind."""
    if len(files) > 1:
        raise Misuse(
            f"The model was fitted on one file, and takes one, got {len(files)}: {listed(list(files))}."
        )
    (path,) = files.values()
    if kind_of(path) != _kind(model):
        raise ValueError(
            f"{str(path)!r} must be {CALLED[_kind(model)]} as in the fit, got {CALLED[kind_of(path)]}."
        )
    if given.rows is not None and _kind(model) != GRAMS:
        raise Misuse("--rows is for files of kernel matrices.")
    return path


def _joined(model, files, given):
    """Return new samples in the views of a model; one that no file is of, no sample has."""
    if given.rows is not None:
        raise Misuse("--rows is for files of kernel matrices.")
    content, expected = read_joined(files, _asked(model, given), labelled=False), model.views_
    unread = made_of(model).get("unread", ())
    strange = [view for view in content.parts if view not in expected and view not in unread]
    if strange:
        raise ValueError(
            f"Files must be views of the fit, {listed(list(expected))}, got {strange[0]!r}; name the view of "
            "a file as NAME=FILE."
        )
    parts = {name: _view(model, name, part) for name, part in content.parts.items() if name not in unread}
    content, lonely = content.with_parts(parts).without_lonely()
    note = (f"Left out, in no view that the model reads: {listed(lonely)}.",) if lonely else ()
    content = replace(content, rows=content.rows.completed(list(expected)), said=(*content.notes, *note))
    return _grouped(model, replace(content, y=_as_known(model, content)))


def _view(model, name, part):
    """Return a view with the columns of the fit alone."""
    columns = model.views_[name]
    if isinstance(columns, int) and part.kind == TABLE:  # fitted on an array
        return replace(part, kind=MATRIX, rows=_as_array(part, columns))
    kind = (
        SEQUENCES
        if columns is None
        else TABLE
        if isinstance(columns, list) and part.kind != MATRIX
        else MATRIX
    )
    if part.kind != kind:
        raise ValueError(
            f"{str(part.path)!r} must be {CALLED[kind]} as view {name!r} of the fit, got {CALLED[part.kind]}."
        )
    return as_read(part, columns, _readers(model, name)) if kind == TABLE else part


def _readers(model, view=None):
    """Return the kernels of a model, and that of its gate: those that read a view, or rows alone."""
    gate = getattr(model, "gate_kernel", None)
    own = [*zip(bare_kernels(model), kernel_views(model), strict=True)]
    own += [(gate, gate.view)] if isinstance(gate, Kernel) else []
    return [kernel for kernel, read in own if read == view]


def _as_taken(model, content):
    """Return a table or sequences as a model takes them, with the columns of the fit alone."""
    if content.kind != TABLE:
        return _grouped(model, content)
    name, columns = made_of(model).get("groups_column"), getattr(model, "feature_names_in_", None)
    if columns is None:  # fitted on an array
        return replace(content, rows=_as_array(content, model.n_features_in_))
    missing = [one for one in columns if one not in content.rows.columns and one != name]
    if missing:
        raise ValueError(
            f"{str(content.path)!r} must have the column {missing[0]!r} of the fit, "
            f"it has {listed(content.rows.columns)}{meant(missing[0], content.rows.columns)}"
        )
    content = as_read(content, [one for one in columns if one != name], _readers(model))
    rows = content.rows if name is None else content.rows.assign(**{name: content.groups})
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


def _grouped(model, content):
    """Return sequences, views or kernel matrices with their groups, if the model asks for them."""
    if made_of(model).get("groups_column") is None:
        return content
    groups = np.full(len(content), None) if content.groups is None else content.groups
    if content.train is not None:
        rows, y = content.train
        content = replace(content, train=(with_groups(rows, model.groups_), y))
    return replace(content, rows=with_groups(content.rows, groups))


def _as_known(model, content):
    """Return the targets of a file as the model has them: labels that read the same are the same."""
    if content.y is None:
        return None
    if not hasattr(model, "classes_"):
        there = on_labelled(content.y)
        if there.dtype.kind not in "iuf":
            raise ValueError(
                f"The targets of {str(content.path)!r} must be numbers as in the fit, got {str(there[0])!r}."
            )
        return content.y
    known = {str(label): label for label in model.classes_.tolist()}
    labels = [None if label is None else known.get(str(label), label) for label in content.y.tolist()]
    return np.array(labels, dtype=None if all(str(label) in known for label in labels) else object)


def _cross_grams(model, content, text):
    """Return the kernel matrices between rows and the training rows.

    A file with the matrices of all rows holds the training rows too: by default these are left out.
    """
    stack, trained = content.rows, made_of(model).get("rows")
    n_kernels, n_train = model.kernel_weights_.shape[-1], model.n_features_in_
    if stack.n_kernels != n_kernels == stack.whole_shape[1]:  # MATLAB's order of axes
        stack = stack.kernels_first()
    rows = np.arange(len(stack)) if text is None else parse_rows(text, len(stack))
    if trained is not None and stack.shape == (trained["of"], trained["of"]):
        train = np.arange(trained["start"], trained["stop"])
        rows = np.setdiff1d(rows, train) if text is None else rows
        grams = stack[np.ix_(train, train)]
        grams.check_training()  # so that diagonals may be read off, also where nothing is fitted again
        content = replace(content, train=(grams, made_of(model)["y"]))
        stack = stack[np.ix_(rows, train)]
    elif text is not None:
        stack = stack[rows]
    if stack.shape[1] != n_train:
        raise ValueError(
            f"{str(content.path)!r} must hold kernel matrices with the {n_train} training rows as columns, "
            f"got {stack.shape[1]} columns."
        )
    y, groups = (None if column is None else column[rows] for column in (content.y, content.groups))
    return replace(content, rows=stack, y=y, groups=groups, names=np.array(rows, dtype=object))


def _table(model, content, *, explain):
    """Return the columns of the table of predictions, a dict of lists, and the decisions."""
    step = max(1, CONTRIBUTION_ENTRIES // np.size(model.kernel_weights_))
    blocks = [
        _block(model, take_rows(content.rows, np.arange(start, min(start + step, len(content)))), explain)
        for start in range(0, len(content), step)
    ]
    columns = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
    decisions = columns.pop("")
    made = made_of(model)
    names = content.names
    if names is None:
        names = 1 + (np.arange(len(content)) if content.numbers is None else content.numbers)
    first = {made.get("names_column") or "row": names}
    if made.get("groups_column") is not None and content.groups is not None:
        first[made["groups_column"]] = as_groups(content.groups)
    return {name: _written(column) for name, column in {**first, **columns}.items()}, decisions


def _block(model, X, explain):
    """Return the columns of some rows as arrays, decisions under the name ""."""
    parts = model.contributions(X)
    decisions = parts.sum(axis=(-2, -1)) + model.intercept_
    columns = {"": decisions, "predicted": decisions}
    if hasattr(model, "classes_"):
        classes, sign = model.classes_, 1.0
        word = "probability" if has_probabilities(model.loss_) else "decision"
        values = probabilities(decisions) if word == "probability" else decisions
        if decisions.ndim == 1:
            first = made_of(model).get("positive") == str(classes[0])
            sign, shown = (-1.0, classes[:1]) if first else (1.0, classes[1:])
            columns["predicted"] = classes[(decisions > 0.0).astype(int)]
            values = values[:, [0 if first else 1]] if word == "probability" else sign * decisions[:, None]
        else:
            shown, columns["predicted"] = classes, classes[decisions.argmax(axis=1)]
            parts = parts[np.arange(len(parts)), decisions.argmax(axis=1)]
        columns |= dict(zip(safe_names([f"{word}_{label}" for label in shown]), values.T, strict=True))
        parts = sign * parts
    if explain:
        effects = parts.sum(axis=1)
        names = made_of(model).get("kernel_names") or kernel_names(model)
        columns |= dict(zip(safe_names([f"effect_{name}" for name in names]), effects.T, strict=True))
        if parts.shape[1] > 1 and not has_groups(model):
            named = safe_names([f"membership_{name}" for name in model.cluster_names_])
            columns |= dict(zip(named, memberships_of(model, X).T, strict=True))
    return columns


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
        again = 2
        while safe in found:
            safe = f"{re.sub('_[0-9]+$', '', safe) if again > 2 else safe}_{again}"
            again += 1
        found.append(safe)
    return found


def _written(column):
    """Return a column as a list; numbers have six significant digits."""
    if np.asarray(column).dtype.kind == "f":
        return [float(f"{value:.6g}") for value in column.tolist()]
    return column.tolist()


def _new_groups(model, content):
    """Return the groups that the fit has not seen."""
    if content.groups is None or not has_groups(model):
        return []
    known = set(model.groups_.tolist())
    return [group for group in dict.fromkeys(as_groups(content.groups).tolist()) if group not in known]


def _about_new(model, new):
    """Return a sentence on groups that the fit has not seen."""
    if not new:
        return []
    names = ["none" if group is None else group for group in new]
    near = next(
        (hint for name in names if (hint := meant(name, dict.fromkeys(model.groups_.tolist()))) != "."), "."
    )
    return [f"New to the model: {listed(names)}; such rows get the average over all groups{near}"]


def _quality(model, judged, n_rows):
    """Return the score of predictions where labels are known, as a record and a sentence."""
    known = [str(label) for label in getattr(model, "classes_", [])]
    y = [label for labels, _ in judged for label in labels.tolist()]
    if not y:
        return None, []
    decisions = np.concatenate([found for _, found in judged])
    own = np.array([not known or str(label) in known for label in y])
    strange = list(dict.fromkeys(str(label) for label, mine in zip(y, own, strict=True) if not mine))
    note = f" Labels new to the model: {listed(strange)}." if strange else ""
    if not own.any():
        return None, [f"Quality is not measured.{note} It knows {listed(known)}."]
    codes = [
        known.index(str(label)) if known else float(label) for label, mine in zip(y, own, strict=True) if mine
    ]
    metric = METRICS.get(len(known), "accuracy")
    found = score_of(metric, np.array(codes), [decisions[own]], n_classes=len(known))
    if not np.isfinite(found.value):
        return None, [f"Quality is not measured: the {own.sum()} rows with labels are too alike.{note}"]
    from localmkl.cli.record import METRICS as NAMES

    record = {
        "metric": metric,
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "rows": int(own.sum()),
    }
    of = f"{own.sum()} of {n_rows} rows" if own.sum() < n_rows else "these rows"
    ends = f"95 % {found.low:.2f} to {found.high:.2f}"
    return record, [f"{NAMES.get(metric, metric)} {found.value:.2f} ({ends}) on {of}.{note}"]
