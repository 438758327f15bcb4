"""Splitting weighted-degree expansions over positions."""

import numpy as np
import pytest

from localmkl.kernels import Spectrum, WeightedDegree
from localmkl.kernels.positions import position_shares


def random_sequences(rng, n, length, letters="ACGTN"):
    return ["".join(rng.choice(list(letters), length)) for _ in range(n)]


@pytest.mark.parametrize("shift", [0, 1, 3])
@pytest.mark.parametrize("letters", ["ACGTN", "AC"], ids=["short runs", "long runs"])
def test_shares_of_the_letters_add_up_to_the_expansion(shift, letters):
    rng = np.random.default_rng(0)
    X, Y = random_sequences(rng, 12, 17, letters), random_sequences(rng, 9, 17, letters)
    kernels = [WeightedDegree(d, shift=shift) for d in (1, 4, 20)] + [WeightedDegree(3)]
    coefficients = rng.normal(size=(4, 9, 2))
    shares = position_shares(kernels, X, Y, coefficients)
    expansion = sum(kernel(X, Y) @ coefficients[m] for m, kernel in enumerate(kernels))
    assert shares.shape == (12, 2, 17)
    np.testing.assert_allclose(shares.sum(axis=2), expansion, rtol=1e-12, atol=1e-12)


def test_shares_are_those_of_a_count_by_hand():
    rng = np.random.default_rng(1)
    x, y, degree, shift = *random_sequences(rng, 2, 14, "AC"), 5, 2
    expected = np.zeros(14)
    for k in range(1, degree + 1):
        worth = 2.0 * (degree - k + 1) / (degree * (degree + 1))
        for p in range(14 - k + 1):
            for s in range(-shift, shift + 1):
                inside = 0 <= p + s <= 14 - k
                if inside and x[p : p + k] == y[p + s : p + s + k]:
                    expected[p : p + k] += worth * (1.0 if s == 0 else 0.5 / (abs(s) + 1)) / k
    shares = position_shares([WeightedDegree(degree, shift=shift)], [x], [y], np.ones((1, 1, 1)))
    np.testing.assert_allclose(shares[0, 0], expected, atol=1e-13)


def test_ambiguous_letters_and_no_rows_have_no_share():
    kernel = WeightedDegree(3).fit(["ACNT"])
    shares = position_shares([kernel], ["ACNT"], ["ACNT"], np.ones((1, 1, 1)))
    assert shares[0, 0, 2] == 0.0
    assert shares[0, 0].sum() > 0.0
    assert not position_shares([kernel], ["ACNT"], [], np.ones((1, 0, 1))).any()


def test_other_kernels_and_mixed_columns_are_refused():
    with pytest.raises(TypeError, match="must be one or several WeightedDegree, got Spectrum"):
        position_shares([Spectrum(2)], ["AC"], ["AC"], np.ones((1, 1, 1)))
    mixed = [WeightedDegree(1, column="a"), WeightedDegree(1, column="b")]
    with pytest.raises(ValueError, match="one column with one alphabet"):
        position_shares(mixed, ["AC"], ["AC"], np.ones((2, 1, 1)))
