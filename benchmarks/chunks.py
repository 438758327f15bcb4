"""Rows in chunks on two worker processes: time, certificate, memory of each worker, and one that is killed.

The rows are generated in the workers: 20 numbers each, the label a noisy function that differs between two
groups. Ten kernels have 20 features each. `SGDClassifier` sees the same features chunk by chunk, five times.
"""

import os
import signal
import threading
import time

import numpy as np
from sklearn.linear_model import SGDClassifier

from localmkl import CLMKLClassifier
from localmkl.kernels import RBF

N_COLUMNS = 20
KERNELS = [RBF(gamma=0.2, columns=[k, k + 10]) for k in range(10)]


def run(smoke):
    from dask.distributed import Client, LocalCluster

    n_rows, chunk = (20_000, 5_000) if smoke else (10_000_000, 100_000)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": 0}
    rows = []
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        for loss in ("hinge", "log_loss"):
            model = CLMKLClassifier(
                KERNELS, C=0.1, loss=loss, n_clusters=2, n_components=20, gate_kernel=0, random_state=0
            )
            rows.append(_fitted(client, model, n_rows, chunk))
            if loss == "hinge":
                expected = rows[0].pop("weights")
                rows.append(_fitted(client, model, n_rows, chunk, kill=True))
                apart = float(np.abs(rows[-1].pop("weights") - expected).max())
                rows[-1]["weights apart"] = apart
            else:
                rows[-1].pop("weights")
    rows.append(_by_gradients(model, n_rows, chunk))
    return rows


def generated(n_rows, chunk):
    """Return rows and labels, made where they are needed."""
    import dask.array as da

    X = (
        da.random.default_rng(0)
        .normal(size=(n_rows, N_COLUMNS), chunks=(chunk, N_COLUMNS))
        .astype(np.float32)
    )
    noise = da.random.default_rng(1).normal(size=n_rows, chunks=chunk)
    inner = da.where(X[:, 0] > 0.0, da.sin(2.0 * X[:, 1]), da.cos(2.0 * X[:, 2]))
    return X, (inner + 0.5 * noise > 0.2).astype(int)


def _fitted(client, model, n_rows, chunk, kill=False):
    """Return a row on a fit; if wanted, one of the workers is killed in the middle."""
    X, y = generated(n_rows, chunk)
    killer = threading.Timer(20.0 if n_rows > 10**6 else 1.0, _kill_one, [client])
    if kill:
        killer.start()
    start = time.perf_counter()
    model.fit(X, y)
    took = time.perf_counter() - start
    killer.cancel()
    return {
        "rows": n_rows,
        "features": 200,
        "method": f"CLMKL, {model.loss}" + ", a worker killed" * kill,
        "seconds": took,
        "gap": model.duality_gap_,
        "steps": model.n_iter_,
        "GB of a worker, at most": max(client.run(_peak).values()) / 1e9,
        "weights": model.kernel_weights_,
    }


def _kill_one(client):
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


def _peak():
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def _by_gradients(model, n_rows, chunk):
    """Return a row on five epochs of stochastic gradients over the same features, in one process."""
    X, y = generated(n_rows, chunk)
    linear, classes = SGDClassifier(loss="hinge", random_state=0), np.array([0, 1])
    start = time.perf_counter()
    for _ in range(5):
        for k in range(X.numblocks[0]):
            rows, labels = X.blocks[k].compute(), y.blocks[k].compute()
            linear.partial_fit(model.features_.transform(rows), labels, classes=classes)
    row = {"rows": n_rows, "features": 200, "method": "SGDClassifier.partial_fit, 5 epochs"}
    return row | {"seconds": time.perf_counter() - start}
