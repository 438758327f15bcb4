"""Result files: whole rows, torn ones, settings, locks."""

import gzip
import json

import pytest

from localmkl.experiments.results import ResultFile, provenance, read_results

SETTINGS = {"experiment": "splice", "grids": {"UNIF": {"C": (0.1, 1.0)}}}
ROW = {"method": "UNIF", "point": 50, "repetition": 0, "score": 0.5}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "splice" / "uci.jsonl"
    with ResultFile(path, SETTINGS) as file:
        file.append([ROW, {**ROW, "repetition": 1}])
    return path


def test_what_was_appended_is_read_back_and_added_to(path):
    with ResultFile(path, SETTINGS) as file:
        assert [row["repetition"] for row in file.rows] == [0, 1]
        file.append([{**ROW, "repetition": 2}])
    settings, rows = read_results(path)
    assert settings == json.loads(json.dumps(SETTINGS))
    assert [row["repetition"] for row in rows] == [0, 1, 2]


@pytest.mark.parametrize("torn", [b'{"method": "CLM', b'{"method": "CLM\n', b"\x00\x00\x00\n"])
def test_a_torn_last_line_is_ignored_and_cut_off_by_the_next_writer(path, torn):
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    assert len(read_results(path)[1]) == 2
    with ResultFile(path, SETTINGS) as file:
        file.append([{**ROW, "repetition": 2}])
    content = path.read_bytes()
    assert content.startswith(whole)
    assert torn.strip() not in content
    assert [row["repetition"] for row in read_results(path)[1]] == [0, 1, 2]


@pytest.mark.parametrize("line", [b"nonsense", b"3", b"{}", b'{"score": "good"}', b'{"score": NaN}'])
def test_a_broken_line_in_the_middle_is_an_error_with_its_number(path, line):
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + line + b"\n" + b"".join(lines[1:]))
    with pytest.raises(ValueError, match=r"line 2, must be a row of the experiment.*remove that line"):
        read_results(path)


def test_other_settings_are_refused_and_named(path):
    before = path.read_bytes()
    with (
        pytest.raises(
            ValueError, match=r"other settings \(experiment: 'splice' there, 'tss' now\).*another folder"
        ),
        ResultFile(path, {**SETTINGS, "experiment": "tss"}),
    ):
        pass
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [json.dumps(ROW) + "\n", '{"settings": 3}\n', ""])
def test_a_file_without_settings_is_refused(tmp_path, content):
    path = tmp_path / "rows.jsonl"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"must (be|begin with a line of) settings.*choose another folder"):
        read_results(path)


def test_a_second_writer_waits_its_turn(path):
    with (
        ResultFile(path, SETTINGS),
        pytest.raises(RuntimeError, match="Another run is writing"),
        ResultFile(path, SETTINGS),
    ):
        pass
    with ResultFile(path, SETTINGS) as file:
        assert len(file.rows) == 2


def test_compressed_rows_are_read_too(path):
    packed = path.with_suffix(".jsonl.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_results(packed) == read_results(path)
    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(ValueError, match=r"must be a whole gzip file.*fetch it again"):
        read_results(packed)


def test_numbers_that_are_none_are_not_written(path):
    before = path.read_bytes()
    with ResultFile(path, SETTINGS) as file, pytest.raises(ValueError, match="not JSON compliant"):
        file.append([ROW, {**ROW, "score": float("nan")}])
    assert path.read_bytes() == before


def test_provenance_says_who_and_when():
    found = provenance()
    assert found["version"]
    assert found["cores"] >= 1
    assert found["cpu"]
    assert found["date"].endswith("+00:00")


def test_a_run_goes_on_from_compressed_rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    with ResultFile(path, {"seed": 0}) as file:
        file.append([{"score": 0.5}])
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    with ResultFile(path, {"seed": 0}) as file:
        assert file.rows == [{"score": 0.5}]
        file.append([{"score": 0.6}])
    assert read_results(path)[1] == [{"score": 0.5}, {"score": 0.6}]
