"""Regression and one-versus-all classification: stack passes and ratios to the published algorithm."""

import numpy as np

from benchmarks import harness
from benchmarks.references import algorithm_1, make_blobs, times_faster
from localmkl import CLMKLClassifier, GramStack
from localmkl.solvers.convex import solve_convex
from localmkl.solvers.losses import EpsilonInsensitive


def run(smoke):
    return regression(60 if smoke else 1000) + many_classes(100 if smoke else 1000)


def regression(n):
    blobs = make_blobs(n)
    unit = harness.stack_pass(blobs.grams)
    rows = []
    for p in (1, 4 / 3, 2):
        for n_clusters in (1, 3):
            problem = blobs.problem(p, n_clusters, loss=EpsilonInsensitive(0.1), y=blobs.target)
            row = {"task": "regression", "n": n, "p": round(p, 3), "l": n_clusters}
            for tol in (1e-3, 1e-6):
                row[f"steps {tol:g}"] = solve_convex(problem, tol=tol).n_iter
                time = harness.seconds(lambda t=tol, q=problem: solve_convex(q, tol=t), warmup=0)
                row[f"passes {tol:g}"] = time / unit
            row["times faster than Algorithm 1"] = times_faster(problem, row["passes 0.001"] * unit)
            rows.append(row)
    return rows


def many_classes(n):
    """Ten classes, one against all: the whole fit of the estimator against ten runs of Algorithm 1."""
    blobs = make_blobs(n, n_blobs=10)
    unit = harness.stack_pass(blobs.grams)
    stack = GramStack(blobs.grams)
    rows = []
    for p in (1, 4 / 3, 2):
        row = {"task": "10 classes", "n": n, "p": round(p, 3), "l": 3}
        for tol in (1e-3, 1e-6):
            settings = {"C": 1.0, "scale_C": False, "evenness": 0.5, "normalize": None, "random_state": 0}
            model = CLMKLClassifier("precomputed", p=p, tol=tol, **settings)
            time = harness.seconds(lambda m=model: m.fit(stack, blobs.blob))
            row |= {f"steps {tol:g}": model.n_iter_, f"passes {tol:g}": time / unit}
        problems = [blobs.problem(p, 3, y=np.where(blobs.blob == k, 1.0, -1.0)) for k in range(10)]
        slow = harness.seconds(
            lambda qs=problems: [algorithm_1(q, 1e-3, patience=12.0) for q in qs], repeats=1, warmup=0
        )
        row["times faster than Algorithm 1 (12 s a class at most)"] = slow / (row["passes 0.001"] * unit)
        rows.append(row)
    return rows
