"""The command line on files that a user would have: tables, FASTA, Grams. Writing them is not timed."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import typer
from typer.testing import CliRunner

from benchmarks.quality.answers import Answer
from benchmarks.quality.sets import GRAMS, NUMBERS, SEQUENCES
from localmkl.cli import app


def write_files(data, train, test, folder):
    """Write training and test rows as files; return the two paths, of Grams one and the same."""
    folder = Path(folder)
    if data.kind == GRAMS:
        return [_write_grams(data, np.concatenate([train, test]), folder / "grams.npz")] * 2
    write, ending = (_write_fasta, "fa") if data.kind == SEQUENCES else (_write_table, "csv")
    parts = (("train", train), ("test", test))
    return [write(data, rows, folder / f"{name}.{ending}") for name, rows in parts]


def _write_table(data, rows, path):
    frame = data.take(rows)
    if data.groups is not None:
        frame = frame.assign(**{data.grouped_by: data.groups[rows]})
    frame.assign(outcome=data.y[rows]).to_csv(path, index=False)
    return path


def _write_fasta(data, rows, path):
    groups = np.full(len(rows), "") if data.groups is None else data.groups[rows]
    with open(path, "w") as file:
        for row, sequence, label, group in zip(rows, data.take(rows), data.y[rows], groups, strict=True):
            said = f" {data.grouped_by}={group}" if group else ""
            print(f">s{row} label={label}{said}", sequence, sep="\n", file=file)
    return path


def _write_grams(data, rows, path):
    more = {} if data.groups is None else {data.grouped_by: data.groups[rows]}
    np.savez(path, K=data.take(rows).to_array(), outcome=data.y[rows], **more)
    return path


def run(command, data, train, test, files):
    """Return the answer of ``localmkl fit`` or ``tune``, options as needed, followed by ``predict``."""
    fitted, new = files
    model, guesses = fitted.with_name("model.localmkl"), fitted.with_name("guesses.csv")
    _call(*command, fitted, *_needed(command[0], data, len(train)), "--out", model, "--quiet")
    _call("predict", model, new, "--out", guesses, "--quiet")
    return Answer(_guesses(pd.read_csv(guesses), data))


def _guesses(table, data):
    """Return what ``predict`` wrote as the metric takes it: decisions or probabilities for two classes."""
    if not data.binary:
        names = ("predicted", "prediction") if data.target == NUMBERS else ("predicted", "label")
        return table[next(name for name in names if name in table)].to_numpy()
    if "score" in table:  # of version 0.1
        return table["score"].to_numpy()
    negative, positive = np.unique(data.y)
    for kind in ("probability", "decision"):
        for label, sign in ((positive, 1.0), (negative, -1.0)):
            if f"{kind}_{label}" in table:
                return sign * table[f"{kind}_{label}"].to_numpy()
    raise ValueError(f"There is no probability or decision among {', '.join(table.columns)}.")


def _needed(command, data, n_train):
    """Return the options without which a file says too little."""
    options = [] if data.kind == SEQUENCES else ["--target", "outcome"]
    options += ["--regression"] if data.target == NUMBERS else []
    options += ["--rows", f"0:{n_train}", "--variable", "K"] if data.kind == GRAMS else []
    if data.groups is not None and "--groups" in options_of(command):
        options += ["--groups", data.grouped_by]
    return options


def _call(*words):
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    if result.exit_code != 0:
        raise RuntimeError(result.output.strip())


@cache
def options_of(command):
    """Return the options that a command has."""
    known = typer.main.get_command(app).commands[command].params
    return {option for one in known for option in (*one.opts, *one.secondary_opts)}
