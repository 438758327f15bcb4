"""Saving and loading models without running code from the file (skops).

A file is written whole or not at all: to a temporary name beside it, then renamed.
"""

import os
import tempfile
import zipfile
from pathlib import Path

from sklearn.base import BaseEstimator

OWN_TYPES = "localmkl."


def save(model, path):
    """Write a fitted model to `path`.

    Parameters
    ----------
    model : estimator of localmkl, or a pipeline or search that holds one
    path : str or path-like

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
    import skops.io

    if not isinstance(model, BaseEstimator):
        raise TypeError(f"`model` must be an estimator, got {type(model).__name__}.")
    path = Path(path)
    content = skops.io.dumps(model)
    foreign = _foreign_types(content)
    if foreign:
        raise TypeError(
            f"The model cannot be saved: it holds {', '.join(foreign)}; use kernels and gates of "
            "localmkl or scikit-learn instead of plain functions and own classes."
        )
    handle, name = tempfile.mkstemp(dir=path.parent or ".", prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def load(path):
    """Read a model written by `save`.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    estimator

    Raises
    ------
    ValueError
        If the file is not a model, or names types that are neither localmkl's nor known to be safe.
    """
    import skops.io

    content = Path(path).read_bytes()
    try:
        foreign = _foreign_types(content)
        trusted = [name for name in _untrusted_types(content) if name.startswith(OWN_TYPES)]
        if not foreign:
            return skops.io.loads(content, trusted=trusted)
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError, EOFError) as error:
        raise ValueError(
            f"{str(path)!r} is not a localmkl model, or is damaged ({error}); "
            "models are written by `localmkl.save`."
        ) from error
    raise ValueError(
        f"{str(path)!r} names types that are not localmkl's: {', '.join(foreign)}; "
        "only load models from people you trust, and save them again without these."
    )


def _untrusted_types(content):
    import skops.io

    return skops.io.get_untrusted_types(data=content)


def _foreign_types(content):
    return [name for name in _untrusted_types(content) if not name.startswith(OWN_TYPES)]
