"""localmkl's estimators under kernels that a user would name: defaults, tuned ones, and those of groups.

Tables: a line and a Gaussian on each view (one view: a line and three widths); sequences: words with and
without their positions; Grams as they are.
"""

import numpy as np

import localmkl
from benchmarks.quality.answers import Answer, cost_grid, folds, guess
from benchmarks.quality.sets import GRAMS, NUMBERS, SEQUENCES
from localmkl.kernels import RBF, Linear, Spectrum, WeightedDegree
from localmkl.model_selection import MKLSearchCV

NORMS = [1.0, 4 / 3, 2.0]
LOCAL = {"p": [1.0, 4 / 3], "evenness": [0.4, 0.6], "shared": [0.0, 0.5]}
GRIDS = {
    "UniformMKL": [{}],
    "MKL": [{"p": NORMS}],
    "CLMKL": [LOCAL, {"shared": [1.0], "p": [*NORMS, np.inf]}],
}
"""Values tried beside those of C; all shared, CLMKL is MKL, and at p = inf UNIF."""

BY_GROUP = [{"p": NORMS, "shared": [0.0, 0.3, 0.6, 1.0]}]


def kernels(data):
    if data.kind == GRAMS:
        return "precomputed"
    if data.kind == SEQUENCES:
        return [*map(WeightedDegree, range(1, 9)), *map(Spectrum, range(2, 7))]
    how = {"standardize": data.standardize}
    if len(data.views) == 1:
        return [Linear(**how), *(RBF(factor=factor, **how) for factor in (0.1, 1.0, 10.0))]
    return [kind(columns=columns, **how) for columns in data.views.values() for kind in (Linear, RBF)]


def make(data, family, **settings):
    kind = getattr(localmkl, family + ("Regressor" if data.target == NUMBERS else "Classifier"))
    model = kind(kernels(data), **settings)
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model


def default(family, data, train, test):
    model = make(data, family).fit(data.take(train), data.y[train])
    return Answer(guess(data, model, data.take(test, train)))


def tuned(family, data, train, test):
    return _searched(data, train, test, make(data, family), GRIDS[family])


def separate(data, train, test):
    """Return the answers of one tuned MKL for each group."""
    guesses = np.empty(len(test), dtype=float if data.binary else data.y.dtype)
    inner, groups = [], data.groups
    for group in np.unique(groups[train]):
        own, asked = train[groups[train] == group], groups[test] == group
        answer = _searched(data, own, test[asked], make(data, "MKL"), GRIDS["MKL"])
        guesses[asked] = answer.guesses
        inner.append(answer.inner)
    return Answer(guesses, float(np.mean(inner)))


def by_group(data, train, test):
    """Return the answer of CLMKL with known groups as clusters, the share of the common part searched."""
    return _searched(data, train, test, make(data, "CLMKL", gate="groups"), BY_GROUP, grouped=True)


def _searched(data, train, test, model, grids, *, grouped=False):
    grids = [{"C": cost_grid(data), **grid} for grid in grids]
    fitted, asked = ({"groups": data.groups[rows]} if grouped else {} for rows in (train, test))
    search = MKLSearchCV(model, grids, scoring=data.metric, cv=folds(data, train), error_score="raise")
    search.fit(data.take(train), data.y[train], **fitted)
    guesses = guess(data, search.best_estimator_, data.take(test, train), **asked)
    return Answer(guesses, float(search.best_score_), {k: _plain(v) for k, v in search.best_params_.items()})


def _plain(value):
    """Results files hold no infinite numbers."""
    return value if np.isfinite(value) else str(value)


def has_groups(data):
    return data.groups is not None
