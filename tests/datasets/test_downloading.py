import gzip
import hashlib
import socket
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from urllib.parse import urlsplit

import numpy as np
import pytest

from localmkl.datasets import (
    DownloadWarning,
    data_home,
    downloading,
    fetch_celegans_acceptor,
    fetch_human_promoters,
    fetch_mfeat,
    fetch_mouse_promoters,
    fetch_protein_fold,
)
from localmkl.datasets.downloading import locate, locate_all
from localmkl.datasets.registry import FILES

pytestmark = pytest.mark.filterwarnings("ignore::localmkl.datasets.DownloadWarning")

CONTENT = b"> 1 label=1\nACGT\n> 2 label=-1\nAGGT\n"
TABLE = b"sequence,label\nACGT,1\nAGGT,0\n"


def publish(server, monkeypatch, key, content):
    """Let a file have this content at an address of the server, with the path that its public one has."""
    url = server.address.rstrip("/") + urlsplit(FILES[key].url).path
    sha256 = hashlib.sha256(content).hexdigest()
    monkeypatch.setitem(FILES, key, replace(FILES[key], url=url, sha256=sha256, size=len(content)))
    server.files[urlsplit(url).path] = content
    return urlsplit(url).path


@pytest.fixture
def acceptor(server, monkeypatch):
    """Return the path, on the server, of a small file of acceptor sites."""
    return publish(server, monkeypatch, "acceptor_82", CONTENT)


@pytest.fixture
def home(tmp_path):
    """Return a data home that is not there yet; nothing but whole files may be in it afterwards."""
    yield tmp_path / "home"
    assert list(tmp_path.rglob("*.part")) == []


def test_a_file_is_downloaded_once_and_then_read_from_the_data_home(server, acceptor, home):
    assert fetch_celegans_acceptor(data_home=home).sequences.tolist() == ["ACGT", "AGGT"]
    assert fetch_celegans_acceptor(data_home=home).y.tolist() == [1, -1]
    assert server.asked == [acceptor]
    assert (home / FILES["acceptor_82"].path).read_bytes() == CONTENT


def test_what_is_in_the_data_home_is_taken_as_it_is(home):
    path = home / FILES["acceptor_82"].path
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    assert locate("acceptor_82", home) == path


def test_compressed_files_are_made_from_plain_ones_and_taken_as_they_are_from_a_data_home(
    server, home, tmp_path, monkeypatch
):
    publish(server, monkeypatch, "human_tata_dev", TABLE)
    made = locate("human_tata_dev", home)
    assert gzip.decompress(made.read_bytes()) == TABLE
    monkeypatch.setenv("LOCALMKL_DATA_URL", server.address)
    server.files["/" + FILES["human_tata_dev"].path] = packed = gzip.compress(TABLE, 1)
    assert locate("human_tata_dev", tmp_path / "other").read_bytes() == packed
    server.files["/" + FILES["human_tata_dev"].path] = packed[:-5]
    with pytest.raises(OSError, match=r"cannot be downloaded \(.*\); put the file at"):
        locate("human_tata_dev", tmp_path / "third")
    assert not (tmp_path / "third").exists()


def test_terms_are_stated_once_before_the_files_of_a_data_set_are_downloaded(server, home, monkeypatch):
    for key in ("fold_train", "fold_test", "fold_kernels"):
        publish(server, monkeypatch, key, CONTENT)
    with pytest.warns(DownloadWarning) as caught:
        locate_all(["fold_train", "fold_kernels", "fold_test"], home)
    first, second = (str(one.message) for one in caught)
    assert first == (
        "Downloading 2 files (0.0 MB) of protein_sequences, sequences of 694 proteins in 27 folds, from "
        "https://github.com/MsAlEhR/bio-protein-fold-recognition; terms as stated at "
        "https://github.com/MsAlEhR/bio-protein-fold-recognition: no licence file."
    )
    assert second.startswith("Downloading 1 file (0.0 MB) of protein_kernels, ")
    assert {one.filename for one in caught} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        locate("fold_train", home)


def test_who_makes_the_warning_an_error_downloads_nothing(server, acceptor, home):
    with warnings.catch_warnings():
        warnings.simplefilter("error", DownloadWarning)
        with pytest.raises(DownloadWarning, match="no licence stated"):
            locate("acceptor_82", home)
    assert (server.asked, home.exists()) == ([], False)


def test_other_contents_are_thrown_away(server, acceptor, home):
    server.files[acceptor] = b"<html>moved</html>"
    expected = (
        rf"'{server.address}.*C_elegans_acc_seq\.fa' must have {len(CONTENT)} bytes and the SHA-256 "
        r"[0-9a-f]{64}, what came has 18 bytes and [0-9a-f]{64}; it was thrown away, get 'cel"
    )
    with pytest.raises(ValueError, match=expected):
        locate("acceptor_82", home)
    assert not home.exists()


def test_a_broken_connection_leaves_nothing_behind(server, acceptor, home):
    server.broken.add(acceptor)
    with pytest.raises(OSError, match=r"cannot be downloaded \(IncompleteRead\(.*\); put the file at '"):
        locate("acceptor_82", home)
    assert not home.exists()
    server.broken.clear()
    assert locate("acceptor_82", home).read_bytes() == CONTENT


def test_a_server_without_the_file_is_named_and_the_public_address_too(server, acceptor, home, monkeypatch):
    monkeypatch.setenv("LOCALMKL_DATA_URL", server.address)
    expected = (
        rf"'{server.address}celegans_acceptor/.*' cannot be downloaded \(HTTP Error 404: Not Found\); put "
        rf"the file at '{home / FILES['acceptor_82'].path}' \(it is at '{server.address[:-1]}{acceptor}'\)"
    )
    with pytest.raises(OSError, match=expected):
        locate("acceptor_82", home)
    assert not home.exists()


def test_without_a_network_the_address_and_the_place_are_said(home, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.socket() as taken:  # a port where nobody listens
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("LOCALMKL_DATA_URL", f"http://127.0.0.1:{taken.getsockname()[1]}")
        expected = (
            r"cannot be downloaded \(\[Errno \d+\] Connection refused\); put the file at '.*human_promoters/"
            r"tata_300_train\.csv\.gz' \(it is at 'https://raw\..*/prom_300_tata/train\.csv', to be "
            r"compressed by gzip\), or name another server by LOCALMKL_DATA_URL\.$"
        )
        with pytest.raises(OSError, match=expected):
            fetch_human_promoters(data_home=home)
        monkeypatch.setenv("LOCALMKL_DATA_URL", "nowhere")
        with pytest.raises(OSError, match=r"cannot be downloaded \(unknown url type: 'nowhere/"):
            fetch_human_promoters(data_home=home)


def test_a_download_that_is_interrupted_leaves_nothing_behind(server, acceptor, home, monkeypatch):
    class Interrupted:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def read(self):
            raise KeyboardInterrupt

    monkeypatch.setattr(downloading, "urlopen", lambda *_, **__: Interrupted())
    with pytest.raises(KeyboardInterrupt):
        locate("acceptor_82", home)
    assert not home.exists()


def test_several_at_once_do_no_harm(server, acceptor, home):
    with ThreadPoolExecutor(4) as pool:
        paths = list(pool.map(lambda _: locate("acceptor_82", home), range(8)))
    assert {path.read_bytes() for path in paths} == {CONTENT}
    assert [path.name for path in home.rglob("*.*")] == ["C_elegans_acc_seq.fa"]


def real(*keys):
    """Skip, naming the file, unless the data home has them."""
    for key in keys:
        if not (data_home() / FILES[key].path).exists():
            pytest.skip(f"{FILES[key].path} is not in the data home {data_home()}")


def read_public(file, path):
    """Return what is at the address of a file, from the file that was made of it."""
    content = path.read_bytes()
    return gzip.decompress(content) if file.packed else content


def mirror(server, monkeypatch, keys):
    """Serve files of the data home under the paths of their public addresses, hashes as in the table."""
    for key in keys:
        file = FILES[key]
        path = urlsplit(file.url).path
        server.files[path] = read_public(file, data_home() / file.path)
        monkeypatch.setitem(FILES, key, replace(file, url=server.address.rstrip("/") + path))


@pytest.mark.parametrize("origin", sorted({f.origin.name for f in FILES.values() if f.sha256}))
def test_real_files_are_those_of_the_table(origin, server, home, monkeypatch):
    keys = [key for key, file in FILES.items() if file.origin.name == origin]
    real(*keys)
    mirror(server, monkeypatch, keys)
    for key, path in zip(keys, locate_all(keys, home), strict=True):
        content = read_public(FILES[key], path)
        assert content == read_public(FILES[key], data_home() / FILES[key].path)
        assert len(content) == FILES[key].size


FETCHED = {
    fetch_celegans_acceptor: "acceptor_82",
    fetch_mouse_promoters: "mouse_epd mouse_rest",
    fetch_human_promoters: "human_tata_train human_tata_dev human_tata_test",
    fetch_protein_fold: "fold_train fold_test fold_kernels",
    fetch_mfeat: "mfeat",
}


@pytest.mark.parametrize("fetch", FETCHED, ids=lambda fetch: fetch.__name__)
def test_real_data_that_is_downloaded_is_that_of_the_data_home(fetch, server, home, monkeypatch):
    keys = FETCHED[fetch].split()
    real(*keys)
    mirror(server, monkeypatch, keys)
    downloaded, there = fetch(data_home=home), fetch(download=False)
    for field, a, b in zip(there._fields, downloaded, there, strict=True):
        if field == "grams":
            np.testing.assert_array_equal(a.grams, b.grams)
        elif field == "views":
            assert a == b
        else:
            np.testing.assert_array_equal(a, b)
