"""Experiments as data, and the run of one of their cells.

A cell is one repetition at one point of the axis (a training size, mostly): the same split for every method,
so that differences are paired. The best of a method's grid is chosen by a validation set, or by folds of the
training rows, and scored on the test rows.
"""

import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any

import numba
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import ParameterGrid, StratifiedKFold
from threadpoolctl import threadpool_limits

import localmkl
from localmkl.gates import kernel_kmeans, memberships, tau_for_evenness
from localmkl.model_selection import MKLSearchCV
from reproduction.coupled import solve_coupled

FAMILIES: dict[str, Any] = {
    "UNIF": localmkl.UniformMKLClassifier,
    "LMKL": localmkl.LMKLClassifier,
    "MKL": localmkl.MKLClassifier,
    "HLMKL": localmkl.HLMKLClassifier,
    "CLMKL": localmkl.CLMKLClassifier,
}
COUPLED = "coupled"
"""The family of hard clusters that a graph couples, which is no estimator of the package."""
N_CLUSTERS = 3
"""As in the paper."""
TOL = 1e-3
"""Relative duality gap of every fit. Means of fifty scores may differ by 0.2 points from those at 1e-6."""


@dataclass(frozen=True)
class Method:
    """A row of a table: a family of methods, values of parameters that are tried, and fixed ones.

    `unlabelled` counts the validation and test rows that clusters are learned from too, labels unseen (None:
    all). A `slow` method runs only if it is named, `most` is its largest training size, and `alone` takes the
    best single kernel.
    """

    label: str
    family: str
    grid: dict = field(default_factory=dict)
    fixed: dict = field(default_factory=dict)
    unlabelled: int | None = 0
    slow: bool = False
    most: int | None = None
    alone: bool = False

    @property
    def kind(self):
        """The label up to its comma."""
        return self.label.partition(",")[0]


@dataclass(frozen=True)
class Source:
    """A data set of an experiment; `load` returns an object with ``task(point, repetition)`` and ``facts``.

    `fidelity` says how near the paper's data it is, `most` is its largest training size, and `resampled`
    whether repetitions split the same rows anew.
    """

    name: str
    what: str
    fidelity: str
    duration: str
    load: Callable
    most: int | None = None
    resampled: bool = True


@dataclass(frozen=True)
class Experiment:
    """One table or figure; `catalogue.toml` has the fields."""

    name: str
    title: str
    sources: dict
    methods: tuple
    axis: str
    points: tuple
    repetitions: int
    metric: str
    reference: str
    protocol: str
    published: dict = field(default_factory=dict)
    paper: str = "not in the paper"
    claim: str = "The paper leaves this open."
    notes: str = ""
    figure: tuple = ()
    folds: int | None = None
    also: dict = field(default_factory=dict)
    costs: dict = field(default_factory=dict)
    pairs: tuple = ()


@dataclass(frozen=True)
class Task:
    """One split: rows of `stack` for training, then for validation, then for testing; three ranges."""

    stack: localmkl.GramStack
    y: np.ndarray
    train: range
    valid: range
    test: range
    normalize: str = "multiplicative"
    gate_kernel: int | None = None

    def batches(self, methods):
        """Return the methods that are searched together, of one family: their solutions are near."""
        return grouped(methods, lambda method: (method.family, method.unlabelled, method.alone))

    def outcomes(self, methods, experiment, seed):
        """Return what these methods reach."""
        if experiment.metric == "seconds":
            return [time_fit(self, method, seed) for method in methods]
        if methods[0].alone:
            return select_alone(self, methods, experiment, seed)
        return select(self, methods, experiment, seed)


def grouped(members, key):
    """Return the members in lists of equal keys."""
    groups: dict = {}
    for member in members:
        groups.setdefault(key(member), []).append(member)
    return list(groups.values())


def accuracy(classes, y, decisions):
    """Return the share of right labels."""
    chosen = (decisions > 0.0).astype(int) if decisions.ndim == 1 else decisions.argmax(axis=1)
    return accuracy_score(y, classes[chosen])


def area_under_curve(classes, y, decisions):
    """Return the area under the ROC curve."""
    return roc_auc_score(y, decisions)


METRICS = {"AUC": area_under_curve, "accuracy": accuracy}


def run_cell(experiment, data, methods, point, repetition):
    """Return one row per method; what fails is a row with its error."""
    keys = {m.label: {"method": m.label, "point": point, "repetition": repetition} for m in methods}
    rows = []
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # every row holds its gap, which says more
        try:
            task = data.task(point, repetition)
        except Exception as error:  # whatever it is, the other cells shall run
            return [{**key, "seed": repetition, **failure(error)} for key in keys.values()]
        sizes = {"n_train": len(task.train), "n_test": len(task.test)}
        for members in task.batches(methods):
            try:
                outcomes = [finite(one) for one in task.outcomes(members, experiment, repetition)]
            except Exception as error:
                outcomes = [failure(error)] * len(members)
            for method, outcome in zip(members, outcomes, strict=True):
                rows.append({**keys[method.label], "seed": repetition, **sizes, **outcome})
    return rows


@contextmanager
def one_thread():
    """Keep libraries and compiled loops to one thread: the cells are what runs in parallel."""
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        numba.set_num_threads(threads)


def failure(error):
    """Return an error as a part of a row."""
    return {"error": f"{type(error).__name__}: {error}"}


def finite(outcome):
    """Return an outcome as it can be written, or its failure: a score of one class alone is no number."""
    for name, value in outcome.items():
        if isinstance(value, float) and not isfinite(value):
            return failure(ValueError(f"{name} must be a finite number, it is {value}"))
    return outcome


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


def plain(parameters):
    """Return chosen parameters as they can be written to a row."""
    return {name: value if value is None else float(value) for name, value in sorted(parameters.items())}


def select(task, methods, experiment, seed):
    """Return the test score of each method's best candidate."""
    candidates, numbers = candidates_of(methods)
    if methods[0].family == COUPLED:
        judged = judge_coupled(task, candidates, experiment, methods[0].unlabelled, seed)
    else:
        judge = judge_by_validation if experiment.folds is None else judge_by_folds
        judged = judge(task, methods[0], candidates, experiment, seed)
    outcomes = []
    for own in numbers:
        best = max(own, key=lambda k: judged[k]["valid"])  # the first of equal ones
        outcome = {
            "score": judged[best].get("test"),
            "valid_score": judged[best]["valid"],
            "parameters": plain(candidates[best]),
            "n_fits": len(own) * (experiment.folds or 1),
            "seconds": sum(judged[k]["seconds"] for k in own),
        }
        if experiment.folds is None:
            gaps = {"gap": judged[best]["gap"], "worst_gap": max(judged[k]["gap"] for k in own)}
            outcomes.append(outcome | gaps)
        else:
            outcomes.append(fit_again(task, methods[0].family, candidates[best], outcome, experiment, seed))
    return outcomes


def select_alone(task, methods, experiment, seed):
    """Return for each method the outcome of the single kernel that is best by the rows that choose."""
    alone = (replace(task, stack=task.stack.only(m)) for m in range(task.stack.n_kernels))
    by_kernel = [select(one, methods, experiment, seed) for one in alone]
    chosen = []
    for outcomes in zip(*by_kernel, strict=True):
        best = max(range(len(outcomes)), key=lambda m: outcomes[m]["valid_score"])
        spent = {name: sum(one[name] for one in outcomes) for name in ("n_fits", "seconds")}
        chosen.append({**outcomes[best], **spent})
        chosen[-1]["parameters"] = {**outcomes[best]["parameters"], "kernel": best}
    return chosen


def judge_by_validation(task, method, candidates, experiment, seed):
    """Fit all candidates on the training rows; return their validation and test scores.

    The chosen model is not fitted again with the validation rows: n is the number of training rows.
    """
    metric, n_valid = METRICS[experiment.metric], len(task.valid)

    def judge(model, stack, y):
        decisions = model.decision_function(stack)
        return {
            "valid": metric(model.classes_, y[:n_valid], decisions[:n_valid]),
            "test": metric(model.classes_, y[n_valid:], decisions[n_valid:]),
            "gap": model.duality_gap_,
        }

    if method.unlabelled != 0:
        candidates = with_gates(candidates, task, method.unlabelled, seed)
    grids = [{name: [value] for name, value in candidate.items()} for candidate in candidates]
    split = [(np.array(task.train), np.r_[task.valid, task.test])]
    search = MKLSearchCV(
        make_estimator(task, method.family, seed),
        grids,
        scoring=judge,
        cv=split,
        refit=False,
        error_score="raise",
    ).fit(task.stack, task.y)
    found = search.cv_results_
    columns = {name: found[f"mean_test_{name}"] for name in ("valid", "test", "gap")}
    columns["seconds"] = found["mean_fit_time"] + found["mean_score_time"]
    return [{name: float(values[k]) for name, values in columns.items()} for k in range(len(candidates))]


def judge_coupled(task, candidates, experiment, unlabelled, seed):
    """Fit hard clusters that a graph couples on the training rows; return validation and test scores."""
    gate = joint_memberships(task, [None], unlabelled, seed)[None]
    grams, classes = normalized(task), np.unique(task.y)
    signs = np.where(task.y == classes[1], 1.0, -1.0)
    train, judged, starts = slice(len(task.train)), [], {}
    for candidate in candidates:
        start, key = time.perf_counter(), (candidate["p"], candidate["strength"])
        found = solve_coupled(
            grams[:, train, train], signs[train], gate[train], **candidate, beta=starts.get(key), tol=TOL
        )
        starts[key] = found.beta
        decisions = found.decide(grams[:, :, train], gate)
        scores = {
            part: float(METRICS[experiment.metric](classes, task.y[rows], decisions[rows]))
            for part, rows in (("valid", task.valid), ("test", task.test))
        }
        judged.append({**scores, "gap": float(found.gap), "seconds": time.perf_counter() - start})
    return judged


def judge_by_folds(task, method, candidates, experiment, seed):
    """Return the mean scores of all candidates over folds of the training rows."""
    search = MKLSearchCV(
        make_estimator(task, method.family, seed),
        [{name: [value] for name, value in candidate.items()} for candidate in candidates],
        scoring="accuracy" if experiment.metric == "accuracy" else "roc_auc",
        cv=StratifiedKFold(experiment.folds, shuffle=True, random_state=seed),
        refit=False,
        error_score="raise",
    ).fit(task.stack[np.ix_(task.train, task.train)], task.y[task.train])
    found = search.cv_results_
    seconds = experiment.folds * (found["mean_fit_time"] + found["mean_score_time"])
    pairs = zip(found["mean_test_score"], seconds, strict=True)
    return [{"valid": float(score), "seconds": float(spent)} for score, spent in pairs]


def fit_again(task, family, chosen, outcome, experiment, seed):
    """Fit what folds have chosen on all training rows, and score it on the test rows."""
    start = time.perf_counter()
    square, cross = (task.stack[np.ix_(rows, task.train)] for rows in (task.train, task.test))
    model = make_estimator(task, family, seed).set_params(**chosen).fit(square, task.y[task.train])
    decisions = model.decision_function(cross)
    return {
        **outcome,
        "score": float(METRICS[experiment.metric](model.classes_, task.y[task.test], decisions)),
        "gap": float(model.duality_gap_),
        "n_fits": outcome["n_fits"] + 1,
        "seconds": outcome["seconds"] + time.perf_counter() - start,
    }


def time_fit(task, method, seed):
    """Time one fit, clustering and certificate included, by the clock of its one thread.

    That clock does not count what else the machine does; `seconds` is the wall's. The fit is done twice, and
    the second one timed: the first may compile code.
    """
    model = make_estimator(task, method.family, seed).set_params(**method.fixed)
    square, y = task.stack[np.ix_(task.train, task.train)], task.y[task.train]
    square.check_training()
    model.fit(square, y)
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
    others = len(task.valid) + len(task.test)
    if unlabelled is not None and unlabelled > others:
        raise ValueError(f"There are {others} rows without labels in this split, got {unlabelled}.")
    half = len(task.valid) if unlabelled is None else unlabelled // 2
    rest = len(task.test) if unlabelled is None else unlabelled - half
    clustered = np.r_[task.train, task.valid[:half], task.test[:rest]].astype(int)
    grams = normalized(task)
    gram = grams.mean(axis=0) if task.gate_kernel is None else grams[task.gate_kernel]
    averages, offsets, _ = kernel_kmeans(gram[np.ix_(clustered, clustered)], N_CLUSTERS, random_state=seed)
    distances = offsets - 2.0 * gram[:, clustered] @ averages
    taus = {
        level: np.inf if level is None else tau_for_evenness(level, distances[clustered]) for level in levels
    }
    return {level: memberships(distances, tau) for level, tau in taus.items()}


def normalized(task):
    """Return the kernels (M, n, n), divided by what the normalisation learns on the training rows."""
    grams = task.stack.to_array()
    train = grams[:, : len(task.train), : len(task.train)]
    spread = np.einsum("mii->m", train) / len(task.train)
    if task.normalize == "multiplicative":
        spread = spread - train.mean(axis=(1, 2))
    return grams / spread[:, None, None]
