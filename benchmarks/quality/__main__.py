"""Run what is missing, and summarise: ``python -m benchmarks.quality [--sets A,B] [--reps 5] [--jobs 2]``."""

import argparse
import sys
import tempfile
from pathlib import Path

from reproduction.rows import read_rows

from benchmarks.quality.cells import REPETITIONS, ROWS, run
from benchmarks.quality.methods import METHODS, SMOKE_METHODS
from benchmarks.quality.sets import SETS, SMOKE
from benchmarks.quality.table import summarise
from localmkl._files import write_whole

SUMMARY = "quality.md"


def main(words=None):
    parser = argparse.ArgumentParser(prog="benchmarks.quality", description=__doc__)
    parser.add_argument("--sets", help=f"of {', '.join(SETS)}; default: all")
    parser.add_argument("--methods", help=f"of {', '.join(METHODS)}; default: all")
    parser.add_argument("--reps", type=int, default=REPETITIONS, help="repetitions")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes, of one thread each")
    parser.add_argument("--out", type=Path, help="folder of the results; default: benchmarks/results")
    parser.add_argument("--smoke", action="store_true", help="tiny sets: does the code run?")
    parser.add_argument("--summary", action="store_true", help="summarise what is there")
    arguments = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as passing:
        folder = arguments.out or Path(passing if arguments.smoke else "benchmarks/results")
        rows = read_rows(folder / ROWS)[1] if arguments.summary else _run(arguments, folder)
        text = summarise(rows)
        write_whole(folder / SUMMARY, text.encode())
    print(text)


def _run(arguments, folder):
    try:
        rows, missing = run(folder, **_wanted(arguments))
    except KeyboardInterrupt:
        raise SystemExit("Stopped; what is finished is kept: give the command again to go on.") from None
    for sentence in missing:
        print(f"Left out for want of a file: {sentence}", file=sys.stderr)
    return rows


def _wanted(arguments):
    if arguments.smoke:
        return {"known": SMOKE, "methods": SMOKE_METHODS, "repetitions": 1, "jobs": 1}
    return {
        "sets": _chosen(arguments.sets, SETS),
        "methods": _chosen(arguments.methods, METHODS),
        "repetitions": arguments.reps,
        "jobs": arguments.jobs,
    }


def _chosen(text, known):
    names = [name.strip() for name in text.split(",")] if text else list(known)
    for name in names:
        if name not in known:
            raise SystemExit(f"There is no {name!r}; there are {', '.join(known)}.")
    return names


if __name__ == "__main__":
    main()
