"""UNIF, lp-norm MKL, HLMKL and CLMKL as scikit-learn estimators.

    f(x) = sum_j c_j(x) sum_m beta_jm sum_i c_j(x_i) alpha_i k_m(x, x_i) + b

They differ in who belongs where (one cluster, hard or soft clusters) and in p.
"""

from dataclasses import replace
from itertools import islice

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.validation import check_is_fitted

from localmkl._checks import check_evenness, check_integer, check_number, check_option
from localmkl._resources import clustering_bytes, solving_bytes
from localmkl.estimators._base import (
    BaseMKL,
    ClassifierPart,
    RegressorPart,
    concatenate_rows,
    row_blocks,
)
from localmkl.estimators._document import document
from localmkl.estimators._gating import GATE_MATRICES, OneCluster, fit_gate
from localmkl.kernels import CrossGrams, GramStack
from localmkl.kernels.stack import cosine_scales, take_rows
from localmkl.solvers.convex import SOLVERS, at_once, solve_all, solve_convex
from localmkl.solvers.objective import Problem
from localmkl.solvers.starts import even_start, neighbour_start

GATES = ("kmeans",)


class ConvexMKL(BaseMKL):
    """The convex methods: memberships, weights per cluster, certified solution."""

    @property
    def _p(self):
        return self.p

    @property
    def _solver(self):
        return self.solver

    def _check_parameters(self):
        self._check_common()
        check_number("p", self._p, low=1.0)
        check_option("solver", self._solver, SOLVERS)

    def _problem(self, stack, gate, target, cost):
        return Problem(stack, gate, target, cost, self._loss, float(self._p))

    @property
    def _options(self):
        return {"solver": self._solver, "tol": self.tol, "max_iter": self.max_iter}

    def _solve_classes(self, posed):
        if self.n_jobs in (None, 1):
            return solve_all(posed.problems, callback=self._callback(), **self._options)

        def solve(problem, parallel):
            problem = replace(problem, stack=problem.stack.using(parallel=parallel))
            return solve_convex(problem, callback=self._callback(), **self._options)

        return self._over_classes(solve, posed)

    def _solving_bytes(self, n_samples, n_kernels, n_problems, itemsize, models=1):
        together = min(at_once(n_samples), models * n_problems)
        if self.verbose or self.n_jobs not in (None, 1):
            together = 1
        if models == 1 and n_problems > 1 and self.n_jobs not in (None, 1):
            together = min(n_problems, effective_n_jobs(self.n_jobs))
        moving = self._solver == SOLVERS[0] and not np.isinf(self._p)
        return solving_bytes(
            n_samples,
            n_kernels=n_kernels,
            n_clusters=getattr(self, "n_clusters", 1),
            itemsize=itemsize,
            combined=together,
            factors=together,
            steps=together if moving else 0,
        )

    @property
    def _starts_together(self):
        return True

    @staticmethod
    def _solve_near(models, posed, neighbours):
        if len(models) == 1 and neighbours[0] is None:
            return [models[0]._solve_classes(posed[0])]
        problems = [problem for own in posed for problem in own.problems]
        starts = []
        for own, neighbour in zip(posed, neighbours, strict=True):
            if neighbour is None:
                starts += [even_start(problem) for problem in own.problems]
            else:
                pairs = zip(own.problems, neighbour, strict=True)
                starts += [neighbour_start(solution, old, new) for new, (solution, old) in pairs]
        flat = iter(solve_all(problems, starts, **models[0]._options))
        return [list(islice(flat, len(own.problems))) for own in posed]

    def _store(self, solutions, gate):
        self.kernel_weights_ = self._stacked([solution.weights for solution in solutions])
        self.squared_norm_ = self._stacked([solution.squared_norm for solution in solutions])
        self.memberships_ = gate
        self.tau_, self.evenness_ = self.gate_.tau, self.gate_.evenness

    def memberships(self, X):
        """Return the memberships of new rows in the clusters.

        Parameters
        ----------
        X : rows, or cross-Grams when precomputed
            The samples.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            Rows sum to one.
        """
        check_is_fitted(self)
        X, grams = self._compare(X)
        blocks = row_blocks(*grams.shape)
        return np.concatenate([self.gate_.memberships(take_rows(X, rows), grams, rows) for rows in blocks])

    def _contributions_block(self, X, grams, rows):
        return self._contributions_of([self], X, grams, rows)

    def _contributions_of(self, models, X, grams, rows):
        """Return the contributions of models that share Grams and gate with this one, class after class."""
        alpha = np.vstack([model.dual_coef_ for model in models])
        weights = np.vstack(
            [np.reshape(m.kernel_weights_, (-1, *m.kernel_weights_.shape[-2:])) for m in models]
        )
        columns = np.flatnonzero(alpha.any(axis=0))
        memberships = self.gate_.memberships(X, grams, rows)  # first: it may need all columns at once
        # vectors[i, k, j] = c_j(x_i) alpha_ki on the support vectors
        vectors = alpha.T[columns, :, None] * self.memberships_[columns, None, :]
        n_problems, n_clusters = vectors.shape[1:]
        parts = np.empty((rows.stop - rows.start, n_problems, n_clusters, len(self.factors_)))
        for m in range(len(self.factors_)):
            gram = grams.block(m, rows, columns)
            parts[..., m] = (gram @ vectors.reshape(len(columns), n_problems * n_clusters)).reshape(
                parts.shape[:3]
            )
        parts *= weights
        parts *= memberships[:, None, :, None]
        return parts

    def _foresee(self, models, X, memory):
        """Keep the decisions of models that share Grams and gate with this one: one read for all."""
        rows_X, grams = self._compare(X)
        sums = [
            self._contributions_of(models, take_rows(rows_X, rows), grams, rows).sum(axis=(-2, -1))
            for rows in row_blocks(*grams.shape)
        ]
        memory.foresee(models, X, np.concatenate(sums))


class GlobalMKL(ConvexMKL):
    """One set of kernel weights for all samples."""

    _undocumented = ("tau_", "evenness_")

    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : array, data frame, sequences or GramStack
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
        return self._fit(X, y, sample_weight)

    def _fit_gate(self, X, stack, sample_weight, unlabeled, memory):
        self.gate_ = OneCluster()
        return np.ones((stack.shape[0], 1))


class LocalMKL(ConvexMKL):
    """Kernel weights that differ from cluster to cluster."""

    def fit(self, X, y, sample_weight=None, unlabeled=None):
        """Fit the model.

        Parameters
        ----------
        X : array, data frame, sequences or GramStack
            Training rows, or their square stack when precomputed.
        y : array-like of shape (n_samples,)
            Labels, or real targets.
        sample_weight : array-like of shape (n_samples,), optional
            A sample of weight w counts as w equal samples.
        unlabeled : rows or GramStack, optional
            More rows to learn the partition from, of the same kind as `X`; they have no labels and
            take no other part. With precomputed kernels: the square stack of the training rows
            followed by the unlabelled ones; cross-Grams to predict from then need all these columns.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight, unlabeled)

    _hard = True

    def _check_parameters(self):
        super()._check_parameters()
        check_integer("n_clusters", self.n_clusters, low=1)
        check_integer("n_init", self.n_init, low=1)
        if isinstance(self.gate, str):
            check_option("gate", self.gate, GATES)
            if not self._hard and self.n_clusters > 1:
                check_evenness(self.evenness, self.n_clusters)

    @property
    def _gate_matrices(self):
        return GATE_MATRICES

    def _gating_bytes(self, n_samples):
        if not isinstance(self.gate, str):
            return 0
        return clustering_bytes(n_samples, self.n_clusters, self.n_init)

    def _fit_gate(self, X, stack, sample_weight, unlabeled, memory):
        if unlabeled is not None:
            unlabeled = self._check_unlabeled(X, unlabeled, stack.shape[0])
        self.gate_, memberships = fit_gate(self, X, stack, sample_weight, unlabeled, memory)
        self.transductive_ = unlabeled is not None
        return memberships

    def _check_unlabeled(self, X, unlabeled, n_train):
        """Check the unlabelled rows and take them in as reference rows of prediction."""
        if self._precomputed:
            joint = unlabeled if isinstance(unlabeled, GramStack) else GramStack(unlabeled)
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
            joint = CrossGrams(self.kernels_, self.rows_, self.rows_)  # type: ignore[assignment]
        if self.normalize == "cosine":
            self.cosine_scales_ = cosine_scales(joint.diagonals())
        return joint


@document
class UniformMKLClassifier(ClassifierPart, GlobalMKL):
    """Support vector classification with the sum of all (normalised) kernels: UNIF.

    Examples
    --------
    >>> from localmkl import UniformMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(n_samples=100, random_state=0)[:2]
    >>> UniformMKLClassifier().fit(X, y).kernel_weights_
    array([[1., 1., 1., 1.]])
    """

    def __init__(
        self,
        kernels=None,
        *,
        C=1.0,
        normalize="multiplicative",
        tol=1e-3,
        max_iter=500,
        class_weight=None,
        n_jobs=None,
        verbose=0,
    ):
        self.kernels = kernels
        self.C = C
        self.normalize = normalize
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.verbose = verbose

    _p = float("inf")
    _solver = SOLVERS[0]  # there are no weights to move


@document
class UniformMKLRegressor(RegressorPart, GlobalMKL):
    """Support vector regression with the sum of all (normalised) kernels: UNIF.

    Examples
    --------
    >>> from localmkl import UniformMKLRegressor
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(n_samples=100, regression=True, random_state=0)[:2]
    >>> UniformMKLRegressor(C=10.0).fit(X, y).kernel_weights_
    array([[1., 1., 1., 1.]])
    """

    def __init__(
        self,
        kernels=None,
        *,
        C=1.0,
        epsilon=0.1,
        normalize="multiplicative",
        tol=1e-3,
        max_iter=500,
        n_jobs=None,
        verbose=0,
    ):
        self.kernels = kernels
        self.C = C
        self.epsilon = epsilon
        self.normalize = normalize
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose

    _p = float("inf")
    _solver = SOLVERS[0]  # there are no weights to move


@document
class MKLClassifier(ClassifierPart, GlobalMKL):
    """Lp-norm multiple kernel learning for classification: one set of kernel weights.

    Minimises ``sum_m ||w_m||^2 / (2 beta_m) + C sum_i hinge(f(x_i), y_i)`` over w, b and weights
    beta >= 0 with ``||beta||_p <= 1``.

    References
    ----------
    Kloft, Brefeld, Sonnenburg, Zien: Lp-norm multiple kernel learning. JMLR 12, 2011.

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(n_samples=100, random_state=0)[:2]
    >>> model = MKLClassifier(p=1).fit(X, y)
    >>> model.kernel_weights_.shape, bool(model.duality_gap_ <= model.tol)
    ((1, 4), True)
    """

    def __init__(
        self,
        kernels=None,
        *,
        C=1.0,
        p=4 / 3,
        normalize="multiplicative",
        solver="newton",
        tol=1e-3,
        max_iter=500,
        class_weight=None,
        n_jobs=None,
        verbose=0,
    ):
        self.kernels = kernels
        self.C = C
        self.p = p
        self.normalize = normalize
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.verbose = verbose


@document
class MKLRegressor(RegressorPart, GlobalMKL):
    """Lp-norm multiple kernel learning for regression: one set of kernel weights.

    Minimises ``sum_m ||w_m||^2 / (2 beta_m) + C sum_i max(0, |y_i - f(x_i)| - epsilon)`` over w, b
    and weights beta >= 0 with ``||beta||_p <= 1``.

    References
    ----------
    Kloft, Brefeld, Sonnenburg, Zien: Lp-norm multiple kernel learning. JMLR 12, 2011.

    Examples
    --------
    >>> from localmkl import MKLRegressor
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(n_samples=100, regression=True, random_state=0)[:2]
    >>> model = MKLRegressor(p=1).fit(X, y)
    >>> model.kernel_weights_.shape, bool(model.duality_gap_ <= model.tol)
    ((1, 4), True)
    """

    def __init__(
        self,
        kernels=None,
        *,
        C=1.0,
        p=4 / 3,
        epsilon=0.1,
        normalize="multiplicative",
        solver="newton",
        tol=1e-3,
        max_iter=500,
        n_jobs=None,
        verbose=0,
    ):
        self.kernels = kernels
        self.C = C
        self.p = p
        self.epsilon = epsilon
        self.normalize = normalize
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose


@document
class HLMKLClassifier(ClassifierPart, LocalMKL):
    """Localized multiple kernel learning with hard clusters, for classification.

    Every sample, new ones too, belongs to its nearest cluster; each cluster has its own weights.

    References
    ----------
    Lei, Binder, Dogan, Kloft: Theory and algorithms for the localized setting of learning kernels.
    NIPS workshop on feature extraction, 2015.

    Examples
    --------
    >>> from localmkl import HLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(n_samples=100, random_state=0)[:2]
    >>> model = HLMKLClassifier(n_clusters=2, random_state=0).fit(X, y)
    >>> sorted(set(model.memberships(X).ravel().tolist()))
    [0.0, 1.0]
    """

    def __init__(
        self,
        kernels=None,
        *,
        C=1.0,
        p=4 / 3,
        n_clusters=3,
        gate="kmeans",
        gate_kernel=None,
        normalize="multiplicative",
        solver="newton",
        tol=1e-3,
        max_iter=500,
        n_init=10,
        class_weight=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.kernels = kernels
        self.C = C
        self.p = p
        self.n_clusters = n_clusters
        self.gate = gate
        self.gate_kernel = gate_kernel
        self.normalize = normalize
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


@document
class HLMKLRegressor(RegressorPart, LocalMKL):
    """Localized multiple kernel learning with hard clusters, for regression.

    Every sample, new ones too, belongs to its nearest cluster; each cluster has its own weights.

    References
    ----------
    Lei, Binder, Dogan, Kloft: Theory and algorithms for the localized setting of learning kernels.
    NIPS workshop on feature extraction, 2015.

    Examples
    --------
    >>> from localmkl import HLMKLRegressor
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(n_samples=100, regression=True, random_state=0)[:2]
    >>> HLMKLRegressor(n_clusters=2, random_state=0).fit(X, y).kernel_weights_.shape
    (2, 4)
    """

    def __init__(
        self,
        kernels=None,
        *,
        C=1.0,
        p=4 / 3,
        n_clusters=3,
        gate="kmeans",
        gate_kernel=None,
        epsilon=0.1,
        normalize="multiplicative",
        solver="newton",
        tol=1e-3,
        max_iter=500,
        n_init=10,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.kernels = kernels
        self.C = C
        self.p = p
        self.n_clusters = n_clusters
        self.gate = gate
        self.gate_kernel = gate_kernel
        self.epsilon = epsilon
        self.normalize = normalize
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


@document
class CLMKLClassifier(ClassifierPart, LocalMKL):
    """Convex localized multiple kernel learning for classification.

    Samples belong to clusters with memberships c_j(x) that sum to one, and each cluster j has its own
    kernel weights: minimise ``sum_jm ||w_jm||^2 / (2 beta_jm) + C sum_i hinge(f(x_i), y_i)`` with
    ``f(x) = sum_j c_j(x) sum_m <w_jm, phi_m(x)> + b``, beta >= 0 and ``||beta_j||_p <= 1``.

    References
    ----------
    Lei, Binder, Dogan, Kloft: Localized Multiple Kernel Learning - A Convex Approach. ACML, 2016.

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(n_samples=100, random_state=0)[:2]
    >>> model = CLMKLClassifier(n_clusters=2, evenness=0.7, random_state=0).fit(X, y)
    >>> model.kernel_weights_.shape, bool(model.duality_gap_ <= model.tol)
    ((2, 4), True)
    >>> round(model.evenness_, 3)
    0.7
    """

    def __init__(
        self,
        kernels=None,
        *,
        C=1.0,
        p=4 / 3,
        n_clusters=3,
        evenness=0.5,
        gate="kmeans",
        gate_kernel=None,
        normalize="multiplicative",
        solver="newton",
        tol=1e-3,
        max_iter=500,
        n_init=10,
        class_weight=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.kernels = kernels
        self.C = C
        self.p = p
        self.n_clusters = n_clusters
        self.evenness = evenness
        self.gate = gate
        self.gate_kernel = gate_kernel
        self.normalize = normalize
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    _hard = False


@document
class CLMKLRegressor(RegressorPart, LocalMKL):
    """Convex localized multiple kernel learning for regression.

    Samples belong to clusters with memberships c_j(x) that sum to one, and each cluster j has its own
    kernel weights. The loss is ``max(0, |y - f(x)| - epsilon)``.

    References
    ----------
    Lei, Binder, Dogan, Kloft: Localized Multiple Kernel Learning - A Convex Approach. ACML, 2016.

    Examples
    --------
    >>> from localmkl import CLMKLRegressor
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(n_samples=100, regression=True, random_state=0)[:2]
    >>> model = CLMKLRegressor(n_clusters=2, evenness=0.7, random_state=0).fit(X, y)
    >>> model.kernel_weights_.shape, bool(model.duality_gap_ <= model.tol)
    ((2, 4), True)
    """

    def __init__(
        self,
        kernels=None,
        *,
        C=1.0,
        p=4 / 3,
        n_clusters=3,
        evenness=0.5,
        gate="kmeans",
        gate_kernel=None,
        epsilon=0.1,
        normalize="multiplicative",
        solver="newton",
        tol=1e-3,
        max_iter=500,
        n_init=10,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.kernels = kernels
        self.C = C
        self.p = p
        self.n_clusters = n_clusters
        self.evenness = evenness
        self.gate = gate
        self.gate_kernel = gate_kernel
        self.epsilon = epsilon
        self.normalize = normalize
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    _hard = False
