"""The command line: ``localmkl --help``. Heavy imports wait until a command needs them."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

import localmkl
from localmkl.cli import options
from localmkl.cli.voice import (
    INTERRUPTED,
    Command,
    Misuse,
    Voice,
    end_on_signals,
    n_of,
    stop_on_signals,
)

app = typer.Typer(
    name="localmkl",
    help="Multiple kernel learning whose kernel weights may differ from region to region.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

_option, _argument = typer.Option, typer.Argument
_command = partial(app.command, cls=Command)


def _say_version(asked: bool):
    if asked:
        typer.echo(f"localmkl {localmkl.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, _option("--version", callback=_say_version, is_eager=True, help="Say the version and exit.")
    ] = False,
):
    """Multiple kernel learning whose kernel weights may differ from region to region."""


@_command()
def fit(
    data: options.TrainingData = None,
    target: options.Target = None,
    kernels: options.Kernels = None,
    method: options.Method = "clmkl",
    regression: options.Regression = False,
    c: options.C = None,
    p: options.P = None,
    clusters: options.Clusters = None,
    evenness: options.Evenness = None,
    shared: options.Shared = None,
    loss: options.Loss = None,
    epsilon: options.Epsilon = None,
    quantile: options.Quantile = None,
    unlabeled: Annotated[
        Path | None,
        _option(help="More rows, labels unseen, to learn the clusters from."),
    ] = None,
    tune: options.Tune = None,
    out: Annotated[Path, _option(help="The model.")] = Path("model.localmkl"),
    positive: options.Positive = None,
    negative: options.Negative = None,
    labels: options.Labels = None,
    names: options.Names = None,
    header: options.Header = None,
    gate: options.Gate = None,
    clustering: options.Clustering = None,
    groups: options.Groups = None,
    normalize: options.Normalize = None,
    impute: options.Impute = None,
    missing: options.Missing = None,
    balanced: options.Balanced = False,
    rank: options.Rank = None,
    exact_gap: options.ExactGap = False,
    keep_features: options.KeepFeatures = False,
    device: options.Device = "cpu",
    tol: options.Tol = None,
    variable: options.Variable = None,
    rows: options.Rows = None,
    seed: options.Seed = 0,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
):
    """Learn a model from a file and write it to another.

    Without --kernels, sequences get kernels on the letters in place and anywhere, tables Gaussian kernels on
    standardised columns and groups of them; the choice is said.

    Parameters that are not given are chosen by a small search, UNIF and MKL among its candidates, unless
    there are very many rows; --no-tune fits at once.
    """
    given, voice = locals(), Voice(as_json, quiet, debug)
    with voice.plainly():
        from localmkl.cli.ordering import order_of

        order = order_of(given, voice)
        if tune and unlabeled is not None:
            raise Misuse("--unlabeled does not go with --tune: fit again with the parameters found.")
        from localmkl.cli.train import train
        from localmkl.cli.tuning import Search

        train(order, voice, search=None if tune is False else Search(quick=tune is None))


@_command()
def tune(
    data: options.TrainingData = None,
    target: options.Target = None,
    kernels: options.Kernels = None,
    method: options.Method = "clmkl",
    regression: options.Regression = False,
    c: options.C = None,
    p: options.P = None,
    clusters: options.Clusters = None,
    evenness: options.Evenness = None,
    shared: options.Shared = None,
    loss: options.Loss = None,
    epsilon: options.Epsilon = None,
    quantile: options.Quantile = None,
    folds: options.Folds = 5,
    scoring: options.Scoring = None,
    out: Annotated[Path, _option(help="The best model, fitted on all rows.")] = Path("model.localmkl"),
    table: Annotated[Path | None, _option(help="CSV file of all scores.")] = None,
    jobs: options.Jobs = None,
    positive: options.Positive = None,
    negative: options.Negative = None,
    labels: options.Labels = None,
    names: options.Names = None,
    header: options.Header = None,
    gate: options.Gate = None,
    clustering: options.Clustering = None,
    groups: options.Groups = None,
    normalize: options.Normalize = None,
    impute: options.Impute = None,
    missing: options.Missing = None,
    balanced: options.Balanced = False,
    rank: options.Rank = None,
    exact_gap: options.ExactGap = False,
    keep_features: options.KeepFeatures = False,
    device: options.Device = "cpu",
    tol: options.Tol = None,
    variable: options.Variable = None,
    rows: options.Rows = None,
    seed: options.Seed = 0,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
):
    """Search C, p, clusters, evenness, shared, loss (lists such as 0.1,1,10) and write the best model.

    What is finished is kept beside the model: give the command again to go on with a search that was stopped.
    """
    given, voice = locals(), Voice(as_json, quiet, debug)
    with voice.plainly():
        from localmkl.cli.ordering import order_of

        order = order_of(given, voice)
        from localmkl.cli.train import train
        from localmkl.cli.tuning import Search

        train(order, voice, search=Search(folds, scoring, jobs, table))


@_command()
def compare(
    data: options.TrainingData = None,
    target: options.Target = None,
    kernels: options.Kernels = None,
    also: options.Also = None,
    regression: options.Regression = False,
    c: options.C = None,
    p: options.P = None,
    clusters: options.Clusters = None,
    evenness: options.Evenness = None,
    shared: options.Shared = None,
    loss: options.Loss = None,
    epsilon: options.Epsilon = None,
    quantile: options.Quantile = None,
    splits: options.Splits = 20,
    scoring: options.Scoring = None,
    table: Annotated[Path | None, _option("--out", help="CSV file of the table, too.")] = None,
    figure: Annotated[Path | None, _option(help="Picture of the differences: .png or .svg.")] = None,
    jobs: options.Jobs = None,
    positive: options.Positive = None,
    negative: options.Negative = None,
    labels: options.Labels = None,
    names: options.Names = None,
    header: options.Header = None,
    gate: options.Gate = None,
    clustering: options.Clustering = None,
    groups: options.Groups = None,
    normalize: options.Normalize = None,
    impute: options.Impute = None,
    missing: options.Missing = None,
    balanced: options.Balanced = False,
    rank: options.Rank = None,
    device: options.Device = "cpu",
    tol: options.Tol = None,
    variable: options.Variable = None,
    rows: options.Rows = None,
    seed: options.Seed = 0,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
):
    """Compare UNIF, MKL and CLMKL on shared splits, and say whether locality is worth it.

    All have the same parameters, as given or those of --no-tune. From lists such as 0.1,1,10 each method
    chooses by cross-validation within the training rows of every split.
    """
    given, voice = locals(), Voice(as_json, quiet, debug)
    with voice.plainly():
        from localmkl.cli.ordering import check_also, check_figure, order_of

        more = check_also(also)
        check_figure(figure)
        checked = {
            "method": "lmkl" if "lmkl" in more else "clmkl",
            "exact_gap": False,
            "keep_features": False,
        }
        order = order_of({**given, **checked}, voice)
        from localmkl.cli.comparing import Contest, compare_by

        compare_by(order, voice, Contest(more, splits, scoring, jobs, table, figure))


def _look_at(model, data):
    """Raise if files are not there or of no known kind, before heavy imports."""
    from localmkl.cli.files import check_regular, kind_of
    from localmkl.cli.joining import named_files

    check_regular(model)
    for path in named_files(data or []).values():
        kind_of(path)
        check_regular(path)


@_command()
def predict(
    model: options.Model,
    data: options.Data,
    out: Annotated[Path | None, _option(help="CSV file; default: stdout.")] = None,
    target: options.Target = None,
    labels: options.Labels = None,
    names: options.Names = None,
    header: options.Header = None,
    variable: options.Variable = None,
    rows: options.Rows = None,
    device: options.Device = "cpu",
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
):
    """Predict the rows of a file: label, score, memberships, the contribution of every kernel.

    Models of the log loss add the probability of each class.

    Of a Gram file with all rows, those that the model was not trained on.
    """
    voice = Voice(as_json, quiet, debug)
    with voice.plainly():
        _look_at(model, data)
        from localmkl.cli import joining, places, use

        if out is not None:
            inputs = (model, *use.paths_of(data), labels)
            places.check_outputs([("--out", out, places.PREDICTIONS)], inputs, force=force)
        subject = use.open_model(model)
        use.move(subject, device)
        where = {"target": target, "labels": labels, "names": names, "variable": variable, "header": header}
        tally = use.Tally(subject)
        with voice.table(out) as write, voice.counting("predicting") as show:
            for content in use.pieces_for(subject, data, rows=rows, **where):
                joined = joining.told(content)
                columns, table = use.predict_piece(subject, content)
                write(columns, table)
                tally.add(content, table)
                show(tally.n_rows, None)
        scores, said = tally.score()
        if out is not None:
            record = {"out": str(out), "rows": tally.n_rows, **scores}
            voice.result(record, f"{n_of(tally.n_rows, 'prediction')}: {out}")
        for note in filter(None, (*joined, said, subject.unfinished)):
            voice.note(note)


@_command()
def report(
    model: options.Model,
    data: Annotated[
        list[str] | None,
        _argument(help="Rows to show, of one file or several; default: the training rows, where kept."),
    ] = None,
    out: Annotated[Path, _option(help="The HTML file.")] = Path("report.html"),
    title: Annotated[str | None, _option(help="Title of the page.")] = None,
    folds: Annotated[int, _option(help="Folds of the cross-validation; 0 for none.", min=0)] = 5,
    baselines: Annotated[bool, _option(help="Compare with equal and with global weights.")] = True,
    stability: options.Stability = 0,
    target: options.Target = None,
    labels: options.Labels = None,
    names: options.Names = None,
    header: options.Header = None,
    variable: options.Variable = None,
    rows: options.Rows = None,
    seed: options.Seed = 0,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
):
    """Write what a model says, and how good it is, as one HTML file."""
    voice = Voice(as_json, quiet, debug)
    with voice.plainly():
        _look_at(model, data)
        from localmkl.cli import joining, places, use

        inputs = (model, *use.paths_of(data), labels)
        places.check_outputs([("--out", out, places.REPORT)], inputs, force=force)
        subject = use.open_model(model)
        where = {"target": target, "labels": labels, "names": names, "variable": variable, "header": header}
        content = use.read_for(subject, data, rows=rows, **where) if data else None
        for said in () if content is None else joining.told(content):
            voice.note(said)
        settings = {"title": title, "cv": folds, "baselines": baselines, "seed": seed, "stability": stability}
        if stability:  # refits have a progress bar of their own
            path = use.write(subject, content, out, **settings, verbose=int(not quiet))
        else:
            with voice.working("writing the report: cross-validation may take a while"):
                path = use.write(subject, content, out, **settings)
        voice.result({"out": str(path)}, f"The report: {path.resolve()}")
        for said in filter(None, (use.lacking(subject, content), subject.unfinished)):
            voice.note(said)


@_command()
def info(
    file: Annotated[list[str], _argument(help="A model or a data file, or several files to be joined.")],
    target: options.Target = None,
    labels: options.Labels = None,
    names: options.Names = None,
    variable: options.Variable = None,
    header: options.Header = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
):
    """Say what is in a model or in a data file."""
    voice = Voice(as_json, quiet, debug)
    with voice.plainly():
        from localmkl.cli import files, joining, tell

        if len(file) == 1 and files.is_model(file[0]):
            from localmkl.cli import use

            record, text = tell.describe_model(use.open_model(file[0]))
        else:
            insisted = frozenset(filter(None, (target, names)))
            asked = files.Asked(target, labels, names, variable, header, insisted=insisted)
            content = joining.read_any(file, asked)
            record, text = tell.describe_data(content)
            for said in joining.told(content):
                voice.note(said)
        voice.result(record, text)


@_command()
def bench(
    samples: Annotated[int, _option(min=50, help="Rows of the generated problem.")] = 1000,
    kernels: Annotated[int, _option(min=1, help="Kernels.")] = 10,
    clusters: Annotated[int, _option(min=1, help="Clusters.")] = 3,
    seed: options.Seed = 0,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
):
    """Measure what fits cost here, in readings of the Grams and against the published algorithm."""
    voice = Voice(as_json, quiet, debug)
    with voice.plainly():
        from localmkl.bench import measure, show

        with voice.working("measuring"):
            rows = measure(samples, kernels, clusters, seed)
        voice.result({"rows": rows}, show(rows))


@_command()
def warmup(
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
):
    """Compile now what the first fits would compile: once for all, on this machine."""
    voice = Voice(as_json, quiet, debug)
    with voice.plainly():
        from localmkl.warmup import warm_up

        with voice.counting("compiling") as show:
            took = warm_up(show)
        voice.result({"seconds": took}, f"Ready, after {took:.0f} s.")


@_command()
def demo(
    samples: Annotated[int, _option(min=30, help="Training samples.")] = 300,
    seed: options.Seed = 0,
    force: options.Force = False,
    debug: options.Debug = False,
):
    """Compare the five methods on generated data with three groups, each with its own view."""
    with Voice(debug=debug).plainly():
        from localmkl.cli import places
        from localmkl.demo import REPORT_FILE, run_demo

        places.check_outputs([("The report", REPORT_FILE, places.REPORT)], force=force)
        run_demo(samples, seed)


@_command(hidden=True, context_settings={"ignore_unknown_options": True})
def reproduce(words: Annotated[list[str] | None, typer.Argument(hidden=True)] = None):
    """Say where the paper's experiments went."""
    typer.echo(
        "The paper's experiments left the package; run `python -m reproduction` in its repository.", err=True
    )
    raise typer.Exit(1)


def main():
    """Run the command line."""
    stop_on_signals()
    try:
        app()
    except KeyboardInterrupt:  # before a command has begun
        raise SystemExit(INTERRUPTED) from None
    finally:
        end_on_signals()
