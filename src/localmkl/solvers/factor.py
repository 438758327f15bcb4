"""Cholesky factors of matrices that are positive semidefinite but for rounding."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

JITTER = 1e-13
"""First multiple of the mean diagonal entry that is added to the diagonal."""


@dataclass(frozen=True)
class Factor:
    """A Cholesky factor U of a positive semidefinite matrix A = U'U, jitter added where needed."""

    upper: np.ndarray

    def solve(self, right):
        """Return A^-1 right."""
        return dpotrs(self.upper, right, lower=False)[0]

    def half_solve(self, right):
        """Return U'^-1 right: its columns have the inner products right' A^-1 right."""
        return dtrtrs(self.upper, right, lower=False, trans=1)[0]

    def other_half_solve(self, right):
        """Return U^-1 right."""
        return dtrtrs(self.upper, right, lower=False)[0]


def factorise(make):
    """Return the `Factor` of the positive semidefinite matrix that `make` returns, in Fortran order.

    Only its upper triangle is read, and it is overwritten; `make` is called again if more jitter is needed.
    """
    jitter = JITTER
    while jitter <= 1.0:
        matrix = make()
        size = float(matrix.trace()) / len(matrix)
        matrix.ravel(order="K")[:: len(matrix) + 1] += jitter * (size if size > 0.0 else 1.0)
        upper, failed = dpotrf(matrix, lower=False, overwrite_a=True, clean=False)
        if not failed:
            return Factor(upper)
        jitter *= 100.0
    raise FloatingPointError("A kernel matrix is not finite or far from positive semidefinite.")
