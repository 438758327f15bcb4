"""Quality within known groups: beside one model for all and separate ones, and what sharing does."""

import numpy as np

from localmkl.report import charts
from localmkl.report.metrics import Metric
from localmkl.report.prose import Figure, Table, brief, count, listing
from localmkl.report.quality import Quality, Score
from localmkl.report.refits import SEPARATE, UNSHARED, is_tuned
from localmkl.report.sections.quality_figures import by_cluster_text, inks
from localmkl.report.subject import Subject
from localmkl.report.within import WithinGroups, within_groups

MEANINGS = {"MKL": "one model for all (MKL)", SEPARATE: SEPARATE, "UNIF": "equal weights (UNIF)"}


def group_blocks(subject: Subject, found: Quality) -> list[Figure | Table]:
    """Return the figure of all methods by group, the other metrics, and the table of shares."""
    within = within_groups(subject, found)
    wanted = dict.fromkeys([subject.method, *MEANINGS])
    shown = [name for name in wanted if name in within.scores[found.main.name]]
    others = [_table(within, metric, shown, folded=True) for metric in found.metrics[1:]]
    return [_by_group(subject, found, within, shown), *others, *_sharing(subject, found, within)]


def _by_group(subject: Subject, found: Quality, within: WithinGroups, shown: list[str]) -> Figure:
    main, names, mean = found.main, _names(within), _mean_of(within, found.main)
    scores, means = within.scores[main.name], within.means[main.name]
    lists = {name: [score.value for score in scores[name]] for name in shown}
    rows = [
        {"group": group, "method": name, "value": round(main.unit * value, 4)}
        for name, values in lists.items()
        for group, value in zip(
            (*names, mean), [*values, means[name].value if means else np.nan], strict=True
        )
        if np.isfinite(value)
    ]
    colors = dict(zip(found.methods, inks(found), strict=True)) | {SEPARATE: charts.group_color(1)}
    spec = charts.dots(
        rows,
        order=shown,
        order_rows=[*names, *([mean] if means else [])],
        colors=[colors[name] for name in shown],
        title=main.title,
    )
    text = within_text(subject, found, within)
    if subject.n_clusters > 1 and len(within.groups) > 1:
        text += f" {by_cluster_text(found, subject.clusters, 'group')}"
    table = _table(within, main, shown)
    return Figure("by-group", "Quality by group", text, spec, table=table)


def _names(within: WithinGroups) -> list[str]:
    return [f"{group} ({size:,})" for group, size in zip(within.groups, within.sizes, strict=True)]


def _table(within: WithinGroups, metric: Metric, shown: list[str], folded: bool = False) -> Table:
    """Return one metric of all methods by group; nothing where a method or a metric has no number."""
    scores, means = within.scores[metric.name], within.means[metric.name]
    cells = [
        [name, *(_written(metric, scores[method][number]) for method in shown)]
        for number, name in enumerate(_names(within))
    ]
    if means:
        cells.append([_mean_of(within, metric), *(_written(metric, means[method]) for method in shown)])
    caption = f"{metric.name[0].upper()}{metric.name[1:]} within groups"
    return Table(caption, ["group", *shown], cells, folded)


def _mean_of(within: WithinGroups, metric: Metric) -> str:
    """Return the name of the mean: over which groups, where not all have a number of every method."""
    counted = within.counted[metric.name]
    if len(counted) == len(within.groups):
        return "mean of the groups"
    return f"mean of {listing(counted) if 0 < len(counted) <= 3 else count(len(counted), 'group')}"


def _written(metric: Metric, score: Score) -> str:
    return metric.interval(score) if np.isfinite(score.value) else ""


def within_text(subject: Subject, found: Quality, within: WithinGroups) -> str:
    """Say whether the model beats one model for all, separate ones and equal weights within the groups."""
    main, own = found.main, within.means[found.main.name].get(subject.method)
    if own is None:
        return f"No group has a number of every method: there is no mean {main.name} within groups."
    counted = within.counted[main.name]
    where = f"In {counted[0]}" if len(counted) == 1 else f"Within {len(counted):,} groups"
    what = main.name if len(counted) == 1 else f"a mean {main.name} of"
    text = f"{where}, {subject.method} has {what} {main.written(own.value)}."
    text += "".join(f" {_comparison(found, within, name)}" for name in MEANINGS if name in within.behind)
    return text + alone_text(subject, within)


def alone_text(subject: Subject, within: WithinGroups) -> str:
    """Say which groups have no separate model, and why."""
    known, text = set(subject.model.groups_.tolist()), ""
    new = [group for group in within.alone if group not in known]
    small = [group for group in within.alone if group in known]
    if new:
        text += f" There is no separate model for {_few(new)}: new to the model."
    if small:
        why = "training rows of every class are missing" if subject.classifier else "too few training rows"
        text += f" There is no separate model for {_few(small)}: {why}."
    return text


def _few(names: list[str], most: int = 4) -> str:
    return listing(names if len(names) <= most else [*names[:most], "others"])


def _comparison(found: Quality, within: WithinGroups, name: str) -> str:
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


def _sharing(subject: Subject, found: Quality, within: WithinGroups) -> list[Table]:
    """Return the table of shares: nothing, the model's, everything; empty where there is one of them."""
    shared, metrics = subject.model.shared_, [metric for metric in found.metrics if within.means[metric.name]]
    ways = {0.0: UNSHARED, 1.0: "MKL", shared: subject.method}
    meanings = {0.0: " (nothing)", 1.0: " (everything)", shared: " (this model)"}
    rows = [
        [
            f"{brief(share)}{meanings[share]}",
            *(_written(metric, within.means[metric.name][ways[share]]) for metric in metrics),
        ]
        for share in sorted(ways)
        if metrics and ways[share] in within.means[metrics[0].name]
    ]
    if len(rows) < 2:
        return []
    head = ["shared", *(metric.name for metric in metrics)]
    anew = "; those of MKL are chosen anew" if is_tuned(subject) and shared < 1.0 else ""
    caption = f"What sharing does: {_mean_of(within, metrics[0])}, other parameters as in the model{anew}"
    return [Table(caption, head, rows)]
