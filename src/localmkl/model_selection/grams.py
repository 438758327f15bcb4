"""The Grams of all rows of a search, computed once, and honest about what is learned.

A kernel is fitted on the training rows of every fold. Where it learns the same on all of them (mostly
nothing), its Gram over all rows serves every fold; where it does not, it is computed for each fold anew.
Stacks are kept in memory, one fold's at a time if all are too much; worker processes read them from files.
"""

import tempfile
from collections.abc import Sequence
from typing import Any, Self, TypeAlias

import joblib
import numpy as np

from localmkl._files import scratch_array
from localmkl._resources import FEWER, available_memory, disk_room, matrix_bytes, require_memory
from localmkl._sklearn import count_rows
from localmkl._types import Floats, Ints, Rows
from localmkl.estimators.base import COSINE, BaseMKL
from localmkl.estimators.context import FoldContext, identity, parameters_key
from localmkl.estimators.factors import features_bytes, unit_rows
from localmkl.kernels import compute_stack, fit_kernels
from localmkl.kernels.stack import cosine_stack, take_rows
from localmkl.kernels.vectors import CallableKernel, Kernel
from localmkl.stacks import FactorStack, GramStack, Stack, cosine_scales, device_of

States: TypeAlias = tuple[Any, ...]
"""The identities of a model's fitted kernels."""

StackKey: TypeAlias = tuple[States, bool, tuple[Any, ...] | None]
"""The identity of a stack: states of kernels, whether it is under cosine, and where features come from."""

WORKER = 2**27
"""Bytes of a worker process before it does anything."""


class SharedGrams:
    """Hand out the context of each fold; as a context manager, let go of the stacks at the end.

    Parameters
    ----------
    X : GramStack, or rows in the form the kernels take them
    in_files : bool
        Keep computed stacks in files, so that worker processes share them.
    """

    def __init__(self, X: Rows, *, in_files: bool) -> None:
        self.X, self.in_files = X, in_files
        self.lighter = FEWER  # what is said where memory is too little
        self.on_device = False
        self._stacks: dict[StackKey, tuple[Stack, Any]] = {}
        self._fitted: dict[tuple[Any, ...], tuple[list[Kernel], States]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stacks.clear()

    def states(
        self, model: BaseMKL, train: Ints | None, sample_weight: Floats | None
    ) -> tuple[list[Kernel] | None, States]:
        """Return the model's kernels, fitted on some training rows, and what identifies each of them."""
        if isinstance(self.X, Stack):
            return None, ()
        parts = (None if one is None else np.asarray(one).tobytes() for one in (train, sample_weight))
        key = parameters_key(model, ("kernels", "missing")), *parts
        if key not in self._fitted:
            rows = self.X if train is None else take_rows(self.X, train)
            kernels = fit_kernels(model._kernels_for(rows), rows, sample_weight)
            self._fitted[key] = kernels, tuple(_state(kernel) for kernel in kernels)
        return self._fitted[key]

    def settle(self, stacks: Sequence[Sequence[StackKey]], beside: int, at_last: int, workers: int) -> bool:
        """Decide where stacks are kept, before any is computed; return whether folds come one by one.

        Parameters
        ----------
        stacks : list of list of (states, cosine, rank)
            For every fold, what identifies each of its stacks.
        beside, at_last : int
            Bytes of memory that a fit on a fold, and one on all rows, take beside the stacks.
        workers : int
            Processes on this machine that fit at the same time, beside this one.
        """
        sizes = {key: self._bytes_of(*key) for keys in stacks for key in keys}
        first = stacks[0][0]
        every, one_by_one = sum(sizes.values()), max(sum(sizes[k] for k in {first, *keys}) for keys in stacks)
        last = sizes[first] + (max(sizes.values()) if len(sizes) > 1 else 0)
        if self.in_files:
            beside = workers * (beside + WORKER) + self._copied_for_workers()
            self._require_room(every)
        on_features = isinstance(self.X, FactorStack) or first[2] is not None
        computing = 2 * matrix_bytes(count_rows(self.X)) if every and not on_features else 0
        beside, at_last = max(beside, computing), max(at_last, computing)
        available = available_memory()
        together = max(every + beside, last + at_last)
        in_turn = not self.in_files and available is not None and together > available
        needed = max(one_by_one + beside, last + at_last) if in_turn else together
        require_memory(needed, f"The search on {count_rows(self.X)} rows", self.lighter)
        return in_turn

    def _require_room(self, needed: int) -> None:
        """Raise unless files of so many bytes fit into the folder for temporary files."""
        folder = tempfile.gettempdir()
        free = disk_room(folder)
        if needed > free:
            raise MemoryError(
                f"The Gram stacks that workers share need {needed:,} bytes in {folder!r}, {free:,} bytes are "
                "available; use one worker, or another folder for temporary files (the environment variable "
                "TMPDIR)."
            )

    def _bytes_of(self, states: States, cosine: bool, rank: tuple[Any, ...] | None) -> int:
        """Return the bytes of memory of a stack that is not there yet."""
        if self.on_device:
            return 0
        if isinstance(self.X, FactorStack):
            return 0
        if isinstance(self.X, Stack):
            return self.X.n_kernels * matrix_bytes(count_rows(self.X)) if cosine else 0
        if rank is not None:
            return features_bytes(count_rows(self.X), len(states) * rank[0])
        return len(states) * matrix_bytes(count_rows(self.X))

    def _copied_for_workers(self) -> int:
        """Return the bytes of a given stack in memory: workers read a copy, in memory that they share."""
        return self.X.bytes_in_memory if isinstance(self.X, Stack) else 0

    def key(self, model: BaseMKL, states: States, train: Ints | None) -> StackKey:
        """Return what identifies a model's stack: its kernels, cosine, and where features come from."""
        rank = None
        if getattr(model, "_rank", None) is not None:
            fold = None if train is None else joblib.hash(train)
            rank = model.n_components, model.landmarks, identity(model.random_state), fold
        return states, model.normalize == COSINE, rank

    def context(
        self, model: BaseMKL, train: Ints | None, sample_weight: Floats | None, parallel: bool
    ) -> FoldContext:
        """Return the context of a model's fits on some training rows; None stands for all rows."""
        kernels, states = self.states(model, train, sample_weight)
        key = self.key(model, states, train)
        if key not in self._stacks:
            if key[2] is not None:
                self._stacks[key] = model._features_of(kernels, self.X, sample_weight, train)[::-1]
            else:
                self._stacks[key] = self._make(model, kernels, states, key[1])
        stack, beside = self._stacks[key]
        if key[2] is not None:
            return FoldContext(stack, train, kernels, features=beside, parallel=parallel)
        scales = beside if train is None else beside[:, train]
        return FoldContext(stack, train, kernels, scales if key[1] else None, parallel=parallel)

    def forget(self) -> None:
        """Drop the stacks but the first one, whose Grams may serve other folds."""
        for key in list(self._stacks)[1:]:
            del self._stacks[key]

    def _make(
        self, model: BaseMKL, kernels: list[Kernel] | None, states: States, cosine: bool
    ) -> tuple[Stack, Floats]:
        """Return a stack of all rows and the scales it was divided by: ones, or the cosine scales.

        The cosine normalisation k(x, y) / sqrt(k(x, x) k(y, y)) learns nothing: all rows take part at once.
        """
        if kernels is None:
            self.X.check_training()
        if model._device is not None or device_of(self.X) is not None:
            return self._make_on_device(model, kernels, cosine)
        if kernels is None:
            ones = np.ones((self.X.n_kernels, count_rows(self.X)))
            if cosine and isinstance(self.X, FactorStack):
                return unit_rows(self.X), ones
            return self._divided(self.X) if cosine else (self.X, ones)
        grams = self._allocate(len(kernels))
        scales = np.ones(grams.shape[:2])
        known = set()
        for m, state in enumerate(states):
            for (others, divided, rank), (stack, other_scales) in self._stacks.items():
                if rank is None and divided == cosine and state in others and m not in known:
                    grams[m] = stack.block(others.index(state))
                    scales[m] = other_scales[others.index(state)]
                    known.add(m)
        stack = compute_stack(kernels, self.X, out=grams, known=known)
        for m in range(len(kernels)) if cosine else ():
            if m not in known:
                scales[m] = _divide(grams[m])
        return stack, scales

    def _make_on_device(
        self, model: BaseMKL, kernels: list[Kernel] | None, cosine: bool
    ) -> tuple[Stack, Floats]:
        """Do as `_make` does, on the device of a model or of the stack that was given."""
        stack = self.X.to_device(model._device) if kernels is None else model._computed(kernels, self.X)
        ones = np.ones((stack.n_kernels, len(stack)))
        if not cosine:
            return stack, ones
        if isinstance(stack, FactorStack):
            return unit_rows(stack), ones
        scales = cosine_scales(stack.diagonals())
        return cosine_stack(stack, in_place=stack is not self.X), scales

    def _divided(self, given: Stack) -> tuple[Stack, Floats]:
        """Return a copy of a stack divided by its cosine scales, and these."""
        grams = self._allocate(given.n_kernels)
        scales = np.empty(grams.shape[:2])
        for m in range(given.n_kernels):
            grams[m] = given.block(m)
            scales[m] = _divide(grams[m])
        return GramStack(grams).vouch("finite", "symmetric"), scales

    def _allocate(self, n_kernels: int) -> Floats:
        shape = n_kernels, count_rows(self.X), count_rows(self.X)
        if not self.in_files:
            return np.empty(shape)
        return scratch_array(shape)


def _divide(gram: Floats) -> Floats:
    """Divide a Gram by its cosine scales, in place; return them."""
    scales = cosine_scales(gram.diagonal())
    gram *= scales[:, None]
    gram *= scales
    return scales


def _state(kernel: Kernel) -> tuple[type[Kernel], Any]:
    """Return something that equal fitted kernels have in common."""
    return type(kernel), identity(kernel.function if isinstance(kernel, CallableKernel) else vars(kernel))
