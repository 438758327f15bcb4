"""What every benchmark shares: timing after warm-up, medians, peak memory, provenance, tables and JSON.

A benchmark is a module beside this one with a function ``run(smoke) -> list of rows``; a row is a flat
dictionary. Smoke mode uses tiny sizes: the tests run it to see that the code still works.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich.console import Console
from rich.table import Table

PACKAGES = ("localmkl", "numpy", "scipy", "scikit-learn", "numba")


def seconds(function, *, repeats=3, warmup=1):
    """Return the median time of a call, after calls that do not count."""
    for _ in range(warmup):
        function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def stack_pass(grams, repeats=7):
    """Return the time to read a stack once (``grams.sum()``): the unit of cost."""
    return seconds(grams.sum, repeats=repeats)


def peak_memory(code):
    """Run Python code in a new process; return what it printed and the bytes its memory peaked at."""
    # VmHWM begins with the process; ru_maxrss would begin with the size of this one.
    script = f"{code}\nprint(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    *printed, peak = answer.stdout.strip().splitlines()
    return printed, int(peak.split()[1]) * 1024


def provenance():
    """Return who measured: machine, versions, commit, time."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent,
    )
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = None
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit.stdout.strip() or None,
        "machine": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **versions,
    }


def show(name, rows, console=None):
    """Print rows as a table; columns in order of first appearance."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    table = Table(*columns, title=name)
    for row in rows:
        table.add_row(*(_cell(row.get(column, "")) for column in columns))
    (console or Console(width=160)).print(table)


def write(name, rows, folder):
    """Write rows and provenance to ``folder/name.json``."""
    path = Path(folder) / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps({"provenance": provenance(), "rows": rows}, indent=1, default=float) + "\n")
    partial.replace(path)
    return path


def _cell(value):
    if isinstance(value, float):
        return f"{value:.3g}"
    return str(value)
