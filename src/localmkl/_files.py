"""Writing whole files, and arrays in files that vanish.

A file is written beside its place, synchronised, then renamed: readers see the old one or the new one, and so
does whoever comes after a crash. On Linux it has no name before it is complete, and a kill leaves nothing.
"""

import os
import re
import stat
import tempfile
import time
import uuid
import weakref
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

SHOWN = 50
"""Letters of a file's name in that of its draft, which must not be longer than systems allow."""
STALE = 3600.0
"""Seconds after which nobody still writes to a draft: a crash has left it, where every file has a name."""
KINDS = {
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}
"""Kinds of places that are never replaced by a file."""


def write_whole(path, content):
    """Write a file whole or not at all; an old one stays until the end, and passes on who may use it.

    Parameters
    ----------
    path : path-like
        Where to. Of a link, the file that it leads to is written, and the link stays.
    content : bytes
    """
    with writing_whole(path) as file:
        file.write(content)


@contextmanager
def writing_whole(path):
    """Yield a file to write bytes to, piece by piece; it is there when the last one is written, else not."""
    with _naming(path):
        target, mode = _target(path)
        _sweep(target)
        draft = _draft_of(target)
        try:
            handle, named = _create(draft)
            with open(handle, "wb") as file:
                yield file
                file.flush()
                if mode is not None and os.chmod in os.supports_fd:
                    os.chmod(handle, mode)
                os.fsync(handle)
                if not named:  # any handle lets Python follow the link to the file
                    os.link(f"/proc/self/fd/{handle}", draft, src_dir_fd=handle)
            os.replace(draft, target)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        _synchronise(target.parent)


def append_whole(path, content):
    """Add to the end of a file, all or nothing."""
    size = os.path.getsize(path)
    try:
        with _naming(path), open(path, "ab") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        os.truncate(path, size)
        raise


def check_place(path):
    """Raise unless a file can be written here: better now than after an hour of work."""
    with _naming(path):
        target, _ = _target(path)
        draft = _draft_of(target)
        handle, named = _create(draft)
        os.close(handle)
        if named:
            draft.unlink()


def scratch_array(shape, dtype=np.float64):
    """Return an array of numbers in a temporary file that is gone with the array, or with this process.

    Worker processes map the same file: where it has no name, by the handle that this process holds.
    """
    folder = tempfile.gettempdir()
    size = np.dtype(dtype).itemsize * int(np.prod(shape))
    handle, name = _nameless(folder), None
    if handle is None:
        handle, name = tempfile.mkstemp(prefix="localmkl-", dir=folder)
    try:
        with _naming(folder):
            _reserve(handle, size)
        array = np.memmap(name or f"/proc/{os.getpid()}/fd/{handle}", dtype, "r+", shape=shape)
    except BaseException:
        _drop(handle, name)
        raise
    weakref.finalize(array, _drop, handle, name)
    return np.asarray(array)


def create_array(path, shape, dtype):
    """Make an ``.npy`` file of zeros, to be filled as a memory map; its room is taken at once.

    What is there is replaced.
    """
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
    with _naming(path), open(path, "wb") as file:
        try:
            np.lib.format.write_array_header_1_0(file, header)
            file.flush()
            _reserve(file.fileno(), file.tell() + np.dtype(dtype).itemsize * int(np.prod(shape)))
        except BaseException:
            os.unlink(path)
            raise


def _reserve(handle, size):
    """Give a file its size; without room for it, writing to its map would end the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, size)
    else:
        os.truncate(handle, size)


def _drop(handle, name):
    os.close(handle)
    if name is not None:
        with suppress(OSError):
            os.unlink(name)


def _target(path):
    """Return the file that a path leads to, and its mode if it is there; raise if it cannot be written."""
    target = Path(os.path.realpath(path))
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        if not target.parent.is_dir():
            raise FileNotFoundError(
                f"The folder of {str(path)!r} is not there; make it first, or write elsewhere."
            ) from None
        return target, None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(21, "Is a directory", str(path))
    if (kind := KINDS.get(stat.S_IFMT(mode))) is not None:
        raise ValueError(f"{str(path)!r} must be a file, it is {kind}; choose another name.")
    if not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(13, "Permission denied", str(path))
    return target, stat.S_IMODE(mode) & 0o777


@contextmanager
def _naming(path):
    """Let errors of the system name the file that was asked for."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def _draft_of(target):
    return target.with_name(f".{target.name[:SHOWN]}.{uuid.uuid4().hex}.part")


def _create(draft):
    """Return the handle of a new file in the folder of a draft, and whether it has that name already."""
    handle = _nameless(draft.parent)
    if handle is not None:
        return handle, False
    return os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0), 0o666), True


def _nameless(folder):
    """Return the handle of a new file without a name, or None where there are no such files."""
    if not hasattr(os, "O_TMPFILE") or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666)
    except OSError:  # some file systems; whatever else is wrong comes again
        return None


def _sweep(target):
    """Remove drafts of a file that crashes have left."""
    pattern = re.compile(re.escape(f".{target.name[:SHOWN]}.") + r"[0-9a-f]{32}\.part")
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            if pattern.fullmatch(entry.name) and time.time() - entry.stat().st_mtime > STALE:
                os.unlink(entry.path)


def _synchronise(folder):
    """Force the names in a folder to disk, where that can be done."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
