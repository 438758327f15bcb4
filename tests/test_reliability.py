"""Reliability: bins of equal counts, intervals of an outside reference, probabilities that are true."""

import numpy as np
import pytest
from scipy.stats import binomtest

from localmkl.calibration import event_probabilities, reliability


def test_bins_have_equal_counts_and_the_intervals_of_scipy():
    rng = np.random.default_rng(0)
    given = rng.random(1003)
    truth = rng.random(1003) < given
    bins = reliability(given, truth)
    assert set(bins.count) == {100, 101}
    order = np.argsort(given)
    parts = np.split(order, np.cumsum(bins.count)[:-1])
    np.testing.assert_allclose(bins.predicted, [given[part].mean() for part in parts])
    np.testing.assert_allclose(bins.observed, [truth[part].mean() for part in parts])
    for part, low, high in zip(parts, bins.low, bins.high, strict=True):
        reference = binomtest(int(truth[part].sum()), len(part)).proportion_ci(method="wilson")
        assert (low, high) == pytest.approx((reference.low, reference.high))


def test_true_probabilities_are_off_by_no_more_than_chance_and_exaggerated_ones_by_more():
    rng = np.random.default_rng(0)
    given = rng.random(20_000)
    truth = rng.random(20_000) < given
    honest = reliability(given, truth)
    assert honest.inside.sum() >= 8
    assert honest.error < 2 * honest.chance
    bold = reliability(given**3 / (given**3 + (1 - given) ** 3), truth)
    assert bold.inside.sum() <= 4
    assert bold.error > 10 * bold.chance


def test_equal_probabilities_share_a_bin_and_few_samples_have_few_bins():
    bins = reliability([0.3] * 7, [1, 0, 0, 0, 1, 0, 0])
    assert bins.count.tolist() == [7]
    assert bins.observed == pytest.approx(2 / 7)
    bins = reliability([0.0, 1.0, 0.5], [0, 1, 1])
    assert bins.count.tolist() == [1, 1, 1]
    assert bins.low.min() >= 0.0
    assert bins.high.max() <= 1.0


def test_the_event_is_a_class_or_that_the_prediction_is_right():
    given, classes = np.array([[0.9, 0.1], [0.4, 0.6]]), np.array(["no", "yes"])
    chances, truth = event_probabilities(given, ["yes", "yes"], classes)
    assert chances.tolist() == [0.1, 0.6]
    assert truth.tolist() == [True, True]
    assert event_probabilities(given, ["yes", "yes"], classes, "no")[1].tolist() == [False, False]
    with pytest.raises(ValueError, match="`label` must be one of \\['no', 'yes'\\], got 'perhaps'"):
        event_probabilities(given, ["yes", "yes"], classes, "perhaps")


def test_what_is_no_probability_is_refused():
    with pytest.raises(ValueError, match=r"must lie between 0 and 1, got 1\.5"):
        reliability([0.5, 1.5], [True, False])
    with pytest.raises(ValueError, match=r"one value for each sample, got shapes \(2,\) and \(1,\)"):
        reliability([0.5, 0.5], [True])
