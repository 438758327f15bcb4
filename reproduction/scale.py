"""Learning curves on many sequences: twenty weighted-degree kernels, on features and on exact Grams.

Landmarks are training rows, half of them positive as far as there are so many: of rows drawn at random three
in a hundred would be, and a kernel's features say little about what no landmark resembles.
"""

import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from localmkl import GramStack
from localmkl.datasets import fetch_celegans_acceptor, fetch_human_promoters
from localmkl.kernels import CrossGrams, FactorStack, WeightedDegree, compute_stack, fit_features, fit_kernels
from reproduction.data import DRAW_SEED, cut, describe
from reproduction.protocol import FAMILIES, TOL, grouped, plain

BLOCK = 500
"""Test rows that are compared with all training rows at a time: 400 MB with 5000 of these."""


@dataclass(frozen=True)
class ManySequences:
    """Test sequences drawn once; a repetition permutes the others, of which the first n are for training."""

    X: np.ndarray
    y: np.ndarray
    n_test: int
    kernels: tuple

    def task(self, n_train, repetition):
        """Return the training rows of this repetition; those of a smaller size are among them."""
        order = np.random.default_rng(DRAW_SEED).permutation(len(self.y))
        test, others = np.split(order, [self.n_test])
        train = np.random.default_rng([DRAW_SEED, repetition]).permutation(others)[:n_train]
        rows = np.concatenate([train, test])
        return ManyTask(self.X[rows], self.y[rows], *cut(len(train), len(test)), self.kernels)

    @property
    def facts(self):
        """What the rows of a result file must have in common."""
        return {**describe(self.y, self.kernels), "test_rows": self.n_test}


@dataclass
class ManyTask:
    """One training set and the test set, two ranges of rows."""

    X: np.ndarray
    y: np.ndarray
    train: range
    test: range
    kernels: tuple

    @cached_property
    def fitted(self):
        """The kernels, fitted."""
        return fit_kernels(list(self.kernels), self.X[self.train])

    def batches(self, methods):
        """Return the methods that run together: those with as many landmarks."""
        return grouped(methods, lambda method: method.fixed["n_components"])

    def outcomes(self, methods, experiment, seed):
        """Return what each of these methods reaches on the same features, or the same Grams."""
        start = time.perf_counter()
        rank, y, y_test = methods[0].fixed["n_components"], self.y[self.train], self.y[self.test]
        if rank is None:
            room = np.empty((len(self.kernels), len(y), len(y)), dtype=np.float32)
            train, facts = compute_stack(self.fitted, self.X[self.train], out=room), {}
        else:
            train, test, facts = self.on_features(rank, seed)
        facts["gram_seconds" if rank is None else "feature_seconds"] = time.perf_counter() - start
        found = []
        for method in methods:
            start = time.perf_counter()
            options = {"tol": TOL, "random_state": seed, **method.fixed, "n_components": None}
            model = FAMILIES[method.family]("precomputed", **options).fit(train, y)
            fitted = time.perf_counter() - start
            decisions = self.decide(model) if rank is None else model.decision_function(test)
            outcome = {
                "score": float(roc_auc_score(y_test, decisions)),
                "precision_recall": float(average_precision_score(y_test, decisions)),
                "gap": float(model.duality_gap_),
                "n_iter": int(model.n_iter_),
                "n_support": len(model.support_),
                "seconds": time.perf_counter() - start,
            }
            found.append({**outcome, **facts, "fit_seconds": fitted, "parameters": plain(method.fixed)})
        return found

    def on_features(self, rank, seed):
        """Return features of training and test rows, and the share of the kernels' trace they leave out."""
        landmarks = self.X[pick_landmarks(self.y[self.train], rank, seed)]
        features = fit_features(self.fitted, landmarks, len(landmarks))
        table = features.transform(self.X)
        parts = [table[rows.start : rows.stop] for rows in (self.train, self.test)]
        train, test = (FactorStack.of_table(part, features.widths) for part in parts)
        kept = (np.sum(np.square(parts[0][:, own], dtype=float)) for own in features.columns())
        errors = 1.0 - np.fromiter(kept, float) / features.diagonals(self.X[self.train]).sum(axis=1)
        return (
            train,
            test,
            {"approximation_error": float(errors.mean()), "approximation_errors": errors.round(4).tolist()},
        )

    def decide(self, model):
        """Return the decisions of a model on exact Grams, a block of test rows at a time."""
        X, X_test = self.X[self.train], self.X[self.test]
        blocks = [slice(start, start + BLOCK) for start in range(0, len(X_test), BLOCK)]
        crosses = (CrossGrams(self.fitted, X_test[rows], X) for rows in blocks)
        stacks = (GramStack([cross.block(m) for m in range(len(self.kernels))]) for cross in crosses)
        return np.concatenate([model.decision_function(stack) for stack in stacks])


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


def many_sequences(X, y, n_test):
    """Return sequences under the twenty kernels."""
    return ManySequences(X, y, n_test, tuple(WeightedDegree(degree) for degree in range(1, 21)))


def load_acceptors():
    """Return 100,000 sequences around AG in C. elegans, 3301 of them acceptor sites."""
    return many_sequences(*fetch_celegans_acceptor(398)[:2], n_test=20000)


def load_core_promoters():
    """Return 53,066 human sequences, half of them promoters without a TATA box."""
    return many_sequences(*fetch_human_promoters("notata_core")[:2], n_test=10000)
