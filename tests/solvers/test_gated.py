"""LMKL: its gradient, its descent, its special cases and its certificate."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.svm import SVC, SVR

from localmkl.solvers import gated
from localmkl.solvers.gated import (
    ACTIVATIONS,
    apply_gate,
    certify_gated,
    objective_gradient,
    solve_gated,
)
from localmkl.solvers.losses import EpsilonInsensitive, Hinge
from localmkl.solvers.objective import Problem
from localmkl.solvers.svm import InnerSVM
from localmkl.stacks import GramStack

LOSSES = {"hinge": Hinge(), "epsilon-insensitive": EpsilonInsensitive(0.05)}

every_gate = pytest.mark.parametrize("gate", ACTIVATIONS)
every_loss = pytest.mark.parametrize("loss", LOSSES)


def rbf(X, gamma):
    squares = np.sum(X**2, axis=1)
    return np.exp(-gamma * np.maximum(squares[:, None] + squares - 2.0 * X @ X.T, 0.0))


def make_problem(loss, n=40, seed=0):
    """Return a problem where the left half needs another column than the right half, and its gate's Gram."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    target = np.where(X[:, 0] > 0.0, X[:, 1], -X[:, 2])
    y = np.where(target + 0.1 * rng.standard_normal(n) > 0.0, 1.0, -1.0) if loss == "hinge" else target
    grams = np.stack([rbf(X[:, [1]], 0.5), rbf(X[:, [2]], 0.5), rbf(X, 0.3)])
    factors = np.array([1.0, 1.5, 0.7])
    C = rng.uniform(0.5, 2.0, n)
    stack = GramStack(grams).scaled(factors).using(parallel=False)  # tests themselves may run side by side
    return Problem(stack, np.ones((n, 1)), y, C, LOSSES[loss], 1), rbf(X[:, [0]], 0.5)


def optimal_svm(problem, gating):
    """Return the SVM for K~, solved as far as floating point goes."""
    kernel = np.einsum("im,km,mik->ik", gating, gating, problem.stack.to_array(), optimize=True)
    return InnerSVM(problem.y, problem.C, problem.loss).solve(kernel, 1e-13)


@every_gate
@every_loss
def test_gradient_agrees_with_finite_differences_of_the_optimal_value(gate, loss):
    problem, gate_gram = make_problem(loss, n=25)
    rng = np.random.default_rng(1)
    r, v = 0.2 * rng.standard_normal((25, 3)), 0.2 * rng.standard_normal(3)

    def optimal_value(r, v):
        return optimal_svm(problem, apply_gate(gate, gate_gram, r, v)).dual

    eta = apply_gate(gate, gate_gram, r, v)
    by_activation = objective_gradient(problem, gate, eta, optimal_svm(problem, eta).alpha)
    h = 1e-5
    by_coefficient = np.zeros((25, 3))
    for index in np.ndindex(25, 3):
        move = np.zeros((25, 3))
        move[index] = h
        by_coefficient[index] = (optimal_value(r + move, v) - optimal_value(r - move, v)) / (2 * h)
    moves = h * np.eye(3)
    by_offset = [(optimal_value(r, v + move) - optimal_value(r, v - move)) / (2 * h) for move in moves]
    np.testing.assert_allclose(gate_gram @ by_activation, by_coefficient, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(by_activation.sum(axis=0), by_offset, rtol=1e-4, atol=1e-6)


@every_gate
def test_chain_rule_of_each_gate_agrees_with_finite_differences(gate):
    rng = np.random.default_rng(2)
    z, slopes, direction = rng.standard_normal((3, 5, 4))
    value, pull_back = ACTIVATIONS[gate]
    h = 1e-6
    expected = np.sum(slopes * (value(z + h * direction) - value(z - h * direction))) / (2 * h)
    np.testing.assert_allclose(np.sum(pull_back(value(z), slopes) * direction), expected, rtol=1e-7)


@every_gate
def test_gates_stay_within_zero_and_one_at_extreme_activations(gate):
    eta = ACTIVATIONS[gate].value(np.array([[-1e4, 1e4], [0.0, 0.0]]))
    np.testing.assert_allclose(eta, [[0.0, 1.0], [0.5, 0.5]])


def test_softmax_weights_of_every_point_sum_to_one():
    problem, gate_gram = make_problem("hinge")
    solution = solve_gated(problem, gate_gram, rng=np.random.default_rng(0))
    np.testing.assert_allclose(solution.gating.sum(axis=1), 1.0)


@every_gate
@every_loss
@pytest.mark.parametrize("seed", [0, 1])
def test_objective_never_worsens_along_a_run(gate, loss, seed):
    problem, gate_gram = make_problem(loss, seed=seed)
    solution = solve_gated(problem, gate_gram, gate=gate, tol=1e-4, rng=np.random.default_rng(seed))
    primal, dual = solution.history["primal"], solution.history["dual"]
    assert len(primal) == solution.n_iter > 2
    # The new upper bound of J lies below the old lower bound: J fell, not only its estimate.
    assert np.all(primal[1:] < dual[:-1])


@every_gate
@every_loss
def test_answer_is_certified_and_feasible(gate, loss):
    problem, gate_gram = make_problem(loss)
    solution = solve_gated(
        problem, gate_gram, gate=gate, tol=1e-4, max_iter=300, rng=np.random.default_rng(3)
    )
    assert solution.converged
    assert 0.0 <= solution.gap <= 1e-5
    assert solution.dual <= solution.primal * (1 + 1e-12)
    lower, upper = problem.box()
    assert np.all((lower <= solution.alpha) & (solution.alpha <= upper))
    assert abs(solution.alpha.sum()) < 1e-10
    np.testing.assert_allclose(solution.primal, solution.history["primal"][-1], rtol=1e-10)
    np.testing.assert_allclose(solution.dual, optimal_svm(problem, solution.gating).dual, rtol=1e-4)


@every_gate
def test_gradient_shrinks_to_nearly_zero_when_a_run_converges(gate):
    problem, gate_gram = make_problem("epsilon-insensitive")
    options = {"gate": gate, "tol": 1e-6}

    def gradient_norm(max_iter):
        rng = np.random.default_rng(0)
        solution = solve_gated(problem, gate_gram, max_iter=max_iter, rng=rng, **options)
        slopes = objective_gradient(problem, gate, solution.gating, solution.alpha)
        return np.sqrt(np.sum(slopes * (gate_gram @ slopes)) + np.sum(slopes.sum(axis=0) ** 2))

    assert gradient_norm(500) < 0.02 * gradient_norm(1)


def test_curvature_leads_further_down_in_fewer_steps(monkeypatch):
    # Steps along gradients crawl through narrow valleys, and one short step looks like the end.
    problem, gate_gram = make_problem("hinge", n=80)

    def solve():
        return solve_gated(problem, gate_gram, tol=1e-4, max_iter=2000, rng=np.random.default_rng(0))

    quick = solve()
    monkeypatch.setattr(gated.Curvature, "learn", lambda *pair: None)
    slow = solve()
    assert quick.converged
    assert slow.converged
    assert quick.n_iter < 0.5 * slow.n_iter
    assert quick.primal < slow.dual


@every_loss
def test_one_kernel_with_softmax_equals_the_plain_svm(loss):
    problem, gate_gram = make_problem(loss)
    problem = replace(problem, stack=problem.stack.only(2))
    solution = solve_gated(problem, gate_gram, tol=1e-8, rng=np.random.default_rng(0))
    K = problem.stack.block(0)
    svm = SVC(kernel="precomputed", tol=1e-8) if loss == "hinge" else SVR(kernel="precomputed", tol=1e-8)
    if loss != "hinge":
        svm.set_params(epsilon=problem.loss.epsilon)
    svm.fit(K, problem.y, sample_weight=problem.C)
    expected = svm.decision_function(K) if loss == "hinge" else svm.predict(K)
    np.testing.assert_allclose(K @ solution.alpha + solution.intercept, expected, atol=1e-3)
    assert solution.converged
    assert solution.n_iter == 1
    np.testing.assert_array_equal(solution.gating, 1.0)


@every_gate
@every_loss
def test_backends_agree(gate, loss):
    problem, gate_gram = make_problem(loss, n=25)
    options = {"gate": gate, "tol": 1e-8, "max_iter": 6}
    rngs = [np.random.default_rng(4) for _ in range(3)]
    threaded = replace(problem, stack=problem.stack.using(parallel=True))
    compiled = solve_gated(threaded, gate_gram, rng=rngs[0], **options)
    serial = solve_gated(problem, gate_gram, rng=rngs[1], **options)
    plain = replace(problem, stack=problem.stack.using(backend="reference"))
    slow = solve_gated(plain, gate_gram, rng=rngs[2], **options)
    for other in (serial, slow):
        np.testing.assert_allclose(compiled.history["primal"], other.history["primal"], rtol=1e-7)
        np.testing.assert_allclose(compiled.gating, other.gating, atol=1e-4)


@every_gate
def test_gradients_of_both_backends_agree(gate):
    problem, _ = make_problem("hinge")
    rng = np.random.default_rng(5)
    eta = ACTIVATIONS[gate].value(rng.standard_normal((40, 3)))
    alpha = rng.standard_normal(40) * (rng.random(40) < 0.5)
    compiled = objective_gradient(problem, gate, eta, alpha)
    plain = replace(problem, stack=problem.stack.using(backend="reference"))
    slow = objective_gradient(plain, gate, eta, alpha)
    np.testing.assert_allclose(compiled, slow, rtol=1e-12, atol=1e-12)
    assert np.all(compiled[alpha == 0.0] == 0.0)


@every_loss
def test_training_on_rows_of_a_larger_stack_equals_training_on_their_copy(loss):
    problem, gate_gram = make_problem(loss)
    rows = np.random.default_rng(6).permutation(40)[:25]
    block = np.ix_(rows, rows)
    part = Problem(problem.stack[block], np.ones((25, 1)), problem.y[rows], problem.C[rows], problem.loss, 1)
    options = {"tol": 1e-6, "max_iter": 8}
    in_place = solve_gated(part, gate_gram[block], rng=np.random.default_rng(7), **options)
    copied = solve_gated(
        replace(part, stack=GramStack(part.stack.to_array())),
        gate_gram[block],
        rng=np.random.default_rng(7),
        **options,
    )
    np.testing.assert_allclose(in_place.history["primal"], copied.history["primal"], rtol=1e-9)
    np.testing.assert_allclose(in_place.gating, copied.gating, atol=1e-9)
    np.testing.assert_allclose(in_place.alpha, copied.alpha, atol=1e-7)


def test_float32_stack_gives_nearly_the_answer_of_float64():
    problem, gate_gram = make_problem("hinge")
    single = replace(problem, stack=GramStack(problem.stack.to_array().astype(np.float32)))
    options = {"tol": 1e-4, "max_iter": 5}
    wide = solve_gated(problem, gate_gram, rng=np.random.default_rng(0), **options)
    narrow = solve_gated(single, gate_gram, rng=np.random.default_rng(0), **options)
    np.testing.assert_allclose(narrow.primal, wide.primal, rtol=1e-3)
    assert narrow.gap <= 1e-5


@every_gate
def test_more_restarts_never_worsen_the_objective(gate):
    problem, gate_gram = make_problem("hinge")
    values = [
        solve_gated(
            problem, gate_gram, gate=gate, n_init=n_init, max_iter=20, rng=np.random.default_rng(8)
        ).primal
        for n_init in (1, 2, 4)
    ]
    assert values[0] >= values[1] >= values[2]


def test_same_generator_seed_gives_the_same_answer():
    problem, gate_gram = make_problem("hinge")
    first, second = (
        solve_gated(problem, gate_gram, n_init=2, rng=np.random.default_rng(9)) for _ in range(2)
    )
    np.testing.assert_array_equal(first.coefficients, second.coefficients)
    np.testing.assert_array_equal(first.alpha, second.alpha)


@every_gate
def test_gate_applied_to_the_training_points_is_the_gate_of_the_solution(gate):
    problem, gate_gram = make_problem("hinge")
    solution = solve_gated(problem, gate_gram, gate=gate, rng=np.random.default_rng(0))
    eta = apply_gate(gate, gate_gram, solution.coefficients, solution.offsets)
    np.testing.assert_array_equal(eta, solution.gating)
    few = apply_gate(gate, gate_gram[:5], solution.coefficients, solution.offsets)
    np.testing.assert_allclose(few, solution.gating[:5])


def test_scaling_by_factors_equals_scaling_the_grams():
    problem, gate_gram = make_problem("hinge")
    scaled = replace(problem, stack=GramStack(problem.stack.to_array()))
    options = {"tol": 1e-6, "max_iter": 5}
    first = solve_gated(problem, gate_gram, rng=np.random.default_rng(0), **options)
    second = solve_gated(scaled, gate_gram, rng=np.random.default_rng(0), **options)
    np.testing.assert_allclose(first.history["primal"], second.history["primal"], rtol=1e-9)


def test_copies_of_one_kernel_end_with_a_hard_choice_and_the_plain_svm():
    # K~ = K * (eta eta'): the SVM's value is least where every eta is the same unit vector.
    problem, gate_gram = make_problem("hinge")
    gram = problem.stack.grams[2]
    copies = replace(problem, stack=GramStack([gram] * 3))
    options = {"tol": 1e-6, "max_iter": 1000, "n_init": 2, "rng": np.random.default_rng(0)}
    solution = solve_gated(copies, gate_gram, **options)
    plain = InnerSVM(problem.y, problem.C, problem.loss).solve(gram, 1e-8)
    assert plain.dual <= solution.primal * (1 + 1e-6)
    assert solution.primal <= 1.01 * plain.primal


def test_gate_learns_where_each_kernel_matters():
    problem, gate_gram = make_problem("epsilon-insensitive", n=80)
    problem = replace(problem, stack=GramStack(problem.stack.grams[:2]))
    X0 = np.random.default_rng(0).standard_normal((80, 3))[:, 0]
    solution = solve_gated(problem, gate_gram, n_init=2, rng=np.random.default_rng(0))
    uniform = optimal_svm(problem, np.full((80, 2), 0.5))
    assert solution.primal < 0.5 * uniform.dual
    assert np.corrcoef(solution.gating[:, 0], X0 > 0.0)[0, 1] > 0.7


def test_targets_within_the_tube_need_no_step():
    problem, gate_gram = make_problem("epsilon-insensitive")
    solution = solve_gated(replace(problem, y=np.full(40, 3.0)), gate_gram, rng=np.random.default_rng(0))
    assert solution.primal == solution.dual == solution.gap == 0.0
    assert solution.converged
    assert solution.intercept == pytest.approx(3.0, abs=0.05)


def test_refused_steps_leave_the_answer_as_it_was(monkeypatch):
    monkeypatch.setattr(gated, "SUFFICIENT_DECREASE", 1e9)
    problem, gate_gram = make_problem("hinge")
    refused = solve_gated(problem, gate_gram, rng=np.random.default_rng(0))
    start = solve_gated(problem, gate_gram, max_iter=1, rng=np.random.default_rng(0))
    assert refused.converged
    assert refused.n_iter == 1
    assert refused.primal == start.primal
    np.testing.assert_array_equal(refused.alpha, start.alpha)


def test_run_cut_short_is_reported_as_not_converged():
    problem, gate_gram = make_problem("hinge")
    solution = solve_gated(problem, gate_gram, max_iter=2, rng=np.random.default_rng(0))
    assert not solution.converged
    assert solution.n_iter == 2


def test_callback_sees_the_history():
    problem, gate_gram = make_problem("hinge")
    seen = []
    solution = solve_gated(
        problem, gate_gram, rng=np.random.default_rng(0), callback=lambda *values: seen.append(values)
    )
    assert [values[0] for values in seen] == list(range(1, solution.n_iter + 1))
    for column, key in enumerate(("primal", "dual", "gap"), start=1):
        np.testing.assert_array_equal([values[column] for values in seen], solution.history[key])


def test_certificate_is_that_of_the_combined_kernel():
    problem, _ = make_problem("hinge")
    rng = np.random.default_rng(10)
    eta = ACTIVATIONS["sigmoid"].value(rng.standard_normal((40, 3)))
    alpha = problem.y * rng.uniform(0.0, 0.5, 40)
    alpha[problem.y > 0.0] *= -alpha[problem.y < 0.0].sum() / alpha[problem.y > 0.0].sum()
    intercept, primal, dual, gap = certify_gated(problem, eta, alpha)
    kernel = problem.stack.using(backend="reference").combine(np.eye(3), eta)
    norm = alpha @ kernel @ alpha
    losses = problem.loss.value(kernel @ alpha + intercept, problem.y)
    np.testing.assert_allclose(primal, 0.5 * norm + problem.C @ losses)
    np.testing.assert_allclose(dual, problem.y @ alpha - 0.5 * norm)
    np.testing.assert_allclose(gap, (primal - dual) / primal)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"gate": "soft-max"}, r"`gate` must be one of \('softmax', 'sigmoid'\), got 'soft-max'"),
        ({"gate_gram": np.eye(39)}, r"`gate_gram` must have shape \(40, 40\).*got \(39, 39\)"),
        ({"max_iter": 0}, "`max_iter` must be at least 1, got 0"),
        ({"n_init": 0}, "`n_init` must be at least 1, got 0"),
    ],
)
def test_wrong_arguments_are_named(changes, message):
    problem, gate_gram = make_problem("hinge")
    arguments = {"gate_gram": gate_gram, **changes}
    with pytest.raises(ValueError, match=message):
        solve_gated(problem, **arguments)
