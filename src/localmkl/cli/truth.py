"""Labels of rows to predict or to look at, some of which may have none: None stands in its place."""

import numpy as np


def with_gaps(labels, has):
    """Return labels of all rows, None where a row has none; None if no row has one.

    Parameters
    ----------
    labels : ndarray
        Of the rows that have one.
    has : ndarray of bool

    Examples
    --------
    >>> with_gaps(np.array([1, -1]), np.array([True, False, True]))
    array([1, None, -1], dtype=object)
    """
    if has.all() or not has.any():
        return labels if has.any() else None
    y = np.full(len(has), None, dtype=object)
    y[has] = labels.tolist()
    return y


def has_label(y):
    """Return the mask of the rows that have a label, (n,) of bool."""
    if y.dtype != object:
        return np.ones(len(y), dtype=bool)
    return np.array([label is not None for label in y.tolist()], dtype=bool)


def on_labelled(y):
    """Return the labels of the rows that have one, as an array of one type unless they are of several.

    Examples
    --------
    >>> on_labelled(np.array([0.5, None, 2.0], dtype=object))
    array([0.5, 2. ])
    """
    has = has_label(y)
    if has.all():
        return y
    labels = y[has].tolist()
    kinds = set(map(type, labels))
    return np.array(labels, dtype=None if len(kinds) == 1 or kinds <= {int, float} else object)
