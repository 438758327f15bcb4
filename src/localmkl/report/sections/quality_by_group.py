"""Quality within known groups: beside one model for all and separate ones, and what sharing does."""

import numpy as np

from localmkl.report import charts
from localmkl.report.prose import Figure, Table, brief, count, listing
from localmkl.report.quality import TRAINING
from localmkl.report.refits import SEPARATE, UNSHARED
from localmkl.report.sections.quality_figures import by_cluster_text, inks
from localmkl.report.within import within_groups

MEAN = "mean of the groups"
MEANINGS = {"MKL": "one model for all (MKL)", "UNIF": "equal weights (UNIF)", SEPARATE: SEPARATE}


def group_blocks(subject, found):
    """Return the figure of all methods by group, the other metrics, and the table of shares."""
    within = within_groups(subject, found)
    shown = [name for name in (*found.methods, SEPARATE) if name in within.scores[found.main.name]]
    others = [_table(within, metric, shown, folded=True) for metric in found.metrics[1:]]
    return [_by_group(subject, found, within, shown), *others, *_sharing(subject, found, within)]


def _by_group(subject, found, within, shown):
    main, names = found.main, _names(within)
    scores, means = within.scores[main.name], within.means[main.name]
    lists = {name: [score.value for score in scores[name]] for name in shown}
    rows = [
        {"group": group, "method": name, "value": round(main.unit * value, 4)}
        for name, values in lists.items()
        for group, value in zip(
            (*names, MEAN), [*values, means[name].value if means else np.nan], strict=True
        )
        if np.isfinite(value)
    ]
    colors = dict(zip(found.methods, inks(found), strict=True)) | {SEPARATE: charts.group_color(1)}
    spec = charts.dots(
        rows,
        order=shown,
        order_rows=[*names, MEAN],
        colors=[colors[name] for name in shown],
        title=main.title,
    )
    text = within_text(subject, found, within)
    if subject.n_clusters > 1:
        text += f" {by_cluster_text(found, subject.clusters, 'group')}"
    table = _table(within, main, shown)
    return Figure("by-group", "Quality by group", text, spec, table=table)


def _names(within):
    return [f"{group} ({size:,})" for group, size in zip(within.groups, within.sizes, strict=True)]


def _table(within, metric, shown, folded=False):
    """Return one metric of all methods by group; nothing where a method or a metric has no number."""
    scores, means = within.scores[metric.name], within.means[metric.name]
    cells = [
        [name, *(_written(metric, scores[method][number]) for method in shown)]
        for number, name in enumerate(_names(within))
    ]
    if means:
        every = len(means) and all(np.isfinite(one.value) for method in shown for one in scores[method])
        who = MEAN if every else f"{MEAN} that all methods have"
        cells.append([who, *(_written(metric, means[method]) for method in shown)])
    return Table(f"{metric.name} within groups", ["group", *shown], cells, folded)


def _written(metric, score):
    return metric.interval(score) if np.isfinite(score.value) else ""


def within_text(subject, found, within):
    """Say whether the model beats one model for all, separate ones and equal weights within the groups."""
    main, own = found.main, within.means[found.main.name].get(subject.method)
    if own is None:
        return f"No group has a number of every method: there is no mean {main.name} within groups."
    text = f"Within {count(len(within.counted), 'group')}, {subject.method} has a mean {main.name} of "
    text += f"{main.written(own.value)}."
    rivals = [name for name in (*found.baselines, SEPARATE) if name in within.behind]
    text += "".join(f" {_comparison(found, within, name)}" for name in rivals)
    if within.alone and found.kind != TRAINING:
        verb = "has" if len(within.alone) == 1 else "have"
        shown = within.alone if len(within.alone) <= 4 else [*within.alone[:4], "others"]
        text += f" {listing(shown)} {verb} no model alone: training rows of all classes are missing."
    return text


def _comparison(found, within, name):
    """Say by how much the mean of a method within groups is behind or ahead of the model."""
    main, score, means = found.main, within.behind[name], within.means[found.main.name]
    meaning = MEANINGS[name]
    many = name in (SEPARATE, "UNIF")
    subject, verb, has = meaning[0].upper() + meaning[1:], "are" if many else "is", "have" if many else "has"
    first = next(iter(found.methods))
    if main.same(means[first].value, means[name].value):
        return f"{subject} {has} the same."
    value, low, high = score.value, score.low, score.high
    word = {1: "worse", -1: "better", 0: "not clearly different, " + ("ahead" if value < 0 else "behind")}
    if value < 0:
        value, low, high = -value, -high, -low
    text = f"{subject} {verb} {word[within.verdicts[name]]} by {main.amount(value)}"
    if not score.known:
        return f"{text}."
    return f"{text} (95 % interval {main.amount(low, unit=False)} to {main.amount(high)})."


def _sharing(subject, found, within):
    """Return the table of shares: nothing, the model's, everything; empty where there is one of them."""
    shared = subject.model.shared_
    ways = {0.0: UNSHARED, 1.0: "MKL", shared: subject.method}
    meanings = {0.0: "each group has weights of its own", 1.0: "one model for all"}
    means = [within.means[metric.name] for metric in found.metrics]
    rows = [
        [
            brief(share),
            f"{meanings.get(share, 'some of both')}{' (this model)' if share == shared else ''}",
            *(
                _written(metric, mean[name])
                for metric, mean in zip(found.metrics, means, strict=True)
                if mean
            ),
        ]
        for share, name in sorted(ways.items())
        if name in means[0]
    ]
    if len(rows) < 2:
        return []
    head = [
        "shared",
        "what it is",
        *(metric.name for metric, mean in zip(found.metrics, means, strict=True) if mean),
    ]
    return [Table(f"What sharing does: {MEAN}, other parameters as in the model", head, rows)]
