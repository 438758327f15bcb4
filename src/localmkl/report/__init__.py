"""A fitted model as one HTML page that needs no network: `write_report`."""

from localmkl.report.page import write_report

__all__ = ["write_report"]
