"""Known groups: splits that are equal in groups and classes, scores within a group."""

from dataclasses import replace

import numpy as np
import pytest

from localmkl.experiments.catalogue.organisms import ORGANISMS
from localmkl.experiments.organisms import load_quick
from localmkl.experiments.within_groups import HALF, auc_within, select_within_groups

METHODS = {method.label: method for method in ORGANISMS.quickened().methods}


@pytest.fixture(scope="module")
def data():
    return load_quick()


def test_training_rows_are_drawn_equally_from_groups_and_classes_and_all_others_tested(data):
    task, smaller, other = data.task(40, 0), data.task(20, 0), data.task(40, 1)
    np.testing.assert_array_equal(np.sort(np.r_[task.train, task.test]), np.arange(len(data.y)))
    strata = list(zip(data.groups[task.train].tolist(), data.y[task.train].tolist(), strict=True))
    assert {kind: strata.count(kind) for kind in strata} == {
        (g, c): 10 for g in ("EI", "IE") for c in (1, -1)
    }
    assert set(smaller.train) < set(task.train)
    assert set(other.train) != set(task.train)
    with pytest.raises(ValueError, match="must lie between 4 and 156 with these rows, got 3"):
        data.task(3, 0)


@pytest.mark.parametrize("label", ["one MKL for each", "groups, half shared"])
def test_labels_of_test_rows_choose_nothing_and_the_score_is_that_within_groups(data, label):
    task = data.task(40, 0)
    found = select_within_groups(task, METHODS[label], 2, 0)
    y = task.y.copy()
    y[task.test] *= -1
    changed = select_within_groups(replace(task, y=y), METHODS[label], 2, 0)
    assert changed["score"] == pytest.approx(1.0 - found["score"])
    for name in ("parameters", "valid_score", "gap"):
        assert changed[name] == found[name]


def test_how_well_groups_are_told_apart_helps_no_method():
    groups, y = np.array(["a", "a", "b", "b"]), np.array([1, -1, 1, -1])
    decisions = np.array([0.2, 0.1, 0.4, 0.3])
    assert auc_within(groups, y, decisions) == auc_within(groups, y, decisions + 9.0 * (groups == "b")) == 1.0


def test_the_share_is_near_one_half_unless_folds_speak_against_it(data, monkeypatch):
    monkeypatch.setattr("localmkl.experiments.within_groups.auc_within", lambda *_: 0.75)  # all are alike
    method = replace(METHODS["groups, share chosen"], grid={"C": (1.0,), "shared": (0.0, HALF, 1.0)})
    chosen = select_within_groups(data.task(40, 0), method, 2, 0)
    assert chosen["parameters"]["shared"] == HALF
