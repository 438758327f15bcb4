"""The command line: ``localmkl --help``. Heavy imports wait until a command needs them."""

import typer

app = typer.Typer(
    name="localmkl",
    help="Multiple kernel learning whose kernel weights may differ from region to region.",
    no_args_is_help=True,
    add_completion=False,
)


@app.callback()
def _root():
    """Multiple kernel learning whose kernel weights may differ from region to region."""


@app.command()
def demo(
    samples: int = typer.Option(300, min=30, help="Training samples."),
    seed: int = typer.Option(0, help="Seed of the generated data and of the restarts."),
):
    """Compare the five methods on generated data with three groups, each with its own view."""
    from localmkl.demo import run_demo

    run_demo(samples, seed)


@app.command()
def reproduce(
    name: str = typer.Argument("", help="An experiment of --list, or 'all'."),
    listing: bool = typer.Option(
        False, "--list", help="Say what there is, on which data, and how long it takes."
    ),
    data: str = typer.Option(None, help="Data set of the experiment; the first whose files are there."),
    images: str = typer.Option(None, help="For 'images': a folder with one folder of images per class."),
    reps: int = typer.Option(None, min=1, help="Repetitions; as many as in the paper."),
    sizes: str = typer.Option(None, help="Points of the axis, for instance 50,100,200; all."),
    methods: str = typer.Option(None, help="For instance UNIF,CLMKL; all but the slow LMKL."),
    out: str = typer.Option("results", help="Folder of rows and summaries; what is there is not run again."),
    jobs: int = typer.Option(None, min=1, help="Worker processes; one per core."),
    quick: bool = typer.Option(False, "--quick", help="A minute on shipped or generated data instead."),
    summary: bool = typer.Option(False, "--summary", help="Run nothing, summarise the rows that are there."),
):
    """Reproduce a table or figure of the paper, its numbers beside ours; a stopped run goes on."""
    from rich.console import Console

    from localmkl.experiments import EXPERIMENTS, Interrupted, list_experiments
    from localmkl.experiments import reproduce as run

    if listing or not name:
        before = ""
        for entry in list_experiments():
            if entry["name"] != before:
                typer.echo(f"{entry['name']:<13} {entry['title']} ({entry['paper']})")
            before = entry["name"]
            lacking = f"; not there: {', '.join(entry['missing'])}" if entry["missing"] else ""
            typer.echo(f"  --data {entry['data']:<13} {entry['fidelity']}: {entry['what']}")
            typer.echo(f"  {'':<20} about {entry['duration']} on two cores{lacking}")
        return
    names = list(EXPERIMENTS) if name == "all" else [name]
    options = {
        "data": data,
        "images": images,
        "repetitions": reps,
        "points": sizes.split(",") if sizes else None,
        "methods": [method.strip() for method in methods.split(",")] if methods else None,
        "n_jobs": jobs,
        "quick": quick,
        "run": not summary,
        "console": Console(stderr=True),
    }
    for each in names:
        try:
            typer.echo(run(each, out, **options))
        except Interrupted as stop:
            typer.echo(str(stop), err=True)
            raise typer.Exit(130) from None
        except (ValueError, OSError, RuntimeError, ImportError) as error:
            typer.echo(f"{each}: {error}", err=True)
            if name != "all":
                raise typer.Exit(1) from None


def main():
    """Run the command line."""
    app()
