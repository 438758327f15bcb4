"""Files of the data home: found there, else downloaded, verified and written whole, else an error that helps.

The data home is the argument `data_home`, else the environment variable LOCALMKL_DATA, else
``~/localmkl_data``. What is in it is the user's, and taken as it is. A file that is missing there comes from
its public address, or from a server that has the whole data home (`base_url`, LOCALMKL_DATA_URL).
"""

from __future__ import annotations

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
from localmkl.datasets.recipes import RECIPES
from localmkl.datasets.registry import FILES

if TYPE_CHECKING:
    from localmkl.datasets.registry import DataFile, DataSet


DATA_HOME = "LOCALMKL_DATA"
DATA_URL = "LOCALMKL_DATA_URL"
PATIENCE = 30.0
"""Seconds without a byte after which a connection is given up."""


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


def locate(
    key: str, home: FilePath | None = None, base_url: str | None = None, download: bool = True
) -> Path:
    """Return the path of a file of the data home, after downloading it if needed; `locate_all` of one."""
    return locate_all([key], home, base_url, download)[0]


def locate_all(
    keys: Iterable[str], home: FilePath | None = None, base_url: str | None = None, download: bool = True
) -> list[Path]:
    """Return the paths of files of the data home, after downloading those that are missing.

    Parameters
    ----------
    keys : iterable of str
        Keys of `FILES`.
    home, base_url, download
        As `data_home`, `base_url` and `download` in `fetch_celegans_acceptor`.

    Returns
    -------
    list of pathlib.Path
    """
    wanted, home = [FILES[key] for key in keys], data_home(home)
    server = base_url or os.environ.get(DATA_URL)
    missing = []
    for file in wanted:
        lacking = [part for part in file.parts or (file,) if not (home / part.path).exists()]
        if lacking and not (download and (server or file.url)):
            raise FileNotFoundError(_where_to_put(file, home / file.path, download))
        missing += lacking
    for origin in dict.fromkeys(file.origin for file in missing):
        warn(
            _announcement(origin, [file for file in missing if file.origin == origin], server),
            DownloadWarning,
        )
    for file in missing:
        _download(file, home / file.path, server)
    return [home / file.path for file in wanted]


def _where_to_put(file: DataFile, path: Path, download: bool) -> str:
    known = f" ({_public(file)})" if file.url else ""
    elsewhere = f", or a server that has it by `base_url` or {DATA_URL}" if download else ""
    return (
        f"{file.path!r} ({file.what}) must be in the data home, it is not; put it at {str(path)!r}{known}, "
        f"name another folder by `data_home` or {DATA_HOME}{elsewhere}."
    )


def _public(file: DataFile) -> str:
    made = RECIPES[file.recipe].words
    return f"{'what is' if made else 'it is'} at {file.url!r}{made and f', {made}'}"


def _announcement(origin: DataSet, files: list[DataFile], server: str | None) -> str:
    sizes = [file.size for file in files if file.size is not None]
    size = "size not known" if len(sizes) < len(files) else f"{sum(sizes) / 1e6:.1f} MB"
    count = f"{len(files)} file{'s' * (len(files) > 1)}"
    terms = (
        f"terms as stated at {origin.repository}: {origin.terms}" if origin.terms else "no terms are known"
    )
    place = server or origin.repository
    return f"Downloading {count} ({size}) of {origin.name}, {origin.what}, from {place}; {terms}."


def _download(file: DataFile, path: Path, server: str | None) -> None:
    """Put a file in the data home, whole and verified, or raise in one sentence."""
    # `locate_all` has seen that there is a server or an address.
    url = f"{server.rstrip('/')}/{file.path}" if server else str(file.url)
    recipe = RECIPES[file.recipe]
    try:
        with urlopen(Request(url, headers={"User-Agent": "localmkl"}), timeout=PATIENCE) as response:
            received = response.read()
    # A network fails as OSError or HTTPException, an address that is none as ValueError.
    except (OSError, http.client.HTTPException, ValueError) as error:
        if isinstance(error, HTTPError):
            error.close()
        said = str(error).removeprefix("<urlopen error ").removesuffix(">")
        known = f" ({_public(file)})" if file.url and (server or file.recipe) else ""
        raise OSError(
            f"{url!r} cannot be downloaded ({said}); put the file at {str(path)!r}{known}, or name another "
            f"server by `base_url` or {DATA_URL}."
        ) from error
    try:
        content = recipe.undo(received) if server else received
        kept = received if server else recipe.make(received)
    except (EOFError, OSError, ValueError, zlib.error) as error:
        raise ValueError(_other(url, file, f"cannot be read ({error})")) from error
    came = hashlib.sha256(content).hexdigest()
    if file.sha256 not in (None, came):
        raise ValueError(_other(url, file, f"has {len(content)} bytes and the SHA-256 {came}"))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, kept)


def _other(url: str, file: DataFile, found: str) -> str:
    expected = "be a file of this kind"
    if file.sha256 is not None:
        expected = f"have {file.size} bytes and the SHA-256 {file.sha256}"
    return (
        f"{url!r} must {expected}, what came {found}; it was thrown away, get {file.path!r} ({file.what}) "
        "elsewhere."
    )
