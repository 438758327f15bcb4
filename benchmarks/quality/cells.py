"""Run the cells (set, repetition, method) that are not there yet, and keep each row at once.

Workers have one thread each; of two rows of one cell the last counts, and failed cells are tried again.
"""

from pathlib import Path

from joblib import delayed, parallel_config
from reproduction.rows import append_rows, open_rows
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks.quality.methods import METHODS, run_cell
from benchmarks.quality.sets import SETS, load
from localmkl._workers import parallel
from localmkl.provenance import provenance

REPETITIONS = 5
ROWS = "quality.jsonl"


def settings(sets):
    """Return what gives the rows of a file their meaning."""
    return {"sizes": {name: [one.n_train, one.n_test] for name, one in sets.items()}}


def run(folder, *, sets=None, methods=None, repetitions=REPETITIONS, jobs=2, known=SETS, console=None):
    """Run what is missing; return all rows, old and new, and what was left out.

    Parameters
    ----------
    folder : path-like
        Where the rows are kept.
    sets, methods : list of str, optional
        Some of them; by default all.
    repetitions, jobs : int
    known : dict of str to Set
    console : rich.console.Console, optional
    """
    there, missing = _loaded(sets or list(known))
    path = Path(folder) / ROWS
    rows = open_rows(path, settings(known))
    done = {key(row) for row in rows if "error" not in row}
    cells = [
        (name, repetition, method)
        for repetition in range(repetitions)
        for name in there
        for method in methods or METHODS
        if METHODS[method].suits(load(name)) and (name, repetition, method) not in done
    ]
    for row in _run_cells(cells, jobs, console):
        append_rows(path, [row])
        rows.append(row)
    return rows, missing


def _run_cells(cells, jobs, console):
    """Yield the rows of the cells."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with (
        Progress(*columns, console=console, transient=True) as progress,
        parallel_config("loky", inner_max_num_threads=1),
    ):
        bar = progress.add_task("quality", total=len(cells))
        tasks = (delayed(run_cell)(*cell) for cell in cells)
        for row in parallel(jobs, return_as="generator_unordered")(tasks):
            yield {**row, **provenance()}
            progress.advance(bar)


def _loaded(names):
    """Return the sets whose files are there, and sentences on the others."""
    there, missing = [], []
    for name in names:
        try:
            load(name)
            there.append(name)
        except FileNotFoundError as error:
            missing.append(f"{name}: {error.filename or error}")
    return there, missing


def key(row):
    """Return the cell of a row."""
    return row["set"], row["repetition"], row["method"]
