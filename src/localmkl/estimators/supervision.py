"""Memberships that are learned with the labels, by turns with the convex problem.

    min  sum_k P_k(w, beta, b; c) + rho/2 ||(a, v)||^2,    c_j(x) = softmax_j(scores_j(x) + a_j'z(x) + v_j)

over everything: not convex. A turn is a step of the gate and a convex fit.

    gate   w, beta and b stay, hence the norms do: g_ij = sum_m <w_jm, phi_m(x_i)>, what cluster j says of row
           i, is known, and sum_i C_i loss(sum_j c_ij g_ij + b, y_i) + rho/2 ||(a, v)||^2 is lowered
    fit    c stays; the convex problem, from the solution before

Neither raises the objective. A fit stops at its tolerance, so a turn after which the objective is not lower
is undone, and ends it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from localmkl._types import Bools, Floats
from localmkl.estimators.base import Prepared
from localmkl.estimators.gating import with_shared
from localmkl.gates import SupervisedGate
from localmkl.solvers.certify import Solution
from localmkl.solvers.objective import Problem

if TYPE_CHECKING:
    from localmkl.estimators.convex import LocalMKL

Part: TypeAlias = tuple[Problem, Floats, float]
"""A problem, g and b."""

PENALTY = 0.01
"""rho, as a share of the cost of all samples: scores move by about one where that halves their losses."""

STEPS = 30
"""Most steps of the gate in one turn: the next turn goes on."""

GAINED = 1e-4
"""Share of the objective that a turn gains at least, or it is the last."""

CUTS = 6
"""Halvings of a step towards hard memberships before there is none."""

DIFFERENCE = 1e-6
"""Width of the differences that slopes of a loss are taken from."""


@dataclass(frozen=True)
class GateStep:
    """The problem of the gate, while everything else stays.

    Parameters
    ----------
    scores : ndarray of shape (n, l)
        Those that the gate begins with.
    components : ndarray of shape (n, r + 1)
        z and a column of ones.
    present : ndarray of bool, shape (n,) or None
        Rows that have the view that the gate kernel reads; others belong to all clusters alike.
    shared : float
        Share of the part that is the same for all.
    hard : bool
        Whether memberships are 0 or 1.
    penalty : float
        rho.
    parts : list
        (problem, g, b) of every problem, g of shape (n, l), one more column if a part is shared.
    """

    scores: np.ndarray
    components: np.ndarray
    present: np.ndarray | None
    shared: float
    hard: bool
    penalty: float
    parts: Sequence[Part] = ()

    def memberships(self, coefficients: Floats, hard: bool | None = None) -> Floats:
        """Return c, (n, l)."""
        found = softmax(self.scores + self.components @ coefficients.T, axis=1)
        if self.hard if hard is None else hard:
            found = np.eye(found.shape[1])[found.argmax(axis=1)]
        return found if self.present is None else np.where(self.present[:, None], found, 1.0 / found.shape[1])

    def value(self, coefficients: Floats) -> float:
        """Return the losses and the penalty of the memberships as they will be."""
        return self._losses(self.memberships(coefficients)) + self.penalty_of(coefficients)

    def penalty_of(self, coefficients: Floats) -> float:
        """Return ``rho/2 ||(a, v)||^2``."""
        return 0.5 * self.penalty * float(np.square(coefficients).sum())

    def _losses(self, memberships: Floats) -> float:
        return sum(
            float(problem.C @ problem.loss.value(self._decisions(memberships, own, intercept), problem.y))
            for problem, own, intercept in self.parts
        )

    def _decisions(self, memberships: Floats, own: Floats, intercept: float) -> Floats:
        if own.shape[1] == memberships.shape[1]:
            return (memberships * own).sum(axis=1) + intercept
        local = (1.0 - self.shared) * (memberships * own[:, 1:]).sum(axis=1)
        return self.shared * own[:, 0] + local + intercept

    def smooth(self, flat: Floats) -> tuple[float, Floats]:
        """Return value and gradient with soft memberships."""
        coefficients = flat.reshape(self.scores.shape[1], -1)
        memberships = self.memberships(coefficients, hard=False)
        wanted = np.zeros_like(memberships)
        for problem, own, intercept in self.parts:
            decisions = self._decisions(memberships, own, intercept)
            share = 1.0 if own.shape[1] == memberships.shape[1] else 1.0 - self.shared
            slopes = problem.C * _slopes(problem, decisions)
            wanted += share * slopes[:, None] * own[:, -memberships.shape[1] :]
        wanted -= (memberships * wanted).sum(axis=1, keepdims=True)
        wanted *= memberships
        if self.present is not None:
            wanted[~self.present] = 0.0
        gradient = wanted.T @ self.components + self.penalty * coefficients
        return self._losses(memberships) + self.penalty_of(coefficients), gradient.ravel()

    def lowered(self, coefficients: Floats) -> Floats:
        """Return coefficients with a lower value, or the same ones."""
        before = self.value(coefficients)
        found = minimize(
            self.smooth, coefficients.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": STEPS}
        )
        step = found.x.reshape(coefficients.shape) - coefficients
        for cut in range(CUTS):
            tried = coefficients + 0.5**cut * step
            if self.value(tried) < before:
                return tried
        return coefficients


def _slopes(problem: Problem, decisions: Floats) -> Floats:
    """Return the slopes of any loss: at a kink, one between those on its sides."""
    width = DIFFERENCE * (1.0 + np.abs(decisions))
    values = [problem.loss.value(decisions + side * width, problem.y) for side in (1.0, -1.0)]
    return (values[0] - values[1]) / (2.0 * width)


def supervise(
    model: LocalMKL, prepared: Prepared, seen: Floats, present: Bools | None, sample_weight: Floats | None
) -> tuple[SupervisedGate, Prepared]:
    """Return the moved gate of a model, and its problems with the memberships that are learned.

    Parameters
    ----------
    model : LocalMKL
        With a gate that has its start.
    prepared : Prepared
        The problems at that start.
    seen : ndarray of shape (n, l + r)
        Distances and components of the training rows.
    present : ndarray of bool, shape (n,) or None
    sample_weight : ndarray of shape (n,) or None
    """
    start: SupervisedGate = model.gate_.clustering
    scores, components = start.scores(seen, sample_weight)
    step = GateStep(
        scores,
        np.column_stack([components, np.ones(len(components))]),
        present,
        model._shared,
        bool(np.isinf(start.tau_)),
        PENALTY * sum(float(problem.C.sum()) for problem in prepared.problems),
    )
    coefficients: Floats = np.zeros((scores.shape[1], step.components.shape[1]))
    solutions = model._solve_classes(prepared)
    objectives = [sum(solution.primal for solution in solutions)]
    for _ in range(start.max_rounds):
        moved = replace(step, parts=_parts(prepared, solutions)).lowered(coefficients)
        if moved is coefficients:
            break
        found = _with_memberships(prepared, with_shared(step.memberships(moved), model._shared))
        pairs = list(zip(solutions, prepared.problems, strict=True))
        fitted = model._solve_near([model], [found], [pairs])[0]
        objective = sum(solution.primal for solution in fitted) + step.penalty_of(moved)
        if objective >= objectives[-1]:
            break
        gained = objectives[-1] - objective
        objectives.append(objective)
        coefficients, prepared, solutions = moved, found, fitted
        if gained < GAINED * objective:
            break
    return start.moved(seen, sample_weight, coefficients, objectives), prepared


def _parts(prepared: Prepared, solutions: Sequence[Solution]) -> list[Part]:
    """Return problem, g and b of every problem."""
    parts = []
    for problem, solution in zip(prepared.problems, solutions, strict=True):
        products = problem.stack.products(problem.cluster_parts(solution.alpha))
        parts.append((problem, np.einsum("jm,jmi->ij", solution.weights, products), solution.intercept))
    return parts


def _with_memberships(prepared: Prepared, memberships: Floats) -> Prepared:
    problems = [replace(problem, memberships=memberships) for problem in prepared.problems]
    return replace(prepared, gate=memberships, problems=problems)
