"""Effects: which kernels, and which columns, move the decisions of a model.

A decision f is a sum of contributions. The effect of one of them, g, is its share of the variance of f:

    cov(g, f) / var(f)

Effects sum to one. They are measured on rows, and they are small for a kernel with a large weight that says
nothing about new rows. For a column inside a kernel, g(x) is f(x) - f(x with the column of another row).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.stats import rankdata
from sklearn.base import is_classifier

from localmkl._checks import check_option
from localmkl._sklearn import count_rows
from localmkl._types import Array, Bools, Floats, Ints, Rows
from localmkl.estimators.groups import Grouped, rows_of, with_groups
from localmkl.explain.models import (
    bare_kernels,
    cluster_names,
    kernel_names,
    kernel_views,
    local_memberships,
)
from localmkl.kernels.stack import take_rows
from localmkl.views import Views, as_views

if TYPE_CHECKING:
    from localmkl.estimators.base import BaseMKL

Place = tuple[str | None, int]
"""The view of a column, None where the rows are one table, and its number there."""


@dataclass(frozen=True)
class Effects:
    """Shares of the variance of decisions, by decision, part and kernel (or column).

    Parameters
    ----------
    shares : ndarray of shape (n_decisions, n_parts, n_kernels)
        Over all rows. For kernels they sum to one for each decision.
    within : ndarray of shape (n_decisions, n_parts, n_kernels)
        Among the rows of the part: rows are weighted by their membership. For the shared part, over all rows.
    errors : ndarray of shape (n_decisions, n_parts, n_kernels)
        Standard errors of `within` for other rows of the same kind.
    decisions, parts, kernels : list of str
        Names of classes (one for two classes and for regression), parts, and kernels (or columns).

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(80, random_state=0)[:2]
    >>> found = effects(CLMKLClassifier(random_state=0).fit(X[:60], y[:60]), X[60:])
    >>> found.shares.shape, round(float(found.shares.sum()), 6)
    ((1, 3, 4), 1.0)
    """

    shares: np.ndarray
    within: np.ndarray
    errors: np.ndarray = field(repr=False)
    decisions: list[str]
    parts: list[str]
    kernels: list[str]


def effects(model: BaseMKL, X: Rows, groups: ArrayLike | None = None, *, by: str = "kernel") -> Effects:
    """Return the effect of each kernel or column in each part on the decisions for some rows.

    Parameters
    ----------
    model : fitted estimator
    X : rows, or cross-Grams when precomputed
        Rows that the model was not trained on: training rows flatter flexible kernels.
    groups : array-like of shape (n_samples,), optional
    by : {"kernel", "column"}, default="kernel"
        Effects of the columns of a table (or of the tables among `Views`) need not sum to one: where a kernel
        ties columns together, each has the effect of what it ties.

    Returns
    -------
    Effects
    """
    check_option("by", by, ("kernel", "column"))
    X = with_groups(X, groups)
    places = numbered_columns(X) if by == "column" else {}
    if by == "column" and not places:
        raise ValueError("Effects of columns need a table, got other rows; use by='kernel'.")
    contributions = parts_of(model, X)
    return effects_of(
        column_contributions(model, X, places, contributions) if places else contributions,
        local_memberships(model, model.memberships(X)),
        totals=contributions.sum(axis=(2, 3)),
        decisions=decision_names(model),
        parts=cluster_names(model),
        kernels=list(places) or kernel_names(model),
    )


def effects_of(
    contributions: Floats,
    memberships: Floats | None = None,
    *,
    strata: Ints | None = None,
    totals: Floats | None = None,
    decisions: Sequence[str] | None = None,
    parts: Sequence[str] | None = None,
    kernels: Sequence[str] | None = None,
) -> Effects:
    """Return effects from an array of contributions.

    Parameters
    ----------
    contributions : ndarray of shape (n, n_decisions, n_parts, n_kernels), or without decisions
    memberships : ndarray of shape (n, n_local), optional
        Of the rows in the parts that are not shared. One column fewer than parts: the first part is shared.
    strata : ndarray of int of shape (n,), optional
        Rows that one model decided, such as folds: only differences within a stratum count.
    totals : ndarray of shape (n, n_decisions), optional
        The decisions; by default the sums of the contributions.
    decisions, parts, kernels : sequence of str, optional
        Names.

    Returns
    -------
    Effects

    Examples
    --------
    >>> parts = np.array([[[1.0, 0.1]], [[2.0, -0.1]], [[3.0, 0.1]], [[4.0, -0.1]]])
    >>> effects_of(parts, kernels=["crp", "age"]).shares.round(2)
    array([[[ 1.03, -0.03]]])
    """
    given = np.asarray(contributions, dtype=np.float64)
    given = given[:, None] if given.ndim == 3 else given
    n_rows, n_decisions, n_parts, n_kernels = given.shape
    totals = given.sum(axis=(2, 3)) if totals is None else np.reshape(totals, (n_rows, n_decisions))
    strata = np.zeros(n_rows, dtype=int) if strata is None else strata
    every = np.ones(n_rows)
    shares, errors = variance_shares(given, totals, every, strata)
    within = shares.copy()
    local = every[:, None] if memberships is None else memberships
    for part in range(n_parts - local.shape[1], n_parts) if n_parts > 1 else ():
        own = slice(part, part + 1)
        found = variance_shares(given[:, :, own], totals, local[:, part - n_parts], strata)
        within[:, own], errors[:, own] = found
    return Effects(
        shares=shares,
        within=within,
        errors=errors,
        decisions=list(decisions or (f"decision {p + 1}" for p in range(n_decisions))),
        parts=list(parts or (f"part {j + 1}" for j in range(n_parts))),
        kernels=list(kernels or (f"kernel {m + 1}" for m in range(n_kernels))),
    )


def variance_shares(
    contributions: Floats, totals: Floats, weights: Floats, strata: Ints
) -> tuple[Floats, Floats]:
    """Return shares of the variance of decisions among weighted rows, and their standard errors.

    Parameters
    ----------
    contributions : ndarray of shape (n, n_decisions, ...)
    totals : ndarray of shape (n, n_decisions)
    weights : ndarray of shape (n,)
    strata : ndarray of int of shape (n,)

    Returns
    -------
    shares, errors : ndarray of shape (n_decisions, ...)
        Zero where decisions do not differ.
    """
    shape, totals = contributions.shape[1:], centred(totals, weights, strata)
    parts = centred(contributions.reshape(len(totals), totals.shape[1], -1), weights, strata)
    variance = (weights[:, None] * totals**2).sum(axis=0)
    size = np.where(variance > 0.0, variance, np.inf)[:, None]
    shares = np.einsum("i,ipk,ip->pk", weights, parts, totals, optimize=True) / size
    residual = parts * totals[:, :, None] - shares * (totals**2)[:, :, None]
    errors = np.sqrt(np.einsum("i,ipk->pk", weights**2, residual**2)) / size
    return shares.reshape(shape), errors.reshape(shape)


def centred(values: Floats, weights: Floats, strata: Ints) -> Floats:
    """Return values less their weighted mean in each stratum.

    Examples
    --------
    >>> centred(np.array([1.0, 3.0, 5.0]), np.ones(3), np.array([0, 0, 1]))
    array([-1.,  1.,  0.])
    """
    values = values.astype(np.float64)
    for stratum in np.unique(strata):
        own = strata == stratum
        total = weights[own].sum()
        if total > 0.0:
            values[own] -= np.tensordot(weights[own], values[own], axes=1) / total
    return values


def decision_names(model: BaseMKL) -> list[str]:
    """Return the names of decisions: of two classes the second, of more all, "prediction" of a regressor."""
    if not is_classifier(model):
        return ["prediction"]
    classes = [str(label) for label in model.classes_.tolist()]
    return classes[1:] if len(classes) == 2 else classes


def numbered_columns(X: Rows) -> dict[str, Place]:
    """Return the columns of a table, or of all tables among `Views`, by name; none of other rows.

    Examples
    --------
    >>> numbered_columns(np.zeros((3, 2)))
    {'column 0': (None, 0), 'column 1': (None, 1)}
    """
    X = as_views(rows_of(X))
    if isinstance(X, Views):
        tables = {view: table for view, table in X.tables.items() if not sparse.issparse(table)}
        found = {view: X.columns(view) for view, table in tables.items() if len(np.shape(table)) == 2}
        named = {view: range(own) if isinstance(own, int) else own or [] for view, own in found.items()}
        return {f"{view}: {name}": (view, c) for view, own in named.items() for c, name in enumerate(own)}
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        return {str(name): (None, c) for c, name in enumerate(X.columns)}
    dense = isinstance(X, np.ndarray) and X.ndim == 2
    return {f"column {c}": (None, c) for c in range(X.shape[1])} if dense else {}


def column_values(X: Rows, place: Place) -> Array:
    """Return the cells of a column, None or NaN where they are missing, (n,)."""
    X = as_views(rows_of(X))
    view, number = place
    if view is not None:
        cells = np.full(len(X), np.nan, dtype=object)
        if X.present(view).any():
            cells[X.present(view)] = _cells(X.rows(view), number)
        return cells
    return _cells(X, number)


def _cells(table: Any, number: int) -> Array:
    if hasattr(table, "iloc"):
        return table.iloc[:, number].to_numpy()
    return table[:, number]


def recombined(X: Rows, changes: Sequence[tuple[Place, Ints]]) -> Rows:
    """Return the rows once for each change, one after the other: a column with cells of other rows.

    Rows that have the view of the column take the cell of one that has it.

    Examples
    --------
    >>> recombined(np.array([[1.0, 2.0], [3.0, 4.0]]), [((None, 1), np.array([1, 0]))])
    array([[1., 4.],
           [3., 2.]])
    """
    if isinstance(X, Grouped):
        return Grouped(recombined(X.rows, changes), np.tile(X.groups, len(changes)))
    X = as_views(X)
    n_rows = count_rows(X)
    if not isinstance(X, Views):
        own: Any = [(number, order) for (_, number), order in changes]
        return _with_columns(take_rows(X, np.tile(np.arange(n_rows), len(changes))), n_rows, own)
    X = X[np.tile(np.arange(n_rows), len(changes))].compact()
    for view in dict.fromkeys(of for (of, _), _ in changes):
        present = X.present(view)[:n_rows]
        places = np.cumsum(present) - 1  # of rows among those that have the view
        own = [(number if of == view else None, places[order[present]]) for (of, number), order in changes]
        X = X.replaced(view, _with_columns(X.tables[view], int(present.sum()), own))
    return X


def _with_columns(table: Any, n_rows: int, changes: Sequence[tuple[int | None, Ints]]) -> Any:
    """Return a table of blocks, in each of them one column (or none) with cells of other rows."""
    changed = table.copy()
    by_column: dict[int, Ints] = {}
    for block, (number, order) in enumerate(changes):
        if number is None:
            continue
        rows = by_column.setdefault(number, np.arange(len(changes) * n_rows))
        rows[block * n_rows : (block + 1) * n_rows] = block * n_rows + order
    for number, rows in by_column.items():
        if hasattr(table, "iloc"):
            changed.isetitem(number, table.iloc[:, number].take(rows).to_numpy())
        else:
            changed[:, number] = table[rows, number]
    return changed


def column_contributions(
    model: BaseMKL, X: Rows, places: dict[str, Place], before: Floats, *, n_shuffles: int = 2, seed: int = 0
) -> Floats:
    """Return what each column adds to the decisions for some rows, part by part.

    A kernel that reads one column alone adds its contribution. Of other kernels a column adds what their
    contributions fall by if it takes its value from another row, on average. For a sum of functions of one
    column each, this is the function of the column, centred.

    Parameters
    ----------
    model : fitted estimator
    X : rows, with their groups where the model wants them
    places : dict of str to (view or None, number)
        What `numbered_columns` returned, or some of it.
    before : ndarray of shape (n, n_decisions, n_parts, n_kernels)
        Contributions of the rows.
    n_shuffles : int, default=2
    seed : int, default=0

    Returns
    -------
    ndarray of shape (n, n_decisions, n_parts, n_columns)
    """
    rng, alone = np.random.default_rng(seed), np.array(kernel_columns(model, places))
    found = np.zeros((*before.shape[:3], len(places)))
    for m in np.flatnonzero(alone >= 0):
        found[..., alone[m]] += before[..., m] - before[..., m].mean(axis=0)
    several = np.flatnonzero((alone < 0) & np.any(before != 0.0, axis=(0, 1, 2)))
    if not len(several):
        return found
    rest = copy(model)  # which asks for no kernel without weight
    rest.kernel_weights_ = np.where(np.isin(np.arange(len(alone)), several), model.kernel_weights_, 0.0)
    columns = [place for place in places.values() for _ in range(n_shuffles)]
    changes = [(place, _derangement(_present(X, place[0]), rng)) for place in columns]
    after = parts_of(rest, recombined(X, changes))[..., several].sum(axis=-1)
    after = after.reshape(len(places), n_shuffles, *before.shape[:3]).mean(axis=1)
    return found + before[..., several].sum(axis=-1)[..., None] - np.moveaxis(after, 0, -1)


def kernel_columns(model: BaseMKL, places: dict[str, Place]) -> list[int]:
    """Return the number among the columns of the one that each kernel reads alone, -1 of other kernels.

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> from localmkl.kernels import RBF, Linear
    >>> X = np.eye(4)[:, :2]
    >>> model = MKLClassifier([Linear(), RBF(columns=[1])]).fit(X, [0, 0, 1, 1])
    >>> kernel_columns(model, numbered_columns(X))
    [-1, 1]
    """
    numbers, found = {name: c for c, name in enumerate(places)}, []
    if not places:
        return [-1] * len(model.factors_)
    for kernel, view in zip(bare_kernels(model), kernel_views(model), strict=True):
        own = getattr(kernel, "columns", None)
        only = own[0] if isinstance(own, list | tuple) and len(own) == 1 else own
        named = only if isinstance(only, str) else f"column {only}" if view is None else only
        found.append(numbers.get(str(named) if view is None else f"{view}: {named}", -1))
    return found


def parts_of(model: BaseMKL, X: Rows) -> Floats:
    """Return contributions with an axis for decisions, (n, n_decisions, n_parts, n_kernels)."""
    found = model.contributions(X)
    return found[:, None] if found.ndim == 3 else found


def _present(X: Rows, view: str | None) -> Bools:
    """Return which rows have a view; all have a table."""
    X = rows_of(X)
    return np.ones(count_rows(X), dtype=bool) if view is None else as_views(X).present(view)


def _derangement(present: Bools, rng: np.random.Generator) -> Ints:
    """Return an order in which no row that is present keeps its place: a cycle through all of them."""
    cycle, order = rng.permutation(np.flatnonzero(present)), np.arange(len(present))
    order[cycle] = np.roll(cycle, 1)
    return order


def trend(cells: Array, parts: Floats, least: float = 0.6) -> int | None:
    """Return whether a column raises (1) or lowers (-1) what it adds: the sign of a clear rank correlation.

    Parameters
    ----------
    cells : ndarray of shape (n,)
        Values of a column; words have no trend.
    parts : ndarray of shape (n,)
        What the column adds.
    least : float, default=0.6
        Correlation from which on a trend is clear.

    Returns
    -------
    int or None
        0 if the column adds the same to all rows, None if there is no clear trend.

    Examples
    --------
    >>> trend(np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.4])), trend(np.array([1.0, 2.0]), np.zeros(2))
    (1, 0)
    """
    try:
        cells = cells.astype(np.float64)
    except (TypeError, ValueError):
        return None
    known = np.isfinite(cells)
    if not known.any() or np.ptp(parts[known]) == 0.0:
        return 0
    if np.ptp(cells[known]) == 0.0:
        return None
    found = float(np.corrcoef(rankdata(cells[known]), rankdata(parts[known]))[0, 1])
    return int(np.sign(found)) if abs(found) >= least else None
