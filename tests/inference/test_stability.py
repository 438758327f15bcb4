"""Refits on other samples."""

import numpy as np
import pytest

from localmkl import CLMKLClassifier, GramStack, HLMKLClassifier, LMKLClassifier, MKLClassifier, MKLRegressor
from localmkl.datasets import make_localized
from localmkl.explain import kernel_shares
from localmkl.inference import stability
from localmkl.inference.refits import Refits, check_data
from localmkl.inference.stability import complementary_halves
from localmkl.kernels import RBF, Linear
from localmkl.model_selection import MKLSearchCV
from localmkl.model_selection.grams import SharedGrams


def _refits(model, X, y, sample_weight=None):
    X, rows, y, groups = check_data(model, X, y, None, sample_weight)
    return Refits.of(model, X, y, groups, sample_weight, SharedGrams(rows, in_files=False))


@pytest.mark.parametrize("p", [1.0, 4 / 3])
def test_a_refit_on_all_rows_is_the_model(p, make_problem, make_model):
    stack, y, _ = make_problem()
    model = make_model(p=p, tol=1e-6).fit(stack, y)
    refit = _refits(model, stack, y).fit(np.arange(len(y)))
    assert refit.model.duality_gap_ <= 1e-6
    assert kernel_shares(refit.model)[refit.order] == pytest.approx(kernel_shares(model), abs=5e-3)


def test_a_refit_on_half_of_the_rows_is_the_fit_with_twice_the_cost(make_problem, make_model):
    stack, y, _ = make_problem()
    half = np.arange(0, 100, 2)
    refit = _refits(make_model(tol=1e-6).fit(stack, y), stack, y).fit(half, per_sample=True)
    cold = make_model(tol=1e-6, C=6.0).fit(stack[np.ix_(half, half)], y[half])
    assert refit.model.C == 6.0
    decisions = (one.decision_function(stack[np.ix_(half, half)]) for one in (refit.model, cold))
    assert next(decisions) == pytest.approx(next(decisions), abs=5e-3)


def test_a_refit_on_a_few_groups_matches_its_clusters_to_those_of_the_model(make_problem, make_model):
    stack, y, _ = make_problem(150)
    model = make_model().fit(stack, y)
    rows = np.flatnonzero(np.arange(150) % 2)
    refit = _refits(model, stack, y).fit(rows, seed=3)
    own, found = model.memberships_[rows].argmax(axis=1), refit.model.memberships_.argmax(axis=1)
    assert np.mean(refit.order[own] == found) > 0.9


def test_halves_of_a_pair_divide_the_rows_and_the_labels():
    labels = np.repeat([0, 1, 2], [31, 20, 10])
    draws = complementary_halves(labels, 61, 8, seed=0)
    for first, second in zip(draws[::2], draws[1::2], strict=True):
        assert sorted([*first, *second]) == list(range(61))
        assert abs(np.bincount(labels[first]) - np.bincount(labels[second])).max() <= 1
        assert abs(len(first) - len(second)) <= 1


def test_clusters_that_are_far_apart_are_found_again(make_problem, make_model):
    stack, y, _ = make_problem(separation=12.0)
    found = stability(make_model().fit(stack, y), stack, y, n_resamples=20, random_state=0)
    assert found.jaccard.min() == 1.0


def test_the_result_is_plain_arrays_that_agree_with_each_other(make_problem, make_model):
    stack, y, _ = make_problem()
    model = make_model(p=1).fit(stack, y)
    found = stability(model, stack, y, n_resamples=20, random_state=0)
    assert found.shares == pytest.approx(kernel_shares(model))
    assert found.resampled.shape == (20, 3, 6)
    assert found.resampled.sum(axis=2) == pytest.approx(np.ones((20, 3)))
    assert np.array_equal(found.frequency, (found.resampled >= 0.01).mean(axis=0))
    assert (found.low <= found.high).all()
    assert (found.clusters, found.kernels[0]) == (["cluster 1", "cluster 2", "cluster 3"], "kernel 1")


@pytest.mark.long
def test_the_same_seed_gives_the_same_whatever_the_number_of_workers(make_problem, make_model):
    stack, y, _ = make_problem(60)
    model = make_model().fit(stack, y)
    one, two = (stability(model, stack, y, n_resamples=20, random_state=0, n_jobs=n) for n in (1, 2))
    assert np.array_equal(one.resampled, two.resampled)
    assert np.array_equal(one.assigned, two.assigned)


def test_a_stopped_call_goes_on_where_it_was(tmp_path, monkeypatch, make_problem, make_model):
    stack, y, _ = make_problem(60)
    model = make_model().fit(stack, y)
    whole = stability(model, stack, y, n_resamples=20, random_state=0)
    options = {"n_resamples": 20, "random_state": 0, "checkpoint": tmp_path / "refits.log"}
    fit, calls = Refits.fit, []

    def interrupted(self, *args, **changes):
        calls.append(1)
        if len(calls) == 8:
            raise KeyboardInterrupt
        return fit(self, *args, **changes)

    monkeypatch.setattr(Refits, "fit", interrupted)
    with pytest.warns(UserWarning, match="7 of 20 refits are finished"):
        part = stability(model, stack, y, **options)
    assert part.interrupted
    assert len(part.resampled) == 6  # both halves of a pair, or none
    found = stability(model, stack, y, **options)
    assert len(calls) == 8 + 13
    assert np.array_equal(found.resampled, whole.resampled)
    with pytest.raises(ValueError, match=r"belongs to another call of `stability` \(other targets\)"):
        stability(model, stack, -y, **options)


FEW = {"n_resamples": 20, "random_state": 0}


@pytest.fixture(name="rows")
def _rows():
    X, y, groups, views = make_localized(60, random_state=0)
    return X, y, groups, [Linear(columns=view) for view in views[:2]] + [RBF()]


def test_one_cluster_is_always_found_again(rows):
    X, y, _, kernels = rows
    assert (stability(MKLClassifier(kernels).fit(X, y), X, y, **FEW).jaccard == 1.0).all()


def test_a_shared_part_is_a_row_of_its_own_without_a_jaccard(rows):
    X, y, _, kernels = rows
    found = stability(CLMKLClassifier(kernels, shared=0.5, random_state=0).fit(X, y), X, y, **FEW)
    assert found.clusters[0] == "shared"
    assert np.isnan(found.jaccard[0])
    assert (found.jaccard[1:] > 0.2).all()


def test_known_groups_are_found_again_by_their_names(rows):
    X, y, groups, kernels = rows
    known = HLMKLClassifier(kernels, gate="groups").fit(X, y, groups=groups)
    assert (stability(known, X, y, groups=groups, **FEW).jaccard == 1.0).all()


def test_regression_and_kernels_divided_by_their_diagonals(rows):
    X, _, _, kernels = rows
    y = make_localized(60, regression=True, random_state=0).y
    model = MKLRegressor(kernels, normalize="cosine").fit(X, y)
    assert stability(model, X, y, **FEW).low.shape == (1, 3)


def test_several_classes_are_averaged(rows):
    X, _, _, kernels = rows
    y = np.digitize(make_localized(60, regression=True, random_state=0).y, [-0.5, 0.5])
    model = MKLClassifier(kernels).fit(X, y)
    found = stability(model, X, y, **FEW)
    assert found.shares == pytest.approx(kernel_shares(model))
    assert found.corrected.sum() == pytest.approx(1.0)


def test_a_search_stands_for_its_best_model(make_problem, make_model):
    stack, y, _ = make_problem(60)
    search = MKLSearchCV(make_model(), {"C": [1.0, 3.0]}, cv=2).fit(stack, y)
    found = stability(search, stack, y, n_resamples=20, random_state=0)
    assert found.shares == pytest.approx(kernel_shares(search.best_estimator_))


def test_a_fixed_matrix_is_kept_in_every_refit(make_problem):
    stack, y, groups = make_problem(60)
    model = CLMKLClassifier("precomputed", gate=np.eye(3)[groups]).fit(stack, y)
    found = stability(model, stack, y, n_resamples=20, random_state=0)
    assert (found.jaccard == 1.0).all()


def test_wrong_uses_say_what_to_do(make_problem, make_model):
    stack, y, _ = make_problem(60)
    model = make_model().fit(stack, y)
    with pytest.raises(ValueError, match="`n_resamples` must be even"):
        stability(model, stack, y, n_resamples=21)
    with pytest.raises(ValueError, match="`X` and `y` must be the 60 training rows"):
        stability(model, stack[:50, :50], y[:50])
    with pytest.raises(TypeError, match="must be a fitted convex model"):
        stability(LMKLClassifier("precomputed").fit(stack, y), stack, y)
    joint = GramStack(stack.grams)
    half = stack[np.ix_(range(40), range(40))]
    transductive = make_model().fit(half, y[:40], unlabeled=joint)
    with pytest.raises(ValueError, match="got one fitted with `unlabeled`"):
        stability(transductive, half, y[:40])
