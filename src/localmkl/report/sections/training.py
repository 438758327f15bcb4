"""The section on how the model was trained: data, kernels, parameters, certificate."""

from typing import Any

import numpy as np

from localmkl import explain
from localmkl.estimators.base import BaseMKL
from localmkl.kernels.stack import take_rows
from localmkl.report.prose import Section, Table, brief, count, listing, percent
from localmkl.report.subject import Subject

EXPLANATIONS = {
    "UNIF": "adds all kernels with equal weights: nothing is learned about which kernel matters",
    "MKL": "learns one weight for each kernel, the same for all samples",
    "HLMKL": "puts each sample into one of several clusters and learns kernel weights for each",
    "CLMKL": "lets samples belong to every cluster to some degree and learns kernel weights for each",
    "LMKL": "learns kernel weights as a function of the sample; its problem has many local solutions",
}

LOSSES = {
    "hinge": "what errors cost: samples clearly on the right side nothing, others in proportion",
    "squared_hinge": "what errors cost: samples clearly on the right side nothing, others by the square",
    "log_loss": "what errors cost: the logarithm of the probability of the truth, so that all samples count",
    "epsilon_insensitive": "what errors cost: up to epsilon nothing, beyond in proportion",
    "squared_error": "what errors cost: their square, so that all samples count",
    "huber": "what errors cost: up to epsilon their square, beyond in proportion",
    "quantile": "what errors cost: in proportion, on one side more than on the other",
}

PARAMETERS = {
    "C": "cost of errors: larger follows the training data more closely",
    "p": "norm of the kernel weights: 1 selects few kernels, larger spreads the weight",
    "scale_C": "whether C means the same for every method, number of kernels and clusters",
    "shared": "how much of every sample is common to all: 0 nothing, 1 everything",
    "n_clusters": "number of clusters",
    "evenness": "how evenly samples are shared among clusters, on average",
    "gate": "where memberships come from",
    "groups": "column of the groups; None: given beside the rows",
    "gate_kernel": "kernel that says who is near whom; None is the mean of all",
    "normalize": "how kernels are made comparable",
    "missing": "whether the other views of a sample make up for one that it lacks (rescale), or not (zero)",
    "class_weight": "weight of the classes",
    "n_components": "most features of a kernel; without it kernels are exact",
    "tol": "relative duality gap asked for",
    "random_state": "seed",
}


def training_section(subject: Subject, seconds: float | None = None) -> Section:
    """Return the section on data, kernels, parameters and certificate."""
    model = subject.model
    text = [
        f"{subject.called} {_explanation(subject)}. It was trained on "
        f"{count(subject.n_train, 'sample')}{_classes(subject)}, {_shape(subject)}, seen through "
        f"{count(len(subject.kernels), 'kernel')}. A kernel is a measure of how alike two samples are; the "
        "model decides by a weighted sum of them.",
        certificate_text(subject),
    ]
    if hasattr(model, "features_"):
        text.append(features_text(subject))
    n_clusters = explain.local_memberships(model, explain.memberships_of(model)).shape[1]
    if subject.alike and n_clusters > 1:
        text.append(
            f"All samples have the same memberships in the {n_clusters} clusters: these are the same by "
            "construction, and nothing is said about them one by one."
        )
    if not len(model.support_):
        text.append("No training sample became a support vector: it predicts the same for every sample.")
    if getattr(model, "transductive_", False):
        text.append("The clusters were learned from further samples without labels as well.")
    rows = _loss_rows(model)
    rows += [[name, _written(value), why] for name, value, why in _parameters(model)]
    rows += [
        ["duality gap reached", f"{model.duality_gap_:.1e}", "how far, at most, from the best possible"],
        ["steps", f"{model.n_iter_:,}", "updates of the kernel weights"],
        ["support vectors", f"{len(model.support_):,} of {subject.n_train:,}", "samples it decides by"],
    ]
    if seconds is not None:
        rows.append(["seconds", brief(seconds), "time of the training"])
    kernels = [
        [
            name,
            "a Gram matrix" if model.kernels_ is None else repr(explain.bare_kernels(model)[m]),
            brief(model.factors_[m]),
        ]
        for m, name in enumerate(subject.kernels)
    ]
    blocks = [
        Table("Parameters and outcome", ["what", "value", "meaning"], rows, folded=True),
        Table("Kernels", ["kernel", "definition", "factor of the normalisation"], kernels, folded=True),
    ]
    return Section("done", "What was done", text, blocks)


def _explanation(subject: Subject) -> str:
    """Say in a clause what the method does, with what is shared and whose weights are learned."""
    what = EXPLANATIONS.get(subject.method, "is a method of its own")
    if subject.all_shared:
        return what
    if subject.noun == "group" and subject.alike:
        return f"{EXPLANATIONS['MKL']}: there is one group"
    if subject.noun == "group":
        groups = subject.model.gate_.labels.tolist()
        told = listing(groups if len(groups) <= 8 else [*groups[:7], "others"])
        what = f"learns kernel weights for each of {count(len(groups), 'known group')} ({told})"
    if subject.shared:
        what += f", beside weights of a part that all samples share (by {percent(subject.shared)})"
    return what


def _parameters(model: BaseMKL) -> list[tuple[str, Any, str]]:
    """Return (name, value, meaning) of the parameters that the model made use of."""
    params, meanings = model.get_params(deep=False), dict(PARAMETERS)
    unused = ["n_clusters", "evenness"] if explain.has_groups(model) else ["groups"]
    unused += [] if hasattr(model, "views_") else ["missing"]
    meanings |= {"gate_kernel": "how alike groups are; None: not at all"} if explain.has_groups(model) else {}
    return [
        (name, params[name], why) for name, why in meanings.items() if name in params and name not in unused
    ]


def _loss_rows(model: BaseMKL) -> list[list[str]]:
    """Return the loss, and its parameters, as rows of the table."""
    (_, name), *settings = explain.described_loss(model).items()
    rows = [["loss", name, LOSSES.get(name, "what errors cost: a loss of its own")]]
    return rows + [[setting, _written(value), "of the loss"] for setting, value in settings]


def _classes(subject: Subject) -> str:
    if not subject.classifier:
        return " with numeric targets"
    names = [str(label) for label in subject.model.classes_]
    return f" of {len(names)} classes ({listing(names if len(names) <= 8 else [*names[:7], 'others'])})"


def _shape(subject: Subject) -> str:
    model = subject.model
    if hasattr(model, "widths_") and model._precomputed:
        return "given by features"
    if model._precomputed:
        return "given by their Gram matrices"
    if hasattr(model, "views_"):
        return f"described by {count(len(model.views_), 'view')} ({listing(list(model.views_))})"
    if hasattr(model, "n_features_in_"):
        n_columns = model.n_features_in_ - (getattr(model, "groups", None) is not None)
        return f"described by {count(n_columns, 'column')}"
    rows = model.features_.landmarks if hasattr(model, "features_") else model.rows_
    if rows is None:
        return "sequences"
    rows = take_rows(rows, slice(0, subject.n_train))
    lengths = [len(text) for text in rows]
    if min(lengths) == max(lengths):
        return f"sequences of {count(lengths[0], 'letter')}"
    return f"sequences of {min(lengths):,} to {max(lengths):,} letters"


def features_text(subject: Subject) -> str:
    """Say what features are, what they lose, and what that costs, if it is known."""
    model, lost = subject.model, subject.model.approximation_error_
    landmarks = model.features_.n_landmarks
    how = f", which compare a sample with {count(landmarks, 'landmark')} among the training samples"
    most = count(model.n_components, "feature")
    text = (
        f"Each kernel is seen through at most {most}{how if landmarks else ''}. "
        f"They leave out {percent(lost.mean(), 1)} of a kernel on average, and {percent(lost.max(), 1)} of "
        f"{subject.kernels[int(lost.argmax())]}, where it is most."
    )
    gap = getattr(subject.given, "made_", {}).get("exact_gap")
    if gap is None:
        return f"{text} The certificate is for the problem on these features."
    if not gap["gap"] < 1.0:
        return f"{text} The certificate is for these features; nothing is proved about the exact kernels."
    error = f" (an estimate, give or take {percent(gap['error'], 1)})" if gap["error"] else ""
    return (
        f"{text} The certificate is for the problem on these features; on the exact kernels the objective is "
        f"within {percent(gap['gap'], 1)} of the best possible{error}."
    )


def certificate_text(subject: Subject) -> str:
    """Say what the duality gap proves."""
    gap, tol = subject.model.duality_gap_, subject.model.tol
    if subject.method == "LMKL":
        return (
            f"Its objective is not convex: the duality gap of {gap:.1e} certifies the convex problem for the "
            "final weights of the samples, not these weights."
        )
    if not np.isfinite(gap):
        return "No duality gap was reached: nothing is proved about the solution."
    text = f"The duality gap proves that the objective is within {percent(gap, 4)} of the best possible"
    if gap <= tol:
        return f"{text}; {percent(tol, 1)} was asked for."
    return f"{text}, which is more than the {percent(tol, 1)} asked for: the solver was stopped before."


def _written(value: Any) -> str:
    if isinstance(value, float | int) and not isinstance(value, bool):
        return brief(value)
    if hasattr(value, "shape"):
        return f"array of shape {value.shape}"
    return value if isinstance(value, str) else repr(value)
