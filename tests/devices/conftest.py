"""Every test here runs with tensors in memory, and once more on a GPU where there is one.

Without PyTorch there is nothing to run: `make devices` installs it.
"""

from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("torch") else ["test_*.py"]


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.cuda)])
def device(request):
    import torch

    torch.set_num_threads(1)  # tests run side by side, and threads that wait for each other's cores crawl
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no GPU that PyTorch can use")
    return torch.empty(0, device=request.param).device  # with its number


@pytest.fixture
def on_device(device, monkeypatch):
    """Let estimators take "cuda" for the device of the test; return its name."""
    from localmkl import _devices
    from localmkl.estimators import convex

    def find(name):
        _devices.check_device(name)
        return None if name == "cpu" else device

    monkeypatch.setattr(convex, "find_device", find)
    return "cuda"
