"""Files of the data home: found there, else downloaded, verified and written whole, else an error that helps.

The data home is the argument `data_home`, else the environment variable LOCALMKL_DATA, else
``~/localmkl_data``. What is in it is the user's, and taken as it is. A file that is missing there comes from
its public address, or from a server that has the whole data home (LOCALMKL_DATA_URL).
"""

from __future__ import annotations

import gzip
import hashlib
import http.client
import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from localmkl._files import write_whole
from localmkl._types import FilePath
from localmkl._warnings import warn
from localmkl.datasets.registry import FILES

if TYPE_CHECKING:
    from localmkl.datasets.registry import DataFile, DataSet


DATA_HOME = "LOCALMKL_DATA"
DATA_URL = "LOCALMKL_DATA_URL"


class DownloadWarning(UserWarning):
    """Files of a data set are about to be downloaded, on the terms that the text states.

    Examples
    --------
    Nothing is downloaded where it is an error:

    >>> import tempfile, warnings
    >>> from localmkl.datasets import DownloadWarning, fetch_mfeat
    >>> with tempfile.TemporaryDirectory() as empty, warnings.catch_warnings():
    ...     warnings.simplefilter("error", DownloadWarning)
    ...     fetch_mfeat(data_home=empty)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    localmkl.datasets.downloading.DownloadWarning: Downloading 1 file (3.5 MB) of mfeat, 2000 handwritten ...
    """


def data_home(path: FilePath | None = None) -> Path:
    """Return the folder of the data sets.

    Parameters
    ----------
    path : str or path-like, optional
        By default what the environment variable LOCALMKL_DATA says, else ``~/localmkl_data``.

    Returns
    -------
    pathlib.Path
        The folder; it need not exist.

    Examples
    --------
    >>> data_home("/data/mkl").name
    'mkl'
    """
    chosen = path or os.environ.get(DATA_HOME) or Path.home() / "localmkl_data"
    return Path(chosen).expanduser()


def locate(key: str, home: FilePath | None = None, download: bool = True) -> Path:
    """Return the path of a file of the data home, after downloading it if needed; `locate_all` of one."""
    return locate_all([key], home, download)[0]


def locate_all(keys: Iterable[str], home: FilePath | None = None, download: bool = True) -> list[Path]:
    """Return the paths of files of the data home, after downloading those that are missing.

    Parameters
    ----------
    keys : iterable of str
        Keys of `FILES`.
    home, download
        As `data_home` and `download` in `fetch_celegans_acceptor`.

    Returns
    -------
    list of pathlib.Path
    """
    wanted, home = [FILES[key] for key in keys], data_home(home)
    server = os.environ.get(DATA_URL)
    missing = [file for file in wanted if not (home / file.path).exists()]
    for file in missing:
        if not (download and (server or file.url)):
            raise FileNotFoundError(
                f"{file.path!r} ({file.what}) must be in the data home, it is not; name another folder by "
                f"`data_home` or {DATA_HOME}, or put it at {str(home / file.path)!r}{_public(file)}."
            )
    for origin in dict.fromkeys(file.origin for file in missing):
        files = [file for file in missing if file.origin == origin]
        warn(_announcement(origin, files, server), DownloadWarning)
    for file in missing:
        _download(file, home / file.path, server)
    return [home / file.path for file in wanted]


def _public(file: DataFile) -> str:
    address = file.url or file.origin.repository
    return f" (it is at {address!r}{', to be compressed by gzip' * file.packed})" if address else ""


def _announcement(origin: DataSet, files: list[DataFile], server: str | None) -> str:
    size = f"{sum(file.size or 0 for file in files) / 1e6:.1f} MB"
    count = f"{len(files)} file{'s' * (len(files) > 1)}"
    terms = (
        f"terms as stated at {origin.repository}: {origin.terms}" if origin.terms else "no terms are known"
    )
    place = server or origin.repository
    return f"Downloading {count} ({size}) of {origin.name}, {origin.what}, from {place}; {terms}."


def _download(file: DataFile, path: Path, server: str | None) -> None:
    """Put a file in the data home, whole and verified, or raise in one sentence."""
    url = f"{server.rstrip('/')}/{file.path}" if server else str(file.url)
    try:
        with urlopen(Request(url, headers={"User-Agent": "localmkl"}), timeout=30.0) as response:
            received = response.read()
        content = gzip.decompress(received) if server and file.packed else received
    # A network fails as OSError or HTTPException, an address that is none as ValueError.
    except (EOFError, OSError, http.client.HTTPException, ValueError, zlib.error) as error:
        if isinstance(error, HTTPError):
            error.close()
        said = str(error).removeprefix("<urlopen error ").removesuffix(">")
        raise OSError(
            f"{url!r} cannot be downloaded ({said}); put the file at {str(path)!r}{_public(file)}, or name "
            f"another server by {DATA_URL}."
        ) from error
    came = hashlib.sha256(content).hexdigest()
    if file.sha256 not in (None, came):
        raise ValueError(
            f"{url!r} must have {file.size} bytes and the SHA-256 {file.sha256}, what came has "
            f"{len(content)} bytes and {came}; it was thrown away, get {file.path!r} elsewhere."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    if file.packed and not server:  # at the highest level, letters of DNA take 50 times as long
        received = gzip.compress(received, 1, mtime=0)
    write_whole(path, received)
