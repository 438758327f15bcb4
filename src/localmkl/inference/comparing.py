"""Methods compared on shared splits: each is fitted on the same training rows and scored on the same others.

Intervals of differences are those of the corrected resampled t-test, see `localmkl.inference.locality_test`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.utils import check_random_state

from localmkl._checks import check_integer
from localmkl._sklearn import count_rows, split_rows
from localmkl._types import Array, FilePath, Ints, Rows, Seed, Targets
from localmkl.estimators.groups import Grouped, as_groups
from localmkl.inference.refits import OWN_LOSS, own_loss
from localmkl.inference.splits import N_SPLITS, given_splits, random_splits
from localmkl.inference.work import Work, contents_of
from localmkl.model_selection.search import check_scorer, rows_to_slice
from localmkl.model_selection.t_test import corrected_t_test
from localmkl.stacks import Stack

if TYPE_CHECKING:
    from localmkl.estimators.base import BaseMKL
    from localmkl.model_selection.cells import Fold


LEVEL = 0.9
"""Part of the intervals that are to cover, as in `localmkl.inference.locality_test`."""


@dataclass(frozen=True)
class Comparison:
    """The result of `compare_methods`.

    Parameters
    ----------
    methods : list of str
        Names of the methods, in the order given.
    reference : str
        The method that the others are compared with.
    scoring : str
        Name of the score; "loss" is the model's own loss, negated.
    scores : ndarray of shape (n_splits, n_methods)
        Held-out scores on the same splits.
    difference : ndarray of shape (n_methods,)
        Mean of the scores' differences to the reference; 0 of the reference itself.
    low, high : ndarray of shape (n_methods,)
        Ends of the 90 % intervals of these.
    p_value : ndarray of shape (n_methods,)
        Small if a method is better than the reference, one-sided; NaN of the reference.
    interrupted : bool
        Whether Ctrl-C left fewer splits than asked for.

    Examples
    --------
    >>> from localmkl import MKLClassifier, UniformMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(60, random_state=0)[:2]
    >>> models = {"MKL": MKLClassifier(), "UNIF": UniformMKLClassifier()}
    >>> found = compare_methods(models, X, y, n_splits=3, random_state=0)
    >>> found.methods, found.reference, found.scores.shape
    (['MKL', 'UNIF'], 'MKL', (3, 2))
    """

    methods: list[str]
    reference: str
    scoring: str
    scores: np.ndarray = field(repr=False)
    difference: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p_value: np.ndarray
    interrupted: bool = False

    def rows(self) -> list[dict[str, Any]]:
        """Return one flat dict for each method, for a table; None stands in the line of the reference."""
        found = []
        for place, method in enumerate(self.methods):
            own = method == self.reference
            values = {name: None if own else float(getattr(self, name)[place]) for name in DIFFERENCES}
            found.append({"method": method, "score": float(self.scores[:, place].mean()), **values})
        return found


DIFFERENCES = ("difference", "low", "high", "p_value")


def compare_methods(
    models: Mapping[str, Any],
    X: Rows,
    y: Targets,
    *,
    reference: str | None = None,
    cv: Any = None,
    n_splits: int = N_SPLITS,
    scoring: str | Callable[..., float] | None = None,
    groups: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: Seed = None,
    checkpoint: FilePath | None = None,
    verbose: int = 0,
) -> Comparison:
    """Compare methods on the same splits of the rows: scores, and intervals of their differences.

    Everything is learned anew on the training rows of each split: kernels, clusters, weights and, where a
    model is a search, its parameters.

    Parameters
    ----------
    models : dict of str to estimator or search
        Names and unfitted models of one task and on the same kind of rows.
    X, y : rows and targets
        With precomputed kernels, a stack of Grams.
    reference : str, optional
        Name of the model that the others are compared with; by default the first.
    cv : splitter or iterable, optional
        Splits; by default random ones with a fifth of the rows to score, labels stratified.
    n_splits : int, default=20
        Number of random splits.
    scoring : str or callable, optional
        By default the models' own loss on held-out rows, negated.
    groups : array-like of shape (n_samples,), optional
        Known groups, for models that find them in no column.
    n_jobs : int, optional
        Processes that fit at the same time.
    random_state : int, RandomState instance or None
        Seed of the splits.
    checkpoint : path-like, optional
        A file of finished fits, to stop and go on.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from localmkl import CLMKLClassifier, MKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> from localmkl.kernels import Linear
    >>> X, y, _, views = make_localized(150, random_state=0)
    >>> kernels = [Linear(columns=view) for view in views]
    >>> local = CLMKLClassifier(kernels, gate_kernel=0, evenness=0.4, random_state=0)
    >>> models = {"MKL": MKLClassifier(kernels), "CLMKL": local}
    >>> found = compare_methods(models, X, y, n_splits=5, scoring="roc_auc", random_state=0)
    >>> bool(found.low[1] > 0.0)
    True
    """
    names = list(models)
    if len(names) < 2:
        raise ValueError(f"`models` must hold two models or more to compare, got {len(names)}.")
    reference = names[0] if reference is None else reference
    if reference not in models:
        raise ValueError(f"`reference` must be one of {', '.join(names)}, got {reference!r}.")
    check_integer("n_splits", n_splits, low=2)
    first = _inside(models[reference])
    scorer = own_loss if scoring is None else check_scoring(first, scoring)
    for model in models.values():
        check_scorer(scoring, scorer, _inside(model))
    X, y = rows_to_slice(first, X), np.asarray(y)
    X = np.asarray(X, dtype=object) if isinstance(X, list | tuple) else X
    if count_rows(X) != len(y):
        raise ValueError(f"`X` and `y` must have as many rows, got {count_rows(X)} and {len(y)}.")
    given = given_splits(cv, first, X, y, groups)
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    parts = {
        "models": [(name, type(model), model.get_params()) for name, model in models.items()],
        "rows": contents_of(X),
        "targets": y,
        "groups": groups,
        "scoring": scoring,
        "splits": n_splits if given is None else [(split.train, split.test) for split in given],
    }
    work = Work("compare_methods", parts, seed, n_jobs, checkpoint, verbose > 0)
    splits = given or random_splits(first, y, work.seed, n_splits)
    alone = effective_n_jobs(n_jobs) == 1
    rivals = Rivals(dict(models), X, y, None if groups is None else as_groups(groups), alone)
    tasks = {(k, name): (name, split, scorer) for k, split in enumerate(splits) for name in names}
    done = work.do(_score, rivals, tasks)
    return _result(names, reference, scoring, splits, done, work.interrupted)


def _inside(model: Any) -> BaseMKL:
    """Return the estimator that a search varies; any other as it is."""
    return getattr(model, "estimator", model)


@dataclass(frozen=True)
class Rivals:
    """The models that are compared, and the rows that all of them see.

    Parameters
    ----------
    models : dict of str to estimator or search
    X, y : rows in a form that can be sliced, and targets
    groups : ndarray or None
    alone : bool
        Whether they are fitted in this process, one after the other.
    """

    models: dict[str, Any]
    X: Any
    y: np.ndarray
    groups: Any
    alone: bool

    def fit(self, name: str, train: Ints) -> Any:
        """Return a model fitted on some rows; of a search, its best."""
        model = clone(self.models[name])
        if not self.alone and "n_jobs" in model.get_params(deep=False):
            model.set_params(n_jobs=1)
        X, y = split_rows(_inside(model), self.X, self.y, train, None)
        known = {} if self.groups is None else {"groups": self.groups[train]}
        fitted = model.fit(X, y, **known)
        return getattr(fitted, "best_estimator_", fitted)

    def part(self, model: Any, rows: Ints, train: Ints) -> tuple[Rows, Array]:
        """Return rows to score, with their groups, and their targets."""
        X, y = split_rows(model, self.X, self.y, rows, train)
        return X if self.groups is None else Grouped(X, self.groups[rows]), y

    def detached(self) -> tuple[Rivals, Rows]:
        """Return the same without its large array, and this: it travels by its own way."""
        X, array = self.X.detached() if isinstance(self.X, Stack) else (self.X, None)
        return replace(self, X=X), array

    def attached(self, array: Any) -> Rivals:
        """Undo `detached`."""
        return replace(self, X=self.X.attached(array)) if isinstance(self.X, Stack) else self


def _score(rivals: Rivals, name: str, split: Fold, scorer: Callable[..., float]) -> float:
    """Return the held-out score of a model on a split."""
    model = rivals.fit(name, split.train)
    return float(scorer(model, *rivals.part(model, split.test, split.train)))


def _result(
    names: list[str],
    reference: str,
    scoring: str | Callable[..., float] | None,
    splits: list[Fold],
    done: dict[Any, float],
    interrupted: bool,
) -> Comparison:
    whole = [k for k in range(len(splits)) if all((k, name) in done for name in names)]
    if len(whole) < 2:
        raise KeyboardInterrupt
    scores = np.array([[done[k, name] for name in names] for k in whole])
    share = float(np.mean([len(splits[k].test) / len(splits[k].train) for k in whole]))
    reach = float(stats.t.ppf(0.5 * (1.0 + LEVEL), len(scores) - 1))
    differences = scores - scores[:, [names.index(reference)]]
    means, errors, _, p_values = np.transpose([corrected_t_test(own, share) for own in differences.T])
    p_values[names.index(reference)] = np.nan
    return Comparison(
        methods=names,
        reference=reference,
        scoring=OWN_LOSS if scoring is None else str(scoring),
        scores=scores,
        difference=means,
        low=means - reach * errors,
        high=means + reach * errors,
        p_value=p_values,
        interrupted=interrupted,
    )
