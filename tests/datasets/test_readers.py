import bz2
import gzip

import numpy as np
import pandas as pd
import pytest
import scipy.io

from localmkl.datasets import read_fasta, read_grams, read_table
from localmkl.datasets.table_files import table_pieces

FASTA = ">a first label=1\nACG\nT\n\n>b label=-1, more\nacct\n>c label=1\nAC NT\n"


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_fasta_is_read_wrapped_and_labelled_by_headers(tmp_path):
    data = read_fasta(write(tmp_path, "x.fa", FASTA), labels="header")
    assert data.sequences.tolist() == ["ACGT", "acct", "ACNT"]
    assert data.y.tolist() == [1, -1, 1]
    assert data.names.tolist() == ["a", "b", "c"]
    assert read_fasta(tmp_path / "x.fa").y is None


@pytest.mark.parametrize("suffix, pack", [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_compressed_fasta_is_read_as_plain(tmp_path, suffix, pack):
    plain = read_fasta(write(tmp_path, "x.fa", FASTA), labels="header")
    packed = read_fasta(write(tmp_path, f"x.fa{suffix}", pack(FASTA.encode())), labels="header")
    for one, other in zip(plain, packed, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("text", ["c\tyes\na\tno\n\nb\tno\n", "a,no\nb,no\nc,yes\n", "a no\nb  no\nc yes\n"])
def test_labels_come_from_a_second_file_by_name(tmp_path, text):
    path, labels = write(tmp_path, "x.fa", FASTA), write(tmp_path, "labels.txt", text)
    assert read_fasta(path, labels=labels).y.tolist() == ["no", "no", "yes"]
    assert read_fasta(path, labels={"a": 0, "b": 1, "c": 2}).y.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "content, options, message",
    [
        ("", {}, r"x\.fa' must hold FASTA records, got none\."),
        ("; a comment\n", {}, r"must hold FASTA records, got none"),
        ("ACGT\n>a\nAC\n", {}, r"x\.fa', line 1: must start with a header, .* got 'ACGT'"),
        (">a\nAC\n>b\n>c\nAC\n", {}, r"x\.fa', line 3: record 'b' must have a sequence, got none"),
        (">a\nAC\n>b\n", {}, r"line 3: record 'b' must have a sequence"),
        (
            ">a\nAC\n>a\nAG\n",
            {"labels": {"a": 1}},
            r"line 3: the name 'a' must come once, it came in line 1; rename",
        ),
        (
            ">a label=1\nAC\n>b\nAG\n",
            {"labels": "header"},
            r"line 3: record 'b' must have a label \(header\), it has none",
        ),
        (
            ">a\nAC\n>b\nAG\n",
            {"labels": {"a": 1}},
            r"line 3: record 'b' must have a label \(in `labels`\), it has none",
        ),
        (b"\xff\xfe\x00", {}, r"x\.fa' must be a text file in UTF-8, got other bytes near line 1"),
    ],
)
def test_a_bad_fasta_file_is_named_with_its_line(tmp_path, content, options, message):
    with pytest.raises(ValueError, match=message):
        read_fasta(write(tmp_path, "x.fa", content), **options)


@pytest.mark.parametrize(
    "labels, message",
    [
        ("a\t1\n", r"x\.fa', line 5: record 'b' must have a label \(in `labels`\), it has none"),
        ("a\t1\t2\n", r"labels\.txt', line 1: must hold a name and a label, got 3 fields"),
        ("a 1\na 2\n", r"labels\.txt', line 2: the name 'a' must come once"),
        ("", r"labels\.txt' must hold a name and a label on each line, got an empty file"),
    ],
)
def test_a_bad_file_of_labels_is_named(tmp_path, labels, message):
    path = write(tmp_path, "x.fa", FASTA)
    with pytest.raises(ValueError, match=message):
        read_fasta(path, labels=write(tmp_path, "labels.txt", labels))


@pytest.mark.parametrize("suffix, pack", [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_a_compressed_file_that_was_cut_short_is_named(tmp_path, suffix, pack):
    whole = pack(FASTA.encode() * 50)
    for cut in (whole[: len(whole) // 2], whole[:-4], b"no archive"):
        with pytest.raises(ValueError, match=rf"x\.fa\{suffix}' is cut short or damaged .* fetch it again"):
            read_fasta(write(tmp_path, f"x.fa{suffix}", cut))


def test_a_file_that_is_not_there_is_a_file_not_found(tmp_path):
    for read, name in (
        (read_fasta, "x.fa.gz"),
        (read_table, "x.csv"),
        (read_grams, "x.npz"),
        (read_grams, "x.mat"),
    ):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / name)


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.csv.gz", "x.parquet"])
def test_tables_are_read_by_their_endings(tmp_path, name):
    frame = pd.DataFrame({"site": ["ACG", "TTT"], "level": [1.5, 2.0], "label": ["yes", "no"]})
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
        frame.to_parquet(tmp_path / name)
    else:
        frame.to_csv(tmp_path / name, sep="\t" if "tsv" in name else ",", index=False)
    data = read_table(tmp_path / name, target="label")
    assert list(data.frame.columns) == ["site", "level"]
    assert data.y.tolist() == ["yes", "no"]
    assert read_table(tmp_path / name, columns=["level"]).frame["level"].tolist() == [1.5, 2.0]
    assert read_table(tmp_path / name).y is None


@pytest.mark.parametrize(
    "name, content, options, message",
    [
        ("x.csv", "", {}, r"x\.csv' must start with a line of column names, got an empty file"),
        ("x.csv", "a,b\n", {}, r"must hold at least one row below its column names, got none"),
        ("x.csv", "a,b\n1,2\n1,2,3\n", {}, r"x\.csv', line 3: must have 2 fields, .*, got 3; quote"),
        ("x.csv", "a,b\n1,2\n\n1\n", {}, r"x\.csv', line 4: must have 2 fields, .*, got 1; quote a field"),
        ("x.csv", "a,b\n1,2,3\n", {}, r"x\.csv', line 2: must have 2 fields, .*, got 3; name every column"),
        ("x.csv", "a,b\n1,2\n", {"target": "c"}, r"x\.csv' must have the column 'c', it has a, b\."),
        (
            "x.csv",
            "a,b\n1,2\n1,\n",
            {"target": "b"},
            r"x\.csv', line 3: must have a value in the target column 'b'",
        ),
        (
            "x.csv.gz",
            gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-9],
            {},
            r"x\.csv\.gz' is cut short or damaged",
        ),
        ("x.parquet", b"no table", {}, r"x\.parquet' is cut short or damaged"),
        ("x.doc", "a", {}, r"x\.doc' must end in \.csv, \.tsv, \.txt or \.parquet .*, got '\.doc'"),
    ],
)
def test_a_bad_table_is_named_with_its_line(tmp_path, name, content, options, message):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match=message):
        read_table(write(tmp_path, name, content), **options)


def draw_grams(n_kernels=3, n=5):
    X = np.random.default_rng(0).normal(size=(n_kernels, n, 2))
    return X @ X.transpose(0, 2, 1)


@pytest.mark.parametrize("form", ["last", "first", "cells"])
def test_grams_are_read_from_matlab_files(tmp_path, form):
    grams = draw_grams()
    value = {"last": np.moveaxis(grams, 0, 2), "first": grams, "cells": list(grams)}[form]
    if form == "cells":
        value = np.empty((3, 1), dtype=object)
        value[:, 0] = list(grams)
    scipy.io.savemat(tmp_path / "x.mat", {"K": value, "y": np.arange(5.0)[:, None]})
    data = read_grams(tmp_path / "x.mat", labels="y")
    np.testing.assert_allclose(data.grams.to_array(), grams)
    assert data.y.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(read_grams(tmp_path / "x.mat", variable="K").grams.to_array(), grams)


def test_grams_are_read_from_numpy_files(tmp_path):
    grams = draw_grams()
    np.save(tmp_path / "x.npy", grams)
    np.savez(tmp_path / "x.npz", grams=grams, y=np.arange(5))
    np.testing.assert_array_equal(read_grams(tmp_path / "x.npy").grams.to_array(), grams)
    assert isinstance(read_grams(tmp_path / "x.npy").grams.grams.base, np.memmap)
    data = read_grams(tmp_path / "x.npz", labels="y")
    np.testing.assert_array_equal(data.grams.to_array(), grams)
    assert data.y.tolist() == list(range(5))


def test_a_stack_as_large_as_its_number_of_kernels_keeps_its_axes(tmp_path):
    grams = draw_grams(5, 5)
    np.savez(tmp_path / "x.npz", grams=grams)
    np.testing.assert_array_equal(read_grams(tmp_path / "x.npz").grams.to_array(), grams)


def test_bad_gram_files_are_named(tmp_path):
    grams = draw_grams()
    spoiled = grams.copy()
    spoiled[1, 2, 2] = np.nan
    np.save(tmp_path / "nan.npy", spoiled)
    np.savez(tmp_path / "nan.npz", grams=spoiled)
    np.savez(tmp_path / "two.npz", a=grams, b=grams, y=np.arange(4))
    np.savez(tmp_path / "text.npz", grams=np.array([["a", "b"]]))
    scipy.io.savemat(tmp_path / "x.mat", {"K": grams, "y": np.arange(4)})
    scipy.io.savemat(tmp_path / "none.mat", {"y": np.arange(4)})
    write(tmp_path, "empty.mat", "")
    write(tmp_path, "text.mat", "no matlab file at all, but long enough for a header" * 9)
    write(tmp_path, "cut.npz", (tmp_path / "two.npz").read_bytes()[:300])
    for name, options, message in [
        ("nan.npy", {}, r"nan\.npy': `grams\[1\]` contains NaN or infinity \(row 2\)"),
        ("nan.npz", {}, r"nan\.npz', variable 'grams': `grams\[1\]` contains NaN or infinity"),
        (
            "two.npz",
            {},
            r"two\.npz' must hold one stack of Grams, more than one variable of it is \(it has a \(3, 5",
        ),
        (
            "two.npz",
            {"variable": "a", "labels": "y"},
            r"must hold one label for each of the 5 rows in 'y', got 4",
        ),
        ("two.npz", {"variable": "y", "labels": "y"}, r"two\.npz', variable 'y': `grams` must have shape"),
        ("text.npz", {"variable": "grams"}, r"text\.npz', variable 'grams': `grams` must hold real numbers"),
        ("x.mat", {"variable": "Ks"}, r"must hold the variable 'Ks', it has K, y; did you mean 'K'\?"),
        ("x.mat", {"variable": "grams"}, r"must hold the variable 'grams', it has K, y\."),
        ("x.mat", {"labels": "g"}, r"x\.mat' must hold the variable 'g'"),
        ("none.mat", {}, r"none\.mat' must hold one stack of Grams, no variable of it is"),
        ("empty.mat", {}, r"empty\.mat' is damaged, or not a MATLAB file"),
        ("text.mat", {}, r"text\.mat' is damaged, or not a MATLAB file"),
        ("cut.npz", {}, r"cut\.npz' is not an \.npz file of numbers, or is damaged"),
        ("x.txt", {}, r"x\.txt' must end in \.npy, \.npz or \.mat"),
        ("nan.npy", {"labels": "y"}, r"nan\.npy' must end .*; it has no named variables"),
    ]:
        with pytest.raises(ValueError, match=message):
            read_grams(tmp_path / name, **options)


@pytest.mark.parametrize(
    "package, read, name, extra",
    [
        ("pandas", read_table, "x.csv", "frames"),
        ("pyarrow", read_table, "x.parquet", "frames"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(tmp_path, monkeypatch, package, read, name, extra):
    if package == "pyarrow":
        pd.DataFrame({"a": [1]}).to_parquet(tmp_path / name)
    else:
        write(tmp_path, name, "a\n1\n")
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(
        ImportError, match=rf"needs the package {package}; install it with `pip install localmkl\[{extra}\]`"
    ):
        read(tmp_path / name)


@pytest.mark.parametrize(
    "written, kind, different",
    [
        (["1", "-1", "1"], "i", 2),
        (["1.0", "2.0", "-1.5e0"], "f", 3),
        (["1.5", "1.50", "2"], "f", 2),
        (["1", "01"], "U", 2),
        (["1", "1.0"], "U", 2),
        (["10", "1_0"], "U", 2),
        (["01", "02"], "U", 2),
        (["0", "-0"], "U", 2),
        (["0x10", "16"], "U", 2),
        (["True", "TRUE", "true"], "U", 3),
        (["inf", "Infinity", "1e999"], "U", 3),
        (["1", "\u0661"], "U", 2),
        ([str(2**64), str(2**64 + 1)], "U", 2),
        (["None", "none"], "U", 2),
    ],
)
@pytest.mark.filterwarnings("ignore:The labels:UserWarning")
def test_labels_that_are_written_differently_are_never_made_one(tmp_path, written, kind, different):
    table = write(tmp_path, "x.csv", "".join(["a,y\n", *(f"{k},{y}\n" for k, y in enumerate(written))]))
    fasta = write(tmp_path, "x.fa", "".join(f">r{k} label={y}\nAC\n" for k, y in enumerate(written)))
    lines = write(tmp_path, "l.txt", "".join(f"r{k}\t{y}\n" for k, y in enumerate(written)))
    for y in (
        read_table(table, target="y").y,
        read_fasta(fasta, labels="header").y,
        read_fasta(fasta, labels=lines).y,
    ):
        assert y.dtype.kind == kind
        assert len(np.unique(y)) == different


def test_missing_labels_are_refused_and_blanks_around_labels_do_not_count(tmp_path):
    for word in ("NA", "nan", "", "null"):
        path = write(tmp_path, "x.csv", f"a,y\n1,x\n2,{word}\n")
        with pytest.raises(
            ValueError, match=rf"line 3: must have a value .*, got {repr(word) if word else 'none'}"
        ):
            read_table(path, target="y")
    with pytest.raises(ValueError, match=r"record 'b' must have a label \(header\), it has none"):
        read_fasta(write(tmp_path, "x.fa", ">a label=1\nAC\n>b label=NA\nAC\n"), labels="header")
    assert read_table(write(tmp_path, "x.csv", "a,y\n1,x\n2, x\n"), target="y").y.tolist() == ["x", "x"]


def test_column_names_that_come_twice_are_refused(tmp_path):
    path = write(tmp_path, "x.csv", "a,b,a,,a.1\n1,2,3,4,5\n")
    with pytest.raises(ValueError, match=r"must have columns of different names, a come twice; rename"):
        read_table(path)
    path.write_text("a,b,,a.1\n1,2,3,4\n")
    assert list(read_table(path).frame) == ["a", "b", "Unnamed: 2", "a.1"]


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.txt.gz"])
def test_semicolons_and_decimal_commas_are_read(tmp_path, name):
    text = "age;dose;site\n40;0,5;Ulm\n61;12,25;Bonn\n"
    path = write(tmp_path, name, gzip.compress(text.encode()) if name.endswith("gz") else text)
    assert read_table(path).frame.to_dict("list") == {
        "age": [40, 61],
        "dose": [0.5, 12.25],
        "site": ["Ulm", "Bonn"],
    }


def test_numbers_are_read_to_their_last_digit(tmp_path):
    numbers = np.random.default_rng(0).normal(size=200) * 10.0 ** np.arange(-100, 100)
    path = write(tmp_path, "x.csv", "a\n" + "\n".join(map(repr, numbers.tolist())))
    np.testing.assert_array_equal(read_table(path).frame["a"], numbers)


@pytest.mark.parametrize("name", ["x.csv", "x.csv.bz2", "x.parquet"])
def test_pieces_are_the_table(tmp_path, name):
    frame = pd.DataFrame({"a": range(90), "b": [f"word {k % 7}, {k}" for k in range(90)]})
    frame.to_parquet(tmp_path / name) if "parquet" in name else frame.to_csv(tmp_path / name, index=False)
    pieces = list(table_pieces(tmp_path / name, letters=200))
    assert len(pieces) > 3
    assert all(piece.index[0] == 0 for piece in pieces)
    pd.testing.assert_frame_equal(pd.concat(pieces, ignore_index=True), frame)


def test_what_is_kept_as_text_is_kept_as_it_is_written(tmp_path):
    path = write(tmp_path, "x.csv", "id,a\n007,1\n7,2\nNA,3\n")
    assert read_table(path, text=["id"]).frame["id"].tolist() == ["007", "7", "NA"]


def test_pickles_are_never_opened_and_cells_of_views_are_explained(tmp_path):
    grams = np.array([np.eye(2), "x"], dtype=object)
    np.save(tmp_path / "x.npy", grams, allow_pickle=True)
    np.savez(tmp_path / "x.npz", K=grams, allow_pickle=True)
    views = np.empty(2, dtype=object)
    views[:] = [np.ones((4, 2)), np.ones((4, 3))]
    labels = np.empty(2, dtype=object)
    labels[:] = ["a", np.ones(3)]
    scipy.io.savemat(tmp_path / "x.mat", {"V": views, "K": np.eye(2), "y": labels, "s": {"a": 1}})
    for name, options, message in [
        ("x.npy", {}, "must be an .npy file of numbers"),
        ("x.npz", {}, "is not an .npz file of numbers"),
        ("x.mat", {"variable": "V"}, r"must all have one shape.*; views of the data are no Grams"),
        ("x.mat", {"variable": "s"}, r"must hold real numbers"),
        ("x.mat", {"variable": "K", "labels": "y"}, r"variable 'y': must hold one label in each cell"),
        ("x.mat", {"variable": "K", "labels": "s"}, r"variable 's': Labels must be numbers or text"),
    ]:
        with pytest.raises(ValueError, match=message):
            read_grams(tmp_path / name, **options)
