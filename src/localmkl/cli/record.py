"""What is known of a model or of a data file: a record for ``--json`` and a text of the same content."""

import numpy as np

from localmkl._checks import listed
from localmkl.cli.voice import n_of

METRICS = {"roc_auc": "AUC", "accuracy": "accuracy", "r2": "R2", "pinball": "pinball loss"}
"""Names of metrics in text."""


def describe(given, voice):
    """Print what is in a model or in data files."""
    from localmkl.cli import files

    if len(given.file) == 1 and files.is_model(given.file[0]):
        from localmkl.cli.predicting import open_model

        record = model_record(open_model(given.file[0]), given.file[0])
        voice.result(record, model_text(record))
        return
    from localmkl.cli import joining

    asked = files.Asked(
        given.target,
        given.labels,
        given.names,
        given.variable,
        given.header,
        insisted=frozenset(filter(None, (given.target, given.names))),
    )
    content = joining.read_any(given.file, asked)
    for sentence in content.notes:
        voice.note(sentence)
    voice.result(*data_record(content))


def model_record(model, path):
    """Return what is known of a fitted model, as plain values.

    Parameters
    ----------
    model : estimator
        With ``made_``, if the command line made it.
    path : str
        Its file.
    """
    from localmkl.explain import cluster_names, described_loss, kernel_names, kernel_shares
    from localmkl.inference.heldout import HeldOut

    made = getattr(model, "made_", {})
    held = None if made.get("held_out") is None else HeldOut.of(made["held_out"])
    classes = [str(label) for label in getattr(model, "classes_", [])]
    y = np.asarray(made.get("y", [])).astype(str)
    positive = made.get("positive")
    flipped = len(classes) == 2 and positive == classes[0]
    parameters = {**described_loss(model), **model.get_params(deep=False)}
    shown = (
        "loss",
        "C",
        "p",
        "shared",
        "n_clusters",
        "evenness",
        "groups",
        "normalize",
        "tol",
        "class_weight",
    )
    names = made.get("kernel_names") or kernel_names(model)
    return {
        "out": path,
        "data": {
            "file": made.get("file"),
            "target": made.get("target"),
            "groups": made.get("groups_column"),
            "rows": np.shape(model.dual_coef_)[-1],
            "columns": int(getattr(model, "n_features_in_", 0)) if made.get("kind") == "table" else None,
            "classes": {label: int(np.sum(y == label)) for label in classes} if len(y) else {},
            "left_out": made.get("left_out", {}),
        },
        "filled": {name: count for name, (count, _) in made.get("filled", {}).items()},
        "positive": positive,
        "model": {
            "method": type(model).__name__.removesuffix("Classifier").removesuffix("Regressor"),
            "task": "classification" if classes else "regression",
            "classes": classes or None,
            "kernels": list(names),
            "parameters": {name: _plain(parameters[name]) for name in shown if name in parameters},
            "clusters": cluster_names(model),
            "weights": kernel_shares(model).round(6).tolist(),
            "search": _plain(made.get("search")),
        },
        "quality": None if held is None else _quality(held),
        "groups": made.get("groups"),
        "matters": [] if held is None else [_matter(one, flipped) for one in held.matters()],
        "certified": {"gap": float(model.duality_gap_), "tolerance": float(model.tol)},
        "made": {name: made.get(name) for name in ("date", "version", "commit", "cpu", "seconds")},
    }


def _plain(value):
    """Return a value that JSON can hold: an infinite p is written as text."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return "inf" if isinstance(value, float) and np.isinf(value) else value


def _quality(held):
    """Return the score of a model with its interval, and those of simpler models on the same folds."""
    score = held.score()
    rivals = {name: held.score(name) for name in held.rivals}
    return {
        **_ends(score),
        "metric": score.metric,
        "how": held.how,
        "baselines": [{"name": name, **_ends(one)} for name, one in rivals.items()],
        "skipped": held.skipped,
    }


def _ends(score):
    return {name: _finite(getattr(score, name)) for name in ("value", "low", "high")}


def _finite(value):
    return float(value) if np.isfinite(value) else None


def _matter(found, flipped):
    """Return what one column or kernel does, with the direction towards the positive class."""
    direction = -found.direction if flipped and found.direction else found.direction
    values = {name: _finite(getattr(found, name)) for name in ("share", "low", "high")}
    names = {name: getattr(found, name) for name in ("kernel", "part", "decision")}
    return {**names, **values, "sure": bool(found.sure), "direction": direction, "by": found.by}


def model_text(record):
    """Return the lines on a model: data, model, quality, groups, what matters, certificate, next step."""
    place = record["data"]["groups"] or "clusters"
    lines = [_data_line(record), ("model", _model_words(record))]
    if record["quality"] is not None:
        lines.append(("quality", _quality_words(record["quality"])))
    if record["groups"] is not None:
        lines.append((place, _verdict_words(record)))
    if record["matters"]:
        lines.append(("matters", _matter_words(record)))
    lines.append(_certificate(record))
    following = f"next: localmkl report {record['out']}"
    lines.append(("written", f"{record['out']}      {following}"))
    width = max(10, *(len(name) for name, _ in lines[1:]))
    return "\n".join([lines[0], *(f"{name:<{width}} {text}" for name, text in lines[1:])])


def _data_line(record):
    data = record["data"]
    counts = sorted(data["classes"].items(), key=lambda item: item[0] != record["positive"])
    classes = f" ({listed([f'{label} {count}' for label, count in counts])})" if counts else ""
    size = n_of(data["rows"], "row") + (f", {data['columns']} columns" if data["columns"] else "")
    text = f"{data['file'] or 'a model'}: {data['target'] or 'label'}{classes}, {size}"
    gaps = {name: count for name, count in record["filled"].items() if count}
    if gaps:
        counted = listed([f"{name} {count}" for name, count in gaps.items()])
        text += f"; {n_of(sum(gaps.values()), 'gap')} filled with typical values ({counted})"
    return text


def _model_words(record):
    """Return a method in words, with its parameters."""
    model = record["model"]
    own, groups = model["parameters"], record["data"]["groups"]
    shared = own.get("shared")
    if model["method"] == "UniformMKL" or own.get("p") == "inf":
        words = "equal weights for all kernels"
    elif shared == 1.0 or model["method"] == "MKL":
        words = "one set of weights"
    elif groups:
        words = f"{groups}-specific weights"
    else:
        words = f"weights by cluster ({len(model['clusters']) - (shared or 0.0 > 0)} clusters)"
    if (
        shared not in (None, 1.0)
        and words.endswith(("weights", "clusters)"))
        and words != "one set of weights"
    ):
        words += (
            ", nothing shared"
            if shared == 0.0
            else f", {'half ' * (shared == 0.5)}shared (shared {shared:g})"
        )
    values = ", ".join(f"{name} {_shown(own[name])}" for name in ("C", "p") if name in own)
    return f"{words}; {n_of(len(model['kernels']), 'kernel')}, {own['loss'].replace('_', ' ')}, {values}"


def _shown(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _quality_words(quality):
    name = METRICS.get(quality["metric"], quality["metric"])
    if quality["value"] is None:
        return f"{name} is not defined on these rows"
    ends = f"(95 % {quality['low']:.2f} to {quality['high']:.2f}), cross-validated"
    others = [one for one in quality["baselines"] if one["value"] is not None and "model" not in one["name"]]
    rivals = ", ".join(f"{one['name']} {one['value']:.2f}" for one in others)
    return f"{name} {quality['value']:.2f} {ends}" + (f"      {rivals}" if rivals else "")


def _verdict_words(record):
    """Return the sentence on groups or clusters."""
    found, score = record["groups"], record["quality"]["value"]
    what = f"{record['data']['groups']}-specific ones" if record["data"]["groups"] else "clusters"
    if found["chosen"] == "one":
        return (
            f"one set of weights: {what} were not better ({found['other']:.2f} against {score:.2f}); "
            f"--shared {_shown(found['other_shared'])} keeps them"
        )
    size = f"{abs(found['difference']):.2f} ({found['low']:.2f} to {found['high']:.2f})"
    word = "better" if found["low"] > 0 else "worse" if found["high"] < 0 else "not clearly better"
    return f"{word} than one model for all ({found['other']:.2f}), difference {size}"


def _matter_words(record):
    """Return what matters in each part: what is sure with its direction, and where nothing is."""
    several = len({one["decision"] for one in record["matters"]}) > 1
    by_place, unsure = {}, []
    for one in record["matters"]:
        place = f"{one['decision']}, {one['part']}" if several else one["part"]
        by_place.setdefault(place, []).append(one)
    target = record["positive"] or record["data"]["target"] or ""
    texts = []
    for place in sorted(by_place, key=lambda name: not name.endswith("everywhere")):
        sure = [one for one in by_place[place] if one["sure"]][:3]
        if sure:
            texts.append(f"{place}: {', '.join(_one_matter(one, target) for one in sure)}")
        else:
            unsure.append(place)
    return "; ".join([*texts, *([f"{', '.join(unsure)}: not sure"] if unsure else [])])


def _one_matter(one, target):
    way = {1: f"raises {target}, ", -1: f"lowers {target}, "}.get(one["direction"], "")
    return f"{one['kernel']} {100 * one['share']:.0f} % ({way}sure)"


def _certificate(record):
    gap, tolerance = record["certified"].values()
    if record["model"]["method"] == "LMKL":
        return "certified", "for the last weights of its gate only: those have no certificate"
    if gap <= tolerance:
        return "certified", f"within {_percent(gap)} of the best possible solution"
    return (
        "NOT done",
        f"only within {_percent(gap)} of the best possible solution, {_percent(tolerance)} was wanted",
    )


def _percent(share):
    """Return a share in percent, with one or two digits.

    Examples
    --------
    >>> _percent(0.0812), _percent(0.0000001), _percent(0)
    ('8.1 %', '0.00001 %', '0 %')
    """
    return f"{np.format_float_positional(100 * share, 2, fractional=False, trim='-')} %"


def data_record(content):
    """Return the description of a data file, or of several, as a record and as text."""
    from localmkl._resources import available_memory
    from localmkl.cli.files import GRAMS
    from localmkl.cli.truth import on_labelled

    n_rows = len(content)
    n_kernels, kernels = _kernels_of(content)
    record = {"file": ", ".join(map(str, content.paths)), "kind": content.kind, "rows": n_rows}
    record |= {"kernels": kernels, "gaps": dict(content.gaps), "left_out": dict(content.left_out)}
    lines = [("kind", f"{content.kind}, {n_of(n_rows, 'row')}")]
    if content.y is not None:
        labels, counts = np.unique(on_labelled(content.y), return_counts=True)
        record["labels"] = {str(label): int(count) for label, count in zip(labels, counts, strict=True)}
        without = n_rows - int(counts.sum())
        told = listed([f"{label} ({count})" for label, count in record["labels"].items()])
        lines.append(("labels", told + (f"; {n_of(without, 'row')} without one" if without else "")))
    parts = {"": content} if content.parts is None else content.parts
    for name, part in parts.items():
        held, text = _held(part)
        record |= {"holds": {**record.get("holds", {}), name or content.kind: held}}
        lines.append((name or "holds", text))
    if content.gaps:
        lines.append(("gaps", listed([f"{name} ({count})" for name, count in content.gaps.items()], 8)))
    lines.append(("kernels", listed(kernels) if isinstance(kernels, list) else kernels))
    record["gram_bytes"] = size = 8 * n_kernels * n_rows**2
    if size:
        free = available_memory()
        hint = "; more than is free: give --rank 200" * bool(
            free is not None and size > free and content.kind != GRAMS
        )
        lines.append(("memory", f"{size / 2**20:.1f} MB of kernel matrices to train on all rows{hint}"))
    return record, "\n".join(f"{name:<10} {text}" for name, text in lines)


def _kernels_of(content):
    """Return the number of default kernels and their names, or why there are none."""
    from localmkl.cli.files import GRAMS
    from localmkl.cli.kernels import choose_kernels

    if content.kind == GRAMS:
        return content.rows.n_kernels, f"{content.rows.n_kernels} in the file"
    try:
        found = choose_kernels(content)
    except ValueError as error:
        return 0, f"none by default: {error}"
    return len(found.kernels), found.names


def _held(content):
    """Return what the rows of a file are, as a record and as text."""
    from localmkl.cli.columns import kinds_of
    from localmkl.cli.files import MATRIX, SEQUENCES, TABLE

    rows = content.rows
    if content.kind == TABLE:
        kinds = kinds_of(rows)
        shown = listed([f"{name} ({what})" for name, what in kinds.items()], 8)
        return kinds, f"{n_of(len(kinds), 'column')}: {shown}"
    if content.kind == SEQUENCES:
        ends = [min(map(len, rows)), max(map(len, rows))]
        return {"lengths": ends}, f"{ends[0]} to {ends[1]} letters" if ends[0] < ends[
            1
        ] else f"{ends[0]} letters"
    if content.kind == MATRIX:
        stored = rows.nnz / max(1, rows.shape[0] * rows.shape[1])
        return {
            "shape": list(rows.shape)
        }, f"{rows.shape[1]} columns, {_percent(stored)} of the entries not zero"
    square = "" if rows.shape[0] == rows.shape[1] else "; not square: new rows to predict"
    shape = [rows.n_kernels, *rows.shape]
    return {"shape": shape}, f"{shape[0]} kernel matrices, {shape[1]} x {shape[2]}{square}"
