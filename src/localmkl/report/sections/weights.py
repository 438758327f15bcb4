"""The section on kernel weights: the share of each kernel by cluster and by class."""

from itertools import combinations

import numpy as np

from localmkl import explain
from localmkl._types import Floats
from localmkl.inference import Stability
from localmkl.report import charts
from localmkl.report.certainty import Certainty
from localmkl.report.prose import Figure, Section, Table, count, listing, percent, sentence
from localmkl.report.subject import Subject

WIDE = 8
"""Columns of a heat map up to which cells have room for an interval; else it stands in the table alone."""


def weights_section(subject: Subject, certainty: Certainty | None = None) -> Section:
    """Return the heat map of kernel weights by cluster, and by class where there are several.

    With refits, those of clusters have intervals, and those that are not sure are pale.
    """
    names, several, nouns = subject.kernels, subject.shares, f"{subject.noun}s"
    figures = [
        _share_map(
            "weights",
            "Share of each kernel in the weights, in percent",
            several.mean(axis=0),
            names,
            subject.regions,
            subject.spoken,
            certainty=None if certainty is None or certainty.lacking else certainty,
        )
    ]
    if 1 < len(subject.views) < len(names):
        shares, views = explain.view_shares(subject.model, several.mean(axis=0))
        title = "Share of each view, the sum of its kernels, in percent"
        figures.append(
            _share_map("view-weights", title, shares, views, subject.regions, subject.spoken, "view")
        )
    if len(several) > 1:
        labels = [str(label) for label in subject.model.classes_]
        over = f"the shared part and {nouns}" if subject.shared else nouns
        title = f"The same in the decision for each class, mean over {over}"
        figures.append(_share_map("class-weights", title, several.mean(axis=1), names, labels, labels))
    text = "The kernels are normalised before, so that their weights can be compared."
    if subject.equal_weights:
        text = "All kernels weigh the same by construction (UNIF): nothing was learned about which matters."
    if subject.shared:
        text += (
            f" Every sample belongs to the shared part by {percent(subject.shared)}, and by the rest to the "
            f"{nouns}: the shared weights count for all, the others where the {nouns} differ."
        )
    if subject.method == "LMKL":
        text += " LMKL has no clusters: shown is the mean of the samples' own weights over the training data."
    return Section("weights", "Which kernel matters where", [text], figures)


def _share_map(
    key: str,
    title: str,
    shares: Floats,
    names: list[str],
    columns: list[str],
    spoken: list[str],
    noun: str = "kernel",
    certainty: Certainty | None = None,
) -> Figure:
    rows = [
        {"y": name, "x": column, "value": round(100.0 * float(shares[j, m]), 2)}
        for j, column in enumerate(columns)
        for m, name in enumerate(names)
    ]
    cells = [[name, *(percent(share, 1) for share in shares[:, m])] for m, name in enumerate(names)]
    text = weights_text(shares, names, spoken, noun)
    if certainty is not None:
        ends = _ends(certainty.found)
        places = [(j, m) for j in range(len(columns)) for m in range(len(names))]
        for row, place in zip(rows, places, strict=True):
            wide = f" ({ends[place]})" if len(columns) <= WIDE else ""
            row |= {"pale": not certainty.sure[place], "label": f"{row['value']:.0f}{wide}"}
        cells = [
            [
                name,
                *(
                    f"{cell} ({ends[j, m]}{', pale' * (not certainty.sure[j, m])})"
                    for j, cell in enumerate(own)
                ),
            ]
            for m, (name, *own) in enumerate(cells)
        ]
        text += (
            f" In brackets are {percent(certainty.found.level)} intervals of what very many samples would "
            "give; pale weights are not sure."
        )
    spec = charts.heat_map(rows, order=(columns, names))
    return Figure(key, title, text, spec, table=Table(title, [noun, *columns], cells))


def _ends(found: Stability) -> dict[tuple[int, ...], str]:
    """Return the ends of the intervals in percent, as text, by cluster and kernel."""
    every = np.ndindex(found.low.shape)
    return {
        place: "in no refit"
        if np.isnan(found.low[place])
        else f"{100.0 * found.low[place]:.0f} to {100.0 * found.high[place]:.0f}"
        for place in every
    }


def weights_text(shares: Floats, names: list[str], columns: list[str], noun: str = "kernel") -> str:
    """Say which kernels, or views, the columns rely on, and how much they differ."""
    if len(names) == 1:
        return f"There is one {noun}, and no weight to choose."
    if np.allclose(shares, shares[0, 0]):
        return f"All {len(names)} {noun}s weigh the same, {percent(1 / len(names))} each."
    columns = columns if len(shares) > 1 else ["the model"]
    leaders = [
        f"{column} relies most on {_leaders(row, names)}"
        for column, row in list(zip(columns, shares, strict=True))[:6]
    ]
    text = sentence(f"{listing(leaders)}; an even share would be {percent(1 / len(names))}")
    if len(shares) > 1:
        change = max(0.5 * np.abs(one - other).sum() for one, other in combinations(shares, 2))
        if change < 0.1:
            text += f" They hardly differ: between any two at most {percent(change)} of the weight moves."
        else:
            text += (
                f" Between the two that differ most, {percent(change)} of the weight moves to other {noun}s."
            )
    idle = int((shares.max(axis=0) < 1e-4).sum())
    if idle:
        text += f" {count(idle, noun)} of {len(names)} {'gets' if idle == 1 else 'get'} no weight anywhere."
    return text


def _leaders(row: Floats, names: list[str]) -> str:
    """Return the kernel of the largest share; several where rounding alone would choose."""
    most = percent(row.max())
    tied = [name for name, share in zip(names, row, strict=True) if percent(share) == most]
    if len(tied) == 1:
        return f"{tied[0]} ({most})"
    return f"{listing(tied if len(tied) <= 4 else [*tied[:3], f'{len(tied) - 3} others'])} ({most} each)"
