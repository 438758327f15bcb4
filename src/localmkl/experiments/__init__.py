"""The paper's tables and figures as data, the protocol that runs them, result rows with provenance.

    catalogue  what there is: data, methods, grids, sizes, the published numbers beside them
    runner     what is missing is run, over all cores; every row is kept at once
    summary    rows -> Markdown and CSV; figures -> SVG

``localmkl reproduce`` is the command.
"""

from localmkl.experiments.catalogue import EXPERIMENTS
from localmkl.experiments.commands import list_experiments, reproduce
from localmkl.experiments.results import read_results
from localmkl.experiments.runner import Interrupted, run_experiment

__all__ = ["EXPERIMENTS", "Interrupted", "list_experiments", "read_results", "reproduce", "run_experiment"]
