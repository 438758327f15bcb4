"""Convex clustering beside a generic convex solver, its certificate, its path and its time."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from localmkl import CLMKLClassifier
from localmkl.backends import fusions
from localmkl.gates import ConvexGate, fusing
from localmkl.gates.components import kernel_components
from localmkl.gates.convex import _filled
from localmkl.gates.fusing import Fusion, certify, fusion_path, neighbour_graph, solve_fusion


def draw_gram(seed, n_rows=30, spread=1.0):
    rows, groups = make_blobs(n_rows, n_features=4, centers=3, cluster_std=spread, random_state=seed)
    squares = ((rows[:, None] - rows) ** 2).sum(axis=2)
    return np.exp(-squares / np.median(squares)), groups


def draw_problem(seed, n_rows=30, n_components=None):
    gram, _ = draw_gram(seed, n_rows)
    weights = np.random.default_rng(seed).uniform(0.5, 2.0, size=n_rows)
    return neighbour_graph(kernel_components(gram, weights, n_components).values, weights, 5)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("strength", [0.1, 0.5, 2.0, 8.0])
def test_the_optimum_is_that_of_a_generic_solver(seed, strength):
    cp = pytest.importorskip("cvxpy")
    problem = draw_problem(seed)
    points = cp.Variable(problem.rows.shape)
    fit = cp.sum(cp.multiply(problem.weights, cp.sum(cp.square(points - problem.rows), axis=1)))
    apart = cp.norm(points[problem.first] - points[problem.second], 2, axis=1)
    objective = 0.5 * fit + strength * cp.sum(cp.multiply(problem.closeness, apart))
    expected = cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
    found = solve_fusion(problem, strength, tol=1e-8)
    assert found.gap <= 1e-8
    assert found.primal == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(found.points, points.value, atol=1e-3)


def test_the_problem_in_all_components_is_that_in_feature_space():
    gram, _ = draw_gram(3)
    problem, strength = draw_problem(3), 1.0
    found = solve_fusion(problem, strength, tol=1e-9)
    weights = np.random.default_rng(3).uniform(0.5, 2.0, size=30)
    # u_i = sum_k B_ik phi(x_k), hence the objective follows from the Gram alone.
    centred = problem.rows @ problem.rows.T
    coefficients = found.points @ np.linalg.pinv(problem.rows)
    moved, steps = coefficients - np.eye(30), coefficients[problem.first] - coefficients[problem.second]
    fit = weights @ np.einsum("ik,kl,il->i", moved, centred, moved)
    apart = np.sqrt(np.einsum("ek,kl,el->e", steps, centred, steps).clip(0.0))
    value = 0.5 * fit + strength * problem.closeness @ apart
    assert found.primal == pytest.approx(value, rel=1e-6)
    shares = weights / weights.sum()
    means = gram @ shares
    np.testing.assert_allclose(centred, gram - means - means[:, None] + shares @ means, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_certificate_trusts_nobody(seed):
    problem, strength = draw_problem(seed), 1.0
    best = solve_fusion(problem, strength, tol=1e-9)
    rng = np.random.default_rng(seed)
    for size in (0.0, 0.1, 10.0):
        duals = best.duals + size * rng.normal(size=best.duals.shape)  # most leave their balls
        labels = rng.integers(0, 4, size=30)
        judged = certify(problem, strength, duals, labels)
        assert judged.dual <= best.primal * (1.0 + 1e-12)
        assert judged.primal >= best.dual * (1.0 - 1e-12)
        assert judged.primal <= problem.primal(problem.drawn(duals), strength)
        assert size == 0.0 or judged.gap > best.gap


@pytest.mark.parametrize("seed", range(3))
def test_compiled_steps_end_where_plain_numpy_does(seed):
    problem = draw_problem(seed, 50, 6)
    duals = np.random.default_rng(seed).normal(size=(len(problem.first), 6))
    ends = []
    for work in (fusions.ascend, fusing.ascend):
        own = duals.copy()
        fused = work(
            problem.rows,
            1.0 / problem.weights,
            problem.first,
            problem.second,
            0.7 * problem.closeness,
            problem.steps,
            own,
            30,
        )
        ends.append((own, fused))
    np.testing.assert_allclose(ends[0][0], ends[1][0], atol=1e-10)
    np.testing.assert_array_equal(ends[0][1], ends[1][1])
    ours, plain = (solve_fusion(problem, 0.7, work=work) for work in (fusions.ascend, fusing.ascend))
    assert ours.primal == pytest.approx(plain.primal, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_compiled_spanning_trees_are_those_of_plain_numpy_and_of_scipy(seed):
    from scipy.sparse.csgraph import minimum_spanning_tree

    rows = np.random.default_rng(seed).normal(size=(40, 3))
    distances = ((rows[:, None] - rows) ** 2).sum(axis=2)
    ours, plain = (work(distances) for work in (fusions.spanning_tree, fusing.spanning_tree))
    np.testing.assert_array_equal(ours, plain)
    assert distances[tuple(ours.T)].sum() == pytest.approx(minimum_spanning_tree(distances).sum())


@pytest.mark.parametrize("seed", range(3))
def test_the_path_leads_from_all_rows_to_one_cluster_and_every_point_is_certified(seed):
    problem = draw_problem(seed)
    path = list(fusion_path(problem, tol=1e-6))
    counts = [point.n_clusters for point in path]
    assert (counts[0], counts[-1]) == (30, 1)
    assert np.all(np.diff(counts) <= 0)
    assert all(point.gap <= 1e-6 for point in path)
    strengths, values = [point.strength for point in path], [point.primal for point in path]
    assert np.all(np.diff(strengths) > 0.0)
    assert np.all(np.diff(values) >= -1e-6 * values[-1])  # the optimum grows with the strength
    np.testing.assert_allclose(path[-1].points, problem.merged(problem.rows, np.zeros(30, int)), atol=1e-6)


def test_points_of_a_cluster_are_in_one_place_and_those_of_others_are_not():
    problem = draw_problem(4)
    found = solve_fusion(problem, 1.0, tol=1e-9)
    assert 1 < found.n_clusters < 30
    centres = np.stack([found.points[found.labels == j].mean(axis=0) for j in range(found.n_clusters)])
    np.testing.assert_allclose(found.points, centres[found.labels], atol=1e-7)
    apart = np.sqrt(((centres[:, None] - centres) ** 2).sum(axis=2))[np.triu_indices(len(centres), 1)]
    assert apart.min() > 1e-4


def test_two_rows_meet_where_the_formula_says():
    problem = Fusion(np.array([[0.0], [2.0]]), np.array([1.0, 3.0]), np.array([0]), np.array([1]), np.ones(1))
    # They fuse at s = |x_1 - x_2| / (1 / w_1 + 1 / w_2) = 1.5, in their mean.
    before, after = (solve_fusion(problem, strength, tol=1e-12) for strength in (1.2, 1.6))
    np.testing.assert_allclose(before.points, [[1.2], [1.6]])
    np.testing.assert_allclose(after.points, [[1.5], [1.5]])
    assert (before.n_clusters, after.n_clusters) == (2, 1)
    assert problem.first_strength == pytest.approx(1.5)


def test_equal_rows_are_one_cluster_from_the_beginning():
    rows = np.repeat(np.eye(3), 4, axis=0)
    gate = ConvexGate(3, evenness=None).fit(rows @ rows.T)
    assert gate.path_[0].tolist() == [0.0, 3.0, 0.0]
    assert adjusted_rand_score(np.repeat(np.arange(3), 4), gate.labels_) == 1.0
    with pytest.raises(ValueError, match="got 4 clusters for 3 distinct rows under the gate kernel"):
        ConvexGate(4).fit(rows @ rows.T)


@pytest.mark.parametrize("n_rows, n_clusters", [(1, 1), (2, 2), (3, 2), (8, 8)])
def test_few_rows_are_enough(n_rows, n_clusters):
    gram, _ = draw_gram(5, 9)
    gate = ConvexGate(n_clusters, evenness=None).fit(gram[:n_rows, :n_rows])
    assert len(np.unique(gate.labels_)) == n_clusters


@pytest.mark.parametrize("seed", range(3))
def test_clusters_that_are_apart_are_found_with_their_gap(seed):
    gram, groups = draw_gram(seed, 200)
    gate = ConvexGate(3).fit(gram)
    assert adjusted_rand_score(groups, gate.labels_) > 0.95
    assert 0.0 <= gate.gap_ <= gate.tol
    assert gate.path_[:, 2].max() <= gate.tol
    assert gate.evenness_ == pytest.approx(0.5)
    finer = ConvexGate(3, tol=1e-7).fit(gram)
    assert finer.gap_ <= 1e-7
    assert adjusted_rand_score(finer.labels_, gate.labels_) == 1.0


def test_no_seed_changes_anything():
    gram, _ = draw_gram(6, 80, spread=3.0)
    expected = ConvexGate(3).fit(gram)
    y = np.where(np.arange(80) % 2, 1, -1)
    stack = np.stack([gram, gram**2])
    for seed in (0, 1, 12345, None):
        np.random.seed(seed)  # noqa: NPY002
        again = ConvexGate(3).fit(gram)
        np.testing.assert_array_equal(again.averages_, expected.averages_)
        np.testing.assert_array_equal(again.path_, expected.path_)
        model = CLMKLClassifier("precomputed", gate="convex", random_state=seed).fit(stack, y)
        if seed == 0:
            first = model.memberships_
        np.testing.assert_array_equal(model.memberships_, first)


def test_rows_far_from_all_are_no_clusters_while_others_are_larger():
    gram, groups = draw_gram(7, 60)
    lonely = np.zeros((62, 62))
    lonely[:60, :60], lonely[60, 60], lonely[61, 61] = gram, 1.0, 1.0
    found = ConvexGate(3).fit(lonely).labels_
    assert adjusted_rand_score(groups, found[:60]) > 0.95


def test_sizes_are_filled_up_evenly():
    np.testing.assert_allclose(_filled(np.array([1.0, 2.0, 6.0]), 12.0), [3.0, 3.0, 6.0])
    np.testing.assert_allclose(_filled(np.array([1.0, 1.0, 2.0]), 12.0), [4.0, 4.0, 4.0])
    np.testing.assert_allclose(_filled(np.array([2.0, 6.0]), 8.0), [2.0, 6.0])


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"n_neighbors": 0}, "`n_neighbors` must be an integer of at least 1, got 0"),
        ({"n_components": 0}, "`n_components` must be an integer of at least 1, got 0"),
        ({"tol": 0.0}, "`tol` must"),
        ({"max_iter": 0}, "`max_iter` must be an integer of at least 1, got 0"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        ConvexGate(**parameters).fit(np.eye(6))
