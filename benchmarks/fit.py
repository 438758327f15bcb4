"""The whole `fit` that a user calls, in stack passes: checks, clustering, solver and certificate included.

The Grams are precomputed, in float64 and in float32; each fit is given a new `GramStack` of them, which is
checked anew. A pass is the time of ``grams.sum()``, in float64 of both kinds, as it is read from one core.
Ratios to Algorithm 1 are on one thread each, of a fit with its checks and clustering to Algorithm 1 without.
"""

import numpy as np
from numba import get_num_threads, set_num_threads
from threadpoolctl import threadpool_limits

from benchmarks import harness
from benchmarks.references import make_blobs, times_faster
from localmkl import CLMKLClassifier, GramStack, MKLClassifier


def run(smoke):
    """Return times to 1e-3 and 1e-6, steps and gaps; and ratios to Algorithm 1."""
    n, repeats = (60, 1) if smoke else (2000, 5)
    rows = []
    blobs = make_blobs(n)
    unit = harness.stack_pass(blobs.grams)
    for dtype in (np.float64, np.float32):
        grams = blobs.grams.astype(dtype, copy=False)
        for n_clusters in (1, 3) if smoke else (1, 3, 8):
            for p in (1, 4 / 3, 2):
                row = {"n": n, "dtype": np.dtype(dtype).name, "p": round(p, 3), "l": n_clusters}
                rows.append(row | _whole_fit(grams, blobs.y, p, n_clusters, unit, repeats))
    return rows + _against_algorithm_1(60 if smoke else 1000, repeats)


def estimator(p, n_clusters, tol=1e-3):
    """Return the estimator of a cell."""
    shared = {"p": p, "C": 1.0, "scale_C": False, "tol": tol}
    if n_clusters == 1:
        return MKLClassifier("precomputed", **shared)
    return CLMKLClassifier("precomputed", n_clusters=n_clusters, evenness=0.5, random_state=0, **shared)


def _whole_fit(grams, y, p, n_clusters, unit, repeats):
    found = {}
    for tol in (1e-3, 1e-6):
        model = estimator(p, n_clusters, tol)
        time = harness.seconds(lambda model=model: model.fit(GramStack(grams), y), repeats=repeats)
        found |= {f"steps {tol:g}": int(np.max(model.n_iter_)), f"passes {tol:g}": time / unit}
        found[f"gap {tol:g}"] = float(np.max(model.duality_gap_))
    return found | {"pass ms": 1e3 * unit}


def _against_algorithm_1(n, repeats):
    blobs = make_blobs(n)
    threads, rows = get_num_threads(), []
    with threadpool_limits(limits=1):
        set_num_threads(1)
        try:
            for p in (1, 4 / 3, 2):
                model, stack = estimator(p, 3), GramStack(blobs.grams)
                new = harness.seconds(lambda m=model: m.fit(GramStack(blobs.grams), blobs.y), repeats=repeats)
                old = harness.seconds(lambda m=model, s=stack: m.fit(s, blobs.y), repeats=repeats)
                problem = blobs.problem(p, 3)
                ratios = {
                    "times faster than Algorithm 1": times_faster(problem, new),
                    "stack checked before": times_faster(problem, old),
                }
                rows.append({"n": n, "p": round(p, 3), "l": 3, **ratios})
        finally:
            set_num_threads(threads)
    return rows
