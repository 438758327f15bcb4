"""The method: parameters, kernels, weights, search, certificate, versions."""

import platform
from typing import Any

import numpy as np
import sklearn

import localmkl
from localmkl import explain
from localmkl.bounds import bound_model
from localmkl.report.drawing import heat_map
from localmkl.report.markup import Html, Section, figure, table
from localmkl.report.prose import brief, percent
from localmkl.report.subject import Subject

METHODS = {
    "UniformMKL": "adds all kernels with equal weights",
    "MKL": "learns one set of kernel weights for all rows",
    "HLMKL": "puts each row into one cluster and learns kernel weights for each",
    "CLMKL": "lets rows belong to clusters to some degree and learns kernel weights for each",
    "LMKL": "learns kernel weights as a function of the row",
}

MEANINGS = {
    "C": "cost of errors; larger follows the training rows more closely",
    "p": "norm of the kernel weights; 1 selects few kernels",
    "shared": "how much of every row is common to all parts",
    "n_clusters": "number of clusters",
    "evenness": "how evenly rows are shared among clusters",
    "gate": "where memberships come from",
    "gate_kernel": "kernel that says which rows are alike; None is the mean of all",
    "normalize": "how kernels are made comparable",
    "missing": "how kernels treat a missing view",
    "class_weight": "weight of the classes",
    "n_components": "most features of a kernel; None is exact",
    "tol": "tolerance of the duality gap",
    "random_state": "seed",
}

CANDIDATES = 10
"""Rows in the table of the search."""


def how_made(subject: Subject) -> Section:
    """Return the folded section on the method."""
    model = subject.model
    kernels = [
        [name, "Gram matrix" if not explain.bare_kernels(model) else repr(explain.bare_kernels(model)[m])]
        for m, name in enumerate(subject.kernels)
    ]
    parts: list[Any] = [
        method_text(subject),
        certificate_text(subject),
        features_text(subject),
        bound_text(subject),
        table(["parameter", "value", "meaning"], _parameters(subject), "Parameters"),
        table(["kernel", "definition"], kernels, "Kernels"),
        _weights(subject),
        _search(subject),
        table(["what", "value"], _origin(subject), "Origin"),
    ]
    return Section("made", "How it was made", [part for part in parts if part], folded=True)


def method_text(subject: Subject) -> str:
    """Say what was fitted."""
    model, kinds = subject.model, [kind.__name__ for kind in type(subject.model).__mro__]
    roots = [kind.removesuffix("Classifier").removesuffix("Regressor") for kind in kinds]
    root = next((root for root in roots if root in METHODS), roots[0])
    what = METHODS.get(root, "learns kernel weights")
    if root in ("HLMKL", "CLMKL") and not subject.local:
        what = METHODS["MKL"]
    elif subject.grouped:
        what = f"learns kernel weights for each {subject.noun}"
    share = explain.shared_part(model)
    beside = f" A part that all rows share has weights too, by {percent(share)}." if share else ""
    loss = explain.described_loss(model)["loss"].replace("_", " ")
    return f"{kinds[0]} {what}.{beside} The loss is the {loss}."


def certificate_text(subject: Subject) -> str:
    """Say what the duality gap proves."""
    gap, tol = float(subject.model.duality_gap_), float(subject.model.tol)
    if not hasattr(subject.model, "squared_norm_"):
        return "This problem has many local solutions; nothing is proved about the one that was found."
    if not np.isfinite(gap):
        return "No duality gap was reached; nothing is proved about the solution."
    text = f"The duality gap proves that the objective is within {brief(100 * gap)} % of the best possible."
    return text if gap <= tol else f"{text} The solver stopped before the tolerance of {brief(100 * tol)} %."


def features_text(subject: Subject) -> str:
    """Say what a rank leaves out of the kernels."""
    lost = getattr(subject.model, "approximation_error_", None)
    if lost is None:
        return ""
    text = f"Kernels are approximated; {percent(np.mean(lost), 1)} of a kernel is left out on average."
    gap = subject.made.get("exact_gap")
    if gap is None or not gap["gap"] < 1.0:
        return f"{text} The certificate is for the approximated kernels."
    return (
        f"{text} On the exact kernels the objective is within {percent(gap['gap'], 1)} of the best possible."
    )


def bound_text(subject: Subject) -> str:
    """Say what theory guarantees, where it guarantees something."""
    model, train = subject.model, subject.train
    if not subject.classifier or train is None or train[1] is None or not hasattr(model, "squared_norm_"):
        return ""
    if model.loss_.lipschitz is None:
        return ""
    found = bound_model(model, train[0], np.asarray(train[1]))
    total = max(one.total for one in (found if isinstance(found, tuple) else (found,)))
    if not total < 1.0:
        return ""
    return (
        f"Theory bounds the share of new rows that are predicted wrongly by {percent(total)}, with a "
        "confidence of 95 %, if the parameters had been fixed in advance."
    )


def _parameters(subject: Subject) -> list[list[str]]:
    model = subject.model
    given = model.get_params(deep=False)
    unused = {"n_clusters", "evenness", "gate_kernel"} if subject.grouped else set()
    unused |= set() if subject.views else {"missing"}
    clustering = getattr(getattr(model, "gate_", None), "clustering", None)
    unused |= set() if getattr(clustering, "reads_evenness", True) else {"evenness"}
    return [
        [name, _written(given[name]), why]
        for name, why in MEANINGS.items()
        if name in given and name not in unused
    ]


def _written(value: Any) -> str:
    if isinstance(value, float | int) and not isinstance(value, bool):
        return brief(value)
    return f"array of shape {value.shape}" if hasattr(value, "shape") else str(value)


def _weights(subject: Subject) -> Html | None:
    """Return the kernel weights, which are no effects."""
    if len(subject.kernels) < 2:
        return None
    shares = explain.kernel_shares(subject.model)
    parts = subject.parts if subject.local else ["all rows"]
    order = [m for m in np.argsort(-shares.max(axis=0))[:30] if shares[:, m].max() >= 0.005]
    shown = shares.T[order][:, : len(parts)]
    drawn = heat_map(
        [subject.kernels[m] for m in order], parts, shown, corner="kernel, share of the weights in percent"
    )
    text = "Weights belong to the solution; a large weight need not mean a large effect on predictions."
    found, rows = subject.refits, []
    if found is not None:
        for j, m in np.ndindex(found.shares.shape):
            ends = f"{percent(found.low[j, m])} to {percent(found.high[j, m])}"
            rows.append([subject.kernels[m], found.clusters[j], ends, percent(found.frequency[j, m])])
    head = ["kernel", "part", "90 % interval", "chosen in refits"]
    return figure("Kernel weights", text, drawn, table(head, rows, "Refits on halves") if rows else None)


def _search(subject: Subject) -> Html | None:
    """Return the best candidates of a search."""
    search = subject.search
    if search is None:
        return None
    results = search.cv_results_
    metric = f"mean_test_{search.refit}"
    metric = metric if metric in results else next(key for key in results if key.startswith("mean_test_"))
    scores = np.asarray(results[metric], dtype=float)
    spread = np.asarray(results[metric.replace("mean_", "std_", 1)], dtype=float)
    keys = [key for key in results if key.startswith("param_")]
    order = np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable")[:CANDIDATES]
    rows = [
        [
            "chosen" if i == search.best_index_ else "",
            *(_written(_plain(results[key][i])) for key in keys),
            f"{scores[i]:.3f}",
            f"{spread[i]:.3f}",
        ]
        for i in order
    ]
    names = [key.removeprefix("param_").rpartition("__")[2] for key in keys]
    caption = (
        f"The best of {len(scores)} candidates, on {search.n_splits_} folds; these scores serve the choice"
    )
    return table(["", *names, "mean score", "standard deviation"], rows, caption)


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, np.number) else value


def _origin(subject: Subject) -> list[list[str]]:
    """Return versions, time and machine."""
    made, model = subject.made, subject.model
    seconds = made.get("seconds")
    rows = {
        "date": made.get("date"),
        "localmkl": ", ".join(filter(None, [made.get("version", localmkl.__version__), made.get("commit")])),
        "scikit-learn": sklearn.__version__,
        "Python": platform.python_version(),
        "machine": made.get("cpu"),
        "seconds of the training": None if seconds is None else brief(seconds),
        "steps of the solver": f"{model.n_iter_:,}",
        "support vectors": f"{len(model.support_):,} of {subject.n_train:,}",
    }
    return [[name, str(value)] for name, value in rows.items() if value]
