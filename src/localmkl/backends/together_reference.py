"""Several combined kernels from one read of the stack: what the compiled twin means."""

import numpy as np

from localmkl.backends.reference import combine


def combine_together(grams, rows, weights, memberships):
    """Return the combined kernels K~ of several weights, (B, n, n).

    Parameters
    ----------
    grams, rows, memberships
        As for `reference.combine`.
    weights : ndarray of shape (B, l, M)
    """
    return np.stack([combine(grams, rows, own, memberships) for own in weights])
