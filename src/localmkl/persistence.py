"""Saving and loading models without running code from the file.

    save   model -> skops takes it apart -> every part is one that `load` takes -> the manifest -> the file
    load   the file -> members and their checksums -> names of all parts -> objects -> do they fit together?

A file is written whole or not at all (`_files`).
"""

import io
import os
import warnings
from collections.abc import Iterable
from importlib.util import find_spec
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from joblib import parallel_config
from sklearn.base import BaseEstimator
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from localmkl._archive import Archive, Newer, is_archive, seal
from localmkl._checks import check_integer, listed
from localmkl._files import write_whole
from localmkl._parts import PROTOCOL, Builder, foreign, import_trusted
from localmkl._sklearn import BaseSearchCV, is_fitted
from localmkl.estimators.base import BaseMKL
from localmkl.estimators.whole import check_feature_map, check_whole
from localmkl.kernels import FeatureMap, SequenceKernel

LONGEST = 600
"""Letters of an error that are shown."""

TEXT = (OneHotEncoder, OrdinalEncoder, SequenceKernel)
"""Parts that read text."""

MOST_COLUMNS = 10**6
"""Of a row that a pipeline is tried on."""


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
    import skops.io

    if not isinstance(model, BaseEstimator):
        raise TypeError(f"`model` must be an estimator, got {type(model).__name__}.")
    classes = import_trusted(trusted)
    try:
        content = seal(skops.io.dumps(model))
    except Exception as error:  # skops meets types it cannot take apart in many ways
        raise TypeError(
            f"The model cannot be saved: it holds something that skops cannot write ({_told(error)}); "
            "fit it on arrays, with kernels and gates of localmkl or scikit-learn."
        ) from error
    try:
        _read(io.BytesIO(content), classes)
    except _Foreign as error:
        raise TypeError(
            f"The model cannot be saved: it holds {listed(error.names)}; use kernels and gates of localmkl, "
            "and what the page on saving lists of scikit-learn, in place of other functions and classes, or "
            "name these classes in `trusted`, here and in `load`."
        ) from error
    except ValueError as error:
        raise ValueError(f"The model cannot be saved: {_told(error)}; fit it again.") from error
    write_whole(path, content)


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
        except (Newer, _Foreign, _NoModel) as error:
            raise ValueError(f"{str(path)!r} {_told(error)}.") from error
        except Exception as error:  # a damaged file fails in zip, JSON, NumPy or its parts
            raise ValueError(
                f"{str(path)!r} is not a localmkl model, or is damaged ({_told(error)}); "
                "models are written by `localmkl.save`."
            ) from error


class _Foreign(ValueError):
    """The file holds something that models do not consist of."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        super().__init__(
            f"names types that are not localmkl's: {listed(names)}; "
            "only load models from people you trust, and name classes of theirs in `trusted`."
        )


class _NoModel(ValueError):
    """The file is whole, and holds something else."""


def _read(file: BinaryIO, trusted: Any) -> Any:
    """Return the model of a file, if it has known or trusted parts alone and they fit together."""
    archive = Archive(file)
    schema = archive.schema()
    if schema["protocol"] not in range(PROTOCOL + 1):
        raise Newer(
            f"is written in protocol {schema['protocol']} of skops, {PROTOCOL} is the newest that localmkl "
            "knows; update localmkl."
        )
    others = foreign(schema, trusted)
    if others:
        raise _Foreign(others)
    builder = Builder(archive.read, trusted)
    model = builder.build(schema)
    if not isinstance(model, BaseEstimator):
        raise _NoModel(
            f"is not a localmkl model, it holds {type(model).__name__}; "
            "models are written by `localmkl.save`."
        )
    for part in builder.objects:
        if isinstance(part, BaseMKL):
            check_whole(part, run=not builder.strange)
        elif isinstance(part, FeatureMap):
            check_feature_map(part)
        elif isinstance(part, BaseSearchCV):
            _check_search(part)
    if not isinstance(model, BaseMKL) and not builder.strange:
        other = any(
            isinstance(part, TEXT) or getattr(part, "_precomputed", False) or hasattr(part, "views_")
            for part in builder.objects
        )
        _check_runs(model, (TypeError, ValueError) if other else ())
    return model


def _check_search(search: Any) -> None:
    """Raise unless the results of a fitted search can be told."""
    results = getattr(search, "cv_results_", None)
    if results is None:
        return
    lengths = {len(column) for column in results.values()}
    index = getattr(search, "best_index_", 0)
    if lengths != {len(results["params"])} or not 0 <= index < len(results["params"]):
        raise ValueError("the results of its search are not whole")
    best = getattr(search, "best_params_", {}), getattr(search, "best_score_", 0.0)
    if not isinstance(best[0], dict) or not isinstance(best[1], Real):
        raise ValueError("the best result of its search is none")


def _check_runs(model: Any, allowed: tuple[type[Exception], ...]) -> None:
    """Raise unless a pipeline, or what else holds a model, runs through on a row of ones.

    What it says of the row does not count. Where text, Grams or views are expected, it may refuse it.
    """
    n_columns, names = (getattr(model, name, None) for name in ("n_features_in_", "feature_names_in_"))
    if not hasattr(type(model), "predict"):  # a scaler alone, for instance
        return
    if n_columns is None:
        if not allowed and is_fitted(model) and getattr(model, "refit", True):
            raise ValueError(f"{type(model).__name__} does not know its columns")
        return
    check_integer("n_features_in_", n_columns, low=1)
    row = np.ones((1, min(n_columns, MOST_COLUMNS)))
    if names is not None and find_spec("pandas"):
        from pandas import DataFrame

        row = DataFrame(row, columns=names)
    with warnings.catch_warnings(), parallel_config(backend="sequential"):
        warnings.simplefilter("ignore")
        try:
            model.predict(row)
        except allowed:
            return
        except Exception as error:
            raise ValueError(f"{type(model).__name__} cannot predict: {error}") from error


def _told(error: Exception) -> str:
    """Return an error in one line without its full stop, and without what a terminal takes for commands."""
    line = " ".join(str(error).split()).rstrip(".")
    shown = "".join(letter if letter.isprintable() else "?" for letter in line)
    return (shown if len(shown) <= LONGEST else f"{shown[:LONGEST]} ...") or type(error).__name__
