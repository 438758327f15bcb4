"""The gap in the exact problem against dense certificates, solutions of the exact problem, and all pairs."""

from dataclasses import replace

import numpy as np
import pytest

from localmkl.kernels import RBF, Linear, WeightedDegree, compute_stack, fit_features, fit_kernels
from localmkl.kernels.stack import KernelStack, cosine_stack
from localmkl.solvers import exact
from localmkl.solvers.certify import certify
from localmkl.solvers.convex import solve_convex
from localmkl.solvers.exact import exact_gap, exact_gaps
from localmkl.solvers.losses import CLASSIFICATION, REGRESSION, EpsilonInsensitive, Hinge
from localmkl.solvers.objective import Problem
from localmkl.stacks import GramStack, cosine_scales

LOSSES = [kind() for kind in (CLASSIFICATION | REGRESSION).values()]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


def make(loss=None, *, n=80, rank=10, p=4 / 3, C=1.0, seed=0, tol=1e-4):
    """Return the exact problem, the one on features, and the solution of the latter."""
    loss = Hinge() if loss is None else loss
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    score = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    y = np.sign(score) if type(loss) in CLASSIFICATION.values() else score
    kernels = fit_kernels([Linear(), RBF(), RBF(factor=4.0)], X)
    mapped = fit_features(kernels, X, rank, random_state=0)
    phi = mapped.transform(X, dtype=np.float64)
    near = GramStack(np.stack([phi[:, own] @ phi[:, own].T for own in mapped.columns()]))
    memberships = rng.dirichlet(np.ones(2), size=n)
    costs = C * rng.uniform(0.5, 2.0, size=n)
    problem = Problem(KernelStack(kernels, X), memberships, y, costs, loss, p)
    approximate = replace(problem, stack=near)
    return problem, approximate, solve_convex(approximate, tol=tol)


def dense(problem):
    return replace(problem, stack=GramStack(problem.stack.to_array()))


@pytest.mark.parametrize("p", [1, 4 / 3, 2, np.inf])
@every_loss
def test_it_is_the_dense_certificate_of_alpha_at_its_best_scale(loss, p):
    problem, _, solution = make(loss, p=p)
    found = exact_gap(problem, solution.alpha, solution.primal)
    whole = dense(problem)
    scaled = certify(whole, solution.weights, found.scale * solution.alpha)
    assert found.dual == pytest.approx(scaled.dual, rel=1e-12)
    assert found.gap == pytest.approx((solution.primal - scaled.dual) / solution.primal, abs=1e-9)
    assert found.error == 0.0
    for t in (0.0, 0.999 * found.scale, min(1.0, 1.001 * found.scale), 1.0):
        assert certify(whole, solution.weights, t * solution.alpha).dual <= found.dual * (1.0 + 1e-12)


def test_of_1500_rows_it_is_the_dense_certificate_too():
    problem, _, solution = make(n=1500, rank=50, tol=1e-3)
    found = exact_gap(problem, solution.alpha, solution.primal)
    scaled = certify(dense(problem), solution.weights, found.scale * solution.alpha)
    assert found.gap == pytest.approx((solution.primal - scaled.dual) / solution.primal, abs=1e-9)


@pytest.mark.parametrize("p", [1, 4 / 3, 2])
@every_loss
def test_it_is_never_below_the_true_suboptimality(loss, p):
    problem, _, solution = make(loss, p=p)
    best = solve_convex(dense(problem), tol=1e-9)
    found = exact_gap(problem, solution.alpha, solution.primal)
    assert solution.primal >= best.dual
    assert (solution.primal - best.dual) / solution.primal <= found.gap < 1.0


def test_at_full_rank_it_is_the_gap_itself():
    problem, _, solution = make(rank=80, tol=1e-6)
    found = exact_gap(problem, solution.alpha, solution.primal)
    assert 0.0 <= found.gap <= 1e-6
    assert found.scale == pytest.approx(1.0, abs=1e-3)
    doubtful = exact_gap(problem, solution.alpha, solution.primal, primal_error=1e-3)
    assert doubtful.gap == pytest.approx(1e-3 / (1.0 + 1e-3), rel=1e-3)


@every_loss
def test_every_box_contains_zero(loss):
    y = np.array([-1.0, 1.0, 1.0])
    lower, upper = loss.box(y, np.array([0.0, 1.0, 2.0]))
    assert np.all((lower <= 0.0) & (upper >= 0.0))
    np.testing.assert_array_equal(loss.dual_terms(np.zeros(3), y, np.ones(3)), 0.0)


def test_blocks_do_not_matter_and_no_larger_ones_are_read(monkeypatch):
    problem, _, solution = make()
    whole = exact_gap(problem, solution.alpha, solution.primal)
    monkeypatch.setattr(exact, "BLOCK_ENTRIES", 3 * 7**2)
    monkeypatch.setattr(exact, "BLOCK_ROWS", 7)
    read, seen = [], []
    plain = KernelStack.read

    def watched(stack, m, rows, columns):
        read.append((m, len(rows), len(columns)))
        return plain(stack, m, rows, columns)

    monkeypatch.setattr(KernelStack, "read", watched)
    blocks = exact_gap(problem, solution.alpha, solution.primal, progress=lambda *done: seen.append(done))
    assert blocks.gap == pytest.approx(whole.gap, abs=1e-12)
    n = np.count_nonzero(solution.alpha)
    n_blocks = -(-n // 7)
    assert len(read) == 3 * n_blocks * (n_blocks + 1) // 2
    assert max(max(sizes) for _, *sizes in read) == 7
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert seen[-1] == (n * (n + 1) // 2,) * 2


def test_several_answers_are_judged_in_one_read():
    problem, _, solution = make()
    other = replace(problem, y=-problem.y, memberships=np.ones((80, 1)), p=2)
    both = exact_gaps([problem, other], [solution.alpha, -0.5 * solution.alpha], [solution.primal, 90.0])
    assert both[0].gap == pytest.approx(exact_gap(problem, solution.alpha, solution.primal).gap, abs=1e-12)
    assert both[1].gap == pytest.approx(exact_gap(other, -0.5 * solution.alpha, 90.0).gap, abs=1e-12)


@pytest.mark.parametrize("spoil", [lambda alpha: 10.0 * alpha, np.abs, lambda alpha: alpha * np.nan])
def test_what_is_not_feasible_has_an_infinite_gap(spoil):
    problem, _, solution = make()
    assert exact_gap(problem, spoil(solution.alpha), solution.primal).gap == np.inf


def test_an_answer_without_support_vectors_has_the_gap_of_its_primal():
    problem, approximate, _ = make(EpsilonInsensitive(100.0))
    assert exact_gap(problem, np.zeros(80), 3.0).gap == 1.0
    found = exact_gap(problem, np.zeros(80), 0.0, max_pairs=1, approximation=approximate.stack)
    assert (found.gap, found.error) == (0.0, 0.0)


@pytest.mark.parametrize("p", [1, 4 / 3])
def test_estimates_are_within_four_standard_errors(p):
    problem, approximate, solution = make(n=400, rank=40, p=p)
    arguments = dense(problem), solution.alpha, solution.primal
    true = exact_gap(*arguments).gap

    def estimate(max_pairs, seed):
        return exact_gap(*arguments, max_pairs=max_pairs, random_state=seed, approximation=approximate.stack)

    found = [estimate(15_000, seed) for seed in range(10)]
    shares = [(one.gap - true) / one.error for one in found]
    assert np.abs(shares).max() < 4.0
    assert 0.4 < np.std(shares) < 1.6
    assert 0.25 * true > estimate(6_000, 0).error > 1.5 * found[0].error
    assert estimate(15_000, 9) == found[9] != found[8]


def test_estimates_read_as_many_pairs_as_they_may_and_are_exact_if_these_are_all(monkeypatch):
    problem, approximate, solution = make(n=300)
    arguments = problem, solution.alpha, solution.primal
    options = {"approximation": approximate.stack, "random_state": 0}
    assert exact_gap(*arguments, max_pairs=10**9, **options) == exact_gap(*arguments)
    read, seen = [], []
    plain = KernelStack.read

    def watched(stack, m, rows, columns):
        read.append(len(rows) * len(columns))
        return plain(stack, m, rows, columns)

    monkeypatch.setattr(KernelStack, "read", watched)
    exact_gap(*arguments, max_pairs=10_000, progress=lambda *done: seen.append(done), **options)
    assert 5_000 < sum(read) / 3 <= 11_000
    assert seen[-1] == (len(seen), len(seen))
    with pytest.raises(ValueError, match="`max_pairs` needs `approximation`"):
        exact_gap(*arguments, max_pairs=10)
    with pytest.raises(ValueError, match="`max_pairs` must be an integer of at least 1, got 0"):
        exact_gap(*arguments, max_pairs=0, **options)


def test_a_stack_that_is_computed_when_read_is_the_one_that_is_kept():
    X = np.random.default_rng(0).choice(list("ACGT"), size=(20, 12))
    rows = ["".join(row) for row in X]
    kernels = fit_kernels([WeightedDegree(1), WeightedDegree(4)], rows)
    kept = compute_stack(kernels, rows)
    scales = cosine_scales(kept.diagonals())
    factors = np.array([2.0, 0.5])
    kept = cosine_stack(kept, in_place=False).scaled(factors)
    computed = KernelStack(kernels, rows, scales).scaled(factors)
    some, others = np.array([3, 1, 7]), np.array([0, 19])
    np.testing.assert_allclose(computed.to_array(), kept.to_array(), rtol=1e-12)
    for m in range(2):
        np.testing.assert_allclose(
            computed[np.ix_(some, others)].block(m), kept[np.ix_(some, others)].block(m), rtol=1e-12
        )
    np.testing.assert_allclose(computed[some].diagonals(), kept[some].diagonals(), rtol=1e-12)
