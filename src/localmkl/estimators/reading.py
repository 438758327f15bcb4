"""The reading of estimators: rows or Grams as they come, checked, as kernels take them; and the kernels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from localmkl._checks import check_cells, listed
from localmkl._sklearn import check_feature_names, check_n_features
from localmkl._types import Rows, Table
from localmkl.estimators.groups import rows_of
from localmkl.estimators.rows import are_strings, check_views, is_stack
from localmkl.kernels import Kernel, Linear, default_kernels
from localmkl.kernels.cells import check_different_names, refuse_dates
from localmkl.kernels.naming import named_kernels
from localmkl.kernels.sparse_rows import as_csr
from localmkl.kernels.viewed import in_views, refuse_view
from localmkl.stacks import GramStack, Stack
from localmkl.views import Views, as_views

PRECOMPUTED = "precomputed"


class ReadingPart(BaseEstimator):
    """The part of all estimators that checks rows, and knows the kernels for them."""

    kernels: Any = None
    missing = "rescale"

    def _check_rows(self, X: Rows, *, reset: bool) -> Rows:
        """Return the rows in the form the kernels take them, without their groups."""
        X = rows_of(X)
        if self._precomputed if reset else self.kernels_ is None:
            return self._check_stack(X, reset=reset)
        X = as_views(X)
        if isinstance(X, Views):
            return check_views(self, X, reset=reset)
        if not reset and hasattr(self, "views_"):
            raise ValueError(
                f"The rows must be `Views` of {listed(list(self.views_))}, as those of the fit were, got "
                f"{type(X).__name__}."
            )
        if isinstance(X, Stack):
            name = type(X).__name__
            raise ValueError(f"A `{name}` needs `kernels='precomputed'`, got other kernels.")
        if reset and (isinstance(X, list) or hasattr(X, "iloc")) and len(X) == 0:
            raise ValueError(
                f"{type(self).__name__} needs rows to learn from, got none; check how they were selected."
            )
        if hasattr(X, "columns") and hasattr(X, "iloc"):
            check_different_names(X)
            check_feature_names(self, X, reset=reset)
            check_n_features(self, X, reset=reset)
            return X
        if are_strings(X):
            return np.asarray(X, dtype=object)
        readers = self._readers(reset)
        rows = self._check_table(X, readers, reset=reset)
        return rows if rows.dtype == object else self._check_cells(as_csr(rows), readers)

    def _check_table(self, X: Rows, readers: Sequence[Kernel], *, reset: bool) -> Table:
        """Return rows without names as numbers or, where a kernel takes them, as words."""
        needed = "The rows must be numbers"
        words = any(kernel.takes_text for kernel in readers)
        if not words or getattr(getattr(X, "dtype", None), "kind", "O") != "O":
            refuse_dates(X, needed, "pass a data frame and name the `columns` of each kernel")
        try:
            return validate_data(
                self, X, reset=reset, dtype=np.float64, accept_sparse="csr", ensure_all_finite=False
            )
        except (TypeError, ValueError) as error:
            text = "could not convert string" in str(error)
            if words and (text or isinstance(error, TypeError)):
                return validate_data(self, X, reset=reset, dtype=object, ensure_all_finite=False)
            if text:
                raise ValueError(
                    f"{needed}, got text ({error}); encode it, choose numeric columns, or "
                    "pass a list of sequences with kernels for them."
                ) from error
            raise  # in the words that scikit-learn's checks of estimators ask for

    def _readers(self, reset: bool) -> list[Kernel]:
        """Return the kernels that read rows, as far as they are kernels: the fit refuses others."""
        kernels = (self._named if self.kernels is not None else [Linear()]) if reset else self.kernels_
        several = list(kernels) if isinstance(kernels, list | tuple) else [kernels]
        return [one for one in (*several, getattr(self, "gate_kernel", None)) if isinstance(one, Kernel)]

    def _check_cells(self, rows: Table, readers: Sequence[Kernel]) -> Table:
        """Return rows if all cells are finite, but for gaps that no kernel reads, or one that takes them."""
        missing = any(kernel.takes_missing for kernel in readers)
        check_cells(rows, lambda: (range(rows.shape[0]), range(rows.shape[1])), missing=missing)
        for kernel in readers if missing else ():  # here they see all rows, and name them as the user does
            kernel.check_cells(rows)
        return rows

    def _check_stack(self, X: Rows, *, reset: bool) -> Stack:
        if isinstance(as_views(X) if isinstance(X, dict) else X, Views):
            raise ValueError("`kernels='precomputed'` needs Grams, got views; name kernels for them.")
        if not isinstance(X, Stack):
            if is_stack(X):
                X = GramStack(X)
            else:
                X = GramStack(validate_data(self, X, reset=reset, dtype=[np.float64, np.float32]))
        if reset:
            X = X.training_part()
            X.check_training()
            self.n_features_in_ = X.shape[1]
            self.columns_ = X.origin, X.column_numbers()
            return X
        X.check_finite()
        if X.origin == self.columns_[0]:
            X = X.with_columns(self.columns_[1])
        if X.n_kernels != len(self.factors_):
            raise ValueError(
                f"The stack must hold the {len(self.factors_)} kernels of the fit, got {X.n_kernels}."
            )
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"Cross-Grams must have one column for each of the {self.n_features_in_} training "
                f"rows, got shape {X.shape}; rows are new samples, columns the training ones."
            )
        origin, columns = self.columns_
        if X.origin == origin and not np.array_equal(X.column_numbers(), columns):
            raise ValueError(
                "The columns of this slice are not the training rows of the fit, or stand in another order; "
                "slice the stack as stack[np.ix_(new, train)]."
            )
        return X

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernels, str) and self.kernels == PRECOMPUTED

    def _kernels_for(self, X: Rows) -> Any:
        """Return the kernels for rows such as these, not fitted; on views, each reads its own."""
        if not isinstance(X, Views):
            refuse_view(self._readers(reset=True))
            return default_kernels(X) if self.kernels is None else self._named
        given = default_kernels(X) if self.kernels is None else self._named
        several = isinstance(given, list | tuple) and len(given) > 0
        return in_views(given, X, self.missing) if several else given  # a fit says why not

    @property
    def _named(self) -> Any:
        """The kernels that the user has named, words replaced."""
        return named_kernels(self.kernels)

    def _count_kernels(self, X: Rows) -> int:
        """Return the number of kernels, also of those that a fit will refuse."""
        kernels = self._kernels_for(X)
        return len(kernels) if isinstance(kernels, list | tuple) else 1
