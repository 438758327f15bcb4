"""The functions for GPUs agree with PyTorch's; Triton interprets them where there is no GPU."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("triton")

CODE = """
import contextlib
import sys
import torch
from localmkl.backends import fused

device = sys.argv[1]
if device == "cpu":
    torch.cuda.device = lambda device: contextlib.nullcontext()
torch.manual_seed(0)
def rand(*shape, dtype=torch.float64):
    return torch.randn(shape, dtype=dtype, device=device)
def check(found, expected, digits):
    assert float((found - expected).abs().max()) <= 10.0**-digits * float(expected.abs().max())
for dtype, digits in ((torch.float32, 5), (torch.float64, 12)):
    grams = rand(3, 50, 50, dtype=dtype)
    for some in (False, True):
        rows = torch.randperm(50, device=device)[:30] if some else None
        own = (grams[:, rows][:, :, rows] if some else grams).double()
        n, c, w = own.shape[1], torch.rand(own.shape[1], 2, device=device).double(), rand(2, 3)
        vectors = rand(n, 5)
        found = fused.products(grams, rows, vectors, rand(5, 3, n))
        check(found, torch.einsum("mik,kj->jmi", own, vectors), 12)
        expected = torch.einsum("jm,ij,kj,mik->ik", w, c, c, own)
        check(fused.combine(grams, rows, w, c, rand(n, n)), expected, digits)
"""


def test_what_is_read_once_is_what_is_read_often(device):
    environment = {**os.environ, "TRITON_INTERPRET": "1" if device.type == "cpu" else "0"}
    answer = subprocess.run(
        [sys.executable, "-c", CODE, device.type],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
