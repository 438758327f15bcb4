"""Kernels on texts.

    TfIdf   x'y / (||x|| ||y||),  x_t = count of term t * (1 + ln((1 + n) / (1 + n_t)))

n: training texts; n_t: those with the term t.
"""

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from localmkl._checks import check_integer, is_missing, shown
from localmkl._types import Array, Floats, Rows
from localmkl.kernels.cells import pick_texts
from localmkl.kernels.sparse_rows import as_csr
from localmkl.kernels.vectors import Kernel

SHOWN = 40
"""Letters of a text that messages show."""


class TfIdf(Kernel):
    """The cosine of term counts, terms weighed by how rare they are among the training texts.

    Terms are runs of at least two letters or digits, in any case, as the vectorisers of scikit-learn find
    them. Where the rows are numbers, sparse or not, they are counts of terms already. A text without known
    terms, or a missing one, is like nothing, not even itself.

    Parameters
    ----------
    ngrams : int, default=1
        Terms are up to this many words that follow each other.
    min_df : int, default=1
        Terms in fewer training texts are left out.
    column : str or int, optional
        Column of the texts when the rows are a data frame.
    view : str, optional
        The view that it reads, where the rows are `~localmkl.Views`.

    Attributes
    ----------
    terms_ : ndarray of str, or None
        The terms of the training texts; None where the rows are counts.
    idf_ : ndarray of shape (n_terms,)
        Weights of the terms.

    Examples
    --------
    >>> texts = ["a red rose", "a white rose", "rain"]
    >>> TfIdf().fit(texts)(texts).round(2)
    array([[1.  , 0.37, 0.  ],
           [0.37, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """

    finite = True
    takes_missing = True
    takes_text = True

    def __init__(
        self, ngrams: int = 1, min_df: int = 1, column: str | int | None = None, view: str | None = None
    ) -> None:
        self.ngrams = ngrams
        self.min_df = min_df
        self.column = column
        self.view = view

    def fit(self, X: Rows, sample_weight: Floats | None = None) -> Self:
        """Learn terms and their weights; a row of weight w counts as w texts."""
        check_integer("ngrams", self.ngrams, low=1)
        check_integer("min_df", self.min_df, low=1)
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        counts, self.terms_ = self._learn_counts(X, weights)
        weights = np.ones(counts.shape[0]) if weights is None else weights
        n_with = weights @ (counts > 0)
        kept = n_with >= self.min_df
        if self.terms_ is not None:
            self.terms_, n_with, kept = self.terms_[kept], n_with[kept], True
        self.idf_ = np.where(kept, 1.0 + np.log((1.0 + weights.sum()) / (1.0 + n_with)), 0.0)
        if not self.idf_.any():
            raise ValueError(
                f"TfIdf needs a term in at least {self.min_df} training texts, got none; name a column of "
                "texts, or a smaller `min_df`."
            )
        return self

    def __call__(self, X: Rows, Y: Rows = None) -> Floats:  # noqa: D102
        own = self.features(X)
        return (own @ (own if Y is None else self.features(Y)).T).toarray()

    def diag(self, X: Rows) -> Floats:  # noqa: D102
        return np.asarray(self.features(X).power(2).sum(axis=1)).ravel()

    def features(self, X: Rows) -> sparse.csr_array:
        """Return the weighed counts of the terms, rows of length one, as CSR."""
        check_is_fitted(self, "idf_")
        counts = _numbers(X) if self.terms_ is None else self._counted(_texts(self._picked(X)), self.terms_)
        if counts is None or counts.shape[1] != len(self.idf_):
            came = "texts" if counts is None else f"{counts.shape[1]} columns"
            raise ValueError(f"TfIdf needs the {len(self.idf_)} columns of counts of the fit, got {came}.")
        return normalize(counts @ sparse.diags_array(self.idf_)).tocsr()

    def _learn_counts(self, X: Rows, weights: Floats | None) -> tuple[sparse.csr_array, Array | None]:
        """Return the counts of all terms in the training rows, and the terms; None where they are counts."""
        counts = _numbers(X)
        if counts is not None:
            return counts, None
        texts = _texts(self._picked(X))
        seen = texts if weights is None else [text for text, w in zip(texts, weights, strict=True) if w > 0]
        try:
            found = CountVectorizer(ngram_range=(1, self.ngrams)).fit(seen).get_feature_names_out()
        except ValueError as error:  # scikit-learn: empty vocabulary
            raise ValueError(
                f"TfIdf needs texts with words of two letters or more, got {_start(seen[0])} and the like."
            ) from error
        return self._counted(texts, found), found

    def _counted(self, texts: list[str], terms: Array) -> sparse.csr_array:
        """Return how often each term is in each text, as CSR."""
        if len(terms) == 0:
            return sparse.csr_array((len(texts), 0))
        vectorizer = CountVectorizer(ngram_range=(1, self.ngrams), vocabulary=list(terms), dtype=np.float64)
        return sparse.csr_array(vectorizer.transform(texts))

    def _picked(self, X: Rows) -> Any:
        return pick_texts(X, self.column, type(self).__name__, "texts")


def _numbers(X: Rows) -> sparse.csr_array | None:
    """Return rows as counts if they are numbers; None if they are not."""
    array = X if sparse.issparse(X) or hasattr(X, "iloc") else np.asarray(X)
    kinds = {
        getattr(dtype, "kind", "O") for dtype in getattr(array, "dtypes", [getattr(array, "dtype", None)])
    }
    if len(array.shape) != 2 or not kinds <= set("biuf"):
        return None
    counts = check_array(as_csr(array), accept_sparse="csr", dtype=np.float64, input_name="X")
    if counts.size and counts.min() < 0.0:
        raise ValueError(f"TfIdf needs counts of terms, at least zero, got {counts.min():.6g}.")
    return sparse.csr_array(counts)


def _texts(column: Any) -> list[str]:
    """Return texts as a list, empty where one is missing."""
    found = ["" if is_missing(text) else text for text in np.asarray(column, dtype=object).tolist()]
    wrong = [text for text in found if not isinstance(text, str)]
    if wrong:
        raise ValueError(f"TfIdf needs texts, got {_start(wrong[0])}; name another `column`.")
    return found


def _start(text: Any) -> str:
    """Return the beginning of a text, as messages show it."""
    whole = shown(text)
    return whole if len(whole) <= SHOWN else f"{whole[:SHOWN]} ..."
