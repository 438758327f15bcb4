"""Multiple kernel learning whose kernel weights may differ from region to region.

The names below are imported on first use, so that ``import localmkl`` and the command line stay quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOME = {
    "CLMKLClassifier": "estimators",
    "CLMKLRegressor": "estimators",
    "GramStack": "kernels",
    "HLMKLClassifier": "estimators",
    "HLMKLRegressor": "estimators",
    "LMKLClassifier": "estimators",
    "LMKLRegressor": "estimators",
    "MKLClassifier": "estimators",
    "MKLRegressor": "estimators",
    "UniformMKLClassifier": "estimators",
    "UniformMKLRegressor": "estimators",
    "Views": "views",
    "load": "persistence",
    "save": "persistence",
}

__all__ = [*_HOME, "__version__"]

if TYPE_CHECKING:
    from localmkl.estimators import (  # noqa: F401
        CLMKLClassifier,
        CLMKLRegressor,
        HLMKLClassifier,
        HLMKLRegressor,
        LMKLClassifier,
        LMKLRegressor,
        MKLClassifier,
        MKLRegressor,
        UniformMKLClassifier,
        UniformMKLRegressor,
    )
    from localmkl.kernels import GramStack  # noqa: F401
    from localmkl.persistence import load, save  # noqa: F401
    from localmkl.views import Views  # noqa: F401


def __getattr__(name):
    if name in _HOME:
        return getattr(import_module(f"localmkl.{_HOME[name]}"), name)
    raise AttributeError(f"module 'localmkl' has no attribute {name!r}")


def __dir__():
    return sorted(__all__)
