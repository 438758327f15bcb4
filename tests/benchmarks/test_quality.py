"""The table of quality still runs: tiny sets that need no files, no claim about scores."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.quality import cells, sets, table
from benchmarks.quality.__main__ import main
from reproduction.rows import read_rows


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_table_of_quality_runs_goes_on_and_is_summarised(tmp_path, capsys):
    main(["--smoke", "--out", str(tmp_path)])
    _, rows = read_rows(tmp_path / cells.ROWS)
    assert {row["set"] for row in rows} == set(sets.SMOKE)
    assert not [row for row in rows if "error" in row]
    written = (tmp_path / cells.ROWS).read_bytes()
    main(["--smoke", "--out", str(tmp_path)])
    assert (tmp_path / cells.ROWS).read_bytes() == written
    assert "CLMKL − the better of UNIF and MKL" in capsys.readouterr().out


def row(method, repetition, score, inner=None):
    about = {"set": "s", "metric": "roc_auc", "n_train": 1, "n_test": 1, "cpu": "", "cores": 1}
    about |= {"date": "2026-01-01", "commit": "c", "seconds": 1.0}
    return {**about, "method": method, "repetition": repetition, "score": score, "inner": inner}


def test_the_baseline_is_the_model_with_the_best_inner_score_and_takes_the_time_of_all():
    rows = [row("fit", 0, 0.9), row("fit", 1, 0.8)]
    rows += [row("SVM", k, 0.7, inner=0.6) for k in (0, 1)]
    rows += [row("linear", 0, 0.8, inner=0.5), row("linear", 1, 0.6, inner=0.9)]
    scores, times = table._collect(rows)
    assert scores["s"]["baseline"] == {0: 70.0, 1: 60.0}
    assert times["s"]["baseline"] == {0: 2.0, 1: 2.0}
    assert "| s | **+20.0 ± 0.0** |" in table.summarise(rows)


def test_scores_with_known_groups_are_means_within_groups():
    from benchmarks.quality.answers import score

    y, groups = np.array([0, 1, 0, 1]), np.array(["a", "a", "b", "b"])
    data = sets.Data(np.zeros((4, 1)), y, groups=groups)
    # Each group is in order, all rows together are not.
    assert score(data, np.arange(4), np.array([0.0, 1.0, 2.0, 3.0])) == 1.0
    assert score(data, np.arange(4), np.array([0.0, 1.0, 3.0, 2.0])) == 0.5


def test_a_set_without_its_file_is_left_out_and_said(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCALMKL_DATA", str(tmp_path))
    sets.load.cache_clear()
    there, missing = cells._loaded(["wine", "mfeat", "ROSMAP"])
    sets.load.cache_clear()
    assert there == ["wine"]
    assert "Handwritten.mat" in missing[0]
    assert "1_featname.csv" in missing[1]
