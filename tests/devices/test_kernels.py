"""Grams and features that are computed on a device are those of the kernels."""

import numpy as np
import pytest
import torch
from scipy import sparse

from localmkl import Views
from localmkl.kernels import (
    RBF,
    Chi2,
    Cosine,
    HistogramIntersection,
    Linear,
    Polynomial,
    Spectrum,
    Tanimoto,
    WeightedDegree,
    fit_features,
    fit_kernels,
)
from localmkl.kernels import on_device as kernels_on_device
from localmkl.kernels.on_device import (
    FORMULAS,
    cross_matrix,
    features_on_device,
    gram_on_device,
    stack_on_device,
)

X = np.random.default_rng(0).uniform(0.0, 2.0, size=(30, 4))
KERNELS = [
    Linear(),
    Linear([0, 2], standardize=True),
    Polynomial(3, coef0=0.5),
    RBF(),
    RBF("median"),
    Cosine(),
    Chi2(),
    HistogramIntersection(),
]


@pytest.mark.parametrize("kernel", [*KERNELS, Tanimoto()], ids=repr)
def test_grams_are_those_of_the_kernel(kernel, device, monkeypatch):
    monkeypatch.setattr(kernels_on_device, "BLOCK_ENTRIES", 100)
    (fitted,) = fit_kernels([kernel], X)
    computed = gram_on_device(fitted, X[:5], X, device)
    assert (computed is not None) == (type(kernel) in FORMULAS)
    stack = stack_on_device([fitted], X, device)
    assert stack.device == device
    np.testing.assert_allclose(stack.block(0), fitted(X), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(
        np.asarray(cross_matrix(fitted, X[:5], X[3:], device)), fitted(X[:5], X[3:]), rtol=1e-10
    )


def test_zeros_in_both_rows_cost_nothing(device):
    rows = np.array([[0.0, 1.0], [0.0, 2.0]])
    np.testing.assert_allclose(gram_on_device(Chi2(1.0).fit(rows), rows, None, device).cpu(), Chi2(1.0)(rows))


def test_sequences_and_sparse_rows_are_computed_by_their_kernels(device):
    texts = ["ACGT", "ACGA", "TTGA", "TTGC"]
    fitted = fit_kernels([Spectrum(1), WeightedDegree(2)], texts)
    stack = stack_on_device(fitted, texts, device)
    np.testing.assert_allclose(stack.block(1), fitted[1](texts))
    table = sparse.csr_matrix(X)
    fitted = fit_kernels([RBF()], table)
    np.testing.assert_allclose(stack_on_device(fitted, table, device).block(0), fitted[0](table))


@pytest.mark.parametrize("cosine", [False, True])
def test_features_are_those_of_the_map(cosine, device, monkeypatch):
    monkeypatch.setattr(kernels_on_device, "FEATURE_ROWS", 7)
    features = fit_features(fit_kernels([Linear(), RBF(), Chi2()], X), X, 8, random_state=0, cosine=cosine)
    stack = features_on_device(features, X, device)
    np.testing.assert_allclose(
        stack.features(), features.transform(X, dtype=np.float64), rtol=1e-8, atol=1e-8
    )
    assert list(stack.widths) == features.widths


@pytest.mark.parametrize("lacking", [False, True])
def test_kernels_on_views_are_scaled_as_theirs(lacking, device):
    from localmkl.kernels.viewed import ViewKernel

    views = Views({"a": (X[:20], np.arange(20)) if lacking else X, "b": X})
    kernel = ViewKernel(RBF(), "a", ["a", "b"]).fit(views)
    np.testing.assert_allclose(stack_on_device([kernel], views, device).block(0), kernel(views), atol=1e-12)


def test_large_stacks_are_kept_in_float32(device, monkeypatch):
    from localmkl.stacks import transfer

    monkeypatch.setattr(transfer, "DOUBLE_BYTES", 8 * 30 * 30 - 1)
    fitted = fit_kernels([RBF()], X)
    stack = stack_on_device(fitted, X, device)
    assert stack.dtype == np.float32
    np.testing.assert_allclose(stack.block(0), fitted[0](X), rtol=1e-6)


def test_a_function_that_is_no_kernel_is_refused(device):
    with pytest.raises(ValueError, match="symmetric"):
        stack_on_device(fit_kernels([lambda A, B: A @ np.triu(np.ones((4, 4))) @ B.T], X), X, device)


def test_tensors_of_the_processor_are_a_device_too():
    assert isinstance(gram_on_device(RBF(1.0).fit(X), X, None, torch.device("cpu")), torch.Tensor)
