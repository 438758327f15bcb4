"""The page: sections in order, one HTML file out, which needs no network."""

import warnings
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from localmkl._checks import check_integer
from localmkl._files import check_place, write_whole
from localmkl._types import FilePath, Rows, Targets
from localmkl.report.markup import Html, Section, as_json, joined, tag
from localmkl.report.refitting import check_resamples, refit
from localmkl.report.sections import first_screen, page_data, sections_of
from localmkl.report.sections.sequence_parts import sequence_figures
from localmkl.report.subject import Subject


def write_report(
    model: Any,
    path: FilePath,
    X: Rows = None,
    y: Targets = None,
    *,
    groups: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    train: tuple[Any, ...] | None = None,
    title: str | None = None,
    cv: int = 5,
    stability: int | None = None,
    random_state: int = 0,
    verbose: int = 0,
) -> Path:
    """Write how good a fitted model is, and what matters in it, as one HTML page.

    Parameters
    ----------
    model : fitted estimator of localmkl, or a fitted pipeline or search that ends in one
    path : str or path-like
        The file; it is written whole or not at all.
    X, y : rows and targets, optional
        Rows to judge the model on. Rows that it was trained on are cross-validated instead, and left out
        among new ones. By default the training rows, where the model keeps them with their targets.
    groups : array-like of shape (n_samples,), optional
        The groups of the rows of `X`, for a model with ``gate="groups"`` that finds them in no column.
    names : sequence of str, optional
        Names of the rows of `X`.
    train : tuple (X, y) or (X, y, groups), optional
        The training data, where the model does not keep them.
    title : str, optional
    cv : int, default=5
        Folds of the cross-validation; 0 for none.
    stability : int, optional
        Refits on halves of the training rows that show how far effects and clusters vary: an even number
        from 20 on, or 0. By default 60 where they take less than a minute.
    random_state : int, default=0
        Seed of folds, refits and intervals.
    verbose : int, default=0
        1 shows a progress bar of the refits.

    Returns
    -------
    path : pathlib.Path
        Where the page is.

    Examples
    --------
    >>> import tempfile
    >>> from localmkl import MKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(60, random_state=0)[:2]
    >>> model = MKLClassifier().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_report(model, f"{folder}/report.html", X, y, cv=2, stability=0)
    ...     print(path.name, path.read_text(encoding="utf-8")[:15])
    report.html <!doctype html>
    """
    check_integer("cv", cv, low=0)
    check_integer("random_state", random_state, low=0)
    check_resamples(stability)
    path = Path(path)
    check_place(path)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "There are rows of groups")  # the page shows them
        subject = Subject(model, X, y, groups=groups, names=names, train=train, cv=cv, seed=random_state)
        subject.refits = refit(subject, stability, verbose)
        sequences = sequence_figures(subject)
        page = render(
            title or first_screen.title_of(subject),
            first_screen.first_screen(subject, sequences[:2]),
            sections_of(subject, sequences[2:]),
            page_data(subject),
        )
    # Half of a surrogate pair, as in file names that are no UTF-8, is written by its number.
    write_whole(path, page.encode("utf-8", "backslashreplace"))
    return path


def render(title: str, top: Html, sections: Sequence[Section], data: Any) -> str:
    """Return the page as text."""
    policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
    links = [tag("li", tag("a", one.title, href=f"#{one.key}")) for one in sections]
    head = joined(
        [
            Html('<meta charset="utf-8"><meta name="generator" content="localmkl">'),
            Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
            Html('<meta name="color-scheme" content="light dark">'),
            Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
            tag("title", title),
            tag("style", Html(_text("page.css"))),
        ]
    )
    body = tag(
        "body",
        tag("a", "To the report", class_="skip", href="#main"),
        tag("header", tag("h1", title), top, tag("nav", tag("ol", links), aria_label="Contents")),
        tag("main", [section.html() for section in sections], id="main"),
        as_json(data),
        tag("script", Html(_text("page.js"))),
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>{body}</html>\n'


def _text(name: str) -> str:
    return files("localmkl.report").joinpath(name).read_text(encoding="utf-8")
