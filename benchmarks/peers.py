"""Beside other packages that learn from several kernels: time of a fit, and accuracy on rows it has not seen.

All get the same Grams, half of the rows to train on and half to test on. Nothing is tuned: C = 1 for our
methods, where it means the same as for ``SVC`` on the mean of the kernels, and for that; EasyMKL has its
default, lambda = 0.1. himalaya searches weights and regulariser by its own cross-validation: that is its fit,
and sets of more than 300 training rows are left out to keep the run short. A package that is not
installed, or that fails, gives a row that says so. Computing is summed over threads.
"""

import time
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from benchmarks import harness
from benchmarks.references import make_blobs
from localmkl import CLMKLClassifier, GramStack, MKLClassifier
from localmkl.datasets import load_splice
from localmkl.kernels import RBF, WeightedDegree, compute_stack, fit_kernels

RIDGE_ROWS = 300
"""Most training rows that himalaya is asked to search on."""
QUICK = 5.0
"""Seconds: what takes less is timed three times, and the median counts."""


@dataclass(frozen=True)
class Halves:
    """Grams between training rows, and between test rows and these, (M, n, n), with their labels."""

    name: str
    train: np.ndarray
    test: np.ndarray
    y: np.ndarray
    y_test: np.ndarray

    @classmethod
    def of(cls, name, grams, y):
        """Split the rows of a square stack."""
        rows = np.arange(len(y))
        train, test = train_test_split(rows, test_size=0.5, stratify=y, random_state=0)
        return cls._between(name, grams, y, train, test)

    @classmethod
    def _between(cls, name, grams, y, train, test):
        own, cross = (np.stack([gram[np.ix_(rows, train)] for gram in grams]) for rows in (train, test))
        return cls(name, own, cross, y[train], y[test])


def run(smoke):
    """Return seconds and accuracy of every method on every set."""
    return [
        {"set": halves.name, "n": len(halves.y), "kernels": len(halves.train), "method": name, **row}
        for make in _sets(smoke)
        for halves in [make()]
        for name, row in _methods(halves)
    ]


def _sets(smoke):
    if smoke:
        return [partial(_blobs, 40)]
    return [partial(_blobs, 1000), partial(_blobs, 2000), _breast_cancer, _splice]


def _blobs(n):
    blobs = make_blobs(2 * n)
    return Halves.of("blobs", blobs.grams, blobs.y)


def _breast_cancer():
    """Return three widths on all columns, and an RBF kernel on each column."""
    X, y = load_breast_cancer(return_X_y=True)
    kernels = [RBF(factor=factor, standardize=True) for factor in (0.1, 1.0, 10.0)]
    kernels += [RBF(columns=column, standardize=True) for column in range(X.shape[1])]
    return Halves.of("breast cancer", _grams(kernels, X), np.where(y == 1, 1.0, -1.0))


def _splice():
    X, y, _ = load_splice("EI")
    kernels = [WeightedDegree(degree) for degree in range(1, 11)]
    return Halves.of("splice", _grams(kernels, X), y.astype(float))


def _grams(kernels, X):
    """Return Grams whose diagonals are one; nothing is learned from labels."""
    grams = compute_stack(fit_kernels(kernels, X), X).grams
    for gram in grams:
        scales = 1.0 / np.sqrt(np.diagonal(gram))
        gram *= scales[:, None]
        gram *= scales
    return grams


def _methods(halves):
    """Yield the name of each method and its row."""
    ours = {"C": 1.0, "normalize": None}
    local = {**ours, "n_clusters": 3, "random_state": 0}
    methods = [
        ("MKL, p = 1", lambda: Ours(MKLClassifier("precomputed", p=1, **ours))),
        ("MKL, p = 4/3", lambda: Ours(MKLClassifier("precomputed", p=4 / 3, **ours))),
        ("CLMKL, p = 4/3", lambda: Ours(CLMKLClassifier("precomputed", p=4 / 3, **local))),
        ("SVC on the uniform sum", UniformSVC),
        ("EasyMKL of MKLpy", EasyMKL),
        ("multiple kernel ridge of himalaya", KernelRidge),
    ]
    for name, make in methods:
        if make is KernelRidge and len(halves.y) > RIDGE_ROWS:
            yield name, {"note": f"left out above {RIDGE_ROWS} rows"}
            continue
        try:
            yield name, _row(halves, make)
        except ImportError as error:
            yield name, {"note": f"not installed: {error}"}
        except Exception as error:  # a peer that fails is a row, and the others go on
            yield name, {"note": f"{type(error).__name__}: {error}"}


def _row(halves, make):
    few = slice(0, 40)
    make().fit(halves.train[:, few, few], halves.y[few])  # libraries load and compile
    model, start, computing = make(), time.perf_counter(), time.process_time()
    model.fit(halves.train, halves.y)
    seconds, computing = time.perf_counter() - start, time.process_time() - computing
    if seconds < QUICK:
        seconds = harness.seconds(lambda: make().fit(halves.train, halves.y), warmup=0)
    return {
        "fit (s)": seconds,
        "computing (s)": computing,
        "accuracy": float(np.mean(model.predict(halves.test) == halves.y_test)),
        "note": f"{model.package} {version(model.package)}",
    }


class Ours:
    """An estimator of this package, on arrays of Grams."""

    package = "localmkl"

    def __init__(self, model):
        self.model = model

    def fit(self, grams, y):
        self.model.fit(GramStack(grams), y)
        return self

    def predict(self, grams):
        return self.model.predict(GramStack(grams))


class UniformSVC:
    """LIBSVM on the mean of all kernels."""

    package = "scikit-learn"

    def __init__(self):
        self.svc = SVC(C=1.0, kernel="precomputed", cache_size=1000)

    def fit(self, grams, y):
        self.svc.fit(grams.mean(axis=0), y)
        return self

    def predict(self, grams):
        return self.svc.predict(grams.mean(axis=0))


class EasyMKL:
    """EasyMKL (Aiolli and Donini, 2015), with the learner that it has by default."""

    package = "MKLpy"

    def __init__(self):
        from MKLpy.algorithms import EasyMKL as Theirs

        self.model = Theirs(lam=0.1)

    def fit(self, grams, y):
        self.model.fit(self._tensors(grams), y)
        return self

    def predict(self, grams):
        return np.asarray(self.model.predict(self._tensors(grams)))

    def _tensors(self, grams):
        import torch

        return [torch.tensor(gram) for gram in grams]


class KernelRidge:
    """Kernel ridge regression of the labels; weights of kernels are searched by cross-validation."""

    package = "himalaya"

    def __init__(self):
        from himalaya.kernel_ridge import MultipleKernelRidgeCV

        self.model = MultipleKernelRidgeCV(
            kernels="precomputed",
            solver="hyper_gradient",  # a random search of 100 draws took far longer at n = 500
            solver_params={"progress_bar": False},
            cv=5,
            random_state=0,
        )

    def fit(self, grams, y):
        self.model.fit(grams, y)
        return self

    def predict(self, grams):
        return np.where(self.model.predict(grams) > 0.0, 1.0, -1.0)
