"""Quality by pattern of missing views, and without the samples that lack some.

    pattern        which views a sample has, and which not; small ones are joined
    lost           metric(model) - metric(model trained on complete samples alone)      on the same rows

Bootstrap samples are the same for both models: the difference has an interval.
"""

from dataclasses import dataclass

import numpy as np

from localmkl._types import Bools, Ints
from localmkl.report.metrics import Answer, Metric
from localmkl.report.prose import count
from localmkl.report.quality import FEWEST, Quality, Score, apart, differs_between, resamples
from localmkl.report.refits import COMPLETE
from localmkl.report.subject import Subject
from localmkl.report.within import answers_of, resampled

SMALL = 10
"""Patterns of fewer samples are joined: the interval of a share would be sixty points wide."""

MOST = 8
"""Most patterns that are told apart, the most frequent ones: as many as a reader compares at a glance."""

WHOLE = "all views"


@dataclass(frozen=True)
class ByPattern:
    """Scores by pattern of missing views.

    Attributes
    ----------
    names : list of str
        The complete samples first, then by size.
    sizes : list of int
    scores : dict of str to dict of str to list of Score
        By metric and method, one for each pattern; methods are the model and, where there is one, that of
        complete samples.
    uneven : bool
        Whether the main metric of the model differs beyond chance between those that are not small.
    """

    names: list[str]
    sizes: list[int]
    scores: dict[str, dict[str, list[Score]]]
    uneven: bool


@dataclass(frozen=True)
class Lost:
    """The main metric without the incomplete training samples.

    Attributes
    ----------
    own, other : float
        Of the model, and of that of complete samples.
    behind : Score
        By how much the other is worse.
    verdict : int
        1 if it is worse beyond chance and rounding, -1 if it is better; else 0.
    n_apart : int
        Rows that speak for the difference.
    n_rows : int
        Rows that both could decide.
    """

    own: float
    other: float
    behind: Score
    verdict: int
    n_apart: int
    n_rows: int


def patterns(present: Bools, views: list[str]) -> dict[str, Ints]:
    """Return the rows of each pattern of missing views by its name, the complete ones first.

    Examples
    --------
    >>> present = np.array([[True, True]] * 2 + [[True, False]] * 10)
    >>> {name: len(rows) for name, rows in patterns(present, ["rna", "site"]).items()}
    {'all views': 2, 'rna, no site': 10}
    """
    kinds, number = np.unique(present, axis=0, return_inverse=True)
    parts = {_name(kind, views): np.flatnonzero(number.ravel() == k) for k, kind in enumerate(kinds)}
    order = sorted(parts, key=lambda name: (name != WHOLE, -len(parts[name])))
    kept = [name for name in order if len(parts[name]) >= SMALL or name == WHOLE][:MOST]
    rest = [name for name in order if name not in kept]
    found: dict[str, Ints] = {name: parts[name] for name in (kept if len(rest) > 1 else order)}
    if len(rest) > 1:
        found[count(len(rest), "other pattern")] = np.sort(np.concatenate([parts[name] for name in rest]))
    return found


def _name(kind: Bools, views: list[str]) -> str:
    have, lack = ([name for name, there in zip(views, kind, strict=True) if there == want] for want in (1, 0))
    if not lack:
        return WHOLE
    return ", ".join([" + ".join(have), *(f"no {name}" for name in lack)]) if have else "none of the views"


def by_pattern(subject: Subject, found: Quality) -> ByPattern:
    """Return the scores of the model, and of that of complete samples, by pattern."""
    parts = patterns(found.present, subject.views)
    answers, main = _both(subject, found), found.main
    sizes = [len(rows) for rows in parts.values()]

    def scored(metric: Metric, answer: Answer) -> list[Score]:
        columns = resampled(metric, answer, parts, subject.seed).T
        return [Score.of(one[0], one[1:], size) for size, one in zip(sizes, columns, strict=True)]

    scores = {
        metric.name: {name: scored(metric, answer) for name, answer in answers.items()}
        for metric in found.metrics
    }
    own = answers[subject.method]
    large = [rows for rows in parts.values() if len(rows) >= SMALL]
    uneven = differs_between(lambda rows: main.compute(*own, rows), large, subject.seed)
    return ByPattern(list(parts), sizes, scores, uneven)


def _both(subject: Subject, found: Quality) -> dict[str, Answer]:
    """Return what metrics want of the model and of that of complete samples, where every row has one."""
    decisions = {subject.method: found.model.decisions}
    if COMPLETE in found.others and np.isfinite(found.others[COMPLETE]).all():
        decisions[COMPLETE] = found.others[COMPLETE]
    return answers_of(subject, found, decisions)


def lost(subject: Subject, found: Quality) -> Lost | None:
    """Return the `Lost` of dropping incomplete samples; None where no such model could be fitted."""
    if COMPLETE not in found.others:
        return None
    other, main = found.others[COMPLETE], found.main
    rows = np.flatnonzero(np.isfinite(other.reshape(len(other), -1)).all(axis=1))
    if not len(rows):
        return None
    decisions = {subject.method: found.model.decisions, COMPLETE: np.where(np.isfinite(other), other, 0.0)}
    answers = answers_of(subject, found, decisions)
    blocks = [np.arange(len(rows))[None], *resamples(len(rows), subject.seed)]
    own, theirs = (
        np.concatenate([main.compute(*answers[name], rows[block]) for block in blocks]) for name in decisions
    )
    ahead = main.sign * (own - theirs)
    behind = Score.of(ahead[0], ahead[1:], len(rows))
    (truth, *mine), (_, *yours) = answers.values()
    n_apart = apart(main, truth[rows], *((a[rows], b[rows]) for a, b in zip(mine, yours, strict=True)))
    clear = n_apart >= FEWEST and not main.same(own[0], theirs[0])
    verdict = int(behind.low > 0.0) - int(behind.high < 0.0) if clear else 0
    return Lost(float(own[0]), float(theirs[0]), behind, verdict, n_apart, len(rows))
