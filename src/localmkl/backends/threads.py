"""Safe threads: one threaded loop at a time, none in a forked child, BLAS held back together.

numba's pools of threads do not survive a fork (OpenMP's ends the child), and numba's own pool ends the
process when two threads enter it at once. Every loop is compiled twice, so there is always a way without
threads, and it gives the same numbers.
"""

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@dataclass(frozen=True)
class Threaded:
    """A loop in threads that waits for its turn; serial in a forked child.

    Parameters
    ----------
    parallel, serial : callable
        The same loop, compiled twice.
    """

    parallel: Callable
    serial: Callable

    def __call__(self, *arguments):
        """Run the loop."""
        if _state.forked:
            return self.serial(*arguments)
        with _state.turn:
            return self.parallel(*arguments)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread within a ``with`` block.

    The solvers switch often between short BLAS calls and compiled loops; with two pools of threads that spin
    for work on the same cores, both take twice as long. The number of threads belongs to the process: of
    several fits at once, the first to begin lowers it and the last to end restores it.
    """
    state = _state
    with state.counting:
        if state.inside == 0:
            state.limiter = _controller().limit(limits=1, user_api="blas")
            _let_any_thread_restore()
        state.inside += 1
    try:
        yield
    finally:
        with state.counting:
            state.inside -= 1
            if state.inside == 0:
                state.limiter.restore_original_limits()
                _let_any_thread_restore()


def free_threads() -> int:
    """Return how many threads may share work that Python hands out, such as blocks of rows.

    As many as there are cores for this process, or fewer where BLAS or numba are limited to fewer; one in a
    worker process, and in any thread but the main one: whoever started those uses the cores already.
    """
    from joblib import cpu_count  # brings NumPy, for which `--help` should not wait

    started = multiprocessing.current_process().name != "MainProcess"
    if _state.forked or started or threading.current_thread() is not threading.main_thread():
        return 1
    limits = [library.num_threads for library in _controller().lib_controllers if library.user_api == "blas"]
    if "numba" in sys.modules:  # else nobody has limited it
        limits.append(sys.modules["numba"].get_num_threads())
    return int(max(1, min([cpu_count(), *(limit for limit in limits if limit)])))


def _let_any_thread_restore():
    """End the control of this thread over BLAS: threadpoolctl ignores the others until then."""
    with _controller().limit(limits=None):
        pass


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


class _State:
    """Locks and counts of this process."""

    def __init__(self, *, forked):
        self.forked = forked
        self.turn = threading.Lock()
        self.counting, self.inside = threading.Lock(), 0
        self.limiter: Any = None


def _begin_child():
    """Start afresh: the threads that held locks are not in this process."""
    global _state
    _state = _State(forked=True)


_state = _State(forked=False)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)
