"""The Grams of all rows of a search, computed once, and honest about what is learned.

A kernel is fitted on the training rows of every fold. Where it learns the same on all of them (mostly
nothing), its Gram over all rows serves every fold; where it does not, it is computed for each fold anew.
"""

import tempfile
from itertools import count
from pathlib import Path

import joblib
import numpy as np

from localmkl._checks import available_memory
from localmkl.estimators._base import COSINE
from localmkl.estimators._memory import Memory
from localmkl.kernels import GramStack, compute_stack, fit_kernels
from localmkl.kernels.stack import cosine_scales, cosine_stack, take_rows

LARGE_SHARE = 0.5
"""Share of the available memory from which on a stack is kept in a file."""


class SharedGrams:
    """Hand out the memory of each fold; as a context manager, remove temporary files at the end.

    Parameters
    ----------
    X : GramStack, or rows in the form the kernels take them
    in_files : bool
        Keep computed stacks in files, so that worker processes share them.
    """

    def __init__(self, X, *, in_files):
        self.X, self.in_files = X, in_files
        self._stacks: dict = {}
        self._folder = tempfile.TemporaryDirectory(prefix="localmkl-", ignore_cleanup_errors=True)
        self._numbers = count()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stacks.clear()
        self._folder.cleanup()

    def states(self, model, train, sample_weight):
        """Return the model's kernels, fitted on some training rows, and what identifies each of them."""
        if isinstance(self.X, GramStack):
            return None, ()
        kernels = fit_kernels(model._kernel_list, take_rows(self.X, train), sample_weight)
        return kernels, tuple(_state(kernel) for kernel in kernels)

    def memory(self, model, train, sample_weight, parallel):
        """Return the `Memory` of a model's fits on some training rows."""
        kernels, states = self.states(model, train, sample_weight)
        cosine = model.normalize == COSINE
        if (states, cosine) not in self._stacks:
            self._stacks[states, cosine] = self._make(kernels, states, cosine)
        stack, scales = self._stacks[states, cosine]
        scales = None if scales is None else scales[:, train]
        return Memory(stack, np.asarray(train), kernels, scales, parallel=parallel)

    def forget(self):
        """Drop the stacks but the first one, whose Grams may serve other folds."""
        for key in list(self._stacks)[1:]:
            del self._stacks[key]

    def _make(self, kernels, states, cosine):
        """Return a stack of all rows, and its cosine scales if it was divided by them."""
        if cosine:
            # k(x, y) / sqrt(k(x, x) k(y, y)) learns nothing: it is taken once for all rows.
            stack, _ = self._stacks.get((states, False)) or self._make(kernels, states, False)
            return self._divided(stack), cosine_scales(stack.diagonals())
        if kernels is None:
            self.X.check_training()
            return self.X, None
        grams = self._allocate(len(kernels), len(self.X))
        known = {m: self._gram(state) for m, state in enumerate(states)}
        known = {m: gram for m, gram in known.items() if gram is not None}
        for m, gram in known.items():
            grams[m] = gram
        return compute_stack(kernels, self.X, out=grams, known=known), None

    def _divided(self, stack):
        grams = self._allocate(stack.n_kernels, len(stack))
        for m in range(stack.n_kernels):
            grams[m] = stack.block(m)
        copied = GramStack(grams)
        copied._verdicts |= stack._verdicts
        return cosine_stack(copied, in_place=True)

    def _gram(self, state):
        """Return the Gram of a fitted kernel if some stack holds it."""
        for (states, cosine), (stack, _) in self._stacks.items():
            if not cosine and state in states:
                return stack.grams[states.index(state)]
        return None

    def _allocate(self, n_kernels, n_rows):
        shape = n_kernels, n_rows, n_rows
        available = available_memory()
        large = available is not None and 8 * n_kernels * n_rows**2 > LARGE_SHARE * available
        if not (self.in_files or large):
            return np.empty(shape)
        path = Path(self._folder.name) / f"{next(self._numbers)}.npy"
        return np.asarray(np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=shape))


def _state(kernel):
    """Return something that equal fitted kernels have in common; if in doubt, nothing."""
    try:
        return type(kernel), joblib.hash(vars(kernel))
    except Exception:  # functions and other things that cannot be pickled
        function = getattr(kernel, "function", None)
        return type(kernel), id(kernel if function is None else function)
