"""The functions of stacks on tensors of PyTorch, on any device: numbers as they are kept, sums in float64.

    combine        K~ = sum_m (sum_j w_jm c_j c_j') * K_m
    products       V_jm = K_m u_j
    moments        Phi' u_j
    projections    Phi v_j
    curvature      E_jk = Phi' diag(w c_j c_k) Phi

Their twins are `localmkl.stacks.interface` and `localmkl.stacks.factors`, in plain NumPy. `rows` are None or
a tensor of indices. On a GPU the first two read the stack once, in kernels of their own (`fused`).
"""

import torch

BLOCK_ENTRIES = 2**25
"""Numbers that are worked on at a time: a quarter of a gigabyte as float64."""
FEATURE_ROWS = 2**15
"""Rows of features whose sums are added up at a time, at most."""
PANEL = 256
"""Columns of a symmetric matrix that are computed at a time."""
FUSED_ROWS = 512
"""Rows from which on reading the stack once is worth compiled kernels."""


def combine(grams, rows, weights, memberships, out):
    """Write the combined kernel of some rows to `out` (n, n), of float64."""
    if _is_fused(grams, out):
        from localmkl.backends import fused

        return fused.combine(grams, rows, weights, memberships, out)
    own = weights.to(grams.dtype)
    for part in _blocks(len(out), grams.shape[0] * grams.shape[2]):
        block = _block(grams, part if rows is None else rows[part], rows)
        sums = torch.tensordot(own, block, 1)
        out[part] = 0.0
        for j in range(len(own)):
            out[part].addcmul_(memberships[part, j, None] * memberships[:, j], sums[j].double())
    return out


def products(grams, rows, vectors):
    """Return ``K_m u_j`` for the columns u_j of `vectors` (n, l), as (l, M, n)."""
    n = len(vectors)
    out = vectors.new_empty((vectors.shape[1], grams.shape[0], n))
    if _is_fused(grams, vectors):
        from localmkl.backends import fused

        return fused.products(grams, rows, vectors, out)
    for part in _blocks(n, grams.shape[2]):
        for m in range(grams.shape[0]):
            block = _block(grams[m : m + 1], part if rows is None else rows[part], rows)[0]
            out[:, m, part] = (block.double() @ vectors).T
    return out


def n_terms(grams, n_rows):
    """Return the additions behind an entry of `products`: in tiles, and of tiles, where it is fused."""
    if not _is_fused(grams, range(n_rows)):
        return n_rows
    from localmkl.backends import fused

    return fused.SUMMED_COLUMNS + -(-n_rows // fused.SUMMED_COLUMNS)


def moments(table, rows, vectors):
    """Return ``Phi' u_j`` for the columns u_j of `vectors` (n, k), as (k, R)."""
    sums = vectors.new_zeros((vectors.shape[1], table.shape[1]))
    for part in feature_blocks(len(vectors), table.shape[1]):
        sums += vectors[part].T @ _features(table, rows, part).double()
    return sums


def projections(table, rows, columns, n_rows):
    """Return ``Phi v_j`` for `columns` v_j (R, k), as (n, k)."""
    out = columns.new_empty((n_rows, columns.shape[1]))
    for part in feature_blocks(n_rows, table.shape[1]):
        torch.matmul(_features(table, rows, part).double(), columns, out=out[part])
    return out


def curvature(table, rows, memberships, weights):
    """Return ``Phi' diag(w c_j c_k) Phi`` of all pairs of clusters, (l, R, l, R), of float64.

    Each is symmetric, and computed from the diagonal on.
    """
    n_clusters, width = memberships.shape[1], table.shape[1]
    out = weights.new_zeros((n_clusters, n_clusters, width, width))
    panels = [slice(start, min(start + PANEL, width)) for start in range(0, width, PANEL)]
    for part in feature_blocks(len(weights), width):
        features = _features(table, rows, part).double()
        for j in range(n_clusters):
            for k in range(j, n_clusters):
                scaled = features * (weights[part] * memberships[part, j] * memberships[part, k])[:, None]
                for own in panels:
                    out[j, k, own, own.start :].addmm_(features[:, own].T, scaled[:, own.start :])
    out = out.triu() + out.triu(1).mT
    for j in range(n_clusters):
        for k in range(j):
            out[j, k] = out[k, j]
    return out.transpose(1, 2)


def feature_blocks(n_rows, width):
    """Return slices of rows whose sums are formed one after the other."""
    step = max(1, min(FEATURE_ROWS, BLOCK_ENTRIES // width))
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def _features(table, rows, part):
    return table[part] if rows is None else table[rows[part]]


def _is_fused(grams, vectors):
    return grams.is_cuda and len(vectors) >= FUSED_ROWS and grams.stride(2) == 1


def _block(grams, part, columns):
    block = grams[:, part]
    return block if columns is None else block[:, :, columns]


def _blocks(n_rows, width):
    step = max(1, BLOCK_ENTRIES // width)
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]
