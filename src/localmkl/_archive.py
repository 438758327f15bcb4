"""The container of a model file: a zip archive of plain members, with a manifest.

    schema.json      the tree of parts, as skops writes it
    NUMBER.npy       arrays; .bin: texts of bytes
    localmkl.json    format, versions, and the SHA-256 of every other member; the oldest files have none

Members are stored, not compressed: a file cannot unpack to more than it is. Whatever `save` would not have
written is refused before it is read.
"""

import hashlib
import io
import json
import re
import struct
import zipfile
from importlib.metadata import version
from itertools import accumulate

from localmkl import __version__
from localmkl._resources import available_memory

FORMAT = 1
"""The format that this version writes, and the newest that it reads."""

MANIFEST, SCHEMA = "localmkl.json", "schema.json"
NAME = re.compile(r"[0-9]+\.npy|[0-9a-f-]{36}\.bin|schema\.json|localmkl\.json")

ENCRYPTED = 0x1
END = struct.Struct("<12xL6x")
END_64 = struct.Struct("<40xQ8x20x")
"""The records at the end of a zip archive without a comment; of each, the size of the list of members."""

TAIL = 2**12
"""The schema is written last, before the manifest: its name stands in the last bytes."""

LIST_BYTES = 2**24
"""Python needs a dozen times what the list of members takes in the file."""

SCHEMA_BYTES = 2**27
SCHEMA_MARKS = 2**22
"""Most brackets and commas of a schema: Python needs up to 80 bytes for what stands between two of them."""

SCHEMA_DEPTH = 500
"""Nothing that is saved comes near it; Python reads deeper trees until its stack is full."""
NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))

STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"')


class Newer(ValueError):
    """The file was written by a version of localmkl that this one does not know."""


class Archive:
    """A model file opened for reading.

    Parameters
    ----------
    file : binary file
        Open, and seekable.

    Raises
    ------
    ValueError
        If it is no archive that `seal` has written.
    """

    def __init__(self, file):
        size = _check_ends(file)
        self.zip = zipfile.ZipFile(file)
        members = self.zip.infolist()
        self.unread = {member.filename for member in members}
        _check_members(members, size)
        self.sums = self._manifest() if MANIFEST in self.unread else None

    def _manifest(self):
        manifest = json.loads(self.zip.read(MANIFEST))
        self.unread.remove(MANIFEST)
        if manifest["format"] > FORMAT:
            raise Newer(
                f"was written by localmkl {manifest['localmkl']} in format {manifest['format']}, localmkl "
                f"{__version__} reads formats up to {FORMAT}; update localmkl."
            )
        if manifest["format"] < 1:
            raise ValueError(f"there is no format {manifest['format']}")
        if self.unread != set(manifest["members"]):
            raise ValueError("members are missing, or more than the manifest names")
        return manifest["members"]

    def read(self, name):
        """Return the bytes of a member, each once; they must be those of the manifest."""
        if name not in self.unread:
            raise ValueError(f"the member {name!r} is not there, or is named twice")
        self.unread.remove(name)
        content = self.zip.read(name)
        if self.sums is not None and hashlib.sha256(content).hexdigest() != self.sums[name]:
            raise ValueError(f"the member {name!r} has another checksum than the manifest says")
        return content

    def schema(self):
        """Return the tree of parts."""
        content = self.read(SCHEMA)
        marks = STRING.sub(b"", content)
        opened, closed = (sum(map(marks.count, pair)) for pair in ((b"[", b"{"), (b"]", b"}")))
        if not content.isascii() or opened + marks.count(b",") > SCHEMA_MARKS:
            raise ValueError("the schema has more parts than a model has")
        if opened != closed:
            raise ValueError("brackets of the schema are not closed")
        if _depth(marks.translate(None, NO_BRACKETS)) > SCHEMA_DEPTH:
            raise ValueError("the schema is nested deeper than a model is")
        return json.loads(content)


def _depth(brackets):
    """Return how deep brackets are nested.

    Examples
    --------
    >>> _depth(b"[{}[[][]]]")
    3
    """
    return max(accumulate(1 if bracket in b"[{" else -1 for bracket in brackets), default=0)


def is_archive(path):
    """Whether a file looks like a model from both ends, whatever its name."""
    with open(path, "rb") as file:
        start = file.read(4)
        file.seek(max(file.seek(0, io.SEEK_END) - TAIL, 0))
        return start == b"PK\x03\x04" and SCHEMA.encode() in file.read()


def seal(content):
    """Return an archive of skops with the manifest added."""
    file = io.BytesIO(content)
    with zipfile.ZipFile(file, "a") as archive:
        sums = {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}
        versions = {name: version(name) for name in ("numpy", "scikit-learn", "skops")}
        manifest = {"format": FORMAT, "localmkl": __version__, **versions, "members": sums}
        archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
    return file.getvalue()


def _check_ends(file):
    """Return the size of a file that is a zip archive from its first byte to its last."""
    start = file.read(4)
    size = file.seek(0, io.SEEK_END)
    file.seek(max(size - END_64.size - END.size, 0))
    tail = file.read()
    end, end_64 = tail[-END.size :], tail[: -END.size]
    if start != b"PK\x03\x04" or not end.startswith(b"PK\x05\x06"):
        raise ValueError("it is no zip archive, or not a whole one")
    listed = END.unpack(end)[0]
    if end_64.startswith(b"PK\x06\x06"):
        listed = max(listed, END_64.unpack(end_64)[0])
    if listed > LIST_BYTES:
        raise ValueError("it has more members than a model has")
    return size


def _check_members(members, size):
    """Raise unless the members are such as `seal` writes them, and fit into memory."""
    names = [member.filename for member in members]
    wrong = [name for name in names if not NAME.fullmatch(name)]
    if wrong or len(set(names)) < len(names) or SCHEMA not in names:
        raise ValueError(f"its members are not those of a model: {(wrong or names)[0]!r}")
    if any(member.flag_bits & ENCRYPTED or member.compress_type != zipfile.ZIP_STORED for member in members):
        raise ValueError("its members are compressed or encrypted")
    total = sum(member.file_size for member in members)
    if total > size or any(member.file_size != member.compress_size for member in members):
        raise ValueError(f"its members claim {total:,} bytes, the file has {size:,}")
    if any(member.file_size > SCHEMA_BYTES for member in members if member.filename in (SCHEMA, MANIFEST)):
        raise ValueError(f"its schema has more than {SCHEMA_BYTES:,} bytes")
    available = available_memory()
    if available is not None and total > available:
        raise MemoryError(f"The model needs {total:,} bytes of memory, {available:,} are available.")
