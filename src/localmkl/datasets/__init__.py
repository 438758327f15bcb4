"""Data: shipped (``load_*``), fetched (``fetch_*``), generated (``make_*``), from files (``read_*``).

The names below are imported on first use, as those of `localmkl` are.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_FROM = {
    "downloading": "DownloadWarning data_home",
    "fasta": "SequenceData read_fasta",
    "fetchers": "ProteinFold ViewsData fetch_celegans_acceptor fetch_human_promoters fetch_mfeat "
    "fetch_mouse_promoters fetch_protein_fold",
    "generated": "LocalizedData make_localized",
    "gram_files": "GramData read_grams",
    "matrices": "MatrixData read_matrix",
    "omics": "OmicsData read_views",
    "splice": "load_splice",
    "table_files": "TableData read_table",
}
_HOME = {name: module for module, names in _FROM.items() for name in names.split()}

__all__ = sorted(_HOME)

if TYPE_CHECKING:
    from localmkl.datasets.downloading import DownloadWarning, data_home  # noqa: F401
    from localmkl.datasets.fasta import SequenceData, read_fasta  # noqa: F401
    from localmkl.datasets.fetchers import (  # noqa: F401
        ProteinFold,
        ViewsData,
        fetch_celegans_acceptor,
        fetch_human_promoters,
        fetch_mfeat,
        fetch_mouse_promoters,
        fetch_protein_fold,
    )
    from localmkl.datasets.generated import LocalizedData, make_localized  # noqa: F401
    from localmkl.datasets.gram_files import GramData, read_grams  # noqa: F401
    from localmkl.datasets.matrices import MatrixData, read_matrix  # noqa: F401
    from localmkl.datasets.omics import OmicsData, read_views  # noqa: F401
    from localmkl.datasets.splice import load_splice  # noqa: F401
    from localmkl.datasets.table_files import TableData, read_table  # noqa: F401


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"localmkl.datasets.{_HOME[name]}"), name)
    raise AttributeError(f"module 'localmkl.datasets' has no attribute {name!r}")
