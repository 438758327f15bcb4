"""The convex methods: UNIF, lp-norm MKL, HLMKL and CLMKL.

    f(x) = sum_j c_j(x) sum_m beta_jm sum_i c_j(x_i) alpha_i k_m(x, x_i) + b

They differ in who belongs where (one cluster, hard or soft clusters, a part that all share) and in p. The
cost of the optimisation is C u / (mean_i sum_j c_j(x_i)^2  M^(1 - 1/p)): at even weights the combined kernel
then has the size of the mean of the M kernels, whatever the method; u is the unit of the targets.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from operator import attrgetter
from typing import Any, NoReturn, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.validation import check_is_fitted

from localmkl._checks import check_evenness, check_integer, check_number, check_option
from localmkl._devices import check_device, find_device
from localmkl._resources import clustering_bytes, solving_bytes
from localmkl._sklearn import count_rows
from localmkl._types import Array, Floats, MaybeNone, Rows, Seed, Targets
from localmkl.estimators.base import COSINE, BaseMKL, Found, Prepared, Weigher
from localmkl.estimators.context import FoldContext
from localmkl.estimators.deciding import Expansion, Nearness
from localmkl.estimators.factors import FactorPart, FeatureRows, SeenRows
from localmkl.estimators.gating import (
    GATE_MATRICES,
    GATE_ROWS,
    ClusteringGate,
    Joint,
    OneCluster,
    fit_gate,
    with_shared,
)
from localmkl.estimators.groups import (
    Grouped,
    GroupGate,
    place_of,
    put_column,
    put_in_views,
    say_strangers,
    take_column,
    with_groups,
)
from localmkl.estimators.rows import Grams, by_chunks, concatenate_rows
from localmkl.gates import GATES, GROUPS, Gate
from localmkl.kernels import CrossGrams
from localmkl.kernels.stack import KernelStack, cosine_scales
from localmkl.solvers.certify import Solution
from localmkl.solvers.convex import SOLVERS, at_once, solve_all, solve_convex
from localmkl.solvers.exact import ExactGap, exact_gaps
from localmkl.solvers.objective import Problem
from localmkl.solvers.starts import even_start, neighbour_start
from localmkl.stacks import FactorStack, GramStack, Stack, device_of
from localmkl.views import Views

FEATURE_ROUNDING = 1e-6
"""Share of the primal by which features in float32 may have made it too small: their own errors are 6e-8."""


class ConvexMKL(FactorPart):
    """The convex methods: memberships, weights per cluster, certified solution."""

    scale_C = True
    device = "cpu"

    _p: Any = float("inf")
    _solver: Any = SOLVERS[0]  # with this p there are no weights to move

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_device(self.device)

    @property
    def _device(self) -> Any:
        return find_device(self.device)

    def _require_room(self, X: Rows, n_problems: int, unlabeled: Rows, held: bool) -> None:
        given = device_of(X)
        device = self._device if given is None else given
        if device is None:
            super()._require_room(X, n_problems, unlabeled, held)
            return
        from localmkl.stacks.transfer import require_room

        stack = isinstance(X, Stack)
        n_kernels = X.n_kernels if stack else self._count_kernels(X)
        width = None if self._rank is None else n_kernels * self._rank
        width = X.n_features if isinstance(X, FactorStack) else width
        itemsize = 0 if given is not None else X.dtype.itemsize if stack else None
        require_room(count_rows(X), n_kernels, self._n_rows_of_weights, width, itemsize, device)

    def _problem(self, stack: Stack, gate: Floats, target: Floats, cost: Floats) -> Problem:
        return Problem(stack, gate, target, cost, self._loss, float(self._p))

    def _size(self, gate: Floats, n_kernels: int, targets: Floats, sample_weight: Floats | None) -> float:
        if not self.scale_C:
            return 1.0
        spread = np.average(np.square(gate).sum(axis=1), weights=sample_weight)
        return spread * n_kernels ** (1.0 - 1.0 / self._p) / self._unit(targets, sample_weight)

    @property
    def _options(self) -> dict[str, Any]:
        return {"solver": self._solver, "tol": self.tol, "max_iter": self.max_iter}

    def _solve_classes(self, prepared: Prepared) -> list[Solution]:
        if self.n_jobs in (None, 1) or prepared.on_device:
            return solve_all(prepared.problems, callback=self._callback(), **self._options)

        def solve(problem: Problem, parallel: bool) -> Solution:
            problem = replace(problem, stack=problem.stack.using(parallel=parallel))
            return solve_convex(problem, callback=self._callback(), **self._options)

        return self._over_classes(solve, prepared)

    def _solving_bytes(self, n_samples: int, n_kernels: int, n_problems: int, models: int = 1) -> int:
        if self._rank is not None:
            return self._factor_bytes(n_samples, n_kernels, n_kernels * self._rank)
        together, threads = min(at_once(n_samples), models * n_problems), 1
        if models == 1 and self.n_jobs not in (None, 1):
            together = threads = min(n_problems, effective_n_jobs(self.n_jobs))
        elif models == 1 and self.verbose:
            together = 1
        return solving_bytes(
            n_samples,
            n_kernels=n_kernels,
            n_clusters=self._n_rows_of_weights,
            combined=together,
            factors=threads,  # side by side, problems let go of theirs before the next step
        )

    @property
    def _starts_together(self) -> bool:
        return True

    @staticmethod
    def _solve_near(
        models: Sequence[BaseMKL],
        prepared: Sequence[Prepared],
        neighbours: Sequence[list[tuple[Found, Problem]] | None],
    ) -> list[list[Solution]]:
        if len(models) == 1 and neighbours[0] is None:
            return [models[0]._solve_classes(prepared[0])]
        problems = [problem for own in prepared for problem in own.problems]
        starts = []
        for own, neighbour in zip(prepared, neighbours, strict=True):
            if neighbour is None:
                starts += [even_start(problem) for problem in own.problems]
            else:
                pairs = zip(own.problems, neighbour, strict=True)
                starts += [neighbour_start(solution, old, new) for new, (solution, old) in pairs]
        flat = iter(solve_all(problems, starts, **models[0]._options))
        return [list(islice(flat, len(own.problems))) for own in prepared]

    def _store(self, solutions: list[Solution], gate: Floats) -> None:
        self.kernel_weights_ = self._stacked([solution.weights for solution in solutions])
        self.squared_norm_ = self._stacked([solution.squared_norm for solution in solutions])
        self.memberships_ = gate
        self.tau_, self.evenness_ = self.gate_.tau, self.gate_.evenness

    def exact_gap(
        self,
        X: Rows,
        y: Targets,
        *,
        sample_weight: Targets = None,
        max_pairs: int | None = None,
        random_state: Seed = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> ExactGap:
        """Return how far a model on features is from the optimum of the exact problem.

        The model is also an answer to the problem on exact kernels, with the same value, and its dual
        variables bound that problem's optimum from below. Kernels between support vectors are computed block
        by block; no Gram is stored.

        Parameters
        ----------
        X : rows
            The training rows, in their order; with groups, as ``fit`` had them.
        y : array-like of shape (n_samples,)
            Their labels or targets.
        sample_weight : array-like of shape (n_samples,), optional
            The weights of the fit.
        max_pairs : int, optional
            Estimate the gap from about so many pairs of support vectors, at random; all of them by default.
        random_state : int, RandomState instance or None, default=None
            Seed of the pairs.
        progress : callable, optional
            Called as ``progress(done, all)`` now and then.

        Returns
        -------
        ExactGap
            Its `gap` is the relative duality gap, `error` the standard error of an estimate, zero else; of
            several classes, the one with the largest gap.

        Examples
        --------
        >>> from localmkl import MKLClassifier
        >>> from localmkl.datasets import make_localized
        >>> X, y = make_localized(n_samples=200, random_state=0)[:2]
        >>> few, many = (MKLClassifier(n_components=r, random_state=0).fit(X, y) for r in (20, 100))
        >>> few.exact_gap(X, y).gap > many.exact_gap(X, y).gap > 0.0
        True
        """
        check_is_fitted(self)
        if not self._on_features or self._precomputed:
            raise ValueError(
                "`exact_gap` is for models with `n_components`, got one without; its `duality_gap_` is exact."
            )
        if self.dual_coef_.shape[-1] == 0:
            raise ValueError(
                "`exact_gap` needs the dual variables of the training rows, which a fit on a cluster leaves "
                "there; fit a part of the rows on one machine."
            )
        problems, alphas = self._exact_problems(X, y, sample_weight)
        decisions = np.reshape(self._decide(X).T, (len(problems), -1))
        norms = np.atleast_1d(self.squared_norm_)
        primals = [
            0.5 * norm + float(problem.C @ problem.loss.value(own, problem.y))
            for norm, problem, own in zip(norms, problems, decisions, strict=True)
        ]
        approximation = None
        if max_pairs is not None:
            table = self.features_.transform(self._check_rows(X, reset=False))
            approximation = FactorStack.of_table(table, self.widths_).scaled(self.factors_)
        gaps = exact_gaps(
            problems,
            alphas,
            primals,
            primal_error=FEATURE_ROUNDING,
            approximation=approximation,
            max_pairs=max_pairs,
            random_state=random_state,
            progress=progress,
        )
        return max(gaps, key=attrgetter("gap"))

    def _exact_problems(
        self, X: Rows, y: Targets, sample_weight: Targets
    ) -> tuple[list[Problem], list[Floats]]:
        """Return the problems on exact kernels that the training rows pose, and the dual variables found."""
        rows, y = self._check_rows(X, reset=False), self._check_y(y)
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        targets, costs = self._targets(y, weights)
        alphas = np.atleast_2d(self.dual_coef_)
        if count_rows(rows) != alphas.shape[1] or len(y) != alphas.shape[1]:
            raise ValueError(
                f"`X` and `y` must be the {alphas.shape[1]} training rows of the fit, got {count_rows(rows)} "
                f"rows and {len(y)} labels."
            )
        stack = KernelStack(self.kernels_, rows)
        if self.normalize == COSINE:
            stack = KernelStack(self.kernels_, rows, cosine_scales(stack.diagonals()))
        stack = stack.scaled(self.factors_)
        pairs = zip(targets, self.C_ * costs, strict=True)
        return [self._problem(stack, self.memberships_, *pair) for pair in pairs], list(alphas)

    @by_chunks
    def memberships(self, X: Rows, groups: Targets = None) -> Floats:
        """Return the memberships of new rows in the clusters.

        Parameters
        ----------
        X : rows, or cross-Grams when precomputed
            The samples.
        groups : array-like of shape (n_samples,), optional
            Their groups, for ``gate="groups"``.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            Rows sum to one; columns are named in ``cluster_names_``.
        """
        check_is_fitted(self)
        X, grams = self._compare(with_groups(X, groups))
        pairs = self._over_rows(lambda X, rows: self._memberships_block(X, grams, rows), X, grams)
        return np.concatenate([part for _, part in pairs])

    def _memberships_block(self, X: Rows, grams: Grams, rows: slice) -> Floats:
        return with_shared(self.gate_.memberships(X, grams, rows), self._shared)

    @property
    def _shared(self) -> float:
        """The share of the shared part that the fit has; models of older versions have none."""
        return getattr(self, "shared_", 0.0)

    @property
    def _threadable(self) -> bool:
        return not self._on_features and self.gate_.threadable and super()._threadable

    def _weigher(self, models: Sequence[BaseMKL], grams: Grams) -> Weigher:
        if self._on_features:
            return self._feature_weigher(models, grams)
        expansion = Expansion.of(models)

        def weigh(X: Rows, rows: slice) -> Floats:
            n_rows = rows.stop - rows.start
            near = self._nearness(grams, n_rows)
            if near is None:
                memberships = self._memberships_block(X, grams, rows)
            parts = np.zeros((n_rows, *expansion.shape, len(self.factors_)))
            for m, term in expansion.terms(grams, rows, near):
                parts[..., m] = term
            if near is not None:
                memberships = with_shared(self.gate_.memberships_near(X, near), self._shared)
            parts *= memberships[:, None, :, None]
            return parts

        return weigh

    def _nearness(self, grams: Grams, n_rows: int) -> Nearness | None:
        """Return what the gate needs of the Grams, to be read with the rest; None if it reads for itself.

        Where rows come again it does: what it found is noted.
        """
        together = isinstance(self.gate_, ClusteringGate) and grams.notes is None
        return self.gate_.nearness(grams, n_rows) if together else None

    def _feature_weigher(self, models: Sequence[BaseMKL], grams: FeatureRows) -> Weigher:
        shape = -1, *np.shape(self.feature_coef_)[-2:]
        coefficients = np.vstack([np.reshape(model.feature_coef_, shape) for model in models])

        def weigh(X: Rows, rows: slice) -> Floats:
            parts = grams.contributions(rows, coefficients)
            parts *= self._memberships_block(X, grams, rows)[:, None, :, None]
            return parts

        return weigh


class LpNormMKL(ConvexMKL):
    """Kernel weights that are learned, in the unit ball of the p-norm."""

    p = 4 / 3
    solver = SOLVERS[0]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("p", self.p, low=1.0)
        check_option("solver", self.solver, SOLVERS)

    _p = property(attrgetter("p"))
    _solver = property(attrgetter("solver"))


class GlobalMKL(ConvexMKL):
    """One set of kernel weights for all samples."""

    _undocumented = ("tau_", "evenness_")

    def fit(self, X: Rows, y: Targets, sample_weight: Targets = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix, data frame, sequences, Views or GramStack
            Training rows, or their square stack when precomputed.
        y : array-like of shape (n_samples,)
            Labels, or real targets.
        sample_weight : array-like of shape (n_samples,), optional
            A sample of weight w counts as w equal samples.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight=sample_weight)

    def _fit_gate(
        self,
        X: Rows,
        groups: Array | None,
        stack: Stack,
        sample_weight: Floats | None,
        unlabeled: Rows,
        context: FoldContext,
    ) -> Floats:
        self.gate_ = OneCluster()
        return np.ones((stack.shape[0], 1))


class LocalMKL(LpNormMKL):
    """Kernel weights that differ from cluster to cluster: hard ones, if nothing else is said."""

    n_clusters = 3
    shared = 0.0
    gate: Any = GATES[0]
    gate_kernel: Any = None
    groups: Any = None
    n_init = 10
    _hard = True

    def fit(
        self,
        X: Rows,
        y: Targets,
        sample_weight: Targets = None,
        unlabeled: Rows = None,
        groups: Targets = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix, data frame, sequences, Views or GramStack
            Training rows, or their square stack when precomputed.
        y : array-like of shape (n_samples,)
            Labels, or real targets.
        sample_weight : array-like of shape (n_samples,), optional
            A sample of weight w counts as w equal samples.
        unlabeled : rows or GramStack, optional
            More rows to learn the partition from, of the same kind as `X`; they have no labels and
            take no other part. With precomputed kernels: the square stack of the training rows
            followed by the unlabelled ones; cross-Grams to predict from then need all these columns.
        groups : array-like of shape (n_samples,), optional
            The group of each row, for ``gate="groups"``, where no column of `X` holds it.

        Returns
        -------
        self
            The fitted estimator.
        """
        if groups is not None and not (self._by_groups and self.groups is None):
            self._refuse_groups()
        return self._fit(with_groups(X, groups), y, sample_weight=sample_weight, unlabeled=unlabeled)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("n_clusters", self.n_clusters, low=1)
        check_number("shared", self.shared, low=0.0, high=1.0)
        pair = isinstance(self.groups, tuple | list) and len(self.groups) == 2
        if np.ndim(self.groups) == 1 and not pair:
            raise ValueError(
                f"`groups` of the model names a column of the rows, got {len(self.groups)} values; "
                "pass them as fit(X, y, groups=...) and predict(X, groups=...)."
            )
        if self.groups is not None and not self._by_groups:
            raise ValueError(f"`groups` needs gate='groups', got {self.gate!r}.")
        check_integer("n_init", self.n_init, low=1)
        if isinstance(self.gate, str):
            check_option("gate", self.gate, GATES)
        elif isinstance(self.gate, Gate):
            self.gate.check_parameters()

    @property
    def _gate_matrices(self) -> int:
        return GATE_MATRICES

    @property
    def _n_rows_of_weights(self) -> int:
        return self._n_clusters + (self.shared > 0.0)

    @property
    def _n_clusters(self) -> int:
        return self.gate.n_clusters if isinstance(self.gate, Gate) else self.n_clusters

    def _gating_bytes(self, n_samples: int) -> int:
        n_samples = n_samples if self._rank is None else min(n_samples, GATE_ROWS)
        if not isinstance(self.gate, str | Gate) or self._by_groups or self.shared == 1.0:
            return 0
        return clustering_bytes(n_samples, self._n_clusters, self.n_init)

    def _fit_gate(
        self,
        X: Rows,
        groups: Array | None,
        stack: Stack,
        sample_weight: Floats | None,
        unlabeled: Rows,
        context: FoldContext,
    ) -> Floats:
        self.shared_, self.transductive_ = float(self.shared), unlabeled is not None
        if unlabeled is not None:
            unlabeled = self._check_unlabeled(X, unlabeled, stack.shape[0])
        if groups is not None:
            self.groups_ = groups.astype(str)
        if self.shared == 1.0:
            self.gate_: Any = OneCluster()
            return np.ones((stack.shape[0], 1))
        self.gate_, memberships = fit_gate(self, X, groups, stack, sample_weight, unlabeled, context)
        return with_shared(memberships, self.shared_)

    def _decide_together(
        self, models: Sequence[BaseMKL], X: Rows, context: FoldContext | None = None
    ) -> list[Floats]:
        if all(model._partition is self._partition for model in models):
            return super()._decide_together(models, X, context)
        return [model._decide_together([model], X, context)[0] for model in models]

    @property
    def cluster_names_(self) -> list[str]:
        """Names of the rows of `kernel_weights_`: "shared" if there is such a part, clusters or groups."""
        check_is_fitted(self)
        if self._shared == 1.0:
            return ["shared"]
        if isinstance(self.gate_, GroupGate):
            names = self.gate_.labels.tolist()
        else:
            names = [f"cluster {j + 1}" for j in range(self.memberships_.shape[1] - (self._shared > 0.0))]
        return ["shared", *names] if self._shared > 0.0 else names

    @property
    def _by_groups(self) -> bool:
        """Whether known groups take the place of clusters."""
        return isinstance(self.gate, str) and self.gate == GROUPS

    def _groups_in(self, X: Rows) -> MaybeNone:
        if not self._by_groups:
            return None
        if isinstance(X, SeenRows):
            return X.groups
        if self.groups is not None:
            return self._refuse_groups() if isinstance(X, Grouped) else self._take_groups(X)[1]
        if isinstance(X, Grouped):
            return X.groups
        raise ValueError(
            "gate='groups' needs the group of every row: name a column of the rows as `groups`, or pass "
            "`groups=` to fit and to predict."
        )

    def _refuse_groups(self) -> NoReturn:
        raise ValueError(
            "`groups` belong to a model with gate='groups' that names no column of them, "
            f"got gate={self.gate!r} and groups={self.groups!r}."
        )

    def _check_rows(self, X: Rows, *, reset: bool) -> Rows:
        rows = super()._check_rows(X, reset=reset)
        apart = self.groups is None or isinstance(rows, SeenRows)
        return rows if apart else self._take_groups(rows)[0]

    def _take_groups(self, X: Rows) -> tuple[Rows, Array]:
        return take_column(X, self.groups, getattr(self, "views_", None))

    def _as_given(self, rows: Rows) -> Rows:
        if not hasattr(self, "groups_"):
            return rows
        if self.groups is None:
            return Grouped(rows, self.groups_)
        if isinstance(rows, Views):
            return put_in_views(rows, self.groups_, self.views_, self.groups)
        place = place_of(self.groups, getattr(self, "feature_names_in_", range(self.n_features_in_)))
        return put_column(rows, self.groups_, place, self.groups)

    def _compare(self, X: Rows, context: FoldContext | None = None) -> tuple[Rows, Grams]:
        X, grams = super()._compare(X, context)
        if isinstance(self.gate_, GroupGate) and context is None:
            say_strangers(self.gate_.strangers(X.groups), self._shared > 0.0)
        return X, grams

    @property
    def _partition(self) -> Any:
        return getattr(self.gate_, "kernel", None)

    def _check_unlabeled(self, X: Rows, unlabeled: Rows, n_train: int) -> Joint:
        """Check the unlabelled rows and take them in as reference rows of prediction."""
        if self._on_features and not self._precomputed:
            unlabeled = self._check_rows(unlabeled, reset=False)
            joint_rows = concatenate_rows(X, unlabeled)
            return FeatureRows(joint_rows, self.features_, self.factors_, device=self._device)
        if self._precomputed:
            joint: Joint = unlabeled if isinstance(unlabeled, Stack) else GramStack(unlabeled)
            joint.check_training()
            same = joint.n_kernels == X.n_kernels and joint.shape[0] >= n_train
            if not same or not np.allclose(joint.diagonals()[:, :n_train], X.diagonals()):
                raise ValueError(
                    "`unlabeled` must be the square stack of the training rows followed by the "
                    f"unlabelled ones, for the same {X.n_kernels} kernels, got {joint!r}."
                )
            self.n_features_in_ = joint.shape[0]
            self.columns_ = joint.origin, joint.column_numbers()
        else:
            unlabeled = self._check_rows(unlabeled, reset=False)
            self.rows_ = concatenate_rows(X, unlabeled)
            joint = CrossGrams(self.kernels_, self.rows_, self.rows_, device=self._device)
        if self.normalize == COSINE:
            self.cosine_scales_ = cosine_scales(joint.diagonals())
        return joint


class SoftMKL(LocalMKL):
    """Clusters that samples belong to in part."""

    evenness = 0.7
    _hard = False

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.gate, str) and self.n_clusters > 1:
            check_evenness(self.evenness, self.n_clusters)
