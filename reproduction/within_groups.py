"""Known groups: one model for all, one for each, and groups with a shared part; promoters of organisms.

The score is the mean over groups of the area under the ROC curve within a group: how well the groups can be
told apart helps no method. Twelve kernels: on each of four parts of the sequences 3-mers and 5-mers anywhere,
and words up to 8 letters in their place, give or take 4 letters.
"""

import time
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from localmkl import GramStack, HLMKLClassifier, MKLClassifier
from localmkl.datasets import fetch_human_promoters, fetch_mouse_promoters
from localmkl.kernels import Spectrum, WeightedDegree
from localmkl.model_selection import MKLSearchCV, OneStandardError
from reproduction.data import DRAW_SEED, all_grams, describe, draw

HUMAN_BEFORE = 49
"""Letters by which the human sequences begin before the others."""
PARTS = {"all": (0, 251), "upstream": (0, 150), "core": (150, 230), "downstream": (200, 251)}
"""Parts of the sequences; the TATA box begins at letter 170, transcription at 200."""


@dataclass(frozen=True)
class Grouped:
    """A fixed set of several groups; a repetition draws n training rows, equally from groups and classes."""

    grams: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    kernels: tuple

    def task(self, n_train, repetition):
        """Return the split of this repetition; all other rows are for testing."""
        strata = np.char.add(self.groups.astype(str), self.y.astype(str))
        kinds = np.unique(strata)
        rng = np.random.default_rng([DRAW_SEED, repetition])
        orders = [rng.permutation(np.flatnonzero(strata == kind)) for kind in kinds]
        each = n_train // len(kinds)
        train = np.concatenate([order[:each] for order in orders])
        test = np.concatenate([order[each:] for order in orders])
        return GroupedTask(GramStack(self.grams), self.y, self.groups, train, test)

    @property
    def facts(self):
        """What the rows of a result file must have in common."""
        return {**describe(self.y, self.kernels), "groups": np.unique(self.groups).tolist()}


@dataclass(frozen=True)
class GroupedTask:
    """One split of rows in groups."""

    stack: GramStack
    y: np.ndarray
    groups: np.ndarray
    train: np.ndarray
    test: np.ndarray

    def batches(self, methods):
        """Return the methods that run together: one at a time."""
        return [[method] for method in methods]

    def outcomes(self, methods, experiment, seed):
        """Choose by folds of the training rows, stratified by class and group; score on the test rows."""
        (method,) = methods
        start = time.perf_counter()
        choose = separate if method.family == "MKL" else together
        decisions, searches = choose(self, method, experiment.folds, seed)
        chosen = [search.best_params_ for search in searches]
        scores = [search.cv_results_["mean_test_score"][search.best_index_] for search in searches]
        outcome = {
            "score": float(auc_within(self.groups[self.test], self.y[self.test], decisions)),
            "valid_score": float(np.mean(scores)),
            "parameters": {name: float(np.mean([one[name] for one in chosen])) for name in chosen[0]},
            "gap": max(search.best_estimator_.duality_gap_ for search in searches),
            "n_fits": sum(experiment.folds * len(search.cv_results_["params"]) + 1 for search in searches),
            "seconds": time.perf_counter() - start,
        }
        return [outcome]


def auc_within(groups, y, decisions):
    """Return the mean over groups of the area under the ROC curve.

    Examples
    --------
    >>> groups, y = np.array(["a", "a", "b", "b"]), np.array([1, -1, 1, -1])
    >>> float(auc_within(groups, y, np.array([0.2, 0.1, 6.0, 5.0])))
    1.0
    """
    members = [groups == group for group in np.unique(groups)]
    return np.mean([roc_auc_score(y[own], decisions[own]) for own in members])


def together(task, method, n_folds, seed):
    """Return the decisions of one model on the test rows, and its search."""
    train, test = task.train, task.test
    y, groups = task.y[train], task.groups[train]
    strata = np.char.add(groups.astype(str), y.astype(str))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(strata, strata)

    def judge(model, rows, y):
        return auc_within(rows.groups, y, model.decision_function(rows))

    search = MKLSearchCV(
        HLMKLClassifier("precomputed", gate="groups", **method.fixed),
        method.grid,
        cv=list(folds),
        scoring=judge,
        refit=OneStandardError({"shared": 0.5}),
    ).fit(task.stack[np.ix_(train, train)], y, groups=groups)
    cross = task.stack[np.ix_(test, train)]
    return search.best_estimator_.decision_function(cross, groups=task.groups[test]), [search]


def separate(task, method, n_folds, seed):
    """Return the decisions of one model for each group on the test rows, and their searches."""
    decisions, searches = np.empty(len(task.test)), []
    for group in np.unique(task.groups):
        train = task.train[task.groups[task.train] == group]
        own = task.groups[task.test] == group
        search = MKLSearchCV(
            MKLClassifier("precomputed", **method.fixed),
            method.grid,
            cv=StratifiedKFold(n_folds, shuffle=True, random_state=seed),
            scoring="roc_auc",
        ).fit(task.stack[np.ix_(train, train)], task.y[train])
        decisions[own] = search.decision_function(task.stack[np.ix_(task.test[own], train)])
        searches.append(search)
    return decisions, searches


def load_organisms(n_each=600):
    """Return promoters of human and mouse and as many other sequences of each, 251 letters of all."""
    X, y, _ = fetch_human_promoters("tata")
    X = np.array([sequence[HUMAN_BEFORE:] for sequence in X], dtype=object)
    found = {"human": (X, y), "mouse": fetch_mouse_promoters("epd")[:2]}
    rows = {name: draw(labels, {1: n_each, -1: n_each}) for name, (_, labels) in found.items()}
    sequences = np.concatenate([found[name][0][own] for name, own in rows.items()])
    y = np.concatenate([found[name][1][own] for name, own in rows.items()])
    groups = np.repeat(list(rows), [len(own) for own in rows.values()])
    table = np.empty((len(sequences), len(PARTS)), dtype=object)
    kernels = []
    for column, (first, last) in enumerate(PARTS.values()):
        table[:, column] = [sequence[first:last] for sequence in sequences]
        kernels += [Spectrum(3, column=column), Spectrum(5, column=column)]
        kernels += [WeightedDegree(8, shift=4, column=column)]
    return Grouped(all_grams(kernels, table), y, groups, tuple(kernels))
