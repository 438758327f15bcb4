"""Files in: sequences (FASTA), tables (CSV, TSV, Parquet) and Gram matrices (.npy, .npz, .mat).

Whatever is wrong with a file is said with its name and, where there is one, the line.
"""

import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from localmkl import _checks
from localmkl._resources import available_memory
from localmkl.datasets.labels import MISSING, as_labels, typed_labels
from localmkl.datasets.opening import check_regular, file_kind, parsing, read_text
from localmkl.datasets.tables import SEPARATORS, field_at, read_delimited

if TYPE_CHECKING:
    from localmkl.kernels import GramStack

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
    y: np.ndarray | None
    names: np.ndarray


class TableData(NamedTuple):
    """A table and its target column.

    Attributes
    ----------
    frame : pandas.DataFrame
    y : ndarray of shape (n_samples,), or None without a target
    """

    frame: object
    y: np.ndarray | None


class GramData(NamedTuple):
    """Gram matrices of a file.

    Attributes
    ----------
    grams : GramStack
    y : ndarray of shape (n_samples,), or None without labels
    """

    grams: "GramStack"
    y: np.ndarray | None


def read_fasta(path, *, labels=None, alphabet=None, equal_length=False, unique_names=True):
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
    names = [(header.split(maxsplit=1) or [""])[0] for header in headers]
    if equal_length:
        _check_lengths(path, lines, names, sequences)
    if alphabet is not None:
        _check_letters(path, lines, names, sequences, alphabet)
    if unique_names:
        _check_unique(path, lines, names, "rename a record, or pass `unique_names=False`")
    y = None if labels is None else _find_labels(path, labels, headers, lines, names)
    return SequenceData(np.array(sequences, dtype=object), y, np.array(names, dtype=object))


def read_table(path, *, target=None, columns=None, header=None, text=()):
    """Read a table with named columns from a CSV, TSV or Parquet file (needs pandas; Parquet needs pyarrow).

    Parameters
    ----------
    path : str or path-like
        ``.csv``, ``.tsv`` or ``.txt`` (tabs), also compressed, or ``.parquet``.
    target : str, optional
        Column that holds the labels or target values; it is left out of the table. As in `read_fasta`, labels
        that are written differently stay different.
    columns : list of str, optional
        Columns to keep; all by default.
    header : bool, optional
        Whether the first line holds the names of the columns; without names they are called 1, 2, 3 ... By
        default it does, and a first line that reads like data is an error.
    text : list of str, optional
        Columns to keep as they are written, names of rows for instance: ``007`` is no 7.

    Returns
    -------
    TableData
        Named tuple (frame, y); y is None without `target`.

    Examples
    --------
    >>> import pandas as pd
    >>> import tempfile
    >>> patients = pd.DataFrame({"age": [40, 61], "dose": [1.5, 0.5], "healed": ["yes", "no"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "patients.csv"
    ...     patients.to_csv(path, index=False)
    ...     frame, y = read_table(path, target="healed")
    >>> list(frame.columns), y.tolist()
    (['age', 'dose'], ['yes', 'no'])
    """
    pd = _import("pandas", "read_table", "frames")
    path = Path(path)
    kind = file_kind(path)
    if kind != ".parquet" and kind not in SEPARATORS:
        raise ValueError(
            f"{_name(path)} must end in .csv, .tsv, .txt or .parquet (text also compressed), got {kind!r}; "
            "rename it, or read it with pandas."
        )
    if kind == ".parquet":
        frame = _read_parquet(pd, path)
    else:
        as_written = [*text, *([] if target is None else [target])]
        frame = read_delimited(pd, path, header=header, text=as_written)
    wanted = [*(columns or []), *([target] if target is not None else [])]
    missing = [name for name in wanted if name not in frame.columns]
    if missing:
        raise ValueError(
            f"{_name(path)} must have the column {missing[0]!r}, it has {_checks.listed(frame.columns)}."
        )
    y = None
    if target is not None:
        y, without = column_labels(path, frame.pop(target))
        if len(without):
            place, came = field_at(path, without[0], target, header=header)
            raise ValueError(
                f"{_name(path)}, {place}: must have a value in the target column {target!r}, "
                f"got {repr(came) if came else 'none'}; fill it in, or leave the row out."
            )
    return TableData(frame if columns is None else frame[list(columns)], y)


def column_labels(path, column):
    """Return the labels in a column of a table, None where some are missing, and the rows without."""
    if file_kind(path) == ".parquet":
        without = np.flatnonzero(column.isna().to_numpy())
        return None if len(without) else typed_labels(column.to_numpy()), without
    without = np.flatnonzero([text.strip() in MISSING for text in column])
    return None if len(without) else as_labels(column), without


def _read_parquet(pd, path):
    _import("pyarrow", "read_table for .parquet files", "frames")
    check_regular(path)
    with parsing(path, "is cut short or damaged, or no Parquet file"):
        frame = pd.read_parquet(path)
    frame.columns = frame.columns.map(str)
    if not frame.columns.is_unique:
        double = frame.columns[frame.columns.duplicated()][0]
        raise ValueError(f"{_name(path)}: the column name {double!r} must come once, it comes several times.")
    if frame.shape[0] == 0 or frame.shape[1] == 0:
        raise ValueError(
            f"{_name(path)} must hold rows and columns, got {frame.shape[0]} x {frame.shape[1]}."
        )
    return frame.reset_index(drop=True)


def read_grams(path, *, variable=None, labels=None):
    """Read Gram matrices from a NumPy or MATLAB file.

    Parameters
    ----------
    path : str or path-like
        ``.npy`` (one stack, opened as a memory map), ``.npz``, or ``.mat``; MATLAB's v7.3 files need h5py.
    variable : str, optional
        Name of the stack in an ``.npz`` or ``.mat`` file: (n_kernels, n, n), (n, n, n_kernels) as MATLAB
        users have it, one matrix, or a cell array of matrices. By default the only variable that can be
        one.
    labels : str, optional
        Name of the labels in the same file.

    Returns
    -------
    GramData
        Named tuple (grams, y); y is None without `labels`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "kernels.npz"
    ...     np.savez(path, K=np.ones((3, 5, 5)), label=[0, 1, 0, 1, 1])
    ...     grams, y = read_grams(path, variable="K", labels="label")
    >>> grams, y.tolist()
    (GramStack(3 kernels, 5 x 5, float64), [0, 1, 0, 1, 1])
    """
    from localmkl.kernels import GramStack

    path = Path(path)
    kind = file_kind(path)
    if kind not in (".npy", ".npz", ".mat"):
        raise ValueError(f"{_name(path)} must end in .npy, .npz or .mat, got {kind!r}.")
    if kind == ".npy":
        if labels is not None or variable is not None:
            raise ValueError(f"{_name(path)} has no named variables, got `variable` or `labels`; use .npz.")
        check_regular(path)
        with parsing(path, "must be an .npy file of numbers, as `numpy.save` writes it"):
            array = np.lib.format.open_memmap(path, mode="r")
        return GramData(GramStack(_check_stack(path, _as_stack(path, None, array))), None)
    variables = read_npz(path) if kind == ".npz" else read_mat(path)
    if variable is None:
        variable = _only_stack(path, variables)
    grams = _check_stack(path, _as_stack(path, variable, take_variable(path, variables, variable)))
    y = None
    if labels is not None:
        y = _row_labels(path, labels, take_variable(path, variables, labels))
        if len(y) != grams.shape[1]:
            raise ValueError(
                f"{_name(path)} must hold one label for each of the {grams.shape[1]} rows in {labels!r}, "
                f"got {len(y)}."
            )
    return GramData(GramStack(grams), y)


def read_npz(path):
    """Return the arrays of an ``.npz`` file by name."""
    check_regular(path)
    with parsing(path, "is not an .npz file of numbers, or is damaged"):
        with zipfile.ZipFile(path) as archive:
            _check_size(path, sum(member.file_size for member in archive.infolist()))
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}


def read_mat(path):
    """Return the variables of a MATLAB file by name; cell arrays become lists of arrays."""
    from scipy.io import loadmat

    path = Path(path)
    check_regular(path)
    if path.stat().st_size == 0:
        raise ValueError(f"{_name(path)} must be a MATLAB file, got an empty file.")
    with parsing(path, "is not a MATLAB file, or is damaged"):
        try:
            found = loadmat(path)
        except NotImplementedError:  # version 7.3
            return _read_mat_hdf5(path)
        return {name: _uncell(value) for name, value in found.items() if not name.startswith("__")}


def _check_size(path, size):
    free = available_memory()
    if free is not None and size > free:
        raise ValueError(f"its arrays need {size:,} bytes, {free:,} are available")


def take_variable(path, variables, name):
    """Return a variable of a file, or raise an error that lists those there are."""
    if name not in variables:
        has = ", ".join(sorted(variables)) or "none"
        raise ValueError(f"{_name(path)} must hold the variable {name!r}, it has {has}; name one of these.")
    return variables[name]


def _fasta_records(path):
    """Return headers, their line numbers and the sequences."""
    text = read_text(path)
    if not text.strip():
        raise ValueError(f"{_name(path)} must hold FASTA records, got an empty file.")
    headers: list[str] = []
    lines: list[int] = []
    sequences: list[str] = []
    parts: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.startswith(">"):
            if headers:
                sequences.append(_joined(path, lines[-1], headers[-1], parts))
            headers.append(line[1:].strip())
            lines.append(number)
            parts = []
        elif not line or line.startswith(";") or line.isspace():
            continue
        elif not headers:
            raise ValueError(
                f"{_name(path)}, line {number}: must start with a header, a line that begins with '>', "
                f"got {line[:20]!r}."
            )
        else:
            parts.append(line)
    if not headers:
        raise ValueError(f"{_name(path)} must hold FASTA records, got comments alone.")
    sequences.append(_joined(path, lines[-1], headers[-1], parts))
    return headers, lines, sequences


def _joined(path, line, header, parts):
    sequence = "".join("".join(parts).split())
    if not sequence:
        raise ValueError(f"{_name(path)}, line {line}: record {header!r} must have a sequence, got none.")
    return sequence


def _check_lengths(path, lines, names, sequences):
    for line, name, sequence in zip(lines, names, sequences, strict=True):
        if len(sequence) != len(sequences[0]):
            raise ValueError(
                f"{_name(path)}, line {line}: record {name!r} must have {len(sequences[0])} letters as the "
                f"first one, got {len(sequence)}; cut or pad it, or use a kernel for any lengths."
            )


def _check_letters(path, lines, names, sequences, alphabet):
    from localmkl.kernels.alphabets import alphabet_letters

    letters, ambiguous = alphabet_letters(alphabet)
    allowed = set(letters + ambiguous)
    allowed |= {letter.lower() for letter in allowed}
    for line, name, sequence in zip(lines, names, sequences, strict=True):
        wrong = set(sequence) - allowed
        if wrong:
            place = min(sequence.index(letter) for letter in wrong)
            raise ValueError(
                f"{_name(path)}, line {line}: record {name!r} must hold the letters {letters} (or "
                f"{ambiguous}), got {sequence[place]!r} at position {place}; correct it, or name another "
                "`alphabet`."
            )


def _check_unique(path, lines, names, hint):
    seen: dict[str, int] = {}
    for line, name in zip(lines, names, strict=True):
        first = seen.setdefault(name, line)
        if first != line:
            raise ValueError(
                f"{_name(path)}, line {line}: the name {name!r} must come once, it came in line {first}; "
                f"{hint}."
            )


def _find_labels(path, labels, headers, lines, names):
    if isinstance(labels, str) and labels.partition(":")[0] == HEADER:
        key = labels.partition(":")[2] or "label"
        pattern = re.compile(rf"(?<!\w){re.escape(key)}\s*=\s*([^\s,;|]+)")
        found = [pattern.search(header) for header in headers]
        hint = f"`{key}=...` in its header"
        values = [None if match is None else match[1] for match in found]
    else:
        _check_unique(path, lines, names, "labels are found by name: rename a record")
        given = labels if isinstance(labels, Mapping) else _label_file(Path(labels))
        hint = "a label in `labels`" if isinstance(labels, Mapping) else f"a line in {_name(labels)}"
        values = [given.get(name) for name in names]
    for line, name, value in zip(lines, names, values, strict=True):
        if value is None or (isinstance(value, str) and value.strip() in MISSING):
            came = "it has none" if value is None else f"got {value!r}"
            raise ValueError(f"{_name(path)}, line {line}: record {name!r} must have {hint}, {came}.")
    return as_labels(values)


def _label_file(path):
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
                f"{_name(path)}, line {number}: must hold a name and a label, got {len(fields)} fields."
            )
        if fields[0] in labels:
            raise ValueError(f"{_name(path)}, line {number}: the name {fields[0]!r} must come once.")
        labels[fields[0]] = fields[1]
    if not labels:
        raise ValueError(f"{_name(path)} must hold a name and a label on each line, got an empty file.")
    return labels


def _read_mat_hdf5(path):
    h5py = _import("h5py", "a MATLAB v7.3 file", "matlab")

    def load(file, item):
        value = item[()]
        if value.dtype == object:  # a cell array holds references
            return [load(file, file[reference]) for reference in value.ravel()]
        return value.T  # MATLAB's axes stand in the other order

    with h5py.File(path, "r") as file:
        return {
            name: load(file, item)
            for name, item in file.items()
            if isinstance(item, h5py.Dataset) and not name.startswith("#")
        }


def _uncell(value):
    if value.dtype == object:
        return [np.asarray(item) for item in value.ravel()]
    return value


def _only_stack(path, variables):
    """Return the name of the only variable that can be a stack of Grams."""
    names = [name for name, value in variables.items() if _could_be_stack(value)]
    if not names:  # cross-Grams are not square
        names = [name for name, value in variables.items() if getattr(value, "ndim", 0) == 3]
    if len(names) != 1:
        has = ", ".join(f"{name} {_shape(value)}" for name, value in variables.items()) or "none"
        what = "no" if not names else "more than one"
        raise ValueError(
            f"{_name(path)} must hold one stack of Grams, {what} variable of it is (it has {has}); "
            "name it by `variable`."
        )
    return names[0]


def _could_be_stack(value):
    if isinstance(value, list):
        return bool(value) and all(_is_matrix(item) and item.shape == value[0].shape for item in value)
    shape = value.shape
    square = len(shape) in (2, 3) and (shape[-1] == shape[-2] or shape[0] == shape[1])
    return value.dtype.kind in "fiu" and square and value.size > 1


def _is_matrix(item):
    return isinstance(item, np.ndarray) and item.ndim == 2 and item.dtype.kind in "fiu"


def _shape(value):
    return f"({len(value)} cells)" if isinstance(value, list) else str(value.shape)


def _as_stack(path, name, value):
    """Return a variable as an array (n_kernels, n, n')."""
    place = _name(path) if name is None else f"{_name(path)}, variable {name!r}"
    if isinstance(value, list) and not all(map(_is_matrix, value)):
        raise ValueError(
            f"{place}: must be a cell array of matrices of numbers, some cells hold something else."
        )
    try:
        array = _checks.check_grams(value)
    except ValueError as error:
        hint = "; views of the data are no Grams: compute V * V' of each" if isinstance(value, list) else ""
        raise ValueError(f"{place}: {str(error).rstrip('.')}{hint}.") from error
    matlab = name is not None and array.ndim == 3 and array.shape[0] == array.shape[1] != array.shape[2]
    return np.ascontiguousarray(np.moveaxis(array, 2, 0)) if matlab else array


def _row_labels(path, name, value):
    """Return a variable as labels; a cell holds one text or number, a row of a matrix of letters one text."""
    if isinstance(value, list):
        if not all(isinstance(item, np.ndarray) and item.size == 1 for item in value):
            raise ValueError(f"{_name(path)}, variable {name!r}: must hold one label in each cell.")
        value = np.array([item.ravel()[0].item() for item in value], dtype=object)
    try:
        return typed_labels(value.ravel())
    except ValueError as error:
        raise ValueError(f"{_name(path)}, variable {name!r}: {error}") from error


def _check_stack(path, grams):
    try:
        _checks.check_finite_grams(grams)
    except ValueError as error:
        raise ValueError(f"{_name(path)}: {error}") from error
    return grams


def _name(path):
    return repr(str(path))


def _import(package, purpose, extra):
    from importlib import import_module

    try:
        return import_module(package)
    except ImportError as error:
        raise ImportError(
            f"{purpose} needs the package {package}; install it with `pip install localmkl[{extra}]`."
        ) from error
