"""Linear kernels on what letters are like: values per dinucleotide or residue.

    PropertyProfile   values along the sequence, smoothed over a window           one length for all
    ResidueGroups     composition, transition and distribution of residue groups  any lengths
    PseudoAminoAcid   composition and products of properties some residues apart  any lengths

The first gives the paper's kernels 4 and 5 for transcription starts, the others its protein-fold groups.
"""

from abc import abstractmethod
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from localmkl._checks import check_integer, check_number
from localmkl._types import Floats, Ints, Rows, Table
from localmkl.kernels.alphabets import alphabet_letters
from localmkl.kernels.sequences import SequenceKernel, fixed_length

_TEN_STEPS = ["AA", "AC", "AG", "AT", "CA", "CC", "CG", "GA", "GC", "TA"]
_OTHER_STRAND = {"AA": "TT", "AC": "GT", "AG": "CT", "CA": "TG", "CC": "GG", "GA": "TC"}


def _both_strands(values: Sequence[float]) -> dict[str, float]:
    """Return a table of all 16 dinucleotides from the ten that differ."""
    table = dict(zip(_TEN_STEPS, values, strict=True))
    return table | {other: table[step] for step, other in _OTHER_STRAND.items()}


DINUCLEOTIDES = {
    "twist": _both_strands((35.62, 34.4, 27.7, 31.5, 34.5, 33.67, 29.8, 36.9, 40.0, 36.0)),
    "stacking": _both_strands((-5.37, -10.51, -6.78, -6.57, -6.57, -8.26, -9.69, -9.81, -14.59, -3.82)),
}
"""Helical twist angles of B-DNA in degrees (Kabsch, Sander and Trifonov, Nucleic Acids Research 10, 1982) and
base-stacking energies in kcal/mol (Ornstein, Rein, Breen and MacElroy, Biopolymers 17, 1978)."""

GROUPS = {
    "composition": tuple("ACDEFGHIKLMNPQRSTVWY"),
    "hydrophobicity": ("RKEDQN", "GASTPHY", "CVLIMFW"),
    "volume": ("GASCTPD", "NVEQIL", "MHKFRYW"),
    "polarity": ("LIFWCMVY", "PATGS", "HQRKNED"),
    "polarizability": ("GASDT", "CPNVEQIL", "KMHFRYW"),
}
"""Groups of residues with alike properties (Dubchak, Muchnik, Holbrook and Kim, PNAS 92, 1995)."""

HYDROPHOBICITY = dict(
    zip(
        "ARNDCQEGHILKMFPSTWYV",
        (
            *(0.62, -2.53, -0.78, -0.9, 0.29, -0.85, -0.74, 0.48, -0.4, 1.38),
            *(1.06, -1.5, 0.64, 1.19, 0.12, -0.18, -0.05, 0.81, 0.26, 1.08),
        ),
        strict=True,
    )
)
"""Consensus hydrophobicity (Eisenberg and others, Faraday Symposia 17, 1982), as in Chou's work."""

HYDROPHILICITY = dict(
    zip(
        "ARNDCQEGHILKMFPSTWYV",
        (
            *(-0.5, 3.0, 0.2, 3.0, -1.0, 0.2, 3.0, 0.0, -0.5, -1.8),
            *(-1.8, 3.0, -1.3, -2.5, 0.0, 0.3, -0.4, -3.4, -2.3, -1.5),
        ),
        strict=True,
    )
)
"""Hydrophilicity (Hopp and Woods, PNAS 78, 1981)."""

QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Shares of a group's residues whose places are features: those of Dubchak and others (PNAS 92, 1995)."""


class FeatureKernel(SequenceKernel):
    """The scalar product of a few numbers computed from each sequence (`features`)."""

    @abstractmethod
    def features(self, X: Rows) -> Floats:
        """Return the numbers, (n, n_features)."""

    def write(self, X: Rows, Y: Rows, out: Floats) -> None:  # noqa: D102
        table = self.features(X)
        np.matmul(table, table.T if Y is None else self.features(Y).T, out=out)

    def diag(self, X: Rows) -> Floats:  # noqa: D102
        table = self.features(X)
        return np.einsum("ik,ik->i", table, table)


class PropertyProfile(FeatureKernel):
    """The linear kernel of a property along sequences of one length, smoothed over a window.

    The mean of the table is subtracted first, so that the kernel compares deviations; words with an ambiguous
    letter count as the mean.

    Parameters
    ----------
    table : {"twist", "stacking"} or dict, default="twist"
        Values per dinucleotide (twist angles, stacking energies), or your own per word of one or two letters:
        ``{"A": 1.8, "C": 2.5, ...}``, one value for each word of the alphabet.
    window : int, default=1
        Number of neighbouring values that are averaged.
    alphabet : {"dna", "rna", "protein"} or str, default="dna"
    column : str or int, optional
        Column of the sequences when the rows are a data frame.
    view : str, optional
        The view that it reads, where the rows are `~localmkl.Views`.

    References
    ----------
    Tables: see `DINUCLEOTIDES`. Use: Sonnenburg, Zien and Raetsch, ARTS, Bioinformatics 22, 2006.

    Examples
    --------
    >>> PropertyProfile({"A": 1.0, "C": 0.0, "G": 0.0, "T": -1.0}, window=2).features(["AATT"])
    array([[ 1.,  0., -1.]])
    """

    def __init__(
        self,
        table: Table = "twist",
        window: int = 1,
        alphabet: str = "dna",
        column: str | int | None = None,
        view: str | None = None,
    ) -> None:
        self.table = table
        self.window = window
        self.alphabet = alphabet
        self.column = column
        self.view = view

    def features(self, X: Rows) -> Floats:
        """Return the smoothed values, (n, n_positions)."""
        self._check()
        values = self._values()
        codes = fixed_length(self._encode(X), type(self).__name__).astype(np.intp)
        if values.ndim == 1:
            profile = np.where(codes >= 0, values[codes], 0.0)
        else:
            left, right = codes[:, :-1], codes[:, 1:]
            profile = np.where((left >= 0) & (right >= 0), values[left, right], 0.0)
        if profile.shape[1] < self.window:
            raise ValueError(
                f"`window` must be at most the {profile.shape[1]} values of a sequence of {codes.shape[1]} "
                f"letters, got {self.window}."
            )
        return np.lib.stride_tricks.sliding_window_view(profile, self.window, axis=1).mean(axis=2)

    def _check(self) -> None:
        check_integer("window", self.window, low=1)

    def _values(self) -> Floats:
        """Return the centred table as an array with one axis per letter of a word."""
        table = DINUCLEOTIDES.get(self.table) if isinstance(self.table, str) else self.table
        if not isinstance(table, dict) or not table:
            names = ", ".join(repr(name) for name in DINUCLEOTIDES)
            raise ValueError(f"`table` must be one of {names}, or a dict of values, got {self.table!r}.")
        table = {str(word).upper(): float(value) for word, value in table.items()}
        letters = alphabet_letters(self.alphabet)[0]
        if self.alphabet == "rna" and isinstance(self.table, str):
            table = {word.replace("T", "U"): value for word, value in table.items()}
        size = len(next(iter(table)))
        expected = letters if size == 1 else [a + b for a in letters for b in letters]
        if size > 2 or set(table) != set(expected) or not np.isfinite(list(table.values())).all():
            raise ValueError(
                f"`table` must give a finite value to each of the {len(expected)} words of one or two "
                f"letters {letters}, got {len(table)} words: {', '.join(sorted(table)[:4])} ..."
            )
        values = np.array([table[word] for word in expected])
        return (values - values.mean()).reshape((len(letters),) * size)


class ResidueGroups(FeatureKernel):
    """The linear kernel of composition, transition and distribution of groups of residues.

    With the residues of G groups, the features are the share of each group; for each pair of groups, the
    share of neighbours that change from one to the other; for each group, where (as a share of the length)
    the first, the 25 %, 50 %, 75 % and 100 % occurrences stand. ``groups="composition"`` is the 20 shares
    of the residues alone. Ambiguous residues belong to no group.

    Parameters
    ----------
    groups : {"composition", "hydrophobicity", "volume", "polarity", "polarizability"} or tuple of str
        A name, or groups of letters: ``("AVLIM", "FWY")``.
    alphabet : {"dna", "rna", "protein"} or str, default="protein"
    column : str or int, optional
        Column of the sequences when the rows are a data frame.
    view : str, optional
        The view that it reads, where the rows are `~localmkl.Views`.

    References
    ----------
    Dubchak, Muchnik, Holbrook and Kim, Prediction of protein folding class using global
    description of amino acid sequence, PNAS 92, 1995. Ding and Dubchak, Bioinformatics 17, 2001.

    Examples
    --------
    >>> ResidueGroups("hydrophobicity").features(["RGC"])[0, :6].round(2)
    array([0.33, 0.33, 0.33, 0.5 , 0.  , 0.5 ])
    """

    def __init__(
        self,
        groups: str | tuple[str, str] = "composition",
        alphabet: str = "protein",
        column: str | int | None = None,
        view: str | None = None,
    ) -> None:
        self.groups = groups
        self.alphabet = alphabet
        self.column = column
        self.view = view

    def features(self, X: Rows) -> Floats:
        """Return the shares and places, (n, n_features)."""
        groups = self._groups()
        encoded = self._encode(X)
        letters = alphabet_letters(self.alphabet)[0]
        group_of = np.full(len(letters) + 1, -1)  # the last one is for ambiguous letters: code -1
        for number, group in enumerate(groups):
            group_of[[letters.index(letter) for letter in group]] = number
        labels = group_of[encoded.codes]
        parts = np.split(labels, encoded.offsets[1:-1])
        describe = _shares if self.groups == "composition" else _describe
        n_groups = len(groups)
        width = n_groups if describe is _shares else 6 * n_groups + n_groups * (n_groups - 1) // 2
        table = np.zeros((len(encoded), width))
        for row, part in zip(table, parts, strict=len(encoded) > 0):
            if len(part):
                row[:] = describe(part, n_groups)
        return table

    def _check(self) -> None:
        self._groups()

    def _groups(self) -> tuple[str, ...]:
        groups = GROUPS.get(self.groups) if isinstance(self.groups, str) else self.groups
        letters = alphabet_letters(self.alphabet)[0]
        if isinstance(groups, list | tuple) and groups and all(isinstance(g, str) and g for g in groups):
            groups = tuple(group.upper() for group in groups)
            joined = "".join(groups)
            if len(set(joined)) == len(joined) and set(joined) <= set(letters):
                return groups
        names = ", ".join(repr(name) for name in GROUPS)
        raise ValueError(
            f"`groups` must be one of {names}, or strings of letters of {letters}, each in one group "
            f"at most, got {self.groups!r}."
        )


class PseudoAminoAcid(FeatureKernel):
    """The linear kernel of the amphiphilic pseudo-amino-acid composition.

    The features are the 20 shares f of the residues and, for the lags j = 1 .. lag and the two standardised
    scales h (hydrophobicity, hydrophilicity),

        weight * mean_i h(x_i) h(x_{i+j})

    so 20 + 2 lag numbers. Chou's common denominator is left out: it can vanish, and a kernel's scale is
    learned anyway. Pairs with an ambiguous residue are left out; lags that a sequence is too short for give
    zero.

    Parameters
    ----------
    lag : int, default=1
        The protein-fold kernels use 1, 4, 14 and 30.
    weight : float, default=0.5
        Multiplies the mean products against the shares.
    column : str or int, optional
        Column of the sequences when the rows are a data frame.
    view : str, optional
        The view that it reads, where the rows are `~localmkl.Views`.

    References
    ----------
    Chou, Using amphiphilic pseudo amino acid composition to predict enzyme subfamily classes,
    Bioinformatics 21, 2005. Shen and Chou, Ensemble classifier for protein fold pattern recognition,
    Bioinformatics 22, 2006.

    Examples
    --------
    >>> PseudoAminoAcid(lag=4).features(["MKVLAAGIL", "ACD"]).shape
    (2, 28)
    """

    alphabet = "protein"

    def __init__(
        self, lag: int = 1, weight: float = 0.5, column: str | int | None = None, view: str | None = None
    ) -> None:
        self.lag = lag
        self.weight = weight
        self.column = column
        self.view = view

    def features(self, X: Rows) -> Floats:
        """Return shares and mean products, (n, 20 + 2 lag)."""
        self._check()
        encoded = self._encode(X)
        letters = alphabet_letters("protein")[0]
        n, rows, codes = len(encoded), encoded.rows(), encoded.codes.astype(np.intp)
        known = codes >= 0
        table = np.zeros((n, 20 + 2 * self.lag))
        np.add.at(table, (rows[known], codes[known]), 1.0)
        table[:, :20] /= np.maximum(encoded.lengths, 1)[:, None]
        for column, scale in enumerate((HYDROPHOBICITY, HYDROPHILICITY)):
            values = np.array([scale[letter] for letter in letters])
            values = (values - values.mean()) / values.std()
            along = values[codes]
            for lag in range(1, self.lag + 1):
                paired = (rows[lag:] == rows[:-lag]) & known[lag:] & known[:-lag]
                products = (along[lag:] * along[:-lag])[paired]
                totals = np.bincount(rows[:-lag][paired], weights=products, minlength=n)
                pairs = np.bincount(rows[:-lag][paired], minlength=n)
                table[:, 20 + 2 * (lag - 1) + column] = self.weight * totals / np.maximum(pairs, 1)
        return table

    def _check(self) -> None:
        check_integer("lag", self.lag, low=1)
        check_number("weight", self.weight, low=0.0, finite=True)


def _shares(part: Ints, n_groups: int) -> Floats:
    """Return the share of each group among all letters."""
    return np.bincount(part + 1, minlength=n_groups + 1)[1:] / len(part)


def _describe(part: Ints, n_groups: int) -> Floats:
    """Return shares, transitions and distribution of the groups along one sequence."""
    shares = _shares(part, n_groups)
    left, right = part[:-1], part[1:]
    low, high = np.minimum(left, right), np.maximum(left, right)
    pairs = combinations(range(n_groups), 2)
    changes = np.array([np.count_nonzero((low == a) & (high == b)) for a, b in pairs])
    changes = changes / max(len(part) - 1, 1)
    places = np.zeros((n_groups, len(QUARTERS)))
    for group in range(n_groups):
        at = np.flatnonzero(part == group) + 1
        if len(at):
            which = [max(int(np.ceil(quarter * len(at))), 1) - 1 for quarter in QUARTERS]
            places[group] = at[which] / len(part)
    return np.concatenate([shares, changes, places.ravel()])
