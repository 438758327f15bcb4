"""A whole grid of C and evenness in units of a cold fit, beside `GridSearchCV`; two workers beside one.

The grid: 7 values of C times 8 of evenness, 20 kernels, 3 clusters, gap 1e-3. A cold fit is that of the
grid's middle (C = 1, evenness 0.5); "mean cold fits" counts in units of what `GridSearchCV` takes for one fit
and score of the grid instead.
"""

import os
import re
import statistics
import tempfile
import threading
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit

from benchmarks import harness
from benchmarks.references import make_blobs
from localmkl import CLMKLClassifier, GramStack
from localmkl.model_selection import MKLSearchCV

C = 10.0 ** np.arange(-1.0, 2.1, 0.5)
EVENNESS = np.linspace(0.4, 0.8, 8)


def run(smoke):
    n = 60 if smoke else 800
    grid = {"C": C[2:4], "evenness": EVENNESS[::4]} if smoke else {"C": C, "evenness": EVENNESS}
    repeats = 1 if smoke else 3
    blobs = make_blobs(n * 5 // 4)
    stack = GramStack(blobs.grams)
    one_split = list(ShuffleSplit(1, train_size=n, random_state=0).split(blobs.y))  # its rows are shuffled
    folds = list(KFold(5, shuffle=True, random_state=0).split(blobs.y))
    rows = []
    for p in (4 / 3,) if smoke else (1, 4 / 3, 2):
        for name, cv in {"ShuffleSplit": one_split, "KFold": folds}.items():
            rows.append(_against_cold_fits(name, p, stack, blobs.y, cv, grid, repeats))
    rows += _two_workers(stack, blobs.y, {"ShuffleSplit": one_split, "KFold": folds}, grid, repeats)
    return rows


def _search(kind, p, cv, grid, **options):
    model = CLMKLClassifier("precomputed", p=p, C=1.0, evenness=0.5, scale_C=False, random_state=0)
    return kind(model, grid, cv=cv, scoring="roc_auc", refit=False, **options)


def _against_cold_fits(name, p, stack, y, cv, grid, repeats):
    train = cv[0][0]
    cold = clone(_search(MKLSearchCV, p, cv, grid).estimator)
    square = stack[np.ix_(train, train)]
    fit = harness.seconds(lambda: cold.fit(square, y[train]), repeats=3 * repeats)
    ours, theirs = _search(MKLSearchCV, p, cv, grid), _search(GridSearchCV, p, cv, grid)
    time_of_ours = harness.seconds(lambda: ours.fit(stack, y), repeats=repeats)
    time_of_theirs = harness.seconds(lambda: theirs.fit(stack, y), repeats=1, warmup=0)
    n_fits = len(grid["C"]) * len(grid["evenness"]) * len(cv)
    differences = [
        np.abs(ours.cv_results_[f"split{k}_test_score"] - theirs.cv_results_[f"split{k}_test_score"]).max()
        for k in range(len(cv))
    ]
    return {
        "what": name,
        "n": len(train),
        "p": round(p, 3),
        "fits": n_fits,
        "seconds": time_of_ours,
        "cold fits a split": time_of_ours / fit / len(cv),
        "mean cold fits a split": time_of_ours / (time_of_theirs / n_fits) / len(cv),
        "times less than GridSearchCV": time_of_theirs / time_of_ours,
        "largest difference of AUC": max(differences),
    }


def _two_workers(stack, y, splits, grid, repeats):
    """One worker against two, the stack in a file; memory by proportional set sizes at the busiest moment."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stack.npy"
        np.save(path, stack.grams)
        opened = GramStack.open(path)
        for name, cv in splits.items():
            # One thread each, so that two workers are compared with one and not with two threads.
            times = {}
            for n_jobs in (1, 2):
                search = _search(MKLSearchCV, 4 / 3, cv, grid, n_jobs=n_jobs)
                with _one_thread():
                    times[n_jobs] = harness.seconds(lambda s=search: s.fit(opened, y), repeats=repeats)
            with _MemoryWatch(path) as watch:
                _search(MKLSearchCV, 4 / 3, cv, grid, n_jobs=2).fit(opened, y)
            size = stack.grams.nbytes
            rows.append(
                {
                    "what": f"two workers, {name}",
                    "n": len(cv[0][0]),
                    "p": round(4 / 3, 3),
                    "fits": len(grid["C"]) * len(grid["evenness"]) * len(cv),
                    "seconds": times[2],
                    "times faster than one": times[1] / times[2],
                    "stack in memory (PSS)": watch.of_file / size,
                    "largest worker besides it": watch.largest_private / size,
                }
            )
    return rows


class _one_thread:
    """Keep compiled loops and BLAS of this process to one thread."""

    def __enter__(self):
        import numba
        from threadpoolctl import threadpool_limits

        self.before = numba.get_num_threads()
        numba.set_num_threads(1)
        self.limits = threadpool_limits(1)

    def __exit__(self, *_):
        import numba

        numba.set_num_threads(self.before)
        self.limits.unregister()


class _MemoryWatch(threading.Thread):
    """Look at the memory of this process and its children, over and over.

    `of_file` is what all of them together hold of one mapped file: pages that several share count once. It is
    a median, because processes are looked at one after the other and may change meanwhile. `largest_private`
    is the most that a child holds besides.
    """

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path, self.seen, self.largest_private = str(path), [], 0
        self.done = threading.Event()

    @property
    def of_file(self):
        return statistics.median(self.seen) if self.seen else 0

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.join()

    def run(self):
        me = os.getpid()
        while not self.done.wait(0.02):
            maps = {pid: _mappings(pid) for pid in (me, *_children(me))}
            parts = {
                pid: sum(pss for name, pss in entries if name == self.path) for pid, entries in maps.items()
            }
            if sum(part > 0 for pid, part in parts.items() if pid != me) > 1:
                self.seen.append(sum(parts.values()))
            for pid, entries in maps.items():
                if pid != me:
                    rest = sum(pss for name, pss in entries if name != self.path)
                    self.largest_private = max(self.largest_private, rest)


def _children(parent):
    """Return the numbers of all processes that descend from one."""
    found, new = set(), {parent}
    parents = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(entry.parent.name)] = int(entry.read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError):
            continue
    while new:
        new = {pid for pid, above in parents.items() if above in new and pid not in found}
        found |= new
    return found


def _mappings(pid):
    """Return (name, proportional set size in bytes) of every mapping of a process."""
    try:
        text = Path(f"/proc/{pid}/smaps").read_text()
    except OSError:
        return []
    entries = re.findall(r"^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \S+ *(.*)$|^Pss: +(\d+) kB$", text, re.MULTILINE)
    mappings, name = [], ""
    for title, size in entries:
        if size:
            mappings.append((name, 1024 * int(size)))
        else:
            name = title
    return mappings
