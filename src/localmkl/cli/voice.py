"""Output of the command line: results on stdout, notes and progress on stderr, errors in one sentence.

Exit codes: 0 done; 1 a file or its content is not what was expected; 2 the command was called wrongly;
130 stopped, by Ctrl-C or by a signal that asks to end.
"""

import json
import os
import re
import signal
import sys
import warnings
from contextlib import contextmanager
from dataclasses import dataclass

import typer

FAILED, MISUSED, INTERRUPTED = 1, 2, 130
EXPECTED = (ValueError, TypeError, OSError, ImportError, MemoryError, RuntimeError)

OPTION_OF = {"n_clusters": "clusters", "gate_kernel": "gate", "class_weight": "balanced"}
OPTION_OF |= {"n_components": "rank", "random_state": "seed", "n_jobs": "jobs"}
"""Parameters whose options have other names."""

SPOKEN = {
    "raise `max_iter` or `tol`": "raise --tol",
    "pass `header=False`": "give --no-header",
    "models are written by `localmkl.save`": "models are written by 'localmkl fit'",
    'for instance TfIdf(column="notes")': "such as --kernels 'tfidf column=notes'",
    "1/n_clusters": "1/clusters",
    "`n_components=200`": "--rank 200",
    "`grams`": "the kernel matrices",
    "set device='cpu'": "give --device cpu",
    **{f"`{name}`": f"--{option}" for name, option in OPTION_OF.items()},
}
"""Words for Python: words for the command line."""

REASONS = {
    FileNotFoundError: "is not there; check the path.",
    PermissionError: "cannot be opened: permission denied; choose another place, or change who may use it.",
    IsADirectoryError: "must be a file, it is a folder.",
}


class Misuse(ValueError):
    """The command was called with options that do not belong together, or without one it needs."""


def listen(handler):
    """Let a function handle the signals that ask to end, but for those to be ignored (nohup)."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # the last is unknown to Windows
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def stop(*_):
    """Stop a command as Ctrl-C does; a second signal ends it at once."""
    listen(signal.SIG_DFL)
    raise KeyboardInterrupt


@dataclass(frozen=True)
class Voice:
    """The output of a command.

    Attributes
    ----------
    as_json : bool
        Results as one JSON object instead of text.
    quiet : bool
        No notes, no progress.
    debug : bool
        Errors with their traceback.
    """

    as_json: bool = False
    quiet: bool = False
    debug: bool = False

    def note(self, *texts):
        """Print sentences on stderr that are no result."""
        for text in () if self.quiet else texts:
            typer.echo(text, err=True)

    def result(self, record, text):
        """Print a result: the record for machines, the text for people."""
        if self.as_json:
            write_out(json.dumps(record, default=_plain, allow_nan=False) + "\n")
        elif not self.quiet:
            write_out(text + "\n")

    @contextmanager
    def counting(self, text):
        """Show how far something has come, where stderr is a terminal; yield ``show(done, all)``."""
        if self.quiet or not sys.stderr.isatty():
            yield lambda done, all: None
            return
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(text, total=None)
            yield lambda done, all: bar.update(task, completed=done, total=all)

    @contextmanager
    def plainly(self):
        """Turn exceptions into a sentence and an exit code, and warnings into a line."""
        from localmkl.backends.compiling import before_compiling

        with warnings.catch_warnings():
            warnings.simplefilter("default", UserWarning)
            for kind in (RuntimeWarning, FutureWarning):  # of NumPy and others: results are checked for NaN
                warnings.simplefilter("ignore", kind)
            # Of workers that were replaced and tasks that are small: nothing that is to be done about.
            warnings.filterwarnings("ignore", category=UserWarning, module=r"joblib\.")
            warnings.showwarning = _shown_once()
            before_compiling(lambda: self.note("The first fit compiles numerical code once: some seconds."))
            try:
                yield
            except typer.Exit:
                raise
            except KeyboardInterrupt:
                typer.echo("Stopped.", err=True)
                raise typer.Exit(INTERRUPTED) from None
            except BrokenPipeError:  # the reader of stdout has seen enough
                raise typer.Exit(FAILED) from None
            except Exception as error:
                if self.debug:
                    raise
                typer.echo(f"Error: {sentence(error)}", err=True)
                raise typer.Exit(MISUSED if isinstance(error, Misuse) else FAILED) from None


def n_of(count, noun):
    """Return a number of things in words.

    Examples
    --------
    >>> n_of(1, "row"), n_of(20, "row")
    ('1 row', '20 rows')
    """
    return f"{count} {noun}{'s' * (count != 1)}"


def shown(value):
    """Return a value of a parameter as text.

    Examples
    --------
    >>> shown(4 / 3), shown("hinge"), shown(float("inf"))
    ('1.333', 'hinge', 'inf')
    """
    return f"{value:.4g}" if isinstance(value, int | float) else str(value)


def write_out(text):
    """Write text to stdout, all of it now."""
    try:
        typer.echo(text, nl=False)
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is left, or it fails again
        raise OSError(error.errno, error.strerror, "stdout") from error


def sentence(error):
    """Return one line that says what is wrong.

    Examples
    --------
    >>> sentence(ValueError("`n_clusters` must be an integer,    got -1."))
    '--clusters must be an integer, got -1.'
    >>> sentence(KeyError("x"))
    "unexpected KeyError: 'x'; please report it, with what --debug shows."
    """
    if isinstance(error, OSError) and error.errno is not None:
        called = "A temporary file" if error.filename is None else repr(str(error.filename))
        reason = f"cannot be used: {error.strerror}; choose another place, or make room."
        return f"{called} {next((text for kind, text in REASONS.items() if isinstance(error, kind)), reason)}"
    if isinstance(error, EXPECTED):
        return spoken(str(error)) or type(error).__name__
    return f"unexpected {type(error).__name__}: {error}; please report it, with what --debug shows."


def spoken(text):
    """Return a message of the package in one line and in the words of the command line."""
    from localmkl.cli.options import OPTIONS

    text = " ".join(text.split())
    for written, replacement in SPOKEN.items():
        text = text.replace(written, replacement)
    text = re.sub(r"`(\w+)`", lambda found: f"--{found[1]}" if found[1] in OPTIONS else found[1], text)
    return text if len(text) <= 1000 else f"{text[:500]} ... {text[-500:]}"


def _shown_once():
    """Return what shows warnings, each text once: commands ask models for several things of the same rows."""
    shown = set()

    def show(message, *_, **__):
        if str(message) not in shown:
            shown.add(str(message))
            typer.echo(f"Warning: {spoken(str(message))}", err=True)

    return show


def _plain(value):
    """Return NumPy's numbers and arrays as JSON has them."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
