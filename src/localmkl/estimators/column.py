"""A column of a search: models that differ in few parameters, share a gate and read the Grams together."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias

from localmkl._checks import check_finite_decisions
from localmkl._types import Floats, Rows, Targets
from localmkl.estimators.base import BaseMKL, Found
from localmkl.estimators.context import FoldContext, identity
from localmkl.solvers.objective import Problem

ACROSS = ("loss", "quantile", "p", "epsilon", "C")
"""Parameters that differ within a column. From column to column a series of models keeps them."""

LAST = "last"
"""Place of the solutions of the model solved last, for those that are the first of their series."""

Solved: TypeAlias = dict[Any, list[tuple[Found, Problem]]]
"""Solution and problem of every class, by the series of the model."""


def fit_column(
    models: Sequence[BaseMKL], X: Rows, y: Targets, context: FoldContext, solved: Solved, **fit_params: Any
) -> list[BaseMKL | Exception]:
    """Fit models side by side, each from the solutions of a neighbour.

    Parameters
    ----------
    models : list of BaseMKL
        New ones, equal in all but `ACROSS`.
    X, y : rows and targets
    context : FoldContext
    solved : dict
        (Solution, Problem) of every class, for each series of the columns before; it is brought up to date.
    **fit_params
        As for ``fit``.

    Returns
    -------
    list
        For every model itself, fitted, or the exception that ended its fit.
    """
    outcomes: list[BaseMKL | Exception] = list(models)
    prepared = {}
    for number, model in enumerate(models):
        try:
            prepared[number] = model._prepare(X, y, context, **fit_params)
        except Exception as error:
            outcomes[number] = error
    for numbers in _turns({number: models[number] for number in prepared}, solved):
        chosen, tasks = [models[n] for n in numbers], [prepared[n] for n in numbers]
        starts = [solved.get(_series(model), solved.get(LAST)) for model in chosen]
        try:
            solutions = chosen[0]._solve_near(chosen, tasks, starts)
        except Exception as error:
            for number in numbers:
                outcomes[number] = error
            continue
        for model, task, found in zip(chosen, tasks, solutions, strict=True):
            model._finish(task, found)
            solved[_series(model)] = solved[LAST] = list(zip(found, task.problems, strict=True))
    return outcomes


def _series(model: BaseMKL) -> tuple[Hashable, ...]:
    return tuple(identity(getattr(model, name, None)) for name in ACROSS)


def _turns(models: Mapping[int, BaseMKL], solved: Solved) -> list[list[int]]:
    """Return the numbers of models that are solved together, turn by turn.

    First those with a neighbour in their series; then, if there is none at all, those that can start cold
    together; then each of the others from the one before.
    """
    known = [number for number, model in models.items() if _series(model) in solved]
    cold = [] if solved else [number for number, model in models.items() if model._starts_together]
    others = [[number] for number in models if number not in known and number not in cold]
    return [turn for turn in (known, cold, *others) if turn]


@contextmanager
def decided_together(models: Sequence[BaseMKL], context: FoldContext) -> Iterator[list[BaseMKL]]:
    """Yield stand-ins for the fitted models of a column that decide on known rows in one read for all.

    The first of them that is asked reads for the others. In the end they are ordinary models, without the
    context, whoever has kept them.
    """
    made: dict[int, list[Floats]] = {}

    def decide(number: int, X: Rows) -> Floats:
        place = context.number_of(X)
        if place is None:
            return models[number]._decide(X)
        if place not in made:
            made[place] = models[0]._decide_together(models, X, context)
        decisions = made[place][number]
        check_finite_decisions(decisions)
        return decisions

    stand_ins: list[Any] = [model._copy() for model in models]
    for number, stand_in in enumerate(stand_ins):
        stand_in._decide = partial(decide, number)
    try:
        yield stand_ins
    finally:
        for stand_in in stand_ins:
            del stand_in._decide
