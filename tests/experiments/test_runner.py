"""Runs: what is there is not run again, whatever happens in between."""

import json
from dataclasses import replace
from functools import partial

import pytest
from joblib.externals.loky.process_executor import TerminatedWorkerError

from localmkl.experiments import EXPERIMENTS, Interrupted, read_results, run_experiment
from localmkl.experiments import runner as runner_module
from localmkl.experiments.protocol import Method, Source
from localmkl.experiments.runner import choose_methods, choose_points, result_path
from localmkl.experiments.sources import load_uci_splice

SOURCE = Source("small", "splice junctions", "stand-in", partial(load_uci_splice, 60), "seconds")
EXPERIMENT = replace(
    EXPERIMENTS["splice"],
    sources=(SOURCE,),
    points=(20, 30),
    repetitions=2,
    reference="MKL",
    methods=(
        Method("UNIF", "UNIF", {"C": (0.1, 1.0)}),
        Method("MKL", "MKL", {"C": (0.1, 1.0)}),
        Method("LMKL", "LMKL", {"C": (1.0,)}, slow=True),
    ),
)


def keys(rows):
    return [(row["method"], row["point"], row["repetition"]) for row in rows]


def test_rows_say_what_they_are_and_how_they_were_made(tmp_path):
    rows = run_experiment(EXPERIMENT, SOURCE, tmp_path, n_jobs=1)
    assert sorted(keys(rows)) == sorted((m, n, k) for m in ("UNIF", "MKL") for n in (20, 30) for k in (0, 1))
    for row in rows:
        assert (row["experiment"], row["data"], row["fidelity"]) == ("splice", "small", "stand-in")
        assert 0.0 <= row["score"] <= 1.0
        assert row["gap"] <= 1e-3
        assert row["parameters"]["C"] in (0.1, 1.0)
        assert row["seed"] == row["repetition"]
        assert row["n_train"] == row["point"]
        assert row["seconds"] > 0.0
        assert {"version", "commit", "cpu", "cores", "date", "valid_score", "n_fits"} <= set(row)
    settings, written = read_results(result_path(tmp_path, EXPERIMENT, SOURCE))
    assert written == rows
    assert settings["grids"]["MKL"] == {"C": [0.1, 1.0]}


def test_more_of_everything_adds_only_what_is_missing(tmp_path):
    first = run_experiment(
        EXPERIMENT, SOURCE, tmp_path, repetitions=1, points=["20"], methods=["UNIF"], n_jobs=1
    )
    assert keys(first) == [("UNIF", 20, 0)]
    more = run_experiment(EXPERIMENT, SOURCE, tmp_path, points=["20"], n_jobs=1)
    assert more[0] == first[0]
    assert sorted(keys(more)) == [(m, 20, k) for m in ("MKL", "UNIF") for k in (0, 1)]


def test_nothing_is_run_twice(tmp_path, monkeypatch):
    rows = run_experiment(EXPERIMENT, SOURCE, tmp_path, n_jobs=1)
    monkeypatch.setattr(runner_module, "run_cell", lambda *_: pytest.fail("a finished cell was run again"))
    assert run_experiment(EXPERIMENT, SOURCE, tmp_path, n_jobs=1) == rows


def test_a_stopped_run_keeps_what_is_finished_and_goes_on_to_the_same_end(tmp_path, monkeypatch):
    whole = run_experiment(EXPERIMENT, SOURCE, tmp_path / "whole", n_jobs=1)
    run_cell, calls = runner_module.run_cell, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return run_cell(*arguments)

    monkeypatch.setattr(runner_module, "run_cell", interrupted)
    with pytest.raises(Interrupted, match=r"2 of 4 cells were finished.*the same command goes on"):
        run_experiment(EXPERIMENT, SOURCE, tmp_path / "stopped", n_jobs=1)
    path = result_path(tmp_path / "stopped", EXPERIMENT, SOURCE)
    assert len(read_results(path)[1]) == 4
    with path.open("ab") as file:  # as if killed while writing
        file.write(b'{"method": "UNIF", "po')
    monkeypatch.setattr(runner_module, "run_cell", run_cell)
    resumed = run_experiment(EXPERIMENT, SOURCE, tmp_path / "stopped", n_jobs=1)
    assert keys(resumed) == keys(whole)
    assert [row["score"] for row in resumed] == [row["score"] for row in whole]


def test_a_worker_that_dies_costs_its_own_cells_alone(tmp_path, monkeypatch, capsys):
    run_cell, calls = runner_module.run_cell, []

    def dying(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise TerminatedWorkerError("a segmentation fault, or too much memory")
        return run_cell(*arguments)

    monkeypatch.setattr(runner_module, "run_cell", dying)
    with pytest.raises(RuntimeError, match=r"has died.*1 of 4 cells were finished.*fewer workers"):
        run_experiment(EXPERIMENT, SOURCE, tmp_path, n_jobs=1)
    assert len(read_results(result_path(tmp_path, EXPERIMENT, SOURCE))[1]) == 2
    assert capsys.readouterr().out == ""


def test_failed_rows_are_tried_again(tmp_path, monkeypatch):
    run_cell = runner_module.run_cell

    def failing(experiment, data, methods, point, repetition):
        rows = run_cell(experiment, data, methods, point, repetition)
        return [
            {**dict(zip(("method", "point", "repetition"), keys([row])[0], strict=True)), "error": "E: no"}
            if row["method"] == "MKL"
            else row
            for row in rows
        ]

    monkeypatch.setattr(runner_module, "run_cell", failing)
    options = {"repetitions": 1, "points": [20], "n_jobs": 1}
    assert "error" in run_experiment(EXPERIMENT, SOURCE, tmp_path, **options)[1]
    monkeypatch.setattr(runner_module, "run_cell", run_cell)
    rows = run_experiment(EXPERIMENT, SOURCE, tmp_path, **options)
    assert keys(rows) == [("UNIF", 20, 0), ("MKL", 20, 0), ("MKL", 20, 0)]
    assert "error" not in rows[2]


@pytest.mark.long
def test_two_workers_find_what_one_finds(tmp_path):
    alone = run_experiment(EXPERIMENT, SOURCE, tmp_path / "one", n_jobs=1)
    shared = run_experiment(EXPERIMENT, SOURCE, tmp_path / "two", n_jobs=2)
    score = {key: row["score"] for key, row in zip(keys(alone), alone, strict=True)}
    assert {key: row["score"] for key, row in zip(keys(shared), shared, strict=True)} == score


def test_other_grids_in_the_same_file_are_an_error(tmp_path):
    run_experiment(EXPERIMENT, SOURCE, tmp_path, repetitions=1, points=[20], n_jobs=1)
    other = replace(EXPERIMENT, methods=(Method("UNIF", "UNIF", {"C": (5.0,)}),))
    with pytest.raises(ValueError, match=r"other settings \(grids: .*choose another folder"):
        run_experiment(other, SOURCE, tmp_path, n_jobs=1)


def test_methods_and_other_words_can_be_added_to_a_file(tmp_path):
    first, second, _ = EXPERIMENT.methods
    options = {"repetitions": 1, "points": [20], "n_jobs": 1}
    alone = replace(EXPERIMENT, methods=(first,))
    before = run_experiment(alone, SOURCE, tmp_path, **options)
    other = replace(EXPERIMENT, methods=(second,), protocol="The same in other words.")
    rows = run_experiment(other, SOURCE, tmp_path, **options)
    assert rows[0] == before[0]
    assert keys(rows) == [("UNIF", 20, 0), ("MKL", 20, 0)]
    settings, written = read_results(result_path(tmp_path, EXPERIMENT, SOURCE))
    assert written == rows
    assert set(settings["grids"]) == {"UNIF", "MKL"}
    assert settings["protocol"] == "The same in other words."


@pytest.mark.parametrize("name", ["method", "repetition", "cpu"])
def test_a_row_that_lacks_something_is_named_with_its_line(tmp_path, name):
    run_experiment(EXPERIMENT, SOURCE, tmp_path, repetitions=1, points=[20], n_jobs=1)
    path = result_path(tmp_path, EXPERIMENT, SOURCE)
    settings, first, second = path.read_text().splitlines()
    second = json.dumps({key: value for key, value in json.loads(second).items() if key != name})
    path.write_text("\n".join([settings, first, second, ""]))
    with pytest.raises(ValueError, match=rf"line 3, must be a row of the experiment, it has no '{name}'"):
        run_experiment(EXPERIMENT, SOURCE, tmp_path, points=[20], n_jobs=1)


def test_methods_are_chosen_by_family_or_label_and_slow_ones_by_name_only():
    splice = EXPERIMENTS["splice"]
    assert choose_methods(splice, None) == list(splice.methods)
    assert "HLMKL" not in {method.label for method in choose_methods(EXPERIMENTS["scale"], None)}
    assert "HLMKL" in {method.label for method in choose_methods(EXPERIMENTS["scale"], ["HLMKL"])}
    assert [method.label for method in choose_methods(splice, ["LMKL"])] == ["LMKL"]
    plus = ["CLMKL+, p = 1", "CLMKL+, p = 4/3", "CLMKL+, p = 2"]
    assert [method.label for method in choose_methods(splice, ["CLMKL+"])] == plus
    assert set(plus) < {method.label for method in choose_methods(splice, ["CLMKL"])}
    assert [m.label for m in choose_methods(splice, ["CLMKL, p = 2", "UNIF"])] == ["UNIF", "CLMKL, p = 2"]
    with pytest.raises(ValueError, match=r"`methods` must be among .*, got 'SVM'"):
        choose_methods(splice, ["SVM"])


def test_points_are_numbers_of_the_axis():
    assert choose_points(EXPERIMENTS["splice"], ["100", "50"]) == (50, 100)
    assert choose_points(EXPERIMENTS["localized"], ["0", "0.5"]) == (0.0, 0.5)
    with pytest.raises(ValueError, match="values of the training size, such as 50"):
        choose_points(EXPERIMENTS["splice"], ["many"])
    for point in ("nan", "inf"):
        with pytest.raises(ValueError, match=f"values of the locality, such as 0.0, got '{point}'"):
            choose_points(EXPERIMENTS["localized"], [point])
    assert choose_points(EXPERIMENTS["images"], ["all"]) == ("all",)
    with pytest.raises(ValueError, match=r"must be 311, the one point of 'protein', got '50'; leave it out"):
        choose_points(EXPERIMENTS["protein"], ["50"])
