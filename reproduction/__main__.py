"""The commands: ``python -m reproduction list | run NAME | page``."""

import argparse
import sys
from pathlib import Path

from reproduction.catalogue import EXPERIMENTS
from reproduction.page import renew_page
from reproduction.rows import pack_rows
from reproduction.running import result_path, run_experiment
from reproduction.summary import write_summary


def parser():
    """Return the parser of the command line."""
    top = argparse.ArgumentParser("python -m reproduction", description="The experiments of the paper.")
    commands = top.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="show the experiments, their data, and how long they take")
    run = commands.add_parser("run", help="run what is missing of an experiment, and write its summary")
    run.add_argument("name", choices=EXPERIMENTS, metavar="NAME")
    run.add_argument("--data", help="data set of the experiment; default: its first one")
    run.add_argument("--sizes", nargs="+", help="points of the axis, such as 50 200; default: all")
    run.add_argument("--methods", nargs="+", help="such as UNIF 'CLMKL, p = 1'; default: all")
    run.add_argument("--repetitions", type=int, help="default: as many as in the paper")
    run.add_argument("--out", default="results", help="folder of rows and summaries (default: %(default)s)")
    run.add_argument("--jobs", type=int, default=1, help="worker processes (default: %(default)s)")
    page = commands.add_parser("page", help="write all summaries, and the tables of the page, from the rows")
    page.add_argument("--out", default="results", help="folder of rows and summaries (default: %(default)s)")
    return top


def main(arguments=None):
    """Run one command."""
    given = parser().parse_args(arguments)
    if given.command == "list":
        print("\n".join(listing()))
    elif given.command == "page":
        for experiment in EXPERIMENTS.values():
            for source in experiment.sources.values():
                path = result_path(given.out, experiment, source)
                pack_rows(path)
                write_summary(experiment, source, path)
        renew_page(Path(given.out))
    else:
        experiment = EXPERIMENTS[given.name]
        name = given.data or next(iter(experiment.sources))
        if name not in experiment.sources:
            sys.exit(
                f"--data of {given.name!r} must be one of {', '.join(experiment.sources)}, got {name!r}."
            )
        source = experiment.sources[name]
        try:
            run_experiment(
                experiment,
                source,
                given.out,
                repetitions=given.repetitions,
                points=given.sizes,
                methods=given.methods,
                n_jobs=given.jobs,
            )
        except KeyboardInterrupt:
            sys.exit("Stopped; finished cells are kept, and the same command goes on from there.")
        except (OSError, ValueError) as error:
            sys.exit(str(error))
        print(write_summary(experiment, source, result_path(given.out, experiment, source)))


def listing():
    """Return the lines that show what there is."""
    for experiment in EXPERIMENTS.values():
        yield f"{experiment.name}: {experiment.title} ({experiment.paper})"
        for source in experiment.sources.values():
            yield f"  --data {source.name:<18} {source.fidelity}: {source.what} ({source.duration})"


if __name__ == "__main__":
    main()
