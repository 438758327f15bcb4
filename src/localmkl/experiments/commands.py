"""One command: run what is missing of an experiment, write and return its summary."""

from dataclasses import replace
from functools import partial
from pathlib import Path

from localmkl._checks import check_integer, check_option
from localmkl._files import check_place, write_whole
from localmkl.datasets.downloading import locate_all
from localmkl.datasets.registry import FILES
from localmkl.experiments.catalogue import EXPERIMENTS
from localmkl.experiments.figures import draw_figure
from localmkl.experiments.protocol import Source
from localmkl.experiments.results import read_results
from localmkl.experiments.runner import result_path, run_experiment
from localmkl.experiments.sources import load_image_folder
from localmkl.experiments.summary import check_rows, finished, to_csv, to_markdown, with_test_shares


def reproduce(
    name,
    folder,
    *,
    data=None,
    images=None,
    repetitions=None,
    points=None,
    methods=None,
    n_jobs=None,
    quick=False,
    run=True,
    console=None,
    force=False,
):
    """Run what is missing of an experiment; write its summary beside the rows.

    Parameters
    ----------
    name : str
        A key of `EXPERIMENTS`.
    folder : path-like
        ``folder/<name>/<data>.jsonl`` holds the rows; ``.md``, ``.csv`` and (where there is a figure, and
        matplotlib) ``.svg`` the summary.
    data : str, optional
        Name of one of its data sets; by default the first whose files are there. Files of one that is named
        are downloaded if they are not; a `DownloadWarning` states their terms first.
    images : path-like, optional
        For "images": a folder with one folder of images per class, instead of `data`.
    repetitions, points, methods, n_jobs
        As in `run_experiment`.
    quick : bool, default=False
        Run the one-minute version on shipped or generated data instead.
    run : bool, default=True
        False only summarises the rows that are there.
    console : rich.console.Console, optional
        Where progress is shown.
    force : bool, default=False
        Replace summaries that are there without the rows they are of.

    Returns
    -------
    str
        The summary, in Markdown.
    """
    check_option("name", name, tuple(EXPERIMENTS))
    if repetitions is not None:
        check_integer("repetitions", repetitions, low=1)
    experiment = EXPERIMENTS[name].quickened() if quick else EXPERIMENTS[name]
    source = choose_source(experiment, data, images)
    if quick and images is not None:
        source = replace(source, name=f"quick-{source.name}")
    path = result_path(folder, experiment, source)
    _check_summaries(path, force)
    if run:
        locate_all(source.files)
        run_experiment(
            experiment,
            source,
            folder,
            repetitions=repetitions,
            points=points,
            methods=methods,
            n_jobs=n_jobs,
            console=console,
        )
    settings, rows = read_results(kept := _existing(path))
    check_rows(kept, rows)
    if not rows:
        raise ValueError(f"{str(path)!r} must hold rows, it has none yet; run the experiment first.")
    if run and not finished(rows):
        raise RuntimeError(
            f"No cell of {name!r} could be finished; what failed is kept in {str(path)!r} and will be tried "
            f"again, the first by {rows[0]['error']}"
        )
    rows = with_test_shares(rows, settings) if source.resampled else rows
    summary = to_markdown(experiment, source, rows)
    write_whole(path.with_suffix(".md"), summary.encode())
    write_whole(path.with_suffix(".csv"), to_csv(experiment, source, rows).encode())
    try:
        draw_figure(experiment, source, rows, path.with_suffix(".svg"))
    except ImportError:
        summary += "\nThe figure needs matplotlib: `pip install localmkl[plots]`.\n"
    return summary


def _check_summaries(path, force):
    """Raise unless the summaries can be written, and are of the rows beside them if they are there."""
    rows = any(map(Path.exists, _kept_as(path)))
    for suffix in (".md", ".csv", ".svg") if path.parent.is_dir() else ():
        summary = path.with_suffix(suffix)
        check_place(summary)
        if summary.exists() and not rows and not force:
            raise ValueError(
                f"{str(summary)!r} is there already, without rows of the experiment; choose another folder, "
                "or force it to be replaced."
            )


def choose_source(experiment, data=None, images=None):
    """Return the data set of this name, that of a folder of images, or the first whose files are there."""
    if images is not None:
        if data is not None:
            raise ValueError(f"`images` takes the place of `data`, got both; leave out `data` ({data!r}).")
        if experiment.name != "images":
            raise ValueError(f"`images` belongs to the experiment 'images', got {experiment.name!r}.")
        folder = Path(images).resolve()
        what = f"the images in the folder {folder.name!r}, nine chi2 kernels over visual words"
        return Source(f"folder-{folder.name}", what, "your images", partial(load_image_folder, folder), "")
    by_name = {source.name: source for source in experiment.sources}
    if data is not None:
        check_option("data", data, tuple(by_name))
        return by_name[data]
    missing = {source.name: source.missing() for source in experiment.sources}
    for source in experiment.sources:
        if not missing[source.name]:
            return source
    absent = "; ".join(f"{name} needs {', '.join(paths)}" for name, paths in missing.items())
    raise FileNotFoundError(
        f"No data set of the experiment {experiment.name!r} is there ({absent}); name one by `data` to "
        "download it, put the files there, or name their folder by LOCALMKL_DATA."
    )


def list_experiments():
    """Return the experiments: place in the paper, data, fidelity, duration, files that lack, their terms.

    Examples
    --------
    >>> [entry["data"] for entry in list_experiments() if entry["name"] == "splice"]
    ['acceptor-398', 'acceptor-82', 'uci']
    """
    return [
        {
            "name": experiment.name,
            "paper": experiment.published.source,
            "title": experiment.title,
            "data": source.name,
            "what": source.what,
            "fidelity": source.fidelity,
            "duration": source.duration,
            "missing": source.missing(),
            "terms": _terms(source),
        }
        for experiment in EXPERIMENTS.values()
        for source in experiment.sources
    ]


def _existing(path):
    """Return the file of rows, compressed or not."""
    for candidate in _kept_as(path):
        if candidate.exists():
            return candidate
    raise FileNotFoundError(f"{str(path)!r} must hold rows, there is no such file; run the experiment first.")


def _kept_as(path):
    """Return the files that may hold rows: their own, or a compressed one."""
    return path, path.with_suffix(".jsonl.gz")


def _terms(source):
    """Return the terms of the files of a data set, by the public repository that states them."""
    origins = [FILES[key].origin for key in source.files]
    return {origin.repository: origin.terms for origin in origins if origin.terms}
