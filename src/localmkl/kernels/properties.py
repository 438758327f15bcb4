"""The linear kernel on composition and on products of properties some residues apart."""

import numpy as np

from localmkl._checks import check_integer, check_number
from localmkl._types import Floats, Rows
from localmkl.kernels.alphabets import alphabet_letters
from localmkl.kernels.sequences import SequenceKernel

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


class PseudoAminoAcid(SequenceKernel):
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

    def write(self, X: Rows, Y: Rows, out: Floats) -> None:  # noqa: D102
        table = self.features(X)
        np.matmul(table, table.T if Y is None else self.features(Y).T, out=out)

    def diag(self, X: Rows) -> Floats:  # noqa: D102
        table = self.features(X)
        return np.einsum("ik,ik->i", table, table)

    def _check(self) -> None:
        check_integer("lag", self.lag, low=1)
        check_number("weight", self.weight, low=0.0, finite=True)
