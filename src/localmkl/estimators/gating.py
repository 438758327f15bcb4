"""The seam between an estimator and whatever yields memberships.

A gate learns from the training rows (`fit` returns their memberships) and says for a block of new rows
who belongs where (`memberships`). It sees the raw rows and the normalised Grams, and reads what it needs.
Those that find clusters (`localmkl.gates`) are given the Gram of the gate kernel alone.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from localmkl._checks import check_memberships, listed
from localmkl._sklearn import count_rows, take
from localmkl._types import Array, Bools, Floats, MaybeNone, Picked, Rows
from localmkl.backends import one_blas_thread
from localmkl.estimators.context import FoldContext, identity, parameters_key
from localmkl.estimators.deciding import Nearness
from localmkl.estimators.factors import FeatureRows
from localmkl.estimators.groups import GroupGate
from localmkl.estimators.rows import Grams
from localmkl.gates import GATES, Gate, KernelKMeansGate
from localmkl.kernels import Kernel
from localmkl.kernels.features import fit_features
from localmkl.kernels.stack import NormalizedGrams, fit_kernel, take_rows, threadable
from localmkl.kernels.viewed import in_one_view, view_read
from localmkl.stacks import FactorStack, Stack

if TYPE_CHECKING:
    from localmkl.estimators.convex import LocalMKL

Joint: TypeAlias = Any
"""A `Stack`, `CrossGrams` or `FeatureRows` of the training rows followed by the unlabelled ones."""

PARTITION = ("normalize", "gate", "gate_kernel", "n_clusters", "n_init", "random_state")
"""Parameters that the partition of the training rows depends on, beside the kernels."""

GATE_ROWS = 2048
"""Most rows that clusters are learned from on features, drawn at random: their means change little with more,
and their Gram takes 32 MB."""

GATE_MATRICES = 2
"""Cross-Grams that exist while all kernels are averaged: the sum and the next; one for a single kernel."""


class OneCluster:
    """Everybody in one cluster: global methods."""

    tau, evenness = 0.0, 1.0
    threadable = True

    def memberships(self, X: Rows, grams: Grams, rows: slice) -> Floats:
        """Return ones, (n_rows, 1)."""
        return np.ones((rows.stop - rows.start, 1))


class GateKernel:
    """The kernel k0 that says who is near whom.

    Parameters
    ----------
    spec : None, int, kernel or callable
        None is the uniform combination of all kernels, an integer one of them.
    """

    def __init__(self, spec: Any, n_kernels: int, precomputed: bool) -> None:
        self.index = int(spec) if isinstance(spec, int | np.integer) else None
        self.own = None if self.index is not None else spec
        if isinstance(spec, bool) or (self.index is not None and not -n_kernels <= spec < n_kernels):
            raise ValueError(f"`gate_kernel` must index one of the {n_kernels} kernels, got {spec}.")
        if self.own is not None and precomputed:
            raise ValueError(
                f"`gate_kernel` must be None or an index with precomputed kernels, got {spec!r}; "
                "put the gate's Gram into the stack and give its index."
            )

    def fit(self, X: Rows, sample_weight: Floats | None, kernels: list[Kernel] | None = None) -> Self:
        """Learn the parameters of a kernel of its own; of one of the model's, only which view it reads."""
        if self.own is not None:
            self.own = fit_kernel(in_one_view(self.own, X), X, sample_weight)
        one = self.own if self.index is None or kernels is None else kernels[self.index]
        self.view = view_read(one, X)
        return self

    def counted(self, X: Rows, weights: Floats | None) -> Floats | None:
        """Return the weights of rows, zero of those that lack the view that it reads."""
        return weights if self.view is None else X.present(self.view) * (1.0 if weights is None else weights)

    def known(self, X: Rows, memberships: Floats) -> Floats:
        """Return memberships, the same in all clusters where a row lacks the view that it reads."""
        view = getattr(self, "view", None)  # files of older versions have none
        if view is None:
            return memberships
        return np.where(X.present(view)[:, None], memberships, 1.0 / memberships.shape[1])

    def present(self, X: Rows) -> Bools | None:
        """Return which rows have the view that it reads; None if all do."""
        return None if self.view is None else X.present(self.view)

    def shares(self, n_kernels: int) -> MaybeNone:
        """Return how much of each of the model's kernels is in k0, (n_kernels,); None: it has its own."""
        if self.own is not None:
            return None
        return np.full(n_kernels, 1.0 / n_kernels) if self.index is None else np.eye(n_kernels)[self.index]

    @property
    def threadable(self) -> bool:
        """Whether several threads may ask at once."""
        return self.own is None or threadable(self.own)

    def training_gram(self, X: Rows, stack: Stack, factors: Floats) -> Floats:
        """Return k0 on the training rows, (n, n)."""
        if self.own is not None:
            return self.own(X)
        order = stack.reading_order()
        if order is not None:
            places = np.argsort(order)
            return self.training_gram(X, stack[np.ix_(order, order)], factors)[np.ix_(places, places)]
        if self.index is not None:
            m = self.index % stack.n_kernels
            weight = np.array([[factors[m]]])
            return stack.only(m).combine(weight, np.ones((len(stack), 1)))
        return stack.combine((factors / len(factors))[None, :], np.ones((len(stack), 1)))

    def cross_gram(self, X: Rows, grams: Grams, rows: Picked = slice(None)) -> Any:
        """Return k0 between a block of rows and the reference rows of the fit."""
        if self.own is not None:
            return self.own(X, grams.source.Y)
        return grams.mean(rows) if self.index is None else grams.matrix(self.index, rows)


class FeatureGateKernel(GateKernel):
    """The gate's kernel on features: rows are compared with means in feature space, not with rows.

    A cluster's mean is mu_j = sum_i a_ij phi(x_i). So d2_j = ||mu_j||^2 - 2 phi(x)'mu_j + k0(x, x): features
    stand for the cross-Gram, and means for averages over training rows.
    """

    def fit_features(self, estimator: LocalMKL, X: Rows, sample_weight: Floats | None) -> Self:
        """Learn the features of a kernel of its own."""
        self.fit(X, sample_weight, estimator.kernels_)
        if self.own is not None:
            self.own = fit_features(
                [self.own],
                X,
                estimator.n_components,
                sample_weight=sample_weight,
                landmarks=estimator.landmarks,
                random_state=estimator.random_state,
            )
        return self

    def cross_gram(self, X: Rows, grams: Grams, rows: Picked = slice(None)) -> Any:
        """Return the features of a block of rows whose products are k0."""
        if self.own is not None:
            return self.own.transform(X, dtype=np.float64)
        return grams.scaled(rows, self.shares(len(grams.factors)) * grams.factors)


class ClusteringGate:
    """Clusters under the gate kernel, of the training rows or of these and unlabelled ones."""

    def __init__(self, clustering: Gate, kernel: GateKernel) -> None:
        self.clustering, self.kernel = clustering, kernel

    @property
    def tau(self) -> float:
        """Sharpness of the memberships."""
        return float(self.clustering.tau_)

    @property
    def evenness(self) -> float:
        """Average evenness over the partitioned rows."""
        return float(self.clustering.evenness_)

    @property
    def threadable(self) -> bool:
        """Whether several threads may ask at once."""
        return self.kernel.threadable

    def memberships(self, X: Rows, grams: Grams, rows: slice) -> Floats:
        """Return memberships of a block of new rows."""
        distances = grams.note(
            rows, lambda: self.clustering.distances(self.kernel.cross_gram(X, grams, rows))
        )
        return self._at(X, distances)

    def nearness(self, grams: NormalizedGrams, n_rows: int) -> Nearness | None:
        """Return what is to be known of the model's kernels at new rows; None where that is not all."""
        shares = self.kernel.shares(len(grams.factors))
        return None if shares is None else Nearness(shares, self.clustering.averages_, n_rows)

    def memberships_near(self, X: Rows, near: Nearness) -> Floats:
        """Return memberships of new rows whose nearness is known."""
        return self._at(X, self.clustering.distances_from(near.product))

    def _at(self, X: Rows, distances: Floats) -> Floats:
        return self.kernel.known(X, self.clustering.memberships_at(distances))


class ModelGate:
    """Anything with ``fit`` and ``predict_proba``, or a function of the rows."""

    tau = evenness = float("nan")
    threadable = False

    def __init__(self, model: Any, hard: bool) -> None:
        self.model, self.hard = model, hard

    def fit(self, X: Rows) -> Floats:
        """Fit a copy of the model (functions need no fit); return memberships of the rows."""
        if hasattr(self.model, "predict_proba"):
            self.model = clone(self.model).fit(X, None)
        given = self.memberships(X, None, slice(0, count_rows(X)))
        self.n_clusters = given.shape[1]
        return given

    def memberships(self, X: Rows, grams: Grams, rows: slice) -> Floats:
        """Return memberships of a block of new rows."""
        given = self.model.predict_proba(X) if hasattr(self.model, "predict_proba") else self.model(X)
        given = check_memberships(given, rows.stop - rows.start)
        expected = getattr(self, "n_clusters", given.shape[1])
        if given.shape[1] != expected:
            raise ValueError(
                f"`gate` must give memberships in the {expected} clusters of the fit, got {given.shape[1]}."
            )
        return _maybe_hard(given, self.hard)


class MatrixGate:
    """A fixed membership matrix, one row for each row of the whole `GramStack`."""

    tau = evenness = float("nan")
    threadable = True

    def __init__(self, matrix: Any, hard: bool) -> None:
        self.matrix, self.hard = np.asarray(matrix, dtype=np.float64), hard

    def fit(self, stack: Any, n_train: int) -> Floats:
        """Return memberships of the training rows."""
        self.origin = stack.origin if isinstance(stack, Stack) else None
        n_rows = n_train if self.origin is None else stack.whole_shape[0]
        self.matrix = check_memberships(self.matrix, n_rows)
        return self.of_rows(stack)

    def of_rows(self, stack: Any) -> Floats:
        """Return the memberships of the rows of a slice of the stack."""
        chosen = self.matrix if stack.rows is None else self.matrix[stack.rows]
        return _maybe_hard(chosen, self.hard)

    def memberships(self, X: Rows, grams: Grams, rows: slice) -> Floats:
        """Return memberships of new rows: they must be rows of the same `GramStack`."""
        if not isinstance(X, Stack) or X.origin != self.origin:
            raise ValueError(
                "A fixed membership matrix as `gate` only knows the rows of the `GramStack` of the "
                "fit; predict on slices of that stack, or use a gate that can judge new rows."
            )
        return self.of_rows(X)


FittedGate: TypeAlias = OneCluster | ClusteringGate | ModelGate | MatrixGate | GroupGate


def with_shared(memberships: Floats, share: float) -> Floats:
    """Return memberships with one more column in front, the same for all: (s, (1 - s) c_1, ..., (1 - s) c_l).

    Examples
    --------
    >>> with_shared(np.eye(2), 0.25)
    array([[0.25, 0.75, 0.  ],
           [0.25, 0.  , 0.75]])
    """
    if share in (0.0, 1.0):  # then nothing is shared, or all, and `memberships` has one column
        return memberships
    return np.column_stack([np.full(len(memberships), share), (1.0 - share) * memberships])


def fit_gate(
    estimator: LocalMKL,
    X: Rows,
    groups: Array | None,
    stack: Stack,
    sample_weight: Floats | None,
    unlabeled: Joint | None,
    context: FoldContext,
) -> tuple[FittedGate, Floats]:
    """Return the fitted gate of an estimator and the memberships of its training rows.

    `groups` is None or their groups; `unlabeled` None or the Grams of the training rows followed by the
    unlabelled ones.
    """
    gate, hard, n_train = estimator.gate, estimator._hard, stack.shape[0]
    if groups is not None:
        if unlabeled is not None:
            raise ValueError("`unlabeled` rows help to find clusters; gate='groups' knows them already.")
        gate = GroupGate(estimator.gate_kernel, hard)
        return gate, gate.fit(groups)
    if isinstance(gate, str | Gate):
        weights = sample_weight
        if weights is not None and unlabeled is not None:
            weights = np.concatenate([weights, np.ones(unlabeled.shape[0] - n_train)])
        key = parameters_key(estimator, PARTITION)
        evenness = None if hard else (estimator if isinstance(gate, str) else gate).evenness
        kernel, partition, distances, weights = context.recall(
            "partition", key, lambda: _partition(estimator, X, stack, sample_weight, weights, unlabeled)
        )
        clustering = context.recall(
            "clustering",
            (key, evenness),
            lambda: copy(partition).set_params(evenness=evenness).sharpen(distances, weights),
        )
        memberships = clustering.memberships_at(distances[:n_train])
        return ClusteringGate(clustering, kernel), kernel.known(X, memberships)
    rows = getattr(estimator, "rows_", X)
    if hasattr(gate, "predict_proba") or callable(gate):
        if estimator._precomputed:
            raise ValueError(
                f"With precomputed kernels `gate` must be one of {listed(map(repr, GATES))}, a `Gate` or a "
                "fixed membership matrix: there are no rows to give to a model or a function."
            )
        return context.recall(
            "model", (identity(gate), hard), lambda: _fitted(ModelGate(gate, hard), n_train, rows)
        )
    rows = X if estimator._precomputed else stack
    return _fitted(MatrixGate(gate, hard), n_train, rows, n_train)


def _fitted(gate: Any, n_train: int, *rows: Any) -> tuple[Any, Floats]:
    """Return a gate and the memberships of the training rows, which stand first."""
    memberships = gate.fit(*rows)
    return gate, memberships[:n_train]


def _clustering(estimator: LocalMKL) -> Gate:
    """Return the gate that an estimator asks for, not fitted, for a hard partition."""
    if isinstance(estimator.gate, Gate):
        return clone(estimator.gate).set_params(evenness=None)
    return KernelKMeansGate(
        estimator.n_clusters, None, n_init=estimator.n_init, random_state=estimator.random_state
    )


Partition: TypeAlias = tuple[GateKernel, Gate, Floats, Floats | None]


def _partition(
    estimator: LocalMKL,
    X: Rows,
    stack: Stack,
    sample_weight: Floats | None,
    weights: Floats | None,
    unlabeled: Joint | None,
) -> Partition:
    """Return the gate kernel, its hard partition, and the distances and weights of the partitioned rows."""
    if isinstance(stack, FactorStack):
        return _partition_on_features(estimator, X, stack, sample_weight, weights, unlabeled)
    kernel = GateKernel(estimator.gate_kernel, stack.n_kernels, estimator._precomputed)
    kernel.fit(X, sample_weight, estimator.kernels_)
    weights = kernel.counted(X if unlabeled is None else getattr(estimator, "rows_", None), weights)
    if unlabeled is None:
        gram = kernel.training_gram(X, stack, estimator.factors_)
    else:
        scales = estimator.cosine_scales_
        joint = NormalizedGrams(unlabeled, estimator.factors_, scales, scales)
        gram = kernel.cross_gram(None if estimator._precomputed else estimator.rows_, joint)
    with one_blas_thread():  # others would go on waiting for work on the cores that the solver needs
        partition = _clustering(estimator).fit(gram, weights)
        return kernel, partition, partition.distances(gram), weights


def _partition_on_features(
    estimator: LocalMKL,
    X: Rows,
    stack: FactorStack,
    sample_weight: Floats | None,
    weights: Floats | None,
    unlabeled: Joint | None,
) -> Partition:
    """Do as `_partition` does, with clusters of a sample of the rows."""
    kernel = FeatureGateKernel(estimator.gate_kernel, stack.n_kernels, estimator._precomputed)
    kernel.fit_features(estimator, X, sample_weight)
    grams = FeatureRows(stack, None, estimator.factors_)
    if unlabeled is not None:
        grams = (
            unlabeled if isinstance(unlabeled, FeatureRows) else FeatureRows(unlabeled, None, grams.factors)
        )
        X = grams.rows
    weights = kernel.counted(X, weights)
    n_rows, seen = grams.shape[0], kernel.own is not None  # else features say all
    chosen = np.arange(n_rows) if weights is None else np.flatnonzero(weights > 0.0)
    if len(chosen) > GATE_ROWS:
        rng = check_random_state(estimator.random_state)
        chosen = np.sort(rng.choice(chosen, GATE_ROWS, replace=False))
    features = np.asarray(kernel.cross_gram(take(X, chosen) if seen else None, grams, chosen))
    partition = _clustering(estimator).fit(
        features @ features.T, None if weights is None else weights[chosen]
    )
    partition.on_features(features)
    blocks = (
        partition.distances(kernel.cross_gram(take_rows(X, rows) if seen else None, grams, rows))
        for rows in grams.blocks()
    )
    return kernel, partition, np.concatenate(list(blocks)), weights


def _maybe_hard(memberships: Floats, hard: bool) -> Floats:
    if not hard:
        return memberships
    return np.eye(memberships.shape[1])[memberships.argmax(axis=1)]
