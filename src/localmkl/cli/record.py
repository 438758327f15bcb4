"""Descriptions of a model or of a data file: a record for ``--json`` and a text of the same content."""

from collections import Counter

import numpy as np

from localmkl._checks import listed
from localmkl.cli.voice import n_of, shown

METRICS = {"roc_auc": "AUC", "r2": "R2", "pinball": "pinball loss"}
"""Names of metrics in text."""

SHOWN = ("loss", "C", "p", "shared", "n_clusters", "evenness", "groups", "normalize", "tol", "class_weight")
"""Parameters in the record of a model."""


def describe(given, voice):
    """Print what is in a model or in data files."""
    from localmkl.cli.files import Asked, is_model
    from localmkl.cli.joining import read_any
    from localmkl.cli.predicting import open_model

    if len(given.file) == 1 and is_model(given.file[0]):
        record = model_record(open_model(given.file[0]), given.file[0])
        voice.result(record, model_text(record))
        return
    insisted = frozenset(filter(None, (given.target, given.names)))
    options = {name: getattr(given, name) for name in ("target", "labels", "names", "variable", "header")}
    content = read_any(given.file, Asked(**options, insisted=insisted))
    voice.note(*content.notes)
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
    from localmkl.explain import cluster_names, described_loss, has_groups, kernel_names, kernel_shares
    from localmkl.inference.heldout import HeldOut

    made = made_of(model)
    held = None if made.get("held_out") is None else HeldOut.of(made["held_out"])
    classes = [str(label) for label in getattr(model, "classes_", [])]
    labels = np.asarray(made.get("y", [])).astype(str)
    flipped = len(classes) == 2 and made.get("positive") == classes[0]
    clusters = (
        ("n_clusters", "evenness") if has_groups(model) or getattr(model, "shared_", 0.0) == 1.0 else ()
    )
    parameters = {**described_loss(model), **model.get_params(deep=False)}
    return {
        "out": path,
        "data": {
            **{name: made.get(name) for name in ("file", "target", "left_out")},
            "groups": made.get("groups_column"),
            "rows": np.shape(model.dual_coef_)[-1],
            "columns": int(model.n_features_in_) if made.get("kind") == "table" else None,
            "classes": {label: int(np.sum(labels == label)) for label in classes} if len(labels) else {},
        },
        "filled": {name: count for name, (count, _) in made.get("filled", {}).items()},
        "positive": made.get("positive"),
        "model": {
            "method": type(model).__name__.removesuffix("Classifier").removesuffix("Regressor"),
            "kernels": list(made.get("kernel_names") or kernel_names(model)),
            "parameters": _plain(
                {name: parameters[name] for name in SHOWN if name in parameters and name not in clusters}
            ),
            "clusters": cluster_names(model),
            "weights": kernel_shares(model).round(6).tolist(),
            "search": _plain(
                {name: one for name, one in (made.get("search") or {}).items() if name != "tried"}
            )
            or None,
        },
        "quality": None if held is None else _quality(held),
        "groups": made.get("groups"),
        "matters": [] if held is None else [_matter(one, flipped) for one in held.matters()],
        "certified": {"gap": float(model.duality_gap_), "tolerance": float(model.tol)},
        "made": {name: made.get(name) for name in ("date", "version", "commit", "cpu", "seconds")},
    }


def made_of(model):
    """Return the record of a model that the command line made; empty for one that Python code saved."""
    return getattr(model, "made_", {})


def ends_in_words(score):
    """Return a score and its interval."""
    name = METRICS.get(score["metric"], score["metric"])
    if score["value"] is None:
        return f"{name} is not defined on these rows"
    return f"{name} {score['value']:.2f} (95 % {score['low']:.2f} to {score['high']:.2f})"


def _plain(value):
    """Return a value that JSON can hold: an infinite p is written as text, what is not a number as none."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if not isinstance(value, float) or np.isfinite(value):
        return value
    return "inf" if value > 0 else None


def _quality(held):
    """Return the score of a model with its interval, and those of simpler models on the same folds."""
    scores = {name: held.score(name) for name in (None, *held.rivals)}
    ends = {
        name: _plain({end: float(getattr(one, end)) for end in ("value", "low", "high")})
        for name, one in scores.items()
    }
    own = ends.pop(None)
    rivals = [{"name": name, **one} for name, one in ends.items()]
    return {
        "metric": scores[None].metric,
        **own,
        "how": held.how,
        "baselines": rivals,
        "skipped": held.skipped,
    }


def _matter(found, flipped):
    """Return what one column or kernel does, with the direction towards the positive class."""
    values = {
        name: getattr(found, name) for name in ("kernel", "part", "decision", "share", "low", "high", "by")
    }
    direction = -found.direction if flipped and found.direction else found.direction
    return _plain({**values, "sure": bool(found.sure), "direction": direction})


def model_text(record):
    """Return the lines on a model: data, model, quality, groups, what matters, certificate, next step."""
    data, found = record["data"], record["groups"]
    counts = sorted(data["classes"].items(), key=lambda item: item[0] != record["positive"])
    classes = f" ({', '.join(f'{label} {count}' for label, count in counts[:6])})" if counts else ""
    size = n_of(data["rows"], "row") + (f", {data['columns']} columns" if data["columns"] else "")
    gaps = f"; {_gap_words(record['filled'])}" if record["filled"] else ""
    lines = [
        ("model", _model_words(record)),
        ("quality", "" if record["quality"] is None else _quality_words(record["quality"])),
        (data["groups"] or "clusters", "" if found is None else _verdict_words(record)),
        ("matters", _matter_words(record)),
        ("certified", _certificate(record)),
        ("written", f"{record['out']}      next: localmkl report {record['out']}"),
    ]
    first = f"{data['file'] or 'a model'}: {data['target'] or 'label'}{classes}, {size}{gaps}"
    return "\n".join([first, *(f"{name:<10} {text}" for name, text in lines if text)])


def _gap_words(filled):
    counted = listed([f"{name} {count}" for name, count in filled.items()], 8)
    return f"{n_of(sum(filled.values()), 'gap')} filled with medians or most frequent words ({counted})"


def _model_words(record):
    """Return a method in words, with its parameters."""
    model, groups = record["model"], record["data"]["groups"]
    own = model["parameters"]
    shared, p = own.get("shared", 1.0), own.get("p")
    words = f"{groups}-specific weights" if groups else f"weights of {own.get('n_clusters')} clusters"
    if model["method"] == "LMKL":
        words = "weights by a learned gate"
    elif model["method"] == "UniformMKL" or p == "inf":
        words = "equal weights for all kernels"
    elif model["method"] == "MKL" or shared == 1.0:
        words = "one set of weights"
    else:
        words += {0.0: ", nothing shared", 0.5: ", half shared (shared 0.5)"}.get(
            shared, f", shared {shared:g}"
        )
    values = ", ".join(f"{name} {shown(own[name])}" for name in ("C", "p") if name in own)
    return f"{words}; {n_of(len(model['kernels']), 'kernel')}, {own['loss'].replace('g_l', 'g l')}, {values}"


def _quality_words(quality):
    others = [one for one in quality["baselines"] if one["value"] is not None and "model" not in one["name"]]
    rivals = ", ".join(f"{one['name']} {one['value']:.2f}" for one in others)
    return f"{ends_in_words(quality)}, cross-validated      {rivals}".rstrip()


def _verdict_words(record):
    """Return the sentence on groups or clusters."""
    found, score, groups = record["groups"], record["quality"]["value"], record["data"]["groups"]
    if found["chosen"] == "one":
        what = f"{groups}-specific ones" if groups else "those of clusters"
        scores = f" ({found['other']:.2f} against {score:.2f})" if "other" in found else ""
        hint = f"; --shared {found['other_shared']:g} keeps them" if found["other_shared"] is not None else ""
        return f"one set of weights: {what} were no better{scores}{hint}"
    word = "better" if found["low"] > 0 else "worse" if found["high"] < 0 else "not clearly better"
    size, low, high = (round(found[name], 2) + 0.0 for name in ("difference", "low", "high"))
    return f"{word} than one model for all ({found['other']:.2f}): {size:+.2f} ({low:+.2f} to {high:+.2f})"


def _matter_words(record):
    """Return what matters, a line for each part: what is sure, with its direction, and where nothing is."""
    several = len({one["decision"] for one in record["matters"]}) > 1
    target, places = record["positive"] or record["data"]["target"] or "it", dict[str, list[str]]()
    ways = {} if several else {1: f" (raises {target})", -1: f" (lowers {target})"}
    for one in record["matters"]:
        own = places.setdefault(f"{one['decision']}, {one['part']}" if several else one["part"], [])
        if one["sure"] and len(own) < 3:
            own.append(f"{one['kernel']} {100 * one['share']:.0f} %{ways.get(one['direction'], '')}")
    order = sorted(places, key=lambda place: not place.endswith("everywhere"))
    lines = [f"{place}: {', '.join(places[place])}" for place in order if places[place]]
    unsure = ("; " if several else ", ").join(place for place in order if not places[place])
    lines += [f"{unsure}: not sure" if lines else "not sure"] if unsure else []
    return f"\n{'':<11}".join(lines)


def _certificate(record):
    gap, tolerance = record["certified"].values()
    if record["model"]["method"] == "LMKL":
        return "only for the last weights of its gate: these have no certificate"
    within = f"within {_percent(gap)} of the best possible solution"
    return within if gap <= tolerance else f"no: only {within}, {_percent(tolerance)} was wanted"


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
    from localmkl.cli.kernels import choose_kernels
    from localmkl.datasets.labels import on_labelled

    n_rows, names, words = len(content), [], ""
    try:
        chosen = choose_kernels(content)
        names, words = chosen.names, chosen.said
    except ValueError as error:
        words = f"none by default: {error}"
    counts = Counter([] if content.y is None else map(str, on_labelled(content.y).tolist()))
    parts = {"holds": content} if content.parts is None else content.parts
    held = {name: _held(part) for name, part in parts.items()}
    record = {"file": ", ".join(map(str, content.paths)), "kind": content.kind, "rows": n_rows}
    record |= {
        "kernels": names,
        "labels": dict(counts),
        "holds": held,
        "gaps": content.gaps,
        "left_out": content.left_out,
    }
    lines = {
        "kind": f"{content.kind}, {n_of(n_rows, 'row')}",
        "labels": listed([f"{label} ({count})" for label, count in sorted(counts.items())]),
        **{name: listed([f"{one} ({what})" for one, what in own.items()], 8) for name, own in held.items()},
        "gaps": _gap_words(content.gaps).replace("filled", "will be filled") if content.gaps else "",
        "kernels": words,
    }
    text = "\n".join(f"{name:<10} {line}" for name, line in lines.items() if line)
    return record, text


def _held(content):
    """Return what the rows of a file are: columns and what they hold, lengths, or shapes."""
    from localmkl.cli.columns import kinds_of
    from localmkl.cli.files import SEQUENCES, TABLE

    rows = content.rows
    if content.kind == TABLE:
        return kinds_of(rows)
    if content.kind == SEQUENCES:
        ends = dict.fromkeys([min(map(len, rows)), max(map(len, rows))])
        return {"sequences": f"{' to '.join(map(str, ends))} letters"}
    return {"numbers": " x ".join(map(str, [getattr(rows, "n_kernels", 1), *rows.shape]))}
