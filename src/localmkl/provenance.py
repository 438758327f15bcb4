"""The origin of results: version, commit, machine and date."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import localmkl


def provenance() -> dict[str, str | int | None]:
    """Return the provenance of results: version, commit of a checkout (else None), machine, date.

    Examples
    --------
    >>> sorted(provenance())
    ['commit', 'cores', 'cpu', 'date', 'system', 'version']
    """
    return {
        "version": localmkl.__version__,
        "commit": _commit(),
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


@cache
def _commit() -> str | None:
    """Return the commit of the repository this package is a tracked part of."""
    here = Path(localmkl.__file__).parent

    def git(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", *arguments], cwd=here, capture_output=True, text=True, check=False)

    try:
        tracked = git("ls-files", "--error-unmatch", "__init__.py").returncode == 0
        return git("describe", "--always", "--dirty").stdout.strip() or None if tracked else None
    except OSError:  # no git
        return None


@cache
def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())
