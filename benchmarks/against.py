"""The solver table, another commit against this one: ``python -m benchmarks.against COMMIT``.

Each commit has a process of its own; these take turns, fit by fit, so that whatever else the machine does
meets both. Fits are the estimators', whose interface both commits share.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import harness

CELLS = [
    {"n": n, "p": p, "l": n_clusters, "C": C, "tol": tol}
    for n in (1000, 2000)
    for p in (1.0, 4 / 3, 2.0)
    for n_clusters in (1, 3)
    for C, tol in ((1.0, 1e-3), (1.0, 1e-6), (100.0, 1e-3))
]
ROUNDS = 5


def main():
    parser = argparse.ArgumentParser(prog="benchmarks.against", description=__doc__)
    parser.add_argument("commit", help="what to compare with")
    parser.add_argument("--out", default="benchmarks/results", help="folder of the JSON file")
    arguments = parser.parse_args()
    here = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "old"
        git = ["git", "-C", str(here), "worktree"]
        subprocess.run([*git, "add", "--detach", str(tree), arguments.commit], check=True)
        try:
            with _child(tree) as old, _child(here) as new:
                rows = [_cell(cell, old, new) for cell in CELLS]
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)
    for row in rows:
        row["against"] = arguments.commit
    harness.show("against", rows)
    print(f"written: {harness.write('against', rows, arguments.out)}")


def _child(tree):
    """Start a process that fits with the sources of a tree."""
    environment = {**os.environ, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{Path(__file__).parents[1]}"}
    return subprocess.Popen(
        [sys.executable, "-c", "from benchmarks import against; against.serve()"],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _cell(cell, old, new):
    """Return a row: the least seconds, and the least seconds of computing in all threads, of some rounds."""
    for child in (old, new):  # compile, and touch the memory
        _ask(child, cell)
    pairs = [(_ask(old, cell), _ask(new, cell)) for _ in range(ROUNDS)]
    best, least = (
        [min(pair[k][name] for pair in pairs) for k in (0, 1)] for name in ("seconds", "computing")
    )
    return {
        **cell,
        "old gap": pairs[0][0]["gap"],
        "new gap": pairs[0][1]["gap"],
        "old seconds": best[0],
        "new seconds": best[1],
        "new / old": best[1] / best[0],
        "new / old, computing": least[1] / least[0],
    }


def _ask(child, cell):
    print(json.dumps(cell), file=child.stdin, flush=True)
    return json.loads(child.stdout.readline())


def serve():
    """Fit cells that come as lines of JSON; answer with time and gap."""
    from localmkl import CLMKLClassifier, GramStack

    known: dict = {}
    for line in sys.stdin:
        cell = json.loads(line)
        key = cell["n"], cell["l"]
        if key not in known:
            known.clear()
            known[key] = _data(*key)
        grams, y, gate = known[key]
        options = {"n_clusters": cell["l"], "evenness": 1.0, "gate": gate, "normalize": None}
        model = CLMKLClassifier("precomputed", C=cell["C"], p=cell["p"], tol=cell["tol"], **options)
        if "scale_C" in model.get_params():  # commits before it had the paper's scaling alone
            model.set_params(scale_C=False)
        start, computing = time.perf_counter(), time.process_time()
        model.fit(GramStack(grams), y)
        seconds, computing = time.perf_counter() - start, time.process_time() - computing
        print(json.dumps({"seconds": seconds, "computing": computing, "gap": model.duality_gap_}), flush=True)


def _data(n, n_clusters):
    """Return blobs as `references.make_blobs` makes them, and soft memberships of random rows."""
    import numpy as np
    from sklearn.metrics.pairwise import rbf_kernel

    rng = np.random.default_rng(0)
    blob = rng.integers(6, size=n)
    X = rng.normal(scale=0.8, size=(6, 50))[blob] + rng.normal(size=(n, 50))
    y = np.where(blob % 2 == 0, 1.0, -1.0) * np.where(rng.uniform(size=n) < 0.05, -1.0, 1.0)
    grams = np.empty((20, n, n))
    for m, gamma in enumerate(np.logspace(-4, 1, 10)):
        grams[m] = rbf_kernel(X, gamma=gamma)
        grams[10 + m] = rbf_kernel(X[:, rng.choice(50, size=10, replace=False)], gamma=0.1)
    centres = X[rng.choice(n, size=n_clusters, replace=False)]
    distances = ((X[:, None] - centres) ** 2).sum(axis=2)
    gate = np.exp(-0.02 * (distances - distances.min(axis=1, keepdims=True)))
    return grams, y, gate / gate.sum(axis=1, keepdims=True)


if __name__ == "__main__":
    main()
