"""Runs and their files: what is there is not run again, whatever happens in between."""

import gzip
import json
from dataclasses import replace

import pytest
from reproduction import __main__ as commands
from reproduction import running
from reproduction.catalogue import EXPERIMENTS
from reproduction.data import splice_sites
from reproduction.protocol import Method, Source
from reproduction.rows import append_rows, open_rows, pack_rows, read_rows, row_key
from reproduction.running import choose_methods, choose_points, result_path, run_experiment

from localmkl.datasets import load_splice

SETTINGS = {"experiment": "splice", "grids": {"UNIF": {"C": [0.1, 1.0]}}}
ROW = {"method": "UNIF", "point": 50, "repetition": 0, "score": 0.5}


def load():
    return splice_sites(*load_splice("EI")[:2], n_instances=60)


SOURCE = Source("small", "splice junctions", "stand-in", "seconds", load)
EXPERIMENT = replace(
    EXPERIMENTS["splice"],
    sources={"small": SOURCE},
    points=(20, 30),
    repetitions=2,
    reference="MKL",
    methods=(
        Method("UNIF", "UNIF", {"C": (0.1, 1.0)}),
        Method("MKL", "MKL", {"C": (0.1, 1.0)}),
        Method("LMKL", "LMKL", {"C": (1.0,)}, slow=True),
    ),
)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "splice" / "uci.jsonl"
    open_rows(path, SETTINGS)
    append_rows(path, [ROW, {**ROW, "repetition": 1}])
    return path


def test_rows_tell_what_they_are_and_how_they_were_made_and_are_made_once(tmp_path, monkeypatch):
    rows = run_experiment(EXPERIMENT, SOURCE, tmp_path)
    keys = sorted(map(row_key, rows))
    assert keys == sorted((m, n, k) for m in ("UNIF", "MKL") for n in (20, 30) for k in (0, 1))
    for row in rows:
        assert (row["experiment"], row["data"], row["fidelity"]) == ("splice", "small", "stand-in")
        assert row["gap"] <= 1e-3
        assert row["parameters"]["C"] in (0.1, 1.0)
        assert row["seed"] == row["repetition"]
        assert {"version", "commit", "cpu", "cores", "date", "valid_score", "n_fits", "seconds"} <= set(row)
    settings, written = read_rows(result_path(tmp_path, EXPERIMENT, SOURCE))
    assert written == rows
    assert settings["grids"]["MKL"] == {"C": [0.1, 1.0]}
    monkeypatch.setattr(running, "run_cell", lambda *_: pytest.fail("a finished cell was run again"))
    assert run_experiment(EXPERIMENT, SOURCE, tmp_path) == rows


def test_a_stopped_run_keeps_what_is_finished_and_goes_on(tmp_path, monkeypatch):
    run_cell, calls = running.run_cell, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return run_cell(*arguments)

    monkeypatch.setattr(running, "run_cell", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_experiment(EXPERIMENT, SOURCE, tmp_path)
    path = result_path(tmp_path, EXPERIMENT, SOURCE)
    assert len(read_rows(path)[1]) == 4
    with path.open("ab") as file:  # as if killed while writing
        file.write(b'{"method": "UNIF", "po')
    monkeypatch.setattr(running, "run_cell", run_cell)
    assert len(run_experiment(EXPERIMENT, SOURCE, tmp_path)) == 8
    assert len(read_rows(path)[1]) == 8


def test_failed_rows_are_tried_again(path):
    append_rows(path, [{**ROW, "repetition": 2, "error": "E: no"}])
    rows = open_rows(path, SETTINGS)
    assert ("UNIF", 50, 2) not in {row_key(row) for row in running.finished(rows)}


def test_compressed_rows_are_read_and_added_to(path):
    rows = read_rows(path)[1]
    pack_rows(path)
    packed = path.with_suffix(".jsonl.gz")
    assert not path.exists()
    assert read_rows(packed)[1] == rows
    first = packed.read_bytes()
    assert open_rows(path, SETTINGS) == rows
    pack_rows(path)
    assert packed.read_bytes() == first
    assert json.loads(gzip.decompress(first).splitlines()[0]) == {"settings": SETTINGS}


def test_other_settings_are_refused_but_methods_may_be_added(path):
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"other settings \(experiment: 'splice' there, 'tss' now\)"):
        open_rows(path, {**SETTINGS, "experiment": "tss"})
    with pytest.raises(ValueError, match="other settings"):
        open_rows(path, {**SETTINGS, "grids": {"UNIF": {"C": [0.1]}}})
    assert path.read_bytes() == before
    assert len(open_rows(path, {**SETTINGS, "grids": {"MKL": {"C": [1.0]}}, "protocol": "new"})) == 2
    assert list(read_rows(path)[0]["grids"]) == ["UNIF", "MKL"]


@pytest.mark.parametrize("line", [b"nonsense", b"3", b"{}", b'{"score": "good"}'])
def test_a_broken_line_in_the_middle_is_an_error_with_its_number(path, line):
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + line + b"\n" + b"".join(lines[1:]))
    with pytest.raises(ValueError, match=r"line 2, must be a row with a score or an error; remove that line"):
        read_rows(path)


def test_methods_go_by_label_kind_or_family_and_points_by_kind():
    splice = EXPERIMENTS["splice"]
    assert [m.label for m in choose_methods(splice, ["UNIF", "MKL, p = 1"])] == ["UNIF", "MKL, p = 1"]
    assert len(choose_methods(splice, ["CLMKL+"])) == 3
    assert len(choose_methods(splice, ["CLMKL"])) == 6
    assert not [m for m in choose_methods(splice, None) if m.slow]
    with pytest.raises(ValueError, match="`--methods` must be among UNIF, one kernel, LMKL"):
        choose_methods(splice, ["SVM"])
    assert choose_points(splice, ["100", "50"]) == (50, 100)
    assert choose_points(EXPERIMENTS["localized"], ["0.2"]) == (0.2,)


def test_the_commands_run_summarise_and_list(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(commands.EXPERIMENTS, "splice", EXPERIMENT)
    arguments = ["run", "splice", "--sizes", "20", "--repetitions", "1", "--methods", "UNIF"]
    commands.main([*arguments, "--out", str(tmp_path)])
    assert "| UNIF " in capsys.readouterr().out
    assert {path.suffix for path in (tmp_path / "splice").iterdir()} == {".jsonl", ".md", ".csv", ".svg"}
    with pytest.raises(SystemExit, match="--data of 'splice' must be one of small, got 'moon'"):
        commands.main(["run", "splice", "--data", "moon"])
    with pytest.raises(SystemExit, match="`--methods` must be among UNIF, MKL, LMKL"):
        commands.main(["run", "splice", "--methods", "SVM"])
    commands.main(["list"])
    listed = capsys.readouterr().out
    assert all(f"{name}: {one.title}" in listed for name, one in commands.EXPERIMENTS.items())
