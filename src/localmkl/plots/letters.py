"""Logos: which letters of sequences speak for a class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from localmkl._checks import check_option
from localmkl.estimators.groups import with_groups
from localmkl.explain import (
    decision_part,
    logo_heights,
    main_clusters,
    position_contributions,
    sequences_of,
)
from localmkl.plots.canvas import PALETTE, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray


BASES = {"A": 2, "C": 0, "G": 1, "T": 7, "U": 7}
RESIDUES = {
    **dict.fromkeys("AGPSTC", 2),
    **dict.fromkeys("NQHY", 3),
    **dict.fromkeys("KR", 0),
    **dict.fromkeys("DE", 7),
}
"""Colours of letters, as numbers in the palette: amino acids by chemistry, the hydrophobic ones in grey."""

GREY = 4
"""The palette's colour of all other letters."""


def plot_logo(
    model: Any,
    X: Any,
    *,
    label: Any = None,
    cluster: str | None = None,
    column: str | int | None = None,
    view: str | None = None,
    groups: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw which letters speak for a class: a sequence logo of contributions.

    A letter's height is its part of the mean contribution at its position, over the samples predicted to be
    of the class, less the mean over all samples. Letters below the line speak against the class.

    Parameters
    ----------
    model : fitted classifier with `WeightedDegree` kernels
    X : rows
    label : optional
        One of ``model.classes_``; the last by default.
    cluster : str, optional
        Only the samples whose main cluster (or group) has this name.
    column : str or int, optional
    view : str, optional
        As in `position_contributions`; samples that lack the view are left out.
    groups : array-like of shape (n_samples,), optional
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> from localmkl.datasets import load_splice
    >>> from localmkl.kernels import WeightedDegree
    >>> X, y, _ = load_splice("EI")
    >>> X, y = X[:1000:20], y[:1000:20]
    >>> model = MKLClassifier([WeightedDegree(3)]).fit(X, y)
    >>> plot_logo(model, X).get_title()
    'What speaks for 1'
    """
    X = with_groups(X, groups)
    values = decision_part(model, position_contributions(model, X, column=column, view=view), label)
    label = model.classes_[-1] if label is None else label
    chosen = model.predict(X) == label
    where = ""
    if cluster is not None:
        numbers, names = main_clusters(model, X)
        check_option("cluster", cluster, names)
        chosen &= numbers == names.index(cluster)
        where = f" in {cluster}"
    sequences, alphabet = sequences_of(model, X, column, view)
    there = np.array([text is not None for text in sequences])
    chosen &= there
    if not chosen.any():
        raise ValueError(f"A logo needs samples predicted to be {label!r}, got none among {len(chosen)}.")
    kept = [sequences[i] for i in np.flatnonzero(chosen)]
    heights, letters = logo_heights((values - values[there].mean(axis=0))[chosen], kept, alphabet)
    ax = draw_letters(axes_or_new(ax), heights, letters)
    ax.set(xlabel="position", ylabel="contribution", title=f"What speaks for {label}{where}")
    return ax


def draw_letters(ax: Axes, heights: NDArray[np.floating], letters: str, *, start: int = 1) -> Axes:
    """Draw letters of given heights at each position: a sequence logo.

    Parameters
    ----------
    ax : matplotlib Axes
    heights : ndarray of shape (length, n_letters)
        Positive ones stand on the line, negative ones hang below it.
    letters : str
    start : int, default=1
        Number of the first position.

    Returns
    -------
    matplotlib Axes
    """
    from matplotlib.font_manager import FontProperties
    from matplotlib.patches import PathPatch
    from matplotlib.textpath import TextPath
    from matplotlib.transforms import Affine2D

    bold = FontProperties(weight="bold")
    outlines = {letter: TextPath((0, 0), letter, prop=bold) for letter in letters}
    colors = letter_colors(letters)
    for position, code, low, high in stack_letters(heights):
        path = outlines[letters[code]]
        box = path.get_extents()
        place = Affine2D().translate(-box.x0, -box.y0).scale(0.92 / box.width, (high - low) / box.height)
        place.translate(start + position - 0.46, low)
        ax.add_patch(PathPatch(place.transform_path(path), color=PALETTE[colors[letters[code]]], linewidth=0))
    ax.axhline(0.0, color="0.3", linewidth=0.8)
    ax.set_xlim(start - 0.6, start + len(heights) - 0.4)
    ax.autoscale_view(scalex=False)
    return ax


def stack_letters(heights: NDArray[np.floating]) -> list[tuple[int, int, float, float]]:
    """Return (position, letter number, low, high) of every letter, the tallest farthest from the line.

    Parameters
    ----------
    heights : ndarray of shape (n_positions, n_letters)

    Returns
    -------
    list of tuple

    Examples
    --------
    >>> stack_letters(np.array([[0.5, 2.0]]))
    [(0, 0, 0.0, 0.5), (0, 1, 0.5, 2.5)]
    """
    boxes = []
    for position, column in enumerate(heights):
        for sign in (1.0, -1.0):
            reached = 0.0
            for code in np.argsort(np.abs(column), kind="stable"):
                height = sign * column[code]
                if height > 0.0:
                    low, high = sorted((sign * reached, sign * (reached + height)))
                    boxes.append((position, int(code), float(low), float(high)))
                    reached += height
    return boxes


def letter_colors(letters: str) -> dict[str, int]:
    """Return the number in the palette of each letter: four for the bases, amino acids by chemistry.

    Parameters
    ----------
    letters : str
        The alphabet.

    Returns
    -------
    dict of str to int

    Examples
    --------
    >>> sorted(letter_colors("ACGT")) == list("ACGT")
    True
    """
    table = BASES if len(letters) <= 4 else RESIDUES
    return {letter: table.get(letter, GREY) for letter in letters}
