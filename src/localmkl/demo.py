"""The demonstration: five methods on data where each of three groups has its own informative view."""

import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from sklearn.model_selection import train_test_split

from localmkl import (
    CLMKLClassifier,
    HLMKLClassifier,
    LMKLClassifier,
    MKLClassifier,
    UniformMKLClassifier,
)
from localmkl._types import FilePath
from localmkl.datasets import make_localized
from localmkl.kernels import Linear
from localmkl.report import write_report

VIEW_NAMES = ("group", "view 1", "view 2", "view 3", "noise 1", "noise 2")
REPORT_FILE = "localmkl-demo.html"


def run_demo(
    n_samples: int = 300, seed: int = 0, console: Console | None = None, report: FilePath = REPORT_FILE
) -> dict[str, Any]:
    """Fit, print the methods and the kernel weights of each cluster, write a report; return the models."""
    console = Console() if console is None else console
    data = make_localized(n_samples + 1000, random_state=seed)
    X, X_test, y, y_test = train_test_split(
        data.X, data.y, train_size=n_samples, random_state=seed, stratify=data.y
    )
    kernels = [Linear(columns=view) for view in data.views]
    models = {
        "UNIF": UniformMKLClassifier(kernels),
        "MKL": MKLClassifier(kernels, p=1),
        "LMKL": LMKLClassifier(kernels, gate_kernel=0, random_state=seed),
        "HLMKL": HLMKLClassifier(kernels, gate_kernel=0, p=1, random_state=seed),
        "CLMKL": CLMKLClassifier(kernels, gate_kernel=0, evenness=0.4, p=1, random_state=seed),
    }
    console.print(
        f"\nThree groups of samples, each with its own informative view among {len(kernels)}; "
        f"{n_samples} training and {len(y_test)} test samples.\n"
    )
    table = Table("method", "accuracy", "duality gap", "seconds", title="Five methods, one problem")
    for model in models.values():
        model.fit(X[:40], y[:40])  # the first fits also compile
    seconds = {}
    for name, model in models.items():
        start = time.perf_counter()
        model.fit(X, y)
        seconds[name] = time.perf_counter() - start
        accuracy = f"{100 * model.score(X_test, y_test):.1f} %"
        table.add_row(name, accuracy, f"{model.duality_gap_:.1e}", f"{seconds[name]:.2f}")
    console.print(table)
    console.print(_weights_table("MKL", models["MKL"]))
    console.print(_weights_table("CLMKL", models["CLMKL"]))
    console.print("MKL must give one answer to 'which view matters?'; CLMKL gives one for each cluster.\n")
    title = "Three clusters, each with its own informative view"
    path = write_report(models["CLMKL"], report, X_test, y_test, train=(X, y), title=title, random_state=seed)
    text = f"The model as a report: {Path(path).resolve()}"
    console.print(text, soft_wrap=True, highlight=False, markup=False)
    return models


def _weights_table(name: str, model: Any) -> Table:
    title = f"Kernel weights of {name}"
    table = Table("cluster", *VIEW_NAMES, title=title)
    for cluster, weights in enumerate(model.kernel_weights_):
        largest = weights.max()
        cells = [f"[bold]{w:.2f}[/bold]" if w >= 0.5 * largest else f"{w:.2f}" for w in weights]
        table.add_row(str(cluster + 1), *cells)
    return table
