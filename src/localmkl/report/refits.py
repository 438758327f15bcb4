"""Fits that a model is compared with: baselines, models without a fold, one model for each known group."""

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.pipeline import Pipeline

from localmkl._types import Array, Ints, Rows
from localmkl.estimators import MKLClassifier, MKLRegressor, UniformMKLClassifier, UniformMKLRegressor
from localmkl.estimators.groups import Grouped, rows_of
from localmkl.explain import has_groups, memberships_of
from localmkl.kernels.stack import take_rows
from localmkl.model_selection import MKLSearchCV
from localmkl.report.subject import Subject, decide
from localmkl.stacks import Stack
from localmkl.views import Views

BASELINES = {"MKL": (MKLClassifier, MKLRegressor), "UNIF": (UniformMKLClassifier, UniformMKLRegressor)}
SEPARATE, UNSHARED = "separate models", "nothing shared"
COMPLETE = "complete samples only"


def decide_by_folds(estimator: Any, X: Rows, y: Array, folds: list[tuple[Ints, Ints]]) -> Array:
    """Return the decisions on the rows of each fold by an estimator fitted without them."""
    parts = []
    for train, test in folds:
        fitted = fit(clone(estimator), pick(X, train, train), y[train])
        parts.append(decide(fitted, pick(X, test, train)))
    together = np.concatenate(parts)
    together[np.concatenate([test for _, test in folds])] = together.copy()
    return together


def pick(X: Rows, rows: Ints, columns: Ints) -> Rows:
    """Return some rows; of Grams, with some columns."""
    return X[np.ix_(rows, columns)] if isinstance(rows_of(X), Stack) else take_rows(X, rows)


def fit(estimator: Any, X: Rows, y: Array) -> Any:
    """Fit a model or a pipeline to rows that may carry their groups."""
    if isinstance(estimator, Pipeline) and isinstance(X, Grouped):
        return estimator.fit(X.rows, y, **{f"{estimator.steps[-1][0]}__groups": X.groups})
    return estimator.fit(X, y)


def strength(subject: Subject) -> float:
    """Return sum_j c_j^2 of the memberships c that all samples share: the kernel of MKL is as much larger.

    Where C is scaled, it makes up for that.
    """
    if not subject.alike or getattr(subject.model, "scale_C", False):
        return 1.0
    shared = memberships_of(subject.model)[0]
    return float(shared @ shared)


def is_tuned(subject: Subject) -> bool:
    """Whether baselines are searched over the grid of the model: one of a random search is not known."""
    grid, drawn = (getattr(subject.search, name, None) for name in ("param_grid", "n_iter"))
    return grid is not None and drawn is None


def baseline(subject: Subject, name: str) -> Any:
    """Return a baseline with the kernels and parameters of the model, tuned in the same way as that."""
    kind = BASELINES[name][0 if subject.classifier else 1]
    known = kind().get_params(deep=False)
    params = subject.model.get_params(deep=False)
    if has_groups(subject.model):  # the column of groups is no column of the kernels
        model = clone(subject.model).set_params(shared=1.0, **({"p": np.inf} if name == "UNIF" else {}))
    else:
        model = kind(**{key: value for key, value in params.items() if key in known})
        model.set_params(C=strength(subject) * model.C)
    model, prefix = _in_place(subject, model)
    if not is_tuned(subject):
        return model
    grid = subject.search.param_grid
    grids = [grid] if isinstance(grid, dict) else grid
    searched = known.keys() - {"loss", "quantile"}  # with others, its scores would mean something else
    allowed = [
        {key: values for key, values in one.items() if key.removeprefix(prefix) in searched} for one in grids
    ]
    search = clone(subject.search).set_params(estimator=model, param_grid=allowed, refit=True)
    if "checkpoint" in search.get_params(deep=False):
        search.set_params(checkpoint=None)
    try:
        with warnings.catch_warnings():  # candidates that fail do not count
            warnings.simplefilter("ignore", FitFailedWarning)
            warnings.filterwarnings("ignore", "One or more of the test scores are non-finite")
            warnings.filterwarnings("ignore", "The groups parameter is ignored")
            _search(search, subject)
    except ValueError as error:
        raise ValueError(
            f"The baseline {name} cannot be searched over the grid of the model; leave the baselines out."
        ) from error
    return clone(model).set_params(**search.best_params_)


def _search(search: Any, subject: Subject) -> Any:
    """Fit a search to the training rows; its folds and its models may ask for their groups."""
    X, y = subject.training
    if not subject.grouped:
        return search.fit(X, y)
    return search.fit(rows_of(X) if isinstance(search, MKLSearchCV) else X, y, groups=subject.groups_in(X))


def _in_place(subject: Subject, model: Any) -> tuple[Any, str]:
    """Return a model in the pipeline of the subject, if that is one, and the prefix of its parameters."""
    if not isinstance(subject.whole, Pipeline):
        return model, ""
    *steps, (last, _) = clone(subject.whole).steps
    return Pipeline([*steps, (last, model)]), f"{last}__"


def group_rivals(subject: Subject) -> dict[str, Any]:
    """Return what a model of known groups is compared with beside the baselines, by name; not tuned."""
    if not subject.grouped:
        return {}
    rivals: dict[str, Any] = {
        SEPARATE: Separate(_in_place(subject, clone(subject.model).set_params(shared=1.0))[0])
    }
    if subject.model.shared_ > 0.0:
        rivals[UNSHARED] = _in_place(subject, clone(subject.model).set_params(shared=0.0))[0]
    return rivals


def view_rivals(subject: Subject) -> dict[str, Any]:
    """Return the model without the incomplete samples, where there are some to train on; not tuned."""
    if not subject.views or subject.training is None:
        return {}
    rows = subject.training[0]
    if not isinstance(rows_of(rows), Views) or subject.present(rows).all():
        return {}
    return {COMPLETE: Complete(_in_place(subject, clone(subject.model))[0], subject.views)}


class Complete(BaseEstimator):
    """A model fitted to the samples alone that have all views; none where these do not suffice.

    Parameters
    ----------
    model : estimator
    views : list of str
    """

    def __init__(self, model: Any, views: list[str]) -> None:
        self.model = model
        self.views = views

    def fit(self, X: Rows, y: Array) -> Self:
        """Fit the model, if samples of every class are left, and as many as it needs."""
        kept, classes = np.flatnonzero(rows_of(X).share(self.views) == 1.0), np.unique(y)
        self.model_ = None
        self.shape_ = (len(classes),) if is_classifier(self.model) and len(classes) > 2 else ()
        if len(kept) > 1 and (not is_classifier(self.model) or len(np.unique(y[kept])) == len(classes)):
            try:
                self.model_ = fit(clone(self.model), take_rows(X, kept), y[kept])
            except ValueError:  # fewer samples than clusters, for instance
                self.model_ = None
        return self

    def predict(self, X: Rows) -> Array:
        """Return the decisions of the model; NaN without one."""
        return np.full((len(X), *self.shape_), np.nan) if self.model_ is None else decide(self.model_, X)


class Separate(BaseEstimator):
    """A model for each group, fitted to its rows alone; none for a group that lacks a class.

    Parameters
    ----------
    model : estimator that reads groups, and shares everything
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Rows, y: Array) -> Self:
        """Fit the model of each group that can have one."""
        own, classes = self._groups(X), np.unique(y)
        self.models_, self.rows_ = {}, {}
        for group in np.unique(own):
            rows = np.flatnonzero(own == group)
            whole = not is_classifier(self.model) or len(np.unique(y[rows])) == len(classes)
            if whole and len(rows) > 1:
                self.models_[group] = fit(clone(self.model), pick(X, rows, rows), y[rows])
                self.rows_[group] = rows
        self.shape_ = (len(classes),) if is_classifier(self.model) and len(classes) > 2 else ()
        return self

    def predict(self, X: Rows) -> Array:
        """Return the decisions of the model of each row's group; NaN without one."""
        own, n_rows = self._groups(X), X.shape[0]
        decisions = np.full((n_rows, *self.shape_), np.nan)
        for group, model in self.models_.items():
            rows = np.flatnonzero(own == group)
            if len(rows):
                decisions[rows] = decide(model, pick(X, rows, self.rows_[group]))
        return decisions

    def _groups(self, X: Rows) -> Array:
        last = self.model[-1] if isinstance(self.model, Pipeline) else self.model
        return np.array([str(group) for group in last._groups_in(X)])
