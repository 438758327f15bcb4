"""The section on memberships: bands of all samples, sizes of clusters or groups, evenness."""

import numpy as np

from localmkl._types import Floats, Ints
from localmkl.explain import local_memberships
from localmkl.plots import clearest_first
from localmkl.report import charts
from localmkl.report.prose import Figure, Section, Table, brief, count, listing, percent
from localmkl.report.subject import Subject


def memberships_section(subject: Subject) -> Section | None:
    """Return the bands of memberships, or None without clusters."""
    if subject.n_clusters == 1:
        return None
    given = subject.memberships[clearest_first(subject.local)]
    n_samples = len(given)
    rows = [
        {"at": at, "cluster": name, "number": j, "share": round(float(given[min(at, n_samples - 1), j]), 3)}
        for at in range(n_samples + 1)  # the last column is drawn to its end
        for j, name in enumerate(subject.regions)
    ]
    noun, shared = subject.noun, subject.shared > 0.0
    spec = charts.bands(rows, names=subject.regions, n_samples=n_samples, shared=shared, noun=noun)
    title = "Memberships of the samples, one column each"
    if noun == "group":
        said = groups_text(subject.main, subject.clusters, subject.local.shape[1])
    else:
        whole = "what a sample does not share" if subject.shared else "a sample"
        said = memberships_text(subject.local, subject.clusters, whole)
    figure = Figure("memberships", title, said, spec, table=_sizes(subject))
    return Section("memberships", f"Who belongs to which {noun}", [_how_text(subject)], [figure])


def _sizes(subject: Subject) -> Table:
    """Return the table of clusters: how many samples, and how much of all; new groups have no part of it."""
    sizes = np.bincount(subject.main, minlength=subject.n_clusters)
    means = dict(zip(subject.regions, subject.memberships.mean(axis=0), strict=True))
    rows = [["shared", "", percent(subject.shared, 1)]] if subject.shared else []
    for name, size in zip(subject.clusters, sizes, strict=True):
        rows.append([name, f"{size:,}", percent(means[name], 1) if name in means else "new to the model"])
    head = [subject.noun, f"samples with this main {subject.noun}", "mean membership of all samples"]
    return Table(f"{subject.noun.capitalize()}s", head, rows)


def _how_text(subject: Subject) -> str:
    """Say where memberships come from, and what they do."""
    if subject.noun == "group":
        text = "The groups are known. A sample has the kernel weights of its own group"
        own = local_memberships(subject.model, subject.model.memberships_)
        if np.any((own > 0.0) & (own < 1.0)):
            text = "The groups are known. A sample has the kernel weights of the groups that its own is like"
        return (
            f"{text}{f' and, by {percent(subject.shared)}, those of the shared part' * bool(subject.shared)}."
        )
    text = "A sample belongs to each cluster to some degree; the kernel weights are mixed accordingly."
    if subject.shared:
        text += f" By {percent(subject.shared)} all belong to the shared part, which is no cluster."
    evenness = subject.model.evenness_
    if np.isfinite(evenness):
        text += (
            f" The average evenness of the memberships is {brief(round(evenness, 3))}, on a scale from "
            f"{brief(round(1 / subject.local.shape[1], 3))} (everybody in one cluster) to 1 (all clusters "
            "alike)."
        )
    return text


def groups_text(main: Ints, names: list[str], n_known: int) -> str:
    """Say how many samples the groups have, and which groups are new to the model."""
    sizes = np.bincount(main, minlength=len(names))
    parts = [f"{size:,} of {name}" for name, size in zip(names, sizes, strict=True)]
    text = f"There are {count(len(main), 'sample')}: {_few(parts)}."
    new = names[n_known:]
    return f"{text} New to the model, with shares of the others: {_few(new)}." if new else text


def _few(items: list[str], most: int = 8) -> str:
    return listing(items if len(items) <= most else [*items[:most], f"{len(items) - most} others"])


def memberships_text(given: Floats, names: list[str] | None = None, whole: str = "a sample") -> str:
    """Say how large the clusters are and how clearly samples belong."""
    names = [f"cluster {j + 1}" for j in range(given.shape[1])] if names is None else names
    sizes = np.bincount(given.argmax(axis=1), minlength=len(names))
    counts = [f"{count(int(size), 'sample')} in {name}" for name, size in zip(names, sizes, strict=True)]
    largest = given.max(axis=1)
    unclear = (largest <= 0.5).mean()
    text = f"By main cluster there are {listing(counts)}. On average the main cluster holds "
    text += percent(largest.mean())
    if unclear > 0:
        return f"{text} of {whole}; for {percent(unclear)} of the samples no cluster holds more than half."
    return f"{text} of {whole}, and always more than half."
