"""Small problems that the tests of inference share."""

import numpy as np
import pytest

from localmkl import CLMKLClassifier, GramStack
from localmkl.datasets import make_localized


@pytest.fixture
def make_problem():
    """Return a function: the stack of linear kernels of a generated problem, its labels and groups."""

    def make(n_samples=100, seed=0, **options):
        X, y, groups, views = make_localized(n_samples, random_state=seed, **options)
        return GramStack(np.stack([X[:, view] @ X[:, view].T for view in views])), y, groups

    return make


@pytest.fixture
def make_model():
    """Return a function: a CLMKL model of precomputed kernels whose clusters are seen in the first."""

    def make(**options):
        options = {"gate_kernel": 0, "evenness": 0.5, "random_state": 0, **options}
        return CLMKLClassifier("precomputed", **options)

    return make
