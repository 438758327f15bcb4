"""The search against scikit-learn's own: same scores, same attributes, less work, and honest."""

from unittest.mock import patch

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, PredefinedSplit, RandomizedSearchCV

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
    _resources,
)
from localmkl.backends import compiled, together
from localmkl.estimators.context import FoldContext
from localmkl.gates import KernelKMeansGate
from localmkl.kernels import RBF, Linear, compute_stack, fit_kernels
from localmkl.model_selection import MKLSearchCV, at_edge

KERNELS = [RBF(gamma=0.1), RBF(gamma=1.0), Linear()]
FOLDS = KFold(2, shuffle=True, random_state=0)
CLASSIFIERS = [CLMKLClassifier, HLMKLClassifier, LMKLClassifier, MKLClassifier, UniformMKLClassifier]
REGRESSORS = [CLMKLRegressor, HLMKLRegressor, LMKLRegressor, MKLRegressor, UniformMKLRegressor]
PATH = {"C": [0.1, 10.0], "p": [1, 2], "evenness": [0.5, 0.6, 0.9], "epsilon": [0.05, 0.2]}
CLOSE = {"rtol": 5e-3, "atol": 5e-3}


def data(n=40, *, regression=False, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    score = X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.1 * rng.normal(size=n)
    if regression:
        return X, score
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


def build(cls, kernels=KERNELS, **parameters):
    chosen = {
        "tol": 1e-2 if cls in (LMKLClassifier, LMKLRegressor) else 1e-8,
        "random_state": 0,
        "n_clusters": 2,
    }
    known = cls(kernels).get_params()
    return cls(kernels, **{k: v for k, v in {**chosen, **parameters}.items() if k in known})


def grid_of(model):
    return {name: values for name, values in PATH.items() if name in model.get_params(deep=False)}


def scores_of(search, key="test_score"):
    return np.stack([search.cv_results_[f"split{k}_{key}"] for k in range(search.n_splits_)])


def decisions(model, X, y):
    """Score by a number that moves with every decision."""
    values = model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
    return float(np.sum(values * np.arange(1.0, values.size + 1.0).reshape(values.shape)) / values.size)


# LMKL is not convex: where Grams of a fold differ from those of all rows by rounding, it may end elsewhere.
CONVEX = [cls for cls in CLASSIFIERS + REGRESSORS if cls not in (LMKLClassifier, LMKLRegressor)]


@pytest.mark.parametrize(
    "cls, form", [*((cls, "raw") for cls in CONVEX), *((cls, "stack") for cls in CLASSIFIERS + REGRESSORS)]
)
def test_the_scores_are_those_of_cold_fits(cls, form):
    X, y = data(regression=cls in REGRESSORS)
    model = build(cls, "precomputed" if form == "stack" else KERNELS)
    rows = GramStack([kernel(X) for kernel in KERNELS]) if form == "stack" else X
    grid = grid_of(model)
    ours = MKLSearchCV(model, grid, cv=FOLDS, scoring=decisions).fit(rows, y)
    cold = GridSearchCV(model, grid, cv=FOLDS, scoring=decisions).fit(rows, y)
    np.testing.assert_allclose(scores_of(ours), scores_of(cold), **CLOSE)
    assert ours.best_params_ == cold.best_params_
    assert ours.best_score_ == pytest.approx(cold.best_score_, rel=5e-3)
    np.testing.assert_allclose(ours.predict(rows), cold.predict(rows), atol=1e-3)


@pytest.mark.parametrize(
    "kernels", [None, [RBF(), RBF(gamma=1.0), lambda A, B: A @ B.T]], ids=["learned", "mixed"]
)
@pytest.mark.parametrize("normalize", ["multiplicative", "trace", "cosine", None])
def test_every_normalisation_and_kernels_that_learn(kernels, normalize):
    X, y = data()
    model = build(CLMKLClassifier, kernels, normalize=normalize)
    grid = {"C": [0.1, 10.0], "evenness": [0.5, 0.8]}
    ours = MKLSearchCV(model, grid, cv=FOLDS, scoring=decisions, return_train_score=True).fit(X, y)
    cold = GridSearchCV(model, grid, cv=FOLDS, scoring=decisions, return_train_score=True).fit(X, y)
    np.testing.assert_allclose(scores_of(ours), scores_of(cold), **CLOSE)
    np.testing.assert_allclose(scores_of(ours, "train_score"), scores_of(cold, "train_score"), **CLOSE)
    np.testing.assert_allclose(ours.decision_function(X), cold.decision_function(X), atol=1e-3)


GATES = {
    "index": {"gate_kernel": 1},
    "own kernel": {"gate_kernel": RBF()},
    "model": {"gate": GaussianMixture(2, random_state=0)},
    "function": {"gate": lambda rows: np.column_stack([rows[:, 0] > 0, rows[:, 0] <= 0]).astype(float)},
}


@pytest.mark.parametrize("gate", GATES)
def test_every_gate_gives_what_cold_fits_give(gate):
    X, y = data()
    model = build(CLMKLClassifier, **GATES[gate])
    grid = {"C": [0.1, 10.0], "evenness": [0.5, 0.8]}
    ours = MKLSearchCV(model, grid, cv=FOLDS, scoring=decisions).fit(X, y)
    cold = GridSearchCV(model, grid, cv=FOLDS, scoring=decisions).fit(X, y)
    np.testing.assert_allclose(scores_of(ours), scores_of(cold), **CLOSE)


def test_several_classes_are_searched_one_against_all():
    X, y = data(n_classes=4)
    model = build(CLMKLClassifier)
    grid = {"C": [0.1, 10.0], "evenness": [0.5, 0.8], "p": [1, 2]}
    ours = MKLSearchCV(model, grid, cv=FOLDS, scoring=decisions).fit(X, y)
    cold = GridSearchCV(model, grid, cv=FOLDS, scoring=decisions).fit(X, y)
    np.testing.assert_allclose(scores_of(ours), scores_of(cold), **CLOSE)


def test_parameters_off_the_path_split_the_work_and_nothing_else():
    X, y = data()
    grid = [
        {"n_clusters": [1, 3], "evenness": [0.6, 0.9], "normalize": ["trace", None]},
        {
            "kernels": [KERNELS[:2], [Linear()]],
            "C": [1.0, 2.0],
            "gate_kernel": [None, 0],
            "class_weight": ["balanced"],
        },
    ]
    ours = MKLSearchCV(build(CLMKLClassifier), grid, cv=FOLDS, scoring=decisions).fit(X, y)
    cold = GridSearchCV(build(CLMKLClassifier), grid, cv=FOLDS, scoring=decisions).fit(X, y)
    np.testing.assert_allclose(scores_of(ours), scores_of(cold), **CLOSE)


@pytest.mark.parametrize("several", [False, True])
def test_the_attributes_are_those_of_scikit_learn(several):
    X, y = data()
    metrics = ["accuracy", "roc_auc"] if several else "roc_auc"
    options = {
        "scoring": metrics,
        "refit": "roc_auc" if several else True,
        "return_train_score": True,
        "cv": 3,
    }
    grid = {"C": [0.1, 10.0], "p": [1, 2]}
    ours = MKLSearchCV(build(MKLClassifier), grid, **options).fit(X, y)
    cold = GridSearchCV(build(MKLClassifier), grid, **options).fit(X, y)
    assert set(ours.cv_results_) == set(cold.cv_results_)
    for key, values in cold.cv_results_.items():
        if "_time" not in key and key != "params":
            np.testing.assert_allclose(
                np.ma.getdata(ours.cv_results_[key]).astype(float),
                np.ma.getdata(values).astype(float),
                atol=1e-6,
            )
    assert ours.cv_results_["params"] == cold.cv_results_["params"]
    public = {name for name in vars(cold) if name.endswith("_")}
    assert public <= set(vars(ours))
    assert ours.multimetric_ == several
    assert ours.score(X, y) == pytest.approx(cold.score(X, y))
    np.testing.assert_array_equal(ours.classes_, cold.classes_)
    assert ours.n_features_in_ == 3
    assert not ours.interrupted_


def test_refit_can_be_a_rule_or_left_out():
    X, y = data()
    grid = {"C": [0.1, 1.0, 10.0]}
    rule = MKLSearchCV(build(MKLClassifier), grid, refit=lambda results: 2, cv=3).fit(X, y)
    assert rule.best_params_ == {"C": 10.0}
    assert rule.best_estimator_.C == 10.0
    without = MKLSearchCV(build(MKLClassifier), grid, refit=False, cv=3).fit(X, y)
    assert without.best_params_["C"] in grid["C"]
    assert not hasattr(without, "best_estimator_")
    assert not hasattr(without, "predict")


def test_the_best_estimator_is_an_ordinary_one(tmp_path):
    X, y = data()
    search = MKLSearchCV(build(CLMKLClassifier), {"C": [1.0], "evenness": [0.5, 0.7]}, cv=3).fit(X, y)
    best = search.best_estimator_
    cold = clone(best).fit(X, y)
    assert set(vars(best)) == set(vars(cold))
    localmkl.save(best, tmp_path / "model")
    np.testing.assert_allclose(localmkl.load(tmp_path / "model").predict(X), cold.predict(X))


def test_a_fixed_validation_set_is_one_split():
    X, y = data()
    stack = GramStack([kernel(X) for kernel in KERNELS])
    train, valid = np.arange(25), np.arange(25, 40)
    search = MKLSearchCV(build(MKLClassifier, "precomputed"), {"C": [0.1, 1.0]}, cv=[(train, valid)]).fit(
        stack, y
    )
    predefined = PredefinedSplit(np.where(np.arange(40) < 25, -1, 0))
    again = MKLSearchCV(build(MKLClassifier, "precomputed"), {"C": [0.1, 1.0]}, cv=predefined).fit(stack, y)
    model = build(MKLClassifier, "precomputed", C=1.0)
    model.fit(stack[np.ix_(train, train)], y[train])
    expected = model.score(stack[np.ix_(valid, train)], y[valid])
    assert search.n_splits_ == 1
    assert search.cv_results_["mean_test_score"][1] == pytest.approx(expected)
    masks = [(predefined.test_fold < 0, predefined.test_fold == 0)]
    third = MKLSearchCV(build(MKLClassifier, "precomputed"), {"C": [0.1, 1.0]}, cv=masks).fit(stack, y)
    for other in (again, third):
        np.testing.assert_array_equal(
            search.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"]
        )


def test_plain_arrays_of_grams_are_taken_as_a_stack():
    X, y = data()
    grams = np.stack([kernel(X) for kernel in KERNELS])
    grid = {"C": [0.1, 1.0]}
    array = MKLSearchCV(build(MKLClassifier, "precomputed"), grid, cv=FOLDS).fit(grams, y)
    stack = MKLSearchCV(build(MKLClassifier, "precomputed"), grid, cv=FOLDS).fit(GramStack(grams), y)
    np.testing.assert_array_equal(scores_of(array), scores_of(stack))


def test_text_rows_are_searched_like_any_other():
    from localmkl.kernels import WeightedDegree

    rng = np.random.default_rng(0)
    rows = ["".join(rng.choice(list("ACGT"), size=12)) for _ in range(45)]
    y = np.array([row[5] in "AC" for row in rows]).astype(int)
    model = build(CLMKLClassifier, [WeightedDegree(d) for d in (1, 2, 3)])
    grid = {"C": [0.1, 1.0], "evenness": [0.6, 0.9]}
    ours = MKLSearchCV(model, grid, cv=FOLDS, scoring=decisions).fit(rows, y)
    cold = GridSearchCV(model, grid, cv=FOLDS, scoring=decisions).fit(rows, y)
    np.testing.assert_allclose(scores_of(ours), scores_of(cold), **CLOSE)


def test_sample_weights_and_groups_are_split_with_the_rows():
    X, y = data()
    rng = np.random.default_rng(1)
    weights, groups = rng.uniform(0.5, 2.0, size=40), rng.integers(6, size=40)
    model, grid = build(CLMKLClassifier, [RBF(), Linear()]), {"C": [0.1, 10.0], "evenness": [0.5, 0.8]}
    given = {"sample_weight": weights, "groups": groups}
    ours = MKLSearchCV(model, grid, cv=GroupKFold(3), scoring="accuracy").fit(X, y, **given)
    cold = GridSearchCV(model, grid, cv=GroupKFold(3), scoring="accuracy").fit(X, y, **given)
    np.testing.assert_allclose(scores_of(ours), scores_of(cold), atol=1e-6)
    np.testing.assert_allclose(ours.decision_function(X), cold.decision_function(X), atol=1e-3)


def test_unlabelled_rows_take_part_in_the_partition():
    X, y = data()
    more = data(25, seed=1)[0]
    model, grid = build(CLMKLClassifier), {"C": [0.1, 10.0], "evenness": [0.5, 0.8]}
    ours = MKLSearchCV(model, grid, cv=FOLDS, scoring=decisions).fit(X, y, unlabeled=more)
    cold = GridSearchCV(model, grid, cv=FOLDS, scoring=decisions).fit(X, y, unlabeled=more)
    np.testing.assert_allclose(scores_of(ours), scores_of(cold), **CLOSE)
    assert ours.best_estimator_.transductive_


def test_random_search_draws_what_scikit_learn_draws():
    from scipy.stats import loguniform, uniform

    X, y = data()
    space = {"C": loguniform(0.1, 10.0), "evenness": uniform(0.5, 0.4), "n_clusters": [1, 2]}
    model = build(CLMKLClassifier)
    ours = MKLSearchCV(model, space, n_iter=12, random_state=0, cv=FOLDS, scoring=decisions).fit(X, y)
    cold = RandomizedSearchCV(model, space, n_iter=12, random_state=0, cv=FOLDS, scoring=decisions).fit(X, y)
    assert ours.cv_results_["params"] == cold.cv_results_["params"]
    np.testing.assert_allclose(scores_of(ours), scores_of(cold), **CLOSE)


def test_a_best_value_at_an_end_is_followed_as_often_as_allowed():
    X, y = data()
    wanted = {
        0.1: 0.1,
        1.0: 0.3,
        10.0: 0.5,
        100.0: 0.7,
        1000.0: 0.2,
    }  # the score of each C, whatever the data are
    search = MKLSearchCV(
        build(MKLClassifier), {"C": [0.1, 1.0], "p": [1, 2]}, cv=FOLDS, follow=["C"],
        scoring=lambda model, X, y: wanted[model.C],
    ).fit(X, y)  # fmt: skip
    assert [one["C"] for one in search.cv_results_["params"]] == [0.1] * 2 + [1.0] * 2 + [10.0] * 2 + [
        100.0
    ] * 2 + [1000.0] * 2
    assert search.best_params_ == {"C": 100.0, "p": 1}
    assert search.best_estimator_.C == 100.0
    search.set_params(scoring=lambda model, X, y: -model.C, param_grid={"C": [1.0, 10.0]}).fit(X, y)
    assert search.best_params_["C"] == pytest.approx(1e-3)  # three steps of a tenth below 1
    assert at_edge(search)["C"][1] == "smallest"
    search.set_params(param_grid={"C": [1.0]}).fit(X, y)
    assert len(search.cv_results_["params"]) == 1
    with pytest.raises(ValueError, match="got 'gamma'"):
        search.set_params(follow=["gamma"]).fit(X, y)
    del search.__dict__["follow"]  # as saved by an older version
    assert clone(search).follow == ()


def test_what_is_followed_is_scored_as_in_a_grid_and_kept_in_the_same_file(tmp_path):
    X, y = data()
    model, file = build(CLMKLClassifier), tmp_path / "work"
    search = MKLSearchCV(
        model, {"C": [1e-3, 1e-2]}, cv=FOLDS, follow=["C"], scoring=decisions, checkpoint=file, random_state=0
    ).fit(X, y)
    tried = [one["C"] for one in search.cv_results_["params"]]
    assert len(tried) > 2
    np.testing.assert_allclose(
        scores_of(search), scores_of(MKLSearchCV(model, {"C": tried}, cv=FOLDS, scoring=decisions).fit(X, y)),
        **CLOSE,
    )  # fmt: skip
    with patch("localmkl.model_selection.cells.fit_column", side_effect=AssertionError):
        again = clone(search).fit(X, y)
    np.testing.assert_array_equal(scores_of(again), scores_of(search))


@pytest.mark.parametrize("name, values", [("shared", [0.5, 1.0]), ("p", [2.0, np.inf])])
def test_nothing_is_followed_beyond_what_is_allowed(name, values):
    X, y = data()

    def largest(model, X, y):
        return min(getattr(model, name), 1e3)

    model = HLMKLClassifier(random_state=0)
    search = MKLSearchCV(model, {name: values}, cv=2, follow=[name], scoring=largest)
    assert [one[name] for one in search.fit(X, y).cv_results_["params"]] == values
    assert search.best_params_ == {name: values[-1]}


def test_an_interruption_while_values_are_followed_keeps_what_was_found_before():
    X, y = data()

    def impatient(model, X, y):
        if model.C > 1.0:
            raise KeyboardInterrupt
        return model.C

    search = MKLSearchCV(build(MKLClassifier), {"C": [0.1, 1.0]}, cv=FOLDS, follow=["C"], scoring=impatient)
    with pytest.warns(UserWarning, match="0 of 1 candidates beyond the given ones are complete"):
        search.fit(X, y)
    assert search.interrupted_
    assert search.best_estimator_.C == 1.0


@pytest.mark.long
def test_two_workers_give_the_same_table_bit_by_bit():
    X, y = data()
    grid = {"C": [0.1, 1.0, 10.0], "p": [1, 2], "evenness": [0.5, 0.7]}
    model = build(CLMKLClassifier, [RBF(), Linear()], tol=1e-3)
    one = MKLSearchCV(model, grid, cv=FOLDS, scoring="roc_auc").fit(X, y)
    two = MKLSearchCV(model, grid, cv=FOLDS, scoring="roc_auc", n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(scores_of(one), scores_of(two))


def counted(function, calls):
    def again(*arguments, **options):
        calls.append(arguments)
        return function(*arguments, **options)

    return again


def test_every_gram_is_computed_once_and_every_partition_once_a_fold():
    X, y = data()
    plain, learned, partitions = [], [], []

    class Learned(RBF):
        def __call__(self, X, Y=None):
            learned.append(len(X))
            return super().__call__(X, Y)

    kernels = [counted(lambda A, B: A @ B.T, plain), Learned(), RBF(gamma=1.0)]
    grid = {"C": [0.1, 1.0, 10.0], "evenness": [0.5, 0.7], "p": [1, 2], "n_clusters": [1, 2]}
    kmeans = counted(KernelKMeansGate.fit, partitions)
    with patch.object(KernelKMeansGate, "fit", kmeans):
        search = MKLSearchCV(build(CLMKLClassifier, kernels), grid, cv=FOLDS).fit(X, y)
    assert [len(rows) for rows, _ in plain] == [len(X)]
    assert learned == [len(X)] * (search.n_splits_ + 1)
    assert len(partitions) == search.n_splits_ * len(grid["n_clusters"]) + 1


def test_neighbours_save_most_of_the_reading():
    X, y = data(80)
    grid = {"C": [0.3, 1.0, 3.0, 10.0], "evenness": np.linspace(0.5, 0.8, 6)}
    model = build(CLMKLClassifier, tol=1e-3)
    reads = {}
    for search in (MKLSearchCV(model, grid, cv=FOLDS), GridSearchCV(model, grid, cv=FOLDS)):
        calls: list = []
        with (
            patch.object(compiled, "block_products", counted(compiled.block_products, calls)),
            patch.object(together, "combine_together", counted(together.combine_together, calls)),
        ):
            search.fit(X, y)
        reads[type(search)] = len(calls)
    assert 0 < reads[MKLSearchCV] < 0.25 * reads[GridSearchCV]


@pytest.mark.parametrize("normalize", ["multiplicative", "cosine"])
def test_nothing_is_learned_from_the_rows_that_judge(normalize):
    X, y = data()
    train, test = np.arange(25), np.arange(25, 40)
    X[test] *= 100.0
    seen = []

    def spy(model, rows, labels):
        seen.append(model)
        return 0.0

    model = build(CLMKLClassifier, [RBF(), RBF(gamma="median"), Linear()], normalize=normalize)
    MKLSearchCV(model, {"evenness": [0.5, 0.8]}, cv=[(train, test)], scoring=spy, refit=False).fit(X, y)
    assert len(seen) == 2
    for fitted in seen:
        cold = clone(fitted).fit(X[train], y[train])
        np.testing.assert_allclose(fitted.factors_, cold.factors_, rtol=1e-9)
        assert [k.gamma_ for k in fitted.kernels_[:2]] == [k.gamma_ for k in cold.kernels_[:2]]
        np.testing.assert_allclose(fitted.memberships_, cold.memberships_, atol=1e-9)
        assert fitted.tau_ == pytest.approx(cold.tau_)
        assert fitted.duality_gap_ <= fitted.tol
        assert set(vars(fitted)) == set(vars(cold))  # no Grams of the search


def test_a_candidate_that_cannot_be_fitted_scores_as_asked():
    X, y = data()
    grid = {"gate_kernel": [7, 0], "evenness": [0.5, 0.7]}
    with pytest.warns(Warning, match="fits failed"):
        search = MKLSearchCV(build(CLMKLClassifier), grid, cv=FOLDS, error_score=-7.0).fit(X, y)
    wrong = np.array([candidate["gate_kernel"] == 7 for candidate in search.cv_results_["params"]])
    np.testing.assert_array_equal(scores_of(search)[:, wrong], -7.0)
    assert (scores_of(search)[:, ~wrong] >= 0.0).all()
    with pytest.raises(ValueError, match="`gate_kernel` must index one of"):
        MKLSearchCV(build(CLMKLClassifier), grid, cv=FOLDS, error_score="raise").fit(X, y)
    with pytest.raises(ValueError, match="`gate_kernel` must index one of"):
        MKLSearchCV(build(CLMKLClassifier), grid, cv=FOLDS, error_score="raise", n_jobs=2).fit(X, y)


@pytest.mark.parametrize(
    "cls, grid, message",
    [
        (
            CLMKLClassifier,
            {"n_clusters": [2, 3], "shared": [0.4, 1.6]},
            r"got 2 of 4 that are not, the first of them n_clusters=2, shared=1.6: `shared` must be at "
            r"least 0.*; where values do not go together, give a list of grids",
        ),
        (MKLClassifier, {"C": [1.0, -1.0], "p": [0.5, 2]}, "got 3 of 4 .* p=0.5: `p` must be at least 1"),
        (MKLRegressor, {"epsilon": [0.1, -0.1]}, r"epsilon=-0.1: `epsilon` must be at least 0"),
    ],
)
def test_candidates_that_no_data_allow_are_named_before_any_fit(cls, grid, message, monkeypatch):
    X, y = data(regression=cls is MKLRegressor)
    monkeypatch.setattr(cls, "_prepare", None)
    with pytest.raises(ValueError, match=message):
        MKLSearchCV(build(cls), grid, cv=FOLDS).fit(X, y)


@pytest.mark.parametrize("scoring", ["neg_log_loss", ["accuracy", "roc_auc_ovr"]])
def test_scores_of_probabilities_are_refused_before_any_fit(scoring, monkeypatch):
    X, y = data()
    monkeypatch.setattr(MKLClassifier, "_prepare", None)
    message = (
        "The score '(neg_log_loss|roc_auc_ovr)' needs predict_proba, which MKLClassifier does not have; "
    )
    with pytest.raises(ValueError, match=message + "choose one of predictions, such as accuracy"):
        MKLSearchCV(MKLClassifier(), {"C": [1.0]}, scoring=scoring, refit=False, cv=2).fit(X, y)


@pytest.mark.filterwarnings("ignore:Scoring failed", "ignore:One or more of the test scores")
@pytest.mark.parametrize("scoring", ["roc_auc", {"good": "accuracy", "roc_auc": "roc_auc"}])
def test_a_score_that_is_no_number_for_any_candidate_chooses_nothing(scoring):
    X, y = data(n_classes=3)
    with pytest.raises(ValueError, match="The score 'roc_auc' is not a number for any of the 2 candidates"):
        MKLSearchCV(
            build(MKLClassifier, tol=1e-2), {"C": [0.1, 1.0]}, scoring=scoring, refit="good", cv=2
        ).fit(X, y)


@pytest.mark.filterwarnings("ignore:Scoring failed", "ignore:One or more of the test scores")
@pytest.mark.parametrize("step", ["cross_stack", "training_stack"])
def test_shared_grams_that_cannot_be_read_are_an_error_and_no_slower_search(step, monkeypatch):
    def broken(self, *_):
        raise RuntimeError("the stack is gone")

    X, y = data()
    monkeypatch.setattr(FoldContext, step, broken)
    search = MKLSearchCV(build(MKLClassifier), {"C": [0.1, 1.0]}, cv=2, refit=False, error_score="raise")
    with pytest.raises(RuntimeError, match="the stack is gone"):
        search.fit(X, y)
    with pytest.raises(ValueError, match=r"fits failed|not a number for any of the 2 candidates"):
        search.set_params(error_score=np.nan).fit(X, y)


def test_fits_in_one_context_share_no_more_than_their_parameters_allow():
    X, y = data()
    cold = build(CLMKLClassifier, tol=1e-3, gate_kernel=RBF(gamma=0.1), n_init=1)
    stack = compute_stack(fit_kernels(KERNELS, X), X)
    context = FoldContext(stack, kernels=fit_kernels(KERNELS, X))
    first = clone(cold)._fit(X, y, context)
    assert clone(cold)._fit(X, y, context).gate_.kernel is first.gate_.kernel
    for change in (
        {"gate_kernel": RBF(gamma=1.0)},
        {"gate_kernel": None},
        {"n_clusters": 3},
        {"n_init": 3},
        {"random_state": 5},
        {"normalize": "trace"},
        {"evenness": 0.7},
        {"gate": lambda rows: np.column_stack([rows[:, 0] > 0, rows[:, 0] <= 0]).astype(float)},
        {"gate": lambda rows: np.column_stack([rows[:, 1] > 0, rows[:, 1] <= 0]).astype(float)},
    ):
        warm = clone(cold).set_params(**change)._fit(X, y, context)
        alone = clone(cold).set_params(**change).fit(X, y)
        np.testing.assert_array_equal(warm.memberships_, alone.memberships_)
        np.testing.assert_allclose(warm.factors_, alone.factors_)


def test_parameters_that_fit_does_not_take_are_refused_before_any_fit():
    X, y = data()
    with pytest.raises(TypeError, match=r"`fit` of MKLClassifier takes sample_weight .*, got 'unlabeled'"):
        MKLSearchCV(build(MKLClassifier), {"C": [1.0]}).fit(X, y, unlabeled=X)


def test_kernels_that_cannot_be_used_are_the_candidates_fault():
    X, y = data()
    grid = {"kernels": [[], KERNELS]}
    with (
        pytest.warns(UserWarning, match="test scores are non-finite"),
        pytest.warns(Warning, match="at least one kernel"),
    ):
        search = MKLSearchCV(build(MKLClassifier), grid, cv=FOLDS).fit(X, y)
    assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == [True, False]


def test_only_estimators_of_this_package_and_their_parameters_are_searched():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = data()
    with pytest.raises(TypeError, match=r"must be an estimator of localmkl, got Pipeline; .* GridSearchCV"):
        MKLSearchCV(make_pipeline(StandardScaler(), MKLClassifier()), {"C": [1.0]}).fit(X, y)
    with pytest.raises(
        ValueError, match="must name parameters of MKLClassifier, got 'evenness'; they are C,"
    ):
        MKLSearchCV(MKLClassifier(), {"evenness": [0.5]}).fit(X, y)
    with pytest.raises(ValueError, match="param_grid"):
        MKLSearchCV(MKLClassifier(), "C").fit(X, y)


def test_a_search_can_be_cloned_and_pickled():
    import pickle

    X, y = data()
    search = MKLSearchCV(build(MKLClassifier), {"C": [0.1, 1.0]}, cv=2)
    assert clone(search).get_params()["param_grid"] == {"C": [0.1, 1.0]}
    again = pickle.loads(pickle.dumps(search.fit(X, y)))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))


def test_the_bar_goes_to_stderr_and_only_when_asked_for(capsys):
    X, y = data()
    MKLSearchCV(build(MKLClassifier), {"C": [0.1, 1.0]}, cv=2, verbose=1).fit(X, y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "4/4" in err
    MKLSearchCV(build(MKLClassifier), {"C": [0.1, 1.0]}, cv=2).fit(X, y)
    assert capsys.readouterr() == ("", "")


def scarce(monkeypatch, beside):
    """Leave as much memory as the fits of a search need, and a little less than its stacks need too."""
    from localmkl.model_selection import grams

    settle = grams.SharedGrams.settle

    def with_little(self, stacks, *needed):
        available = max(*needed, 2 * 8 * len(self.X) ** 2) + beside - 1
        for module in (grams, _resources):
            monkeypatch.setattr(module, "available_memory", lambda: available)
        return settle(self, stacks, *needed)

    monkeypatch.setattr(grams.SharedGrams, "settle", with_little)


def test_stacks_that_do_not_fit_are_refused_before_any_is_computed(monkeypatch):
    from localmkl.model_selection import grams

    X, y = data()
    calls = []
    search = MKLSearchCV(MKLClassifier([lambda A, B: calls.append(1)]), {"C": [0.1, 1.0]}, cv=FOLDS)
    monkeypatch.setattr(grams, "disk_room", lambda folder: 1000)
    with pytest.raises(MemoryError, match=r"workers share need [\d,]+ bytes in .* 1,000 bytes are available"):
        search.set_params(n_jobs=2).fit(X, y)
    scarce(monkeypatch, 8 * len(X) ** 2)
    with pytest.raises(
        MemoryError, match=r"The search on 40 rows needs [\d,]+ bytes of memory, [\d,]+ bytes"
    ):
        search.set_params(n_jobs=None).fit(X, y)
    assert calls == []


def test_a_fit_that_finds_no_memory_ends_the_search(monkeypatch):
    X, y = data()

    def refuse(*_):
        raise MemoryError("no more")

    monkeypatch.setattr(MKLClassifier, "_solve_classes", refuse)
    with pytest.raises(MemoryError, match="no more"):
        MKLSearchCV(MKLClassifier(), {"C": [0.1, 1.0]}, cv=2).fit(X, y)
