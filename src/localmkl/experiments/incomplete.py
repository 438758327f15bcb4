"""Samples that lack views: news stories that not all newspapers have, and people whose omics are dropped.

    rescale, zero    all samples, by the parameter `missing` of the estimators
    complete         trained on the samples that have every view, asked for all test samples
    mean             all samples, gaps filled by column means of the training rows, then the same kernels

Whatever is learned (word weights, means, widths, clusters, parameters) is learned from the training rows of a
fold alone.
"""

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from localmkl.datasets.fetchers import locate
from localmkl.datasets.matrices import read_market
from localmkl.experiments.protocol import FAMILIES
from localmkl.experiments.sources import DRAW_SEED, describe
from localmkl.kernels import RBF, Cosine, Linear
from localmkl.model_selection import MKLSearchCV
from localmkl.views import Views

WAYS = ("rescale", "zero", "complete", "mean")
LINEAR = "logistic regression"
"""The family that reads all columns side by side; zeros, or means, where a view is missing."""

NEWSPAPERS = ("bbc", "guardian", "reuters")
OMICS = {"mrna": "1", "methylation": "2", "mirna": "3"}
"""View: the number that its files begin with."""

STORY_FILES = (
    *(f"stories_{paper}_{end}" for paper in NEWSPAPERS for end in ("mtx", "docs")),
    "stories_topics",
)
OMICS_FILES = tuple(f"rosmap_{key}_{part}" for key in (*OMICS.values(), "labels") for part in ("tr", "te"))


class Words(Cosine):
    """The cosine of counts of words, each weighted by how rare it is in the training rows (tf-idf)."""

    def fit(self, X, sample_weight=None):  # noqa: D102
        self.words_ = weigh_words().fit(self._numbers(X))
        return self

    def _table(self, X):
        return self.words_.transform(self._numbers(X))


def weigh_words():
    """Return tf-idf with counts by their logarithms: the tenth mention of a word says less than the first."""
    return TfidfTransformer(sublinear_tf=True)


@dataclass(frozen=True)
class Folds:
    """Samples that lack views by themselves; a repetition is one of the outer folds, drawn several times."""

    views: Views
    y: np.ndarray
    kernels: tuple
    n_folds: int = 5
    n_draws: int = 5
    inner_folds: int = 5
    normalize: str = "multiplicative"
    gate_kernel: int | None = None

    def task(self, point, repetition):
        """Return the outer fold of this repetition."""
        outer = RepeatedStratifiedKFold(n_splits=self.n_folds, n_repeats=self.n_draws, random_state=DRAW_SEED)
        found = list(outer.split(np.zeros(len(self.y)), self.y))
        if repetition >= len(found):
            raise ValueError(
                f"There are {len(found)} outer folds, repetition {repetition} is none of them; ask for fewer."
            )
        linear = make_pipeline(weigh_words(), LogisticRegression(max_iter=1000))
        train, test = found[repetition]
        return Split(self.views, self.y, train, test, self.kernels, linear, self.inner_folds, "accuracy")

    @property
    def description(self):
        """Facts that the rows of a result file must have in common."""
        counts = {name: int(self.views.present(name).sum()) for name in self.views.names}
        return {**describe(self), "outer_folds": self.n_folds, "views": counts}


@dataclass(frozen=True)
class Dropped:
    """Complete samples of which a share, in training and in test rows, loses one view or more at random."""

    tables: dict
    y: np.ndarray
    n_train: int
    kernels: tuple
    redrawn: bool = False
    inner_folds: int = 5
    normalize: str = "multiplicative"
    gate_kernel: int | None = None

    def task(self, percent, repetition):
        """Return the split without the views that this repetition drops."""
        train, test = self._split(repetition)
        has = np.ones((len(self.y), len(self.tables)), dtype=bool)
        rng = np.random.default_rng([DRAW_SEED, repetition])
        for rows in (train, test):
            has[rows] = drop_views(len(rows), has.shape[1], percent / 100.0, rng)
        pairs = zip(self.tables.items(), has.T, strict=True)
        views = Views({name: (table[own], own) for (name, table), own in pairs})
        filled = SimpleImputer(strategy="mean")
        linear = make_pipeline(filled, StandardScaler(), LogisticRegression(max_iter=1000))
        return Split(views, self.y, train, test, self.kernels, linear, self.inner_folds, "roc_auc")

    def _split(self, repetition):
        """Return training and test rows: the published ones, or others in the same numbers."""
        if not self.redrawn:
            return np.arange(self.n_train), np.arange(self.n_train, len(self.y))
        split = StratifiedShuffleSplit(1, train_size=self.n_train, random_state=repetition)
        return next(split.split(np.zeros(len(self.y)), self.y))

    @property
    def description(self):
        """Facts that the rows of a result file must have in common."""
        columns = {name: table.shape[1] for name, table in self.tables.items()}
        return {**describe(self), "views": columns, "training_rows": self.n_train, "redrawn": self.redrawn}


def drop_views(n_samples, n_views, share, rng):
    """Return who has which view, (n_samples, n_views): a share of the samples lacks some, none lacks all.

    What a larger share drops contains what a smaller one drops, of generators in the same state.

    Examples
    --------
    >>> has = drop_views(10, 3, 0.4, np.random.default_rng(0))
    >>> int(has.all(axis=1).sum()), int(has.any(axis=1).sum())
    (6, 10)
    """
    patterns = np.array([[number >> view & 1 for view in range(n_views)] for number in range(2**n_views)])
    left = patterns[1:-1].astype(bool)  # neither no view nor all of them
    order, kept = rng.permutation(n_samples), left[rng.integers(len(left), size=n_samples)]
    has = np.ones((n_samples, n_views), dtype=bool)
    losers = order[: round(share * n_samples)]
    has[losers] = kept[losers]
    return has


@dataclass(frozen=True)
class Split:
    """One split of one data set, and what all methods need of it."""

    views: Views
    y: np.ndarray
    train: np.ndarray
    test: np.ndarray
    kernels: tuple
    linear: Any
    n_folds: int
    scoring: str

    def batches(self, methods):
        """Return the methods that run together: those of one family."""
        families: dict = {}
        for method in methods:
            families.setdefault(method.family, []).append(method)
        return list(families.values())

    def outcomes(self, methods, seed):
        """Return what each of these methods reaches; where nothing is missing, all ways are one."""
        found: dict = {}
        ways = [method.fixed["way"] if not self.complete.all() else WAYS[0] for method in methods]
        for method, way in zip(methods, ways, strict=True):
            if way not in found:
                found[way] = self._outcome(method, way, seed)
        return [dict(found[way]) for way in ways]

    @cached_property
    def complete(self):
        """Samples that have every view, a mask."""
        return self.views.share(self.views.names) == 1.0

    def _outcome(self, method, way, seed):
        start = time.perf_counter()
        train = self.train[self.complete[self.train]] if way == "complete" else self.train
        rows, search = self._search(method, way, seed)
        search.fit(rows[train], self.y[train])
        model = search.best_estimator_
        return {
            **self._scores(model.classes_, _decisions(model, rows[self.test])),
            "valid_score": float(search.best_score_),
            "parameters": {name.split("__")[-1]: float(v) for name, v in sorted(search.best_params_.items())},
            "gap": None if method.family == LINEAR else float(model.duality_gap_),
            "n_fits": self.n_folds * len(search.cv_results_["params"]) + 1,
            "n_used": len(train),
            "seconds": time.perf_counter() - start,
        }

    def _search(self, method, way, seed):
        """Return the rows that a method reads, and its search over inner folds."""
        grid = {name: list(values) for name, values in method.grid.items()}
        folds = StratifiedKFold(self.n_folds, shuffle=True, random_state=seed)
        options: dict = {"cv": folds, "scoring": self.scoring}
        if method.family == LINEAR:
            grid = {f"logisticregression__{name}": values for name, values in grid.items()}
            return side_by_side(self.views), GridSearchCV(self.linear, grid, **options)
        rows, kernels = self.views, list(self.kernels)
        if way == "mean":
            rows = Views({name: whole(self.views, name) for name in self.views.names})
            kernels = [clone(kernel).set_params(impute="mean") for kernel in kernels]
        missing = way if way in ("rescale", "zero") else WAYS[0]
        model = FAMILIES[method.family](kernels, missing=missing, random_state=seed)
        return rows, MKLSearchCV(model, grid, **options)

    def _scores(self, classes, decisions):
        """Return the scores on the test rows, and the accuracy by the number of views and by their names."""
        y = self.y[self.test]
        right = classes[decisions.argmax(axis=1)] == y
        counts = np.sum([self.views.present(name)[self.test] for name in self.views.names], axis=0)
        scores: dict = {"accuracy": float(right.mean())}
        scores |= {f"accuracy_{k}": float(right[counts == k].mean()) for k in np.unique(counts).tolist()}
        scores["patterns"] = self._by_pattern(right)
        score = roc_auc_score(y, decisions[:, 1]) if self.scoring == "roc_auc" else right.mean()
        return {"score": float(score), **scores}

    def _by_pattern(self, right):
        """Return {views that samples have: [right, all]} of the test rows."""
        has = {name: self.views.present(name)[self.test] for name in self.views.names}
        own = [" + ".join(name for name in has if has[name][i]) for i in range(len(right))]
        return {
            pattern: [int(np.sum(right[[one == pattern for one in own]])), own.count(pattern)]
            for pattern in sorted(set(own))
        }


def _decisions(model, rows):
    """Return a column for each class; of two classes, decisions against and for the second one."""
    decisions = model.decision_function(rows)
    return np.column_stack([-decisions, decisions]) if decisions.ndim == 1 else decisions


def whole(views, name):
    """Return a view with a row for every sample: of those that lack it zeros if it is sparse, else gaps."""
    rows, has = views.rows(name), views.present(name)
    if sparse.issparse(rows):
        places = np.flatnonzero(has), np.arange(rows.shape[0])
        return sparse.csr_array((np.ones(rows.shape[0]), places), (len(views), rows.shape[0])) @ rows
    table = np.full((len(views), rows.shape[1]), np.nan)
    table[has] = rows
    return table


def side_by_side(views):
    """Return the columns of all views in one table."""
    tables = [whole(views, name) for name in views.names]
    if sparse.issparse(tables[0]):
        return sparse.hstack(tables, format="csr")
    return np.hstack(tables)


def load_stories():
    """Return 416 news stories of three newspapers, 169 of them in all three, under a kernel for each."""
    topics: dict = {}
    for line in locate("stories_topics").read_text().splitlines():
        topic, numbers = line.split(",", 1)
        topics |= dict.fromkeys(map(int, numbers.split(",")), topic)
    order = sorted(topics)
    pairs = {}
    for paper in NEWSPAPERS:
        counts = sparse.csr_matrix(read_market(locate(f"stories_{paper}_mtx")).T)
        own = map(int, locate(f"stories_{paper}_docs").read_text().split())
        pairs[paper] = counts, np.array([order.index(number) for number in own])
    y = np.array([topics[number] for number in order])
    return Folds(Views(pairs, n_samples=len(y)), y, tuple(Words(view=paper) for paper in NEWSPAPERS))


def load_omics(redrawn=False):
    """Return 351 people of ROSMAP, with Alzheimer's disease or without, in three views of 200 columns."""
    tables = {name: _both_parts(number) for name, number in OMICS.items()}
    y = _both_parts("labels").astype(int)
    n_train = len(np.loadtxt(locate("rosmap_labels_tr")))
    return Dropped(tables, y, n_train, omics_kernels(tables), redrawn)


def _both_parts(key):
    return np.concatenate(
        [np.loadtxt(locate(f"rosmap_{key}_{part}"), delimiter=",") for part in ("tr", "te")]
    )


def omics_kernels(names):
    """Return a line and a Gaussian for each view, on standardised columns."""
    return tuple(
        kernel
        for name in names
        for kernel in (Linear(standardize=True, view=name), RBF(standardize=True, view=name))
    )


def load_quick_stories(n_samples=60, n_words=40):
    """Return generated counts of words of three topics, in two views that a third of the samples lack."""
    rng = np.random.default_rng(DRAW_SEED)
    y = rng.permutation(np.arange(n_samples) % 3)
    rates = rng.gamma(0.3, size=(2, 3, n_words))
    has = drop_views(n_samples, 2, 1 / 3, rng)
    pairs = {
        name: (sparse.csr_array(rng.poisson(rates[k, y[has[:, k]]]).astype(float)), has[:, k])
        for k, name in enumerate(("one", "two"))
    }
    return Folds(Views(pairs), y, (Words(view="one"), Words(view="two")), n_folds=3, n_draws=1, inner_folds=2)


def load_quick_omics(n_train=60, n_test=60):
    """Return generated rows of two classes in three views."""
    X, y = make_classification(n_train + n_test, 12, n_informative=8, n_redundant=0, random_state=DRAW_SEED)
    tables = {name: X[:, 4 * k : 4 * k + 4] for k, name in enumerate(OMICS)}
    return Dropped(tables, y, n_train, omics_kernels(tables), inner_folds=2)
