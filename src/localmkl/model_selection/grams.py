"""The Grams of all rows of a search, computed once, and honest about what is learned.

A kernel is fitted on the training rows of every fold. Where it learns the same on all of them (mostly
nothing), its Gram over all rows serves every fold; where it does not, it is computed for each fold anew.
"""

import joblib
import numpy as np

from localmkl._checks import available_memory
from localmkl._files import scratch_array
from localmkl.estimators._base import COSINE
from localmkl.estimators._memory import Memory
from localmkl.kernels import GramStack, compute_stack, fit_kernels
from localmkl.kernels.stack import cosine_scales, take_rows
from localmkl.kernels.vectors import CallableKernel

LARGE_SHARE = 0.5
"""Share of the available memory from which on a stack is kept in a file."""


class SharedGrams:
    """Hand out the memory of each fold; as a context manager, let go of the stacks at the end.

    Parameters
    ----------
    X : GramStack, or rows in the form the kernels take them
    in_files : bool
        Keep computed stacks in files, so that worker processes share them.
    """

    def __init__(self, X, *, in_files):
        self.X, self.in_files = X, in_files
        self._stacks: dict = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stacks.clear()

    def states(self, model, train, sample_weight):
        """Return the model's kernels, fitted on some training rows, and what identifies each of them."""
        if isinstance(self.X, GramStack):
            return None, ()
        rows = self.X if train is None else take_rows(self.X, train)
        kernels = fit_kernels(model._kernel_list, rows, sample_weight)
        return kernels, tuple(_state(kernel) for kernel in kernels)

    def memory(self, model, train, sample_weight, parallel):
        """Return the `Memory` of a model's fits on some training rows; None stands for all rows."""
        kernels, states = self.states(model, train, sample_weight)
        cosine = model.normalize == COSINE
        if (states, cosine) not in self._stacks:
            self._stacks[states, cosine] = self._make(kernels, states, cosine)
        stack, scales = self._stacks[states, cosine]
        if train is not None:
            scales = scales[:, train]
        return Memory(stack, train, kernels, scales if cosine else None, parallel=parallel)

    def fit_into_memory(self, n_grams):
        """Whether this many Grams of all rows take a moderate share of the available memory."""
        available = available_memory()
        return available is None or 8 * n_grams * len(self.X) ** 2 <= LARGE_SHARE * available

    def forget(self):
        """Drop the stacks but the first one, whose Grams may serve other folds."""
        for key in list(self._stacks)[1:]:
            del self._stacks[key]

    def _make(self, kernels, states, cosine):
        """Return a stack of all rows and the scales it was divided by: ones, or the cosine scales.

        The cosine normalisation k(x, y) / sqrt(k(x, x) k(y, y)) learns nothing: all rows take part at once.
        """
        if kernels is None:
            self.X.check_training()
            return self._divided(self.X) if cosine else (self.X, np.ones((self.X.n_kernels, len(self.X))))
        grams = self._allocate(len(kernels))
        scales = np.ones(grams.shape[:2])
        known = set()
        for m, state in enumerate(states):
            for (others, divided), (stack, other_scales) in self._stacks.items():
                if divided == cosine and state in others and m not in known:
                    grams[m] = stack.grams[others.index(state)]
                    scales[m] = other_scales[others.index(state)]
                    known.add(m)
        stack = compute_stack(kernels, self.X, out=grams, known=known)
        for m in range(len(kernels)) if cosine else ():
            if m not in known:
                scales[m] = _divide(grams[m])
        return stack, scales

    def _divided(self, given):
        """Return a copy of a stack divided by its cosine scales, and these."""
        grams = self._allocate(given.n_kernels)
        scales = np.empty(grams.shape[:2])
        for m in range(given.n_kernels):
            grams[m] = given.block(m)
            scales[m] = _divide(grams[m])
        stack = GramStack(grams)
        stack._verdicts |= given._verdicts
        return stack, scales

    def _allocate(self, n_kernels):
        shape = n_kernels, len(self.X), len(self.X)
        if not self.in_files and self.fit_into_memory(n_kernels):
            return np.empty(shape)
        return scratch_array(shape)


def _divide(gram):
    """Divide a Gram by its cosine scales, in place; return them."""
    scales = cosine_scales(gram.diagonal())
    gram *= scales[:, None]
    gram *= scales
    return scales


def _state(kernel):
    """Return something that equal fitted kernels have in common."""
    if isinstance(kernel, CallableKernel):
        return type(kernel), id(kernel.function)
    try:
        return type(kernel), joblib.hash(vars(kernel))
    except Exception:  # it cannot be pickled: nothing is known about it
        return type(kernel), object()
