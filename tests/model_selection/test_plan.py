"""Every candidate in one batch, series that keep C and p, columns of one evenness."""

import numpy as np
import pytest
from sklearn.model_selection import ParameterGrid

from localmkl.model_selection.plan import WIDTH, plan, series_of

GRIDS = {
    "C and evenness": {"C": np.logspace(-1, 2, 7), "evenness": np.linspace(0.4, 0.8, 8)},
    "p too": {"C": np.logspace(-1, 2, 7), "evenness": [0.4, 0.8], "p": [1, 4 / 3, 2]},
    "without evenness": {"C": [1.0, 0.1, 10.0], "p": [1, 2]},
    "off the path": {
        "C": [1, 10],
        "n_clusters": np.array([2, 3]),
        "kernels": [[1], [2]],
        "normalize": [None, "trace"],
    },
    "two grids": [{"C": [1.0, 2.0]}, {"evenness": [0.5, 0.9], "n_clusters": [2]}],
    "losses": {"loss": ["hinge", "log_loss"], "quantile": [0.1, 0.9], "C": [1, 2], "evenness": [0.4, 0.8]},
    "unusable values": {"C": [1.0, None, "much"], "evenness": [0.5, None]},
}


@pytest.mark.parametrize("n_folds", [1, 5, 20])
@pytest.mark.parametrize("name", GRIDS)
def test_every_candidate_runs_once_beside_its_kind(name, n_folds):
    candidates = list(ParameterGrid(GRIDS[name]))
    batches = plan(candidates, {"C": 1.0, "evenness": 0.5, "p": 2}, n_folds)
    assert sorted(number for batch in batches for number in batch.candidates) == list(range(len(candidates)))
    for batch in batches:
        assert len({series_of(candidates[number]) for number in batch.candidates}) <= WIDTH
        for column in batch.columns:
            assert len({repr(candidates[number].get("evenness")) for number in column} - {"None"}) <= 1
            series = [series_of(candidates[number]) for number in column]
            assert len(set(series)) == len(series)
        groups = [
            {
                key: str(value)
                for key, value in candidates[number].items()
                if key not in ("C", "p", "evenness", "loss", "quantile")
            }
            for number in batch.candidates
        ]
        assert all(group == groups[0] for group in groups)


def test_evenness_rises_along_a_batch_and_few_batches_are_cut_for_workers_to_share():
    candidates = list(ParameterGrid(GRIDS["C and evenness"]))
    batches = plan(candidates, {}, 1)
    assert [len(batch.columns[0]) for batch in batches] == [4, 3]
    assert [len(batch.columns[0]) for batch in plan(candidates, {}, 10)] == [7]
    for batch in batches:
        walked = [candidates[column[0]]["evenness"] for column in batch.columns]
        assert walked == sorted(GRIDS["C and evenness"]["evenness"])
