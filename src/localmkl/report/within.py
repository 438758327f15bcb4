"""Quality within known groups.

    mean of a method = 1/G sum_g metric(rows of group g)     over the G groups where all methods have a number

Bootstrap samples are drawn within each group, the same for all methods: differences of means have intervals.
"""

from dataclasses import dataclass

import numpy as np

from localmkl._types import Array, Floats, Ints
from localmkl.report.metrics import Answer, Metric
from localmkl.report.quality import FEWEST, Quality, Score, apart, resamples
from localmkl.report.refits import SEPARATE, UNSHARED
from localmkl.report.subject import Subject, predicted


@dataclass(frozen=True)
class WithinGroups:
    """Scores of all methods within known groups, and their means over groups.

    Attributes
    ----------
    groups : list of str
    sizes : list of int
        Rows of each group.
    scores : dict of str to dict of str to list of Score
        By metric and method, one for each group.
    means : dict of str to dict of str to Score
        By metric and method, over the groups where every method has a number.
    counted : dict of str to list of str
        These groups, by metric.
    behind : dict of str to Score
        By how much the mean of a method is worse than that of the model reported, in the main metric.
    verdicts : dict of str to int
        1 if it is worse beyond chance and rounding, -1 if it is better; else 0.
    alone : list of str
        Groups without a separate model: they are new, or their training rows lack a class.
    """

    groups: list[str]
    sizes: list[int]
    scores: dict[str, dict[str, list[Score]]]
    means: dict[str, dict[str, Score]]
    counted: dict[str, list[str]]
    behind: dict[str, Score]
    verdicts: dict[str, int]
    alone: list[str]


def within_groups(subject: Subject, found: Quality) -> WithinGroups:
    """Return the scores within groups of the model, its baselines and other ways to treat the groups."""
    parts = _parts(subject, found.groups)
    decisions = {name: result.decisions for name, result in found.methods.items()}
    decisions |= {name: found.others[name] for name in (SEPARATE, UNSHARED) if name in found.others}
    alone = _without_model(decisions, parts)
    if len(alone) == len(parts):
        decisions.pop(SEPARATE)
    answers = answers_of(subject, found, decisions)
    scores, means, counted = {}, {}, {}
    for metric in found.metrics:
        values = {name: resampled(metric, answers[name], parts, subject.seed) for name in answers}
        if SEPARATE in values:
            values[SEPARATE][:, [group in alone for group in parts]] = np.nan
        scores[metric.name] = {
            name: [
                Score.of(one[0], one[1:], len(own)) for own, one in zip(parts.values(), table.T, strict=True)
            ]
            for name, table in values.items()
        }
        common = np.all([np.isfinite(table[0]) for table in values.values()], axis=0)
        kept = counted[metric.name] = [group for group, every in zip(parts, common, strict=True) if every]
        rows = np.concatenate([np.array([], dtype=int), *(parts[group] for group in kept)])
        pooled = {name: table[:, common].mean(axis=1) for name, table in values.items() if kept}
        means[metric.name] = {name: Score.of(one[0], one[1:], len(rows)) for name, one in pooled.items()}
        if metric is found.main:
            behind, verdicts = _compare(metric, answers, pooled, rows)
    sizes = [len(own) for own in parts.values()]
    return WithinGroups(list(parts), sizes, scores, means, counted, behind, verdicts, alone)


def _parts(subject: Subject, own: Array) -> dict[str, Ints]:
    """Return the rows of each group, those of the fit first."""
    known = np.unique(subject.model.groups_).tolist()
    groups = [group for group in dict.fromkeys([*known, *own.tolist()]) if (own == group).any()]
    return {group: np.flatnonzero(own == group) for group in groups}


def _without_model(decisions: dict[str, Array], parts: dict[str, Ints]) -> list[str]:
    """Return the groups with rows that separate models do not decide."""
    if SEPARATE not in decisions:
        return []
    values = decisions[SEPARATE]
    unknown = np.asarray(np.isnan(values.reshape(len(values), -1)).any(axis=1))
    return [group for group, own in parts.items() if unknown[own].any()]


def answers_of(subject: Subject, found: Quality, decisions: dict[str, Array]) -> dict[str, Answer]:
    """Return targets, decisions and predictions of each method, as metrics want them."""
    guesses = {name: predicted(subject.model, values) for name, values in decisions.items()}
    if not found.classifier:
        return {name: (found.y, decisions[name], guesses[name]) for name in decisions}
    truth, *codes = (
        np.searchsorted(subject.model.classes_, labels) for labels in (found.y, *guesses.values())
    )
    return {name: (truth, decisions[name], own) for name, own in zip(decisions, codes, strict=True)}


def resampled(metric: Metric, answer: Answer, parts: dict[str, Ints], seed: int) -> Floats:
    """Return the metric in each group, of its rows, then of bootstrap samples of these, (1 + B, n_groups)."""
    columns = []
    for number, own in enumerate(parts.values()):
        blocks = [np.arange(len(own))[None], *resamples(len(own), seed + number)]
        columns.append(np.concatenate([metric.compute(*answer, own[rows]) for rows in blocks]))
    return np.stack(columns, axis=1)


def _compare(
    metric: Metric, answers: dict[str, Answer], pooled: dict[str, Floats], rows: Ints
) -> tuple[dict[str, Score], dict[str, int]]:
    """Return by how much each method is behind the first one, and whether that is clear."""
    if not pooled:
        return {}, {}
    first, *others = pooled
    behind, verdicts = {}, {}
    for name in others:
        ahead = metric.sign * (pooled[first] - pooled[name])
        score = behind[name] = Score.of(ahead[0], ahead[1:], len(rows))
        (truth, *own), (_, *other) = answers[first], answers[name]
        pairs = [(mine[rows], yours[rows]) for mine, yours in zip(own, other, strict=True)]
        enough = apart(metric, truth[rows], *pairs) >= FEWEST
        clear = enough and not metric.same(pooled[first][0], pooled[name][0])
        verdicts[name] = int(score.low > 0.0) - int(score.high < 0.0) if clear else 0
    return behind, verdicts
