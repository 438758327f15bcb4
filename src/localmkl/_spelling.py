"""Words that were not known, and what was probably meant; nothing heavy is imported."""

import re
from difflib import get_close_matches

ALIKE = 0.6
"""Words this much alike are taken for a slip of the pen, unless a caller knows better."""


def meant(word, known, *, alike=ALIKE):
    """Return the end of a sentence that refuses a word: the nearest of the known ones, or a full stop.

    Capitals, blanks and signs count less than letters.

    Examples
    --------
    >>> meant("outcome", ["age", "Outcome"]), meant("colour", ["age", "Outcome"])
    ("; did you mean 'Outcome'?", '.')
    """
    names = {str(name): None for name in known}
    bare = {name: re.sub(r"[\W_]", "", name).casefold() for name in (*names, str(word))}
    found = [name for name in names if bare[name] and bare[name] == bare[str(word)]]
    if not found:
        folded = {name.casefold(): name for name in reversed(names)}
        near = get_close_matches(str(word).casefold(), folded, n=1, cutoff=alike)
        found = [folded[name] for name in near]
    return f"; did you mean {found[0]!r}?" if found else "."
