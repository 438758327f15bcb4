"""Bytes and text of files, plain or compressed.

Only files that end are read: a pipe or a device could keep a reader for ever.
"""

import bz2
import codecs
import errno
import gzip
import io
import lzma
import os
import stat
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from localmkl._foreign import import_extra as import_extra
from localmkl._resources import available_memory
from localmkl._types import FilePath

OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
CHUNK = 2**22
"""Bytes read at a time: much for one call, little beside the memory that is left."""

TEXT_SHARE = 4
"""A text may fill the memory that is left divided by this: what is made of it takes more than itself."""


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
            f"{str(path)!r} must be a file, it is a pipe or a device; write its content to a file first."
        )


def read_bytes(path: FilePath) -> bytes:
    """Return the content of a file, plain or compressed; damage is reported by name."""
    path = Path(path)
    check_regular(path)
    free = available_memory()
    most = None if free is None else free // TEXT_SHARE
    chunks: list[bytes] = []
    try:
        with OPENERS.get(path.suffix.lower(), open)(path, "rb") as file:
            while chunk := file.read(CHUNK):
                chunks.append(chunk)
                if most is not None and len(chunks) * CHUNK > most + CHUNK:
                    raise MemoryError(
                        f"{str(path)!r} holds more than {most / 2**30:.1f} GiB, too much for the memory that "
                        "is left; keep fewer rows or columns."
                    )
    except (FileNotFoundError, PermissionError):
        raise
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"{str(path)!r} is cut short or damaged ({error}); fetch it again.") from error
    return b"".join(chunks)


def text_lines(path: FilePath, newline: str | None = None) -> Generator[str, None, None]:
    """Yield the lines of a text file, plain or compressed, one after the other; damage is reported by name.

    The file is closed after the last line: whoever may stop before closes the generator.

    Parameters
    ----------
    path : path-like
    newline : None or ""
        As `open` has it: with None, lines are ended by line feeds.
    """
    path, number = Path(path), 0
    check_regular(path)
    try:
        with (
            OPENERS.get(path.suffix.lower(), open)(path, "rb") as file,
            io.TextIOWrapper(file, encoding="utf-8-sig", newline=newline) as lines,
        ):
            for line in lines:
                number += 1
                if "\0" in line:
                    raise ValueError(_no_text(path, number, "0x00"))
                yield line
    except (FileNotFoundError, PermissionError):
        raise
    except UnicodeDecodeError as error:
        came = f"0x{error.object[error.start]:02x}"
        raise ValueError(_no_text(path, number + error.object.count(b"\n", 0, error.start), came)) from error
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"{str(path)!r} is cut short or damaged ({error}); fetch it again.") from error


def check_text(path: FilePath, content: bytes) -> None:
    """Raise unless bytes are text in UTF-8 without the byte zero."""
    start, came = content.find(b"\0"), "0x00"
    try:
        codecs.utf_8_decode(content, "strict", True)
    except UnicodeDecodeError as error:
        start, came = error.start, f"0x{content[error.start]:02x}"
    if start >= 0:
        line = content.count(b"\n", 0, start) + 1
        raise ValueError(_no_text(path, line, came))


def _no_text(path: FilePath, line: int, came: str) -> str:
    return (
        f"{str(path)!r} must be a text file in UTF-8, got other bytes (line {line}: {came}); save it "
        "as text in UTF-8."
    )


def read_text(path: FilePath) -> str:
    """Return the text of a file, plain or compressed; no byte order mark, lines ended by line feeds."""
    content = read_bytes(path)
    check_text(path, content)
    return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


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
        raise ValueError(f"{str(path)!r} {verdict} ({said}).") from error


def quoted(path: FilePath) -> str:
    """Return a path as messages name it."""
    return repr(str(path))
