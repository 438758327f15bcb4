"""Fits, searches, `tune` and predictions under a limit of memory: of the process, or of a real control group.

Each runs once under the limit and once without. Under it, it must finish, or be refused in one sentence with
the bytes needed and available. A defect is anything else: killed, NumPy's own MemoryError, a traceback, a
refusal although a tenth more than was used was there, or bytes said that are more than a tenth off.
"""

import contextlib
import gc
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import uuid
import warnings
from pathlib import Path

import numpy as np

TRIALS = 60
SHORT = 1
LIMIT = 300.0
"""Seconds: the work is done twice, and libraries may compile."""
WORKS = ("fit", "search", "tune", "predict")
METHODS = ("UniformMKL", "MKL", "HLMKL", "CLMKL", "LMKL")
TOLERANCE = 0.1
SENTENCE = re.compile(r"needs? [\d,]+ bytes .*available.*; [^\n]*\.$")
SETTLED = 48 * 2**20
"""Growth below this is as much the C library's as ours."""
GROUPS = Path("/sys/fs/cgroup")


def trial(seed):
    rng = np.random.default_rng(seed)
    work = WORKS[seed % len(WORKS)]
    case = {
        "work": work,
        "limit": "group" if seed // 4 % 2 and _group_folder() else "process",
        "method": str(rng.choice(METHODS[1:] if work == "tune" else METHODS)),
        "rows": int(rng.integers(600, 1400)),
        "kernels": int(rng.integers(4, 11)),
        "classes": int(rng.choice([2, 2, 3])),
        "learning": bool(rng.integers(2)),
        "share": float(rng.uniform(0.5, 1.6)),
        "seed": seed,
    }
    try:
        return run_case(case)
    except subprocess.TimeoutExpired as error:
        return {"verdict": "too slow", "defect": f"no end within {error.timeout:.0f} s", **case}


def run_case(case):
    """Return a case with what came out of it, in a process of its own; without a limit, only measured."""
    with tempfile.TemporaryDirectory() as folder, _group(case["limit"]) as group:
        known = {**case, "folder": folder, "group": group}
        answer = subprocess.run(
            [sys.executable, "-m", "benchmarks.hostile.limits", json.dumps(known)],
            capture_output=True,
            text=True,
            timeout=LIMIT - 20.0,
            check=False,
        )
    if answer.returncode != 0:
        last = " ".join(answer.stderr.strip().splitlines()[-2:])
        return {"verdict": "ended", "defect": f"exit code {answer.returncode}: {last}", **case}
    return {**case, **json.loads(answer.stdout.splitlines()[-1])}


def _judge(case):
    """Run the work under the limit and without one; return what is to be known of it."""
    run, said = _prepare(case)
    room = int(case["share"] * 1.2 * 8 * case["kernels"] * case["rows"] ** 2)
    if case["work"] == "predict":
        room = int(case["share"] * 2**27)
    problem, before = None, _status("VmRSS")
    if case["limit"] is not None:
        with _limited(case["group"], room):
            problem = _outcome(run)
    gc.collect()
    peak = _peak(run) - before
    found = {"said": said(), "peak": peak, "room": room, "off": round(said() / peak - 1.0, 3)}
    if problem is None:
        verdict, defect = "finished", None
    elif not SENTENCE.search(problem):
        verdict, defect = "unclear", problem
    else:
        verdict = "refused"
        too_early = room > (1.0 + TOLERANCE) * peak + SETTLED
        defect = f"refused, though {peak} bytes are used and {room} were there" if too_early else None
    if defect is None and abs(found["said"] - peak) > max(TOLERANCE * peak, SETTLED / 2):
        defect = f"{found['said']} bytes were said, {peak} used"
    return {"verdict": verdict, "defect": defect, **found}


def _outcome(run):
    """Return the text of an error, or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run()
        except MemoryError as error:
            return str(error)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return None


def _prepare(case):
    """Return the work as a function without arguments, and one that returns the bytes it said."""
    import localmkl
    from localmkl.kernels import RBF
    from localmkl.model_selection import MKLSearchCV

    X, y = _data(case["rows"], case["classes"], case["seed"])
    widths = np.logspace(-2.5, 0, case["kernels"])
    kernels = [RBF(factor=10.0 * width) if case["learning"] else RBF(gamma=width) for width in widths]
    kind = getattr(localmkl, case["method"] + "Classifier")
    options = {"random_state": 0, "n_init": 2}
    options = {key: value for key, value in options.items() if key in kind().get_params()}

    def make():
        return kind(kernels, **options)

    warm = _data(700, case["classes"], 0)
    make().fit(*warm)
    if case["work"] == "fit":
        n_problems = case["classes"] if case["classes"] > 2 else 1
        return lambda: make().fit(X, y), lambda: make()._fitting_bytes(X, n_problems)[1]
    if case["work"] == "predict":
        path = Path(case["folder"]) / "model.localmkl"
        localmkl.save(make().fit(X, y), path)
        gc.collect()
        model, new = localmkl.load(path), _data(12000, 2, 1)[0]
        return lambda: model.predict(new), lambda: model._predicting_bytes(len(new), len(X))
    said = _listen()
    if case["work"] == "search":
        grid = {"C": [0.1, 1.0, 10.0]}
        MKLSearchCV(make(), grid, cv=2).fit(warm[0][:200], warm[1][:200])
        return lambda: MKLSearchCV(make(), grid, cv=3).fit(X, y), lambda: said[-1]
    _tune(case, warm[0][:100], warm[1][:100])()  # libraries that the command line loads on first use
    return _tune(case, X, y), lambda: said[-1]


def _tune(case, X, y):
    from localmkl.cli import main

    folder = Path(case["folder"])
    table, out = folder / "table.csv", folder / "model.localmkl"
    header = ",".join([*(f"x{k}" for k in range(X.shape[1])), "label"])
    rows = [",".join([*map(repr, row.tolist()), f"c{label}"]) for row, label in zip(X, y, strict=True)]
    table.write_text("\n".join([header, *rows]) + "\n")
    widths = "rbf:" + ",".join(f"{0.01 * 2.0**k:.6g}" for k in range(case["kernels"]))
    words = ["tune", str(table), "--out", str(out), "--target", "label", "--method", case["method"].lower()]
    words += ["--kernels", widths, "--C", "0.1,1,10", "--folds", "3", "--quiet"]
    words += [] if case["method"] in ("UniformMKL", "LMKL") else ["--p", "2"]
    words += ["--evenness", "0.6"] if case["method"] == "CLMKL" else []

    def run():
        spoken = io.StringIO()
        for left in folder.glob("model.localmkl*"):
            left.unlink()
        sys.argv = ["localmkl", *words]
        with contextlib.redirect_stderr(spoken), contextlib.redirect_stdout(spoken):
            try:
                main()
            except SystemExit as end:
                code = end.code
        if code:
            raise MemoryError(spoken.getvalue().strip().splitlines()[-1])

    return run


def _listen():
    """Return a list of what searches will say that they need in memory, all stacks included."""
    from localmkl._resources import matrix_bytes
    from localmkl.model_selection.grams import SharedGrams

    said, settle = [], SharedGrams.settle

    def settle_aloud(self, stacks, beside, at_last, workers):
        gram = matrix_bytes(len(self.X))
        in_turn = settle(self, stacks, beside, at_last, workers)
        sizes = [gram * self._n_grams(*key) for key in {key for keys in stacks for key in keys}]
        last = (2 if len(sizes) > 1 else 1) * max(sizes)
        said.append(max(sum(sizes) + max(beside, 2 * gram), last + max(at_last, 2 * gram)))
        return in_turn

    SharedGrams.settle = settle_aloud
    return said


@contextlib.contextmanager
def _limited(group, room):
    """Leave this process so many bytes of memory: by a control group, or, without one, by its own limit."""
    if group is None:
        import resource

        before = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (_status("VmSize") + room, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_AS, before)
        return
    own, group = _group_folder(), Path(group)
    name = "memory.max" if (group / "memory.max").exists() else "memory.limit_in_bytes"
    try:
        (group / "cgroup.procs").write_text(str(os.getpid()))
        (group / name).write_text(str(room))
        yield
    finally:
        (own / "cgroup.procs").write_text(str(os.getpid()))


@contextlib.contextmanager
def _group(kind):
    """Make a control group within this process's own, and remove it, however the trial in it ends."""
    if kind != "group":
        yield None
        return
    group = _group_folder() / f"localmkl-{uuid.uuid4().hex}"
    group.mkdir()
    try:
        yield str(group)
    finally:
        while (group / "cgroup.procs").read_text():  # a process that was killed takes a moment to leave
            time.sleep(0.1)
        group.rmdir()


def _group_folder():
    """Return the folder of this process's control group where groups can be made in it, else None."""
    for line in Path("/proc/self/cgroup").read_text().splitlines() if sys.platform == "linux" else []:
        _, controllers, path = line.split(":", 2)
        folder = GROUPS / controllers / path.strip("/")
        counted = controllers == "memory" or (not controllers and (folder / "memory.max").exists())
        if counted and os.access(folder, os.W_OK):
            return folder
    return None


def _data(n_rows, n_classes, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 10))
    score = X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.1 * rng.normal(size=n_rows)
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


def _peak(run):
    """Return the bytes at which the memory of this process peaks."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run()
    return _status("VmHWM")


def _status(key):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(f"{key}:")).split()[1]) * 1024


if __name__ == "__main__":
    print(json.dumps(_judge(json.loads(sys.argv[1]))))
