"""Weights and clusters refitted on other samples: how far they move, and how often they are found again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils import check_random_state

from localmkl._checks import check_integer, check_number
from localmkl._types import FilePath, Floats, Ints, Rows, Seed, Targets
from localmkl.explain import cluster_names, kernel_names, kernel_shares
from localmkl.inference.intervals import share_intervals
from localmkl.inference.matching import jaccards, main_clusters_in
from localmkl.inference.refits import Refits, check_data, check_model
from localmkl.inference.work import Work, contents_of
from localmkl.model_selection.grams import SharedGrams

if TYPE_CHECKING:
    from localmkl.inference.refits import Refits


ABSENT = -1
"""Cluster of a row that a resample has not drawn."""


@dataclass(frozen=True)
class Stability:
    """The result of `stability`.

    Parameters
    ----------
    clusters, kernels : list of str
        Names of the rows and columns below.
    shares : ndarray of shape (n_clusters, n_kernels)
        Share of each kernel in the weights of its cluster, on all rows.
    corrected : ndarray of shape (n_clusters, n_kernels)
        Estimates of the shares that very many samples would give. Few samples give some weight to kernels
        that say nothing; the intervals lie about these values, not about `shares`.
    low, high : ndarray of shape (n_clusters, n_kernels)
        Ends of the intervals of the shares that very many samples would give.
    level : float
        Part of such intervals that are to cover.
    frequency : ndarray of shape (n_clusters, n_kernels)
        Part of the refits that choose the kernel: its share is at least `least_share`.
    jaccard : ndarray of shape (n_clusters,)
        How well each cluster is found again, from 0 to 1: rows in both, as a share of rows in either, on
        average over the refits. NaN for a part that all samples share.
    resampled : ndarray of shape (n_resamples, n_clusters, n_kernels)
        Shares of each refit, its clusters in the order of the model's; NaN of a cluster without a like.
    assigned : ndarray of int of shape (n_resamples, n_samples)
        Main cluster of each row in each refit, in the order of the model's (one without a like comes after
        them); -1 of a row that is not in it.
    least_share : float
    interrupted : bool
        Whether Ctrl-C left fewer refits than asked for.

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> from localmkl.kernels import Linear
    >>> X, y, _, views = make_localized(100, random_state=0)
    >>> model = MKLClassifier([Linear(columns=view) for view in views[:3]]).fit(X, y)
    >>> found = stability(model, X, y, n_resamples=20, random_state=0)
    >>> found.shares.shape, found.resampled.shape, found.level
    ((1, 3), (20, 1, 3), 0.9)
    """

    clusters: list[str]
    kernels: list[str]
    shares: np.ndarray
    corrected: np.ndarray
    low: np.ndarray
    high: np.ndarray
    level: float
    frequency: np.ndarray
    jaccard: np.ndarray
    resampled: np.ndarray = field(repr=False)
    assigned: np.ndarray = field(repr=False)
    least_share: float
    interrupted: bool = False


def stability(
    model: Any,
    X: Rows,
    y: Targets,
    *,
    n_resamples: int = 100,
    level: float = 0.9,
    least_share: float = 0.01,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: Seed = None,
    checkpoint: FilePath | None = None,
    verbose: int = 0,
) -> Stability:
    """Refit a model on other samples: intervals of its weights, and how well its clusters are found again.

    Normalisation, clusters (with as many restarts as the model's) and weights are learned anew in every
    refit, the kernels themselves are kept. A refit on half of the rows pays twice for the loss of each, so
    that it estimates what the model estimates.

    Parameters
    ----------
    model : fitted convex estimator or search
        UNIF, MKL, HLMKL or CLMKL; of a search, its best.
    X, y : rows and targets
        Those of its fit.
    n_resamples : int, default=100
        Number of refits, even and at least 20.
    level : float, default=0.9
        Part of the intervals that are to cover.
    least_share : float, default=0.01
        Share of its cluster's weights from which on a kernel counts as chosen by a refit.
    groups, sample_weight : array-like of shape (n_samples,), optional
        Those of its fit.
    n_jobs : int, optional
        Processes that refit at the same time.
    random_state : int, RandomState instance or None
        Seed.
    checkpoint : path-like, optional
        A file of finished refits, to stop and go on.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    Stability

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> from localmkl.kernels import Linear
    >>> X, y, _, views = make_localized(150, random_state=0)
    >>> kernels = [Linear(columns=view) for view in views]
    >>> model = CLMKLClassifier(kernels, gate_kernel=0, random_state=0).fit(X, y)
    >>> found = stability(model, X, y, n_resamples=20, random_state=0)
    >>> bool(found.jaccard.min() > 0.9), bool((found.low <= found.high).all())
    (True, True)
    """
    model = check_model(model)
    check_integer("n_resamples", n_resamples, low=20)
    check_number("level", level, low=0.0, low_open=True, high=1.0, high_open=True)
    check_number("least_share", least_share, low=0.0, low_open=True, high=1.0)
    if n_resamples % 2:
        raise ValueError(f"`n_resamples` must be even, for pairs of halves, got {n_resamples}.")
    X, rows, y, groups = check_data(model, X, y, groups, sample_weight)
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    parts = {
        "model": (type(model), model.get_params(), model.kernel_weights_),
        "rows": contents_of(X),
        "targets": y,
        "groups": groups,
        "weights": sample_weight,
        "refits": n_resamples,
    }
    work = Work("stability", parts, seed, n_jobs, checkpoint, verbose > 0)
    draws = complementary_halves(y if is_classifier(model) else None, len(y), n_resamples, work.seed)
    serial = effective_n_jobs(n_jobs) == 1
    with SharedGrams(rows, in_files=not serial) as grams:
        refits = Refits.of(model, X, y, groups, sample_weight, grams, parallel=serial)
        tasks = {(b,): (draw, work.seed + b) for b, draw in enumerate(draws)}
        done, norms = work.do(_refit, refits, tasks), refits.squared_norms()
    return _summary(model, norms, done, draws, level, least_share, work.interrupted)


def complementary_halves(labels: Ints | None, n_samples: int, n_resamples: int, seed: int) -> list[Ints]:
    """Return the rows of refits; each two divide the rows of every class in halves."""
    rng = np.random.default_rng(seed)
    strata = np.zeros(n_samples, dtype=int) if labels is None else np.unique(labels, return_inverse=True)[1]
    if labels is not None and np.bincount(strata).min() < 2:
        raise ValueError("Halves need at least 2 rows of each class; leave out classes with one row.")
    draws: list[Ints] = []
    for _ in range(n_resamples // 2):
        shuffled = rng.permutation(n_samples)
        shuffled = shuffled[np.argsort(strata[shuffled], kind="stable")]  # one class after the other
        first = int(rng.integers(2))
        draws += [np.sort(shuffled[first::2]), np.sort(shuffled[1 - first :: 2])]
    return draws


def _refit(refits: Refits, rows: Ints, seed: int) -> dict[str, list[Any]]:
    """Return shares in the order of the model's clusters, and the main cluster of each row in that order."""
    refit = refits.fit(rows, seed=seed, per_sample=True)
    shares = kernel_shares(refit.model)
    shares = np.where(refit.order[:, None] >= 0, shares[refit.order], np.nan)
    local = int(len(refit.order) > 1 and 0.0 < getattr(refit.model, "shared_", 0.0) < 1.0)
    own = refit.model.memberships_[:, local:]
    # A cluster without a like in the model gets a number after the model's.
    names = len(refit.order) - local + np.arange(own.shape[1])
    for place, found in enumerate(refit.order[local:]):
        if found >= 0:
            names[found - local] = place
    return {
        "shares": shares.tolist(),
        "norms": refit.squared_norms().tolist(),
        "clusters": names[main_clusters_in(own)].tolist(),
    }


def _summary(
    model: Any,
    norms: Floats,
    done: dict[Any, dict[str, list[Any]]],
    draws: list[Ints],
    level: float,
    least_share: float,
    interrupted: bool,
) -> Stability:
    numbers = sorted(b for (b,) in done)
    numbers = [b for b in numbers if (b ^ 1,) in done]  # both halves of a pair, or none
    if not numbers:
        raise KeyboardInterrupt
    resampled = np.array([done[b,]["shares"] for b in numbers], dtype=float)
    assigned = np.full((len(numbers), np.shape(model.dual_coef_)[-1]), ABSENT)
    for place, b in enumerate(numbers):
        assigned[place, draws[b]] = done[b,]["clusters"]
    refitted = np.array([done[b,]["norms"] for b in numbers], dtype=float)
    corrected, low, high = share_intervals(norms, refitted, float(model._p), level)
    return Stability(
        clusters=cluster_names(model),
        kernels=kernel_names(model),
        shares=kernel_shares(model),
        corrected=corrected,
        low=low,
        high=high,
        level=level,
        frequency=np.mean(np.nan_to_num(resampled) >= least_share, axis=0),
        jaccard=_found_again(model, assigned),
        resampled=resampled,
        assigned=assigned,
        least_share=least_share,
        interrupted=interrupted,
    )


def _found_again(model: Any, assigned: Ints) -> Floats:
    """Return the mean Jaccard index of each cluster and its like; NaN of the shared part."""
    local = int(0.0 < getattr(model, "shared_", 0.0) < 1.0)
    own = main_clusters_in(model.memberships_[:, local:])
    n_clusters, most = model.memberships_.shape[1] - local, int(assigned.max()) + 1
    every = []
    for clusters in assigned:
        rows = clusters != ABSENT
        places = np.arange(n_clusters)
        every.append(jaccards(own[rows], clusters[rows], places, max(most, n_clusters)))
    return np.concatenate([np.full(local, np.nan), np.nanmean(every, axis=0)])
