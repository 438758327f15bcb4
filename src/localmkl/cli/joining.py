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
from localmkl.cli.columns import as_word
from localmkl.cli.files import (
    GRAMS,
    MATRIX,
    OMICS,
    SEQUENCES,
    TABLE,
    VIEWS,
    Content,
    counted,
    has_labels,
    is_gap,
    kind_of,
    looked_at,
    read_rows,
    tidy,
    without_label,
)
from localmkl.cli.truth import with_gaps
from localmkl.cli.voice import Misuse
from localmkl.datasets.fasta import read_fasta, read_header_values, read_label_file
from localmkl.datasets.labels import as_labels
from localmkl.datasets.opening import OPENERS
from localmkl.datasets.tables import read_table

LABEL = "label"
"""Key of the labels in FASTA headers, unless told otherwise."""

ALONE = "X"
"""Name of the one view of an `.h5ad` file there; here it is called as the file."""

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
        if len(texts) > 1 and not path.suffix:
            raise Misuse(
                f"Files must be named with their endings, got {text!r}; write lists with commas, as 0.1,1,10"
                ", and names with spaces in quotes."
            )
        view = _stem(path) if named is None else named["view"].strip()
        if view in files:
            raise Misuse(
                f"Views must have different names, {str(files[view])!r} and {str(path)!r} are both {view!r}; "
                "give one another name, as NAME=FILE."
            )
        files[view] = path
    return files


def _stem(path):
    name = path.name
    if Path(name).suffix.lower() in OPENERS:
        name = Path(name).stem
    return Path(name).stem


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

    _check_options(files, asked)
    found = {view: part for name, path in files.items() for view, part in _read(name, path, asked).items()}
    for part in found.values():
        _check_names(part)
    names = list(dict.fromkeys(name for part in found.values() for name in part.names))
    labels, holder = _column_of("y", found, asked, labelled)
    groups, grouping = _column_of("groups", found, asked, labelled)
    parts = {view: part for view, part in found.items() if part.rows is not None}
    if not parts:
        raise ValueError(f"At least one file must hold more than names and labels, got {listed(files)}.")
    chosen, said = _samples(names, parts, labels, holder, labelled)
    if labelled and groups is not None:
        _check_grouped(chosen, groups, grouping, asked.groups)
    parts = {view: tidy(_restricted(part, chosen), asked) for view, part in parts.items()}
    numbers = {name: place for place, name in enumerate(chosen)}
    places = {view: [numbers[name] for name in part.names] for view, part in parts.items()}
    views = Views(
        {view: (part.rows, np.array(places[view], dtype=int)) for view, part in parts.items()},
        n_samples=len(chosen),
    )
    content = Content(
        next(iter(files.values())),
        VIEWS,
        views,
        _values(labels, chosen),
        np.array(chosen, dtype=object),
        header=asked.header,
        groups=None if groups is None else np.array([groups.get(name) for name in chosen], dtype=object),
        parts=parts,
        files=tuple(files.values()),
        said=(*_near(found), *said),
    )
    content = content.with_parts(parts)
    return looked_at(content) if labelled else content


def _check_options(files, asked):
    kinds = {kind_of(path) for path in files.values()}
    if GRAMS in kinds:
        raise Misuse("Gram files are not joined with others: their rows have no names; give one alone.")
    if TABLE in kinds and asked.names is None:
        raise Misuse(
            "Several files are views of the same samples, joined by the names of their rows; give these as "
            "--names COLUMN, or put rows of other samples into one file."
        )
    if asked.variable is not None:
        raise Misuse("--variable is for Gram files.")
    if asked.negative is not None:
        raise Misuse("--negative is for two FASTA files alone.")


def _read(view, path, asked):
    """Return the contents of a file by view; labels and groups as they are written, None without."""
    kind = kind_of(path)
    if kind == TABLE:
        return {view: _read_table(path, asked)}
    if kind == SEQUENCES:
        records = read_fasta(path, unique_names=False)
        y, groups = (
            None if key is None else _if_any(read_header_values(path, key))
            for key in (asked.target or LABEL, asked.groups)
        )
        return {view: Content(path, SEQUENCES, records.sequences, y, records.names, groups=groups)}
    if kind == MATRIX:
        from localmkl.datasets import read_matrix

        rows, names = read_matrix(path)
        if names is None:
            raise ValueError(
                f"{str(path)!r} must have the names of its rows beside it, one a line, in a file of its name "
                "that ends in .names, got none."
            )
        return {view: Content(path, MATRIX, rows, None, names)}
    return _read_omics(view, path, asked)


def _read_table(path, asked):
    text = [name for name in (asked.target, asked.names, asked.groups) if name is not None]
    frame = read_table(path, header=asked.header, text=text).frame
    if asked.names not in frame.columns:
        raise ValueError(
            f"{str(path)!r} must have the column {asked.names!r} of --names, it has {listed(frame.columns)}"
            f"{meant(asked.names, frame.columns)}"
        )
    return _set_apart(Content(path, TABLE, frame, None, header=asked.header), frame.pop(asked.names), asked)


def _set_apart(content, names, asked):
    """Return a table with labels, groups and names beside its columns; rows None if no column is left."""
    frame = content.rows
    apart = {
        what: None if column not in frame.columns else _as_written(frame.pop(column))
        for what, column in (("y", asked.target), ("groups", asked.groups))
    }
    names = np.array([as_word(name) for name in names], dtype=object)
    return replace(content, rows=frame if frame.shape[1] else None, names=names, **apart)


def _as_written(column):
    values = np.empty(len(column), dtype=object)
    values[:] = [None if is_gap(value) else value for value in column.tolist()]
    return values


def _if_any(values):
    return None if all(value is None for value in values) else values


def _read_omics(view, path, asked):
    """Return the views of an AnnData or MuData file; of `obs`, the target and the groups alone."""
    from localmkl.datasets import read_views

    views, obs, names = read_views(path)
    import pandas as pd  # the reader is there, and brings it

    found, known = {}, tuple(obs.columns.map(str))
    for own in views.names:
        rows, columns = views.rows(own), views.columns(own)
        part = Content(path, MATRIX, rows, None, names[views.present(own)], columns=columns, obs=known)
        if isinstance(rows, np.ndarray):
            part = replace(part, kind=TABLE, rows=pd.DataFrame(rows, columns=columns), columns=None)
        found[view if own == ALONE else own] = part
    wanted = [name for name in (asked.target, asked.groups) if name is not None and name in obs.columns]
    if wanted:
        own = _set_apart(Content(path, TABLE, obs[wanted].reset_index(drop=True), None), names, asked)
        found[f"obs of {path.name}"] = own
    return found


def _check_names(part):
    """Raise unless every row of a file has a name of its own."""
    without = [row for row, name in enumerate(part.names) if name is None or name == ""]
    if without:
        place, _ = part.place(without[0], None)
        raise ValueError(f"{str(part.path)!r}, {place}: every row must have a name, got none.")
    twice = [name for name, count in Counter(part.names.tolist()).items() if count > 1]
    if twice:
        raise ValueError(
            f"{str(part.path)!r}: every name must come once, got {listed(twice)} several times; keep one row "
            "of each."
        )


def _column_of(what, parts, asked, labelled):
    """Return labels or groups by the names of samples, as they are written, and the part that has them."""
    headers = all(part.kind == SEQUENCES for part in parts.values())
    target = asked.target or (LABEL if headers else None)
    option, name = {"y": ("--target", target), "groups": ("--groups", asked.groups)}[what]
    if what == "y" and asked.labels is not None:
        return read_label_file(asked.labels), None
    if name is None:
        if what == "y" and labelled:
            raise Misuse(f"--target must name a column of one of the files; {_columns(parts)}.")
        return None, None
    holders = [part for part in parts.values() if getattr(part, what) is not None]
    if not holders:
        if not labelled and name not in asked.insisted:
            return None, None
        if headers and what == "y":
            raise Misuse(
                f"One of the files must have {name}=... in its headers, none has; of other samples, put all "
                "rows into one file, or name two classes by --positive and --negative."
            )
        raise ValueError(
            f"{option} must be in one of the files, none has {name!r}; {_columns(parts)}{_meant(name, parts)}"
        )
    if len(holders) > 1:
        raise ValueError(
            f"{option} must be in one file, {name!r} is in {listed([part.path for part in holders])}; keep "
            "one."
        )
    (holder,) = holders
    values = getattr(holder, what)
    without = [row for row, value in enumerate(values) if value is None]
    if what == "y" and labelled and not has_labels(len(without), len(values)):
        raise ValueError(_no_value(holder, holder.names[without[0]], name, option))
    pairs = zip(holder.names, values, strict=True)
    return {sample: value for sample, value in pairs if value is not None}, holder


def _check_grouped(chosen, groups, holder, name):
    """Raise unless every sample that is used has a group."""
    for sample in chosen:
        if sample not in groups:
            raise ValueError(_no_value(holder, sample, name, "--groups"))


def _no_value(holder, sample, name, option):
    """Return what is wrong with a sample that has no label or group: the line, if it has one, says where."""
    rows = np.flatnonzero(holder.names == sample)
    place = holder.place(rows[0], None)[0] if len(rows) else ""
    place = place if place.startswith("line ") else f"sample {sample!r}"
    return (
        f"{str(holder.path)!r}, {place}: must have a value in {name!r} of {option}, got none; fill it in, or "
        "leave the row out."
    )


def _columns(parts):
    said = {}
    for path, (columns, within) in _possible(parts).items():
        said[path] = f"{str(path)!r} has {listed(columns) or 'no columns'}{within}"
    return "; ".join(said.values()) or "none is a table"


def _possible(parts):
    """Return the columns that may be target or groups, by file, and where they are if not in its rows."""
    found = {part.path: (part.obs, " in obs") for part in parts.values() if part.obs is not None}
    tables = [part for part in parts.values() if part.kind == TABLE and part.rows is not None]
    return {part.path: (tuple(part.rows.columns), "") for part in tables} | found


def _meant(name, parts):
    """Do as `meant`, among all columns; of "rna:label", "label" will do too."""
    columns = [column for own, _ in _possible(parts).values() for column in own]
    short = {column.rpartition(":")[2]: column for column in reversed(columns)}
    said = "." if name in short else meant(name, columns)
    near = [column for own, column in short.items() if said == "." and meant(name, [own]) != "."]
    return said if not near else f"; did you mean {short.get(name, near[0])!r}?"


def _samples(names, parts, labels, holder, labelled):
    """Return the names of the samples to use, and what is said of those that are not."""
    seen = {name for part in parts.values() for name in part.names}
    lonely = [name for name in names if name not in seen]
    said = [f"Left out, in no file but that of the labels: {counted(lonely)}."] if lonely else []
    chosen = [name for name in names if name in seen]
    if labels is None or not labelled:
        return chosen, said
    unlabelled = [name for name in chosen if name not in labels]
    chosen = [name for name in chosen if name in labels]
    if not chosen:
        where = "the file of --labels" if holder is None else repr(str(holder.path))
        raise ValueError(
            f"No sample has both rows and a label: {where} names {listed(list(labels))}, other files "
            f"{listed(unlabelled)}; names must be equal letter by letter."
        )
    strangers = [part for part in parts.values() if not set(part.names) & set(chosen)]
    if strangers:
        path, names = strangers[0].path, listed(strangers[0].names, 3)
        raise ValueError(
            f"No row of {str(path)!r} ({names}) belongs to a sample with a label ({listed(chosen, 3)}); "
            "names must be equal letter by letter, and rows of other samples are put into one file."
        )
    return chosen, said + without_label(unlabelled)


def _restricted(part, chosen):
    """Return a view with the rows of some samples alone."""
    from localmkl.kernels.stack import take_rows

    wanted = set(chosen)
    rows = np.array([row for row, name in enumerate(part.names) if name in wanted], dtype=int)
    table = take_rows(part.rows, rows)
    table = table.reset_index(drop=True) if hasattr(table, "iloc") else table
    return replace(part, rows=table, names=part.names[rows], y=None, groups=None, numbers=rows)


def _values(labels, chosen):
    """Return the labels of samples, None where one has none."""
    has = np.array([labels is not None and name in labels for name in chosen], dtype=bool)
    if not has.any():
        return None
    return with_gaps(as_labels([labels[name] for name in chosen if name in labels]), has)


def _near(parts):
    """Return a sentence on names that differ by case, blanks, signs or leading zeros alone."""
    spellings: dict[str, dict] = {}
    for part in parts.values():
        for name in part.names:
            spellings.setdefault(_folded(name), {}).setdefault(name, part.path)
    near = [list(found.items()) for found in spellings.values() if len(found) > 1]
    near = [pair for pair in near if len({path for _, path in pair}) > 1]
    if not near:
        return []
    (one, first), (other, second), *_ = near[0]
    more = f", and {len(near) - 1} such pairs more" if len(near) > 1 else ""
    return [
        f"{one!r} of {str(first)!r} and {other!r} of {str(second)!r} are taken for different samples{more}; "
        "write them one way if they are the same."
    ]


def _folded(name):
    return re.sub(r"(?<![0-9])0+(?=[0-9])", "", re.sub(r"[\W_]+", "", name.casefold()))
