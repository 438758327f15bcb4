"""Rows that a model was trained on, recognised by their names and by what they hold.

    holds of a training row               named as one    named otherwise    no names
    nothing                               maybe           new                new
    all it has, as others may by chance   seen            new                maybe
    one view that tells rows apart        seen            maybe              maybe
    all it has, which tells rows apart    seen            seen               seen

Names count where some of them are those of training rows, or values show most rows to be new: else they may
be written another way. What is not surely new is never called so: quality on it is not that on new samples.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from localmkl._checks import is_missing
from localmkl._types import Array, Ints, MaybeNone, Rows
from localmkl.estimators.base import BaseMKL
from localmkl.estimators.groups import as_groups
from localmkl.explain import training_rows
from localmkl.stacks import Stack
from localmkl.views import Views

ByView: TypeAlias = list[tuple[Any, ...]]
"""The fingerprint of each view of each row, None of one that is not there."""

Counts: TypeAlias = tuple[Counter[Any], bool]
"""A count of what training rows hold in some views, and whether that tells them apart."""

NEW, MAYBE, SEEN = 0, 1, 2
"""Verdicts on a row that a model may have been trained on."""

NOTHING, CHANCE, PART, ALL = 0, 1, 2, 3
"""Lines of the table above: what a row holds of a training row."""

VERDICTS = np.array([[MAYBE, NEW, NEW], [SEEN, NEW, MAYBE], [SEEN, MAYBE, MAYBE], [SEEN, SEEN, SEEN]])
KNOWN, OTHER, NAMELESS = 0, 1, 2
"""Columns of the table."""

TWINS = 0.01
"""Share of the training rows that equal another one up to which a new row that equals one is no accident:
about as often, it would by chance."""

NO_NAMES = frozenset(("", "nan", "None"))
"""Names of rows that have none."""


def standing(
    model: BaseMKL, X: Rows, names: Sequence[str] | None = None, given: Sequence[str] | None = None
) -> Ints:
    """Return NEW, MAYBE or SEEN for each row, (n,).

    Parameters
    ----------
    model : estimator
        One that keeps its training rows.
    X : rows
    names, given : sequence of str, or None
        Of the rows, and of the training rows.
    """
    (rows, groups), (known, theirs) = _parts(model, X), _parts(model, training_rows(model))
    found = held(rows, known)
    if groups is not None:  # rows of another group are others, unless it is not said
        within = held(_in_groups(rows, groups), _in_groups(known, theirs))
        found = np.where([group is None for group in groups], found, within)
    return VERDICTS[found, _named(names, given, found)]


def standing_by_landmarks(
    model: BaseMKL, X: Rows, names: Sequence[str] | None = None, given: Sequence[str] | None = None
) -> Ints:
    """Do as `standing`, for a model that keeps landmarks in the place of its training rows."""
    landmarks, rows = model.features_.landmarks, _by_view(model._check_rows(X, reset=False))
    found = np.full(len(rows), NOTHING) if landmarks is None else held(rows, _by_view(landmarks))
    found = np.where([None in row for row in rows], np.minimum(found, PART), found)  # of few rows, chance
    named = _named(names, given, np.full(len(rows), CHANCE))  # few rows show nothing to be new
    found = np.where(named == KNOWN, SEEN, VERDICTS[found, named])  # what other rows held is not kept
    if (found != NEW).any():  # beside landmarks there may be other training rows, unless names say so
        found = np.where(named == NAMELESS, np.maximum(found, MAYBE), found)
    return beside_landmarks(model, found)


def beside_landmarks(model: BaseMKL, found: Ints) -> Ints:
    """Return the same of all rows: as many as in the fit, with all its landmarks, are those of the fit."""
    whole = len(found) == np.shape(model.dual_coef_)[-1]
    if whole and 0 < model.features_.n_landmarks <= np.sum(found == SEEN):
        return np.full(len(found), SEEN)
    return found


def training_names(given: Any) -> Sequence[str] | None:
    """Return the names by which a model of the command line knows its training rows, or None.

    Records of one FASTA file are known by their letters: many files number them anew.
    """
    made = getattr(given, "made_", {})
    own = made.get("names_column") is not None or made.get("kind") == "views"
    return made.get("names") if own else None


def _named(names: Sequence[str] | None, given: Sequence[str] | None, found: Ints) -> Ints:
    """Return KNOWN, OTHER or NAMELESS for each row, of which is known what it holds of a training row."""
    if names is None or given is None:
        return np.full(len(found), NAMELESS)
    known = {str(name) for name in given}
    named = np.array([_column(str(name), known) for name in names], dtype=int)
    new = found.max(initial=NOTHING) <= CHANCE and 2 * np.sum(found == NOTHING) > len(found)
    return named if new or (named == KNOWN).any() else np.full(len(found), NAMELESS)


def _column(name: str, known: set[str]) -> int:
    return NAMELESS if name in NO_NAMES else KNOWN if name in known else OTHER


def is_training(model: BaseMKL, X: Rows) -> bool:
    """Whether rows are those of the training, in any order, with all that they had."""
    return Counter(marks(model, X)) == Counter(marks(model, training_rows(model)))


def held(rows: ByView, known: ByView) -> Ints:
    """Return what each row holds of one of the training rows, (n,) of NOTHING, CHANCE, PART or ALL.

    Parameters
    ----------
    rows, known : list of tuple
        The fingerprint of each view, None of one that is not there.
    """
    numbers: dict[Any, int] = {}
    rows, known = _numbered(rows, numbers), _numbered(known, numbers)
    if Counter(rows) == Counter(known):
        return np.full(len(rows), ALL)
    counts: dict[tuple[int, ...], Counts] = {}
    return np.array([_held(row, known, counts) for row in rows], dtype=int)


def _numbered(rows: ByView, numbers: dict[Any, int]) -> ByView:
    """Return rows with numbers for their fingerprints, which may be long."""
    return [
        tuple(None if part is None else numbers.setdefault(part, len(numbers)) for part in row)
        for row in rows
    ]


def _held(row: tuple[Any, ...], known: ByView, counts: dict[tuple[int, ...], Counts]) -> int:
    """Do as `held` for one row; `counts` remembers the training rows by some of their views."""
    there = tuple(place for place, part in enumerate(row) if part is not None)
    found = NOTHING
    for places in dict.fromkeys([there, *((place,) for place in there)]):
        if places not in counts:
            counts[places] = _counted(known, places)
        own, tells = counts[places]
        if _picked(row, places) in own:
            worth = (ALL if tells else CHANCE) if places == there else PART if tells else NOTHING
            found = max(found, worth)
    return found


def _counted(known: ByView, places: tuple[int, ...]) -> Counts:
    """Return how often training rows hold what they hold in some views, and whether that tells them apart."""
    own = Counter(_picked(row, places) for row in known)
    del own[None]
    twins = sum(count for count in own.values() if count > 1)
    return own, twins <= TWINS * own.total()


def _picked(row: tuple[Any, ...], places: tuple[int, ...]) -> tuple[Any, ...] | None:
    """Return some views of a row, None where it lacks one of them."""
    found = tuple(row[place] for place in places)
    return None if None in found else found


def _parts(model: BaseMKL, X: Rows) -> tuple[ByView, Array | MaybeNone]:
    """Return the fingerprints of the views of each row, and their groups, None without."""
    groups = model._groups_in(X)
    return _by_view(model._check_rows(X, reset=False)), None if groups is None else as_groups(groups)


def _in_groups(rows: ByView, groups: Array) -> ByView:
    """Return rows whose parts differ where their groups do."""
    return [
        tuple(None if part is None else (part, group) for part in row)
        for row, group in zip(rows, groups, strict=True)
    ]


def _by_view(rows: Rows) -> ByView:
    """Return the fingerprints of the views of each row; rows of no views are one."""
    return fingerprints(rows) if isinstance(rows, Views) else [(mark,) for mark in fingerprints(rows)]


def marks(model: BaseMKL, X: Rows) -> list[Any]:
    """Return something that is the same for equal rows of the same group, for each row."""
    found, groups = fingerprints(model._check_rows(X, reset=False)), model._groups_in(X)
    return found if groups is None else list(zip(found, groups.tolist(), strict=True))


def fingerprints(rows: Rows) -> list[Any]:
    """Return something that is the same for equal rows, for each row."""
    if isinstance(rows, Views):
        return list(zip(*(_of_view(rows, name) for name in rows.names), strict=True))
    if hasattr(rows, "iloc"):
        rows = rows.to_numpy(dtype=object)
    if sparse.issparse(rows):
        ends = rows.indptr[1:-1]
        parts = zip(np.split(rows.indices, ends), np.split(rows.data, ends), strict=True)
        return [(places.tobytes(), values.tobytes()) for places, values in parts]
    rows = np.asarray(rows)
    if rows.dtype == object:
        return rows.tolist() if rows.ndim == 1 else [_comparable(row) for row in rows.tolist()]
    return [row.tobytes() for row in np.ascontiguousarray(rows)]


def _of_view(views: Views, name: str) -> list[Any]:
    """Return the fingerprints of one view, None of samples that lack it."""
    own = iter(fingerprints(views.rows(name)) if views.present(name).any() else ())
    return [next(own) if there else None for there in views.present(name)]


def _comparable(row: list[Any]) -> tuple[Any, ...]:
    """Return the cells of a row with None for those that are missing: NaN is not equal to itself."""
    return tuple(None if is_missing(cell) else cell for cell in row)


def is_symmetric(stack: Stack) -> bool:
    """Whether these Grams can be those of the training rows with themselves."""
    gram = stack.block(0)
    return gram.shape[0] == gram.shape[1] and np.allclose(gram, gram.T)
