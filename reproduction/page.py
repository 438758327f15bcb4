"""The tables of the page `docs/reproduction.md` that stand between its comments, from the rows."""

import re
from pathlib import Path

import numpy as np

from reproduction.catalogue import EXPERIMENTS
from reproduction.running import result_path
from reproduction.summary import align, read_table

PAGE = Path(__file__).parents[1] / "docs" / "reproduction.md"
NAMES = {
    "acceptor-82": "splice sites, 82 letters",
    "acceptor-398": "splice sites, 398 letters",
    "uci": "UCI splice sites",
    "mouse": "mouse promoters",
    "human": "human promoters",
    "human-core": "human core promoters",
}
KINDS = ("HLMKL", "coupled HLMKL", "shared HLMKL", "CLMKL")
WAYS = {"inductive": "training rows", "transductive": "all rows"}


def renew_page(results, page=PAGE):
    """Write the tables of the page anew."""
    text = page.read_text(encoding="utf-8")
    for name, make in TABLES.items():
        pattern = rf"(<!-- table {name} -->\n).*?(<!-- end -->)"
        table = "\n".join(["", *make(results), "", ""])
        text = re.sub(pattern, lambda found, table=table: found[1] + table + found[2], text, flags=re.DOTALL)
    page.write_text(text, encoding="utf-8")


def rivals(results):
    """Return the table of hard clusters without links, with a graph, and with a shared column."""
    header = ["AUC in percent", "clusters of", "n", "MKL", "HLMKL", "graph", "shared column", "CLMKL"]
    body = []
    for data in ("acceptor-82", "acceptor-398", "mouse"):
        scores = scores_of(results, "transduction", data)
        for way, clusters in WAYS.items():
            labels = ["MKL", *(f"{kind}, {way}" for kind in KINDS)]
            for point in (50, 200):
                means, _ = shared_means([scores[label, point] for label in labels])
                body.append([NAMES[data], clusters, str(point), *(f"{mean:.1f}" for mean in means)])
    return align(header, body)


def unlabelled(results):
    """Return the table of what clusters of all rows gain over clusters of the training rows."""
    points = (50, 100, 200, 400, 800)
    body = []
    for data, name in NAMES.items():
        scores = scores_of(results, "transduction", data)
        pairs = [[scores[f"CLMKL, {way}", point] for way in WAYS] for point in points]
        leads = [np.diff(shared_means(pair)[0])[0] for pair in pairs]
        body.append([name, *(signed(lead) for lead in leads)])
    return align(["labels", *map(str, points)], body)


def scores_of(results, name, data):
    """Return {(method, point): {repetition: score}} of a result file."""
    experiment = EXPERIMENTS[name]
    source = experiment.sources[data]
    return read_table(experiment, source, result_path(results, experiment, source)).scores()


def shared_means(scores):
    """Return the means of several methods over the repetitions that all have, and how many these are."""
    shared = sorted(set.intersection(*(set(own) for own in scores)))
    return [float(np.mean([own[k] for k in shared])) for own in scores], len(shared)


def signed(value):
    """Return a difference as the page writes it.

    Examples
    --------
    >>> signed(-1.26), signed(0.04)
    ('−1.3', '0.0')
    """
    return re.sub(r"^[+−]0\.0$", "0.0", f"{value:+.1f}".replace("-", "−"))


TABLES = {"rivals": rivals, "unlabelled": unlabelled}
