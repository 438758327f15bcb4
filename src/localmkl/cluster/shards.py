"""Shards on the workers of a cluster, each within an actor that others can ask.

Beside what every shard answers, these take part in what needs all rows: the best intercept and the
certificate. What they answer has the size of the weights, or of some breakpoints of the loss.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from localmkl._types import Floats, Picked
from localmkl.cluster.crossing import Breaks, Shown
from localmkl.cluster.held import Fold, Held
from localmkl.solvers import certify
from localmkl.solvers.inner import balance
from localmkl.solvers.losses import Loss
from localmkl.solvers.shards import Shard


@dataclass(frozen=True)
class Order:
    """A problem, but for the rows.

    Parameters
    ----------
    loss : Loss
    p : float
    factors : ndarray of shape (n_kernels,)
    cost : float
        The C of the optimisation, for a row of weight one.
    class_costs : ndarray of shape (n_classes,) or None
        What it is multiplied by, for each class; None in regression.
    positive : int or None
        The class that is told from all others.
    left_out : Fold or None
        The rows that are left out, in a search.
    """

    loss: Loss
    p: float
    factors: Floats
    cost: float
    class_costs: Floats | None = None
    positive: int | None = None
    left_out: Fold | None = None


class FarShard(Shard):
    """A shard whose client never sees its rows, scores or dual variables."""

    def breaks_between(self, source: str, low: float, high: float) -> Shown:
        """Return some points where the slope of the sum of the losses jumps; see `crossing`."""
        if low == -np.inf:
            problem = self.problem
            self.breaks = Breaks(*problem.loss.breakpoints(self._scores(source), problem.y, problem.C))
        return self.breaks.between(low, high)

    def slopes(self, source: str, b: float) -> Floats:
        """Return slope and curvature of the sum of the losses in the direction of the intercept."""
        problem = self.problem
        return np.array(problem.loss.slopes(self._scores(source) + b, problem.y, problem.C))

    def size(self, source: str) -> float:
        """Return the largest score, or label, in size."""
        return max(float(np.abs(self._scores(source)).max()), self.extent())

    def _scores(self, source: str) -> Floats:
        return np.zeros_like(self.alpha) if source == "zeros" else self.terms.scores.astype(np.float64)

    def exact_sum(self) -> float:
        """Return the sum of the dual variables, rounded once."""
        return math.fsum(self.alpha)

    def balance(self, others: float) -> float:
        """Take from one dual variable what the sum of all is off zero; return the sum of this shard's."""
        balance(self.alpha, self.lower, self.upper, others)
        return math.fsum(self.alpha)

    def largest(self) -> Floats:
        """Return the largest diagonal entry of each kernel."""
        return self.problem.diagonals.max(axis=1)

    def testify(self, dtype: Any, largest: Floats) -> dict[str, Any]:
        """Return what the certificate needs of the dual variables; see `team.FarTeam.certify`."""
        problem, alpha = self.problem, self.alpha.astype(dtype)
        parts = problem.cluster_parts(alpha)
        self.reach = certify.reaches(problem, largest)
        return {
            "sums": self.stack.moments(parts),
            "sizes": certify.sizes_of(self.reach, parts),
            "duals": certify.dual_sums(problem, alpha),
            "surplus": math.fsum(self.alpha),
            "total": float(np.abs(self.alpha).sum()),
            "outside": bool(np.any((self.alpha < self.lower) | (self.alpha > self.upper))),
            "span": certify.span_of(problem, self.reach),
            "n_terms": self.stack.n_terms,
        }

    def answer(self, images: Floats, sizes: Floats, share: float) -> None:
        """Compute scores for a certificate, and bounds of their errors."""
        errors = certify.score_errors(self.problem, sizes, self.reach, share)
        scores = self.stack.scores(self.problem.memberships, images)
        self.terms = certify.Terms(scores, errors, 0.0, 0.0, 0.0, 0.0, 0.0)

    def cost_sums(self, intercept: float) -> Floats:
        """Return the sums of losses that the certificate needs."""
        return certify.cost_sums(self.problem, self.terms, intercept)


class Post:
    """An actor: one shard on a worker, and a copy of the dual variables of another one.

    Parameters
    ----------
    held : Held
        Features, labels and weights of its rows.
    memberships : ndarray of shape (n_rows, l)
    number : int
        Its place in the team.
    """

    def __init__(self, held: Held, memberships: Floats, number: int) -> None:
        self.held, self.memberships, self.number = held, memberships, number
        self.copies: dict[int, Floats] = {}
        self.alpha = np.zeros(len(memberships))
        self.rows: Picked = slice(None)
        self.shard: Any = None
        self.buddy: Any = None

    def pose(self, order: Order, growth: float) -> tuple[float, int]:
        """Begin with a problem, from the dual variables of the last one times a factor.

        Return the sum of the costs and the number of rows.
        """
        if self.shard is not None:
            self.alpha[self.rows] = self.shard.alpha
        self.rows, problem = self.held.problem(self.memberships, order)
        alpha = np.clip(growth * self.alpha[self.rows], *problem.box())
        self.shard = FarShard(problem, alpha, [order.positive or 0, self.number])
        return float(problem.C.sum()), problem.n_samples

    def score(self, left_out: Fold, images: Sequence[Floats], intercepts: Sequence[float]) -> Floats:
        """Return sums over the rows left out, from which their score follows; see `searching.score_of`."""
        rows = np.flatnonzero(left_out.has(self.held.numbers))
        stack, memberships = self.held.stack[np.ix_(rows, rows)], self.memberships[rows]
        decisions = [stack.scores(memberships, own) + b for own, b in zip(images, intercepts, strict=True)]
        labels = self.held.labels[rows]
        if labels.dtype.kind == "f":
            mean = labels.mean() if len(rows) else 0.0
            spread, error = np.square(labels - mean).sum(), np.square(labels - decisions[0]).sum()
            return np.array([len(rows), mean, spread, error])
        found = np.argmax(decisions, axis=0) if len(decisions) > 1 else 1 * (decisions[0] > 0.0)
        return np.array([len(rows), np.count_nonzero(found == labels)])

    def ask(self, method: str, arguments: Sequence[Any]) -> tuple[bool, Any]:
        """Return whether it went well, and the answer of the shard or its error."""
        try:
            answer = getattr(self.shard, method)(*arguments)
            if method == "shrink" and self.buddy is not None:
                self.buddy.keep(self.number, self.shard.alpha.copy())
            return True, answer
        except Exception as error:
            return False, error

    def befriend(self, buddy: Any) -> None:
        """Take note of the actor that keeps a copy of the dual variables."""
        self.buddy = buddy

    def leave(self) -> None:
        """Let go of everything: the actors know each other, and dask keeps what is known."""
        self.__dict__.clear()

    def keep(self, number: int, alpha: Floats) -> None:
        """Keep a copy of another shard's dual variables."""
        self.copies[number] = alpha

    def copy_of(self, number: int) -> Floats | None:
        """Return the copy of another shard's dual variables; None if there is none."""
        return self.copies.get(number)

    def restore(self, buddy: Any) -> None:
        """Take over the dual variables that the buddy of a lost shard has kept; rest until the next look."""
        alpha = None if buddy is None else buddy.copy_of(self.number).result()
        if alpha is not None and len(alpha) == len(self.shard.alpha):
            self.shard.alpha[:] = np.clip(alpha, self.shard.lower, self.shard.upper)
        self.shard.see_all()
        self.shard.gather(0.0, 0.0, False)
        self.shard.settle(np.ones(len(self.shard.alpha), dtype=bool))
