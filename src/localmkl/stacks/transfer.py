"""The way of a stack from memory, or a memory map, to a device."""

from typing import Any, TypeVar

import numpy as np
import torch

from localmkl._devices import require_device_memory
from localmkl._types import Device, Tensor
from localmkl.backends import on_device
from localmkl.stacks.dense import GramStack
from localmkl.stacks.device import ROOM, DeviceFactorStack, DeviceGramStack
from localmkl.stacks.factors import FactorStack
from localmkl.stacks.interface import Stack

S = TypeVar("S", bound=Stack)

BLOCK_ROWS = 4096
"""Rows that are copied at a time."""


DOUBLE_BYTES = 2**30
"""Stacks that are made on a device are kept in float64 up to this size, and in float32 beyond."""
ROW_VECTORS = 60
"""Vectors of one number a sample that a fit on a device holds, beside those of clusters and kernels."""


def kept_bytes(n_numbers: int) -> int:
    """Return the bytes of a number in a stack of so many of them."""
    return 8 if 8 * n_numbers <= DOUBLE_BYTES else 4


def require_room(
    n_rows: int, n_kernels: int, n_clusters: int, n_features: int | None, itemsize: int | None, device: Device
) -> None:
    """Raise MemoryError unless a fit has room on a device.

    Parameters
    ----------
    n_rows, n_kernels, n_clusters : int
    n_features : int or None
        Of all kernels together; None where there are Grams.
    itemsize : int or None
        Bytes of a number of a stack that comes there; zero if it is there, None if it is made there.
    device : torch.device
    """
    numbers = n_rows * (n_kernels * n_rows if n_features is None else n_features)
    stack = numbers * (kept_bytes(numbers) if itemsize is None else itemsize)
    vectors = 8 * n_rows * (ROW_VECTORS + 4 * n_clusters * (n_kernels if n_features is None else 1))
    if n_features is None:
        matrices = 8 * n_rows**2 + 2 * 8 * min(n_rows**2, on_device.BLOCK_ENTRIES)
    else:
        blocks = 3 * 8 * min(n_rows * n_features, on_device.BLOCK_ENTRIES)
        matrices = 5 * 8 * (n_clusters * n_features) ** 2 + blocks
    what = f"Fitting {n_kernels} kernels on {n_rows} rows"
    require_device_memory(stack + vectors + matrices, what, device, ROOM)


def grams_to(stack: GramStack, device: Device) -> DeviceGramStack:
    """Return the rows and columns of a `GramStack` on a device, in the same precision, with its factors."""
    shape = stack.n_kernels, *stack.shape
    grams = empty(shape, stack.dtype, device, f"{shape[0]} Grams of {shape[1]} x {shape[2]}")
    for m in range(shape[0]):
        for start in range(0, shape[1], BLOCK_ROWS):
            rows = slice(start, min(start + BLOCK_ROWS, shape[1]))
            block = stack._unscaled(m, rows).astype(stack.dtype, copy=False)
            grams[m, rows] = torch.from_numpy(block).to(device)
    moved = DeviceGramStack(grams)
    moved._diagonals = None if stack._diagonals is None else stack._with(factors=None).diagonals()
    return _like(moved, stack)


def features_to(stack: FactorStack, device: Device) -> DeviceFactorStack:
    """Return the rows of a `FactorStack` on a device, in the same precision, with its factors."""
    shape = len(stack), stack.n_features
    table = empty(shape, stack.dtype, device, f"{shape[1]} features of {shape[0]} rows")
    for start in range(0, shape[0], BLOCK_ROWS):
        rows = slice(start, min(start + BLOCK_ROWS, shape[0]))
        block = np.ascontiguousarray(stack.features(rows, stack.dtype))
        table[rows] = torch.from_numpy(block.copy() if not block.flags.writeable else block).to(device)
    return _like(DeviceFactorStack.of_table(table, stack.widths), stack)


def empty(shape: tuple[int, ...], dtype: Any, device: Device, what: str) -> Tensor:
    """Return an empty tensor, or say that it does not fit."""
    dtype = np.dtype(dtype)
    require_device_memory(int(np.prod(shape)) * dtype.itemsize, what, device, ROOM)
    return torch.empty(shape, dtype=getattr(torch, dtype.name), device=device)


def _like(moved: S, stack: Stack) -> S:
    """Return a stack with the verdicts of another; new numbers have an origin of their own."""
    moved.factors = stack.factors
    return moved.vouch(*stack._verdicts)
