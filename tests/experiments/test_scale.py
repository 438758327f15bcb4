"""Learning curves on many sequences: features beside exact Grams."""

from dataclasses import replace

import numpy as np
import pytest

from localmkl.experiments import EXPERIMENTS, run_experiment
from localmkl.experiments.figures import curves
from localmkl.experiments.scale import load_quick, pick_landmarks
from localmkl.experiments.summary import to_csv, to_markdown

SCALE = EXPERIMENTS["scale"].quickened()


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scale")
    return run_experiment(SCALE, SCALE.sources[0], folder, repetitions=2, n_jobs=1)


def test_training_rows_of_a_smaller_size_are_among_those_of_a_larger_one_and_none_is_tested():
    data = load_quick()
    small, large, other = data.task(40, 0), data.task(80, 0), data.task(40, 1)
    assert np.array_equal(small.X, large.X[:40])
    assert np.array_equal(small.X_test, other.X_test)
    assert not np.array_equal(small.X, other.X)
    whole = data.task(200, 0)
    assert sorted([*whole.X, *whole.X_test]) == sorted(data.X)
    with pytest.raises(ValueError, match="between 2 and 200 with 300 sequences, got 201"):
        data.task(201, 0)


def test_half_of_the_landmarks_are_positive_as_far_as_there_are_so_many():
    y = np.repeat([1, -1], [10, 90])
    for n_landmarks, n_positive in ((8, 4), (60, 10), (96, 10), (100, 10), (200, 10)):
        picked = pick_landmarks(y, n_landmarks, 0)
        assert len(set(picked.tolist())) == min(n_landmarks, 100)
        assert np.sum(y[picked] == 1) == n_positive


def test_features_of_full_rank_reach_what_exact_grams_reach(rows):
    found = {(row["method"], row["point"], row["repetition"]): row for row in rows}
    for family in ("UNIF", "MKL", "CLMKL"):
        near, exact = found[family, 60, 0], found[f"{family}, exact", 60, 0]  # 100 landmarks of 60 rows
        assert near["score"] == pytest.approx(exact["score"], abs=0.01)
        assert near["approximation_error"] < 1e-6
        assert near["exact_gap"] < 2e-3
        assert found[family, 150, 0]["approximation_error"] > 0.1
        assert found[family, 150, 0]["exact_gap"] > 0.1
    assert all(row["gap"] <= 1e-3 for row in rows)


def test_other_scores_and_costs_have_tables_and_the_figure_a_part_for_each_score(rows):
    text = to_markdown(SCALE, SCALE.sources[0], rows)
    assert "Area under the precision-recall curve, in percent:" in text
    assert "Relative duality gap of the models on features in the exact problem" in text
    assert set(curves(SCALE, rows)) == {"ours", "area under the precision-recall curve"}
    header, *lines = to_csv(SCALE, SCALE.sources[0], rows).splitlines()
    assert header.endswith("precision_recall,approximation_error,exact_gap")
    assert len(lines) == 12


def test_no_method_and_no_data_set_goes_beyond_its_largest_size(tmp_path):
    methods = (SCALE.methods[0], replace(SCALE.methods[3], most=60))
    source = replace(SCALE.sources[0], most=150)
    few = replace(SCALE, methods=methods, points=(60, 150, 300))
    rows = run_experiment(few, source, tmp_path, repetitions=1, n_jobs=1)
    assert [(row["method"], row["point"]) for row in rows] == [
        ("UNIF", 150),
        ("UNIF", 60),
        ("UNIF, exact", 60),
    ]


def test_sizes_at_which_nothing_runs_are_refused(tmp_path):
    few = replace(SCALE, methods=SCALE.methods[:1], points=(300,))
    with pytest.raises(ValueError, match=r"`sizes` are beyond what 'quick' has rows for.*got 300"):
        run_experiment(few, replace(SCALE.sources[0], most=150), tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_promoters_are_as_many_as_the_experiment_asks_for():
    source = EXPERIMENTS["scale"].sources[1]
    if source.missing():
        pytest.skip(f"not in the data home: {', '.join(source.missing())}")
    data = source.load()
    task = data.task(source.most, 0)
    assert (len(task.y), len(task.y_test), len(data.kernels)) == (40000, 10000, 20)
    assert abs(task.y.mean()) < 0.02
