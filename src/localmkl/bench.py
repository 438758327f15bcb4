"""The cost of fits on this machine, in the unit that carries over to others: one pass, a read of the stack.

    passes   time of the fit / time of ``grams.sum()``
    ratio    time of the published algorithm (alternating updates) / time of ours, to the same gap

The benchmarks of the project, with their results, are in its folder ``benchmarks``.
"""

import statistics
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from localmkl import CLMKLClassifier, MKLClassifier, UniformMKLClassifier
from localmkl.datasets import make_localized
from localmkl.kernels import RBF, compute_stack, fit_kernels

MEASURED_NORMS = (1.0, 4 / 3, 2.0)
"""The values of p in the paper."""

ALTERNATING_LIMIT = 200
"""Most updates that the published algorithm may take: at p = 1 it can need thousands, and a ratio that is cut
off here is shown as a lower bound."""


def measure(n_samples=1000, n_kernels=10, n_clusters=3, seed=0):
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
    common = {"kernels": "precomputed"}
    local = {**common, "n_clusters": n_clusters, "evenness": max(0.5, 1.0 / n_clusters), "random_state": seed}
    rows = [_row("UNIF", None, UniformMKLClassifier(**common), stack, y, one_pass)]
    rows += [_row("MKL", p, MKLClassifier(p=p, **common), stack, y, one_pass) for p in MEASURED_NORMS]
    rows += [_row("CLMKL", p, CLMKLClassifier(p=p, **local), stack, y, one_pass) for p in MEASURED_NORMS]
    return rows


def show(rows):
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


def _row(method, p, model, stack, y, one_pass):
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


def _alternating(model, stack, y, seconds):
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


def _median_time(function, repeats):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)
