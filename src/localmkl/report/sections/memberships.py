"""The section on memberships: bands of all samples, sizes of the clusters, evenness."""

import numpy as np

from localmkl.plots import sorted_memberships
from localmkl.report import charts
from localmkl.report.prose import Figure, Section, Table, brief, count, listing, percent


def memberships_section(subject):
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
