"""Full disks and limits of file sizes at random moments of fit, tune, predict, report and a search in Python.

A defect is a command that fails without naming what could not be written and what to do, an old result or
finished work that is lost, a file that is left behind, or a command that, given again with room, does not end
with the results of an undisturbed run. Disks are small ones in memory where they can be mounted (by root);
elsewhere, and in every other trial, the system limits the size of files.
"""

import os
import random
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

from benchmarks.hostile.kills import COMMANDS, KEPT, OUT, TABLE, Bench, reference

TRIALS = 40
SHORT = 1
LIMIT = 300.0
DISK = 8 * 2**20
"""Bytes of a small disk: more than any command needs."""
LARGEST = {"fit": 30_000, "tune": 40_000, "predict": 9_000, "report": 1_000_000, "search": 14_000}
"""About the bytes of the largest file of each command."""
PAGE = 4096


def trial(seed):
    rng = random.Random(seed)
    name = list(COMMANDS)[seed % len(COMMANDS)]
    _, expected = reference(name)
    room = int(rng.random() * LARGEST[name])
    with small_disk(seed // len(COMMANDS) % 2 == 0) as disk, Bench(name, old=True, folder=disk) as bench:
        if disk is None:
            limits = {"RLIMIT_FSIZE": max(room, PAGE)}  # what the command says needs some too
        else:
            limits = {}
            _fill(disk, room)
        code, said = bench.finish(COMMANDS[name], **limits)
        defect = None if code == 0 else _unclear(bench, name, code, said)
        (bench.work / "filling").unlink(missing_ok=True)
        defect = defect or bench.left_behind(max(bench.codes)) or bench.broken(expected)
        defect = defect or bench.again(expected)
    verdict = f"{'limit' if disk is None else 'disk'} {'large enough' if code == 0 else 'too small'}"
    return {"verdict": verdict, "defect": defect, "command": name, "room": room}


def _unclear(bench, name, code, said):
    """Return what is wrong with a failure for want of room."""
    last = said.strip().splitlines()[-1] if said.strip() else ""
    if name == "search":
        clear = code == 1 and last.startswith("OSError: [Errno") and last.endswith("'")
    else:
        clear = code == 1 and "cannot be written: " in last and "give the command again" in last
    if not clear:
        return f"ended with {code} and said {said[-300:]!r}"
    if name == "tune" and (f"'{OUT}'" in last or f"'{TABLE}'" in last) and not (bench.work / KEPT).exists():
        return "the search was finished, and its work is lost"
    if (bench.work / OUT).read_bytes() != bench.old:
        return "the old result is lost"
    return None


@contextmanager
def small_disk(wanted):
    """Yield a folder on a disk of its own, or None where there can be none."""
    if not wanted or os.geteuid() != 0:
        yield None
        return
    folder = tempfile.mkdtemp(prefix="hostile-disk-")
    mounted = subprocess.call(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", folder]) == 0
    try:
        yield folder if mounted else None
    finally:
        if mounted:
            subprocess.check_call(["umount", folder])
        shutil.rmtree(folder)


def _fill(disk, room):
    """Leave this many bytes on a disk, in whole pages."""
    free = shutil.disk_usage(disk).free
    (Path(disk) / "filling").write_bytes(bytes(max(free - room, 0) // PAGE * PAGE))
