"""Result rows on disk: JSON lines, the first of which holds the settings that all rows share.

Rows of one cell are written at once. A last line that was torn by a crash is ignored, and cut off before the
next rows.
"""

import gzip
import json
import os
from pathlib import Path

KEY = ("method", "point", "repetition")
"""Names in every row, of a cell that failed too."""


def row_key(row):
    """Return the key of a finished row, unique in its file."""
    return tuple(row[name] for name in KEY)


def finished(rows):
    """Return the rows that hold a score, the last of each kind."""
    return list({row_key(row): row for row in rows if "error" not in row}.values())


def stored(path):
    """Return the file of rows, compressed or not; None if there is neither."""
    found = (candidate for candidate in (path, path.with_suffix(".jsonl.gz")) if candidate.exists())
    return next(found, None)


def read_rows(path):
    """Return (settings, rows) of a file of rows, compressed (``.gz``) or not."""
    content = path.read_bytes()
    return parse(path, gzip.decompress(content) if path.suffix == ".gz" else content)


def open_rows(path, settings):
    """Make a file of rows, or check that it has these settings; return its rows.

    What is kept compressed is unpacked first. A file with other settings is refused; but methods may be added
    to the `grids`, and the `protocol` is for readers: that of the last run stays.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    settings = json.loads(json.dumps(settings))  # as it will be read back
    known, rows = read_rows(stored(path)) if stored(path) else (settings, [])
    check_settings(path, known, settings)
    joined = {**settings, "grids": {**known.get("grids", {}), **settings.get("grids", {})}}
    partial = path.with_suffix(".partial")
    partial.write_bytes(b"".join(map(as_line, [{"settings": joined}, *rows])))
    os.replace(partial, path)
    return rows


def pack_rows(path):
    """Keep a file of rows compressed, the same bytes for the same rows."""
    if path.exists():
        path.with_suffix(".jsonl.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        path.unlink()


def append_rows(path, rows):
    """Add rows at the end of a file, and force them to disk."""
    with open(path, "ab") as file:
        file.write(b"".join(map(as_line, rows)))
        file.flush()
        os.fsync(file.fileno())


def check_settings(path, found, expected):
    """Raise unless a file's settings are the expected ones, and say which differ."""
    differing = [key for key in {**found, **expected} if differ(key, found.get(key), expected.get(key))]
    if differing:
        pairs = "; ".join(f"{key}: {found.get(key)!r} there, {expected.get(key)!r} now" for key in differing)
        raise ValueError(f"{str(path)!r} holds rows of other settings ({pairs}); choose another folder.")


def differ(key, found, expected):
    """Return whether a setting has changed the meaning of rows."""
    if key == "grids" and found and expected:
        return any(found[label] != expected[label] for label in found.keys() & expected.keys())
    return key != "protocol" and found != expected


def as_line(record):
    """Return a record as a line of a file."""
    return json.dumps(record, allow_nan=False).encode() + b"\n"


def parse(path, content):
    """Return settings and rows; whatever follows the last newline was torn."""
    records = []
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        try:
            record = json.loads(line)
            if number == 1:
                record["settings"]
            elif "error" not in record:
                float(record["score"])
        except (ValueError, KeyError, TypeError) as error:
            what = "settings" if number == 1 else "a row with a score or an error"
            raise ValueError(f"{str(path)!r}, line {number}, must be {what}; remove that line.") from error
        records.append(record)
    if not records:
        raise ValueError(f"{str(path)!r} must begin with a line of settings; choose another folder.")
    return records[0]["settings"], records[1:]
