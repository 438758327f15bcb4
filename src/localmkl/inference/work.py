"""Many small tasks: in this process or in workers, noted in a file when finished, stopped and taken up."""

from collections.abc import Callable, Generator
from typing import Any, TypeAlias

from joblib import delayed, effective_n_jobs

from localmkl import __version__
from localmkl._types import FilePath, Rows
from localmkl._warnings import warn
from localmkl._workers import parallel
from localmkl.model_selection.checkpoint import Checkpoint, fingerprint
from localmkl.model_selection.progress import progress_bar
from localmkl.stacks import Stack

Key: TypeAlias = tuple[Any, ...]
"""Words and numbers that name a task."""


class Work:
    """The finished tasks of one call, and the way to do others.

    Parameters
    ----------
    name : str
        What the user called.
    parts : dict
        What the results depend on.
    seed : int
        Taken over from the file, where one is continued.
    n_jobs : int or None
    checkpoint : path-like or None
        A file of finished tasks.
    shown : bool
        Whether to show a progress bar.
    """

    def __init__(
        self,
        name: str,
        parts: dict[str, Any],
        seed: int,
        n_jobs: int | None,
        checkpoint: FilePath | None,
        shown: bool,
    ) -> None:
        self.name, self.n_jobs, self.shown, self.interrupted = name, n_jobs, shown, False
        self.checkpoint = None
        if checkpoint is not None:
            prints = {key: fingerprint(value) for key, value in {**parts, "version": __version__}.items()}
            self.checkpoint = Checkpoint(
                checkpoint, {**prints, "function": name}, {"seed": seed}, f"call of `{name}`"
            )
            seed = self.checkpoint.settings["seed"]
        self.seed = seed

    def do(
        self, function: Callable[..., Any], refits: Any, tasks: dict[Key, tuple[Any, ...]]
    ) -> dict[Key, Any]:
        """Return {key: ``function(refits, *arguments)``} of tasks {key: arguments}; after Ctrl-C, of some.

        Keys are tuples of words and numbers, results what JSON can hold: numbers, texts, lists, dicts.
        """
        known = {} if self.checkpoint is None else self.checkpoint.finished
        done = {key: known[key][0] for key in tasks if key in known}
        left = {key: arguments for key, arguments in tasks.items() if key not in done}
        if self.interrupted:
            return done
        with progress_bar(len(tasks), len(done), shown=self.shown) as advance:
            results = self._results(function, refits, left)
            try:
                for key, result in results:
                    done[key] = result
                    if self.checkpoint is not None:
                        self.checkpoint.add(key, [result])
                    advance(1)
            except KeyboardInterrupt as stop:
                if not done or type(stop) is not KeyboardInterrupt:  # a signal that asks to end at once
                    raise
                self.interrupted = True
                warn(
                    f"`{self.name}` was interrupted: {len(done)} of {len(tasks)} refits are finished, and "
                    "only these count" + ("." if self.checkpoint is None else "; call it again for the rest.")
                )
            finally:
                results.close()
        return {key: done[key] for key in tasks if key in done}

    def _results(
        self, function: Callable[..., Any], refits: Any, left: dict[Key, tuple[Any, ...]]
    ) -> Generator[tuple[Key, Any], None, None]:
        n_jobs = effective_n_jobs(self.n_jobs)
        if n_jobs == 1:
            return ((key, function(refits, *arguments)) for key, arguments in left.items())
        parts = refits.detached()
        tasks = (delayed(_attached)(key, function, parts, arguments) for key, arguments in left.items())
        # Copy-on-write maps are shared like read-only ones, and need no code compiled for read-only arrays.
        return parallel(n_jobs, return_as="generator_unordered", mmap_mode="c")(tasks)


def _attached(
    key: Key, function: Callable[..., Any], parts: tuple[Any, ...], arguments: tuple[Any, ...]
) -> tuple[Key, Any]:
    refits, *arrays = parts
    return key, function(refits.attached(*arrays), *arguments)


def contents_of(X: Rows) -> Any:
    """Return rows, or what a stack holds, to tell them from others."""
    return X.contents() if isinstance(X, Stack) else X
