"""Which clusters pay: gates that see other things than the mean of the kernels, beside MKL.

    mean       kernel k-means in the mean of all kernels (the default)
    best       in the kernel that predicts best by folds of the training rows
    aligned    in the combination of kernels weighted by their alignment with the labels
    outputs    in what an MKL model's kernels add to its decisions: rows that are judged for the same reasons
    labels     in the mean of the kernels plus a kernel of the labels, seen at training rows alone
    two        memberships of `mean` and `best` side by side, half of each

Nested: outer splits, of whose training rows everything is learned; C, evenness and share are chosen by inner
folds, where the clusters are learned again.
"""

from typing import NamedTuple

import numpy as np
from reproduction.protocol import one_thread
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from localmkl import CLMKLClassifier, MKLClassifier, UniformMKLClassifier
from localmkl.datasets import fetch_mouse_promoters, load_splice, make_localized
from localmkl.datasets.fetchers import data_home
from localmkl.gates import kernel_kmeans, memberships, tau_for_evenness
from localmkl.kernels import RBF, GramStack, Linear, Spectrum, WeightedDegree
from localmkl.kernels.stack import NormalizedGrams, compute_stack, fit_kernels, learn_factors
from localmkl.model_selection import MKLSearchCV

N_CLUSTERS = 3
N_TRAIN = 300
GATES = ("mean", "best", "aligned", "outputs", "labels", "two")


class Plan(NamedTuple):
    """What is tried: costs, shares, evenness, outer splits and inner folds."""

    costs: list
    shares: list
    evenness: list
    n_outer: int
    n_inner: int


FULL = Plan([1.0, 10.0], [0.0, 0.5], [0.5, 0.8], 10, 4)
SMALL = Plan([1.0], [0.5], [0.5], 2, 2)


def run(smoke):
    rows = []
    for name, load in (SMOKE if smoke else SETS).items():
        try:
            stack, y = load()
        except FileNotFoundError as error:
            print(f"{name}: skipped, {error}")
            continue
        with one_thread():
            rows += _judge(name, stack, y, SMALL if smoke else FULL)
    return rows


def _judge(name, stack, y, plan):
    """Return a row for each gate: its mean AUC, and its lead over MKL with its standard error."""
    n_train = min(N_TRAIN, 2 * len(y) // 3)
    splits = StratifiedShuffleSplit(plan.n_outer, train_size=n_train, random_state=0).split(y, y)
    scores = np.array([_on_split(stack, y, *split, plan) for split in splits])
    leads = scores - scores[:, :1]
    errors = leads.std(axis=0, ddof=1) / np.sqrt(plan.n_outer)
    return [
        {
            "set": name,
            "n": n_train,
            "gate": gate,
            "AUC": round(100 * mean, 2),
            "over MKL": round(100 * lead, 2),
            "error": round(100 * error, 2),
        }
        for gate, mean, lead, error in zip(
            ("MKL", *GATES), scores.mean(axis=0), leads.mean(axis=0), errors, strict=True
        )
    ]


def _on_split(stack, y, train, test, plan):
    """Return the test scores of MKL and of every gate, whose parameters inner folds choose."""
    inner = [(train[a], train[b]) for a, b in StratifiedKFold(plan.n_inner).split(train, y[train])]
    found = [_candidates(stack, y, *fold, plan) for fold in inner]
    tested = _candidates(stack, y, train, test, plan)
    chosen = {}
    for method in tested:
        means = np.mean([one[method] for one in found], axis=0)
        chosen[method] = tested[method][int(means.argmax())]
    return list(chosen.values())


def _candidates(stack, y, train, test, plan):
    """Return {method: score of each of its candidates}, fitted on some rows, scored on others."""
    split = [(train, test)]
    options = {"cv": split, "scoring": "roc_auc", "refit": False}
    found = {"MKL": MKLSearchCV(MKLClassifier("precomputed"), {"C": plan.costs}, **options).fit(stack, y)}
    for gate, matrices in _gates(stack, y, train, test, plan.evenness).items():
        grid = {"gate": matrices, "C": plan.costs, "shared": plan.shares}
        found[gate] = MKLSearchCV(CLMKLClassifier("precomputed"), grid, **options).fit(stack, y)
    return {name: search.cv_results_["mean_test_score"] for name, search in found.items()}


def _gates(stack, y, train, test, levels):
    """Return {gate: memberships of all rows, for each evenness}, learned from the training rows."""
    rows = np.concatenate([train, test])
    square = stack[np.ix_(train, train)]
    grams = NormalizedGrams(stack[np.ix_(rows, train)], learn_factors("multiplicative", square))
    blocks = [grams.block(m) for m in range(stack.n_kernels)]
    mean, n_train = np.mean(blocks, axis=0), len(train)
    best = blocks[int(np.argmax(_single_scores(square, y[train])))]
    weights = np.maximum([_alignment(block[:n_train], y[train]) for block in blocks], 0.0)
    outputs = _outputs(stack, y, train, rows)
    labels = mean.copy()
    labels[:n_train] += 0.5 * (y[train][:, None] == y[train])
    kernels = {
        "mean": mean,
        "best": best,
        "aligned": np.tensordot(weights, blocks, axes=1),
        "outputs": outputs @ outputs[:n_train].T,
        "labels": labels,
    }
    gates = {
        name: [_spread(gram, level, rows, stack.shape[0]) for level in levels]
        for name, gram in kernels.items()
    }
    pairs = zip(gates["mean"], gates["best"], strict=True)
    return {**gates, "two": [np.hstack([one, other]) / 2.0 for one, other in pairs]}


def _spread(gram, level, rows, n_rows):
    """Return memberships at an evenness, for a Gram of rows with the training rows, which come first."""
    square = gram[: gram.shape[1]]
    averages, offsets, _ = kernel_kmeans(square, N_CLUSTERS, random_state=0)
    distances = offsets - 2.0 * gram @ averages
    tau = tau_for_evenness(level, distances[: gram.shape[1]])
    matrix = np.zeros((n_rows, N_CLUSTERS))
    matrix[:, 0] = 1.0  # rows that are in no part of this split are never looked at
    matrix[rows] = memberships(distances, tau)
    return matrix


def _single_scores(square, y):
    """Return how well each kernel alone predicts, by folds."""
    folds = StratifiedKFold(3)
    scores = []
    for m in range(square.n_kernels):
        one = GramStack(square.block(m)[None].copy())
        model = UniformMKLClassifier("precomputed", C=3.0)
        found = MKLSearchCV(model, {"C": [3.0]}, cv=folds, scoring="roc_auc", refit=False).fit(one, y)
        scores.append(found.cv_results_["mean_test_score"][0])
    return scores


def _alignment(gram, y):
    """Return the centred alignment of a Gram with the labels."""
    signs = np.where(y == y.max(), 1.0, -1.0)
    signs -= signs.mean()
    centred = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
    return signs @ centred @ signs / (np.linalg.norm(centred) * (signs @ signs))


def _outputs(stack, y, train, rows):
    """Return what each kernel of an MKL model adds to the decisions, standardised."""
    model = MKLClassifier("precomputed", C=3.0, p=2).fit(stack[np.ix_(train, train)], y[train])
    parts = model.contributions(stack[np.ix_(rows, train)])[:, 0]
    return (parts - parts[: len(train)].mean(axis=0)) / (parts[: len(train)].std(axis=0).max() + 1e-12)


def _splice():
    X, y, _ = load_splice("IE")
    rows = np.random.default_rng(0).permutation(len(y))[:1200]
    kernels = [WeightedDegree(d) for d in (2, 4, 8)] + [Spectrum(k) for k in (2, 3, 4)]
    return compute_stack(fit_kernels(kernels, X[rows]), X[rows]), y[rows]


def _mouse():
    X, y, _ = fetch_mouse_promoters("epd", download=False)
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.permutation(np.flatnonzero(y == label))[:500] for label in (1, -1)])
    kernels = [WeightedDegree(d, shift=4) for d in (4, 8)] + [Spectrum(k) for k in (2, 3, 4, 5)]
    return compute_stack(fit_kernels(kernels, X[rows]), X[rows]), y[rows]


def _rosmap():
    folder = data_home() / "rosmap"
    if not folder.exists():
        raise FileNotFoundError(f"{folder} must hold the ROSMAP tables")

    def read(name, ending):
        parts = [np.loadtxt(folder / f"{name}_{part}.{ending}", delimiter=",") for part in ("tr", "te")]
        return np.concatenate(parts)

    y, X = read("labels", "csv"), np.hstack([read(view, "csv.gz") for view in (1, 2, 3)])
    views = [list(range(first, first + 200)) for first in (0, 200, 400)]
    kernels = [kind(columns=own, standardize=True) for own in views for kind in (RBF, Linear)]
    return compute_stack(fit_kernels(kernels, X), X), y


def _generated(n_samples=900):
    X, y = make_localized(n_samples, random_state=0)[:2]
    kernels = [RBF(columns=[column]) for column in range(X.shape[1])]
    return compute_stack(fit_kernels(kernels, X), X), y


SETS = {"splice": _splice, "mouse promoters": _mouse, "ROSMAP": _rosmap, "generated": _generated}
SMOKE = {"generated": lambda: _generated(60)}
