"""Explanations of a fitted model, as arrays: `plots` draws them, `report` puts them into sentences.

kernel_names, kernel_shares    which kernel matters in which cluster
kernel_contributions           which kernel matters for which sample
described_loss                 what was minimised
sample_map                     samples in two dimensions: kernel PCA of the gate kernel
position_contributions         what each letter of a sequence adds to the decision, exactly
logo_heights                   which letters speak for a class
"""

from dataclasses import dataclass, fields, is_dataclass

import numpy as np
from sklearn.decomposition import KernelPCA
from sklearn.utils.validation import check_is_fitted

from localmkl._checks import check_integer
from localmkl.estimators.gating import GateKernel
from localmkl.kernels import WeightedDegree
from localmkl.kernels.alphabets import alphabet_letters, encode
from localmkl.kernels.positions import position_shares
from localmkl.kernels.stack import take_rows
from localmkl.solvers.losses import CLASSIFICATION, REGRESSION


def kernel_names(model):
    """Return a short name for each kernel of a fitted model: what tells it from the others.

    The class is left out where all kernels have the same one; see `kernel_family`.

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    list of str

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> from localmkl.kernels import Spectrum, WeightedDegree
    >>> X, y = ["ACGT", "ACGA", "TTGA", "TTCA"], [0, 0, 1, 1]
    >>> kernel_names(MKLClassifier([WeightedDegree(1), WeightedDegree(2), Spectrum(3)]).fit(X, y))
    ['WeightedDegree degree 1', 'WeightedDegree degree 2', 'Spectrum']
    >>> kernel_names(MKLClassifier([WeightedDegree(1), WeightedDegree(2)]).fit(X, y))
    ['degree 1', 'degree 2']
    """
    check_is_fitted(model)
    if model.kernels_ is None:
        return [f"kernel {m + 1}" for m in range(len(model.factors_))]
    names = []
    for kernel in model.kernels_:
        kind = type(kernel)
        family = [other.get_params(deep=False) for other in model.kernels_ if type(other) is kind]
        own = kernel.get_params(deep=False)
        telling = [key for key in own if len({_written(other[key]) for other in family}) > 1]
        words = [f"{key} {_written(own[key])}" for key in telling if own[key] is not None]
        names.append(" ".join(words if words and kernel_family(model) else [kind.__name__, *words]))
    return numbered(names)


def numbered(names):
    """Return names with a number after those that occur several times.

    Examples
    --------
    >>> numbered(["a", "b", "a"])
    ['a (1)', 'b', 'a (3)']
    """
    repeated = {name for name in names if names.count(name) > 1}
    return [f"{name} ({m + 1})" if name in repeated else name for m, name in enumerate(names)]


def kernel_family(model):
    """Return the class name that all kernels of a model have, or an empty text."""
    kinds = {type(kernel).__name__ for kernel in model.kernels_ or ()}
    return kinds.pop() if len(kinds) == 1 else ""


def _written(value):
    """Return a parameter as a reader would write it."""
    if isinstance(value, slice):
        return f"{value.start or 0} to {value.stop - 1}" if value.stop else f"{value.start or 0} on"
    if isinstance(value, list | tuple | np.ndarray):
        items = [str(item) for item in value]
        return ", ".join(items) if len(items) <= 3 else f"{items[0]}, {items[1]} ... {items[-1]}"
    if isinstance(value, float):
        return f"{value:.3g}"
    return getattr(value, "__name__", str(value))


def described_loss(model):
    """Return the name of the loss that a model was fitted with, and its parameters.

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    dict
        "loss": the name that the estimators have for it, or that of its class; then `epsilon`, `quantile` or
        what else the loss has.

    Examples
    --------
    >>> from localmkl import MKLRegressor
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(30, regression=True, random_state=0)[:2]
    >>> described_loss(MKLRegressor(loss="quantile", quantile=0.9).fit(X, y))
    {'loss': 'quantile', 'quantile': 0.9}
    """
    loss, kinds = model.loss_, {**CLASSIFICATION, **REGRESSION}
    known = [name for name, kind in kinds.items() if type(loss) is kind]
    own = {field.name: getattr(loss, field.name) for field in fields(loss)} if is_dataclass(loss) else {}
    return {"loss": (known or [type(loss).__name__])[0], **own}


def kernel_shares(model):
    """Return the share of each kernel in the weights of its cluster; a mean over classes.

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    ndarray of shape (n_clusters, n_kernels)
        Rows sum to one.

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(80, random_state=0)[:2]
    >>> model = CLMKLClassifier(random_state=0).fit(X, y)
    >>> kernel_shares(model).sum(axis=1).round(6)
    array([1., 1., 1.])
    """
    return class_shares(model).mean(axis=0)


def class_shares(model):
    """Return the share of each kernel by class and cluster, (n_problems, n_clusters, n_kernels)."""
    check_is_fitted(model)
    weights = np.asarray(model.kernel_weights_, dtype=float)
    weights = weights[None] if weights.ndim == 2 else weights
    totals = weights.sum(axis=-1, keepdims=True)
    even = np.full_like(weights, 1.0 / weights.shape[-1])
    return np.divide(weights, totals, out=even, where=totals > 0.0)


def kernel_contributions(model, X):
    """Return the contribution of each kernel to the decision, over all clusters.

    Parameters
    ----------
    model : fitted estimator
    X : rows, or cross-Grams when precomputed

    Returns
    -------
    ndarray of shape (n_samples, n_kernels)
        With several classes, of the decision for the predicted one.

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(80, random_state=0)[:2]
    >>> model = CLMKLClassifier(random_state=0).fit(X, y)
    >>> sums = kernel_contributions(model, X).sum(axis=1) + model.intercept_
    >>> bool(np.allclose(sums, model.decision_function(X)))
    True
    """
    parts = model.contributions(X)
    if parts.ndim == 4:
        winner = (parts.sum(axis=(2, 3)) + model.intercept_).argmax(axis=1)
        parts = parts[np.arange(len(parts)), winner]
    return parts.sum(axis=1)


def memberships_of(model, X=None):
    """Return the memberships of rows, by default of the training samples, (n_samples, n_clusters)."""
    check_is_fitted(model)
    if X is not None:
        return model.memberships(X)
    known = getattr(model, "memberships_", None)
    return np.ones((np.shape(model.dual_coef_)[-1], 1)) if known is None else known


def histories(model):
    """Return the steps of the solver as a list of dicts, one for each problem."""
    check_is_fitted(model)
    return [model.history_] if isinstance(model.history_, dict) else list(model.history_)


def training_rows(model):
    """Return the training rows that a fitted model keeps, or None with precomputed kernels."""
    check_is_fitted(model)
    rows = getattr(model, "rows_", None)
    if rows is None:
        return None
    return model._as_given(take_rows(rows, slice(0, np.shape(model.dual_coef_)[-1])))


@dataclass(frozen=True)
class SampleMap:
    """Samples in two dimensions.

    Parameters
    ----------
    coordinates : ndarray of shape (n_samples, 2)
    explained : ndarray of shape (2,)
        Share of the gate kernel's variance along each axis.
    """

    coordinates: np.ndarray
    explained: np.ndarray


def sample_map(model, X=None, *, train=None, max_rows=1000):
    """Place samples on a map by kernel PCA of the gate kernel, the kernel that says who is near whom.

    Parameters
    ----------
    model : fitted estimator
    X : rows, or cross-Grams when precomputed; optional
        The samples to place; by default the training rows.
    train : GramStack, optional
        With precomputed kernels, the square stack of the fit: a model does not keep it.
    max_rows : int, default=1000
        Most training rows that the axes are learned from, evenly spaced.

    Returns
    -------
    SampleMap

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(80, random_state=0)[:2]
    >>> model = CLMKLClassifier(random_state=0).fit(X, y)
    >>> sample_map(model, X[:5]).coordinates.shape
    (5, 2)
    """
    check_integer("max_rows", max_rows, low=3)
    known = training_rows(model) if train is None else train
    if known is None:
        raise ValueError(
            "The map needs the Grams of the training rows, which a model with precomputed kernels does "
            "not keep; pass the square stack of the fit as `train`."
        )
    n_train = np.shape(model.dual_coef_)[-1]
    chosen = np.unique(np.linspace(0, n_train - 1, min(n_train, max_rows)).astype(int))
    axes = KernelPCA(n_components=2, kernel="precomputed", random_state=0)
    gram = _gate_gram(model, take_rows(known, chosen), chosen)
    placed = axes.fit_transform(gram)
    spread = np.trace(gram) - gram.mean(axis=0).sum()
    if X is not None or len(chosen) < n_train:
        placed = axes.transform(_gate_gram(model, known if X is None else X, chosen))
    missing = 2 - placed.shape[1]  # all rows on a line, or on a point
    explained = np.pad(axes.eigenvalues_, (0, missing)) / max(spread, np.finfo(float).tiny)
    return SampleMap(np.pad(placed, ((0, 0), (0, missing))), explained)


def _gate_gram(model, X, columns):
    """Return the gate kernel between rows and some of the training rows."""
    X, grams = model._compare(X)
    kernel = getattr(getattr(model, "gate_", None), "kernel", None) or getattr(model, "gate_kernel_", None)
    if kernel is None:
        kernel = GateKernel(None, len(model.factors_), model._precomputed)
    if kernel.own is not None:
        return kernel.own(X, take_rows(model.rows_, columns))
    if kernel.index is not None:
        return grams.block(kernel.index, slice(None), columns)
    return grams.mean(slice(None), columns)


def sequence_columns(model):
    """Return the columns that weighted-degree kernels of a model look at, each once; often ``[None]``."""
    check_is_fitted(model)
    found = [kernel.column for kernel in model.kernels_ or () if isinstance(kernel, WeightedDegree)]
    return [column for m, column in enumerate(found) if column not in found[:m]]


def position_contributions(model, X, *, column=None):
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
    members = [m for m in weighted_degrees(model) if model.kernels_[m].column == column]
    if not members:
        columns = ", ".join(repr(one) for one in sequence_columns(model))
        raise ValueError(
            "Contributions of letters need `WeightedDegree` kernels"
            + (f" on `column`, one of {columns}, got {column!r}." if columns else ", the model has none.")
        )
    rows, grams = model._compare(X)
    support = model.support_
    if not len(support):  # the same prediction for every row
        n_problems, n_clusters = len(np.atleast_2d(model.dual_coef_)), memberships_of(model).shape[1]
        parts = np.zeros((grams.shape[0], n_problems, n_clusters, model.kernels_[members[0]].length_))
        return parts[:, 0] if n_problems == 1 else parts
    coefficients, weights = _expansion(model, rows, grams, members)
    n_rows, n_problems, n_clusters = weights.shape[:3]
    others = take_rows(model.rows_, support)
    kernels = [model.kernels_[m] for m in members]
    # One split for all kernels, unless a row weighs them differently (cosine, the activation of LMKL).
    groups = [list(range(len(members)))] if weights.shape[3] == 1 else [[m] for m in range(len(members))]
    parts = np.zeros((n_rows, n_problems, n_clusters, kernels[0].length_))
    for number, group in enumerate(groups):
        shares = position_shares([kernels[m] for m in group], rows, others, coefficients[group])
        parts += shares.reshape(parts.shape) * weights[..., number, None]
    return parts[:, 0] if n_problems == 1 else parts


def weighted_degrees(model):
    """Return the numbers of a model's weighted-degree kernels."""
    return [m for m, kernel in enumerate(model.kernels_ or ()) if isinstance(kernel, WeightedDegree)]


def _expansion(model, X, grams, members):
    """Return the two factors of the expansion.

    The coefficients of the support vectors, (M, n_support, n_problems * l), and what multiplies the sum over
    them at each row, (n, n_problems, l, M or 1).
    """
    support, alpha = model.support_, np.atleast_2d(model.dual_coef_)[:, model.support_]
    factors = grams.factors[members]
    if hasattr(model, "gating_"):
        vectors = (
            alpha[None, :, :, None] * np.moveaxis(model.gating_[:, support][:, :, members], 2, 0)[..., None]
        )
        everyone = slice(0, grams.shape[0])
        weights = model._gating_block(X, grams, everyone)[:, :, None, members]
    else:
        betas = model.kernel_weights_.reshape(len(alpha), -1, len(model.factors_))[:, None, :, members]
        vectors = alpha[:, :, None, None] * model.memberships_[support][None, :, :, None] * betas
        vectors = np.moveaxis(vectors, 3, 0)
        weights = model.memberships(X)[:, None, :, None]
        weights = np.broadcast_to(weights, (len(weights), len(alpha), *weights.shape[2:]))
    vectors = vectors * factors[:, None, None, None]
    if grams.row_scales is not None:
        vectors = vectors * grams.column_scales[members][:, None, support, None]
        weights = weights * grams.row_scales[members].T[:, None, None, :]
    flat = np.moveaxis(vectors, 1, 2).reshape(len(members), len(support), -1)
    return flat, weights


def decision_part(model, parts, label=None):
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


def sequences_of(model, X, column=None):
    """Return the sequences that the weighted-degree kernels on a column see, and their alphabet."""
    kernel = next(model.kernels_[m] for m in weighted_degrees(model) if model.kernels_[m].column == column)
    return list(kernel._sequences(X)), kernel.alphabet


def logo_heights(values, sequences, alphabet="dna"):
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
