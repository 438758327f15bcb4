"""The section on certainty: which weights and clusters other samples would leave as they are."""

from collections.abc import Iterator

import numpy as np

from localmkl.inference import ClusterTraits, Stability, Trait
from localmkl.report.certainty import DISSOLVED, FOUND, OFTEN, Certainty
from localmkl.report.prose import Section, Table, brief, count, listing, percent, sentence, signed
from localmkl.report.subject import Subject

TITLE = "How sure are we"
FEW, MOST = 3, 10
"""Traits of a cluster that stand in its line, and in the table of all."""


def certainty_section(subject: Subject, certainty: Certainty | None) -> Section | None:
    """Return what refits say about weights and clusters; None if nobody asked."""
    if certainty is None:
        return None
    if certainty.lacking:
        return Section("certainty", TITLE, [certainty.lacking])
    found = certainty.found
    text = [" ".join(_findings(subject, certainty)), how_text(found, clustered=bool(_again(subject, found)))]
    if found.interrupted:
        text.append(f"The refits were stopped; only {len(found.resampled)} count.")
    blocks = [_summary(subject, certainty)]
    if certainty.traits is not None:
        text.append(_traits_text(subject, certainty.traits))
        blocks += [_traits(subject, certainty.traits)] if certainty.traits.found() else []
    return Section("certainty", TITLE, text, blocks)


def verdict_text(subject: Subject, certainty: Certainty | None) -> str:
    """Say in one sentence how much is sure; empty if there is nothing to say."""
    if certainty is None or certainty.lacking:
        return ""
    return next(_findings(subject, certainty), "")


def how_text(found: Stability, *, clustered: bool) -> str:
    """Say where intervals come from, and which weights are called sure."""
    anew = "clusters and weights" if clustered else "weights"
    found_again = ", and its cluster is found again, at least in part" if clustered else ""
    return (
        f"The model was refitted {len(found.resampled)} times on halves of its training samples, {anew} "
        f"learned anew. Intervals are of the shares that very many samples would give: "
        f"{percent(found.level)} of such intervals cover them. They need not contain the model's own share, "
        f"as few samples give some weight to every kernel. A weight is sure if its interval begins at "
        f"{percent(found.least_share)} or above and at least {percent(OFTEN)} of the refits choose its "
        f"kernel{found_again}; the others are pale in the heat map."
    )


def _findings(subject: Subject, certainty: Certainty) -> Iterator[str]:
    """Yield sentences on what is sure and what is not, the verdict first."""
    found, several = certainty.found, len(subject.kernels) > 1
    regions = range(len(subject.regions))
    sure = [j for j in regions if several and certainty.leads(j)]
    unsure = [j for j in regions if several and not certainty.leads(j)]
    again = _again(subject, found)
    n_sure = int(certainty.sure.sum())
    if several and not n_sure and not any(value >= FOUND for value in again.values()):
        yield (
            "Nothing is sure: with other samples every weight might be gone"
            f"{', and no cluster is clearly found again' if again else ''}. Do not read meaning into them."
        )
    elif several:
        yield f"Of {count(certainty.sure.size, 'weight')}, {n_sure} {'is' if n_sure == 1 else 'are'} sure."
    if sure:
        named = [
            f"in {subject.spoken[j]} " * (len(regions) > 1) + f"({_led(subject, found, j)})" for j in sure
        ]
        yield f"It is sure which kernel matters most {listing(named)}."
    if unsure:
        where = f" in {listing([subject.spoken[j] for j in unsure])}" if len(regions) > 1 else ""
        yield f"Which kernel matters most is not sure{where}."
    if again:
        yield _again_text(again)


def _led(subject: Subject, found: Stability, region: int) -> str:
    kernel = int(found.shares[region].argmax())
    return f"{subject.kernels[kernel]}, {_between(found, region, kernel)}"


def _between(found: Stability, region: int, kernel: int) -> str:
    low, high = found.low[region, kernel], found.high[region, kernel]
    return "in no refit" if np.isnan(low) else f"{percent(low)} to {percent(high)}"


def _again(subject: Subject, found: Stability) -> dict[str, float]:
    """Return the mean Jaccard index of each cluster; of known groups, which are not found, of none."""
    if subject.noun == "group" or subject.n_clusters == 1:
        return {}
    values = dict(zip(subject.regions, found.jaccard.tolist(), strict=True))
    return {name: value for name, value in values.items() if not np.isnan(value)}


def _again_text(again: dict[str, float]) -> str:
    kinds = {
        "found again": [name for name, value in again.items() if value >= FOUND],
        "found again in part": [name for name, value in again.items() if DISSOLVED <= value < FOUND],
        "not found again, and should not be interpreted": [
            name for name, value in again.items() if value < DISSOLVED
        ],
    }
    parts = [
        f"{listing(names)} {'is' if len(names) == 1 else 'are'} {kind}"
        for kind, names in kinds.items()
        if names
    ]
    return sentence("; ".join(parts))


def _summary(subject: Subject, certainty: Certainty) -> Table:
    """Return the table of clusters: found again, its first kernel, what sets it apart."""
    found, again = certainty.found, _again(subject, certainty.found)
    head = [subject.noun, "kernel with the largest share", "interval of the share", "is it sure to lead?"]
    head += ["found again (Jaccard index)"] if again else []
    head += ["set apart by"] if certainty.traits is not None else []
    rows = []
    for j, name in enumerate(subject.regions):
        kernel = certainty.leader(j)
        row = [
            name,
            subject.kernels[kernel],
            _between(found, j, kernel),
            "yes" if certainty.leads(j) else "no",
        ]
        row += ([brief(round(again[name], 2))] if name in again else [""]) if again else []
        if certainty.traits is not None:
            row.append("; ".join(map(_told, certainty.traits.found(name)[:FEW])))
        rows.append(row)
    return Table("What other samples would leave as it is", head, rows)


def _told(trait: Trait) -> str:
    """Return a trait in a few words."""
    if np.isnan(trait.rank_biserial):  # shares
        word = f"label {trait.name}" if trait.kind == "label" else trait.name
        return f"{word} ({percent(trait.inside)}, elsewhere {percent(trait.outside)})"
    return f"{trait.name} {'larger' if trait.effect > 0 else 'smaller'} ({signed(trait.effect)} sd)"


def _traits_text(subject: Subject, traits: ClusterTraits) -> str:
    if not traits.found():
        return f"Nothing that was looked at sets the {subject.noun}s apart."
    text = (
        f"What sets each {subject.noun} apart from all other samples: on average at most "
        f"{percent(traits.false_discovery_rate)} of these traits are false (Benjamini and Hochberg)."
    )
    if subject.noun == "cluster":
        text += (
            " Clusters are made from what their gate sees, and differ in that by construction; "
            "labels were not seen."
        )
    return text


def _traits(subject: Subject, traits: ClusterTraits) -> Table:
    rows = [
        [
            *(one.cluster, one.kind, one.name, brief(one.inside), brief(one.outside), signed(one.effect)),
            f"{one.q_value:.1g}",
        ]
        for name in traits.clusters
        for one in traits.found(name)[:MOST]
    ]
    head = [subject.noun, "kind", "trait", "inside", "elsewhere", "effect", "adjusted p"]
    return Table(f"Traits of the {subject.noun}s, the surest {MOST} of each at most", head, rows, folded=True)
