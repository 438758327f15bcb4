import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from localmkl import GramStack
from localmkl.kernels import RBF, compute_stack, fit_kernels
from localmkl.solvers.certify import certify
from localmkl.solvers.convex import solve_convex
from localmkl.solvers.losses import Hinge
from localmkl.solvers.mixing import Mixture, best_shares
from localmkl.solvers.objective import Problem


@pytest.mark.parametrize("n_clusters, n_kernels, n_kept", [(1, 2, 2), (1, 6, 5), (3, 4, 8)])
def test_shares_agree_with_a_generic_convex_solver(n_clusters, n_kernels, n_kept):
    cvxpy = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(n_kept)
    roots = rng.normal(size=(n_clusters, n_kernels, 20, n_kept)) / 5.0
    H, values = np.einsum("jmik,jmil->jmkl", roots, roots), rng.uniform(0.5, 1.5, n_kept)

    def height(t):
        return values @ t - 0.5 * np.einsum("jmkl,k,l->jm", H, t, t).max(axis=1).sum()

    t = cvxpy.Variable(n_kept, nonneg=True)
    norms = [cvxpy.maximum(*(cvxpy.sum_squares(root @ t) for root in own)) for own in roots]
    problem = cvxpy.Problem(cvxpy.Maximize(values @ t - 0.5 * sum(norms)), [cvxpy.sum(t) == 1.0])
    problem.solve()
    shares = best_shares(values, H)
    assert shares.min() >= 0.0
    assert shares.sum() == pytest.approx(1.0, abs=1e-12)
    assert height(shares) == pytest.approx(problem.value, rel=1e-5)
    assert height(shares) >= max(height(end) for end in np.eye(n_kept))


def one_kernel_for_each_column(seed):
    """Return a problem of half of the breast cancer set at p = 1, whose steps alone stall above 1e-3."""
    X, y = load_breast_cancer(return_X_y=True)
    kernels = [RBF(factor=factor) for factor in (0.1, 1.0, 10.0)] + [RBF(columns=[k]) for k in range(30)]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    grams = compute_stack(fit_kernels(kernels, X), X).grams
    train, _ = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed)
    part = grams[:, train][:, :, train].copy()
    y = np.where(y[train] == 1, 1.0, -1.0)
    return Problem(GramStack(part), np.ones((len(y), 1)), y, np.full(len(y), 0.1), Hinge(), 1.0)


@pytest.mark.parametrize("seed", [0, 1])
def test_many_kernels_of_which_few_matter_are_certified(seed, monkeypatch):
    problem = one_kernel_for_each_column(seed)
    solution = solve_convex(problem, tol=1e-3)
    assert solution.converged
    assert solution.history["gap"][-1] <= 1e-3
    again = certify(problem, solution.weights, solution.alpha)
    assert again.gap == pytest.approx(solution.gap, abs=1e-9)
    monkeypatch.setattr(Mixture, "pays", False)
    alone = solve_convex(problem, tol=1e-3)
    assert alone.n_iter >= solution.n_iter
    assert {len(values) for values in alone.history.values()} == {alone.n_iter}
