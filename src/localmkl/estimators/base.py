"""The common part of all estimators: rows in, Gram stack, one-versus-all, contributions out."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from localmkl._checks import check_finite_decisions, check_integer, check_number, check_option, listed
from localmkl._resources import (
    FEWER,
    KEPT_FREE,
    NUMBER,
    computing_bytes,
    matrix_bytes,
    require_memory,
    room_for_some,
)
from localmkl._sklearn import check_sample_weight, count_rows
from localmkl._types import Array, Floats, MaybeNone, Rows, Targets
from localmkl._warnings import warn
from localmkl.backends.threads import free_threads
from localmkl.estimators.context import FoldContext
from localmkl.estimators.groups import Grouped, with_groups
from localmkl.estimators.reading import PRECOMPUTED, ReadingPart
from localmkl.estimators.rows import (
    BLOCK_ENTRIES,
    DEVICE_ENTRIES,
    FEWEST_COLUMNS,
    THREAD_ENTRIES,
    Grams,
    by_chunks,
    cluster,
    in_chunks,
    num_columns,
    over_blocks,
    row_blocks,
)
from localmkl.kernels import CrossGrams, Kernel, columns_read, compute_stack, fit_kernels
from localmkl.kernels.frames import are_apart, put_together, take_apart
from localmkl.kernels.likeness import odd_kernels
from localmkl.kernels.stack import (
    NORMALIZATIONS,
    SHARED_ENTRIES,
    NormalizedGrams,
    cosine_scales,
    cosine_stack,
    learn_factors,
    shares_present,
    sweeps,
    take_rows,
    threadable,
)
from localmkl.kernels.viewed import MISSING
from localmkl.solvers.objective import Problem
from localmkl.stacks import Stack

COSINE = "cosine"

Found: TypeAlias = Any
"""The `Solution` of a problem, or a `GatedSolution`."""

Weigher: TypeAlias = Callable[[Rows, slice], Floats]
"""A function of a block of new rows, and of the slice that it is."""


@dataclass(frozen=True)
class Prepared:
    """The problems that are left to solve, one for each class, and the memberships or the gate's Gram."""

    gate: np.ndarray
    problems: list[Problem]
    parallel: bool

    @property
    def on_device(self) -> bool:
        """Whether the stack is on a device."""
        return self.problems[0].stack.device is not None


class BaseMKL(ReadingPart, ABC):
    """Check, compute the stack, gate, solve each class, store.

    Subclasses say how to fit the gate (`_fit_gate`), how to solve (`_solve_classes`), what to
    keep of the solutions (`_store`) and how a block of new rows is weighed (`_weigher`).
    Parameters are class attributes that hold the default, here and in other parts of an estimator.
    """

    C = 3.0
    normalize: str | None = "multiplicative"
    tol = 1e-3
    max_iter = 500
    n_jobs: int | None = None
    verbose = 0

    _device: Any = None
    """The ``torch.device`` that stacks are made and kept on; None for memory."""

    _partition: Any = None
    """One object for all models of one partition, if they have one."""

    @abstractmethod
    def _fit_gate(
        self,
        X: Rows,
        groups: Array | None,
        stack: Stack,
        sample_weight: Floats | None,
        unlabeled: Rows,
        context: FoldContext,
    ) -> Floats:
        """Learn the gate; return what `_problem` needs of it."""

    def _groups_in(self, X: Rows) -> MaybeNone:
        """Return the groups that come with rows, for a gate that reads them; else None."""
        return None

    def _size(self, gate: Floats, n_kernels: int, targets: Floats, sample_weight: Floats | None) -> float:
        """Return what `C` is divided by so that it means the same for all methods."""
        return 1.0

    @abstractmethod
    def _problem(self, stack: Stack, gate: Floats, target: Floats, cost: Floats) -> Problem:
        """Return one binary or regression problem."""

    @abstractmethod
    def _solve_classes(self, prepared: Prepared) -> list[Found]:
        """Return the solution of every problem, from a cold start."""

    @property
    def _starts_together(self) -> bool:
        """Whether models with one gate and no neighbour are better solved together than one by one."""
        return False

    @staticmethod
    def _solve_near(
        models: Sequence["BaseMKL"],
        prepared: Sequence[Prepared],
        neighbours: Sequence[list[tuple[Found, Problem]] | None],
    ) -> list[list[Found]]:
        """Return the solutions of models that share a gate, each from the pairs of its neighbour, if any.

        A pair is (solution, problem), one for each class. Methods that are not convex start cold: a neighbour
        would lead them to another optimum.
        """
        return [model._solve_classes(own) for model, own in zip(models, prepared, strict=True)]

    @abstractmethod
    def _store(self, solutions: list[Found], gate: Floats) -> None:
        """Set the fitted attributes that belong to the method."""

    @abstractmethod
    def _weigher(self, models: Sequence["BaseMKL"], grams: Grams) -> Weigher:
        """Return a function of a block of new rows, and of the slice that it is.

        It returns their contributions, (n_rows, n_problems, l, M). The problems are those of some models that
        share Grams and gate with this one, one after the other.
        """

    @abstractmethod
    def _targets(self, y: Array, sample_weight: Floats | None) -> tuple[Floats, Floats]:
        """Return targets and relative costs of the samples, one row per problem."""

    def _fit(self, X: Rows, y: Targets, context: FoldContext | None = None, **fit_params: Any) -> Self:
        """Fit a draft and become it: a fit that fails or is interrupted leaves the model as it was."""
        if in_chunks(X):
            if self._device is not None:
                raise ValueError("Rows on a cluster are fitted by its processors; set device='cpu'.")
            return cluster().fit(self, X, y, **fit_params)
        draft = self._copy(learned=False)
        prepared = draft._prepare(X, y, FoldContext() if context is None else context, **fit_params)
        self.__dict__ = draft._finish(prepared, draft._solve_classes(prepared)).__dict__
        return self

    def _copy(self, learned: bool = True) -> Self:
        """Return a model with the same parameters and, if wanted, with what is learned."""
        other = object.__new__(type(self))
        kept = {name: value for name, value in vars(self).items() if learned or not name.endswith("_")}
        other.__dict__.update(kept)
        return other

    def _prepare(
        self, X: Rows, y: Targets, context: FoldContext, sample_weight: Targets = None, unlabeled: Rows = None
    ) -> Prepared:
        """Check, compute the stack, gate: everything before the optimisation."""
        self._check_parameters()
        groups = self._groups_in(X)
        X = self._check_rows(X, reset=True)
        y = self._check_y(y)
        check_consistent_length(X, y)
        weights = None
        if sample_weight is not None:
            # The weights belong to the rows whatever the rows are: strings, a stack, a table.
            weights = check_sample_weight(
                sample_weight, np.empty((len(y), 1)), dtype=np.float64, ensure_non_negative=True
            )
        targets, costs = self._targets(y, weights)
        held = context.stack is not None
        if not held or unlabeled is not None:
            self._require_room(X, len(targets), unlabeled, held)
        stack = self._fit_stack(X, weights, context)
        gate = self._fit_gate(X, groups, stack, weights, unlabeled, context)
        self.C_ = float(self.C) / self._size(gate, stack.n_kernels, targets, weights)
        pairs = zip(targets, self.C_ * costs, strict=True)
        stack = stack.scaled(self.factors_).using(parallel=context.parallel)
        problems = [self._problem(stack, gate, *pair) for pair in pairs]
        return Prepared(gate, problems, context.parallel)

    def _require_room(self, X: Rows, n_problems: int, unlabeled: Rows, held: bool) -> None:
        """Raise unless a fit has the memory that it will take."""
        n_kernels, needed = self._fitting_bytes(X, n_problems, unlabeled, held)
        require_memory(needed, f"Fitting {n_kernels} kernels on {count_rows(X)} rows", self._lighter)

    @property
    def _lighter(self) -> str:
        """Advice on what would take less memory."""
        return FEWER

    def _fitting_bytes(
        self, X: Rows, n_problems: int, unlabeled: Rows = None, held: bool = False
    ) -> tuple[int, int]:
        """Return the number of kernels and the peak of a fit, beyond the stack if it is `held`."""
        n_samples, stack, computing = count_rows(X), 0, 0
        if self._precomputed:
            n_kernels = X.n_kernels
        else:
            n_kernels = self._count_kernels(X)
            computing = computing_bytes(n_kernels, n_samples, num_columns(X))
        if not self._precomputed or self.normalize == COSINE:
            stack = n_kernels * matrix_bytes(n_samples)
        joint = n_samples if unlabeled is None else n_samples + count_rows(unlabeled)
        after = max(self._gating_bytes(joint), self._solving_bytes(n_samples, n_kernels, n_problems))
        return n_kernels, after if held else max(computing, stack + after)

    def _gating_bytes(self, n_samples: int) -> int:
        """Return the peak of learning the gate from so many rows, beyond the stack."""
        return 0

    @abstractmethod
    def _solving_bytes(self, n_samples: int, n_kernels: int, n_problems: int, models: int = 1) -> int:
        """Return the peak of solving so many problems for each of some models, beyond the stack."""

    def _predicting_bytes(self, n_rows: int, n_columns: int) -> int:
        """Return the peak of a prediction for so many rows, by blocks, beyond rows and answer."""
        if self._threadable:
            blocks = self._small_blocks(n_rows, n_columns)
            return self._count_threads(blocks, n_columns) * self._block_bytes(blocks, n_columns)
        rows = min(n_rows, max(1, BLOCK_ENTRIES // max(n_columns, 1)))
        gate = self._gate_matrices * n_columns
        if rows < n_rows and matrix_bytes(rows, len(self.support_)) <= KEPT_FREE:
            gate += min(gate, len(self.support_))  # of the block before, which the C library keeps
        columns = max(2 * len(self.support_), gate)
        together = 0
        if self.kernels_ is not None:
            widest = max(len(members) for members in sweeps(self.kernels_))
            entries = widest * rows * len(self.support_)
            together = entries if widest > 1 and entries <= SHARED_ENTRIES else 0
        return matrix_bytes(rows, columns) + NUMBER * together

    @property
    def _threadable(self) -> bool:
        """Whether several threads may weigh blocks of new rows at once, as far as the model knows."""
        return self._device is None and (self.kernels_ is None or all(map(threadable, self.kernels_)))

    _block_matrices = 2
    """Cross-Grams that a thread holds while it looks at its rows: one, and what a kernel makes it from."""

    def _columns_read(self, n_columns: int) -> int:
        """Return how many reference rows new ones are compared with at a time."""
        return n_columns if self._gate_matrices else len(self.support_)

    def _small_blocks(self, n_rows: int, n_columns: int) -> list[slice]:
        """Return blocks of rows for several threads."""
        return row_blocks(n_rows, max(FEWEST_COLUMNS, self._columns_read(n_columns)), entries=THREAD_ENTRIES)

    def _block_bytes(self, blocks: list[slice], n_columns: int) -> int:
        """Return what one thread takes for a block of rows."""
        rows = blocks[0].stop if blocks else 0
        return matrix_bytes(rows, self._block_matrices * self._columns_read(n_columns))

    def _count_threads(self, blocks: list[slice], n_columns: int) -> int:
        """Return how many threads share blocks of rows: those that are free and have the memory."""
        most = min(free_threads(), len(blocks))
        return max(1, room_for_some(most, self._block_bytes(blocks, n_columns)))

    @property
    def _gate_matrices(self) -> int:
        """Cross-Grams with all reference rows that exist at a time while a block of rows is gated."""
        return 0

    def _finish(self, prepared: Prepared, solutions: list[Found]) -> Self:
        """Store the solutions; return the fitted model."""
        self._store_common(solutions)
        self._store(solutions, prepared.gate)
        return self

    def _over_classes(self, solve: Callable[[Problem, bool], Found], prepared: Prepared) -> list[Found]:
        """Return ``solve(problem, parallel)`` of every class, in threads if the user asked for them."""
        n_jobs = self.n_jobs if len(prepared.problems) > 1 else None
        serial = n_jobs in (None, 1)
        return Parallel(n_jobs=n_jobs, require=None if serial else "sharedmem")(
            delayed(solve)(problem, serial and prepared.parallel) for problem in prepared.problems
        )

    def _check_parameters(self) -> None:
        """Raise if a parameter is wrong whatever the data are."""
        check_number("C", self.C, low=0.0, low_open=True, finite=True)
        check_number("tol", self.tol, low=0.0, low_open=True, finite=True)
        check_integer("max_iter", self.max_iter, low=1)
        check_option("normalize", self.normalize, NORMALIZATIONS)
        check_option("missing", self.missing, MISSING)
        if isinstance(self.kernels, str) and not self._precomputed:
            raise ValueError(
                f"`kernels` must be a list of kernels, {PRECOMPUTED!r} or None, got {self.kernels!r}; write "
                "for instance kernels=[RBF(), Linear()]."
            )

    def _fit_stack(self, X: Rows, sample_weight: Floats | None, context: FoldContext) -> Stack:
        """Set kernels_, factors_ and what prediction compares new rows with; return the stack."""
        if context.stack is not None:
            stack = context.training_stack()
            self.kernels_, self.cosine_scales_ = context.kernels, context.cosine_scales
        else:
            stack, self.kernels_, self.cosine_scales_ = self._compute_stack(X, sample_weight)
        if context.train is None:
            self._warn_of_kernels(stack, X)
        shares = shares_present(self.kernels_, X, sample_weight)
        self.factors_ = context.recall(
            "factors", self.normalize, lambda: learn_factors(self.normalize, stack, sample_weight, shares)
        )
        if not self._precomputed:
            self.rows_ = X
        return stack

    def _warn_of_kernels(self, stack: Stack, X: Rows) -> None:
        """Warn of kernels that cannot help, and of columns that no default kernel reads."""
        if self.kernels is not None:
            for sentence in odd_kernels(stack, self.kernels_):
                warn(sentence)
        elif hasattr(X, "iloc"):
            read = columns_read(self.kernels_, X.columns)
            if left := [name for name in X.columns if name not in read]:
                warn(f"No default kernel reads the columns {listed(left)}; name kernels for them.")

    def _compute_stack(self, X: Rows, sample_weight: Floats | None) -> tuple[Stack, MaybeNone, Floats | None]:
        """Return the stack, the fitted kernels and the cosine scales of the training rows."""
        kernels, scales = None, None
        if self._precomputed:
            stack = X.to_device(self._device)
        else:
            kernels = fit_kernels(self._kernels_for(X), X, sample_weight)
            stack = self._computed(kernels, X)
        if self.normalize == COSINE:
            scales = cosine_scales(stack.diagonals())
            stack = cosine_stack(stack, in_place=stack is not X)
        return stack, kernels, scales

    def _computed(self, kernels: list[Kernel], X: Rows) -> Stack:
        """Return the stack of fitted kernels, where it is to be."""
        if self._device is None:
            return compute_stack(kernels, X)
        from localmkl.kernels.on_device import stack_on_device

        return stack_on_device(kernels, X, self._device)

    def _as_given(self, rows: Rows) -> Rows:
        """Return training rows that are kept with their groups, as they came."""
        return rows

    def _compare(self, X: Rows, context: FoldContext | None = None) -> tuple[Rows, Grams]:
        """Return `X` checked, and its normalised Grams with the reference rows."""
        known, notes = self._known(X, context)
        groups = self._groups_in(X)
        X = self._check_rows(X, reset=False)
        if self.kernels_ is None:
            source = X if known is None else known
        else:
            source = CrossGrams(self.kernels_, X, self.rows_, known, self._device)
        rows = X if groups is None else Grouped(X, groups)
        if self.cosine_scales_ is None or known is not None:
            return rows, NormalizedGrams(source, self.factors_, notes=notes)
        scales = cosine_scales(source.diagonals())
        return rows, NormalizedGrams(source, self.factors_, scales, self.cosine_scales_, notes)

    def _known(self, X: Rows, context: FoldContext | None) -> tuple[MaybeNone, dict[Any, Any] | None]:
        """Return the part of a context's stack that rows have, and where to note their distances, if any."""
        if context is None or (number := context.number_of(X)) is None:
            return None, None
        notes: dict[Any, Any] = context.recall("distances", (number, self._partition), dict)
        held = context.stack is not None and not getattr(self, "transductive_", False)
        return context.cross_stack(number) if held else None, notes

    def _store_common(self, solutions: list[Found]) -> None:
        self.loss_ = self._loss
        self.dual_coef_ = self._stacked([solution.alpha for solution in solutions])
        self.intercept_ = self._stacked([solution.intercept for solution in solutions])
        self.duality_gap_ = float(max(solution.gap for solution in solutions))
        self.n_iter_ = max(solution.n_iter for solution in solutions)
        self.support_ = np.flatnonzero(np.any(np.atleast_2d(self.dual_coef_) != 0.0, axis=0))
        histories = [solution.history for solution in solutions]
        self.history_ = histories[0] if len(histories) == 1 else histories
        missed = [solution for solution in solutions if not solution.converged]
        if missed:
            self._warn_not_converged(missed)

    def _warn_not_converged(self, missed: list[Found]) -> None:
        worst = max(missed, key=lambda solution: solution.gap)
        reached = f"a relative duality gap of {worst.gap:.2e}, above tol={self.tol:.2e}"
        if any(solution.n_iter >= self.max_iter for solution in missed):
            said = (
                f"stopped after {self.n_iter_} updates (max_iter={self.max_iter}) at {reached}; "
                "raise `max_iter` or `tol`."
            )
        else:
            said = (
                f"cannot certify less than {reached}: more steps bring no progress, and rounding may account "
                f"for {worst.rounding:.1e} of it; raise `tol`, lower `C`, or bring the kernels to one size."
            )
        if self._device is not None:
            said = f"{said.rstrip('.')}, or set device='cpu'."
        warn(f"{type(self).__name__} {said}", ConvergenceWarning)

    def _stacked(self, values: Sequence[Any]) -> Any:
        """Return the only value, or all of them along a new first axis."""
        return values[0] if len(values) == 1 else np.stack([np.asarray(v) for v in values])

    def _callback(self) -> Callable[[int, float, float, float], None] | None:
        if not self.verbose:
            return None
        name = type(self).__name__

        def show(iteration: int, primal: float, dual: float, gap: float) -> None:
            print(f"{name} {iteration:4d}  primal {primal:.6g}  dual {dual:.6g}  gap {gap:.2e}")

        return show

    @property
    def cluster_names_(self) -> list[str]:
        """Names of the rows of `kernel_weights_`."""
        return ["all samples"]

    @by_chunks
    def contributions(self, X: Rows, groups: Targets = None) -> Floats:
        """Return what each kernel in each cluster adds to the decision.

        Parameters
        ----------
        X : rows, or cross-Grams when precomputed
            The samples.
        groups : array-like of shape (n_samples,), optional
            Their groups, for ``gate="groups"``.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters, n_kernels)
            Its sum over the last two axes, plus `intercept_`, is the decision function. With several
            classes, (n_samples, n_classes, n_clusters, n_kernels).
        """
        check_is_fitted(self)
        parts = np.concatenate(list(self._blocks([self], with_groups(X, groups), apart=True)))
        return parts[:, 0] if parts.shape[1] == 1 else parts

    def _decide(self, X: Rows) -> Floats:
        """Return the decisions, (n_samples,) or (n_samples, n_problems)."""
        check_is_fitted(self)
        return self._decide_together([self], X)[0]

    def _decide_together(
        self, models: Sequence["BaseMKL"], X: Rows, context: FoldContext | None = None
    ) -> list[Floats]:
        """Return the decisions of models that share Grams and gate with this one; in a context, unchecked."""
        sums = np.concatenate(list(self._blocks(models, X, context)))
        every = np.split(sums, len(models), axis=1)
        return [
            (own[:, 0] if own.shape[1] == 1 else own) + model.intercept_
            for model, own in zip(models, every, strict=True)
        ]

    def _blocks(
        self, models: Sequence["BaseMKL"], X: Rows, context: FoldContext | None = None, *, apart: bool = False
    ) -> Iterator[Floats]:
        """Yield what models say of each block of rows: contributions, if wanted apart, or their sums."""
        X, grams = self._compare(X, context)
        if context is None:
            needed = self._predicting_bytes(*grams.shape)
            require_memory(needed, f"Prediction for {grams.shape[0]} rows", "predict fewer rows at a time")
        weigh = self._weigher(models, grams)

        def look(X: Rows, rows: slice) -> Floats:
            with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is said below
                parts = weigh(X, rows)
                return parts if apart else parts.sum(axis=(-2, -1))

        for rows, parts in self._over_rows(look, X, grams, alone=context is not None):
            if context is None:  # else one model would speak for the others
                check_finite_decisions(parts, rows.start)
            yield parts

    def _over_rows(
        self, function: Weigher, X: Rows, grams: Grams, *, alone: bool = False
    ) -> Iterable[tuple[slice, Floats]]:
        """Return pairs of slices and what a function of rows, and of the slice that they are, returns.

        They are in order, whatever the threads; of these there is one if it is to be alone, as among the fits
        of a search, whose notes about blocks of rows also need the same blocks for all models.
        """
        n_threads = 1
        if grams.on_device:
            blocks = row_blocks(*grams.shape, entries=DEVICE_ENTRIES)
        elif alone or not self._threadable:
            blocks = row_blocks(*grams.shape)
        else:
            blocks = self._small_blocks(*grams.shape)
            n_threads = self._count_threads(blocks, grams.shape[1]) if grams.threadable else 1
        answers = over_blocks(lambda rows: function(take_rows(X, rows), rows), blocks, n_threads)
        return zip(blocks, answers, strict=True)

    def kernel_diagonals(self, X: Rows) -> Floats:
        """Return ``k_m(x, x)`` of the normalised kernels.

        Parameters
        ----------
        X : rows, or cross-Grams when precomputed
            The samples.

        Returns
        -------
        ndarray of shape (n_kernels, n_samples)
            What the bounds need of the kernels.
        """
        check_is_fitted(self)
        return self._compare(X)[1].diagonals()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with reference rows as plain arrays, for files without code."""
        state = super().__getstate__()
        if are_apart(state.get("rows_")):
            state = {**state, "rows_": None, "frame_": take_apart(state["rows_"])}
        if "feature_names_in_" in state:  # as one array, not as one object for each name
            state = {**state, "feature_names_in_": state["feature_names_in_"].astype(str)}
        if "views_" in state:
            named = state["views_"].items()
            columns = {
                name: np.array(own, dtype=str) if isinstance(own, list) else own for name, own in named
            }
            state = {**state, "views_": columns}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Put reference rows together again."""
        state = dict(state)
        parts = state.pop("frame_", None)
        if parts is not None:
            state["rows_"] = put_together(parts)
        if "feature_names_in_" in state:
            state["feature_names_in_"] = state["feature_names_in_"].astype(object)
        if "views_" in state:
            named = state["views_"].items()
            state["views_"] = {name: own.tolist() if np.ndim(own) else own for name, own in named}
        super().__setstate__(state)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that precomputed kernels are sliced by rows and columns, and what rows may be."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = not self._precomputed
        tags.input_tags.allow_nan = any(kernel.takes_missing for kernel in self._readers(reset=True))
        return tags
