"""Data sets that are not shipped, read into arrays; `downloading.py` finds and downloads their files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from localmkl._checks import check_option
from localmkl._types import Array, FilePath, Ints, MaybeNone
from localmkl.datasets.downloading import data_home as data_home
from localmkl.datasets.downloading import locate as locate
from localmkl.datasets.downloading import locate_all
from localmkl.datasets.fasta import SequenceData, read_fasta
from localmkl.datasets.gram_files import read_variables, take_variable
from localmkl.datasets.labels import as_labels
from localmkl.datasets.opening import read_text
from localmkl.datasets.registry import FILES as FILES
from localmkl.kernels import GramStack

ACCEPTOR_LENGTHS = {82: "acceptor_82", 398: "acceptor_398"}
PROMOTERS = {"epd": ("mouse_epd",), "dbtss": ("mouse_dbtss",), "both": ("mouse_epd", "mouse_dbtss")}
HUMAN_KINDS = ("tata", "notata_core")
MFEAT_VIEWS = ("factors", "fourier", "karhunen", "morphological", "pixel", "zernike")


class ProteinFold(NamedTuple):
    """The result of `fetch_protein_fold`.

    Attributes
    ----------
    sequences : ndarray of str, shape (694,)
    y : ndarray of int, shape (694,)
        Fold, 1 .. 27.
    train, test : ndarray of int
        Rows of the 311 training and the 383 test proteins.
    grams : GramStack of 12 kernels, 694 x 694, or None
    names : ndarray of str, shape (694,)
    """

    sequences: np.ndarray
    y: np.ndarray
    train: np.ndarray
    test: np.ndarray
    grams: GramStack | MaybeNone
    names: np.ndarray


class ViewsData(NamedTuple):
    """Several numeric views of the same samples, side by side.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_columns)
    y : ndarray of int, shape (n_samples,)
    views : dict of str to slice
        Name of the view: its columns.
    """

    X: np.ndarray
    y: np.ndarray
    views: dict[str, slice]


def fetch_celegans_acceptor(
    length: int = 82, *, data_home: FilePath | None = None, download: bool = True
) -> SequenceData:
    """Fetch acceptor splice sites of C. elegans, with AG in the middle whether spliced or not.

    Parameters
    ----------
    length : {82, 398}, default=82
        2200 sequences of 82 letters, 200 of them sites, AG at 40:42; or 100000 sequences of 398 letters,
        3301 of them sites.
    data_home : str or path-like, optional
        Folder of the data; LOCALMKL_DATA by default.
    download : bool, default=True
        Whether missing files may be downloaded: from their public addresses, or from the server that the
        environment variable LOCALMKL_DATA_URL names. A `DownloadWarning` says so first, with the terms.

    Returns
    -------
    SequenceData
        Named tuple (sequences, y, names), y in {-1, +1}.

    Notes
    -----
    Terms: no licence is stated at https://github.com/shogun-toolbox/shogun-data, whose ``easysvm/README``
    names ftp.tuebingen.mpg.de/fml/behr/splicing as the origin.

    Examples
    --------
    >>> X, y, _ = fetch_celegans_acceptor()  # doctest: +SKIP
    >>> len(X), X[0][40:42], int((y == 1).sum())  # doctest: +SKIP
    (2200, 'AG', 200)
    """
    if length not in ACCEPTOR_LENGTHS:
        raise ValueError(f"`length` must be one of {', '.join(map(str, ACCEPTOR_LENGTHS))}, got {length!r}.")
    path = locate(ACCEPTOR_LENGTHS[length], data_home, download)
    return read_fasta(path, labels="header")


def fetch_mouse_promoters(
    promoters: str = "epd", *, data_home: FilePath | None = None, download: bool = True
) -> SequenceData:
    """Fetch mouse TATA promoters and sequences that are none, 251 letters from -200 to +50.

    Parameters
    ----------
    promoters : {"epd", "dbtss", "both"}, default="epd"
        1255 promoters of EPDnew, 1354 of DBTSS, or both; against 3530 that are no promoters.
    data_home, download : optional
        As in `fetch_celegans_acceptor`.

    Returns
    -------
    SequenceData
        Named tuple (sequences, y, names), y in {-1, +1}.

    Notes
    -----
    Terms: there is no licence file at https://github.com/solovictor/CNNPromoterData; cite Umarov and Solovyev
    2016, EPDnew and DBTSS.

    Examples
    --------
    >>> X, y, _ = fetch_mouse_promoters()  # doctest: +SKIP
    >>> len(X), len(X[0]), int((y == 1).sum())  # doctest: +SKIP
    (4785, 251, 1255)
    """
    check_option("promoters", promoters, tuple(PROMOTERS))
    paths = locate_all((*PROMOTERS[promoters], "mouse_rest"), data_home, download)
    parts = [read_fasta(path) for path in paths]
    labels = [1] * (len(parts) - 1) + [-1]
    y = np.repeat(labels, [len(part.sequences) for part in parts])
    sequences, names = (np.concatenate([part[at] for part in parts]) for at in (0, 2))
    return SequenceData(sequences, y, names)


def fetch_human_promoters(
    kind: str = "tata", *, data_home: FilePath | None = None, download: bool = True
) -> SequenceData:
    """Fetch human promoters and sequences that are none.

    Parameters
    ----------
    kind : {"tata", "notata_core"}, default="tata"
        3065 promoters with a TATA box, 300 letters from -249 to +50, and as many other sequences; or
        26,533 core promoters without one, 70 letters from -33 to +36, and as many others.
    data_home, download : optional
        As in `fetch_celegans_acceptor`.

    Returns
    -------
    SequenceData
        Named tuple (sequences, y, names), y in {-1, +1}.

    Notes
    -----
    Terms: https://github.com/wds-seu/DeepGene is under Apache-2.0; the files are of its GUE benchmark.

    What stands beside the core promoters was made from promoters, it seems: 27 % of its pieces of ten letters
    stand at the same place in one of them, 5 % at another place. Gains on these sequences need not be there
    beside natural ones.

    Examples
    --------
    >>> X, y, _ = fetch_human_promoters()  # doctest: +SKIP
    >>> len(X), len(X[0]), int((y == 1).sum())  # doctest: +SKIP
    (6130, 300, 3065)
    """
    check_option("kind", kind, HUMAN_KINDS)
    keys = [f"human_{kind}_{part}" for part in ("train", "dev", "test")]
    paths = locate_all(keys, data_home, download)
    lines = [line for path in paths for line in read_text(path).split()[1:]]
    sequences, labels = zip(*(line.split(",") for line in lines), strict=True)
    y = np.where(np.array(labels) == "1", 1, -1)
    names = [f"human {number + 1}" for number in range(len(y))]
    return SequenceData(np.array(sequences, dtype=object), y, np.array(names, dtype=object))


def fetch_protein_fold(
    *, grams: bool = True, data_home: FilePath | None = None, download: bool = True
) -> ProteinFold:
    """Fetch the 694 proteins in 27 folds of Ding and Dubchak, with the split into 311 and 383.

    Parameters
    ----------
    grams : bool, default=True
        Whether to compute the 12 kernels that were cut to rank 27; predicted secondary structure is in
        them, not in the sequences. A uniform combination reaches about 56 % on them, the full kernels 68 %.
    data_home, download : optional
        As in `fetch_celegans_acceptor`.

    Returns
    -------
    ProteinFold
        Named tuple (sequences, y, train, test, grams, names).

    Notes
    -----
    Terms: there is no licence file at https://github.com/MsAlEhR/bio-protein-fold-recognition (sequences) nor
    at https://github.com/ChuanbinZhang/Multi-view-datasets (kernels).

    Examples
    --------
    >>> data = fetch_protein_fold(grams=False)  # doctest: +SKIP
    >>> len(data.train), len(data.test), int(data.y.max())  # doctest: +SKIP
    (311, 383, 27)
    """
    keys = ("fold_train", "fold_test", "fold_kernels")[: 3 if grams else 2]
    paths = locate_all(keys, data_home, download)
    parts = [_read_folds(path) for path in paths[:2]]
    sequences, y, names = (np.concatenate([part[at] for part in parts]) for at in range(3))
    n_train = len(parts[0][0])
    train, test = np.arange(n_train), np.arange(n_train, len(y))
    stack = None
    if grams:
        path = paths[2]
        variables = read_variables(path)
        factors = [np.asarray(part, dtype=np.float64) for part in take_variable(path, variables, "X")]
        stack = GramStack(np.stack([part @ part.T for part in factors]))
    return ProteinFold(sequences, y, train, test, stack, names)


def fetch_mfeat(*, data_home: FilePath | None = None, download: bool = True) -> ViewsData:
    """Fetch 2000 handwritten digits in six views (UCI multiple features), 649 columns.

    Parameters
    ----------
    data_home, download : optional
        As in `fetch_celegans_acceptor`.

    Returns
    -------
    ViewsData
        Named tuple (X, y, views), y in 0 .. 9.

    Notes
    -----
    Terms: there is no licence file at https://github.com/ChuanbinZhang/Multi-view-datasets.

    Examples
    --------
    >>> data = fetch_mfeat()  # doctest: +SKIP
    >>> data.X.shape, data.views["zernike"]  # doctest: +SKIP
    ((2000, 649), slice(602, 649, None))
    """
    path = locate("mfeat", data_home, download)
    variables = read_variables(path)
    tables = [np.asarray(view, dtype=np.float64) for view in take_variable(path, variables, "X")]
    # MATLAB counts the digits 0 .. 9 from one.
    y = np.asarray(take_variable(path, variables, "y")).ravel().astype(int) - 1
    ends = np.cumsum([table.shape[1] for table in tables]).tolist()
    views = dict(zip(MFEAT_VIEWS, map(slice, [0, *ends[:-1]], ends), strict=True))
    return ViewsData(np.hstack(tables), y, views)


def _read_folds(path: Path) -> tuple[Array, Ints, Array]:
    """Return sequences, folds and names of a file with ``FOLD (k)`` lines between its records."""
    sequences, folds, names = [], [], []
    fold, open_record = None, False
    for line in read_text(path).splitlines():
        heading = re.match(r"FOLD\s*\((\d+)\)\s+(?!here|denotes|\.\.\.)", line)
        if heading:
            fold, open_record = int(heading[1]), False
        elif line.startswith(">"):
            names.append(line[1:].strip())
            folds.append(fold)
            sequences.append("")
            open_record = True
        elif open_record:
            sequences[-1] += "".join(line.split())
    return np.array(sequences, dtype=object), as_labels(folds), np.array(names, dtype=object)
