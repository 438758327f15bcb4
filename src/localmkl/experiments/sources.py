"""The data of the experiments: what is read or generated, which kernels, which splits.

A loaded data set answers ``task(point, repetition)``, always with the same split for the same question.
"""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from localmkl.datasets import (
    fetch_celegans_acceptor,
    fetch_flowers17,
    fetch_human_promoters,
    fetch_mfeat,
    fetch_mouse_promoters,
    fetch_protein_fold,
    fetch_protein_sources,
    load_splice,
    make_localized,
)
from localmkl.experiments.protocol import Task
from localmkl.kernels import (
    RBF,
    Chi2,
    Cosine,
    GramStack,
    Linear,
    Polynomial,
    PropertyProfile,
    PseudoAminoAcid,
    ResidueGroups,
    SmithWaterman,
    Spectrum,
    WeightedDegree,
)
from localmkl.kernels.stack import compute_stack, cosine_scales, fit_kernels

N_INSTANCES = 1000
"""Sequences drawn, as in the paper."""

DRAW_SEED = 0
"""Seed of the draw of instances from a larger set; repetitions then split these."""

LOCAL_SIZES = {"train": 400, "valid": 300, "test": 600}
"""Rows of the generated data: some 130 for each group to learn from, and an accuracy known to 1.5 points."""


@dataclass(frozen=True)
class Instances:
    """A fixed set; a repetition permutes it: n rows for training, half of the rest for validation."""

    stack: GramStack
    y: np.ndarray
    kernels: tuple
    normalize: str = "multiplicative"
    gate_kernel: int | None = None

    def task(self, n_train, repetition):
        """Return the split of this repetition with `n_train` training rows."""
        order, train, valid, test = permuted(len(self.y), n_train, repetition)
        # Hundreds of fits read these rows: a copy in their order is read twice as fast.
        stack = GramStack(self.stack[np.ix_(order, order)].to_array())
        return Task(stack, self.y[order], train, valid, test, self.normalize, self.gate_kernel)

    @property
    def description(self):
        """Facts that the rows of a result file must have in common."""
        return describe(self)


@dataclass(frozen=True)
class Rows:
    """As `Instances`, with kernels that learn their widths from the training rows of each split."""

    X: np.ndarray
    y: np.ndarray
    kernels: tuple
    normalize: str = "multiplicative"
    gate_kernel: int | None = None

    def task(self, n_train, repetition):
        """Return the split of this repetition with `n_train` training rows."""
        order, train, valid, test = permuted(len(self.y), n_train, repetition)
        X = self.X[order]
        stack = compute_stack(fit_kernels(list(self.kernels), X[train]), X)
        return Task(stack, self.y[order], train, valid, test, self.normalize, self.gate_kernel)

    @property
    def description(self):
        """Facts that the rows of a result file must have in common."""
        return describe(self)


@dataclass(frozen=True)
class FixedSplit:
    """Training and test rows as published; a repetition changes seeds (folds, k-means), not rows."""

    stack: GramStack
    y: np.ndarray
    kernels: tuple
    train: np.ndarray
    test: np.ndarray
    normalize: str = "multiplicative"
    gate_kernel: int | None = None

    def task(self, point, repetition):
        """Return the published split."""
        return Task(self.stack, self.y, self.train, None, self.test, self.normalize, self.gate_kernel)

    @property
    def description(self):
        """Facts that the rows of a result file must have in common."""
        return describe(self)


@dataclass(frozen=True)
class OuterFolds:
    """A table whose columns are views; repetition k holds out the k-th of `n_folds` outer folds.

    The kernels learn their widths from the training rows of the fold.
    """

    X: np.ndarray
    y: np.ndarray
    kernels: tuple
    n_folds: int = 11
    normalize: str = "multiplicative"
    gate_kernel: int | None = None

    def task(self, point, repetition):
        """Return the outer fold of this repetition."""
        train, test = outer_fold(self.y, self.n_folds, repetition)
        stack = compute_stack(fit_kernels(list(self.kernels), self.X[train]), self.X)
        return Task(stack, self.y, train, None, test, self.normalize, self.gate_kernel)

    @property
    def description(self):
        """Facts that the rows of a result file must have in common."""
        return {**describe(self), "outer_folds": self.n_folds}


@dataclass(frozen=True)
class ImageFolder:
    """Images on disk; repetition k learns the visual words on the training images of outer fold k.

    Images are described once, when the folder is loaded, in `cache`.
    """

    images: np.ndarray
    y: np.ndarray
    words: tuple
    contents: str
    cache: Path
    n_folds: int = 11
    kernels: tuple = ("Chi2 over visual words",)
    normalize: str = "multiplicative"
    gate_kernel: int | None = None

    def task(self, point, repetition):
        """Return the outer fold of this repetition."""
        train, test = outer_fold(self.y, self.n_folds, repetition)
        return Task(self.stack(train), self.y, train, None, test, self.normalize, self.gate_kernel)

    def stack(self, train):
        """Return the Grams of all images; words and widths are learned on the training images."""
        from localmkl.experiments.visual_words import Descriptors, describe_images

        grams = []
        for word in self.words:
            path = describe_images(word, self.images, self.contents, self.cache)
            described = Descriptors.load(path)
            histograms = clone(word).fit(described[train]).transform(described)
            grams.append(Chi2().fit(histograms[train])(histograms))
        return GramStack(grams)

    @property
    def description(self):
        """Facts that the rows of a result file must have in common."""
        words = [repr(word) for word in self.words]
        return {**describe(self), "images": self.contents, "outer_folds": self.n_folds, "words": words}


@dataclass(frozen=True)
class Localized:
    """`make_localized` with the point as locality: view 0 shows the group, its kernel is the gate kernel."""

    sizes: dict = field(default_factory=lambda: dict(LOCAL_SIZES))

    def task(self, locality, repetition):
        """Return newly generated rows."""
        data = make_localized(sum(self.sizes.values()), locality=locality, random_state=repetition)
        kernels = [Linear(columns=view) for view in data.views]
        stack = compute_stack(fit_kernels(kernels, data.X), data.X)
        train, valid, test = np.split(np.arange(len(data.y)), np.cumsum(list(self.sizes.values()))[:-1])
        return Task(stack, data.y, train, valid, test, gate_kernel=0)

    @property
    def description(self):
        """Facts that the rows of a result file must have in common."""
        return {"sizes": self.sizes, "normalize": "multiplicative", "gate_kernel": 0}


def permuted(n_rows, n_train, repetition):
    """Return the order of rows in a repetition, and in it those for training, validation and testing."""
    if not 2 <= n_train <= n_rows - 4:
        raise ValueError(
            f"A training size must lie between 2 and {n_rows - 4} with {n_rows} instances, got {n_train}."
        )
    order = np.random.default_rng([DRAW_SEED, repetition]).permutation(n_rows)
    train, valid, test = np.split(np.arange(n_rows), [n_train, n_train + (n_rows - n_train) // 2])
    return order, train, valid, test


def outer_fold(y, n_folds, k):
    """Return training and test rows of the k-th stratified fold."""
    if not 0 <= k < n_folds:
        raise ValueError(f"There are {n_folds} outer folds, repetition {k} is none of them; ask for fewer.")
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=DRAW_SEED)
    return list(folds.split(np.zeros(len(y)), y))[k]


def describe(data):
    """Return the identity of a data set: labels, kernels, normalisation, gate kernel."""
    labels = hashlib.sha256(" ".join(map(str, data.y)).encode()).hexdigest()[:16]
    return {
        "instances": len(data.y),
        "labels": labels,
        "kernels": [str(kernel) for kernel in data.kernels],
        "normalize": data.normalize,
        "gate_kernel": data.gate_kernel,
    }


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


def with_stack(kernels, X, y, train=None, **options):
    """Return `Instances` of these rows, or a `FixedSplit`; kernels learn from the training rows."""
    rows = X if train is None else X[train]
    stack = compute_stack(fit_kernels(kernels, rows), X)
    stack.check_training()  # once here, not once in every worker
    if train is None:
        return Instances(stack, y, tuple(kernels), **options)
    return FixedSplit(stack, y, tuple(kernels), train, **options)


def splice_kernels():
    """Return the 20 weighted-degree kernels, of degree 1 to 20."""
    return [WeightedDegree(degree) for degree in range(1, 21)]


def load_acceptor(length):
    """Return 1000 acceptor sites of C. elegans, half of them spliced (of 82 letters there are 200)."""
    X, y, _ = fetch_celegans_acceptor(length)
    positive = min(N_INSTANCES // 2, int(np.sum(y == 1)))
    rows = draw(y, {1: positive, -1: N_INSTANCES - positive})
    return with_stack(splice_kernels(), X[rows], y[rows])


def load_uci_splice(n_instances=N_INSTANCES):
    """Return shipped splice junctions, half of them donor sites."""
    X, y, _ = load_splice("EI")
    rows = draw(y, {1: n_instances // 2, -1: n_instances - n_instances // 2})
    return with_stack(splice_kernels(), X[rows], y[rows])


def promoter_kernels(degree=24, shift=32, window=70):
    """Return the five kernels after ARTS on the columns of `promoter_columns`.

    Weighted degree with shifts around the start of transcription (70 letters to either side, where there are
    so many), spectra of the 4-mers before and after it, twisting angles and stacking energies smoothed over
    70 letters. ARTS looks 600 letters back and 900 ahead; here there are as many as the sequences have.
    """
    return [
        WeightedDegree(degree, shift=shift, column=0),
        Spectrum(4, column=1),
        Spectrum(4, column=2),
        PropertyProfile("twist", window=window, column=3),
        PropertyProfile("stacking", window=window, column=3),
    ]


def promoter_columns(sequences, start, around=70):
    """Return the parts of the sequences that the five kernels look at, as a table of strings.

    Transcription starts at letter `start`.
    """
    parts = [(max(0, start - around), start + around), (0, start), (start, None), (0, None)]
    table = np.empty((len(sequences), len(parts)), dtype=object)
    for column, (first, last) in enumerate(parts):
        table[:, column] = [sequence[first:last] for sequence in sequences]
    return table


def load_mouse():
    """Return the 1255 mouse promoters of EPDnew and as many other sequences."""
    X, y, _ = fetch_mouse_promoters("epd")
    promoters = int(np.sum(y == 1))
    rows = draw(y, {1: promoters, -1: promoters})
    table = promoter_columns(X[rows], start=200)
    return with_stack(promoter_kernels(), table, y[rows], normalize="trace", gate_kernel=0)


HUMAN_STARTS = {"tata": 249, "notata_core": 33}
"""First letter that is transcribed, found from the promoters: a start is a purine after a pyrimidine, as 77 %
of the first kind have at letter 249 and 72 % of the second at 33 (elsewhere at most 36 and 26 %), and TATA is
most often 30 letters before it, at 219 (of mouse, whose start is known to be at 200: at 170)."""
N_PROMOTERS = 1255
"""Promoters drawn of the human ones: as many as there are of mouse."""


def load_human(kind):
    """Return 1255 human promoters and as many others of the sequences that are there once; `kind` as fetched.

    The core promoters have 70 letters: their properties are smoothed over 20, for they have no 70 values.
    What is no core promoter was made from them, it seems: of its pieces of ten letters 27 % stand at the same
    place in one of the promoters, and 5 % at another place.
    """
    X, y = _present_once(kind)
    return _promoters_like_these(X, y, kind)


def load_core_promoters_beside_others():
    """Return 1255 human core promoters and as many pieces of other human sequences."""
    X, y = core_promoters_beside_others()
    return _promoters_like_these(X, y, "notata_core")


def core_promoters_beside_others():
    """Return the human core promoters, pieces of human sequences that are no promoters, and their labels.

    The pieces are the first 70 letters of what stands beside the TATA promoters: natural sequences, chosen
    for what they have some 200 letters further on.
    """
    X, y = _present_once("notata_core")
    others, known = _present_once("tata")
    promoters = X[y == 1]
    pieces = np.setdiff1d([sequence[:70] for sequence in others[known == -1]], promoters)
    return np.concatenate([promoters, pieces]), np.repeat([1, -1], [len(promoters), len(pieces)])


def _present_once(kind):
    """Return the human sequences of a kind that are there once, and their labels."""
    X, y, _ = fetch_human_promoters(kind, download=False)
    _, first, counts = np.unique(X, return_index=True, return_counts=True)
    once = first[counts == 1]
    return X[once], y[once]


def _promoters_like_these(X, y, kind):
    """Return 1255 promoters and as many others of these sequences, under the five kernels."""
    rows = draw(y, {1: N_PROMOTERS, -1: N_PROMOTERS})
    table = promoter_columns(X[rows], HUMAN_STARTS[kind])
    kernels = promoter_kernels(window=70 if kind == "tata" else 20)
    return with_stack(kernels, table, y[rows], normalize="trace", gate_kernel=0)


def load_uci_as_promoters(n_instances=200):
    """Return shipped splice junctions under the five kernels: a stand-in for a quick look."""
    X, y, _ = load_splice("IE")
    rows = draw(y, {1: n_instances // 2, -1: n_instances - n_instances // 2})
    kernels = promoter_kernels(degree=6, shift=4, window=10)
    return with_stack(kernels, promoter_columns(X[rows], start=30), y[rows], normalize="trace", gate_kernel=0)


def load_fold_kernels():
    """Return the 12 original protein kernels, cut to rank 27."""
    data = fetch_protein_fold()
    stack = data.grams
    stack.check_training()
    kernels = tuple(f"original kernel {m + 1} of 12, rank 27" for m in range(stack.n_kernels))
    return FixedSplit(stack, data.y, kernels, data.train, data.test)


def load_fold_sources(cosine=False):
    """Return the 12 original protein kernels, computed from their sources; with `cosine`, k(x, x) made one.

    Features are compared by polynomials of degree 2, Smith-Waterman scores by the cosine, both after all
    694 proteins gave their columns mean zero and variance one. The paper does not say so; but cut to rank 27,
    these kernels are those of `load_fold_kernels` to the last digits. Squares make outliers of a few
    proteins, which k-means takes for clusters; the cosine takes that out.
    """
    data = fetch_protein_sources()
    kernels = fold_kernels(data.views, len(data.y))
    stack = compute_stack(fit_kernels(kernels, data.X), data.X)
    if cosine:
        stack = GramStack([cosine_of(gram) for gram in stack.to_array()])
        kernels = [f"cosine of {kernel}" for kernel in kernels]
    stack.check_training()
    return FixedSplit(stack, data.y, tuple(kernels), data.train, data.test)


def cosine_of(gram):
    """Return k(x, y) / sqrt(k(x, x) k(y, y)) of a Gram."""
    scales = cosine_scales(np.diag(gram))
    return gram * scales * scales[:, None]


def fold_kernels(views, n_proteins):
    """Return the kernels of the twelve sources, (1 + x'y)^2 or the cosine, not fitted."""
    # Variances divided by n - 1, as the originals have them: products of columns shrink by this factor.
    gamma = 1.0 - 1.0 / n_proteins
    return [
        Cosine(columns=columns, standardize=True)
        if name.startswith("SW")
        else Polynomial(degree=2, gamma=gamma, columns=columns, standardize=True)
        for name, columns in views.items()
    ]


FOLD_FEATURES = (
    ResidueGroups("composition"),
    ResidueGroups("hydrophobicity"),
    ResidueGroups("volume"),
    ResidueGroups("polarity"),
    ResidueGroups("polarizability"),
    PseudoAminoAcid(lag=1),
    PseudoAminoAcid(lag=4),
    PseudoAminoAcid(lag=14),
    PseudoAminoAcid(lag=30),
)
FOLD_ALIGNMENTS = (SmithWaterman(matrix="blosum62"), SmithWaterman(matrix="pam50"))


def load_fold_sequences():
    """Return 11 of the 12 protein kernels, computed from the sequences (all but secondary structure).

    Features are standardised on the training rows and compared by polynomials of degree 2; alignment scores
    with the training proteins are compared by the cosine, which takes out the length of the sequences (and
    is far better in cross-validation within the training proteins).
    """
    data = fetch_protein_fold(grams=False)
    grams = []
    for kernel in FOLD_FEATURES:
        table = kernel.features(data.sequences)
        table = StandardScaler().fit(table[data.train]).transform(table)
        grams.append(Polynomial(degree=2)(table))
    for kernel in FOLD_ALIGNMENTS:
        grams.append(cosine_of(kernel.fit(data.sequences[data.train])(data.sequences)))
    stack = GramStack(grams)
    stack.check_training()
    return FixedSplit(stack, data.y, (*FOLD_FEATURES, *FOLD_ALIGNMENTS), data.train, data.test)


def load_generated_classes(n_train=60, n_test=60, n_kernels=4):
    """Return generated rows of three classes in a few views: a stand-in for a quick look."""
    X, y = make_classification(
        n_train + n_test, 3 * n_kernels, n_informative=6, n_classes=3, random_state=DRAW_SEED
    )
    kernels = [RBF(columns=slice(3 * m, 3 * m + 3)) for m in range(n_kernels)]
    train, test = np.arange(n_train), np.arange(n_train, n_train + n_test)
    return with_stack(kernels, X, y, train, test=test)


def load_digits_in_views():
    """Return the digits of `fetch_mfeat`: chi2 kernels on views without negative values, else RBF."""
    data = fetch_mfeat()
    return OuterFolds(data.X, data.y, view_kernels(data))


def load_digits_to_split():
    """Return 1000 of these digits, 100 of each kind, to be split at random."""
    data = fetch_mfeat()
    kinds = np.unique(data.y)
    rows = draw(data.y, dict.fromkeys(kinds.tolist(), N_INSTANCES // len(kinds)))
    return Rows(data.X[rows], data.y[rows], view_kernels(data))


def view_kernels(data):
    """Return a kernel for each view: chi2 where there are no negative values, else RBF."""
    return tuple(
        Chi2(columns=columns) if data.X[:, columns].min() >= 0.0 else RBF("median", columns=columns)
        for columns in data.views.values()
    )


def load_small_digits(n_samples=90):
    """Return a few 8 x 8 digits of three classes, chi2 kernels on their quarters, for a quick look."""
    X, y, kernels = small_digits(n_samples)
    return OuterFolds(X, y, kernels, n_folds=3)


def load_small_digits_to_split(n_samples=120):
    """Return such digits, to be split at random."""
    return Rows(*small_digits(n_samples))


def small_digits(n_samples):
    """Return rows, labels and kernels of a few digits."""
    X, y = load_digits(n_class=3, return_X_y=True)
    X, y = X[:n_samples], y[:n_samples]
    quarters = np.arange(64).reshape(2, 4, 2, 4).transpose(0, 2, 1, 3).reshape(4, 16)
    return X, y, tuple(Chi2(columns=quarter.tolist()) for quarter in quarters)


def load_image_folder(path, n_folds=11, **options):
    """Return the images of a folder that has one folder for each class."""
    from localmkl.experiments.visual_words import read_image_folder

    images, y = read_image_folder(Path(path))
    labels, counts = np.unique(y, return_counts=True)
    if counts.min() < n_folds:
        raise ValueError(
            f"Every class needs {n_folds} images or more, one for each outer fold, got {counts.min()} in "
            f"{str(labels[counts.argmin()])!r}; add some or remove the folder."
        )
    return load_images(images, y, n_folds, **options)


def load_images(images, y, n_folds=11, **options):
    """Return images, described under the nine features of the paper."""
    from localmkl.experiments.visual_words import (
        cache_home,
        describe_images,
        identify_images,
        paper_visual_words,
    )

    words = tuple(word for _, word in paper_visual_words(random_state=DRAW_SEED, **options))
    contents, cache = identify_images(images), cache_home()
    for word in words:  # here, where OpenCV has all cores, not once in every worker
        describe_images(word, images, contents, cache)
    return ImageFolder(images, y, words, contents, cache, n_folds)


def load_flowers(**options):
    """Return the 1360 photographs of flowers; their descriptors take 6 GB of disk."""
    images, y = fetch_flowers17()
    return load_images(images, y, **options)


def load_flowers_stack(**options):
    """Return the photographs of flowers under fixed kernels, for splits of any size.

    Visual words and kernel widths are learned on all images, whose labels are not looked at.
    """
    data = load_flowers(**options)
    kernels = tuple(f"Chi2 over {word}" for word in data.words)
    return Instances(data.stack(np.arange(len(data.y))), data.y, kernels)
