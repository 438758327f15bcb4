"""Figures of the section on quality: ROC curve, confusion, reliability, residuals, clusters."""

import numpy as np

from localmkl._types import Floats, Ints
from localmkl.calibration import Reliability, event_probabilities, reliability
from localmkl.estimators.probabilities import probabilities
from localmkl.report import charts
from localmkl.report.metrics import BELOW, BRIER, LOG_LOSS
from localmkl.report.prose import Figure, Table, brief, class_name, count, listing, percent, sentence
from localmkl.report.quality import FEWEST, Quality, differs_between
from localmkl.report.subject import Subject
from localmkl.solvers.losses import Quantile

ROC_POINTS = 200
"""Most points of a curve that are drawn: more would be closer together than two pixels."""

ALARMS = 0.1
"""The share of false alarms at which hits are said: a round one, where most curves have not levelled yet."""


def roc_figure(subject: Subject, found: Quality) -> Figure:
    """Return the ROC curves of all methods, and their hits at a share of false alarms."""
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
        colors=inks(found),
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


def inks(found: Quality) -> list[str]:
    """Return the colours of the model and its baselines."""
    return [charts.ACCENT, charts.INK, charts.SOFT][: len(found.methods)]


def confusion_figure(subject: Subject, found: Quality) -> Figure:
    """Return the counts of classes taken for each other."""
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


def recall_text(subject: Subject, found: Quality, counts: Ints) -> str:
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


def reliability_figure(subject: Subject, found: Quality) -> Figure:
    """Return probabilities against how often they came true: of one class, or of the predicted one."""
    label = subject.focus if subject.binary else None
    given = probabilities(found.model.decisions)
    bins = reliability(*event_probabilities(given, found.y, subject.model.classes_, label))
    columns = [bins.predicted, bins.observed, bins.low, bins.high]
    values = [[round(float(value), 4) for value in row] for row in zip(*columns, strict=True)]
    rows = [dict(zip(("x", "y", "low", "high"), row, strict=True)) for row in values]
    spec = charts.intervals(rows, titles=("predicted probability", "observed frequency"))
    cells = [
        [percent(x, 1), percent(y, 1), f"{percent(low, 1)} to {percent(high, 1)}", f"{n:,}"]
        for (x, y, low, high), n in zip(values, bins.count.tolist(), strict=True)
    ]
    head = ["mean predicted probability", "came true", "95 % interval", "samples"]
    table = Table(f"Probabilities, {found.kind}, and what came true", head, cells)
    what = class_name(label) if subject.binary else "the predicted class"
    title = f"Reliability: {found.kind} probabilities of {what}"
    return Figure("reliability", title, reliability_text(found, bins), spec, table=table, wide=False)


def reliability_text(found: Quality, bins: Reliability) -> str:
    """Say whether probabilities hold, and what they are worth beside the shares of the classes."""
    inside, n_bins = int(bins.inside.sum()), len(bins.count)
    text = (
        f"In {inside} of {count(n_bins, 'bin')} the mean predicted probability lies in the 95 % interval of "
        f"what came true; on average the two differ by {100 * bins.error:.1f} points, where chance alone "
        f"makes for about {100 * bins.chance:.1f}."
    )
    metrics = {metric.name: metric for metric in found.metrics}
    own, floor = (
        listing([f"{name} {metrics[name].written(value[name])}" for name in (LOG_LOSS, BRIER)])
        for value in ({name: score.value for name, score in found.model.scores.items()}, found.floors)
    )
    return f"{text} The probabilities have {own}; giving all samples the shares of the classes has {floor}."


def residuals_figure(subject: Subject, found: Quality) -> Figure:
    """Return predictions against targets, and the sizes of the errors."""
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
    loss = subject.model.loss_
    text = quantile_text(loss, found) if isinstance(loss, Quantile) else residuals_text(errors)
    cells = [[percent(share), brief(float(np.quantile(sizes, share)))] for share in (0.5, 0.8, 0.9, 0.95)]
    table = Table("Sizes of errors", ["share of the samples", "error below"], cells)
    return Figure("residuals", "Predictions against targets", text, spec, table=table, wide=False)


def quantile_text(loss: Quantile, found: Quality) -> str:
    """Say which share of the targets lies below the predictions, and which one was asked for."""
    score = found.model.scores[BELOW]
    text = f"{percent(score.value, 1)} of the targets lie below their prediction"
    if score.known:
        text += f" (95 % interval {100 * score.low:.1f} to {percent(score.high, 1)})"
    return f"{text}; {percent(loss.quantile, 1)} was asked for."


def residuals_text(errors: Floats) -> str:
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


def by_cluster_figure(subject: Subject, found: Quality) -> Figure:
    """Return the main metric of all methods in each cluster."""
    main = found.main
    sizes = np.bincount(found.clusters, minlength=subject.n_clusters)
    names = [f"{name} ({size:,})" for name, size in zip(subject.clusters, sizes, strict=True)]
    lists = {name: result.by_cluster for name, result in found.methods.items()}
    lists["guessing"] = found.floor_by_cluster
    rows = [
        {"group": names[j], "method": name, "value": round(main.unit * float(value), 4)}
        for name, values in lists.items()
        for j, value in enumerate(values)
        if np.isfinite(value)
    ]
    colors = [*inks(found), charts.SOFT]
    spec = charts.dots(rows, order=list(lists), order_rows=names, colors=colors, title=main.title)
    cells = [
        [name, *(main.written(values[j]) if np.isfinite(values[j]) else "" for values in lists.values())]
        for j, name in enumerate(names)
    ]
    table = Table(f"{main.name} by main cluster", ["samples", *lists], cells)
    return Figure(
        "by-cluster", "Quality by main cluster", by_cluster_text(found, subject.clusters), spec, table=table
    )


def by_cluster_text(found: Quality, names: list[str], noun: str = "cluster") -> str:
    """Say where the model is best, and where it gains on its baselines, unless that may be chance."""
    main, own = found.main, np.array(found.model.by_cluster)
    there = np.flatnonzero(np.isfinite(own))
    order = there[np.argsort(main.sign * own[there], kind="stable")]
    best, worst = order[-1], order[0]
    if len(there) == 1:
        return f"All samples have {names[best]} as their main {noun}."
    if found.model.uneven:
        text = (
            f"The {main.name} of the model is best in {names[best]} ({main.written(own[best])}) and "
            f"worst in {names[worst]} ({main.written(own[worst])})."
        )
    else:
        low, high = (main.written(value) for value in sorted([own[best], own[worst]]))
        text = f"The {main.name} of the model is {high} in all {noun}s."
        if low != high:
            text = (
                f"The {main.name} of the model lies between {low} and {high} in all {noun}s; chance may "
                "explain the differences."
            )
    even = [name for name, result in found.baselines.items() if not result.uneven]
    if even:
        text += f" How it compares with {listing(even)} does not differ between {noun}s by more than chance."
    for name, result in found.baselines.items():
        gain = main.sign * (own - np.array(result.by_cluster))
        most, least = there[gain[there].argmax()], there[gain[there].argmin()]
        if not result.uneven:
            continue
        if gain[most] > 0:
            text += f" It gains most on {name} in {names[most]} ({main.amount(gain[most])})."
        else:
            text += f" It loses most to {name} in {names[least]} ({main.amount(-gain[least])})."
    return text
