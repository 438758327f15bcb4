"""Threads and forks: the same numbers, and nobody ends the process."""

import multiprocessing
import os
import subprocess
import sys
import threading

import numba
import numpy as np
import pytest
from threadpoolctl import threadpool_info

from localmkl import CLMKLClassifier
from localmkl.backends import compiled, compiling, one_blas_thread, threads, together
from localmkl.datasets import make_localized

X, Y = make_localized(n_samples=600, random_state=0)[:2]


@pytest.fixture(autouse=True)
def threads_for_small_stacks_too(monkeypatch):
    monkeypatch.setattr(compiled, "_WORTH_THREADS", 0)
    monkeypatch.setattr(together, "_WORTH_THREADS", 0)


def dual_coef(_=None):
    return CLMKLClassifier(n_clusters=2, n_init=1, tol=1e-2, random_state=0).fit(X, Y).dual_coef_


def test_a_loop_has_one_user_at_a_time_and_a_forked_child_has_no_threads(monkeypatch):
    calls = []
    loop = threads.Threaded(
        lambda: calls.append(("parallel", threads._state.turn.locked())), lambda: calls.append("serial")
    )
    loop()
    monkeypatch.setattr(threads, "_state", threads._State(forked=True))
    loop()
    assert calls == [("parallel", True), "serial"]
    assert isinstance(compiled._block_products_parallel, threads.Threaded)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_child_forked_after_a_threaded_fit_gets_the_same_solution():
    here = dual_coef()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        there = pool.apply_async(dual_coef).get(timeout=60)
    np.testing.assert_array_equal(there, here)


FITS_AT_ONCE = """
import numba, threading
import numba
import numpy as np
from localmkl import MKLClassifier
from localmkl.backends import compiled, together
from localmkl.datasets import make_localized
compiled._WORTH_THREADS = together._WORTH_THREADS = 0
X, y = make_localized(n_samples=600, random_state=0)[:2]
found = [MKLClassifier(p=2).fit(X, y).dual_coef_]
work = [threading.Thread(target=lambda: found.append(MKLClassifier(p=2).fit(X, y).dual_coef_)) for _ in "ab"]
[thread.start() for thread in work], [thread.join() for thread in work]
print(numba.threading_layer(), len(found), np.ptp(found, axis=0).max() < 1e-10)  # rounding of BLAS
"""


def test_two_threads_may_fit_at_once_under_numbas_own_pool():
    # The pool is chosen once for a process, hence a new one.
    environment = {**os.environ, "NUMBA_THREADING_LAYER": "workqueue"}
    answer = subprocess.run(
        [sys.executable, "-c", FITS_AT_ONCE], env=environment, capture_output=True, text=True, check=False
    )
    assert answer.stdout.split() == ["workqueue", "3", "True"], answer.stderr


def test_fits_at_once_leave_the_number_of_blas_threads_as_it_was():
    def blas_threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    def stay(entered, leave):
        with one_blas_thread():
            entered.set()
            leave.wait(10)

    before = blas_threads()
    first, leave_first, second, leave_second = (threading.Event() for _ in range(4))
    work = [
        threading.Thread(target=stay, args=events)
        for events in ((first, leave_first), (second, leave_second))
    ]
    for thread, entered in zip(work, (first, second), strict=True):
        thread.start()
        entered.wait(10)
    leave_first.set()  # the first to come is the first to go
    work[0].join()
    assert set(blas_threads()) == {1}
    leave_second.set()
    work[1].join()
    assert blas_threads() == before


def test_who_wants_to_know_hears_once_that_something_is_compiled():
    calls = []
    compiling.before_compiling(lambda: calls.append("compiling"))
    try:
        numba.njit(lambda x: x + 1.0)(1.0)
        numba.njit(lambda x: x + 2.0)(1.0)
    finally:
        compiling.before_compiling(lambda: None)
    assert calls == ["compiling"]


def test_a_function_is_compiled_also_where_no_folder_can_keep_it(monkeypatch):
    kept = compiling.njit()(lambda x: x + 1.0)
    assert kept.stats.cache_path is not None
    monkeypatch.setattr("numba.core.caching.CacheImpl._locator_classes", [])
    with pytest.raises(RuntimeError, match="no locator available"):
        numba.njit(cache=True)(lambda x: x + 1.0)
    assert compiling.njit(fastmath=True)(lambda x: x + 1.0)(2.0) == 3.0
