"""Pictures of fitted models, drawn by matplotlib.

Every function takes `ax`, an Axes to draw on (a new figure by default), and returns the Axes. What is drawn
comes from the model itself or from `localmkl.explain`. matplotlib is imported when it is needed; it is the
extra ``localmkl[plots]``. Models with ``gate="groups"`` whose rows hold no column of groups want these as
`groups` wherever rows are given.
"""

from localmkl.plots.canvas import (
    ACCENT,
    MARKERS,
    PALETTE,
    SHARED,
)
from localmkl.plots.comparing import plot_comparison
from localmkl.plots.letters import (
    BASES,
    GREY,
    RESIDUES,
    draw_letters,
    letter_colors,
    plot_logo,
    plot_positions,
    stack_letters,
)
from localmkl.plots.models import (
    clearest_first,
    plot_convergence,
    plot_learning_curves,
    plot_map,
    plot_memberships,
    plot_reliability,
    plot_weights,
)

__all__ = [
    "ACCENT",
    "BASES",
    "GREY",
    "MARKERS",
    "PALETTE",
    "RESIDUES",
    "SHARED",
    "clearest_first",
    "draw_letters",
    "letter_colors",
    "plot_comparison",
    "plot_convergence",
    "plot_learning_curves",
    "plot_logo",
    "plot_map",
    "plot_memberships",
    "plot_positions",
    "plot_reliability",
    "plot_weights",
    "stack_letters",
]
