"""A search on a cluster: features are computed once, and candidates solved one after the other.

Rows belong to folds by their numbers, whatever the chunks. A fold leaves its rows out of the optimisation and
is scored where they are. Kernels' widths, landmarks, normalisation and clusters, which need no labels, are
those of all rows.
"""

import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from localmkl._types import Floats, Rows, Targets
from localmkl.cluster.fitting import Ground, Warm, prepare
from localmkl.cluster.held import Fold
from localmkl.estimators.base import BaseMKL
from localmkl.estimators.column import ACROSS
from localmkl.estimators.context import parameters_key

FEATURES = ("kernels", "n_components", "landmarks", "random_state")
"""Parameters that features depend on; so does the cosine normalisation."""


class Search:
    """A search over candidates on rows that are on a cluster.

    Parameters
    ----------
    estimator : estimator of a convex method
    candidates : list of dict
    X, y, sample_weight
        As for `fit`.
    n_folds : int
    seed : int
        Of the folds.
    """

    def __init__(
        self,
        estimator: BaseMKL,
        candidates: list[dict[str, Any]],
        X: Rows,
        y: Targets,
        sample_weight: Any = None,
        n_folds: int = 5,
        seed: int = 0,
    ) -> None:
        self.rows = X, y, sample_weight
        self.folds = [Fold(index, n_folds, seed) for index in range(n_folds)]
        self.estimator, self.candidates = estimator, candidates
        self.grounds: dict[tuple[Any, ...], tuple[Ground, BaseMKL]] = {}

    def run(self) -> tuple[Floats, Floats]:
        """Return scores and times of candidates and folds, each (n_candidates, n_folds)."""
        scores = np.empty((len(self.candidates), len(self.folds)))
        times = np.empty_like(scores)
        for members in self._columns():
            for fold in self.folds:
                warm = None
                for number in members:
                    began = time.perf_counter()
                    warm, score = self._try(number, fold, warm)
                    scores[number, fold.index] = score
                    times[number, fold.index] = time.perf_counter() - began
        return scores, times

    def fit(self, number: int) -> BaseMKL:
        """Return a candidate, fitted to all rows."""
        model, ground = self._model(number)
        ground.settle(model)
        ground.store(model, ground.solve(model))
        return model

    def close(self) -> None:
        """Let go of all that is on the workers."""
        for ground, _ in self.grounds.values():
            ground.close()
        self.grounds.clear()

    def _columns(self) -> list[list[int]]:
        """Return candidates by number, those with the same memberships together, and in the order of C."""
        columns = defaultdict(list)
        for number, candidate in enumerate(self.candidates):
            own = {name: value for name, value in candidate.items() if name not in ACROSS}
            columns[repr(sorted(own.items(), key=str))].append(number)
        costs = [one.get("C", self.estimator.C) for one in self.candidates]
        ordered = [sorted(members, key=costs.__getitem__) for members in columns.values()]
        return sorted(ordered, key=self._features_key)

    def _features_key(self, members: Sequence[int]) -> str:
        return str([self.candidates[members[0]].get(name) for name in FEATURES])

    def _model(self, number: int) -> tuple[BaseMKL, Ground]:
        """Return an unfitted candidate that knows its landmarks, and the ground with its features."""
        model = clone(self.estimator).set_params(**clone(self.candidates[number], safe=False))
        model._check_parameters()
        key = *parameters_key(model, FEATURES), model.normalize == "cosine"
        if key not in self.grounds:
            self.close()  # features of other candidates are let go of
            first = clone(model)
            self.grounds[key] = prepare(first, *self.rows), first
        ground, first = self.grounds[key]
        vars(model).update({name: value for name, value in vars(first).items() if name.endswith("_")})
        return model, ground

    def _try(self, number: int, fold: Fold, warm: Warm | None) -> tuple[Warm, float]:
        """Return solutions with their cost, to start the next one from, and the score."""
        model, ground = self._model(number)
        ground.settle(model)
        solutions = ground.solve(model, fold, warm)
        intercepts = [solution.intercept for solution in solutions]
        sums = ground.team.call("score", fold, ground.images, intercepts)
        return (solutions, model.C_), score_of(np.array(sums))


def score_of(sums: Floats) -> float:
    """Return accuracy, or R2, given the sums over the rows of each shard.

    Parameters
    ----------
    sums : ndarray of shape (n_shards, 2) or (n_shards, 4)
        Rows and those that are right; or rows, mean target, squared distance from it, squared error.
    """
    counts = sums[:, 0]
    if sums.shape[1] == 2:
        return sums[:, 1].sum() / counts.sum()
    mean = np.average(sums[:, 1], weights=counts)
    spread = sums[:, 2].sum() + counts @ np.square(sums[:, 1] - mean)
    return 1.0 - sums[:, 3].sum() / spread
