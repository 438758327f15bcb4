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


def main():
    """Run the command line."""
    app()
