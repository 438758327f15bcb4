import gzip
import lzma
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from scipy import sparse

from localmkl import Views
from localmkl.datasets import read_matrix

TABLE = np.array([[5.0, 0.0, 1.0], [0.0, 4.0, 0.0]])
BANNER = "%%MatrixMarket matrix "
WORDS = BANNER + "coordinate integer general\n3 2 3\n1 1 5\n3 1 1\n2 2 4\n"


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_samples_are_along_the_axis_that_has_names(tmp_path):
    path = write(tmp_path, "x.mtx", WORDS)
    rows, names = read_matrix(path)
    assert names is None
    np.testing.assert_array_equal(rows.toarray(), TABLE.T)
    for ending, content in ((".docs", "a\nb\n"), (".rows.gz", gzip.compress(b"a\t1\nb\t2\n"))):
        beside = write(tmp_path, f"x{ending}", content)
        rows, names = read_matrix(path)
        assert names.tolist() == ["a", "b"]
        assert rows.format == "csr"
        np.testing.assert_array_equal(rows.toarray(), TABLE)
        beside.unlink()
    terms = write(tmp_path, "terms.txt", "u\nv\nw\n")
    np.testing.assert_array_equal(read_matrix(path, names=terms).rows.toarray(), TABLE.T)
    square = write(tmp_path, "square.mtx", BANNER + "array real general\n2 2\n1\n2\n3\n4\n")
    write(tmp_path, "barcodes.tsv", "a\nb\n")
    assert read_matrix(square).rows.toarray().tolist() == [[1.0, 3.0], [2.0, 4.0]]


@pytest.mark.parametrize("ending, pack", [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_matrices_are_read_packed_as_written_by_scipy(tmp_path, ending, pack):
    scipy.io.mmwrite(tmp_path / "plain.mtx", sparse.csr_matrix(TABLE))
    packed = write(tmp_path, f"matrix.mtx{ending}", pack((tmp_path / "plain.mtx").read_bytes()))
    write(tmp_path, f"barcodes.tsv{ending}", pack(b"one\ntwo\nthree\n"))
    rows, names = read_matrix(packed)
    np.testing.assert_array_equal(rows.toarray(), TABLE.T)
    assert names.tolist() == ["one", "two", "three"]


@pytest.mark.parametrize(
    "content, expected",
    [
        ("coordinate pattern general\n2 2 1\n1 2\n", [[0, 1], [0, 0]]),
        ("coordinate real symmetric\n2 2 2\n1 1 3\n2 1 2\n", [[3, 2], [2, 0]]),
        ("coordinate real skew-symmetric\n2 2 1\n2 1 2\n", [[0, -2], [2, 0]]),
        ("array integer symmetric\n2 2\n1\n2\n3\n", [[1, 2], [2, 3]]),
        ("coordinate real general\n2 2 2\n1 1 3\n1 1 2\n", [[5, 0], [0, 0]]),
    ],
)
def test_all_kinds_of_real_matrices_are_read(tmp_path, content, expected):
    rows = read_matrix(write(tmp_path, "x.mtx", BANNER + content)).rows
    assert rows.toarray().tolist() == expected
    assert rows.dtype == np.float64


@pytest.mark.parametrize(
    "content, message",
    [
        ("", "is cut short or damaged, or no Matrix Market file"),
        ("a,b\n1,2\n", r"x\.mtx' is cut short or damaged, or no Matrix Market file"),
        (WORDS[:-6], r"x\.mtx' is cut short or damaged"),
        (WORDS.replace("2 2 4", "9 2 4"), r"x\.mtx' is cut short or damaged"),
        (WORDS.replace("3 2 3", "3 2 999999999999"), "is cut short or damaged"),
        (
            BANNER + "coordinate complex general\n1 1 1\n1 1 1 1\n",
            "must hold rows and columns of real numbers",
        ),
        (BANNER + "coordinate real general\n0 0 0\n", "must hold rows and columns of real numbers"),
    ],
)
def test_a_damaged_matrix_is_named(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        read_matrix(write(tmp_path, "x.mtx", content))


def test_a_matrix_that_announces_too_many_rows_takes_no_memory(tmp_path):
    with pytest.raises(MemoryError, match="keep fewer rows"):
        read_matrix(write(tmp_path, "x.mtx", WORDS.replace("3 2 3", "999999999999 2 3")))


@pytest.mark.parametrize(
    "names, message",
    [
        ("a\nb\nc\nd\n", r"x\.docs' must name the rows or the columns of .*, a matrix of 3 x 2, got 4 names"),
        ("a\na\n", r"x\.docs', line 2: the name 'a' must come once, it came in line 1; rename a sample"),
        ("a\n\nb\n", r"x\.docs', line 2: must hold a name, got none"),
        ("", r"line 1: must hold a name, got none"),
    ],
)
def test_names_that_do_not_fit_are_said(tmp_path, names, message):
    path = write(tmp_path, "x.mtx", WORDS)
    write(tmp_path, "x.docs", names)
    with pytest.raises(ValueError, match=message):
        read_matrix(path)


def test_three_sources_are_as_their_authors_say():
    folder = Path(os.environ.get("LOCALMKL_DATA", "")) / "three_sources"
    if not folder.is_dir():
        pytest.skip("needs LOCALMKL_DATA/three_sources")
    read = {name: read_matrix(folder / f"3sources_{name}.mtx") for name in ("bbc", "guardian", "reuters")}
    assert [one.rows.shape for one in read.values()] == [(352, 3560), (302, 3631), (294, 3068)]
    stories = sorted(set().union(*(one.names.tolist() for one in read.values())))
    views = Views(
        {name: (one.rows, np.searchsorted(stories, one.names.astype(str))) for name, one in read.items()},
        n_samples=len(stories),
    )
    counts = np.round(3.0 * views.share(views.names)).astype(int)
    assert np.bincount(counts).tolist() == [0, 53, 194, 169]
