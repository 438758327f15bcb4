"""Local alignment: the Smith-Waterman score, made a kernel by the empirical map.

k(x, y) = (1 / r) sum_i s(x, z_i) s(y, z_i),   z_1 .. z_r the reference sequences, s the alignment score
"""

from types import ModuleType
from typing import Any, Self

import numpy as np

from localmkl._checks import check_integer
from localmkl._types import Array, Floats, Rows
from localmkl.kernels.sequences import SequenceKernel, _count

LETTERS_FOR_MATRIX = {"dna": "nuc44", "rna": "nuc44", "protein": "blosum62"}


class SmithWaterman(SequenceKernel):
    """Local alignment scores of sequences of any lengths, made positive semidefinite by the empirical map.

    The Smith-Waterman score s itself is no kernel: its Gram can have negative eigenvalues. So each sequence
    becomes the vector of its scores against reference sequences (the training rows), and the kernel is the
    scalar product of these vectors, divided by their number. Needs parasail: ``pip install
    localmkl[alignment]``.

    Parameters
    ----------
    gap_open, gap_extend : int, default=11 and 1
        Cost of a gap's first and each further letter.
    matrix : str, optional
        Name of a scoring matrix of parasail; by default BLOSUM62 for proteins, NUC.4.4 for DNA.
    n_references : int, optional
        Most training rows used as references, evenly chosen; all by default.
    alphabet : {"dna", "rna", "protein"}, default="protein"
    column : str or int, optional
        Column of the sequences when the rows are a data frame.
    view : str, optional
        The view that it reads, where the rows are `~localmkl.Views`.

    Attributes
    ----------
    references_ : ndarray of str

    References
    ----------
    Smith and Waterman, Journal of Molecular Biology 147, 1981. Liao and Noble, Combining
    pairwise sequence similarity and support vector machines, RECOMB 2002 (the map). Daily, Parasail, BMC
    Bioinformatics 17, 2016.

    Examples
    --------
    >>> proteins = ["MKVLAAGIL", "MKVLSAGIL", "WWPWCDEYY"]
    >>> SmithWaterman().fit(proteins).scores(proteins)
    array([[40., 37.,  1.],
           [37., 40.,  1.],
           [ 1.,  1., 74.]])
    """

    def __init__(
        self,
        gap_open: int = 11,
        gap_extend: int = 1,
        matrix: str | None = None,
        n_references: int | None = None,
        alphabet: str = "protein",
        column: str | int | None = None,
        view: str | None = None,
    ) -> None:
        self.gap_open = gap_open
        self.gap_extend = gap_extend
        self.matrix = matrix
        self.n_references = n_references
        self.alphabet = alphabet
        self.column = column
        self.view = view

    def fit(self, X: Rows, sample_weight: Floats | None = None) -> Self:
        """Keep the reference sequences."""
        self._check()
        self.references_ = self._choose(self._upper(X))
        return self

    def write(self, X: Rows, Y: Rows, out: Floats) -> None:  # noqa: D102
        self._check()
        scores = self.scores(X)
        others = scores if Y is None else self.scores(Y, None if hasattr(self, "references_") else X)
        np.matmul(scores, others.T, out=out)
        out /= scores.shape[1]

    def diag(self, X: Rows) -> Floats:  # noqa: D102
        scores = self.scores(X)
        return np.einsum("ik,ik->i", scores, scores) / scores.shape[1]

    def features(self, X: Rows) -> Floats:
        """Return the scores with the references, divided by the root of their number."""
        return self.scores(X) / np.sqrt(len(self.references_))

    def count_features(self, X: Rows) -> int:
        """Return the number of references."""
        return len(self.references_)

    def scores(self, X: Rows, references: Any = None) -> Floats:
        """Return the alignment scores with the references, (n, n_references)."""
        parasail = _import_parasail()
        if references is not None:
            references = self._choose(self._upper(references))
        else:
            references = self.references_ if hasattr(self, "references_") else self._choose(self._upper(X))
        sequences = self._upper(X)
        matrix = self._matrix(parasail)
        # Scores are symmetric: with the references themselves, half of them are enough.
        same = len(sequences) == len(references) and all(map(str.__eq__, sequences, references))
        table = np.zeros((len(sequences), len(references)))
        for i, sequence in enumerate(sequences):
            if not sequence:
                continue
            profile = parasail.profile_create_sat(sequence, matrix)
            for j in range(i if same else 0, len(references)):
                if references[j]:
                    found = parasail.sw_striped_profile_sat(
                        profile, references[j], int(self.gap_open), int(self.gap_extend)
                    )
                    table[i, j] = found.score
                    if same:
                        table[j, i] = found.score
        return table

    def _check(self) -> None:
        check_integer("gap_open", self.gap_open, low=0)
        check_integer("gap_extend", self.gap_extend, low=0)
        if self.n_references is not None:
            check_integer("n_references", self.n_references, low=1)
        if self.alphabet not in LETTERS_FOR_MATRIX:
            allowed = ", ".join(repr(name) for name in LETTERS_FOR_MATRIX)
            raise ValueError(f"`alphabet` of SmithWaterman must be one of {allowed}, got {self.alphabet!r}.")
        self._matrix(_import_parasail())

    def _matrix(self, parasail: ModuleType) -> Any:
        name = LETTERS_FOR_MATRIX[self.alphabet] if self.matrix is None else self.matrix
        found = getattr(parasail, str(name), None)
        if not isinstance(found, parasail.Matrix):
            raise ValueError(
                "`matrix` must name a scoring matrix of parasail, 'blosum62' or 'pam250' for example, "
                f"got {name!r}."
            )
        return found

    def _upper(self, X: Rows) -> list[str]:
        self._encode(X)  # the letters are checked
        texts = (text.decode("latin-1") if isinstance(text, bytes) else text for text in self._sequences(X))
        upper = [str(text).upper() for text in texts]
        return [text.replace("U", "T") for text in upper] if self.alphabet == "rna" else upper

    def _choose(self, sequences: list[str]) -> Array:
        n = _count(sequences)
        chosen = n if self.n_references is None else min(self.n_references, n)
        picked = np.linspace(0, n - 1, chosen).astype(int)
        return np.array([sequences[i] for i in picked], dtype=object)


def _import_parasail() -> ModuleType:
    try:
        import parasail
    except ImportError as error:
        raise ImportError(
            "`SmithWaterman` needs the package parasail; install it with `pip install localmkl[alignment]`."
        ) from error
    return parasail
