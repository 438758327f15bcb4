"""What the command line prints: results on stdout, notes and progress on stderr, errors in one sentence.

Exit codes: 0 done; 1 a file or its content is not what was expected; 2 the command was called wrongly;
130 stopped, by Ctrl-C or by a signal that asks to end.
"""

import csv
import errno
import io
import json
import os
import re
import signal
import sys
import warnings
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import typer

from localmkl._devices import find_device

FAILED, MISUSED, INTERRUPTED = 1, 2, 130
EXPECTED = (ValueError, TypeError, OSError, ImportError, MemoryError, RuntimeError)

OPTIONS = {
    "n_clusters": "clusters",
    "gate_kernel": "gate",
    "class_weight": "balanced",
    "n_components": "rank",
}
OPTIONS |= {"random_state": "seed", "n_jobs": "jobs"}
"""Parameters whose options have other names."""

SPOKEN = {
    "raise `max_iter` or `tol`": "raise --tol",
    "pass `header=False`": "give --no-header",
    "models are written by `localmkl.save`": "models are written by 'localmkl fit'",
    "name classes of theirs in `trusted`": "use models with classes of theirs in Python",
    "1/n_clusters": "1/clusters",
    "`n_components=200`": "--rank 200",
    "`grams`": "the kernel matrices",
    "`X` must hold the letters": "The sequences must hold the letters",
    "set device='cpu'": "give --device cpu",
    "'cosine', None": "'cosine', 'none'",
    **{f"`{name}`": f"--{option}" for name, option in OPTIONS.items()},
}
"""Words for Python: words for the command line."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of systems that have no room for a file."""


class Misuse(ValueError):
    """The command was called with options that do not belong together, or without one it needs."""


class Stopped(KeyboardInterrupt):
    """A signal asks the command to end."""


def check_device_option(name):
    """Raise if the device that an option names is not there."""
    try:
        find_device(name)
    except (ImportError, ValueError) as error:
        raise Misuse(str(error).replace(f"`device={name!r}`", f"--device {name}")) from error


def stop_on_signals():
    """Let signals that ask to end stop a command as Ctrl-C does; a second one ends it at once."""
    for number in _signals():
        signal.signal(number, _stop)


def end_on_signals():
    """Let signals that ask to end do so without a word, when there is nothing left to do but to leave."""
    for number in _signals():
        signal.signal(number, _end)


def _signals():
    """Return the signals that ask to end, without those that the process was started to ignore (nohup)."""
    names = ("SIGINT", "SIGTERM", "SIGHUP")  # the last is unknown to Windows
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    return [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]


def _stop(*_):
    end_on_signals()
    raise Stopped


def _end(*_):
    if sys.stderr.isatty():
        os.write(2, b"\x1b[?25h")  # a progress bar hides the cursor
    os._exit(INTERRUPTED)


@dataclass(frozen=True)
class Voice:
    """How a command prints.

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

    def note(self, text):
        """Print something on stderr that is no result."""
        if not self.quiet:
            typer.echo(text, err=True)

    def result(self, record, text):
        """Print a result: the record for machines, the text for people."""
        if self.as_json:
            _print(json.dumps(record, default=_plain, allow_nan=False))
        elif not self.quiet:
            _print(text)

    @contextmanager
    def table(self, out):
        """Yield ``write(header, rows)`` for a table that comes in pieces.

        It goes to the file `out` as CSV, which is there when all is written; else to stdout, as CSV or JSON.
        """
        from localmkl._files import writing_whole

        begun, records = False, []
        with nullcontext() if out is None else writing_whole(out) as file:

            def write(header, rows):
                nonlocal begun
                text, begun = as_csv(None if begun else header, rows), True
                if file is not None:
                    file.write(text.encode())
                elif self.as_json:
                    records.extend(dict(zip(header, row, strict=True)) for row in rows)
                else:
                    _print(text, nl=False)

            yield write
        if out is None and self.as_json:
            _print(json.dumps(records, allow_nan=False))

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
        from localmkl.backends.compiling import tell as before_compiling

        with warnings.catch_warnings():
            warnings.simplefilter("default", UserWarning)
            for kind in (RuntimeWarning, FutureWarning):  # of NumPy and others: results are checked for NaN
                warnings.simplefilter("ignore", kind)
            # Of workers that were replaced and tasks that are small: nothing that is to be done about.
            warnings.filterwarnings("ignore", category=UserWarning, module=r"joblib\.")
            warnings.showwarning = _shown_once()
            before_compiling(
                lambda: self.note("The first fit compiles numerical code once; this takes some seconds.")
            )
            try:
                yield
            except (typer.Exit, typer.Abort):
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


def as_csv(header, rows):
    """Return a table as CSV text; without a header, its rows alone."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([*([] if header is None else [header]), *rows])
    return text.getvalue()


def _print(text, nl=True):
    """Print on stdout, all of it now."""
    try:
        typer.echo(text, nl=nl)
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
        return f"{called} {_os_reason(error)}"
    if isinstance(error, EXPECTED):
        return spoken(str(error)) or type(error).__name__
    return f"unexpected {type(error).__name__}: {error}; please report it, with what --debug shows."


def spoken(text):
    """Return a message of the package in one line and in the words of the command line."""
    from localmkl.cli.options import OPTIONS as KNOWN

    text = " ".join(text.split())
    for written, replacement in SPOKEN.items():
        text = text.replace(written, replacement)
    text = re.sub(r"`grams\[(\d+)\]`", lambda found: f"kernel matrix {int(found[1]) + 1}", text)
    text = re.sub(r"`(\w+)`", lambda found: f"--{found[1]}" if found[1] in KNOWN else found[1], text)
    return text if len(text) <= 1000 else f"{text[:500]} ... {text[-500:]}"


def _os_reason(error):
    if isinstance(error, FileNotFoundError):
        return "is not there; check the path."
    if isinstance(error, PermissionError):
        return "cannot be opened: permission denied; choose another place, or change who may use it."
    if isinstance(error, IsADirectoryError):
        return "must be a file, it is a folder."
    if error.errno in FULL:
        return "cannot be written, there is no room; make room, or choose another place."
    return f"cannot be used: {error.strerror}."


def _shown_once():
    """Return what shows warnings, each text once: commands ask models for several things of the same rows."""
    told = set()

    def show(message, *_, **__):
        if str(message) not in told:
            told.add(str(message))
            typer.echo(f"Warning: {spoken(str(message))}", err=True)

    return show


def _plain(value):
    """Return NumPy's numbers and arrays as JSON has them."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
