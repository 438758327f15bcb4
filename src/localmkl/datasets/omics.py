"""Views and what is known of their samples, from files of AnnData (.h5ad) and MuData (.h5mu)."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from localmkl._checks import is_missing, listed
from localmkl._resources import require_memory
from localmkl._types import FilePath
from localmkl.datasets.opening import check_regular, file_kind, import_extra, parsing, quoted
from localmkl.views import Views

if TYPE_CHECKING:
    from pandas import DataFrame, Series


READERS = {".h5ad": ("anndata", "read_h5ad"), ".h5mu": ("mudata", "read_h5mu")}
"""Ending of a file: the package, and the function in it, that reads it."""


class OmicsData(NamedTuple):
    """Views of the same samples, and a table of what else is known of them.

    Attributes
    ----------
    views : Views
    obs : pandas.DataFrame
        A row for each sample.
    names : ndarray of str, shape (n_samples,)
    """

    views: Views
    obs: DataFrame
    names: np.ndarray


def read_views(path: FilePath) -> OmicsData:
    """Read views from a file of AnnData or MuData (extra ``omics``).

    Nothing in the file is executed: both are plain HDF5.

    Parameters
    ----------
    path : str or path-like
        ``.h5ad``, whose ``X`` is the one view, called ``"X"``; or ``.h5mu``, whose modalities are views. A
        sample that a modality does not name lacks its view.

    Returns
    -------
    OmicsData
        Named tuple (views, obs, names). Columns of `obs` are as the file calls them, those that MuData takes
        from a modality ``"rna:batch"`` for instance; its index are the names. What is no number is
        an object, None where it is missing.

    Examples
    --------
    >>> import anndata
    >>> import pandas as pd
    >>> import tempfile
    >>> obs = pd.DataFrame({"site": ["colon", "lung"]}, index=["p1", "p2"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     anndata.AnnData(np.ones((2, 3)), obs=obs).write_h5ad(Path(folder) / "rna.h5ad")
    ...     views, obs, names = read_views(Path(folder) / "rna.h5ad")
    >>> views, obs["site"].tolist(), names.tolist()
    (Views(2 samples: X 2), ['colon', 'lung'], ['p1', 'p2'])
    """
    path = Path(path)
    if file_kind(path) != path.suffix.lower() or file_kind(path) not in READERS:
        raise ValueError(f"{quoted(path)} must end in .h5ad or .h5mu, got {''.join(path.suffixes)!r}.")
    package, reader = READERS[file_kind(path)]
    read = getattr(import_extra(package, f"read_views for {path.suffix} files", "omics"), reader)
    _require_room(path)
    with parsing(path, f"is cut short or damaged, or no file of {package}"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of coming versions, and of names, which are looked at below
        data = read(path)
    names = np.array([str(name) for name in data.obs_names], dtype=object)
    if len(names) == 0 or data.obs_names.has_duplicates:
        came = f"several of {listed(names[data.obs_names.duplicated()])}" if len(names) else "none"
        raise ValueError(f"{quoted(path)} must have one row for each sample, got {came}.")
    with parsing(path, "holds no views"):
        views = Views(data)
    return OmicsData(views, _columns(data).apply(_plain), names)


def _columns(data: Any) -> DataFrame:
    """Return what is known of samples: where modalities have columns of their own, as "modality:column" too.

    Some versions of mudata put these there when they read a file, others do not.
    """
    obs = data.obs
    own = {
        f"{name}:{column}": part.obs[column].reindex(obs.index)
        for name, part in getattr(data, "mod", {}).items()
        for column in part.obs
    }
    return obs.assign(**{name: column for name, column in own.items() if name not in obs})


def _require_room(path: FilePath) -> None:
    """Raise unless all that an HDF5 file holds can be had in memory: a few bytes may unpack to very many."""
    import h5py

    check_regular(path)
    sizes = []
    with parsing(path, "is cut short or damaged, or no HDF5 file"), h5py.File(path, "r") as file:
        file.visititems(lambda _, item: sizes.append(getattr(item, "nbytes", 0)))
    require_memory(sum(sizes), f"Reading {quoted(path)}", "keep fewer samples, layers or variables")


def _plain(column: Series) -> Series:
    """Return a column of NumPy: NaN among numbers, None among objects that are missing."""
    if isinstance(column.dtype, np.dtype):
        return column
    if getattr(column.dtype, "kind", "O") in "iuf":
        return column.astype(np.float64 if column.isna().any() else column.dtype.numpy_dtype)
    cells = [None if is_missing(value) else value for value in column.tolist()]
    return type(column)(cells, index=column.index, dtype=object)
