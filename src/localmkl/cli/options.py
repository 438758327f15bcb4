"""The options that commands have in common, with their help; `fit` and `tune` name them in `__init__`."""

from pathlib import Path
from typing import Annotated

import typer

from localmkl.cli.words import CLASS_LOSSES, CLUSTERINGS, METHODS, NUMBER_LOSSES

_option, _argument = typer.Option, typer.Argument
FILES = (
    "Table (.csv, .tsv, .parquet), FASTA, Grams (.npz, .npy, .mat), .mtx, .h5ad or .h5mu; or several, each a "
    "view of the same samples, as FILE or NAME=FILE, joined by --names."
)
Data = Annotated[list[str], _argument(help=FILES)]
TrainingData = Annotated[list[str] | None, _argument(help=FILES, show_default=False)]
Positive = Annotated[Path | None, _option(help="FASTA file of the class 1, instead of DATA.")]
Negative = Annotated[Path | None, _option(help="FASTA file of the class -1, with --positive.")]
Header = Annotated[
    bool | None,
    _option(
        "--header/--no-header",
        help="Whether the first line of a table names its columns; else they are called 1, 2, 3 ...",
        show_default=False,
    ),
]
Model = Annotated[Path, _argument(help="A model that 'fit' or 'tune' has written.")]
Target = Annotated[
    str | None,
    _option(
        help="Column of a table; KEY of KEY=... in FASTA headers (default: label); variable of a Gram file."
    ),
]
Labels = Annotated[
    Path | None, _option(help="File of labels: lines 'name label' for FASTA, one label a line for Grams.")
]
Names = Annotated[
    str | None,
    _option(help="Column of a table with the names of its rows; several files are joined by them."),
]
Kernels = Annotated[
    str | None,
    _option(
        help="Words such as 'wd:1-20' or 'rbf columns=expr_*; spectrum:3 column=promoter', or a .toml file."
    ),
]
Method = Annotated[str, _option(help=f"One of {', '.join(METHODS)}.")]
Regression = Annotated[bool, _option("--regression", help="Predict numbers instead of classes.")]
Gate = Annotated[
    str | None,
    _option(
        help="Kernel that the clusters are found in: its number from 1, or in words; default: their mean."
    ),
]
Clustering = Annotated[
    str | None, _option(help=f"How clusters are found: {', '.join(CLUSTERINGS)}; default: {CLUSTERINGS[0]}.")
]
Normalize = Annotated[str | None, _option(help="multiplicative (default), trace, cosine or none.")]
Impute = Annotated[
    str | None, _option(help="Fill gaps in numeric columns: median or mean of the training rows.")
]
Missing = Annotated[
    str | None, _option(help="Samples that lack a view: rescale their other kernels (default), or zero.")
]
Balanced = Annotated[bool, _option("--balanced", help="Weigh classes by how rare they are.")]
Tol = Annotated[float | None, _option(help="Relative duality gap to reach (default: 1e-3).")]
Variable = Annotated[str | None, _option(help="Gram file: the variable that holds the Grams.")]
Rows = Annotated[str | None, _option(help="Gram file: rows START:STOP, counted from 0; default: all.")]
Seed = Annotated[int, _option(help="Seed of everything random.", min=0, max=2**32 - 1)]
Folds = Annotated[int, _option(help="Folds of the cross-validation.", min=2)]
Scoring = Annotated[str | None, _option(help="A metric of scikit-learn; default: roc_auc, accuracy or r2.")]
Also = Annotated[
    str | None,
    _option(
        help="More methods beside UNIF, MKL and CLMKL: hlmkl, lmkl (slow), one (the best kernel by itself), "
        "or several, as hlmkl,one."
    ),
]
Splits = Annotated[
    int, _option(help="Random splits; in each, a fifth of the rows is held out and scored.", min=2)
]
Stability = Annotated[
    int,
    _option(
        help="Refits on halves of the rows, such as 100, to say how sure the model is; 0 for none.", min=0
    ),
]
Jobs = Annotated[int | None, _option(help="Worker processes.", min=1)]
Device = Annotated[str, _option(help="cpu, cuda, cuda:1 or auto: where Grams, features and fits are.")]
Force = Annotated[bool, _option("--force", help="Replace a file that is something else.")]
Json = Annotated[bool, _option("--json", help="Results as one JSON object.")]
Quiet = Annotated[bool, _option("--quiet", "-q", help="No notes, no progress.")]
Debug = Annotated[bool, _option("--debug", help="Errors with their traceback.")]
C = Annotated[str | None, _option("--C", help="Cost of errors (without a search: 1).")]
P = Annotated[
    str | None, _option("--p", help="Norm of the kernel weights, from 1 to inf (without a search: 4/3).")
]
Clusters = Annotated[str | None, _option(help="Number of clusters (default: 3).")]
Evenness = Annotated[
    str | None, _option(help="How soft the clusters are, from 1/clusters to 1 (without a search: 0.5).")
]
Loss = Annotated[
    str | None,
    _option(help=f"{', '.join(CLASS_LOSSES)}; regression: {', '.join(NUMBER_LOSSES)} (default: the first)."),
]
Epsilon = Annotated[
    str | None,
    _option(help="Regression: errors up to this are free, with huber squared (default: 0.1)."),
]
Quantile = Annotated[
    str | None,
    _option(help="Regression with the loss quantile: share of targets below the prediction (default: 0.5)."),
]

Shared = Annotated[
    str | None,
    _option(
        help="Share of a part that is the same for all rows, 0 to 1, which is MKL (without a search: 0)."
    ),
]
Groups = Annotated[
    str | None,
    _option(
        help="Known groups instead of clusters: column of a table, KEY of KEY=... in FASTA headers, "
        "variable of a Gram file."
    ),
]
Tune = Annotated[
    bool | None,
    _option(
        "--tune/--no-tune",
        help="Search parameters that are not set as 'tune' does, or fit at once; default: a small search.",
        show_default=False,
    ),
]

Rank = Annotated[
    int | None,
    _option(
        help="Features of each kernel in place of Grams, for very many rows, such as 200; default: Grams.",
        min=1,
        show_default=False,
    ),
]
ExactGap = Annotated[
    bool,
    _option("--exact-gap", help="With --rank: say how far the model is from the optimum on exact kernels."),
]
KeepFeatures = Annotated[
    bool,
    _option(
        "--keep-features",
        help="With --rank and a large file: keep its features, for another fit with the same --out.",
    ),
]

SEARCHED = {
    "C": "c",
    "p": "p",
    "n_clusters": "clusters",
    "evenness": "evenness",
    "shared": "shared",
    "epsilon": "epsilon",
    "quantile": "quantile",
}
"""Parameters whose options may be lists of numbers: the names of these."""
