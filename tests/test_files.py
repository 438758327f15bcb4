"""Files are written whole or not at all, and never in place of what is no file."""

import os
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import localmkl
from localmkl import MKLClassifier, _files
from localmkl._files import append_whole, check_place, scratch_array, write_whole
from localmkl.cli.voice import sentence
from localmkl.kernels import Linear
from localmkl.model_selection import MKLSearchCV

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, modes and limits of POSIX systems")


@pytest.fixture(params=["nameless", "named"])
def drafts(request, monkeypatch):
    """Run a test also as where every file has a name."""
    if request.param == "named":
        monkeypatch.setattr(_files, "_nameless", lambda folder: None)
    return request.param


def limited(function, *arguments, size=1000):
    """Call a function while no file may be larger than this."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        return function(*arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_of_a_link_the_file_is_written_and_the_link_stays(drafts, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "file")
    for content in (b"first", b"second"):  # a link to nothing, and to a file
        write_whole(tmp_path / "link", content)
        assert (tmp_path / "folder" / "file").read_bytes() == content
    assert (tmp_path / "link").is_symlink()
    assert os.listdir(tmp_path / "folder") == ["file"]


@pytest.mark.parametrize("kind", ["device", "pipe", "socket", "folder", "link to a pipe"])
def test_what_is_no_file_is_never_replaced(kind, tmp_path):
    path = tmp_path / "place"
    if kind == "device":
        path.symlink_to("/dev/null")
    elif kind == "folder":
        path.mkdir()
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as own:
            own.bind(os.path.relpath(path))
    else:
        os.mkfifo(path)
    if kind == "link to a pipe":
        path = tmp_path / "link"
        path.symlink_to("place")
    before = os.stat(path)
    for write in (lambda: localmkl.save(MKLClassifier(), path), lambda: check_place(path)):
        with pytest.raises((ValueError, IsADirectoryError), match=r"place|link"):
            write()
    assert os.stat(path).st_ino == before.st_ino
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_an_old_file_passes_on_who_may_use_it_and_a_protected_one_stays(drafts, tmp_path):
    path = tmp_path / "file"
    write_whole(path, b"first")
    path.chmod(0o640)
    write_whole(path, b"second")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o444)
    if os.geteuid() != 0:  # who may do everything is not asked
        with pytest.raises(PermissionError):
            write_whole(path, b"third")
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("letters", ["a", "\N{SNOWMAN}"])
def test_the_longest_names_can_be_written(drafts, letters, tmp_path):
    name = letters * (255 // len(letters.encode()))
    write_whole(tmp_path / name, b"content")
    assert os.listdir(tmp_path) == [name]


def test_a_file_that_grows_too_large_leaves_the_old_one_and_is_named(drafts, tmp_path):
    path = tmp_path / "file"
    write_whole(path, b"old")
    with pytest.raises(OSError, match=r"File too large: '.*file'"):
        limited(write_whole, path, b"x" * 2000)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_line_that_does_not_fit_is_not_there_at_all(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"first\n")
    with pytest.raises(OSError, match=r"File too large: '.*file'"):
        limited(append_whole, path, b"x" * 2000 + b"\n")
    assert path.read_bytes() == b"first\n"
    append_whole(path, b"second\n")
    assert path.read_bytes() == b"first\nsecond\n"


def test_drafts_that_a_crash_has_left_go_with_the_next_writing(tmp_path):
    names = [f".file.{letter * 32}.part" for letter in "ab"]
    for name in (*names, ".file.notes", ".other." + "c" * 32 + ".part"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (0, 0))
    os.utime(tmp_path / names[1])  # somebody may still be writing it
    write_whole(tmp_path / "file", b"")
    assert set(os.listdir(tmp_path)) == {"file", names[1], ".file.notes", ".other." + "c" * 32 + ".part"}


def test_a_scratch_array_is_a_file_that_goes_with_it(drafts, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    array = scratch_array((2, 3, 4))
    array[:] = 1.0
    assert array.sum() == 24.0
    assert len(os.listdir(tmp_path)) == (drafts == "named")
    handles = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None
    del array
    assert os.listdir(tmp_path) == []
    if handles is not None:
        assert len(os.listdir("/proc/self/fd")) < handles


def test_a_scratch_array_without_room_is_an_error_and_not_the_end(drafts, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(OSError, match=f"File too large: '{tmp_path}'"):
        limited(scratch_array, (1000,))
    assert os.listdir(tmp_path) == []


def test_rows_that_find_no_room_on_their_way_to_workers_are_a_full_disk():
    X = np.random.default_rng(0).normal(size=(40, 4000))
    search = MKLSearchCV(MKLClassifier([Linear()]), {"C": [0.1, 1.0], "p": [1.0, 2.0]}, cv=2, n_jobs=2)
    with pytest.raises(OSError, match=r"File too large \(temporary files of joblib\)") as caught:
        limited(search.fit, X, np.arange(40) % 2, size=10**6)
    assert sentence(caught.value).startswith("A temporary file cannot be used: File too large")


ORPHANS = """
import os, time
from joblib import delayed
from localmkl._files import scratch_array
from localmkl._workers import parallel

def work(array):
    os.write(1, f"{os.getpid()} {int(array.sum())}\\n".encode())  # whole: two write to one pipe
    time.sleep(60)

if __name__ == "__main__":
    array = scratch_array((8,))
    array[:] = 1.0
    parallel(2)(delayed(work)(array) for _ in range(2))
"""


@pytest.mark.parametrize("how", ["SIGKILL", "SIGHUP"])  # killed alone; all together, by a closed terminal
def test_workers_and_their_files_end_with_their_process(how, tmp_path):
    (tmp_path / "orphans.py").write_text(ORPHANS)
    (tmp_path / "temporary").mkdir()
    child = subprocess.Popen(
        [sys.executable, tmp_path / "orphans.py"],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
    )
    workers = np.array([child.stdout.readline().split() for _ in range(2)], dtype=int)
    assert workers[:, 1].tolist() == [8, 8]
    os.kill(child.pid, signal.SIGKILL) if how == "SIGKILL" else os.killpg(child.pid, signal.SIGHUP)
    child.communicate(timeout=30)  # ends when nobody holds the pipe
    for _ in range(500):
        left = [pid for pid in workers[:, 0] if _runs(pid)]
        left += [*Path("/dev/shm").glob(f"*[-_]{child.pid}[-_]*")]
        if not left:
            break
        time.sleep(0.01)
    assert left == []
    assert os.listdir(tmp_path / "temporary") == []


def _runs(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
