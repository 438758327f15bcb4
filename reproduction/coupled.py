"""Hard clusters whose weights are coupled by a graph: the HLMKL of Lei, Binder, Dogan and Kloft (2015).

    min  sum_jm |w_jm|^2 / (2 beta_jm) + mu / 2 sum_m sum_jk L_jk <w_jm, w_km> + C sum_i hinge(y_i f(x_i)),
         |beta_j|_p <= 1, with the Laplacian L of the complete graph over clusters, and strength mu

    kernel for given beta    k~(x, x') = sum_m c(x)' Q_m c(x') k_m(x, x'),  Q_m = B_m R_m,
                             B_m = diag(beta_.m),  R_m = (I + mu L B_m)^-1
    block norms              q_jm = [R_m G_m R_m']_jj,  G_m = (c * alpha)' K_m (c * alpha)
    dual, for any beta >= 0  sum_i y_i alpha_i - 1/2 sum_j |q_j|_{p/(p-1)} - mu/2 sum_m tr(L Q_m G_m Q_m)

A support vector machine and the closed form of beta take turns until the relative duality gap is small.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.svm import SVC


@dataclass(frozen=True)
class Coupled:
    """A solution, with its certificate."""

    beta: np.ndarray
    couplings: np.ndarray
    dual_parts: np.ndarray
    intercept: float
    primal: float
    gap: float
    n_iter: int

    def decide(self, grams, memberships):
        """Return the decisions on rows, from their kernels with the training rows (M, n_new, n)."""
        decisions = np.full(len(memberships), self.intercept)
        for gram, coupling in zip(grams, self.couplings, strict=True):
            decisions += np.einsum("ij,ij->i", memberships @ coupling, gram @ self.dual_parts)
        return decisions


def solve_coupled(grams, y, memberships, C, p, strength, *, beta=None, tol=1e-3, max_iter=1000):
    """Return the `Coupled` solution on kernels (M, n, n), labels -1 and 1, and memberships (n, l)."""
    n_clusters = memberships.shape[1]
    laplacian = n_clusters * np.eye(n_clusters) - 1.0
    if beta is None:
        beta = np.full((n_clusters, len(grams)), len(grams) ** (-1.0 / p))
    best_dual, dual_p = -np.inf, np.inf if p == 1.0 else p / (p - 1.0)
    for iteration in range(1, max_iter + 1):  # noqa: B007 - the last one is returned
        damping = np.linalg.inv(np.eye(n_clusters) + strength * laplacian * beta.T[:, None, :])
        couplings = beta.T[:, :, None] * damping
        combined = combine(grams, memberships, couplings)
        svm = SVC(kernel="precomputed", C=C, tol=min(1e-3, tol) * 1e-2).fit(combined, y)
        alpha = np.zeros(len(y))
        alpha[svm.support_] = svm.dual_coef_[0]
        parts = memberships * alpha[:, None]
        blocks = np.stack([parts.T @ (gram @ parts) for gram in grams])
        norms = np.einsum("mij,mjk,mik->im", damping, blocks, damping).clip(0.0)
        loss, intercept = best_intercept(y, combined @ alpha)
        primal = 0.5 * np.sum(couplings * blocks) + C * loss
        smoothness = np.einsum("ij,mjk,mkl,mli->", laplacian, couplings, blocks, couplings)
        dual = y @ alpha - 0.5 * np.linalg.norm(norms, dual_p, axis=1).sum() - 0.5 * strength * smoothness
        best_dual = max(best_dual, dual)
        gap = (primal - best_dual) / primal
        if gap <= tol:
            break
        beta = closed_form(beta, norms, p)
    return Coupled(beta, couplings, parts, intercept, primal, gap, iteration)


def combine(grams, memberships, couplings):
    """Return sum_m (c Q_m c') * K_m."""
    total = np.zeros(grams.shape[1:])
    for gram, coupling in zip(grams, couplings, strict=True):
        total += (memberships @ coupling @ memberships.T) * gram
    return total


def closed_form(beta, norms, p):
    """Return the best weights for the parts' lengths; clusters without support vectors keep theirs."""
    lengths = beta * np.sqrt(norms)
    totals = np.sum(lengths ** (2.0 * p / (p + 1.0)), axis=1, keepdims=True) ** (1.0 / p)
    return np.where(totals > 0.0, lengths ** (2.0 / (p + 1.0)) / np.maximum(totals, 1e-300), beta)


def best_intercept(y, decisions):
    """Return the smallest sum of hinge losses over intercepts, and its intercept: one of the kinks."""
    kinks = y - decisions
    losses = np.maximum(1.0 - y * (decisions + kinks[:, None]), 0.0).sum(axis=1)
    best = int(losses.argmin())
    return float(losses[best]), float(kinks[best])
