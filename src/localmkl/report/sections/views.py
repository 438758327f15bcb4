"""The section on views: who has which, quality by those that are there, and what dropping samples loses."""

import numpy as np

from localmkl._types import Bools
from localmkl.explain import training_rows
from localmkl.report import charts
from localmkl.report.metrics import Metric
from localmkl.report.patterns import SMALL, WHOLE, ByPattern, Lost, by_pattern, lost
from localmkl.report.prose import Figure, Section, Table, count, percent
from localmkl.report.quality import CROSS_VALIDATED, FEWEST, TRAINING, Quality, Score
from localmkl.report.refits import COMPLETE
from localmkl.report.sections.quality_figures import inks
from localmkl.report.subject import Subject


def views_section(subject: Subject, found: Quality | None) -> Section | None:
    """Return who has which view and what follows from that; None without views, or without samples."""
    title, masks = "Views that samples lack", _masks(subject) if subject.views else {}
    if not masks:
        return None
    if all(mask.all() for mask in masks.values()):
        text = f"Every sample has {_all(subject.views)} that the kernels read: nothing is missing."
        return Section("views", title, [text])
    said = [presence_text(masks, subject.views)]
    blocks: list[Figure | Table] = [_shares(masks, subject.views)]
    if found is not None:
        said.append(dropped_text(subject, found, masks))
        blocks += [] if found.present.all() else [_by_pattern(subject, found)]
    return Section("views", title, [one for one in said if one], blocks)


def _masks(subject: Subject) -> dict[str, Bools]:
    """Return who has which view of the training samples, where these are known, and of new ones."""
    masks, own = {}, training_rows(subject.model)
    if subject.training is not None:
        masks["training"] = subject.present(subject.training[0])
    elif own is not None:
        masks["training"] = subject.present_in(own)
    if subject.X is not None and not subject.seen.all():
        masks["new"] = subject.present(subject.X)[~subject.seen]
    if subject.X is not None and not masks:
        masks["training"] = subject.present(subject.X)
    return masks


def _all(views: list[str]) -> str:
    return {1: "the one view", 2: "both views"}.get(len(views), f"all {len(views)} views")


def presence_text(masks: dict[str, Bools], views: list[str]) -> str:
    """Say how many samples have all views, and which view is the rarest."""
    parts = []
    for kind, mask in masks.items():
        whole, shares = mask.all(axis=1), mask.mean(axis=0)
        text = f"Of {count(len(mask), f'{kind} sample')}, {whole.sum():,} ({percent(whole.mean())}) have "
        text += _all(views)
        rarest = int(shares.argmin())
        if len(views) > 1 and shares[rarest] < 1.0:
            text += f"; the rarest one, {views[rarest]}, is there in {percent(shares[rarest])}"
        parts.append(f"{text}.")
    return f"{' '.join(parts)} A view that a sample lacks adds nothing to its decision."


def _shares(masks: dict[str, Bools], views: list[str]) -> Table:
    """Return the table of who has which view."""
    rows = [[name, *(_counted(mask[:, v]) for mask in masks.values())] for v, name in enumerate(views)]
    if len(views) > 1:
        rows.append([WHOLE, *(_counted(np.asarray(mask.all(axis=1))) for mask in masks.values())])
    return Table("Samples that have each view", ["view", *(f"{kind} samples" for kind in masks)], rows)


def _counted(mask: Bools) -> str:
    return f"{mask.sum():,} of {len(mask):,} ({percent(mask.mean())})"


def _by_pattern(subject: Subject, found: Quality) -> Figure:
    """Return the figure of quality by pattern of missing views."""
    parts, main = by_pattern(subject, found), found.main
    names = [f"{name} ({size:,})" for name, size in zip(parts.names, parts.sizes, strict=True)]
    lists = parts.scores[main.name]
    rows = [
        {"group": name, "method": method, "value": round(main.unit * score.value, 4)}
        for method, scores in lists.items()
        for name, score in zip(names, scores, strict=True)
        if np.isfinite(score.value)
    ]
    colors = [inks(found)[0], charts.SOFT][: len(lists)]
    spec = charts.dots(rows, order=list(lists), order_rows=names, colors=colors, title=main.title)
    own = [(metric, parts.scores[metric.name][subject.method]) for metric in found.metrics]
    other = [(main, lists[COMPLETE])] if COMPLETE in lists else []
    cells = [
        [name, *(_written(metric, scores[k]) for metric, scores in own + other)]
        for k, name in enumerate(names)
    ]
    head = ["samples", *(metric.name for metric in found.metrics)]
    head += [f"{main.name}, trained on {COMPLETE}" for _ in other]
    how = "cross-validated" if found.kind == CROSS_VALIDATED else f"on {found.kind} data"
    title, text = f"Quality by views that are there, {how}", pattern_text(parts, found)
    table = Table(title, head, cells)
    text += " Beside it: the same model trained on complete samples only." if other else ""
    return Figure("by-pattern", title, text, spec, table=table)


def _written(metric: Metric, score: Score) -> str:
    return metric.interval(score) if np.isfinite(score.value) else ""


def pattern_text(parts: ByPattern, found: Quality) -> str:
    """Say for which samples the model is best and worst, unless that may be chance."""
    main = found.main
    own = np.array([score.value for score in parts.scores[main.name][next(iter(found.methods))]])
    there = np.flatnonzero(np.isfinite(own) & (np.array(parts.sizes) >= SMALL))
    if len(there) < 2:
        return f"There are not two patterns of missing views with {SMALL} samples or more to compare."
    order = there[np.argsort(main.sign * own[there], kind="stable")]
    best, worst = order[-1], order[0]
    few = f" Nothing is said of patterns of fewer than {SMALL} samples." if min(parts.sizes) < SMALL else ""
    if parts.uneven:
        return (
            f"The {main.name} is best with {parts.names[best]} ({main.written(own[best])}) and worst with "
            f"{parts.names[worst]} ({main.written(own[worst])}).{few}"
        )
    low, high = (main.written(value) for value in sorted([own[best], own[worst]]))
    if low == high:
        return f"The {main.name} is {high} whatever views are there.{few}"
    return (
        f"The {main.name} lies between {low} and {high} whatever views are there; chance may explain the "
        f"differences.{few}"
    )


def dropped_text(subject: Subject, found: Quality, masks: dict[str, Bools]) -> str:
    """Say what dropping incomplete training samples would have lost, and how sure that is."""
    mask = masks.get("training")
    if mask is None or mask.all():
        return ""
    whole = int(mask.all(axis=1).sum())
    text = (
        f"Dropping incomplete samples would cost {len(mask) - whole:,} of {len(mask):,} training samples "
        f"({percent(1.0 - whole / len(mask))})."
    )
    if COMPLETE not in found.others:
        why = "it was not asked for, as other baselines were not"
        if subject.training is None:
            why = "that needs the training data"
        elif found.kind == TRAINING:
            why = "there is no cross-validation"
        return f"{text} What this would lose is not known: {why}."
    result, main = lost(subject, found), found.main
    if result is None:
        need = "samples of every class" if subject.classifier else "samples"
        return f"{text} No model can be trained on the other {whole:,}: these are too few {need}."
    folds = "in each fold " if found.kind == CROSS_VALIDATED else ""
    text += f" A model with the same parameters that is trained {folds}on complete samples alone "
    where = f"on the same {count(result.n_rows, 'sample')}"
    if result.n_rows < len(found.y):
        where += f" (for the other {len(found.y) - result.n_rows:,} too few complete ones are left)"
    values = f"{main.written(result.other)} instead of {main.written(result.own)}"
    if main.same(result.own, result.other):
        return f"{text}has the same {main.name} {where}, {main.written(result.own)}."
    return f"{text}{_difference(main, result)}: its {main.name} is {values} {where}."


def _difference(main: Metric, result: Lost) -> str:
    value, low, high = result.behind.value, result.behind.low, result.behind.high
    word = {1: "is worse", -1: "is better"}.get(
        result.verdict, f"is not clearly different, {'ahead' if value < 0 else 'behind'}"
    )
    if value < 0:
        value, low, high = -value, -high, -low
    text = f"{word} by {main.amount(value)}"
    if not result.behind.known:
        return text
    few = f"; they differ on {count(result.n_apart, 'sample')} only" if result.n_apart < FEWEST else ""
    return f"{text} (95 % interval {main.amount(low, unit=False)} to {main.amount(high)}{few})"
