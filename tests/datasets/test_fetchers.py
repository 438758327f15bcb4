import bz2
import functools
import gzip
import io

import numpy as np
import pytest
import scipy.io

from localmkl.datasets import (
    data_home,
    fetch_celegans_acceptor,
    fetch_human_promoters,
    fetch_mfeat,
    fetch_mouse_promoters,
    fetch_protein_fold,
    fetchers,
    read_grams,
)

FOLDS = (
    "FOLD(1) here refers to fold index 1.\n\n"
    "FOLD (1)  Globin\n>p\nMK V\nLA\n>q\nAC\nFOLD  (3) OTHER\n>r \nWWX\n"
)
HUMAN = b"sequence,label\nACGT,1\nAGGT,0\n"


def small_files():
    """Return the content of every file of the data home, made up and small."""
    rng = np.random.default_rng(0)

    def fasta(n, length, label):
        rows = ["".join(row) for row in rng.choice(list("ACGT"), (n, length))]
        return "".join(f"> {i}{label(i)}\n{row}\n" for i, row in enumerate(rows)).encode()

    def labelled(i):
        return f" label={1 if i % 3 == 0 else -1}"

    def matlab(views, y):
        cells = np.empty((len(views), 1), dtype=object)
        cells[:, 0] = views
        buffer = io.BytesIO()
        scipy.io.savemat(buffer, {"X": cells, "y": np.array(y)[:, None]})
        return buffer.getvalue()

    return {
        "acceptor_82": fasta(9, 82, labelled),
        "acceptor_398": bz2.compress(fasta(6, 398, labelled)),
        **{f"human_tata_{part}": gzip.compress(HUMAN) for part in ("train", "dev", "test")},
        "mouse_epd": fasta(2, 251, lambda i: ""),
        "mouse_dbtss": fasta(3, 251, lambda i: ""),
        "mouse_rest": fasta(4, 251, lambda i: " the same name"),
        "fold_train": FOLDS.encode(),
        "fold_test": FOLDS.encode(),
        "fold_kernels": matlab([rng.normal(size=(6, 2)) for _ in range(12)], [1, 1, 3, 1, 1, 3]),
        "mfeat": matlab([rng.normal(size=(4, width)) for width in (3, 2, 2, 1, 4, 2)], [1, 1, 2, 10]),
    }


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Fill a data home with small files, and nothing else to fall back to."""
    monkeypatch.setenv("LOCALMKL_DATA", str(tmp_path))
    for key, content in small_files().items():
        path = tmp_path / fetchers.FILES[key].path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def test_files_of_the_data_home_are_read_into_arrays(home):
    assert fetch_celegans_acceptor(download=False).y.tolist() == [1, -1, -1] * 3
    assert {len(x) for x in fetch_celegans_acceptor(398, download=False).sequences} == {398}
    assert fetch_mouse_promoters(download=False).y.tolist() == [1] * 2 + [-1] * 4
    assert fetch_mouse_promoters("dbtss", download=False).y.tolist() == [1] * 3 + [-1] * 4
    assert fetch_mouse_promoters("both", download=False).y.tolist() == [1] * 5 + [-1] * 4
    human = fetch_human_promoters(download=False)
    assert human.sequences.tolist() == ["ACGT", "AGGT"] * 3
    assert human.y.tolist() == [1, -1] * 3
    fold = fetch_protein_fold(download=False)
    assert fold.sequences.tolist() == ["MKVLA", "AC", "WWX"] * 2
    assert fold.y.tolist() == [1, 1, 3] * 2
    assert fold.names.tolist() == ["p", "q", "r"] * 2
    assert (fold.train.tolist(), fold.test.tolist()) == ([0, 1, 2], [3, 4, 5])
    assert fold.grams.n_kernels == 12
    fold.grams.check_training()
    assert fetch_protein_fold(grams=False, download=False).grams is None
    digits = fetch_mfeat(download=False)
    assert digits.X.shape == (4, 14)
    assert digits.y.tolist() == [0, 0, 1, 9]
    assert digits.views["pixel"] == slice(8, 12)


@pytest.mark.parametrize(
    "fetch, path",
    [
        (fetch_celegans_acceptor, "celegans_acceptor/C_elegans_acc_seq.fa"),
        (functools.partial(fetch_celegans_acceptor, 398), "celegans_acceptor/C_elegans_acc_100000.fasta.bz2"),
        (fetch_mouse_promoters, "mouse_promoters/Mouse_tata.fa"),
        (fetch_protein_fold, "protein_fold/training-sequences.txt"),
        (fetch_mfeat, "mfeat/Handwritten.mat"),
    ],
)
def test_a_missing_file_is_named_with_the_place_to_put_it(fetch, path, tmp_path, monkeypatch):
    monkeypatch.setenv("LOCALMKL_DATA", str(tmp_path))
    expected = (
        rf"'{path}' \(.*\) must be in the data home, it is not; name another folder by `data_home` or "
        rf"LOCALMKL_DATA, or put it at '{tmp_path / path}' \(it is at 'https://raw\.githubusercontent\.com/.*"
    )
    with pytest.raises(FileNotFoundError, match=expected):
        fetch(download=False)


def test_options_are_checked():
    with pytest.raises(ValueError, match=r"`length` must be one of 82, 398, got 60"):
        fetch_celegans_acceptor(60)
    with pytest.raises(ValueError, match=r"`promoters` must be one of 'epd', 'dbtss', 'both'"):
        fetch_mouse_promoters("all")


def real(*keys):
    """Skip, naming the file, unless the data home has them."""
    for key in keys:
        file = fetchers.FILES[key]
        if not (data_home() / file.path).exists():
            pytest.skip(f"{file.path} is not in the data home {data_home()}")


def test_the_real_acceptor_sites_have_ag_in_the_middle():
    real("acceptor_82")
    X, y, _ = fetch_celegans_acceptor(82, download=False)
    assert (len(X), (y == 1).sum()) == (2200, 200)
    assert {x[39:41] for x in X} | {x[40:42] for x in X} >= {"AG"}
    assert np.mean([x[40:42] == "AG" for x in X]) > 0.99


def test_the_real_long_acceptor_sites_are_a_hundred_thousand():
    real("acceptor_398")
    X, y, _ = fetch_celegans_acceptor(398, download=False)
    assert (len(X), (y == 1).sum()) == (100000, 3301)


def test_the_real_promoters_have_251_letters():
    real("mouse_epd", "mouse_dbtss", "mouse_rest")
    X, y, _ = fetch_mouse_promoters("both", download=False)
    assert {len(x) for x in X} == {251}
    assert np.bincount((y + 1) // 2).tolist() == [3530, 1255 + 1354]


@pytest.mark.parametrize(("kind", "length", "count"), [("tata", 300, 3065), ("notata_core", 70, 26533)])
def test_the_real_human_promoters_are_balanced(kind, length, count):
    real(*(f"human_{kind}_{part}" for part in ("train", "dev", "test")))
    X, y, _ = fetch_human_promoters(kind, download=False)
    assert {len(x) for x in X} == {length}
    assert np.bincount((y + 1) // 2).tolist() == [count, count]


def test_the_real_folds_are_those_of_the_kernels():
    real("fold_train", "fold_test", "fold_kernels")
    fold = fetch_protein_fold(download=False)
    assert (len(fold.train), len(fold.test), len(np.unique(fold.y))) == (311, 383, 27)
    kept = scipy.io.loadmat(data_home() / fetchers.FILES["fold_kernels"].path)["y"].ravel()
    np.testing.assert_array_equal(fold.y, kept)
    assert fold.grams.shape == (694, 694)


def test_the_real_digits_have_six_views():
    real("mfeat")
    digits = fetch_mfeat(download=False)
    assert digits.X.shape == (2000, 649)
    assert np.bincount(digits.y).tolist() == [200] * 10


def test_real_precomputed_grams_are_read():
    path = data_home() / "precomputed" / "jaffe_expression_12k.mat"
    if not path.exists():
        pytest.skip(f"precomputed/jaffe_expression_12k.mat is not in the data home {data_home()}")
    data = read_grams(path, variable="Ks", labels="g")
    assert data.grams.n_kernels == 12
    assert data.grams.shape == (213, 213)
    data.grams.check_training()
