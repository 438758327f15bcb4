"""The hot functions on sequences in plain NumPy: the oracle of `sequences_compiled`.

Letters are integer codes, negative for letters that match nothing. With m_p = [x_p == y_p] the runs are

    M_1 = m,   M_{k+1}(p) = M_k(p) M_k(p+1),   c_k = sum_p M_k(p)
    K_d = 2 / (d (d + 1)) sum_{k <= d} (d - k + 1) c_k

so that the numerators S_d follow from two running sums: S_d = S_{d-1} + (c_1 + ... + c_d).
"""

import numpy as np


def weighted_degree(codes, other, degrees, shift, out, places=None):
    """Write the weighted-degree Grams of several degrees.

    Parameters
    ----------
    codes : int8 array of shape (n, L)
    other : int8 array of shape (n', L), or None for `codes`
    degrees : int array of shape (M,)
    shift : int
        Matches of one sequence moved by up to this many positions count ``1 / (2 (s + 1))`` in each
        direction, s the number of positions.
    out : float64 array of shape (M, n, n'), or more Grams than these
    places : int array of shape (M,), optional
        Which of the Grams in `out` to write; the first M by default.
    """
    codes = np.asarray(codes, dtype=np.int16)
    other = codes if other is None else np.asarray(other, dtype=np.int16)
    length = codes.shape[1]
    highest = int(np.max(degrees))
    counts = np.zeros((highest, codes.shape[0], other.shape[0]))
    for s in range(-min(shift, length), min(shift, length) + 1):
        left = codes[:, max(s, 0) : length + min(s, 0)]
        right = other[:, max(-s, 0) : length - max(s, 0)]
        runs = (left[:, None, :] == right[None, :, :]) & (left[:, None, :] >= 0)
        weight = 1.0 if s == 0 else 0.5 / (abs(s) + 1)
        for k in range(highest):
            counts[k] += weight * runs.sum(axis=2)
            runs = runs[:, :, :-1] & runs[:, :, 1:]
    totals = np.cumsum(np.cumsum(counts, axis=0), axis=0)
    for m, d in zip(range(len(degrees)) if places is None else places, degrees, strict=True):
        out[m] = totals[d - 1] * (2.0 / (d * (d + 1.0)))


def weighted_degree_diagonal(codes, degrees, shift, out):
    """Write ``k(x, x)`` of several degrees, (M, n)."""
    for i in range(codes.shape[0]):
        one = np.empty((len(degrees), 1, 1))
        weighted_degree(codes[i : i + 1], None, degrees, shift, one)
        out[:, i] = one[:, 0, 0]


def sparse_gram(rows, columns, out):
    """Write the scalar products of sparse rows, (n, n'), into `out`.

    Parameters
    ----------
    rows : tuple (indptr, indices, data) of n sparse rows (CSR)
    columns : tuple (indptr, indices, data): for each feature, which of the n' others have it (CSC)
    """
    out[...] = 0.0
    for i in range(out.shape[0]):
        for at in range(rows[0][i], rows[0][i + 1]):
            feature = rows[1][at]
            found = slice(columns[0][feature], columns[0][feature + 1])
            np.add.at(out[i], columns[1][found], rows[2][at] * columns[2][found])
