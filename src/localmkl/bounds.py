"""The two theorems of the paper on generalisation, as numbers.

    H_{p,D} = {x -> sum_jm c_j(x) <w_jm, phi_m(x)> : sum_j ||w_j||^2_{2, 2p/(p+1)} <= D}
    R(H) <= sqrt(D) / n  inf_{2 <= t <= 2p/(p-1)} (t sum_j ||a_j||_{t/2})^(1/2)
    risk <= empirical risk + loss_bound sqrt(log(2 / delta) / (2 n)) + 2 L R(H)

where a_jm = sum_i c_j(x_i)^2 k_m(x_i, x_i).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import entr

from localmkl._checks import check_integer, check_number
from localmkl._types import Array, Floats, Rows
from localmkl.solvers.losses import CLASSIFICATION, REGRESSION, EpsilonInsensitive, Hinge, Loss


def rademacher_bound(diagonals: ArrayLike, memberships: ArrayLike, p: float, D: float) -> float:
    """Bound the empirical Rademacher complexity of H_{p,D} by the diagonals of the Grams.

    sqrt(D) / n  inf_{2 <= t <= 2p/(p-1)} (t sum_j ||(sum_i c_ij^2 k_m(x_i, x_i))_m||_{t/2})^(1/2)

    The infimum is exact: its logarithm is convex in 2/t, and its slope is known.

    Parameters
    ----------
    diagonals : array-like of shape (n_kernels, n_samples)
        ``k_m(x_i, x_i)`` of the normalised kernels.
    memberships : array-like of shape (n_samples, n_clusters)
        ``c_j(x_i)``; rows sum to one.
    p : float
        Norm of the kernel weights, in [1, inf].
    D : float
        Radius of the class: the largest ``sum_j ||w_j||^2_{2, 2p/(p+1)}``.

    Returns
    -------
    float
        The bound.

    See Also
    --------
    rademacher_bound_sup : The same from one bound on all diagonals.

    Examples
    --------
    Even memberships in two clusters make the class smaller than hard ones:

    >>> diagonals = np.ones((20, 100))
    >>> even, hard = np.full((100, 2), 0.5), np.eye(2)[np.arange(100) % 2]
    >>> round(rademacher_bound(diagonals, even, p=1, D=1.0), 4)
    0.2854
    >>> round(rademacher_bound(diagonals, hard, p=1, D=1.0), 4)
    0.4036
    """
    memberships = _check_memberships(memberships)
    diagonals = _check_diagonals(diagonals, len(memberships))
    _check_class(p, D)
    masses = np.square(memberships).T @ diagonals.T
    theta = _best_theta(masses, p)
    norms, _ = _norms_and_entropies(masses, theta)
    return float(np.sqrt(D * 2.0 / theta * norms.sum()) / len(memberships))


def rademacher_bound_sup(n_kernels: int, memberships: ArrayLike, p: float, D: float, B: float) -> float:
    """Bound the empirical Rademacher complexity of H_{p,D} when every ``k_m(x, x) <= B``.

    sqrt(D B) / n  inf_{2 <= t <= 2p/(p-1)} (t M^(2/t) sum_ij c_ij^2)^(1/2)

    The infimum is attained at ``t = 2 log M``, or at the end of the interval next to it.

    Parameters
    ----------
    n_kernels : int
        M.
    memberships : array-like of shape (n_samples, n_clusters)
        ``c_j(x_i)``; rows sum to one.
    p : float
        Norm of the kernel weights, in [1, inf].
    D : float
        Radius of the class: the largest ``sum_j ||w_j||^2_{2, 2p/(p+1)}``.
    B : float
        Bound on ``k_m(x, x)`` over all kernels and all x.

    Returns
    -------
    float
        The bound.

    Examples
    --------
    Sparse weights pay for the logarithm of the number of kernels, dense ones for a power of it:

    >>> memberships = np.ones((100, 1))
    >>> [round(rademacher_bound_sup(M, memberships, 1, 1.0, 1.0), 3) for M in (10, 1000)]
    [0.354, 0.613]
    >>> [round(rademacher_bound_sup(M, memberships, 2, 1.0, 1.0), 3) for M in (10, 1000)]
    [0.356, 1.125]
    """
    check_integer("n_kernels", n_kernels, low=1)
    memberships = _check_memberships(memberships)
    _check_class(p, D)
    check_number("B", B, low=0, low_open=True)
    return _sup_bound(n_kernels, np.square(memberships).sum(), len(memberships), p, D * B)


@dataclass(frozen=True)
class GeneralizationBound:
    """A bound on the risk, by its parts; `total` is their sum.

    Parameters
    ----------
    empirical_risk : float
        Mean loss on the sample.
    confidence : float
        What holding with probability ``1 - delta`` costs.
    complexity : float
        What choosing from the class costs.
    delta : float
        Probability with which the bound may fail.

    Examples
    --------
    >>> GeneralizationBound(0.25, confidence=0.125, complexity=0.5, delta=0.05).total
    0.875
    """

    empirical_risk: float
    confidence: float
    complexity: float
    delta: float

    @property
    def total(self) -> float:
        """The bound on the risk."""
        return self.empirical_risk + self.confidence + self.complexity


def generalization_bound(
    empirical_risk: float,
    memberships: ArrayLike,
    n_kernels: int,
    p: float,
    D: float,
    B: float,
    *,
    delta: float = 0.05,
    loss_bound: float,
    lipschitz: float = 1.0,
    intercept: float = 0.0,
    expected_memberships: bool = False,
) -> GeneralizationBound:
    """Bound the risk of every function of H_{p,D}, with probability ``1 - delta``.

    risk <= empirical risk + loss_bound sqrt(log(2 / delta) / (2 n)) + 2 L R

    with L the loss's Lipschitz constant and R the bound of `rademacher_bound_sup`.

    Parameters
    ----------
    empirical_risk : float
        Mean loss on the sample, in [0, loss_bound].
    memberships : array-like of shape (n_samples, n_clusters)
        ``c_j(x_i)``; rows sum to one.
    n_kernels : int
        M.
    p : float
        Norm of the kernel weights, in [1, inf].
    D : float
        Radius of the class: the largest ``sum_j ||w_j||^2_{2, 2p/(p+1)}``.
    B : float
        Bound on ``k_m(x, x)`` over all kernels and all x.
    delta : float, default=0.05
        Probability with which the bound may fail, in (0, 1).
    loss_bound : float
        Largest value of the loss.
    lipschitz : float, default=1.0
        Lipschitz constant of the loss in the score.
    intercept : float, default=0.0
        Largest ``|b|`` of the functions ``f + b``.
    expected_memberships : bool, default=False
        Use an upper confidence bound on the expectation of ``sum_ij c_ij^2`` instead of its value
        on the sample, see Notes.

    Returns
    -------
    GeneralizationBound
        Its parts and their sum.

    Notes
    -----
    The paper prints the theorem without L, which is right for L = 1 (hinge, log and epsilon-insensitive
    loss, clipped or not); for other losses the contraction lemma puts L in front of R.

    The theorem's class has no intercept. Functions ``f + b`` with ``|b|`` bounded add
    ``|b| / sqrt(n)`` to R, and that is what `intercept` does.

    The printed confidence term comes from a bound with the *expected* complexity, while the printed
    complexity has ``S = sum_ij c_ij^2`` of the sample at hand. With `expected_memberships` S gives
    way to ``min(n, S + (1 - 1/l) sqrt(n log(2 / delta) / 2))``, by Hoeffding's inequality above its
    expectation with probability ``1 - delta / 2``; the other half of delta is what the confidence
    term uses, so that the statement is proved. For one cluster and for hard memberships nothing
    changes.

    Examples
    --------
    >>> memberships = np.full((10_000, 2), 0.5)
    >>> bound = generalization_bound(0.1, memberships, 5, 1, D=4.0, B=1.0, loss_bound=1.0)
    >>> round(bound.confidence, 4), round(bound.complexity, 4), round(bound.total, 4)
    (0.0136, 0.0837, 0.1972)
    """
    check_integer("n_kernels", n_kernels, low=1)
    memberships = _check_memberships(memberships)
    _check_class(p, D)
    check_number("B", B, low=0, low_open=True)
    check_number("loss_bound", loss_bound, low=0, low_open=True)
    check_number("lipschitz", lipschitz, low=0, low_open=True)
    if not 0.0 < delta < 1.0:
        raise ValueError(f"`delta` must lie strictly between 0 and 1, got {delta}.")
    if not 0.0 <= empirical_risk <= loss_bound:
        raise ValueError(
            f"`empirical_risk` must lie between 0 and `loss_bound` = {loss_bound}, got {empirical_risk}."
        )
    n_samples, n_clusters = memberships.shape
    mass = np.square(memberships).sum()
    if expected_memberships:
        spread = 1.0 - 1.0 / n_clusters
        mass = min(n_samples, mass + spread * np.sqrt(n_samples * np.log(2.0 / delta) / 2.0))
    rademacher = _sup_bound(n_kernels, mass, n_samples, p, D * B)
    rademacher += abs(intercept) / np.sqrt(n_samples)
    return GeneralizationBound(
        empirical_risk=float(empirical_risk),
        confidence=float(loss_bound * np.sqrt(np.log(2.0 / delta) / (2.0 * n_samples))),
        complexity=float(2.0 * lipschitz * rademacher),
        delta=float(delta),
    )


def bound_model(
    model: Any,
    X: Rows,
    y: ArrayLike,
    *,
    delta: float = 0.05,
    loss_bound: float | None = None,
    B: float | None = None,
    expected_memberships: bool = False,
) -> GeneralizationBound | tuple[GeneralizationBound, ...]:
    """Bound the risk of a fitted convex model by the data it was fitted on.

    The loss is the model's own, clipped at `loss_bound`. A classifier's is divided by its value at f = 0,
    which is 1 for the hinge and log 2 for the log loss (so that it counts in bits): at the default
    ``loss_bound=1`` it is then never below the zero-one loss, and the bound is one on the error rate.

    Parameters
    ----------
    model : fitted estimator
        Needs `memberships`, `kernel_diagonals`, `squared_norm_`; a classifier also `classes_` and
        `decision_function`, a regressor `predict`. `p` (inf where missing), `intercept_`, `loss_`
        (the hinge or epsilon-insensitive where missing) and `epsilon` (0 where missing) are read if they
        are there.
    X, y : rows and targets
        The data of the fit.
    delta : float, default=0.05
        Probability with which the bound may fail, in (0, 1).
    loss_bound : float, optional
        Where the loss is clipped: by default 1 for a classifier; for a regressor the range of y, times the
        largest slope of the loss.
    B : float, optional
        Bound on the normalised ``k_m(x, x)`` over all x; the largest value on `X` by default.
    expected_memberships : bool, default=False
        As in `generalization_bound`.

    Returns
    -------
    GeneralizationBound or tuple of them
        One for each class, against all others, when there are more than two classes. Each holds
        with probability ``1 - delta``; for all K at once pass ``delta / K``.

    Raises
    ------
    ValueError
        If the slopes of the loss have no bound, as those of squared losses: the theorem has none then.

    Notes
    -----
    D is ``sum_jm beta_jm q_jm``, the model's squared norm, which is never below
    ``sum_j ||w_j||^2_{2, 2p/(p+1)}`` for any feasible weights. The theorem's class has no
    intercept; ``|b| / sqrt(n)`` is added to its Rademacher complexity for the model's own.

    Read the result as a comparison of models rather than as a guarantee: the theorem wants D, the
    size of the intercept, the clusters, the kernels' normalisation and B (and the range of y) fixed
    before the sample is seen, and here they are read off it.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace(
    ...     p=1,
    ...     classes_=np.array(["donor", "other"]),
    ...     squared_norm_=1.0,
    ...     memberships=lambda X: np.full((len(X), 2), 0.5),
    ...     kernel_diagonals=lambda X: np.ones((5, len(X))),
    ...     decision_function=lambda X: X[:, 0],
    ... )
    >>> X = np.linspace(-3, 3, 2000)[:, None]
    >>> bound = bound_model(model, X, np.where(X[:, 0] > 0, "other", "donor"))
    >>> round(bound.empirical_risk, 3), round(bound.total, 3)
    (0.167, 0.29)
    """
    _check_model(model)
    memberships = _check_memberships(model.memberships(X))
    diagonals = _check_diagonals(model.kernel_diagonals(X), len(memberships))
    y = _check_targets(y, len(memberships), getattr(model, "classes_", None))
    losses, loss_bound, lipschitz = _clipped_losses(model, X, y, loss_bound)
    largest = float(diagonals.max())
    if B is not None:
        check_number("B", B, low=largest)
    bounds = tuple(
        generalization_bound(
            min(loss.mean(), loss_bound),
            memberships,
            len(diagonals),
            getattr(model, "p", np.inf),
            # A model without support vectors is the zero function, whose class has no radius.
            max(float(squared_norm), np.finfo(float).tiny),
            largest if B is None else B,
            delta=delta,
            loss_bound=loss_bound,
            lipschitz=lipschitz,
            intercept=intercept,
            expected_memberships=expected_memberships,
        )
        for loss, squared_norm, intercept in zip(
            losses,
            _one_per_row(model.squared_norm_, losses),
            _one_per_row(getattr(model, "intercept_", 0.0), losses),
            strict=True,
        )
    )
    return bounds[0] if len(bounds) == 1 else bounds


def _clipped_losses(model: Any, X: Rows, y: Array, loss_bound: float | None) -> tuple[Floats, float, float]:
    """Return the losses, one row for each decision function, where they were clipped, and their slope."""
    loss, lipschitz = _loss_of(model)
    if hasattr(model, "classes_"):
        loss_bound = 1.0 if loss_bound is None else loss_bound
        classes = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
        targets = np.where(y == np.asarray(classes)[:, None], 1.0, -1.0)
        decisions = np.atleast_2d(np.asarray(model.decision_function(X)).T)
        unit = float(loss.value(np.zeros(2), np.array([-1.0, 1.0])).min()) or 1.0
    else:
        loss_bound = lipschitz * float(np.ptp(y)) if loss_bound is None else loss_bound
        decisions, targets, unit = np.atleast_2d(model.predict(X)), y[None], 1.0
    check_number("loss_bound", loss_bound, low=0, low_open=True)
    losses = [loss.value(*pair) / unit for pair in zip(decisions, targets, strict=True)]
    return np.minimum(losses, loss_bound), loss_bound, lipschitz / unit


def _loss_of(model: Any) -> tuple[Loss, float]:
    """Return a model's loss and its largest slope, if the theorem covers it."""
    default = Hinge() if hasattr(model, "classes_") else EpsilonInsensitive(getattr(model, "epsilon", 0.0))
    loss = getattr(model, "loss_", default)
    if loss.lipschitz is None:
        kinds: dict[str, Any] = CLASSIFICATION | REGRESSION
        covered = [name for name, kind in kinds.items() if kind().lipschitz is not None]
        raise ValueError(
            "The theorem needs a loss whose slopes are bounded, for it bounds how much a small change of f "
            f"can cost, and those of {loss!r} are not; there are bounds for {', '.join(covered)}."
        )
    return loss, float(loss.lipschitz)


def _one_per_row(values: ArrayLike, rows: Floats) -> Floats:
    return np.broadcast_to(np.ravel(values), len(rows))


def _sup_bound(n_kernels: int, mass: float, n_samples: int, p: float, DB: float) -> float:
    theta = _sup_theta(n_kernels, p)
    return float(np.sqrt(DB * 2.0 / theta * n_kernels**theta * mass) / n_samples)


def _sup_theta(n_kernels: int, p: float) -> float:
    """Return the theta = 2/t in [1 - 1/p, 1] that minimises ``t M^(2/t)``."""
    return max(1.0 - 1.0 / p, 1.0 / max(np.log(n_kernels), 1.0))


def _best_theta(masses: Floats, p: float) -> float:
    """Return the theta = 2/t in [1 - 1/p, 1] that minimises ``t sum_j ||a_j||_{t/2}``.

    log ||a||_{1/theta} is convex in theta, with slope H, the entropy of a_m^{1/theta} over its sum.
    So the logarithm of the whole is convex, and its slope is the mean of H_j with weights ||a_j||,
    less 1/theta. As H <= log M, that is negative below 1 / log M: no minimiser lies there.
    """
    if not masses.any():
        return 1.0

    def slope(theta: float) -> float:
        norms, entropies = _norms_and_entropies(masses, theta)
        return norms @ entropies / norms.sum() - 1.0 / theta

    smallest = _sup_theta(masses.shape[1], p)
    if slope(smallest) >= 0.0:
        return smallest
    if slope(1.0) <= 0.0:
        return 1.0
    return brentq(slope, smallest, 1.0, xtol=1e-12)


def _norms_and_entropies(masses: Floats, theta: float) -> tuple[Floats, Floats]:
    """Return ``||a_j||_{1/theta}`` and the entropy of ``a_j^(1/theta)`` over its sum."""
    largest = masses.max(axis=1)
    scaled = masses / np.where(largest > 0.0, largest, 1.0)[:, None]
    powers = scaled ** (1.0 / theta)
    totals = powers.sum(axis=1)
    shares = powers / np.where(totals > 0.0, totals, 1.0)[:, None]
    return largest * totals**theta, entr(shares).sum(axis=1)


def _check_class(p: float, D: float) -> None:
    check_number("p", p, low=1)
    check_number("D", D, low=0, low_open=True)


def _check_memberships(memberships: ArrayLike) -> Floats:
    memberships = np.asarray(memberships, dtype=np.float64)
    if memberships.ndim != 2 or 0 in memberships.shape:
        raise ValueError(f"`memberships` must have shape (n_samples, n_clusters), got {memberships.shape}.")
    if not np.all(memberships >= 0.0):
        raise ValueError(f"`memberships` must not be negative, got {memberships.min()}.")
    sums = memberships.sum(axis=1)
    worst = int(np.argmax(np.abs(sums - 1.0)))
    if abs(sums[worst] - 1.0) > 1e-6:
        raise ValueError(f"`memberships` must have rows that sum to one, got {sums[worst]:g} in row {worst}.")
    return memberships


def _check_diagonals(diagonals: ArrayLike, n_samples: int) -> Floats:
    diagonals = np.asarray(diagonals, dtype=np.float64)
    if diagonals.ndim != 2 or len(diagonals) == 0 or diagonals.shape[1] != n_samples:
        raise ValueError(
            f"`diagonals` must have shape (n_kernels, {n_samples}), one column for each row of "
            f"`memberships`, got {diagonals.shape}."
        )
    if not np.all((diagonals >= 0.0) & (diagonals < np.inf)):
        raise ValueError("`diagonals` must be finite and not negative.")
    return diagonals


def _check_targets(y: ArrayLike, n_samples: int, classes: Array | None) -> Array:
    y = np.asarray(y)
    if y.shape != (n_samples,):
        raise ValueError(f"`y` must have shape ({n_samples},), one value a row of `X`, got {y.shape}.")
    if classes is not None and not np.isin(y, classes).all():
        unknown = y[~np.isin(y, classes)].tolist()[0]
        raise ValueError(f"`y` must hold labels among {np.asarray(classes).tolist()}, got {unknown!r}.")
    return y


def _check_model(model: Any) -> None:
    for name in ("memberships", "kernel_diagonals", "squared_norm_"):
        if not hasattr(model, name):
            raise TypeError(
                f"`model` must be a fitted convex model, got {type(model).__name__} without "
                f"`{name}`; the theorem does not cover gated models."
            )
