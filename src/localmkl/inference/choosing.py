"""The number of clusters: as few as the held-out score bears, and only clusters that are found again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.utils import check_random_state

from localmkl._checks import check_integer, check_number
from localmkl._types import Bools, FilePath, Floats, Ints, Rows, Seed, Targets
from localmkl.estimators.convex import LocalMKL
from localmkl.explain import local_memberships
from localmkl.gates import GROUPS
from localmkl.inference.matching import jaccards, main_clusters_in, match_clusters
from localmkl.inference.refits import OWN_LOSS, Refits, check_data, check_model, own_loss
from localmkl.inference.splits import given_splits, random_folds
from localmkl.inference.stability import complementary_halves
from localmkl.inference.work import Work, contents_of
from localmkl.model_selection.grams import SharedGrams
from localmkl.model_selection.search import check_scorer

if TYPE_CHECKING:
    from localmkl.estimators.base import BaseMKL
    from localmkl.model_selection.cells import Fold


LEAST_JACCARD = 0.5
"""Mean Jaccard index below which clusters count as dissolved (Hennig 2007)."""


@dataclass(frozen=True)
class ClusterChoice:
    """The result of `choose_clusters`.

    Parameters
    ----------
    n_clusters : int
        The number chosen.
    tried : ndarray of int
        1 to the most.
    scores : ndarray of shape (n_tried, n_splits)
        Held-out scores.
    mean : ndarray of shape (n_tried,)
        Their means.
    error : ndarray of shape (n_tried,)
        Standard errors of the means over the splits.
    jaccard : ndarray of shape (n_tried,)
        How well the clusters are found again on halves of the rows, on average; 1 for one cluster.
    scoring : str
        Name of the score; "loss" is the model's own loss, negated.
    interrupted : bool
        Whether Ctrl-C left fewer splits or halves than asked for.

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(60, random_state=0)[:2]
    >>> model = CLMKLClassifier(random_state=0).fit(X, y)
    >>> found = choose_clusters(model, X, y, max_clusters=2, random_state=0)
    >>> found.tried, bool(found.n_clusters in found.tried)
    (array([1, 2]), True)
    """

    n_clusters: int
    tried: np.ndarray
    scores: np.ndarray = field(repr=False)
    mean: np.ndarray
    error: np.ndarray
    jaccard: np.ndarray
    scoring: str
    interrupted: bool = False


def choose_clusters(
    model: BaseMKL,
    X: Rows,
    y: Targets,
    *,
    max_clusters: int = 6,
    cv: Any = 5,
    n_resamples: int = 20,
    least_jaccard: float = LEAST_JACCARD,
    scoring: str | Callable[..., float] | None = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: Seed = None,
    checkpoint: FilePath | None = None,
    verbose: int = 0,
) -> ClusterChoice:
    """Choose the number of clusters, from one on, by held-out scores and by how well they are found again.

    Of the numbers whose mean score is within one standard error of the best mean, the smallest is chosen; one
    cluster is MKL. Numbers whose clusters are not found again on halves of
    the rows are left out. Memberships stay as hard or soft as the model's: evenness keeps its place between
    1 / n_clusters and 1.

    Parameters
    ----------
    model : fitted HLMKL or CLMKL estimator that finds its clusters, or search
        Of a search, its best.
    X, y : rows and targets
        Those of its fit.
    max_clusters : int, default=6
        Largest number to try.
    cv : int, splitter or iterable, default=5
        Splits; a number of folds is shuffled, labels stratified.
    n_resamples : int, default=20
        Halves on which clusters are looked for again, for each number.
    least_jaccard : float, default=0.5
        Mean Jaccard index that clusters must reach to be chosen.
    scoring : str or callable, optional
        By default the model's own loss on held-out rows, negated.
    sample_weight : array-like of shape (n_samples,), optional
        That of its fit.
    n_jobs : int, optional
        Processes that fit at the same time.
    random_state : int, RandomState instance or None
        Seed of splits, clusters and halves.
    checkpoint : path-like, optional
        A file of finished fits, to stop and go on.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    ClusterChoice

    References
    ----------
    Hennig: Cluster-wise assessment of cluster stability. Computational Statistics and Data Analysis 52, 2007.

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> from localmkl.kernels import Linear
    >>> X, y, _, views = make_localized(200, random_state=0)
    >>> kernels = [Linear(columns=view) for view in views]
    >>> model = CLMKLClassifier(kernels, gate_kernel=0, evenness=0.4, random_state=0).fit(X, y)
    >>> choose_clusters(model, X, y, max_clusters=4, random_state=0).n_clusters
    3
    """
    model = _check_finds_clusters(check_model(model))
    check_integer("max_clusters", max_clusters, low=2)
    check_integer("n_resamples", n_resamples, low=2)
    check_number("least_jaccard", least_jaccard, low=0.0, high=1.0)
    scorer = own_loss if scoring is None else check_scoring(model, scoring)
    check_scorer(scoring, scorer, model)
    X, rows, y, _ = check_data(model, X, y, None, sample_weight)
    given = given_splits(cv, model, X, y)
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    parts = {
        "model": (type(model), model.get_params(), model.kernel_weights_),
        "rows": contents_of(X),
        "targets": y,
        "weights": sample_weight,
        "scoring": scoring,
        "splits": cv if given is None else [(split.train, split.test) for split in given],
        "numbers": (max_clusters, n_resamples),
    }
    work = Work("choose_clusters", parts, seed, n_jobs, checkpoint, verbose > 0)
    splits = given or random_folds(5 if cv is None else cv, model, y, work.seed)
    labels = y if is_classifier(model) else None
    halves = [
        half for half, _ in complementary_halves(labels, len(y), n_resamples + n_resamples % 2, work.seed)
    ]
    tried = np.arange(1, max_clusters + 1)
    serial = effective_n_jobs(n_jobs) == 1
    with SharedGrams(rows, in_files=not serial) as grams:
        refits = Refits.of(model, X, y, None, sample_weight, grams, parallel=serial)
        tasks = {
            ("score", split.number, int(k)): (split, scorer, _settings(model, int(k)), work.seed)
            for split in splits
            for k in tried
        }
        scored = work.do(_score, refits, tasks)
        tasks_of_halves = {
            ("halves", int(k)): (halves[:n_resamples], _settings(model, int(k)), work.seed) for k in tried[1:]
        }
        again = work.do(_found_again, refits, tasks_of_halves)
    return _choice(tried, len(splits), scored, again, least_jaccard, scoring, work.interrupted)


def smallest_good(scores: Floats, allowed: Bools) -> tuple[int, Floats]:
    """Return the first row whose mean is within one standard error of the best, of those allowed.

    Parameters
    ----------
    scores : ndarray of shape (n_tried, n_splits)
    allowed : ndarray of bool of shape (n_tried,)

    Returns
    -------
    number : int
    errors : ndarray of shape (n_tried,)
        Standard errors of the means over the splits.

    Examples
    --------
    >>> scores = np.array([[0.6, 0.7, 0.6], [0.8, 0.9, 0.7], [0.8, 0.9, 0.75]])
    >>> smallest_good(scores, np.array([True, True, True]))[0]
    1
    """
    means, errors = scores.mean(axis=1), scores.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
    best = int(np.argmax(np.where(allowed, means, -np.inf)))
    return int(np.argmax(allowed & (means >= means[best] - errors[best]))), errors


def _check_finds_clusters(model: BaseMKL) -> BaseMKL:
    finds = isinstance(model, LocalMKL) and isinstance(model.gate, str) and model.gate != GROUPS
    if not finds:
        other = "a gate that does not" if isinstance(model, LocalMKL) else "no clusters"
        raise ValueError(
            f"`model` must find its clusters itself, got one with {other}; fit CLMKL or HLMKL with "
            "gate='kmeans'."
        )
    return model


def _settings(model: BaseMKL, n_clusters: int) -> dict[str, Any]:
    """Return the parameters of a model with another number of clusters, as hard or soft as it is."""
    if n_clusters == 1:
        return {"shared": 1.0}
    shared = {"shared": 0.0} if model.shared == 1.0 else {}
    if not hasattr(model, "evenness") or n_clusters == model.n_clusters or model.n_clusters == 1:
        return {"n_clusters": n_clusters, **shared}
    low = 1.0 / model.n_clusters
    place = (model.evenness - low) / (1.0 - low)
    low = 1.0 / n_clusters
    return {"n_clusters": n_clusters, "evenness": min(1.0, low + place * (1.0 - low)), **shared}


def _score(
    refits: Refits, split: Fold, scorer: Callable[..., float], settings: dict[str, Any], seed: int
) -> float:
    refit = refits.fit(split.train, seed=seed, test=split.test, **settings)
    return refit.score(refits.y[split.test], scorer)


def _found_again(refits: Refits, halves: list[Ints], settings: dict[str, Any], seed: int) -> float:
    """Return the mean Jaccard index of the clusters of all rows and their likes on halves."""
    k = settings["n_clusters"]
    own = _clusters(refits, np.arange(refits.n_samples), settings, seed)
    every = []
    for number, half in enumerate(halves):
        found = _clusters(refits, half, settings, seed + 1 + number)
        matched = match_clusters(own[half], found, k, k)
        every.append(np.nanmean(jaccards(own[half], found, matched, k)))
    return float(np.mean(every))


def _clusters(refits: Refits, rows: Ints, settings: dict[str, Any], seed: int) -> Ints:
    memberships = refits.memberships(rows, seed=seed, **settings)
    return main_clusters_in(local_memberships(refits.model, memberships))


def _choice(
    tried: Ints,
    n_splits: int,
    scored: dict[Any, float],
    again: dict[Any, float],
    least_jaccard: float,
    scoring: str | Callable[..., float] | None,
    interrupted: bool,
) -> ClusterChoice:
    complete = [s for s in range(n_splits) if all(("score", s, int(k)) in scored for k in tried)]
    if len(complete) < 2:
        raise KeyboardInterrupt
    scores = np.array([[scored["score", s, int(k)] for s in complete] for k in tried])
    jaccard = np.array([1.0] + [again.get(("halves", int(k)), np.nan) for k in tried[1:]])
    number, error = smallest_good(scores, ~(jaccard < least_jaccard))
    return ClusterChoice(
        n_clusters=int(tried[number]),
        tried=tried,
        scores=scores,
        mean=scores.mean(axis=1),
        error=error,
        jaccard=jaccard,
        scoring=OWN_LOSS if scoring is None else str(scoring),
        interrupted=interrupted,
    )
