"""Run the batches of a search: in this process or in workers, stopped and taken up again."""

import os
import re
from collections.abc import Generator, Sequence

from joblib import delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from localmkl._types import MaybeNone
from localmkl._warnings import warn
from localmkl._workers import parallel
from localmkl.model_selection.cells import (
    Cell,
    Cells,
    Context,
    Fold,
    Job,
    Key,
    columns_of,
    detached,
    run_batch,
)
from localmkl.model_selection.checkpoint import Checkpoint
from localmkl.model_selection.grams import SharedGrams
from localmkl.model_selection.plan import Batch, plan
from localmkl.model_selection.progress import progress_bar

LOCAL_BACKENDS = ("LokyBackend", "MultiprocessingBackend", "ThreadingBackend", "SequentialBackend")
"""Classes of joblib whose workers are on this machine."""

MAX_LOSSES = 3
"""Times in a row that workers may die without any of them having finished a batch."""


class Run:
    """The batches of a search on all folds: what is finished, what is left.

    Parameters
    ----------
    job : Job
    folds : list of Fold
    grams : SharedGrams
    n_jobs : int or None
    checkpoint : Checkpoint or None
    stage : int, default=0
        Number of the step that a search takes beyond its first candidates, to tell its batches apart.
    """

    def __init__(
        self,
        job: Job,
        folds: Sequence[Fold],
        grams: SharedGrams,
        n_jobs: int | None,
        checkpoint: Checkpoint | None,
        stage: int = 0,
    ) -> None:
        self.job, self.folds, self.shared = job, folds, grams
        self.n_jobs, self.checkpoint, self.stage = n_jobs, checkpoint, stage
        self.serial = effective_n_jobs(n_jobs) == 1
        self.cells: dict[tuple[int, int], Cell] = {}
        self.contexts: dict[tuple[int, int], Context] = {}
        batches = plan(job.candidates, job.estimator.get_params(deep=False), len(folds))
        # Batch after batch, so that an interruption leaves candidates that are complete over all folds; fold
        # after fold where kernels learn and the stacks of all folds would be too much for the memory.
        models = [
            job.model(batch.candidates[0]) for batch in {batch.group: batch for batch in batches}.values()
        ]
        grams.lighter = models[0]._lighter
        grams.on_device = models[0]._device is not None
        self.fold_by_fold = grams.settle(
            [[job.stack_key(grams, model, fold.train) for model in models] for fold in folds],
            *job.bytes_of_fits(models, batches, folds),
            _workers_here(n_jobs),
        )
        pairs = [(k, fold) for k in range(len(batches)) for fold in folds]
        pairs.sort(key=lambda pair: pair[1].number if self.fold_by_fold else pair[0])
        self.pending = {(stage, k, fold.number): (batches[k], fold) for k, fold in pairs}
        finished = {} if checkpoint is None else checkpoint.finished
        for key in list(self.pending):
            if (done := finished.get(key)) is not None:
                _, fold = self.pending.pop(key)
                self.cells |= {(number, fold.number): cell for number, cell in done}

    def until_interrupted(self, *, shown: bool) -> bool:
        """Run what is left; return whether Ctrl-C ended it."""
        total = len(self.job.candidates) * len(self.folds)
        with progress_bar(total, len(self.cells), shown=shown) as self.advance:
            try:
                self._run_here() if self.serial else self._run_in_workers()
            except KeyboardInterrupt as stop:
                complete = len(self.complete())
                if (complete == 0 and self.stage == 0) or type(
                    stop
                ) is not KeyboardInterrupt:  # a signal that asks to end at once
                    raise
                warn(
                    f"The search was interrupted: {complete} of {len(self.job.candidates)} candidates "
                    f"{'beyond the given ones ' if self.stage else ''}are complete over all folds, and only "
                    "what is complete is in `cv_results_`"
                    + ("." if self.checkpoint is None else "; start it again to do the rest."),
                )
                return True
        return False

    def complete(self) -> dict[int, list[Cell]]:
        """Return the results over all folds of every candidate that has them, in the order of candidates."""
        rows: dict[int, list[MaybeNone]] = {
            number: [self.cells.get((number, fold.number)) for fold in self.folds]
            for number in range(len(self.job.candidates))
        }
        return {number: row for number, row in rows.items() if None not in row}

    def _run_here(self) -> None:
        for key, (batch, fold) in list(self.pending.items()):
            done: Cells = []
            for column in columns_of(self.job, self._context(batch, fold), fold, batch):
                done += column
                self._note(fold, column)
            self._finish(key, done)

    def _run_in_workers(self) -> None:
        """Run batches as workers are free; what a dying worker loses is run again."""
        losses, results = 0, self._results()
        try:
            while self.pending:
                try:
                    key, done = next(results)
                except Exception as error:  # those of our code come back as results: a worker has died
                    _raise_if_of_files(error)
                    losses += 1
                    if losses == MAX_LOSSES:
                        raise
                    results = self._results()
                    continue
                if isinstance(done, Exception):
                    raise done
                losses = 0
                self._note(self.pending[key][1], done)
                self._finish(key, done)
            next(results, None)  # at their end, workers stay for the next search
        finally:
            results.close()  # before it, they are stopped

    def _results(self) -> Generator[tuple[Key, Cells | Exception], None, None]:
        tasks = [
            delayed(run_batch)(key, fold, batch, *detached(self.job, self._context(batch, fold)))
            for key, (batch, fold) in self.pending.items()
        ]
        # Copy-on-write maps are shared like read-only ones, and need no code compiled for read-only arrays.
        n_jobs = effective_n_jobs(self.n_jobs)
        return parallel(n_jobs, return_as="generator_unordered", batch_size=1, mmap_mode="c")(tasks)

    def _context(self, batch: Batch, fold: Fold) -> Context:
        key = fold.number, batch.group
        if key not in self.contexts:
            if self.fold_by_fold and all(fold.number != number for number, _ in self.contexts):
                self.forget_stacks()
            model = self.job.model(batch.candidates[0])
            self.contexts[key] = self.job.context(self.shared, model, fold.train, self.serial)
            if not self.serial:
                self.job.prepare(self.contexts[key], batch, fold)
        return self.contexts[key]

    def forget_stacks(self) -> None:
        """Free the memory of the stacks, but for one that others may start from."""
        self.contexts.clear()
        self.shared.forget()

    def _note(self, fold: Fold, cells: Cells) -> None:
        self.cells |= {(number, fold.number): cell for number, cell in cells}
        self.advance(len(cells))

    def _finish(self, key: Key, done: Cells) -> None:
        del self.pending[key]
        if self.checkpoint is not None:
            self.checkpoint.add(key, done)


def _workers_here(n_jobs: int | None) -> int:
    """Return the number of worker processes that this machine will have; those of a cluster are elsewhere."""
    is_local = type(get_active_backend()[0]).__name__ in LOCAL_BACKENDS
    return effective_n_jobs(n_jobs) if is_local else 0


def _raise_if_of_files(error: Exception) -> None:
    """Raise the error of the system that kept joblib from handing arrays to workers, if that is the cause."""
    found = re.search(r"OSError: \[Errno (\d+)\]", str(error.__cause__))
    if found is not None:
        number = int(found[1])
        raise OSError(number, f"{os.strerror(number)} (temporary files of joblib)") from error
