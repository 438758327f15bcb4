"""Refits of one model on some of its rows, in Grams that are computed once.

Kernels stay as they were learned on all rows; normalisation, clusters and weights are learned anew. Refits
start at even weights: weights on half of the rows differ so much from those on all that these save no step,
and a start there would draw refits towards them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from localmkl._sklearn import count_rows, split_rows
from localmkl._types import Array, Floats, Ints, Rows, Targets
from localmkl.estimators.column import decided_together
from localmkl.estimators.convex import ConvexMKL
from localmkl.estimators.groups import Grouped, as_groups
from localmkl.inference.intervals import squared_norms
from localmkl.inference.matching import main_clusters_in, match_clusters
from localmkl.model_selection.search import rows_to_slice
from localmkl.stacks import Stack

if TYPE_CHECKING:
    from localmkl.estimators.base import BaseMKL, Prepared
    from localmkl.estimators.context import FoldContext
    from localmkl.model_selection.grams import SharedGrams


OWN_LOSS = "loss"
"""Name of the score that `own_loss` gives."""


@dataclass(frozen=True)
class Refits:
    """A fitted model, its rows, and what all refits share.

    Parameters
    ----------
    model : fitted convex estimator
    X, y : rows in a form that can be sliced, and targets
    groups : ndarray or None
        Groups of the rows, if the gate asks for them beside the rows.
    sample_weight : ndarray or None
    context : FoldContext
        Of all rows.
    """

    model: Any
    X: Any
    y: np.ndarray
    groups: Any
    sample_weight: Any
    context: Any

    @classmethod
    def of(
        cls,
        model: BaseMKL,
        X: Rows,
        y: Array,
        groups: Array | None,
        sample_weight: ArrayLike | None,
        grams: SharedGrams,
        *,
        parallel: bool = True,
    ) -> Self:
        """Return the refits of a checked model; `grams` is a `SharedGrams` of the rows."""
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        context = grams.context(model, None, weights, parallel)
        return cls(model, X, y, groups, weights, context)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.y)

    def part(self, rows: Ints, train: Ints | None = None) -> tuple[Rows, Array]:
        """Return some rows (of Grams, their columns at the training rows) with their groups, and targets."""
        X, y = split_rows(self.model, self.X, self.y, rows, train)
        return X if self.groups is None else Grouped(X, self.groups[rows]), y

    def fit(
        self,
        rows: Ints,
        *,
        seed: int = 0,
        test: Ints | None = None,
        per_sample: bool = False,
        **changes: Any,
    ) -> Refit:
        """Fit the model anew on some rows.

        Parameters
        ----------
        rows : ndarray of int
        seed : int
            Of the clustering.
        test : ndarray of int, optional
            Rows that decisions will be asked for.
        per_sample : bool
            Whether the refit pays for the loss of a mean row what the model pays for all, so that both
            estimate the same: C grows as rows become fewer.
        **changes
            Other values of parameters.

        Returns
        -------
        Refit
        """
        model, context, prepared = self._prepare(rows, seed, test, per_sample, changes)
        fitted = model._finish(prepared, model._solve_classes(prepared))
        return Refit(fitted, context, self._order(prepared.gate, rows), prepared.problems[0].stack)

    def _prepare(
        self,
        rows: Ints,
        seed: int,
        test: Ints | None,
        per_sample: bool,
        changes: dict[str, Any],
    ) -> tuple[Any, FoldContext, Prepared]:
        """Return an unfitted model, its context and the problems that are left to solve."""
        weights = None if self.sample_weight is None else self.sample_weight[rows]
        model = self.model._copy(learned=False)
        changes = {"n_jobs": None, "verbose": 0, "random_state": seed, **changes}
        for name, value in changes.items():
            if hasattr(model, name):  # parameters are attributes of the class, too
                setattr(model, name, value)
        if per_sample:
            every = self.n_samples if self.sample_weight is None else self.sample_weight.sum()
            model.C = self.model.C * every / (len(rows) if weights is None else weights.sum())
        X, y = self.part(rows)
        scales = self.context.cosine_scales
        context = replace(
            self.context,
            train=rows,
            cosine_scales=None if scales is None else scales[:, rows],
            known=() if test is None else ((self.part(test, rows)[0], test),),
            _kept={},
        )
        given = {} if weights is None else {"sample_weight": weights}
        return model, context, model._prepare(X, y, context, **given)

    def squared_norms(self) -> Floats:
        """Return ``||w_jm||^2`` of the model on all rows, (n_problems, n_clusters, n_kernels)."""
        return _squared_norms(self.model, self.context.stack.scaled(self.model.factors_))

    def _order(self, memberships: Floats, rows: Ints) -> Ints:
        """Return the place in the refit of each row of the model's weights; -1 of one that it lacks."""
        own, first = self.model.memberships_[rows], int(_has_shared_part(self.model))
        if first and memberships.shape[1] == 1:  # the refit shares all
            return np.full(own.shape[1], -1)
        matched = match_clusters(
            main_clusters_in(own[:, first:]),
            main_clusters_in(memberships[:, first:]),
            own.shape[1] - first,
            memberships.shape[1] - first,
        )
        return np.concatenate([np.zeros(first, dtype=int), np.where(matched >= 0, matched + first, -1)])

    def with_memberships(self, memberships: Floats) -> Self:
        """Return the refits of a model whose gate is a fixed matrix, (n_samples, n_clusters)."""
        model = self.model._copy()
        model.kernels, model.gate, model.gate_kernel, model.groups = "precomputed", memberships, None, None
        stack, context = self.context.stack, replace(self.context, kernels=None, cosine_scales=None, _kept={})
        if self.context.cosine_scales is not None:  # the stack is divided already
            model.normalize = None
        return replace(self, model=model, X=stack, groups=None, context=context)

    def detached(self) -> tuple[Self, Any, Any]:
        """Return the refits without their large arrays, and these: they travel by their own ways."""
        stack, array = self.context.stack.detached()
        X, own = self.X.detached() if isinstance(self.X, Stack) else (self.X, None)
        return replace(self, X=X, context=replace(self.context, stack=stack)), own, array

    def attached(self, own: Any, array: Any) -> Self:
        """Undo `detached`."""
        X = self.X.attached(own) if isinstance(self.X, Stack) else self.X
        return replace(self, X=X, context=replace(self.context, stack=self.context.stack.attached(array)))


@dataclass(frozen=True)
class Refit:
    """A refitted model, and the place in it of each row of the first model's weights, -1 of none."""

    model: Any
    context: Any
    order: np.ndarray
    stack: Any

    def squared_norms(self) -> Floats:
        """Return ``||w_jm||^2`` in the first model's order, (n_problems, l, M); NaN where it has no like."""
        norms = _squared_norms(self.model, self.stack)
        return np.where(self.order[:, None] >= 0, norms[:, self.order], np.nan)

    def score(self, y: Array, scorer: Callable[..., float]) -> float:
        """Return the score of the held-out rows: by a scorer, or by the model's loss, negated."""
        X = self.context.known[0][0]
        with decided_together([self.model], self.context) as (stand_in,):
            return float(scorer(stand_in, X, y))


def _squared_norms(model: Any, stack: Any) -> Floats:
    alphas = np.atleast_2d(model.dual_coef_)
    weights = np.reshape(model.kernel_weights_, (len(alphas), *model.kernel_weights_.shape[-2:]))
    pairs = zip(weights, alphas, strict=True)
    return np.stack([squared_norms(stack, model.memberships_, *pair) for pair in pairs])


def own_loss(model: Any, X: Rows, y: Targets) -> float:
    """Return the mean loss of decisions, negated so that more is better: a scorer."""
    decisions = model._decide(X)
    if not is_classifier(model):
        return -float(np.mean(model.loss_.value(decisions, np.asarray(y, dtype=np.float64))))
    codes: Ints = np.searchsorted(model.classes_, np.asarray(y))
    if decisions.ndim == 1:
        return -float(np.mean(model.loss_.value(decisions, np.where(codes == 1, 1.0, -1.0))))
    signs = np.where(codes[:, None] == np.arange(len(model.classes_)), 1.0, -1.0)
    return -float(np.mean(model.loss_.value(decisions, signs)))


def check_model(model: Any) -> ConvexMKL:
    """Return the fitted convex model that was given, or that a search has chosen."""
    model = getattr(model, "best_estimator_", model)
    if not isinstance(model, ConvexMKL):
        raise TypeError(
            "`model` must be a fitted convex model (UNIF, MKL, HLMKL or CLMKL) or a search of one, got "
            f"{type(model).__name__}."
        )
    check_is_fitted(model)
    if getattr(model, "transductive_", False):
        raise ValueError(
            "`model` must have learned its clusters from its own rows, got one fitted with `unlabeled`; fit "
            "it without."
        )
    return model


def check_data(
    model: Any, X: Rows, y: Targets, groups: Any, sample_weight: Any
) -> tuple[Rows, Rows, Array, Array | None]:
    """Return rows that can be sliced, checked rows for kernels, targets and groups of the model's fit."""
    X, y = rows_to_slice(model, X), model._check_y(y)
    if isinstance(X, list | tuple):
        X = np.asarray(X, dtype=object)
    expected = np.shape(model.dual_coef_)[-1]
    if count_rows(X) != expected or len(y) != expected:
        raise ValueError(
            f"`X` and `y` must be the {expected} training rows of the model, got {count_rows(X)} rows and "
            f"{len(y)} targets."
        )
    if sample_weight is not None and len(sample_weight) != expected:
        raise ValueError(f"`sample_weight` must have {expected} entries, got {len(sample_weight)}.")
    rows = model._copy(learned=False)._check_rows(X, reset=True)
    return X, rows, y, None if groups is None else as_groups(groups)


def _has_shared_part(model: Any) -> bool:
    return 0.0 < getattr(model, "shared_", 0.0) < 1.0
