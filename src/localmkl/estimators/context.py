"""What fits on the same training rows can share: Grams, normalisation, partition, the last solutions.

A fit without a memory makes its own and forgets it, so that cold and warm fits are one code path. A search
gives its candidates one memory for each fold.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Memory:
    """What fits that differ in C, p, evenness and the like have in common.

    Parameters
    ----------
    stack : GramStack, optional
        The Grams of all rows of a search (under cosine normalisation already divided), so that neither
        fit nor prediction computes any; without it the estimator computes its own.
    train : ndarray, optional
        Which rows of `stack` are the training rows; all of them by default.
    kernels : list, optional
        The kernels, fitted on the training rows.
    cosine_scales : ndarray of shape (n_kernels, n_train), optional
    known : sequence of (rows, ndarray)
        Rows that predictions will be asked for, and their places in `stack`.
    parallel : bool
        Whether reading the stack may use all threads.
    """

    stack: Any = None
    train: Any = None
    kernels: list | None = None
    cosine_scales: np.ndarray | None = None
    known: Sequence = ()
    parallel: bool = True
    _kept: dict[Any, Any] = field(default_factory=dict)
    _foreseen: dict[int, tuple] = field(default_factory=dict)

    @property
    def holds_stack(self):
        """Whether the Grams are there already."""
        return self.stack is not None or "stack" in self._kept

    def recall(self, key, make):
        """Return what is kept under a key; make it the first time."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def training_stack(self):
        """Return the Grams of the training rows."""
        return self.stack if self.train is None else self.stack[np.ix_(self.train, self.train)]

    def cross_stack(self, X):
        """Return the Grams between known rows and the training rows, and notes about them; or None twice."""
        for number, (rows, places) in enumerate(self.known):
            if rows is X:
                return self.stack[np.ix_(places, self.train)], self.recall(("notes", number), dict)
        return None, None

    def foresee(self, models, X, sums):
        """Keep what models will decide on some rows, instead of what was kept before."""
        parts = np.split(sums, len(models), axis=1)
        self._foreseen = {id(model): (model, X, part) for model, part in zip(models, parts, strict=True)}

    def forget(self):
        """Let go of the models, which hold this memory: without a ring, the Grams are freed at once."""
        self._foreseen = {}

    def foreseen(self, model, X):
        """Return what a model decides on some rows, if that is known; else None."""
        _, rows, sums = self._foreseen.get(id(model), (None, None, None))
        return sums if rows is X else None
