"""The few hot functions, each written twice with one signature.

`reference` is plain NumPy: obvious, slow, the oracle of the tests and the auditor of every certified
answer. `compiled` is numba. Importing numba takes a second, so `load` does it on first use.

Every function reads a Gram stack ``grams`` (M, N, N') through optional row and column indices, so that
a fold of a cross-validation reads the one stack in place instead of copying its part of it.
"""

from importlib import import_module
from types import ModuleType

from localmkl.backends.threads import one_blas_thread

__all__ = ["BACKENDS", "load", "one_blas_thread"]

BACKENDS = ("compiled", "reference")


def load(name: str = "compiled") -> ModuleType:
    """Return the backend module called `name`, importing it on first use."""
    if name not in BACKENDS:
        raise ValueError(f"`backend` must be one of {BACKENDS}, got {name!r}.")
    return import_module(f"localmkl.backends.{name}")
