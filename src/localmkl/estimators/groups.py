"""Known groups: rows that carry their group with them, and the gate that reads it.

    c_j(x) = S(g(x), g_j) / sum_j' S(g(x), g_j')        without a similarity S: one's own group alone

A sample of a group that the fit has not seen belongs to all groups alike.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from localmkl._checks import is_missing, listed
from localmkl._foreign import as_pandas
from localmkl._sklearn import count_rows
from localmkl._types import Array, Floats, Rows, Table, Targets
from localmkl._warnings import warn
from localmkl.estimators.rows import Grams, in_chunks, is_stack, refuse_groups
from localmkl.views import Columns, Views, as_views


@dataclass(frozen=True)
class Grouped:
    """Rows of any kind and the group of each; they are sliced together.

    Parameters
    ----------
    rows : array, sequences, data frame, views or GramStack
    groups : ndarray of shape (n_rows,)
    """

    rows: Any
    groups: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the rows."""
        return getattr(self.rows, "shape", (len(self.groups),))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.groups)

    def __getitem__(self, key: Any) -> "Grouped":
        """Return some rows with their groups; of Grams some rows and columns, as ``numpy.ix_`` says it."""
        own = np.ravel(key[0]) if isinstance(key, tuple) else key
        rows = self.rows.iloc[key] if hasattr(self.rows, "iloc") else self.rows[key]
        return Grouped(rows, self.groups[own])


def with_groups(X: Rows, groups: Targets) -> Rows:
    """Return rows together with their groups, if there are any."""
    X = as_views(X) if isinstance(X, dict) else as_pandas(X)
    if groups is None:
        return X
    if in_chunks(X):
        refuse_groups()
    if isinstance(X, list | tuple) and len(X) and isinstance(X[0], str | bytes):
        X = np.asarray(X, dtype=object)
    groups = as_groups(groups)
    n_rows = count_rows(X[0] if is_stack(X) else X)  # a list of tables may be views or Grams
    if len(groups) != n_rows:
        raise ValueError(f"`groups` must name a group for each of {n_rows} rows, got {len(groups)}.")
    return Grouped(X, groups)


def rows_of(X: Rows) -> Rows:
    """Return rows without their groups."""
    return X.rows if isinstance(X, Grouped) else X


def as_groups(values: Targets) -> Array:
    """Return the names of groups as text, None where there is none; those that read the same are the same.

    Examples
    --------
    >>> as_groups([1.0, 2.0, float("nan")]).tolist(), as_groups(["human", None]).tolist()
    (['1', '2', None], ['human', None])
    """
    values = np.asarray(values, dtype=object)
    if values.ndim != 1:
        raise ValueError(f"`groups` must hold one entry for each row, got an array of shape {values.shape}.")
    return np.array([_as_text(value) for value in values.tolist()], dtype=object)


def _as_text(value: Any) -> str | None:
    if is_missing(value):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip() or None


def take_column(X: Rows, column: Any, columns: Mapping[str, Columns] | None = None) -> tuple[Rows, Array]:
    """Return rows without the column that holds their groups, and these.

    Parameters
    ----------
    X : data frame, array or views
    column : str, int or pair
        Its name, or its number where columns have no names; of views, also (view, column).
    columns : dict, optional
        Columns of the views of the fit: new samples may all lack one.
    """
    X = as_views(X)
    if isinstance(X, Views):
        return _take_from_views(X, column, columns or {name: X.columns(name) for name in X.names})
    if not len(getattr(X, "shape", ())) == 2:
        raise ValueError(
            f"`groups` may name a column of a data frame or array, got {column!r} with rows that have none; "
            "pass `groups=` to fit and predict."
        )
    place = place_of(column, getattr(X, "columns", range(X.shape[1])))
    others = [other for other in range(X.shape[1]) if other != place]
    if hasattr(X, "iloc"):
        return X.iloc[:, others], as_groups(X.iloc[:, place])
    groups = X[:, [place]].toarray().ravel() if sparse.issparse(X) else X[:, place]
    return X[:, others], as_groups(groups)


def place_of(column: Any, names: Iterable[Any]) -> int:
    """Return the number of a column that is given by its name; where columns have none, by its number."""
    names = list(names)
    if column in names:
        return names.index(column)
    if isinstance(column, int) and column < 0 and -column in range(1, len(names) + 1):
        return column + len(names)
    raise ValueError(f"`groups` must be one of the columns {listed(names)}, got {column!r}.")


def _take_from_views(X: Views, column: Any, columns: Mapping[str, Columns]) -> tuple[Views, Array]:
    """Do as `take_column` does; who lacks the view has no group, and a view without other columns goes."""
    view, column = find_column(columns, column)
    groups = np.full(len(X), None, dtype=object)
    has = X.present(view) if view in X.names else np.array(False)  # the check of the views says why not
    single = columns[view] is None or columns[view] in (1, [column])
    if has.any():
        rows = X.rows(view)
        groups[has] = as_groups(rows) if columns[view] is None else take_column(rows, column)[1]
    if single or not has.any():
        return X.replaced(view, None) if single and view in X.names else X, groups
    return X.replaced(view, take_column(X.tables[view], column)[0]), groups


def find_column(columns: Mapping[str, Columns], column: Any) -> tuple[str, Any]:
    """Return view and column that hold the groups.

    Parameters
    ----------
    columns : dict
        Of every view, what `Views.columns` returns; a view of texts is one column with its own name.
    column : str, or pair (view, column)
    """
    if isinstance(column, tuple | list) and len(column) == 2 and column[0] in columns:
        return tuple(column)
    named = [
        view
        for view, own in columns.items()
        if (column in own if isinstance(own, list) else own is None and column == view)
    ]
    if len(named) != 1:
        where = f"in {listed(named)}" if named else "in none"
        raise ValueError(
            f"`groups` must name a column of one view, or (view, column), got {column!r}, which is {where} "
            f"of {listed(list(columns))}."
        )
    return named[0], column


def put_in_views(X: Views, groups: Array, columns: Mapping[str, Columns], column: Any) -> Views:
    """Undo `take_column` of views that had these columns."""
    view, column = find_column(columns, column)
    if view in X.names:
        X = X.compact()
        own: Any = columns[view]  # of texts, which have no columns, no view is left
        place = place_of(column, own if isinstance(own, list) else range(own))
        return X.replaced(view, put_column(X.tables[view], groups[X.present(view)], place, column))
    if isinstance(columns[view], list):
        import pandas as pd

        return X.replaced(view, pd.DataFrame({column: groups}))
    return X.replaced(view, groups.astype(object) if columns[view] is None else groups[:, None].astype(float))


def put_column(rows: Table, groups: Array, place: int, name: Any) -> Table:
    """Undo `take_column`: return rows with a column of groups at its place."""
    if hasattr(rows, "iloc"):
        rows = rows.copy()
        rows.insert(place, name, groups)
        return rows
    column = groups.astype(np.float64)
    if sparse.issparse(rows):
        return sparse.hstack([rows[:, :place], column[:, None], rows[:, place:]], format="csr")
    return np.insert(rows, place, column, axis=1)


class GroupGate:
    """Memberships by known groups.

    Parameters
    ----------
    similarity : None, array, data frame or callable
        How alike groups are, not negative: a matrix in the order of their sorted names, a data frame with the
        names on both sides (and, on its rows, of groups that may come later), or a function of two lists of
        names. None: not at all.
    hard : bool
        Whether everybody belongs to the most similar group alone.

    Attributes
    ----------
    labels : ndarray of str, shape (n_groups,)
        The groups of the fit, sorted.
    """

    tau = evenness = float("nan")

    def __init__(self, similarity: Any, hard: bool) -> None:
        self.similarity, self.hard = similarity, hard

    def fit(self, groups: Array) -> Floats:
        """Learn which groups there are; return the memberships of the training rows."""
        missing = [row for row, group in enumerate(groups) if group is None]
        if missing:
            raise ValueError(
                f"`groups` must name a group for every training row, got none in row {missing[0]}; name one, "
                "or leave the row out."
            )
        self.labels = np.unique(groups.astype(str))
        self.function = self.similarity if callable(self.similarity) else None
        self.known, self.table = self._tabulate()
        del self.similarity
        return self.of_groups(groups)

    @property
    def threadable(self) -> bool:
        """Whether several threads may ask at once: a function of other people's may keep something."""
        return self.function is None

    def _tabulate(self) -> tuple[Array, Floats]:
        """Return groups whose similarities are given, and these, (n_known, n_groups)."""
        labels = self.labels.tolist()
        if self.similarity is None or self.function is not None:
            return self.labels, np.eye(len(labels))
        if hasattr(self.similarity, "loc"):
            frame = self.similarity.rename(index=str, columns=str)
            absent = [name for name in labels if name not in frame.columns or name not in frame.index]
            if absent:
                raise ValueError(
                    f"`gate_kernel` must have a row and a column for each group, got none for {absent[0]!r}."
                )
            known, table = frame.index.to_numpy().astype(str), frame[labels].to_numpy(dtype=np.float64)
        else:
            known, table = self.labels, np.asarray(self.similarity, dtype=np.float64)
        return known, self._check(table, (len(known), len(labels)))

    def _check(self, table: Any, shape: tuple[int, int]) -> Floats:
        if np.shape(table) != shape:
            raise ValueError(
                f"`gate_kernel` must hold one row and column for each of {shape[1]} groups, "
                f"got shape {np.shape(table)}."
            )
        table = np.asarray(table, dtype=np.float64)
        sums = table.sum(axis=1)
        if not (np.isfinite(table).all() and table.min() >= 0.0 and sums.min() > 0.0):
            raise ValueError(
                "`gate_kernel` must hold similarities of groups, none negative and some positive for each."
            )
        return table / sums[:, None]

    def of_groups(self, groups: Array) -> Floats:
        """Return the memberships of samples by their groups, (n, n_groups)."""
        names, inverse = np.unique([group or "" for group in groups], return_inverse=True)
        shares = self._of_names(names)
        if self.hard:
            certain = shares.max(axis=1) > shares.min(axis=1)
            shares[certain] = np.eye(len(self.labels))[shares[certain].argmax(axis=1)]
        return shares[inverse]

    def _of_names(self, names: Array) -> Floats:
        """Return the memberships of groups, (n_names, n_groups)."""
        if self.function is not None:
            shape = len(names), len(self.labels)
            return self._check(self.function(names.tolist(), self.labels.tolist()), shape)
        places = {name: place for place, name in enumerate(self.known.tolist())}
        even = np.full(len(self.labels), 1.0 / len(self.labels))
        return np.array([self.table[places[name]] if name in places else even for name in names.tolist()])

    def strangers(self, groups: Array) -> list[str | None]:
        """Return the groups that nothing is known of, each once, None for those without a group."""
        if self.function is not None:
            return []
        known = set(self.known.tolist())
        return list(dict.fromkeys(group for group in groups.tolist() if group not in known))

    def memberships(self, X: Rows, grams: Grams, rows: slice) -> Floats:
        """Return memberships of a block of new rows, which carry their groups."""
        return self.of_groups(X.groups)


def say_strangers(strangers: list[str | None], shared: bool) -> None:
    """Warn of rows whose groups the fit has not seen."""
    if strangers:
        told = listed([group for group in strangers if group is not None]) or "none"
        part = "the shared part and equal shares of all groups" if shared else "equal shares of all groups"
        warn(f"There are rows of groups that the model has not seen ({told}); they get {part}.")
