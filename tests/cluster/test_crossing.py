"""The best intercept of rows in several places is that of all rows in one."""

import numpy as np
import pytest

from localmkl.cluster import crossing
from localmkl.solvers.losses import EpsilonInsensitive, Hinge, Quantile


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.1), Quantile(0.9)], ids=repr)
def test_few_points_at_a_time_find_the_best_intercept(loss, monkeypatch):
    monkeypatch.setattr(crossing, "SHOWN", 5)
    rng = np.random.default_rng(0)
    for digits in (1, 15):  # many equal points, or none
        scores = [rng.normal(size=n_rows).round(digits) for n_rows in (50, 1, 300)]
        labels = [rng.choice([-1.0, 1.0], len(own)) for own in scores]
        costs = [rng.uniform(size=len(own)) * (own < 1.0) for own in scores]
        places = [crossing.Breaks(*loss.breakpoints(*own)) for own in zip(scores, labels, costs, strict=True)]
        found = crossing.find_crossing(lambda *ends, places=places: [own.between(*ends) for own in places])
        expected = loss.best_intercept(*map(np.concatenate, (scores, labels, costs)))
        assert found == pytest.approx(expected, abs=1e-12)
