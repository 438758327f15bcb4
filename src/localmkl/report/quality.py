"""How good a model is, beside its baselines, on samples it was not trained on.

    held-out          rows of X that are not among the training rows
    cross-validated   X is the training data: the model is fitted again without each fold in turn
    training          nothing better can be had; said wherever the numbers stand

Intervals hold 95 % of bootstrap samples of the rows. All methods share the samples, so that differences
between methods have intervals too.
"""

import time
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline

from localmkl.estimators import MKLClassifier, MKLRegressor, UniformMKLClassifier, UniformMKLRegressor
from localmkl.explain import memberships_of
from localmkl.kernels.stack import take_rows
from localmkl.report.metrics import Metric, choose_metrics
from localmkl.report.subject import decide, predicted

HELD_OUT, CROSS_VALIDATED, TRAINING = "held-out", "cross-validated", "training"
BASELINES = {"MKL": (MKLClassifier, MKLRegressor), "UNIF": (UniformMKLClassifier, UniformMKLRegressor)}
RESAMPLES = 400
BLOCK_ENTRIES = 2**20
"""Rows of bootstrap samples that are looked at together."""


@dataclass(frozen=True)
class Score:
    """A number and its 95 % interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, value, resampled):
        """Return the score with the interval of its bootstrap values."""
        known = resampled[np.isfinite(resampled)]
        low, high = np.percentile(known, [2.5, 97.5]) if len(known) else (np.nan, np.nan)
        return cls(float(value), float(low), float(high))


@dataclass(frozen=True)
class MethodResult:
    """What one method predicted, and how good that is.

    Attributes
    ----------
    decisions, predictions : ndarray
    scores : dict of str to Score
        By metric.
    by_cluster : list of float
        The main metric in each cluster; NaN for a cluster without rows.
    behind : Score or None
        By how much it is worse than the model reported, in the main metric.
    gap, seconds : float or None
        Of its fit.
    """

    decisions: np.ndarray
    predictions: np.ndarray
    scores: dict[str, Score]
    by_cluster: list[float]
    behind: Score | None = None
    gap: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Quality:
    """Predictions of all methods for the same rows.

    Attributes
    ----------
    kind : one of HELD_OUT, CROSS_VALIDATED, TRAINING
    classifier : bool
    y : ndarray
    clusters : ndarray
        Main cluster of each row, by the model reported.
    metrics : list of Metric
        The main one first.
    methods : dict of str to MethodResult
        The model reported comes first.
    floor : float
        The main metric of guessing the same for all: the most frequent class, or the mean.
    floor_by_cluster : list of float
        The same within each cluster.
    n_folds : int
    n_seen : int
        Rows that were left out because the model was trained on them.
    tuned : bool
        Whether parameters were chosen on the rows of the cross-validation.
    """

    kind: str
    classifier: bool
    y: np.ndarray
    clusters: np.ndarray
    metrics: list[Metric]
    methods: dict[str, MethodResult]
    floor: float
    floor_by_cluster: list[float]
    n_folds: int = 0
    n_seen: int = 0
    tuned: bool = False

    @property
    def main(self):
        """The main metric."""
        return self.metrics[0]

    @property
    def score(self):
        """The main metric of the model reported."""
        return self.model.scores[self.main.name].value

    @property
    def model(self):
        """The result of the model reported."""
        return next(iter(self.methods.values()))

    @property
    def rivals(self):
        """The results of the baselines, by name."""
        return dict(list(self.methods.items())[1:])


def assess(subject, *, cv=5, baselines=True, seconds=None):
    """Return the `Quality` of a subject, or None where targets are not known."""
    if subject.y is None:
        return None
    names = [name for name in BASELINES if baselines and name != subject.method]
    found = {subject.method: (None, subject.model.duality_gap_, seconds)}
    if not subject.seen.all():
        unseen = np.flatnonzero(~subject.seen)
        X, y = take_rows(subject.X, unseen), np.asarray(subject.y)[unseen]
        found[subject.method] = decide(subject.whole, X), *found[subject.method][1:]
        for name in names if subject.training is not None else ():
            start = time.perf_counter()
            rival = _baseline(subject, name).fit(*subject.training)
            took = time.perf_counter() - start
            inner = rival[-1] if isinstance(rival, Pipeline) else rival
            found[name] = decide(rival, X), inner.duality_gap_, took
        return _judge(subject, HELD_OUT, X, y, found, n_seen=len(subject.seen) - len(unseen))
    n_folds = _folds(subject, cv)
    if n_folds:
        X, y = subject.training[0], np.asarray(subject.training[1])
        kind = StratifiedKFold if subject.classifier else KFold
        folds = list(kind(n_folds, shuffle=True, random_state=subject.seed).split(np.zeros(len(y)), y))
        way = "decision_function" if subject.classifier else "predict"
        for name in [subject.method, *names]:
            model = clone(subject.whole) if name == subject.method else _baseline(subject, name)
            decisions = cross_val_predict(model, X, y, cv=folds, method=way)
            found[name] = decisions, *(found[name][1:] if name in found else (None, None))
        tuned = subject.search is not None
        return _judge(subject, CROSS_VALIDATED, X, y, found, n_folds=n_folds, tuned=tuned)
    y = np.asarray(subject.y)
    found[subject.method] = decide(subject.whole, subject.X), *found[subject.method][1:]
    return _judge(subject, TRAINING, subject.X, y, found)


def _folds(subject, cv):
    """Return how many folds there can be: none without all training targets, or with a class of one."""
    if subject.training is None or not cv:
        return 0
    y = np.asarray(subject.training[1])
    most = np.unique(y, return_counts=True)[1].min() if subject.classifier else len(y)
    return 0 if most < 2 else int(min(cv, most))


def _baseline(subject, name):
    """Return a baseline with the kernels and parameters of the model, tuned in the same way as that."""
    kind = BASELINES[name][0 if subject.classifier else 1]
    known = kind().get_params(deep=False)
    params = subject.model.get_params(deep=False)
    rival = kind(**{key: value for key, value in params.items() if key in known})
    prefix = ""
    if isinstance(subject.whole, Pipeline):
        *steps, (last, _) = clone(subject.whole).steps
        rival, prefix = Pipeline([*steps, (last, rival)]), f"{last}__"
    grid = getattr(subject.search, "param_grid", None)
    if grid is None or getattr(subject.search, "n_iter", None) is not None:
        return rival
    grids = [grid] if isinstance(grid, dict) else grid
    allowed = [
        {key: values for key, values in one.items() if key.removeprefix(prefix) in known} for one in grids
    ]
    search = clone(subject.search).set_params(estimator=rival, param_grid=allowed, refit=True)
    if "checkpoint" in search.get_params(deep=False):
        search.set_params(checkpoint=None)
    search.fit(subject.training[0], subject.training[1])
    return clone(rival).set_params(**search.best_params_)


def _judge(subject, kind, X, y, found, **facts):
    """Return the `Quality` of decisions ``found = {name: (decisions, gap, seconds)}``."""
    clusters = memberships_of(subject.model, subject.transform(X)).argmax(axis=1)
    parts = [np.flatnonzero(clusters == j) for j in range(subject.n_clusters)]
    classes = subject.model.classes_ if subject.classifier else []
    metrics = choose_metrics(len(classes), getattr(subject.search, "scoring", None))
    main = metrics[0]
    predictions = {name: predicted(subject.model, decisions) for name, (decisions, _, _) in found.items()}
    truth = np.searchsorted(classes, y) if subject.classifier else y
    guesses = {
        name: np.searchsorted(classes, labels) if subject.classifier else labels
        for name, labels in predictions.items()
    }

    def scores(name, metric, rows):
        return metric.compute(truth, found[name][0], guesses[name], rows)

    def within(name, rows):
        return float(scores(name, main, rows[None])[0]) if len(rows) else float("nan")

    everyone = np.arange(len(y))
    drawn: dict = {(name, metric): [] for name in found for metric in metrics}
    for rows in _resamples(len(y), subject.seed):
        for (name, metric), values in drawn.items():
            values.append(scores(name, metric, rows))
    spread = {key: np.concatenate(values) for key, values in drawn.items()}
    methods: dict[str, MethodResult] = {}
    first = next(iter(found))
    for name, (decisions, gap, seconds) in found.items():
        told = {
            metric.name: Score.of(scores(name, metric, everyone[None])[0], spread[name, metric])
            for metric in metrics
        }
        behind = None
        if methods:
            ahead = main.sign * (methods[first].scores[main.name].value - told[main.name].value)
            behind = Score.of(ahead, main.sign * (spread[first, main] - spread[name, main]))
        inside = [within(name, rows) for rows in parts]
        methods[name] = MethodResult(decisions, predictions[name], told, inside, behind, gap, seconds)
    floors = [_floor(main, truth, rows, subject.classifier) for rows in [everyone, *parts]]
    return Quality(kind, subject.classifier, y, clusters, metrics, methods, floors[0], floors[1:], **facts)


def _resamples(n_rows, seed):
    """Yield the bootstrap samples, as many at a time as fit into a little memory."""
    rng = np.random.default_rng(seed)
    step = max(1, BLOCK_ENTRIES // n_rows)
    for start in range(0, RESAMPLES, step):
        yield rng.integers(n_rows, size=(min(step, RESAMPLES - start), n_rows))


def _floor(metric, y, rows, classifier):
    """Return the metric of one guess for all rows of a part: their most frequent class, or their mean."""
    if not len(rows):
        return float("nan")
    values, counts = np.unique(y[rows], return_counts=True)
    guess = np.full(len(y), values[counts.argmax()] if classifier else y[rows].mean())
    return float(metric.compute(y, np.zeros(len(y)), guess, rows[None])[0])
