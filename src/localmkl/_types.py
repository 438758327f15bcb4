"""Types that annotations name most; shapes are said by docstrings, which types cannot."""

import os
from typing import Any, TypeAlias

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.floating[Any]]
Ints: TypeAlias = NDArray[np.integer[Any]]
Bools: TypeAlias = NDArray[np.bool_]
Array: TypeAlias = NDArray[Any]

MaybeNone: TypeAlias = Any
"""None where it was not asked for: whoever asked need not look."""

Picked: TypeAlias = Ints | slice
"""Rows or columns by number, or a slice of them."""

Matrix: TypeAlias = Any
"""A matrix that arrays are multiplied with: an array, or a `stacks.device.DeviceMatrix`."""

Tensor: TypeAlias = Any
"""A tensor of PyTorch, which need not be installed."""

Device: TypeAlias = Any
"""A ``torch.device``; None where numbers are in memory, or in a file."""

FilePath: TypeAlias = str | os.PathLike[str]

Seed: TypeAlias = int | RandomState | None

Targets: TypeAlias = Any
"""Labels or numbers as users hold them, one for each row: arrays, lists, series."""

Rows: TypeAlias = Any
"""Rows as users hold them: arrays, sparse matrices, frames, texts, `Views`; `estimators.reading` checks."""

Table: TypeAlias = Any
"""Rows in one block: an array, a CSR matrix or a data frame."""

ColumnChoice: TypeAlias = Any
"""Columns as users name them: a number, a name, a slice, a mask or a list; None for all."""
