"""Quality on rows that the model has not seen, compared with simple models."""

from typing import Any

import numpy as np
from sklearn import metrics as outside

from localmkl.calibration import Reliability, event_probabilities, reliability
from localmkl.report.drawing import Plot, color_of, extent, heat_map, legend, with_diagonal
from localmkl.report.markup import Html, Section, beside, figure, joined, table, tag
from localmkl.report.metrics import at_threshold, calibration_of, calibration_verdict, net_benefit
from localmkl.report.prose import METRICS, brief, class_name, count, interval, percent, written
from localmkl.report.subject import Subject

SHOWN = 1000
"""Most points of a scatter plot."""


def how_good(subject: Subject) -> Section | None:
    """Return the section on quality; None without rows that the model has not seen."""
    held = subject.held
    if held is None:
        return None
    parts: list[Any] = [f"{held.how} {' '.join(subject.remarks)}".strip(), methods_table(subject)]
    parts += [f"Without {name}: {why}" for name, why in held.skipped.items()]
    if not subject.classifier:
        parts += _regression(subject)
    elif subject.binary:
        parts += _two_classes(subject)
    else:
        parts += _many_classes(subject)
    return Section("quality", "How good is it?", parts)


def methods_table(subject: Subject) -> Html:
    """Return the main metric of the model and of the simple models on the same rows."""
    held = subject.held
    own, name = held.score(), METRICS.get(held.metric, held.metric)
    rows = [[tag("b", "this model"), written(own.metric, own.value), interval(own.metric, own), ""]]
    for rival in held.rivals:
        theirs, ahead = held.score(rival), subject.lead(rival)
        lead = f"{written(own.metric, ahead.value)} ({interval(own.metric, ahead)})"
        rows.append([rival, written(own.metric, theirs.value), interval(own.metric, theirs), lead])
    head = ["method", name, "95 % interval", "lead of this model (95 % interval)"]
    return table(head, rows, f"{name[0].upper()}{name[1:]} on the same {count(len(held.y), 'row')}")


def _two_classes(subject: Subject) -> list[Any]:
    held = subject.held
    truth, probable = subject.truth, held.probable
    if truth.all() or not truth.any():
        return [f"All rows are of one class, so that neither {METRICS['roc_auc']} nor curves exist."]
    scores = subject.scores()
    drawn: list[Any] = [_roc(subject, scores)]
    if probable:
        drawn += [_calibration(subject, scores), _decision_curve(subject, scores)]
    return [beside(*drawn, threshold_panel(subject, scores, probable))]


def _roc(subject: Subject, scores: Any) -> Html:
    held, plot = subject.held, with_diagonal((0, 1), ("1 - specificity", "sensitivity"))
    methods = {"this model": scores, **{rival: subject.scores(rival) for rival in held.rivals}}
    for number, values in reversed(list(enumerate(methods.values()))):
        wrong, right, _ = outside.roc_curve(subject.truth, values)
        plot.line(wrong, right, color_of(number))
    now = at_threshold(scores, subject.truth, 0.5 if held.probable else 0.0)
    x, y = plot.x(1.0 - now["specificity"]), plot.y(now["sensitivity"])
    plot.add(tag("circle", cx=x, cy=y, r=6, class_="chosen", id="roc-point"))
    name = class_name(subject.positive)
    text = (
        f"Sensitivity is the share of {name} rows that are found. Specificity is the share of other rows "
        "that are left alone. The dot is the threshold chosen below."
    )
    ends = [float(end) for end in (plot.x(0), plot.x(1), plot.y(0), plot.y(1))]
    shown = tag("div", plot.svg("ROC curves"), data_ends=",".join(map(str, ends)), id="roc")
    names = legend(list(methods), [color_of(k) for k in range(len(methods))])
    return figure("ROC curve", text, joined([names, shown]))


def _calibration(subject: Subject, given: Any) -> Html:
    name, found = class_name(subject.positive), reliability(given, subject.truth)
    plot = _in_bins(found, (f"predicted probability of {name}", "observed share"))
    rows = [
        [percent(p), percent(o), f"{percent(low)} to {percent(high)}", f"{n:,}"]
        for p, o, low, high, n in zip(
            found.predicted, found.observed, found.low, found.high, found.count, strict=True
        )
    ]
    numbers = table(["predicted", "observed", "95 % interval", "rows"], rows, "Calibration in bins")
    line = calibration_of(given, subject.truth)
    text = (
        f"Slope {_with_ends(line.slope)}, intercept {_with_ends(line.intercept)}; 1 and 0 are ideal. "
        f"{calibration_verdict(line)}"
    )
    return figure("Calibration", text, plot.svg("Predicted probabilities and observed shares"), numbers)


def _with_ends(found: tuple[float, float, float]) -> str:
    value, low, high = (round(one, 2) + 0.0 for one in found)
    return f"{value:.2f} ({low:.2f} to {high:.2f})"


def _decision_curve(subject: Subject, given: Any) -> Html:
    held, truth = subject.held, subject.truth
    thresholds = np.arange(0.01, 0.96, 0.01)
    curves = {"this model": net_benefit(given, truth, thresholds)}
    for rival in held.rivals:
        if held.probabilities(rival) is not None:
            curves[rival] = net_benefit(subject.scores(rival), truth, thresholds)
    everyone = net_benefit(np.ones(len(truth)), truth, thresholds)
    top = max(float(curve.max()) for curve in [*curves.values(), everyone])
    plot = Plot((0, 1), (-0.25 * top, 1.05 * top), ("threshold probability", "net benefit"), height=380)
    kept = everyone >= -0.25 * top
    plot.line(thresholds[kept], everyone[kept], "var(--soft)", dashed=True)
    plot.line([0, 1], [0, 0], "var(--soft)")
    for number, curve in reversed(list(enumerate(curves.values()))):
        shown = curve >= -0.25 * top
        plot.line(thresholds[shown], curve[shown], color_of(number))
    text = (
        "Net benefit weighs true positives against false positives at each threshold. The dashed line acts "
        "on every row, the grey line on none. The higher curve is the better choice."
    )
    names = legend(list(curves), [color_of(k) for k in range(len(curves))])
    return figure("Decision curve", text, joined([names, plot.svg("Net benefit by threshold")]))


def threshold_panel(subject: Subject, scores: Any, probable: bool) -> Html:
    """Return sensitivity and the like at a threshold that can be moved."""
    start = 0.5 if probable else 0.0
    low, high = (0.01, 0.99) if probable else extent(scores)
    now = at_threshold(scores, subject.truth, start)
    name, other = class_name(subject.positive), class_name(subject.negative)
    slider = tag(
        "input",
        type="range",
        id="threshold",
        min=f"{low:.3g}",
        max=f"{high:.3g}",
        step="0.01" if probable else f"{(high - low) / 200:.3g}",
        value=f"{start:g}",
    )
    label = tag("label", "Threshold ", tag("output", f"{start:.2f}", id="threshold-value"), slider)
    shares = ["sensitivity", "specificity", "PPV", "NPV"]
    values = [
        tag("td", percent(now[key]) if np.isfinite(now[key]) else "–", id=f"at-{key}") for key in shares
    ]
    first = tag("table", tag("tr", [tag("th", key) for key in shares]), tag("tr", values))
    cells = [
        [f"truly {name}", *(tag("span", f"{now[key]:,}", id=f"at-{key}") for key in ("tp", "fn"))],
        [f"truly {other}", *(tag("span", f"{now[key]:,}", id=f"at-{key}") for key in ("fp", "tn"))],
    ]
    second = table(["", f"predicted {name}", f"predicted {other}"], cells)
    text = (
        f"Rows at or above the threshold are predicted to be {name}. PPV and NPV are the shares of "
        "predictions that are right."
    )
    return figure("Threshold and confusion", text, tag("div", label, first, second, class_="threshold"))


def _many_classes(subject: Subject) -> list[Any]:
    held, classes = subject.held, subject.classes
    predicted, rows = held.predicted(), []
    names = [str(label) for label in classes]
    confusion = outside.confusion_matrix(held.y, predicted, labels=classes)
    for k, label in enumerate(classes):
        own, right = held.y == label, confusion[k, k]
        auc = outside.roc_auc_score(own, held.decisions[:, k]) if own.any() and not own.all() else np.nan
        found = right / own.sum() if own.any() else np.nan
        ppv = right / confusion[:, k].sum() if confusion[:, k].any() else np.nan
        cells = [percent(one) if np.isfinite(one) else "–" for one in (found, ppv)]
        rows.append([names[k], f"{int(own.sum()):,}", *cells, written("roc_auc", auc)])
    head = ["class", "rows", "sensitivity", "PPV", "AUC against the rest"]
    totals = np.maximum(confusion.sum(axis=1, keepdims=True), 1)
    shares = heat_map(names, names, confusion / totals, corner="true class, predicted class")
    text = "Percent of the rows of each true class that are predicted to be each class."
    shown = [figure("Confusion", text, shares)]
    given = held.probabilities()
    if given is not None:
        shown.append(_calibration_of_top(subject, given))
    return [table(head, rows, "Classes one by one"), beside(*shown)]


def _calibration_of_top(subject: Subject, given: Any) -> Html:
    found = reliability(*event_probabilities(given, subject.held.y, np.array(subject.classes)))
    plot = _in_bins(found, ("probability of the predicted class", "share predicted rightly"))
    inside = int(found.inside.sum())
    text = f"In {inside} of {len(found.inside)} bins the two agree within chance. Bars are 95 % intervals."
    return figure("Calibration", text, plot.svg("Probability of the predicted class"))


def _in_bins(found: Reliability, titles: tuple[str, str]) -> Plot:
    plot = with_diagonal((0, 1), titles)
    plot.upright(found.predicted, found.low, found.high)
    plot.points(found.predicted, found.observed, size=5)
    return plot


def _regression(subject: Subject) -> list[Any]:
    held = subject.held
    y, predicted = np.asarray(held.y, dtype=float), held.decisions
    rows = []
    for metric in ("rmse", "mae"):
        score = held.score(metric=metric)
        rows.append([METRICS[metric], written(metric, score.value), interval(metric, score)])
    chosen = np.arange(len(y))
    if len(y) > SHOWN:
        chosen = np.random.default_rng(subject.seed).choice(len(y), SHOWN, replace=False)
    names = [subject.labels[i] for i in chosen]
    ends = extent(y, predicted)
    first = with_diagonal(ends, ("predicted", "observed"))
    first.points(predicted[chosen], y[chosen], size=3, names=names)
    residuals = y - predicted
    second = Plot(extent(predicted), extent(residuals), ("predicted", "observed - predicted"), height=380)
    second.line(extent(predicted), (0, 0), "var(--soft)", dashed=True)
    second.points(predicted[chosen], residuals[chosen], size=3, names=names)
    half = brief(float(np.quantile(np.abs(residuals), 0.5)))
    text = f"Half of the predictions miss by less than {half}. A trend or a funnel would show a poor fit."
    return [
        table(["metric", "value", "95 % interval"], rows, "Errors of the model"),
        beside(
            figure(
                "Observed against predicted",
                "Each point is a row; on the dashed line the prediction is exact.",
                first.svg("Observed against predicted values"),
            ),
            figure("Residuals", text, second.svg("Residuals against predicted values")),
        ),
    ]
