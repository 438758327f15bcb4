"""Beside other packages that learn from several kernels: time of a fit, and accuracy on rows it has not seen.

All get the same Grams, half of the rows to train on and half to test on. The regulariser is tuned in the same
way for all but one: of four values the one with the best accuracy on a quarter of the training rows, then a
fit on all of them, which is timed. himalaya searches its weights and its regulariser by its own
cross-validation: that is its fit. A package that is not installed, or that fails, gives a row that says so.
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

COSTS = (0.1, 1.0, 10.0, 100.0)
SHARES = (0.1, 0.3, 0.5, 0.9)
"""Values of EasyMKL's lambda, which lies between 0 and 1."""
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

    def inner(self):
        """Return three quarters of the training rows, and the rest to choose by."""
        rows = np.arange(len(self.y))
        train, test = train_test_split(rows, test_size=0.25, stratify=self.y, random_state=0)
        return self._between(self.name, self.train, self.y, train, test)

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
    ours = {"normalize": None, "tol": 1e-3}
    local = {**ours, "n_clusters": 3, "random_state": 0}
    tuned = [
        ("MKL, p = 1", COSTS, lambda C: Ours(MKLClassifier("precomputed", p=1, C=C, **ours))),
        ("MKL, p = 4/3", COSTS, lambda C: Ours(MKLClassifier("precomputed", p=4 / 3, C=C, **ours))),
        ("CLMKL, p = 4/3", COSTS, lambda C: Ours(CLMKLClassifier("precomputed", p=4 / 3, C=C, **local))),
        ("SVC on the uniform sum", COSTS, UniformSVC),
        ("EasyMKL of MKLpy", SHARES, EasyMKL),
        ("multiple kernel ridge of himalaya", (None,), KernelRidge),
    ]
    for name, values, make in tuned:
        try:
            yield name, _row(halves, values, make)
        except ImportError as error:
            yield name, {"note": f"not installed: {error}"}
        except Exception as error:  # a peer that fails is a row, and the others go on
            yield name, {"note": f"{type(error).__name__}: {error}"}


def _row(halves, values, make):
    inner, few = halves.inner(), slice(0, 40)
    make(values[0]).fit(inner.train[:, few, few], inner.y[few])  # libraries load and compile
    start = time.perf_counter()
    scores = [] if len(values) == 1 else [_accuracy(make(value), inner) for value in values]
    tuning = time.perf_counter() - start
    chosen = values[int(np.argmax(scores))] if scores else values[0]
    model = make(chosen)
    start = time.perf_counter()
    model.fit(halves.train, halves.y)
    seconds = time.perf_counter() - start
    if seconds < QUICK:
        seconds = harness.seconds(lambda: make(chosen).fit(halves.train, halves.y), warmup=0)
    return {
        "chosen": "" if chosen is None else chosen,
        "fit (s)": seconds,
        "tuning (s)": tuning,
        "accuracy": float(np.mean(model.predict(halves.test) == halves.y_test)),
        "note": f"{model.package} {version(model.package)}",
    }


def _accuracy(model, halves):
    model.fit(halves.train, halves.y)
    return float(np.mean(model.predict(halves.test) == halves.y_test))


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

    def __init__(self, C):
        self.svc = SVC(C=C, kernel="precomputed", cache_size=1000)

    def fit(self, grams, y):
        self.svc.fit(grams.mean(axis=0), y)
        return self

    def predict(self, grams):
        return self.svc.predict(grams.mean(axis=0))


class EasyMKL:
    """EasyMKL (Aiolli and Donini, 2015), with the learner that it has by default."""

    package = "MKLpy"

    def __init__(self, share):
        from MKLpy.algorithms import EasyMKL as Theirs

        self.model = Theirs(lam=share)

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

    def __init__(self, _):
        from himalaya.kernel_ridge import MultipleKernelRidgeCV

        parameters = {"progress_bar": False, "alphas": np.logspace(-4, 4, 9)}
        self.model = MultipleKernelRidgeCV(
            kernels="precomputed", solver_params=parameters, cv=5, random_state=0
        )

    def fit(self, grams, y):
        self.model.fit(grams, y)
        return self

    def predict(self, grams):
        return np.where(self.model.predict(grams) > 0.0, 1.0, -1.0)
