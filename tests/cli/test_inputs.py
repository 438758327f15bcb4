"""Files as people have them: read rightly, or refused in one sentence."""

import os

import numpy as np
import pandas as pd
import pytest

from localmkl.cli.columns import identifiers, numeric_names

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


def test_a_table_without_names_is_read_when_told_so(call, tmp_path):
    write(tmp_path / "bare.csv", rows())
    assert "must have the column 'sick'" in error(call, "fit", "bare.csv", "--target", "sick")
    call("fit", "bare.csv", "--no-header", "--target", 3, "--method", "unif", "-q")
    said = call("predict", "model.localmkl", "bare.csv", "--out", "p.csv")
    assert "30 predictions" in said.out


def test_a_field_too_many_in_every_row_is_refused(call, tmp_path):
    write(tmp_path / "t.csv", ["a,b,state", *(f"{row},9" for row in rows())])
    words = error(call, "fit", "t.csv", "--target", "state")
    assert "line 2: must have 3 fields, one for each column, got 4; name every column" in words


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
    assert "'t.parquet', row 0: the column 'when' must hold numbers, for instance days since a date" in words


def test_numbers_that_overflow_are_refused_with_their_line_and_their_column(call, tmp_path):
    write(tmp_path / "t.csv", ["a,b,state", *rows()])
    write(tmp_path / "big.csv", ["a,b,state", *rows(), "1e308,-1e308,sick"])
    words = error(call, "fit", "big.csv", "--target", "state")
    assert "'big.csv', line 32: the column 'a' must hold numbers up to 1e+100, got '1e308'" in words
    call("fit", "t.csv", "--target", "state", "--method", "unif", "-q")
    assert "line 32: the column 'a'" in error(call, "predict", "model.localmkl", "big.csv")
    write(tmp_path / "long.csv", ["a,b,state", *rows(), f"{'9' * 30},1,sick"])
    call("fit", "long.csv", "--target", "state", "--method", "unif", "-q")


def test_labels_that_differ_as_text_stay_different_to_the_predictions(call, tmp_path):
    lines = [f"{k},{k % 7},{('01', '1', '1_0', '10')[k // 10]}" for k in range(0, 40)]
    write(tmp_path / "t.csv", ["a,b,state", *lines])
    said = call("fit", "t.csv", "--target", "state", "--kernels", "rbf columns=a")
    assert "'01' and '1' are kept apart, although they are the same number" in said.err


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_labels_that_differ_by_capitals_alone_are_kept_apart_and_said(call, ending):
    rows = pd.DataFrame({"a": range(30), "state": ["Sick", "well", "sick"] * 10})
    getattr(rows, f"to_{ending}")(f"t.{ending}", index=False)
    said = call("fit", f"t.{ending}", "--target", "state", "--kernels", "rbf columns=a")
    assert said.err.startswith(
        "Warning: The labels 'Sick' and 'sick' are kept apart, although they differ by capitals alone; write "
        "them one way if they mean the same.\n"
    )


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
        ("x.fa", b"; a comment\n; another\n", "must hold FASTA records, got none"),
        ("x.mat", bytes(100), "is damaged, or not a MATLAB file"),
        (
            "x.npy",
            b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'shape': (9, 9)",
            "must be an .npy file of numbers",
        ),
        ("x.parquet", b"PAR1" + bytes(90) + b"PAR1", "is cut short or damaged, or no Parquet file"),
        ("x.csv", b"a,b\n1,2\0\n", "must be a text file in UTF-8, got other bytes near line 2 (0x00)"),
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
    assert call("info", "s.fa", "--json").json()["rows"] == 2


@pytest.mark.parametrize(
    "options, code, words",
    [
        (["--C", "1e400"], MISUSED, "--C must be a number or a list of numbers, got '1e400'"),
        (["--C", "1e999999999"], MISUSED, "--C must be a number"),
        (["--p", "nan"], FAILED, "--p must be at least 1.0, got nan"),
        (["--p", "x"], MISUSED, "--p must be a number"),
        (["--clusters", "2.5"], FAILED, "--clusters must be an integer of at least 1, got 2.5"),
        (["--clusters", "9" * 5000], MISUSED, "--clusters must be a number or a list of numbers, got '9"),
        (
            ["--kernels", "rbf:1-1000000"],
            FAILED,
            "1000000",
        ),
        (["--C", "1-1000000", "--tune"], FAILED, "stands for too many values"),
        (["--gate", "²"], FAILED, "The kernel '²' is not known"),
        (["--tol", "nan"], FAILED, "--tol must be"),
        (["--kernels", "linear standardize=maybe"], FAILED, "must be true or false, got 'maybe'"),
        (["--kernels", "chi2"], FAILED, "Chi2 needs columns without negative values"),
        (["--variable", "K"], MISUSED, "--variable is for a Gram file, not for a table"),
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
    call("fit", *both, "--method", "unif", "-q")
    lines = call("predict", "model.localmkl", "pos.fa").out.splitlines()
    assert sum(line.split(",")[1] == "1" for line in lines[1:]) >= 12
    assert "Name a file of training rows" in error(call, "fit", "pos.fa", *both, code=MISUSED)
    assert "leave out --target" in error(call, "fit", *both, "--target", "x", code=MISUSED)
    write(tmp_path / "t.csv", ["a,b,state", *rows()])
    assert "'t.csv', line 1: must start with a header" in error(
        call, "fit", "--positive", "pos.fa", "--negative", "t.csv"
    )


def test_columns_that_number_the_rows_are_left_out_unless_named(call, tmp_path):
    lines = [f"{101 + k},{900 - 7 * k},{row}" for k, row in enumerate(rows())]
    write(tmp_path / "t.csv", ["visit,patient_id,a,b,state", *lines])
    said = call("fit", "t.csv", "--target", "state", "--method", "unif").err
    assert said.count("Left out (names the rows): visit, patient_id; --names visit writes it beside") == 1
    spec = ["--method", "unif", "--kernels", "rbf columns=visit,a"]
    assert "Left out" not in call("fit", "t.csv", "--target", "state", *spec, "--quiet").err


def test_only_whole_and_different_numbers_are_identifiers():
    import pandas as pd

    frame = pd.DataFrame(
        {"id": [3, 1, 3] * 4, "day": range(12), "dose": np.arange(12) / 2, "index": range(12, 0, -1)}
    )
    assert identifiers(frame) == ["day", "index"]
    patients = 100234.0 + np.arange(12) ** 2
    assert identifiers(frame.assign(patient=patients, subject=patients / 7)) == ["day", "index", "patient"]
    assert identifiers(frame[["day"]]) == []
    assert numeric_names(frame.assign(city="Ulm", gap=np.nan)) == ["id", "day", "dose", "index"]
