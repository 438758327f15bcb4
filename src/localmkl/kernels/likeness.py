"""Kernels that cannot help: to one no two rows are alike, to another all rows are.

Only kernels whose diagonal is constant are judged, such as Gaussians, and given Grams. Those with features of
their own (lines, cosines, counts of words) are left out: their similarities may all be near zero or one and
still tell rows apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from localmkl._types import Floats
from localmkl.kernels.naming import short_names
from localmkl.kernels.vectors import Kernel
from localmkl.stacks import Stack

ROWS = 200
"""Rows that are compared, evenly chosen: 20,000 pairs."""

NONE_ALIKE, ALL_ALIKE = 0.01, 0.99
"""A mean similarity below the first warns, and 99 % of similarities above the second. Gaussians of ten times
the usual gamma have means of 0.0004 to 0.009 on tables of patients and cells. Given Grams whose median is
zero are let pass if some rows are alike: families are related within, and not at all between them."""


def odd_kernels(stack: Stack, kernels: Sequence[Kernel] | None) -> list[str]:
    """Return a sentence on each kernel to which no two rows, or all rows, are alike.

    Parameters
    ----------
    stack : Stack
        Their Grams of the training rows.
    kernels : list of Kernel or None
        None where the Grams were given.

    Examples
    --------
    >>> from localmkl.kernels import RBF, compute_stack, fit_kernels
    >>> X = np.random.default_rng(0).normal(size=(40, 9))
    >>> kernels = fit_kernels([RBF(9.0), RBF(0.1), RBF(1e-5)], X)
    >>> for sentence in odd_kernels(compute_stack(kernels, X), kernels):
    ...     print(sentence.partition(" (")[0])
    The kernel 'rbf gamma 9' sees no two rows as alike
    The kernel 'rbf gamma 1e-05' sees all rows as alike
    """
    rows = np.unique(np.linspace(0, len(stack) - 1, min(ROWS, len(stack))).astype(int))
    names = [f"kernel {m + 1}" for m in range(stack.n_kernels)] if kernels is None else short_names(kernels)
    judged = [m for m in range(stack.n_kernels) if kernels is None or _has_width(kernels[m])]
    said = []
    for m in judged if len(rows) > 2 else ():
        name, values = names[m], _similarities(stack.block(m, rows, rows))
        if values is None:
            continue
        median = np.median(values)
        if values.mean() < NONE_ALIKE and (median > 0.0 or values.max() < NONE_ALIKE):
            said.append(
                f"The kernel {name!r} sees no two rows as alike (median similarity below {NONE_ALIKE}): "
                "it only memorises the training rows; use a smaller gamma."
            )
        elif np.quantile(values, 0.01) > ALL_ALIKE:
            said.append(
                f"The kernel {name!r} sees all rows as alike (median similarity above {ALL_ALIKE}): "
                "it hardly tells them apart; use a larger gamma."
            )
    return said


def _has_width(kernel: Kernel) -> bool:
    """Whether a kernel's similarities depend on a width, as far as its class says."""
    inner: Any = getattr(kernel, "kernel", kernel)
    return not inner.finite and type(inner).features is Kernel.features


def _similarities(gram: Floats) -> Floats | None:
    """Return the similarities of pairs of rows; None unless all rows are equally like themselves."""
    diagonal = gram.diagonal()
    if not diagonal.min() > 0.0 or np.ptp(diagonal) > 1e-6 * diagonal.max() or gram.min() < 0.0:
        return None
    return gram[np.triu_indices(len(gram), k=1)] / diagonal[0]
