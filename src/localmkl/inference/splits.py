"""Splits of the rows into some to train on and some to score: those given, or random ones of a seed."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit, check_cv

from localmkl._checks import check_integer
from localmkl._types import Array, Rows
from localmkl.model_selection.cells import Fold
from localmkl.model_selection.search import split_into_folds

if TYPE_CHECKING:
    from localmkl.estimators.base import BaseMKL
    from localmkl.model_selection.cells import Fold


N_SPLITS = 20
TEST_SHARE = 0.2


def given_splits(
    cv: Any, model: BaseMKL, X: Rows, y: Array, groups: ArrayLike | None = None
) -> list[Fold] | None:
    """Return the folds of a splitter or of an iterable of pairs; None if `cv` is a number or None."""
    if cv is None:
        return None
    if isinstance(cv, Integral):
        check_integer("cv", cv, low=2)
        return None
    cv = check_cv(cv, y, classifier=is_classifier(model))
    splits = [Fold.of(*each) for each in enumerate(split_into_folds(cv, X, y, groups=groups))]
    if len(splits) < 2:
        raise ValueError(f"`cv` must make at least 2 splits, got {len(splits)}.")
    return splits


def random_folds(n_folds: int, model: BaseMKL, y: Array, seed: int) -> list[Fold]:
    """Return folds that divide the rows, in random order, labels stratified."""
    kind = StratifiedKFold if is_classifier(model) else KFold
    return _folds(kind(int(n_folds), shuffle=True, random_state=seed), y)


def random_splits(model: BaseMKL, y: Array, seed: int, n_splits: int = N_SPLITS) -> list[Fold]:
    """Return many random splits with a fifth of the rows to score, labels stratified."""
    kind = StratifiedShuffleSplit if is_classifier(model) else ShuffleSplit
    return _folds(kind(n_splits, test_size=TEST_SHARE, random_state=seed), y)


def _folds(splitter: Any, y: Array) -> list[Fold]:
    return [Fold.of(*each) for each in enumerate(splitter.split(np.zeros(len(y)), y))]
