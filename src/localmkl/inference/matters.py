"""Effects by place: in all groups or clusters, and in one alone.

A column (or kernel) matters in a group by its share of the variance of the decisions for the rows of the
group, through all parts of the model. It matters everywhere by its share among the rows of the groups in
which it is not clearly stronger than elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from localmkl._types import Bools, Floats, Ints
from localmkl.explain.effects import centred, variance_shares


@dataclass(frozen=True)
class Places:
    """Effects everywhere (the first place) and in each group, of shape (n_decisions, n_places, n_columns).

    Parameters
    ----------
    shares, errors : ndarray
        Shares of the variance of decisions for the rows of the place, and their standard errors for models
        that are fitted to other rows of the same kind.
    excess : ndarray
        How many standard errors the share in a group lies above that in the others; not above zero where what
        the column adds does not vary more, too. Everywhere: how many the share lies above zero if the group
        that has most of it is left out; infinite without groups.
    """

    shares: np.ndarray
    errors: np.ndarray
    excess: np.ndarray

    def interval(self, reach: float = 1.96) -> tuple[Floats, Floats]:
        """Return the ends of the intervals of the shares; 95 % by default.

        By log-odds, which keep them between 0 and 1; near these, as far as errors reach.
        """
        inside, half = np.clip(self.shares, 0.02, 0.98), reach * self.errors
        odds, spread = np.log(inside / (1.0 - inside)), half / (inside * (1.0 - inside))
        low = np.minimum(np.maximum(expit(odds - spread), self.shares - half), self.shares)
        return low, np.maximum(np.minimum(expit(odds + spread), self.shares + half), self.shares)

    def sure(self, least_share: float = 0.05, stronger: float = 1.64) -> Bools:
        """Return which of these can be relied on for new rows.

        Of these the interval of the share lies above `least_share`; in a group the effect is clearly stronger
        than elsewhere, too. Where targets of held-out rows give no evidence, the interval is wide.
        """
        return (self.interval()[0] > least_share) & (self.excess > stronger)


def places_of(
    values: Floats,
    totals: Floats,
    targets: Floats,
    local: Floats,
    strata: Ints,
    stronger: float = 1.64,
    larger: float = 1.25,
) -> Places:
    """Return effects everywhere and in each group.

    Parameters
    ----------
    values : ndarray of shape (n, n_decisions, n_columns)
        What each column or kernel adds to the decisions, over all parts of the model.
    totals, targets : ndarray of shape (n, n_decisions)
        The decisions, and the targets.
    local : ndarray of shape (n, n_groups)
        Memberships; rows sum to one.
    strata : ndarray of int of shape (n,)
        Folds.
    stronger : float, default=1.64
        Standard errors from which on an effect is clearly stronger in a group than elsewhere.
    larger : float, default=1.25
        How many times as much what a column adds must vary in a group, so that the effect is stronger there
        and not only the rest weaker.
    """
    every, n_groups = np.ones(len(values)), local.shape[1]
    groups = local.T if n_groups > 1 else ()
    found = [_effect(values, totals, targets, weights, strata) for weights in (every, *groups)]
    shares, errors, sizes = (np.stack(one, axis=1) for one in zip(*found, strict=True))
    excess = np.full(shares.shape, np.inf)
    for g, weights in enumerate(groups, start=1):
        others, error, size = _effect(values, totals, targets, 1.0 - weights, strata)
        above = _ratio(shares[:, g] - others, np.hypot(errors[:, g], error))
        excess[:, g] = np.where(sizes[:, g] > larger * size, above, np.minimum(above, 0.0))
        excess[:, 0] = np.minimum(excess[:, 0], _ratio(others, error))
    own = excess[:, 1:] > stronger
    for p, c in zip(*np.nonzero(own.any(axis=1) & ~own.all(axis=1)), strict=True) if n_groups > 1 else ():
        rest, one = local[:, ~own[p, :, c]].sum(axis=1), np.s_[:, p : p + 1]
        elsewhere = _effect(values[one][..., c : c + 1], totals[one], targets[one], rest, strata)
        shares[p, 0, c], errors[p, 0, c] = elsewhere[0][0, 0], elsewhere[1][0, 0]
    return Places(shares, errors, excess)


def _effect(
    values: Floats, totals: Floats, targets: Floats, weights: Floats, strata: Ints
) -> tuple[Floats, Floats, Floats]:
    """Return shares among weighted rows, their errors, and the spread of values, (n_decisions, n_columns).

    Errors hold that of the rows and that of the training. The latter comes from the evidence z of held-out
    targets, the covariance of values and targets in standard errors: what a column adds is some b times its
    values, b has the relative error 1 / z, and a share r, which is b^2 / (b^2 + rest), has 2 (1 - r) / z.
    """
    shares, errors = variance_shares(values, totals, weights, strata)
    values, targets = centred(values, weights, strata), centred(targets, weights, strata)
    evidence = weights[:, None, None] * values * targets[..., None]
    z = np.maximum(_ratio(evidence.sum(axis=0), np.sqrt((evidence**2).sum(axis=0))), 0.5)
    training = 2.0 * np.abs(shares) * np.maximum(1.0 - shares, 0.05) / z
    spread = np.sqrt(np.einsum("i,ipc->pc", weights, values**2) / max(float(weights.sum()), 1e-12))
    return shares, np.hypot(errors, training), spread


def _ratio(above: Floats, below: Floats) -> Floats:
    """Return a quotient, zero where nothing is divided by."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0.0)
