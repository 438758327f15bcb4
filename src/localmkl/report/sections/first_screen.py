"""The first screen: what is predicted, how well, what matters where, and what to be careful about."""

from typing import Any

import numpy as np

from localmkl.report.markup import Html, joined, tag
from localmkl.report.metrics import calibration_of, calibration_verdict
from localmkl.report.prose import METRICS, class_name, count, file_names, interval, listing, percent, written
from localmkl.report.sections.by_group import small_groups
from localmkl.report.sections.what_matters import effects_figure, in_order
from localmkl.report.subject import Subject

FEW = 50
"""Rows of the rarer class below which a figure says little."""

NAMED = 3
"""Kernels or columns that a sentence names."""


def title_of(subject: Subject) -> str:
    """Return the title: the file and what is predicted, not the name of a method."""
    files, target = file_names(subject.made), subject.made.get("target")
    where = f"{listing(files, most=3)}: " if files else ""
    labels = [str(label) for label in subject.classes]
    if subject.binary:
        labels = [str(subject.positive), str(subject.negative)]
    if labels and len(labels) <= 4:
        worded = all(not label.lstrip("+-").replace(".", "", 1).isdigit() for label in labels)
        what = f"{'' if worded else target or 'class'} {listing(labels, 'or')}".strip()
    else:
        what = f"which {target or 'class'}" if labels else str(target or "predicted values")
    return f"{where}{what}" if where else f"{what[0].upper()}{what[1:]}"


def first_screen(subject: Subject, sequences: list[Html] | None = None) -> Html:
    """Return the three paragraphs, the tiles and the picture at the top of the page."""
    texts = [how_good_text(subject), matters_text(subject), careful_text(subject)]
    lead = [tag("p", text, class_="lead") for text in texts if text]
    return joined([lead, tiles(subject), sequences or effects_figure(subject)])


def how_good_text(subject: Subject) -> str:
    """Say how good the model is, compared with simple models and one model for all."""
    held = subject.held
    if held is None:
        why = "" if subject.remarks else " Give rows with their targets to measure it."
        return f"How good the model is on new rows is not known.{why} {' '.join(subject.remarks)}".strip()
    own, metric = held.score(), held.metric
    if not np.isfinite(own.value):
        needed = "rows of both classes" if subject.binary else "targets that differ"
        return f"How good the model is cannot be measured: {METRICS[metric]} needs {needed}."
    where = "rows it was not trained on" if subject.new else "rows held out from training"
    ends = interval(metric, own)
    text = f"The model reaches {_article(metric)} of {written(metric, own.value)} on {where}"
    text += f" (95 % interval {ends})." if ends else "."
    if held.rivals:
        theirs = [f"{name} {written(metric, held.score(name).value)}" for name in held.rivals]
        text += f" On the same rows: {listing(theirs)}."
    return text


def _article(metric: str) -> str:
    name = METRICS.get(metric, metric)
    return f"{'an' if name[0] in 'AaR' else 'a'} {name}"


def matters_text(subject: Subject) -> str:
    """Say what matters where, as far as it is sure."""
    held = subject.held
    if held is None:
        return ""
    found, sentences, unsure = held.matters(), [], []
    if len(subject.classes) > 2:
        by_kernel: dict[str, list[Any]] = {}
        for one in found:
            by_kernel.setdefault(one.kernel, []).append(one)
        names = [name for name, own in by_kernel.items() if any(one.sure for one in own)][:NAMED]
        return f"What matters most: {listing(names)}." if names else "It is not sure what matters most."
    for part in in_order(subject, {one.part for one in found}):
        most = NAMED if part == "everywhere" else NAMED - 1
        sure = [one for one in found if one.part == part and one.sure][:most]
        if not sure:
            unsure.append(part)
            continue
        named = [f"{one.kernel} ({percent(one.share)}{_direction(subject, one)})" for one in sure]
        where = ("Everywhere" if subject.local else "Most") if part == "everywhere" else f"In {part}"
        sentences.append(
            f"What matters most: {listing(named)}." if where == "Most" else f"{where}: {listing(named)}."
        )
    if unsure and sentences:
        where = listing([part.replace("everywhere", "Everywhere") for part in unsure], most=NAMED)
        sentences.append(f"{where}: not sure.")
    return " ".join(sentences) or "It is not sure what matters most."


def _direction(subject: Subject, one: Any) -> str:
    if one.direction not in (-1, 1):
        return ""
    raises = one.direction == subject.sign
    return f", {'raises' if raises else 'lowers'} {'the odds' if subject.binary else 'it'}"


def careful_text(subject: Subject) -> str:
    """Say what to be careful about."""
    held, found = subject.held, []
    model = subject.model
    if model.duality_gap_ > model.tol and hasattr(model, "squared_norm_"):
        found.append("The fit stopped before it was accurate; fit it again with more steps.")
    if held is None:
        return " ".join(found)
    if subject.classifier:
        sizes = {label: int((held.y == label).sum()) for label in subject.classes}
        rarest = min(sizes, key=lambda label: sizes[label])
        if sizes[rarest] < FEW:
            found.append(f"Only {count(sizes[rarest], 'row')} are {class_name(rarest)}.")
    elif len(held.y) < FEW:
        found.append(f"Only {count(len(held.y), 'row')} were judged.")
    small = small_groups(subject)
    if small:
        found.append(small)
    if subject.binary and held.probable and 0 < subject.truth.sum() < len(subject.truth):
        line = calibration_of(subject.scores(), subject.truth)
        said = calibration_verdict(line)
        if "agree" not in said:
            slope = f" (calibration slope {line.slope[0]:.2f})" if "average" not in said else ""
            found.append(f"{said[:-1]}{slope}.")
    elif subject.binary and not held.probable:
        found.append("This loss gives decisions, not probabilities.")
    simple = [name for name in ("logistic regression", "ridge regression") if name in held.rivals]
    ahead = subject.lead(simple[0]) if simple else None
    if ahead is not None and ahead.low <= 0.0:
        better = "better than" if ahead.high < 0.0 else "as good as"
        found.append(f"A {simple[0]} may be {better} this model.")
    return f"Be careful. {' '.join(found)}" if found else ""


def tiles(subject: Subject) -> Html:
    """Return up to five figures at the top."""
    held, shown = subject.held, []
    if held is not None:
        own, name = held.score(), METRICS.get(held.metric, held.metric)
        ends = interval(held.metric, own)
        shown.append((name, written(held.metric, own.value), f"95 % interval {ends}" if ends else ""))
        if subject.binary:
            events = int(subject.truth.sum())
            shown.append(("events / rows", f"{events:,} / {len(held.y):,}", class_name(subject.positive)))
        else:
            shown.append(("rows", f"{len(held.y):,}", count(subject.n_train, "training row")))
        simple = [name for name in held.rivals if name not in ("one model for all", "separate models")]
        if simple:
            best = min(simple, key=lambda name: subject.lead(name).value)
            shown.append(("best simple model", written(held.metric, held.score(best).value), best))
        if "one model for all" in held.rivals:
            ahead = subject.lead("one model for all")
            pays = "pay" if ahead.low > 0.0 else "cost" if ahead.high < 0.0 else "no clear gain"
            text = f"{written(held.metric, ahead.value)} against one model for all"
            shown.append((f"{subject.noun}s", pays, text))
    else:
        shown.append(("training rows", f"{subject.n_train:,}", ""))
        shown.append(("kernels", f"{len(subject.kernels):,}", ""))
    shown.append(certified(subject))
    return tag(
        "dl",
        [
            tag("div", tag("dt", name), tag("dd", value, tag("small", text) if text else None))
            for name, value, text in shown
        ],
        class_="tiles",
    )


def certified(subject: Subject) -> tuple[str, str, str]:
    """Return the tile on the certificate."""
    gap = float(subject.model.duality_gap_)
    if not hasattr(subject.model, "squared_norm_") or not np.isfinite(gap):
        return "certified", "no", "many local solutions" if np.isfinite(gap) else "no duality gap"
    return "certified", f"≤ {percent(max(gap, 1e-4), 2)}", "from the best possible solution"
