"""The cost of knowing how sure one is: refits, permutations, in fits on all rows.

A fit is ``CLMKLClassifier("precomputed").fit`` on the whole stack, of which a half reads a quarter.
"""

import numpy as np

from benchmarks import harness
from benchmarks.references import make_blobs
from localmkl import CLMKLClassifier, GramStack
from localmkl.inference import locality_test, stability

NORMS = (1.0, 4 / 3, 2.0)
ROUNDS = 5
"""Rounds of a fit and some refits, one after the other, so that a busy machine is as busy for both."""


def run(smoke):
    n_samples, n_resamples = (60, 20) if smoke else (400, 100)
    problem = make_blobs(n_samples)
    stack, y = GramStack(problem.grams), problem.y
    return [_row(stack, y, p, n_resamples, smoke) for p in (NORMS[1:2] if smoke else NORMS)]


def _row(stack, y, p, n_resamples, smoke):
    def fit():
        return CLMKLClassifier("precomputed", p=p, random_state=0).fit(stack, y)

    model, few = fit(), {"n_resamples": 20, "random_state": 0}
    calls = {
        "fit": fit,
        "halves": lambda: stability(model, stack, y, **few),
    }
    once = {
        "20 splits": lambda: locality_test(model, stack, y, n_permutations=0, random_state=0),
        "19 permutations": lambda: locality_test(model, stack, y, n_permutations=19, cv=2, random_state=0),
    }
    rounds = [
        {name: harness.seconds(call, repeats=1, warmup=0) for name, call in calls.items()}
        for _ in range(1 if smoke else ROUNDS)
    ]
    times = {name: harness.seconds(call, repeats=1, warmup=0) for name, call in once.items()}
    fitted = float(np.median([each["fit"] for each in rounds]))
    row = {"n": len(y), "M": stack.n_kernels, "l": model.n_clusters, "p": round(p, 3)}
    row |= {"fit, ms": round(1e3 * fitted, 1)}
    spent = n_resamples / 20 * float(np.median([each["halves"] for each in rounds]))
    row[f"{n_resamples} halves"] = round(spent / fitted, 1)
    return row | {name: round(seconds / fitted, 1) for name, seconds in times.items()}
