"""Products and combinations on a GPU that read a stack of Grams once, in Triton; see `on_device`.

A program has a tile of one Gram in its registers, and all that is needed of it is computed from there. Places
are counted in 64 bits: stacks have more than 2^31 numbers.
"""

import torch
import triton
import triton.language as tl

TOGETHER = 4
"""Vectors that are multiplied in one read of the stack."""
TILE = {"rows": 32, "columns": 128}
"""Of the combination ..."""
SUMMED_ROWS, SUMMED_COLUMNS = 16, 256
"""... and of products: sums of a tile's columns, then of tiles."""


def combine(grams, rows, weights, memberships, out):
    """Write the combined kernel of some rows to `out` (n, n), of float64."""
    n, n_clusters = memberships.shape
    kind = grams.dtype
    indices = rows if rows is not None else torch.empty(0, dtype=torch.int64, device=out.device)
    grid = triton.cdiv(n, TILE["rows"]), triton.cdiv(n, TILE["columns"])
    with torch.cuda.device(grams.device):
        _combine[grid](
            grams,
            out,
            memberships.T.to(kind).contiguous(),
            weights.to(kind).contiguous(),
            indices,
            n,
            grams.stride(0),
            grams.stride(1),
            grams.shape[0],
            n_clusters,
            rows is not None,
            TILE["rows"],
            TILE["columns"],
        )
    return out


def products(grams, rows, vectors, out):
    """Write ``K_m u_j`` for the columns u_j of `vectors` (n, l) to `out` (l, M, n)."""
    n, count = vectors.shape
    own = vectors.T.contiguous()
    indices = rows if rows is not None else torch.empty(0, dtype=torch.int64, device=out.device)
    grid = triton.cdiv(n, SUMMED_ROWS), grams.shape[0]
    with torch.cuda.device(grams.device):
        for first in range(0, count, TOGETHER):
            some = min(TOGETHER, count - first)
            _products[grid](
                grams,
                own[first:],
                out[first:],
                indices,
                n,
                grams.stride(0),
                grams.stride(1),
                grams.shape[0],
                some,
                rows is not None,
                SUMMED_ROWS,
                SUMMED_COLUMNS,
            )
    return out


@triton.jit
def _combine(
    grams, out, memberships, weights, indices, n, stride, width, n_kernels, n_clusters,
    indexed: tl.constexpr, n_rows: tl.constexpr, n_columns: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0) * n_rows + tl.arange(0, n_rows)
    k = tl.program_id(1) * n_columns + tl.arange(0, n_columns)
    inside_i, inside_k = i < n, k < n
    inside = inside_i[:, None] & inside_k[None, :]
    if indexed:
        row = tl.load(indices + i, mask=inside_i, other=0)
        column = tl.load(indices + k, mask=inside_k, other=0)
    else:
        row, column = i.to(tl.int64), k.to(tl.int64)
    place = grams + row[:, None] * width + column[None, :]
    total = tl.zeros((n_rows, n_columns), dtype=grams.dtype.element_ty)
    for m in range(n_kernels):
        factor = tl.zeros((n_rows, n_columns), dtype=grams.dtype.element_ty)
        for j in range(n_clusters):
            own = tl.load(weights + j * n_kernels + m)
            left = tl.load(memberships + j * n + i, mask=inside_i, other=0.0)
            right = tl.load(memberships + j * n + k, mask=inside_k, other=0.0)
            factor += (own * left)[:, None] * right[None, :]
        total += factor * tl.load(place, mask=inside, other=0.0)
        place += stride
    target = out + i.to(tl.int64)[:, None] * n + k.to(tl.int64)[None, :]
    tl.store(target, total.to(tl.float64), mask=inside)


@triton.jit
def _products(
    grams, vectors, out, indices, n, stride, width, n_kernels,
    count: tl.constexpr, indexed: tl.constexpr, n_rows: tl.constexpr, n_columns: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(1).to(tl.int64)
    i = tl.program_id(0) * n_rows + tl.arange(0, n_rows)
    inside_i = i < n
    row = tl.load(indices + i, mask=inside_i, other=0) if indexed else i.to(tl.int64)
    start = grams + m * stride + row[:, None] * width
    sum_0 = tl.zeros((n_rows,), dtype=tl.float64)
    sum_1 = tl.zeros((n_rows,), dtype=tl.float64)
    sum_2 = tl.zeros((n_rows,), dtype=tl.float64)
    sum_3 = tl.zeros((n_rows,), dtype=tl.float64)
    for first in range(0, n, n_columns):
        k = first + tl.arange(0, n_columns)
        inside_k = k < n
        column = tl.load(indices + k, mask=inside_k, other=0) if indexed else k.to(tl.int64)
        tile = tl.load(start + column[None, :], mask=inside_i[:, None] & inside_k[None, :], other=0.0)
        tile = tile.to(tl.float64)
        sum_0 += tl.sum(tile * tl.load(vectors + k, mask=inside_k, other=0.0)[None, :], 1)
        if count > 1:
            sum_1 += tl.sum(tile * tl.load(vectors + n + k, mask=inside_k, other=0.0)[None, :], 1)
        if count > 2:
            sum_2 += tl.sum(tile * tl.load(vectors + 2 * n + k, mask=inside_k, other=0.0)[None, :], 1)
        if count > 3:
            sum_3 += tl.sum(tile * tl.load(vectors + 3 * n + k, mask=inside_k, other=0.0)[None, :], 1)
    place, step = out + m * n + i, n_kernels * n
    tl.store(place, sum_0, mask=inside_i)
    if count > 1:
        tl.store(place + step, sum_1, mask=inside_i)
    if count > 2:
        tl.store(place + 2 * step, sum_2, mask=inside_i)
    if count > 3:
        tl.store(place + 3 * step, sum_3, mask=inside_i)
