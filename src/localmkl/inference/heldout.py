"""The one cross-validated answer about a model: its predictions of rows that it has not seen.

Each row is decided by a model that was fitted without it. Scores, intervals, effects and rival models all
come from these decisions, so that one model has one figure wherever it is shown.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from localmkl._checks import check_integer, check_option
from localmkl._types import Array, Floats, MaybeNone, Rows, Targets
from localmkl.estimators.groups import as_groups
from localmkl.estimators.probabilities import has_probabilities, probabilities
from localmkl.estimators.rows import concatenate_rows
from localmkl.explain import cluster_names, described_loss, is_precomputed, kernel_names, shared_part
from localmkl.explain.effects import Effects, decision_names, effects_of, kernel_columns
from localmkl.inference.crossfit import ONE_MODEL, SEPARATE, CrossFit, Fold
from localmkl.inference.matters import Places, places_of
from localmkl.inference.scores import Score, score_of
from localmkl.model_selection.search import rows_to_slice

EVERYWHERE = "everywhere"


@dataclass(frozen=True)
class Matter:
    """One thing that matters: a column or kernel, where, and how much.

    Parameters
    ----------
    kernel : str
        Name of a column, or of a kernel (see `by`).
    part : str
        "everywhere", or the name of a group or cluster.
    decision : str
        The class whose decision is meant, or "prediction".
    share : float
        Share of the variance of the decisions for rows of the part.
    low, high : float
        95 % interval of it.
    sure : bool
        Whether it can be relied on for new rows.
    direction : -1, 0, 1 or None
        Whether larger values lower or raise the decision; None if that is not monotone or has no meaning.
    by : {"column", "kernel"}

    Examples
    --------
    >>> Matter("crp", "everywhere", "readmitted", 0.31, 0.2, 0.44, True, 1, "column").kernel
    'crp'
    """

    kernel: str
    part: str
    decision: str
    share: float
    low: float
    high: float
    sure: bool
    direction: int | MaybeNone
    by: str


@dataclass(frozen=True)
class HeldOut:
    """Predictions of rows by models that were fitted without them, and by simpler models.

    Parameters
    ----------
    rows : ndarray of int of shape (n,)
        Numbers of the rows that were decided.
    y : ndarray of shape (n,)
        Their targets.
    fold : ndarray of int of shape (n,)
        The fold in which each was held out.
    decisions : ndarray of shape (n,) or (n, n_classes)
    contributions : ndarray of shape (n, n_decisions, n_parts, n_kernels)
    memberships : ndarray of shape (n, n_parts)
    groups : ndarray of str of shape (n,), or None
    rivals : dict of str to ndarray
        Decisions of simpler models for the same rows.
    skipped : dict of str to str
        Simpler models that were left out, and why.
    classes : ndarray or None
        Of a classifier.
    positive : object or None
        Of two classes the one that positive decisions mean.
    kernels, parts, decided : list of str
        Names of kernels, parts and decisions.
    shared : bool
        Whether the first part is shared by all rows.
    loss : str
    probable : bool
        Whether decisions stand for probabilities.
    quantile : float or None
        Of a quantile regression.
    metric : str
        The main metric.
    how : str
        How this was made, in a sentence.
    columns : list of str
        Columns of the rows, where these are tables with few of them.
    column_parts : ndarray of shape (n, n_decisions, n_parts, n_columns), or None
        What columns add to decisions; NaN in rows that were not looked at.
    directions : ndarray of shape (n_decisions, 1 + n_local, n_columns), or None
        Everywhere and in each group or cluster:
        1 or -1 where a column raises or lowers decisions, 0 without an effect, NaN where it is not monotone.
    kernel_columns : list of int
        The column that each kernel reads alone, -1 of others.

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(80, random_state=0)[:2]
    >>> found = held_out(MKLClassifier().fit(X, y), X, y, rivals=False)
    >>> HeldOut.of(found.record()).score() == found.score()
    True
    """

    rows: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
    fold: np.ndarray = field(repr=False)
    decisions: np.ndarray = field(repr=False)
    contributions: np.ndarray = field(repr=False)
    memberships: np.ndarray = field(repr=False)
    groups: np.ndarray | None = field(repr=False)
    rivals: dict[str, Any] = field(repr=False)
    skipped: dict[str, str]
    classes: np.ndarray | None
    positive: Any
    kernels: list[str]
    parts: list[str]
    decided: list[str]
    shared: bool
    loss: str
    probable: bool
    quantile: float | None
    metric: str
    how: str
    columns: list[str]
    column_parts: np.ndarray | None = field(repr=False)
    directions: np.ndarray | None = field(repr=False)
    kernel_columns: list[int]

    def record(self) -> dict[str, Any]:
        """Return plain values, lists and arrays of numbers or text, from which `of` makes the same again."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: _plain(value) for name, value in values.items()}

    @classmethod
    def of(cls, record: dict[str, Any]) -> Self:
        """Return what `record` has recorded."""
        lists = {name: np.asarray(record[name]) for name in ("y", "classes") if record[name] is not None}
        return cls(**{**record, **lists})

    def score(
        self, name: str | None = None, metric: str | None = None, rows: ArrayLike | None = None
    ) -> Score:
        """Return a score over all rows with its 95 % interval.

        Parameters
        ----------
        name : str, optional
            One of `rivals`; by default the model itself.
        metric : str, optional
            "roc_auc", "accuracy", "balanced_accuracy", "log_loss" or "brier"; "r2", "rmse", "mae" or
            "pinball". By default the main metric.
        rows : ndarray of bool or int, optional
            Only some of the rows.

        Returns
        -------
        Score
        """
        return self._score([self._decisions(name)], metric, rows)

    def difference(self, name: str, metric: str | None = None, rows: ArrayLike | None = None) -> Score:
        """Return the score of the model minus that of a simpler one, with the interval of the difference."""
        return self._score([self._decisions(None), self._decisions(name)], metric, rows)

    def by_group(self, name: str | None = None, metric: str | None = None) -> dict[str, Score]:
        """Return the score of each group; NaN where a group has too few classes for it."""
        groups = np.array([]) if self.groups is None else self.groups
        return {group: self.score(name, metric, groups == group) for group in np.unique(groups).tolist()}

    def effects(self) -> Effects:
        """Return the effects of kernels."""
        return self._effects(self.contributions, self.kernels)

    def column_effects(self) -> Effects | None:
        """Return the effects of columns, in the place of kernels; None where there are no columns."""
        return None if self.column_parts is None else self._effects(self.column_parts, self.columns)

    def probabilities(self, name: str | None = None) -> Floats | None:
        """Return the probability of the positive class, or of each of several; None if there is none."""
        found = self._decisions(name)
        simple = name is not None and name not in (ONE_MODEL, SEPARATE)
        if self.classes is None or not (self.probable or simple):
            return None
        if simple and found.ndim == 2:
            return np.exp(found)
        chances = probabilities(found)
        return chances[:, 1] if found.ndim == 1 else chances

    def predicted(self, name: str | None = None) -> Array:
        """Return the predicted labels or numbers."""
        found = self._decisions(name)
        if self.classes is None:
            return found
        return self.classes[(found > 0.0).astype(int) if found.ndim == 1 else found.argmax(axis=1)]

    def matters(self, by: str | None = None, *, absent: bool = False) -> list[Matter]:
        """Return what matters and where, the largest share first.

        Parameters
        ----------
        by : {"column", "kernel"}, optional
            By default columns, where they are known.
        absent : bool, default=False
            Whether to list what is not stronger in a group than in the others, too.

        Returns
        -------
        list of Matter
        """
        found, names = self._places(by)
        (low, high), sure, by_column = found.interval(), found.sure(), names is self.columns
        parts = [EVERYWHERE, *self.parts[int(self.shared) :]]
        every = []
        for p, j, m in np.ndindex(found.shares.shape):
            if absent or found.excess[p, j, m] > 0.5:
                every.append(
                    Matter(
                        kernel=names[m],
                        part=parts[j],
                        decision=self.decided[p],
                        share=float(found.shares[p, j, m]),
                        low=float(low[p, j, m]),
                        high=float(high[p, j, m]),
                        sure=bool(sure[p, j, m]),
                        direction=self._direction(p, j, m if by_column else self.kernel_columns[m]),
                        by="column" if by_column else "kernel",
                    )
                )
        return sorted(every, key=lambda matter: -matter.share)

    def where(self, by: str | None = None) -> Effects:
        """Return effects by place: everywhere first, then in each group or cluster.

        All parts of the model are summed. `matters` lists the same.
        """
        found, names = self._places(by)
        parts = [EVERYWHERE, *self.parts[int(self.shared) :]][: found.shares.shape[1]]
        return Effects(found.shares, found.shares, found.errors, self.decided, parts, names)

    def _places(self, by: str | None) -> tuple[Places, list[str]]:
        check_option("by", by, (None, "column", "kernel"))
        by_column = by != "kernel" and self.column_parts is not None
        given: Any = self.column_parts if by_column else self.contributions
        own = np.isfinite(given).all(axis=(1, 2, 3))
        totals = self.contributions[own].sum(axis=(2, 3), dtype=np.float64)
        found = places_of(
            given[own].sum(axis=2, dtype=np.float64),
            totals,
            self._targets()[own],
            self._local()[own],
            self.fold[own],
        )
        return found, self.columns if by_column else self.kernels

    def _targets(self) -> Floats:
        """Return the targets of the decisions, (n, n_decisions): of classes 0 and 1."""
        if self.classes is None:
            return self.y[:, None].astype(np.float64)
        positive = self.classes[1:] if len(self.classes) == 2 else self.classes
        return (self.y[:, None] == positive).astype(np.float64)

    def _local(self) -> Floats:
        """Return memberships without the shared part; rows sum to one."""
        local = self.memberships[:, int(self.shared) :]
        return local / np.maximum(local.sum(axis=1, keepdims=True), np.finfo(float).tiny)

    def _direction(self, decision: int, place: int, column: int) -> int | None:
        if self.directions is None or column < 0:
            return None
        found = float(self.directions[decision, place, column])
        return None if np.isnan(found) else int(found)

    def _decisions(self, name: str | None) -> Floats:
        if name is None:
            return self.decisions
        if name not in self.rivals:
            raise ValueError(f"`name` must be one of {', '.join(self.rivals) or 'none'}, got {name!r}.")
        return self.rivals[name]

    def _score(self, decisions: list[Floats], metric: str | None, rows: ArrayLike | None) -> Score:
        metric = self.metric if metric is None else metric
        rows = np.arange(len(self.y)) if rows is None else np.asarray(rows)
        codes = self.y if self.classes is None else np.searchsorted(self.classes, self.y)
        given = [one[rows] for one in decisions]
        n_classes = 0 if self.classes is None else len(self.classes)
        return score_of(metric, codes[rows], given, n_classes=n_classes, quantile=self.quantile)

    def _effects(self, contributions: Floats, names: list[str]) -> Effects:
        own = np.isfinite(contributions).all(axis=(1, 2, 3))
        return effects_of(
            contributions[own],
            self._local()[own],
            strata=self.fold[own],
            totals=self.contributions[own].sum(axis=(2, 3), dtype=np.float64),
            decisions=self.decided,
            parts=self.parts,
            kernels=names,
        )


def _plain(value: Any) -> Any:
    """Return a value without objects: lists in the place of arrays of these."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) and value.dtype == object else value


def held_out(
    model: Any,
    X: Rows,
    y: Targets,
    *,
    groups: ArrayLike | None = None,
    folds: Any = None,
    n_folds: int = 5,
    rivals: bool = True,
    one_model: dict[str, Any] | None = None,
    max_rows: int = 5000,
    random_state: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> HeldOut:
    """Fit a model anew on each fold and keep what it says of the rows held out; simpler models beside it.

    Kernels are learned anew, parameters stay as they are. Clusters that are discovered are matched with those
    of the model.

    Parameters
    ----------
    model : fitted estimator or search
        Of a search, its best.
    X, y : rows and targets
        Those of its fit.
    groups : array-like of shape (n_samples,), optional
        Those of its fit; for a model without groups, names of groups whose scores will be asked for.
    folds : sequence of (train, test), or splitter, optional
        By default random folds, stratified by class and group.
    n_folds : int, default=5
        Number of random folds.
    rivals : bool, default=True
        Whether to fit simpler models.
    one_model : dict, optional
        Parameters of "one model for all" where they differ from those of the model, such as its own best C.
    max_rows : int, default=5000
        Most rows that are decided; all others are still used for training.
    random_state : int, default=0
    progress : callable, optional
        Called as ``progress(done, total)`` after each fold.

    Returns
    -------
    HeldOut

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(120, random_state=0)[:2]
    >>> found = held_out(CLMKLClassifier(random_state=0).fit(X, y), X, y)
    >>> found.score().metric, sorted(found.rivals)
    ('roc_auc', ['gradient boosting', 'logistic regression', 'one model for all'])
    """
    model = getattr(model, "best_estimator_", model)
    check_is_fitted(model)
    check_integer("n_folds", n_folds, low=2)
    fits = CrossFit.of(model, X, y, groups, random_state)
    splits, made = fits.splits(folds, n_folds, max_rows)
    candidates, skipped = fits.rivals(one_model or {}) if rivals else ({}, {})
    parts = []
    for number, split in enumerate(splits):
        with warnings.catch_warnings():  # the fit of the model has said what there is to say
            warnings.simplefilter("ignore")
            decided = Fold(fits, *split).decided(candidates)
        parts.append({"fold": np.full(len(split[1]), number), **decided})
        if progress is not None:
            progress(number + 1, len(splits))
    return _answer(fits, parts, list(candidates), skipped, made)


def decided_on(
    model: Any,
    X: Rows,
    y: Targets,
    *,
    groups: ArrayLike | None = None,
    train: Sequence[Any] | None = None,
    one_model: dict[str, Any] | None = None,
    random_state: int = 0,
) -> HeldOut:
    """Return the same for rows that are new to a fitted model: nothing is fitted again but simpler models.

    Parameters
    ----------
    model : fitted estimator or search
    X, y : rows and targets
        None of the training rows.
    groups : array-like of shape (n_samples,), optional
    train : (X, y) or (X, y, groups), optional
        The rows of the fit, for simpler models; without them there are none.
    one_model : dict, optional
        As in `held_out`.
    random_state : int, default=0

    Returns
    -------
    HeldOut

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(120, random_state=0)[:2]
    >>> model = MKLClassifier(loss="log_loss").fit(X[:60], y[:60])
    >>> found = decided_on(model, X[60:], y[60:], train=(X[:60], y[:60]))
    >>> sorted(found.rivals), bool(np.allclose(found.decisions, model.decision_function(X[60:])))
    (['gradient boosting', 'logistic regression'], True)
    """
    model = getattr(model, "best_estimator_", model)
    check_is_fitted(model)
    y, n_known = np.asarray(y), 0
    if train is not None and not is_precomputed(model):
        rows, targets, *beside = train
        n_known, X = len(targets), concatenate_rows(*(rows_to_slice(model, one) for one in (rows, X)))
        y = np.concatenate([np.asarray(targets), y])
        groups = None if groups is None else np.concatenate([as_groups(own) for own in (*beside, groups)])
    fits = CrossFit.of(model, X, y, groups, random_state)
    candidates, skipped = fits.rivals(one_model or {}) if n_known else ({}, {})
    fold = Fold(fits, np.arange(n_known), np.arange(n_known, len(y)))
    part = {"fold": np.zeros(len(fold.test), dtype=int), **fold.decided(candidates, model)}
    how = f"The model predicted {len(fold.test):,} rows that it was not fitted on."
    found = _answer(fits, [part], list(candidates), skipped, how)
    return replace(found, rows=found.rows - n_known)


def _answer(
    fits: CrossFit, parts: list[dict[str, Any]], rivals: list[str], skipped: dict[str, str], how: str
) -> HeldOut:
    """Return what folds have decided, in the order of the rows."""
    model = fits.model
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.argsort(whole["rows"], kind="stable")
    whole = {name: values[order] for name, values in whole.items()}
    classes = model.classes_ if is_classifier(model) else None
    described = described_loss(model)
    metric = "r2" if classes is None else "roc_auc" if len(classes) == 2 else "accuracy"
    columns = whole.pop("columns", None)
    return HeldOut(
        rows=whole["rows"],
        y=fits.y[whole["rows"]],
        fold=whole["fold"],
        decisions=whole["decisions"],
        contributions=whole["contributions"],
        memberships=whole["memberships"],
        groups=None if fits.labels is None else fits.labels[whole["rows"]],
        rivals={name: whole[name] for name in rivals},
        skipped=skipped,
        classes=classes,
        positive=classes[1] if classes is not None and len(classes) == 2 else None,
        kernels=kernel_names(model),
        parts=cluster_names(model),
        decided=decision_names(model),
        shared=shared_part(model) > 0.0,
        loss=described["loss"],
        probable=classes is not None and has_probabilities(model.loss_),
        quantile=described.get("quantile"),
        metric="pinball" if "quantile" in described else metric,
        how=how,
        columns=list(fits.places),
        column_parts=columns,
        directions=None if columns is None else fits.directions(whole["rows"], columns, whole["memberships"]),
        kernel_columns=kernel_columns(model, fits.places),
    )
