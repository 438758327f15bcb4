"""The corrected t-test and the permutation test."""

import numpy as np
import pytest
from scipy import stats

from localmkl import CLMKLClassifier, MKLClassifier
from localmkl.inference import corrected_t_test, locality_test, permutation_p_value
from localmkl.inference.refits import Refits, check_data, own_loss
from localmkl.model_selection.grams import SharedGrams


def test_without_overlap_the_corrected_test_is_students():
    differences = np.random.default_rng(0).normal(0.3, 1.0, size=12)
    _, _, t, p = corrected_t_test(differences, 0.0)
    known = stats.ttest_1samp(differences, 0.0, alternative="greater")
    assert (t, p) == pytest.approx((known.statistic, known.pvalue))


def test_the_correction_is_that_of_nadeau_and_bengio():
    differences = np.array([0.02, 0.05, -0.01, 0.03, 0.04])
    mean, error, t, p = corrected_t_test(differences, 1 / 4)
    assert error == pytest.approx(np.sqrt((1 / 5 + 1 / 4) * differences.var(ddof=1)))
    assert t == pytest.approx(mean / error)
    assert p == pytest.approx(1.0 - stats.t.cdf(t, 4))


def test_equal_scores_are_no_evidence():
    assert corrected_t_test(np.zeros(5), 0.25)[3] == 1.0


def test_permutation_p_values_are_uniform_where_nothing_differs():
    rng = np.random.default_rng(0)
    values = [permutation_p_value(*_split(rng.normal(size=20))) for _ in range(4000)]
    assert set(np.round(np.multiply(values, 20)).astype(int)) == set(range(1, 21))
    counts = np.bincount(np.round(np.multiply(values, 20)).astype(int))[1:]
    assert stats.chisquare(counts).pvalue > 0.01


def _split(drawn):
    return drawn[0], drawn[1:]


def test_the_p_value_is_never_zero_and_ties_count_as_larger():
    assert permutation_p_value(5.0, np.zeros(99)) == 0.01
    assert permutation_p_value(0.0, np.zeros(99)) == 1.0


def test_locality_is_found_where_it_is_and_not_where_it_is_not(make_problem, make_model):
    options = {"n_permutations": 19, "folds": 3}
    stack, y, _ = make_problem(150)
    found = locality_test(make_model().fit(stack, y), stack, y, random_state=0, **options)
    assert found.t_p_value < 0.05
    assert found.p_value == 0.05
    assert found.low < found.difference < found.high
    stack, y, _ = make_problem(60, locality=0.0)
    found = locality_test(make_model().fit(stack, y), stack, y, random_state=0, **options)
    assert found.t_p_value > 0.5
    assert found.p_value > 0.05


def test_the_global_model_is_mkl_with_the_same_parameters(make_problem, make_model):
    stack, y, _ = make_problem()
    train, test = np.arange(80), np.arange(80, 100)
    model = make_model(tol=1e-6, C=2.0, p=2).fit(stack, y)
    X, rows, y, groups = check_data(model, stack, y, None, None)
    refits = Refits.of(model, X, y, groups, None, SharedGrams(rows, in_files=False))
    refit = refits.fit(train, test=test, shared=1.0)
    mkl = MKLClassifier("precomputed", C=2.0, p=2, tol=1e-6).fit(stack[np.ix_(train, train)], y[train])
    assert refit.score(y[test], own_loss) == pytest.approx(
        own_loss(mkl, stack[np.ix_(test, train)], y[test]), abs=1e-3
    )


def test_unshuffled_memberships_give_the_models_own_decisions(make_problem, make_model):
    stack, y, _ = make_problem()
    model = make_model(tol=1e-6, shared=0.3).fit(stack, y)
    X, rows, y, groups = check_data(model, stack, y, None, None)
    refits = Refits.of(model, X, y, groups, None, SharedGrams(rows, in_files=False))
    fixed = refits.with_memberships((model.memberships_[:, 1:]) / 0.7)
    everyone = np.arange(100)
    refit = fixed.fit(everyone, test=everyone)
    assert refit.score(y, own_loss) == pytest.approx(own_loss(model, stack, y), abs=1e-3)


def test_rows_and_scores_of_other_kinds_will_do():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = np.where(X[:, 0] > 0.0, "a", "b")
    model = CLMKLClassifier(n_clusters=2, normalize="cosine", random_state=0).fit(X, y)
    found = locality_test(model, X, y, n_permutations=3, folds=2, cv=2, scoring="accuracy", random_state=0)
    assert found.scoring == "accuracy"
    assert 0.5 <= found.global_scores.mean() <= 1.0
    assert found.p_value in {0.25, 0.5, 0.75, 1.0}


def test_finished_fits_are_taken_up_and_other_splits_are_another_call(tmp_path, make_problem, make_model):
    stack, y, _ = make_problem(60)
    model = make_model().fit(stack, y)
    options = {"folds": 2, "random_state": 0, "checkpoint": tmp_path / "fits.log"}
    splits = [(np.arange(40), np.arange(40, 60)), (np.arange(20, 60), np.arange(20))]
    first = locality_test(model, stack, y, cv=iter(splits), n_permutations=2, **options)
    again = locality_test(model, stack, y, cv=iter(splits), n_permutations=4, **options)
    assert again.permuted[:2].tolist() == first.permuted.tolist()
    assert again.t_p_value == first.t_p_value
    with pytest.raises(ValueError, match=r"another call of `locality_test` \(other splits\)"):
        locality_test(model, stack, y, cv=splits[::-1], n_permutations=2, **options)


def test_no_permutations_leave_their_test_out(make_problem, make_model):
    stack, y, _ = make_problem(60)
    found = locality_test(make_model().fit(stack, y), stack, y, n_permutations=0, cv=2, random_state=0)
    assert np.isnan(found.p_value)
    assert len(found.permuted) == 0


def test_a_model_with_one_set_of_weights_is_refused(make_problem):
    stack, y, _ = make_problem(60)
    with pytest.raises(ValueError, match="must have clusters or groups"):
        locality_test(MKLClassifier("precomputed").fit(stack, y), stack, y)
