"""The data of the experiments: what is read or generated, under which kernels, and how it is split."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

import localmkl
from localmkl import GramStack
from localmkl.datasets.downloading import locate_all
from localmkl.kernels import (
    RBF,
    Chi2,
    Cosine,
    Linear,
    Polynomial,
    PseudoAminoAcid,
    Spectrum,
    WeightedDegree,
    compute_stack,
    fit_kernels,
)
from reproduction.protocol import Task
from reproduction.sequence_kernels import PropertyProfile, ResidueGroups, SmithWaterman

N_INSTANCES = 1000
"""Sequences drawn, as in the paper."""
DRAW_SEED = 0
"""Seed of the draw of instances from a larger set; repetitions then split these."""
N_PROMOTERS = 1255
"""Promoters drawn of the human ones: as many as there are of mouse."""
HUMAN_STARTS = {"tata": 249, "notata_core": 33}
"""First letter that is transcribed, found from the promoters: a start is a purine after a pyrimidine, as 77 %
of the first kind have at letter 249 and 72 % of the second at 33 (elsewhere at most 36 and 26 %), and TATA is
most often 30 letters before it, at 219 (of mouse, whose start is known to be at 200: at 170)."""


FOLD_SOURCES = (
    *("Composition", "Secondary", "Hydrophobicity", "Volume", "Polarity", "Polarizability"),
    *("L1", "L4", "L14", "L30", "SWblosum62", "SWpam50"),
)
"""Tables of the twelve sources on proteins."""


@dataclass(frozen=True)
class Data:
    """Rows under kernels, split anew in every repetition.

    `split` returns (training, validation, test) rows for (labels, point, repetition). `grams` is the array of
    all Grams, or a function of the training rows that returns it: kernels learn their widths from these.
    """

    y: np.ndarray
    kernels: tuple
    split: Callable
    grams: np.ndarray | Callable
    normalize: str = "multiplicative"
    gate_kernel: int | None = None
    more: dict = field(default_factory=dict)

    def task(self, point, repetition):
        """Return the split of this repetition, its rows in the order training, validation, test."""
        train, valid, test = self.split(self.y, point, repetition)
        order = np.concatenate([train, valid, test]).astype(int)
        ranges = cut(len(train), len(valid), len(test))
        grams = self.grams(train) if callable(self.grams) else self.grams
        stack = GramStack(np.stack([gram[np.ix_(order, order)] for gram in grams]))
        return Task(stack, self.y[order], *ranges, self.normalize, self.gate_kernel)

    @property
    def facts(self):
        """What the rows of a result file must have in common."""
        return {**describe(self.y, self.kernels, self.normalize, self.gate_kernel), **self.more}


def cut(*sizes):
    """Return consecutive ranges of these sizes."""
    return [range(sum(sizes[:k]), sum(sizes[: k + 1])) for k in range(len(sizes))]


def describe(y, kernels, normalize="multiplicative", gate_kernel=None):
    """Return the identity of a data set: labels, kernels, normalisation, gate kernel."""
    return {
        "instances": len(y),
        "labels": hashlib.sha256(" ".join(map(str, y)).encode()).hexdigest()[:16],
        "kernels": [str(kernel) for kernel in kernels],
        "normalize": normalize,
        "gate_kernel": gate_kernel,
    }


def permuted(y, n_train, repetition):
    """Return n random rows for training, and half of the others for validation."""
    if not 2 <= n_train <= len(y) - 4:
        raise ValueError(f"A training size must lie between 2 and {len(y) - 4}, got {n_train}.")
    order = np.random.default_rng([DRAW_SEED, repetition]).permutation(len(y))
    return np.split(order, [n_train, n_train + (len(y) - n_train) // 2])


def outer_fold(y, point, repetition, n_folds=11):
    """Return training and test rows of a stratified fold."""
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=DRAW_SEED).split(np.zeros(len(y)), y)
    train, test = list(folds)[repetition]
    return train, [], test


def published_split(train, test):
    """Return the function that splits as published; a repetition changes seeds (folds, k-means), not rows."""
    return lambda y, point, repetition: (train, [], test)


def all_grams(kernels, X, train=None):
    """Return the Grams of all rows; kernels learn from the training rows."""
    return compute_stack(fit_kernels(list(kernels), X if train is None else X[train]), X).to_array()


def draw(y, counts):
    """Return rows, as many of each class as asked for, in random order.

    Examples
    --------
    >>> y = np.array([1, 1, 1, -1, -1])
    >>> sorted(y[draw(y, {1: 2, -1: 1})].tolist())
    [-1, 1, 1]
    """
    rng = np.random.default_rng(DRAW_SEED)
    rows = [rng.choice(np.flatnonzero(y == label), count, replace=False) for label, count in counts.items()]
    return rng.permutation(np.concatenate(rows))


def splice_sites(X, y, n_instances=N_INSTANCES):
    """Return sites, half of them positive where there are enough, under weighted degrees 1 to 20."""
    positive = min(n_instances // 2, int(np.sum(y == 1)))
    rows = draw(y, {1: positive, -1: n_instances - positive})
    kernels = tuple(WeightedDegree(degree) for degree in range(1, 21))
    return Data(y[rows], kernels, permuted, all_grams(kernels, X[rows]))


def load_acceptor(length):
    """Return 1000 acceptor sites of C. elegans."""
    return splice_sites(*localmkl.datasets.fetch_celegans_acceptor(length)[:2])


def load_uci_splice():
    """Return shipped splice junctions, half of them donor sites."""
    return splice_sites(*localmkl.datasets.load_splice("EI")[:2])


def promoters(X, y, start, window=70):
    """Return sequences under the five kernels after ARTS; transcription starts at letter `start`.

    Weighted degree with shifts around the start (70 letters to either side, where there are so many), spectra
    of the 4-mers before and after it, twisting angles and stacking energies smoothed over a window. ARTS
    looks 600 letters back and 900 ahead; here there are as many as the sequences have.
    """
    parts = [(max(0, start - 70), start + 70), (0, start), (start, None), (0, None)]
    table = np.empty((len(X), len(parts)), dtype=object)
    for column, (first, last) in enumerate(parts):
        table[:, column] = [sequence[first:last] for sequence in X]
    kernels = (
        WeightedDegree(24, shift=32, column=0),
        Spectrum(4, column=1),
        Spectrum(4, column=2),
        PropertyProfile("twist", window=window, column=3),
        PropertyProfile("stacking", window=window, column=3),
    )
    return Data(y, kernels, permuted, all_grams(kernels, table), "trace", gate_kernel=0)


def load_mouse():
    """Return the 1255 mouse promoters of EPDnew and as many other sequences."""
    X, y, _ = localmkl.datasets.fetch_mouse_promoters("epd")
    rows = draw(y, dict.fromkeys((1, -1), int(np.sum(y == 1))))
    return promoters(X[rows], y[rows], start=200)


def load_human(kind):
    """Return 1255 human promoters and as many others of the sequences that are there once; `kind` as fetched.

    What is no core promoter was made from them, it seems: of its pieces of ten letters 27 % stand at the same
    place in one of the promoters, and 5 % at another place.
    """
    return human_promoters(*present_once(kind), kind)


def load_core_promoters_beside_others():
    """Return 1255 human core promoters and as many pieces of other human sequences."""
    return human_promoters(*core_promoters_beside_others(), "notata_core")


def core_promoters_beside_others():
    """Return the human core promoters, pieces of human sequences that are no promoters, and their labels.

    The pieces are the first 70 letters of what stands beside the TATA promoters: natural sequences, chosen
    for what they have some 200 letters further on.
    """
    X, y = present_once("notata_core")
    others, known = present_once("tata")
    cores = X[y == 1]
    pieces = np.setdiff1d([sequence[:70] for sequence in others[known == -1]], cores)
    return np.concatenate([cores, pieces]), np.repeat([1, -1], [len(cores), len(pieces)])


def present_once(kind):
    """Return the human sequences of a kind that are there once, and their labels."""
    X, y, _ = localmkl.datasets.fetch_human_promoters(kind)
    _, first, counts = np.unique(X, return_index=True, return_counts=True)
    once = first[counts == 1]
    return X[once], y[once]


def human_promoters(X, y, kind):
    """Return 1255 promoters and as many others; core promoters have no 70 values to smooth."""
    rows = draw(y, dict.fromkeys((1, -1), N_PROMOTERS))
    return promoters(X[rows], y[rows], HUMAN_STARTS[kind], window=70 if kind == "tata" else 20)


def load_fold_kernels():
    """Return the 12 original protein kernels, cut to rank 27."""
    data = localmkl.datasets.fetch_protein_fold()
    kernels = tuple(f"original kernel {m + 1} of 12, rank 27" for m in range(data.grams.n_kernels))
    return Data(data.y, kernels, published_split(data.train, data.test), data.grams.to_array())


def read_fold_sources():
    """Return (X, y, columns of each source, training rows, test rows) of 694 proteins in twelve sources.

    Ten tables of features and two of Smith-Waterman scores with the training proteins, of Damoulas and
    Girolami (Bioinformatics 24, 2008), rows as in `fetch_protein_fold`.
    """
    train, test = (
        [np.loadtxt(path, delimiter=",", ndmin=2) for path in locate_all(keys)]
        for keys in ([f"fold_{name}_{part}" for name in (*FOLD_SOURCES, "t")] for part in ("Train", "Test"))
    )
    tables = [np.vstack(pair) for pair in zip(train, test, strict=True)]
    y, ends = tables.pop().ravel().astype(int), np.cumsum([table.shape[1] for table in tables]).tolist()
    views = dict(zip(FOLD_SOURCES, map(slice, [0, *ends[:-1]], ends), strict=True))
    n_train = len(train[0])
    return np.hstack(tables), y, views, np.arange(n_train), np.arange(n_train, len(y))


def load_fold_sources():
    """Return the 12 original protein kernels, computed from their sources.

    Features are compared by polynomials of degree 2, Smith-Waterman scores by the cosine, both after all
    694 proteins gave their columns mean zero and variance one. The paper does not say so; but cut to rank 27,
    these kernels are those of `load_fold_kernels` to the last digits.
    """
    X, y, views, train, test = read_fold_sources()
    # Variances divided by n - 1, as the originals have them: products of columns shrink by this factor.
    gamma = 1.0 - 1.0 / len(y)
    kernels = tuple(
        Cosine(columns=columns, standardize=True)
        if name.startswith("SW")
        else Polynomial(degree=2, gamma=gamma, columns=columns, standardize=True)
        for name, columns in views.items()
    )
    return Data(y, kernels, published_split(train, test), all_grams(kernels, X))


def cosine_of(gram):
    """Return k(x, y) / sqrt(k(x, x) k(y, y)) of a Gram."""
    scales = 1.0 / np.sqrt(np.diag(gram))
    return gram * scales * scales[:, None]


FOLD_FEATURES = (
    *map(ResidueGroups, ("composition", "hydrophobicity", "volume", "polarity", "polarizability")),
    *map(PseudoAminoAcid, (1, 4, 14, 30)),
)
FOLD_ALIGNMENTS = (SmithWaterman("blosum62"), SmithWaterman("pam50"))


def load_fold_sequences():
    """Return 11 of the 12 protein kernels, computed from the sequences (all but secondary structure).

    Features are standardised on the training rows and compared by polynomials of degree 2; alignment scores
    with the training proteins are compared by the cosine, which takes out the length of the sequences (and
    is far better in cross-validation within the training proteins).
    """
    data = localmkl.datasets.fetch_protein_fold(grams=False)
    grams = []
    for kernel in FOLD_FEATURES:
        table = kernel.features(data.sequences)
        grams.append(Polynomial(degree=2)(StandardScaler().fit(table[data.train]).transform(table)))
    for kernel in FOLD_ALIGNMENTS:
        scores = kernel.scores(data.sequences, data.sequences[data.train])
        grams.append(cosine_of(scores @ scores.T / scores.shape[1]))
    kernels = (*FOLD_FEATURES, *FOLD_ALIGNMENTS)
    return Data(data.y, kernels, published_split(data.train, data.test), np.stack(grams))


def load_digits_in_views():
    """Return the 2000 digits of `fetch_mfeat` in outer folds."""
    data = localmkl.datasets.fetch_mfeat()
    return rows_in_views(data.X, data.y, data.views, outer_fold, {"outer_folds": 11})


def load_digits_to_split():
    """Return 1000 of these digits, 100 of each kind, to be split at random."""
    data = localmkl.datasets.fetch_mfeat()
    kinds = np.unique(data.y)
    rows = draw(data.y, dict.fromkeys(kinds.tolist(), N_INSTANCES // len(kinds)))
    return rows_in_views(data.X[rows], data.y[rows], data.views, permuted, {}, data.X)


def rows_in_views(X, y, views, split, more, everything=None):
    """Return rows with a kernel for each view: chi2 where there are no negative values, else RBF."""
    everything = X if everything is None else everything
    kernels = tuple(
        Chi2(columns=columns) if everything[:, columns].min() >= 0.0 else RBF("median", columns=columns)
        for columns in views.values()
    )
    return Data(y, kernels, split, lambda train: all_grams(kernels, X, train), more=more)


@dataclass(frozen=True)
class Localized:
    """`make_localized` with the point as locality: view 0 shows the group, its kernel is the gate kernel."""

    sizes: tuple = (400, 300, 600)

    def task(self, locality, repetition):
        """Return newly generated rows."""
        data = localmkl.datasets.make_localized(sum(self.sizes), locality=locality, random_state=repetition)
        grams = all_grams([Linear(columns=view) for view in data.views], data.X)
        return Task(GramStack(grams), data.y, *cut(*self.sizes), gate_kernel=0)

    @property
    def facts(self):
        """What the rows of a result file must have in common."""
        sizes = dict(zip(("train", "valid", "test"), self.sizes, strict=True))
        return {"sizes": sizes, "normalize": "multiplicative", "gate_kernel": 0}
