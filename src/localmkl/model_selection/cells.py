"""One batch on one fold: fit its candidates column by column, and score them.

What runs here may run in another process: it takes arrays and small things, and returns plain numbers.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from traceback import format_exception
from typing import Any, Self, TypeAlias

import numpy as np
from sklearn.base import clone, is_classifier

from localmkl._resources import NUMBER
from localmkl._sklearn import count_rows, score, scorers_in, split_params, split_rows
from localmkl._types import Ints, Rows, Targets
from localmkl.backends import one_blas_thread
from localmkl.estimators.base import BaseMKL
from localmkl.estimators.column import decided_together, fit_column
from localmkl.estimators.context import FoldContext
from localmkl.estimators.gating import GATE_MATRICES
from localmkl.estimators.groups import Grouped
from localmkl.estimators.rows import BLOCK_ENTRIES
from localmkl.model_selection.grams import SharedGrams, StackKey
from localmkl.model_selection.plan import Batch
from localmkl.stacks import Stack, device_of

Cell: TypeAlias = dict[str, Any]
"""Scores and times of a candidate on a fold, in the form of scikit-learn's searches."""

Cells: TypeAlias = list[tuple[int, Cell]]
"""Cells with the numbers of their candidates."""

Context: TypeAlias = FoldContext | Exception
"""The common part of the fits on a fold, or the error that none of them can avoid."""

Key: TypeAlias = tuple[int, int, int]
"""The numbers of a stage of the search, of a batch and of a fold."""

Parts: TypeAlias = dict[str, tuple[Rows, Targets, dict[str, Any]]]
"""Rows, targets and parameters of the scorer, by the side that is scored: "test" or "train"."""


@dataclass(frozen=True)
class Fold:
    """Numbers of the training rows and of the rows to score."""

    number: int
    train: Ints
    test: Ints

    @classmethod
    def of(cls, number: int, pair: Sequence[Any]) -> Self:
        """Return a fold from indices or masks."""
        masks = (np.asarray(part) for part in pair)
        return cls(number, *(np.flatnonzero(part) if part.dtype == bool else part for part in masks))


@dataclass(frozen=True)
class Job:
    """The common part of all cells of a search."""

    estimator: BaseMKL
    candidates: list[dict[str, Any]]
    seed: int
    X: Rows
    y: Targets
    groups: Any
    scorer: Any
    error_score: Any
    return_train_score: bool
    fit_params: dict[str, Any]
    score_params: dict[str, Any]

    def model(self, number: int) -> BaseMKL:
        """Return a new, unfitted model of a candidate; one without a seed is given the search's."""
        own = self.estimator.get_params(deep=False)
        kernels = own.pop("kernels")  # fits clone them; here it took a tenth of a search
        model = type(self.estimator)(kernels, **clone(own, safe=False))
        model.set_params(**clone(self.candidates[number], safe=False))
        if getattr(model, "random_state", self.seed) is None:
            model.random_state = self.seed
        return model

    def part(self, rows: Ints, train: Ints | None = None) -> tuple[Rows, Targets]:
        """Return some rows (of Grams, their columns at the training rows) with their groups, and targets."""
        X, y = split_rows(self.estimator, self.X, self.y, rows, train)
        return X if self.groups is None else Grouped(X, self.groups[rows]), y

    def check_candidates(self) -> list[BaseMKL]:
        """Return the models; raise if parameters of one are wrong, or do not go together, on any data."""
        models = [self.model(number) for number in range(len(self.candidates))]
        refused = {}
        for number, model in enumerate(models):
            try:
                model._check_parameters()
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
        return models

    def is_allowed(self) -> bool:
        """Whether all candidates may be: one step beyond others there may be nothing."""
        try:
            self.check_candidates()
        except ValueError:
            return False
        return True

    def failure(self, error: Exception) -> str:
        """Return an error with its traceback as text; raise it if the user wants to see it, or must."""
        if self.error_score == "raise" or isinstance(error, MemoryError):
            raise error
        return "".join(format_exception(error))

    def fit_params_of(self, rows: Ints | None) -> dict[str, Any]:
        """Return the parameters of ``fit`` for some rows; None stands for all rows."""
        return split_params(self.X, self.fit_params, rows)

    def stack_key(self, grams: SharedGrams, model: BaseMKL, train: Ints) -> StackKey:
        """Return what identifies a model's stack; of kernels that cannot be fitted, none."""
        try:
            states = grams.states(model, train, self.fit_params_of(train).get("sample_weight"))[1]
        except (TypeError, ValueError):  # the fit will say why
            states = ()
        return grams.key(model, states, train)

    def bytes_of_fits(
        self, models: Sequence[BaseMKL], batches: Sequence[Batch], folds: Sequence[Fold]
    ) -> tuple[int, int]:
        """Return what fits on folds (and predictions), and one on all rows, take beside the stacks."""
        widest = max(len(column) for batch in batches for column in batch.columns)
        most = max(len(fold.test) * len(fold.train) for fold in folds)
        on_folds = [NUMBER * GATE_MATRICES * min(most, BLOCK_ENTRIES)]
        on_folds += [self._bytes_of_fit(model, len(fold.train), widest) for model in models for fold in folds]
        return max(on_folds), max(self._bytes_of_fit(model, count_rows(self.X), 1) for model in models)

    def _bytes_of_fit(self, model: BaseMKL, n_samples: int, side_by_side: int) -> int:
        if model._device is not None or device_of(self.X) is not None:
            return 0
        given = isinstance(self.X, Stack)
        n_kernels = self.X.n_kernels if given else model._count_kernels(self.X)
        classes = len(np.unique(model._check_y(self.y))) if is_classifier(model) else 1
        n_problems = 1 if classes < 3 else classes
        solving = model._solving_bytes(n_samples, n_kernels, n_problems, side_by_side)
        return max(model._gating_bytes(n_samples), solving)

    def context(self, grams: SharedGrams, model: BaseMKL, train: Ints, parallel: bool) -> Context:
        """Return what fits of a model on some training rows share, or the error that no fit can avoid.

        Parameters
        ----------
        grams : SharedGrams
        """
        try:
            return grams.context(model, train, self.fit_params_of(train).get("sample_weight"), parallel)
        except (TypeError, ValueError) as error:  # of kernels that cannot be fitted
            return error

    def prepare(self, context: Context, batch: Batch, fold: Fold) -> None:
        """Learn normalisation and partition of a fold, for all workers."""
        if isinstance(context, Exception):
            return
        X, y = self.part(fold.train)
        for number in batch.candidates:
            try:
                self.model(number)._prepare(X, y, context, **self.fit_params_of(fold.train))
                return
            except Exception:  # the fit will raise it again
                continue


def detached(job: Job, context: Context) -> tuple[Job, Context, Rows, Any, Targets, Any]:
    """Return a job and a context without their large arrays, and these: they travel by their own ways."""
    X, own = job.X.detached() if isinstance(job.X, Stack) else (job.X, None)
    shared = None
    if not isinstance(context, Exception):
        stack, shared = context.stack.detached()
        context = replace(context, stack=stack)
    return replace(job, X=None, y=None), context, X, own, job.y, shared


def attached(job: Job, context: Context, X: Rows, own: Any, y: Targets, shared: Any) -> tuple[Job, Context]:
    """Undo `detached`."""
    X = X.attached(own) if isinstance(X, Stack) else X
    if not isinstance(context, Exception):
        context = replace(context, stack=context.stack.attached(shared))
    return replace(job, X=X, y=y), context


def run_batch(key: Key, fold: Fold, batch: Batch, *parts: Any) -> tuple[Key, Cells | Exception]:
    """Return the key, and (candidate, result) of every cell of a batch on a fold, or the error."""
    try:
        job, context = attached(*parts)
        return key, [cell for column in columns_of(job, context, fold, batch) for cell in column]
    except Exception as error:
        return key, error


def columns_of(job: Job, context: Context, fold: Fold, batch: Batch) -> Iterator[Cells]:
    """Yield, column by column, a list of (candidate, result) in the form of scikit-learn's searches."""
    X, y = job.part(fold.train)
    X_test, y_test = job.part(fold.test, fold.train)
    parts = {"test": (X_test, y_test, split_params(job.X, job.score_params, fold.test))}
    if job.return_train_score:
        parts["train"] = (X, y, split_params(job.X, job.score_params, fold.train))
    if not isinstance(context, Exception):
        context = replace(context, known=((X_test, fold.test), (X, fold.train)))
    solved: dict[Any, Any] = {}
    for column in batch.columns:
        start = time.perf_counter()
        with one_blas_thread():  # threads that have scored would wait on the cores that fits need
            outcomes = _fit(job, column, X, y, context, solved, job.fit_params_of(fold.train))
            seconds = (time.perf_counter() - start) / len(column)
            results = _results(job, outcomes, context, parts)
        yield [(number, {**result, "fit_time": seconds}) for number, result in results.items()]


def _fit(
    job: Job,
    column: Sequence[int],
    X: Rows,
    y: Targets,
    context: Context,
    solved: dict[Any, Any],
    fit_params: dict[str, Any],
) -> dict[int, BaseMKL | Exception]:
    """Return for each candidate its fitted model, or the error that ended its fit."""
    if isinstance(context, Exception):
        return dict.fromkeys(column, context)
    models = [job.model(number) for number in column]
    return dict(zip(column, fit_column(models, X, y, context, solved, **fit_params), strict=True))


def _results(
    job: Job, outcomes: dict[int, BaseMKL | Exception], context: Any, parts: Parts
) -> dict[int, Cell]:
    """Return scores and times of fitted models, and of errors."""
    errors = {number: error for number, error in outcomes.items() if isinstance(error, Exception)}
    results = {number: _failed(job, error, parts) for number, error in errors.items()}
    fitted = {number: model for number, model in outcomes.items() if not isinstance(model, Exception)}
    with decided_together(list(fitted.values()), context) as models:
        scored = {number: _scored(job, model, parts) for number, model in zip(fitted, models, strict=True)}
    return results | scored


def _failed(job: Job, error: Exception, parts: Parts) -> Cell:
    several = scorers_in(job.scorer)
    scores = job.error_score if several is None else dict.fromkeys(several, job.error_score)
    result: Cell = {"fit_error": job.failure(error), "score_time": 0.0}
    return result | {f"{name}_scores": scores for name in parts}


def _scored(job: Job, model: BaseMKL, parts: Parts) -> Cell:
    result: Cell = {"fit_error": None}
    start = time.perf_counter()
    for name, (X, y, params) in parts.items():
        result[f"{name}_scores"] = score(model, X, y, job.scorer, params, job.error_score)
        result.setdefault("score_time", time.perf_counter() - start)
    return result
