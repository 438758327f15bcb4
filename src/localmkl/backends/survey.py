"""One read of each Gram, in the order of its memory, that says how far it is from its transpose.

    d = (K - K') u,   1 <= |u_i| <= 2 at random

An entry that alone in its row differs from its mirror image, by e, gives |d_i| >= e. Several may cancel, but
|d_i| <= t has a probability of at most t / e, whatever they are. Reading a triangle beside its mirror image
takes twice as long. The twin is `plain_survey`.
"""

import numba
import numpy as np

from localmkl.backends.compiled import _FASTMATH, _WORTH_THREADS, _compile
from localmkl.backends.compiling import njit

_SHARES = 8
"""Parts of a Gram that are read side by side; how many there are must not depend on the threads."""


def random_vector(n):
    """Return u, the same for every stack of this size."""
    rng = np.random.default_rng(n)
    return rng.uniform(1.0, 2.0, n) * rng.choice([-1.0, 1.0], n)


def survey(grams, *, parallel=True):
    """Return ``max_i |(K_m - K_m') u|_i``, (M,); not finite if any entry is not.

    Parameters
    ----------
    grams : ndarray of shape (M, n, n)
    parallel : bool
        Whether threads may be used.
    """
    n_kernels, n = grams.shape[:2]
    rights, lefts = np.empty((n_kernels, n)), np.empty((n_kernels, _SHARES, n))
    work = _survey_parallel if parallel and grams.size >= _WORTH_THREADS else _survey_serial
    work(np.asarray(grams), random_vector(n), rights, lefts)
    with np.errstate(invalid="ignore"):
        return np.abs(rights - lefts.sum(axis=1)).max(axis=1)


def plain_survey(grams):
    """Return the same in plain NumPy."""
    u = random_vector(grams.shape[1])
    return np.array([np.abs(gram @ u - u @ gram).max() for gram in grams])


@njit(fastmath=_FASTMATH)
def _four_rows(i, gram, u, rights, left):
    """Write K u of four rows, and add what they give to u'K."""
    g_0, g_1, g_2, g_3 = gram[i], gram[i + 1], gram[i + 2], gram[i + 3]
    u_0, u_1, u_2, u_3 = u[i], u[i + 1], u[i + 2], u[i + 3]
    t_0, t_1, t_2, t_3 = 0.0, 0.0, 0.0, 0.0
    for k in range(len(u)):
        t_0 += g_0[k] * u[k]
        t_1 += g_1[k] * u[k]
        t_2 += g_2[k] * u[k]
        t_3 += g_3[k] * u[k]
        left[k] += g_0[k] * u_0 + g_1[k] * u_1 + g_2[k] * u_2 + g_3[k] * u_3
    rights[i], rights[i + 1], rights[i + 2], rights[i + 3] = t_0, t_1, t_2, t_3


@njit(fastmath=_FASTMATH)
def _one_row(i, gram, u, rights, left):
    row, own, right = gram[i], u[i], 0.0
    for k in range(len(u)):
        right += row[k] * u[k]
        left[k] += row[k] * own
    rights[i] = right


def _survey_loop(grams, u, rights, lefts):
    n_kernels, n_shares, n = lefts.shape
    size = -(-n // n_shares)
    for task in numba.prange(n_kernels * n_shares):
        m, share = np.int64(task) // n_shares, np.int64(task) % n_shares
        left = lefts[m, share]
        left[:] = 0.0
        first, last = min(n, share * size), min(n, (share + 1) * size)
        whole = last - (last - first) % 4
        for i in range(first, whole, 4):
            _four_rows(i, grams[m], u, rights[m], left)
        for i in range(whole, last):
            _one_row(i, grams[m], u, rights[m], left)


_survey_parallel, _survey_serial = _compile(_survey_loop)
