"""Probabilities out of decisions f, where the loss is the log loss.

    two classes       P(second) = s(f) = 1 / (1 + exp(-f)),   P(first) = s(-f)
    several classes   P(k) = s(f_k) / sum_l s(f_l)

All is computed from logarithms, which are finite whatever f. Where rounding makes probabilities equal that
are not, the largest is lifted by its last digit: the most probable class is always the predicted one.
"""

from collections.abc import Callable
from types import MethodType
from typing import Any

import numpy as np
from scipy.special import log_expit, log_softmax

from localmkl._types import Floats
from localmkl.solvers.losses import CLASSIFICATION, LogLoss


def probabilities(decisions: Floats) -> Floats:
    """Return the probability of each class.

    Parameters
    ----------
    decisions : ndarray of shape (n_samples,) or (n_samples, n_classes)

    Returns
    -------
    ndarray of shape (n_samples, n_classes)

    Examples
    --------
    >>> probabilities(np.array([0.0, 2.0])).round(3)
    array([[0.5  , 0.5  ],
           [0.119, 0.881]])
    >>> probabilities(np.array([[-1000.0, -1001.0, -2000.0]])).round(3)
    array([[0.731, 0.269, 0.   ]])
    """
    return _led_by(_columns(decisions), np.exp(log_probabilities(decisions)))


def log_probabilities(decisions: Floats) -> Floats:
    """Return the logarithm of each class's probability.

    Examples
    --------
    >>> log_probabilities(np.array([-1000.0]))
    array([[   -0., -1000.]])
    """
    scores = _columns(decisions)
    logs = log_expit(scores)
    return _led_by(scores, logs if decisions.ndim == 1 else log_softmax(logs, axis=1))


def _columns(decisions: Floats) -> Floats:
    """Return one column of scores for each class."""
    return np.column_stack([-decisions, decisions]) if decisions.ndim == 1 else decisions


def _led_by(scores: Floats, values: Floats) -> Floats:
    """Lift, in place, the values of the highest scores above those that rounding has made as large."""
    winners = scores.argmax(axis=1)
    rows = np.flatnonzero(values.argmax(axis=1) != winners)
    values[rows, winners[rows]] = np.nextafter(values[rows].max(axis=1), np.inf)
    return values


class WithLogLoss:
    """A method that models have where their loss is the log loss; others say what they lack.

    Of a fitted model the loss of the fit counts, of others the parameter.

    Parameters
    ----------
    method : function
    """

    def __init__(self, method: Callable[..., Floats]) -> None:
        self.method = method
        self.__doc__ = method.__doc__

    def __get__(self, model: Any, owner: type | None = None) -> Callable[..., Floats]:
        """Return the method, or raise AttributeError."""
        if model is None:
            return self.method
        loss = getattr(model, "loss_", model.loss)
        if not has_probabilities(loss):
            raise AttributeError(
                f"{self.method.__name__} needs loss='log_loss', got loss={_name_of(loss)!r}; fit with that "
                "loss, or wrap the model in CalibratedClassifierCV of scikit-learn."
            )
        return MethodType(self.method, model)


def has_probabilities(loss: Any) -> bool:
    """Whether a loss, or one of this name, makes decisions probabilities."""
    return isinstance(loss, LogLoss) or (isinstance(loss, str) and CLASSIFICATION.get(loss) is LogLoss)


def _name_of(loss: Any) -> Any:
    """Return a loss as the parameter of that name would have it."""
    return next((name for name, kind in CLASSIFICATION.items() if type(loss) is kind), loss)
