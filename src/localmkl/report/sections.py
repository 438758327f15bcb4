"""What the model says: which kernels and positions matter where, who belongs where, which samples are clear.

Each function returns a `Section`, its sentences computed from the data; None where there is nothing to say.
"""

from dataclasses import replace
from itertools import combinations

import numpy as np
from sklearn.neighbors import NearestNeighbors

from localmkl import explain
from localmkl.plots import sorted_memberships
from localmkl.report import charts
from localmkl.report.logo import draw_logos
from localmkl.report.prose import (
    Figure,
    Section,
    Table,
    brief,
    class_name,
    count,
    listing,
    percent,
    sentence,
    signed,
)

SHOWN_SAMPLES = 8
"""How many of the most and of the least certain samples are listed."""

LOGO_POSITIONS = 60
"""Longest stretch of a sequence that is drawn letter by letter."""

LOGO_CLASSES = 4
"""Most classes that get logos."""

LETTERS_SHOWN = 60
"""How much of a sequence is written out."""


def weights(subject):
    """Return the heat map of kernel weights by cluster, and by class where there are several."""
    names, several = subject.kernels, subject.shares
    figures = [
        _share_map(
            "weights",
            "Share of each kernel in the weights, in percent",
            several.mean(axis=0),
            names,
            subject.clusters,
        )
    ]
    if len(several) > 1:
        labels = [str(label) for label in subject.model.classes_]
        title = "The same in the decision for each class, mean over clusters"
        figures.append(_share_map("class-weights", title, several.mean(axis=1), names, labels))
    text = "The kernels are normalised before, so that their weights can be compared."
    if subject.method == "LMKL":
        text += " LMKL has no clusters: shown is the mean of its gate over the training samples."
    return Section("weights", "Which kernel matters where", [text], figures)


def _share_map(key, title, shares, names, columns):
    rows = [
        {"y": name, "x": column, "value": round(100.0 * float(shares[j, m]), 2)}
        for j, column in enumerate(columns)
        for m, name in enumerate(names)
    ]
    spec = charts.heat_map(rows, order=(columns, names))
    cells = [[name, *(percent(share, 1) for share in shares[:, m])] for m, name in enumerate(names)]
    table = Table(title, ["kernel", *columns], cells)
    return Figure(key, title, weights_text(shares, names, columns), spec, table=table)


def weights_text(shares, names, columns):
    """Say which kernels the columns rely on, and how much they differ."""
    if len(names) == 1:
        return "There is one kernel, and no weight to choose."
    if np.allclose(shares, shares[0, 0]):
        return f"All {len(names)} kernels weigh the same, {percent(1 / len(names))} each."
    columns = columns if len(shares) > 1 else ["the model"]
    leaders = [
        f"{column} relies most on {_leaders(row, names)}"
        for column, row in list(zip(columns, shares, strict=True))[:6]
    ]
    text = sentence(f"{listing(leaders)}; an even share would be {percent(1 / len(names))}")
    if len(shares) > 1:
        moved = max(0.5 * np.abs(one - other).sum() for one, other in combinations(shares, 2))
        if moved < 0.1:
            text += f" They hardly differ: between any two at most {percent(moved)} of the weight moves."
        else:
            text += (
                f" Between the two that differ most, {percent(moved)} of the weight moves to other kernels."
            )
    idle = int((shares.max(axis=0) < 1e-4).sum())
    if idle:
        text += (
            f" {count(idle, 'kernel')} of {len(names)} {'gets' if idle == 1 else 'get'} no weight anywhere."
        )
    return text


def _leaders(row, names):
    """Return the kernel of the largest share; several where rounding alone would choose."""
    most = percent(row.max())
    tied = [name for name, share in zip(names, row, strict=True) if percent(share) == most]
    if len(tied) == 1:
        return f"{tied[0]} ({most})"
    return f"{listing(tied if len(tied) <= 4 else [*tied[:3], f'{len(tied) - 3} others'])} ({most} each)"


def memberships(subject):
    """Return the bands of memberships, or None without clusters."""
    if subject.n_clusters == 1:
        return None
    given = sorted_memberships(subject.memberships)
    n_samples = len(given)
    rows = [
        {"at": at, "cluster": name, "number": j, "share": round(float(given[min(at, n_samples - 1), j]), 3)}
        for at in range(n_samples + 1)  # the last column is drawn to its end
        for j, name in enumerate(subject.clusters)
    ]
    sizes = np.bincount(given.argmax(axis=1), minlength=given.shape[1])
    table = Table(
        "Clusters",
        ["cluster", "samples with this main cluster", "mean membership of all samples"],
        [[str(j + 1), f"{size:,}", percent(given[:, j].mean(), 1)] for j, size in enumerate(sizes)],
    )
    spec = charts.bands(rows, names=subject.clusters, n_samples=n_samples)
    title = "Memberships of the samples, one column each"
    figure = Figure("memberships", title, memberships_text(given), spec, table=table)
    text = "A sample belongs to each cluster to some degree; the kernel weights are mixed accordingly."
    evenness = subject.model.evenness_
    if np.isfinite(evenness):
        text += (
            f" The average evenness of the memberships is {brief(round(evenness, 3))}, on a scale from "
            f"{brief(round(1 / given.shape[1], 3))} (everybody in one cluster) to 1 (all clusters alike)."
        )
    return Section("memberships", "Who belongs to which cluster", [text], [figure])


def memberships_text(given):
    """Say how large the clusters are and how clearly samples belong."""
    sizes = np.bincount(given.argmax(axis=1), minlength=given.shape[1])
    parts = listing([f"{count(int(size), 'sample')} in cluster {j + 1}" for j, size in enumerate(sizes)])
    largest = given.max(axis=1)
    unclear = (largest <= 0.5).mean()
    text = f"By main cluster there are {parts}. On average the main cluster holds {percent(largest.mean())}"
    if unclear > 0:
        return f"{text} of a sample; for {percent(unclear)} of the samples no cluster holds more than half."
    return f"{text} of a sample, and always more than half."


def sample_map(subject):
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
        "Each mark is a sample; samples that the gate kernel finds alike lie close together (kernel PCA). "
        "Point at a sample, tap it or choose it in the list to see what each kernel adds to its decision."
    )
    figure = Figure("map", "Samples in two dimensions", map_text(subject, placed), spec)
    return Section("map", "The map", [text], [figure]), _modes(subject)


def map_text(subject, placed):
    """Say how much of the truth the two axes show, and whether neighbours are alike."""
    if np.ptp(placed.coordinates, axis=0).max() == 0.0:
        return "All samples lie on one point: the gate kernel finds no difference between them."
    shown = placed.explained.sum()
    text = f"The two axes show {percent(shown)} of the variance of the gate kernel"
    text += "." if shown >= 0.5 else "; most of what sets samples apart is not seen here."
    alike = []
    if len(placed.coordinates) > 2:
        near = NearestNeighbors(n_neighbors=1).fit(placed.coordinates).kneighbors(return_distance=False)[:, 0]
        if subject.n_clusters > 1:
            main = subject.memberships.argmax(axis=1)
            alike.append(f"the same cluster in {percent((main == main[near]).mean())}")
        if subject.classifier:
            labels, word = subject.targets, "class"
            if labels is None:
                labels, word = subject.predictions, "predicted class"
            alike.append(f"the same {word} in {percent((labels == labels[near]).mean())}")
    if not alike:
        return text
    return f"{text} A sample's nearest neighbour on the map has {listing(alike)} of the cases."


def _map_rows(subject, coordinates):
    main = subject.memberships.argmax(axis=1)
    groups = {"cluster": main}
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
            "cluster": int(main[i]),
            "groups": {key: int(group[i]) for key, group in groups.items()},
            "members": [round(float(share), 3) for share in subject.memberships[i]],
            "parts": [float(f"{part:.3g}") for part in subject.contributions[i]],
            "base": round(float(subject.intercepts[i]), 4),
            "letters": _letters(subject, i),
        }
        for i, name in enumerate(subject.labels)
    ]


def sample_note(subject, i):
    """Return what was predicted for a sample and what is true, in words."""
    if not subject.classifier:
        text = f"predicted {brief(float(subject.decisions[i]))}"
        return text if subject.targets is None else f"{text}, in truth {brief(float(subject.targets[i]))}"
    text = f"predicted {subject.predictions[i]} (decision {signed(subject.decisions[i].max())})"
    if subject.targets is None:
        return text
    right = subject.predictions[i] == subject.targets[i]
    return f"{text}, which is right" if right else f"{text}, in truth {subject.targets[i]}"


def _letters(subject, i):
    rows = subject.rows
    if not isinstance(rows, np.ndarray) or rows.dtype != object or rows.ndim != 1:
        return ""
    text = str(rows[i])
    return text if len(text) <= LETTERS_SHOWN else text[:LETTERS_SHOWN] + "..."


def _modes(subject):
    """Return the ways to colour the map, each with its legend."""
    modes = []
    if subject.n_clusters > 1:
        legend = [
            {"label": name, "color": charts.group_color(j), "shape": charts.SHAPES[j % charts.GROUPS]}
            for j, name in enumerate(subject.clusters)
        ]
        modes.append({"label": "cluster", "mode": "cluster", "legend": legend})
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


def _legend(label, number):
    return {"label": label, "color": charts.group_color(number), "shape": "circle"}


def _steps(scale, low, high):
    """Return the legend of a scale of colours, with words at its ends."""
    labels = [low, *[""] * (charts.STEPS - 2), high]
    return [
        {"label": label, "color": f"var(--{scale}-{step})", "shape": "circle"}
        for step, label in enumerate(labels)
    ]


def _directions(subject):
    """Return in words what a negative and a positive contribution speak for."""
    if subject.binary:
        negative, positive = subject.model.classes_.tolist()
        return f"speaks for {class_name(negative)}", f"speaks for {class_name(positive)}"
    if subject.classifier:
        return "against the prediction", "for the prediction"
    return "lowers the prediction", "raises the prediction"


def positions(subject):
    """Return importance of positions and logos for each column of sequences; None without them."""
    columns = explain.sequence_columns(subject.model) if subject.rows is not None else []
    blocks = [
        block for place, column in enumerate(columns) for block in _positions_of(subject, place, column)
    ]
    if not blocks:
        return None
    text = (
        "Every word that a sample has in common with a support vector adds to the decision; its share is "
        "spread evenly over its letters, so that the shares of all positions add up to what the "
        "weighted-degree kernels say. A position is important in a cluster if its share differs from sample "
        "to sample (standard deviation)."
    )
    if subject.classifier and len(subject.model.classes_) > LOGO_CLASSES:
        text += f" Shown are the first {LOGO_CLASSES} of {len(subject.model.classes_)} classes."
    return Section("positions", "Which positions matter where", [text], blocks)


def _positions_of(subject, place, column):
    parts = explain.position_contributions(subject.model, subject.rows, column=column)
    main = subject.memberships.argmax(axis=1)
    labels = [None]
    if subject.classifier:
        labels = [subject.focus] if subject.binary else subject.model.classes_.tolist()[:LOGO_CLASSES]
    where = "" if column is None else f" in column {column}"
    blocks = []
    for number, label in enumerate(labels):
        values = explain.decision_part(subject.model, parts, label)
        spread = {int(j): values[main == j].std(axis=0) for j in np.unique(main)}
        whose = "" if label is None or subject.binary else f" for {class_name(label)}"
        title = f"Importance of positions{whose}{where}"
        blocks.append(_importance(subject, f"positions-{place}-{number}", title, spread))
        blocks.append(_logos(subject, f"logo-{place}-{number}", column, label, values, spread))
    return blocks


def _importance(subject, key, title, spread):
    names = [subject.clusters[j] for j in spread]
    lines = np.stack(list(spread.values()))
    rows = [
        {"x": p + 1, "y": float(f"{value:.4g}"), "series": name}
        for name, line in zip(names, lines, strict=True)
        for p, value in enumerate(line)
    ]
    spec = charts.lines(
        rows,
        order=names,
        colors=[charts.group_color(j) for j in spread],
        titles=("position", "importance"),
        domains=([1, lines.shape[1]], None),
        step=True,
    )
    top = np.sort(np.argsort(-lines.max(axis=0))[:12])
    cells = [[f"{p + 1}", *(brief(float(value)) for value in lines[:, p])] for p in top]
    table = Table("The most important positions", ["position", *names], cells)
    text = positions_text(lines, names)
    absent = [name for name in subject.clusters if name not in names]
    if absent:
        text += f" No sample shown has {listing(absent, 'or')} as its main cluster."
    return Figure(key, title, text, spec, table=table)


def positions_text(spread, names):
    """Say where each cluster looks."""
    texts = []
    for line, name in zip(spread, names, strict=True):
        if not line.sum() > 0.0:
            texts.append(f"in {name} no position matters")
            continue
        first, last = half_window(line)
        texts.append(
            f"in {name} position {int(line.argmax()) + 1} counts most, and half of the importance lies in "
            f"positions {first + 1} to {last + 1}"
        )
    text = sentence("; ".join(texts))
    total = spread.sum(axis=1)
    if len(spread) > 1 and total.min() > 0.0:
        most, least = int(total.argmax()), int(total.argmin())
        times = f"{total[most] / total[least]:.1f}"
        if times == "1.0":
            return f"{text} Positions move the decision about as much in every cluster."
        text += (
            f" Positions move the decision most in {names[most]}, {times} times as much as in {names[least]}."
        )
    return text


def half_window(line):
    """Return first and last position of the shortest stretch that holds half of the sum (the fullest such).

    Examples
    --------
    >>> half_window(np.array([1.0, 5.0, 4.0, 1.0, 1.0]))
    (1, 2)
    """
    sums = np.concatenate([[0.0], np.cumsum(line)])
    ends = np.searchsorted(sums, sums[:-1] + 0.5 * sums[-1] * (1.0 - 1e-12))
    starts = np.flatnonzero(ends < len(sums))
    size = (ends[starts] - starts).min()
    shortest = starts[ends[starts] - starts == size]
    best = int(shortest[np.argmax(sums[shortest + size] - sums[shortest])])
    return best, best + int(size) - 1


def _logos(subject, key, column, label, values, spread):
    sequences, alphabet = explain.sequences_of(subject.model, subject.rows, column)
    if subject.classifier:
        chosen = subject.predictions == label
        who, what = f"predicted to be {class_name(label)}", f"what speaks for {class_name(label)}"
    else:
        chosen = subject.predictions >= np.quantile(subject.predictions, 0.75)
        who, what = "in the upper quarter of the predictions", "what raises the prediction"
    main = subject.memberships.argmax(axis=1)
    window = _best_window(sum(spread.values()), LOGO_POSITIONS)
    centred = values - values.mean(axis=0)
    logos, told, letters = [], [], ""
    for j in spread:
        name, own = subject.clusters[j], np.flatnonzero(chosen & (main == j))
        if not len(own):
            told.append(f"no sample in {name} is {who}")
            continue
        heights, letters = explain.logo_heights(centred[own], [sequences[i] for i in own], alphabet)
        logos.append((f"{name}, {count(len(own), 'sample')}", heights[window]))
        told.append(f"in {name} {logo_text(heights, letters)}")
    text = (
        "Letters above the line speak for it and letters below against it, compared with the average sample; "
        f"the samples are those {who}, and each logo has its own scale. {sentence('; '.join(told))}"
    )
    if values.shape[1] > LOGO_POSITIONS:
        text += f" Drawn are positions {window.start + 1} to {window.stop} of {values.shape[1]}."
    where = "" if column is None else f" in column {column}"
    drawing = draw_logos(logos, letters, start=window.start + 1) if logos else ""
    return Figure(key, f"Sequence logo: {what}{where}", text, drawing=drawing)


def _best_window(line, size):
    """Return the slice of at most `size` positions with the largest sum."""
    if len(line) <= size:
        return slice(0, len(line))
    first = int(np.convolve(line, np.ones(size), mode="valid").argmax())
    return slice(first, first + size)


def logo_text(heights, letters):
    """Say which letters stand out, in the order of the sequence."""
    top = np.sort(np.argsort(-heights.max(axis=1))[:6])
    words = [f"{letters[int(heights[p].argmax())]} at {p + 1}" for p in top if heights[p].max() > 0.0]
    return f"{listing(words)} stand out" if words else "no letter stands out"


def samples(subject):
    """Return the most and the least certain samples; None without rows."""
    if subject.rows is None or len(subject.shown) < 2:
        return None
    certainty, word = _certainty(subject)
    order = np.argsort(-certainty, kind="stable")
    few = min(SHOWN_SAMPLES, len(order) // 2)
    ends = {"largest": order[:few], "smallest": order[::-1][:few]}
    value = "decision" if subject.classifier else "prediction"
    head = ["sample", *(["prediction"] if subject.classifier else []), value]
    head += [*(["truth"] if subject.targets is not None else []), "cluster", "strongest kernels"]
    head += ["sequence"] if _letters(subject, 0) else []
    tables = [
        Table(f"The {few} samples with the {name} {word}", head, [_sample_row(subject, i) for i in chosen])
        for name, chosen in ends.items()
    ]
    text = samples_text(subject, certainty, *ends.values())
    return Section("samples", "Clear and unclear samples", [text], tables)


def _certainty(subject):
    """Return how sure the model is of each sample, and what that is."""
    if subject.classifier and subject.decisions.ndim == 2:
        two = np.sort(subject.decisions, axis=1)[:, -2:]
        return two[:, 1] - two[:, 0], "lead of the predicted class over the next"
    if subject.classifier:
        return np.abs(subject.decisions), "distance from the boundary"
    if subject.targets is None:
        return subject.predictions, "prediction"
    return np.abs(subject.predictions - subject.targets), "error"


def samples_text(subject, certainty, best, worst):
    """Say how clear the clearest and the least clear samples are, and how many of them are right."""
    if not subject.classifier:
        return "A regression model does not say how sure it is; listed are both ends."
    text = (
        f"The clearest samples are {brief(float(certainty[best].min()))} or more from the boundary, the "
        f"least clear ones at most {brief(float(certainty[worst].max()))}."
    )
    if subject.targets is None or not subject.known.any():
        return text
    right = np.array([p == t for p, t in zip(subject.predictions, subject.targets, strict=True)])
    text += (
        f" Predicted rightly are {right[best].sum()} of the {len(best)} clearest and {right[worst].sum()} of "
    )
    text += f"the {len(worst)} least clear."
    if subject.seen.all():
        text += " The model was trained on these samples: on new ones it is likely to err more often."
    return text


def _sample_row(subject, i):
    main = int(subject.memberships[i].argmax())
    parts = subject.contributions[i]
    strongest = np.argsort(-np.abs(parts), kind="stable")[:2]
    row = [subject.labels[i]]
    if subject.classifier:
        row += [str(subject.predictions[i]), signed(subject.decisions[i].max())]
    else:
        row.append(brief(float(subject.predictions[i])))
    if subject.targets is not None:
        truth = subject.targets[i]
        row.append(str(truth) if subject.classifier else brief(float(truth)))
    named = ", ".join(f"{subject.kernels[m]} {signed(parts[m])}" for m in strongest)
    letters = _letters(subject, i)
    cluster = f"{main + 1} ({percent(subject.memberships[i, main])})"
    return [*row, cluster, named, *([letters] if letters else [])]
