"""LMKL, the gated and non-convex method.

f(x) = sum_m eta_m(x) sum_i alpha_i eta_m(x_i) k_m(x, x_i) + b,   eta = gate(sum_i r_im k0(x_i, x) + v_m)
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from localmkl._checks import check_integer, check_option
from localmkl._resources import solving_bytes
from localmkl._types import Array, Floats, Rows, Seed, Targets
from localmkl._warnings import warn
from localmkl.estimators.base import BaseMKL, Prepared, Weigher
from localmkl.estimators.context import FoldContext
from localmkl.estimators.gating import GATE_MATRICES, GateKernel
from localmkl.kernels.stack import NormalizedGrams
from localmkl.solvers.gated import ACTIVATIONS, GatedSolution, apply_gate, curvature_bytes, solve_gated
from localmkl.solvers.objective import Problem
from localmkl.stacks import FactorStack, Stack, device_of


class GatedMKL(BaseMKL):
    """Kernel weights that are a learned function of the sample."""

    gate = "softmax"
    gate_kernel: Any = None
    n_init = 1
    random_state: Seed = None

    _undocumented = ("tau_", "evenness_", "squared_norm_")
    _described = {  # noqa: RUF012
        "gate": """{"softmax", "sigmoid"}, default="softmax"
    How the weights of the kernels at a sample follow from the gate's linear functions: they sum to one, or
    each lies between 0 and 1.""",
    }

    def fit(self, X: Rows, y: Targets, sample_weight: Targets = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix, data frame, sequences, Views or GramStack
            Training rows, or their square stack when precomputed.
        y : array-like of shape (n_samples,)
            Labels, or real targets.
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies `C` for each sample.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight=sample_weight)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_option("gate", self.gate, tuple(ACTIVATIONS))
        check_integer("n_init", self.n_init, low=1)

    def _check_stack(self, X: Rows, *, reset: bool) -> Stack:
        if isinstance(X, FactorStack):
            raise ValueError("LMKL needs Grams, got a `FactorStack`; the convex methods take one.")
        if device_of(X) is not None:
            raise ValueError(
                f"LMKL needs Grams in memory, got a stack on {str(X.device)!r}; the convex methods take one."
            )
        return super()._check_stack(X, reset=reset)

    @property
    def _gate_matrices(self) -> int:
        return GATE_MATRICES

    def _solving_bytes(self, n_samples: int, n_kernels: int, n_problems: int, models: int = 1) -> int:
        threads = min(n_problems, effective_n_jobs(self.n_jobs))
        solving = solving_bytes(n_samples, n_kernels=n_kernels, combined=threads, factors=threads, copies=1)
        return solving + threads * curvature_bytes(n_samples, n_kernels)

    def _fit_gate(
        self,
        X: Rows,
        groups: Array | None,
        stack: Stack,
        sample_weight: Floats | None,
        unlabeled: Rows,
        context: FoldContext,
    ) -> Floats:
        self.gate_kernel_ = GateKernel(self.gate_kernel, stack.n_kernels, self._precomputed)
        self.gate_kernel_.fit(X, sample_weight, self.kernels_)
        self.gate_name_ = self.gate
        self._seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        return self.gate_kernel_.training_gram(X, stack, self.factors_)

    def _problem(self, stack: Stack, gate: Floats, target: Floats, cost: Floats) -> Problem:
        return Problem(stack, np.ones((len(target), 1)), target, cost, self._loss, np.inf)

    def _solve_classes(self, prepared: Prepared) -> list[GatedSolution]:
        def solve(problem: Problem, parallel: bool) -> GatedSolution:
            return solve_gated(
                replace(problem, stack=problem.stack.using(parallel=parallel)),
                prepared.gate,
                gate=self.gate,
                tol=self.tol,
                max_iter=self.max_iter,
                n_init=self.n_init,
                rng=np.random.default_rng(self._seed),
                callback=self._callback(),
            )

        return self._over_classes(solve, prepared)

    def _store(self, solutions: list[GatedSolution], gate: Floats) -> None:
        del self._seed
        self.gate_coef_ = np.stack([solution.coefficients for solution in solutions])
        self.gate_intercept_ = np.stack([solution.offsets for solution in solutions])
        self.gating_ = np.stack([solution.gating for solution in solutions])
        weights = self.gating_.mean(axis=1)[:, None, :]
        self.kernel_weights_ = weights[0] if len(weights) == 1 else weights

    def _warn_not_converged(self, missed: list[GatedSolution]) -> None:
        warn(
            f"{type(self).__name__} stopped after max_iter={self.max_iter} steps of the gate while its "
            f"objective still fell by more than tol={self.tol:.2e} a step (the gap of its convex "
            f"problem is {max(solution.gap for solution in missed):.2e}); raise `max_iter` or `tol`.",
            ConvergenceWarning,
        )

    def gating(self, X: Rows) -> Floats:
        """Return the weight that the gate gives each kernel at each row.

        Parameters
        ----------
        X : rows, or cross-Grams when precomputed
            The samples.

        Returns
        -------
        ndarray of shape (n_samples, n_kernels)
            (n_samples, n_classes, n_kernels) with several classes.
        """
        check_is_fitted(self)
        X, grams = self._compare(X)
        pairs = self._over_rows(lambda X, rows: self._gating_block(X, grams, rows), X, grams)
        eta = np.concatenate([part for _, part in pairs])
        return eta[:, 0] if eta.shape[1] == 1 else eta

    def memberships(self, X: Rows, groups: Targets = None) -> Floats:
        """Return ones: this method has no clusters; see `gating`.

        Parameters
        ----------
        X : rows, or cross-Grams when precomputed
            The samples.
        groups : array-like of shape (n_samples,), optional
            Not read.

        Returns
        -------
        ndarray of shape (n_samples, 1)
            Everybody belongs to the one cluster.
        """
        check_is_fitted(self)
        return np.ones((self._compare(X)[1].shape[0], 1))

    def _gating_block(self, X: Rows, grams: NormalizedGrams, rows: slice) -> Floats:
        gram = self.gate_kernel_.cross_gram(X, grams, rows)
        pairs = zip(self.gate_coef_, self.gate_intercept_, strict=True)
        return np.stack([apply_gate(self.gate_name_, gram, r, v) for r, v in pairs], axis=1)

    _block_matrices = 1 + GATE_MATRICES  # the gate averages all kernels first

    @property
    def _threadable(self) -> bool:
        return self.gate_kernel_.threadable and super()._threadable

    def _weigher(self, models: Sequence[BaseMKL], grams: NormalizedGrams) -> Weigher:
        def weigh(X: Rows, rows: slice) -> Floats:
            return np.concatenate([model._gated_contributions(X, grams, rows) for model in models], axis=1)

        return weigh

    def _gated_contributions(self, X: Rows, grams: NormalizedGrams, rows: slice) -> Floats:
        alpha = np.atleast_2d(self.dual_coef_)
        columns = self.support_
        eta = self._gating_block(X, grams, rows)
        parts = np.empty((*eta.shape[:2], 1, eta.shape[2]))
        for m in range(eta.shape[2]):
            vectors = (alpha * self.gating_[:, :, m])[:, columns]
            parts[:, :, 0, m] = eta[:, :, m] * grams.product(m, rows, columns, vectors.T)
        return parts
