"""The methods side by side on the same Grams: time, gap, accuracy on held-out points."""

import numpy as np
from sklearn.svm import SVC

from benchmarks import harness
from benchmarks.references import algorithm_1, make_blobs
from localmkl import (
    CLMKLClassifier,
    GramStack,
    HLMKLClassifier,
    LMKLClassifier,
    MKLClassifier,
    UniformMKLClassifier,
)
from localmkl.solvers.losses import Hinge
from localmkl.solvers.objective import Problem


def run(smoke):
    n = 60 if smoke else 1000
    blobs = make_blobs(2 * n)
    stack = GramStack(blobs.grams)
    train, test = np.arange(n), np.arange(n, 2 * n)
    square, cross = stack[np.ix_(train, train)], stack[np.ix_(test, train)]
    y, y_test = blobs.y[train], blobs.y[test]
    inner = blobs.grams[:, :n, :n]
    unit = harness.stack_pass(np.ascontiguousarray(inner))
    common = {"kernels": "precomputed", "normalize": None, "C": 1.0}
    convex = {**common, "scale_C": False}
    models = {
        "UNIF": UniformMKLClassifier(**convex),
        "MKL, p = 1": MKLClassifier(p=1, **convex),
        "MKL, p = 4/3": MKLClassifier(**convex),
        "HLMKL, p = 4/3": HLMKLClassifier(random_state=0, **convex),
        "CLMKL, p = 4/3": CLMKLClassifier(evenness=0.5, random_state=0, **convex),
        "LMKL": LMKLClassifier(random_state=0, tol=1e-2, **common),
    }
    rows = []
    for name, model in models.items():
        time = harness.seconds(lambda m=model: m.fit(square, y))
        rows.append(_row(name, time / unit, model.score(cross, y_test), model.duality_gap_))

    uniform = inner.sum(axis=0)
    time = harness.seconds(lambda: SVC(kernel="precomputed").fit(inner.sum(axis=0), y))
    svc = SVC(kernel="precomputed").fit(uniform, y)
    rows.append(_row("UNIF by SVC", time / unit, svc.score(blobs.grams[:, n:, :n].sum(axis=0), y_test)))

    problem = Problem(GramStack(inner), np.ones((n, 1)), y, np.ones(n), Hinge(), 4 / 3)
    time = harness.seconds(lambda: algorithm_1(problem, 1e-3), repeats=1, warmup=0)
    solution = algorithm_1(problem, 1e-3)
    scores = np.einsum(
        "m,mik,k->i", solution.weights[0], blobs.grams[:, n:, :n], solution.alpha, optimize=True
    )
    accuracy = float(np.mean(np.sign(scores + solution.intercept) == y_test))
    rows.append(_row("MKL, p = 4/3, by Algorithm 1", time / unit, accuracy, solution.gap))
    return rows + _easymkl(inner, blobs.grams[:, n:, :n], y, y_test, unit)


def _row(method, passes, accuracy, gap=None):
    gap = "none" if gap is None else float(gap)
    return {"method": method, "passes": passes, "held-out accuracy": float(accuracy), "gap": gap}


def _easymkl(inner, cross, y, y_test, unit):
    """EasyMKL of MKLpy, where that is installed (dependency group "mklpy")."""
    try:
        from MKLpy.algorithms import EasyMKL
    except ImportError:
        return []
    grams, crosses = list(inner), list(cross)
    time = harness.seconds(lambda: EasyMKL(lam=0.1).fit(grams, y), repeats=1, warmup=0)
    accuracy = np.mean(EasyMKL(lam=0.1).fit(grams, y).predict(crosses) == y_test)
    return [_row("EasyMKL of MKLpy", time / unit, accuracy)]
