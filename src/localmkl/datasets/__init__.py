"""Data: shipped (``load_*``), fetched (``fetch_*``), generated (``make_*``), from files (``read_*``).

The names below are imported on first use, as those of `localmkl` are.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "DownloadWarning": "downloading",
    "GramData": "gram_files",
    "ImageData": "fetchers",
    "LocalizedData": "generated",
    "MatrixData": "matrices",
    "OmicsData": "omics",
    "ProteinFold": "fetchers",
    "ProteinSources": "fetchers",
    "SequenceData": "fasta",
    "TableData": "tables",
    "ViewsData": "fetchers",
    "data_home": "downloading",
    "fetch_celegans_acceptor": "fetchers",
    "fetch_flowers17": "fetchers",
    "fetch_human_promoters": "fetchers",
    "fetch_mfeat": "fetchers",
    "fetch_mouse_promoters": "fetchers",
    "fetch_protein_fold": "fetchers",
    "fetch_protein_sources": "fetchers",
    "load_splice": "splice",
    "make_localized": "generated",
    "read_fasta": "fasta",
    "read_grams": "gram_files",
    "read_matrix": "matrices",
    "read_table": "tables",
    "read_views": "omics",
}

__all__ = list(_HOME)

if TYPE_CHECKING:
    from localmkl.datasets.downloading import DownloadWarning, data_home  # noqa: F401
    from localmkl.datasets.fasta import SequenceData, read_fasta  # noqa: F401
    from localmkl.datasets.fetchers import (  # noqa: F401
        ImageData,
        ProteinFold,
        ProteinSources,
        ViewsData,
        fetch_celegans_acceptor,
        fetch_flowers17,
        fetch_human_promoters,
        fetch_mfeat,
        fetch_mouse_promoters,
        fetch_protein_fold,
        fetch_protein_sources,
    )
    from localmkl.datasets.generated import LocalizedData, make_localized  # noqa: F401
    from localmkl.datasets.gram_files import GramData, read_grams  # noqa: F401
    from localmkl.datasets.matrices import MatrixData, read_matrix  # noqa: F401
    from localmkl.datasets.omics import OmicsData, read_views  # noqa: F401
    from localmkl.datasets.splice import load_splice  # noqa: F401
    from localmkl.datasets.tables import TableData, read_table  # noqa: F401


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"localmkl.datasets.{_HOME[name]}"), name)
    raise AttributeError(f"module 'localmkl.datasets' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
