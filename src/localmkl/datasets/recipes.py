"""Recipes for files of the data home: the public ones as they are, compressed, or photographs made small.

Each recipe is a pair: what makes the file, and what gives the bytes back whose checksum is known.
"""

import gzip
from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

import numpy as np

from localmkl._foreign import import_extra
from localmkl._types import Array

FAST = 1
"""Level of compression: at the highest, letters of DNA take 50 times as long and 15 % less room."""
LONGEST_SIDE = 256
"""Pixels; larger photographs would say little more to the descriptors, and take long."""
QUALITY = 88
"""Of JPEG: what the photographs of the published results were saved with."""


class Recipe(NamedTuple):
    """A way to make a file of the data home out of a public one.

    Attributes
    ----------
    make : callable
        Public bytes: those of the file.
    undo : callable
        Bytes of the file: those that the checksum is of. It raises an error for what is no such file.
    words : str
        What the file is then, for the error message.
    """

    make: Callable[[bytes], bytes]
    undo: Callable[[bytes], bytes]
    words: str


def _as_it_is(content: bytes) -> bytes:
    return content


def _gzipped(content: bytes) -> bytes:
    return gzip.compress(content, FAST, mtime=0)  # the same bytes whenever it is done


def _made_small(content: bytes) -> bytes:
    """Return a photograph whose longest side has at most 256 pixels."""
    cv2, image = _decoded(content)
    scale = LONGEST_SIDE / max(image.shape)
    if scale >= 1.0:
        return content
    height, width = (max(1, round(scale * side)) for side in image.shape[:2])
    image = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
    return cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])[1].tobytes()


def _shown(content: bytes) -> bytes:
    """Return the bytes of a photograph, which can be decoded."""
    _decoded(content)
    return content


def _decoded(content: bytes) -> tuple[ModuleType, Array]:
    cv2 = import_extra("cv2", "Reading photographs", "images")
    image = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR) if content else None
    if image is None:
        raise ValueError("no photograph")
    return cv2, image


RECIPES = {
    None: Recipe(_as_it_is, _as_it_is, ""),
    "gzip": Recipe(_gzipped, gzip.decompress, "compressed by gzip"),
    "photograph": Recipe(_made_small, _shown, f"made small, {LONGEST_SIDE} pixels at the longest side"),
}
