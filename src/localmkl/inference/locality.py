"""Is a local model better than a global one by more than chance? Two tests on shared folds.

The global model has the same kernels, C, p and loss, and one cluster: MKL.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.metrics import check_scoring
from sklearn.utils import check_random_state

from localmkl._checks import check_integer
from localmkl._types import FilePath, Floats, Rows, Seed, Targets
from localmkl.estimators.convex import LocalMKL
from localmkl.explain import local_memberships
from localmkl.inference.refits import OWN_LOSS, Refits, check_data, check_model, own_loss
from localmkl.inference.splits import given_splits, random_folds, random_splits
from localmkl.inference.work import Work, contents_of
from localmkl.model_selection.grams import SharedGrams
from localmkl.model_selection.search import check_scorer
from localmkl.model_selection.t_test import corrected_t_test

if TYPE_CHECKING:
    from localmkl.estimators.base import BaseMKL
    from localmkl.model_selection.cells import Fold


@dataclass(frozen=True)
class LocalityTest:
    """The result of `locality_test`.

    Parameters
    ----------
    scoring : str
        Name of the score; "loss" is the model's own loss, negated.
    local_scores, global_scores : ndarray of shape (n_splits,)
        Held-out scores of the model and of MKL on the same splits.
    difference : float
        Mean of their differences.
    low, high : float
        Ends of the 90 % interval of the difference, by the corrected resampled t-test.
    t_statistic, t_p_value : float
        That test, one-sided: p is small if the local model is better.
    statistic : float
        Held-out score of the local model over the folds of the permutation test, with the memberships as
        they are. That of MKL, which has none, would be the same in every permutation.
    permuted : ndarray of shape (n_permutations,)
        The same with shuffled memberships.
    p_value : float
        ``(1 + #{permuted >= statistic}) / (1 + n_permutations)``; NaN without permutations.
    interrupted : bool
        Whether Ctrl-C left fewer splits or permutations than asked for.

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(60, random_state=0)[:2]
    >>> model = CLMKLClassifier(n_clusters=2, random_state=0).fit(X, y)
    >>> found = locality_test(model, X, y, cv=3, n_permutations=0, random_state=0)
    >>> len(found.local_scores), bool(found.low <= found.difference <= found.high)
    (3, True)
    """

    scoring: str
    local_scores: np.ndarray = field(repr=False)
    global_scores: np.ndarray = field(repr=False)
    difference: float
    low: float
    high: float
    t_statistic: float
    t_p_value: float
    statistic: float
    permuted: np.ndarray = field(repr=False)
    p_value: float
    interrupted: bool = False


def locality_test(
    model: BaseMKL,
    X: Rows,
    y: Targets,
    *,
    cv: Any = None,
    folds: int = 5,
    n_permutations: int = 99,
    scoring: str | Callable[..., float] | None = None,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: Seed = None,
    checkpoint: FilePath | None = None,
    verbose: int = 0,
) -> LocalityTest:
    """Test whether a local model is better than MKL with the same kernels, C, p and loss.

    Two tests, of two questions:

    - *Is it better on new samples?* The corrected resampled t-test of Nadeau and Bengio: both models are
      fitted
      on the same training rows of many splits and scored on the others; clusters are learned on the training
      rows. The variance of the mean difference is that of the differences times
      ``1 / n_splits + n_test / n_train``, because training rows overlap. Its null hypothesis is that the
      local model is no better *on average*; it is approximate.
    - *Do the memberships matter?* A permutation test: the memberships of the model are shuffled among the
      samples, and the cross-validated score is computed anew. Its null hypothesis is that who has which
      memberships has nothing to do with rows and targets; under it the test is exact.

    Parameters
    ----------
    model : fitted HLMKL or CLMKL estimator, or search
        Of a search, its best.
    X, y : rows and targets
        Those of its fit.
    cv : int, splitter or iterable, optional
        Splits of the t-test; by default 20 random ones with a fifth of the rows to score, labels stratified.
    folds : int, default=5
        Folds of each permutation.
    n_permutations : int, default=99
        0 leaves the permutation test out.
    scoring : str or callable, optional
        By default the model's own loss on held-out rows, negated, which tells finer differences than the
        share of correct labels.
    groups, sample_weight : array-like of shape (n_samples,), optional
        Those of its fit.
    n_jobs : int, optional
        Processes that fit at the same time.
    random_state : int, RandomState instance or None
        Seed of splits, clusters and permutations.
    checkpoint : path-like, optional
        A file of finished fits, to stop and go on.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    LocalityTest

    References
    ----------
    Nadeau, Bengio: Inference for the generalization error. Machine Learning 52, 2003.

    Phipson, Smyth: Permutation p-values should never be zero. Statistical Applications in Genetics and
    Molecular Biology 9, 2010.

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> from localmkl.kernels import Linear
    >>> X, y, _, views = make_localized(150, random_state=0)
    >>> kernels = [Linear(columns=view) for view in views]
    >>> model = CLMKLClassifier(kernels, gate_kernel=0, evenness=0.4, random_state=0).fit(X, y)
    >>> found = locality_test(model, X, y, n_permutations=19, random_state=0)
    >>> found.t_p_value < 0.05, found.p_value
    (True, 0.05)
    """
    model = _check_local(check_model(model))
    check_integer("folds", folds, low=2)
    check_integer("n_permutations", n_permutations, low=0)
    scorer = own_loss if scoring is None else check_scoring(model, scoring)
    check_scorer(scoring, scorer, model)
    X, rows, y, groups = check_data(model, X, y, groups, sample_weight)
    given = given_splits(cv, model, X, y, groups)
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    parts = {
        "model": (type(model), model.get_params(), model.kernel_weights_),
        "rows": contents_of(X),
        "targets": y,
        "groups": groups,
        "weights": sample_weight,
        "scoring": scoring,
        "splits": (cv if given is None else [(split.train, split.test) for split in given], folds),
    }
    work = Work("locality_test", parts, seed, n_jobs, checkpoint, verbose > 0)
    splits = given or (
        random_splits(model, y, work.seed) if cv is None else random_folds(cv, model, y, work.seed)
    )
    serial = effective_n_jobs(n_jobs) == 1
    with SharedGrams(rows, in_files=not serial) as grams:
        refits = Refits.of(model, X, y, groups, sample_weight, grams, parallel=serial)
        tasks = {("split", k): (split, scorer, work.seed) for k, split in enumerate(splits)}
        pairs = work.do(_score_pair, refits, tasks)
        fixed = refits.with_memberships(local_memberships(model, model.memberships_))
        parted = random_folds(folds, model, y, work.seed)
        shuffles = {  # number 0 is not shuffled
            ("shuffle", b): (parted, scorer, b, work.seed)
            for b in range(n_permutations + 1 if n_permutations else 0)
        }
        shuffled = work.do(_score_shuffled, fixed, shuffles)
    return _result(scoring, splits, pairs, shuffled, work.interrupted)


def permutation_p_value(statistic: float, permuted: Floats) -> float:
    """Return ``(1 + #{permuted >= statistic}) / (1 + n)``, never zero; ties count as larger.

    Parameters
    ----------
    statistic : float
        As it is.
    permuted : array-like of shape (n_permutations,)
        After each permutation.

    Returns
    -------
    float
        The chance of a statistic as large or larger, if all orders are equally likely.

    Examples
    --------
    >>> permutation_p_value(1.0, [0.5, 1.0, 2.0])
    0.75
    """
    permuted = np.asarray(permuted, dtype=np.float64)
    return float((1 + np.count_nonzero(permuted >= statistic)) / (1 + len(permuted)))


def _check_local(model: BaseMKL) -> BaseMKL:
    if not isinstance(model, LocalMKL) or model.memberships_.shape[1] == 1:
        raise ValueError(
            "`model` must have clusters or groups to compare with MKL, got "
            f"{type(model).__name__} with one set of weights."
        )
    return model


def _score_pair(refits: Refits, split: Fold, scorer: Callable[..., float], seed: int) -> list[float]:
    """Return the held-out scores of the model and of MKL on a split."""
    y = refits.y[split.test]
    local = refits.fit(split.train, seed=seed, test=split.test)
    alone = refits.fit(split.train, seed=seed, test=split.test, shared=1.0)
    return [local.score(y, scorer), alone.score(y, scorer)]


def _score_shuffled(
    refits: Refits, folds: list[Fold], scorer: Callable[..., float], number: int, seed: int
) -> float:
    """Return the mean held-out score with shuffled memberships; those of number 0 are as they are."""
    order = np.arange(refits.n_samples)
    if number > 0:
        order = np.random.default_rng([seed, number]).permutation(refits.n_samples)
    shuffled = refits.with_memberships(refits.model.gate[order])
    scores = [shuffled.fit(fold.train, test=fold.test).score(refits.y[fold.test], scorer) for fold in folds]
    return float(np.mean(scores))


def _result(
    scoring: str | Callable[..., float] | None,
    splits: list[Fold],
    pairs: dict[Any, list[float]],
    shuffled: dict[Any, float],
    interrupted: bool,
) -> LocalityTest:
    scores = np.array(list(pairs.values()))
    if len(scores) < 2:
        raise KeyboardInterrupt
    shares = [len(splits[k].test) / len(splits[k].train) for _, k in pairs]
    mean, error, t, t_p = corrected_t_test(scores[:, 0] - scores[:, 1], float(np.mean(shares)))
    reach = error * float(stats.t.ppf(0.95, len(scores) - 1))
    tested = len(shuffled) > 1 and ("shuffle", 0) in shuffled
    statistic = shuffled["shuffle", 0] if tested else float("nan")
    permuted = np.array([score for (_, b), score in shuffled.items() if b > 0])
    return LocalityTest(
        scoring=OWN_LOSS if scoring is None else str(scoring),
        local_scores=scores[:, 0],
        global_scores=scores[:, 1],
        difference=mean,
        low=mean - reach,
        high=mean + reach,
        t_statistic=t,
        t_p_value=t_p,
        statistic=statistic,
        permuted=permuted,
        p_value=permutation_p_value(statistic, permuted) if tested else float("nan"),
        interrupted=interrupted,
    )
