"""Raw data in, Gram matrices out."""

from localmkl.kernels.alignment import SmithWaterman
from localmkl.kernels.alphabets import ALPHABETS
from localmkl.kernels.properties import PropertyProfile, PseudoAminoAcid, ResidueGroups
from localmkl.kernels.sequences import GappedKmer, Mismatch, SequenceKernel, Spectrum, WeightedDegree
from localmkl.kernels.stack import (
    NORMALIZATIONS,
    CrossGrams,
    GramStack,
    compute_stack,
    fit_kernels,
)
from localmkl.kernels.vectors import (
    RBF,
    CallableKernel,
    Chi2,
    HistogramIntersection,
    Kernel,
    Linear,
    Polynomial,
    VectorKernel,
    default_kernels,
)

__all__ = [
    "ALPHABETS",
    "NORMALIZATIONS",
    "RBF",
    "CallableKernel",
    "Chi2",
    "CrossGrams",
    "GappedKmer",
    "GramStack",
    "HistogramIntersection",
    "Kernel",
    "Linear",
    "Mismatch",
    "Polynomial",
    "PropertyProfile",
    "PseudoAminoAcid",
    "ResidueGroups",
    "SequenceKernel",
    "SmithWaterman",
    "Spectrum",
    "VectorKernel",
    "WeightedDegree",
    "compute_stack",
    "default_kernels",
    "fit_kernels",
]
