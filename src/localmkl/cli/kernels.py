"""The kernels for a data file: those that words ask for, or the default ones of `localmkl.kernels`."""

from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from localmkl._checks import listed
from localmkl._spelling import meant
from localmkl.cli.columns import as_read, numeric_names, word_names
from localmkl.cli.files import GRAMS, MATRIX, TABLE, Content
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
    unread : list of str
        Views that no kernel reads.
    """

    kernels: Any
    names: list[str] | None
    gate: Any
    content: Content
    unread: list[str] = field(default_factory=list)

    @property
    def said(self):
        """The kernels in words."""
        return f"{self.content.rows.n_kernels} of the file" if self.names is None else listed(self.names)


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
    from localmkl.kernels import default_kernels, short_names

    number = int(gate) if gate is not None and gate.strip().isdecimal() else None
    impute = None if impute == "none" else impute
    if content.kind == GRAMS:
        if spec is not None or gate is not None is number:
            raise Misuse("The kernels of the file are computed already; --gate may name one by its number.")
        chosen, n_kernels = Chosen("precomputed", None, None, content), content.rows.n_kernels
    else:
        content = content.used() if spec is None else content
        kernels = (
            default_kernels(content.rows, impute=impute) if spec is None else _made(content, spec, impute)
        )
        gates = [] if gate is None or number is not None else _made(content, gate, impute)
        if len(gates) > 1:
            raise Misuse(f"--gate must be one kernel, got {len(gates)}.")
        content, unread = _with_used(content, [*kernels, *gates])
        content, n_kernels = content.without_lonely()[0], len(kernels)
        chosen = Chosen(kernels, short_names(kernels), gates[0] if gates else None, content, unread)
    if number is None:
        return chosen
    if not 1 <= number <= n_kernels:
        raise Misuse(f"--gate must be the number of one of the {n_kernels} kernels, from 1, got {gate}.")
    return replace(chosen, gate=number - 1)


def _made(content, spec, impute):
    """Return the kernels that words ask for, each on the rows of its view."""
    kernels = []
    for wanted in parse_kernels(spec):
        view = wanted.parameters.get("view")
        part = content if content.parts is None and view is None else (content.parts or {}).get(view)
        if part is None:
            known = content.parts or {}
            raise ValueError(
                f"The kernel {wanted.word!r} must name its view as view=NAME, one of {listed(list(known))}, "
                f"got {'none' if view is None else repr(view)}{meant(view or '', known)}"
            )
        kernels += (_on_columns if part.kind == TABLE else _on_rows)(part, wanted, impute)
    return kernels


def _on_rows(content, wanted, impute):
    """Return kernels on sequences or on a sparse matrix, whose columns have no names."""
    from localmkl.kernels.alphabets import guess_alphabet

    on_numbers = wanted.is_vector or (content.kind == MATRIX and wanted.word == "tfidf")
    if on_numbers != (content.kind == MATRIX) or {"columns", "column"} & set(wanted.parameters):
        holds = "numbers" if content.kind == MATRIX else "sequences"
        raise ValueError(
            f"{str(content.path)!r} holds {holds} without names of columns, which the kernel {wanted.word!r} "
            "needs, or cannot read; choose another kernel."
        )
    return wanted.make(**({} if on_numbers else {"alphabet": guess_alphabet(content.rows)}))


def _on_columns(content, wanted, impute):
    """Return kernels on columns of a table."""
    from localmkl.kernels.alphabets import guess_alphabet

    frame, columns = content.rows, wanted.parameters.get("columns")
    if wanted.is_vector:
        words = wanted.word == "overlap"
        if columns in (None, "*"):
            names = [
                name
                for name in (word_names if words else numeric_names)(frame)
                if name not in content.left_out
            ]
        else:
            names = [name for pattern in columns.split(",") for name in _matching(content, wanted, pattern)]
        if not names:
            raise ValueError(
                f"{str(content.path)!r} has no columns for the kernel {wanted.word!r}; name some."
            )
        found = replace(wanted, parameters={**wanted.parameters, "columns": list(dict.fromkeys(names))})
        return found.make(standardize=True, impute="most_frequent" if words and impute else impute)
    text = frame.columns.difference(numeric_names(frame), sort=False).tolist()
    column = wanted.parameters.get("column", text[0] if len(text) == 1 else None)
    _matching(content, wanted, column or "column=NAME")
    found = replace(wanted, parameters={**wanted.parameters, "column": column})
    return found.make(alphabet=guess_alphabet(frame[column]))


def _matching(content, wanted, pattern):
    """Return the columns that a pattern names; raise if there is none."""
    known = content.rows.columns
    names = [pattern] if pattern in known else [name for name in known if fnmatchcase(name, pattern)]
    if not names:
        raise ValueError(
            f"{str(content.path)!r} has no column {pattern!r} for the kernel {wanted.word!r}; it has "
            f"{listed(known)}{meant(pattern, known)}"
        )
    return names


def _with_used(content, kernels):
    """Return what kernels read, alone and as they read it, and the views that none reads."""
    if content.kind == TABLE:
        from localmkl.kernels import columns_read

        return as_read(content, columns_read(kernels, list(content.rows.columns)), kernels), []
    if content.parts is None:
        return content, []
    used = {view: [one for one in kernels if one.view == view] for view in content.parts}
    parts = {view: _with_used(content.parts[view], own)[0] for view, own in used.items() if own}
    return content.with_parts(parts), [view for view, own in used.items() if not own]


def fitting_rows(piece, chosen):
    """Return the rows of a piece as those of the sample are, which kernels were chosen for."""
    if piece.kind != TABLE:
        return piece.rows
    kernels = [one for one in (*chosen.kernels, chosen.gate) if hasattr(one, "takes_text")]
    return as_read(piece, chosen.content.rows.columns, kernels).rows
