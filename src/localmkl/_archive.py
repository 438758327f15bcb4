"""The container of a model file: a line of text, a checksum, a tree in JSON, the numbers of all arrays.

    localmkl model, format 1, written by localmkl 0.1.0
    SHA-256 of all that follows, bytes of the tree
    the tree, in ASCII
    the arrays, one after the other, in the order of the tree

Nothing is compressed, and every byte belongs to one array: a file cannot unpack to more than it is.
"""

import hashlib
import json
import re
from math import prod

import numpy as np

from localmkl import __version__
from localmkl._files import writing_whole
from localmkl._resources import available_memory

FORMAT = 1
"""The format that this version writes, and the only one that it reads."""

START = b"localmkl model, format "
FIRST_LINE = re.compile(START + rb"([0-9]{1,9}), written by localmkl ([0-9A-Za-z.+]{1,40})\n")
SECOND_LINE = re.compile(rb"([0-9a-f]{64}) ([0-9]{1,18})\n")
DTYPE = re.compile(r"[<>|=][biufcSUmM][1-9][0-9]{0,8}(\[[0-9a-zA-Z]{1,9}\])?")
STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"')


class NotReadable(ValueError):
    """The file is a model, but not for this version."""


def is_archive(path):
    """Whether a file begins as models do."""
    with open(path, "rb") as file:
        return file.read(len(START)) == START


def write_archive(path, tree, arrays):
    """Write a file whole or not at all.

    Parameters
    ----------
    path : path-like
    tree : dict
        Of plain values.
    arrays : list of ndarray
        Each in the order of its memory.
    """
    text = json.dumps(tree).encode()
    parts = [text, *(array.reshape(-1).view(np.uint8) for array in arrays if array.nbytes)]
    checksum = hashlib.sha256()
    for part in parts:
        checksum.update(part)
    with writing_whole(path) as file:
        file.write(START + f"{FORMAT}, written by localmkl {__version__}\n".encode())
        file.write(f"{checksum.hexdigest()} {len(text)}\n".encode())
        for part in parts:
            file.write(part)


class Archive:
    """A model file that is open for reading, with its checksum already compared.

    Parameters
    ----------
    file : binary file
        Of the system, not only in memory.
    """

    def __init__(self, file):
        checksum, self.length = self._read_lines(file)
        start, self.file = file.tell(), file
        self.left = file.seek(0, 2) - start - self.length
        available = available_memory()
        if available is not None and self.left > available:
            raise MemoryError(f"The model needs {self.left:,} bytes of memory, {available:,} are available.")
        file.seek(start)
        if self.left < 0 or hashlib.file_digest(file, "sha256").hexdigest() != checksum:
            raise ValueError("its checksum is another than it says: the file was cut or changed")
        file.seek(start)

    @staticmethod
    def _read_lines(file):
        line = file.readline(200)
        found = FIRST_LINE.fullmatch(line)
        if line.startswith(b"PK\x03\x04"):
            raise NotReadable("is a zip archive, as models were before localmkl 0.1.0; fit the model again")
        if found is None:
            raise ValueError("it does not begin as models do")
        if int(found[1]) != FORMAT:
            raise NotReadable(
                f"was written by localmkl {found[2].decode()} in format {int(found[1])}, localmkl "
                f"{__version__} reads format {FORMAT}; update localmkl"
            )
        found = SECOND_LINE.fullmatch(file.readline(200))
        if found is None:
            raise ValueError("its second line is no checksum")
        return found[1].decode(), int(found[2])

    def tree(self, most_bytes=2**27, most_marks=2**22):
        """Return the tree; it may not have more parts than a model has.

        Python needs up to 80 bytes for what stands between two brackets or commas.
        """
        if self.length > most_bytes:
            raise ValueError(f"its tree has more than {most_bytes:,} bytes")
        text = self.file.read(self.length)
        crowded = _marks(text) > most_marks and _marks(STRING.sub(b"", text)) > most_marks
        if crowded or not text.isascii():
            raise ValueError("its tree has more parts than a model has")
        return json.loads(text)

    def array(self, dtype, shape):
        """Return the next array of plain values, of a type and a shape that the tree gives."""
        if not DTYPE.fullmatch(dtype) or not all(type(size) is int and size >= 0 for size in shape):
            raise ValueError("an array has no plain type or shape")
        kind = np.dtype(dtype)
        claimed = prod(shape) * kind.itemsize
        if claimed > self.left or kind.itemsize > max(claimed, 2**16):  # NumPy makes room for one at least
            raise ValueError(f"an array claims {claimed:,} bytes, {self.left:,} are left")
        self.left -= claimed
        return np.fromfile(self.file, kind, prod(shape)).reshape(shape)


def _marks(text):
    return sum(map(text.count, (b"[", b"{", b",")))
