"""A team whose shards are on workers, and what becomes of it when a worker dies.

Features are results of tasks, which dask computes again. Dual variables are not: after every look at all rows
each shard hands a copy of them to another worker. A shard that is lost is made again from both, and the look
at all rows during which it was lost is repeated.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from localmkl._types import Array, Floats, MaybeNone
from localmkl.cluster.crossing import find_crossing
from localmkl.cluster.rows import Client, Future
from localmkl.cluster.shards import Order, Post
from localmkl.solvers import certify
from localmkl.solvers.certify import Solution
from localmkl.solvers.descent import Descent
from localmkl.solvers.losses import Smooth, balance_slopes
from localmkl.solvers.objective import Problem
from localmkl.stacks import FactorStack

MOST_LOSSES = 20
"""Shards that may be lost in one fit: more of them mean that the fit itself is what workers die of."""
KEPT = ("charge", "blur", "weigh", "set_out", "direct")
"""Messages that a shard gets once and remembers; one that is made again gets them again."""
PATIENCE = 120
"""Seconds to wait for a worker, when all are gone."""


@dataclass(frozen=True)
class FarProblem(Problem):
    """A problem whose rows are elsewhere: one empty row stands for them.

    Parameters
    ----------
    count : int
        Number of rows.
    """

    stack: FactorStack
    count: int = 1

    @property
    def n_samples(self) -> int:
        """Number of training samples."""
        return self.count


class FarDescent(Descent):
    """The inner problem on a cluster: what a worker's death interrupts is done again."""

    def look(self, whole: bool = True) -> None:
        """Bring sums, scores and values up to date, with the same shards from beginning to end."""
        losses = self.team.losses
        super().look(whole)
        while losses != self.team.losses:
            losses, self.moved = self.team.losses, True
            super().look()


class FarTeam:
    """All shards of a problem, each on a worker.

    Parameters
    ----------
    client : distributed.Client
    held, memberships : list of Future
        Of each shard.
    """

    def __init__(self, client: Client, held: list[Future], memberships: list[Future]) -> None:
        self.client, self.held, self.memberships = client, held, memberships
        self.losses = 0
        self.order: MaybeNone = None
        self.replay: dict[str, tuple[Any, ...]] = {}
        self.futures = [self._start(k) for k in range(len(held))]
        self.posts = [self._arrived(future) for future in self.futures]
        self._befriend()

    def __len__(self) -> int:
        return len(self.posts)

    def close(self) -> None:
        """Let go of the shards."""
        for k, call in enumerate([self._send(k, "leave") for k in range(len(self))]):
            self._receive(k, call)
        self.client.cancel(self.futures)  # answers on their way may know them for a while
        self.posts.clear()

    def pose(self, order: Order, n_clusters: int, widths: Sequence[int], growth: float = 0.0) -> FarProblem:
        """Begin with a problem; return what the client knows of it."""
        self.order, self.replay, self.last = order, {}, 0.0
        self.base: float | None = None
        answers = self.call("pose", order, growth)
        cost, count = (sum(own) for own in zip(*answers, strict=True))
        self.largest = np.max(self.ask("largest"), axis=0)
        stack = FactorStack.of_table(np.zeros((1, sum(widths))), widths).scaled(order.factors)
        even = np.full((1, n_clusters), 1.0 / n_clusters)
        return FarProblem(stack, even, np.ones(1), np.full(1, cost / count), order.loss, order.p, count)

    def ask(self, method: str, *arguments: Any) -> list[Any]:
        """Return the answers of all shards."""
        if method in KEPT:
            self.replay[method] = (arguments[0], 1.0) if method == "charge" else arguments
        answers = self.call("ask", method, arguments)
        for well, answer in answers:
            if not well:
                raise answer
        return [answer for _, answer in answers]

    def total(self, method: str, *arguments: Any) -> Any:
        """Return the sum of the answers of all shards."""
        return sum(self.ask(method, *arguments))

    def hand_out(self, method: str, values: Array, counts: Sequence[int]) -> None:
        """Give every shard its part of an array; one that is lost meanwhile goes without."""
        parts = np.split(values, np.cumsum(counts)[:-1])
        calls = [self._send(k, "ask", method, (own,)) for k, own in enumerate(parts)]
        for k, call in enumerate(calls):
            if self._receive(k, call) is None:
                self._rescue(k)

    def _best_intercept(self, source: str) -> float:
        """Return the best intercept for the certificate's scores, or zeros: none leaves its worker."""
        if not isinstance(self.order.loss, Smooth):
            return find_crossing(lambda low, high: self.ask("breaks_between", source, low, high))
        size = max(self.ask("size", source))
        self.last = balance_slopes(lambda b: self.total("slopes", source, b), size, self.last)
        return self.last

    def certify(self, problem: FarProblem, weights: Floats, tol: float) -> Solution:
        """Return the certified `Solution` of some weights and the dual variables of all shards."""
        losses = -1
        while losses != self.losses:
            losses = self.losses
            self._balance()
            solution = self._judge(problem, weights, np.float64)
            undecided = solution.gap > tol >= solution.gap - 2.0 * solution.rounding
            if undecided and np.finfo(np.longdouble).eps < np.finfo(np.float64).eps:
                solution = self._judge(problem, weights, np.longdouble)
        return solution

    def _balance(self) -> None:
        """Make the dual variables sum to zero, exactly if one of them can take it."""
        sums = self.ask("exact_sum")
        for k in range(len(self)):
            others = math.fsum(sums) - sums[k]
            if math.fsum(sums) == 0.0:
                return
            answer = self._receive(k, self._send(k, "ask", "balance", (others,)))
            if answer is None:
                return self._rescue(k)
            sums[k] = answer[1]
        return None

    @np.errstate(over="ignore", invalid="ignore")
    def _judge(self, problem: FarProblem, weights: Floats, dtype: Any) -> Solution:
        """Return the `Solution` in a precision: `certify.judge_factors`, with sums over shards."""
        stack, p = problem.stack, problem.p
        factors: MaybeNone = stack.factors  # those of the order
        told = self.ask("testify", dtype, self.largest)
        self.sums = sum(own["sums"] for own in told)
        sizes, duals = (sum(own[name] for own in told) for name in ("sizes", "duals"))
        norms = stack.fold(np.square(self.sums)) * factors
        n_terms, n_rows = max(own["n_terms"] for own in told) + len(self), problem.n_samples + len(self)
        share = certify.gamma(n_terms, dtype) + certify.gamma(weights.size, dtype)
        span = max(own["span"] for own in told)
        nothing = np.empty(0)
        parts = certify.quadratics(weights, norms, sizes, p, share)
        terms = certify.Terms(nothing, nothing, span, **parts)
        self.images = stack.spread(weights * factors) * self.sums
        self.ask("answer", self.images, weights * sizes, share)
        intercept = self._best_intercept("terms")
        primal, above, below = certify.primal_value(terms, self.total("cost_sums", intercept), n_rows)
        if self.base is None:
            self.base = self._best_intercept("zeros")
        extent = certify.intercept_extent(self.base, primal + above, span)
        surplus = math.fsum(own["surplus"] for own in told)
        penalty = terms.penalty, terms.penalty_error
        dual, deep = certify.dual_bounds(duals, surplus, penalty, extent, n_rows)
        gap, rounding = certify.relative(primal, dual, above, below, deep)
        balanced = abs(surplus) <= certify.SLACK * sum(own["total"] for own in told)
        if any(own["outside"] for own in told) or not balanced or not certify.in_balls(weights, p):
            gap, rounding = np.inf, 0.0
        norm = float(np.sum(weights * norms))
        return Solution(weights, nothing, intercept, float(primal), float(dual), gap, norm, rounding)

    def call(self, method: str, *arguments: Any) -> list[Any]:
        """Return what all actors answer; a lost one is replaced, and asked again."""
        calls = [self._send(k, method, *arguments) for k in range(len(self))]
        answers = []
        for k, call in enumerate(calls):
            answer = self._receive(k, call)
            while answer is None:
                self._rescue(k)
                answer = self._receive(k, self._send(k, method, *arguments))
            answers.append(answer)
        return answers

    def _send(self, k: int, method: str, *arguments: Any) -> Any:
        try:
            return getattr(self.posts[k], method)(*arguments)
        except RuntimeError:  # dask says so of an actor whose worker is known to be gone
            return None

    def _receive(self, k: int, call: Any) -> Any:
        """Return the answer of an actor; None if its worker is gone. What its shard raises is an answer."""
        try:
            return None if call is None else call.result()
        except (OSError, RuntimeError, KeyError):
            return None

    def _start(self, k: int) -> Future:
        """Return the actor that will be where the features of its rows are; these, if they cannot be made."""
        from distributed import wait

        parts, workers = [self.held[k], self.memberships[k]], ()
        while not workers:  # they may be lost again as soon as they are there
            wait(parts)
            if any(part.status != "finished" for part in parts):
                return parts[0]
            workers = self.client.who_has(parts[:1])[self.held[k].key]
        return self.client.submit(
            Post, *parts, k, actor=True, pure=False, workers=list(workers), allow_other_workers=True
        )

    def _arrived(self, future: Future) -> Any:
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        try:
            return future.result()
        except (CancelledError, KilledWorker) as error:
            raise RuntimeError(
                "Rows were lost with the worker that had them, and dask cannot compute them again; give rows "
                "that it can, from files for instance, or more memory to each worker."
            ) from error

    def _rescue(self, k: int) -> None:
        """Make a lost shard again, from its features and the copy of its dual variables."""
        self.losses += 1
        if self.losses > MOST_LOSSES:
            raise RuntimeError(
                f"The workers of {self.losses} shards died, one after the other; look into their logs, and "
                "give each worker more memory, or use more of them."
            )
        if not self.client.nthreads():
            self.client.wait_for_workers(1, timeout=PATIENCE)
        self.futures[k] = self._start(k)
        self.posts[k] = self._arrived(self.futures[k])
        self._receive(k, self._send(k, "pose", self.order, 0.0))
        buddy = self.posts[(k + 1) % len(self)] if len(self) > 1 else None
        self._receive(k, self._send(k, "restore", buddy))
        for method, arguments in self.replay.items():
            self._receive(k, self._send(k, "ask", method, arguments))
        self._befriend()

    def _befriend(self) -> None:
        if len(self) > 1:
            for k in range(len(self)):
                self._receive(k, self._send(k, "befriend", self.posts[(k + 1) % len(self)]))
