"""The certainty of a model: refits on halves of its training rows, and who is in its clusters."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from localmkl._checks import check_integer
from localmkl._types import Array, Bools, Ints, MaybeNone, Rows
from localmkl.estimators.base import BaseMKL
from localmkl.estimators.convex import ConvexMKL
from localmkl.estimators.groups import Grouped, rows_of
from localmkl.explain import training_rows
from localmkl.inference import ClusterTraits, Stability, describe_clusters, stability
from localmkl.kernels.stack import take_rows
from localmkl.report.recognised import marks
from localmkl.report.subject import Subject
from localmkl.stacks import Stack

FEWEST = 20
"""Refits from which on quantiles at 5 % and 95 % are more than the extremes."""
FOUND, DISSOLVED = 0.75, 0.5
"""Mean Jaccard indices from which on a cluster is found again, and below which it is dissolved."""
OFTEN = 0.75
"""Share of the refits that choose a kernel whose weight is sure: of two halves, more than one on average."""


@dataclass(frozen=True)
class Certainty:
    """The answer of refits about a model.

    Attributes
    ----------
    found : Stability or None
    traits : ClusterTraits or None
        What sets clusters apart; None where there are none.
    lacking : str
        Why nothing was refitted, a sentence; empty if it was.
    """

    found: Stability | MaybeNone = None
    traits: ClusterTraits | None = None
    lacking: str = ""

    @property
    def sure(self) -> Bools:
        """Mask of the weights that are sure, (n_regions, n_kernels).

        Their intervals begin at the least share that counts as chosen, or above; refits choose them often;
        and their cluster is there to have weights.
        """
        chosen = (self.found.low >= self.found.least_share) & (self.found.frequency >= OFTEN)
        return chosen & ~self.dissolved[:, None]

    @property
    def dissolved(self) -> Bools:
        """Mask of the clusters that refits do not find again, (n_regions,)."""
        return self.found.jaccard < DISSOLVED

    def leads(self, region: int) -> bool:
        """Whether the kernel with the largest share of a region has an interval above all others."""
        others = np.delete(self.found.high[region], self.leader(region))
        ahead = self.found.low[region, self.leader(region)] > others.max(initial=0.0)
        return bool(ahead and not self.dissolved[region])

    def leader(self, region: int) -> int:
        """Return the number of the kernel with the largest share of a region."""
        return int(self.found.shares[region].argmax())


def check_resamples(n_resamples: int) -> None:
    """Raise unless a number of refits can be had: none, or pairs of halves, enough for intervals."""
    check_integer("stability", n_resamples, low=0)
    if n_resamples and (n_resamples < FEWEST or n_resamples % 2):
        raise ValueError(f"`stability` must be 0, or an even number from {FEWEST} on, got {n_resamples}.")


def ask(subject: Subject, n_resamples: int, verbose: int = 0) -> Certainty:
    """Refit the model of a subject on halves of its training rows; return a `Certainty`."""
    lacking = _lacking(subject)
    if lacking:
        return Certainty(lacking=lacking)
    X, y, groups = _training(subject)
    try:
        found = stability(
            subject.model,
            X,
            y,
            n_resamples=n_resamples,
            groups=groups,
            random_state=subject.seed,
            verbose=verbose,
        )
    except ValueError as error:
        return Certainty(lacking=f"The model cannot be refitted on halves of its training samples. {error}")
    traits = describe_clusters(subject.model, X, y, groups=groups) if subject.n_clusters > 1 else None
    return Certainty(found, traits)


def _lacking(subject: Subject) -> str:
    """Return a sentence on why a model cannot be refitted, or its answer would say nothing; else empty."""
    model = subject.model
    if not isinstance(model, ConvexMKL):
        said = "is not convex, and its refits differ by where they begin, too"
        return f"Nothing was refitted: {subject.method} {said}."
    if getattr(model, "transductive_", False):
        return "Nothing was refitted: clusters were learned from rows without labels too, which are not kept."
    if hasattr(model, "features_"):
        return "Nothing was refitted: a model with a rank keeps landmarks, not its training samples."
    if subject.training is None:
        return (
            "Nothing was refitted: that needs the training samples, or their Gram matrices, with their "
            "targets, and the report was not given them."
        )
    if subject.alike and model.kernel_weights_.shape[-2] > 1:
        return (
            "Nothing was refitted: all samples have the same memberships, so that clusters mean nothing; "
            "refit MKL instead."
        )
    if len(subject.kernels) == 1 and (subject.alike or subject.noun == "group"):
        return "Nothing was refitted: there is one kernel, and no weight to be sure of."
    if subject.alike and np.isinf(model._p):
        return "Nothing was refitted: all kernels weigh the same by definition, whatever the samples are."
    return ""


def _training(subject: Subject) -> tuple[Rows, Array, Array | None]:
    """Return the training rows as the model sees them, in the order of its fit, their targets and groups."""
    X, y = subject.training
    X = subject.transform(X)
    order = _order(subject.model, X)
    if order is not None:
        X, y = take_rows(X, order), np.asarray(y)[order]
    return rows_of(X), y, X.groups if isinstance(X, Grouped) else None


def _order(model: BaseMKL, X: Rows) -> Ints | None:
    """Return the places of the rows of the fit among rows that came; None if these are in its order."""
    known = training_rows(model)
    if known is None or isinstance(rows_of(X), Stack):
        return None
    own, wanted = marks(model, X), marks(model, known)
    if own == wanted:
        return None
    places: dict[Any, list[int]] = {}
    for place, mark in enumerate(own):
        places.setdefault(mark, []).append(place)
    return np.array([places[mark].pop(0) for mark in wanted])
