"""`--device`: the processor by default, a GPU where one is asked for and there."""

import pytest

from localmkl import load

torch = pytest.importorskip("torch")
MISUSED = 2


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.fixture
def tensors(monkeypatch):
    """Let tensors in memory stand in for a GPU."""
    from localmkl.estimators import convex

    monkeypatch.setattr(convex, "find_device", lambda name: None if name == "cpu" else torch.device("cpu"))


@pytest.mark.parametrize(
    ("device", "words"),
    [
        ("gpu", "--device must be 'cpu', 'cuda', 'cuda:1' (the number of a GPU) or 'auto', got 'gpu'."),
        ("cuda", "needs a GPU of that number, PyTorch finds none; give --device cpu or 'auto'."),
    ],
)
def test_a_device_that_is_not_there_is_refused(call, table, no_gpu, device, words):
    said = call("fit", table.train, "--target", "state", "--names", "id", "--device", device, code=1)
    assert words in said.err


def test_lmkl_is_for_the_processor(call, tensors):
    said = call("fit", "missing.csv", "--target", "y", "--device", "cuda", "--method", "lmkl", code=MISUSED)
    assert said.err == "Error: --device is not for classification with the method lmkl.\n"


def test_auto_is_the_processor_where_there_is_no_gpu(call, table, no_gpu):
    call("fit", table.train, "--target", "state", "--names", "id", "--device", "auto", "--quiet")


@pytest.mark.parametrize("options", [[], ["--rank", "20"]])
def test_models_of_a_device_are_those_of_the_processor_and_for_every_machine(
    call, table, tensors, options, tmp_path
):
    where = ["--target", "state", "--names", "id", "--kernels", "rbf each=view*", "--tol", "1e-6", "--quiet"]
    answers = []
    for device in ("cpu", "cuda"):
        call("fit", table.train, *where, *options, "--device", device, "--out", f"{device}.localmkl")
        answers.append(call("predict", f"{device}.localmkl", table.test, "--device", device, "--quiet").out)
    model = load(tmp_path / "cuda.localmkl")
    assert getattr(model, "best_estimator_", model).device == "cpu"
    labels = [[line.split(",")[1] for line in text.splitlines()] for text in answers]
    assert labels[0] == labels[1]
