"""Bytes and text of files, plain or compressed.

Only files that end are read: a pipe or a device could keep a reader for ever.
"""

import bz2
import errno
import gzip
import io
import lzma
import os
import stat
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from localmkl._foreign import import_extra as import_extra
from localmkl._resources import available_memory
from localmkl._types import FilePath

OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def file_kind(path: FilePath) -> str:
    """Return the suffix that says what a file is, below a compression's, in small letters."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    return next((suffix for suffix in reversed(suffixes) if suffix not in OPENERS), "")


def check_regular(path: FilePath) -> None:
    """Raise unless there is a file at a path: no folder, no pipe, no device."""
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "Is a directory", str(path))
    if not stat.S_ISREG(mode):
        raise ValueError(
            f"{quoted(path)} must be a file, it is a pipe or a device; write its content to a file first."
        )


def open_plain(path: FilePath) -> Any:
    """Return a file opened to read its bytes, whether it is compressed or not."""
    return OPENERS.get(Path(path).suffix.lower(), open)(path, "rb")


def check_room(path: FilePath) -> None:
    """Raise unless a file may be read into memory: what is made of its text takes more than the text."""
    check_regular(path)
    free, size = available_memory(), unpacked_size(path)
    if free is not None and size > free // 4:
        raise MemoryError(
            f"{quoted(path)} holds some {size / 2**30:.1f} GiB, too much for the memory that is left; keep "
            "fewer rows or columns."
        )


def unpacked_size(path: FilePath) -> int:
    """Return the bytes of a file's text; about five times those of a compressed file."""
    return os.path.getsize(path) * (5 if Path(path).suffix.lower() in (*OPENERS, ".parquet") else 1)


@contextmanager
def naming_damage(path: FilePath) -> Iterator[None]:
    """Say by name which file is cut short or damaged."""
    try:
        yield
    except (FileNotFoundError, PermissionError):
        raise
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"{quoted(path)} is cut short or damaged ({error}); fetch it again.") from error


def text_lines(path: FilePath, newline: str | None = None) -> Generator[str, None, None]:
    """Yield the lines of a text file, plain or compressed, one after the other; damage is reported by name.

    The file is closed after the last line: whoever may stop before closes the generator.

    Parameters
    ----------
    path : path-like
    newline : None or ""
        As `open` has it: with None, lines are ended by line feeds.
    """
    number = 0
    check_regular(path)
    try:
        with (
            naming_damage(path),
            open_plain(path) as file,
            io.TextIOWrapper(file, encoding="utf-8-sig", newline=newline) as lines,
        ):
            for line in lines:
                number += 1
                if "\0" in line:
                    raise ValueError(_no_text(path, number, "0x00"))
                yield line
    except UnicodeDecodeError as error:
        came = f"0x{error.object[error.start]:02x}"
        number += 1 + error.object.count(b"\n", 0, error.start)
        raise ValueError(_no_text(path, number, came)) from error


def _no_text(path: FilePath, line: int, came: str) -> str:
    return (
        f"{quoted(path)} must be a text file in UTF-8, got other bytes near line {line} ({came}); save it as "
        "text in UTF-8."
    )


def read_text(path: FilePath) -> str:
    """Return the text of a file, plain or compressed; no byte order mark, lines ended by line feeds."""
    check_room(path)
    return "".join(text_lines(path))


@contextmanager
def parsing(path: FilePath, verdict: str) -> Iterator[None]:
    """Turn whatever a parser of a binary format says about a damaged file into a sentence with its name.

    Parsers trip over damage in ways of their own: with IndexError, KeyError, RecursionError, or MemoryError
    for sizes that are damaged themselves.
    """
    try:
        yield
    except (FileNotFoundError, PermissionError, ImportError):
        raise
    except Exception as error:
        said = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        said = "it holds pickled objects, which are never opened" if "pickle" in said else said
        raise ValueError(f"{quoted(path)} {verdict} ({said}).") from error


def quoted(path: FilePath) -> str:
    """Return a path as messages name it."""
    return repr(str(path))


def check_unique(path: FilePath, names: Mapping[int, str]) -> None:
    """Raise for the first of some names, by their lines, that stands in an earlier line too."""
    first: dict[str, int] = {}
    for line, name in names.items():
        if first.setdefault(name, line) != line:
            raise ValueError(
                f"{quoted(path)}, line {line}: the name {name!r} must come once, it came in line "
                f"{first[name]}; rename a sample."
            )
