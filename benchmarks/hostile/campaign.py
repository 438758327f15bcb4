"""Trials in processes of their own: one that hangs or crashes is a row like any other, and the run goes on.

A row is a line of JSON, written when its trial has ended. Seeds that have a row are not tried again. Limits
are seconds of computing, so that a busy machine makes no trial hang; ten times as many of waiting.
"""

import json
import multiprocessing
import os
import time
from collections import Counter
from importlib import import_module
from multiprocessing.connection import wait
from pathlib import Path

from benchmarks import harness

GRACE = 5.0
"""Seconds beyond a campaign's limit after which a trial counts as hanging."""
WAITING = 10.0
"""Multiple of a campaign's limit after which a trial that only waits counts as hanging."""
FIRST_GRACE = 120.0
"""The first trial of a process also imports and compiles."""
SHOWN = 20
"""Defects that a summary writes out."""


def run(name, seeds, folder, *, jobs=1, minutes=float("inf")):
    """Run the trials of a module that have no row yet; return all rows of these seeds.

    Parameters
    ----------
    name : str
        The module's full name.
    seeds : range
    folder : path-like
        Where rows are kept, one file for each campaign.
    jobs : int
        Trials at the same time.
    minutes : float
        Start no trial after this time.
    """
    path = Path(folder) / f"{name.rpartition('.')[2]}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = {row["seed"]: row for row in _read(path)}
    left = iter([seed for seed in seeds if seed not in rows])
    limit = import_module(name).LIMIT
    end = time.monotonic() + 60.0 * minutes
    with open(path, "a", encoding="utf-8") as file:
        slots = [_Slot(name, limit) for _ in range(jobs)]
        try:
            busy = [slot for slot in slots if slot.begin(next(left, None))]
            while busy:
                wait([slot.pipe for slot in busy], timeout=1.0)
                for slot in list(busy):
                    row = slot.row()
                    if row is None:
                        continue
                    rows[row["seed"]] = row
                    file.write(json.dumps(row) + "\n")
                    file.flush()
                    following = next(left, None) if time.monotonic() < end else None
                    if not slot.begin(following):
                        busy.remove(slot)
        finally:
            for slot in slots:
                slot.stop()
    return [rows[seed] for seed in seeds if seed in rows]


def summarise(name, rows, out):
    """Write counts, defects and the machine to a file; return them as text."""
    verdicts = Counter(row["verdict"] for row in rows)
    defects = [row for row in rows if row["defect"]]
    seconds = sorted(row["seconds"] for row in rows)
    content = {
        "provenance": harness.provenance(),
        "trials": len(rows),
        "seeds": [min(row["seed"] for row in rows), max(row["seed"] for row in rows)] if rows else [],
        "verdicts": dict(verdicts.most_common()),
        "defects": len(defects),
        "shown": defects[:SHOWN],
        "slowest_seconds": round(seconds[-1], 3) if rows else None,
    }
    path = Path(out) / f"hostile_{name}.json"
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    told = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    lines = [f"{name}: {len(rows)} trials, {len(defects)} defects ({told}); {path}"]
    return "\n".join(lines + [f"  seed {row['seed']}: {row['defect']}" for row in defects[:SHOWN]])


def _read(path):
    """Return the rows of a file; a last line that was cut short is cut off."""
    if not path.exists():
        return []
    content = path.read_bytes()
    os.truncate(path, content.rfind(b"\n") + 1)
    return [json.loads(line) for line in content.split(b"\n")[:-1]]


class _Slot:
    """A worker process, replaced when a trial hangs in it or ends it."""

    def __init__(self, name, limit):
        self.name, self.limit = name, limit
        self.process, self.seed = None, None

    def begin(self, seed):
        """Hand the next trial to the process; return whether there is one."""
        if seed is None:
            return False
        self.grace = GRACE
        if self.process is None:
            self.grace = FIRST_GRACE
            self.pipe, theirs = multiprocessing.Pipe()
            context = multiprocessing.get_context("spawn")
            self.process = context.Process(target=_work, args=(self.name, theirs))
            self.process.start()
            theirs.close()
        self.seed, self.start, self.computed = seed, time.monotonic(), _computed(self.process.pid)
        self.pipe.send(seed)
        return True

    def row(self):
        """Return the row of the trial if it has ended, well or not."""
        seconds = time.monotonic() - self.start
        if self.pipe.poll():
            try:
                row = self.pipe.recv()
            except EOFError:
                return self._lost("crash", f"the process ended with code {self._exit_code()}", seconds)
            effort = row.pop("effort")
            if effort > self.limit and row["defect"] is None:
                row["defect"] = f"took {effort:.1f} s of computing, {self.limit} s are allowed"
            return row
        effort = _computed(self.process.pid) - self.computed
        if effort > self.limit + self.grace or seconds > WAITING * (self.limit + self.grace):
            return self._lost("hang", f"no end within {self.limit} s", seconds)
        return None

    def _lost(self, verdict, defect, seconds):
        self.stop()
        return {"seed": self.seed, "verdict": verdict, "defect": defect, "seconds": seconds}

    def _exit_code(self):
        self.process.join()
        return self.process.exitcode

    def stop(self):
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
            self.process = None


def _computed(pid):
    """Return the seconds that a process has computed; where the system does not say, the time."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return time.monotonic()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def _work(name, pipe):
    """Answer seeds with rows until the parent is gone."""
    module = import_module(name)
    while True:
        try:
            seed = pipe.recv()
        except EOFError:
            return
        start, effort = time.perf_counter(), sum(os.times()[:4])
        try:
            row = module.trial(seed)
        except Exception as error:
            row = {"verdict": "unexpected", "defect": f"{type(error).__name__}: {error}"}
        seconds, effort = time.perf_counter() - start, sum(os.times()[:4]) - effort
        pipe.send({"seed": seed, **row, "seconds": seconds, "effort": effort})
