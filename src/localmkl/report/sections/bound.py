"""The section on the generalisation bound and its parts."""

import numpy as np

from localmkl.bounds import GeneralizationBound, bound_model
from localmkl.explain import described_loss
from localmkl.report import charts
from localmkl.report.prose import Figure, Section, Table, brief, percent
from localmkl.report.subject import Subject


def bound_section(subject: Subject, delta: float = 0.05) -> Section | None:
    """Return the generalisation bound and its parts; None without training data or outside the theorem."""
    if subject.training is None or not hasattr(subject.model, "squared_norm_"):
        return None
    X, y = subject.training
    title = "What theory guarantees"
    if not subject.classifier and np.ptp(y) == 0.0:
        return Section("bound", title, ["Nothing is bounded: all training targets are equal."])
    if subject.model.loss_.lipschitz is None:
        name = described_loss(subject.model)["loss"]
        text = f"Nothing is bounded: the theorem needs a loss whose slopes are, and those of {name} are not."
        return Section("bound", title, [text])
    found = bound_model(subject.model, subject.transform(X), np.asarray(y), delta=delta)
    several = found if isinstance(found, tuple) else (found,)
    worst = max(several, key=lambda one: one.total)
    order = ["training loss", "confidence", "complexity", "sum"]
    parts = dict(zip(order, _parts(worst), strict=True))
    if not np.isfinite(worst.total):
        return Section("bound", title, ["Nothing is bounded: the numbers are too large for it."])
    rows = [{"part": part, "value": float(f"{value:.4g}")} for part, value in parts.items()]
    limit = 1.0 if subject.classifier else None
    spec = charts.bars(rows, order=order, title="bound on the loss of new samples", limit=limit)
    labels = [str(label) for label in subject.model.classes_] if len(several) > 1 else ["all"]
    cells = [[label, *map(brief, _parts(one))] for label, one in zip(labels, several, strict=True)]
    table = Table("Parts of the bound", ["class", *order], cells)
    clipped = _clipped(subject)
    text = (
        "A theorem bounds the loss on new samples by the sum of three parts: the loss on the training "
        f"samples ({clipped}), the price of being {percent(1 - delta)} sure, and the price of "
        "choosing from a rich class of functions. Use it to compare models: the theorem wants some "
        "quantities fixed in advance that are read off the data here."
    )
    which = ", for the class where it is largest" if len(several) > 1 else ""
    said = bound_text(parts, subject.classifier)
    figure = Figure("bound", f"The bound and its parts{which}", said, spec, table=table)
    return Section("bound", title, [text], [figure])


def _clipped(subject: Subject) -> str:
    """Return where, and in which unit, the loss is clipped."""
    slope = subject.model.loss_.lipschitz
    if not subject.classifier:
        times = "" if slope == 1.0 else f" times the largest slope of the loss, {brief(slope)}"
        return f"clipped at the range of y{times}"
    unit = "counted in bits and " if subject.probable else ""
    return f"{unit}clipped at 1, so that no error counts less than one"


def _parts(found: GeneralizationBound) -> tuple[float, float, float, float]:
    return found.empirical_risk, found.confidence, found.complexity, found.total


def bound_text(parts: dict[str, float], classifier: bool) -> str:
    """Say what the bound amounts to."""
    total = parts["sum"]
    largest = max((name for name in parts if name != "sum"), key=parts.__getitem__)
    text = f"The sum is {brief(total)}; its largest part is the {largest} ({brief(parts[largest])})."
    if not classifier:
        return text
    if total >= 1.0:
        return f"{text} From 1 on (dashed line) nothing is guaranteed: too few samples for so rich a class."
    return f"{text} At most {percent(total)} of new samples are predicted wrongly, where the theorem holds."
