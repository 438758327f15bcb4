"""Saving and loading models without running code from the file.

save   model -> tree of plain values and arrays (`_parts`) -> do they fit together? -> file (`_archive`)
load   file -> checksum -> names of all parts -> objects -> do they fit together?
"""

import os
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import sklearn
from sklearn.base import BaseEstimator

from localmkl._archive import Archive, NotReadable, is_archive, write_archive
from localmkl._checks import listed
from localmkl._parts import Reader, Writer, foreign_names, import_trusted
from localmkl.estimators.base import BaseMKL
from localmkl.estimators.whole import check_whole


def save(model: BaseEstimator, path: str | PathLike[str], *, trusted: Iterable[str | type] = ()) -> None:
    """Write a fitted model to `path`.

    Parameters
    ----------
    model : estimator of localmkl, or a pipeline or search that holds one
        It may hold kernels and gates of localmkl and common parts of scikit-learn (pipelines, imputers,
        scalers, encoders, mixtures, searches, calibration), no plain functions, and other classes only if
        they are named in `trusted`.
    path : str or path-like
        Where to; a model that is there is replaced at the end, and so is an empty file. Of a link, the file
        that it leads to is.
    trusted : list of str or type, default=()
        Classes of kernels, gates and losses that are not localmkl's, as paths such as
        ``"package.module.Class"`` or as they are; `load` needs them too.

    Raises
    ------
    TypeError
        If the model holds something that `load` would refuse; it is named, and nothing is written.
    FileExistsError
        If there is a file that is not a model; it stays.
    ValueError
        If the attributes of a fitted model do not fit together.

    Examples
    --------
    >>> import localmkl, tempfile, os
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(60, random_state=0)[:2]
    >>> model = localmkl.MKLClassifier().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     localmkl.save(model, os.path.join(folder, "model.localmkl"))
    ...     again = localmkl.load(os.path.join(folder, "model.localmkl"))
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    if os.path.isfile(path) and not _may_be_replaced(path):
        raise FileExistsError(
            f"{os.fspath(path)!r} is there already and is not a model of localmkl; choose another name, or "
            "remove it."
        )
    write_model(model, path, trusted=trusted)


def _may_be_replaced(path: str | PathLike[str]) -> bool:
    """Whether a file is empty or a model; one that nobody may read is something else."""
    try:
        return os.path.getsize(path) == 0 or bool(is_archive(path))
    except PermissionError:
        return False


def write_model(
    model: BaseEstimator, path: str | PathLike[str], *, trusted: Iterable[str | type] = ()
) -> None:
    """Write a fitted model to `path`, whatever file is there; else as `save`."""
    if not isinstance(model, BaseEstimator):
        raise TypeError(f"`model` must be an estimator, got {type(model).__name__}.")
    writer = Writer(import_trusted(trusted))
    try:
        tree = writer.tree(model)
        if not writer.foreign:
            _check_parts(writer.objects)
    except ValueError as error:
        raise ValueError(f"The model cannot be saved: {_one_line(error)}; fit it again.") from error
    except RecursionError as error:
        raise TypeError("The model cannot be saved: a part of it holds itself; fit it again.") from error
    if writer.foreign:
        raise TypeError(
            f"The model cannot be saved: it holds {listed(sorted(writer.foreign))}; use kernels and gates of "
            "localmkl, and what the page on saving lists of scikit-learn, in place of other functions and "
            "classes, or name these classes in `trusted`, here and in `load`."
        )
    versions = {"numpy": np.__version__, "scikit-learn": sklearn.__version__}
    write_archive(path, {"versions": versions, "model": tree}, writer.arrays)


def load(path: str | PathLike[str], *, trusted: Iterable[str | type] = ()) -> Any:
    """Read a model written by `save`.

    Parameters
    ----------
    path : str or path-like
        The file.
    trusted : list of str or type, default=()
        Classes that the model may hold beside those of localmkl, as paths such as
        ``"package.module.Class"`` or as they are. They are imported; their objects are given their
        attributes, and nothing of their code is run until the model is used.

    Returns
    -------
    estimator
        As it was saved.

    Raises
    ------
    FileNotFoundError
        If there is no file.
    ValueError
        If the file is not a model, is damaged, has parts that do not fit together, was written by a newer
        version, or names types that models do not consist of and `trusted` does not name. Nothing of the
        file is run, whatever it holds.

    Examples
    --------
    >>> import localmkl, tempfile, os
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(60, random_state=0)[:2]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.localmkl")
    ...     localmkl.save(localmkl.UniformMKLClassifier().fit(X, y), path)
    ...     localmkl.load(path)
    UniformMKLClassifier()
    """
    path, classes = Path(path), import_trusted(trusted)
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ValueError(f"{str(path)!r} must be a regular file, it is a device or a pipe.")
    if not path.exists():
        raise FileNotFoundError(f"{str(path)!r} is not there; check the path of the model.")
    with open(path, "rb") as file:
        try:
            return _read(file, classes)
        except MemoryError:
            raise
        except NotReadable as error:
            raise ValueError(f"{str(path)!r} {_one_line(error)}.") from error
        except Exception as error:  # a crafted file fails in JSON, NumPy or its parts
            raise ValueError(
                f"{str(path)!r} is not a localmkl model, or is damaged ({_one_line(error)}); "
                "models are written by `localmkl.save`."
            ) from error


def _read(file: BinaryIO, trusted: dict[str, type]) -> Any:
    """Return the model of a file, if it has known or trusted parts alone and they fit together."""
    archive = Archive(file)
    tree = archive.tree()["model"]
    if names := foreign_names(tree, trusted):
        raise NotReadable(
            f"names types that are not localmkl's: {listed(names)}; "
            "only load models from people you trust, and name classes of theirs in `trusted`"
        )
    reader = Reader(archive.array, trusted)
    model = reader.build(tree)
    if not isinstance(model, BaseEstimator):
        raise NotReadable(
            f"is not a localmkl model, it holds {type(model).__name__}; models are written by `localmkl.save`"
        )
    _check_parts(reader.objects)
    return model


def _check_parts(objects: list[Any]) -> None:
    """Raise unless each of the estimators of localmkl among some objects is whole."""
    for part in objects:
        if isinstance(part, BaseMKL):
            check_whole(part)


def _one_line(error: Exception, longest: int = 600) -> str:
    """Return an error in one line without its full stop, and without what a terminal takes for commands."""
    line = " ".join(str(error).split()).rstrip(".")
    shown = "".join(letter if letter.isprintable() else "?" for letter in line)
    return (shown if len(shown) <= longest else f"{shown[:longest]} ...") or type(error).__name__
