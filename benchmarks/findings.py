"""Our own findings asked for their certainty: splice sites and promoters through the tests of inference.

CLMKL with three clusters beside MKL, ten weighted-degree kernels, p = 1, nothing tuned: the difference in AUC
with its interval, both tests of locality, UNIF and HLMKL beside them on shared splits (`compare_methods`, as
``localmkl compare`` does it), how well clusters are found again in halves of the samples, and the kernels
that nine in ten halves and more choose. A set whose file is not there is said.
"""

import numpy as np
from reproduction.data import N_PROMOTERS, core_promoters_beside_others, draw

from localmkl import CLMKLClassifier, GramStack, HLMKLClassifier, MKLClassifier, UniformMKLClassifier
from localmkl.datasets import fetch_human_promoters, fetch_mouse_promoters, load_splice
from localmkl.inference import compare_methods, locality_test, stability
from localmkl.kernels import WeightedDegree, compute_stack, fit_kernels

CHOSEN = 0.9


def run(smoke):
    """Return a row for each set."""
    sizes = {
        "UCI splice, donors": 600,
        "mouse promoters": 600,
        "human core promoters": 1500,
        "human core promoters beside natural sequences": 1500,
    }
    rows = []
    for name, n in sizes.items():
        try:
            X, y = _read(name)
        except OSError as error:
            rows.append({"data": name, "note": str(error)})
            continue
        rows.append({"data": name, **_row(*_draw(X, y, 60 if smoke else n), smoke)})
    return rows


def _read(name):
    if name.startswith("UCI"):
        X, y = load_splice()[:2]
        return list(X), np.where(np.asarray(y) == "EI", 1, -1)
    if name.endswith("natural sequences"):
        X, y = core_promoters_beside_others()
        chosen = draw(y, {1: N_PROMOTERS, -1: N_PROMOTERS})
        return list(X[chosen]), y[chosen]
    if name.startswith("mouse"):
        found = fetch_mouse_promoters(download=False)
    else:
        found = fetch_human_promoters("notata_core", download=False)
    return list(found[0]), np.asarray(found[1])


def _draw(X, y, n):
    chosen = np.random.default_rng(0).permutation(len(y))[:n]
    return [X[i] for i in chosen], y[chosen]


def _row(X, y, smoke):
    kernels = fit_kernels([WeightedDegree(degree) for degree in range(1, 11)], X)
    stack = GramStack(compute_stack(kernels, X).grams)
    model = CLMKLClassifier("precomputed", evenness=0.5, p=1, random_state=0).fit(stack, y)
    few = 4 if smoke else 99
    test = locality_test(model, stack, y, scoring="roc_auc", n_permutations=few, random_state=0)
    methods = {
        "MKL": MKLClassifier("precomputed", p=1),
        "UNIF": UniformMKLClassifier("precomputed"),
        "HLMKL": HLMKLClassifier("precomputed", p=1, random_state=0),
    }
    compared = compare_methods(methods, stack, y, scoring="roc_auc", n_splits=few // 4 + 1, random_state=0)
    sure = stability(model, stack, y, n_resamples=20 if smoke else 100, random_state=0)
    return {
        "n": len(y),
        "CLMKL - MKL, AUC": 100.0 * test.difference,
        "low": 100.0 * test.low,
        "high": 100.0 * test.high,
        "t-test, p": test.t_p_value,
        "permutations, p": test.p_value,
        **{
            f"{name} - MKL ({end})": 100.0 * getattr(compared, end)[place]
            for place, name in enumerate(methods)
            if name != "MKL"
            for end in ("difference", "low", "high")
        },
        "least Jaccard": float(np.min(sure.jaccard)),
        "largest Jaccard": float(np.max(sure.jaccard)),
        "kernels chosen": int(np.sum(sure.frequency >= CHOSEN)),
        "kernels with weight": int(np.sum(sure.shares > 0.0)),
    }
