"""The few hot functions, each written twice.

`compiled` is numba; the twins in plain NumPy, obvious and slow, are in `reference` (one kernel matrix) and in
`localmkl.stacks.interface` (stacks of them); `factors_compiled` and `factors_reference` are for features.
Importing numba takes a second, so `load` does it on first use.

Functions of stacks read ``grams`` (M, N, N) through optional indices, so that a fold of a cross-validation
reads the one stack in place instead of copying its part of it.
"""

from importlib import import_module
from types import ModuleType

from localmkl.backends.threads import one_blas_thread

__all__ = ["BACKENDS", "load", "one_blas_thread"]

BACKENDS = ("compiled", "reference")


def load(name: str = "compiled", prefix: str = "") -> ModuleType:
    """Return the backend module called `name`, importing it on first use; "factors_" is for features."""
    if name not in BACKENDS:
        raise ValueError(f"`backend` must be one of {BACKENDS}, got {name!r}.")
    return import_module(f"localmkl.backends.{prefix}{name}")
