"""Named views of the same samples: several tables, each of which some samples may lack.

A view is a table of its own rows, and the place in it of every sample, -1 of one that lacks it. Slices choose
samples and copy no table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from numbers import Integral
from typing import Any, NoReturn, Self, TypeAlias

import numpy as np

from localmkl._checks import is_missing, listed
from localmkl._foreign import (
    annotated_rows,
    as_pandas,
    is_anndata,
    is_foreign_frame,
    is_mudata,
    modalities,
)
from localmkl._sklearn import count_rows, take
from localmkl._types import Array, Bools, Floats, Ints, Rows, Table

Columns: TypeAlias = list[str] | int | None
"""Names of a view's columns, or how many there are; None of texts and of an empty view."""

ABSENT = -1
"""Place of a sample that lacks a view."""


class Views:
    """Several views of the same samples, by name; to scikit-learn, a table of rows.

    Pass it as `X` to any estimator or search of localmkl, whose kernels name the `view` they read. A sample
    that lacks a view says nothing through its kernels.

    Parameters
    ----------
    views : dict, list, MuData or AnnData
        By name: an array, a sparse matrix, a data frame (of pandas, polars or pyarrow), an AnnData or a list
        of texts, with one row for each sample; or a pair of rows and of who they belong to, a mask of all
        samples or the places among them. None in a list of texts is a sample that lacks the view, None as a
        view is one that all samples lack. The views of a list are named ``"0"``, ``"1"`` and so on. Those of
        a MuData are its modalities, which samples have by their names. Of an AnnData ``X`` is read, under
        the name ``"X"`` if there is no other, and its variables are found by name; layers and `obsm`, which
        may have been learned from all samples, are for a dict to name: ``{"pca": adata.obsm["X_pca"]}``.
    n_samples : int, optional
        Needed only where no view says it.

    Examples
    --------
    >>> import numpy as np
    >>> rna, site = np.ones((2, 5)), ["colon", "lung", "colon"]
    >>> views = Views({"rna": (rna, [0, 2]), "site": site})
    >>> views
    Views(3 samples: rna 2, site 3)
    >>> views[[1, 2]].present("rna")
    array([False,  True])
    >>> views[[1, 2]].rows("rna").shape
    (1, 5)
    """

    ndim = 2

    def __init__(self, views: Any, n_samples: int | None = None) -> None:
        given, n_samples = _by_name(views, n_samples)
        if not given:
            raise ValueError("`views` must hold at least one view, got none.")
        self.tables, self.headers, who = {}, {}, {}
        for name, view in given.items():
            if not isinstance(name, str) or not name:
                raise ValueError(f"The names of `views` must be text, got {name!r}.")
            self.tables[name], who[name] = _taken_apart(name, view)
            rows = view[0] if isinstance(view, tuple) else view
            if is_anndata(rows):
                self.headers[name] = [str(variable) for variable in rows.var_names]
        n_samples = _count_samples(self.tables, who, n_samples)
        self.places = {name: _places(name, self.tables[name], who[name], n_samples) for name in given}

    @classmethod
    def join(cls, frames: Mapping[str, Any]) -> tuple[Self, Array]:
        """Return views of data frames whose index names the samples, in the order of first appearance.

        Parameters
        ----------
        frames : dict of str to DataFrame or AnnData
            By the names of the views. A sample that a frame does not name lacks its view.

        Returns
        -------
        views : Views
        names : ndarray of shape (n_samples,)
            Of the samples.
        """
        orders = {view: _sample_names(view, frame) for view, frame in frames.items()}
        names = np.array(list(dict.fromkeys(name for own in orders.values() for name in own)), dtype=object)
        number = {name: place for place, name in enumerate(names)}
        pairs = {
            view: (
                frame if is_anndata(frame) else frame.reset_index(drop=True),
                np.array([number[name] for name in orders[view]], dtype=int),
            )
            for view, frame in frames.items()
        }
        return cls(pairs, n_samples=len(names)), names

    @property
    def names(self) -> list[str]:
        """Names of the views."""
        return list(self.tables)

    @property
    def shape(self) -> tuple[int, int]:
        """(number of samples, number of views)."""
        return len(self), len(self.tables)

    def __len__(self) -> int:
        return len(next(iter(self.places.values())))

    def __repr__(self) -> str:
        counts = ", ".join(f"{name} {int(self.present(name).sum())}" for name in self.names)
        return f"Views({len(self)} samples: {counts})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        """Refuse: code that wants one matrix would misread several."""
        raise TypeError(
            "`Views` are not one array; pass them to an estimator of localmkl, or take one by its `rows`."
        )

    def __getitem__(self, key: Any) -> Self:
        """Return the views of some samples; no table is copied."""
        parts = [part for part in key if part is not ...] if isinstance(key, tuple) else [key]
        if len(parts) != 1 or isinstance(parts[0], str):
            raise IndexError(f"Views are sliced by samples, got {key!r}; `rows(name)` gives one of them.")
        chosen: Any = [parts[0]] if isinstance(parts[0], Integral) else parts[0]
        return self._with(places={name: own[chosen] for name, own in self.places.items()})

    def _with(self, **changes: Any) -> Self:
        other = copy(self)
        other.__dict__.update(changes)
        return other

    def present(self, name: str) -> Bools:
        """Return which samples have a view, (n_samples,)."""
        return self.places[name] != ABSENT

    def rows(self, name: str) -> Table:
        """Return the rows of the samples that have a view, in their order."""
        places = self.places[name]
        places = places[places != ABSENT]
        table = self.tables[name]
        if len(places) == count_rows(table) and np.array_equal(places, np.arange(len(places))):
            return table
        return take(table, places)

    def share(self, names: Iterable[str]) -> Floats:
        """Return the share of some views that each sample has, (n_samples,)."""
        return np.mean([self.present(name) for name in names], axis=0)

    def columns(self, name: str) -> Columns:
        """Return the columns of a view: their names, or how many; None of texts and of an empty view."""
        table = self.tables[name]
        if name in self.headers:
            return self.headers[name]
        if hasattr(table, "columns"):
            return [str(column) for column in table.columns]
        return table.shape[1] if len(table.shape) == 2 and table.shape[0] else None

    def arranged(self, expected: Mapping[str, Columns]) -> Self:
        """Return the views in some order, with their columns, by name, in some order too.

        Parameters
        ----------
        expected : dict of str to list, int or None
            What `columns` returned of every view.
        """
        tables = {
            name: _arranged(name, self.tables[name], self.columns(name), wanted)
            for name, wanted in expected.items()
        }
        headers = {
            name: wanted if isinstance(wanted, list) else self.headers[name]
            for name, wanted in expected.items()
            if name in self.headers
        }
        return self._with(
            tables=tables, headers=headers, places={name: self.places[name] for name in expected}
        )

    def with_tables(self, tables: Mapping[str, Table], headers: Mapping[str, list[str]]) -> Self:
        """Return some views of the same samples, each with the same rows in another table.

        Parameters
        ----------
        tables : dict of str to table
        headers : dict of str to list
            Names of the columns, of tables that do not have them.
        """
        places = {name: self.places[name] for name in tables}
        return self._with(tables=dict(tables), headers=dict(headers), places=places)

    def completed(self, names: Iterable[str]) -> Self:
        """Return views of these names, in this order; one that is not here, no sample has."""
        tables = {name: self.tables.get(name, np.empty((0, 0))) for name in names}
        return self._with(
            tables=tables, places={name: self.places.get(name, np.full(len(self), ABSENT)) for name in names}
        )

    def replaced(self, name: str, table: Table) -> Self:
        """Return views with another table of the same rows in the place of one; None: without that view.

        One that is new has a row for each sample.
        """
        tables, places = self.tables | {name: table}, {name: np.arange(len(self))} | self.places
        headers = {other: columns for other, columns in self.headers.items() if other != name}
        if table is None:
            del tables[name], places[name]
        return self._with(tables=tables, headers=headers, places=places)

    def followed_by(self, other: Views) -> Self:
        """Return the views of these samples and then of others."""
        columns = {name: self.columns(name) for name in self.names}
        first, second = self.compact(), other.arranged(columns).compact()
        tables, places = {}, {}
        for name in self.names:
            tables[name] = _stacked(first.tables[name], second.tables[name])
            own, shift = second.places[name], count_rows(first.tables[name])
            places[name] = np.concatenate([first.places[name], np.where(own == ABSENT, ABSENT, own + shift)])
        return self._with(tables=tables, places=places)

    def compact(self) -> Self:
        """Return views whose tables hold no other rows than those of these samples."""
        tables = {name: self.rows(name) for name in self.names}
        places = {}
        for name in self.names:
            present = self.present(name)
            places[name] = np.where(present, np.cumsum(present) - 1, ABSENT)
        return self._with(tables=tables, places=places)


def as_views(X: Rows) -> Rows:
    """Return rows as `Views` where they are a dict, a list of tables, a MuData or an AnnData.

    A frame of polars or pyarrow becomes one of pandas; other rows stay as they are.
    """
    several = isinstance(X, list | tuple) and len(X) > 0 and all(_is_table(one) for one in X)
    if several and all(_is_gram(one) for one in X):
        raise ValueError(
            f"The rows must be tables, got {len(X)} square symmetric arrays; if they are Grams, set "
            "kernels='precomputed', if not, pass Views(...) of them."
        )
    named = isinstance(X, dict) and not hasattr(X, "tocsr")  # a sparse matrix may be a dict
    return Views(X) if named or several or is_mudata(X) or is_anndata(X) else as_pandas(X)


def _is_table(X: Rows) -> bool:
    return len(getattr(X, "shape", ())) == 2 or is_foreign_frame(X)


def _is_gram(X: Rows) -> bool:
    return isinstance(X, np.ndarray) and X.shape[0] == X.shape[1] > 1 and np.array_equal(X, X.T)


def _by_name(views: Any, n_samples: int | None) -> tuple[dict[str, Any], int | None]:
    """Return views by name, and the number of samples as far as it is known."""
    if is_mudata(views):
        return modalities(views), views.shape[0]
    if is_anndata(views):
        return {"X": views}, n_samples
    return dict(views) if isinstance(views, dict) else {str(k): one for k, one in enumerate(views)}, n_samples


def _taken_apart(name: str, view: Any) -> tuple[Table, Array | None]:
    """Return the rows of a view, and who has them: None for all, a mask, or places."""
    if view is None:
        return np.empty((0, 0)), np.empty(0, dtype=int)
    if isinstance(view, tuple):
        if len(view) != 2:
            raise ValueError(
                f"View {name!r} must be rows, or a pair of rows and samples, got {len(view)} parts."
            )
        return _as_rows(name, view[0]), np.asarray(view[1])
    rows = _as_rows(name, view)
    if isinstance(rows, np.ndarray) and rows.ndim == 1:
        present = np.array([not is_missing(one) for one in rows])
        return rows[present], None if present.all() else present
    return rows, None


def _as_rows(name: str, rows: Any) -> Table:
    """Return rows as something that can be sliced."""
    if hasattr(rows, "__dask_graph__"):
        raise ValueError(
            f"View {name!r} must be in memory, got rows of dask; `compute()` them, or pass one dask array or "
            "data frame with the columns of all views."
        )
    rows = annotated_rows(name, rows) if is_anndata(rows) else as_pandas(rows)
    if hasattr(rows, "iloc"):
        return rows.to_frame() if getattr(rows, "ndim", 2) == 1 else rows
    if hasattr(rows, "tocsr"):
        table = rows.tocsr()
        return table if table.dtype.kind == "f" else table.astype(np.float64)  # counts; files keep floats
    array = np.asarray(rows)
    if array.ndim == 1 and array.dtype.kind in "OUS":
        return np.asarray(rows, dtype=object)
    if array.ndim != 2:
        raise ValueError(
            f"View {name!r} must be a table with a row for each sample, or a list of texts, got an array of "
            f"shape {array.shape}; one column of numbers is `x.reshape(-1, 1)`."
        )
    return array


def _count_samples(tables: dict[str, Table], who: dict[str, Array | None], n_samples: int | None) -> int:
    """Return the number of samples, on which all views must agree."""
    said = {} if n_samples is None else {"`n_samples`": int(n_samples)}
    for name, own in who.items():
        if own is None:
            said[f"view {name!r}"] = count_rows(tables[name])
        elif own.dtype == bool:
            said[f"the mask of view {name!r}"] = len(own)
    if not said:
        raise ValueError("`n_samples` must be given where every view has places, and none has all samples.")
    if len(set(said.values())) > 1:
        counts = ", ".join(f"{name} {count}" for name, count in said.items())
        raise ValueError(f"All views must have the same samples, got {counts}; say who has which by pairs.")
    return next(iter(said.values()))


def _places(name: str, table: Table, who: Array | None, n_samples: int) -> Ints:
    """Return the row of each sample in a table."""
    n_rows = count_rows(table)
    if who is None:
        return np.arange(n_rows)
    if who.dtype == bool:
        who = np.flatnonzero(who)
    if who.ndim != 1 or (who.size and who.dtype.kind not in "iu"):
        raise ValueError(f"The samples of view {name!r} must be a mask or places, got {who.dtype}.")
    if len(who) != n_rows:
        raise ValueError(
            f"View {name!r} must have a row for each of its {len(who)} samples, got {n_rows} rows."
        )
    if who.size and (who.min() < 0 or who.max() >= n_samples):
        raise ValueError(
            f"The places of view {name!r} must lie between 0 and {n_samples - 1}, got {who.min()} to "
            f"{who.max()}."
        )
    if len(np.unique(who)) < len(who):
        twice = np.flatnonzero(np.bincount(who) > 1)
        raise ValueError(f"Every sample must be named once by view {name!r}, got {listed(twice)} more often.")
    places = np.full(n_samples, ABSENT)
    places[who] = np.arange(n_rows)
    return places


def _arranged(name: str, table: Table, own: Columns, wanted: Columns) -> Table:
    """Return a table with the columns that are wanted, of those that are its own."""
    if count_rows(table) == 0 or wanted is None:
        return table
    if not isinstance(wanted, list):
        if table.shape[1:] != (wanted,):
            raise ValueError(
                f"View {name!r} must have {wanted} columns, as in the fit, got shape {table.shape}."
            )
        return table
    own = own if isinstance(own, list) else []
    if own == wanted:
        return table
    places, known = {column: place for place, column in enumerate(own)}, set(wanted)
    lacking, other = [c for c in wanted if c not in places], [c for c in own if c not in known]
    if lacking or other or len(own) > len(wanted):
        said = [f"no {listed(lacking)}"] * bool(lacking) + [f"also {listed(other)}"] * bool(other)
        raise ValueError(
            f"View {name!r} must have the columns of the fit, got {' and '.join(said) or 'some twice'}."
        )
    order = [places[column] for column in wanted]
    return table.iloc[:, order] if hasattr(table, "iloc") else table[:, order]


def _stacked(one: Table, other: Table) -> Table:
    """Return the rows of two tables, one after the other."""
    if count_rows(one) == 0 or count_rows(other) == 0:
        return other if count_rows(one) == 0 else one
    if hasattr(one, "iloc"):
        import pandas as pd

        return pd.concat([one, other], axis=0)
    if hasattr(one, "tocsr"):
        from scipy import sparse

        return sparse.vstack([one, other], format="csr")
    return np.concatenate([one, other])


def _sample_names(view: str, frame: Any) -> list[str]:
    if is_foreign_frame(frame):
        raise ValueError(
            f"View {view!r} must have an index of the names of its samples, as frames of pandas have, got a "
            f"{type(frame).__name__} without one; make a frame of pandas of it and set its index."
        )
    names = [str(name) for name in (frame.obs_names if is_anndata(frame) else frame.index)]
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise ValueError(f"Every sample must have one row in view {view!r}, got several of {listed(twice)}.")
    return names
