"""Signals at random moments of fit, tune, predict, report and of a search in Python.

A defect is a process or a file that is left behind, an end that takes longer than `AFTER` seconds (or, on a
busy machine, than the command itself), a result that is neither the old one nor the new one, or a command
that, given again, does not end with the results of an undisturbed run. A program that has everything imported
forks a process for each command: signals meet work, not imports.
"""

import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import chdir, suppress
from functools import cache
from importlib import import_module
from pathlib import Path

TRIALS = 300
SHORT = 1
LIMIT = 300.0
AFTER = 5.0
"""Seconds after a signal in which everything must be gone."""
PATIENCE = 120.0
"""Seconds that an undisturbed command may take."""

ROWS = 40
DATA, MODEL, OUT, TABLE, KEPT = "data.csv", "known.localmkl", "out", "scores.csv", "out.checkpoint"
GRID = ("--C", "0.1,1", "--p", "1,2", "--evenness", "0.6,1", "--clusters", "2", "--folds", "2")
COMMANDS = {
    "fit": ("fit", DATA, "--target", "y", "--no-tune", "--out", OUT),
    "tune": ("tune", DATA, "--target", "y", *GRID, "--jobs", "2", "--out", OUT, "--table", TABLE),
    "predict": ("predict", MODEL, DATA, "--out", OUT),
    "report": ("report", MODEL, "--out", OUT, "--folds", "2", "--stability", "0"),
    "search": ("search",),
}
"""Words of the command line; the last is `search` below."""
TURNS = ("fit", "tune", "predict", "report", "search", "fit", "predict", "report", "fit", "predict")
"""Commands of the trials, those with workers in every fifth one: starting workers takes seconds."""
CHECK = ("predict", OUT, DATA, "--out", "check.csv")
SIGNALS = ("SIGTERM", "SIGKILL", "SIGINT", "SIGINT twice", "SIGHUP")


def trial(seed):
    rng = random.Random(seed)
    name, how = TURNS[seed % len(TURNS)], rng.choice(SIGNALS)
    # Killed together with the workers, joblib's own guard of their semaphores could not clean up either.
    together = rng.random() < 0.5 and (how != "SIGKILL" or name not in ("tune", "search"))
    seconds, expected = reference(name)
    with Bench(name, old=rng.random() < 0.5) as bench:
        process = bench.start(COMMANDS[name])
        time.sleep(rng.random() * seconds)
        finished = bench.code(process) is not None
        defect = bench.stop(process, how, together, max(AFTER, seconds)) or bench.left_behind(process)
        if name != "search" and ("Traceback" in bench.said() or "please report" in bench.said()):
            defect = defect or f"it said {bench.said()[-300:]!r}"
        defect = defect or bench.broken(expected) or bench.again(expected)
        code = bench.code(process)
    verdict = "finished before" if finished else f"stopped by {how}"
    return {"verdict": verdict, "defect": defect, "command": name, "together": together, "code": code}


@cache
def reference(name):
    """Return how long a command takes, and what it gives, undisturbed."""
    with Bench(name) as bench:
        start = time.monotonic()
        bench.finish(COMMANDS[name])
        return time.monotonic() - start, bench.results()


class Bench:
    """A folder with data, a folder for temporary files, and processes that work there.

    Parameters
    ----------
    name : str
        A key of `COMMANDS`.
    old : bool
        Whether a result of another run is there already.
    folder : path-like or None
        Where to work; by default in a new folder that is removed at the end.
    """

    def __init__(self, name, *, old=False, folder=None):
        self.name, self.codes, self.given = name, {}, folder
        self.old = _old(name) if old else None

    def __enter__(self):
        self.home = Path(tempfile.mkdtemp(prefix="hostile-"))
        self.work = self.home / "work" if self.given is None else Path(self.given)
        self.temporary = self.home / "temporary"
        for folder in (self.work, self.temporary):
            folder.mkdir(exist_ok=True)
        for name, content in supplies(self.name in ("predict", "report")).items():
            (self.work / name).write_bytes(content)
        if self.old is not None:
            (self.work / OUT).write_bytes(self.old)
        return self

    def __exit__(self, *_):
        for process in self.codes:
            for member in members(process):
                os.kill(member, signal.SIGKILL)
        shutil.rmtree(self.home)

    def start(self, words, **limits):
        """Begin a command; return its process."""
        process = _ask(run=words, work=str(self.work), home=str(self.home), limits=limits)
        self.codes[process] = None
        return process

    def code(self, process):
        """Return the exit code, None while there is none."""
        if self.codes[process] is None:
            self.codes[process] = _ask(poll=process)
        return self.codes[process]

    def said(self):
        """Return what commands have said on stderr."""
        return (self.home / "said").read_text(errors="replace")

    def finish(self, words, **limits):
        """Run a command to its end; return its exit code and what it said."""
        (self.home / "said").write_text("")
        process = self.start(words, **limits)
        _until(lambda: self.code(process) is not None, PATIENCE)
        return self.code(process), self.said()

    def stop(self, process, how, together, patience):
        """Send a signal, or two; return a defect if the process goes on."""
        number = getattr(signal, how.split()[0])
        for _ in range(1 + how.endswith("twice")):
            if self.code(process) is None:
                _send(process, number, together)
                time.sleep(0.05)
        if not _until(lambda: self.code(process) is not None, patience):
            return f"it still runs {patience:.1f} s after {how}"
        return None

    def left_behind(self, process):
        """Return a defect if processes or files are left."""
        if not _until(lambda: not members(process), AFTER):
            return f"{len(members(process))} processes are left"
        shared = Path("/dev/shm")
        _until(lambda: not list(shared.glob(f"*[-_]{process}[-_]*")), 1.0)
        left = [*shared.glob(f"*[-_]{process}[-_]*"), *self.temporary.iterdir()]
        left += [path for path in self.work.iterdir() if path.name.startswith(".")]
        return f"files are left: {', '.join(map(str, left))}" if left else None

    def broken(self, expected):
        """Return a defect if a result is there that is neither the old nor the new one."""
        for name in (OUT, TABLE):
            path = self.work / name
            if not path.exists() or {path.read_bytes(), self._undated(name)} & {self.old, expected.get(name)}:
                continue
            if name == OUT and self.name in ("fit", "tune") and self._answers() == expected["answers"]:
                continue
            return f"{name!r} is neither old nor new"
        return None

    def again(self, expected):
        """Give the command again; return a defect unless all is as if nothing had happened."""
        code, said = self.finish(COMMANDS[self.name])
        if code != 0:
            return f"given again it ended with {code}: {said[-300:]!r}"
        wrong = [name for name, content in self.results().items() if content != expected[name]]
        if wrong:
            return f"given again, {', '.join(wrong)} are not those of an undisturbed run"
        if self.name == "tune" and (self.work / KEPT).exists():
            return "the finished work is still there"
        return self.left_behind(max(self.codes))

    def results(self):
        """Return the results of the command, without what depends on time."""
        names = {"tune": (TABLE,), "fit": ()}.get(self.name, (OUT,))
        found = {name: self._undated(name) for name in names}
        if self.name in ("fit", "tune"):
            found["answers"] = self._answers()
        return found

    def _undated(self, name):
        return re.sub(rb"\d{4}-\d\d-\d\d \d\d:\d\d UTC", b"", (self.work / name).read_bytes())

    def _answers(self):
        code, said = self.finish(CHECK)
        path = self.work / "check.csv"
        content = path.read_bytes() if code == 0 else said
        path.unlink(missing_ok=True)
        return content


@cache
def supplies(with_model):
    """Return the content of the files that commands read."""
    rng = random.Random(0)
    rows = [[rng.gauss(0.0, 1.0) for _ in range(3)] for _ in range(ROWS)]
    lines = ["a,b,c,y", *(f"{a},{b},{c},{'yes' if a * b > c else 'no'}" for a, b, c in rows)]
    content = {DATA: "\n".join(lines).encode()}
    if with_model:
        with Bench("fit") as bench:
            bench.finish(COMMANDS["fit"])
            content[MODEL] = (bench.work / OUT).read_bytes()
    return content


def _old(name):
    """Return an earlier result of a command."""
    if name in ("fit", "tune"):
        return supplies(True)[MODEL]
    return {"predict": b"row,predicted,probability_1\n", "search": b"{}"}.get(
        name, b'<meta name="generator" content="localmkl">'
    )


def members(process):
    """Return the processes that a command has started, and itself."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = path.read_text().rpartition(") ")[2].split()[:4]
        except OSError:  # it has just ended
            continue
        if int(session) == process and state != "Z":
            found.append(int(path.parent.name))
    return found


def _send(process, number, together):
    with suppress(ProcessLookupError):  # it has just ended, or does not lead its group yet
        os.killpg(process, number) if together else os.kill(process, number)


def _until(holds, seconds):
    """Wait until something holds, not longer than some seconds; return whether it does."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def _ask(**request):
    program = _program()
    program.stdin.write(json.dumps(request) + "\n")
    program.stdin.flush()
    return json.loads(program.stdout.readline())


@cache
def _program():
    """Return the program that forks; it ends with this process."""
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.hostile.kills"],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # threads do not survive a fork
    )


def serve():
    """Fork a process for each request, and say how those before have ended."""
    for name in ("pandas", "localmkl.backends.compiled"):
        import_module(name)
    for name in ("cli.training", "model_selection", "report.sections"):
        import_module(f"localmkl.{name}")
    _warm_up()
    for line in sys.stdin:
        request = json.loads(line)
        if "poll" in request:
            process, status = os.waitpid(request["poll"], os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if process else None
        else:
            answer = os.fork()
            if answer == 0:
                return work(**request)
        print(json.dumps(answer), flush=True)
    return 0


def _warm_up():
    """Fit and predict once, so that compiled code is loaded; so few rows start no threads."""
    from localmkl.cli import app

    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        Path(DATA).write_bytes(supplies(False)[DATA])
        for words in (COMMANDS["fit"], CHECK):
            with suppress(SystemExit):
                app([*words, "--quiet"])


def work(run, work, home, limits):
    """Run a command in a session of its own."""
    os.setsid()
    for name in ("SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    nothing, said = os.open(os.devnull, os.O_RDWR), os.open(f"{home}/said", os.O_CREAT | os.O_WRONLY)
    for number, handle in enumerate((nothing, nothing, said)):
        os.dup2(handle, number)
    os.chdir(work)
    os.environ["TMPDIR"], tempfile.tempdir = f"{home}/temporary", None
    for name, value in limits.items():
        resource.setrlimit(getattr(resource, name), (value, value))
    if run == ["search"]:
        return search()
    from localmkl.cli import main

    sys.argv = ["localmkl", *run]
    return main()


def search():
    """Search with two workers, on rows that are large enough to be mapped; write the scores."""
    import numpy as np

    from localmkl import CLMKLClassifier
    from localmkl._files import write_whole
    from localmkl.kernels import RBF, Linear
    from localmkl.model_selection import MKLSearchCV

    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 4000))
    y = (X[:, 0] * X[:, 1] > 0.0).astype(int)
    model = CLMKLClassifier([RBF(), Linear()], n_clusters=2, random_state=0)
    grid = {"C": [0.1, 1.0], "evenness": [0.6, 1.0], "p": [1.0, 2.0]}
    found = MKLSearchCV(model, grid, cv=2, n_jobs=2, checkpoint=KEPT).fit(X, y)
    if found.interrupted_:
        return 130
    scores = {"scores": found.cv_results_["mean_test_score"].tolist(), "best": found.best_params_}
    write_whole(OUT, json.dumps(scores).encode())
    return 0


if __name__ == "__main__":
    sys.exit(serve())
