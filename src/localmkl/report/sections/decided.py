"""Rows one by one: the clearest mistakes first, and what moved each prediction."""

from typing import Any

import numpy as np

from localmkl._types import Array, Floats
from localmkl.report.markup import Html, Section, figure, table, tag
from localmkl.report.prose import brief, percent
from localmkl.report.subject import Subject

SEARCHED, MISTAKES, KERNELS = 1000, 10, 12
"""Rows that can be searched, mistakes in the table, and most kernels of a row."""


def decided(subject: Subject) -> Section | None:
    """Return the section on rows; None without rows that the model has not seen."""
    if subject.held is None:
        return None
    names = tag(
        "datalist", [tag("option", value=subject.labels[i]) for i in kept_rows(subject)], id="row-names"
    )
    box = tag("input", type="search", id="row-search", list="row-names", autocomplete="off")
    panel = tag("div", id="row-panel", aria_live="polite")
    search = tag("div", tag("label", "Find a row by its name ", box), names, panel, class_="search")
    text = "Bars show what each kernel adds to the decision on the row, by the model that has not seen it."
    parts: list[Any] = ["These predictions were made by models that have not seen the row."]
    if subject.new:
        parts = ["These rows are new to the model."]
    parts += [mistakes(subject), figure("What moved a row", text, search)]
    if len(subject.held.y) > SEARCHED:
        parts.append(f"The {SEARCHED:,} clearest mistakes of {len(subject.held.y):,} rows can be searched.")
    return Section("rows", "Rows", parts)


def badness(subject: Subject) -> Floats:
    """Return how wrong each prediction is: larger is worse, and right ones are below zero."""
    held = subject.held
    if not subject.classifier:
        return np.abs(np.asarray(held.y, dtype=float) - held.decisions)
    if subject.binary:
        return np.where(subject.truth, -1, 1) * subject.sign * held.decisions
    own = np.array([subject.classes.index(label) for label in held.y.tolist()])
    true = held.decisions[np.arange(len(own)), own]
    others = held.decisions.copy()
    others[np.arange(len(own)), own] = -np.inf
    return np.asarray(others.max(axis=1) - true)


def kept_rows(subject: Subject) -> list[int]:
    """Return the numbers of the rows that can be searched, the clearest mistakes first."""
    order = np.argsort(-badness(subject), kind="stable")[:SEARCHED]
    return [int(i) for i in order]


def decision_words(subject: Subject) -> Array:
    """Return each prediction in words."""
    held = subject.held
    if not subject.classifier:
        return np.array([brief(float(value)) for value in held.decisions], dtype=object)
    predicted, given = held.predicted(), held.probabilities()
    if given is None:
        sure = np.abs(held.decisions) if subject.binary else held.decisions.max(axis=1)
        words = [f"{label} (decision {value:.2f})" for label, value in zip(predicted, sure, strict=True)]
    else:
        sure = np.maximum(given, 1.0 - given) if subject.binary else given.max(axis=1)
        words = [f"{label} ({percent(value)})" for label, value in zip(predicted, sure, strict=True)]
    return np.array(words, dtype=object)


def mistakes(subject: Subject) -> Html | None:
    """Return the table of the clearest mistakes."""
    held, wrong = subject.held, badness(subject)
    rows, words = [], decision_words(subject)
    for i in kept_rows(subject)[:MISTAKES]:
        if subject.classifier and not wrong[i] > 0.0:
            break
        truth = held.y[i] if subject.classifier else brief(float(held.y[i]))
        group = [] if held.groups is None else [held.groups[i]]
        rows.append([subject.labels[i], *group, words[i], truth])
    if not rows:
        return None
    head = [str(subject.made.get("names_column") or "row"), "predicted", "true"]
    head[1:1] = [] if held.groups is None else [subject.noun]
    return table(head, rows, "The clearest mistakes")


def page_data(subject: Subject) -> dict[str, Any]:
    """Return the numbers that the script of the page works with."""
    held = subject.held
    if held is None:
        return {}
    words, kept = decision_words(subject), kept_rows(subject)
    chosen: Any = np.zeros(len(held.y), dtype=int)
    if held.decisions.ndim == 2:
        chosen = held.decisions.argmax(axis=1)
    moved = subject.sign * held.contributions[np.arange(len(held.y)), chosen].sum(axis=1)
    rows = []
    for i in kept:
        truth = str(held.y[i]) if subject.classifier else brief(float(held.y[i]))
        group = "" if held.groups is None else str(held.groups[i])
        sizes = np.abs(moved[i])
        strongest = [m for m in np.argsort(-sizes)[:KERNELS] if sizes[m] >= 0.01 * sizes.max()]
        parts = [[int(m), float(f"{moved[i, m]:.3g}")] for m in strongest]
        rows.append([subject.labels[i], group, str(words[i]), truth, parts])
    data: dict[str, Any] = {"kernels": held.kernels, "rows": rows, "noun": subject.noun}
    if subject.binary:
        data["scores"] = [float(f"{value:.5g}") for value in subject.scores()]
        data["truth"] = subject.truth.astype(int).tolist()
    return data
