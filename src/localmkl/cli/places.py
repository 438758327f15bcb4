"""Places to write to: never what the command reads, and only what such a command has written."""

import os
import zipfile
from itertools import combinations

from localmkl._files import check_place
from localmkl.cli.voice import Misuse

MODEL, REPORT = "a model", "a report of localmkl"
PREDICTIONS, SCORES = "a table of predictions", "a table of scores"
COMPARISON, FIGURE = "a table of compared methods", "a figure of localmkl"
WORK = "finished work"
"""Of a search, which looks itself at what is there."""
FIGURE_MARK = "localmkl compare"
"""The name of their maker, which figures carry."""
START_BYTES = 2**20
"""Bytes from the beginning of a file that show what it is: a header with thousands of kernels is shorter."""


def check_outputs(outputs, inputs=(), *, force=False):
    """Raise unless the results of a command can be written, and nothing else is lost by it.

    Parameters
    ----------
    outputs : list of tuple (name, path, kind)
        What the user calls it, where it goes, and what it is.
    inputs : sequence of path-like or None
        What the command reads.
    force : bool
        Replace files of any kind, if the command does not read them.
    """
    for name, path, _ in outputs:
        check_place(path)
        if any(_same(path, other) for other in inputs if other is not None):
            raise Misuse(f"{name} must not be a file that the command reads, got {str(path)!r}.")
    for (name, path, _), (other, second, _) in combinations(outputs, 2):
        if _same(path, second):
            raise Misuse(f"{name} and {other} must be different files, both are {str(second)!r}.")
    for _, path, kind in outputs:
        if not (force or kind == WORK or _may_be_replaced(path, kind)):
            raise ValueError(
                f"{str(path)!r} is there already and is not {kind}; choose another name, or give --force to "
                "replace it."
            )


def _same(path, other):
    """Whether two paths lead to one file, by links or otherwise."""
    if os.path.exists(path) and os.path.exists(other):
        return os.path.samefile(path, other)
    path, other = (os.path.normcase(os.path.realpath(each)) for each in (path, other))
    return path == other


def _may_be_replaced(path, kind):
    """Whether there is nothing, or something that the same command can write."""
    if not os.path.exists(path) or os.path.getsize(path) == 0:
        return True
    if kind == MODEL:
        return _is_model(path)
    try:
        with open(path, "rb") as file:
            return MARKS[kind](file.read(START_BYTES))
    except OSError:  # nobody knows what is in it
        return False


def _is_model(path):
    try:
        with zipfile.ZipFile(path) as archive:
            return "schema.json" in archive.namelist()
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):
        return False


def _is_report(start):
    return b'<meta name="generator" content="localmkl">' in start


def _is_table_of_predictions(start):
    header = start.partition(b"\n")[0]
    return header.startswith((b"name,label,", b"name,prediction,")) and b",intercept," in header


def _is_table_of_scores(start):
    return start.partition(b"\n")[0].endswith(b"split,metric,side,score")


def _is_comparison(start):
    return start.startswith(b"method,metric,score,difference,low,high,")


def _is_figure(start):
    return start.startswith((b"\x89PNG", b"<?xml")) and FIGURE_MARK.encode() in start


MARKS = {
    REPORT: _is_report,
    PREDICTIONS: _is_table_of_predictions,
    SCORES: _is_table_of_scores,
    COMPARISON: _is_comparison,
    FIGURE: _is_figure,
}
