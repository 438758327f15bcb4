"""The Grams of all rows of a search, computed once, and honest about what is learned.

A kernel is fitted on the training rows of every fold. Where it learns the same on all of them (mostly: nothing),
its Gram over all rows serves every fold; where it does not, it is computed for each fold anew.
"""

import tempfile

import joblib

from localmkl.estimators._base import COSINE
from localmkl.estimators._memory import Memory
from localmkl.kernels import GramStack, compute_stack, fit_kernels
from localmkl.kernels.stack import cosine_scales, cosine_stack, take_rows

LARGE_SHARE = 0.5
"""Share of the available memory above which a stack is written to a file instead."""


class SharedGrams:
    """Hand out the memory of each fold; use as a context manager, which removes temporary files.

    Parameters
    ----------
    X : GramStack, or rows in the form the kernels take them
    on_disk : bool
        Keep computed stacks in files, so that worker processes share them.
    """

    def __init__(self, X, *, on_disk):
        self.X, self.on_disk = X, on_disk
        self._stacks: dict = {}
        self._folder: tempfile.TemporaryDirectory | None = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stacks.clear()
        if self._folder is not None:
            self._folder.cleanup()

    def memory(self, model, train, sample_weight, **options):
        """Return the `Memory` of a model's fits on some training rows."""
        if isinstance(self.X, GramStack):
            kernels, key = None, "given"
        else:
            kernels = fit_kernels(model._kernel_list, take_rows(self.X, train), sample_weight)
            key = tuple(_state(kernel) for kernel in kernels)
        stack = self._stack(key, kernels)
        if model.normalize != COSINE:
            return Memory(stack, train, kernels, **options)
        # k(x, y) / sqrt(k(x, x) k(y, y)) is learned from nobody: it is taken once for all rows.
        scales = cosine_scales(stack.diagonals())
        if (key, COSINE) not in self._stacks:
            self._stacks[key, COSINE] = cosine_stack(stack, in_place=False)
        return Memory(self._stacks[key, COSINE], train, kernels, scales[:, train], **options)

    def _stack(self, key, kernels):
        if kernels is None:
            self.X.check_training()
            return self.X
        if key not in self._stacks:
            self._stacks[key] = self._compute(key, kernels)
        return self._stacks[key]

    def _compute(self, key, kernels):
        """Return the stack of fitted kernels; Grams that another fold's stack holds are copied."""
        return compute_stack(kernels, self.X)


def _state(kernel):
    """Return something that equal fitted kernels have in common; if in doubt, nothing."""
    try:
        return type(kernel), joblib.hash(vars(kernel))
    except Exception:  # functions and other things that cannot be pickled
        function = getattr(kernel, "function", None)
        return type(kernel), id(kernel if function is None else function)
