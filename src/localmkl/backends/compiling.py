"""Compilation on first use, and who wants to know of it.

numba compiles a function when it is first called, and keeps it on disk: some seconds once and for all.
Where no folder may be written to, a function is compiled once for each process.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

_callbacks: list[Callable[[], None]] = []


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
    """Begin to listen to numba; compiled modules call it when they are imported."""
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, event):
            while _callbacks:
                _callbacks.pop()()

        def on_end(self, event):
            pass

    event.register("numba:compile", Listener())


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function with numba, and keeps it on disk if it can.

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
