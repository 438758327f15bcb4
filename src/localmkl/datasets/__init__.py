"""Data: shipped (``load_*``), fetched (``fetch_*``), generated (``make_*``), from files (``read_*``)."""

from localmkl.datasets.fetchers import (
    ProteinFold,
    ViewsData,
    data_home,
    fetch_celegans_acceptor,
    fetch_mfeat,
    fetch_mouse_promoters,
    fetch_protein_fold,
)
from localmkl.datasets.generated import LocalizedData, make_localized
from localmkl.datasets.readers import (
    GramData,
    SequenceData,
    TableData,
    read_fasta,
    read_grams,
    read_table,
)
from localmkl.datasets.splice import load_splice

__all__ = [
    "GramData",
    "LocalizedData",
    "ProteinFold",
    "SequenceData",
    "TableData",
    "ViewsData",
    "data_home",
    "fetch_celegans_acceptor",
    "fetch_mfeat",
    "fetch_mouse_promoters",
    "fetch_protein_fold",
    "load_splice",
    "make_localized",
    "read_fasta",
    "read_grams",
    "read_table",
]
