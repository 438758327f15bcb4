"""The section on quality: scores beside baselines, with the sentences that compare them.

`localmkl.report.quality` measures, `quality_figures` draws.
"""

from typing import Any

import numpy as np

from localmkl.report.metrics import BRIER, LOG_LOSS
from localmkl.report.prose import Figure, Section, Table, brief, count, listing
from localmkl.report.quality import CROSS_VALIDATED, FEWEST, HELD_OUT, TRAINING, Quality
from localmkl.report.refits import is_tuned, strength
from localmkl.report.sections.quality_by_group import group_blocks
from localmkl.report.sections.quality_figures import (
    by_cluster_figure,
    confusion_figure,
    reliability_figure,
    residuals_figure,
    roc_figure,
)
from localmkl.report.subject import Subject

ALIKE = "cannot be told from training rows by names and values"
"""Said of rows that may have been trained on."""


def quality_section(subject: Subject, found: Quality | None) -> Section:
    """Return the quality with its baselines, overall and by cluster; or say that it is not known."""
    title = "How good it is"
    if found is None:
        text = missing_text(subject)
        if np.isfinite(getattr(subject.search, "best_score_", np.nan)):
            text += (
                " The search that chose the parameters gave them a cross-validated score of "
                f"{subject.search.best_score_:.3f}; having been chosen by it, they look a little too good."
            )
        return Section("quality", title, [text])
    blocks: list[Figure | Table] = [_quality_table(found)]
    if subject.binary and len(set(found.y.tolist())) == 2:
        blocks.append(roc_figure(subject, found))
    elif subject.classifier:
        blocks.append(confusion_figure(subject, found))
    else:
        blocks.append(residuals_figure(subject, found))
    if subject.probable and found.kind != TRAINING:
        blocks.append(reliability_figure(subject, found))
    if found.groups is not None:
        blocks += group_blocks(subject, found)
    elif subject.n_clusters > 1 and np.isfinite(found.model.by_cluster).any():
        blocks.append(by_cluster_figure(subject, found))
    return Section("quality", title, [kind_text(subject, found), quality_text(found)], blocks)


def missing_text(subject: Subject) -> str:
    """Say why nothing is said about quality, and what that needs."""
    if subject.y is not None:
        return (
            f"Nothing is said about quality: no sample has a label that the model knows (it knows "
            f"{_labels(subject.model.classes_.tolist())}, the samples have {_labels(subject.strange)})."
        )
    if subject.rows is None:
        return (
            "Nothing is said about quality, and no sample is shown: a model of Gram matrices keeps none of "
            "them. Give the report the Grams of the training samples with their targets for a "
            "cross-validation, a map and the bound, or Grams of new samples with theirs."
        )
    return "Nothing is said about quality: that needs samples with known targets, best ones it has not seen."


def _labels(labels: list[Any], most: int = 4) -> str:
    """Return labels as one reads them out, the first ones of many."""
    shown = [repr(label) for label in labels[:most]]
    return listing(shown if len(labels) <= most else [*shown, "others"])


def kind_text(subject: Subject, found: Quality) -> str:
    """Say on which samples quality was measured, and what that is worth."""
    n = count(len(found.y), "sample")
    if found.kind == HELD_OUT:
        text = f"Measured on held-out data: {n} that the model was not trained on."
        if found.n_seen:
            verb = "was" if found.n_seen == 1 else "were"
            text += f" {count(found.n_seen, 'other row')} given {verb} in its training data and left out."
        if found.n_doubtful:
            text += f" Left out, too: {count(found.n_doubtful, 'row')} that {ALIKE}."
        if not found.baselines and not found.twins:
            text += " Baselines are missing: they need the training data, or were not asked for."
    elif found.kind == CROSS_VALIDATED:
        text = (
            f"Cross-validated on the training data: {n} in {found.n_folds} folds, each predicted by a model "
            "fitted without it."
        )
        if found.n_doubtful:
            given = count(found.n_doubtful, "row")
            text += f" The rows given are not used, because none is surely new: {given} {ALIKE}."
        if found.why:
            text += f" There are not more folds because {found.why}."
        if found.tuned:
            text += " The parameters were chosen on the same samples, which makes it look a little too good."
        if getattr(subject.model, "transductive_", False):
            text += (
                " The clusters of these models were learned without the unlabelled samples that this one had."
            )
    else:
        what = f"training data, {n} that the model has seen: these numbers are too good"
        if found.n_doubtful:
            what = f"{n}, none surely new ({found.n_doubtful:,} {ALIKE}): these numbers may be too good"
        text = (
            f"Measured on {what}, and do not tell how well new samples are predicted. There is no "
            f"cross-validation: {found.why}."
        )
        if subject.probable:
            text += " Whether probabilities hold cannot be told either: there is no reliability diagram."
    if found.n_strange:
        verb, which = ("has a label", "is") if found.n_strange == 1 else ("have labels", "are")
        text += (
            f" {count(found.n_strange, 'sample')} {verb} that the model does not know "
            f"({_labels(subject.strange)}) and {which} left out."
        )
    if found.baselines:
        how = "tuned over the same grid"
        if not is_tuned(subject):
            how = "with the same parameters, not tuned on their own"
            how += f" (C times {brief(strength(subject))} too)" if strength(subject) < 1.0 else ""
        who = "baselines {} use" if len(found.baselines) > 1 else "baseline {} uses"
        text += f" The {who.format(listing(found.baselines))} the same kernels, {how}."
    for name, why in found.twins.items():
        text += f" {name} is not compared: {why}."
    for metric in found.undefined:
        text += f" There is no {metric.name}: it needs {metric.needs}."
    if found.n_unfinished:
        verb = "fit" if found.n_unfinished == 1 else "fits"
        text += f" {found.n_unfinished} {verb} for this comparison did not converge."
    if len(found.y) < FEWEST:
        return f"{text} There are no intervals: fewer than {FEWEST} samples do not tell chance from the rest."
    return f"{text} In brackets: 95 % intervals of the bootstrap."


def lead_text(found: Quality) -> str:
    """Say in one sentence how good the model and its baselines are."""
    name, main = next(iter(found.methods)), found.main
    others = {"MKL": "one set of kernel weights for all samples (MKL)", "UNIF": "equal kernel weights (UNIF)"}
    values = {
        baseline: main.written(result.scores[main.name].value) for baseline, result in found.baselines.items()
    }
    n = count(len(found.y), "sample")
    where = (
        f"{n} it has not seen" if found.kind == HELD_OUT else f"{n}, each predicted without having seen it"
    )
    if main.name == "accuracy":
        parts = [f"Of {where}, {name} predicts {main.written(found.score)} rightly"]
        parts += [f"{others[baseline]} {value}" for baseline, value in values.items()]
    else:
        parts = [f"On {where}, {name} has {_article(main.name)} {main.name} of {main.written(found.score)}"]
        parts += [f"{others[baseline]} one of {value}" for baseline, value in values.items()]
    return f"{', '.join(parts)}.{guessing_text(found)}"


def guessing_text(found: Quality) -> str:
    """Say that guessing does as well, where the interval of the model does not exclude it."""
    main, score = found.main, found.model.scores[found.main.name]
    nearest = score.low if main.higher else score.high
    if not score.known or main.sign * (nearest - found.floor) > 0.0 or len(set(found.y.tolist())) == 1:
        return ""
    guess = "always guessing the most frequent class" if found.classifier else "one guess for all samples"
    guess = "giving all samples the shares of the classes" if main.name in (LOG_LOSS, BRIER) else guess
    name = next(iter(found.methods))
    return f" {name} is not clearly better than {guess} ({main.written(found.floor)})."


def _article(noun: str) -> str:
    return "an" if noun[0] in "aeiouAR" else "a"


def quality_text(found: Quality) -> str:
    """Compare the model with guessing and with each baseline."""
    name, main = next(iter(found.methods)), found.main
    if main.name == "accuracy":
        auc = f" (AUC {found.model.scores['AUC'].value:.3f})" if "AUC" in found.model.scores else ""
        text = (
            f"{name} is right for {main.written(found.score)} of the samples{auc}; always guessing the most "
            f"frequent class would be right for {main.written(found.floor)}."
        )
    else:
        text = (
            f"The {main.name} of {name} is {main.written(found.score)}; that of one guess for all samples is "
            f"{main.written(found.floor)}."
        )
    text += "".join(f" {comparison_text(found, baseline)}" for baseline in found.baselines)
    if not found.classifier or len(set(found.y.tolist())) == 1:
        return text
    flat = [name for name, result in found.methods.items() if len(set(result.predictions.tolist())) == 1]
    if flat:
        verb = "predicts" if len(flat) == 1 else "predict"
        text += (
            f" {listing(flat)} {verb} one class for all samples: weigh rare classes more, or look at other "
            "parameters."
        )
    return text


def comparison_text(found: Quality, baseline: str) -> str:
    """Say whether a baseline is better or worse beyond chance, or that this is not known."""
    main, result = found.main, found.baselines[baseline]
    value, low, high = result.behind.value, result.behind.low, result.behind.high
    if main.same(found.score, result.scores[main.name].value):
        return f"{baseline} has the same {main.name}."
    word = {1: "worse", -1: "better", 0: "not clearly different, " + ("ahead" if value < 0 else "behind")}
    if value < 0:
        value, low, high = -value, -high, -low
    text = f"{baseline} is {word[result.verdict]} by {main.amount(value)}"
    if not result.behind.known:
        return f"{text}."
    few = f"; but they differ on {count(result.n_apart, 'sample')} only" if result.n_apart < FEWEST else ""
    return f"{text} (95 % interval {main.amount(low, unit=False)} to {main.amount(high)}{few})."


def _quality_table(found: Quality) -> Table:
    timed = any(result.seconds is not None for result in found.methods.values())
    rows = []
    for name, result in found.methods.items():
        row = [name, *(metric.interval(result.scores[metric.name]) for metric in found.metrics)]
        row += [
            "" if result.gap is None else f"{result.gap:.1e}",
            *([brief(result.seconds)] if timed else []),
        ]
        rows.append(row)
    caption = "Quality, cross-validated" if found.kind == CROSS_VALIDATED else f"Quality on {found.kind} data"
    names = [metric.name for metric in found.metrics]
    return Table(caption, ["method", *names, "duality gap", *(["seconds"] if timed else [])], rows)
