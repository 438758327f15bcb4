"""Every compiled function agrees with its NumPy twin."""

import numpy as np
import pytest

from localmkl.backends import compiled, gates_compiled, load, reference, survey, together
from localmkl.stacks import GramStack


@pytest.fixture(params=["all columns", "picked columns"], autouse=True)
def reading(request, monkeypatch):
    """Read all columns and pick at the end, or pick from every Gram, whatever is quicker."""
    if request.param == "all columns":
        monkeypatch.setattr(compiled, "_PICK_TOTALS", 1e9)
        monkeypatch.setattr(compiled, "_WASTED", 1e9)
    else:
        monkeypatch.setattr(compiled, "_PICK_TOTALS", 0.0)
        monkeypatch.setattr(compiled, "_WASTED", -1.0)


@pytest.fixture(autouse=True)
def threads_for_small_stacks_too(monkeypatch):
    monkeypatch.setattr(compiled, "_WORTH_THREADS", 0)
    monkeypatch.setattr(together, "_WORTH_THREADS", 0)
    monkeypatch.setattr(survey, "_WORTH_THREADS", 0)


def stack(n=37, n_kernels=5, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n_kernels, n, 8))
    return (factors @ factors.transpose(0, 2, 1)).astype(dtype)


def plain(grams, rows):
    """Return the stack that computes in NumPy."""
    one = GramStack(grams).using(backend="reference")
    return one if rows is None else one[np.ix_(rows, rows)]


ROWS = {
    "all": None,
    "some": np.array([3, 0, 7, 20, 36, 11]),
    "sorted": np.arange(2, 35, 3),
    "fold": np.delete(np.arange(37), [0, 5, 6, 20, 36]),
    "one": np.array([4]),
}


@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("n_clusters", [1, 2, 3, 8])
def test_combinations_agree(rows, n_clusters, dtype, parallel):
    grams = stack(dtype=dtype)
    rows = ROWS[rows]
    n = grams.shape[1] if rows is None else len(rows)
    rng = np.random.default_rng(1)
    weights = rng.uniform(size=(n_clusters, len(grams)))
    weights[:, 2] = 0.0
    weights[0, 1] = 0.0
    memberships = rng.dirichlet(np.ones(n_clusters), size=n)
    expected = plain(grams, rows).combine(weights, memberships)
    out = np.full((1, n, n), np.nan)
    together.combine_together(grams, rows, weights[None], memberships, out, [0], parallel=parallel)
    np.testing.assert_allclose(out[0], expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("n_kernels", [1, 4, 6])
def test_kernels_of_gates_agree(rows, n_kernels, dtype, parallel):
    grams = stack(dtype=dtype, n_kernels=n_kernels)
    rows = ROWS[rows]
    n = grams.shape[1] if rows is None else len(rows)
    rng = np.random.default_rng(1)
    gating, factors = rng.uniform(size=(n, n_kernels)), rng.uniform(size=n_kernels)
    gating[n // 2, 0] = 0.0
    found, expected = np.full((2, n, n), np.nan)
    gates_compiled.combine_gated(grams, rows, factors, gating, found, parallel=parallel)
    plain(grams, rows).scaled(factors).combine_gated(gating, expected)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize(("n_problems", "n_clusters"), [(1, 1), (3, 1), (2, 3), (4, 2)])
def test_combinations_for_several_problems_agree(n_problems, n_clusters, rows, dtype, parallel):
    grams = stack(dtype=dtype, n_kernels=6)
    rows = ROWS[rows]
    n = grams.shape[1] if rows is None else len(rows)
    rng = np.random.default_rng(1)
    weights = rng.uniform(size=(n_problems, n_clusters, len(grams)))
    weights[:, :, 2] = 0.0
    weights[0, 0, 1] = 0.0
    memberships = rng.dirichlet(np.ones(n_clusters), size=n)
    found = np.full((n_problems + 1, n, n), np.nan)
    places = np.random.default_rng(2).permutation(n_problems + 1)[:n_problems]
    together.combine_together(grams, rows, weights, memberships, found, places, parallel=parallel)
    expected = np.full_like(found, np.nan)
    plain(grams, rows).combine_several(weights, memberships, expected, places)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    for own, place in zip(weights, places, strict=True):
        alone = plain(grams, rows).combine(own, memberships)
        np.testing.assert_allclose(found[place], alone, rtol=1e-12, atol=1e-12)


def test_rows_may_leave_out_whole_stretches():
    n = 3 * compiled._STRETCH
    grams, rng = stack(n=n, n_kernels=2), np.random.default_rng(1)
    rows = np.r_[1:40, 2 * compiled._STRETCH + 30 : n : 7]
    memberships, weights = rng.dirichlet([1.0, 1.0], size=len(rows)), rng.uniform(size=(3, 2, 2))
    kernels = np.empty((3, len(rows), len(rows)))
    together.combine_together(grams, rows, weights, memberships, kernels, range(3))
    for own, kernel in zip(weights, kernels, strict=True):
        expected = plain(grams, rows).combine(own, memberships)
        np.testing.assert_allclose(kernel, expected, rtol=1e-12, atol=1e-12)
    gates_compiled.combine_gated(grams, rows, np.ones(2), memberships, kernels[0])
    plain(grams, rows).combine_gated(memberships, kernels[1])
    np.testing.assert_allclose(kernels[0], kernels[1], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_vectors", [1, 3])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 37, 600])
@pytest.mark.parametrize("chosen", ["all", "shuffled", "sorted"])
def test_block_products_agree(chosen, n, n_vectors, dtype, parallel):
    grams = stack(n=n, dtype=dtype)
    rows = None if chosen == "all" else np.random.default_rng(2).permutation(n)[: (n + 1) // 2]
    rows = np.sort(rows) if chosen == "sorted" else rows
    vectors = np.random.default_rng(1).normal(size=(n if rows is None else len(rows), n_vectors))
    np.testing.assert_allclose(
        compiled.block_products(grams, rows, vectors, parallel=parallel),
        plain(grams, rows).products(vectors),
        rtol=1e-9,
        atol=1e-9,
    )


@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 9, 65, 300])
def test_surveys_agree(n, dtype, parallel):
    grams = np.random.default_rng(n).normal(size=(12, n, n)).astype(dtype)
    grams[0] = np.maximum(grams[0], grams[0].T)
    found, expected = survey.survey(grams, parallel=parallel), survey.plain_survey(grams.astype(np.float64))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    for wrong in (np.nan, np.inf, -np.inf):
        for place in ((0, 0), (n - 1, n // 2), (n // 2, n - 1)):
            spoilt = grams[:3].copy()
            spoilt[1][place] = wrong
            differences = survey.survey(spoilt, parallel=parallel)
            assert np.isfinite(differences).tolist() == [True, False, True]


@pytest.mark.parametrize("n", [2, 40, 301])
def test_surveys_see_every_single_difference_in_full(n):
    gram = np.eye(n)[None]
    for row, column in ((0, n - 1), (n - 1, 0), (n // 2, n // 2 - 1)):
        gram[0, row, column] += 1e-3
        assert survey.survey(gram)[0] >= 1e-3 * (1.0 - 1e-12)
        gram[0, row, column] -= 1e-3


@pytest.mark.parametrize("rows", ROWS)
def test_block_norms_agree_and_are_quadratic_forms(rows):
    grams = stack()
    rows = ROWS[rows]
    part = grams if rows is None else grams[:, rows][:, :, rows]
    vectors = np.random.default_rng(1).normal(size=(part.shape[1], 2))
    vectors[::2] = 0.0
    expected = np.einsum("ij,mik,kj->jm", vectors, part, vectors)
    for one in (plain(grams, rows), plain(grams, rows).using(backend="compiled")):
        np.testing.assert_allclose(one.norms(vectors), expected, atol=1e-9)


@pytest.mark.parametrize("shrink", [True, False])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("C", [0.1, 1.0, 50.0])
def test_svm_solvers_agree(C, epsilon, shrink):
    rng = np.random.default_rng(0)
    n = 60
    ridge = rng.uniform(size=n) * (C == 1.0)
    X = rng.normal(size=(n, 20))
    K = X @ X.T / 20
    y = rng.normal(size=n) if epsilon else np.sign(rng.normal(size=n))
    lower = np.full(n, -C) if epsilon else np.minimum(0.0, C * y)
    upper = np.full(n, C) if epsilon else np.maximum(0.0, C * y)
    found = []
    for backend in (compiled, reference):
        alpha, gradient = np.zeros(n), -y.copy()
        steps, violation = backend.solve_svm(
            K, ridge, y, epsilon, lower, upper, alpha, gradient, 1e-8, 10**6, shrink
        )
        assert violation <= 1e-8
        assert steps > 0
        assert np.all((alpha >= lower) & (alpha <= upper))
        assert abs(alpha.sum()) <= 1e-10 * C
        curved = K + np.diag(ridge)
        np.testing.assert_allclose(gradient, curved @ alpha - y, atol=1e-9 * max(1.0, C))
        found.append(0.5 * alpha @ curved @ alpha - y @ alpha + epsilon * np.abs(alpha).sum())
    assert found[0] == pytest.approx(found[1], rel=1e-9)


def test_the_step_limit_is_kept_and_the_violation_honest():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 5))
    K, y = X @ X.T, np.sign(rng.normal(size=50))
    alpha, gradient = np.zeros(50), -y.copy()
    bounds = np.minimum(0.0, y), np.maximum(0.0, y)
    steps, violation = compiled.solve_svm(K, np.zeros(50), y, 0.0, *bounds, alpha, gradient, 1e-9, 7)
    assert steps == 7
    low, high = gradient[alpha > bounds[0]].max(), gradient[alpha < bounds[1]].min()
    assert violation == pytest.approx(low - high)


def test_an_unknown_backend_is_refused():
    with pytest.raises(ValueError, match=r"`backend` must be one of .*got 'fortran'"):
        load("fortran")
