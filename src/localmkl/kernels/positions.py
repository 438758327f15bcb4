"""The share of each letter of a sequence in a weighted-degree expansion.

    sum_m sum_i a_mi k_m(x, y_i)  =  sum_p share_p(x)        k_m: WeightedDegree

A word of k letters at which x and y_i agree is worth ``2 (d - k + 1) / (d (d + 1))`` in the kernel of
degree d; its worth is spread evenly over its k letters in x. Words are numbered as they grow, letter by
letter, and forgotten as soon as x or y_i does not have them: the cost is that of the words they share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from localmkl._types import Bools, Floats, Ints, Rows
from localmkl.kernels.sequences import WeightedDegree


def position_shares(kernels: Sequence[WeightedDegree], X: Rows, Y: Rows, coefficients: Floats) -> Floats:
    """Split the expansion of weighted-degree kernels over the letters of the rows.

    Parameters
    ----------
    kernels : list of WeightedDegree
        Of one column and one alphabet; degrees and shifts may differ.
    X, Y : rows
        New rows, and the rows of the expansion.
    coefficients : ndarray of shape (n_kernels, n_Y, n_expansions)
        ``a_mi`` of one or several expansions.

    Returns
    -------
    ndarray of shape (n_X, n_expansions, length)
        Its sum over the letters is ``sum_m K_m(X, Y) @ coefficients[m]``, up to rounding.

    Examples
    --------
    "ACGT" and "ACCT" agree at three letters and in one word of two letters:

    >>> kernel = WeightedDegree(2)
    >>> position_shares([kernel], ["ACGT"], ["ACCT"], np.ones((1, 1, 1))).round(3)
    array([[[0.833, 0.833, 0.   , 0.667]]])
    >>> kernel(["ACGT"], ["ACCT"]).round(3)
    array([[2.333]])
    """
    _check_together(kernels)
    new = kernels[0]._letters(X)
    known = kernels[0]._letters(Y, new.shape[1])
    n_letters = 1 + max(new.max(initial=0), known.max(initial=0))
    steps = np.zeros((len(new), coefficients.shape[2], new.shape[1] + 1))
    for shift in sorted({int(kernel.shift) for kernel in kernels}):
        members = [m for m, kernel in enumerate(kernels) if kernel.shift == shift]
        degrees = np.array([kernels[m].degree for m in members])
        for k, left, right in _shared_words(new, known, n_letters, int(degrees.max()), shift):
            worth = 2.0 * np.maximum(degrees - k + 1, 0) / (degrees * (degrees + 1.0))
            weights = np.tensordot(worth, coefficients[members], axes=1)
            for e, gain in enumerate(_gains(left, right, weights, shift, new.shape[1])):
                steps[left.row, e, left.start] += gain / k
                steps[left.row, e, left.start + k] -= gain / k
    return np.cumsum(steps, axis=2)[:, :, :-1]


class _Words:
    """Occurrences of words: in which row they stand, where they start, and the number of the word."""

    def __init__(self, row: Ints, start: Ints, word: Ints) -> None:
        self.row, self.start, self.word = row, start, word

    def keep(self, chosen: Bools) -> _Words:
        return _Words(self.row[chosen], self.start[chosen], self.word[chosen])

    def grow(self, codes: Ints, k: int, n_letters: int) -> _Words:
        """Return the words with one letter more, where there is one."""
        end = self.start + k
        inside = end < codes.shape[1]
        longer = self.keep(inside)
        letter = codes[longer.row, end[inside]].astype(np.int64)
        longer.word = longer.word * n_letters + letter
        return longer.keep(letter >= 0)


def _shared_words(
    new: Ints, known: Ints, n_letters: int, longest: int, shift: int
) -> Iterator[tuple[int, _Words, _Words]]:
    """Yield k and the occurrences in `new` and in `known` of all words of k letters that both have.

    Without shifts, words at different places are different words.
    """

    def single(codes: Ints) -> _Words:
        row, start = np.nonzero(codes >= 0)
        word = codes[row, start].astype(np.int64)
        return _Words(row, start, word if shift else word + n_letters * start)

    left, right = single(new), single(known)
    for k in range(1, longest + 1):
        if k > 1:
            left, right = left.grow(new, k - 1, n_letters), right.grow(known, k - 1, n_letters)
        words, number = np.unique(np.concatenate([left.word, right.word]), return_inverse=True)
        left.word, right.word = number[: len(left.word)], number[len(left.word) :]
        in_left, in_right = np.zeros(len(words), dtype=bool), np.zeros(len(words), dtype=bool)
        in_left[left.word] = True
        in_right[right.word] = True
        left, right = left.keep(in_right[left.word]), right.keep(in_left[right.word])
        if len(left.word) == 0:
            return
        yield k, left, right


def _gains(left: _Words, right: _Words, weights: Floats, shift: int, length: int) -> Iterator[Floats]:
    """Yield, for each expansion, what the occurrences in `left` gain by those in `right`."""
    places, number = np.unique(right.word * length + right.start, return_inverse=True)
    found = []
    for s in range(-shift, shift + 1):
        wanted = left.word * length + left.start + s
        at = np.minimum(np.searchsorted(places, wanted), len(places) - 1)
        inside = (left.start + s >= 0) & (left.start + s < length)
        found.append((1.0 if s == 0 else 0.5 / (abs(s) + 1), at, inside & (places[at] == wanted)))
    for column in weights.T:
        totals = np.bincount(number, weights=column[right.row], minlength=len(places))
        gains: Any = sum(weight * np.where(there, totals[at], 0.0) for weight, at, there in found)
        yield gains


def _check_together(kernels: Sequence[Any]) -> None:
    if not kernels or not all(isinstance(kernel, WeightedDegree) for kernel in kernels):
        names = ", ".join(type(kernel).__name__ for kernel in kernels)
        raise TypeError(f"`kernels` must be one or several WeightedDegree, got {names or 'none'}.")
    looks = {(str(kernel.alphabet), repr(kernel.column)) for kernel in kernels}
    if len(looks) > 1:
        raise ValueError(
            f"`kernels` must look at one column with one alphabet, got {len(looks)} such pairs; "
            "split the expansion of each of them on its own."
        )
