"""A fit on a cluster: survey, features, memberships, optimisation.

The client has a sample of rows, kernels, landmarks, clusters and weights; each worker has features,
memberships, labels and dual variables of its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import numpy as np

from localmkl._resources import matrix_bytes
from localmkl._types import Floats, MaybeNone, Rows, Targets
from localmkl.cluster.held import Fold, gate, hold, kernel_sums, mean_square
from localmkl.cluster.rows import Chunk, Client, Future, Task, chunks_of, find_client
from localmkl.cluster.shards import Order
from localmkl.cluster.survey import Survey, class_costs, take_survey
from localmkl.cluster.team import FarDescent, FarTeam
from localmkl.estimators.base import BaseMKL
from localmkl.estimators.context import FoldContext, parameters_key
from localmkl.estimators.factors import DOUBLE_BYTES
from localmkl.estimators.gating import PARTITION, ModelGate
from localmkl.estimators.groups import GroupGate
from localmkl.gates import Gate
from localmkl.kernels import fit_kernels
from localmkl.kernels.features import fit_features
from localmkl.kernels.stack import factors_of
from localmkl.solvers.certify import Solution
from localmkl.solvers.factored import solve_factored
from localmkl.solvers.starts import Start, even_start, on_sphere
from localmkl.stacks import FactorStack

GATING = (*PARTITION, "evenness", "shared")
"""Parameters that factors and memberships depend on."""
GATED = ("factors_", "gate_", "shared_", "transductive_", "groups_")
"""Attributes that are learned with them."""

M = TypeVar("M", bound=BaseMKL)

Warm: TypeAlias = tuple[list[Solution], float]
"""Solutions of all problems of a model, and its cost."""


def fit(estimator: M, X: Rows, y: Targets, sample_weight: Any = None, unlabeled: Rows = None) -> M:
    """Fit an estimator to rows that are on a cluster; it becomes what a fit on one machine makes of it.

    Parameters
    ----------
    estimator : estimator of a convex method
        With `n_components`.
    X : dask.array.Array or dask.dataframe.DataFrame
    y : dask.array.Array or dask.dataframe.Series
        With the chunks of the rows.
    sample_weight : dask.array.Array or dask.dataframe.Series, optional
    unlabeled : None
        Rows on a cluster are many: clusters are learned from a sample of them alone.

    Returns
    -------
    estimator
        Without dual variables and memberships of the training rows, which stay where these are.
    """
    if unlabeled is not None:
        raise ValueError("`unlabeled` rows are for fits on one machine, got some with rows on a cluster.")
    draft = estimator._copy(learned=False)
    with closing(prepare(draft, X, y, sample_weight)) as ground:
        ground.settle(draft)
        ground.store(draft, ground.solve(draft))
    estimator.__dict__ = draft.__dict__
    return estimator


def prepare(draft: BaseMKL, X: Rows, y: Targets, sample_weight: Any = None) -> Ground:
    """Check, learn kernels and landmarks from a sample, compute features; return the `Ground` of fits."""
    draft._check_parameters()
    _check_suited(draft)
    client = find_client()
    if y is None:
        draft._check_y(y)  # says what is missing
    chunks = chunks_of(X, y, sample_weight, client)
    survey = take_survey(draft, chunks, client)
    rows = draft._check_rows(survey.rows, reset=True)
    if len(survey.labels):
        draft.classes_ = survey.labels
    draft.kernels_ = fit_kernels(draft._kernels_for(rows), rows, survey.weights)
    draft.features_ = fit_features(
        draft.kernels_,
        rows,
        draft.n_components,
        sample_weight=survey.weights,
        landmarks=draft.landmarks,
        random_state=draft.random_state,
        cosine=draft.normalize == "cosine",
    )
    draft.widths_, draft.cosine_scales_ = list(draft.features_.widths), None
    ground = Ground(client, chunks, survey, rows)
    ground.featurise(draft)
    return ground


def _check_suited(draft: BaseMKL) -> None:
    if not hasattr(draft, "n_components"):
        raise ValueError(
            f"Rows on a cluster are for the convex methods, got {type(draft).__name__}; use CLMKL, HLMKL, "
            "MKL or UNIF."
        )
    if draft.n_components is None:
        raise ValueError(
            "Rows on a cluster need `n_components`, the number of features of each kernel, got None; Grams "
            "of all rows are for one machine."
        )
    known = getattr(draft, "gate", "")
    if not (isinstance(known, str | Gate) or callable(known) or hasattr(known, "predict_proba")):
        raise ValueError(
            "`gate` must be a name, a `Gate`, a model or a function for rows on a cluster, got a matrix of "
            "memberships; let a function compute them."
        )


@dataclass
class Ground:
    """Features of all rows on their workers, for one fit or many.

    Parameters
    ----------
    client : distributed.Client
    chunks : list of Chunk
    survey : Survey
    rows
        The sample, checked.
    """

    client: Client
    chunks: list[Chunk]
    survey: Survey
    rows: Rows
    held: list[Future] = field(default_factory=list)
    team: MaybeNone = None
    key: Any = None

    def featurise(self, draft: BaseMKL) -> None:
        """Have the features of all rows computed, each where its chunk is."""
        self.places = shares_of(self.chunks, self.client)
        whole = matrix_bytes(self.survey.n_rows, draft.features_.n_features)
        dtype = np.float64 if whole <= DOUBLE_BYTES else np.float32
        self._submit_model(draft)
        for worker, chunks in self.places:
            threads = self.client.nthreads()[worker]
            firsts = [chunk.first for chunk in chunks]
            self.held.append(self._task(worker, hold, _parts(chunks), firsts, dtype, threads))
        sums = self.client.gather(self.client.map(kernel_sums, self.held, pure=False))
        weight, diagonal, features, trace = (sum(own) for own in zip(*sums, strict=True))
        lost = np.divide(trace - diagonal, trace, out=np.zeros(len(trace)), where=trace > 0.0)
        draft.approximation_error_ = np.clip(lost, 0.0, 1.0)
        self.means = diagonal / weight, features / weight, weight

    def settle(self, draft: BaseMKL) -> None:
        """Set factors, gate and cost of a model; what the last one had, if it has the same memberships."""
        key = parameters_key(draft, [name for name in GATING if hasattr(draft, name)])
        if key != self.key:
            self._gate(draft)
            self.key, self.gated = key, {name: vars(draft).get(name) for name in GATED}
        draft.__dict__.update({name: value for name, value in self.gated.items() if value is not None})
        draft.C_ = float(draft.C) / self._size(draft)

    def _gate(self, draft: BaseMKL) -> None:
        """Learn factors, and the gate from the sample; have memberships of all rows computed."""
        diagonal, features, weight = self.means
        stack = FactorStack.of_table(draft.features_.transform(self.rows, dtype=np.float64), draft.widths_)
        draft.factors_ = np.ones(stack.n_kernels)
        if draft.normalize in ("multiplicative", "trace"):
            norms = stack.fold(np.square(features)) * (draft.normalize == "multiplicative")
            draft.factors_ = factors_of(diagonal, norms)
        args = self.rows, self.survey.groups, stack, self.survey.weights, None, FoldContext()
        self.n_clusters = draft._fit_gate(*args).shape[1]
        self._submit_model(draft)
        self._dismiss()
        looks = _looks_at_rows(draft.gate_)
        memberships = [
            self._task(worker, gate, held, _parts(chunks) if looks else None)
            for held, (worker, chunks) in zip(self.held, self.places, strict=True)
        ]
        squares = self.client.map(mean_square, self.held, memberships, pure=False)
        self.spread = sum(self.client.gather(squares)) / weight
        self.team = FarTeam(self.client, self.held, memberships)

    def _size(self, draft: BaseMKL) -> float:
        """Return what `C` is divided by; see `ConvexMKL._size`."""
        if not draft.scale_C:
            return 1.0
        n_kernels = len(draft.widths_)
        return self.spread * n_kernels ** (1.0 - 1.0 / draft._p) / self.survey.unit

    def solve(self, draft: BaseMKL, left_out: Fold | None = None, warm: Warm | None = None) -> list[Solution]:
        """Return the solutions of all problems of a model, and keep the images of their coefficients.

        `warm` are solutions of a neighbour, with its cost; the dual variables are still on the workers.
        """
        costs: Floats | None = None
        positives: list[int | None] = [None]
        if len(self.survey.labels):
            costs, n_classes = class_costs(draft, self.survey), len(self.survey.labels)
            positives = [1] if n_classes == 2 else list(range(n_classes))
        growth = draft.C_ / warm[1] if warm is not None and len(positives) == 1 else 0.0
        options = draft._options | {"callback": draft._callback()}
        solutions: list[Solution] = []
        self.images: list[Floats] = []
        for k, positive in enumerate(positives):
            order = Order(draft._loss, float(draft._p), draft.factors_, draft.C_, costs, positive, left_out)
            problem = self.team.pose(order, self.n_clusters, draft.widths_, growth)
            start = even_start(problem)
            if warm is not None:
                start = Start(on_sphere(warm[0][k].weights, problem.p), near=growth > 0.0)
            solutions.append(solve_factored(problem, start, team=self.team, descent=FarDescent, **options))
            self.images.append(self.team.images.astype(np.float64))
        return solutions

    def store(self, draft: BaseMKL, solutions: list[Solution]) -> None:
        """Set what a model has learned; nothing that there is one of for each row."""
        draft._store_common(solutions)
        draft._store(solutions, np.empty((0, self.n_clusters)))
        draft.feature_coef_ = draft._stacked(self.images)
        if hasattr(draft, "groups_"):
            draft.groups_ = draft.groups_[:0]

    def close(self) -> None:
        """Let go of all that is on the workers."""
        self._dismiss()
        self.held.clear()
        self.model = self.key = None

    def _dismiss(self) -> None:
        if self.team is not None:
            self.team.close()
        self.team = None

    def _submit_model(self, draft: BaseMKL) -> None:
        # A task, not scattered data: dask can run it again if the worker that has the model dies.
        self.model = self.client.submit(_same, draft._copy(), pure=False)

    def _task(self, worker: str, function: Callable[..., Any], *arguments: Any) -> Future:
        """Return the future of a task that runs on a worker, or on others if that is gone."""
        from dask import delayed

        task = delayed(function, pure=False)(self.model, *arguments)
        return self.client.compute(task, workers=[worker], allow_other_workers=True)


def _same(model: BaseMKL) -> BaseMKL:
    return model


def _parts(chunks: Sequence[Chunk]) -> list[tuple[Task, Task, Task | None]]:
    """Return rows, labels and weights of chunks, as tasks."""
    return [(chunk.X, chunk.y, chunk.weight) for chunk in chunks]


def _looks_at_rows(gate: Any) -> bool:
    """Whether a gate needs rows themselves, not their features."""
    own = getattr(getattr(gate, "kernel", None), "own", None)
    return isinstance(gate, ModelGate | GroupGate) or own is not None


CROWDED = 1.2
"""Share of its even part that a worker takes of the rows it has; the others go to workers with fewer."""


def shares_of(chunks: Sequence[Chunk], client: Client) -> list[tuple[str, list[Chunk]]]:
    """Return workers and the chunks that each of them takes: those it has, as far as that is even."""
    workers = sorted(client.nthreads())
    loads: dict[str, int] = dict.fromkeys(workers, 0)
    shares: dict[str, list[Chunk]] = {worker: [] for worker in workers}
    most = CROWDED * sum(chunk.n_rows for chunk in chunks) / len(workers)
    located = client.who_has()
    for chunk in chunks:
        here = [worker for worker in located.get(chunk.X.key, ()) if worker in loads]
        fits = [worker for worker in here if loads[worker] + chunk.n_rows <= most]
        worker = min(fits or workers, key=loads.__getitem__)
        loads[worker] += chunk.n_rows
        shares[worker].append(chunk)
    return [(worker, own) for worker, own in shares.items() if own]
