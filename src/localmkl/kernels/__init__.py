"""Raw data in, Gram matrices out."""

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
    "NORMALIZATIONS",
    "RBF",
    "CallableKernel",
    "Chi2",
    "CrossGrams",
    "GramStack",
    "HistogramIntersection",
    "Kernel",
    "Linear",
    "Polynomial",
    "VectorKernel",
    "compute_stack",
    "default_kernels",
    "fit_kernels",
]
