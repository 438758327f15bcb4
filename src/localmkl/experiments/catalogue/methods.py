"""Rows of the paper's tables, and their grids: what several experiments share."""

import numpy as np

from localmkl.experiments.protocol import Method

COSTS = tuple(float(c) for c in np.logspace(-1.0, 2.0, 7))
NORMS = {"1": 1.0, "4/3": 4 / 3, "2": 2.0}
CURVES = ("UNIF", "LMKL", "MKL, p = 1", "HLMKL, p = 1", "CLMKL, p = 1")
"""The methods that the paper's figures show, and UNIF."""
BESIDE_THE_PAPER = (
    " CLMKL+ may choose an evenness of 1 too, that is MKL. One kernel is the best by itself, chosen by what "
    "chooses the parameters; of equal ones the first."
)
"""Words for the methods that the paper does not have."""


def falling(low, high):
    """Return eight values of the evenness, the smoothest first: of equal scores the first wins."""
    return tuple(float(value) for value in np.linspace(high, low, 8).round(6))


def table_methods(norms, evenness):
    """Return the rows of a table: p is not tuned but a row of its own.

    CLMKL+ may choose an evenness of 1 too, that is MKL, where the paper's range forbids it to give up its
    clusters. The best kernel by itself is what all mixtures must beat; the paper does not have it.
    """
    grid = {"C": COSTS}
    ranges = {"CLMKL": evenness}
    if 1.0 not in evenness:
        ranges["CLMKL+"] = (1.0, *evenness)
    return (
        Method("UNIF", "UNIF", grid),
        Method("one kernel", "UNIF", grid, alone=True),
        Method("LMKL", "LMKL", grid),
        *(Method(f"MKL, p = {name}", "MKL", grid, {"p": p}) for name, p in norms.items()),
        *(Method(f"HLMKL, p = {name}", "HLMKL", grid, {"p": p}) for name, p in norms.items()),
        *(
            Method(f"{kind}, p = {name}", "CLMKL", {**grid, "evenness": values}, {"p": p})
            for kind, values in ranges.items()
            for name, p in norms.items()
        ),
    )
