"""The command line: ``localmkl --help``. Heavy imports wait until a command needs them."""

import gc
import signal
from pathlib import Path
from typing import Annotated

import typer

import localmkl
from localmkl.cli.options import LEARNING, READING, SPEAKING, command
from localmkl.cli.voice import INTERRUPTED, listen, stop

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
MODEL, WRITING = Path("model.localmkl"), ("out", "force", *SPEAKING)


def _print_version(wanted: bool):
    if wanted:
        typer.echo(f"localmkl {localmkl.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True)] = False,
):
    """Multiple kernel learning whose weights may differ from group to group, or from cluster to cluster."""


@command(app, (*LEARNING, "tune", *WRITING), out=MODEL)
def fit(given, voice):
    """Learn a model from a file, judge it by cross-validation, and write it.

    $ localmkl fit patients.csv --target outcome
    $ localmkl fit patients.csv --target outcome --groups hospital
    $ localmkl fit promoters.fa --kernels 'wd:1-8; spectrum:4-6'

    Kernels, parameters and gaps are taken care of; options change what is chosen.
    """
    from localmkl.cli.training import train

    train(given, voice, quick=given.tune is None)


@command(app, (*LEARNING, "table", *WRITING), out=MODEL)
def tune(given, voice):
    """Search C, p, shared, clusters, evenness and loss thoroughly, and write the best model.

    $ localmkl tune patients.csv --target outcome --groups hospital
    $ localmkl tune patients.csv --target outcome --C 0.1,1,10 --p 1,4/3
    $ localmkl tune promoters.fa --folds 10 --table scores.csv

    After an interruption give the command again: it goes on where it was stopped.
    """
    from localmkl.cli.training import train

    given.tune = True
    train(given, voice, quick=False)


COMPARED = tuple(name for name in LEARNING if name not in ("method", "folds", "positive_class"))


@command(app, (*COMPARED, "also", "splits", *WRITING))
def compare(given, voice):
    """Compare equal weights, one set of weights and local weights on the same random splits.

    $ localmkl compare patients.csv --target outcome --groups hospital
    $ localmkl compare patients.csv --target outcome --also one
    $ localmkl compare promoters.fa --C 1,10 --splits 50 --out compared.csv

    All methods have the same parameters. From lists such as 0.1,1,10 each method chooses within the training
    rows of every split.
    """
    from localmkl.cli.comparing import compare

    compare(given, voice)


@command(app, ("model", "data", *READING, "explain", "device", *WRITING), data=...)
def predict(given, voice):
    """Predict the rows of a file: class and probability, or number, as a CSV table.

    $ localmkl predict model.localmkl new.csv
    $ localmkl predict model.localmkl new.csv --explain --out predictions.csv
    $ localmkl predict model.localmkl new.fa --json
    """
    from localmkl.cli.predicting import predict

    predict(given, voice)


@command(app, ("model", "data", *READING, "folds", "stability", "seed", *WRITING), out=Path("report.html"))
def report(given, voice):
    """Write one HTML page on a model: how good it is, what matters, and where.

    $ localmkl report model.localmkl
    $ localmkl report model.localmkl new.csv --out new.html
    $ localmkl report model.localmkl --stability 100
    """
    from localmkl.cli.predicting import report

    report(given, voice)


@command(app, ("file", *READING, *SPEAKING))
def info(given, voice):
    """Describe a model, or a data file before anything is learned from it.

    $ localmkl info model.localmkl
    $ localmkl info patients.csv --target outcome
    $ localmkl info rna.csv clinic.csv --names patient
    """
    from localmkl.cli.record import describe

    describe(given, voice)


@command(app, ("samples", "seed", "force", "debug"))
def demo(given, voice):
    """Compare the five methods on generated data with three groups, each with its own view."""
    from localmkl.cli.places import REPORT, check_outputs
    from localmkl.demo import REPORT_FILE, run_demo

    check_outputs([("The report", REPORT_FILE, REPORT)], force=given.force)
    run_demo(given.samples, given.seed)


@app.command(hidden=True, context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
def reproduce():
    """Print where the reproduction of the paper is."""
    typer.echo("It moved: run `python -m reproduction` in a clone of the repository.", err=True)
    raise typer.Exit(1)


def main():
    """Run the command line."""
    gc.set_threshold(100_000, 50, 100)  # a command ends before garbage matters; looking for it takes time
    listen(stop)
    try:
        app()
    except KeyboardInterrupt:  # before a command has begun
        raise SystemExit(INTERRUPTED) from None
    finally:
        listen(signal.SIG_DFL)
