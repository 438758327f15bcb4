"""The comparison of known groups: one model for all, one for each, and groups with a shared part.

The score is the mean over groups of the area under the ROC curve within a group: how well the groups can be
told apart helps no method.
"""

import time

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from localmkl.estimators import HLMKLClassifier, MKLClassifier
from localmkl.model_selection import MKLSearchCV, OneStandardError

HALF = 0.5
"""The share that is chosen unless folds speak against it by more than one standard error."""

SEPARATE = "MKL"
"""The family of separate models; all others are groups with a shared part, which may be all."""


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


def select_within_groups(task, method, n_folds, seed):
    """Choose by folds of the training rows, stratified by class and group; score on the test rows."""
    start = time.perf_counter()
    choose = _separate if method.family == SEPARATE else _together
    decisions, searches = choose(task, method, n_folds, seed)
    chosen = [search.best_params_ for search in searches]
    scores = [search.cv_results_["mean_test_score"][search.best_index_] for search in searches]
    return {
        "score": float(auc_within(task.groups[task.test], task.y[task.test], decisions)),
        "valid_score": float(np.mean(scores)),
        "parameters": {name: float(np.mean([one[name] for one in chosen])) for name in chosen[0]},
        "gap": max(search.best_estimator_.duality_gap_ for search in searches),
        "n_fits": sum(n_folds * len(search.cv_results_["params"]) + 1 for search in searches),
        "seconds": time.perf_counter() - start,
    }


def _together(task, method, n_folds, seed):
    """Return the decisions of one model on the test rows, and its search."""
    square, cross = task.stack[np.ix_(task.train, task.train)], task.stack[np.ix_(task.test, task.train)]
    y, groups = task.y[task.train], task.groups[task.train]
    strata = np.char.add(groups.astype(str), y.astype(str))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(strata, strata)

    def judge(model, stack, y):
        return auc_within(stack.groups, y, model.decision_function(stack))

    model = HLMKLClassifier("precomputed", gate="groups", **method.fixed)
    search = MKLSearchCV(
        model, _lists(method.grid), cv=list(folds), scoring=judge, refit=OneStandardError({"shared": HALF})
    ).fit(square, y, groups=groups)
    return search.best_estimator_.decision_function(cross, groups=task.groups[task.test]), [search]


def _separate(task, method, n_folds, seed):
    """Return the decisions of one model for each group on the test rows, and their searches."""
    decisions, searches = np.empty(len(task.test)), []
    for group in np.unique(task.groups):
        train = task.train[task.groups[task.train] == group]
        own = task.groups[task.test] == group
        search = MKLSearchCV(
            MKLClassifier("precomputed", **method.fixed),
            _lists(method.grid),
            cv=StratifiedKFold(n_folds, shuffle=True, random_state=seed),
            scoring="roc_auc",
        ).fit(task.stack[np.ix_(train, train)], task.y[train])
        decisions[own] = search.decision_function(task.stack[np.ix_(task.test[own], train)])
        searches.append(search)
    return decisions, searches


def _lists(grid):
    return {name: list(values) for name, values in grid.items()}
