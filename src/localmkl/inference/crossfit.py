"""Models fitted on folds: decisions, contributions and memberships for rows that they have not seen."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from threadpoolctl import threadpool_limits

from localmkl._sklearn import count_rows, split_rows
from localmkl._types import Floats, Ints, Rows, Targets
from localmkl.estimators.groups import Grouped, as_groups, with_groups
from localmkl.explain import (
    bare_kernels,
    groups_of,
    has_groups,
    is_precomputed,
    local_memberships,
    shared_part,
)
from localmkl.explain.effects import (
    Place,
    column_contributions,
    column_values,
    numbered_columns,
    parts_of,
    trend,
)
from localmkl.inference.matching import main_clusters_in, match_clusters
from localmkl.inference.rivals import encoded, rival_table, simple_rivals
from localmkl.kernels.stack import take_rows
from localmkl.model_selection.grams import SharedGrams
from localmkl.model_selection.search import rows_to_slice

if TYPE_CHECKING:
    from localmkl.estimators.base import BaseMKL
    from localmkl.estimators.context import FoldContext

ONE_MODEL, SEPARATE = "one model for all", "separate models"

Split = tuple[Ints, Ints]
Rival = Callable[["Fold"], Floats]


@dataclass(frozen=True)
class CrossFit:
    """A fitted model with its rows, ready to be fitted anew on some of them.

    Parameters
    ----------
    model : fitted estimator
    X, y : rows in a form that can be sliced, and targets
    beside : ndarray or None
        Groups that travel beside the rows, for a model that wants them.
    labels : ndarray of str or None
        Names of groups, whether the model reads them or not.
    places : dict of str to (view or None, number)
        Columns whose effects are measured.
    seed : int
    shared_grams : SharedGrams
        Of all rows.
    """

    model: BaseMKL
    X: Any
    y: np.ndarray
    beside: Any
    labels: Any
    places: dict[str, Place]
    seed: int
    shared_grams: SharedGrams

    @classmethod
    def of(
        cls, model: BaseMKL, X: Rows, y: Targets, groups: ArrayLike | None, seed: int, most_columns: int = 40
    ) -> Self:
        """Return the rows of a model, checked; effects are not measured where there are many columns."""
        X, y = rows_to_slice(model, X), np.asarray(y)
        X = np.asarray(X, dtype=object) if isinstance(X, list | tuple) else X
        if count_rows(X) != len(y):
            raise ValueError(f"`X` and `y` must have as many rows, got {count_rows(X)} and {len(y)}.")
        reads = has_groups(model)
        beside = as_groups(groups) if reads and groups is not None else None
        labels = None if groups is None else as_groups(groups).astype(str)
        if reads and labels is None:
            labels = groups_of(model, X).astype(str)
        places = {} if is_precomputed(model) else numbered_columns(X)
        own = getattr(model, "groups", None) if reads else None
        places = {name: place for name, place in places.items() if not _holds(own, name)}
        cross = is_precomputed(model) and len(X) != np.shape(model.dual_coef_)[-1]  # Grams of new rows
        grams = SharedGrams(X if cross else clone(model)._check_rows(X, reset=True), in_files=False)
        return cls(model, X, y, beside, labels, places if len(places) <= most_columns else {}, seed, grams)

    def splits(self, folds: Any, n_folds: int, max_rows: int) -> tuple[list[Split], str]:
        """Return pairs of training and test rows, and a sentence on how they were made."""
        if is_classifier(self.model) and np.unique(self.y, return_counts=True)[1].min() < 2:
            raise ValueError("`y` must have two rows of each class for cross-validation, got one.")
        if folds is not None:
            given = (
                list(folds)
                if not hasattr(folds, "split")
                else list(
                    check_cv(folds, self.y, classifier=is_classifier(self.model)).split(
                        np.zeros(len(self.y)), self.y
                    )
                )
            )
            splits, how = [(np.asarray(one[0]), np.asarray(one[1])) for one in given], ""
            if len(np.unique(every := np.concatenate([test for _, test in splits]))) < len(every):
                raise ValueError("`folds` must hold out each row at most once, got rows in two test folds.")
        else:
            strata, how = self._strata(n_folds)
            kind = StratifiedKFold if len(np.unique(strata)) > 1 else KFold
            n_folds = min(n_folds, int(np.bincount(strata).min())) if kind is StratifiedKFold else n_folds
            splitter = kind(max(2, n_folds), shuffle=True, random_state=self.seed)
            splits = list(splitter.split(np.zeros(len(self.y)), strata))
        most, rng = -(-max_rows // len(splits)), np.random.default_rng(self.seed)
        cut = [(train, np.sort(rng.permutation(test)[:most])) for train, test in splits]
        n_cut, n_rows = (sum(len(test) for _, test in one) for one in (cut, splits))
        which = "Every row" if n_cut == n_rows else f"Each of {n_cut:,} rows, drawn from {n_rows:,},"
        return cut, f"{which} was predicted by a model fitted without it ({len(splits)} folds{how})."

    def _strata(self, n_folds: int) -> tuple[Ints, str]:
        """Return what folds are stratified by, and that in words: class and group, where these are large."""
        strata, words = np.zeros(len(self.y), dtype=int), []
        if is_classifier(self.model):
            strata, words = np.unique(self.y, return_inverse=True)[1], ["class"]
        if self.labels is not None:
            groups = np.unique(self.labels, return_inverse=True)[1]
            both = np.unique(groups * (strata.max() + 1) + strata, return_inverse=True)[1]
            if np.bincount(both).min() >= n_folds:
                strata, words = both, [*words, "group"]
        return strata, f", stratified by {' and '.join(words)}" if words else ""

    def part(self, rows: Ints, train: Ints | None = None) -> Rows:
        """Return some rows (of Grams, their columns at the training rows) with their groups."""
        X = split_rows(self.model, self.X, self.y, rows, train)[0]
        return X if self.beside is None else Grouped(X, self.beside[rows])

    @cached_property
    def unfitted(self) -> Any:
        """The model, not fitted, with the kernels of the fitted one."""
        model = clone(self.model)
        names, changes = model.get_params(deep=False), {"verbose": 0}
        if not is_precomputed(model):
            changes["kernels"] = clone(bare_kernels(self.model))
        return model.set_params(**changes, **({"random_state": self.seed} if "random_state" in names else {}))

    def rivals(self, one_model: dict[str, Any]) -> tuple[dict[str, Rival], dict[str, str]]:
        """Return functions of a fold that decide as simpler models do, and why others were left out."""
        n_classes = len(self.model.classes_) if is_classifier(self.model) else 0
        reads_column = has_groups(self.model) and self.beside is None
        stack = is_precomputed(self.model)
        table = None if stack else rival_table(self.X, None if reads_column else self.labels)
        simple, skipped = simple_rivals(table, n_classes)
        found: dict[str, Rival] = {name: partial(_simple, table, fit) for name, fit in simple.items()}
        if n_classes and (rare := np.unique(self.y, return_counts=True)[1].min()) < 4:
            found, skipped = {}, dict.fromkeys(found, f"The rarest class has only {rare} rows.")
        local = "shared" in self.model.get_params(deep=False)
        if local and getattr(self.model, "shared_", 1.0) < 1.0:
            found[ONE_MODEL] = partial(_one, {"shared": 1.0, **one_model})
        if local and has_groups(self.model):
            found[SEPARATE] = partial(_separate, {"shared": 1.0, **one_model})
        return found, skipped

    def directions(self, rows: Ints, parts: Floats, memberships: Floats) -> Floats:
        """Return 1 or -1 where a column raises or lowers decisions, NaN where that is not clear.

        (n_decisions, 1 + n_local, n_columns): for all rows, and for those of each group or cluster.
        """
        known = np.isfinite(parts).all(axis=(1, 2, 3))
        rows, parts, memberships = rows[known], parts[known], memberships[known]
        X, first = self.part(rows), int(shared_part(self.model) > 0.0)
        members = [
            memberships[:, j] >= memberships[:, j].max() / 2.0 for j in range(first, memberships.shape[1])
        ]
        found = np.full((parts.shape[1], 1 + len(members), parts.shape[3]), np.nan)
        for c, place in enumerate(self.places.values()):
            cells = column_values(X, place)
            for j, own in enumerate([np.ones(len(rows), dtype=bool), *members]):
                for p in range(len(found)):
                    way = trend(cells[own], parts[own, p, :, c].sum(axis=1))
                    found[p, j, c] = np.nan if way is None else way
        return found


@dataclass(frozen=True)
class Fold:
    """A fold of a `CrossFit`: numbers of its training rows, and of the rows to decide."""

    fits: CrossFit
    train: Ints
    test: Ints

    @cached_property
    def context(self) -> FoldContext:
        """The Grams that all models of the fold read; kernels learn on its training rows."""
        context = self.fits.shared_grams.context(self.fits.unfitted, self.train, None, parallel=True)
        self.fits.shared_grams.forget()
        return context

    def fit(self, changes: dict[str, Any], group: Any = None) -> tuple[Any, Floats, Rows]:
        """Fit the model with other parameters, on all training rows or those of a group.

        Returns
        -------
        model : fitted estimator
        parts : ndarray of shape (n, n_decisions, n_parts, n_kernels)
            Its contributions for the test rows (of the group).
        rows : rows
            These.
        """
        fits, context, train, test = self.fits, self.context, self.train, self.test
        scales = context.cosine_scales
        if group is not None:
            own = fits.labels[train] == group
            scales = None if scales is None else scales[:, own]
            train, test = train[own], test[fits.labels[test] == group]
        known = fits.part(test, train)
        context = replace(context, train=train, cosine_scales=scales, known=((known, test),), _kept={})
        model = copy(fits.unfitted).set_params(**changes)
        model._fit(fits.part(train), fits.y[train], context)
        return model, np.concatenate(list(model._blocks([model], known, context, apart=True))), known

    def decided(self, rivals: dict[str, Rival], model: Any = None) -> dict[str, Any]:
        """Return what a model (one fitted on the training rows) and rivals say of the test rows."""
        fits = self.fits
        if model is None:
            model, parts, rows = self.fit({})
        else:
            cross = is_precomputed(model)
            rows = with_groups(fits.X, fits.beside) if cross else fits.part(self.test, self.train)
            parts = parts_of(model, rows)
        order = self._order(model)
        found = {
            "rows": self.test,
            "decisions": _decisions(model, parts),
            "contributions": _ordered(parts, order, 2).astype(np.float32),
            "memberships": _ordered(model.memberships(rows), order, 1),
            **{name: rival(self) for name, rival in rivals.items()},
        }
        if fits.places:
            own = self._columns(model, rows, parts)
            found["columns"] = _ordered(own, order, 2).astype(np.float32)
        return found

    def _columns(self, model: Any, rows: Rows, parts: Floats, most: int = 10_000) -> Floats:
        """Return what columns add, of some rows if there are more than `most` cells; NaN of the others."""
        fits, n_rows = self.fits, len(parts)
        chosen = np.random.default_rng(fits.seed).permutation(n_rows)[: max(50, most // len(fits.places))]
        some = slice(None) if len(chosen) == n_rows else np.sort(chosen)
        found = np.full((*parts.shape[:3], len(fits.places)), np.nan)
        own = column_contributions(model, take_rows(rows, some), fits.places, parts[some], seed=fits.seed)
        found[some] = own
        return found

    def _order(self, fitted: BaseMKL) -> Ints:
        """Return the place in a refit of each part of the model, -1 of one that it lacks."""
        n_parts = np.shape(self.fits.model.kernel_weights_)[-2]
        if n_parts == 1 or fitted is self.fits.model:
            return np.arange(n_parts)
        if has_groups(self.fits.model):
            names = list(fitted.cluster_names_)
            return np.array(
                [names.index(name) if name in names else -1 for name in self.fits.model.cluster_names_]
            )
        first = int(shared_part(self.fits.model) > 0.0)
        own = local_memberships(self.fits.model, self.fits.model.memberships_[self.train])
        theirs = local_memberships(fitted, fitted.memberships_)
        matched = match_clusters(
            main_clusters_in(own), main_clusters_in(theirs), own.shape[1], theirs.shape[1]
        )
        return np.concatenate([np.zeros(first, dtype=int), np.where(matched >= 0, matched + first, -1)])


def _simple(table: Any, fit: Callable[..., Floats], fold: Fold) -> Floats:
    """Return decisions of a simple model."""
    fits = fold.fits
    y = fits.y if not is_classifier(fits.model) else np.searchsorted(fits.model.classes_, fits.y)
    known, new = encoded(table, fold.train, fold.test)
    # Trees of few rows are work of microseconds: threads that wait for each other would make it seconds.
    with threadpool_limits(1 if known.shape[0] * known.shape[1] < 1_000_000 else None):
        return fit(known, y[fold.train], new)


def _one(changes: dict[str, Any], fold: Fold) -> Floats:
    """Return decisions of the model with other parameters."""
    return _decisions(*fold.fit(changes)[:2])


def _separate(changes: dict[str, Any], fold: Fold) -> Floats:
    """Return decisions for the rows of each group by its own model; constant where one class is missing."""
    fits, classifier = fold.fits, is_classifier(fold.fits.model)
    n_classes = len(fits.model.classes_) if classifier else 0
    found = np.zeros((len(fold.test), n_classes) if n_classes > 2 else len(fold.test))
    for group in np.unique(fits.labels[fold.test]):
        y, at = fits.y[fold.train[fits.labels[fold.train] == group]], fits.labels[fold.test] == group
        if len(y) and (not classifier or len(np.unique(y)) == n_classes):
            found[at] = _decisions(*fold.fit(changes, group)[:2])
        elif classifier:
            counts = np.array([(y == label).sum() + 1.0 for label in fits.model.classes_])
            odds = np.log(counts / (counts.sum() - counts))
            found[at] = odds[1] if n_classes == 2 else odds
        else:
            found[at] = fits.y[fold.train].mean()
    return found


def _holds(column: Any, name: str) -> bool:
    """Whether a column is the one of the groups, which a model names alone or with its view."""
    named = [column] if isinstance(column, str | int | np.integer) else list(column or ())
    endings = [str(named[-1]), f"column {named[-1]}"] if named else []
    return name in endings or name in [f"{view}: {one}" for view in named[:1] for one in endings]


def _ordered(values: Floats, order: Ints, axis: int) -> Floats:
    """Return values with an axis in another order; zeros where there is nothing."""
    found = np.take(values, np.maximum(order, 0), axis=axis)
    shape = [1] * values.ndim
    shape[axis] = -1
    return np.where((order >= 0).reshape(shape), found, 0.0)


def _decisions(model: Any, parts: Floats) -> Floats:
    """Return decisions, the sums of contributions."""
    found = parts.sum(axis=(2, 3)) + model.intercept_
    return found[:, 0] if found.shape[1] == 1 else found
