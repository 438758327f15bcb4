"""Dual variables between those of several steps, where none of these certifies the optimum.

    max_t  D(sum_k t_k alpha_k),   t >= 0,  sum(t) = 1

At p = 1 several kernels have the same block norm at the optimum. The dual variables of weights nearby favour
one of them or another, and D, which knows the largest norm alone, stays low while the primal falls no more.
Those of the optimum lie in between. Block norms there are q_jm(t) = t' H_jm t, H_jm = (u_jk' K_m u_jl)_kl, of
products that the steps have read anyway: a problem of a few variables.
"""

import numpy as np
from scipy.optimize import minimize

LAST = 8
"""Steps whose dual variables and products are kept: together a small share of the stack."""
FEWEST = 4
"""Steps from which on there is something to mix."""
EVERY = 3
"""Steps between two mixtures: each costs a read of the stack."""
ENOUGH = 0.5
"""Share of the smallest gap before that a step leaves where all goes well."""


class Mixture:
    """The dual variables of the last steps, with their products."""

    def __init__(self, problem):
        self.problem = problem
        self.kept: list[tuple] = []
        self.gaps: list[float] = []
        self.waited = 0

    def note(self, alpha, look):
        """Keep the dual variables of a step, and their products where it has read all rows, at p = 1."""
        problem = self.problem
        if problem.p != 1 or problem.frozen or look.products is None:
            return
        value = float(problem.loss.dual_terms(alpha, problem.y, problem.C).sum())
        self.kept = [*self.kept, (alpha.copy(), look.products, value)][-LAST:]
        self.gaps.append(look.gap)
        self.waited += 1

    @property
    def pays(self):
        """Whether the last step has brought so little that a mixture may bring more."""
        slow = len(self.gaps) > 1 and self.gaps[-1] > ENOUGH * min(self.gaps[:-1])
        return slow and len(self.kept) >= FEWEST and self.waited >= EVERY

    def best(self):
        """Return the mixture with the largest dual value; it is feasible but for rounding."""
        self.waited = 0
        alphas = np.array([alpha for alpha, *_ in self.kept])
        products = np.array([products for _, products, _ in self.kept])
        parts = alphas[:, None, :] * self.problem.memberships.T
        H = np.einsum("kjmi,lji->jmkl", products, parts, optimize=True)
        values = np.array([value for *_, value in self.kept])
        return best_shares(values, 0.5 * (H + H.swapaxes(2, 3))) @ alphas


def best_shares(values, H):
    """Return the t that maximises ``values't - 1/2 sum_j max_m t' H_jm t`` over the simplex.

    Parameters
    ----------
    values : ndarray of shape (K,)
    H : ndarray of shape (l, M, K, K)
        Symmetric and positive semidefinite.
    """
    n_clusters, n_kernels, n_kept = H.shape[:3]
    scale = max(float(np.abs(values).max()), np.finfo(float).tiny)
    values, H = values / scale, H / scale
    ends = np.vstack([np.eye(n_kept), np.full(n_kept, 1.0 / n_kept)])
    heights = np.array([values @ t - 0.5 * _norms(H, t).max(axis=1).sum() for t in ends])
    start = ends[int(np.argmax(heights))]
    tops = np.repeat(np.eye(n_clusters), n_kernels, axis=0)

    def room(z):
        return (z[n_kept:, None] - _norms(H, z[:n_kept])).ravel()

    def room_slopes(z):
        return np.hstack([-2.0 * (H @ z[:n_kept]).reshape(-1, n_kept), tops])

    slope = np.concatenate([-values, np.full(n_clusters, 0.5)])
    total = np.concatenate([np.ones(n_kept), np.zeros(n_clusters)])
    found = minimize(
        lambda z: slope @ z,
        np.concatenate([start, _norms(H, start).max(axis=1)]),
        jac=lambda z: slope,
        bounds=[(0.0, 1.0)] * n_kept + [(0.0, None)] * n_clusters,
        constraints=[
            {"type": "eq", "fun": lambda z: total @ z - 1.0, "jac": lambda z: total},
            {"type": "ineq", "fun": room, "jac": room_slopes},
        ],
        method="SLSQP",
    ).x[:n_kept]
    shares = np.clip(np.nan_to_num(found), 0.0, None)
    shares = shares / shares.sum() if shares.sum() > 0.0 else start
    height = values @ shares - 0.5 * _norms(H, shares).max(axis=1).sum()
    return shares if height > heights.max() else start


def _norms(H, t):
    """Return q_jm(t), (l, M)."""
    return np.maximum((H @ t) @ t, 0.0)
