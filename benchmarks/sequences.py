"""Sequence kernels: against writing the answer once, NumPy position by position, and strkernel; memory;
loading."""

import time
from functools import partial
from importlib.util import find_spec

import numpy as np

from benchmarks import harness
from localmkl.backends import sequences_compiled
from localmkl.datasets import data_home, fetch_celegans_acceptor
from localmkl.kernels import Mismatch, Spectrum, WeightedDegree, compute_stack, fit_kernels
from localmkl.kernels.alphabets import encode

DEGREES = np.arange(1, 21)


def run(smoke):
    """Return rows of times and ratios; real sites where the data home has them, generated ones elsewhere."""
    n = 60 if smoke else 1000
    rows = [row for length in (82, 398) for row in weighted_degree_rows(n, length)]
    rows += strkernel_rows(n, 30 if smoke else 200)
    rows.append(memory_row(60 if smoke else 5000))
    rows.append(loading_row())
    return rows


def weighted_degree_rows(n, length):
    source, X = draw_sites(n, length)
    codes = encode(X, "dna").codes.reshape(n, length)
    kernels = fit_kernels([WeightedDegree(int(d)) for d in DEGREES], X)
    shape = (len(DEGREES), n, n)
    there = np.empty(shape)
    write = harness.seconds(lambda: there.fill(1.0), repeats=7)
    write_new = harness.seconds(lambda: np.empty(shape).fill(1.0), repeats=7)
    sweep = harness.seconds(
        lambda: sequences_compiled.weighted_degree(codes, None, DEGREES, 0, there), repeats=7
    )
    stack = harness.seconds(lambda: compute_stack(kernels, X), repeats=7)
    expected = np.empty(shape)
    plain = harness.seconds(lambda: by_position(codes, expected), repeats=1, warmup=0)
    np.testing.assert_allclose(there, expected, rtol=1e-12)
    return [
        {"what": f"{name}, {length} letters, n={n}", "data": source, "seconds": ours, "reference": against}
        | {"reference_seconds": theirs, "ratio": ratio, "target": target}
        for name, ours, against, theirs, ratio, target in (
            (
                "sweep into memory",
                sweep,
                "write it once",
                write,
                sweep / write,
                f"<= {3 if length == 82 else 6}",
            ),
            ("strings to stack", stack, "write new memory", write_new, stack / write_new, ""),
            ("sweep into memory", sweep, "NumPy by position", plain, plain / sweep, ">= 100"),
        )
    ]


def by_position(codes, out):
    """Write the Grams of degrees 1, 2 .. in NumPy: the length of the run that starts at each position."""
    n, length = codes.shape
    counts = np.zeros((len(out), n, n), dtype=np.int32)
    run = np.zeros((n, n), dtype=np.int32)
    for p in reversed(range(length)):
        column = codes[:, p]
        run += 1
        run *= (column[:, None] == column) & (column >= 0)
        for k in range(len(out)):
            counts[k] += run > k
    for d in range(1, len(out) + 1):
        weights = 2.0 * (d - np.arange(d)) / (d * (d + 1))
        out[d - 1] = np.tensordot(weights, counts[:d], axes=1)


def strkernel_rows(n, n_mismatch):
    """Compare with strkernel's own functions; its spectra still need the product to be a Gram."""
    cases = [(Spectrum(k), n, partial(_their_spectrum, k=k)) for k in (3, 6)]
    cases += [(Mismatch(k, 1), n_mismatch, partial(_their_mismatch, k=k, m=1)) for k in (4, 5)]
    if find_spec("strkernel") is None:
        return [{"what": repr(kernel), "reference": "strkernel (not installed)"} for kernel, _, _ in cases]
    rows = []
    for kernel, size, theirs in cases:
        _, X = draw_sites(size, 82, real=False)
        start = time.perf_counter()
        expected = theirs(X)
        reference = time.perf_counter() - start
        ours = harness.seconds(partial(kernel, X), repeats=7)
        np.testing.assert_allclose(kernel(X), expected)
        rows.append(
            {"what": f"{kernel!r}, 82 letters, n={size}", "data": "generated", "seconds": ours}
            | {"reference": "strkernel", "reference_seconds": reference, "ratio": reference / ours}
            | {"target": ">= 20"}
        )
    return rows


def _their_spectrum(X, k):
    from Bio.Seq import Seq
    from strkernel.gappy_kernel import gappypair_kernel

    table = gappypair_kernel([Seq(x) for x in X], k=k, g=0)  # no gap: the k-mer counts
    return np.asarray((table @ table.T).todense())


def _their_mismatch(X, k, m):
    from strkernel.mismatch_kernel import MismatchKernel, preprocess

    return MismatchKernel(l=4, k=k, m=m).get_kernel(preprocess(X), normalize=False).kernel


def memory_row(n):
    """Peak memory of a process that computes a stack of 20 Grams on 398 letters, in multiples of the
    stack."""
    code = (
        "import numpy as np\n"
        "from benchmarks.sequences import DEGREES, draw_sites\n"
        "from localmkl.kernels import WeightedDegree, compute_stack, fit_kernels\n"
        f"X = draw_sites({n}, 398)[1]\n"
        "kernels = fit_kernels([WeightedDegree(int(d)) for d in DEGREES], X)\n"
        "print(compute_stack(kernels, X).grams.nbytes)"
    )
    printed, peak = harness.peak_memory(code)
    size = int(printed[-1])
    return {
        "what": f"peak memory of 20 Grams, 398 letters, n={n}",
        "data": draw_sites(1, 398)[0],
        "bytes": peak,
        "reference": "the stack itself",
        "reference_bytes": size,
        "ratio": peak / size,
        "target": "<= 1.35",
    }


def loading_row():
    """Time to load the 100000 sites, if they are there."""
    try:
        seconds = harness.seconds(lambda: fetch_celegans_acceptor(398, download=False), repeats=1, warmup=0)
    except FileNotFoundError:
        return {"what": "load 100000 x 398 letters", "data": f"not in {data_home()}"}
    return {
        "what": "load 100000 x 398 letters",
        "data": "C. elegans",
        "seconds": seconds,
        "target": "seconds",
    }


def draw_sites(n, length, *, real=True, seed=0):
    """Return where they are from and n sequences: C. elegans if they are there, else AT-rich random
    letters."""
    rng = np.random.default_rng(seed)
    try:
        if real:
            sequences = fetch_celegans_acceptor(length, download=False).sequences
            return "C. elegans", sequences[rng.permutation(len(sequences))[:n]]
    except FileNotFoundError:
        pass
    letters = rng.choice(list("ACGT"), size=(n, length), p=[0.32, 0.18, 0.18, 0.32])
    letters[:, length // 2 - 1 : length // 2 + 1] = ["A", "G"]
    return "generated", np.array(["".join(row) for row in letters], dtype=object)
