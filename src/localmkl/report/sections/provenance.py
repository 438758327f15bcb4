"""The section on how the report itself was made: versions, date, machine, origin of the model."""

import platform
from datetime import UTC, datetime

import numpy as np
import sklearn

import localmkl
from localmkl.report.prose import Section, Table
from localmkl.report.subject import Subject


def provenance_section(subject: Subject) -> Section:
    """Return the section on versions, date, machine and the origin of the model."""
    total = subject.n_train if subject.X is None else len(subject.seen)
    shown = f"{len(subject.shown):,}" if subject.rows is not None else "none"
    if subject.rows is not None and total > len(subject.shown):
        shown += f" of {total:,}, chosen at random (seed {subject.seed})"
    rows = [
        ["localmkl", localmkl.__version__],
        ["date", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")],
        ["Python", platform.python_version()],
        ["NumPy", np.__version__],
        ["scikit-learn", sklearn.__version__],
        ["machine", f"{platform.system()} {platform.machine()}"],
        ["samples shown one by one", shown],
    ]
    origin = getattr(subject.given, "made_", None)  # models of the command line say where they come from
    if origin:
        commit = f", commit {origin['commit']}" if origin.get("commit") else ""
        rows += [
            ["model trained on", origin["file"]],
            ["model trained at", f"{origin['date']} by localmkl {origin['version']}{commit}"],
            ["kernels asked for", origin["kernels"]],
        ]
    return Section("made", "How this report was made", [], [Table("Provenance", ["what", "value"], rows)])
