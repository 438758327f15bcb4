"""Rows in the forms that estimators take them: arrays, sparse rows, frames, sequences; blocks of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar, cast

import numpy as np
from scipy import sparse
from sklearn.utils.parallel import Parallel, delayed

from localmkl._checks import listed
from localmkl._sklearn import count_rows
from localmkl._types import Rows, Targets
from localmkl._warnings import warn
from localmkl.backends.threads import one_blas_thread
from localmkl.views import Views

if TYPE_CHECKING:
    from localmkl.estimators.reading import ReadingPart

Answer = TypeVar("Answer")
Method = TypeVar("Method", bound=Callable[..., Any])

Grams: TypeAlias = Any
"""Of new rows, `NormalizedGrams` or, on features, the `FeatureRows` that stand where these stand."""

BLOCK_ENTRIES = 2**22 + 2**19
"""Entries of one cross-Gram that prediction holds: just more than the C library keeps when they are freed."""

DEVICE_ENTRIES = 2**26
"""The same on a device."""


THREAD_ENTRIES = 2**20
"""The same of each of several threads: 8 MB stay near the cores while a kernel goes over them five times."""


FEWEST_COLUMNS = 256
"""Columns that blocks for threads are made for at least: what kernels take of the rows also has its size."""


def row_blocks(n_rows: int, n_columns: int, *, entries: int | None = None) -> list[slice]:
    """Return slices over the rows whose cross-Gram stays small: `BLOCK_ENTRIES` unless said otherwise."""
    step = max(1, (BLOCK_ENTRIES if entries is None else entries) // max(n_columns, 1))
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def over_blocks(
    function: Callable[[slice], Answer], blocks: Sequence[slice], n_threads: int
) -> Iterable[Answer]:
    """Return, in order, what a function of a slice of rows returns for each; one by one unless in threads."""
    if n_threads == 1:
        return (function(rows) for rows in blocks)
    with one_blas_thread():
        tasks = (delayed(function)(rows) for rows in blocks)
        return Parallel(n_jobs=n_threads, require="sharedmem", batch_size=1)(tasks)


def concatenate_rows(X: Rows, other: Rows) -> Rows:
    """Return the rows of `X` followed by those of `other`."""
    if hasattr(X, "iloc"):
        import pandas as pd

        return pd.concat([X, other], axis=0)
    if isinstance(X, Views):
        return X.followed_by(other)
    if sparse.issparse(X):
        return sparse.vstack([X, other], format="csr")
    return np.concatenate([X, other])


def num_columns(X: Rows) -> int:
    """Return the numbers that a row takes, a sparse one about, of views the widest; none of other rows."""
    if isinstance(X, Views):
        return max(num_columns(table) for table in X.tables.values())
    if sparse.issparse(X):
        return 2 * X.nnz // max(X.shape[0], 1)  # an entry and its place
    return X.shape[1] if len(getattr(X, "shape", ())) == 2 else 0


def check_views(model: ReadingPart, X: Views, *, reset: bool) -> Views:
    """Return views checked: those of the fit by name, their columns in its order."""
    if len(X) == 0:
        raise ValueError("The views must hold at least one sample, got none.")
    lonely = np.flatnonzero(X.share(X.names) == 0.0)
    if len(lonely):
        raise ValueError(
            f"Every sample must have at least one view, got none for {listed(lonely)}; leave them out."
        )
    if reset:
        model.views_ = {name: X.columns(name) for name in X.names}
        model.n_features_in_ = len(X.names)
        return X
    expected = getattr(model, "views_", None)
    if expected is None:
        raise ValueError("The rows must be a table, as those of the fit were, got `Views`.")
    lacking, other = (
        [n for n in one if n not in two] for one, two in ((expected, X.names), (X.names, expected))
    )
    if lacking or other:
        said = [f"no {listed(lacking)}"] * bool(lacking) + [f"also {listed(other)}"] * bool(other)
        raise ValueError(
            f"The views must be those of the fit, {listed(list(expected))}, got {' and '.join(said)}; a view "
            "that no new sample has is None."
        )
    unread = np.flatnonzero(X.share(model.kernels_[0].views) == 0.0)
    if len(unread):
        warn(f"The model reads no view that samples {listed(unread)} have; they get its intercept alone.")
    return X.arranged(expected)


def in_chunks(X: Rows) -> bool:
    """Whether rows are a dask array or data frame; dask is not imported to find that out."""
    return hasattr(X, "__dask_graph__")


def cluster() -> ModuleType:
    """Return the package that works on rows in chunks: it knows estimators, and they must not know it."""
    return import_module("localmkl.cluster")


def refuse_groups() -> NoReturn:
    """Raise: rows in chunks take no groups beside them."""
    raise ValueError(
        "Groups of rows on a cluster must be one of their columns, got `groups` beside the rows; name the "
        "column as the parameter `groups` of the estimator."
    )


def by_chunks(method: Method) -> Method:
    """Return a method of rows that answers rows in chunks by a dask array with these chunks."""

    @wraps(method)
    def ask(self: Any, X: Rows, groups: Targets = None) -> Any:
        if in_chunks(X):
            if groups is not None:
                refuse_groups()
            return cluster().predict(self, X, method.__name__)
        return method(self, X, groups)

    return cast("Method", ask)


def is_stack(X: Rows) -> bool:
    """Whether an array, or a list of them, holds Grams of several kernels."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and getattr(X[0], "ndim", 0) == 2
    return getattr(X, "ndim", 0) == 3


def are_strings(X: Rows) -> bool:
    """Whether rows are text."""
    if not isinstance(X, list | tuple | np.ndarray) or count_rows(X) == 0:
        return False
    return isinstance(X[0], str | bytes)
