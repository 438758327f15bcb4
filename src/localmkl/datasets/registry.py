"""The files of the data home: what they are, and where and on which terms they are to be had.

All of it is read from ``data/files.toml``, which says what its entries mean.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class DataSet:
    """Files that come from one place, on the same terms.

    Attributes
    ----------
    name : str
    what : str
    by : str
        The function, or the command, that reads it.
    folder : str
        Where it stands in the data home.
    address : str or None
        Where it stands publicly.
    terms : str or None
        As stated there.
    """

    name: str
    what: str
    by: str
    folder: str
    address: str | None = None
    terms: str | None = None

    @property
    def repository(self) -> str | None:
        """Page of the public repository, for people."""
        found = re.match(r"https://raw\.githubusercontent\.com/([^/]+/[^/]+)/", self.address or "")
        return found and f"https://github.com/{found[1]}"


@dataclass(frozen=True)
class DataFile:
    """A file of the data home, or a folder of such.

    Attributes
    ----------
    path : str
        Where it stands in the data home.
    what : str
        What it is, for the error message.
    origin : DataSet
    url : str or None
        Public address; None without a checksum, for then nothing is downloaded.
    sha256 : str or None
        Of what is there; None where it is not known.
    size : int or None
        Bytes of what is there.
    packed : bool
        Whether it is what the address has, compressed by gzip.
    """

    path: str
    what: str
    origin: DataSet
    url: str | None = None
    sha256: str | None = None
    size: int | None = None
    packed: bool = False


def _read_table() -> Iterator[tuple[str, DataFile]]:
    text = files("localmkl.datasets").joinpath("data/files.toml").read_text(encoding="utf-8")
    for name, entry in tomllib.loads(text).items():
        records = entry.pop("files")
        origin = DataSet(name, **entry)
        for record in records:
            key, file, at = record.pop("key"), record.pop("name"), record.pop("at", None)
            record["path"] = f"{origin.folder}/{file}".rstrip("/")
            record["url"] = f"{origin.address}{at or file}" if "sha256" in record else None
            yield key, DataFile(**{"what": origin.what, **record, "origin": origin})


FILES = dict(_read_table())
"""Files of the data home, by the names that the package has for them."""
