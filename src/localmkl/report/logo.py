"""Sequence logos as SVG: letters stretched to their heights."""

from html import escape

import numpy as np

from localmkl._types import Floats
from localmkl.plots import letter_colors, stack_letters
from localmkl.report.charts import group_color

CELL, TALL, LEFT, TOP, BOTTOM = 12.7, 96.0, 52.0, 22.0, 26.0
"""Pixels of a letter's width, of a logo's height and around it: 60 letters fill the width of the page."""

FONT_SIZE = 14.0
"""Pixels: letters as wide as a cell before they are stretched."""

CAPITAL = 0.72
"""Height of capitals in font sizes: the same, within two percent, in all common sans-serif fonts."""

SMALLEST = 0.6
"""Letters lower than this many pixels are left out: nobody can read them, and there are thousands."""


def draw_logos(logos: list[tuple[str, Floats]], letters: str, *, start: int = 1) -> str:
    """Return logos, one below the other, each on its own scale.

    Parameters
    ----------
    logos : list of (title, heights)
        With heights (length, n_letters); positive ones stand on the line, negative ones hang below it.
    letters : str
    start : int, default=1
        Number of the first position.

    Examples
    --------
    >>> drawing = draw_logos([("one", np.array([[1.0, 0.0], [0.0, -0.5]]))], "AC")
    >>> drawing.count("textLength")
    2
    """
    colors = {letter: group_color(number) for letter, number in letter_colors(letters).items()}
    length, panel = len(logos[0][1]), TOP + TALL + BOTTOM
    width, height = LEFT + CELL * length + 8.0, panel * len(logos)
    out = [
        f'<svg class="logo" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" '
        f'font-size="{FONT_SIZE:g}">'
    ]
    for number, (title, heights) in enumerate(logos):
        high = float(np.maximum(heights, 0.0).sum(axis=1).max())
        low = float(np.minimum(heights, 0.0).sum(axis=1).min())
        unit = TALL / ((high - low) or 1.0)
        top = panel * number
        zero = top + TOP + unit * high
        out.append(f'<text class="panel" x="{LEFT:g}" y="{top + 14:g}">{escape(title)}</text>')
        for value in (high, low):
            if abs(value) * unit > 10:
                out.append(_tick(LEFT - 8, zero - unit * value + 4, f"{value:.2g}", "end"))
        for position, code, bottom, ceiling in stack_letters(heights):
            size = unit * (ceiling - bottom)
            if size >= SMALLEST:
                x, y = LEFT + CELL * position + 0.5, zero - unit * bottom
                letter = letters[code]
                out.append(
                    f'<text transform="translate({x:g} {y:.1f}) scale(1 {size / (CAPITAL * FONT_SIZE):.3f})" '
                    f'textLength="{CELL - 1:g}" lengthAdjust="spacingAndGlyphs" fill="{colors[letter]}">'
                    f"{escape(letter)}</text>"
                )
        out.append(f'<path d="M{LEFT:g} {zero:.1f}h{CELL * length:g}"/>')
        for position in range(length):
            if (start + position) % 5 == 0:
                x, y = LEFT + CELL * (position + 0.5), top + panel - 10
                out.append(_tick(x, y, str(start + position), "middle"))
    return "".join([*out, "</svg>"])


def _tick(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text class="tick" x="{x:g}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'
