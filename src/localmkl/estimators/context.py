"""The context of a fold: Grams, and what fits on the same training rows have in common.

It is handed to the methods that fit and decide, and kept by none of them. A fit on its own makes one and
drops it, so that cold fits and those of a search are one code path.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from types import BuiltinFunctionType, FunctionType
from typing import Any, TypeVar

import joblib
import numpy as np

from localmkl._types import Ints, MaybeNone, Rows
from localmkl.stacks import Stack

Result = TypeVar("Result")


@dataclass
class FoldContext:
    """Grams for some kernels and their cosine scales, and results under the parameters they depend on.

    Parameters
    ----------
    stack : GramStack, optional
        The Grams of all rows of a search (under cosine normalisation already divided), so that neither
        fit nor prediction computes any; without it the estimator computes its own.
    train : ndarray, optional
        The training rows in `stack`; all of them by default.
    kernels : list, optional
        The kernels, fitted on the training rows.
    cosine_scales : ndarray of shape (n_kernels, n_train), optional
    features : FeatureMap, optional
        Where the stack is one of features, what they come from.
    known : sequence of (rows, ndarray)
        Rows that decisions will be asked for, and their places in `stack`.
    parallel : bool
        Whether reading the stack may use all threads.
    """

    stack: MaybeNone = None
    train: MaybeNone = None
    kernels: MaybeNone = None
    cosine_scales: np.ndarray | None = None
    features: MaybeNone = None
    known: Sequence[tuple[Rows, Ints]] = ()
    parallel: bool = True
    _kept: dict[Any, Any] = field(default_factory=dict)

    def recall(self, what: str, key: Hashable, make: Callable[[], Result]) -> Result:
        """Return the result of ``make()``, now or before; `key` holds all it depends on but the fold."""
        if (what, key) not in self._kept:
            self._kept[what, key] = make()
        return self._kept[what, key]

    def training_stack(self) -> Stack:
        """Return the Grams of the training rows."""
        return self.stack if self.train is None else self.stack[np.ix_(self.train, self.train)]

    def number_of(self, X: Rows) -> int | None:
        """Return the number of known rows; None if `X` is no object that is known."""
        return next((number for number, (rows, _) in enumerate(self.known) if rows is X), None)

    def cross_stack(self, number: int) -> Stack:
        """Return the Grams between known rows and the training rows."""
        return self.stack[np.ix_(self.known[number][1], self.train)]


def parameters_key(model: Any, names: Iterable[str]) -> tuple[Hashable, ...]:
    """Return something hashable that models with equal values of these parameters have in common."""
    return tuple(identity(getattr(model, name)) for name in names)


def identity(value: Any) -> Hashable:
    """Return something hashable that equal values have in common; functions are equal to themselves alone."""
    if isinstance(value, int | float | str | FunctionType | BuiltinFunctionType | None):
        return value
    try:
        return type(value), joblib.hash(value)
    except Exception:  # it cannot be pickled: nothing is equal to it
        return object()
