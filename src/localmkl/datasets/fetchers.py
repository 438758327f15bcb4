"""Data sets that are not shipped: from the data home, else downloaded, else an error that helps.

The data home is the argument `data_home`, else the environment variable LOCALMKL_DATA, else
``~/localmkl_data``. A file that is missing there is downloaded if an address is known for it (or for a
server that has them all, `base_url` or LOCALMKL_DATA_URL) and kept if its SHA-256 is the one written here.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from localmkl._checks import check_option
from localmkl.datasets.fasta import SequenceData, read_fasta
from localmkl.datasets.gram_files import read_mat, take_variable
from localmkl.datasets.labels import as_labels
from localmkl.datasets.opening import read_text
from localmkl.kernels import GramStack

DATA_HOME = "LOCALMKL_DATA"
DATA_URL = "LOCALMKL_DATA_URL"


@dataclass(frozen=True)
class DataFile:
    """A file of the data home.

    Attributes
    ----------
    path : str
        Where it stands in the data home.
    sha256 : str or None
        None where any file will do.
    what : str
        What it is, for the error message.
    url : str or None
        Public address, if one is known.
    """

    path: str
    sha256: str | None
    what: str
    url: str | None = None


HUMAN = {
    "tata": (
        "tata_300",
        "with a TATA box, 300 letters",
        {
            "train": "d0dd45bad89aee2564b8831d38a393989942d79b673203e7eb50e19ec8e6242e",
            "dev": "4de0f8163d964e4004f0a11036d9a9c5ec6fe2ad5953f962acf66150a2f44592",
            "test": "30432e9845277559043c2bb3bfed37b9bc7efc15748880f3adeeaddc16b76deb",
        },
    ),
    "notata_core": (
        "notata_core",
        "without a TATA box, 70 letters",
        {
            "train": "78bfa494d14fa12f3a661fbd37b8d252f3cf9edf4a8f98d60832fb56e6f9aab9",
            "dev": "ced43fdbc8c76187fe0589dfeef07f4554c3374837236b80b02eea392795d548",
            "test": "1ef44c266ca1368e8b438f6b0565b865aa203de8e1c89fc513357311b58bf97c",
        },
    ),
}
"""Files of human promoters: name, what they hold, and the SHA-256 of each part before it was compressed."""

STORIES = {
    "bbc_mtx": "1a5c78fbf34b885769c55b965c75cf60c83ff26f8822f6684e0a592a7b99b918",
    "bbc_docs": "4a1090ea173194d35cc8c3e3372e047bed7f3efb5ef3146e9f8563cea1222f87",
    "guardian_mtx": "4d116076e905919727e494833c36cf42a81caca2937b3ae23a49de1c7dc1b56a",
    "guardian_docs": "b7c4dd740e85d3ffd02c8d3a45af40894de31cfd83dd52c2723543915acc1343",
    "reuters_mtx": "88e128379e62223023781b8c1ab1268d1841b9f91ea959fbe2231602a950285e",
    "reuters_docs": "30fafd04987ccd2625e541587c4e01f9f36c35e438f01cb105fd04b891cc50eb",
}
"""Files of the 3sources news stories, and their SHA-256."""

ROSMAP = {
    "1_tr.csv.gz": "37bfcc58da320bf6c37b22617ed821dcfa96ca4abd334adf4d42c8e3375d972b",
    "1_te.csv.gz": "d9d9daf05915556fd13008fb6ad7d88e0c5a8a57e5a985548640d4cd1563712b",
    "2_tr.csv.gz": "b1d1d20f8793e5f11248218f19493d9a7be366ee5bbbaff585058401976f8a21",
    "2_te.csv.gz": "546e9d7f640e54c4c1d6540ed2c1a3adb10497635e7d6b8d4099b4930271ac76",
    "3_tr.csv.gz": "fd8708bc0c41f774209f9e6a49a74c5a9acd510dd62eadc299a18d49ccd9e862",
    "3_te.csv.gz": "c0d9efd6c35e8c5768b759238c95c64674d7e1e7f76ed07fca6f168d67e676f4",
    "labels_tr.csv": "5859aa107dbf406937938ebefbec122d01fea5d41a9bd0292199f4406749e45d",
    "labels_te.csv": "20d728c6f51f79ff5fa7719b960daf22074a0e6e1f3028869042b02ca4e3f68d",
}
"""Files of ROSMAP in three views, and their SHA-256 before they were compressed."""

FOLD_SOURCES = {
    "Composition": {
        "Train": "4d1f1fde2bc2f556c1aee522ab8f92bce2fed61a4fe492b8e61677bce8150bad",
        "Test": "dda0594d68addaf03c070ac4d355387a3dc53bc9559b7cadad10b97999063eb9",
    },
    "Secondary": {
        "Train": "8d1965494d4bdd07e1b274eadfd1a73813718b65d08039d373b3ec2e667440ee",
        "Test": "4b46bac8781f01bb91d298428a6f3215929f6bdb39be2a09f7a0f7c4e83f740c",
    },
    "Hydrophobicity": {
        "Train": "66661ca1942d7b88bd5626ed8cc29ad42fc9aaf094221549b1d6ed65898c6040",
        "Test": "79038b71817547a42c5179330ed0da8bad0db896a00614bcea14769f0313c06b",
    },
    "Volume": {
        "Train": "bb792600d820c74e157f44dcd3f64da09f33433c6fae28d4c65e9ccaf189eeda",
        "Test": "3067a74a993a19a386aba24093e761e2041feb0944e3af0f063ad623a6ac1005",
    },
    "Polarity": {
        "Train": "e3b0196fe953f7e7ae801140ad182650b8b7b6542e5bbd781ce98a17dadedc66",
        "Test": "d93ee83fd62681078436f43fb444dd3f84313c2ecfce964e6da2d35a7f330004",
    },
    "Polarizability": {
        "Train": "db4f3bc535a09c9daa1186039ec2bfe0d091aeb5eefe7d6ec06f1621ea80cc26",
        "Test": "b88002527d94b626a2eb86394fe9586557c795c5baa1574f0bc5ac9380d3b94c",
    },
    "L1": {
        "Train": "299a13a75210ab8421a54ded362466c0d71c37e1f228156420800ca5d5427b6f",
        "Test": "a5d3397bb2f917989c63a4c9746a82be3a65de943bec8c69ed06866ffbda294c",
    },
    "L4": {
        "Train": "b014db3be301921cd78cc79f8c16b78fe466c5cb1469f42e6be679feb787688c",
        "Test": "dde1dd8dad2f85615de5ef653c342243885edbba2e0083e7edb909dc9627c1d1",
    },
    "L14": {
        "Train": "f721250fffd4e13076aeeb615c70a8e538b0f4d3d3a378cec8e110e9c70a6600",
        "Test": "9a1ae97e1ea18eed2a7a640757940b5b71b9b3a6c888e3e84d6fb5df7b0f238d",
    },
    "L30": {
        "Train": "f7b5430e1cd0a45eaf0fdf811023d037d413de15ec43880e268f67f01a9edf05",
        "Test": "0d48e7b690b434502f9c4bdeb96c40baf7abb0c24b2d41b57a4da482410adcbc",
    },
    "SWblosum62": {
        "Train": "905b232452ed86e6e61253a566121086681d3e2f773d9cfaa4cac47989fa0545",
        "Test": "29f5cb7fa775631253c9f99e0e7b7041cb16dd3311f2a05999d8d33900e8cf5b",
    },
    "SWpam50": {
        "Train": "34c51afd0ec8dbc8bbbbf5eb7ff42ea7cc7c87fc10c2db008d89f154a4a2d4ca",
        "Test": "a668f9fe9f044b3814001c79f94811a069b05200fc2d21a61320e0907dd1c40b",
    },
    "t": {
        "Train": "b392cd40fa96bc27cfcfb819e5c5eb9b8f1b05944fe141d906da22670106f49c",
        "Test": "2306e162390d27b294211e82c00dcfd4ac05f243a666c1192d7b018932ce7eee",
    },
}
"""Tables of the twelve sources on proteins, then the folds, and the SHA-256 of their two files."""

FLOWERS = (
    *("daffodil", "snowdrop", "lily_of_the_valley", "bluebell", "crocus", "iris", "tiger_lily", "tulip"),
    *("fritillary", "sunflower", "daisy", "colts_foot", "dandelion", "cowslip", "buttercup", "windflower"),
    "pansy",
)
"""Kinds of Oxford Flowers 17, in the order of their photographs' numbers, 80 of each."""
FLOWERS_EACH = 80

FILES = {
    "acceptor_82": DataFile(
        "celegans_acceptor/C_elegans_acc_seq.fa",
        "820996e981acc1b74bd24ace4ead8b838004c14f62ac309a22fbc12eea956a8d",
        "C. elegans acceptor sites, 2200 sequences of 82 letters",
    ),
    "acceptor_398": DataFile(
        "celegans_acceptor/C_elegans_acc_100000.fasta.bz2",
        "d83d8337e824eb902a072f6540a267215a098ddccac57855d35aea532bece1ec",
        "C. elegans acceptor sites, 100000 sequences of 398 letters",
    ),
    "mouse_epd": DataFile(
        "mouse_promoters/Mouse_tata.fa",
        "754bde10d814e65ab74ab94c249b1cd3c483ab96a3a7ad7a6f85a6451353f4cd",
        "mouse TATA promoters of EPDnew, 251 letters",
    ),
    "mouse_dbtss": DataFile(
        "mouse_promoters/Mouse_tata_dbtss.fa",
        "f1c68a9c3af678409a6184d825f1b09bd320912259ffcc63ef7acf63717c1f9b",
        "mouse TATA promoters of DBTSS, 251 letters",
    ),
    "mouse_rest": DataFile(
        "mouse_promoters/Mouse_nonprom.fa",
        "44fc703c470dd77c4c44ceb0b8b40f198742cd9781055fda9d1328f89b688026",
        "mouse sequences that are no promoters, 251 letters",
    ),
    **{
        f"human_{kind}_{part}": DataFile(
            f"human_promoters/{name}_{part}.csv.gz", sha256, f"human promoters {what}, {part} rows"
        )
        for kind, (name, what, sums) in HUMAN.items()
        for part, sha256 in sums.items()
    },
    "arabidopsis_tata": DataFile(
        "arabidopsis_promoters/Arabidopsis_tata.fa", None, "Arabidopsis TATA promoters, 251 letters"
    ),
    "arabidopsis_rest": DataFile(
        "arabidopsis_promoters/Arabidopsis_nonprom.fa",
        None,
        "Arabidopsis sequences that are no promoters, 251 letters",
    ),
    "fold_train": DataFile(
        "protein_fold/training-sequences.txt",
        "f13e378019d3168fb9698b5880a75cd305d0a1dbe4697b292624e164c9279418",
        "the 311 training proteins in 27 folds",
    ),
    "fold_test": DataFile(
        "protein_fold/test-sequences.txt",
        "2c5677ead0986621a1fb019a6ba11e8fe8dbef110245fd518283e2d67b6c5c18",
        "the 383 test proteins in 27 folds",
    ),
    "fold_kernels": DataFile(
        "protein_fold/ProteinFold.mat",
        "07522212f7fab626684ab07b030b47902a5ae75d1b4215ec947e919dcfe05dcf",
        "rank-27 factors of 12 kernels on the 694 proteins",
    ),
    **{
        f"fold_{name}_{part}": DataFile(
            f"protein_fold/sources/{name}_{part}.csv",
            sha256,
            "one of the twelve sources on 694 proteins, or folds",
        )
        for name, sums in FOLD_SOURCES.items()
        for part, sha256 in sums.items()
    },
    "mfeat": DataFile(
        "mfeat/Handwritten.mat",
        "6092a69891afa22785bffd5a4348f52d49a764aa5d40751ec2c4dc0f6ed48a44",
        "handwritten digits in six views",
    ),
    "stories_topics": DataFile(
        "three_sources/3sources.disjoint.clist",
        "707d4117c30d341aa3e5b4763acd782b850b07e011451c9edb6ae2a1244ab9ef",
        "the topics of the 3sources news stories",
    ),
    **{
        f"stories_{name}": DataFile(
            f"three_sources/3sources_{name.replace('_', '.')}", sha256, "news stories of 3sources"
        )
        for name, sha256 in STORIES.items()
    },
    **{
        f"rosmap_{name.split('.')[0]}": DataFile(f"rosmap/{name}", sha256, "omics of ROSMAP, or labels")
        for name, sha256 in ROSMAP.items()
    },
    "flowers17": DataFile("flowers17", None, "the 1360 photographs of Oxford Flowers 17, a folder a kind"),
}

ACCEPTOR_LENGTHS = {82: "acceptor_82", 398: "acceptor_398"}
PROMOTERS = {"epd": ("mouse_epd",), "dbtss": ("mouse_dbtss",), "both": ("mouse_epd", "mouse_dbtss")}
MFEAT_VIEWS = ("factors", "fourier", "karhunen", "morphological", "pixel", "zernike")
MFEAT_OPENML = dict(zip(MFEAT_VIEWS, (12, 14, 16, 18, 20, 22), strict=True))
"""Numbers of the six tables at OpenML."""


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
    grams: GramStack | None
    names: np.ndarray


class ProteinSources(NamedTuple):
    """The result of `fetch_protein_sources`.

    Attributes
    ----------
    X : ndarray of shape (694, 925)
        The twelve tables, side by side.
    y : ndarray of int, shape (694,)
        Fold, 1 .. 27.
    views : dict of str to slice
        Name of the source: its columns.
    train, test : ndarray of int
        Rows of the 311 training and the 383 test proteins.
    """

    X: np.ndarray
    y: np.ndarray
    views: dict
    train: np.ndarray
    test: np.ndarray


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
    views: dict


class ImageData(NamedTuple):
    """Images on disk, and what is on them.

    Attributes
    ----------
    images : ndarray of str, shape (n_images,)
        Paths.
    y : ndarray of str, shape (n_images,)
    """

    images: np.ndarray
    y: np.ndarray


def data_home(path=None):
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


def fetch_celegans_acceptor(length=82, *, data_home=None, base_url=None, download=True):
    """Fetch acceptor splice sites of C. elegans, with AG in the middle whether spliced or not.

    Parameters
    ----------
    length : {82, 398}, default=82
        2200 sequences of 82 letters, 200 of them sites, AG at 40:42; or 100000 sequences of 398 letters,
        3301 of them sites.
    data_home : str or path-like, optional
        Folder of the data; LOCALMKL_DATA by default.
    base_url : str, optional
        Server that has the files of the data home; LOCALMKL_DATA_URL by default.
    download : bool, default=True
        Whether a missing file may be downloaded.

    Returns
    -------
    SequenceData
        Named tuple (sequences, y, names), y in {-1, +1}.
    """
    if length not in ACCEPTOR_LENGTHS:
        raise ValueError(f"`length` must be one of {', '.join(map(str, ACCEPTOR_LENGTHS))}, got {length!r}.")
    path = locate(ACCEPTOR_LENGTHS[length], data_home, base_url, download)
    return read_fasta(path, labels="header", equal_length=True, unique_names=False)


def fetch_mouse_promoters(promoters="epd", *, data_home=None, base_url=None, download=True):
    """Fetch mouse TATA promoters and sequences that are none, 251 letters from -200 to +50.

    Parameters
    ----------
    promoters : {"epd", "dbtss", "both"}, default="epd"
        1255 promoters of EPDnew, 1354 of DBTSS, or both; against 3530 that are no promoters.
    data_home, base_url, download : optional
        As in `fetch_celegans_acceptor`.

    Returns
    -------
    SequenceData
        Named tuple (sequences, y, names), y in {-1, +1}.
    """
    check_option("promoters", promoters, tuple(PROMOTERS))
    parts = [
        read_fasta(locate(key, data_home, base_url, download), unique_names=False)
        for key in (*PROMOTERS[promoters], "mouse_rest")
    ]
    labels = [1] * (len(parts) - 1) + [-1]
    y = np.repeat(labels, [len(part.sequences) for part in parts])
    sequences, names = (np.concatenate([part[at] for part in parts]) for at in (0, 2))
    return SequenceData(sequences, y, names)


def fetch_human_promoters(kind="tata", *, data_home=None, base_url=None, download=True):
    """Fetch human promoters and sequences that are none.

    Parameters
    ----------
    kind : {"tata", "notata_core"}, default="tata"
        3065 promoters with a TATA box, 300 letters from -249 to +50, and as many other sequences; or
        26,533 core promoters without one, 70 letters from -33 to +36, and as many others.
    data_home, base_url, download : optional
        As in `fetch_celegans_acceptor`.

    Returns
    -------
    SequenceData
        Named tuple (sequences, y, names), y in {-1, +1}.
    """
    check_option("kind", kind, tuple(HUMAN))
    lines = [
        line
        for part in HUMAN[kind][2]
        for line in read_text(locate(f"human_{kind}_{part}", data_home, base_url, download)).split()[1:]
    ]
    sequences, labels = zip(*(line.split(",") for line in lines), strict=True)
    y = np.where(np.array(labels) == "1", 1, -1)
    names = [f"human {number + 1}" for number in range(len(y))]
    return SequenceData(np.array(sequences, dtype=object), y, np.array(names, dtype=object))


def fetch_protein_fold(*, grams=True, data_home=None, base_url=None, download=True):
    """Fetch the 694 proteins in 27 folds of Ding and Dubchak, with the split into 311 and 383.

    Parameters
    ----------
    grams : bool, default=True
        Whether to compute the 12 kernels that were cut to rank 27; predicted secondary structure is in
        them, not in the sequences. A uniform combination reaches about 56 % on them, the full kernels 68 %;
        what these are made of: `fetch_protein_sources`.
    data_home, base_url, download : optional
        As in `fetch_celegans_acceptor`.

    Returns
    -------
    ProteinFold
        Named tuple (sequences, y, train, test, grams, names).
    """
    parts = [_read_folds(locate(key, data_home, base_url, download)) for key in ("fold_train", "fold_test")]
    sequences, y, names = (np.concatenate([part[at] for part in parts]) for at in range(3))
    n_train = len(parts[0][0])
    train, test = np.arange(n_train), np.arange(n_train, len(y))
    stack = None
    if grams:
        path = locate("fold_kernels", data_home, base_url, download)
        variables = read_mat(path)
        factors = [np.asarray(part, dtype=np.float64) for part in take_variable(path, variables, "X")]
        if any(len(part) != len(y) for part in factors):
            raise ValueError(
                f"{str(path)!r} must have {len(y)} rows as the sequences, got {len(factors[0])}."
            )
        stack = GramStack(np.stack([part @ part.T for part in factors]))
    return ProteinFold(sequences, y, train, test, stack, names)


def fetch_protein_sources(*, data_home=None, base_url=None, download=True):
    """Fetch the twelve sources on the 694 proteins of `fetch_protein_fold`, in the same order.

    Ten tables of features (composition, predicted secondary structure, hydrophobicity, volume, polarity,
    polarizability, pseudo amino acid composition at four lags) and two of Smith-Waterman scores with the
    training proteins, by BLOSUM62 and PAM50.

    Parameters
    ----------
    data_home, base_url, download : optional
        As in `fetch_celegans_acceptor`.

    Returns
    -------
    ProteinSources
        Named tuple (X, y, views, train, test).

    References
    ----------
    Damoulas and Girolami, Probabilistic multi-class multi-kernel learning: on protein fold recognition and
    remote homology detection, Bioinformatics 24, 2008.
    """
    tables = {
        name: [
            np.loadtxt(locate(f"fold_{name}_{part}", data_home, base_url, download), delimiter=",", ndmin=2)
            for part in parts
        ]
        for name, parts in FOLD_SOURCES.items()
    }
    folds = tables.pop("t")
    n_train, y = len(folds[0]), np.vstack(folds).ravel().astype(int)
    whole = {name: np.vstack(parts) for name, parts in tables.items()}
    train, test = np.arange(n_train), np.arange(n_train, len(y))
    return ProteinSources(np.hstack(list(whole.values())), y, _side_by_side(whole), train, test)


def fetch_mfeat(*, data_home=None, base_url=None, download=True):
    """Fetch 2000 handwritten digits in six views (UCI multiple features), 649 columns.

    A file in the data home is taken first; else the six tables come from OpenML (numbers 12, 14, 16, 18,
    20, 22).

    Parameters
    ----------
    data_home, base_url, download : optional
        As in `fetch_celegans_acceptor`.

    Returns
    -------
    ViewsData
        Named tuple (X, y, views), y in 0 .. 9.
    """
    try:
        path = locate("mfeat", data_home, base_url, download)
    except FileNotFoundError:
        if not download:
            raise
        tables, y = _mfeat_from_openml(data_home)
    else:
        variables = read_mat(path)
        tables = [np.asarray(view, dtype=np.float64) for view in take_variable(path, variables, "X")]
        # MATLAB counts the digits 0 .. 9 from one.
        y = np.asarray(take_variable(path, variables, "y")).ravel().astype(int) - 1
    views = _side_by_side(dict(zip(MFEAT_VIEWS, tables, strict=True)))
    return ViewsData(np.hstack(tables), y, views)


def _side_by_side(tables):
    """Return the columns of each table in a row of them all."""
    ends = np.cumsum([table.shape[1] for table in tables.values()]).tolist()
    return {
        name: slice(end - table.shape[1], end)
        for (name, table), end in zip(tables.items(), ends, strict=True)
    }


def fetch_flowers17(*, data_home=None):
    """Fetch Oxford Flowers 17: paths of 1360 photographs of 17 kinds of flowers, 80 of each.

    The folder ``flowers17`` of the data home has a folder for each kind with the photographs of that kind
    under their original numbers: ``daffodil/image_0001.jpg`` to ``pansy/image_1360.jpg``. They may be scaled
    down. For research only: the photographs belong to those who took them; neither are they shipped nor
    downloaded. They are those of Nilsback and Zisserman, A visual vocabulary for flower classification, CVPR
    2006.

    Parameters
    ----------
    data_home : str or path-like, optional
        Folder of the data; LOCALMKL_DATA by default.

    Returns
    -------
    ImageData
        Named tuple (images, y): paths, and kinds by name.
    """
    folder = locate("flowers17", data_home, download=False)
    y = np.repeat(FLOWERS, FLOWERS_EACH)
    names = [f"{kind}/image_{number:04}.jpg" for number, kind in enumerate(y, start=1)]
    found = {f"{path.parent.name}/{path.name}" for path in folder.glob("*/*.jpg")}
    lacking, other = sorted(set(names) - found), sorted(found - set(names))
    if lacking or other:
        example = f"{lacking[0]!r} is missing" if lacking else f"{other[0]!r} is none of them"
        raise ValueError(
            f"{str(folder)!r} must hold the {len(names)} photographs of Oxford Flowers 17 in a folder for "
            f"each kind, {len(lacking)} are missing and {len(other)} are other images ({example}); sort them "
            "by their numbers, 80 of each kind."
        )
    return ImageData(np.array([str(folder / name) for name in names]), y)


def locate(key, home=None, base_url=None, download=True):
    """Return the path of a file of the data home, after downloading it if needed.

    Parameters
    ----------
    key : str
        A key of `FILES`.
    home, base_url, download
        As in `fetch_celegans_acceptor`.
    """
    file = FILES[key]
    path = data_home(home) / file.path
    if path.exists():
        return path
    server = base_url or os.environ.get(DATA_URL)
    url = f"{server.rstrip('/')}/{file.path}" if server else file.url
    if not download or url is None:
        elsewhere = f", or a server that has it by `base_url` or {DATA_URL}" if download else ""
        raise FileNotFoundError(
            f"{file.path!r} ({file.what}) must be in the data home, it is not; put it at {str(path)!r}, "
            f"name another folder by `data_home` or {DATA_HOME}{elsewhere}."
        )
    return _download(url, path, file)


def _download(url, path, file):
    try:
        import pooch
    except ImportError as error:
        raise ImportError(
            f"Downloading {file.path!r} needs the package pooch; install it with "
            f"`pip install localmkl[data]`, or put the file at {str(path)!r}."
        ) from error
    known = None if file.sha256 is None else f"sha256:{file.sha256}"
    try:
        found = pooch.retrieve(url, known_hash=known, fname=path.name, path=path.parent)
    except ValueError as error:  # the checksum
        raise ValueError(
            f"{url!r} must have the SHA-256 {file.sha256}, what came has another; it was thrown away, get "
            f"{file.path!r} ({file.what}) elsewhere."
        ) from error
    except Exception as error:  # the network fails in many ways
        raise OSError(
            f"{url!r} cannot be downloaded ({error}); put the file at {str(path)!r}, or name another "
            "server by `base_url`."
        ) from error
    return Path(found)


def _read_folds(path):
    """Return sequences, folds and names of a file with ``FOLD (k)`` lines between its records."""
    sequences, folds, names = [], [], []
    fold, open_record = None, False
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        heading = re.match(r"FOLD\s*\((\d+)\)\s+(?!here|denotes|\.\.\.)", line)
        if heading:
            fold, open_record = int(heading[1]), False
        elif line.startswith(">"):
            if fold is None:
                raise ValueError(f"{str(path)!r}, line {number}: a record must stand below a FOLD line.")
            names.append(line[1:].strip())
            folds.append(fold)
            sequences.append("")
            open_record = True
        elif open_record:
            sequences[-1] += "".join(line.split())
    if not sequences or not all(sequences):
        raise ValueError(
            f"{str(path)!r} must hold records with sequences below FOLD lines, got none or empty ones."
        )
    return np.array(sequences, dtype=object), as_labels(folds), np.array(names, dtype=object)


def _mfeat_from_openml(home):
    from sklearn.datasets import fetch_openml

    try:
        tables = [
            fetch_openml(data_id=number, as_frame=False, data_home=data_home(home) / "openml")
            for number in MFEAT_OPENML.values()
        ]
    except Exception as error:  # the network fails in many ways
        file = FILES["mfeat"]
        raise FileNotFoundError(
            f"{file.path!r} ({file.what}) is not in the data home and OpenML cannot be reached ({error}); "
            f"put it at {str(data_home(home) / file.path)!r}."
        ) from error
    y = tables[0].target.astype(int)
    y = y - y.min()  # OpenML counts the digits from one
    return [np.asarray(table.data, dtype=np.float64) for table in tables], y
