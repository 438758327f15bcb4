"""Quality of a model, beside its baselines, on samples it was not trained on.

    held-out          rows of X that are not among the training rows
    cross-validated   X is the training data: the model is fitted again without each fold in turn
    training          nothing better can be had; said wherever the numbers stand

Intervals hold 95 % of bootstrap samples of the rows. All methods share the samples, so that differences
between methods have intervals too.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

import numpy as np
from scipy.special import logit
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline

from localmkl._types import Array, Floats, Ints, MaybeNone, Rows
from localmkl.explain import local_memberships, memberships_of
from localmkl.kernels.stack import take_rows
from localmkl.report.metrics import Metric, choose_metrics
from localmkl.report.prose import brief, class_name, count
from localmkl.report.refits import (
    BASELINES,
    baseline,
    decide_by_folds,
    fit,
    group_rivals,
    strength,
    view_rivals,
)
from localmkl.report.subject import Subject, decide, predicted

Found: TypeAlias = dict[str, tuple[Array, float | None, float | None]]
"""Decisions, duality gap and seconds of each method, by name."""

Decided: TypeAlias = tuple[str, Rows, Array, Found, dict[str, Any]]
"""The kind of rows that were decided, these, their targets, what was found, and facts for `Quality`."""

Pair: TypeAlias = tuple[Array, Array]
"""The same of two methods."""

HELD_OUT, CROSS_VALIDATED, TRAINING = "held-out", "cross-validated", "training"
RESAMPLES = 400
"""Bootstrap samples: ten of them lie beyond each end of a 95 % interval, which steadies the ends."""

FEWEST = 6
"""Samples that must speak for a difference: five on one side happen by chance in more than 5 % of cases."""

RESAMPLED_ENTRIES = 2**20
"""Entries of bootstrap samples that are looked at together: 8 MB of row numbers."""


@dataclass(frozen=True)
class Score:
    """A number and its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return bool(np.isfinite(self.low))

    @classmethod
    def of(cls, value: float, resampled: Floats, n_rows: int) -> Self:
        """Return the score with the interval of its bootstrap values; of few rows these say nothing."""
        known = resampled[np.isfinite(resampled) & (n_rows >= FEWEST)]
        low, high = np.percentile(known, [2.5, 97.5]) if len(known) else (np.nan, np.nan)
        return cls(float(value), float(low), float(high))


@dataclass(frozen=True)
class MethodResult:
    """The predictions of one method, and their scores.

    Attributes
    ----------
    decisions, predictions : ndarray
    scores : dict of str to Score
        By metric.
    by_cluster : list of float
        The main metric in each cluster; NaN for a cluster without rows.
    behind : Score or None
        By how much it is worse than the model reported, in the main metric.
    n_apart : int
        Samples that speak for a difference: one of the two is right, or their values differ.
    verdict : int
        1 if it is worse than the model reported, -1 if it is better, beyond chance and rounding; else 0.
    uneven : bool
        Whether that lead (of the model reported: its quality) differs between clusters beyond chance.
    gap, seconds : float or None
        Of its fit.
    """

    decisions: np.ndarray
    predictions: np.ndarray
    scores: dict[str, Score]
    by_cluster: list[float]
    behind: Score | MaybeNone = None
    n_apart: int = 0
    verdict: int = 0
    uneven: bool = False
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
        The main metric of guessing the same for all: the most frequent class, the mean or the quantile; of
        probabilities, the shares of the classes.
    floor_by_cluster : list of float
        The same within each cluster.
    n_folds : int
    n_seen : int
        Rows that were left out because the model was trained on them.
    n_doubtful : int
        Rows of which it cannot be told whether the model was trained on them; left out where others are new.
    n_strange : int
        Rows that were left out because the model does not know their labels.
    n_unfinished : int
        Fits for this comparison that did not converge.
    tuned : bool
        Whether parameters were chosen on the rows of the cross-validation.
    why : str
        Why there was no cross-validation, or with fewer folds than asked for.
    twins : dict of str to str
        Baselines that are the model itself, with the reason.
    undefined : list of Metric
        Metrics that these rows do not define.
    floors : dict of str to float
        What `floor` is, for each metric.
    groups : ndarray or None
        Known group of each row, where the model was trained on several.
    others : dict of str to ndarray
        Decisions of what a model of known groups, or on views, is compared with beside the baselines.
    present : ndarray of shape (n_rows, n_views) or None
        Who has which view, where the model is on views.
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
    n_doubtful: int = 0
    n_strange: int = 0
    n_unfinished: int = 0
    tuned: bool = False
    why: str = ""
    twins: dict[str, str] = field(default_factory=dict)
    undefined: list[Metric] = field(default_factory=list)
    floors: dict[str, float] = field(default_factory=dict)
    groups: np.ndarray | MaybeNone = None
    others: dict[str, np.ndarray] = field(default_factory=dict)
    present: np.ndarray | MaybeNone = None

    @property
    def main(self) -> Metric:
        """The main metric."""
        return self.metrics[0]

    @property
    def score(self) -> float:
        """The main metric of the model reported."""
        return self.model.scores[self.main.name].value

    @property
    def model(self) -> MethodResult:
        """The result of the model reported."""
        return next(iter(self.methods.values()))

    @property
    def baselines(self) -> dict[str, MethodResult]:
        """The results of the baselines, by name."""
        return dict(list(self.methods.items())[1:])


def assess(
    subject: Subject, *, cv: int = 5, baselines: bool = True, seconds: float | None = None
) -> Quality | None:
    """Return the `Quality` of a subject, or None where no targets are known."""
    if subject.y is None or not subject.known.any():
        return None
    twins = twin_baselines(subject) if baselines else {}
    names = [name for name in BASELINES if baselines and name not in (subject.method, *twins)]
    rivals = group_rivals(subject) | view_rivals(subject) if baselines else {}
    with _noting_unfinished() as unfinished:
        if (subject.known & ~subject.seen).any():
            kind, X, y, found, facts = _on_held_out(subject, names, rivals)
        else:
            kind, X, y, found, facts = _by_folds(subject, names, rivals, cv)
    facts["n_doubtful"] = int((subject.known & subject.doubtful).sum())
    facts["others"] = {name: found.pop(name)[0] for name in rivals if name in found}
    facts["groups"] = subject.groups_in(X) if subject.grouped else None
    facts["present"] = subject.present(X) if subject.views else None
    found[subject.method] = found[subject.method][0], subject.model.duality_gap_, seconds
    return _judge(subject, kind, X, y, found, twins=twins, n_unfinished=len(unfinished), **facts)


def twin_baselines(subject: Subject) -> dict[str, str]:
    """Return the baselines that are the model itself by construction, each with the reason."""
    twins, method = {}, subject.family
    if method in ("CLMKL", "HLMKL") and subject.alike:
        n_clusters = local_memberships(subject.model, memberships_of(subject.model)).shape[1]
        twins["MKL"] = f"with one {subject.noun} the model is MKL"
        if subject.all_shared:
            twins["MKL"] = f"all is shared; the model is {subject.method}"
        elif n_clusters > 1:
            times = f", with C times {brief(strength(subject))}" if strength(subject) < 1.0 else ""
            twins["MKL"] = (
                f"all samples have the same memberships in the {n_clusters} clusters, which are the same by "
                f"construction; the model is MKL{times}"
            )
    if method == "MKL" or "MKL" in twins:
        if len(subject.kernels) == 1:
            twins["UNIF"] = "with one kernel there are no weights to learn"
        elif np.isinf(subject.model.p):
            twins["UNIF"] = "at p = infinity all kernels weigh the same"
    elif method == "UNIF" and len(subject.kernels) == 1:
        twins["MKL"] = "with one kernel there are no weights to learn"
    return twins


@contextmanager
def _noting_unfinished() -> Iterator[list[warnings.WarningMessage]]:
    """Yield a list that holds, at the end, the warnings of fits that did not converge; others pass."""
    unfinished: list[warnings.WarningMessage] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        yield unfinished
    for one in caught:
        if issubclass(one.category, ConvergenceWarning):
            unfinished.append(one)
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def _on_held_out(subject: Subject, names: list[str], rivals: dict[str, Any]) -> Decided:
    """Return the decisions of the model and its baselines on the rows that it was not trained on."""
    chosen = np.flatnonzero(subject.known & ~subject.seen)
    X, y = take_rows(subject.X, chosen), subject.truth(chosen)
    found: Found = {subject.method: (decide(subject.whole, X), None, None)}
    for name in (*names, *rivals) if subject.training is not None else ():
        start = time.perf_counter()
        rival = fit(rivals[name] if name in rivals else baseline(subject, name), *subject.training)
        took = time.perf_counter() - start
        inner = rival[-1] if isinstance(rival, Pipeline) else rival
        found[name] = decide(rival, X), getattr(inner, "duality_gap_", None), took
    n_seen = int((subject.known & subject.seen & ~subject.doubtful).sum())
    return HELD_OUT, X, y, found, {"n_seen": n_seen, "n_strange": int((~subject.known).sum())}


def _by_folds(subject: Subject, names: list[str], rivals: dict[str, Any], cv: int) -> Decided:
    """Return the decisions on each fold of models fitted without it; else those of the model itself."""
    n_folds, why = _folds(subject, cv)
    if n_folds:
        X, y = subject.training
        folds = _split(subject, n_folds)
        try:
            own = decide_by_folds(subject.whole, X, y, folds)
        except ValueError as error:  # fewer samples than clusters, for instance
            why = f"without a fold, the model cannot be fitted ({str(error).rstrip('.')})"
        else:
            found: Found = {subject.method: (own, None, None)}
            for name in (*names, *rivals):
                rival = rivals[name] if name in rivals else baseline(subject, name)
                found[name] = decide_by_folds(rival, X, y, folds), None, None
            facts = {"n_folds": n_folds, "why": why, "tuned": subject.search is not None}
            return CROSS_VALIDATED, X, y, found, facts
    chosen = np.flatnonzero(subject.known)
    X, y = take_rows(subject.X, chosen), subject.truth(chosen)
    found = {subject.method: (decide(subject.whole, X), None, None)}
    return TRAINING, X, y, found, {"why": why, "n_strange": len(subject.y) - len(y)}


def _split(subject: Subject, n_folds: int) -> list[tuple[Ints, Ints]]:
    """Return folds with all classes and, where there are enough samples of each, all groups alike."""
    X, y = subject.training
    strata = y if subject.classifier else None
    if subject.grouped:
        groups = np.unique(subject.groups_in(X).astype(str), return_inverse=True)[1]
        cells = groups * len(y) + np.unique(y, return_inverse=True)[1] if subject.classifier else groups
        strata = cells if np.unique(cells, return_counts=True)[1].min() >= n_folds else strata
    kind = KFold if strata is None else StratifiedKFold
    return list(kind(n_folds, shuffle=True, random_state=subject.seed).split(np.zeros(len(y)), strata))


def _folds(subject: Subject, cv: int) -> tuple[int, str]:
    """Return the number of folds there can be, and why there are none or fewer than asked for."""
    if not cv:
        return 0, "it was not asked for"
    if subject.training is None:
        return 0, "that needs all training samples, each once, with their targets"
    y = subject.training[1]
    most, who = len(y), "the model"
    if subject.classifier:
        labels, counts = np.unique(y, return_counts=True)
        most, who = int(counts.min()), class_name(labels.tolist()[counts.argmin()])
    why = f"{who} has only {count(most, 'training sample')}" if most < cv else ""
    return (0 if most < 2 else min(cv, most)), why


def _judge(subject: Subject, kind: str, X: Rows, y: Array, found: Found, **facts: Any) -> Quality:
    """Return the `Quality` of decisions ``found = {name: (decisions, gap, seconds)}``."""
    clusters = subject.main_of(X)
    parts = [np.flatnonzero(clusters == j) for j in range(subject.n_clusters)]
    classes = subject.model.classes_ if subject.classifier else []
    predictions = {name: predicted(subject.model, decisions) for name, (decisions, _, _) in found.items()}
    truth = np.searchsorted(classes, y) if subject.classifier else y
    guesses = {
        name: np.searchsorted(classes, labels) if subject.classifier else labels
        for name, labels in predictions.items()
    }

    def scores(name: str, metric: Metric, rows: Ints) -> Floats:
        return metric.compute(truth, found[name][0], guesses[name], rows)

    def within(name: str, rows: Ints) -> float:
        return float(scores(name, main, rows[None])[0]) if len(rows) else float("nan")

    def lead(name: str) -> Callable[[Ints], Floats]:
        return lambda rows: scores(first, main, rows) - (0.0 if name == first else scores(name, main, rows))

    everyone, first = np.arange(len(y)), next(iter(found))
    wanted = choose_metrics(len(classes), getattr(subject.search, "scoring", None), subject.model.loss_)
    metrics = [metric for metric in wanted if np.isfinite(scores(first, metric, everyone[None])).all()]
    main = metrics[0]
    drawn: dict[tuple[str, Metric], list[Floats]] = {
        (name, metric): [] for name in found for metric in metrics
    }
    for rows in resamples(len(y), subject.seed):
        for (name, metric), values in drawn.items():
            values.append(scores(name, metric, rows))
    spread = {key: np.concatenate(values) for key, values in drawn.items()}
    methods: dict[str, MethodResult] = {}
    for name, (decisions, gap, seconds) in found.items():
        scored = {
            metric.name: Score.of(scores(name, metric, everyone[None])[0], spread[name, metric], len(y))
            for metric in metrics
        }
        behind, n_apart, verdict = None, 0, 0
        if methods:
            own = methods[first].scores[main.name].value
            ahead = main.sign * (own - scored[main.name].value)
            behind = Score.of(ahead, main.sign * (spread[first, main] - spread[name, main]), len(y))
            n_apart = apart(main, truth, (found[first][0], decisions), (guesses[first], guesses[name]))
            if n_apart >= FEWEST and not main.same(own, scored[main.name].value):
                verdict = int(behind.low > 0.0) - int(behind.high < 0.0)
        inside = [within(name, rows) for rows in parts]
        uneven = differs_between(lead(name), parts, subject.seed)
        methods[name] = MethodResult(
            decisions, predictions[name], scored, inside, behind, n_apart, verdict, uneven, gap, seconds
        )
    floors = [_floor(main, truth, rows, len(classes)) for rows in [everyone, *parts]]
    facts["floors"] = {metric.name: _floor(metric, truth, everyone, len(classes)) for metric in metrics}
    facts["undefined"] = [metric for metric in wanted if metric not in metrics]
    return Quality(kind, subject.classifier, y, clusters, metrics, methods, floors[0], floors[1:], **facts)


def apart(metric: Metric, truth: Array, decisions: Pair, guesses: Pair) -> int:
    """Return the number of rows that speak for a difference of two methods."""
    if metric.share:  # one of the two is right
        return int(((guesses[0] == truth) != (guesses[1] == truth)).sum())
    return int((decisions[0] != decisions[1]).sum())


def differs_between(score: Callable[[Ints], Floats], parts: Sequence[Ints], seed: int) -> bool:
    """Whether a score differs between parts of the rows by more than chance explains.

    Its range over the parts is compared with the ranges after the rows were dealt out to the parts at random.

    Parameters
    ----------
    score : function of rows (B, n), returns B values
    parts : list of ndarray
        Numbers of the rows of each part.
    seed : int
    """
    parts = [rows for rows in parts if len(rows) and np.isfinite(score(rows[None])[0])]
    if len(parts) < 2:
        return False
    everyone, ends = np.concatenate(parts), np.cumsum([len(rows) for rows in parts])[:-1]
    rng, dealt = np.random.default_rng(seed), []
    step = max(1, RESAMPLED_ENTRIES // len(everyone))
    for start in range(0, RESAMPLES, step):
        block = rng.permuted(np.tile(everyone, (min(step, RESAMPLES - start), 1)), axis=1)
        dealt.append(np.ptp([score(rows) for rows in np.split(block, ends, axis=1)], axis=0))
    found = np.ptp([score(rows[None])[0] for rows in parts])
    ranges = np.concatenate(dealt)  # NaN, such as the AUC of one class, speaks for chance
    return bool(np.mean(~(ranges < found * (1.0 - 1e-9))) < 0.05)


def resamples(n_rows: int, seed: int) -> Iterator[Ints]:
    """Yield the bootstrap samples, as many at a time as fit into a little memory."""
    rng = np.random.default_rng(seed)
    step = max(1, RESAMPLED_ENTRIES // n_rows)
    for start in range(0, RESAMPLES, step):
        yield rng.integers(n_rows, size=(min(step, RESAMPLES - start), n_rows))


def _floor(metric: Metric, y: Array, rows: Ints, n_classes: int) -> float:
    """Return the metric of one guess for all rows of a part: the classes' shares, or the best number."""
    if not len(rows):
        return float("nan")
    if not n_classes:
        guess = np.full(len(y), metric.best_guess(y[rows]))
        return float(metric.compute(y, guess, guess, rows[None])[0])
    shares = np.bincount(y[rows], minlength=n_classes) / len(rows)
    decisions = np.tile(logit(shares), (len(y), 1))
    guess = np.full(len(y), shares.argmax())
    return float(metric.compute(y, decisions[:, 1] if n_classes == 2 else decisions, guess, rows[None])[0])
