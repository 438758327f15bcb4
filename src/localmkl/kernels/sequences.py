"""Kernels on sequences: k(x, y) from strings.

    WeightedDegree  sum_k w_k #{p : x and y agree at p .. p+k-1}    one length for all; with shifts
    Spectrum        sum_u count_u(x) count_u(y)                     u: all k-mers
    Mismatch        the same, a k-mer counting for all its neighbours with at most m letters changed
    GappedKmer      the same, u: k letters and gaps in a window

Ambiguous letters (N, X, gaps) match nothing, not even themselves. The kernel in
`properties` shares the base class `SequenceKernel`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import combinations, product
from math import comb
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy import sparse

from localmkl._checks import check_integer
from localmkl._types import Array, Floats, Ints, Rows, Table
from localmkl.kernels.alphabets import alphabet_letters, encode
from localmkl.kernels.cells import pick_texts
from localmkl.kernels.vectors import Kernel

if TYPE_CHECKING:
    from localmkl.kernels.alphabets import Encoded


DENSE_GAIN = 32
"""Times that a multiplication in a dense product is faster than one in a sparse product, at least: 80 were
measured on two cores, and not every BLAS is as fast."""

DENSE_ENTRIES = 2**22
"""Most entries of a table of counts that are dense at a time: 32 MB, two of which are held."""

DENSE_ROWS = 64
"""Fewer rows than these at a time are not worth a dense product: making them dense takes as long."""

DIRECT_FEATURES = 2**22
"""Up to this many possible k-mers a k-mer is its own column number; above, columns are looked up. The ends
of as many columns take 32 MB."""


class SequenceKernel(Kernel):
    """A kernel on one column of sequences.

    Subclasses have the parameters `alphabet` and `column` and write Grams in ``write``.

    Examples
    --------
    >>> isinstance(Spectrum(3, alphabet="protein"), SequenceKernel)
    True
    """

    alphabet = "dna"
    column: str | int | None = None
    finite = True

    def __call__(self, X: Rows, Y: Rows = None) -> Floats:  # noqa: D102
        out = np.empty((_count(X), _count(X if Y is None else Y)))
        self.write(X, Y, out)
        return out

    def fit(self, X: Rows, sample_weight: Floats | None = None) -> Self:
        """Check parameters and letters of the training rows."""
        self._check()
        self._encode(X)
        return self

    def _check(self) -> None:
        """Raise unless the parameters can be used."""

    def _encode(self, X: Rows) -> Encoded:
        return encode(self._sequences(X), self.alphabet)

    def _sequences(self, X: Rows) -> Array | list[str]:
        """Return the chosen column as a list or array of strings."""
        name = type(self).__name__
        if sparse.issparse(X):
            raise ValueError(f"{name} needs sequences, got a sparse matrix; use Linear, RBF or Cosine.")
        return pick_texts(X, self.column, name, "sequences")


class WeightedDegree(SequenceKernel):
    """The weighted-degree kernel of sequences of one length.

        k(x, y) = sum_{k=1..d} 2 (d - k + 1) / (d (d + 1)) #{p : x and y agree at p .. p+k-1}

    With `shift`, agreements of x at p with y at p + s count ``1 / (2 (s + 1))`` for each direction and each
    s = 1 .. shift; the cosine sum of these weights is positive (Rogosinski and Szego), so the kernel stays
    positive semidefinite. A list of these kernels that differ in `degree` alone costs one sweep over the
    pairs. Ambiguous letters match nothing, not even themselves.

    Parameters
    ----------
    degree : int, default=20
        Longest agreement that counts.
    shift : int, default=0
        Most places that agreements may be apart.
    alphabet : {"dna", "rna", "protein"} or str, default="dna"
        A name, or the letters of your own alphabet.
    column : str or int, optional
        Column of the sequences when the rows are a data frame.
    view : str, optional
        The view that it reads, where the rows are `~localmkl.Views`.

    Attributes
    ----------
    length_ : int
        Number of letters of the training sequences.

    References
    ----------
    Raetsch and Sonnenburg, Accurate splice site detection for C. elegans, in Kernel Methods in Computational
    Biology, 2004. Raetsch, Sonnenburg and Schoelkopf, RASE, Bioinformatics 21, 2005 (shifts).

    Examples
    --------
    >>> WeightedDegree(2)(["ACGT", "ACGA", "ANGT"]).round(2)
    array([[3.67, 2.67, 2.33],
           [2.67, 3.67, 1.33],
           [2.33, 1.33, 2.33]])
    """

    def __init__(
        self,
        degree: int = 20,
        shift: int = 0,
        alphabet: str = "dna",
        column: str | int | None = None,
        view: str | None = None,
    ) -> None:
        self.degree = degree
        self.shift = shift
        self.alphabet = alphabet
        self.column = column
        self.view = view

    def fit(self, X: Rows, sample_weight: Floats | None = None) -> Self:
        """Learn the length of the sequences."""
        self._check()
        self.length_ = int(self._letters(X).shape[1])
        return self

    def sweep_key(self) -> tuple[int, str, str, int | None]:
        """Return the key shared by kernels computed in one sweep."""
        learned = getattr(self, "length_", None)
        return int(self.shift), str(self.alphabet), repr(self.column), learned

    def write(self, X: Rows, Y: Rows, out: Floats) -> None:  # noqa: D102
        self.write_together([self], X, Y, out[None], [0])

    @classmethod
    def write_together(
        cls, kernels: Sequence[Kernel], X: Rows, Y: Rows, out: Floats, places: Sequence[int]
    ) -> None:
        """Write the Grams of kernels that differ in `degree` alone to ``out[places]``, in one sweep."""
        from localmkl.backends import sequences_compiled

        for kernel in kernels:
            kernel._check()
        codes = kernels[0]._letters(X)
        other = None if Y is None else kernels[0]._letters(Y, codes.shape[1])
        degrees = np.array([kernel.degree for kernel in kernels])
        sequences_compiled.weighted_degree(codes, other, degrees, kernels[0].shift, out, places)

    def diag(self, X: Rows) -> Floats:  # noqa: D102
        from localmkl.backends import sequences_compiled

        self._check()
        codes = self._letters(X)
        out = np.empty((1, len(codes)))
        sequences_compiled.weighted_degree_diagonal(codes, np.array([self.degree]), self.shift, out)
        return out[0]

    def _check(self) -> None:
        check_integer("degree", self.degree, low=1)
        check_integer("shift", self.shift, low=0)

    def _letters(self, X: Rows, length: int | None = None) -> Ints:
        """Return codes of shape (n, length)."""
        return fixed_length(self._encode(X), type(self).__name__, getattr(self, "length_", length))


class CountKernel(SequenceKernel):
    """The scalar product of counts; subclasses say which things are counted (`_events`)."""

    @abstractmethod
    def _n_features(self, n_letters: int) -> int:
        """Return the number of features."""

    @abstractmethod
    def _events(self, encoded: Encoded) -> tuple[Ints, Ints]:
        """Return (row, feature) of everything counted."""

    def write(self, X: Rows, Y: Rows, out: Floats) -> None:  # noqa: D102
        self._check()
        parts = [self._encode(X)] + ([] if Y is None else [self._encode(Y)])
        tables = self._tables(parts)
        write_products(tables[0], tables[-1], out)

    def diag(self, X: Rows) -> Floats:  # noqa: D102
        self._check()
        (table,) = self._tables([self._encode(X)])
        return np.asarray(table.multiply(table).sum(axis=1)).ravel()

    def features(self, X: Rows) -> sparse.csr_array | None:
        """Return the counts as CSR, (n, n_features); None if they are too many to have a column each."""
        self._check()
        return None if self.count_features(X) is None else self._tables([self._encode(X)])[0]

    def count_features(self, X: Rows) -> int | None:
        """Return how many things there are to count; None if they are too many to have a column each."""
        n_features = self._n_features(len(alphabet_letters(self.alphabet)[0]))
        return n_features if n_features <= DIRECT_FEATURES else None

    def _tables(self, parts: list[Encoded]) -> list[sparse.csr_array]:
        """Return a sparse table of counts for each part, with the same columns."""
        events = [self._events(part) for part in parts]
        features = [feature for _, feature in events]
        width, features = _columns(features, self._n_features(parts[0].n_letters))
        return [
            _table_of_counts(row, feature, (len(part), width))
            for part, (row, _), feature in zip(parts, events, features, strict=True)
        ]


class Spectrum(CountKernel):
    """The spectrum kernel: the scalar product of k-mer counts, for sequences of any lengths.

    k-mers with an ambiguous letter are not counted.

    Parameters
    ----------
    k : int, default=3
        Letters of a k-mer.
    k_min : int, optional
        Sum of the spectrum kernels of k_min .. k; by default k alone.
    alphabet : {"dna", "rna", "protein"} or str, default="dna"
    column : str or int, optional
        Column of the sequences when the rows are a data frame.
    view : str, optional
        The view that it reads, where the rows are `~localmkl.Views`.

    References
    ----------
    Leslie, Eskin and Noble, The spectrum kernel, PSB 2002.

    Examples
    --------
    >>> Spectrum(2)(["ACAC", "CAC"])
    array([[5., 3.],
           [3., 2.]])
    """

    def __init__(
        self,
        k: int = 3,
        k_min: int | None = None,
        alphabet: str = "dna",
        column: str | int | None = None,
        view: str | None = None,
    ) -> None:
        self.k = k
        self.k_min = k_min
        self.alphabet = alphabet
        self.column = column
        self.view = view

    def _check(self) -> None:
        check_integer("k", self.k, low=1)
        if self.k_min is not None:
            check_integer("k_min", self.k_min, low=1)
            if self.k_min > self.k:
                raise ValueError(f"`k_min` must be at most k = {self.k}, got {self.k_min}.")

    def _lengths(self) -> range:
        return range(self.k if self.k_min is None else self.k_min, self.k + 1)

    def _n_features(self, n_letters: int) -> int:
        return sum(_n_words(n_letters, k) for k in self._lengths())

    def _events(self, encoded: Encoded) -> tuple[Ints, Ints]:
        rows, features, start = [], [], 0
        for k in self._lengths():
            row, word = words(encoded, range(k), k)
            rows.append(row)
            features.append(word + start)
            start += _n_words(encoded.n_letters, k)
        return np.concatenate(rows), np.concatenate(features)


class Mismatch(CountKernel):
    """The (k, m)-mismatch kernel: every k-mer counts for all k-mers that differ in at most m letters.

    k-mers with an ambiguous letter are not counted.

    Parameters
    ----------
    k : int, default=5
        Letters of a k-mer.
    m : int, default=1
        Letters that may differ, at most k. The cost grows with the size of the neighbourhood,
        ``sum_{i <= m} C(k, i) (letters - 1)^i``.
    alphabet : {"dna", "rna", "protein"} or str, default="dna"
    column : str or int, optional
        Column of the sequences when the rows are a data frame.
    view : str, optional
        The view that it reads, where the rows are `~localmkl.Views`.

    References
    ----------
    Leslie, Eskin, Cohen, Weston and Noble, Mismatch string kernels, Bioinformatics 20, 2004.

    Examples
    --------
    >>> Mismatch(2, 1)(["AC", "AG", "GT"])
    array([[7., 4., 2.],
           [4., 7., 2.],
           [2., 2., 7.]])
    """

    def __init__(
        self,
        k: int = 5,
        m: int = 1,
        alphabet: str = "dna",
        column: str | int | None = None,
        view: str | None = None,
    ) -> None:
        self.k = k
        self.m = m
        self.alphabet = alphabet
        self.column = column
        self.view = view

    def _check(self) -> None:
        check_integer("k", self.k, low=1)
        check_integer("m", self.m, low=0)
        if self.m > self.k:
            raise ValueError(f"`m` must be at most k = {self.k}, got {self.m}.")

    def _n_features(self, n_letters: int) -> int:
        return _n_words(n_letters, self.k)

    def _events(self, encoded: Encoded) -> tuple[Ints, Ints]:
        return words(encoded, range(self.k), self.k)

    def _tables(self, parts: list[Encoded]) -> list[sparse.csr_array]:
        # Count k-mers first, then give each distinct one its neighbourhood.
        n_letters = parts[0].n_letters
        events = [self._events(part) for part in parts]
        present, where = np.unique(np.concatenate([word for _, word in events]), return_inverse=True)
        near = neighbours(present, self.k, self.m, n_letters)
        width, (columns,) = _columns([near.ravel()], self._n_features(n_letters))
        owner = np.repeat(np.arange(len(present)), near.shape[1])
        spread = _table_of_counts(owner, columns, (len(present), width))
        splits = np.split(where, np.cumsum([len(word) for _, word in events])[:-1])
        return [
            _table_of_counts(row, split, (len(part), len(present))) @ spread
            for part, (row, _), split in zip(parts, events, splits, strict=True)
        ]


class GappedKmer(CountKernel):
    """The gapped k-mer kernel: counts of k letters at chosen places of a window, the rest being gaps.

    Every choice of k places in a window of `length` letters is a pattern of its own. Ambiguous letters may
    stand in the gaps; a pattern with one at a chosen place is not counted.

    Parameters
    ----------
    length : int, default=6
        Letters of the window.
    k : int, default=4
        Letters that are looked at, at most `length`.
    alphabet : {"dna", "rna", "protein"} or str, default="dna"
    column : str or int, optional
        Column of the sequences when the rows are a data frame.
    view : str, optional
        The view that it reads, where the rows are `~localmkl.Views`.

    References
    ----------
    Ghandi, Lee, Mohammad-Noori and Beer, Enhanced regulatory sequence prediction using gapped k-mer features,
    PLoS Computational Biology 10, 2014.

    Examples
    --------
    >>> GappedKmer(3, 2)(["ACG", "ATG"])
    array([[3., 1.],
           [1., 3.]])
    """

    def __init__(
        self,
        length: int = 6,
        k: int = 4,
        alphabet: str = "dna",
        column: str | int | None = None,
        view: str | None = None,
    ) -> None:
        self.length = length
        self.k = k
        self.alphabet = alphabet
        self.column = column
        self.view = view

    def _check(self) -> None:
        check_integer("length", self.length, low=1)
        check_integer("k", self.k, low=1)
        if self.k > self.length:
            raise ValueError(f"`k` must be at most length = {self.length}, got {self.k}.")

    def _n_features(self, n_letters: int) -> int:
        return comb(self.length, self.k) * _n_words(n_letters, self.k)

    def _events(self, encoded: Encoded) -> tuple[Ints, Ints]:
        rows, features = [], []
        for number, places in enumerate(combinations(range(self.length), self.k)):
            row, word = words(encoded, places, self.length)
            rows.append(row)
            features.append(word + number * _n_words(encoded.n_letters, self.k))
        return np.concatenate(rows), np.concatenate(features)


def fixed_length(encoded: Encoded, name: str, length: int | None = None) -> Ints:
    """Return codes of shape (n, length), or raise unless all sequences have one length."""
    lengths = encoded.lengths
    expected = (int(lengths[0]) if len(lengths) else 0) if length is None else length
    wrong = np.flatnonzero(lengths != expected)
    if len(wrong):
        raise ValueError(
            f"{name} needs sequences of one length, {expected} letters here, got {lengths[wrong[0]]} in row "
            f"{wrong[0]}; cut or pad them (N or X match nothing), or use `Spectrum`."
        )
    return encoded.codes.reshape(len(encoded), expected)


def words(encoded: Encoded, places: Sequence[int], window: int) -> tuple[Ints, Ints]:
    """Return (row, number) of the words that the letters at `places` of every window spell.

    A word's number reads its letters as digits. Words with an ambiguous letter are left out.
    """
    n_starts = max(0, len(encoded.codes) - window + 1)
    number = np.zeros(n_starts, dtype=np.int64)
    valid = np.ones(n_starts, dtype=bool)
    for place in places:
        letter = encoded.codes[place : place + n_starts]
        number *= encoded.n_letters
        number += letter
        valid &= letter >= 0
    rows = encoded.rows()[:n_starts]
    valid &= np.arange(n_starts) + window <= encoded.offsets[rows + 1]
    return rows[valid], number[valid]


def neighbours(present: Ints, k: int, m: int, n_letters: int) -> Ints:
    """Return the numbers of all words within m changed letters, (n_words, n_neighbours)."""
    powers = n_letters ** np.arange(k, dtype=np.int64)
    digits = present[:, None] // powers % n_letters
    found = [present]
    for changes in range(1, m + 1):
        for places in combinations(range(k), changes):
            for turns in product(range(1, n_letters), repeat=changes):
                changed = present.copy()
                for place, turn in zip(places, turns, strict=True):
                    digit = digits[:, place]
                    changed += ((digit + turn) % n_letters - digit) * powers[place]
                found.append(changed)
    return np.stack(found, axis=1)


def write_products(table: Table, other: Table, out: Floats) -> None:
    """Write the scalar products of two sparse tables' rows, the dense or the sparse way: the faster one."""
    from localmkl.backends import sequences_compiled

    others = other.tocsc()
    n_features = table.shape[1]
    in_rows = np.bincount(table.indices, minlength=n_features)
    sparse_cost = float(in_rows @ np.diff(others.indptr))
    dense_cost = float(out.size) * n_features / DENSE_GAIN
    if dense_cost < sparse_cost and n_features * DENSE_ROWS <= DENSE_ENTRIES:
        _write_dense_products(table, other, out)
        return
    rows = table.indptr, table.indices, table.data
    sequences_compiled.sparse_gram(rows, (others.indptr, others.indices, others.data), out)


def _write_dense_products(table: Table, other: Table, out: Floats) -> None:
    """Write the products block by block: only two blocks of rows are dense at a time."""
    step = DENSE_ENTRIES // table.shape[1]
    for first in range(0, out.shape[0], step):
        left = table[first : first + step].toarray()
        for start in range(0, out.shape[1], step):
            same = table is other and start == first
            right = left if same else other[start : start + step].toarray()
            np.matmul(left, right.T, out=out[first : first + step, start : start + step])


def _columns(features: list[Ints], n_features: int) -> tuple[int, list[Ints]]:
    """Return the number of columns, and column numbers in place of feature numbers."""
    if n_features <= DIRECT_FEATURES:
        return n_features, features
    present, where = np.unique(np.concatenate(features), return_inverse=True)
    return len(present), np.split(where, np.cumsum([len(feature) for feature in features])[:-1])


def _table_of_counts(row: Ints, column: Ints, shape: tuple[int, int]) -> sparse.csr_array:
    table = sparse.csr_array((np.ones(len(row)), (row, column)), shape=shape)
    table.sum_duplicates()
    return table


def _n_words(n_letters: int, k: int) -> int:
    n_words = n_letters**k
    if n_words >= 2**56:
        raise ValueError(
            f"`k` must leave fewer than 2^56 words, got {n_letters}^{k} of them; choose a smaller `k`."
        )
    return n_words


def _count(X: Rows) -> int:
    return X.shape[0] if hasattr(X, "shape") else len(X)
