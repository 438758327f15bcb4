"""Prediction for many new rows from raw columns, beside scikit-learn's ``SVC.predict``.

20 RBF kernels, ten widths on all 20 columns and ten on five columns each. A third of the labels are noise, so
that most training rows are support vectors. ``SVC`` has one RBF kernel, the same columns and as many support
vectors as the model beside it, and predicts on one thread. Both take turns, and the least of some rounds
counts, of seconds and of computing, which is summed over threads: others may use the machine too.
"""

import time

import numpy as np
from sklearn.svm import SVC

from localmkl import CLMKLClassifier, MKLClassifier
from localmkl.kernels import RBF

N_COLUMNS = 20


def run(smoke):
    """Return seconds for the new rows, and how many times those of `SVC` they are."""
    n_train, n_new, rounds = (60, 300, 1) if smoke else (1000, 100_000, 3)
    X, y = _rows(n_train, seed=0)
    new = _rows(n_new, seed=1)[0]
    return [_cell(p, n_clusters, X, y, new, rounds) for p in (1, 4 / 3) for n_clusters in (1, 3)]


def kernels():
    """Return the kernels: widths on all columns, and one width on some columns."""
    rng = np.random.default_rng(0)
    chosen = [sorted(rng.choice(N_COLUMNS, 5, replace=False).tolist()) for _ in range(10)]
    wide = [RBF(gamma=float(gamma)) for gamma in np.logspace(-3, 0.5, 10)]
    return wide + [RBF(gamma=0.1, columns=columns) for columns in chosen]


def _cell(p, n_clusters, X, y, new, rounds):
    model = _estimator(p, n_clusters).fit(X, y)
    n_support = len(model.support_)
    svc = _svc(n_support)
    model.predict(new[:100])
    pairs = [(_clock(model, new), _clock(svc, new)) for _ in range(rounds)]
    (seconds, computing), (their_seconds, their_computing) = np.min(pairs, axis=0).tolist()
    return {
        "p": round(p, 3),
        "l": n_clusters,
        "new rows": len(new),
        "support vectors": n_support,
        "kernels with weight": int(np.any(model.kernel_weights_ != 0.0, axis=0).sum()),
        "seconds": seconds,
        "SVC, seconds": their_seconds,
        "times SVC": seconds / their_seconds,
        "computing": computing,
        "SVC, computing": their_computing,
        "computing, times SVC": computing / their_computing,
    }


def _clock(model, new):
    """Return the seconds, and the seconds of computing in all threads, of a prediction."""
    start, computing = time.perf_counter(), time.process_time()
    model.predict(new)
    return time.perf_counter() - start, time.process_time() - computing


def _estimator(p, n_clusters):
    if n_clusters == 1:
        return MKLClassifier(kernels(), p=p)
    return CLMKLClassifier(kernels(), p=p, n_clusters=n_clusters, random_state=0)


def _svc(n_support):
    """Return an `SVC` that all its training rows support: balanced random labels and a small cost."""
    X = _rows(n_support, seed=2)[0]
    return SVC(C=1e-3, gamma=0.05).fit(X, np.arange(n_support) % 2)


def _rows(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, N_COLUMNS))
    y = np.sign(X[:, 0] * X[:, 1] + 0.5 * X[:, 2]) * np.where(rng.uniform(size=n) < 1 / 3, -1.0, 1.0)
    return X, y
