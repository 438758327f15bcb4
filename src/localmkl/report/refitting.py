"""Refits on halves of the training rows: how far shares vary, and whether clusters come back."""

import time
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from localmkl._checks import check_integer
from localmkl._types import MaybeNone
from localmkl.estimators.convex import ConvexMKL
from localmkl.estimators.groups import Grouped, rows_of
from localmkl.inference import Stability, stability
from localmkl.kernels.stack import take_rows

FEWEST = 20
"""Refits from which on quantiles at 5 % and 95 % are more than the extremes."""

USUAL, SECONDS, MOST = 60, 60.0, 3000
"""Refits by default, how long they may take, and rows from which on they are not tried."""


def check_resamples(wanted: int | None) -> None:
    """Raise unless a number of refits is none, or pairs of halves, enough for intervals."""
    if wanted is None:
        return
    check_integer("stability", wanted, low=0)
    if wanted and (wanted < FEWEST or wanted % 2):
        raise ValueError(f"`stability` must be 0, or an even number from {FEWEST} on, got {wanted}.")


def refit(subject: Any, wanted: int | None, verbose: int = 0) -> Stability | MaybeNone:
    """Return the refits of a model; None where it cannot be refitted, or by default takes too long."""
    model, train = subject.model, subject.train
    if wanted == 0 or (wanted is None and (subject.grouped or not subject.local)):
        return None
    if not isinstance(model, ConvexMKL) or hasattr(model, "features_"):
        return None
    if train is None or train[1] is None or getattr(model, "transductive_", False):
        return None
    X, y = train
    if wanted is None and len(y) > MOST:
        return None
    groups = X.groups if isinstance(X, Grouped) else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # halves may be too few for this and that; the page says how many
        if wanted is None and _seconds_of_a_refit(model, X, y) * USUAL > SECONDS:
            return None
        try:
            return stability(
                model,
                rows_of(X),
                y,
                n_resamples=USUAL if wanted is None else wanted,
                groups=groups,
                random_state=subject.seed,
                verbose=verbose,
            )
        except ValueError as error:
            subject.remarks.append(f"The model was not refitted on halves. {error}")
            return None


def _seconds_of_a_refit(model: Any, X: Any, y: Any) -> float:
    """Return how long a fit on half of the rows takes."""
    half = np.random.default_rng(0).permutation(len(y))[: len(y) // 2]
    start = time.perf_counter()
    try:
        clone(model).fit(take_rows(X, half), np.asarray(y)[half])
    except ValueError:
        return np.inf
    return time.perf_counter() - start
