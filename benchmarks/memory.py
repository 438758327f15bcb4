"""Peak memory of a fit as a multiple of its Gram stack, and how the time grows with the samples."""

from benchmarks import harness

CODE = """
import time
import numpy as np
from localmkl import CLMKLClassifier, GramStack

def build(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 50)).astype(np.float32)
    y = np.sign(X[:, 0] * X[:, 1] + 0.5 * X[:, 2])
    grams = np.empty(({n_kernels}, n, n), dtype=np.{dtype})
    squares = np.einsum("ik,ik->i", X, X)
    for m, gamma in enumerate(np.logspace(-3, 0, {n_kernels})):
        for start in range(0, n, 500):
            block = squares[start:start + 500, None] + squares - 2 * (X[start:start + 500] @ X.T)
            grams[m, start:start + 500] = np.exp(-gamma * np.maximum(block, 0))
        np.fill_diagonal(grams[m], 1)
    return grams, y

model = CLMKLClassifier(
    "precomputed", C=1.0, scale_C=False, n_clusters=3, evenness=0.5, n_init=2, random_state=0, tol=1e-3
)
small = build(60)
model.fit(GramStack(small[0]), small[1])
grams, y = build({n})
grams.sum()
start = time.perf_counter()
grams.sum()
one_pass = time.perf_counter() - start
stack = GramStack(grams)
start = time.perf_counter()
model.fit(stack, y)
print(grams.nbytes, one_pass, time.perf_counter() - start, model.duality_gap_, model.n_iter_)
"""


def run(smoke):
    sizes = (
        [(120, 4, "float64")]
        if smoke
        else [
            (1000, 10, "float32"),
            (2000, 20, "float64"),
            (3000, 10, "float32"),
            (10000, 10, "float32"),
        ]
    )
    rows = []
    for n, n_kernels, dtype in sizes:
        code = CODE.replace("{n_kernels}", str(n_kernels)).replace("{dtype}", dtype).replace("{n}", str(n))
        printed, peak = harness.peak_memory(code)
        stack, one_pass, time, gap, steps = map(float, printed[-1].split())
        _, idle = harness.peak_memory("import localmkl, numba, sklearn.svm, scipy.linalg")
        rows.append(
            {
                "n": n,
                "kernels": n_kernels,
                "type": dtype,
                "stack (MB)": stack / 1e6,
                "peak (MB)": peak / 1e6,
                "peak without Python and libraries / stack": (peak - idle) / stack,
                "gap": gap,
                "steps": int(steps),
                "whole fit in passes": time / one_pass,
                "whole fit (s)": time,
            }
        )
    return rows
