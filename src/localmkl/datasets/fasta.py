"""Sequences from FASTA files, with labels from headers, a mapping or a file of labels.

Whatever is wrong is said with the file and the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from localmkl._types import Array, FilePath, MaybeNone
from localmkl.datasets.labels import MISSING, as_labels
from localmkl.datasets.opening import quoted, read_text, text_lines

Record: TypeAlias = tuple[str, int, str]
"""A header, its line and the sequence below it."""

HEADER = "header"


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


def read_fasta(
    path: FilePath,
    *,
    labels: Mapping[str, Any] | FilePath | None = None,
    alphabet: str | None = None,
    equal_length: bool = False,
    unique_names: bool = True,
) -> SequenceData:
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
    alphabet : {"dna", "rna", "protein"} or str, optional
        Refuse letters that are neither in it nor ambiguous.
    equal_length : bool, default=False
        Refuse sequences of other lengths than the first.
    unique_names : bool, default=True
        Refuse names that come twice.

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
    path = Path(path)
    headers, lines, sequences = _fasta_records(path)
    names = _names_in(headers)
    if equal_length:
        _check_lengths(path, lines, names, sequences)
    if alphabet is not None:
        _check_letters(path, lines, names, sequences, alphabet)
    if unique_names:
        _check_unique(path, lines, names, "rename a record, or pass `unique_names=False`")
    y = None if labels is None else _find_labels(path, labels, headers, lines, names)
    return SequenceData(np.array(sequences, dtype=object), y, np.array(names, dtype=object))


def read_header_values(path: FilePath, key: str) -> Array:
    """Return what stands after ``KEY=`` in each header of a FASTA file, None where it does not.

    Returns
    -------
    ndarray of str or None, shape (n_samples,)
    """
    return np.array(header_values(key, _fasta_records(Path(path))[0]), dtype=object)


def header_values(key: str, headers: Sequence[str]) -> list[str | None]:
    """Return what stands after ``KEY=`` in each header, None where it does not."""
    pattern = re.compile(rf"(?<!\w){re.escape(key)}\s*=\s*([^\s,;|]+)")
    found = [pattern.search(header) for header in headers]
    return [None if match is None else match[1] for match in found]


def _fasta_records(path: FilePath) -> tuple[tuple[str, ...], tuple[int, ...], tuple[str, ...]]:
    """Return headers, their line numbers and the sequences."""
    text = read_text(path)
    if not text.strip():
        raise ValueError(f"{quoted(path)} must hold FASTA records, got an empty file.")
    headers, lines, sequences = zip(*_records(path, text.split("\n")), strict=True)
    return headers, lines, sequences


def fasta_pieces(path: FilePath, letters: int) -> Iterator[tuple[list[str], list[int], list[str], Array]]:
    """Yield the records of a FASTA file in pieces of at least so many letters.

    Yields
    ------
    headers, lines, names : list
        Their headers, the lines these stand in, and the first words of them.
    sequences : ndarray of str
    """
    piece, size = [], 0
    with closing(text_lines(path)) as lines:
        for record in _records(Path(path), lines):
            piece.append(record)
            size += len(record[2])
            if size >= letters:
                yield _columns_of(piece)
                piece, size = [], 0
    if piece:
        yield _columns_of(piece)


def _columns_of(piece: list[Record]) -> tuple[list[str], list[int], list[str], Array]:
    headers, lines, sequences = map(list, zip(*piece, strict=True))
    return headers, lines, _names_in(headers), np.array(sequences, dtype=object)


def _names_in(headers: Sequence[str]) -> list[str]:
    return [(header.split(maxsplit=1) or [""])[0] for header in headers]


def _records(path: FilePath, lines: Iterable[str]) -> Iterator[Record]:
    """Yield header, line and sequence of each record in the lines of a FASTA file."""
    header, start = None, 0
    parts: list[str] = []
    for number, line in enumerate(lines, start=1):
        if line.startswith(">"):
            if header is not None:
                yield header, start, _joined(path, start, header, parts)
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
        raise ValueError(f"{quoted(path)} must hold FASTA records, got comments alone.")
    yield header, start, _joined(path, start, header, parts)


def _joined(path: FilePath, line: int, header: str, parts: list[str]) -> str:
    sequence = "".join("".join(parts).split())
    if not sequence:
        raise ValueError(f"{quoted(path)}, line {line}: record {header!r} must have a sequence, got none.")
    return sequence


def _check_lengths(
    path: FilePath, lines: Sequence[int], names: Sequence[str], sequences: Sequence[str]
) -> None:
    for line, name, sequence in zip(lines, names, sequences, strict=True):
        if len(sequence) != len(sequences[0]):
            raise ValueError(
                f"{quoted(path)}, line {line}: record {name!r} must have {len(sequences[0])} letters as the "
                f"first one, got {len(sequence)}; cut or pad it, or use a kernel for any lengths."
            )


def _check_letters(
    path: FilePath, lines: Sequence[int], names: Sequence[str], sequences: Sequence[str], alphabet: str
) -> None:
    from localmkl.kernels.alphabets import alphabet_letters

    letters, ambiguous = alphabet_letters(alphabet)
    allowed = set(letters + ambiguous)
    allowed |= {letter.lower() for letter in allowed}
    for line, name, sequence in zip(lines, names, sequences, strict=True):
        wrong = set(sequence) - allowed
        if wrong:
            place = min(sequence.index(letter) for letter in wrong)
            raise ValueError(
                f"{quoted(path)}, line {line}: record {name!r} must hold the letters {letters} (or "
                f"{ambiguous}), got {sequence[place]!r} at position {place}; correct it, or name another "
                "`alphabet`."
            )


def _check_unique(path: FilePath, lines: Sequence[int], names: Sequence[str], hint: str) -> None:
    seen: dict[str, int] = {}
    for line, name in zip(lines, names, strict=True):
        first = seen.setdefault(name, line)
        if first != line:
            raise ValueError(
                f"{quoted(path)}, line {line}: the name {name!r} must come once, it came in line {first}; "
                f"{hint}."
            )


def _find_labels(
    path: FilePath,
    labels: Mapping[str, Any] | FilePath,
    headers: Sequence[str],
    lines: Sequence[int],
    names: Sequence[str],
) -> Array:
    return as_labels(written_labels(path, labels, headers, lines, names))


def written_labels(
    path: FilePath,
    labels: Mapping[str, Any] | FilePath,
    headers: Sequence[str],
    lines: Sequence[int],
    names: Sequence[str],
) -> list[Any]:
    """Return the label of each record as it is written; raise where one has none."""
    if isinstance(labels, str) and labels.partition(":")[0] == HEADER:
        key = labels.partition(":")[2] or "label"
        hint, values = f"`{key}=...` in its header", header_values(key, headers)
    else:
        _check_unique(path, lines, names, "labels are found by name: rename a record")
        given = labels if isinstance(labels, Mapping) else read_label_file(Path(labels))
        hint = "a label in `labels`" if isinstance(labels, Mapping) else f"a line in {quoted(labels)}"
        values = [given.get(name) for name in names]
    for line, name, value in zip(lines, names, values, strict=True):
        if value is None or (isinstance(value, str) and value.strip() in MISSING):
            came = "it has none" if value is None else f"got {value!r}"
            raise ValueError(f"{quoted(path)}, line {line}: record {name!r} must have {hint}, {came}.")
    return values


def read_label_file(path: FilePath) -> dict[str, str]:
    """Return the labels of a file with a name and a label on each line, by name."""
    labels: dict[str, str] = {}
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        fields = [
            field.strip() for field in re.split(r"[\t,]" if re.search(r"[\t,]", line) else r"\s+", line)
        ]
        fields = [field for field in fields if field]
        if len(fields) != 2:
            raise ValueError(
                f"{quoted(path)}, line {number}: must hold a name and a label, got {len(fields)} fields."
            )
        if fields[0] in labels:
            raise ValueError(f"{quoted(path)}, line {number}: the name {fields[0]!r} must come once.")
        labels[fields[0]] = fields[1]
    if not labels:
        raise ValueError(f"{quoted(path)} must hold a name and a label on each line, got an empty file.")
    return labels
