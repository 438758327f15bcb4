"""Result rows on disk: JSON lines, the first of which holds the settings all rows share.

A line is written whole or not at all as far as readers are concerned: only the process that holds the lock
appends, every append is forced to disk, and a last line torn by a crash is ignored, and cut off before the
next append.
"""

import gzip
import json
import os
import platform
import subprocess
import zlib
from datetime import UTC, datetime
from functools import cache
from math import isfinite
from pathlib import Path

import localmkl
from localmkl._files import append_whole, check_place, write_whole


class ResultFile:
    """The rows of one experiment on one data set, locked against a second writer while open.

    Parameters
    ----------
    path : path-like
        A ``.jsonl`` file; it is made with its folder if it is not there, from the rows of a ``.jsonl.gz``
        file beside it if there are any.
    settings : dict
        What gives the rows their meaning. A file with other settings is refused; but methods may be added to
        the `grids`, and the `protocol` is for readers: that of the last run stays.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.jsonl"
    >>> with ResultFile(path, {"seed": 0}) as file:
    ...     file.append([{"score": 0.5}])
    >>> read_results(path)
    ({'seed': 0}, [{'score': 0.5}])
    """

    def __init__(self, path, settings):
        self.path = Path(path)
        self.settings = json.loads(json.dumps(settings))  # as it will be read back

    def __enter__(self):
        """Lock the file, check its settings, cut off a torn last line; `rows` holds what was there."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        check_place(self.path)
        self._lock = _lock(self.path.with_suffix(".lock"))
        try:
            packed = self.path.with_suffix(".jsonl.gz")
            if not self.path.exists():
                rows = _unpacked(packed) if packed.exists() else b""
                write_whole(self.path, rows or _line({"settings": self.settings}))
            whole = _whole_lines(self.path.read_bytes())
            settings, self.rows = _parse(self.path, whole)
            check_settings(self.path, settings, self.settings)
            self.settings = _joined(settings, self.settings)
            if self.settings == settings:
                os.truncate(self.path, len(whole))
            else:
                _, _, lines = whole.partition(b"\n")
                write_whole(self.path, _line({"settings": self.settings}) + lines)
        except BaseException:
            self._lock.close()
            raise
        return self

    def append(self, rows):
        """Add rows, all of them or none, and force them to disk."""
        append_whole(self.path, b"".join(map(_line, rows)))
        self.rows.extend(rows)

    def __exit__(self, *exception):
        """Unlock."""
        self._lock.close()


def read_results(path):
    """Return (settings, rows) of a result file, compressed (``.gz``) or not."""
    path = Path(path)
    content = _unpacked(path) if path.suffix == ".gz" else path.read_bytes()
    return _parse(path, _whole_lines(content))


def check_settings(path, found, expected):
    """Raise unless a file's settings are the expected ones, and say which differ."""
    differing = [key for key in {**found, **expected} if _differ(key, found.get(key), expected.get(key))]
    if differing:
        pairs = "; ".join(f"{key}: {found.get(key)!r} there, {expected.get(key)!r} now" for key in differing)
        raise ValueError(
            f"{str(path)!r} holds rows of other settings ({pairs}); go on with those settings, or choose "
            "another folder."
        )


def _differ(key, found, expected):
    """Return whether a setting has changed the meaning of rows."""
    if key == "grids" and found and expected:
        return any(found[label] != expected[label] for label in found.keys() & expected.keys())
    return key != "protocol" and found != expected


def _joined(found, expected):
    """Return the expected settings, with the methods of both."""
    if "grids" not in expected:
        return expected
    return {**expected, "grids": {**found["grids"], **expected["grids"]}}


def provenance():
    """Return the provenance of results: version, commit of a checkout (else None), machine, date.

    Examples
    --------
    >>> sorted(provenance())
    ['commit', 'cores', 'cpu', 'date', 'system', 'version']
    """
    return {
        "version": localmkl.__version__,
        "commit": _commit(),
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


@cache
def _commit():
    """Return the commit of the repository this package is a tracked part of."""
    here = Path(localmkl.__file__).parent

    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=here, capture_output=True, text=True, check=False)

    try:
        tracked = git("ls-files", "--error-unmatch", "__init__.py").returncode == 0
        return git("describe", "--always", "--dirty").stdout.strip() or None if tracked else None
    except OSError:  # no git
        return None


@cache
def _processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def _unpacked(path):
    try:
        return gzip.decompress(path.read_bytes())
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(
            f"{str(path)!r} must be a whole gzip file, it is not ({error}); fetch it again."
        ) from error


def _line(record):
    return json.dumps(record, allow_nan=False).encode() + b"\n"


def _whole_lines(content):
    """Return the content without a last line that was torn by a crash."""
    whole = content[: content.rfind(b"\n") + 1]
    *_, last = whole.rstrip(b"\n").split(b"\n")
    try:
        json.loads(last)
    except ValueError:
        return whole[: len(whole) - len(last) - 1] if last else whole
    return whole


def _parse(path, content):
    records = []
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            record = json.loads(line)
            _check_record(record, is_first=number == 1)
        except ValueError as error:
            what = "settings" if number == 1 else "a row of the experiment"
            raise ValueError(
                f"{str(path)!r}, line {number}, must be {what}, it is not ({error}); "
                f"{'choose another folder' if number == 1 else 'remove that line'}."
            ) from error
        records.append(record)
    if not records:
        raise ValueError(
            f"{str(path)!r} must begin with a line of settings, it is empty; choose another folder."
        )
    return records[0]["settings"], records[1:]


def _check_record(record, is_first):
    """Raise unless a line is an object: settings if it is the first, else with a score or an error."""
    if not isinstance(record, dict):
        raise ValueError("no JSON object")
    if is_first:
        if not isinstance(record.get("settings"), dict):
            raise ValueError("without settings")
    elif "error" not in record and not _is_number(record.get("score")):
        raise ValueError("without a score")


def _is_number(value):
    return isinstance(value, int | float) and isfinite(value)


def _lock(path):
    """Return an open file that no other process can lock until it is closed, or its process ends."""
    check_place(path)
    file = open(path, "a")  # noqa: SIM115 - closed by the holder
    try:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # Windows
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError as error:
        file.close()
        raise RuntimeError(
            f"Another run is writing beside {str(path)!r}; wait for it to end, or choose another folder."
        ) from error
    return file
