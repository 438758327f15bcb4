"""The sets of data: rows, targets, and what a user knows of them (views, groups).

Files that are not shipped are looked for in the data home; a set without its file is left out, and said.
"""

from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.io import mmread
from sklearn import datasets as shipped
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import train_test_split

from localmkl.datasets import (
    data_home,
    fetch_celegans_acceptor,
    fetch_human_promoters,
    fetch_mfeat,
    fetch_mouse_promoters,
    load_splice,
    make_localized,
    read_grams,
)

TABLE, SEQUENCES, GRAMS = "table", "sequences", "Grams"
CLASSES, NUMBERS = "classes", "numbers"
FEW_DOCUMENTS = 8
"""Terms in fewer stories are left out, as one does with words: 2849 of 10,259 stay."""


@dataclass(frozen=True)
class Data:
    """Rows with targets.

    Attributes
    ----------
    X : data frame, array of sequences, or GramStack
    y : ndarray
    kind : {"table", "sequences", "Grams"}
    views : dict of str to list of str
        Columns of a table that belong together.
    groups : ndarray or None
        Known groups, and `grouped_by`, what they are.
    target : {"classes", "numbers"}
    standardize : bool
        Whether columns are measured in units of their own.
    quick : bool
        Whether searches are to be short: does the code run?
    """

    X: Any
    y: np.ndarray
    kind: str = TABLE
    views: dict = field(default_factory=dict)
    groups: np.ndarray | None = None
    grouped_by: str = "group"
    target: str = CLASSES
    standardize: bool = True
    quick: bool = False

    @property
    def binary(self):
        return self.target == CLASSES and len(np.unique(self.y)) == 2

    @property
    def metric(self):
        """The name of the score in scikit-learn."""
        return "r2" if self.target == NUMBERS else "roc_auc" if self.binary else "accuracy"

    def strata(self, rows):
        """Return what folds and draws keep the shares of: classes within groups, as far as there are any."""
        parts = [self.y[rows]] if self.target == CLASSES else []
        parts += [] if self.groups is None else [self.groups[rows]]
        return np.array([" ".join(map(str, row)) for row in zip(*parts, strict=True)]) if parts else None

    def take(self, rows, columns=None):
        """Return rows; of Grams between these rows and columns."""
        if self.kind == GRAMS:
            return self.X[np.ix_(rows, rows if columns is None else columns)]
        return self.X.iloc[rows] if self.kind == TABLE else self.X[rows]


@dataclass(frozen=True)
class Set:
    """A set of the table: how to load it, and how many rows are drawn."""

    what: str
    load: Any
    n_train: int
    n_test: int = 1000

    def draw(self, data, repetition):
        """Return training and test rows of a repetition."""
        rows = np.arange(len(data.y))
        n_test = min(self.n_test, len(rows) - self.n_train)
        sizes = {"train_size": self.n_train, "test_size": n_test}
        return train_test_split(rows, **sizes, stratify=data.strata(rows), random_state=repetition)


def of_scikit_learn(load, *, views=None, **options):
    found = load(as_frame=True, **options)
    columns = list(found.data.columns)
    views = {"all": columns} if views is None else views(columns)
    target = CLASSES if found.target.nunique() < 20 else NUMBERS
    return Data(found.data, found.target.to_numpy(), views=views, target=target)


def _tens(columns):
    """Means, errors and worst values of ten measurements of cells."""
    return {name: columns[start : start + 10] for name, start in (("mean", 0), ("error", 10), ("worst", 20))}


def splice():
    X, y, _ = load_splice()
    return Data(X, y, SEQUENCES)


def bacterial_promoters():
    lines = (data_home() / "uci_promoters" / "promoters.data").read_text().splitlines()
    labels, _, sequences = zip(*(line.split(",") for line in lines), strict=True)
    X = np.array([sequence.strip().upper() for sequence in sequences], dtype=object)
    return Data(X, np.where(np.array(labels) == "+", 1, -1), SEQUENCES)


def mouse_promoters():
    found = fetch_mouse_promoters("epd", download=False)
    return _unique(found.sequences, found.y)


def human_promoters():
    found = fetch_human_promoters("tata", download=False)
    return _unique(found.sequences, found.y)


def _unique(sequences, y):
    """Drop sequences that come twice: one might be trained on, the other tested."""
    _, first = np.unique(sequences.astype(str), return_index=True)
    first = np.sort(first)
    return Data(sequences[first], y[first], SEQUENCES)


def rosmap():
    folder, parts = data_home() / "rosmap", ("tr", "te")
    views, tables = {}, []
    for number, name in enumerate(("mRNA", "methylation", "miRNA"), start=1):
        views[name] = (folder / f"{number}_featname.csv").read_text().split()
        halves = [pd.read_csv(folder / f"{number}_{part}.csv.gz", header=None) for part in parts]
        tables.append(pd.concat(halves, ignore_index=True).set_axis(views[name], axis=1))
    y = np.concatenate([np.loadtxt(folder / f"labels_{part}.csv") for part in parts])
    whole = pd.concat(tables, axis=1).copy()  # one block of numbers: parts of a file are many
    return Data(whole, y.astype(int), views=views)


def three_sources():
    """Stories that all three newspapers have, as weights of terms."""
    folder = data_home() / "three_sources"
    topics = {}
    for line in (folder / "3sources.disjoint.clist").read_text().splitlines():
        topic, _, stories = line.partition(",")
        topics |= {int(story): topic for story in stories.split(",")}
    papers = [_counts(folder / f"3sources_{paper}", paper) for paper in ("bbc", "guardian", "reuters")]
    common = sorted(set.intersection(*(set(table.index) for table in papers)))
    tables = [_weights(table.loc[common]) for table in papers]
    views = {table.columns[0].partition("_")[0]: list(table.columns) for table in tables}
    y = np.array([topics[story] for story in common])
    return Data(pd.concat(tables, axis=1), y, views=views, standardize=False)


def _counts(stem, paper):
    stories, terms = (stem.with_suffix(ending).read_text().split() for ending in (".docs", ".terms"))
    counts = mmread(stem.with_suffix(".mtx")).T.toarray()
    return pd.DataFrame(counts, index=map(int, stories), columns=[f"{paper}_{term}" for term in terms])


def _weights(counts):
    """Return tf-idf of the terms that enough stories have."""
    counts = counts.loc[:, (counts > 0).sum() >= FEW_DOCUMENTS]
    weights = TfidfTransformer(sublinear_tf=True).fit_transform(counts.to_numpy()).toarray()
    return pd.DataFrame(weights, columns=counts.columns)


def handwritten():
    X, y, views = fetch_mfeat(download=False)
    names = {view: [f"{view}_{k}" for k in range(part.stop - part.start)] for view, part in views.items()}
    return Data(pd.DataFrame(X, columns=[name for part in names.values() for name in part]), y, views=names)


def faces(grouped):
    path = data_home() / "precomputed" / "jaffe_expression_12k.mat"
    grams, expression = read_grams(path, variable="Ks", labels="g")
    _, person = read_grams(path, variable="Ks", labels="y")
    groups = np.array([f"person{k}" for k in person]) if grouped else None
    return Data(grams, expression, GRAMS, groups=groups, grouped_by="person")


GENERATED_VIEWS = ("group", "view1", "view2", "view3", "noise1", "noise2")


def generated(locality, *, regression=False, grouped=False, n_samples=1500):
    """Three groups whose own views matter by `locality`; known groups need not be seen in the columns."""
    X, y, groups, slices = make_localized(n_samples, locality=locality, regression=regression, random_state=0)
    views = {
        name: [f"{name}_{k + 1}" for k in range(part.stop - part.start)]
        for name, part in zip(GENERATED_VIEWS, slices, strict=True)
    }
    frame = pd.DataFrame(X, columns=[name for part in views.values() for name in part])
    target = NUMBERS if regression else CLASSES
    if not grouped:
        return Data(frame, y, views=views, target=target)
    frame = frame.drop(columns=views.pop("group"))
    hospitals = np.array(["north", "south", "west"])[groups]
    return Data(frame, y, views=views, groups=hospitals, grouped_by="hospital", target=target)


def organisms():
    """Human and mouse TATA promoters, 200 letters before the start and 50 after it.

    The 300 letters of the human ones begin at -249: TATA box and start stand 49 letters further right.
    """
    human, mouse = human_promoters(), mouse_promoters()
    cut = np.array([sequence[49:] for sequence in human.X], dtype=object)
    return _pooled({"human": (cut, human.y), "mouse": (mouse.X, mouse.y)}, "organism")


def acceptors():
    """Acceptor sites of C. elegans and of primates, and letters AG that are none: 40 letters, AG at 20:22."""
    worm = fetch_celegans_acceptor(82, download=False)
    X, y, _ = load_splice()
    sites = [sequence[8:48] for sequence in X[y == "IE"] if sequence[28:30] == "AG"]
    # AG somewhere in the middle, so that 20 letters stand before it and 18 after it.
    others = [(sequence, sequence[20:42].find("AG")) for sequence in X[y == "N"]]
    others = [sequence[at : at + 40] for sequence, at in others if at >= 0]
    primate = np.array(sites + others, dtype=object), np.repeat([1, -1], [len(sites), len(others)])
    short = np.array([sequence[20:60] for sequence in worm.sequences], dtype=object)
    return _pooled({"worm": (short, worm.y), "primate": primate}, "organism")


def _pooled(parts, grouped_by):
    """Return as many rows of each class from each group: all of the rarest class in the smallest group."""
    n_each = min(np.sum(y == label) for _, y in parts.values() for label in (-1, 1))
    X, y, groups = [], [], []
    for name, (rows, labels) in parts.items():
        rng = np.random.default_rng(0)
        chosen = [rng.permutation(np.flatnonzero(labels == label))[:n_each] for label in (-1, 1)]
        X += [rows[np.concatenate(chosen)]]
        y += [labels[np.concatenate(chosen)]]
        groups += [name] * (2 * n_each)
    groups = np.array(groups)
    return Data(np.concatenate(X), np.concatenate(y), SEQUENCES, groups=groups, grouped_by=grouped_by)


SETS = {
    "breast cancer": Set("cells", partial(of_scikit_learn, shipped.load_breast_cancer, views=_tens), 200),
    "wine": Set("chemistry", partial(of_scikit_learn, shipped.load_wine), 100),
    "diabetes": Set("patients, a number", partial(of_scikit_learn, shipped.load_diabetes, scaled=False), 250),
    "digits": Set("pixels", partial(of_scikit_learn, shipped.load_digits), 200),
    "splice": Set("splice junctions of primates", splice, 300),
    "E. coli": Set("promoters", bacterial_promoters, 70),
    "mouse": Set("TATA promoters", mouse_promoters, 300),
    "human": Set("TATA promoters", human_promoters, 300),
    "ROSMAP": Set("three omics", rosmap, 240),
    "3sources": Set("news in three papers", three_sources, 100),
    "mfeat": Set("digits in six views", handwritten, 200),
    "JAFFE": Set("expressions of faces, 12 Grams", partial(faces, False), 140),
    "generated local": Set("each group its view", partial(generated, 1.0), 300),
    "generated global": Set("one view for all", partial(generated, 0.0), 300),
    "generated numbers": Set("half local, a number", partial(generated, 0.5, regression=True), 300),
    "organisms": Set("promoters by organism", organisms, 240),
    "acceptors": Set("splice sites by organism", acceptors, 240),
    "faces by person": Set("expressions by person, 12 Grams", partial(faces, True), 140),
    "hospitals": Set("generated, groups known", partial(generated, 0.5, grouped=True), 240),
}


def _quick(load, **options):
    return replace(load(**options), quick=True)


SMOKE = {
    "sequences": Set("splice junctions", partial(_quick, splice), 60, 60),
    "groups": Set("generated", partial(_quick, generated, locality=0.5, grouped=True, n_samples=90), 60),
}
"""Sets that need no data home: sequences, and a table with known groups."""


@cache
def load(name):
    """Return the data of a set, once in each process."""
    return {**SETS, **SMOKE}[name].load()
