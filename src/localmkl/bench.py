"""The cost of fits on this machine, in the unit that carries over to others: one pass, a read of the stack.

    passes   time of the fit / time of ``grams.sum()``
    ratio    time of the published algorithm (alternating updates) / time of ours, to the same gap

The benchmarks of the project, with their results, are in its folder ``benchmarks``.
"""

import statistics
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from localmkl import CLMKLClassifier, MKLClassifier, UniformMKLClassifier
from localmkl._types import Array
from localmkl.datasets import make_localized
from localmkl.kernels import RBF, compute_stack, fit_kernels
from localmkl.stacks import GramStack

MEASURED_NORMS = (1.0, 4 / 3, 2.0)
"""The values of p in the paper."""

ALTERNATING_LIMIT = 200
"""Most updates that the published algorithm may take: at p = 1 it can need thousands, and a ratio that is cut
off here is shown as a lower bound."""


def measure(
    n_samples: int = 1000, n_kernels: int = 10, n_clusters: int = 3, seed: int = 0
) -> list[dict[str, Any]]:
    """Time the methods on a generated problem.

    Parameters
    ----------
    n_samples, n_kernels, n_clusters, seed : int

    Returns
    -------
    list of dict
        One for each fit: method, p, duality gap, seconds, passes, ratio.

    Examples
    --------
    >>> rows = measure(60, 2, 2)
    >>> [row["method"] for row in rows]
    ['UNIF', 'MKL', 'MKL', 'MKL', 'CLMKL', 'CLMKL', 'CLMKL']
    """
    X, y = make_localized(n_samples, random_state=seed)[:2]
    widths = np.logspace(-1.5, 1.5, n_kernels)
    kernels = fit_kernels([RBF(factor=float(width)) for width in widths], X)
    stack = compute_stack(kernels, X)
    one_pass = _median_time(stack.sum, 5)
    common: dict[str, Any] = {"kernels": "precomputed"}
    local = {**common, "n_clusters": n_clusters, "evenness": max(0.5, 1.0 / n_clusters), "random_state": seed}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The kernel .* sees")  # widths are far apart to make problems hard
        rows = [_row("UNIF", None, UniformMKLClassifier(**common), stack, y, one_pass)]
        rows += [_row("MKL", p, MKLClassifier(p=p, **common), stack, y, one_pass) for p in MEASURED_NORMS]
        rows += [_row("CLMKL", p, CLMKLClassifier(p=p, **local), stack, y, one_pass) for p in MEASURED_NORMS]
    return rows


def show(rows: Iterable[dict[str, Any]]) -> str:
    """Return the rows as a table in text."""
    head = f"{'method':<8}{'p':>6}{'duality gap':>14}{'seconds':>10}{'passes':>9}{'alternating / ours':>21}"
    lines = [head, "-" * len(head)]
    for row in rows:
        p = "" if row["p"] is None else f"{row['p']:.3g}"
        ratio = "" if row["ratio"] is None else f"{'' if row['reached'] else '> '}{row['ratio']:.1f}"
        lines.append(
            f"{row['method']:<8}{p:>6}{row['gap']:>14.1e}{row['seconds']:>10.3f}{row['passes']:>9.1f}{ratio:>21}"
        )
    return "\n".join([*lines, "", "A pass is the time to read the Gram matrices once."])


def _row(
    method: str, p: float | None, model: Any, stack: GramStack, y: Array, one_pass: float
) -> dict[str, Any]:
    model.fit(stack, y)  # the first fit compiles
    seconds = _median_time(lambda: model.fit(stack, y), 3)
    row = {
        "method": method,
        "p": p,
        "gap": model.duality_gap_,
        "seconds": seconds,
        "passes": seconds / one_pass,
    }
    return {**row, **_alternating(model, stack, y, seconds)}


def _alternating(model: Any, stack: GramStack, y: Array, seconds: float) -> dict[str, Any]:
    """Return the ratio of the published algorithm's time to ours, and whether it reached the tolerance."""
    if "solver" not in model.get_params():
        return {"ratio": None, "reached": None}
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        other = type(model)(**{**model.get_params(), "solver": "alternating", "max_iter": ALTERNATING_LIMIT})
        other.fit(stack, y)
    spent = time.perf_counter() - start
    return {"ratio": spent / seconds, "reached": bool(other.duality_gap_ <= other.tol)}


def _median_time(function: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)
