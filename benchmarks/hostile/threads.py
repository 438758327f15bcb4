"""Fits in several threads and in forked children, under both of numba's pools: all must agree with one alone.

A defect is an answer that differs by more than rounding, an abort, a hang, or BLAS left at fewer threads. No
child is forked while threads compute: BLAS itself may then hang in the child.
"""

import json
import multiprocessing
import os
import subprocess
import sys
import threading

import numpy as np

TRIALS = 60
SHORT = 1
LIMIT = 240.0
METHODS = ("UniformMKL", "MKL", "HLMKL", "CLMKL", "LMKL")
POOLS = ("workqueue", "omp")
ROUNDING = 1e-6


def trial(seed):
    rng = np.random.default_rng(seed)
    case = {
        "pool": POOLS[seed % len(POOLS)],
        "methods": rng.choice(METHODS, size=rng.integers(1, 4), replace=False).tolist(),
        "threads": int(rng.integers(1, 5)),
        "forks": int(rng.integers(0, 3)) if hasattr(os, "fork") else 0,
        "fork_first": bool(rng.integers(2)),
        "rows": int(rng.integers(200, 650)),
        "regression": bool(rng.integers(2)),
        "n_jobs": int(rng.choice([1, 2])),
        "seed": seed,
    }
    environment = {**os.environ, "NUMBA_THREADING_LAYER": case["pool"]}
    answer = subprocess.run(
        [sys.executable, "-m", "benchmarks.hostile.threads", json.dumps(case)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    if answer.returncode != 0:
        last = " ".join(answer.stderr.strip().splitlines()[-3:])
        return {"verdict": "ended", "defect": f"exit code {answer.returncode}: {last}", **case}
    found = json.loads(answer.stdout.splitlines()[-1])
    return {"verdict": found["verdict"], "defect": found["defect"], **case}


def _work(case):
    """Fit alone, then in threads and forked children at once; return the verdict."""
    from threadpoolctl import threadpool_info

    blas = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    alone = [_decisions(case, name) for name in case["methods"]]
    pipes, children, found, threads = [], [], [], []

    def start_threads():
        for number in range(case["threads"]):
            name = case["methods"][number % len(alone)]
            threads.append(threading.Thread(target=lambda n=name: found.append((n, _decisions(case, n)))))
        [thread.start() for thread in threads]
        if not case["fork_first"]:
            [thread.join() for thread in threads]

    def fork():
        for number in range(case["forks"]):
            name, context = case["methods"][number % len(alone)], multiprocessing.get_context("fork")
            mine, theirs = context.Pipe()
            pipes.append((name, mine))
            children.append(context.Process(target=_send, args=(case, name, theirs)))
            children[-1].start()
            theirs.close()

    for action in (fork, start_threads) if case["fork_first"] else (start_threads, fork):
        action()
    [thread.join() for thread in threads]
    if len(found) < case["threads"]:
        return "ended", "a thread ended without an answer"
    for name, pipe in pipes:
        try:
            found.append((name, pipe.recv()))
        except EOFError:
            return "ended", f"a forked child ended without an answer ({name})"
    [child.join() for child in children]
    for name, answer in found:
        expected = alone[case["methods"].index(name)]
        difference = float(np.abs(answer - expected).max() / max(1.0, np.abs(expected).max()))
        if not difference <= ROUNDING:
            return "different", f"{name} differs by {difference:.1e}"
    after = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    if after[: len(blas)] != blas:
        return "changed", f"BLAS had {blas} threads, and has {after}"
    return "equal", None


def _send(case, name, pipe):
    pipe.send(_decisions(case, name))
    pipe.close()


def _decisions(case, name):
    import localmkl
    from localmkl.datasets import make_localized

    X, y = make_localized(n_samples=case["rows"], regression=case["regression"], random_state=case["seed"])[
        :2
    ]
    kind = getattr(localmkl, name + ("Regressor" if case["regression"] else "Classifier"))
    known = kind().get_params()
    options = {"random_state": 0, "n_init": 2, "max_iter": 20 if name == "LMKL" else 500, "tol": 1e-3}
    model = kind(**{key: value for key, value in options.items() if key in known}, n_jobs=case["n_jobs"])
    model.fit(X, y)
    return model.predict(X) if case["regression"] else model.decision_function(X)


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    verdict, defect = _work(json.loads(sys.argv[1]))
    print(json.dumps({"verdict": verdict, "defect": defect}))
