"""Places to write to: never what the command reads, and only what such a command has written."""

import os
from itertools import combinations

from localmkl._files import check_place
from localmkl.cli.voice import Misuse

MODEL, REPORT, WORK = "a model", "a report of localmkl", "finished work"
PREDICTIONS, SCORES, COMPARISON = "a table of predictions", "a table of scores", "a table of compared methods"


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
    return os.path.realpath(path) == os.path.realpath(other)


def _may_be_replaced(path, kind):
    """Whether there is nothing, or something that the same command can write."""
    from localmkl._archive import is_archive

    if not os.path.exists(path) or os.path.getsize(path) == 0:
        return True
    try:
        if kind == MODEL:
            return is_archive(path)
        with open(path, "rb") as file:
            start = file.read(2**20)  # a header with thousands of kernels is shorter
    except OSError:  # nobody knows what is in it
        return False
    line = start.partition(b"\n")[0].strip()
    return {
        REPORT: b'<meta name="generator" content="localmkl">' in start,
        PREDICTIONS: b"predicted" in line.split(b",")[1:3],
        SCORES: line.endswith(b"split,metric,side,score"),
        COMPARISON: line.startswith(b"method,score,difference,low,high,p_value,metric,"),
    }[kind]
