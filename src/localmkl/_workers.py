"""Worker processes that end when the process that started them has ended, however that was."""

import os
import signal
import threading
import time
from contextlib import contextmanager

from joblib import Parallel
from joblib._parallel_backends import LokyBackend
from joblib.parallel import get_active_backend

PAUSE = 0.5
"""Seconds after which a worker looks again whether its parent is there."""


def parallel(n_jobs, **options):
    """Return joblib's ``Parallel``; workers of its own kind do not outlive this process."""
    active, _ = get_active_backend()
    if type(active) is LokyBackend and not getattr(active, "backend_kwargs", None):
        options["backend"] = _Watched(inner_max_num_threads=active.inner_max_num_threads)
    return Parallel(n_jobs, **options)


class _Watched(LokyBackend):
    """joblib's processes, each with a watch on its parent; alone they would wait five minutes for work."""

    def configure(self, *args, **options):
        with _deaf():
            n_jobs = super().configure(*args, initializer=_watch, initargs=(os.getpid(),), **options)
            self._workers.submit(int)  # the first task starts them all
        return n_jobs


@contextmanager
def _deaf():
    """Put off Ctrl-C and the end of the terminal here; processes started meanwhile never hear them.

    Both are the parent's matter: workers follow it, and the process of joblib that cleans up comes last.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _watch(parent):
    """End with the parent."""
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()


def _leave_with(parent):
    while os.getppid() == parent:
        time.sleep(PAUSE)
    os._exit(1)
