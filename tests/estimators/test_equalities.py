"""Special cases that must agree, at the level of the estimators."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.mixture import GaussianMixture
from sklearn.svm import SVC, SVR

import localmkl
from localmkl import (
    CLMKLClassifier,
    CLMKLRegressor,
    GramStack,
    HLMKLClassifier,
    HLMKLRegressor,
    LMKLClassifier,
    LMKLRegressor,
    MKLClassifier,
    MKLRegressor,
    UniformMKLClassifier,
    UniformMKLRegressor,
)
from localmkl.datasets import make_localized
from localmkl.kernels import NORMALIZATIONS, RBF, Linear, Polynomial

CLASSIFIERS = [UniformMKLClassifier, MKLClassifier, HLMKLClassifier, CLMKLClassifier, LMKLClassifier]
REGRESSORS = [UniformMKLRegressor, MKLRegressor, HLMKLRegressor, CLMKLRegressor, LMKLRegressor]
KERNELS = [RBF(gamma=0.1), Linear(), Polynomial(degree=2)]
TIGHT = 1e-9


def data(regression=False, n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    score = X[:, 0] * X[:, 1] + 0.5 * X[:, 2]
    return (X, score) if regression else (X, np.where(score > 0, "yes", "no"))


def three_classes(n=90, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.array(["a", "b", "c"])[np.argmax(X + 0.3 * rng.normal(size=X.shape), axis=1)]


def tolerance(cls, convex):
    """Return the tolerance of a convex method; LMKL with several kernels reaches no small one."""
    return 1e-2 if cls in (LMKLClassifier, LMKLRegressor) else convex


SHARP = 1e-11
"""The convex methods solve classes together or alone: the same answer where it is precise."""


def decide(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def build(cls, **parameters):
    names = cls().get_params()
    parameters = {"kernels": KERNELS, "random_state": 0, "tol": tolerance(cls, 1e-6), **parameters}
    return cls(**{key: value for key, value in parameters.items() if key in names})


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_one_kernel_is_the_svc(cls):
    X, y = data()
    model = build(cls, kernels=[RBF(gamma=0.5)], n_clusters=1, normalize=None, C=2.0, tol=TIGHT).fit(X, y)
    reference = SVC(C=2.0, gamma=0.5, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), reference.decision_function(X), atol=1e-5)
    assert list(model.classes_) == list(reference.classes_)


@pytest.mark.parametrize("cls", REGRESSORS)
def test_one_kernel_is_the_svr(cls):
    X, y = data(regression=True)
    model = build(
        cls, kernels=[RBF(gamma=0.5)], n_clusters=1, normalize=None, C=2.0, scale_C=False, tol=TIGHT
    )
    model.fit(X, y)
    reference = SVR(C=2.0, gamma=0.5, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.predict(X), reference.predict(X), atol=1e-5)


PAIRS = {
    "classification": (data(), CLMKLClassifier, HLMKLClassifier, MKLClassifier, UniformMKLClassifier),
    "regression": (data(True), CLMKLRegressor, HLMKLRegressor, MKLRegressor, UniformMKLRegressor),
}


@pytest.mark.parametrize("p", [1, 4 / 3, 2])
@pytest.mark.parametrize("task", PAIRS)
def test_one_cluster_is_lp_norm_mkl(task, p):
    (X, y), local, hard, whole, _ = PAIRS[task]
    expected = decide(build(whole, p=p, tol=TIGHT).fit(X, y), X)
    for cls in (local, hard):
        model = build(cls, p=p, n_clusters=1, tol=TIGHT).fit(X, y)
        np.testing.assert_allclose(decide(model, X), expected, atol=1e-6)


@pytest.mark.parametrize("task", PAIRS)
def test_both_solvers_agree(task):
    (X, y), local, _, _, _ = PAIRS[task]
    newton = build(local, p=2).fit(X, y)
    alternating = build(local, p=2, solver="alternating").fit(X, y)
    np.testing.assert_allclose(decide(newton, X), decide(alternating, X), atol=1e-2)
    with pytest.raises(ValueError, match="`solver` must be one of 'newton', 'alternating', got 'magic'"):
        build(local, solver="magic").fit(X, y)


@pytest.mark.parametrize("p", [1, 4 / 3])
@pytest.mark.parametrize("task", PAIRS)
def test_the_least_evenness_is_the_hard_partition(task, p):
    (X, y), local, hard, _, _ = PAIRS[task]
    soft = build(local, p=p, n_clusters=4, evenness=0.25, tol=TIGHT).fit(X, y)
    expected = build(hard, p=p, n_clusters=4, tol=TIGHT).fit(X, y)
    np.testing.assert_array_equal(soft.memberships(X), expected.memberships(X))
    np.testing.assert_allclose(decide(soft, X), decide(expected, X), atol=1e-6)
    assert soft.tau_ == np.inf
    assert soft.evenness_ == pytest.approx(0.25)


@pytest.mark.parametrize("task", PAIRS)
def test_an_infinite_norm_is_the_uniform_combination(task):
    (X, y), _, _, whole, uniform = PAIRS[task]
    model = build(whole, p=np.inf, tol=TIGHT).fit(X, y)
    expected = build(uniform, tol=TIGHT).fit(X, y)
    np.testing.assert_array_equal(model.kernel_weights_, np.ones((1, 3)))
    np.testing.assert_allclose(decide(model, X), decide(expected, X), atol=1e-7)


@pytest.mark.parametrize("cls", CLASSIFIERS + REGRESSORS)
def test_contributions_and_intercept_sum_to_the_decision(cls):
    X, y = data(regression=cls in REGRESSORS)
    model = build(cls).fit(X, y)
    new = data(seed=1)[0]
    parts = model.contributions(new)
    n_clusters = model.kernel_weights_.shape[0]
    assert parts.shape == (len(new), n_clusters, 3)
    np.testing.assert_array_equal(parts.sum(axis=(1, 2)) + model.intercept_, decide(model, new))


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_many_classes_are_one_against_all_over_one_partition(cls):
    X, y = three_classes()
    model = build(cls, n_clusters=2, tol=tolerance(cls, SHARP)).fit(X, y)
    n_clusters = model.kernel_weights_.shape[1]
    assert model.kernel_weights_.shape == (3, n_clusters, 3)
    assert model.dual_coef_.shape == (3, len(X))
    assert model.intercept_.shape == (3,)
    assert len(model.history_) == 3
    parts = model.contributions(X)
    assert parts.shape == (len(X), 3, n_clusters, 3)
    decisions = model.decision_function(X)
    np.testing.assert_array_equal(parts.sum(axis=(2, 3)) + model.intercept_, decisions)
    for k, label in enumerate(model.classes_):
        single = build(cls, n_clusters=2, tol=tolerance(cls, SHARP)).fit(X, np.where(y == label, 1, -1))
        np.testing.assert_allclose(decisions[:, k], single.decision_function(X), atol=1e-4)
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_threads_over_the_classes_change_nothing(cls):
    X, y = three_classes()
    one = build(cls, n_jobs=None, tol=tolerance(cls, SHARP)).fit(X, y)
    two = build(cls, n_jobs=2, tol=tolerance(cls, SHARP)).fit(X, y)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("cls", CLASSIFIERS + REGRESSORS)
def test_precomputed_grams_give_what_raw_data_gives(cls, normalize):
    X, y = data(regression=cls in REGRESSORS)
    new = data(seed=1)[0]
    raw = build(cls, normalize=normalize).fit(X, y)
    fitted = [kernel.fit(X) for kernel in KERNELS]
    square = GramStack([kernel(X) for kernel in fitted])
    cross = GramStack([kernel(new, X) for kernel in fitted], diagonals=[k.diag(new) for k in fitted])
    given = build(cls, kernels="precomputed", normalize=normalize).fit(square, y)
    np.testing.assert_allclose(decide(given, cross), decide(raw, new), atol=1e-7)
    np.testing.assert_allclose(given.memberships(cross), raw.memberships(new), atol=1e-9)
    np.testing.assert_allclose(given.kernel_diagonals(cross), raw.kernel_diagonals(new))


def test_the_given_stack_is_never_written_to():
    X, y = data()
    grams = np.stack([kernel(X) for kernel in KERNELS])
    grams.flags.writeable = False
    for normalize in NORMALIZATIONS:
        build(CLMKLClassifier, kernels="precomputed", normalize=normalize).fit(GramStack(grams), y)


def test_weights_of_samples_count_like_repetitions():
    X, y = data()
    weight = np.random.default_rng(0).integers(0, 4, size=len(X))
    repeated = np.repeat(np.arange(len(X)), weight)
    for cls, n_init in ((CLMKLClassifier, 40), (MKLClassifier, 1), (LMKLClassifier, 1)):
        model = build(cls, n_init=n_init, tol=tolerance(cls, 1e-2 * TIGHT))
        weighted = clone(model).fit(X, y, sample_weight=weight)
        copied = clone(model).fit(X[repeated], y[repeated])
        accuracy = 5e-2 if cls is LMKLClassifier else 1e-5
        np.testing.assert_allclose(weighted.decision_function(X), copied.decision_function(X), atol=accuracy)


def test_class_weights_are_sample_weights_of_the_cost_alone():
    X, y = data()
    dear = build(MKLClassifier, class_weight={"yes": 3.0, "no": 1.0}, C=1.0, scale_C=False).fit(X, y)
    cost = np.where(y == "yes", 3.0, 1.0)
    kernel = sum(
        w * f * k(X) for w, f, k in zip(dear.kernel_weights_[0], dear.factors_, KERNELS, strict=True)
    )
    reference = SVC(kernel="precomputed", tol=1e-8).fit(kernel, y, sample_weight=cost)
    np.testing.assert_allclose(dear.decision_function(X), reference.decision_function(kernel), atol=2e-2)
    assert (build(MKLClassifier, class_weight="balanced").fit(X, y).predict(X) == y).mean() > 0.8


def test_the_gate_may_be_a_mixture_a_function_or_a_matrix():
    X, y = data()
    mixture = GaussianMixture(2, random_state=0).fit(X)
    shares = mixture.predict_proba(X)
    frozen = build(CLMKLClassifier, gate=FrozenEstimator(mixture)).fit(X, y)
    function = build(CLMKLClassifier, gate=mixture.predict_proba).fit(X, y)
    fitted = [kernel.fit(X) for kernel in KERNELS]
    stack = GramStack([kernel(X) for kernel in fitted])
    matrix = build(CLMKLClassifier, kernels="precomputed", gate=shares).fit(stack, y)
    fresh = build(CLMKLClassifier, gate=GaussianMixture(2, random_state=0)).fit(X, y)
    for model in (frozen, function, fresh):
        np.testing.assert_allclose(model.memberships(X), shares)
        np.testing.assert_allclose(model.decision_function(X), matrix.decision_function(stack), atol=1e-6)
    hard = build(HLMKLClassifier, gate=FrozenEstimator(mixture)).fit(X, y)
    np.testing.assert_array_equal(hard.memberships(X).argmax(axis=1), mixture.predict(X))


def test_the_gate_kernel_may_be_counted_from_the_last():
    X, y, _, _ = make_localized(60, random_state=3)
    first, last = (
        build(CLMKLClassifier, kernels=[Linear(), RBF()], gate_kernel=index).fit(X, y) for index in (1, -1)
    )
    np.testing.assert_array_equal(first.decision_function(X), last.decision_function(X))


def test_the_gate_kernel_may_be_an_index_or_a_kernel_of_its_own():
    X, y = data()
    by_index = build(CLMKLClassifier, gate_kernel=1).fit(X, y)
    own = build(CLMKLClassifier, gate_kernel=Linear()).fit(X, y)
    np.testing.assert_allclose(by_index.memberships(X), own.memberships(X), atol=1e-9)
    default = build(CLMKLClassifier).fit(X, y)
    assert not np.allclose(default.memberships(X), own.memberships(X))


def test_unlabelled_rows_shape_the_partition_only():
    X, y = data()
    more = data(seed=2)[0]
    model = build(CLMKLClassifier, C=1.0, n_init=30, tol=1e-12).fit(X, y, unlabeled=more)
    assert model.transductive_
    assert model.dual_coef_.shape == (len(X),)
    both = np.concatenate([X, more])
    fitted = [kernel.fit(X) for kernel in KERNELS]
    joint = GramStack([kernel(both) for kernel in fitted])
    n = len(X)
    given = build(CLMKLClassifier, C=1.0, kernels="precomputed", n_init=30, tol=1e-12).fit(
        joint[:n, :n], y, unlabeled=joint
    )
    np.testing.assert_allclose(given.decision_function(joint[:n]), model.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(given.memberships(joint), model.memberships(both), atol=1e-9)
    alone = build(CLMKLClassifier, n_init=30).fit(X, y)
    assert not np.allclose(alone.memberships(X), model.memberships(X))


def test_localisation_pays_where_groups_need_different_views():
    scores = []
    for seed in range(5):
        data = make_localized(1300, random_state=seed)
        kernels = [Linear(columns=view) for view in data.views]
        models = [
            CLMKLClassifier(kernels, p=1, evenness=0.4, gate_kernel=0, random_state=0),
            MKLClassifier(kernels, p=1),
            UniformMKLClassifier(kernels),
        ]
        fits = [model.fit(data.X[:300], data.y[:300]) for model in models]
        scores.append([model.score(data.X[300:], data.y[300:]) for model in fits])
    local, whole, uniform = np.mean(scores, axis=0)
    assert local >= whole + 0.15
    assert local >= uniform + 0.15


def test_data_frames_give_views_by_name():
    pd = pytest.importorskip("pandas")
    X, y = data()
    frame = pd.DataFrame(X, columns=["left", "right", "up"])
    frame["note"] = "text that no kernel reads"
    kernels = [RBF(columns=["left", "right"]), Linear(columns="up")]
    named = build(CLMKLClassifier, kernels=kernels).fit(frame, y)
    numbered = build(CLMKLClassifier, kernels=[RBF(columns=[0, 1]), Linear(columns=2)]).fit(X, y)
    np.testing.assert_allclose(named.decision_function(frame), numbered.decision_function(X), atol=1e-9)
    assert list(named.feature_names_in_) == list(frame.columns)


def test_a_precomputed_rbf_matrix_is_a_stack_of_one():
    X, y = data()
    K = rbf_kernel(X, gamma=0.5)
    model = build(MKLClassifier, kernels="precomputed").fit(K, y)
    assert model.kernel_weights_.shape == (1, 1)
    assert model.decision_function(K[:5]).shape == (5,)


def test_importing_the_package_imports_no_heavy_library():
    import subprocess
    import sys

    heavy = "numba, sklearn, matplotlib, torch, typer"
    code = f"import sys, localmkl; print([m for m in {heavy.split(', ')!r} if m in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'CLMKLTransformer'"):
        localmkl.CLMKLTransformer  # noqa: B018
    assert "CLMKLClassifier" in dir(localmkl)
