"""Stability selection: the bounds of Shah and Samworth."""

import numpy as np
import pytest

from localmkl.inference import false_choices
from localmkl.inference.selection import least_threshold, unimodal_factor


def test_the_worst_case_bound_is_that_of_the_first_theorem():
    q, n_kernels, tau = 3.0, 30, 0.8
    assert false_choices(tau, q, n_kernels, 50, "worst") == pytest.approx(q**2 / (n_kernels * (2 * tau - 1)))


def test_the_factor_of_one_mode_is_that_of_the_second_theorem():
    theta, pairs = 0.1, 50
    assert unimodal_factor(0.7, theta, pairs) == pytest.approx(1 / (2 * (2 * 0.7 - 1 - 1 / 100)))
    assert unimodal_factor(0.9, theta, pairs) == pytest.approx(4 * (1 - 0.9 + 1 / 100) / (1 + 1 / 50))
    assert unimodal_factor(0.9, 0.6, pairs) == np.inf  # theta is too large for the theorem
    assert unimodal_factor(0.505, theta, pairs) == np.inf


def test_one_mode_never_makes_the_bound_worse():
    for tau in np.linspace(0.51, 1.0, 20):
        for q in (0.5, 2.0, 8.0, 20.0):
            assert false_choices(tau, q, 20, 50) <= false_choices(tau, q, 20, 50, "worst")


@pytest.mark.parametrize("bound", ["worst", "unimodal"])
@pytest.mark.parametrize("threshold", [0.6, 0.75, 0.9])
def test_simulated_choices_at_random_stay_below_the_bound(bound, threshold):
    rng = np.random.default_rng(0)
    n_kernels, q, pairs, n_runs = 20, 4, 25, 200
    counts = []
    for _ in range(n_runs):
        # Each half draws q of the kernels, none better than another: all are false.
        drawn = rng.random((2 * pairs, n_kernels)).argsort(axis=1)[:, :q]
        frequency = np.bincount(drawn.ravel(), minlength=n_kernels) / (2 * pairs)
        counts.append((frequency >= threshold).sum())
    assert np.mean(counts) <= false_choices(threshold, q, n_kernels, pairs, bound)


def test_the_smallest_threshold_keeps_the_bound_and_none_is_said_where_none_does():
    tau = least_threshold(0.5, 3.0, 20, 50)
    assert false_choices(tau, 3.0, 20, 50) <= 0.5 < false_choices(tau - 0.01, 3.0, 20, 50)
    assert least_threshold(0.5, 18.0, 20, 50) == np.inf


def test_a_threshold_of_a_half_is_refused():
    with pytest.raises(ValueError, match="`threshold` must be greater than"):
        false_choices(0.5, 2.0, 10, 50)
