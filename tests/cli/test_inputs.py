"""Files as people have them: read rightly, or refused in one sentence."""

import os
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest

from localmkl.cli.columns import identifiers, numeric_names
from localmkl.cli.words import MOST_VALUES

FAILED, MISUSED = 1, 2


def rows(seed=0, n=30):
    """Return the lines of a small table: two features and a label."""
    values = np.random.default_rng(seed).normal(size=(n, 2)).round(3)
    return [f"{a},{b},{'sick' if a + b > 0 else 'well'}" for a, b in values]


def write(path, lines):
    path.write_text("\n".join(lines) + "\n")


def error(call, *arguments, code=FAILED):
    said = [line for line in call(*arguments, code=code).err.splitlines() if line.startswith("Error: ")]
    assert len(said) == 1
    assert "report it" not in said[0]
    assert len(said[0]) < 1500
    return said[0]


def test_a_table_without_names_is_recognised_and_read_when_told_so(call, tmp_path):
    write(tmp_path / "bare.csv", rows())
    words = error(call, "info", "bare.csv")
    assert "must start with a line of column names, its first line reads like data (" in words
    assert "say --no-header: the columns are then called 1, 2, 3" in words
    assert "reads like data" in error(call, "fit", "bare.csv", "--target", "sick")
    call("fit", "bare.csv", "--no-header", "--target", 3, "--method", "unif", "-q")
    said = call("predict", "model.localmkl", "bare.csv", "--out", "p.csv")
    assert "30 predictions" in said.out
    assert "accuracy" in said.err


@pytest.mark.parametrize(
    "header, said",
    [("x,y,state", ""), ("0,1,state", ""), ("5,1,state", "reads like data (5, 1, state), but is taken")],
)
def test_names_that_are_numbers_are_names_beside_words_and_doubtful_ones_are_said(
    call, tmp_path, header, said
):
    write(tmp_path / "t.csv", [header, *rows()])
    err = call("info", "t.csv").err
    assert said in err
    assert bool(err) == bool(said)


def test_a_field_too_many_in_every_row_is_refused(call, tmp_path):
    write(tmp_path / "t.csv", ["a,b,state", *(f"{row},9" for row in rows())])
    words = error(call, "fit", "t.csv", "--target", "state")
    assert "line 2: must have 3 fields, one for each column name, got 4; name every column" in words


def test_lines_are_counted_as_an_editor_counts_them(call, tmp_path):
    lines = ["a,b,state", '1,2,"two', 'lines"', "", "3,much,x", *(f"{k},{k},x" for k in range(20))]
    write(tmp_path / "t.csv", lines)
    assert "line 5: the column 'b' must hold numbers, got 'much'" in error(
        call, "fit", "t.csv", "--target", "state"
    )
    write(tmp_path / "short.csv", ["a,b,state", "1,2,x", "", "3"])
    assert "line 4: must have 3 fields" in error(call, "info", "short.csv")


def test_dates_with_gaps_are_not_read_as_numbers(call, tmp_path):
    when = pd.Series(pd.date_range("2024", periods=30)).where(np.arange(30) != 3)
    frame = pd.DataFrame({"a": np.arange(30.0) % 7, "when": when, "state": ["ill", "well"] * 15})
    frame.to_parquet(tmp_path / "t.parquet")
    words = error(
        call, "fit", "t.parquet", "--target", "state", "--kernels", "rbf columns=when; linear columns=a"
    )
    assert "'t.parquet': the column 'when' must hold numbers, got dates or times; turn them into" in words


def test_numbers_that_overflow_are_refused_with_their_line_and_their_column(call, tmp_path):
    write(tmp_path / "t.csv", ["a,b,state", *rows()])
    write(tmp_path / "big.csv", ["a,b,state", *rows(), "1e308,-1e308,sick"])
    words = error(call, "fit", "big.csv", "--target", "state")
    assert "'big.csv', line 32: the column 'a' must hold numbers up to 1e+100 in size, got '1e308'" in words
    call("fit", "t.csv", "--target", "state", "--method", "unif", "-q")
    assert "line 32: the column 'a'" in error(call, "predict", "model.localmkl", "big.csv")
    write(tmp_path / "long.csv", ["a,b,state", *rows(), f"{'9' * 30},1,sick"])
    call("fit", "long.csv", "--target", "state", "--method", "unif", "-q")


def test_labels_that_differ_as_text_stay_different_to_the_predictions(call, tmp_path):
    lines = [f"{k},{k % 7},{('01', '1', '1_0', '10')[k // 10]}" for k in range(0, 40)]
    write(tmp_path / "t.csv", ["a,b,state", *lines])
    said = call("fit", "t.csv", "--target", "state", "--kernels", "rbf columns=a", "--json")
    assert said.json()["classes"] == ["01", "1", "10", "1_0"]
    assert "'01' and '1' are kept apart, although they are the same number" in said.err


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_labels_that_differ_by_capitals_alone_are_kept_apart_and_said(call, ending):
    rows = pd.DataFrame({"a": range(30), "state": ["Sick", "well", "sick"] * 10})
    getattr(rows, f"to_{ending}")(f"t.{ending}", index=False)
    said = call("fit", f"t.{ending}", "--target", "state", "--kernels", "rbf columns=a", "--json")
    assert said.json()["classes"] == ["Sick", "sick", "well"]
    assert said.err.startswith(
        "Warning: The labels 'Sick' and 'sick' are kept apart, although they differ by capitals alone; write "
        "them one way if they mean the same.\n"
    )


def test_groups_of_new_rows_that_may_be_those_of_the_fit_are_said(call):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.normal(size=40), "state": ["no", "yes"] * 20, "site": [1, 1, 3, 3] * 10})
    rows.to_csv("t.csv", index=False)
    call("fit", "t.csv", "--target", "state", "--groups", "site", "--kernels", "rbf columns=a")
    assert "kept apart" not in call("predict", "model.localmkl", "t.csv", "--out", "p.csv").err
    rows.astype({"site": float}).to_csv("new.csv", index=False)
    said = call("predict", "model.localmkl", "new.csv", "--out", "p.csv").err
    assert "Warning: The group '1' of the model and '1.0' of 'new.csv' are kept apart, although they" in said
    assert "groups that the model has not seen (1.0, 3.0)" in said


@pytest.mark.parametrize("name", ["x.csv", "x.fa", "x.npy", "x.npz", "x.mat", "x.parquet", "x.fa.gz"])
def test_pipes_are_refused_instead_of_waited_for(call, tmp_path, name):
    os.mkfifo(tmp_path / name)
    assert "must be a file, it is a pipe or a device" in error(call, "info", name)


@pytest.mark.parametrize(
    "name, content, words",
    [
        ("x.csv.xz", b"\xfd7zXZ\0 no", "is cut short or damaged"),
        ("x.csv.bz2", b"BZh9 no", "is cut short or damaged"),
        ("x.fa.xz", b"no", "is cut short or damaged"),
        ("x.fa", b"; a comment\n; another\n", "must hold FASTA records, got comments alone"),
        ("x.mat", bytes(100), "is not a MATLAB file, or is damaged"),
        (
            "x.npy",
            b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'shape': (9, 9)",
            "must be an .npy file of numbers",
        ),
        ("x.parquet", b"PAR1" + bytes(90) + b"PAR1", "is cut short or damaged, or no Parquet file"),
        ("x.csv", b"a,b\n1,2\0\n", "must be a text file in UTF-8, got other bytes (line 2: 0x00)"),
        ("x.csv", "a,b\n1,2\n".encode("utf-16"), "must be a text file in UTF-8"),
        ("x.csv", b'a,b\n1,"2\n3,4\n', "cannot be read as a table"),
        ("x.tsv", b"\n\n", "got an empty file"),
    ],
)
def test_damaged_files_are_named_in_one_sentence(call, tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    assert words in error(call, "info", name)


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_marks_and_line_ends_of_other_systems_are_read(call, tmp_path, ends):
    text = ends.join(["a,b,state", *rows()]) + ends
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert call("info", "t.csv", "--target", "state", "--json").json()["rows"] == 30
    (tmp_path / "s.fa").write_bytes(
        b"\xef\xbb\xbf" + ends.join([">a", "AC", "GT", ">b", "ACGT", ""]).encode()
    )
    assert call("info", "s.fa", "--json").json()["lengths"] == [4, 4]


@pytest.mark.parametrize(
    "options, code, words",
    [
        (["--C", "1e400"], MISUSED, "--C must be a number or a list of numbers, got '1e400'"),
        (["--C", "1e999999999"], MISUSED, "--C must be a number"),
        (["--p", "nan"], MISUSED, "--p must be a number"),
        (["--p", "٣"], MISUSED, "--p must be a number"),
        (["--clusters", "2.5"], FAILED, "--clusters must be an integer of at least 1, got 2.5"),
        (["--clusters", "9" * 5000], MISUSED, "--clusters must be a number or a list of numbers, got '9"),
        (
            ["--kernels", "rbf:1-1000000"],
            FAILED,
            f"1000000 kernels, at most {MOST_VALUES} are taken: on 1000 rows",
        ),
        (["--C", "1-1000000", "--tune"], FAILED, "stands for 1000000 values"),
        (["--gate", "²"], FAILED, "The kernel '²' is not known"),
        (["--tol", "nan"], FAILED, "--tol must be"),
        (["--kernels", "linear standardize=maybe"], FAILED, "must be true or false, got 'maybe'"),
        (["--kernels", "chi2"], FAILED, "chi2 needs columns without negative values"),
        (["--variable", "K"], MISUSED, "--variable is for Gram files"),
    ],
)
def test_absurd_values_are_refused_in_the_words_of_the_command_line(call, tmp_path, options, code, words):
    write(tmp_path / "t.csv", ["a,b,state", *rows()])
    assert words in error(call, "fit", "t.csv", "--target", "state", *options, code=code)


def test_two_files_of_sequences_are_two_classes(call, tmp_path):
    draw = np.random.default_rng(0)
    for name, letters in (("pos.fa", "AACG"), ("neg.fa", "TTCG")):
        sequences = ["".join(draw.choice(list(letters), 12)) for _ in range(15)]
        write(tmp_path / name, [line for k, s in enumerate(sequences) for line in (f">s{k}", s)])
    both = ("--positive", "pos.fa", "--negative", "neg.fa")
    said = call("fit", *both, "--json", "--method", "unif")
    assert said.json()["classes"] == [-1, 1]
    assert "2 records have the name 's0'; all are read" in said.err
    lines = call("predict", "model.localmkl", "pos.fa").out.splitlines()
    assert sum(line.split(",")[1] == "1" for line in lines[1:]) >= 12
    assert "DATA does not go with" in error(call, "fit", "pos.fa", *both, code=MISUSED)
    assert "Name a file of training rows" in error(call, "tune", "--positive", "pos.fa", code=MISUSED)
    assert "leave out --target" in error(call, "fit", *both, "--target", "x", code=MISUSED)
    write(tmp_path / "t.csv", ["a,b,state", *rows()])
    assert "must be FASTA files" in error(call, "fit", "--positive", "pos.fa", "--negative", "t.csv")


def test_columns_that_number_the_rows_are_left_out_unless_named(call, tmp_path):
    lines = [f"{101 + k},{900 - 7 * k},{row}" for k, row in enumerate(rows())]
    write(tmp_path / "t.csv", ["visit,patient_id,a,b,state", *lines])
    said = call("fit", "t.csv", "--target", "state", "--method", "unif").err
    assert said.count("Left out (names the rows): visit, patient_id; --names visit writes it beside") == 1
    spec = ["--method", "unif", "--kernels", "rbf columns=visit,a", "--json"]
    assert "visit" in call("fit", "t.csv", "--target", "state", *spec).json()["kernels"][0]


def test_only_whole_and_different_numbers_are_identifiers():
    import pandas as pd

    frame = pd.DataFrame(
        {"id": [3, 1, 3] * 4, "day": range(12), "dose": np.arange(12) / 2, "index": range(12, 0, -1)}
    )
    assert identifiers(frame) == {"day", "index"}
    patients = 100234.0 + np.arange(12) ** 2
    assert identifiers(frame.assign(patient=patients, subject=patients / 7)) == {"day", "index", "patient"}
    assert identifiers(frame[["day"]]) == set()
    assert numeric_names(frame.assign(city="Ulm", gap=np.nan)) == ["id", "day", "dose", "index"]


def test_columns_without_names_number_the_rows_in_any_order():
    import pandas as pd

    rng = np.random.default_rng(0)
    order = rng.permutation(40)
    frame = pd.DataFrame({"1": 1000 + order, "2": rng.normal(size=40), "3": 2 * order, "rank": order})
    assert identifiers(frame) == {"1"}


def test_a_model_of_thousands_of_columns_is_few_arrays(call, tmp_path):
    draw = np.random.default_rng(0).normal(size=(12, 3000)).round(2)
    lines = [",".join([*map(str, row), "ab"[k % 2]]) for k, row in enumerate(draw)]
    write(tmp_path / "t.csv", [",".join([*(f"g{k}" for k in range(3000)), "state"]), *lines])
    call("fit", "t.csv", "--target", "state", "--method", "unif", "-q")
    with zipfile.ZipFile(tmp_path / "model.localmkl") as archive:
        assert len(archive.namelist()) < 100
        assert len(archive.read("schema.json")) < 10**6
    assert "12 of which the model was trained on" in call("predict", "model.localmkl", "t.csv").err


def test_models_of_one_class_are_warned_of(call, tmp_path):
    write(tmp_path / "t.csv", ["a,b,state", *(f"{k % 13},{k % 7},{'no' if k else 'yes'}" for k in range(40))])
    options = ("fit", "t.csv", "--target", "state", "--method", "unif")
    assert "predicts 'no' for training rows of every class; try --balanced" in call(*options, "--C", 1e-3).err


def test_data_are_described_and_wrong_files_refused_without_heavy_imports(tmp_path):
    write(tmp_path / "t.csv", ["a,b,state", *rows()])
    code = (
        "import sys; from typer.testing import CliRunner; from localmkl.cli import app;"
        "run = lambda *a: CliRunner().invoke(app, a).exit_code;"
        "codes = run('info', 't.csv'), run('fit', 't.csv', '--target', 'c'), run('fit', 't.csv', '--C', 'x');"
        "print(codes, [m for m in ('numba', 'sklearn', 'scipy') if m in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert answer.stdout == "(0, 1, 2) []\n", answer.stderr
