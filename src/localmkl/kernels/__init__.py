"""Raw data in, Gram matrices out.

The names below are imported on first use: reading a file needs no kernel.
"""

from importlib import import_module
from typing import TYPE_CHECKING

_HOME = {
    "ALPHABETS": "alphabets",
    "CallableKernel": "vectors",
    "Chi2": "histograms",
    "Cosine": "vectors",
    "CrossGrams": "stack",
    "FactorStack": "stack",
    "FeatureMap": "features",
    "GappedKmer": "sequences",
    "GramStack": "stack",
    "HistogramIntersection": "histograms",
    "Kernel": "vectors",
    "Linear": "vectors",
    "Mismatch": "sequences",
    "NORMALIZATIONS": "stack",
    "Overlap": "categories",
    "Polynomial": "vectors",
    "PropertyProfile": "properties",
    "PseudoAminoAcid": "properties",
    "RBF": "vectors",
    "ResidueGroups": "properties",
    "SequenceKernel": "sequences",
    "SmithWaterman": "alignment",
    "Spectrum": "sequences",
    "Tanimoto": "histograms",
    "TfIdf": "texts",
    "VectorKernel": "vectors",
    "WeightedDegree": "sequences",
    "compute_stack": "stack",
    "default_kernels": "vectors",
    "fit_features": "features",
    "fit_kernels": "stack",
}

__all__ = list(_HOME)

if TYPE_CHECKING:
    from localmkl.kernels.alignment import SmithWaterman  # noqa: F401
    from localmkl.kernels.alphabets import ALPHABETS  # noqa: F401
    from localmkl.kernels.categories import Overlap  # noqa: F401
    from localmkl.kernels.features import FeatureMap, fit_features  # noqa: F401
    from localmkl.kernels.histograms import Chi2, HistogramIntersection, Tanimoto  # noqa: F401
    from localmkl.kernels.properties import PropertyProfile, PseudoAminoAcid, ResidueGroups  # noqa: F401
    from localmkl.kernels.sequences import GappedKmer, Mismatch, SequenceKernel, Spectrum, WeightedDegree  # noqa: F401
    from localmkl.kernels.stack import (  # noqa: F401
        NORMALIZATIONS,
        CrossGrams,
        FactorStack,
        GramStack,
        compute_stack,
        fit_kernels,
    )
    from localmkl.kernels.texts import TfIdf  # noqa: F401
    from localmkl.kernels.vectors import (  # noqa: F401
        RBF,
        CallableKernel,
        Cosine,
        Kernel,
        Linear,
        Polynomial,
        VectorKernel,
        default_kernels,
    )


def __getattr__(name):
    if name in _HOME:
        return getattr(import_module(f"localmkl.kernels.{_HOME[name]}"), name)
    raise AttributeError(f"module 'localmkl.kernels' has no attribute {name!r}")


def __dir__():
    return sorted(__all__)
