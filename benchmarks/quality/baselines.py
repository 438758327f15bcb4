"""What a careful person does in scikit-learn in ten minutes: four models, each with a grid and five folds.

Sequences become letters by position and counts of words; Grams have their SVM alone.
"""

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

from benchmarks.quality.answers import Answer, cost_grid, folds, guess
from benchmarks.quality.sets import GRAMS, NUMBERS, SEQUENCES, TABLE

LONGEST_WORD = 4
"""Words of five letters are 1024 more columns for some hundred rows."""


def svm_on_best_view(data, train, test):
    """Return the answer of the view whose tuned SVM has the best inner score."""
    parts = _views(data, train, test)
    answers = {name: _svm(data, train, *part) for name, part in parts.items()}
    best = max(answers, key=lambda name: answers[name].inner)
    answers[best].chosen["view"] = best
    return answers[best]


def svm_on_all(data, train, test):
    return _svm(data, train, *_together(data, train, test))


def linear_model(data, train, test):
    if data.target == NUMBERS:
        model, grid = Ridge(), {"model__alpha": [0.1, 1.0, 10.0, 100.0, 1000.0]}
    else:
        model, grid = LogisticRegression(max_iter=1000), {"model__C": [0.001, 0.01, 0.1, 1.0, 10.0]}
    return _tuned(data, train, model, grid, *_together(data, train, test))


def boosting(data, train, test):
    kind = HistGradientBoostingRegressor if data.target == NUMBERS else HistGradientBoostingClassifier
    model = kind(random_state=0, max_iter=60, max_leaf_nodes=15, min_samples_leaf=10, max_bins=63)
    grid = {"model__learning_rate": [0.05, 0.15]}
    return _tuned(data, train, model, grid, *_together(data, train, test))


def has_several_views(data):
    return data.kind != TABLE or len(data.views) > 1


def has_columns(data):
    return data.kind != GRAMS


def _svm(data, train, fitted, new):
    kind = SVR if data.target == NUMBERS else SVC
    costs = cost_grid(data)
    if data.kind == GRAMS:
        return _tuned(data, train, kind(kernel="precomputed"), {"model__C": [*costs, 1000.0]}, fitted, new)
    scale = 1.0 / (fitted.shape[1] * (1.0 if data.standardize else fitted.var()))
    widths = {"model__kernel": ["rbf"], "model__gamma": [0.1 * scale, scale, 10.0 * scale]}
    # A line on many columns separates the rows at a small cost.
    lines = {"model__kernel": ["linear"], "model__C": [0.01 * cost for cost in costs]}
    return _tuned(data, train, kind(), [{**widths, "model__C": costs}, lines], fitted, new)


def _tuned(data, train, model, grid, fitted, new):
    scale = [("scale", StandardScaler())] if data.standardize and data.kind != GRAMS else []
    pipeline = Pipeline([*scale, ("model", model)])
    search = GridSearchCV(pipeline, grid, scoring=data.metric, cv=folds(data, train))
    search.fit(fitted, data.y[train])
    chosen = {name.removeprefix("model__"): value for name, value in search.best_params_.items()}
    return Answer(guess(data, search, new), float(search.best_score_), chosen)


def _views(data, train, test):
    """Return {view: (training rows, test rows)} as arrays; known groups are columns of every view."""
    if data.kind == GRAMS:
        grams = data.X.to_array()
        grams = grams / np.trace(grams, axis1=1, axis2=2)[:, None, None] * grams.shape[1]
        return {
            f"kernel {m + 1}": (gram[np.ix_(train, train)], gram[np.ix_(test, train)])
            for m, gram in enumerate(grams)
        }
    rows = np.concatenate([train, test])
    X = data.take(rows)
    if data.kind == SEQUENCES:
        views = {"letters": _letters(X), "words": _words(X)}
    else:
        views = {name: X[columns].to_numpy(dtype=float) for name, columns in data.views.items()}
    known = [] if data.groups is None else [OneHotEncoder().fit_transform(data.groups[rows, None]).toarray()]
    views = {name: np.hstack([view, *known]) for name, view in views.items()}
    return {name: (view[: len(train)], view[len(train) :]) for name, view in views.items()}


def _together(data, train, test):
    parts = zip(*_views(data, train, test).values(), strict=True)
    return [sum(part) / len(part) if data.kind == GRAMS else np.hstack(part) for part in parts]


def _letters(sequences):
    table = np.array([list(sequence) for sequence in sequences])
    return (
        OneHotEncoder(categories=[list("ACGT")] * table.shape[1], handle_unknown="ignore")
        .fit_transform(table)
        .toarray()
    )


def _words(sequences):
    counter = CountVectorizer(analyzer="char", ngram_range=(1, LONGEST_WORD), lowercase=False)
    return counter.fit_transform(sequences).toarray().astype(float)
