"""The warm-up: small fits of every kind, for what numba compiles on first use and keeps on disk."""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from localmkl import CLMKLClassifier, CLMKLRegressor, GramStack, MKLClassifier
from localmkl._types import Floats, Ints
from localmkl.kernels import RBF, Linear, Spectrum, WeightedDegree
from localmkl.model_selection import MKLSearchCV

FEW, SOME, MANY = 60, 300, 2600
"""Rows: too few for threads, enough for them, and those of features that are solved on features."""


def warm_up(show: Callable[[int, int], object] = lambda done, all: None) -> float:
    """Fit small models of every kind; return the seconds that took.

    Parameters
    ----------
    show : callable
        Called as ``show(done, all)`` before each of them and at the end.
    """
    start = time.perf_counter()
    for done, work in enumerate(WORKS):
        show(done, len(WORKS))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            work()
    show(len(WORKS), len(WORKS))
    return time.perf_counter() - start


def _rows(n: int, seed: int = 0) -> tuple[Floats, Ints]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.where(X[:, 0] * X[:, 1] > 0.0, 1, 0)


def _stack(n: int, dtype: Any = np.float64, n_kernels: int = 12) -> tuple[GramStack, Ints]:
    X, y = _rows(n)
    grams = [RBF(gamma).fit(X)(X) for gamma in np.logspace(-2, 1, n_kernels)]
    return GramStack(np.stack(grams).astype(dtype)), y


def _precomputed(n: int, dtype: Any, **options: Any) -> None:
    stack, y = _stack(n, dtype)
    CLMKLClassifier("precomputed", n_clusters=2, random_state=0, **options).fit(stack, y)


def _fused() -> None:
    stack, y = _stack(SOME)
    CLMKLClassifier("precomputed", n_clusters=2, gate="convex").fit(stack, y)


def _search() -> None:
    for n in (FEW, SOME):
        stack, y = _stack(n)
        grid = {"C": [0.1, 1.0, 10.0], "evenness": [0.6, 0.8]}
        model = CLMKLClassifier("precomputed", n_clusters=2, random_state=0)
        MKLSearchCV(model, grid, cv=3).fit(stack, y)


def _features() -> None:
    X, y = _rows(MANY)
    CLMKLClassifier([RBF(1.0), Linear()], n_clusters=2, n_components=5, random_state=0).fit(X, y).predict(X)


def _regression() -> None:
    X, y = _rows(SOME)
    CLMKLRegressor([RBF(1.0), Linear()], n_clusters=2, random_state=0).fit(X, X[:, 0] + y).predict(X)


def _sequences() -> None:
    letters = np.random.default_rng(0).choice(list("ACGT"), size=(FEW, 30))
    texts = ["".join(one) for one in letters]
    y = np.array(["TA" in text for text in texts], dtype=int)
    MKLClassifier([WeightedDegree(2), WeightedDegree(3), Spectrum(2)]).fit(texts, y).predict(texts)


WORKS = (
    lambda: _precomputed(FEW, np.float64),
    lambda: _precomputed(SOME, np.float64, p=1),
    lambda: _precomputed(SOME, np.float64, loss="log_loss"),
    lambda: _precomputed(SOME, np.float32),
    _regression,
    _fused,
    _search,
    _features,
    _sequences,
)
"""The fits, one after the other."""
