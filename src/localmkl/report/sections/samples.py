"""The section on single samples: the clearest and the least clear ones."""

import numpy as np

from localmkl._types import Floats, Ints
from localmkl.estimators.groups import rows_of
from localmkl.report.prose import Section, Table, brief, percent, signed
from localmkl.report.subject import Subject

SHOWN_SAMPLES = 8
"""Samples listed of the most and of the least certain ones: as many as a reader compares at a glance."""

LETTERS_SHOWN = 60
"""Letters of a sequence that are written out: what fits on a line of the page."""


def samples_section(subject: Subject) -> Section | None:
    """Return the most and the least certain samples; None without rows."""
    if subject.rows is None or len(subject.shown) < 2:
        return None
    certainty, word = _certainty(subject)
    order = np.argsort(-certainty, kind="stable")
    few = min(SHOWN_SAMPLES, len(order) // 2)
    ends = {"largest": order[:few], "smallest": order[::-1][:few]}
    value = "decision" if subject.classifier else "prediction"
    head = ["sample", *(["prediction"] if subject.classifier else []), value]
    head += [*(["truth"] if subject.targets is not None else []), subject.noun, "strongest kernels"]
    head += ["sequence"] if letters_of(subject, 0) else []
    tables = [
        Table(f"The {few} samples with the {name} {word}", head, [_sample_row(subject, i) for i in chosen])
        for name, chosen in ends.items()
    ]
    text = samples_text(subject, certainty, *ends.values())
    return Section("samples", "Clear and unclear samples", [text], tables)


def _certainty(subject: Subject) -> tuple[Floats, str]:
    """Return the certainty of each sample, and its meaning in words."""
    if subject.classifier and subject.decisions.ndim == 2:
        two = np.sort(subject.decisions, axis=1)[:, -2:]
        return two[:, 1] - two[:, 0], "lead of the predicted class over the next"
    if subject.classifier:
        return np.abs(subject.decisions), "distance from the boundary"
    if subject.targets is None:
        return subject.predictions, "prediction"
    return np.abs(subject.predictions - subject.targets), "error"


def samples_text(subject: Subject, certainty: Floats, best: Ints, worst: Ints) -> str:
    """Say how clear the clearest and the least clear samples are, and how many of them are right."""
    if not subject.classifier:
        return "A regression model does not say how sure it is; listed are both ends."
    text = (
        f"The clearest samples are {brief(float(certainty[best].min()))} or more from the boundary, the "
        f"least clear ones at most {brief(float(certainty[worst].max()))}."
    )
    if subject.targets is None or not subject.known.any():
        return text
    right = np.array([p == t for p, t in zip(subject.predictions, subject.targets, strict=True)])
    text += (
        f" Predicted rightly are {right[best].sum()} of the {len(best)} clearest and {right[worst].sum()} of "
    )
    text += f"the {len(worst)} least clear."
    if subject.seen.all():
        verb = "may have been" if subject.doubtful.any() else "was"
        text += f" The model {verb} trained on these samples: on new ones it is likely to err more often."
    return text


def _sample_row(subject: Subject, i: int) -> list[str]:
    parts = subject.contributions[i]
    strongest = np.argsort(-np.abs(parts), kind="stable")[:2]
    row = [subject.labels[i]]
    if subject.classifier:
        row += [str(subject.predictions[i]), signed(subject.decisions[i].max())]
    else:
        row.append(brief(float(subject.predictions[i])))
    if subject.targets is not None:
        truth = subject.targets[i]
        row.append(str(truth) if subject.classifier else brief(float(truth)))
    named = ", ".join(f"{subject.kernels[m]} {signed(parts[m])}" for m in strongest)
    letters = letters_of(subject, i)
    cluster = subject.clusters[subject.main[i]]
    if subject.noun == "cluster":
        cluster += f" ({percent(subject.local[i].max())})"
    return [*row, cluster, named, *([letters] if letters else [])]


def letters_of(subject: Subject, i: int) -> str:
    """Return the first letters of a sample that is a sequence; empty for all others."""
    rows = rows_of(subject.rows)
    if not isinstance(rows, np.ndarray) or rows.dtype != object or rows.ndim != 1:
        return ""
    text = str(rows[i])
    return text if len(text) <= LETTERS_SHOWN else text[:LETTERS_SHOWN] + "..."
