"""The data set that is shipped: UCI's primate splice junctions (CC BY 4.0)."""

import gzip
from importlib.resources import files

import numpy as np

from localmkl._checks import check_option
from localmkl.datasets.fasta import SequenceData

SPLICE_TASKS = ("all", "EI", "IE")


def load_splice(task: str = "all") -> SequenceData:
    """Load the primate splice junctions: 3190 DNA sequences of 60 letters.

    An exon ends in the middle of 767 of them (EI, a donor site), begins there in 768 (IE, an acceptor
    site), and 1655 are neither (N). 60 letters are ambiguous (N, D, R, S) and match nothing in the kernels.

    Parameters
    ----------
    task : {"all", "EI", "IE"}, default="all"
        ``"all"`` has the three classes as labels; ``"EI"`` and ``"IE"`` have +1 for that class, -1 for the
        rest.

    Returns
    -------
    SequenceData
        Named tuple (sequences, y, names).

    Notes
    -----
    Source: UCI Machine Learning Repository, Molecular Biology (Splice-junction Gene Sequences),
    doi:10.24432/C5M888, donated by Towell, Noordewier and Shavlik, published under CC BY 4.0. Changed:
    names were left out and the letters of a sequence put together.

    Examples
    --------
    >>> X, y, _ = load_splice("EI")
    >>> len(X), X[0][28:34], int((y == 1).sum())
    (3190, 'GGGTGA', 767)
    """
    check_option("task", task, SPLICE_TASKS)
    packed = files("localmkl.datasets").joinpath("data/splice.txt.gz").read_bytes()
    lines = gzip.decompress(packed).decode("ascii").split()
    classes, sequences = np.array(lines[::2]), np.array(lines[1::2], dtype=object)
    y = classes if task == "all" else np.where(classes == task, 1, -1)
    names = np.array([f"splice{i}" for i in range(len(sequences))], dtype=object)
    return SequenceData(sequences, y, names)
