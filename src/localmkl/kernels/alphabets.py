"""Letters to numbers: sequences as one flat array of codes.

A letter of the alphabet is 0, 1, 2 ...; an ambiguous one (N, X, a gap ...) is -1 and matches nothing, not
even itself. Anything else is an error that names the row. Upper and lower case are the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from localmkl._types import Ints

ALPHABETS = {
    "dna": ("ACGT", "NRYSWKMBDHV-."),
    "rna": ("ACGU", "NRYSWKMBDHV-."),
    "protein": ("ACDEFGHIKLMNPQRSTVWY", "XBZJUO*-."),
}
"""Name: (letters, ambiguous letters)."""

AMBIGUOUS = -1
UNKNOWN = -2
"""Codes that match no letter: negative, so that one comparison finds them."""


@dataclass(frozen=True)
class Encoded:
    """Sequences as codes, one after the other.

    Attributes
    ----------
    codes : int8 array of shape (total length,)
    offsets : int array of shape (n + 1,)
        Sequence i is ``codes[offsets[i]:offsets[i + 1]]``.
    n_letters : int
    """

    codes: np.ndarray
    offsets: np.ndarray
    n_letters: int

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Ints:
        """Number of letters of each sequence."""
        return np.diff(self.offsets)

    def rows(self) -> Ints:
        """Return the row number of every letter."""
        return np.repeat(np.arange(len(self)), self.lengths)


def alphabet_letters(alphabet: str) -> tuple[str, str]:
    """Return the letters and the ambiguous letters of an alphabet, given by name or as its letters."""
    if isinstance(alphabet, str) and alphabet in ALPHABETS:
        return ALPHABETS[alphabet]
    names = ", ".join(repr(name) for name in ALPHABETS)
    if not isinstance(alphabet, str) or not 2 <= len(alphabet) <= 127 or not alphabet.isascii():
        raise ValueError(
            f"`alphabet` must be one of {names}, or a string of 2 to 127 letters, got {alphabet!r}."
        )
    letters = alphabet.upper()
    if len(set(letters)) < len(letters):
        raise ValueError(
            f"`alphabet` must name each letter once (case does not count), got {alphabet!r}; "
            f"the alphabets with a name are {names}."
        )
    return letters, "".join(letter for letter in "-.?" if letter not in letters)


def encode(sequences: Any, alphabet: str, source: str = "X") -> Encoded:
    """Return `Encoded` sequences.

    Parameters
    ----------
    sequences : list or array of str or bytes
    alphabet : {"dna", "rna", "protein"} or str
        A name, or the letters of your own alphabet; then ``-``, ``.`` and ``?`` are ambiguous.
    source : str
        What error messages call the sequences.

    Examples
    --------
    >>> encode(["ACGT", "nA"], "dna").codes
    array([ 0,  1,  2,  3, -1,  0], dtype=int8)
    """
    letters, ambiguous = alphabet_letters(alphabet)
    texts = _texts(sequences, source)
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    codes = _table(letters, ambiguous)[_numbers("".join(texts))]
    if codes.size and codes.min() == UNKNOWN:
        wrong = np.flatnonzero(codes == UNKNOWN)
        row = int(np.searchsorted(offsets, wrong[0], side="right")) - 1
        place = int(wrong[0] - offsets[row])
        raise ValueError(
            f"`{source}` must hold the letters {letters} (or {ambiguous}, which match nothing) for "
            f"alphabet={alphabet!r}, got {texts[row][place]!r} in row {row} at position {place}; "
            "name another `alphabet`, or replace the letter."
        )
    return Encoded(codes, offsets, len(letters))


def _texts(sequences: Any, source: str) -> list[str]:
    texts = sequences.tolist() if isinstance(sequences, np.ndarray) else list(sequences)
    for row, text in enumerate(texts):
        if isinstance(text, bytes):
            texts[row] = text.decode("latin-1")
        elif not isinstance(text, str):
            raise ValueError(
                f"`{source}` must hold sequences as text, got {text!r} in row {row}; "
                "remove rows without a sequence, or name the `column` that holds it."
            )
    return texts


def _numbers(text: str) -> Ints:
    """Return a number below 256 for each letter; those beyond ASCII all get 255, which is no letter."""
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), dtype=np.uint8)
    numbers = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    return np.where(numbers < 128, numbers, 255)


def _table(letters: str, ambiguous: str) -> Ints:
    table = np.full(256, UNKNOWN, dtype=np.int8)
    for letter in ambiguous:
        table[[ord(letter), ord(letter.lower())]] = AMBIGUOUS
    for code, letter in enumerate(letters):
        table[[ord(letter), ord(letter.lower())]] = code
    return table


def guess_alphabet(sequences: Iterable[Any]) -> str:
    """Return the first alphabet that holds all letters and has most of them as letters of its own.

    Examples
    --------
    >>> guess_alphabet(["ACGT", "NNGA"]), guess_alphabet(["MKV"])
    ('dna', 'protein')
    >>> guess_alphabet(["ACGT", "ACGU"])
    Traceback (most recent call last):
        ...
    ValueError: Sequences must be written with T, as DNA, or with U, as RNA, got both; write U as T.
    """
    counts = Counter("".join(map(str, sequences)).upper())
    if {"T", "U"} <= counts.keys() <= set("".join(ALPHABETS["dna"] + ALPHABETS["rna"])):
        raise ValueError(
            "Sequences must be written with T, as DNA, or with U, as RNA, got both; write U as T."
        )
    for name, (own, ambiguous) in ALPHABETS.items():
        if set(counts) <= set(own + ambiguous) and 2 * sum(counts[c] for c in own) > counts.total():
            return name
    return "protein"
