"""Run the cells of an experiment that are not there yet, over all cores, and keep every row at once."""

from contextlib import nullcontext
from dataclasses import replace
from math import inf, isfinite
from pathlib import Path

from joblib import cpu_count, delayed, parallel_config
from joblib.externals.loky.process_executor import TerminatedWorkerError
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from localmkl._workers import parallel
from localmkl.experiments.protocol import N_CLUSTERS, TOL, run_cell
from localmkl.experiments.results import ResultFile, provenance
from localmkl.experiments.summary import check_rows, finished, row_key


class Interrupted(Exception):
    """A run was stopped; what is finished is kept."""


def run_experiment(
    experiment, source, folder, *, repetitions=None, points=None, methods=None, n_jobs=None, console=None
):
    """Run what is missing of an experiment; return its rows, old and new.

    Parameters
    ----------
    experiment : Experiment
    source : Source
        One of its data sets.
    folder : path-like
        Rows are kept in ``folder/<experiment>/<source>.jsonl``.
    repetitions : int, optional
        As many as the experiment has by default; more can be added later.
    points, methods : sequence, optional
        Some of the experiment's: methods by family, label or what precedes its comma. By default all points,
        and all methods that are not slow.
    n_jobs : int, optional
        Worker processes; one per core by default. Timings are always taken by one.
    console : rich.console.Console, optional
        Where the progress bar is drawn; by default there is none.

    Returns
    -------
    list of dict
    """
    chosen = choose_methods(experiment, methods)
    points = choose_points(experiment, points)
    if not any(within(point, m.most) and within(point, source.most) for m in chosen for point in points):
        raise ValueError(
            f"`sizes` are beyond what {source.name!r} has rows for, or the methods are meant for, got "
            f"{', '.join(map(str, points))}; ask for smaller ones."
        )
    repetitions = experiment.repetitions if repetitions is None else repetitions
    waiting = nullcontext() if console is None else console.status(f"Reading {source.name}")
    with waiting:  # images are described here, once, for minutes
        data = source.load()
    if experiment.axis == "training size":
        _check_sizes(points, source, data.description.get("instances"))
    with ResultFile(result_path(folder, experiment, source), settings_of(experiment, source, data)) as file:
        check_rows(file.path, file.rows)
        done = {row_key(row) for row in finished(file.rows)}
        cells = []
        for repetition in range(repetitions):
            for point in reversed(points):  # the largest first: the cores end together
                able = [m for m in chosen if within(point, m.most) and within(point, source.most)]
                missing = [m for m in able if (m.label, point, repetition) not in done]
                if missing:
                    cells.append((missing, point, repetition))
        if cells:
            _run_cells(experiment, source, data, cells, file, n_jobs, console)
        return file.rows


def _check_sizes(points, source, instances):
    """Raise unless every training size leaves instances to be scored."""
    largest = inf if instances is None else instances - 1
    for point in points:
        if within(point, source.most) and not 1 <= point <= largest:
            raise ValueError(
                f"`sizes` must be from 1 to {largest}, so that some of the rows of {source.name!r} are left "
                f"to be scored, got {point}."
            )


def within(point, most):
    """Return whether a point is not beyond the largest one, where there is such."""
    return most is None or point <= most


def _run_cells(experiment, source, data, cells, file, n_jobs, console):
    n_jobs = 1 if experiment.metric == "seconds" else n_jobs or cpu_count()
    origin = {"experiment": experiment.name, "data": source.name, "fidelity": source.fidelity}
    common = replace(experiment, sources=(), quick={})  # what a worker needs
    tasks = (delayed(run_cell)(common, data, *cell) for cell in cells)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    n_finished = 0

    def kept():
        return f"{n_finished} of {len(cells)} cells were finished now and are kept in {str(file.path)!r}"

    with (
        Progress(*columns, console=console, transient=True, disable=console is None) as progress,
        # One thread in each worker: the cells are what runs in parallel.
        parallel_config("loky", inner_max_num_threads=1),
    ):
        bar = progress.add_task(f"{experiment.name} on {source.name}", total=len(cells))
        try:
            for rows in parallel(n_jobs, return_as="generator_unordered")(tasks):
                file.append([{**origin, **row, **provenance()} for row in rows])
                n_finished += 1
                progress.advance(bar)
        except KeyboardInterrupt:
            raise Interrupted(f"Stopped: {kept()}; the same command goes on from there.") from None
        except TerminatedWorkerError as error:
            raise RuntimeError(
                f"A worker process has died, perhaps for want of memory: {kept()}; the same command goes on "
                "from there, with fewer workers (`n_jobs`) if need be."
            ) from error


def result_path(folder, experiment, source):
    """Return the file of the rows of an experiment on a data set."""
    return Path(folder) / experiment.name / f"{source.name}.jsonl"


def settings_of(experiment, source, data):
    """Return the facts that all rows of one file share."""
    return {
        "experiment": experiment.name,
        "data": source.name,
        "fidelity": source.fidelity,
        "metric": experiment.metric,
        "tol": TOL,
        "n_clusters": N_CLUSTERS,
        "inner_folds": experiment.folds,
        "protocol": experiment.protocol,
        **data.description,
        "grids": {method.label: {**method.grid, **method.fixed} for method in experiment.methods},
    }


def choose_methods(experiment, names):
    """Return the methods of these families, labels or kinds; all that are not slow by default.

    A kind is what precedes the comma of a label: "CLMKL+" of "CLMKL+, p = 1".
    """
    if names is None:
        return [method for method in experiment.methods if not method.slow]
    of_each = [
        {m.label, m.label.partition(",")[0]} | (set() if m.alone else {m.family}) for m in experiment.methods
    ]
    known = set().union(*of_each)
    for name in names:
        if name not in known:
            kinds = dict.fromkeys(method.label.partition(",")[0] for method in experiment.methods)
            raise ValueError(f"`methods` must be among {', '.join(kinds)}, got {name!r}.")
    return [method for method, own in zip(experiment.methods, of_each, strict=True) if own & set(names)]


def choose_points(experiment, points):
    """Return points of the axis; all of the experiment's by default."""
    if points is None:
        return experiment.points
    kind = type(experiment.points[0])
    try:
        chosen = tuple(sorted({kind(point) for point in points}))
        if kind is float and not all(map(isfinite, chosen)):
            raise ValueError("not finite")
    except ValueError as error:
        raise ValueError(
            f"`sizes` must be values of the {experiment.axis}, such as {experiment.points[0]}, got "
            f"{', '.join(map(repr, points))}."
        ) from error
    if len(experiment.points) == 1 and chosen != experiment.points:
        raise ValueError(
            f"`sizes` must be {experiment.points[0]}, the one point of {experiment.name!r}, got "
            f"{', '.join(map(repr, points))}; leave it out."
        )
    return chosen
