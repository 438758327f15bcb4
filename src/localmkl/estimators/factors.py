"""Models on features: kernels of low rank, K_m = Phi_m Phi_m', from training to prediction.

    f(x) = sum_j c_j(x) sum_m phi_m(x)'v_jm + b,   v_jm = beta_jm a_jm

What such a model keeps of its training rows are landmarks (in its `FeatureMap`) and the coefficients v.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self, TypeVar

import numpy as np

from localmkl._checks import check_integer, check_option
from localmkl._files import scratch_array
from localmkl._resources import FEWER, NUMBER, available_memory, matrix_bytes
from localmkl._sklearn import count_rows
from localmkl._types import Floats, Ints, MaybeNone, Picked, Rows, Seed, Targets
from localmkl.estimators.base import COSINE, BaseMKL, Found, Prepared
from localmkl.estimators.context import FoldContext
from localmkl.estimators.groups import Grouped, as_groups
from localmkl.estimators.rows import Grams, row_blocks
from localmkl.kernels import FeatureMap, Kernel, fit_kernels
from localmkl.kernels.features import LANDMARKS, fit_features
from localmkl.kernels.stack import take_rows
from localmkl.solvers.certify import Solution
from localmkl.solvers.descent import LARGEST_PART
from localmkl.solvers.objective import Problem
from localmkl.stacks import FactorStack, Stack, cosine_scales, device_of
from localmkl.stacks.factors import feature_blocks

Model = TypeVar("Model", bound="FactorPart")
Note = TypeVar("Note")

DOUBLE_BYTES = 2**28
"""Features are kept in float64 up to this size, and in float32 above: their rounding is far below what
landmarks leave out."""
IN_MEMORY = 0.5
"""Share of the free memory that features may take; larger ones are written to a temporary file."""


ROW_VECTORS = 40
"""Vectors of one number a row that a fit on features keeps beside memberships and diagonals."""


DEVICE_ROWS = 2**16
"""Rows whose features are looked at together on a device."""


COPIES = 4
"""Arrays of the size of a block's features and kernel values that prediction holds at a time."""


class FactorPart(BaseMKL):
    """The part of the convex estimators that works on features in place of Grams.

    It does so if `n_components` says how many, or if the rows are a `FactorStack`.
    """

    n_components: MaybeNone = None
    landmarks = LANDMARKS[0]
    random_state: Seed = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_option("landmarks", self.landmarks, LANDMARKS)
        if self.n_components is not None:
            check_integer("n_components", self.n_components, low=1)

    @property
    def _rank(self) -> MaybeNone:
        """Most features of a kernel; None where Grams are computed, or kernels are taken as they are."""
        return None if self._precomputed else self.n_components

    @property
    def _on_features(self) -> bool:
        """Whether the fitted model has features in place of Grams."""
        return hasattr(self, "widths_")

    def _check_rows(self, X: Rows, *, reset: bool) -> Rows:
        if not isinstance(X, SeenRows):
            return super()._check_rows(X, reset=reset)
        super()._check_rows(X.sample, reset=reset)
        return X

    def _check_stack(self, X: Rows, *, reset: bool) -> Stack:
        if reset and not isinstance(X, FactorStack):
            return super()._check_stack(X, reset=reset)
        if reset:
            X = X.training_part()
            X.check_training()
            self.n_features_in_ = X.n_features
            self.columns_ = X.origin, None
            return X
        if self._on_features != isinstance(X, FactorStack):
            kinds = ("a `FactorStack`", "a `GramStack`")
            expected, came = kinds if self._on_features else kinds[::-1]
            came = came if isinstance(X, Stack) else type(X).__name__
            raise ValueError(f"The rows must be {expected}, as those of the fit were, got {came}.")
        if not self._on_features:
            return super()._check_stack(X, reset=reset)
        X.check_finite()
        if list(X.widths) != list(self.widths_):
            raise ValueError(
                f"The stack must hold features of the fit's {len(self.widths_)} kernels, "
                f"{_counted(self.widths_)} of them, got {_counted(X.widths)}."
            )
        return X

    def _fit_stack(self, X: Rows, sample_weight: Floats | None, context: FoldContext) -> Stack:
        stack = super()._fit_stack(X, sample_weight, context)
        if not isinstance(stack, FactorStack):
            return stack
        self.widths_, self.cosine_scales_ = list(stack.widths), None
        if not self._precomputed:
            del self.rows_
            if context.stack is not None:
                self.features_: FeatureMap = context.features
            weights = np.ones(len(stack)) if sample_weight is None else sample_weight
            whole = context.recall("trace", None, lambda: self.features_.diagonals(X) @ weights)
            kept = stack.traces(weights)
            lost = np.divide(whole - kept, whole, out=np.zeros(len(whole)), where=whole > 0.0)
            self.approximation_error_ = np.clip(lost, 0.0, 1.0)  # where nothing is lost, rounding is left
        return stack

    def _compute_stack(
        self, X: Rows, sample_weight: Floats | None
    ) -> tuple[Stack, list[Kernel] | None, Floats | None]:
        if isinstance(X, FactorStack):
            X = X.to_device(self._device)
            return unit_rows(X) if self.normalize == COSINE else X, None, None
        if self._rank is None:
            return super()._compute_stack(X, sample_weight)
        kernels = fit_kernels(self._kernels_for(X), X, sample_weight)
        self.features_, stack = self._features_of(kernels, X, sample_weight)
        return stack, kernels, None

    def _features_of(
        self, kernels: list[Kernel], X: Rows, sample_weight: Floats | None, rows: Ints | None = None
    ) -> tuple[FeatureMap, FactorStack]:
        """Return the feature map that some training rows of X give, and the stack of all rows."""
        return features_of(
            kernels,
            X,
            self.n_components,
            sample_weight=sample_weight,
            landmarks=self.landmarks,
            random_state=self.random_state,
            cosine=self.normalize == COSINE,
            rows=rows,
            device=self._device,
        )

    def _finish(self, prepared: Prepared, solutions: list[Found]) -> Self:
        model = super()._finish(prepared, solutions)
        if self._on_features:
            pairs = zip(prepared.problems, solutions, strict=True)
            self.feature_coef_ = self._stacked([coefficients(*pair) for pair in pairs])
        return model

    def _compare(self, X: Rows, context: FoldContext | None = None) -> tuple[Rows, Grams]:
        if not self._on_features:
            return super()._compare(X, context)
        known, notes = self._known(X, context)
        groups = self._groups_in(X)
        X = self._check_rows(X, reset=False)
        rows = X if groups is None else Grouped(X, groups)
        if known is not None:
            return rows, FeatureRows(known, None, self.factors_, notes)
        if self._precomputed:
            X = unit_rows(X) if self.normalize == COSINE else X
            return rows, FeatureRows(X, None, self.factors_, notes)
        return rows, FeatureRows(X, self.features_, self.factors_, notes, self._device)

    def _fitting_bytes(
        self, X: Rows, n_problems: int, unlabeled: Rows = None, held: bool = False
    ) -> tuple[int, int]:
        if self._rank is None and not isinstance(X, FactorStack):
            return super()._fitting_bytes(X, n_problems, unlabeled, held)
        n_samples, given = count_rows(X), isinstance(X, FactorStack)
        n_kernels = X.n_kernels if given else self._count_kernels(X)
        width = X.n_features if given else n_kernels * self._rank
        features = 0 if given or held else features_bytes(n_samples, width)
        return n_kernels, features + self._factor_bytes(n_samples, n_kernels, width)

    def _factor_bytes(self, n_samples: int, n_kernels: int, n_features: int) -> int:
        """Return the peak of a fit on features, beyond these."""
        n_clusters = self._n_rows_of_weights
        vectors = (ROW_VECTORS + 3 * n_kernels + 3 * n_clusters) * NUMBER * n_samples
        rows = min(n_samples, LARGEST_PART)
        return vectors + 3 * matrix_bytes(rows) + matrix_bytes(rows, 2 * (n_clusters + 1) * n_features)

    def _predicting_bytes(self, n_rows: int, n_columns: int) -> int:
        if not self._on_features:
            return super()._predicting_bytes(n_rows, n_columns)
        rows = max(block.stop - block.start for block in row_blocks(n_rows, n_columns))
        return matrix_bytes(rows, COPIES * n_columns + np.size(self.kernel_weights_))

    @property
    def _lighter(self) -> str:
        if self._precomputed:
            return FEWER
        if self._rank is not None:
            return "use fewer rows, kernels or components"
        return f"set `n_components=200`, or {FEWER}"

    @property
    def _n_rows_of_weights(self) -> int:
        """Number of rows of the kernel weights, as far as the parameters say it."""
        return 1


@dataclass(frozen=True)
class SeenRows:
    """Training rows whose features are there already, and which nobody holds.

    Parameters
    ----------
    sample : rows
        A few of them, as ``fit`` takes them.
    n_rows : int
    groups : ndarray of shape (n_rows,), optional
        For ``gate="groups"``.
    """

    sample: Any
    n_rows: int
    groups: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int]:
        """Number of the rows."""
        return (self.n_rows,)


def fit_on_features(
    model: Model,
    sample: Rows,
    y: Targets,
    features: FeatureMap,
    table: Floats,
    traces: Floats,
    *,
    groups: Targets = None,
) -> Model:
    """Fit a model to rows by their features, which somebody else has computed; return it.

    Parameters
    ----------
    model : estimator with `n_components`
    sample : rows
        Some training rows, as ``fit`` takes them.
    y : array-like of shape (n_rows,)
    features : FeatureMap
        What the features come from, and those of new rows will come from.
    table : array of shape (n_rows, features.n_features)
        In memory or in a memory map.
    traces : ndarray of shape (n_kernels,)
        The sum of ``k_m(x, x)`` over the rows.
    groups : array-like of shape (n_rows,), optional
        For ``gate="groups"``, also where the model names a column of them.
    """
    stack = FactorStack.of_table(table, features.widths)
    model._require_room(stack, 1, None, held=True)
    stack = stack.to_device(model._device)
    context = FoldContext(stack=stack, kernels=features.kernels, features=features)
    context.recall("trace", None, lambda: traces)
    groups = None if groups is None else as_groups(groups)
    return model._fit(SeenRows(sample, len(stack), groups), y, context)


def _counted(widths: Iterable[int]) -> str:
    return ", ".join(map(str, widths))


def features_of(
    kernels: list[Kernel],
    X: Rows,
    n_components: int,
    *,
    sample_weight: Floats | None = None,
    landmarks: str,
    random_state: Seed,
    cosine: bool,
    rows: Ints | None = None,
    device: Any = None,
) -> tuple[FeatureMap, FactorStack]:
    """Return the `FeatureMap` of fitted kernels, learned on some rows of X, and the `FactorStack` of all.

    Parameters
    ----------
    rows : ndarray, optional
        The training rows, where they are not all.
    device : torch.device, optional
        Where the features are computed and kept; here by default.
    """
    training = X if rows is None else take_rows(X, rows)
    features = fit_features(
        kernels,
        training,
        n_components,
        sample_weight=sample_weight,
        landmarks=landmarks,
        random_state=random_state,
        cosine=cosine,
    )
    if device is not None:
        from localmkl.kernels.on_device import features_on_device

        return features, features_on_device(features, X, device)
    table = features.transform(X, out=room_for(count_rows(X), features.n_features))
    return features, FactorStack.of_table(table, features.widths)


def room_for(n_rows: int, n_features: int) -> Floats:
    """Return an array for features: in memory, or in a temporary file if that is too little."""
    shape = n_rows, n_features
    dtype = np.dtype(np.float64 if matrix_bytes(*shape) <= DOUBLE_BYTES else np.float32)
    available = available_memory()
    needed = matrix_bytes(*shape, itemsize=dtype.itemsize)
    if available is not None and needed > IN_MEMORY * available:
        return scratch_array(shape, dtype)
    return np.empty(shape, dtype=dtype)


def features_bytes(n_rows: int, n_features: int) -> int:
    """Return the bytes of memory that features take, as `room_for` places them."""
    needed = matrix_bytes(n_rows, n_features)
    needed = needed if needed <= DOUBLE_BYTES else needed // 2
    available = available_memory()
    return 0 if available is not None and needed > IN_MEMORY * available else needed


class FeatureRows:
    """New rows seen through their features; it stands where `NormalizedGrams` stand.

    Parameters
    ----------
    rows : rows, or a FactorStack of them
    features : FeatureMap or None
        None if the rows are a stack already.
    factors : ndarray of shape (n_kernels,)
    notes : dict or None
        Where results about blocks of rows are kept, for rows that will come again.
    device : torch.device, optional
        Where features are computed; those of a stack are where it is.
    """

    def __init__(
        self,
        rows: Rows,
        features: FeatureMap | None,
        factors: Floats,
        notes: dict[Any, Any] | None = None,
        device: Any = None,
    ) -> None:
        self.rows, self.map, self.factors, self.notes = rows, features, factors, notes
        self.device = device_of(rows) if features is None else device
        self.widths = rows.widths if features is None else features.widths

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of the numbers that each takes: features, and values of kernels."""
        n_compared = 0 if self.map is None else self.map.n_landmarks
        return count_rows(self.rows), sum(self.widths) + n_compared

    def features(self, rows: Picked = slice(None)) -> Floats:
        """Return the features of a block of rows, (n_rows, n_features)."""
        if self.map is None:
            return self.rows.features(rows)
        return self.map.transform(take_rows(self.rows, rows), dtype=np.float64)

    @property
    def on_device(self) -> bool:
        """Whether features are computed or kept on a device."""
        return self.device is not None

    def blocks(self) -> list[slice]:
        """Return slices of rows whose features are looked at together."""
        return feature_blocks(self.shape[0], DEVICE_ROWS if self.on_device else None)

    def _tensor(self, rows: Picked) -> Any:
        if self.map is None:
            return self.rows.rows_of(rows).double()
        from localmkl.kernels.on_device import transform

        return transform(self.map, take_rows(self.rows, rows), self.device)

    def scaled(self, rows: Picked, scales: Floats) -> Any:
        """Return the features of a block of rows, each kernel's multiplied by the root of its scale."""
        roots = np.sqrt(np.repeat(scales, self.widths))
        if not self.on_device:
            return self.features(rows) * roots
        from localmkl.stacks.device import DeviceMatrix

        return DeviceMatrix(self._tensor(rows)).scaled(1.0, right=roots)

    def contributions(self, rows: Picked, coefficients: Floats) -> Floats:
        """Return ``phi_m(x)'v_kjm`` of a block of rows, (n_rows, n_problems, l, M)."""
        if not self.on_device:
            return contributions(self.features(rows), self.widths, coefficients)
        from localmkl.stacks.device import DeviceMatrix

        features = self._tensor(rows).split(list(self.widths), dim=1)
        return contributions([DeviceMatrix(own) for own in features], self.widths, coefficients)

    def diagonals(self) -> Floats:
        """Return ``k_m(x, x)`` of the rows, (n_kernels, n_rows)."""
        edges = np.concatenate([[0], np.cumsum(self.widths)[:-1]])
        blocks = [
            np.add.reduceat(np.square(self.features(rows)), edges, axis=1)
            for rows in feature_blocks(self.shape[0])
        ]
        return np.concatenate(blocks).T * self.factors[:, None]

    def note(self, rows: slice, make: Callable[[], Note]) -> Note:
        """Return what ``make()`` returned, now or before, for a block of rows."""
        if self.notes is None:
            return make()
        key = rows.start, rows.stop
        if key not in self.notes:
            self.notes[key] = make()
        return self.notes[key]


def coefficients(problem: Problem, solution: Solution) -> Floats:
    """Return the v of a solution, (l, n_features)."""
    stack: Any = problem.stack  # one of features
    weights = solution.weights if stack.factors is None else solution.weights * stack.factors
    rows = np.flatnonzero(solution.alpha)
    vectors = problem.memberships[rows] * solution.alpha[rows, None]
    return stack.spread(weights) * stack.moments_of(rows, vectors)


def contributions(features: Floats | list[Any], widths: Sequence[int], coefficients: Floats) -> Floats:
    """Return ``phi_m(x)'v_kjm``, (n_rows, n_problems, l, M), for coefficients (n_problems, l, R).

    `features` is one table, or a list of the kernels' own.
    """
    n_problems, n_clusters = coefficients.shape[:2]
    edges = np.cumsum([0, *widths])
    if isinstance(features, np.ndarray):
        features = [features[:, first:last] for first, last in pairwise(edges)]
    parts = np.empty((features[0].shape[0], n_problems, n_clusters, len(widths)))
    for m, (first, last) in enumerate(pairwise(edges)):
        own = coefficients[:, :, first:last].reshape(-1, last - first)
        parts[..., m] = (features[m] @ own.T).reshape(parts.shape[:3])
    return parts


def unit_rows(stack: FactorStack) -> FactorStack:
    """Return a stack whose features have length one in each kernel: the cosine normalisation."""
    return stack.divided(cosine_scales(stack.diagonals()), in_place=False)
