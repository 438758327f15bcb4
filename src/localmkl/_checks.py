"""Every check of arrays and parameters, and its message.

A message is one sentence: what was expected, what came, what to do.
"""

import numbers

import numpy as np

from localmkl._resources import require_memory

SYMMETRY_TOLERANCE = 1e-6
PSD_TOLERANCE = 1e-6
PSD_SAMPLE = 200
"""Rows of the principal submatrix whose eigenvalues are looked at."""
LARGEST_NUMBER = 1e100
"""Numbers of this size may be squared and summed: 1e200 times any number of columns is below 1e308."""


def check_number(name, value, *, low, low_open=False, high=np.inf, high_open=False, finite=False):
    """Raise unless `value` is a real number in [low, high]; an end that is open is left out."""
    expected = f"greater than {low}" if low_open else f"at least {low}"
    if np.isfinite(high):
        expected += f" and {'less than' if high_open else 'at most'} {high}"
    elif finite:
        expected += " and finite"
    if not isinstance(value, numbers.Real) or isinstance(value, bool | np.bool_):
        raise ValueError(f"`{name}` must be a number {expected}, got {value!r}.")
    too_low = not value > low if low_open else not value >= low
    too_high = not value < high if high_open else value > high
    if too_low or too_high or (finite and value == np.inf):
        raise ValueError(f"`{name}` must be {expected}, got {value}.")


def check_integer(name, value, *, low):
    """Raise unless `value` is an integer of at least `low`."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < low:
        raise ValueError(f"`{name}` must be an integer of at least {low}, got {value!r}.")


def check_option(name, value, options):
    """Raise unless `value` is one of `options`."""
    is_text = isinstance(value, str)  # arrays and the like cannot be compared with ==
    if not any(value is option or (is_text and value == option) for option in options):
        allowed = ", ".join(repr(option) for option in options)
        raise ValueError(f"`{name}` must be one of {allowed}, got {value!r}.")


def listed(items, most=10):
    """Return items as text, the middle of many left out.

    Examples
    --------
    >>> listed(range(3)), listed(range(30), most=4)
    ('0, 1, 2', '0, 1, 2 ... 29')
    """
    shown = [str(item) for item in items]
    return ", ".join(shown) if len(shown) <= most else f"{', '.join(shown[: most - 1])} ... {shown[-1]}"


def is_missing(value):
    """Whether a value stands for none: None, NaN and their like."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA is neither equal nor unequal to anything
        return True


def check_evenness(evenness, n_clusters):
    """Raise unless the average evenness can be had with this many clusters."""
    low = 1.0 / n_clusters
    is_number = isinstance(evenness, numbers.Real) and not isinstance(evenness, bool)
    if not is_number or not low - 1e-12 <= evenness <= 1.0:
        raise ValueError(
            f"`evenness` must lie in [1/n_clusters, 1] = [{low:.4g}, 1], got {evenness!r}; "
            f"1/n_clusters is a hard partition, 1 a uniform one."
        )


def check_memberships(memberships, n_samples, source="`gate`"):
    """Return memberships as a float64 array with rows that sum to one, or raise."""
    try:
        array = np.asarray(memberships, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{source} must give an array of memberships, got {memberships!r}.") from error
    if array.ndim != 2 or array.shape[0] != n_samples:
        raise ValueError(
            f"{source} must give memberships of shape ({n_samples}, n_clusters), got shape {array.shape}."
        )
    if not np.isfinite(array).all() or array.min(initial=0.0) < 0.0:
        raise ValueError(f"{source} must give finite memberships that are not negative.")
    sums = array.sum(axis=1)
    if not np.allclose(sums, 1.0, atol=1e-6):
        worst = int(np.argmax(np.abs(sums - 1.0)))
        raise ValueError(
            f"{source} must give memberships whose rows sum to 1, row {worst} sums to "
            f"{sums[worst]:.6g}; divide each row by its sum."
        )
    return array


def check_grams(grams):
    """Return a Gram array of shape (M, n, n') in float32 or float64, or raise.

    Arrays of these types are returned as they are, never copied; one matrix counts as a stack of one.
    """
    if isinstance(grams, list | tuple):
        grams = [np.asarray(gram) for gram in grams]
        shapes = sorted({gram.shape for gram in grams})
        if len(shapes) > 1:
            raise ValueError(f"`grams` must all have one shape, got {shapes}.")
        require_memory(sum(gram.nbytes for gram in grams), "A stack of these Grams", "pass one array of them")
    array = np.asarray(grams)
    if array.dtype.kind not in "fiub":
        raise ValueError(
            f"`grams` must hold real numbers, got an array of type {array.dtype}; "
            "pass Gram matrices, or raw data together with a list of `kernels`."
        )
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if array.ndim == 2:
        array = array[None]
    if array.ndim != 3 or min(array.shape) == 0:
        raise ValueError(
            "`grams` must have shape (n_kernels, n_rows, n_columns) with at least one of each, "
            f"got shape {np.shape(grams)}."
        )
    return array


def check_cells(table, names, *, missing=False):
    """Raise if a cell of a table is infinite or, unless it may be `missing`, NaN.

    Parameters
    ----------
    table : ndarray or CSR matrix
    names : callable
        Returns what the user calls the rows, and the columns.
    missing : bool
    """
    values = table.data if hasattr(table, "indptr") else table
    with np.errstate(all="ignore"):
        if np.isfinite(np.sum(values)):
            return
    wrong = np.isinf(values) if missing else ~np.isfinite(values)
    if not wrong.any():
        return
    value, where = _first(table, wrong, names)
    empty = np.isnan(value)
    what, way_out = ("NaN", "fill it, set `impute` of the kernels") if empty else ("infinity", "replace it")
    raise ValueError(f"Input X contains {what} in {where}; {way_out}, or leave the row out.")


def check_sizes(table, names, reader):
    """Raise if a number of a table is too large to be squared; `reader` is who would, else see `check_cells`.

    Cells may be missing.
    """
    values = table.data if hasattr(table, "indptr") else table
    lowest, highest = (find.reduce(values, axis=None, initial=0.0) for find in (np.fmin, np.fmax))
    if max(-lowest, highest) <= LARGEST_NUMBER:
        return
    value, where = _first(table, np.abs(values) > LARGEST_NUMBER, names)
    raise ValueError(
        f"{reader} needs numbers up to {LARGEST_NUMBER:.0e} in size, got {value:.6g} in {where}; scale the "
        "column, or leave the row out."
    )


def _first(table, wrong, names):
    """Return the first value of a table that is wrong, and its row and column as the user calls them."""
    stored = hasattr(table, "indptr")
    place = tuple(np.argwhere(wrong)[0])
    value = (table.data if stored else table)[place]
    if stored:
        place = np.searchsorted(table.indptr, place[0], side="right") - 1, table.indices[place[0]]
    row, column = (shown(own[int(number)]) for own, number in zip(names(), place, strict=True))
    return value, f"row {row}, column {column}"


def shown(name):
    """Return the name of a row or column as messages show it: text in quotes, numbers as they are."""
    return repr(str(name)) if isinstance(name, str) else str(name)


def check_finite_grams(grams):
    """Raise if a Gram holds NaN or infinity."""
    for m, gram in enumerate(grams):
        for start in range(0, gram.shape[0], 256):
            block = gram[start : start + 256]
            if not np.isfinite(block).all():
                row = start + int(np.argmin(np.isfinite(block).all(axis=1)))
                raise ValueError(
                    f"`grams[{m}]` contains NaN or infinity (row {row}); remove or impute such entries first."
                )


def check_finite_decisions(parts, start=0):
    """Raise if decisions on some rows, numbered from `start`, or what kernels add to them, are not finite."""
    wrong = ~np.isfinite(parts.reshape(len(parts), -1).sum(axis=1))
    if wrong.any():
        raise ValueError(
            f"The decision on row {start + int(wrong.argmax())} is not a finite number: its values are too "
            "large for the kernels; scale them, or leave the row out."
        )


def check_training_grams(grams):
    """Raise unless every Gram is square, symmetric and not clearly indefinite."""
    n_rows, n_columns = grams.shape[1:]
    if n_rows != n_columns:
        raise ValueError(
            f"`grams[0]` must be square, got shape ({n_rows}, {n_columns}); "
            "pass cross-Grams to `predict`, not to `fit`."
        )
    diagonals = np.array([gram.diagonal() for gram in grams])
    for m, (gram, diagonal) in enumerate(zip(grams, diagonals, strict=True)):
        difference = asymmetry(gram)
        if difference > SYMMETRY_TOLERANCE * max(float(np.abs(diagonal).max()), np.finfo(float).tiny):
            raise ValueError(
                f"`grams[{m}]` must be symmetric, its entries differ from those of its transpose "
                f"by up to {difference:.3g}; average it with its transpose if that is rounding."
            )
    check_definite_grams(grams, diagonals)


def check_definite_grams(grams, diagonals):
    """Raise if a symmetric Gram is clearly indefinite.

    Definiteness is judged by the diagonal and by the eigenvalues of one principal submatrix, so a
    valid kernel never fails.
    """
    n_rows = grams.shape[1]
    picked = np.unique(np.linspace(0, n_rows - 1, min(n_rows, PSD_SAMPLE)).astype(int))
    for m, (gram, diagonal) in enumerate(zip(grams, diagonals, strict=True)):
        size, lowest = float(np.abs(diagonal).max()), float(diagonal.min())
        if lowest < -PSD_TOLERANCE * size:
            raise ValueError(
                f"`grams[{m}]` must be positive semidefinite, its diagonal holds {lowest:.3g}; "
                "shift or clip its spectrum, or use another kernel."
            )
        part = np.asarray(gram[picked].take(picked, axis=1), dtype=np.float64)  # quicker than entry by entry
        allowed = PSD_TOLERANCE * max(np.trace(part), size)
        if _is_definite(part, allowed):  # much quicker than eigenvalues
            continue
        smallest = float(np.linalg.eigvalsh(part)[0])
        if smallest < -allowed:
            raise ValueError(
                f"`grams[{m}]` must be positive semidefinite, a principal submatrix has the "
                f"eigenvalue {smallest:.3g}; shift or clip its spectrum, or use another kernel."
            )


def _is_definite(matrix, shift):
    """Whether a symmetric matrix is positive definite with so much more on its diagonal."""
    from scipy.linalg.lapack import dpotrf

    shifted = np.array(matrix.T, order="F")  # the transpose of a symmetric matrix needs no reordering
    shifted.ravel(order="K")[:: len(matrix) + 1] += shift
    return dpotrf(shifted, overwrite_a=True, clean=False)[1] == 0


def asymmetry(gram, block=512):
    """Return the largest difference of a Gram from its transpose."""
    worst = 0.0
    n = gram.shape[0]
    for start in range(0, n, block):
        rows = slice(start, start + block)
        for first in range(0, start + 1, block):
            columns = slice(first, first + block)
            difference = gram[rows, columns] - gram[columns, rows].T
            worst = max(worst, float(np.abs(difference).max()))
    return worst
