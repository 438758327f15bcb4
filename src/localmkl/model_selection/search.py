"""Search over parameters of the estimators of localmkl, as scikit-learn's searches do it."""

import time
from numbers import Integral

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import ParameterGrid, ParameterSampler, check_cv
from sklearn.model_selection._search import BaseSearchCV
from sklearn.model_selection._validation import (
    _insert_error_scores,
    _warn_or_raise_about_fit_failures,
)
from sklearn.utils import indexable
from sklearn.utils.validation import _check_method_params

from localmkl.kernels import GramStack
from localmkl.model_selection.cells import Fold, Job, columns_of
from localmkl.model_selection.grams import SharedGrams
from localmkl.model_selection.plan import plan


class MKLSearchCV(BaseSearchCV):
    """Cross-validated search over parameters, with shared Grams, shared partitions and warm starts."""

    _parameter_constraints = {
        **BaseSearchCV._parameter_constraints,
        "param_grid": [dict, list],
        "n_iter": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator,
        param_grid,
        *,
        scoring=None,
        n_jobs=None,
        refit=True,
        cv=None,
        n_iter=None,
        random_state=None,
        checkpoint=None,
        verbose=0,
        error_score=np.nan,
        return_train_score=False,
    ):
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
        self.checkpoint = checkpoint

    def fit(self, X, y=None, **params):
        """Fit every candidate on every fold, and the best one on all rows."""
        scorer, refit_metric = self._get_scorers()
        if self.estimator._precomputed and not isinstance(X, GramStack):
            X = GramStack(X)
        X, y = indexable(X, y)
        params = _check_method_params(X, params=params)
        routed = self._get_routed_params_for_fit(params)
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        folds = [Fold(number, *pair) for number, pair in enumerate(cv.split(X, y, **routed.splitter.split))]
        self.n_splits_ = len(folds)
        candidates = self._candidates()
        chains = plan(candidates, self.estimator.get_params(deep=False))
        job = Job(
            clone(self.estimator),
            candidates,
            scorer,
            self.error_score,
            self.return_train_score,
            routed.estimator.fit,
            routed.scorer.score,
        )
        results = {}
        rows = clone(self.estimator)._check_rows(X, reset=True)
        with SharedGrams(rows, on_disk=False) as grams:
            for fold in folds:
                memories = {}
                for chain in chains:
                    if chain.group not in memories:
                        first = job.model(chain.candidates[0])
                        memories[chain.group] = grams.memory(first, fold.train, None)
                    for column in columns_of(job, X, y, memories[chain.group], fold, chain):
                        for number, result in column:
                            results[number, fold.number] = result
            out = [results[c, f.number] for c in range(len(candidates)) for f in folds]
            _warn_or_raise_about_fit_failures(out, self.error_score)
            if callable(self.scoring):
                _insert_error_scores(out, self.error_score)
            self.cv_results_ = self._format_results(candidates, len(folds), out)
            first_score = out[0]["test_scores"]
            self.multimetric_ = isinstance(first_score, dict)
            if callable(self.scoring) and self.multimetric_:
                self._check_refit_for_multimetric(first_score)
                refit_metric = self.refit
            self.scorer_ = getattr(scorer, "_scorers", scorer)
            if self.refit or not self.multimetric_:
                self.best_index_ = self._select_best_index(self.refit, refit_metric, self.cv_results_)
                if not callable(self.refit):
                    self.best_score_ = self.cv_results_[f"mean_test_{refit_metric}"][self.best_index_]
                self.best_params_ = candidates[self.best_index_]
            if self.refit:
                best = clone(self.estimator).set_params(**clone(self.best_params_, safe=False))
                start = time.perf_counter()
                self.best_estimator_ = best.fit(X, y, **routed.estimator.fit)
                self.refit_time_ = time.perf_counter() - start
        return self

    def _candidates(self):
        if self.n_iter is None:
            return list(ParameterGrid(self.param_grid))
        return list(ParameterSampler(self.param_grid, self.n_iter, random_state=self.random_state))
