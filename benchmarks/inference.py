"""The cost of knowing how sure one is: refits, permutations, numbers of clusters, in fits on all rows.

A fit is ``CLMKLClassifier("precomputed").fit`` on the whole stack, of which a half reads a quarter.
"""

import numpy as np

from benchmarks import harness
from benchmarks.references import make_blobs
from localmkl import CLMKLClassifier, GramStack
from localmkl.inference import choose_clusters, locality_test, stability

NORMS = (1.0, 4 / 3, 2.0)


def run(smoke):
    n_samples, n_resamples = (60, 20) if smoke else (400, 100)
    problem = make_blobs(n_samples)
    stack, y = GramStack(problem.grams), problem.y
    return [_row(stack, y, p, n_resamples, smoke) for p in (NORMS[1:2] if smoke else NORMS)]


def _row(stack, y, p, n_resamples, smoke):
    """Return the times of one norm; cold fits are timed before and after, and the faster counts."""
    repeats = 1 if smoke else 5

    def cold():
        return CLMKLClassifier("precomputed", p=p, random_state=0).fit(stack, y)

    model, before = cold(), harness.seconds(cold, repeats=repeats)
    few = {"n_resamples": n_resamples, "random_state": 0}
    calls = {
        f"{n_resamples} halves": lambda: stability(model, stack, y, **few),
        f"{n_resamples} bootstraps": lambda: stability(model, stack, y, resampling="bootstrap", **few),
        "20 splits": lambda: locality_test(model, stack, y, n_permutations=0, random_state=0),
        "19 permutations": lambda: locality_test(model, stack, y, n_permutations=19, cv=2, random_state=0),
        "1 to 6 clusters": lambda: choose_clusters(model, stack, y, random_state=0),
    }
    if not smoke:
        stability(model, stack, y, n_jobs=2, n_resamples=20)  # workers start
        calls[f"{n_resamples} halves, 2 workers"] = lambda: stability(model, stack, y, n_jobs=2, **few)
    times = {name: harness.seconds(call, repeats=1, warmup=0) for name, call in calls.items()}
    fit = min(before, harness.seconds(cold, repeats=repeats))
    row = {
        "n": len(y),
        "M": stack.n_kernels,
        "l": model.n_clusters,
        "p": round(p, 3),
        "fit, ms": round(1e3 * fit, 1),
    }
    return row | {name: float(np.round(seconds / fit, 1)) for name, seconds in times.items()}
