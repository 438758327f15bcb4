"""The options of all commands, each once: its type, its help and its panel in the help of a command."""

from functools import wraps
from inspect import Parameter, Signature, cleandoc
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand

from localmkl.cli.voice import Misuse, Voice

METHODS = {"clmkl": "CLMKL", "hlmkl": "HLMKL", "lmkl": "LMKL", "mkl": "MKL", "unif": "UniformMKL"}
"""Word for a method: what the names of its classifier and regressor begin with."""

FILES = (
    "Table (.csv, .tsv, .parquet), FASTA, kernel matrices (.npz, .npy, .mat), .mtx, .h5ad or .h5mu. Several "
    "files, as FILE or NAME=FILE, are views of the same samples, joined by --names."
)


class Option(NamedTuple):
    """An option: its panel, help, type and default, and how it is written if not as its name."""

    panel: str
    help: str
    kind: Any = str | None
    default: Any = None
    flag: str | None = None
    limits: dict[str, Any] = {}  # noqa: RUF012

    def parameter(self, name, default):
        """Return the parameter of a function that typer reads."""
        flags = () if self.flag is None else (self.flag,) if isinstance(self.flag, str) else self.flag
        make = typer.Argument if self.flag == "" else typer.Option
        flags = () if make is typer.Argument else flags
        quiet = default is None or default is False or default == []
        made = make(
            ... if default is Ellipsis else default,
            *flags,
            help=self.help,
            rich_help_panel=None if make is typer.Argument else self.panel,
            show_default=not quiet,
            **self.limits,
        )
        return Parameter(name, Parameter.KEYWORD_ONLY, default=made, annotation=self.kind)


DATA, MODEL, SEARCH, OUTPUT, RARE = "Data", "Model", "Search", "Output", "Advanced"
OPTIONS = {
    "model": Option(DATA, "A model that 'fit' or 'tune' has written.", Path, ..., ""),
    "data": Option(DATA, FILES, list[str] | None, None, ""),
    "file": Option(DATA, "A model, or data files as 'fit' takes them.", list[str], ..., ""),
    "target": Option(
        DATA,
        "The column to predict. FASTA: KEY of KEY=... in the headers (default: label). Kernel matrices: the "
        "variable of the labels.",
    ),
    "names": Option(DATA, "Column with the names of the rows. Several files are joined by it."),
    "groups": Option(
        DATA, "Column (FASTA: KEY, kernel matrices: variable) of known groups, such as hospitals."
    ),
    "regression": Option(DATA, "Predict numbers instead of classes.", bool, False, "--regression"),
    "positive_class": Option(
        DATA,
        "Of two classes, the one whose probability is given. Default: yes, case, 1 ..., or the rarer one.",
    ),
    "categories": Option(DATA, "Columns of numbers that stand for categories, such as 'stage,site'."),
    "impute": Option(
        DATA, "Fill gaps in columns of numbers by their median, by their mean, or none.", default="median"
    ),
    "labels": Option(
        DATA, "File of labels: 'name label' a line for FASTA, one label a line for matrices.", Path | None
    ),
    "positive": Option(DATA, "FASTA file of the class 1, in place of DATA.", Path | None),
    "negative": Option(DATA, "FASTA file of the class -1, with --positive.", Path | None),
    "header": Option(
        DATA,
        "Whether the first line of a table names its columns. Without names they are called 1, 2, 3 ...",
        bool | None,
        None,
        "--header/--no-header",
    ),
    "method": Option(
        MODEL,
        "Weights of the kernels: by cluster or group (clmkl), by cluster without overlap (hlmkl), by a "
        "learned gate (lmkl), one set for all rows (mkl), or equal weights (unif).",
        str,
        "clmkl",
    ),
    "kernels": Option(
        MODEL, "Kernels in words, such as 'wd:1-20' or 'rbf columns=expr_*; spectrum:3 column=promoter'."
    ),
    "C": Option(MODEL, "Cost of errors. Tried: {C_tried}; with --no-tune {C}.", flag="--C"),
    "p": Option(
        MODEL,
        "Norm of the weights, 1 (few kernels) to inf (equal). Tried: {p_tried}; else {p}.",
        flag="--p",
    ),
    "shared": Option(
        MODEL,
        "Share that all clusters or groups have in common, 0 to 1. Tried: {shared_tried}; else {shared}.",
    ),
    "clusters": Option(MODEL, "Number of clusters to discover; default {n_clusters}."),
    "evenness": Option(
        MODEL,
        "How soft clusters are, from 1/clusters to 1. Tried: {evenness_tried}; else {evenness}.",
    ),
    "loss": Option(
        MODEL, "For classes {class_losses}; for numbers {number_losses}. The first is the default."
    ),
    "epsilon": Option(MODEL, "Errors up to this size are free (numbers); default {epsilon}."),
    "quantile": Option(
        MODEL, "Share of targets below the prediction, for the loss quantile; default {quantile}."
    ),
    "balanced": Option(MODEL, "Weigh classes by how rare they are.", bool, False, "--balanced"),
    "tune": Option(
        SEARCH,
        "Search as 'tune' does, or fit at once. Default: a small search.",
        bool | None,
        None,
        "--tune/--no-tune",
    ),
    "folds": Option(
        SEARCH, "Folds of the cross-validation; 0 for none. Default: 5.", int | None, limits={"min": 0}
    ),
    "scoring": Option(SEARCH, "A metric of scikit-learn. Default: roc_auc, accuracy or r2."),
    "splits": Option(
        SEARCH, "Random splits; in each a fifth of the rows is held out.", int, 20, limits={"min": 2}
    ),
    "also": Option(
        SEARCH, "More methods: hlmkl, lmkl (slow), one (the best single kernel), or a list of them."
    ),
    "jobs": Option(SEARCH, "Worker processes.", int | None, limits={"min": 1}),
    "table": Option(SEARCH, "CSV file of all scores.", Path | None),
    "stability": Option(
        SEARCH,
        "Refits on halves of the rows, such as 100, that show what is stable. Default: 60 if that is quick.",
        int | None,
        limits={"min": 0},
    ),
    "out": Option(OUTPUT, "The file to write.", Path | None),
    "title": Option(OUTPUT, "Title of the page."),
    "explain": Option(OUTPUT, "Add the effect of each kernel on each row.", bool, False, "--explain"),
    "force": Option(OUTPUT, "Replace a file that is something else.", bool, False, "--force"),
    "as_json": Option(OUTPUT, "Print results as one JSON object.", bool, False, "--json"),
    "quiet": Option(OUTPUT, "No notes, no progress.", bool, False, ("--quiet", "-q")),
    "debug": Option(OUTPUT, "Show the traceback of an error.", bool, False, "--debug"),
    "gate": Option(
        RARE, "Kernel that the clusters are found in: its number from 1, or in words. Default: the mean."
    ),
    "normalize": Option(RARE, "multiplicative, trace, cosine or none; default {normalize}."),
    "missing": Option(RARE, "Samples without a view: rescale their other kernels (default), or zero."),
    "rank": Option(
        RARE,
        "Features of each kernel, such as 200, in place of kernel matrices: for many rows.",
        int | None,
        limits={"min": 1},
    ),
    "device": Option(RARE, "cpu, cuda, cuda:1 or auto.", str, "cpu"),
    "tol": Option(RARE, "Relative duality gap to reach; default {tol}.", float | None),
    "variable": Option(RARE, "Variable of a file that holds the kernel matrices."),
    "rows": Option(RARE, "Rows START:STOP of a file of kernel matrices, counted from 0."),
    "samples": Option(MODEL, "Training samples.", int, 300, limits={"min": 30}),
    "seed": Option(RARE, "Seed of everything random.", int, 0, limits={"min": 0, "max": 2**32 - 1}),
}

READING = ("target", "labels", "names", "header", "variable", "rows")
LEARNING = (
    *(
        "data",
        "target",
        "names",
        "groups",
        "regression",
        "positive_class",
        "categories",
        "impute",
        "labels",
        "positive",
    ),
    *(
        "negative",
        "header",
        "method",
        "kernels",
        "C",
        "p",
        "shared",
        "clusters",
        "evenness",
        "loss",
        "epsilon",
    ),
    *("quantile", "balanced", "folds", "scoring", "jobs", "gate", "normalize", "missing", "rank", "device"),
    *("tol", "variable", "rows", "seed"),
)
SPEAKING = ("as_json", "quiet", "debug")


class Command(TyperCommand):
    """A command whose help reads defaults from the code, and which explains an argument too many."""

    allow_extra_args = True  # or they are refused before it can speak

    def parse_args(self, ctx, args):
        """Read the arguments of the command; raise if there are more than it has."""
        rest = super().parse_args(ctx, args)
        if ctx.args:
            with Voice().plainly():
                taken = " and ".join(
                    one.name.upper() for one in self.params if one.param_type_name == "argument"
                )
                raise Misuse(
                    f"localmkl {self.name} takes {taken or 'options'} alone, got {ctx.args[0]!r} too; "
                    "write lists with commas, as 0.1,1,10, and names with spaces in quotes."
                )
        return rest

    def format_help(self, ctx, formatter):
        """Write the help, with the values that the code uses."""
        if any("{" in (one.help or "") for one in self.params):
            from localmkl.cli.tuning import values_in_words

            values = values_in_words(quick=self.name == "fit")
            for one in self.params:
                one.help = (one.help or "").format_map(values)
        super().format_help(ctx, formatter)


def command(app, names, examples=(), **defaults):
    """Return a decorator that makes a function ``(given, voice)`` a command with some options."""

    def register(function):
        @wraps(function)
        def run(**given):
            voice = Voice(*(given.pop(name, False) for name in SPEAKING))
            with voice.plainly():
                function(
                    SimpleNamespace(**{**{name: one.default for name, one in OPTIONS.items()}, **given}),
                    voice,
                )

        parameters = [
            OPTIONS[name].parameter(name, defaults.get(name, OPTIONS[name].default)) for name in names
        ]
        del run.__wrapped__
        run.__signature__ = Signature(parameters)
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        first, _, rest = cleandoc(function.__doc__).partition("\n\n")
        help = "\n\n".join(filter(None, (first, "\b\n" + "\n".join(f"  {one}" for one in examples), rest)))
        return app.command(cls=Command, help=help)(run)

    return register
