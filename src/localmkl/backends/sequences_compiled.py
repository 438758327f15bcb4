"""The hot functions on sequences in numba: same names and results as in `sequences_reference`.

Letters are packed into bit planes, 64 positions a word, one more plane for "is a letter". A match mask is
XOR and AND over the planes, a run of length k + 1 is ``M & (M >> 1)``, its count a popcount. A tile of
pairs goes through all degrees at once, so that the stack is written once; writing is what costs, so
symmetry is not used.
"""

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from localmkl.backends.compiled import _compile
from localmkl.backends.compiling import njit

WORD = 64
TILE = 256
"""One sequence meets this many others at a time: what that needs stays in the cache."""

SERIAL_ENTRIES = 2**19
"""Fewer numbers than these are written faster than other threads wake up."""


def weighted_degree(codes, other, degrees, shift, out, places=None, *, parallel=True):
    """Write the weighted-degree Grams of several degrees; see `sequences_reference.weighted_degree`."""
    places = range(len(degrees)) if places is None else places
    slots, scales = _plan(degrees, places)
    left = pack(codes)
    right = left if other is None else pack(other, left.shape[0])
    if right.shape[0] > left.shape[0]:
        left = pack(codes, right.shape[0])
    parallel = parallel and out[0].size * len(slots) > SERIAL_ENTRIES
    if shift == 0:
        work = _runs_parallel if parallel else _runs_serial
        work(_rows_first(left), right, slots, scales, out)
    else:
        weights = 0.5 / (np.arange(min(shift, codes.shape[1]) + 1) + 1.0)
        work = _shifted_parallel if parallel else _shifted_serial
        work(_rows_first(left), right, weights, slots, scales, out)
    _copy_repeated(degrees, places, slots, out)


def weighted_degree_diagonal(codes, degrees, shift, out):
    """Write ``k(x, x)`` of several degrees; see `sequences_reference.weighted_degree_diagonal`."""
    places = range(len(degrees))
    slots, scales = _plan(degrees, places)
    weights = 0.5 / (np.arange(min(shift, codes.shape[1]) + 1) + 1.0)
    planes = pack(codes)
    _diagonal(_rows_first(planes), planes, weights, slots, scales, out)
    _copy_repeated(degrees, places, slots, out)


def sparse_gram(rows, columns, out, *, parallel=True):
    """Write the scalar products of sparse rows; see `sequences_reference.sparse_gram`."""
    parallel = parallel and out.size > SERIAL_ENTRIES
    work = _sparse_parallel if parallel else _sparse_serial
    work(*_indexed(*rows), *_indexed(*columns), out)


def _indexed(indptr, indices, data):
    """Return a sparse table's arrays in the one type that is compiled."""
    return (
        np.ascontiguousarray(indptr, dtype=np.int64),
        np.ascontiguousarray(indices, dtype=np.int64),
        np.ascontiguousarray(data, dtype=np.float64),
    )


def pack(codes, n_planes=0):
    """Return bit planes of letters, (n_planes + 1, n_words, n): the last says where a letter is.

    The sequences stand side by side in the last axis, so that one instruction treats several of them.
    """
    highest = int(codes.max(initial=0))
    n_planes = max(n_planes - 1, max(1, highest.bit_length()))
    n_words = max(1, -(-codes.shape[1] // WORD))
    planes = np.zeros((n_planes + 1, n_words, codes.shape[0]), dtype=np.uint64)
    _pack(np.ascontiguousarray(codes), planes)
    return planes


def _rows_first(planes):
    """Return the planes with one sequence after the other, (n, n_planes, n_words)."""
    return np.ascontiguousarray(planes.transpose(2, 0, 1))


def _plan(degrees, places):
    """Return for k = 1 .. max degree which Gram is written then (-1: none), and its factor."""
    highest = int(np.max(degrees))
    slots = np.full(highest, -1, dtype=np.int64)
    for m, d in zip(places, degrees, strict=True):
        if slots[d - 1] < 0:
            slots[d - 1] = m
    d = np.arange(1, highest + 1)
    return slots, 2.0 / (d * (d + 1.0))


def _copy_repeated(degrees, places, slots, out):
    for m, d in zip(places, degrees, strict=True):
        if slots[d - 1] != m:
            out[m] = out[slots[d - 1]]


def _declare_popcount(typingctx, word):
    """Count the ones of a 64-bit word: one instruction."""

    def generate(context, builder, signature, arguments):
        kind = ir.IntType(64)
        count = builder.module.declare_intrinsic("llvm.ctpop", [kind])
        return builder.call(count, arguments)

    return types.int64(types.uint64), generate


_popcount: Any = intrinsic(_declare_popcount)


@njit()
def _pack(codes, planes):
    n, length = codes.shape
    last = planes.shape[0] - 1
    for i in range(n):
        for p in range(length):
            code = codes[i, p]
            if code >= 0:
                word, bit = p // WORD, np.uint64(p % WORD)
                planes[last, word, i] |= np.uint64(1) << bit
                for b in range(last):
                    planes[b, word, i] |= np.uint64((code >> b) & 1) << bit


@njit()
def _n_rows(n_words):
    """Return how many rows of masks `_count` needs."""
    return n_words + n_words % 2 + 1


@njit()
def _match(sequence, right, start, stop, masks):
    """Write where one sequence, (n_planes, n_words), equals the columns [start, stop) of `right`."""
    last = sequence.shape[0] - 1
    for w in range(sequence.shape[1]):
        mask = masks[w]
        valid, other = sequence[last, w], right[last][w][start:stop]
        for j in range(len(other)):
            mask[j] = valid & other[j]
        for b in range(last):
            letter, other = sequence[b, w], right[b][w][start:stop]
            for j in range(len(other)):
                mask[j] &= ~(letter ^ other[j])


@njit()
def _count(masks, counts):
    """Count the runs of the next four lengths, shorten every run by four; return whether any is left.

    Words are taken in pairs: the rows of `masks` are made even in number, and one of zeros follows.
    """
    first, second, third, fourth = counts[0], counts[1], counts[2], counts[3]
    left = np.uint64(0)
    for w in range(0, masks.shape[0] - 1, 2):
        low, high, after = masks[w], masks[w + 1], masks[w + 2]
        if w == 0:
            for j in range(len(low)):
                one, two, three, four, low[j], high[j] = _four_lengths(low[j], high[j], after[j])
                first[j] = one
                second[j] = two
                third[j] = three
                fourth[j] = four
                left |= low[j] | high[j]
        else:
            for j in range(len(low)):
                one, two, three, four, low[j], high[j] = _four_lengths(low[j], high[j], after[j])
                first[j] += one
                second[j] += two
                third[j] += three
                fourth[j] += four
                left |= low[j] | high[j]
    return left != np.uint64(0)


@njit(inline="always")
def _four_lengths(low, high, after):
    """Return how many runs of the next four lengths start in two words, and the words after that.

    A run of length k + s starts where all of ``M_k, M_k >> 1, .. M_k >> s`` are set.
    """
    one = _popcount(low) + _popcount(high)
    a, b = low & _moved(low, high, 1), high & _moved(high, after, 1)
    two = _popcount(a) + _popcount(b)
    a, b = a & _moved(low, high, 2), b & _moved(high, after, 2)
    three = _popcount(a) + _popcount(b)
    a, b = a & _moved(low, high, 3), b & _moved(high, after, 3)
    four = _popcount(a) + _popcount(b)
    return one, two, three, four, a & _moved(low, high, 4), b & _moved(high, after, 4)


@njit(inline="always")
def _moved(word, after, by):
    return (word >> np.uint64(by)) | (after << np.uint64(WORD - by))


@njit()
def _write_four(counts, runs, totals, scales, one, two, three, four):
    """Add the counts of four run lengths to the running sums and write the Grams of these degrees."""
    first, second, third, fourth = counts[0], counts[1], counts[2], counts[3]
    by_one, by_two, by_three, by_four = scales[0], scales[1], scales[2], scales[3]
    for j in range(len(one)):
        run = runs[j] + first[j]
        total = totals[j] + run
        one[j] = total * by_one
        run += second[j]
        total += run
        two[j] = total * by_two
        run += third[j]
        total += run
        three[j] = total * by_three
        run += fourth[j]
        total += run
        four[j] = total * by_four
        runs[j] = run
        totals[j] = total


@njit()
def _write_four_more(runs, totals, scales, one, two, three, four):
    """Write the Grams of four more degrees when no run is left to count."""
    by_one, by_two, by_three, by_four = scales[0], scales[1], scales[2], scales[3]
    for j in range(len(one)):
        run = runs[j]
        total = totals[j] + run
        one[j] = total * by_one
        total += run
        two[j] = total * by_two
        total += run
        three[j] = total * by_three
        total += run
        four[j] = total * by_four
        totals[j] = total


@njit()
def _add_one(count, runs, totals):
    for j in range(len(runs)):
        runs[j] += count[j]
        totals[j] += runs[j]


@njit()
def _runs_row(left, right, i, start, stop, masks, counts, runs, totals, slots, scales, out):
    """Write the entries [start, stop) of row i of every Gram: S_d by two running sums."""
    _match(left[i], right, start, stop, masks)
    runs[:] = 0
    totals[:] = 0
    alive = counted = True
    n_steps = len(slots)
    for k in range(0, n_steps, 4):
        if alive:
            alive = _count(masks, counts)
        elif counted:
            counted = False
            counts[:] = 0
        if k + 4 <= n_steps and slots[k : k + 4].min() >= 0:
            one, two = out[slots[k]][i][start:stop], out[slots[k + 1]][i][start:stop]
            three, four = out[slots[k + 2]][i][start:stop], out[slots[k + 3]][i][start:stop]
            if counted:
                _write_four(counts, runs, totals, scales[k : k + 4], one, two, three, four)
            else:
                _write_four_more(runs, totals, scales[k : k + 4], one, two, three, four)
        else:
            for step in range(k, min(k + 4, n_steps)):
                _add_one(counts[step - k], runs, totals)
                if slots[step] >= 0:
                    row = out[slots[step]][i][start:stop]
                    for j in range(len(row)):
                        row[j] = totals[j] * scales[step]


def _runs_loop(left, right, slots, scales, out):
    n, n_others = out.shape[1], out.shape[2]
    for i in numba.prange(n):
        masks = np.zeros((_n_rows(left.shape[2]), TILE), dtype=np.uint64)
        counts = np.zeros((4, TILE), dtype=np.int64)
        runs = np.empty(TILE, dtype=np.int64)
        totals = np.empty(TILE, dtype=np.int64)
        for start in range(0, n_others, TILE):
            stop = min(start + TILE, n_others)
            masks[:, stop - start :] = np.uint64(0)
            _runs_row(left, right, np.int64(i), start, stop, masks, counts, runs, totals, slots, scales, out)


_runs_parallel, _runs_serial = _compile(_runs_loop)


@njit()
def _move(sequence, by, moved):
    """Write a sequence moved down (by > 0) or up by some positions; what comes in is no letter."""
    n_words = sequence.shape[1]
    whole, rest = abs(by) // WORD, np.uint64(abs(by) % WORD)
    back = np.uint64(WORD) - rest
    for b in range(sequence.shape[0]):
        for w in range(n_words):
            near = w + whole if by > 0 else w - whole
            far = near + 1 if by > 0 else near - 1
            word = sequence[b, near] if 0 <= near < n_words else np.uint64(0)
            more = sequence[b, far] if 0 <= far < n_words else np.uint64(0)
            if rest == np.uint64(0):
                moved[b, w] = word
            elif by > 0:
                moved[b, w] = (word >> rest) | (more << back)
            else:
                moved[b, w] = (word << rest) | (more >> back)


@njit()
def _shifted_counts(sequence, right, start, stop, weights, moved, masks, counts, pairs, sums):
    """Write the weighted number of runs of each length over all shifts, (n_lengths, stop - start).

    The two directions of a shift are added as integers, so that a Gram comes out exactly symmetric.
    """
    sums[:] = 0.0
    for shift in range(len(weights)):
        pairs[:] = 0
        for by in (shift, -shift):
            _move(sequence, by, moved)
            _match(moved, right, start, stop, masks)
            for k in range(0, len(sums), 4):
                alive = _count(masks, counts)
                for step in range(k, min(k + 4, len(sums))):
                    pair, count = pairs[step], counts[step - k]
                    for j in range(len(pair)):
                        pair[j] += count[j]
                if not alive:
                    break
        for k in range(len(sums)):
            total, pair, weight = sums[k], pairs[k], weights[shift]
            for j in range(len(pair)):
                total[j] += weight * pair[j]


@njit()
def _sum_twice(sums):
    """Turn numbers of runs into the numerators S_d, in place."""
    for _ in range(2):
        for k in range(1, len(sums)):
            for j in range(sums.shape[1]):
                sums[k, j] += sums[k - 1, j]


def _shifted_loop(left, right, weights, slots, scales, out):
    n_others, n_lengths = out.shape[2], len(slots)
    for i in numba.prange(out.shape[1]):
        moved = np.empty((left.shape[1], left.shape[2]), dtype=np.uint64)
        masks = np.zeros((_n_rows(left.shape[2]), TILE), dtype=np.uint64)
        counts = np.empty((4, TILE), dtype=np.int64)
        pairs = np.empty((n_lengths, TILE), dtype=np.int64)
        sums = np.empty((n_lengths, TILE))
        for start in range(0, n_others, TILE):
            stop = min(start + TILE, n_others)
            masks[:, stop - start :] = np.uint64(0)
            _shifted_counts(left[i], right, start, stop, weights, moved, masks, counts, pairs, sums)
            _sum_twice(sums)
            for k in range(n_lengths):
                if slots[k] >= 0:
                    row = out[slots[k]][i][start:stop]
                    for j in range(len(row)):
                        row[j] = sums[k, j] * scales[k]


_shifted_parallel, _shifted_serial = _compile(_shifted_loop)


@njit()
def _diagonal(left, right, weights, slots, scales, out):
    moved = np.empty((left.shape[1], left.shape[2]), dtype=np.uint64)
    masks = np.zeros((_n_rows(left.shape[2]), 1), dtype=np.uint64)
    counts = np.empty((4, 1), dtype=np.int64)
    pairs = np.empty((len(slots), 1), dtype=np.int64)
    sums = np.empty((len(slots), 1))
    for i in range(left.shape[0]):
        _shifted_counts(left[i], right, i, i + 1, weights, moved, masks, counts, pairs, sums)
        _sum_twice(sums)
        for k in range(len(slots)):
            if slots[k] >= 0:
                out[slots[k], i] = sums[k, 0] * scales[k]


def _sparse_loop(indptr, indices, data, other_indptr, other_indices, other_data, out):
    for i in numba.prange(out.shape[0]):
        row = out[i]
        row[:] = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            feature, value = indices[at], data[at]
            for where in range(other_indptr[feature], other_indptr[feature + 1]):
                row[other_indices[where]] += value * other_data[where]


_sparse_parallel, _sparse_serial = _compile(_sparse_loop)
