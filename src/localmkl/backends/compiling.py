"""Compilation on first use, and who wants to know of it.

numba compiles a function when it is first called, and keeps it on disk: once for all, some seconds in all.
Importing numba takes a second by itself, so that it is asked only once a compiled module is there.
"""

from collections.abc import Callable
from functools import cache

_told: list[Callable[[], None]] = []


def tell(callback: Callable[[], None]) -> None:
    """Call a function, once, when something is about to be compiled."""
    _told[:] = [callback]


@cache
def listen() -> None:
    """Begin to listen to numba; compiled modules call it when they are imported."""
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, event):
            while _told:
                _told.pop()()

        def on_end(self, event):
            pass

    event.register("numba:compile", Listener())
