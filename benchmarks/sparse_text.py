"""Sparse text beside the same matrix made dense: time and memory of a fit.

Generated documents of about a hundred words out of 20,000, of two topics, as tf-idf. Every row is a process
of its own: one fit on few rows, which loads compiled code, then the median of three.
"""

import json

from benchmarks import harness

CODE = """
import json, statistics, time
import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from localmkl import MKLClassifier
from localmkl.kernels import RBF, Cosine, Linear

rng = np.random.default_rng(0)
n, n_columns = {n}, {n_columns}
common = 1.0 / np.arange(1, n_columns + 1)
topics = np.array([common * rng.gamma(0.5, size=n_columns) for _ in range(2)])
topics /= topics.sum(axis=1, keepdims=True)
y = rng.integers(2, size=n)
share = np.where(rng.random(n) < 0.2, 0.5, 0.9)
lengths = rng.poisson(100, size=n) + 1
words = [
    rng.choice(n_columns, size=length, p=part * topics[label] + (1 - part) * topics[1 - label])
    for length, part, label in zip(lengths, share, y)
]
places = np.concatenate(words), np.concatenate([[0], np.cumsum(lengths)])
counts = sparse.csr_array((np.ones(len(places[0])), *places), shape=(n, n_columns))
counts.sum_duplicates()
X = TfidfTransformer().fit_transform(counts)
X = X.toarray() if {dense} else X
model = MKLClassifier([{kernels}], C=1.0, n_components={rank}, random_state=0)
model.fit(X[: n // 10 + 20], y[: n // 10 + 20])
times = []
for _ in range({repeats}):
    start = time.perf_counter()
    model.fit(X, y)
    times.append(time.perf_counter() - start)
size = X.nbytes if {dense} else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
decisions = model.decision_function(X[:200])
print(json.dumps([size, statistics.median(times), model.duality_gap_, decisions.tolist()]))
"""

KERNELS = ("Linear()", "Cosine()", "RBF()", "Linear(), Cosine(), RBF()")


def run(smoke):
    _, idle = harness.peak_memory("import localmkl, numba, sklearn.svm, scipy.linalg")
    n, n_columns, rank = (150, 400, 20) if smoke else (3000, 20000, 200)
    rows = []
    for kernels in KERNELS[-1:] if smoke else KERNELS:
        for features in (None,) if smoke else (None, rank):
            fields = {"n": n, "n_columns": n_columns, "kernels": kernels, "rank": features}
            fields["repeats"] = 1 if smoke else 3
            rows.append(_told(_compare(fields, idle)))
    return rows


def _compare(fields, idle):
    """Return one row: sparse and dense, and how far their decisions are apart."""
    (stored, time, gap, ours), peak = _measure(dense=False, **fields)
    (dense_stored, dense_time, _, theirs), dense_peak = _measure(dense=True, **fields)
    return {
        "kernels": fields["kernels"],
        "n": fields["n"],
        "columns": fields["n_columns"],
        "features": fields["rank"] or "exact",
        "sparse matrix (MB)": stored / 1e6,
        "dense matrix (MB)": dense_stored / 1e6,
        "sparse (s)": time,
        "dense (s)": dense_time,
        "sparse peak (MB)": (peak - idle) / 1e6,
        "dense peak (MB)": (dense_peak - idle) / 1e6,
        "gap": gap,
        "decisions apart": max(abs(one - other) for one, other in zip(ours, theirs, strict=True)),
    }


def _measure(**fields):
    code = CODE
    for key, value in fields.items():
        code = code.replace("{" + key + "}", str(value))
    printed, peak = harness.peak_memory(code)
    return json.loads(printed[-1]), peak


def _told(row):
    """Return a row, printed: the next one may take a minute."""
    shown = {key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()}
    print(shown, flush=True)
    return row
