"""Discovered clusters: who is in them, what sets them apart, and whether they come back."""

from typing import Any

import numpy as np

from localmkl import explain
from localmkl._types import MaybeNone
from localmkl.estimators.groups import Grouped, rows_of
from localmkl.explain import sample_map
from localmkl.inference import describe_clusters
from localmkl.kernels.stack import take_rows
from localmkl.report.drawing import Plot, color_of, extent, legend
from localmkl.report.markup import Html, Section, figure, joined, table, tag
from localmkl.report.prose import brief, percent
from localmkl.report.subject import Subject

FOUND, DISSOLVED = 0.75, 0.5
"""Mean Jaccard indices from which on a cluster comes back, and below which it does not."""

SHOWN, TRAITS = 800, 6
"""Most points of the map, and most traits of a cluster."""


def discovered(subject: Subject) -> Section | None:
    """Return the section on discovered clusters; None without them, or without their rows."""
    if subject.grouped or not subject.local or subject.rows is None:
        return None
    main, names = subject.main_part()
    parts: list[Any] = [
        "Each row belongs to every cluster to some degree; it is counted in the cluster of its largest "
        "membership.",
        _sizes(subject, main, names),
        _traits(subject),
        _map(subject, main, names),
    ]
    return Section("clusters", "Clusters", [part for part in parts if part])


def _sizes(subject: Subject, main: Any, names: list[str]) -> Html:
    memberships = explain.local_memberships(
        subject.model, explain.memberships_of(subject.model, subject.rows)
    )
    found, y, rows = subject.refits, subject.y, []
    for j, name in enumerate(names):
        own = main == j
        row = [name, f"{int(own.sum()):,}", percent(memberships[own, j].mean()) if own.any() else "–"]
        if subject.binary and y is not None:
            row.append(percent((y[own] == subject.positive).mean()) if own.any() else "–")
        if found is not None:
            row.append(_comes_back(float(found.jaccard[found.clusters.index(name)])))
        rows.append(row)
    head = ["cluster", "rows", "mean membership"]
    head += [f"share of {subject.positive}"] if subject.binary and y is not None else []
    head += [f"comes back on halves ({len(found.resampled)} refits)"] if found is not None else []
    return table(head, rows, "Clusters")


def _comes_back(jaccard: float) -> str:
    word = "yes" if jaccard >= FOUND else "in part" if jaccard >= DISSOLVED else "no"
    return f"{word} (Jaccard {jaccard:.2f})"


def _traits(subject: Subject) -> Html | MaybeNone:
    """Return what sets the clusters apart, among the training rows."""
    train = subject.train
    if train is None or train[1] is None or explain.is_precomputed(subject.model):
        return None
    X, y = train
    try:
        found = describe_clusters(
            subject.model, rows_of(X), y, groups=X.groups if isinstance(X, Grouped) else None
        )
    except ValueError:
        return None
    rows = []
    for name in found.clusters:
        for one in found.found(name)[:TRAITS]:
            inside, outside = brief(float(one.inside)), brief(float(one.outside))
            rows.append([name, one.name, inside, outside, f"{one.q_value:.1g}"])
    if not rows:
        return None
    head = ["cluster", "trait", "inside", "outside", "adjusted p-value"]
    text = "Columns that the clusters were made from differ between them in any case."
    return joined([table(head, rows, "What sets the clusters apart (means or shares)"), tag("p", text)])


def _map(subject: Subject, main: Any, names: list[str]) -> Html | MaybeNone:
    if explain.is_precomputed(subject.model):
        return None
    chosen = np.arange(len(main))
    if len(main) > SHOWN:
        chosen = np.sort(np.random.default_rng(subject.seed).choice(len(main), SHOWN, replace=False))
    found = sample_map(subject.model, take_rows(subject.rows, chosen))
    x, y = found.coordinates.T
    titles = tuple(f"axis {k + 1}, {percent(found.explained[k])} of the variance" for k in range(2))
    plot = Plot(extent(x), extent(y), (titles[0], titles[1]), height=400)
    labels = [f"{subject.labels[i]}, {names[main[i]]}" for i in chosen]
    plot.points(x, y, [color_of(int(main[i])) for i in chosen], size=3.5, names=labels)
    text = "Rows that the gate kernel sees as alike lie close together (kernel principal components)."
    drawn = joined([legend(names, [color_of(k) for k in range(len(names))]), plot.svg("Map of the rows")])
    return figure("Map of the rows", text, drawn)
