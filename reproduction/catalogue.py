"""Every table and figure of the paper, and what is asked beyond it: `EXPERIMENTS`, by name.

What is words and numbers is in `catalogue.toml`, the paper's own numbers in `published.csv`; here are the
methods, with their grids, and what reads the data.
"""

import csv
import tomllib
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from reproduction import data, incomplete, scale, visual_words, within_groups
from reproduction.protocol import COUPLED, Experiment, Method, Source

HERE = Path(__file__).parent
COSTS = tuple(float(c) for c in np.logspace(-1.0, 2.0, 7))
NORMS = {"1": 1.0, "4/3": 4 / 3, "2": 2.0}
P = {"p": 4 / 3}
"""The norm of the paper's reference."""
SHARES = (1.0, 0.75, 0.5, 0.25, 0.0)
STRENGTHS = (10000.0, 1000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 0.0)
"""Shares of a column that all clusters share, and strengths of a graph: the most alike clusters first."""
EXACT_MOST = 5000
"""Largest training set with exact Grams: 2 GB of them in float32."""


def falling(low, high):
    """Return eight values of the evenness, the smoothest first: of equal scores the first wins."""
    return tuple(float(value) for value in np.linspace(high, low, 8).round(6))


EVENNESS = falling(0.4, 0.8)


def table_methods(norms=None, evenness=EVENNESS):
    """Return the rows of a table: p is not tuned but a row of its own.

    CLMKL+ may choose an evenness of 1 too, that is MKL, where the paper's range forbids it to give up its
    clusters. The best kernel alone is what all mixtures must beat; the paper does not have it.
    """
    norms, grid, ranges = norms or NORMS, {"C": COSTS}, {"CLMKL": evenness}
    if 1.0 not in evenness:
        ranges["CLMKL+"] = (1.0, *evenness)
    return (
        Method("UNIF", "UNIF", grid),
        Method("one kernel", "UNIF", grid, alone=True),
        Method("LMKL", "LMKL", grid),
        *(Method(f"MKL, p = {name}", "MKL", grid, {"p": p}) for name, p in norms.items()),
        *(Method(f"HLMKL, p = {name}", "HLMKL", grid, {"p": p}) for name, p in norms.items()),
        *(
            Method(f"{kind}, p = {name}", "CLMKL", {**grid, "evenness": values}, {"p": p})
            for kind, values in ranges.items()
            for name, p in norms.items()
        ),
    )


def coupled_methods(ways):
    """Return hard clusters whose weights a graph couples, and such with a shared column, chosen both."""
    return tuple(
        Method(f"{kind}, {way}", family, {"C": COSTS, **grid}, P, unlabelled=unlabelled, slow=True)
        for kind, family, grid in (
            ("coupled HLMKL", COUPLED, {"strength": STRENGTHS}),
            ("shared HLMKL", "HLMKL", {"shared": SHARES}),
        )
        for way, unlabelled in ways.items()
    )


def tuned_methods():
    """Return methods whose p is tuned with the rest; CLMKL+ may give up its clusters, by evenness 1."""
    cost = {"C": tuple(float(10 ** (k / 2)) for k in range(6))}
    grid = {**cost, "p": (1.125, 4 / 3, 2.0)}
    evenness = tuple(float(round(0.5 + i / 12, 6)) for i in reversed(range(6)))
    return (
        Method("UNIF", "UNIF", cost),
        Method("one kernel", "UNIF", cost, alone=True),
        Method("MKL", "MKL", grid),
        Method("LMKL", "LMKL", cost),
        Method("HLMKL", "HLMKL", grid),
        Method("CLMKL", "CLMKL", {**grid, "evenness": evenness}),
        Method("CLMKL+", "CLMKL", {**grid, "evenness": (1.0, *evenness)}),
    )


def timed_methods():
    """Return the methods of the figure on execution time: one fit at C = 1 and evenness 0.5."""
    cost = {"C": 1.0}
    methods = [Method("UNIF", "UNIF", fixed=cost), Method("LMKL", "LMKL", fixed=cost)]
    for family in ("MKL", "HLMKL", "CLMKL"):
        for name, p in (("1", 1.0), ("2", 2.0)):
            fixed = {**cost, "p": p, **({"evenness": 0.5} if family == "CLMKL" else {})}
            methods.append(Method(f"{family}, p = {name}", family, fixed=fixed))
            published_way = {**fixed, "solver": "alternating", "max_iter": 2000}
            methods.append(Method(f"{family}, p = {name}, Algorithm 1", family, fixed=published_way))
    return tuple(methods)


def transductive_methods():
    """Return methods without clusters, and with clusters of the training rows and of all rows."""
    grid, ways = {"C": COSTS}, {"inductive": 0, "transductive": None}
    ranges = {
        "HLMKL": grid,
        "CLMKL": {**grid, "evenness": EVENNESS},
        "CLMKL+": {**grid, "evenness": (1.0, *EVENNESS)},
    }
    return (
        Method("UNIF", "UNIF", grid),
        Method("MKL", "MKL", grid, P),
        *(
            Method(f"{kind}, {way}", kind.rstrip("+"), values, P, unlabelled=unlabelled)
            for kind, values in ranges.items()
            for way, unlabelled in ways.items()
        ),
    )


def scaled_methods():
    """Return the methods of the learning curves, on features and on exact Grams; slow ones of other rank."""
    families = ("UNIF", "MKL", "CLMKL")

    def method(family, rank, name="", **options):
        return Method(f"{family}{name}", family, fixed={"C": 1.0, "n_components": rank}, **options)

    return (
        *(method(family, 100) for family in families),
        *(method(family, None, ", exact", most=EXACT_MOST) for family in families),
        *(method("MKL", n, f", {n} landmarks", slow=True) for n in (25, 50, 200)),
        *(method(family, 400, ", 400 landmarks", slow=True) for family in families),
        method("HLMKL", 100, slow=True),
    )


def incomplete_methods(costs, linear_costs, ways, linear_ways):
    """Return UNIF, MKL, CLMKL and logistic regression, each with missing views dealt with in several ways."""
    names = {"complete": "complete only", "mean": "means"}
    grid = {"C": costs, "p": (1.0, 2.0), "evenness": (1.0, 0.5)}  # of an evenness of 1, CLMKL is MKL
    kept = {"UNIF": ("C",), "MKL": ("C", "p"), "CLMKL": ("C", "p", "evenness")}
    pairs = [(family, way, {name: grid[name] for name in kept[family]}) for way in ways for family in kept]
    pairs += [(incomplete.LINEAR, way, {"C": linear_costs}) for way in linear_ways]
    return tuple(
        Method(f"{family}, {names.get(way, way)}", family, own, {"way": way}) for family, way, own in pairs
    )


SPLICE = {
    "acceptor-398": partial(data.load_acceptor, 398),
    "acceptor-82": partial(data.load_acceptor, 82),
    "uci": data.load_uci_splice,
}
PROMOTERS = {
    "mouse": data.load_mouse,
    "human": partial(data.load_human, "tata"),
    "human-core": partial(data.load_human, "notata_core"),
}
INDUCTIVE, BOTH = {"p = 4/3": 0}, {"inductive": 0, "transductive": None}
GRID = {"C": COSTS, "evenness": EVENNESS}
GATES = {"mean": None, "degree 1": 0, "degree 5": 4, "degree 20": 19}
WAYS = ("rescale", "zero", "complete", "mean")
GROUP_COSTS = {"C": (0.3, 1.0, 3.0, 10.0, 30.0)}


PARTS = {
    "splice": ((*table_methods(), *coupled_methods(INDUCTIVE)), SPLICE),
    "tss": (
        (*table_methods(), *coupled_methods(INDUCTIVE)),
        {**PROMOTERS, "human-core-others": data.load_core_promoters_beside_others},
    ),
    "protein": (
        table_methods({"1": 1.0, "1.2": 1.2, "2": 2.0}, falling(0.4, 0.7)),
        {
            "full": data.load_fold_sources,
            "rank-27": data.load_fold_kernels,
            "sequences": data.load_fold_sequences,
        },
    ),
    "images": (tuned_methods(), {"flowers17": visual_words.load_flowers, "mfeat": data.load_digits_in_views}),
    "time": (timed_methods(), {"mouse": data.load_mouse}),
    "localized": (table_methods(evenness=(*falling(0.4, 1.0), 1 / 3)), {"generated": data.Localized}),
    "transduction": ((*transductive_methods(), *coupled_methods(BOTH)), {**SPLICE, **PROMOTERS}),
    "transduction-classes": (
        transductive_methods(),
        {"mfeat": data.load_digits_to_split, "flowers17": visual_words.load_flowers_stack},
    ),
    "unlabelled": (
        tuple(
            Method(f"CLMKL, u = {'all' if count is None else count}", "CLMKL", GRID, P, unlabelled=count)
            for count in (0, 50, 100, 200, 400, None)
        ),
        {**SPLICE, **PROMOTERS},
    ),
    "gates": (
        tuple(
            Method(f"CLMKL, gate {name}", "CLMKL", GRID, {**P, "gate_kernel": index})
            for name, index in GATES.items()
        ),
        SPLICE,
    ),
    "organisms": (
        (
            Method("one MKL for all", "HLMKL", GROUP_COSTS, {"shared": 1.0}),
            Method("one MKL for each", "MKL", GROUP_COSTS),
            Method("groups, nothing shared", "HLMKL", GROUP_COSTS, {"shared": 0.0}),
            Method("groups, half shared", "HLMKL", GROUP_COSTS, {"shared": 0.5}),
            Method("groups, share chosen", "HLMKL", {**GROUP_COSTS, "shared": (0.5, 0.25, 0.75, 0.0, 1.0)}),
        ),
        {"two": within_groups.load_organisms},
    ),
    "scale": (scaled_methods(), {"acceptor": scale.load_acceptors, "promoter": scale.load_core_promoters}),
    "stories": (
        incomplete_methods((1.0, 10.0, 100.0), (1.0, 10.0, 100.0, 1000.0), WAYS[:3], ("zero", "complete")),
        {"3sources": incomplete.load_stories},
    ),
    "omics": (
        incomplete_methods((0.01, 0.3, 10.0), (1e-4, 1e-3, 1e-2, 0.1, 1.0), WAYS, ("mean", "complete")),
        {"published": incomplete.load_omics, "redrawn": partial(incomplete.load_omics, redrawn=True)},
    ),
}
"""What `catalogue.toml` cannot hold of an experiment: its methods, and what loads each data set."""


@dataclass(frozen=True)
class Number:
    """A published mean in percent, its standard deviation where one is given, and its bullet."""

    mean: float
    std: float | None = None
    bullet: bool = False


def published_numbers(name):
    """Return {method: {point: Number}} of a table of the paper.

    Y. Lei, A. Binder, U. Dogan and M. Kloft, Localized Multiple Kernel Learning - A Convex Approach, ACML
    2016 (LaTeX source of the arXiv version). A bullet: "CLMKL with p = 1.33 is significantly better than the
    compared method (paired t-tests at 95 % significance level)". The paper prints 1.33 for 4/3.
    """
    table: dict = {}
    with open(HERE / "published.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["experiment"] == name:
                point = int(row["point"]) if row["point"].isdigit() else row["point"]
                std = float(row["std"]) if row["std"] else None
                number = Number(float(row["mean"]), std, row["bullet"] == "1")
                table.setdefault(row["method"], {})[point] = number
    return table


def make_experiment(name, entry, methods, loaders):
    """Return an experiment of its entry in `catalogue.toml`, its methods and what loads its data."""
    sources = {one["name"]: Source(**one, load=loaders[one["name"]]) for one in entry.pop("sources")}
    plain = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    return Experiment(name, sources=sources, methods=methods, published=published_numbers(name), **plain)


ENTRIES = tomllib.loads((HERE / "catalogue.toml").read_text(encoding="utf-8"))
EXPERIMENTS = {name: make_experiment(name, entry, *PARTS[name]) for name, entry in ENTRIES.items()}
