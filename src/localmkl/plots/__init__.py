"""Pictures of fitted models, drawn by matplotlib.

Every function takes `ax`, an Axes to draw on (a new figure by default), and returns the Axes. What is drawn
comes from the model itself or from `localmkl.explain`. matplotlib is imported when it is needed; it is the
extra ``localmkl[plots]``. Models with ``gate="groups"`` whose rows hold no column of groups want these as
`groups` wherever rows are given.
"""

from localmkl.plots.letters import (
    letter_colors,
    plot_logo,
    stack_letters,
)
from localmkl.plots.models import (
    plot_effects,
    plot_reliability,
    plot_weights,
)

__all__ = [
    "letter_colors",
    "plot_effects",
    "plot_logo",
    "plot_reliability",
    "plot_weights",
    "stack_letters",
]
