"""Kernels on one view of several: k(x, y) where both samples have it, zero where one lacks it.

    zero      K_m = D_m K D_m                        D_m: diagonal, 1 for samples that have view m, else 0
    rescale   K_m / sqrt(v(x) v(y))                  v(x): share of the views that a sample has

Both are positive semidefinite with K. What a kernel learns, it learns from the samples that have its view.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from scipy import sparse

from localmkl._checks import check_option, listed
from localmkl._types import Floats, Rows, Table
from localmkl.kernels.stack import check_kernel, fit_kernel
from localmkl.kernels.vectors import CallableKernel, Kernel
from localmkl.views import Views

MISSING = ("rescale", "zero")


class ViewKernel(Kernel):
    """A kernel on one of several `Views`.

    Parameters
    ----------
    kernel : Kernel
    view : str
        Name of the view that it reads.
    views : list of str
        Names of all views that kernels of the model read.
    missing : {"rescale", "zero"}, default="rescale"
        What becomes of samples that lack some of them; see the module.

    Examples
    --------
    >>> from localmkl import Views
    >>> from localmkl.kernels import Linear
    >>> X = Views({"a": (np.array([[1.0], [2.0]]), [0, 2]), "b": np.ones((3, 1))})
    >>> ViewKernel(Linear(), "a", ["a", "b"]).fit(X)(X)
    array([[1., 0., 2.],
           [0., 0., 0.],
           [2., 0., 4.]])
    """

    def __init__(self, kernel: Kernel, view: str | None, views: list[str], missing: str = "rescale") -> None:
        self.kernel = kernel
        self.view = view
        self.views = views
        self.missing = missing

    def fit(self, X: Rows, sample_weight: Floats | None = None) -> Self:  # noqa: D102
        weights = None if sample_weight is None else sample_weight[X.present(self.view)]
        if not X.present(self.view).any() or (weights is not None and not np.any(weights)):
            raise ValueError(f"At least one sample that counts must have view {self.view!r}, got none.")
        with errors_of_view(self.view):
            self.kernel_ = fit_kernel(self.kernel, X.rows(self.view), weights)
            self.width_ = self.kernel_.count_features(X.rows(self.view))
        return self

    def __call__(self, X: Rows, Y: Rows = None) -> Floats:  # noqa: D102
        gram = np.empty((len(X), len(X) if Y is None else len(Y)))
        self.write(X, Y, gram)
        return gram

    def write(self, X: Rows, Y: Rows, out: Floats) -> None:  # noqa: D102
        self.write_together([self], X, Y, out[None], [0])

    def sweep_key(self) -> Hashable:  # noqa: D102
        key = self.kernel.sweep_key()
        return None if key is None else (self.view, self.missing, type(self.kernel), key)

    @classmethod
    def write_together(  # noqa: D102
        cls, kernels: Sequence[Any], X: Rows, Y: Rows, out: Floats, places: Sequence[int]
    ) -> None:
        first, own = kernels[0], [kernel.kernel_ for kernel in kernels]
        has = X.present(first.view), (X if Y is None else Y).present(first.view)
        rows, columns = X.rows(first.view), None if Y is None else Y.rows(first.view)
        scales = first.scales(X), first.scales(X if Y is None else Y)
        if all(one.all() for one in has):
            with errors_of_view(first.view):
                own[0].write_together(own, rows, columns, out, places)
        else:
            part = np.zeros((len(own), *(np.count_nonzero(one) for one in has)))
            if part.size:
                with errors_of_view(first.view):
                    own[0].write_together(own, rows, columns, part, range(len(own)))
            for place, gram in zip(places, part, strict=True):
                out[place] = 0.0
                out[place][np.ix_(*has)] = gram
        if any(np.any(one != 1.0) for one in scales):
            for place in places:
                out[place] *= scales[0][:, None]
                out[place] *= scales[1]

    def diag(self, X: Rows) -> Floats:  # noqa: D102
        has, diagonal = X.present(self.view), np.zeros(len(X))
        if has.any():
            with errors_of_view(self.view):
                diagonal[has] = self.kernel_.diag(X.rows(self.view))
        return diagonal * np.square(self.scales(X))

    def features(self, X: Rows) -> Table:  # noqa: D102
        has = X.present(self.view)
        if self.width_ is None:
            return None
        if not has.any():
            return sparse.csr_array((len(X), self.width_))
        with errors_of_view(self.view):
            own = self.kernel_.features(X.rows(self.view))
        entries = self.scales(X)[has], (np.flatnonzero(has), np.arange(own.shape[0]))
        return sparse.csr_array(entries, shape=(len(X), own.shape[0])) @ own

    def count_features(self, X: Rows) -> int | None:  # noqa: D102
        return self.width_

    def scales(self, X: Rows) -> Floats:
        """Return what the rows are multiplied by, (n_samples,)."""
        if self.missing == "zero":
            return np.ones(len(X))
        share = X.share(self.views)
        return 1.0 / np.sqrt(np.where(share > 0.0, share, 1.0))


@contextmanager
def errors_of_view(view: str | None) -> Iterator[None]:
    """Say in which view the rows are that a kernel refuses."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"In view {view!r}: {error}") from error


def in_views(kernels: Sequence[Kernel], X: Rows, missing: str = "rescale") -> list[ViewKernel]:
    """Return kernels that read their views of `X`, without those whose view no sample has.

    Parameters
    ----------
    kernels : list of Kernel or callable
        Each with a `view`, or any if there is one view only.
    X : Views
        Training rows.
    missing : {"rescale", "zero"}
    """
    check_option("missing", missing, MISSING)
    names = [_view_of(kernel, X) for kernel in kernels]
    seen = [name for name in dict.fromkeys(names) if X.present(name).any()]
    made = [
        ViewKernel(kernel if isinstance(kernel, Kernel) else CallableKernel(kernel), name, seen, missing)
        for kernel, name in zip(kernels, names, strict=True)
        if name in seen
    ]
    if not made:
        raise ValueError(f"At least one sample must have a view that a kernel reads, got {X!r}.")
    lonely = np.flatnonzero(X.share(seen) == 0.0)
    if len(lonely):
        raise ValueError(
            f"Every sample must have at least one view, got none for {listed(lonely)}; leave them out."
        )
    return made


def in_one_view(kernel: Any, X: Rows) -> Any:
    """Return a kernel of its own, such as that of a gate, that reads its view of `X`; functions read all."""
    return ViewKernel(kernel, name, [name], MISSING[1]) if (name := view_read(kernel, X)) else kernel


def view_read(kernel: Any, X: Rows) -> str | None:
    """Return the view of rows that a kernel reads; None where it reads all, or rows are no views."""
    if isinstance(kernel, ViewKernel):
        return kernel.view
    own = isinstance(kernel, Kernel) and not isinstance(kernel, CallableKernel)
    return _view_of(kernel, X) if own and isinstance(X, Views) else None


def refuse_view(kernels: Sequence[Kernel]) -> None:
    """Raise if kernels for a table name views."""
    for kernel in kernels:
        if getattr(kernel, "view", None) is not None:
            raise ValueError(f"A kernel that names a `view` needs rows that are `Views`, got {kernel!r}.")


def _view_of(kernel: Kernel, X: Rows) -> str:
    check_kernel(kernel)
    view = getattr(kernel, "view", None)
    if view is None:
        if len(X.names) == 1:
            return X.names[0]
        raise ValueError(
            f"Every kernel must name its `view`, one of {listed(X.names)}, got {kernel!r} without one."
        )
    if view not in X.names:
        raise ValueError(f"`view` must be one of {listed(X.names)}, got {view!r} in {kernel!r}.")
    return view
