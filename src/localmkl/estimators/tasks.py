"""Parts of the estimators that know the task: labels or real targets in, labels or real values out."""

from dataclasses import fields
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from localmkl._checks import check_number, check_option, is_missing
from localmkl._types import Array, Floats, Rows, Targets
from localmkl.estimators.groups import with_groups
from localmkl.estimators.probabilities import WithLogLoss, log_probabilities, probabilities
from localmkl.estimators.rows import by_chunks
from localmkl.solvers.losses import CLASSIFICATION, REGRESSION, Loss, PiecewiseLinear

ALIKE = 1e-12
"""Targets that differ by no more than this share of their size are all alike: the rest may be rounding."""

ENORMOUS = 1e75
"""Targets beyond this, or below its inverse, have no unit: products of costs and kernels might overflow."""


class LossPart:
    """The loss, by its name or as an object: what it needs to know is a parameter of the same name."""

    loss: Any
    _losses: dict[str, Any]
    _losses_elsewhere: dict[str, Any]

    def _check_parameters(self) -> None:
        super()._check_parameters()  # type: ignore[misc]
        fits = isinstance(self.loss, Loss) and not isinstance(
            self.loss, tuple(self._losses_elsewhere.values())
        )
        if not fits:
            check_option("loss", self.loss, tuple(self._losses))

    @property
    def _loss(self) -> Loss:
        """The loss that the parameters ask for."""
        if isinstance(self.loss, Loss):
            return self.loss
        kind = self._losses[self.loss]
        return kind(**{field.name: float(getattr(self, field.name)) for field in fields(kind)})

    def score(self, X: Rows, y: Targets, sample_weight: Targets = None, groups: Targets = None) -> float:
        """Return the accuracy of a classifier, or the R2 of a regressor.

        Parameters
        ----------
        X : rows, or cross-Grams when precomputed
            The samples.
        y : array-like of shape (n_samples,)
            The truth.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.
        groups : array-like of shape (n_samples,), optional
            Their groups, for ``gate="groups"``.

        Returns
        -------
        float
            The score.
        """
        return super().score(with_groups(X, groups), y, sample_weight)  # type: ignore[misc]


class ClassifierPart(LossPart, ClassifierMixin):
    """Labels in, labels out: one problem for two classes, one-versus-all for more."""

    loss: Any = "hinge"
    class_weight: Any = None

    _losses, _losses_elsewhere = CLASSIFICATION, REGRESSION
    _described = {  # noqa: RUF012
        "loss": """{"hinge", "squared_hinge", "log_loss"} or Loss, default="hinge"
    The cost of a decision f for a label y of -1 or +1: ``max(0, 1 - y f)``, its square, or
    ``log(1 + exp(-y f))``, with which the model has probabilities. An object of a class of one's own,
    derived from `PiecewiseLinear` or `Smooth` of `localmkl.solvers.losses`, will do too.""",
    }

    def _check_y(self, y: Targets) -> Array:
        if y is None:
            raise ValueError(
                "This classifier requires y to be passed, but the target y is None; pass the labels."
            )
        y = column_or_1d(y, warn=True)
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity; every sample needs a label.")
        if y.dtype == object and any(is_missing(label) for label in y):
            raise ValueError("Input y contains missing labels (None or NaN); remove those rows.")
        check_classification_targets(y)
        return y

    def _targets(self, y: Array, sample_weight: Floats | None) -> tuple[Floats, Floats]:
        self.classes_, codes = np.unique(y, return_inverse=True)
        counted = codes if sample_weight is None else codes[sample_weight > 0.0]
        if len(np.unique(counted)) < 2:
            only = self.classes_.tolist()[counted[0]] if len(counted) else None
            raise ValueError(
                "Classification needs samples of at least 2 classes with positive weight, got one "
                f"class: {only!r}."
            )
        weight_of = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        if not (np.isfinite(weight_of).all() and weight_of.min() > 0.0):
            raise ValueError(f"`class_weight` must hold positive numbers, got {self.class_weight!r}.")
        costs = weight_of[codes]
        costs = costs if sample_weight is None else costs * sample_weight
        positive = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        targets = np.stack([np.where(codes == k, 1.0, -1.0) for k in positive])
        return targets, np.broadcast_to(costs, targets.shape)

    def _unit(self, targets: Floats, sample_weight: Floats | None) -> float:
        """Return the unit that targets are measured in."""
        return 1.0

    @by_chunks
    def decision_function(self, X: Rows, groups: Targets = None) -> Floats:
        """Return the decision value of each sample.

        Parameters
        ----------
        X : rows, or cross-Grams when precomputed
            The samples.
        groups : array-like of shape (n_samples,), optional
            Their groups, for ``gate="groups"``.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_classes) with more than two classes
            Positive values speak for ``classes_[1]``; of several classes the largest wins.
        """
        return self._decide(with_groups(X, groups))

    @by_chunks
    def predict(self, X: Rows, groups: Targets = None) -> Array:
        """Return the predicted class of each sample.

        Parameters
        ----------
        X : rows, or cross-Grams when precomputed
            The samples.
        groups : array-like of shape (n_samples,), optional
            Their groups, for ``gate="groups"``.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels out of ``classes_``.
        """
        decisions = self._decide(with_groups(X, groups))
        if decisions.ndim == 1:
            return self.classes_[(decisions > 0.0).astype(int)]
        return self.classes_[decisions.argmax(axis=1)]

    @WithLogLoss
    @by_chunks
    def predict_proba(self, X: Rows, groups: Targets = None) -> Floats:
        """Return the probability of each class, where the loss is ``"log_loss"``.

        Parameters
        ----------
        X : rows, or cross-Grams when precomputed
            The samples.
        groups : array-like of shape (n_samples,), optional
            Their groups, for ``gate="groups"``.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``; rows sum to one. With more than two classes, the
            probabilities of each class against all others, divided by their sum. The largest is
            always that of the class that `predict` returns.
        """
        return probabilities(self._decide(with_groups(X, groups)))

    @WithLogLoss
    @by_chunks
    def predict_log_proba(self, X: Rows, groups: Targets = None) -> Floats:
        """Return the logarithm of each class's probability, where the loss is ``"log_loss"``.

        Parameters
        ----------
        X : rows, or cross-Grams when precomputed
            The samples.
        groups : array-like of shape (n_samples,), optional
            Their groups, for ``gate="groups"``.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Finite also where the probability is too small for a number.
        """
        return log_probabilities(self._decide(with_groups(X, groups)))


class RegressorPart(LossPart, RegressorMixin):
    """Real targets in, real predictions out."""

    C = 1.0
    loss: Any = "epsilon_insensitive"
    epsilon = 0.1
    quantile = 0.5

    _losses, _losses_elsewhere = REGRESSION, CLASSIFICATION
    _described = {  # noqa: RUF012
        "C": """float, default=1.0
    Cost of the loss against the norm of the solution; larger fits the training data closer.""",
        "loss": """{"epsilon_insensitive", "squared_error", "huber", "quantile"} or Loss, \
default="epsilon_insensitive"
    The cost of an error e = y - f: ``max(0, |e| - epsilon)``; ``e^2 / 2``, with which `C` is 1 / alpha of
    scikit-learn's ``KernelRidge``; ``e^2 / 2`` up to epsilon and ``epsilon |e| - epsilon^2 / 2`` beyond; or
    ``max(q e, (q - 1) e)`` with q the `quantile`. An object of a class of one's own, derived from
    `PiecewiseLinear` or `Smooth` of `localmkl.solvers.losses`, will do too.""",
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("epsilon", self.epsilon, low=0.0, finite=True)
        check_number("quantile", self.quantile, low=0, low_open=True, high=1, high_open=True)
        _ = self._loss  # Huber's bend must be positive

    def _check_y(self, y: Targets) -> Array:
        if y is None:
            raise ValueError(
                "This regressor requires y to be passed, but the target y is None; pass the target values."
            )
        y = column_or_1d(y, warn=True)
        try:
            y = y.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"`y` must hold numbers for regression, got text: {error}.") from error
        if not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity; every sample needs a finite target.")
        return y

    def _targets(self, y: Array, sample_weight: Floats | None) -> tuple[Floats, Floats]:
        costs = np.ones(len(y)) if sample_weight is None else sample_weight
        if not costs.sum() > 0.0:
            raise ValueError("`sample_weight` must be positive for at least one sample.")
        return y[None, :], costs[None, :]

    def _unit(self, targets: Floats, sample_weight: Floats | None) -> float:
        """Return the standard deviation of the targets for losses in proportion to errors, else one.

        With targets in other units the model is then the same: of such losses the cost has to grow with the
        unit, as the square of the norm of the solution does with its square.
        """
        if not isinstance(self._loss, PiecewiseLinear):
            return 1.0
        counted = targets[0] if sample_weight is None else targets[0][sample_weight > 0.0]
        largest = np.abs(counted).max()
        if not 1.0 / ENORMOUS < largest < ENORMOUS or not np.ptp(counted) > ALIKE * largest:
            return 1.0
        mean = np.average(targets[0], weights=sample_weight)
        return float(np.sqrt(np.average(np.square(targets[0] - mean), weights=sample_weight)))

    @by_chunks
    def predict(self, X: Rows, groups: Targets = None) -> Array:
        """Return the predicted value of each sample.

        Parameters
        ----------
        X : rows, or cross-Grams when precomputed
            The samples.
        groups : array-like of shape (n_samples,), optional
            Their groups, for ``gate="groups"``.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted targets.
        """
        return self._decide(with_groups(X, groups))
