from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from localmkl import MKLClassifier, MKLRegressor
from localmkl.bounds import (
    GeneralizationBound,
    bound_model,
    generalization_bound,
    rademacher_bound,
    rademacher_bound_sup,
)
from localmkl.datasets import make_localized
from localmkl.solvers.losses import Hinge, Huber, LogLoss, Quantile
from localmkl.solvers.objective import dual_norm

NORMS = [1, 1.1, 4 / 3, 2, 10, np.inf]
norms = st.one_of(st.sampled_from(NORMS), st.floats(1.0, 50.0))
seeds = st.integers(0, 2**32 - 1)
quick = settings(max_examples=30, deadline=None, derandomize=True)


def draw_memberships(rng, n_samples, n_clusters):
    """Rows from nearly hard to nearly even."""
    concentration = 10.0 ** rng.uniform(-1, 1)
    return rng.dirichlet(np.full(n_clusters, concentration), size=n_samples)


def draw_diagonals(rng, n_kernels, n_samples):
    """Kernels whose sizes differ by orders of magnitude, so that t has something to decide."""
    sizes = 10.0 ** rng.uniform(-rng.uniform(0, 3), 0, size=(n_kernels, 1))
    return sizes * rng.uniform(0.2, 1.0, size=(n_kernels, n_samples))


def draw_hard(rng, n_samples, n_clusters):
    return np.eye(n_clusters)[rng.integers(n_clusters, size=n_samples)]


def value_at(t, diagonals, memberships, D):
    """The expression under the theorem's infimum, written out."""
    masses = np.einsum("ij,mi->jm", memberships**2, diagonals)
    total = sum(np.linalg.norm(masses_j, t / 2) for masses_j in masses)
    return np.sqrt(D * t * total) / len(memberships)


def monte_carlo_complexity(rng, grams, memberships, p, D, n_draws=100):
    """Mean over sign vectors of the supremum over H_{p,D}, which has a closed form."""
    n_samples = len(memberships)
    suprema = []
    for signs in rng.choice([-1.0, 1.0], size=(n_draws, n_samples)):
        parts = memberships * signs[:, None]
        q = np.einsum("ij,mij->jm", parts, grams @ parts)
        suprema.append(np.sqrt(D * sum(dual_norm(q_j, p) for q_j in q)) / n_samples)
    return np.mean(suprema)


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("n_clusters", [1, 3])
def test_monte_carlo_complexity_lies_below_both_bounds(p, n_clusters):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    squared = ((X[:, None] - X) ** 2).sum(axis=2)
    grams = np.exp(-np.logspace(-3, 1, 8)[:, None, None] * squared)
    grams *= rng.uniform(0.1, 1.0, size=(8, 1, 1))
    diagonals = np.diagonal(grams, axis1=1, axis2=2)
    memberships = draw_memberships(rng, 40, n_clusters)

    estimate = monte_carlo_complexity(rng, grams, memberships, p, 2.5)
    by_diagonals = rademacher_bound(diagonals, memberships, p, 2.5)
    by_sup = rademacher_bound_sup(8, memberships, p, 2.5, diagonals.max())

    assert 0.2 * by_diagonals < estimate <= by_diagonals <= by_sup


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("n_kernels", [1, 2, 3, 20, 1000])
def test_sup_bound_is_the_minimum_over_a_dense_grid_of_t(p, n_kernels):
    memberships = draw_memberships(np.random.default_rng(1), 30, 3)
    largest = 2 * p / (p - 1) if 1 < p < np.inf else {1: 200.0}.get(p, 2.0)
    grid = np.linspace(2.0, largest, 20_001)
    values = np.sqrt(0.7 * 1.3 * grid * n_kernels ** (2 / grid) * (memberships**2).sum()) / 30

    bound = rademacher_bound_sup(n_kernels, memberships, p, 0.7, 1.3)

    assert bound <= values.min() * (1 + 1e-12)
    assert bound == pytest.approx(values.min(), rel=1e-5)


@given(seed=seeds, p=norms, n_kernels=st.integers(1, 60), n_clusters=st.integers(1, 4))
@quick
def test_diagonal_bound_is_the_minimum_over_a_dense_grid_of_t(seed, p, n_kernels, n_clusters):
    rng = np.random.default_rng(seed)
    diagonals = draw_diagonals(rng, n_kernels, 15)
    memberships = draw_memberships(rng, 15, n_clusters)
    ends = 1.0 - 1.0 / p, 1.0
    thetas = np.linspace(max(ends[0], 0.02), ends[1], 300)
    values = [value_at(2 / theta, diagonals, memberships, 1.7) for theta in thetas]

    bound = rademacher_bound(diagonals, memberships, p, 1.7)

    assert bound <= min(values) * (1 + 1e-9)
    assert bound == pytest.approx(min(values), rel=1e-3)


@given(seed=seeds, p=norms, n_kernels=st.integers(1, 60), n_clusters=st.integers(1, 4))
@quick
def test_sup_bound_is_never_below_the_diagonal_bound(seed, p, n_kernels, n_clusters):
    rng = np.random.default_rng(seed)
    diagonals = draw_diagonals(rng, n_kernels, 15)
    memberships = draw_memberships(rng, 15, n_clusters)
    by_diagonals = rademacher_bound(diagonals, memberships, p, 1.0)
    by_sup = rademacher_bound_sup(n_kernels, memberships, p, 1.0, diagonals.max())
    assert by_diagonals <= by_sup * (1 + 1e-12)


@pytest.mark.parametrize("p", NORMS)
def test_both_bounds_are_equal_when_all_diagonals_are_equal(p):
    memberships = draw_memberships(np.random.default_rng(2), 25, 3)
    by_diagonals = rademacher_bound(np.full((12, 25), 0.8), memberships, p, 3.0)
    assert by_diagonals == pytest.approx(rademacher_bound_sup(12, memberships, p, 3.0, 0.8))


@given(seed=seeds, p=norms, n_clusters=st.integers(1, 5))
@quick
def test_sup_bound_is_smallest_for_even_and_largest_for_hard_memberships(seed, p, n_clusters):
    rng = np.random.default_rng(seed)
    even, soft, hard = (
        rademacher_bound_sup(7, memberships, p, 1.0, 1.0)
        for memberships in (
            np.full((20, n_clusters), 1 / n_clusters),
            draw_memberships(rng, 20, n_clusters),
            draw_hard(rng, 20, n_clusters),
        )
    )
    assert even <= soft * (1 + 1e-12)
    assert soft <= hard * (1 + 1e-12)
    assert hard == pytest.approx(np.sqrt(n_clusters) * even)


@given(seed=seeds, p=norms, n_clusters=st.integers(1, 5))
@quick
def test_diagonal_bound_is_smallest_for_even_memberships(seed, p, n_clusters):
    rng = np.random.default_rng(seed)
    diagonals = draw_diagonals(rng, 7, 20)
    even = np.full((20, n_clusters), 1 / n_clusters)
    soft = draw_memberships(rng, 20, n_clusters)
    smallest = rademacher_bound(diagonals, even, p, 1.0)
    assert smallest <= rademacher_bound(diagonals, soft, p, 1.0) * (1 + 1e-12)


@given(seed=seeds, p=norms)
@quick
def test_diagonal_bound_grows_on_the_way_from_even_to_hard_memberships(seed, p):
    rng = np.random.default_rng(seed)
    diagonals, hard = draw_diagonals(rng, 7, 20), draw_hard(rng, 20, 3)
    values = [
        rademacher_bound(diagonals, (1 - share) / 3 + share * hard, p, 1.0) for share in np.linspace(0, 1, 6)
    ]
    assert np.all(np.diff(values) >= -1e-12)


@pytest.mark.parametrize("p", NORMS)
def test_both_bounds_fall_as_one_over_the_root_of_the_sample_size(p):
    rng = np.random.default_rng(3)
    diagonals, memberships = draw_diagonals(rng, 6, 10), draw_memberships(rng, 10, 3)
    once = rademacher_bound(diagonals, memberships, p, 1.0)
    four_times = rademacher_bound(np.tile(diagonals, 4), np.tile(memberships, (4, 1)), p, 1.0)
    assert four_times == pytest.approx(once / 2)
    once = rademacher_bound_sup(6, memberships, p, 1.0, 1.0)
    four_times = rademacher_bound_sup(6, np.tile(memberships, (4, 1)), p, 1.0, 1.0)
    assert four_times == pytest.approx(once / 2)


@given(seed=seeds, smaller=norms, larger=norms)
@quick
def test_a_larger_p_makes_a_larger_class(seed, smaller, larger):
    rng = np.random.default_rng(seed)
    smaller, larger = sorted([smaller, larger])
    diagonals, memberships = draw_diagonals(rng, 9, 10), draw_memberships(rng, 10, 2)
    bound = rademacher_bound(diagonals, memberships, smaller, 1.0)
    assert bound <= rademacher_bound(diagonals, memberships, larger, 1.0) * (1 + 1e-12)


@given(
    diagonals=arrays(float, (4, 6), elements=st.sampled_from([0.0, 1e-300, 1e-9, 1.0, 1e9])),
    memberships=arrays(int, 6, elements=st.integers(0, 2)),
    p=norms,
)
@quick
def test_empty_clusters_and_vanishing_diagonals_do_no_harm(diagonals, memberships, p):
    bound = rademacher_bound(diagonals, np.eye(3)[memberships], p, 1.0)
    assert np.isfinite(bound)
    assert (bound > 0) == bool(diagonals.any())


def test_parts_of_the_generalization_bound_are_the_theorem_and_add_up():
    memberships = draw_memberships(np.random.default_rng(4), 50, 3)
    bound = generalization_bound(
        0.3, memberships, 6, 4 / 3, 2.0, 1.5, delta=0.1, loss_bound=4.0, lipschitz=3.0
    )
    assert bound.empirical_risk == 0.3
    assert bound.confidence == pytest.approx(4.0 * np.sqrt(np.log(20) / 100))
    rademacher = rademacher_bound_sup(6, memberships, 4 / 3, 2.0, 1.5)
    assert bound.complexity == pytest.approx(6.0 * rademacher)
    assert bound.total == bound.empirical_risk + bound.confidence + bound.complexity
    assert bound.delta == 0.1


@given(small=st.floats(0.001, 0.999), large=st.floats(0.001, 0.999))
@quick
def test_more_confidence_costs_more(small, large):
    small, large = sorted([small, large])
    memberships = np.full((20, 2), 0.5)
    sure, unsure = (
        generalization_bound(0.0, memberships, 3, 1, 1.0, 1.0, delta=delta, loss_bound=1.0)
        for delta in (small, large)
    )
    assert sure.total >= unsure.total


def test_an_intercept_adds_its_own_complexity():
    memberships = np.ones((25, 1))
    without, with_it = (
        generalization_bound(0.0, memberships, 3, 1, 1.0, 1.0, loss_bound=1.0, intercept=b)
        for b in (0.0, -2.0)
    )
    assert with_it.complexity == pytest.approx(without.complexity + 2 * 2.0 / 5)


@given(seed=seeds, n_clusters=st.integers(1, 4), hard=st.booleans())
@quick
def test_expected_memberships_cost_something_only_where_they_vary(seed, n_clusters, hard):
    rng = np.random.default_rng(seed)
    memberships = (draw_hard if hard else draw_memberships)(rng, 200, n_clusters)
    printed, proved = (
        generalization_bound(
            0.0, memberships, 5, 2, 1.0, 1.0, loss_bound=1.0, expected_memberships=expected
        ).complexity
        for expected in (False, True)
    )
    if hard or n_clusters == 1:
        assert proved == pytest.approx(printed)
    else:
        assert proved > printed
    assert proved <= 2 * rademacher_bound_sup(5, np.ones((200, 1)), 2, 1.0, 1.0) * (1 + 1e-12)


def test_bound_holds_for_the_worst_function_of_a_class_whose_risk_is_known():
    # Kernel x x', x = +-1, fair labels: w has ramp risk (clip(1 - w) + clip(1 + w)) / 2.
    rng = np.random.default_rng(5)
    w = np.linspace(-1, 1, 101)
    risks = 0.5 * (np.clip(1 - w, 0, 1) + np.clip(1 + w, 0, 1))
    for _ in range(200):
        margins = rng.choice([-1.0, 1.0], size=30)
        empirical = np.clip(1 - np.outer(w, margins), 0, 1).mean(axis=1)
        slack = generalization_bound(0.0, np.ones((30, 1)), 1, 1, 1.0, 1.0, delta=0.5, loss_bound=1.0).total
        assert np.all(risks <= empirical + slack)


def make_model(scores, **attributes):
    """Stand-in for a fitted estimator: two even clusters, three kernels of diagonal 1, 1 and 2."""
    return SimpleNamespace(
        memberships=lambda X: np.full((len(X), 2), 0.5),
        kernel_diagonals=lambda X: np.outer([1.0, 1.0, 2.0], np.ones(len(X))),
        decision_function=lambda X: scores,
        predict=lambda X: scores,
        **attributes,
    )


def test_binary_model_is_bounded_by_its_ramp_loss():
    scores = np.array([-2.0, 0.5, 0.25, 3.0])
    y = np.array(["a", "b", "a", "b"])
    model = make_model(scores, p=4 / 3, classes_=np.array(["a", "b"]), squared_norm_=1.5)
    bound = bound_model(model, np.zeros((4, 1)), y, delta=0.2)
    memberships = np.full((4, 2), 0.5)
    expected = generalization_bound(
        (0.0 + 0.5 + 1.0 + 0.0) / 4, memberships, 3, 4 / 3, 1.5, 2.0, delta=0.2, loss_bound=1.0
    )
    assert bound == expected


@pytest.mark.parametrize("seed", range(3))
def test_bound_on_a_classifier_is_above_its_training_error(seed):
    rng = np.random.default_rng(seed)
    scores, y = rng.normal(size=60), rng.integers(2, size=60)
    model = make_model(scores, p=1, classes_=np.array([0, 1]), squared_norm_=0.01)
    bound = bound_model(model, np.zeros((60, 1)), y)
    assert bound.empirical_risk >= np.mean((scores > 0) != y)


def test_multi_class_model_has_one_bound_a_class():
    rng = np.random.default_rng(6)
    scores, y = rng.normal(size=(30, 3)), rng.integers(3, size=30)
    squared_norms, intercepts = np.array([1.0, 2.0, 3.0]), np.array([0.0, -1.0, 2.0])
    shared = {"p": 2, "intercept_": intercepts, "squared_norm_": squared_norms}
    bounds = bound_model(make_model(scores, classes_=np.arange(3), **shared), np.zeros((30, 1)), y)
    assert len(bounds) == 3
    for k, bound in enumerate(bounds):
        one = make_model(
            scores[:, k],
            p=2,
            classes_=np.array([False, True]),
            squared_norm_=squared_norms[k],
            intercept_=intercepts[k],
        )
        assert bound == bound_model(one, np.zeros((30, 1)), y == k)


def test_regressor_is_bounded_by_its_loss_clipped_at_the_range_of_y():
    y = np.array([0.0, 1.0, 2.0, 4.0])
    model = make_model(np.array([0.05, 1.5, 2.0, 14.0]), p=1, epsilon=0.1, squared_norm_=1.0)
    bound = bound_model(model, np.zeros((4, 1)), y)
    assert bound.empirical_risk == pytest.approx((0.0 + 0.4 + 0.0 + 4.0) / 4)
    assert bound.confidence == pytest.approx(4.0 * np.sqrt(np.log(40) / 8))
    assert bound_model(model, np.zeros((4, 1)), y, loss_bound=1.0).total < bound.total


def test_the_log_loss_is_bounded_in_bits_and_above_the_training_error():
    rng = np.random.default_rng(7)
    scores, y = rng.normal(size=60), rng.integers(2, size=60)
    model = make_model(scores, p=1, classes_=np.array([0, 1]), squared_norm_=0.01, loss_=LogLoss())
    bits = np.logaddexp2(0.0, -np.where(y == 1, scores, -scores) / np.log(2))
    bound = bound_model(model, np.zeros((60, 1)), y)
    assert bound.empirical_risk == pytest.approx(np.minimum(bits, 1.0).mean())
    assert bound.empirical_risk >= np.mean((scores > 0) != y)
    model.loss_ = Hinge()
    hinge = bound_model(model, np.zeros((60, 1)), y)
    assert bound.complexity == pytest.approx(hinge.complexity / np.log(2))


@pytest.mark.parametrize("loss, slope", [(Quantile(0.9), 0.9), (Huber(2.0), 2.0)])
def test_a_regressor_is_bounded_by_its_own_loss_and_its_largest_slope(loss, slope):
    y, X = np.array([0.0, 1.0, 2.0, 4.0]), np.zeros((4, 1))
    model = make_model(np.array([0.5, 1.5, 1.0, 4.0]), p=1, epsilon=0.1, squared_norm_=1.0)
    plain = bound_model(model, X, y, loss_bound=4.0 * slope)
    model.loss_ = loss
    bound = bound_model(model, X, y)
    assert bound.empirical_risk == pytest.approx(loss.value(model.predict(X), y).mean())
    assert bound.confidence == pytest.approx(plain.confidence)
    assert bound.complexity == pytest.approx(slope * plain.complexity)


@pytest.mark.parametrize("build, loss", [(MKLClassifier, "squared_hinge"), (MKLRegressor, "squared_error")])
def test_there_is_no_bound_for_squared_losses_and_it_says_why(build, loss):
    X, y = make_localized(40, regression=build is MKLRegressor, random_state=0)[:2]
    message = r"slopes are bounded.* Squared(Hinge|Error)\(\) are not; there are bounds for hinge, log_loss"
    with pytest.raises(ValueError, match=message):
        bound_model(build(loss=loss).fit(X, y), X, y)


def test_model_without_p_is_the_uniform_combination():
    shared = {"classes_": np.array([0, 1]), "squared_norm_": 1.0}
    X, y, scores = np.zeros((4, 1)), np.array([0, 1, 0, 1]), np.zeros(4)
    uniform = bound_model(make_model(scores, **shared), X, y)
    assert uniform == bound_model(make_model(scores, p=np.inf, **shared), X, y)


def test_model_without_support_vectors_costs_no_complexity():
    model = make_model(np.ones(4), p=1, classes_=np.array([0, 1]), squared_norm_=0.0)
    bound = bound_model(model, np.zeros((4, 1)), np.array([0, 1, 1, 1]))
    assert bound.empirical_risk == 0.25
    assert bound.complexity == pytest.approx(0.0, abs=1e-100)


def test_a_loss_clipped_everywhere_has_the_clip_as_its_risk():
    model = make_model(np.full(10, 9.0), p=1, epsilon=0.0, squared_norm_=1.0)
    bound = bound_model(model, np.zeros((10, 1)), np.zeros(10), loss_bound=0.1)
    assert bound.empirical_risk == pytest.approx(0.1)


def test_bound_is_frozen():
    bound = GeneralizationBound(0.1, 0.2, 0.3, 0.05)
    with pytest.raises(AttributeError):
        bound.complexity = 0.0


EVEN = np.full((4, 2), 0.5)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"p": 0.5}, "`p` must be at least 1, got 0.5."),
        ({"p": np.nan}, "`p` must be at least 1, got nan."),
        ({"D": 0.0}, "`D` must be greater than 0, got 0.0."),
        ({"B": -1.0}, "`B` must be greater than 0, got -1.0."),
        ({"delta": 1.0}, "`delta` must lie strictly between 0 and 1, got 1.0."),
        ({"loss_bound": 0.0}, "`loss_bound` must be greater than 0, got 0.0."),
        ({"lipschitz": -2.0}, "`lipschitz` must be greater than 0, got -2.0."),
        ({"n_kernels": 0}, "`n_kernels` must be an integer of at least 1, got 0."),
        (
            {"empirical_risk": 2.0},
            "`empirical_risk` must lie between 0 and `loss_bound` = 1.0, got 2.0.",
        ),
        (
            {"memberships": 1.5 * EVEN},
            "`memberships` must have rows that sum to one, got 1.5 in row 0.",
        ),
        (
            {"memberships": EVEN[0]},
            "`memberships` must have shape (n_samples, n_clusters), got (2,).",
        ),
        ({"memberships": [[1.5, -0.5]]}, "`memberships` must not be negative, got -0.5."),
    ],
)
def test_generalization_bound_says_what_is_wrong(changes, message):
    arguments = {
        "empirical_risk": 0.5,
        "memberships": EVEN,
        "n_kernels": 3,
        "p": 1,
        "D": 1.0,
        "B": 1.0,
        "loss_bound": 1.0,
    }
    with pytest.raises(ValueError) as error:
        generalization_bound(**(arguments | changes))
    assert str(error.value) == message


@pytest.mark.parametrize(
    "diagonals, p, message",
    [
        (np.ones((3, 4)), 0.5, "`p` must be at least 1, got 0.5."),
        (
            np.ones((4, 3)),
            1,
            "`diagonals` must have shape (n_kernels, 4), one column for each row of `memberships`, "
            "got (4, 3).",
        ),
        (-np.ones((3, 4)), 1, "`diagonals` must be finite and not negative."),
        (np.full((3, 4), np.nan), 1, "`diagonals` must be finite and not negative."),
    ],
)
def test_rademacher_bound_says_what_is_wrong(diagonals, p, message):
    with pytest.raises(ValueError) as error:
        rademacher_bound(diagonals, EVEN, p, 1.0)
    assert str(error.value) == message


def test_bound_model_says_what_is_wrong():
    X, y = np.zeros((4, 1)), np.array([0, 1, 0, 1])
    model = make_model(np.zeros(4), p=1, classes_=np.array([0, 1]), squared_norm_=1.0)
    with pytest.raises(TypeError, match="fitted convex model, got object without `memberships`"):
        bound_model(object(), X, y)
    with pytest.raises(ValueError, match=r"`y` must have shape \(4,\), one value a row of `X`"):
        bound_model(model, X, y[:1])
    with pytest.raises(ValueError, match=r"`y` must hold labels among \[0, 1\], got 7"):
        bound_model(model, X, np.array([0, 1, 7, 1]))
    with pytest.raises(ValueError, match=r"`B` must be at least 2\.0, got 1"):
        bound_model(model, X, y, B=1.0)
    regressor = make_model(np.zeros(4), p=1, squared_norm_=1.0)
    with pytest.raises(ValueError, match="`loss_bound` must be greater than 0, got 0"):
        bound_model(regressor, X, np.ones(4))
