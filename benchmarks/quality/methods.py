"""The methods of the table, by name, and the sets that each is for."""

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

from threadpoolctl import threadpool_limits

from benchmarks.quality import baselines, command_line, estimators
from benchmarks.quality.answers import score
from benchmarks.quality.sets import SETS, SMOKE, load

COMMAND, DEFAULT, TUNED, GROUPS, BASELINE = "command line", "default", "tuned", "groups", "baseline"


@dataclass(frozen=True)
class Method:
    """A way from training rows to guesses.

    Attributes
    ----------
    part : str
        The part of the table that it stands in.
    answer : callable
        ``answer(data, train, test) -> Answer``; of the command line, also of the files.
    suits : callable
        Whether it is for a `Data`.
    """

    part: str
    answer: Callable
    suits: Callable = lambda data: True


def _command(name, *options):
    """A command; versions without the option have no such row."""
    there = set(options) <= command_line.options_of(name)
    return Method(COMMAND, partial(command_line.run, (name, *options)), lambda data: there)


def _of(part, make):
    families = {"UNIF": "UniformMKL", "MKL": "MKL", "CLMKL": "CLMKL"}
    return {
        name if part == DEFAULT else f"{name} tuned": Method(part, partial(make, family))
        for name, family in families.items()
    }


METHODS = {
    "fit": _command("fit"),
    "fit --no-tune": _command("fit", "--no-tune"),
    "tune": _command("tune"),
    **_of(DEFAULT, estimators.default),
    **_of(TUNED, estimators.tuned),
    "separate": Method(GROUPS, estimators.separate, estimators.has_groups),
    "groups": Method(GROUPS, estimators.by_group, estimators.has_groups),
    "SVM view": Method(BASELINE, baselines.svm_on_best_view, baselines.has_several_views),
    "SVM": Method(BASELINE, baselines.svm_on_all),
    "linear": Method(BASELINE, baselines.linear_model, baselines.has_columns),
    "boosting": Method(BASELINE, baselines.boosting, baselines.has_columns),
}


SMOKE_METHODS = ("fit --no-tune", "UNIF", "MKL", "CLMKL", "separate", "groups", "SVM", "linear")
"""One of each kind that takes a second at most."""


@cache
def _warm(process):
    """Load compiled code, once in each process: the first fit would pay for it."""
    data = load("groups")
    estimators.default("CLMKL", data, *SMOKE["groups"].draw(data, 0))


def run_cell(name, repetition, method):
    """Return the row of a method on a repetition of a set; a failure is a row with its error."""
    data, chosen = load(name), METHODS[method]
    train, test = {**SETS, **SMOKE}[name].draw(data, repetition)
    row = {"set": name, "repetition": repetition, "method": method, "n_train": len(train)}
    row |= {"n_test": len(test), "metric": data.metric}
    _warm(os.getpid())
    with tempfile.TemporaryDirectory() as folder:
        files = ()
        if chosen.part == COMMAND:
            files = (command_line.write_files(data, train, test, folder),)
        start = time.perf_counter()
        try:
            with threadpool_limits(1):
                answer = chosen.answer(data, train, test, *files)
        except Exception as error:
            return {**row, "error": f"{type(error).__name__}: {error}"}
        seconds = time.perf_counter() - start
    value = score(data, test, answer.guesses)
    return {**row, "score": value, "seconds": seconds, "inner": answer.inner, "chosen": answer.chosen}
