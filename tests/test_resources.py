"""What memory there is: of the machine, of containers, of the process; and what fits and predictions take."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from localmkl import CLMKLClassifier, GramStack, _resources
from localmkl._resources import available_memory, disk_room, require_factor, require_memory
from localmkl.datasets import make_localized

GB = 10**9


def machine(tmp_path, **files):
    """Make the files of a machine with 64 GB of free memory; names have double underscores for slashes."""
    files = {"proc__meminfo": f"MemTotal: 1 kB\nMemAvailable: {64 * GB // 1024} kB\n", **files}
    for name, text in files.items():
        path = tmp_path / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_the_memory_of_this_machine_is_known():
    assert available_memory() > 2**20
    assert disk_room("/") > 0


def test_an_unknown_amount_of_memory_refuses_nothing(monkeypatch):
    monkeypatch.setattr(_resources, "available_memory", lambda: None)
    require_memory(10**18, "All of it")


def test_without_limits_the_machine_decides(tmp_path):
    root = machine(tmp_path, proc__self__cgroup="0::/mine\n", **{"sys/fs/cgroup/mine/memory.max": "max\n"})
    assert available_memory(root) == 64 * GB // 1024 * 1024


def test_the_tightest_control_group_decides_and_cached_files_count_as_free(tmp_path):
    groups = {}
    for path, limit, used in (("", "max", 9 * GB), ("/pod", 4 * GB, 3 * GB), ("/pod/mine", 8 * GB, 2 * GB)):
        groups[f"sys/fs/cgroup{path}/memory.max"] = f"{limit}\n"
        groups[f"sys/fs/cgroup{path}/memory.current"] = f"{used}\n"
    groups["sys/fs/cgroup/pod/memory.stat"] = f"anon {GB}\ninactive_file {GB}\nactive_file 500000000\n"
    root = machine(tmp_path, proc__self__cgroup="0::/pod/mine\n", **groups)
    assert available_memory(root) == 2.5 * GB
    (root / "sys/fs/cgroup/pod/memory.high").write_text(f"{2 * GB}\n")
    assert available_memory(root) == 0.5 * GB
    (root / "sys/fs/cgroup/pod/memory.high").write_text(f"{GB}\n")
    assert available_memory(root) == 0


@pytest.mark.parametrize("path", ["/docker/mine", "/docker/of-the-host", "/../.."])
def test_control_groups_of_version_1_count_also_where_a_container_sees_another_path(tmp_path, path):
    folder = "docker/mine/" if path == "/docker/mine" else ""
    root = machine(
        tmp_path,
        proc__self__cgroup=f"5:cpu:/other\n4:memory:{path}\n",
        **{
            f"sys/fs/cgroup/memory/{folder}memory.limit_in_bytes": f"{4 * GB}\n",
            f"sys/fs/cgroup/memory/{folder}memory.usage_in_bytes": f"{3 * GB}\n",
            f"sys/fs/cgroup/memory/{folder}memory.stat": f"cache 5\ntotal_inactive_file {GB // 2}\n",
        },
    )
    assert available_memory(root) == 1.5 * GB


LIMITED = """
import resource
from localmkl._resources import available_memory
kind = resource.RLIMIT_{kind}
resource.setrlimit(kind, (3 * 10**9, resource.RLIM_INFINITY))
print(available_memory())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not enforce it")
@pytest.mark.parametrize("kind", ["AS", "DATA"])
def test_the_limits_of_the_process_count(kind):
    code = LIMITED.format(kind=kind)
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < int(answer.stdout) < 3 * GB


def test_a_factor_of_many_free_support_vectors_is_asked_for(monkeypatch):
    monkeypatch.setattr(_resources, "available_memory", lambda: 10**6)
    require_factor(100)
    with pytest.raises(MemoryError, match=r"of 4000 free support vectors needs 128,000,000 bytes of memory"):
        require_factor(4000)


def test_a_list_of_grams_is_not_copied_into_memory_that_is_not_there(monkeypatch):
    monkeypatch.setattr(_resources, "available_memory", lambda: 1599)
    with pytest.raises(MemoryError, match="A stack of these Grams needs 1,600 bytes of memory"):
        GramStack([np.eye(10), np.eye(10)])
    GramStack(np.stack([np.eye(10), np.eye(10)]))


def test_predictions_that_do_not_fit_are_refused(monkeypatch):
    X, y = make_localized(n_samples=60, random_state=0)[:2]
    model = CLMKLClassifier(n_clusters=2, random_state=0).fit(X, y)
    monkeypatch.setattr(_resources, "available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match=r"Prediction for 60 rows needs [\d,]+ bytes .* predict fewer rows"):
        model.predict(X)


MEASURE = """
import gc
from pathlib import Path
from localmkl import MKLClassifier, UniformMKLRegressor
from localmkl._resources import _table
from localmkl.datasets import make_localized

def status(key):
    return int(_table(Path("/proc/self/status"))[key]) * 1024

X, y = make_localized(n_samples=2100, random_state=0)[:2]  # Grams that the C library gives back at once
for cls in (MKLClassifier, UniformMKLRegressor):
    model = cls(tol=0.1).fit(X, y)  # compiles what is not compiled yet
    said = model._fitting_bytes(X, 1)[1]
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = status("VmRSS:")
    model.fit(X, y)
    print(said, status("VmHWM:") - before)
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux")
def test_a_fit_takes_what_was_said():
    # In a process of its own: one that has worked before may take memory from what it has not given back.
    answer = subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True)
    lines = answer.stdout.splitlines()
    assert len(lines) == 2
    for line in lines:
        said, used = map(int, line.split())
        assert used == pytest.approx(said, rel=0.1)
