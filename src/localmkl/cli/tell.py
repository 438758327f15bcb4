"""Descriptions of a model or a data file, for `localmkl info` and `localmkl fit`: a record and a text."""

import numpy as np

from localmkl._checks import listed
from localmkl._resources import available_memory
from localmkl.cli.columns import as_numbers, is_plain, kinds_of, numeric_names
from localmkl.cli.files import GRAMS, MATRIX, SEQUENCES, TABLE, VIEWS
from localmkl.cli.kernels import default_kernels
from localmkl.cli.voice import n_of
from localmkl.cli.words import CLUSTERINGS, in_words
from localmkl.datasets.labels import on_labelled

EQUAL = "all one (UNIF): nothing was learned about which kernel matters"
"""Said of weights that no data have moved."""

RANK = 200
"""The rank that is named where Grams are too large."""


def describe_model(subject):
    """Return the description of a model, as a record and as text."""
    from localmkl.explain import cluster_names, described_loss, kernel_shares

    model, made = subject.model, getattr(subject.given, "made_", {})
    shares = kernel_shares(model)
    parameters = _parameters(model)
    record = {
        "method": subject.family,
        "task": "classification" if subject.classifier else "regression",
        "classes": model.classes_.tolist() if subject.classifier else None,
        "training_rows": subject.n_train,
        "support_vectors": len(model.support_),
        "parameters": _plain({**described_loss(model), **parameters}),
        "kernels": list(subject.kernels),
        "clusters": cluster_names(model),
        "kernel_shares": shares.round(6).tolist(),
        "equal_weights": subject.equal_weights,
        "cluster_sizes": _sizes(model),
        "duality_gap": model.duality_gap_,
        "tolerance": model.tol,
        "updates": int(model.n_iter_),
        "made": {key: value for key, value in made.items() if key not in ("y", "names", "kernel_names")},
    }
    if hasattr(model, "features_"):
        record["features"] = {
            "rank": model.n_components,
            "landmarks": model.features_.n_landmarks,
            "features": model.features_.n_features,
            "lost": model.approximation_error_.round(6).tolist(),
        }
    if subject.search is not None:
        record["tuned"] = {
            "score": float(subject.search.cv_results_[_decisive(subject.search)][subject.search.best_index_]),
            "metric": str(subject.search.scoring),
            "candidates": len(subject.search.cv_results_["params"]),
            "chosen": _plain(subject.search.best_params_),
        }
    return record, _model_text(record, subject.called)


def _decisive(search):
    """Return the column of the mean scores that a choice was made by."""
    named = f"mean_test_{search.refit}"
    return named if named in search.cv_results_ else "mean_test_score"


def _plain(values):
    """Return values that JSON can hold: an infinite p is written as text."""
    return {name: "inf" if value == float("inf") else value for name, value in values.items()}


def _parameters(model):
    """Return the parameters that say most about a model; those of clusters where groups are not known."""
    from localmkl.explain import has_groups

    shown = ["C", "p", "shared", "normalize", "tol", "class_weight", "random_state"]
    shown += ["gate", "groups"] if has_groups(model) else ["n_clusters", "evenness"]
    given = model.get_params(deep=False)
    shown += [] if given.get("scale_C", True) else ["scale_C"]
    gate = given.get("gate")
    shown += ["gate"] if isinstance(gate, str) and gate in CLUSTERINGS[1:] else []
    return {name: value for name, value in given.items() if name in shown}


def _sizes(model):
    """Return the share of the rows in each cluster; all are in the shared part."""
    from localmkl.explain import local_memberships, memberships_of, shared_part

    sizes = local_memberships(model, memberships_of(model)).mean(axis=0).round(6).tolist()
    return [1.0, *sizes] if shared_part(model) else sizes


def _model_text(record, method):
    """Return the lines on a model; with all shared, clusters make no difference."""
    unused = {"n_clusters", "evenness"} if record["parameters"].get("shared") == 1.0 else set()
    parameters = ", ".join(
        f"{name} {_number(value)}"
        for name, value in record["parameters"].items()
        if value is not None and (name, value) != ("shared", 0.0) and name not in unused
    )
    certified = "certified" if record["duality_gap"] <= record["tolerance"] else "NOT converged"
    of_what = ""
    if record["method"] == "LMKL":
        certified, of_what = "partly", " for the final weights alone: the weights have no certificate"
    lines = [
        f"method     {method}, {record['task']}"
        + (f" of {listed(record['classes'])}" if record["classes"] else ""),
        f"parameters {parameters}",
        f"data       {record['training_rows']} training rows, {record['support_vectors']} support vectors",
        f"kernels    {len(record['kernels'])}: {listed(record['kernels'])}",
        f"{certified:<10} duality gap {record['duality_gap']:.1e} "
        f"(asked: {record['tolerance']:.0e}){of_what}",
    ]
    lines += _features_text(record) if "features" in record else []
    if "tuned" in record:
        tuned = record["tuned"]
        chosen = ", ".join(f"{name} {_number(value)}" for name, value in tuned["chosen"].items())
        lines.append(
            f"tuned      {tuned['metric']} {tuned['score']:.4f} at {chosen}: best of {tuned['candidates']}"
        )
    rows = zip(record["clusters"], record["kernel_shares"], record["cluster_sizes"], strict=True)
    equal = record["equal_weights"]
    for name, shares, size in rows:
        where = "weights" if len(record["kernel_shares"]) == 1 else name
        order = np.argsort(shares)[::-1][:3]
        best = ", ".join(
            f"{record['kernels'][m]} {100 * shares[m]:.0f} %" for m in order if shares[m] >= 0.005
        )
        best = EQUAL if equal else best
        size_text = "" if len(record["clusters"]) == 1 else f" ({100 * size:.0f} % of the rows)"
        lines.append(f"{where:<10} {best}{size_text}")
    made = record["made"]
    if made:
        commit = f", commit {made['commit']}" if made.get("commit") else ""
        lines.append(
            f"made       {made['date']} from {made['file']!r} by localmkl {made['version']}{commit} "
            f"in {made['seconds']:.1f} s on {made['cpu']}"
        )
    return "\n".join(lines)


def _features_text(record):
    """Return lines on what the features of the kernels are, and what they cost."""
    found, lost = record["features"], record["features"]["lost"]
    said = f"rank {found['rank']}: {found['features']} features, {found['landmarks']} landmarks; "
    worst = f"at most {share_in_words(max(lost))} ({record['kernels'][int(np.argmax(lost))]}), "
    lines = [f"features   {said}lost of a kernel {worst}{share_in_words(np.mean(lost))} on average"]
    gap = record["made"].get("exact_gap")
    return lines if gap is None else [*lines, f"exact      {exact_gap_in_words(gap)}"]


def share_in_words(share):
    """Return a share in percent, with two digits.

    Examples
    --------
    >>> share_in_words(0.0812), share_in_words(0.0000001), share_in_words(0)
    ('8.1 %', '0.00001 %', '0 %')
    """
    return f"{np.format_float_positional(100 * share, 2, fractional=False, trim='-')} %"


def exact_gap_in_words(gap):
    """Return what a record of an exact gap says, as a sentence without its end."""
    if not gap["gap"] < 1.0:
        return "nothing is proved about the optimum of the exact problem"
    said = f"within {share_in_words(gap['gap'])} of the optimum of the exact problem"
    return f"{said}, give or take {share_in_words(gap['error'])}: estimated" if gap["error"] else said


def describe_data(content):
    """Return the description of a data file, or of several, as a record and as text."""
    n_rows = len(content)
    n_kernels, said, words = _default_kernels(content)
    files = ", ".join(map(str, content.paths))
    record = {"file": files, "kind": content.kind, "rows": n_rows, "default_kernels": said, "kernels": words}
    held, lines = _held(content)
    record |= held
    lines.insert(0, f"kind       {content.kind}, {n_of(n_rows, 'row')}")
    if content.y is not None:
        labels, counts = np.unique(on_labelled(content.y), return_counts=True)
        record["labels"] = {str(label): int(count) for label, count in zip(labels, counts, strict=True)}
        record["unlabelled"] = n_rows - int(counts.sum())
        counted = [f"{label} ({count})" for label, count in record["labels"].items()]
        lines.append(f"labels     {len(counted)}: {listed(counted)}{_without(record['unlabelled'])}")
    record["gram_bytes"] = 8 * n_kernels * n_rows**2 or None
    lines.append(f"kernels    {said}")
    if words is not None and words not in said:
        lines.append(f'in words   --kernels "{words}"')
    if n_kernels:
        lines.append(
            f"memory     {record['gram_bytes'] / 2**20:.1f} MB of Gram matrices to train on all rows"
        )
        free = available_memory()
        if free is not None and record["gram_bytes"] > free and content.kind != GRAMS:
            features = 4 * n_rows * n_kernels * RANK / 2**20
            lines[-1] += f"; with --rank {RANK} at most {features:.1f} MB of features"
    return record, "\n".join(lines)


def _without(n_rows):
    """Return the end of a line that counts labels: how many rows have none."""
    return f"; {n_of(n_rows, 'row')} without one" if n_rows else ""


def _held(content):
    """Return what the rows of a file are, as a record and as lines of text."""
    rows = content.rows
    if content.kind == VIEWS:
        return _held_views(content.parts)
    if content.kind == TABLE:
        columns = {name: str(kind) for name, kind in rows.dtypes.items()}
        shown = listed([f"{name} ({what})" for name, what in kinds_of(rows).items()], 8)
        gaps = {name: int(count) for name, count in rows.isna().sum().items() if count}
        counted = listed([f"{name} ({count})" for name, count in gaps.items()], 8)
        lines = [f"gaps       {counted}; filled with medians or the most frequent word"] if gaps else []
        return {"columns": columns, "gaps": gaps}, [f"columns    {shown}", *lines]
    if content.kind == SEQUENCES:
        lengths = [len(sequence) for sequence in rows]
        ends = [min(lengths), max(lengths)]
        span = f"{ends[0]}" if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
        return {"lengths": ends}, [f"lengths    {span} letters"]
    if content.kind == MATRIX:
        stored = rows.nnz / max(1, rows.shape[0] * rows.shape[1])
        record = {"shape": list(rows.shape), "stored": stored}
        return record, [f"columns    {rows.shape[1]}, {share_in_words(stored)} of the entries not zero"]
    only = "" if rows.shape[0] == rows.shape[1] else "; not square: new rows to predict, or no Grams"
    shape = f"{rows.n_kernels} Grams, {rows.shape[0]} x {rows.shape[1]}, {rows.dtype}{only}"
    return {"shape": [rows.n_kernels, *rows.shape]}, [f"shape      {shape}"]


def _held_views(parts):
    """Do as `_held`, for each view."""
    records, lines = {}, []
    for view, part in parts.items():
        held, told = _held(part)
        records[view] = {"file": str(part.path), "kind": part.kind, "rows": len(part), **held}
        what = "; ".join(" ".join(line.split()) for line in told)
        lines.append(f"{view:<10} {part.kind}, {n_of(len(part), 'row')}; {what}")
    obs = {str(part.path): list(part.obs) for part in parts.values() if part.obs is not None}
    for path, names in obs.items():
        whose = f"of {path}: " if len(obs) > 1 else ""
        lines.append(f"{'obs':<10} {whose}{listed(names) or 'no columns'}")
    return {"views": records, **({"obs": obs} if obs else {})}, lines


def _default_kernels(content):
    """Return number, description and words of the kernels that a file gets by default, if it gets any."""
    if content.kind == GRAMS:
        return content.rows.n_kernels, f"the {content.rows.n_kernels} of the file", None
    try:
        given, said = default_kernels(content)
        for part in [content] if content.parts is None else content.parts.values():
            if part.kind == TABLE:
                numeric = numeric_names(part.used().rows)
                as_numbers(part, part.rows, numeric, gaps=numeric)
    except ValueError as error:
        return 0, f"none by default: {error}", None
    columns = [wanted.parameters.get("columns") for wanted in given]
    names = [name for each in columns if isinstance(each, list) for name in each]
    words = in_words(given) if all(map(is_plain, names)) else None
    return sum(len(wanted.values) or 1 for wanted in given), said, words


def _number(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)
