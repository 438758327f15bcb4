"""``localmkl predict`` and ``localmkl report``: a model file and rows, read as in the fit."""

import re
from dataclasses import replace

import numpy as np

from localmkl._checks import listed
from localmkl.cli.columns import as_read
from localmkl.cli.files import (
    CALLED,
    GRAMS,
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
from localmkl.cli.voice import Misuse, check_device_option, n_of
from localmkl.datasets.labels import has_label, on_labelled
from localmkl.datasets.opening import check_regular
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


def predict(given, voice):
    """Predict the rows of files, piece by piece where these are large."""
    files = _checked(given, PREDICTIONS)
    model = open_model(given.model)
    check_device_option(given.device)
    if given.device != "cpu":
        model.set_params(device=given.device)
    judged, new, notes, n_rows = [], {}, {}, 0
    with voice.table(given.out) as write, voice.counting("predicting") as show:
        for content in _pieces(model, files, given):
            notes |= dict.fromkeys(content.notes)
            new |= dict.fromkeys(_new_groups(model, content))
            columns, decisions = _table(model, content, explain=given.explain)
            write(list(columns), zip(*columns.values(), strict=True))
            if content.y is not None:
                judged.append((on_labelled(content.y), decisions[has_label(content.y)]))
            n_rows += len(content)
            show(n_rows, None)
    quality, sentence = _quality(model, judged, n_rows)
    if given.out is not None:
        record = {"out": str(given.out), "rows": n_rows, "quality": quality, "new_groups": list(new)}
        voice.result(record, f"{n_of(n_rows, 'prediction')}: {given.out}")
    if new:
        names = listed(["none" if group is None else group for group in new])
        notes[f"New groups: {names}; their rows get the average of the weights of all groups."] = None
    for note in (*notes, *sentence, *unfinished(model)):
        voice.note(note)


def report(given, voice):
    """Write the report of a model, on its training rows or on those of files."""
    files = _checked(given, REPORT)
    if given.folds == 1:
        raise Misuse("--folds must be 2 or more, or 0 for no cross-validation, got 1.")
    model, shown, notes = open_model(given.model), {}, []
    if files:
        content = read_for(model, files, given)
        has = np.full(len(content), False) if content.y is None else has_label(content.y)
        rows = np.flatnonzero(has) if has.any() else np.arange(len(content))
        y, names = (None if one is None else one[rows] for one in (content.y, content.names))
        shown = {
            "X": take_rows(content.rows, rows),
            "y": None if y is None else on_labelled(y),
            "names": names,
        }
        shown["train"], notes = content.train, list(content.notes)
        if not has.all():
            notes.append(
                f"{n_of(int(has.sum()), 'row')} of {len(has)} with a label; quality is measured on these."
            )
    from localmkl.report import write_report

    folds = 5 if given.folds is None else given.folds
    more = {"title": given.title, "cv": folds, "stability": given.stability, "random_state": given.seed}
    with voice.counting("writing the report"):
        path = write_report(model, given.out, **shown, **more, verbose=int(not voice.quiet))
    voice.result({"out": str(path)}, f"written    {path.resolve()}")
    for note in (*notes, *unfinished(model)):
        voice.note(note)


def open_model(path):
    """Return the model of a file; of a search, its best."""
    from localmkl.estimators.base import BaseMKL

    model = load(path)
    model = getattr(model, "best_estimator_", model)
    if not isinstance(model, BaseMKL):
        kind = type(model).__name__
        raise ValueError(f"{str(path)!r} must hold an estimator of localmkl, got {kind}; use it in Python.")
    return model


def made_of(model):
    """Return the record of a model that the command line made; empty for one that Python code saved."""
    return getattr(model, "made_", {})


def unfinished(model):
    """Return a sentence on a model that did not converge; none if it did."""
    if model.duality_gap_ <= model.tol or type(model).__name__.startswith("LMKL"):
        return []
    gaps = f"its duality gap is {model.duality_gap_:.1e}, and {model.tol:.0e} was wanted"
    return [f"The model did not converge: {gaps}. Its predictions are those of an unfinished fit."]


def _checked(given, kind):
    """Return the files of new rows; raise if something is wrong with these or with the output."""
    check_regular(given.model)
    files = named_files(given.data or [])
    for path in files.values():
        kind_of(path)
        check_regular(path)
    if given.out is not None:
        check_outputs(
            [("--out", given.out, kind)], (given.model, *files.values(), given.labels), force=given.force
        )
    return files


def _kind(model):
    """Return the kind of file that a model takes."""
    if is_precomputed(model):
        return GRAMS
    if hasattr(model, "views_"):
        return VIEWS
    return TABLE if hasattr(model, "n_features_in_") else SEQUENCES  # sequences have no columns


def _pieces(model, files, given):
    """Yield the content of files as a model takes it: of a large one, piece by piece."""
    if _kind(model) == VIEWS or not is_large(path := _only(model, files, given)):
        yield read_for(model, files, given)
        return
    for piece in read_pieces(path, _asked(model, given), labelled=False):
        try:
            yield _as_taken(model, piece)
        except ValueError as error:
            first, last = piece.numbers[0], piece.numbers[-1]
            raise ValueError(f"Rows {first} to {last}, the first called row 0: {error}") from error


def read_for(model, files, given):
    """Return the content of files as a model takes it."""
    asked = _asked(model, given)
    if _kind(model) != VIEWS:
        return _as_taken(model, read_rows(_only(model, files, given), asked), given.rows)
    content, expected = read_joined(files, asked, labelled=False), model.views_
    unread = made_of(model).get("unread", ())
    strange = [view for view in content.parts if view not in expected and view not in unread]
    if strange:
        raise ValueError(
            f"Files must be views of the fit, {listed(list(expected))}, got {strange[0]!r}; name the view of "
            "a file as NAME=FILE."
        )
    parts = {name: _view(model, name, part) for name, part in content.parts.items() if name in expected}
    content, lonely = content.with_parts(parts).without_lonely()
    note = (f"Left out, in no view that the model reads: {listed(lonely)}.",) if lonely else ()
    content = replace(content, rows=content.rows.completed(list(expected)), said=(*content.said, *note))
    return _as_taken(model, content)


def _asked(model, given):
    """Return the options on files; what is not given is as in the fit."""
    made = made_of(model)
    return Asked(
        given.target or made.get("target"),
        given.labels,
        given.names or made.get("names_column"),
        given.variable or made.get("variable"),
        made.get("header") if given.header is None else given.header,
        groups=made.get("groups_column"),
        insisted=frozenset(filter(None, (given.target, given.names))),
    )


def _only(model, files, given):
    """Return the one file that a model takes which was fitted on one; raise if it is of another kind."""
    if len(files) > 1:
        raise Misuse(
            f"The model was fitted on one file, and takes one, got {len(files)}: {listed(list(files))}."
        )
    (path,), kind = files.values(), _kind(model)
    if kind_of(path) != kind:
        raise ValueError(f"{str(path)!r} must be {CALLED[kind]} as in the fit, got {CALLED[kind_of(path)]}.")
    if given.rows is not None and kind != GRAMS:
        raise Misuse("--rows is for files of kernel matrices.")
    return path


def _view(model, name, part):
    """Return a view with the columns of the fit alone."""
    columns = model.views_[name]
    if (part.kind == SEQUENCES) != (columns is None):
        raise ValueError(
            f"{str(part.path)!r} must hold {'sequences' if columns is None else 'columns'} as view {name!r} "
            f"of the fit, got {CALLED[part.kind]}."
        )
    return as_read(part, columns, _readers(model, name)) if part.kind == TABLE else part


def _readers(model, view=None):
    """Return the kernels of a model, and that of its gate: those that read a view, or rows alone."""
    gate = getattr(model, "gate_kernel", None)
    own = [*zip(bare_kernels(model), kernel_views(model), strict=True)]
    own += [(gate, gate.view)] if isinstance(gate, Kernel) else []
    return [kernel for kernel, read in own if read == view]


def _as_taken(model, content, rows=None):
    """Return rows as a model takes them: columns of the fit alone, with groups if it asks for them."""
    name, columns = made_of(model).get("groups_column"), getattr(model, "feature_names_in_", None)
    content = replace(content, y=_as_known(model, content))
    if content.kind == GRAMS:
        content = _cross_grams(model, content, rows)
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
    if content.y is None or not hasattr(model, "classes_"):
        there = None if content.y is None else on_labelled(content.y)
        if there is not None and there.dtype.kind not in "iuf":
            came = str(there[0])
            raise ValueError(
                f"The targets of {str(content.path)!r} must be numbers as in the fit, got {came!r}."
            )
        return content.y
    known = {str(label): label for label in model.classes_.tolist()}
    labels = [None if label is None else known.get(str(label), label) for label in content.y.tolist()]
    return np.array(labels, dtype=None if all(str(label) in known for label in labels) else object)


def _cross_grams(model, content, text):
    """Return the kernel matrices between rows and the training rows.

    A file with the matrices of all rows holds the training rows too: by default these are left out.
    """
    stack, made = content.rows, made_of(model)
    trained, n_kernels, n_train = made.get("rows"), model.kernel_weights_.shape[-1], model.n_features_in_
    if stack.n_kernels != n_kernels == stack.whole_shape[1]:  # MATLAB's order of axes
        stack = stack.kernels_first()
    rows = np.arange(len(stack)) if text is None else parse_rows(text, len(stack))
    columns = np.arange(stack.shape[1])
    if trained is not None and stack.shape == (trained["of"], trained["of"]):
        columns = np.arange(trained["start"], trained["stop"])
        rows = np.setdiff1d(rows, columns) if text is None else rows
        grams = stack[np.ix_(columns, columns)]
        grams.check_training()  # so that diagonals may be read off, also where nothing is fitted again
        content = replace(content, train=(grams, made["y"]))
    if len(columns) != n_train:
        raise ValueError(
            f"{str(content.path)!r} must hold kernel matrices with the {n_train} training rows as columns, "
            f"got {stack.shape[1]} columns."
        )
    if len(rows) < len(stack) or len(columns) < stack.shape[1]:
        stack = stack[np.ix_(rows, columns)]
    y, groups = (None if column is None else column[rows] for column in (content.y, content.groups))
    return replace(content, rows=stack, y=y, groups=groups, names=np.array(rows, dtype=object))


def _table(model, content, *, explain, entries=2**24):
    """Return the columns of predictions and the decisions, of `entries` contributions at a time."""
    step = max(1, entries // np.size(model.kernel_weights_))
    starts = [np.arange(start, min(start + step, len(content))) for start in range(0, len(content), step)]
    blocks = [_block(model, take_rows(content.rows, rows), explain) for rows in starts]
    columns = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
    made, names, decisions = made_of(model), content.names, columns.pop("")
    if names is None:
        names = 1 + (np.arange(len(content)) if content.numbers is None else content.numbers)
    first = {made.get("names_column") or "row": names}
    if made.get("groups_column") is not None and content.groups is not None:
        first[made["groups_column"]] = as_groups(content.groups)
    return {name: _written(column) for name, column in {**first, **columns}.items()}, decisions


def _block(model, X, explain):
    """Return the columns of some rows as arrays, decisions under the name ""."""
    parts, classes = model.contributions(X), getattr(model, "classes_", None)
    decisions = parts.sum(axis=(-2, -1)) + model.intercept_
    columns = {"": decisions, "predicted": decisions}
    if classes is not None:
        first = decisions.ndim == 1 and made_of(model).get("positive") == str(classes[0])
        winners = (decisions > 0.0).astype(int) if decisions.ndim == 1 else decisions.argmax(axis=1)
        columns["predicted"], word = classes[winners], "decision"
        both = np.stack([-decisions, decisions], axis=1) if decisions.ndim == 1 else decisions
        if has_probabilities(model.loss_):
            word, both = "probability", probabilities(decisions)
        shown = range(len(classes)) if decisions.ndim == 2 else [0] if first else [1]
        named = safe_names([f"{word}_{classes[k]}" for k in shown])
        columns |= {name: both[:, k] for name, k in zip(named, shown, strict=True)}
        parts = -parts if first else parts if decisions.ndim == 1 else parts[np.arange(len(parts)), winners]
    if explain:
        names = made_of(model).get("kernel_names") or kernel_names(model)
        columns |= dict(
            zip(safe_names([f"effect_{name}" for name in names]), parts.sum(axis=1).T, strict=True)
        )
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
        count = sum(re.fullmatch(re.escape(safe) + "(_[0-9]+)?", other) is not None for other in found)
        found.append(f"{safe}_{count + 1}" if safe in found else safe)
    return found


def _written(column):
    """Return a column as a list; numbers have six significant digits."""
    values = np.asarray(column).tolist()
    return [float(f"{value:.6g}") if isinstance(value, float) else value for value in values]


def _new_groups(model, content):
    """Return the groups that the fit has not seen."""
    known = set(model.groups_.tolist()) if content.groups is not None and has_groups(model) else None
    return (
        [] if known is None else [group for group in as_groups(content.groups).tolist() if group not in known]
    )


def _quality(model, judged, n_rows):
    """Return the score of predictions where labels are known, as a record and a sentence."""
    from localmkl.cli.record import METRICS

    known = [str(label) for label in getattr(model, "classes_", [])]
    y = [label for labels, _ in judged for label in labels.tolist()]
    own = np.array([not known or str(label) in known for label in y], dtype=bool)
    if not y:
        return None, []
    strange = list(dict.fromkeys(str(label) for label, mine in zip(y, own, strict=True) if not mine))
    note = f"; labels new to the model: {listed(strange)}" if strange else ""
    codes = np.array(
        [known.index(str(one)) if known else float(one) for one in np.array(y, dtype=object)[own]]
    )
    metric = "r2" if not known else "roc_auc" if len(known) == 2 else "accuracy"
    found = score_of(metric, codes, [np.concatenate([one for _, one in judged])[own]], n_classes=len(known))
    if not np.isfinite(found.value):
        return None, [f"Quality is not measured on {n_of(int(own.sum()), 'row')}{note}."]
    record = {name: getattr(found, name) for name in ("metric", "value", "low", "high")}
    rows = "these rows" if own.sum() == n_rows else f"{own.sum()} of {n_rows} rows"
    ends = f"95 % {found.low:.2f} to {found.high:.2f}"
    return record, [f"{METRICS.get(metric, metric)} {found.value:.2f} ({ends}) on {rows}{note}."]
