"""The seam between an estimator and whatever yields memberships.

A gate learns from the training rows (`fit` returns their memberships) and says for a block of new rows
who belongs where (`memberships`). It sees the raw rows and the normalised Grams, and reads what it needs.
"""

import numpy as np
from sklearn.base import clone

from localmkl._checks import check_memberships
from localmkl.backends import load
from localmkl.gates import KernelKMeansGate
from localmkl.kernels.stack import CrossGrams, GramStack, NormalizedGrams, cosine_scales, fit_kernel


class OneCluster:
    """Everybody in one cluster: global methods."""

    tau, evenness = 0.0, 1.0

    def memberships(self, X, grams, rows):
        """Return ones, (n_rows, 1)."""
        return np.ones((rows.stop - rows.start, 1))


class GateKernel:
    """The kernel k0 that says who is near whom.

    Parameters
    ----------
    spec : None, int, kernel or callable
        None is the uniform combination of all kernels, an integer one of them.
    """

    def __init__(self, spec, n_kernels, precomputed):
        self.spec = spec
        self.own = None
        if isinstance(spec, int | np.integer) and not isinstance(spec, bool):
            if not -n_kernels <= spec < n_kernels:
                raise ValueError(f"`gate_kernel` must index one of the {n_kernels} kernels, got {spec}.")
        elif spec is not None and precomputed:
            raise ValueError(
                f"`gate_kernel` must be None or an index with precomputed kernels, got {spec!r}; "
                "put the gate's Gram into the stack and give its index."
            )

    @property
    def reads_stack(self):
        """Whether k0 is made of the base kernels."""
        return self.own is None

    def fit(self, X, sample_weight):
        """Learn the parameters of a kernel of its own."""
        if self.spec is not None and not isinstance(self.spec, int | np.integer):
            self.own = fit_kernel(self.spec, X, sample_weight)
            self.rows = X
        return self

    def training_gram(self, stack, factors):
        """Return k0 on the training rows, (n, n)."""
        if self.own is not None:
            return self.own(self.rows)
        if self.spec is not None:
            return stack.block(self.spec) * factors[self.spec]
        weights = (factors / len(factors))[None, :]
        return load().combine(stack.grams, stack.rows, weights, np.ones((stack.shape[0], 1)))

    def cross_gram(self, X, grams, rows=slice(None)):
        """Return k0 between a block of rows and the reference rows of the fit."""
        if self.own is not None:
            return self.own(X, self.rows)
        return grams.mean(rows) if self.spec is None else grams.block(self.spec, rows)


class KMeansGate:
    """Kernel k-means on the gate kernel, of the training rows or of these and unlabelled ones."""

    def __init__(self, clustering, kernel):
        self.clustering, self.kernel = clustering, kernel

    @property
    def tau(self):
        """Sharpness of the memberships."""
        return float(self.clustering.tau_)

    @property
    def evenness(self):
        """Average evenness over the partitioned rows."""
        return float(self.clustering.evenness_)

    def fit(self, gram, n_train, sample_weight):
        """Learn the partition from k0 on the training rows, followed by unlabelled ones."""
        weights = sample_weight
        if weights is not None:
            weights = np.concatenate([weights, np.ones(len(gram) - n_train)])
        self.clustering.fit(gram, weights)
        return self.clustering.memberships(gram[:n_train])

    def memberships(self, X, grams, rows):
        """Return memberships of a block of new rows."""
        return self.clustering.memberships(self.kernel.cross_gram(X, grams, rows))


class ModelGate:
    """Anything with ``fit`` and ``predict_proba``, or a function of the rows."""

    tau = evenness = float("nan")

    def __init__(self, model, hard):
        self.model, self.hard = model, hard

    def fit(self, X):
        """Fit a copy of the model (functions need no fit); return memberships of the rows."""
        if hasattr(self.model, "predict_proba"):
            self.model = clone(self.model).fit(X)
        return self.memberships(X, None, slice(0, len(X)))

    def memberships(self, X, grams, rows):
        """Return memberships of a block of new rows."""
        given = self.model.predict_proba(X) if hasattr(self.model, "predict_proba") else self.model(X)
        return _maybe_hard(check_memberships(given, rows.stop - rows.start), self.hard)


class MatrixGate:
    """A fixed membership matrix, one row for each row of the whole `GramStack`."""

    tau = evenness = float("nan")

    def __init__(self, matrix, hard):
        self.matrix, self.hard = np.asarray(matrix, dtype=np.float64), hard

    def fit(self, stack, n_train):
        """Return memberships of the training rows."""
        self.origin = stack.origin if isinstance(stack, GramStack) else None
        n_rows = n_train if self.origin is None else stack.grams.shape[1]
        self.matrix = check_memberships(self.matrix, n_rows)
        return self.of_rows(stack)

    def of_rows(self, stack):
        """Return the memberships of the rows of a slice of the stack."""
        chosen = self.matrix if stack.rows is None else self.matrix[stack.rows]
        return _maybe_hard(chosen, self.hard)

    def memberships(self, X, grams, rows):
        """Return memberships of new rows: they must be rows of the same `GramStack`."""
        if not isinstance(X, GramStack) or X.origin != self.origin:
            raise ValueError(
                "A fixed membership matrix as `gate` only knows the rows of the `GramStack` of the "
                "fit; predict on slices of that stack, or use a gate that can judge new rows."
            )
        return self.of_rows(X)


def fit_gate(estimator, X, stack, sample_weight, unlabeled, evenness):
    """Return the fitted gate of an estimator and the memberships of its training rows.

    `evenness` None makes hard memberships.
    """
    gate, hard = estimator.gate, evenness is None
    if isinstance(gate, str):
        kernel = GateKernel(estimator.gate_kernel, stack.n_kernels, estimator._precomputed)
        clustering = KernelKMeansGate(
            estimator.n_clusters,
            evenness,
            n_init=estimator.n_init,
            random_state=estimator.random_state,
        )
        fitted = KMeansGate(clustering, kernel)
        n_train = stack.shape[0]
        if unlabeled is None:
            gram = kernel.fit(X, sample_weight).training_gram(stack, estimator.factors_)
        else:
            gram = _joint_gram(estimator, kernel, unlabeled, n_train, sample_weight)
        return fitted, fitted.fit(gram, n_train, sample_weight)
    if hasattr(gate, "predict_proba") or callable(gate):
        if estimator._precomputed:
            raise ValueError(
                "With precomputed kernels `gate` must be 'kmeans' or a fixed membership matrix: "
                "there are no rows to give to a model or a function."
            )
        model = ModelGate(gate, hard)
        return model, model.fit(X if unlabeled is None else estimator.rows_)[: stack.shape[0]]
    matrix = MatrixGate(gate, hard)
    return matrix, matrix.fit(X if estimator._precomputed else stack, stack.shape[0])


def _joint_gram(estimator, kernel, unlabeled, n_train, sample_weight):
    """Return k0 on the training rows followed by the unlabelled ones."""
    if estimator._precomputed:
        source = unlabeled
    else:
        kernel.fit(estimator.rows_, None)
        if kernel.own is not None:
            return kernel.own(kernel.rows)
        source = CrossGrams(estimator.kernels_, estimator.rows_, estimator.rows_)
    scales = None
    if estimator.normalize == "cosine":
        scales = cosine_scales(source.diagonals())
    grams = NormalizedGrams(source, estimator.factors_, scales, scales)
    return kernel.cross_gram(None, grams)


def _maybe_hard(memberships, hard):
    if not hard:
        return memberships
    return np.eye(memberships.shape[1])[memberships.argmax(axis=1)]
