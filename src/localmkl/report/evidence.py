"""What was done and how far to trust it: parameters, quality, search, convergence, bound, provenance.

Each function returns a `Section`, its sentences computed from the data; None where there is nothing to say.
"""

import platform
from datetime import UTC, datetime

import numpy as np
import sklearn

import localmkl
from localmkl import explain
from localmkl.bounds import bound_model
from localmkl.report import charts
from localmkl.report.prose import Figure, Section, Table, brief, class_name, count, listing, percent, sentence
from localmkl.report.quality import CROSS_VALIDATED, FEWEST, HELD_OUT, differs_between, is_tuned, strength

METHODS = {
    "UNIF": "adds all kernels with equal weights: nothing is learned about which kernel matters",
    "MKL": "learns one weight for each kernel, the same for all samples",
    "HLMKL": "puts each sample into one of several clusters and learns kernel weights for each",
    "CLMKL": "lets samples belong to every cluster to some degree and learns kernel weights for each",
    "LMKL": "learns kernel weights as a function of the sample; its problem has many local solutions",
}
PARAMETERS = {
    "C": "cost of errors: larger follows the training data more closely",
    "p": "norm of the kernel weights: 1 selects few kernels, larger spreads the weight",
    "n_clusters": "number of clusters",
    "evenness": "how evenly samples are shared among clusters, on average",
    "gate": "where memberships come from",
    "gate_kernel": "kernel that says who is near whom; None is the mean of all",
    "normalize": "how kernels are made comparable",
    "epsilon": "errors below this cost nothing",
    "class_weight": "weight of the classes",
    "tol": "relative duality gap asked for",
    "random_state": "seed",
}
ROC_POINTS = 200
"""Most points of a curve that are drawn."""

SAME_SCORE = 1e-3
"""Scores of a search that differ by less, the last digit told, are the same."""

ALARMS = 0.1
"""The share of false alarms at which hits are told."""


def done(subject, seconds=None):
    """Return what was done: data, kernels, parameters, certificate."""
    model = subject.model
    text = [
        f"{subject.method} {METHODS[subject.method]}. It was trained on {count(subject.n_train, 'sample')}"
        f"{_classes(subject)}, {_shape(subject)}, seen through {count(len(subject.kernels), 'kernel')}. A "
        "kernel is a measure of how alike two samples are; the model decides by a weighted sum of them.",
        certificate_text(subject),
    ]
    n_clusters = model.kernel_weights_.shape[-2]
    if subject.alike and n_clusters > 1:
        text.append(
            f"All samples have the same memberships in the {n_clusters} clusters: these are the same by "
            "construction, and nothing is said about them one by one."
        )
    if not len(model.support_):
        text.append("No training sample became a support vector: it predicts the same for every sample.")
    if getattr(model, "transductive_", False):
        text.append("The clusters were learned from further samples without labels as well.")
    params = model.get_params(deep=False)
    rows = [[name, _written(params[name]), why] for name, why in PARAMETERS.items() if name in params]
    rows += [
        ["duality gap reached", f"{model.duality_gap_:.1e}", "how far, at most, from the best possible"],
        ["steps", f"{model.n_iter_:,}", "updates of the kernel weights"],
        ["support vectors", f"{len(model.support_):,} of {subject.n_train:,}", "samples it decides by"],
    ]
    if seconds is not None:
        rows.append(["seconds", brief(seconds), "time of the training"])
    kernels = [
        [
            name,
            "a Gram matrix" if model.kernels_ is None else repr(model.kernels_[m]),
            brief(model.factors_[m]),
        ]
        for m, name in enumerate(subject.kernels)
    ]
    blocks = [
        Table("Parameters and outcome", ["what", "value", "meaning"], rows, folded=True),
        Table("Kernels", ["kernel", "definition", "factor of the normalisation"], kernels, folded=True),
    ]
    return Section("done", "What was done", text, blocks)


def _classes(subject):
    if not subject.classifier:
        return " with numeric targets"
    names = [str(label) for label in subject.model.classes_]
    return f" of {len(names)} classes ({listing(names if len(names) <= 8 else [*names[:7], 'others'])})"


def _shape(subject):
    rows = explain.training_rows(subject.model)
    if rows is None:
        return "given by their Gram matrices"
    if hasattr(rows, "iloc") or rows.ndim == 2:
        return f"described by {count(rows.shape[1], 'column')}"
    lengths = [len(text) for text in rows]
    if min(lengths) == max(lengths):
        return f"sequences of {count(lengths[0], 'letter')}"
    return f"sequences of {min(lengths):,} to {max(lengths):,} letters"


def certificate_text(subject):
    """Say what the duality gap proves."""
    gap, tol = subject.model.duality_gap_, subject.model.tol
    if subject.method == "LMKL":
        return (
            f"Its objective is not convex: the duality gap of {gap:.1e} certifies the support vector machine "
            "for the final gate, not the gate."
        )
    if not np.isfinite(gap):
        return "No duality gap was reached: nothing is proved about the solution."
    text = f"The duality gap proves that the objective is within {percent(gap, 4)} of the best possible"
    if gap <= tol:
        return f"{text}; {percent(tol, 1)} was asked for."
    return f"{text}, which is more than the {percent(tol, 1)} asked for: the solver was stopped before."


def _written(value):
    if isinstance(value, float | int) and not isinstance(value, bool):
        return brief(value)
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    return value if isinstance(value, str) else repr(value)


def quality(subject, found):
    """Return the quality with its baselines, overall and by cluster; or say that it is not known."""
    title = "How good it is"
    if found is None:
        text = missing_text(subject)
        if np.isfinite(getattr(subject.search, "best_score_", np.nan)):
            text += (
                " The search that chose the parameters gave them a cross-validated score of "
                f"{subject.search.best_score_:.3f}; having been chosen by it, they look a little too good."
            )
        return Section("quality", title, [text])
    blocks = [_quality_table(found)]
    if subject.binary and len(set(found.y.tolist())) == 2:
        blocks.append(_roc(subject, found))
    elif subject.classifier:
        blocks.append(_confusion(subject, found))
    else:
        blocks.append(_residuals(subject, found))
    if subject.n_clusters > 1 and np.isfinite(found.model.by_cluster).any():
        blocks.append(_by_cluster(subject, found))
    return Section("quality", title, [kind_text(subject, found), quality_text(found)], blocks)


def missing_text(subject):
    """Say why nothing is said about quality, and what that needs."""
    if subject.y is not None:
        return (
            f"Nothing is said about quality: no sample has a label that the model knows (it knows "
            f"{_labels(subject.model.classes_.tolist())}, the samples have {_labels(subject.strange)})."
        )
    if subject.rows is None:
        return (
            "Nothing is said about quality, and no sample is shown: a model of Gram matrices keeps none of "
            "them. Give the report the Grams of the training samples with their targets for a "
            "cross-validation, a map and the bound, or Grams of new samples with theirs."
        )
    return "Nothing is said about quality: that needs samples with known targets, best ones it has not seen."


def _labels(labels, most=4):
    """Return labels as one reads them out, the first ones of many."""
    shown = [repr(label) for label in labels[:most]]
    return listing(shown if len(labels) <= most else [*shown, "others"])


def kind_text(subject, found):
    """Say on which samples quality was measured, and what that is worth."""
    n = count(len(found.y), "sample")
    if found.kind == HELD_OUT:
        text = f"Measured on held-out data: {n} that the model was not trained on."
        if found.n_seen:
            verb = "was" if found.n_seen == 1 else "were"
            text += f" {count(found.n_seen, 'other row')} given {verb} in its training data and left out."
        if not found.rivals and not found.twins:
            text += " Baselines are missing: they need the training data, or were not asked for."
    elif found.kind == CROSS_VALIDATED:
        text = (
            f"Cross-validated on the training data: {n} in {found.n_folds} folds, each predicted by a model "
            "fitted without it."
        )
        if found.why:
            text += f" There are not more folds because {found.why}."
        if found.tuned:
            text += " The parameters were chosen on the same samples, which makes it look a little too good."
        if getattr(subject.model, "transductive_", False):
            text += (
                " The clusters of these models were learned without the unlabelled samples that this one had."
            )
    else:
        text = (
            f"Measured on training data, {n} that the model has seen: these numbers are too good, and do not "
            f"tell how well new samples are predicted. There is no cross-validation: {found.why}."
        )
    if found.n_strange:
        verb, which = ("has a label", "is") if found.n_strange == 1 else ("have labels", "are")
        text += (
            f" {count(found.n_strange, 'sample')} {verb} that the model does not know "
            f"({_labels(subject.strange)}) and {which} left out."
        )
    if found.rivals:
        how = "tuned over the same grid"
        if not is_tuned(subject):
            how = "with the same parameters, not tuned on their own"
            how += f" (C times {brief(strength(subject))} too)" if strength(subject) < 1.0 else ""
        who = "baselines {} use" if len(found.rivals) > 1 else "baseline {} uses"
        text += f" The {who.format(listing(found.rivals))} the same kernels, {how}."
    for name, why in found.twins.items():
        text += f" {name} is not compared: {why}."
    for metric in found.undefined:
        text += f" There is no {metric.name}: it needs {metric.needs}."
    if found.n_unfinished:
        verb = "fit" if found.n_unfinished == 1 else "fits"
        text += f" {found.n_unfinished} {verb} for this comparison did not converge."
    if len(found.y) < FEWEST:
        return f"{text} There are no intervals: fewer than {FEWEST} samples do not tell chance from the rest."
    return f"{text} In brackets: 95 % intervals of the bootstrap."


def lead_text(found):
    """Say in one sentence how good the model and its baselines are."""
    name, main = next(iter(found.methods)), found.main
    others = {"MKL": "one set of kernel weights for all samples (MKL)", "UNIF": "equal kernel weights (UNIF)"}
    values = {rival: main.told(result.scores[main.name].value) for rival, result in found.rivals.items()}
    n = count(len(found.y), "sample")
    where = (
        f"{n} it has not seen" if found.kind == HELD_OUT else f"{n}, each predicted without having seen it"
    )
    if main.name == "accuracy":
        parts = [f"Of {where}, {name} predicts {main.told(found.score)} rightly"]
        parts += [f"{others[rival]} {value}" for rival, value in values.items()]
    else:
        parts = [f"On {where}, {name} has {_article(main.name)} {main.name} of {main.told(found.score)}"]
        parts += [f"{others[rival]} one of {value}" for rival, value in values.items()]
    return f"{', '.join(parts)}.{guessing_text(found)}"


def guessing_text(found):
    """Say that guessing does as well, where the interval of the model does not exclude it."""
    main, score = found.main, found.model.scores[found.main.name]
    nearest = score.low if main.higher else score.high
    if not score.known or main.sign * (nearest - found.floor) > 0.0 or len(set(found.y.tolist())) == 1:
        return ""
    guess = "always guessing the most frequent class" if found.classifier else "one guess for all samples"
    name = next(iter(found.methods))
    return f" {name} is not clearly better than {guess} ({main.told(found.floor)})."


def _article(noun):
    return "an" if noun[0] in "aeiouAR" else "a"


def quality_text(found):
    """Compare the model with guessing and with each baseline."""
    name, main = next(iter(found.methods)), found.main
    if main.name == "accuracy":
        auc = f" (AUC {found.model.scores['AUC'].value:.3f})" if "AUC" in found.model.scores else ""
        text = (
            f"{name} is right for {main.told(found.score)} of the samples{auc}; always guessing the most "
            f"frequent class would be right for {main.told(found.floor)}."
        )
    else:
        text = (
            f"The {main.name} of {name} is {main.told(found.score)}; that of one guess for all samples is "
            f"{main.told(found.floor)}."
        )
    text += "".join(f" {comparison_text(found, rival)}" for rival in found.rivals)
    if not found.classifier or len(set(found.y.tolist())) == 1:
        return text
    flat = [name for name, result in found.methods.items() if len(set(result.predictions.tolist())) == 1]
    if flat:
        verb = "predicts" if len(flat) == 1 else "predict"
        text += (
            f" {listing(flat)} {verb} one class for all samples: weigh rare classes more, or look at other "
            "parameters."
        )
    return text


def comparison_text(found, rival):
    """Say whether a baseline is better or worse beyond chance, or that this cannot be told."""
    main, result = found.main, found.rivals[rival]
    value, low, high = result.behind.value, result.behind.low, result.behind.high
    if main.same(found.score, result.scores[main.name].value):
        return f"{rival} has the same {main.name}."
    word = {1: "worse", -1: "better", 0: "not clearly different, " + ("ahead" if value < 0 else "behind")}
    if value < 0:
        value, low, high = -value, -high, -low
    text = f"{rival} is {word[result.verdict]} by {main.amount(value)}"
    if not result.behind.known:
        return f"{text}."
    few = f"; but they differ on {count(result.n_apart, 'sample')} only" if result.n_apart < FEWEST else ""
    return f"{text} (95 % interval {main.amount(low, unit=False)} to {main.amount(high)}{few})."


def _quality_table(found):
    timed = any(result.seconds is not None for result in found.methods.values())
    rows = []
    for name, result in found.methods.items():
        row = [name, *(metric.interval(result.scores[metric.name]) for metric in found.metrics)]
        row += [
            "" if result.gap is None else f"{result.gap:.1e}",
            *([brief(result.seconds)] if timed else []),
        ]
        rows.append(row)
    caption = "Quality, cross-validated" if found.kind == CROSS_VALIDATED else f"Quality on {found.kind} data"
    names = [metric.name for metric in found.metrics]
    return Table(caption, ["method", *names, "duality gap", *(["seconds"] if timed else [])], rows)


def _inks(found):
    return [charts.ACCENT, charts.INK, charts.SOFT][: len(found.methods)]


def _roc(subject, found):
    label = subject.focus
    positive = found.y == label
    sign = 1.0 if label == subject.model.classes_[1] else -1.0
    rows, hits = [], {}
    for name, result in found.methods.items():
        decisions = sign * result.decisions
        order = np.argsort(-decisions, kind="stable")
        # A point of the curve for each distinct decision value.
        ends = np.append(np.flatnonzero(np.diff(decisions[order])), len(order) - 1)
        hit = np.append(0, np.cumsum(positive[order])[ends]) / max(positive.sum(), 1)
        alarm = np.append(0, np.cumsum(~positive[order])[ends]) / max((~positive).sum(), 1)
        hits[name] = float(np.interp(ALARMS, alarm, hit))
        kept = np.unique(np.linspace(0, len(hit) - 1, min(len(hit), ROC_POINTS)).astype(int))
        rows += [{"series": name, "x": round(float(alarm[i]), 4), "y": round(float(hit[i]), 4)} for i in kept]
    spec = charts.lines(
        rows,
        order=list(found.methods),
        colors=_inks(found),
        dashes=[[1, 0], [6, 3], [2, 3]][: len(found.methods)],
        titles=("false alarms", "hits"),
        domains=([0, 1], [0, 1]),
    )
    said = listing([f"{name} {percent(value)}" for name, value in hits.items()])
    text = (
        f"If {percent(ALARMS)} of the other samples may raise a false alarm, this share of the samples of "
        f"{class_name(label)} is found: {said}."
    )
    cells = [[name, percent(value, 1)] for name, value in hits.items()]
    table = Table(f"Hits at {percent(ALARMS)} false alarms", ["method", "hits"], cells)
    return Figure("roc", f"ROC curve: finding {class_name(label)}", text, spec, table=table, wide=False)


def _confusion(subject, found):
    labels = subject.model.classes_
    names = [str(label) for label in labels]
    guesses = found.model.predictions
    counts = np.array([[np.sum((found.y == t) & (guesses == p)) for p in labels] for t in labels])
    rows = [
        {"x": names[p], "y": names[t], "value": int(counts[t, p])}
        for t in range(len(labels))
        for p in range(len(labels))
    ]
    spec = charts.heat_map(rows, order=(names, names), titles=("predicted", "true"), form="d")
    text = recall_text(subject, found, counts)
    wrong = counts - np.diag(counts.diagonal())
    t, p = np.unravel_index(wrong.argmax(), wrong.shape)
    if wrong.any():
        text += (
            f" The most frequent confusion: {count(int(wrong[t, p]), 'sample')} of "
            f"{class_name(labels.tolist()[t])} taken for {class_name(labels.tolist()[p])}."
        )
    cells = [[name, *map(str, row)] for name, row in zip(names, counts, strict=True)]
    table = Table("True classes in rows, predicted ones in columns", ["", *names], cells)
    return Figure("confusion", "Which classes are taken for which", text, spec, table=table)


def recall_text(subject, found, counts):
    """Say which classes are recognised best and worst, where that is no chance, and which have no samples."""
    labels = subject.model.classes_.tolist()
    there = np.flatnonzero(counts.sum(axis=1))
    recall = counts.diagonal()[there] / counts.sum(axis=1)[there]
    right = found.model.predictions == found.y
    parts = [np.flatnonzero(found.y == subject.model.classes_[t]) for t in there]
    low, high = percent(recall.min()), percent(recall.max())
    if differs_between(lambda rows: right[rows].mean(axis=1), parts, subject.seed):
        best, worst = (class_name(labels[there[pick]]) for pick in (recall.argmax(), recall.argmin()))
        text = sentence(f"{best} is recognised best ({high} of its samples), {worst} worst ({low})")
    elif len(there) == 1:
        text = f"All samples are of {class_name(labels[there[0]])}, {high} of them recognised."
    else:
        text = f"Of each class {high} is recognised."
        if low != high:
            text = (
                f"Of each class between {low} and {high} is recognised; chance may explain the differences."
            )
    absent = [class_name(label) for t, label in enumerate(labels) if t not in there]
    if absent:
        shown = absent if len(absent) <= 4 else [*absent[:4], "others"]
        text += f" There is no sample of {listing(shown, 'or')}: nothing is said about that."
    return text


def _residuals(subject, found):
    guesses = found.model.predictions
    kept = np.arange(len(found.y))
    if len(kept) > subject.max_samples:
        kept = np.random.default_rng(subject.seed).choice(kept, subject.max_samples, replace=False)
    rows = [
        {
            "x": float(f"{found.y[i]:.5g}"),
            "y": float(f"{guesses[i]:.5g}"),
            "cluster": subject.clusters[found.clusters[i]],
        }
        for i in kept
    ]
    spec = charts.scatter(rows, names=subject.clusters, titles=("target", "prediction"))
    errors = guesses - found.y
    sizes = np.abs(errors)
    text = residuals_text(errors)
    cells = [[percent(share), brief(float(np.quantile(sizes, share)))] for share in (0.5, 0.8, 0.9, 0.95)]
    table = Table("Sizes of errors", ["share of the samples", "error below"], cells)
    return Figure("residuals", "Predictions against targets", text, spec, table=table, wide=False)


def residuals_text(errors):
    """Say how large errors are, and whether they lean to one side by more than chance."""
    sizes = np.abs(errors)
    if len(errors) == 1:
        return f"The prediction is off by {brief(float(sizes[0]))}."
    text = f"Half of the predictions are off by at most {brief(float(np.median(sizes)))}"
    unit = sizes.max() or 1.0
    mean, deviation = (errors / unit).mean(), (errors / unit).std(ddof=1) / np.sqrt(len(errors))
    if len(errors) < FEWEST or abs(mean) <= 2.0 * deviation:
        return f"{text}; on average they are neither too high nor too low by more than chance explains."
    side = "high" if mean > 0 else "low"
    return f"{text}; on average they are too {side} by {brief(float(unit * abs(mean)))}."


def _by_cluster(subject, found):
    main = found.main
    sizes = np.bincount(found.clusters, minlength=subject.n_clusters)
    names = [f"cluster {j + 1} ({size:,})" for j, size in enumerate(sizes)]
    lists = {name: result.by_cluster for name, result in found.methods.items()}
    lists["guessing"] = found.floor_by_cluster
    rows = [
        {"group": names[j], "method": name, "value": round(main.unit * float(value), 4)}
        for name, values in lists.items()
        for j, value in enumerate(values)
        if np.isfinite(value)
    ]
    colors = [*_inks(found), charts.SOFT]
    spec = charts.dots(rows, order=list(lists), order_rows=names, colors=colors, title=main.title)
    cells = [
        [name, *(main.told(values[j]) if np.isfinite(values[j]) else "" for values in lists.values())]
        for j, name in enumerate(names)
    ]
    table = Table(f"{main.name} by main cluster", ["samples", *lists], cells)
    return Figure("by-cluster", "Quality by main cluster", by_cluster_text(found), spec, table=table)


def by_cluster_text(found):
    """Say where the model is best, and where it gains on its baselines, unless that may be chance."""
    main, own = found.main, np.array(found.model.by_cluster)
    there = np.flatnonzero(np.isfinite(own))
    order = there[np.argsort(main.sign * own[there], kind="stable")]
    best, worst = order[-1], order[0]
    if len(there) == 1:
        return f"All samples have cluster {best + 1} as their main one."
    if found.model.uneven:
        text = (
            f"The {main.name} of the model is best in cluster {best + 1} ({main.told(own[best])}) and worst "
            f"in cluster {worst + 1} ({main.told(own[worst])})."
        )
    else:
        low, high = (main.told(value) for value in sorted([own[best], own[worst]]))
        text = f"The {main.name} of the model is {high} in all clusters."
        if low != high:
            text = (
                f"The {main.name} of the model lies between {low} and {high} in all clusters; chance may "
                "explain the differences."
            )
    even = [name for name, result in found.rivals.items() if not result.uneven]
    if even:
        text += f" How it compares with {listing(even)} does not differ between clusters by more than chance."
    for name, result in found.rivals.items():
        gain = main.sign * (own - np.array(result.by_cluster))
        most, least = there[gain[there].argmax()], there[gain[there].argmin()]
        if not result.uneven:
            continue
        if gain[most] > 0:
            text += f" It gains most on {name} in cluster {most + 1} ({main.amount(gain[most])})."
        else:
            text += f" It loses most to {name} in cluster {least + 1} ({main.amount(-gain[least])})."
    return text


def tuning(subject):
    """Return the table of the search, or None if there was none."""
    search = subject.search
    if search is None:
        return None
    results = search.cv_results_
    chosen = f"mean_test_{search.refit}"
    metric = chosen if chosen in results else next(key for key in results if key.startswith("mean_test_"))
    scores = np.asarray(results[metric], dtype=float)
    spread = np.asarray(results[metric.replace("mean_", "std_", 1)], dtype=float)
    # One column for each parameter, by the name that it has in the model.
    values = {
        key.removeprefix("param_").rpartition("__")[2]: [_plain(value) for value in results[key]]
        for key in results
        if key.startswith("param_")
    }
    sizes = {name: len(set(map(brief, column))) for name, column in values.items()}
    varied = [name for name in values if sizes[name] > 1]
    best = int(search.best_index_)
    text = tuning_text({name: values[name][best] for name in varied}, scores, spread, best, search.n_splits_)
    axes = sorted(varied, key=lambda name: (name not in ("C", "evenness"), -sizes[name]))[:2]
    order = np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable")[:10]
    rows = [
        [*(brief(column[i]) for column in values.values()), _score(scores[i]), _score(spread[i])]
        for i in order
    ]
    table = Table("The best candidates", [*values, "mean score", "standard deviation"], rows)
    axes = axes if np.isfinite(scores).any() else []
    figures = [_score_figure({name: values[name] for name in axes}, scores, best, text)] if axes else []
    return Section("tuning", "How the parameters were chosen", [] if axes else [text], [*figures, table])


def tuning_text(params, scores, spread, best, n_folds):
    """Say what was chosen and how much the choice mattered."""
    failed = int((~np.isfinite(scores)).sum())
    tail = f" {count(failed, 'candidate')} could not be scored." if failed else ""
    if failed == len(scores) or not np.isfinite(scores[best]):
        return (
            f"Of {count(len(scores), 'candidate')} in {count(n_folds, 'fold')}, none could be compared.{tail}"
        )
    near = int((scores >= scores[best] - spread[best]).sum())
    said = listing([f"{name} = {brief(value)}" for name, value in params.items()] or ["the only candidate"])
    first = f"Of {count(len(scores), 'candidate')} in {count(n_folds, 'fold')}, {said}"
    if len(scores) - failed == 1 or np.nanmax(scores) - np.nanmin(scores) < SAME_SCORE:
        alike = " like all others" if len(scores) - failed > 1 else ""
        return f"{first} was chosen: {scores[best]:.3f}{alike}.{tail}"
    return (
        f"{first} did best: "
        f"{scores[best]:.3f} (standard deviation {spread[best]:.3f} over the folds), against "
        f"{np.nanmin(scores):.3f} for the worst. {count(near, 'candidate')} {'lies' if near == 1 else 'lie'} "
        f"within one standard deviation of the best.{tail}"
    )


def _score(value):
    return f"{value:.4f}" if np.isfinite(value) else "none"


def _plain(value):
    if isinstance(value, float | int | np.number) and not isinstance(value, bool):
        return float(value)
    return str(value)


def _score_figure(axes, scores, best, text):
    """Return the scores over one or two parameters, the best over the others."""
    columns = [[brief(value) for value in column] for column in axes.values()]
    orders = [_ordered(column) for column in axes.values()]
    if len(axes) == 1:
        columns.append(["score"] * len(scores))
        orders.append(["score"])
    cells: dict[tuple[str, str], float] = {}
    for cell, score in zip(zip(*columns, strict=True), scores, strict=True):
        if np.isfinite(score):
            cells[cell] = max(float(score), cells.get(cell, -np.inf))
    winner = columns[0][best], columns[1][best]
    rows = [
        {"x": x, "y": y, "value": round(score, 4), "framed": (x, y) == winner}
        for (x, y), score in cells.items()
    ]
    titles = (*axes, "")[:2]
    spec = charts.heat_map(rows, order=orders, titles=titles, form=".3f", from_zero=False)
    table = Table(
        "Mean score of the folds",
        [f"{titles[1]}, {titles[0]}" if titles[1] else titles[0], *orders[0]],
        [[y, *(f"{cells[x, y]:.4f}" if (x, y) in cells else "" for x in orders[0])] for y in orders[1]],
    )
    title = f"Score by {listing(list(axes))}, the best over all else; the choice is framed"
    return Figure("tuning", title, text, spec, table=table)


def _ordered(values):
    distinct = {brief(value): value for value in values}
    return sorted(distinct, key=lambda name: (isinstance(distinct[name], str), distinct[name]))


def convergence(subject):
    """Return primal and dual of every step."""
    steps = max(explain.histories(subject.model), key=lambda history: len(history["gap"]))
    names = ["primal", "dual"]
    rows = [
        {"x": i + 1, "y": float(f"{value:.7g}"), "series": name}
        for name in names
        for i, value in enumerate(steps[name])
        if np.isfinite(value)
    ]
    spec = charts.lines(
        rows,
        order=names,
        colors=[charts.ACCENT, charts.INK],
        dashes=[[1, 0], [5, 3]],
        titles=("step", "objective"),
        points=True,
    )
    cells = [
        [str(i + 1), f"{primal:.6g}", f"{dual:.6g}", f"{gap:.1e}"]
        for i, (primal, dual, gap) in enumerate(
            zip(steps["primal"], steps["dual"], steps["gap"], strict=True)
        )
    ]
    table = Table("Steps of the solver", ["step", "primal", "dual", "relative gap"], cells)
    title = "Primal and dual value of every step"
    figure = Figure("convergence", title, convergence_text(subject, steps), spec, table=table)
    text = (
        "The primal is the objective of the solution so far, the dual a bound on the best possible one: that "
        "lies between the two lines, and where they meet it is found."
    )
    if isinstance(subject.model.history_, list):
        text += " There is one problem for each class; shown is the one that took most steps."
    return Section("convergence", "How the solution was found", [text], [figure])


def convergence_text(subject, steps):
    """Say how many steps it took and where it ended."""
    gaps, tol = np.asarray(steps["gap"]), subject.model.tol
    missed = ", and not reached" if subject.unfinished else ""
    if len(gaps) == 1 and missed:
        return f"After one step the relative gap was {gaps[0]:.1e}; {tol:.1e} was asked for{missed}."
    if len(gaps) == 1:
        return f"One step was enough: the relative gap was {gaps[0]:.1e} at once."
    went = "fell" if gaps[-1] < gaps[0] else "went"
    return (
        f"In {len(gaps)} steps the relative gap {went} from {gaps[0]:.1e} to {gaps[-1]:.1e}; {tol:.1e} was "
        f"asked for{missed}."
    )


def bound(subject, delta=0.05):
    """Return the generalisation bound and its parts; None without training data or outside the theorem."""
    if subject.training is None or not hasattr(subject.model, "squared_norm_"):
        return None
    X, y = subject.training
    title = "What theory guarantees"
    if not subject.classifier and np.ptp(y) == 0.0:
        return Section("bound", title, ["Nothing is bounded: all training targets are equal."])
    found = bound_model(subject.model, subject.transform(X), np.asarray(y), delta=delta)
    several = found if isinstance(found, tuple) else (found,)
    worst = max(several, key=lambda one: one.total)
    order = ["training loss", "confidence", "complexity", "sum"]
    parts = dict(zip(order, _parts(worst), strict=True))
    if not np.isfinite(worst.total):
        return Section("bound", title, ["Nothing is bounded: the numbers are too large for it."])
    rows = [{"part": part, "value": float(f"{value:.4g}")} for part, value in parts.items()]
    limit = 1.0 if subject.classifier else None
    spec = charts.bars(rows, order=order, title="bound on the loss of new samples", limit=limit)
    labels = [str(label) for label in subject.model.classes_] if len(several) > 1 else ["all"]
    cells = [[label, *map(brief, _parts(one))] for label, one in zip(labels, several, strict=True)]
    table = Table("Parts of the bound", ["class", *order], cells)
    clipped = "1, so that no error counts less than one" if subject.classifier else "the range of y"
    text = (
        "A theorem bounds the loss on new samples by the sum of three parts: the loss on the training "
        f"samples (clipped at {clipped}), the price of being {percent(1 - delta)} sure, and the price of "
        "choosing from a rich class of functions. Use it to compare models: the theorem wants some "
        "quantities fixed in advance that are read off the data here."
    )
    which = ", for the class where it is largest" if len(several) > 1 else ""
    said = bound_text(parts, subject.classifier)
    figure = Figure("bound", f"The bound and its parts{which}", said, spec, table=table)
    return Section("bound", title, [text], [figure])


def _parts(found):
    return found.empirical_risk, found.confidence, found.complexity, found.total


def bound_text(parts, classifier):
    """Say what the bound amounts to."""
    total = parts["sum"]
    largest = max((name for name in parts if name != "sum"), key=parts.__getitem__)
    text = f"The sum is {brief(total)}; its largest part is the {largest} ({brief(parts[largest])})."
    if not classifier:
        return text
    if total >= 1.0:
        return f"{text} From 1 on (dashed line) nothing is guaranteed: too few samples for so rich a class."
    return f"{text} At most {percent(total)} of new samples are predicted wrongly, where the theorem holds."


def made(subject):
    """Return how the report itself was made."""
    total = subject.n_train if subject.X is None else len(subject.seen)
    shown = f"{len(subject.shown):,}" if subject.rows is not None else "none"
    if subject.rows is not None and total > len(subject.shown):
        shown += f" of {total:,}, chosen at random (seed {subject.seed})"
    rows = [
        ["localmkl", localmkl.__version__],
        ["date", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")],
        ["Python", platform.python_version()],
        ["NumPy", np.__version__],
        ["scikit-learn", sklearn.__version__],
        ["machine", f"{platform.system()} {platform.machine()}"],
        ["samples shown one by one", shown],
    ]
    origin = getattr(subject.given, "made_", None)  # models of the command line say where they come from
    if origin:
        commit = f", commit {origin['commit']}" if origin.get("commit") else ""
        rows += [
            ["model trained on", origin["file"]],
            ["model trained at", f"{origin['date']} by localmkl {origin['version']}{commit}"],
            ["kernels asked for", origin["kernels"]],
        ]
    return Section("made", "How this report was made", [], [Table("Provenance", ["what", "value"], rows)])
