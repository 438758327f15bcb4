"""Sequences from FASTA files, with labels from headers, a mapping or a file of labels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from localmkl._types import Array, FilePath, MaybeNone
from localmkl.datasets.labels import as_labels, is_label
from localmkl.datasets.opening import check_room, check_unique, quoted, read_text, text_lines


class SequenceData(NamedTuple):
    """Sequences with their labels.

    Attributes
    ----------
    sequences : ndarray of str, shape (n_samples,)
    y : ndarray of shape (n_samples,), or None without labels
    names : ndarray of str, shape (n_samples,)
    """

    sequences: np.ndarray
    y: Array | MaybeNone
    names: np.ndarray


class Records(NamedTuple):
    """Records of a FASTA file.

    Attributes
    ----------
    headers, lines, names : list
        Their headers, the lines these stand in, and the first words of them.
    sequences : list of str
    """

    headers: list[str]
    lines: list[int]
    names: list[str]
    sequences: list[str]


def read_fasta(path: FilePath, *, labels: Mapping[str, Any] | FilePath | None = None) -> SequenceData:
    r"""Read sequences from a FASTA file, plain or compressed (.gz, .bz2, .xz).

    Parameters
    ----------
    path : str or path-like
        Sequences may run over several lines. A record's name is the first word of its header.
    labels : "header", "header:KEY", mapping, str or path-like, optional
        ``"header"`` takes ``label=...`` from each header, ``"header:KEY"`` takes ``KEY=...``; a mapping goes
        from names to labels; a file has one name and one label a line, between them a tab, a comma or blanks.
        Labels that are all whole numbers become integers, those that are all plain numbers floats, unless two
        that are written differently (1 and 01) became one.

    Returns
    -------
    SequenceData
        Named tuple (sequences, y, names); y is None without `labels`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "sites.fa")
    ...     _ = path.write_text(">a label=1\nACG\nT\n>b label=-1\nACCT\n")
    ...     data = read_fasta(path, labels="header")
    >>> data.sequences.tolist(), data.y.tolist(), data.names.tolist()
    (['ACGT', 'ACCT'], [1, -1], ['a', 'b'])
    """
    records = next(fasta_pieces(path))
    values = [] if labels is None else written_labels(path, labels, records)
    if None in values:
        row = values.index(None)
        raise ValueError(
            f"{quoted(path)}, line {records.lines[row]}: record {records.names[row]!r} must have a label "
            f"({labels if isinstance(labels, str) else 'in `labels`'}), it has none."
        )
    y = None if labels is None else as_labels(values)
    sequences, names = (np.array(part, dtype=object) for part in (records.sequences, records.names))
    return SequenceData(sequences, y, names)


def fasta_pieces(path: FilePath, letters: int | None = None) -> Iterator[Records]:
    """Yield the records of a FASTA file in pieces of at least so many letters; by default all at once."""
    if letters is None:
        check_room(path)
    piece, size = [], 0
    with closing(text_lines(path)) as lines:
        for record in _records(path, lines):
            piece.append(record)
            size += len(record[-1])
            if letters is not None and size >= letters:
                yield Records(*map(list, zip(*piece, strict=True)))
                piece, size = [], 0
    if piece:
        yield Records(*map(list, zip(*piece, strict=True)))


def _records(path: FilePath, lines: Iterable[str]) -> Iterator[tuple[str, int, str, str]]:
    """Yield header, line, name and sequence of each record in the lines of a FASTA file."""
    header, start = None, 0
    parts: list[str] = []
    for number, line in enumerate(lines, start=1):
        if line.startswith(">"):
            if header is not None:
                yield _record(path, header, start, parts)
            header, start, parts = line[1:].strip(), number, []
        elif not line or line.startswith(";") or line.isspace():
            continue
        elif header is None:
            raise ValueError(
                f"{quoted(path)}, line {number}: must start with a header, a line that begins with '>', "
                f"got {line[:20].rstrip()!r}."
            )
        else:
            parts.append(line)
    if header is None:
        raise ValueError(f"{quoted(path)} must hold FASTA records, got none.")
    yield _record(path, header, start, parts)


def _record(path: FilePath, header: str, line: int, parts: list[str]) -> tuple[str, int, str, str]:
    sequence = "".join("".join(parts).split())
    if not sequence:
        raise ValueError(f"{quoted(path)}, line {line}: record {header!r} must have a sequence, got none.")
    return header, line, (header.split(maxsplit=1) or [""])[0], sequence


def header_values(key: str, headers: Sequence[str]) -> list[str | None]:
    """Return what stands after ``KEY=`` in each header, None where it does not."""
    pattern = re.compile(rf"(?<!\w){re.escape(key)}\s*=\s*([^\s,;|]+)")
    found = [pattern.search(header) for header in headers]
    return [None if match is None else match[1] for match in found]


def written_labels(path: FilePath, labels: Mapping[str, Any] | FilePath, records: Records) -> list[Any]:
    """Return the label of each record as it is written, None where it has none."""
    if isinstance(labels, str) and labels.partition(":")[0] == "header":
        values = header_values(labels.partition(":")[2] or "label", records.headers)
    else:
        check_unique(path, dict(zip(records.lines, records.names, strict=True)))
        given = labels if isinstance(labels, Mapping) else read_label_file(Path(labels))
        values = [given.get(name) for name in records.names]
    return [value if is_label(value) else None for value in values]


def read_label_file(path: FilePath) -> dict[str, str]:
    """Return the labels of a file with a name and a label on each line, by name."""
    lines: dict[int, str] = {}
    labels: dict[str, str] = {}
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        fields = re.split(r"\s*[\t,]\s*" if re.search(r"[\t,]", line) else r"\s+", line.strip())
        if len(fields) != 2:
            raise ValueError(
                f"{quoted(path)}, line {number}: must hold a name and a label, got {len(fields)} fields."
            )
        lines[number], labels[fields[0]] = fields
    check_unique(path, lines)
    if not labels:
        raise ValueError(f"{quoted(path)} must hold a name and a label on each line, got an empty file.")
    return labels
