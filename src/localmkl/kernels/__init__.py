"""Raw data in, Gram matrices out.

The names below are imported on first use: reading a file needs no kernel.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    "PseudoAminoAcid": "properties",
    "RBF": "vectors",
    "SequenceKernel": "sequences",
    "Spectrum": "sequences",
    "Tanimoto": "histograms",
    "TfIdf": "texts",
    "VectorKernel": "vectors",
    "WeightedDegree": "sequences",
    "compute_stack": "stack",
    "columns_read": "naming",
    "default_kernels": "defaults",
    "fit_features": "features",
    "fit_kernels": "stack",
    "short_names": "naming",
}

KERNEL_WORDS = {
    "linear": ("Linear", None),
    "poly": ("Polynomial", "degree"),
    "rbf": ("RBF", "factor"),
    "cosine": ("Cosine", None),
    "chi2": ("Chi2", None),
    "intersection": ("HistogramIntersection", None),
    "tanimoto": ("Tanimoto", None),
    "overlap": ("Overlap", None),
    "tfidf": ("TfIdf", "ngrams"),
    "wd": ("WeightedDegree", "degree"),
    "spectrum": ("Spectrum", "k"),
    "mismatch": ("Mismatch", "k"),
    "gapped": ("GappedKmer", "length"),
    "pseaac": ("PseudoAminoAcid", "lag"),
}
"""Word: (class, the parameter that tells kernels of it apart). Here, because reading it needs no kernel."""

__all__ = list(_HOME)

if TYPE_CHECKING:  # "as" is how type checkers are told that these are public
    from localmkl.kernels.alphabets import ALPHABETS as ALPHABETS
    from localmkl.kernels.categories import Overlap as Overlap
    from localmkl.kernels.defaults import default_kernels as default_kernels
    from localmkl.kernels.features import FeatureMap as FeatureMap
    from localmkl.kernels.features import fit_features as fit_features
    from localmkl.kernels.histograms import Chi2 as Chi2
    from localmkl.kernels.histograms import HistogramIntersection as HistogramIntersection
    from localmkl.kernels.histograms import Tanimoto as Tanimoto
    from localmkl.kernels.naming import columns_read as columns_read
    from localmkl.kernels.naming import short_names as short_names
    from localmkl.kernels.properties import PseudoAminoAcid as PseudoAminoAcid
    from localmkl.kernels.sequences import GappedKmer as GappedKmer
    from localmkl.kernels.sequences import Mismatch as Mismatch
    from localmkl.kernels.sequences import SequenceKernel as SequenceKernel
    from localmkl.kernels.sequences import Spectrum as Spectrum
    from localmkl.kernels.sequences import WeightedDegree as WeightedDegree
    from localmkl.kernels.stack import NORMALIZATIONS as NORMALIZATIONS
    from localmkl.kernels.stack import CrossGrams as CrossGrams
    from localmkl.kernels.stack import FactorStack as FactorStack
    from localmkl.kernels.stack import GramStack as GramStack
    from localmkl.kernels.stack import compute_stack as compute_stack
    from localmkl.kernels.stack import fit_kernels as fit_kernels
    from localmkl.kernels.texts import TfIdf as TfIdf
    from localmkl.kernels.vectors import RBF as RBF
    from localmkl.kernels.vectors import CallableKernel as CallableKernel
    from localmkl.kernels.vectors import Cosine as Cosine
    from localmkl.kernels.vectors import Kernel as Kernel
    from localmkl.kernels.vectors import Linear as Linear
    from localmkl.kernels.vectors import Polynomial as Polynomial
    from localmkl.kernels.vectors import VectorKernel as VectorKernel


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"localmkl.kernels.{_HOME[name]}"), name)
    raise AttributeError(f"module 'localmkl.kernels' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
