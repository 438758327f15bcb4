"""Simple models beside which a model is judged: linear ones and gradient boosting, on the same columns.

Columns are filled with medians, standardised, and words are one-hot encoded, all learned on training rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from localmkl._types import Array, Floats, Ints, Rows
from localmkl.estimators.groups import rows_of
from localmkl.stacks import Stack
from localmkl.views import Views, as_views

LINEAR, BOOSTING = "logistic regression", "gradient boosting"
RIDGE = "ridge regression"


def rival_table(X: Rows, groups: Array | None = None) -> Any:
    """Return the columns that simple models see: a data frame, or a sparse matrix of counts; None of Grams.

    Parameters
    ----------
    X : rows
        A table, sequences or texts (letters by position where all have one length, else counts of up to three
        letters), or `Views` of these.
    groups : ndarray of shape (n_samples,), optional
        Added as a column of words.

    Examples
    --------
    >>> rival_table(np.eye(2), np.array(["a", "b"])).columns.tolist()
    ['0', '1', 'group']
    """
    import pandas as pd

    X = as_views(rows_of(X))
    if isinstance(X, Stack):
        return None
    if isinstance(X, Views):
        tables = [_in_all(X, view) for view in X.names]
        if any(sparse.issparse(table) for table in tables):
            return sparse.hstack([_as_counts(table) for table in tables], format="csr")
        table = pd.concat(tables, axis=1)
    else:
        table = _table_of(X)
    if groups is None:
        return table
    if sparse.issparse(table):
        return sparse.hstack([table, _as_counts(pd.DataFrame({"group": groups}))], format="csr")
    return pd.concat([table, pd.DataFrame({"group": groups})], axis=1)


def _table_of(X: Rows) -> Any:
    import pandas as pd

    if sparse.issparse(X):
        return X.tocsr()
    if hasattr(X, "iloc"):
        table = X.reset_index(drop=True)
        return table.set_axis([str(name) for name in table.columns], axis=1)
    X = np.asarray(X)
    if X.ndim == 2:
        return pd.DataFrame(X, columns=[str(c) for c in range(X.shape[1])]).infer_objects()
    return _letters(X.tolist())


def _letters(texts: list[str]) -> Any:
    """Return letters by position as columns of a sparse matrix, or counts of up to three letters."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.preprocessing import OneHotEncoder

    if len({len(text) for text in texts}) == 1:
        return OneHotEncoder(dtype=np.float64).fit_transform([list(text) for text in texts])
    counts = CountVectorizer(analyzer="char", ngram_range=(1, 3), max_features=5000, dtype=np.float64)
    return counts.fit_transform(texts)


def _in_all(X: Views, view: str) -> Any:
    """Return the columns of a view for all samples: missing for those that lack it, of counts zero."""
    import pandas as pd

    present, table = X.present(view), _table_of(X.rows(view))
    places = np.where(present, np.cumsum(present) - 1, 0)
    if sparse.issparse(table):
        return sparse.diags(present.astype(float)) @ table[places]
    table = table.iloc[places].reset_index(drop=True).where(pd.Series(present), np.nan)
    return table.set_axis([f"{view}: {name}" for name in table.columns], axis=1)


def _as_counts(table: Any) -> Any:
    import pandas as pd

    if sparse.issparse(table):
        return table
    return sparse.csr_matrix(pd.get_dummies(table, dtype=float).fillna(0.0).to_numpy())


def encoded(table: Any, train: Ints, test: Ints) -> tuple[Any, Any]:
    """Return training and test rows as numbers, filled and scaled as learned on the training rows.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [1.0, np.nan, 3.0], "sex": ["f", "m", "f"]})
    >>> encoded(table, np.array([0, 1]), np.array([2]))[1]
    array([[2., 1., 0.]])
    """
    import pandas as pd
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

    if sparse.issparse(table):
        scaler = MaxAbsScaler().fit(table[train])
        return scaler.transform(table[train]), scaler.transform(table[test])
    numeric = [c for c in table if pd.api.types.is_numeric_dtype(table[c]) and table[c].dtype != bool]
    numbers = table[numeric].to_numpy(dtype=np.float64, na_value=np.nan)
    words = table.drop(columns=numeric).astype(str).to_numpy(dtype=object)
    pair = [np.empty((len(rows), 0)) for rows in (train, test)]
    if numeric:
        filler, scaler = SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
        pair[0] = scaler.fit_transform(filler.fit_transform(numbers[train]))
        pair[1] = scaler.transform(filler.transform(numbers[test]))
    if words.shape[1]:
        encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(words[train])
        both = zip(pair, (train, test), strict=True)
        pair = [np.hstack([known, encoder.transform(words[rows])]) for known, rows in both]
    return pair[0], pair[1]


def linear_decisions(
    train: Any, y: Array, test: Any, strength: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0)
) -> Floats:
    """Return decisions of a logistic regression whose C three inner folds choose.

    Parameters
    ----------
    train, test : matrices of numbers
    y : ndarray of int of shape (n_train,)
        Classes 0, 1, ...; all must occur.
    strength : tuple of float
        Values of C.

    Returns
    -------
    ndarray of shape (n_test,), or (n_test, n_classes)
        Log-odds, or logarithms of probabilities.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold

    model = LogisticRegression(warm_start=True, max_iter=500, tol=1e-3)
    losses = np.zeros(len(strength))
    n_inner = min(3, int(np.bincount(y).min()))
    if n_inner > 1:
        for inner, others in StratifiedKFold(n_inner, shuffle=True, random_state=0).split(y, y):
            for k, C in enumerate(strength):
                found = model.set_params(C=C).fit(train[inner], y[inner]).predict_log_proba(train[others])
                losses[k] -= found[np.arange(len(others)), y[others]].sum()
    model.set_params(C=strength[int(np.argmin(losses))]).fit(train, y)
    return model.decision_function(test) if y.max() == 1 else model.predict_log_proba(test)


def boosted_decisions(train: Any, y: Array, test: Any) -> Floats:
    """Return decisions of gradient boosting with fifty small trees, as `linear_decisions` does."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        max_iter=50, max_leaf_nodes=8, early_stopping=False, random_state=0
    )
    model.fit(train, y)
    return model.decision_function(test) if y.max() == 1 else np.log(model.predict_proba(test))


def ridge_values(train: Any, y: Array, test: Any) -> Floats:
    """Return predictions of a ridge regression whose penalty is chosen by leaving out one row at a time."""
    from sklearn.linear_model import RidgeCV

    return RidgeCV(np.logspace(-2, 4, 13)).fit(train, y).predict(test)


def boosted_values(train: Any, y: Array, test: Any) -> Floats:
    """Return predictions of gradient boosting with fifty small trees."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    model = HistGradientBoostingRegressor(max_iter=50, max_leaf_nodes=8, early_stopping=False, random_state=0)
    return model.fit(train, y).predict(test)


def simple_rivals(
    table: Any, n_classes: int, most_cells: int = 5_000_000, most_columns: int = 1000
) -> tuple[dict[str, Callable[[Any, Array, Any], Floats]], dict[str, str]]:
    """Return the simple models for a table by name, and why others are left out.

    Parameters
    ----------
    table : what `rival_table` returned
    n_classes : int
        0 for regression.
    most_cells : int
        Rows times columns from which on no simple model is fitted.
    most_columns : int
        Columns from which on there is no gradient boosting.
    """
    linear, boosted = (RIDGE, ridge_values), (BOOSTING, boosted_values)
    if n_classes:
        linear, boosted = (LINEAR, linear_decisions), (BOOSTING, boosted_decisions)
    if table is None:
        return {}, dict.fromkeys((linear[0], BOOSTING), "Gram matrices have no columns.")
    cells = table.shape[0] * table.shape[1] if not sparse.issparse(table) else table.nnz
    if cells > most_cells:
        return {}, dict.fromkeys((linear[0], BOOSTING), f"It would take long on {cells:,} cells.")
    if table.shape[1] > most_columns or sparse.issparse(table):
        return dict([linear]), {BOOSTING: f"It would take long on {table.shape[1]:,} columns."}
    return dict([linear, boosted]), {}
