"""Beside other packages that learn from several kernels: computing of a fit, and accuracy on unseen rows.

All get the same Grams, half of the rows to train on and half to test on, five splits. Each method is fitted
as it comes, and with its one regulariser (C, lambda) chosen out of four values by three folds of the training
rows; p, clusters and evenness stay as they are. Our C means the same as that of ``SVC`` on the mean of the
kernels. himalaya searches weights and regulariser by its own cross-validation: that is its fit. A package
that is not installed, that fails, or that takes minutes on so many rows gives a row that says so. What is
timed is computing, summed over threads: it hardly depends on what else the machine does. The last rows count
which of scikit-learn's estimator checks each package's estimators pass.
"""

import time
import warnings
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import version

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from benchmarks.references import make_blobs
from localmkl import CLMKLClassifier, GramStack, MKLClassifier
from localmkl.datasets import load_splice, make_localized
from localmkl.kernels import RBF, Linear, WeightedDegree, compute_stack, fit_kernels

SPLITS = 5
FOLDS = 3
ROWS = 600
"""Rows that are drawn of a larger set: half of them, 300, are what himalaya searches on in seconds."""


@dataclass(frozen=True)
class Halves:
    """Grams between training rows, and between test rows and these, (M, n, n), with their labels."""

    name: str
    train: np.ndarray
    test: np.ndarray
    y: np.ndarray
    y_test: np.ndarray

    @classmethod
    def of(cls, name, grams, y, seed):
        """Split the rows of a square stack."""
        train, test = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed)
        return cls(name, _between(grams, train, train), _between(grams, test, train), y[train], y[test])

    def folds(self):
        """Yield each fold of the training rows as halves of its own."""
        for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(self.y, self.y):
            own, cross = _between(self.train, train, train), _between(self.train, test, train)
            yield Halves(self.name, own, cross, self.y[train], self.y[test])


def _between(grams, rows, columns):
    return np.stack([gram[np.ix_(rows, columns)] for gram in grams])


def run(smoke):
    """Return computing and accuracy of every method on every set, and the checks that estimators pass."""
    rows = [row for make, splits in _sets(smoke) for row in _compare(*make(), splits)]
    return rows + [_checked(name, make) for name, make in ({} if smoke else ESTIMATORS).items()]


def _sets(smoke):
    if smoke:
        return [(partial(_blobs, 40), 1)]
    public = [_breast_cancer, _wine, _digits, _splice, _localized]
    return [(make, SPLITS) for make in public] + [(partial(_blobs, n), 1) for n in (1000, 2000)]


def _blobs(n):
    blobs = make_blobs(2 * n)
    return "blobs", blobs.grams, blobs.y


def _breast_cancer():
    """Return three widths on all columns, and an RBF kernel on each column."""
    X, y = load_breast_cancer(return_X_y=True)
    return "breast cancer", _grams(_widths_and_columns(X), X), np.where(y == 1, 1.0, -1.0)


def _wine():
    """Return the same kernels; the second cultivar against the others."""
    X, y = load_wine(return_X_y=True)
    return "wine", _grams(_widths_and_columns(X), X), np.where(y == 1, 1.0, -1.0)


def _digits():
    """Return three widths on all pixels, and an RBF kernel on each line of them; even against odd."""
    X, y = load_digits(return_X_y=True)
    kernels = [RBF(factor=factor) for factor in (0.1, 1.0, 10.0)]
    kernels += [RBF(columns=slice(start, start + 8)) for start in range(0, 64, 8)]
    few = _drawn(len(y))
    return "digits", _grams(kernels, X[few]), np.where(y[few] % 2 == 0, 1.0, -1.0)


def _splice():
    X, y, _ = load_splice("EI")
    few = _drawn(len(y))
    kernels = [WeightedDegree(degree) for degree in range(1, 11)]
    return "splice", _grams(kernels, [X[i] for i in few]), y[few].astype(float)


def _localized():
    data = make_localized(ROWS, random_state=0)
    return "localized", _grams([Linear(columns=view) for view in data.views], data.X), data.y.astype(float)


def _drawn(n):
    return np.random.default_rng(0).permutation(n)[:ROWS]


def _widths_and_columns(X):
    kernels = [RBF(factor=factor, standardize=True) for factor in (0.1, 1.0, 10.0)]
    return kernels + [RBF(columns=column, standardize=True) for column in range(X.shape[1])]


def _grams(kernels, X):
    """Return Grams whose diagonals are one; nothing is learned from labels."""
    grams = compute_stack(fit_kernels(kernels, X), X).grams
    for gram in grams:
        scales = 1.0 / np.sqrt(np.diagonal(gram))
        gram *= scales[:, None]
        gram *= scales
    return grams


def _compare(name, grams, y, splits):
    """Yield a row for each method: means over the splits."""
    halves = [Halves.of(name, grams, y, seed) for seed in range(splits)]
    common = {"set": name, "n": len(halves[0].y), "kernels": len(grams), "splits": splits}
    for method, make in METHODS.items():
        try:
            yield {**common, "method": method, **_row(halves, make)}
        except ImportError as error:
            yield {**common, "method": method, "note": f"not installed: {error}"}
        except Exception as error:  # a peer that fails is a row, and the others go on
            yield {**common, "method": method, "note": f"{type(error).__name__}: {error}"}


def _row(halves, make):
    first = make()
    if first.most_rows < len(halves[0].y):
        return {"note": f"left out above {first.most_rows} rows"}
    few = slice(0, 40)
    first.fit(halves[0].train[:, few, few], halves[0].y[few])  # libraries load and compile
    times = 3 if len(halves) == 1 else 1  # the median counts, and the first may compile
    plain = np.array([_fitted(half, make()) for half in halves * times])
    row = {"fit (s)": np.median(plain[:, 0]), "accuracy": plain[:, 1].mean(), "spread": plain[:, 1].std()}
    if first.grid and len(halves) > 1:
        tuned = np.array([_tuned(half, make, first.grid) for half in halves])
        row |= {"tuned": tuned[:, 1].mean(), "tuned spread": tuned[:, 1].std()}
    return {**row, "note": f"{first.package} {version(first.package)}"}


def _fitted(half, model):
    """Return seconds of computing, and accuracy on the test rows."""
    start = time.process_time()
    model.fit(half.train, half.y)
    return time.process_time() - start, np.mean(model.predict(half.test) == half.y_test)


def _tuned(half, make, grid):
    """Choose the regulariser on folds of the training rows, the strongest of equals."""
    scores = [np.mean([_fitted(fold, make(value))[1] for fold in half.folds()]) for value in grid]
    return _fitted(half, make(grid[int(np.argmax(scores))]))


def _checked(name, make):
    """Count the estimator checks that are passed; those that do not apply are not counted."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = check_estimator(make(), on_skip=None, on_fail=None)
    except Exception as error:
        reason = str(error).partition(" (")[0]  # not the path of the module
        return {"set": "estimator checks", "method": name, "note": f"{type(error).__name__}: {reason}"}
    counted = [check["status"] for check in found if check["status"] != "skipped"]
    return {
        "set": "estimator checks",
        "method": name,
        "passed": sum(status == "passed" for status in counted),
        "checks": len(counted),
        "note": ", ".join(check["check_name"] for check in found if check["status"] in ("failed", "xfail")),
    }


class Ours:
    """An estimator of this package, on arrays of Grams."""

    package = "localmkl"
    most_rows = 10_000
    grid = (0.1, 1.0, 10.0, 100.0)

    def __init__(self, model, C=None):
        self.model = clone(model) if C is None else clone(model).set_params(C=C)

    def fit(self, grams, y):
        self.model.fit(GramStack(grams), y)
        return self

    def predict(self, grams):
        return self.model.predict(GramStack(grams))


class UniformSVC:
    """LIBSVM on the mean of all kernels."""

    package = "scikit-learn"
    most_rows = 10_000
    grid = (0.1, 1.0, 10.0, 100.0)

    def __init__(self, C=1.0):
        self.svc = SVC(C=C, kernel="precomputed", cache_size=1000)

    def fit(self, grams, y):
        self.svc.fit(grams.mean(axis=0), y)
        return self

    def predict(self, grams):
        return self.svc.predict(grams.mean(axis=0))


class EasyMKL:
    """EasyMKL (Aiolli and Donini, 2015), with the learner that it has by default."""

    package = "MKLpy"
    most_rows = 2000
    grid = (0.9, 0.5, 0.1, 0.01)

    def __init__(self, lam=0.1):
        from MKLpy.algorithms import EasyMKL as Theirs

        self.model = Theirs(lam=lam)

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
    most_rows = 300
    grid = ()

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


class SquaredLossMKL:
    """Lp-norm MKL with p = 2 and the squared loss, by rounds of a linear system and a closed form.

    Its lambda has no default: 1 stands in for one.
    """

    package = "scikit-multimodallearn"
    most_rows = 1000
    grid = (10.0, 1.0, 0.1, 0.01)

    def __init__(self, lmbda=1.0):
        from multimodal.kernels.lpMKL import MKL

        self.model = MKL(lmbda=lmbda, kernel="precomputed")

    def fit(self, grams, y):
        self.model.fit(dict(enumerate(grams)), y)
        return self

    def predict(self, grams):
        return self.model.predict(dict(enumerate(grams)))


METHODS = {
    "MKL, p = 1": partial(Ours, MKLClassifier("precomputed", p=1, normalize=None)),
    "MKL, p = 4/3": partial(Ours, MKLClassifier("precomputed", normalize=None)),
    "CLMKL, p = 4/3": partial(Ours, CLMKLClassifier("precomputed", normalize=None, random_state=0)),
    "SVC on the uniform sum": UniformSVC,
    "EasyMKL of MKLpy": EasyMKL,
    "MKL of scikit-multimodallearn": SquaredLossMKL,
    "multiple kernel ridge of himalaya": KernelRidge,
}


def _named(module, name, **parameters):
    """Return an estimator of a package that may not be there."""
    return getattr(import_module(module), name)(**parameters)


QUIET = {"solver_params": {"progress_bar": False}}
ESTIMATORS = {
    "localmkl, MKLClassifier": MKLClassifier,
    "localmkl, CLMKLClassifier": partial(CLMKLClassifier, random_state=0),
    "scikit-learn, SVC": SVC,
    "MKLpy, EasyMKL": partial(_named, "MKLpy.algorithms", "EasyMKL"),
    "himalaya, KernelRidge": partial(_named, "himalaya.kernel_ridge", "KernelRidge"),
    "himalaya, MultipleKernelRidgeCV": partial(
        _named, "himalaya.kernel_ridge", "MultipleKernelRidgeCV", **QUIET
    ),
    "scikit-multimodallearn, MKL": partial(_named, "multimodal.kernels.lpMKL", "MKL", lmbda=1.0),
    "scikit-multimodallearn, MVML": partial(_named, "multimodal.kernels.mvml", "MVML"),
    "scikit-multimodallearn, Mumbo": partial(_named, "multimodal.boosting.mumbo", "MumboClassifier"),
    "scikit-multimodallearn, MuCombo": partial(_named, "multimodal.boosting.combo", "MuComboClassifier"),
}
