"""Draw the README's figure, that of the first example: ``python docs/draw_figure.py``."""

import runpy
from pathlib import Path

import matplotlib

docs = Path(__file__).parent
matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "localmkl"
names = runpy.run_path(str(docs.parent / "examples" / "plot_01_first_model.py"))
names["figure"].savefig(docs / "_static" / "weights.svg", metadata={"Date": None})
