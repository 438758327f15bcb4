"""Samples that lack views: news stories that not all newspapers have, and people whose omics are dropped.

    rescale, zero    all samples, by the parameter `missing` of the estimators
    complete         trained on the samples that have every view, asked for all test samples
    mean             all samples, gaps filled by column means of the training rows, then the same kernels

Whatever is learned (word weights, means, widths, clusters, parameters) is learned from the training rows of a
fold alone.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import io, sparse
from sklearn.base import clone
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

from localmkl import Views
from localmkl.datasets.downloading import locate_all
from localmkl.kernels import RBF, Kernel, Linear
from localmkl.model_selection import MKLSearchCV
from reproduction.data import DRAW_SEED, describe
from reproduction.protocol import FAMILIES, grouped

LINEAR = "logistic regression"
"""The family that reads all columns side by side; zeros, or means, where a view is missing."""
NEWSPAPERS = ("bbc", "guardian", "reuters")
OMICS = {"mrna": "1", "methylation": "2", "mirna": "3"}
"""View: the number that its files begin with."""


class Words(Kernel):
    """The cosine of counts of words, each weighted by how rare it is in the training rows (tf-idf)."""

    def __init__(self, view=None):
        self.view = view

    def fit(self, X, sample_weight=None):
        """Learn the weights of the words."""
        self.words_ = weigh_words().fit(X)
        return self

    def __call__(self, X, Y=None):
        """Return the Gram of the rows X and Y."""
        own = self.words_.transform(X)
        return (own @ (own if Y is None else self.words_.transform(Y)).T).toarray()


def weigh_words():
    """Return tf-idf with counts by their logarithms: the tenth mention of a word says less than the first."""
    return TfidfTransformer(sublinear_tf=True)


@dataclass(frozen=True)
class Incomplete:
    """Samples in views; `split` returns training and test rows, and the views, for (point, repetition)."""

    y: np.ndarray
    kernels: tuple
    linear: Any
    split: Callable
    more: dict

    def task(self, point, repetition):
        """Return the split of this repetition."""
        train, test, views = self.split(point, repetition)
        return IncompleteTask(views, self.y, train, test, self.kernels, self.linear)

    @property
    def facts(self):
        """What the rows of a result file must have in common."""
        return {**describe(self.y, self.kernels), **self.more}


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
class IncompleteTask:
    """One split of samples that lack views."""

    views: Views
    y: np.ndarray
    train: np.ndarray
    test: np.ndarray
    kernels: tuple
    linear: Any

    def batches(self, methods):
        """Return the methods that run together: those of one family."""
        return grouped(methods, lambda method: method.family)

    def outcomes(self, methods, experiment, seed):
        """Return what each of these methods reaches; where nothing is missing, all ways are one."""
        found: dict = {}
        ways = [method.fixed["way"] if not self.complete.all() else "rescale" for method in methods]
        for method, way in zip(methods, ways, strict=True):
            if way not in found:
                found[way] = self.outcome(method, way, experiment, seed)
        return [dict(found[way]) for way in ways]

    @cached_property
    def complete(self):
        """Samples that have every view, a mask."""
        return self.views.share(self.views.names) == 1.0

    def outcome(self, method, way, experiment, seed):
        """Choose by inner folds, fit again, score on the test rows."""
        start = time.perf_counter()
        train = self.train[self.complete[self.train]] if way == "complete" else self.train
        folds = StratifiedKFold(experiment.folds, shuffle=True, random_state=seed)
        options = {"cv": folds, "scoring": "roc_auc" if experiment.metric == "AUC" else "accuracy"}
        rows, search = self.search(method, way, seed, options)
        search.fit(rows[train], self.y[train])
        model = search.best_estimator_
        return {
            **self.scores(model.classes_, model.decision_function(rows[self.test]), experiment.metric),
            "valid_score": float(search.best_score_),
            "parameters": {name.split("__")[-1]: float(v) for name, v in sorted(search.best_params_.items())},
            "gap": None if method.family == LINEAR else float(model.duality_gap_),
            "n_fits": experiment.folds * len(search.cv_results_["params"]) + 1,
            "n_used": len(train),
            "seconds": time.perf_counter() - start,
        }

    def search(self, method, way, seed, options):
        """Return the rows that a method reads, and its search over inner folds."""
        if method.family == LINEAR:
            grid = {f"logisticregression__{name}": values for name, values in method.grid.items()}
            return side_by_side(self.views), GridSearchCV(self.linear, grid, **options)
        rows, kernels = self.views, list(self.kernels)
        if way == "mean":
            rows = Views({name: filled_up(self.views, name) for name in self.views.names})
            kernels = [clone(kernel).set_params(impute="mean") for kernel in kernels]
        missing = "zero" if way == "zero" else "rescale"
        model = FAMILIES[method.family](kernels, missing=missing, random_state=seed)
        return rows, MKLSearchCV(model, method.grid, **options)

    def scores(self, classes, decisions, metric):
        """Return the scores on the test rows, and the accuracy by the number of views."""
        y = self.y[self.test]
        chosen = (decisions > 0.0).astype(int) if decisions.ndim == 1 else decisions.argmax(axis=1)
        right = classes[chosen] == y
        counts = np.sum([self.views.present(name)[self.test] for name in self.views.names], axis=0)
        scores = {"accuracy": float(right.mean())}
        scores |= {f"accuracy_{k}": float(right[counts == k].mean()) for k in np.unique(counts).tolist()}
        score = roc_auc_score(y, decisions) if metric == "AUC" else right.mean()
        return {"score": float(score), **scores}


def filled_up(views, name):
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
    tables = [filled_up(views, name) for name in views.names]
    return sparse.hstack(tables, format="csr") if sparse.issparse(tables[0]) else np.hstack(tables)


def load_stories():
    """Return 416 news stories of three newspapers, 169 of them in all three, under a kernel for each."""
    keys = [f"stories_{paper}_{end}" for paper in NEWSPAPERS for end in ("mtx", "docs")]
    topic_file, *paths = locate_all(["stories_topics", *keys])
    topics: dict = {}
    for line in topic_file.read_text().splitlines():
        topic, numbers = line.split(",", 1)
        topics |= dict.fromkeys(map(int, numbers.split(",")), topic)
    order = sorted(topics)
    pairs = {}
    for paper, matrix, numbers in zip(NEWSPAPERS, paths[::2], paths[1::2], strict=True):
        counts = sparse.csr_matrix(io.mmread(matrix).T, dtype=float)
        own = map(int, numbers.read_text().split())
        pairs[paper] = counts, np.array([order.index(number) for number in own])
    return stories(Views(pairs, n_samples=len(order)), np.array([topics[number] for number in order]))


def stories(views, y, n_folds=5, n_draws=5):
    """Return samples that lack views by themselves; a repetition is an outer fold, drawn several times."""
    outer = RepeatedStratifiedKFold(n_splits=n_folds, n_repeats=n_draws, random_state=DRAW_SEED)

    def split(point, repetition):
        return (*list(outer.split(np.zeros(len(y)), y))[repetition], views)

    counts = {name: int(views.present(name).sum()) for name in views.names}
    linear = make_pipeline(weigh_words(), LogisticRegression(max_iter=1000))
    kernels = tuple(Words(view=name) for name in views.names)
    return Incomplete(y, kernels, linear, split, {"outer_folds": n_folds, "views": counts})


def load_omics(redrawn=False):
    """Return 351 people of ROSMAP, with Alzheimer's disease or without, in three views of 200 columns."""
    keys = [f"rosmap_{key}_{part}" for key in ("labels", *OMICS.values()) for part in ("tr", "te")]
    parts = [np.loadtxt(path, delimiter=",") for path in locate_all(keys)]
    labels, *tables = [np.concatenate(parts[k : k + 2]) for k in range(0, len(parts), 2)]
    return omics(dict(zip(OMICS, tables, strict=True)), labels.astype(int), len(parts[0]), redrawn)


def omics(tables, y, n_train, redrawn=False):
    """Return complete samples of which a share, in training and in test rows, loses views at random."""

    def split(percent, repetition):
        train, test = np.arange(n_train), np.arange(n_train, len(y))
        if redrawn:
            outer = StratifiedShuffleSplit(1, train_size=n_train, random_state=repetition)
            train, test = next(outer.split(np.zeros(len(y)), y))
        has = np.ones((len(y), len(tables)), dtype=bool)
        rng = np.random.default_rng([DRAW_SEED, repetition])
        for rows in (train, test):
            has[rows] = drop_views(len(rows), has.shape[1], percent / 100.0, rng)
        pairs = zip(tables.items(), has.T, strict=True)
        return train, test, Views({name: (table[own], own) for (name, table), own in pairs})

    filled = SimpleImputer(strategy="mean")
    linear = make_pipeline(filled, StandardScaler(), LogisticRegression(max_iter=1000))
    kernels = tuple(kernel(standardize=True, view=name) for name in tables for kernel in (Linear, RBF))
    columns = {name: table.shape[1] for name, table in tables.items()}
    more = {"views": columns, "training_rows": n_train, "redrawn": redrawn}
    return Incomplete(y, kernels, linear, split, more)
