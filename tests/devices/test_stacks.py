"""Stacks of tensors give the answers of those in memory; nothing moves that was not asked to."""

import numpy as np
import pytest
import torch

from localmkl import GramStack
from localmkl.backends import on_device
from localmkl.stacks import FactorStack
from localmkl.stacks.interface import Stack

RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(3, 40, 5))
GRAMS = FEATURES @ FEATURES.transpose(0, 2, 1)
TABLE = np.hstack(FEATURES)
MEMBERSHIPS = RNG.dirichlet(np.ones(2), size=40)
WEIGHTS = RNG.uniform(size=(2, 3))
FACTORS = np.array([2.0, 1.0, 0.5])
SOME = np.array([3, 1, 30, 17, 8, 20])


@pytest.fixture(params=["float64", "float32"])
def dtype(request):
    return getattr(torch, request.param)


@pytest.fixture(params=["Grams", "features"])
def pair(request, device, dtype):
    """A stack in memory and the same on the device; numbers are those of the type."""
    source = torch.as_tensor(GRAMS if request.param == "Grams" else TABLE).to(dtype)
    if request.param == "Grams":
        pair = GramStack(source.numpy()), GramStack(source.to(device))
    else:
        pair = (
            FactorStack.of_table(source.numpy(), [5, 5, 5]),
            FactorStack.of_table(source.to(device), [5, 5, 5]),
        )
    for one in pair:
        one.check_training()
    return pair


@pytest.mark.parametrize("rows", [None, SOME], ids=["all rows", "some rows"])
def test_answers_are_those_of_plain_numpy(pair, rows):
    here, there = (one if rows is None else one[np.ix_(rows, rows)] for one in pair)
    here, there = here.scaled(FACTORS).using(backend="reference"), there.scaled(FACTORS)
    c = MEMBERSHIPS if rows is None else MEMBERSHIPS[rows]
    vectors = np.random.default_rng(1).normal(size=(len(c), 6))
    close = {"rtol": 1e-12, "atol": 1e-10}
    np.testing.assert_allclose(there.products(vectors), Stack.products(here, vectors), **close)
    np.testing.assert_allclose(there.plain_products(vectors), here.plain_products(vectors), **close)
    np.testing.assert_allclose(there.norms(vectors), here.norms(vectors), **close)
    np.testing.assert_allclose(there.diagonals(), here.diagonals(), **close)
    np.testing.assert_allclose(there.traces(vectors[:, 0]), here.traces(vectors[:, 0]), **close)
    np.testing.assert_allclose(there.block(1), here.block(1), **close)
    np.testing.assert_allclose(there.only(2).block(0), here.block(2), **close)
    assert there.shape == here.shape
    assert there.n_kernels == here.n_kernels


@pytest.mark.parametrize("rows", [None, SOME], ids=["all rows", "some rows"])
def test_combined_kernels_are_those_of_plain_numpy(device, dtype, rows):
    stack = GramStack(torch.as_tensor(GRAMS, dtype=dtype, device=device)).scaled(FACTORS)
    stack = stack if rows is None else stack[np.ix_(rows, rows)]
    c = MEMBERSHIPS if rows is None else MEMBERSHIPS[rows]
    rounding = 1e-12 if dtype is torch.float64 else 1e-5
    expected = sum((c * WEIGHTS[:, m]) @ c.T * stack.block(m) for m in range(3))
    combined = stack.combine(WEIGHTS, c)
    np.testing.assert_allclose(np.asarray(combined), expected, rtol=rounding, atol=rounding)
    np.testing.assert_allclose(combined @ c, expected @ c, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(combined.diagonal(), np.asarray(combined).diagonal())
    np.testing.assert_allclose(combined[2], np.asarray(combined)[2])
    np.testing.assert_allclose(
        np.asarray(combined[np.ix_([0, 2], [0, 2])]), np.asarray(combined)[np.ix_([0, 2], [0, 2])]
    )


@pytest.mark.parametrize("rows", [None, SOME], ids=["all rows", "some rows"])
def test_the_curvature_of_features_is_that_of_all_clusters_features(device, dtype, rows, monkeypatch):
    monkeypatch.setattr(on_device, "PANEL", 4)
    monkeypatch.setattr(on_device, "BLOCK_ENTRIES", 150)
    stack = FactorStack.of_table(torch.as_tensor(TABLE, dtype=dtype, device=device), [5, 5, 5])
    stack = stack if rows is None else stack[rows]
    c = MEMBERSHIPS if rows is None else MEMBERSHIPS[rows]
    weights = np.random.default_rng(2).uniform(size=len(c))
    wide = np.hstack([c[:, [j]] * stack.features() for j in range(2)])
    found = stack.curvature(stack.tensor(c), stack.tensor(weights)).reshape(30, 30)
    np.testing.assert_allclose(found.cpu(), wide.T @ (weights[:, None] * wide), rtol=1e-10, atol=1e-10)


def test_sums_and_projections_of_features_are_those_of_numpy(device, monkeypatch):
    monkeypatch.setattr(on_device, "FEATURE_ROWS", 7)
    here, there = (
        FactorStack.of_table(table, [5, 5, 5]) for table in (TABLE, torch.as_tensor(TABLE).to(device))
    )
    vectors, columns = RNG.normal(size=(40, 4)), RNG.normal(size=(15, 4))
    np.testing.assert_allclose(there.moments_of(np.arange(40), vectors), TABLE.T.__matmul__(vectors).T)
    np.testing.assert_allclose(there.moments_of(SOME, vectors[SOME]), (TABLE[SOME].T @ vectors[SOME]).T)
    np.testing.assert_allclose(there.project(columns), here.project(columns))
    np.testing.assert_allclose(there[SOME].project(columns), TABLE[SOME] @ columns)
    np.testing.assert_allclose(there.column_moments(vectors, [2, 9]), vectors.T @ TABLE[:, [2, 9]])
    np.testing.assert_allclose(there.row_diagonals(slice(3, 9)), here.diagonals()[:, 3:9])


def test_a_stack_of_tensors_is_not_copied(device):
    grams = torch.as_tensor(GRAMS).to(device)
    table = torch.as_tensor(TABLE).to(device)
    assert GramStack(grams).grams.data_ptr() == grams.data_ptr()
    assert FactorStack.of_table(table, [5, 10])._numbers.data_ptr() == table.data_ptr()
    assert GramStack(grams).to_device(torch.device("cpu")).device == device


def test_stacks_are_moved_in_their_precision_with_their_factors_and_rows(device):
    stack = GramStack(GRAMS.astype(np.float32))
    stack.check_training()
    moved = stack[np.ix_(SOME, SOME)].scaled(FACTORS).to_device(device)
    assert moved.dtype == np.float32
    assert moved.device == device
    np.testing.assert_allclose(moved.block(2), stack[np.ix_(SOME, SOME)].scaled(FACTORS).block(2))
    features = FactorStack.of_table(TABLE, [5, 5, 5])
    moved = features[SOME].scaled(FACTORS).to_device(device)
    np.testing.assert_allclose(moved.features(), TABLE[SOME])
    np.testing.assert_allclose(moved.factors, FACTORS)


def test_the_cosine_divides_a_copy(device):
    scales = RNG.uniform(0.5, 2.0, size=(3, 40))
    grams = torch.as_tensor(GRAMS).to(device)
    divided = GramStack(grams).divided(scales, in_place=False)
    np.testing.assert_allclose(divided.block(1), GRAMS[1] * np.outer(scales[1], scales[1]))
    np.testing.assert_array_equal(grams.cpu(), GRAMS)
    table = torch.as_tensor(TABLE).to(device)
    divided = FactorStack.of_table(table, [5, 5, 5]).divided(scales, in_place=False)
    np.testing.assert_allclose(divided.features()[:, :5], TABLE[:, :5] * scales[0][:, None])
    np.testing.assert_array_equal(table.cpu(), TABLE)


@pytest.mark.parametrize(
    ("grams", "message"),
    [
        (torch.full((1, 3, 3), torch.nan), "NaN"),
        (torch.triu(torch.ones(1, 3, 3)), "symmetric"),
        (torch.tensor([[[1.0, 2.0], [2.0, 1.0]]]), "positive semidefinite"),
        (torch.ones(1, 3, 4), "square"),
    ],
)
def test_wrong_grams_are_refused(grams, message, device):
    with pytest.raises(ValueError, match=message):
        GramStack(grams.to(device)).check_training()


def test_wrong_shapes_are_refused():
    with pytest.raises(ValueError, match="one shape"):
        GramStack([torch.ones(2, 2), torch.ones(3, 3)])
    with pytest.raises(ValueError, match="n_kernels, n_rows"):
        GramStack(torch.ones(3))
    with pytest.raises(ValueError, match="same rows"):
        FactorStack([torch.ones(2, 2), torch.ones(3, 3)])
    with pytest.raises(ValueError, match="real numbers"):
        GramStack(torch.ones(1, 2, 2, dtype=torch.complex64))


def test_a_stack_on_a_device_is_not_sent_elsewhere(device):
    import pickle

    with pytest.raises(TypeError, match="one process"):
        pickle.dumps(GramStack(torch.as_tensor(GRAMS).to(device)))


def test_one_entry_that_is_not_symmetric_is_found(device, monkeypatch):
    from localmkl.stacks import device as module

    monkeypatch.setattr(module, "CHECKED", 3)
    monkeypatch.setattr(module, "TILE", 7)
    grams = torch.as_tensor(GRAMS).clone().to(device)
    grams[1, 13, 29] += 0.5
    with pytest.raises(ValueError, match=r"differ by up to 0\.5"):
        GramStack(grams).check_training()


def test_tensors_of_one_array_and_of_several_kinds(device):
    parts = [torch.as_tensor(TABLE[:, :5]), torch.as_tensor(TABLE[:, 5:])]
    np.testing.assert_allclose(FactorStack(parts).features(), TABLE)
    for wrong in (
        [torch.ones(2, 2), np.ones((2, 2))],
        torch.eye(3).to_sparse(),
        torch.ones(2, 2, device="meta"),
    ):
        with pytest.raises(ValueError, match="must be dense tensors on one device, got"):
            GramStack(wrong)


def test_diagonals_are_moved_without_factors(device):
    stack = GramStack(GRAMS, diagonals=np.einsum("mii->mi", GRAMS)).scaled(FACTORS)
    np.testing.assert_allclose(stack.to_device(device).diagonals(), stack.diagonals())
