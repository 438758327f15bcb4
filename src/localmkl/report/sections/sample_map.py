"""The section of the map: samples in two dimensions, and the ways to colour them."""

from dataclasses import replace

import numpy as np
from sklearn.neighbors import NearestNeighbors

from localmkl import explain
from localmkl._types import Floats, Ints
from localmkl.report import charts
from localmkl.report.prose import Figure, PlainRows, Section, brief, class_name, listing, percent, signed
from localmkl.report.sections.samples import letters_of
from localmkl.report.subject import Subject


def map_section(subject: Subject) -> tuple[Section | None, PlainRows]:
    """Return the section of the map and the ways to colour it; None and none where it cannot be drawn."""
    stack = None
    if subject.model._precomputed and subject.rows is not None:
        stack = subject.X if subject.train is None else subject.train[0]
    if subject.rows is None or (stack is not None and stack.shape[0] != stack.shape[1]):
        return None, []
    placed = explain.sample_map(subject.model, subject.rows, train=stack)
    size = np.abs(placed.coordinates).max()
    placed = replace(placed, coordinates=placed.coordinates / (size or 1.0))
    first, second = placed.explained
    spec = charts.sample_map(
        _map_rows(subject, placed.coordinates),
        n_clusters=subject.n_clusters,
        titles=(f"first axis ({percent(first)} of the variance)", f"second axis ({percent(second)})"),
    )
    text = (
        f"Each mark is a sample; samples that {_kernel(subject)} finds alike lie close together (kernel "
        "PCA). Point at a sample, tap it or choose it in the list to see what each kernel adds to its "
        "decision."
    )
    figure = Figure("map", "Samples in two dimensions", map_text(subject, placed), spec)
    return Section("map", "The map", [text], [figure]), _modes(subject)


def map_text(subject: Subject, placed: explain.SampleMap) -> str:
    """Say how much of the truth the two axes show, and whether neighbours are alike."""
    if np.ptp(placed.coordinates, axis=0).max() == 0.0:
        return f"All samples lie on one point: {_kernel(subject)} finds no difference between them."
    shown = placed.explained.sum()
    text = f"The two axes show {percent(shown)} of the variance of {_kernel(subject)}"
    text += "." if shown >= 0.5 else "; most of what sets samples apart is not seen here."
    alike = []
    if len(placed.coordinates) > 2:
        near = NearestNeighbors(n_neighbors=1).fit(placed.coordinates).kneighbors(return_distance=False)[:, 0]
        if subject.n_clusters > 1:
            alike.append(f"the same {subject.noun} in {percent((subject.main == subject.main[near]).mean())}")
        if subject.classifier:
            labels, word = subject.targets, "class"
            if labels is None:
                labels, word = subject.predictions, "predicted class"
            alike.append(f"the same {word} in {percent((labels == labels[near]).mean())}")
    if not alike:
        return text
    return f"{text} A sample's nearest neighbour on the map has {listing(alike)} of the cases."


def _kernel(subject: Subject) -> str:
    return "the mean of all kernels" if explain.has_groups(subject.model) else "the gate kernel"


def _map_rows(subject: Subject, coordinates: Floats) -> PlainRows:
    groups: dict[str, Ints | list[int]] = {"cluster": subject.main}
    if subject.classifier:
        order = {label: number for number, label in enumerate(subject.model.classes_.tolist())}
        groups["prediction"] = [order[label] for label in subject.predictions.tolist()]
        if subject.targets is not None:  # labels that the model does not know come last
            groups["target"] = [order.get(label, len(order)) for label in subject.targets.tolist()]
    else:
        values = subject.predictions if subject.targets is None else subject.targets
        low, high = values.min(), values.max()
        steps = charts.STEPS * ((values - low) / ((high - low) or 1.0))
        groups["value"] = np.minimum(steps.astype(int), charts.STEPS - 1)
    return [
        {
            "id": i,
            "name": name,
            "note": sample_note(subject, i),
            "x": round(float(coordinates[i, 0]), 4),
            "y": round(float(coordinates[i, 1]), 4),
            "cluster": int(subject.main[i]),
            "groups": {key: int(group[i]) for key, group in groups.items()},
            "members": [round(float(share), 3) for share in subject.memberships[i]],
            "parts": [float(f"{part:.3g}") for part in subject.contributions[i]],
            "base": round(float(subject.intercepts[i]), 4),
            "letters": letters_of(subject, i),
        }
        for i, name in enumerate(subject.labels)
    ]


def sample_note(subject: Subject, i: int) -> str:
    """Return prediction and truth of a sample in words, and which views it lacks."""
    lacks = f"; lacks {listing(subject.lacking[i])}" if subject.lacking[i] else ""
    return f"{_outcome(subject, i)}{lacks}"


def _outcome(subject: Subject, i: int) -> str:
    if not subject.classifier:
        text = f"predicted {brief(float(subject.decisions[i]))}"
        return text if subject.targets is None else f"{text}, in truth {brief(float(subject.targets[i]))}"
    text = f"predicted {subject.predictions[i]} (decision {signed(subject.decisions[i].max())})"
    if subject.targets is None:
        return text
    right = subject.predictions[i] == subject.targets[i]
    return f"{text}, which is right" if right else f"{text}, in truth {subject.targets[i]}"


def _modes(subject: Subject) -> PlainRows:
    """Return the ways to colour the map, each with its legend."""
    modes: PlainRows = []
    if subject.n_clusters > 1:
        legend = [
            {"label": name, "color": charts.group_color(j), "shape": charts.SHAPES[j % charts.GROUPS]}
            for j, name in enumerate(subject.clusters)
        ]
        modes.append({"label": subject.noun, "mode": "cluster", "legend": legend})
    if subject.classifier:
        legend = [_legend(str(label), number) for number, label in enumerate(subject.model.classes_)]
        if subject.targets is not None:
            strange = [] if subject.known.all() else [_legend("not known to the model", len(legend))]
            modes.append({"label": "class", "mode": "target", "legend": [*legend, *strange]})
        modes.append({"label": "predicted class", "mode": "prediction", "legend": legend})
    else:
        values, label = subject.targets, "target"
        if values is None:
            values, label = subject.predictions, "prediction"
        legend = _steps("ramp", brief(float(values.min())), brief(float(values.max())))
        modes.append({"label": label, "mode": "value", "legend": legend})
    low, high = _directions(subject)
    for m, name in enumerate(subject.kernels):
        reach = float(np.percentile(np.abs(subject.contributions[:, m]), 98)) or 1.0
        legend = _steps("swing", f"{signed(-reach)}, {low}", f"{signed(reach)}, {high}")
        mode = {"label": f"kernel: {name}", "mode": "kernel", "kernel": m, "reach": reach, "legend": legend}
        modes.append(mode)
    return modes


def _legend(label: str, number: int) -> dict[str, str]:
    return {"label": label, "color": charts.group_color(number), "shape": "circle"}


def _steps(scale: str, low: str, high: str) -> list[dict[str, str]]:
    """Return the legend of a scale of colours, with words at its ends."""
    labels = [low, *[""] * (charts.STEPS - 2), high]
    return [
        {"label": label, "color": f"var(--{scale}-{step})", "shape": "circle"}
        for step, label in enumerate(labels)
    ]


def _directions(subject: Subject) -> tuple[str, str]:
    """Return in words what a negative and a positive contribution speak for."""
    if subject.binary:
        negative, positive = subject.model.classes_.tolist()
        return f"speaks for {class_name(negative)}", f"speaks for {class_name(positive)}"
    if subject.classifier:
        return "against the prediction", "for the prediction"
    return "lowers the prediction", "raises the prediction"
