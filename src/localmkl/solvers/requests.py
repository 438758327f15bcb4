"""Requests to a stack: a problem on its way asks, and what several ask at the same time is read once.

A course is a generator that solves one problem. It yields requests, and is sent their answers:

    kernel = yield Combine(weights)             the combined kernel, in a matrix that the course may change
    products = yield Products(vectors)          K_m u_j on all rows, audited
    products = yield Products(vectors, samples) K_m u_j on some rows, unaudited
"""

from dataclasses import dataclass

import numpy as np

from localmkl.solvers.certify import audited_products


@dataclass(frozen=True)
class Combine:
    """A request for the combined kernel of some weights; it replaces the one before."""

    weights: np.ndarray


@dataclass(frozen=True)
class Products:
    """A request for products with vectors; of rows and columns `samples`, if these are given."""

    vectors: np.ndarray
    samples: np.ndarray | None = None


def run_courses(problems, courses):
    """Run the courses of problems that share stack and memberships side by side; return what they return.

    Parameters
    ----------
    problems : list of Problem
    courses : list of generator
        One for each problem.
    """
    server = _Server(problems)
    results: dict = {}
    asked = _advance(courses, dict.fromkeys(range(len(courses))), results)
    while asked:
        answers = server.answer(asked)
        asked = {place: one for place, one in asked.items() if place not in answers}
        asked |= _advance(courses, answers, results)
    return [results[place] for place in range(len(courses))]


def _advance(courses, answers, results):
    """Send each course its answer; return the next requests, and note what finished courses return."""
    asked = {}
    for place, answer in answers.items():
        try:
            asked[place] = courses[place].send(answer)
        except StopIteration as end:
            results[place] = end.value
    return asked


class _Server:
    """The stack that all problems share, and one matrix for the combined kernel of each."""

    def __init__(self, problems):
        self.problem, self.n_problems = problems[0], len(problems)
        self.kernels: np.ndarray | None = None

    def answer(self, asked):
        """Return the answers to the requests of one kind, by one read of the stack; the others wait.

        Combined kernels come last: whoever needs more products catches up before all take their next step.
        """
        kinds = (
            (lambda one: isinstance(one, Products) and one.samples is not None, self._products_on_some),
            (lambda one: isinstance(one, Products), self._products),
            (lambda one: isinstance(one, Combine), self._combine),
        )
        for belongs, answer in kinds:
            chosen = {place: one for place, one in asked.items() if belongs(one)}
            if chosen:
                return answer(chosen)
        raise TypeError(f"Requests must be `Combine` or `Products`, got {asked!r}.")

    def _combine(self, asked):
        stack, memberships = self.problem.stack, self.problem.memberships
        if self.n_problems == 1:
            only = stack.only_kernel(asked[0].weights, memberships)
            if only is not None:
                return {0: only}
        if self.kernels is None:
            n = self.problem.n_samples
            self.kernels = np.empty((self.n_problems, n, n))
        weights = np.stack([one.weights for one in asked.values()])
        stack.combine_several(weights, memberships, self.kernels, list(asked))
        return {place: self.kernels[place] for place in asked}

    def _products(self, asked):
        products = audited_products(self.problem, np.hstack([one.vectors for one in asked.values()]))
        return dict(zip(asked, np.split(products, len(asked)), strict=True))

    def _products_on_some(self, asked):
        """Answer requests for some rows by one read of all rows that are in any of them."""
        requests = list(asked.values())
        if len(requests) == 1:
            return {
                place: self.problem.stack.products(one.vectors, one.samples) for place, one in asked.items()
            }
        union = np.unique(np.concatenate([one.samples for one in requests]))
        places = [np.searchsorted(union, one.samples) for one in requests]
        width = requests[0].vectors.shape[1]
        vectors = np.zeros((len(union), width * len(requests)))
        for k, (one, rows) in enumerate(zip(requests, places, strict=True)):
            vectors[rows, k * width : (k + 1) * width] = one.vectors
        products = np.split(self.problem.stack.products(vectors, union), len(requests))
        parts = [own[:, :, rows] for own, rows in zip(products, places, strict=True)]
        return dict(zip(asked, parts, strict=True))
