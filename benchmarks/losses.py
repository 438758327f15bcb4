"""Every loss to a gap of 1e-6: its time as a multiple of the hinge's (and the tube's) on the same kernels."""

import numpy as np

from benchmarks import harness
from benchmarks.references import make_blobs
from localmkl.solvers.convex import solve_convex
from localmkl.solvers.losses import CLASSIFICATION, REGRESSION

TOL = 1e-6


def run(smoke):
    blobs = make_blobs(60 if smoke else 1000)
    target = blobs.target / np.std(blobs.target)
    rows = []
    for C in (1.0,) if smoke else (0.01, 1.0, 100.0, 1000.0):
        for n_clusters in (1, 3):
            for p in (1, 4 / 3, 2):
                problems = {
                    name: blobs.problem(p, n_clusters, C, kind()) for name, kind in CLASSIFICATION.items()
                }
                for name, kind in REGRESSION.items():
                    problems[name] = blobs.problem(p, n_clusters, C, kind(), target)
                rows += _cell({"C": C, "l": n_clusters, "p": round(p, 3)}, problems)
    return rows


def _cell(cell, problems):
    """Return a row for each loss of problems that are otherwise alike."""
    solutions = {name: solve_convex(problem, tol=TOL) for name, problem in problems.items()}
    times = {
        name: harness.seconds(lambda q=problem: solve_convex(q, tol=TOL), warmup=0)
        for name, problem in problems.items()
    }
    return [
        {
            "loss": name,
            **cell,
            "steps": solution.n_iter,
            "gap": solution.gap,
            "converged": solution.converged,
            "seconds": times[name],
            "times the hinge's": times[name] / times["hinge"],
            "times the tube's": times[name] / times["epsilon_insensitive"] if name in REGRESSION else "",
        }
        for name, solution in solutions.items()
    ]
