"""One kernel, one cluster: the plain SVM against scikit-learn's SVC, to the same or a smaller duality gap."""

import numpy as np
from sklearn.svm import SVC

from benchmarks import harness
from benchmarks.references import make_blobs
from localmkl.solvers.certify import certify
from localmkl.solvers.convex import solve_convex
from localmkl.solvers.losses import Hinge
from localmkl.solvers.objective import Problem
from localmkl.stacks import GramStack


def run(smoke):
    rows = []
    for n in [60] if smoke else [1000, 2000]:
        blobs = make_blobs(n)
        for m in (4, 6):
            K = blobs.grams[m]
            for C in (1.0, 100.0):
                problem = Problem(GramStack([K]), np.ones((n, 1)), blobs.y, np.full(n, C), Hinge(), np.inf)
                svc = SVC(C=C, kernel="precomputed", cache_size=1000).fit(K, blobs.y)
                alpha = np.zeros(n)
                alpha[svc.support_] = svc.dual_coef_[0]
                theirs = certify(problem, np.ones((1, 1)), alpha)
                ours = solve_convex(problem, tol=theirs.gap)
                their_time = harness.seconds(
                    lambda C=C, K=K, y=blobs.y: SVC(C=C, kernel="precomputed", cache_size=1000).fit(K, y)
                )
                our_time = harness.seconds(lambda q=problem, t=theirs.gap: solve_convex(q, tol=t))
                rows.append(
                    {
                        "n": n,
                        "kernel": m,
                        "C": C,
                        "gap of SVC": theirs.gap,
                        "our gap": ours.gap,
                        "support vectors": len(svc.support_),
                        "our time / SVC's": our_time / their_time,
                    }
                )
    return rows
