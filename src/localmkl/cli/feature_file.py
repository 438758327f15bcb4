"""Features of a large file, written beside the model block by block, so that a stopped command goes on.

NAME.features        an .npy file of float32, a row for each row of the data
NAME.features.json   what they were made of, and how many rows are done
"""

import hashlib
import json
from contextlib import contextmanager

import numpy as np
import typer

import localmkl
from localmkl._files import create_array, write_whole
from localmkl.cli.pieces import with_row
from localmkl.cli.voice import INTERRUPTED
from localmkl.kernels.stack import take_rows

BLOCK_ROWS = 2**13
"""Rows after which what is done is noted: seconds of work."""

PROBED_ROWS = 64
"""Rows of the sample whose features tell two maps from each other."""

CHANGED = {
    "version": "another version of localmkl",
    "files": "another state of the data",
    "options": "other options",
    "probe": "other landmarks",
}
"""Parts of what features were made of, and what is said where they have changed."""
DAMAGED = "a file that is cut short or damaged"


class FeatureFile:
    """The features of all rows of a large file.

    Parameters
    ----------
    path : Path
    features : FeatureMap
    sample : rows
        Some rows, for the features of these to tell whether features in the file are the same.
    n_rows : int
    files : list
        Name, size and time of change of each file that is read.
    options : dict
        All that the features depend on beside the files.
    """

    def __init__(self, path, features, sample, n_rows, files, options):
        self.path, self.features, self.n_rows = path, features, n_rows
        self.record = path.with_name(f"{path.name}.json")
        probe = features.transform(take_rows(sample, slice(0, PROBED_ROWS)), dtype=np.float64)
        digest = hashlib.sha256(probe.tobytes()).hexdigest()
        self.made_of = {
            "version": localmkl.__version__,
            "files": files,
            "options": options,
            "probe": [features.n_features, digest],
        }
        self.done, self.traces = 0, np.zeros(features.n_kernels)

    def open(self, voice, *, force):
        """Go on with what is there if it is of the same files and options, else begin anew."""
        found = self._found()
        if found is None and self.path.exists() and not force:
            raise ValueError(
                f"{str(self.path)!r} is there already and nothing says what it is; choose another --out, or "
                "give --force to replace it."
            )
        other = None if found is None else self._other(found)
        if found is not None and other is None:
            self.done, self.traces = found["done"], np.array(found["traces"])
            voice.note(f"Features of {self.done:,} of {self.n_rows:,} rows are there already: {self.path}.")
            return
        if found is not None:
            voice.note(f"The features in {str(self.path)!r} are of {other}: they are computed anew.")
        self.record.unlink(missing_ok=True)
        create_array(self.path, (self.n_rows, self.features.n_features), np.float32)
        self._note()

    def _found(self):
        """Return what the record says, or None."""
        try:
            found = json.loads(self.record.read_text())
            return found if {"made_of", "done", "traces"} <= set(found) and self.path.exists() else None
        except (OSError, ValueError, TypeError):
            return None

    def _other(self, found):
        """Return what differs between the features in the file and those wanted; None if nothing does."""
        wanted = json.loads(json.dumps(self.made_of))
        for key, said in CHANGED.items():
            if found["made_of"].get(key) != wanted[key]:
                return said
        try:
            return None if self.table().shape == (self.n_rows, self.features.n_features) else DAMAGED
        except (OSError, ValueError):
            return DAMAGED

    def _note(self):
        record = {"made_of": self.made_of, "done": self.done, "traces": self.traces.tolist()}
        write_whole(self.record, json.dumps(record).encode())

    def fill(self, pieces, show):
        """Compute what is not done.

        Parameters
        ----------
        pieces : iterable of tuple (first, stop, read)
            The numbers of the first row and of the one after the last, and a function that returns the rows
            as the kernels take them.
        show : callable
            Called as ``show(done, all)``.
        """
        table = np.lib.format.open_memmap(self.path, mode="r+")
        for first, stop, read in pieces:
            if stop > self.n_rows:
                break
            rows = None
            while self.done < stop:
                rows = read() if rows is None else rows
                end = min(self.done + BLOCK_ROWS, stop)
                self._write(take_rows(rows, slice(self.done - first, end - first)), table[self.done : end])
                table.flush()
                self.done = end
                self._note()
                show(end, self.n_rows)
        return self.done == self.n_rows

    def _write(self, rows, out):
        try:
            self.features.transform(rows, out=out)
        except ValueError:
            self._refuse(rows, len(out))
            raise
        self.traces = self.traces + self.features.diagonals(rows).sum(axis=1)
        wrong = np.flatnonzero(~np.isfinite(out).all(axis=1))
        if len(wrong):
            raise ValueError(
                f"Kernels must be finite in 32 bits, those of row {self.done + wrong[0]} are not; bring the "
                "columns to one size."
            )

    def _refuse(self, rows, n_rows):
        """Raise for the first of some rows that has no features; it is found by halving."""
        low, high = 0, n_rows
        while high - low > 1:
            middle = (low + high) // 2
            try:
                self.features.transform(take_rows(rows, slice(low, middle)))
                low = middle
            except ValueError:
                high = middle
        try:
            self.features.transform(take_rows(rows, slice(low, high)))
        except ValueError as error:
            raise ValueError(with_row(error, [self.done + low])) from error

    def table(self):
        """Return the features as a memory map."""
        return np.lib.format.open_memmap(self.path, mode="r")

    @contextmanager
    def kept(self):
        """Say how a stopped command goes on."""
        try:
            yield
        except KeyboardInterrupt:
            typer.echo(
                f"Stopped; features of {self.done:,} of {self.n_rows:,} rows are kept in {str(self.path)!r}: "
                "give the command again to go on.",
                err=True,
            )
            raise typer.Exit(INTERRUPTED) from None

    def remove(self):
        """Remove the features."""
        self.record.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)
