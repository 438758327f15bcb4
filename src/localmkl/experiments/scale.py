"""Learning curves on many sequences: twenty weighted-degree kernels, on features and beside exact Grams.

Landmarks are training rows, half of them positive as far as there are so many: of rows drawn at random three
in a hundred would be, and a kernel's features say little about what no landmark resembles.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from localmkl.datasets import fetch_celegans_acceptor, fetch_human_promoters, load_splice
from localmkl.estimators.context import FoldContext
from localmkl.experiments.protocol import FAMILIES, TOL
from localmkl.experiments.sources import DRAW_SEED, describe
from localmkl.kernels import FactorStack, GramStack, WeightedDegree, fit_features
from localmkl.kernels.stack import CrossGrams, compute_stack, fit_kernels

N_KERNELS = 20
"""Degrees 1 to 20, as in the paper's experiment on splice sites."""

EXACT_MOST = 5000
"""Largest training set with exact Grams: 2 GB of them in float32."""

BLOCK = 500
"""Test rows that are compared with all training rows at a time: 400 MB at `EXACT_MOST`."""


@dataclass(frozen=True)
class ManySequences:
    """Test sequences drawn once; a repetition permutes the others, of which the first n are for training."""

    X: np.ndarray
    y: np.ndarray
    n_test: int
    kernels: tuple
    normalize: str = "multiplicative"
    gate_kernel: int | None = None

    def task(self, n_train, repetition):
        """Return the training rows of this repetition; those of a smaller size are among them."""
        order = np.random.default_rng(DRAW_SEED).permutation(len(self.y))
        test, others = np.split(order, [self.n_test])
        if not 2 <= n_train <= len(others):
            raise ValueError(
                f"A training size must lie between 2 and {len(others)} with {len(order)} sequences, got "
                f"{n_train}."
            )
        train = np.random.default_rng([DRAW_SEED, repetition]).permutation(others)[:n_train]
        return Draw(self.X[train], self.y[train], self.X[test], self.y[test], self.kernels)

    @property
    def description(self):
        """Facts that the rows of a result file must have in common."""
        return {**describe(self), "test_rows": self.n_test}


@dataclass
class Draw:
    """One training set and the test set; what several methods need of them is computed once."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    kernels: tuple
    _contexts: dict = field(default_factory=dict)

    @property
    def train(self):
        """The numbers of the training rows; those of the test rows follow."""
        return np.arange(len(self.y))

    @property
    def test(self):
        """The numbers of the test rows."""
        return np.arange(len(self.y), len(self.y) + len(self.y_test))

    def batches(self, methods):
        """Return the methods that run together: those with as many landmarks."""
        ranks = dict.fromkeys(method.fixed["n_components"] for method in methods)
        return [[method for method in methods if method.fixed["n_components"] == rank] for rank in ranks]

    def outcomes(self, methods, seed):
        """Return what each of these methods reaches."""
        rank = methods[0].fixed["n_components"]
        if rank is None:
            return self._exact(methods, seed)
        return [self._on_features(method, rank, seed) for method in methods]

    def _on_features(self, method, rank, seed):
        context, spent = self._features(rank, seed)
        model = FAMILIES[method.family](list(self.kernels), **_options(method, seed))
        start = time.perf_counter()
        model._fit(self.X, self.y, context)
        fitted = time.perf_counter()
        decisions = model._decide_together([model], self.X_test, context)[0]
        outcome = self._judge(model, decisions, time.perf_counter() - start)
        outcome |= {"fit_seconds": fitted - start, "feature_seconds": spent, "parameters": _plain(method)}
        outcome |= {
            "approximation_error": float(model.approximation_error_.mean()),
            "approximation_errors": model.approximation_error_.round(4).tolist(),
        }
        if len(self.y) <= EXACT_MOST:
            outcome["exact_gap"] = float(model.exact_gap(self.X, self.y).gap)
        return outcome

    def _features(self, rank, seed):
        """Return the context with features of all rows from so many landmarks, and the seconds it took."""
        if rank not in self._contexts:
            start = time.perf_counter()
            landmarks = self.X[pick_landmarks(self.y, rank, seed)]
            features = fit_features(self._fitted, landmarks, len(landmarks))
            rows = np.concatenate([self.X, self.X_test])
            stack = FactorStack.of_table(features.transform(rows), features.widths)
            known = ((self.X_test, self.test),)
            context = FoldContext(stack, self.train, self._fitted, features=features, known=known)
            self._contexts[rank] = context, time.perf_counter() - start
        return self._contexts[rank]

    def _exact(self, methods, seed):
        """Fit on exact Grams; the test rows are compared with the training rows once for all methods."""
        n = len(self.y)
        start = time.perf_counter()
        stack = compute_stack(self._fitted, self.X, out=np.empty((len(self.kernels), n, n), dtype=np.float32))
        grams = time.perf_counter() - start
        models, seconds = [], []
        for method in methods:
            start = time.perf_counter()
            options = {**_options(method, seed), "n_components": None}
            models.append(FAMILIES[method.family]("precomputed", **options).fit(stack, self.y))
            seconds.append(time.perf_counter() - start)
        decisions = np.hstack([self._decide(models, rows) for rows in _blocks(len(self.y_test))])
        found = [self._judge(*one) for one in zip(models, decisions, seconds, strict=True)]
        return [
            {**one, "fit_seconds": spent, "gram_seconds": grams, "parameters": _plain(method)}
            for one, spent, method in zip(found, seconds, methods, strict=True)
        ]

    def _decide(self, models, rows):
        """Return the decisions of models on exact Grams for a block of test rows, (n_models, n_rows)."""
        grams = CrossGrams(self._fitted, self.X_test[rows], self.X)
        stack = GramStack([grams.block(m) for m in range(len(self.kernels))])
        return np.array([model.decision_function(stack) for model in models])

    def _judge(self, model, decisions, seconds):
        return {
            "score": float(roc_auc_score(self.y_test, decisions)),
            "precision_recall": float(average_precision_score(self.y_test, decisions)),
            "gap": float(model.duality_gap_),
            "n_iter": int(model.n_iter_),
            "n_support": len(model.support_),
            "seconds": seconds,
        }

    @cached_property
    def _fitted(self):
        return fit_kernels(list(self.kernels), self.X)


def pick_landmarks(y, n_landmarks, seed):
    """Return rows drawn at random, half of them positive as far as there are so many.

    Examples
    --------
    >>> y = np.array([1] * 5 + [-1] * 95)
    >>> [int(np.sum(y[pick_landmarks(y, n, 0)] == 1)) for n in (4, 10, 40)]
    [2, 5, 5]
    """
    rng = np.random.default_rng([DRAW_SEED, seed])
    positive, negative = (rng.permutation(np.flatnonzero(y == label)) for label in (1, -1))
    n_positive = max(min(n_landmarks // 2, len(positive)), n_landmarks - len(negative))
    return np.concatenate([positive[:n_positive], negative[: n_landmarks - n_positive]])


def _options(method, seed):
    """Return the parameters of the estimator of a method."""
    return {"tol": TOL, "random_state": seed, **method.fixed}


def _plain(method):
    return {name: value if value is None else float(value) for name, value in sorted(method.fixed.items())}


def _blocks(n_rows):
    return [slice(start, start + BLOCK) for start in range(0, n_rows, BLOCK)]


def load_sequences(fetch: Callable[[], Any], n_test):
    """Return fetched sequences under the twenty kernels."""
    sequences, y, _ = fetch()
    return ManySequences(sequences, y, n_test, tuple(WeightedDegree(d) for d in range(1, N_KERNELS + 1)))


def fetch_acceptors():
    """Return 100,000 sequences around AG in C. elegans, 3301 of them acceptor sites."""
    return fetch_celegans_acceptor(398)


def fetch_promoters():
    """Return 53,066 human sequences, half of them promoters without a TATA box."""
    return fetch_human_promoters("notata_core")


def load_quick(n_test=100):
    """Return 300 shipped donor sites and others under three of the kernels, for a quick look."""
    sequences, y, _ = load_splice("EI")
    rows = np.random.default_rng(DRAW_SEED).permutation(len(y))[: n_test + 200]
    return ManySequences(sequences[rows], y[rows], n_test, tuple(WeightedDegree(d) for d in (1, 3, 8)))
