"""Saving and loading models without running code from the file (skops)."""

from importlib import import_module
from pathlib import Path

from sklearn.base import BaseEstimator

from localmkl._files import write_whole

PACKAGE = "localmkl"


def save(model, path):
    """Write a fitted model to `path`.

    Parameters
    ----------
    model : estimator of localmkl, or a pipeline or search that holds one
        It may hold kernels and gates of localmkl and scikit-learn, no plain functions and no other classes.
    path : str or path-like
        Where to; a file that is there is replaced at the end. Of a link, the file that it leads to is.

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
    try:
        content = skops.io.dumps(model)
        foreign = _foreign(_untrusted_types(content))
    except Exception as error:  # skops meets types it cannot take apart in many ways
        raise TypeError(
            f"The model cannot be saved: it holds something that skops cannot write ({error}); "
            "fit it on arrays, with kernels and gates of localmkl or scikit-learn."
        ) from error
    if foreign:
        raise TypeError(
            f"The model cannot be saved: it holds {', '.join(foreign)}; use kernels and gates of "
            "localmkl or scikit-learn instead of plain functions and own classes."
        )
    write_whole(path, content)


def load(path):
    """Read a model written by `save`.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    estimator
        As it was saved.

    Raises
    ------
    ValueError
        If the file is not a model, or names types that are neither localmkl's nor known to be safe.

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
    import skops.io

    content = Path(path).read_bytes()
    try:
        untrusted = _untrusted_types(content)
        foreign = _foreign(untrusted)
        model = None if foreign else skops.io.loads(content, trusted=untrusted)
    except Exception as error:  # a damaged file fails in zip, JSON, NumPy or skops
        raise ValueError(
            f"{str(path)!r} is not a localmkl model, or is damaged ({error}); "
            "models are written by `localmkl.save`."
        ) from error
    if foreign:
        raise ValueError(
            f"{str(path)!r} names types that are not localmkl's: {', '.join(foreign)}; "
            "only load models from people you trust, and save them again without these."
        )
    if not isinstance(model, BaseEstimator):
        raise ValueError(
            f"{str(path)!r} is not a localmkl model, it holds {type(model).__name__}; "
            "models are written by `localmkl.save`."
        )
    return model


def _untrusted_types(content):
    """Return the names in the file that skops itself does not know to be safe."""
    import skops.io

    return skops.io.get_untrusted_types(data=content)


def _foreign(names):
    """Return those names that are neither classes of localmkl nor splitters and scores of a search."""
    others = [name for name in names if not _is_own_class(name)]
    return [name for name in others if name not in _parts_of_searches()]


def _is_own_class(name):
    """Whether a class of localmkl has this name.

    The prefix alone would not do: modules also hold what they import, so that a file could ask for, and
    call, ``localmkl.import_module``.
    """
    module, _, attribute = name.rpartition(".")
    if module.partition(".")[0] != PACKAGE:
        return False
    try:
        found = getattr(import_module(module), attribute, None)
    except ImportError:
        return False
    return isinstance(found, type) and f"{found.__module__}.{found.__name__}" == name


def _parts_of_searches():
    from sklearn import metrics, model_selection

    splitters = (model_selection.BaseCrossValidator, model_selection.BaseShuffleSplit)
    parts = [cls for cls in vars(model_selection).values() if isinstance(cls, type)]
    parts = [cls for cls in parts if issubclass(cls, splitters)]
    scorers = [metrics.get_scorer(name) for name in metrics.get_scorer_names()]
    parts += [type(scorer) for scorer in scorers] + [scorer._score_func for scorer in scorers]
    names = {f"{part.__module__}.{part.__name__}" for part in parts}
    return names | {"sklearn.metrics._scorer._PassthroughScorer"}
