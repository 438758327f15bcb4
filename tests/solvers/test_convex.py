"""Certificates, special cases and an outside reference for the convex solver."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR

from localmkl.backends import compiled
from localmkl.solvers.certify import certify
from localmkl.solvers.convex import SOLVERS, solve_convex
from localmkl.solvers.factor import factorise
from localmkl.solvers.losses import EpsilonInsensitive, Hinge
from localmkl.solvers.objective import Problem
from localmkl.solvers.starts import Start, neighbour_start
from localmkl.stacks import GramStack

LOSSES = {"hinge": Hinge(), "epsilon_insensitive": EpsilonInsensitive(0.1)}
NORMS = [1, 1.1, 4 / 3, 2, 10, np.inf]


def make_problem(loss, p, n_clusters, C, *, hard=False, n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    grams = np.stack([rbf_kernel(X, gamma=gamma) for gamma in (0.01, 0.1, 1.0)] + [X @ X.T])
    memberships = rng.dirichlet(np.ones(n_clusters), size=n)
    if hard:
        memberships = np.eye(n_clusters)[memberships.argmax(axis=1)]
    score = X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.3 * rng.normal(size=n)
    y = np.sign(score) if isinstance(loss, Hinge) else score
    costs = C * rng.uniform(0.5, 2.0, size=n)
    stack = GramStack(grams).scaled(rng.uniform(0.5, 2.0, size=len(grams)))
    return Problem(stack, memberships, y, costs, loss, p)


def independent_gap(problem, weights, alpha, intercept):
    """The relative duality gap in the plainest NumPy there is, for this intercept."""
    K = problem.stack.to_array()
    U = problem.memberships * alpha[:, None]
    q = np.array([[u @ k @ u for k in K] for u in U.T])
    scores = intercept + sum(
        weights[j, m] * problem.memberships[:, j] * (K[m] @ U[:, j])
        for j in range(q.shape[0])
        for m in range(q.shape[1])
    )
    if isinstance(problem.loss, Hinge):
        losses = np.maximum(0, 1 - problem.y * scores)
    else:
        losses = np.maximum(0, np.abs(problem.y - scores) - problem.loss.tube)
    primal = 0.5 * np.sum(weights * q) + problem.C @ losses
    star = {1: np.inf, np.inf: 1}.get(problem.p) or problem.p / (problem.p - 1)
    penalty = sum(np.linalg.norm(row, star) for row in np.maximum(q, 0))
    dual = problem.y @ alpha - problem.loss.tube * np.abs(alpha).sum() - 0.5 * penalty
    return (primal - dual) / primal


@pytest.mark.parametrize("tol", [1e-3, 1e-8])
@pytest.mark.parametrize("hard", [False, True], ids=["soft", "hard"])
@pytest.mark.parametrize("n_clusters", [1, 2, 5])
@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("loss", LOSSES)
def test_every_answer_carries_a_certificate_that_plain_numpy_confirms(loss, p, n_clusters, hard, tol):
    for C in (0.01, 1.0, 30.0, 1000.0):
        problem = make_problem(LOSSES[loss], p, n_clusters, C, hard=hard)
        solution = solve_convex(problem, tol=tol)
        assert solution.converged
        gap = independent_gap(problem, solution.weights, solution.alpha, solution.intercept)
        assert gap <= tol
        assert gap <= solution.gap
        assert gap == pytest.approx(solution.gap - solution.rounding, abs=1e-9)
        lower, upper = problem.box()
        assert np.all((solution.alpha >= lower) & (solution.alpha <= upper))
        assert abs(solution.alpha.sum()) <= 1e-10 * problem.C.sum()
        assert np.all(solution.weights >= 0)
        norms = np.linalg.norm(solution.weights, p, axis=1)
        assert np.all(norms <= 1 + 1e-12)
        primal, inexactness = solution.history["primal"], solution.history["svm_gap"]
        assert np.all(np.diff(primal) <= (inexactness[1:] + 1e-12) * primal[1:])


def test_with_many_clusters_no_factor_is_larger_than_the_free_variables(monkeypatch):
    sizes = []

    def recorded(make):
        sizes.append(len(make()))
        return factorise(make)

    monkeypatch.setattr("localmkl.solvers.model.factorise", recorded)
    for p in (1, 4 / 3):
        problem = make_problem(Hinge(), p, 60, 1.0)
        assert solve_convex(problem, tol=1e-6).converged
    assert 0 < max(sizes) <= problem.n_samples < problem.memberships.shape[1] * problem.stack.n_kernels


@pytest.mark.filterwarnings("ignore:pnorm with p=.* is being approximated .error:UserWarning")
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_optimum_agrees_with_a_generic_convex_solver(loss, p, solver):
    n, n_clusters = 25, 2
    rng = np.random.default_rng(1)
    features = [rng.normal(size=(n, d)) for d in (1, 2, 3)]
    grams = np.stack([F @ F.T for F in features])
    memberships = rng.dirichlet(np.ones(n_clusters), size=n)
    score = features[0][:, 0] - features[1][:, 1]
    y = np.sign(score) if loss == "hinge" else score
    problem = Problem(GramStack(grams), memberships, y, np.full(n, 0.7), LOSSES[loss], p)
    tol = 1e-7 if solver == "newton" else 1e-4
    solution = solve_convex(problem, solver=solver, tol=tol, max_iter=3000)
    assert solution.primal == pytest.approx(_generic_optimum(problem, features), rel=2 * tol + 1e-5)


def _generic_optimum(problem, features):
    """Minimise 1/2 sum_j ||w_j||^2_{2, 2p/(p+1)} + C sum loss over w and b."""
    p = problem.p
    exponent = 2.0 if np.isinf(p) else 2 * p / (p + 1)
    b = cp.Variable()
    score, penalty = b, 0
    for j in range(problem.memberships.shape[1]):
        norms = []
        for F in features:
            w = cp.Variable(F.shape[1])
            score = score + cp.multiply(problem.memberships[:, j], F @ w)
            norms.append(cp.norm(w, 2))
        penalty += 0.5 * cp.square(cp.pnorm(cp.hstack(norms), exponent))
    if isinstance(problem.loss, Hinge):
        losses = cp.pos(1 - cp.multiply(problem.y, score))
    else:
        losses = cp.pos(cp.abs(problem.y - score) - problem.loss.tube)
    task = cp.Problem(cp.Minimize(penalty + problem.C @ losses))
    return task.solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_one_kernel_and_one_cluster_is_the_svm_of_libsvm(C):
    problem = make_problem(Hinge(), 1, 1, 1.0)
    K, y = problem.stack.grams[1], problem.y
    one = Problem(GramStack([K]), np.ones((len(y), 1)), y, np.full(len(y), C), Hinge(), 1)
    solution = solve_convex(one, tol=1e-12)
    reference = SVC(C=C, kernel="precomputed", tol=1e-9).fit(K, y)
    decisions = K @ solution.alpha + solution.intercept
    np.testing.assert_allclose(decisions, reference.decision_function(K), atol=1e-5)


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_one_kernel_and_one_cluster_is_the_svr_of_libsvm(C):
    problem = make_problem(EpsilonInsensitive(0.1), 1, 1, 1.0)
    K, y = problem.stack.grams[1], problem.y
    one = Problem(GramStack([K]), np.ones((len(y), 1)), y, np.full(len(y), C), EpsilonInsensitive(0.1), 1)
    solution = solve_convex(one, tol=1e-12)
    reference = SVR(C=C, kernel="precomputed", tol=1e-9, epsilon=0.1).fit(K, y)
    # LIBSVM keeps kernel rows in single precision, which shows at large costs.
    decisions = K @ solution.alpha + solution.intercept
    np.testing.assert_allclose(decisions, reference.predict(K), atol=1e-6 * max(10.0, C))


@pytest.mark.parametrize("p", [1, 4 / 3, 2])
@pytest.mark.parametrize("loss", LOSSES)
def test_both_ways_of_moving_the_weights_reach_the_same_optimum(loss, p):
    problem = make_problem(LOSSES[loss], p, 2, 1.0)
    newton = solve_convex(problem, tol=1e-6)
    closed_form = solve_convex(problem, solver="alternating", tol=1e-4, max_iter=5000)
    assert newton.n_iter < closed_form.n_iter
    assert newton.primal == pytest.approx(closed_form.primal, rel=2e-4)


@pytest.mark.parametrize("p", [1, 4 / 3, np.inf])
@pytest.mark.parametrize("loss", LOSSES)
def test_both_backends_give_the_same_solution(loss, p):
    problem = make_problem(LOSSES[loss], p, 2, 1.0, n=30)
    fast = solve_convex(problem, tol=1e-9)
    slow = solve_convex(replace(problem, stack=problem.stack.using(backend="reference")), tol=1e-9)
    assert fast.primal == pytest.approx(slow.primal, rel=1e-8)
    np.testing.assert_allclose(fast.weights, slow.weights, atol=1e-4)


def test_training_on_rows_of_a_stack_equals_training_on_a_copy_of_them():
    problem = make_problem(Hinge(), 4 / 3, 2, 1.0)
    rows = np.random.default_rng(0).permutation(60)[:40]
    common = {"memberships": problem.memberships[rows], "y": problem.y[rows], "C": problem.C[rows]}
    common |= {"loss": problem.loss, "p": problem.p}
    part = problem.stack[np.ix_(rows, rows)]
    sliced = solve_convex(Problem(part, **common), tol=1e-8)
    copied = solve_convex(Problem(GramStack(part.to_array()), **common), tol=1e-8)
    np.testing.assert_allclose(sliced.alpha, copied.alpha, atol=1e-6)
    np.testing.assert_allclose(sliced.weights, copied.weights, atol=1e-6)


def test_a_float32_stack_gives_the_float64_answer_to_its_precision():
    problem = make_problem(Hinge(), 4 / 3, 2, 1.0)
    single = replace(problem, stack=GramStack(problem.stack.to_array().astype(np.float32)))
    assert solve_convex(single, tol=1e-6).primal == pytest.approx(
        solve_convex(problem, tol=1e-6).primal, rel=1e-5
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_a_warm_start_at_the_solution_ends_at_once(loss):
    problem = make_problem(LOSSES[loss], 4 / 3, 2, 1.0)
    solution = solve_convex(problem, tol=1e-6)
    again = solve_convex(problem, tol=1e-5, start=neighbour_start(solution, problem, problem))
    assert again.n_iter == 1
    assert again.primal == pytest.approx(solution.primal, rel=1e-5)


def test_a_warm_start_from_another_cost_is_feasible_and_converges():
    small = make_problem(Hinge(), 4 / 3, 2, 1.0)
    solution = solve_convex(small, tol=1e-6)
    for C in (0.1, 10.0):
        other = replace(small, C=C * small.C)
        warm = solve_convex(other, tol=1e-6, start=neighbour_start(solution, small, other))
        assert warm.converged
        assert warm.primal == pytest.approx(solve_convex(other, tol=1e-6).primal, rel=1e-5)


def test_a_cluster_without_samples_keeps_finite_weights():
    problem = make_problem(Hinge(), 1, 2, 1.0)
    memberships = np.column_stack([np.ones(60), np.zeros(60)])
    solution = solve_convex(replace(problem, memberships=memberships), tol=1e-6)
    assert solution.converged
    assert np.isfinite(solution.weights).all()


def test_duplicated_samples_and_kernels_do_no_harm():
    problem = make_problem(EpsilonInsensitive(0.1), 1, 2, 10.0, n=30)
    twice = np.tile(np.arange(30), 2)
    grams = problem.stack.to_array()
    doubled = Problem(
        GramStack(np.concatenate([grams, grams])[:, twice][:, :, twice]),
        problem.memberships[twice],
        problem.y[twice],
        0.5 * problem.C[twice],
        problem.loss,
        1,
    )
    assert solve_convex(doubled, tol=1e-7).primal == pytest.approx(
        solve_convex(problem, tol=1e-7).primal, rel=1e-6
    )


def test_the_callback_sees_every_step():
    seen = []
    problem = make_problem(Hinge(), 1, 2, 1.0)
    solution = solve_convex(problem, tol=1e-6, callback=lambda *step: seen.append(step))
    assert [step[0] for step in seen] == list(range(1, solution.n_iter + 1))
    np.testing.assert_array_equal([step[3] for step in seen], solution.history["gap"])


def test_stopping_early_is_said_and_still_certified():
    problem = make_problem(Hinge(), 1, 3, 100.0)
    solution = solve_convex(problem, tol=1e-9, max_iter=1)
    assert not solution.converged
    assert solution.gap == pytest.approx(
        independent_gap(problem, solution.weights, solution.alpha, solution.intercept), abs=1e-9
    )


def test_the_certificate_does_not_trust_the_compiled_products(monkeypatch):
    problem = make_problem(Hinge(), 1.5, 2, 1.0)
    true = solve_convex(problem, tol=1e-4)
    original = compiled.block_products

    def wrong(grams, rows, vectors, **options):
        return 0.9 * original(grams, rows, vectors, **options)

    monkeypatch.setattr(compiled, "block_products", wrong)
    with pytest.warns(RuntimeWarning, match="disagree with NumPy's"):
        found = solve_convex(problem, tol=1e-4, max_iter=3)
    checked = certify(problem, found.weights, found.alpha)
    assert found.gap == pytest.approx(checked.gap, rel=1e-9)
    assert found.primal == pytest.approx(checked.primal, rel=1e-9)
    assert checked.primal >= true.primal * (1 - 1e-4)


@pytest.mark.parametrize("p", [1, 1.1, 2])
@pytest.mark.parametrize("seed", range(8))
def test_a_start_with_weights_of_zero_and_kernels_of_low_rank_is_no_trap(seed, p):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, 12))
    y = np.sign(X[:, 0] + X[:, 3] + 0.5 * X[:, 7] + 0.3 * rng.normal(size=100))
    views = X.reshape(100, 6, 2).transpose(1, 0, 2)
    grams = views @ views.transpose(0, 2, 1)
    problem = Problem(GramStack(grams), np.ones((100, 1)), y, np.full(100, 10.0), Hinge(), p)
    for m in range(6):
        start = Start(np.eye(6)[m : m + 1], np.zeros(100))
        assert solve_convex(problem, start=start, tol=1e-4, max_iter=60).converged


@pytest.mark.parametrize("p", [1, 4 / 3])
def test_rows_in_any_order_have_the_same_answers(p):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3, 80, 4)), np.sign(rng.normal(size=80))
    whole = GramStack(X @ X.transpose(0, 2, 1))
    memberships = rng.dirichlet([1.0, 1.0], size=80)
    found = []
    for rows in (np.arange(5, 70), rng.permutation(np.arange(5, 70))):
        own = Problem(whole[np.ix_(rows, rows)], memberships[rows], y[rows], np.ones(65), Hinge(), p)
        solution = solve_convex(own, tol=1e-8)
        assert certify(own, solution.weights, solution.alpha).gap <= 1e-8
        again = solve_convex(own, start=Start(solution.weights, solution.alpha, near=True), tol=1e-6)
        assert again.n_iter == 1
        alpha = np.zeros(80)
        alpha[rows] = solution.alpha
        found.append((alpha, solution))
    assert found[1][1].primal == pytest.approx(found[0][1].primal, rel=1e-12)
    np.testing.assert_allclose(found[1][0], found[0][0], atol=1e-9)
