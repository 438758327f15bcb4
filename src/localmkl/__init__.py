"""Multiple kernel learning whose kernel weights may differ from region to region.

The names below are imported on first use, so that ``import localmkl`` and the command line stay quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:  # "as" is how type checkers are told that these are public
    from localmkl.estimators import CLMKLClassifier as CLMKLClassifier
    from localmkl.estimators import CLMKLRegressor as CLMKLRegressor
    from localmkl.estimators import HLMKLClassifier as HLMKLClassifier
    from localmkl.estimators import HLMKLRegressor as HLMKLRegressor
    from localmkl.estimators import LMKLClassifier as LMKLClassifier
    from localmkl.estimators import LMKLRegressor as LMKLRegressor
    from localmkl.estimators import MKLClassifier as MKLClassifier
    from localmkl.estimators import MKLRegressor as MKLRegressor
    from localmkl.estimators import UniformMKLClassifier as UniformMKLClassifier
    from localmkl.estimators import UniformMKLRegressor as UniformMKLRegressor
    from localmkl.kernels import GramStack as GramStack
    from localmkl.persistence import load as load
    from localmkl.persistence import save as save
    from localmkl.views import Views as Views


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"localmkl.{_HOME[name]}"), name)
    raise AttributeError(f"module 'localmkl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
