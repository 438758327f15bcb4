"""Search over the parameters of localmkl's estimators, as scikit-learn's searches do it.

What is shared: Grams (over all folds and candidates), normalisation and partition (over the candidates of a
fold), reading the stack (over candidates of one evenness), solutions (as starts of their neighbours).
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone, is_classifier
from sklearn.model_selection import ParameterGrid, ParameterSampler, check_cv
from sklearn.utils import check_random_state, indexable
from sklearn.utils.metaestimators import available_if

from localmkl import __version__
from localmkl._sklearn import (
    BaseSearchCV,
    insert_error_scores,
    report_failures,
    responses_for,
    scorers_in,
    split_params,
)
from localmkl._types import Array, FilePath, Ints, Rows, Seed, Targets
from localmkl.estimators.base import BaseMKL
from localmkl.estimators.groups import as_groups, with_groups
from localmkl.estimators.rows import in_chunks
from localmkl.gates import GROUPS
from localmkl.model_selection.cells import Cell, Fold, Job
from localmkl.model_selection.checkpoint import Checkpoint, fingerprint
from localmkl.model_selection.grams import SharedGrams
from localmkl.model_selection.run import Run
from localmkl.stacks import GramStack, Stack
from localmkl.views import as_views

MOST_STEPS = 3
"""Most steps beyond the given values: three of a factor ten are a thousand."""


def _of_best(name: str, what: str) -> Any:
    """Return a method of the search that its best estimator has, for rows with their groups."""

    def ask(self: MKLSearchCV, X: Rows, groups: Targets = None) -> Array:
        return getattr(super(MKLSearchCV, self), name)(with_groups(X, groups))

    ask.__name__, ask.__qualname__ = name, f"MKLSearchCV.{name}"
    ask.__doc__ = f"""Return {what}, by the best estimator.

        Parameters
        ----------
        X : rows, or cross-Grams when precomputed
        groups : array-like of shape (n_samples,), optional
            Their groups, for ``gate="groups"``.

        Returns
        -------
        ndarray
            As from ``best_estimator_``.
        """
    return available_if(lambda search: getattr(super(MKLSearchCV, search), name))(ask)


class MKLSearchCV(BaseSearchCV):
    """Cross-validated search over parameters at the price of a few fits.

    A drop-in for scikit-learn's ``GridSearchCV`` (with `n_iter`: ``RandomizedSearchCV``) for the estimators
    of localmkl: same parameters, same attributes and, within the effect of the estimator's `tol`, the same
    scores. Every base Gram is computed once; kernel k-means runs once for each fold and number of
    clusters; solutions start from their neighbours along `C`, `evenness`, `p`, `loss` and `epsilon`,
    and candidates of one evenness read the Gram stack together. Whatever is learned (normalisation, clusters,
    widths of kernels) is learned on the training rows of a fold alone.

    Parameters
    ----------
    estimator : estimator of localmkl
    param_grid : dict or list of dict
        Values (with `n_iter`, also distributions) of each parameter.
    scoring : str, callable, list, tuple, dict or None
        As for ``GridSearchCV``, several metrics included.
    n_jobs : int or None, default=None
        Workers. They read one Gram stack through a memory map; any joblib backend will do, also dask's:
        ``with joblib.parallel_config(backend="dask"): search.fit(X, y)``.
    refit : bool, str or callable, default=True
        Whether to fit the best candidate on all rows; with several metrics, the name of the one that decides.
    cv : int, splitter, iterable of (train, test) or None
        A fixed validation set is ``[(train, valid)]``.
    n_iter : int or None, default=None
        Draw this many candidates instead of trying all.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw, and of estimators without a seed of their own.
    follow : sequence of str, default=()
        Parameters, positive numbers such as `C`, whose best value is followed where it is the largest or the
        smallest tried: the next one, by the ratio of the last two, is tried with all values of the other
        parameters, three times at most and not beyond what is allowed (an evenness of 1).
    device : str or None, default=None
        Where the fits run: "cpu", "cuda", "cuda:1" or "auto". None: as the estimator says. On a GPU the stack
        of all rows is kept there, and candidates are fitted one after the other, in this process.
    checkpoint : path-like or None, default=None
        A file of finished work. A search that is started again with the same file goes on where it was
        stopped, and gives the same table.
    verbose : int, default=0
        Show a progress bar on stderr.
    error_score : "raise" or number, default=nan
        Score of a candidate that cannot be fitted.
    return_train_score : bool, default=False

    Attributes
    ----------
    cv_results_ : dict of ndarray
        As for ``GridSearchCV``; `mean_fit_time` shares the time of fits that ran together evenly.
    best_estimator_ : estimator
    best_params_ : dict
    best_score_ : float
    best_index_ : int
    scorer_ : callable or dict
    n_splits_ : int
    refit_time_ : float
    multimetric_ : bool
    interrupted_ : bool
        Whether Ctrl-C ended the search; `cv_results_` then holds the candidates that are complete.

    See Also
    --------
    nested_cross_validate : Judge the whole search on rows it has not seen.
    score_table : The scores as a tidy table.

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> from localmkl.model_selection import MKLSearchCV
    >>> X, y = make_localized(n_samples=100, random_state=0)[:2]
    >>> grid = {"C": [0.1, 1.0, 10.0], "evenness": [0.5, 0.7, 0.9]}
    >>> search = MKLSearchCV(CLMKLClassifier(n_clusters=2, random_state=0), grid, cv=3).fit(X, y)
    >>> sorted(search.best_params_), len(search.cv_results_["params"])
    (['C', 'evenness'], 9)
    >>> search.predict(X).shape
    (100,)
    """

    follow: Any = ()  # for searches that were saved before there were such parameters
    device: Any = None

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        **BaseSearchCV._parameter_constraints,
        "param_grid": [dict, list],
        "n_iter": [Integral, None],
        "random_state": ["random_state"],
        "follow": [list, tuple],
        "device": [str, None],
        "checkpoint": [str, os.PathLike, None],
    }

    def __init__(
        self,
        estimator: BaseMKL,
        param_grid: dict[str, Any] | list[dict[str, Any]],
        *,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool | str | Callable[..., int] = True,
        cv: Any = None,
        n_iter: int | None = None,
        random_state: Seed = None,
        follow: Sequence[str] = (),
        device: str | None = None,
        checkpoint: FilePath | None = None,
        verbose: int = 0,
        error_score: float | str = np.nan,
        return_train_score: bool = False,
    ) -> None:
        super().__init__(
            estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.param_grid = param_grid
        self.n_iter = n_iter
        self.random_state = random_state
        self.follow = follow
        self.device = device
        self.checkpoint = checkpoint

    def fit(self, X: Rows, y: Targets = None, **params: Any) -> Self:
        """Fit every candidate on every fold, and the best one on all rows.

        Parameters
        ----------
        X : array, sparse matrix, data frame, sequences, Views or GramStack
            Rows, or their square stack when precomputed.
        y : array-like of shape (n_samples,)
        **params : dict
            Passed to ``fit`` of the estimator (`sample_weight`, split like the rows), to the scorer and to
            the splitter (`groups`), as in ``GridSearchCV``. Estimators with ``gate="groups"`` that name no
            column get the `groups` too.

        Returns
        -------
        self
        """
        self._validate_params()
        if not isinstance(self.estimator, BaseMKL):
            raise TypeError(
                f"`estimator` must be an estimator of localmkl, got {type(self.estimator).__name__}; for "
                "pipelines and others use scikit-learn's GridSearchCV."
            )
        if in_chunks(X):
            return self._fit_on_cluster(X, y, **params)
        X, y = indexable(rows_to_slice(self.estimator, X), y)
        params = split_params(X, params=params)
        routed = self._get_routed_params_for_fit(params)
        self._check_fit_params(routed.estimator.fit)
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        folds = [Fold.of(*each) for each in enumerate(split_into_folds(cv, X, y, **routed.splitter.split))]
        scorer, refit_metric = self._get_scorers()
        job = Job(
            estimator=self._placed(),
            candidates=self._candidates(),
            seed=self._seed(),
            X=X,
            y=y,
            groups=self._groups(params.get("groups")),
            scorer=scorer,
            error_score=self.error_score,
            return_train_score=self.return_train_score,
            fit_params=routed.estimator.fit,
            score_params=routed.scorer.score,
        )
        self._check_job(job)
        checkpoint = self._checkpoint(job, folds)
        if checkpoint is not None:
            job = replace(job, seed=checkpoint.settings["seed"])
        rows = clone(self.estimator)._check_rows(X, reset=True)
        with SharedGrams(rows, in_files=effective_n_jobs(self.n_jobs) > 1) as grams:
            cells: list[tuple[dict[str, Any], list[Cell]]] = []
            for stage in range(1 + MOST_STEPS):
                run = Run(job, folds, grams, self.n_jobs, checkpoint, stage)
                self.interrupted_ = run.until_interrupted(shown=self.verbose > 0)
                cells += [(job.candidates[number], results) for number, results in run.complete().items()]
                self._store(job, cells, len(folds), refit_metric)
                run.forget_stacks()
                further = [] if self.interrupted_ or stage == MOST_STEPS else self._beyond()
                following = replace(job, candidates=further)
                if not further or not following.is_allowed():
                    break
                job = following
            if self.refit:
                self._refit(job, grams)
        return self

    def _placed(self) -> BaseMKL:
        """Return a copy of the estimator for the device of the search; raise if workers cannot share it."""
        estimator = clone(self.estimator)
        if self.device is not None:
            if "device" not in estimator.get_params(deep=False):
                raise ValueError(
                    f"`device` must be None for {type(estimator).__name__}, got {self.device!r}; it is for "
                    "the convex methods."
                )
            estimator.set_params(device=self.device)
        if estimator._device is not None and effective_n_jobs(self.n_jobs) > 1:
            raise ValueError(
                f"`n_jobs` must be None or 1 on a device, got {self.n_jobs}; one process keeps it busy."
            )
        return estimator

    predict = _of_best("predict", "the predictions")
    decision_function = _of_best("decision_function", "the decisions")
    predict_proba = _of_best("predict_proba", "the probabilities of the classes")
    predict_log_proba = _of_best("predict_log_proba", "the logarithms of the probabilities of the classes")

    def _fit_on_cluster(self, X: Rows, y: Targets, sample_weight: Any = None) -> Self:
        """Search on a sample of rows in chunks, then fit the best candidate to all of them."""
        from localmkl.cluster import sample_of

        sample = sample_of(clone(self.estimator), X, y, sample_weight)
        weights = {} if sample.weights is None else {"sample_weight": sample.weights}
        self.fit(sample.rows, sample.y, **weights)
        if self.refit and not self.interrupted_:
            start = time.perf_counter()
            best = clone(self.estimator).set_params(**clone(self.best_params_, safe=False))
            self.best_estimator_ = best.fit(X, y, sample_weight=sample_weight)
            self.refit_time_ = time.perf_counter() - start
        return self

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _check_job(self, job: Job) -> None:
        """Raise if a candidate is not allowed, or cannot be scored."""
        models = job.check_candidates()
        several = scorers_in(job.scorer)
        for name, one in several.items() if several else [(self.scoring, job.scorer)]:
            for model in models:
                check_scorer(name, one, model)

    def _beyond(self) -> list[dict[str, Any]]:
        """Return the candidates one step beyond the best values that lie at an end of those tried."""
        tried = self.cv_results_["params"] if self.follow and hasattr(self, "best_params_") else []
        steps = {
            name: next_value(self.best_params_[name], [one[name] for one in tried if name in one])
            for name in self.follow
            if name in self.best_params_ and tried
        }
        steps = {name: value for name, value in steps.items() if value is not None}
        at_edge = [one for one in tried if all(one.get(name) == self.best_params_[name] for name in steps)]
        return [{**one, **steps} for one in at_edge] if steps else []

    def _groups(self, groups: Targets) -> Array | None:
        """Return the groups of the rows if an estimator will ask for them, else None."""
        given = self.estimator.get_params(deep=False)
        asking = any(names_no_column({**given, **one}) for one in self._candidates())
        return as_groups(groups) if asking and groups is not None else None

    def _check_fit_params(self, given: Iterable[str]) -> None:
        allowed = list(signature(self.estimator.fit).parameters)[2:]
        for name in given:
            if name not in allowed:
                raise TypeError(
                    f"`fit` of {type(self.estimator).__name__} takes {', '.join(allowed)} beside rows and "
                    f"targets, got {name!r}."
                )

    def _candidates(self) -> list[dict[str, Any]]:
        if self.n_iter is None:
            candidates = list(ParameterGrid(self.param_grid))
        else:
            sampler = ParameterSampler(self.param_grid, self.n_iter, random_state=self.random_state)
            candidates = list(sampler)
        for name in {*self.follow, *(name for candidate in candidates for name in candidate)}:
            if name not in self.estimator.get_params():
                raise ValueError(
                    f"`param_grid` must name parameters of {type(self.estimator).__name__}, got {name!r}; "
                    f"they are {', '.join(sorted(self.estimator.get_params(deep=False)))}."
                )
        return [_with_possible_evenness(candidate) for candidate in candidates]

    def _checkpoint(self, job: Job, folds: Sequence[Fold]) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        X = job.X
        rows = X.contents() if isinstance(X, Stack) else X
        parts = {
            "version": __version__,
            "estimator": (type(job.estimator), job.estimator.get_params()),
            "candidates": job.candidates,
            "rows": rows,
            "targets": job.y,
            "groups": job.groups,
            "splits": [(fold.train, fold.test) for fold in folds],
            "scoring": (self.scoring, self.error_score, self.return_train_score),
            "following": list(self.follow),
            "fit parameters": (job.fit_params, job.score_params),
        }
        prints = {name: fingerprint(part) for name, part in parts.items()}
        return Checkpoint(self.checkpoint, prints, {"seed": job.seed})

    def _store(
        self, job: Job, results: Sequence[tuple[dict[str, Any], list[Cell]]], n_splits: int, refit_metric: str
    ) -> None:
        """Set what ``GridSearchCV`` sets, from the candidates that are complete and their results."""
        candidates = [candidate for candidate, _ in results]
        out = [cell for _, cells in results for cell in cells]
        report_failures(out, self.error_score)
        if callable(self.scoring):
            insert_error_scores(out, self.error_score)
        self.n_splits_ = n_splits
        self.cv_results_ = self._format_results(candidates, n_splits, out)
        scores = out[0]["test_scores"]
        self.multimetric_ = isinstance(scores, dict)
        if callable(self.scoring) and self.multimetric_:
            self._check_refit_for_multimetric(scores)
            refit_metric = self.refit
        self.scorer_ = scorers_in(job.scorer) or job.scorer
        self._check_scores(scores if self.multimetric_ else ["score"], len(candidates))
        if self.refit or not self.multimetric_:
            self.best_index_ = self._select_best_index(self.refit, refit_metric, self.cv_results_)
            self.best_params_ = candidates[self.best_index_]
            if not callable(self.refit):
                self.best_score_ = self.cv_results_[f"mean_test_{refit_metric}"][self.best_index_]

    def _check_scores(self, names: Iterable[str], n_candidates: int) -> None:
        for name in names:
            if np.isnan(self.cv_results_[f"mean_test_{name}"]).all():
                score = name if self.multimetric_ else self.scoring
                raise ValueError(
                    f"The score {score!r} is not a number for any of the {n_candidates} candidates; choose "
                    "one for this task and these targets "
                    "(`error_score='raise'` shows what went wrong)."
                )

    def _refit(self, job: Job, grams: SharedGrams) -> None:
        best = clone(job.estimator).set_params(**clone(self.best_params_, safe=False))
        start = time.perf_counter()
        weights = job.fit_params_of(None).get("sample_weight")
        context = grams.context(best, None, weights, parallel=True)
        rows = with_groups(job.X, job.groups)
        self.best_estimator_ = best._fit(rows, job.y, context, **job.fit_params)
        self.refit_time_ = time.perf_counter() - start
        if hasattr(best, "feature_names_in_"):
            self.feature_names_in_ = best.feature_names_in_


def _with_possible_evenness(candidate: dict[str, Any]) -> dict[str, Any]:
    """Return a candidate whose evenness is at least that of a hard partition into so many clusters."""
    n_clusters, evenness = candidate.get("n_clusters"), candidate.get("evenness")
    if not isinstance(n_clusters, Integral) or not isinstance(evenness, Real):
        return candidate
    least = 1.0 / int(n_clusters) if int(n_clusters) > 1 else 0.0
    return {**candidate, "evenness": least} if 0.0 < float(evenness) < least else candidate


def names_no_column(parameters: Mapping[str, Any]) -> bool:
    """Whether an estimator of these parameters asks for groups beside its rows."""
    gate = parameters.get("gate")
    return isinstance(gate, str) and gate == GROUPS and parameters.get("groups") is None


def next_value(best: float, tried: Sequence[float]) -> float | None:
    """Return the value one step beyond the best, if that is the largest or smallest tried; else None.

    Examples
    --------
    >>> next_value(10.0, [1.0, 10.0]), next_value(0.5, [0.5, 1.0]), next_value(1.0, [0.5, 1.0, 2.0])
    (100.0, 0.25, None)
    """
    values = np.unique(tried)
    if len(values) < 2 or values[0] <= 0.0 or np.isinf(best) or best not in (values[0], values[-1]):
        return None
    return float(best) * (float(best) / float(values[-2] if best == values[-1] else values[1]))


def rows_to_slice(estimator: Any, X: Rows) -> Rows:
    """Return rows in a form that can be sliced: a stack of Grams, views of several tables, or as they are."""
    if not getattr(estimator, "_precomputed", False):
        return as_views(X)
    return X if isinstance(X, Stack) else GramStack(X)


def split_into_folds(cv: Any, X: Rows, y: Targets, **params: Any) -> list[tuple[Ints, Ints]]:
    """Return the pairs of rows that a splitter makes; groups that it ignores may be for the gate alone."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The groups parameter is ignored")
        return list(cv.split(X, y, **params))


def check_scorer(
    name: str | Callable[..., Any] | None, scorer: Callable[..., Any], estimator: BaseMKL
) -> None:
    """Raise if a scorer needs what an estimator cannot give.

    Parameters
    ----------
    name : str, callable or None
        What was asked for, in messages.
    scorer : callable
        One of scikit-learn's says what it needs; others are believed.
    estimator : estimator of localmkl
    """
    needed = responses_for(scorer)
    if needed and not any(hasattr(estimator, method) for method in needed):
        others = "accuracy, balanced_accuracy, f1 or roc_auc, or 'log_loss' as `loss`"
        raise ValueError(
            f"The score {name!r} needs {needed[0]}, which {type(estimator).__name__} does not have; choose "
            f"one of predictions, such as {others if is_classifier(estimator) else 'r2'}."
        )
