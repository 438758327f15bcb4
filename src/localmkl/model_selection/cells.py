"""One chain on one fold: fit its candidates column by column, and score them.

What runs here may run in another process: it takes arrays and small things, and returns plain numbers.
"""

import sys
import time
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from traceback import format_exc
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from localmkl._resources import NUMBER
from localmkl._sklearn import score, scorers_in, split_params, split_rows
from localmkl.estimators.base import COSINE
from localmkl.estimators.context import Memory
from localmkl.estimators.gating import GATE_MATRICES
from localmkl.estimators.rows import BLOCK_ENTRIES
from localmkl.kernels import GramStack
from localmkl.model_selection.plan import lane_of

LAST = "last"
"""Where the track of the candidate solved last is kept, for those that are the first of their lane."""


@dataclass(frozen=True)
class Fold:
    """Numbers of the training rows and of the rows to score."""

    number: int
    train: np.ndarray
    test: np.ndarray

    @classmethod
    def of(cls, number, pair):
        """Return a fold from indices or masks."""
        masks = (np.asarray(part) for part in pair)
        return cls(number, *(np.flatnonzero(part) if part.dtype == bool else part for part in masks))


@dataclass(frozen=True)
class Job:
    """What all cells of a search share."""

    estimator: Any
    candidates: list
    seed: int
    X: Any
    y: Any
    scorer: Any
    error_score: Any
    return_train_score: bool
    fit_params: dict
    score_params: dict

    def model(self, number):
        """Return a new, unfitted model of a candidate; one without a seed is given the search's."""
        model = clone(self.estimator).set_params(**clone(self.candidates[number], safe=False))
        if getattr(model, "random_state", self.seed) is None:
            model.random_state = self.seed
        return model

    def check_candidates(self):
        """Raise if parameters of a candidate are wrong, or do not go together, whatever the data are."""
        refused = {}
        for number in range(len(self.candidates)):
            try:
                self.model(number)._check_parameters()
            except (TypeError, ValueError) as error:
                refused[number] = error
        if refused:
            first = next(iter(refused))
            values = ", ".join(f"{name}={value!r}" for name, value in self.candidates[first].items())
            raise ValueError(
                f"All candidates must be allowed, got {len(refused)} of {len(self.candidates)} that are not, "
                f"the first of them {values}: {str(refused[first]).rstrip('.')}; where values do not go "
                "together, give a list of grids instead of one."
            ) from refused[first]

    def failure(self):
        """Return the traceback of the error at hand; raise it if the user wants to see it, or must."""
        if self.error_score == "raise" or isinstance(sys.exception(), MemoryError):
            raise
        return format_exc()

    def fit_params_of(self, rows):
        """Return the parameters of ``fit`` for some rows; None stands for all rows."""
        return split_params(self.X, self.fit_params, rows)

    def stack_key(self, grams, model, train):
        """Return what identifies a model's stack: its fitted kernels (none if they cannot be), cosine."""
        try:
            states = grams.states(model, train, self.fit_params_of(train).get("sample_weight"))[1]
        except (TypeError, ValueError):  # the fit will say why
            states = ()
        return states, model.normalize == COSINE

    def bytes_of_fits(self, models, chains, folds):
        """Return what fits on folds (and predictions), and one on all rows, take beside the stacks."""
        widest = max(len(column) for chain in chains for column in chain.columns)
        most = max(len(fold.test) * len(fold.train) for fold in folds)
        on_folds = [NUMBER * GATE_MATRICES * min(most, BLOCK_ENTRIES)]
        on_folds += [self._bytes_of_fit(model, len(fold.train), widest) for model in models for fold in folds]
        return max(on_folds), max(self._bytes_of_fit(model, len(self.X), 1) for model in models)

    def _bytes_of_fit(self, model, n_samples, side_by_side):
        given = isinstance(self.X, GramStack)
        n_kernels = self.X.n_kernels if given else model._n_kernels
        itemsize = self.X.dtype.itemsize if given and model.normalize != COSINE else NUMBER
        classes = len(np.unique(model._check_y(self.y))) if is_classifier(model) else 1
        n_problems = 1 if classes < 3 else classes
        solving = model._solving_bytes(n_samples, n_kernels, n_problems, itemsize, side_by_side)
        return max(model._gating_bytes(n_samples), solving)

    def memory(self, grams, model, train, parallel):
        """Return what fits of a model on some training rows share.

        Parameters
        ----------
        grams : SharedGrams
        """
        if self.fit_params.get("unlabeled") is not None:  # rows beside those whose Grams are shared
            return Memory(parallel=parallel)
        try:
            return grams.memory(model, train, self.fit_params_of(train).get("sample_weight"), parallel)
        except (TypeError, ValueError):  # the fit will say why
            return Memory(parallel=parallel)

    def prepared(self, memory, chain, fold):
        """Return a memory that knows normalisation and partition already."""
        X, y = split_rows(self.estimator, self.X, self.y, fold.train)
        for number in chain.candidates:
            model = self.model(number)
            model._memory = memory
            try:
                model._pose(X, y, **self.fit_params_of(fold.train))
                break
            except Exception:  # the fit will say why
                continue
        return memory


def detached(job, memory):
    """Return a job and a memory without their large arrays, and these: they travel by their own ways."""
    arrays = (job.X, None, job.y)
    if isinstance(job.X, GramStack):
        arrays = (_without_grams(job.X), job.X.grams, job.y)
    grams = None
    if memory.stack is not None:
        grams, memory = memory.stack.grams, replace(memory, stack=_without_grams(memory.stack))
    return replace(job, X=None, y=None), memory, *arrays, grams


def attached(job, memory, X, X_grams, y, grams):
    """Undo `detached`."""
    X = X if X_grams is None else _with_grams(X, X_grams)
    if grams is not None:
        memory = replace(memory, stack=_with_grams(memory.stack, grams))
    return replace(job, X=X, y=y), memory


def _without_grams(stack):
    return _with_grams(stack, None)


def _with_grams(stack, grams):
    other = copy(stack)
    other.grams = grams
    return other


def run_chain(key, fold, chain, *parts):
    """Return the key, and (candidate, result) of every cell of a chain on a fold, or the error."""
    try:
        job, memory = attached(*parts)
        return key, [cell for column in columns_of(job, memory, fold, chain) for cell in column]
    except Exception as error:
        return key, error


def columns_of(job, memory, fold, chain):
    """Yield, column by column, a list of (candidate, result) in the form of scikit-learn's searches."""
    X_train, y_train = split_rows(job.estimator, job.X, job.y, fold.train)
    X_test, y_test = split_rows(job.estimator, job.X, job.y, fold.test, fold.train)
    if memory.stack is not None:
        memory = replace(memory, known=((X_test, fold.test), (X_train, fold.train)))
    fit_params = job.fit_params_of(fold.train)
    parts = {"test": (X_test, y_test, split_params(job.X, job.score_params, fold.test))}
    if job.return_train_score:
        parts["train"] = (X_train, y_train, split_params(job.X, job.score_params, fold.train))
    tracks: dict = {}
    for column in chain.columns:
        start = time.perf_counter()
        fitted = _fit_column(job, column, memory, tracks, X_train, y_train, fit_params)
        seconds = (time.perf_counter() - start) / len(column)
        models = [outcome for outcome in fitted.values() if not isinstance(outcome, str)]
        if models:
            with suppress(Exception):  # the scorer will meet it again, and knows what to do
                models[0]._foresee(models, X_test, memory)
        yield [
            (number, {**_result(job, outcome, parts), "fit_time": seconds})
            for number, outcome in fitted.items()
        ]
    memory.forget()


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
            outcomes[number] = job.failure()
    for numbers in _waves(posed, job, tracks):
        models, tasks = zip(*(posed[number] for number in numbers), strict=True)
        near = [tracks.get(lane_of(job.candidates[number]), tracks.get(LAST)) for number in numbers]
        try:
            solved = models[0]._solve_near(models, tasks, near)
        except Exception:
            outcomes |= dict.fromkeys(numbers, job.failure())
            continue
        for number, model, task, solutions in zip(numbers, models, tasks, solved, strict=True):
            outcomes[number] = model._answer(task, solutions)
            pairs = list(zip(solutions, task.problems, strict=True))
            tracks[lane_of(job.candidates[number])] = tracks[LAST] = pairs
    return outcomes


def _waves(posed, job, tracks):
    """Yield candidates that are solved together.

    First those with a neighbour in their lane; then, if nothing is solved yet, those that can start from
    nothing together; then each of the others from the one before.
    """
    known = [number for number in posed if lane_of(job.candidates[number]) in tracks]
    fresh = [] if tracks else [number for number, (model, _) in posed.items() if model._starts_together]
    yield from (wave for wave in (known, fresh) if wave)
    yield from ([number] for number in posed if number not in known and number not in fresh)


def _result(job, outcome, parts):
    """Return scores and times of a fitted model, or of an error."""
    failed = isinstance(outcome, str)
    result: dict[str, Any] = {"fit_error": outcome if failed else None}
    start = time.perf_counter()
    for name, (X, y, params) in parts.items():
        if not failed:
            scores = score(outcome, X, y, job.scorer, params, job.error_score)
        elif scorers_in(job.scorer) is not None:
            scores = dict.fromkeys(scorers_in(job.scorer), job.error_score)
        else:
            scores = job.error_score
        result[f"{name}_scores"] = scores
        if name == "test":
            result["score_time"] = time.perf_counter() - start
    return result
