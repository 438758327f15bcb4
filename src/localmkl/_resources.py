"""Memory and disk: how much there is and how much an operation takes, in bytes; said before it is taken.

For n training rows, M kernels and s bytes a number of the stack, 8 n^2 a float64 matrix:

    stack              s M n^2, and 8 n^2 while a kernel is computed
    gate               8 n^2, and its products: kernel k-means, or what LMKL keeps
    solving            (8 + s) n^2 for the combined kernel, now and before a step, and a factor of the free
                       support vectors: 8 n^2 if all are free, half of that is counted
    several problems   8 n^2 more for each of those that are solved together

How many support vectors are free is only seen on the way: `require_factor` asks again then.
"""

import os
import shutil
from pathlib import Path

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

NUMBER = 8
FREE_SHARE = 0.5
"""Share of a kernel matrix that the factor of the free support vectors takes: the middle of what may be."""
LARGE = 2**26
"""Bytes that are asked for before they are taken in the middle of a fit."""
PRODUCTS = 64
"""Vectors for each cluster, beside six for each of its kernels: shares of threads and copies."""
KMEANS_COPIES = 7
"""Arrays of the size of all memberships of all restarts of kernel k-means."""
KEPT_FREE = 2**25
"""Largest array whose memory the C library may keep when it is freed."""
FEWER = "use fewer rows or kernels, or precomputed Grams in float32"
UNLIMITED = 2**60
"""Limits from here on are none: version 1 of control groups writes the largest number there is."""


def require_memory(needed, what, hint=FEWER):
    """Raise MemoryError unless so many bytes of memory can be had."""
    available = available_memory()
    if available is not None and needed > available:
        raise MemoryError(
            f"{what} needs {int(needed):,} bytes of memory, {available:,} bytes are available; {hint}."
        )


def room_for_some(most, each):
    """Return how many of some things of so many bytes have room in memory, up to a number."""
    available = available_memory()
    return most if available is None or each == 0 else min(most, int(available // each))


def matrix_bytes(n_rows, n_columns=None, itemsize=NUMBER):
    """Return the bytes of a matrix, square by default."""
    return itemsize * n_rows * (n_rows if n_columns is None else n_columns)


def computing_bytes(n_kernels, n_samples, n_features=0):
    """Return the peak while the Grams of some rows are computed: the stack, a matrix or two, two tables."""
    matrix = matrix_bytes(n_samples)
    kept = matrix if matrix <= KEPT_FREE else 0
    return (n_kernels + 1) * matrix + kept + 2 * matrix_bytes(n_samples, n_features)


def clustering_bytes(n_samples, n_clusters, n_init):
    """Return the peak of kernel k-means on some rows, its Gram (and what makes it) included."""
    vectors = KMEANS_COPIES * n_init * n_clusters * NUMBER * n_samples
    return 2 * matrix_bytes(n_samples) + vectors


def solving_bytes(n_samples, *, n_kernels, n_clusters=1, combined=1, factors=1, copies=0):
    """Return the peak of solving problems on some rows, beyond the stack.

    Parameters
    ----------
    n_samples, n_kernels, n_clusters : int
    combined : int
        Combined kernels that exist at the same time.
    factors : int
        Factors of free support vectors that exist at the same time.
    copies : int
        Other matrices of this size.
    """
    kernels = (combined + factors * FREE_SHARE + copies) * matrix_bytes(n_samples)
    products = combined * n_clusters * (6 * n_kernels + PRODUCTS) * NUMBER * n_samples
    return int(kernels + products)


def require_factor(n_free):
    """Raise MemoryError unless the factor of so many free support vectors can be had."""
    needed = matrix_bytes(n_free)
    if needed > LARGE:
        require_memory(needed, f"A factor of {n_free} free support vectors", "use fewer rows, or a smaller C")


def disk_room(folder):
    """Return the bytes free in a folder."""
    return shutil.disk_usage(folder).free


def available_memory(root="/"):
    """Return the bytes of memory that can still be taken, or None where the system does not say.

    The least of what the machine has, what every control group above this process leaves (versions 1 and 2;
    cached files count as free), and what the limits of this process leave (``ulimit -v`` and ``-d``).

    Parameters
    ----------
    root : path-like
        Where the folders ``proc`` and ``sys`` are.
    """
    root = Path(root)
    amounts = [*_left_on_machine(root), *_left_in_groups(root), *_left_by_limits(root)]
    return max(0, min(amounts)) if amounts else None


def _left_on_machine(root):
    words = _table(root / "proc/meminfo")
    if "MemAvailable:" in words:
        return [int(words["MemAvailable:"]) * 1024]
    try:
        return [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    except (AttributeError, ValueError, OSError):
        return []


GROUP_FILES = {
    2: (
        ("memory.max", "memory.high"),
        "memory.current",
        ("inactive_file", "active_file", "slab_reclaimable"),
    ),
    1: (
        ("memory.limit_in_bytes",),
        "memory.usage_in_bytes",
        ("total_inactive_file", "total_active_file"),
    ),
}
"""For each version of control groups: limits, what is used, and which parts of that can be had back."""


def _left_in_groups(root):
    """Yield what each control group of this process, up to the root of its tree, leaves."""
    for version, folder in _groups(root):
        limit_names, used_name, cached_names = GROUP_FILES[version]
        limits = [int(text) for name in limit_names if (text := _text(folder / name)).isdigit()]
        used = _text(folder / used_name)
        if min(limits, default=UNLIMITED) < UNLIMITED and used.isdigit():
            cached = _table(folder / "memory.stat")
            yield min(limits) - int(used) + sum(int(cached.get(name, 0)) for name in cached_names)


def _groups(root):
    """Yield version and folder of each control group of this process, from its own up to the root."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        version, top = (1, root / "sys/fs/cgroup/memory") if controllers else (2, root / "sys/fs/cgroup")
        # From within a container its group may have a path that is not there; its files then are at the top.
        parts = [] if ".." in path else [part for part in path.split("/") if part]
        for depth in range(len(parts), -1, -1):
            yield version, top.joinpath(*parts[:depth])


def _left_by_limits(root):
    """Yield what the limits of this process leave of its address space and of its data."""
    words = _table(root / "proc/self/status")
    for kind, name in (("RLIMIT_AS", "VmSize:"), ("RLIMIT_DATA", "VmData:")):
        if resource is not None and name in words:
            limit = resource.getrlimit(getattr(resource, kind))[0]
            if limit != resource.RLIM_INFINITY:
                yield limit - int(words[name]) * 1024


def _table(path):
    """Return the first and second word of each line of a file."""
    lines = (line.split() for line in _text(path).splitlines())
    return {words[0]: words[1] for words in lines if len(words) > 1}


def _text(path):
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
