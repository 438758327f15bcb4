"""Gram matrices from NumPy and MATLAB files (.npy, .npz, .mat), labels among the variables."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from localmkl import _checks
from localmkl._checks import listed
from localmkl._resources import require_memory
from localmkl._spelling import meant
from localmkl._types import Array, FilePath, MaybeNone
from localmkl.datasets.labels import typed_labels
from localmkl.datasets.opening import check_regular, file_kind, parsing, quoted

if TYPE_CHECKING:
    from localmkl.kernels import GramStack


class GramData(NamedTuple):
    """Gram matrices of a file.

    Attributes
    ----------
    grams : GramStack
    y : ndarray of shape (n_samples,), or None without labels
    """

    grams: GramStack
    y: Array | MaybeNone


def read_grams(path: FilePath, *, variable: str | None = None, labels: str | None = None) -> GramData:
    """Read Gram matrices from a NumPy or MATLAB file.

    Parameters
    ----------
    path : str or path-like
        ``.npy`` (one stack, opened as a memory map), ``.npz``, or ``.mat`` (MATLAB: ``save -v7``).
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
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "kernels.npz"
    ...     np.savez(path, K=np.ones((3, 5, 5)), label=[0, 1, 0, 1, 1])
    ...     grams, y = read_grams(path, variable="K", labels="label")
    >>> grams, y.tolist()
    (GramStack(3 kernels, 5 x 5, float64), [0, 1, 0, 1, 1])
    """
    from localmkl.kernels import GramStack

    if file_kind(path) == ".npy" and labels is None and variable is None:
        check_regular(path)
        with parsing(path, "must be an .npy file of numbers, as `numpy.save` writes it"):
            array = np.lib.format.open_memmap(path, mode="r")
        return GramData(GramStack(_as_stack(path, None, array)), None)
    variables = read_variables(path)
    variable = _only_stack(path, variables) if variable is None else variable
    grams = _as_stack(path, variable, take_variable(path, variables, variable))
    y = None if labels is None else _of_rows(path, variables, labels, grams.shape[1])
    return GramData(GramStack(grams), y)


def read_row_variable(path: FilePath, name: str, n_rows: int) -> Array:
    """Return a variable of a NumPy or MATLAB file that holds one label for each row."""
    return _of_rows(path, read_variables(path), name, n_rows)


def read_variables(path: FilePath) -> dict[str, Any]:
    """Return the variables of a NumPy or MATLAB file by name; cell arrays become lists of arrays."""
    kind = file_kind(path)
    if kind not in (".npz", ".mat"):
        hint = "it has no named variables: use .npz" if kind == ".npy" else "convert it"
        raise ValueError(f"{quoted(path)} must end in .npy, .npz or .mat, got {kind!r}; {hint}.")
    check_regular(path)
    return _read_npz(path) if kind == ".npz" else _read_mat(path)


def _of_rows(path: FilePath, variables: dict[str, Any], name: str, n_rows: int) -> Array:
    """Return a variable as labels; a cell holds one text or number, a row of letters one text."""
    value = take_variable(path, variables, name)
    if isinstance(value, list):
        if not all(item.size == 1 for item in value):
            raise ValueError(f"{quoted(path)}, variable {name!r}: must hold one label in each cell.")
        value = np.array([item.ravel()[0].item() for item in value], dtype=object)
    try:
        found = typed_labels(value.ravel())
    except ValueError as error:
        raise ValueError(f"{quoted(path)}, variable {name!r}: {error}") from error
    if len(found) != n_rows:
        raise ValueError(
            f"{quoted(path)} must hold one label for each of the {n_rows} rows in {name!r}, got {len(found)}."
        )
    return found


def _read_npz(path: FilePath) -> dict[str, Any]:
    with parsing(path, "is not an .npz file of numbers, or is damaged"):
        with zipfile.ZipFile(path) as archive:
            require_memory(
                sum(member.file_size for member in archive.infolist()), "These arrays", "keep fewer"
            )
        with np.load(path, allow_pickle=False) as file:
            return dict(file)


def _read_mat(path: FilePath) -> dict[str, Any]:
    from scipy.io import loadmat

    with parsing(path, "is damaged, or not a MATLAB file as `save -v7` writes it"):
        return {
            name: [np.asarray(item) for item in value.ravel()] if value.dtype == object else value
            for name, value in loadmat(path).items()
            if not name.startswith("__")
        }


def take_variable(path: FilePath, variables: dict[str, Any], name: str) -> Any:
    """Return a variable of a file, or raise an error that lists those there are."""
    if name not in variables:
        raise ValueError(
            f"{quoted(path)} must hold the variable {name!r}, it has {listed(sorted(variables)) or 'none'}"
            f"{meant(name, variables)}"
        )
    return variables[name]


def _only_stack(path: FilePath, variables: dict[str, Any]) -> str:
    """Return the name of the only variable that can be a stack of Grams."""
    names = [name for name, value in variables.items() if _could_be_stack(value)]
    if len(names) != 1:
        shapes = [f"{name} {getattr(value, 'shape', '(cells)')}" for name, value in variables.items()]
        raise ValueError(
            f"{quoted(path)} must hold one stack of Grams, {'more than one' if names else 'no'} variable "
            f"of it is (it has {listed(shapes) or 'none'}); name it by `variable`."
        )
    return names[0]


def _could_be_stack(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(_is_matrix(item) and item.shape == value[0].shape for item in value)
    square = value.ndim == 3 or (value.ndim == 2 and value.shape[0] == value.shape[1] > 1)
    return value.dtype.kind in "fiu" and square


def _is_matrix(item: Any) -> bool:
    return item.ndim == 2 and item.dtype.kind in "fiu"


def _as_stack(path: FilePath, name: str | None, value: Any) -> Array:
    """Return a variable as an array (n_kernels, n, n') of finite numbers."""
    place = quoted(path) if name is None else f"{quoted(path)}, variable {name!r}"
    if isinstance(value, list) and not all(map(_is_matrix, value)):
        raise ValueError(f"{place}: must be a cell array of matrices of numbers.")
    try:
        array = _checks.check_grams(value)
        if name is not None and array.ndim == 3 and array.shape[0] == array.shape[1] != array.shape[2]:
            array = np.ascontiguousarray(np.moveaxis(array, 2, 0))  # as MATLAB users have it
        _checks.check_finite_grams(array)
    except ValueError as error:
        hint = "; views of the data are no Grams: compute V * V' of each" if isinstance(value, list) else ""
        raise ValueError(f"{place}: {str(error).rstrip('.')}{hint}.") from error
    return array
