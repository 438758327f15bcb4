"""Parts of the estimators that know the task: labels or real targets in, labels or real values out."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from localmkl._checks import check_number
from localmkl.solvers.losses import EpsilonInsensitive, Hinge


class ClassifierPart(ClassifierMixin):
    """Labels in, labels out: one problem for two classes, one-versus-all for more."""

    class_weight: Any = None

    def _check_y(self, y):
        if y is None:
            raise ValueError(
                "This classifier requires y to be passed, but the target y is None; pass the labels."
            )
        y = column_or_1d(y, warn=True)
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity; every sample needs a label.")
        if y.dtype == object and any(_is_missing(label) for label in y):
            raise ValueError("Input y contains missing labels (None or NaN); remove those rows.")
        check_classification_targets(y)
        return y

    def _targets(self, y, sample_weight):
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
        costs = self.C * weight_of[codes]
        costs = costs if sample_weight is None else costs * sample_weight
        positive = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        targets = np.stack([np.where(codes == k, 1.0, -1.0) for k in positive])
        return targets, np.broadcast_to(costs, targets.shape)

    @property
    def _loss(self):
        return Hinge()

    def decision_function(self, X):
        """Return the decision value of each sample.

        Parameters
        ----------
        X : rows, or cross-Grams when precomputed
            The samples.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_classes) with more than two classes
            Positive values speak for ``classes_[1]``; of several classes the largest wins.
        """
        return self._decide(X)

    def predict(self, X):
        """Return the predicted class of each sample.

        Parameters
        ----------
        X : rows, or cross-Grams when precomputed
            The samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels out of ``classes_``.
        """
        decisions = self._decide(X)
        if decisions.ndim == 1:
            return self.classes_[(decisions > 0.0).astype(int)]
        return self.classes_[decisions.argmax(axis=1)]


class RegressorPart(RegressorMixin):
    """Real targets in, real predictions out."""

    epsilon = 0.1

    def _check_parameters(self):
        super()._check_parameters()
        check_number("epsilon", self.epsilon, low=0.0, finite=True)

    def _check_y(self, y):
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

    def _targets(self, y, sample_weight):
        costs = np.full(len(y), float(self.C)) if sample_weight is None else self.C * sample_weight
        if not costs.sum() > 0.0:
            raise ValueError("`sample_weight` must be positive for at least one sample.")
        return y[None, :], costs[None, :]

    @property
    def _loss(self):
        return EpsilonInsensitive(float(self.epsilon))

    def predict(self, X):
        """Return the predicted value of each sample.

        Parameters
        ----------
        X : rows, or cross-Grams when precomputed
            The samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted targets.
        """
        return self._decide(X)


def _is_missing(label):
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA is neither equal nor unequal to anything
        return True
