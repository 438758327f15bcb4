"""Warnings that name the line of the user's code, however deep in the package they arise."""

import sys
import warnings
from types import FrameType

ON_BEHALF = ("localmkl", "sklearn", "joblib", "contextlib")
"""Packages whose frames are passed over: this one, and those that call it for the user."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost frame that belongs to the user, or at the outermost one of all.

    Parameters
    ----------
    message : str
    category : subclass of Warning, default=UserWarning

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn("The disk is nearly full.")
    >>> caught[0].filename == __file__
    False
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _package(frame) in ON_BEHALF:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _package(frame: FrameType) -> str:
    """Return the name of the top-level package that a frame's code belongs to."""
    return str(frame.f_globals.get("__name__")).partition(".")[0]
