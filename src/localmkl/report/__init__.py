"""A fitted model as one HTML file that anybody can read: `write_report`."""

from localmkl.report.page import write_report

__all__ = ["write_report"]
