"""Several files, each a view of the same samples: ``fit rna.csv clinic.csv sites.fa --names patient``.

Rows are one sample where their names are equal, letter by letter; a sample that a file does not name lacks
its view. Target and groups stand in one of the files, which is no view if it holds nothing else.
"""

import os
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from localmkl._checks import listed
from localmkl._spelling import meant
from localmkl.cli.files import (
    GRAMS,
    MATRIX,
    OMICS,
    SEQUENCES,
    TABLE,
    VIEWS,
    Content,
    contents,
    counted,
    kind_of,
    looked_at,
    read_rows,
    written,
)
from localmkl.cli.voice import Misuse
from localmkl.datasets.fasta import read_label_file
from localmkl.datasets.labels import as_labels, with_gaps
from localmkl.datasets.opening import OPENERS

_NAMED = re.compile(r"(?P<view>[^=/\\]+)=(?P<path>.+)")


def named_files(texts):
    """Return files by the names of their views: ``NAME=FILE``, or ``FILE``, then its name without ending.

    Examples
    --------
    >>> named_files(["rna.csv.gz", "clinic=data/patients.tsv"])
    {'rna': PosixPath('rna.csv.gz'), 'clinic': PosixPath('data/patients.tsv')}
    """
    files: dict[str, Path] = {}
    for text in map(str, texts):
        named = None if os.path.exists(text) else _NAMED.fullmatch(text)
        path = Path(text if named is None else named["path"])
        stem = Path(path.stem if path.suffix.lower() in OPENERS else path.name).stem
        view = stem if named is None else named["view"].strip()
        if view in files:
            raise Misuse(
                f"Views must have different names, {str(files[view])!r} and {str(path)!r} are both {view!r}; "
                "give one another name, as NAME=FILE."
            )
        files[view] = path
    return files


def are_views(files):
    """Whether files are views to be joined, or one file that holds views."""
    return len(files) > 1 or any(kind_of(path) in (MATRIX, OMICS) for path in files.values())


def read_any(texts, asked):
    """Return the content of one file or several, as they are named, with the labels that are there."""
    files = named_files(texts)
    if are_views(files):
        return looked_at(read_joined(files, asked, labelled=False))
    (path,) = files.values()
    return looked_at(read_rows(path, asked))


def read_joined(files, asked, *, labelled):
    """Return the content of files joined by the names of their rows.

    Parameters
    ----------
    files : dict of str to Path
        By the names of the views.
    asked : Asked
    labelled : bool
        Whether samples without labels are left out, and said.
    """
    from localmkl.views import Views

    kinds = {kind_of(path) for path in files.values()}
    if GRAMS in kinds or asked.variable is not None or asked.negative is not None:
        raise Misuse("Gram files, --variable and --negative do not go with other files; give one file alone.")
    if TABLE in kinds and asked.names is None:
        raise Misuse(
            "Several files are views of the same samples, joined by the names of their rows; give these as "
            "--names COLUMN, or put rows of other samples into one file."
        )
    found = {view: part for name, path in files.items() for view, part in _read(name, path, asked).items()}
    target = asked.target or ("label" if kinds == {SEQUENCES} else None)
    if asked.labels is not None:
        labels = read_label_file(asked.labels)
    else:
        labels = _by_name("y", "--target", target, found, labelled or target in asked.insisted)
    groups = _by_name("groups", "--groups", asked.groups, found, labelled and asked.groups is not None)
    parts = {view: part for view, part in found.items() if part.rows is not None}
    if not parts:
        raise ValueError(f"At least one file must hold more than names and labels, got {listed(files)}.")
    numbers, said = _samples(found, parts, labels if labelled else None)
    without = [name for name in numbers if labelled and asked.groups is not None and name not in groups]
    if without:
        raise ValueError(f"Every sample must have a group, {asked.groups!r} has none of {counted(without)}.")
    views = {}
    for view, part in parts.items():
        rows = np.array([row for row, name in enumerate(part.names) if name in numbers], dtype=int)
        parts[view] = replace(part.take(rows), y=None, groups=None)
        views[view] = parts[view].rows, np.array([numbers[name] for name in part.names[rows]], dtype=int)
    has = np.array([name in labels for name in numbers], dtype=bool)
    y = as_labels([labels[name] for name in numbers if name in labels]) if has.any() else None
    content = Content(
        next(iter(files.values())),
        VIEWS,
        Views(views, n_samples=len(numbers)),
        with_gaps(y, has),
        np.array(list(numbers), dtype=object),
        header=asked.header,
        groups=np.array([groups.get(name) for name in numbers], dtype=object) if groups else None,
        parts=parts,
        files=tuple(files.values()),
        said=tuple(said),
    ).with_parts(parts)
    return looked_at(content) if labelled else content


def _read(view, path, asked):
    """Return the contents of a file by view; rows None where a table holds only labels, groups and names."""
    kind = kind_of(path)
    if kind == OMICS:
        found = _read_omics(view, path, asked)
    elif kind == MATRIX:
        from localmkl.datasets import read_matrix

        rows, names = read_matrix(path)
        if names is None:
            raise ValueError(
                f"{str(path)!r} must have the names of its rows beside it, one a line, in a file of its name "
                "that ends in .names, got none."
            )
        found = {view: Content(path, MATRIX, rows, None, names)}
    else:
        insisted = frozenset([asked.names])
        (part,) = contents(path, replace(asked, labels=None, insisted=insisted), labelled=False)
        found = {view: replace(part, rows=part.rows if np.size(part.rows) else None)}
    for part in found.values():
        counts = Counter(part.names.tolist())
        wrong = [name for name, count in counts.items() if count > 1 or not name]
        if wrong:
            place, _ = part.place(part.names.tolist().index(wrong[0]), None)
            raise ValueError(
                f"{str(path)!r}, {place}: every row must have a name, which comes once, got {listed(wrong)}; "
                "keep one row of each."
            )
    return found


def _read_omics(view, path, asked):
    """Return the views of an AnnData or MuData file; of `obs`, the target and the groups alone."""
    from localmkl.datasets import read_views

    views, obs, names = read_views(path)
    import pandas as pd  # the reader is there, and brings it

    found = {}
    for own in views.names:
        rows, columns = views.rows(own), views.columns(own)
        part = Content(path, MATRIX, rows, None, names[views.present(own)], columns=columns)
        if isinstance(rows, np.ndarray):
            part = replace(part, kind=TABLE, rows=pd.DataFrame(rows, columns=columns), columns=None)
        found[view if own == "X" else own] = part  # the one view of an .h5ad file is called as the file
    named = {"y": asked.target, "groups": asked.groups}
    apart = {what: written(obs[name]) for what, name in named.items() if name in obs.columns}
    known = Content(path, TABLE, None, None, names, columns=list(map(str, obs.columns)))
    return {**found, f"obs of {path.name}": replace(known, **apart)}


def _by_name(what, option, name, parts, needed):
    """Return labels or groups by the names of samples, as they are written, empty where there are none."""
    found: dict = {}
    for part in parts.values():
        values = [] if getattr(part, what) is None else getattr(part, what).tolist()
        own = {sample: value for sample, value in zip(part.names, values, strict=False) if value is not None}
        if found and own:
            raise ValueError(f"{option} must name a column of one file, {name!r} is in several; keep one.")
        found |= own
    if found or not needed:
        return found
    columns = {
        str(part.path): list(part.columns if part.rows is None else getattr(part.rows, "columns", ()))
        for part in parts.values()
    }
    shown = "; ".join(f"{path!r} has {listed(names) or 'no columns'}" for path, names in columns.items())
    hint = "." if name is None else meant(name, [one for names in columns.values() for one in names])
    raise (Misuse if name is None else ValueError)(
        f"{option} must name a column of one of the files, none has {name!r}; {shown}{hint}"
    )


def _samples(found, parts, labels):
    """Return the samples to use, by name with their numbers, and what is said of those that are not."""
    names = dict.fromkeys(name for part in found.values() for name in part.names)
    seen = {name for part in parts.values() for name in part.names}
    lonely = [name for name in names if name not in seen]
    without = [name for name in names if labels is not None and name in seen and name not in labels]
    chosen = [name for name in names if name in seen and (labels is None or name in labels)]
    for part in parts.values():
        if set(chosen).isdisjoint(part.names):
            raise ValueError(
                f"No row of {str(part.path)!r} ({listed(part.names, 3)}) belongs to a sample with a label "
                f"({listed(labels or (), 3)}); names must be equal letter by letter, and rows of other "
                "samples are put into one file."
            )
    said = [f"Left out, in no file but that of the labels: {counted(lonely)}."] if lonely else []
    said += [f"Left out, without a label: {counted(without)}."] if without else []
    return {name: number for number, name in enumerate(chosen)}, said
