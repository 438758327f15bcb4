"""Fits on features: against `LinearSVC` on the same ones, and how time and memory grow up to a million rows.

The rows are the blobs of `references`; every kernel is an RBF by landmarks among the rows, scaled to unit
variance; the narrowest are zero but for the landmarks. Every fit is the first call of a new process, with all
that `fit` does: checks, clustering, certificate. Memory is that of a process above that of a fit of 3000 rows
of 8 features, which has the same libraries and compiled code.
"""

import json
import tempfile
from pathlib import Path

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks import harness

LOCALIZED = """
import json, time
import numpy as np
from localmkl import CLMKLClassifier
from localmkl.kernels import FactorStack
y = np.load("{folder}/y.npy")
{table}
model = CLMKLClassifier(
    "precomputed", C={C}, p={p}, scale_C=False, normalize=None, n_clusters=3, random_state=0, tol={tol}
)
start = time.perf_counter()
model.fit(FactorStack.of_table(table, {widths}), y)
took = time.perf_counter() - start
print(json.dumps([took, model.duality_gap_, model.n_iter_]))
"""

LINEAR = """
import json, time, warnings
import numpy as np
from sklearn.svm import LinearSVC
warnings.simplefilter("ignore")
table, y = np.load("{folder}/table.npy"), np.load("{folder}/y.npy")
start = time.perf_counter()
LinearSVC(loss="hinge", C={C}, random_state=0).fit(table, y)
print(json.dumps([time.perf_counter() - start]))
"""

SMALL = """
import numpy as np
from localmkl import CLMKLClassifier
from localmkl.kernels import FactorStack
table = np.random.default_rng(0).standard_normal((3000, 8)).astype(np.float32)
for tol in (1e-3, 1e-6):
    model = CLMKLClassifier("precomputed", normalize=None, n_clusters=3, random_state=0, tol=tol)
    model.fit(FactorStack.of_table(table, [4, 4]), np.sign(table[:, 0]))
"""
"""What a process holds without data to speak of: libraries, and the compiled code of such a fit."""

LOADED = 'table = np.load("{folder}/table.npy")'
MAPPED = 'table = np.load("{folder}/table.npy", mmap_mode="r")'
BLOCK = 10000


def run(smoke):
    libraries = 0 if smoke else harness.peak_memory(SMALL)[1]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        rows += against(Path(folder), libraries, smoke)
    return rows + growth(smoke)


def against(folder, libraries, smoke):
    """Return one row for each norm and C: times as shares of `LinearSVC`'s."""
    n, n_kernels, rank = (3000, 4, 5) if smoke else (100000, 20, 50)
    write_features(folder, n, n_kernels, rank)
    rows = []
    for C in (1.0,) if smoke else (0.01, 0.1, 1.0):
        linear = _measure(LINEAR, folder=folder, C=C)[0][0]
        for p in (2.0,) if smoke else (1.0, 4 / 3, 2.0):
            options = {"C": C, "p": p, "widths": [rank] * n_kernels}
            row = {"n": n, "kernels": n_kernels, "rank": rank, "C": C, "p": round(p, 3)}
            row["LinearSVC (s)"] = linear
            for tol in (1e-3, 1e-6):
                answer, peak = _measure(LOCALIZED, LOADED, folder=folder, tol=tol, **options)
                row |= {f"{tol:g} (s)": answer[0], f"{tol:g} / LinearSVC": answer[0] / linear}
                row |= {f"{tol:g} gap": answer[1], f"{tol:g} steps": answer[2]}
                row[f"{tol:g} peak / features"] = (peak - libraries) / (4 * n * n_kernels * rank)
            rows.append(_told(row))
    return rows


def growth(smoke):
    """Return one row for each C and number of rows, read from a memory map."""
    rows: list = []
    for n in (2600, 3000) if smoke else (10**4, 10**5, 10**6):
        with tempfile.TemporaryDirectory() as folder:
            write_features(Path(folder), n, 10, 40)
            for C in (0.1,) if smoke else (0.1, 1.5):
                options = {"C": C, "p": 4 / 3, "tol": 1e-3, "widths": [40] * 10}
                answer, peak = _measure(LOCALIZED, MAPPED, folder=folder, **options)
                row = {"n": n, "kernels": 10, "rank": 40, "C": C, "p": 1.333, "0.001 (s)": answer[0]}
                row |= {"0.001 gap": answer[1], "0.001 steps": answer[2], "peak (MB)": peak / 1e6}
                first = next((own for own in rows if own["C"] == C), row)
                if first is not row:
                    row["exponent"] = np.log(answer[0] / first["0.001 (s)"]) / np.log(n / first["n"])
                rows.append(_told(row | {"features (MB)": 4 * n * 400 / 1e6}))
    return rows


def _told(row):
    """Return a row, printed: the next one may take minutes."""
    shown = {key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()}
    print(shown, flush=True)
    return row


def write_features(folder, n, n_kernels, rank, seed=0):
    """Write ``table.npy`` (n, n_kernels * rank), float32, and ``y.npy``, block by block."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=0.8, size=(6, 50))
    half = n_kernels // 2
    kinds = [(gamma, np.arange(50)) for gamma in np.logspace(-4, 1, half)]
    kinds += [(0.1, rng.choice(50, size=10, replace=False)) for _ in range(n_kernels - half)]
    X, labels = _blobs(rng, centres, n)
    landmarks = X[:rank]
    roots = [_root(rbf_kernel(landmarks[:, own], gamma=gamma)) for gamma, own in kinds]
    table = np.lib.format.open_memmap(folder / "table.npy", "w+", np.float32, (n, n_kernels * rank))
    for start in range(0, n, BLOCK):
        rows = slice(start, start + BLOCK)
        parts = [
            rbf_kernel(X[rows, own], landmarks[:, own], gamma=gamma) @ root
            for (gamma, own), root in zip(kinds, roots, strict=True)
        ]
        if start == 0:
            scales = [1.0 / np.sqrt(np.sum(np.var(part, axis=0))) for part in parts]
        table[rows] = np.hstack([a * part for a, part in zip(scales, parts, strict=True)])
    table.flush()
    np.save(folder / "y.npy", labels)


def _blobs(rng, centres, n):
    blob = rng.integers(len(centres), size=n)
    flipped = np.where(rng.uniform(size=n) < 0.05, -1.0, 1.0)
    return centres[blob] + rng.normal(size=(n, 50)), np.where(blob % 2 == 0, 1.0, -1.0) * flipped


def _root(kernel):
    values, vectors = np.linalg.eigh(kernel)
    return vectors / np.sqrt(np.maximum(values, 1e-12 * values.max()))


def _measure(code, table="", **fields):
    """Run code in a new process; return what it printed and the bytes that its memory peaked at."""
    for key, value in {"table": table, **fields}.items():
        code = code.replace("{" + key + "}", str(value))
    printed, peak = harness.peak_memory(code)
    return json.loads(printed[-1]), peak
