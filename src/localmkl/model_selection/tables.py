"""Results of a search as tidy tables, and the two questions most often asked of it in one call."""

import time
from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import indexable

from localmkl._sklearn import split_params, split_rows
from localmkl._types import Rows, Targets
from localmkl.estimators.base import BaseMKL
from localmkl.estimators.groups import with_groups
from localmkl.model_selection.search import MKLSearchCV, names_no_column, rows_to_slice, split_into_folds


def score_table(search: Any) -> Any:
    """Return the scores of a fitted search, one row for each candidate, split, metric and side.

    Parameters
    ----------
    search : MKLSearchCV
        Any search of scikit-learn will do.

    Returns
    -------
    pandas.DataFrame, or a dict of columns where pandas is not installed
        Columns: the parameters, "split", "metric", "side" ("test" or "train") and "score".

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> from localmkl.model_selection import MKLSearchCV, score_table
    >>> X, y = make_localized(n_samples=60, random_state=0)[:2]
    >>> search = MKLSearchCV(MKLClassifier(), {"C": [0.1, 1.0]}, cv=3, refit=False).fit(X, y)
    >>> table = score_table(search)
    >>> list(table), len(table["score"])
    (['C', 'split', 'metric', 'side', 'score'], 6)
    """
    results = search.cv_results_
    names = sorted({name for candidate in results["params"] for name in candidate})
    columns: dict[str, list[Any]] = {name: [] for name in (*names, "split", "metric", "side", "score")}
    for key, scores in results.items():
        head, _, tail = key.partition("_")
        side, _, metric = tail.partition("_")
        if not head.startswith("split") or side not in ("test", "train"):
            continue
        for candidate, score in zip(results["params"], scores, strict=True):
            for name in names:
                columns[name].append(candidate.get(name))
            columns["split"].append(int(head.removeprefix("split")))
            columns["metric"].append(metric)
            columns["side"].append(side)
            columns["score"].append(float(score))
    return _table(columns)


NATURAL_ENDS = {"p": (1.0, np.inf), "shared": (0.0, 1.0), "evenness": (0.0, 1.0), "n_clusters": (1, np.inf)}
"""Parameters that end somewhere: nothing is to be tried beyond."""


def at_edge(search: Any) -> dict[str, tuple[Any, str]]:
    """Return the parameters whose best value is the smallest or the largest that a search has tried.

    Better ones may lie beyond: search again with more values, or name the parameter in `follow`.

    Parameters
    ----------
    search : MKLSearchCV
        Any fitted search of scikit-learn will do.

    Returns
    -------
    dict of str to (value, "smallest" or "largest")
        Numbers alone, and none that end there by nature, such as p = 1.

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> from localmkl.model_selection import MKLSearchCV, at_edge
    >>> X, y = make_localized(n_samples=60, random_state=0)[:2]
    >>> grid = {"C": [1e-6, 1e-5], "p": [1.0]}
    >>> at_edge(MKLSearchCV(MKLClassifier(), grid, cv=3, refit=False).fit(X, y))
    {'C': (1e-06, 'smallest')}
    """
    found = {}
    for name, best in getattr(search, "best_params_", {}).items():
        tried = [one[name] for one in search.cv_results_["params"] if name in one]
        if not all(isinstance(value, Real) and not isinstance(value, bool) for value in tried):
            continue
        own = name.rpartition("__")[2]  # of a pipeline
        low, high = NATURAL_ENDS.get(own, (-np.inf, np.inf))
        if own == "evenness":  # one over the number of clusters, up to a tenth
            low = 1.1 / search.best_params_.get("n_clusters", getattr(search.estimator, "n_clusters", 1))
        if min(tried) < max(tried) and best in (min(tried), max(tried)) and low < best < high:
            found[name] = best, "smallest" if best == min(tried) else "largest"
    return found


def evenness_curve(
    estimator: BaseMKL,
    X: Rows,
    y: Targets,
    *,
    evenness: Iterable[float],
    C: Iterable[float] = (1.0,),
    cv: Any = None,
    scoring: Any = None,
    n_jobs: int | None = None,
    **fit_params: Any,
) -> Any:
    """Return training and test scores over evenness and C: how much locality the data bear.

    Parameters
    ----------
    estimator : CLMKLClassifier or CLMKLRegressor
    X, y : rows (or a GramStack) and targets
    evenness, C : sequences of float
        The values to try, in all combinations.
    cv, scoring, n_jobs : optional
        As for `MKLSearchCV`.
    **fit_params
        Passed to ``fit``.

    Returns
    -------
    pandas.DataFrame, or a dict of columns where pandas is not installed
        As from `score_table`.

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> from localmkl.model_selection import evenness_curve
    >>> X, y = make_localized(n_samples=60, random_state=0)[:2]
    >>> model = CLMKLClassifier(n_clusters=2, random_state=0)
    >>> table = evenness_curve(model, X, y, evenness=[0.5, 0.75, 1.0], cv=3)
    >>> sorted(set(table["side"])), len(table["score"])
    (['test', 'train'], 18)
    """
    grid = {"evenness": list(evenness), "C": list(C)}
    search = MKLSearchCV(
        estimator, grid, scoring=scoring, cv=cv, n_jobs=n_jobs, refit=False, return_train_score=True
    )
    return score_table(search.fit(X, y, **fit_params))


def nested_cross_validate(
    search: MKLSearchCV, X: Rows, y: Targets, *, cv: Any = None, return_estimator: bool = False, **params: Any
) -> dict[str, Any]:
    """Judge a search on rows it has not seen: on every outer fold, search on the rest.

    Parameters
    ----------
    search : MKLSearchCV
        Refitted on the training rows of each outer fold. With a `checkpoint`, each fold has a file of its
        own: the path followed by a point and the number of the fold.
    X, y : rows (or a GramStack) and targets
    cv : int, splitter, iterable of (train, test) or None
        The outer folds.
    return_estimator : bool, default=False
        Whether to return the fitted searches.
    **params
        Passed to ``fit`` of the search and split like the rows; `groups` also to the outer splitter.

    Returns
    -------
    dict
        As from scikit-learn's ``cross_validate``, one entry for each outer fold: "test_score" (with several
        metrics one for each, named after it), "fit_time", "score_time", and the choice: "best_params",
        "best_score" (of the inner folds).

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> from localmkl.model_selection import MKLSearchCV, nested_cross_validate
    >>> X, y = make_localized(n_samples=60, random_state=0)[:2]
    >>> search = MKLSearchCV(MKLClassifier(), {"C": [0.1, 1.0], "p": [1, 2]}, cv=2)
    >>> result = nested_cross_validate(search, X, y, cv=3)
    >>> result["test_score"].shape, sorted(result["best_params"][0])
    ((3,), ['C', 'p'])
    """
    if not search.refit:
        raise ValueError("`search` must refit the best candidate to be judged, got refit=False.")
    X, y = indexable(rows_to_slice(search.estimator, X), y)
    params = split_params(X, params=params)
    outer = check_cv(cv, y, classifier=is_classifier(search.estimator))
    rows = []
    for number, (train, test) in enumerate(split_into_folds(outer, X, y, groups=params.get("groups"))):
        inner = clone(search)
        if search.checkpoint is not None:
            inner.set_params(checkpoint=f"{search.checkpoint}.{number}")
        X_train, y_train = split_rows(search.estimator, X, y, train)
        X_test, y_test = split_rows(search.estimator, X, y, test, train)
        start = time.perf_counter()
        inner.fit(X_train, y_train, **split_params(X, params, train))
        fitted = time.perf_counter()
        if params.get("groups") is not None and names_no_column(inner.best_estimator_.get_params()):
            X_test = with_groups(X_test, np.asarray(params["groups"])[test])
        scores = _scores(inner, X_test, y_test)
        row = {f"test_{name}": score for name, score in scores.items()}
        row |= {"fit_time": fitted - start, "score_time": time.perf_counter() - fitted}
        row |= {"best_params": inner.best_params_, "best_score": getattr(inner, "best_score_", np.nan)}
        rows.append({**row, "estimator": inner} if return_estimator else row)
    listed = ("best_params", "estimator")
    return {
        key: [row[key] for row in rows] if key in listed else np.array([row[key] for row in rows])
        for key in rows[0]
    }


def _scores(search: MKLSearchCV, X: Rows, y: Targets) -> dict[str, Any]:
    """Return every metric of a fitted search on some rows."""
    if isinstance(search.scorer_, dict):
        return {name: scorer(search.best_estimator_, X, y) for name, scorer in search.scorer_.items()}
    score = search.scorer_(search.best_estimator_, X, y)
    return score if isinstance(score, dict) else {"score": score}


def _table(columns: dict[str, list[Any]]) -> Any:
    try:
        import pandas as pd
    except ImportError:
        return {name: np.array(values) for name, values in columns.items()}
    return pd.DataFrame(columns)
