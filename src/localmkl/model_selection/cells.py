"""One chain on one fold: fit its candidates column by column, and score them.

What runs here may run in another process: it takes arrays and small things, and returns plain numbers.
"""

import time
from copy import copy
from dataclasses import dataclass, replace
from traceback import format_exc
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection._validation import _score
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_method_params

from localmkl.kernels import GramStack
from localmkl.model_selection.plan import lane_of

LAST = "last"
"""Where the track of the candidate solved last is kept, for those that are the first of their lane."""


@dataclass(frozen=True)
class Job:
    """What all cells of a search share, apart from the data."""

    estimator: Any
    candidates: list
    scorer: Any
    error_score: Any
    return_train_score: bool
    fit_params: dict
    score_params: dict

    def model(self, number):
        """Return a new, unfitted model of a candidate."""
        return clone(self.estimator).set_params(**clone(self.candidates[number], safe=False))


@dataclass(frozen=True)
class Fold:
    """Numbers of the training rows and of the rows to score."""

    number: int
    train: np.ndarray
    test: np.ndarray


def detach(stack):
    """Return a `GramStack` without its numbers, and these: they travel by their own ways."""
    if not isinstance(stack, GramStack):
        return stack, None
    shell = copy(stack)
    shell.grams = None
    return shell, stack.grams


def attach(shell, grams):
    """Undo `detach`."""
    if grams is None:
        return shell
    stack = copy(shell)
    stack.grams = grams
    return stack


def run_chain(job, X, y, X_grams, grams, memory, fold, chain):
    """Return (candidate, result) of every cell of a chain on a fold; see `columns_of`."""
    X, memory = attach(X, X_grams), replace(memory, stack=attach(memory.stack, grams))
    return [cell for column in columns_of(job, X, y, memory, fold, chain) for cell in column]


def columns_of(job, X, y, memory, fold, chain):
    """Yield, column by column, a list of (candidate, result) in the form of scikit-learn's searches."""
    X_train, y_train = _safe_split(job.estimator, X, y, fold.train)
    X_test, y_test = _safe_split(job.estimator, X, y, fold.test, fold.train)
    if memory.stack is not None:
        memory = replace(memory, known=((X_test, fold.test), (X_train, fold.train)))
    fit_params = _check_method_params(X, job.fit_params, fold.train)
    parts = {"test": (X_test, y_test, _check_method_params(X, job.score_params, fold.test))}
    if job.return_train_score:
        parts["train"] = (X_train, y_train, _check_method_params(X, job.score_params, fold.train))
    tracks: dict = {}
    for column in chain.columns:
        start = time.perf_counter()
        fitted = _fit_column(job, column, memory, tracks, X_train, y_train, fit_params)
        seconds = (time.perf_counter() - start) / len(column)
        models = [outcome for outcome in fitted.values() if not isinstance(outcome, str)]
        if models:
            models[0]._foresee(models, X_test)
        yield [
            (number, {**_result(job, outcome, parts), "fit_time": seconds})
            for number, outcome in fitted.items()
        ]


def _fit_column(job, column, memory, tracks, X, y, fit_params):
    """Return for each candidate its fitted model, or the traceback of its error."""
    posed: dict = {}
    outcomes: dict = {}
    for number in column:
        model = job.model(number)
        model._memory = memory
        try:
            posed[number] = model, model._pose(X, y, **fit_params)
        except Exception:
            if job.error_score == "raise":
                raise
            outcomes[number] = format_exc()
    for numbers in _waves(posed, job, tracks):
        models, tasks = zip(*(posed[number] for number in numbers), strict=True)
        near = [tracks.get(lane_of(job.candidates[number]), tracks.get(LAST)) for number in numbers]
        if near[0] is None:
            solved = [model._solve_classes(task) for model, task in zip(models, tasks, strict=True)]
        else:
            solved = models[0]._solve_near(models, tasks, near)
        for number, model, task, solutions in zip(numbers, models, tasks, solved, strict=True):
            outcomes[number] = model._answer(task, solutions)
            pairs = list(zip(solutions, task.problems, strict=True))
            tracks[lane_of(job.candidates[number])] = tracks[LAST] = pairs
    return outcomes


def _waves(numbers, job, tracks):
    """Yield candidates that are solved together: those with a neighbour in their lane, then one by one."""
    known = [number for number in numbers if lane_of(job.candidates[number]) in tracks]
    if known:
        yield known
    yield from ([number] for number in numbers if number not in known)


def _result(job, outcome, parts):
    """Return scores and times of a fitted model, or of an error."""
    failed = isinstance(outcome, str)
    result: dict[str, Any] = {"fit_error": outcome if failed else None}
    start = time.perf_counter()
    for name, (X, y, params) in parts.items():
        if not failed:
            scores = _score(outcome, X, y, job.scorer, params, job.error_score)
        elif hasattr(job.scorer, "_scorers"):
            scores = dict.fromkeys(job.scorer._scorers, job.error_score)
        else:
            scores = job.error_score
        result[f"{name}_scores"] = scores
        if name == "test":
            result["score_time"] = time.perf_counter() - start
    return result
