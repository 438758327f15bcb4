"""Explanations letter by letter of models with weighted-degree kernels.

The decision is a sum over words that a sample has in common with support vectors, at the same place: each is
spread evenly over its letters. On features, landmarks stand in the place of support vectors.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from localmkl._checks import listed
from localmkl._sklearn import count_rows
from localmkl._types import Bools, Floats, MaybeNone, Rows
from localmkl.estimators.base import BaseMKL
from localmkl.estimators.groups import with_groups
from localmkl.estimators.seen import rows_as_seen
from localmkl.explain.models import bare_kernels, kernel_views
from localmkl.kernels import WeightedDegree
from localmkl.kernels.alphabets import alphabet_letters, encode
from localmkl.kernels.cells import pick_texts
from localmkl.kernels.positions import position_shares
from localmkl.kernels.stack import take_rows
from localmkl.kernels.viewed import ViewKernel
from localmkl.stacks import cosine_scales


def sequence_places(model: BaseMKL) -> list[tuple[str | MaybeNone, str | int | None]]:
    """Return (view, column) of all that weighted-degree kernels look at, each once; both may be None.

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> X, y = ["ACGT", "ACGA", "TTGA", "TTCA"], [0, 0, 1, 1]
    >>> sequence_places(MKLClassifier([WeightedDegree(1)]).fit(X, y))
    [(None, None)]
    """
    views, kernels = kernel_views(model), bare_kernels(model)
    return list(dict.fromkeys((views[m], kernels[m].column) for m in weighted_degrees(model)))


def position_contributions(
    model: BaseMKL,
    X: Rows,
    *,
    column: str | int | None = None,
    view: str | None = None,
    groups: ArrayLike | None = None,
) -> Floats:
    """Return the contribution of each letter to the decision through the weighted-degree kernels.

    The contribution of a word (some letters at which a sample agrees with a support vector) is spread
    evenly over its letters; nothing is approximated.

    Parameters
    ----------
    model : fitted estimator
        With `WeightedDegree` among its kernels.
    X : rows
    column : str or int, optional
        Which column of sequences, where the kernels look at several.
    view : str, optional
        Which of several `Views`, where the kernels look at more than one. Samples that lack it have zeros.
    groups : array-like of shape (n_samples,), optional

    Returns
    -------
    ndarray of shape (n_samples, n_clusters, length)
        Its sum over the letters is the sum of ``model.contributions(X)`` over these kernels. With
        several classes, (n_samples, n_classes, n_clusters, length).

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> from localmkl.kernels import WeightedDegree
    >>> X, y = ["ACGT", "ACGA", "TTGT", "TTCA"], [0, 0, 1, 1]
    >>> model = MKLClassifier([WeightedDegree(1), WeightedDegree(2)]).fit(X, y)
    >>> parts = position_contributions(model, X)
    >>> parts.shape
    (4, 1, 4)
    >>> bool(np.allclose(parts.sum(axis=(1, 2)) + model.intercept_, model.decision_function(X)))
    True
    """
    check_is_fitted(model)
    members = _members(model, column, view)
    X = with_groups(X, groups)
    rows, support = rows_as_seen(model, X), model.support_
    if not len(support):  # the same prediction for every row
        return np.zeros((*model.contributions(X).shape[:-1], _bare(model.kernels_[members[0]]).length_))
    if hasattr(model, "features_"):
        others = model.features_.landmarks
        coefficients, weights = _expansion_in_landmarks(model, X, rows, members)
    else:
        others = take_rows(model.rows_, support)
        coefficients, weights = _expansion(model, X, rows, members)
    n_rows, n_problems, n_clusters = weights.shape[:3]
    first, kernels = model.kernels_[members[0]], [_bare(model.kernels_[m]) for m in members]
    (seen, own, scales), (known, theirs, factors) = _seen(first, rows), _seen(first, others)
    coefficients = (coefficients * factors[:, None])[:, theirs]
    # One split for all kernels, unless a row weighs them differently (cosine, the activation of LMKL).
    together = [list(range(len(members)))] if weights.shape[3] == 1 else [[m] for m in range(len(members))]
    parts = np.zeros((n_rows, n_problems, n_clusters, kernels[0].length_))
    for number, some in enumerate(together):
        shares = np.zeros((n_rows, n_problems * n_clusters, kernels[0].length_))
        if own.any() and theirs.any():
            shares[own] = position_shares([kernels[m] for m in some], seen, known, coefficients[some])
        parts += shares.reshape(parts.shape) * (scales[:, None, None] * weights[..., number])[..., None]
    return parts[:, 0] if n_problems == 1 else parts


def _members(model: BaseMKL, column: str | int | None, view: str | None) -> list[int]:
    """Return the numbers of the weighted-degree kernels on a column, of one view."""
    views, kernels = kernel_views(model), bare_kernels(model)
    members = [m for m in weighted_degrees(model) if kernels[m].column == column and view in (None, views[m])]
    if not members:
        known = listed(dict.fromkeys(repr(own) for _, own in sequence_places(model))) or "none"
        raise ValueError(f"`column` must be one that `WeightedDegree` kernels read, {known}, got {column!r}.")
    several = list(dict.fromkeys(views[m] for m in members))
    if len(several) > 1:
        raise ValueError(f"`view` must name one view of sequences, {listed(several)}, got None.")
    return members


def _bare(kernel: Any) -> Any:
    return kernel.kernel_ if isinstance(kernel, ViewKernel) else kernel


def _seen(kernel: Any, rows: Rows) -> tuple[Rows, Bools, Floats]:
    """Return the rows that a kernel reads, the mask of who has them, and what it multiplies all rows by."""
    if not isinstance(kernel, ViewKernel):
        n_rows = count_rows(rows)
        return rows, np.ones(n_rows, dtype=bool), np.ones(n_rows)
    return rows.rows(kernel.view), rows.present(kernel.view), kernel.scales(rows)


def weighted_degrees(model: BaseMKL) -> list[int]:
    """Return the numbers of a model's weighted-degree kernels.

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> from localmkl.kernels import Spectrum
    >>> X, y = ["ACGT", "ACGA", "TTGA", "TTCA"], [0, 0, 1, 1]
    >>> weighted_degrees(MKLClassifier([Spectrum(2), WeightedDegree(1), WeightedDegree(2)]).fit(X, y))
    [1, 2]
    """
    return [m for m, kernel in enumerate(bare_kernels(model)) if isinstance(kernel, WeightedDegree)]


def _expansion(model: BaseMKL, X: Rows, rows: Rows, members: list[int]) -> tuple[Floats, Floats]:
    """Return the two factors of the expansion, of rows as they came and as the kernels see them.

    The coefficients of the support vectors, (M, n_support, n_problems * l), and what multiplies the sum over
    them at each row, (n, n_problems, l, M or 1).
    """
    support, alpha = model.support_, np.atleast_2d(model.dual_coef_)[:, model.support_]
    factors = model.factors_[members]
    if hasattr(model, "gating_"):
        vectors = (
            alpha[None, :, :, None] * np.moveaxis(model.gating_[:, support][:, :, members], 2, 0)[..., None]
        )
        weights = model.gating(X).reshape(count_rows(rows), len(alpha), -1)[:, :, None, members]
    else:
        betas = model.kernel_weights_.reshape(len(alpha), -1, len(model.factors_))[:, None, :, members]
        vectors = alpha[:, :, None, None] * model.memberships_[support][None, :, :, None] * betas
        vectors = np.moveaxis(vectors, 3, 0)
        weights = model.memberships(X)[:, None, :, None]
        weights = np.broadcast_to(weights, (len(weights), len(alpha), *weights.shape[2:]))
    vectors = vectors * factors[:, None, None, None]
    if model.cosine_scales_ is not None:
        vectors = vectors * model.cosine_scales_[members][:, None, support, None]
        weights = weights * _row_scales(model, rows, members)
    flat = np.moveaxis(vectors, 1, 2).reshape(len(members), len(support), -1)
    return flat, weights


def _expansion_in_landmarks(model: BaseMKL, X: Rows, rows: Rows, members: list[int]) -> tuple[Floats, Floats]:
    """Do as `_expansion` for a model on features, in place of support vectors with its landmarks.

    From phi_m(x) = R_m' k_m(Z, x) and the decision sum_m phi_m(x)'v_m, the coefficients are R_m v_m.
    """
    features = model.features_
    v = np.reshape(model.feature_coef_, (-1, *np.shape(model.feature_coef_)[-2:]))
    columns = features.columns()
    own = [v[:, :, columns[m]].reshape(-1, features.widths[m]).T for m in members]
    flat = np.stack([features.roots[m] @ part for m, part in zip(members, own, strict=True)])
    weights = model.memberships(X)[:, None, :, None]
    if features.cosine:
        weights = weights * _row_scales(model, rows, members)
    return flat, np.broadcast_to(weights, (len(weights), len(v), *weights.shape[2:]))


def _row_scales(model: BaseMKL, rows: Rows, members: list[int]) -> Floats:
    """Return what the cosine normalisation multiplies the kernels by at rows, (n, 1, 1, M)."""
    scales = [cosine_scales(model.kernels_[m].diag(rows)) for m in members]
    return np.stack(scales, axis=1)[:, None, None, :]


def decision_part(model: BaseMKL, parts: Floats, label: Any = None) -> Floats:
    """Return position contributions summed over clusters, to the decision for one class.

    Parameters
    ----------
    model : fitted estimator
    parts : ndarray
        What `position_contributions` returned.
    label : optional
        One of ``model.classes_``; by default the last. Of two classes, what speaks for one speaks against the
        other. Regressors have no labels.

    Returns
    -------
    ndarray of shape (n_samples, length)

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> from localmkl.kernels import WeightedDegree
    >>> X, y = ["ACGT", "ACGA", "TTGT", "TTCA"], ["a", "a", "b", "b"]
    >>> model = MKLClassifier([WeightedDegree(2)]).fit(X, y)
    >>> decision_part(model, position_contributions(model, X), "b").shape
    (4, 4)
    """
    if not hasattr(model, "classes_"):
        return parts.sum(axis=1)
    classes = model.classes_.tolist()
    label = classes[-1] if label is None else label
    if label not in classes:
        raise ValueError(f"`label` must be one of {classes}, got {label!r}.")
    number = classes.index(label)
    if parts.ndim == 4:
        return parts[:, number].sum(axis=1)
    return parts.sum(axis=1) if number == 1 else -parts.sum(axis=1)


def sequences_of(
    model: BaseMKL, X: Rows, column: str | int | None = None, view: str | None = None
) -> tuple[list[str | MaybeNone], str]:
    """Return the sequences that the weighted-degree kernels on a column see, and their alphabet.

    A sample that lacks their view has None.
    """
    kernel = model.kernels_[_members(model, column, view)[0]]
    rows, own, _ = _seen(kernel, rows_as_seen(model, X))
    sequences = np.full(len(own), None, dtype=object)
    if own.any():
        sequences[own] = list(pick_texts(rows, _bare(kernel).column, "WeightedDegree", "sequences"))
    return sequences.tolist(), _bare(kernel).alphabet


def logo_heights(values: Floats, sequences: Sequence[str], alphabet: str = "dna") -> tuple[Floats, str]:
    """Return the letters of a logo: the part of the mean value at each position that each letter brings.

    Parameters
    ----------
    values : ndarray of shape (n_samples, length)
        A value for each letter of each sequence, such as a sum of `position_contributions`.
    sequences : list of str
    alphabet : {"dna", "rna", "protein"} or str, default="dna"

    Returns
    -------
    heights : ndarray of shape (length, n_letters)
        Their sum at each position is ``values.mean(axis=0)``, less what ambiguous letters have of it.
    letters : str

    Examples
    --------
    >>> heights, letters = logo_heights(np.array([[1.0, 2.0], [3.0, -2.0]]), ["AC", "AG"])
    >>> letters
    'ACGT'
    >>> heights
    array([[ 2.,  0.,  0.,  0.],
           [ 0.,  1., -1.,  0.]])
    """
    letters = alphabet_letters(alphabet)[0]
    codes = encode(sequences, alphabet).codes.reshape(values.shape)
    heights = np.zeros((values.shape[1], len(letters)))
    for code in range(len(letters)):
        heights[:, code] = np.where(codes == code, values, 0.0).mean(axis=0)
    return heights, letters
