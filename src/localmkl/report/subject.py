"""The subject of a report: a model, and the rows that it is judged on."""

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from localmkl import explain
from localmkl._checks import listed
from localmkl._sklearn import count_rows
from localmkl._types import Array, Bools, Floats, Ints, MaybeNone, Rows, Targets
from localmkl.estimators.base import BaseMKL
from localmkl.estimators.groups import Grouped, rows_of, with_groups
from localmkl.inference import Stability
from localmkl.inference.heldout import HeldOut, decided_on, held_out
from localmkl.inference.scores import Score
from localmkl.kernels.stack import take_rows
from localmkl.report.prose import ERRORS, count
from localmkl.report.recognised import seen
from localmkl.stacks import Stack
from localmkl.views import as_views


class Subject:
    """A fitted model and the rows that its report judges it on.

    Parameters
    ----------
    given : estimator
        A model, a pipeline that ends in one, or a search over either.
    X, y : rows and targets, or None
    groups, names : sequences, or None
        Of the rows of `X`.
    train : tuple (X, y) or (X, y, groups), or None
    cv : int
        Folds, where quality is not known yet; 0 for none.
    seed : int

    Attributes
    ----------
    held : HeldOut or None
        Decisions of rows that the model, or one like it, has not seen.
    rows : rows or None
        The rows shown, as the model inside sees them.
    y, names
        Of the rows shown.
    new : bool
        Whether these rows are new to the model; else they are its training rows, by cross-validation.
    remarks : list of str
        What was left out.
    refits : Stability or None
        Refits on halves of the training rows.
    """

    def __init__(
        self,
        given: Any,
        X: Rows = None,
        y: Targets = None,
        *,
        groups: ArrayLike | None = None,
        names: Any = None,
        train: tuple[Any, ...] | None = None,
        cv: int = 5,
        seed: int = 0,
    ) -> None:
        self.search = given if hasattr(given, "cv_results_") else None
        self.whole = given if self.search is None else getattr(given, "best_estimator_", None)
        if self.whole is None:
            raise ValueError(
                "`model` must be fitted, got a search without `best_estimator_`; use refit=True."
            )
        self.model = self.whole[-1] if isinstance(self.whole, Pipeline) else self.whole
        if not isinstance(self.model, BaseMKL):
            raise TypeError(
                "`model` must be an estimator of localmkl, a pipeline or a search that ends in one, "
                f"got {type(self.model).__name__}."
            )
        check_is_fitted(self.model)
        self.made: dict[str, Any] = getattr(given, "made_", getattr(self.model, "made_", {}))
        self.remarks: list[str] = []
        self.new, self.seed = False, seed
        self.held: HeldOut | MaybeNone = None
        self.refits: Stability | MaybeNone = None
        self.train = self._training(train)
        self.names: Any = self.made.get("names")
        if X is not None:
            X = self._checked(X, y, groups, names)
            self.new = self._keep_new(X, y, names)
        self.held = self._held_on_new() if self.new else self._held_in_folds(cv)

    # What was learned

    @property
    def classifier(self) -> bool:
        """Whether classes are predicted."""
        return is_classifier(self.model)

    @property
    def classes(self) -> list[Any]:
        """Return the classes; none of a regression."""
        return self.model.classes_.tolist() if self.classifier else []

    @property
    def binary(self) -> bool:
        """Whether there are two classes."""
        return len(self.classes) == 2

    @property
    def positive(self) -> Any:
        """Of two classes, the one whose probability is shown; by default the second."""
        if not self.binary:
            return None
        wanted = str(self.made.get("positive"))
        return next((label for label in self.classes if str(label) == wanted), self.classes[1])

    @property
    def sign(self) -> int:
        """Minus one where positive decisions mean the other class; else one."""
        return -1 if self.binary and self.positive != self.classes[1] else 1

    @property
    def negative(self) -> Any:
        """Of two classes, the other one."""
        return next((label for label in self.classes if label != self.positive), None)

    @property
    def n_train(self) -> int:
        """Number of training rows."""
        return int(np.shape(self.model.dual_coef_)[-1])

    @property
    def kernels(self) -> list[str]:
        """Names of the kernels."""
        if self.held is not None:
            return self.held.kernels
        given = self.made.get("kernel_names")
        return explain.kernel_names(self.model) if given is None else explain.numbered(list(map(str, given)))

    @cached_property
    def parts(self) -> list[str]:
        """Names of the parts with weights: the shared one first, if there is one, then clusters or groups."""
        return explain.cluster_names(self.model)

    @property
    def local(self) -> bool:
        """Whether there are several clusters or groups, and rows differ in them."""
        memberships = explain.memberships_of(self.model)
        return len(self.parts) > 1 and bool(np.ptp(memberships, axis=0).max() > 1e-9)

    @property
    def grouped(self) -> bool:
        """Whether the parts are known groups."""
        return explain.has_groups(self.model)

    @property
    def noun(self) -> str:
        """The noun for a part: the column of the groups, such as "hospital", or "cluster"."""
        if not self.grouped:
            return "cluster"
        column = self.made.get("groups_column") or self.made.get("groups_name")
        return str(column or getattr(self.model, "groups", None) or "group")

    @cached_property
    def views(self) -> list[str]:
        """Names of the views that kernels read; none where rows are no `Views`."""
        return [name for name in dict.fromkeys(explain.kernel_views(self.model)) if name is not None]

    # Rows

    def transform(self, X: Rows) -> Rows:
        """Return rows as the model inside a pipeline sees them."""
        if not isinstance(self.whole, Pipeline) or len(self.whole) < 2:
            return X
        rows = self.whole[:-1].transform(rows_of(X))
        return with_groups(rows, X.groups if isinstance(X, Grouped) else None)

    def _training(self, train: tuple[Any, ...] | None) -> tuple[Rows, Array | None] | None:
        """Return the training rows as the model inside sees them, and their targets, where they are known."""
        if train is None:
            rows = explain.training_rows(self.model)
            return None if rows is None else (rows, self.made.get("y"))
        X, y, *groups = train
        rows = with_groups(_as_rows(X), groups[0] if groups else None)
        if len(y) != self.n_train:
            raise ValueError(
                f"`train` must be the {self.n_train} rows of the fit with their targets, got {len(y)} rows."
            )
        return self.transform(rows), np.asarray(y)

    def _checked(self, X: Rows, y: Targets, groups: ArrayLike | None, names: Any) -> Rows:
        """Return the rows given as one piece that can be sliced; raise if its parts do not fit."""
        X = with_groups(_as_rows(X), groups)
        n_rows = count_rows(rows_of(X))
        if not n_rows:
            raise ValueError("`X` must hold at least one row, got none.")
        for name, values in (("y", y), ("names", names)):
            if values is not None and len(values) != n_rows:
                raise ValueError(
                    f"`{name}` must have one entry for each of {n_rows} rows, got {len(values)}."
                )
        wanted, found = getattr(self.whole, "feature_names_in_", None), rows_of(X)
        if wanted is not None and hasattr(found, "columns") and list(found.columns) != list(wanted):
            raise ValueError(
                f"`X` must have the columns of the fit in their order, {listed(wanted)}, "
                f"got {listed(found.columns)}."
            )
        return X

    def _keep_new(self, X: Rows, y: Targets, names: Any) -> bool:
        """Keep the rows that are new to the model; return whether there are any."""
        known = seen(self.model, self.transform(X))
        labels = [f"row {i + 1}" for i in range(len(known))] if names is None else list(map(str, names))
        y = None if y is None else np.asarray(y)
        if known.all():  # the training rows themselves
            self.names = labels if self.names is None and len(labels) == self.n_train else self.names
            if self.train is None or self.train[1] is None:
                self.train = (self.transform(X), y) if len(known) == self.n_train else self.train
            return False
        kept = ~known
        if known.any():
            self.remarks.append(f"{count(int(known.sum()), 'training row')} among these rows were left out.")
        if y is not None and self.classifier:
            strange = np.array([label not in self.classes for label in y.tolist()])
            if strange.any():
                found = listed(dict.fromkeys(y[strange].tolist()))
                self.remarks.append(f"Rows of classes that the model does not know were left out: {found}.")
            kept &= ~strange
        chosen = np.flatnonzero(kept)
        if not len(chosen):
            raise ValueError(
                f"`y` must hold classes of the model, {listed(self.classes)}, for some new rows."
            )
        self._given = self.transform(take_rows(X, chosen))
        self._targets = None if y is None else y[chosen]
        self.names = [labels[i] for i in chosen]
        return True

    @property
    def rows(self) -> Rows | None:
        """The rows shown, as the model inside sees them; None where they are not known."""
        if self.new:
            return self._given
        if self.train is None:
            return None
        return self.train[0] if self.held is None else take_rows(self.train[0], self.held.rows)

    @property
    def y(self) -> Array | None:
        """Targets of the rows shown."""
        return self._targets if self.new else None if self.held is None else self.held.y

    @cached_property
    def labels(self) -> list[str]:
        """Names of the rows shown."""
        chosen: Any = range(self.n_train) if self.held is None or self.new else self.held.rows
        if self.new:
            chosen = range(len(self.names))
        if self.names is None:
            return [f"row {i + 1}" for i in chosen]
        return [str(self.names[i]) for i in chosen]

    # Decisions of rows that the model has not seen

    def _held_in_folds(self, cv: int) -> HeldOut | None:
        """Return the decisions of cross-validation: those kept with the model, or new ones."""
        kept = self.made.get("held_out")
        if kept is not None:
            return HeldOut.of(kept)
        if cv == 0 or self.train is None or self.train[1] is None:
            return None
        if isinstance(self.whole, Pipeline) and len(self.whole) > 1:
            self.remarks.append("The steps before the model were fitted on all rows.")
        X, y, *groups = _apart(*self.train)
        beside = groups[0] if groups else None
        try:
            return held_out(self.model, X, y, groups=beside, n_folds=cv, random_state=self.seed)
        except ValueError as error:
            self.remarks.append(f"The model was not cross-validated. {error}")
            return None

    def _held_on_new(self) -> HeldOut | None:
        """Return the decisions of the model on rows that are new to it; None without targets."""
        if self._targets is None:
            return None
        return decided_on(
            self.model,
            rows_of(self._given),
            self._targets,
            groups=_groups_beside(self._given),
            train=None if self.train is None or self.train[1] is None else _apart(*self.train),
            random_state=self.seed,
        )

    def lead(self, rival: str) -> Score:
        """Return by how much the model is better than a rival."""
        found = self.held.difference(rival)
        if found.metric not in ERRORS:
            return found
        return replace(found, value=-found.value, low=-found.high, high=-found.low)

    @cached_property
    def truth(self) -> Bools:
        """Mask of the rows of the positive class, of two classes."""
        return np.asarray(self.held.y == self.positive)

    def scores(self, name: str | None = None) -> Floats:
        """Return the probability of the positive class by the model or a rival, else its decisions."""
        given = self.held.probabilities(name)
        if given is None:
            return self.sign * (self.held.decisions if name is None else self.held.rivals[name])
        return given if self.sign > 0 else 1.0 - given

    def main_part(self) -> tuple[Ints, list[str]]:
        """Return the number of the main cluster or group of each row shown, and their names."""
        return explain.main_clusters(self.model, self.rows)


def _groups_beside(X: Rows) -> Array | None:
    """Return the groups that rows carry beside them."""
    return X.groups if isinstance(X, Grouped) else None


def _apart(X: Rows, y: Any) -> tuple[Any, ...]:
    """Return rows and targets, and the groups that the rows carry beside them."""
    groups = _groups_beside(X)
    return (rows_of(X), y) if groups is None else (rows_of(X), y, groups)


def _as_rows(X: Rows) -> Rows:
    """Return rows that can be picked by an array of numbers."""
    if isinstance(X, Stack | Grouped):
        return X
    X = as_views(X)
    if not isinstance(X, list | tuple):
        return X
    return np.asarray(X, dtype=object if len(X) and isinstance(X[0], str | bytes) else None)
