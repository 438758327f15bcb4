"""Compilation on first use, and who wants to know of it.

numba compiles a function when it is first called, and keeps it on disk: some seconds once and for all.
Where no folder may be written to, a function is compiled once for each process.
"""

import gc
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any

_callbacks: list[Callable[[], None]] = []
_lock = Lock()


def before_compiling(callback: Callable[[], None]) -> None:
    """Call a function, once, when something is about to be compiled; nothing is where all is on disk.

    Parameters
    ----------
    callback : callable
        Without arguments; it takes the place of one that was given before and has not been called.
    """
    _callbacks[:] = [callback]


tell = before_compiling


@cache
def listen() -> None:
    """Begin to listen to numba; compiled modules call it when they are imported.

    While something is compiled, Python looks for no garbage: that takes a quarter of the time for little.
    """
    from numba.core import event

    class Listener(event.Listener):
        depth, collecting = 0, True

        def on_start(self, event: Any) -> None:
            while _callbacks:
                _callbacks.pop()()
            with _lock:
                if self.depth == 0:
                    self.collecting = gc.isenabled()
                    gc.disable()
                self.depth += 1

        def on_end(self, event: Any) -> None:
            with _lock:
                self.depth -= 1
                if self.depth == 0 and self.collecting:
                    gc.enable()

    event.register("numba:compile", Listener())


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function with numba, and keeps it on disk if it can.

    A function that only compiled ones call may have ``inline="always"`` where it shares their `fastmath`.

    Neither the folder of the package nor that of the user need be writeable (containers, shared
    installations). A folder for all users, such as the one for temporary files, is no place for it: what is
    loaded from there is run.

    Parameters
    ----------
    **options
        Of `numba.njit`.
    """
    import numba

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(nogil=True, error_model="numpy", cache=True, **options)(function)
        except RuntimeError:  # no folder for it
            return numba.njit(nogil=True, error_model="numpy", **options)(function)

    return decorate
