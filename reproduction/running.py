"""Run the cells of an experiment that are not there yet, and keep every row at once."""

from pathlib import Path

from joblib import Parallel, delayed, parallel_config

from localmkl.provenance import provenance
from reproduction.protocol import N_CLUSTERS, TOL, run_cell
from reproduction.rows import append_rows, finished, open_rows, row_key


def run_experiment(experiment, source, folder, *, repetitions=None, points=None, methods=None, n_jobs=1):
    """Run what is missing of an experiment on a data set; return its rows, old and new.

    By default all points, as many repetitions as the experiment has, and all methods that are not slow.
    Methods are named by label, by family, or by what precedes the comma of a label. Timings are taken by one
    worker.
    """
    chosen = choose_methods(experiment, methods)
    points = choose_points(experiment, points)
    repetitions = experiment.repetitions if repetitions is None else repetitions
    data = source.load()
    path = result_path(folder, experiment, source)
    rows = open_rows(path, settings_of(experiment, source, data))
    done = {row_key(row) for row in finished(rows)}
    cells = []
    for repetition in range(repetitions):
        for point in reversed(points):  # the largest first: the cores end together
            able = [m for m in chosen if within(point, m.most) and within(point, source.most)]
            missing = [m for m in able if (m.label, point, repetition) not in done]
            if missing:
                cells.append((missing, point, repetition))
    origin = {"experiment": experiment.name, "data": source.name, "fidelity": source.fidelity}
    with parallel_config("loky", inner_max_num_threads=1):  # the cells are what runs in parallel
        workers = Parallel(1 if experiment.metric == "seconds" else n_jobs, return_as="generator_unordered")
        tasks = (delayed(run_cell)(experiment, data, *cell) for cell in cells)
        for number, found in enumerate(workers(tasks), start=1):
            found = [{**origin, **row, **provenance()} for row in found]
            append_rows(path, found)
            rows.extend(found)
            print(f"{experiment.name} on {source.name}: {number} of {len(cells)} cells", flush=True)
    return rows


def within(point, most):
    """Return whether a point is not beyond the largest one, where there is such."""
    return most is None or point <= most


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
        **data.facts,
        "grids": {method.label: {**method.grid, **method.fixed} for method in experiment.methods},
    }


def choose_methods(experiment, names):
    """Return the methods of these labels, kinds or families; all that are not slow by default."""
    if names is None:
        return [method for method in experiment.methods if not method.slow]
    known_as = [{m.label, m.kind} | (set() if m.alone else {m.family}) for m in experiment.methods]
    unknown = set(names) - set().union(*known_as)
    if unknown or not names:
        known = ", ".join(dict.fromkeys(method.kind for method in experiment.methods))
        raise ValueError(f"`--methods` must be among {known}, or their full labels, got {names}.")
    return [m for m, known in zip(experiment.methods, known_as, strict=True) if known & set(names)]


def choose_points(experiment, points):
    """Return some of the points of the axis, or others of their kind; all by default."""
    if points is None:
        return experiment.points
    kind = type(experiment.points[0])
    return tuple(sorted({kind(point) for point in points}))
