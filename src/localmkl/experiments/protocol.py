"""Experiments as data, and the run of one of their cells.

A cell is one repetition at one point of the axis (a training size, mostly): the same split for every method,
so that differences are paired. Of a method's grid the best is chosen by a validation set, or by folds of the
training rows, and scored on the test rows.
"""

import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from math import isfinite
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import ParameterGrid, StratifiedKFold
from threadpoolctl import threadpool_limits

from localmkl.datasets import data_home
from localmkl.datasets.registry import FILES
from localmkl.estimators import (
    CLMKLClassifier,
    HLMKLClassifier,
    LMKLClassifier,
    MKLClassifier,
    UniformMKLClassifier,
)
from localmkl.experiments.published import Published
from localmkl.experiments.within_groups import select_within_groups
from localmkl.gates import kernel_kmeans, memberships, tau_for_evenness
from localmkl.kernels import GramStack
from localmkl.kernels.stack import NormalizedGrams, learn_factors
from localmkl.model_selection import MKLSearchCV

FAMILIES: dict[str, Any] = {
    "UNIF": UniformMKLClassifier,
    "LMKL": LMKLClassifier,
    "MKL": MKLClassifier,
    "HLMKL": HLMKLClassifier,
    "CLMKL": CLMKLClassifier,
}
N_CLUSTERS = 3
"""As in the paper."""

TOL = 1e-3
"""The default of the estimators. Means of fifty scores may differ by 0.2 points from those at 1e-6."""


@dataclass(frozen=True)
class Method:
    """A row of a table.

    Attributes
    ----------
    label : str
    family : str
        A key of `FAMILIES`.
    grid : dict of str to tuple
        Parameter: values tried; of equal ones the first wins.
    fixed : dict
        Parameters that are not tried.
    unlabelled : int or None
        Rows of the validation and test rows that the partition is learned from too, labels unseen; None
        stands for all of them.
    slow : bool
        Whether the method only runs when it is asked for by name.
    most : int or None
        The largest point of the axis that the method runs at.
    alone : bool
        Whether each kernel is tried by itself, and the best taken by what chooses the parameters.
    """

    label: str
    family: str
    grid: dict = field(default_factory=dict)
    fixed: dict = field(default_factory=dict)
    unlabelled: int | None = 0
    slow: bool = False
    most: int | None = None
    alone: bool = False

    def thinned(self):
        """Return the method with the first and the last value of each grid."""
        return replace(
            self, grid={name: tuple(dict.fromkeys((v[0], v[-1]))) for name, v in self.grid.items()}
        )


@dataclass(frozen=True)
class Task:
    """One split of one data set, rows of `stack`; without `valid`, folds of `train` choose."""

    stack: GramStack
    y: np.ndarray
    train: np.ndarray
    valid: np.ndarray | None
    test: np.ndarray
    normalize: str = "multiplicative"
    gate_kernel: int | None = None
    groups: np.ndarray | None = None

    def batches(self, methods):
        """Return the methods that are searched together, of one family: their solutions are near."""
        families: dict = {}
        for method in methods:
            families.setdefault((method.family, method.unlabelled, method.alone), []).append(method)
        return list(families.values())


@dataclass(frozen=True)
class Source:
    """A data set of an experiment.

    Attributes
    ----------
    name : str
    what : str
    fidelity : str
        How near the paper's: "original", "same source", "stand-in" or "generated".
    load : callable
        Returns an object with ``task(point, repetition)`` and ``description`` (a dict for the settings). A
        task is a `Task`, or has `train`, `test`, `batches` and ``outcomes(methods, seed)`` of its own.
    duration : str
        How long a full run takes on two cores.
    files : tuple of str
        Files of the data home that it needs, keys of `localmkl.datasets.fetchers.FILES`.
    most : int or None
        The largest point of the axis that it has rows for.
    resampled : bool
        Whether repetitions split the same rows anew: then tests are corrected for it too.
    """

    name: str
    what: str
    fidelity: str
    load: Callable
    duration: str
    files: tuple[str, ...] = ()
    most: int | None = None
    resampled: bool = True

    def missing(self):
        """Return the files that are not in the data home."""
        paths = [data_home() / FILES[key].path for key in self.files]
        return [str(path) for path in paths if not path.exists()]


@dataclass(frozen=True)
class Experiment:
    """One table or figure, as data.

    Attributes
    ----------
    name, title : str
    published : Published
    sources : tuple of Source
        The first whose files are there is the default.
    methods : tuple of Method
    axis : str
        What the points are.
    points : tuple
    repetitions : int
    metric : str
        A key of `METRICS`, or "seconds".
    reference : str
        Label of the method that the others are tested against.
    protocol : str
        In words, for the summary.
    figure : tuple of str
        Labels of the methods that the figure shows; all where the axis has one point, and there is one score.
    turned : str
        Title of the figure's axis where the methods stand along it, and every point has a line.
    folds : int or None
        Inner folds, where there is no validation set.
    also : dict of str to str
        Other scores of a row, shares of one: name in the row, and title of its table and its part of the
        figure.
    costs : dict of str to str
        Other shares that have a table only.
    pairs : tuple of (str, str)
        Labels of methods whose difference has a table.
    quick : dict
        What the one-minute version replaces.
    """

    name: str
    title: str
    published: Published
    sources: tuple[Source, ...]
    methods: tuple[Method, ...]
    axis: str
    points: tuple
    repetitions: int
    metric: str
    reference: str
    protocol: str
    figure: tuple[str, ...] = ()
    turned: str = ""
    folds: int | None = None
    also: dict = field(default_factory=dict)
    costs: dict = field(default_factory=dict)
    pairs: tuple[tuple[str, str], ...] = ()
    quick: dict = field(default_factory=dict)

    def quickened(self):
        """Return the one-minute version: a small data set, two values of each parameter."""
        return replace(self, **{"methods": tuple(method.thinned() for method in self.methods), **self.quick})


def accuracy(model, y, decisions):
    """Return the share of right labels."""
    chosen = (decisions > 0.0).astype(int) if decisions.ndim == 1 else decisions.argmax(axis=1)
    return accuracy_score(y, model.classes_[chosen])


def area_under_curve(model, y, decisions):
    """Return the area under the ROC curve."""
    return roc_auc_score(y, decisions)


METRICS = {"AUC": area_under_curve, "accuracy": accuracy}


def run_cell(experiment, data, methods, point, repetition):
    """Return one row per method; what fails is a row with its error."""
    rows = []
    with one_thread(), warnings.catch_warnings():
        # Every row holds its gap, which says more than a warning in a worker's log.
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            task = data.task(point, repetition)
        except Exception as error:  # whatever it is, the other cells shall run
            return [{**_key(method, point, repetition), **_failure(error)} for method in methods]
        sizes = {"n_train": len(task.train), "n_test": len(task.test)}
        for members in task.batches(methods):
            try:
                outcomes = [_finite(one) for one in _run_batch(experiment, task, members, repetition)]
            except Exception as error:
                outcomes = [_failure(error)] * len(members)
            for method, outcome in zip(members, outcomes, strict=True):
                rows.append({**_key(method, point, repetition), **sizes, **outcome})
    return rows


def _key(method, point, repetition):
    return {"method": method.label, "point": point, "repetition": repetition, "seed": repetition}


def _failure(error):
    return {"error": f"{type(error).__name__}: {error}"}


def _finite(outcome):
    """Return an outcome as it can be written, or its failure: a score of one class alone is no number."""
    for name, value in outcome.items():
        if isinstance(value, float) and not isfinite(value):
            return _failure(ValueError(f"{name} must be a finite number, it is {value}"))
    return outcome


@contextmanager
def one_thread():
    """Keep libraries and compiled loops to one thread: the cells are what runs in parallel."""
    import numba

    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        numba.set_num_threads(threads)


def _run_batch(experiment, task, methods, seed):
    if not isinstance(task, Task):
        return task.outcomes(methods, seed)
    if experiment.metric == "seconds":
        return [time_fit(task, method, seed) for method in methods]
    if task.groups is not None:
        return [select_within_groups(task, method, experiment.folds, seed) for method in methods]
    metric = METRICS[experiment.metric]
    if task.valid is None:
        select = partial(select_by_folds, metric=metric, n_folds=experiment.folds, seed=seed)
    else:
        select = partial(select_by_validation, metric=metric, seed=seed)
    return select_alone(task, methods, select) if methods[0].alone else select(task, methods)


def select_alone(task, methods, select):
    """Return for each method the outcome of the kernel that is best by itself, by the rows that choose."""
    by_kernel = [
        select(replace(task, stack=task.stack.only(m)), methods) for m in range(task.stack.n_kernels)
    ]
    chosen = []
    for outcomes in zip(*by_kernel, strict=True):
        best = max(range(len(outcomes)), key=lambda m: outcomes[m]["valid_score"])
        spent = {name: sum(outcome[name] for outcome in outcomes) for name in ("n_fits", "seconds")}
        if "worst_gap" in outcomes[best]:
            spent["worst_gap"] = max(outcome["worst_gap"] for outcome in outcomes)
        parameters = {**outcomes[best]["parameters"], "kernel": best}
        chosen.append({**outcomes[best], **spent, "parameters": parameters})
    return chosen


def make_estimator(task, family, seed):
    """Return the estimator of a family, with all that its methods have in common."""
    parameters = {"kernels": "precomputed", "normalize": task.normalize, "tol": TOL}
    if family in ("HLMKL", "CLMKL"):
        parameters |= {"n_clusters": N_CLUSTERS}
    if family != "LMKL":
        parameters |= {"scale_C": False}  # as the paper has it
    if family in ("LMKL", "HLMKL", "CLMKL"):
        parameters |= {"gate_kernel": task.gate_kernel, "random_state": seed}
    return FAMILIES[family](**parameters)


def select_by_validation(task, methods, metric, seed):
    """Fit all candidates on the training rows; of the best on the validation rows report the test score.

    The chosen model is not fitted again with the validation rows: n is the number of training rows.
    """
    n_valid = len(task.valid)

    def judge(model, stack, y):
        decisions = model.decision_function(stack)
        return {
            "valid": metric(model, y[:n_valid], decisions[:n_valid]),
            "test": metric(model, y[n_valid:], decisions[n_valid:]),
            "gap": model.duality_gap_,
        }

    split = [(task.train, np.concatenate([task.valid, task.test]))]
    candidates, numbers = candidates_of(methods)
    asked = candidates
    if methods[0].unlabelled != 0:
        asked = with_gates(candidates, task, methods[0].unlabelled, seed)
    grids = [{name: [value] for name, value in candidate.items()} for candidate in asked]
    estimator = make_estimator(task, methods[0].family, seed)
    search = MKLSearchCV(estimator, grids, scoring=judge, cv=split, refit=False, error_score="raise").fit(
        task.stack, task.y
    )
    outcomes = []
    for own in numbers:
        found = {name: np.asarray(values)[own] for name, values in search.cv_results_.items()}
        best = int(np.argmax(found["mean_test_valid"]))
        outcomes.append(
            {
                "score": float(found["mean_test_test"][best]),
                "valid_score": float(found["mean_test_valid"][best]),
                "parameters": _plain(candidates[own[best]]),
                "gap": float(found["mean_test_gap"][best]),
                "worst_gap": float(np.max(found["mean_test_gap"])),
                "n_fits": len(own),
                "seconds": float(np.sum(found["mean_fit_time"] + found["mean_score_time"])),
            }
        )
    return outcomes


def candidates_of(methods):
    """Return the candidates of methods, equal ones once, and the numbers of each method's in its own order.

    Examples
    --------
    >>> methods = Method("a", "MKL", {"C": (1, 2)}), Method("b", "MKL", {"C": (3, 1)})
    >>> candidates_of(methods)
    ([{'C': 1}, {'C': 2}, {'C': 3}], [[0, 1], [2, 0]])
    """
    known: dict = {}
    numbers = []
    for method in methods:
        grid = {**method.grid, **{name: (value,) for name, value in method.fixed.items()}}
        keys = [tuple(candidate.items()) for candidate in ParameterGrid(grid)]
        numbers.append([known.setdefault(key, len(known)) for key in keys])
    return [dict(key) for key in known], numbers


def select_by_folds(task, methods, metric, n_folds, seed):
    """Choose by folds of the training rows, fit again on all of them, score on the test rows."""
    train, family = task.train, methods[0].family
    square, cross = task.stack[np.ix_(train, train)], task.stack[np.ix_(task.test, train)]
    y = task.y[train]
    candidates, numbers = candidates_of(methods)
    search = MKLSearchCV(
        make_estimator(task, family, seed),
        [{name: [value] for name, value in candidate.items()} for candidate in candidates],
        scoring="accuracy" if metric is accuracy else "roc_auc",
        cv=StratifiedKFold(n_folds, shuffle=True, random_state=seed),
        refit=False,
        error_score="raise",
    ).fit(square, y)
    outcomes = []
    for own in numbers:
        found = {name: np.asarray(values)[own] for name, values in search.cv_results_.items()}
        best = int(np.argmax(found["mean_test_score"]))
        chosen = candidates[own[best]]
        start = time.perf_counter()
        model = make_estimator(task, family, seed).set_params(**chosen).fit(square, y)
        score = metric(model, task.y[task.test], model.decision_function(cross))
        spent = n_folds * float(np.sum(found["mean_fit_time"] + found["mean_score_time"]))
        outcomes.append(
            {
                "score": float(score),
                "valid_score": float(found["mean_test_score"][best]),
                "parameters": _plain(chosen),
                "gap": float(model.duality_gap_),
                "n_fits": n_folds * len(own) + 1,
                "seconds": spent + time.perf_counter() - start,
            }
        )
    return outcomes


_COMPILED: set[tuple[str, int]] = set()
"""Labels of methods that were fitted in this process, with numbers of rows."""


def time_fit(task, method, seed):
    """Time one fit, clustering and certificate included, by the clock of its one thread.

    That clock does not count what else the machine does; `seconds` is the wall's. The first fit of a method
    to so many rows in a process is done twice, and the second one timed: the first may compile its code. The
    Grams are checked before, which only the first method of a cell would pay for.
    """
    model = make_estimator(task, method.family, seed).set_params(**method.fixed)
    square, y = task.stack[np.ix_(task.train, task.train)], task.y[task.train]
    square.check_training()
    if (method.label, len(y)) not in _COMPILED:
        model.fit(square, y)
        _COMPILED.add((method.label, len(y)))
    start, busy = time.perf_counter(), time.process_time()
    model.fit(square, y)
    return {
        "score": time.process_time() - busy,
        "seconds": time.perf_counter() - start,
        "gap": float(model.duality_gap_),
        "n_iter": int(model.n_iter_),
    }


def with_gates(candidates, task, unlabelled, seed):
    """Return the candidates with memberships that are known in the place of their evenness."""
    levels = dict.fromkeys(candidate.get("evenness") for candidate in candidates)
    gates = joint_memberships(task, levels, unlabelled, seed)
    return [
        {name: value for name, value in candidate.items() if name != "evenness"}
        | {"gate": gates[candidate.get("evenness")]}
        for candidate in candidates
    ]


def joint_memberships(task, levels, unlabelled, seed):
    """Return {evenness (None: hard): memberships of all rows}, from a partition of training and other rows.

    It is what ``fit(..., unlabeled=)`` learns: factors from the training rows, clusters from these and
    `unlabelled` others (None: all), half of them validation and half test rows; more hold the fewer.
    """
    rows = np.concatenate([task.train, task.valid, task.test])
    most = len(rows) - len(task.train)
    if unlabelled is not None and unlabelled > most:
        raise ValueError(f"There are {most} rows without labels in this split, got {unlabelled}.")
    half = len(task.valid) if unlabelled is None else unlabelled // 2
    other = len(task.test) if unlabelled is None else unlabelled - half
    n_train, n_valid = len(task.train), len(task.valid)
    clustered = np.r_[: n_train + half, n_train + n_valid : n_train + n_valid + other]
    square = task.stack[np.ix_(task.train, task.train)]
    square.check_training()
    grams = NormalizedGrams(task.stack[np.ix_(rows, rows)], learn_factors(task.normalize, square))
    gram = grams.mean() if task.gate_kernel is None else grams.block(task.gate_kernel)
    averages, offsets, _ = kernel_kmeans(gram[np.ix_(clustered, clustered)], N_CLUSTERS, random_state=seed)
    distances = offsets - 2.0 * gram[:, clustered] @ averages
    gates = {}
    for level in levels:
        tau = np.inf if level is None else tau_for_evenness(level, distances[clustered])
        matrix = np.zeros((task.stack.shape[0], N_CLUSTERS))
        matrix[:, 0] = 1.0  # rows that are in no part of this split are never looked at
        matrix[rows] = memberships(distances, tau)
        gates[level] = matrix
    return gates


def _plain(parameters):
    """Return chosen parameters as they can be written to a row."""
    return {name: value if value is None else float(value) for name, value in sorted(parameters.items())}
