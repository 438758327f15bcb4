"""What fits, searches, ``tune`` and predictions say of their memory beforehand, and what they then take.

Both are beyond a process that has done the same on few rows; what does not fit is refused by what was said.
"""

from benchmarks.hostile import limits

CASES = [
    ("predict", "MKL", 600, 4, 2),
    *(("fit", method, 1500, 5, 2) for method in limits.METHODS),
    ("fit", "MKL", 4000, 5, 2),
    ("fit", "CLMKL", 3000, 20, 2),
    ("fit", "CLMKL", 2000, 10, 3),
    ("search", "MKL", 1500, 20, 2),
    ("search", "CLMKL", 3000, 5, 2),
    ("search", "HLMKL", 2000, 10, 3),
    ("tune", "MKL", 2000, 10, 2),
    ("tune", "CLMKL", 1500, 20, 2),
    ("predict", "CLMKL", 3000, 10, 2),
    ("predict", "LMKL", 2000, 10, 3),
]


def run(smoke):
    return [_said(*case) for case in (CASES[:1] if smoke else CASES)]


def _said(work, method, n_rows, n_kernels, n_classes):
    case = {"work": work, "method": method, "rows": n_rows, "kernels": n_kernels, "classes": n_classes}
    found = limits.run_case({**case, "limit": None, "learning": False, "share": 1.0, "seed": 0})
    if "peak" not in found:
        raise RuntimeError(found["defect"])
    return {
        **case,
        "peak (MB)": found["peak"] / 1e6,
        "said (MB)": found["said"] / 1e6,
        "said / peak": found["said"] / found["peak"],
    }
