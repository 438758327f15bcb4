"""Data: generated (``make_*``)."""

from localmkl.datasets.generated import LocalizedData, make_localized

__all__ = ["LocalizedData", "make_localized"]
