"""The cost C from 0.01 to 1000: a gap of 1e-6 in how many stack passes, relative to C = 1."""

from benchmarks import harness
from benchmarks.references import make_blobs
from localmkl.solvers.convex import solve_convex

COSTS = (1.0, 0.01, 100.0, 1000.0)


def run(smoke):
    blobs = make_blobs(60 if smoke else 2000)
    unit = harness.stack_pass(blobs.grams)
    rows = []
    for p in (1, 4 / 3, 2):
        for n_clusters in (1, 3) if smoke else (1, 3, 8):
            base = None
            for C in COSTS:
                problem = blobs.problem(p, n_clusters, C)
                solution = solve_convex(problem, tol=1e-6)
                time = harness.seconds(lambda q=problem: solve_convex(q, tol=1e-6), warmup=0)
                base = base or time
                rows.append(
                    {
                        "n": len(blobs.y),
                        "p": round(p, 3),
                        "l": n_clusters,
                        "C": C,
                        "steps": solution.n_iter,
                        "gap": solution.gap,
                        "passes": time / unit,
                        "relative to C = 1": time / base,
                    }
                )
    return rows
