"""Every kind of stack gives the same answers, and nothing else reads the numbers."""

import ast
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

import localmkl
from localmkl import CLMKLClassifier, GramStack
from localmkl.kernels import Linear
from localmkl.kernels.stack import KernelStack
from localmkl.model_selection import MKLSearchCV
from localmkl.solvers.convex import solve_convex
from localmkl.solvers.losses import Hinge
from localmkl.solvers.objective import Problem
from localmkl.stacks import FactorStack, Stack

RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(3, 40, 5))
GRAMS = FEATURES @ FEATURES.transpose(0, 2, 1)
Y = np.sign(FEATURES[0, :, 0] * FEATURES[1, :, 0] + 0.1)


class FeatureStack(Stack):
    """Linear kernels of several tables of features."""

    def __init__(self, features):
        super().__init__()
        self.features = features

    @property
    def n_kernels(self):
        return len(self.features)

    @property
    def whole_shape(self):
        return self.features.shape[1], self.features.shape[1]

    def read(self, m, rows, columns):
        table = self.features[m]
        return (table if rows is None else table[rows]) @ (table if columns is None else table[columns]).T

    def whole_diagonals(self):
        return np.sum(self.features**2, axis=2)


def memory_map(tmp_path):
    np.save(tmp_path / "grams.npy", GRAMS)
    return GramStack.open(tmp_path / "grams.npy")


def linear_kernels():
    kernels = [Linear(columns=slice(start, start + 5)) for start in (0, 5, 10)]
    return KernelStack(kernels, np.hstack(FEATURES))


def features_in_a_file(tmp_path):
    np.save(tmp_path / "features.npy", np.hstack(FEATURES))
    return FactorStack.open(tmp_path / "features.npy", (5, 5, 5))


def features_in_another_order(tmp_path):
    """Return a slice of a larger stack whose rows are shuffled."""
    order = np.random.default_rng(1).permutation(60)
    table = np.vstack([np.hstack(FEATURES), np.ones((20, 15))])[order]
    rows = np.argsort(order)[:40]
    return FactorStack.of_table(table, (5, 5, 5))[np.ix_(rows, rows)]


def features_to_be_multiplied(tmp_path):
    scales = np.random.default_rng(1).uniform(0.5, 2.0, size=(3, 40))
    return FactorStack(FEATURES / scales[:, :, None]).divided(scales, in_place=False)


STACKS = {
    "dense": lambda tmp_path: GramStack(GRAMS),
    "plain NumPy": lambda tmp_path: GramStack(GRAMS).using(backend="reference"),
    "without threads": lambda tmp_path: GramStack(GRAMS).using(parallel=False),
    "memory map": memory_map,
    "computed when read": lambda tmp_path: linear_kernels(),
    "a third party's": lambda tmp_path: FeatureStack(FEATURES),
    "features": lambda tmp_path: FactorStack(FEATURES),
    "features in plain NumPy": lambda tmp_path: FactorStack(FEATURES).using(backend="reference"),
    "features in a file": features_in_a_file,
    "features in another order": features_in_another_order,
    "features to be multiplied": features_to_be_multiplied,
}


@pytest.fixture(params=STACKS)
def stack(request, tmp_path):
    return STACKS[request.param](tmp_path)


@pytest.mark.parametrize("rows", [None, np.array([3, 0, 17, 39, 8])], ids=["all rows", "some rows"])
@pytest.mark.parametrize("factors", [None, np.array([0.5, 2.0, 1.0])], ids=["plain", "scaled"])
def test_answers_are_those_of_the_formulas(stack, rows, factors):
    grams = GRAMS if factors is None else factors[:, None, None] * GRAMS
    stack.check_training()
    if rows is not None:
        stack, grams = stack[np.ix_(rows, rows)], grams[:, rows][:, :, rows]
    if factors is not None:
        stack = stack.scaled(factors)
    n = grams.shape[1]
    rng = np.random.default_rng(1)
    weights, memberships = rng.uniform(size=(2, 3)), rng.dirichlet([1.0, 1.0], size=n)
    vectors, own, few = rng.normal(size=(n, 2)), rng.normal(size=(n, 3)), np.array([0, 2, 4])
    both = np.stack([weights, weights[::-1]])
    several = np.empty((3, n, n))
    stack.combine_several(both, memberships, several, [2, 0])
    expected = np.einsum("jm,ij,kj,mik->ik", weights, memberships, memberships, grams)
    close = {"rtol": 1e-10, "atol": 1e-10}
    np.testing.assert_allclose(stack.combine(weights, memberships), expected, **close)
    np.testing.assert_allclose(several[2], expected, **close)
    stack.combine_gated(own, several[1])
    np.testing.assert_allclose(several[1], np.einsum("im,km,mik->ik", own, own, grams), **close)
    np.testing.assert_allclose(stack.products(vectors), np.einsum("mik,kj->jmi", grams, vectors), **close)
    part = grams[:, few][:, :, few]
    on_few = np.einsum("mik,kj->jmi", part, vectors[few])
    np.testing.assert_allclose(stack.products(vectors[few], few), on_few, **close)
    np.testing.assert_allclose(
        stack.plain_products(vectors, few), stack.products(vectors)[:, :, few], **close
    )
    np.testing.assert_allclose(stack.own_products(own), np.einsum("mik,km->im", grams, own), **close)
    np.testing.assert_allclose(
        stack.norms(vectors), np.einsum("ij,mik,kj->jm", vectors, grams, vectors), **close
    )
    np.testing.assert_allclose(stack.diagonals(), np.einsum("mii->mi", grams), **close)
    np.testing.assert_allclose(stack.to_array(), grams, **close)


def test_solutions_are_the_same_on_every_stack(stack):
    memberships = np.random.default_rng(2).dirichlet([1.0, 1.0], size=40)
    problem = Problem(stack, memberships, Y, np.ones(40), Hinge(), 4 / 3)
    dense = Problem(GramStack(GRAMS), memberships, Y, np.ones(40), Hinge(), 4 / 3)
    found, expected = solve_convex(problem, tol=1e-9), solve_convex(dense, tol=1e-9)
    assert found.converged
    assert found.primal == pytest.approx(expected.primal, rel=1e-8)


def test_estimators_and_searches_take_every_stack(stack):
    model = CLMKLClassifier("precomputed", C=1.0, n_clusters=2, evenness=0.7, random_state=0, tol=1e-6)
    dense = GramStack(GRAMS)
    found, expected = (model.fit(one, Y).decision_function(one) for one in (stack, dense))
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert np.isfinite(cross_val_score(model, stack, Y, cv=3)).all()
    search = MKLSearchCV(model, {"C": [0.1, 1.0]}, cv=3).fit(stack, Y)
    expected = MKLSearchCV(model, {"C": [0.1, 1.0]}, cv=3).fit(dense, Y)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"])


def test_a_stack_that_is_not_finite_is_refused():
    features = FEATURES.copy()
    features[1, 3, 0] = np.nan
    with pytest.raises(ValueError, match="Kernel 1 of the stack holds NaN"):
        FeatureStack(features).check_training()


def test_nothing_but_the_stacks_reads_their_arrays():
    source = Path(localmkl.__file__).parent
    readers = []
    for path in source.rglob("*.py"):
        if path.parent.name == "stacks":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr == "grams":
                readers.append((path.relative_to(source).as_posix(), ast.unparse(node)))
    assert readers == []


FACTOR_STACKS = [name for name in STACKS if name.startswith("features")]


@pytest.fixture
def small_blocks(monkeypatch):
    """Read features in several blocks, of which the last is short."""
    monkeypatch.setattr("localmkl.stacks.factors.BLOCK_ROWS", 7)


@pytest.mark.parametrize("stack", FACTOR_STACKS, indirect=True)
@pytest.mark.parametrize(
    "rows", [slice(None), np.array([30, 2, 2, 17, 39, 0, 8, 21, 5])], ids=["all", "some"]
)
def test_sums_and_scores_of_features_are_those_of_the_formulas(stack, rows, small_blocks):
    table = np.hstack(FEATURES)[rows]
    stack = stack[rows].using(parallel=False)
    n, rng = len(table), np.random.default_rng(2)
    memberships, images = rng.dirichlet([1.0, 1.0], size=n), rng.normal(size=(2, 15))
    chosen = rng.permutation(n)[:8]
    close = {"rtol": 1e-10, "atol": 1e-10}
    np.testing.assert_allclose(stack.features(), table, **close)
    np.testing.assert_allclose(stack.features(chosen), table[chosen], **close)
    np.testing.assert_allclose(stack.features(slice(2, 5)), table[2:5], **close)
    found, places = stack.source(chosen)
    np.testing.assert_allclose(found[places], table[chosen], **close)
    np.testing.assert_allclose(stack.moments(memberships), memberships.T @ table, **close)
    some = memberships[chosen]
    np.testing.assert_allclose(stack.moments_of(chosen, some), some.T @ table[chosen], **close)
    scores = np.sum(memberships * (table @ images.T), axis=1)
    np.testing.assert_allclose(stack.scores(memberships, images), scores, **close)
    for precise in (True, False):
        np.testing.assert_allclose(stack.scores_of(chosen, some, images, precise), scores[chosen], **close)


@pytest.mark.parametrize(
    "types", [(np.float32, np.float32, np.float32), (np.float32, np.float64, np.float32)], ids=["all", "some"]
)
def test_features_of_single_precision_are_added_up_in_double(types, small_blocks):
    tables = [table.astype(dtype) for table, dtype in zip(FEATURES, types, strict=True)]
    stack, table = FactorStack(tables), np.hstack([table.astype(np.float64) for table in tables])
    assert stack.dtype == np.result_type(*types)
    rows, vectors = np.arange(40)[::-1], RNG.normal(size=(40, 2))
    expected = vectors.T @ table[rows]
    np.testing.assert_allclose(stack[rows].moments(vectors), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(stack.moments_of(rows, vectors), expected, rtol=1e-12, atol=1e-12)
    grams = [own.astype(np.float64) @ own.astype(np.float64).T for own in tables]
    np.testing.assert_allclose(stack.to_array(), grams, rtol=1e-12, atol=1e-12)
    ones = np.ones((40, 1))
    images = RNG.normal(size=(1, 15))
    precise = stack.scores_of(rows, ones, images, True)
    np.testing.assert_allclose(precise, (table @ images.T)[rows, 0], rtol=1e-12, atol=1e-12)


def test_features_side_by_side_are_read_as_one_table():
    table = np.hstack(FEATURES)
    assert np.shares_memory(FactorStack.of_table(table, (5, 4, 6)).table(), table)
    assert np.shares_memory(FactorStack([table[:, 2:5], table[:, 5:9]]).table(), table)
    apart = [table[:, :5], table[:, 6:]], [table[:, 5:], table[:, :5]], [table[:, ::2], table[:, 1::2]]
    for tables in (*apart, [table[:, :5], table[:, 5:].astype(np.float32)], [table[:-1, :5], table[1:, 5:]]):
        stack = FactorStack(tables)
        assert stack.table() is None
        np.testing.assert_allclose(stack.features(), np.hstack(tables), rtol=1e-6)
