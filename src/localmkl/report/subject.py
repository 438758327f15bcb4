"""The subject of a report: the model inside a search or pipeline, and the samples shown."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from localmkl._checks import listed
from localmkl._types import Array, Bools, Floats, Ints, MaybeNone, Picked, Rows, Targets
from localmkl.estimators.base import BaseMKL
from localmkl.estimators.groups import Grouped, rows_of, with_groups
from localmkl.estimators.probabilities import has_probabilities
from localmkl.explain import (
    class_shares,
    cluster_names,
    groups_of,
    has_groups,
    kernel_contributions,
    kernel_names,
    kernel_views,
    local_memberships,
    main_clusters,
    memberships_of,
    numbered,
    shared_part,
    training_rows,
)
from localmkl.kernels.stack import take_rows
from localmkl.report.recognised import (
    MAYBE,
    NEW,
    SEEN,
    is_symmetric,
    is_training,
    standing,
    standing_by_landmarks,
    training_names,
)
from localmkl.stacks import Stack
from localmkl.views import as_views

METHODS = {"UniformMKL": "UNIF", "MKL": "MKL", "HLMKL": "HLMKL", "CLMKL": "CLMKL", "LMKL": "LMKL"}

RARE = 0.6
"""A class is rare when the other one has more than this share of the samples: of classes about as large,
chance would pick the one to look at."""

ALIKE = 1e-9
"""Memberships that differ by no more than this from sample to sample are the same for all: a softmax
rounds at 1e-15, and no evenness below 1 that one would set comes so near."""


@dataclass
class Subject:
    """A fitted model and the samples that its report shows.

    Parameters
    ----------
    given : estimator
        What the user gave: a model, a pipeline that ends in one, or a search over either.
    X, y : rows and targets, or None
    train : tuple (X, y), (X, y, groups) or None
    names : sequence of str, or None
        Names of the rows of `X`.
    kernel_names : sequence of str, or None
    max_samples : int
        Most samples that are shown one by one.
    seed : int
    groups : array-like of shape (n_samples,), or None
        Groups of the rows of `X`, for a model that finds them in no column.
    """

    given: Any
    X: Any = None
    y: Any = None
    train: tuple[Any, ...] | None = None
    names: Any = None
    kernel_names: Any = None
    max_samples: int = 1000
    seed: int = 0
    groups: Any = None

    def __post_init__(self) -> None:
        self.search: Any = self.given if hasattr(self.given, "cv_results_") else None
        self.whole = self.given if self.search is None else getattr(self.given, "best_estimator_", None)
        if self.whole is None:
            raise ValueError(
                "`model` must be fitted, got a search without `best_estimator_`; search with refit=True."
            )
        self.model = self.whole[-1] if isinstance(self.whole, Pipeline) else self.whole
        if not isinstance(self.model, BaseMKL):
            raise TypeError(
                "`model` must be an estimator of localmkl, or a pipeline or search that ends in one, "
                f"got {type(self.model).__name__}."
            )
        check_is_fitted(self.model)
        given = self._labels("kernel_names", self.kernel_names, len(self.model.factors_))
        self.kernels = kernel_names(self.model) if given is None else numbered(given)
        if self.X is None and self.groups is not None:
            raise ValueError("`groups` was given without `X`; pass the rows that it belongs to.")
        self.X = with_groups(self._as_rows(self.X), self.groups)
        self.y = None if self.y is None else _as_targets("y", self.y, self.classifier)
        if self.train is not None:
            rows, target, *groups = self.train
            rows = with_groups(self._as_rows(rows), groups[0] if groups else None)
            self.train = rows, _as_targets("train", target, self.classifier)
        self._check_rows()

    def _as_rows(self, X: Rows) -> Rows:
        """Return rows that can be picked by an array of numbers."""
        if isinstance(X, Grouped):
            return Grouped(self._as_rows(X.rows), X.groups)
        X = X if self.model._precomputed else as_views(X)
        if not isinstance(X, list | tuple):
            return X
        return np.asarray(X, dtype=object if len(X) and isinstance(X[0], str | bytes) else None)

    def _check_rows(self) -> None:
        if self.X is None and self.y is not None:
            raise ValueError("`y` was given without `X`; pass the rows that it belongs to.")
        if self.X is not None:
            if _count(self.X) == 0:
                raise ValueError("`X` must hold at least one row, got none.")
            self.names = self._labels("names", self.names, _count(self.X))
            self._check_columns()
        for name, pair in (("y", (self.X, self.y)), ("train", self.train or (None, None))):
            rows, target = pair
            self._check_groups(rows, "train=(X, y, groups)" if name == "train" else "groups")
            if target is not None and _count(rows) != len(target):
                raise ValueError(
                    f"`{name}` must have one target for each of {_count(rows)} rows, got {len(target)}."
                )
        if self.train is not None and not self._is_training(self.train[1]):
            raise ValueError(
                f"`train` must be the {self.n_train} rows that the model was trained on, with their targets, "
                f"got {len(self.train[1])} rows{' of other classes' if self.classifier else ''}."
            )

    def _check_groups(self, rows: Rows, name: str) -> None:
        """Raise if rows lack the groups that the model wants of them."""
        wanted = has_groups(self.model) and self.model.groups is None
        if wanted and rows is not None and not isinstance(rows, Grouped):
            raise ValueError(f"`{name}` must name the group of each row for gate='groups', got none.")

    def _check_columns(self) -> None:
        """Raise in one sentence if a table lacks columns of the fit, or has them in another order."""
        wanted, X = getattr(self.whole, "feature_names_in_", None), rows_of(self.X)
        if wanted is None or not hasattr(X, "columns") or list(X.columns) == list(wanted):
            return
        raise ValueError(
            f"`X` must have the columns of the fit in their order, {listed(wanted)}, got {listed(X.columns)}."
        )

    def _is_training(self, target: Array) -> bool:
        """Whether targets can be those of the training: as many, of the same classes."""
        if len(target) != self.n_train:
            return False
        return not self.classifier or set(target.tolist()) == set(self.model.classes_.tolist())

    @staticmethod
    def _labels(name: str, given: Any, count: int) -> list[str] | None:
        if given is not None and len(given) != count:
            raise ValueError(f"`{name}` must hold {count} texts, got {len(given)}.")
        return None if given is None else [str(one) for one in given]

    @property
    def method(self) -> str:
        """The short name of what was learned: with all shared, that is MKL or UNIF, whatever the class."""
        return ("UNIF" if self.equal_weights else "MKL") if self.all_shared else self.family

    @property
    def called(self) -> str:
        """The same, with the class where that is another: ``MKL (CLMKL with all shared)``."""
        return f"{self.method} ({self.family} with all shared)" if self.all_shared else self.method

    @property
    def all_shared(self) -> bool:
        """Whether there are clusters or groups in name alone."""
        return getattr(self.model, "shared_", 0.0) == 1.0

    @property
    def family(self) -> str:
        """The short name of the class; of a class of one's own that of its parent, or its own."""
        names = [kind.__name__ for kind in type(self.model).__mro__]
        roots = [name.removesuffix("Classifier").removesuffix("Regressor") for name in names]
        return next((METHODS[root] for root in roots if root in METHODS), names[0])

    @property
    def probable(self) -> bool:
        """Whether decisions stand for probabilities."""
        return has_probabilities(self.model.loss_)

    @property
    def classifier(self) -> bool:
        """Whether labels are predicted."""
        return is_classifier(self.model)

    @property
    def binary(self) -> bool:
        """Whether there are two classes."""
        return self.classifier and len(self.model.classes_) == 2

    @cached_property
    def focus(self) -> Any:
        """Of two classes the clearly rarer one, such as sites among other sequences; else the second."""
        known = self.predictions if self.targets is None else self.targets
        first, second = self.model.classes_
        return first if np.mean(known == second) > RARE else second

    @property
    def n_train(self) -> int:
        """Number of training samples."""
        return np.shape(self.model.dual_coef_)[-1]

    @cached_property
    def alike(self) -> bool:
        """Whether all samples have the same memberships (one cluster, evenness 1): a global model."""
        return bool(np.ptp(memberships_of(self.model), axis=0).max() <= ALIKE)

    @property
    def n_clusters(self) -> int:
        """Number of clusters or groups whose memberships differ from sample to sample; else one."""
        return len(self.clusters)

    @cached_property
    def clusters(self) -> list[str]:
        """Names of clusters or groups, without the shared part; groups new to the model come last."""
        if self.alike:
            return ["all samples"]
        new = has_groups(self.model) and self.X is not None
        return main_clusters(self.model, self.transform(self.X) if new else None)[1]

    @property
    def noun(self) -> str:
        """The noun for clusters: known groups are called so."""
        return "group" if has_groups(self.model) else "cluster"

    @property
    def regions(self) -> list[str]:
        """Names of all that has weights of its own: the shared part first, if there is one, then clusters."""
        return ["all samples"] if self.alike else cluster_names(self.model)

    @property
    def spoken(self) -> list[str]:
        """The same, as sentences have it."""
        named = self.regions
        return ["the shared part", *named[1:]] if self.shared else named

    @property
    def shared(self) -> float:
        """Membership of all samples in the shared part beside the clusters; 0 if there is none."""
        return 0.0 if self.alike else shared_part(self.model)

    @property
    def grouped(self) -> bool:
        """Whether the model was trained on several known groups."""
        return has_groups(self.model) and len(set(self.model.groups_.tolist())) > 1

    @property
    def shares(self) -> Floats:
        """Share of each kernel by class and region, (n_problems, n_regions, n_kernels)."""
        shares = class_shares(self.model)
        return shares.mean(axis=1, keepdims=True) if self.alike else shares

    @cached_property
    def views(self) -> list[str]:
        """Names of the views that kernels read; none where the rows were no `Views`."""
        return [name for name in dict.fromkeys(kernel_views(self.model)) if name is not None]

    def present(self, X: Rows) -> Bools:
        """Return the mask of who has which view, (n, n_views), of rows as they came."""
        return self.present_in(self.transform(X))

    def present_in(self, rows: Rows) -> Bools:
        """Return the same of rows as the model inside sees them."""
        rows = as_views(rows_of(rows))
        return np.stack([rows.present(name) for name in self.views], axis=1)

    @cached_property
    def lacking(self) -> list[list[str]]:
        """Names of the views that each sample shown lacks."""
        if not self.views or self.rows is None:
            return [[] for _ in self.shown]
        masks = self.present_in(self.rows)
        return [[name for name, there in zip(self.views, own, strict=True) if not there] for own in masks]

    @property
    def unfinished(self) -> str:
        """A sentence on a model that did not converge; empty if it did."""
        gap, tol = self.model.duality_gap_, self.model.tol
        if self.method == "LMKL" or gap <= tol:
            return ""
        return (
            f"The model did not converge: its duality gap is {gap:.1e}, and {tol:.0e} was asked for. Weights "
            "and predictions are those of an unfinished fit."
        )

    def main_of(self, X: Rows) -> Ints:
        """Return the numbers of the main clusters of rows, (n,)."""
        if self.alike:
            return np.zeros(_count(X), dtype=int)
        numbers, names = main_clusters(self.model, self.transform(X))
        return np.array([self.clusters.index(name) for name in names])[numbers]

    def groups_in(self, X: Rows) -> Array:
        """Return the known groups of rows, (n,) of str."""
        return groups_of(self.model, self.transform(X))

    def transform(self, X: Rows) -> Rows:
        """Return rows as the model inside sees them."""
        return transformed(self.whole, X)

    @property
    def seen(self) -> Bools:
        """Mask of the rows of `X` that the model was trained on, or may have been, (n,) of bool."""
        return self.standing != NEW

    @property
    def doubtful(self) -> Bools:
        """Mask of the rows of `X` of which it cannot be told whether the model was trained on them."""
        return self.standing == MAYBE

    @cached_property
    def standing(self) -> Ints:
        """NEW, MAYBE or SEEN for each row of `X`: whether the model was trained on it, (n,)."""
        rows, model = self.transform(self.X), self.model
        grams = rows_of(rows)
        if isinstance(grams, Stack):
            origin, columns = model.columns_
            if grams.origin == origin:
                return np.where(np.isin(grams.row_numbers(), columns), SEEN, NEW)
            return np.full(len(grams), SEEN if is_symmetric(grams) else NEW)
        kept = standing_by_landmarks if hasattr(model, "features_") else standing
        return kept(model, rows, self.names, training_names(self.given))

    @property
    def equal_weights(self) -> bool:
        """Whether all kernels weigh the same by construction, so that nothing is learned about them."""
        return self.family == "UNIF" or bool(np.isinf(getattr(self.model, "p", 1.0)))

    @cached_property
    def training(self) -> tuple[Rows, Array] | MaybeNone:
        """The training rows and their targets where both are known, or None."""
        if self.train is not None:
            return self.train
        whole = self.y is not None and (self.standing == SEEN).all() and self._is_training(self.y)
        return (self.X, self.truth(slice(None))) if whole and self._lacks_nothing() else None

    def _lacks_nothing(self) -> bool:
        """Whether rows that are all recognised have what they had in the training."""
        if self.model._precomputed:
            return True
        if hasattr(self.model, "features_"):  # these keep no rows to compare with
            return not self.views or bool(self.present(self.X).any(axis=0).all())
        return is_training(self.model, self.transform(self.X))

    @cached_property
    def known(self) -> Bools:
        """Mask of the rows whose target the model can predict, (n,) of bool; labels may be new to it."""
        if not self.classifier:
            return np.ones(len(self.y), dtype=bool)
        classes = set(self.model.classes_.tolist())
        return np.array([label in classes for label in self.y.tolist()])

    def truth(self, rows: Picked) -> Array:
        """Return the targets of some rows, all known, as the model has them."""
        return self.y[rows].astype(self.model.classes_.dtype) if self.classifier else self.y[rows]

    @property
    def strange(self) -> list[Any]:
        """Labels that the model does not know, each once."""
        return list(dict.fromkeys(self.y[~self.known].tolist()))

    @cached_property
    def shown(self) -> Ints:
        """Numbers of the rows that are shown one by one; all of them, or a random choice."""
        n_rows = self.n_train if self.X is None else _count(self.X)
        if n_rows <= self.max_samples:
            return np.arange(n_rows)
        return np.sort(np.random.default_rng(self.seed).choice(n_rows, self.max_samples, replace=False))

    @cached_property
    def rows(self) -> Rows | None:
        """The rows shown, as the model inside sees them; None if there are none."""
        source = training_rows(self.model) if self.X is None else self.transform(self.X)
        return None if source is None else take_rows(source, self.shown)

    @property
    def targets(self) -> Array | None:
        """The targets of the rows shown, or None."""
        return None if self.y is None else self.y[self.shown]

    @cached_property
    def labels(self) -> list[str]:
        """Names of the rows shown."""
        if self.names is not None:
            return [self.names[i] for i in self.shown]
        return [f"sample {i + 1}" for i in self.shown]

    @cached_property
    def memberships(self) -> Floats:
        """Memberships of the samples shown, (n, n_regions)."""
        if self.alike:
            return np.ones((len(self.shown), 1))
        if self.rows is not None:
            return memberships_of(self.model, self.rows)
        return memberships_of(self.model)[self.shown]

    @property
    def local(self) -> Floats:
        """Memberships of the samples shown in clusters or groups alone; rows sum to one."""
        return self.memberships if self.alike else local_memberships(self.model, self.memberships)

    @cached_property
    def main(self) -> Ints:
        """Numbers of the main clusters of the samples shown, (n,)."""
        if self.alike:
            return np.zeros(len(self.shown), dtype=int)
        if not has_groups(self.model):
            return self.local.argmax(axis=1)
        own = main_clusters(self.model)[0] if self.X is None else self.main_of(self.X)
        return own[self.shown]

    @cached_property
    def contributions(self) -> Floats:
        """Contribution of each kernel to the decision on the samples shown, (n, n_kernels)."""
        return kernel_contributions(self.model, self.rows)

    @cached_property
    def decisions(self) -> Floats:
        """Decision values (or predictions of a regressor) of the samples shown."""
        return decide(self.model, self.rows)

    def check_decisions(self) -> None:
        """Raise unless every sample shown gets a finite decision."""
        if self.rows is not None:
            _ = self.decisions

    @property
    def intercepts(self) -> Floats:
        """Intercept of the decision on each sample shown; of several, that of the predicted class."""
        if self.decisions.ndim == 1:
            return np.full(len(self.decisions), self.model.intercept_)
        return self.model.intercept_[self.decisions.argmax(axis=1)]

    @cached_property
    def predictions(self) -> Array:
        """Predicted labels or values of the samples shown."""
        return predicted(self.model, self.decisions)


def transformed(whole: Any, X: Rows) -> Rows:
    """Return rows, which may carry their groups, as the last step of a pipeline sees them."""
    if not isinstance(whole, Pipeline) or len(whole) < 2:
        return X
    rows = whole[:-1].transform(rows_of(X))
    return with_groups(rows, X.groups if isinstance(X, Grouped) else None)


def decide(model: Any, X: Rows) -> Array:
    """Return decision values, or predictions of a regressor; of a pipeline, those of its last step."""
    if isinstance(model, Pipeline):
        model, X = model[-1], transformed(model, X)
    return np.asarray(model.decision_function(X) if is_classifier(model) else model.predict(X))


def predicted(model: Any, decisions: Array) -> Array:
    """Return the labels that decision values stand for; a regressor's are the values themselves."""
    if not is_classifier(model):
        return decisions
    if decisions.ndim == 1:
        return model.classes_[(decisions > 0.0).astype(int)]
    return model.classes_[decisions.argmax(axis=1)]


def _as_targets(name: str, y: Targets, classifier: bool) -> Array:
    """Return targets as an array (n,); numbers for a regressor."""
    y = np.asarray(y)
    if y.ndim != 1:
        raise ValueError(f"`{name}` must hold one target for each row, got an array of shape {y.shape}.")
    if classifier:
        return y
    try:
        y = y.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"`{name}` must hold numbers as targets, got {str(y[0])!r}.") from None
    if not np.isfinite(y).all():
        raise ValueError(f"`{name}` must hold finite targets, got {y[~np.isfinite(y)][0]}.")
    return y


def _count(X: Rows) -> int:
    return X.shape[0] if hasattr(X, "shape") else len(X)
