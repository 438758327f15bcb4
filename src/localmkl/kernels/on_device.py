"""Grams and features of kernels on a device.

    Linear, Cosine, Polynomial, RBF, Chi2, HistogramIntersection      computed there, in float64, by blocks
    all others                                                        computed on the processor, and sent

Stacks are kept in float64 while they are small, and in float32 beyond.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from scipy import sparse
from sklearn.preprocessing import normalize

from localmkl._sklearn import count_rows
from localmkl._types import Device, Rows, Tensor
from localmkl.backends.on_device import BLOCK_ENTRIES, FEATURE_ROWS
from localmkl.kernels.features import FeatureMap, explicit_features
from localmkl.kernels.histograms import Chi2, HistogramIntersection
from localmkl.kernels.stack import _is_ours, take_rows
from localmkl.kernels.vectors import RBF, Cosine, Kernel, Linear, Polynomial
from localmkl.kernels.viewed import ViewKernel
from localmkl.stacks.device import DeviceFactorStack, DeviceGramStack, DeviceMatrix
from localmkl.stacks.transfer import empty, kept_bytes


def gram_on_device(kernel: Kernel, X: Rows, Y: Rows, device: Device) -> Tensor | None:
    """Return a Gram as a tensor of float64 on a device; None where the kernel must be asked itself."""
    if isinstance(kernel, ViewKernel):
        return _view_gram(kernel, X, Y, device)
    formula = FORMULAS.get(type(kernel))
    if formula is None:
        return None
    tables = [kernel._table(rows) for rows in ((X,) if Y is None else (X, Y))]
    if any(sparse.issparse(table) for table in tables):
        return None
    if isinstance(kernel, Cosine):
        tables = [normalize(table) for table in tables]
    plain = (np.require(table, np.float64, ["C", "W"]) for table in tables)
    own = [torch.as_tensor(table, device=device) for table in plain]
    return formula(kernel, own[0], own[-1])


def _view_gram(kernel: ViewKernel, X: Rows, Y: Rows, device: Device) -> Tensor | None:
    """Return the Gram of a kernel on one view, if all samples have it."""
    other = X if Y is None else Y
    if not (X.present(kernel.view).all() and other.present(kernel.view).all()):
        return None
    gram = gram_on_device(
        kernel.kernel_, X.rows(kernel.view), None if Y is None else Y.rows(kernel.view), device
    )
    if gram is None:
        return None
    left, right = (torch.as_tensor(kernel.scales(rows), device=device) for rows in (X, other))
    return gram.mul_(left[:, None]).mul_(right)


def _inner(kernel: Linear | Cosine, X: Tensor, Y: Tensor) -> Tensor:
    return X @ Y.T


def _polynomial(kernel: Polynomial, X: Tensor, Y: Tensor) -> Tensor:
    gamma = 1.0 / X.shape[1] if kernel.gamma is None else kernel.gamma
    return (X @ Y.T).mul_(gamma).add_(kernel.coef0).pow_(kernel.degree)


def _gaussian(kernel: RBF, X: Tensor, Y: Tensor) -> Tensor:
    squares = (X @ Y.T).mul_(-2.0)
    squares.add_(X.square().sum(1)[:, None]).add_(Y.square().sum(1)).clamp_(min=0.0)
    return squares.mul_(-kernel.gamma_).exp_()


def _chi_squared(kernel: Chi2, X: Tensor, Y: Tensor) -> Tensor:
    total = X.new_zeros((len(X), len(Y)))
    for x, y in zip(X.T, Y.T, strict=True):
        sums = x[:, None] + y
        total.add_((x[:, None] - y).square_().div_(sums.clamp_(min=torch.finfo(sums.dtype).tiny)))
    return total.mul_(-kernel.gamma_).exp_()


def _intersection(kernel: HistogramIntersection, X: Tensor, Y: Tensor) -> Tensor:
    total = X.new_zeros((len(X), len(Y)))
    for x, y in zip(X.T, Y.T, strict=True):
        total.add_(torch.minimum(x[:, None], y))
    return total


FORMULAS: dict[type, Any] = {
    Linear: _inner,
    Cosine: _inner,
    Polynomial: _polynomial,
    RBF: _gaussian,
    Chi2: _chi_squared,
    HistogramIntersection: _intersection,
}


def stack_on_device(kernels: Sequence[Kernel], X: Rows, device: Device) -> DeviceGramStack:
    """Return the checked `GramStack` of fitted kernels on the rows of X, on a device."""
    n, n_kernels = count_rows(X), len(kernels)
    shape = n_kernels, n, n
    grams = empty(shape, _dtype(shape), device, f"{n_kernels} Grams of {n} x {n}")
    step = max(1, BLOCK_ENTRIES // n)
    for m, kernel in enumerate(kernels):
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            grams[m, rows] = _block(kernel, take_rows(X, rows), X, device)
        if _is_ours(kernel):
            grams[m].diagonal().copy_(torch.as_tensor(kernel.diag(X), device=device))
    stack = DeviceGramStack(grams)
    if all(_is_ours(kernel) for kernel in kernels):
        stack.vouch("symmetric")
    stack.check_training()
    return stack


def features_on_device(features: FeatureMap, X: Rows, device: Device) -> DeviceFactorStack:
    """Return the `FactorStack` of a `FeatureMap` for the rows of X, on a device."""
    n, width = count_rows(X), features.n_features
    table = empty((n, width), _dtype((n, width)), device, f"{width} features of {n} rows")
    for rows in feature_blocks(features, n):
        table[rows] = transform(features, take_rows(X, rows), device)
    return DeviceFactorStack.of_table(table, features.widths)


def _dtype(shape: Sequence[int]) -> np.dtype[Any]:
    return np.dtype(np.float64 if kept_bytes(math.prod(shape)) == 8 else np.float32)


def feature_blocks(features: FeatureMap, n_rows: int) -> list[slice]:
    """Return slices of rows whose features are computed at a time."""
    step = max(1, min(FEATURE_ROWS, BLOCK_ENTRIES // (features.n_features + features.n_landmarks)))
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def transform(features: FeatureMap, X: Rows, device: Device) -> Tensor:
    """Return the features of a block of rows, as a tensor of float64."""
    out = torch.empty((count_rows(X), features.n_features), dtype=torch.float64, device=device)
    parts = zip(features.kernels, features.roots, features.columns(), strict=True)
    for kernel, root, columns in parts:
        if root is None:
            own = torch.as_tensor(
                np.require(explicit_features(kernel, X), np.float64, ["C", "W"]), device=device
            )
        else:
            own = _block(kernel, X, features.landmarks, device) @ torch.as_tensor(root, device=device)
        if features.cosine:
            diagonal = own.square().sum(1) if root is None else torch.as_tensor(kernel.diag(X), device=device)
            own = own * torch.where(diagonal > 0.0, diagonal.clamp(min=1e-300).rsqrt(), 0.0)[:, None]
        out[:, columns] = own
    return out


def cross_matrix(kernel: Kernel, X: Rows, Y: Rows, device: Device) -> DeviceMatrix:
    """Return a cross-Gram as a `DeviceMatrix`."""
    return DeviceMatrix(_block(kernel, X, Y, device))


def _block(kernel: Kernel, X: Rows, Y: Rows, device: Device) -> Tensor:
    gram = gram_on_device(kernel, X, Y, device)
    if gram is not None:
        return gram
    gram = np.require(kernel(X, Y), np.float64, ["C", "W"])
    return torch.as_tensor(gram, device=device)
