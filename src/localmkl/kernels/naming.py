"""Words for kernels, and short names for those of a list."""

from __future__ import annotations

import re
from collections.abc import Sequence
from inspect import signature
from typing import Any

import numpy as np

from localmkl import kernels as known
from localmkl._checks import listed
from localmkl._spelling import meant
from localmkl.kernels import KERNEL_WORDS
from localmkl.kernels.vectors import Kernel, VectorKernel

NAMED = 3
"""Up to this many columns without a common name are named one by one."""

_SEPARATOR = re.compile(r"[_.:/| -]")
_LETTERS = re.compile(r"[^\W\d_]+(?=[\W\d_])")


def short_names(kernels: Sequence[Any]) -> list[str]:
    """Return a short name for each of some kernels: word, parameters in which they differ, columns, view.

    A kernel on one column is called by the column, and one on columns with like names by what they share.

    Parameters
    ----------
    kernels : list of Kernel or callable

    Returns
    -------
    list of str
        All different.

    Examples
    --------
    >>> from localmkl.kernels import RBF, Linear, Spectrum, WeightedDegree
    >>> short_names([Linear(), RBF(factor=0.5), RBF(), RBF(columns=["age"])])
    ['linear', 'rbf 0.5', 'rbf 1', 'age']
    >>> short_names([WeightedDegree(1), WeightedDegree(2), WeightedDegree(2, shift=5), Spectrum(3)])
    ['wd 1', 'wd 2', 'wd 2 shift 5', 'spectrum']
    """
    views = [getattr(kernel, "view", None) for kernel in kernels]
    names = {}
    for view in dict.fromkeys(views):
        members = [m for m, own in enumerate(views) if own == view]
        for m, name in zip(members, _names_in_view([kernels[m] for m in members]), strict=True):
            names[m] = f"{view}: {name}" if len(set(views)) > 1 and view is not None else name
    found = [names[m] for m in range(len(kernels))]
    return [f"{name} ({m + 1})" if found.count(name) > 1 else name for m, name in enumerate(found)]


def _names_in_view(kernels: Sequence[Any]) -> list[str]:
    """Return the names of kernels of one view, not all different where kernels are the same."""
    inner = [getattr(kernel, "kernel", kernel) for kernel in kernels]
    own = [one.get_params(deep=False) if isinstance(one, Kernel) else {} for one in inner]
    columns = [_columns_of(params) for params in own]
    numeric = [read for one, read in zip(inner, columns, strict=True) if isinstance(one, VectorKernel)]
    every = [] if [] in numeric else {name for read in numeric for name in read}
    names = []
    for one, params, read in zip(inner, own, columns, strict=True):
        like = [m for m, other in enumerate(inner) if type(other) is type(one) and columns[m] == read]
        word = " ".join([_word(one), *_differing(type(one), params, [own[m] for m in like])])
        where = "" if not read or (len(read) > 1 and set(read) == every) else _shared_name(read)
        lone = len(read) == 1 and columns.count(read) == 1
        names.append(where if lone else f"{where} ({word})" if where else word)
    return names


def _word(kernel: Any) -> str:
    """Return the word of a kernel in `KERNEL_WORDS`, else the name of its class or function."""
    kind = type(kernel).__name__
    words = {name: word for word, (name, _) in KERNEL_WORDS.items()}
    function = getattr(getattr(kernel, "function", kernel), "__name__", kind)
    return words.get(kind, kind if isinstance(kernel, Kernel) and kind != "CallableKernel" else function)


def _columns_of(params: dict[str, Any]) -> list[str]:
    """Return what the columns are called that a kernel of some parameters names; a slice is one name."""
    columns = params.get("columns", params.get("column"))
    if columns is None:
        return []
    if isinstance(columns, slice):
        return [":".join("" if end is None else str(end) for end in (columns.start, columns.stop))]
    return [str(name) for name in (columns if isinstance(columns, list | tuple | np.ndarray) else [columns])]


def _differing(kind: type, params: dict[str, Any], alike: list[dict[str, Any]]) -> list[str]:
    """Return the parameters in which kernels of one kind differ, the main one without its name."""
    main = dict(KERNEL_WORDS.values()).get(kind.__name__)
    found: list[str] = []
    for name, value in params.items():
        if name in ("columns", "column", "view") or len({repr(other[name]) for other in alike}) == 1:
            continue
        text = f"{value:.4g}" if isinstance(value, float) else str(value)
        if name == main:
            found.insert(0, text)
        elif value != signature(kind).parameters[name].default:
            found.append(f"{name} {text}")
    return found


def _shared_name(texts: list[str]) -> str:
    """Return the name of some columns: what their names begin or end with, else the names."""
    ends = [{*name_ends(text), *name_ends(text, letters=True)} for text in texts]
    shared = set.intersection(*ends) if len(texts) > 1 else set()
    if shared:
        side, part = max(shared, key=lambda end: len(end[1]))
        return f"{part}*" if side == "first" else f"*{part}"
    return ", ".join(texts) if len(texts) <= NAMED else f"{texts[0]} ... {texts[-1]}"


def named_kernels(kernels: Any) -> Any:
    """Return a list with words such as "linear" replaced by kernels with default parameters."""
    if not isinstance(kernels, list | tuple):
        return kernels
    return [_kernel_of(one) if isinstance(one, str) else one for one in kernels]


def _kernel_of(word: str) -> Kernel:
    if word not in KERNEL_WORDS:
        raise ValueError(
            f"A kernel named by a word must be one of {listed(list(KERNEL_WORDS))}, got {word!r}"
            f"{meant(word, KERNEL_WORDS)}"
        )
    kernel: Kernel = getattr(known, KERNEL_WORDS[word][0])()
    return kernel


def columns_read(kernels: Sequence[Any], columns: Sequence[Any]) -> list[Any]:
    """Return those of some columns that kernels read.

    Parameters
    ----------
    kernels : list of Kernel
    columns : sequence
        Of the data frame that they are fitted to.

    Returns
    -------
    list
        In the order of `columns`.

    Examples
    --------
    >>> from localmkl.kernels import RBF, TfIdf
    >>> columns_read([RBF(columns=["age"]), TfIdf(column="notes")], ["age", "sex", "notes"])
    ['age', 'notes']
    """
    names, read = list(columns), set()
    for kernel in kernels:
        params = kernel.get_params(deep=False)
        given: Any = params.get("columns", params.get("column"))
        if given is None or isinstance(given, slice):
            given = names if given is None else names[given]
        given = given if isinstance(given, list | tuple | np.ndarray) else [given]
        read |= {names[one] if isinstance(one, int) and one not in names else one for one in given}
    return [name for name in names if name in read]


def name_ends(name: str, *, letters: bool = False) -> list[tuple[str, str]]:
    """Return the first and the last part of a name, if they have letters; or the letters it begins with.

    Examples
    --------
    >>> name_ends("mean_radius"), name_ends("cg0012", letters=True)
    ([('first', 'mean_'), ('last', '_radius')], [('first', 'cg')])
    """
    if letters:
        return [("first", found[0])] if (found := _LETTERS.match(name)) else []
    between = list(_SEPARATOR.finditer(name))
    ends = [("first", name[: between[0].end()]), ("last", name[between[-1].start() :])] if between else []
    return [(side, part) for side, part in ends if part != name and any(map(str.isalpha, part))]
