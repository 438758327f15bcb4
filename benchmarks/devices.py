"""Fits on a GPU: Grams of 20,000 samples, features of a million, a grid, and the processor beside them.

The rows are those of `blobs`: three groups, each with a rule of its own. Times are of whole calls, with the
certificate; those of `fit` with kernels, clustering and checks too. The first call of a process compiles for
a second or two, and is a row of its own. Memory is the peak of the device as a multiple of the stack.
"""

import time

import numpy as np

from benchmarks import harness

GAMMAS = np.logspace(-2, 1, 20)


def run(smoke, device=None):
    """Return the rows; in smoke mode tensors on the processor stand in for a GPU."""
    import torch

    device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    if device.type == "cpu" and not smoke:
        raise SystemExit("This benchmark needs a GPU.")
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "tensors in memory"
    sizes = (300, 3000, 250, 200) if smoke else (20_000, 1_000_000, 10_000, 1000)
    rows = [
        *grams(sizes[0], device, smoke),
        *features(sizes[1], device, smoke),
        *fits(sizes[2], device, smoke),
        *agreement(sizes[3], device, smoke),
    ]
    return [{"device": name, **row} for row in rows]


def blobs(n, seed=0):
    """Return rows in three groups, labels that follow another rule in each, and soft memberships."""
    rng = np.random.default_rng(seed)
    centres, group = 3.0 * rng.standard_normal((3, 6)), rng.integers(0, 3, n)
    X = centres[group] + rng.standard_normal((n, 6))
    Z = X - centres[group]
    rule = np.where(group == 0, Z[:, 0] * Z[:, 1], np.where(group == 1, Z[:, 2], Z[:, 3] ** 2 - 1.0))
    y = np.sign(rule + 0.4 * rng.standard_normal(n))
    near = np.exp(-0.15 * ((X[:, None] - centres) ** 2).sum(axis=2))
    return X, y, near / near.sum(axis=1, keepdims=True)


def measured(call, device, stack):
    """Return what a call returns, its seconds, and the device's peak as a multiple of the stack."""
    import torch

    if device is None or device.type == "cpu":
        start = time.perf_counter()
        return call(), time.perf_counter() - start, None
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    start = time.perf_counter()
    answer = call()
    torch.cuda.synchronize(device)
    return answer, time.perf_counter() - start, torch.cuda.max_memory_allocated(device) / stack


def solved(what, stack, y, memberships, C, p, tol, device):
    """Return the row of one problem, posed and solved."""
    from localmkl.solvers.convex import solve_convex
    from localmkl.solvers.losses import Hinge
    from localmkl.solvers.objective import Problem

    def call():
        problem = Problem(stack, memberships, y, np.full(len(y), C), Hinge(), p)
        return solve_convex(problem, tol=tol, max_iter=100)

    solution, took, peak = measured(call, device, 1 if device is None else stack._numbers.nbytes)
    return {
        "what": what,
        "n": len(y),
        "C": C,
        "p": round(p, 2),
        "tol": tol,
        "steps": solution.n_iter,
        "gap": solution.gap,
        "seconds": took,
        "peak / stack": peak,
    }


def grams(n, device, smoke):
    """20 RBF Grams in float32, then problems of three clusters on them."""
    import torch

    from localmkl.kernels import RBF, fit_kernels
    from localmkl.kernels.on_device import stack_on_device
    from localmkl.stacks import GramStack

    X, y, memberships = blobs(n)
    kernels = fit_kernels([RBF(gamma) for gamma in GAMMAS], X)
    small = GramStack(stack_on_device(kernels, X[: n // 10], device).grams.float())
    yield solved("Grams, first call", small, y[: n // 10], memberships[: n // 10], 1.0, 2.0, 1e-3, device)
    for what in ("20 Grams, first call", "20 Grams"):
        stack, took, _ = measured(lambda: stack_on_device(kernels, X, device), device, 1)
        yield {"what": what, "n": n, "seconds": took}
        numbers = stack.grams.float()
        del stack
    stack = GramStack(numbers)
    for C in (1.0,) if smoke else (0.1, 1.0, 10.0):
        for p in (1.0, 4 / 3, 2.0):
            for tol in (1e-3, 1e-6):
                yield solved("Grams", stack, y, memberships, C, p, tol, device)
    del stack, numbers, small
    if device.type == "cuda":
        torch.cuda.empty_cache()


def features(n, device, smoke):
    """20 kernels of rank 50 by landmarks, then problems of three clusters on their features."""
    from localmkl.kernels import RBF, fit_features, fit_kernels
    from localmkl.kernels.on_device import features_on_device
    from localmkl.stacks import FactorStack

    X, y, memberships = blobs(n)
    kernels = fit_kernels([RBF(gamma) for gamma in GAMMAS], X[:1000])
    chosen = fit_features(kernels, X[:10_000], 5 if smoke else 50, random_state=0)
    stack, took, _ = measured(lambda: features_on_device(chosen, X, device), device, 1)
    yield {"what": f"{chosen.n_features} features", "n": n, "seconds": took}
    if not smoke:
        stack = FactorStack.of_table(stack._numbers.float(), stack.widths)
    costs = (1.0,) if smoke else (0.01, 1.0)
    for C in costs:
        for p in (1.0, 4 / 3, 2.0):
            yield solved("features", stack, y, memberships, C, p, 1e-3, device)
    yield solved("features", stack, y, memberships, 1.0, 2.0, 1e-6, device)
    stack = FactorStack.of_table(stack._numbers.cpu().numpy(), stack.widths)
    for C in costs:
        yield solved("features, cpu", stack, y, memberships, C, 2.0, 1e-3, None)


def fits(n, device, smoke):
    """Whole calls of `fit` and a grid of 56 points, on the device and on the processor beside it."""
    from sklearn.metrics.pairwise import rbf_kernel
    from sklearn.svm import SVC

    from localmkl import CLMKLClassifier
    from localmkl.estimators import convex
    from localmkl.kernels import RBF
    from localmkl.model_selection import MKLSearchCV

    X, y, _ = blobs(n)
    model = CLMKLClassifier([RBF(gamma) for gamma in GAMMAS], n_clusters=3, random_state=0)
    grid = {
        "C": [0.1, 1.0] if smoke else np.logspace(-2, 1, 7),
        "evenness": [0.5] if smoke else np.linspace(0.4, 0.9, 8),
    }
    split = [(np.arange(n // 5, n), np.arange(n // 5))]
    found = convex.find_device
    convex.find_device = lambda one: None if one == "cpu" else device
    try:
        for where in ("device", "cpu"):
            name = "cpu" if where == "cpu" else "cuda"
            few = slice(0, n // 2)
            model.set_params(device=name)
            start = time.perf_counter()
            fitted = model.fit(X[few], y[few])
            yield {
                "what": f"fit, {where}",
                "n": n // 2,
                "steps": fitted.n_iter_,
                "gap": fitted.duality_gap_,
                "seconds": time.perf_counter() - start,
            }
            start = time.perf_counter()
            fitted.decision_function(X)
            yield {
                "what": f"decisions on {n} rows, {where}",
                "n": n // 2,
                "seconds": time.perf_counter() - start,
            }
            start = time.perf_counter()
            search = MKLSearchCV(model, grid, cv=split, refit=False, scoring="accuracy").fit(X, y)
            scores = search.cv_results_["mean_test_score"]
            yield {
                "what": f"grid of {len(scores)}, {where}",
                "n": n,
                "best score": float(scores.max()),
                "seconds": time.perf_counter() - start,
            }
    finally:
        convex.find_device = found
    gram = rbf_kernel(X, gamma=0.1)
    took = harness.seconds(lambda: SVC(kernel="precomputed", C=1.0).fit(gram, y), repeats=1, warmup=0)
    yield {"what": "SVC on one kernel, cpu", "n": n, "C": 1.0, "seconds": took}
    yield from single_kernel(gram, y, device)


def single_kernel(gram, y, device):
    """One kernel in one cluster: a support vector machine, certified."""
    import torch

    from localmkl.stacks import GramStack

    stack = GramStack(torch.as_tensor(gram).to(device)[None])
    for tol in (1e-3, 1e-6):
        yield solved("one kernel", stack, y, np.ones((len(y), 1)), 1.0, 2.0, tol, device)


def agreement(n, device, smoke):
    """The largest differences between device and processor, of weights and decisions, at a gap of 1e-8."""
    import torch

    from localmkl.solvers.certify import products_of
    from localmkl.solvers.convex import solve_convex
    from localmkl.solvers.losses import CLASSIFICATION, REGRESSION
    from localmkl.solvers.objective import Problem
    from localmkl.stacks import GramStack

    X, y, memberships = blobs(n)
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    stack = GramStack(np.exp(-GAMMAS[:: 4 if smoke else 1, None, None] * squares))
    moved = GramStack(torch.as_tensor(stack.grams).to(device))
    for losses, targets in ((CLASSIFICATION, y), (REGRESSION, X[:, 0] * X[:, 1] / 5.0 + y)):
        for name, loss in losses.items():
            for p in (1.0, 4 / 3, 2.0):
                problems = [
                    Problem(one, memberships, targets, np.ones(n), loss(), p) for one in (stack, moved)
                ]
                here, there = (solve_convex(problem, tol=1e-8) for problem in problems)
                scores = [
                    np.einsum("ij,jm,jmi->i", memberships, one.weights, products_of(problems[0], one.alpha))
                    + one.intercept
                    for one in (here, there)
                ]
                yield {
                    "what": f"agreement, {name}",
                    "n": n,
                    "p": round(p, 2),
                    "tol": 1e-8,
                    "steps": there.n_iter,
                    "gap": there.gap,
                    "weights differ": float(np.abs(here.weights - there.weights).max()),
                    "decisions differ": float(np.abs(scores[0] - scores[1]).max()),
                    "share of the largest": float(np.abs(scores[0] - scores[1]).max() / np.abs(scores).max()),
                }
