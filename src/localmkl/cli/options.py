"""The options of all commands, each once: its type, its help and its panel in the help of a command."""

import re
from inspect import Parameter, Signature, cleandoc
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple

import typer

from localmkl.cli.voice import Voice

METHODS = {"clmkl": "CLMKL", "hlmkl": "HLMKL", "lmkl": "LMKL", "mkl": "MKL", "unif": "UniformMKL"}
"""Word for a method: what the names of its classifier and regressor begin with."""


class Option(NamedTuple):
    """An option, or with the panel "" an argument; `least` is the smallest number that it may be."""

    panel: str
    help: str
    kind: Any = str | None
    default: Any = None
    least: int | None = None

    def parameter(self, name, default):
        """Return the parameter of a function that typer reads."""
        shown = default not in (None, False, ...)
        if not self.panel:
            made = typer.Argument(default, help=self.help, show_default=shown)
        else:
            flag = FLAGS.get(name, (f"--{name.replace('_', '-')}",))
            panel, least = self.panel, self.least
            made = typer.Option(
                default, *flag, help=self.help, rich_help_panel=panel, show_default=shown, min=least
            )
        return Parameter(name, Parameter.KEYWORD_ONLY, default=made, annotation=self.kind)


FLAGS = {
    "header": ("--header/--no-header",),
    "tune": ("--tune/--no-tune",),
    "quiet": ("--quiet", "-q"),
    "as_json": ("--json",),
}
"""Options that are not written as they are called."""

DATA, MODEL, SEARCH, OUTPUT, RARE = "Data", "Model", "Search", "Output", "Advanced"
OPTIONS = {
    "model": Option("", "A model that 'fit' or 'tune' has written.", Path, ...),
    "data": Option(
        "",
        "Table (.csv, .tsv, .parquet), FASTA, matrices (.npz, .npy, .mat), .mtx, .h5ad or .h5mu. "
        "Several files, as FILE or NAME=FILE, are views of the same samples.",
        list[str] | None,
    ),
    "file": Option("", "A model, or data files as 'fit' takes them.", list[str], ...),
    "target": Option(DATA, "The column to predict (FASTA: KEY of KEY=... in headers; matrices: variable)."),
    "names": Option(DATA, "Column with the names of the rows; several files are joined by it."),
    "groups": Option(DATA, "Column (FASTA: KEY; matrices: variable) of known groups, such as hospitals."),
    "regression": Option(DATA, "Predict numbers instead of classes.", bool, False),
    "positive_class": Option(DATA, "Class whose probability is given; default: yes, 1 ..., or the rarer."),
    "categories": Option(DATA, "Columns of numbers that stand for categories, such as 'stage,site'."),
    "impute": Option(DATA, "Fill gaps in columns of numbers.", Literal["median", "mean", "none"], "median"),
    "labels": Option(DATA, "File of labels: 'name label' a line for FASTA, else one a line.", Path | None),
    "positive": Option(DATA, "FASTA file of the class 1, in place of DATA.", Path | None),
    "negative": Option(DATA, "FASTA file of the class -1, with --positive.", Path | None),
    "header": Option(DATA, "Whether the first line of a table names its columns.", bool | None),
    "method": Option(
        MODEL,
        "Weights by cluster or group (clmkl), by hard cluster (hlmkl), by a learned gate (lmkl), "
        "one set of weights for all rows (mkl), or equal weights (unif).",
        Literal["clmkl", "hlmkl", "lmkl", "mkl", "unif"],
        "clmkl",
    ),
    "kernels": Option(MODEL, "Kernels in words: 'wd:1-20', 'rbf columns=expr_*; spectrum:3 column=site'."),
    "C": Option(MODEL, "Cost of errors; a list such as 0.1,1,10 is searched."),
    "p": Option(MODEL, "Norm of the weights, 1 (few kernels) to inf (equal)."),
    "shared": Option(MODEL, "What clusters or groups have in common, 0 to 1."),
    "clusters": Option(MODEL, "Number of clusters to discover; default 3."),
    "evenness": Option(MODEL, "How soft clusters are, 1/clusters to 1."),
    "loss": Option(
        MODEL,
        "log_loss (default for two classes), hinge (default for more), squared_hinge; for numbers "
        "epsilon_insensitive (default), squared_error, huber, quantile.",
    ),
    "balanced": Option(MODEL, "Weigh classes by how rare they are.", bool, False),
    "tune": Option(SEARCH, "Search as 'tune' does, or not at all; default: a small search.", bool | None),
    "folds": Option(SEARCH, "Folds of the cross-validation, 0 for none; default: 5.", int | None, None, 0),
    "scoring": Option(SEARCH, "A metric of scikit-learn; default: roc_auc, accuracy or r2."),
    "splits": Option(SEARCH, "Random splits; in each a fifth of the rows is held out.", int, 20, 2),
    "also": Option(SEARCH, "More methods: hlmkl, lmkl (slow), one (the best single kernel)."),
    "jobs": Option(SEARCH, "Worker processes.", int | None, None, 1),
    "table": Option(SEARCH, "CSV file of all scores.", Path | None),
    "stability": Option(SEARCH, "Refits that show what is stable; default: 60.", int | None, None, 0),
    "out": Option(OUTPUT, "The file to write.", Path | None),
    "explain": Option(OUTPUT, "Add the effect of each kernel on each row.", bool, False),
    "force": Option(OUTPUT, "Replace a file that is something else.", bool, False),
    "as_json": Option(OUTPUT, "Print results as one JSON object.", bool, False),
    "quiet": Option(OUTPUT, "No notes, no progress.", bool, False),
    "debug": Option(OUTPUT, "Show the traceback of an error.", bool, False),
    "gate": Option(RARE, "Kernel that clusters are found in: number or words; default: the mean."),
    "missing": Option(RARE, "Samples without a view: rescale their other kernels, or zero."),
    "rank": Option(RARE, "For many rows: features of each kernel, such as 200.", int | None, None, 1),
    "device": Option(RARE, "cpu, cuda, cuda:1 or auto.", str, "cpu"),
    "tol": Option(RARE, "Relative duality gap to reach; default 0.001.", float | None),
    "variable": Option(RARE, "Variable of a file that holds the kernel matrices."),
    "rows": Option(RARE, "Rows START:STOP of a file of kernel matrices, counted from 0."),
    "samples": Option(MODEL, "Training samples.", int, 300, 30),
    "seed": Option(RARE, "Seed of everything random.", int, 0, 0),
}

READING = ("target", "labels", "names", "header", "variable")
SPEAKING = ("as_json", "quiet", "debug")
LEARNING = tuple(
    name
    for name in OPTIONS
    if name not in ("model", "file", "tune", "splits", "also", "table", "stability", "samples")
    and OPTIONS[name].panel != OUTPUT
)
"""Options of reading rows, of speaking, and of what is to be learned."""


def command(app, names, **defaults):
    """Return a decorator that makes a function ``(given, voice)`` a command with some options."""

    def register(function: Any) -> Any:
        def run(**given):
            voice = Voice(*(given.pop(name, False) for name in SPEAKING))
            with voice.plainly():
                others = {name: one.default for name, one in OPTIONS.items()}
                function(SimpleNamespace(**{**others, **given}), voice)

        parameters = [
            OPTIONS[name].parameter(name, defaults.get(name, OPTIONS[name].default)) for name in names
        ]
        made: Any = run
        made.__name__, made.__signature__ = function.__name__, Signature(parameters)
        made.__annotations__ = {one.name: one.annotation for one in parameters}
        shown = re.sub(r"(?m)^\$ (.*)$", r"  \1", cleandoc(function.__doc__)).replace(
            "\n\n  ", "\n\n\b\n  ", 1
        )
        return app.command(help=shown)(made)

    return register
