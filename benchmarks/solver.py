"""Binary classification: stack passes, and ratios to the published algorithm at the same certified gap."""

from benchmarks import harness
from benchmarks.references import count_reads, make_blobs, times_faster
from localmkl.solvers.convex import solve_convex


def run(smoke):
    """Time to a gap of 1e-3 and 1e-6 and data read for it, in stack passes; ratio to Algorithm 1 at 1e-3."""
    rows = []
    for n in [60] if smoke else [1000, 2000]:
        blobs = make_blobs(n)
        unit = harness.stack_pass(blobs.grams)
        for p in (1, 4 / 3, 2):
            for n_clusters in (1, 3) if smoke else (1, 3, 8):
                problem = blobs.problem(p, n_clusters)
                row = {"n": n, "p": round(p, 3), "l": n_clusters}
                for tol in (1e-3, 1e-6):
                    solution = solve_convex(problem, tol=tol)
                    time = harness.seconds(lambda t=tol, q=problem: solve_convex(q, tol=t), warmup=0)
                    row |= {f"steps {tol:g}": solution.n_iter, f"time {tol:g}": time / unit}
                    row[f"reads {tol:g}"] = count_reads(lambda t=tol, q=problem: solve_convex(q, tol=t), n)
                    row[f"gap {tol:g}"] = solution.gap
                if n_clusters in (1, 3):
                    row["times faster than Algorithm 1"] = times_faster(problem, row["time 0.001"] * unit)
                rows.append(row)
    return rows
