"""A file of finished work: a header that says which search it belongs to, then one line for each batch.

It begins when the first batch is finished: a search that fails at once leaves none. Every line carries its
checksum and is written whole and synchronised before the next begins. What a crash left half-written is not
believed, and is cut off before the file goes on.
"""

import hashlib
import json
import os
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from joblib.hashing import NumpyHasher

from localmkl._files import append_whole, check_place, write_whole
from localmkl._types import FilePath

HEADER = "search"
BATCH = "batch"


class OtherSearch(ValueError):
    """A file holds something else than finished work of this search."""


class Checkpoint:
    """The finished batches of one search, in memory and in a file.

    Parameters
    ----------
    path : path-like
    parts : dict of str to str
        Fingerprints of what makes the search: estimator, candidates, data and so on.
    settings : dict
        What a continued search takes over from the first run, as JSON values.
    what : str, default="search"
        What the work is for, in messages.
    """

    def __init__(
        self, path: FilePath, parts: dict[str, str], settings: dict[str, Any], what: str = "search"
    ) -> None:
        self.path, self.what = Path(path), what
        self.settings = settings
        self.finished: dict[tuple[Any, ...], list[Any]] = {}
        self._header = _line(HEADER, {"parts": parts, "settings": settings})
        check_place(self.path)
        content = self.path.read_bytes() if self.path.exists() else b""
        if not content:
            return
        records = [_parse(line) for line in content.split(b"\n")[:-1]]
        if not records or records[0] is None or records[0]["kind"] != HEADER:
            raise OtherSearch(
                f"`checkpoint` must be a file of a {what}, or a new one, got {str(self.path)!r}, which is "
                "something else; give another path."
            )
        done = [record["value"] for record in records[1:] if record is not None]
        if not done:
            return
        self._compare(records[0]["value"]["parts"], parts)
        self.settings = records[0]["value"]["settings"]
        self.finished = {tuple(value["key"]): value["cells"] for value in done}
        if not content.endswith(b"\n"):
            os.truncate(self.path, content.rfind(b"\n") + 1)

    def _compare(self, known: dict[str, str], parts: dict[str, str]) -> None:
        changed = sorted(name for name in parts if known.get(name) != parts[name])
        if changed:
            raise OtherSearch(
                f"`checkpoint` {str(self.path)!r} belongs to another {self.what} "
                f"(other {', '.join(changed)}); remove the file or give another "
                "path, and fix the `random_state` of whatever is random."
            )

    def add(self, key: tuple[Any, ...], cells: list[Any]) -> None:
        """Write the cells of a finished batch."""
        line = _line(BATCH, {"key": key, "cells": cells})
        if self.finished:
            append_whole(self.path, line)
        else:
            write_whole(self.path, self._header + line)
        self.finished[key] = cells


def fingerprint(value: Any) -> str:
    """Return a hash of any value that stays the same from one process to the next."""
    return _Hasher("md5", coerce_mmap=True).hash(value)


class _Hasher(NumpyHasher):
    """Take functions by what they do: they may have no name to be found by, or another meaning tomorrow."""

    def save(self, obj: Any) -> None:
        if isinstance(obj, FunctionType):
            cells = [cell.cell_contents for cell in obj.__closure__ or ()]
            obj = ("function", obj.__code__, obj.__defaults__, cells)
        elif isinstance(obj, CodeType):
            obj = ("code", obj.co_code, obj.co_consts, obj.co_names)
        super().save(obj)


def _line(kind: str, value: dict[str, Any]) -> bytes:
    text = json.dumps({"kind": kind, "value": value}, separators=(",", ":"))
    return f"{_checksum(text)} {text}\n".encode()


def _parse(line: bytes) -> dict[str, Any] | None:
    """Return the record of a line, or None if it is damaged."""
    checksum, _, text = line.decode(errors="replace").partition(" ")
    return json.loads(text) if checksum == _checksum(text) else None


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
