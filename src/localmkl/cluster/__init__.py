"""Rows on a cluster, as `dask.array` or `dask.dataframe`: fit, predict and search where they are.

Features, memberships, labels and dual variables stay with their rows, on the workers. What travels has the
size of the kernel weights and of the coefficients of the model; a sample of rows, and the few that are not
settled at the end, do not grow with them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {"fit": "fitting", "predict": "predicting", "Search": "searching"}

__all__ = list(_HOME)

if TYPE_CHECKING:  # "as" is how type checkers are told that these are public
    from localmkl.cluster.fitting import fit as fit
    from localmkl.cluster.predicting import predict as predict
    from localmkl.cluster.searching import Search as Search


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"localmkl.cluster.{_HOME[name]}"), name)
    raise AttributeError(f"module 'localmkl.cluster' has no attribute {name!r}")
