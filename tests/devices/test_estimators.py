"""Estimators and searches on a device: the answers of the processor, errors that say what to do."""

import sys
from subprocess import run

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from localmkl import (
    CLMKLClassifier,
    CLMKLRegressor,
    GramStack,
    HLMKLClassifier,
    LMKLClassifier,
    MKLClassifier,
    _devices,
    load,
    save,
)
from localmkl.datasets import make_localized
from localmkl.kernels import RBF, Linear, compute_stack, fit_kernels
from localmkl.model_selection import MKLSearchCV
from localmkl.stacks import FactorStack, transfer

X, Y = make_localized(n_samples=120, random_state=0)[:2]
TARGETS = make_localized(n_samples=120, regression=True, random_state=0)[1]


@pytest.mark.parametrize(
    "model",
    [
        CLMKLClassifier(),
        CLMKLClassifier(n_components=20, p=1),
        CLMKLClassifier(normalize="cosine", gate_kernel=1),
        CLMKLClassifier(n_components=20, normalize="cosine", loss="log_loss"),
        CLMKLClassifier(gate_kernel=Linear(), shared=0.3, loss="squared_hinge"),
        HLMKLClassifier(n_clusters=2, p=2),
        MKLClassifier(p=1),
        CLMKLRegressor(loss="huber"),
        CLMKLRegressor(n_components=20),
    ],
    ids=str,
)
def test_a_fit_on_a_device_is_that_of_the_processor(model, on_device):
    y = TARGETS if isinstance(model, CLMKLRegressor) else Y
    model.set_params(tol=1e-8, **({"random_state": 0} if "random_state" in model.get_params() else {}))
    here = model.fit(X[:90], y[:90])
    there = clone(model).set_params(device=on_device).fit(X[:90], y[:90])
    weights = 1e-3 if model.n_components else 2e-4  # flat near the optimum
    np.testing.assert_allclose(there.kernel_weights_, here.kernel_weights_, atol=weights)
    np.testing.assert_allclose(there.memberships(X), here.memberships(X), atol=1e-10)
    scale = np.std(here.predict(X)) if y is TARGETS else 1.0
    decide = "predict" if y is TARGETS else "decision_function"
    np.testing.assert_allclose(getattr(there, decide)(X), getattr(here, decide)(X), atol=2e-3 * scale)
    np.testing.assert_allclose(there.contributions(X).sum(axis=(1, 2)) + there.intercept_, there._decide(X))
    assert there.duality_gap_ <= 1e-8


@pytest.mark.parametrize("rank", [None, 20])
def test_a_device_finds_the_clusters_of_the_processor(rank, on_device):
    model = CLMKLClassifier(n_components=rank, n_clusters=2, random_state=0, tol=1e-6)
    here, there = (clone(model).set_params(device=one).fit(X[:90], Y[:90]) for one in ("cpu", on_device))
    np.testing.assert_allclose(there.memberships(X[:90]), there.memberships_, atol=1e-6)
    np.testing.assert_allclose(there.memberships(X), here.memberships(X), atol=1e-4)


def test_several_classes_and_threads_are_solved_one_after_the_other(on_device):
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    here, there = (
        CLMKLClassifier(random_state=0, device=one, n_jobs=2).fit(X, y) for one in ("cpu", on_device)
    )
    assert np.mean(here.predict(X) == there.predict(X)) > 0.97
    assert there.dual_coef_.shape == (3, 120)


def test_weights_and_unlabelled_rows_count_as_on_the_processor(on_device):
    weights = np.where(np.arange(90) % 4 == 0, 0.0, 1.0)
    models = [
        CLMKLClassifier(random_state=0, tol=1e-8, device=one).fit(
            X[:90], Y[:90], sample_weight=weights, unlabeled=X[90:]
        )
        for one in ("cpu", on_device)
    ]
    decisions = [model.decision_function(X) for model in models]
    np.testing.assert_allclose(*decisions, atol=2e-3)


def test_a_stack_of_tensors_stays_where_it_is(device):
    stack = compute_stack(fit_kernels([Linear(), RBF()], X), X)
    tensors = GramStack(torch.as_tensor(stack.to_array()).to(device))
    here, there = (
        CLMKLClassifier("precomputed", random_state=0, tol=1e-8).fit(one[:90], Y[:90])
        for one in (stack, tensors)
    )
    np.testing.assert_allclose(
        there.decision_function(tensors[90:]), here.decision_function(stack[90:]), atol=2e-3
    )
    table = torch.as_tensor(np.hstack([X, X**2])).to(device)
    features = FactorStack.of_table(table, [X.shape[1]] * 2)
    model = CLMKLClassifier("precomputed", random_state=0).fit(features[:90], Y[:90])
    assert model.decision_function(features[90:]).shape == (30,)


@pytest.mark.parametrize("settings", [{}, {"normalize": "cosine"}, {"n_components": 20}], ids=str)
def test_a_search_on_a_device_scores_as_on_the_processor(settings, on_device):
    grid = {"C": [0.3, 3.0]}
    model = CLMKLClassifier(random_state=0, tol=1e-6, **settings)
    here = MKLSearchCV(model, grid, cv=3, scoring="roc_auc").fit(X, Y)
    there = MKLSearchCV(model, grid, cv=3, scoring="roc_auc", device=on_device).fit(X, Y)
    np.testing.assert_allclose(
        there.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"], atol=5e-3
    )
    assert there.best_estimator_.device == on_device
    assert model.device == "cpu"


def test_a_search_on_a_device_has_one_process(on_device):
    with pytest.raises(ValueError, match="`n_jobs` must be None or 1 on a device"):
        MKLSearchCV(CLMKLClassifier(), {"C": [1.0]}, device=on_device, n_jobs=2).fit(X, Y)
    with pytest.raises(ValueError, match="convex methods"):
        MKLSearchCV(LMKLClassifier(), {"C": [1.0]}, device=on_device).fit(X, Y)


def test_a_model_of_a_device_is_a_file_for_every_machine(on_device, tmp_path):
    model = CLMKLClassifier(random_state=0, device=on_device).fit(X, Y)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model").set_params(device="cpu")
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), atol=1e-8)


@pytest.mark.parametrize("name", ["gpu", "cuda:x", "cuda:", 0, None])
def test_a_device_without_a_name_is_refused(name):
    with pytest.raises(ValueError, match="`device` must be 'cpu', 'cuda'"):
        CLMKLClassifier(device=name).fit(X, Y)


def test_a_gpu_that_is_not_there_is_said():
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    with pytest.raises(
        ValueError, match=rf"needs a GPU of that number, PyTorch finds {count or 'none'}; set dev"
    ):
        CLMKLClassifier(device=f"cuda:{count}").fit(X, Y)


def test_auto_is_the_processor_where_there_is_no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert _devices.find_device("auto") is None
    monkeypatch.setitem(sys.modules, "torch", None)
    assert _devices.find_device("auto") is None
    with pytest.raises(ImportError, match=r"pip install 'localmkl\[gpu\]', or set device='cpu'"):
        _devices.find_device("cuda")


def test_too_little_memory_on_a_device_is_said_before_it_is_taken(on_device, monkeypatch):
    monkeypatch.setattr(_devices, "free_bytes", lambda device: 10_000)
    said = r"Fitting 4 kernels on 120 rows needs [\d,]+ bytes on '[\w:]+', 10,000 bytes are free there; take"
    with pytest.raises(MemoryError, match=said):
        CLMKLClassifier(device=on_device).fit(X, Y)
    with pytest.raises(MemoryError, match="2 Grams of 120 x 120 needs"):
        compute_stack(fit_kernels([Linear(), RBF()], X), X).to_device(torch.device("cpu"))


def test_room_is_asked_for_as_fits_take_it(device, monkeypatch):
    asked = []
    monkeypatch.setattr(transfer, "require_device_memory", lambda needed, *_: asked.append(needed))
    transfer.require_room(20000, 20, 3, None, 4, device)
    transfer.require_room(20000, 20, 3, None, 0, device)
    transfer.require_room(1_000_000, 20, 3, 1000, 4, device)
    stack, features = 4 * 20 * 20000**2, 4 * 1000 * 1_000_000
    assert 1.1 * stack < asked[0] < 1.4 * stack
    assert asked[1] == asked[0] - stack
    assert 1.2 * features < asked[2] < 2.0 * features


def test_torch_is_imported_only_when_asked_for():
    code = "import sys, localmkl.cli.training, localmkl.model_selection; print('torch' in sys.modules)"
    assert run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_rows_on_a_cluster_are_for_processors(on_device):
    dask = pytest.importorskip("dask.array")
    rows = dask.from_array(X, chunks=(60, -1))
    with pytest.raises(ValueError, match="device='cpu'"):
        CLMKLClassifier(device=on_device).fit(rows, dask.from_array(Y, chunks=60))


def test_a_cosine_search_predicts_new_rows_as_on_the_processor(on_device):
    model = CLMKLClassifier([Linear(), RBF()], normalize="cosine", random_state=0, tol=1e-7)
    models = [
        MKLSearchCV(model, {"C": [1.0]}, cv=2, device=one).fit(3.0 * X[:80], Y[:80]).best_estimator_
        for one in ("cpu", on_device)
    ]
    np.testing.assert_allclose(models[1].cosine_scales_, models[0].cosine_scales_)
    decisions = [model.decision_function(3.0 * X[80:]) for model in models]
    np.testing.assert_allclose(*decisions, atol=2e-3)


def test_lmkl_refuses_a_stack_on_a_device(device):
    grams = torch.as_tensor(np.stack([X @ X.T, (X @ X.T) ** 2])).to(device)
    with pytest.raises(ValueError, match="LMKL needs Grams in memory"):
        LMKLClassifier("precomputed").fit(GramStack(grams), Y)


def test_factors_of_a_stack_do_not_change_its_cosine(device):
    grams = np.stack([X @ X.T, (1.0 + X @ X.T) ** 2])
    stacks = [GramStack(grams), GramStack(torch.as_tensor(grams).to(device))]
    models = [
        CLMKLClassifier("precomputed", normalize="cosine", random_state=0, tol=1e-7).fit(
            stack.scaled([3.0, 7.0]), Y
        )
        for stack in stacks
    ]
    weights = [model.kernel_weights_ for model in models]
    np.testing.assert_allclose(*weights, atol=1e-3)


def test_maps_of_models_on_a_device_are_drawn(on_device):
    from localmkl.explain import sample_map

    for settings in ({}, {"n_components": 20}, {"gate_kernel": 1}):
        model = CLMKLClassifier(random_state=0, device=on_device, **settings).fit(X, Y)
        assert sample_map(model, X).coordinates.shape == (120, 2)


def test_rows_in_any_memory_order_are_taken(on_device):
    rows = X[::-1]
    model = CLMKLClassifier(random_state=0, device=on_device).fit(rows, Y[::-1])
    rows.setflags(write=False)
    assert model.predict(rows).shape == (120,)


def test_a_gap_that_is_missed_is_said_with_a_way_out(on_device):
    with pytest.warns(ConvergenceWarning, match=r"raise `max_iter` or `tol`, or set device='cpu'\."):
        CLMKLClassifier(random_state=0, device=on_device, max_iter=2, tol=1e-8).fit(X, Y)
