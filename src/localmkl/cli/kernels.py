"""The kernels for a data file: those that words ask for, or the default ones of `localmkl.kernels`."""

import re
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from localmkl._checks import listed
from localmkl._spelling import meant
from localmkl.cli.columns import as_read, numeric_names, word_names
from localmkl.cli.files import GRAMS, MATRIX, SEQUENCES, TABLE, Content
from localmkl.cli.voice import Misuse
from localmkl.cli.words import parse_kernels


@dataclass(frozen=True)
class Chosen:
    """The kernels for a file.

    Attributes
    ----------
    kernels : list of Kernel, or "precomputed"
    names : list of str, or None
        Short names of the kernels.
    gate : Kernel, int or None
        What the clusters are found in: a kernel of its own, or the number of one of the kernels.
    content : Content
        Of a table, only the columns that are used, numbers where kernels need numbers.
    said : str
        The kernels in words.
    unread : list of str
        Views that no kernel reads.
    """

    kernels: Any
    names: list[str] | None
    gate: Any
    content: Content
    said: str
    unread: list[str] = field(default_factory=list)


def choose_kernels(content, spec=None, gate=None, impute="median"):
    """Return the kernels that words ask for, or the default ones for what a file holds.

    Parameters
    ----------
    content : Content
    spec : str or None
    gate : str or None
        A kernel in words, or its number from one.
    impute : {"median", "mean", "none"}
        What gaps in columns of numbers are filled with.
    """
    number = None if gate is None else re.fullmatch(r"\s*([0-9]{1,9})\s*", gate)
    if content.kind == GRAMS:
        if spec is not None or (gate is not None and number is None):
            raise Misuse("The kernels of the file are computed already; --gate may name one by its number.")
        n_kernels = content.rows.n_kernels
        chosen = Chosen("precomputed", None, None, content, f"{n_kernels} kernel matrices of the file")
    else:
        chosen = _chosen(
            content, spec, gate if number is None else None, None if impute == "none" else impute
        )
        n_kernels = len(chosen.kernels)
    if number is None:
        return chosen
    if not 1 <= int(number[1]) <= n_kernels:
        raise Misuse(f"--gate must be the number of one of the {n_kernels} kernels, from 1, got {gate}.")
    return replace(chosen, gate=int(number[1]) - 1)


def _chosen(content, spec, gate, impute):
    """Return the kernels for tables, sequences, matrices, or several of them."""
    from localmkl.kernels import default_kernels, short_names

    if spec is None:
        content = content.used()
        kernels = default_kernels(content.rows, impute=impute)
    else:
        kernels = [kernel for wanted in parse_kernels(spec) for kernel in _make(content, wanted, impute)]
    gates = (
        []
        if gate is None
        else [one for wanted in parse_kernels(gate) for one in _make(content, wanted, impute)]
    )
    if len(gates) > 1:
        raise Misuse(f"--gate must be one kernel, got {len(gates)}.")
    content, unread = with_used(content, [*kernels, *gates])
    content, lonely = content.without_lonely()
    names = short_names(kernels)
    said = listed(names) + (f"; left out, in no view that is read: {listed(lonely)}" if lonely else "")
    said += f"; not read: {listed(unread)}" if unread else ""
    return Chosen(kernels, names, gates[0] if gates else None, content, said, unread)


def _make(content, wanted, impute):
    """Return the kernels that words ask for, on the rows of their view."""
    view = wanted.parameters.get("view")
    if content.parts is None and view is not None:
        raise ValueError(f"view= of the kernel {wanted.word!r} is for several files, got one.")
    part = content if content.parts is None else content.parts.get(view)
    if part is None:
        raise ValueError(
            f"The kernel {wanted.word!r} must name its view as view=NAME, one of "
            f"{listed(list(content.parts))}, got {view!r}{meant(view or '', content.parts)}"
        )
    return _on_columns(part, wanted, impute) if part.kind == TABLE else _on_rows(part, wanted)


def _on_rows(content, wanted):
    """Return kernels on sequences or on a sparse matrix, whose columns have no names."""
    from localmkl.kernels.alphabets import guess_alphabet

    if wanted.is_vector and content.kind == SEQUENCES:
        raise ValueError(f"{str(content.path)!r} holds sequences, but {wanted.word!r} needs numeric columns.")
    if content.kind == MATRIX and not (wanted.is_vector or wanted.word == "tfidf"):
        raise ValueError(f"{str(content.path)!r} holds numbers, but {wanted.word!r} needs sequences.")
    for name in ("columns", "column"):
        if name in wanted.parameters:
            raise ValueError(
                f"{str(content.path)!r} has no columns with names; leave out {name}= of the kernel "
                f"{wanted.word!r}."
            )
    return wanted.make(**({} if content.kind == MATRIX else {"alphabet": guess_alphabet(content.rows)}))


def _on_columns(content, wanted, impute):
    """Return kernels on columns of a table."""
    from localmkl.kernels.alphabets import guess_alphabet

    frame = content.rows
    if wanted.is_vector:
        fill = "most_frequent" if wanted.word == "overlap" and impute else impute
        found = replace(wanted, parameters={**wanted.parameters, "columns": _matching(content, wanted)})
        return found.make(standardize=True, impute=fill)
    column, what = wanted.parameters.get("column"), "texts" if wanted.word == "tfidf" else "sequences"
    text = frame.columns.difference(numeric_names(frame), sort=False).tolist()
    column = text[0] if column is None and len(text) == 1 else column
    if column not in frame.columns:
        came = "none" if column is None else repr(column)
        raise ValueError(
            f"The kernel {wanted.word!r} must name a column of {what} as column=NAME, got {came}; "
            f"{str(content.path)!r} has {listed(frame.columns)}{meant(column or '', frame.columns)}"
        )
    found = replace(wanted, parameters={**wanted.parameters, "column": column})
    return found.make(alphabet=guess_alphabet(frame[column]))


def _matching(content, wanted):
    """Return the columns that the patterns of a kernel name, each once; without patterns all it can read."""
    frame, patterns = content.rows, wanted.parameters.get("columns")
    if patterns in (None, "*"):
        names = word_names(frame) if wanted.word == "overlap" else numeric_names(frame)
        chosen = [name for name in names if name not in content.left_out]
        if not chosen:
            what = "columns of few different words" if wanted.word == "overlap" else "numeric columns"
            raise ValueError(
                f"{str(content.path)!r} has no {what} for the kernel {wanted.word!r}; name some as "
                "columns=NAMES."
            )
        return chosen
    found: dict[str, None] = {}
    for pattern in patterns.split(","):
        names = [name for name in frame.columns if fnmatchcase(name, pattern)]
        names = [pattern] if pattern in frame.columns else names
        if not names:
            raise ValueError(
                f"{str(content.path)!r} has no column {pattern!r} for the kernel {wanted.word!r}; "
                f"it has {listed(frame.columns)}{meant(pattern, frame.columns)}"
            )
        found |= dict.fromkeys(names)
    return list(found)


def with_used(content, kernels):
    """Return what kernels read, alone and as they read it, and the views that none reads."""
    if content.kind == TABLE:
        from localmkl.kernels.defaults import columns_read

        content = as_read(content, columns_read(kernels, list(content.rows.columns)), kernels)
        for kernel in kernels:
            if getattr(kernel, "columns", None) == list(content.rows.columns):
                kernel.set_params(columns=None)  # all there are: thousands of names need not be kept
        return content, []
    if content.parts is None:
        return content, []
    used = {view: [one for one in kernels if one.view == view] for view in content.parts}
    parts = {view: with_used(content.parts[view], own)[0] for view, own in used.items() if own}
    return content.with_parts(parts), [view for view, own in used.items() if not own]


def fitting_rows(piece, chosen):
    """Return the rows of a piece as those of the sample are, which kernels were chosen for."""
    if piece.kind != TABLE:
        return piece.rows
    kernels = [one for one in (*chosen.kernels, chosen.gate) if hasattr(one, "takes_text")]
    return as_read(piece, chosen.content.rows.columns, kernels).rows
